/* Finalizers: objects whose type has one are listed when they are allocated; one that is found dead is revived (marked, with all it
 * reaches), leaves the list for good, and waits in a queue, which is a root, until the embedder runs its finalizer.
 *
 * INV-FINAL-1  An object is finalized at most once: it is in the list or in the queue, or neither.
 * INV-FINAL-3  The embedder gets an object only when it and all it reaches are traced: before, what a mutator takes out of it would be
 *              shaded into a buffer that no flush asks for.
 * INV-FINAL-2  Weak references to it are cleared before it is revived: a finalizer can't be surprised by a get.
 *
 * INV-FINAL-4  No critical section grows with the list or the queue. Places in the queue are numbered from the beginning of time. The
 *              queue is two vectors: mutators take from the front of the first, the collector adds to the second, and when the first
 *              is used up the two change places. So nothing is ever moved.
 *
 * Order: objects found dead in one cycle are queued in the order of their allocation; none waits for another, whatever refers to what. A
 * finalizer may make its object reachable again: then it lives on as any other, without a finalizer. */
#ifndef CX_GC_MARKING_FINALIZERS_H
#define CX_GC_MARKING_FINALIZERS_H

#include "gc/marking/write_barrier.h"
#include "gc/marking/marker.h"

int cx_finalize_init(void);
void cx_finalize_fini(void);

/* A fresh object of a type with a finalizer. False: no memory. */
bool cx_finalize_add(coex_handle fresh);
/* The next object of the queue, or 0. The caller roots it before the next safepoint. */
coex_handle cx_finalize_next_self(struct cx_thread *self);
uint64_t cx_finalize_waiting(void);

/* Pushes the queue: it is a root. *at is a place in it. Returns false at the end. */
bool cx_finalize_mark_gct(struct cx_marker *marker, uint64_t *at, struct cx_budget *budget);
/* For those who look at the heap: the handles of the queue from place *at on, at most `room`, into `handles`; returns how many, 0: that was
 * the end. Only the collector may, or in a process that stands still anybody, without `lock`. */
uint64_t cx_finalize_read(uint64_t *at, coex_handle *handles, uint64_t room, bool lock);
/* Queues and pushes the dead of the list, when everything alive is known. Returns false at the end. */
bool cx_finalize_revive_gct(struct cx_marker *marker, struct cx_budget *budget);
/* What was revived is traced: it may be finalized now (INV-FINAL-3). */
void cx_finalize_publish_gct(void);
/* A cycle that was reviving is forgotten: what it has queued stays queued, the rest of the list is whole again. */
void cx_finalize_fork_child(void);

/* For the fork. */
cx_mutex *cx_finalize_lock(void);

#endif
