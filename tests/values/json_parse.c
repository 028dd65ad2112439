/* Reading JSON text: what RFC 8259 allows and what it does not, where errors are, limits, and that pieces give what the whole
 * gives. */
#include "json_help.h"

#include <math.h>

/* ------------------------------------------------------------- what is JSON */

/* Text, and what it is written as. */
static const struct {
    const char *text, *written;
} good[] = {
    {"null", "null"},
    {" \t\r\n true \n", "true"},
    {"false", "false"},
    {"0", "0"},
    {"-0", "-0.0"},
    {"-0.0", "-0.0"},
    {"0.0", "0.0"},
    {"0e5", "0.0"},
    {"-1", "-1"},
    {"10", "10"},
    {"9007199254740993", "9007199254740993"},
    {"576460752303423487", "576460752303423487"},
    {"576460752303423488", "576460752303423488"},
    {"-576460752303423488", "-576460752303423488"},
    {"-576460752303423489", "-576460752303423489"},
    {"9223372036854775807", "9223372036854775807"},
    {"9223372036854775808", "9223372036854775808"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"18446744073709551615", "18446744073709551615"},
    {"18446744073709551616", "1.8446744073709552e19"},
    {"-9223372036854775809", "-9.223372036854776e18"},
    {"1.0", "1.0"},
    {"1e0", "1.0"},
    {"1E+2", "100.0"},
    {"123.456e-2", "1.23456"},
    {"0.1", "0.1"},
    {"1e-999", "0.0"},
    {"5e-324", "5e-324"},
    {"1.7976931348623157e308", "1.7976931348623157e308"},
    {"1e22", "1e22"},
    {"\"\"", "\"\""},
    {"\"a\\\"b\\\\c\\/d\\b\\f\\n\\r\\t\"", "\"a\\\"b\\\\c/d\\b\\f\\n\\r\\t\""},
    {"\"\\u0041\\u00e9\\u20AC\\ud83d\\uDE00\"", "\"A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
    {"\"\\u0000\\u001f\\u007f\"", "\"\\u0000\\u001f\x7f\""},
    {"\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
    {"\"sixteen bytes or more before an \\n escape, and more behind it\"",
     "\"sixteen bytes or more before an \\n escape, and more behind it\""},
    {"[]", "[]"},
    {"[ ]", "[]"},
    {"[1]", "[1]"},
    {"[1 , 2\n,\t3 ]", "[1,2,3]"},
    {"[[],[[]],{}]", "[[],[[]],{}]"},
    {"{}", "{}"},
    {"{ }", "{}"},
    {"{\"a\":1}", "{\"a\":1}"},
    {"{ \"b\" : [ ] , \"a\" : { \"c\" : null } }", "{\"b\":[],\"a\":{\"c\":null}}"},
    {"{\"\":0}", "{\"\":0}"},
    {"{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}"},
    {"{\"a\":1,\"\\u0061\":2}", "{\"a\":2}"},
    {"[{\"a\":1,\"a\":2},{\"a\":3,\"a\":4}]", "[{\"a\":2},{\"a\":4}]"},
    {"[{\"x\":1,\"y\":2},{\"x\":3,\"y\":4},{\"y\":5,\"x\":6},{\"x\":7}]",
     "[{\"x\":1,\"y\":2},{\"x\":3,\"y\":4},{\"y\":5,\"x\":6},{\"x\":7}]"},
    {"\"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf\"", "\"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf\""},
};

TEST(what_rfc_8259_allows_is_read_and_written_again)
{
    start_default();
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        expect_reads_as(good[i].text, good[i].written);
        expect_reads_as(good[i].written, good[i].written);
    }
    coex_gc_shutdown();
}

/* Text that is none, where the first wrong byte is, and what the message has. */
static const struct {
    const char *text;
    uint64_t bytes; /* 0: up to the zero byte */
    uint64_t offset;
    const char *message;
} bad[] = {
    {"", 0, 0, "a value, found the end"},
    {"  ", 0, 2, "a value, found the end"},
    {"nul", 0, 3, "null, found the end"},
    {"nulL", 0, 3, "null, found 'L'"},
    {"True", 0, 0, "a value, found 'T'"},
    {"NaN", 0, 0, "a value"},
    {"Infinity", 0, 0, "a value"},
    {"-Infinity", 0, 1, "a digit"},
    {"undefined", 0, 0, "a value"},
    {"nullnull", 0, 4, "the end of the text, found 'n'"},
    {"1 2", 0, 2, "the end of the text"},
    {"+1", 0, 0, "a value"},
    {".5", 0, 0, "a value"},
    {"-", 0, 1, "a digit"},
    {"-a", 0, 1, "a digit"},
    {"01", 0, 1, "leading zero"},
    {"-012", 0, 2, "leading zero"},
    {"1.", 0, 2, "a digit"},
    {"1.e5", 0, 2, "a digit"},
    {"1e", 0, 2, "a digit"},
    {"1e+", 0, 3, "a digit"},
    {"0x10", 0, 1, "the end of the text"},
    {"1e400", 0, 0, "does not fit"},
    {"-1e400", 0, 0, "does not fit"},
    {"[1e309]", 0, 1, "does not fit"},
    {"\"", 0, 1, "closing quote"},
    {"\"abc", 0, 4, "closing quote"},
    {"'a'", 0, 0, "a value"},
    {"\"a\nb\"", 0, 2, "control character, found byte 0x0a"},
    {"\"a\tb\"", 0, 2, "control character"},
    {"\"a\0b\"", 5, 2, "control character, found byte 0x00"},
    {"\"\\x41\"", 0, 2, "one of"},
    {"\"\\", 0, 2, "an escape"},
    {"\"\\u12", 0, 5, "the rest of an escape"},
    {"\"\\u12g4\"", 0, 5, "hexadecimal"},
    {"\"\\ud800\"", 0, 1, "surrogate"},
    {"\"\\udc00\"", 0, 1, "surrogate"},
    {"\"\\ud800\\u0041\"", 0, 1, "surrogate"},
    {"\"\\ud800\\n\"", 0, 1, "surrogate"},
    {"\"\\udc00\\ud800\"", 0, 1, "surrogate"},
    {"\"\x80\"", 0, 1, "UTF-8"},
    {"\"\xc0\xaf\"", 0, 1, "UTF-8"},
    {"\"\xc3\"", 0, 1, "UTF-8"},
    {"\"\xe0\x9f\xbf\"", 0, 1, "UTF-8"},
    {"\"\xed\xa0\x80\"", 0, 1, "UTF-8"},
    {"\"\xf0\x8f\xbf\xbf\"", 0, 1, "UTF-8"},
    {"\"\xf4\x90\x80\x80\"", 0, 1, "UTF-8"},
    {"\"ab\xe2\x82", 0, 3, "UTF-8"},
    {"\"\xff\"", 0, 1, "UTF-8"},
    {"\xef\xbb\xbf[]", 0, 0, "a value, found byte 0xef"},
    {"[", 0, 1, "a value or ']', found the end"},
    {"]", 0, 0, "a value"},
    {"[1", 0, 2, "',' or ']'"},
    {"[1,", 0, 3, "a value"},
    {"[1,]", 0, 3, "a value, found ']'"},
    {"[,1]", 0, 1, "a value or ']'"},
    {"[1 2]", 0, 3, "',' or ']', found '2'"},
    {"[1}", 0, 2, "',' or ']', found '}'"},
    {"[1]]", 0, 3, "the end of the text"},
    {"{", 0, 1, "a key in quotes or '}'"},
    {"{\"a\"", 0, 4, "':'"},
    {"{\"a\":", 0, 5, "a value"},
    {"{\"a\" 1}", 0, 5, "':', found '1'"},
    {"{\"a\":}", 0, 5, "a value"},
    {"{\"a\":1,}", 0, 7, "a key in quotes, found '}'"},
    {"{a:1}", 0, 1, "a key in quotes or '}', found 'a'"},
    {"{1:1}", 0, 1, "a key in quotes"},
    {"{\"a\":1 \"b\":2}", 0, 7, "',' or '}'"},
    {"{\"a\":1]", 0, 6, "',' or '}', found ']'"},
    {"{,}", 0, 1, "a key"},
    {"[1]\0", 4, 3, "the end of the text, found byte 0x00"},
    {"// c\n1", 0, 0, "a value"},
    {"[1,/* */2]", 0, 3, "a value"},
    {"\xc2\xa0[]", 0, 0, "a value"},
    {"[\f1]", 0, 1, "a value"},
};

TEST(what_rfc_8259_does_not_allow_is_refused_where_it_begins)
{
    start_default();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        coex_json_error error;
        uint64_t bytes = bad[i].bytes != 0 ? bad[i].bytes : strlen(bad[i].text);
        coex_clear_status();
        if (coex_json_parse(bad[i].text, bytes, &error) != 0) test_fail(__FILE__, __LINE__, "'%s' was read", bad[i].text);
        if (error.offset != bad[i].offset || strstr(error.message, bad[i].message) == NULL || error.status == COEX_STATUS_OK)
            test_fail(__FILE__, __LINE__, "'%s': '%s' at %" PRIu64, bad[i].text, error.message, error.offset);
        expect_eq(coex_last_status(), error.status);
        expect_eq(coex_json_parse(bad[i].text, bytes, NULL), 0);
    }
    coex_gc_shutdown();
}

