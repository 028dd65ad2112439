/*
 * Forced schedules of coroutine stacks: suspended, scanned or not, and gone on with by threads that are scanned or not.
 */
#include "support/schedule.h"

#include "gc/threads/thread_record.h"

static actor *a, *b;
static coex_gc_stack *fiber;
static coex_handle *fiber_slot; /* of its only frame */
static uint64_t fiber_id;

enum { WORDS = 1000 };

/* A leaf on a stack of its own, which is then left. */
static void make_fiber(actor *self)
{
    (void)self;
    fiber = coex_gc_stack_create(WORDS);
    expect(fiber != NULL);
    coex_gc_stack *home = coex_gc_stack_switch(fiber);
    fiber_slot = coex_gc_enter_frame(2);
    fiber_id = node_fresh_id(NODE_LEAF);
    fiber_slot[0] = node_make(fiber_id, NULL, 0, 0);
    coex_gc_stack_switch(home);
}

static void start_with_fiber(void)
{
    schedule_start();
    a = actor_start("a");
    b = actor_start("b");
    actor_do(b, step_make_shared); /* and b's next objects take the fast path */
    actor_do(a, make_fiber);
}

static void expect_on_fiber(actor *self)
{
    (void)self;
    coex_gc_stack *home = coex_gc_stack_switch(fiber);
    node_expect(fiber_slot[0], fiber_id);
    coex_gc_stack_switch(home);
}

TEST(a_suspended_stack_keeps_what_its_frames_name)
{
    NEEDS_POINTS();
    start_with_fiber();
    cycle_whole();
    cycle_whole();
    actor_do(b, expect_on_fiber);
    schedule_end();
}

/* The leaf goes from its slot to a new frame of the thread's own stack, where nobody looks in this cycle. */
static void take_from_fiber(actor *self)
{
    coex_gc_stack *home = coex_gc_stack_switch(fiber);
    self->handle = fiber_slot[0];
    fiber_slot[0] = 0;
    coex_gc_stack_switch(home);
    self->slot[0] = self->handle;
    self->id[0] = fiber_id;
}

static void expect_slot_0(actor *self) { actor_expect(self, 0); }

TEST(a_suspended_stack_is_scanned_before_a_scanned_thread_goes_on_with_it)
{
    NEEDS_POINTS();
    start_with_fiber();
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(b, take_from_fiber);
    let_go(marking);
    run_out();
    actor_do(b, expect_slot_0);
    schedule_end();
}

TEST(a_thread_waits_while_the_collector_freezes_the_stack_it_wants)
{
    NEEDS_POINTS();
    start_with_fiber();
    hold *freezing = hold_collector("stack-claimed");
    cycle_begin();
    run_to(freezing);
    actor_begin(b, take_from_fiber);
    actor_expect_waiting(b);
    let_go(freezing);
    actor_await(b);
    run_out();
    actor_do(b, expect_slot_0);
    schedule_end();
}

static void visit_fiber(actor *self)
{
    (void)self;
    coex_gc_stack_switch(coex_gc_stack_switch(fiber));
}

/* b, not scanned, allocates white and leaves it on the stack. */
static void put_leaf_on_fiber(actor *self)
{
    (void)self;
    coex_gc_stack *home = coex_gc_stack_switch(fiber);
    fiber_id = node_fresh_id(NODE_LEAF);
    fiber_slot[0] = node_make(fiber_id, NULL, 0, 0);
    coex_gc_stack_switch(home);
}

/* a, scanned, has been on the stack: it is done for this cycle. Then b goes there. */
TEST(what_an_unscanned_thread_puts_on_a_stack_that_was_scanned_survives)
{
    NEEDS_POINTS();
    start_with_fiber();
    let_go(cycle_to_roots(NULL));
    actor_do(a, step_answer);
    actor_do(a, visit_fiber);
    actor_do(b, put_leaf_on_fiber);
    run_out();
    actor_do(a, expect_on_fiber);
    schedule_end();
}

static coex_gc_stack *home_of_b;

/* The same, and b is on that stack when it answers. */
static void put_leaf_on_fiber_and_stay(actor *self)
{
    (void)self;
    home_of_b = coex_gc_stack_switch(fiber);
    fiber_id = node_fresh_id(NODE_LEAF);
    fiber_slot[0] = node_make(fiber_id, NULL, 0, 0);
}

static void expect_and_go_home(actor *self)
{
    (void)self;
    node_expect(fiber_slot[0], fiber_id);
    coex_gc_stack_switch(home_of_b);
}

TEST(what_a_thread_holds_that_is_scanned_on_a_stack_that_was_scanned_survives)
{
    NEEDS_POINTS();
    start_with_fiber();
    let_go(cycle_to_roots(NULL));
    actor_do(a, step_answer);
    actor_do(a, visit_fiber);
    actor_do(b, put_leaf_on_fiber_and_stay);
    run_out();
    actor_do(b, expect_and_go_home);
    schedule_end();
}

static void publish_cell(actor *self) { shared_store(1, actor_make(self, 1, NODE_CELL, 0, 0)); }

static void unpublish_cell(actor *self)
{
    (void)self;
    shared_store(1, 0);
}

/* Somebody has got the leaf out of the stack, and it is in an object that nobody has to trace; then the stack is destroyed. */
static void store_and_destroy(actor *self)
{
    (void)self;
    coex_gc_store(shared_load(1), node_cell_offset(0), fiber_slot[0]);
    coex_gc_stack_destroy(fiber);
}

static void expect_in_cell(actor *self)
{
    actor_expect(self, 1);
    node_expect(coex_gc_load(self->slot[1], node_cell_offset(0)), fiber_id);
}

TEST(what_a_destroyed_stack_held_survives)
{
    NEEDS_POINTS();
    start_with_fiber();
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(b, publish_cell);
    actor_do(a, store_and_destroy);
    actor_do(b, unpublish_cell);
    let_go(marking);
    run_out();
    actor_do(b, expect_in_cell);
    schedule_end();
}
