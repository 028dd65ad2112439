/*
 * The memory of the mark stack: chunks come and go, and pages that no cycle needs go back.
 */
#include "support/test.h"

#include "gc/marking/mark_queue.h"

#include <sys/mman.h>

enum { MANY = 2000 };

static struct cx_handles handles = {.max = 1 << 24};
static struct cx_mark_queue mark_queue;
static struct cx_chunk *taken[MANY];

static void take(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        taken[i] = cx_mark_queue_take_empty(&mark_queue);
        ck_assert_ptr_nonnull(taken[i]);
        for (unsigned j = 0; j < i && j < 4; j++) ck_assert_ptr_ne(taken[i], taken[j]);
        memset(taken[i]->entry, 0x55, sizeof taken[i]->entry);
    }
}

static void give(unsigned count)
{
    for (unsigned i = 0; i < count; i++) cx_mark_queue_give_empty(&mark_queue, taken[i]);
}

/* A cycle that needs so many chunks at once, and what is trimmed at its end. Returns slices. */
static unsigned cycle(unsigned count)
{
    unsigned slices = 0;
    take(count);
    give(count);
    cx_mark_queue_cycle_ended_gct(&mark_queue);
    for (bool more = true; more; slices++) {
        struct cx_budget budget = cx_budget_of(CX_SLICE_UNITS);
        more = cx_mark_queue_trim_gct(&mark_queue, &budget);
        cx_budget_check(&budget, "trim");
    }
    return slices;
}

static unsigned resident(void)
{
    unsigned char pages[MANY + 1];
    unsigned count = 0;
    expect(mincore(mark_queue.range.base, (size_t)mark_queue.chunks * CX_CHUNK_BYTES, pages) == 0);
    for (uint64_t i = 0; i < mark_queue.chunks; i++) count += pages[i] & 1;
    return count;
}

static void start(void) { ck_assert_int_eq(cx_mark_queue_init(&mark_queue, &handles), COEX_GC_OK); }

TEST(chunks_of_a_peak_go_back_after_two_cycles_that_need_less)
{
    start();
    cycle(MANY);
    ck_assert_uint_ge(resident(), MANY); /* the last cycle needed them */
    cycle(10);
    ck_assert_uint_ge(resident(), MANY);                                      /* the one before it did */
    ck_assert_uint_gt(cycle(10), MANY / (CX_SLICE_UNITS / CX_COST_CALL) / 2); /* in bounded pieces */
    ck_assert_uint_le(resident(), 32);
    cx_mark_queue_fini(&mark_queue);
}

TEST(chunks_that_every_cycle_needs_stay)
{
    start();
    for (int i = 0; i < 5; i++) {
        cycle(MANY);
        ck_assert_uint_ge(resident(), MANY);
    }
    cx_mark_queue_fini(&mark_queue);
}

TEST(chunks_that_went_back_are_used_again_before_new_ones_are_made)
{
    start();
    for (int round = 0; round < 3; round++) {
        cycle(MANY);
        for (int i = 0; i < 3; i++) cycle(10);
        ck_assert_uint_eq(mark_queue.chunks, MANY);
        ck_assert_uint_eq(mark_queue.free_count + mark_queue.cold + mark_queue.out, mark_queue.chunks); /* INV-QUEUE-4 */
    }
    take(MANY);
    ck_assert_uint_eq(mark_queue.chunks, MANY);
    ck_assert_uint_eq(mark_queue.out, MANY);
    cx_mark_queue_fini(&mark_queue);
}
