/* Writing numbers, see number.h. Pure functions.
 *
 * A double is written with Schubfach (Raffaello Giulietti, "The Schubfach way to render doubles", 2020): one look at a table of powers of
 * ten and three multiplications decide between at most four candidates; no loop, no big numbers, and exact. Before that, one of these
 * multiplications is tried alone: it decides unless two things are closer to each other than it is exact, which hardly ever happens.
 *
 * Digits are made eight at a time, one in each byte of a word, the first in the lowest byte; zeros before and behind them are counted in
 * that word, and the words are stored where the text goes, over each other where the point comes between. So there is little to branch on:
 * which digits a number has is what no processor predicts. */
#include "values/number/number.h"

#include "values/number/number_powers.h"

#include <string.h>

#define NUMBER_E8  UINT64_C(100000000)
#define NUMBER_E15 UINT64_C(1000000000000000)

/* ------------------------------------------------------------------- words */

static inline void number_store(char *out, uint64_t word)
{
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) word = __builtin_bswap64(word);
    memcpy(out, &word, 8);
}

static inline uint64_t number_as_text(uint64_t eight) { return eight + UINT64_C(0x3030303030303030); }

/* Eight digits of a number below 10^8, all at once: four in each half, two in each quarter, one in each byte. Each step splits x into
 * q = x / n in the lower part and x - n * q in the upper: (x << bits) - q * ((n << bits) - 1). */
static inline __attribute__((always_inline)) uint64_t number_eight(uint64_t value)
{
    uint64_t four = (value << 32) - value / 10000 * (((uint64_t)10000 << 32) - 1);
    uint64_t hundredth = (four * 10486 >> 20) & UINT64_C(0x0000007f0000007f);
    uint64_t two = (four << 16) - hundredth * ((100 << 16) - 1);
    uint64_t tenth = (two * 103 >> 10) & UINT64_C(0x000f000f000f000f);
    return (two << 8) - tenth * ((10 << 8) - 1);
}

/* --------------------------------------------------------------- integers */

/* A number below 10^8 without zeros before it. Writes eight bytes. */
static unsigned number_put_first(char *out, uint64_t value)
{
    uint64_t eight = number_eight(value);
    unsigned zeros = (unsigned)__builtin_ctzll(eight | (uint64_t)1 << 56) / 8; /* the last digit is there even if it is 0 */
    number_store(out, number_as_text(eight) >> 8 * zeros);
    return 8 - zeros;
}

unsigned cx_number_format_uint64(char *out, uint64_t value)
{
    if (value < NUMBER_E8) return number_put_first(out, value);
    uint64_t upper = value / NUMBER_E8;
    unsigned count = upper < NUMBER_E8 ? number_put_first(out, upper) : number_put_first(out, upper / NUMBER_E8);
    if (upper >= NUMBER_E8) {
        number_store(out + count, number_as_text(number_eight(upper % NUMBER_E8)));
        count += 8;
    }
    number_store(out + count, number_as_text(number_eight(value % NUMBER_E8)));
    return count + 8;
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

/* digits * 10^scale; there may be zeros at the end of the digits, of which there are 16 or 17. */
struct number_decimal {
    uint64_t digits;
    int scale;
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
        if (below != above) return (struct number_decimal){10 * (ten + above), k};
    }
    bool below = lower <= 4 * unit, above = 4 * unit + 4 <= upper;
    if (below != above) return (struct number_decimal){unit + above, k};
    uint64_t middle = 4 * unit + 2;
    return (struct number_decimal){unit + (value > middle || (value == middle && (unit & 1) != 0)), k};
}

/* Any finite double that is not 0. */
static __attribute__((noinline)) struct number_decimal number_decimal_of(uint64_t fraction, int biased)
{
    uint64_t significand = biased != 0 ? fraction | (uint64_t)1 << 52 : fraction;
    struct number_decimal decimal = number_shortest(significand, (biased != 0 ? biased : 1) - 1075, fraction == 0 && biased > 1);
    for (; decimal.digits < NUMBER_E15; decimal.scale--) decimal.digits *= 10; /* subnormal */
    return decimal;
}

/* The same with less work, for nearly all doubles: both neighbours are at the same distance, and nothing is close. False: not known.
 *
 * The product is the value in units of 10^k, with 64 bits behind the point; what the power and the product lose is less than two of the
 * last of these, because the factor is below 2^57. A double's interval reaches `half` to both sides, from 1/2 up to 5 units. So a multiple
 * of ten units that is inside is the only one, all shorter decimals are such multiples, and otherwise the nearest unit is inside and is
 * the shortest. Distances are in 2^-60 of a unit, each less than two off: what is decided by more than eight is right, whether the
 * borders belong to the interval or not. */
