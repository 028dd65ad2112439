/*
 * Numbers as text: what is read is the nearest double, what is written is the shortest text of it; integers to their limits.
 */
#include "values/number/number.h"
#include "support/test.h"

#include <math.h>

/* Random doubles in each of these tests: a few million in all, a second or two. */
static uint64_t rounds(void) { return test_is_sanitized() ? 100000 : 1000000; }

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double read_double(const char *text)
{
    struct cx_number number;
    const char *end = text + strlen(text);
    if (cx_number_scan(text, end, CX_NUMBER_FREE, &number, NULL) != end)
        test_fail(__FILE__, __LINE__, "'%s' is not read as a number", text);
    return cx_number_to_double(&number);
}

/* Reads as strtod does, to the last bit. */
static void expect_read(const char *text)
{
    double ours = read_double(text), theirs = strtod(text, NULL);
    if (bits_of(ours) != bits_of(theirs)) test_fail(__FILE__, __LINE__, "'%s' is read as %a, not as %a", text, ours, theirs);
}

static const char *write_double(double value)
{
    static char text[CX_NUMBER_DOUBLE_MAX + 1];
    memset(text, '#', sizeof text);
    unsigned length = cx_number_format_double(text, value);
    expect(length < sizeof text && text[CX_NUMBER_DOUBLE_MAX] == '#');
    text[length] = 0;
    return text;
}

