/* coex_gc_get_stats: gathers what the modules count. Any thread, any time. */
#include "diag/events/profile.h"
#include "gc/cycle/collector.h"
#include "gc/marking/finalizers.h"
#include "gc/cycle/pace.h"
#include "gc/marking/global_roots.h"
#include "gc/api/runtime.h"
#include "diag/events/event_statistics.h"

#include <string.h>

/* Allocations and bytes: of threads that left, and of those that are here, as of their last slow path; the caller's own exactly. */
static void stats_threads(coex_gc_stats *stats, uint64_t *held)
{
    struct cx_registry *registry = &cx_world.registry;
    const struct cx_thread *self = cx_thread_self();
    cx_mutex_lock(&registry->lock);
    stats->total_allocations = registry->gone_allocations;
    stats->total_bytes_allocated = registry->gone_bytes;
    stats->registered_thread_count = cx_a32_load_relaxed(&registry->live);
    uint32_t count = cx_a32_load_relaxed(&registry->count);
    for (uint32_t i = 0; i < count; i++) {
        const struct cx_thread *thread = cx_registry_at(registry, i);
        if (cx_a32_load_relaxed(&thread->state) != CX_THREAD_LIVE) continue;
        bool mine = thread == self && self->native_depth == 0;
        stats->total_allocations +=
            mine ? self->handles_taken - cx_thread_handles_held(self) : cx_a64_load_relaxed(&thread->allocations);
        stats->total_bytes_allocated += mine ? cx_tlab_bytes(&self->tlab, &self->words) : cx_a64_load_relaxed(&thread->bytes);
        *held += mine ? cx_thread_handles_held(self) : 0;
    }
    cx_mutex_unlock(&registry->lock);
}

static void stats_handles(coex_gc_stats *stats, uint64_t held)
{
    const struct cx_handles *handles = &cx_world.handles;
    uint64_t retired = cx_a64_load_relaxed(&handles->retired_now);
    uint64_t allocated = cx_a64_load_relaxed(&handles->claimed) - cx_a64_load_relaxed(&handles->recycled);
    stats->total_handles_allocated = stats->total_allocations;
    stats->handle_table_growths = cx_a64_load_relaxed(&handles->growths);
    stats->current_handle_table_size = cx_a64_load_acquire(&handles->committed);
    stats->current_handles_in_use = allocated > retired + held ? allocated - retired - held : 0;
    stats->current_handles_free = stats->current_handle_table_size - 1 - stats->current_handles_in_use - retired;
}

/* Free pieces: runs of free lines in blocks that are in use (as of the last sweep), empty blocks, and runs of free pages. */
struct stats_free {
    uint64_t pieces, longest, bytes;
};

static void stats_see_run(void *context, uint64_t bytes)
{
    struct stats_free *free = context;
    free->pieces++;
    free->bytes += bytes;
    if (bytes > free->longest) free->longest = bytes;
}

static void stats_heap(coex_gc_stats *stats)
{
    struct cx_heap *heap = &cx_world.heap;
    struct stats_free free = {0};
    cx_mutex_lock(&heap->lock);
    stats->current_heap_size = (uint64_t)heap->committed * CX_BLOCK_BYTES;
    uint64_t empty = cx_a32_load_relaxed(&heap->free_count) + heap->committed - cx_a32_load_relaxed(&heap->count);
    cx_mutex_unlock(&heap->lock);
    stats->current_heap_size += cx_large_each_free(&heap->large, stats_see_run, &free);
    stats->current_heap_used = cx_a64_load_relaxed(&heap->used);
    stats->heap_growths = cx_a64_load_relaxed(&heap->growths) + cx_a64_load_relaxed(&heap->large.growths);
    stats->memory_returned = cx_a64_load_relaxed(&heap->returned) + cx_a64_load_relaxed(&heap->large.returned);
    uint64_t hole = empty != 0 ? CX_BLOCK_BYTES : cx_a64_load_relaxed(&heap->swept_longest);
    stats->largest_free_block = free.longest > hole ? free.longest : hole;
    stats->total_free_blocks = free.pieces + empty + cx_a64_load_relaxed(&heap->swept_runs);
    /* How much of the free space lies in pieces smaller than a block. */
    uint64_t scattered = cx_a64_load_relaxed(&heap->swept_free_lines) * CX_LINE_BYTES;
    uint64_t all = scattered + empty * CX_BLOCK_BYTES + free.bytes;
    stats->fragmentation_ratio_percent = all == 0 ? 0 : scattered * 100 / all;
}

static void stats_cycles(coex_gc_stats *stats)
{
    struct cx_cycle_stats last = cx_collector_stats();
    stats->collections_completed = last.completed;
    stats->objects_marked_last_cycle = last.marked;
    stats->objects_swept_last_cycle = last.swept.objects;
    stats->bytes_reclaimed_last_cycle = last.bytes_reclaimed;
    stats->handles_retired_last_cycle = last.swept.retired;
    stats->handles_recycled_last_cycle = last.swept.recycled;
    stats->last_gc_duration_ns = last.duration_ns;
    stats->last_mark_duration_ns = last.mark_ns;
    stats->last_sweep_duration_ns = last.sweep_ns;
    stats->total_gc_time_ns = last.total_ns;
}

void coex_gc_get_stats(coex_gc_stats *stats)
{
    uint64_t held = 0;
    memset(stats, 0, sizeof *stats);
    if (!cx_runtime_is_up()) return;
    stats_threads(stats, &held);
    stats_handles(stats, held);
    stats_heap(stats);
    stats_cycles(stats);
    stats->max_shadow_stack_depth_seen = cx_a64_load_relaxed(&cx_world.max_depth);
    uint32_t blocks = cx_a32_load_acquire(&cx_world.heap.count);
    stats->overhead_bytes = cx_handles_overhead(&cx_world.handles) + (uint64_t)blocks * sizeof(struct cx_block) +
                            cx_large_overhead(&cx_world.heap.large);
    stats->heap_goal = cx_a64_load_relaxed(&cx_pace.goal);
    stats->bytes_live_last_cycle = cx_a64_load_relaxed(&cx_pace.live);
    cx_roots_count_pins(&stats->pinned_objects, &stats->pins);
    stats->finalizers_waiting = cx_finalize_waiting();
    stats->external_bytes = cx_pace_external();
    stats->assists = cx_a64_load_relaxed(&cx_pace.assists);
    stats->hard_limit_waits = cx_a64_load_relaxed(&cx_pace.limit_waits);
    stats->late_threads = cx_a64_load_relaxed(&cx_event_statistics.late_threads);
    stats->late_thread_id = cx_a64_load_relaxed(&cx_event_statistics.late_thread_id);
    stats->stop_cpu = cx_histogram_times(&cx_event_statistics.stop_cpu);
    stats->stop_wall = cx_histogram_times(&cx_event_statistics.stop_wall);
    stats->handshake = cx_histogram_times(&cx_event_statistics.handshake);
    cx_event_statistics_last_times(&stats->stop_cpu_last, &stats->stop_wall_last, &stats->handshake_last);
    stats->profile_other_samples = cx_a64_load_relaxed(&cx_profile.other_samples);
    stats->profile_unfollowed_samples = cx_a64_load_relaxed(&cx_profile.unfollowed_samples);
}
