/*
 * Blocks and lines: states of a block, holes, what the sweep frees, the limit, growth.
 *
 * The tests play all parts themselves: the owner that takes blocks and holes, the marker, the collector that sweeps.
 */
#include "support/test.h"

#include "gc/heap/blocks.h"

static struct cx_heap heap;
static struct cx_heap_claim claim;

static uint32_t take_block(bool holes)
{
    uint32_t spares = 0;
    return cx_heap_take_block(&heap, holes, NULL, &spares);
}

enum { LIMITED = 4 << 20 };

static void make(uint64_t initial, uint64_t limit) { ck_assert_int_eq(cx_heap_init(&heap, initial, limit, false), COEX_GC_OK); }

static enum cx_block_state state_of(uint32_t block) { return (enum cx_block_state)cx_a32_load_relaxed(&heap.blocks[block].state); }

static char *address_of(uint32_t block) { return heap.base + (size_t)block * CX_BLOCK_BYTES; }

static uint64_t used(void) { return cx_a64_load_relaxed(&heap.used); }

static bool is_all(const char *bytes, size_t size, int what)
{
    return bytes[0] == (char)what && memcmp(bytes, bytes + 1, size - 1) == 0;
}

static void sweep_all(void)
{
    struct cx_budget budget = {0};
    cx_heap_sweep_begin_gct(&heap);
    while (cx_heap_sweep_some(&heap, &budget)) {
    }
    cx_heap_sweep_end_gct(&heap);
}

/* As at the start of a cycle. */
static void clear_all(void)
{
    for (uint32_t i = 0; i < cx_a32_load_relaxed(&heap.count); i++) {
        for (unsigned word = 0; word < CX_LINE_WORDS; word++) {
            cx_a64_store_relaxed(&heap.blocks[i].marked[word], 0);
            cx_a64_store_relaxed(&heap.blocks[i].held[word], 0);
        }
    }
}

/* Takes a block whole, fills it with `what`, and is done with it. */
static uint32_t use_block(int what)
{
    char *start, *end;
    uint32_t block = take_block(false);
    ck_assert_uint_ne(block, CX_NO_BLOCK);
    ck_assert(cx_heap_take_hole(&heap, block, false, &start, &end));
    memset(start, what, (size_t)(end - start));
    cx_heap_give_up_block(&heap, block);
    return block;
}

/* As a marker does for an object from `from` up to `to`. */
static void mark_bytes(uint32_t block, size_t from, size_t to)
{
    cx_heap_mark_lines(heap.blocks, heap.base, address_of(block) + from, address_of(block) + to - 1, true);
}

static void mark_line(uint32_t block, unsigned line)
{
    mark_bytes(block, (size_t)line * CX_LINE_BYTES, (size_t)line * CX_LINE_BYTES + 8);
}

/* ---- states ----------------------------------------------------------------------------------------------- */

TEST(fresh_block_is_one_hole_of_256_zeroed_lines)
{
    make(1 << 20, 0);
    char *start, *end;
    uint32_t block = take_block(true);
    ck_assert_int_eq(state_of(block), CX_BLOCK_OWNED);
    ck_assert(cx_heap_take_hole(&heap, block, false, &start, &end));
    ck_assert_ptr_eq(start, address_of(block));
    ck_assert_int_eq(end - start, CX_BLOCK_BYTES);
    ck_assert(is_all(start, CX_BLOCK_BYTES, 0));
    ck_assert(!cx_heap_take_hole(&heap, block, false, &start, &end));
    cx_heap_fini(&heap);
}

TEST(block_with_nothing_marked_becomes_free_and_is_not_used_any_more)
{
    make(1 << 20, 0);
    uint32_t block = use_block(0xab);
    ck_assert_int_eq(state_of(block), CX_BLOCK_USED);
    ck_assert_uint_eq(used(), CX_BLOCK_BYTES);
    sweep_all();
    ck_assert_int_eq(state_of(block), CX_BLOCK_FREE);
    ck_assert_uint_eq(used(), 0);
    ck_assert_uint_eq(take_block(false), block);
    ck_assert_int_eq(state_of(block), CX_BLOCK_OWNED);
    ck_assert_uint_eq(used(), CX_BLOCK_BYTES);
    cx_heap_fini(&heap);
}

