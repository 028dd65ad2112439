/* The return barrier: a thread scans a frozen frame before it returns into the frame
 * (INV-SHADOW-1, INV-SHADOW-4). Entered by the owner of the stack. */
#ifndef CX_GC_MARKING_RETURN_BARRIER_H
#define CX_GC_MARKING_RETURN_BARRIER_H

#include "gc/marking/shade.h"

/* About to return into the frame that ends at `top` (and to use it): if it is frozen, scan it first. Answers nothing. */
void cx_return_barrier_self(struct cx_thread *self, const coex_handle *top);

/* The owner gets the words from `from` on out of the frozen range, and scans those that nobody has. Words from `end` on belong to frames
 * that are left for good. */
void cx_return_barrier_thaw_self(struct cx_thread *self, uint64_t from, uint64_t end);
/* A stack that nobody returns to: its frozen words that nobody has read are read. */
void cx_return_barrier_drop_self(struct cx_thread *self, struct cx_shadow *stack);

#endif
