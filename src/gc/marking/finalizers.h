/* Finalizers.
 *
 * An object whose type has a finalizer is entered in a list when it is allocated. An object of the
 * list that is found dead is revived: it is marked, with all objects that it reaches. It leaves
 * the list for good and waits in a queue until the embedder runs its finalizer. The queue is a
 * root.
 *
 * INV-FINAL-1  An object is finalized at most once. It is in the list, in the queue, or in
 *              neither.
 * INV-FINAL-2  Weak references to an object are cleared before the object is revived. A get
 *              therefore never returns an object that is about to be finalized.
 * INV-FINAL-3  The embedder gets an object only when the object and all objects that it reaches
 *              are traced. Otherwise a mutator that loads a reference from the object would shade
 *              it into a buffer that no flush collects.
 * INV-FINAL-4  No critical section grows with the list or the queue. Positions in the queue are
 *              numbered from its creation on. The queue is two vectors. Mutators take from the
 *              front of the first vector, and the collector adds to the second. When the first
 *              vector is empty, the two are exchanged, so no entry is ever moved.
 *
 * Objects that are found dead in one cycle are queued in the order of their allocation. No object
 * waits for another object, whatever their references are. A finalizer may make its object
 * reachable again. The object then lives on like any other object, without a finalizer. */
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
