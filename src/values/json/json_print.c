/* Whole values as text, without recursion: a stack of containers that are being written, in memory outside of the heap. They
 * need no roots: values are immutable, and the caller keeps the whole rooted. Addresses in the heap are good until the next
 * safepoint, which is at the sink and at the poll every few hundred values: the writer's epoch tells. */
#include "values/json/json_writer.h"

#include "values/list/list_tree.h"
#include "values/number/number.h"
#include "values/string/string.h"

#include "base/os.h"

#include <coex/values/list.h>

enum {
    JSON_POLL = 512,                                          /* values between two polls: some microseconds */
    JSON_RUN = 32,                                            /* numbers that are written at once: what a leaf of a list holds */
    JSON_RUN_ROOM = JSON_RUN * (CX_NUMBER_DOUBLE_MAX + 1) + 2 /* for them, commas between them, and brackets */
};

struct json_open {
    coex_handle container;
    uint64_t cursor, count;
    const uint64_t *chunk; /* the element at `cursor`, and those behind it to `chunk_end`, as of `epoch` */
    uint64_t chunk_end;
    uint64_t epoch;
    bool is_object;
};

struct json_printer {
    coex_json_writer *writer;
    struct json_open *open;
    uint64_t depth, room;
    uint64_t base; /* levels of the writer around the value */
    int64_t left;  /* values to the next poll */
};

static bool json_printer_push(struct json_printer *printer, coex_handle container, bool is_object, uint64_t count)
{
    if (printer->depth == printer->room) {
        uint64_t room = printer->room == 0 ? 32 : printer->room * 2;
        struct json_open *larger = cx_os_allocate(room * sizeof *larger);
        if (larger == NULL) return cx_json_writer_fail(printer->writer, COEX_STATUS_MEMORY);
        if (printer->depth != 0) memcpy(larger, printer->open, printer->depth * sizeof *larger);
        cx_os_free(printer->open);
        printer->open = larger;
        printer->room = room;
    }
    printer->open[printer->depth++] =
        (struct json_open){.container = container, .count = count, .is_object = is_object, .epoch = printer->writer->epoch};
    return true;
}

static bool json_print_char(coex_json_writer *writer, char c)
{
    if (!json_room(writer, 1)) return false;
    writer->buffer[writer->used++] = c;
    return true;
}

/* A string of the heap: its address is asked for again after each safepoint. */
static bool json_print_string(coex_json_writer *writer, coex_handle string, const char *text, uint64_t bytes)
{
    if (bytes <= JSON_TEXT_PIECE) {
        uint64_t epoch = writer->epoch;
        if (!json_room(writer, 6 * bytes + 2)) return false;
        if (writer->epoch != epoch) json_look(string, &text, &bytes);
        writer->buffer[writer->used++] = '"';
        cx_json_put_text(writer, text, bytes);
        writer->buffer[writer->used++] = '"';
        return true;
    }
    if (!json_print_char(writer, '"')) return false;
    for (uint64_t at = 0; at < bytes;) {
        if (!json_room(writer, JSON_TEXT_ROOM)) return false;
        json_look(string, &text, &bytes);
        uint64_t piece = cx_json_piece(text + at, bytes - at);
        cx_json_put_text(writer, text + at, piece);
        at += piece;
    }
    return json_print_char(writer, '"');
}

static bool json_print_immediate(coex_json_writer *writer, coex_handle word)
{
    struct json_scalar number;
    if (!json_room(writer, CX_NUMBER_INT_MAX)) return false;
    if (json_word_is_float(word)) { /* the two that there are most of */
        writer->used += cx_number_format_double(writer->buffer + writer->used, json_word_float(word));
        return true;
    }
    if (json_word_is_int(word)) {
        writer->used += cx_number_format_int64(writer->buffer + writer->used, json_word_int(word));
        return true;
    }
    if (cx_json_number(word, &number)) {
        cx_json_put_number(writer, &number);
        return true;
    }
    const char *text = word == JSON_WORD_NULL ? "null" : word == JSON_WORD_TRUE ? "true" : word == JSON_WORD_FALSE ? "false" : NULL;
    if (text == NULL) return cx_json_writer_fail(writer, COEX_STATUS_KIND);
    uint64_t bytes = text[0] == 'f' ? 5 : 4;
    memcpy(writer->buffer + writer->used, text, bytes);
    writer->used += bytes;
    return true;
}

