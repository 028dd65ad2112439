/* Going through a tree in its order, which is no safepoint, and asking whether one is part of another, which polls (trie.h). */
#include "values/map/trie.h"

static void walk_push(struct cx_trie_walk *walk, coex_handle handle)
{
    if (handle == 0) return; /* a group of no entries */
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

enum { SUBSET_POLL = 64 }; /* leaves between two polls: some tens of microseconds */

/* Is the one part of the other? Polls, so nodes are named by their handles and read again. */
struct subset {
    uint32_t flavor, in_flavor;
    uint64_t leaves; /* so far */
};

static bool subset_leaf(struct subset *subset, coex_handle leaf, coex_handle in, unsigned level)
{
    const struct cx_trie_node *node = cx_trie_at(leaf);
    const uint64_t *entry = cx_leaf_entries(node);
    for (uint64_t i = node->head; i != 0; i--, entry += cx_trie_stride(subset->flavor)) {
        uint64_t hash = cx_trie_hash(subset->flavor, *entry);
        if (cx_trie_look_below(subset->in_flavor, in, level, hash, *entry) == NULL) return false;
    }
    if (++subset->leaves % SUBSET_POLL == 0) coex_gc_safepoint();
    return true;
}

/* At most CX_TRIE_LEVELS deep. */
static bool subset_below(struct subset *subset, coex_handle part, coex_handle in, unsigned level)
{
    if (part == in || part == 0) return true;
    if (cx_trie_is_leaf(part)) return subset_leaf(subset, part, in, level);
    if (in == 0 || cx_trie_is_leaf(in)) return false; /* INV-TRIE-1: it has fewer */
    for (uint32_t groups = cx_branch_map(cx_trie_at(part)); groups != 0; groups &= groups - 1) {
        unsigned place = (unsigned)__builtin_ctz(groups);
        coex_handle mine = cx_branch_child(cx_trie_at(part), place), other = cx_branch_child(cx_trie_at(in), place);
        if (mine == 0 || mine == other) continue;
        bool is_part = cx_trie_is_leaf(mine) ? subset_leaf(subset, mine, in, level) : subset_below(subset, mine, other, level + 1);
        if (!is_part) return false;
    }
    return true;
}

bool cx_trie_is_subset(uint32_t flavor, coex_handle part, uint32_t in_flavor, coex_handle in)
{
    struct subset subset = {.flavor = flavor, .in_flavor = in_flavor};
    return subset_below(&subset, part, in, 0);
}
