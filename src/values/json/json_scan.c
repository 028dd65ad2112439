/* See json_scan.h: what is not on the quick way. */
#include "values/json/json_scan.h"

#include "values/string/string.h"

#include <coex/values/json.h>

/* Rows of sixteen. */
#define JSON_ONES 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
const unsigned char cx_json_special[256] = {JSON_ONES, JSON_ONES, [0x22] = 1, [0x5c] = 1, [0x80] = JSON_ONES, JSON_ONES,
                                            JSON_ONES, JSON_ONES, JSON_ONES,  JSON_ONES,  JSON_ONES,          JSON_ONES};

static enum json_found json_wrong(struct json_scan *scan, const char **at, const char *where, const char *expected)
{
    scan->expected = expected;
    *at = where;
    return JSON_WRONG;
}

/* ---------------------------------------------------------------- strings */

/* What stands for what behind a backslash; 0: nothing. */
static const char json_escapes[256] = {
    ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'};

static int json_hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Four hexadecimal digits. On WRONG or CUT, *at is where. */
static enum json_found json_scan_hex(const char **at, const char *end, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++, ++*at) {
        if (*at == end) return JSON_CUT;
        int digit = json_hex(**at);
        if (digit < 0) return JSON_WRONG;
        *value = *value << 4 | (uint32_t)digit;
    }
    return JSON_FOUND;
}

static bool json_is_high(uint32_t unit) { return (unit & 0xfc00) == 0xd800; }
static bool json_is_low(uint32_t unit) { return (unit & 0xfc00) == 0xdc00; }
static uint32_t json_pair(uint32_t high, uint32_t low) { return 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff); }

