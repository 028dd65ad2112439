/* Coroutines: a thread creates, enters, leaves and destroys coroutine stacks. stacks/stack_pool.h
 * states the rules. Entered by mutators, each on its own record. */
#ifndef CX_GC_THREADS_COROUTINE_H
#define CX_GC_THREADS_COROUTINE_H

#include "gc/threads/safepoint.h"

/* The thread goes on on `to`; returns the stack it was on. No safepoint. */
struct cx_shadow *cx_coroutine_switch_self(struct cx_thread *self, struct cx_shadow *to);
struct cx_shadow *cx_coroutine_create_self(struct cx_thread *self, uint64_t slots);
void cx_coroutine_destroy_self(struct cx_thread *self, struct cx_shadow *stack);
/* A thread that exits on another stack than its own leaves that for good. */
void cx_coroutine_go_home_self(struct cx_thread *self);

#endif
