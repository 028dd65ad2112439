/* Strings: searching and replacing. Entered by any managed thread.
 *
 * A search looks for the first byte and compares; that is fast for all but strange texts ("aaaa…b" in "aaaa…"). It counts what comparing in vain
 * has cost, and when that is more than the way it has come, it goes on with the keyed rolling hash of Karp and Rabin, modulo 2^61 - 1:
 * linear time for any text, no memory, and nobody outside can make hashes collide. UTF-8 found in UTF-8 begins between characters. */
#include "collections/string.h"

#include <string.h>

#define SEARCH_PRIME ((UINT64_C(1) << 61) - 1)

enum { SEARCH_PATIENCE = 256 }; /* bytes compared in vain that are no reason to worry, in all and for each byte of the way / 8 */

/* What is looked for, and where. Both are read from the end backwards for the last place. */
struct search {
    const char *text, *what;
    uint64_t length, wanted; /* bytes of text and what; 0 < wanted <= length */
    bool backwards;
    bool lower; /* A to Z are a to z */
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
    if (!search->lower) return memcmp(at, search->what, search->wanted) == 0;
    for (uint64_t i = 0; i < search->wanted; i++) {
        if (search_lower(at[i]) != search_lower(search->what[i])) return false;
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
    }
    for (;; place++) {
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
static uint64_t search_candidate(const struct search *search, uint64_t place, uint64_t last)
{
    if (!search->backwards && !search->lower) {
        const char *at = memchr(search->text + place, search->what[0], last - place + 1);
        return at != NULL ? (uint64_t)(at - search->text) : last + 1;
    }
    unsigned char first = search_byte(search, search->what, search->wanted, 0);
    while (place <= last && search_byte(search, search->text, search->length, place) != first) place++;
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

static uint64_t search_first(const struct cx_string_text *text, const struct cx_string_text *what, uint64_t from, bool lower)
{
    if (what->length == 0) return from;
    if (what->length > text->length - from) return COEX_STRING_NONE;
    struct search search = {text->text + from, what->text, text->length - from, what->length, false, lower};
    uint64_t place = search_run(&search);
    return place != COEX_STRING_NONE ? from + place : place;
}

uint64_t cx_string_find(const struct cx_string_text *text, const struct cx_string_text *what, uint64_t from)
{
    return search_first(text, what, from, false);
}

/* ------------------------------------------------------------------- find */

static uint64_t search_none(coex_status status)
{
    cx_fail(status);
    return COEX_STRING_NONE;
}

static uint64_t search_find(coex_handle s, coex_handle what, uint64_t from, bool lower)
{
    struct cx_string_text text, wanted;
    if (!cx_string_need(s, &text) || !cx_string_need(what, &wanted)) return COEX_STRING_NONE;
    if (from > text.length) return search_none(COEX_STATUS_RANGE);
    if (!cx_string_is_boundary(&text, from)) return search_none(COEX_STATUS_TEXT);
    return search_first(&text, &wanted, from, lower);
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
    struct search search = {text.text, wanted.text, to, wanted.length, true, false};
    uint64_t place = search_run(&search);
    return place != COEX_STRING_NONE ? to - wanted.length - place : place;
}

/* At most `limit` times. */
static uint64_t search_count(const struct cx_string_text *text, const struct cx_string_text *what, uint64_t limit)
{
    uint64_t count = 0;
    for (uint64_t at = 0; count < limit; at += what->length) {
        at = cx_string_find(text, what, at);
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
    return search_count(&text, &wanted, UINT64_MAX);
}

bool coex_string_starts_with(coex_handle s, coex_handle what)
{
    struct cx_string_text text, wanted;
    if (!cx_string_need(s, &text) || !cx_string_need(what, &wanted)) return false;
    return wanted.length <= text.length && memcmp(text.text, wanted.text, wanted.length) == 0;
}

bool coex_string_ends_with(coex_handle s, coex_handle what)
{
    struct cx_string_text text, wanted;
    if (!cx_string_need(s, &text) || !cx_string_need(what, &wanted)) return false;
    return wanted.length <= text.length && memcmp(text.text + text.length - wanted.length, wanted.text, wanted.length) == 0;
}

/* ---------------------------------------------------------------- replace */

/* Writes `text` with `with` in place of the first `count` places of `what`. */
static void search_write(char *to, const struct cx_string_text *text, const struct cx_string_text *what,
                         const struct cx_string_text *with, uint64_t count)
{
    uint64_t from = 0;
    for (; count != 0; count--) {
        uint64_t at = cx_string_find(text, what, from);
        memcpy(to, text->text + from, at - from);
        to += at - from;
        memcpy(to, with->text, with->length);
        to += with->length;
        from = at + what->length;
    }
    memcpy(to, text->text + from, text->length - from);
}

coex_handle coex_string_replace_some(coex_handle s, coex_handle what, coex_handle with, uint64_t limit)
{
    struct cx_string_text text, wanted, other;
    uint64_t total;
    char *to;
    if (!cx_string_need(s, &text) || !cx_string_need(what, &wanted) || !cx_string_need(with, &other)) return 0;
    if (wanted.length == 0) return cx_fail(COEX_STATUS_RANGE);
    uint64_t count = search_count(&text, &wanted, limit);
    if (count == 0) return s;
    if (__builtin_mul_overflow(count, other.length, &total)) return cx_fail(COEX_STATUS_SIZE);
    if (__builtin_add_overflow(total, text.length - count * wanted.length, &total)) return cx_fail(COEX_STATUS_SIZE);
    coex_handle result = cx_string_alloc(total, (cx_string_both(&text, &other) & CX_STRING_ASCII) != 0, &to);
    if (result == 0 || !cx_string_open(s, &text) || !cx_string_open(what, &wanted) || !cx_string_open(with, &other)) return 0;
    search_write(to, &text, &wanted, &other, count);
    return result;
}

coex_handle coex_string_replace(coex_handle s, coex_handle what, coex_handle with)
{
    return coex_string_replace_some(s, what, with, UINT64_MAX);
}
