/* The incremental reader: windows of text, and the public functions. Entered by the thread that has the reader.
 *
 * A window is the caller's text, or lies in `input`, bytes that never move. What is read is dropped from the front of it when
 * more comes: what is left is moved down only if there is no room behind, and the room doubles, so that every byte is moved a
 * few times at most. */
#include "values/json/json_reader.h"

#include "values/json/json_pointer.h"
#include "values/string/string.h"

#include "base/os.h"

enum { JSON_PIECE = 64 * 1024 }; /* read at once from a source; more does not make it quicker */

static struct json_reader *json_reader_as(coex_handle handle)
{
    struct json_reader *reader = cx_value_as(handle, CX_TYPE_json_reader);
    if (reader == NULL) cx_fail(COEX_STATUS_KIND);
    return reader;
}

/* ---------------------------------------------------------------- windows */

/* Forgets the text before reader->at. */
static void json_drop_read(struct json_reader *reader)
{
    cx_json_advance(reader, reader->begin, (uint64_t)(reader->at - reader->begin));
    reader->begin = reader->at;
}

/* Room for `count` bytes behind the window. */
static bool json_make_room(coex_handle self, struct json_reader *reader, uint64_t count)
{
    uint64_t room = reader->own ? reader->input_room : 0, held;
    char *input = coex_gc_handle_deref(reader->input);
    json_drop_read(reader);
    held = (uint64_t)(reader->end - reader->begin);
    if (count > (uint64_t)1 << 62 || held > (uint64_t)1 << 62) return cx_fail_false(COEX_STATUS_SIZE);
    if (reader->own && (uint64_t)(reader->end - input) + count <= room) return true;
    if (!reader->own || 2 * held + count > room) { /* so that what is moved is less than what came in since */
        uint64_t larger = 2 * (held + count) > 512 ? 2 * (held + count) : 512;
        void *payload;
        coex_handle grown = coex_gc_alloc_at(larger, cx_values.id[CX_TYPE_json_bytes], &payload);
        if (grown == 0) return cx_fail_false(COEX_STATUS_MEMORY);
        input = payload;
        if (held != 0) memcpy(input, reader->begin, held);
        coex_gc_store(self, JSON_REF(input), grown);
        reader->input_room = larger;
        reader->own = true;
    } else if (held != 0) {
        memmove(input, reader->begin, held);
    }
    reader->begin = reader->at = input;
    reader->end = input + held;
    return true;
}

/* Gives back an input that is large beside what is left to read of it. If there is no memory for a smaller one, it stays. */
static void json_trim_input(coex_handle self, struct json_reader *reader)
{
    uint64_t held = (uint64_t)(reader->end - reader->at);
    if (reader->input_room <= JSON_INPUT_KEPT || held > reader->input_room / 8 || !reader->own) return;
    coex_status before = coex_last_status();
    void *payload = NULL;
    coex_handle smaller = held != 0 ? coex_gc_alloc_at(2 * held, cx_values.id[CX_TYPE_json_bytes], &payload) : 0;
    if (held != 0 && smaller == 0) {
        cx_fail(before);
        return;
    }
    json_drop_read(reader);
    if (held != 0) memcpy(payload, reader->begin, held);
    coex_gc_store(self, JSON_REF(input), smaller);
    reader->input_room = 2 * held;
    reader->own = held != 0;
    reader->begin = reader->at = held != 0 ? payload : "";
    reader->end = reader->begin + held;
}

/* Gives back what only a text that is nested deeply needs. */
static void json_trim_levels(coex_handle self, struct json_reader *reader)
{
    if (reader->depth != 0 || reader->level_room <= JSON_LEVELS_KEPT) return;
    coex_gc_store(self, JSON_REF(levels), 0);
    coex_gc_store(self, JSON_REF(names), 0);
    reader->level_room = 0;
}

static int64_t json_read_file(void *context, char *buffer, uint64_t room)
{
    FILE *file = context;
    size_t count = fread(buffer, 1, room, file);
    return count == 0 && ferror(file) ? -1 : (int64_t)count;
}

