/*
 * Strings: searching, replacing, splitting and joining, against a search that can't be wrong; in time for texts made to be slow.
 */
#include "support/strings.h"

/* ---- find --------------------------------------------------------------------------------------------------------- */

TEST(finding_has_the_borders_that_are_documented)
{
    coex_handle *slots = begin();
    slots[0] = make("banana");
    slots[1] = make("ana");
    slots[2] = make("");
    slots[3] = make("bananas");
    slots[4] = make("x");
    ck_assert_uint_eq(coex_string_find(slots[0], slots[1], 0), 1);
    ck_assert_uint_eq(coex_string_find(slots[0], slots[1], 2), 3);
    ck_assert_uint_eq(coex_string_find(slots[0], slots[1], 4), COEX_STRING_NONE);
    ck_assert_uint_eq(coex_string_find(slots[0], slots[1], 6), COEX_STRING_NONE);
    ck_assert_uint_eq(coex_string_find(slots[0], slots[2], 6), 6);
    ck_assert_uint_eq(coex_string_find(slots[0], slots[3], 0), COEX_STRING_NONE);
    ck_assert_uint_eq(coex_string_find(slots[0], slots[4], 0), COEX_STRING_NONE);
    ck_assert_uint_eq(coex_string_find(slots[2], slots[2], 0), 0);
    ck_assert_uint_eq(coex_string_find_last(slots[0], slots[1], COEX_STRING_NONE), 3);
    ck_assert_uint_eq(coex_string_find_last(slots[0], slots[1], 5), 1);
    ck_assert_uint_eq(coex_string_find_last(slots[0], slots[1], 3), COEX_STRING_NONE);
    ck_assert_uint_eq(coex_string_find_last(slots[0], slots[2], COEX_STRING_NONE), 6);
    ck_assert_uint_eq(coex_string_count(slots[0], slots[1]), 1); /* without overlap */
    ck_assert_int_eq(coex_last_status(), COEX_STATUS_OK);        /* not to find is no failure */
    ck_assert_uint_eq(coex_string_find(slots[0], slots[1], 7), COEX_STRING_NONE);
    ck_assert(failed(COEX_STATUS_RANGE));
    ck_assert_uint_eq(coex_string_find_last(slots[0], slots[1], 7), COEX_STRING_NONE);
    ck_assert(failed(COEX_STATUS_RANGE));
    ck_assert_uint_eq(coex_string_count(slots[0], slots[2]), 0);
    ck_assert(failed(COEX_STATUS_RANGE));
    ck_assert(coex_string_starts_with(slots[3], slots[0]) && !coex_string_starts_with(slots[0], slots[3]));
    ck_assert(coex_string_ends_with(slots[0], slots[1]) && !coex_string_ends_with(slots[1], slots[0]));
    ck_assert(coex_string_starts_with(slots[0], slots[2]) && coex_string_ends_with(slots[0], slots[2]));
    slots[5] = make("na\xc3\xafve BaNaNa");
    slots[6] = make("bAnAn");
    ck_assert_uint_eq(coex_string_find_ascii(slots[5], slots[6], 0), 7);
    ck_assert_uint_eq(coex_string_find(slots[5], slots[6], 0), COEX_STRING_NONE);
    end(slots);
}

