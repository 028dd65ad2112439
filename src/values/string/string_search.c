/* Strings: searching and replacing. Entered by any managed thread.
 *
 * A search looks for the first byte and compares; that is fast for all but strange texts ("aaaa…b" in "aaaa…"). It counts what comparing in vain
 * has cost, and when that is more than the way it has come, it goes on with the keyed rolling hash of Karp and Rabin, modulo 2^61 - 1:
 * linear time for any text, no memory, and nobody outside can make hashes collide. UTF-8 found in UTF-8 begins between characters. */
#include "values/string/string.h"

#include <string.h>

#define SEARCH_PRIME ((UINT64_C(1) << 61) - 1)

enum {
    SEARCH_PATIENCE = 256, /* bytes compared in vain that are no reason to worry, in all and for each byte of the way / 8 */
    SEARCH_ROLLED = 16     /* bytes that could be copied while one is rolled over */
};

/* What is looked for, and where. Both are read from the end backwards for the last place. */
struct search {
    const char *text, *what;
    uint64_t length, wanted; /* bytes of text and what; 0 < wanted <= length */
    bool backwards;
    bool lower; /* A to Z are a to z */
    struct cx_string_work *work;
};

static unsigned char search_lower(char c) { return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c); }

static unsigned char search_byte(const struct search *search, const char *bytes, uint64_t count, uint64_t i)
{
    char c = bytes[search->backwards ? count - 1 - i : i];
    return search->lower ? search_lower(c) : (unsigned char)c;
}

/* Does `what` stand at this place, counted from the side where the search begins? */
static bool search_matches(const struct search *search, uint64_t place)
{
    const char *at = search->text + (search->backwards ? search->length - search->wanted - place : place);
    if (!search->lower) return cx_string_order(search->work, at, search->what, search->wanted) == 0;
    for (uint64_t i = 0; i < search->wanted; i++) {
        if (search_lower(at[i]) != search_lower(search->what[i])) return false;
        cx_string_did(search->work, 1);
    }
    return true;
}

/* ------------------------------------------------------- the rolling hash */

static uint64_t search_reduce(uint64_t value) { return value >= SEARCH_PRIME ? value - SEARCH_PRIME : value; }

static uint64_t search_multiply(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;
    return search_reduce(((uint64_t)product & SEARCH_PRIME) + (uint64_t)(product >> 61));
}

/* From `place` on; the number of the place, or COEX_STRING_NONE. */
static uint64_t search_roll(const struct search *search, uint64_t place)
{
    uint64_t key = cx_values.seed[2] % (SEARCH_PRIME - 1000) + 500; /* neither 0 nor 1 nor -1 */
    uint64_t goal = 0, hash = 0, power = 1;
    for (uint64_t i = 0; i < search->wanted; i++) {
        goal = search_reduce(search_multiply(goal, key) + search_byte(search, search->what, search->wanted, i));
        hash = search_reduce(search_multiply(hash, key) + search_byte(search, search->text, search->length, place + i));
        power = search_multiply(power, key);
        cx_string_did(search->work, SEARCH_ROLLED);
    }
    for (;; place++) {
        cx_string_did(search->work, SEARCH_ROLLED);
        if (hash == goal && search_matches(search, place)) return place;
        if (place + search->wanted == search->length) return COEX_STRING_NONE;
        uint64_t gone = search_multiply(power, search_byte(search, search->text, search->length, place));
        uint64_t next = search_byte(search, search->text, search->length, place + search->wanted);
        hash = search_reduce(search_multiply(hash, key) + next);
        hash = search_reduce(hash + (SEARCH_PRIME - gone));
    }
}

/* -------------------------------------------------------- the usual search */

/* The next place from `place` to `last` whose first byte is right; last + 1 if there is none. */
static uint64_t search_in_piece(const struct search *search, uint64_t place, uint64_t last)
{
    if (!search->backwards && !search->lower) {
        const char *at = memchr(search->text + place, search->what[0], last - place + 1);
        return at != NULL ? (uint64_t)(at - search->text) : last + 1;
    }
    unsigned char first = search_byte(search, search->what, search->wanted, 0);
    while (place <= last && search_byte(search, search->text, search->length, place) != first) place++;
    return place;
}

