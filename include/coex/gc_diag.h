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
    uint64_t sum;
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
    /* fragmentation. A free piece is a run of free lines in a block that is in use (as of the last sweep), an empty block of 32 KiB, or a run
       of free pages of the large-object space */
    uint64_t largest_free_block; /* bytes */
    uint64_t total_free_blocks;
    uint64_t fragmentation_ratio_percent; /* of the free space: what lies in pieces smaller than a block */
    /* nanoseconds */
    uint64_t last_gc_duration_ns;
    uint64_t last_mark_duration_ns;
    uint64_t last_sweep_duration_ns;
    uint64_t total_gc_time_ns;
    /* threads */
    uint64_t registered_thread_count;
    uint64_t max_shadow_stack_depth_seen; /* in words, as of the last root scans */

    /* beyond the classic fields */
    uint64_t overhead_bytes;        /* outside the heap: handle table, bitmaps and side tables of what is committed, without the two
                                       bitmaps (a bit per handle each) that are touched only when the collector runs out of memory for its
                                       queue, or while ephemerons wait for their keys */
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
    /* the allocation profile: 0 unless it came to a limit */
    uint64_t profile_other_samples;      /* samples that it counts under "(other sites)" */
    uint64_t profile_unfollowed_samples; /* samples that are missing from what it shows as in use */
} coex_gc_stats;

/* A consistent snapshot of what is counted exactly; what other threads count as they run is as fresh as their last slow path. */
COEX_API void coex_gc_get_stats(coex_gc_stats *stats);

/* ------------------------------------------------------------------- dumps
 *
 * Text to the stream of coex_gc_set_output, in the formats that docs/guide/debugging.md shows. Any thread, registered or not, at any time, but not
 * in a trace function, a describer or a namer. Those that are called a *visit* run inside a full cycle, which starts after the call, while the caller
 * waits in native mode: they are safepoints, they show what was reachable in that cycle, and other threads run on meanwhile. The text is
 * made in memory first; a visit needs as much as its text is long. */

/* Every field of coex_gc_stats, by name. */
COEX_API void coex_gc_dump_stats(void);

/* 0: size, used, free blocks, as of the last sweep. 1, a visit: and each object that was reachable when
 * the roots were read. 2: and its contents in hex. */
COEX_API void coex_gc_dump_heap(int32_t verbosity);

/* The table as it stands, by the numbers of its slots (handles; in `checked` builds without their generation); no visit. 0: how many handles are in use, free, retired. 1: and those in use. 2: and the others that are not
 * free, and where free ones would be found. Objects that are dead and not swept yet are in use. */
COEX_API void coex_gc_dump_handle_table(int32_t verbosity);

/* A visit: every thread's frames and what is in their slots, as the root scan read them, then suspended coroutine stacks. Null slots read
 * h=0, immediates i=<bits>. Threads that came after the root scan are not in it. */
COEX_API void coex_gc_dump_shadow_stacks(void);

/* One object: header, pins if it has any, and fields, references with the names that the type gave them. Not a safepoint; the handle
 * should be rooted, but any word may be passed. */
COEX_API void coex_gc_dump_object(coex_handle h);

/* A visit: do table, headers, references, bitmaps, objects and all stacks agree? 0, or the number of errors, each printed. */
COEX_API int32_t coex_gc_validate_heap(void);

/* A visit: the free space of the heap by the size of its pieces, and whether compaction is worth it. */
COEX_API void coex_gc_fragmentation_report(void);

/* A visit: prints a shortest path of references from a root (a thread's frame, a suspended stack, a global root, a pin, the queue of
 * finalizers) to the object, with types and names of fields, and returns true; or says why there is none (it is not an object, nothing
 * refers to it) and returns false. Roots of the caller are taken last, its top frame last of all, so the handle may be rooted or not: one
 * that is not may be gone afterwards. Needs 16 bytes for each handle that the table has room for at most. */
COEX_API bool coex_gc_why(coex_handle h);

/* A visit: writes the objects that were reachable, their references with names, sizes, and the roots, as a .heapsnapshot file, which Chrome
 * DevTools opens (Memory, Load). Ids are 2 * handle + 1 (in `checked` builds of the handle without its generation),
 * so that two snapshots can be compared. 0, or a code: COEX_GC_EINVAL (the file
 * can't be written: coex_gc_error_detail), COEX_GC_ENOMEM, COEX_GC_ESTATE. Needs
 * 28 bytes an object and 8 a reference while it is made; the collector is busy for the copying, the file is written behind it. */
COEX_API int coex_gc_write_heap_snapshot(const char *path);

/* How files are written (snapshots, traces, profiles). A regular file is written under a temporary name in the same
 * folder, coexgc-<pid>-<n>.tmp, and renamed when it is complete: a call that fails leaves an old file of that name as
 * it was. The new file has the mode of the old one, and its owner and group where the system permits. Other hard links
 * to the old file keep the old contents. A symbolic link is followed, and stays. Pipes, devices and /dev/stdout are
 * written in place; a call that waits for the reader of a pipe holds up no other thread and no cycle. */

