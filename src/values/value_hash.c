/* The hash of whole values, which goes with their equality (value.c), and like it neither recurses nor holds an address over a poll.
 *
 * A container whose hash is being computed has a frame on a stack in C memory. What the hash of a part was is remembered
 * (value_memo.h), so a part that is contained many times is hashed once.
 *
 * The hash of a list does not depend on the shape of its tree, and yet follows from the hashes of its nodes: it is a polynomial in a
 * secret number p, modulo the prime 2^61 - 1, whose coefficients are the hashes of the words: h0 + h1 p + h2 p^2 + ... So two parts side by
 * side have the hash of the first and p^n times that of the second, where n is the length of the first. */
#include "values/array/array.h"
#include "values/list/list_tree.h"
#include "values/map/trie.h"
#include "values/value_memo.h"

#include "base/atomic.h"
#include "base/os.h"

#include <coex/values/array.h>
#include <coex/values/list.h>
#include <coex/values/json.h>
#include <string.h>

#define POLY_PRIME ((UINT64_C(1) << 61) - 1)

enum {
    HASH_STACK = 64, /* frames before memory is asked for */
    HASH_POLL = 256, /* steps between two polls */
    HASH_CHUNK = 32, /* words of an array in one step */
    IS_ROOT = 1      /* of a map */
};

/* What a frame is of. */
enum hash_step { STEP_MAP, STEP_NODE, STEP_LIST, STEP_PART, STEP_ARRAY, STEP_JSON };

/* ------------------------------------------------------------------ frames */

/* A container whose hash is being computed. The entries of maps, sets and objects are added up, so that their order does not matter. */
struct hash_frame {
    enum hash_step step;
    uint32_t flavor; /* of a node of a map; of a part: are the words references? */
    coex_handle value;
    uint64_t at;    /* the next element, entry or child */
    uint64_t sum;   /* so far */
    uint64_t with;  /* what the hash of the element that is being computed is mixed with */
    uint64_t power; /* of lists and parts: p to the number of words so far */
    uint64_t count; /* of parts: words below */
    uint32_t level; /* of parts; of nodes: IS_ROOT, or 0 */
};