TEST(block_with_marked_lines_becomes_partial_or_stays_used_if_too_few_are_free)
{
    make(1 << 20, 0);
    uint32_t sparse = use_block(1), full = use_block(2);
    mark_line(sparse, 100);
    for (unsigned line = 0; line < CX_BLOCK_LINES - 3; line++) mark_line(full, line);
    sweep_all();
    ck_assert_int_eq(state_of(sparse), CX_BLOCK_PARTIAL);
    ck_assert_int_eq(state_of(full), CX_BLOCK_USED);
    ck_assert_uint_eq(used(), 2 * CX_BLOCK_BYTES);
    ck_assert_uint_eq(take_block(true), sparse);
    ck_assert_int_eq(state_of(sparse), CX_BLOCK_OWNED);
    cx_heap_fini(&heap);
}

TEST(owned_block_is_not_swept)
{
    make(1 << 20, 0);
    uint32_t block = take_block(true);
    sweep_all();
    ck_assert_int_eq(state_of(block), CX_BLOCK_OWNED);
    ck_assert_uint_eq(used(), CX_BLOCK_BYTES);
    cx_heap_fini(&heap);
}

TEST(partial_block_is_swept_again_in_the_next_cycle)
{
    make(1 << 20, 0);
    uint32_t block = use_block(1);
    mark_line(block, 5);
    sweep_all();
    ck_assert_int_eq(state_of(block), CX_BLOCK_PARTIAL);
    clear_all();
    sweep_all();
    ck_assert_int_eq(state_of(block), CX_BLOCK_FREE);
    ck_assert_uint_eq(take_block(true), block);
    ck_assert_uint_ne(take_block(true), block);
    cx_heap_fini(&heap);
}

TEST(thread_that_needs_a_block_sweeps_one_for_itself)
{
    make(1 << 20, 0);
    uint32_t full = use_block(1), sparse = use_block(2);
    for (unsigned line = 0; line < CX_BLOCK_LINES; line++) mark_line(full, line);
    mark_line(sparse, 0);
    cx_heap_sweep_begin_gct(&heap);
    ck_assert_uint_eq(take_block(true), sparse);
    ck_assert_int_eq(state_of(sparse), CX_BLOCK_OWNED);
    ck_assert_int_eq(state_of(full), CX_BLOCK_USED);
    struct cx_budget budget = {0};
    ck_assert(!cx_heap_sweep_some(&heap, &budget));
    cx_heap_sweep_end_gct(&heap);
    cx_heap_fini(&heap);
}

/* ---- holes ------------------------------------------------------------------------------------------------ */

TEST(lines_are_not_free_before_a_sweep_has_passed_them)
{
    make(1 << 20, 0);
    char *start, *end;
    uint32_t block = take_block(true);
    ck_assert(cx_heap_take_hole(&heap, block, false, &start, &end));
    ck_assert(!cx_heap_take_hole(&heap, block, false, &start, &end));
    cx_heap_give_up_block(&heap, block);
    /* Nothing is marked in it, and still it is nobody's before it is swept. */
    for (int i = 0; i < 10; i++) ck_assert_uint_ne(take_block(true), block);
    cx_heap_fini(&heap);
}

TEST(hole_taken_by_a_black_thread_is_held_and_survives_the_sweep)
{
    make(1 << 20, 0);
    char *start, *end;
    uint32_t black = take_block(true), white = take_block(true);
    ck_assert(cx_heap_take_hole(&heap, black, true, &start, &end));
    ck_assert(cx_heap_take_hole(&heap, white, false, &start, &end));
    cx_heap_give_up_block(&heap, black);
    cx_heap_give_up_block(&heap, white);
    sweep_all();
    ck_assert_int_eq(state_of(black), CX_BLOCK_USED);
    ck_assert_int_eq(state_of(white), CX_BLOCK_FREE);
    clear_all();
    sweep_all();
    ck_assert_int_eq(state_of(black), CX_BLOCK_FREE);
    cx_heap_fini(&heap);
}