/* What the source writes to `input`, behind the window. Native code may write there while it is pinned. */
static int64_t json_read_source(struct json_reader *reader)
{
    coex_json_source source = reader->source;
    void *context = reader->context;
    coex_handle input = reader->input;
    uint64_t held = (uint64_t)(reader->end - (const char *)coex_gc_handle_deref(input));
    char *to = coex_gc_pin(input);
    int64_t count;
    if (to == NULL) return -1;
    COEX_GC_NATIVE(count = source(context, to + held, JSON_PIECE));
    coex_gc_unpin(input);
    return count <= JSON_PIECE ? count : -1;
}

/* More text from the source. */
static coex_json_event json_refill(coex_handle self, struct json_reader *reader)
{
    if (!json_make_room(self, reader, JSON_PIECE))
        return cx_json_error(reader, reader->at, coex_last_status(), NULL, "out of memory");
    int64_t count = json_read_source(reader);
    if (count < 0) return cx_json_error(reader, reader->end, COEX_STATUS_SYSTEM, NULL, "reading failed");
    reader->end += count;
    if (count == 0) reader->last = reader->finished = true;
    return COEX_JSON_EVENT_MORE;
}

/* Runs until there is an event that is not MORE, or nothing to read. */
static coex_json_event json_advance(coex_handle self, struct json_reader *reader, enum json_mode mode)
{
    coex_json_event event = COEX_JSON_EVENT_ERROR;
    if (reader->event == COEX_JSON_EVENT_ERROR) {
        cx_fail(reader->error.status);
        return event;
    }
    do {
        event = cx_json_run(self, reader, mode);
        if (event != COEX_JSON_EVENT_MORE || reader->source == NULL) return event;
        event = json_refill(self, reader);
    } while (event == COEX_JSON_EVENT_MORE);
    return event;
}

/* ------------------------------------------------------------------ making */

coex_handle coex_json_reader_new(const coex_json_options *options) { return cx_json_reader_make(options); }

coex_handle coex_json_reader_from(coex_json_source source, void *context, const coex_json_options *options)
{
    if (source == NULL) return cx_fail(COEX_STATUS_KIND);
    coex_handle handle = cx_json_reader_make(options);
    struct json_reader *reader = coex_gc_handle_deref(handle);
    if (reader == NULL) return 0;
    reader->source = source;
    reader->context = context;
    return handle;
}

coex_handle coex_json_reader_from_file(FILE *file, const coex_json_options *options)
{
    return file != NULL ? coex_json_reader_from(json_read_file, file, options) : cx_fail(COEX_STATUS_KIND);
}

bool coex_json_reader_feed(coex_handle handle, const char *bytes, uint64_t count)
{
    struct json_reader *reader = json_reader_as(handle);
    if (reader == NULL) return false;
    if (reader->source != NULL || (bytes == NULL && count != 0)) return cx_fail_false(COEX_STATUS_KIND);
    if (reader->finished) return cx_fail_false(COEX_STATUS_STALE);
    if (reader->event == COEX_JSON_EVENT_ERROR || count == 0) return true; /* the error is told by the next call */
    if (!json_make_room(handle, reader, count)) return false;
    char *input = coex_gc_handle_deref(reader->input);
    memcpy(input + (reader->end - input), bytes, count);
    reader->end += count;
    return true;
}

bool coex_json_reader_finish(coex_handle handle)
{
    struct json_reader *reader = json_reader_as(handle);
    if (reader == NULL) return false;
    if (reader->source != NULL) return cx_fail_false(COEX_STATUS_KIND);
    reader->last = reader->finished = true;
    return true;
}

/* ----------------------------------------------------------------- events */

