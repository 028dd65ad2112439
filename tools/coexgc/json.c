/* See json.h. */
#include "json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* What may come next. */
enum { EXPECT_VALUE, EXPECT_FIRST_ELEMENT, EXPECT_FIRST_KEY, EXPECT_KEY, EXPECT_COMMA, EXPECT_NOTHING, EXPECT_ERROR };

static void json_begin(struct json_reader *reader, const char *name)
{
    memset(reader, 0, offsetof(struct json_reader, buffer));
    reader->at = reader->end = 0;
    reader->depth = 0;
    reader->text = NULL;
    reader->text_length = reader->text_room = 0;
    reader->line = reader->column = 1;
    reader->expect = EXPECT_VALUE;
    reader->error[0] = '\0';
    reader->name = name;
}

void json_open_bytes(struct json_reader *reader, const char *name, const void *bytes, size_t size)
{
    json_begin(reader, name);
    reader->bytes = bytes;
    reader->left = size;
}

bool json_open(struct json_reader *reader, const char *name)
{
    json_begin(reader, name);
    reader->file = strcmp(name, "-") == 0 ? stdin : fopen(name, "rb");
    if (reader->file != NULL) return true;
    snprintf(reader->error, sizeof reader->error, "%.400s: %s", name, strerror(errno));
    return false;
}

void json_close(struct json_reader *reader)
{
    if (reader->file != NULL && reader->file != stdin) fclose(reader->file);
    free(reader->text);
    reader->file = NULL;
    reader->text = NULL;
}

enum json_token json_refuse(struct json_reader *reader, const char *format, ...)
{
    if (reader->expect == EXPECT_ERROR) return JSON_ERROR;
    int length = snprintf(reader->error, sizeof reader->error, "%.200s:%llu:%llu: ", reader->name, (unsigned long long)reader->line,
                          (unsigned long long)reader->column);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->error + length, sizeof reader->error - (size_t)length, format, arguments);
    va_end(arguments);
    reader->expect = EXPECT_ERROR;
    return JSON_ERROR;
}

/* -------------------------------------------------------------- characters */

static size_t json_fill(struct json_reader *reader)
{
    if (reader->file != NULL) return fread(reader->buffer, 1, sizeof reader->buffer, reader->file);
    size_t count = reader->left < sizeof reader->buffer ? reader->left : sizeof reader->buffer;
    if (count > 0) memcpy(reader->buffer, reader->bytes, count);
    reader->bytes += count;
    reader->left -= count;
    return count;
}

/* The next one, or EOF; it stays. */
static int json_peek(struct json_reader *reader)
{
    if (reader->at == reader->end) {
        reader->at = 0;
        reader->end = json_fill(reader);
        if (reader->end == 0) {
            if (reader->file != NULL && ferror(reader->file)) json_refuse(reader, "can't be read: %s", strerror(errno));
            return EOF;
        }
    }
    return reader->buffer[reader->at];
}

static int json_take(struct json_reader *reader)
{
    int c = json_peek(reader);
    if (c == EOF) return EOF;
    reader->at++;
    reader->column++;
    if (c == '\n') {
        reader->line++;
        reader->column = 1;
    }
    return c;
}

/* What stands there is not what should: most often a file that was cut off. */
static enum json_token json_refuse_instead(struct json_reader *reader, int c, const char *otherwise)
{
    if (c != EOF) return json_refuse(reader, "%s", otherwise);
    if (reader->line == 1 && reader->column == 1) return json_refuse(reader, "the file is empty");
    return json_refuse(reader, "the file ends too early: it is not complete");
}

static int json_take_space(struct json_reader *reader)
{
    int c = json_peek(reader);
    while (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
        json_take(reader);
        c = json_peek(reader);
    }
    return c;
}

static bool json_add(struct json_reader *reader, int c)
{
    if (reader->text_length + 1 >= reader->text_room) {
        size_t room = reader->text_room == 0 ? 256 : reader->text_room * 2;
        char *larger = room <= (size_t)JSON_TEXT_MOST * 2 ? realloc(reader->text, room) : NULL;
        if (larger == NULL) {
            json_refuse(reader, "a text of more than %zu bytes", reader->text_length);
            return false;
        }
        reader->text = larger;
        reader->text_room = room;
    }
    reader->text[reader->text_length++] = (char)c;
    reader->text[reader->text_length] = '\0';
    return true;
}

