/*
 * Forced schedules of coroutine stacks: threads of both colours switch to and from a stack at every point of a cycle.
 *
 * In each test a leaf is named by the stack alone. Whoever comes there takes it to where nobody looks in this cycle, or leaves it there.
 */
#include "support/dump_parser.h"
#include "support/schedule.h"

#include "gc/threads/safepoint.h"

#include <unistd.h>

static actor *a, *b;
static coex_gc_stack *stack;
static coex_handle *bottom, *top; /* its frames */
static uint64_t bottom_id, top_id;

enum { FRAME = 40, FRAMES = 60 }; /* deeper than a scan looks, more than one chunk */

static coex_handle fresh_leaf(uint64_t *id)
{
    *id = node_fresh_id(NODE_LEAF);
    coex_handle leaf = node_make(*id, NULL, 0, 0);
    expect(leaf != 0);
    return leaf;
}

static void make_stack(actor *self)
{
    (void)self;
    stack = coex_gc_stack_create(FRAME * (FRAMES + 10));
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    bottom = coex_gc_enter_frame(FRAME);
    bottom[0] = fresh_leaf(&bottom_id);
    for (int i = 0; i < FRAMES; i++) coex_gc_enter_frame(FRAME);
    top = coex_gc_enter_frame(FRAME);
    top[0] = fresh_leaf(&top_id);
    coex_gc_stack_switch(home);
}

/* From now on it allocates for a while without a safepoint: a white thread stays white. */
static void take_room(actor *self) { actor_make(self, ACTOR_SLOTS - 1, NODE_LEAF, 0, 0); }

static void start(void)
{
    schedule_start();
    a = actor_start("a");
    b = actor_start("b");
    actor_do(a, step_make_shared);
    actor_do(a, make_stack);
    actor_do(b, take_room);
}

/* A cycle that has asked for the roots: `a` has answered and is black, `b` is white. */
static hold *a_is_black(void)
{
    hold *roots = cycle_to_roots(NULL);
    actor_do(a, step_answer);
    return roots;
}

/* ---- taking something away ------------------------------------------------------------------------------------------ */

/* From the top frame into a frame of the thread's own stack. */
static void take_top(actor *self)
{
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    coex_handle leaf = top[0];
    top[0] = 0;
    coex_gc_stack_switch(home);
    self->slot[0] = leaf;
    self->id[0] = top_id;
}

/* From the bottom frame, after all above it is left. */
static void take_bottom(actor *self)
{
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    coex_gc_unwind_to(bottom);
    coex_handle leaf = bottom[0];
    bottom[0] = 0;
    coex_gc_stack_switch(home);
    self->slot[0] = leaf;
    self->id[0] = bottom_id;
}

static void expect_taken(actor *self) { actor_expect(self, 0); }

static void black_takes(actor_step take)
{
    start();
    hold *roots = a_is_black();
    actor_do(a, take);
    let_go(roots);
    run_out();
    actor_do(a, expect_taken);
    schedule_end();
}

TEST(a_black_thread_scans_the_top_frame_of_a_stack_that_it_enters)
{
    NEEDS_POINTS();
    black_takes(take_top);
}

TEST(a_black_thread_scans_what_it_unwinds_on_a_stack_that_it_enters)
{
    NEEDS_POINTS();
    black_takes(take_bottom);
}

/* The same when the collector is marking, with the stack suspended until then. */
TEST(a_stack_that_is_entered_before_the_collector_gets_to_it_is_not_missed)
{
    NEEDS_POINTS();
    start();
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(b, take_bottom);
    let_go(marking);
    run_out();
    actor_do(b, expect_taken);
    schedule_end();
}

/* INV-STACK-3: the collector has it, and has not frozen it. */
TEST(a_switch_waits_while_the_collector_freezes_that_stack)
{
    NEEDS_POINTS();
    start();
    hold *claimed = hold_collector("stack-claimed");
    cycle_begin();
    run_to(claimed);
    actor_begin(a, take_bottom);
    actor_expect_waiting(a);
    let_go(claimed);
    actor_await(a);
    run_out();
    actor_do(a, expect_taken);
    schedule_end();
}

