/* See dominators.h. Numbers in here are those of a depth-first search from the root, 0 first. */
#include "dominators.h"

#include "coexgc.h"

#include <stdlib.h>
#include <string.h>

struct search {
    const struct graph *graph;
    uint32_t reached;
    uint32_t *number; /* by node; DOMINATORS_NONE: not reached */
    uint32_t *node;   /* by number, and so all below */
    uint32_t *parent;
    uint32_t *semi;
    uint32_t *ancestor; /* in the forest of what is linked; DOMINATORS_NONE: a root of it */
    uint32_t *label;    /* with the least semi between here and there */
    uint32_t *bucket;   /* the first with this semidominator; next[] leads on */
    uint32_t *next;
    uint32_t *immediate;
    uint64_t *back_first; /* predecessors, by number */
    uint32_t *back;
    uint32_t *stack;
};

static uint32_t *search_words(uint32_t count, uint32_t value)
{
    uint32_t *words = command_allocate(NULL, ((size_t)count + 1) * sizeof *words);
    for (uint32_t i = 0; i <= count; i++) words[i] = value;
    return words;
}

static void search_number(struct search *search)
{
    const struct graph *graph = search->graph;
    uint64_t *at = command_allocate(NULL, ((size_t)graph->count + 1) * sizeof *at);
    uint32_t depth = 0;
    memcpy(at, graph->first, graph->count * sizeof *at);
    search->stack[depth++] = 0;
    search->number[0] = search->reached;
    search->node[search->reached++] = 0;
    while (depth > 0) {
        uint32_t node = search->stack[depth - 1];
        if (at[node] == graph->first[node + 1]) {
            depth--;
            continue;
        }
        uint32_t to = graph->to[at[node]++];
        if (search->number[to] != DOMINATORS_NONE) continue;
        search->number[to] = search->reached;
        search->parent[search->reached] = search->number[node];
        search->node[search->reached++] = to;
        search->stack[depth++] = to;
    }
    free(at);
}

static void search_turn_edges(struct search *search)
{
    const struct graph *graph = search->graph;
    uint64_t *first = command_allocate(NULL, ((size_t)search->reached + 2) * sizeof *first);
    memset(first, 0, ((size_t)search->reached + 2) * sizeof *first);
    for (uint32_t i = 0; i < search->reached; i++) {
        uint32_t node = search->node[i];
        for (uint64_t e = graph->first[node]; e < graph->first[node + 1]; e++) first[search->number[graph->to[e]] + 2]++;
    }
    for (uint32_t i = 0; i < search->reached; i++) first[i + 2] += first[i + 1];
    search->back = command_allocate(NULL, (first[search->reached + 1] + 1) * sizeof *search->back);
    for (uint32_t i = 0; i < search->reached; i++) {
        uint32_t node = search->node[i];
        for (uint64_t e = graph->first[node]; e < graph->first[node + 1]; e++)
            search->back[first[search->number[graph->to[e]] + 1]++] = i;
    }
    search->back_first = first;
}

/* The one with the least semidominator on the way up to the root of its tree; shortens the way. */
static uint32_t search_evaluate(struct search *search, uint32_t v)
{
    uint32_t depth = 0;
    if (search->ancestor[v] == DOMINATORS_NONE) return v;
    for (uint32_t at = v; search->ancestor[search->ancestor[at]] != DOMINATORS_NONE; at = search->ancestor[at])
        search->stack[depth++] = at;
    while (depth > 0) {
        uint32_t at = search->stack[--depth], above = search->ancestor[at];
        if (search->semi[search->label[above]] < search->semi[search->label[at]]) search->label[at] = search->label[above];
        search->ancestor[at] = search->ancestor[above];
    }
    return search->label[v];
}

static void search_decide(struct search *search)
{
    for (uint32_t w = search->reached; w-- > 1;) {
        for (uint64_t e = search->back_first[w]; e < search->back_first[w + 1]; e++) {
            uint32_t best = search_evaluate(search, search->back[e]);
            if (search->semi[best] < search->semi[w]) search->semi[w] = search->semi[best];
        }
        search->next[w] = search->bucket[search->semi[w]];
        search->bucket[search->semi[w]] = w;
        uint32_t parent = search->parent[w];
        search->ancestor[w] = parent;
        for (uint32_t v = search->bucket[parent]; v != DOMINATORS_NONE; v = search->next[v]) {
            uint32_t best = search_evaluate(search, v);
            search->immediate[v] = search->semi[best] < search->semi[v] ? best : parent;
        }
        search->bucket[parent] = DOMINATORS_NONE;
    }
    for (uint32_t w = 1; w < search->reached; w++) {
        if (search->immediate[w] != search->semi[w]) search->immediate[w] = search->immediate[search->immediate[w]];
    }
}

uint32_t dominators_find(const struct graph *graph, uint32_t *dominator, uint32_t *order)
{
    struct search search = {.graph = graph};
    uint32_t count = graph->count;
    uint32_t **const lists[] = {&search.number,    &search.parent, &search.ancestor, &search.bucket, &search.next,
                                &search.immediate, &search.semi,   &search.label,    &search.stack};
    for (uint32_t i = 0; i < count; i++) dominator[i] = DOMINATORS_NONE;
    if (count == 0) return 0;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) *lists[i] = search_words(count, DOMINATORS_NONE);
    search.node = order;
    search_number(&search);
    search_turn_edges(&search);
    for (uint32_t i = 0; i < search.reached; i++) search.semi[i] = search.label[i] = i;
    search_decide(&search);
    for (uint32_t i = 1; i < search.reached; i++) dominator[order[i]] = order[search.immediate[i]];
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) free(*lists[i]);
    free(search.back_first);
    free(search.back);
    return search.reached;
}
