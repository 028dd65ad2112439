/* Thread records and the registry.
 *
 * Records are in an array that never moves and is never unmapped. The collector therefore reads it
 * without a lock. A thread that returns to a runtime that was shut down still finds the memory of
 * its record. Later threads reuse the record.
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
 * INV-THREAD-1  The words of a record belong to the owner in MANAGED, and to the collector in
 *               CLAIMED. No other thread touches them.
 * INV-THREAD-2  A request is the phase, and `requested` of every LIVE thread. It is published in
 *               one critical section of the registry lock, and threads come and go under this
 *               lock. A new thread therefore gets the request, or starts in the state that its
 *               answer leads to.
 * INV-THREAD-3  The collector never waits for answers while it holds the registry lock.
 * INV-THREAD-4  The unused handles of a thread that exits stay with its record, for the next
 *               thread that gets the record. When ROOTS is published, the handles of vacant
 *               records are abandoned, because no thread will answer for them. The sweep of this
 *               cycle finds them allocated, not marked and not born. A thread that exits later in
 *               the cycle without a ROOTS answer abandons its own handles. A thread that gave
 *               handles back at its exit would race with the sweep, which reads `allocated` and
 *               then `born`.
 * INV-THREAD-5  Threads register and exit under the life lock, so never while a shutdown frees the
 *               state of the runtime. A shutdown claims every native thread for good, then raises
 *               the generation, and then frees the state. A thread that leaves native mode during
 *               this has three cases. If it is faster than the claim, the shutdown finds it in
 *               MANAGED while all state is still present. If it is claimed, it waits until it sees
 *               the new generation. If the generation is new already, it sees that at once. The
 *               next runtime uses the same records, so a thread that has made its record MANAGED
 *               reads the generation once more (INV-SHUTDOWN-2).
 * INV-THREAD-6  After its ROOTS answer, a thread in native mode holds neither handles nor blocks.
 *               The collector gives this answer and gives them back. The thread is white until
 *               then, so none of the handles is born. The collector is not sweeping, so the race
 *               of INV-THREAD-4 does not occur.
 * INV-THREAD-7  A parent answers its pending request before it spawns a thread, and the new thread
 *               starts in the state of its parent. No thread therefore starts with a request
 *               pending, and the number of threads that owe an answer only falls. */
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
