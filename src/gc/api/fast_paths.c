/* The library's symbols of the fast paths: the same text as in <coex/gc_inline.h>, for callers that do not inline. In `checked` builds
 * every call comes through here, and each looks at what it is given first. */
#define COEX_GC_NO_INLINE
#include "gc/threads/thread_record.h"
#include "gc/marking/weak_references.h"
#include "gc/debug/unbarriered_stores.h"

#include <coex/gc.h>

/* The texts of the fast paths know indices only. */
static inline uint64_t fastpath_index(coex_handle handle) { return CX_CHECKED ? cx_index_of(handle) : handle; }

/* A handle that a caller passes as an object. */
static void fastpath_check_object(const char *function, coex_handle object)
{
    if (!CX_CHECKED) return;
    cx_thread_need_managed(function);
    if (coex_is_immediate(object))
        cx_fatal("%s: %#llx is an immediate, not a handle of an object", function,
                 (unsigned long long)object);
    if (!cx_handle_is_object(&cx_world.handles, object)) cx_fatal("%s: %s", function, cx_thread_stale_text(object));
    if (cx_event_wants(&cx_world.events, 4)) cx_world.events.tell(CX_DETAIL_USED, object, (uintptr_t)function);
}

/* A handle, immediate or null that a caller passes as a value. */
static void fastpath_check_value(const char *function, coex_handle value)
{
    if (CX_CHECKED && cx_is_reference(value) && !cx_handle_is_object(&cx_world.handles, value))
        cx_fatal("%s: %s", function, cx_thread_stale_text(value));
}

static void fastpath_check_field(const char *function, coex_handle object, uint64_t offset)
{
    fastpath_check_object(function, object);
    if (!CX_CHECKED) return;
    if (cx_weak_is_type(coex_gc_type_of(object)))
        cx_fatal("%s: handle %llu is a weak reference or an ephemeron, which has no fields",
                 function, (unsigned long long)object);
    uint64_t size = coex_gc_size(object);
    if (offset % 8 != 0 || offset + 8 > size || offset + 8 < offset)
        cx_fatal("%s: `offset` %llu is not a word of an object of %llu bytes", function,
                 (unsigned long long)offset, (unsigned long long)size);
}

coex_handle coex_gc_alloc(uint64_t size, uint32_t type_id)
{
    if (CX_CHECKED) cx_thread_need_managed("coex_gc_alloc");
    coex_handle fresh = coex_fast_alloc(size, type_id);
    if (CX_CHECKED) cx_stale_history_note_site(&cx_world.handles.stale, fresh, __builtin_return_address(0));
    return cx_handle_tag(&cx_world.handles, fresh);
}

coex_handle coex_gc_alloc_at(uint64_t size, uint32_t type_id, void **payload)
{
    if (CX_CHECKED) cx_thread_need_managed("coex_gc_alloc_at");
    coex_handle fresh = coex_fast_alloc_at(size, type_id, payload);
    if (CX_CHECKED) cx_stale_history_note_site(&cx_world.handles.stale, fresh, __builtin_return_address(0));
    return cx_handle_tag(&cx_world.handles, fresh);
}

void *coex_gc_handle_deref(coex_handle h)
{
    if (CX_CHECKED && h != 0) fastpath_check_object("coex_gc_handle_deref", h);
    return coex_fast_handle_deref(fastpath_index(h));
}

coex_handle coex_gc_load(coex_handle object, uint64_t offset)
{
    fastpath_check_field("coex_gc_load", object, offset);
    return coex_fast_load(fastpath_index(object), offset);
}

void coex_gc_init_ref(coex_handle fresh, uint64_t offset, coex_handle value)
{
    fastpath_check_field("coex_gc_init_ref", fresh, offset);
    fastpath_check_value("coex_gc_init_ref", value);
    coex_fast_init_ref(fastpath_index(fresh), offset, value);
}

void coex_gc_store(coex_handle object, uint64_t offset, coex_handle value)
{
    fastpath_check_field("coex_gc_store", object, offset);
    fastpath_check_value("coex_gc_store", value);
    if (CX_CHECKED) {
        const uint64_t *header = cx_header_of(cx_handle_payload(&cx_world.handles, object));
        if (cx_header_has(cx_a64_load_relaxed(cx_a64_at(header)), CX_HEADER_FROZEN))
            cx_fatal("coex_gc_store: handle %llu must not be written, because it is frozen",
                     (unsigned long long)object);
    }
    cx_unbarriered_begin_store();
    if (CX_CHECKED && coex_gc_self->barrier != 0)
        coex_gc_store_slow(object, offset, value);
    else
        coex_fast_store(fastpath_index(object), offset, value);
    cx_unbarriered_end_store(object, offset, value);
}

coex_handle *coex_gc_enter_frame(uint64_t num_slots)
{
    if (CX_CHECKED) cx_thread_need_managed("coex_gc_enter_frame");
    return coex_fast_enter_frame(num_slots);
}

/* The frame that is left must be the top one. */
void coex_gc_leave_frame(coex_handle *slots)
{
    if (CX_CHECKED) {
        struct cx_thread *self = cx_thread_need_managed("coex_gc_leave_frame");
        uint64_t top = (uint64_t)(self->words.top - self->shadow->base);
        uint64_t header = cx_shadow_frame_before(self->shadow, top);
        if (header == 0 || slots != &self->shadow->base[header + 1])
            cx_fatal("coex_gc_leave_frame: slots %p are not those of the top frame (%p)", (void *)slots,
                     header == 0 ? NULL : (void *)&self->shadow->base[header + 1]);
    }
    coex_fast_leave_frame(slots);
}

void coex_gc_root(coex_handle value)
{
    if (CX_CHECKED) cx_thread_need_managed("coex_gc_root");
    fastpath_check_value("coex_gc_root", value);
    coex_fast_root(value);
}

void coex_gc_safepoint(void)
{
    if (CX_CHECKED) cx_thread_need_managed("coex_gc_safepoint");
    coex_fast_safepoint();
}
