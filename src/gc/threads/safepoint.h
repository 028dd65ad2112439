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

#endif
