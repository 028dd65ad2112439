/* The streaming writer: see json_writer.h. json_print.c writes whole values with it. */
#include "values/json/json_writer.h"

#include "values/json/json_scan.h"
#include "values/number/number.h"
#include "values/string/string.h"

#include "base/os.h"

#include <stdio.h>

#define JSON_RESERVE ((uint64_t)64 << 30) /* addresses for a large buffer; one that needs more moves again */

/* ---------------------------------------------------------------- the buffer */

bool cx_json_writer_fail(coex_json_writer *writer, coex_status status)
{
    if (writer->failed == COEX_STATUS_OK) writer->failed = status;
    return cx_fail_false(writer->failed);
}

/* Hands all that is there to the sink. A safepoint. */
static bool json_flush(coex_json_writer *writer)
{
    bool taken = true;
    if (writer->used == 0) return true;
    COEX_GC_NATIVE(taken = writer->sink(writer->context, writer->buffer, writer->used));
    writer->epoch++;
    writer->used = 0;
    return taken || cx_json_writer_fail(writer, COEX_STATUS_SYSTEM);
}

static void json_free_buffer(coex_json_writer *writer)
{
    if (writer->pages.base == NULL)
        cx_os_free(writer->buffer);
    else
        cx_range_release(&writer->pages);
}

/* Moves the buffer into pages of its own, with addresses to grow into. First touches of small pages would take a good part of the time
 * that it takes to write the text. */
static bool json_move_to_pages(coex_json_writer *writer, uint64_t room)
{
    cx_range pages;
    if (!cx_range_reserve(&pages, room > JSON_RESERVE / 4 ? 4 * room : JSON_RESERVE, room)) return false;
    pages.huge = true;
    if (!cx_range_commit(&pages, room)) {
        cx_range_release(&pages);
        return false;
    }
    memcpy(pages.base, writer->buffer, writer->used);
    json_free_buffer(writer);
    writer->pages = pages;
    writer->buffer = pages.base;
    return true;
}

static bool json_grow(coex_json_writer *writer, uint64_t room)
{
    if (room >= JSON_LARGE) return cx_range_commit(&writer->pages, room) || json_move_to_pages(writer, room);
    char *larger = cx_os_resize(writer->buffer, room);
    if (larger != NULL) writer->buffer = larger;
    return larger != NULL;
}

bool cx_json_room_slow(coex_json_writer *writer, uint64_t bytes)
{
    if (writer->sink != NULL && writer->room != 0) return json_flush(writer);
    uint64_t room = writer->sink != NULL ? JSON_SINK_ROOM : 1024;
    while (room < writer->used + bytes || room < 2 * writer->room) room *= 2;
    if (!json_grow(writer, room)) return cx_json_writer_fail(writer, COEX_STATUS_MEMORY);
    writer->room = room;
    return true;
}

static void json_put(coex_json_writer *writer, const char *text, uint64_t bytes)
{
    memcpy(writer->buffer + writer->used, text, bytes);
    writer->used += bytes;
}

bool cx_json_new_line(coex_json_writer *writer, uint64_t levels)
{
    if (writer->indent == 0) return true;
    uint64_t width = writer->indent < 0 ? 1 : (uint64_t)writer->indent, left = levels * width;
    if (!json_room(writer, 1)) return false;
    writer->buffer[writer->used++] = '\n';
    while (left != 0) { /* deep nesting can be wider than the buffer */
        uint64_t some = left < 256 ? left : 256;
        if (!json_room(writer, some)) return false;
        memset(writer->buffer + writer->used, writer->indent < 0 ? '\t' : ' ', some);
        writer->used += some;
        left -= some;
    }
    return true;
}

/* ------------------------------------------------------------------- text */

uint64_t cx_json_piece(const char *text, uint64_t bytes)
{
    if (bytes <= JSON_TEXT_PIECE) return bytes;
    bytes = JSON_TEXT_PIECE;
    while (((unsigned char)text[bytes] & 0xc0) == 0x80) bytes--;
    return bytes;
}

