/* Strings inside: how they lie in the heap, and what the other collections need of them.
 *
 *     string        [cache][text ...]                        short ones, and whatever came in one piece
 *     string view   [cache][base][offset][length]            a part of a string or of a buffer
 *     buffer        [begin][end][..room..|text|..room..]     MUTABLE; never in a caller's hand
 *     builder       [buffer][ascii]                          MUTABLE; of one thread
 *
 * INV-STRING-1: the text of a string never changes. Bytes of a buffer between begin and end are written once, by whoever moved begin or end
 * over them with a compare-exchange, before anybody else has a view that they are in. Room outside belongs to nobody. A builder's buffer is
 * its own until it is finished.
 * INV-STRING-2: text is UTF-8, and every view begins and ends between characters.
 * INV-STRING-3: the cache holds what can be computed from the text; any thread writes it, relaxed, and a write that is lost costs no more than
 * computing it again.
 * INV-STRING-4: an operation on more than CX_VALUE_PIECE bytes polls after each piece. Until it ends it pins every object whose bytes it
 * reads or writes by address (struct cx_string_work); the addresses of views and caches are read again after a poll. */
#ifndef CX_VALUES_STRING_STRING_H
#define CX_VALUES_STRING_STRING_H

#include "base/atomic.h"
#include "values/core/common.h"

#include <coex/values/string.h>
#include <string.h>

/* ------------------------------------------------- for all collections */

/* A new string of `bytes` bytes, all zero, which the caller fills with UTF-8 at *text: before the next safepoint, or while it is pinned.
 * `ascii`: all of it will be ASCII (false: not known). 0 with a status: too large, no memory. A safepoint. */
coex_handle cx_string_alloc(uint64_t bytes, bool ascii, char **text);

/* A string of text in C memory that is UTF-8 already. A safepoint. */
coex_handle cx_string_make(const char *utf8, uint64_t bytes, bool ascii);

/* Room for `bytes` more in a builder, and where: the caller writes at most so many before the next safepoint and says with
 * cx_string_builder_wrote how many, whole characters, and whether all of them are ASCII. NULL with a status. A safepoint. */
char *cx_string_builder_room(coex_handle builder, uint64_t bytes);
void cx_string_builder_wrote(coex_handle builder, uint64_t bytes, bool ascii);

/* The offset of the first byte that does not belong to a whole character, or `count`. *ascii: all up to there are below 128. */
uint64_t cx_utf8_scan(const char *bytes, uint64_t count, bool *ascii);
/* Bytes at `at` (at least one) that make up one character, or the longest beginning of one; then, and for a byte that begins none,
 * *whole is false. */
unsigned cx_utf8_take(const char *at, uint64_t count, bool *whole);
/* The character that begins at `at` in valid text; *bytes is its length. */
uint32_t cx_utf8_read(const char *at, unsigned *bytes);
static inline bool cx_utf8_is_char(uint32_t character)
{
    return character < 0xd800 || (character > 0xdfff && character <= 0x10ffff);
}
/* Writes a character that is one; how many bytes, at most 4. */
unsigned cx_utf8_write(char *out, uint32_t character);
/* Is this a byte that continues a character? */
static inline bool cx_utf8_continues(char byte) { return ((unsigned char)byte & 0xc0) == 0x80; }
/* How many characters begin in valid text. */
uint64_t cx_utf8_count(const char *text, uint64_t bytes);

/* As the public functions, without a poll whatever the length: for callers that hold addresses. */
uint64_t cx_string_hash_quiet(coex_handle s);
bool cx_string_equal_quiet(coex_handle a, coex_handle b);
int cx_string_compare_quiet(coex_handle a, coex_handle b);

/* At init, when the types are there: dumps show the text. */
bool cx_string_register(void);

/* -------------------------------------------------------------- layout */

/* Of the cache: the hash below, 0 if it is not known; and what is known of the characters. */
#define CX_STRING_HASH  (((uint64_t)1 << 62) - 1)
#define CX_STRING_ASCII ((uint64_t)1 << 62) /* all characters are ASCII */
#define CX_STRING_MIXED ((uint64_t)1 << 63) /* not all of them are */

struct cx_string {
    cx_a64 cache; /* W: any, relaxed. R: any, relaxed. INV-STRING-3. The same place in both kinds of strings */
    char text[];
};

struct cx_string_view {
    cx_a64 cache;
    coex_handle base;
    uint64_t offset; /* in the payload of the base */
    uint64_t length;
};

struct cx_string_buffer {
    cx_a64 begin, end; /* offsets in this payload. W: cas acq_rel, whoever takes room; the owner of a builder. R: any, relaxed */
    char text[];
};

struct cx_string_builder {
    coex_handle buffer; /* 0: finished */
    uint64_t ascii;     /* all so far */
};

/* A string that was looked up: valid until the next safepoint. */
struct cx_string_text {
    const char *text;
    uint64_t length;
    cx_a64 *cache;
    const struct cx_string_view *view; /* NULL: not a view */
};

