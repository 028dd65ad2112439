/*
 * gc_threads=0: the cycle runs in slices on the mutators, within the time that they give it.
 */
#include "support/borders.h"

#include <dirent.h>
#include <pthread.h>

static coex_gc_config step_config(void)
{
    coex_gc_config config = quiet_config();
    config.gc_threads = 0;
    return config;
}

static void start(void)
{
    way_threads = 0;
    way_start();
}

/* ---- who does what, and when ------------------------------------------------------------------------------------- */

static unsigned threads_of_process(void)
{
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    expect(tasks != NULL);
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) count += task->d_name[0] != '.';
    closedir(tasks);
    return count;
}

TEST(no_thread_is_started)
{
    unsigned before = threads_of_process();
    start();
    coex_gc_collect();
    coex_gc_async();
    coex_gc_step(1000);
    ck_assert_uint_eq(threads_of_process(), before);
    coex_gc_shutdown();
}

TEST(async_sets_the_request_and_steps_do_the_work)
{
    start();
    ck_assert(coex_gc_step(1000)); /* none is asked for */
    ck_assert_uint_eq(stats_now().collections_completed, 0);
    coex_gc_async();
    sleep_ms(20);
    ck_assert_uint_eq(stats_now().collections_completed, 0);
    unsigned steps = 1;
    while (!coex_gc_step(0)) steps++;
    ck_assert_uint_eq(stats_now().collections_completed, 1);
    ck_assert_uint_gt(steps, 10);
    ck_assert(coex_gc_step(0));
    ck_assert_uint_eq(stats_now().collections_completed, 1);
    coex_gc_shutdown();
}

