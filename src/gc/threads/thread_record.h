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

#include "gc/world.h"

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

#endif
