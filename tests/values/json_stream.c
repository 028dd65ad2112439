/* The incremental reader and the streaming writer. */
#include "json_help.h"

#include <math.h>
#include <stdarg.h>
#include <unistd.h>

/* ------------------------------------------------------------------- events */

/* The events of a text as a line of signs, e.g. "{ k v k [ v ] } ." */
static void trace(coex_handle reader, char *out)
{
    static const char signs[] = "!?.vk[]{}";
    for (;;) {
        coex_json_event event = coex_json_reader_next(reader);
        *out++ = signs[event];
        if (event <= COEX_JSON_EVENT_END) break;
    }
    *out = 0;
}

TEST(events_come_in_the_order_of_the_text)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1);
    const char *text = " {\"a\": 1, \"b\": [true, [], {}], \"c\": {\"d\": null}} ";
    char line[64];
    slots[0] = coex_json_reader_new(NULL);
    expect(coex_json_reader_feed(slots[0], text, strlen(text)) && coex_json_reader_finish(slots[0]));
    trace(slots[0], line);
    ck_assert_str_eq(line, "{kvk[v[]{}]k{kv}}.");
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_END);
    expect_eq(coex_json_reader_offset(slots[0]), strlen(text));
    expect(!coex_json_reader_feed(slots[0], "1", 1) && coex_last_status() == COEX_STATUS_STALE);
    coex_gc_shutdown();
}

static void expect_path(coex_handle reader, const char *expected)
{
    coex_handle path = coex_json_reader_path(reader);
    expect(path != 0);
    if (coex_string_len(path) != strlen(expected) || memcmp(coex_string_data(path), expected, strlen(expected)) != 0)
        test_fail(__FILE__, __LINE__, "'%.*s', not '%s'", (int)coex_string_len(path), coex_string_data(path), expected);
}

TEST(every_event_has_its_path_and_depth)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(2);
    const char *text = "{\"a/b\":[10,{\"~\":[[]]},20],\"z\":1}";
    static const struct {
        const char *path;
        uint64_t depth;
    } steps[] = {{"", 1},
                 {"/a~1b", 1},
                 {"/a~1b", 2},
                 {"/a~1b/0", 2},
                 {"/a~1b/1", 3},
                 {"/a~1b/1/~0", 3},
                 {"/a~1b/1/~0", 4},
                 {"/a~1b/1/~0/0", 5},
                 {"/a~1b/1/~0/0", 4},
                 {"/a~1b/1/~0", 3},
                 {"/a~1b/1", 2},
                 {"/a~1b/2", 2},
                 {"/a~1b", 1},
                 {"/z", 1},
                 {"/z", 1},
                 {"", 0}};
    slots[0] = coex_json_reader_new(NULL);
    expect(coex_json_reader_feed(slots[0], text, strlen(text)) && coex_json_reader_finish(slots[0]));
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        expect(coex_json_reader_next(slots[0]) > COEX_JSON_EVENT_END);
        expect_eq(coex_json_reader_depth(slots[0]), steps[i].depth);
        expect_path(slots[0], steps[i].path);
    }
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_END);
    coex_gc_shutdown();
}

TEST(take_gives_scalars_keys_and_whole_containers)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1), value = 0;
    const char *text = "{\"a\":[1,[2,{\"x\":3}]],\"b\":\"s\"}";
    slots[0] = coex_json_reader_new(NULL);
    expect_eq(coex_json_reader_take(slots[0], &value), COEX_JSON_EVENT_MORE);
    expect(coex_json_reader_feed(slots[0], text, strlen(text)) && coex_json_reader_finish(slots[0]));
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_OBJECT);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_KEY);
    expect_eq(coex_json_reader_take(slots[0], &value), COEX_JSON_EVENT_VALUE);
    expect(coex_string_len(value) == 1 && *coex_string_data(value) == 'a');
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_ARRAY);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_VALUE);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_ARRAY);
    expect_eq(coex_json_reader_take(slots[0], &value), COEX_JSON_EVENT_VALUE);
    expect_eq(coex_json_len(value), 2);
    expect_eq(coex_json_pointer_get(value, "/1/x", 4), coex_json_int(3));
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_END_ARRAY);
    expect_eq(coex_json_reader_take(slots[0], &value), COEX_JSON_EVENT_END_ARRAY);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_KEY);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_VALUE);
    expect_eq(coex_json_reader_take(slots[0], &value), COEX_JSON_EVENT_VALUE);
    expect(coex_string_len(value) == 1 && *coex_string_data(value) == 's');
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_END_OBJECT);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_END);
    coex_gc_shutdown();
}

