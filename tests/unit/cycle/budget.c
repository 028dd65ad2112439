/*
 * Budgets: what a slice may spend, and the work that is bounded only when memory for the mark queue runs out.
 */
#include "gc/cycle/collector.h"
#include "gc/marking/mark_queue.h"

#include "support/forks.h" /* last: one of its names is that of a parameter in blocks.h */

static void start_stepping(void)
{
    coex_gc_config config = quiet_config();
    config.gc_threads = 0;
    config.initial_heap = 4 * GIB;
    start_kept(&config);
}

/* Runs a cycle, and returns what is known of its slices. */
static struct cx_cycle_stats cycle_in_slices(void)
{
    coex_gc_async();
    while (!coex_gc_step(0)) {
    }
    struct cx_cycle_stats stats = cx_collector_stats();
    printf("%" PRIu64 " slices of %" PRIu64 " units at most\n", stats.slices, stats.most_units);
    return stats;
}

/* ---- the budget itself --------------------------------------------------------------------------------------- */

TEST_LABEL(a_budget_pays_for_the_piece_that_passes_its_end, timing)
TEST(a_budget_pays_for_the_piece_that_passes_its_end)
{
    struct cx_budget budget = cx_budget_of(100);
    ck_assert_uint_eq(cx_budget_affords(&budget, 30), 4);
    cx_budget_spend(&budget, 99);
    ck_assert(cx_budget_is_left(&budget));
    cx_budget_spend(&budget, CX_BUDGET_GRAIN);
    ck_assert(!cx_budget_is_left(&budget));
    ck_assert_uint_eq(cx_budget_affords(&budget, 30), 0);
    cx_budget_check(&budget, "test");
    cx_budget_forgive(&budget, 1000000);
    cx_budget_check(&budget, "test");
}

static void spend_too_much(void *unused)
{
    (void)unused;
    struct cx_budget budget = cx_budget_of(1);
    cx_budget_spend(&budget, CX_BUDGET_GRAIN + 2);
    cx_budget_check(&budget, "test");
}

TEST_LABEL(a_slice_that_spends_more_than_its_budget_is_named, timing)
TEST(a_slice_that_spends_more_than_its_budget_is_named)
{
    if (test_is_checked())
        expect_abort(spend_too_much, NULL, "INV-BUDGET-1 broken: a slice of \"test\" went 5201 units past its end");
}

TEST_LABEL(no_slice_of_a_cycle_spends_more_than_its_budget, timing)
TEST(no_slice_of_a_cycle_spends_more_than_its_budget)
{
    start_stepping();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = new_refs(refs, 1 << 20);
    for (int i = 0; i < 10000; i++) refs_set(slots[0], (uint64_t)i * 100, new_leaf());
    expect(coex_gc_alloc((uint64_t)32 << 20, type_bytes()) != 0);
    struct cx_cycle_stats stats = cycle_in_slices();
    ck_assert_uint_ge(stats.slices, (1 << 20) / CX_SLICE_UNITS);
    ck_assert_uint_le(stats.most_units, CX_SLICE_UNITS + CX_BUDGET_GRAIN);
    coex_gc_leave_frame(slots);
    stop_kept();
}

/* ---- without memory for the mark queue --------------------------------------------------------------------------- */

enum { LEAVES = 20000 };

/* From now on there is no memory for the mark queue: nobody makes a chunk, and those that there are get lost. */
static void leave_no_chunks(void)
{
    cx_world.mark_queue.most_chunks = 0;
    cx_world.mark_queue.free = NULL;
}

/* An array whose handle comes after those of its leaves: the collector has passed them when it finds it in the bitmap. */
static coex_handle new_wide(void)
{
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = new_refs(refs, LEAVES);
    for (uint64_t i = 0; i < LEAVES; i++) refs_set(slots[0], i, new_leaf());
    slots[1] = new_refs(refs, LEAVES);
    for (uint64_t i = 0; i < LEAVES; i++) refs_set(slots[1], i, refs_get(slots[0], i));
    coex_handle wide = slots[1];
    coex_gc_leave_frame(slots);
    return wide;
}

