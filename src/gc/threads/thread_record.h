/* Thread records, the registry, and the root of all state.
 *
 * A record lives in an array that never moves and is never unmapped, so the collector walks it without a lock, and a thread that comes
 * back to a runtime that was shut down finds its record's memory. A record is reused by later threads.
 *
 *             register, spawn_prepare                    (registry lock)
 *     VACANT --------------------------> LIVE --+
 *        ^                                      |
 *        +----- unregister, exit hook ----------+        (registry lock)
 *
 * mode, while LIVE:
 *
 *              leave_native (self, cas)        claim (collector, cas)
 *     MANAGED <------------------------ NATIVE <--------------------> CLAIMED
 *        |                               ^ ^        release (collector)
 *        +---- enter_native (self) ------+ +--- spawn_prepare
 *
 * INV-THREAD-1  The owner's words are touched by the owner in MANAGED, by the collector in CLAIMED, and by nobody else.
 * INV-THREAD-2  A request is published (phase, `requested` of every LIVE thread) in one critical section of the registry lock, and
 *               threads come and go only under it: so a thread that comes either gets the request or starts in the state that
 *               answering it leads to.
 *               A thread spawned by another takes over its parent's state; the parent answers first, so nobody ever starts with a
 *               request pending, and the threads that still owe an answer only get fewer.
 * INV-THREAD-3  The collector never waits for answers while it holds the registry lock.
 * INV-THREAD-4  Handles that a thread held when it left stay with its record, for the next thread that gets it. When ROOTS is
 *               published, the handles of vacant records are abandoned (nobody will answer for them), and this cycle's sweep
 *               finds them: allocated, not marked, not born. Giving them back one by one at the exit would race with the sweep,
 *               which reads `allocated` and `born` one after the other.
 * INV-THREAD-6  A thread in native mode holds neither handles nor blocks after its ROOTS answer: the collector, who gives that answer,
 *               gives them back. The thread is white until then, so none of the handles is born, and the collector is not sweeping,
 *               so that the race of INV-THREAD-4 does not arise.
 * INV-THREAD-5  A thread comes, by registration, and goes, by its own call or its exit, under the life lock: never while a shutdown takes
 *               things down. A shutdown claims every thread in native mode, for good, then raises the generation, and then takes things
 *               down. So a thread that comes back was quicker than that claim, and shutdown finds it in MANAGED while everything is
 *               still there; or it finds itself CLAIMED until it sees the generation raised; or it sees that at once. The
 *               next life uses the same records: who has made one managed looks at the generation once more. */
#ifndef CX_GC_THREADS_THREAD_RECORD_H
#define CX_GC_THREADS_THREAD_RECORD_H

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

/* What is known of a handle that names no object, for the end of a report. */
static inline const char *cx_thread_stale_text(coex_handle handle)
{
    return cx_stale_history_text(&cx_world.handles.stale, &cx_world.types, handle);
}

int cx_registry_init(struct cx_registry *registry);
void cx_registry_fini(struct cx_registry *registry);

static inline struct cx_thread *cx_registry_at(const struct cx_registry *registry, uint32_t number)
{
    return &((struct cx_thread *)(void *)registry->range.base)[number];
}

static inline bool cx_registry_has(const struct cx_registry *registry, const struct cx_thread *record)
{
    uint64_t offset = (uint64_t)((const char *)record - (const char *)registry->range.base);
    return offset % sizeof *record == 0 && offset / sizeof *record < cx_a32_load_acquire(&registry->count);
}

static inline bool cx_world_is_up(void) { return cx_a64_load_acquire(&cx_world.generation) % 2 == 1; }

/* This thread's record, or NULL. */
struct cx_thread *cx_thread_self(void);
/* It has a record, but of a runtime that is shut down by now. */
bool cx_thread_is_late(void);
/* The same for functions that need one: a thread without is told so, and that is the end. */
struct cx_thread *cx_thread_need_self(const char *function);
/* And it is in managed mode: what touches handles and slots needs that. Checked builds look. */
struct cx_thread *cx_thread_need_managed(const char *function);
/* Notes whether this thread could not be registered, for the line that cx_thread_need_self ends with. The error is recorded. */
void cx_thread_note_refused(bool refused);
/* Make `thread` this thread's record, or with NULL nobody's. */
void cx_thread_bind_self(struct cx_thread *thread);

/* A record for a thread that comes. NULL with the error recorded. With the registry lock held. Without a parent it starts in the
 * state that having answered the current phase's request leads to. With one it is in native mode, in its parent's state, and has the
 * argument in its first slot; the parent has nothing pending. */
struct cx_thread *cx_thread_create_locked(struct cx_thread *parent, coex_handle argument);
/* The thread goes. The caller owns its words and has cut its frozen range; buffer and blocks are handed over here. */
void cx_thread_destroy(struct cx_thread *thread);
uint64_t cx_thread_handles_held(const struct cx_thread *thread);
/* For the verifier: the objects of the handles that this record holds do not exist yet. False: none runs. */
bool cx_thread_note_held(const struct cx_thread *thread);
/* Gives back the handles and blocks that a claimed thread holds for later objects, before its ROOTS answer. INV-THREAD-6 */
void cx_thread_give_back_gct(struct cx_thread *thread);
/* INV-THREAD-4. With the registry lock. */
void cx_thread_abandon_handles_locked(struct cx_thread *vacant);

/* Only the calling thread is left, if it was registered (`self`, or NULL): its state is that between two cycles. */
void cx_registry_fork_child(struct cx_registry *registry, struct cx_thread *self);
/* After that, and without any lock: retires the pages of large objects that threads were about to make. INV-HEAP-5 */
void cx_registry_fork_drop_claims(struct cx_registry *registry);

static inline bool cx_thread_is_pending(const struct cx_thread *thread)
{
    return cx_a64_load_acquire(&thread->acked) != cx_a64_load_seq(&thread->requested);
}

/* Asks a thread for something, with the registry lock. Both stores come before the collector's look at `mode` (INV-NATIVE-4: seq), and
 * `limit` comes last (INV-POLL-1). */
static inline void cx_thread_request_gct(struct cx_thread *thread, uint64_t request)
{
    cx_a64_store_seq(&thread->requested, request);
    cx_aptr_store_release(cx_aptr_at(&thread->words.limit), NULL);
}

static inline enum cx_phase cx_phase_now(void) { return (enum cx_phase)cx_a32_load_relaxed(&cx_world.phase); }
const char *cx_phase_name(enum cx_phase phase);

#endif
