/* Whole trees at once: a sorted batch of changes, and two trees combined (trie.h).
 *
 * Both go down the tree branch by branch, at most CX_TRIE_LEVELS deep, and through the places of a branch by *blocks*: all 32 places,
 * or half of a block. They gather the children of a branch in an image (trie_image.c) or the entries of a leaf in a list, and make
 * each node once, when all below it is done. A tree that comes out as it was is the old node. Subtrees that nothing concerns are not
 * looked at.
 *
 * A *side* is what a tree has in a block: the branch, whose groups in the block are meant, or a leaf or 0 that is all of it. It is
 * *whole* if it is one group. A leaf that is not to stay one is parted in halves, as the block is.
 *
 * Rooting: trees and batch are the caller's. New nodes are appended to a frame of their parent's until that is made. */
#include "values/map/trie.h"

#include <string.h>

/* -------------------------------------------------------------------- sides */

static bool side_is_branch(coex_handle side) { return side != 0 && !cx_trie_is_leaf(side); }

/* Is the side one group in [begin, begin + width)? Then *child is its child, or the leaf itself. */
static bool side_is_whole(coex_handle side, unsigned begin, unsigned width, coex_handle *child)
{
    *child = side;
    if (!side_is_branch(side)) return true;
    const struct cx_trie_node *node = cx_trie_at(side);
    *child = cx_branch_child(node, begin);
    return cx_branch_end(cx_branch_map(node), begin) >= begin + width;
}

/* Entries of a side. */
static uint64_t side_size(coex_handle side, unsigned begin, unsigned width)
{
    if (!side_is_branch(side)) return cx_trie_size(side);
    uint64_t size = 0;
    const struct cx_trie_node *node = cx_trie_at(side);
    for (unsigned at = begin; at < begin + width; at = cx_branch_end(cx_branch_map(node), at))
        size += cx_trie_size(cx_branch_child(node, at));
    return size;
}

/* Adds all groups of a side to an image as they are. */
static bool side_copy(struct cx_trie_image *image, coex_handle side, unsigned width)
{
    if (side_is_branch(side)) return cx_image_copy(image, side, image->end + width);
    return cx_image_add(image, width, side);
}

/* The entries of a leaf before place `middle`, or from there on. */
static bool side_half(uint32_t flavor, unsigned level, coex_handle leaf, unsigned middle, bool behind, coex_handle *half)
{
    struct cx_trie_list list, part;
    *half = 0;
    if (leaf == 0) return true;
    cx_list_begin(&list);
    cx_list_begin(&part);
    cx_list_load(&list, flavor, leaf);
    for (unsigned i = 0; i < list.count; i++) {
        if ((cx_trie_place(cx_trie_hash(flavor, list.key[i]), level) >= middle) == behind)
            cx_list_append(&part, list.mark[i], list.key[i], list.value[i]);
    }
    if (!cx_list_tree(&part, flavor, level, half)) return false;
    if (*half != 0) coex_gc_root(*half);
    return true;
}

/* Parts a side in the halves of its block. `child` is what side_is_whole gave, if `whole`. */
static bool side_halves(uint32_t flavor, const struct cx_trie_image *image, unsigned width, coex_handle side, bool whole,
                        coex_handle child, coex_handle half[2])
{
    unsigned middle = image->end + width / 2;
    half[0] = half[1] = side;
    return !whole || (side_half(flavor, image->level, child, middle, false, &half[0]) &&
                      side_half(flavor, image->level, child, middle, true, &half[1]));
}

/* ------------------------------------------------------------------ a batch */

/* The hash of a change without its flag; 0 at the end. */
static uint64_t batch_hash(const struct cx_trie_batch *batch, const struct cx_trie_change *change)
{
    return change != batch->end ? change->hash & ~CX_TRIE_REMOVED : 0;
}

static uint64_t batch_next(const struct cx_trie_batch *batch) { return batch_hash(batch, batch->at); }

/* Does a change belong to the subtree that `hash` leads to at `level`? */
static bool batch_is_below(uint64_t change, uint64_t hash, unsigned level)
{
    if (change == 0 || level == 0) return change != 0;
    return level == CX_TRIE_LEVELS ? change == hash : (change ^ hash) >> (64 - level * CX_TRIE_BITS) == 0;
}

