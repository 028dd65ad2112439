/* Json with many threads, with cycles all the time, and with no memory left. */
#include "json_help.h"

#include <pthread.h>

enum { THREADS = 4 };

static coex_handle shared;

static char *make_document(unsigned rows, uint64_t *bytes)
{
    char *text = malloc(160 * (size_t)rows + 2), *at = text;
    *at++ = '[';
    for (unsigned i = 0; i < rows; i++)
        at += sprintf(at, "{\"id\":%u,\"name\":\"row %u \\u20ac\",\"big\":%" PRIu64 ",\"list\":[%u,1.5,[true,{}],1e300]},", i, i,
                      UINT64_MAX - i, i);
    at[-1] = ']';
    *bytes = (uint64_t)(at - text);
    return text;
}

static void use_shared(unsigned index, void *argument)
{
    const char *expected = argument;
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(3);
    test_rng rng = rng_from(index + 1);
    for (int round = 0; round < unless_hostile(test_is_sanitized() ? 4 : 12, 1); round++) {
        slots[0] = coex_gc_global_load(&shared);
        slots[1] = coex_json_stringify(slots[0], 0);
        expect(slots[1] != 0 && coex_string_len(slots[1]) == strlen(expected));
        expect(memcmp(coex_string_data(slots[1]), expected, strlen(expected)) == 0);
        slots[2] = coex_json_parse_string(slots[1], NULL, NULL);
        expect(coex_json_equal(slots[0], slots[2]) && coex_json_hash(slots[0]) == coex_json_hash(slots[2]));
        for (int i = 0; i < unless_hostile(200, 20); i++) {
            uint64_t row = rng_below(&rng, coex_json_len(slots[0]));
            slots[2] = coex_json_get_at(slots[0], row);
            slots[2] = coex_json_set_text(slots[2], "id", 2, coex_json_int(-1));
            slots[2] = coex_json_set_text(slots[2], "more", 4, slots[0]);
            expect_eq(coex_json_get_text(coex_json_get_at(slots[0], row), "id", 2), coex_json_int((int64_t)row));
            expect_eq(coex_json_get_text(slots[2], "id", 2), coex_json_int(-1));
        }
        if (index == 0) coex_gc_collect();
    }
    coex_gc_leave_frame(slots);
    coex_gc_unregister_thread();
}

TEST_TIMEOUT(threads_use_one_value_while_cycles_run, 120)
{
    coex_gc_config config = default_config();
    config.stress = 7;
    config.verify = !test_is_sanitized();
    start_with(&config);
    uint64_t bytes;
    char *text = make_document(unless_hostile(200, 20), &bytes);
    expect_eq(coex_gc_add_global_root(&shared), COEX_GC_OK);
    coex_handle value = coex_json_parse(text, bytes, NULL);
    expect(value != 0);
    coex_gc_global_store(&shared, value);
    char *expected = json_text_of(coex_gc_global_load(&shared), 0);
    COEX_GC_NATIVE(run_threads(THREADS, use_shared, expected));
    free(expected);
    free(text);
    coex_gc_remove_global_root(&shared);
    coex_gc_shutdown();
}

static void init_with_limit(uint64_t heap)
{
    coex_gc_config config = default_config();
    config.heap_limit = heap;
    config.initial_heap = 1 << 20;
    config.stress_to = HOSTILE_FIRST;
    start_with(&config);
}

TEST_TIMEOUT(without_memory_parsing_says_so_and_nothing_is_lost, 60)
{
    init_with_limit(4 << 20);
    coex_handle *slots = coex_gc_enter_frame(2);
    uint64_t bytes, failed = 0, read = 0;
    coex_json_error error;
    slots[0] = json_of("{\"kept\":[1,2,3]}");
    for (unsigned rows = 1; rows < 60000; rows += rows / 3 + 1) {
        char *text = make_document(rows, &bytes);
        coex_handle value = coex_json_parse(text, bytes, &error);
        if (value == 0) {
            expect_eq(error.status, COEX_STATUS_MEMORY);
            ck_assert_str_eq(error.message, "out of memory");
            expect_eq(coex_last_status(), COEX_STATUS_MEMORY);
            failed++;
        } else {
            expect_eq(coex_json_len(value), rows);
            read++;
        }
        free(text);
    }
    expect(failed != 0 && read != 0);
    coex_gc_collect();
    char *text = json_text_of(slots[0], 0);
    ck_assert_str_eq(text, "{\"kept\":[1,2,3]}");
    free(text);
    coex_gc_shutdown();
}

TEST_TIMEOUT(without_memory_changing_says_so_and_leaves_the_value_as_it_was, 60)
{
    init_with_limit(6 << 20);
    coex_handle *slots = coex_gc_enter_frame(3), made;
    uint64_t entries = 0;
    char name[24];
    slots[0] = coex_json_object();
    slots[1] = coex_json_array(); /* keeps every version, so that memory runs out in the middle of something */
    for (;;) {
        int bytes = snprintf(name, sizeof name, "key %" PRIu64, entries);
        made = coex_json_set_text(slots[0], name, (uint64_t)bytes, coex_json_int((int64_t)entries));
        if (made == 0) break;
        slots[0] = made;
        entries++;
        made = coex_json_append(slots[1], slots[0]);
        if (made == 0) break;
        slots[1] = made;
    }
    expect_eq(coex_last_status(), COEX_STATUS_MEMORY);
    expect_eq(coex_json_len(slots[0]), entries);
    for (uint64_t i = 0; i < entries; i++) {
        int bytes = snprintf(name, sizeof name, "key %" PRIu64, i);
        expect_eq(coex_json_get_text(slots[0], name, (uint64_t)bytes), coex_json_int((int64_t)i));
    }
    slots[1] = 0;
    coex_gc_collect();
    slots[2] = coex_json_set_text(slots[0], "key 0", 5, coex_json_null());
    expect(slots[2] != 0 && coex_json_len(slots[2]) == entries && !coex_json_equal(slots[0], slots[2]));
    slots[2] = coex_json_set_text(slots[2], "key 0", 5, coex_json_int(0));
    expect(coex_json_equal(slots[0], slots[2]));
    coex_gc_shutdown();
}

TEST(a_reader_that_runs_out_of_memory_stays_in_its_error)
{
    init_with_limit(2 << 20);
    coex_handle *slots = coex_gc_enter_frame(1), value = 0;
    slots[0] = coex_json_reader_new(NULL);
    coex_json_event event = COEX_JSON_EVENT_MORE;
    expect(coex_json_reader_feed(slots[0], "[", 1));
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_ARRAY);
    for (int i = 0; i < 1000000 && event == COEX_JSON_EVENT_MORE; i++) {
        if (!coex_json_reader_feed(slots[0], "[\"text of an element\"],", 23)) break;
        event = coex_json_reader_take(slots[0], &value);
    }
    expect_eq(coex_last_status(), COEX_STATUS_MEMORY);
    if (event == COEX_JSON_EVENT_ERROR) expect_eq(coex_json_reader_take(slots[0], &value), COEX_JSON_EVENT_ERROR);
    slots[0] = 0;
    coex_gc_collect();
    expect(json_of("[[1],[2]]") != 0);
    coex_gc_shutdown();
}
