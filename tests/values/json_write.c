/* Writing: runs of numbers among other values, and text that is large. */
#include "json_help.h"
#include "support/limits.h"
#include "support/moving.h"

struct text {
    char *bytes;
    uint64_t count, room;
};

static void text_add(struct text *text, const char *bytes, uint64_t count)
{
    while (text->count + count > text->room) text->bytes = realloc(text->bytes, text->room = 2 * text->room + 1024);
    memcpy(text->bytes + text->count, bytes, count);
    text->count += count;
}

static void expect_same(const struct text *text, const char *bytes, uint64_t count)
{
    uint64_t least = count < text->count ? count : text->count, at = 0;
    while (at < least && bytes[at] == text->bytes[at]) at++;
    if (at == count && at == text->count) return;
    int ours = (int)(count - at < 20 ? count - at : 20), theirs = (int)(text->count - at < 20 ? text->count - at : 20);
    test_fail(__FILE__, __LINE__, "%" PRIu64 " bytes, not %" PRIu64 ", differ at %" PRIu64 ": '%.*s', not '%.*s'", count,
              text->count, at, ours, bytes + at, theirs, text->bytes + at);
}

/* ---------------------------------------------------------------- numbers among others */

/* Each as it is written. Immediates that are written in runs come first. */
static const char *const parts[] = {
    "1.5", "0.1", "-3.0000000000000004e-7", "17", "-576460752303423488", "0", "7.25", "123456789012.5",
    /* other numbers */
    "0.0", "-0.0", "18446744073709551615", "1e300", "5e-324",
    /* other values */
    "null", "true", "false", "\"\"", "\"a\\n\"", "[]", "{}", "[1,2.5,null,3]", "{\"a\":1,\"b\":[2.5,true],\"c\":[]}"};
enum { PARTS = sizeof parts / sizeof parts[0], NUMBERS = 8, LONGEST = 150 };

/* An array of parts, joined of pieces, so that leaves of its tree have any length; its text is added. `values` are rooted. */
static coex_handle make_array(test_rng *rng, const coex_handle *values, struct text *text)
{
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = coex_json_array();
    slots[1] = coex_json_array();
    uint64_t count = rng_below(rng, LONGEST), others = rng_below(rng, 4) * 10; /* in a hundred */
    text_add(text, "[", 1);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t part = rng_below(rng, 100) < others ? rng_between(rng, NUMBERS, PARTS - 1) : rng_below(rng, NUMBERS);
        if (i != 0) text_add(text, ",", 1);
        text_add(text, parts[part], strlen(parts[part]));
        slots[1] = coex_json_append(slots[1], values[part]);
        if (!rng_one_in(rng, 40)) continue;
        slots[0] = coex_list_concat(slots[0], slots[1]);
        slots[1] = coex_json_array();
    }
    text_add(text, "]", 1);
    coex_handle array = coex_list_concat(slots[0], slots[1]);
    coex_gc_leave_frame(slots);
    return array;
}

/* A cycle each time, in which everything moves that can. */
static bool collecting_sink(void *context, const char *bytes, uint64_t count)
{
    text_add(context, bytes, count);
    coex_gc_leave_native();
    coex_gc_collect();
    coex_gc_enter_native();
    return true;
}

TEST(numbers_among_other_values_are_written_as_they_are_read)
{
    start_large();
    moving_begin();
    test_rng rng = rng_from(test_seed());
    struct text expected = {0}, written = {0};
    coex_handle *slots = coex_gc_enter_frame(2), *values = coex_gc_enter_frame(PARTS);
    for (int i = 0; i < PARTS; i++) values[i] = json_of(parts[i]);
    slots[0] = coex_json_array();
    text_add(&expected, "[", 1);
    for (int i = 0; i < 1200; i++) {
        uint64_t part = rng_below(&rng, PARTS);
        if (i != 0) text_add(&expected, ",", 1);
        if (rng_one_in(&rng, 3)) { /* numbers of the array around between arrays */
            text_add(&expected, parts[part], strlen(parts[part]));
            slots[0] = coex_json_append(slots[0], values[part]);
            continue;
        }
        slots[1] = make_array(&rng, values, &expected);
        slots[0] = coex_json_append(slots[0], slots[1]);
    }
    text_add(&expected, "]", 1);
    char *whole = json_text_of(slots[0], 0);
    expect_same(&expected, whole, strlen(whole));
    free(whole);
    coex_json_writer *writer = coex_json_writer_to(collecting_sink, &written, 0, 0);
    expect(coex_json_write_value(writer, slots[0]) && coex_json_writer_finish(writer));
    expect_same(&expected, written.bytes, written.count);
    coex_json_writer_destroy(writer);
    written.count = 0;
    writer = coex_json_writer_to(collecting_sink, &written, 1, 0);
    expect(coex_json_write_value(writer, slots[0]) && coex_json_writer_finish(writer));
    slots[1] = coex_json_parse(written.bytes, written.count, NULL);
    expect(coex_json_equal(slots[0], slots[1]));
    coex_json_writer_destroy(writer);
    moving_end();
    free(expected.bytes);
    free(written.bytes);
    coex_gc_shutdown();
}