TEST(skip_passes_over_a_container_and_checks_it)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1);
    const char *text = "[[1,[2,\"\\u20ac\"],{\"a\":[]}],5,[1 2]]";
    for (uint64_t piece = 1; piece < 40; piece++) {
        slots[0] = coex_json_reader_new(NULL);
        uint64_t fed = 0;
        int step = 0;
        coex_json_event event;
        do {
            event = step == 0 || step == 1 || step == 3 || step == 4 ? coex_json_reader_next(slots[0])
                                                                     : coex_json_reader_skip(slots[0]);
            if (event == COEX_JSON_EVENT_MORE) {
                uint64_t count = strlen(text) - fed < piece ? strlen(text) - fed : piece;
                expect(count != 0 && coex_json_reader_feed(slots[0], text + fed, count));
                fed += count;
                continue;
            }
            static const coex_json_event expected[] = {COEX_JSON_EVENT_ARRAY, COEX_JSON_EVENT_ARRAY, COEX_JSON_EVENT_END_ARRAY,
                                                       COEX_JSON_EVENT_VALUE, COEX_JSON_EVENT_ARRAY, COEX_JSON_EVENT_ERROR};
            expect_eq(event, expected[step]);
            step++;
        } while (event != COEX_JSON_EVENT_ERROR);
        coex_json_error error;
        coex_json_reader_error(slots[0], &error);
        expect_eq(error.offset, 32);
        expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_ERROR);
        expect_eq(coex_last_status(), COEX_STATUS_TEXT);
    }
    coex_gc_shutdown();
}

TEST(find_goes_to_a_pointer_in_pieces_of_any_size)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1), value = 0;
    const char *text = "{\"skip\":{\"rows\":[0]},\"data\":[{\"rows\":1},{\"rows\":[7,8,9],\"x\":5}],\"rows\":\"top\"}";
    static const struct {
        const char *pointer;
        coex_json_event event;
        const char *taken;
    } cases[] = {{"/data/1/rows", COEX_JSON_EVENT_ARRAY, "[7,8,9]"},
                 {"/rows", COEX_JSON_EVENT_VALUE, "\"top\""},
                 {"/data/1/rows/2", COEX_JSON_EVENT_VALUE, "9"},
                 {"", COEX_JSON_EVENT_OBJECT, NULL},
                 {"/nowhere", COEX_JSON_EVENT_END, NULL},
                 {"/data/2", COEX_JSON_EVENT_END, NULL},
                 {"/rows/x", COEX_JSON_EVENT_END, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (uint64_t piece = 1; piece < 100; piece += piece < 9 ? 1 : 23) {
            slots[0] = coex_json_reader_new(NULL);
            uint64_t fed = 0;
            coex_json_event event;
            bool found = false;
            for (;;) {
                event = found ? coex_json_reader_take(slots[0], &value)
                              : coex_json_reader_find(slots[0], cases[i].pointer, strlen(cases[i].pointer));
                if (event != COEX_JSON_EVENT_MORE) {
                    if (!found) expect_eq(event, cases[i].event);
                    if (found || cases[i].taken == NULL) break;
                    found = true;
                    continue;
                }
                uint64_t count = strlen(text) - fed < piece ? strlen(text) - fed : piece;
                if (count == 0) expect(coex_json_reader_finish(slots[0]));
                expect(count == 0 || coex_json_reader_feed(slots[0], text + fed, count));
                fed += count;
            }
            if (cases[i].taken == NULL) continue;
            coex_handle *kept = coex_gc_enter_frame_with(1, 1, &value);
            char *written = json_text_of(kept[0], 0);
            ck_assert_str_eq(written, cases[i].taken);
            free(written);
            coex_gc_leave_frame(kept);
        }
    }
    slots[0] = coex_json_reader_new(NULL);
    expect_eq(coex_json_reader_find(slots[0], "x", 1), COEX_JSON_EVENT_ERROR);
    expect_eq(coex_last_status(), COEX_STATUS_TEXT);
    coex_gc_shutdown();
}