TEST(collect_and_wait_for_completion_step_to_the_end)
{
    start();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_leaf();
    coex_handle garbage = new_leaf();
    coex_gc_collect();
    ck_assert(!coex_gc_is_handle(garbage));
    node_verify(slots[0]);
    coex_gc_async();
    coex_gc_step(0);
    coex_gc_wait_for_completion();
    ck_assert_uint_eq(stats_now().collections_completed, 2);
    coex_gc_async();
    coex_gc_step(0);
    garbage = new_leaf();
    coex_gc_collect(); /* ends the one that runs, and then runs one that starts after the call */
    ck_assert_uint_eq(stats_now().collections_completed, 4);
    ck_assert(!coex_gc_is_handle(garbage));
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

static void *collect_unregistered(void *unused)
{
    coex_gc_collect();
    return unused;
}

TEST(a_thread_that_is_not_registered_collects_as_well)
{
    pthread_t thread;
    start();
    expect(pthread_create(&thread, NULL, collect_unregistered, NULL) == 0);
    COEX_GC_NATIVE(pthread_join(thread, NULL));
    ck_assert_uint_eq(stats_now().collections_completed, 1);
    coex_gc_shutdown();
}

TEST(shutdown_ends_a_cycle_that_is_half_done)
{
    for (unsigned steps = 0; steps < 30; steps++) {
        start();
        make_garbage(1000);
        coex_gc_async();
        for (unsigned i = 0; i < steps; i++) coex_gc_step(0);
        coex_gc_shutdown();
    }
}

/* ---- another thread owes an answer ---------------------------------------------------------------------------------- */

static test_flag here, answer_now, answered;

static void *be_late(void *unused)
{
    coex_gc_register_thread();
    flag_set(&here);
    flag_await(&answer_now); /* in managed mode: rude, and what this test is about */
    while (!flag_is_set(&answered)) coex_gc_safepoint();
    return unused;
}

TEST(a_step_does_not_wait_for_a_thread_that_is_late)
{
    pthread_t thread;
    start();
    expect(pthread_create(&thread, NULL, be_late, NULL) == 0);
    COEX_GC_NATIVE(flag_await(&here));
    coex_gc_async();
    double begin = cpu_seconds();
    for (int i = 0; i < 100; i++) ck_assert(!coex_gc_step(100000)); /* ten seconds, if each took what it may */
    ck_assert_double_lt(cpu_seconds() - begin, 2);
    ck_assert_uint_eq(stats_now().collections_completed, 0);
    flag_set(&answer_now);
    while (!coex_gc_step(1000)) {
    }
    ck_assert_uint_eq(stats_now().collections_completed, 1);
    flag_set(&answered);
    COEX_GC_NATIVE(pthread_join(thread, NULL));
    coex_gc_shutdown();
}

/* ---- budgets --------------------------------------------------------------------------------------------------------- */

/* A heap of this many bytes in lists of pairs, a part of it garbage. */
static void fill_heap(coex_handle *slots, uint64_t lists, uint64_t bytes)
{
    uint32_t type = type_pair();
    for (uint64_t i = 0; i < bytes / 24; i++) {
        coex_handle *list = &slots[i % lists];
        *list = new_pair(type, i % 100 == 0 ? 0 : *list, i);
        expect(*list != 0);
    }
}

TEST_LABEL(nine_of_ten_short_steps_are_short, timing)
TEST_TIMEOUT(nine_of_ten_short_steps_are_short, 60)
{
    uint64_t bytes = test_is_sanitized() ? 20 * MIB : test_is_checked() ? 100 * MIB : 200 * MIB;
    enum { LISTS = 2000 };
    coex_gc_config config = step_config();
    config.initial_heap = 4 * GIB;
    start_with(&config);
    coex_handle *slots = coex_gc_enter_frame(LISTS + 1);
    fill_heap(slots, LISTS, bytes);
    for (int i = 0; i < LISTS / 2; i++) slots[i] = 0;
    coex_gc_async();
    unsigned steps = 0, late = 0;
    double longest = 0;
    bool done = false;
    while (!done) {
        double begin = cpu_seconds();
        done = coex_gc_step(200);
        double took = cpu_seconds() - begin;
        steps++;
        late += took > 1e-3;
        longest = took > longest ? took : longest;
    }
    printf("%u steps, %u over 1 ms, longest %.2f ms\n", steps, late, longest * 1e3);
    ck_assert_uint_gt(steps, 20);
    if (!test_is_sanitized()) ck_assert_uint_le(late * 10, steps);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* ---- allocation pays ----------------------------------------------------------------------------------------------------- */

TEST_TIMEOUT(allocation_alone_drives_cycles_to_their_end, 60)
{
    coex_gc_config config = step_config();
    config.initial_heap = 4 * MIB;
    start_with(&config);
    uint32_t type = type_pair();
    coex_handle *slots = coex_gc_enter_frame(1000);
    uint64_t most = 0;
    for (unsigned i = 0; i < scaled(3000000, 300000); i++) {
        uint64_t at = i % 1000;
        slots[at] = new_pair(type, i / 1000 % 20 == 0 ? 0 : slots[at], i); /* lists of up to twenty: half a megabyte */
        if (i % 10000 == 0 && stats_now().current_heap_used > most) most = stats_now().current_heap_used;
    }
    printf("%" PRIu64 " cycles, at most %.1f MB\n", stats_now().collections_completed, (double)most / (double)MIB);
    ck_assert_uint_gt(stats_now().collections_completed, 3);
    ck_assert_uint_lt(most, 32 * MIB);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST_TIMEOUT(at_the_hard_limit_an_allocation_steps_to_the_end, 60)
{
    coex_gc_config config = step_config();
    config.initial_heap = 2 * MIB;
    config.heap_limit = 8 * MIB;
    start_with(&config);
    uint32_t bytes = type_bytes();
    coex_handle *slots = coex_gc_enter_frame(40);
    for (unsigned i = 0; i < scaled(50000, 3000); i++) {
        slots[i % 40] = coex_gc_alloc(100 + i % 100000, bytes); /* 4 MB alive, in pieces of all sizes */
        if (slots[i % 40] == 0) ck_abort_msg("allocation %u: %s", i, coex_gc_error_detail());
    }
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

static unsigned asked;

static bool free_some(uint64_t size, void *slots)
{
    (void)size;
    asked++;
    ((coex_handle *)slots)[0] = 0;
    coex_gc_step(100);
    coex_gc_collect();
    return true;
}

TEST(the_handler_of_exhaustion_may_step_and_collect)
{
    static coex_handle local;
    coex_handle *locals[] = {&local};
    coex_gc_config config = step_config();
    config.initial_heap = MIB;
    config.heap_limit = 4 * MIB;
    config.out_of_memory = free_some;
    config.context = &local;
    start_with(&config);
    coex_gc_frame *frame = coex_gc_push_frame(1, locals);
    local = coex_gc_alloc(3 * MIB, type_bytes());
    ck_assert_uint_ne(local, 0);
    coex_handle next = coex_gc_alloc(3 * MIB, coex_gc_type_of(local));
    ck_assert_uint_ne(next, 0);
    ck_assert_uint_eq(asked, 1);
    coex_gc_pop_frame(frame);
    coex_gc_shutdown();
}

/* ---- many ------------------------------------------------------------------------------------------------------------------ */

static test_flag enough;
static uint64_t ended_in_step;

static void step_and_allocate(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(way_seed + index);
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(16);
    uint64_t id[16] = {0};
    while (!flag_is_set(&enough)) {
        unsigned i = (unsigned)rng_below(&rng, 16);
        if (slots[i] != 0) node_expect(slots[i], id[i]);
        slots[i] = new_leaf();
        id[i] = node_id(slots[i]);
        if (rng_one_in(&rng, 20) && coex_gc_step(rng_below(&rng, 100))) count_up(&ended_in_step);
        if (rng_one_in(&rng, 300)) coex_gc_async();
        if (rng_one_in(&rng, 2000)) coex_gc_collect();
        if (rng_one_in(&rng, 500)) COEX_GC_NATIVE(usleep(50));
        if (rng_one_in(&rng, 1000) && stats_now().collections_completed > scaled(400, 40)) flag_set(&enough);
    }
    coex_gc_leave_frame(slots);
}

TEST_TIMEOUT(several_threads_step_one_cycle, 60)
{
    way_threads = 0;
    way_seed = test_seed();
    busy_start();
    run_threads_native(4, step_and_allocate, NULL);
    printf("%" PRIu64 " cycles, %" PRIu64 " steps had nothing left to do\n", stats_now().collections_completed, ended_in_step);
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_shutdown();
}