static inline bool number_decimal_quickly(uint64_t fraction, int biased, struct number_decimal *decimal)
{
    enum { CLOSE = 8 };
    int exponent = biased - 1075;
    int k = (exponent * 1262611) >> 22, shift = exponent + cx_number_log2(-k) + 1; /* 1 to 4 */
    struct cx_number_power power = cx_number_power_floor(-k);
    uint64_t factor = (fraction | (uint64_t)1 << 52) << shift;
    __uint128_t product = (__uint128_t)power.high * factor + (uint64_t)(((__uint128_t)power.low * factor) >> 64);
    uint64_t unit = (uint64_t)(product >> 64), behind = (uint64_t)product, half = power.high >> (5 - shift);
    uint64_t ones = unit % 10, over = ones << 60 | behind >> 4, under = ((uint64_t)10 << 60) - over;
    bool above = under < over;
    uint64_t away = above ? under : over;
    uint64_t ten = unit - ones + (above ? 10 : 0), one = unit + (behind >> 63);
    *decimal = (struct number_decimal){away < half ? ten : one, k};
    bool close = away - half + CLOSE <= 2 * CLOSE;
    bool even = behind - ((uint64_t)1 << 63) + CLOSE <= 2 * CLOSE; /* as near to the unit below as to the one above */
    return !close & !even & (fraction != 0) & (biased != 0);
}

/* 17 digits, of which the first may be 0. */
struct number_digits {
    uint64_t head;          /* one */
    uint64_t first, second; /* eight each, one in each byte */
    unsigned count;         /* of these sixteen, without zeros at the end, but 1 if there is nothing else */
    int point;              /* before that many of the sixteen */
};

/* Any place of the point. */
static unsigned number_put_far_point(char *out, const struct number_digits *from)
{
    char digits[32]; /* without a 0 at the beginning */
    unsigned more = from->head != 0, count = from->count + more - ((from->first | from->second) == 0);
    int point = from->point + (int)more;
    digits[0] = (char)('0' + from->head);
    number_store(digits + more, number_as_text(from->first));
    number_store(digits + more + 8, number_as_text(from->second));
    memset(digits + more + 16, '0', 15);
    if (point < -3 || point > 16) { /* d.ddde±x */
        out[0] = digits[0];
        out[1] = '.';
        memcpy(out + 2, digits + 1, 16);
        unsigned at = count > 1 ? count + 1 : 1;
        out[at++] = 'e';
        return at + cx_number_format_int64(out + at, point - 1);
    }
    if (point <= 0) {
        unsigned zeros = (unsigned)-point + 2;
        memcpy(out, "0.000", 5);
        memcpy(out + zeros, digits, 17);
        return zeros + count;
    }
    unsigned before = (unsigned)point;
    memcpy(out, digits, 16);
    out[before] = '.';
    memcpy(out + before + 1, digits + before, 12); /* at least 8 are before it */
    return 1 + (count > before ? count : before + 1);
}

/* The point before one of the first eight, as in numbers from 0.1 to 10^8: all digits where they are behind it, then those that are before
 * it over them. */
static inline unsigned number_put_near_point(char *out, const struct number_digits *from)
{
    unsigned point = (unsigned)from->point, more = (from->head != 0) | (point == 0); /* a single 0 before the point stays */
    uint64_t first = number_as_text(from->first), before = ((uint64_t)1 << 8 * point) - 1;
    out[0] = (char)('0' + from->head);
    out += more;
    number_store(out + 1, first);
    number_store(out + 9, number_as_text(from->second));
    number_store(out, (first & before) | (first & ~before) << 8 | (uint64_t)'.' << 8 * point);
    return more + 1 + (from->count > point ? from->count : point + 1); /* a digit behind the point at least */
}

static inline unsigned number_put_decimal(char *out, struct number_decimal decimal)
{
    uint64_t nine = decimal.digits / NUMBER_E8, head = nine / NUMBER_E8;
    uint64_t first = number_eight(nine % NUMBER_E8), second = number_eight(decimal.digits % NUMBER_E8), empty = second == 0;
    uint64_t last =
        second | (first & (0 - empty)) | 1; /* the second, or the first: by arithmetic, as no branch would be predicted */
    struct number_digits digits = {.head = head,
                                   .first = first,
                                   .second = second,
                                   .count = (135 - 64 * (unsigned)empty - (unsigned)__builtin_clzll(last)) / 8,
                                   .point = decimal.scale + 16};
    return (unsigned)digits.point < 8 ? number_put_near_point(out, &digits) : number_put_far_point(out, &digits);
}

static unsigned number_put_word(char *out, const char *word)
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
    unsigned sign = (unsigned)(bits >> 63);
    struct number_decimal decimal;
    if (biased == 0x7ff && fraction != 0) return number_put_word(out, "nan");
    *out = '-';
    out += sign;
    if (biased == 0x7ff) return sign + number_put_word(out, "inf");
    if (bits << 1 == 0) return sign + number_put_word(out, "0.0");
    if (!number_decimal_quickly(fraction, biased, &decimal)) decimal = number_decimal_of(fraction, biased);
    return sign + number_put_decimal(out, decimal);
}
