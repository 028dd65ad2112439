/* Every public symbol that is not a fast path: checks what it is given, and calls down. Nothing else happens here. */
#define COEX_GC_NO_INLINE
#include "base/schedule_point.h"
#include "gc/api/slow_allocation.h"
#include "gc/threads/thread_lifecycle.h"
#include "gc/marking/write_barrier.h"
#include "gc/cycle/collector.h"
#include "gc/threads/coroutine.h"
#include "gc/error.h"
#include "gc/marking/finalizers.h"
#include "gc/cycle/pace.h"
#include "gc/marking/global_roots.h"
#include "gc/api/runtime.h"
#include "gc/marking/weak_references.h"
#include "gc/debug/unbarriered_stores.h"
#include "gc/marking/return_barrier.h"

#include <coex/gc.h>
#include <string.h>

static void api_need_runtime(const char *function)
{
    if (!cx_runtime_is_up()) cx_fatal("%s: the runtime is not initialised (or was shut down)", function);
}

/* ------------------------------------------------------------------- life */

void coex_gc_config_default(coex_gc_config *config) { cx_options_default(config); }

void coex_gc_shutdown(void) { cx_runtime_fini(); }

bool coex_gc_at_init(bool (*hook)(void))
{
    if (hook == NULL)
        return cx_error_set(COEX_GC_EINVAL, "coex_gc_at_init: `hook` must not be NULL") ==
               COEX_GC_OK;
    return cx_runtime_at_init(hook);
}

const char *coex_gc_error_string(int code) { return cx_error_string(code); }
int coex_gc_last_error(void) { return cx_error_code(); }
const char *coex_gc_error_detail(void) { return cx_error_detail(); }
int coex_gc_set_error(int code, const char *detail) { return cx_error_set(code, "%s", detail != NULL ? detail : ""); }
const char *coex_gc_version(void) { return COEX_GC_VERSION_STRING; }

/* ------------------------------------------------------- types and objects */

uint32_t coex_gc_register_type(const coex_gc_type *type)
{
    if (!cx_runtime_is_up()) {
        cx_error_set(COEX_GC_ESTATE, "coex_gc_register_type: the runtime is not initialised");
        return 0;
    }
    return cx_types_register(&cx_world.types, type);
}

coex_handle coex_gc_alloc_slow(uint64_t size, uint32_t type_id, void **payload)
{
    void *ignored;
    struct cx_thread *self = cx_thread_need_managed("coex_gc_alloc");
    if (type_id != 0 && cx_weak_is_type(type_id))
        cx_fatal(
            "coex_gc_alloc: type id %u belongs to the runtime, which allocates its objects itself",
            type_id);
    coex_handle fresh = cx_alloc_slow_self(self, size, type_id, payload != NULL ? payload : &ignored);
    if (CX_UNLIKELY(cx_world.handles.stale.entry != NULL))
        cx_stale_history_note_site(&cx_world.handles.stale, fresh, __builtin_return_address(0));
    return fresh;
}

/* The payload of a handle that must name an object. */
static void *api_object(const char *function, coex_handle h)
{
    api_need_runtime(function);
    if (!cx_handle_is_object(&cx_world.handles, h)) cx_fatal("%s: %s", function, cx_thread_stale_text(h));
    return cx_handle_payload(&cx_world.handles, h);
}

static const struct cx_type *api_type(void *payload)
{
    return cx_type_at(&cx_world.types, cx_header_type(cx_header_read(payload)));
}

uint64_t coex_gc_size(coex_handle h)
{
    if (h == 0) return 0;
    void *payload = api_object("coex_gc_size", h);
    return cx_type_payload_size(api_type(payload), payload);
}

uint32_t coex_gc_type_of(coex_handle h) { return h == 0 ? 0 : cx_header_type(cx_header_read(api_object("coex_gc_type_of", h))); }

bool coex_gc_is_handle(uint64_t word) { return cx_runtime_is_up() && cx_handle_is_object(&cx_world.handles, word); }

bool coex_gc_object_info(coex_handle h, coex_gc_object *info)
{
    memset(info, 0, sizeof *info);
    if (!coex_gc_is_handle(h)) return false;
    void *payload = cx_handle_payload(&cx_world.handles, h);
    const struct cx_type *type = api_type(payload);
    info->payload_size = cx_type_payload_size(type, payload);
    info->size = cx_round8(info->payload_size + cx_type_prefix(type));
    info->type_id = type->id;
    info->address = payload;
    info->flags =
        (cx_handle_is_marked(&cx_world.handles, h) ? COEX_GC_OBJECT_MARKED : 0u) |
        (cx_handle_is_born(&cx_world.handles, h) ? COEX_GC_OBJECT_BORN : 0u) |
        (cx_large_contains(&cx_world.heap.large, payload) ? COEX_GC_OBJECT_LARGE : 0u) |
        ((type->flags & COEX_GC_MUTABLE) != 0 ? COEX_GC_OBJECT_MUTABLE : 0u) |
        (cx_header_has(cx_a64_load_relaxed(cx_a64_at(cx_header_of(payload))), CX_HEADER_FROZEN) ? COEX_GC_OBJECT_FROZEN : 0u);
    return true;
}

