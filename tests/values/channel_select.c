/*
 * Select: one case and one only, whatever the other threads do meanwhile.
 */
#include "support/borders.h"

#include <coex/values.h>
#include <pthread.h>

enum { CHANNELS = 6, THREADS = 6, WIDE = 300 };

static coex_handle shared[WIDE];
static unsigned shared_count;
static uint64_t run_seed;

static coex_handle channel_at(unsigned i) { return coex_gc_global_load(&shared[i]); }

static void start_channels(const coex_gc_config *config, unsigned count, const uint64_t *capacities, unsigned kinds, bool handles)
{
    start_with(config);
    nodes_init();
    shared_count = count;
    for (unsigned i = 0; i < count; i++) {
        shared[i] = 0; /* of a life before, maybe */
        expect(coex_gc_add_global_root(&shared[i]) == COEX_GC_OK);
        coex_gc_global_store(&shared[i], coex_channel_new(capacities[i % kinds], handles));
        expect(channel_at(i) != 0);
    }
}

static void start_plain(unsigned count, uint64_t capacity)
{
    coex_gc_config config = way_small_config();
    start_channels(&config, count, &capacity, 1, false);
}

static void stop_channels(void)
{
    for (unsigned i = 0; i < shared_count; i++) {
        expect_eq(coex_channel_waiting(channel_at(i), COEX_CHANNEL_SEND), 0);
        expect_eq(coex_channel_waiting(channel_at(i), COEX_CHANNEL_RECEIVE), 0);
        coex_gc_remove_global_root(&shared[i]);
    }
    coex_gc_shutdown();
}

#define expect_fails(call, status)                                                                                                 \
    do {                                                                                                                           \
        coex_clear_status();                                                                                                       \
        expect(!(call));                                                                                                           \
        expect_eq(coex_last_status(), status);                                                                                     \
    } while (0)

/* ---- by one thread -------------------------------------------------------------------------------------------------- */

TEST(the_case_that_can_be_done_is_done)
{
    start_plain(3, 1);
    uint64_t chosen;
    expect(coex_channel_send(channel_at(1), 11));
    coex_channel_case cases[] = {coex_channel_case_receive(channel_at(0)), coex_channel_case_receive(channel_at(1)),
                                 coex_channel_case_receive(channel_at(2))};
    expect(coex_channel_select(cases, 3, COEX_CHANNEL_FOREVER, &chosen));
    expect(chosen == 1 && cases[1].word == 11);
    expect_fails(coex_channel_select(cases, 3, 0, &chosen), COEX_STATUS_TIMEOUT); /* the default case */
    expect_eq(chosen, 3);
    expect_fails(coex_channel_select(cases, 3, 2000000, &chosen), COEX_STATUS_TIMEOUT);

    cases[2] = coex_channel_case_send(channel_at(2), 22);
    expect(coex_channel_select(cases, 3, COEX_CHANNEL_FOREVER, NULL));
    expect_eq(coex_channel_len(channel_at(2)), 1);
    expect_fails(coex_channel_select(cases, 3, 1000, &chosen), COEX_STATUS_TIMEOUT); /* full, and the others are empty */

    expect(coex_channel_close(channel_at(0)));
    expect_fails(coex_channel_select(cases, 3, COEX_CHANNEL_FOREVER, &chosen), COEX_STATUS_CLOSED);
    expect_eq(chosen, 0);
    cases[0].channel = 0; /* switched off */
    expect_fails(coex_channel_select(cases, 3, 1000, &chosen), COEX_STATUS_TIMEOUT);
    expect(coex_channel_close(channel_at(2)));
    expect_fails(coex_channel_select(cases, 3, COEX_CHANNEL_FOREVER, &chosen), COEX_STATUS_CLOSED);
    expect_eq(chosen, 2);
    stop_channels();
}

