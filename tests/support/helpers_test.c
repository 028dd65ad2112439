/*
 * The tests of the test support itself: a helper that lets failures pass makes every other test worthless.
 */
#include "support/test.h"

#include <signal.h>
#include <unistd.h>

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) _exit(3);
}

static void abort_saying(void *text)
{
    say(text);
    abort();
}

static void return_saying(void *text) { say(text); }

static void die_by_segv(void *text)
{
    say(text);
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

static char why[8192];

static int verdict(void (*fn)(void *), const char *text, const char *substring)
{
    char copy[8192];
    snprintf(copy, sizeof copy, "%s", text);
    why[0] = '\0';
    return test_abort_verdict(fn, copy, substring, why, sizeof why);
}

TEST(one_line_and_abort_is_accepted)
{
    ck_assert_int_eq(verdict(abort_saying, "coex: no such type\n", "such"), 0);
    ck_assert_str_eq(why, "");
}

TEST(return_without_abort_is_refused)
{
    ck_assert_int_ne(verdict(return_saying, "coex: no such type\n", "such"), 0);
    ck_assert_ptr_nonnull(strstr(why, "exited with status 0"));
}

TEST(other_signal_is_refused)
{
    ck_assert_int_ne(verdict(die_by_segv, "coex: no such type\n", "such"), 0);
    ck_assert_ptr_nonnull(strstr(why, "signal 11"));
}

TEST(silent_abort_is_refused)
{
    ck_assert_int_ne(verdict(abort_saying, "", ""), 0);
    ck_assert_ptr_nonnull(strstr(why, "exactly one line"));
}

TEST(two_lines_are_refused)
{
    ck_assert_int_ne(verdict(abort_saying, "coex: no such type\nand more\n", "such"), 0);
    ck_assert_ptr_nonnull(strstr(why, "exactly one line"));
}

TEST(line_without_end_is_refused) { ck_assert_int_ne(verdict(abort_saying, "coex: no such type", "such"), 0); }

TEST(other_text_is_refused)
{
    ck_assert_int_ne(verdict(abort_saying, "coex: no such type\n", "handle"), 0);
    ck_assert_ptr_nonnull(strstr(why, "is not in"));
}

/* More than a pipe holds: the child must not block on it. */
static void abort_flooding(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10000; i++) say("a line that nobody asked for\n");
    abort();
}

TEST(flood_of_output_is_refused_and_does_not_hang)
{
    ck_assert_int_ne(test_abort_verdict(abort_flooding, NULL, "line", why, sizeof why), 0);
}

TEST(expect_abort_may_be_used_several_times)
{
    char first[] = "first\n", second[] = "second\n";
    expect_abort(abort_saying, first, "first");
    expect_abort(abort_saying, second, "second");
}

TEST_ABORTS(aborting_body_passes, "of this very line")
{
    say("the end of this very line\n");
    abort();
}

static void abort_on_a_thread(unsigned index, void *arg)
{
    if (index == 1) abort_saying(arg);
}

static void abort_among_threads(void *text) { run_threads(3, abort_on_a_thread, text); }

static void expect_abort_on_a_thread(unsigned index, void *text)
{
    (void)index;
    expect_abort(abort_among_threads, text, "from a thread");
}

TEST(abort_on_a_thread_is_seen)
{
    char text[] = "from a thread\n";
    expect_abort(abort_among_threads, text, "from a thread");
}

TEST(expect_abort_works_in_a_process_with_threads)
{
    char text[] = "from a thread\n";
    run_threads(1, expect_abort_on_a_thread, text);
}

static void count_up(unsigned index, void *arg)
{
    unsigned *counts = arg;
    counts[index]++;
}

TEST(run_threads_runs_each_index_once)
{
    unsigned counts[8] = {0};
    run_threads(8, count_up, counts);
    for (unsigned i = 0; i < 8; i++) expect_eq(counts[i], 1);
}

TEST(same_seed_gives_same_numbers)
{
    ck_assert_int_eq(setenv("COEX_TEST_SEED", "0x2a", 1), 0);
    test_rng a = rng_from(test_seed()), b = rng_from(42);
    for (int i = 0; i < 1000; i++) expect_eq(rng_next(&a), rng_next(&b));
}

TEST(numbers_stay_below_their_bound)
{
    test_rng rng = rng_from(test_seed());
    for (int i = 0; i < 100000; i++) {
        uint64_t n = rng_between(&rng, 10, 20);
        expect(n >= 10 && n <= 20);
    }
}

static bool constructor_ran;

__attribute__((constructor)) static void note_constructor(void) { constructor_ran = true; }

static int left_by_another_test;

TEST(each_test_has_a_process_of_its_own_1)
{
    ck_assert(constructor_ran);
    ck_assert_int_eq(left_by_another_test++, 0);
}

TEST_TIMEOUT(each_test_has_a_process_of_its_own_2, 5) { ck_assert_int_eq(left_by_another_test++, 0); }
