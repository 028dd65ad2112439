/* Roots outside the stacks: global cells that hold a handle, and pins.
 *
 * Each kind is a table, and one lock protects both tables. The collector reads a table in pieces,
 * so a mutator waits for the lock for a few microseconds at most. Cells are read and written
 * without the lock, with the write barrier of a MUTABLE field. A pin is a root of its own. If
 * objects move, the pin also keeps its object in place. The pins of one object are counted. */
#ifndef CX_GC_MARKING_GLOBAL_ROOTS_H
#define CX_GC_MARKING_GLOBAL_ROOTS_H

#include "gc/marking/write_barrier.h"
#include "gc/marking/marker.h"

int cx_roots_init(void);
void cx_roots_fini(void);

/* COEX_GC_OK, or COEX_GC_ENOMEM. */
int cx_roots_add_self(struct cx_thread *self, coex_handle *where);
void cx_roots_remove_self(struct cx_thread *self, coex_handle *where);

/* One pin more; false: no memory. One less; false: it has none. */
bool cx_roots_pin_self(struct cx_thread *self, coex_handle handle);
bool cx_roots_unpin_self(struct cx_thread *self, coex_handle handle);
void cx_roots_count_pins(uint64_t *objects, uint64_t *pins);
uint64_t cx_roots_pins_of(coex_handle handle); /* how often it is pinned */

/* Pushes what is in the cells, and pinned objects. Returns false at the end. */
bool cx_roots_mark_gct(struct cx_marker *marker, struct cx_mark_cursor *cursor, struct cx_budget *budget);
/* For those who look at the heap: calls `read` with what is in each cell (`cell` is its address) and with pinned objects (`cell` 0, and how
 * often), a piece at a time. cursor->list is 0 for cells, 1 for pins. *anew: this list is read from its beginning again, forget what came
 * of it before. False: that was the end. Without `lock` only in a process that stands still. */
typedef void (*cx_root_reader)(void *context, uint64_t cell, uint64_t pins, coex_handle handle);
bool cx_roots_read(struct cx_mark_cursor *cursor, bool *anew, cx_root_reader read, void *context, bool lock);
/* Calls `visit` for each cell and pin (offset 0) with what is in it. With the lock. */
void cx_roots_each(cx_reference_visitor visit, void *context);

/* For the fork. */
cx_mutex *cx_roots_lock(void);

#endif
