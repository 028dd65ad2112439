/* Coex: statistics, dumps, traces and profiles of a running collector.
 *
 * Any thread may call these functions at any time, whether it is registered or not, except from a
 * trace function, a describer or a namer. Functions that return a code return COEX_GC_OK on
 * success. On failure they return an error code and record the reason (coex_gc_error_detail).
 * docs/reference/errors.md lists the codes. */
#ifndef COEX_GC_DIAG_H
#define COEX_GC_DIAG_H

#include <coex/gc.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------- statistics */

#define COEX_GC_TIMES_BUCKETS 32

/* A histogram of durations in nanoseconds. A percentile is an upper bound that exceeds the true
 * value by at most 1/8. */
typedef struct coex_gc_times {
    /* Number of durations. */
    uint64_t count;
    /* The median. */
    uint64_t p50;
    /* The 99th percentile. */
    uint64_t p99;
    /* The 99.9th percentile. */
    uint64_t p999;
    /* The longest duration. */
    uint64_t max;
    /* The sum of all durations. */
    uint64_t sum;
    /* bucket[i] is the number of durations from 2^i to 2^(i+1) - 1 ns. The first bucket also counts
     * 0, and the last bucket counts everything above. */
    uint64_t bucket[COEX_GC_TIMES_BUCKETS];
} coex_gc_times;

/* The statistics of the runtime. Sizes are in bytes. */
typedef struct coex_gc_stats {
    /* Allocation, since init. */
    uint64_t total_allocations;
    uint64_t total_bytes_allocated;
    uint64_t total_handles_allocated;

    /* Collection. A retired handle belongs to a dead object. It is recycled, which means free
     * again, after one more complete cycle. */
    uint64_t collections_completed;
    uint64_t objects_marked_last_cycle;
    uint64_t objects_swept_last_cycle;
    uint64_t bytes_reclaimed_last_cycle;
    uint64_t handles_retired_last_cycle;
    uint64_t handles_recycled_last_cycle;

    /* Growth, since init. */
    uint64_t handle_table_growths;
    uint64_t heap_growths;

    /* The current state. */
    uint64_t current_heap_size;
    uint64_t current_heap_used;
    uint64_t current_handle_table_size;
    uint64_t current_handles_in_use;
    uint64_t current_handles_free;

    /* Fragmentation. A free piece is a run of free lines in a used block (as of the last sweep), an
     * empty block of 32 KiB, or a run of free pages for large objects. */
    /* Bytes of the largest free piece. */
    uint64_t largest_free_block;
    /* Number of free pieces. */
    uint64_t total_free_blocks;
    /* Percentage of the free bytes that are in pieces smaller than a block. */
    uint64_t fragmentation_ratio_percent;

    /* Durations in nanoseconds. */
    uint64_t last_gc_duration_ns;
    uint64_t last_mark_duration_ns;
    uint64_t last_sweep_duration_ns;
    uint64_t total_gc_time_ns;

    /* Threads. */
    uint64_t registered_thread_count;
    /* Words of the deepest shadow stack that a root scan has seen. */
    uint64_t max_shadow_stack_depth_seen;

    /* Committed bytes outside the heap: handle table, bitmaps and side tables. Two bitmaps with one
     * bit per handle are not counted. The collector uses one when it has no memory for its mark
     * queue, and the other while ephemerons wait for their keys. */
    uint64_t overhead_bytes;
    /* Heap size in bytes at which the next cycle starts. */
    uint64_t heap_goal;
    /* Number of times that a thread did not reach a safepoint within safepoint_warn_ms. */
    uint64_t late_threads;
    /* Operating system id of the last late thread, or 0. */
    uint64_t late_thread_id;
    /* Heap bytes in use at the end of the last cycle. */
    uint64_t bytes_live_last_cycle;
    /* Bytes that were returned to the operating system since init. */
    uint64_t memory_returned;
    /* Number of allocations that waited for a cycle at a hard limit. */
    uint64_t hard_limit_waits;
    /* Number of pinned objects. If it only ever grows, a pin leaks. */
    uint64_t pinned_objects;
    /* Number of pins. */
    uint64_t pins;
    /* Number of objects that wait for coex_gc_finalize. */
    uint64_t finalizers_waiting;
    /* Bytes reported with coex_gc_adjust_external. */
    uint64_t external_bytes;
    /* Number of slow allocations that did marking work. */
    uint64_t assists;
    /* CPU time of a thread in one safepoint stop, over all cycles. */
    coex_gc_times stop_cpu;
    /* Wall-clock time of a thread in one safepoint stop, over all cycles. */
    coex_gc_times stop_wall;
    /* Time from a request of the collector to its last answer, over all cycles. */
    coex_gc_times handshake;
    /* The same three for the last cycle only. */
    coex_gc_times stop_cpu_last;
    coex_gc_times stop_wall_last;
    coex_gc_times handshake_last;
    /* Samples of the allocation profile that appear as "(other sites)", and samples that are missing
     * from its live objects. Both are 0 unless the profile has reached a limit. */
    uint64_t profile_other_samples;
    uint64_t profile_unfollowed_samples;
} coex_gc_stats;