/* Places [begin, begin + width) of the branch that `hash` leads to at `level`. */
struct batch_block {
    uint64_t hash;
    unsigned level, begin, width;
};

static bool batch_is_in(uint64_t change, const struct batch_block *block)
{
    return batch_is_below(change, block->hash, block->level) && cx_trie_place(change, block->level) - block->begin < block->width;
}

/* Counts the next changes of a block, up to `most`. *distinct: no two of them have the same hash. */
static unsigned batch_count(const struct cx_trie_batch *batch, const struct batch_block *block, unsigned most, bool *distinct)
{
    const struct cx_trie_change *at = batch->at;
    uint64_t last = 0, change;
    unsigned count = 0;
    *distinct = true;
    for (; count < most && batch_is_in(change = batch_hash(batch, at), block); at++, count++) {
        if (change == last) *distinct = false;
        last = change;
    }
    return count;
}

/* All changes of one hash, where all of its bits are used up. */
static bool apply_collisions(uint32_t flavor, struct cx_trie_batch *batch, coex_handle *leaf, uint64_t hash)
{
    coex_handle *slots = coex_gc_enter_frame(1);
    bool done = true;
    for (; done && batch_next(batch) == hash; batch->at++) {
        const struct cx_trie_change *change = batch->at;
        done = (change->hash & CX_TRIE_REMOVED) == 0 ? cx_leaf_set(flavor, leaf, hash, change->key, change->value)
                                                     : cx_leaf_remove(flavor, leaf, hash, change->key);
        slots[0] = *leaf;
    }
    coex_gc_leave_frame(slots);
    return done;
}

/* A leaf of the next `count` changes, which are all to be set (INV-BUILDER-1) and have hashes that differ. They come in the order of
 * hashes: so a sort by marks alone that leaves the rest in order does. */
static bool apply_to_nothing(uint32_t flavor, struct cx_trie_batch *batch, coex_handle *leaf, unsigned count)
{
    const struct cx_trie_change *changes = batch->at;
    uint32_t order[CX_TRIE_LEAF]; /* mark and index */
    for (unsigned i = 0; i < count; i++) {
        uint32_t it = (uint32_t)cx_trie_mark(changes[i].hash) << 8 | i;
        unsigned j = i;
        for (; j > 0 && order[j - 1] > it; j--) order[j] = order[j - 1];
        order[j] = it;
    }
    struct cx_trie_node *node = cx_leaf_new(flavor, count, leaf);
    if (node == NULL) return false;
    uint8_t *marks = (uint8_t *)node->word;
    uint64_t *entry = node->word + cx_leaf_mark_words(count);
    for (unsigned i = 0; i < count; i++) {
        const struct cx_trie_change *change = &changes[order[i] & 0xff];
        marks[i] = (uint8_t)(order[i] >> 8);
        *entry++ = change->key;
        if (cx_trie_stride(flavor) == 2) *entry++ = change->value;
    }
    batch->at += count;
    return true;
}

/* Lists the entries of a leaf after the next `count` changes. */
static void apply_to_list(uint32_t flavor, struct cx_trie_batch *batch, struct cx_trie_list *list, coex_handle leaf, unsigned count)
{
    cx_list_begin(list);
    cx_list_load(list, flavor, leaf);
    for (; count != 0; count--, batch->at++) {
        if ((batch->at->hash & CX_TRIE_REMOVED) == 0)
            cx_list_set(list, flavor, batch->at->hash, batch->at->key, batch->at->value);
        else
            cx_list_remove(list, flavor, batch_next(batch), batch->at->key);
    }
}

static bool apply_below(uint32_t flavor, struct cx_trie_batch *batch, coex_handle *tree, uint64_t hash, unsigned level);

/* Adds a whole block of more than one place to the image after its `count` changes, which fit in a leaf or a list. */
static bool apply_to_block(struct cx_trie_batch *batch, struct cx_trie_image *image, unsigned width, coex_handle leaf,
                           unsigned count, bool distinct)
{
    struct cx_trie_list list;
    image->size -= cx_trie_size(leaf);
    if (leaf == 0 && distinct) {
        if (!apply_to_nothing(image->flavor, batch, &leaf, count)) return false;
        image->size += count;
        return cx_image_add(image, width, leaf);
    }
    apply_to_list(image->flavor, batch, &list, leaf, count);
    image->size += list.count;
    return list.changed ? cx_image_add_list(image, width, &list) : cx_image_add(image, width, leaf);
}