TEST(pieces_of_any_size_give_what_the_whole_gives)
{
    start_default();
    test_rng rng = rng_from(test_seed());
    coex_handle *slots = coex_gc_enter_frame(2);
    coex_json_error error, whole_error;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        for (uint64_t piece = 0; piece < 9; piece += unless_hostile(1, 4)) {
            slots[0] = json_of(good[i].text);
            slots[1] = json_fed(good[i].text, strlen(good[i].text), piece, &rng, NULL, &error);
            if (slots[1] == 0)
                test_fail(__FILE__, __LINE__, "'%s' in pieces of %" PRIu64 ": %s", good[i].text, piece, error.message);
            expect(coex_json_equal(slots[0], slots[1]));
        }
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t bytes = bad[i].bytes != 0 ? bad[i].bytes : strlen(bad[i].text);
        expect_eq(coex_json_parse(bad[i].text, bytes, &whole_error), 0);
        for (uint64_t piece = 0; piece < 9; piece += unless_hostile(1, 4)) {
            expect_eq(json_fed(bad[i].text, bytes, piece, &rng, NULL, &error), 0);
            if (error.offset != whole_error.offset || strcmp(error.message, whole_error.message) != 0)
                test_fail(__FILE__, __LINE__, "'%s' in pieces of %" PRIu64 ": '%s' at %" PRIu64 ", as a whole '%s' at %" PRIu64,
                          bad[i].text, piece, error.message, error.offset, whole_error.message, whole_error.offset);
        }
    }
    coex_gc_shutdown();
}