/* ------------------------------------------------------------- references */

/* A field of an object that may be written. */
static cx_a64 *api_field(const char *function, coex_handle object, uint64_t offset)
{
    char *payload = api_object(function, object);
    if (CX_CHECKED) {
        uint64_t size = cx_type_payload_size(api_type(payload), payload);
        if (offset % 8 != 0 || offset + 8 > size || offset + 8 < offset)
            cx_fatal("%s: `offset` %llu is not a word of an object of %llu bytes", function,
                     (unsigned long long)offset, (unsigned long long)size);
        if (cx_header_has(cx_a64_load_relaxed(cx_a64_at(cx_header_of(payload))), CX_HEADER_FROZEN))
            cx_fatal("%s: handle %llu must not be written, because it is frozen", function,
                     (unsigned long long)object);
        if (cx_weak_is_type(api_type(payload)->id))
            cx_fatal("%s: handle %llu is a weak reference or an ephemeron, which has no fields",
                     function, (unsigned long long)object);
    }
    return cx_a64_at(payload + offset);
}

void coex_gc_store_slow(coex_handle object, uint64_t offset, coex_handle value)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_store");
    cx_barrier_store_self(self, api_field("coex_gc_store", object, offset), value);
}

coex_handle coex_gc_exchange(coex_handle object, uint64_t offset, coex_handle value)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_exchange");
    cx_a64 *field = api_field("coex_gc_exchange", object, offset);
    cx_world_value("coex_gc_exchange", value);
    cx_unbarriered_begin_store();
    coex_handle before = cx_barrier_exchange_self(self, field, value);
    cx_unbarriered_end_store(object, offset, value);
    return before;
}

bool coex_gc_compare_exchange(coex_handle object, uint64_t offset, coex_handle *expected, coex_handle desired)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_compare_exchange");
    cx_a64 *field = api_field("coex_gc_compare_exchange", object, offset);
    cx_world_value("coex_gc_compare_exchange", desired);
    cx_unbarriered_begin_store();
    bool done = cx_barrier_compare_exchange_self(self, field, expected, desired);
    cx_unbarriered_end_store(object, offset, done ? desired : *expected);
    return done;
}

void coex_gc_freeze(coex_handle object)
{
    cx_thread_need_managed("coex_gc_freeze");
    void *payload = api_object("coex_gc_freeze", object);
    if ((api_type(payload)->flags & COEX_GC_MUTABLE) == 0)
        cx_fatal("coex_gc_freeze: type '%.60s' must be MUTABLE",
                 api_type(payload)->descriptor->name);
    cx_a64_or_release(cx_a64_at(cx_header_of(payload)), (uint64_t)CX_HEADER_FROZEN << COEX_GC_FLAGS_SHIFT);
}

/* ------------------------------------------------------------------- slots */

void coex_gc_set_slot(coex_handle *slot, coex_handle value)
{
    cx_barrier_overwrite_slot_self(cx_thread_need_managed("coex_gc_set_slot"), slot, cx_world_value("coex_gc_set_slot", value));
}

void coex_gc_set_root(coex_handle **locals, uint64_t index, coex_handle value)
{
    cx_barrier_overwrite_slot_self(cx_thread_need_managed("coex_gc_set_root"), locals[index], cx_world_value("coex_gc_set_root", value));
}

/* ------------------------------------------------------------ global roots */

int coex_gc_add_global_root(coex_handle *where)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_add_global_root");
    return where != NULL
               ? cx_roots_add_self(self, where)
               : cx_error_set(COEX_GC_EINVAL, "coex_gc_add_global_root: `where` must not be NULL");
}

void coex_gc_remove_global_root(coex_handle *where)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_remove_global_root");
    if (where != NULL) cx_roots_remove_self(self, where);
}

coex_handle coex_gc_global_load(coex_handle *where) { return cx_a64_load_acquire(cx_a64_at(where)); }

void coex_gc_global_store(coex_handle *where, coex_handle value)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_global_store");
    cx_barrier_store_self(self, cx_a64_at(where), cx_world_value("coex_gc_global_store", value));
}

/* ----------------------------------------------------------------- threads */

int coex_gc_try_register_thread(void) { return cx_thread_self() != NULL || cx_thread_attach_self() ? COEX_GC_OK : cx_error_code(); }

