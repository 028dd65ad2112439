/* Equality and hash of whole values.
 *
 * Neither recurses: what is still to be done is on a stack in C memory that grows as values are nested. It holds handles, which
 * need no roots: everything in an immutable value is reachable from it, and the caller keeps that rooted. So both poll between two
 * steps, and no raw address lives from one step to the next.
 *
 * A value may contain another many times, at every level again: a tree of it would be exponentially larger than it is. So pairs
 * that were compared, and hashes that were computed, are remembered, up to a limit, in a table that newer ones overwrite. */
#include "collections/trie.h"

#include "base/atomic.h"
#include "base/os.h"

#include <coex/collections/array.h>
#include <coex/collections/list.h>
#include <coex/json.h>
#include <string.h>

enum {
    VALUE_STACK = 64,      /* items before memory is asked for */
    VALUE_POLL = 256,      /* steps between two polls */
    VALUE_CHUNK = 32,      /* words of an array in one step */
    VALUE_MEMO_FROM = 64,  /* containers before something is remembered */
    VALUE_MEMO_LEAST = 10, /* bits of the table's size: at first, */
    VALUE_MEMO_MOST = 20   /* and at most */
};

/* What a step is about. */
enum value_step { STEP_VALUE, STEP_NODE, STEP_LIST, STEP_ARRAY, STEP_JSON };

/* ------------------------------------------------------------------- memory */

/* What is known of a pair (equality) or of one value (its hash is `b`). */
struct value_fact {
    uint64_t a, b;
};

struct value_memo {
    struct value_fact *facts; /* NULL: none yet */
    uint64_t seen;
    unsigned bits;
};

static struct value_fact *memo_at(const struct value_memo *memo, uint64_t a, uint64_t b)
{
    return &memo->facts[(a * UINT64_C(0x9e3779b97f4a7c15) + b * UINT64_C(0xc2b2ae3d27d4eb4f)) >> (64 - memo->bits)];
}

/* A larger table, with what the old one knows. Without memory the old one has to do. `pairs`: both words are the key. */
static void memo_grow(struct value_memo *memo, bool pairs)
{
    struct value_memo old = *memo;
    memo->bits = old.facts != NULL ? old.bits + 2 : VALUE_MEMO_LEAST;
    memo->facts = cx_os_allocate(sizeof *memo->facts << memo->bits);
    if (memo->facts == NULL) {
        *memo = old;
        return;
    }
    for (size_t i = 0; old.facts != NULL && i < (size_t)1 << old.bits; i++)
        *memo_at(memo, old.facts[i].a, pairs ? old.facts[i].b : 0) = old.facts[i];
    cx_os_free(old.facts);
}

static void memo_note(struct value_memo *memo, bool pairs, uint64_t a, uint64_t b)
{
    memo->seen++;
    if (memo->facts == NULL ? memo->seen > VALUE_MEMO_FROM : memo->bits < VALUE_MEMO_MOST && memo->seen >> memo->bits != 0)
        memo_grow(memo, pairs);
    if (memo->facts != NULL) *memo_at(memo, a, pairs ? b : 0) = (struct value_fact){a, b};
}

/* ----------------------------------------------------------------- equality */

struct equal_item {
    enum value_step step;
    uint32_t flavor; /* of a node */
    coex_handle a, b;
    uint64_t at; /* where to go on in lists, arrays and objects */
};

struct equal_work {
    struct equal_item *item, first[VALUE_STACK];
    uint64_t count, room;
    struct value_memo memo;
    bool failed; /* no memory */
};

static void equal_push(struct equal_work *work, struct equal_item item)
{
    if (work->count == work->room) {
        struct equal_item *more = cx_os_allocate(2 * work->room * sizeof item);
        if (more == NULL) {
            work->failed = true;
            return;
        }
        memcpy(more, work->item, work->count * sizeof item);
        if (work->item != work->first) cx_os_free(work->item);
        work->item = more;
        work->room *= 2;
    }
    work->item[work->count++] = item;
}

/* Two reference words: different at a glance, or to be looked at later? */
static bool equal_words(struct equal_work *work, uint64_t a, uint64_t b)
{
    if (a == b) return true;
    if (a == 0 || b == 0 || coex_is_immediate(a) || coex_is_immediate(b)) return false;
    equal_push(work, (struct equal_item){.step = STEP_VALUE, .a = a, .b = b});
    return true;
}

