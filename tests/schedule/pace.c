/*
 * Forced schedules of the pace: a thread that allocates while the collector makes no progress pays for it.
 */
#include "support/schedule.h"

#include "gc/cycle/pace.h"

enum { GOAL = 1 << 20 };

static uint64_t taken_before;

/* Garbage of about so many bytes. */
static void allocate(uint64_t bytes)
{
    for (uint64_t made = 0; made < bytes; made += 1024) expect(node_make(node_fresh_id(NODE_BLOB), NULL, 0, 124) != 0);
}

static void allocate_the_goal(actor *self)
{
    (void)self;
    allocate(GOAL);
}

static void allocate_half_the_goal(actor *self)
{
    (void)self;
    allocate(GOAL / 2);
}

static uint64_t pieces(void) { return cx_a64_load_relaxed(&cx_pace.rests) + cx_a64_load_relaxed(&cx_pace.assists); }

/* The collector stands still in MARK, with nothing to share; the goal is as if the heap was empty. */
TEST(a_thread_far_past_the_goal_pays_though_there_is_nothing_to_mark)
{
    NEEDS_POINTS();
    schedule_start();
    actor *a = actor_start("a");
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    taken_before = cx_a64_load_relaxed(&cx_world.heap.taken);
    cx_a64_store_relaxed(&cx_pace.untaken, taken_before);
    cx_a64_store_relaxed(&cx_pace.goal, GOAL);
    actor_do(a, allocate_the_goal);
    expect_eq(pieces(), 0); /* up to one and a half times the goal it costs nothing */
    actor_do(a, allocate_the_goal);
    uint64_t first = pieces();
    expect(first >= 16);
    actor_do(a, allocate_half_the_goal);
    uint64_t second = pieces() - first;
    expect(second >= 4 * first); /* and the further past it, the more */
    let_go(marking);
    run_out();
    schedule_end();
}

/* No cycle runs: nobody pays. */
TEST(a_thread_pays_nothing_between_two_cycles)
{
    NEEDS_POINTS();
    schedule_start();
    actor *a = actor_start("a");
    cx_a64_store_relaxed(&cx_pace.untaken, cx_a64_load_relaxed(&cx_world.heap.taken));
    cx_a64_store_relaxed(&cx_pace.goal, GOAL);
    for (int i = 0; i < 3; i++) actor_do(a, allocate_the_goal);
    expect_eq(pieces(), 0);
    schedule_end();
}
