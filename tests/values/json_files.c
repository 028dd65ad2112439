/* Json and files: a writer that streams to one, a reader that streams from one, both in a heap that is far too small for the whole; what a
 * disk refuses; and entries that are taken out by keys that are strings. */
#include "json_help.h"

enum { ROW_BYTES = 60 }; /* at least */

/* An array of `rows` objects, one after the other. */
static void write_rows(FILE *file, uint64_t rows)
{
    char name[64];
    coex_json_writer *writer = coex_json_writer_to_file(file, 1, 0);
    expect(writer != NULL && coex_json_write_array(writer));
    for (uint64_t i = 0; i < rows; i++) {
        int length = snprintf(name, sizeof name, "row \xe2\x82\xac number %" PRIu64, i);
        expect(coex_json_write_object(writer) && coex_json_write_key(writer, "id", 2) && coex_json_write_uint(writer, i));
        expect(coex_json_write_key(writer, "name", 4) && coex_json_write_string(writer, name, (uint64_t)length));
        expect(coex_json_write_key(writer, "half", 4) && coex_json_write_float(writer, (double)i / 2));
        expect(coex_json_write_end(writer));
    }
    expect(coex_json_write_end(writer) && coex_json_writer_finish(writer));
    expect(coex_json_writer_bytes(writer, &rows) == NULL && coex_last_status() == COEX_STATUS_KIND); /* it is in the file */
    coex_json_writer_destroy(writer);
}

TEST_TIMEOUT(a_file_many_times_larger_than_the_heap_is_written_and_read, 120)
{
    const uint64_t limit = 4 * MIB, rows = test_is_sanitized() || test_is_checked() ? 200000 : 1000000;
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    config.heap_limit = limit;
    config.stress_to = HOSTILE_FIRST;
    start_with(&config);
    FILE *file = tmpfile();
    expect(file != NULL);
    write_rows(file, rows);
    expect(ftell(file) > (long)(rows * ROW_BYTES) && (uint64_t)ftell(file) > 2 * limit);
    uint64_t bytes = (uint64_t)ftell(file);
    rewind(file);
    coex_handle *slots = coex_gc_enter_frame(2), row = 0;
    slots[0] = coex_json_reader_from_file(file, NULL);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_ARRAY);
    for (uint64_t i = 0, id = 0; i < rows; i++) {
        double half = -1;
        expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_OBJECT);
        expect_eq(coex_json_reader_take(slots[0], &row), COEX_JSON_EVENT_VALUE);
        expect(coex_json_to_uint(coex_json_get_text(row, "id", 2), &id) && id == i);
        expect(coex_json_to_float(coex_json_get_text(row, "half", 4), &half) && half == (double)i / 2);
        if (i % 10000 == 0) expect(stats_now().current_heap_used <= limit);
    }
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_END_ARRAY);
    expect_eq(coex_json_reader_next(slots[0]), COEX_JSON_EVENT_END);
    expect_eq(coex_json_reader_offset(slots[0]), bytes);
    rewind(file);
    slots[1] = coex_json_parse_file(file, NULL, NULL); /* the whole does not fit, and says so */
    expect(slots[1] == 0 && coex_last_status() == COEX_STATUS_MEMORY);
    fclose(file);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(a_disk_that_is_full_is_found_when_the_writer_finishes)
{
    start_default();
    FILE *full = fopen("/dev/full", "w");
    if (full != NULL) { /* where there is such a thing */
        coex_json_writer *writer = coex_json_writer_to_file(full, 0, 0);
        expect(coex_json_write_null(writer)); /* still in memory */
        coex_clear_status();
        expect(!coex_json_writer_finish(writer) && coex_last_status() == COEX_STATUS_SYSTEM);
        coex_clear_status();
        expect(!coex_json_writer_finish(writer) && coex_last_status() == COEX_STATUS_SYSTEM); /* for good */
        coex_json_writer_destroy(writer);
        fclose(full);
    }
    coex_clear_status();
    expect(coex_json_writer_to_file(NULL, 0, 0) == NULL && coex_last_status() == COEX_STATUS_KIND);
    expect(coex_json_writer_to_file(stdout, 17, 0) == NULL && coex_last_status() == COEX_STATUS_RANGE);
    coex_json_writer_destroy(NULL);
    coex_gc_shutdown();
}

TEST(entries_are_taken_out_by_a_key_of_the_same_text)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(4);
    for (unsigned count = 1; count <= 80; count += 79 / 4) { /* of every form: scanned, indexed, large */
        slots[0] = coex_json_object();
        for (unsigned i = 0; i < count; i++) {
            slots[1] = coex_string_from_int(i);
            slots[0] = coex_json_set(slots[0], slots[1], coex_json_int(i));
        }
        slots[1] = coex_string_from_int(count / 2); /* another string */
        slots[2] = coex_json_remove(slots[0], slots[1]);
        expect(coex_json_len(slots[2]) == count - 1 && !coex_json_has(slots[2], slots[1]) && coex_json_has(slots[0], slots[1]));
        coex_clear_status();
        expect(coex_json_remove(slots[2], slots[1]) == 0 && coex_last_status() == COEX_STATUS_MISSING);
        slots[3] = coex_json_set(slots[2], slots[1], coex_json_int(count / 2)); /* at the end now, and equal all the same */
        expect(coex_json_equal(slots[3], slots[0]) && coex_json_hash(slots[3]) == coex_json_hash(slots[0]));
    }
    coex_clear_status();
    expect(coex_json_remove(slots[0], coex_json_int(1)) == 0 && coex_last_status() == COEX_STATUS_KIND); /* no key */
    coex_clear_status();
    expect(coex_json_remove(slots[1], slots[1]) == 0 && coex_last_status() == COEX_STATUS_KIND); /* no object */
    coex_clear_status();
    expect(coex_json_remove(0, slots[1]) == 0 && coex_last_status() == COEX_STATUS_KIND);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}