/* ----------------------------------------------------------------- strings */

static bool json_add_utf8(struct json_reader *reader, uint32_t c)
{
    if (c < 0x80) return json_add(reader, (int)c);
    if (c < 0x800) return json_add(reader, (int)(0xc0 | c >> 6)) && json_add(reader, (int)(0x80 | (c & 63)));
    if (c < 0x10000)
        return json_add(reader, (int)(0xe0 | c >> 12)) && json_add(reader, (int)(0x80 | (c >> 6 & 63))) &&
               json_add(reader, (int)(0x80 | (c & 63)));
    return json_add(reader, (int)(0xf0 | c >> 18)) && json_add(reader, (int)(0x80 | (c >> 12 & 63))) &&
           json_add(reader, (int)(0x80 | (c >> 6 & 63))) && json_add(reader, (int)(0x80 | (c & 63)));
}

static bool json_read_hex(struct json_reader *reader, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++) {
        int c = json_take(reader);
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) {
            json_refuse(reader, c == EOF ? "the file ends inside a text: it is not complete" : "\\u wants four hexadecimal digits");
            return false;
        }
        *value = *value << 4 | (uint32_t)digit;
    }
    return true;
}

/* A surrogate without its half becomes the replacement character, and so does \u0000, which would end the text. */
static bool json_read_unicode(struct json_reader *reader)
{
    uint32_t first, second;
    if (!json_read_hex(reader, &first)) return false;
    while (first >= 0xd800 && first < 0xdc00 && json_peek(reader) == '\\') {
        json_take(reader);
        if (json_peek(reader) != 'u') return json_add_utf8(reader, 0xfffd) && json_refuse(reader, "half a character") != JSON_ERROR;
        json_take(reader);
        if (!json_read_hex(reader, &second)) return false;
        if (second >= 0xdc00 && second < 0xe000) return json_add_utf8(reader, 0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff));
        if (!json_add_utf8(reader, 0xfffd)) return false;
        first = second;
    }
    return json_add_utf8(reader, first == 0 || (first >= 0xd800 && first < 0xe000) ? 0xfffd : first);
}

static bool json_read_escape(struct json_reader *reader)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int c = json_take(reader);
    if (c == 'u') return json_read_unicode(reader);
    const char *found = c > 0 ? strchr(from, c) : NULL;
    if (found != NULL) return json_add(reader, to[found - from]);
    json_refuse(reader, c == EOF ? "the file ends inside a text: it is not complete" : "an unknown escape in a text");
    return false;
}

/* Behind its first quote. */
static bool json_read_string(struct json_reader *reader)
{
    if (!json_add(reader, 0)) return false; /* there is a text, if an empty one */
    reader->text_length = 0;
    reader->text[0] = '\0';
    for (;;) {
        int c = json_take(reader);
        if (c == '"') return true;
        if (c == EOF) {
            json_refuse(reader, "the file ends inside a text: it is not complete");
            return false;
        }
        if (c < 0x20) {
            json_refuse(reader, "a control character inside a text");
            return false;
        }
        if (!(c == '\\' ? json_read_escape(reader) : json_add(reader, c))) return false;
    }
}

/* ------------------------------------------------------------ other values */

static enum json_token json_read_word(struct json_reader *reader, const char *word, enum json_token token)
{
    for (; *word != '\0'; word++) {
        int c = json_take(reader);
        if (c != *word) return json_refuse_instead(reader, c, "this is not JSON");
    }
    return token;
}

static bool json_is_digit(int c) { return c >= '0' && c <= '9'; }

