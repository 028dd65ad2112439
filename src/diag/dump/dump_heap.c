/* coex_gc_dump_heap: a summary from the statistics, and the live objects, which a visit finds: those that were
 * reachable when the roots of its cycle were read. */
#include "diag/heap/object_view.h"
#include "diag/heap/visit.h"
#include "gc/api/runtime.h"

#include <coex/gc_diag.h>
#include <inttypes.h>

enum { DUMP_HEX_LINE = 32 }; /* bytes */

struct dump_heap {
    int32_t verbosity;
    struct cx_walk walk;
    struct cx_text objects;
    uint64_t count;
};

static void dump_contents(struct cx_text *text, const struct cx_object_view *view)
{
    unsigned char bytes[DUMP_HEX_LINE];
    for (uint64_t at = 0; at < view->size; at += DUMP_HEX_LINE) {
        uint64_t some = view->size - at < DUMP_HEX_LINE ? view->size - at : DUMP_HEX_LINE;
        cx_object_view_copy(view, at, bytes, some);
        cx_text_print(text, "    %04" PRIx64 ": ", at);
        cx_text_hex(text, bytes, some);
        cx_text_print(text, "\n");
    }
}

static void dump_heap_object(void *context, coex_handle handle)
{
    struct dump_heap *dump = context;
    struct cx_object_view view;
    if (!cx_object_view_take(&view, handle)) return;
    dump->count++;
    cx_text_print(&dump->objects, "  Handle %" PRIu64 ": type=", handle);
    cx_text_name(&dump->objects, view.name);
    cx_text_print(&dump->objects, ", size=%" PRIu64 ", addr=0x%" PRIx64 "\n", view.bytes, (uint64_t)(uintptr_t)view.payload);
    if (dump->verbosity >= 2) dump_contents(&dump->objects, &view);
}

static bool dump_heap_visit(void *context)
{
    struct dump_heap *dump = context;
    return cx_walk_some_gct(&dump->walk, dump_heap_object, dump);
}

static void dump_heap_summary(struct cx_text *text)
{
    coex_gc_stats stats;
    coex_gc_get_stats(&stats);
    cx_text_print(text, "=== HEAP DUMP ===\nHeap size: %" PRIu64 " bytes (%" PRIu64 " MB)\n", stats.current_heap_size,
                  stats.current_heap_size >> 20);
    cx_text_print(text, "Heap used: %" PRIu64 " bytes (%.2f MB)\nFree blocks: %" PRIu64 "\nLargest free: %" PRIu64 " bytes\n",
                  stats.current_heap_used, (double)stats.current_heap_used / 1048576.0, stats.total_free_blocks,
                  stats.largest_free_block);
}

static void dump_heap_write(void *context)
{
    struct dump_heap *dump = context;
    struct cx_text summary = {0};
    dump_heap_summary(&summary);
    cx_text_print(&summary, "\nLive objects (%" PRIu64 " total):\n", dump->count);
    cx_text_write(&summary);
    cx_text_write(&dump->objects);
}

void coex_gc_dump_heap(int32_t verbosity)
{
    struct dump_heap dump = {.verbosity = verbosity};
    if (verbosity > 0) {
        if (cx_visit_run("coex_gc_dump_heap", false, dump_heap_visit, dump_heap_write, &dump)) return;
        if (cx_runtime_is_up()) return;
    }
    struct cx_text summary = {0};
    dump_heap_summary(&summary);
    cx_text_write(&summary);
}
