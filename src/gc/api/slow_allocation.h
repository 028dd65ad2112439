/* The slow path of allocation: the next handle word, hole or block, large objects, triggers and
 * limits.
 *
 * INV-ALLOC-1  No allocation holds a handle bit or space for its object across a safepoint. The
 *              slow path first answers requests, while it holds neither. Then it takes both, and
 *              does not poll again before it returns. The handle and the lines are therefore taken
 *              in the colour that the object is born with.
 *
 * At a hard limit (heap_limit, max_handles, the memory of the system) the thread waits in native
 * mode for a full cycle that starts after the wait began. For handles it waits for one more cycle,
 * because they become free a cycle later. If memory was freed and other threads took it, the
 * thread stands in line (limit.h). If that fails, it calls the handler of the embedder once, and
 * tries once more if the handler returns true. If there is still no room, the allocation returns
 * the null handle. Inside the handler no allocation waits, and the handler is not called again. */
#ifndef CX_GC_API_SLOW_ALLOCATION_H
#define CX_GC_API_SLOW_ALLOCATION_H

#include "gc/threads/thread_record.h"

/* 0 with *payload NULL and the error recorded when there is no room. */
coex_handle cx_alloc_slow_self(struct cx_thread *self, uint64_t size, uint32_t type_id, void **payload);

/* Waits in native mode for a cycle that starts after the call. */
void cx_alloc_collect_self(struct cx_thread *self);

#endif
