/* Equality of whole values.
 *
 * It does not recurse: what is still to be compared is on a stack in C memory that grows as values are nested. The stack holds handles,
 * which need no roots: everything in an immutable value is reachable from it, and the caller keeps that rooted. So comparing polls
 * between two steps, and no raw address lives from one step to the next.
 *
 * A value may contain another many times, at every level again: a tree of it would be exponentially larger than it is. The same
 * holds for the nodes below a list or a map. So every pair of containers and of nodes that was met is remembered (value_memo.h): it is
 * equal, or the comparison ends with "different" anyway. Equal lists may have trees of different shapes. So two nodes of
 * lists are compared where they overlap: the second begins `shift` words behind the first, and the shift is part of what is remembered. */
#include "values/array/array.h"
#include "values/list/list_tree.h"
#include "values/map/trie.h"
#include "values/value_memo.h"

#include "base/os.h"

#include <coex/values/array.h>
#include <coex/values/list.h>
#include <coex/values/json.h>
#include <string.h>

enum {
    VALUE_STACK = 64, /* items before memory is asked for */
    VALUE_POLL = 256, /* steps between two polls */
    VALUE_CHUNK = 32, /* words of an array in one step */
    IS_ROOT = 1       /* of a map */
};

/* What a step is about. */
enum value_step { STEP_VALUE, STEP_NODE, STEP_PART, STEP_ARRAY, STEP_JSON };

/* ----------------------------------------------------------------- equality */

struct equal_item {
    enum value_step step;
    uint32_t flavor; /* of a node of a map; of a part: are the words references? */
    coex_handle a, b;
    uint64_t at; /* where to go on in arrays and objects; of a part: words below a; of a node: IS_ROOT, or 0 */
    /* Of parts of lists: */
    uint64_t other_count; /* words below b */
    int64_t shift;        /* where b begins, counted from the beginning of a */
    uint32_t level, other_level;
};

struct equal_work {
    struct equal_item *item, first[VALUE_STACK];
    uint64_t count, room;
    struct cx_memo memo;
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

/* Was this pair met before? If not, it is remembered. A list is a value, and also the part that is its tail. */
static bool equal_met(struct equal_work *work, coex_handle a, coex_handle b, enum value_step step, int64_t shift, uint64_t count)
{
    uint64_t known, how = (uint64_t)shift << 2 | (step == STEP_PART);
    if (cx_memo_get(&work->memo, a, b, how, &known) && known == count) return true;
    if (!cx_memo_note(&work->memo, a, b, how, count)) work->failed = true;
    return false;
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
        if (a->word[i] == b->word[i]) continue;
        if (a->word[i] == 0 || b->word[i] == 0) return false; /* a group of no entries */
        equal_push(work, (struct equal_item){.step = STEP_NODE, .flavor = flavor, .a = a->word[i], .b = b->word[i]});
    }
    return true;
}

/* A root that is a leaf goes with its map. */
static bool equal_nodes(struct equal_work *work, uint32_t flavor, coex_handle a, coex_handle b, bool root)
{
    if (!(root && cx_trie_is_leaf(a)) && equal_met(work, a, b, STEP_NODE, 0, 0)) return true;
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
                   (struct equal_item){
                       .step = STEP_NODE, .flavor = (uint32_t)mine->flavor, .a = mine->root, .b = other->root, .at = IS_ROOT});
    return true;
}

/* Pushes two parts of lists of which b begins `shift` words behind a, if they overlap. */
static void equal_push_parts(struct equal_work *work, struct cx_list_part a, struct cx_list_part b, int64_t shift, bool refs)
{
    if (a.count == 0 || b.count == 0 || (a.node == b.node && shift == 0)) return;
    if (shift >= (int64_t)a.count || -shift >= (int64_t)b.count) return;
    equal_push(work, (struct equal_item){.step = STEP_PART,
                                         .flavor = refs,
                                         .a = a.node,
                                         .b = b.node,
                                         .at = a.count,
                                         .other_count = b.count,
                                         .shift = shift,
                                         .level = a.level,
                                         .other_level = b.level});
}

/* The child with the word `at`, which becomes the word's place in it. */
static struct cx_list_part equal_child(struct cx_list_part part, uint64_t *at)
{
    uint32_t slot;
    return cx_list_child(part, *at, &slot, at);
}

/* Goes down in the higher one of two parts, or in both, and pushes what overlaps of [from, to) of a. */
static void equal_below(struct equal_work *work, struct cx_list_part a, struct cx_list_part b, const struct equal_item *item,
                        uint64_t from, uint64_t to)
{
    while (from < to) {
        uint64_t in_a = from, in_b = from - (uint64_t)item->shift;
        struct cx_list_part x = a.level >= b.level ? equal_child(a, &in_a) : a;
        struct cx_list_part y = b.level >= a.level ? equal_child(b, &in_b) : b;
        equal_push_parts(work, x, y, (int64_t)(in_a - in_b), item->flavor != 0);
        uint64_t left_a = x.count - in_a, left_b = y.count - in_b;
        from += left_a < left_b ? left_a : left_b;
    }
}

