/* A heap snapshot in memory: what coex_gc_write_heap_snapshot copies during its visit and writes to a file afterwards.
 *
 *     object   3 words: type << 44 | bytes, index of the handle, number of the edge behind its last one
 *     edge     1 word:  number of the object it leads to | offset / 8 << 32 | SNAPSHOT_WEAK
 *
 * Objects are numbered in the order of their handles: the number is the rank of the handle's bit among all marked ones, so an edge needs no
 * search. Only what is marked is in it, edges to others (born in this cycle) are left out: a graph that is closed. */
#ifndef CX_DIAG_HEAP_SNAPSHOT_H
#define CX_DIAG_HEAP_SNAPSHOT_H

#include "diag/heap/root_list.h"

#define CX_SNAPSHOT_WEAK ((uint64_t)1 << 63)

struct cx_snapshot {
    struct cx_root_list roots; /* in the end with numbers of objects in place of handles */
    struct cx_vector objects, edges;
    uint32_t *rank; /* of the first handle of each 64 */
    uint64_t words, word;
    struct cx_walk walk;
    bool begun, gathered, no_memory;
    /* what is kept by this cycle alone: objects that no root leads to. Numbers, found when the cycle is over */
    struct cx_vector floating;
};

static inline uint64_t cx_snapshot_count(const struct cx_snapshot *shot) { return shot->objects.count / 3; }
static inline uint32_t cx_snapshot_type(const struct cx_snapshot *shot, uint64_t number)
{
    return (uint32_t)(*cx_vector_at(&shot->objects, number * 3) >> 44);
}
static inline uint64_t cx_snapshot_bytes(const struct cx_snapshot *shot, uint64_t number)
{
    return *cx_vector_at(&shot->objects, number * 3) & (((uint64_t)1 << 44) - 1);
}
static inline uint64_t cx_snapshot_index(const struct cx_snapshot *shot, uint64_t number)
{
    return *cx_vector_at(&shot->objects, number * 3 + 1);
}
static inline uint64_t cx_snapshot_edges_from(const struct cx_snapshot *shot, uint64_t number)
{
    return number == 0 ? 0 : *cx_vector_at(&shot->objects, number * 3 - 1);
}
static inline uint64_t cx_snapshot_edges_to(const struct cx_snapshot *shot, uint64_t number)
{
    return *cx_vector_at(&shot->objects, number * 3 + 2);
}
static inline uint64_t cx_edge_target(uint64_t edge) { return (uint32_t)edge; }
static inline uint64_t cx_edge_offset(uint64_t edge) { return (edge >> 32 & 0x7fffffff) * 8; }

/* Writes it as a .heapsnapshot under `path`: COEX_GC_OK, or a code with the error recorded and no file. */
int cx_snapshot_write(const struct cx_snapshot *shot, const char *path);

#endif
