/* Reading numbers, see number.h. Pure functions.
 *
 * A double is made from at most 19 digits w and a power of ten, whose first 128 bits are in a table. Both may be a little less than the
 * number; so the number is rounded twice, from below and from above. Rounding keeps order: where both give the same double, it is the
 * right one. Only where they differ (the number is extremely near to the middle between two doubles) are all digits compared with that
 * middle, in integers of any size. The product of 64 by 128 bits is that of Daniel Lemire, "Number parsing at a gigabyte per second", 2021,
 * and of Michael Eisel before him. */
#include "values/number/number.h"
#include "values/number/number_powers.h"

#include <string.h>

enum {
    NUMBER_DIGITS = 19,      /* as many fit in 64 bits for sure */
    NUMBER_ALL_DIGITS = 800, /* the middle of two doubles has at most 767: all that matters of more is whether they are zero */
    NUMBER_LIMBS = 256       /* 8192 bits; 800 digits have 2658, 5^1161 has 2696, and no shift is longer than 2300 */
};

#define NUMBER_INFINITE ((uint64_t)0x7ff << 52)

/* --------------------------------------------------------------- scanning */

static bool number_is_digit(char c) { return c >= '0' && c <= '9'; }

/* Digits from `at` on into *value, without looking at overflow. */
static const char *number_scan_digits(const char *at, const char *end, uint64_t *value)
{
    uint64_t sum = *value;
    for (; at < end && number_is_digit(*at); at++) sum = sum * 10 + (uint64_t)(*at - '0');
    *value = sum;
    return at;
}

/* More than 19 digits: takes the first 19 that count, and notes what the others mean. */
static void number_cut(struct cx_number *number, const char *point)
{
    const char *at = number->first;
    while (at < number->last && (*at == '0' || *at == '.')) at++;
    number->first = at;
    uint64_t digits = 0;
    unsigned count = 0;
    for (; at < number->last && count < NUMBER_DIGITS; at++) {
        if (*at == '.') continue;
        digits = digits * 10 + (uint64_t)(*at - '0');
        count++;
    }
    int64_t left = number->last - at;
    if (point != NULL && point >= at) left--; /* the point itself is among them */
    number->digits = digits;
    number->exponent += left;
    for (; at < number->last; at++) number->cut |= *at != '0' && *at != '.';
}

static const char *number_scan_exponent(const char *at, const char *end, struct cx_number *number, const char **wrong)
{
    number->integer = false;
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    if (at == end || !number_is_digit(*at)) {
        *wrong = at;
        return NULL;
    }
    int64_t exponent = 0; /* stays at a value that no count of digits makes up for */
    for (; at < end && number_is_digit(*at); at++) exponent = exponent < (int64_t)1 << 56 ? exponent * 10 + (*at - '0') : exponent;
    number->exponent += negative ? -exponent : exponent;
    return at;
}

const char *cx_number_scan(const char *at, const char *end, enum cx_number_form form, struct cx_number *number, const char **wrong)
{
    const char *nowhere, *point = NULL;
    if (wrong == NULL) wrong = &nowhere;
    *number = (struct cx_number){.integer = true};
    if (at < end && (*at == '-' || (*at == '+' && form == CX_NUMBER_FREE))) number->negative = *at++ == '-';
    number->first = at;
    at = number_scan_digits(at, end, &number->digits);
    uint64_t count = (uint64_t)(at - number->first);
    *wrong = at;
    if (form == CX_NUMBER_JSON && count > 1 && *number->first == '0') {
        *wrong = number->first + 1;
        return NULL;
    }
    if (form == CX_NUMBER_JSON && count == 0) return NULL;
    if (at < end && *at == '.') {
        point = at;
        at = number_scan_digits(at + 1, end, &number->digits);
        *wrong = at;
        if (form == CX_NUMBER_JSON && at == point + 1) return NULL;
        number->integer = false;
        number->exponent = -(at - point - 1);
        count += (uint64_t)(at - point - 1);
    }
    if (count == 0) return NULL;
    number->last = at;
    if (count > NUMBER_DIGITS) number_cut(number, point);
    if (at < end && (*at == 'e' || *at == 'E')) at = number_scan_exponent(at + 1, end, number, wrong);
    return at;
}

/* --------------------------------------------------------------- integers */

bool cx_number_to_uint64(const struct cx_number *number, uint64_t *value)
{
    uint64_t sum = number->digits;
    if (!number->integer || number->exponent > 1 || (number->negative && sum != 0)) return false;
    if (number->exponent == 1) { /* 20 digits */
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, (uint64_t)(number->last[-1] - '0'), &sum))
            return false;
    }
    *value = sum;
    return true;
}

bool cx_number_to_int64(const struct cx_number *number, int64_t *value)
{
    if (!number->integer || number->exponent != 0 || number->digits > (uint64_t)INT64_MAX + number->negative) return false;
    *value = (int64_t)(number->negative ? 0 - number->digits : number->digits);
    return true;
}

/* ------------------------------------------------------------ big integers */

struct number_big {
    unsigned count; /* of limbs; the last one is not 0 */
    uint32_t limb[NUMBER_LIMBS];
};

static void number_big_multiply(struct number_big *big, uint32_t factor, uint32_t add)
{
    uint64_t carry = add;
    for (unsigned i = 0; i < big->count; i++) {
        carry += (uint64_t)big->limb[i] * factor;
        big->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0) big->limb[big->count++] = (uint32_t)carry;
}

static void number_big_set(struct number_big *big, uint64_t value)
{
    big->count = 0;
    for (; value != 0; value >>= 32) big->limb[big->count++] = (uint32_t)value;
}

