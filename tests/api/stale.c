/*
 * stale=1: freed handles stay out of use, and whoever uses one is told what it was.
 */
#include "support/objects.h"

static uint32_t type;

static void start_stale(uint64_t max_handles)
{
    coex_gc_config config = default_config();
    config.stale = true;
    if (max_handles != 0) config.initial_handles = config.max_handles = max_handles;
    start_with(&config);
    type = type_pair();
}

/* One that nobody refers to, after the cycle that frees it. */
static coex_handle dead_pair(void)
{
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_pair(type, 0, 42);
    coex_handle dead = slots[0];
    slots[0] = 0;
    coex_gc_leave_frame(slots);
    coex_gc_collect();
    return dead;
}

TEST_ABORTS(a_stale_handle_is_reported_with_its_type_and_the_cycle_that_freed_it, "it was of type pair, allocated at ")
{
    start_stale(0);
    coex_gc_exchange(dead_pair(), 0, 0);
}

TEST_ABORTS(the_report_names_the_cycle, "and freed in cycle 3")
{
    start_stale(0);
    coex_gc_collect();
    coex_gc_collect();
    coex_gc_size(dead_pair());
}

TEST_ABORTS(a_stale_value_is_reported_where_it_is_stored, "it was of type pair")
{
    start_stale(0);
    coex_handle dead = dead_pair();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_pair(type, 0, 1);
    if (coex_gc_is_handle(dead)) return;
    if (test_is_checked())
        coex_gc_init_ref(slots[0], 0, dead);
    else
        coex_gc_size(dead); /* a release build looks at objects only */
}

TEST(a_stale_handle_reads_null_many_cycles_later)
{
    start_stale(0);
    coex_handle dead = dead_pair();
    for (int cycle = 0; cycle < 10; cycle++) {
        for (int i = 0; i < 10000; i++) expect(index_of(new_pair(type, 0, 0)) != index_of(dead));
        coex_gc_collect();
        expect(!coex_gc_is_handle(dead));
    }
    coex_gc_shutdown();
}

TEST(without_it_a_handle_comes_back)
{
    start_quiet();
    type = type_pair();
    coex_handle dead = dead_pair();
    bool back = false;
    for (int cycle = 0; cycle < 10 && !back; cycle++) {
        for (int i = 0; i < 10000 && !back; i++) back = index_of(new_pair(type, 0, 0)) == index_of(dead);
        coex_gc_collect();
    }
    ck_assert(back);
    coex_gc_shutdown();
}

TEST(handles_that_are_kept_out_of_use_come_back_before_there_are_none)
{
    start_stale(16384);
    for (int i = 0; i < 200000; i++) expect(new_pair(type, 0, 0) != 0);
    coex_gc_shutdown();
}

/* The handle was given out again: in a checked build its generation tells the two apart. */
static void use_a_handle_that_came_back(void *unused)
{
    (void)unused;
    start_quiet();
    type = type_pair();
    coex_handle dead = dead_pair();
    coex_gc_collect();
    coex_handle *slots = coex_gc_enter_frame(1);
    for (int i = 0; i < 100000 && index_of(slots[0]) != index_of(dead); i++) slots[0] = new_pair(type, 0, 0);
    expect(index_of(slots[0]) == index_of(dead) && slots[0] != dead);
    expect(coex_gc_is_handle(slots[0]) && !coex_gc_is_handle(dead));
    coex_gc_load(dead, 0);
}

TEST(a_stale_handle_is_told_from_the_one_that_has_its_place_now)
{
    if (test_is_checked()) expect_abort(use_a_handle_that_came_back, NULL, "coex_gc_load: handle ");
}

static void use_after_several_lives(void *unused)
{
    (void)unused;
    start_quiet();
    type = type_pair();
    coex_handle dead = dead_pair();
    for (int life = 0; life < 3; life++) {
        coex_gc_collect();
        for (int i = 0; i < 100000 && index_of(new_pair(type, 0, 0)) != index_of(dead); i++) {
        }
        coex_gc_collect();
    }
    coex_gc_size(dead);
}

TEST(a_handle_of_long_ago_is_reported_as_such)
{
    if (test_is_checked()) expect_abort(use_after_several_lives, NULL, "and the handle was reused");
}