static bool equal_many(struct equal_work *work, const uint64_t *a, const uint64_t *b, uint64_t count, bool references)
{
    if (a == b) return true; /* shared */
    if (!references) return memcmp(a, b, count * 8) == 0;
    bool same = true;
    for (uint64_t i = 0; i < count && same; i++) same = equal_words(work, a[i], b[i]);
    return same;
}

/* Nodes at the same place of two trees that should be the same: INV-TRIE-1, so their shapes are. */
static bool equal_branches(struct equal_work *work, uint32_t flavor, const struct cx_trie_node *a, const struct cx_trie_node *b)
{
    unsigned children = cx_trie_count(cx_branch_map(a));
    for (unsigned i = 0; i < children; i++) {
        if (a->word[i] != b->word[i])
            equal_push(work, (struct equal_item){.step = STEP_NODE, .flavor = flavor, .a = a->word[i], .b = b->word[i]});
    }
    return true;
}

static bool equal_nodes(struct equal_work *work, uint32_t flavor, coex_handle a, coex_handle b)
{
    const struct cx_trie_node *mine = cx_trie_at(a), *other = cx_trie_at(b);
    if (mine->head != other->head) return false;
    if (cx_trie_is_branch(mine)) return equal_branches(work, flavor, mine, other);
    if (memcmp(cx_leaf_marks(mine), cx_leaf_marks(other), mine->head) != 0) return false;
    unsigned stride = cx_trie_stride(flavor);
    const uint64_t *x = cx_leaf_entries(mine), *y = cx_leaf_entries(other);
    for (uint64_t i = mine->head; i != 0; i--, x += stride, y += stride) {
        if (!cx_trie_same_key(flavor, x[0], y[0])) return false;
        if (stride == 1 || x[1] == y[1]) continue;
        if ((flavor & COEX_MAP_REFERENCES) == 0 || !equal_words(work, x[1], y[1])) return false;
    }
    return true;
}

static bool equal_maps(struct equal_work *work, coex_handle a, coex_handle b)
{
    const struct cx_map *mine = coex_gc_handle_deref(a), *other = coex_gc_handle_deref(b);
    if (mine->flavor != other->flavor || mine->count != other->count) return false;
    if (mine->root != other->root)
        equal_push(work,
                   (struct equal_item){.step = STEP_NODE, .flavor = (uint32_t)mine->flavor, .a = mine->root, .b = other->root});
    return true;
}

/* The next words of two lists that lie side by side. */
static bool equal_lists(struct equal_work *work, struct equal_item item)
{
    uint64_t count, other_count;
    if (item.at == 0 &&
        (coex_list_len(item.a) != coex_list_len(item.b) || coex_list_has_handles(item.a) != coex_list_has_handles(item.b)))
        return false;
    if (item.at == coex_list_len(item.a)) return true;
    const uint64_t *a = coex_list_chunk(item.a, item.at, &count), *b = coex_list_chunk(item.b, item.at, &other_count);
    if (other_count < count) count = other_count;
    item.at += count;
    equal_push(work, item);
    return equal_many(work, a, b, count, coex_list_has_handles(item.a));
}

static bool equal_arrays(struct equal_work *work, struct equal_item item)
{
    uint64_t length = coex_array_len(item.a), size = coex_array_elem_size(item.a);
    bool handles = coex_array_has_handles(item.a);
    if (item.at == 0 &&
        (length != coex_array_len(item.b) || size != coex_array_elem_size(item.b) || handles != coex_array_has_handles(item.b)))
        return false;
    if (item.at == length) return true;
    const uint64_t *a = coex_array_data(item.a), *b = coex_array_data(item.b);
    if (!handles) return a == b || memcmp(a, b, length * size) == 0;
    uint64_t from = item.at, count = length - from < VALUE_CHUNK ? length - from : VALUE_CHUNK;
    item.at += count;
    equal_push(work, item);
    return equal_many(work, a + from, b + from, count, true);
}

/* Numbers of json that are objects. */
static bool equal_json_numbers(coex_handle a, coex_handle b, coex_json_kind kind)
{
    int64_t integer[2];
    uint64_t natural[2] = {0, 0};
    double number[2];
    if (kind == COEX_JSON_FLOAT)
        return coex_json_to_float(a, &number[0]) && coex_json_to_float(b, &number[1]) && memcmp(&number[0], &number[1], 8) == 0;
    bool negative = !coex_json_to_uint(a, &natural[0]);
    if (negative != !coex_json_to_uint(b, &natural[1])) return false;
    if (!negative) return natural[0] == natural[1];
    return coex_json_to_int(a, &integer[0]) && coex_json_to_int(b, &integer[1]) && integer[0] == integer[1];
}

