/*
 * Forced schedules of channels: one who gives up is served at that moment, while threads are scanned one after the other.
 */
#include "support/schedule.h"

#include <coex/values.h>

static coex_handle line;
static actor *a, *b;

static void step_make_line(actor *self)
{
    (void)self;
    line = 0;
    expect(coex_gc_add_global_root(&line) == COEX_GC_OK);
    coex_gc_global_store(&line, coex_channel_new(0, true));
    expect(coex_gc_global_load(&line) != 0);
}

static void start_two(void)
{
    schedule_start();
    a = actor_start("a");
    b = actor_start("b");
    actor_do(a, step_make_line);
}

static void end_two(void)
{
    schedule_end();
    line = 0;
}

/* A leaf that is in a slot of its own only while it is sent. */
static void send_and_forget(actor *self)
{
    actor_make(self, 0, NODE_LEAF, 0, 0);
    expect(coex_channel_send_for(coex_gc_global_load(&line), self->slot[0], 1000000));
    self->slot[0] = 0;
    coex_gc_safepoint();
}

static void select_and_forget(actor *self)
{
    uint64_t chosen;
    actor_make(self, 0, NODE_LEAF, 0, 0);
    coex_channel_case cases[] = {coex_channel_case_receive(0), coex_channel_case_send(coex_gc_global_load(&line), self->slot[0])};
    expect(coex_channel_select(cases, 2, 1000000, &chosen));
    expect_eq(chosen, 1);
    self->slot[0] = 0;
    coex_gc_safepoint();
}

static void receive_it(actor *self)
{
    uint64_t word;
    expect(coex_channel_try_receive(coex_gc_global_load(&line), &word));
    self->slot[1] = word;
}

static void expect_it(actor *self) { node_expect(self->slot[1], a->id[0]); }

/* The sender has given up and is managed, its roots are not read; the receiver's are. It gets the leaf, and the sender drops it before it
 * is read itself. INV-CHANNEL-2 */
static void taken_from_one_who_gives_up(actor_step send)
{
    start_two();
    hold *sync = hold_collector("handshake-published"), *roots = hold_collector_after("handshake-published", 1);
    cycle_begin();
    run_to(sync);
    hold *gives_up = hold_actor(a, "channel-gives-up");
    actor_begin(a, send);
    hold_await(gives_up);
    actor_do(b, step_answer);
    let_go(sync);
    hold_await(roots);
    actor_do(b, step_answer);
    actor_do(b, receive_it);
    let_go(gives_up);
    actor_await(a);
    let_go(roots);
    run_out();
    actor_do(b, expect_it);
    end_two();
}

TEST(what_is_taken_from_a_sender_that_gives_up_lives)
{
    NEEDS_POINTS();
    taken_from_one_who_gives_up(send_and_forget);
}

TEST(what_is_taken_from_a_select_that_gives_up_lives)
{
    NEEDS_POINTS();
    taken_from_one_who_gives_up(select_and_forget);
}

/* Between the claim and the signal the wait is not its owner's. INV-CHANNEL-4 */
static void waits_for_its_signal(actor_step send)
{
    start_two();
    hold *gives_up = hold_actor(a, "channel-gives-up"), *signals = hold_actor(b, "channel-before-signal");
    actor_begin(a, send);
    hold_await(gives_up);
    actor_begin(b, receive_it);
    hold_await(signals);
    let_go(gives_up);
    actor_expect_waiting(a);
    let_go(signals);
    actor_await(b);
    actor_await(a);
    actor_do(b, expect_it);
    end_two();
}

TEST(one_who_gives_up_when_it_is_served_waits_for_the_signal)
{
    NEEDS_POINTS();
    waits_for_its_signal(send_and_forget);
}

TEST(a_select_that_gives_up_when_it_is_served_waits_for_the_signal)
{
    NEEDS_POINTS();
    waits_for_its_signal(select_and_forget);
}
