/* Equality and hash of whole values: of every kind, nested deeply, shared widely. */
#include "support/borders.h"
#include "support/rng.h"

#include <coex/values.h>
#include <coex/values/json.h>

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

/* ---- lists that share their nodes ---------------------------------------------------------------------------------- */

/* 2^47 times a word, in `doublings` concatenations of a list with itself. */
static coex_handle doubled(uint64_t word, bool handles, unsigned doublings, coex_handle *slot)
{
    *slot = coex_list_from_words(&word, 1, handles);
    for (unsigned i = 0; i < doublings; i++) *slot = coex_list_concat(*slot, *slot);
    return *slot;
}

/* The same length in other steps, so that other nodes come of it: from n to 2 n + 1. */
static coex_handle doubled_and_one(uint64_t word, bool handles, unsigned doublings, coex_handle *slot)
{
    *slot = coex_list_from_words(&word, 1, handles);
    for (unsigned i = 1; i < doublings; i++) {
        *slot = coex_list_concat(*slot, *slot);
        *slot = coex_list_append(*slot, word);
    }
    return *slot = coex_list_append(*slot, word);
}

/* More words than could be looked at one by one. */
static void compare_doubled(uint64_t word, uint64_t same, uint64_t other, bool handles)
{
    enum { DOUBLINGS = 47 };
    coex_handle *slots = coex_gc_enter_frame(4);
    doubled(word, handles, DOUBLINGS, &slots[0]);
    doubled(same, handles, DOUBLINGS, &slots[1]);
    doubled_and_one(same, handles, DOUBLINGS, &slots[2]);
    expect_eq(coex_list_len(slots[0]), (uint64_t)1 << DOUBLINGS);
    expect_eq(coex_list_len(slots[2]), (uint64_t)1 << DOUBLINGS);
    expect_same(slots[0], slots[1]);
    expect_same(slots[0], slots[2]);
    slots[3] = coex_list_set(slots[2], 12345678901, other);
    expect_other(slots[0], slots[3]);
    expect_other(slots[1], slots[3]);
    coex_gc_leave_frame(slots);
}

TEST(a_list_that_shares_its_nodes_is_compared_and_hashed_by_its_nodes)
{
    start_default();
    compare_doubled(7, 7, 8, false);
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = text("word");
    slots[1] = text("word");
    slots[2] = text("other");
    compare_doubled(slots[0], slots[1], slots[2], true);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* A list of the words in `it`, put together from random pieces. */
static coex_handle assembled(test_rng *rng, const uint64_t *it, uint64_t count, coex_handle *slots)
{
    slots[0] = coex_list_empty(false);
    for (uint64_t done = 0, some; done < count; done += some) {
        some = 1 + rng_below(rng, count - done < 200 ? count - done : 200);
        slots[1] = coex_list_from_words(it + done, some, false);
        slots[0] = coex_list_concat(slots[0], slots[1]);
    }
    return slots[0];
}

TEST(equal_lists_are_equal_whatever_their_trees_look_like)
{
    enum { MOST = 5000 };
    static uint64_t words[MOST];
    test_rng rng = rng_from(test_seed());
    start_default();
    coex_handle *slots = coex_gc_enter_frame(5);
    for (unsigned round = 0; round < unless_hostile(60, 4); round++) {
        uint64_t count = 1 + rng_below(&rng, MOST);
        for (uint64_t i = 0; i < count; i++) words[i] = rng_below(&rng, 3);
        slots[2] = assembled(&rng, words, count, slots);
        slots[3] = assembled(&rng, words, count, slots);
        expect_same(slots[2], slots[3]);
        uint64_t at = rng_below(&rng, count);
        slots[4] = coex_list_set(slots[3], at, 9);
        expect_other(slots[2], slots[4]);
        if (at != 0 && words[at] != words[at - 1]) { /* two words change places */
            slots[4] = coex_list_set(slots[3], at, words[at - 1]);
            slots[4] = coex_list_set(slots[4], at - 1, words[at]);
            expect_other(slots[2], slots[4]);
        }
    }
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* ---- maps that share their nodes ----------------------------------------------------------------------------------- */

/* A list of versions of one map, each of which differs from the first in one entry. */
static coex_handle versions(uint64_t entries, uint64_t count, coex_handle *slots)
{
    slots[0] = coex_map_empty(COEX_MAP_INTEGER | COEX_MAP_REFERENCES);
    slots[0] = coex_map_builder(slots[0]);
    for (uint64_t i = 0; i < entries; i++) expect(coex_map_builder_set(slots[0], i, COEX_IMMEDIATE(i)));
    slots[0] = coex_map_builder_finish(slots[0]);
    slots[1] = coex_list_empty(true);
    slots[1] = coex_list_builder(slots[1]);
    for (uint64_t i = 0; i < count; i++) {
        slots[2] = coex_map_set(slots[0], i % entries, COEX_IMMEDIATE(entries + i));
        expect(coex_list_builder_append(slots[1], slots[2]));
    }
    return coex_list_builder_finish(slots[1]);
}

/* 2^15 versions of 2^15 entries are 2^30 entries in each list; their nodes are a hundred thousand. */
TEST_TIMEOUT(maps_that_share_their_nodes_are_compared_by_their_nodes, 10)
{
    uint64_t entries = unless_hostile(1 << 15, 64), count = unless_hostile(1 << 15, 16);
    start_large();
    coex_handle *slots = coex_gc_enter_frame(5);
    slots[3] = versions(entries, count, slots);
    slots[4] = versions(entries, count, slots);
    expect_same(slots[3], slots[4]);
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