/* Objects have the same entries in any order: one entry in each step. */
static bool equal_json(struct equal_work *work, struct equal_item item)
{
    coex_json_kind kind = coex_json_kind_of(item.a);
    coex_handle key, value;
    if (item.at == 0 && kind != coex_json_kind_of(item.b)) return false;
    if (kind != COEX_JSON_OBJECT) return equal_json_numbers(item.a, item.b, kind);
    if (item.at == 0 && coex_json_len(item.a) != coex_json_len(item.b)) return false;
    if (!coex_json_next(item.a, &item.at, &key, &value)) return true;
    coex_handle other = coex_json_get(item.b, key);
    if (other == 0) return false;
    equal_push(work, item);
    return equal_words(work, value, other);
}

/* Two different handles. */
static bool equal_objects(struct equal_work *work, coex_handle a, coex_handle b)
{
    coex_kind kind = coex_kind_of(a);
    if (kind != coex_kind_of(b)) return false;
    if (kind == COEX_KIND_STRING) return coex_string_equal(a, b);
    if (work->memo.facts != NULL) {
        const struct value_fact *fact = memo_at(&work->memo, a, b);
        if (fact->a == a && fact->b == b) return true; /* if they turn out to differ, all does */
    }
    memo_note(&work->memo, true, a, b);
    switch (kind) {
    case COEX_KIND_MAP:
    case COEX_KIND_SET:
        return equal_maps(work, a, b);
    case COEX_KIND_LIST:
        return equal_lists(work, (struct equal_item){.step = STEP_LIST, .a = a, .b = b});
    case COEX_KIND_ARRAY:
        return equal_arrays(work, (struct equal_item){.step = STEP_ARRAY, .a = a, .b = b});
    case COEX_KIND_JSON:
        return equal_json(work, (struct equal_item){.step = STEP_JSON, .a = a, .b = b});
    default:
        return false;
    }
}

static bool equal_step(struct equal_work *work, struct equal_item item)
{
    switch (item.step) {
    case STEP_NODE:
        return equal_nodes(work, item.flavor, item.a, item.b);
    case STEP_LIST:
        return equal_lists(work, item);
    case STEP_ARRAY:
        return equal_arrays(work, item);
    case STEP_JSON:
        return equal_json(work, item);
    default:
        return equal_objects(work, item.a, item.b);
    }
}

bool coex_value_equal(coex_handle a, coex_handle b)
{
    struct equal_work work;
    work.item = work.first;
    work.count = 0;
    work.room = VALUE_STACK;
    work.memo = (struct value_memo){NULL, 0, 0};
    work.failed = false;
    coex_status before = coex_last_status();
    bool same = equal_words(&work, a, b);
    for (uint64_t step = 1; same && !work.failed && work.count != 0; step++) {
        if (step % VALUE_POLL == 0) coex_gc_safepoint();
        same = equal_step(&work, work.item[--work.count]);
    }
    if (work.item != work.first) cx_os_free(work.item);
    cx_os_free(work.memo.facts);
    cx_fail(work.failed ? COEX_STATUS_MEMORY : before); /* a key that one json lacks is no failure of this */
    return same && !work.failed;
}

/* --------------------------------------------------------------------- hash */

/* A container whose hash is being computed. Sums do not depend on the order of entries; where order counts, the position is mixed
 * in. */
struct hash_frame {
    enum value_step step;
    uint32_t flavor; /* of a node */
    coex_handle value;
    uint64_t at;   /* the next element, entry or child */
    uint64_t sum;  /* so far */
    uint64_t with; /* what the hash of the element that is being computed is mixed with; 0: nothing, it is a node */
};

struct hash_work {
    struct hash_frame *frame, first[VALUE_STACK];
    uint64_t count, room;
    struct value_memo memo;
    bool failed;
};

static uint64_t hash_mix(uint64_t a, uint64_t b)
{
    return cx_hash_word(a ^ cx_hash_fold(b + cx_values.seed[2], cx_values.seed[3] | 1));
}

