/*
 * Channels between threads, with cycles running: everything that is sent is received once, in order; nothing is lost to timeouts,
 * closing, cancellation or signals; those who wait are served in order, and keep no cycle waiting.
 */
#include "support/borders.h"

#include <coex/values.h>
#include <pthread.h>
#include <signal.h>

enum { MOST_THREADS = 16, NUMBER_BITS = 32 };

static coex_handle shared;
static uint64_t run_seed;

static coex_handle channel_now(void) { return coex_gc_global_load(&shared); }

static void start_channel(uint64_t capacity, bool handles)
{
    coex_gc_config config = way_small_config();
    start_with(&config);
    nodes_init();
    shared = 0; /* of a life before, maybe */
    expect(coex_gc_add_global_root(&shared) == COEX_GC_OK);
    coex_gc_global_store(&shared, coex_channel_new(capacity, handles));
    expect(channel_now() != 0);
}

static void stop_channel(void)
{
    coex_gc_collect();
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_remove_global_root(&shared);
    coex_gc_shutdown();
}

static void await_waiting(uint32_t operation, uint64_t count)
{
    while (coex_channel_waiting(channel_now(), operation) != count) COEX_GC_NATIVE(usleep(100));
}

/* ---- everything arrives, once and in order ------------------------------------------------------------------------- */

static struct traffic {
    uint64_t capacity;
    bool handles;
    unsigned senders, receivers;
    uint64_t each;       /* words that a sender sends */
    uint64_t impatience; /* nanoseconds that anybody waits at most, at random; 0: as long as it takes */
    uint64_t sent, sent_sum, received, received_sum;
    unsigned sending;
} traffic;

static void add(uint64_t *sum, uint64_t amount) { __atomic_fetch_add(sum, amount, __ATOMIC_RELAXED); }

/* A word tells who sent it as which: plain, or as the id of a node with a child. */
static uint64_t make_word(coex_handle *slot, unsigned sender, uint64_t i)
{
    uint64_t name = (uint64_t)sender << NUMBER_BITS | i;
    if (!traffic.handles) return name;
    slot[2] = node_make((name * 2 + 1) * NODE_ID_KINDS + NODE_LEAF, NULL, 0, 0);
    coex_handle parts[] = {slot[2], COEX_IMMEDIATE(i)};
    slot[1] = node_make(name * 2 * NODE_ID_KINDS + NODE_LINK, parts, 2, 0);
    expect(slot[1] != 0);
    slot[2] = 0;
    return slot[1];
}

static uint64_t read_word(uint64_t word)
{
    if (!traffic.handles) return word;
    uint64_t id = node_verify(word);
    node_verify(node_child(word, 0));
    return id / NODE_ID_KINDS / 2;
}

static uint64_t patience(test_rng *rng)
{
    return traffic.impatience == 0 ? COEX_CHANNEL_FOREVER : rng_below(rng, traffic.impatience);
}

static void send_all(unsigned index, test_rng *rng, coex_handle *slot)
{
    for (uint64_t i = 0; i < traffic.each; i++) {
        uint64_t word = make_word(slot, index, i);
        while (!coex_channel_send_for(channel_now(), word, patience(rng))) expect_eq(coex_last_status(), COEX_STATUS_TIMEOUT);
        add(&traffic.sent, 1);
        add(&traffic.sent_sum, node_mix((uint64_t)index << NUMBER_BITS | i));
        slot[1] = 0;
    }
    if (__atomic_sub_fetch(&traffic.sending, 1, __ATOMIC_ACQ_REL) == 0) expect(coex_channel_close(channel_now()));
}

/* Of one sender, each receiver gets later words later. */
static void receive_all(test_rng *rng, coex_handle *slot)
{
    uint64_t last[MOST_THREADS] = {0};
    for (;;) {
        uint64_t word;
        if (!coex_channel_receive_for(channel_now(), &word, patience(rng))) {
            if (coex_last_status() == COEX_STATUS_CLOSED) break;
            expect_eq(coex_last_status(), COEX_STATUS_TIMEOUT);
            continue;
        }
        if (traffic.handles) slot[1] = word;
        if (rng_one_in(rng, 50)) coex_gc_safepoint();
        uint64_t name = read_word(word), sender = name >> NUMBER_BITS, number = (uint32_t)name + UINT64_C(1);
        expect(sender < MOST_THREADS && number > last[sender]);
        last[sender] = number;
        add(&traffic.received, 1);
        add(&traffic.received_sum, node_mix(name));
        slot[1] = 0;
    }
}

