/* The sweep: first the handles, 64 in each step, and then the lines. Mutators run during the
 * sweep, and all of them are black. The collector sweeps handles. Lines are also swept by mutators
 * that need space (blocks.c). */
#ifndef CX_GC_CYCLE_SWEEP_H
#define CX_GC_CYCLE_SWEEP_H

#include "gc/budget.h"
#include "gc/threads/thread_record.h"

struct cx_swept {
    uint64_t objects;  /* dead ones */
    uint64_t retired;  /* handles, objects or not */
    uint64_t recycled; /* handles */
    uint64_t large_bytes;
    uint64_t words; /* up to the last one that stays in use */
    bool lowers;    /* `top` of the table, when it ends */
    bool recycle; /* of those that are hoarded: as many as can be */
};

/* Sweeps words of handles from *at on, adding to `swept`, and gives the runs of dead large objects back. Returns false at the end:
 * then no run is left on its way, so that whoever waits for a cycle at a limit finds the memory free. */
bool cx_sweep_handles_gct(uint64_t *at, struct cx_swept *swept, struct cx_budget *budget);

/* Clears born bits and HELD lines of the last cycle; for a full cycle the marks too, and the grey bitmap if something was spilled.
 * When all have answered IDLE, and not before. Returns false at the end. */
struct cx_sweep_clear {
    uint64_t at, words, blocks; /* the last two are set by the first call: what comes later comes clear */
};
bool cx_sweep_clear_gct(struct cx_sweep_clear *clear, struct cx_budget *budget);

#endif
