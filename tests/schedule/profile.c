/*
 * Forced schedules of the allocation profile: the collector and a writer work without the lock, and a new profile begins meanwhile, which
 * frees the sites of the old one.
 */
#include "support/pprof_reader.h"
#include "support/schedule.h"

#include "diag/events/profile.h"

#include <unistd.h>

enum { MANY = 600 }; /* samples: more than a chunk */

static char path[64];

static void sample_many(actor *self)
{
    for (int i = 0; i < MANY; i++) actor_make(self, 0, NODE_LEAF, 0, 0);
}

static void begin_anew(actor *self)
{
    coex_gc_profile_stop();
    expect_eq((uint64_t)coex_gc_profile_start(1), COEX_GC_OK);
    sample_many(self);
}

static void write_profile(actor *self)
{
    (void)self;
    expect_eq((uint64_t)coex_gc_profile_write(path), COEX_GC_OK);
}

static struct profile read_and_end(void)
{
    struct profile profile = profile_read(path);
    profile_free(&profile);
    unlink(path);
    schedule_end();
    return profile;
}

static void start(void)
{
    schedule_start();
    snprintf(path, sizeof path, "/tmp/coexgc-schedule-%d.pb", (int)getpid());
}

TEST(samples_of_a_profile_that_is_gone_do_not_count_in_the_next)
{
    NEEDS_POINTS();
    start();
    actor *a = actor_start("a");
    actor_do(a, begin_anew);
    hold *taken = hold_collector("profile-samples-taken");
    cycle_begin();
    run_to(taken);
    actor_do(a, begin_anew);
    uint64_t fresh = cx_profile.sampled_count;
    let_go(taken);
    run_out();
    expect_eq(cx_profile.sampled_count, fresh);
    actor_do(a, write_profile);
    struct profile profile = read_and_end();
    ck_assert_uint_eq(profile.value[LIVE_BYTES], profile.value[BYTES]); /* born in that cycle, all of them */
    ck_assert_uint_gt(profile.value[LIVE_BYTES], fresh * 8);
}

TEST(writer_starts_over_when_a_new_profile_begins)
{
    NEEDS_POINTS();
    start();
    actor *a = actor_start("a"), *b = actor_start("b");
    actor_do(a, begin_anew);
    for (int i = 0; i < 10; i++) actor_do(a, sample_many);
    hold *begun = hold_actor(b, "profile-copy-begun");
    actor_begin(b, write_profile);
    hold_await(begun);
    actor_do(a, begin_anew);
    let_go(begun);
    actor_await(b);
    uint64_t fresh = cx_profile.sampled_count;
    struct profile profile = read_and_end();
    ck_assert_uint_le(fresh, MANY);
    ck_assert_uint_eq(profile.value[OBJECTS], fresh);
}
