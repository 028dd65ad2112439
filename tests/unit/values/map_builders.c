/* 
 * Builders of maps and sets take time in proportion to the number of changes, in whatever order
 * keys arrive: counted in places of tables that are looked at (in checked builds), not by the
 * clock. The order of an iterator is the one that programs have most often. */
#include "support/objects.h"

#include "values/map/map_table.h"

#include <coex/values/list.h>
#include <coex/values/set.h>

enum { MOST_STEPS = 20 }; /* for one change: a find, and its share of growing */

static uint64_t count_of_entries(void) { return test_is_sanitized() ? 30000 : 150000; }

static uint64_t steps_before;

static void steps_begin(void) { steps_before = cx_map_table_steps; }

static void steps_end(const char *what, uint64_t changes)
{
    uint64_t steps = cx_map_table_steps - steps_before;
    if (test_is_checked()) expect(steps >= changes);
    if (steps > changes * MOST_STEPS)
        test_fail(__FILE__, __LINE__, "%s: %" PRIu64 " steps for %" PRIu64 " changes", what, steps, changes);
}

/* A map from `first`, first + 1, ... to the same. */
static coex_handle numbers(uint64_t first, uint64_t count)
{
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_map_empty(COEX_MAP_INTEGER);
    slots[0] = coex_map_builder(slots[0]);
    for (uint64_t i = first; i < first + count; i++) expect(coex_map_builder_set(slots[0], i, i));
    coex_handle map = coex_map_builder_finish(slots[0]);
    coex_gc_leave_frame(slots);
    return map;
}

static void expect_numbers(coex_handle map, uint64_t first, uint64_t count, uint64_t more)
{
    uint64_t value;
    expect_eq(coex_map_len(map), count);
    for (uint64_t i = first; i < first + count; i++) {
        expect(coex_map_get(map, i, &value));
        expect_eq(value, i + more);
    }
}

/* slots: 0 a map, 1 an iterator of it, 2 a builder. */
static coex_handle *begin(uint64_t count)
{
    start_quiet();
    coex_handle *slots = coex_gc_enter_frame(6);
    steps_begin();
    slots[0] = numbers(0, count);
    steps_end("keys that count up", count);
    slots[1] = coex_map_iterate(slots[0]);
    return slots;
}