TEST(a_value_that_is_given_up_halfway_is_passed_over)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1), value = 0;
    slots[0] = coex_json_reader_new(NULL);
    expect(coex_json_reader_feed(slots[0], "[[1,[2", 6));
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_ARRAY);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_ARRAY);
    expect_eq(coex_json_reader_take(slots[0], &value), COEX_JSON_EVENT_MORE);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_MORE);
    expect(coex_json_reader_feed(slots[0], "]],7]", 5) && coex_json_reader_finish(slots[0]));
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_VALUE);
    expect(coex_json_reader_take(slots[0], &value) == COEX_JSON_EVENT_VALUE && value == coex_json_int(7));
    coex_gc_shutdown();
}

TEST(many_values_one_after_the_other_are_read_if_that_is_asked_for)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1), value = 0;
    const char *lines = "{\"a\":1}\n[2]\n3\n\"four\"[5]\n";
    coex_json_options many = {.flags = COEX_JSON_MANY};
    slots[0] = coex_json_reader_new(&many);
    expect(coex_json_reader_feed(slots[0], lines, strlen(lines)) && coex_json_reader_finish(slots[0]));
    int count = 0;
    while (coex_json_reader_next(slots[0]) != COEX_JSON_EVENT_END) {
        expect_eq(coex_json_reader_take(slots[0], &value), COEX_JSON_EVENT_VALUE);
        count++;
    }
    expect_eq(count, 5);
    slots[0] = coex_json_reader_new(&many);
    expect(coex_json_reader_finish(slots[0]));
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_END);
    coex_gc_shutdown();
}

TEST(what_is_no_reader_is_refused)
{
    start_default();
    coex_handle value = 0;
    coex_json_error error;
    coex_handle bad[] = {0, coex_json_int(3), coex_json_array()};
    for (int i = 0; i < 3; i++) {
        expect_eq(coex_json_reader_next(bad[i]), COEX_JSON_EVENT_ERROR);
        expect_eq(coex_last_status(), COEX_STATUS_KIND);
        expect_eq(coex_json_reader_take(bad[i], &value), COEX_JSON_EVENT_ERROR);
        expect_eq(coex_json_reader_skip(bad[i]), COEX_JSON_EVENT_ERROR);
        expect_eq(coex_json_reader_find(bad[i], "", 0), COEX_JSON_EVENT_ERROR);
        expect(!coex_json_reader_feed(bad[i], "1", 1) && !coex_json_reader_finish(bad[i]));
        expect_eq(coex_json_reader_path(bad[i]), 0);
        expect_eq(coex_json_reader_depth(bad[i]), 0);
        coex_json_reader_error(bad[i], &error);
        expect_eq(error.status, COEX_STATUS_KIND);
    }
    expect_eq(coex_json_reader_from(NULL, NULL, NULL), 0);
    expect_eq(coex_json_reader_from_file(NULL, NULL), 0);
    coex_gc_shutdown();
}

/* -------------------------------------------------------------------- sources */

/* A text that nobody ever holds: an array of records, made as it is read. */
struct endless {
    uint64_t row, rows;
    char line[128];
    uint64_t at, bytes;
    uint64_t fail_at;
};

