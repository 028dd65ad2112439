/*
 * The handle table by itself: who owns a free bit, in which order words are taken, how it grows.
 */
#include "support/test.h"

#include "gc/heap/handle_table.h"

static struct cx_handles table;

static void make(uint64_t initial, uint64_t max) { ck_assert_int_eq(cx_handles_init(&table, initial, max), COEX_GC_OK); }

/* What the claim took, as a number of handles. */
static uint64_t handles_in(const struct cx_held *held)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < held->count; i++) sum += (uint64_t)__builtin_popcountll(held->bits[i]);
    return sum;
}

/* As the sweep does it. */
static void give_back(uint64_t word, uint64_t bits)
{
    cx_a64_and_relaxed(&table.born[word], ~bits);
    cx_a64_and_release(&table.allocated[word], ~bits);
    cx_handles_announce(&table, word);
}

TEST(handle_zero_is_never_given_out)
{
    make(4096, 4096);
    uint64_t claimed = 0;
    struct cx_held held = {0};
    while (cx_handles_claim(&table, &held, false)) {
        for (uint32_t i = 0; i < held.count; i++) {
            if (held.word[i] == 0) ck_assert_uint_eq(held.bits[i] & 1, 0);
        }
        claimed += handles_in(&held);
        held.count = 0;
    }
    ck_assert_uint_eq(claimed, 4095);
    cx_handles_fini(&table);
}

TEST(sizes_are_rounded_to_steps_of_4096)
{
    make(1, 5000);
    ck_assert_uint_eq(cx_a64_load_relaxed(&table.committed), 4096);
    ck_assert_uint_eq(table.max, 4096);
    cx_handles_fini(&table);
    make(4097, 20000);
    ck_assert_uint_eq(cx_a64_load_relaxed(&table.committed), 8192);
    ck_assert_uint_eq(table.max, 16384);
    cx_handles_fini(&table);
}

TEST(growth_doubles_what_is_committed_up_to_the_maximum_and_moves_nothing)
{
    static const uint64_t expected[] = {4096, 8192, 16384, 20480};
    make(4096, 20480);
    void **slots = table.table;
    cx_a64 *allocated = table.allocated, *available = table.available;
    size_t step = 0;
    struct cx_held held = {0};
    uint64_t claimed = 0;
    while (cx_handles_claim(&table, &held, false)) {
        claimed += handles_in(&held);
        held.count = 0;
        uint64_t committed = cx_a64_load_relaxed(&table.committed);
        while (expected[step] < committed) step++;
        ck_assert_uint_eq(committed, expected[step]);
        /* It grows when nothing is left, and not before. */
        if (step > 0) ck_assert_uint_gt(claimed, expected[step - 1] - 1);
    }
    ck_assert_uint_eq(claimed, 20479);
    ck_assert_uint_eq(step, 3);
    ck_assert_uint_eq(cx_a64_load_relaxed(&table.growths), 3);
    ck_assert_ptr_eq(table.table, slots);
    ck_assert_ptr_eq(table.allocated, allocated);
    ck_assert_ptr_eq(table.available, available);
    cx_handles_fini(&table);
}

TEST(claims_double_from_one_word_to_the_most_that_a_thread_holds)
{
    make(1 << 20, 1 << 20);
    struct cx_held held = {0};
    for (uint32_t expected = 1, i = 0; i < 12; i++) {
        held.count = 0;
        ck_assert(cx_handles_claim(&table, &held, false));
        ck_assert_uint_eq(held.count, expected);
        expected = expected * 2 < CX_HELD_WORDS ? expected * 2 : CX_HELD_WORDS;
    }
    cx_handles_fini(&table);
}

