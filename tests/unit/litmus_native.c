/*
 * The store-then-load race of native mode, tried some hundred thousand times: of the thread that goes native and the collector that asks,
 * at least one must see the other (transition.h).
 *
 *     owner                             collector
 *     mode = NATIVE                     requested = e
 *     read requested                    read mode
 *
 * The collector's part is played by the test: a request is put to one thread, and it looks at that thread's mode once. If it finds the
 * thread managed, the thread must have found the request and answered it before it is native for good. (In the runtime the collector
 * looks again, so that a miss costs time and not an answer; here a miss is a failure.)
 *
 * With release and acquire in place of the seq operations both miss on x86-64 within a fraction of a second: see
 * scripts/mutants.d/borders.txt.
 */
#include "support/borders.h"

#include "gc/thread.h"
#include "gc/transition.h"

#include <pthread.h>
#include <sched.h>

static struct cx_thread *owner;
static uint64_t turn;  /* odd: a trial begins; even: the owner is native, or has answered */
static uint64_t ready; /* both spin up to a trial together */
static uint64_t trials, claims, missed;
static test_flag over;

/* On one core the two would take turns, and never meet. */
static void stay_on_core(unsigned number)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0) return;
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &all) && number-- == 0) CPU_SET(i, &one);
    }
    if (CPU_COUNT(&one) == 1) sched_setaffinity(0, sizeof one, &one);
}

static void spin(unsigned rounds)
{
    for (volatile unsigned i = 0; i < rounds; i++) {
    }
}

/* Waits for the number without a system call: the two must be as close as can be. */
static bool await(const uint64_t *word, uint64_t number)
{
    unsigned tries = 0;
    while (count_now(word) < number) {
        if (flag_is_set(&over)) return false;
        if (++tries > 20000) sched_yield(); /* there may be one core only, or others may want this one */
    }
    return true;
}

static void *go_native_again_and_again(void *unused)
{
    test_rng rng = rng_from(way_seed + 1);
    stay_on_core(0);
    coex_gc_register_thread();
    owner = (struct cx_thread *)(void *)coex_gc_get_current_thread();
    count_up(&ready);
    for (uint64_t trial = 1; await(&turn, 2 * trial - 1); trial++) {
        spin((unsigned)rng_below(&rng, 60));
        coex_gc_enter_native();
        count_up(&turn); /* native for good: the request was seen, or the collector must see the mode */
        await(&ready, trial + 1);
        coex_gc_leave_native();
    }
    flag_clear(&over);
    return unused;
}

/* As cycle.c publishes, for one thread. */
static void ask(uint64_t epoch)
{
    cx_a64_store_seq(&owner->requested, epoch << 3 | CX_REQUEST_FLUSH);
    cx_aptr_store_release(cx_aptr_at(&owner->words.limit), NULL);
}

static void one_trial(uint64_t trial, test_rng *rng)
{
    count_up(&turn);
    spin((unsigned)rng_below(rng, 60));
    ask(1000 + trial);
    bool seen = cx_transition_answer_gct(owner);
    await(&turn, 2 * trial);
    trials++;
    claims += seen;
    if (!seen && cx_thread_is_pending(owner)) {
        missed++;
        expect(cx_transition_answer_gct(owner)); /* so that the next trial begins as this one */
    }
    count_up(&ready);
}

TEST_TIMEOUT(of_a_thread_that_goes_native_and_a_request_one_sees_the_other, 60)
{
    pthread_t thread;
    double until = now_seconds() + (test_is_large() ? 20 : 1.5);
    way_seed = test_seed();
    test_rng rng = rng_from(way_seed);
    way_threads = 0; /* no collector but this test */
    way_start();
    coex_gc_unregister_thread();
    expect(pthread_create(&thread, NULL, go_native_again_and_again, NULL) == 0);
    stay_on_core(1);
    while (count_now(&ready) == 0) sched_yield();
    for (uint64_t trial = 1; now_seconds() < until; trial++) one_trial(trial, &rng);
    flag_set(&over);
    pthread_join(thread, NULL);
    printf("%" PRIu64 " trials, the collector saw %" PRIu64 ", both missed %" PRIu64 "\n", trials, claims, missed);
    ck_assert_uint_eq(missed, 0);
    coex_gc_shutdown();
}