static int64_t endless_read(void *context, char *buffer, uint64_t room)
{
    struct endless *endless = context;
    uint64_t count = 0;
    while (count < room) {
        if (endless->at == endless->bytes) {
            if (endless->row == endless->rows + 1) break;
            if (endless->fail_at != 0 && endless->row == endless->fail_at) return -1;
            endless->at = 0;
            endless->bytes =
                endless->row == endless->rows
                    ? (uint64_t)sprintf(endless->line, "]}")
                    : (uint64_t)sprintf(endless->line,
                                        "%s{\"id\":%" PRIu64 ",\"name\":\"row \\u20ac %" PRIu64 "\",\"tags\":[true,null,1.5]}",
                                        endless->row == 0 ? "{\"rows\":[" : ",\n", endless->row, endless->row);
            endless->row++;
        }
        uint64_t some = endless->bytes - endless->at < room - count ? endless->bytes - endless->at : room - count;
        memcpy(buffer + count, endless->line + endless->at, some);
        endless->at += some;
        count += some;
    }
    return (int64_t)count;
}

TEST_TIMEOUT(a_text_much_larger_than_the_heap_is_read_value_by_value, 120)
{
    coex_gc_config config = default_config();
    config.heap_limit = 32 << 20;
    config.initial_heap = 1 << 20;
    config.stress_to = HOSTILE_FIRST;
    start_with(&config);
    coex_handle *slots = coex_gc_enter_frame(2), row = 0;
    struct endless endless = {.rows = test_is_sanitized() || test_is_checked() ? 200000 : 2000000};
    slots[0] = coex_json_reader_from(endless_read, &endless, NULL);
    expect_eq(coex_json_reader_find(slots[0], "/rows", 5), COEX_JSON_EVENT_ARRAY);
    uint64_t count = 0;
    while (coex_json_reader_next(slots[0]) != COEX_JSON_EVENT_END_ARRAY) {
        expect_eq(coex_json_reader_take(slots[0], &row), COEX_JSON_EVENT_VALUE);
        expect_eq(coex_json_get_text(row, "id", 2), coex_json_int((int64_t)count));
        count++;
    }
    expect_eq(count, endless.rows);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_END_OBJECT);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_END);
    coex_gc_shutdown();
}

/* ---- what a reader keeps ----------------------------------------------------------------------------------------------- */

/* Takes the value of the current event, and expects that nothing but the caller keeps it. */
static void expect_let_go(coex_handle *slots)
{
    expect_eq(coex_json_reader_take(slots[0], &slots[1]), COEX_JSON_EVENT_VALUE);
    slots[2] = coex_gc_weak_new(slots[1]);
    coex_gc_collect();
    expect_eq(coex_gc_weak_get(slots[2]), slots[1]);
    slots[1] = 0;
    coex_gc_collect();
    expect_eq(coex_gc_weak_get(slots[2]), 0);
}

TEST(a_reader_keeps_no_value_that_was_taken)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(3);
    const char *text = "{\"a\":[[1],{\"b\":\"text\"},\"text that is a value of its own\"]}";
    slots[0] = coex_json_reader_new(NULL);
    expect(coex_json_reader_feed(slots[0], text, strlen(text)) && coex_json_reader_finish(slots[0]));
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_OBJECT);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_KEY);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_ARRAY);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_ARRAY);
    expect_let_go(slots);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_OBJECT);
    expect_let_go(slots);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_VALUE);
    expect_let_go(slots);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_END_ARRAY);
    coex_gc_shutdown();
}