/* The collector reads a chunk of it: whoever returns into that chunk waits for it, and no longer. */
TEST(a_return_into_a_chunk_that_the_collector_reads_waits_for_that_chunk)
{
    NEEDS_POINTS();
    start();
    a->answers = b->answers = true;
    hold *claimed = hold_collector("stack-claimed");
    cycle_begin();
    run_to(claimed);
    hold *reading = hold_collector("frozen-claimed"); /* the stack's words 0 to 511 */
    let_go(claimed);
    hold_await(reading);
    actor_do(b, take_top); /* far above: no wait */
    actor_begin(a, take_bottom);
    actor_expect_waiting(a);
    let_go(reading);
    actor_await(a);
    run_out();
    actor_do(a, expect_taken);
    actor_do(b, expect_taken);
    schedule_end();
}

/* ---- leaving something there --------------------------------------------------------------------------------------------- */

/* A new leaf, white if the thread is, into the top frame. */
static void leave_there(actor *self)
{
    (void)self;
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    top[1] = fresh_leaf(&top_id);
    coex_gc_stack_switch(home);
}

static void visit(actor *self)
{
    (void)self;
    coex_gc_stack_switch(coex_gc_stack_switch(stack));
}

static void expect_there(actor *self)
{
    (void)self;
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    node_expect(top[1], top_id);
    coex_gc_stack_switch(home);
}

/* INV-STACK-1: `a` has frozen it, so it was done; what the white `b` leaves there is not scanned, so it is not done any more. */
TEST(what_a_white_thread_leaves_on_a_stack_that_was_done_is_found)
{
    NEEDS_POINTS();
    start();
    hold *roots = a_is_black();
    actor_do(a, visit);
    actor_do(b, leave_there);
    let_go(roots);
    run_out();
    actor_do(a, expect_there);
    cycle_whole();
    actor_do(b, expect_there);
    schedule_end();
}

static coex_gc_stack *home_of_b;

static void go_and_note_home(actor *self)
{
    (void)self;
    home_of_b = coex_gc_stack_switch(stack);
    top[1] = fresh_leaf(&top_id);
    coex_gc_enter_frame(3)[0] = top[1];
}

static void come_home(actor *self)
{
    (void)self;
    coex_gc_stack_switch(home_of_b);
}

/* The white thread answers while it is on a stack whose lower part a black one has frozen: it scans the rest. */
TEST(a_thread_that_answers_on_a_stack_that_another_has_frozen_scans_what_is_its_own)
{
    NEEDS_POINTS();
    start();
    hold *roots = a_is_black();
    actor_do(a, visit);
    actor_do(b, go_and_note_home);
    actor_do(b, step_answer);
    let_go(roots);
    run_out();
    actor_do(b, come_home);
    actor_do(a, expect_there);
    schedule_end();
}

/* And answers for it if it is in native mode there. */
static void go_native_there(actor *self)
{
    go_and_note_home(self);
    coex_gc_enter_native();
}

static void come_home_from_native(actor *self)
{
    coex_gc_leave_native();
    come_home(self);
}

TEST(a_native_thread_on_a_stack_that_another_has_frozen_is_scanned)
{
    NEEDS_POINTS();
    start();
    hold *roots = a_is_black();
    actor_do(a, visit);
    actor_do(b, go_native_there);
    b->answers = false;
    let_go(roots);
    run_out();
    actor_do(b, come_home_from_native);
    b->answers = true;
    actor_do(a, expect_there);
    schedule_end();
}

/* ---- slots of suspended stacks ------------------------------------------------------------------------------------------------ */

/* How a resume delivers a value. */
static void deliver(actor *self)
{
    (void)self;
    coex_gc_set_slot(&top[1], fresh_leaf(&top_id));
}

/* `a` has made it done, all of it is scanned: nobody looks there again, whatever the white `b` puts there. */
TEST(a_value_that_a_white_thread_delivers_to_a_scanned_stack_lives)
{
    NEEDS_POINTS();
    start();
    hold *roots = a_is_black();
    actor_do(a, visit);
    actor_do(b, deliver);
    let_go(roots);
    run_out();
    actor_do(a, expect_there);
    schedule_end();
}

/* While it is frozen and not read: the checks of frozen words know of it. */
TEST(a_value_that_is_delivered_to_a_frozen_stack_lives_and_is_no_fault)
{
    NEEDS_POINTS();
    start();
    hold *claimed = hold_collector("stack-claimed");
    cycle_begin();
    run_to(claimed);
    hold *reading = hold_collector("frozen-claimed");
    let_go(claimed);
    hold_await(reading);
    actor_do(b, deliver);
    let_go(reading);
    run_out();
    actor_do(a, expect_there);
    schedule_end();
}

