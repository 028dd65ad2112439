/* The slow half of allocation: next handle word, next hole, next block, large objects, triggers, limits.
 *
 * INV-ALLOC-1  No allocation holds a handle bit or space for its object across a safepoint. The slow path answers requests first, with
 *              neither taken, then gets both and does not poll again before it returns: so the colour that the handle and the lines
 *              were taken with is the colour that the object is born with.
 *
 * At a hard limit (heap_limit, max_handles, the system's memory) the thread waits in native mode for a full cycle that starts after it
 * began to wait; for handles one more behind it, since they come back a cycle later. Then it asks the embedder's handler, once; then
 * the answer is the null handle. Inside the handler nothing waits and nobody is asked. */
#ifndef CX_GC_API_SLOW_ALLOCATION_H
#define CX_GC_API_SLOW_ALLOCATION_H

#include "gc/threads/thread_record.h"

/* 0 with *payload NULL and the error recorded when there is no room. */
coex_handle cx_alloc_slow_self(struct cx_thread *self, uint64_t size, uint32_t type_id, void **payload);

/* Waits in native mode for a cycle that starts after the call. */
void cx_alloc_collect_self(struct cx_thread *self);

#endif
