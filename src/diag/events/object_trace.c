/* Trace levels 2 to 4: a line for what single objects go through. (Level 1, the phases of cycles, is in cycle_history.c.)
 *
 * Entered on the thread where it happens, a mutator or the collector. The lines are written at once: a stream that blocks holds that thread
 * up, in managed mode too. Levels this high are for programs that one wants to read step by step. */
#include "diag/events/event_listener.h"
#include "diag/heap/object_view.h"
#include "gc/api/runtime.h"
#include "diag/output.h"

#include <coex/gc_diag.h>
#include <inttypes.h>

static uint64_t object_trace_now(void) { return cx_a64_load_relaxed(&cx_event_statistics.trace_level); }

static void object_trace_allocated(coex_handle handle, uint64_t address)
{
    struct cx_text text = {0};
    struct cx_object_view view;
    cx_object_view_take(&view, handle);
    cx_text_print(&text, "[GC] alloc: handle=%" PRIu64 ", type=", handle);
    cx_text_name(&text, view.name);
    cx_text_print(&text, ", size=%" PRIu64, view.bytes);
    if (object_trace_now() >= 3)
        cx_text_print(&text, ", addr=0x%" PRIx64 "\n[GC] handle_table: slot %" PRIu64 " <- 0x%" PRIx64, address, handle, address);
    cx_text_print(&text, "\n");
    cx_text_write(&text);
}

static void object_trace_field(void *context, uint64_t offset, coex_handle value)
{
    (void)context;
    cx_output_print("[GC] mark: field at offset %" PRIu64 ": child handle=%" PRIu64 "\n", offset, value);
}

static void object_trace_traced(coex_handle handle)
{
    struct cx_text text = {0};
    struct cx_object_view view;
    if (!cx_object_view_take(&view, handle)) return;
    cx_text_print(&text, "[GC] mark: tracing handle=%" PRIu64 ", type=", handle);
    cx_text_name(&text, view.name);
    cx_text_print(&text, "\n");
    cx_text_write(&text);
    cx_object_view_each(&view, object_trace_field, NULL);
}

static void object_trace_reclaimed(coex_handle handle)
{
    struct cx_text text = {0};
    struct cx_object_view view;
    if (!cx_object_view_take(&view, handle)) return;
    cx_text_print(&text, "[GC] sweep: handle=%" PRIu64 " reclaimed (", handle);
    cx_text_name(&text, view.name);
    cx_text_print(&text, ", %" PRIu64 " bytes)\n", view.bytes);
    cx_text_write(&text);
}

static void object_trace_tell(enum cx_detail detail, uint64_t a, uint64_t b)
{
    uint64_t level = object_trace_now();
    coex_handle handle = cx_object_view_handle_at(a);
    if (detail == CX_DETAIL_ALLOC && level >= 2) object_trace_allocated(handle, b);
    if (detail == CX_DETAIL_MET_AGAIN && level >= 2) cx_output_print("[GC] mark: handle=%" PRIu64 " (already marked)\n", handle);
    if (detail == CX_DETAIL_RECLAIMED && level >= 2) object_trace_reclaimed(handle);
    if (detail == CX_DETAIL_MARKED && level >= 3) cx_output_print("[GC] mark: handle=%" PRIu64 " marked (was unmarked)\n", handle);
    if (detail == CX_DETAIL_TRACED && level >= 3) object_trace_traced(handle);
    if (detail == CX_DETAIL_USED && level >= 4)
        cx_output_print("[GC] deref: handle=%" PRIu64 " (%s)\n", handle, (const char *)(uintptr_t)b);
}

static void object_trace_set(struct cx_events *events, uint64_t level)
{
    cx_a64_store_relaxed(&cx_event_statistics.trace_level, level);
    cx_a32_store_relaxed(&events->detail, level > 4 ? 4 : (uint32_t)level);
}

void cx_object_trace_begin(struct cx_events *events, uint64_t level)
{
    events->tell = object_trace_tell;
    object_trace_set(events, level);
}

void coex_gc_set_trace_level(int64_t level)
{
    struct cx_thread *self = cx_runtime_is_up() ? cx_thread_self() : NULL;
    object_trace_set(&cx_world.events, level < 0 ? 0 : (uint64_t)level);
    if (self != NULL && self->native_depth == 0)
        cx_tlab_charge(&self->tlab, &self->words, 0); /* its next allocation takes the slow path */
}