/* The thread that delivers has looked at the stack before the collector freezes it, and writes
 * the slot afterwards. */
TEST(a_value_that_is_delivered_while_the_collector_freezes_the_stack_is_no_fault)
{
    NEEDS_POINTS();
    start();
    hold *claimed = hold_collector("stack-claimed");
    cycle_begin();
    run_to(claimed);
    hold *storing = hold_actor(b, "slot-before-store");
    actor_begin(b, deliver);
    hold_await(storing);
    hold *reading = hold_collector("frozen-claimed");
    let_go(claimed);
    hold_await(reading);
    let_go(storing);
    actor_await(b);
    let_go(reading);
    run_out();
    actor_do(a, expect_there);
    schedule_end();
}

static coex_handle local;
static coex_gc_frame *frame_of_local;

/* A frame whose root is a local, and another one above. */
static void make_stack_with_local(actor *self)
{
    (void)self;
    stack = coex_gc_stack_create(FRAME * (FRAMES + 10));
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    local = fresh_leaf(&bottom_id);
    frame_of_local = coex_gc_push_frame(1, (coex_handle *[]){&local});
    top = coex_gc_enter_frame(CX_SHADOW_BITE); /* as much as an entry thaws */
    coex_gc_stack_switch(home);
}

static void deliver_to_local(actor *self)
{
    (void)self;
    coex_gc_set_root((coex_handle *[]){&local}, 0, fresh_leaf(&bottom_id));
}

static void return_to_local(actor *self)
{
    (void)self;
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    coex_gc_leave_frame(top);
    node_expect(local, bottom_id);
    coex_gc_pop_frame(frame_of_local);
    coex_gc_stack_switch(home);
}

/* `a` freezes it; `b` writes the local, and then returns to it. */
TEST(a_local_of_a_frozen_stack_that_set_root_writes_is_no_fault)
{
    NEEDS_POINTS();
    start();
    actor_do(a, make_stack_with_local);
    hold *roots = a_is_black();
    actor_do(a, visit);
    actor_do(b, deliver_to_local);
    actor_do(b, return_to_local);
    let_go(roots);
    run_out();
    schedule_end();
}

/* The collector meets the slot while it is being written, and waits until that is over, however
 * long it takes. */
TEST(a_slot_that_is_being_written_when_it_is_checked_is_no_fault)
{
    NEEDS_POINTS();
    start();
    hold *claimed = hold_collector("stack-claimed");
    cycle_begin();
    run_to(claimed);
    hold *reading = hold_collector("frozen-claimed");
    let_go(claimed);
    hold_await(reading);
    hold *storing = hold_actor(b, "slot-stored");
    actor_begin(b, deliver);
    hold_await(storing);
    let_go(reading);
    usleep(50000);
    let_go(storing);
    actor_await(b);
    run_out();
    actor_do(a, expect_there);
    schedule_end();
}

static void change_bottom_behind_its_back(actor *self)
{
    (void)self;
    bottom[0] = bottom[1];
}

static void change_a_frozen_slot(void *unused)
{
    (void)unused;
    start();
    hold *roots = a_is_black();
    actor_do(a, visit);
    actor_do(b, visit); /* it is not done any more, and will be frozen again: what was frozen counts */
    actor_do(b, change_bottom_behind_its_back);
    let_go(roots);
    run_out();
}

TEST(a_slot_that_was_changed_between_two_freezes_is_reported)
{
    NEEDS_POINTS();
    expect_abort(change_a_frozen_slot, NULL, "frame 1, slot 0: the frame is frozen");
}

/* ---- destroying ------------------------------------------------------------------------------------------------------------------- */

/* On the stack, out of an argument that only the frozen bottom frame holds, an object is made and taken home. */
static void make_out_of_argument(actor *self)
{
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    coex_handle argument = bottom[0]; /* as a parameter of the function that runs there; its caller keeps it rooted */
    coex_handle made = node_make(self->id[0] = node_fresh_id(NODE_LINK), (coex_handle[]){argument, 0}, 2, 0);
    coex_gc_stack_switch(home);
    self->slot[0] = made;
}

static void destroy(actor *self)
{
    (void)self;
    coex_gc_stack_destroy(stack);
}

static void expect_made(actor *self)
{
    actor_expect(self, 0);
    node_expect(node_child(self->slot[0], 0), bottom_id);
}

