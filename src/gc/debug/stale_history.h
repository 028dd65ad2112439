/* The history of freed handles, for reports about stale handles.
 *
 * A report gives the type of the freed object, the cycle that freed it, and the place of its
 * allocation. The history exists in `checked` builds and with stale=1. With stale=1, freed handles
 * also stay unused for as long as possible.
 *
 * The allocating thread writes the site. The collector writes the other fields when it clears the
 * slot. The generation is read whenever a handle is checked. The other fields are read only for a
 * report, after a handle was found to be stale.
 *
 * INV-STALE-1  The generation of a handle changes when its object is freed, before its slot
 *              becomes NULL, and at no other time. If the slot is filled and the entry has the
 *              generation of a handle, the slot therefore leads to the object of that handle. */
#ifndef CX_GC_DEBUG_STALE_HISTORY_H
#define CX_GC_DEBUG_STALE_HISTORY_H

#include "base/os.h"
#include "base/report.h"
#include "gc/heap/type.h"

struct cx_stale_entry {
    cx_a64 death;      /* cycle << 20 | type; 0: none. W: collector, relaxed */
    cx_aptr site;      /* return address of the last allocation. W: owner of the handle, relaxed */
    cx_a32 generation; /* objects that had this handle and are gone. W: collector, relaxed */
};

struct cx_stale_history {
    cx_range range;
    struct cx_stale_entry *entry; /* one for each handle; NULL: off. Constant */
    cx_a64 count;           /* handles that have one. W: init, growth of the table, release. R: acquire */
};

/* If there is no memory for all handles, the first ones have history. */
void cx_stale_history_init(struct cx_stale_history *history, uint64_t handles, uint64_t most);
void cx_stale_history_fini(struct cx_stale_history *history);
/* The table has grown. */
void cx_stale_history_cover(struct cx_stale_history *history, uint64_t handles);

void cx_stale_history_note_site(struct cx_stale_history *history, coex_handle handle, const void *site);
void cx_stale_history_add(struct cx_stale_history *history, uint64_t index, uint32_t type, uint64_t cycle);

static inline uint32_t cx_stale_history_generation(const struct cx_stale_history *history, uint64_t index)
{
    if (history->entry == NULL || index >= cx_a64_load_acquire(&history->count)) return 0;
    return cx_a32_load_relaxed(&history->entry[index].generation) & ((1u << CX_GENERATION_BITS) - 1);
}

/* What to say of a handle that names no object: "handle 17 names no object", and all that is known. Of this thread, until its next call. */
const char *cx_stale_history_text(const struct cx_stale_history *history, const struct cx_types *types, coex_handle handle);

#endif