/* Leaves of words are as quickly compared as looked up, and two tails go with their lists. */
static bool equal_is_noted(const struct cx_list_part *a, const struct cx_list_part *b, bool refs)
{
    if (a->level != 0 || b->level != 0) return true;
    return refs && !(cx_list_is_list(a->node) && cx_list_is_list(b->node));
}

/* Nodes of lists where they overlap. */
static bool equal_parts(struct equal_work *work, const struct equal_item *item)
{
    struct cx_list_part a = {item->a, item->at, item->level}, b = {item->b, item->other_count, item->other_level};
    uint64_t from = item->shift > 0 ? (uint64_t)item->shift : 0, to = (uint64_t)item->shift + b.count;
    if (to > a.count) to = a.count;
    bool refs = item->flavor != 0, leaves = a.level == 0 && b.level == 0;
    if (equal_is_noted(&a, &b, refs) && equal_met(work, a.node, b.node, STEP_PART, item->shift, to)) return true;
    if (leaves) {
        const uint64_t *x = cx_list_leaf_words(a.node) + from, *y = cx_list_leaf_words(b.node) + (from - (uint64_t)item->shift);
        return equal_many(work, x, y, to - from, refs);
    }
    equal_below(work, a, b, item, from, to);
    return true;
}

/* The trees of two lists, their tails, and each tree with the other's tail. */
static bool equal_lists(struct equal_work *work, coex_handle a, coex_handle b)
{
    bool refs, other_refs;
    const struct cx_list *mine = cx_list_as(a, &refs), *other = cx_list_as(b, &other_refs);
    if (mine->count != other->count || refs != other_refs) return false;
    struct cx_list_part tree = cx_list_tree_of(mine->root, mine->shape), other_tree = cx_list_tree_of(other->root, other->shape);
    struct cx_list_part tail = {a, mine->count - tree.count, 0}, other_tail = {b, other->count - other_tree.count, 0};
    equal_push_parts(work, tree, other_tree, 0, refs);
    equal_push_parts(work, tree, other_tail, (int64_t)other_tree.count, refs);
    equal_push_parts(work, tail, other_tree, -(int64_t)tree.count, refs);
    equal_push_parts(work, tail, other_tail, (int64_t)(other_tree.count - tree.count), refs);
    return true;
}

/* Compares elements that are no references, with a poll after each piece if there are several. */
static bool equal_bytes(coex_handle a, coex_handle b, uint64_t bytes)
{
    if (coex_array_data(a) == coex_array_data(b)) return true;
    for (uint64_t at = 0, piece; at < bytes; at += piece) {
        piece = bytes - at < CX_VALUE_PIECE ? bytes - at : CX_VALUE_PIECE;
        if (memcmp((const char *)coex_array_data(a) + at, (const char *)coex_array_data(b) + at, piece) != 0) return false;
        if (bytes > CX_VALUE_PIECE) coex_gc_safepoint();
    }
    return true;
}

static bool equal_arrays(struct equal_work *work, struct equal_item item)
{
    uint64_t length = coex_array_len(item.a), size = coex_array_elem_size(item.a);
    bool handles = coex_array_has_handles(item.a);
    if (item.at == 0 &&
        (length != coex_array_len(item.b) || size != coex_array_elem_size(item.b) || handles != coex_array_has_handles(item.b)))
        return false;
    if (item.at == length) return true;
    if (!handles) return equal_bytes(item.a, item.b, length * size);
    const uint64_t *a = coex_array_data(item.a), *b = coex_array_data(item.b);
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
    if (equal_met(work, a, b, STEP_VALUE, 0, 0)) return true;
    switch (kind) {
    case COEX_KIND_MAP:
    case COEX_KIND_SET:
        return equal_maps(work, a, b);
    case COEX_KIND_LIST:
        return equal_lists(work, a, b);
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
        return equal_nodes(work, item.flavor, item.a, item.b, item.at == IS_ROOT);
    case STEP_PART:
        return equal_parts(work, &item);
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
    work.memo = (struct cx_memo){NULL, 0, 0};
    work.failed = false;
    coex_status before = coex_last_status();
    bool same = equal_words(&work, a, b);
    for (uint64_t step = 1; same && !work.failed && work.count != 0; step++) {
        if (step % VALUE_POLL == 0) coex_gc_safepoint();
        same = equal_step(&work, work.item[--work.count]);
    }
    if (work.item != work.first) cx_os_free(work.item);
    cx_memo_free(&work.memo);
    cx_fail(work.failed ? COEX_STATUS_MEMORY : before); /* a key that one json lacks is no failure of this */
    return same && !work.failed;
}
