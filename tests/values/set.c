/* What maps and sets promise beside what the model checks (map.c): kinds, order, elements that are doubles, visits that stop, and what is
 * refused by each function. */
#include "support/values.h"

#include <coex/values.h>
#include <math.h>

static coex_handle *begin(unsigned slots)
{
    start_default();
    pair_type = type_pair();
    return coex_gc_enter_frame(slots);
}

static void finish(coex_handle *slots)
{
    coex_gc_leave_frame(slots);
    end();
}

TEST(maps_and_sets_are_of_the_kind_they_were_made_with)
{
    coex_handle *slots = begin(3);
    slots[2] = coex_string_from_int(1);
    for (uint32_t kind = 0; kind < 8; kind++) {
        slots[0] = coex_map_empty(kind);
        slots[1] = coex_set_empty(kind & 3);
        expect_eq(coex_map_kind(slots[0]), kind);
        expect_eq(coex_set_kind(slots[1]), kind & 3);
        slots[0] = coex_map_set(slots[0], (kind & 3) == COEX_MAP_STRING ? slots[2] : COEX_IMMEDIATE(1), 0);
        slots[1] = coex_map_key_set(slots[0]);
        expect_eq(coex_map_kind(slots[0]), kind);
        expect_eq(coex_set_kind(slots[1]), kind & 3);
        expect_eq(coex_set_len(slots[1]), 1);
    }
    coex_clear_status();
    expect_status(coex_map_kind(slots[1]) == 0, COEX_STATUS_KIND);
    expect_status(coex_set_kind(slots[0]) == 0, COEX_STATUS_KIND);
    finish(slots);
}

/* ---- order ---------------------------------------------------------------------------------------------------------- */

static coex_handle word_of(uint64_t n, coex_handle *slot) { return *slot = coex_string_from_int((int64_t)n); }

TEST(equal_maps_go_in_one_order_however_they_were_made)
{
    const uint64_t count = unless_hostile(2000, 120);
    coex_handle *slots = begin(8);
    slots[0] = coex_map_empty(COEX_MAP_STRING);
    for (uint64_t i = 0; i < count; i++) slots[0] = coex_map_set(slots[0], word_of(i, &slots[2]), i);
    slots[1] =
        coex_map_empty(COEX_MAP_STRING); /* from the other end, with some that go again, with other strings of the same text */
    slots[1] = coex_map_builder(slots[1]);
    for (uint64_t i = 2 * count; i-- > 0;) expect(coex_map_builder_set(slots[1], word_of(i, &slots[2]), i));
    for (uint64_t i = count; i < 2 * count; i++) expect(coex_map_builder_remove(slots[1], word_of(i, &slots[2])));
    slots[1] = coex_map_builder_finish(slots[1]);
    slots[2] = coex_map_iterate(slots[0]);
    slots[3] = coex_map_iterate(slots[1]);
    slots[4] = coex_map_key_set(slots[1]);
    slots[5] = coex_set_iterate(slots[4]);
    uint64_t key = 0, other = 0, element = 0, value = 0, same = 0, seen = 0;
    for (; coex_map_next(slots[2], &key, &value); seen++) {
        expect(coex_map_next(slots[3], &other, &same) && coex_set_next(slots[5], &element));
        expect(coex_string_equal(key, other) && coex_string_equal(key, element) && value == same);
    }
    expect_eq(seen, count);
    expect(!coex_map_next(slots[3], NULL, NULL) && !coex_set_next(slots[5], NULL));
    expect_eq(coex_last_status(), COEX_STATUS_OK); /* the end is no error */
    finish(slots);
}

/* ---- visits --------------------------------------------------------------------------------------------------------- */

struct visit {
    uint64_t calls, stop, sum;
};

static bool visit_element(void *context, uint64_t element)
{
    struct visit *visit = context;
    coex_gc_collect(); /* whatever it likes */
    visit->sum += element;
    return ++visit->calls != visit->stop;
}

static bool visit_entry(void *context, uint64_t key, uint64_t value)
{
    expect_eq(value, key + 1);
    return visit_element(context, key);
}

TEST(a_visit_goes_to_the_end_or_stops_when_it_is_told_to)
{
    enum { COUNT = 100 };
    coex_handle *slots = begin(2);
    slots[0] = coex_map_empty(COEX_MAP_INTEGER);
    slots[1] = coex_set_empty(COEX_SET_INTEGER);
    struct visit nothing = {0};
    expect(coex_map_each(slots[0], visit_entry, &nothing) && coex_set_each(slots[1], visit_element, &nothing));
    expect_eq(nothing.calls, 0);
    for (uint64_t i = 0; i < COUNT; i++) {
        slots[0] = coex_map_set(slots[0], i, i + 1);
        slots[1] = coex_set_add(slots[1], i);
    }
    for (uint64_t stop = 0; stop <= COUNT; stop += 25) {
        struct visit map = {.stop = stop}, set = {.stop = stop};
        expect(coex_map_each(slots[0], visit_entry, &map) == (stop == 0));
        expect(coex_set_each(slots[1], visit_element, &set) == (stop == 0));
        expect_eq(map.calls, stop != 0 ? stop : COUNT);
        expect_eq(set.calls, map.calls);
        expect_eq(set.sum, map.sum); /* the same order */
        if (map.calls == COUNT) expect_eq(map.sum, COUNT * (COUNT - 1) / 2);
    }
    finish(slots);
}

