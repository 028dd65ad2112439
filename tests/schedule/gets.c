/*
 * Forced schedules of weak references, ephemerons and finalizers: a get at every point of the decision.
 *
 * In each test `a` holds a weak reference in slot 0 whose target nobody holds. Slot 1 gets what the get returns.
 */
#include "support/schedule.h"

#include "gc/cycle/pace.h"
#include "gc/marking/marker.h"

#include <unistd.h>

static actor *a, *b;

static void make_weak(actor *self)
{
    actor_make(self, 1, NODE_LEAF, 0, 0);
    self->slot[0] = coex_gc_weak_new(self->slot[1]);
    self->slot[1] = 0;
}

static void get(actor *self) { self->slot[1] = coex_gc_weak_get(self->slot[0]); }
static void expect_target(actor *self) { actor_expect(self, 1); }

static void expect_nothing(actor *self) { expect_eq(self->slot[1], 0); }

static void expect_cleared(actor *self)
{
    expect_eq(self->slot[1], 0);
    expect_eq(coex_gc_weak_get(self->slot[0]), 0);
}

/* Whatever the get has given, it is as good as any other object, and the reference agrees. */
static void expect_consistent(actor *self)
{
    if (self->slot[1] != 0) actor_expect(self, 1);
    expect_eq(coex_gc_weak_get(self->slot[0]), self->slot[1]);
}

static void start(actor_step make)
{
    schedule_start();
    a = actor_start("a");
    b = actor_start("b");
    actor_do(a, step_make_shared);
    actor_do(a, make);
}

static void finish(actor_step look)
{
    actor_do(a, look);
    a->answers = b->answers = true;
    cycle_whole();
    actor_do(a, look);
    schedule_end();
}

/* ---- before the decision ------------------------------------------------------------------------------------------ */

/* Its colour is white: what it gets is in a slot, and will be scanned. */
TEST(a_get_of_a_thread_that_is_not_scanned_yet_keeps_its_target)
{
    NEEDS_POINTS();
    start(make_weak);
    hold *roots = cycle_to_roots(NULL);
    actor_do(a, get);
    let_go(roots);
    run_out();
    finish(expect_target);
}

TEST(a_get_while_marking_runs_keeps_its_target)
{
    NEEDS_POINTS();
    start(make_weak);
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(a, get);
    let_go(marking);
    run_out();
    finish(expect_target);
}

/* INV-WEAK-2: `a` has answered the flush, `b` has not. The get's shade is in a buffer that this round does not ask for any more. */
TEST(a_get_after_the_answer_to_the_last_flush_keeps_its_target)
{
    NEEDS_POINTS();
    start(make_weak);
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    hold *flush = hold_collector("handshake-published");
    let_go(marking);
    hold_await(flush);
    actor_do(a, step_answer);
    a->answers = b->answers = false;
    let_go(flush);
    actor_do(a, get);
    hold *again = hold_collector("handshake-published"); /* there must be another round */
    actor_do(b, step_answer);
    hold_await(again);
    let_go(again);
    a->answers = b->answers = true;
    run_out();
    finish(expect_target);
}

/* INV-WEAK-1: the swap is done, the shade is not; the round that began before can't be the last. */
TEST(a_get_between_swap_and_shade_keeps_its_target)
{
    NEEDS_POINTS();
    start(make_weak);
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    hold *flush = hold_collector("handshake-published");
    let_go(marking);
    hold_await(flush);
    actor_do(a, step_answer);
    hold *between = hold_actor(a, "weak-between-swap-and-shade");
    actor_begin(a, get);
    hold_await(between);
    let_go(flush);
    actor_do(b, step_answer); /* the round is complete, and brings nothing */
    usleep(20000);
    let_go(between);
    actor_await(a);
    run_out();
    finish(expect_target);
}

/* ---- over the decision ---------------------------------------------------------------------------------------------- */

/* Leaves the collector where both actors have answered the flush that will be the last, if nobody gets anything. */
static hold *run_to_last_flush(void)
{
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    hold *flush = hold_collector("handshake-published");
    let_go(marking);
    hold_await(flush);
    actor_do(a, step_answer);
    actor_do(b, step_answer);
    return flush;
}

/* The get has read the word, and the cell (or not yet), when the decision falls. */
static void decide_at(const char *point)
{
    start(make_weak);
    hold *flush = run_to_last_flush();
    hold *getting = hold_actor(a, point);
    actor_begin(a, get);
    hold_await(getting);
    hold *decided = hold_collector("weak-decided");
    let_go(flush);
    hold_await(decided);
    let_go(getting);
    actor_await(a); /* it does not wait for the collector */
    actor_do(a, expect_nothing);
    let_go(decided);
    run_out();
    finish(expect_cleared);
}

TEST(a_get_that_meets_the_decision_before_its_cell_returns_null)
{
    NEEDS_POINTS();
    decide_at("weak-between-word-and-cell");
}

