/* The thread-local allocation buffer (TLAB): the space of a thread for small objects.
 *
 * It consists of a hole, the block that contains the hole, and an overflow block. The ABI words of
 * the thread move in the hole. An object that is larger than a line and does not fit into the hole
 * goes to the overflow block, so that one such object does not waste the hole.
 *
 * Entered only by the owner, or by the collector for a thread that it has claimed. No function
 * here polls. */
#ifndef CX_GC_HEAP_TLAB_H
#define CX_GC_HEAP_TLAB_H

#include "gc/heap/blocks.h"

struct cx_tlab {
    uint32_t block;    /* CX_NO_BLOCK: none */
    uint32_t overflow; /* likewise; also if the overflow space is a run of a block that the thread does not own. INV-HEAP-6 */
    uint64_t end;      /* of the hole. The ABI word `end` is this, or 0 when every allocation is to take the slow path */
    uint64_t start;    /* of the hole, for the count of bytes */
    uint64_t overflow_cursor, overflow_end;
    uint64_t bytes;    /* of objects in holes that are done with, and of large ones */
    uint32_t spares;   /* empty blocks taken along, so that a lock serves for several */
    uint32_t appetite; /* for them: doubles, so that a thread that allocates little holds little */
    uint32_t spare[CX_SPARE_BLOCKS];
    uint64_t unreported; /* of `taken`: not in heap.taken yet, which all threads read and so should change seldom */
    uint64_t granted;    /* blocks that the heap has given it, without spares: its part of heap.granted */
    uint64_t taken;      /* bytes of holes, overflow blocks and large objects so far */
    bool slow_always;    /* debugging: stress */
    bool watched;        /* every allocation is told of: the same for as long as it lasts */
    /* Sampling. The ABI word `end` is early where a sample is due, so that the fast path has nothing to do with it. */
    uint64_t sample_every; /* bytes, about; 0: no samples. As this thread has last heard */
    uint64_t sample_at;    /* value of cx_tlab_bytes at which the next one is due */
    uint64_t sample_random;
};

void cx_tlab_init(struct cx_tlab *tlab, struct coex_gc_thread *words, bool slow_always);
/* Where an object of `bytes`, whose payload comes after `prefix` bytes and is aligned to `align`, may start. NULL: full. */
char *cx_tlab_place(struct cx_tlab *tlab, struct coex_gc_thread *words, struct cx_heap *heap, uint64_t bytes, uint64_t prefix,
                    uint64_t align, bool black);
/* So many bytes were taken elsewhere on this thread's account; its next allocation takes the slow path. */
void cx_tlab_charge(struct cx_tlab *tlab, struct coex_gc_thread *words, uint64_t bytes);
/* Everything that is held for later objects becomes HELD: at the ROOTS answer. */
void cx_tlab_hold(struct cx_tlab *tlab, const struct coex_gc_thread *words, struct cx_heap *heap);
/* The thread goes: its blocks are nobody's. */
void cx_tlab_give_up(struct cx_tlab *tlab, struct coex_gc_thread *words, struct cx_heap *heap);
/* After cx_heap_fork_child: the blocks of this thread stay its own. */
void cx_tlab_fork_child(const struct cx_tlab *tlab, struct cx_heap *heap);
/* From now on every allocation takes the slow path, or no longer. */
void cx_tlab_watch(struct cx_tlab *tlab, struct coex_gc_thread *words, bool watched);
/* After an allocation: how many sample points, about `interval` bytes apart, it has passed. 0 for most, and for the first after the
 * interval has changed. */
uint64_t cx_tlab_sample(struct cx_tlab *tlab, struct coex_gc_thread *words, uint64_t interval);
/* Bytes of objects allocated so far. */
uint64_t cx_tlab_bytes(const struct cx_tlab *tlab, const struct coex_gc_thread *words);

#endif
