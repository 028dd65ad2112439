/* Whole trees at once: a sorted batch of changes, and two trees combined (trie.h).
 *
 * Both go down the tree place by place, at most CX_TRIE_LEVELS deep, gather the children of a branch in an image or the entries of
 * a leaf in a list, and make each node once, when all below it is done. What comes out as it was is the old node. Subtrees that
 * nothing concerns are not looked at. Where a leaf meets a branch, or so many changes that it will not stay one, it is made a
 * branch first.
 *
 * Rooting: trees and batch are the caller's. New nodes are appended to a frame of their parent's until that is made. */
#include "values/map/trie.h"

#include <string.h>

/* ------------------------------------------------------------------- images */

/* The children of a branch to be. */
struct bulk_image {
    uint32_t map;
    unsigned children;
    uint64_t size; /* entries in them */
    coex_handle child[CX_TRIE_PLACES];
};

static void image_begin(struct bulk_image *image, uint64_t size)
{
    image->map = 0;
    image->children = 0;
    image->size = size;
}

/* Places come in ascending order. `child` is rooted here. */
static void image_add(struct bulk_image *image, unsigned place, coex_handle child)
{
    if (child == 0) return;
    coex_gc_root(child);
    image->map |= (uint32_t)1 << place;
    image->child[image->children++] = child;
}

/* Children at places [from, to) of a branch, or of nothing. */
static void image_copy(struct bulk_image *image, coex_handle branch, unsigned from, unsigned to)
{
    if (branch == 0) return;
    const struct cx_trie_node *node = cx_trie_at(branch);
    uint32_t range = (uint32_t)((((uint64_t)1 << to) - 1) & ~(((uint64_t)1 << from) - 1)), map = cx_branch_map(node) & range;
    if (map == 0) return;
    unsigned count = cx_trie_count(map);
    memcpy(&image->child[image->children], &node->word[cx_branch_index(cx_branch_map(node), from)], count * 8);
    image->children += count;
    image->map |= map;
}

/* Is it this branch? */
static bool image_is(const struct bulk_image *image, coex_handle branch)
{
    if (branch == 0) return false;
    const struct cx_trie_node *node = cx_trie_at(branch);
    return node->head == (CX_TRIE_BRANCH | image->map) && memcmp(node->word, image->child, image->children * 8) == 0;
}

/* INV-TRIE-1: so few entries are a leaf. */
static bool image_collapse(const struct bulk_image *image, uint32_t flavor, coex_handle *result)
{
    struct cx_trie_list list;
    cx_list_begin(&list);
    for (unsigned i = 0; i < image->children; i++) cx_list_load(&list, flavor, image->child[i]);
    cx_list_sort(&list, flavor);
    return cx_list_tree(&list, flavor, 0, result);
}

static bool image_finish(const struct bulk_image *image, uint32_t flavor, coex_handle *result)
{
    if (image->size <= CX_TRIE_LEAF) return image_collapse(image, flavor, result);
    struct cx_trie_node *node = cx_branch_new(image->map, image->size, result);
    if (node != NULL) memcpy(node->word, image->child, image->children * 8);
    return node != NULL;
}

/* A leaf as a branch of `level`, for the time being. A branch, or nothing, is what it is. */
static bool bulk_spread(uint32_t flavor, unsigned level, coex_handle *tree)
{
    struct cx_trie_list list;
    if (!cx_trie_is_leaf(*tree)) return true;
    cx_list_begin(&list);
    cx_list_load(&list, flavor, *tree);
    if (!cx_list_branch(&list, flavor, level, tree)) return false;
    coex_gc_root(*tree);
    return true;
}

