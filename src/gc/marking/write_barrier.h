/* The write barrier: what a thread does before it overwrites a reference in a MUTABLE object, a global root, or another frame's slot.
 *
 *     phase        shade what is overwritten     shade what is written
 *     SYNC, ROOTS  yes                           yes
 *     MARK, SWEEP  yes                           no
 *
 * whenever the thread's own barrier is on (its answer to SYNC up to its answer to IDLE).
 *
 * A slot of a frozen frame is like a field: until it is read it vouches for what it held, so
 * coex_gc_set_slot has the same barrier.
 *
 * INV-BARRIER-1  Deletion: what a field held when somebody's roots were scanned is reached, even if it is overwritten before the
 *                marker comes by. Born objects need no shade here, and get none, so that mutators can't feed a flush for ever.
 * INV-BARRIER-2  Insertion, while some threads are scanned and others are not: a thread that is not scanned yet allocates white, and
 *                what it puts into an object may be seen by no scan.
 * INV-BARRIER-3  The shaded value is the one that the store really replaces: two threads may store to one field, so a store is a
 *                compare-and-swap loop. Shade before the store becomes visible.
 * INV-BARRIER-4  The phase may be read late (relaxed): it can be stale only towards SYNC or ROOTS, which shades more. */
#ifndef CX_GC_MARKING_WRITE_BARRIER_H
#define CX_GC_MARKING_WRITE_BARRIER_H

#include "gc/marking/shade.h"

/* Each writes *field (release) with the barrier that this thread's state asks for. */
void cx_barrier_store_self(struct cx_thread *self, cx_a64 *field, coex_handle value);
coex_handle cx_barrier_exchange_self(struct cx_thread *self, cx_a64 *field, coex_handle value);
bool cx_barrier_compare_exchange_self(struct cx_thread *self, cx_a64 *field, coex_handle *expected, coex_handle desired);

/* Writes a slot of another frame, of this thread's stack or of a suspended one, with the same
 * barrier: the colour does not matter, for a black thread may have frozen the slot (INV-
 * SHADOW-1). */
void cx_barrier_overwrite_slot_self(struct cx_thread *self, coex_handle *slot, coex_handle value);

/* A root cell that holds `value` begins to count, or is about to end: as if the value were written, or overwritten. */
void cx_barrier_root_added_self(struct cx_thread *self, coex_handle value);
void cx_barrier_root_removed_self(struct cx_thread *self, coex_handle value);

#endif