/* What every function gives back; MORE leaves the event as it was. A safepoint. */
static coex_json_event json_give(coex_handle self, struct json_reader *reader, coex_json_event event)
{
    if (event != COEX_JSON_EVENT_MORE) reader->event = event;
    if (event == COEX_JSON_EVENT_ERROR || event == COEX_JSON_EVENT_END) cx_json_clear(self, reader);
    if (event != COEX_JSON_EVENT_VALUE && event != COEX_JSON_EVENT_KEY && event != COEX_JSON_EVENT_MORE)
        coex_gc_store(self, JSON_REF(value), 0);
    json_trim_input(self, reader);
    json_trim_levels(self, reader);
    return event;
}

/* Hands out the value of the current event, which the reader does not keep. */
static coex_json_event json_hand_out(coex_handle self, struct json_reader *reader, coex_handle *value)
{
    if (reader->value == 0) {
        cx_fail(COEX_STATUS_STALE);
        return COEX_JSON_EVENT_ERROR;
    }
    *value = reader->value;
    coex_gc_store(self, JSON_REF(value), 0);
    return COEX_JSON_EVENT_VALUE;
}

/* Goes on with what MORE interrupted: the rest of what is passed over comes before the next event. */
static coex_json_event json_go_on(coex_handle self, struct json_reader *reader)
{
    coex_json_event event;
    if (!reader->skipping) return COEX_JSON_EVENT_VALUE;
    event = json_advance(self, reader, JSON_MAKE_NOTHING);
    if (event != COEX_JSON_EVENT_MORE) reader->skipping = false;
    return json_give(self, reader, event);
}

coex_json_event coex_json_reader_next(coex_handle handle)
{
    struct json_reader *reader = json_reader_as(handle);
    if (reader == NULL) return COEX_JSON_EVENT_ERROR;
    if (reader->taking) { /* its value is not wanted any more: the rest is passed over */
        reader->taking = false;
        reader->skipping = true;
        cx_json_clear(handle, reader);
    }
    coex_json_event event = json_go_on(handle, reader);
    if (event == COEX_JSON_EVENT_MORE || event == COEX_JSON_EVENT_ERROR) return event;
    return json_give(handle, reader, json_advance(handle, reader, JSON_MAKE_EVENTS));
}

coex_json_event coex_json_reader_event(coex_handle handle)
{
    struct json_reader *reader = json_reader_as(handle);
    return reader != NULL ? (coex_json_event)reader->event : COEX_JSON_EVENT_ERROR;
}

static bool json_begins(uint32_t event) { return event == COEX_JSON_EVENT_ARRAY || event == COEX_JSON_EVENT_OBJECT; }

/* The container that the last event began becomes one that is made. */
static void json_start_taking(struct json_reader *reader)
{
    struct json_level *level = (struct json_level *)coex_gc_handle_deref(reader->levels) + (reader->depth - 1);
    level->base = reader->top = 0;
    level->node = 0;
    reader->take_depth = reader->depth - 1;
    reader->taking = true;
}

coex_json_event coex_json_reader_take(coex_handle handle, coex_handle *value)
{
    struct json_reader *reader = json_reader_as(handle);
    if (reader == NULL) return COEX_JSON_EVENT_ERROR;
    if (reader->skipping) return json_go_on(handle, reader);
    if (reader->event == COEX_JSON_EVENT_ERROR) cx_fail(reader->error.status);
    if (!reader->taking && !json_begins(reader->event)) {
        if (reader->event != COEX_JSON_EVENT_VALUE && reader->event != COEX_JSON_EVENT_KEY) return (coex_json_event)reader->event;
        return json_hand_out(handle, reader, value);
    }
    if (!reader->taking) json_start_taking(reader);
    coex_json_event event = json_advance(handle, reader, JSON_MAKE_VALUES);
    if (event == COEX_JSON_EVENT_MORE) return json_give(handle, reader, event);
    reader->taking = false;
    cx_json_clear(handle, reader);
    event = json_give(handle, reader, event);
    return event == COEX_JSON_EVENT_VALUE ? json_hand_out(handle, reader, value) : event;
}