/* Stores the statistics in *stats. Exact counters form a consistent snapshot. Counters of other
 * threads are as recent as the last slow path of each thread. Fills *stats with zeros if there is
 * no runtime. Not a safepoint. */
COEX_API void coex_gc_get_stats(coex_gc_stats *stats);

/* ------------------------------------------------------------------- dumps */

/* A dump is text. It goes to the stream of coex_gc_set_output, in the formats that
 * docs/guide/debugging.md shows.
 *
 * A dump that is called a *visit* runs inside a full cycle that starts after the call. The caller
 * waits in native mode, and other threads continue to run. A visit is therefore a safepoint. It
 * shows the objects that were reachable in its cycle. The text is first built in memory, so a visit
 * needs as much memory as its text is long. Without a runtime, a visit finds nothing and
 * returns. */

/* Prints every field of coex_gc_stats by name. Not a safepoint. */
COEX_API void coex_gc_dump_stats(void);

/* Prints the heap. Verbosity 0 prints the size, the used bytes and the free pieces as of the last
 * sweep. Verbosity 1 is a visit, and adds each reachable object. Verbosity 2 adds the contents of
 * the objects in hexadecimal. */
COEX_API void coex_gc_dump_heap(int32_t verbosity);

/* Prints the handle table in its current state, ordered by slot number. A slot number is a handle,
 * without its generation in `checked` builds. Verbosity 0 prints the numbers of used, free and
 * retired handles. Verbosity 1 adds the used handles. Verbosity 2 adds the other handles that are
 * not free, and the places of the first free handles. Dead objects that are not swept yet count as
 * used. Not a visit, and not a safepoint. */
COEX_API void coex_gc_dump_handle_table(int32_t verbosity);

/* Prints the frames of every thread and the contents of their slots as the root scan read them, and
 * then the suspended coroutine stacks. Null is printed as h=0, an immediate as i=<bits>. Threads
 * that registered after the root scan are missing. A visit. */
COEX_API void coex_gc_dump_shadow_stacks(void);

/* Prints the object `h`: its header, its pins if it has any, and its fields. References have the
 * names that the type gives them. Accepts any word. `h` should be rooted. Not a safepoint. */
COEX_API void coex_gc_dump_object(coex_handle h);

/* Checks that table, headers, references, bitmaps, objects and stacks agree, and prints each error.
 * Returns the number of errors. A visit. */
COEX_API int32_t coex_gc_validate_heap(void);

/* Prints the free space of the heap by size of its pieces, and whether compaction is worthwhile. A
 * visit. */
COEX_API void coex_gc_fragmentation_report(void);

/* Prints a shortest path of references from a root to the object `h`, with the types and the names
 * of the fields, and returns true. A root is a frame of a thread, a suspended stack, a global root,
 * a pin, or the queue of finalizers. If there is no path, prints the reason and returns false.
 *
 * Roots of the caller are considered last, and its top frame last of all. The handle may therefore
 * be rooted or not. If it is not, its object may be gone after the call. Needs at most 16 bytes for
 * each handle of the table. A visit. */
