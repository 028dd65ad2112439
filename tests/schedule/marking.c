/*
 * Forced schedules of marking: when it may end, who helps, and what happens without memory for it.
 */
#include "support/schedule.h"

#include "gc/marking/marker.h"
#include "gc/cycle/pace.h"

static actor *a, *b, *c;

/* Field 0 of the shared cell: another cell, whose field 0 is a leaf. */
static void publish_cell_with_leaf(actor *self)
{
    actor_make(self, 0, NODE_LEAF, 0, 0);
    actor_make(self, 1, NODE_CELL, self->slot[0], 0);
    shared_store(0, self->slot[1]);
    self->slot[0] = self->slot[1] = 0;
}

static void start_with_cell(void)
{
    schedule_start();
    a = actor_start("a");
    b = actor_start("b");
    actor_do(a, step_make_shared);
    actor_do(a, publish_cell_with_leaf);
}

/* The cell goes to a's slot, its only edge is cut, and it is in a's buffer: grey, and not traced. */
static void take_cell(actor *self)
{
    self->slot[1] = shared_load(0);
    shared_store(0, 0);
}

/* The same with the leaf of that cell. */
static void take_leaf(actor *self)
{
    self->slot[0] = coex_gc_load(self->slot[1], node_cell_offset(0));
    coex_gc_store(self->slot[1], node_cell_offset(0), 0);
}

static void expect_leaf(actor *self) { actor_expect(self, 0); }

/* a hands its buffer over, and goes on: what it shades after that comes in the next round only. */
TEST(a_flush_that_brought_something_is_followed_by_another)
{
    NEEDS_POINTS();
    start_with_cell();
    hold *marking = hold_collector("mark-begins");
    hold *flush = hold_collector_after("handshake-published", 2);
    cycle_begin();
    run_to(marking);
    actor_do(a, take_cell);
    let_go(marking);
    hold_await(flush);
    let_go(flush);
    actor_do(a, step_answer);
    actor_do(a, take_leaf);
    run_out();
    actor_do(a, expect_leaf);
    schedule_end();
}

/* ---- those who help --------------------------------------------------------------------------------------- */

static void assist(actor *self)
{
    (void)self;
    cx_mark_assist_self(1000000, &cx_pace.assist_marked);
}

/* As above, but before the collector can trace what a has handed over, c has done it: nothing is left for the collector to mark,
 * and yet the round has brought something. */
TEST(what_others_mark_during_a_flush_counts_for_it)
{
    NEEDS_POINTS();
    start_with_cell();
    c = actor_start("c");
    hold *marking = hold_collector("mark-begins");
    hold *flush = hold_collector_after("handshake-published", 2);
    cycle_begin();
    run_to(marking);
    actor_do(c, assist); /* not yet allowed; the collector takes note */
    actor_do(a, take_cell);
    let_go(marking);
    hold_await(flush);
    let_go(flush);
    actor_do(a, step_answer);
    actor_do(a, take_leaf);
    actor_do(c, step_answer);
    uint64_t before = cx_a64_load_relaxed(&cx_pace.assist_marked);
    actor_do(c, assist);
    expect_eq(cx_a64_load_relaxed(&cx_pace.assist_marked), before + 1);
    run_out();
    actor_do(a, expect_leaf);
    schedule_end();
}

static struct cx_chunk *taken;

static void take_chunk(actor *self)
{
    (void)self;
    taken = cx_mark_queue_begin_assist(&cx_world.mark_queue);
    expect(taken != NULL);
}

static void give_chunk_back(actor *self)
{
    (void)self;
    cx_mark_queue_give_full(&cx_world.mark_queue, taken);
    cx_mark_queue_end_assist(&cx_world.mark_queue);
}

static void expect_cell(actor *self) { actor_expect(self, 1); }

/* Somebody has taken the last work off the list and has not begun with it: marking has not ended. */
TEST(marking_does_not_end_while_somebody_helps)
{
    NEEDS_POINTS();
    start_with_cell();
    hold *marking = hold_collector("mark-begins");
    hold *flush = hold_collector_after("handshake-published", 2);
    cycle_begin();
    run_to(marking);
    actor_do(a, take_cell);
    let_go(marking);
    hold_await(flush);
    hold *sweeping = hold_collector("sweep-begins");
    let_go(flush);
    actor_do(a, step_answer);
    actor_do(b, take_chunk);
    hold_expect_empty(sweeping);
    actor_do(b, give_chunk_back);
    run_to(sweeping);
    let_go(sweeping);
    run_out();
    actor_do(a, expect_cell);
    schedule_end();
}

/* ---- without memory --------------------------------------------------------------------------------------- */

enum { LEAVES = 3000 };

/* A wide tree, a long array and a chain, so that the mark stack would be needed in all its forms. */
static void make_forest(actor *self)
{
    static coex_handle leaves[LEAVES];
    coex_handle *keep = coex_gc_enter_frame(LEAVES);
    for (int i = 0; i < LEAVES; i++) leaves[i] = keep[i] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    self->id[0] = node_fresh_id(NODE_TUPLE);
    coex_handle tuple = node_make(self->id[0], leaves, LEAVES, 0);
    coex_gc_leave_frame(keep);
    self->slot[0] = tuple;
    for (int i = 0; i < LEAVES; i++) actor_make(self, 1, NODE_LINK, self->slot[1], i % 2 == 0 ? self->slot[0] : 0);
}

static void expect_forest(actor *self)
{
    actor_expect(self, 0);
    int length = 0;
    for (coex_handle at = self->slot[1]; at != 0; at = node_child(at, 0), length++) node_verify(at);
    expect_eq(length, LEAVES);
}

static void mark_with_chunks(uint64_t most)
{
    if (!test_is_checked()) return; /* points are there in checked builds only */
    schedule_start();
    cx_world.mark_queue.most_chunks = most;
    a = actor_start("a");
    b = actor_start("b");
    actor_do(b, make_forest);
    actor_do(a, step_make_shared);
    actor_do(a, publish_cell_with_leaf);
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(a, take_cell); /* a shade of the barrier's has no chunk either */
    let_go(marking);
    run_out();
    actor_do(a, expect_cell);
    actor_do(b, expect_forest);
    schedule_end();
}

TEST(everything_is_marked_without_any_memory_for_it) { mark_with_chunks(0); }
TEST(everything_is_marked_with_memory_for_one_chunk) { mark_with_chunks(1); }
TEST(everything_is_marked_with_memory_for_three_chunks) { mark_with_chunks(3); }

/* ---- the verifier ----------------------------------------------------------------------------------------- */

static coex_handle forgotten;

static void note_leaf(actor *self)
{
    actor_make(self, 0, NODE_LEAF, 0, 0);
    forgotten = self->slot[0];
    shared_store(2, self->slot[0]);
    self->slot[0] = 0;
}

static void forget_mark(void) { cx_a64_and_relaxed(&cx_world.handles.marked[forgotten / 64], ~((uint64_t)1 << forgotten % 64)); }

/* Takes the mark of a reachable object away behind the marker's back, in the verifier's own flush. */
static void miss_an_object(void *unused)
{
    (void)unused;
    schedule_start();
    a = actor_start("a");
    actor_do(a, step_make_shared);
    actor_do(a, note_leaf);
    at_collector_point("handshake-published", 3, forget_mark);
    cycle_begin();
    run_out();
}

TEST(the_verifier_names_the_edge_that_leads_to_an_unmarked_object)
{
    NEEDS_POINTS();
    expect_abort(miss_an_object, NULL, "INV-VERIFY-1 broken: cell (handle 1), offset 40, refers to leaf (handle 2)");
}