/* Adds the next `width` places to the image: those of `side` after their changes. `hash` leads to the branch. */
static bool apply_block(struct cx_trie_batch *batch, struct cx_trie_image *image, unsigned width, coex_handle side, uint64_t hash)
{
    uint32_t flavor = image->flavor;
    struct batch_block block = {hash, image->level, image->end, width};
    uint64_t change = batch_next(batch);
    coex_handle child, half[2];
    if (!batch_is_in(change, &block)) return side_copy(image, side, width);
    bool whole = side_is_whole(side, image->end, width, &child);
    if (width == 1) {
        image->size -= cx_trie_size(child);
        if (!apply_below(flavor, batch, &child, change, image->level + 1)) return false;
        image->size += cx_trie_size(child);
        return cx_image_add(image, 1, child);
    }
    if (whole) {
        unsigned room = child == 0 ? CX_TRIE_LEAF : CX_TRIE_LIST - (unsigned)cx_trie_size(child);
        bool distinct;
        unsigned count = batch_count(batch, &block, room + 1, &distinct);
        if (count <= room) return apply_to_block(batch, image, width, child, count, distinct);
    }
    return side_halves(flavor, image, width, side, whole, child, half) && apply_block(batch, image, width / 2, half[0], hash) &&
           apply_block(batch, image, width / 2, half[1], hash);
}

/* Makes `tree`, which is at `level` on the way of `hash`, what it becomes by the changes below it, of which the next one is the
 * first. */
static bool apply_below(uint32_t flavor, struct cx_trie_batch *batch, coex_handle *tree, uint64_t hash, unsigned level)
{
    if (level == CX_TRIE_LEVELS) return apply_collisions(flavor, batch, tree, hash);
    struct cx_trie_image image;
    coex_handle *slots = coex_gc_enter_frame(0);
    cx_image_begin(&image, flavor, level, cx_trie_size(*tree));
    bool done = apply_block(batch, &image, CX_TRIE_PLACES, *tree, hash);
    if (done && !cx_image_is(&image, *tree)) done = cx_image_finish(&image, tree);
    coex_gc_leave_frame(slots);
    return done;
}

bool cx_trie_apply(uint32_t flavor, coex_handle *root, struct cx_trie_batch *batch)
{
    coex_handle tree = *root;
    if (batch_next(batch) == 0) return true;
    if (!apply_below(flavor, batch, &tree, 0, 0)) return false;
    *root = tree;
    return true;
}

/* ---------------------------------------------------------------- two trees */

struct bulk_pair {
    enum cx_trie_operation operation;
    uint32_t flavor, other;
};

/* Entry `i` of a leaf of some flavor. */
static void combine_entry(uint32_t flavor, coex_handle leaf, uint64_t i, uint64_t *key, uint64_t *value)
{
    const uint64_t *entry = cx_leaf_entries(cx_trie_at(leaf)) + i * cx_trie_stride(flavor);
    *key = entry[0];
    *value = cx_trie_stride(flavor) == 2 ? entry[1] : 0;
}

/* Two leaves where all bits are used up: one entry after the other. */
static bool combine_collisions(const struct bulk_pair *pair, coex_handle *a, coex_handle b)
{
    coex_handle *slots = coex_gc_enter_frame(1), result = *a, from = pair->operation == CX_TRIE_INTERSECT ? *a : b;
    uint32_t flavor = pair->operation == CX_TRIE_INTERSECT ? pair->flavor : pair->other;
    bool done = true;
    for (uint64_t i = 0; done && i < cx_trie_at(from)->head; i++) {
        uint64_t key, value;
        combine_entry(flavor, from, i, &key, &value);
        uint64_t hash = cx_trie_hash(flavor, key);
        if (pair->operation == CX_TRIE_MERGE)
            done = cx_leaf_set(pair->flavor, &result, hash, key, value);
        else if (pair->operation == CX_TRIE_MINUS || cx_trie_look_below(pair->other, b, CX_TRIE_LEVELS, hash, key) == NULL)
            done = cx_leaf_remove(pair->flavor, &result, hash, key);
        slots[0] = result;
    }
    coex_gc_leave_frame(slots);
    if (done) *a = result;
    return done;
}