/* Objects of random length at random places are marked or held; what is left must be exactly the holes. */
static void choose_lines(test_rng *rng, uint32_t block, bool live[CX_BLOCK_LINES])
{
    uint64_t objects = rng_below(rng, 120);
    for (uint64_t i = 0; i < objects; i++) {
        size_t from = (size_t)rng_below(rng, CX_BLOCK_BYTES - 8) & ~(size_t)7;
        size_t to = from + 8 + (size_t)rng_below(rng, rng_one_in(rng, 10) ? 4000 : 200);
        if (to > CX_BLOCK_BYTES) to = CX_BLOCK_BYTES;
        if (rng_one_in(rng, 3))
            cx_heap_hold(&heap, address_of(block) + from, address_of(block) + to);
        else
            mark_bytes(block, from, to);
        for (size_t line = from / CX_LINE_BYTES; line <= (to - 1) / CX_LINE_BYTES; line++) live[line] = true;
    }
}

static void expect_holes(uint32_t block, bool live[CX_BLOCK_LINES])
{
    char *start, *end;
    bool hole[CX_BLOCK_LINES] = {false};
    while (cx_heap_take_hole(&heap, block, false, &start, &end)) {
        expect((start - heap.base) % CX_LINE_BYTES == 0 && (end - heap.base) % CX_LINE_BYTES == 0 && start < end);
        expect(start >= address_of(block) && end <= address_of(block) + CX_BLOCK_BYTES);
        expect(is_all(start, (size_t)(end - start), 0));
        size_t from = (size_t)(start - address_of(block)) / CX_LINE_BYTES, to = (size_t)(end - address_of(block)) / CX_LINE_BYTES;
        for (size_t line = from; line < to; line++) {
            expect(!hole[line]);
            hole[line] = true;
        }
        /* A hole is as long as it can be. */
        expect(to == CX_BLOCK_LINES || live[to]);
        expect(from == 0 || live[from - 1]);
    }
    for (size_t line = 0; line < CX_BLOCK_LINES; line++) {
        expect(hole[line] == !live[line]);
        if (live[line]) expect(is_all(address_of(block) + line * CX_LINE_BYTES, CX_LINE_BYTES, 0xab));
    }
}

TEST(holes_are_just_the_lines_that_are_neither_marked_nor_held_and_are_zeroed)
{
    test_rng rng = rng_from(test_seed());
    make(8 << 20, 0);
    int rounds = test_is_sanitized() ? 50 : 500;
    for (int round = 0; round < rounds; round++) {
        bool live[CX_BLOCK_LINES] = {false};
        uint32_t block = use_block(0xab);
        choose_lines(&rng, block, live);
        unsigned free = 0;
        for (unsigned line = 0; line < CX_BLOCK_LINES; line++) free += !live[line];
        sweep_all();
        expect_eq(heap.blocks[block].free_lines, free);
        expect_eq(state_of(block), free == CX_BLOCK_LINES ? CX_BLOCK_FREE : free >= 8 ? CX_BLOCK_PARTIAL : CX_BLOCK_USED);
        if (free >= 8) {
            expect_eq(take_block(true), block);
            expect_holes(block, live);
            cx_heap_give_up_block(&heap, block);
        }
        clear_all();
        sweep_all();
        expect_eq(used(), 0);
    }
    cx_heap_fini(&heap);
}

TEST(poison_fills_lines_that_became_free_and_no_others)
{
    ck_assert_int_eq(cx_heap_init(&heap, 1 << 20, 0, true), COEX_GC_OK);
    uint32_t block = use_block(0xab);
    mark_line(block, 7);
    sweep_all();
    ck_assert(is_all(address_of(block), 7 * CX_LINE_BYTES, 0xdd));
    ck_assert(is_all(address_of(block) + 7 * CX_LINE_BYTES, CX_LINE_BYTES, 0xab));
    ck_assert(is_all(address_of(block) + 8 * CX_LINE_BYTES, CX_BLOCK_BYTES - 8 * CX_LINE_BYTES, 0xdd));
    cx_heap_fini(&heap);
}

/* ---- limit and growth ------------------------------------------------------------------------------------- */

