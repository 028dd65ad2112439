/*
 * Forced schedules of requests: a thread answers each of them once.
 */
#include "support/schedule.h"

#include "gc/threads/safepoint.h"

static actor *a, *b;

static void poll_directly(actor *self)
{
    (void)self;
    cx_safepoint_poll_self((struct cx_thread *)(void *)coex_gc_get_current_thread());
}

static void push_frames(actor *self)
{
    (void)self;
    for (int i = 0; i < 1000; i++) coex_gc_leave_frame(coex_gc_enter_frame(2));
}

/* b keeps the handshake from ending, whatever a does. */
TEST(a_thread_that_has_answered_does_nothing_more)
{
    NEEDS_POINTS();
    schedule_start();
    a = actor_start("a");
    b = actor_start("b");
    b->answers = false;
    hold *asked = hold_collector("handshake-published");
    cycle_begin();
    hold_await(asked);
    hold *answer = hold_actor(a, "answer-self");
    actor_begin(a, step_answer);
    hold_await(answer);
    let_go(answer);
    actor_await(a);
    let_go(asked);
    hold *again = hold_actor(a, "answer-self");
    actor_do(a, poll_directly);
    actor_do(a, push_frames);
    hold_expect_empty(again); /* and it polls all the time */
    let_go(again);
    b->answers = true;
    run_out();
    schedule_end();
}