static unsigned json_utf8_bytes(uint32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

/* What comes behind \u: the character, and *at behind it. Half a pair is U+FFFD; *half says so. */
static enum json_found json_scan_unicode(const char **at, const char *end, uint32_t *character, bool *half)
{
    uint32_t low;
    enum json_found found = json_scan_hex(at, end, character);
    *half = false;
    if (found != JSON_FOUND || (!json_is_high(*character) && !json_is_low(*character))) return found;
    if (json_is_high(*character)) {
        const char *next = *at;
        if (next == end || (*next == '\\' && next + 1 == end)) return JSON_CUT;
        if (next[0] == '\\' && next[1] == 'u') {
            next += 2;
            found = json_scan_hex(&next, end, &low);
            if (found == JSON_CUT) return found;
            if (found == JSON_FOUND && json_is_low(low)) {
                *character = json_pair(*character, low);
                *at = next;
                return found;
            }
        }
    }
    *character = 0xfffd;
    *half = true;
    return JSON_FOUND;
}

/* *at is at a backslash, and on FOUND behind the escape. A cut one is looked at again as a whole. */
static enum json_found json_scan_escape(struct json_scan *scan, const char **at, const char *end, bool last, uint32_t flags)
{
    const char *here = *at + 1;
    if (here == end) return last ? json_wrong(scan, at, end, "an escape") : JSON_CUT;
    if (*here != 'u') {
        if (json_escapes[(unsigned char)*here] == 0) return json_wrong(scan, at, here, "one of \"\\/bfnrtu");
        *at = here + 1;
        scan->shorter++;
        return JSON_FOUND;
    }
    uint32_t character;
    bool half;
    here++;
    enum json_found found = json_scan_unicode(&here, end, &character, &half);
    if (found == JSON_CUT && !last) return found;
    if (found == JSON_CUT) return json_wrong(scan, at, end, "the rest of an escape");
    if (found == JSON_WRONG) return json_wrong(scan, at, here, "a hexadecimal digit");
    if (half && (flags & COEX_JSON_REPLACE) == 0) return json_wrong(scan, at, *at, "both halves of a surrogate pair");
    scan->ascii &= character < 0x80;
    scan->shorter += (uint64_t)(here - *at) - json_utf8_bytes(character);
    *at = here;
    return JSON_FOUND;
}

/* Bytes beyond ASCII from `at` on, as far as they are whole characters. *cut: what is left may be the beginning of one. */
static const char *json_scan_utf8(const char *at, const char *end, bool *cut)
{
    const unsigned char *c = (const unsigned char *)at, *stop = (const unsigned char *)end;
    *cut = false;
    while (c < stop && *c >= 0x80) {
        unsigned length = *c >= 0xf0 ? 4 : *c >= 0xe0 ? 3 : 2;
        if (*c < 0xc2 || *c > 0xf4) break;
        if (c + 1 < stop) { /* the second byte has the narrower range */
            unsigned char least = *c == 0xe0 ? 0xa0 : *c == 0xf0 ? 0x90 : 0x80, most = *c == 0xed ? 0x9f : *c == 0xf4 ? 0x8f : 0xbf;
            if (c[1] < least || c[1] > most) break;
        }
        unsigned there = (uint64_t)(stop - c) < length ? (unsigned)(stop - c) : length, good = 2;
        while (good < there && (c[good] & 0xc0) == 0x80) good++;
        if (good < there) break;
        *cut = there < length;
        if (*cut) break;
        c += length;
    }
    return (const char *)c;
}

/* The part of a string that begins with a special byte which is not the closing quote. */
static enum json_found json_scan_special(struct json_scan *scan, const char **at, const char *end, bool last, uint32_t flags)
{
    unsigned char c = (unsigned char)**at;
    if (c == '\\') return json_scan_escape(scan, at, end, last, flags);
    if (c < 0x20) return json_wrong(scan, at, *at, "an escape instead of a control character");
    bool cut;
    const char *stop = json_scan_utf8(*at, end, &cut);
    scan->ascii = false;
    if (cut && !last) {
        *at = stop;
        return JSON_CUT;
    }
    if (stop == *at || cut) return json_wrong(scan, at, stop, "valid UTF-8");
    *at = stop;
    return JSON_FOUND;
}

enum json_found cx_json_scan_string(struct json_scan *scan, const char **at, const char *end, bool last, uint32_t flags)
{
    const char *here = *at + scan->done;
    for (;;) {
        here = json_skip_plain(here, end);
        if (here == end) {
            if (last) return json_wrong(scan, at, end, "the closing quote of a string");
            scan->done = (uint64_t)(here - *at);
            return JSON_CUT;
        }
        if (*here == '"') {
            *at = here;
            return JSON_FOUND;
        }
        if (*here == '\\' && here + 1 < end && json_escapes[(unsigned char)here[1]] != 0) { /* most escapes are like this */
            here += 2;
            scan->shorter++;
            continue;
        }
        enum json_found found = json_scan_special(scan, &here, end, last, flags);
        if (found == JSON_CUT) scan->done = (uint64_t)(here - *at);
        if (found == JSON_WRONG) *at = here;
        if (found != JSON_FOUND) return found;
    }
}

/* The character of an escape \u that is scanned; *at is behind the u, and then behind all of it. */
static uint32_t json_unescape_unicode(const char **at, const char *end)
{
    uint32_t character;
    bool half;
    enum json_found found = json_scan_unicode(at, end, &character, &half);
    return found == JSON_FOUND ? character : 0xfffd; /* the string ends behind a first half */
}

/* Copies up to the next backslash or the end; returns where that is. `room` is behind all that will ever be written: blocks may
 * be copied up to there. */
static const char *json_copy_plain(char **to, const char *room, const char *at, const char *end)
{
    char *out = *to;
    while (end - at >= 8 && room - out >= 8) {
        uint64_t word, differ;
        memcpy(&word, at, 8);
        memcpy(out, &word, 8);
        differ = word ^ UINT64_C(0x5c5c5c5c5c5c5c5c);
        if (((differ - UINT64_C(0x0101010101010101)) & ~differ & UINT64_C(0x8080808080808080)) != 0) break;
        at += 8;
        out += 8;
    }
    while (at < end && *at != '\\') *out++ = *at++;
    *to = out;
    return at;
}

void cx_json_unescape(char *out, uint64_t bytes, const char *at, const char *end)
{
    const char *room = out + bytes;
    while ((at = json_copy_plain(&out, room, at, end)) < end) {
        char c = at[1];
        at += 2;
        if (c == 'u')
            out += cx_utf8_write(out, json_unescape_unicode(&at, end));
        else
            *out++ = json_escapes[(unsigned char)c];
    }
}

/* ---------------------------------------------------------------- numbers */

static bool json_is_of_number(char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || (c | 0x20) == 'e'; }

enum json_found cx_json_scan_number(struct json_scan *scan, const char **at, const char *end, bool last, struct cx_number *number)
{
    if (!last) { /* is it whole? */
        const char *stop = *at + scan->done;
        while (stop < end && json_is_of_number(*stop)) stop++;
        scan->done = (uint64_t)(stop - *at);
        if (stop == end) return JSON_CUT;
    }
    const char *wrong = *at;
    bool zero = **at == '0' || (**at == '-' && end - *at > 1 && (*at)[1] == '0');
    const char *stop = cx_number_scan(*at, end, CX_NUMBER_JSON, number, &wrong);
    if (stop != NULL) {
        *at = stop;
        return JSON_FOUND;
    }
    bool leading = zero && wrong < end && *wrong >= '0' && *wrong <= '9';
    return json_wrong(scan, at, wrong, leading ? "no digit after a leading zero" : "a digit");
}
