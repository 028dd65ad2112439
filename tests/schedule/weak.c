/*
 * Forced schedules of weak references: a thread gets a target in the middle of the decision that it is dead.
 */
#include "support/schedule.h"

#include "gc/marking/weak_references.h"

static actor *a;

/* slot[1]: a weak reference to a leaf that nobody holds. */
static void make_weak(actor *self)
{
    actor_make(self, 0, NODE_LEAF, 0, 0);
    self->slot[1] = coex_gc_weak_new(self->slot[0]);
    expect(self->slot[1] != 0);
    self->slot[0] = 0;
}

static void get(actor *self) { self->slot[0] = coex_gc_weak_get(self->slot[1]); }
static void expect_leaf(actor *self) { actor_expect(self, 0); }

static void expect_nothing(actor *self)
{
    expect_eq(coex_gc_weak_get(self->slot[1]), 0);
    expect_eq(self->slot[0], 0);
}

static void start_with_weak(void)
{
    schedule_start();
    a = actor_start("a");
    actor_do(a, make_weak);
}

TEST(a_weak_reference_keeps_nothing_alive)
{
    NEEDS_POINTS();
    start_with_weak();
    cycle_whole();
    actor_do(a, expect_nothing);
    schedule_end();
}

TEST(what_a_weak_reference_gives_while_marking_survives)
{
    NEEDS_POINTS();
    start_with_weak();
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(a, get);
    let_go(marking);
    run_out();
    actor_do(a, expect_leaf);
    schedule_end();
}

/* a has answered the flush with nothing in its buffer, and then gets the target: it has said so, and has not shaded it yet, when the
 * collector would decide. */
TEST(nothing_is_decided_while_somebody_gets_a_target)
{
    NEEDS_POINTS();
    start_with_weak();
    hold *marking = hold_collector("mark-begins");
    hold *flush = hold_collector_after("handshake-published", 2);
    cycle_begin();
    run_to(marking);
    let_go(marking);
    hold_await(flush);
    actor_do(a, step_answer);
    hold *shading = hold_actor(a, "weak-between-swap-and-shade");
    actor_begin(a, get);
    hold_await(shading);
    hold *cleared = hold_collector("weak-cleared");
    let_go(flush);
    hold_expect_empty(cleared);
    let_go(shading);
    actor_await(a);
    run_to(cleared);
    let_go(cleared);
    run_out();
    actor_do(a, expect_leaf);
    schedule_end();
}

/* The decision has been made, and a, which had looked before, gets nothing. */
TEST(a_thread_that_looked_before_the_decision_gets_nothing_after_it)
{
    NEEDS_POINTS();
    start_with_weak();
    hold *marking = hold_collector("mark-begins");
    hold *flush = hold_collector_after("handshake-published", 2);
    cycle_begin();
    run_to(marking);
    let_go(marking);
    hold_await(flush);
    actor_do(a, step_answer);
    hold *looking = hold_actor(a, "weak-between-word-and-cell");
    actor_begin(a, get);
    hold_await(looking);
    hold *cleared = hold_collector("weak-cleared");
    let_go(flush);
    hold_await(cleared);
    let_go(looking);
    actor_await(a);
    let_go(cleared);
    run_out();
    actor_do(a, expect_nothing);
    schedule_end();
}
