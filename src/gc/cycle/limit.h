/* The line of threads that wait for memory at a limit.
 *
 * An allocation that finds no room waits for a full cycle and tries again, together with all other
 * threads. If other threads took the memory that the cycle freed, the allocation stands in line
 * (slow_allocation.c). The head of the line tries first. If it finds no room, it closes the gate
 * and waits for another full cycle. While the gate is closed, every other allocation that reaches
 * its slow path stands in line too. No other thread therefore takes the freed memory before the
 * head has tried.
 *
 *     stand (self, native)          head: try, close, wait, try     leave (self)
 *     OUTSIDE ------------> IN LINE -----------------------> SERVED ------------> OUTSIDE
 *
 * INV-LIMIT-1  The gate is closed only while the thread that closed it is the head of the line. A
 *              head that leaves opens the gate and signals the next thread.
 * INV-LIMIT-2  A head gives up only after a complete cycle with the gate closed. That cycle left
 *              no less memory in use than the cycle before it, and no other thread was granted
 *              memory during it. With the gate closed, a thread is granted memory at most once.
 *              The memory in use cannot fall for ever, so every head leaves.
 *
 * Entered by mutators, in native mode while they stand in line and in managed mode otherwise. The
 * latch is held for a few instructions. This module does not know which resource the threads wait
 * for. */
#ifndef CX_GC_CYCLE_LIMIT_H
#define CX_GC_CYCLE_LIMIT_H

#include "base/park.h"

/* A thread's place, on its own stack for as long as it stands in line. */
struct cx_limit_place {
    struct cx_limit_place *next; /* under the latch */
    bool closed;                 /* the runtime shuts down. W: before the signal. R: after it */
    cx_parker turn;
};

struct cx_limit {
    cx_latch latch;
    struct cx_limit_place *first, *last; /* under the latch; `first` is the head */
    bool closing;                        /* under the latch: the runtime shuts down */
    cx_a32 gate;                         /* 1: closed. W: the head. R: slow allocations, relaxed */
};

extern struct cx_limit cx_limit;

/* Puts the line into its first state: for init, and for the child of a fork, where nobody stands. */
void cx_limit_init(void);
/* Sends everybody in line away, for a shutdown. */
void cx_limit_close(void);

/* Waits in native mode until the caller is the head of the line. Returns false, with the caller in no
 * line, if the runtime shuts down. */
bool cx_limit_stand(struct cx_limit_place *place);
/* Closes the gate. The caller is the head. */
void cx_limit_close_gate(void);
/* Opens the gate and lets the next thread have its turn. The caller is the head. */
void cx_limit_leave(struct cx_limit_place *place);

static inline bool cx_limit_gate_is_closed(void) { return cx_a32_load_relaxed(&cx_limit.gate) != 0; }

#endif
