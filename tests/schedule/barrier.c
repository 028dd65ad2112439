/*
 * Forced schedules of the write barrier: each test is the interleaving in which leaving one step of it out loses an object.
 *
 * In all of them an actor that has been scanned (it is black: nobody will look at its roots again in this cycle) takes a
 * reference out of an object that the marker has not reached, and the only edge that led there is cut behind it.
 */
#include "support/schedule.h"

#include "gc/marking/write_barrier.h"

static actor *a, *b;

/* So that its next objects take the fast path, which answers nothing. */
static void warm_up(actor *self) { actor_make(self, 2, NODE_LEAF, 0, 0); }

/* An actor publishes a leaf in field 0 of the shared cell and forgets it. */
static void publish_leaf(actor *self)
{
    shared_store(0, actor_make(self, 0, NODE_LEAF, 0, 0));
    self->slot[0] = 0;
}

static void begin_with_leaf(void)
{
    schedule_start();
    a = actor_start("a");
    b = actor_start("b");
    actor_do(b, warm_up);
    actor_do(a, step_make_shared);
    actor_do(a, publish_leaf);
}

/* b takes the leaf that a has published. */
static void take_leaf(actor *self)
{
    self->slot[0] = shared_load(0);
    self->id[0] = a->id[0];
}

static void cut_by_store(actor *self) { (void)self, shared_store(0, 0); }

static void cut_by_exchange(actor *self)
{
    (void)self;
    coex_gc_exchange(shared_cell(), node_cell_offset(0), 0);
}

static void cut_by_compare_exchange(actor *self)
{
    coex_handle expected = shared_load(0);
    expect(coex_gc_compare_exchange(shared_cell(), node_cell_offset(0), &expected, 0));
    (void)self;
}

static void expect_slot_0(actor *self) { actor_expect(self, 0); }

/* All are scanned and nothing is marked: b takes the leaf, a cuts the edge. */
static void cut_before_the_marker_comes(actor_step cut)
{
    begin_with_leaf();
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(b, take_leaf);
    actor_do(a, cut);
    let_go(marking);
    run_out();
    actor_do(b, expect_slot_0);
    schedule_end();
}

TEST(a_reference_that_a_store_overwrites_is_marked)
{
    NEEDS_POINTS();
    cut_before_the_marker_comes(cut_by_store);
}

TEST(a_reference_that_an_exchange_overwrites_is_marked)
{
    NEEDS_POINTS();
    cut_before_the_marker_comes(cut_by_exchange);
}

TEST(a_reference_that_a_compare_exchange_overwrites_is_marked)
{
    NEEDS_POINTS();
    cut_before_the_marker_comes(cut_by_compare_exchange);
}

static void drop_shared_root(actor *self)
{
    (void)self;
    coex_gc_global_store(&shared_root, 0);
}

static void take_cell(actor *self)
{
    self->slot[0] = shared_cell();
    self->id[0] = node_id(self->slot[0]);
}

TEST(a_reference_that_a_global_store_overwrites_is_marked)
{
    NEEDS_POINTS();
    begin_with_leaf();
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(b, take_cell);
    actor_do(a, drop_shared_root);
    let_go(marking);
    run_out();
    actor_do(b, expect_slot_0);
    schedule_end();
}

static void remove_shared_root(actor *self)
{
    (void)self;
    coex_gc_remove_global_root(&shared_root);
}

TEST(what_a_removed_global_root_held_is_marked)
{
    NEEDS_POINTS();
    begin_with_leaf();
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(b, take_cell);
    actor_do(a, remove_shared_root);
    let_go(marking);
    run_out();
    actor_do(b, expect_slot_0);
    schedule_end();
}

/* a has not been scanned when b has: a's barrier must be on already, or what b took is lost. */
TEST(every_barrier_is_on_before_the_first_thread_is_scanned)
{
    NEEDS_POINTS();
    begin_with_leaf();
    let_go(cycle_to_roots(NULL));
    actor_do(b, step_answer);
    actor_do(b, take_leaf);
    actor_do(a, cut_by_store);
    run_out();
    actor_do(b, expect_slot_0);
    schedule_end();
}

/* ---- insertion -------------------------------------------------------------------------------------------- */

static void make_cell_and_publish(actor *self) { shared_store(1, actor_make(self, 1, NODE_CELL, 0, 0)); }
static void take_published_cell(actor *self) { self->slot[1] = shared_load(1); }

static void unpublish(actor *self)
{
    (void)self;
    shared_store(1, 0);
}

/* b, not scanned yet: a new leaf into a's cell, and nothing of it left in a slot. */
static void put_new_leaf_into_cell(actor *self)
{
    coex_gc_store(self->slot[1], node_cell_offset(2), actor_make(self, 0, NODE_LEAF, 0, 0));
    self->slot[0] = self->slot[1] = 0;
}