static void traffic_main(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(run_seed + index);
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(3);
    if (index < traffic.senders)
        send_all(index, &rng, slot);
    else
        receive_all(&rng, slot);
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
}

static void run_traffic(struct traffic what)
{
    traffic = what;
    traffic.sending = what.senders;
    run_seed = way_seed;
    start_channel(what.capacity, what.handles);
    run_threads_native(what.senders + what.receivers, traffic_main, NULL);
    expect_eq(traffic.sent, what.senders * what.each);
    expect_eq(traffic.received, traffic.sent);
    expect_eq(traffic.received_sum, traffic.sent_sum);
    expect_eq(coex_channel_len(channel_now()), 0);
    expect_eq(coex_channel_waiting(channel_now(), COEX_CHANNEL_SEND), 0);
    expect_eq(coex_channel_waiting(channel_now(), COEX_CHANNEL_RECEIVE), 0);
    stop_channel();
}

static void run_all_traffic(bool handles, uint64_t impatience)
{
    static const uint64_t capacities[] = {0, 1, 3, 64, COEX_CHANNEL_UNBOUNDED};
    static const unsigned crews[][2] = {{1, 1}, {4, 4}, {1, 7}, {7, 1}};
    for (unsigned i = 0; i < 5; i++) {
        for (unsigned k = 0; k < 4; k++) {
            uint64_t each = unless_hostile(scaled(6000, 600), 56) / crews[k][0];
            run_traffic((struct traffic){.capacity = capacities[i],
                                         .handles = handles,
                                         .senders = crews[k][0],
                                         .receivers = crews[k][1],
                                         .each = each,
                                         .impatience = impatience});
        }
    }
}

static void reference_traffic(void) { run_all_traffic(true, 0); }
static void plain_traffic(void) { run_all_traffic(false, 0); }
static void impatient_references(void) { run_all_traffic(true, 30000); }
static void impatient_words(void) { run_all_traffic(false, 30000); }

TEST_TIMEOUT(every_reference_arrives_once_and_in_order, 60) { both_ways(reference_traffic); }
TEST_TIMEOUT(every_plain_word_arrives_once_and_in_order, 60) { both_ways(plain_traffic); }
TEST_TIMEOUT(those_who_give_up_lose_no_reference, 90) { both_ways(impatient_references); }
TEST_TIMEOUT(those_who_give_up_lose_no_plain_word, 90) { both_ways(impatient_words); }

/* ---- rendezvous, and the order of those who wait -------------------------------------------------------------------- */

static test_flag sent_flag;

static void *send_one(void *argument)
{
    coex_gc_register_thread();
    bool done = coex_channel_send(channel_now(), (uintptr_t)argument);
    coex_status status = coex_last_status();
    flag_set(&sent_flag);
    coex_gc_unregister_thread();
    return (void *)(uintptr_t)(done ? COEX_STATUS_OK : status);
}

static void *receive_one(void *argument)
{
    uint64_t word = 0;
    (void)argument;
    coex_gc_register_thread();
    if (!coex_channel_receive(channel_now(), &word)) word = (uint64_t)1000 + coex_last_status();
    coex_gc_unregister_thread();
    return (void *)(uintptr_t)word;
}

static uint64_t join(pthread_t thread)
{
    void *result;
    COEX_GC_NATIVE(pthread_join(thread, &result));
    return (uintptr_t)result;
}

TEST(without_capacity_a_send_returns_when_its_word_was_received)
{
    pthread_t thread;
    uint64_t word;
    start_channel(0, false);
    expect(pthread_create(&thread, NULL, send_one, (void *)7) == 0);
    await_waiting(COEX_CHANNEL_SEND, 1);
    COEX_GC_NATIVE(usleep(2000));
    expect(!flag_is_set(&sent_flag));
    expect_eq(coex_channel_len(channel_now()), 0);
    expect(coex_channel_try_receive(channel_now(), &word) && word == 7);
    expect_eq(join(thread), COEX_STATUS_OK);
    stop_channel();
}