TEST(cases_that_make_no_sense_are_refused)
{
    start_plain(1, 1);
    uint64_t chosen;
    coex_channel_case one = {channel_at(0), 0, 7};
    expect_fails(coex_channel_select(&one, 1, 0, &chosen), COEX_STATUS_RANGE);
    expect_fails(coex_channel_select(&one, COEX_CHANNEL_MAX_CASES + 1, 0, &chosen), COEX_STATUS_SIZE);
    expect_fails(coex_channel_select(NULL, 0, COEX_CHANNEL_FOREVER, &chosen), COEX_STATUS_RANGE);
    expect_fails(coex_channel_select(NULL, 1, 0, &chosen), COEX_STATUS_RANGE);
    one = coex_channel_case_receive(0);
    expect_fails(coex_channel_select(&one, 1, COEX_CHANNEL_FOREVER, &chosen), COEX_STATUS_RANGE);
    expect_fails(coex_channel_select(&one, 1, 1000000, &chosen), COEX_STATUS_TIMEOUT);
    expect_fails(coex_channel_select(NULL, 0, 1000000, NULL), COEX_STATUS_TIMEOUT);
    one = coex_channel_case_receive(COEX_IMMEDIATE(1));
    expect_fails(coex_channel_select(&one, 1, 1000, &chosen), COEX_STATUS_KIND);
    stop_channels();
}

TEST(a_select_does_not_meet_itself)
{
    start_plain(1, 0);
    uint64_t chosen;
    coex_channel_case cases[] = {coex_channel_case_send(channel_at(0), 5), coex_channel_case_receive(channel_at(0)),
                                 coex_channel_case_send(channel_at(0), 6)};
    for (int i = 0; i < 20; i++) expect_fails(coex_channel_select(cases, 3, 100000, &chosen), COEX_STATUS_TIMEOUT);
    stop_channels();
}

TEST(no_case_is_served_for_ever_before_the_others)
{
    enum { ROUNDS = 4000, CASES = 4 };
    unsigned times[CASES] = {0};
    start_plain(CASES, 1);
    for (int i = 0; i < ROUNDS; i++) {
        coex_channel_case cases[CASES];
        uint64_t chosen;
        for (unsigned k = 0; k < CASES; k++) {
            coex_channel_try_send(channel_at(k), k);
            cases[k] = coex_channel_case_receive(channel_at(k));
        }
        expect(coex_channel_select(cases, CASES, 0, &chosen));
        expect_eq(cases[chosen].word, chosen);
        times[chosen]++;
    }
    for (int k = 0; k < CASES; k++) expect(times[k] > ROUNDS / CASES / 2);
    stop_channels();
}

/* Cases that are switched off, or can't be done, stand between those that can. */
TEST(each_case_that_can_be_done_is_as_likely_as_the_others)
{
    enum { ROUNDS = 6000, CASES = 8, READY = 3 };
    static const unsigned ready[READY] = {0, 1, CASES - 1};
    for (int off = 0; off < 2; off++) {
        unsigned times[CASES] = {0};
        start_plain(CASES, 1);
        for (int i = 0; i < ROUNDS; i++) {
            coex_channel_case cases[CASES];
            uint64_t chosen;
            for (unsigned k = 0; k < CASES; k++) cases[k] = coex_channel_case_receive(off ? 0 : channel_at(k));
            for (unsigned k = 0; k < READY; k++) {
                coex_channel_try_send(channel_at(ready[k]), ready[k]);
                cases[ready[k]] = coex_channel_case_receive(channel_at(ready[k]));
            }
            expect(coex_channel_select(cases, CASES, 0, &chosen));
            expect_eq(cases[chosen].word, chosen);
            times[chosen]++;
        }
        /* A third of 6000 each; the deviation is 37, so eight of them are out of reach. */
        for (int k = 0; k < READY; k++) expect(times[ready[k]] > 1700 && times[ready[k]] < 2300);
        stop_channels();
    }
}