TEST(what_was_got_out_of_a_stack_lives_when_the_stack_is_destroyed)
{
    NEEDS_POINTS();
    start();
    hold *roots = a_is_black();
    actor_do(a, make_out_of_argument);
    actor_do(a, destroy);
    let_go(roots);
    run_out();
    actor_do(a, expect_made);
    schedule_end();
}

/* With a visit of a white thread in between, which makes the stack not done again. */
TEST(what_was_got_out_of_a_stack_lives_though_another_thread_was_there_before_it_is_destroyed)
{
    NEEDS_POINTS();
    start();
    hold *roots = a_is_black();
    actor_do(a, make_out_of_argument);
    actor_do(b, visit);
    actor_do(a, destroy);
    let_go(roots);
    run_out();
    actor_do(a, expect_made);
    schedule_end();
}

/* ---- what a frozen word alone vouches for
 * ----------------------------------------------------------------------------------- */

/* The white `b` goes to the stack again and leaves all of its frames. */
static void pop_all(actor *self)
{
    (void)self;
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    coex_gc_unwind_to(bottom);
    coex_gc_leave_frame(bottom);
    coex_gc_stack_switch(home);
}

static void visit_and_pop_all(actor *self)
{
    visit(self);
    pop_all(self);
}

static void visit_and_destroy(actor *self)
{
    visit(self);
    destroy(self);
}

static void clear_bottom(actor *self)
{
    (void)self;
    coex_gc_set_slot(&bottom[0], 0);
}

static void visit_and_clear_bottom(actor *self)
{
    visit(self);
    clear_bottom(self);
}

/* `a`, black, makes an object out of what a deep frozen slot holds, and goes home; then `b`,
 * white, removes the slot. */
static void white_removes_the_slot(actor_step remove)
{
    start();
    hold *roots = a_is_black();
    actor_do(a, make_out_of_argument);
    actor_do(b, remove);
    let_go(roots);
    run_out();
    actor_do(a, expect_made);
    schedule_end();
}

TEST(what_a_frozen_word_vouches_for_lives_though_a_white_thread_pops_it)
{
    NEEDS_POINTS();
    white_removes_the_slot(pop_all);
}

TEST(what_a_frozen_word_vouches_for_lives_though_a_white_thread_has_left_the_stack_and_pops_it)
{
    NEEDS_POINTS();
    white_removes_the_slot(visit_and_pop_all);
}

TEST(what_a_frozen_word_vouches_for_lives_though_a_white_thread_has_left_the_stack_and_destroys_it)
{
    NEEDS_POINTS();
    white_removes_the_slot(visit_and_destroy);
}

TEST(what_a_frozen_word_vouches_for_lives_though_a_white_thread_overwrites_it)
{
    NEEDS_POINTS();
    white_removes_the_slot(clear_bottom);
}

TEST(what_a_frozen_word_vouches_for_lives_though_a_white_thread_has_left_the_stack_and_overwrites_it)
{
    NEEDS_POINTS();
    white_removes_the_slot(visit_and_clear_bottom);
}

static void enter_again_and_answer(actor *self)
{
    visit(self);
    home_of_b = coex_gc_stack_switch(stack);
    coex_gc_safepoint();
}

static void pop_all_and_come_home(actor *self)
{
    coex_gc_unwind_to(bottom);
    coex_gc_leave_frame(bottom);
    come_home(self);
}

/* The white thread has left the stack, comes back and answers there: what was frozen is still
 * frozen. */
TEST(what_a_frozen_word_vouches_for_lives_though_another_thread_answers_on_its_stack)
{
    NEEDS_POINTS();
    start();
    hold *roots = a_is_black();
    actor_do(a, make_out_of_argument);
    actor_do(b, enter_again_and_answer);
    hold *marking = hold_collector("mark-begins");
    let_go(roots);
    run_to(marking);
    actor_do(b, pop_all_and_come_home);
    let_go(marking);
    run_out();
    actor_do(a, expect_made);
    schedule_end();
}

/* The white thread leaves half of the frames, makes others, and leaves the stack: the collector
 * finds what is old and what is new. */
static void change_the_upper_half(actor *self)
{
    (void)self;
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    coex_gc_unwind_to(bottom + (ptrdiff_t)(FRAMES / 2) * (FRAME + 1));
    top = coex_gc_enter_frame(FRAME);
    top[1] = fresh_leaf(&top_id);
    coex_gc_enter_frame(FRAME);
    coex_gc_stack_switch(home);
}

