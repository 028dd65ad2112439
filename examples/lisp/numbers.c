/* Primitives on 60-bit integers. A result that does not fit is an error. */
#include "lisp.h"

static value checked(struct vm *vm, int64_t n, bool overflow)
{
    if (overflow || n < INTEGER_MIN || n > INTEGER_MAX) raise_error(vm, 0, "the result has more than 60 bits");
    return from_integer(n);
}

PRIMITIVE(do_add)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum = to_integer(checked(vm, sum + need_integer(vm, arguments[i]), false)); /* 61 bits at most in between */
    return from_integer(sum);
}

PRIMITIVE(do_subtract)
{
    int64_t rest = need_integer(vm, arguments[0]);
    if (count == 1) return checked(vm, -rest, false);
    for (unsigned i = 1; i < count; i++) rest = to_integer(checked(vm, rest - need_integer(vm, arguments[i]), false));
    return from_integer(rest);
}

PRIMITIVE(do_multiply)
{
    int64_t product = 1;
    for (unsigned i = 0; i < count; i++) {
        bool overflow = __builtin_mul_overflow(product, need_integer(vm, arguments[i]), &product);
        checked(vm, product, overflow);
    }
    return from_integer(product);
}

static int64_t need_divisor(struct vm *vm, value v)
{
    int64_t n = need_integer(vm, v);
    if (n == 0) raise_error(vm, 0, "division by zero");
    return n;
}

PRIMITIVE(do_quotient) { return checked(vm, need_integer(vm, arguments[0]) / need_divisor(vm, arguments[1]), false); }

PRIMITIVE(do_remainder) { return from_integer(need_integer(vm, arguments[0]) % need_divisor(vm, arguments[1])); }

PRIMITIVE(do_modulo)
{
    int64_t divisor = need_divisor(vm, arguments[1]), rest = need_integer(vm, arguments[0]) % divisor;
    return from_integer(rest != 0 && (rest < 0) != (divisor < 0) ? rest + divisor : rest);
}

/* Is every argument in this relation to the next? */
#define COMPARE(name, relation)                                                                                                    \
    PRIMITIVE(do_##name)                                                                                                           \
    {                                                                                                                              \
        bool holds = true;                                                                                                         \
        for (unsigned i = 0; i + 1 < count; i++)                                                                                   \
            holds = (need_integer(vm, arguments[i]) relation need_integer(vm, arguments[i + 1])) && holds;                         \
        return from_bool(holds);                                                                                                   \
    }

COMPARE(equal, ==)
COMPARE(less, <)
COMPARE(greater, >)
COMPARE(at_most, <=)
COMPARE(at_least, >=)

const struct definition number_primitives[] = {
    {"+", do_add, 0, -1},
    {"-", do_subtract, 1, -1},
    {"*", do_multiply, 0, -1},
    {"quotient", do_quotient, 2, 2},
    {"remainder", do_remainder, 2, 2},
    {"modulo", do_modulo, 2, 2},
    {"=", do_equal, 2, -1},
    {"<", do_less, 2, -1},
    {">", do_greater, 2, -1},
    {"<=", do_at_most, 2, -1},
    {">=", do_at_least, 2, -1},
    {NULL, NULL, 0, 0},
};
