/*
 * Strings: what comes in is UTF-8, what is asked is answered, and what makes no sense is refused without harm.
 */
#include "support/strings.h"

#include <math.h>

/* ---- UTF-8 ---------------------------------------------------------------------------------------------------- */

struct bytes {
    const char *bytes;
    unsigned count, good; /* bytes before the first bad one */
};

#define BYTES(text, good)                                                                                                          \
    {                                                                                                                              \
        text, sizeof(text) - 1, good                                                                                               \
    }

static const struct bytes bad_utf8[] = {
    BYTES("\x80", 0),             /* continues nothing */
    BYTES("abc\xbf", 3),          /* */
    BYTES("\xc0\x80", 0),         /* overlong, two bytes */
    BYTES("\xc1\xbf", 0),         /* */
    BYTES("\xe0\x80\x80", 0),     /* three */
    BYTES("\xe0\x9f\xbf", 0),     /* */
    BYTES("\xf0\x80\x80\x80", 0), /* four */
    BYTES("\xf0\x8f\xbf\xbf", 0), /* */
    BYTES("\xed\xa0\x80", 0),     /* surrogates: first and last of both kinds */
    BYTES("x\xed\xaf\xbf", 1),    /* */
    BYTES("\xed\xb0\x80", 0),     /* */
    BYTES("\xed\xbf\xbf", 0),     /* */
    BYTES("\xf4\x90\x80\x80", 0), /* U+110000 */
    BYTES("\xf5\x80\x80\x80", 0), /* and beyond */
    BYTES("\xf8\x88\x80\x80\x80", 0),
    BYTES("\xfe", 0),
    BYTES("\xff", 0),
    BYTES("ab\xc3", 2),         /* cut off */
    BYTES("ab\xe2\x82", 2),     /* */
    BYTES("ab\xf0\x9f\x98", 2), /* */
    BYTES("\xe2\x82\xac\xe2\x82", 3),
    BYTES("\xc3(", 0),         /* cut short by what follows */
    BYTES("\xe2\x82(", 0),     /* */
    BYTES("\xf0\x9f\x98(", 0), /* */
    BYTES("0123456789012345678901234567890123456789\xff 0123456789", 40),
};

TEST(what_is_not_utf8_is_refused_whatever_is_wrong_with_it)
{
    coex_handle *slots = begin();
    slots[0] = coex_string_builder_new(0);
    for (size_t i = 0; i < sizeof bad_utf8 / sizeof bad_utf8[0]; i++) {
        const struct bytes *bad = &bad_utf8[i];
        uint64_t where = 99;
        ck_assert_uint_eq(coex_string_from(bad->bytes, bad->count), 0);
        ck_assert(failed(COEX_STATUS_TEXT));
        ck_assert(!coex_utf8_check(bad->bytes, bad->count, &where));
        ck_assert_uint_eq(where, bad->good);
        ck_assert(!coex_utf8_check(bad->bytes, bad->count, NULL));
        ck_assert(!coex_string_builder_append_from(slots[0], bad->bytes, bad->count));
        ck_assert(failed(COEX_STATUS_TEXT));
        ck_assert_uint_eq(coex_string_builder_len(slots[0]), 0);
    }
    static const uint32_t none[] = {0xd800, 0xdbff, 0xdc00, 0xdfff, 0x110000, 0x7fffffff, UINT32_MAX};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        ck_assert_uint_eq(coex_string_from_char(none[i]), 0);
        ck_assert(failed(COEX_STATUS_TEXT));
        ck_assert(!coex_string_builder_append_char(slots[0], none[i]));
        ck_assert(failed(COEX_STATUS_TEXT));
    }
    end(slots);
}

TEST_TIMEOUT(every_character_goes_in_and_comes_out, 60)
{
    coex_handle *slots = begin();
    uint32_t step = unless_hostile(test_is_sanitized() ? 37 : 1, 997);
    for (uint32_t c = 0; c <= 0x10ffff; c += step) {
        if (c >= 0xd800 && c <= 0xdfff) continue;
        coex_handle s = coex_string_from_char(c);
        uint64_t at = 0, back;
        uint32_t out = 0;
        expect(s != 0);
        expect(coex_utf8_check(coex_string_data(s), coex_string_len(s), NULL));
        expect_eq(coex_string_chars(s), 1);
        expect(coex_string_next(s, &at, &out) && out == c && at == coex_string_len(s));
        expect(!coex_string_next(s, &at, &out));
        back = at;
        expect(coex_string_previous(s, &back, &out) && out == c && back == 0);
        expect(!coex_string_previous(s, &back, &out));
        expect_eq(coex_string_is_ascii(s), c < 0x80);
    }
    ck_assert_int_eq(coex_last_status(), COEX_STATUS_OK); /* the end of a string is no failure */
    end(slots);
}

