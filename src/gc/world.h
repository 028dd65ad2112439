/* The world: the root of all mutable state of the collector, and the thread records.
 *
 * The state of every module below this header is a member of struct cx_world. A module above it
 * keeps its state behind a pointer of its own type, or in a struct that its header declares.
 * threads/thread_record.h describes the use of thread records. */
#ifndef CX_GC_WORLD_H
#define CX_GC_WORLD_H

#include "base/lock.h"
#include "base/os.h"
#include "gc/event.h"
#include "gc/marking/mark_queue.h"
#include "gc/heap/handle_table.h"
#include "gc/heap/blocks.h"
#include "gc/options.h"
#include "gc/stacks/shadow_stack.h"
#include "gc/stacks/stack_pool.h"
#include "gc/debug/stress.h"
#include "gc/heap/tlab.h"
#include "gc/heap/type.h"

enum cx_phase { CX_PHASE_IDLE, CX_PHASE_SYNC, CX_PHASE_ROOTS, CX_PHASE_MARK, CX_PHASE_SWEEP };
enum cx_request { CX_REQUEST_NONE, CX_REQUEST_SYNC, CX_REQUEST_ROOTS, CX_REQUEST_FLUSH, CX_REQUEST_IDLE };
enum cx_thread_state { CX_THREAD_VACANT, CX_THREAD_LIVE };
enum cx_mode { CX_MODE_MANAGED, CX_MODE_NATIVE, CX_MODE_CLAIMED };

/* A request word: epoch << 3 | enum cx_request. */
static inline enum cx_request cx_request_kind(uint64_t request) { return (enum cx_request)(request & 7); }

struct cx_thread {
    /* --- written by the owner (INV-THREAD-1), but for words.limit --- */
    struct coex_gc_thread words;
    bool black;            /* colour: what it allocates is born */
    bool in_handler;       /* of out_of_memory: no allocation waits */
    uint32_t native_depth; /* nesting of enter_native */
    struct cx_chunk *buffer;
    struct cx_tlab tlab;
    struct cx_held held;
    uint64_t handles_taken; /* claimed so far, or found in its record, for the count of allocations */
    uint64_t granted;       /* handles that it has claimed, and large runs: its part of handles.claimed and heap.granted */
    struct cx_heap_claim claim;
    struct cx_stress stress;
    uint64_t assisted; /* value of tlab.taken up to which it has done its share of marking */

    /* --- exchanged between owner and collector --- */
    __attribute__((aligned(64))) cx_a64 requested; /* W: collector, seq, under the registry lock. R: owner seq */
    cx_a64 acked;                                  /* W: who answers, release. R: collector acquire */
    cx_a32 mode;                                   /* enum cx_mode. W: as above, seq. R: collector seq */
    struct cx_shadow *shadow;                      /* the stack it is on. Owner's, as its words are */
    struct cx_shadow *home;                        /* the one that came with the record */
    cx_a64 allocations;                            /* W: owner at slow paths, relaxed. R: statistics */
    cx_a64 bytes;                                  /* likewise */

    /* --- registry --- */
    __attribute__((aligned(64))) cx_a32 state; /* enum cx_thread_state. W: registry lock, release. R: collector acquire */
    uint32_t number;                           /* of the record */
    uint32_t next_vacant;
    bool spawned;  /* prepared by a parent, not attached yet. Under the lock */
    cx_a64 os_id;  /* as tools show it. W: who creates or attaches, relaxed. R: reports */
    cx_a64 warned; /* epoch for which it was named late. Collector only */
};

struct cx_registry {
    cx_mutex lock;
    cx_range range;  /* struct cx_thread[] */
    cx_a32 count;    /* records ever used. W: lock, release. R: acquire */
    uint32_t vacant; /* list of records, CX_NO_RECORD ends it */
    cx_a32 live;
    uint64_t gone_allocations; /* of threads that left; under the lock */
    uint64_t gone_bytes;
};

enum { CX_MAX_THREADS = 65536 };
#define CX_NO_RECORD UINT32_MAX

/* Everything hangs here. Higher modules keep their part behind a pointer of their own type. */
struct cx_collector;
struct cx_roots;

struct cx_world {
    cx_mutex life;     /* init, shutdown, fork, and threads that come and go; there before init and after shutdown */
    cx_a64 generation; /* odd while the runtime is up; each init counts on. W: life lock, seq. R: anyone */
    coex_gc_config config;
    struct cx_events events;
    const struct cx_observer *observer; /* or NULL. W: init, under the life lock. Constant while the runtime is up */
    struct cx_handles handles;
    struct cx_types types;
    struct cx_heap heap;
    struct cx_mark_queue mark_queue;
    struct cx_stacks stacks;
    struct cx_registry registry;
    cx_a32 phase;      /* enum cx_phase. W: collector, under the registry lock (MARK, SWEEP: without). R: relaxed by
                                  barriers: it can be stale only towards SYNC or ROOTS, which shades more */
    cx_a64 cycle;      /* cycles started. W: collector relaxed */
    cx_a32 collecting; /* a cycle is pending or runs. W: under the request lock. R: relaxed, a hint */
    cx_a32 watching;   /* some ephemeron waits for its key in this cycle. W: who waits, seq. R: markers */
    cx_aptr fresh;     /* verify only: a bitmap where threads note, in a flush, the handles they hold. See verifier.h */
    cx_a64 max_depth;  /* words of shadow stack seen at root scans; relaxed maximum */
    struct cx_roots *roots;
    struct cx_collector *collector;
};

extern struct cx_world cx_world;

static inline bool cx_world_is_up(void) { return cx_a64_load_acquire(&cx_world.generation) % 2 == 1; }

static inline enum cx_phase cx_phase_now(void) { return (enum cx_phase)cx_a32_load_relaxed(&cx_world.phase); }
const char *cx_phase_name(enum cx_phase phase);

/* What is known of a handle that names no object, for the end of a report. */
static inline const char *cx_thread_stale_text(coex_handle handle)
{
    return cx_stale_history_text(&cx_world.handles.stale, &cx_world.types, handle);
}

/* Returns `value`, a handle, immediate or null that is about to be kept. Checked builds abort if it is a
 * handle that names no object. */
static inline coex_handle cx_world_value(const char *function, coex_handle value)
{
    if (CX_CHECKED && cx_is_reference(value) && !cx_handle_is_object(&cx_world.handles, value))
        cx_fatal("%s: %s", function, cx_thread_stale_text(value));
    return value;
}

#endif
