/* The cycle: its stages, each in slices that end soon, so that whoever runs it can stop between two (to look at the clock, to let a
 * fork through) and go on later, on another thread if need be. One at a time: who runs it has the collector's role (collector.h), and is
 * "the collector" in all texts.
 *
 *   1. CLEAR     all threads have answered IDLE: every barrier is off, every colour white. Drop born bits and HELD lines; full cycle: marks
 *                and what IDLE handed over. No lock is held: this grows with the heap.
 *   2. SYNC      threads turn their barriers on.
 *   3. ROOTS     threads shade their top frames, freeze the rest, and allocate black from then on.
 *   4. MARK      buffers, frozen frames, global roots; trace. (The barrier runs beside it.)
 *   5. FLUSH     ask for buffers; trace what comes, and ask again. INV-FLUSH-1: a round (from before the request to the end of the tracing
 *                behind it) in which nobody marks anything ends marking: then nobody has a white object that is reachable.
 *   6. WEAK      cells of dead targets are cleared; the dead that have a finalizer are revived and queued (weak_references.h, finalizers.h).
 *   7. VISIT     whoever asked to look at the heap does so now: every reachable object is marked or born.
 *   8. SWEEP     handles, then lines (INV-HEAP-2).
 *   9. IDLE      barriers off, colour white. INV-IDLE-1: the next CLEAR waits for all answers; a thread whose barrier is still on would
 *                shade by the old marks.
 *
 * Handshakes go by epoch. A request is published under the registry lock (INV-THREAD-2); answers are waited for without any lock, and
 * given for threads in native mode. A thread that is late is named, and waited for: never a guess. */
#ifndef CX_GC_CYCLE_STAGES_H
#define CX_GC_CYCLE_STAGES_H

#include "gc/marking/marker.h"
#include "gc/cycle/sweep.h"
#include "gc/threads/thread_record.h"

/* Numbers of a complete cycle, for the statistics. */
struct cx_cycle_stats {
    uint64_t completed;
    uint64_t marked;
    struct cx_swept swept;
    uint64_t bytes_reclaimed;
    uint64_t duration_ns, mark_ns, sweep_ns, total_ns;
    uint64_t flushes;
    uint64_t slices;
    uint64_t most_units; /* of a slice: INV-BUDGET-1 */
};

/* Something that looks at the heap between marking and the sweep: whatever is reachable is marked or born then, and neither marks nor
 * objects that are not MUTABLE change. It runs on the collector, in slices, and neither allocates objects nor waits. */
struct cx_visit {
    bool (*run)(void *context); /* a slice; true: there is more */
    void *context;
    bool stacks; /* it wants records of the stacks (root_record.h) */
    bool done;   /* W: collector. R: who asked, when the cycle has ended */
    struct cx_visit *next;
};

enum cx_progress {
    CX_PROGRESS_MORE, /* call again */
    CX_PROGRESS_WAIT, /* some thread owes an answer; call again later */
    CX_PROGRESS_DONE  /* the stage; for cx_cycle_step: the cycle */
};

struct cx_cycle {
    unsigned stage;
    uint64_t at;            /* where the stage is; 0 when it begins */
    uint64_t epoch;         /* of the last request; never goes back */
    uint64_t asked_ns;      /* when it was published */
    bool asked;             /* the stage's request is published */
    uint32_t look_at;       /* the thread whose answer is looked at next */
    bool missing;           /* one of those before it owes an answer */
    uint64_t marked_before; /* INV-FLUSH-1 */
    uint64_t gets_before;   /* INV-WEAK-2 */
    uint64_t begin_ns, mark_begin_ns, sweep_begin_ns, stage_begin_ns;
    struct cx_budget budget; /* of the slice that runs */
    struct cx_marker marker;
    struct cx_sweep_clear clear;
    struct cx_mark_cursor cursor;
    struct cx_visit *visits;
    struct cx_cycle_stats stats;
};

/* From here on cx_cycle_step runs a new cycle. */
void cx_cycle_begin_gct(struct cx_cycle *cycle, struct cx_visit *visits);
/* Runs one slice: it spends CX_SLICE_UNITS at most (budget.h), which is some tens of microseconds. */
enum cx_progress cx_cycle_step_gct(struct cx_cycle *cycle);
/* Of a CX_EVENT_STAGE. */
const char *cx_cycle_stage_name(uint64_t stage);

#endif
