/*
 * Forced schedules of roots that come and go: pins, callbacks, and the queue of finalizers, while the collector is about to read them.
 */
#include "support/schedule.h"

#include "gc/threads/thread_record.h"

static actor *a, *b;

/* From now on it allocates for a while without a safepoint: a white thread stays white. */
static void take_room(actor *self) { actor_make(self, ACTOR_SLOTS - 1, NODE_LEAF, 0, 0); }

static void start(actor_step make)
{
    schedule_start();
    a = actor_start("a");
    b = actor_start("b");
    actor_do(b, take_room);
    actor_do(a, step_make_shared);
    actor_do(a, make);
}

static void expect_slot_0(actor *self) { actor_expect(self, 0); }
static void expect_handle(actor *self) { node_expect(self->handle, self->id[0]); }

/* ---- pins ----------------------------------------------------------------------------------------------------------- */

/* A leaf that only a pin holds. */
static void make_pinned(actor *self)
{
    self->handle = actor_make(self, 0, NODE_LEAF, 0, 0);
    coex_gc_pin(self->handle);
    self->slot[0] = 0;
}

/* Into a slot, which nobody scans any more in this cycle. */
static void unpin_into_slot(actor *self)
{
    coex_gc_unpin(self->handle);
    self->slot[0] = self->handle;
}

TEST(what_is_unpinned_before_the_collector_has_read_the_pins_survives)
{
    NEEDS_POINTS();
    start(make_pinned);
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(a, unpin_into_slot);
    let_go(marking);
    run_out();
    actor_do(a, expect_slot_0);
    schedule_end();
}

/* `b` is not scanned: what it makes is white. It pins it, and forgets it. */
static void pin_white(actor *self)
{
    self->handle = actor_make(self, 0, NODE_LEAF, 0, 0);
    coex_gc_pin(self->handle);
    self->slot[0] = 0;
}

static void nothing(actor *self) { (void)self; }

TEST(what_a_thread_pins_that_is_not_scanned_yet_survives)
{
    NEEDS_POINTS();
    start(nothing);
    hold *roots = cycle_to_roots(NULL);
    actor_do(b, pin_white);
    let_go(roots);
    run_out();
    actor_do(b, expect_handle);
    schedule_end();
}

/* And it is unpinned again at once by one that is scanned, which has its handle by other ways than the heap. */
static void take_over(actor *self)
{
    self->handle = b->handle;
    self->id[0] = b->id[0];
    unpin_into_slot(self);
}

TEST(what_a_white_thread_pins_and_a_black_one_unpins_survives)
{
    NEEDS_POINTS();
    start(nothing);
    hold *roots = cycle_to_roots(NULL);
    actor_do(a, step_answer);
    actor_do(b, pin_white);
    actor_do(a, take_over);
    let_go(roots);
    run_out();
    actor_do(a, expect_slot_0);
    schedule_end();
}

/* ---- the queue of finalizers ---------------------------------------------------------------------------------------------- */

static coex_handle dead;

static void rescue(coex_handle object, void *context)
{
    (void)context;
    dead = object;
}

static void make_dying(actor *self)
{
    static const uint32_t offsets[] = {0};
    uint32_t type = type_from(&(coex_gc_type){
        .name = "dying", .size = 8, .flags = COEX_GC_MUTABLE, .ref_offsets = offsets, .ref_count = 1, .finalize = rescue});
    actor_make(self, 1, NODE_LEAF, 0, 0);
    coex_handle object = coex_gc_alloc(8, type);
    coex_gc_init_ref(object, 0, self->slot[1]);
    self->slot[1] = 0;
}

static void finalize_into_slot(actor *self)
{
    expect_eq(coex_gc_finalize(1), 1);
    self->slot[0] = dead;
}

static void expect_rescued(actor *self) { node_expect(coex_gc_load(self->slot[0], 0), self->id[1]); }

/* The object was queued by the cycle before; in this one it leaves the queue before the collector has read it. */
TEST(an_object_that_leaves_the_queue_while_marking_begins_survives)
{
    NEEDS_POINTS();
    start(make_dying);
    cycle_whole();
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(a, finalize_into_slot);
    let_go(marking);
    run_out();
    actor_do(a, expect_rescued);
    schedule_end();
}

/* ---- callbacks ---------------------------------------------------------------------------------------------------------------- */

static void make_and_go(actor *self)
{
    actor_make(self, 0, NODE_LEAF, 0, 0);
    coex_gc_enter_native();
}

/* Back by a callback, whose own frame is above the one that it must not touch yet. */
static void call_back(actor *self)
{
    (void)self;
    expect(coex_gc_enter_managed());
}

static void end_call(actor *self)
{
    (void)self;
    coex_gc_leave_managed();
}

static void come_back_and_move(actor *self)
{
    coex_gc_leave_native();
    self->handle = self->slot[0];
    self->slot[0] = 0;
    coex_gc_enter_frame(1)[0] = self->handle;
}

TEST(a_callback_waits_while_the_collector_answers_for_its_thread)
{
    NEEDS_POINTS();
    start(make_and_go);
    a->answers = false;
    hold *answering = hold_collector_after("answer-for-native", 1);
    cycle_begin();
    run_to(answering);
    actor_begin(a, call_back);
    actor_expect_waiting(a);
    let_go(answering);
    actor_await(a);
    a->answers = true;
    run_out();
    actor_do(a, end_call);
    actor_do(a, come_back_and_move);
    actor_do(a, expect_handle);
    schedule_end();
}

/* The frames below the callback are frozen, and stay so until it has ended. */
TEST(frames_below_a_callback_are_scanned_before_their_function_goes_on)
{
    NEEDS_POINTS();
    start(make_and_go);
    a->answers = false;
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(a, call_back);
    actor_do(a, end_call);
    actor_do(a, come_back_and_move);
    a->answers = true;
    let_go(marking);
    run_out();
    actor_do(a, expect_handle);
    schedule_end();
}

static void come_back(actor *self)
{
    (void)self;
    coex_gc_leave_native();
}

static coex_gc_thread *record_of_b;

static void go(actor *self)
{
    if (self == b) record_of_b = coex_gc_get_current_thread();
    coex_gc_enter_native();
}

/* Is it `b` that the collector holds? */
static bool b_is_claimed(void)
{
    const struct cx_thread *record = (const void *)record_of_b;
    return cx_a32_load_seq(&record->mode) == CX_MODE_CLAIMED;
}

/* Whoever of the two the collector has claimed waits, the other one does not. */
TEST(a_thread_that_comes_back_waits_for_its_own_claim_only)
{
    NEEDS_POINTS();
    start(go);
    actor_do(b, go);
    a->answers = b->answers = false;
    hold *second = hold_collector_after("native-claimed", 1); /* the first of the two is answered for, the second one claimed */
    cycle_begin();
    hold_await(second);
    actor *claimed = b_is_claimed() ? b : a, *other = b_is_claimed() ? a : b;
    actor_do(other, come_back);
    actor_begin(claimed, come_back);
    actor_expect_waiting(claimed);
    let_go(second);
    actor_await(claimed);
    a->answers = b->answers = true;
    run_out();
    schedule_end();
}