TEST(a_value_is_taken_once)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1), value = 0;
    coex_json_error error;
    const char *text = "[[1],2]";
    slots[0] = coex_json_reader_new(NULL);
    expect(coex_json_reader_feed(slots[0], text, strlen(text)) && coex_json_reader_finish(slots[0]));
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_ARRAY);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_ARRAY);
    for (int i = 0; i < 2; i++) { /* a container, then a scalar */
        expect_eq(coex_json_reader_take(slots[0], &value), COEX_JSON_EVENT_VALUE);
        expect_eq(coex_json_reader_take(slots[0], &value), COEX_JSON_EVENT_ERROR);
        expect_eq(coex_last_status(), COEX_STATUS_STALE);
        coex_json_reader_error(slots[0], &error);
        expect_eq(error.status, COEX_STATUS_OK); /* the text is right */
        expect_eq(coex_json_reader_next(slots[0]), i == 0 ? COEX_JSON_EVENT_VALUE : COEX_JSON_EVENT_END_ARRAY);
    }
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_END);
    coex_gc_shutdown();
}

/* Bytes of the heap that are alive beside `slots`. */
static uint64_t bytes_alive(void)
{
    coex_gc_collect();
    coex_gc_collect();
    return stats_now().current_heap_used;
}

/* `count` times `piece`, between `begin` and `end`: fed at once, or in two halves. */
static void feed_large(coex_handle reader, const char *begin, const char *piece, unsigned count, const char *end, bool halves)
{
    size_t room = strlen(begin) + count * strlen(piece) + strlen(end) + 1, half;
    char *text = malloc(room), *at = text;
    expect(text != NULL);
    at += sprintf(at, "%s", begin);
    for (unsigned i = 0; i < count; i++) at += sprintf(at, "%s", piece);
    at += sprintf(at, "%s", end);
    half = halves ? (size_t)(at - text) / 2 : (size_t)(at - text);
    expect(coex_json_reader_feed(reader, text, half));
    if (halves) {
        coex_handle value = 0;
        expect_eq(coex_json_reader_next(reader), COEX_JSON_EVENT_ARRAY);
        expect_eq(coex_json_reader_take(reader, &value), COEX_JSON_EVENT_MORE);
        expect(coex_json_reader_feed(reader, text + half, (size_t)(at - text) - half));
    }
    free(text);
}

enum { SMALL = 5 * 256 * 1024 }; /* bytes that a reader may keep; the texts need megabytes */

TEST_TIMEOUT(a_reader_gives_back_what_a_large_text_needed, 60)
{
    start_quiet();
    coex_json_options options = {.flags = COEX_JSON_MANY, .max_depth = 1000000};
    coex_handle *slots = coex_gc_enter_frame(1), value = 0;
    unsigned count = (unsigned)unless_hostile(400000, 60000);
    slots[0] = coex_json_reader_new(&options);
    uint64_t before = bytes_alive();
    for (unsigned round = 0; round < 2; round++) {
        feed_large(slots[0], "[0", ",12345678", count, "]", round == 1);
        if (round == 0) expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_ARRAY);
        expect_eq(coex_json_reader_take(slots[0], &value), COEX_JSON_EVENT_VALUE);
        expect_eq(coex_json_len(value), count + 1);
        expect(bytes_alive() < before + SMALL);
    }
    feed_large(slots[0], "[", "[", count, "1", false); /* nested deeply */
    do {
    } while (coex_json_reader_next(slots[0]) == COEX_JSON_EVENT_ARRAY);
    feed_large(slots[0], "", "]", count, "]", false);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_VALUE);
    do {
    } while (coex_json_reader_next(slots[0]) == COEX_JSON_EVENT_END_ARRAY);
    expect_eq(coex_json_reader_depth(slots[0]), 0);
    expect(bytes_alive() < before + SMALL);
    feed_large(slots[0], "[0", ",12345678", count, ":", false);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_ARRAY);
    expect_eq(coex_json_reader_take(slots[0], &value), COEX_JSON_EVENT_ERROR);
    expect(bytes_alive() < before + SMALL);
    coex_gc_shutdown();
}

