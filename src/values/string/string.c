/* Strings: the types, making one, looking at one, its characters, its parts. See string.h for how they lie in memory; string_grow.c joins
 * them, string_search.c searches, string_convert.c goes from and to other things. Entered by any managed thread. */
#include "values/string/string.h"

#include <coex/gc_diag.h>
#include <stddef.h>
#include <string.h>

_Static_assert((uint64_t)CX_VALUE_PIECE == COEX_STRING_POLLED, "what string.h promises");

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

/* ------------------------------------------------------------- long texts */

void cx_string_pin_slow(struct cx_string_work *work, coex_handle object)
{
    if (coex_gc_pin(object) != NULL)
        work->pinned[work->count++] = object;
    else
        work->polls = false;
}

void cx_string_release(struct cx_string_work *work)
{
    if (work->count != 0) coex_gc_unpin(work->pinned[--work->count]);
}

void cx_string_unpin(struct cx_string_work *work)
{
    while (work->count != 0) cx_string_release(work);
}

char *cx_string_move_long(struct cx_string_work *work, char *to, const char *from, uint64_t bytes)
{
    while (work->polls && bytes != 0) {
        uint64_t piece = cx_string_piece(bytes);
        memcpy(to, from, piece);
        to += piece;
        from += piece;
        bytes -= piece;
        cx_string_did(work, piece);
    }
    if (bytes != 0) memcpy(to, from, bytes);
    return to + bytes;
}

int cx_string_order(struct cx_string_work *work, const char *a, const char *b, uint64_t bytes)
{
    while (work->polls && bytes > CX_VALUE_PIECE) {
        int order = memcmp(a, b, CX_VALUE_PIECE);
        if (order != 0) return order;
        a += CX_VALUE_PIECE;
        b += CX_VALUE_PIECE;
        bytes -= CX_VALUE_PIECE;
        cx_string_did(work, CX_VALUE_PIECE);
    }
    return memcmp(a, b, bytes);
}

/* A piece may end within a character: the next one begins with it. */
uint64_t cx_string_scan(struct cx_string_work *work, const char *bytes, uint64_t count, bool *ascii)
{
    bool all = true, here;
    uint64_t at = 0;
    while (work->polls && count - at > CX_VALUE_PIECE) {
        uint64_t good = cx_utf8_scan(bytes + at, CX_VALUE_PIECE, &here);
        all = all && here;
        at += good;
        *ascii = all;
        if (CX_VALUE_PIECE - good >= 4) return at;
        cx_string_did(work, CX_VALUE_PIECE);
    }
    at += cx_utf8_scan(bytes + at, count - at, &here);
    *ascii = all && here;
    return at;
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
    if (s == 0) return 0;
    struct cx_string_work work = cx_string_work(bytes);
    cx_string_pin(&work, s);
    cx_string_move(&work, text, utf8, bytes);
    cx_string_work_end(&work);
    return s;
}

coex_handle coex_string_from(const char *utf8, uint64_t bytes)
{
    bool ascii = true;
    if (bytes > COEX_STRING_MAX) return cx_fail(COEX_STATUS_SIZE);
    if (bytes != 0 && utf8 == NULL) return cx_fail(COEX_STATUS_KIND);
    struct cx_string_work work = cx_string_work(bytes);
    if (bytes != 0 && cx_string_scan(&work, utf8, bytes, &ascii) != bytes) return cx_fail(COEX_STATUS_TEXT);
    return cx_string_make(utf8, bytes, ascii);
}

coex_handle coex_string_from_c(const char *utf8)
{
    return utf8 == NULL ? cx_fail(COEX_STATUS_KIND) : coex_string_from(utf8, strlen(utf8));
}

/* Writes the bytes with U+FFFD for what is none of a character, or only counts if `out` is NULL. */
static uint64_t string_mend(struct cx_string_work *work, const char *bytes, uint64_t count, char *out)
{
    uint64_t length = 0;
    for (uint64_t at = 0; at < count;) {
        bool ascii, whole;
        uint64_t good = cx_string_scan(work, bytes + at, count - at, &ascii);
        if (out != NULL) cx_string_move(work, out + length, bytes + at, good);
        length += good;
        at += good;
        if (at == count) break;
        at += cx_utf8_take(bytes + at, count - at, &whole);
        if (out != NULL) cx_utf8_write(out + length, 0xfffd);
        length += 3;
        cx_string_did(work, 3);
    }
    return length;
}