COEX_API bool coex_gc_why(coex_handle h);

/* Writes the reachable objects, their references with names, their sizes, and the roots to the file
 * `path`, in the .heapsnapshot format of Chrome DevTools (Memory, Load). Ids are 2 * handle + 1, so
 * that two snapshots can be compared. In `checked` builds the id is made without the generation of
 * the handle.
 *
 * Returns COEX_GC_OK, COEX_GC_EINVAL if the file cannot be written, COEX_GC_ENOMEM or
 * COEX_GC_ESTATE. Needs 28 bytes for
 * each object and 8 for each reference. The collector waits while these are copied, but not for the
 * writing. A visit. */
COEX_API int coex_gc_write_heap_snapshot(const char *path);

/* How snapshots, traces and profiles are written. A regular file is written under a temporary
 * name in the same folder, coexgc-<pid>-<n>.tmp, and is renamed when it is complete. A call that
 * fails leaves an old file of that name unchanged. The new file has the mode of the old one, and
 * its owner and group if the system permits it. Other hard links to the old file keep the old
 * contents. A symbolic link is followed and stays. Pipes, devices and /dev/stdout are written in
 * place. A call that waits for the reader of a pipe delays no other thread and no cycle. */

/* Describes an object for dumps, which print the description in quotes. Writes at most `room` bytes
 * to `text`, including the final zero byte. `payload` and `size` are the payload of the object.
 * Describers run on any thread, also on the collector while mutators run. A describer may only read
 * the payload, and other objects with coex_gc_peek. It must not call other functions of the
 * library. */
typedef void (*coex_gc_describer)(const void *payload, uint64_t size, char *text, uint64_t room);

/* Sets the describer of the type `type_id`. Returns COEX_GC_OK, COEX_GC_EINVAL if there is no such
 * type, COEX_GC_ESTATE if there is no runtime, or COEX_GC_ELIMIT if 64 types already have a
 * describer or a namer. */
COEX_API int coex_gc_set_describer(uint32_t type_id, coex_gc_describer describe);

/* Names a reference that a trace function reports, for dumps, coex_gc_why and snapshots. `size` is
 * the payload size, rounded up to words, and `offset` is the offset of the reference. The object
 * itself may already be gone. Writes at most `room` bytes to `text`, including the final zero byte;
 * 31 characters are used. If the text is empty, dumps show the offset. Namers run where describers
 * run, and must not call functions of the library. */
typedef void (*coex_gc_namer)(uint64_t size, uint64_t offset, char *text, uint64_t room);

/* Sets the namer of the type `type_id`. Returns the codes of coex_gc_set_describer. */
COEX_API int coex_gc_set_namer(uint32_t type_id, coex_gc_namer name);

/* Returns the payload of the object `h` and stores its size in *size, for describers. Returns NULL
 * and stores 0 if `h` names no object. */
COEX_API const void *coex_gc_peek(coex_handle h, uint64_t *size);

/* ---------------------------------------------------------------- debugger */

/* The functions of this section are only for debuggers, which call them in a stopped process. They
 * take no lock, start no cycle, and use no memory except fresh pages. They print to standard error.
 * An example in gdb is `call coex_gc_debug_why(42)`. Every program contains them, also if it is
 * linked statically and does not refer to them. A stripped program has them only in the shared
 * library. */

/* Prints the object `h` like coex_gc_dump_object. */
COEX_API void coex_gc_debug_object(coex_handle h);

/* Prints all shadow stacks like coex_gc_dump_shadow_stacks. */
COEX_API void coex_gc_debug_stacks(void);

/* Prints a path to the object `h` like coex_gc_why. Returns false if there is none. */
COEX_API bool coex_gc_debug_why(coex_handle h);

/* ------------------------------------------------------ traces and profiles */

