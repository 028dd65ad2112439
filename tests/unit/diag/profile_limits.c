/*
 * The allocation profile at its limits: what has no room is counted, and the file and the statistics say so.
 */
#include "support/objects.h"
#include "support/pprof_reader.h"

#include "diag/events/profile.h"

#include <unistd.h>

static char path[64];

static struct profile write_and_read(void)
{
    snprintf(path, sizeof path, "/tmp/coexgc-limits-%d.pb", (int)getpid());
    if (coex_gc_profile_write(path) != COEX_GC_OK) test_fail(__FILE__, __LINE__, "%s", coex_gc_error_detail());
    struct profile profile = profile_read(path);
    unlink(path);
    return profile;
}

#ifdef __clang__
#define OWN_FRAME __attribute__((noinline))
#else
#define OWN_FRAME __attribute__((noinline, noclone))
#endif

/* Allocates at the end of a call stack of this depth. */
OWN_FRAME static void allocate_below(uint32_t type, unsigned depth)
{
    if (depth == 0)
        new_pair(type, 0, 0);
    else
        allocate_below(type, depth - 1);
    __asm__ volatile("" ::: "memory"); /* a call, not a jump */
}

static uint64_t allocate_from_many_stacks(uint32_t type, unsigned each)
{
    if (stats_now().total_allocations == 0) coex_gc_alloc(0, type_bytes()); /* sampling begins with the next one */
    uint64_t before = stats_now().total_bytes_allocated;
    for (unsigned i = 0; i < 20 * each; i++) allocate_below(type, i % 20);
    return stats_now().total_bytes_allocated - before;
}

TEST(call_stacks_beyond_the_limit_are_counted_as_other_sites)
{
    start_quiet();
    uint32_t type = type_pair();
    cx_profile.most_sites = 5;
    ck_assert_int_eq(coex_gc_profile_start(1), COEX_GC_OK);
    uint64_t allocated = allocate_from_many_stacks(type, 100);
    struct profile profile = write_and_read();
    expect_about((double)profile.value[BYTES], (double)allocated, 0.01);
    expect_about((double)profile.value[LIVE_BYTES], (double)allocated, 0.01);
    expect_about((double)profile_sum(&profile, "(other sites)", BYTES, true), (double)allocated * 0.75, 0.02);
    ck_assert_uint_eq(profile.samples, 6);
    ck_assert_uint_eq(stats_now().profile_other_samples, 15 * 100);
    ck_assert_uint_eq(stats_now().profile_unfollowed_samples, 0);
    ck_assert(profile_says(&profile, "(other sites): 1500 samples"));
    profile_free(&profile);
    coex_gc_collect(); /* and what is dead is not in use there either */
    profile = write_and_read();
    ck_assert_uint_eq(profile.value[LIVE_BYTES], 0);
    expect_about((double)profile.value[BYTES], (double)allocated, 0.01);
    profile_free(&profile);
    coex_gc_shutdown();
}

TEST(samples_beyond_the_limit_are_allocated_but_not_followed)
{
    start_quiet();
    uint32_t type = type_pair();
    cx_profile.most_sampled = 1000;
    ck_assert_int_eq(coex_gc_profile_start(1), COEX_GC_OK);
    uint64_t allocated = allocate_from_many_stacks(type, 100), each = allocated / 2000;
    struct profile profile = write_and_read();
    expect_about((double)profile.value[BYTES], (double)allocated, 0.01);
    ck_assert_uint_eq(profile.value[LIVE_BYTES], 1000 * each);
    uint64_t unfollowed = stats_now().profile_unfollowed_samples;
    ck_assert_uint_eq(unfollowed, 1000);
    ck_assert(profile_says(&profile, "what is in use is incomplete"));
    profile_free(&profile);
    coex_gc_collect(); /* makes room */
    allocate_from_many_stacks(type, 10);
    ck_assert_uint_eq(stats_now().profile_unfollowed_samples, unfollowed);
    profile = write_and_read();
    ck_assert_uint_eq(profile.value[LIVE_BYTES], 200 * each);
    profile_free(&profile);
    coex_gc_profile_stop();
    ck_assert_int_eq(coex_gc_profile_start(1), COEX_GC_OK); /* a new one begins from nothing */
    ck_assert_uint_eq(stats_now().profile_unfollowed_samples, 0);
    coex_gc_shutdown();
}

/* The collector walks the samples without the lock: a profile that begins meanwhile has nothing of the old one. */
static uint32_t pair_type;

static void collect_or_restart(unsigned index, void *unused)
{
    (void)unused;
    coex_gc_register_thread();
    for (int i = 0; index == 0 && i < 30; i++) coex_gc_collect();
    for (int i = 0; index == 1 && i < 60; i++) {
        coex_gc_profile_stop();
        expect_eq(coex_gc_profile_start(1), COEX_GC_OK);
        for (int j = 0; j < 1000; j++) new_pair(pair_type, 0, 0);
        struct profile profile = write_and_read();
        expect(profile.value[LIVE_BYTES] <= profile.value[BYTES]);
        profile_free(&profile);
    }
    coex_gc_unregister_thread();
}

TEST_TIMEOUT(profile_can_begin_anew_beside_cycles_and_writers, 60)
{
    start_quiet();
    pair_type = type_pair();
    ck_assert_int_eq(coex_gc_profile_start(1), COEX_GC_OK);
    coex_gc_enter_native();
    run_threads(2, collect_or_restart, NULL);
    coex_gc_leave_native();
    coex_gc_collect();
    struct profile profile = write_and_read();
    ck_assert_uint_eq(profile.value[LIVE_BYTES], 0);
    profile_free(&profile);
    coex_gc_shutdown();
}
