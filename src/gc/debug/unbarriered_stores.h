/* The detector of unbarriered stores: finds references that were written without a barrier. Only
 * for debugging, with barriers=1 in `checked` builds.
 *
 * In each cycle, between marking and the sweep, the collector notes the references of every object
 * that has survived. Barriered stores update these notes. If a field differs from its note in the
 * next cycle, it was written without a barrier. The cause is a plain store into a MUTABLE object,
 * or into an object that is complete. The report is one line with the object, the field and the
 * value.
 *
 * INV-UNBARRIERED-1  A barriered store writes field and note under one lock, and the collector
 *                    compares under this lock. A difference is therefore a store that was not
 *                    noted.
 * INV-UNBARRIERED-2  The detector reads only objects that are marked and not born. They were
 *                    complete when their thread answered ROOTS. */
#ifndef CX_GC_DEBUG_UNBARRIERED_STORES_H
#define CX_GC_DEBUG_UNBARRIERED_STORES_H

#include "gc/marking/marker.h"

int cx_unbarriered_init(void);
void cx_unbarriered_fini(void);
cx_mutex *cx_unbarriered_lock(void);

static inline bool cx_unbarriered_is_on(void) { return CX_CHECKED && cx_world.config.barriers; }

/* What the field of an object holds now. With the lock. */
void cx_unbarriered_note_locked(coex_handle object, uint64_t offset, coex_handle value);

/* Around a barriered store: INV-UNBARRIERED-1. */
static inline void cx_unbarriered_begin_store(void)
{
    if (cx_unbarriered_is_on()) cx_mutex_lock(cx_unbarriered_lock());
}

static inline void cx_unbarriered_end_store(coex_handle object, uint64_t offset, coex_handle value)
{
    if (!cx_unbarriered_is_on()) return;
    cx_unbarriered_note_locked(object, offset, value);
    cx_mutex_unlock(cx_unbarriered_lock());
}

/* Compares all there are, forgets those of the dead, writes down those that are new. */
void cx_unbarriered_look_gct(void);

#endif
