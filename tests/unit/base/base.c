/*
 * src/base: address ranges, thread-exit hooks, ranked locks.
 */
#include "support/test.h"

#include "base/lock.h"
#include "base/os.h"
#include "base/report.h"
#include "gc/lock_rank.h"

#include <pthread.h>
#include <signal.h>

/* ---- ranges ----------------------------------------------------------------------------------------------- */

TEST(committed_part_of_a_range_is_zeroed_and_stays_where_it_is)
{
    cx_range range;
    size_t page = cx_os_page_size();
    ck_assert(cx_range_reserve(&range, 100 * page, 100 * page));
    char *base = range.base;
    ck_assert_uint_eq(range.committed, 0);
    for (size_t pages = 1; pages <= 64; pages *= 2) {
        ck_assert(cx_range_commit(&range, pages * page - 5));
        ck_assert_uint_eq(range.committed, pages * page);
        ck_assert_ptr_eq(range.base, base);
        for (size_t i = pages / 2; i < pages; i++) {
            ck_assert_int_eq(base[i * page], 0);
            base[i * page] = (char)(i + 1);
        }
    }
    for (size_t i = 0; i < 64; i++) ck_assert_int_eq(base[i * page], (char)(i + 1));
    ck_assert(cx_range_commit(&range, page)); /* less than before: nothing happens */
    ck_assert_uint_eq(range.committed, 64 * page);
    ck_assert(!cx_range_commit(&range, 101 * page));
    ck_assert_uint_eq(range.committed, 64 * page);
    ck_assert(cx_range_commit(&range, 100 * page));
    cx_range_release(&range);
    ck_assert_ptr_null(range.base);
    cx_range_release(&range); /* and again: nothing */
}

TEST(refused_reservation_is_halved_down_to_the_least)
{
    cx_range range;
    size_t huge = (size_t)1 << 60;
    ck_assert(!cx_range_reserve(&range, huge, huge));
    ck_assert(!cx_range_reserve(&range, huge, huge / 4));
    ck_assert(cx_range_reserve(&range, huge, (size_t)1 << 20));
    ck_assert_uint_ge(range.reserved, (size_t)1 << 20);
    ck_assert_uint_lt(range.reserved, huge);
    ck_assert(cx_range_commit(&range, (size_t)1 << 20));
    range.base[((size_t)1 << 20) - 1] = 1;
    cx_range_release(&range);
}

TEST(discarded_pages_read_as_zero_and_their_neighbours_stay)
{
    cx_range range;
    size_t page = cx_os_page_size();
    ck_assert(cx_range_reserve(&range, 4 * page, 4 * page));
    ck_assert(cx_range_commit(&range, 4 * page));
    memset(range.base, 0x5a, 4 * page);
    /* Only whole pages: the second and the third. */
    ck_assert_uint_eq(cx_os_discard(range.base + 1, 3 * page), 2 * page);
    ck_assert_int_eq(range.base[page - 1], 0x5a);
    for (size_t i = page; i < 3 * page; i++) expect(range.base[i] == 0);
    ck_assert_int_eq(range.base[3 * page], 0x5a);
    ck_assert_uint_eq(cx_os_discard(range.base + 1, page), 0);
    cx_range_release(&range);
}

/* ---- thread exit ------------------------------------------------------------------------------------------ */

static int hook_runs;

static void hook(void *by) { hook_runs += *(int *)by; }

static void *exit_with_hook(void *by)
{
    ck_assert(cx_os_at_thread_exit(hook, by));
    ck_assert(cx_os_at_thread_exit(hook, by)); /* one hook a thread: the last */
    return NULL;
}

static void *exit_without_hook(void *by)
{
    ck_assert(cx_os_at_thread_exit(hook, by));
    ck_assert(cx_os_at_thread_exit(NULL, NULL));
    return NULL;
}

static void run_thread(void *(*body)(void *), void *arg)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, body, arg), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

TEST(exit_hook_runs_once_unless_it_is_taken_back)
{
    int by = 1;
    run_thread(exit_with_hook, &by);
    ck_assert_int_eq(hook_runs, 1);
    run_thread(exit_without_hook, &by);
    ck_assert_int_eq(hook_runs, 1);
}

static sigset_t mask_seen;

static void note_mask(void *unused)
{
    (void)unused;
    pthread_sigmask(SIG_BLOCK, NULL, &mask_seen);
}

TEST(threads_of_the_library_have_all_signals_blocked_and_their_creator_has_not)
{
    cx_os_thread thread;
    sigset_t mine;
    ck_assert(cx_os_thread_start(&thread, "a name that is longer than 15", note_mask, NULL));
    cx_os_thread_join(&thread);
    ck_assert_int_eq(sigismember(&mask_seen, SIGUSR1), 1);
    ck_assert_int_eq(sigismember(&mask_seen, SIGTERM), 1);
    pthread_sigmask(SIG_BLOCK, NULL, &mine);
    ck_assert_int_eq(sigismember(&mine, SIGUSR1), 0);
}

/* ---- locks and reports ------------------------------------------------------------------------------------ */

static void take_in_falling_rank(void *unused)
{
    (void)unused;
    cx_mutex low, high;
    cx_mutex_init(&low, CX_RANK_REGISTRY);
    cx_mutex_init(&high, CX_RANK_HEAP);
    cx_mutex_lock(&high);
    cx_mutex_lock(&low);
}

static void assert_held_without(void *unused)
{
    (void)unused;
    cx_mutex mutex;
    cx_mutex_init(&mutex, CX_RANK_HEAP);
    cx_mutex_assert_held(&mutex);
}

TEST(lock_taken_out_of_rank_is_reported_in_checked_builds)
{
    cx_mutex low, high;
    cx_mutex_init(&low, CX_RANK_REGISTRY);
    cx_mutex_init(&high, CX_RANK_HEAP);
    cx_mutex_lock(&low);
    cx_mutex_lock(&high);
    cx_mutex_assert_held(&low);
    cx_mutex_unlock(&low);
    cx_mutex_unlock(&high);
    if (!test_is_checked()) return;
    char line[100];
    snprintf(line, sizeof line, "a lock of rank %d must not be taken while the ranks %#x are held",
             CX_RANK_REGISTRY, 1u << CX_RANK_HEAP);
    expect_abort(take_in_falling_rank, NULL, line);
    expect_abort(assert_held_without, NULL, "must be held here");
}

TEST(wait_with_a_time_limit_returns_when_it_is_over)
{
    cx_mutex mutex;
    cx_cond cond;
    cx_mutex_init(&mutex, CX_RANK_HEAP);
    cx_cond_init(&cond);
    cx_mutex_lock(&mutex);
    uint64_t before = cx_os_now_ns();
    ck_assert(!cx_cond_wait_for(&cond, &mutex, 20000000));
    ck_assert_uint_ge(cx_os_now_ns() - before, 20000000);
    cx_mutex_unlock(&mutex);
}

static void fail_at_length(void *unused)
{
    (void)unused;
    char text[3000];
    memset(text, 'y', sizeof text);
    text[sizeof text - 1] = '\0';
    cx_fatal("much: %s", text);
}

TEST(report_is_one_line_however_long_it_would_be) { expect_abort(fail_at_length, NULL, "coexgc: much: yyyy"); }