static void expect_both(actor *self)
{
    expect_made(self);
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    coex_gc_unwind_to(top);
    node_expect(top[1], top_id);
    coex_gc_unwind_to(bottom);
    node_expect(bottom[0], bottom_id);
    coex_gc_stack_switch(home);
}

TEST(a_stack_that_is_frozen_changed_above_and_frozen_again_loses_nothing)
{
    NEEDS_POINTS();
    start();
    hold *roots = a_is_black();
    actor_do(a, make_out_of_argument);
    actor_do(b, change_the_upper_half);
    let_go(roots);
    run_out();
    actor_do(a, expect_both);
    schedule_end();
}

/* ---- between two cycles --------------------------------------------------------------------------------------------------------------- */

/* `a` has answered IDLE and is white; `b` is black still, and what it freezes nobody reads any more. The next cycle is not confused. */
TEST(a_stack_that_is_frozen_after_marking_is_frozen_again_in_the_next_cycle)
{
    NEEDS_POINTS();
    start();
    hold *sweeping = hold_collector("sweep-begins");
    cycle_begin();
    run_to(sweeping);
    hold *idle = hold_collector("handshake-published");
    let_go(sweeping);
    hold_await(idle);
    actor_do(a, step_answer);
    actor_do(a, visit);
    actor_do(b, visit);
    let_go(idle);
    run_out();
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(b, take_bottom);
    let_go(marking);
    run_out();
    actor_do(b, expect_taken);
    schedule_end();
}

/* ---- how much an answer reads ----------------------------------------------------------------
 * --------------------------------------- */

enum { MANY = 100000 };

/* A stack that the black `a` has filled: it is done, and nothing of it is frozen. */
static void make_long_stack(actor *self)
{
    coex_handle leaf = actor_make(self, 0, NODE_LEAF, 0, 0);
    stack = coex_gc_stack_create(2 * MANY);
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    bottom = coex_gc_enter_frame(1);
    bottom[0] = leaf;
    for (int i = 1; i < MANY; i++) coex_gc_enter_frame(1)[0] = leaf;
    coex_gc_stack_switch(home);
}

static void go_there(actor *self)
{
    (void)self;
    home_of_b = coex_gc_stack_switch(stack);
}

/* Every word that names an object, and is read while nobody marks, is one entry. */
static uint64_t entries_handed_over(void)
{
    uint64_t entries = 0;
    cx_mutex_lock(&cx_world.mark_queue.lock);
    for (const struct cx_chunk *chunk = cx_world.mark_queue.full; chunk != NULL; chunk = chunk->next) entries += chunk->count;
    cx_mutex_unlock(&cx_world.mark_queue.lock);
    return entries;
}

static void unwind_and_come_home(actor *self)
{
    coex_gc_unwind_to(bottom);
    node_expect(bottom[0], a->id[0]);
    come_home(self);
}

TEST(an_answer_on_a_stack_that_is_done_reads_no_more_words_than_another)
{
    NEEDS_POINTS();
    start();
    hold *roots = a_is_black();
    actor_do(a, make_long_stack);
    actor_do(b, go_there);
    uint64_t before = entries_handed_over();
    actor_do(b, step_answer);
    uint64_t read = entries_handed_over() - before;
    ck_assert_uint_ge(read, 1);
    ck_assert_uint_le(read, CX_ROOTS_NOW);
    let_go(roots);
    run_out();
    actor_do(b, unwind_and_come_home);
    schedule_end();
}

/* A white leaf in a frame that is not on top any more when `b` answers: the new frame is stored
 * before the poll. */
static void push_over_a_leaf_and_answer(actor *self)
{
    go_there(self);
    coex_gc_unwind_to(bottom);
    bottom[0] = fresh_leaf(&bottom_id);
    coex_gc_enter_frame_with(CX_ROOTS_NOW, 0, NULL);
}

static void expect_leaf_and_come_home(actor *self)
{
    coex_gc_unwind_to(bottom);
    node_expect(bottom[0], bottom_id);
    come_home(self);
}

TEST(an_answer_on_a_stack_that_is_done_freezes_what_is_not_frozen)
{
    NEEDS_POINTS();
    start();
    hold *roots = a_is_black();
    actor_do(a, make_stack); /* another one: done, and nothing of it is frozen */
    actor_do(b, push_over_a_leaf_and_answer);
    let_go(roots);
    run_out();
    actor_do(b, expect_leaf_and_come_home);
    schedule_end();
}