/* ------------------------------------------------------------------- large text */

static bool write_row(coex_json_writer *writer, uint64_t i)
{
    return coex_json_write_array(writer) && coex_json_write_uint(writer, i) && coex_json_write_float(writer, (double)i + 0.5) &&
           coex_json_write_string(writer, "row", 3) && coex_json_write_end(writer);
}

static uint64_t bytes_of(coex_json_writer *writer)
{
    uint64_t count = 0;
    return coex_json_writer_bytes(writer, &count) != NULL ? count : 0;
}

/* Writes rows until there are so many bytes, or no memory. How many there are, from the first one on. */
static uint64_t write_rows(coex_json_writer *writer, uint64_t from, uint64_t bytes)
{
    while (bytes_of(writer) < bytes && write_row(writer, from)) from++;
    return from;
}

static void expect_rows(coex_json_writer *writer, uint64_t rows)
{
    struct text expected = {0};
    char row[64];
    uint64_t count = 0;
    for (uint64_t i = 0; i < rows; i++)
        text_add(&expected, row,
                 (uint64_t)snprintf(row, sizeof row, "%c[%" PRIu64 ",%" PRIu64 ".5,\"row\"]", i == 0 ? '[' : ',', i, i));
    const char *bytes = coex_json_writer_bytes(writer, &count);
    expect(bytes != NULL);
    expect_same(&expected, bytes, count);
    free(expected.bytes);
}

TEST_TIMEOUT(text_of_many_megabytes_is_written_to_memory_and_read_back, 60)
{
    start_large();
    coex_handle *slots = coex_gc_enter_frame(2);
    coex_json_writer *writer = coex_json_writer_new(0, 0);
    uint64_t rows = 0, count = 0;
    expect(coex_json_write_array(writer));
    for (uint64_t bytes = MIB - 100; bytes <= 12 * MIB; bytes += bytes < MIB + 100 ? 10 : MIB / 2 + 77) {
        rows = write_rows(writer, rows, bytes);
        if (bytes < MIB || bytes > MIB + 100) expect_rows(writer, rows);
    }
    expect(bytes_of(writer) > 11 * MIB);
    expect_rows(writer, rows);
    expect(coex_json_write_end(writer));
    const char *bytes = coex_json_writer_bytes(writer, &count);
    slots[0] = coex_json_parse(bytes, count, NULL);
    expect_eq(coex_json_len(slots[0]), rows);
    char *again = json_text_of(slots[0], 0);
    expect_eq(strlen(again), count);
    expect(memcmp(again, bytes, count) == 0);
    free(again);
    coex_json_writer_destroy(writer);
    coex_gc_shutdown();
}

/* A writer that gets so much text, then a limit, then text up to `most`. How much it has in the end; 0: no memory. */
static uint64_t rows_with_limit(uint64_t text, enum __rlimit_resource resource, uint64_t bytes_left, uint64_t most)
{
    coex_json_writer *writer = coex_json_writer_new(0, 0);
    expect(coex_json_write_array(writer));
    uint64_t rows = write_rows(writer, 0, text);
    expect_rows(writer, rows);
    limit_resource(resource, bytes_left);
    coex_clear_status();
    rows = write_rows(writer, rows, most);
    limit_resource(resource, RLIM_INFINITY);
    uint64_t bytes = bytes_of(writer);
    if (bytes != 0) {
        expect_rows(writer, rows);
    } else {
        expect_eq(coex_last_status(), COEX_STATUS_MEMORY);
        coex_clear_status();
        expect(!coex_json_write_null(writer) && coex_last_status() == COEX_STATUS_MEMORY); /* for good */
        expect(!coex_json_writer_finish(writer) && coex_json_writer_string(writer) == 0);
    }
    coex_json_writer_destroy(writer);
    return bytes;
}

TEST_TIMEOUT(a_writer_without_memory_fails_for_good_and_leaves_nothing_behind, 60)
{
    if (test_is_sanitized()) return; /* a sanitizer needs address space of its own at any time */
    start_large();
    uint64_t before = mapped();
    expect_eq(rows_with_limit(300 * 1024, RLIMIT_AS, 0, 8 * MIB), 0);                    /* no addresses for pages */
    expect_eq(rows_with_limit(300 * 1024, RLIMIT_AS, mapped() + 12 * MIB, 40 * MIB), 0); /* for some */
    expect(rows_with_limit(300 * 1024, RLIMIT_AS, mapped() + 64 * MIB, 8 * MIB) != 0);   /* enough */
    expect(rows_with_limit(2 * MIB, RLIMIT_AS, 0, 8 * MIB) != 0);                        /* they are there already */
    rows_with_limit(300 * 1024, RLIMIT_DATA, MIB, 8 * MIB); /* addresses, but no pages, where the system counts these */
    rows_with_limit(2 * MIB, RLIMIT_DATA, MIB, 8 * MIB);
    ck_assert_uint_lt(mapped(), before + GIB); /* a large buffer has 64 of them; what the C library keeps is less */
    expect(rows_with_limit(2 * MIB, RLIMIT_AS, RLIM_INFINITY, 3 * MIB) != 0);
    coex_gc_shutdown();
}