/* ---- doubles -------------------------------------------------------------------------------------------------------- */

TEST(doubles_are_equal_as_numbers_wherever_they_are_elements)
{
    const double numbers[] = {0.0, -0.0, (double)INFINITY, -(double)INFINITY, 5e-324, -5e-324, 1.0, (double)NAN, -(double)NAN};
    enum { NUMBERS = sizeof numbers / sizeof numbers[0], DIFFERENT = 7 };
    coex_handle *slots = begin(4);
    slots[0] = coex_set_empty(COEX_SET_FLOAT);
    slots[1] = coex_set_builder(slots[0]);
    for (unsigned i = 0; i < NUMBERS; i++) {
        slots[0] = coex_set_add(slots[0], bits_of(numbers[i]));
        expect(coex_set_builder_add(slots[1], bits_of(numbers[NUMBERS - 1 - i])));
    }
    expect(coex_set_builder_has(slots[1], bits_of((double)NAN) ^ 1) && coex_set_builder_has(slots[1], bits_of(-0.0)));
    slots[1] = coex_set_builder_finish(slots[1]);
    expect_eq(coex_set_len(slots[0]), DIFFERENT);
    expect(coex_value_equal(slots[0], slots[1]));
    expect(coex_set_is_subset(slots[0], slots[1]) && coex_set_is_subset(slots[1], slots[0]));
    for (unsigned i = 0; i < NUMBERS; i++) expect(coex_set_has(slots[0], bits_of(numbers[i])));
    expect(!coex_set_has(slots[0], bits_of(2.0)));
    slots[2] = coex_set_remove(slots[0], bits_of(-0.0));
    slots[2] = coex_set_remove(slots[2], bits_of((double)NAN) ^ 3);
    expect_eq(coex_set_len(slots[2]), DIFFERENT - 2);
    slots[3] = coex_set_minus(slots[0], slots[2]);
    slots[3] = coex_set_union(slots[3], slots[2]);
    expect(coex_value_equal(slots[3], slots[0]));
    slots[3] = coex_set_intersect(slots[0], slots[2]);
    expect(coex_value_equal(slots[3], slots[2]));
    slots[3] = coex_set_to_list(slots[0]); /* as they are kept */
    for (uint64_t i = 0; i < DIFFERENT; i++) expect(coex_list_get(slots[3], i) != bits_of(-0.0));
    finish(slots);
}

/* ---- builders ------------------------------------------------------------------------------------------------------- */

TEST(a_builder_has_what_was_set_in_it_and_in_what_it_began_with)
{
    coex_handle *slots = begin(2);
    slots[0] = coex_map_empty(COEX_MAP_INTEGER);
    slots[0] = coex_map_set(slots[0], 1, 10);
    slots[0] = coex_map_set(slots[0], 2, 20);
    slots[1] = coex_map_builder(slots[0]);
    expect(coex_map_builder_remove(slots[1], 2) && coex_map_builder_set(slots[1], 3, 30));
    coex_clear_status();
    expect(coex_map_builder_has(slots[1], 1) && !coex_map_builder_has(slots[1], 2) && coex_map_builder_has(slots[1], 3));
    expect_eq(coex_last_status(), COEX_STATUS_OK); /* not to be there is no error */
    expect_eq(coex_map_builder_len(slots[1]), 2);
    expect(coex_map_builder_has(slots[1], 1) && !coex_map_builder_has(slots[1], 2) && coex_map_builder_has(slots[1], 3));
    finish(slots);
}

TEST(a_finished_builder_of_a_set_is_stale)
{
    coex_handle *slots = begin(2);
    slots[0] = coex_set_empty(COEX_SET_INTEGER);
    slots[0] = coex_set_builder(slots[0]);
    expect(coex_set_builder_add(slots[0], 1));
    slots[1] = coex_set_builder_finish(slots[0]);
    expect_status(!coex_set_builder_add(slots[0], 2), COEX_STATUS_STALE);
    expect_status(!coex_set_builder_remove(slots[0], 1), COEX_STATUS_STALE);
    expect_status(!coex_set_builder_has(slots[0], 1), COEX_STATUS_STALE);
    expect_status(coex_set_builder_len(slots[0]) == UINT64_MAX, COEX_STATUS_STALE);
    expect_status(coex_set_builder_finish(slots[0]) == 0, COEX_STATUS_STALE);
    expect(coex_set_len(slots[1]) == 1 && coex_set_has(slots[1], 1));
    finish(slots);
}

/* ---- what is refused ------------------------------------------------------------------------------------------------ */

static coex_handle good_set, good_map;