static const char sample[] =
    "{\"name\": \"caf\xc3\xa9 \\u20ac \\ud83d\\ude00\", \"list\": [1, -2.5e3, true, null, {\"deep\": [[], {}]}],\n"
    " \"big\": 18446744073709551615, \"t\": false}";

TEST(text_that_is_cut_off_anywhere_is_refused)
{
    start_default();
    for (uint64_t bytes = 0; bytes < sizeof sample - 1; bytes++) {
        coex_json_error error;
        char *cut = malloc(bytes + 1); /* so that reading past it is seen */
        memcpy(cut, sample, bytes);
        char *exact = bytes != 0 ? realloc(cut, bytes) : cut;
        expect_eq(coex_json_parse(exact, bytes, &error), 0);
        expect_eq(error.status, COEX_STATUS_TEXT);
        expect(error.offset <= bytes);
        free(exact);
    }
    expect(coex_json_parse(sample, sizeof sample - 1, NULL) != 0);
    coex_gc_shutdown();
}

TEST(errors_have_line_and_column_in_characters)
{
    start_default();
    coex_json_error error;
    const char *text = "{\n  \"a\": 1,\r\n  \"\xc3\xa9\xe2\x82\xac\": ?\n}";
    expect_eq(coex_json_parse(text, strlen(text), &error), 0);
    expect_eq(error.line, 3);
    expect_eq(error.column, 9);
    expect_eq(error.offset, 24);
    ck_assert_str_eq(error.message, "expected a value, found '?'");
    test_rng rng = rng_from(1);
    for (uint64_t piece = 1; piece < 30; piece++) {
        expect_eq(json_fed(text, strlen(text), piece, &rng, NULL, &error), 0);
        expect_eq(error.line, 3);
        expect_eq(error.column, 9);
    }
    coex_gc_shutdown();
}

