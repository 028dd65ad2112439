/*
 * Lists in bad company: wrong kinds and indices, memory that runs out in the middle of every operation, threads that share a list.
 */
#include "support/lists.h"

#include <coex/values/array.h>
#include <coex/values/cell.h>

/* ---- bad input -------------------------------------------------------------------------------------------------- */

static void expect_refused(coex_handle bad)
{
    uint64_t word, run;
    coex_handle good = coex_list_empty(false);
    coex_handle *slot = coex_gc_enter_frame_with(1, 1, &good);
    coex_clear_status();
    expect_status(coex_list_len(bad) == 0, COEX_STATUS_KIND);
    expect_status(!coex_list_has_handles(bad), COEX_STATUS_KIND);
    expect_status(coex_list_get(bad, 0) == 0, COEX_STATUS_KIND);
    expect_status(!coex_list_read(bad, 0, &word), COEX_STATUS_KIND);
    expect_status(coex_list_chunk(bad, 0, &run) == NULL && run == 0, COEX_STATUS_KIND);
    expect_status(!coex_list_copy(bad, 0, 0, &word), COEX_STATUS_KIND);
    expect_status(coex_list_append(bad, 1) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_set(bad, 0, 1) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_pop(bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_slice(bad, 0, 0) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_concat(bad, slot[0]) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_concat(slot[0], bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_insert(bad, 0, 1) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_remove(bad, 0) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_iterate(bad, 0) == 0, COEX_STATUS_KIND);
    expect_status(!coex_list_next(bad, &word), COEX_STATUS_KIND);
    expect_status(coex_list_next_chunk(bad, &run) == NULL, COEX_STATUS_KIND);
    expect_status(coex_list_builder(bad) == 0, COEX_STATUS_KIND);
    expect_status(!coex_list_builder_append(bad, 1), COEX_STATUS_KIND);
    expect_status(coex_list_builder_finish(bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_from_array(bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_to_array(bad) == 0, COEX_STATUS_KIND);
    coex_gc_leave_frame(slot);
}

static coex_handle of_another_kind(void) { return coex_cell_new(0); }

TEST(null_immediates_and_other_objects_are_of_the_wrong_kind)
{
    start();
    each_wrong_kind(expect_refused, of_another_kind);
    end();
}

TEST(an_index_outside_is_a_range_error_and_changes_nothing)
{
    start();
    uint64_t word, run;
    coex_handle *slot = coex_gc_enter_frame(2);
    for (uint64_t n = 0; n < 3000; n += 1 + n) {
        slot[0] = numbers(0, n);
        coex_clear_status();
        uint64_t outside[] = {n, n + 1, UINT64_MAX, UINT64_MAX / 2, (uint64_t)1 << 48};
        for (unsigned i = 0; i < 5; i++) {
            expect_status(coex_list_get(slot[0], outside[i]) == 0, COEX_STATUS_RANGE);
            expect_status(!coex_list_read(slot[0], outside[i], &word), COEX_STATUS_RANGE);
            expect_status(coex_list_chunk(slot[0], outside[i], &run) == NULL, COEX_STATUS_RANGE);
            expect_status(coex_list_set(slot[0], outside[i], 1) == 0, COEX_STATUS_RANGE);
            expect_status(coex_list_remove(slot[0], outside[i]) == 0, COEX_STATUS_RANGE);
            expect_status(coex_list_slice(slot[0], outside[i], 0) == 0 || outside[i] == 0,
                          outside[i] == 0 ? COEX_STATUS_OK : COEX_STATUS_RANGE);
            if (i == 0) continue; /* the length itself is a place to insert, to slice and to iterate from */
            expect_status(coex_list_insert(slot[0], outside[i], 1) == 0, COEX_STATUS_RANGE);
            expect_status(coex_list_slice(slot[0], 0, outside[i]) == 0, COEX_STATUS_RANGE);
            expect_status(coex_list_iterate(slot[0], outside[i]) == 0, COEX_STATUS_RANGE);
            expect_status(!coex_list_copy(slot[0], outside[i], 1, &word), COEX_STATUS_RANGE);
            expect_status(!coex_list_copy(slot[0], 0, outside[i], &word), COEX_STATUS_RANGE);
        }
        if (n == 0) expect_status(coex_list_pop(slot[0]) == 0, COEX_STATUS_RANGE);
        expect_numbers(slot[0], 0, n);
    }
    coex_gc_leave_frame(slot);
    end();
}

TEST(words_and_handles_do_not_mix)
{
    start();
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[0] = coex_list_empty(true);
    slot[1] = coex_list_empty(false);
    expect_status(coex_list_concat(slot[0], slot[1]) == 0, COEX_STATUS_KIND);
    slot[2] = coex_array_of(3, 4, false);
    expect_status(coex_list_from_array(slot[2]) == 0, COEX_STATUS_KIND);
    expect_eq(coex_kind_of(slot[0]), COEX_KIND_LIST);
    slot[2] = coex_list_builder(slot[0]);
    expect_eq(coex_kind_of(slot[2]), COEX_KIND_BUILDER);
    slot[2] = coex_list_iterate(slot[0], 0);
    expect_eq(coex_kind_of(slot[2]), COEX_KIND_ITERATOR);
    coex_gc_leave_frame(slot);
    end();
}

/* ---- memory that runs out ---------------------------------------------------------------------------------------- */

enum { TIGHT = 5000, CUT = 17, BALLAST = 4000, OPERATIONS = 9, DOUBLINGS = 34 };

/* Random operation `what` on a list of CUT, CUT + 1, … TIGHT - 1, and the other list, which has 0, 1, … TIGHT - 1. */
static coex_handle tight_operation(uint64_t what, coex_handle list, coex_handle whole, uint64_t at)
{
    switch (what) {
    case 0:
        return coex_list_set(list, at, 1);
    case 1:
        return coex_list_insert(list, at, 1);
    case 2:
        return coex_list_remove(list, at);
    case 3:
        return coex_list_concat(list, whole);
    case 4:
        return coex_list_slice(list, at / 2, at);
    case 5:
        return coex_list_append(list, 1);
    case 6:
        return coex_list_to_array(list);
    case 7:
        return coex_list_concat(whole, list);
    default:
        return coex_list_pop(list);
    }
}

/* The word that must be at `i` of its result. */
static uint64_t tight_word(uint64_t what, uint64_t at, uint64_t i)
{
    const uint64_t n = TIGHT - CUT;
    switch (what) {
    case 0:
        return i == at ? 1 : i + CUT;
    case 1:
        return i < at ? i + CUT : i == at ? 1 : i - 1 + CUT;
    case 2:
        return i < at ? i + CUT : i + 1 + CUT;
    case 3:
        return i < n ? i + CUT : i - n;
    case 4:
        return at / 2 + i + CUT;
    case 5:
        return i == n ? 1 : i + CUT;
    case 7:
        return i < TIGHT ? i : i - TIGHT + CUT;
    default:
        return i + CUT;
    }
}

static void expect_tight(coex_handle list, uint64_t what, uint64_t at)
{
    if (what == 6) {
        for (uint64_t i = 0; i < TIGHT - CUT; i++) expect_eq(coex_array_word(list, i), tight_word(what, at, i));
        return;
    }
    uint64_t n = coex_list_len(list);
    for (uint64_t i = 0; i < n; i++) expect_eq(coex_list_get(list, i), tight_word(what, at, i));
}

/* Fills the heap, in small pieces at last, and gives some of them back. */
static void make_tight(test_rng *rng, coex_handle ballast, uint32_t bytes)
{
    for (uint64_t i = 0; i < BALLAST; i++) coex_gc_store(ballast, i * 8, 0);
    for (uint64_t i = 0; i < BALLAST; i++) {
        coex_handle piece = coex_gc_alloc(i < 60 ? 60000 : rng_between(rng, 8, 600), bytes);
        if (piece == 0 && i >= 60) break;
        if (piece != 0) coex_gc_store(ballast, i * 8, piece);
    }
    for (uint64_t i = rng_below(rng, 300); i > 0; i--) coex_gc_store(ballast, rng_below(rng, BALLAST) * 8, 0);
}

/* There is hardly any room: allocations in the middle of operations wait for whole cycles, which take away all that is not rooted, and
 * some fail. */
TEST_TIMEOUT(out_of_memory_changes_nothing_and_cycles_within_operations_take_nothing, 60)
{
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    config.heap_limit = 4 * MIB;
    config.poison = true;
    config.stress_to = HOSTILE_FIRST;
    start_with(&config);
    uint32_t bytes = type_bytes(), refs = type_refs();
    uint64_t refused = 0, built = TIGHT - CUT;
    test_rng rng = rng_from(test_seed());
    coex_handle *slot = coex_gc_enter_frame(6);
    slot[0] = numbers(0, TIGHT);
    slot[1] = coex_list_slice(slot[0], CUT, TIGHT);
    slot[5] = slot[0];
    for (int i = 0; i < DOUBLINGS; i++) slot[5] = coex_list_concat(slot[5], slot[5]);
    slot[2] = coex_gc_alloc(BALLAST * 8, refs);
    slot[3] = coex_list_builder(slot[1]);
    for (int round = 0; round < 30; round++) {
        make_tight(&rng, slot[2], bytes);
        for (int i = 0; i < 40; i++) {
            coex_clear_status();
            uint64_t at = rng_below(&rng, TIGHT - CUT - 1), what = rng_below(&rng, OPERATIONS);
            slot[4] = tight_operation(what, slot[1], slot[0], at);
            refused += slot[4] == 0;
            expect(slot[4] != 0 || coex_last_status() == COEX_STATUS_MEMORY);
            if (slot[4] != 0) expect_tight(slot[4], what, at);
            slot[4] = coex_list_concat(slot[5], slot[5]); /* deep: it makes more nodes than others */
            for (uint64_t k = 0; slot[4] != 0 && k < 100; k++) {
                uint64_t index = rng_below(&rng, (uint64_t)TIGHT << (DOUBLINGS + 1));
                expect_eq(coex_list_get(slot[4], index), index % TIGHT);
            }
            bool done = coex_list_builder_set(slot[3], at, at + CUT) && coex_list_builder_append(slot[3], built + CUT);
            built += done;
            expect(done || coex_last_status() == COEX_STATUS_MEMORY);
        }
        expect_numbers(slot[0], 0, TIGHT);
        expect_numbers(slot[1], CUT, TIGHT - CUT);
        expect_eq(coex_list_builder_len(slot[3]), built);
        for (uint64_t i = 0; i < built; i++) expect_eq(coex_list_builder_get(slot[3], i), i + CUT);
    }
    printf("%" PRIu64 " of 1200 refused, %" PRIu64 " appended, %" PRIu64 " cycles\n", refused, built - TIGHT + CUT,
           stats_now().collections_completed);
    expect(refused > 20 && refused < 1180 && built > TIGHT);
    slot[2] = slot[4] = slot[5] = 0;
    slot[3] = coex_list_builder_finish(slot[3]);
    expect_numbers(slot[3], CUT, built);
    coex_gc_leave_frame(slot);
    end();
}

static uint64_t marked_word(uint64_t i) { return COEX_IMMEDIATE(i); }

static void run_all_or_nothing(bool handles)
{
    enum { FIRST = 1000, MANY = 100000 };
    static uint64_t words[MANY];
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    config.heap_limit = 4 * MIB;
    config.poison = true;
    config.stress_to = HOSTILE_FIRST;
    begin(config);
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = coex_list_empty(handles);
    slot[0] = coex_list_builder(slot[0]);
    uint64_t n = 0, failures = 0;
    for (; n < FIRST; n++) expect(coex_list_builder_append(slot[0], marked_word(n)));
    while (failures < 3) {
        if (failures == 1) { /* a builder with no node of its own, of a list that nobody else has */
            slot[1] = coex_list_builder_finish(slot[0]);
            slot[0] = coex_list_builder(slot[1]);
            slot[1] = 0;
        }
        for (uint64_t i = 0; i < MANY; i++) words[i] = marked_word(n + i);
        if (coex_list_builder_append_words(slot[0], words, MANY)) {
            n += MANY;
        } else {
            expect_eq(coex_last_status(), COEX_STATUS_MEMORY);
            failures++;
        }
        expect_eq(coex_list_builder_len(slot[0]), n);
        for (uint64_t i = 0; i < n; i++) expect_eq(coex_list_builder_get(slot[0], i), marked_word(i));
        for (uint64_t end_ = n + 40; n < end_; n++) expect(coex_list_builder_append(slot[0], marked_word(n)));
    }
    expect(n > 2 * MANY);
    slot[1] = coex_list_builder_finish(slot[0]);
    for (uint64_t i = 0; i < n; i++) expect_eq(coex_list_get(slot[1], i), marked_word(i));
    coex_gc_leave_frame(slot);
    end();
}

TEST(many_words_are_appended_to_a_builder_all_or_none) { run_all_or_nothing(false); }
TEST(many_handles_are_appended_to_a_builder_all_or_none) { run_all_or_nothing(true); }

/* ---- threads ------------------------------------------------------------------------------------------------------ */

static coex_handle shared_cell; /* a global root */

static void share_and_change(unsigned index, void *arg)
{
    (void)arg;
    coex_gc_register_thread();
    test_rng rng = rng_from(index + 1);
    held = coex_gc_enter_frame(1);
    coex_handle *slot = coex_gc_enter_frame(2);
    for (int round = 0; round < unless_hostile(test_is_sanitized() ? 40 : 200, 3); round++) {
        slot[0] = coex_gc_global_load(&shared_cell);
        uint64_t n = coex_list_len(slot[0]);
        for (int i = 0; i < 50; i++) {
            uint64_t at = rng_below(&rng, n);
            expect_eq(((pair *)coex_gc_handle_deref(coex_list_get(slot[0], at)))->value, at);
        }
        slot[1] = coex_list_slice(slot[0], n / 4, n / 2);
        slot[1] = coex_list_concat(slot[1], slot[0]);
        slot[1] = coex_list_builder(slot[1]);
        for (uint64_t i = 0; i < 100; i++)
            expect(coex_list_builder_set(slot[1], rng_below(&rng, n), hold(new_pair(pair_type, 0, 7))));
        slot[1] = coex_list_builder_finish(slot[1]);
        for (uint64_t i = 0; i < 50; i++) {
            uint64_t at = rng_below(&rng, n), last = n / 2 - n / 4 + at;
            uint64_t value = ((pair *)coex_gc_handle_deref(coex_list_get(slot[1], last)))->value;
            expect(value == 7 || value == at);
        }
        coex_gc_global_store(&shared_cell, coex_list_set(slot[0], 5, coex_list_get(slot[0], 5))); /* the same words, another list */
        if (round % 16 == 0) coex_gc_async();
    }
    coex_gc_leave_frame(slot);
    coex_gc_leave_frame(held);
    coex_gc_unregister_thread();
}

static void run_shared(void)
{
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = coex_list_empty(true);
    slot[0] = coex_list_builder(slot[0]);
    for (uint64_t i = 0; i < unless_hostile(3000, 600); i++)
        expect(coex_list_builder_append(slot[0], hold(new_pair(pair_type, 0, i))));
    shared_cell = coex_list_builder_finish(slot[0]);
    expect(coex_gc_add_global_root(&shared_cell) == 0);
    coex_gc_leave_frame(slot);
    coex_gc_enter_native();
    run_threads(3, share_and_change, NULL);
    coex_gc_leave_native();
    coex_gc_remove_global_root(&shared_cell);
}

TEST_TIMEOUT(threads_share_a_list_while_cycles_run, 60)
{
    start();
    run_shared();
    end();
}

TEST_TIMEOUT(threads_share_a_list_with_a_cycle_at_every_chance, 120)
{
    start_hostile();
    run_shared();
    end();
}

/* Each node that a builder made or changed is frozen at the end, with a safepoint after each. */
static void finish_much(void)
{
    enum { MUCH = 30000, STEP = 30 };
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = numbers(0, MUCH);
    for (uint64_t round = 0; round < unless_hostile(test_is_sanitized() ? 20u : 1000u, 1u); round++) {
        slot[1] = coex_list_builder(slot[0]);
        for (uint64_t i = 0; i < MUCH; i += STEP) expect(coex_list_builder_set(slot[1], i, i + 1)); /* all leaves */
        slot[1] = coex_list_builder_finish(slot[1]);
        expect_eq(coex_list_len(slot[1]), MUCH);
        for (uint64_t i = 0; i < MUCH; i += STEP) expect_eq(coex_list_get(slot[1], i), i + 1);
    }
    coex_gc_leave_frame(slot);
}

TEST_TIMEOUT(lists_that_are_long_in_the_making_live_beside_cycles, 60)
{
    start();
    beside_cycles(finish_much);
    end();
}
