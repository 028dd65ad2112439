/*
 * A shadow stack by itself: what its words mean, how it grows, and who scans its frozen words.
 */
#include "support/test.h"

#include "gc/stacks/shadow_stack.h"

static struct cx_shadow shadow;
static coex_handle *top;

static void make(uint64_t slots)
{
    ck_assert_int_eq(cx_shadow_init(&shadow, slots), COEX_GC_OK);
    cx_shadow_reset(&shadow, &top);
}

/* Room is made page by page in what follows, so that every growth is met. */
static void push(coex_handle word)
{
    expect(cx_shadow_make_room_self(&shadow, top, 1));
    *top++ = word;
}

/* What the first slot refers to if this word is in it. */
static coex_handle reference(uint64_t word)
{
    shadow.base[1] = word;
    return cx_shadow_reference(&shadow, 1);
}

TEST(words_are_told_apart)
{
    coex_handle local = 77;
    make(1024);
    ck_assert_uint_eq(reference(0), 0);
    ck_assert_uint_eq(reference(42), 42);
    ck_assert_uint_eq(reference(COEX_IMMEDIATE(42)), 0);
    ck_assert_uint_eq(reference((uint64_t)(uintptr_t)&local | COEX_GC_LOCAL_BIT), 77);
    local = COEX_IMMEDIATE(1);
    ck_assert_uint_eq(reference((uint64_t)(uintptr_t)&local | COEX_GC_LOCAL_BIT), 0);
    static const uint64_t slots[] = {0, 1, 2, 65535, 65536, (uint64_t)1 << 31};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        ck_assert(cx_shadow_is_header(COEX_GC_FRAME_HEADER(slots[i])));
        ck_assert_uint_eq(reference(COEX_GC_FRAME_HEADER(slots[i])), 0);
    }
    ck_assert(!cx_shadow_is_header(42));
    ck_assert(!cx_shadow_is_header(COEX_IMMEDIATE(UINT64_MAX)));
    ck_assert(!cx_shadow_is_header((uint64_t)(uintptr_t)&local | COEX_GC_LOCAL_BIT));
    cx_shadow_fini(&shadow);
}

TEST(frames_are_found_from_their_ends)
{
    make(1024);
    push(COEX_GC_FRAME_HEADER(2));
    push(5);
    push(COEX_IMMEDIATE(6));
    push(COEX_GC_FRAME_HEADER(0));
    push(COEX_GC_FRAME_HEADER(1));
    push(7);
    push(8); /* appended */
    ck_assert_uint_eq(cx_shadow_frame_before(&shadow, 8), 5);
    ck_assert_uint_eq(cx_shadow_frame_before(&shadow, 5), 4);
    ck_assert_uint_eq(cx_shadow_frame_before(&shadow, 4), 1);
    ck_assert_uint_eq(cx_shadow_frame_before(&shadow, 1), 0);
    cx_shadow_fini(&shadow);
}

TEST(room_grows_by_doubling_moves_nothing_and_ends_with_the_reservation)
{
    make(100000);
    coex_handle *base = shadow.base;
    uint64_t committed = shadow.range.committed, most = shadow.range.reserved / 8;
    ck_assert_uint_ge(most, 100001);
    for (uint64_t i = 1; i < most; i++) {
        push(i);
        if (shadow.range.committed != committed) {
            expect(shadow.range.committed == committed * 2 || shadow.range.committed == shadow.range.reserved);
            committed = shadow.range.committed;
        }
        expect(shadow.end == base + committed / 8);
    }
    ck_assert(!cx_shadow_make_room_self(&shadow, top, 1));
    ck_assert(cx_shadow_make_room_self(&shadow, top, 0));
    ck_assert_ptr_eq(shadow.base, base);
    for (uint64_t i = 1; i < most; i++) expect_eq(base[i], i);
    cx_shadow_fini(&shadow);
}

TEST(room_for_more_than_the_reservation_is_refused_whatever_the_number)
{
    make(1024);
    uint64_t most = shadow.range.reserved / 8;
    ck_assert(cx_shadow_make_room_self(&shadow, top, most - 1));
    ck_assert(!cx_shadow_make_room_self(&shadow, top, most));
    ck_assert(!cx_shadow_make_room_self(&shadow, top, (uint64_t)1 << 61));
    ck_assert(!cx_shadow_make_room_self(&shadow, top, UINT64_MAX));
    cx_shadow_fini(&shadow);
}

TEST(reset_empties_the_stack_and_gives_its_memory_back)
{
    make(1 << 20);
    for (uint64_t i = 0; i < 1 << 19; i++) push(i + 1);
    cx_shadow_reset(&shadow, &top);
    ck_assert_ptr_eq(top, shadow.base + 1);
    ck_assert(cx_shadow_is_header(shadow.base[0]));
    ck_assert_uint_eq(shadow.base[1 << 18], 0);
    ck_assert(!cx_shadow_is_frozen(&shadow));
    cx_shadow_fini(&shadow);
}