static uint64_t search_candidate(const struct search *search, uint64_t place, uint64_t last)
{
    while (place <= last) {
        uint64_t end = place + cx_string_piece(last - place), found = search_in_piece(search, place, end);
        cx_string_did(search->work, found - place + 1);
        if (found <= end) return found;
        place = found;
    }
    return place;
}

static uint64_t search_run(const struct search *search)
{
    uint64_t last = search->length - search->wanted, spent = 0, tail = search->wanted - 1;
    unsigned char end = search_byte(search, search->what, search->wanted, tail);
    for (uint64_t place = 0;; place++) {
        place = search_candidate(search, place, last);
        if (place > last) return COEX_STRING_NONE;
        if (search_byte(search, search->text, search->length, place + tail) == end) {
            if (search_matches(search, place)) return place;
            spent += search->wanted;
        }
        if (place == last) return COEX_STRING_NONE;
        if (spent / 8 > place + SEARCH_PATIENCE) return search_roll(search, place + 1);
    }
}

static uint64_t search_first(struct cx_string_work *work, const struct cx_string_text *text, const struct cx_string_text *what,
                             uint64_t from, bool lower)
{
    if (what->length == 0) return from;
    if (what->length > text->length - from) return COEX_STRING_NONE;
    struct search search = {text->text + from, what->text, text->length - from, what->length, false, lower, work};
    uint64_t place = search_run(&search);
    return place != COEX_STRING_NONE ? from + place : place;
}

uint64_t cx_string_find(struct cx_string_work *work, const struct cx_string_text *text, const struct cx_string_text *what,
                        uint64_t from)
{
    return search_first(work, text, what, from, false);
}

/* ------------------------------------------------------------------- find */

static uint64_t search_none(coex_status status)
{
    cx_fail(status);
    return COEX_STRING_NONE;
}

/* The work of looking for one in the other, with both held. */
static struct cx_string_work search_work(coex_handle s, const struct cx_string_text *text, coex_handle what,
                                         const struct cx_string_text *wanted)
{
    struct cx_string_work work = cx_string_work(text->length);
    cx_string_hold(&work, s, text);
    cx_string_hold(&work, what, wanted);
    return work;
}

static uint64_t search_find(coex_handle s, coex_handle what, uint64_t from, bool lower)
{
    struct cx_string_text text, wanted;
    if (!cx_string_need(s, &text) || !cx_string_need(what, &wanted)) return COEX_STRING_NONE;
    if (from > text.length) return search_none(COEX_STATUS_RANGE);
    if (!cx_string_is_boundary(&text, from)) return search_none(COEX_STATUS_TEXT);
    struct cx_string_work work = search_work(s, &text, what, &wanted);
    uint64_t place = search_first(&work, &text, &wanted, from, lower);
    cx_string_work_end(&work);
    return place;
}

uint64_t coex_string_find(coex_handle s, coex_handle what, uint64_t from) { return search_find(s, what, from, false); }
uint64_t coex_string_find_ascii(coex_handle s, coex_handle what, uint64_t from) { return search_find(s, what, from, true); }

uint64_t coex_string_find_last(coex_handle s, coex_handle what, uint64_t to)
{
    struct cx_string_text text, wanted;
    if (!cx_string_need(s, &text) || !cx_string_need(what, &wanted)) return COEX_STRING_NONE;
    if (to == COEX_STRING_NONE) to = text.length;
    if (to > text.length) return search_none(COEX_STATUS_RANGE);
    if (!cx_string_is_boundary(&text, to)) return search_none(COEX_STATUS_TEXT);
    if (wanted.length == 0) return to;
    if (wanted.length > to) return COEX_STRING_NONE;
    struct cx_string_work work = search_work(s, &text, what, &wanted);
    struct search search = {text.text, wanted.text, to, wanted.length, true, false, &work};
    uint64_t place = search_run(&search);
    cx_string_work_end(&work);
    return place != COEX_STRING_NONE ? to - wanted.length - place : place;
}

/* At most `limit` times. */
static uint64_t search_count(struct cx_string_work *work, const struct cx_string_text *text, const struct cx_string_text *what,
                             uint64_t limit)
{
    uint64_t count = 0;
    for (uint64_t at = 0; count < limit; at += what->length) {
        at = cx_string_find(work, text, what, at);
        if (at == COEX_STRING_NONE) break;
        count++;
    }
    return count;
}

