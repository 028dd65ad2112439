/* Tokens of JSON text: where they end and what they are. Knows nothing of grammar, and nothing of the heap.
 *
 * Text comes in windows. A token that reaches the end of a window which is not the last is *cut*: nothing is known of it yet but
 * what struct json_scan remembers, so that scanning goes on where it was when there is more, and each byte is looked at once. */
#ifndef CX_VALUES_JSON_JSON_SCAN_H
#define CX_VALUES_JSON_JSON_SCAN_H

#include "values/number/number.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum json_found {
    JSON_FOUND,
    JSON_CUT,  /* the window ends in it */
    JSON_WRONG /* *at is where, `expected` is what */
};

struct json_scan {
    uint64_t done;    /* bytes of the token that are known to be right already */
    uint64_t shorter; /* so many bytes less than in the text has the string when escapes are replaced */
    bool ascii;       /* the string has no byte, and no escape, beyond 127 */
    bool pad[7];
    const char *expected;
};

static inline void json_scan_begin(struct json_scan *scan) { *scan = (struct json_scan){.ascii = true}; }

/* Are the next eight bytes there, and spaces? */
static inline bool json_is_eight_spaces(const char *at, const char *end)
{
    uint64_t word;
    if (end - at < 8) return false;
    memcpy(&word, at, 8);
    return word == UINT64_C(0x2020202020202020);
}

/* White space ends here, or the window. */
static inline const char *json_skip_space(const char *at, const char *end)
{
    while (at < end && (unsigned char)*at <= ' ' && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
        at++;
        while (json_is_eight_spaces(at, end)) at += 8;
    }
    return at;
}

/* 1: a byte that is not simply part of a string: quote, backslash, control characters, all beyond ASCII. */
extern const unsigned char cx_json_special[256];

/* The first special byte, or the end. */
#if defined(__SSE2__)
static inline const char *json_skip_plain(const char *at, const char *end)
{
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1f);
    for (; end - at >= 16; at += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash));
        __m128i low = _mm_cmpeq_epi8(_mm_max_epu8(bytes, control), control);
        /* The mask takes the top bit of each byte, which in `bytes` itself says "not ASCII". */
        unsigned mask = (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(ends, low), bytes));
        if (mask != 0) return at + __builtin_ctz(mask);
    }
    while (at < end && cx_json_special[(unsigned char)*at] == 0) at++;
    return at;
}
#else
static inline uint64_t json_zero_bytes(uint64_t word) /* top bit of each byte that is 0, and perhaps of others behind it */
{
    return (word - UINT64_C(0x0101010101010101)) & ~word & UINT64_C(0x8080808080808080);
}

static inline const char *json_skip_plain(const char *at, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        uint64_t low = (word - ones * 0x20) & ~word; /* with ASCII only: below 32 */
        if (((word | low) & (ones * 0x80)) != 0 || json_zero_bytes(word ^ ones * '"') != 0 ||
            json_zero_bytes(word ^ ones * '\\') != 0)
            break;
    }
    while (at < end && cx_json_special[(unsigned char)*at] == 0) at++;
    return at;
}
#endif

/* The rest of a string from its first special byte on. *at is behind the opening quote; on FOUND, it is at the closing one.
 * `flags`: those of options; `last`: nothing comes behind `end`. */
enum json_found cx_json_scan_string(struct json_scan *scan, const char **at, const char *end, bool last, uint32_t flags);

static inline enum json_found json_scan_string(struct json_scan *scan, const char **at, const char *end, bool last, uint32_t flags)
{
    const char *stop = json_skip_plain(*at + scan->done, end);
    if (stop < end && *stop == '"') {
        *at = stop;
        return JSON_FOUND;
    }
    scan->done = (uint64_t)(stop - *at);
    return cx_json_scan_string(scan, at, end, last, flags);
}

/* Writes the text of a string (without quotes, scanned already) with its escapes replaced, which makes it so many bytes. */
void cx_json_unescape(char *out, uint64_t bytes, const char *at, const char *end);

/* A number: *at is at its first byte, and on FOUND behind its last. */
enum json_found cx_json_scan_number(struct json_scan *scan, const char **at, const char *end, bool last, struct cx_number *number);

/* The same, quick for those of up to 19 digits that are whole within the window. */
static inline enum json_found json_scan_number(struct json_scan *scan, const char **from, const char *end, bool last,
                                               struct cx_number *number)
{
    const char *at = *from, *first, *point;
    if (scan->done != 0) return cx_json_scan_number(scan, from, end, last, number);
    uint64_t digits = 0;
    int64_t exponent = 0;
    bool integer = true;
    bool negative = *at == '-';
    at += negative;
    first = at;
    for (; at < end && (unsigned)(*at - '0') < 10; at++) digits = digits * 10 + (uint64_t)(*at - '0');
    int64_t count = at - first;
    if (count == 0 || at == end || (*first == '0' && count > 1)) return cx_json_scan_number(scan, from, end, last, number);
    if (*at == '.') {
        point = ++at;
        for (; at < end && (unsigned)(*at - '0') < 10; at++) digits = digits * 10 + (uint64_t)(*at - '0');
        if (at == point || at == end) return cx_json_scan_number(scan, from, end, last, number);
        exponent = point - at;
        count += at - point;
        integer = false;
    }
    if (count > 19 || (*at | 0x20) == 'e') return cx_json_scan_number(scan, from, end, last, number);
    number->digits = digits;
    number->exponent = exponent;
    number->negative = negative;
    number->integer = integer;
    number->cut = false;
    *from = at;
    return JSON_FOUND;
}

/* null, true, false. */
static inline enum json_found json_scan_literal(struct json_scan *scan, const char **at, const char *end, bool last,
                                                const char *text, uint64_t bytes)
{
    uint64_t same = 0, there = (uint64_t)(end - *at);
    while (same < bytes && same < there && (*at)[same] == text[same]) same++;
    if (same == bytes) {
        *at += bytes;
        return JSON_FOUND;
    }
    if (same == there && !last) return JSON_CUT;
    *at += same;
    scan->expected = text;
    return JSON_WRONG;
}

#endif
