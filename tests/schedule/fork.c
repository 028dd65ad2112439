/*
 * Forced schedules of fork: the one who forks waits until the collector is between two slices, and for nothing else.
 */
#include "support/schedule.h"

#include "base/schedule_point.h"
#include "gc/threads/thread_record.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

static actor *a, *b;

static void make(actor *self) { actor_make(self, 0, NODE_LEAF, 0, 0); }

/* Before anything else happens: a thread that comes takes its state from what is there. */
static void expect_no_cycle(void)
{
    struct cx_thread *self = cx_thread_self();
    expect(cx_phase_now() == CX_PHASE_IDLE);
    expect(!self->black);
    expect(self->words.barrier == 0);
    expect(!cx_thread_is_pending(self));
    expect(self->buffer == NULL);
}

/* Points are for the parent: what holds there is not in the child. */
static void look_in_child(const actor *self)
{
    cx_schedule_point_set_hook(NULL);
    alarm(test_is_sanitized() ? 300 : 30);
    expect_no_cycle();
    for (int i = 0; i < 2; i++) {
        actor_expect(self, 0);
        for (int n = 0; n < 100; n++) node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
        coex_gc_collect();
    }
    expect_eq(stats_now().registered_thread_count, 1);
    expect(coex_gc_validate_heap() == 0);
    _exit(0);
}

static void fork_and_look(actor *self)
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    expect(child >= 0);
    if (child == 0) look_in_child(self);
    coex_gc_enter_native();
    while (waitpid(child, &status, 0) < 0) expect(errno == EINTR);
    coex_gc_leave_native();
    expect_eq((uint64_t)status, 0);
}

/* b is in native mode with a coroutine suspended: the collector answers for it, and freezes and reads both stacks. */
static void suspend_one_and_go(actor *self)
{
    make(self);
    coex_gc_stack *other = coex_gc_stack_create(8);
    expect(other != NULL);
    self->frame = (coex_handle *)(void *)coex_gc_stack_switch(other);
    coex_gc_enter_frame(2)[0] = self->slot[0];
    coex_gc_stack_switch((coex_gc_stack *)(void *)self->frame);
    coex_gc_enter_native();
}

static void come_back(actor *self)
{
    coex_gc_leave_native();
    actor_expect(self, 0);
}

static void start(void)
{
    schedule_start();
    a = actor_start("a");
    b = actor_start("b");
    actor_do(a, make);
}

static void fork_while_the_collector_is_at(const char *point)
{
    start();
    actor_do(b, suspend_one_and_go);
    b->answers = false;
    hold *there = hold_collector(point);
    cycle_begin();
    run_to(there);
    actor_begin(a, fork_and_look);
    actor_expect_waiting(a);
    let_go(there);
    actor_await(a);
    run_out();
    actor_do(a, make); /* and the parent goes on as if nothing had been */
    actor_do(b, come_back);
    b->answers = true;
    cycle_whole();
    schedule_end();
}

TEST_LABEL(a_fork_waits_while_the_collector_has_claimed_a_thread, forks)
TEST(a_fork_waits_while_the_collector_has_claimed_a_thread)
{
    NEEDS_POINTS();
    fork_while_the_collector_is_at("native-claimed");
}

TEST_LABEL(a_fork_waits_while_the_collector_has_claimed_a_stack, forks)
TEST(a_fork_waits_while_the_collector_has_claimed_a_stack)
{
    NEEDS_POINTS();
    fork_while_the_collector_is_at("stack-claimed");
}

TEST_LABEL(a_fork_waits_while_the_collector_reads_a_chunk, forks)
TEST(a_fork_waits_while_the_collector_reads_a_chunk)
{
    NEEDS_POINTS();
    fork_while_the_collector_is_at("frozen-claimed");
}

TEST_LABEL(a_fork_waits_while_the_collector_sweeps_a_word, forks)
TEST(a_fork_waits_while_the_collector_sweeps_a_word)
{
    NEEDS_POINTS();
    fork_while_the_collector_is_at("sweep-between-allocated-and-born");
}