/* Starts to record events: cycles and their stages, handshakes, stops, heap counters, the types
 * that live and die, and the fill of the blocks. A ring of fixed size keeps the last 65,536 events.
 * coex_gc_trace_stop writes them to the file `path` as trace-event JSON for Perfetto,
 * chrome://tracing and `coexgc report`. Shutdown and exit also stop the trace.
 * COEX_GC=events=<path> starts a trace at init. After a fork the child records nothing.
 * The file is not touched before it is written: a program that crashes leaves no file, and an old
 * file stays.
 *
 * Returns COEX_GC_OK. On failure, starts nothing and returns COEX_GC_EINVAL if the file cannot be
 * written, COEX_GC_EALREADY if a trace is already being recorded, COEX_GC_ENOMEM or COEX_GC_ESTATE.
 * A safepoint. */
COEX_API int coex_gc_trace_start(const char *path);

/* Stops the trace and writes its file, in native mode. Returns COEX_GC_OK, COEX_GC_EINVAL if the
 * file cannot be written, or COEX_GC_ESTATE if no trace is being recorded. A safepoint. */
COEX_API int coex_gc_trace_stop(void);

/* Writes the events that are in the ring to the file `path`, in native mode. Recording continues.
 * Returns the codes of coex_gc_trace_stop. A safepoint. */
COEX_API int coex_gc_trace_write(const char *path);

/* Adds a counter of the embedder to the trace. `name` must stay valid, as a string literal does.
 * Has no effect if no trace is being recorded, and then costs one load. Not a safepoint. */
COEX_API void coex_gc_trace_counter(const char *name, uint64_t value);

/* Starts a sampled allocation profile. It records about one allocation in every `interval_bytes`
 * allocated bytes, with its call stack and its type. 0 means 512 KiB. The samples of an earlier
 * profile are discarded. Fast paths are not slower while a profile is recorded. Returns COEX_GC_OK,
 * COEX_GC_EALREADY if a profile is already being recorded, COEX_GC_EINVAL if the interval exceeds 1
 * TiB, or COEX_GC_ESTATE. */
COEX_API int coex_gc_profile_start(uint64_t interval_bytes);

/* Stops the profile. Its samples stay and can be written. Has no effect if there is none. */
COEX_API void coex_gc_profile_stop(void);

/* Writes the profile to the file `path` for `go tool pprof`, in native mode. For each call stack
 * it has the objects and bytes that were allocated (-sample_index=alloc_space), and those that
 * no cycle has found dead, which is the default. Call coex_gc_collect first to see only live
 * objects. Each sample is labelled with its type. Frames of the library are left out, so the
 * innermost frame is the function that called it. A profile has up to 262,144 sites (a site is a
 * call stack and a type) and follows up to 4,194,304 sampled objects. Samples of further sites
 * appear as "(other sites)". The statistics and the comments of the file (`pprof -comments`)
 * count them, and the samples that are not followed. The file is written without a lock. Returns
 * COEX_GC_OK, COEX_GC_EINVAL if the file cannot be written, or COEX_GC_ESTATE if no profile was
 * started. A safepoint. */
COEX_API int coex_gc_profile_write(const char *path);

/* Writes the statistics to `stream` in the text format of Prometheus (version 0.0.4). Numbers
 * are written as in the C locale, like all text of the library. Returns COEX_GC_OK, or
 * COEX_GC_EINVAL if the stream has an error. Not a safepoint. */
COEX_API int coex_gc_write_prometheus(FILE *stream);

/* Sets how much text the collector prints about its work. Each level includes the levels below it.
 *
 *   0  nothing
 *   1  the phases of each cycle, and late threads
 *   2  each allocation, each object that marking meets again, each reclaimed object
 *   3  addresses, each object that is marked and traced, each field
 *   4  each dereference, in `checked` builds only, because other builds inline it
 *
 * From level 2 on, every allocation takes the slow path. This begins at once on the calling thread,
 * and on other threads at their next slow path. Never fails. */
COEX_API void coex_gc_set_trace_level(int64_t level);

/* Sets the stream for traces and dumps. NULL means standard error, which is the default. */
COEX_API void coex_gc_set_output(FILE *stream);

#ifdef __cplusplus
}
#endif

#endif