static char fold(char c, bool lower) { return lower && c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static bool model_at(const char *text, const char *what, uint64_t wanted, bool lower)
{
    for (uint64_t i = 0; i < wanted; i++) {
        if (fold(text[i], lower) != fold(what[i], lower)) return false;
    }
    return true;
}

/* Texts of few letters, so that there is much to find and nearly to find; long ones, so that the rolling hash gets its turn. */
TEST_TIMEOUT(finding_agrees_with_a_plain_loop_on_random_texts, 60)
{
    coex_handle *slots = begin();
    test_rng rng = rng_from(test_seed());
    static char text[5000], what[2000];
    for (int round = 0; round < unless_hostile(test_is_sanitized() ? 300 : 3000, 600); round++) {
        uint64_t length = rng_below(&rng, rng_one_in(&rng, 10) ? sizeof text : 60), letters = rng_between(&rng, 1, 3);
        uint64_t wanted = rng_below(&rng, rng_one_in(&rng, 4) ? sizeof what : 8), rare = rng_between(&rng, 2, 500);
        for (uint64_t i = 0; i < length; i++) text[i] = rng_one_in(&rng, rare) ? "bBA"[rng_below(&rng, letters)] : 'a';
        for (uint64_t i = 0; i < wanted; i++) what[i] = rng_one_in(&rng, rare) ? "bBA"[rng_below(&rng, letters)] : 'a';
        uint64_t from = rng_below(&rng, length + 1), first[2] = {COEX_STRING_NONE, COEX_STRING_NONE}, last = COEX_STRING_NONE;
        for (uint64_t at = 0; wanted <= length && at <= length - wanted; at++) {
            for (int lower = 0; lower < 2; lower++) {
                if (first[lower] == COEX_STRING_NONE && at >= from && model_at(text + at, what, wanted, lower)) first[lower] = at;
            }
            if (at + wanted <= from && model_at(text + at, what, wanted, false)) last = at;
        }
        slots[0] = coex_string_from(text, length);
        slots[1] = coex_string_from(what, wanted);
        expect_eq(coex_string_find(slots[0], slots[1], from), first[0]);
        expect_eq(coex_string_find_ascii(slots[0], slots[1], from), first[1]);
        expect_eq(coex_string_find_last(slots[0], slots[1], from), last);
    }
    end(slots);
}

/* Comparing at each place would take 250,000,000,000 steps. */
TEST_LABEL(texts_made_to_be_slow_are_searched_in_linear_time, timing)
TEST_TIMEOUT(texts_made_to_be_slow_are_searched_in_linear_time, 30)
{
    coex_handle *slots = begin();
    enum { LENGTH = 1000000, WANTED = 500000 };
    slots[0] = make("a");
    slots[1] = coex_string_repeat(slots[0], LENGTH); /* aaaa… */
    slots[2] = coex_string_repeat(slots[0], WANTED);
    slots[3] = make("b");
    slots[4] = coex_string_splice(slots[2], WANTED / 2, WANTED / 2, slots[3]); /* …aabaa… */
    slots[5] = make("B");
    slots[6] = coex_string_splice(slots[1], LENGTH - WANTED / 3, LENGTH - WANTED / 3, slots[5]);
    ck_assert_uint_eq(coex_string_find(slots[1], slots[4], 0), COEX_STRING_NONE);
    ck_assert_uint_eq(coex_string_find_last(slots[1], slots[4], COEX_STRING_NONE), COEX_STRING_NONE);
    ck_assert_uint_eq(coex_string_find_ascii(slots[1], slots[4], 0), COEX_STRING_NONE);
    ck_assert_uint_eq(coex_string_find_ascii(slots[6], slots[4], 0), COEX_STRING_NONE);
    ck_assert_uint_eq(coex_string_count(slots[6], slots[4]), 0);
    ck_assert_uint_eq(coex_string_replace(slots[1], slots[4], slots[0]), slots[1]);
    slots[7] = coex_string_concat(slots[1], slots[4]);
    ck_assert_uint_eq(coex_string_find(slots[7], slots[4], 0), LENGTH);
    slots[7] = coex_string_concat(slots[4], slots[1]);
    ck_assert_uint_eq(coex_string_find_last(slots[7], slots[4], COEX_STRING_NONE), 0);
    end(slots);
}

/* ---- replace ------------------------------------------------------------------------------------------------------ */

TEST(replacing_goes_from_the_left_without_overlap)
{
    static const struct {
        const char *text, *what, *with;
        uint64_t limit;
        const char *result;
    } rows[] = {
        {"banana", "a", "o", UINT64_MAX, "bonono"},
        {"banana", "ana", "X", UINT64_MAX, "bXna"},
        {"banana", "a", "", UINT64_MAX, "bnn"},
        {"banana", "a", "aa", UINT64_MAX, "baanaanaa"},
        {"banana", "a", "o", 2, "bonona"},
        {"banana", "a", "o", 0, "banana"},
        {"aaa", "aaa", "", UINT64_MAX, ""},
        {"", "a", "b", UINT64_MAX, ""},
        {"\xe2\x82\xac 5", "\xe2\x82\xac", "EUR", UINT64_MAX, "EUR 5"},
    };
    coex_handle *slots = begin();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        slots[0] = make(rows[i].text);
        slots[1] = make(rows[i].what);
        slots[2] = make(rows[i].with);
        slots[3] = coex_string_replace_some(slots[0], slots[1], slots[2], rows[i].limit);
        ck_assert(is_text(slots[3], rows[i].result));
        if (strcmp(rows[i].text, rows[i].result) == 0) ck_assert_uint_eq(slots[3], slots[0]);
    }
    slots[1] = make("");
    ck_assert(coex_string_replace(slots[0], slots[1], slots[2]) == 0 && failed(COEX_STATUS_RANGE));
    slots[0] = make("x");
    slots[1] = coex_string_repeat(slots[0], 1 << 22);
    slots[2] = coex_string_repeat(slots[0], (1 << 22) + 1);
    slots[3] = coex_string_replace(slots[1], slots[0], slots[2]); /* 2^44 and a little: larger than strings are */
    ck_assert(slots[3] == 0 && failed(COEX_STATUS_SIZE));
    end(slots);
}

