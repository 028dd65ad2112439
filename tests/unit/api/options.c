/*
 * Reading COEX_GC and COEX_GC_DEBUG, and taking over a caller's configuration.
 */
#include "support/test.h"

#include "gc/error.h"
#include "gc/layout.h"
#include "gc/options.h"

#define KIB ((uint64_t)1 << 10)

static coex_gc_config parsed;

static int parse(const char *variable, const char *text)
{
    cx_options_default(&parsed);
    return cx_options_parse(&parsed, variable, text);
}

TEST(every_tuning_option_reaches_its_field)
{
    ck_assert_int_eq(parse("COEX_GC",
                           "handles=5000,maxhandles=6000,heap=1MiB,heaplimit=2MiB,memlimit=3MiB,percent=44,allocations=55,"
                           "slots=6666,threads=1,warn=77,trace=1"),
                     COEX_GC_OK);
    ck_assert_uint_eq(parsed.initial_handles, 5000);
    ck_assert_uint_eq(parsed.max_handles, 6000);
    ck_assert_uint_eq(parsed.initial_heap, 1024 * KIB);
    ck_assert_uint_eq(parsed.heap_limit, 2048 * KIB);
    ck_assert_uint_eq(parsed.memlimit, 3072 * KIB);
    ck_assert_uint_eq(parsed.percent, 44);
    ck_assert_uint_eq(parsed.trigger_allocations, 55);
    ck_assert_uint_eq(parsed.shadow_stack_slots, 6666);
    ck_assert_uint_eq(parsed.gc_threads, 1);
    ck_assert_uint_eq(parsed.safepoint_warn_ms, 77);
    ck_assert_uint_eq(parsed.trace_level, 1);
}

TEST(every_debugging_option_reaches_its_field)
{
    ck_assert_int_eq(parse("COEX_GC_DEBUG", "stress=9,poison=1,verify=1"), COEX_GC_OK);
    ck_assert_uint_eq(parsed.stress, 9);
    ck_assert(parsed.poison);
    ck_assert(parsed.verify);
    ck_assert_int_eq(parse("COEX_GC_DEBUG", "poison=0"), COEX_GC_OK);
    ck_assert(!parsed.poison);
}

