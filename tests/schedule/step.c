/*
 * Forced schedules of gc_threads=0: whoever steps has the collector's role for that long, and the next one goes on where he has stopped.
 */
#include "support/schedule.h"

static actor *a, *b;
static bool done;

static void start(void)
{
    coex_gc_config config = schedule_config();
    config.gc_threads = 0;
    schedule_start_with(&config);
    a = actor_start("a");
    b = actor_start("b");
    actor_do(a, step_make_shared);
}

static void ask(actor *self)
{
    (void)self;
    coex_gc_async();
}

static void step_once(actor *self)
{
    (void)self;
    done = coex_gc_step(0);
}

static void step_until_done(actor *self)
{
    (void)self;
    while (!coex_gc_step(1000)) {
    }
}

static void make(actor *self) { actor_make(self, 0, NODE_LEAF, 0, 0); }
static void look(actor *self) { actor_expect(self, 0); }

/* Its leaf goes into the shared cell, and another one comes out. */
static void swap_leaf(actor *self)
{
    coex_handle other = shared_load(0);
    shared_store(0, self->slot[0]);
    self->slot[0] = other;
    if (other == 0) make(self);
    self->id[0] = node_verify(self->slot[0]);
}

TEST(a_step_beside_another_one_does_nothing_and_does_not_wait)
{
    NEEDS_POINTS();
    static const char *const points[] = {"cycle-cleared", "mark-begins", "weak-decided", "sweep-begins"};
    start();
    actor_do(a, make);
    actor_do(b, make);
    for (unsigned i = 0; i < sizeof points / sizeof points[0]; i++) {
        hold *inside = hold_actor(a, points[i]);
        cycle_begin();
        actor_begin(a, step_until_done);
        run_to(inside);
        for (int steps = 0; steps < 10; steps++) {
            actor_do(b, step_once);
            expect(!done);
        }
        expect_eq(stats_now().collections_completed, i);
        let_go(inside);
        run_out();
        actor_await(a);
        actor_do(a, look);
        actor_do(b, look);
    }
    schedule_end();
}

/* A cycle that changes hands after every slice, while both move their objects to and fro. */
TEST(a_cycle_may_go_from_thread_to_thread_after_every_slice)
{
    NEEDS_POINTS();
    start();
    actor_do(a, make);
    actor_do(b, make);
    for (int cycle = 0; cycle < 20; cycle++) {
        actor_do(a, ask);
        done = false;
        for (int steps = 0; !done; steps++) {
            expect(steps < 10000);
            actor_do(steps % 2 ? a : b, step_once);
            actor_do(steps % 3 ? a : b, swap_leaf);
        }
        actor_do(a, look);
        actor_do(b, look);
    }
    expect(stats_now().collections_completed >= 20);
    schedule_end();
}

static void step_for_long(actor *self)
{
    (void)self;
    done = coex_gc_step(test_is_sanitized() ? 20000000 : 4000000);
}

/* Its own answer is missing again and again, and it has the role: it answers, and goes on. One step with time enough is a cycle. */
TEST(a_thread_that_steps_answers_its_own_requests)
{
    NEEDS_POINTS();
    start();
    actor_end(b);
    actor_do(a, make);
    actor_do(a, ask);
    actor_do(a, step_for_long);
    expect(done);
    actor_do(a, look);
    schedule_end();
}
