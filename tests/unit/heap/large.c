/*
 * Runs of pages for large objects: random takes and gives against a simple model, exact fits, growth, threads.
 */
#include "support/test.h"

#include "gc/heap/large_objects.h"

#include <pthread.h>
#include <sys/mman.h>

static struct cx_large large;
static uint64_t page;

static void make(uint64_t pages)
{
    ck_assert_int_eq(cx_large_init(&large, pages * cx_os_page_size()), COEX_GC_OK);
    page = (uint64_t)1 << large.page_shift;
}

/* Gives a run back to the end, as one collector after the other; returns its bytes. */
static uint64_t give(void *inside, bool poison)
{
    static pthread_mutex_t role = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&role);
    uint64_t bytes = cx_large_retire(&large, inside), given = 0;
    while (cx_large_has_retired(&large)) {
        struct cx_budget budget = cx_budget_of(CX_SLICE_UNITS);
        given += cx_large_give_piece(&large, poison, &budget);
    }
    pthread_mutex_unlock(&role);
    expect_eq(given, bytes);
    return bytes;
}

/* Returns the number of slices. */
static unsigned trim(void)
{
    unsigned slices = 0;
    bool more = true;
    while (more) {
        struct cx_budget budget = cx_budget_of(CX_SLICE_UNITS);
        while (more && cx_budget_is_left(&budget)) {
            if (cx_large_has_retired(&large))
                expect_eq(cx_large_give_piece(&large, false, &budget), 0); /* it was not charged */
            else
                more = cx_large_trim(&large, &budget);
        }
        cx_budget_check(&budget, "trim");
        slices++;
    }
    return slices;
}

/* The first and the last bytes of each page are enough to tell a run from what was there before. */
static void expect_zeroed(const char *run, uint64_t pages)
{
    for (uint64_t i = 0; i < pages; i++) {
        const uint64_t *word = (const uint64_t *)(const void *)(run + i * page);
        expect_eq(word[0], 0);
        expect_eq(word[page / 8 - 1], 0);
        expect_eq(word[page / 16], 0);
    }
}

static void fill(char *run, uint64_t pages, uint64_t tag)
{
    for (uint64_t i = 0; i < pages; i++) {
        uint64_t *word = (uint64_t *)(void *)(run + i * page);
        word[0] = word[page / 8 - 1] = word[page / 16] = tag;
    }
}

static void expect_filled(const char *run, uint64_t pages, uint64_t tag)
{
    for (uint64_t i = 0; i < pages; i++) {
        const uint64_t *word = (const uint64_t *)(const void *)(run + i * page);
        expect_eq(word[0], tag);
        expect_eq(word[page / 8 - 1], tag);
        expect_eq(word[page / 16], tag);
    }
}

static void expect_one_free_run(void)
{
    uint64_t longest, runs;
    cx_large_measure(&large, &longest, &runs);
    expect_eq(runs, 1);
    expect_eq(longest, (large.pages - 1) * page);
}

/* ---- against a model -------------------------------------------------------------------------------------- */

enum { MODEL_PAGES = 1 << 15, MODEL_RUNS = 400 };

struct model_run {
    char *start;
    uint64_t pages;
    uint64_t tag;
};

static uint8_t model_taken[MODEL_PAGES];

static void model_mark(const struct model_run *run, uint8_t before, uint8_t after)
{
    uint64_t first = (uint64_t)(run->start - large.range.base) / page;
    expect(first > 0 && first + run->pages <= MODEL_PAGES);
    for (uint64_t i = first; i < first + run->pages; i++) {
        expect_eq(model_taken[i], before);
        model_taken[i] = after;
    }
}

static void model_give(struct model_run *run)
{
    expect_filled(run->start, run->pages, run->tag);
    model_mark(run, 1, 0);
    expect_eq(give(run->start + 16, false), run->pages * page);
    run->start = NULL;
}

static uint64_t model_pages(test_rng *rng)
{
    switch (rng_below(rng, 4)) {
    case 0:
        return rng_between(rng, 1, 8);
    case 1:
        return rng_between(rng, 2, 64);
    case 2:
        return rng_between(rng, 60, 70); /* about where pages go back to the system instead of being cleared */
    default:
        return rng_between(rng, 1, 300);
    }
}