TEST(stress_is_an_interval_with_or_without_bounds)
{
    static const struct {
        const char *text;
        uint64_t interval, from, to;
        bool random;
    } rows[] = {
        {"stress=0", 0, 0, 0, false},     {"stress=7", 7, 0, 0, false},  {"stress=100:10", 10, 100, 0, false},
        {"stress=5:1:9", 1, 5, 9, false}, {"stress=r7", 7, 0, 0, true},  {"stress=r100:10:5000", 10, 100, 5000, true},
        {"stress=9:3:9", 3, 9, 9, false}, {"stress=w7", 7, 0, 0, false}, {"stress=wr4:7", 7, 4, 0, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_int_eq(parse("COEX_GC_DEBUG", rows[i].text), COEX_GC_OK);
        ck_assert_uint_eq(parsed.stress, rows[i].interval);
        ck_assert_uint_eq(parsed.stress_from, rows[i].from);
        ck_assert_uint_eq(parsed.stress_to, rows[i].to);
        ck_assert_int_eq(parsed.stress_random, rows[i].random);
    }
}

TEST(sizes_take_units_in_steps_of_1024)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {
        {"memlimit=0", 0},
        {"memlimit=77", 77},
        {"memlimit=77B", 77},
        {"memlimit=3K", 3 * KIB},
        {"memlimit=3KB", 3 * KIB},
        {"memlimit=3KiB", 3 * KIB},
        {"memlimit=3M", 3 * KIB * KIB},
        {"memlimit=3MB", 3 * KIB * KIB},
        {"memlimit=3MiB", 3 * KIB * KIB},
        {"memlimit=3G", 3 * KIB * KIB * KIB},
        {"memlimit=3GiB", 3 * KIB * KIB * KIB},
        {"memlimit=3T", 3 * KIB * KIB * KIB * KIB},
        {"memlimit=3TiB", 3 * KIB * KIB * KIB * KIB},
        {"memlimit=0007", 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_int_eq(parse("COEX_GC", rows[i].text), COEX_GC_OK);
        ck_assert_uint_eq(parsed.memlimit, rows[i].bytes);
    }
}

TEST(nothing_said_changes_nothing)
{
    coex_gc_config before;
    cx_options_default(&parsed);
    memcpy(&before, &parsed, sizeof before); /* with its padding */
    ck_assert_int_eq(cx_options_parse(&parsed, "COEX_GC", NULL), COEX_GC_OK);
    ck_assert_int_eq(cx_options_parse(&parsed, "COEX_GC_DEBUG", ""), COEX_GC_OK);
    ck_assert_mem_eq(&parsed, &before, sizeof before);
}

TEST(of_an_option_given_twice_the_last_value_counts)
{
    ck_assert_int_eq(parse("COEX_GC", "percent=10,percent=20"), COEX_GC_OK);
    ck_assert_uint_eq(parsed.percent, 20);
}

/* What is wrong, and what the detail must say about it. */
static const struct malformed {
    const char *variable, *text, *detail;
} malformed[] = {
    {"COEX_GC", "percent", "'percent' must have the form option=value"},
    {"COEX_GC", "100", "must have the form option=value"},
    {"COEX_GC", ",percent=100", "'' must have the form option=value"},
    {"COEX_GC", "percent=100,,trace=1", "'' must have the form option=value"},
    {"COEX_GC", "percent=100,trace", "'trace' must have the form option=value"},
    {"COEX_GC", "=", "'' is not an option"},
    {"COEX_GC", "=100", "'' is not an option"},
    {"COEX_GC", "percents=100", "'percents' is not an option"},
    {"COEX_GC", "percen=100", "'percen' is not an option"},
    {"COEX_GC", "Percent=100", "'Percent' is not an option"},
    {"COEX_GC", " percent=100", "' percent' is not an option"},
    {"COEX_GC", "percent =100", "'percent ' is not an option"},
    {"COEX_GC", "percent=", "'percent=' must be a number"},
    {"COEX_GC", "percent=x", "must be a number"},
    {"COEX_GC", "percent=1x", "must be a number"},
    {"COEX_GC", "percent=-1", "must be a number"},
    {"COEX_GC", "percent=+1", "must be a number"},
    {"COEX_GC", "percent= 1", "must be a number"},
    {"COEX_GC", "percent=1 ", "must be a number"},
    {"COEX_GC", "percent=1.5", "must be a number"},
    {"COEX_GC", "percent=0x10", "must be a number"},
    {"COEX_GC", "percent=1e3", "must be a number"},
    {"COEX_GC", "percent=1M", "must be a number"},
    {"COEX_GC", "percent=100;trace=1", "must be a number"},
    {"COEX_GC", "percent==100", "must be a number"},
    {"COEX_GC", "allocations=18446744073709551616", "must be a number"},
    {"COEX_GC", "percent=99999999999999999999999999", "must be a number"},
    {"COEX_GC", "percent=0", "must be from 1 to 1000000"},
    {"COEX_GC", "percent=1000001", "must be from 1 to 1000000"},
    {"COEX_GC", "handles=63", "must be from 64 to"},
    {"COEX_GC", "handles=68719476737", "must be from 64 to 68719476736"},
    {"COEX_GC", "maxhandles=4095", "must be from 4096 to"},
    {"COEX_GC", "maxhandles=68719476737", "must be from 4096 to"},
    {"COEX_GC", "heap=32767", "must be from 32768 to"},
    {"COEX_GC", "heap=64T1", "must be a size"},
    {"COEX_GC", "heap=65TiB", "must be from 32768 to"},
    {"COEX_GC", "heap=64m", "must be a size"},
    {"COEX_GC", "heap=64iB", "must be a size"},
    {"COEX_GC", "heap=64Mi", "must be a size"},
    {"COEX_GC", "heap=64MiBB", "must be a size"},
    {"COEX_GC", "heap=64BB", "must be a size"},
    {"COEX_GC", "heap=64 MiB", "must be a size"},
    {"COEX_GC", "heap=MiB", "must be a size"},
    {"COEX_GC", "heap=", "must be a size"},
    {"COEX_GC", "heap=64P", "must be a size"},
    {"COEX_GC", "memlimit=16777216T", "must be a size"}, /* 2^64 */
    {"COEX_GC", "memlimit=18014398509481984K", "must be a size"},
    {"COEX_GC", "slots=1023", "must be from 1024 to"},
    {"COEX_GC", "slots=2147483649", "must be from 1024 to 2147483648"},
    {"COEX_GC", "threads=100000", "must be from "},
    {"COEX_GC", "warn=0", "must be from 1 to"},
    {"COEX_GC", "trace=5", "must be from 0 to 4"},
    {"COEX_GC", "stress=1", "'stress' is not an option"},
    {"COEX_GC_DEBUG", "percent=100", "'percent' is not an option"},
    {"COEX_GC_DEBUG", "poison=2", "must be from 0 to 1"},
    {"COEX_GC_DEBUG", "poison=yes", "must be 0 or 1"},
    {"COEX_GC_DEBUG", "verify=", "must be 0 or 1"},
    {"COEX_GC_DEBUG", "verify", "'verify' must have the form option=value"},
    {"COEX_GC_DEBUG", "stress=often", "must be N, min:N or min:N:max"},
    {"COEX_GC_DEBUG", "stress=", "must be N, min:N or min:N:max"},
    {"COEX_GC_DEBUG", "stress=r", "must be N, min:N or min:N:max"},
    {"COEX_GC_DEBUG", "stress=5:", "must be N, min:N or min:N:max"},
    {"COEX_GC_DEBUG", "stress=1:2:3:4", "must be N, min:N or min:N:max"},
    {"COEX_GC_DEBUG", "stress=9:1:8", "must be N, min:N or min:N:max"},
};

TEST(whatever_can_not_be_read_is_named)
{
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        const struct malformed *row = &malformed[i];
        int code = parse(row->variable, row->text);
        if (code != COEX_GC_EOPTION) test_fail(__FILE__, __LINE__, "%s=%s gives %d", row->variable, row->text, code);
        if (strstr(cx_error_detail(), row->detail) == NULL || strncmp(cx_error_detail(), row->variable, strlen(row->variable)) != 0)
            test_fail(__FILE__, __LINE__, "%s=%s says \"%s\", not \"%s\"", row->variable, row->text, cx_error_detail(),
                      row->detail);
    }
}

