/* Equality and hash of whole values: of every kind, nested deeply, shared widely. */
#include "support/borders.h"

#include <coex/collections.h>
#include <coex/json.h>

/* Two values that were made apart are equal, as are their hashes. */
static void expect_same(coex_handle a, coex_handle b)
{
    expect(coex_value_equal(a, b));
    expect_eq(coex_value_hash(a), coex_value_hash(b));
}

static void expect_other(coex_handle a, coex_handle b)
{
    expect(!coex_value_equal(a, b));
    expect(!coex_value_equal(b, a));
    expect(coex_value_hash(a) != coex_value_hash(b));
}

static coex_handle text(const char *it) { return coex_string_from(it, strlen(it)); }

/* A value of one of some shapes around `inner`, which is in a slot. `work`: a slot. */
static coex_handle wrap(unsigned shape, coex_handle inner, coex_handle *work)
{
    switch (shape % 4) {
    case 0:
        return coex_list_from_words(&inner, 1, true);
    case 1:
        return coex_array_from(&inner, 1, 8, true);
    case 2:
        *work = coex_map_empty(COEX_MAP_INTEGER | COEX_MAP_REFERENCES);
        return coex_map_set(*work, 7, inner);
    default:
        *work = coex_json_object();
        return coex_json_set_text(*work, "k", 1, inner);
    }
}

TEST(values_of_different_kinds_are_never_equal)
{
    start_default();
    enum { KINDS = 12 };
    coex_handle *slots = coex_gc_enter_frame(KINDS);
    slots[0] = text("");
    slots[1] = coex_list_empty(true);
    slots[2] = coex_list_empty(false);
    slots[3] = coex_array_of(0, 8, true);
    slots[4] = coex_array_of(0, 1, false);
    slots[5] = coex_map_empty(COEX_MAP_INTEGER);
    slots[6] = coex_map_empty(COEX_MAP_STRING);
    slots[7] = coex_set_empty(COEX_SET_INTEGER);
    slots[8] = coex_json_object();
    slots[9] = COEX_IMMEDIATE(0);
    slots[10] = 0;
    slots[11] = coex_json_uint(UINT64_MAX);
    for (unsigned i = 0; i < KINDS; i++) {
        for (unsigned j = 0; j < KINDS; j++) expect(coex_value_equal(slots[i], slots[j]) == (i == j));
    }
    expect_eq(coex_value_hash(0), 0);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(values_are_equal_by_content_at_every_level)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(6);
    for (unsigned shape = 0; shape < 16; shape++) {
        if (shape / 4 == 3 && (shape % 4 == 1 || shape % 4 == 2)) continue; /* no json */
        for (unsigned copy = 0; copy < 3; copy++) {                         /* the third differs at the very inside */
            slots[copy] = text(copy < 2 ? "inside" : "insider");
            slots[copy] = wrap(shape, slots[copy], &slots[4]);
            slots[copy] = wrap(shape / 4, slots[copy], &slots[4]);
            expect(slots[copy] != 0);
        }
        expect_same(slots[0], slots[1]);
        expect_other(slots[0], slots[2]);
    }
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

static coex_handle parse(const char *it)
{
    coex_json_error error;
    coex_handle json = coex_json_parse(it, strlen(it), &error);
    expect(json != 0);
    return json;
}

TEST(order_counts_in_lists_and_not_in_json_objects)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(4);
    const uint64_t words[] = {1, 2, 3}, turned[] = {3, 2, 1};
    slots[0] = coex_list_from_words(words, 3, false);
    slots[1] = coex_list_from_words(turned, 3, false);
    expect_other(slots[0], slots[1]);
    slots[2] = parse("{\"a\":[1,2.5,null],\"b\":18446744073709551615}");
    slots[3] = parse("{\"b\":18446744073709551615,\"a\":[1,2.5,null]}");
    expect_same(slots[2], slots[3]);
    slots[3] = parse("{\"b\":18446744073709551614,\"a\":[1,2.5,null]}");
    expect_other(slots[2], slots[3]);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(other_objects_are_equal_only_to_themselves)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(2);
    uint32_t type = type_pair();
    slots[0] = new_pair(type, 0, 1);
    slots[1] = new_pair(type, 0, 1);
    expect_same(slots[0], slots[0]);
    expect_other(slots[0], slots[1]);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST_TIMEOUT(a_million_levels_need_no_stack, 60)
{
    unsigned levels = scaled(test_is_checked() ? 100000 : 1000000, 20000);
    start_large();
    coex_handle *slots = coex_gc_enter_frame(5);
    for (unsigned copy = 0; copy < 3; copy++) {
        slots[copy] = COEX_IMMEDIATE(copy / 2);
        for (unsigned i = 0; i < levels; i++) {
            slots[copy] = wrap(i % 3, slots[copy], &slots[4]);
            expect(slots[copy] != 0);
        }
    }
    expect_same(slots[0], slots[1]);
    expect_other(slots[0], slots[2]);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* 2^200 leaves, if they were counted one by one. */
TEST(what_is_contained_many_times_is_compared_and_hashed_once)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(4);
    for (unsigned copy = 0; copy < 2; copy++) {
        slots[copy] = text("leaf");
        for (unsigned i = 0; i < 200; i++) {
            coex_handle twice[] = {slots[copy], slots[copy]};
            slots[copy] = i % 2 == 0 ? coex_list_from_words(twice, 2, true) : coex_array_from(twice, 2, 8, true);
        }
    }
    expect_same(slots[0], slots[1]);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(every_kind_is_told_by_name_and_no_other_number_is_one)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(16);
    const uint64_t word = 1;
    slots[0] = text("x");
    slots[1] = coex_array_of(1, 8, true);
    slots[2] = coex_list_from_words(&word, 1, false);
    slots[3] = coex_map_empty(COEX_MAP_INTEGER);
    slots[4] = coex_set_empty(COEX_SET_INTEGER);
    slots[5] = coex_json_object();
    slots[6] = coex_cell_new(0);
    slots[7] = coex_mutable_array_new(1, false);
    slots[8] = coex_channel_new(1, true);
    slots[9] = coex_list_builder(slots[2]);
    slots[10] = coex_map_builder(slots[3]);
    slots[11] = coex_list_iterate(slots[2], 0);
    slots[12] = coex_json_reader_new(NULL);
    slots[13] = new_pair(type_pair(), 0, 1);
    slots[14] = COEX_IMMEDIATE(1);
    static const char *const names[] = {"string",   "array",         "list",      "map",     "set",     "json",
                                        "cell",     "mutable array", "channel",   "builder", "builder", "iterator",
                                        "iterator", "object",        "immediate", "null"};
    for (unsigned i = 0; i < 16; i++) ck_assert_str_eq(coex_kind_string(coex_kind_of(slots[i])), names[i]);
    ck_assert_str_eq(coex_kind_string((coex_kind)(COEX_KIND_ITERATOR + 1)), "unknown kind");
    ck_assert_str_eq(coex_status_string((coex_status)(COEX_STATUS_SYSTEM + 1)), "unknown status");
    for (int i = 0; i <= COEX_STATUS_SYSTEM; i++) {
        for (int j = 0; j < i; j++) ck_assert_str_ne(coex_status_string((coex_status)i), coex_status_string((coex_status)j));
    }
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}
