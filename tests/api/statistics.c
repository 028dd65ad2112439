/*
 * coex_gc_get_stats: the numbers agree with what the program did and with each other; and coex_gc_validate_heap finds a healthy
 * heap healthy.
 */
#include "support/nodes.h"
#include "support/objects.h"

#include <unistd.h>

TEST(statistics_without_a_runtime_are_zero)
{
    coex_gc_stats stats = stats_now(), zero;
    memset(&zero, 0, sizeof zero);
    ck_assert_mem_eq(&stats, &zero, sizeof zero);
}

TEST(statistics_count_what_one_thread_allocates)
{
    enum { COUNT = 1000 };
    start_quiet();
    nodes_init();
    coex_gc_stats before = stats_now();
    coex_handle *slot = coex_gc_enter_frame(COUNT);
    for (int i = 0; i < COUNT; i++) slot[i] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0); /* 32 bytes and a header */
    coex_gc_stats after = stats_now();
    ck_assert_uint_eq(after.total_allocations - before.total_allocations, COUNT);
    ck_assert_uint_eq(after.total_handles_allocated - before.total_handles_allocated, COUNT);
    ck_assert_uint_eq(after.total_bytes_allocated - before.total_bytes_allocated, COUNT * 40);
    ck_assert_uint_eq(after.current_handles_in_use - before.current_handles_in_use, COUNT);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(statistics_of_a_cycle_say_what_it_did)
{
    enum { KEPT = 300, DROPPED = 700 };
    start_quiet();
    nodes_init();
    coex_handle *slot = coex_gc_enter_frame(KEPT);
    for (int i = 0; i < KEPT + DROPPED; i++) {
        coex_handle made = node_make(node_fresh_id(NODE_BLOB), NULL, 0, i % 2 == 0 ? 2000 : 10);
        if (i >= DROPPED) slot[i - DROPPED] = made;
    }
    coex_gc_collect();
    coex_gc_stats first = stats_now();
    ck_assert_uint_eq(first.collections_completed, 1);
    ck_assert_uint_eq(first.objects_marked_last_cycle, KEPT);
    ck_assert_uint_eq(first.objects_swept_last_cycle, DROPPED);
    ck_assert_uint_ge(first.handles_retired_last_cycle, DROPPED);
    ck_assert_uint_eq(first.handles_recycled_last_cycle, 0);
    ck_assert_uint_ge(first.bytes_reclaimed_last_cycle, DROPPED / 2 * 16000);
    ck_assert_uint_eq(first.current_handles_in_use, KEPT);
    ck_assert_uint_gt(first.last_gc_duration_ns, 0);
    ck_assert_uint_ge(first.last_gc_duration_ns, first.last_mark_duration_ns + first.last_sweep_duration_ns);
    ck_assert_uint_eq(first.total_gc_time_ns, first.last_gc_duration_ns);
    coex_gc_collect();
    coex_gc_stats second = stats_now();
    ck_assert_uint_eq(second.objects_marked_last_cycle, KEPT);
    ck_assert_uint_eq(second.objects_swept_last_cycle, 0);
    ck_assert_uint_eq(second.handles_recycled_last_cycle, first.handles_retired_last_cycle);
    ck_assert_uint_eq(second.total_gc_time_ns, first.total_gc_time_ns + second.last_gc_duration_ns);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

/* What holds between the numbers at any time, whatever runs. */
static void expect_consistent(const coex_gc_stats *stats)
{
    expect(stats->current_heap_used <= stats->current_heap_size);
    expect(stats->current_handles_in_use + stats->current_handles_free <= stats->current_handle_table_size);
    expect(stats->total_handles_allocated == stats->total_allocations);
    expect(stats->fragmentation_ratio_percent <= 100);
    expect(stats->last_gc_duration_ns <= stats->total_gc_time_ns);
    expect(stats->objects_swept_last_cycle <= stats->handles_retired_last_cycle);
    const coex_gc_times *times[] = {&stats->stop_cpu,      &stats->stop_wall,      &stats->handshake,
                                    &stats->stop_cpu_last, &stats->stop_wall_last, &stats->handshake_last};
    for (unsigned i = 0; i < sizeof times / sizeof times[0]; i++) {
        expect(times[i]->p50 <= times[i]->p99 && times[i]->p99 <= times[i]->p999 && times[i]->p999 <= times[i]->max);
        expect((times[i]->count == 0) == (times[i]->max == 0) || times[i]->max == 0);
    }
}

static bool stop;

static void work(test_rng *rng)
{
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(20);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        slot[rng_below(rng, 20)] =
            node_make(node_fresh_id(NODE_BLOB), NULL, 0, (uint32_t)rng_below(rng, rng_one_in(rng, 50) ? 5000 : 40));
        if (rng_one_in(rng, 5000)) coex_gc_async();
    }
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
}

/* The last one watches, from outside. */
static void work_or_watch(unsigned index, void *arg)
{
    test_rng rng = rng_from(*(uint64_t *)arg + index);
    uint64_t cycles = 0, allocations = 0;
    if (index < 3) {
        work(&rng);
        return;
    }
    for (unsigned i = 0; i < (test_is_sanitized() ? 300 : 1000); i++) {
        coex_gc_stats stats = stats_now();
        expect_consistent(&stats);
        expect(stats.collections_completed >= cycles && stats.total_allocations >= allocations);
        expect(stats.registered_thread_count <= 4);
        cycles = stats.collections_completed;
        allocations = stats.total_allocations;
        if (i % 100 == 0) expect_eq(coex_gc_validate_heap(), 0);
        usleep(200);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
}

TEST_TIMEOUT(statistics_are_consistent_and_the_heap_valid_while_threads_run, 60)
{
    uint64_t seed = test_seed();
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    start_with(&config);
    nodes_init();
    coex_gc_enter_native();
    run_threads(4, work_or_watch, &seed);
    coex_gc_leave_native();
    coex_gc_stats stats = stats_now();
    ck_assert_uint_gt(stats.collections_completed, 0);
    ck_assert_uint_gt(stats.stop_cpu.count, 0);
    ck_assert_uint_gt(stats.handshake.count, stats.collections_completed * 3);
    coex_gc_shutdown();
}

static void count_up(unsigned index, void *arg)
{
    (void)index;
    coex_gc_register_thread();
    for (int i = 0; i < 1000; i++) node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    if (arg != NULL) coex_gc_unregister_thread();
}

TEST(allocations_of_threads_that_left_are_counted_exactly)
{
    static int explicitly;
    start_quiet();
    nodes_init();
    coex_gc_enter_native();
    run_threads(7, count_up, &explicitly);
    run_threads(5, count_up, NULL);
    coex_gc_leave_native();
    ck_assert_uint_eq(stats_now().total_allocations, 12000);
    coex_gc_shutdown();
}
