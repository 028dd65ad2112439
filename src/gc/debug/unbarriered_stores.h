/* The witness: finds references that were written without a barrier. Debugging (barriers=1, `checked` builds) only.
 *
 * In each cycle, between marking and the sweep, the collector writes down the references of every object that has survived it; the
 * barriered stores keep these notes up to date. In the next cycle a field that differs from its note was written behind the collector's
 * back: by a plain store into a MUTABLE object, or into an object that is complete. That is one clear line with object, field and value.
 *
 * INV-UNBARRIERED-1  A store and its note are made under one lock, and the collector compares under it: what differs there was never noted.
 * INV-UNBARRIERED-2  Only objects that are marked and not born are looked at: they were complete when their thread answered ROOTS. */
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
