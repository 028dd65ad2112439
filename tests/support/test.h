/* The header of every test file.
 *
 *     #include "support/test.h"
 *
 *     TEST(double_registration_is_a_no_op)
 *     {
 *         ck_assert_int_eq(answer(), 42);
 *     }
 *
 * Tests register themselves, and support/test_main.c contains main(). Each test runs in a
 * process of its own, which libcheck forks, because the runtime is global state. `./test_x` runs
 * all tests of a file, `./test_x name...` runs the named tests, and `./test_x --list` lists the
 * tests. CK_FORK=no keeps all tests in one process, for gdb.
 *
 * Environment: COEX_TEST_TIME_SCALE multiplies every timeout, COEX_TEST_SEED repeats a random
 * test (rng.h), and COEX_TEST_HOSTILE=1 runs a cycle at every allocation (hostile.h). */
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

/* Timeout of a test in seconds, scaled under sanitizers. Most tests take much less than a
 * second. */
#define TEST_DEFAULT_TIMEOUT 20

/* Defines a test. The macro must start a line and have the name on that line, because CMake
 * reads the source. */
#define TEST(name) TEST_TIMEOUT(name, TEST_DEFAULT_TIMEOUT)

/* Defines a test with a timeout in seconds. */
#define TEST_TIMEOUT(name, seconds)                                                                                                \
    static void name##_test(int _i);                                                                                               \
    static const TTest name##_entry = {#name, name##_test, __FILE__, __LINE__};                                                    \
    __attribute__((constructor)) static void name##_register(void) { test_register(&name##_entry, (seconds)); }                    \
    static void name##_test(int _i __attribute__((unused)))

/* Gives a test of this file a label of CTest: `timing` if it measures time or memory against a
 * bound, or `forks` if it forks. CMake reads the line from the source, and rejects the name of a
 * missing test. */
#define TEST_LABEL(name, label) struct name##_##label;

/* Defines a test whose body must write exactly one line with `substring` to stderr and then
 * abort. */
#define TEST_ABORTS(name, substring)                                                                                               \
    static void name##_aborting(void *);                                                                                           \
    TEST(name) { expect_abort(name##_aborting, NULL, (substring)); }                                                               \
    static void name##_aborting(void *_arg __attribute__((unused)))

/* Fails the test if the condition is false. It costs a branch and may be used on any thread.
 * ck_assert… writes to a file at every call, which is too slow for loops of millions. */
#define expect(condition)                                                                                                          \
    do {                                                                                                                           \
        if (!(condition)) test_fail(__FILE__, __LINE__, "'%s' does not hold", #condition);                                         \
    } while (0)

/* Fails the test if two unsigned numbers, handles or addresses (as uintptr_t) differ, and prints
 * both. */
#define expect_eq(a, b)                                                                                                            \
    do {                                                                                                                           \
        uint64_t expect_a_ = (uint64_t)(a), expect_b_ = (uint64_t)(b);                                                             \
        if (expect_a_ != expect_b_)                                                                                                \
            test_fail(__FILE__, __LINE__, "'%s == %s' does not hold: %" PRIu64 " (0x%" PRIx64 ") != %" PRIu64 " (0x%" PRIx64 ")",  \
                      #a, #b, expect_a_, expect_a_, expect_b_, expect_b_);                                                         \
    } while (0)

/* Runs fn(arg) in a child process. Fails the test unless the child writes exactly one line with
 * `substring` to stderr and ends with SIGABRT. May be called repeatedly. Threads do not survive
 * a fork, so call it while the runtime is not running, and let fn start the runtime. */
#define expect_abort(fn, arg, substring) test_expect_abort(__FILE__, __LINE__, (fn), (arg), (substring))

/* Returns the bits of a double. Equal doubles may have different bits. */
static inline uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* Returns true in builds with ASan or TSan, in which tests should be smaller. */
bool test_is_sanitized(void);

/* Returns true in `checked` builds of the library. */
bool test_is_checked(void);

/* Runs fn(0, arg) … fn(n - 1, arg), each on its own thread, and returns when all have ended. No
 * thread runs fn before all threads exist. The caller blocks, so a managed thread calls this in
 * native mode. */
void run_threads(unsigned n, void (*fn)(unsigned index, void *arg), void *arg);

/* Used by the macros. */
void test_register(const TTest *test, int seconds);
_Noreturn void test_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
void test_expect_abort(const char *file, int line, void (*fn)(void *), void *arg, const char *substring);

/* Runs fn(arg) as expect_abort does. Returns 0 on success; otherwise writes the reason to `why`. */
int test_abort_verdict(void (*fn)(void *), void *arg, const char *substring, char *why, size_t size);

#endif
