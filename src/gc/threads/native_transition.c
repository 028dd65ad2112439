/* See native_transition.h. */
#include "gc/threads/native_transition.h"

#include "base/schedule_point.h"
#include "gc/marking/return_barrier.h"

/* In the second slot of the frame that enter_managed makes: no program has that frame by chance. */
#define TRANSITION_MARK 0x0063616c6c6261u

/* After the mode was made MANAGED. A thread that slept through a shutdown and another init may have done that to the record of a thread of
 * the next life, which is in native mode and can't leave it meanwhile: INV-SHUTDOWN-2. True: it has, and it is put right. */
static bool transition_was_late(struct cx_thread *record)
{
    if (CX_LIKELY(!cx_thread_is_late())) return false;
    cx_a32_store_seq(&record->mode, CX_MODE_NATIVE);
    return true;
}

void cx_transition_enter_self(struct cx_thread *self)
{
    if (self->native_depth++ != 0) return;
    for (;;) {
        CX_SCHEDULE_POINT("native-before-enter");
        cx_a32_store_seq(&self->mode, CX_MODE_NATIVE);
        CX_SCHEDULE_POINT("native-entered");
        if (cx_a64_load_seq(&self->requested) == cx_a64_load_relaxed(&self->acked)) return;
        /* A request came in between. Take oneself back and answer; if the collector was quicker, it answers. */
        uint32_t native = CX_MODE_NATIVE;
        if (!cx_a32_cas_seq(&self->mode, &native, CX_MODE_MANAGED) || transition_was_late(self)) return;
        cx_return_barrier_self(self, self->words.top);
        cx_safepoint_poll_self(self);
    }
}

/* Waits while the collector has claimed it: for the freezing of its stack at most. What a shutdown has claimed is never released. */
bool cx_transition_take_back_self(struct cx_thread *self)
{
    uint32_t mode = CX_MODE_NATIVE;
    CX_SCHEDULE_POINT("native-before-leave");
    for (unsigned spins = 0; !cx_a32_cas_seq(&self->mode, &mode, CX_MODE_MANAGED); spins++) {
        if (cx_thread_is_late()) return false;
        mode = CX_MODE_NATIVE;
        cx_cpu_relax();
        if (spins > 1000) cx_os_sleep_ns(20000); /* the collector that claimed it has lost its core */
    }
    if (transition_was_late(self)) return false;
    self->native_depth = 0;
    return true;
}

static bool transition_come_back_self(struct cx_thread *self)
{
    if (!cx_transition_take_back_self(self)) return false;
    CX_SCHEDULE_POINT("native-left");
    /* The collector may have frozen the whole stack, this frame included. */
    cx_return_barrier_self(self, self->words.top);
    if (cx_a64_load_seq(&self->requested) != cx_a64_load_relaxed(&self->acked)) cx_safepoint_poll_self(self);
    return true;
}

void cx_transition_leave_self(struct cx_thread *self)
{
    if (self->native_depth == 0) cx_fatal("coex_gc_leave_native: this thread is not in native mode");
    if (self->native_depth > 1)
        self->native_depth--;
    else if (!transition_come_back_self(self))
        cx_fatal("coex_gc_leave_native: the runtime was shut down while this thread was in native mode");
}

/* The nesting of native mode that a callback interrupts is kept in a frame of its own, so that callbacks nest to any depth. */
static void transition_begin_callback(uint32_t depth)
{
    coex_handle *slots = coex_fast_enter_frame(2);
    slots[0] = COEX_IMMEDIATE(depth);
    slots[1] = COEX_IMMEDIATE(TRANSITION_MARK);
}

bool cx_transition_enter_managed_self(struct cx_thread *self)
{
    uint32_t depth = self->native_depth;
    if (depth != 0 && !transition_come_back_self(self)) return false;
    transition_begin_callback(depth);
    return true;
}

void cx_transition_attached_self(void) { transition_begin_callback(1); }

void cx_transition_leave_managed_self(struct cx_thread *self)
{
    coex_handle *slots = self->words.top - 2;
    if (self->native_depth != 0 || slots < self->shadow->base + 2 || slots[1] != COEX_IMMEDIATE(TRANSITION_MARK) ||
        slots[-1] != COEX_GC_FRAME_HEADER(2))
        cx_fatal("coex_gc_leave_managed: frames have not been left, or there is no matching "
                 "coex_gc_enter_managed");
    uint32_t depth = (uint32_t)coex_immediate_bits(*slots);
    coex_fast_leave_frame(slots);
    if (depth != 0) {
        cx_transition_enter_self(self);
        self->native_depth = depth;
    }
}

bool cx_transition_shut_out(struct cx_thread *thread)
{
    uint32_t mode = CX_MODE_NATIVE;
    return cx_a32_cas_seq(&thread->mode, &mode, CX_MODE_CLAIMED);
}

bool cx_transition_answer_gct(struct cx_thread *thread)
{
    uint32_t mode = CX_MODE_NATIVE;
    if (cx_a32_load_seq(&thread->mode) != CX_MODE_NATIVE || !cx_a32_cas_seq(&thread->mode, &mode, CX_MODE_CLAIMED)) return false;
    CX_SCHEDULE_POINT("native-claimed");
    /* The thread may have answered by itself, or have gone, between the look and the claim. */
    if (cx_a64_load_relaxed(&thread->requested) != cx_a64_load_acquire(&thread->acked)) cx_safepoint_answer_for_gct(thread);
    cx_a32_store_seq(&thread->mode, CX_MODE_NATIVE);
    return true;
}
