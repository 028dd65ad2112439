/* The cycle and its stages.
 *
 * Each stage runs in slices that end soon. The thread that runs the cycle can stop between two
 * slices, to read the clock or to let a fork proceed. The cycle continues later, possibly on
 * another thread. One thread at a time runs the cycle. It holds the role of the collector
 * (collector.h), and all comments call it "the collector".
 *
 *   1. CLEAR     All threads have answered IDLE, so every barrier is off and every colour is
 *                white. Clear marks, born bits and HELD lines, and drop the contents of the mark
 *                queue. No lock is held, because this work grows with the heap.
 *   2. SYNC      Threads turn their barriers on.
 *   3. ROOTS     Threads shade their top frames, freeze the other frames, and allocate black from
 *                then on.
 *   4. MARK      Read the buffers, frozen frames, global roots, pins and the finalizer queue, and
 *                trace. The write barrier is active.
 *   5. FLUSH     Request the buffers, trace their contents, and request them again. A round lasts
 *                from before the request to the end of the tracing after it. Marking ends after a
 *                round in which no object was marked (INV-FLUSH-1). Then no thread can reach a
 *                white object.
 *   6. WEAK      Clear the cells of dead targets. Revive and queue dead objects that have a
 *                finalizer (weak_references.h, finalizers.h).
 *   7. VISIT     Verify the heap if verify=1, and run the visits that were requested. Every
 *                reachable object is marked or born.
 *   8. SWEEP     Sweep the handles, then the lines (INV-HEAP-2).
 *   9. IDLE      Barriers off, colour white. The next CLEAR waits for all answers (INV-IDLE-1),
 *                because a thread whose barrier is still on would shade by the old marks.
 *  10. TRIM      Return free memory beyond the goal to the operating system.
 *
 * Handshakes use epochs. A request is published under the registry lock (INV-THREAD-2). The
 * collector waits for answers without a lock, and answers for threads in native mode. A late
 * thread is reported and still waited for. */
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
