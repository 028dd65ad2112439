/* Strings: the types, making one, looking at one, its characters, its parts. See string.h for how they lie in memory; string_grow.c joins
 * them, string_search.c searches, string_convert.c goes from and to other things. Entered by any managed thread. */
#include "collections/string.h"

#include <coex/gc_diag.h>
#include <stddef.h>
#include <string.h>

/* A view of a shorter part would take as much memory as a copy does, and keep the rest alive. */
enum { STRING_COPIED_PART = 32 };

const coex_gc_type cx_type_string = {.name = "string"};

static const uint32_t string_view_refs[] = {offsetof(struct cx_string_view, base)};
static const char *const string_view_names[] = {"base"};
const coex_gc_type cx_type_string_view = {.name = "string view",
                                          .size = sizeof(struct cx_string_view),
                                          .ref_offsets = string_view_refs,
                                          .ref_count = 1,
                                          .ref_names = string_view_names};

/* ------------------------------------------------------------------ dumps */

/* As much of a text as there is room for, between characters. */
static void string_show(const char *bytes, uint64_t length, char *text, uint64_t room)
{
    uint64_t count = length < room ? length : room - 1;
    while (count < length && count != 0 && cx_utf8_continues(bytes[count])) count--;
    for (uint64_t i = 0; i < count; i++) text[i] = bytes[i] != 0 ? bytes[i] : '?';
    text[count] = 0;
}

static void string_describe(const void *payload, uint64_t size, char *text, uint64_t room)
{
    const struct cx_string *string = payload;
    string_show(string->text, size - sizeof *string, text, room);
}

static void string_view_describe(const void *payload, uint64_t size, char *text, uint64_t room)
{
    const struct cx_string_view *view = payload;
    const char *base = coex_gc_peek(view->base, &size);
    if (base != NULL && view->offset <= size && view->length <= size - view->offset)
        string_show(base + view->offset, view->length, text, room);
}

bool cx_string_register(void)
{
    return coex_gc_set_describer(cx_values.id[CX_TYPE_string], string_describe) == COEX_GC_OK &&
           coex_gc_set_describer(cx_values.id[CX_TYPE_string_view], string_view_describe) == COEX_GC_OK;
}

static uint64_t string_none(coex_status status)
{
    cx_fail(status);
    return COEX_STRING_NONE;
}

/* ----------------------------------------------------------------- making */

coex_handle cx_string_alloc(uint64_t bytes, bool ascii, char **text)
{
    void *payload;
    if (bytes > COEX_STRING_MAX) return cx_fail(COEX_STATUS_SIZE);
    coex_handle s = coex_gc_alloc_at(sizeof(struct cx_string) + bytes, cx_values.id[CX_TYPE_string], &payload);
    if (s == 0) return cx_fail_memory();
    struct cx_string *string = payload;
    string->cache.v = ascii ? CX_STRING_ASCII : 0; /* nobody else has it yet */
    *text = string->text;
    return s;
}

coex_handle cx_string_make(const char *utf8, uint64_t bytes, bool ascii)
{
    char *text;
    coex_handle s = cx_string_alloc(bytes, ascii, &text);
    if (s != 0 && bytes != 0) memcpy(text, utf8, bytes);
    return s;
}

coex_handle coex_string_from(const char *utf8, uint64_t bytes)
{
    bool ascii = true;
    if (bytes > COEX_STRING_MAX) return cx_fail(COEX_STATUS_SIZE);
    if (bytes != 0 && utf8 == NULL) return cx_fail(COEX_STATUS_KIND);
    if (bytes != 0 && cx_utf8_scan(utf8, bytes, &ascii) != bytes) return cx_fail(COEX_STATUS_TEXT);
    return cx_string_make(utf8, bytes, ascii);
}

coex_handle coex_string_from_c(const char *utf8)
{
    return utf8 == NULL ? cx_fail(COEX_STATUS_KIND) : coex_string_from(utf8, strlen(utf8));
}