TEST(those_who_wait_are_served_in_the_order_in_which_they_came)
{
    enum { COUNT = 12 };
    pthread_t thread[COUNT];
    start_channel(2, false);
    for (uint64_t i = 0; i < COUNT; i++) {
        expect(pthread_create(&thread[i], NULL, receive_one, NULL) == 0);
        await_waiting(COEX_CHANNEL_RECEIVE, i + 1);
    }
    for (uint64_t i = 0; i < COUNT; i++) expect(coex_channel_try_send(channel_now(), i + 1));
    for (uint64_t i = 0; i < COUNT; i++) expect_eq(join(thread[i]), i + 1);

    for (uint64_t i = 0; i < COUNT; i++) {
        expect(pthread_create(&thread[i], NULL, send_one, (void *)(uintptr_t)(i + 1)) == 0);
        if (i < 2)
            expect_eq(join(thread[i]), COEX_STATUS_OK); /* there is room */
        else
            await_waiting(COEX_CHANNEL_SEND, i - 1);
    }
    for (uint64_t i = 0, word; i < COUNT; i++) expect(coex_channel_try_receive(channel_now(), &word) && word == i + 1);
    for (uint64_t i = 2; i < COUNT; i++) expect_eq(join(thread[i]), COEX_STATUS_OK);
    stop_channel();
}

/* ---- closing -------------------------------------------------------------------------------------------------------- */

TEST(closing_lets_all_go_who_wait)
{
    enum { COUNT = 6 };
    pthread_t thread[COUNT];
    uint64_t word;
    start_channel(1, false);
    for (int i = 0; i < COUNT; i++) expect(pthread_create(&thread[i], NULL, receive_one, NULL) == 0);
    await_waiting(COEX_CHANNEL_RECEIVE, COUNT);
    expect(coex_channel_close(channel_now()));
    for (int i = 0; i < COUNT; i++) expect_eq(join(thread[i]), 1000 + COEX_STATUS_CLOSED);

    coex_gc_global_store(&shared, coex_channel_new(1, false));
    expect(coex_channel_send(channel_now(), 1));
    for (int i = 0; i < COUNT; i++) expect(pthread_create(&thread[i], NULL, send_one, (void *)2) == 0);
    await_waiting(COEX_CHANNEL_SEND, COUNT);
    expect(coex_channel_close(channel_now()));
    for (int i = 0; i < COUNT; i++) expect_eq(join(thread[i]), COEX_STATUS_CLOSED);
    expect(coex_channel_receive(channel_now(), &word) && word == 1); /* and none of theirs */
    expect(!coex_channel_receive(channel_now(), &word));
    stop_channel();
}

static void race_main(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(run_seed + index);
    coex_gc_register_thread();
    uint64_t word;
    for (uint64_t i = 0; index < 3 && coex_channel_send(channel_now(), i); i++) add(&traffic.sent, 1);
    while (index >= 3 && index < 6 && coex_channel_receive(channel_now(), &word)) add(&traffic.received, 1);
    if (index == 6) {
        for (uint64_t i = rng_below(&rng, 2000); i > 0; i--) coex_gc_safepoint();
        expect(coex_channel_close(channel_now()));
    }
    coex_gc_unregister_thread();
}

TEST_TIMEOUT(what_was_sent_before_the_closing_is_received_and_nothing_else, 60)
{
    static const uint64_t capacities[] = {0, 1, 5, COEX_CHANNEL_UNBOUNDED};
    uint64_t seed = test_seed();
    for (unsigned i = 0; i < scaled(60, 8); i++) {
        traffic.sent = traffic.received = 0;
        run_seed = seed + 10 * i;
        start_channel(capacities[i % 4], false);
        run_threads_native(7, race_main, NULL);
        expect_eq(traffic.received, traffic.sent);
        stop_channel();
    }
}

/* ---- cycles, signals, cancellation ----------------------------------------------------------------------------------- */

TEST(those_who_wait_keep_no_cycle_waiting)
{
    enum { COUNT = 8 };
    pthread_t thread[COUNT];
    start_channel(0, true);
    for (int i = 0; i < COUNT; i++) expect(pthread_create(&thread[i], NULL, receive_one, NULL) == 0);
    await_waiting(COEX_CHANNEL_RECEIVE, COUNT);
    for (int i = 0; i < 20; i++) coex_gc_collect();
    expect(coex_channel_close(channel_now()));
    for (int i = 0; i < COUNT; i++) expect_eq(join(thread[i]), 1000 + COEX_STATUS_CLOSED);
    stop_channel();
}

/* The sender forgets at once what it sent; the receiver has it after all cycles. */
static void *receive_node(void *argument)
{
    (void)argument;
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(1);
    uint64_t count = 0, word;
    while (coex_channel_receive(channel_now(), &word)) {
        slot[0] = word;
        coex_gc_safepoint();
        node_expect(slot[0], (count++ * 2 + 1) * NODE_ID_KINDS + NODE_LEAF);
    }
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
    return (void *)(uintptr_t)count;
}