/* More cases than their order has room for on the C stack. */
TEST(a_case_among_many_is_as_likely_as_the_others)
{
    enum { ROUNDS = 2000 };
    unsigned times[2] = {0};
    start_plain(WIDE, 1);
    for (int i = 0; i < ROUNDS; i++) {
        coex_channel_case cases[WIDE];
        uint64_t chosen;
        for (unsigned k = 0; k < WIDE; k++) cases[k] = coex_channel_case_receive(channel_at(k));
        coex_channel_try_send(channel_at(7), 7);
        coex_channel_try_send(channel_at(8), 8);
        expect(coex_channel_select(cases, WIDE, 0, &chosen));
        expect(chosen == 7 || chosen == 8);
        times[chosen - 7]++;
    }
    expect(times[0] > 800 && times[1] > 800);
    stop_channels();
}

/* ---- by several ------------------------------------------------------------------------------------------------------ */

static void *send_to_last(void *argument)
{
    coex_gc_register_thread();
    expect(coex_channel_send(channel_at(shared_count - 1), (uintptr_t)argument));
    coex_gc_unregister_thread();
    return NULL;
}

TEST(a_select_over_many_waits_for_any_of_them)
{
    pthread_t thread;
    coex_channel_case cases[WIDE];
    uint64_t chosen;
    start_plain(WIDE, 0);
    for (unsigned i = 0; i < WIDE; i++) cases[i] = coex_channel_case_receive(channel_at(i));
    for (uintptr_t round = 1; round < 20; round++) {
        expect(pthread_create(&thread, NULL, send_to_last, (void *)round) == 0);
        expect(coex_channel_select(cases, WIDE, COEX_CHANNEL_FOREVER, &chosen));
        expect(chosen == WIDE - 1 && cases[chosen].word == round);
        COEX_GC_NATIVE(pthread_join(thread, NULL));
    }
    stop_channels();
}

/* Two send at the same time to one that selects from both: one is received, and the other one knows that it was not. */
static uint64_t won, lost, taken;
static unsigned round_now;

static void two_at_once_main(unsigned index, void *arg)
{
    coex_gc_register_thread();
    for (unsigned round = 1; round <= *(unsigned *)arg; round++) {
        if (index == 0) {
            coex_channel_case cases[] = {coex_channel_case_receive(channel_at(0)), coex_channel_case_receive(channel_at(1))};
            uint64_t chosen;
            __atomic_store_n(&round_now, round, __ATOMIC_RELEASE);
            if (coex_channel_select(cases, 2, 2000000, &chosen)) {
                expect(cases[chosen].word == round * 2 + chosen);
                taken++;
            }
            COEX_GC_NATIVE(while (count_now(&won) + count_now(&lost) < 2 * (uint64_t)round) sched_yield());
        } else {
            COEX_GC_NATIVE(while (__atomic_load_n(&round_now, __ATOMIC_ACQUIRE) < round) sched_yield());
            count_up(coex_channel_send_for(channel_at(index - 1), round * 2 + index - 1, 20000) ? &won : &lost);
        }
    }
    coex_gc_unregister_thread();
}

TEST_TIMEOUT(a_select_that_two_serve_at_once_takes_one, 60)
{
    unsigned rounds = scaled(2000, 200);
    start_plain(2, 0);
    won = lost = taken = round_now = 0;
    run_threads_native(3, two_at_once_main, &rounds);
    expect_eq(taken, won);
    expect(taken > 0 && lost > 0);
    stop_channels();
}

/* Two selects that are each other's other half. */
static uint64_t passed[2];

static void mirrored_main(unsigned index, void *arg)
{
    unsigned rounds = *(unsigned *)arg;
    coex_gc_register_thread();
    for (unsigned i = 0; i < rounds; i++) {
        coex_channel_case cases[] = {coex_channel_case_send(channel_at(index), i),
                                     coex_channel_case_receive(channel_at(1 - index))};
        uint64_t chosen;
        expect(coex_channel_select(cases, 2, COEX_CHANNEL_FOREVER, &chosen));
        expect_eq(cases[chosen].word, i);
        passed[index] += chosen == 0;
    }
    coex_gc_unregister_thread();
}