TEST(a_get_that_meets_the_decision_before_its_swap_returns_null)
{
    NEEDS_POINTS();
    decide_at("weak-before-swap");
}

/* The other way round: the swap comes first, and the decision does not fall. */
TEST(a_get_that_comes_before_the_decision_puts_it_off)
{
    NEEDS_POINTS();
    start(make_weak);
    hold *flush = run_to_last_flush();
    actor_do(a, get);
    hold *decided = hold_collector("weak-decided");
    let_go(flush);
    run_to(decided);
    actor_do(a, expect_target);
    let_go(decided);
    run_out();
    finish(expect_target);
}

/* ---- after it ---------------------------------------------------------------------------------------------------------- */

static void make_two(actor *self)
{
    make_weak(self);
    actor_make(self, 2, NODE_LEAF, 0, 0);
    self->slot[3] = coex_gc_weak_new(self->slot[2]);
}

static void get_both(actor *self)
{
    get(self);
    expect_eq(coex_gc_weak_get(self->slot[3]), self->slot[2]);
}

/* No cell is cleared yet, but what is dead is dead for all. */
TEST(after_the_decision_the_dead_read_null_and_the_living_do_not)
{
    NEEDS_POINTS();
    start(make_two);
    hold *flush = run_to_last_flush();
    hold *decided = hold_collector("weak-decided");
    let_go(flush);
    hold_await(decided);
    actor_do(a, get_both);
    actor_do(a, expect_nothing);
    hold *cleared = hold_collector("weak-cleared");
    let_go(decided);
    hold_await(cleared);
    actor_do(a, get_both);
    actor_do(a, expect_nothing);
    let_go(cleared);
    hold *sweeping = hold_collector("sweep-begins");
    run_to(sweeping);
    actor_do(a, get_both);
    actor_do(a, expect_nothing);
    let_go(sweeping);
    run_out();
    finish(expect_cleared);
}

/* A reference that is made after the decision, to something alive. */
static void make_late(actor *self)
{
    self->slot[4] = coex_gc_weak_new(self->slot[2]);
    actor_make(self, 5, NODE_LEAF, 0, 0);
    self->slot[6] = coex_gc_weak_new(self->slot[5]);
}

static void expect_late(actor *self)
{
    expect_eq(coex_gc_weak_get(self->slot[4]), self->slot[2]);
    expect_eq(coex_gc_weak_get(self->slot[6]), self->slot[5]);
    actor_expect(self, 2);
    actor_expect(self, 5);
}

TEST(a_weak_reference_that_is_made_after_the_decision_works)
{
    NEEDS_POINTS();
    start(make_two);
    hold *flush = run_to_last_flush();
    hold *decided = hold_collector("weak-decided");
    let_go(flush);
    hold_await(decided);
    actor_do(a, make_late);
    let_go(decided);
    run_out();
    finish(expect_late);
}

/* ---- two threads, one target ---------------------------------------------------------------------------------------------- */

static void share_weak(actor *self)
{
    make_weak(self);
    shared_store(0, self->slot[0]);
}

static void get_shared(actor *self) { self->slot[1] = coex_gc_weak_get(shared_load(0)); }

/* `a` decides to give it to itself after the decision, `b` had it before: both have the same answer in the end. */
TEST(two_threads_get_the_same_answer)
{
    NEEDS_POINTS();
    start(share_weak);
    hold *flush = run_to_last_flush();
    hold *between = hold_actor(b, "weak-between-swap-and-shade");
    actor_begin(b, get_shared);
    hold_await(between);
    actor_do(a, get);
    actor_do(a, expect_target);
    let_go(between);
    actor_await(b);
    let_go(flush);
    run_out();
    b->id[1] = a->id[1];
    actor_do(b, expect_target);
    finish(expect_consistent);
}

/* ---- ephemerons -------------------------------------------------------------------------------------------------------------- */

/* slot 0: the ephemeron; its key is weakly reachable through slot 2, its value through nothing else. */
static void make_ephemeron(actor *self)
{
    actor_make(self, 3, NODE_LEAF, 0, 0);
    actor_make(self, 1, NODE_LEAF, 0, 0);
    self->slot[0] = coex_gc_ephemeron_new(self->slot[3], self->slot[1]);
    self->slot[1] = self->slot[3] = 0;
}

static void get_value(actor *self) { self->slot[1] = coex_gc_ephemeron_value(self->slot[0]); }

static void expect_no_value(actor *self)
{
    expect_eq(self->slot[1], 0);
    expect_eq(coex_gc_ephemeron_key(self->slot[0]), 0);
    expect_eq(coex_gc_ephemeron_value(self->slot[0]), 0);
}

/* Its key is marked because of the get, and the value with it. */
TEST(the_value_that_a_get_has_returned_lives_though_its_key_was_white)
{
    NEEDS_POINTS();
    start(make_ephemeron);
    hold *flush = run_to_last_flush();
    actor_do(a, get_value);
    let_go(flush);
    run_out();
    finish(expect_target);
}