/* Writes the bytes with U+FFFD for what is none of a character, or only counts if `out` is NULL. */
static uint64_t string_mend(const char *bytes, uint64_t count, char *out)
{
    uint64_t length = 0;
    for (uint64_t at = 0; at < count;) {
        bool ascii, whole;
        uint64_t good = cx_utf8_scan(bytes + at, count - at, &ascii);
        if (out != NULL) memcpy(out + length, bytes + at, good);
        length += good;
        at += good;
        if (at == count) break;
        at += cx_utf8_take(bytes + at, count - at, &whole);
        if (out != NULL) cx_utf8_write(out + length, 0xfffd);
        length += 3;
    }
    return length;
}

coex_handle coex_string_from_lossy(const void *bytes, uint64_t count)
{
    char *text;
    if (count > COEX_STRING_MAX) return cx_fail(COEX_STATUS_SIZE);
    if (count != 0 && bytes == NULL) return cx_fail(COEX_STATUS_KIND);
    coex_handle s = cx_string_alloc(string_mend(bytes, count, NULL), false, &text);
    if (s != 0) string_mend(bytes, count, text);
    return s;
}

coex_handle coex_string_from_char(uint32_t character)
{
    char text[4];
    if (!cx_utf8_is_char(character)) return cx_fail(COEX_STATUS_TEXT);
    return cx_string_make(text, cx_utf8_write(text, character), character < 0x80);
}

/* ---------------------------------------------------------------- looking */

uint64_t coex_string_len(coex_handle s)
{
    struct cx_string_text text;
    return cx_string_need(s, &text) ? text.length : 0;
}

const char *coex_string_data(coex_handle s)
{
    struct cx_string_text text;
    return cx_string_need(s, &text) ? text.text : NULL;
}

static bool string_is_ascii(const struct cx_string_text *text)
{
    bool ascii;
    uint64_t cache = cx_a64_load_relaxed(text->cache);
    if ((cache & (CX_STRING_ASCII | CX_STRING_MIXED)) != 0) return (cache & CX_STRING_ASCII) != 0;
    cx_utf8_scan(text->text, text->length, &ascii);
    cx_a64_store_relaxed(text->cache, cache | (ascii ? CX_STRING_ASCII : CX_STRING_MIXED));
    return ascii;
}

bool coex_string_is_ascii(coex_handle s)
{
    struct cx_string_text text;
    return cx_string_need(s, &text) && string_is_ascii(&text);
}

uint64_t coex_string_chars(coex_handle s)
{
    struct cx_string_text text;
    if (!cx_string_need(s, &text)) return 0;
    return cx_string_is_known_ascii(&text) ? text.length : cx_utf8_count(text.text, text.length);
}

uint64_t coex_string_hash(coex_handle s)
{
    struct cx_string_text text;
    if (!cx_string_need(s, &text)) return 0;
    uint64_t cache = cx_a64_load_relaxed(text.cache);
    if (COEX_LIKELY((cache & CX_STRING_HASH) != 0)) return cache & CX_STRING_HASH;
    uint64_t hash = cx_hash_bytes(text.text, text.length) & CX_STRING_HASH;
    hash += hash == 0;
    cx_a64_store_relaxed(text.cache, cache | hash);
    return hash;
}

uint64_t coex_string_copy(coex_handle s, uint64_t from, void *buffer, uint64_t room)
{
    struct cx_string_text text;
    if (!cx_string_need(s, &text)) return 0;
    if (from > text.length) return cx_fail(COEX_STATUS_RANGE);
    uint64_t count = text.length - from < room ? text.length - from : room;
    if (count != 0) memcpy(buffer, text.text + from, count);
    return count;
}

/* -------------------------------------------------------------- comparing */

bool coex_string_equal(coex_handle a, coex_handle b)
{
    struct cx_string_text x, y;
    if (!cx_string_need(a, &x) || !cx_string_need(b, &y)) return false;
    if (a == b) return true;
    if (x.length != y.length) return false;
    uint64_t hash = cx_a64_load_relaxed(x.cache) & CX_STRING_HASH, other = cx_a64_load_relaxed(y.cache) & CX_STRING_HASH;
    if (hash != 0 && other != 0 && hash != other) return false;
    return memcmp(x.text, y.text, x.length) == 0;
}

