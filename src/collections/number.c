/* Writing numbers, see number.h. Pure functions.
 *
 * A double is written with Schubfach (Raffaello Giulietti, "The Schubfach way to render doubles", 2020): one look at a table of powers of
 * ten and three multiplications decide between at most four candidates; no loop, no big numbers, and exact. */
#include "collections/number.h"

#include "collections/number_powers.h"

#include <string.h>

/* --------------------------------------------------------------- integers */

static const char number_pairs[] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
    "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

static unsigned number_count_digits(uint64_t value)
{
    static const uint64_t powers[] = {0,
                                      10,
                                      100,
                                      1000,
                                      10000,
                                      100000,
                                      1000000,
                                      10000000,
                                      100000000,
                                      1000000000,
                                      10000000000,
                                      100000000000,
                                      1000000000000,
                                      10000000000000,
                                      100000000000000,
                                      1000000000000000,
                                      10000000000000000,
                                      100000000000000000,
                                      1000000000000000000,
                                      10000000000000000000u};
    unsigned guess = (64 - (unsigned)__builtin_clzll(value | 1)) * 1233 >> 12; /* 1233 / 4096 is a little less than log10(2) */
    return guess + (value >= powers[guess]);
}

/* Eight digits of a number below 10^8, all at once: four in each half, two in each quarter, one in each byte. */
static void number_put_eight(char *out, uint64_t value)
{
    uint64_t four = value / 10000 | (value % 10000) << 32;
    uint64_t two = (four * 10486 >> 20) & UINT64_C(0x0000007f0000007f); /* a hundredth of each */
    two |= (four - 100 * two) << 16;
    uint64_t one = (two * 103 >> 10) & UINT64_C(0x000f000f000f000f); /* a tenth of each */
    one |= (two - 10 * one) << 8;
    one += UINT64_C(0x3030303030303030);
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) one = __builtin_bswap64(one);
    memcpy(out, &one, 8);
}