/* UTF-8 as RFC 3629 writes it, one line for each row of its table. */
static unsigned model_character(const unsigned char *b, uint64_t left)
{
#define IN(i, low, high) (left > (i) && b[i] >= (low) && b[i] <= (high))
    if (IN(0, 0x00, 0x7f)) return 1;
    if (IN(0, 0xc2, 0xdf) && IN(1, 0x80, 0xbf)) return 2;
    if (IN(0, 0xe0, 0xe0) && IN(1, 0xa0, 0xbf) && IN(2, 0x80, 0xbf)) return 3;
    if (IN(0, 0xe1, 0xec) && IN(1, 0x80, 0xbf) && IN(2, 0x80, 0xbf)) return 3;
    if (IN(0, 0xed, 0xed) && IN(1, 0x80, 0x9f) && IN(2, 0x80, 0xbf)) return 3;
    if (IN(0, 0xee, 0xef) && IN(1, 0x80, 0xbf) && IN(2, 0x80, 0xbf)) return 3;
    if (IN(0, 0xf0, 0xf0) && IN(1, 0x90, 0xbf) && IN(2, 0x80, 0xbf) && IN(3, 0x80, 0xbf)) return 4;
    if (IN(0, 0xf1, 0xf3) && IN(1, 0x80, 0xbf) && IN(2, 0x80, 0xbf) && IN(3, 0x80, 0xbf)) return 4;
    if (IN(0, 0xf4, 0xf4) && IN(1, 0x80, 0x8f) && IN(2, 0x80, 0xbf) && IN(3, 0x80, 0xbf)) return 4;
#undef IN
    return 0;
}

static uint64_t model_good(const unsigned char *bytes, uint64_t count)
{
    uint64_t at = 0;
    while (at < count) {
        unsigned step = model_character(bytes + at, count - at);
        if (step == 0) break;
        at += step;
    }
    return at;
}

/* Bytes that are often nearly UTF-8. */
static uint64_t random_bytes(test_rng *rng, unsigned char *bytes, uint64_t room)
{
    static const unsigned char strange[] = {0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf,
                                            0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5};
    uint64_t count = rng_below(rng, room + 1), ascii = rng_below(rng, 10);
    for (uint64_t i = 0; i < count; i++) bytes[i] = rng_below(rng, 10) < ascii ? 'a' : strange[rng_below(rng, sizeof strange)];
    return count;
}

TEST(utf8_checking_agrees_with_the_table_of_the_standard)
{
    test_rng rng = rng_from(test_seed());
    unsigned char bytes[64];
    for (unsigned i = 0; i < 0x10000; i++) { /* all pairs, and what may follow them */
        memcpy(bytes, (unsigned char[]){(unsigned char)(i >> 8), (unsigned char)i, 0x80, 0xbf, 'x'}, 5);
        for (uint64_t count = 0; count <= 5; count++) {
            uint64_t where = count;
            expect_eq(coex_utf8_check(bytes, count, &where), model_good(bytes, count) == count);
            expect_eq(where, model_good(bytes, count));
        }
    }
    for (int i = 0; i < 300000; i++) {
        uint64_t count = random_bytes(&rng, bytes, sizeof bytes), where = count;
        coex_utf8_check(bytes, count, &where);
        expect_eq(where, model_good(bytes, count));
    }
}

TEST(lossy_reading_puts_one_mark_for_each_broken_piece)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"plain", "plain"},
        {"", ""},
        {"a\xff z", "a\xef\xbf\xbd z"},
        {"\xe2\x82", "\xef\xbf\xbd"}, /* a beginning counts once */
        {"\xe2\x82\xe2\x82\xac", "\xef\xbf\xbd\xe2\x82\xac"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* no character begins so: each byte counts */
        {"\xf0\x9f\x98x", "\xef\xbf\xbdx"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
    };
    coex_handle *slots = begin();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert(is_text(coex_string_from_lossy(rows[i].in, strlen(rows[i].in)), rows[i].out));
    test_rng rng = rng_from(test_seed());
    unsigned char bytes[64];
    for (int i = 0; i < unless_hostile(20000, 1000); i++) {
        uint64_t count = random_bytes(&rng, bytes, sizeof bytes);
        coex_handle s = coex_string_from_lossy(bytes, count);
        expect(s != 0 && coex_utf8_check(coex_string_data(s), coex_string_len(s), NULL));
        if (model_good(bytes, count) == count)
            expect(coex_string_len(s) == count && memcmp(coex_string_data(s), bytes, count) == 0);
    }
    end(slots);
}

/* ---- looking ---------------------------------------------------------------------------------------------------- */