TEST(very_long_texts_are_cut_in_the_message)
{
    char text[5000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    ck_assert_int_eq(parse("COEX_GC", text), COEX_GC_EOPTION);
    ck_assert_uint_lt(strlen(cx_error_detail()), 200);
    text[4000] = '=';
    ck_assert_int_eq(parse("COEX_GC", text), COEX_GC_EOPTION);
    ck_assert_uint_lt(strlen(cx_error_detail()), 200);
}

TEST(random_texts_are_read_or_refused_and_nothing_else)
{
    static const char *const pieces[] = {"percent",
                                         "heap",
                                         "handles",
                                         "slots",
                                         "=",
                                         "=",
                                         ",",
                                         "1",
                                         "0",
                                         "64",
                                         "MiB",
                                         "K",
                                         "B",
                                         "iB",
                                         "-",
                                         " ",
                                         "x",
                                         "4096",
                                         "99999999999999999999"};
    test_rng rng = rng_from(test_seed());
    for (int round = 0; round < 20000; round++) {
        char text[256] = "";
        for (uint64_t n = rng_below(&rng, 12); n > 0; n--) strcat(text, pieces[rng_below(&rng, sizeof pieces / sizeof pieces[0])]);
        int code = parse("COEX_GC", text);
        expect(code == COEX_GC_OK || code == COEX_GC_EOPTION);
        expect(parsed.percent >= 1 && parsed.percent <= 1000000);
        expect(parsed.shadow_stack_slots >= 1024 && parsed.initial_heap >= CX_BLOCK_BYTES && parsed.initial_handles >= 64);
    }
}

/* ---- a caller's configuration ----------------------------------------------------------------------------- */

TEST(defaults_are_a_million_handles_and_64_mib)
{
    coex_gc_config config;
    cx_options_default(&config);
    ck_assert_uint_eq(config.size, sizeof config);
    ck_assert_uint_eq(config.initial_handles, 1048576);
    ck_assert_uint_eq(config.initial_heap, 64 * KIB * KIB);
    ck_assert_uint_eq(config.heap_limit, 0);
    ck_assert_uint_eq(config.percent, 100);
    ck_assert_uint_ge(config.max_handles, (uint64_t)1 << 26);
}

TEST(fields_that_an_older_caller_does_not_know_have_their_defaults)
{
    coex_gc_config given, config;
    memset(&given, 0xff, sizeof given);
    given.size = offsetof(coex_gc_config, percent);
    given.initial_handles = 8192;
    given.max_handles = 16384;
    given.initial_heap = 1024 * KIB;
    given.heap_limit = 0;
    given.memlimit = 5;
    ck_assert_int_eq(cx_options_resolve(&config, &given), COEX_GC_OK);
    ck_assert_uint_eq(config.initial_handles, 8192);
    ck_assert_uint_eq(config.memlimit, 5);
    ck_assert_uint_eq(config.percent, 100);
    ck_assert_uint_eq(config.shadow_stack_slots, 16 * KIB * KIB);
    ck_assert_ptr_null((void *)(uintptr_t)config.out_of_memory);
    ck_assert_uint_eq(config.size, sizeof config);
}

TEST(initial_heap_is_never_above_the_limit)
{
    coex_gc_config given, config;
    cx_options_default(&given);
    given.heap_limit = 2048 * KIB;
    ck_assert_int_eq(cx_options_resolve(&config, &given), COEX_GC_OK);
    ck_assert_uint_eq(config.initial_heap, 2048 * KIB);
}