TEST(limit_holds_for_blocks_and_large_runs_together)
{
    make(1 << 20, LIMITED);
    void *run = cx_heap_take_large(&heap, LIMITED / 2 - 100, &claim);
    ck_assert_ptr_nonnull(run);
    uint64_t blocks = 0;
    while (take_block(true) != CX_NO_BLOCK) blocks++;
    ck_assert_uint_eq(blocks, LIMITED / 2 / CX_BLOCK_BYTES);
    ck_assert_uint_eq(used(), LIMITED);
    ck_assert_ptr_null(cx_heap_take_large(&heap, 1, &claim));
    /* Refusals cost nothing, and what is given back can be had again. */
    ck_assert_uint_eq(used(), LIMITED);
    ck_assert_uint_eq(cx_large_retire(&heap.large, run), LIMITED / 2);
    ck_assert_uint_eq(used(), LIMITED);
    while (cx_large_has_retired(&heap.large)) {
        struct cx_budget budget = cx_budget_of(CX_SLICE_UNITS);
        cx_heap_give_retired_gct(&heap, &budget);
    }
    ck_assert_uint_eq(used(), LIMITED / 2);
    ck_assert_uint_ne(take_block(true), CX_NO_BLOCK);
    ck_assert_ptr_null(cx_heap_take_large(&heap, LIMITED / 2, &claim));
    ck_assert_ptr_null(cx_heap_take_large(&heap, UINT64_MAX, &claim));
    ck_assert_uint_eq(used(), LIMITED / 2 + CX_BLOCK_BYTES);
    cx_heap_fini(&heap);
}

static void take_until_full(unsigned index, void *taken)
{
    test_rng rng = rng_from(index);
    unsigned refusals = 0;
    while (refusals < 10) {
        uint64_t bytes = rng_one_in(&rng, 3) ? rng_between(&rng, 1, 100000) : 0;
        bool good = bytes != 0 ? cx_heap_take_large(&heap, bytes, &claim) != NULL : take_block(false) != CX_NO_BLOCK;
        if (good)
            cx_a64_add_relaxed(taken, bytes != 0 ? cx_large_round(&heap.large, bytes) : CX_BLOCK_BYTES);
        else
            refusals++;
        expect(used() <= LIMITED);
    }
}

TEST(limit_holds_whatever_many_threads_take_at_once)
{
    cx_a64 taken = {0};
    make(1 << 20, LIMITED);
    run_threads(8, take_until_full, &taken);
    ck_assert_uint_eq(cx_a64_load_relaxed(&taken), used());
    ck_assert_uint_gt(used(), LIMITED - 100000 - CX_BLOCK_BYTES);
    cx_heap_fini(&heap);
}

TEST(growth_doubles_what_is_committed_and_moves_nothing)
{
    make(1 << 20, 0);
    char *base = heap.base;
    uint32_t first = use_block(0x5a), committed = 32;
    ck_assert_uint_eq(heap.committed, committed);
    for (int i = 0; i < 6; i++) {
        while (cx_a32_load_relaxed(&heap.count) <= committed) ck_assert_uint_ne(take_block(false), CX_NO_BLOCK);
        committed *= 2;
        ck_assert_uint_eq(heap.committed, committed);
    }
    ck_assert_uint_eq(cx_a64_load_relaxed(&heap.growths), 6);
    ck_assert_ptr_eq(heap.base, base);
    ck_assert(is_all(address_of(first), CX_BLOCK_BYTES, 0x5a));
    cx_heap_fini(&heap);
}

static void take_blocks(unsigned index, void *owners)
{
    cx_a32 *owner = owners;
    for (int i = 0; i < 500; i++) {
        uint32_t block = take_block(i % 2 == 0);
        expect(block < 8192);
        expect_eq(cx_a32_exchange_acq_rel(&owner[block], index + 1), 0);
        if (i % 3 == 0) {
            cx_a32_store_release(&owner[block], 0);
            cx_heap_give_up_block(&heap, block);
        }
    }
}

TEST(block_has_one_owner_whatever_many_threads_take)
{
    static cx_a32 owner[8192];
    make(1 << 20, 0);
    run_threads(8, take_blocks, owner);
    ck_assert_uint_eq(used(), (uint64_t)cx_a32_load_relaxed(&heap.count) * CX_BLOCK_BYTES);
    cx_heap_fini(&heap);
}

/* ---- giving back ------------------------------------------------------------------------------------------ */