/* ------------------------------------------------------------------ limits */

TEST(a_million_opening_brackets_are_refused_at_the_limit)
{
    start_default();
    uint64_t count = 1000000;
    char *text = malloc(count);
    memset(text, '[', count);
    coex_json_error error;
    expect_eq(coex_json_parse(text, count, &error), 0);
    expect_eq(error.status, COEX_STATUS_SIZE);
    expect_eq(error.offset, COEX_JSON_DEFAULT_DEPTH);
    ck_assert_str_eq(error.message, "nested too deeply");
    for (uint64_t i = 0; i + 5 <= count; i += 5) memcpy(text + i, "{\"\":[", 5);
    expect_eq(coex_json_parse(text, count, &error), 0);
    expect_eq(error.status, COEX_STATUS_SIZE);
    free(text);
    coex_gc_shutdown();
}

TEST_TIMEOUT(a_limit_of_millions_reads_compares_hashes_and_writes_what_is_nested_so_deeply, 60)
{
    start_large();
    uint64_t count = test_is_sanitized() || test_is_checked() ? 100000 : 1000000;
    char *text = malloc(2 * count);
    memset(text, '[', count);
    memset(text + count, ']', count);
    coex_json_options options = {.max_depth = count};
    coex_json_error error;
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = coex_json_parse_with(text, 2 * count, &options, &error);
    expect(slots[0] != 0);
    slots[1] = coex_json_parse_with(text, 2 * count, &options, &error);
    expect(coex_json_equal(slots[0], slots[1]));
    expect_eq(coex_json_hash(slots[0]), coex_json_hash(slots[1]));
    slots[2] = coex_json_stringify(slots[0], 0);
    expect_eq(coex_string_len(slots[2]), 2 * count);
    expect(memcmp(coex_string_data(slots[2]), text, 2 * count) == 0);
    options.max_depth = count - 1;
    expect_eq(coex_json_parse_with(text, 2 * count, &options, &error), 0);
    expect_eq(error.offset, count - 1);
    free(text);
    coex_gc_shutdown();
}

TEST(depth_counts_containers_exactly)
{
    start_default();
    coex_json_options options = {.max_depth = 2};
    expect(coex_json_parse_with("[{}]", 4, &options, NULL) != 0);
    expect(coex_json_parse_with("[{},{},[1]]", 11, &options, NULL) != 0);
    expect_eq(coex_json_parse_with("[[[", 3, &options, NULL), 0);
    expect_eq(coex_last_status(), COEX_STATUS_SIZE);
    coex_gc_shutdown();
}

