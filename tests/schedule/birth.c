/*
 * Forced schedules of birth: what a thread allocates after its roots were scanned survives the cycle, marked or not, with its
 * handle and its memory; what it allocates before is like any other object.
 */
#include "support/schedule.h"

#include "gc/threads/thread_record.h"

static actor *a, *b;

enum { CHAIN = 6000 }; /* more than the handles and the blocks that a thread holds at a time */

/* Slot 0 is the end of a chain of links, each with a blob; the first of these are too long for the rest of a hole and go to the
 * overflow block. */
static void make_chain(actor *self)
{
    for (int i = 0; i < CHAIN; i++) {
        self->slot[1] = node_make(node_fresh_id(NODE_BLOB), NULL, 0, i < 20 ? 900 : i % 8 == 0 ? 100 : 4);
        coex_handle both[] = {self->slot[0], self->slot[1]};
        self->slot[0] = node_make(node_fresh_id(NODE_LINK), both, 2, 0);
    }
    self->slot[1] = 0;
}

static void expect_chain(actor *self)
{
    int length = 0;
    for (coex_handle at = self->slot[0]; at != 0; at = node_child(at, 0), length++) {
        node_verify(at);
        node_verify(node_child(at, 1));
    }
    expect_eq(length, CHAIN);
}

/* Some objects first, so that what it holds at its answer is begun: the rest of a word, further words, the rest of a hole and of an
 * overflow block (for what is too long for the rest of a hole). */
static void begin_what_it_holds(actor *self)
{
    for (int i = 0; i < 100; i++) actor_make(self, 2, NODE_LEAF, 0, 0);
    for (int i = 0; i < 6; i++) self->slot[3] = node_make(node_fresh_id(NODE_BLOB), NULL, 0, 900);
}

TEST(what_a_scanned_thread_allocates_survives_the_cycle)
{
    NEEDS_POINTS();
    schedule_start();
    a = actor_start("a");
    actor_do(a, begin_what_it_holds);
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(a, make_chain);
    let_go(marking);
    run_out();
    actor_do(a, expect_chain);
    schedule_end();
}

static void make_one(actor *self) { actor_make(self, 0, NODE_LEAF, 0, 0); }
static void expect_one(actor *self) { actor_expect(self, 0); }

TEST(the_next_object_of_a_scanned_thread_survives_the_cycle)
{
    NEEDS_POINTS();
    schedule_start();
    a = actor_start("a");
    actor_do(a, begin_what_it_holds);
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(a, make_one);
    let_go(marking);
    run_out();
    actor_do(a, expect_one);
    schedule_end();
}

static void go_native(actor *self)
{
    (void)self;
    coex_gc_enter_native();
}

static void come_back(actor *self)
{
    (void)self;
    coex_gc_leave_native();
}

/* The collector answers for a; what a holds must be born just the same. */
TEST(what_a_thread_allocates_after_the_collector_answered_for_it_survives_the_cycle)
{
    NEEDS_POINTS();
    schedule_start();
    a = actor_start("a");
    actor_do(a, begin_what_it_holds);
    actor_do(a, go_native);
    a->answers = false;
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_do(a, come_back);
    actor_do(a, make_chain);
    a->answers = true;
    let_go(marking);
    run_out();
    actor_do(a, expect_chain);
    schedule_end();
}

/* An allocation answers requests before it takes anything: the object is of the colour that the thread has when it gets it. */
TEST(an_object_is_born_in_the_colour_that_its_allocation_ends_with)
{
    NEEDS_POINTS();
    coex_gc_config config = schedule_config();
    config.stress = UINT64_MAX; /* every allocation takes the slow path, and no cycle comes of it */
    schedule_start_with(&config);
    a = actor_start("a");
    let_go(cycle_to_roots(NULL));
    actor_do(a, make_one); /* this is a's answer to ROOTS */
    run_out();
    actor_do(a, expect_one);
    schedule_end();
}

/* ---- white ------------------------------------------------------------------------------------------------ */

/* A link in the shared cell, newly allocated, to a leaf that is older; enough of them that their handles were taken just now. */
static void publish_link_to_old_leaf(actor *self)
{
    for (int i = 0; i < 3000; i++) actor_make(self, 1, NODE_LINK, self->slot[0], 0);
    shared_store(0, self->slot[1]);
    self->slot[0] = self->slot[1] = 0;
}

static void take_link(actor *self)
{
    self->slot[1] = shared_load(0);
    self->id[1] = a->id[1];
}

static void cut(actor *self)
{
    (void)self;
    shared_store(0, 0);
}

static void expect_link_and_leaf(actor *self)
{
    actor_expect(self, 1);
    node_expect(node_child(self->slot[1], 0), a->id[0]);
}

/* In the new cycle b is scanned, takes the link, and a cuts the edge. The link was made between the cycles, so it is not born, is
 * shaded and traced; a link that was born would be spared without a look, and its leaf lost. */
static void cut_after_scan_of_b(hold *cleared)
{
    let_go(cycle_to_roots(cleared));
    actor_do(b, step_answer);
    actor_do(b, take_link);
    actor_do(a, cut);
    run_out();
    actor_do(b, expect_link_and_leaf);
    schedule_end();
}

