/*
 * Large JSON objects whose entries are taken out one by one: what a step costs does not grow with the
 * number of entries that are gone. Counted in entries and gaps that are looked at (in checked builds),
 * not by the clock.
 */
#include "support/objects.h"

#include "values/json/json_value.h"

#include <coex/values/json.h>

static unsigned count_of_entries(void) { return test_is_sanitized() ? 3000 : 12000; }

static uint64_t key_text(char *text, uint64_t i) { return (uint64_t)snprintf(text, 24, "key %" PRIu64, i); }

/* An object of `count` entries from `first` on, whose values are their numbers. */
static coex_handle object_of(uint64_t first, uint64_t count)
{
    char text[24];
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_json_object();
    for (uint64_t i = first; i < first + count; i++) {
        uint64_t bytes = key_text(text, i);
        slots[0] = coex_json_set_text(slots[0], text, bytes, coex_json_int((int64_t)i));
        expect(slots[0] != 0);
    }
    coex_handle object = slots[0];
    coex_gc_leave_frame(slots);
    return object;
}

static void expect_at(coex_handle object, uint64_t *cursor, uint64_t wanted)
{
    coex_handle key, value;
    expect(coex_json_next(object, cursor, &key, &value));
    expect_eq(value, coex_json_int((int64_t)wanted));
}

static void expect_gone(coex_handle object, uint64_t *cursor) { expect(!coex_json_next(object, cursor, NULL, NULL)); }

static void take_out(coex_handle *slot, uint64_t i)
{
    char text[24];
    uint64_t bytes = key_text(text, i), before = coex_json_len(*slot);
    *slot = coex_json_remove_text(*slot, text, bytes);
    expect(*slot != 0);
    expect_eq(coex_json_len(*slot), before - 1);
}

/* Steps since cx_json_steps was `before`: a few for each of `calls`. Rebuilding looks at every entry that is left, and happens when as
 * many are gone. */
static void expect_few_steps(uint64_t before, uint64_t calls)
{
    uint64_t steps = cx_json_steps - before;
    if (test_is_checked()) expect(steps != 0);
    if (steps > 6 * calls) test_fail(__FILE__, __LINE__, "%" PRIu64 " steps for %" PRIu64 " calls", steps, calls);
}

TEST_LABEL(an_object_is_a_queue_in_linear_time, timing)
TEST_TIMEOUT(an_object_is_a_queue_in_linear_time, 60)
{
    unsigned count = count_of_entries();
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = object_of(0, count);
    uint64_t before = cx_json_steps, cursor;
    for (unsigned i = 0; i < count; i++) {
        cursor = 0;
        expect_at(slots[0], &cursor, i);
        take_out(slots, i);
    }
    cursor = 0;
    expect_gone(slots[0], &cursor);
    expect_few_steps(before, count);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST_TIMEOUT(a_queue_that_is_filled_as_it_is_emptied_is_linear, 60)
{
    unsigned count = count_of_entries(), room = count / 8;
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1);
    char text[24];
    slots[0] = object_of(0, room);
    uint64_t before = cx_json_steps;
    for (unsigned i = 0; i < count; i++) {
        uint64_t cursor = 0, bytes = key_text(text, room + i);
        slots[0] = coex_json_set_text(slots[0], text, bytes, coex_json_int(room + i));
        expect_at(slots[0], &cursor, i);
        take_out(slots, i);
    }
    expect_few_steps(before, count);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* The run of gaps begins behind an entry that stays, and grows to the left, to the right, or from both ends of the object. */
static void take_out_in_order(uint64_t (*entry)(uint64_t i, uint64_t count))
{
    uint64_t count = count_of_entries();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = object_of(0, count);
    uint64_t before = cx_json_steps;
    for (uint64_t i = 0; i + 1 < count; i++) {
        uint64_t cursor = 0;
        expect_at(slots[0], &cursor, 0);
        take_out(slots, entry(i, count));
        coex_json_next(slots[0], &cursor, NULL, NULL);
    }
    expect_few_steps(before, 2 * count);
    coex_gc_leave_frame(slots);
}

static uint64_t upwards(uint64_t i, uint64_t count)
{
    (void)count;
    return i + 1;
}
static uint64_t downwards(uint64_t i, uint64_t count) { return count - 1 - i; }
static uint64_t alternating(uint64_t i, uint64_t count) { return i % 2 == 0 ? 1 + i / 2 : count - 1 - i / 2; }
static uint64_t from_the_middle(uint64_t i, uint64_t count) { return i < count / 4 ? count / 4 - i : i + 1; }
static uint64_t every_other(uint64_t i, uint64_t count) { return i < count / 2 ? 2 * i + 1 : 2 * (i - count / 2) + 2; }

TEST_LABEL(entries_behind_one_that_stays_are_taken_out_in_linear_time, timing)
TEST_TIMEOUT(entries_behind_one_that_stays_are_taken_out_in_linear_time, 60)
{
    start_default();
    take_out_in_order(upwards);
    take_out_in_order(downwards);
    take_out_in_order(alternating);
    take_out_in_order(from_the_middle);
    take_out_in_order(every_other);
    coex_gc_shutdown();
}

/* Entries go at random: what is left comes in order, from wherever a cursor starts. */
TEST(what_is_left_between_gaps_comes_in_order)
{
    enum { COUNT = 300 };
    bool there[COUNT];
    test_rng rng = rng_from(test_seed());
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1), key, value;
    for (unsigned round = 0; round < 5; round++) {
        slots[0] = object_of(0, COUNT);
        for (unsigned i = 0; i < COUNT; i++) there[i] = true;
        for (unsigned gone = 0; gone < COUNT / 2 - 10; gone++) { /* so few that it is not made anew: a cursor is a number */
            uint64_t i = rng_below(&rng, COUNT), from = rng_below(&rng, COUNT), next = from;
            if (there[i]) take_out(slots, i);
            there[i] = false;
            while (next < COUNT && !there[next]) next++;
            uint64_t cursor = from;
            expect(coex_json_next(slots[0], &cursor, &key, &value) == (next < COUNT));
            if (next < COUNT) expect_eq(value, coex_json_int((int64_t)next));
            if (next < COUNT) expect_eq(cursor, next + 1);
        }
    }
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}