static void number_big_times_power_of_5(struct number_big *big, int64_t power)
{
    for (; power >= 13; power -= 13) number_big_multiply(big, 1220703125, 0); /* 5^13 */
    for (; power > 0; power--) number_big_multiply(big, 5, 0);
}

static void number_big_shift(struct number_big *big, unsigned bits)
{
    unsigned limbs = bits / 32;
    if (big->count == 0) return;
    memmove(big->limb + limbs, big->limb, big->count * sizeof big->limb[0]);
    memset(big->limb, 0, limbs * sizeof big->limb[0]);
    big->count += limbs;
    number_big_multiply(big, (uint32_t)1 << bits % 32, 0);
}

static int number_big_compare(const struct number_big *a, const struct number_big *b)
{
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    for (unsigned i = a->count; i-- != 0;) {
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    }
    return 0;
}

/* All digits that matter; returns the power of ten of the last of them. */
static int64_t number_big_read(struct number_big *big, const struct cx_number *number)
{
    number_big_set(big, number->digits);
    if (!number->cut) return number->exponent;
    const char *at = number->first;
    unsigned count = 0;
    bool rest = false;
    big->count = 0;
    for (; at < number->last && count < NUMBER_ALL_DIGITS; at++) {
        if (*at == '.') continue;
        number_big_multiply(big, 10, (uint32_t)(*at - '0'));
        count++;
    }
    for (; at < number->last && !rest; at++) rest = *at != '0' && *at != '.';
    number_big_multiply(big, 10, rest);
    return number->exponent + NUMBER_DIGITS - (int64_t)count - 1;
}

/* Of two doubles that follow each other, given by their bits, the one that is nearer to the number, which is between them. */
static uint64_t number_decide(const struct cx_number *number, uint64_t bits)
{
    struct number_big exact, middle;
    int64_t power = number_big_read(&exact, number);
    int64_t biased = (int64_t)(bits >> 52);
    uint64_t significand = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)(biased != 0) << 52;
    number_big_set(&middle, 2 * significand + 1);
    if (power > 0)
        number_big_times_power_of_5(&exact, power);
    else
        number_big_times_power_of_5(&middle, -power);
    int64_t shift = power - ((biased != 0 ? biased : 1) - 1076); /* exact is times 2^power, middle times 2^(exponent - 1) */
    if (shift > 0)
        number_big_shift(&exact, (unsigned)shift);
    else
        number_big_shift(&middle, (unsigned)-shift);
    int order = number_big_compare(&exact, &middle);
    return order > 0 || (order == 0 && (bits & 1) != 0) ? bits + 1 : bits;
}

/* ---------------------------------------------------------------- doubles */

/* The double nearest to top * 2^exponent, ties to even; `more`: to a little more than that. The first bit of `top` is set. */
static uint64_t number_round(uint64_t top, bool more, int exponent)
{
    int biased = exponent + 63 + 1023;
    if (biased >= 0x7ff) return NUMBER_INFINITE;
    unsigned drop = biased > 0 ? 11 : (unsigned)(12 - biased); /* bits that a double has no place for */
    if (drop > 64) return 0;
    uint64_t kept = drop < 64 ? top >> drop : 0;
    uint64_t half = (uint64_t)1 << (drop - 1), dropped = top & (half + half - 1);
    kept += dropped > half || (dropped == half && (more || (kept & 1) != 0));
    return kept +
           (biased > 0 ? (uint64_t)(biased - 1) << 52 : 0); /* kept has the first bit; one that it grew by goes to the exponent */
}

/* digits * power * 2^exponent; digits is not 0. *sure: a power that is larger by up to one unit gives the same. */
static uint64_t number_multiply(uint64_t digits, struct cx_number_power power, int exponent, bool *sure)
{
    int zeros = __builtin_clzll(digits);
    digits <<= zeros;
    __uint128_t low = (__uint128_t)digits * power.low, high = (__uint128_t)digits * power.high;
    high += (uint64_t)(low >> 64);
    uint64_t top = (uint64_t)(high >> 64), middle = (uint64_t)high;
    *sure = middle != 0 && middle < UINT64_MAX; /* digits more in the lowest 64 bits: a carry of one at most, and it ends here */
    exponent += 128 - zeros;
    if (top >> 63 == 0) {
        top = top << 1 | middle >> 63;
        middle <<= 1;
        exponent--;
    }
    return number_round(top, middle != 0 || (uint64_t)low != 0, exponent);
}

static uint64_t number_bits(const struct cx_number *number)
{
    if (number->digits == 0 || number->exponent < CX_NUMBER_POWER_MIN) return 0;
    if (number->exponent > 308) return NUMBER_INFINITE;
    int power = (int)number->exponent, exponent = cx_number_log2(power) - 127;
    bool sure;
    uint64_t below = number_multiply(number->digits, cx_number_power_floor(power), exponent, &sure);
    if (!number->cut && (sure || cx_number_power_is_exact(power))) return below;
    uint64_t above = number_multiply(number->digits + number->cut, cx_number_power_ceiling(power), exponent, &sure);
    return below == above ? below : number_decide(number, below);
}

double cx_number_to_double(const struct cx_number *number)
{
    static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double value;
    /* Both numbers are doubles, so that one operation rounds once. Conversion of any other 64 bits would round before. */
    if (number->digits <= (uint64_t)1 << 53 && number->exponent >= -22 && number->exponent <= 22 && !number->cut) {
        value = (double)number->digits;
        value = number->exponent < 0 ? value / exact[-number->exponent] : value * exact[number->exponent];
        return number->negative ? -value : value;
    }
    uint64_t bits = number_bits(number) | (uint64_t)number->negative << 63;
    memcpy(&value, &bits, sizeof value);
    return value;
}
