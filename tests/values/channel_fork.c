/*
 * fork while others wait in channels and while traffic runs: the child's channels are whole and can be used.
 */
#include "support/forks.h"

#include <coex/values.h>
#include <pthread.h>

enum { LINES = 4 };

static coex_handle lines[LINES];

static coex_handle line(int i) { return coex_gc_global_load(&lines[i]); }

static void start_lines(uint64_t capacity, bool handles)
{
    coex_gc_config config = busy_config();
    start_kept(&config);
    for (int i = 0; i < LINES; i++) {
        lines[i] = 0; /* of a life before, maybe */
        expect(coex_gc_add_global_root(&lines[i]) == COEX_GC_OK);
        coex_gc_global_store(&lines[i], coex_channel_new(capacity, handles));
        expect(line(i) != 0);
    }
}

static void stop_lines(void)
{
    for (int i = 0; i < LINES; i++) coex_gc_remove_global_root(&lines[i]);
    stop_kept();
}

/* ---- those who wait ------------------------------------------------------------------------------------------------- */

static void *wait_to_receive(void *argument)
{
    uint64_t word = 0;
    coex_gc_register_thread();
    expect(coex_channel_receive(line(0), &word));
    coex_gc_unregister_thread();
    expect_eq(word, 70);
    return argument;
}

static void *wait_to_send(void *argument)
{
    coex_gc_register_thread();
    expect(coex_channel_send(line(1), 71));
    coex_gc_unregister_thread();
    return argument;
}

static void *wait_in_select(void *argument)
{
    uint64_t chosen;
    coex_gc_register_thread();
    coex_channel_case cases[] = {coex_channel_case_receive(line(2)), coex_channel_case_receive(line(3))};
    expect(coex_channel_select(cases, 2, COEX_CHANNEL_FOREVER, &chosen));
    expect(chosen == 1 && cases[1].word == 73);
    coex_gc_unregister_thread();
    return argument;
}

static void *echo_in_child(void *argument)
{
    uint64_t word;
    coex_gc_register_thread();
    while (coex_channel_receive(line(0), &word)) expect(coex_channel_send(line(1), word + 1));
    coex_gc_unregister_thread();
    return argument;
}

/* Nobody waits here: no word goes to the threads that the fork left behind, none comes from them. */
static void child_of_waiters(void)
{
    uint64_t word, chosen;
    for (int i = 0; i < LINES; i++) {
        expect_eq(coex_channel_waiting(line(i), COEX_CHANNEL_SEND), 0);
        expect_eq(coex_channel_waiting(line(i), COEX_CHANNEL_RECEIVE), 0);
        expect(!coex_channel_try_send(line(i), 1));
        expect(!coex_channel_try_receive(line(i), &word));
    }
    coex_channel_case cases[] = {coex_channel_case_send(line(2), 1), coex_channel_case_send(line(3), 1)};
    expect(!coex_channel_select(cases, 2, 1000000, &chosen));
    pthread_t thread;
    expect(pthread_create(&thread, NULL, echo_in_child, NULL) == 0);
    for (uint64_t i = 0; i < 200; i++) {
        expect(coex_channel_send(line(0), i));
        expect(coex_channel_receive(line(1), &word) && word == i + 1);
    }
    expect(coex_channel_close(line(0)));
    COEX_GC_NATIVE(pthread_join(thread, NULL));
    child_looks();
    stop_lines();
}

static void fork_among_waiters(void)
{
    pthread_t thread[3];
    uint64_t word;
    start_lines(0, false);
    expect(pthread_create(&thread[0], NULL, wait_to_receive, NULL) == 0);
    expect(pthread_create(&thread[1], NULL, wait_to_send, NULL) == 0);
    expect(pthread_create(&thread[2], NULL, wait_in_select, NULL) == 0);
    while (coex_channel_waiting(line(0), COEX_CHANNEL_RECEIVE) + coex_channel_waiting(line(1), COEX_CHANNEL_SEND) +
               coex_channel_waiting(line(2), COEX_CHANNEL_RECEIVE) + coex_channel_waiting(line(3), COEX_CHANNEL_RECEIVE) <
           4)
        COEX_GC_NATIVE(usleep(100));
    for (int i = 0; i < 3; i++) {
        coex_gc_async();
        fork_and_wait(child_of_waiters);
    }
    expect(coex_channel_try_send(line(0), 70)); /* the parent's wait still */
    expect(coex_channel_try_receive(line(1), &word) && word == 71);
    expect(coex_channel_try_send(line(3), 73));
    for (int i = 0; i < 3; i++) COEX_GC_NATIVE(pthread_join(thread[i], NULL));
    child_looks();
    stop_lines();
}

TEST_LABEL(the_child_has_usable_channels_and_nobody_waits_in_them, forks)
TEST_TIMEOUT(the_child_has_usable_channels_and_nobody_waits_in_them, 60) { both_ways(fork_among_waiters); }

/* ---- traffic --------------------------------------------------------------------------------------------------------- */

static test_flag traffic_over;

static void *traffic_main(void *argument)
{
    uintptr_t number = (uintptr_t)argument;
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(2);
    test_rng rng = rng_from(way_seed + number);
    while (!flag_is_set(&traffic_over)) {
        coex_handle to = line((int)rng_below(&rng, LINES)), from = line((int)rng_below(&rng, LINES));
        uint64_t word, chosen;
        slot[0] = new_leaf();
        coex_channel_case cases[] = {coex_channel_case_send(to, slot[0]), coex_channel_case_receive(from)};
        if (number % 2) {
            coex_channel_send_for(to, slot[0], 1000);
            if (coex_channel_receive_for(from, &word, 1000)) node_verify(word);
        } else if (coex_channel_select(cases, 2, 1000, &chosen) && chosen == 1) {
            node_verify(cases[1].word);
        }
    }
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
    return argument;
}

static void child_of_traffic(void)
{
    coex_handle *slot = coex_gc_enter_frame(1);
    uint64_t word;
    for (int i = 0; i < LINES; i++) {
        while (coex_channel_try_receive(line(i), &word)) node_verify(word);
        expect_eq(coex_channel_len(line(i)), 0);
        for (int k = 0; k < 3; k++) {
            slot[0] = new_leaf();
            expect(coex_channel_try_send(line(i), slot[0]));
        }
        expect(!coex_channel_try_send(line(i), 0));
        coex_gc_collect();
        for (int k = 0; k < 3; k++) {
            expect(coex_channel_try_receive(line(i), &word));
            node_verify(word);
        }
        expect(!coex_channel_receive_for(line(i), &word, 1000));
    }
    coex_gc_leave_frame(slot);
    child_looks();
    stop_lines();
}

static void fork_among_traffic(void)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    start_lines(3, true);
    flag_clear(&traffic_over);
    for (uintptr_t i = 0; i < THREADS; i++) expect(pthread_create(&thread[i], NULL, traffic_main, (void *)i) == 0);
    for (unsigned i = 0; i < unless_hostile(scaled(30, 5), 5); i++) {
        COEX_GC_NATIVE(usleep(1000));
        fork_and_wait(child_of_traffic);
    }
    flag_set(&traffic_over);
    for (int i = 0; i < THREADS; i++) COEX_GC_NATIVE(pthread_join(thread[i], NULL));
    child_looks();
    stop_lines();
}

TEST_LABEL(a_fork_finds_no_channel_half_changed, forks)
TEST_TIMEOUT(a_fork_finds_no_channel_half_changed, 90) { both_ways(fork_among_traffic); }
