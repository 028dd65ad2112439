/*
 * main() of every test program: collects the tests that registered themselves, runs those that are asked for
 * under libcheck, one process each.
 *
 * Tests register from constructors, before main() and on one thread, so the table needs no lock.
 */
#include "support/hostile.h"
#include "support/test.h"

#include <stdarg.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED_ADDRESS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED_ADDRESS 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define SANITIZED_THREAD 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZED_THREAD 1
#endif
#endif
#ifndef SANITIZED_ADDRESS
#define SANITIZED_ADDRESS 0
#endif
#ifndef SANITIZED_THREAD
#define SANITIZED_THREAD 0
#endif

/* The largest test file has some dozens. */
#define MAX_TESTS 1024

typedef struct test_case {
    const TTest *test;
    int seconds;
} test_case;

static test_case tests[MAX_TESTS];
static int test_count;

/* ---- what sanitizers ask for ------------------------------------------------------------------------------ */

/* The sanitizers' libraries call these by name; environment variables still win. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);
const char *__ubsan_default_options(void);

/* Aborts are tested for: they must leave nothing but the runtime's own line. An allocation that is too big must
 * fail as it does without ASan. */
const char *__asan_default_options(void) { return "handle_abort=0:allocator_may_return_null=1:detect_stack_use_after_return=0"; }

/* A forked child of a program with threads may start threads: expect_abort needs that. */
const char *__tsan_default_options(void) { return "handle_abort=0:die_after_fork=0:halt_on_error=1:second_deadlock_stack=1"; }

const char *__ubsan_default_options(void) { return "handle_abort=0:print_stacktrace=1"; }

bool test_is_sanitized(void) { return SANITIZED_ADDRESS || SANITIZED_THREAD; }

bool test_is_checked(void)
{
#ifdef COEX_GC_CHECKED
    return true;
#else
    return false;
#endif
}

/* ---- the table of tests ----------------------------------------------------------------------------------- */

void test_register(const TTest *test, int seconds)
{
    if (test_count == MAX_TESTS) {
        fprintf(stderr, "more than %d tests in %s\n", MAX_TESTS, test->file);
        abort();
    }
    tests[test_count].test = test;
    tests[test_count].seconds = seconds;
    test_count++;
}

/* Sanitizers slow threaded code down by 5 to 15 times; the checks of a checked build cost less than that. */
static double time_scale(void)
{
    double scale = SANITIZED_THREAD ? 15 : SANITIZED_ADDRESS ? 6 : 1;
    const char *text = getenv("COEX_TEST_TIME_SCALE");
    if (text != NULL && strtod(text, NULL) > 0) scale *= strtod(text, NULL);
    return scale;
}

static bool is_wanted(const char *name, int names, char **wanted)
{
    for (int i = 0; i < names; i++) {
        if (strcmp(name, wanted[i]) == 0) return true;
    }
    return names == 0;
}

static int list_tests(void)
{
    for (int i = 0; i < test_count; i++) puts(tests[i].test->name);
    return EXIT_SUCCESS;
}

/* A test that is asked for and not there is a failure, not a run of nothing. */
static int first_unknown(int names, char **wanted)
{
    for (int i = 0; i < names; i++) {
        int found = 0;
        for (int j = 0; j < test_count; j++) found += strcmp(tests[j].test->name, wanted[i]) == 0;
        if (found == 0) return i;
    }
    return -1;
}

static int run_tests(const char *program, int names, char **wanted)
{
    const char *slash = strrchr(program, '/');
    Suite *suite = suite_create(slash != NULL ? slash + 1 : program);
    for (int i = 0; i < test_count; i++) {
        if (!is_wanted(tests[i].test->name, names, wanted)) continue;
        /* A case of its own, because the timeout belongs to the case. */
        TCase *tcase = tcase_create(tests[i].test->name);
        tcase_set_timeout(tcase, tests[i].seconds * time_scale());
        tcase_add_test(tcase, tests[i].test);
        suite_add_tcase(suite, tcase);
    }
    SRunner *runner = srunner_create(suite);
    hostile_begin_count();
    srunner_run_all(runner, CK_ENV);
    int run = srunner_ntests_run(runner);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (test_is_hostile()) printf("%u runtimes were hostile\n", hostile_count());
    if (test_is_hostile() && hostile_count() == 0 && names == 0) return EXIT_FAILURE;
    return failed == 0 && run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) return list_tests();
    int unknown = first_unknown(argc - 1, argv + 1);
    if (unknown >= 0) {
        fprintf(stderr, "%s: no test called %s (see --list)\n", argv[0], argv[1 + unknown]);
        return 2;
    }
    return run_tests(argv[0], argc - 1, argv + 1);
}

/* ---- failing, and seeds ----------------------------------------------------------------------------------- */

void test_fail(const char *file, int line, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    _ck_assert_failed(file, line, "Failed", "%s", text);
    abort(); /* not reached: the line above ends the process or jumps back to the runner */
}

/* With no seed given, a new one for each run; there is no need for it to be good, only to be different. */
static uint64_t fresh_seed(void)
{
    uint64_t seed = 0;
    FILE *random = fopen("/dev/urandom", "rb");
    if (random == NULL || fread(&seed, sizeof seed, 1, random) != 1) {
        fprintf(stderr, "can't read /dev/urandom for a seed\n");
        abort();
    }
    fclose(random);
    return seed;
}

uint64_t test_seed(void)
{
    const char *text = getenv("COEX_TEST_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : fresh_seed();
    printf("COEX_TEST_SEED=0x%" PRIx64 " repeats this run\n", seed);
    fflush(stdout);
    return seed;
}