TEST(what_is_allocated_between_two_cycles_is_white)
{
    NEEDS_POINTS();
    schedule_start();
    a = actor_start("a");
    b = actor_start("b");
    actor_do(a, step_make_shared);
    actor_do(a, make_one);
    cycle_whole();
    hold *cleared = hold_collector("cycle-cleared");
    cycle_begin();
    run_to(cleared);
    actor_do(a, publish_link_to_old_leaf);
    cut_after_scan_of_b(cleared);
}

/* The same, if a has not answered IDLE: then the next cycle may not even clear its bits. */
TEST(no_cycle_starts_before_all_have_answered_that_the_last_one_is_over)
{
    NEEDS_POINTS();
    schedule_start();
    a = actor_start("a");
    b = actor_start("b");
    actor_do(a, step_make_shared);
    actor_do(a, make_one);
    hold *sweeping = hold_collector("sweep-begins");
    cycle_begin();
    run_to(sweeping);
    a->answers = false;
    hold *cleared = hold_collector("cycle-cleared");
    cycle_begin(); /* one more */
    let_go(sweeping);
    hold_expect_empty(cleared);
    a->answers = true;
    run_to(cleared);
    actor_do(a, publish_link_to_old_leaf);
    cut_after_scan_of_b(cleared);
}

/* ---- records ---------------------------------------------------------------------------------------------- */

/* A thread leaves between cycles and its handles, white, stay in its record; who gets the record after the scan is black. */
TEST(handles_left_behind_before_the_roots_are_scanned_are_not_given_out_after)
{
    NEEDS_POINTS();
    schedule_start();
    b = actor_start("b");
    a = actor_start("a");
    actor_do(a, begin_what_it_holds);
    actor_end(a);
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    a = actor_start("a, again");
    actor_do(a, make_chain);
    let_go(marking);
    run_out();
    actor_do(a, expect_chain);
    schedule_end();
}

/* The same for one that leaves while its scan is asked for. */
TEST(handles_of_a_thread_that_leaves_unscanned_are_not_given_out_in_that_cycle)
{
    NEEDS_POINTS();
    schedule_start();
    b = actor_start("b");
    a = actor_start("a");
    actor_do(a, begin_what_it_holds);
    hold *roots = cycle_to_roots(NULL);
    actor_end(a);
    a = actor_start("a, again");
    actor_do(a, make_chain);
    let_go(roots);
    run_out();
    actor_do(a, expect_chain);
    schedule_end();
}

/* And handles that a black thread leaves behind are born, whoever gets them. */
TEST(handles_of_a_thread_that_leaves_scanned_are_born_for_the_next)
{
    NEEDS_POINTS();
    schedule_start();
    b = actor_start("b");
    a = actor_start("a");
    actor_do(a, begin_what_it_holds);
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    run_to(marking);
    actor_end(a);
    a = actor_start("a, again");
    actor_do(a, make_chain);
    let_go(marking);
    run_out();
    actor_do(a, expect_chain);
    schedule_end();
}

/* ---- the sweep beside a claim ----------------------------------------------------------------------------- */

/* Leaves the first word of the table with a live object and free handles. */
static void half_a_word(void)
{
    schedule_start();
    a = actor_start("a");
    actor_do(a, step_make_shared);
    actor_end(a);
    for (int i = 0; i < 3; i++) cycle_whole();
    b = actor_start("b");
}

/* The word that the next thread will take handles from: the first that has free ones. */
static uint64_t next_word(void)
{
    uint64_t word = 0;
    while (!cx_bit_test(cx_world.handles.available, word)) word++;
    return word;
}

/* How many words the sweep looks at before that one. */
static unsigned words_before(uint64_t word)
{
    unsigned count = 0;
    for (uint64_t i = 0; i < word; i++) count += cx_a64_load_relaxed(&cx_world.handles.allocated[i]) != 0;
    return count;
}

/* The sweep has read which handles are allocated; then a thread takes some of that very word. */
TEST(a_handle_that_is_taken_while_its_word_is_swept_survives)
{
    NEEDS_POINTS();
    half_a_word();
    uint64_t word = next_word();
    expect(cx_a64_load_relaxed(&cx_world.handles.allocated[word]) != 0);
    hold *between = hold_collector_after("sweep-between-allocated-and-born", words_before(word));
    cycle_begin();
    run_to(between);
    a = actor_start("a, again");
    actor_do(a, make_one);
    expect_eq(a->slot[0] / 64, word);
    let_go(between);
    run_out();
    actor_do(a, expect_one);
    schedule_end();
}

static void make_many(actor *self)
{
    for (int i = 0; i < 10000; i++) actor_make(self, 1, NODE_LEAF, 0, 0);
}

/* The other way round: a thread is in the middle of taking a word when the sweep comes by. */
TEST(a_word_that_is_swept_while_it_is_taken_keeps_its_handles)
{
    NEEDS_POINTS();
    half_a_word();
    hold *sweeping = hold_collector("sweep-begins");
    cycle_begin();
    run_to(sweeping);
    a = actor_start("a, again");
    hold *taking = hold_actor(a, "handle-claim-between-born-and-allocated");
    actor_begin(a, make_one);
    hold_await(taking);
    hold *lines = hold_collector("sweep-lines");
    let_go(sweeping);
    run_to(lines);
    let_go(taking);
    actor_await(a);
    let_go(lines);
    run_out();
    for (int i = 0; i < 3; i++) {
        cycle_whole();
        actor_do(b, make_many); /* would get a's handle, if it were free */
        actor_do(a, expect_one);
    }
    schedule_end();
}
