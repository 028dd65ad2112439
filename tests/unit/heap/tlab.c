/*
 * Where a thread's small objects go: holes, alignment, the overflow block.
 */
#include "support/test.h"

#include "gc/heap/tlab.h"

static struct cx_heap heap;
static struct cx_tlab tlab;
static struct coex_gc_thread words;

#define HOLES_OF_ONE_LINE  0xaaaaaaaaaaaaaaaa
#define HOLES_OF_TWO_LINES 0xcccccccccccccccc

static void make(bool slow_always)
{
    ck_assert_int_eq(cx_heap_init(&heap, 1 << 20, 0, false), COEX_GC_OK);
    cx_tlab_init(&tlab, &words, slow_always);
}

static char *place(uint64_t bytes, uint64_t prefix, uint64_t align)
{
    return cx_tlab_place(&tlab, &words, &heap, bytes, prefix, align, false);
}

static uint32_t block_of(const char *address) { return (uint32_t)((size_t)(address - heap.base) / CX_BLOCK_BYTES); }

/* These lines, of each 64, of every block are marked; what the sweep finds are the holes between them. */
static void sweep_leaving(uint64_t marked)
{
    cx_tlab_give_up(&tlab, &words, &heap);
    for (uint32_t block = 0; block < cx_a32_load_relaxed(&heap.count); block++) {
        for (unsigned i = 0; i < CX_LINE_WORDS; i++) cx_a64_store_relaxed(&heap.blocks[block].marked[i], marked);
    }
    cx_heap_sweep_begin_gct(&heap);
    struct cx_budget budget = {0};
    while (cx_heap_sweep_some(&heap, &budget)) {
    }
    cx_heap_sweep_end_gct(&heap);
}

TEST(objects_are_aligned_and_never_overlap)
{
    static const uint64_t aligns[] = {8, 8, 8, 16, 32, 64};
    static uint8_t taken[64 << 20 >> 3];
    test_rng rng = rng_from(test_seed());
    make(false);
    int rounds = test_is_sanitized() ? 2000 : 20000;
    for (int round = 0; round < rounds; round++) {
        uint64_t prefix = rng_one_in(&rng, 2) ? 8 : 16, align = aligns[rng_below(&rng, 6)];
        uint64_t bytes = prefix + (rng_below(&rng, rng_one_in(&rng, 20) ? COEX_GC_SMALL_MAX - prefix + 1 : 300) & ~(uint64_t)7);
        char *start = place(bytes, prefix, align);
        expect(start != NULL);
        expect_eq((uintptr_t)(start + prefix) % align, 0);
        expect_eq(block_of(start), block_of(start + bytes - 1));
        for (uint64_t i = 0; i < bytes; i++) expect(start[i] == 0);
        memset(start, 0xff, bytes);
        size_t first = (size_t)(start - heap.base) / 8;
        expect(first + bytes / 8 <= sizeof taken);
        for (size_t i = first; i < first + bytes / 8; i++) {
            expect(!taken[i]);
            taken[i] = 1;
        }
    }
    cx_heap_fini(&heap);
}

TEST(objects_of_up_to_a_line_fill_holes_of_one_line)
{
    make(false);
    ck_assert_ptr_nonnull(place(128, 8, 8));
    sweep_leaving(HOLES_OF_ONE_LINE);
    for (int i = 0; i < 128; i++) {
        char *start = place(128, 8, 8);
        ck_assert_uint_eq(block_of(start), 0);
        ck_assert_int_eq((start - heap.base) / CX_LINE_BYTES % 2, 0);
    }
    ck_assert_uint_eq(block_of(place(128, 8, 8)), 1);
    cx_heap_fini(&heap);
}

TEST(object_that_does_not_fit_the_hole_goes_to_an_overflow_block_and_leaves_the_hole_alone)
{
    make(false);
    ck_assert_ptr_nonnull(place(8, 8, 8));
    sweep_leaving(HOLES_OF_TWO_LINES);
    char *small = place(16, 8, 8), *large = place(4000, 16, 8), *next = place(16, 8, 8), *second = place(4000, 16, 8);
    ck_assert_uint_eq(block_of(small), 0);
    ck_assert_uint_ne(block_of(large), 0);
    ck_assert_ptr_eq(next, small + 16);
    ck_assert_ptr_eq(second, large + 4000);
    /* Full: the next overflow block. */
    uint32_t first_overflow = block_of(large);
    for (int i = 0; i < 6; i++) ck_assert_uint_eq(block_of(place(4000, 16, 8)), first_overflow);
    ck_assert_uint_ne(block_of(place(4000, 16, 8)), first_overflow);
    ck_assert_ptr_eq(place(16, 8, 8), next + 16);
    cx_heap_fini(&heap);
}