TEST(block_freed_last_is_taken_first)
{
    make(1 << 20, 0);
    uint32_t blocks[4];
    for (int i = 0; i < 4; i++) blocks[i] = use_block(i + 1);
    sweep_all(); /* in the order of their numbers */
    for (int i = 3; i >= 0; i--) ck_assert_uint_eq(take_block(false), blocks[i]);
    cx_heap_fini(&heap);
}

/* Returns the number of slices. */
static unsigned trim(uint64_t keep)
{
    unsigned slices = 0;
    bool more = true;
    for (; more; slices++) {
        struct cx_budget budget = cx_budget_of(CX_SLICE_UNITS);
        more = cx_heap_trim_some_gct(&heap, keep, &budget);
        cx_budget_check(&budget, "trim");
    }
    return slices;
}

TEST(a_trim_of_many_blocks_is_cut_into_slices_and_takes_the_coldest_first)
{
    enum { BLOCKS = 200 };
    make(16 << 20, 0);
    uint32_t blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) blocks[i] = use_block(0x77);
    sweep_all(); /* the block swept last is the warmest */
    struct cx_budget budget = cx_budget_of(1);
    ck_assert(cx_heap_trim_some_gct(&heap, 0, &budget));
    uint64_t first = cx_a64_load_relaxed(&heap.returned) / CX_BLOCK_BYTES;
    ck_assert_uint_le(first, 8);
    for (uint64_t i = 0; i < BLOCKS; i++) ck_assert(is_all(address_of(blocks[i]), CX_BLOCK_BYTES, i < first ? 0 : 0x77));
    ck_assert_uint_eq(cx_a32_load_relaxed(&heap.free_count), BLOCKS);
    ck_assert_uint_ge(trim(0), BLOCKS * CX_BLOCK_BYTES / CX_BYTES_PER_UNIT / CX_SLICE_UNITS);
    ck_assert_uint_eq(cx_a64_load_relaxed(&heap.returned), BLOCKS * (uint64_t)CX_BLOCK_BYTES);
    for (int i = 0; i < BLOCKS; i++) take_block(false);
    ck_assert_uint_eq(cx_a32_load_relaxed(&heap.count), BLOCKS);
    cx_heap_fini(&heap);
}

TEST(a_sweep_that_meets_no_block_to_sweep_ends_its_slice)
{
    enum { BLOCKS = 3000 };
    make(1 << 20, 0);
    for (int i = 0; i < BLOCKS; i++) take_block(false); /* owned: not to be swept */
    struct cx_budget budget = cx_budget_of(CX_SLICE_UNITS);
    cx_heap_sweep_begin_gct(&heap);
    while (cx_budget_is_left(&budget)) ck_assert(cx_heap_sweep_some(&heap, &budget));
    ck_assert_uint_lt(cx_a64_load_relaxed(&heap.sweep_next), BLOCKS);
    cx_heap_sweep_end_gct(&heap);
    cx_heap_fini(&heap);
}

TEST(trim_keeps_warm_blocks_and_gives_the_rest_back_to_the_system)
{
    make(1 << 20, 0);
    uint32_t blocks[8];
    for (int i = 0; i < 8; i++) blocks[i] = use_block(0x77);
    sweep_all();
    trim(3 * CX_BLOCK_BYTES);
    ck_assert_uint_eq(trim(3 * CX_BLOCK_BYTES), 1);
    ck_assert_uint_eq(cx_a64_load_relaxed(&heap.returned), 5 * CX_BLOCK_BYTES);
    ck_assert_uint_eq(cx_a32_load_relaxed(&heap.free_count), 8);
    for (int i = 0; i < 8; i++) ck_assert(is_all(address_of(blocks[i]), CX_BLOCK_BYTES, i < 5 ? 0 : 0x77));
    for (int i = 0; i < 8; i++) {
        char *start, *end;
        uint32_t block = take_block(false);
        ck_assert(cx_heap_take_hole(&heap, block, false, &start, &end));
        ck_assert(is_all(start, CX_BLOCK_BYTES, 0));
    }
    ck_assert_uint_eq(cx_a32_load_relaxed(&heap.count), 8);
    cx_heap_fini(&heap);
}