/* The beginning of a container, or all of an empty one. */
static bool json_print_open(struct json_printer *printer, coex_handle json, bool is_object, uint64_t count)
{
    coex_json_writer *writer = printer->writer;
    if (!json_room(writer, 2)) return false;
    writer->buffer[writer->used++] = is_object ? '{' : '[';
    if (count != 0) return json_printer_push(printer, json, is_object, count);
    writer->buffer[writer->used++] = is_object ? '}' : ']';
    return true;
}

/* The two that there are most of. */
static inline bool json_word_is_number(coex_handle word) { return json_word_is_float(word) || json_word_is_int(word); }

/* The numbers at the beginning of `words`, JSON_RUN at most, for which there is room, with commas between them; returns how many. */
static uint64_t json_print_numbers(coex_json_writer *writer, const uint64_t *words, uint64_t count)
{
    char *out = writer->buffer + writer->used;
    const uint64_t *at = words, *end = words + (count < JSON_RUN ? count : JSON_RUN);
    for (; at < end; at++) {
        if (COEX_LIKELY(json_word_is_float(*at)))
            out += cx_number_format_double(out, json_word_float(*at));
        else if (json_word_is_int(*at))
            out += cx_number_format_int64(out, json_word_int(*at));
        else
            break;
        *out++ = ',';
    }
    writer->used = (uint64_t)(out - writer->buffer) - (at != words); /* without the last comma */
    return (uint64_t)(at - words);
}

/* The words of a list that is not empty, from its beginning on, until the next safepoint. */
static const uint64_t *json_first_elements(coex_handle json, const struct cx_list *list, uint64_t *count)
{
    if (cx_list_in_tree(list->shape) != 0) return coex_list_chunk(json, 0, count);
    *count = list->count;
    return list->tail;
}

/* An array with the numbers that it begins with: all of a short one. */
static bool json_print_array(struct json_printer *printer, coex_handle json)
{
    coex_json_writer *writer = printer->writer;
    if (!json_room(writer, JSON_RUN_ROOM)) return false;
    const struct cx_list *list = coex_gc_handle_deref(json);
    uint64_t count = list->count, run = 0;
    if (writer->indent != 0 || count == 0) return json_print_open(printer, json, false, count);
    const uint64_t *words = json_first_elements(json, list, &run);
    writer->buffer[writer->used++] = '[';
    uint64_t done = json_print_numbers(writer, words, run);
    printer->left -= (int64_t)done;
    if (done == count) {
        writer->buffer[writer->used++] = ']';
        return true;
    }
    if (!json_printer_push(printer, json, false, count)) return false;
    struct json_open *open = &printer->open[printer->depth - 1];
    open->cursor = done;
    open->chunk = words + done;
    open->chunk_end = run;
    return true;
}

static bool json_print_value(struct json_printer *printer, coex_handle json)
{
    const char *text;
    uint64_t count;
    if (coex_is_immediate(json)) return json_print_immediate(printer->writer, json);
    if (cx_value_as(json, CX_TYPE_list_refs) != NULL) return json_print_array(printer, json);
    if (json_look(json, &text, &count)) return json_print_string(printer->writer, json, text, count);
    switch (coex_json_kind_of(json)) {
    case COEX_JSON_OBJECT:
        return cx_json_object_count(json, &count) && json_print_open(printer, json, true, count);
    case COEX_JSON_NONE:
        return cx_json_writer_fail(printer->writer, COEX_STATUS_KIND);
    default:
        return json_print_immediate(printer->writer, json); /* a number in an object */
    }
}

/* The words of an array from the cursor on, to `chunk_end`. */
static const uint64_t *json_next_elements(const coex_json_writer *writer, struct json_open *open)
{
    if (open->cursor == open->chunk_end || open->epoch != writer->epoch) {
        uint64_t count = 0;
        open->chunk = coex_list_chunk(open->container, open->cursor, &count);
        open->chunk_end = open->cursor + count;
        open->epoch = writer->epoch;
    }
    return open->chunk;
}

