/*
 * Forced schedules of the watermark: frames that a thread freezes at its scan, the collector that reads them behind its back, and
 * the thread that returns into them.
 *
 * In each test an object is named by one slot of a frozen frame only. The frame's function gets the frame back and moves the
 * handle to where nobody looks in this cycle: into a new frame.
 */
#include "support/schedule.h"

#include "gc/stacks/shadow_stack.h"

static actor *a, *b;

enum { FRAME = 40, FRAMES = 60 }; /* deeper than a scan looks (256 words), more than one chunk (512) */

static coex_handle *frame[FRAMES];

/* Frames upon frames; the slots 0 to 2 of each name a leaf. */
static void go_down(actor *self)
{
    for (int i = 0; i < FRAMES; i++) {
        frame[i] = coex_gc_enter_frame(FRAME);
        for (unsigned k = 0; k < 3; k++) frame[i][k] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    }
    (void)self;
}

static void start_deep(void)
{
    schedule_start();
    a = actor_start("a");
    b = actor_start("b");
    actor_do(a, step_make_shared);
    actor_do(a, go_down);
}

/* The top frame is now frame[level], and its function takes slot 0 for itself, into a frame above. */
static void move_up(actor *self, int level)
{
    self->id[0] = node_id(frame[level][0]);
    self->handle = frame[level][0];
    frame[level][0] = 0;
    coex_handle *above = coex_gc_enter_frame(1);
    above[0] = self->handle;
    coex_gc_safepoint();
}

static void return_and_move(actor *self)
{
    for (int i = FRAMES - 1; i > FRAMES / 2; i--) coex_gc_leave_frame(frame[i]);
    move_up(self, FRAMES / 2);
}

static void expect_moved(actor *self) { node_expect(self->handle, self->id[0]); }

TEST(a_frame_is_scanned_before_its_function_gets_it_back)
{
    NEEDS_POINTS();
    start_deep();
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(a, return_and_move);
    let_go(marking);
    run_out();
    actor_do(a, expect_moved);
    schedule_end();
}

static void unwind_and_move(actor *self)
{
    coex_gc_unwind_to(frame[FRAMES / 2]);
    move_up(self, FRAMES / 2);
}

TEST(a_frame_is_scanned_before_it_is_unwound_to)
{
    NEEDS_POINTS();
    start_deep();
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(a, unwind_and_move);
    let_go(marking);
    run_out();
    actor_do(a, expect_moved);
    schedule_end();
}

/* The collector has claimed the chunk that frame[30] is in and has not read it: the owner waits for that chunk. */
TEST(a_thread_waits_for_the_chunk_that_the_collector_is_reading)
{
    NEEDS_POINTS();
    start_deep();
    hold *third_chunk = hold_collector_after("frozen-claimed", 2); /* words 1024 to 1535 */
    cycle_begin();
    run_to(third_chunk);
    actor_begin(a, unwind_and_move);
    actor_expect_waiting(a);
    let_go(third_chunk);
    actor_await(a);
    run_out();
    actor_do(a, expect_moved);
    schedule_end();
}

/* Down to frame[51]: the first return that takes the barrier gets frames 52 and 53, the next one needs those below. */
static void return_twice_and_move(actor *self)
{
    for (int i = FRAMES - 1; i > 51; i--) coex_gc_leave_frame(frame[i]);
    move_up(self, 51);
}

/* While the owner takes the top of the range for itself, the collector claims all the rest: claimed is not read, and the owner's
 * next return still has to wait. */
TEST(a_thread_waits_for_a_chunk_that_is_claimed_while_it_takes_another)
{
    NEEDS_POINTS();
    start_deep();
    hold *fourth_chunk = hold_collector_after("frozen-claimed", 3); /* words 1536 to 2047 */
    cycle_begin();
    run_to(fourth_chunk);
    hold *cut = hold_actor(a, "shadow-cut-before-wait");
    actor_begin(a, return_twice_and_move);
    hold_await(cut);
    hold *last_chunk = hold_collector("frozen-claimed"); /* from 2048 on: frame[51] is the last in it */
    let_go(fourth_chunk);
    hold_await(last_chunk);
    let_go(cut);
    actor_expect_waiting(a);
    let_go(last_chunk);
    actor_await(a);
    run_out();
    actor_do(a, expect_moved);
    schedule_end();
}

/* ---- slots of other frames -------------------------------------------------------------------------------- */