TEST_TIMEOUT(random_takes_and_gives_never_overlap_and_are_always_zeroed, 60)
{
    test_rng rng = rng_from(test_seed());
    static struct model_run runs[MODEL_RUNS];
    int rounds = test_is_sanitized() ? 2000 : 5000;
    make(MODEL_PAGES);
    for (int round = 0; round < rounds; round++) {
        struct model_run *run = &runs[rng_below(&rng, MODEL_RUNS)];
        if (run->start != NULL) {
            model_give(run);
            continue;
        }
        run->pages = model_pages(&rng);
        run->tag = rng_next(&rng) | 1;
        run->start = cx_large_take(&large, run->pages * page - rng_below(&rng, page));
        if (run->start == NULL) continue; /* fragmented: the model says nothing about that */
        model_mark(run, 0, 1);
        expect_eq(cx_large_bytes(&large, run->start), run->pages * page);
        expect_zeroed(run->start, run->pages);
        fill(run->start, run->pages, run->tag);
        if (rng_one_in(&rng, 100)) trim();
    }
    for (int i = 0; i < MODEL_RUNS; i++) {
        if (runs[i].start != NULL) model_give(&runs[i]);
    }
    expect_one_free_run();
    cx_large_fini(&large);
}

/* ---- fits ------------------------------------------------------------------------------------------------- */

TEST(whatever_the_reservation_has_room_for_is_found)
{
    /* Page 0 is never used, so 1,023 of 1,024 pages can be had; in any one piece. */
    for (uint64_t pages = 1; pages <= 1023; pages++) {
        make(1024);
        char *run = cx_large_take(&large, pages * page);
        if (run == NULL) test_fail(__FILE__, __LINE__, "%" PRIu64 " of 1023 free pages are not found", pages);
        cx_large_fini(&large);
    }
}

TEST(run_that_was_given_back_fits_the_same_size_again)
{
    /* 17 and 133 pages lie between two lists of runs. */
    static const uint64_t sizes[] = {1, 2, 3, 5, 8, 9, 16, 17, 63, 64, 65, 133, 511};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        static char *run[4096];
        make(4096);
        unsigned count = 0;
        while ((run[count] = cx_large_take(&large, sizes[i] * page)) != NULL) count++;
        ck_assert_uint_ge(count, 4095 / sizes[i] - 1);
        /* Every other one, so that no two merge. */
        unsigned again = 0;
        for (unsigned k = 0; k < count; k += 2) give(run[k], false);
        while (cx_large_take(&large, sizes[i] * page) != NULL) again++;
        if (again < (count + 1) / 2)
            test_fail(__FILE__, __LINE__, "only %u of %u free runs of %" PRIu64 " pages are found again", again, (count + 1) / 2,
                      sizes[i]);
        cx_large_fini(&large);
    }
}

TEST(large_object_beside_what_is_taken_fits_if_the_rest_of_the_reservation_holds_it)
{
    make(8192);
    ck_assert_ptr_nonnull(cx_large_take(&large, 10 * page));
    ck_assert_ptr_nonnull(cx_large_take(&large, 5000 * page));
    ck_assert_ptr_nonnull(cx_large_take(&large, 3100 * page));
    cx_large_fini(&large);
}

TEST(what_is_larger_than_the_reservation_is_refused_and_the_next_one_is_not)
{
    make(1024);
    ck_assert_ptr_null(cx_large_take(&large, 0));
    ck_assert_ptr_null(cx_large_take(&large, 1024 * page));
    ck_assert_ptr_null(cx_large_take(&large, 1025 * page));
    ck_assert_ptr_null(cx_large_take(&large, (uint64_t)1 << 46));
    ck_assert_ptr_null(cx_large_take(&large, UINT64_MAX));
    ck_assert_ptr_nonnull(cx_large_take(&large, 100 * page));
    cx_large_fini(&large);
}