uint64_t coex_string_count(coex_handle s, coex_handle what)
{
    struct cx_string_text text, wanted;
    if (!cx_string_need(s, &text) || !cx_string_need(what, &wanted)) return 0;
    if (wanted.length == 0) return cx_fail(COEX_STATUS_RANGE);
    struct cx_string_work work = search_work(s, &text, what, &wanted);
    uint64_t count = search_count(&work, &text, &wanted, UINT64_MAX);
    cx_string_work_end(&work);
    return count;
}

/* Does `what` stand at an offset of `s`, counted from its beginning or its end? */
static bool search_stands(coex_handle s, coex_handle what, bool at_end)
{
    struct cx_string_text text, wanted;
    if (!cx_string_need(s, &text) || !cx_string_need(what, &wanted) || wanted.length > text.length) return false;
    struct cx_string_work work = cx_string_work(wanted.length);
    cx_string_hold(&work, s, &text);
    cx_string_hold(&work, what, &wanted);
    const char *at = text.text + (at_end ? text.length - wanted.length : 0);
    bool same = cx_string_order(&work, at, wanted.text, wanted.length) == 0;
    cx_string_work_end(&work);
    return same;
}

bool coex_string_starts_with(coex_handle s, coex_handle what) { return search_stands(s, what, false); }
bool coex_string_ends_with(coex_handle s, coex_handle what) { return search_stands(s, what, true); }

/* ---------------------------------------------------------------- replace */

/* What is replaced in what, and by what. */
struct replace {
    coex_handle s, what, with;
    struct cx_string_text text, wanted, other; /* of these */
    struct cx_string_work work;
};

static bool replace_open(struct replace *it)
{
    return cx_string_need(it->s, &it->text) && cx_string_need(it->what, &it->wanted) && cx_string_need(it->with, &it->other);
}

/* Holds all three for an operation on so many bytes. */
static void replace_begin(struct replace *it, uint64_t bytes)
{
    it->work = cx_string_work(bytes);
    cx_string_hold(&it->work, it->s, &it->text);
    cx_string_hold(&it->work, it->what, &it->wanted);
    cx_string_hold(&it->work, it->with, &it->other);
}

/* Writes the text with `other` in place of the first `count` places of `wanted`. */
static void replace_write(struct replace *it, char *to, uint64_t count)
{
    uint64_t from = 0;
    for (; count != 0; count--) {
        uint64_t at = cx_string_find(&it->work, &it->text, &it->wanted, from);
        to = cx_string_move(&it->work, to, it->text.text + from, at - from);
        to = cx_string_move(&it->work, to, it->other.text, it->other.length);
        from = at + it->wanted.length;
    }
    cx_string_move(&it->work, to, it->text.text + from, it->text.length - from);
}

/* Replaces `count` places, which there are. */
static coex_handle replace_make(struct replace *it, uint64_t count, bool ascii)
{
    uint64_t total;
    char *to;
    if (__builtin_mul_overflow(count, it->other.length, &total)) return cx_fail(COEX_STATUS_SIZE);
    if (__builtin_add_overflow(total, it->text.length - count * it->wanted.length, &total)) return cx_fail(COEX_STATUS_SIZE);
    coex_handle result = cx_string_alloc(total, ascii, &to);
    if (result == 0 || !replace_open(it)) return 0;
    replace_begin(it, total > it->text.length ? total : it->text.length);
    cx_string_pin(&it->work, result);
    replace_write(it, to, count);
    cx_string_work_end(&it->work);
    return result;
}

coex_handle coex_string_replace_some(coex_handle s, coex_handle what, coex_handle with, uint64_t limit)
{
    struct replace it = {.s = s, .what = what, .with = with};
    if (!replace_open(&it)) return 0;
    if (it.wanted.length == 0) return cx_fail(COEX_STATUS_RANGE);
    bool ascii = (cx_string_both(&it.text, &it.other) & CX_STRING_ASCII) != 0;
    replace_begin(&it, it.text.length);
    uint64_t count = search_count(&it.work, &it.text, &it.wanted, limit);
    cx_string_work_end(&it.work);
    return count == 0 ? s : replace_make(&it, count, ascii);
}

coex_handle coex_string_replace(coex_handle s, coex_handle what, coex_handle with)
{
    return coex_string_replace_some(s, what, with, UINT64_MAX);
}