/* A positive finite double of any bits. */
static double random_double(test_rng *rng)
{
    for (;;) {
        double value = double_of(rng_next(rng) >> 1);
        if (isfinite(value)) return value;
    }
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

/* Significant digits of a text. */
static unsigned digits_of(const char *text)
{
    unsigned count = 0, zeros = 0;
    for (; *text != 0 && *text != 'e'; text++) {
        if (*text == '.' || *text == '-' || (*text == '0' && count == 0)) continue;
        count++;
        zeros = *text == '0' ? zeros + 1 : 0;
    }
    return count - zeros;
}

static void expect_shortest(double value)
{
    const char *text = write_double(value);
    char other[64];
    double back = strtod(text, NULL);
    if (bits_of(back) != bits_of(value)) test_fail(__FILE__, __LINE__, "%a is written as '%s', which is %a", value, text, back);
    unsigned digits = digits_of(text);
    expect(digits >= 1 && digits <= 17);
    snprintf(other, sizeof other, "%.*e", (int)digits - 1, value);
    /* The nearest of this length, unless that one is not the same double any more (below a power of two, where doubles are closer). */
    if (strtod(other, NULL) == value && strtold(other, NULL) != strtold(text, NULL))
        test_fail(__FILE__, __LINE__, "%a is written as '%s', but '%s' is nearer", value, text, other);
    if (digits == 1) return;
    snprintf(other, sizeof other, "%.*e", (int)digits - 2, value);
    if (strtod(other, NULL) == value)
        test_fail(__FILE__, __LINE__, "%a is written as '%s', but '%s' is shorter", value, text, other);
}

TEST_TIMEOUT(random_doubles_are_written_with_the_fewest_digits_that_read_as_the_same, 60)
{
    test_rng rng = rng_from(test_seed());
    for (uint64_t i = 0; i < rounds(); i++) expect_shortest(random_double(&rng));
}

TEST_TIMEOUT(doubles_with_few_digits_are_written_with_them, 60)
{
    test_rng rng = rng_from(test_seed());
    for (uint64_t i = 0; i < rounds() / 2; i++) {
        char text[64];
        uint64_t digits = rng_below(&rng, (uint64_t)pow(10, (double)rng_between(&rng, 1, 15)));
        snprintf(text, sizeof text, "%" PRIu64 "e%d", digits, (int)rng_below(&rng, 300) - 150);
        double value = strtod(text, NULL);
        const char *ours = write_double(value);
        expect(digits == 0 || digits_of(ours) <= digits_of(text));
        expect_eq(bits_of(strtod(ours, NULL)), bits_of(value));
    }
}

TEST(every_power_of_two_and_its_neighbours_are_written_shortest_and_read_back)
{
    for (uint64_t biased = 0; biased < 0x7ff; biased++) {
        for (uint64_t step = 0; step < 5; step++) {
            uint64_t bits = (biased << 52) + step - 2;
            if (bits == 0 || bits >> 52 >= 0x7ff) continue;
            expect_shortest(double_of(bits));
            expect_eq(bits_of(read_double(write_double(double_of(bits)))), bits);
        }
    }
}

/* Writing decides by one product with 64 bits behind the point, unless two things are too close to each other: the distance to a multiple of
 * ten units and half of the distance to the next double; or a value and the middle of two units. Where these are not equal, which the
 * next two tests are about, they are closest for the first 22 of these doubles, of all that there are: Euclid's algorithm finds them. */
TEST(doubles_that_are_hard_to_decide_are_written_right)
{
    static const struct {
        uint64_t bits;
        const char *text;
    } rows[] = {
        {UINT64_C(0x20e8823a57adbef8), "3.7436263604934127e-150"}, /* the border is 1.35 * 2^-60 away */
        {UINT64_C(0x20e8823a57adbef9), "3.743626360493413e-150"},
        {UINT64_C(0x6f53ae60753af6ca), "1.864950924021923e228"}, /* 3.2 */
        {UINT64_C(0x6f53ae60753af6cb), "1.8649509240219232e228"},
        {UINT64_C(0x175090684f5fe997), "2.2159015457577768e-196"}, /* 3.8 */
        {UINT64_C(0x175090684f5fe998), "2.215901545757777e-196"},
        {UINT64_C(0x6f63ae60753af6ca), "3.729901848043846e228"}, /* 6.5 */
        {UINT64_C(0x6f63ae60753af6cb), "3.7299018480438463e228"},
        {UINT64_C(0x176090684f5fe997), "4.4318030915155535e-196"}, /* 7.7 */
        {UINT64_C(0x176090684f5fe998), "4.431803091515554e-196"},
        {UINT64_C(0x09e41934d77659be), "5.1061856989121905e-261"}, /* 8.7 */
        {UINT64_C(0x09e41934d77659bf), "5.106185698912191e-261"},
        {UINT64_C(0x4d73de005bd620df), "1.3076622631878654e65"},   /* the middle is 0.69 * 2^-64 away */
        {UINT64_C(0x0d17c0747bd76fa1), "1.3588129002659584e-245"}, /* 1.5 */
        {UINT64_C(0x612491daad0ba280), "9.03725590277404e159"},    /* 2.8 */
        {UINT64_C(0x6159b651584e8b20), "9.03725590277404e160"},
        {UINT64_C(0x619011f2d73116f4), "9.03725590277404e161"},
        {UINT64_C(0x61c4166f8cfd5cb1), "9.03725590277404e162"},
        {UINT64_C(0x2b659a2783ce70ab), "1.234550136632744e-99"}, /* 7.5 */
        {UINT64_C(0x613edac8039173c0), "2.711176770832212e160"}, /* 8.3 */
        {UINT64_C(0x617348bd023ae858), "2.711176770832212e161"},
        {UINT64_C(0x61a81aec42c9a26e), "2.711176770832212e162"},
        {UINT64_C(1), "5e-324"},
        {UINT64_C(2), "1e-323"},
        {UINT64_C(192), "9.5e-322"},
        {UINT64_C(0x000fffffffffffff), "2.225073858507201e-308"},
        {UINT64_C(0x0010000000000001), "2.225073858507202e-308"},
        {UINT64_C(0x7feffffffffffffe), "1.7976931348623155e308"},
        {UINT64_C(0x4340000000000001), "9007199254740994.0"},
        {UINT64_C(0x44b52d02c7e14af6), "1e23"}, /* in the middle of two doubles */
        {UINT64_C(0x44b52d02c7e14af7), "1.0000000000000001e23"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_str_eq(write_double(double_of(rows[i].bits)), rows[i].text);
        expect_shortest(double_of(rows[i].bits));
    }
}

static double double_from(uint64_t significand, int exponent)
{
    return double_of((uint64_t)(exponent + 1075) << 52 | (significand & (((uint64_t)1 << 52) - 1)));
}

/* Units of 10^k, the largest that is not larger than the distance of two doubles; `middle` is odd * 2^(exponent - 1), and a multiple of ten of
 * them: which of the two doubles it reads as is a matter of even and odd. */
TEST(decimals_in_the_middle_of_two_doubles_are_written_for_the_even_one_only)
{
    test_rng rng = rng_from(test_seed());
    uint64_t five = 5, few = 0, many = 0; /* 5^(k + 1) */
    for (int exponent = 2, k = 0; five >> 53 == 0; exponent++) {
        if ((int)floor(exponent * log10(2)) != k) {
            k++;
            five *= 5;
        }
        for (int i = 0; i < 200 && five >> 53 == 0; i++) {
            uint64_t least = ((uint64_t)1 << 53) / five + 1, most = (((uint64_t)1 << 54) - 1) / five;
            uint64_t middle = five * (rng_between(&rng, least, most) | 1);
            if (middle >> 54 != 0) continue;
            for (uint64_t side = 0; side < 2; side++) {
                uint64_t significand = middle / 2 + side;
                if (significand >> 53 != 0) continue;
                double value = double_from(significand, exponent);
                expect_shortest(value);
                *(digits_of(write_double(value)) < 17 ? &few : &many) += 1;
            }
        }
    }
    expect(few > 1000 && many > 1000);
}

TEST(decimals_that_are_equally_near_are_written_with_an_even_last_digit)
{
    test_rng rng = rng_from(test_seed());
    uint64_t count = 0;
    for (int exponent = -2; exponent >= -75; exponent--) {
        int digits = -(int)floor(exponent * log10(2)),
            zeros = -exponent - digits - 1; /* value * 10^digits is something and a half */
        if (zeros < 0 || zeros > 51) continue;
        for (int i = 0; i < 200; i++, count++) {
            uint64_t upper = (uint64_t)1 << (52 - zeros);
            expect_shortest(double_from((upper | rng_below(&rng, upper) | 1) << zeros, exponent));
        }
    }
    expect(count > 10000);
}

TEST(random_subnormal_doubles_are_written_shortest)
{
    test_rng rng = rng_from(test_seed());
    for (uint64_t i = 0; i < rounds() / 10; i++) expect_shortest(double_of((rng_next(&rng) >> 12 >> rng_below(&rng, 52)) | 1));
}

TEST(doubles_look_as_documented)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {0.3, "0.3"},
        {0.1 + 0.2, "0.30000000000000004"},
        {100, "100.0"},
        {123456789, "123456789.0"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e16"},
        {9007199254740992, "9007199254740992.0"},
        {9007199254740993e3, "9.007199254740993e18"},
        {0.0001, "0.0001"},
        {0.00001, "1e-5"},
        {1.5e-7, "1.5e-7"},
        {1e21, "1e21"},
        {1e23, "1e23"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.7976931348623157e308, "1.7976931348623157e308"},
        {4.35, "4.35"},
        {299792458.125, "299792458.125"},
        {(double)INFINITY, "inf"},
        {-(double)INFINITY, "-inf"},
        {(double)NAN, "nan"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) ck_assert_str_eq(write_double(rows[i].value), rows[i].text);
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

TEST_TIMEOUT(random_doubles_with_17_digits_are_read_back, 60)
{
    test_rng rng = rng_from(test_seed());
    char text[64];
    for (uint64_t i = 0; i < rounds(); i++) {
        double value = random_double(&rng);
        snprintf(text, sizeof text, "%.17g", value);
        if (bits_of(read_double(text)) != bits_of(value)) test_fail(__FILE__, __LINE__, "'%s' is not read as %a", text, value);
    }
}

TEST_TIMEOUT(random_digits_are_read_as_the_nearest_double, 60)
{
    test_rng rng = rng_from(test_seed());
    char text[96];
    for (uint64_t i = 0; i < rounds(); i++) {
        unsigned count = (unsigned)rng_between(&rng, 1, 30), at = 0, point = (unsigned)rng_below(&rng, 40);
        for (unsigned d = 0; d < count; d++) {
            if (d == point) text[at++] = '.';
            text[at++] = (char)('0' + rng_below(&rng, 10));
        }
        snprintf(text + at, sizeof text - at, "e%d", (int)rng_below(&rng, 720) - 370);
        expect_read(text);
    }
}

/* The exact middle of two doubles has up to 767 digits: it goes to the even one; a digit more or less behind them decides otherwise. */
TEST_TIMEOUT(numbers_in_the_middle_of_two_doubles_go_to_the_even_one, 60)
{
    test_rng rng = rng_from(test_seed());
    char text[1600];
    for (uint64_t i = 0; i < rounds() / 50; i++) {
        uint64_t bits = rng_next(&rng) >> 1;
        if (rng_one_in(&rng, 4)) bits &= ((uint64_t)1 << 54) - 1; /* subnormal, or nearly */
        if (rng_one_in(&rng, 3)) bits = (rng_between(&rng, 1000, 1100) << 52) | (bits & (((uint64_t)1 << 52) - 1));
        if (bits >> 52 >= 0x7fe) continue;
        long double middle = ((long double)double_of(bits) + (long double)double_of(bits + 1)) / 2;
        snprintf(text, sizeof text - 8, "%.800Le", middle);
        char *e = strchr(text, 'e'), tail[16];
        snprintf(tail, sizeof tail, "%s", e);
        double even = double_of(bits + (bits & 1));
        expect_eq(bits_of(read_double(text)), bits_of(even));
        snprintf(e, 32, "0000000000000001%s", tail);
        expect_eq(bits_of(read_double(text)), bits + 1);
        char shorter[1600];
        snprintf(shorter, sizeof shorter, "%.*s%s", (int)(e - text) - 400, text, tail);
        expect_read(shorter);
    }
}

TEST(borders_of_the_range_are_read_exactly)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "0e999999999",
        "0.0e-999999999999999999999999",
        "1e308",
        "1e309",
        "-1e400",
        "1e999999999999999999999999",
        "1e-999999999999999999999999",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "17976931348623158079372897140530341507993413271003782693617377898044496829276475094664901797758720709633028641669288791094"
        "6"
        "55554785194040263065748867150582068190890200070838367627385484581771153176447573027006985557136695962284291481986083493647"
        "5"
        "292719074168444365510704342711559699508093042880",
        "17976931348623158079372897140530341507993413271003782693617377898044496829276475094664901797758720709633028641669288791094"
        "6"
        "55554785194040263065748867150582068190890200070838367627385484581771153176447573027006985557136695962284291481986083493647"
        "5"
        "292719074168444365510704342711559699508093042879.9999",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.47032822920623272e-324",
        "1e-323",
        "1e-324",
        "3e-324",
        "2.2250738585072011e-308",
        "2.2250738585072012e-308",
        "2.2250738585072014e-308",
        "9007199254740993",
        "9007199254740992.99999999999999999",
        "9007199254740993.00000000000000000000000000001",
        "36893488147419103232",
        "0.500000000000000166533453693773481063544750213623046875",
        "8.88178419700125232338905334472656250e-16",
        "3.518437208883201171875e13",
        "62.5364939768271845828",
        "8.10109172351e-10",
        "1.50000000000000011102230246251565",
        "7.8459735791271921e65",
        "1090544144181609348671888949248",
        "1090544144181609348835077142190",
        ".5",
        "5.",
        "+5.e-1",
        "00000000000000000000000000000000001",
        "0.00000000000000000000000000000000000000000000000000000000000001e62",
        "100000000000000000000000000000000000000e-38",
        "123456789012345678901234567890123456789012345678901234567890e-60",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) expect_read(texts[i]);
}

TEST(a_number_of_a_million_digits_is_read_exactly)
{
    enum { COUNT = 1000000 };
    char *text = malloc(COUNT + 64);
    memset(text, '0', COUNT);
    memcpy(text, "0.", 2);
    snprintf(text + COUNT, 64, "15e%d", COUNT - 2);
    ck_assert_double_eq(read_double(text), 0.15);
    memset(text, '9', COUNT);
    snprintf(text + COUNT, 64, "e-%d", COUNT);
    ck_assert_double_eq(read_double(text), 1.0);
    text[0] = '1';
    memset(text + 1, '0', COUNT - 2);
    text[COUNT - 1] = '1'; /* 2^53 + 1 and a little, with the little very far behind */
    memcpy(text, "9007199254740993.", 17);
    text[COUNT] = 0;
    ck_assert_double_eq(read_double(text), 9007199254740994.0);
    text[COUNT - 1] = '0';
    ck_assert_double_eq(read_double(text), 9007199254740992.0);
    free(text);
}

/* ---- form ---------------------------------------------------------------------------------------------------- */

/* How far a scan goes, or -1 - the place where it is wrong. */
static int scan(const char *text, enum cx_number_form form)
{
    struct cx_number number;
    const char *wrong = NULL, *end = cx_number_scan(text, text + strlen(text), form, &number, &wrong);
    return end != NULL ? (int)(end - text) : -1 - (int)(wrong - text);
}

TEST(scanning_takes_the_form_it_is_told_to)
{
    static const struct {
        const char *text;
        int anyhow, json;
    } rows[] = {
        {"0", 1, 1},     {"-0", 2, 2},    {"12x", 2, 2},    {"01", 2, -2},   {"-01", 3, -3},       {"+1", 2, -1},   {".5", 2, -1},
        {"5.", 2, -3},   {"", -1, -1},    {"-", -2, -2},    {".", -2, -1},   {"-.", -3, -2},       {"e5", -1, -1},  {"1e", -3, -3},
        {"1e+", -4, -4}, {"1e-5", 4, 4},  {"1.5E+3", 6, 6}, {"1.5.2", 3, 3}, {"1e5.5", 3, 3},      {"- 1", -2, -2}, {"0x10", 1, 1},
        {"1,000", 1, 1}, {"--1", -2, -2}, {"1.e5", 4, -3},  {"nan", -1, -1}, {"Infinity", -1, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_msg(scan(rows[i].text, CX_NUMBER_FREE) == rows[i].anyhow, "free: '%s'", rows[i].text);
        ck_assert_msg(scan(rows[i].text, CX_NUMBER_JSON) == rows[i].json, "json: '%s'", rows[i].text);
    }
}

/* ---- integers ------------------------------------------------------------------------------------------------ */

static bool read_int(const char *text, int64_t *value)
{
    struct cx_number number;
    const char *end = text + strlen(text);
    return cx_number_scan(text, end, CX_NUMBER_FREE, &number, NULL) == end && cx_number_to_int64(&number, value);
}

static bool read_uint(const char *text, uint64_t *value)
{
    struct cx_number number;
    const char *end = text + strlen(text);
    return cx_number_scan(text, end, CX_NUMBER_FREE, &number, NULL) == end && cx_number_to_uint64(&number, value);
}

TEST(integers_are_read_up_to_their_limits_and_not_beyond)
{
    int64_t value = 0;
    uint64_t whole = 0;
    expect(read_int("9223372036854775807", &value) && value == INT64_MAX);
    expect(read_int("-9223372036854775808", &value) && value == INT64_MIN);
    expect(read_int("-000000000000000000000009223372036854775808", &value) && value == INT64_MIN);
    expect(!read_int("9223372036854775808", &value));
    expect(!read_int("-9223372036854775809", &value));
    expect(!read_int("10000000000000000000", &value));
    expect(!read_int("100000000000000000000000000000", &value));
    expect(!read_int("1.0", &value));
    expect(!read_int("1e2", &value));
    expect(read_int("-0", &value) && value == 0);
    expect(read_uint("18446744073709551615", &whole) && whole == UINT64_MAX);
    expect(read_uint("10000000000000000000", &whole) && whole == UINT64_C(10000000000000000000));
    expect(!read_uint("18446744073709551616", &whole));
    expect(!read_uint("18446744073709551620", &whole));
    expect(!read_uint("184467440737095516150", &whole));
    expect(!read_uint("-1", &whole));
    expect(read_uint("-0", &whole) && whole == 0);
}

TEST(random_integers_are_written_as_printf_does_and_read_back)
{
    test_rng rng = rng_from(test_seed());
    for (uint64_t i = 0; i < rounds() / 2; i++) {
        int64_t value = (int64_t)rng_next(&rng) >> rng_below(&rng, 64), back = 0;
        char ours[CX_NUMBER_INT_MAX + 1], theirs[CX_NUMBER_INT_MAX + 1];
        ours[cx_number_format_int64(ours, value)] = 0;
        snprintf(theirs, sizeof theirs, "%" PRId64, value);
        if (strcmp(ours, theirs) != 0) test_fail(__FILE__, __LINE__, "%s is written as %s", theirs, ours);
        expect(read_int(ours, &back) && back == value);
        unsigned base = (unsigned)rng_between(&rng, 2, 36);
        ours[cx_number_format_base(ours, (uint64_t)value, base)] = 0;
        expect_eq(strtoull(ours, NULL, (int)base), value);
    }
    uint64_t power = 1;
    for (int digits = 1; digits <= 20; digits++, power *= 10) { /* where the count of digits changes */
        char text[CX_NUMBER_INT_MAX];
        expect_eq(cx_number_format_uint64(text, power), digits);
        expect_eq(cx_number_format_uint64(text, power - 1), digits == 1 ? 1 : digits - 1);
    }
    char text[CX_NUMBER_INT_MAX];
    expect_eq(cx_number_format_int64(text, INT64_MIN), 20);
    expect(memcmp(text, "-9223372036854775808", 20) == 0);
}