TEST(a_reader_keeps_no_key_of_an_object_that_is_closed)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(3);
    const char *text = "[{\"a key that is much too long to be among those that readers remember\":1}]";
    slots[0] = coex_json_reader_new(NULL);
    expect(coex_json_reader_feed(slots[0], text, strlen(text)) && coex_json_reader_finish(slots[0]));
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_ARRAY);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_OBJECT);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_KEY);
    expect_eq(coex_json_reader_take(slots[0], &slots[1]), COEX_JSON_EVENT_VALUE);
    slots[2] = coex_gc_weak_new(slots[1]);
    slots[1] = 0;
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_VALUE);
    coex_gc_collect();
    expect(coex_gc_weak_get(slots[2]) != 0); /* for the path */
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_END_OBJECT);
    coex_gc_collect();
    expect_eq(coex_gc_weak_get(slots[2]), 0);
    coex_gc_shutdown();
}

TEST(a_source_that_fails_is_an_error_with_its_place)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1);
    struct endless endless = {.rows = 1000, .fail_at = 500};
    coex_json_error error;
    slots[0] = coex_json_reader_from(endless_read, &endless, NULL);
    expect_eq(coex_json_reader_find(slots[0], "/none", 5), COEX_JSON_EVENT_ERROR);
    coex_json_reader_error(slots[0], &error);
    expect_eq(error.status, COEX_STATUS_SYSTEM);
    ck_assert_str_eq(error.message, "reading failed");
    expect(!coex_json_reader_feed(slots[0], "1", 1) && coex_last_status() == COEX_STATUS_KIND);
    expect(!coex_json_reader_finish(slots[0]));
    coex_gc_shutdown();
}

TEST(files_are_written_and_read)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(3);
    struct endless endless = {.rows = unless_hostile(5000, 100)};
    coex_json_error error;
    slots[0] = coex_json_reader_from(endless_read, &endless, NULL);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_OBJECT);
    expect_eq(coex_json_reader_take(slots[0], &slots[1]), COEX_JSON_EVENT_VALUE);
    for (int indent = -1; indent < 4; indent++) {
        FILE *file = tmpfile();
        expect(file != NULL);
        expect(coex_json_write_file(slots[1], file, indent));
        rewind(file);
        slots[2] = coex_json_parse_file(file, NULL, &error);
        if (slots[2] == 0) test_fail(__FILE__, __LINE__, "%s at line %" PRIu64, error.message, error.line);
        expect(coex_json_equal(slots[1], slots[2]));
        fclose(file);
    }
    FILE *full = fopen("/dev/full", "w");
    if (full != NULL) {
        coex_clear_status();
        expect(!coex_json_write_file(slots[1], full, 0));
        expect_eq(coex_last_status(), COEX_STATUS_SYSTEM);
        expect(!coex_json_write_file(coex_json_null(), full, 0));
        expect_eq(coex_last_status(), COEX_STATUS_SYSTEM);
        fclose(full);
    }
    FILE *directory = fopen("/", "r");
    if (directory != NULL) {
        expect_eq(coex_json_parse_file(directory, NULL, &error), 0);
        expect_eq(error.status, COEX_STATUS_SYSTEM);
        fclose(directory);
    }
    coex_gc_shutdown();
}

/* -------------------------------------------------------------------- writer */

static void expect_written(coex_json_writer *writer, const char *expected)
{
    uint64_t count = 0;
    expect(coex_json_writer_finish(writer));
    const char *bytes = coex_json_writer_bytes(writer, &count);
    expect(bytes != NULL);
    if (count != strlen(expected) || memcmp(bytes, expected, count) != 0)
        test_fail(__FILE__, __LINE__, "'%.*s', not '%s'", (int)count, bytes, expected);
}