coex_json_event coex_json_reader_skip(coex_handle handle)
{
    struct json_reader *reader = json_reader_as(handle);
    if (reader == NULL) return COEX_JSON_EVENT_ERROR;
    if (reader->event == COEX_JSON_EVENT_ERROR) cx_fail(reader->error.status);
    if (!reader->skipping && !reader->taking && !json_begins(reader->event)) return (coex_json_event)reader->event;
    if (!reader->skipping && !reader->taking) reader->take_depth = reader->depth - 1;
    reader->taking = false;
    reader->skipping = true;
    cx_json_clear(handle, reader);
    return json_go_on(handle, reader);
}

/* --------------------------------------------------------------- the path */

/* How many containers are around the value of the current event. */
static uint64_t json_around(const struct json_reader *reader) { return reader->depth - json_begins(reader->event); }

/* Is the way to it the beginning of the pointer, or (*whole) all of it? */
static bool json_on_the_way(const struct json_reader *reader, const char *pointer, uint64_t bytes, bool *whole)
{
    const struct json_level *levels = coex_gc_handle_deref(reader->levels);
    struct json_part part;
    const char *at = pointer, *end = pointer + bytes;
    for (uint64_t i = 0; i < json_around(reader); i++) {
        uint64_t index;
        if (!cx_json_part_next(&at, end, &part)) return false;
        if (!levels[i].is_object) {
            if (!cx_json_part_index(&part, &index) || index + 1 != levels[i].base) return false;
        } else {
            struct json_text name = {"", 0, 0};
            json_text_of(coex_gc_load(reader->names, i * 8), &name);
            if (!cx_json_part_is(&part, name.text, name.bytes)) return false;
        }
    }
    *whole = at == end;
    return true;
}

coex_json_event coex_json_reader_find(coex_handle handle, const char *pointer, uint64_t bytes)
{
    struct json_reader *reader = json_reader_as(handle);
    if (reader == NULL) return COEX_JSON_EVENT_ERROR;
    if (!cx_json_pointer_check(pointer, bytes)) return (coex_json_event)cx_fail(COEX_STATUS_TEXT);
    for (;;) {
        bool whole = false;
        coex_json_event event = coex_json_reader_next(handle);
        if (event < COEX_JSON_EVENT_VALUE) return event; /* ERROR, MORE, END */
        if (event != COEX_JSON_EVENT_VALUE && !json_begins(event)) continue;
        bool on_the_way = json_on_the_way(reader, pointer, bytes, &whole);
        if (on_the_way && whole) return event;
        if (!on_the_way && json_begins(event)) {
            event = coex_json_reader_skip(handle);
            if (event <= COEX_JSON_EVENT_MORE) return event;
        }
    }
}

/* The bytes of the path's next step, written if `out` is not NULL. */
static uint64_t json_path_step(const struct json_reader *reader, uint64_t level, char *out)
{
    const struct json_level *levels = coex_gc_handle_deref(reader->levels);
    char digits[CX_NUMBER_INT_MAX];
    if (!levels[level].is_object) {
        unsigned count = cx_number_format_uint64(digits, levels[level].base - 1);
        if (out != NULL) memcpy(out + 1, digits, count);
        if (out != NULL) *out = '/';
        return count + 1u;
    }
    struct json_text name = {"", 0, 0};
    json_text_of(coex_gc_load(reader->names, level * 8), &name);
    if (out != NULL) *out++ = '/';
    return 1 + cx_json_part_write(out, name.text, name.bytes);
}

coex_handle coex_json_reader_path(coex_handle handle)
{
    const struct json_reader *reader = json_reader_as(handle);
    if (reader == NULL) return 0;
    uint64_t around = json_around(reader), bytes = 0, at = 0;
    char *text;
    for (uint64_t i = 0; i < around; i++) bytes += json_path_step(reader, i, NULL);
    coex_handle path = cx_string_alloc(bytes, false, &text);
    for (uint64_t i = 0; path != 0 && i < around; i++) at += json_path_step(reader, i, text + at);
    return path;
}