TEST(numbers_of_any_length_are_read)
{
    start_default();
    uint64_t count = 100000;
    char *text = malloc(count + 8);
    coex_json_error error;
    double value;
    memset(text, '3', count);
    expect_eq(coex_json_parse(text, count, &error), 0); /* 10^100000 is beyond */
    expect_eq(error.status, COEX_STATUS_RANGE);
    expect(coex_json_parse(text, 300, &error) != 0);
    text[1] = '.';
    expect(coex_json_to_float(coex_json_parse(text, count, &error), &value) && value == 10.0 / 3);
    memcpy(text + count, "e-320", 5);
    expect(coex_json_to_float(coex_json_parse(text, count + 5, &error), &value) && value > 0 && value < 1e-307);
    test_rng rng = rng_from(1);
    expect(coex_json_to_float(json_fed(text, count, 1, &rng, NULL, &error), &value) && value == 10.0 / 3);
    free(text);
    coex_gc_shutdown();
}

TEST(doubles_come_back_exactly)
{
    start_default();
    test_rng rng = rng_from(test_seed());
    coex_handle *slots = coex_gc_enter_frame(1);
    for (int i = 0; i < unless_hostile(20000, 300); i++) {
        uint64_t bits = rng_next(&rng), again;
        double value, back;
        if (i % 4 == 1) bits = (bits & UINT64_C(0x800fffffffffffff)) | (uint64_t)(1023 - 40 + rng_below(&rng, 80)) << 52;
        if (i % 4 == 2) bits &= UINT64_C(0x800000000000ffff);
        memcpy(&value, &bits, 8);
        if (!isfinite(value)) continue;
        slots[0] = coex_json_float(value);
        expect(coex_json_to_float(slots[0], &back));
        memcpy(&again, &back, 8);
        expect_eq(again, bits);
        char *text = json_text_of(slots[0], 0);
        expect(coex_json_equal(slots[0], json_of(text)));
        free(text);
    }
    coex_gc_shutdown();
}

TEST(integers_come_back_exactly)
{
    start_default();
    test_rng rng = rng_from(test_seed());
    coex_handle *slots = coex_gc_enter_frame(1);
    for (int i = 0; i < unless_hostile(20000, 300); i++) {
        uint64_t word = rng_next(&rng) >> rng_below(&rng, 64), back = 0;
        int64_t whole = (int64_t)(rng_one_in(&rng, 2) ? word : 0 - word), whole_back = 0;
        slots[0] = coex_json_uint(word);
        char *text = json_text_of(slots[0], 0);
        expect(coex_json_to_uint(json_of(text), &back));
        expect_eq(back, word);
        free(text);
        slots[0] = coex_json_int(whole);
        text = json_text_of(slots[0], 0);
        expect(coex_json_to_int(json_of(text), &whole_back));
        expect_eq(whole_back, whole);
        free(text);
    }
    coex_gc_shutdown();
}

/* ----------------------------------------------------------------- options */

TEST(options_refuse_inexact_integers_and_duplicate_keys_and_mend_surrogates)
{
    start_default();
    coex_json_options exact = {.flags = COEX_JSON_EXACT}, unique = {.flags = COEX_JSON_UNIQUE},
                      replace = {.flags = COEX_JSON_REPLACE};
    coex_json_error error;
    const char *big = "18446744073709551616", *twice = "[{\"a\":1,\"b\":2},{\"b\":1,\"b\":2}]",
               *half = "\"\\ud800x\\udc00\\ud83d\\ude00\\ud800\"";
    expect_eq(coex_json_parse_with(big, strlen(big), &exact, &error), 0);
    expect_eq(error.status, COEX_STATUS_RANGE);
    expect(coex_json_parse_with(big, strlen(big) - 1, &exact, &error) != 0);
    expect_eq(coex_json_parse_with(twice, strlen(twice), &unique, &error), 0);
    ck_assert_str_eq(error.message, "duplicate key");
    expect_eq(error.status, COEX_STATUS_TEXT);
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_json_parse_with(half, strlen(half), &replace, &error);
    char *text = json_text_of(slots[0], 0);
    ck_assert_str_eq(text, "\"\xef\xbf\xbdx\xef\xbf\xbd\xf0\x9f\x98\x80\xef\xbf\xbd\"");
    free(text);
    coex_gc_shutdown();
}

