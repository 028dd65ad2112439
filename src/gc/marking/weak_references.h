/* Weak references and ephemerons.
 *
 * A weak reference is an object with a cell that is not traced. An ephemeron has two cells, a key
 * and a value. Its value is traced when its key is alive (marked or born). All cells with dead
 * targets are cleared at one instant. A get must not return an object that was just found dead.
 * One atomic word w holds the state:
 *
 *              Start                     empty flush, n unchanged          all cells visited
 *     OPEN ------------> {MARKING, 0} --------------------------> CLEARED -------------------> OPEN
 *                          | ^  a get of a white target: n + 1
 *                          +-+
 *
 * A get contains no safepoint. A white thread returns the contents of the cell. A black thread
 * reads w and then the cell:
 *
 *     the target is null or born, or w is OPEN    return the target
 *     the target is marked                        read w again: if its state has changed, start
 *                                                 over, else return the target
 *     w is CLEARED                                read w again: if its state has changed, start
 *                                                 over, else return null
 *     w is {MARKING, n}                           compare-and-swap w to n + 1. If this fails, start
 *                                                 over. Then shade the target and return it.
 *
 * INV-WEAK-1  A get counts itself by compare-and-swap before it shades. The opposite order leaves
 *             a handle in a buffer that no flush collects.
 * INV-WEAK-2  The collector reads n before it requests a flush. If n is the same after an empty
 *             round, no get has occurred in between.
 * INV-WEAK-3  Cells are cleared by compare-and-swap, before OPEN and before the sweep.
 * INV-WEAK-4  An ephemeron whose key is not alive yet waits in a table, under its key. The bit of
 *             the key is set in the `watched` bitmap. The marker of a watched key pushes the
 *             values that wait. The waiting side sets the bit and then reads the mark. The marker
 *             of the key sets the mark and then reads the bit. All four are seq, so at least one
 *             side sees the other, and a chain of ephemerons costs linear time. The ephemerons of
 *             one key are taken from the table a few at a time. A marker that leaves some there
 *             queues the key again (CX_REST_EPHEMERONS), before it takes the lock for the next
 *             piece. Marking therefore cannot end before the last ephemeron is taken.
 * INV-WEAK-5  After the decision a mark does not prove that an object is alive, because dead
 *             objects with a finalizer are marked then. A get that finds its target marked
 *             therefore reads w again. A dead handle is not born again before the next cycle
 *             (MI-6). */
#ifndef CX_GC_MARKING_WEAK_REFERENCES_H
#define CX_GC_MARKING_WEAK_REFERENCES_H

#include "gc/marking/marker.h"
#include "gc/marking/shade.h"

int cx_weak_init(void);
void cx_weak_fini(void);

uint32_t cx_weak_type(void);
uint32_t cx_ephemeron_type(void);
bool cx_weak_is_type(uint32_t type); /* one of the two: not for the embedder to allocate, and without fields */
/* A fresh weak reference or ephemeron, filled, begins to count. False: no memory. */
bool cx_weak_add(coex_handle fresh);
/* What a cell (of a weak reference, or the key of an ephemeron) refers to, or 0. */
coex_handle cx_weak_get_self(struct cx_thread *self, cx_a64 *cell);

/* --- the collector's, in this order --- */
/* Forgets who waited in the last cycle. Returns false if the budget was spent before the end. */
bool cx_weak_begin_gct(struct cx_budget *budget);
/* n, for INV-WEAK-2. */
uint64_t cx_weak_mark_count_gct(void);
/* An empty round has ended that began at n: true: no get has slipped in, everything that is not alive now is dead. */
bool cx_weak_decide_gct(uint64_t n);
/* Clears cells. Returns false at the end: then the word is OPEN. */
bool cx_weak_clear_gct(uint64_t *at, struct cx_budget *budget);
/* Forgets weak references and ephemerons that are dead themselves, after finalizers have revived what they need. Returns false at
 * the end. */
bool cx_weak_forget_gct(struct cx_budget *budget);

/* A watched key was marked: pushes what waits for it, a piece, and queues the rest. Any marker. */
void cx_weak_key_marked(struct cx_marker *marker, coex_handle key);

/* For the fork. */
cx_mutex *cx_weak_lock(void);
void cx_weak_fork_child(void);

#endif
