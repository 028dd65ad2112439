/* Which allocations ask for a cycle. */
#include "gc/debug/stress.h"

#include "support/test.h"

/* The numbers of the first allocations that are due, up to `last`. */
static int due(const coex_gc_config *config, uint64_t seed, uint64_t last, uint64_t *number, int room)
{
    struct cx_stress stress;
    cx_stress_init(&stress, config, seed);
    int count = 0;
    for (uint64_t i = 1; i <= last; i++) {
        if (cx_stress_is_due(&stress, config) && count < room) number[count++] = i;
    }
    return count;
}

TEST(no_cycle_is_asked_for_without_an_interval)
{
    coex_gc_config config = {.stress = 0, .stress_from = 1};
    uint64_t number[4];
    ck_assert_int_eq(due(&config, 0, 1000, number, 4), 0);
}

TEST(every_so_manieth_allocation_is_due)
{
    coex_gc_config config = {.stress = 10};
    uint64_t number[8];
    ck_assert_int_eq(due(&config, 0, 35, number, 8), 3);
    ck_assert_uint_eq(number[0], 10);
    ck_assert_uint_eq(number[2], 30);
}

TEST(nothing_is_due_outside_of_the_bounds)
{
    coex_gc_config config = {.stress = 10, .stress_from = 100, .stress_to = 120};
    uint64_t number[8];
    ck_assert_int_eq(due(&config, 0, 1000, number, 8), 3);
    ck_assert_uint_eq(number[0], 100);
    ck_assert_uint_eq(number[1], 110);
    ck_assert_uint_eq(number[2], 120);
}

TEST(random_gaps_have_the_average_asked_for_and_are_the_same_in_every_run)
{
    coex_gc_config config = {.stress = 20, .stress_random = true};
    static uint64_t once[10000], again[10000], other[10000];
    int count = due(&config, 3, 100000, once, 10000);
    ck_assert_int_gt(count, 4500);
    ck_assert_int_lt(count, 5500);
    ck_assert_int_eq(due(&config, 3, 100000, again, 10000), count);
    ck_assert_int_eq(memcmp(once, again, (size_t)count * sizeof once[0]), 0);
    due(&config, 4, 100000, other, 10000);
    ck_assert_int_ne(memcmp(once, other, 100 * sizeof once[0]), 0);
}
