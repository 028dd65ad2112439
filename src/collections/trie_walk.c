/* Going through a tree in its order, and asking whether one is part of another (trie.h). Nothing here is a safepoint. */
#include "collections/trie.h"

static void walk_push(struct cx_trie_walk *walk, coex_handle handle)
{
    const struct cx_trie_node *node = cx_trie_at(handle);
    uint32_t end = cx_trie_is_branch(node) ? cx_trie_count(cx_branch_map(node)) : (uint32_t)node->head;
    walk->step[walk->depth++] = (struct cx_trie_step){.node = handle, .end = end};
}

void cx_trie_walk(struct cx_trie_walk *walk, uint32_t flavor, coex_handle root)
{
    walk->flavor = flavor;
    walk->depth = 0;
    if (root != 0) walk_push(walk, root);
}

const uint64_t *cx_trie_next(struct cx_trie_walk *walk)
{
    while (walk->depth != 0) {
        struct cx_trie_step *step = &walk->step[walk->depth - 1];
        if (step->next == step->end) {
            walk->depth--;
            continue;
        }
        const struct cx_trie_node *node = cx_trie_at(step->node);
        uint64_t at = step->next++;
        if (!cx_trie_is_branch(node)) return cx_leaf_entries(node) + at * cx_trie_stride(walk->flavor);
        walk_push(walk, node->word[at]);
    }
    return NULL;
}

/* ------------------------------------------------------------------ subsets */

static bool subset_leaf(uint32_t flavor, coex_handle leaf, uint32_t in_flavor, coex_handle in, unsigned level)
{
    const struct cx_trie_node *node = cx_trie_at(leaf);
    const uint64_t *entry = cx_leaf_entries(node);
    for (uint64_t i = node->head; i != 0; i--, entry += cx_trie_stride(flavor)) {
        if (cx_trie_look_below(in_flavor, in, level, cx_trie_hash(flavor, *entry), *entry) == NULL) return false;
    }
    return true;
}

/* At most CX_TRIE_LEVELS deep. */
static bool subset_below(uint32_t flavor, coex_handle part, uint32_t in_flavor, coex_handle in, unsigned level)
{
    if (part == in || part == 0) return true;
    if (cx_trie_is_leaf(part)) return subset_leaf(flavor, part, in_flavor, in, level);
    if (in == 0 || cx_trie_is_leaf(in)) return false; /* INV-TRIE-1: it has fewer */
    const struct cx_trie_node *mine = cx_trie_at(part), *other = cx_trie_at(in);
    uint32_t places = cx_branch_map(mine);
    if ((places & ~cx_branch_map(other)) != 0) return false;
    for (; places != 0; places &= places - 1) {
        unsigned place = (unsigned)__builtin_ctz(places);
        if (!subset_below(flavor, cx_branch_child(mine, place), in_flavor, cx_branch_child(other, place), level + 1)) return false;
    }
    return true;
}

bool cx_trie_is_subset(uint32_t flavor, coex_handle part, uint32_t in_flavor, coex_handle in)
{
    return subset_below(flavor, part, in_flavor, in, 0);
}