TEST(the_writer_writes_what_it_is_told)
{
    start_default();
    static const char tabs[] = "{\n\t\"a\": [\n\t\t1,\n\t\t-2,\n\t\t18446744073709551615,\n\t\t0.5,\n\t\ttrue,\n\t\tnull,\n"
                               "\t\t\"x\\n\\\"\\\\\\u0001\"\n\t],\n\t\"b\": {},\n\t\"c\": []\n}";
    static const char plain[] = "{\"a\":[1,-2,18446744073709551615,0.5,true,null,\"x\\n\\\"\\\\\\u0001\"],\"b\":{},\"c\":[]}";
    static const char spaces[] = "{\n \"a\": [\n  1,\n  -2,\n  18446744073709551615,\n  0.5,\n  true,\n  null,\n"
                                 "  \"x\\n\\\"\\\\\\u0001\"\n ],\n \"b\": {},\n \"c\": []\n}";
    static const char *const expected[] = {tabs, plain, spaces};
    for (int indent = -1; indent <= 1; indent++) {
        coex_json_writer *writer = coex_json_writer_new(indent, 0);
        expect(coex_json_write_object(writer) && coex_json_write_key(writer, "a", 1) && coex_json_write_array(writer));
        expect(coex_json_write_int(writer, 1) && coex_json_write_int(writer, -2) && coex_json_write_uint(writer, UINT64_MAX));
        expect(coex_json_write_float(writer, 0.5) && coex_json_write_bool(writer, true) && coex_json_write_null(writer));
        expect(coex_json_write_string(writer, "x\n\"\\\1", 5) && coex_json_write_end(writer));
        expect(coex_json_write_key(writer, "b", 1) && coex_json_write_object(writer) && coex_json_write_end(writer));
        expect(coex_json_write_key(writer, "c", 1) && coex_json_write_value(writer, coex_json_array()) &&
               coex_json_write_end(writer));
        expect_written(writer, expected[indent + 1]);
        /* What it wrote is what stringify makes of it again. */
        coex_handle *slots = coex_gc_enter_frame(1);
        slots[0] = json_of(expected[indent + 1]);
        char *again = json_text_of(slots[0], indent);
        ck_assert_str_eq(again, expected[indent + 1]);
        free(again);
        coex_gc_leave_frame(slots);
        coex_json_writer_destroy(writer);
    }
    coex_gc_shutdown();
}

TEST(what_does_not_fit_is_refused_and_changes_nothing)
{
    start_default();
    coex_json_writer *writer = coex_json_writer_new(0, 0);
    coex_clear_status();
    expect(!coex_json_writer_finish(writer) && !coex_json_write_end(writer) && !coex_json_write_key(writer, "k", 1));
    expect_eq(coex_last_status(), COEX_STATUS_STALE);
    expect(coex_json_write_object(writer));
    expect(!coex_json_write_int(writer, 1) && !coex_json_write_array(writer) && !coex_json_write_value(writer, coex_json_null()));
    expect(!coex_json_write_key(writer, "\xc3", 1) && coex_last_status() == COEX_STATUS_TEXT);
    expect(coex_json_write_key(writer, "k", 1));
    expect(!coex_json_write_key(writer, "l", 1) && !coex_json_write_end(writer));
    expect(!coex_json_write_float(writer, (double)NAN) && !coex_json_write_float(writer, -(double)INFINITY) &&
           coex_last_status() == COEX_STATUS_RANGE);
    expect(!coex_json_write_string(writer, "\xff", 1) && !coex_json_write_value(writer, 0));
    expect(coex_json_write_string(writer, NULL, 0) && coex_json_write_end(writer));
    expect(!coex_json_write_null(writer) && coex_last_status() == COEX_STATUS_STALE);
    expect_written(writer, "{\"k\":\"\"}");
    coex_json_writer_destroy(writer);
    coex_json_writer_destroy(NULL);
    expect(coex_json_writer_new(17, 0) == NULL && coex_json_writer_new(-2, 0) == NULL);
    expect_eq(coex_json_stringify(0, 0), 0);
    expect_eq(coex_json_stringify(coex_json_null(), 99), 0);
    coex_gc_shutdown();
}

