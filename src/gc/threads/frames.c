/* Frames of the shadow stack: the slow halves of entering and leaving, and the forms that are not inline. Entered by the owner of
 * the stack. A frame that is entered may be a safepoint; a frame that is left runs the return barrier and answers nothing. */
#define COEX_GC_NO_INLINE
#include "base/schedule_point.h"
#include "gc/marking/return_barrier.h"
#include "gc/threads/safepoint.h"

#include <coex/gc.h>
#include <string.h>

/* Room for a header and `slots` on the shadow stack, or the end: a program can't go on without its roots. */
static void frame_make_room(struct cx_thread *self, uint64_t slots)
{
    uint64_t words = slots < UINT32_MAX ? slots + 1 : UINT32_MAX;
    if (slots >= UINT32_MAX || !cx_shadow_make_room_self(self->shadow, self->words.top, words)) {
        uint64_t depth = 0;
        for (uint64_t at = (uint64_t)(self->words.top - self->shadow->base); at > 0; depth++)
            at = cx_shadow_frame_before(self->shadow, at);
        bool coroutine = self->shadow->range.base == NULL;
        cx_fatal("shadow stack overflow: thread %llu has %llu frames and needs %llu more words of "
                 "%s=%llu",
                 (unsigned long long)cx_a64_load_relaxed(&self->os_id),
                 (unsigned long long)depth - 1, (unsigned long long)slots + 1,
                 coroutine ? "its coroutine stack, slots" : "shadow_stack_slots",
                 coroutine ? (unsigned long long)(self->shadow->end - self->shadow->base)
                           : (unsigned long long)cx_world.config.shadow_stack_slots);
    }
    /* Unless a request has made it 0: that stays. */
    void *limit = cx_aptr_load_relaxed(cx_aptr_at(&self->words.limit));
    if (limit != NULL) cx_aptr_cas_acq_rel(cx_aptr_at(&self->words.limit), &limit, self->shadow->end);
}

static void frame_poll(struct cx_thread *self)
{
    if (cx_aptr_load_relaxed(cx_aptr_at(&self->words.limit)) == NULL) cx_safepoint_poll_self(self);
}

/* A frame without a look at the limit. */
static coex_handle *frame_push(struct cx_thread *self, uint64_t num_slots)
{
    coex_handle *header = self->words.top;
    *header = COEX_GC_FRAME_HEADER(num_slots);
    memset(header + 1, 0, num_slots * sizeof *header);
    self->words.top = header + num_slots + 1;
    return header + 1;
}

coex_handle *coex_gc_enter_frame_slow(uint64_t num_slots)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_enter_frame");
    frame_make_room(self, num_slots);
    frame_poll(self);
    return frame_push(self, num_slots);
}

coex_handle *coex_gc_enter_frame_with(uint64_t num_slots, uint64_t count, const coex_handle *handles)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_enter_frame_with");
    if (count > num_slots)
        cx_fatal("coex_gc_enter_frame_with: `count` is %llu, but the frame has only %llu slots",
                 (unsigned long long)count, (unsigned long long)num_slots);
    frame_make_room(self, num_slots);
    coex_handle *slots = frame_push(self, num_slots);
    for (uint64_t i = 0; i < count; i++) slots[i] = cx_world_value("coex_gc_enter_frame_with", handles[i]);
    frame_poll(self); /* the handles are rooted now */
    return slots;
}

coex_gc_frame *coex_gc_push_frame(uint64_t num_roots, coex_handle **locals)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_push_frame");
    frame_make_room(self, num_roots);
    coex_handle *slots = frame_push(self, num_roots);
    for (uint64_t i = 0; i < num_roots; i++) slots[i] = (uint64_t)(uintptr_t)locals[i] | COEX_GC_LOCAL_BIT;
    frame_poll(self);
    return (coex_gc_frame *)(void *)(slots - 1);
}

/* Makes `top` the top, after the return barrier for the frame that ends there. */
static void frame_return_to(struct cx_thread *self, coex_handle *top)
{
    cx_return_barrier_self(self, top);
    self->words.top = top;
}

void coex_gc_leave_frame_slow(coex_handle *slots) { frame_return_to(cx_thread_need_managed("coex_gc_leave_frame"), slots - 1); }

void coex_gc_pop_frame(coex_gc_frame *frame)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_pop_frame");
    coex_handle *header = (coex_handle *)(void *)frame;
    if (CX_CHECKED) {
        uint64_t top = cx_shadow_frame_before(self->shadow, (uint64_t)(self->words.top - self->shadow->base));
        if (top == 0 || header != &self->shadow->base[top])
            cx_fatal("coex_gc_pop_frame: `frame` %p is not the top frame", (void *)frame);
    }
    frame_return_to(self, header);
}

void coex_gc_unwind_to(coex_handle *slots)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_unwind_to");
    coex_handle *header = slots != NULL ? slots - 1 : NULL;
    if (header < self->shadow->base || header >= self->words.top || !cx_shadow_is_header(*header))
        cx_fatal("coex_gc_unwind_to: `slots` %p does not begin a frame of this thread",
                 (void *)slots);
    self->in_handler = false; /* if an out_of_memory handler is left by it */
    /* The frame ends where the next one begins: slots that coex_gc_root appended stay. */
    coex_handle *top = slots;
    while (top < self->words.top && !cx_shadow_is_header(*top)) top++;
    frame_return_to(self, top);
}

void coex_gc_root_slow(coex_handle value)
{
    struct cx_thread *self = cx_thread_need_managed("coex_gc_root");
    frame_make_room(self, 0); /* and no poll: the value is in no slot yet */
    *self->words.top++ = value;
}