TEST(splicing_puts_one_text_into_another)
{
    coex_handle *slots = begin();
    slots[0] = make("hello world");
    slots[1] = make("big ");
    slots[2] = make("");
    ck_assert(is_text(coex_string_splice(slots[0], 6, 6, slots[1]), "hello big world"));
    ck_assert(is_text(coex_string_splice(slots[0], 0, 6, slots[1]), "big world"));
    ck_assert(is_text(coex_string_splice(slots[0], 5, 11, slots[2]), "hello"));
    ck_assert(is_text(coex_string_splice(slots[0], 0, 11, slots[2]), ""));
    ck_assert(is_text(coex_string_splice(slots[0], 11, 11, slots[0]), "hello worldhello world"));
    end(slots);
}

/* ---- split and join ------------------------------------------------------------------------------------------------- */

/* "a|b" stands for the list of a and b. */
static void expect_list(coex_handle list, const char *parts)
{
    char *copy = strdup(parts), *rest = copy;
    expect_eq(coex_kind_of(list), COEX_KIND_LIST);
    uint64_t count = 0;
    for (char *part; (part = strsep(&rest, "|")) != NULL; count++) expect(is_text(coex_list_get(list, count), part));
    expect_eq(coex_list_len(list), count);
    free(copy);
}

TEST(splitting_gives_one_part_more_than_there_are_separators)
{
    static const struct {
        const char *text, *separator;
        uint64_t limit;
        const char *parts;
    } rows[] = {
        {"a,b,c", ",", UINT64_MAX, "a|b|c"},
        {",a,", ",", UINT64_MAX, "|a|"},
        {"", ",", UINT64_MAX, ""},
        {"abc", ",", UINT64_MAX, "abc"},
        {",", ",", UINT64_MAX, "|"},
        {"a, b, c", ", ", UINT64_MAX, "a|b|c"},
        {"a,b,c", ",", 2, "a|b,c"},
        {"a,b,c", ",", 1, "a,b,c"},
        {"a,b,c", ",", 3, "a|b|c"},
        {"aaaa", "aa", UINT64_MAX, "||"},
        {"x\xe2\x82\xacy", "\xe2\x82\xac", UINT64_MAX, "x|y"},
    };
    coex_handle *slots = begin();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        slots[0] = make(rows[i].text);
        slots[1] = make(rows[i].separator);
        slots[2] = coex_string_split_some(slots[0], slots[1], rows[i].limit);
        ck_assert_uint_ne(slots[2], 0);
        expect_list(slots[2], rows[i].parts);
        slots[3] = coex_string_join(slots[2], slots[1]);
        ck_assert(coex_string_equal(slots[3], slots[0]));
    }
    slots[1] = make("");
    ck_assert(coex_string_split(slots[0], slots[1]) == 0 && failed(COEX_STATUS_RANGE));
    slots[1] = make(",");
    ck_assert(coex_string_split_some(slots[0], slots[1], 0) == 0 && failed(COEX_STATUS_RANGE));
    end(slots);
}

