/*
 * Cells and mutable arrays: what one thread does, bad input, what dies, and threads that update the same words while cycles run.
 */
#include "support/values.h"

#include <coex/values/array.h>
#include <coex/values/cell.h>
#include <coex/values/list.h>

enum { THREADS = 4, WORDS = 8 };

static void start(void) { values_start(values_config()); }

static void start_hostile(void) { values_start(values_hostile_config()); }

static uint64_t value_of(coex_handle h) { return ((const pair *)coex_gc_handle_deref(h))->value; }

/* ---- one thread ---------------------------------------------------------------------------------------------------- */

TEST(a_cell_holds_what_was_stored_last_and_keeps_it_alive)
{
    start();
    coex_handle *slot = coex_gc_enter_frame(4);
    slot[0] = coex_cell_new(0);
    expect_eq(coex_cell_load(slot[0]), 0);
    slot[1] = new_pair(pair_type, 0, 1);
    slot[2] = coex_gc_weak_new(slot[1]);
    expect(coex_cell_store(slot[0], slot[1]));
    slot[1] = 0;
    coex_gc_collect();
    expect_eq(value_of(coex_cell_load(slot[0])), 1);
    slot[1] = new_pair(pair_type, 0, 2);
    slot[3] = coex_cell_exchange(slot[0], slot[1]);
    expect_eq(value_of(slot[3]), 1);
    coex_handle expected = slot[3];
    expect(!coex_cell_compare_exchange(slot[0], &expected, COEX_IMMEDIATE(9)));
    expect_eq(expected, slot[1]);
    expect(coex_cell_compare_exchange(slot[0], &expected, COEX_IMMEDIATE(9)));
    expect_eq(coex_cell_load(slot[0]), COEX_IMMEDIATE(9));
    slot[1] = slot[3] = 0;
    coex_gc_collect();
    expect_eq(coex_gc_weak_get(slot[2]), 0);
    coex_gc_leave_frame(slot);
    end();
}

static bool increase(uint64_t old, uint64_t *fresh, void *context)
{
    uint64_t limit = *(const uint64_t *)context;
    uint64_t value = old == 0 ? 0 : value_of(old);
    coex_gc_collect(); /* `old` is rooted */
    expect(old == 0 || value_of(old) == value);
    if (value == limit) return false;
    *fresh = new_pair(pair_type, 0, value + 1);
    return true;
}

TEST(update_replaces_what_is_there_or_leaves_it)
{
    start();
    uint64_t limit = 3;
    coex_handle *slot = coex_gc_enter_frame(1), result = 0;
    slot[0] = coex_cell_new(0);
    for (uint64_t i = 1; i <= 3; i++) {
        expect(coex_cell_update(slot[0], increase, &limit, &result));
        expect_eq(value_of(result), i);
        expect_eq(coex_cell_load(slot[0]), result);
    }
    coex_clear_status();
    expect(!coex_cell_update(slot[0], increase, &limit, NULL) && coex_last_status() == COEX_STATUS_OK);
    expect_eq(value_of(coex_cell_load(slot[0])), 3);
    slot[0] = coex_mutable_array_new(5, true);
    expect(coex_mutable_array_update(slot[0], 2, increase, &limit, &result));
    expect_eq(value_of(coex_mutable_array_load(slot[0], 2)), 1);
    expect_eq(coex_mutable_array_load(slot[0], 1), 0);
    coex_gc_leave_frame(slot);
    end();
}

/* Another thread would write to the cell meanwhile: then nothing but the update has the old object. */
static bool increase_while_others_write(uint64_t old, uint64_t *fresh, void *context)
{
    coex_handle cell = *(const coex_handle *)context;
    uint64_t value = value_of(old);
    if (value < 5) expect(coex_cell_store(cell, new_pair(pair_type, 0, value + 1)));
    coex_gc_collect();
    *fresh = new_pair(pair_type, 0, 100 + value_of(old));
    expect_eq(value_of(old), value);
    return true;
}

TEST(update_begins_again_when_others_write_and_keeps_what_it_works_on)
{
    start();
    coex_handle *slot = coex_gc_enter_frame(1);
    coex_handle first = new_pair(pair_type, 0, 1);
    slot[0] = first;
    slot[0] = coex_cell_new(first);
    coex_handle cell = slot[0], result = 0;
    expect(coex_cell_update(cell, increase_while_others_write, &cell, &result));
    expect_eq(value_of(result), 105);
    expect_eq(coex_cell_load(cell), result);
    coex_gc_leave_frame(slot);
    end();
}