int coex_string_compare(coex_handle a, coex_handle b)
{
    struct cx_string_text x, y;
    if (!cx_string_need(a, &x) || !cx_string_need(b, &y)) return 0;
    int order = memcmp(x.text, y.text, x.length < y.length ? x.length : y.length);
    return order != 0 ? order : (x.length > y.length) - (x.length < y.length);
}

static unsigned char string_lower(char c) { return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c); }

int coex_string_compare_ascii(coex_handle a, coex_handle b)
{
    struct cx_string_text x, y;
    if (!cx_string_need(a, &x) || !cx_string_need(b, &y)) return 0;
    uint64_t shared = x.length < y.length ? x.length : y.length;
    for (uint64_t i = 0; i < shared; i++) {
        int order = string_lower(x.text[i]) - string_lower(y.text[i]);
        if (order != 0) return order;
    }
    return (x.length > y.length) - (x.length < y.length);
}

bool coex_string_equal_ascii(coex_handle a, coex_handle b)
{
    struct cx_string_text x, y;
    if (!cx_string_need(a, &x) || !cx_string_need(b, &y)) return false;
    return x.length == y.length && coex_string_compare_ascii(a, b) == 0;
}

/* In pieces, each hashed with what came before: nothing to allocate, whatever the length. */
uint64_t coex_string_hash_ascii(coex_handle s)
{
    struct cx_string_text text;
    struct {
        uint64_t before;
        char piece[248];
    } block;
    uint64_t hash = 0, at = 0;
    if (!cx_string_need(s, &text)) return 0;
    do {
        uint64_t count = 0;
        for (; count < sizeof block.piece && at < text.length; at++) block.piece[count++] = (char)string_lower(text.text[at]);
        block.before = hash;
        hash = cx_hash_bytes(&block, sizeof block.before + count) & CX_STRING_HASH;
    } while (at < text.length);
    return hash + (hash == 0);
}

/* ------------------------------------------------------------- characters */

/* Is it an offset between characters? */
static bool string_check_offset(const struct cx_string_text *text, uint64_t offset)
{
    if (offset > text->length) return cx_fail_false(COEX_STATUS_RANGE);
    return cx_string_is_boundary(text, offset) || cx_fail_false(COEX_STATUS_TEXT);
}

bool coex_string_next(coex_handle s, uint64_t *offset, uint32_t *character)
{
    struct cx_string_text text;
    unsigned bytes;
    if (!cx_string_need(s, &text) || *offset == text.length || !string_check_offset(&text, *offset)) return false;
    *character = cx_utf8_read(text.text + *offset, &bytes);
    *offset += bytes;
    return true;
}

bool coex_string_previous(coex_handle s, uint64_t *offset, uint32_t *character)
{
    struct cx_string_text text;
    unsigned bytes;
    if (!cx_string_need(s, &text) || !string_check_offset(&text, *offset) || *offset == 0) return false;
    uint64_t at = *offset - 1;
    while (cx_utf8_continues(text.text[at])) at--;
    *character = cx_utf8_read(text.text + at, &bytes);
    *offset = at;
    return true;
}

/* Behind `count` characters from `at` on; COEX_STRING_NONE if there are fewer. */
static uint64_t string_skip(const struct cx_string_text *text, uint64_t at, uint64_t count)
{
    enum { PIECE = 256 };
    uint64_t begun;
    if (cx_string_is_known_ascii(text)) return count <= text->length - at ? at + count : COEX_STRING_NONE;
    /* Whole pieces first. What continues at the end of one belongs to a character that began in it. */
    while (text->length - at > PIECE && (begun = cx_utf8_count(text->text + at, PIECE)) <= count) {
        count -= begun;
        at += PIECE;
    }
    while (at < text->length && cx_utf8_continues(text->text[at])) at++;
    for (; count != 0 && at < text->length; count--) {
        at++;
        while (at < text->length && cx_utf8_continues(text->text[at])) at++;
    }
    return count == 0 ? at : COEX_STRING_NONE;
}