/* False: not a string; records nothing. */
static inline bool cx_string_open(coex_handle s, struct cx_string_text *out)
{
    if (s == 0 || coex_is_immediate(s)) return false;
    char *payload = coex_gc_handle_deref(s);
    if (payload == NULL) return false;
    uint32_t type = coex_gc_type_at(payload);
    struct cx_string *string = (struct cx_string *)(void *)payload;
    if (COEX_LIKELY(type == cx_values.id[CX_TYPE_string])) {
        *out = (struct cx_string_text){string->text, coex_gc_size_at(payload) - sizeof(struct cx_string), &string->cache, NULL};
        return true;
    }
    if (type != cx_values.id[CX_TYPE_string_view]) return false;
    const struct cx_string_view *view = (const struct cx_string_view *)(const void *)payload;
    const char *base = coex_gc_handle_deref(view->base);
    *out = (struct cx_string_text){base + view->offset, view->length, &string->cache, view};
    return true;
}

/* The same for an argument: records COEX_STATUS_KIND. */
static inline bool cx_string_need(coex_handle s, struct cx_string_text *out)
{
    return COEX_LIKELY(cx_string_open(s, out)) || cx_fail_false(COEX_STATUS_KIND);
}

/* Does it begin or end between characters there? */
static inline bool cx_string_is_boundary(const struct cx_string_text *text, uint64_t offset)
{
    return offset == text->length || !cx_utf8_continues(text->text[offset]);
}

static inline bool cx_string_is_known_ascii(const struct cx_string_text *text)
{
    return (cx_a64_load_relaxed(text->cache) & CX_STRING_ASCII) != 0;
}

/* What is known of the characters of both together. */
static inline uint64_t cx_string_both(const struct cx_string_text *a, const struct cx_string_text *b)
{
    uint64_t x = cx_a64_load_relaxed(a->cache), y = cx_a64_load_relaxed(b->cache);
    return ((x & y) & CX_STRING_ASCII) | ((x | y) & CX_STRING_MIXED);
}

/* A view of [offset, offset + length) of the payload of `base`, in fresh memory of that type. */
static inline void cx_string_view_fill(void *fresh, coex_handle base, uint64_t offset, uint64_t length, uint64_t cache)
{
    *(struct cx_string_view *)fresh = (struct cx_string_view){{cache}, base, offset, length};
}

/* ---------------------------------------------------------- long texts */

/* One operation on texts. If they are short it neither pins nor polls. */
struct cx_string_work {
    coex_handle pinned[4];
    uint32_t count;
    bool polls;
    uint64_t done; /* bytes since the last poll */
};

static inline struct cx_string_work cx_string_work(uint64_t bytes)
{
    return (struct cx_string_work){.polls = bytes > CX_VALUE_PIECE};
}

/* Pins an object, or what the text of a string lies in, until the work ends. Without memory for the pin the work polls no more. */
void cx_string_pin_slow(struct cx_string_work *work, coex_handle object);
static inline void cx_string_pin(struct cx_string_work *work, coex_handle object)
{
    if (COEX_UNLIKELY(work->polls)) cx_string_pin_slow(work, object);
}
static inline void cx_string_hold(struct cx_string_work *work, coex_handle s, const struct cx_string_text *text)
{
    if (COEX_UNLIKELY(work->polls)) cx_string_pin_slow(work, text->view != NULL ? text->view->base : s);
}

/* Lets go of what was pinned last. */
void cx_string_release(struct cx_string_work *work);
void cx_string_unpin(struct cx_string_work *work);
static inline void cx_string_work_end(struct cx_string_work *work)
{
    if (COEX_UNLIKELY(work->count != 0)) cx_string_unpin(work);
}

/* Polls if that many bytes more make up a piece. A safepoint if the work is long. */
static inline void cx_string_did(struct cx_string_work *work, uint64_t bytes)
{
    work->done += bytes;
    if (COEX_LIKELY(!work->polls || work->done < CX_VALUE_PIECE)) return;
    work->done = 0;
    coex_gc_safepoint();
}

/* How much of what is left makes up one piece. */
static inline uint64_t cx_string_piece(uint64_t left) { return left < CX_VALUE_PIECE ? left : CX_VALUE_PIECE; }

/* Copies in pieces, with a poll after each. What is in the heap of both is held. Returns the end of what it wrote. */
char *cx_string_move_long(struct cx_string_work *work, char *to, const char *from, uint64_t bytes);
static inline char *cx_string_move(struct cx_string_work *work, char *to, const char *from, uint64_t bytes)
{
    if (COEX_UNLIKELY(bytes > CX_VALUE_PIECE)) return cx_string_move_long(work, to, from, bytes);
    if (bytes != 0) memcpy(to, from, bytes);
    cx_string_did(work, bytes);
    return to + bytes;
}

/* As memcmp. */
int cx_string_order(struct cx_string_work *work, const char *a, const char *b, uint64_t bytes);

/* As cx_utf8_scan. */
uint64_t cx_string_scan(struct cx_string_work *work, const char *bytes, uint64_t count, bool *ascii);

/* Copies a part of a string into one of its own. `s` is rooted by the caller, the range is checked. A safepoint. */
coex_handle cx_string_copy_part(coex_handle s, uint64_t from, uint64_t length);

/* The first place of `what` at or after `from` in the text, COEX_STRING_NONE if there is none; `what` is not empty. The work holds both. */
uint64_t cx_string_find(struct cx_string_work *work, const struct cx_string_text *text, const struct cx_string_text *what,
                        uint64_t from);

#endif