TEST(lengths_are_in_bytes_and_in_characters)
{
    coex_handle *slots = begin();
    slots[0] = make("");
    slots[1] = make("hello");
    slots[2] = make("na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80");
    slots[3] = coex_string_from("a\0b", 3);
    ck_assert_uint_eq(coex_string_len(slots[0]), 0);
    ck_assert_uint_eq(coex_string_chars(slots[0]), 0);
    ck_assert_ptr_nonnull(coex_string_data(slots[0]));
    ck_assert(coex_string_is_ascii(slots[0]));
    ck_assert_uint_eq(coex_string_len(slots[1]), 5);
    ck_assert_uint_eq(coex_string_chars(slots[1]), 5);
    ck_assert_uint_eq(coex_string_len(slots[2]), 15);
    ck_assert_uint_eq(coex_string_chars(slots[2]), 9);
    ck_assert(!coex_string_is_ascii(slots[2]));
    ck_assert_uint_eq(coex_string_len(slots[3]), 3);
    ck_assert_int_eq(coex_kind_of(slots[3]), COEX_KIND_STRING);
    ck_assert_uint_eq(coex_gc_size(slots[1]), 8 + 5); /* compact: hash and flags in one word, then the text */
    ck_assert_uint_eq(coex_string_from(NULL, 0) != 0, 1);
    end(slots);
}

TEST(characters_are_counted_right_in_long_texts)
{
    coex_handle *slots = begin();
    slots[0] = coex_string_builder_new(0);
    static const char *const pieces[] = {"a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    test_rng rng = rng_from(test_seed());
    enum { COUNT = 20000 };
    static uint64_t offset[COUNT + 1];
    for (int i = 0; i < COUNT; i++) {
        const char *piece = pieces[rng_below(&rng, 4)];
        expect(coex_string_builder_append_from(slots[0], piece, strlen(piece)));
        offset[i + 1] = offset[i] + strlen(piece);
    }
    slots[1] = coex_string_builder_finish(slots[0]);
    expect_eq(coex_string_chars(slots[1]), COUNT);
    for (uint64_t i = 0; i <= COUNT; i++) expect_eq(coex_string_offset(slots[1], i), offset[i]);
    expect_eq(coex_string_offset(slots[1], COUNT + 1), COEX_STRING_NONE);
    expect(failed(COEX_STATUS_RANGE));
    expect_eq(coex_string_offset(slots[1], UINT64_MAX), COEX_STRING_NONE);
    for (int i = 0; i < 200; i++) {
        uint64_t from = rng_below(&rng, COUNT + 1), to = rng_between(&rng, from, COUNT);
        slots[2] = coex_string_slice_chars(slots[1], from, to);
        expect_eq(coex_string_chars(slots[2]), to - from);
        slots[3] = coex_string_slice(slots[1], offset[from], offset[to]);
        expect(coex_string_equal(slots[2], slots[3]));
    }
    end(slots);
}

TEST(stepping_goes_both_ways_and_refuses_to_begin_inside_of_a_character)
{
    coex_handle *slots = begin();
    static const uint32_t expected[] = {'x', 0xe4, 0x20ac, 0x1f600, 'y'};
    slots[0] = make("x\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80y");
    uint64_t at = 0, count = 0;
    uint32_t c = 0;
    for (; coex_string_next(slots[0], &at, &c); count++) ck_assert_uint_eq(c, expected[count]);
    ck_assert_uint_eq(count, 5);
    while (coex_string_previous(slots[0], &at, &c)) ck_assert_uint_eq(c, expected[--count]);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(coex_last_status(), COEX_STATUS_OK);
    static const uint64_t inside[] = {2, 4, 5, 7, 8, 9};
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        at = inside[i];
        ck_assert(!coex_string_next(slots[0], &at, &c) && failed(COEX_STATUS_TEXT));
        ck_assert(!coex_string_previous(slots[0], &at, &c) && failed(COEX_STATUS_TEXT));
        ck_assert_uint_eq(at, inside[i]);
        ck_assert(!coex_string_is_boundary(slots[0], at));
        ck_assert_int_eq(coex_last_status(), COEX_STATUS_OK);
    }
    at = 12;
    ck_assert(!coex_string_next(slots[0], &at, &c) && failed(COEX_STATUS_RANGE));
    ck_assert(!coex_string_previous(slots[0], &at, &c) && failed(COEX_STATUS_RANGE));
    ck_assert(!coex_string_is_boundary(slots[0], UINT64_MAX) && failed(COEX_STATUS_RANGE));
    ck_assert(coex_string_is_boundary(slots[0], 11));
    end(slots);
}