TEST(duplicate_keys_in_objects_of_every_size_keep_the_last_value_at_the_first_place)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1);
    for (unsigned count = 1; count <= 200; count += unless_hostile(count < 70 ? 1 : 13, count)) {
        char *text = malloc(64 * count), *at = text;
        *at++ = '{';
        for (unsigned i = 0; i < 2 * count; i++) at += sprintf(at, "\"key%u\":%u,", i % count, i);
        at[-1] = '}';
        for (int times = 0; times < 2; times++) {
            slots[0] = coex_json_parse(text, (uint64_t)(at - text), NULL);
            expect_eq(coex_json_len(slots[0]), count);
            coex_handle key, value;
            unsigned i = 0;
            int64_t number;
            for (uint64_t cursor = 0; coex_json_next(slots[0], &cursor, &key, &value); i++) {
                char name[16];
                snprintf(name, sizeof name, "key%u", i);
                expect(memcmp(coex_string_data(key), name, coex_string_len(key)) == 0);
                expect(coex_json_to_int(value, &number));
                expect_eq(number, count + i);
                expect_eq(coex_json_get_text(slots[0], name, strlen(name)), value);
            }
            expect_eq(i, count);
        }
        free(text);
    }
    coex_gc_shutdown();
}

TEST(a_text_with_more_keys_than_are_cached_is_read)
{
    start_large();
    enum { OBJECTS = 6000 };
    char *text = malloc(OBJECTS * 100 + 10), *at = text;
    *at++ = '[';
    for (int i = 0; i < OBJECTS; i++) at += sprintf(at, "{\"same\":%d,\"k%d\":%d,\"%060d\":0},", i, i, i, i);
    at[-1] = ']';
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_json_parse(text, (uint64_t)(at - text), NULL);
    expect_eq(coex_json_len(slots[0]), OBJECTS);
    for (int i = 0; i < OBJECTS; i++) {
        char name[80];
        int64_t number = -1;
        coex_handle object = coex_json_get_at(slots[0], (uint64_t)i);
        expect_eq(coex_json_len(object), 3);
        sprintf(name, "k%d", i);
        expect(coex_json_to_int(coex_json_get_text(object, name, strlen(name)), &number) && number == i);
        sprintf(name, "%060d", i);
        expect(coex_json_to_int(coex_json_get_text(object, name, strlen(name)), &number) && number == 0);
        expect(coex_json_to_int(coex_json_get_text(object, "same", 4), &number) && number == i);
    }
    free(text);
    coex_gc_shutdown();
}

TEST(text_of_a_string_and_of_a_slice_of_one_is_read)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(3);
    const char *text = "   [1,2,[3,\"a long enough text to be shared by a slice of it\"]]x";
    slots[0] = coex_string_from(text, strlen(text));
    expect(slots[0] != 0);
    slots[1] = coex_string_slice(slots[0], 2, coex_string_len(slots[0]) - 1);
    slots[2] = coex_json_parse_string(slots[1], NULL, NULL);
    expect_eq(coex_json_len(slots[2]), 3);
    coex_json_error error;
    expect_eq(coex_json_parse_string(slots[0], NULL, &error), 0);
    expect_eq(error.status, COEX_STATUS_TEXT);
    expect_eq(coex_json_parse_string(0, NULL, &error), 0);
    expect_eq(error.status, COEX_STATUS_KIND);
    expect_eq(coex_json_parse_string(coex_json_null(), NULL, &error), 0);
    coex_gc_shutdown();
}
