/* The powers of ten from 10^-342 to 10^324, each as the first 128 bits of its binary digits, rounded down:
 *     power * 2^(cx_number_log2(k) - 127) <= 10^k, and equal for k from 0 to 55.
 * Below 10^-342 a number of 19 digits is 0, above 10^308 it is infinite; writing doubles needs -292 to 324. */
#ifndef CX_VALUES_NUMBER_NUMBER_POWERS_H
#define CX_VALUES_NUMBER_NUMBER_POWERS_H

#include <stdbool.h>
#include <stdint.h>

enum { CX_NUMBER_POWER_MIN = -342, CX_NUMBER_POWER_MAX = 324 };

struct cx_number_power {
    uint64_t high, low;
};

extern const struct cx_number_power cx_number_powers[CX_NUMBER_POWER_MAX - CX_NUMBER_POWER_MIN + 1];

static inline bool cx_number_power_is_exact(int k) { return k >= 0 && k <= 55; } /* 5^55 is the last that has 128 bits */

/* Rounded down, and rounded up. No row ends in 64 ones, so that a carry stays in the lower half. */
static inline struct cx_number_power cx_number_power_floor(int k) { return cx_number_powers[k - CX_NUMBER_POWER_MIN]; }
static inline struct cx_number_power cx_number_power_ceiling(int k)
{
    struct cx_number_power power = cx_number_power_floor(k);
    power.low += !cx_number_power_is_exact(k);
    return power;
}

/* The binary logarithm of 10^k, rounded down; right for the whole table (log2(10) is 1741647 / 2^19 and a little more). */
static inline int cx_number_log2(int k) { return (int)(((int64_t)k * 1741647) >> 19); }

#endif