TEST(equal_strings_are_equal_and_hash_alike_however_they_were_made)
{
    coex_handle *slots = begin();
    char text[1000];
    memset(text, 'q', sizeof text);
    memcpy(text + 400, "the middle of it, more than thirty-two bytes long", 49);
    slots[0] = coex_string_from(text, sizeof text);
    slots[1] = coex_string_slice(slots[0], 400, 449);                     /* a view */
    slots[2] = make("the middle of it, more than thirty-two bytes long"); /* in one piece */
    slots[3] = coex_string_builder_new(4);
    for (int i = 400; i < 449; i++) coex_string_builder_append_char(slots[3], (unsigned char)text[i]);
    slots[3] = coex_string_builder_finish(slots[3]);
    slots[4] = make("");
    for (int i = 400; i < 449; i++) {
        slots[5] = coex_string_from(text + i, 1);
        slots[4] = coex_string_concat(slots[4], slots[5]);
    }
    for (int i = 1; i <= 4; i++) {
        for (int j = 1; j <= 4; j++) {
            ck_assert(coex_string_equal(slots[i], slots[j]));
            ck_assert_int_eq(coex_string_compare(slots[i], slots[j]), 0);
            ck_assert_uint_eq(coex_string_hash(slots[i]), coex_string_hash(slots[j]));
        }
        ck_assert(!coex_string_equal(slots[i], slots[0]));
        ck_assert_uint_ne(coex_string_hash(slots[i]), coex_string_hash(slots[0]));
        ck_assert_uint_lt(coex_string_hash(slots[i]), UINT64_C(1) << 62);
    }
    slots[6] = make("the middle of it, more than thirty-two bytes lonG");
    ck_assert(!coex_string_equal(slots[1], slots[6]));
    ck_assert(coex_string_equal_ascii(slots[1], slots[6]));
    ck_assert_uint_eq(coex_string_hash_ascii(slots[1]), coex_string_hash_ascii(slots[6]));
    ck_assert_int_eq(coex_string_compare_ascii(slots[1], slots[6]), 0);
    ck_assert_int_gt(coex_string_compare(slots[1], slots[6]), 0);
    end(slots);
}

TEST(comparing_goes_by_code_points)
{
    coex_handle *slots = begin();
    static const char *const rising[] = {"",
                                         "\x01",
                                         "A",
                                         "AA",
                                         "B",
                                         "a",
                                         "aa",
                                         "a\x7f",
                                         "a\xc2\x80",
                                         "b",
                                         "\xc3\xa4",
                                         "\xe2\x82\xac",
                                         "\xef\xbf\xbd",
                                         "\xf0\x9f\x98\x80"};
    int count = (int)(sizeof rising / sizeof rising[0]);
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            slots[0] = make(rising[i]);
            slots[1] = make(rising[j]);
            int order = coex_string_compare(slots[0], slots[1]);
            ck_assert_int_eq((order > 0) - (order < 0), (i > j) - (i < j));
            ck_assert_int_eq(coex_string_equal(slots[0], slots[1]), i == j);
        }
    }
    slots[0] = make("abc[");
    slots[1] = make("ABCz");
    ck_assert_int_lt(coex_string_compare_ascii(slots[0], slots[1]), 0);
    slots[0] = make("\xc3\x84"); /* letters that are not ASCII keep their case */
    slots[1] = make("\xc3\xa4");
    ck_assert(!coex_string_equal_ascii(slots[0], slots[1]));
    end(slots);
}

/* ---- parts -------------------------------------------------------------------------------------------------------- */

TEST(a_long_slice_shares_the_bytes_and_a_short_one_keeps_nothing_alive)
{
    coex_handle *slots = begin();
    slots[0] = make("x");
    slots[0] = coex_string_repeat(slots[0], 100000);
    slots[1] = coex_string_slice(slots[0], 1000, 90000);
    slots[2] = coex_string_slice(slots[1], 500, 600); /* of a slice */
    ck_assert_ptr_eq(coex_string_data(slots[1]), coex_string_data(slots[0]) + 1000);
    ck_assert_ptr_eq(coex_string_data(slots[2]), coex_string_data(slots[0]) + 1500);
    ck_assert_uint_le(coex_gc_size(slots[2]), 32);
    ck_assert_uint_eq(coex_string_slice(slots[0], 0, 100000), slots[0]);
    slots[3] = coex_string_slice(slots[0], 50, 70);
    coex_handle whole = slots[0];
    slots[0] = slots[1] = 0;
    coex_gc_collect();
    coex_gc_collect();
    ck_assert(coex_gc_is_handle(whole));
    slots[2] = coex_string_compact(slots[2]); /* now nothing needs it */
    coex_gc_collect();
    coex_gc_collect();
    ck_assert(!coex_gc_is_handle(whole));
    ck_assert_uint_eq(coex_string_len(slots[2]), 100);
    ck_assert(is_text(slots[3], "xxxxxxxxxxxxxxxxxxxx"));
    ck_assert_uint_eq(coex_string_compact(slots[3]), slots[3]);
    end(slots);
}

