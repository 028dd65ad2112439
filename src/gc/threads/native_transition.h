/* Native mode: a thread that blocks or runs foreign code, and the collector that answers for it.
 *
 * In native mode the thread touches no handle, no object and no slot (INV-NATIVE-1), and its top is published (INV-NATIVE-2: the
 * store to `mode` releases the owner's words). It comes back only while the collector has not claimed it (INV-NATIVE-3), and then
 * uses its top frame only after the return barrier.
 *
 *     owner                             collector
 *     mode = NATIVE        seq          requested = e        seq
 *     read requested       seq          read mode            seq
 *
 * At least one of them sees the other's store: a request is never left lying on a thread that has just gone native. */
#ifndef CX_GC_THREADS_NATIVE_TRANSITION_H
#define CX_GC_THREADS_NATIVE_TRANSITION_H

#include "gc/threads/safepoint.h"

void cx_transition_enter_self(struct cx_thread *self);
void cx_transition_leave_self(struct cx_thread *self);
/* From native mode at any depth to managed, and nothing else. False: the runtime was shut down meanwhile. */
bool cx_transition_take_back_self(struct cx_thread *self);

/* The reverse, for callbacks out of native code; also in managed mode, where it does nothing but nest. False: the runtime was shut down
 * meanwhile. */
bool cx_transition_enter_managed_self(struct cx_thread *self);
/* The same for a thread that has just been attached for its first callback: outside of callbacks it is in native mode. */
void cx_transition_attached_self(void);
void cx_transition_leave_managed_self(struct cx_thread *self);

/* Shuts a thread in native mode out, for good: INV-SHUTDOWN-1. False: it is in managed mode. The collector has stopped. */
bool cx_transition_shut_out(struct cx_thread *thread);

/* Answers for the thread if it is in native mode; false if it is not. */
bool cx_transition_answer_gct(struct cx_thread *thread);

#endif