uint64_t coex_json_reader_depth(coex_handle handle)
{
    const struct json_reader *reader = json_reader_as(handle);
    return reader != NULL ? reader->depth : 0;
}

uint64_t coex_json_reader_offset(coex_handle handle)
{
    const struct json_reader *reader = json_reader_as(handle);
    return reader != NULL ? reader->offset + (uint64_t)(reader->at - reader->begin) : 0;
}

void coex_json_reader_error(coex_handle handle, coex_json_error *error)
{
    const struct json_reader *reader = json_reader_as(handle);
    *error = reader != NULL ? reader->error : (coex_json_error){.status = COEX_STATUS_KIND, .message = "not a reader"};
}

/* ------------------------------------------------------------- whole texts */

/* The one value of the text that the machine reads, which is rooted. */
static coex_handle json_parse(coex_handle self, coex_json_error *error)
{
    struct json_reader *reader = coex_gc_handle_deref(self);
    reader->flags &= ~(uint32_t)COEX_JSON_MANY;
    coex_json_event event = json_advance(self, reader, JSON_MAKE_VALUES);
    coex_handle value = 0;
    if (event == COEX_JSON_EVENT_VALUE) {
        value = reader->value;
        event = json_advance(self, reader, JSON_MAKE_NOTHING); /* nothing may follow; the machine holds the value meanwhile */
    }
    if (error != NULL) *error = reader->error;
    return event == COEX_JSON_EVENT_END ? value : 0;
}

static void json_no_memory(coex_json_error *error)
{
    if (error != NULL) *error = (coex_json_error){.status = coex_last_status(), .line = 1, .column = 1, .message = "out of memory"};
}

coex_handle coex_json_parse_with(const char *text, uint64_t bytes, const coex_json_options *options, coex_json_error *error)
{
    coex_handle *slots = coex_gc_enter_frame(1), value = 0;
    slots[0] = cx_json_reader_make(options);
    struct json_reader *reader = coex_gc_handle_deref(slots[0]);
    if (reader != NULL) {
        reader->begin = reader->at = bytes != 0 ? text : "";
        reader->end = reader->begin + bytes;
        reader->last = reader->finished = true;
        value = json_parse(slots[0], error);
    } else {
        json_no_memory(error);
    }
    coex_gc_leave_frame(slots);
    return value;
}

coex_handle coex_json_parse(const char *text, uint64_t bytes, coex_json_error *error)
{
    return coex_json_parse_with(text, bytes, NULL, error);
}

/* A reader with a source, made a moment ago. */
static coex_handle json_parse_reader(coex_handle made, coex_json_error *error)
{
    if (made == 0) {
        json_no_memory(error);
        return 0;
    }
    coex_handle *slots = coex_gc_enter_frame_with(1, 1, &made);
    coex_handle value = json_parse(made, error);
    coex_gc_leave_frame(slots);
    return value;
}

coex_handle coex_json_parse_file(FILE *file, const coex_json_options *options, coex_json_error *error)
{
    return json_parse_reader(coex_json_reader_from_file(file, options), error);
}

/* The text may move while values are made of it: so it is copied. */
coex_handle coex_json_parse_string(coex_handle text, const coex_json_options *options, coex_json_error *error)
{
    if (coex_kind_of(text) != COEX_KIND_STRING) {
        if (error != NULL) *error = (coex_json_error){.status = COEX_STATUS_KIND, .message = "not a string"};
        return cx_fail(COEX_STATUS_KIND);
    }
    uint64_t bytes = coex_string_len(text);
    char *copy = cx_os_allocate(bytes + 1);
    if (copy == NULL) {
        cx_fail_memory();
        json_no_memory(error);
        return 0;
    }
    coex_string_copy(text, 0, copy, bytes);
    coex_handle value = coex_json_parse_with(copy, bytes, options, error);
    cx_os_free(copy);
    return value;
}