TEST(a_slice_that_makes_no_sense_is_refused)
{
    coex_handle *slots = begin();
    slots[0] = make("0123456789 \xe2\x82\xac 0123456789 0123456789 0123456789");
    uint64_t length = coex_string_len(slots[0]);
    static const uint64_t ranges[][2] = {{0, 999},
                                         {999, 999},
                                         {5, 4},
                                         {0, UINT64_MAX},
                                         {UINT64_MAX, UINT64_MAX},
                                         {UINT64_MAX, 0},
                                         {0, UINT64_C(1) << 63},
                                         {UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        ck_assert_uint_eq(coex_string_slice(slots[0], ranges[i][0], ranges[i][1]), 0);
        ck_assert(failed(COEX_STATUS_RANGE));
        ck_assert_uint_eq(coex_string_slice_chars(slots[0], ranges[i][0], ranges[i][1]), 0);
        ck_assert(failed(COEX_STATUS_RANGE));
        ck_assert_uint_eq(coex_string_splice(slots[0], ranges[i][0], ranges[i][1], slots[0]), 0);
        ck_assert(failed(COEX_STATUS_RANGE));
    }
    for (uint64_t cut = 12; cut <= 13; cut++) { /* inside of the euro sign */
        ck_assert_uint_eq(coex_string_slice(slots[0], cut, length), 0);
        ck_assert(failed(COEX_STATUS_TEXT));
        ck_assert_uint_eq(coex_string_slice(slots[0], 0, cut), 0);
        ck_assert(failed(COEX_STATUS_TEXT));
        ck_assert_uint_eq(coex_string_splice(slots[0], cut, length, slots[0]), 0);
        ck_assert(failed(COEX_STATUS_TEXT));
        ck_assert_uint_eq(coex_string_find(slots[0], slots[0], cut), COEX_STRING_NONE);
        ck_assert(failed(COEX_STATUS_TEXT));
    }
    ck_assert(is_text(coex_string_slice(slots[0], 11, 14), "\xe2\x82\xac"));
    ck_assert(is_text(coex_string_slice(slots[0], length, length), ""));
    char buffer[4];
    ck_assert_uint_eq(coex_string_copy(slots[0], length + 1, buffer, 4), 0);
    ck_assert(failed(COEX_STATUS_RANGE));
    ck_assert_uint_eq(coex_string_copy(slots[0], length, buffer, 4), 0);
    ck_assert_uint_eq(coex_string_copy(slots[0], length - 2, buffer, 4), 2);
    ck_assert_uint_eq(coex_string_copy(slots[0], 0, buffer, 4), 4);
    ck_assert_int_eq(memcmp(buffer, "0123", 4), 0);
    ck_assert_int_eq(coex_last_status(), COEX_STATUS_OK);
    end(slots);
}

TEST(sizes_that_no_string_has_are_refused_before_anything_is_touched)
{
    coex_handle *slots = begin();
    static const uint64_t sizes[] = {COEX_STRING_MAX + 1,     UINT64_C(1) << 62, UINT64_C(1) << 63,
                                     (UINT64_C(1) << 63) + 1, UINT64_MAX - 8,    UINT64_MAX};
    slots[0] = make("ab");
    slots[1] = coex_string_builder_new(0);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ck_assert(coex_string_from("x", sizes[i]) == 0 && failed(COEX_STATUS_SIZE));
        ck_assert(coex_string_from_lossy("x", sizes[i]) == 0 && failed(COEX_STATUS_SIZE));
        ck_assert(coex_string_hex("x", sizes[i]) == 0 && failed(COEX_STATUS_SIZE));
        ck_assert(coex_string_repeat(slots[0], sizes[i]) == 0 && failed(COEX_STATUS_SIZE));
        ck_assert(coex_string_builder_new(sizes[i]) == 0 && failed(COEX_STATUS_SIZE));
        ck_assert(!coex_string_builder_reserve(slots[1], sizes[i]) && failed(COEX_STATUS_SIZE));
        ck_assert(!coex_string_builder_append_from(slots[1], "x", sizes[i]) && failed(COEX_STATUS_SIZE));
    }
    ck_assert(coex_string_repeat(slots[0], COEX_STRING_MAX / 2) == 0 && failed(COEX_STATUS_MEMORY));
    ck_assert(coex_string_from(NULL, 1) == 0 && failed(COEX_STATUS_KIND));
    ck_assert(coex_string_from_c(NULL) == 0 && failed(COEX_STATUS_KIND));
    slots[2] = make("");
    ck_assert_uint_eq(coex_string_len(coex_string_repeat(slots[2], UINT64_MAX)), 0);
    ck_assert_uint_eq(coex_string_len(coex_string_repeat(slots[0], 0)), 0);
    ck_assert_uint_eq(coex_string_builder_len(slots[1]), 0);
    end(slots);
}

