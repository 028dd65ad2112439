/* See return_barrier.h. */
#include "gc/marking/return_barrier.h"

#include "base/schedule_point.h"
#include "gc/stacks/root_record.h"

/* Takes the frame, and some more below it, out of the frozen range and scans them, and everything above that is popped with it: a callee
 * may have put an argument that only a frozen slot keeps alive into an object, without a shade (INV-SHADOW-4). */
void cx_return_barrier_self(struct cx_thread *self, const coex_handle *top)
{
    if (self->words.watermark == NULL || top > self->words.watermark) return;
    struct cx_shadow *shadow = self->shadow;
    uint64_t end = (uint64_t)(top - shadow->base);
    uint64_t from = cx_shadow_frame_before(shadow, end);
    while (from > 0 && end - from < CX_SHADOW_BITE) from = cx_shadow_frame_before(shadow, from);
    CX_SCHEDULE_POINT("return-before-cut");
    cx_return_barrier_thaw_self(self, from, end);
}

void cx_return_barrier_thaw_self(struct cx_thread *self, uint64_t from, uint64_t end)
{
    struct cx_shadow *shadow = self->shadow;
    struct cx_span mine = cx_shadow_cut_self(shadow, from);
    cx_shadow_check_span(shadow, (struct cx_span){mine.from, mine.to < end ? mine.to : end}, true,
                         cx_a64_load_relaxed(&self->os_id));
    cx_root_record_fill(shadow, mine);
    cx_shade_span(self, shadow, mine);
    uint64_t left = cx_shadow_frozen_end(shadow);
    self->words.watermark = left != 0 ? shadow->base + left : NULL;
}

void cx_return_barrier_drop_self(struct cx_thread *self, struct cx_shadow *stack)
{
    struct cx_span mine = cx_shadow_cut_self(stack, 0);
    cx_root_record_fill(stack, mine);
    cx_shade_span(self, stack, mine);
}
