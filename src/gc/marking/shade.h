/* Shading: how a thread tells the markers that an object must be marked. Only markers set mark
 * bits (INV-MARK-1). A thread that shades a handle puts it into a buffer of its own. */
#ifndef CX_GC_MARKING_SHADE_H
#define CX_GC_MARKING_SHADE_H

#include "gc/world.h"

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

/* Shades what the words of a span of a stack refer to. */
void cx_shade_span(struct cx_thread *thread, const struct cx_shadow *shadow, struct cx_span span);

#endif