TEST(a_mutable_array_of_words_has_every_operation)
{
    start();
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = coex_mutable_array_new(WORDS, false);
    expect_eq(coex_mutable_array_len(slot[0]), WORDS);
    expect(!coex_mutable_array_has_handles(slot[0]) && coex_kind_of(slot[0]) == COEX_KIND_MUTABLE_ARRAY);
    for (uint64_t i = 0; i < WORDS; i++) expect(coex_mutable_array_store(slot[0], i, i * 10));
    expect_eq(coex_mutable_array_exchange(slot[0], 3, 5), 30);
    expect_eq(coex_mutable_array_add(slot[0], 3, 7), 5);
    uint64_t expected = 5;
    expect(!coex_mutable_array_compare_exchange(slot[0], 3, &expected, 1) && expected == 12);
    expect(coex_mutable_array_compare_exchange(slot[0], 3, &expected, 1));
    expect_eq(coex_mutable_array_load(slot[0], 3), 1);
    slot[1] = coex_mutable_array_to_array(slot[0], 2, 6);
    expect(coex_mutable_array_store(slot[0], 2, 99)); /* the array is a copy */
    expect(coex_array_len(slot[1]) == 4 && coex_array_word(slot[1], 0) == 20 && coex_array_word(slot[1], 1) == 1);
    slot[0] = coex_mutable_array_from(slot[1]);
    expect(coex_mutable_array_len(slot[0]) == 4 && coex_mutable_array_load(slot[0], 3) == 50);
    slot[0] = coex_mutable_array_new(0, true);
    expect(slot[0] != 0 && coex_mutable_array_len(slot[0]) == 0);
    slot[1] = coex_mutable_array_to_array(slot[0], 0, 0);
    expect(slot[1] != 0 && coex_array_len(slot[1]) == 0 && coex_array_has_handles(slot[1]));
    coex_gc_leave_frame(slot);
    end();
}

TEST(a_large_mutable_array_of_handles_becomes_an_array_and_back)
{
    const uint64_t n = unless_hostile(20000, 1000);
    start();
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = coex_mutable_array_new(n, true);
    for (uint64_t i = 0; i < n; i++) expect(coex_mutable_array_store(slot[0], i, new_pair(pair_type, 0, i)));
    slot[1] = coex_mutable_array_to_array(slot[0], 0, n);
    slot[0] = coex_mutable_array_from(slot[1]);
    slot[1] = 0;
    coex_gc_collect();
    for (uint64_t i = 0; i < n; i++) expect_eq(value_of(coex_mutable_array_load(slot[0], i)), i);
    coex_gc_leave_frame(slot);
    end();
}

/* ---- bad input --------------------------------------------------------------------------------------------------------- */

static bool never(uint64_t old, uint64_t *fresh, void *context)
{
    (void)old, (void)fresh, (void)context;
    expect(false);
    return false;
}

