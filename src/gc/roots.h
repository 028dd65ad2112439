/* Global roots: cells outside the heap that hold a handle.
 *
 * A hash set of addresses, under a lock; the collector reads it in pieces, so that a mutator waits for a few microseconds at most.
 * The cells themselves are read and written without the lock, with the barrier of a MUTABLE field. */
#ifndef CX_GC_ROOTS_H
#define CX_GC_ROOTS_H

#include "gc/barrier.h"
#include "gc/mark.h"

int cx_roots_init(void);
void cx_roots_fini(void);

/* COEX_GC_OK, or COEX_GC_ENOMEM. */
int cx_roots_add_self(struct cx_thread *self, coex_handle *where);
void cx_roots_remove_self(struct cx_thread *self, coex_handle *where);

/* Pushes what is in every cell. */
void cx_roots_mark_gct(struct cx_marker *marker);
/* Calls `visit` for each cell (offset 0) with what is in it. With the lock. */
void cx_roots_each(cx_reference_visitor visit, void *context);

#endif