TEST(joining_takes_lists_of_strings_and_nothing_else)
{
    coex_handle *slots = begin();
    slots[0] = make(", ");
    slots[1] = coex_list_empty(true);
    ck_assert(is_text(coex_string_join(slots[1], slots[0]), ""));
    slots[2] = make("one");
    slots[1] = coex_list_append(slots[1], slots[2]);
    ck_assert(is_text(coex_string_join(slots[1], slots[0]), "one"));
    for (int i = 0; i < 3; i++) slots[1] = coex_list_append(slots[1], slots[2]);
    ck_assert(is_text(coex_string_join(slots[1], slots[0]), "one, one, one, one"));
    static const coex_handle strangers[] = {0, COEX_IMMEDIATE(1)};
    for (int i = 0; i < 2; i++) {
        slots[3] = coex_list_append(slots[1], strangers[i]);
        ck_assert(coex_string_join(slots[3], slots[0]) == 0 && failed(COEX_STATUS_KIND));
        slots[3] = coex_list_append(slots[3], slots[2]);
        ck_assert(coex_string_join(slots[3], slots[0]) == 0 && failed(COEX_STATUS_KIND));
    }
    slots[3] = coex_list_empty(false);
    slots[3] = coex_list_append(slots[3], slots[2]);
    ck_assert(coex_string_join(slots[3], slots[0]) == 0 && failed(COEX_STATUS_KIND));
    end(slots);
}

TEST(a_long_text_is_split_and_joined_while_cycles_run)
{
    coex_handle *slots = begin();
    int lines = unless_hostile(test_is_sanitized() ? 2000 : 50000, 400);
    slots[0] = coex_string_builder_new(0);
    for (int i = 0; i < lines; i++) {
        if (i != 0) expect(coex_string_builder_append_char(slots[0], '\n'));
        for (int k = 0; k <= i % 70; k++) expect(coex_string_builder_append_char(slots[0], (uint32_t)('a' + k % 26)));
    }
    slots[0] = coex_string_builder_finish(slots[0]);
    slots[1] = make("\n");
    coex_gc_async();
    slots[2] = coex_string_split(slots[0], slots[1]);
    expect_eq(coex_list_len(slots[2]), lines);
    for (uint64_t i = 0; i < (uint64_t)lines; i++) expect_eq(coex_string_len(coex_list_get(slots[2], i)), i % 70 + 1);
    coex_gc_async();
    slots[3] = coex_string_join(slots[2], slots[1]);
    expect(coex_string_equal(slots[3], slots[0]));
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    end(slots);
}

TEST(bytes_go_to_an_array_and_back)
{
    coex_handle *slots = begin();
    slots[0] = make("na\xc3\xafve ");
    slots[0] = coex_string_repeat(slots[0], 3000);
    slots[1] = coex_string_to_bytes(slots[0]);
    ck_assert_int_eq(coex_kind_of(slots[1]), COEX_KIND_ARRAY);
    ck_assert_uint_eq(coex_array_len(slots[1]), 21000);
    slots[2] = coex_string_from_bytes(slots[1]);
    ck_assert(coex_string_equal(slots[0], slots[2]));
    slots[3] = coex_array_slice(slots[1], 0, 3); /* cuts a character */
    ck_assert(coex_string_from_bytes(slots[3]) == 0 && failed(COEX_STATUS_TEXT));
    slots[3] = coex_array_of(3, 8, false);
    ck_assert(coex_string_from_bytes(slots[3]) == 0 && failed(COEX_STATUS_KIND));
    slots[3] = make("");
    slots[3] = coex_string_to_bytes(slots[3]);
    ck_assert(is_text(coex_string_from_bytes(slots[3]), ""));
    end(slots);
}
