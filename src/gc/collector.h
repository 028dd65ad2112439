/* The collector: the GC thread, requests, handshakes, and the cycle.
 *
 * The cycle, in the order in which collector.c has it:
 *
 *   1. Start       all threads have answered IDLE: every barrier is off, every colour white. Drop born bits and HELD lines; full
 *                  cycle: marks and what IDLE handed over. No lock is held: this grows with the heap.
 *   2. SYNC        threads turn their barriers on.
 *   3. ROOTS       threads shade their top frames, freeze the rest, and allocate black from then on.
 *   4. MARK        buffers, global roots, frozen frames; trace. (The barrier runs beside it.)
 *   5. FLUSH       ask for buffers; if anything unmarked comes, trace and ask again. INV-FLUSH-1: a round (from before the request
 *                  to the end of the tracing behind it) in which nobody marks anything ends marking: then nobody has a white object
 *                  that is reachable.
 *   6. Weak        cells of dead targets are cleared; the dead that have a finalizer are revived and queued (weak.h, finalize.h).
 *   7. Visits      whoever asked to look at the heap does so now: every reachable object is marked or born.
 *   8. SWEEP       handles, then lines.
 *   9. IDLE        barriers off, colour white. INV-IDLE-1: the next Start waits for all answers; a thread whose barrier is still on
 *                  would shade by the old marks.
 *
 * Handshakes go by epoch. The collector publishes a request under the registry lock (INV-THREAD-2) and waits for answers without
 * any lock; it answers itself for threads in native mode. A thread that is late is named, and waited for: never a guess. */
#ifndef CX_GC_COLLECTOR_H
#define CX_GC_COLLECTOR_H

#include "gc/mark.h"
#include "gc/sweep.h"
#include "gc/thread.h"

/* Numbers of the last complete cycle, for the statistics. Written by the collector, read under `request`. */
struct cx_cycle_stats {
    uint64_t completed;
    uint64_t marked;
    struct cx_swept swept;
    uint64_t bytes_reclaimed;
    uint64_t duration_ns, mark_ns, sweep_ns, total_ns;
    uint64_t flushes;
};

/* Something that looks at the heap between marking and the sweep. */
struct cx_visit {
    void (*run)(void *context);
    void *context;
    bool done;
    struct cx_visit *next;
};

int cx_collector_start(void);
void cx_collector_stop(void); /* waits for a running cycle */

/* Ask for a cycle, unless one is pending or running. */
void cx_collector_async(void);
/* The number of the cycle to wait for: one that starts after this call, which is now asked for; or the pending or running one (0:
 * neither). */
uint64_t cx_collector_order(void);
uint64_t cx_collector_current(void);
/* Returns when cycle `number` has ended. The caller is in native mode, or not registered. */
void cx_collector_wait(uint64_t number);
/* Runs the visit in a cycle that starts after the call. Same. */
void cx_collector_visit(struct cx_visit *visit);

struct cx_cycle_stats cx_collector_stats(void);

#endif
