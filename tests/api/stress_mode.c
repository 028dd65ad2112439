/*
 * Stress: cycles at chosen allocations. Which ones those are is tests/unit/debug/stress.c; this is that they happen.
 */
#include "support/objects.h"

static uint64_t cycles_of(uint64_t allocations, coex_gc_config config)
{
    start_with(&config);
    uint32_t type = type_pair();
    uint64_t before = stats_now().collections_completed;
    for (uint64_t i = 0; i < allocations; i++) expect(new_pair(type, 0, i) != 0);
    uint64_t cycles = stats_now().collections_completed - before;
    coex_gc_shutdown();
    return cycles;
}

TEST(with_waiting_each_chosen_allocation_has_its_cycle)
{
    coex_gc_config config = default_config();
    config.stress = 10;
    config.stress_wait = true;
    ck_assert_uint_eq(cycles_of(1000, config), 100);
}

TEST(with_bounds_only_those_between_have_one)
{
    coex_gc_config config = default_config();
    config.stress = 10;
    config.stress_from = 500;
    config.stress_to = 549;
    config.stress_wait = true;
    ck_assert_uint_eq(cycles_of(1000, config), 5);
}

TEST(the_same_without_a_gc_thread)
{
    coex_gc_config config = default_config();
    config.stress = 10;
    config.stress_wait = true;
    config.gc_threads = 0;
    ck_assert_uint_eq(cycles_of(1000, config), 100);
}

static void forget_a_root(void *unused)
{
    (void)unused;
    coex_gc_config config = default_config();
    config.stress = 1;
    config.stress_wait = true;
    config.stale = true;
    start_with(&config);
    uint32_t type = type_pair();
    coex_handle lost = new_pair(type, 0, 1); /* in no slot */
    new_pair(type, 0, 2);
    coex_gc_size(lost);
}

TEST(a_forgotten_root_shows_at_the_next_allocation) { expect_abort(forget_a_root, NULL, "names no object: it was of type pair"); }