static char *json_put_unit(char *out, uint32_t unit)
{
    static const char digits[] = "0123456789abcdef";
    *out++ = '\\';
    *out++ = 'u';
    for (int shift = 12; shift >= 0; shift -= 4) *out++ = digits[unit >> shift & 15];
    return out;
}

static char *json_put_escape(char *out, unsigned char c)
{
    static const char letters[32] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    if (c < 32 && letters[c] == 0) return json_put_unit(out, c);
    *out++ = '\\';
    *out++ = c < 32 ? letters[c] : (char)c;
    return out;
}

/* A character beyond ASCII, as one escape or two. Its bytes are valid. */
static char *json_put_character(char *out, const char **text)
{
    const unsigned char *c = (const unsigned char *)*text;
    unsigned length = *c >= 0xf0 ? 4 : *c >= 0xe0 ? 3 : 2;
    uint32_t character = *c & (0x7fu >> length);
    for (unsigned i = 1; i < length; i++) character = character << 6 | (c[i] & 0x3fu);
    *text += length;
    if (character < 0x10000) return json_put_unit(out, character);
    character -= 0x10000;
    return json_put_unit(json_put_unit(out, 0xd800 + (character >> 10)), 0xdc00 + (character & 0x3ff));
}

/* The first byte that is not written as it is, and is not beyond ASCII; or the end. */
static const char *json_skip_clean(const char *at, const char *end)
{
    while ((at = json_skip_plain(at, end)) < end && (unsigned char)*at >= 0x80) {
        while (at < end && (unsigned char)*at >= 0x80) at++;
    }
    return at;
}

void cx_json_put_text(coex_json_writer *writer, const char *text, uint64_t bytes)
{
    const char *end = text + bytes;
    char *out = writer->buffer + writer->used;
    bool only_ascii = (writer->flags & COEX_JSON_ASCII) != 0;
    while (text < end) {
        const char *stop = only_ascii ? json_skip_plain(text, end) : json_skip_clean(text, end);
        memcpy(out, text, (size_t)(stop - text));
        out += stop - text;
        text = stop;
        if (text == end) break;
        out = (unsigned char)*text < 0x80 ? json_put_escape(out, (unsigned char)*text++) : json_put_character(out, &text);
    }
    writer->used = (uint64_t)(out - writer->buffer);
}

/* Text of the caller, in quotes. */
static bool json_put_string(coex_json_writer *writer, const char *text, uint64_t bytes)
{
    if (!json_room(writer, 1)) return false;
    writer->buffer[writer->used++] = '"';
    for (uint64_t at = 0; at < bytes;) {
        uint64_t piece = cx_json_piece(text + at, bytes - at);
        if (!json_room(writer, JSON_TEXT_ROOM)) return false;
        cx_json_put_text(writer, text + at, piece);
        at += piece;
    }
    if (!json_room(writer, 1)) return false;
    writer->buffer[writer->used++] = '"';
    return true;
}

void cx_json_put_number(coex_json_writer *writer, const struct json_scalar *number)
{
    char *out = writer->buffer + writer->used;
    switch (number->kind) {
    case JSON_NUMBER_INT:
        writer->used += cx_number_format_int64(out, (int64_t)number->bits);
        break;
    case JSON_NUMBER_UINT:
        writer->used += cx_number_format_uint64(out, number->bits);
        break;
    case JSON_NUMBER_FLOAT:
        writer->used += cx_number_format_double(out, json_double_of(number->bits));
        break;
    }
}

/* ---------------------------------------------------------------- grammar */

static unsigned char *json_level(coex_json_writer *writer) { return &writer->levels[writer->depth - 1]; }

static bool json_stale(const coex_json_writer *writer)
{
    return cx_fail_false(writer->failed != COEX_STATUS_OK ? writer->failed : COEX_STATUS_STALE);
}

