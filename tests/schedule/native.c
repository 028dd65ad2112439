/*
 * Forced schedules of native mode: the collector answers for a thread that is away, and the thread comes back in the middle.
 */
#include "support/schedule.h"

#include "gc/threads/thread_record.h"

static actor *a;

static void make_leaf_and_go(actor *self)
{
    actor_make(self, 0, NODE_LEAF, 0, 0);
    coex_gc_enter_native();
}

static void go(actor *self)
{
    (void)self;
    coex_gc_enter_native();
}

/* Back, and the leaf goes from its slot, which was scanned or will be, to a new frame, which is not. */
static void come_back_and_move(actor *self)
{
    coex_gc_leave_native();
    self->handle = self->slot[0];
    self->slot[0] = 0;
    coex_handle *above = coex_gc_enter_frame(1);
    above[0] = self->handle;
}

static void expect_moved(actor *self) { node_expect(self->handle, self->id[0]); }

static void start_native(void)
{
    schedule_start();
    a = actor_start("a");
    actor_do(a, make_leaf_and_go);
    a->answers = false;
}

TEST(the_top_frame_of_a_native_thread_is_scanned_before_it_goes_on)
{
    NEEDS_POINTS();
    start_native();
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    hold_await(marking);
    actor_do(a, come_back_and_move);
    a->answers = true;
    let_go(marking);
    run_out();
    actor_do(a, expect_moved);
    schedule_end();
}

static void come_back(actor *self)
{
    (void)self;
    coex_gc_leave_native();
}

static void expect_slot_0(actor *self) { actor_expect(self, 0); }

TEST(a_native_thread_keeps_what_its_frames_name)
{
    NEEDS_POINTS();
    start_native();
    cycle_whole();
    cycle_whole();
    actor_do(a, come_back);
    actor_do(a, expect_slot_0);
    schedule_end();
}

/* The collector has claimed the thread and is about to answer ROOTS for it. */
TEST(a_native_thread_does_not_come_back_while_the_collector_answers_for_it)
{
    NEEDS_POINTS();
    start_native();
    hold *answering = hold_collector_after("answer-for-native", 1);
    cycle_begin();
    hold_await(answering);
    actor_begin(a, come_back_and_move);
    actor_expect_waiting(a);
    let_go(answering);
    actor_await(a);
    a->answers = true;
    run_out();
    actor_do(a, expect_moved);
    schedule_end();
}

/* The collector has looked, and the thread comes back before it can be claimed: it answers by itself. */
TEST(a_thread_that_comes_back_answers_what_was_asked_meanwhile)
{
    NEEDS_POINTS();
    start_native();
    hold *asked = hold_collector("handshake-published");
    cycle_begin();
    hold_await(asked);
    hold *back = hold_actor(a, "native-left");
    actor_begin(a, come_back);
    hold_await(back);
    hold *roots = hold_collector("handshake-published"); /* not before a has answered */
    let_go(asked);
    hold_expect_empty(roots);
    let_go(back);
    actor_await(a);
    a->answers = true;
    run_to(roots);
    let_go(roots);
    run_out();
    schedule_end();
}

static void start_managed(void)
{
    schedule_start();
    a = actor_start("a");
}

/* A request arrives while the thread is on its way into native mode, on either side of the store that says so. */
static void ask_at(const char *point)
{
    start_managed();
    hold *entering = hold_actor(a, point);
    actor_begin(a, go);
    hold_await(entering);
    hold *asked = hold_collector("handshake-published");
    cycle_begin();
    hold_await(asked);
    let_go(asked);
    let_go(entering);
    actor_await(a);
    a->answers = false;
    run_out();
    actor_do(a, come_back);
    schedule_end();
}

TEST(a_request_that_comes_before_the_mode_changes_is_answered)
{
    NEEDS_POINTS();
    ask_at("native-before-enter");
}

TEST(a_request_that_comes_after_the_mode_has_changed_is_answered)
{
    NEEDS_POINTS();
    ask_at("native-entered");
}

TEST(nested_native_mode_ends_with_the_outermost_leave)
{
    NEEDS_POINTS();
    start_native();
    actor_do(a, go);
    cycle_whole();
    actor_do(a, come_back);
    cycle_whole(); /* still answered for */
    actor_do(a, come_back);
    actor_do(a, expect_slot_0);
    a->answers = true;
    cycle_whole();
    schedule_end();
}