unsigned cx_number_format_uint64(char *out, uint64_t value)
{
    unsigned count = number_count_digits(value), at = count;
    for (; value >= 100000000; value /= 100000000) {
        at -= 8;
        number_put_eight(out + at, value % 100000000);
    }
    while (value >= 100) {
        at -= 2;
        memcpy(out + at, number_pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10)
        memcpy(out, number_pairs + value * 2, 2);
    else
        out[0] = (char)('0' + value);
    return count;
}

unsigned cx_number_format_int64(char *out, int64_t value)
{
    if (value >= 0) return cx_number_format_uint64(out, (uint64_t)value);
    *out = '-';
    return 1 + cx_number_format_uint64(out + 1, 0 - (uint64_t)value);
}

unsigned cx_number_format_base(char *out, uint64_t value, unsigned base)
{
    char text[CX_NUMBER_INT_MAX];
    unsigned at = sizeof text;
    do {
        text[--at] = "0123456789abcdefghijklmnopqrstuvwxyz"[value % base];
        value /= base;
    } while (value != 0);
    memcpy(out, text + at, sizeof text - at);
    return (unsigned)sizeof text - at;
}

/* ---------------------------------------------------------------- doubles */

struct number_decimal {
    uint64_t digits;
    int exponent;
};

/* The upper half of power * factor, rounded to odd: its last bit is set if anything was lost, so that comparisons stay exact. */
static uint64_t number_scale(struct cx_number_power power, uint64_t factor)
{
    uint64_t low = (uint64_t)(((__uint128_t)power.low * factor) >> 64);
    __uint128_t high = (__uint128_t)power.high * factor + low;
    return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

/* The shortest decimal in the interval that rounds to significand * 2^exponent; the nearest of those. `narrow`: the double below is at half
 * the distance. In quarters of a unit of 10^k, lower and upper are the borders (outside if the significand is odd), value is in between. */
static struct number_decimal number_shortest(uint64_t significand, int exponent, bool narrow)
{
    uint64_t odd = significand & 1;
    /* floor(log10(2^exponent)), of 3/4 of it if narrow: 1262611 / 2^22 is log10(2), 524031 / 2^22 is log10(4/3) */
    int k = (int)(((int64_t)exponent * 1262611 - (narrow ? 524031 : 0)) >> 22);
    int shift = exponent + cx_number_log2(-k) + 1;
    struct cx_number_power power = cx_number_power_ceiling(-k);
    uint64_t lower = number_scale(power, (4 * significand - 2 + narrow) << shift) + odd;
    uint64_t value = number_scale(power, (4 * significand) << shift);
    uint64_t upper = number_scale(power, (4 * significand + 2) << shift) - odd;
    uint64_t unit = value / 4;
    if (unit >= 10) { /* one digit less? */
        uint64_t ten = unit / 10;
        bool below = lower <= 40 * ten, above = 40 * ten + 40 <= upper;
        if (below != above) return (struct number_decimal){ten + above, k + 1};
    }
    bool below = lower <= 4 * unit, above = 4 * unit + 4 <= upper;
    if (below != above) return (struct number_decimal){unit + above, k};
    uint64_t middle = 4 * unit + 2;
    return (struct number_decimal){unit + (value > middle || (value == middle && (unit & 1) != 0)), k};
}

/* A number of at most six decimals and fifteen digits, as most are: no two such are one double, so that one which gives this
 * double again is the shortest that does, but for zeros at its end. */
static bool number_is_short(double value, struct number_decimal *decimal)
{
    if (!(value >= 1e-3 && value < 1e9)) return false;
    uint64_t digits = (uint64_t)(value * 1e6 + 0.5);
    *decimal = (struct number_decimal){digits, -6};
    return (double)digits / 1e6 == value; /* both are exact, so that this is the double nearest to the decimal */
}

static struct number_decimal number_decimal_of(uint64_t fraction, int biased)
{
    uint64_t significand = biased != 0 ? fraction | (uint64_t)1 << 52 : fraction;
    int exponent = (biased != 0 ? biased : 1) - 1075;
    if (exponent <= 0 && exponent > -53 && (significand & (((uint64_t)1 << -exponent) - 1)) == 0)
        return (struct number_decimal){significand >> -exponent, 0}; /* an integer below 2^53 */
    return number_shortest(significand, exponent, fraction == 0 && biased > 1);
}

/* At most 32 bytes, quicker than a call. */
static void number_copy(char *out, const char *from, unsigned count)
{
    if (count >= 16) {
        memcpy(out, from, 16);
        memcpy(out + count - 16, from + count - 16, 16);
    } else if (count >= 8) {
        memcpy(out, from, 8);
        memcpy(out + count - 8, from + count - 8, 8);
    } else {
        for (unsigned i = 0; i < count; i++) out[i] = from[i];
    }
}

/* d.ddde±x */
static unsigned number_lay_out_scientific(char *out, const char *digits, unsigned count, int exponent)
{
    unsigned at = 0;
    out[at++] = digits[0];
    if (count > 1) {
        out[at++] = '.';
        memcpy(out + at, digits + 1, count - 1);
        at += count - 1;
    }
    out[at++] = 'e';
    return at + cx_number_format_int64(out + at, exponent);
}

/* `point` digits stand before the point; it may be outside of them. */
static unsigned number_lay_out(char *out, const char *digits, unsigned count, int point)
{
    if (point < -3 || point > 16) return number_lay_out_scientific(out, digits, count, point - 1);
    if (point <= 0) {
        unsigned zeros = (unsigned)-point + 2;
        memset(out, '0', zeros);
        out[1] = '.';
        memcpy(out + zeros, digits, count);
        return zeros + count;
    }
    unsigned before = (unsigned)point;
    if (count <= before) {
        memcpy(out, digits, count);
        memset(out + count, '0', before - count);
        memcpy(out + before, ".0", 2);
        return before + 2;
    }
    number_copy(out, digits, before);
    number_copy(out + before + 1, digits + before, count - before);
    out[before] = '.';
    return count + 1;
}

static unsigned number_word(char *out, const char *word)
{
    unsigned length = (unsigned)strlen(word);
    memcpy(out, word, length);
    return length;
}

unsigned cx_number_format_double(char *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    int biased = (int)(bits >> 52 & 0x7ff);
    if (biased == 0x7ff && fraction != 0) return number_word(out, "nan");
    unsigned sign = (unsigned)(bits >> 63);
    if (sign != 0) *out++ = '-';
    if (biased == 0x7ff) return sign + number_word(out, "inf");
    if (fraction == 0 && biased == 0) return sign + number_word(out, "0.0");
    struct number_decimal decimal;
    if (!number_is_short(sign != 0 ? -value : value, &decimal)) decimal = number_decimal_of(fraction, biased);
    char digits[CX_NUMBER_INT_MAX];
    unsigned count = cx_number_format_uint64(digits, decimal.digits);
    int point = (int)count + decimal.exponent;
    while (count > 1 && digits[count - 1] == '0') count--;
    return sign + number_lay_out(out, digits, count, point);
}