static void hash_push(struct hash_work *work, struct hash_frame frame)
{
    if (work->count == work->room) {
        struct hash_frame *more = cx_os_allocate(2 * work->room * sizeof frame);
        if (more == NULL) {
            work->failed = true;
            return;
        }
        memcpy(more, work->frame, work->count * sizeof frame);
        if (work->frame != work->first) cx_os_free(work->frame);
        work->frame = more;
        work->room *= 2;
    }
    work->frame[work->count++] = frame;
}

static uint64_t hash_json_number(coex_handle json)
{
    double number;
    uint64_t bits = 0;
    int64_t integer;
    if (coex_json_kind_of(json) == COEX_JSON_FLOAT && coex_json_to_float(json, &number))
        memcpy(&bits, &number, 8);
    else if (!coex_json_to_uint(json, &bits) && coex_json_to_int(json, &integer))
        bits = (uint64_t)integer;
    return hash_mix(bits, (uint64_t)coex_json_kind_of(json));
}

/* Is the hash of a word known without a look below? Else a frame for it is pushed. */
static bool hash_word(struct hash_work *work, uint64_t word, uint64_t *hash)
{
    static const enum value_step steps[] = {
        [COEX_KIND_LIST] = STEP_LIST, [COEX_KIND_ARRAY] = STEP_ARRAY, [COEX_KIND_JSON] = STEP_JSON};
    coex_kind kind = coex_kind_of(word);
    struct cx_map *map;
    *hash = word != 0 ? cx_hash_word(word) | 1 : 0;
    switch (kind) {
    case COEX_KIND_STRING:
        *hash = coex_string_hash(word);
        return true;
    case COEX_KIND_MAP:
    case COEX_KIND_SET:
        map = cx_map_as(word);
        if (map == NULL) return true; /* never */
        *hash = cx_a64_load_relaxed(cx_a64_at(&map->hash));
        if (*hash != 0) return true;
        hash_push(work, (struct hash_frame){.step = STEP_VALUE, .value = word, .with = map->root});
        return false;
    case COEX_KIND_JSON:
        if (coex_json_kind_of(word) != COEX_JSON_OBJECT) {
            *hash = hash_json_number(word);
            return true;
        }
        break;
    case COEX_KIND_LIST:
    case COEX_KIND_ARRAY:
        break;
    default:
        return true;
    }
    if (work->memo.facts != NULL && memo_at(&work->memo, word, 0)->a == word) {
        *hash = memo_at(&work->memo, word, 0)->b;
        return true;
    }
    hash_push(work, (struct hash_frame){.step = steps[kind], .value = word});
    return false;
}

/* Adds a word to the sum of the top frame, mixed with `with`, now or when its hash is known: then it returns false. */
static bool hash_add(struct hash_work *work, uint64_t word, uint64_t with)
{
    uint64_t hash, top = work->count - 1;
    work->frame[top].with = with;
    if (!hash_word(work, word, &hash)) return false;
    work->frame[top].sum += hash_mix(hash, with);
    return true;
}

static bool hash_words(struct hash_work *work, const uint64_t *words, uint64_t count, bool references)
{
    for (uint64_t i = 0; i < count; i++) {
        struct hash_frame *frame = &work->frame[work->count - 1];
        uint64_t at = ++frame->at;
        if (references) {
            if (!hash_add(work, words[i], at)) return false;
        } else {
            frame->sum += hash_mix(words[i], at);
        }
    }
    return true;
}

/* Each of these works on the top frame. True: it is at its end. False: it has more to do, perhaps after a frame that it pushed. */

static bool hash_list(struct hash_work *work, const struct hash_frame *frame)
{
    uint64_t count;
    if (frame->at == coex_list_len(frame->value)) return true;
    const uint64_t *words = coex_list_chunk(frame->value, frame->at, &count);
    hash_words(work, words, count, coex_list_has_handles(frame->value));
    return false;
}

static bool hash_array(struct hash_work *work, struct hash_frame *frame)
{
    uint64_t length = coex_array_len(frame->value);
    const uint64_t *words = coex_array_data(frame->value);
    if (!coex_array_has_handles(frame->value)) {
        frame->sum = length != 0 ? cx_hash_bytes(words, length * coex_array_elem_size(frame->value)) : 0;
        return true;
    }
    if (frame->at == length) return true;
    uint64_t count = length - frame->at < VALUE_CHUNK ? length - frame->at : VALUE_CHUNK;
    hash_words(work, words + frame->at, count, true);
    return false;
}

