/* Native mode: a thread blocks or runs foreign code, and the collector answers requests for it.
 *
 * INV-NATIVE-1  In native mode the thread touches no handle, no object and no slot.
 * INV-NATIVE-2  The store to `mode` releases the words of the thread. The top of its stack is
 *               therefore published when other threads see native mode.
 * INV-NATIVE-3  A thread leaves native mode only while the collector has not claimed it. It runs
 *               the return barrier before it uses its top frame.
 * INV-NATIVE-4  Each side stores first and reads afterwards.
 *
 *     owner                             collector
 *     mode = NATIVE        seq          requested = e        seq
 *     read requested       seq          read mode            seq
 *
 * At least one side sees the store of the other side. A request to a thread that has just entered
 * native mode is therefore never left unanswered. */
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
