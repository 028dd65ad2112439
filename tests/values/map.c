/* Maps and sets: beside a model, under stress, at large sizes, with many threads, with bad input and without memory. */
#include "support/borders.h"
#include "support/map_model.h"

#include <math.h>

static uint64_t draw_random(void *context, uint64_t bound) { return rng_below(context, bound); }

/* ---- beside a model --------------------------------------------------------------------------------------- */

/* `steps` random operations on maps of each kind. */
static void play(unsigned keys, unsigned steps, unsigned check_every)
{
    static struct world world;
    test_rng rng = rng_from(test_seed());
    for (uint32_t kind = 0; kind < 8; kind++) {
        coex_handle *slots = coex_gc_enter_frame(WORLD_SLOTS);
        world = (struct world){.draw = draw_random, .context = &rng};
        world_begin(&world, kind, keys, slots);
        for (unsigned i = 1; i <= steps; i++) {
            world_step(&world);
            if (i % check_every == 0) world_check(&world);
        }
        world_check(&world);
        coex_gc_leave_frame(slots);
    }
}

TEST(maps_and_sets_of_every_kind_are_as_a_model_says)
{
    start_large();
    play(WORLD_KEYS, scaled(3000, 500), 200);
    play(60, scaled(3000, 500), 100); /* leaves become branches and leaves again */
    coex_gc_shutdown();
}

TEST_TIMEOUT(they_are_so_with_a_cycle_at_every_slow_allocation, 60)
{
    coex_gc_config config = busy_config();
    config.stress = 1;
    start_with(&config);
    play(100, scaled(150, 40), 50);
    coex_gc_shutdown();
}

/* ---- large ------------------------------------------------------------------------------------------------ */

static uint64_t scramble(uint64_t i) { return i * UINT64_C(0x9e3779b97f4a7c15); }

/* A map of scramble(i) to i, by a builder. */
static coex_handle build(coex_handle *slot, uint64_t count)
{
    *slot = coex_map_empty(COEX_MAP_INTEGER);
    *slot = coex_map_builder(*slot);
    for (uint64_t i = 0; i < count; i++) expect(coex_map_builder_set(*slot, scramble(i), i));
    expect_eq(coex_map_builder_len(*slot), count);
    *slot = coex_map_builder_finish(*slot);
    expect_eq(coex_map_len(*slot), count);
    return *slot;
}

static bool add_up(void *context, uint64_t key, uint64_t value)
{
    uint64_t *sums = context;
    expect_eq(key, scramble(value));
    sums[0] += value;
    sums[1]++;
    return true;
}

static void expect_all(coex_handle map, uint64_t count)
{
    uint64_t value, sums[2] = {0, 0};
    for (uint64_t i = 0; i < count; i += 1 + i / 1000) expect(coex_map_get(map, scramble(i), &value) && value == i);
    expect(!coex_map_has(map, scramble(count)));
    expect(coex_map_each(map, add_up, sums));
    expect_eq(sums[1], count);
    expect_eq(sums[0], count * (count - 1) / 2);
}

