/* Numbers as text: reading and writing integers and doubles, exactly.
 *
 * Knows nothing of the runtime; any thread. Reading is in two steps, so that a parser looks at each digit once: cx_number_scan takes a
 * number's text apart, and one of the others makes a value of it. The text must stay where it is in between.
 *
 * A double is read as the one nearest to the number, ties to even, however many digits there are; and written with the fewest digits
 * that read as the same double, the nearest of those. */
#ifndef CX_VALUES_NUMBER_NUMBER_H
#define CX_VALUES_NUMBER_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CX_NUMBER_DOUBLE_MAX = 32, /* room for formatting a double, which may write behind its text; there is no zero byte at the end */
    CX_NUMBER_INT_MAX = 65     /* the same for an integer, in any base */
};

enum cx_number_form {
    CX_NUMBER_FREE, /* [+-] digits [. digits] [e [+-] digits], where either side of the point may have none; leading zeros */
    CX_NUMBER_JSON  /* RFC 8259: no +, no leading zeros, digits on both sides of the point */
};

struct cx_number {
    uint64_t digits;   /* the first 19 significant digits as an integer */
    int64_t exponent;  /* the number is digits * 10^exponent, and a little more if it is cut */
    const char *first; /* first significant digit, and the end of digits and point: for what 19 digits don't decide */
    const char *last;
    bool negative;
    bool integer; /* no point and no exponent in the text */
    bool cut;     /* there are significant digits behind those 19 */
};

/* Reads the longest number at `at`. The end of it; or NULL, and *wrong (if it is not NULL) is where the text stops being one. */
const char *cx_number_scan(const char *at, const char *end, enum cx_number_form form, struct cx_number *number, const char **wrong);

/* False: it has a point or an exponent, or does not fit. "-0" is the integer 0. */
bool cx_number_to_int64(const struct cx_number *number, int64_t *value);
bool cx_number_to_uint64(const struct cx_number *number, uint64_t *value);
double cx_number_to_double(const struct cx_number *number);

/* These return how many bytes they wrote. */
unsigned cx_number_format_int64(char *out, int64_t value);
unsigned cx_number_format_uint64(char *out, uint64_t value);
unsigned cx_number_format_base(char *out, uint64_t value, unsigned base);
/* "1.0", "0.001", "1e16", "1.5e-7", "-0.0", "inf", "-inf", "nan". Finite: a number of JSON, with a point or an exponent. */
unsigned cx_number_format_double(char *out, double value);

#endif
