/* coex_gc_dump_stats: every field of coex_gc_stats by its name, in the order of the struct. A field that is added there gets a row here. */
#include "diag/text.h"

#include <coex/gc_diag.h>
#include <inttypes.h>

enum stats_unit { STATS_COUNT, STATS_BYTES, STATS_NS, STATS_PERCENT, STATS_TIMES };

struct stats_row {
    const char *group; /* NULL: that of the row before */
    const char *name;
    size_t offset;
    enum stats_unit unit;
};

#define STATS_ROW(group, field, unit)                                                                                              \
    {                                                                                                                              \
        group, #field, offsetof(coex_gc_stats, field), unit                                                                        \
    }

static const struct stats_row stats_rows[] = {
    STATS_ROW("Allocation", total_allocations, STATS_COUNT),
    STATS_ROW(NULL, total_bytes_allocated, STATS_BYTES),
    STATS_ROW(NULL, total_handles_allocated, STATS_COUNT),
    STATS_ROW("Collection", collections_completed, STATS_COUNT),
    STATS_ROW(NULL, objects_marked_last_cycle, STATS_COUNT),
    STATS_ROW(NULL, objects_swept_last_cycle, STATS_COUNT),
    STATS_ROW(NULL, bytes_reclaimed_last_cycle, STATS_BYTES),
    STATS_ROW(NULL, handles_retired_last_cycle, STATS_COUNT),
    STATS_ROW(NULL, handles_recycled_last_cycle, STATS_COUNT),
    STATS_ROW("Growth", handle_table_growths, STATS_COUNT),
    STATS_ROW(NULL, heap_growths, STATS_COUNT),
    STATS_ROW("Current state", current_heap_size, STATS_BYTES),
    STATS_ROW(NULL, current_heap_used, STATS_BYTES),
    STATS_ROW(NULL, current_handle_table_size, STATS_COUNT),
    STATS_ROW(NULL, current_handles_in_use, STATS_COUNT),
    STATS_ROW(NULL, current_handles_free, STATS_COUNT),
    STATS_ROW("Fragmentation", largest_free_block, STATS_BYTES),
    STATS_ROW(NULL, total_free_blocks, STATS_COUNT),
    STATS_ROW(NULL, fragmentation_ratio_percent, STATS_PERCENT),
    STATS_ROW("Timing", last_gc_duration_ns, STATS_NS),
    STATS_ROW(NULL, last_mark_duration_ns, STATS_NS),
    STATS_ROW(NULL, last_sweep_duration_ns, STATS_NS),
    STATS_ROW(NULL, total_gc_time_ns, STATS_NS),
    STATS_ROW("Threads", registered_thread_count, STATS_COUNT),
    STATS_ROW(NULL, max_shadow_stack_depth_seen, STATS_COUNT),
    STATS_ROW("Memory", overhead_bytes, STATS_BYTES),
    STATS_ROW(NULL, heap_goal, STATS_BYTES),
    STATS_ROW("Late threads", late_threads, STATS_COUNT),
    STATS_ROW(NULL, late_thread_id, STATS_COUNT),
    STATS_ROW("More", bytes_live_last_cycle, STATS_BYTES),
    STATS_ROW(NULL, memory_returned, STATS_BYTES),
    STATS_ROW(NULL, hard_limit_waits, STATS_COUNT),
    STATS_ROW(NULL, pinned_objects, STATS_COUNT),
    STATS_ROW(NULL, pins, STATS_COUNT),
    STATS_ROW(NULL, finalizers_waiting, STATS_COUNT),
    STATS_ROW(NULL, external_bytes, STATS_BYTES),
    STATS_ROW(NULL, assists, STATS_COUNT),
    STATS_ROW("Times", stop_cpu, STATS_TIMES),
    STATS_ROW(NULL, stop_wall, STATS_TIMES),
    STATS_ROW(NULL, handshake, STATS_TIMES),
    STATS_ROW(NULL, stop_cpu_last, STATS_TIMES),
    STATS_ROW(NULL, stop_wall_last, STATS_TIMES),
    STATS_ROW(NULL, handshake_last, STATS_TIMES),
    STATS_ROW("Profile", profile_other_samples, STATS_COUNT),
    STATS_ROW(NULL, profile_unfollowed_samples, STATS_COUNT),
};

static void stats_print_times(struct cx_text *text, const char *name, const coex_gc_times *times)
{
    cx_text_print(text, "  %s: count=%" PRIu64 ", p50=%" PRIu64 ", p99=%" PRIu64 ", p999=%" PRIu64 ", max=%" PRIu64 " ns\n", name,
                  times->count, times->p50, times->p99, times->p999, times->max);
}

static void stats_print_number(struct cx_text *text, const struct stats_row *row, uint64_t value)
{
    cx_text_print(text, "  %s: %" PRIu64, row->name, value);
    if (row->unit == STATS_BYTES)
        cx_text_print(text, " bytes (%.2f MB)\n", (double)value / 1048576.0);
    else if (row->unit == STATS_NS)
        cx_text_print(text, " ns (%.3f ms)\n", (double)value / 1e6);
    else
        cx_text_print(text, "%s\n", row->unit == STATS_PERCENT ? "%" : "");
}

void coex_gc_dump_stats(void)
{
    coex_gc_stats stats;
    struct cx_text text = {0};
    coex_gc_get_stats(&stats);
    cx_text_print(&text, "=== GC STATISTICS ===\n");
    for (size_t i = 0; i < sizeof stats_rows / sizeof stats_rows[0]; i++) {
        const struct stats_row *row = &stats_rows[i];
        const char *field = (const char *)&stats + row->offset;
        if (row->group != NULL) cx_text_print(&text, "%s:\n", row->group);
        if (row->unit == STATS_TIMES)
            stats_print_times(&text, row->name, (const coex_gc_times *)(const void *)field);
        else
            stats_print_number(&text, row, *(const uint64_t *)(const void *)field);
    }
    cx_text_write(&text);
}
