/* coex_gc_write_prometheus: the statistics in Prometheus' text format, version 0.0.4. Any thread, any time. */
#include "base/os.h"
#include "diag/events/histogram.h"

#include <coex/gc_diag.h>
#include <inttypes.h>

static void prometheus_head(FILE *file, const char *name, const char *type, const char *help)
{
    fprintf(file, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void prometheus_number(FILE *file, const char *name, const char *type, const char *help, uint64_t value)
{
    prometheus_head(file, name, type, help);
    fprintf(file, "%s %" PRIu64 "\n", name, value);
}

static void prometheus_seconds(FILE *file, const char *name, const char *type, const char *help, uint64_t ns)
{
    prometheus_head(file, name, type, help);
    fprintf(file, "%s %.9g\n", name, (double)ns / 1e9);
}

/* Buckets are powers of two of nanoseconds; from 1 us to 4 s they are told apart. */
enum { PROMETHEUS_LOW = 10, PROMETHEUS_HIGH = 31 };

static void prometheus_times(FILE *file, const char *name, const char *help, const coex_gc_times *times)
{
    uint64_t below = 0, count = 0;
    prometheus_head(file, name, "histogram", help);
    for (unsigned i = 0; i < COEX_GC_TIMES_BUCKETS; i++) count += times->bucket[i]; /* what was counted at one moment */
    for (unsigned i = 0; i + 1 < COEX_GC_TIMES_BUCKETS; i++) {
        below += times->bucket[i];
        if (i + 1 >= PROMETHEUS_LOW && i + 1 <= PROMETHEUS_HIGH)
            fprintf(file, "%s_bucket{le=\"%.9g\"} %" PRIu64 "\n", name, (double)((uint64_t)1 << (i + 1)) / 1e9, below);
    }
    fprintf(file, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, count);
    fprintf(file, "%s_sum %.9g\n%s_count %" PRIu64 "\n", name, (double)times->sum / 1e9, name, count);
}

static void prometheus_memory(FILE *file, const coex_gc_stats *stats)
{
    prometheus_number(file, "coexgc_heap_used_bytes", "gauge", "Heap bytes in use.", stats->current_heap_used);
    prometheus_number(file, "coexgc_heap_live_bytes", "gauge", "Heap bytes in use when the last cycle ended.",
                      stats->bytes_live_last_cycle);
    prometheus_number(file, "coexgc_heap_goal_bytes", "gauge", "Heap bytes at which the next cycle starts.", stats->heap_goal);
    prometheus_number(file, "coexgc_heap_committed_bytes", "gauge", "Heap bytes taken from the operating system.",
                      stats->current_heap_size);
    prometheus_number(file, "coexgc_overhead_bytes", "gauge", "Memory outside the heap: handle table, bitmaps, side tables.",
                      stats->overhead_bytes);
    prometheus_number(file, "coexgc_external_bytes", "gauge", "Memory that objects own outside the heap.", stats->external_bytes);
    prometheus_number(file, "coexgc_returned_bytes_total", "counter", "Bytes given back to the operating system.",
                      stats->memory_returned);
    prometheus_head(file, "coexgc_fragmentation_ratio", "gauge", "Free space in pieces smaller than a block, of all free space.");
    fprintf(file, "coexgc_fragmentation_ratio %.9g\n", (double)stats->fragmentation_ratio_percent / 100);
}

static void prometheus_objects(FILE *file, const coex_gc_stats *stats)
{
    prometheus_number(file, "coexgc_allocations_total", "counter", "Objects allocated.", stats->total_allocations);
    prometheus_number(file, "coexgc_allocated_bytes_total", "counter", "Bytes of objects allocated.", stats->total_bytes_allocated);
    prometheus_number(file, "coexgc_handles_in_use", "gauge", "Handles of objects.", stats->current_handles_in_use);
    prometheus_number(file, "coexgc_handles_free", "gauge", "Handles of the table that are free.", stats->current_handles_free);
    prometheus_number(file, "coexgc_handle_table_size", "gauge", "Handles that the table has room for.",
                      stats->current_handle_table_size);
    prometheus_number(file, "coexgc_pinned_objects", "gauge", "Objects that are pinned.", stats->pinned_objects);
    prometheus_number(file, "coexgc_finalizers_waiting", "gauge", "Objects whose finalizer has not run yet.",
                      stats->finalizers_waiting);
}

static void prometheus_cycles(FILE *file, const coex_gc_stats *stats)
{
    prometheus_number(file, "coexgc_cycles_total", "counter", "Collection cycles completed.", stats->collections_completed);
    prometheus_seconds(file, "coexgc_cycle_seconds_total", "counter", "Time in collection cycles, beside the program.",
                       stats->total_gc_time_ns);
    prometheus_seconds(file, "coexgc_last_cycle_seconds", "gauge", "Duration of the last cycle.", stats->last_gc_duration_ns);
    prometheus_seconds(file, "coexgc_last_mark_seconds", "gauge", "Marking of the last cycle.", stats->last_mark_duration_ns);
    prometheus_seconds(file, "coexgc_last_sweep_seconds", "gauge", "Sweep of the last cycle.", stats->last_sweep_duration_ns);
    prometheus_number(file, "coexgc_last_marked_objects", "gauge", "Objects marked in the last cycle.",
                      stats->objects_marked_last_cycle);
    prometheus_number(file, "coexgc_last_swept_objects", "gauge", "Objects reclaimed in the last cycle.",
                      stats->objects_swept_last_cycle);
    prometheus_number(file, "coexgc_assists_total", "counter", "Slow allocations that did marking work.", stats->assists);
    prometheus_number(file, "coexgc_limit_waits_total", "counter", "Allocations that waited for a cycle at a hard limit.",
                      stats->hard_limit_waits);
    prometheus_number(file, "coexgc_threads", "gauge", "Threads that are registered.", stats->registered_thread_count);
    prometheus_number(file, "coexgc_late_threads_total", "counter", "Threads that did not answer a request in time.",
                      stats->late_threads);
    prometheus_number(file, "coexgc_profile_other_samples_total", "counter", "Samples that the profile counts under other sites.",
                      stats->profile_other_samples);
    prometheus_number(file, "coexgc_profile_unfollowed_samples_total", "counter",
                      "Samples missing from what the profile has in use.", stats->profile_unfollowed_samples);
}

static void prometheus_all(FILE *file, const coex_gc_stats *stats)
{
    prometheus_head(file, "coexgc_info", "gauge", "The version of the collector.");
    fprintf(file, "coexgc_info{version=\"%s\"} 1\n", coex_gc_version());
    prometheus_memory(file, stats);
    prometheus_objects(file, stats);
    prometheus_cycles(file, stats);
    prometheus_times(file, "coexgc_stop_seconds", "One thread in one safepoint stop, by the clock.", &stats->stop_wall);
    prometheus_times(file, "coexgc_stop_cpu_seconds", "One thread in one safepoint stop, on the CPU.", &stats->stop_cpu);
    prometheus_times(file, "coexgc_handshake_seconds", "From a request to the last answer.", &stats->handshake);
}

int coex_gc_write_prometheus(FILE *file)
{
    coex_gc_stats stats;
    coex_gc_get_stats(&stats);
    void *locale = cx_os_enter_c_locale(); /* the format has points in its numbers, whatever the process has set */
    prometheus_all(file, &stats);
    cx_os_leave_locale(locale);
    return ferror(file) == 0 ? COEX_GC_OK : COEX_GC_EINVAL;
}