static enum json_token json_read_number(struct json_reader *reader)
{
    char digits[512];
    size_t length = 0;
    int c = json_peek(reader);
    while ((json_is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E') && length < sizeof digits - 1) {
        digits[length++] = (char)json_take(reader);
        c = json_peek(reader);
    }
    digits[length] = '\0';
    const char *at = digits;
    at += *at == '-';
    bool good = json_is_digit(*at) && !(*at == '0' && json_is_digit(at[1]));
    while (json_is_digit(*at)) at++;
    if (*at == '.') {
        good = good && json_is_digit(at[1]);
        for (at++; json_is_digit(*at); at++) {
        }
    }
    if (*at == 'e' || *at == 'E') {
        at += at[1] == '-' || at[1] == '+' ? 2 : 1;
        good = good && json_is_digit(*at);
        while (json_is_digit(*at)) at++;
    }
    if (length == sizeof digits - 1) return json_refuse(reader, "a number of more than %zu characters", length - 1);
    if (!good || *at != '\0') return json_refuse_instead(reader, json_peek(reader), "this is not a number");
    reader->number = strtod(digits, NULL);
    if (!isfinite(reader->number)) return json_refuse(reader, "the number %.40s is too large", digits);
    return JSON_NUMBER;
}

static enum json_token json_open_level(struct json_reader *reader, char kind)
{
    if (reader->depth == JSON_DEPTH) return json_refuse(reader, "more than %d levels", JSON_DEPTH);
    reader->open[reader->depth++] = kind;
    reader->expect = kind == '{' ? EXPECT_FIRST_KEY : EXPECT_FIRST_ELEMENT;
    return kind == '{' ? JSON_OBJECT : JSON_ARRAY;
}

static enum json_token json_close_level(struct json_reader *reader)
{
    json_take(reader);
    char kind = reader->open[--reader->depth];
    reader->expect = reader->depth > 0 ? EXPECT_COMMA : EXPECT_NOTHING;
    return kind == '{' ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static enum json_token json_read_value(struct json_reader *reader)
{
    int c = json_take_space(reader);
    int after = reader->depth > 0 ? EXPECT_COMMA : EXPECT_NOTHING;
    enum json_token token;
    if (c == '{' || c == '[') {
        json_take(reader);
        return json_open_level(reader, (char)c);
    }
    if (c == '"') {
        json_take(reader);
        token = json_read_string(reader) ? JSON_STRING : JSON_ERROR;
    } else if (c == '-' || json_is_digit(c)) {
        token = json_read_number(reader);
    } else if (c == 't') {
        token = json_read_word(reader, "true", JSON_TRUE);
    } else if (c == 'f') {
        token = json_read_word(reader, "false", JSON_FALSE);
    } else if (c == 'n') {
        token = json_read_word(reader, "null", JSON_NULL);
    } else if (c == EOF) {
        token = json_refuse_instead(reader, c, "");
    } else {
        token = json_refuse(reader, "this is not JSON");
    }
    if (token != JSON_ERROR) reader->expect = after;
    return token;
}

static enum json_token json_read_key(struct json_reader *reader)
{
    int c = json_take_space(reader);
    if (c != '"') return json_refuse_instead(reader, c, "a name in quotes is missing");
    json_take(reader);
    if (!json_read_string(reader)) return JSON_ERROR;
    c = json_take_space(reader);
    if (c != ':') return json_refuse_instead(reader, c, "a colon is missing");
    json_take(reader);
    reader->expect = EXPECT_VALUE;
    return JSON_KEY;
}

/* ------------------------------------------------------------------ tokens */

/* Behind an element: a comma, or the end of the level. */
static enum json_token json_read_comma(struct json_reader *reader)
{
    int c = json_take_space(reader);
    char open = reader->open[reader->depth - 1];
    if (c == (open == '{' ? '}' : ']')) return json_close_level(reader);
    if (c != ',') return json_refuse_instead(reader, c, "a comma is missing");
    json_take(reader);
    return open == '{' ? json_read_key(reader) : json_read_value(reader);
}

enum json_token json_next(struct json_reader *reader)
{
    switch (reader->expect) {
    case EXPECT_VALUE:
        return json_read_value(reader);
    case EXPECT_FIRST_ELEMENT:
        return json_take_space(reader) == ']' ? json_close_level(reader) : json_read_value(reader);
    case EXPECT_FIRST_KEY:
        return json_take_space(reader) == '}' ? json_close_level(reader) : json_read_key(reader);
    case EXPECT_KEY:
        return json_read_key(reader);
    case EXPECT_COMMA:
        return json_read_comma(reader);
    case EXPECT_NOTHING:
        if (json_take_space(reader) == EOF && reader->expect != EXPECT_ERROR) return JSON_END;
        return json_refuse(reader, "something follows the end");
    default:
        return JSON_ERROR;
    }
}

bool json_skip(struct json_reader *reader, enum json_token first)
{
    if (first != JSON_OBJECT && first != JSON_ARRAY) return first != JSON_ERROR;
    int depth = reader->depth - 1;
    while (reader->depth > depth) {
        if (json_next(reader) == JSON_ERROR) return false;
    }
    return true;
}