static void set_refuses(coex_handle bad)
{
    struct visit visit = {0};
    expect_status(coex_set_len(bad) == 0, COEX_STATUS_KIND);
    expect_status(!coex_set_has(bad, 1), COEX_STATUS_KIND);
    expect_status(coex_set_add(bad, 1) == 0, COEX_STATUS_KIND);
    expect_status(coex_set_remove(bad, 1) == 0, COEX_STATUS_KIND);
    expect_status(coex_set_union(bad, good_set) == 0, COEX_STATUS_KIND);
    expect_status(coex_set_union(good_set, bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_set_intersect(bad, good_set) == 0, COEX_STATUS_KIND);
    expect_status(coex_set_minus(bad, good_set) == 0, COEX_STATUS_KIND);
    expect_status(!coex_set_is_subset(bad, good_set), COEX_STATUS_KIND);
    expect_status(coex_set_to_list(bad) == 0, COEX_STATUS_KIND);
    expect_status(!coex_set_each(bad, visit_element, &visit) && visit.calls == 0, COEX_STATUS_KIND);
    expect_status(coex_set_iterate(bad) == 0, COEX_STATUS_KIND);
    expect_status(!coex_set_next(bad, NULL), COEX_STATUS_KIND);
    expect_status(coex_set_builder(bad) == 0, COEX_STATUS_KIND);
    expect_status(!coex_set_builder_add(bad, 1), COEX_STATUS_KIND);
    expect_status(!coex_set_builder_remove(bad, 1), COEX_STATUS_KIND);
    expect_status(!coex_set_builder_has(bad, 1), COEX_STATUS_KIND);
    expect_status(coex_set_builder_len(bad) == UINT64_MAX, COEX_STATUS_KIND);
    expect_status(coex_set_builder_finish(bad) == 0, COEX_STATUS_KIND);
}

static void map_refuses(coex_handle bad)
{
    struct visit visit = {0};
    expect_status(!coex_map_has(bad, 1), COEX_STATUS_KIND);
    expect_status(coex_map_values(bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_map_key_set(bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_map_merge(bad, good_map) == 0, COEX_STATUS_KIND);
    expect_status(coex_map_intersect(bad, good_map) == 0, COEX_STATUS_KIND);
    expect_status(coex_map_minus(bad, good_map) == 0, COEX_STATUS_KIND);
    expect_status(!coex_map_each(bad, visit_entry, &visit) && visit.calls == 0, COEX_STATUS_KIND);
    expect_status(!coex_map_builder_remove(bad, 1), COEX_STATUS_KIND);
    expect_status(!coex_map_builder_get(bad, 1, NULL), COEX_STATUS_KIND);
    expect_status(!coex_map_builder_has(bad, 1), COEX_STATUS_KIND);
    expect_status(coex_map_builder_len(bad) == UINT64_MAX, COEX_STATUS_KIND);
    expect_status(coex_map_builder_finish(bad) == 0, COEX_STATUS_KIND);
}

static void neither_takes(coex_handle bad)
{
    set_refuses(bad);
    map_refuses(bad);
    expect_status(coex_set_intersect(good_set, bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_set_minus(good_set, bad) == 0, COEX_STATUS_KIND);
    expect_status(!coex_set_is_subset(good_set, bad), COEX_STATUS_KIND);
    expect_status(coex_map_intersect(good_map, bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_map_minus(good_map, bad) == 0, COEX_STATUS_KIND);
}

static coex_handle a_list(void) { return coex_list_empty(true); }

TEST(what_is_no_set_and_no_map_is_refused_by_every_function)
{
    coex_handle *slots = begin(6);
    good_set = slots[0] = coex_set_empty(COEX_SET_INTEGER);
    good_map = slots[1] = coex_map_empty(COEX_MAP_INTEGER);
    coex_clear_status();
    each_wrong_kind(neither_takes, a_list);
    set_refuses(slots[1]); /* nor is one the other, */
    map_refuses(slots[0]);
    slots[2] = coex_set_iterate(slots[0]); /* nor its iterator or builder, nor that of the other */
    slots[3] = coex_set_builder(slots[0]);
    slots[4] = coex_map_iterate(slots[1]);
    slots[5] = coex_map_builder(slots[1]);
    set_refuses(slots[4]);
    set_refuses(slots[5]);
    map_refuses(slots[2]);
    map_refuses(slots[3]);
    expect_status(!coex_map_next(slots[2], NULL, NULL), COEX_STATUS_KIND);
    expect(!coex_set_next(slots[2], NULL) && coex_set_builder_len(slots[3]) == 0 && coex_map_builder_len(slots[5]) == 0);
    slots[2] = coex_set_empty(COEX_SET_STRING); /* elements of another kind */
    expect_status(coex_set_union(slots[0], slots[2]) == 0, COEX_STATUS_KIND);
    expect_status(!coex_set_has(slots[2], COEX_IMMEDIATE(1)), COEX_STATUS_KIND);
    expect_status(coex_set_add(slots[2], slots[0]) == 0, COEX_STATUS_KIND);
    finish(slots);
}