static coex_handle bulk_child(coex_handle branch, unsigned place)
{
    return branch != 0 ? cx_branch_child(cx_trie_at(branch), place) : 0;
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

/* Counts the next changes that belong there, up to `most`. *distinct: no two of them have the same hash. */
static unsigned batch_count(const struct cx_trie_batch *batch, uint64_t hash, unsigned level, unsigned most, bool *distinct)
{
    const struct cx_trie_change *at = batch->at;
    uint64_t last = 0, change;
    unsigned count = 0;
    *distinct = true;
    for (; count < most && batch_is_below(change = batch_hash(batch, at), hash, level); at++, count++) {
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

/* A leaf of the next `count` changes, which are all to be set (INV-BUILDER-3) and have hashes that differ. They come in the order of
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

/* The next `count` changes, to a leaf or to nothing. */
static bool apply_to_leaf(uint32_t flavor, struct cx_trie_batch *batch, coex_handle *leaf, unsigned level, unsigned count)
{
    struct cx_trie_list list;
    cx_list_begin(&list);
    cx_list_load(&list, flavor, *leaf);
    for (; count != 0; count--, batch->at++) {
        if ((batch->at->hash & CX_TRIE_REMOVED) == 0)
            cx_list_set(&list, flavor, batch->at->hash, batch->at->key, batch->at->value);
        else
            cx_list_remove(&list, flavor, batch_next(batch), batch->at->key);
    }
    return !list.changed || cx_list_tree(&list, flavor, level, leaf);
}

static bool apply_below(uint32_t flavor, struct cx_trie_batch *batch, coex_handle *tree, uint64_t hash, unsigned level);

/* The image of a branch (0: of nothing) after the changes below it. What is new is rooted in the caller's frame. */
static bool apply_places(uint32_t flavor, struct cx_trie_batch *batch, coex_handle branch, uint64_t hash, unsigned level,
                         struct bulk_image *image)
{
    unsigned copied = 0;
    uint64_t change;
    image_begin(image, cx_trie_size(branch));
    while (batch_is_below(change = batch_next(batch), hash, level)) {
        unsigned place = cx_trie_place(change, level);
        coex_handle child = bulk_child(branch, place);
        image_copy(image, branch, copied, place);
        image->size -= cx_trie_size(child);
        if (!apply_below(flavor, batch, &child, change, level + 1)) return false;
        image->size += cx_trie_size(child);
        image_add(image, place, child);
        copied = place + 1;
    }
    image_copy(image, branch, copied, CX_TRIE_PLACES);
    return true;
}

/* Makes `tree`, which is at `level` on the way of `hash`, what it becomes by the changes below it, of which the next one is the
 * first. */
static bool apply_below(uint32_t flavor, struct cx_trie_batch *batch, coex_handle *tree, uint64_t hash, unsigned level)
{
    if (level == CX_TRIE_LEVELS) return apply_collisions(flavor, batch, tree, hash);
    if (*tree == 0 || cx_trie_is_leaf(*tree)) {
        unsigned room = *tree == 0 ? CX_TRIE_LEAF : CX_TRIE_LIST - (unsigned)cx_trie_size(*tree);
        bool distinct;
        unsigned count = batch_count(batch, hash, level, room + 1, &distinct);
        if (count <= room && distinct && *tree == 0) return apply_to_nothing(flavor, batch, tree, count);
        if (count <= room) return apply_to_leaf(flavor, batch, tree, level, count);
    }
    struct bulk_image image;
    coex_handle *slots = coex_gc_enter_frame(0), branch = *tree;
    bool done = bulk_spread(flavor, level, &branch) && apply_places(flavor, batch, branch, hash, level, &image);
    if (done && !image_is(&image, *tree)) done = image_finish(&image, flavor, tree);
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

static bool combine_merge_leaves(const struct bulk_pair *pair, coex_handle *a, coex_handle b, unsigned level)
{
    struct cx_trie_list list;
    cx_list_begin(&list);
    cx_list_load(&list, pair->flavor, *a);
    for (uint64_t i = 0; i < cx_trie_at(b)->head; i++) {
        uint64_t key, value;
        combine_entry(pair->flavor, b, i, &key, &value);
        cx_list_set(&list, pair->flavor, cx_trie_hash(pair->flavor, key), key, value);
    }
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

/* Two branches, place by place: the image of the result. What is new is rooted in the caller's frame. */
static bool combine_places(const struct bulk_pair *pair, coex_handle a, coex_handle b, unsigned level, struct bulk_image *image)
{
    uint32_t places = cx_branch_map(cx_trie_at(a));
    if (pair->operation == CX_TRIE_MERGE) places |= cx_branch_map(cx_trie_at(b));
    image_begin(image, cx_trie_size(a));
    for (; places != 0; places &= places - 1) {
        unsigned place = (unsigned)__builtin_ctz(places);
        coex_handle mine = bulk_child(a, place), was = mine;
        if (!combine_below(pair, &mine, bulk_child(b, place), level + 1)) return false;
        if (mine != was) image->size += cx_trie_size(mine) - cx_trie_size(was); /* may wrap around, and back */
        image_add(image, place, mine);
    }
    return true;
}

static bool combine_branches(const struct bulk_pair *pair, coex_handle *a, coex_handle b, unsigned level)
{
    struct bulk_image image;
    coex_handle *slots = coex_gc_enter_frame(0), mine = *a, other = b;
    bool done = bulk_spread(pair->flavor, level, &mine) && bulk_spread(pair->other, level, &other) &&
                combine_places(pair, mine, other, level, &image);
    if (done && !image_is(&image, *a)) {
        if (pair->operation == CX_TRIE_MERGE && image_is(&image, b))
            *a = b;
        else
            done = image_finish(&image, pair->flavor, a);
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
