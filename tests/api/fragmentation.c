/*
 * coex_gc_fragmentation_report, and what the statistics say of free space: heaps whose holes the test has made, and programs that run on.
 */
#include "support/borders.h"
#include "support/dump_parser.h"

static uint32_t bytes;

static dump_fragments fragments_now(void)
{
    capture_begin();
    coex_gc_fragmentation_report();
    return parse_fragments(capture_end());
}

static void expect_sums(const dump_fragments *report)
{
    double percent = 0;
    expect_eq(report->allocated + report->free, report->size);
    ck_assert_double_eq_tol(report->allocated_percent + report->free_percent, 100, 0.11);
    ck_assert_double_eq_tol(report->free_percent, (double)report->free * 100 / (double)report->size, 0.051);
    for (int i = 0; i < FRAGMENT_CLASSES; i++) percent += report->percent[i];
    ck_assert_double_eq_tol(percent, 100, 0.36);
    expect_eq(report->blocks[0], 0); /* nothing smaller than a line is free */
}

static void fresh_heap_is_whole(void)
{
    coex_gc_config config = way_config();
    config.initial_heap = 4 * MIB;
    start_with(&config);
    bytes = type_bytes();
    dump_fragments report = fragments_now();
    expect_sums(&report);
    ck_assert_uint_eq(report.size, stats_now().current_heap_size);
    ck_assert_uint_eq(report.free, report.size);
    ck_assert_uint_eq(report.blocks[5], 4 * MIB / 32768);
    ck_assert_double_eq_tol(report.index, 0, 0.001);
    ck_assert_str_eq(report.recommendation, "Fragmentation is low, compaction not needed");
    coex_gc_shutdown();
}

TEST(fresh_heap_is_not_fragmented) { both_ways(fresh_heap_is_whole); }

/* Objects of two lines, of which every other one lives: each free piece is as large as one. */
static void holes_are_counted(void)
{
    enum { COUNT = 15000 };
    coex_gc_config config = way_config();
    config.initial_heap = 4 * MIB; /* about as much as is allocated */
    config.percent = 100000;
    start_with(&config);
    bytes = type_bytes();
    uint32_t plain = type_plain(248, 0);
    coex_handle *slot = coex_gc_enter_frame(COUNT / 2);
    for (int i = 0; i < 50; i++) slot[i] = coex_gc_alloc(2000, bytes);
    coex_gc_collect(); /* from here on no cycle comes by itself */
    for (int i = 0; i < COUNT; i++) slot[i / 2] = coex_gc_alloc(248, plain);
    dump_fragments report = fragments_now();
    expect_sums(&report);
    ck_assert_uint_gt(report.blocks[2], COUNT / 4);
    ck_assert_double_gt(report.percent[2], 40);
    ck_assert_double_gt(report.index, 0.6);
    ck_assert_str_eq(report.recommendation, "Fragmentation is high, compaction recommended");
    ck_assert_uint_eq(stats_now().collections_completed, 2);
    /* The statistics say the same of the sweep behind it. */
    coex_gc_stats stats = stats_now();
    ck_assert_uint_eq(stats.current_heap_size, report.size);
    uint64_t pieces = 0;
    for (int i = 0; i < FRAGMENT_CLASSES; i++) pieces += report.blocks[i];
    ck_assert_uint_le(stats.total_free_blocks, pieces + 300);
    ck_assert_uint_ge(stats.total_free_blocks + 300, pieces); /* but for the blocks that threads have in hand */
    ck_assert_uint_eq(stats.largest_free_block, report.largest);
    ck_assert_double_eq_tol((double)stats.fragmentation_ratio_percent / 100, report.index, 0.15);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(holes_between_live_objects_are_counted_by_size) { both_ways(holes_are_counted); }

TEST(free_pages_of_large_objects_are_in_the_report)
{
    start_quiet();
    bytes = type_bytes();
    coex_handle *slot = coex_gc_enter_frame(3);
    for (int i = 0; i < 3; i++) slot[i] = coex_gc_alloc(400000, bytes);
    slot[1] = 0;
    coex_gc_collect();
    dump_fragments report = fragments_now();
    expect_sums(&report);
    ck_assert_uint_ge(report.blocks[6], 2); /* the hole in the middle, and what is behind the last one */
    ck_assert_uint_eq(report.largest, stats_now().largest_free_block);
    ck_assert_uint_gt(report.largest, 400000);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

/* A program whose live set stays as large as it is, with objects of all sizes coming and going. */
static void steady(void)
{
    enum { LIVE = 3000, ROUNDS = 120 };
    test_rng rng = rng_from(way_seed);
    coex_gc_config config = way_config();
    config.initial_heap = MIB;
    start_with(&config);
    bytes = type_bytes();
    coex_handle *slot = coex_gc_enter_frame(LIVE);
    uint64_t early = 0, late = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < LIVE / 2; i++)
            slot[rng_below(&rng, LIVE)] = coex_gc_alloc(rng_below(&rng, rng_one_in(&rng, 50) ? 12000 : 600), bytes);
        dump_fragments report = fragments_now();
        expect_eq(report.allocated + report.free, report.size);
        if (round >= ROUNDS / 3 && round < 2 * ROUNDS / 3 && report.size > early) early = report.size;
        if (round >= 2 * ROUNDS / 3 && report.size > late) late = report.size;
    }
    printf("heap of at most %.1f MB in the second third, %.1f MB in the last\n", (double)early / (double)MIB,
           (double)late / (double)MIB);
    ck_assert_uint_le(late, early * 2); /* the heap doubles when it grows: one growth at most */
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(fragmentation_of_a_steady_program_does_not_make_its_heap_grow) { both_ways(steady); }
