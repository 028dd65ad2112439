/* The sweep: handles first, 64 at a step, then lines. Beside running mutators, all of them black. */
#ifndef CX_GC_SWEEP_H
#define CX_GC_SWEEP_H

#include "gc/thread.h"

struct cx_swept {
    uint64_t objects;  /* dead ones */
    uint64_t retired;  /* handles, objects or not */
    uint64_t recycled; /* handles */
    uint64_t large_bytes;
};

struct cx_swept cx_sweep_handles_gct(void);
void cx_sweep_lines_gct(void);

/* Born bits and HELD lines of the last cycle; for a full cycle the marks too. When all have answered IDLE, and not before. */
void cx_sweep_clear_gct(void);

#endif
