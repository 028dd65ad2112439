/* Going through a tree in the order of hashes, and asking whether one is part of another (trie.h). Nothing here is a safepoint. */
#include "collections/trie.h"

static void walk_push(struct cx_trie_walk *walk, coex_handle node)
{
    uint64_t maps = cx_trie_at(node)->maps;
    uint32_t rest = cx_trie_is_collision(maps) ? cx_trie_entries(maps) : cx_trie_data(maps) | cx_trie_kids(maps);
    walk->step[walk->depth++] = (struct cx_trie_step){.node = node, .rest = rest};
}

void cx_trie_walk(struct cx_trie_walk *walk, uint32_t flavor, coex_handle root)
{
    walk->flavor = flavor;
    walk->depth = 0;
    if (root != 0) walk_push(walk, root);
}

/* The next entry of a collision node, the last of the walk's steps. */
static const uint64_t *walk_collision(struct cx_trie_step *step, const struct cx_trie_node *node, unsigned stride)
{
    uint64_t entry = cx_trie_entries(node->maps) - step->rest--;
    return &node->word[entry * stride];
}

const uint64_t *cx_trie_next(struct cx_trie_walk *walk)
{
    unsigned stride = cx_trie_stride(walk->flavor);
    while (walk->depth != 0) {
        struct cx_trie_step *step = &walk->step[walk->depth - 1];
        if (step->rest == 0) {
            walk->depth--;
            continue;
        }
        const struct cx_trie_node *node = cx_trie_at(step->node);
        if (walk->depth > CX_TRIE_LEVELS) return walk_collision(step, node, stride);
        uint32_t bit = step->rest & -step->rest, data = cx_trie_data(node->maps);
        step->rest &= step->rest - 1;
        if ((data & bit) != 0) return &node->word[step->entry++ * stride];
        walk_push(walk, node->word[cx_trie_count(data) * stride + step->kid++]);
    }
    return NULL;
}

/* ------------------------------------------------------------------ subsets */

struct walk_pair {
    uint32_t part, in;
};

static bool subset_entry(const struct walk_pair *pair, uint64_t key, const struct cx_trie_part *in, unsigned level)
{
    if (in->is != CX_TRIE_NODE) return in->is == CX_TRIE_ENTRY && cx_trie_same_key(pair->in, in->key, key);
    uint64_t hash = cx_trie_hash(pair->part, key);
    return cx_trie_find(pair->in, in->node, level < CX_TRIE_LEVELS ? hash << (level * CX_TRIE_BITS) : 0, key) != NULL;
}

static bool subset_collisions(const struct walk_pair *pair, coex_handle part, const struct cx_trie_part *in)
{
    const struct cx_trie_node *node = cx_trie_at(part);
    uint64_t entries = cx_trie_entries(node->maps);
    for (uint64_t i = 0; i < entries; i++) {
        if (!subset_entry(pair, node->word[i * cx_trie_stride(pair->part)], in, CX_TRIE_LEVELS)) return false;
    }
    return true;
}

/* At most CX_TRIE_LEVELS deep. */
static bool subset_below(const struct walk_pair *pair, const struct cx_trie_part *part, const struct cx_trie_part *in,
                         unsigned level)
{
    if (part->is == CX_TRIE_EMPTY || (part->is == CX_TRIE_NODE && part->node == in->node)) return true;
    if (part->is == CX_TRIE_ENTRY) return subset_entry(pair, part->key, in, level);
    if (in->is != CX_TRIE_NODE) return false; /* INV-TRIE-1: `part` has two keys at least; but see the root */
    if (level == CX_TRIE_LEVELS) return subset_collisions(pair, part->node, in);
    const struct cx_trie_node *mine = cx_trie_at(part->node), *other = cx_trie_at(in->node);
    uint32_t places = cx_trie_data(mine->maps) | cx_trie_kids(mine->maps);
    for (; places != 0; places &= places - 1) {
        unsigned place = (unsigned)__builtin_ctz(places);
        struct cx_trie_part a = cx_trie_part_at(pair->part, mine, place), b = cx_trie_part_at(pair->in, other, place);
        if (!subset_below(pair, &a, &b, level + 1)) return false;
    }
    return true;
}

bool cx_trie_is_subset(uint32_t flavor, coex_handle part, uint32_t in_flavor, coex_handle in)
{
    struct walk_pair pair = {flavor, in_flavor};
    struct cx_trie_part a = cx_trie_subtree(part), b = cx_trie_subtree(in);
    return subset_below(&pair, &a, &b, 0);
}