TEST(a_value_is_null_from_the_decision_on)
{
    NEEDS_POINTS();
    start(make_ephemeron);
    hold *flush = run_to_last_flush();
    hold *getting = hold_actor(a, "weak-before-swap");
    actor_begin(a, get_value);
    hold_await(getting);
    hold *cleared = hold_collector("weak-cleared");
    let_go(flush);
    hold_await(cleared);
    let_go(getting);
    actor_await(a);
    actor_do(a, expect_nothing);
    let_go(cleared);
    run_out();
    finish(expect_no_value);
}

/* INV-WEAK-4: the collector has found the key white and is about to wait for it; meanwhile a thread that helps marks the key, and sees
 * nobody waiting. */

/* slot 0: the ephemeron; slot 2: a weak reference to its key. */
static void make_watched(actor *self)
{
    actor_make(self, 3, NODE_LEAF, 0, 0);
    actor_make(self, 1, NODE_LEAF, 0, 0);
    self->slot[0] = coex_gc_ephemeron_new(self->slot[3], self->slot[1]);
    self->slot[2] = coex_gc_weak_new(self->slot[3]);
    self->slot[1] = self->slot[3] = 0;
}

static bool help(void) { return cx_mark_assist_self(UINT64_MAX / 2, &cx_pace.assist_marked); }

static void offer_help(actor *self)
{
    (void)self;
    help(); /* not yet, but the collector knows */
}

static void get_key_and_mark_it(actor *self)
{
    struct cx_thread *record = (struct cx_thread *)(void *)coex_gc_get_current_thread();
    self->slot[3] = coex_gc_weak_get(self->slot[2]);
    expect(self->slot[3] != 0);
    cx_mark_queue_hand_over(&cx_world.mark_queue, &record->buffer);
    expect(help());
    expect(cx_handle_is_marked(&cx_world.handles, self->slot[3]));
}

static void expect_both(actor *self)
{
    actor_expect(self, 3);
    expect_eq(coex_gc_ephemeron_key(self->slot[0]), self->slot[3]);
    self->slot[1] = coex_gc_ephemeron_value(self->slot[0]);
    actor_expect(self, 1);
}

TEST(a_key_that_is_marked_while_its_ephemeron_begins_to_wait_is_noticed)
{
    NEEDS_POINTS();
    start(make_watched);
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(a, offer_help);
    hold *waiting = hold_collector("ephemeron-before-wait");
    let_go(marking);
    hold_await(waiting);
    actor_do(a, get_key_and_mark_it);
    let_go(waiting);
    run_out();
    finish(expect_both);
}

/* ---- finalizers ----------------------------------------------------------------------------------------------------------------- */

static uint32_t dying;
static coex_handle last_words;

/* Takes what it had out of the object. */
static void take_out(coex_handle object, void *context)
{
    (void)context;
    last_words = coex_gc_exchange(object, 0, 0);
}

static void make_dying(actor *self)
{
    static const uint32_t offsets[] = {0};
    dying = type_from(&(coex_gc_type){
        .name = "dying", .size = 8, .flags = COEX_GC_MUTABLE, .ref_offsets = offsets, .ref_count = 1, .finalize = take_out});
    actor_make(self, 1, NODE_LEAF, 0, 0);
    coex_handle object = coex_gc_alloc(8, dying);
    coex_gc_init_ref(object, 0, self->slot[1]);
    self->slot[1] = 0;
}

static void finalize(actor *self)
{
    coex_gc_finalize(1);
    self->slot[1] = last_words;
}

/* The object is found dead and queued, but nothing that it refers to is marked yet. */
TEST(a_finalizer_does_not_run_before_what_its_object_refers_to_is_marked)
{
    NEEDS_POINTS();
    start(make_dying);
    last_words = 0;
    hold *revived = hold_collector("revived");
    cycle_begin();
    run_to(revived);
    actor_do(a, finalize); /* too early: nothing happens, or what happens does no harm */
    let_go(revived);
    run_out();
    if (last_words == 0) actor_do(a, finalize);
    finish(expect_target);
}

static void make_weak_dying(actor *self)
{
    make_dying(self);
    self->slot[1] = coex_gc_alloc(8, dying);
    self->slot[0] = coex_gc_weak_new(self->slot[1]);
    self->slot[1] = 0;
}

/* The get has read word and cell when the decision falls, and looks at the mark when the dead that have a finalizer are marked. */
TEST(a_get_that_meets_the_decision_before_the_mark_does_not_return_what_will_be_finalized)
{
    NEEDS_POINTS();
    start(make_weak_dying);
    hold *flush = run_to_last_flush();
    hold *getting = hold_actor(a, "weak-between-cell-and-mark");
    actor_begin(a, get);
    hold_await(getting);
    hold *traced = hold_collector("weak-before-forgetting");
    let_go(flush);
    hold_await(traced);
    let_go(getting);
    actor_await(a);
    actor_do(a, expect_nothing);
    let_go(traced);
    run_out();
    finish(expect_cleared);
}
