/*
 * The handle table after a peak: clearing and sweeping cost what is in use, and its pages go back.
 */
#include "support/nodes.h"
#include "support/objects.h"

#include "base/schedule_point.h"
#include "gc/threads/thread_record.h"

enum { PEAK = 300000 };

static struct cx_handles *const handles = &cx_world.handles;

static uint64_t top(void) { return cx_a64_load_relaxed(&handles->top); }

static void start_stepping(void)
{
    coex_gc_config config = quiet_config();
    config.gc_threads = 0; /* nobody else trims */
    start_with(&config);
    nodes_init();
}

/* A list of so many nodes in slots[0]. */
static void build(coex_handle *slots, unsigned count)
{
    slots[0] = 0;
    for (unsigned i = 0; i < count; i++) {
        coex_handle two[] = {slots[0], 0};
        slots[0] = node_make(node_fresh_id(NODE_LINK), two, 2, 0);
        expect(slots[0] != 0);
    }
}

static void verify(coex_handle *slots)
{
    for (coex_handle at = slots[0]; at != 0; at = node_child(at, 0)) node_verify(at);
}

static void collect_thrice(void)
{
    for (int i = 0; i < 3; i++) coex_gc_collect(); /* retired, free, and the table is low again */
}

TEST(a_peak_is_forgotten_when_its_handles_are_free)
{
    start_stepping();
    coex_handle *slots = coex_gc_enter_frame(1);
    build(slots, PEAK);
    expect(top() >= PEAK / 64);
    coex_gc_collect();
    expect(top() >= PEAK / 64);
    slots[0] = 0;
    collect_thrice();
    expect(top() <= 64);
    build(slots, PEAK); /* and it comes again */
    collect_thrice();
    verify(slots);
    expect(top() >= PEAK / 64);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(handles_that_are_alive_at_the_end_of_the_table_keep_it_high)
{
    start_stepping();
    coex_handle *slots = coex_gc_enter_frame(2);
    build(slots, PEAK);
    coex_handle two[] = {0, 0};
    slots[1] = node_make(node_fresh_id(NODE_LINK), two, 2, 0);
    slots[0] = 0;
    collect_thrice();
    expect(top() > cx_index_of(slots[1]) / 64);
    node_verify(slots[1]);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* Counted in units of work: an empty table has next to nothing to clear and to sweep. */
TEST(cycle_with_nothing_alive_looks_at_few_words)
{
    start_stepping();
    collect_thrice();
    expect(top() <= 64);
    coex_gc_shutdown();
}

TEST(pages_of_a_peak_are_given_back_and_can_be_used_again)
{
    start_stepping();
    coex_handle *slots = coex_gc_enter_frame(1);
    build(slots, PEAK);
    slots[0] = 0;
    collect_thrice();
    unsigned pieces = 0;
    for (bool more = true; more; pieces += more) {
        struct cx_budget budget = cx_budget_of(CX_SLICE_UNITS);
        more = cx_handles_trim_gct(handles, &budget);
        cx_budget_check(&budget, "trim");
    }
    expect(pieces >= PEAK / 65536);
    expect(handles->touched <= 65536 / 64);
    uint64_t size = cx_a64_load_relaxed(&handles->committed);
    build(slots, PEAK);
    collect_thrice();
    verify(slots);
    expect_eq(cx_a64_load_relaxed(&handles->committed), size);
    expect(top() < PEAK / 64 + 1000); /* what was given back is found again */
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* Between the two locks of a trim: words of the piece are not to be had, and are afterwards. */
static uint64_t claimed_meanwhile;

static void claim_all(const char *point)
{
    static struct cx_held held;
    if (strcmp(point, "handles-piece-taken") != 0) return;
    cx_schedule_point_set_hook(NULL);
    for (uint64_t word = 0; word < 65536 / 64 + 100;) { /* more than lie below the piece */
        held.count = held.appetite = 0;
        expect(cx_handles_claim(handles, &held, false));
        claimed_meanwhile = held.word[0] > claimed_meanwhile ? held.word[0] : claimed_meanwhile;
        word += held.count;
    }
}

TEST(no_word_of_a_piece_is_claimed_while_its_pages_go_back)
{
    if (!test_is_checked()) return; /* it needs points */
    start_stepping();
    coex_handle *slots = coex_gc_enter_frame(1);
    build(slots, 65536 + 1000); /* into the second piece */
    slots[0] = 0;
    collect_thrice();
    struct cx_budget budget = cx_budget_of(CX_SLICE_UNITS);
    cx_schedule_point_set_hook(claim_all);
    expect(cx_handles_trim_gct(handles, &budget));
    expect(claimed_meanwhile > 0);
    expect(claimed_meanwhile < 65536 / 64 || claimed_meanwhile >= 2 * 65536 / 64);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}