TEST(black_claims_are_born_and_white_ones_are_not)
{
    make(4096, 4096);
    struct cx_held black = {0}, white = {0};
    ck_assert(cx_handles_claim(&table, &white, false));
    ck_assert(cx_handles_claim(&table, &black, true));
    ck_assert_uint_eq(cx_a64_load_relaxed(&table.born[white.word[0]]), 0);
    ck_assert_uint_eq(cx_a64_load_relaxed(&table.born[black.word[0]]), black.bits[0]);
    ck_assert_uint_eq(cx_a64_load_relaxed(&table.allocated[white.word[0]]), white.bits[0]);
    ck_assert_uint_eq(cx_a64_load_relaxed(&table.allocated[black.word[0]]), black.bits[0]);
    cx_handles_fini(&table);
}

TEST(claim_takes_the_free_bits_of_a_word_and_no_others)
{
    make(4096, 4096);
    struct cx_held held = {0};
    ck_assert(cx_handles_claim(&table, &held, false));
    uint64_t word = held.word[0], some = 0x8000f00000000102;
    give_back(word, some);
    held = (struct cx_held){0};
    ck_assert(cx_handles_claim(&table, &held, false));
    ck_assert_uint_eq(held.word[0], word);
    ck_assert_uint_eq(held.bits[0], some);
    cx_handles_fini(&table);
}

TEST(handles_given_back_are_taken_before_fresh_ones)
{
    make(4096, 8192);
    struct cx_held held = {0};
    uint64_t taken[4];
    for (int i = 0; i < 4; i++) {
        held = (struct cx_held){0};
        ck_assert(cx_handles_claim(&table, &held, false));
        taken[i] = held.word[0];
    }
    give_back(taken[2], 0xff00);
    give_back(taken[1], 0xff00);
    for (int i = 1; i <= 2; i++) {
        held = (struct cx_held){0};
        ck_assert(cx_handles_claim(&table, &held, false));
        ck_assert_uint_eq(held.word[0], taken[i]);
    }
    cx_handles_fini(&table);
}

TEST(full_table_gives_again_what_it_got_back)
{
    make(4096, 4096);
    struct cx_held held = {0};
    while (cx_handles_claim(&table, &held, false)) held.count = 0;
    for (int round = 0; round < 100; round++) {
        held.count = 0;
        ck_assert(!cx_handles_claim(&table, &held, round % 2 == 0));
        ck_assert_uint_eq(held.count, 0);
        uint64_t word = (uint64_t)round * 37 % 64, bit = (uint64_t)1 << (round * 13 % 63 + 1);
        give_back(word, bit);
        ck_assert(cx_handles_claim(&table, &held, round % 2 == 0));
        ck_assert_uint_eq(held.count, 1);
        ck_assert_uint_eq(held.word[0], word);
        ck_assert_uint_eq(held.bits[0], bit);
    }
    cx_handles_fini(&table);
}

TEST(overhead_is_the_table_and_the_bitmaps_that_every_cycle_uses_at_least)
{
    enum { COUNT = 1 << 20 };
    make(COUNT, COUNT);
    uint64_t table_bytes = COUNT * sizeof(void *), bitmap = COUNT / 8, per_word = COUNT / 64 / 8;
    ck_assert_uint_ge(cx_handles_overhead(&table), table_bytes + 4 * bitmap + per_word);
    ck_assert_uint_le(cx_handles_overhead(&table), table_bytes + (CX_BITMAPS - 1) * bitmap + per_word);
    cx_handles_fini(&table);
}

TEST(words_that_are_not_handles_name_no_object)
{
    make(4096, 8192);
    int object;
    table.table[77] = &object;
    ck_assert(cx_handle_is_object(&table, 77));
    const uint64_t others[] = {0,
                               1,
                               76,
                               4095,
                               4096,
                               8191,
                               8192,
                               (uint64_t)1 << 36,
                               ((uint64_t)1 << 36) + 77,
                               COEX_IMMEDIATE(77),
                               ((uint64_t)1 << 63) + 77,
                               UINT64_MAX};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) ck_assert(!cx_handle_is_object(&table, others[i]));
    cx_handles_fini(&table);
}