coex_handle coex_string_from_lossy(const void *bytes, uint64_t count)
{
    char *text;
    if (count > COEX_STRING_MAX) return cx_fail(COEX_STATUS_SIZE);
    if (count != 0 && bytes == NULL) return cx_fail(COEX_STATUS_KIND);
    struct cx_string_work work = cx_string_work(count);
    coex_handle s = cx_string_alloc(string_mend(&work, bytes, count, NULL), false, &text);
    if (s == 0) return 0;
    cx_string_pin(&work, s);
    string_mend(&work, bytes, count, text);
    cx_string_work_end(&work);
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

/* Adds to what is known of a string, which may have moved since it was opened. */
static void string_learn(coex_handle s, uint64_t known)
{
    struct cx_string_text text;
    if (cx_string_open(s, &text)) cx_a64_store_relaxed(text.cache, cx_a64_load_relaxed(text.cache) | known);
}

bool coex_string_is_ascii(coex_handle s)
{
    struct cx_string_text text;
    bool ascii;
    if (!cx_string_need(s, &text)) return false;
    uint64_t cache = cx_a64_load_relaxed(text.cache);
    if ((cache & (CX_STRING_ASCII | CX_STRING_MIXED)) != 0) return (cache & CX_STRING_ASCII) != 0;
    struct cx_string_work work = cx_string_work(text.length);
    cx_string_hold(&work, s, &text);
    cx_string_scan(&work, text.text, text.length, &ascii);
    cx_string_work_end(&work);
    string_learn(s, ascii ? CX_STRING_ASCII : CX_STRING_MIXED);
    return ascii;
}

uint64_t coex_string_chars(coex_handle s)
{
    struct cx_string_text text;
    uint64_t count = 0, piece;
    if (!cx_string_need(s, &text)) return 0;
    if (cx_string_is_known_ascii(&text)) return text.length;
    struct cx_string_work work = cx_string_work(text.length);
    cx_string_hold(&work, s, &text);
    for (uint64_t at = 0; at < text.length; at += piece) {
        piece = cx_string_piece(text.length - at);
        count += cx_utf8_count(text.text + at, piece);
        cx_string_did(&work, piece);
    }
    cx_string_work_end(&work);
    return count;
}

static uint64_t string_hash_of(struct cx_string_work *work, const struct cx_string_text *text)
{
    struct cx_hash hash = cx_hash_begin();
    uint64_t at = 0;
    for (; work->polls && text->length - at > CX_VALUE_PIECE; at += CX_VALUE_PIECE) {
        cx_hash_add(&hash, text->text + at, CX_VALUE_PIECE);
        cx_string_did(work, CX_VALUE_PIECE);
    }
    uint64_t result = cx_hash_end(&hash, text->text + at, text->length - at, text->length) & CX_STRING_HASH;
    return result + (result == 0);
}

static uint64_t string_hash(coex_handle s, bool quiet)
{
    struct cx_string_text text;
    if (!cx_string_need(s, &text)) return 0;
    uint64_t cache = cx_a64_load_relaxed(text.cache);
    if (COEX_LIKELY((cache & CX_STRING_HASH) != 0)) return cache & CX_STRING_HASH;
    struct cx_string_work work = cx_string_work(quiet ? 0 : text.length);
    cx_string_hold(&work, s, &text);
    uint64_t hash = string_hash_of(&work, &text);
    cx_string_work_end(&work);
    string_learn(s, hash);
    return hash;
}

uint64_t coex_string_hash(coex_handle s) { return string_hash(s, false); }
uint64_t cx_string_hash_quiet(coex_handle s) { return string_hash(s, true); }

uint64_t coex_string_copy(coex_handle s, uint64_t from, void *buffer, uint64_t room)
{
    struct cx_string_text text;
    if (!cx_string_need(s, &text)) return 0;
    if (from > text.length) return cx_fail(COEX_STATUS_RANGE);
    uint64_t count = text.length - from < room ? text.length - from : room;
    struct cx_string_work work = cx_string_work(count);
    cx_string_hold(&work, s, &text);
    cx_string_move(&work, buffer, text.text + from, count);
    cx_string_work_end(&work);
    return count;
}

/* -------------------------------------------------------------- comparing */

/* The order of the first `bytes` of two strings that were opened. */
static int string_order(coex_handle a, const struct cx_string_text *x, coex_handle b, const struct cx_string_text *y,
                        uint64_t bytes, bool quiet)
{
    if (quiet || bytes <= CX_VALUE_PIECE) return memcmp(x->text, y->text, bytes);
    struct cx_string_work work = cx_string_work(bytes);
    cx_string_hold(&work, a, x);
    cx_string_hold(&work, b, y);
    int order = cx_string_order(&work, x->text, y->text, bytes);
    cx_string_work_end(&work);
    return order;
}

static inline bool string_equal(coex_handle a, coex_handle b, bool quiet)
{
    struct cx_string_text x, y;
    if (!cx_string_need(a, &x) || !cx_string_need(b, &y)) return false;
    if (a == b) return true;
    if (x.length != y.length) return false;
    uint64_t hash = cx_a64_load_relaxed(x.cache) & CX_STRING_HASH, other = cx_a64_load_relaxed(y.cache) & CX_STRING_HASH;
    if (hash != 0 && other != 0 && hash != other) return false;
    return string_order(a, &x, b, &y, x.length, quiet) == 0;
}

bool coex_string_equal(coex_handle a, coex_handle b) { return string_equal(a, b, false); }
bool cx_string_equal_quiet(coex_handle a, coex_handle b) { return string_equal(a, b, true); }

static inline int string_compare(coex_handle a, coex_handle b, bool quiet)
{
    struct cx_string_text x, y;
    if (!cx_string_need(a, &x) || !cx_string_need(b, &y)) return 0;
    int order = string_order(a, &x, b, &y, x.length < y.length ? x.length : y.length, quiet);
    return order != 0 ? order : (x.length > y.length) - (x.length < y.length);
}

int coex_string_compare(coex_handle a, coex_handle b) { return string_compare(a, b, false); }
int cx_string_compare_quiet(coex_handle a, coex_handle b) { return string_compare(a, b, true); }

static unsigned char string_lower(char c) { return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c); }