TEST(what_is_handed_to_one_who_waits_outlives_its_sender)
{
    pthread_t thread;
    const uint64_t count = scaled(200, 40);
    start_channel(0, true);
    expect(pthread_create(&thread, NULL, receive_node, NULL) == 0);
    coex_handle *slot = coex_gc_enter_frame(1);
    for (uint64_t i = 0; i < count; i++) {
        await_waiting(COEX_CHANNEL_RECEIVE, 1);
        if (i % 2) coex_gc_async();
        slot[0] = node_make((i * 2 + 1) * NODE_ID_KINDS + NODE_LEAF, NULL, 0, 0);
        expect(coex_channel_try_send(channel_now(), slot[0]));
        slot[0] = 0;
        coex_gc_collect();
    }
    expect(coex_channel_close(channel_now()));
    expect_eq(join(thread), count);
    coex_gc_leave_frame(slot);
    stop_channel();
}

static void on_signal(int number) { (void)number; }

TEST(signals_end_no_wait)
{
    pthread_t thread;
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    start_channel(0, false);
    expect(pthread_create(&thread, NULL, receive_one, NULL) == 0);
    await_waiting(COEX_CHANNEL_RECEIVE, 1);
    for (int i = 0; i < 20; i++) {
        pthread_kill(thread, SIGUSR1);
        COEX_GC_NATIVE(usleep(500));
    }
    expect_eq(coex_channel_waiting(channel_now(), COEX_CHANNEL_RECEIVE), 1);
    expect(coex_channel_try_send(channel_now(), 12));
    expect_eq(join(thread), 12);
    stop_channel();
}

static uint64_t before_the_end;

static void *receive_then_end(void *argument)
{
    (void)argument;
    coex_gc_register_thread();
    expect(coex_channel_receive(channel_now(), &before_the_end));
    for (;;) pthread_testcancel();
}

TEST(a_thread_that_is_cancelled_while_it_waits_has_its_word_before_it_goes)
{
    pthread_t thread;
    start_channel(0, false);
    expect(pthread_create(&thread, NULL, receive_then_end, NULL) == 0);
    await_waiting(COEX_CHANNEL_RECEIVE, 1);
    COEX_GC_NATIVE(usleep(2000));
    expect(pthread_cancel(thread) == 0);
    COEX_GC_NATIVE(usleep(2000));
    expect(coex_channel_try_send(channel_now(), 34));
    expect_eq(join(thread), (uintptr_t)PTHREAD_CANCELED);
    expect_eq(before_the_end, 34);
    stop_channel();
}

/* ---- no memory to wait with ------------------------------------------------------------------------------------------ */

TEST_TIMEOUT(without_memory_nobody_waits_and_nothing_is_lost, 60)
{
    coex_gc_config config = quiet_config();
    config.heap_limit = unless_hostile(4, 2) * MIB;
    config.initial_heap = MIB;
    config.stress_to = HOSTILE_FIRST;
    start_with(&config);
    coex_handle *slots = coex_gc_enter_frame(3);
    uint64_t word, filled = 0;
    slots[0] = coex_channel_new(1, true);
    slots[1] = coex_channel_new(COEX_CHANNEL_UNBOUNDED, true);
    expect(slots[0] != 0 && slots[1] != 0);
    expect(coex_channel_send(slots[0], COEX_IMMEDIATE(1)));
    while (coex_channel_send(slots[1], COEX_IMMEDIATE(filled))) filled++;
    uint32_t bytes = type_bytes();
    for (uint64_t size = 4096; size >= 8; size /= 2) { /* and what is left */
        while ((slots[2] = coex_gc_alloc(size, bytes)) != 0) {
            if (!coex_channel_try_send(slots[1], slots[2])) break;
        }
    }
    coex_clear_status();
    if (!coex_channel_send_for(slots[0], COEX_IMMEDIATE(2), 1000000))
        expect(coex_last_status() == COEX_STATUS_MEMORY || coex_last_status() == COEX_STATUS_TIMEOUT);
    expect_eq(coex_channel_len(slots[0]), 1);
    expect(coex_channel_receive(slots[0], &word) && word == COEX_IMMEDIATE(1));
    for (uint64_t i = 0; i < filled; i++) expect(coex_channel_receive(slots[1], &word) && word == COEX_IMMEDIATE(i));
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}