void coex_gc_register_thread(void)
{
    api_need_runtime("coex_gc_register_thread");
    if (coex_gc_try_register_thread() != COEX_GC_OK) api_need_runtime("coex_gc_register_thread"); /* gone meanwhile? */
}

void coex_gc_unregister_thread(void)
{
    struct cx_thread *self = cx_runtime_is_up() ? cx_thread_self() : NULL;
    if (self == NULL) return;
    if (self->native_depth != 0) cx_fatal("coex_gc_unregister_thread: this thread is in native mode; leave it first");
    cx_thread_detach_self(self);
}

coex_gc_thread *coex_gc_get_current_thread(void)
{
    struct cx_thread *self = cx_thread_self();
    return self == NULL ? NULL : &self->words;
}

void coex_gc_safepoint_slow(void) { cx_safepoint_poll_self(cx_thread_need_managed("coex_gc_safepoint")); }

coex_gc_spawn *coex_gc_spawn_prepare(coex_handle argument)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_spawn_prepare");
    return (coex_gc_spawn *)(void *)cx_spawn_prepare(self, cx_world_value("coex_gc_spawn_prepare", argument));
}

coex_handle coex_gc_spawn_attach(coex_gc_spawn *spawn)
{
    api_need_runtime("coex_gc_spawn_attach");
    struct cx_thread *thread = (struct cx_thread *)(void *)spawn;
    if (spawn == NULL || !cx_spawn_attach(thread))
        cx_fatal("coex_gc_spawn_attach: this thread is already registered, or `spawn` is NULL, was "
                 "already attached or cancelled, or belongs to a runtime that was shut down");
    return thread->shadow->base[1];
}

void coex_gc_spawn_cancel(coex_gc_spawn *spawn)
{
    api_need_runtime("coex_gc_spawn_cancel");
    if (spawn == NULL || !cx_spawn_cancel((struct cx_thread *)(void *)spawn))
        cx_fatal("coex_gc_spawn_cancel: `spawn` is NULL, or was already attached or cancelled");
}

/* -------------------------------------------------------------- collecting */

void coex_gc_async(void)
{
    api_need_runtime("coex_gc_async");
    cx_collector_async();
}

/* Waits for a cycle, in native mode if this thread is registered. */
static void api_wait(uint64_t number)
{
    struct cx_thread *self = cx_thread_self();
    if (self != NULL) cx_transition_enter_self(self);
    cx_collector_wait(number);
    if (self != NULL)
        cx_transition_leave_self(cx_thread_need_self("coex_gc_collect")); /* unless the runtime was shut down meanwhile */
}

void coex_gc_wait_for_completion(void)
{
    api_need_runtime("coex_gc_wait_for_completion");
    api_wait(cx_collector_current());
}

void coex_gc_collect(void)
{
    api_need_runtime("coex_gc_collect");
    api_wait(cx_collector_order());
}

void coex_gc_set_trigger_threshold(uint64_t allocations)
{
    api_need_runtime("coex_gc_set_trigger_threshold");
    cx_pace_set_trigger(allocations);
}

bool coex_gc_step(uint64_t microseconds)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_step");
    if (!cx_collector_steps()) cx_fatal("coex_gc_step: there is a GC thread; set gc_threads to 0");
    if (cx_thread_is_pending(self)) cx_safepoint_poll_self(self);
    return cx_collector_step(self, microseconds * 1000);
}

/* -------------------------------------------------------------- native code */

void coex_gc_enter_native(void) { cx_transition_enter_self(cx_thread_need_self("coex_gc_enter_native")); }
void coex_gc_leave_native(void) { cx_transition_leave_self(cx_thread_need_self("coex_gc_leave_native")); }

bool coex_gc_enter_managed(void)
{
    struct cx_thread *self = cx_thread_self();
    if (self != NULL && cx_transition_enter_managed_self(self)) return true;
    if (!cx_thread_attach_self()) return false; /* as it does if the runtime was shut down while it came back */
    cx_transition_attached_self();
    return true;
}

void coex_gc_leave_managed(void) { cx_transition_leave_managed_self(cx_thread_need_self("coex_gc_leave_managed")); }

void *coex_gc_pin(coex_handle h)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_pin");
    void *payload = api_object("coex_gc_pin", h);
    return cx_roots_pin_self(self, h) ? payload : NULL;
}

void coex_gc_unpin(coex_handle h)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_unpin");
    api_object("coex_gc_unpin", h); /* what is pinned is alive */
    if (!cx_roots_unpin_self(self, h)) cx_fatal("coex_gc_unpin: handle %llu is not pinned", (unsigned long long)h);
}

void coex_gc_adjust_external(int64_t bytes)
{
    api_need_runtime("coex_gc_adjust_external");
    struct cx_thread *self = cx_thread_self();
    if (cx_pace_adjust_external(bytes)) cx_collector_async();
    if (self != NULL && self->native_depth == 0 && bytes > 0)
        cx_tlab_charge(&self->tlab, &self->words, (uint64_t)bytes); /* its next allocation works for it */
}