static void take_and_overwrite(actor *self)
{
    coex_handle *mine = coex_gc_enter_frame(2);
    mine[0] = self->handle = frame[30][0];
    self->id[0] = node_id(mine[0]);
    self->id[1] = node_fresh_id(NODE_LEAF);
    mine[1] = node_make(self->id[1], NULL, 0, 0);
    coex_gc_set_slot(&frame[30][0], mine[1]);
    mine[1] = 0;
}

static void expect_both(actor *self)
{
    expect_moved(self);
    node_expect(frame[30][0], self->id[1]);
}

TEST(what_set_slot_overwrites_in_a_frozen_frame_is_marked)
{
    NEEDS_POINTS();
    start_deep();
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(a, take_and_overwrite);
    let_go(marking);
    run_out();
    actor_do(a, expect_both);
    schedule_end();
}

static coex_handle local;
static coex_handle *locals[] = {&local};

/* A frame whose root is a local, below all others. */
static void push_local_and_go_down(actor *self)
{
    local = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    coex_gc_push_frame(1, locals);
    go_down(self);
}

static void take_and_overwrite_local(actor *self)
{
    coex_handle *mine = coex_gc_enter_frame(1);
    mine[0] = self->handle = local;
    self->id[0] = node_id(local);
    coex_gc_set_root(locals, 0, 0);
}

TEST(what_set_root_overwrites_in_a_frozen_frame_is_marked)
{
    NEEDS_POINTS();
    schedule_start();
    a = actor_start("a");
    actor_do(a, push_local_and_go_down);
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(a, take_and_overwrite_local);
    let_go(marking);
    run_out();
    actor_do(a, expect_moved);
    schedule_end();
}

static void overwrite_secretly(actor *self)
{
    (void)self;
    frame[30][1] = 0;
}

static void change_a_frozen_slot(void *unused)
{
    (void)unused;
    start_deep();
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(a, overwrite_secretly);
    let_go(marking);
    run_out();
}

TEST(a_frozen_slot_that_changes_behind_the_collectors_back_is_reported)
{
    NEEDS_POINTS();
    expect_abort(change_a_frozen_slot, NULL, "frame 32, slot 1: the frame is frozen");
}

/* Many times while the collector compares: each is permitted, and none is reported. */
static void overwrite_openly(actor *self)
{
    for (int i = 0; i < 100000; i++) coex_gc_set_slot(&frame[30][0], i % 2 == 0 ? frame[31][0] : frame[32][0]);
    (void)self;
}

TEST(set_slot_beside_the_collectors_check_is_not_reported)
{
    NEEDS_POINTS();
    start_deep();
    hold *third_chunk = hold_collector_after("frozen-claimed", 2);
    cycle_begin();
    run_to(third_chunk);
    actor_begin(a, overwrite_openly);
    let_go(third_chunk);
    actor_await(a);
    run_out();
    schedule_end();
}

/* ---- frames that go unread -------------------------------------------------------------------------------- */

/* b's cell is born: nobody has to trace it. It is in b's slot 0 alone, once a has had it. */
static void publish_cell(actor *self) { shared_store(1, actor_make(self, 0, NODE_CELL, 0, 0)); }

static void unpublish_cell(actor *self)
{
    (void)self;
    shared_store(1, 0);
}

/* An argument, which a caller's frozen frame keeps alive, goes into b's cell. */
static void store_argument(actor *self)
{
    coex_handle argument = frame[30][0];
    self->id[0] = node_id(argument);
    coex_gc_store(shared_load(1), node_cell_offset(0), argument);
}

static uint64_t argument_id;

static void expect_argument_in_cell(actor *self)
{
    actor_expect(self, 0);
    node_expect(coex_gc_load(self->slot[0], node_cell_offset(0)), argument_id);
}

static void store_an_argument_before(void (*go)(void))
{
    start_deep();
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(b, publish_cell);
    actor_do(a, store_argument);
    argument_id = a->id[0];
    actor_do(b, unpublish_cell);
    go();
    let_go(marking);
    run_out();
    actor_do(b, expect_argument_in_cell);
    schedule_end();
}

static void unwind_far(actor *self)
{
    (void)self;
    coex_gc_unwind_to(frame[2]);
}

static void let_a_unwind(void) { actor_do(a, unwind_far); }
static void let_a_exit(void) { actor_end(a); }

TEST(what_unread_frames_held_survives_when_they_are_unwound)
{
    NEEDS_POINTS();
    store_an_argument_before(let_a_unwind);
}

TEST(what_unread_frames_held_survives_the_exit_of_their_thread)
{
    NEEDS_POINTS();
    store_an_argument_before(let_a_exit);
}