TEST_TIMEOUT(ten_million_entries_work, 120)
{
    uint64_t count = test_is_large() ? 10000000 : scaled(1000000, 100000); /* ten times as many with COEX_TEST_LARGE=1 */
    if (test_is_checked() && !test_is_large()) count /= 4;
    start_large();
    coex_handle *slots = coex_gc_enter_frame(2);
    build(&slots[0], count);
    expect_all(slots[0], count);
    slots[1] = coex_map_builder(slots[0]); /* all but some out again */
    for (uint64_t i = 100; i < count; i++) expect(coex_map_builder_remove(slots[1], scramble(i)));
    slots[1] = coex_map_builder_finish(slots[1]);
    expect_eq(coex_map_len(slots[0]), count);
    expect_all(slots[1], 100);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(one_by_one_and_by_a_builder_give_equal_maps)
{
    enum { COUNT = 30000 };
    start_large();
    coex_handle *slots = coex_gc_enter_frame(3);
    build(&slots[0], COUNT);
    slots[1] = coex_map_empty(COEX_MAP_INTEGER);
    for (uint64_t i = COUNT; i-- > 0;) slots[1] = coex_map_set(slots[1], scramble(i), i);
    expect(coex_value_equal(slots[0], slots[1]));
    expect_eq(coex_value_hash(slots[0]), coex_value_hash(slots[1]));
    slots[2] = coex_map_set(slots[1], scramble(7), 8);
    expect(!coex_value_equal(slots[0], slots[2]));
    for (uint64_t i = 0; i < COUNT; i++) {
        slots[1] = coex_map_remove(slots[1], scramble(i));
        expect_eq(coex_map_len(slots[1]), COUNT - 1 - i);
    }
    slots[2] = coex_map_empty(COEX_MAP_INTEGER);
    expect(coex_value_equal(slots[1], slots[2]));
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST_LABEL(maps_that_share_most_of_their_trees_combine_and_compare_in_time_of_the_difference, timing)
TEST(maps_that_share_most_of_their_trees_combine_and_compare_in_time_of_the_difference)
{
    enum { COUNT = 200000 };
    start_large();
    coex_handle *slots = coex_gc_enter_frame(3);
    build(&slots[0], COUNT);
    slots[1] = coex_map_set(slots[0], 1, 1);
    double begin = cpu_seconds();
    for (int i = 0; i < 200; i++) {
        slots[2] = coex_map_merge(slots[0], slots[1]);
        expect(slots[2] == slots[1]);
        slots[2] = coex_map_intersect(slots[1], slots[0]);
        expect(coex_value_equal(slots[2], slots[0]));
        slots[2] = coex_map_minus(slots[1], slots[0]);
        expect_eq(coex_map_len(slots[2]), 1);
        expect(coex_map_get(slots[2], 1, NULL));
    }
    expect(cpu_seconds() - begin <
           scaled(2, 20)); /* going through it all even once in each round would take several times as long */
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* ---- keys ------------------------------------------------------------------------------------------------- */

TEST(float_keys_are_equal_as_numbers)
{
    uint64_t value, key;
    start_default();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = coex_map_empty(COEX_MAP_FLOAT);
    slots[0] = coex_map_set(slots[0], bits_of(-0.0), 1);
    slots[0] = coex_map_set(slots[0], bits_of(0.0), 2);
    slots[0] = coex_map_set(slots[0], bits_of((double)NAN), 3);
    slots[0] = coex_map_set(slots[0], bits_of((double)NAN) ^ 5, 4);
    expect_eq(coex_map_len(slots[0]), 2);
    expect(coex_map_get(slots[0], bits_of(-0.0), &value) && value == 2);
    expect(coex_map_get(slots[0], bits_of(-(double)NAN), &value) && value == 4);
    slots[1] = coex_map_iterate(slots[0]);
    while (coex_map_next(slots[1], &key, NULL)) expect(key != bits_of(-0.0));
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* ---- lists ------------------------------------------------------------------------------------------------ */

TEST(keys_and_values_are_lists_in_the_order_of_the_iterator)
{
    enum { COUNT = 1000 };
    uint64_t key, value;
    start_default();
    coex_handle *slots = coex_gc_enter_frame(5);
    build(&slots[0], COUNT);
    slots[1] = coex_map_keys(slots[0]);
    slots[2] = coex_map_values(slots[0]);
    slots[3] = coex_map_iterate(slots[0]);
    slots[4] = coex_map_key_set(slots[0]);
    expect_eq(coex_list_len(slots[1]), COUNT);
    expect(!coex_list_has_handles(slots[1]));
    for (uint64_t i = 0; i < COUNT; i++) {
        expect(coex_map_next(slots[3], &key, &value));
        expect_eq(coex_list_get(slots[1], i), key);
        expect_eq(coex_list_get(slots[2], i), value);
    }
    slots[4] = coex_set_to_list(slots[4]);
    expect(coex_value_equal(slots[4], slots[1]));
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* ---- bad input -------------------------------------------------------------------------------------------- */

#define expect_status(expression, status)                                                                                          \
    do {                                                                                                                           \
        coex_clear_status();                                                                                                       \
        expect((expression) == 0);                                                                                                 \
        expect_eq(coex_last_status(), status);                                                                                     \
    } while (0)

TEST(what_is_no_map_no_set_no_key_is_refused)
{
    uint64_t value;
    start_default();
    coex_handle *slots = coex_gc_enter_frame(6);
    slots[0] = coex_map_empty(COEX_MAP_STRING);
    slots[1] = coex_set_empty(COEX_SET_INTEGER);
    slots[2] = coex_string_from("key", 3);
    slots[3] = coex_map_builder(slots[0]);
    slots[4] = coex_map_iterate(slots[0]);
    const coex_handle wrong[] = {0, COEX_IMMEDIATE(7), slots[1], slots[2], slots[3], slots[4]};
    for (unsigned i = 0; i < 6; i++) {
        expect_status(coex_map_len(wrong[i]), COEX_STATUS_KIND);
        expect_status(coex_map_get(wrong[i], slots[2], &value), COEX_STATUS_KIND);
        expect_status(coex_map_set(wrong[i], slots[2], 0), COEX_STATUS_KIND);
        expect_status(coex_map_remove(wrong[i], slots[2]), COEX_STATUS_KIND);
        expect_status(coex_map_keys(wrong[i]), COEX_STATUS_KIND);
        expect_status(coex_map_iterate(wrong[i]), COEX_STATUS_KIND);
        expect_status(coex_map_builder(wrong[i]), COEX_STATUS_KIND);
        expect_status(coex_map_merge(slots[0], wrong[i]), COEX_STATUS_KIND);
        if (i != 2) expect_status(coex_set_add(wrong[i], 1), COEX_STATUS_KIND);
        if (i != 4) expect_status(coex_map_builder_set(wrong[i], slots[2], 1), COEX_STATUS_KIND);
        if (i != 5) expect_status(coex_map_next(wrong[i], NULL, NULL), COEX_STATUS_KIND);
        expect_status(coex_set_next(wrong[i], NULL), COEX_STATUS_KIND);
        if (i != 3) expect_status(coex_map_set(slots[0], wrong[i], 0), COEX_STATUS_KIND); /* not a string */
        if (i != 3) expect_status(coex_map_builder_set(slots[3], wrong[i], 0), COEX_STATUS_KIND);
    }
    expect_status(coex_map_empty(8), COEX_STATUS_KIND);
    expect_status(coex_set_empty(4), COEX_STATUS_KIND);
    expect_status(coex_map_intersect(slots[0], slots[1]), COEX_STATUS_KIND); /* other keys */
    expect_status(coex_set_is_subset(slots[1], slots[0]), COEX_STATUS_KIND);
    expect_status(coex_map_get(slots[0], slots[2], &value), COEX_STATUS_MISSING);
    coex_clear_status();
    expect(!coex_map_has(slots[0], slots[2]));
    expect_eq(coex_last_status(), COEX_STATUS_OK);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(a_finished_builder_is_stale)
{
    uint64_t value;
    start_default();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = coex_map_empty(COEX_MAP_INTEGER);
    slots[0] = coex_map_builder(slots[0]);
    expect(coex_map_builder_set(slots[0], 1, 2));
    slots[1] = coex_map_builder_finish(slots[0]);
    expect_status(coex_map_builder_finish(slots[0]), COEX_STATUS_STALE);
    expect_status(coex_map_builder_set(slots[0], 1, 3), COEX_STATUS_STALE);
    expect_status(coex_map_builder_remove(slots[0], 1), COEX_STATUS_STALE);
    expect_status(coex_map_builder_get(slots[0], 1, &value), COEX_STATUS_STALE);
    expect_status(coex_map_builder_len(slots[0]) + 1, COEX_STATUS_STALE);
    expect(coex_map_get(slots[1], 1, &value) && value == 2);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(a_builder_keeps_nothing_alive_that_was_taken_out)
{
    enum { COUNT = 1000, WATCHED = COUNT - 5 };
    start_default();
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = coex_map_empty(COEX_MAP_INTEGER | COEX_MAP_REFERENCES);
    slots[0] = coex_map_builder(slots[0]);
    for (uint64_t i = 0; i < COUNT; i++) {
        slots[1] = coex_string_from("value", 5);
        if (i == WATCHED) slots[2] = coex_gc_weak_new(slots[1]);
        expect(coex_map_builder_set(slots[0], i, slots[1]));
    }
    slots[1] = 0;
    coex_gc_collect();
    expect(coex_gc_weak_get(slots[2]) != 0); /* be it in the table or not there yet */
    expect(coex_map_builder_set(slots[0], WATCHED, COEX_IMMEDIATE(1)));
    expect_eq(coex_map_builder_len(slots[0]), COUNT);
    coex_gc_collect();
    expect_eq(coex_gc_weak_get(slots[2]), 0);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* Sets a watched value in a builder and removes its key after `more` other changes. */
static void remove_after(coex_handle *slots, uint64_t key, uint64_t more)
{
    slots[1] = coex_string_from("value", 5);
    slots[2] = coex_gc_weak_new(slots[1]);
    expect(coex_map_builder_set(slots[0], key, slots[1]));
    slots[1] = 0;
    for (uint64_t i = 0; i < more; i++) expect(coex_map_builder_set(slots[0], i, COEX_IMMEDIATE(i)));
    coex_gc_collect();
    expect(coex_gc_weak_get(slots[2]) != 0);
    expect(coex_map_builder_remove(slots[0], key));
    coex_gc_collect();
    expect_eq(coex_gc_weak_get(slots[2]), 0);
}

TEST(a_builder_drops_a_value_when_its_key_is_removed)
{
    enum { COUNT = 1000 };
    start_default();
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = coex_map_empty(COEX_MAP_INTEGER | COEX_MAP_REFERENCES);
    slots[0] = coex_map_builder(slots[0]);
    remove_after(slots, COUNT, 0);     /* of a small table */
    remove_after(slots, COUNT, COUNT); /* of a large one */
    remove_after(slots, COUNT, 0);     /* of those that wait for it */
    remove_after(slots, COUNT, 3);
    slots[0] = coex_map_builder_finish(slots[0]);
    slots[0] = coex_map_builder(slots[0]); /* and beside a tree */
    remove_after(slots, COUNT, 0);
    remove_after(slots, COUNT, COUNT);
    slots[0] = coex_map_builder_finish(slots[0]);
    expect_eq(coex_map_len(slots[0]), COUNT);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* Values that the map had when the builder began are the tree's: at most half of it is kept for nothing. */
TEST(a_builder_drops_the_values_of_the_map_it_began_with_as_keys_are_removed)
{
    enum { COUNT = 300 };
    uint64_t kept = COUNT;
    start_default();
    coex_handle *slots = coex_gc_enter_frame(2 + COUNT);
    slots[0] = coex_map_empty(COEX_MAP_INTEGER | COEX_MAP_REFERENCES);
    slots[0] = coex_map_builder(slots[0]);
    for (uint64_t i = 0; i < COUNT; i++) {
        slots[1] = coex_string_from("value", 5);
        slots[2 + i] = coex_gc_weak_new(slots[1]);
        expect(coex_map_builder_set(slots[0], i, slots[1]));
    }
    slots[1] = 0;
    slots[0] = coex_map_builder_finish(slots[0]);
    slots[0] = coex_map_builder(slots[0]);
    for (uint64_t gone = 0; gone <= COUNT; gone += COUNT / 10) {
        kept = 0;
        coex_gc_collect();
        for (uint64_t i = 0; i < COUNT; i++) kept += coex_gc_weak_get(slots[2 + i]) != 0;
        expect(kept >= COUNT - gone && kept <= 2 * (COUNT - gone) + 1);
        for (uint64_t i = gone; i < COUNT && i < gone + COUNT / 10; i++) expect(coex_map_builder_remove(slots[0], i));
    }
    expect_eq(kept, 0);
    expect_eq(coex_map_builder_len(slots[0]), 0);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* ---- without memory --------------------------------------------------------------------------------------- */

TEST_TIMEOUT(without_memory_nothing_is_lost, 60)
{
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    config.heap_limit = unless_hostile(8, 3) * MIB;
    config.stress_to = HOSTILE_FIRST;
    start_with(&config);
    coex_handle *slots = coex_gc_enter_frame(4);
    slots[0] = coex_map_empty(COEX_MAP_INTEGER);
    slots[1] = coex_map_builder(slots[0]);
    uint64_t count = 0, value;
    while (coex_map_builder_set(slots[1], scramble(count), count)) count++;
    expect_eq(coex_last_status(), COEX_STATUS_MEMORY);
    expect(count > 10000);
    for (uint64_t i = 0; i < count; i++) expect(coex_map_builder_get(slots[1], scramble(i), &value) && value == i);
    coex_handle map = coex_map_builder_finish(slots[1]);
    if (map == 0) expect_eq(coex_last_status(), COEX_STATUS_MEMORY); /* and the builder is as it was */
    for (uint64_t i = 0; map == 0 && i < count; i++) expect(coex_map_builder_get(slots[1], scramble(i), &value) && value == i);
    slots[1] = 0;
    uint64_t added = 0;
    for (coex_handle next; (next = coex_map_set(slots[0], scramble(added), added)) != 0; added++) slots[0] = next;
    expect_eq(coex_last_status(), COEX_STATUS_MEMORY);
    expect_all(slots[0], added);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* ---- many threads ----------------------------------------------------------------------------------------- */

static coex_handle shared_map; /* a global root */

static void use_shared(unsigned index, void *argument)
{
    (void)argument;
    coex_gc_register_thread();
    test_rng rng = rng_from(way_seed + index);
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = coex_gc_global_load(&shared_map);
    for (unsigned round = 0; round < scaled(20, 4); round++) {
        slots[1] = slots[0];
        for (uint64_t i = 0; i < 500; i++) {
            uint64_t key = rng_below(&rng, 4000), value;
            slots[2] = coex_string_from((const char *)&"thread\0next\0"[index % 2 * 7], 4);
            slots[1] =
                rng_one_in(&rng, 3) ? coex_map_remove(slots[1], scramble(key)) : coex_map_set(slots[1], scramble(key), slots[2]);
            expect(slots[1] != 0);
            expect(coex_map_get(slots[0], scramble(key), &value) == (key < 2000) && (key >= 2000 || value == COEX_IMMEDIATE(key)));
        }
        expect_eq(coex_map_len(slots[0]), 2000);
        slots[1] = coex_map_intersect(slots[0], slots[1]);
        slots[1] = coex_map_merge(slots[1], slots[0]);
        expect(coex_value_equal(slots[1], slots[0]));
        expect_eq(coex_value_hash(slots[1]), coex_value_hash(slots[0]));
    }
    coex_gc_leave_frame(slots);
    coex_gc_unregister_thread();
}

static void many_threads(void)
{
    coex_gc_config config = busy_config();
    config.stress_to = HOSTILE_FIRST;
    start_with(&config);
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_map_empty(COEX_MAP_INTEGER | COEX_MAP_REFERENCES);
    for (uint64_t i = 0; i < 2000; i++) slots[0] = coex_map_set(slots[0], scramble(i), COEX_IMMEDIATE(i));
    shared_map = 0;
    expect(coex_gc_add_global_root(&shared_map) == COEX_GC_OK);
    coex_gc_global_store(&shared_map, slots[0]);
    coex_gc_leave_frame(slots);
    run_threads_native(3, use_shared, NULL);
    coex_gc_remove_global_root(&shared_map);
    coex_gc_shutdown();
}

TEST_TIMEOUT(threads_share_a_map_while_cycles_run, 60) { both_ways(many_threads); }