TEST(spilled_handles_are_traced_in_slices)
{
    start_stepping();
    leave_no_chunks();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_wide();
    struct cx_cycle_stats stats = cycle_in_slices();
    ck_assert_uint_ge(stats.slices, (uint64_t)LEAVES * CX_COST_TURN / CX_SLICE_UNITS * 2);
    ck_assert_uint_le(stats.most_units, CX_SLICE_UNITS + CX_BUDGET_GRAIN);
    for (uint64_t i = 0; i < LEAVES; i++) node_verify(refs_get(slots[0], i));
    coex_gc_leave_frame(slots);
    stop_kept();
}

TEST(a_long_array_is_read_in_slices_without_memory_for_its_rest)
{
    enum { ELEMENTS = 1 << 20 };
    start_stepping();
    leave_no_chunks();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_refs(refs, ELEMENTS);
    refs_set(slots[0], ELEMENTS - 1, new_leaf());
    struct cx_cycle_stats stats = cycle_in_slices();
    ck_assert_uint_ge(stats.slices, ELEMENTS / CX_SLICE_UNITS);
    ck_assert_uint_le(stats.most_units, CX_SLICE_UNITS + CX_BUDGET_GRAIN);
    node_verify(refs_get(slots[0], ELEMENTS - 1));
    coex_gc_leave_frame(slots);
    stop_kept();
}

TEST(marking_does_not_end_while_a_rest_has_a_place_of_its_own)
{
    coex_handle handle = 0;
    uint64_t rest = 0;
    start_stepping();
    ck_assert(cx_mark_queue_is_quiet(&cx_world.mark_queue));
    for (uint64_t i = 0; i < CX_GREY_RESTS; i++) ck_assert(cx_mark_queue_keep_rest(&cx_world.mark_queue, i + 1, CX_REST_ARRAY | i));
    ck_assert(!cx_mark_queue_keep_rest(&cx_world.mark_queue, 1, CX_REST_ARRAY));
    ck_assert(!cx_mark_queue_is_quiet(&cx_world.mark_queue));
    for (uint64_t i = CX_GREY_RESTS; i > 0; i--) {
        ck_assert(cx_mark_queue_take_rest(&cx_world.mark_queue, &handle, &rest));
        ck_assert_uint_eq(handle, i);
        ck_assert_uint_eq(rest & CX_GREY_REST_INDEX, i - 1);
    }
    ck_assert(!cx_mark_queue_take_rest(&cx_world.mark_queue, &handle, &rest));
    ck_assert(cx_mark_queue_is_quiet(&cx_world.mark_queue));
    stop_kept();
}

/* ---- fork ----------------------------------------------------------------------------------------------------------- */

static coex_handle *wide_slot;

/* What was spilled before the fork dies, its handles are free, and a new cycle spills again: only what it spills itself. */
static void child_spills_again(void)
{
    cx_world.mark_queue.most_chunks = UINT64_MAX;
    child_looks();
    wide_slot[0] = 0;
    for (int i = 0; i < 3; i++) coex_gc_collect();
    leave_no_chunks();
    wide_slot[0] = new_refs(refs, 100);
    for (uint64_t i = 0; i < 100; i++) refs_set(wide_slot[0], i, new_leaf());
    coex_gc_collect();
    expect_kept();
    coex_gc_leave_frame(wide_slot);
    stop_kept();
}

TEST_LABEL(a_fork_amid_spilled_handles_leaves_no_bit_behind, forks)
TEST_TIMEOUT(a_fork_amid_spilled_handles_leaves_no_bit_behind, 60)
{
    enum { STRIDE = 4 };
    unsigned done = 0, forks = 0;
    start_stepping();
    wide_slot = coex_gc_enter_frame(1);
    wide_slot[0] = new_wide();
    leave_no_chunks();
    coex_gc_async();
    for (; !coex_gc_step(0); done++) {
        if (done % STRIDE != 0) continue;
        fork_and_wait(child_spills_again);
        forks++;
    }
    printf("%u forks\n", forks);
    ck_assert_uint_gt(forks, 5);
    coex_gc_collect();
    for (uint64_t i = 0; i < LEAVES; i++) node_verify(refs_get(wide_slot[0], i));
    coex_gc_leave_frame(wide_slot);
    stop_kept();
}
