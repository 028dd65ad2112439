/* The write barrier: the steps of a thread before it overwrites a reference in a MUTABLE object,
 * in a global root, or in a slot of another frame.
 *
 *     phase                        shade the overwritten value   shade the written value
 *     SYNC, ROOTS                  yes, unless born              yes, born or not
 *     MARK, SWEEP, IDLE            yes, unless born              no
 *
 * The table applies while the barrier of the thread is on, from its SYNC answer to its IDLE
 * answer.
 *
 * A slot of a frozen frame is like a field. Until it is read, it keeps its old value alive for the
 * cycle. coex_gc_set_slot therefore has the same barrier.
 *
 * INV-BARRIER-1  Deletion. The value that a field held when the roots of some thread were scanned
 *                is reached, even if the field is overwritten before a marker reads it. Born
 *                objects need no shade here and get none, so that mutators cannot prolong a flush
 *                for ever.
 * INV-BARRIER-2  Insertion, while some threads are scanned and others are not. A thread that is
 *                not scanned yet allocates white, and a value that it stores into an object may be
 *                seen by no scan.
 * INV-BARRIER-3  The shaded value is the value that the store replaces. Two threads may store to
 *                one field, so a store is a compare-and-swap loop. The shade comes before the
 *                store becomes visible.
 * INV-BARRIER-4  The phase may be read late (relaxed). It can be stale only towards SYNC or ROOTS,
 *                which shades more. */
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
