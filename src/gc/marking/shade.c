/* See shade.h. Entered by mutators on their own records, and by the collector on records it has claimed. */
#include "gc/marking/shade.h"

/* Locals of frames that a longjmp or the thread's end has left may hold anything: what names no object is passed over. */
void cx_shade_span(struct cx_thread *thread, const struct cx_shadow *shadow, struct cx_span span)
{
    for (uint64_t i = span.from; i < span.to; i++) {
        coex_handle handle = cx_shadow_reference(shadow, i);
        if (handle != 0 && cx_handle_is_object(&cx_world.handles, handle)) cx_shade_self(thread, handle);
    }
}