static void json_pass_elements(struct json_open *open, uint64_t count)
{
    open->cursor += count;
    open->chunk += count;
}

/* Writes numbers of the innermost container, an array; or what comes before its next value, if that is none: *value. */
static bool json_print_elements(struct json_printer *printer, struct json_open *open, coex_handle *value)
{
    coex_json_writer *writer = printer->writer;
    bool first = open->cursor == 0;
    if (!json_room(writer, JSON_RUN_ROOM)) return false;
    const uint64_t *words = json_next_elements(writer, open);
    if (!first) writer->buffer[writer->used++] = ',';
    if (json_word_is_number(*words) && writer->indent == 0) {
        uint64_t done = json_print_numbers(writer, words, open->chunk_end - open->cursor);
        json_pass_elements(open, done);
        printer->left -= (int64_t)done;
        return true;
    }
    if (writer->indent != 0) {
        if (!cx_json_new_line(writer, printer->base + printer->depth)) return false;
        words = json_next_elements(writer, open);
    }
    *value = *words;
    json_pass_elements(open, 1);
    return *value != 0 || cx_json_writer_fail(writer, COEX_STATUS_KIND);
}

/* Writes what comes before the next value of the innermost container: *value is that value, or 0 with nothing more to write for it, or
 * the container closed. */
static bool json_print_next(struct json_printer *printer, coex_handle *value)
{
    coex_json_writer *writer = printer->writer;
    struct json_open *open = &printer->open[printer->depth - 1];
    coex_handle key = 0;
    const char *text = NULL;
    uint64_t bytes = 0;
    *value = 0;
    bool first = open->cursor == 0;
    bool more = open->is_object ? cx_json_object_next(open->container, &open->cursor, &key, value) : open->cursor < open->count;
    if (!more) {
        printer->depth--;
        return cx_json_new_line(writer, printer->base + printer->depth) && json_print_char(writer, open->is_object ? '}' : ']');
    }
    if (!open->is_object) return json_print_elements(printer, open, value);
    if (!first && !json_print_char(writer, ',')) return false;
    if (writer->indent != 0 && !cx_json_new_line(writer, printer->base + printer->depth)) return false;
    json_look(key, &text, &bytes);
    if (!json_print_string(writer, key, text, bytes) || !json_print_char(writer, ':')) return false;
    return writer->indent == 0 || json_print_char(writer, ' ');
}

static bool json_print(struct json_printer *printer, coex_handle value)
{
    if (!json_print_value(printer, value)) return false;
    while (printer->depth != 0) {
        if (--printer->left <= 0) {
            coex_gc_safepoint();
            printer->writer->epoch++;
            printer->left = JSON_POLL;
        }
        if (!json_print_next(printer, &value) || (value != 0 && !json_print_value(printer, value))) return false;
    }
    return true;
}

bool coex_json_write_value(coex_json_writer *writer, coex_handle json)
{
    struct json_printer printer = {.writer = writer, .base = writer->depth, .left = JSON_POLL};
    if (!json_is_json(json)) return cx_fail_false(COEX_STATUS_KIND);
    if (!cx_json_before_value(writer)) return false;
    bool done = json_print(&printer, json);
    cx_os_free(printer.open);
    return done && cx_json_after_value(writer);
}

coex_handle coex_json_stringify(coex_handle json, int indent)
{
    coex_json_writer *writer = coex_json_writer_new(indent, 0);
    if (writer == NULL) return 0;
    coex_handle text = coex_json_write_value(writer, json) ? coex_json_writer_string(writer) : 0;
    coex_json_writer_destroy(writer);
    return text;
}

bool coex_json_write_file(coex_handle json, FILE *file, int indent)
{
    coex_json_writer *writer = coex_json_writer_to_file(file, indent, 0);
    bool done = writer != NULL && coex_json_write_value(writer, json) && coex_json_writer_finish(writer);
    coex_json_writer_destroy(writer);
    return done;
}
