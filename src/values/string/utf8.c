/* UTF-8: checking, reading, writing, counting. Pure functions; the table is that of RFC 3629, section 4. */
#include "values/string/string.h"

#include <string.h>

#define UTF8_HIGH UINT64_C(0x8080808080808080)
#define UTF8_LOW  UINT64_C(0x0101010101010101)
/* The first byte of a word in memory is its lowest. */
#define UTF8_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* How many continuation bytes a first byte wants (0: it is no first byte of several), and in which range the next one must be: the
 * others, from 0x80 to 0xbf, follow. */
static unsigned utf8_expect(unsigned char first, unsigned char *low, unsigned char *high)
{
    *low = 0x80;
    *high = 0xbf;
    if (first < 0xc2) return 0;
    if (first < 0xe0) return 1;
    if (first < 0xf0) {
        if (first == 0xe0) *low = 0xa0;  /* below it would be overlong */
        if (first == 0xed) *high = 0x9f; /* surrogates */
        return 2;
    }
    if (first == 0xf0) *low = 0x90;
    if (first == 0xf4) *high = 0x8f; /* U+10FFFF is the last */
    return first < 0xf5 ? 3 : 0;
}

unsigned cx_utf8_take(const char *at, uint64_t count, bool *whole)
{
    const unsigned char *byte = (const unsigned char *)at;
    unsigned char low, high;
    *whole = true;
    if (byte[0] < 0x80) return 1;
    unsigned wanted = utf8_expect(byte[0], &low, &high), got = 0;
    while (got < wanted && got + 1 < count && byte[got + 1] >= low && byte[got + 1] <= high) {
        got++;
        low = 0x80;
        high = 0xbf;
    }
    *whole = wanted != 0 && got == wanted;
    return got + 1;
}

/* Behind the ASCII that begins at `at`. */
static uint64_t utf8_skip_ascii(const char *bytes, uint64_t at, uint64_t count)
{
    uint64_t words[4];
    for (; count - at >= 8; at += 8) {
        memcpy(words, bytes + at, 8);
        uint64_t high = words[0] & UTF8_HIGH;
        if (UTF8_LITTLE_ENDIAN && high != 0) return at + (unsigned)__builtin_ctzll(high) / 8;
        if (high != 0) break;
        for (; count - at >= 40; at += 32) { /* a long run */
            memcpy(words, bytes + at + 8, 32);
            if (((words[0] | words[1] | words[2] | words[3]) & UTF8_HIGH) != 0) break;
        }
    }
    while (at < count && (unsigned char)bytes[at] < 0x80) at++;
    return at;
}

/* Bytes of the character that begins at `at` and is not ASCII; 0 if there is none. The same as cx_utf8_take, in fewer steps. */
static unsigned utf8_step(const char *at, uint64_t count)
{
    const unsigned char *byte = (const unsigned char *)at;
    if (byte[0] < 0xe0) return byte[0] >= 0xc2 && count >= 2 && cx_utf8_continues(at[1]) ? 2 : 0;
    if (byte[0] < 0xf0) {
        if (count < 3 || !cx_utf8_continues(at[1]) || !cx_utf8_continues(at[2])) return 0;
        uint32_t first = (uint32_t)(byte[0] & 15) << 6 | (byte[1] & 0x3f); /* of 12 + 6 bits, without the last 6 */
        return first >= 0x800 >> 6 && (first < 0xd800 >> 6 || first > 0xdfff >> 6) ? 3 : 0;
    }
    if (count < 4 || !cx_utf8_continues(at[1]) || !cx_utf8_continues(at[2]) || !cx_utf8_continues(at[3])) return 0;
    uint32_t first = (uint32_t)(byte[0] & 15) << 6 | (byte[1] & 0x3f); /* without the last 12; from 0xf8 on it is too large */
    return first >= 0x10000 >> 12 && first <= 0x10ffff >> 12 ? 4 : 0;
}

uint64_t cx_utf8_scan(const char *bytes, uint64_t count, bool *ascii)
{
    uint64_t at = utf8_skip_ascii(bytes, 0, count);
    *ascii = at == count;
    while (at < count) {
        do {
            unsigned step = utf8_step(bytes + at, count - at);
            if (step == 0) return at;
            at += step;
        } while (at < count && (unsigned char)bytes[at] >= 0x80);
        at = utf8_skip_ascii(bytes, at, count);
    }
    return at;
}

bool coex_utf8_check(const void *bytes, uint64_t count, uint64_t *where)
{
    bool ascii;
    uint64_t good = count == 0 ? 0 : cx_utf8_scan(bytes, count, &ascii);
    if (good != count && where != NULL) *where = good;
    return good == count;
}

uint32_t cx_utf8_read(const char *at, unsigned *bytes)
{
    const unsigned char *byte = (const unsigned char *)at;
    if (byte[0] < 0x80) {
        *bytes = 1;
        return byte[0];
    }
    unsigned more = byte[0] < 0xe0 ? 1 : byte[0] < 0xf0 ? 2 : 3;
    uint32_t character = byte[0] & (0x3fu >> more);
    for (unsigned i = 1; i <= more; i++) character = character << 6 | (byte[i] & 0x3f);
    *bytes = more + 1;
    return character;
}

unsigned cx_utf8_write(char *out, uint32_t character)
{
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    unsigned more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(first[more] | character >> (6 * more));
    for (unsigned i = 1; i <= more; i++) out[i] = (char)(0x80 | (character >> (6 * (more - i)) & 0x3f));
    return more + 1;
}

/* Eight bytes at a time: a byte continues if its bits are 10…. Sums of bytes can't overflow within 31 words of 8 ones. */
uint64_t cx_utf8_count(const char *text, uint64_t bytes)
{
    uint64_t continuing = 0, at = 0;
    while (bytes - at >= 8) {
        uint64_t sums = 0;
        for (unsigned i = 0; i < 31 && bytes - at >= 8; i++, at += 8) {
            uint64_t word;
            memcpy(&word, text + at, 8);
            sums += (word >> 7) & ~(word >> 6) & UTF8_LOW;
        }
        continuing += (sums * UTF8_LOW) >> 56;
    }
    for (; at < bytes; at++) continuing += cx_utf8_continues(text[at]);
    return bytes - continuing;
}