TEST(largest_small_objects_fill_a_block_with_four)
{
    make(false);
    char *first = place(COEX_GC_SMALL_MAX, 8, 8);
    for (int i = 1; i < 4; i++) ck_assert_ptr_eq(place(COEX_GC_SMALL_MAX, 8, 8), first + i * COEX_GC_SMALL_MAX);
    ck_assert_uint_ne(block_of(place(COEX_GC_SMALL_MAX, 8, 8)), block_of(first));
    cx_heap_fini(&heap);
}

TEST(bytes_count_what_was_placed)
{
    make(false);
    uint64_t sum = 0;
    for (int i = 0; i < 5000; i++) {
        uint64_t bytes = 16 + (uint64_t)(i % 20) * 8;
        ck_assert_ptr_nonnull(place(bytes, 8, 8));
        sum += bytes;
        ck_assert_uint_eq(cx_tlab_bytes(&tlab, &words), sum);
    }
    cx_tlab_give_up(&tlab, &words, &heap);
    ck_assert_uint_eq(cx_tlab_bytes(&tlab, &words), sum);
    cx_heap_fini(&heap);
}

TEST(thread_that_leaves_owns_no_block_any_more)
{
    make(false);
    ck_assert_ptr_nonnull(place(8, 8, 8));
    sweep_leaving(HOLES_OF_TWO_LINES);
    ck_assert_ptr_nonnull(place(16, 8, 8));
    ck_assert_ptr_nonnull(place(4000, 8, 8));
    uint32_t block = tlab.block, overflow = tlab.overflow;
    ck_assert_uint_ne(block, overflow);
    ck_assert_uint_eq(cx_a32_load_relaxed(&heap.blocks[block].state), CX_BLOCK_OWNED);
    ck_assert_uint_eq(cx_a32_load_relaxed(&heap.blocks[overflow].state), CX_BLOCK_OWNED);
    cx_tlab_give_up(&tlab, &words, &heap);
    ck_assert_uint_eq(cx_a32_load_relaxed(&heap.blocks[block].state), CX_BLOCK_USED);
    ck_assert_uint_eq(cx_a32_load_relaxed(&heap.blocks[overflow].state), CX_BLOCK_USED);
    ck_assert_uint_eq(words.cursor, 0);
    ck_assert_uint_eq(words.end, 0);
    cx_heap_fini(&heap);
}

TEST(holding_covers_the_rest_of_hole_and_overflow_block_and_nothing_before)
{
    make(false);
    ck_assert_ptr_nonnull(place(8, 8, 8));
    sweep_leaving(HOLES_OF_TWO_LINES);
    place(16, 8, 8);
    char *overflow = place(4000, 8, 8);
    cx_tlab_hold(&tlab, &words, &heap);
    ck_assert_uint_eq(cx_a64_load_relaxed(&heap.blocks[0].held[0]), 3); /* the line that the cursor is in, and the next */
    ck_assert_uint_eq(cx_a64_load_relaxed(&heap.blocks[0].held[1]), 0);
    const struct cx_block *block = cx_heap_block_of(&heap, overflow);
    ck_assert_uint_eq(cx_a64_load_relaxed(&block->held[0]), UINT64_MAX << (4000 / CX_LINE_BYTES));
    for (unsigned i = 1; i < CX_LINE_WORDS; i++) ck_assert_uint_eq(cx_a64_load_relaxed(&block->held[i]), UINT64_MAX);
    cx_heap_fini(&heap);
}

TEST(stress_keeps_every_allocation_off_the_fast_path)
{
    make(true);
    for (int i = 0; i < 100; i++) {
        ck_assert_ptr_nonnull(place(24, 8, 8));
        ck_assert_uint_eq(words.end, 0);
    }
    cx_heap_fini(&heap);
}

