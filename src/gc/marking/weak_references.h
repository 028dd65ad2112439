/* Weak references and ephemerons.
 *
 * A weak reference is an object whose cell is not traced; an ephemeron has two, a key and a value, and its value is traced when its key
 * is alive (marked or born). All cells whose target is dead are cleared at one instant, and a get must not hand out what has just been
 * decided to die. One atomic word w says how things stand:
 *
 *              Start                     empty flush, n unchanged           all cells looked at
 *     OPEN ------------> {MARKING, 0} --------------------------> CLEARED --------------------> OPEN
 *                          | ^  a get of a white target: n + 1
 *                          +-+
 *
 * Get, with no safepoint inside. A white thread returns what is in the cell. A black one reads w, then the cell. Null, born, or w OPEN:
 * return it. Marked, or CLEARED: read w again, and start over if its state has changed; marked: return it, CLEARED: null. {MARKING, n}:
 * compare-and-swap to n + 1 (failed: start over), *then* shade the target and return it.
 *
 * INV-WEAK-1  The swap comes before the shade: the other order leaves an object in a buffer that nobody asks for.
 * INV-WEAK-2  n is read before a flush is asked for; if it is the same after an empty round, no get has slipped in.
 * INV-WEAK-3  Cells are cleared by compare-and-swap, before OPEN, before the sweep.
 * INV-WEAK-4  An ephemeron whose key is not alive yet waits in a table by its key, whose bit is set in the `watched` bitmap; who marks a
 *             watched key pushes the values that wait. Bit, then a look at the mark; mark, then a look at the bit (both seq): one
 *             of the two sees the other, and a chain of ephemerons costs linear time. Ephemerons of one key are taken out of
 *             the table a few at a time; whoever leaves some there queues the key again (CX_REST_EPHEMERONS), before the lock
 *             of the next piece is taken, so that marking can't end before the last of them is taken.
 * INV-WEAK-5  After the decision marks don't prove life: what has a finalizer is marked then, dead as it is. So who finds a target marked
 *             looks at w again. (That a dead handle is not born again before the next cycle is MI-6.) */
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