/* ---- frozen words ----------------------------------------------------------------------------------------- */

TEST(collector_claims_frozen_words_in_chunks_from_the_bottom)
{
    make(4096);
    for (uint64_t i = 1; i < 2000; i++) push(i);
    cx_shadow_freeze(&shadow, 1300);
    ck_assert_uint_eq(cx_shadow_frozen_end(&shadow), 1300);
    struct cx_span span;
    uint64_t expected[] = {0, 512, 1024, 1300};
    for (int i = 0; i < 3; i++) {
        ck_assert(cx_shadow_is_frozen(&shadow));
        ck_assert(cx_shadow_claim_gct(&shadow, &span));
        ck_assert_uint_eq(span.from, expected[i]);
        ck_assert_uint_eq(span.to, expected[i + 1]);
        ck_assert(cx_shadow_is_frozen(&shadow)); /* claimed is not read yet */
        cx_shadow_finish_gct(&shadow, span);
    }
    ck_assert(!cx_shadow_claim_gct(&shadow, &span));
    ck_assert(!cx_shadow_is_frozen(&shadow));
    ck_assert_uint_eq(cx_shadow_frozen_end(&shadow), 0);
    cx_shadow_fini(&shadow);
}

TEST(owner_takes_what_nobody_has_claimed_out_of_the_range)
{
    make(4096);
    for (uint64_t i = 1; i < 2000; i++) push(i);
    cx_shadow_freeze(&shadow, 2000);
    struct cx_span span = cx_shadow_cut_self(&shadow, 1900);
    ck_assert_uint_eq(span.from, 1900);
    ck_assert_uint_eq(span.to, 2000);
    ck_assert_uint_eq(cx_shadow_frozen_end(&shadow), 1900);
    ck_assert(cx_shadow_claim_gct(&shadow, &span)); /* 0 to 512 */
    cx_shadow_finish_gct(&shadow, span);
    span = cx_shadow_cut_self(&shadow, 100);
    ck_assert_uint_eq(span.from, 512);
    ck_assert_uint_eq(span.to, 1900);
    ck_assert(!cx_shadow_claim_gct(&shadow, &span));
    ck_assert(!cx_shadow_is_frozen(&shadow));
    span = cx_shadow_cut_self(&shadow, 50);
    ck_assert_uint_eq(span.from, span.to);
    cx_shadow_fini(&shadow);
}

/* One thread is the collector, the other the owner that returns frame by frame. */
enum { RACE_WORDS = 20000 };

static cx_a32 race_scans[RACE_WORDS];
static cx_a32 race_go;

static void race_scan(struct cx_span span)
{
    for (uint64_t i = span.from; i < span.to; i++) cx_a32_add_relaxed(&race_scans[i], 1);
}

static void race(unsigned index, void *seed)
{
    struct cx_span span;
    test_rng rng = rng_from(*(uint64_t *)seed);
    cx_a32_add_relaxed(&race_go, 1);
    while (cx_a32_load_acquire(&race_go) < 2) cx_cpu_relax();
    if (index == 0) {
        while (cx_shadow_claim_gct(&shadow, &span)) {
            race_scan(span);
            cx_shadow_finish_gct(&shadow, span);
        }
        return;
    }
    for (uint64_t from = RACE_WORDS; from > 0;) {
        uint64_t step = rng_between(&rng, 1, 300);
        from = from > step ? from - step : 0;
        race_scan(cx_shadow_cut_self(&shadow, from));
        /* Whoever scanned it: what the owner returns to has been scanned. */
        for (uint64_t i = from; i < from + step && i < RACE_WORDS; i++) expect_eq(cx_a32_load_relaxed(&race_scans[i]), 1);
    }
}

TEST(each_frozen_word_is_scanned_once_before_its_owner_comes_back_to_it)
{
    uint64_t seed = test_seed();
    make(RACE_WORDS);
    for (uint64_t i = 1; i < RACE_WORDS; i++) push(0);
    int rounds = test_is_sanitized() ? 10 : 100;
    for (int round = 0; round < rounds; round++, seed++) {
        memset(race_scans, 0, sizeof race_scans);
        cx_a32_store_relaxed(&race_go, 0);
        cx_shadow_freeze(&shadow, RACE_WORDS);
        run_threads(2, race, &seed);
        for (uint64_t i = 0; i < RACE_WORDS; i++) expect_eq(cx_a32_load_relaxed(&race_scans[i]), 1);
        cx_shadow_reset(&shadow, &top);
    }
    cx_shadow_fini(&shadow);
}
