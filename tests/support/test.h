/*
 * What a test file includes, and all it needs to include to be a test program.
 *
 *     #include "support/test.h"
 *
 *     TEST(double_registration_is_a_no_op)
 *     {
 *         ck_assert_int_eq(answer(), 42);
 *     }
 *
 * Tests register themselves; support/test_main.c has main(). Each test runs in a process of its own (libcheck
 * forks), because the runtime is global state. `./test_x` runs all tests of a file, `./test_x name...` the
 * named ones, `./test_x --list` says which there are. CK_FORK=no keeps everything in one process, for gdb.
 *
 * Environment: COEX_TEST_TIME_SCALE multiplies every timeout, COEX_TEST_SEED repeats a random test (rng.h),
 * COEX_TEST_HOSTILE=1 makes a cycle at every allocation (hostile.h).
 */
#ifndef COEX_TESTS_SUPPORT_TEST_H
#define COEX_TESTS_SUPPORT_TEST_H

#include <check.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/rng.h"

/* Seconds that a test may take; scaled under sanitizers. A healthy test takes well under one. */
#define TEST_DEFAULT_TIMEOUT 20

/* A test. The macros start at the beginning of a line, with the name on it: CMake reads them from the source. */
#define TEST(name) TEST_TIMEOUT(name, TEST_DEFAULT_TIMEOUT)

/* A test that may take this many seconds. */
#define TEST_TIMEOUT(name, seconds)                                                                                                \
    static void name##_test(int _i);                                                                                               \
    static const TTest name##_entry = {#name, name##_test, __FILE__, __LINE__};                                                    \
    __attribute__((constructor)) static void name##_register(void) { test_register(&name##_entry, (seconds)); }                    \
    static void name##_test(int _i __attribute__((unused)))

/* Gives a test of this file a label of CTest: `timing` (measures time or memory against a bound) or `forks`. CMake reads the
 * line from the source, and refuses a name that no test has. */
#define TEST_LABEL(name, label) struct name##_##label;

/* A test whose body must abort, after it wrote exactly one line that contains `substring` to stderr. */
#define TEST_ABORTS(name, substring)                                                                                               \
    static void name##_aborting(void *);                                                                                           \
    TEST(name) { expect_abort(name##_aborting, NULL, (substring)); }                                                               \
    static void name##_aborting(void *_arg __attribute__((unused)))

/*
 * ck_assert… reports progress through a file at every call, passed or not: fine for a few thousand calls, too slow
 * for a loop of millions. expect() costs a branch, and may be used on any thread.
 */
#define expect(condition)                                                                                                          \
    do {                                                                                                                           \
        if (!(condition)) test_fail(__FILE__, __LINE__, "'%s' does not hold", #condition);                                         \
    } while (0)

/* The same for two unsigned numbers, handles or addresses cast to uintptr_t; prints both. */
#define expect_eq(a, b)                                                                                                            \
    do {                                                                                                                           \
        uint64_t expect_a_ = (uint64_t)(a), expect_b_ = (uint64_t)(b);                                                             \
        if (expect_a_ != expect_b_)                                                                                                \
            test_fail(__FILE__, __LINE__, "'%s == %s' does not hold: %" PRIu64 " (0x%" PRIx64 ") != %" PRIu64 " (0x%" PRIx64 ")",  \
                      #a, #b, expect_a_, expect_a_, expect_b_, expect_b_);                                                         \
    } while (0)

/*
 * Runs fn(arg) in a process of its own and fails the test unless that ended in SIGABRT after exactly one line
 * with `substring` on stderr. May be called any number of times. Threads don't survive a fork: call it while the
 * runtime is not running, and let fn start it.
 */
#define expect_abort(fn, arg, substring) test_expect_abort(__FILE__, __LINE__, (fn), (arg), (substring))

/* A double as a word: two that are equal may differ in it, and NaNs have one too. */
static inline uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* True with ASan or TSan: for tests that must not be as large there. */
bool test_is_sanitized(void);

/* True if this is a `checked` build of the library. */
bool test_is_checked(void);

/*
 * Runs fn(0, arg) … fn(n - 1, arg), each on a thread of its own, and returns when all have ended. They start
 * together: none runs before all exist. The caller blocks: a managed thread calls this in native mode.
 */
void run_threads(unsigned n, void (*fn)(unsigned index, void *arg), void *arg);

/* Behind the macros. */
void test_register(const TTest *test, int seconds);
_Noreturn void test_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
void test_expect_abort(const char *file, int line, void (*fn)(void *), void *arg, const char *substring);

/* How such a process ended: 0 if as it must, else a reason is written to `why`. */
int test_abort_verdict(void (*fn)(void *), void *arg, const char *substring, char *why, size_t size);

#endif