/* Tells dumps what an object of a type says of itself: at most `room` bytes of text with its end, which they print in quotes (a string's
 * text). Runs on any thread, also on the collector beside running mutators: reads the payload, and other objects through coex_gc_peek, and
 * calls nothing else of the library. 0, COEX_GC_EINVAL, COEX_GC_ESTATE, or COEX_GC_ELIMIT: 64 types have one. */
typedef void (*coex_gc_describer)(const void *payload, uint64_t size, char *text, uint64_t room);
COEX_API int coex_gc_set_describer(uint32_t type_id, coex_gc_describer describe);
/* Tells dumps, coex_gc_why and snapshots what a reference is called that a trace function finds: the one at `offset` of a payload of `size`
 * bytes, rounded up to words. Nothing else is known then, as a snapshot is written when its objects may be gone. At most `room` bytes of text
 * with its end, of which 31 count; no text: it is told by its offset. Runs where describers do, and calls nothing of the library. Codes are those
 * of coex_gc_set_describer, and the 64 types are the same. */
typedef void (*coex_gc_namer)(uint64_t size, uint64_t offset, char *text, uint64_t room);
COEX_API int coex_gc_set_namer(uint32_t type_id, coex_gc_namer name);
/* For describers: payload and size of an object, or NULL and 0. */
COEX_API const void *coex_gc_peek(coex_handle h, uint64_t *size);

/* For a debugger to call in a process that stands still, and for nothing else: no lock, no cycle, no memory but fresh pages; the text goes
 * straight to standard error. In gdb: call coex_gc_debug_why(42). They are in every program, also if it is linked statically and does not
 * refer to them; a program that was stripped has them only in the shared library. */
COEX_API void coex_gc_debug_object(coex_handle h);
COEX_API void coex_gc_debug_stacks(void);
COEX_API bool coex_gc_debug_why(coex_handle h);

/* ------------------------------------------------------------------ traces */

/* Records events (cycles and their stages, handshakes, stops, heap counters, which types live and die, how full the blocks are) in a
 * ring of fixed size, which keeps the last 65,536 of them, until coex_gc_trace_stop writes them to `path` as trace-event JSON, for
 * Perfetto, chrome://tracing and `coexgc report`. Shutdown and exit stop it too. COEX_GC=events=<path> starts it at init. The file is not
 * touched before it is written: a program that crashes leaves none, and an old one stays. 0, or a code
 * with nothing started: the file can't be written, or a trace is being recorded already. After a fork the child records nothing. These
 * three are safepoints, and write in native mode. */
COEX_API int coex_gc_trace_start(const char *path);
COEX_API int coex_gc_trace_stop(void);
/* What the ring has now, to another file; recording goes on. */
COEX_API int coex_gc_trace_write(const char *path);
/* A number of the embedder's own for the same timeline. The name is a string that stays, a literal. Costs a load if no trace runs. */
COEX_API void coex_gc_trace_counter(const char *name, uint64_t value);

/* Takes a sampled allocation profile from now on: about one allocation in so many bytes, with its call stack and type; 0: 512 KiB. What
 * an earlier one has gathered is forgotten. The fast paths cost the same with and without. 0, or COEX_GC_EALREADY. */
COEX_API int coex_gc_profile_start(uint64_t interval_bytes);
COEX_API void coex_gc_profile_stop(void); /* what was gathered stays, and may be written */
/* Writes the profile for `go tool pprof`: objects and bytes allocated (-sample_index=alloc_space) and of those what no
 * cycle has found dead (the default; collect first for what is really alive), for each call stack. Frames of the library
 * are left out: the innermost frame is the function that called it. Each sample has its type as a label. A profile has
 * up to 262,144 sites (a call stack and a type each) and follows up to 4,194,304 sampled objects. Samples of further
 * sites are shown as "(other sites)"; the statistics and the comments of the file (`pprof -comments`) count them, and
 * those that are not followed. Returns 0 or a code. A safepoint; writes in native mode and without a lock. */
COEX_API int coex_gc_profile_write(const char *path);

/* Writes the statistics in Prometheus' text format (0.0.4), for an embedder that serves or stores them. Numbers are written as in the C
 * locale, like all text of the library. Returns 0, or a code if the stream has an error. */
COEX_API int coex_gc_write_prometheus(FILE *stream);

/* Text as things happen. 0: none. 1: the phases of each cycle. 2: and each allocation, each object that marking meets again, each that is
 * reclaimed. 3: and addresses, each object that is marked and traced, each field. 4: and each dereference, in `checked` builds (elsewhere it
 * is inlined and has no hook). From 2 on every allocation takes the slow path: on the calling thread at once, on others from their next
 * slow path on. */
COEX_API void coex_gc_set_trace_level(int64_t level);
COEX_API void coex_gc_set_output(FILE *stream); /* where traces and reports go; stderr at first */

#ifdef __cplusplus
}
#endif

#endif
