/*
 * Forced schedules of the sweep.
 */
#include "support/schedule.h"

#include "gc/threads/thread_record.h"

static actor *a;

static void make_and_drop(actor *self)
{
    actor_make(self, 0, NODE_LEAF, 0, 0);
    self->handle = self->slot[0];
    self->slot[0] = 0;
}

/* Memory is released only when no handle leads there any more. */
TEST(no_line_is_released_before_the_last_dead_handle_is_swept)
{
    NEEDS_POINTS();
    schedule_start();
    a = actor_start("a");
    actor_do(a, make_and_drop);
    hold *lines = hold_collector("sweep-lines");
    cycle_begin();
    run_to(lines);
    expect(!coex_gc_is_handle(a->handle));
    expect(cx_bit_test(cx_world.handles.retired, cx_index_of(a->handle)));
    let_go(lines);
    run_out();
    schedule_end();
}

static bool met;

static void make_many(actor *self)
{
    for (int i = 0; i < 10000; i++) {
        coex_handle made = actor_make(self, 1, NODE_LEAF, 0, 0);
        met = met || cx_index_of(made) == cx_index_of(self->handle);
    }
}

/* One cycle takes the object, the next one the handle: until then a stale use of it can be told. */
TEST(the_handle_of_a_dead_object_is_given_out_again_one_cycle_later)
{
    NEEDS_POINTS();
    schedule_start();
    a = actor_start("a");
    actor_do(a, make_and_drop);
    cycle_whole();
    expect(!coex_gc_is_handle(a->handle));
    actor_do(a, make_many);
    expect(!met);
    cycle_whole();
    actor_do(a, make_many);
    expect(met);
    schedule_end();
}

static void make_garbage_and_keep_some(actor *self)
{
    for (int i = 0; i < 20000; i++) {
        actor_make(self, 1, NODE_LEAF, 0, 0);
        if (i % 64 == 0) actor_make(self, 0, NODE_LINK, self->slot[0], self->slot[1]);
    }
}

static void expect_kept(actor *self)
{
    for (coex_handle at = self->slot[0]; at != 0; at = node_child(at, 0)) node_verify(at);
}

/* A thread that needs space sweeps for itself while the collector is held in the middle. */
TEST(a_thread_that_allocates_beside_the_sweep_overwrites_nothing_that_lives)
{
    NEEDS_POINTS();
    schedule_start();
    a = actor_start("a");
    actor_do(a, make_garbage_and_keep_some);
    hold *lines = hold_collector("sweep-lines");
    cycle_begin();
    run_to(lines);
    actor_do(a, make_garbage_and_keep_some);
    actor_do(a, expect_kept);
    let_go(lines);
    run_out();
    actor_do(a, expect_kept);
    cycle_whole();
    actor_do(a, expect_kept);
    schedule_end();
}

static void make_a_few_words_of_handles(actor *self)
{
    for (int i = 0; i < 1000; i++) {
        coex_handle two[] = {self->slot[0], 0};
        self->slot[0] = node_make(node_fresh_id(NODE_LINK), two, 2, 0);
    }
}

static void verify_list(actor *self)
{
    for (coex_handle at = self->slot[0]; at != 0; at = node_child(at, 0)) node_verify(at);
}

/* INV-HANDLE-5: the sweep has passed these words when they were empty. */
TEST(words_that_are_claimed_beside_the_sweep_stay_in_reach_of_the_next_one)
{
    NEEDS_POINTS();
    schedule_start();
    a = actor_start("a");
    actor_do(a, make_and_drop);
    hold *sweeping = hold_collector("sweep-between-allocated-and-born");
    cycle_begin();
    run_to(sweeping);
    uint64_t top = cx_a64_load_relaxed(&cx_world.handles.top);
    actor_do(a, make_a_few_words_of_handles);
    expect(cx_a64_load_relaxed(&cx_world.handles.top) > top);
    let_go(sweeping);
    run_out();
    expect(cx_a64_load_relaxed(&cx_world.handles.top) > top);
    for (int i = 0; i < 2; i++) cycle_whole();
    actor_do(a, verify_list);
    schedule_end();
}