static int string_order_lower(const char *a, const char *b, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        int order = string_lower(a[i]) - string_lower(b[i]);
        if (order != 0) return order;
    }
    return 0;
}

int coex_string_compare_ascii(coex_handle a, coex_handle b)
{
    struct cx_string_text x, y;
    if (!cx_string_need(a, &x) || !cx_string_need(b, &y)) return 0;
    uint64_t shared = x.length < y.length ? x.length : y.length;
    struct cx_string_work work = cx_string_work(shared);
    cx_string_hold(&work, a, &x);
    cx_string_hold(&work, b, &y);
    int order = 0;
    for (uint64_t at = 0, piece; at < shared && order == 0; at += piece) {
        piece = cx_string_piece(shared - at);
        order = string_order_lower(x.text + at, y.text + at, piece);
        cx_string_did(&work, piece);
    }
    cx_string_work_end(&work);
    return order != 0 ? order : (x.length > y.length) - (x.length < y.length);
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
    struct cx_string_work work = cx_string_work(text.length);
    cx_string_hold(&work, s, &text);
    do {
        uint64_t count = 0;
        for (; count < sizeof block.piece && at < text.length; at++) block.piece[count++] = (char)string_lower(text.text[at]);
        block.before = hash;
        hash = cx_hash_bytes(&block, sizeof block.before + count) & CX_STRING_HASH;
        cx_string_did(&work, count);
    } while (at < text.length);
    cx_string_work_end(&work);
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
static uint64_t string_skip(struct cx_string_work *work, const struct cx_string_text *text, uint64_t at, uint64_t count)
{
    enum { PIECE = 256 };
    uint64_t begun;
    /* Whole pieces first. What continues at the end of one belongs to a character that began in it. */
    while (text->length - at > PIECE && (begun = cx_utf8_count(text->text + at, PIECE)) <= count) {
        count -= begun;
        at += PIECE;
        cx_string_did(work, PIECE);
    }
    while (at < text->length && cx_utf8_continues(text->text[at])) at++;
    for (; count != 0 && at < text->length; count--) {
        at++;
        while (at < text->length && cx_utf8_continues(text->text[at])) at++;
    }
    return count == 0 ? at : COEX_STRING_NONE;
}

/* The offsets of the characters `from` and `to`, which is not before it. False if there are fewer. */
static bool string_range(coex_handle s, const struct cx_string_text *text, uint64_t from, uint64_t to, uint64_t *begin,
                         uint64_t *end)
{
    *begin = from;
    *end = to;
    if (cx_string_is_known_ascii(text)) return to <= text->length;
    struct cx_string_work work = cx_string_work(text->length);
    cx_string_hold(&work, s, text);
    *begin = *end = string_skip(&work, text, 0, from);
    if (*begin != COEX_STRING_NONE && to != from) *end = string_skip(&work, text, *begin, to - from);
    cx_string_work_end(&work);
    return *end != COEX_STRING_NONE;
}

uint64_t coex_string_offset(coex_handle s, uint64_t character)
{
    struct cx_string_text text;
    uint64_t begin, end;
    if (!cx_string_need(s, &text)) return COEX_STRING_NONE;
    return string_range(s, &text, character, character, &begin, &end) ? begin : string_none(COEX_STATUS_RANGE);
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
    if (cx_string_is_known_ascii(&text)) string_learn(part, CX_STRING_ASCII);
    struct cx_string_work work = cx_string_work(length);
    cx_string_hold(&work, s, &text);
    cx_string_pin(&work, part);
    cx_string_move(&work, copy, text.text + from, length);
    cx_string_work_end(&work);
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
    uint64_t begin, end;
    if (!cx_string_need(s, &text)) return 0;
    if (from > to || !string_range(s, &text, from, to, &begin, &end)) return cx_fail(COEX_STATUS_RANGE);
    return string_part(s, &text, begin, end);
}

static bool string_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

coex_handle coex_string_trim(coex_handle s)
{
    struct cx_string_text text;
    if (!cx_string_need(s, &text)) return 0;
    uint64_t from = 0, to = text.length;
    struct cx_string_work work = cx_string_work(text.length);
    cx_string_hold(&work, s, &text);
    for (; from < to && string_is_space(text.text[from]); from++) cx_string_did(&work, 1);
    for (; to > from && string_is_space(text.text[to - 1]); to--) cx_string_did(&work, 1);
    cx_string_work_end(&work);
    return string_part(s, &text, from, to);
}

coex_handle coex_string_compact(coex_handle s)
{
    struct cx_string_text text;
    if (!cx_string_need(s, &text)) return 0;
    if (text.view == NULL || text.length >= coex_gc_size(text.view->base) / 2) return s;
    return cx_string_copy_part(s, 0, text.length);
}