uint64_t coex_string_offset(coex_handle s, uint64_t character)
{
    struct cx_string_text text;
    if (!cx_string_need(s, &text)) return COEX_STRING_NONE;
    uint64_t offset = string_skip(&text, 0, character);
    return offset != COEX_STRING_NONE ? offset : string_none(COEX_STATUS_RANGE);
}

bool coex_string_is_boundary(coex_handle s, uint64_t offset)
{
    struct cx_string_text text;
    if (!cx_string_need(s, &text)) return false;
    return offset <= text.length ? cx_string_is_boundary(&text, offset) : cx_fail_false(COEX_STATUS_RANGE);
}

/* ------------------------------------------------------------------ parts */

coex_handle cx_string_copy_part(coex_handle s, uint64_t from, uint64_t length)
{
    struct cx_string_text text;
    char *copy;
    coex_handle part = cx_string_alloc(length, false, &copy);
    if (part == 0 || !cx_string_open(s, &text)) return 0;
    memcpy(copy, text.text + from, length);
    bool ascii = cx_string_is_known_ascii(&text);
    if (ascii && cx_string_open(part, &text)) cx_a64_store_relaxed(text.cache, CX_STRING_ASCII);
    return part;
}

/* A part between characters. */
static coex_handle string_part(coex_handle s, const struct cx_string_text *whole, uint64_t from, uint64_t to)
{
    struct cx_string_text text;
    void *view;
    if (to - from == whole->length) return s;
    if (to - from <= STRING_COPIED_PART) return cx_string_copy_part(s, from, to - from);
    coex_handle part = coex_gc_alloc_at(sizeof(struct cx_string_view), cx_values.id[CX_TYPE_string_view], &view);
    if (part == 0 || !cx_string_open(s, &text)) return cx_fail_memory();
    uint64_t ascii = cx_a64_load_relaxed(text.cache) & CX_STRING_ASCII;
    if (text.view != NULL)
        cx_string_view_fill(view, text.view->base, text.view->offset + from, to - from, ascii);
    else
        cx_string_view_fill(view, s, offsetof(struct cx_string, text) + from, to - from, ascii);
    return part;
}

coex_handle coex_string_slice(coex_handle s, uint64_t from, uint64_t to)
{
    struct cx_string_text text;
    if (!cx_string_need(s, &text)) return 0;
    if (from > to) return cx_fail(COEX_STATUS_RANGE);
    if (!string_check_offset(&text, to) || !string_check_offset(&text, from)) return 0;
    return string_part(s, &text, from, to);
}

coex_handle coex_string_slice_chars(coex_handle s, uint64_t from, uint64_t to)
{
    struct cx_string_text text;
    if (!cx_string_need(s, &text)) return 0;
    uint64_t begin = from <= to ? string_skip(&text, 0, from) : COEX_STRING_NONE;
    uint64_t end = begin != COEX_STRING_NONE ? string_skip(&text, begin, to - from) : COEX_STRING_NONE;
    return end != COEX_STRING_NONE ? string_part(s, &text, begin, end) : cx_fail(COEX_STATUS_RANGE);
}

static bool string_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

coex_handle coex_string_trim(coex_handle s)
{
    struct cx_string_text text;
    if (!cx_string_need(s, &text)) return 0;
    uint64_t from = 0, to = text.length;
    while (from < to && string_is_space(text.text[from])) from++;
    while (to > from && string_is_space(text.text[to - 1])) to--;
    return string_part(s, &text, from, to);
}

coex_handle coex_string_compact(coex_handle s)
{
    struct cx_string_text text;
    if (!cx_string_need(s, &text)) return 0;
    if (text.view == NULL || text.length >= coex_gc_size(text.view->base) / 2) return s;
    return cx_string_copy_part(s, 0, text.length);
}