/* Is the list what this leaf has? */
static bool combine_is_leaf(const struct cx_trie_list *list, uint32_t flavor, coex_handle leaf)
{
    if (list->count != cx_trie_at(leaf)->head) return false;
    for (unsigned i = 0; i < list->count; i++) {
        uint64_t key, value;
        combine_entry(flavor, leaf, i, &key, &value);
        if (list->key[i] != key || list->value[i] != value) return false;
    }
    return true;
}

/* Lists the entries of two leaves, those of `b` over those of `a`. */
static void combine_list_of_both(const struct bulk_pair *pair, struct cx_trie_list *list, coex_handle a, coex_handle b)
{
    cx_list_begin(list);
    cx_list_load(list, pair->flavor, a);
    for (uint64_t i = 0; i < cx_trie_at(b)->head; i++) {
        uint64_t key, value;
        combine_entry(pair->flavor, b, i, &key, &value);
        cx_list_set(list, pair->flavor, cx_trie_hash(pair->flavor, key), key, value);
    }
}

static bool combine_merge_leaves(const struct bulk_pair *pair, coex_handle *a, coex_handle b, unsigned level)
{
    struct cx_trie_list list;
    combine_list_of_both(pair, &list, *a, b);
    if (!list.changed) return true;
    if (!combine_is_leaf(&list, pair->flavor, b)) return cx_list_tree(&list, pair->flavor, level, a);
    *a = b;
    return true;
}

/* What of leaf `a` is, or is not, in `b`. */
static bool combine_select_leaf(const struct bulk_pair *pair, coex_handle *a, coex_handle b, unsigned level)
{
    struct cx_trie_list list, kept;
    cx_list_begin(&list);
    cx_list_begin(&kept);
    cx_list_load(&list, pair->flavor, *a);
    for (unsigned i = 0; i < list.count; i++) {
        bool found = cx_trie_look_below(pair->other, b, level, cx_trie_hash(pair->flavor, list.key[i]), list.key[i]) != NULL;
        if (found == (pair->operation == CX_TRIE_INTERSECT)) cx_list_append(&kept, list.mark[i], list.key[i], list.value[i]);
    }
    return kept.count == list.count || cx_list_tree(&kept, pair->flavor, level, a);
}

/* What of branch `a` is in leaf `b`. */
static bool combine_intersect_leaf(const struct bulk_pair *pair, coex_handle *a, coex_handle b, unsigned level)
{
    struct cx_trie_list kept;
    cx_list_begin(&kept);
    for (uint64_t i = 0; i < cx_trie_at(b)->head; i++) {
        uint64_t key, value;
        combine_entry(pair->other, b, i, &key, &value);
        uint64_t hash = cx_trie_hash(pair->other, key);
        const uint64_t *entry = cx_trie_look_below(pair->flavor, *a, level, hash, key);
        if (entry != NULL) cx_list_append(&kept, cx_trie_mark(hash), entry[0], cx_trie_stride(pair->flavor) == 2 ? entry[1] : 0);
    }
    return cx_list_tree(&kept, pair->flavor, level, a);
}

static bool combine_below(const struct bulk_pair *pair, coex_handle *a, coex_handle b, unsigned level);

/* Merges two leaves into a block of more than one place. */
static bool combine_merge_block(const struct bulk_pair *pair, struct cx_trie_image *image, unsigned width, coex_handle a,
                                coex_handle b)
{
    struct cx_trie_list list;
    combine_list_of_both(pair, &list, a, b);
    image->size += list.count - cx_trie_size(a);
    if (!list.changed) return cx_image_add(image, width, a);
    if (combine_is_leaf(&list, pair->flavor, b)) return cx_image_add(image, width, b);
    return cx_image_add_list(image, width, &list);
}