TEST(what_is_no_string_is_refused_by_every_function)
{
    coex_handle *slots = begin();
    slots[0] = coex_string_builder_new(0);
    slots[1] = make("good");
    coex_handle bad[] = {0, COEX_IMMEDIATE(5), slots[0], UINT64_C(1) << 62};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        coex_handle b = bad[i], g = slots[1];
        uint64_t offset = 0, whole = 7;
        int64_t integer = 7;
        uint32_t c = 7;
        double number = 7;
        char room[8];
#define REFUSED(call, null) ck_assert_msg((call) == (null) && failed(COEX_STATUS_KIND), "%s takes bad[%zu]", #call, i)
        REFUSED(coex_string_len(b), 0);
        REFUSED(coex_string_data(b), NULL);
        REFUSED(coex_string_chars(b), 0);
        REFUSED(coex_string_is_ascii(b), false);
        REFUSED(coex_string_hash(b), 0);
        REFUSED(coex_string_hash_ascii(b), 0);
        REFUSED(coex_string_copy(b, 0, room, 8), 0);
        REFUSED(coex_string_next(b, &offset, &c), false);
        REFUSED(coex_string_previous(b, &offset, &c), false);
        REFUSED(coex_string_offset(b, 0), COEX_STRING_NONE);
        REFUSED(coex_string_is_boundary(b, 0), false);
        REFUSED(coex_string_slice(b, 0, 0), 0);
        REFUSED(coex_string_slice_chars(b, 0, 0), 0);
        REFUSED(coex_string_trim(b), 0);
        REFUSED(coex_string_compact(b), 0);
        REFUSED(coex_string_repeat(b, 1), 0);
        REFUSED(coex_string_lower_ascii(b), 0);
        REFUSED(coex_string_upper_ascii(b), 0);
        REFUSED(coex_string_to_int(b, &integer), false);
        REFUSED(coex_string_to_int_base(b, 16, &integer), false);
        REFUSED(coex_string_to_uint_base(b, 16, &whole), false);
        REFUSED(coex_string_to_float(b, &number), false);
        REFUSED(coex_string_unhex(b, room, 8, &whole), false);
        REFUSED(coex_string_to_bytes(b), 0);
        REFUSED(coex_string_from_bytes(b), 0);
        REFUSED(coex_string_from_bytes(g), 0);
        REFUSED(coex_string_join(b, g), 0);
        REFUSED(coex_string_join(g, g), 0);
        REFUSED(coex_string_join(g, b), 0);
        REFUSED(coex_string_builder_append(slots[0], b), false);
        REFUSED(coex_string_splice(g, 0, 0, b), 0);
        REFUSED(coex_string_splice(b, 0, 0, g), 0);
        REFUSED(coex_string_replace(b, g, g), 0);
        REFUSED(coex_string_replace(g, b, g), 0);
        REFUSED(coex_string_replace(g, g, b), 0);
        coex_handle pairs[][2] = {{b, g}, {g, b}, {b, b}};
        for (int k = 0; k < 3; k++) {
            coex_handle x = pairs[k][0], y = pairs[k][1];
            REFUSED(coex_string_equal(x, y), false);
            REFUSED(coex_string_compare(x, y), 0);
            REFUSED(coex_string_equal_ascii(x, y), false);
            REFUSED(coex_string_compare_ascii(x, y), 0);
            REFUSED(coex_string_find(x, y, 0), COEX_STRING_NONE);
            REFUSED(coex_string_find_ascii(x, y, 0), COEX_STRING_NONE);
            REFUSED(coex_string_find_last(x, y, 0), COEX_STRING_NONE);
            REFUSED(coex_string_count(x, y), 0);
            REFUSED(coex_string_starts_with(x, y), false);
            REFUSED(coex_string_ends_with(x, y), false);
            REFUSED(coex_string_concat(x, y), 0);
            REFUSED(coex_string_split(x, y), 0);
        }
        if (b != slots[0]) {
            REFUSED(coex_string_builder_append(b, g), false);
            REFUSED(coex_string_builder_append_from(b, "x", 1), false);
            REFUSED(coex_string_builder_append_char(b, 'x'), false);
            REFUSED(coex_string_builder_append_int(b, 1), false);
            REFUSED(coex_string_builder_append_float(b, 1), false);
            REFUSED(coex_string_builder_reserve(b, 1), false);
            REFUSED(coex_string_builder_truncate(b, 0), false);
            REFUSED(coex_string_builder_len(b), 0);
            REFUSED(coex_string_builder_finish(b), 0);
        }
        REFUSED(coex_string_builder_finish(g), 0);
        ck_assert(integer == 7 && whole == 7 && c == 7 && offset == 0 && number == 7);
    }
    ck_assert_uint_eq(coex_string_builder_len(slots[0]), 0);
    ck_assert_int_eq(coex_kind_of(slots[0]), COEX_KIND_BUILDER);
    end(slots);
}