TEST(lines_and_ascii_are_written_if_that_is_asked_for)
{
    start_default();
    coex_json_writer *writer = coex_json_writer_new(0, COEX_JSON_LINES | COEX_JSON_ASCII);
    expect(coex_json_write_int(writer, 1) && coex_json_write_array(writer) && coex_json_write_end(writer));
    expect(coex_json_write_string(writer, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f", 10));
    expect_written(writer, "1\n[]\n\"\\u00e9\\u20ac\\ud83d\\ude00\x7f\"\n");
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_json_writer_string(writer);
    expect(coex_string_is_ascii(slots[0]));
    coex_json_writer_destroy(writer);
    coex_gc_shutdown();
}

TEST(a_list_that_holds_what_is_no_json_is_refused)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_list_empty(true);
    slots[0] = coex_list_append(slots[0], 0);
    coex_clear_status();
    expect_eq(coex_json_stringify(slots[0], 0), 0);
    expect_eq(coex_last_status(), COEX_STATUS_KIND);
    slots[0] = coex_list_empty(true);
    slots[0] = coex_list_append(slots[0], COEX_IMMEDIATE(77 * 8));
    expect_eq(coex_json_stringify(slots[0], 0), 0);
    coex_json_writer *writer = coex_json_writer_new(0, 0);
    expect(!coex_json_write_value(writer, slots[0]) && !coex_json_write_null(writer) && coex_last_status() == COEX_STATUS_KIND);
    coex_json_writer_destroy(writer);
    coex_gc_shutdown();
}

struct sink {
    char *text;
    uint64_t bytes, room, limit;
};

static bool sink_write(void *context, const char *bytes, uint64_t count)
{
    struct sink *sink = context;
    if (sink->limit != 0 && sink->bytes + count > sink->limit) return false;
    while (sink->bytes + count > sink->room) sink->text = realloc(sink->text, sink->room = 2 * sink->room + 1024);
    memcpy(sink->text + sink->bytes, bytes, count);
    sink->bytes += count;
    return true;
}

TEST(a_sink_gets_the_text_that_memory_gets)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(2);
    uint64_t long_bytes = 300000;
    char *long_text = malloc(long_bytes);
    for (uint64_t i = 0; i < long_bytes; i += 3) memcpy(long_text + i, i % 5 == 0 ? "\n\"\\" : "\xe2\x82\xac", 3);
    slots[0] = coex_json_array();
    for (int i = 0; i < unless_hostile(3000, 200); i++) {
        slots[1] = i % 1000 == 5 ? coex_json_string(long_text, long_bytes) : coex_json_string(long_text, (uint64_t)(i % 40 * 3));
        slots[0] = coex_json_append(slots[0], slots[1]);
        slots[0] = coex_json_append(slots[0], coex_json_float(i / 7.0));
    }
    for (int indent = 0; indent < 3; indent += 2) {
        struct sink sink = {0};
        char *whole = json_text_of(slots[0], indent);
        coex_json_writer *writer = coex_json_writer_to(sink_write, &sink, indent, 0);
        expect(coex_json_write_value(writer, slots[0]) && coex_json_writer_finish(writer));
        expect_eq(sink.bytes, strlen(whole));
        expect(memcmp(sink.text, whole, sink.bytes) == 0);
        expect(coex_json_writer_bytes(writer, &sink.bytes) == NULL);
        coex_json_writer_destroy(writer);
        sink.bytes = 0;
        sink.limit = 100000;
        writer = coex_json_writer_to(sink_write, &sink, indent, 0);
        coex_clear_status();
        expect(!coex_json_write_value(writer, slots[0]) && coex_last_status() == COEX_STATUS_SYSTEM);
        expect(!coex_json_write_null(writer) && !coex_json_writer_finish(writer) && coex_last_status() == COEX_STATUS_SYSTEM);
        coex_json_writer_destroy(writer);
        free(whole);
        free(sink.text);
    }
    free(long_text);
    coex_gc_shutdown();
}