void coex_gc_mutex_lock(pthread_mutex_t *mutex)
{
    struct cx_thread *self = cx_thread_self();
    if (cx_foreign_mutex_try_lock(mutex)) return;
    if (self != NULL) cx_transition_enter_self(self);
    cx_foreign_mutex_lock(mutex);
    if (self != NULL) cx_transition_leave_self(self);
}

/* -------------------------------------------------------------- coroutines */

coex_gc_stack *coex_gc_stack_create(uint64_t slots)
{
    return (coex_gc_stack *)(void *)cx_coroutine_create_self(cx_thread_need_managed("coex_gc_stack_create"), slots);
}

coex_gc_stack *coex_gc_stack_switch(coex_gc_stack *to)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_stack_switch");
    if (to == NULL) cx_fatal("coex_gc_stack_switch: `to` must not be NULL");
    return (coex_gc_stack *)(void *)cx_coroutine_switch_self(self, (struct cx_shadow *)(void *)to);
}

void coex_gc_stack_destroy(coex_gc_stack *stack)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_stack_destroy");
    struct cx_shadow *shadow = (struct cx_shadow *)(void *)stack;
    if (stack == NULL || shadow->range.base != NULL)
        cx_fatal("coex_gc_stack_destroy: `stack` %p was not created by coex_gc_stack_create",
                 (void *)stack);
    cx_coroutine_destroy_self(self, shadow);
}

/* ------------------------------------------------- weak things, and the dying */

/* A weak reference or an ephemeron with its cells filled. */
static coex_handle api_new_weak(struct cx_thread *self, uint32_t type, uint64_t size, coex_handle first, coex_handle second)
{
    void *payload;
    coex_handle handle = cx_alloc_slow_self(self, size, type, &payload);
    if (handle == 0) return 0;
    ((coex_handle *)payload)[0] = first;
    if (size > 8) ((coex_handle *)payload)[1] = second;
    if (!cx_weak_add(handle)) {
        cx_error_set(COEX_GC_ENOMEM, "allocation failed: no memory for another weak reference");
        return 0;
    }
    return handle;
}

coex_handle coex_gc_weak_new(coex_handle target)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_weak_new");
    return api_new_weak(self, cx_weak_type(), 8, cx_world_value("coex_gc_weak_new", target), 0);
}

coex_handle coex_gc_ephemeron_new(coex_handle key, coex_handle value)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_ephemeron_new");
    return api_new_weak(self, cx_ephemeron_type(), 16, cx_world_value("coex_gc_ephemeron_new", key),
                        cx_world_value("coex_gc_ephemeron_new", value));
}

/* The cells of an object that must be of the given type. */
static coex_handle *api_cells(const char *function, coex_handle h, uint32_t type)
{
    coex_handle *payload = api_object(function, h);
    if (cx_header_type(cx_header_read(payload)) != type)
        cx_fatal("%s: handle %llu is not %s", function, (unsigned long long)h,
                 type == cx_weak_type() ? "a weak reference" : "an ephemeron");
    return payload;
}

coex_handle coex_gc_weak_get(coex_handle weak)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_weak_get");
    return cx_weak_get_self(self, cx_a64_at(api_cells("coex_gc_weak_get", weak, cx_weak_type())));
}

coex_handle coex_gc_ephemeron_key(coex_handle ephemeron)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_ephemeron_key");
    return cx_weak_get_self(self, cx_a64_at(api_cells("coex_gc_ephemeron_key", ephemeron, cx_ephemeron_type())));
}

/* The key first: while it is alive, and it is from here on, the value is. */
coex_handle coex_gc_ephemeron_value(coex_handle ephemeron)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_ephemeron_value");
    coex_handle *cells = api_cells("coex_gc_ephemeron_value", ephemeron, cx_ephemeron_type());
    coex_handle value = cx_a64_load_seq(cx_a64_at(&cells[1]));
    return cx_weak_get_self(self, cx_a64_at(&cells[0])) != 0 ? value : 0;
}

uint64_t coex_gc_finalize(uint64_t limit)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_finalize");
    uint64_t done = 0;
    for (; done < limit; done++) {
        coex_handle *slots = coex_fast_enter_frame(1);
        slots[0] = cx_finalize_next_self(self);
        if (slots[0] != 0) {
            const coex_gc_type *type = api_type(cx_handle_payload(&cx_world.handles, slots[0]))->descriptor;
            type->finalize(slots[0], type->finalize_context);
        }
        bool more = slots[0] != 0;
        coex_fast_leave_frame(slots);
        if (!more) break;
    }
    return done;
}
