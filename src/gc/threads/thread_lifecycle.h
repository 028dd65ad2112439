/* The lifecycle of threads: registration, exit, and spawning with a handle. Entered by mutators
 * and by threads that are not registered yet. thread_record.h states the invariants. */
#ifndef CX_GC_THREADS_THREAD_LIFECYCLE_H
#define CX_GC_THREADS_THREAD_LIFECYCLE_H

#include "gc/threads/native_transition.h"

/* Registers the calling thread. False with the error recorded: COEX_GC_ESTATE if there is no runtime. */
bool cx_thread_attach_self(void);
/* The calling thread leaves, in any mode, with what frames it has; or finds that the runtime is gone. */
void cx_thread_detach_self(struct cx_thread *self);
/* The same for init, which has the life lock. */
bool cx_thread_attach_self_locked(void);
void cx_thread_detach_self_locked(struct cx_thread *self);

/* In the parent: a record in native mode for a thread to come. NULL with the error recorded. May be a safepoint. */
struct cx_thread *cx_spawn_prepare(struct cx_thread *self, coex_handle argument);
/* In the child: takes it over. False: this thread has a record already, or the record is none that was prepared in this life. */
bool cx_spawn_attach(struct cx_thread *prepared);
bool cx_spawn_cancel(struct cx_thread *prepared);

#endif