static void expect_refused(coex_handle bad)
{
    uint64_t word = 0;
    coex_clear_status();
    expect_status(coex_cell_load(bad) == 0, COEX_STATUS_KIND);
    expect_status(!coex_cell_store(bad, 0), COEX_STATUS_KIND);
    expect_status(coex_cell_exchange(bad, 0) == 0, COEX_STATUS_KIND);
    expect_status(!coex_cell_compare_exchange(bad, &word, 0), COEX_STATUS_KIND);
    expect_status(!coex_cell_update(bad, never, NULL, NULL), COEX_STATUS_KIND);
    expect_status(coex_mutable_array_len(bad) == 0, COEX_STATUS_KIND);
    expect_status(!coex_mutable_array_has_handles(bad), COEX_STATUS_KIND);
    expect_status(coex_mutable_array_load(bad, 0) == 0, COEX_STATUS_KIND);
    expect_status(!coex_mutable_array_store(bad, 0, 0), COEX_STATUS_KIND);
    expect_status(coex_mutable_array_exchange(bad, 0, 0) == 0, COEX_STATUS_KIND);
    expect_status(!coex_mutable_array_compare_exchange(bad, 0, &word, 0), COEX_STATUS_KIND);
    expect_status(coex_mutable_array_add(bad, 0, 1) == 0, COEX_STATUS_KIND);
    expect_status(!coex_mutable_array_update(bad, 0, never, NULL, NULL), COEX_STATUS_KIND);
    expect_status(coex_mutable_array_from(bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_mutable_array_to_array(bad, 0, 0) == 0, COEX_STATUS_KIND);
}

static coex_handle of_another_kind(void) { return coex_list_empty(false); }

TEST(null_immediates_and_other_objects_are_of_the_wrong_kind)
{
    start();
    each_wrong_kind(expect_refused, of_another_kind);
    end();
}

TEST(an_index_or_a_length_outside_is_an_error)
{
    start();
    uint64_t word = 0;
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = coex_mutable_array_new(3, true);
    coex_clear_status();
    uint64_t outside[] = {3, UINT64_MAX, UINT64_MAX / 8};
    for (int i = 0; i < 3; i++) {
        expect_status(coex_mutable_array_load(slot[0], outside[i]) == 0, COEX_STATUS_RANGE);
        expect_status(!coex_mutable_array_store(slot[0], outside[i], 0), COEX_STATUS_RANGE);
        expect_status(coex_mutable_array_exchange(slot[0], outside[i], 0) == 0, COEX_STATUS_RANGE);
        expect_status(!coex_mutable_array_compare_exchange(slot[0], outside[i], &word, 0), COEX_STATUS_RANGE);
        expect_status(!coex_mutable_array_update(slot[0], outside[i], never, NULL, NULL), COEX_STATUS_RANGE);
        if (i != 0) expect_status(coex_mutable_array_to_array(slot[0], 0, outside[i]) == 0, COEX_STATUS_RANGE);
    }
    expect_status(coex_mutable_array_add(slot[0], 0, 1) == 0, COEX_STATUS_KIND);
    expect_status(coex_mutable_array_to_array(slot[0], 2, 1) == 0, COEX_STATUS_RANGE);
    expect_status(coex_mutable_array_new(UINT64_MAX, false) == 0, COEX_STATUS_SIZE);
    expect_status(coex_mutable_array_new(UINT64_MAX / 8, true) == 0, COEX_STATUS_SIZE);
    expect_status(coex_mutable_array_new((uint64_t)1 << 42, true) == 0, COEX_STATUS_MEMORY);
    slot[0] = coex_array_of(3, 4, false);
    expect_status(coex_mutable_array_from(slot[0]) == 0, COEX_STATUS_KIND);
    coex_gc_leave_frame(slot);
    end();
}

/* ---- threads -------------------------------------------------------------------------------------------------------------- */

static coex_handle shared; /* a global root */

/* The list that follows: one word longer. */
static bool append_one(uint64_t old, uint64_t *fresh, void *context)
{
    *fresh = coex_list_append(old, *(const uint64_t *)context);
    return *fresh != 0;
}

static bool add_one(uint64_t old, uint64_t *fresh, void *context)
{
    (void)context;
    *fresh = old + 1;
    return true;
}

static uint64_t rounds(void) { return unless_hostile(test_is_sanitized() ? 200 : 2000, 200); }

/* All append to one list in a cell, count in one array, and pass objects round in another. */
static void update_shared(unsigned index, void *arg)
{
    (void)arg;
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(5);
    slot[0] = coex_gc_global_load(&shared);
    slot[1] = coex_mutable_array_load(slot[0], 0);
    slot[2] = coex_mutable_array_load(slot[0], 1);
    slot[3] = coex_mutable_array_load(slot[0], 2);
    for (uint64_t i = 0; i < rounds(); i++) {
        uint64_t word = (uint64_t)index << 32 | i;
        expect(coex_cell_update(slot[1], append_one, &word, NULL));
        coex_mutable_array_add(slot[2], 0, 1);
        expect(coex_mutable_array_update(slot[2], 1, add_one, NULL, NULL));
        slot[4] = coex_mutable_array_exchange(slot[3], i % WORDS, 0); /* take one, */
        expect(slot[4] == 0 || value_of(slot[4]) < WORDS);
        for (uint64_t at = 0; slot[4] != 0; at++) { /* and put it back where there is room */
            coex_handle empty = 0;
            if (coex_mutable_array_compare_exchange(slot[3], at % WORDS, &empty, slot[4])) slot[4] = 0;
        }
        if (i % 100 == 0) coex_gc_async();
    }
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
}

static void expect_all_appended(coex_handle list)
{
    uint64_t next[THREADS] = {0}, n = coex_list_len(list);
    expect_eq(n, THREADS * rounds());
    for (uint64_t i = 0; i < n; i++) { /* those of each thread in its order */
        uint64_t word = coex_list_get(list, i);
        expect_eq(word & UINT32_MAX, next[word >> 32]++);
    }
}

static void run_shared(void)
{
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[0] = coex_list_empty(false);
    slot[0] = coex_cell_new(slot[0]);
    slot[1] = coex_mutable_array_new(2, false);
    slot[2] = coex_mutable_array_new(WORDS, true);
    for (uint64_t i = 0; i < WORDS; i++) expect(coex_mutable_array_store(slot[2], i, new_pair(pair_type, 0, i)));
    shared = coex_mutable_array_new(3, true);
    expect(coex_gc_add_global_root(&shared) == 0);
    for (uint64_t i = 0; i < 3; i++) expect(coex_mutable_array_store(shared, i, slot[i]));
    coex_gc_enter_native();
    run_threads(THREADS, update_shared, NULL);
    coex_gc_leave_native();
    expect_all_appended(coex_cell_load(slot[0]));
    expect_eq(coex_mutable_array_load(slot[1], 0), THREADS * rounds());
    expect_eq(coex_mutable_array_load(slot[1], 1), THREADS * rounds());
    uint64_t seen = 0;
    for (uint64_t i = 0; i < WORDS; i++) seen |= (uint64_t)1 << value_of(coex_mutable_array_load(slot[2], i));
    expect_eq(seen, ((uint64_t)1 << WORDS) - 1);
    coex_gc_remove_global_root(&shared);
    coex_gc_leave_frame(slot);
}

TEST_TIMEOUT(threads_that_update_the_same_cells_lose_no_update, 60)
{
    start();
    run_shared();
    end();
}

TEST_TIMEOUT(threads_lose_no_update_with_a_cycle_at_every_chance, 120)
{
    start_hostile();
    run_shared();
    end();
}
