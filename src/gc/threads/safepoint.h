/* Safepoints: how a thread answers the collector's requests, and the return barrier.
 *
 * The request. Under the registry lock the collector stores `requested`, then `limit` = 0. The owner's next poll finds limit 0 and
 * comes here; it puts the limit back by an exchange, and then reads `requested`:
 *
 *     collector                         owner
 *     requested = e                     exchange(limit, end)      acq_rel
 *     limit = 0          release        e = requested
 *
 * If the exchange comes after the collector's store, it reads its 0 and so sees e. If it comes before, the 0 stays and the next poll
 * comes here again. Read the other way round (requested first), a request that arrives in between would be swallowed (INV-POLL-1).
 *
 * The answer, by the thread itself or by the collector for one in native mode:
 *
 *     SYNC   barrier on
 *     ROOTS  shade the top frames, freeze the rest; what is held becomes born and HELD; colour black; buffer handed over.
 *            For a native thread: freeze everything, give back what is held (INV-THREAD-6)
 *     FLUSH  buffer handed over
 *     IDLE   barrier off, colour white; buffer handed over
 *
 * What the answer changed is released by the store to `acked`, and acquired by the collector that reads it. */
#ifndef CX_GC_THREADS_SAFEPOINT_H
#define CX_GC_THREADS_SAFEPOINT_H

#include "gc/threads/thread_record.h"

enum { CX_ROOTS_NOW = 256 }; /* words of whole frames that a thread scans itself at ROOTS; the top frame always */

/* Answers whatever is pending. */
void cx_safepoint_poll_self(struct cx_thread *self);
/* The collector, for a thread it has claimed. */
void cx_safepoint_answer_for_gct(struct cx_thread *thread);

/* About to return into the frame that ends at `top` (and to use it): if it is frozen, scan it first. Answers nothing. */
void cx_safepoint_return_self(struct cx_thread *self, const coex_handle *top);

/* The owner gets the words from `from` on out of the frozen range, and scans those that nobody has. Words from `end` on belong to frames
 * that are left for good. */
void cx_safepoint_thaw_self(struct cx_thread *self, uint64_t from, uint64_t end);
/* A stack that nobody returns to: its frozen words that nobody has read are read. */
void cx_safepoint_drop_self(struct cx_thread *self, struct cx_shadow *stack);

/* If it is not marked, put it into the thread's buffer. Tracing enters born objects too, so born does not matter here. A handle may be
 * queued again and again while nobody marks (a thread is late): when many chunks wait already, the bitmap takes it, which has it once. */
static inline void cx_shade_self(struct cx_thread *self, coex_handle handle)
{
    if (cx_handle_is_marked(&cx_world.handles, handle)) return;
    if (CX_UNLIKELY(self->buffer != NULL && self->buffer->count == CX_CHUNK_ENTRIES &&
                    cx_a64_load_relaxed(&cx_world.mark_queue.full_count) >= CX_CHUNKS_WAITING))
        cx_mark_queue_spill(&cx_world.mark_queue, handle);
    else
        cx_mark_queue_push(&cx_world.mark_queue, &self->buffer, handle);
}

#endif