/* The comma and the line end before an item of the innermost container. */
static bool json_before_item(coex_json_writer *writer)
{
    bool comma = (*json_level(writer) & JSON_LEVEL_ITEMS) != 0;
    if (!json_room(writer, 1)) return false;
    if (comma) writer->buffer[writer->used++] = ',';
    if (!cx_json_new_line(writer, writer->depth)) return false;
    *json_level(writer) |= JSON_LEVEL_ITEMS;
    return true;
}

bool cx_json_before_value(coex_json_writer *writer)
{
    if (writer->failed != COEX_STATUS_OK) return json_stale(writer);
    if (writer->depth == 0) return !writer->has_value || (writer->flags & COEX_JSON_LINES) != 0 || json_stale(writer);
    if ((*json_level(writer) & JSON_LEVEL_OBJECT) == 0) return json_before_item(writer);
    if ((*json_level(writer) & JSON_LEVEL_KEY) == 0) return json_stale(writer);
    *json_level(writer) &= (unsigned char)~JSON_LEVEL_KEY;
    return true;
}

bool cx_json_after_value(coex_json_writer *writer)
{
    if (writer->depth != 0) return true;
    writer->has_value = true;
    if ((writer->flags & COEX_JSON_LINES) == 0) return true;
    if (!json_room(writer, 1)) return false;
    writer->buffer[writer->used++] = '\n';
    return true;
}

static bool json_write_small(coex_json_writer *writer, const char *text, uint64_t bytes)
{
    if (!cx_json_before_value(writer) || !json_room(writer, bytes)) return false;
    json_put(writer, text, bytes);
    return cx_json_after_value(writer);
}

bool coex_json_write_null(coex_json_writer *writer) { return json_write_small(writer, "null", 4); }

bool coex_json_write_bool(coex_json_writer *writer, bool value)
{
    return value ? json_write_small(writer, "true", 4) : json_write_small(writer, "false", 5);
}

static bool json_write_number(coex_json_writer *writer, enum json_number_kind kind, uint64_t bits)
{
    struct json_scalar number = {kind, bits};
    if (!cx_json_before_value(writer) || !json_room(writer, CX_NUMBER_INT_MAX)) return false;
    cx_json_put_number(writer, &number);
    return cx_json_after_value(writer);
}

bool coex_json_write_int(coex_json_writer *writer, int64_t value)
{
    return json_write_number(writer, JSON_NUMBER_INT, (uint64_t)value);
}
bool coex_json_write_uint(coex_json_writer *writer, uint64_t value) { return json_write_number(writer, JSON_NUMBER_UINT, value); }

bool coex_json_write_float(coex_json_writer *writer, double value)
{
    if (value - value != 0) return cx_fail_false(COEX_STATUS_RANGE);
    return json_write_number(writer, JSON_NUMBER_FLOAT, json_bits_of(value));
}

bool coex_json_write_string(coex_json_writer *writer, const char *utf8, uint64_t bytes)
{
    if (!coex_utf8_check(utf8, bytes, NULL)) return cx_fail_false(COEX_STATUS_TEXT);
    return cx_json_before_value(writer) && json_put_string(writer, utf8, bytes) && cx_json_after_value(writer);
}

bool coex_json_write_key(coex_json_writer *writer, const char *utf8, uint64_t bytes)
{
    if (!coex_utf8_check(utf8, bytes, NULL)) return cx_fail_false(COEX_STATUS_TEXT);
    if (writer->failed != COEX_STATUS_OK || writer->depth == 0 || (*json_level(writer) & JSON_LEVEL_OBJECT) == 0 ||
        (*json_level(writer) & JSON_LEVEL_KEY) != 0)
        return json_stale(writer);
    if (!json_before_item(writer) || !json_put_string(writer, utf8, bytes) || !json_room(writer, 2)) return false;
    json_put(writer, ": ", writer->indent != 0 ? 2 : 1);
    *json_level(writer) |= JSON_LEVEL_KEY;
    return true;
}