/* ---- once ----------------------------------------------------------------------------------------------------------------------------- */

static void expect_nothing_frozen(void)
{
    const struct cx_shadow *shadow = (const struct cx_shadow *)(const void *)stack;
    expect_eq(cx_a64_load_acquire(&shadow->done), cx_a64_load_relaxed(&cx_world.cycle));
    expect_eq(cx_shadow_frozen_end(shadow), 0);
}

/* However often black threads go there after the collector has read it. */
TEST(a_suspended_stack_is_scanned_once_in_a_cycle)
{
    NEEDS_POINTS();
    start();
    hold *sweeping = hold_collector("sweep-begins");
    cycle_begin();
    run_to(sweeping);
    expect_nothing_frozen();
    for (int i = 0; i < 3; i++) {
        actor_do(a, visit);
        actor_do(b, visit);
        expect_nothing_frozen();
    }
    let_go(sweeping);
    run_out();
    schedule_end();
}

/* ---- dumps -----------------------------------------------------------------------------------
 * ----------------------------------------- */

static char *dumped;

static void dump(actor *self)
{
    (void)self;
    capture_begin();
    coex_gc_dump_shadow_stacks();
    dumped = capture_end();
}

/* `a` freezes the stack in the cycle that `c` has asked for; then `b` does `then`, while it is
 * white. Returns what `c` was shown. */
static dump_stacks dump_of_a_stack_that_is_frozen_twice(actor_step then)
{
    start();
    actor *c = actor_start("c");
    hold *cleared = hold_collector("cycle-cleared");
    actor_begin(c, dump);
    hold_await(cleared);
    hold *roots = cycle_to_roots(cleared);
    actor_do(a, step_answer);
    actor_do(a, visit);
    actor_do(b, then);
    hold *sweeping = hold_collector("sweep-begins");
    let_go(roots);
    run_to(sweeping);
    let_go(sweeping);
    cycle_whole(); /* that one has ended */
    actor_await(c);
    return parse_stacks(dumped);
}

/* The four of them: a, b, c and the coroutine; none is shown twice. */
static void expect_shown(const dump_stacks *stacks, const dump_stack *shown, uint64_t frames)
{
    ck_assert_uint_eq(stacks->count, 4);
    ck_assert_ptr_nonnull(shown);
    ck_assert_uint_eq(shown->depth, frames);
    ck_assert_uint_eq(stack_slot(shown, 1, 0), bottom[0]);
    ck_assert_uint_eq(stack_slot(shown, FRAMES + 2, 1), top[1]);
}

TEST(a_stack_that_is_frozen_twice_is_shown_once_and_complete)
{
    NEEDS_POINTS();
    dump_stacks stacks = dump_of_a_stack_that_is_frozen_twice(leave_there);
    expect_shown(&stacks, &stacks.stack[3], FRAMES + 2);
    ck_assert_ptr_nonnull(strstr(stacks.stack[3].name, "(suspended)"));
    schedule_end();
}

TEST(a_stack_that_another_thread_has_frozen_is_shown_with_the_thread_that_answers_there)
{
    NEEDS_POINTS();
    dump_stacks stacks = dump_of_a_stack_that_is_frozen_twice(go_and_note_home);
    expect_shown(&stacks, stacks_find(&stacks, "Thread 1"), FRAMES + 2);
    actor_do(b, come_home);
    schedule_end();
}

/* ---- threads that end ----------------------------------------------------------------------------------------------------------------- */

static void post_out_of_argument(actor *self)
{
    coex_gc_stack_switch(stack);
    coex_handle argument = bottom[0];
    shared_store(0, node_make(self->id[0] = node_fresh_id(NODE_LINK), (coex_handle[]){argument, 0}, 2, 0));
}

static void expect_posted(actor *self)
{
    (void)self;
    node_verify(shared_load(0));
    node_expect(node_child(shared_load(0), 0), bottom_id);
}

/* It ends on the stack, whose frozen words speak for what it has posted. */
TEST(the_result_of_a_thread_that_ends_on_a_coroutine_is_complete)
{
    NEEDS_POINTS();
    start();
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(b, post_out_of_argument);
    actor_end(b);
    let_go(marking);
    run_out();
    actor_do(a, expect_posted);
    schedule_end();
}