/* ---- numbers, bytes, case ------------------------------------------------------------------------------------------- */

TEST(integers_go_both_ways_up_to_their_limits)
{
    coex_handle *slots = begin();
    static const int64_t values[] = {0, 1, -1, 9, 10, -10, 12345678901, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        int64_t back = 99;
        char text[32];
        snprintf(text, sizeof text, "%" PRId64, values[i]);
        slots[0] = coex_string_from_int(values[i]);
        ck_assert(is_text(slots[0], text));
        ck_assert(coex_string_to_int(slots[0], &back) && back == values[i]);
        for (unsigned base = 2; base <= 36; base++) {
            uint64_t whole = 0;
            slots[0] = coex_string_from_int_base(values[i], base);
            ck_assert(coex_string_to_int_base(slots[0], base, &back) && back == values[i]);
            slots[0] = coex_string_upper_ascii(slots[0]);
            ck_assert(coex_string_to_int_base(slots[0], base, &back) && back == values[i]);
            slots[0] = coex_string_from_uint_base((uint64_t)values[i], base);
            ck_assert(coex_string_to_uint_base(slots[0], base, &whole) && whole == (uint64_t)values[i]);
        }
    }
    static const struct {
        const char *text;
        coex_status status;
    } bad[] = {
        {"", COEX_STATUS_TEXT},
        {"-", COEX_STATUS_TEXT},
        {"+", COEX_STATUS_TEXT},
        {" 1", COEX_STATUS_TEXT},
        {"1 ", COEX_STATUS_TEXT},
        {"1.0", COEX_STATUS_TEXT},
        {"0x1", COEX_STATUS_TEXT},
        {"--1", COEX_STATUS_TEXT},
        {"12a", COEX_STATUS_TEXT},
        {"\xd9\xa1", COEX_STATUS_TEXT},
        {"9223372036854775808", COEX_STATUS_RANGE},
        {"-9223372036854775809", COEX_STATUS_RANGE},
        {"99999999999999999999999", COEX_STATUS_RANGE},
        {"99999999999999999999999x", COEX_STATUS_TEXT},
    };
    int64_t untouched = 99;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        slots[0] = make(bad[i].text);
        ck_assert(!coex_string_to_int(slots[0], &untouched) && failed(bad[i].status));
    }
    uint64_t whole = 99;
    slots[0] = make("-1");
    ck_assert(!coex_string_to_uint_base(slots[0], 10, &whole) && failed(COEX_STATUS_RANGE));
    static const unsigned bases[] = {0, 1, 37, UINT32_MAX};
    for (int i = 0; i < 4; i++) {
        ck_assert(!coex_string_to_int_base(slots[0], bases[i], &untouched) && failed(COEX_STATUS_RANGE));
        ck_assert(!coex_string_to_uint_base(slots[0], bases[i], &whole) && failed(COEX_STATUS_RANGE));
        ck_assert(coex_string_from_int_base(1, bases[i]) == 0 && failed(COEX_STATUS_RANGE));
        ck_assert(coex_string_from_uint_base(1, bases[i]) == 0 && failed(COEX_STATUS_RANGE));
    }
    ck_assert(untouched == 99 && whole == 99);
    end(slots);
}

TEST(doubles_go_both_ways_without_losing_a_bit)
{
    coex_handle *slots = begin();
    test_rng rng = rng_from(test_seed());
    for (int i = 0; i < unless_hostile(test_is_sanitized() ? 20000 : 300000, 1000); i++) {
        uint64_t bits = rng_next(&rng), back_bits;
        double value, back = 0;
        memcpy(&value, &bits, 8);
        if (isnan(value)) continue;
        slots[0] = coex_string_from_float(value);
        expect(coex_string_to_float(slots[0], &back));
        memcpy(&back_bits, &back, 8);
        expect_eq(back_bits, bits);
    }
    static const struct {
        const char *text;
        double value;
    } rows[] = {{"inf", (double)INFINITY},
                {"-inf", -(double)INFINITY},
                {"Infinity", (double)INFINITY},
                {"+INF", (double)INFINITY},
                {"1e400", (double)INFINITY},
                {"-1e400", -(double)INFINITY},
                {"1e-400", 0},
                {".5", 0.5},
                {"5.", 5},
                {"+1e2", 100},
                {"007", 7},
                {"1E+2", 100}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double back = 99;
        slots[0] = make(rows[i].text);
        ck_assert(coex_string_to_float(slots[0], &back) && back == rows[i].value);
    }
    double value = 0;
    slots[0] = make("NaN");
    ck_assert(coex_string_to_float(slots[0], &value) && isnan(value));
    static const char *const bad[] = {"",  " ",     "1 ",  " 1",      "e5",     "1e",    "1e+", ".",
                                      "-", "0x1p3", "1,5", "infinit", "nan(1)", "1.5.2", "--1", "in\xc3"};
    value = 99;
    for (size_t i = 0; i + 1 < sizeof bad / sizeof bad[0]; i++) {
        slots[0] = make(bad[i]);
        ck_assert_msg(!coex_string_to_float(slots[0], &value) && failed(COEX_STATUS_TEXT), "'%s' is a number", bad[i]);
    }
    ck_assert_double_eq(value, 99);
    ck_assert(is_text(coex_string_from_float(0.1 + 0.2), "0.30000000000000004"));
    end(slots);
}