struct hash_work {
    struct hash_frame *frame, first[HASH_STACK];
    uint64_t count, room;
    struct cx_memo memo;
    uint64_t length, power; /* p to this length is this: asked for last */
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

/* Is the hash of a part that has a frame known? */
static bool hash_known(const struct hash_work *work, enum hash_step step, coex_handle value, uint64_t count, uint64_t *hash)
{
    return cx_memo_get(&work->memo, value, step, count, hash);
}

static void hash_note(struct hash_work *work, const struct hash_frame *frame, uint64_t hash)
{
    if (!cx_memo_note(&work->memo, frame->value, frame->step, frame->count, hash)) work->failed = true;
}

/* ------------------------------------------------------------- polynomials */

static uint64_t poly_reduce(uint64_t value)
{
    value = (value & POLY_PRIME) + (value >> 61);
    return value >= POLY_PRIME ? value - POLY_PRIME : value;
}

static uint64_t poly_multiply(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;
    return poly_reduce(((uint64_t)product & POLY_PRIME) + (uint64_t)(product >> 61));
}

static uint64_t poly_base(void) { return cx_values.seed[3] % (POLY_PRIME - 1000) + 500; } /* neither 0 nor 1 nor -1 */

/* p to the number of words in a part. Most parts are as long as the one before. */
static uint64_t poly_power(struct hash_work *work, uint64_t length)
{
    if (length == work->length) return work->power;
    uint64_t power = 1, square = poly_base();
    for (uint64_t left = length; left != 0; left >>= 1) {
        if ((left & 1) != 0) power = poly_multiply(power, square);
        square = poly_multiply(square, square);
    }
    work->length = length;
    return work->power = power;
}

/* Adds what comes next in a list: a part of `length` words. */
static void poly_append(struct hash_work *work, struct hash_frame *frame, uint64_t hash, uint64_t length)
{
    frame->sum = poly_reduce(frame->sum + poly_multiply(frame->power, hash));
    frame->power = poly_multiply(frame->power, poly_power(work, length));
}

static uint64_t poly_words(const uint64_t *words, uint64_t count)
{
    uint64_t sum = 0, base = poly_base();
    while (count != 0) sum = poly_reduce(poly_multiply(sum, base) + poly_reduce(cx_hash_word(words[--count])));
    return sum;
}

/* -------------------------------------------------------------------- words */

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
    static const enum hash_step steps[] = {
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
        hash_push(work, (struct hash_frame){.step = STEP_MAP, .value = word, .with = map->root});
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
    if (hash_known(work, steps[kind], word, 0, hash)) return true;
    hash_push(work, (struct hash_frame){.step = steps[kind], .value = word, .power = 1});
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

/* Each of these works on the top frame. True: it is at its end. False: it has more to do, perhaps after a frame that it pushed. */

/* Appends a part to the top frame, now, or when the frame that is pushed for it is at its end. */
static void hash_append_part(struct hash_work *work, struct cx_list_part part, uint32_t refs)
{
    struct hash_frame *frame = &work->frame[work->count - 1];
    uint64_t hash;
    if (part.level == 0 && refs == 0)
        poly_append(work, frame, poly_words(cx_list_leaf_words(part.node), part.count), part.count);
    else if (hash_known(work, STEP_PART, part.node, part.count, &hash))
        poly_append(work, frame, hash, part.count);
    else
        hash_push(work,
                  (struct hash_frame){
                      .step = STEP_PART, .flavor = refs, .value = part.node, .power = 1, .count = part.count, .level = part.level});
}

/* First the tree, then the tail, for which the list itself stands. */
static bool hash_list(struct hash_work *work, struct hash_frame *frame)
{
    bool refs;
    const struct cx_list *list = cx_list_as(frame->value, &refs);
    if (frame->at == list->count) return true;
    struct cx_list_part part = cx_list_tree_of(list->root, list->shape);
    if (frame->at == part.count) part = (struct cx_list_part){frame->value, list->count - part.count, 0};
    frame->at += part.count;
    hash_append_part(work, part, refs);
    return false;
}

/* The words of a leaf are references: a string among them may poll. */
static bool hash_leaf_of_references(struct hash_work *work, struct hash_frame *frame)
{
    uint64_t hash;
    while (frame->at < frame->count) {
        uint64_t word = cx_list_leaf_words(frame->value)[frame->at++];
        if (!hash_word(work, word, &hash)) return false;
        poly_append(work, frame, poly_reduce(cx_hash_word(hash)), 1);
    }
    return true;
}

static bool hash_part(struct hash_work *work, struct hash_frame *frame)
{
    uint32_t slot;
    uint64_t offset;
    if (frame->level == 0) return hash_leaf_of_references(work, frame);
    if (frame->at == frame->count) return true;
    struct cx_list_part part = {frame->value, frame->count, frame->level};
    struct cx_list_part child = cx_list_child(part, frame->at, &slot, &offset);
    frame->at += child.count;
    hash_append_part(work, child, frame->flavor);
    return false;
}

/* Elements that are no references, with a poll after each piece. */
static uint64_t hash_bytes(coex_handle array, uint64_t bytes)
{
    struct cx_hash hash = cx_hash_begin();
    uint64_t at = 0;
    for (; bytes - at > CX_VALUE_PIECE; at += CX_VALUE_PIECE) {
        cx_hash_add(&hash, (const char *)coex_array_data(array) + at, CX_VALUE_PIECE);
        coex_gc_safepoint();
    }
    return cx_hash_end(&hash, (const char *)coex_array_data(array) + at, bytes - at, bytes);
}

/* The elements are copied out of the heap, since a string among them may poll. */
static bool hash_array(struct hash_work *work, struct hash_frame *frame)
{
    uint64_t length = coex_array_len(frame->value), words[HASH_CHUNK];
    if (!coex_array_has_handles(frame->value)) {
        frame->sum = length != 0 ? hash_bytes(frame->value, length * coex_array_elem_size(frame->value)) : 0;
        return true;
    }
    if (frame->at == length) return true;
    uint64_t count = length - frame->at < HASH_CHUNK ? length - frame->at : HASH_CHUNK;
    memcpy(words, (const uint64_t *)coex_array_data(frame->value) + frame->at, count * sizeof words[0]);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = ++work->frame[work->count - 1].at;
        if (!hash_add(work, words[i], at)) break;
    }
    return false;
}

static bool hash_json(struct hash_work *work, struct hash_frame *frame)
{
    coex_handle key, value;
    if (!coex_json_next(frame->value, &frame->at, &key, &value)) return true;
    uint64_t with = coex_string_hash(key);
    hash_add(work, value, with);
    return false;
}

/* A node's hash is the plain sum of its entries', so that it does not matter how they lie. */
static bool hash_leaf(struct hash_work *work, uint32_t flavor)
{
    uint64_t stride = cx_trie_stride(flavor);
    for (;;) {
        struct hash_frame *top = &work->frame[work->count - 1];
        const struct cx_trie_node *leaf = cx_trie_at(top->value); /* again: a string among the values may poll */
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
    uint64_t hash;
    if (!cx_trie_is_branch(node)) return hash_leaf(work, frame->flavor);
    if (frame->at == cx_trie_count(cx_branch_map(node))) return true;
    coex_handle child = node->word[frame->at++];
    if (child == 0) return false; /* a group of no entries */
    if (hash_known(work, STEP_NODE, child, 0, &hash))
        frame->sum += hash;
    else
        hash_push(work, (struct hash_frame){.step = STEP_NODE, .flavor = frame->flavor, .value = child});
    return false;
}

/* A map: its root, once. */
static bool hash_map(struct hash_work *work, struct hash_frame *frame)
{
    coex_handle root = frame->with;
    const struct cx_map *map = coex_gc_handle_deref(frame->value);
    if (root == 0) return true;
    frame->with = 0;
    hash_push(work, (struct hash_frame){.step = STEP_NODE, .flavor = (uint32_t)map->flavor, .value = root, .level = IS_ROOT});
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
    case STEP_PART:
        return hash_part(work, frame);
    case STEP_ARRAY:
        return hash_array(work, frame);
    case STEP_JSON:
        return hash_json(work, frame);
    default:
        return hash_map(work, frame);
    }
}

/* A tail goes with its list, and a root that is a leaf with its map. */
static bool hash_is_noted(const struct hash_frame *frame)
{
    if (frame->step == STEP_PART) return frame->level != 0 || !cx_list_is_list(frame->value);
    return frame->step != STEP_NODE || frame->level != IS_ROOT || !cx_trie_is_leaf(frame->value);
}

/* The hash of the frame that is at its end. It is remembered: that of a map or a set in itself. */
static uint64_t hash_finish(struct hash_work *work, const struct hash_frame *frame)
{
    uint64_t hash = frame->sum;
    if (frame->step != STEP_NODE && frame->step != STEP_PART) {
        if (frame->step == STEP_LIST) hash = hash_mix(hash, frame->at); /* the length */
        hash = hash_mix(hash, (uint64_t)coex_kind_of(frame->value));
        hash += hash == 0;
    }
    struct cx_map *map = frame->step == STEP_MAP ? cx_map_as(frame->value) : NULL;
    if (map != NULL)
        cx_a64_store_relaxed(cx_a64_at(&map->hash), hash);
    else if (hash_is_noted(frame))
        hash_note(work, frame, hash);
    return hash;
}

/* Gives the hash of a frame that is at its end to the one below. */
static void hash_give(struct hash_work *work, const struct hash_frame *done, uint64_t hash)
{
    struct hash_frame *top = &work->frame[work->count - 1];
    if (done->step == STEP_PART)
        poly_append(work, top, hash, done->count);
    else if (top->step == STEP_PART)
        poly_append(work, top, poly_reduce(cx_hash_word(hash)), 1);
    else
        top->sum += done->step == STEP_NODE ? hash : hash_mix(hash, top->with);
}

static uint64_t hash_run(struct hash_work *work)
{
    uint64_t hash = 0;
    for (uint64_t step = 1; work->count != 0 && !work->failed; step++) {
        if (step % HASH_POLL == 0) coex_gc_safepoint();
        if (!hash_step(work)) continue;
        struct hash_frame done = work->frame[--work->count];
        hash = hash_finish(work, &done);
        if (work->count != 0) hash_give(work, &done, hash);
    }
    return hash;
}

uint64_t coex_value_hash(coex_handle value)
{
    struct hash_work work;
    uint64_t hash;
    work.frame = work.first;
    work.count = 0;
    work.room = HASH_STACK;
    work.memo = (struct cx_memo){NULL, 0, 0};
    work.length = 0;
    work.power = 1;
    work.failed = false;
    coex_status before = coex_last_status();
    if (!hash_word(&work, value, &hash)) hash = hash_run(&work);
    if (work.frame != work.first) cx_os_free(work.frame);
    cx_memo_free(&work.memo);
    cx_fail(work.failed ? COEX_STATUS_MEMORY : before);
    return work.failed ? 0 : hash;
}