TEST_TIMEOUT(two_selects_meet, 60)
{
    unsigned rounds = scaled(20000, 2000);
    start_plain(2, 0);
    run_threads_native(2, mirrored_main, &rounds);
    expect_eq(passed[0] + passed[1], rounds); /* each round passed one word, one way */
    stop_channels();
}

/* ---- everything at once ------------------------------------------------------------------------------------------------ */

static uint64_t sent, sent_sum, received, received_sum;

static void add(uint64_t *sum, uint64_t amount) { __atomic_fetch_add(sum, amount, __ATOMIC_RELAXED); }

static void note_sent(coex_handle node)
{
    add(&sent, 1);
    add(&sent_sum, node_mix(node_id(node)));
}

static void note_received(coex_handle node)
{
    add(&received, 1);
    add(&received_sum, node_mix(node_verify(node)));
}

static void random_select(test_rng *rng, coex_handle *slot)
{
    coex_channel_case cases[12];
    uint64_t count = rng_between(rng, 1, 12), chosen;
    slot[0] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    expect(slot[0] != 0);
    for (uint64_t i = 0; i < count; i++) {
        coex_handle channel = rng_one_in(rng, 10) ? 0 : channel_at((unsigned)rng_below(rng, CHANNELS));
        cases[i] = rng_one_in(rng, 2) ? coex_channel_case_send(channel, slot[0]) : coex_channel_case_receive(channel);
    }
    if (!coex_channel_select(cases, count, rng_one_in(rng, 4) ? 0 : rng_below(rng, 50000), &chosen)) {
        expect_eq(coex_last_status(), COEX_STATUS_TIMEOUT);
        return;
    }
    if (cases[chosen].operation == COEX_CHANNEL_SEND) {
        note_sent(slot[0]);
    } else {
        slot[1] = cases[chosen].word;
        coex_gc_safepoint();
        note_received(slot[1]);
    }
}

static void random_single(test_rng *rng, coex_handle *slot)
{
    coex_handle channel = channel_at((unsigned)rng_below(rng, CHANNELS));
    uint64_t word, wait = rng_below(rng, 30000);
    if (rng_one_in(rng, 2)) {
        slot[0] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
        if (coex_channel_send_for(channel, slot[0], wait)) note_sent(slot[0]);
    } else if (coex_channel_receive_for(channel, &word, wait)) {
        slot[1] = word;
        note_received(word);
    }
}

static void chaos_main(unsigned index, void *arg)
{
    test_rng rng = rng_from(run_seed + index);
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(2);
    for (unsigned i = *(unsigned *)arg; i > 0; i--) {
        if (rng_one_in(&rng, 3))
            random_single(&rng, slot);
        else
            random_select(&rng, slot);
        slot[0] = slot[1] = 0;
    }
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
}

static void chaos(void)
{
    static const uint64_t capacities[CHANNELS] = {0, 1, 0, 5, COEX_CHANNEL_UNBOUNDED, 2};
    unsigned rounds = unless_hostile(scaled(4000, 500), 300);
    uint64_t word;
    run_seed = way_seed;
    sent = sent_sum = received = received_sum = 0;
    coex_gc_config config = way_small_config();
    start_channels(&config, CHANNELS, capacities, CHANNELS, true);
    run_threads_native(THREADS, chaos_main, &rounds);
    for (unsigned i = 0; i < CHANNELS; i++) {
        while (coex_channel_try_receive(channel_at(i), &word)) note_received(word);
    }
    expect_eq(received, sent);
    expect_eq(received_sum, sent_sum);
    expect(sent > rounds / 4);
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    stop_channels();
}

TEST_TIMEOUT(selects_of_many_threads_pass_everything_once, 90) { both_ways(chaos); }
