/*
 * The store-then-load race of native mode, tried some hundred thousand times: of the thread that goes native and the collector that asks,
 * at least one must see the other (native_transition.h).
 *
 *     owner                             collector
 *     mode = NATIVE                     requested = e
 *     read requested                    read mode
 *
 * The collector's part is played by the test, with the collector's own functions: a request is put to one thread, and it looks at that
 * thread's mode once. If it finds the thread managed, the thread must have found the request and answered it before it is native for good.
 * (In the runtime the collector looks again, so that a miss costs time and not an answer; here a miss is a failure.)
 *
 * With release in place of seq, on either side, both miss on x86-64 within a fraction of a second (tests/mutants/borders.txt). That this
 * machine can show it at all is a test of its own, with bare words: released and acquired they pass each other, seq they never do.
 */
#include "support/borders.h"

#include "gc/threads/thread_record.h"
#include "gc/threads/native_transition.h"

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

static void one_trial(uint64_t trial, test_rng *rng)
{
    count_up(&turn);
    spin((unsigned)rng_below(rng, 60));
    expect(!cx_thread_is_pending(
        owner)); /* and so its record is in this core's cache, as it is when the collector has looked before */
    cx_thread_request_gct(owner, (1000 + trial) << 3 | CX_REQUEST_FLUSH); /* as stages.c does it */
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

/* On a machine that is busy with other things the two seldom run side by side: that takes longer. */
static bool is_time_left(double spent, double least, double most)
{
    return spent < least || (trials < 50000 && missed == 0 && spent < most);
}

TEST_TIMEOUT(of_a_thread_that_goes_native_and_a_request_one_sees_the_other, 60)
{
    pthread_t thread;
    double begin = now_seconds(), least = test_is_large() ? 20 : 1.5, most = test_is_sanitized() ? least : 20;
    way_seed = test_seed();
    test_rng rng = rng_from(way_seed);
    way_threads = 0; /* no collector but this test */
    way_start();
    coex_gc_unregister_thread();
    expect(pthread_create(&thread, NULL, go_native_again_and_again, NULL) == 0);
    stay_on_core(1);
    while (count_now(&ready) == 0) sched_yield();
    for (uint64_t trial = 1; is_time_left(now_seconds() - begin, least, most); trial++) one_trial(trial, &rng);
    flag_set(&over);
    pthread_join(thread, NULL);
    printf("%" PRIu64 " trials, the collector saw %" PRIu64 ", both missed %" PRIu64 "\n", trials, claims, missed);
    ck_assert_uint_eq(missed, 0);
    coex_gc_shutdown();
}

/* ---- the machine ----------------------------------------------------------------------------------------------------------------- */

enum { CROSSINGS = 300000 };

/* One of two that each store 1, 2, 3 ... into a word of their own, and after each store read the other's. */
struct side {
    _Alignas(128) cx_a64 word;
    uint32_t seen[CROSSINGS + 1];
    bool seq;
    unsigned core;
    const struct side *other;
};

static struct side left, right;

static void *cross_again_and_again(void *argument)
{
    struct side *side = argument;
    stay_on_core(side->core);
    count_up(&ready);
    await(&ready, 2);
    for (uint32_t i = 1; i <= CROSSINGS; i++) {
        if (side->seq) {
            cx_a64_store_seq(&side->word, i);
            side->seen[i] = (uint32_t)cx_a64_load_seq(&side->other->word);
        } else {
            cx_a64_store_release(&side->word, i);
            side->seen[i] = (uint32_t)cx_a64_load_acquire(&side->other->word);
        }
    }
    return NULL;
}

/* How often both have missed each other: left stored i and did not see j, right stored j and did not see i. */
static uint64_t count_misses(bool seq)
{
    struct side *sides[] = {&left, &right};
    pthread_t threads[2];
    uint64_t both = 0;
    ready = 0;
    for (unsigned i = 0; i < 2; i++) {
        cx_a64_store_seq(&sides[i]->word, 0);
        sides[i]->seq = seq;
        sides[i]->core = i;
        sides[i]->other = sides[1 - i];
        expect(pthread_create(&threads[i], NULL, cross_again_and_again, sides[i]) == 0);
    }
    for (unsigned i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (uint32_t i = 1; i <= CROSSINGS; i++) {
        uint32_t j = left.seen[i] + 1;
        both += j <= CROSSINGS && right.seen[j] < i;
    }
    return both;
}

/* Nothing passes on one core, nor through the sanitizer's own bookkeeping. */
static bool can_pass(void)
{
    cpu_set_t all;
    return !test_is_sanitized() && sched_getaffinity(0, sizeof all, &all) == 0 && CPU_COUNT(&all) > 1;
}

TEST_TIMEOUT(released_words_pass_each_other_and_seq_words_never_do, 60)
{
    uint64_t released = 0, rounds = 0;
    double until = now_seconds() + 20;
    do {
        rounds++;
        ck_assert_uint_eq(count_misses(true), 0);
        released += count_misses(false);
    } while (released == 0 && now_seconds() < until && can_pass());
    printf("%" PRIu64 " of %" PRIu64 " released pairs passed each other\n", released, rounds * CROSSINGS);
    if (can_pass()) ck_assert_uint_gt(released, 0);
}