/* ---- an object larger than a line where no block is empty ------------------------------------------------- */

enum { FULL_BLOCKS = 8 };

/* All blocks that the limit allows are in use, with holes as `marked` leaves them. */
static void make_full(uint64_t marked)
{
    ck_assert_int_eq(cx_heap_init(&heap, 1 << 20, FULL_BLOCKS * CX_BLOCK_BYTES, false), COEX_GC_OK);
    cx_tlab_init(&tlab, &words, false);
    while (place(COEX_GC_SMALL_MAX, 8, 8) != NULL) {
    }
    sweep_leaving(marked);
}

static unsigned free_lines(void)
{
    unsigned lines = 0;
    for (uint32_t block = 0; block < FULL_BLOCKS; block++) {
        for (unsigned i = 0; i < CX_LINE_WORDS; i++) lines += (unsigned)__builtin_popcountll(heap.blocks[block].free[i]);
    }
    return lines;
}

TEST(object_that_fits_no_hole_is_refused_and_takes_one_hole_at_the_most)
{
    make_full(HOLES_OF_TWO_LINES);
    unsigned before = free_lines();
    expect_eq(before, FULL_BLOCKS * CX_BLOCK_LINES / 2);
    for (int i = 0; i < 100; i++) ck_assert_ptr_null(place(300, 8, 8));
    ck_assert_uint_ge(free_lines() + 2, before);
    /* And what is left is there for objects that do fit. */
    for (unsigned i = 0; i < before; i++) ck_assert_ptr_nonnull(place(128, 8, 8));
    ck_assert_ptr_null(place(128, 8, 8));
    cx_heap_fini(&heap);
}

TEST(object_larger_than_a_line_finds_the_one_hole_that_it_fits)
{
    make_full(HOLES_OF_ONE_LINE);
    cx_a64_store_relaxed(&heap.blocks[3].marked[1], HOLES_OF_ONE_LINE & ~(uint64_t)0xff00); /* nine lines in a row */
    cx_heap_sweep_begin_gct(&heap);
    struct cx_budget budget = cx_budget_of(1 << 20);
    while (cx_heap_sweep_some(&heap, &budget)) {
    }
    cx_heap_sweep_end_gct(&heap);
    unsigned before = free_lines();
    ck_assert_ptr_nonnull(place(16, 8, 8)); /* the thread has a hole of its own */
    char *object = place(1000, 8, 8);
    ck_assert_ptr_nonnull(object);
    ck_assert_uint_eq(block_of(object), 3);
    for (int i = 0; i < 1000; i++) expect(object[i] == 0);
    ck_assert_ptr_null(place(1000, 8, 8));
    ck_assert_uint_ge(free_lines() + 20, before);
    /* The thread does not own the block, or it does: its other holes are there in either case. */
    for (unsigned i = 0; i < before - 20; i++) ck_assert_ptr_nonnull(place(128, 8, 8));
    cx_heap_fini(&heap);
}

TEST(runs_of_a_block_that_nobody_owns_are_held_and_survive_a_sweep)
{
    char *start[2], *end[2];
    make_full(HOLES_OF_TWO_LINES);
    for (int i = 0; i < 2; i++) ck_assert(cx_heap_take_listed_run(&heap, 2, true, &start[i], &end[i]));
    ck_assert_uint_eq(block_of(start[0]), block_of(start[1]));
    ck_assert_ptr_ne(start[0], start[1]);
    ck_assert_uint_eq(cx_a32_load_relaxed(&cx_heap_block_of(&heap, start[0])->state), CX_BLOCK_PARTIAL);
    cx_heap_sweep_begin_gct(&heap);
    struct cx_budget budget = cx_budget_of(1 << 20);
    while (cx_heap_sweep_some(&heap, &budget)) {
    }
    cx_heap_sweep_end_gct(&heap);
    for (int i = 0; i < 2; i++) {
        const struct cx_block *block = cx_heap_block_of(&heap, start[i]);
        unsigned line = cx_heap_line_of(start[i]);
        ck_assert_uint_eq(block->free[line / 64] >> (line % 64) & 3, 0);
    }
    cx_heap_fini(&heap);
}