TEST(largest_table_can_be_reserved)
{
    if (test_is_sanitized()) return; /* their shadow memory leaves no room for it */
    make(4096, CX_MAX_HANDLES);
    ck_assert_uint_eq(table.max, CX_MAX_HANDLES);
    ck_assert_uint_eq(cx_a64_load_relaxed(&table.committed), 4096);
    cx_handles_fini(&table);
}

/* ---- many threads ----------------------------------------------------------------------------------------- */

enum { MANY_HANDLES = 1 << 18, MANY_THREADS = 8 };

static cx_a32 owner[MANY_HANDLES]; /* 0: nobody */

static void own(uint64_t word, uint64_t bits, uint32_t who)
{
    for (; bits != 0; bits &= bits - 1) {
        uint32_t before = cx_a32_exchange_acq_rel(&owner[word * 64 + (uint64_t)__builtin_ctzll(bits)], who);
        expect_eq(before, 0);
    }
}

static void disown(uint64_t word, uint64_t bits)
{
    for (; bits != 0; bits &= bits - 1) cx_a32_store_release(&owner[word * 64 + (uint64_t)__builtin_ctzll(bits)], 0);
}

static void claim_all(unsigned index, void *total)
{
    struct cx_held held = {0};
    while (cx_handles_claim(&table, &held, index % 2 == 0)) {
        for (uint32_t i = 0; i < held.count; i++) own(held.word[i], held.bits[i], index + 1);
        cx_a64_add_relaxed(total, handles_in(&held));
        held.count = 0;
    }
}

TEST(claims_by_many_threads_give_each_handle_one_owner)
{
    cx_a64 total = {0};
    make(4096, MANY_HANDLES);
    run_threads(MANY_THREADS, claim_all, &total);
    ck_assert_uint_eq(cx_a64_load_relaxed(&total), MANY_HANDLES - 1);
    ck_assert_uint_eq(cx_a32_load_relaxed(&owner[0]), 0);
    for (uint64_t h = 1; h < MANY_HANDLES; h++) expect(cx_a32_load_relaxed(&owner[h]) != 0);
    ck_assert_uint_eq(cx_a64_load_relaxed(&table.growths), 6);
    cx_handles_fini(&table);
}

/* Each takes words and gives some of their bits back, the way the sweep does, beside the claims of all others. */
static void churn(unsigned index, void *seed)
{
    enum { KEEP = 64 };
    test_rng rng = rng_from(*(uint64_t *)seed + index);
    uint64_t word[KEEP], bits[KEEP];
    unsigned kept = 0;
    int rounds = test_is_sanitized() ? 2000 : 40000;
    for (int round = 0; round < rounds; round++) {
        struct cx_held held = {0};
        if (kept < KEEP && cx_handles_claim(&table, &held, index % 2 == 0)) {
            own(held.word[0], held.bits[0], index + 1);
            word[kept] = held.word[0];
            bits[kept++] = held.bits[0];
        }
        if (kept > 0 && rng_one_in(&rng, 2)) {
            unsigned at = (unsigned)rng_below(&rng, kept);
            uint64_t some = bits[at] & rng_next(&rng);
            disown(word[at], some);
            give_back(word[at], some);
            bits[at] &= ~some;
            if (bits[at] == 0) {
                word[at] = word[--kept];
                bits[at] = bits[kept];
            }
        }
    }
    while (kept > 0) {
        kept--;
        disown(word[kept], bits[kept]);
        give_back(word[kept], bits[kept]);
    }
}

TEST(giving_back_beside_claims_loses_no_handle_and_doubles_none)
{
    uint64_t seed = test_seed();
    cx_a64 total = {0};
    make(4096, 16384);
    run_threads(MANY_THREADS, churn, &seed);
    claim_all(0, &total);
    ck_assert_uint_eq(cx_a64_load_relaxed(&total), cx_a64_load_relaxed(&table.committed) - 1);
    cx_handles_fini(&table);
}