/* Adds a block to the image in which both sides are whole. */
static bool combine_whole(const struct bulk_pair *pair, struct cx_trie_image *image, unsigned width, coex_handle a, coex_handle b)
{
    uint64_t was = cx_trie_size(a);
    bool both = a != 0 && b != 0 && a != b;
    if (pair->operation == CX_TRIE_MERGE && width > 1 && both) return combine_merge_block(pair, image, width, a, b);
    if (!combine_below(pair, &a, b, image->level + 1)) return false;
    image->size += cx_trie_size(a) - was; /* may wrap around, and back */
    return cx_image_add(image, width, a);
}

/* Adds the next `width` places to the image: those of side `a` combined with those of side `b`. */
static bool combine_block(const struct bulk_pair *pair, struct cx_trie_image *image, unsigned width, coex_handle a, coex_handle b)
{
    coex_handle mine, other, half[2], other_half[2];
    bool whole = side_is_whole(a, image->end, width, &mine), other_whole = side_is_whole(b, image->end, width, &other);
    bool merge = pair->operation == CX_TRIE_MERGE;
    if (whole && other_whole) return combine_whole(pair, image, width, mine, other);
    if (other_whole && other == 0 && pair->operation != CX_TRIE_INTERSECT) return side_copy(image, a, width);
    if (whole && mine == 0 && merge) {
        image->size += side_size(b, image->end, width);
        return side_copy(image, b, width);
    }
    if (whole && !merge) { /* a leaf beside a part of a branch: its keys are looked for */
        image->size -= cx_trie_size(mine);
        if (mine != 0 && !combine_select_leaf(pair, &mine, b, image->level)) return false;
        image->size += cx_trie_size(mine);
        return cx_image_add(image, width, mine);
    }
    return side_halves(pair->flavor, image, width, a, whole, mine, half) &&
           side_halves(pair->other, image, width, b, other_whole, other, other_half) &&
           combine_block(pair, image, width / 2, half[0], other_half[0]) &&
           combine_block(pair, image, width / 2, half[1], other_half[1]);
}

static bool combine_branches(const struct bulk_pair *pair, coex_handle *a, coex_handle b, unsigned level)
{
    struct cx_trie_image image;
    coex_handle *slots = coex_gc_enter_frame(0);
    cx_image_begin(&image, pair->flavor, level, cx_trie_size(*a));
    bool done = combine_block(pair, &image, CX_TRIE_PLACES, *a, b);
    if (done && !cx_image_is(&image, *a)) {
        if (pair->operation == CX_TRIE_MERGE && cx_image_is(&image, b))
            *a = b;
        else
            done = cx_image_finish(&image, a);
    }
    coex_gc_leave_frame(slots);
    return done;
}

/* Makes `a` what becomes of it by `b`, which is at the same place of the other tree. */
static bool combine_below(const struct bulk_pair *pair, coex_handle *a, coex_handle b, unsigned level)
{
    bool merge = pair->operation == CX_TRIE_MERGE, minus = pair->operation == CX_TRIE_MINUS;
    if (*a == b || *a == 0 || b == 0) {
        bool takes_b = merge && *a == 0, nothing = *a == b ? minus : pair->operation == CX_TRIE_INTERSECT;
        if (takes_b || nothing) *a = takes_b ? b : 0;
        return true;
    }
    if (level == CX_TRIE_LEVELS) return combine_collisions(pair, a, b);
    bool is_leaf = cx_trie_is_leaf(*a), other_is_leaf = cx_trie_is_leaf(b);
    if (merge && is_leaf && other_is_leaf) return combine_merge_leaves(pair, a, b, level);
    if (!merge && is_leaf) return combine_select_leaf(pair, a, b, level);
    if (!merge && !minus && other_is_leaf) return combine_intersect_leaf(pair, a, b, level);
    return combine_branches(pair, a, b, level);
}

bool cx_trie_combine(enum cx_trie_operation operation, uint32_t flavor, coex_handle root, uint32_t other_flavor, coex_handle other,
                     coex_handle *result)
{
    struct bulk_pair pair = {operation, flavor, other_flavor};
    coex_handle tree = root;
    if (!combine_below(&pair, &tree, other, 0)) return false;
    *result = tree;
    return true;
}
