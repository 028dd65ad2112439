/* The event trace: what the listener puts into the ring, and where it goes.
 *
 * On from coex_gc_trace_start (or the option `events`) to coex_gc_trace_stop or shutdown. Any thread records; starting and
 * stopping are under a lock of their own, which no recorder takes; no lock is held while a file is written. The ring stays until
 * shutdown: a thread that saw "on" may still be about to write. */
#ifndef CX_DIAG_EVENTS_TRACE_H
#define CX_DIAG_EVENTS_TRACE_H

#include "diag/events/ring.h"
#include "gc/event.h"

#include <stdio.h>

enum cx_trace_kind {
    CX_TRACE_CYCLE,     /* number, ns, objects marked, objects swept, heap bytes when it began */
    CX_TRACE_STAGE,     /* number, ns */
    CX_TRACE_HANDSHAKE, /* ns, kind */
    CX_TRACE_STOP,      /* ns on the CPU, ns on the wall, ns from the request to its begin */
    CX_TRACE_NATIVE,    /* the collector answered for it: thread id, kind */
    CX_TRACE_LATE,      /* thread id, ms */
    CX_TRACE_HEAP,      /* bytes used, goal, live, committed, external */
    CX_TRACE_HANDLES,   /* in use, retired, table size */
    CX_TRACE_TYPE,      /* of one cycle, estimated: type id, live objects, live bytes, dead objects, dead bytes */
    CX_TRACE_MAP,       /* of the blocks: part << 48 | cells << 32 | blocks, then 64 cells of four bits */
    CX_TRACE_COUNTER    /* the embedder's: address of its name, value */
};

enum {
    CX_TRACE_MAP_CELLS = 512, /* at most; a cell stands for as many blocks as it takes */
    CX_TRACE_MAP_STEPS = 15,  /* how full a cell is, from 0 to this */
    CX_TRACE_TYPES = 12       /* types named in each cycle; the rest is one row with id 0 */
};

extern cx_a32 cx_trace_on; /* W: under the trace's lock, release. R: who records, acquire: with it comes the ring */

static inline bool cx_trace_is_on(void) { return cx_a32_load_acquire(&cx_trace_on) != 0; }

/* From the listener. */
void cx_trace_take(const struct cx_event *event);
/* `thread` 0: the collector. */
void cx_trace_put(enum cx_trace_kind kind, uint64_t thread, const uint64_t value[CX_TRACE_VALUES]);

/* Looks at a sample of the objects between marking and the sweep, and records the largest types. Collector only. */
void cx_heap_sampling_types_gct(void);
/* Records how full the blocks are. Collector only. */
void cx_heap_sampling_blocks_gct(void);

/* A code, with the error recorded: the file can't be written, or there is no memory. */
int cx_trace_start(const char *path);
/* Shutdown: stops, and gives the ring back. */
void cx_trace_fini(void);
void cx_trace_fork_lock(void);
void cx_trace_fork_parent(void);
void cx_trace_fork_child(void);

/* What a written trace is of. */
struct cx_trace_extent {
    uint64_t first, last; /* tickets */
    uint64_t begin_ns;    /* time 0 of the file */
    uint64_t dropped;     /* records that were overwritten or lost */
};
/* Writes trace-event JSON. Returns 0, or an errno if the stream has an error. */
int cx_trace_write_json(FILE *file, const struct cx_ring *ring, const struct cx_trace_extent *extent);

#endif
