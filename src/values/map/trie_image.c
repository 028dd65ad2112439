/* Making branches: an image of one is filled from its first place to its last, group by group, and
 * becomes a node when all below it is done (trie.h).
 *
 * INV-TRIE-1 is kept here. A list of too many entries for a leaf is parted in halves, as often as it
 * needs. Two groups of one size that are the halves of a larger one become one if their entries fit in
 * a leaf. Groups that are copied from a branch are as they must be among each other: only beside one
 * that is *touched* is there something to join, so that nobody looks at all children of a branch
 * because one has changed. */
#include "values/map/trie.h"

#include <string.h>

void cx_image_begin(struct cx_trie_image *image, uint32_t flavor, unsigned level, uint64_t size)
{
    image->flavor = flavor;
    image->level = level;
    image->groups = image->end = 0;
    image->touched = 0;
    image->size = size;
}

/* ---------------------------------------------------------------- joining */

static unsigned image_width(const struct cx_trie_image *image, unsigned group)
{
    return (group + 1 < image->groups ? image->begin[group + 1] : image->end) - image->begin[group];
}

/* Can the last two groups be one leaf? */
static bool image_can_join(const struct cx_trie_image *image)
{
    if (image->groups < 2) return false;
    unsigned last = image->groups - 1, width = image_width(image, last);
    if ((image->touched >> (last - 1) & 3) == 0) return false;
    if (image_width(image, last - 1) != width || image->begin[last - 1] % (2 * width) != 0) return false;
    coex_handle a = image->child[last - 1], b = image->child[last];
    if ((a != 0 && !cx_trie_is_leaf(a)) || (b != 0 && !cx_trie_is_leaf(b))) return false;
    return cx_trie_size(a) + cx_trie_size(b) <= CX_TRIE_LEAF;
}

/* Makes one leaf of two, either of which may be empty. Returns false if memory is exhausted. */
static bool image_join_leaves(uint32_t flavor, coex_handle a, coex_handle b, coex_handle *leaf)
{
    struct cx_trie_list list;
    *leaf = a != 0 ? a : b;
    if (a == 0 || b == 0) return true;
    cx_list_begin(&list);
    cx_list_load(&list, flavor, a);
    cx_list_load(&list, flavor, b);
    cx_list_sort(&list, flavor);
    if (!cx_list_tree(&list, flavor, 0, leaf)) return false;
    coex_gc_root(*leaf);
    return true;
}

/* Adds a group of `width` places. `child` is rooted. Returns false if memory is exhausted. */
static bool image_push(struct cx_trie_image *image, unsigned width, coex_handle child, bool touched)
{
    unsigned at = image->groups++;
    image->begin[at] = (uint8_t)image->end;
    image->child[at] = child;
    image->end += width;
    image->touched |= (uint32_t)touched << at;
    while (image_can_join(image)) {
        unsigned last = image->groups - 1;
        if (!image_join_leaves(image->flavor, image->child[last - 1], image->child[last], &image->child[last - 1])) return false;
        image->groups--;
        image->touched = (image->touched & ~((uint32_t)1 << last)) | (uint32_t)1 << (last - 1);
    }
    return true;
}

/* ----------------------------------------------------------------- adding */

bool cx_image_add(struct cx_trie_image *image, unsigned width, coex_handle child)
{
    if (child != 0) coex_gc_root(child);
    return image_push(image, width, child, true);
}

bool cx_image_copy(struct cx_trie_image *image, coex_handle tree, unsigned until)
{
    while (image->end < until) {
        uint32_t map = cx_branch_map(cx_trie_at(tree));
        coex_handle child = cx_branch_child(cx_trie_at(tree), image->end);
        if (!image_push(image, cx_branch_end(map, image->end) - image->end, child, false)) return false;
    }
    return true;
}

/* Adds the entries of the next `width` places as one group. */
static __attribute__((noinline)) bool image_add_part(struct cx_trie_image *image, unsigned width, const struct cx_trie_list *list,
                                                     const uint8_t *place)
{
    struct cx_trie_list part;
    coex_handle child;
    cx_list_begin(&part);
    for (unsigned i = 0; i < list->count; i++) {
        if (place[i] - image->end < width) cx_list_append(&part, list->mark[i], list->key[i], list->value[i]);
    }
    return cx_list_tree(&part, image->flavor, image->level + 1, &child) && cx_image_add(image, width, child);
}

/* At most CX_TRIE_BITS deep. */
static bool image_add_parts(struct cx_trie_image *image, unsigned width, const struct cx_trie_list *list, const uint8_t *place)
{
    unsigned count = 0;
    for (unsigned i = 0; i < list->count; i++) count += place[i] - image->end < width;
    if (count <= CX_TRIE_LEAF || width == 1) return image_add_part(image, width, list, place);
    return image_add_parts(image, width / 2, list, place) && image_add_parts(image, width / 2, list, place);
}

bool cx_image_add_list(struct cx_trie_image *image, unsigned width, const struct cx_trie_list *list)
{
    uint8_t place[CX_TRIE_LIST];
    for (unsigned i = 0; i < list->count; i++)
        place[i] = (uint8_t)cx_trie_place(cx_trie_hash(image->flavor, list->key[i]), image->level);
    return image_add_parts(image, width, list, place);
}

/* -------------------------------------------------------------- the result */

static uint32_t image_map(const struct cx_trie_image *image)
{
    uint32_t map = 0;
    for (unsigned i = 0; i < image->groups; i++) map |= (uint32_t)1 << image->begin[i];
    return map;
}

bool cx_image_is(const struct cx_trie_image *image, coex_handle tree)
{
    if (tree == 0 || cx_trie_is_leaf(tree)) return image->groups == 1 && image->child[0] == tree;
    const struct cx_trie_node *node = cx_trie_at(tree);
    return node->head == (CX_TRIE_BRANCH | image_map(image)) && memcmp(node->word, image->child, image->groups * 8) == 0;
}

bool cx_image_finish(const struct cx_trie_image *image, coex_handle *tree)
{
    if (image->groups == 1) {
        *tree = image->child[0];
        return true;
    }
    struct cx_trie_node *node = cx_branch_new(image_map(image), image->size, tree);
    if (node != NULL) memcpy(node->word, image->child, image->groups * 8);
    return node != NULL;
}