static bool json_write_open(coex_json_writer *writer, char bracket, unsigned char level)
{
    if (writer->depth == writer->level_room) {
        uint64_t room = writer->level_room == 0 ? 64 : writer->level_room * 2;
        unsigned char *larger = cx_os_allocate(room);
        if (larger == NULL) return cx_json_writer_fail(writer, COEX_STATUS_MEMORY);
        if (writer->depth != 0) memcpy(larger, writer->levels, writer->depth);
        cx_os_free(writer->levels);
        writer->levels = larger;
        writer->level_room = room;
    }
    if (!cx_json_before_value(writer) || !json_room(writer, 1)) return false;
    writer->buffer[writer->used++] = bracket;
    writer->levels[writer->depth++] = level;
    return true;
}

bool coex_json_write_array(coex_json_writer *writer) { return json_write_open(writer, '[', 0); }
bool coex_json_write_object(coex_json_writer *writer) { return json_write_open(writer, '{', JSON_LEVEL_OBJECT); }

bool coex_json_write_end(coex_json_writer *writer)
{
    if (writer->failed != COEX_STATUS_OK || writer->depth == 0 || (*json_level(writer) & JSON_LEVEL_KEY) != 0)
        return json_stale(writer);
    unsigned char level = *json_level(writer);
    if ((level & JSON_LEVEL_ITEMS) != 0 && !cx_json_new_line(writer, writer->depth - 1)) return false;
    if (!json_room(writer, 1)) return false;
    writer->buffer[writer->used++] = (level & JSON_LEVEL_OBJECT) != 0 ? '}' : ']';
    writer->depth--;
    return cx_json_after_value(writer);
}

/* ------------------------------------------------------------------- life */

coex_json_writer *coex_json_writer_to(coex_json_sink sink, void *context, int indent, uint32_t flags)
{
    if (indent < -1 || indent > 16) {
        cx_fail(COEX_STATUS_RANGE);
        return NULL;
    }
    coex_json_writer *writer = cx_os_allocate(sizeof *writer);
    if (writer == NULL) {
        cx_fail_memory();
        return NULL;
    }
    *writer = (coex_json_writer){.sink = sink, .context = context, .indent = indent, .flags = flags};
    return writer;
}

coex_json_writer *coex_json_writer_new(int indent, uint32_t flags) { return coex_json_writer_to(NULL, NULL, indent, flags); }

static bool json_write_to_file(void *context, const char *bytes, uint64_t count)
{
    return fwrite(bytes, 1, count, (FILE *)context) == count;
}

coex_json_writer *coex_json_writer_to_file(FILE *file, int indent, uint32_t flags)
{
    if (file != NULL) return coex_json_writer_to(json_write_to_file, file, indent, flags);
    cx_fail(COEX_STATUS_KIND);
    return NULL;
}

void coex_json_writer_destroy(coex_json_writer *writer)
{
    if (writer == NULL) return;
    json_free_buffer(writer);
    cx_os_free(writer->levels);
    cx_os_free(writer);
}

bool coex_json_writer_finish(coex_json_writer *writer)
{
    if (writer->failed != COEX_STATUS_OK || writer->depth != 0 || (!writer->has_value && (writer->flags & COEX_JSON_LINES) == 0))
        return json_stale(writer);
    if (writer->sink == NULL) return true;
    if (!json_flush(writer)) return false;
    bool done = true;
    if (writer->sink == json_write_to_file)
        COEX_GC_NATIVE(done = fflush((FILE *)writer->context) == 0); /* a full disk is found here */
    return done || cx_json_writer_fail(writer, COEX_STATUS_SYSTEM);
}

const char *coex_json_writer_bytes(coex_json_writer *writer, uint64_t *count)
{
    if (writer->sink != NULL) cx_fail(COEX_STATUS_KIND);
    if (writer->sink != NULL || (writer->failed != COEX_STATUS_OK && !json_stale(writer))) return NULL;
    *count = writer->used;
    return writer->buffer != NULL ? writer->buffer : "";
}

coex_handle coex_json_writer_string(coex_json_writer *writer)
{
    uint64_t count;
    const char *bytes = coex_json_writer_bytes(writer, &count);
    return bytes != NULL ? cx_string_make(bytes, count, (writer->flags & COEX_JSON_ASCII) != 0) : 0;
}