static void finish(coex_handle *slots)
{
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(updating_every_value_in_the_order_of_the_iterator_is_linear)
{
    uint64_t key, value, count = count_of_entries();
    coex_handle *slots = begin(count);
    slots[2] = coex_map_builder(slots[0]);
    steps_begin();
    while (coex_map_next(slots[1], &key, &value)) expect(coex_map_builder_set(slots[2], key, value + 1));
    slots[2] = coex_map_builder_finish(slots[2]);
    steps_end("update", count);
    expect_numbers(slots[2], 0, count, 1);
    expect_numbers(slots[0], 0, count, 0);
    finish(slots);
}

TEST(copying_in_the_order_of_the_iterator_is_linear)
{
    uint64_t key, value, count = count_of_entries();
    coex_handle *slots = begin(count);
    slots[2] = coex_map_empty(COEX_MAP_INTEGER);
    slots[2] = coex_map_builder(slots[2]);
    steps_begin();
    while (coex_map_next(slots[1], &key, &value)) expect(coex_map_builder_set(slots[2], key, value));
    slots[2] = coex_map_builder_finish(slots[2]);
    steps_end("copy", count);
    expect(coex_value_equal(slots[0], slots[2]));
    finish(slots);
}

TEST(filtering_in_the_order_of_the_iterator_is_linear)
{
    uint64_t key, value, count = count_of_entries();
    coex_handle *slots = begin(count);
    slots[2] = coex_map_builder(slots[0]);
    steps_begin();
    while (coex_map_next(slots[1], &key, &value)) {
        if (key >= count / 2) expect(coex_map_builder_remove(slots[2], key));
    }
    slots[2] = coex_map_builder_finish(slots[2]);
    steps_end("filter", count - count / 2);
    expect_numbers(slots[2], 0, count / 2, 0);
    finish(slots);
}

TEST(merging_two_maps_through_a_builder_is_linear)
{
    uint64_t key, value, count = count_of_entries();
    coex_handle *slots = begin(count);
    slots[3] = numbers(count, count);
    slots[2] = coex_map_empty(COEX_MAP_INTEGER);
    slots[2] = coex_map_builder(slots[2]);
    steps_begin();
    while (coex_map_next(slots[1], &key, &value)) expect(coex_map_builder_set(slots[2], key, value));
    slots[1] = coex_map_iterate(slots[3]);
    while (coex_map_next(slots[1], &key, &value)) expect(coex_map_builder_set(slots[2], key, value));
    slots[2] = coex_map_builder_finish(slots[2]);
    steps_end("merge", 2 * count);
    expect_numbers(slots[2], 0, 2 * count, 0);
    finish(slots);
}

TEST(interleaved_walks_of_several_maps_are_linear)
{
    enum { MAPS = 3 };
    uint64_t key, value, each = count_of_entries() / MAPS;
    coex_handle *slots = begin(each);
    for (uint64_t i = 1; i < MAPS; i++) {
        slots[2 + i] = numbers(i * each, each);
        slots[2 + i] = coex_map_iterate(slots[2 + i]);
    }
    slots[2] = coex_map_empty(COEX_MAP_INTEGER);
    slots[2] = coex_map_builder(slots[2]);
    steps_begin();
    while (coex_map_next(slots[1], &key, &value)) {
        expect(coex_map_builder_set(slots[2], key, value));
        for (uint64_t i = 1; i < MAPS; i++)
            expect(coex_map_next(slots[2 + i], &key, &value) && coex_map_builder_set(slots[2], key, value));
    }
    slots[2] = coex_map_builder_finish(slots[2]);
    steps_end("interleaved", MAPS * each);
    expect_numbers(slots[2], 0, MAPS * each, 0);
    finish(slots);
}

TEST(keys_in_the_reverse_order_of_the_iterator_are_linear)
{
    uint64_t count = count_of_entries();
    coex_handle *slots = begin(count);
    slots[1] = coex_map_keys(slots[0]);
    slots[2] = coex_map_builder(slots[0]);
    steps_begin();
    for (uint64_t i = count; i-- > 0;) {
        uint64_t key = coex_list_get(slots[1], i);
        expect(coex_map_builder_set(slots[2], key, key + 2));
    }
    slots[2] = coex_map_builder_finish(slots[2]);
    steps_end("reverse", count);
    expect_numbers(slots[2], 0, count, 2);
    finish(slots);
}

TEST(the_union_of_sets_and_the_set_of_keys_are_linear)
{
    uint64_t key, count = count_of_entries();
    coex_handle *slots = begin(count);
    steps_begin();
    slots[3] = coex_map_key_set(slots[0]);
    steps_end("set of keys", count);
    slots[4] = numbers(count, count);
    slots[4] = coex_map_key_set(slots[4]);
    slots[2] = coex_set_builder(slots[3]);
    slots[1] = coex_set_iterate(slots[4]);
    steps_begin();
    while (coex_set_next(slots[1], &key)) expect(coex_set_builder_add(slots[2], key));
    slots[2] = coex_set_builder_finish(slots[2]);
    steps_end("union", count);
    expect_eq(coex_set_len(slots[2]), 2 * count);
    for (uint64_t i = 0; i < 2 * count; i++) expect(coex_set_has(slots[2], i));
    finish(slots);
}

TEST(taking_out_of_a_builder_what_was_put_in_is_linear)
{
    uint64_t key, value, count = count_of_entries();
    coex_handle *slots = begin(count);
    slots[2] = coex_map_empty(COEX_MAP_INTEGER);
    slots[2] = coex_map_builder(slots[2]);
    steps_begin();
    for (int round = 0; round < 2; round++) {
        while (coex_map_next(slots[1], &key, &value)) expect(coex_map_builder_set(slots[2], key, value));
        slots[1] = coex_map_iterate(slots[0]);
        while (coex_map_next(slots[1], &key, &value)) expect(coex_map_builder_remove(slots[2], key));
        slots[1] = coex_map_iterate(slots[0]);
        expect_eq(coex_map_builder_len(slots[2]), 0);
    }
    steps_end("in and out", 4 * count);
    finish(slots);
}

/* ---- in the order of hashes
 * ------------------------------------------------------------------------------------- */

/* Without a seed the hash is the key but for its last two bits. So a test chooses hashes: all over,
 * in a small part, and in a part so small that their first bytes are the same. The map is that of
 * the same keys set one by one, in the same order. */
static void expect_as_one_by_one(unsigned shift, uint64_t count)
{
    test_rng rng = rng_from(test_seed());
    uint64_t key, value, other, seen = 0;
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[1] = coex_map_empty(COEX_MAP_INTEGER);
    slots[0] = coex_map_builder(slots[1]);
    for (uint64_t i = 0; i < count; i++) {
        key = rng_next(&rng) >> shift << 2;
        expect(coex_map_builder_set(slots[0], key, i));
        slots[1] = coex_map_set(slots[1], key, i);
    }
    uint64_t size = coex_map_len(slots[1]);
    slots[0] = coex_map_builder_finish(slots[0]);
    expect_eq(coex_map_len(slots[0]), size);
    expect(coex_value_equal(slots[0], slots[1]));
    slots[0] = coex_map_iterate(slots[0]);
    slots[1] = coex_map_iterate(slots[1]);
    for (; coex_map_next(slots[0], &key, &value); seen++) expect(coex_map_next(slots[1], &other, NULL) && other == key);
    expect_eq(seen, size);
    coex_gc_leave_frame(slots);
}

TEST(changes_whose_hashes_share_their_first_bytes_make_the_same_map)
{
    start_quiet();
    memset(cx_values.seed, 0, sizeof cx_values.seed);
    for (uint64_t count = 1; count < 20000; count = count * 3 + 1) {
        expect_as_one_by_one(2, count);
        expect_as_one_by_one(10, count);
        expect_as_one_by_one(33, count);
        expect_as_one_by_one(50, count);
    }
    coex_gc_shutdown();
}
