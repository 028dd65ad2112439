/*
 * fork: the child of a program with threads has a working collector, wherever the cycle was, and the parent does not notice.
 */
#include "support/forks.h"

static void live_in_child(unsigned index, void *arg)
{
    (void)arg;
    (void)index;
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = new_leaf();
    slots[1] = coex_gc_weak_new(slots[0]);
    make_garbage(1000);
    coex_gc_collect();
    expect(coex_gc_weak_get(slots[1]) == slots[0]);
    node_verify(slots[0]);
    coex_gc_leave_frame(slots);
}

/* And uses all that there is: threads, coroutines, pins, weak things; shuts down, and starts again. */
static void child_does_everything(void)
{
    child_looks();
    run_threads_native(3, live_in_child, NULL);
    coex_gc_stack *stack = coex_gc_stack_create(100);
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    coex_gc_enter_frame(1)[0] = kept[1];
    coex_gc_stack_switch(home);
    coex_gc_pin(kept[3]);
    coex_gc_collect();
    coex_gc_unpin(kept[3]);
    coex_gc_stack_destroy(stack);
    expect(coex_gc_validate_heap() == 0);
    expect_kept();
    stop_kept();
    coex_gc_config config = busy_config();
    start_kept(&config);
    child_looks();
    stop_kept();
}

static void child_of_plain_fork(void)
{
    coex_gc_config config = way_config();
    start_kept(&config);
    coex_gc_collect();
    fork_and_wait(child_does_everything);
    coex_gc_async(); /* asked for, and perhaps begun */
    fork_and_wait(child_does_everything);
    child_looks();
    stop_kept();
}

TEST_LABEL(the_child_has_a_working_collector, forks)
TEST(the_child_has_a_working_collector) { both_ways(child_of_plain_fork); }

/* ---- other threads, and a cycle that runs ------------------------------------------------------------------------------------ */

static test_flag enough;
static uint64_t busy_threads;

/* Whatever takes locks and changes tables. */
static void be_busy(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(way_seed + index);
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(20);
    coex_gc_stack *stack = NULL;
    count_up(&busy_threads);
    while (!flag_is_set(&enough)) {
        unsigned i = (unsigned)rng_below(&rng, 16);
        slots[i] =
            rng_one_in(&rng, 2) ? new_leaf() : node_make(node_fresh_id(NODE_LINK), (coex_handle[]){slots[(i + 1) % 16], 0}, 2, 0);
        if (node_depth(slots[i]) > 50) slots[i] = 0;
        if (rng_one_in(&rng, 10)) slots[16] = coex_gc_weak_new(slots[i]);
        if (rng_one_in(&rng, 10)) slots[17] = coex_gc_ephemeron_new(slots[i], slots[(i + 5) % 16]);
        if (rng_one_in(&rng, 20) && slots[i] != 0) {
            coex_gc_pin(slots[i]);
            coex_gc_unpin(slots[i]);
        }
        if (rng_one_in(&rng, 50)) coex_gc_global_store(&shared, slots[i]);
        if (rng_one_in(&rng, 50)) COEX_GC_NATIVE(usleep(20));
        if (rng_one_in(&rng, 50)) {
            if (stack != NULL) coex_gc_stack_destroy(stack);
            stack = coex_gc_stack_create(rng_between(&rng, 1, 1000));
            coex_gc_stack *home = coex_gc_stack_switch(stack);
            coex_gc_enter_frame(2)[0] = slots[i];
            make_garbage(10);
            coex_gc_stack_switch(home);
        }
        if (slots[i] != 0) node_verify(slots[i]);
    }
    coex_gc_leave_frame(slots);
}

static void *collect_all_the_time(void *unused)
{
    while (!flag_is_set(&enough)) coex_gc_collect();
    return unused;
}

static pthread_t fellows[3];

static void *run_busy(void *index)
{
    be_busy((unsigned)(uintptr_t)index, NULL);
    return NULL;
}

static void start_fellows(void)
{
    coex_gc_config config = busy_config();
    start_kept(&config);
    flag_clear(&enough);
    busy_threads = 0;
    for (uintptr_t i = 0; i < 2; i++) expect(pthread_create(&fellows[i], NULL, run_busy, (void *)i) == 0);
    expect(pthread_create(&fellows[2], NULL, collect_all_the_time, NULL) == 0);
    COEX_GC_NATIVE(while (count_now(&busy_threads) < 2) usleep(100));
}

static void stop_fellows(void)
{
    flag_set(&enough);
    coex_gc_enter_native();
    for (int i = 0; i < 3; i++) pthread_join(fellows[i], NULL);
    coex_gc_leave_native();
    expect_kept();
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    stop_kept();
}

/* Two thousand with both ways. */
static unsigned forks(void) { return test_is_large() ? 10000 : scaled(1000, 10); }

static void forks_beside_cycles(void)
{
    test_rng rng = rng_from(way_seed + 99);
    start_fellows();
    for (unsigned i = 0; i < forks(); i++) {
        if (rng_one_in(&rng, 3)) make_garbage((unsigned)rng_below(&rng, 2000));
        fork_and_wait(i % 20 == 0 ? child_does_everything : child_looks);
        expect_kept();
    }
    printf("%" PRIu64 " cycles\n", stats_now().collections_completed);
    stop_fellows();
}

TEST_LABEL(forks_while_other_threads_run_and_cycles_never_end, forks)
TEST_TIMEOUT(forks_while_other_threads_run_and_cycles_never_end, 400) { both_ways(forks_beside_cycles); }

/* A child that forks, and so on, with threads of its own on the way. */
static unsigned generations;

static void child_forks_again(void)
{
    child_looks();
    run_threads_native(2, live_in_child, NULL);
    coex_gc_async();
    if (--generations > 0) fork_and_wait(child_forks_again);
    expect_kept();
    stop_kept();
}

static void generations_of_forks(void)
{
    start_fellows();
    generations = 5;
    fork_and_wait(child_forks_again);
    stop_fellows();
}

TEST_LABEL(the_child_of_a_child_has_a_working_collector_too, forks)
TEST(the_child_of_a_child_has_a_working_collector_too) { both_ways(generations_of_forks); }
