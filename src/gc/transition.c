/* See transition.h. */
#include "gc/transition.h"

#include "base/point.h"

void cx_transition_enter_self(struct cx_thread *self)
{
    if (self->native_depth++ != 0)
        return;
    for (;;) {
        CX_POINT("native-before-enter");
        cx_a32_store_seq(&self->mode, CX_MODE_NATIVE);
        CX_POINT("native-entered");
        if (cx_a64_load_seq(&self->requested) == cx_a64_load_relaxed(&self->acked))
            return;
        /* A request came in between. Take oneself back and answer; if the collector was quicker, it answers. */
        uint32_t native = CX_MODE_NATIVE;
        if (!cx_a32_cas_seq(&self->mode, &native, CX_MODE_MANAGED))
            return;
        cx_safepoint_return_self(self, self->words.top);
        cx_safepoint_poll_self(self);
    }
}

void cx_transition_leave_self(struct cx_thread *self)
{
    if (self->native_depth == 0)
        cx_fatal("coex_gc_leave_native: this thread is not in native mode");
    if (--self->native_depth != 0)
        return;
    uint32_t mode = CX_MODE_NATIVE;
    for (unsigned spins = 0; !cx_a32_cas_seq(&self->mode, &mode, CX_MODE_MANAGED); spins++) {
        mode = CX_MODE_NATIVE;
        cx_cpu_relax();
        if (spins > 1000)
            cx_os_sleep_ns(20000); /* the collector that claimed it has lost its core */
    }
    CX_POINT("native-left");
    /* The collector may have frozen the whole stack, this frame included. */
    cx_safepoint_return_self(self, self->words.top);
    cx_safepoint_poll_self(self);
}

bool cx_transition_answer_gct(struct cx_thread *thread)
{
    uint32_t mode = CX_MODE_NATIVE;
    if (cx_a32_load_seq(&thread->mode) != CX_MODE_NATIVE || !cx_a32_cas_seq(&thread->mode, &mode, CX_MODE_CLAIMED))
        return false;
    CX_POINT("native-claimed");
    /* The thread may have answered by itself, or have gone, between the look and the claim. */
    if (cx_a64_load_relaxed(&thread->requested) != cx_a64_load_acquire(&thread->acked))
        cx_safepoint_answer_for_gct(thread);
    cx_a32_store_seq(&thread->mode, CX_MODE_NATIVE);
    return true;
}
