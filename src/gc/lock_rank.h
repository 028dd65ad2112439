/* The ranks of all locks of the runtime, from the lowest (taken first) to the highest. A thread
 * takes locks only in rising order, and fork takes all of them in this order (base/lock.h). */
#ifndef CX_GC_LOCK_RANK_H
#define CX_GC_LOCK_RANK_H

enum cx_rank {
    CX_RANK_LIFE = 1,    /* init, shutdown, fork, and threads that come and go */
    CX_RANK_ROLE,        /* the collector's role: the right to run slices of the cycle */
    CX_RANK_REQUEST,     /* requests for cycles, and their completion */
    CX_RANK_REGISTRY,    /* thread records, and the publication of requests */
    CX_RANK_STACKS,      /* records and memory of shadow stacks */
    CX_RANK_ROOTS,       /* global roots and pins */
    CX_RANK_WEAK,        /* weak references and ephemerons */
    CX_RANK_FINALIZE,    /* finalizable objects and the finalizer queue */
    CX_RANK_TYPES,       /* type registration */
    CX_RANK_UNBARRIERED, /* debugging: notes of references (debug/unbarriered_stores.h) */
    CX_RANK_HANDLES,     /* claiming handle words, growing the handle table */
    CX_RANK_LARGE,       /* runs of pages for large objects */
    CX_RANK_HEAP,        /* block lists, growing the heap */
    CX_RANK_MARK_QUEUE,  /* chunks of the mark queue */
    CX_RANK_TRACE,       /* starting, stopping and writing an event trace */
    CX_RANK_PROFILE,     /* sampled allocations */
    CX_RANK_TIMES,       /* the times of the last cycle */
    CX_RANK_OUTPUT       /* the stream that dumps and traces go to */
};

#endif
