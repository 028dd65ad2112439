/* Safepoints: how a thread answers the requests of the collector.
 *
 * The request. Under the registry lock the collector stores `requested` and then sets `limit` to
 * 0. The next poll of the owner finds the limit 0 and takes the slow path. The owner restores the
 * limit by an exchange and then reads `requested`:
 *
 *     collector                         owner
 *     requested = e                     exchange(limit, end)      acq_rel
 *     limit = 0          release        e = requested
 *
 * If the exchange comes after the store of the collector, it reads the 0 and therefore sees e. If
 * the exchange comes earlier, the 0 stays, and the next poll takes the slow path again. In the
 * opposite order, a request that arrives between the two steps would be lost (INV-POLL-1).
 *
 * The answer. The thread answers by itself. In native mode the collector answers for the thread:
 *
 *     SYNC   barrier on
 *     ROOTS  shade the top frames and freeze the other frames. Held handles become born, and held
 *            lines become HELD. Colour black, buffer handed over.
 *            For a native thread: freeze all frames, and give back what the thread holds
 *            (INV-THREAD-6)
 *     FLUSH  buffer handed over
 *     IDLE   barrier off, colour white, buffer handed over
 *
 * The store to `acked` releases the changes of the answer. The collector acquires them when it
 * reads `acked`. */
#ifndef CX_GC_THREADS_SAFEPOINT_H
#define CX_GC_THREADS_SAFEPOINT_H

#include "gc/threads/thread_record.h"

enum { CX_ROOTS_NOW = 256 }; /* words of whole frames that a thread scans itself at ROOTS; the top frame always */

/* Answers whatever is pending. */
void cx_safepoint_poll_self(struct cx_thread *self);
/* The collector, for a thread it has claimed. */
void cx_safepoint_answer_for_gct(struct cx_thread *thread);

#endif
