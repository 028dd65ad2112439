/* Coex: looking inside the collector while it runs. Every function may be called from any thread at any time. */
#ifndef COEX_GC_DIAG_H
#define COEX_GC_DIAG_H

#include <coex/gc.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COEX_GC_TIMES_BUCKETS 32

/* Times of one kind, in nanoseconds. Percentiles are upper bounds within 1/8 of the value. */
typedef struct coex_gc_times {
    uint64_t count;
    uint64_t p50;
    uint64_t p99;
    uint64_t p999;
    uint64_t max;
    uint64_t
        bucket[COEX_GC_TIMES_BUCKETS]; /* bucket[i]: how many of 2^i to 2^(i+1)-1 ns; the first has also 0, the last all above */
} coex_gc_times;

typedef struct coex_gc_stats {
    /* allocation */
    uint64_t total_allocations;
    uint64_t total_bytes_allocated;
    uint64_t total_handles_allocated;
    /* collection */
    uint64_t collections_completed;
    uint64_t objects_marked_last_cycle;
    uint64_t objects_swept_last_cycle;
    uint64_t bytes_reclaimed_last_cycle;
    uint64_t handles_retired_last_cycle;
    uint64_t handles_recycled_last_cycle;
    /* growth */
    uint64_t handle_table_growths;
    uint64_t heap_growths;
    /* now */
    uint64_t current_heap_size;
    uint64_t current_heap_used;
    uint64_t current_handle_table_size;
    uint64_t current_handles_in_use;
    uint64_t current_handles_free;
    /* fragmentation, as of the last sweep */
    uint64_t largest_free_block;
    uint64_t total_free_blocks;
    uint64_t fragmentation_ratio_percent;
    /* nanoseconds */
    uint64_t last_gc_duration_ns;
    uint64_t last_mark_duration_ns;
    uint64_t last_sweep_duration_ns;
    uint64_t total_gc_time_ns;
    /* threads */
    uint64_t registered_thread_count;
    uint64_t max_shadow_stack_depth_seen; /* in words, as of the last root scans */

    /* beyond the classic fields */
    uint64_t overhead_bytes;        /* committed outside the heap: handle table, bitmaps, side tables */
    uint64_t heap_goal;             /* heap bytes at which the next cycle starts */
    uint64_t late_threads;          /* threads that have passed safepoint_warn_ms without an answer */
    uint64_t late_thread_id;        /* the last of them, 0: none yet */
    uint64_t bytes_live_last_cycle; /* heap bytes in use when the last cycle ended */
    uint64_t memory_returned;       /* bytes given back to the operating system so far */
    uint64_t hard_limit_waits;      /* allocations that waited for a cycle at a hard limit */
    uint64_t pinned_objects;        /* a number that only grows is a leaked pin */
    uint64_t pins;
    uint64_t finalizers_waiting; /* for coex_gc_finalize */
    uint64_t external_bytes;     /* coex_gc_adjust_external */
    uint64_t assists;            /* slow allocations that did marking work */
    coex_gc_times stop_cpu;      /* a thread's time on the CPU in one safepoint stop, all cycles */
    coex_gc_times stop_wall;     /* the same by the clock on the wall */
    coex_gc_times handshake;     /* from a request to its last answer, all cycles */
    coex_gc_times stop_cpu_last; /* the three of the last cycle */
    coex_gc_times stop_wall_last;
    coex_gc_times handshake_last;
} coex_gc_stats;

/* A consistent snapshot of what is counted exactly; what other threads count as they run is as fresh as their last slow path. */
COEX_API void coex_gc_get_stats(coex_gc_stats *stats);

/* Runs inside a full cycle while the caller waits in native mode. 0, or the number of errors, each printed. A safepoint. */
COEX_API int32_t coex_gc_validate_heap(void);

COEX_API void coex_gc_set_trace_level(int64_t level);
COEX_API void coex_gc_set_output(FILE *stream); /* where traces and reports go; stderr at first */

#ifdef __cplusplus
}
#endif

#endif