TEST(free_neighbours_merge_in_whatever_order_they_come)
{
    test_rng rng = rng_from(test_seed());
    make(4096);
    char *run[64];
    for (int i = 0; i < 64; i++) ck_assert_ptr_nonnull(run[i] = cx_large_take(&large, rng_between(&rng, 1, 20) * page));
    for (int i = 64; i > 0; i--) {
        int at = (int)rng_below(&rng, (uint64_t)i);
        give(run[at], false);
        run[at] = run[i - 1];
    }
    expect_one_free_run();
    cx_large_fini(&large);
}

TEST(growth_doubles_and_moves_nothing)
{
    make(1 << 20);
    char *first = cx_large_take(&large, page);
    fill(first, 1, 0x5eed);
    uint64_t before = large.pages;
    const char *base = large.range.base;
    for (int i = 0; i < 5; i++) {
        uint64_t growths = cx_a64_load_relaxed(&large.growths);
        while (cx_a64_load_relaxed(&large.growths) == growths) ck_assert_ptr_nonnull(cx_large_take(&large, 16 * page));
        ck_assert_uint_eq(large.pages, before * 2);
        before = large.pages;
    }
    ck_assert_ptr_eq(large.range.base, base);
    expect_filled(first, 1, 0x5eed);
    cx_large_fini(&large);
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

static uint64_t resident_pages(char *run, uint64_t pages)
{
    static unsigned char map[4096];
    uint64_t sum = 0;
    ck_assert_uint_le(pages, sizeof map);
    ck_assert_int_eq(mincore(run, pages * page, map), 0);
    for (uint64_t i = 0; i < pages; i++) sum += map[i] & 1;
    return sum;
}

TEST(pages_of_a_large_run_go_back_to_the_system_at_once)
{
    make(4096);
    char *run = cx_large_take(&large, 512 * page);
    ck_assert_ptr_nonnull(run);
    fill(run, 512, 7);
    ck_assert_uint_eq(resident_pages(run, 512), 512);
    give(run, false);
    ck_assert_uint_eq(resident_pages(run, 512), 0);
    ck_assert_uint_eq(cx_a64_load_relaxed(&large.returned), 512 * page);
    cx_large_fini(&large);
}

TEST(pages_of_a_dead_run_go_back_in_pieces_that_can_be_taken_at_once)
{
    enum { PAGES = 4096 };
    make(2 * PAGES);
    char *run = cx_large_take(&large, PAGES * page), *before = run;
    for (uint64_t i = 0; i < PAGES; i++) run[i * page] = 1;
    ck_assert_uint_eq(cx_large_retire(&large, run + 16), PAGES * page);
    unsigned slices = 0;
    for (uint64_t given = 0; cx_large_has_retired(&large); slices++) {
        struct cx_budget budget = cx_budget_of(CX_SLICE_UNITS);
        given += cx_large_give_piece(&large, false, &budget);
        cx_budget_check(&budget, "large");
        expect(budget.left < CX_SLICE_UNITS / 2);
        expect_eq(cx_a64_load_relaxed(&large.returned), given);
        if (slices > 0) continue;
        char *piece = cx_large_take(&large, given); /* the first piece is free, the rest of the run is not */
        ck_assert_ptr_eq(piece, before);
        expect_zeroed(piece, given / page);
        cx_large_retire(&large, piece);
    }
    ck_assert_uint_ge(slices, PAGES * page / (CX_SLICE_UNITS * CX_BYTES_PER_UNIT));
    expect_one_free_run();
    cx_large_fini(&large);
}

/* Runs of five pages that are dirty, between runs that are in use, `count` of each. */
static char **checker_board(unsigned count)
{
    char **runs = calloc(2 * (size_t)count, sizeof *runs);
    for (unsigned i = 0; i < 2 * count; i++) {
        runs[i] = cx_large_take(&large, 5 * page);
        expect(runs[i] != NULL);
        runs[i][0] = 1;
    }
    for (unsigned i = 0; i < 2 * count; i += 2) give(runs[i], false);
    return runs;
}

TEST(a_trim_of_many_runs_is_cut_into_slices)
{
    enum { RUNS = 4000 };
    make(1 << 17);
    char **runs = checker_board(RUNS);
    ck_assert_uint_gt(trim(), RUNS / 100);
    ck_assert_uint_eq(cx_a64_load_relaxed(&large.returned), (uint64_t)RUNS * 5 * page);
    /* What is clean is looked at, and nothing else: many in one slice, with the lock for a bounded number. */
    ck_assert_uint_ge(trim(), 2 * RUNS * CX_COST_ENTRY / CX_SLICE_UNITS);
    ck_assert_uint_eq(cx_a64_load_relaxed(&large.returned), (uint64_t)RUNS * 5 * page);
    free(runs);
    cx_large_fini(&large);
}

TEST(a_trim_finds_its_way_among_runs_that_merge_and_split_meanwhile)
{
    enum { RUNS = 500 };
    test_rng rng = rng_from(test_seed());
    make(1 << 17);
    char **runs = checker_board(RUNS);
    for (unsigned i = 1; i < 2 * RUNS; i += 2) {
        struct cx_budget budget = cx_budget_of(CX_COST_ENTRY * (int64_t)rng_between(&rng, 1, 8));
        cx_large_trim(&large, &budget);
        while (cx_large_has_retired(&large)) cx_large_give_piece(&large, false, &budget);
        if (rng_one_in(&rng, 3)) give(cx_large_take(&large, rng_between(&rng, 1, 20) * page), false);
        give(runs[i], false);
    }
    trim();
    trim();
    expect_one_free_run();
    free(runs);
    cx_large_fini(&large);
}

TEST(trim_gives_the_pages_of_small_free_runs_back)
{
    make(4096);
    char *run = cx_large_take(&large, 3 * page);
    char *neighbour = cx_large_take(&large, 3 * page);
    fill(run, 3, 7);
    fill(neighbour, 3, 8);
    give(run, false);
    ck_assert_uint_eq(resident_pages(run, 3), 3);
    trim();
    ck_assert_uint_eq(resident_pages(run, 3), 0);
    expect_filled(neighbour, 3, 8);
    ck_assert_ptr_eq(cx_large_take(&large, 3 * page), run);
    expect_zeroed(run, 3);
    cx_large_fini(&large);
}

TEST(poison_fills_what_is_given_back_and_the_next_take_is_zeroed)
{
    make(4096);
    for (uint64_t pages = 3; pages <= 300; pages *= 10) {
        char *run = cx_large_take(&large, pages * page);
        fill(run, pages, 1);
        give(run, true);
        expect_filled(run, pages, 0xdddddddddddddddd);
        ck_assert_ptr_eq(cx_large_take(&large, pages * page), run);
        expect_zeroed(run, pages);
    }
    cx_large_fini(&large);
}

static void take_and_give(unsigned index, void *seed)
{
    enum { KEEP = 20 };
    test_rng rng = rng_from(*(uint64_t *)seed + index);
    struct model_run runs[KEEP] = {{0}};
    int rounds = test_is_sanitized() ? 500 : 5000;
    for (int round = 0; round < rounds; round++) {
        struct model_run *run = &runs[rng_below(&rng, KEEP)];
        if (run->start != NULL) {
            expect_filled(run->start, run->pages, run->tag);
            expect_eq(give(run->start, false), run->pages * page);
            run->start = NULL;
            continue;
        }
        *run = (struct model_run){.pages = rng_between(&rng, 1, 90), .tag = rng_next(&rng)};
        run->start = cx_large_take(&large, run->pages * page);
        expect(run->start != NULL);
        expect_zeroed(run->start, run->pages);
        fill(run->start, run->pages, run->tag);
    }
    for (int i = 0; i < KEEP; i++) {
        if (runs[i].start != NULL) give(runs[i].start, false);
    }
}

TEST_TIMEOUT(runs_of_many_threads_never_overlap, 60)
{
    uint64_t seed = test_seed();
    make(1 << 20);
    run_threads(4, take_and_give, &seed);
    expect_one_free_run();
    cx_large_fini(&large);
}