static void expect_leaf_in_cell(actor *self)
{
    actor_expect(self, 1);
    node_expect(coex_gc_load(self->slot[1], node_cell_offset(2)), b->id[0]);
}

/* a is scanned, and its cell was born after that: nobody has to trace it. b is not scanned, allocates white, and puts what it
 * has made where no scan will find it. */
TEST(a_reference_that_is_written_while_some_threads_are_not_scanned_is_marked)
{
    NEEDS_POINTS();
    begin_with_leaf();
    let_go(cycle_to_roots(NULL));
    actor_do(a, step_answer);
    actor_do(a, make_cell_and_publish);
    actor_do(b, take_published_cell);
    actor_do(a, unpublish);
    actor_do(b, put_new_leaf_into_cell);
    run_out();
    actor_do(a, expect_leaf_in_cell);
    schedule_end();
}

/* ---- two threads, one field ------------------------------------------------------------------------------- */

/* The leaf of its warming up: no allocation, no safepoint. */
static void publish_another_leaf(actor *self)
{
    shared_store(0, self->slot[2]);
    self->slot[2] = 0;
}

static void take_own_leaf_again(actor *self) { self->slot[2] = shared_load(0); }
static void expect_slot_2(actor *self) { actor_expect(self, 2); }

/* a's store has seen the old value and shaded it; before it is done, b, whose barrier is still off, stores another one there,
 * lets itself be scanned, and takes it back. What a's store replaces is not what it saw. */
static void store_over_a_store(actor_step cut)
{
    begin_with_leaf();
    b->answers = false;
    hold *sync = hold_collector("handshake-published");
    hold *roots = hold_collector_after("handshake-published", 1);
    cycle_begin();
    hold_await(sync);
    let_go(sync);
    actor_do(a, step_answer);
    hold *storing = hold_actor(a, "barrier-before-store");
    actor_begin(a, cut);
    hold_await(storing);
    actor_do(b, publish_another_leaf);
    b->answers = true;
    run_to(roots);
    let_go(roots);
    actor_do(b, step_answer);
    actor_do(b, take_own_leaf_again);
    let_go(storing);
    actor_await(a);
    run_out();
    actor_do(b, expect_slot_2);
    schedule_end();
}

TEST(a_store_shades_what_it_really_replaces)
{
    NEEDS_POINTS();
    store_over_a_store(cut_by_store);
}

TEST(an_exchange_shades_what_it_really_replaces)
{
    NEEDS_POINTS();
    store_over_a_store(cut_by_exchange);
}

/* ---- endless work ----------------------------------------------------------------------------------------- */

static coex_handle cell;

static void feed_by_store(actor *self)
{
    (void)self;
    shared_store(3, node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0));
}

static void feed_by_slot(actor *self)
{
    coex_handle fresh = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    coex_gc_set_slot(&self->slot[3], fresh);
}

static void feed_by_root(actor *self)
{
    (void)self;
    cell = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    expect(coex_gc_add_global_root(&cell) == COEX_GC_OK);
    coex_gc_remove_global_root(&cell);
}

/* In each round, before it answers, the actor makes an object and overwrites the one before. That is no work for the marker, or
 * the rounds would never end. */
static void feed_each_flush(actor_step feed)
{
    schedule_start();
    a = actor_start("a");
    actor_do(a, step_make_shared);
    hold *marking = hold_collector("mark-begins");
    hold *asked = hold_collector_after("handshake-published", 2);
    cycle_begin();
    run_to(marking);
    actor_do(a, feed);
    let_go(marking);
    for (int rounds = 0;; rounds++) {
        hold_await(asked);
        if (cx_aptr_load_acquire(&cx_world.fresh) != NULL) break; /* marking has ended, and the verifier asks */
        expect(rounds < 3);
        hold *again = hold_collector("handshake-published");
        actor_do(a, feed);
        let_go(asked);
        actor_do(a, step_answer);
        asked = again;
    }
    let_go(asked);
    run_out();
    schedule_end();
}

TEST(overwriting_fields_for_ever_does_not_keep_a_cycle_from_ending)
{
    NEEDS_POINTS();
    feed_each_flush(feed_by_store);
}

TEST(overwriting_slots_for_ever_does_not_keep_a_cycle_from_ending)
{
    NEEDS_POINTS();
    feed_each_flush(feed_by_slot);
}

TEST(adding_and_removing_roots_for_ever_does_not_keep_a_cycle_from_ending)
{
    NEEDS_POINTS();
    feed_each_flush(feed_by_root);
}
