/* See coroutine.h. Entered by mutators, each on its own record. */
#include "gc/threads/coroutine.h"

#include "base/schedule_point.h"
#include "gc/marking/return_barrier.h"
#include "gc/stacks/root_record.h"

static uint64_t coroutine_cycle(void) { return cx_a64_load_relaxed(&cx_world.cycle); }

/* Checked builds: coex_gc_set_slot looks through the frozen words of suspended stacks, under this lock.
 * The stack is not one of them any more; a look that has begun ends before its words change. */
static void coroutine_await_notes(void)
{
    if (!CX_CHECKED) return;
    cx_mutex_lock(&cx_world.stacks.lock);
    cx_mutex_unlock(&cx_world.stacks.lock);
}

/* Makes a suspended stack this thread's. Waits while the collector freezes it. */
static void coroutine_claim(struct cx_shadow *to, const char *function)
{
    uint32_t state = CX_SHADOW_SUSPENDED;
    for (unsigned spins = 0; !cx_a32_cas_acq_rel(&to->state, &state, CX_SHADOW_ACTIVE); spins++) {
        if (state != CX_SHADOW_CLAIMED)
            cx_fatal("%s: stack %p must be suspended, but a thread uses it or it was destroyed",
                     function, (void *)to);
        state = CX_SHADOW_SUSPENDED;
        cx_cpu_relax();
        if (spins > 1000) cx_os_sleep_ns(20000); /* the collector has lost its core */
    }
    coroutine_await_notes();
}

/* The stack that is left: INV-STACK-1. What is frozen stays frozen (INV-STACK-4). */
static void coroutine_leave(struct cx_thread *self, struct cx_shadow *from)
{
    from->top = self->words.top;
    if (!self->black) cx_a64_store_relaxed(&from->done, 0);
    CX_CHECK("INV-STACK-1", !self->black || cx_a64_load_relaxed(&from->done) == coroutine_cycle());
    cx_a32_store_release(&from->state, CX_SHADOW_SUSPENDED);
}

/* The stack that is gone on with: INV-STACK-2. */
static void coroutine_enter(struct cx_thread *self, struct cx_shadow *to)
{
    self->shadow = to;
    self->words.top = to->top;
    cx_a64_store_relaxed(&to->thread, cx_a64_load_relaxed(&self->os_id));
    if (self->black && cx_a64_load_relaxed(&to->done) != coroutine_cycle()) {
        cx_root_record_freeze(to, (uint64_t)(to->top - to->base));
        cx_a64_store_release(&to->done, coroutine_cycle());
    }
    CX_SCHEDULE_POINT("stack-entered");
    uint64_t frozen = cx_shadow_frozen_end(to);
    self->words.watermark = frozen != 0 ? to->base + frozen : NULL;
    cx_return_barrier_self(self, self->words.top);
    /* Unless a request has made it 0: that stays. */
    void *limit = cx_aptr_load_relaxed(cx_aptr_at(&self->words.limit));
    if (limit != NULL) cx_aptr_cas_acq_rel(cx_aptr_at(&self->words.limit), &limit, to->end);
}

struct cx_shadow *cx_coroutine_switch_self(struct cx_thread *self, struct cx_shadow *to)
{
    struct cx_shadow *from = self->shadow;
    if (to == from) return from;
    if (to->range.base != NULL && to != self->home)
        cx_fatal("coex_gc_stack_switch: stack %p is the own stack of another thread", (void *)to);
    coroutine_claim(to, "coex_gc_stack_switch");
    coroutine_leave(self, from);
    coroutine_enter(self, to);
    return from;
}

/* A new stack is empty: done, for a black thread. */
struct cx_shadow *cx_coroutine_create_self(struct cx_thread *self, uint64_t slots)
{
    return cx_stack_create(&cx_world.stacks, slots, self->black ? coroutine_cycle() : 0);
}

/* What a claimed stack holds is dropped, but read first, for the reason of INV-SHADOW-4: somebody may have got something out of it, be it
 * this thread before it went black. */
static void coroutine_drop(struct cx_thread *self, struct cx_shadow *stack)
{
    if (self->black && cx_a64_load_relaxed(&stack->done) != coroutine_cycle())
        cx_root_record_freeze(stack, (uint64_t)(stack->top - stack->base));
    cx_return_barrier_drop_self(self, stack);
}

void cx_coroutine_destroy_self(struct cx_thread *self, struct cx_shadow *stack)
{
    coroutine_claim(stack, "coex_gc_stack_destroy");
    coroutine_drop(self, stack);
    cx_stack_destroy(&cx_world.stacks, stack);
}

void cx_coroutine_go_home_self(struct cx_thread *self)
{
    struct cx_shadow *last = self->shadow;
    cx_return_barrier_drop_self(self, last);
    if (last == self->home) return;
    coroutine_claim(self->home, "thread exit");
    coroutine_drop(self, self->home);
    self->shadow = self->home;
    cx_stack_destroy(&cx_world.stacks, last);
}