static bool hash_json(struct hash_work *work, struct hash_frame *frame)
{
    coex_handle key, value;
    if (!coex_json_next(frame->value, &frame->at, &key, &value)) return true;
    hash_add(work, value, coex_string_hash(key));
    return false;
}

/* A node's hash is the plain sum of its entries', so that it does not matter how they lie. */
static bool hash_leaf(struct hash_work *work, uint32_t flavor, const struct cx_trie_node *leaf)
{
    uint64_t stride = cx_trie_stride(flavor);
    for (;;) {
        struct hash_frame *top = &work->frame[work->count - 1];
        if (top->at == leaf->head) return true;
        const uint64_t *entry = cx_leaf_entries(leaf) + stride * top->at++;
        uint64_t key = cx_trie_hash(flavor, entry[0]);
        if ((flavor & (COEX_MAP_REFERENCES | CX_TRIE_SET)) != COEX_MAP_REFERENCES)
            top->sum += hash_mix(stride == 2 ? entry[1] : 0, key);
        else if (!hash_add(work, entry[1], key))
            return false;
    }
}

static bool hash_node(struct hash_work *work, struct hash_frame *frame)
{
    const struct cx_trie_node *node = cx_trie_at(frame->value);
    if (!cx_trie_is_branch(node)) return hash_leaf(work, frame->flavor, node);
    if (frame->at == cx_trie_count(cx_branch_map(node))) return true;
    hash_push(work, (struct hash_frame){.step = STEP_NODE, .flavor = frame->flavor, .value = node->word[frame->at++]});
    return false;
}

/* A map: its root, once. */
static bool hash_map(struct hash_work *work, struct hash_frame *frame)
{
    coex_handle root = frame->with;
    const struct cx_map *map = coex_gc_handle_deref(frame->value);
    if (root == 0) return true;
    frame->with = 0;
    hash_push(work, (struct hash_frame){.step = STEP_NODE, .flavor = (uint32_t)map->flavor, .value = root});
    return false;
}

static bool hash_step(struct hash_work *work)
{
    struct hash_frame *frame = &work->frame[work->count - 1];
    switch (frame->step) {
    case STEP_NODE:
        return hash_node(work, frame);
    case STEP_LIST:
        return hash_list(work, frame);
    case STEP_ARRAY:
        return hash_array(work, frame);
    case STEP_JSON:
        return hash_json(work, frame);
    default:
        return hash_map(work, frame);
    }
}

/* The hash of the frame that is at its end. What has one is remembered. */
static uint64_t hash_finish(struct hash_work *work, const struct hash_frame *frame)
{
    if (frame->step == STEP_NODE) return frame->sum;
    uint64_t hash = hash_mix(frame->sum, (uint64_t)coex_kind_of(frame->value));
    if (hash == 0) hash = 1;
    if (frame->step == STEP_VALUE) {
        struct cx_map *map = cx_map_as(frame->value);
        if (map != NULL) cx_a64_store_relaxed(cx_a64_at(&map->hash), hash);
    } else {
        memo_note(&work->memo, false, frame->value, hash);
    }
    return hash;
}

static uint64_t hash_run(struct hash_work *work)
{
    uint64_t hash = 0;
    for (uint64_t step = 1; work->count != 0 && !work->failed; step++) {
        if (step % VALUE_POLL == 0) coex_gc_safepoint();
        if (!hash_step(work)) continue;
        struct hash_frame done = work->frame[--work->count];
        hash = hash_finish(work, &done);
        if (work->count == 0) break;
        struct hash_frame *top = &work->frame[work->count - 1];
        top->sum += done.step == STEP_NODE ? hash : hash_mix(hash, top->with);
    }
    return hash;
}

uint64_t coex_value_hash(coex_handle value)
{
    struct hash_work work;
    uint64_t hash;
    work.frame = work.first;
    work.count = 0;
    work.room = VALUE_STACK;
    work.memo = (struct value_memo){NULL, 0, 0};
    work.failed = false;
    coex_status before = coex_last_status();
    if (!hash_word(&work, value, &hash)) hash = hash_run(&work);
    if (work.frame != work.first) cx_os_free(work.frame);
    cx_os_free(work.memo.facts);
    cx_fail(work.failed ? COEX_STATUS_MEMORY : before);
    return work.failed ? 0 : hash;
}