/* It forks with an answer missing, which is owed to the parent's collector. */
TEST_LABEL(a_child_owes_no_answer, forks)
TEST(a_child_owes_no_answer)
{
    NEEDS_POINTS();
    start();
    a->answers = b->answers = false;
    hold *waiting = hold_collector_after("await-answers", 10);
    cycle_begin();
    run_to(waiting);
    let_go(waiting);
    actor_do(a, fork_and_look);
    a->answers = b->answers = true;
    run_out();
    schedule_end();
}

static void share_and_make(actor *self)
{
    step_make_shared(self);
    shared_store(0, node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0));
    make(self);
}

static void shade_and_fork(actor *self)
{
    shared_store(0, 0); /* what was there goes into its buffer */
    fork_and_look(self);
}

/* The buffer is of a grey set that the child has emptied. */
TEST_LABEL(a_child_has_nothing_shaded, forks)
TEST(a_child_has_nothing_shaded)
{
    NEEDS_POINTS();
    start();
    actor_do(a, share_and_make);
    hold *roots = cycle_to_roots(NULL);
    actor_do(a, step_answer);
    actor_begin(a, shade_and_fork);
    actor_expect_waiting(a);
    let_go(roots);
    actor_await(a);
    run_out();
    schedule_end();
}

/* The collector is between two slices all the time, and the cycle can't end. */
TEST_LABEL(a_fork_waits_neither_for_an_answer_nor_for_the_cycle, forks)
TEST(a_fork_waits_neither_for_an_answer_nor_for_the_cycle)
{
    NEEDS_POINTS();
    start();
    b->answers = false;
    hold *waiting = hold_collector_after("await-answers", 10);
    cycle_begin();
    run_to(waiting);
    let_go(waiting);
    actor_do(a, fork_and_look);
    b->answers = true;
    run_out();
    schedule_end();
}

/* ---- large objects that another thread is about to make ----------------------------------------------------------- */

enum { LARGE_WORDS = 1 << 17 }; /* a megabyte */

static void make_large(actor *self) { self->slot[1] = node_make(node_fresh_id(NODE_BLOB), NULL, 0, LARGE_WORDS); }

static void verify_large(actor *self) { node_verify(self->slot[1]); }

static void add_free_run(void *context, uint64_t bytes) { *(uint64_t *)context += bytes; }

static uint64_t free_large_bytes(void)
{
    uint64_t bytes = 0;
    cx_large_each_free(&cx_world.heap.large, add_free_run, &bytes);
    return bytes;
}

/* The child has neither the object nor its pages, and can use all of its heap. */
static void expect_no_large(void)
{
    cx_schedule_point_set_hook(NULL);
    alarm(test_is_sanitized() ? 300 : 30);
    for (int i = 0; i < 2; i++) coex_gc_collect();
    expect(stats_now().current_heap_used < LARGE_WORDS * 8);
    expect_eq(cx_large_size(&cx_world.heap.large) - free_large_bytes(), 4096); /* page 0 is never used */
    coex_gc_collect();
    expect(coex_gc_validate_heap() == 0);
    _exit(0);
}

static void fork_and_expect_no_large(actor *self)
{
    int status = -1;
    (void)self;
    fflush(NULL);
    pid_t child = fork();
    expect(child >= 0);
    if (child == 0) expect_no_large();
    COEX_GC_NATIVE(while (waitpid(child, &status, 0) < 0) expect(errno == EINTR));
    expect_eq((uint64_t)status, 0);
}

static void fork_while_a_large_object_is_made(const char *point)
{
    start();
    hold *making = hold_actor(b, point);
    actor_begin(b, make_large);
    hold_await(making);
    actor_do(a, fork_and_expect_no_large);
    let_go(making);
    actor_await(b);
    actor_do(b, verify_large); /* in the parent it comes to be */
    schedule_end();
}

TEST_LABEL(a_child_has_no_pages_of_a_large_object_without_a_slot, forks)
TEST(a_child_has_no_pages_of_a_large_object_without_a_slot)
{
    NEEDS_POINTS();
    fork_while_a_large_object_is_made("large-claimed");
}

TEST_LABEL(a_child_has_no_pages_of_a_large_object_that_nobody_knows_of_yet, forks)
TEST(a_child_has_no_pages_of_a_large_object_that_nobody_knows_of_yet)
{
    NEEDS_POINTS();
    fork_while_a_large_object_is_made("alloc-slot-stored");
}
