/* Dominators of a graph: d dominates n if every path from the root to n goes through d; without d, n would be garbage. */
#ifndef COEXGC_DOMINATORS_H
#define COEXGC_DOMINATORS_H

#include <stdint.h>

/* Nodes are 0 .. count-1, node 0 is the root; the edges of node n are to[first[n]] .. to[first[n + 1] - 1]. */
struct graph {
    uint32_t count;
    const uint64_t *first;
    const uint32_t *to;
};

#define DOMINATORS_NONE UINT32_MAX /* of the root, and of what it does not reach */

/* Fills dominator[count], the immediate one of each node, and order[], the nodes that are reached, each behind its dominator; returns how
 * many those are. Lengauer and Tarjan's method (1979) with path compression: O(edges * log nodes), and no recursion. */
uint32_t dominators_find(const struct graph *graph, uint32_t *dominator, uint32_t *order);

#endif