TEST(bytes_go_to_hexadecimal_and_back)
{
    coex_handle *slots = begin();
    unsigned char all[256], back[256];
    uint64_t count = 0;
    for (int i = 0; i < 256; i++) all[i] = (unsigned char)i;
    slots[0] = coex_string_hex(all, 256);
    ck_assert_uint_eq(coex_string_len(slots[0]), 512);
    ck_assert_int_eq(memcmp(coex_string_data(slots[0]) + 510, "ff", 2), 0);
    ck_assert(coex_string_unhex(slots[0], back, 256, &count) && count == 256);
    ck_assert_int_eq(memcmp(all, back, 256), 0);
    slots[1] = coex_string_upper_ascii(slots[0]);
    memset(back, 0, 256);
    ck_assert(coex_string_unhex(slots[1], back, 256, &count));
    ck_assert_int_eq(memcmp(all, back, 256), 0);
    memset(back, 7, 256);
    ck_assert(!coex_string_unhex(slots[0], back, 255, &count) && failed(COEX_STATUS_RANGE));
    static const char *const bad[] = {"0", "0g", "g0", "001", "0 ", "\xc3\xa4"};
    for (int i = 0; i < 6; i++) {
        slots[1] = make(bad[i]);
        ck_assert(!coex_string_unhex(slots[1], back, 256, &count) && failed(COEX_STATUS_TEXT));
    }
    ck_assert_uint_eq(back[0], 7); /* nothing is written before all of it is known to be good */
    ck_assert(is_text(coex_string_hex(NULL, 0), ""));
    end(slots);
}

TEST(letters_change_their_case_only_if_they_are_ascii)
{
    coex_handle *slots = begin();
    slots[0] = make("Hello, W\xc3\x96RLD @[`{ \xc5\xbf");
    ck_assert(is_text(coex_string_lower_ascii(slots[0]), "hello, w\xc3\x96rld @[`{ \xc5\xbf"));
    ck_assert(is_text(coex_string_upper_ascii(slots[0]), "HELLO, W\xc3\x96RLD @[`{ \xc5\xbf"));
    slots[1] = make("nothing to do");
    ck_assert_uint_eq(coex_string_lower_ascii(slots[1]), slots[1]);
    slots[2] = make(" \t\r\n\v\f trimmed text \n ");
    ck_assert(is_text(coex_string_trim(slots[2]), "trimmed text"));
    slots[2] = make(" \t ");
    ck_assert(is_text(coex_string_trim(slots[2]), ""));
    slots[2] = make("\xc2\xa0x"); /* a no-break space is no space */
    ck_assert_uint_eq(coex_string_trim(slots[2]), slots[2]);
    end(slots);
}

TEST(dumps_show_the_text_of_a_string_and_no_half_character)
{
    coex_handle *slots = begin();
    char *shown = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&shown, &size);
    slots[0] = coex_list_empty(true);
    slots[1] = make("hello, w\xc3\xb6rld");
    slots[0] = coex_list_append(slots[0], slots[1]);
    slots[1] = make("\xe2\x82\xac");
    slots[1] = coex_string_repeat(slots[1], 1000);
    slots[1] = coex_string_slice(slots[1], 3, 2700); /* a view */
    slots[0] = coex_list_append(slots[0], slots[1]);
    coex_gc_set_output(stream);
    coex_gc_dump_object(slots[0]);
    coex_gc_set_output(stderr);
    fclose(stream);
    ck_assert_ptr_nonnull(strstr(shown, "string \"hello, w\xc3\xb6rld\""));
    ck_assert_ptr_nonnull(strstr(shown, "string view \"\xe2\x82\xac\xe2\x82\xac"));
    ck_assert(coex_utf8_check(shown, size, NULL));
    free(shown);
    end(slots);
}
