/*
 * Channels by one thread, and what two threads see of each other: order, life of what is in them, closing, time, bad input, no memory.
 */
#include "support/borders.h"

#include <coex/values.h>

static const uint64_t capacities[] = {0, 1, 2, 7, 126, 127, 1000, 3000, COEX_CHANNEL_UNBOUNDED};
enum { CAPACITIES = sizeof capacities / sizeof capacities[0] };

static void start(void)
{
    start_default();
    nodes_init();
}

static coex_handle *slots;

static void begin(uint64_t capacity, bool handles)
{
    slots = coex_gc_enter_frame(4);
    slots[0] = coex_channel_new(capacity, handles);
    expect(slots[0] != 0);
}

static void end(void) { coex_gc_leave_frame(slots); }

#define expect_fails(call, status)                                                                                                 \
    do {                                                                                                                           \
        coex_clear_status();                                                                                                       \
        expect(!(call));                                                                                                           \
        expect_eq(coex_last_status(), status);                                                                                     \
    } while (0)

/* ---- a queue ------------------------------------------------------------------------------------------------------- */

/* A word that says which it was: plain, or a leaf with that id. */
static uint64_t numbered(bool handles, uint64_t i)
{
    if (!handles) return i * 0x9e3779b97f4a7c15u;
    return i % 5 == 0 ? COEX_IMMEDIATE(i) : i % 7 == 0 ? 0 : node_make(i * NODE_ID_KINDS + NODE_LEAF, NULL, 0, 0);
}

static void expect_numbered(bool handles, uint64_t word, uint64_t i)
{
    if (!handles)
        expect_eq(word, i * 0x9e3779b97f4a7c15u);
    else if (i % 5 == 0)
        expect_eq(word, COEX_IMMEDIATE(i));
    else if (i % 7 == 0)
        expect_eq(word, 0);
    else
        node_expect(word, i * NODE_ID_KINDS + NODE_LEAF);
}

static void against_a_model(uint64_t capacity, bool handles, test_rng *rng)
{
    uint64_t sent = 0, received = 0, limit = unless_hostile(scaled(20000, 2000), 200);
    begin(capacity, handles);
    expect_eq(coex_channel_capacity(slots[0]), capacity);
    expect_eq(coex_channel_has_handles(slots[0]), handles);
    while (sent < limit || received < sent) {
        uint64_t run = rng_below(rng, rng_one_in(rng, 20) ? unless_hostile(2000, 200) : 10);
        bool sends = sent < limit && rng_one_in(rng, 2);
        for (uint64_t i = 0; i < run; i++) {
            uint64_t word;
            expect_eq(coex_channel_len(slots[0]), sent - received);
            if (sends) {
                uint64_t next = numbered(handles, sent);
                if (handles) slots[1] = next;
                bool done = coex_channel_try_send(slots[0], next);
                expect_eq(done, sent - received < capacity);
                if (!done) expect_eq(coex_last_status(), COEX_STATUS_TIMEOUT);
                sent += done;
            } else {
                bool done = coex_channel_try_receive(slots[0], &word);
                expect_eq(done, sent > received);
                if (!done) break;
                expect_numbered(handles, word, received++);
            }
        }
        if (capacity == 0) break;
    }
    end();
}

static void all_against_a_model(bool handles)
{
    test_rng rng = rng_from(test_seed());
    start();
    for (int i = 0; i < CAPACITIES; i++) against_a_model(capacities[i], handles, &rng);
    coex_gc_shutdown();
}

TEST(references_come_out_in_the_order_in_which_they_went_in) { all_against_a_model(true); }
TEST(plain_words_come_out_in_the_order_in_which_they_went_in) { all_against_a_model(false); }

/* ---- life ---------------------------------------------------------------------------------------------------------- */

static void contents_live(uint64_t capacity)
{
    enum { COUNT = 300 };
    coex_handle names[COUNT];
    uint64_t word;
    begin(capacity, true);
    for (uint64_t i = 0; i < COUNT; i++) {
        slots[1] = names[i] = node_make((i + 1) * NODE_ID_KINDS + NODE_LEAF, NULL, 0, 0);
        expect(coex_channel_send(slots[0], slots[1]));
    }
    slots[1] = 0;
    coex_gc_collect();
    for (uint64_t i = 0; i < COUNT; i++) {
        expect(coex_channel_receive(slots[0], &word));
        slots[1] = word;
        if (i % 50 == 0) coex_gc_collect();
        node_expect(slots[1], (i + 1) * NODE_ID_KINDS + NODE_LEAF);
    }
    slots[1] = 0;
    coex_gc_collect();
    coex_gc_collect(); /* what a running cycle kept is gone after the next */
    for (int i = 0; i < COUNT; i++) expect(!coex_gc_is_handle(names[i]));
    end();
}

TEST(what_is_in_a_channel_lives_and_what_was_received_is_not_kept)
{
    way_start(); /* no cycle but those that it asks for */
    contents_live(300);
    contents_live(1000);
    contents_live(COEX_CHANNEL_UNBOUNDED);
    coex_gc_shutdown();
}

TEST(a_channel_that_nobody_has_goes_with_what_is_in_it)
{
    way_start();
    begin(COEX_CHANNEL_UNBOUNDED, true);
    coex_handle channel = slots[0], leaf = 0;
    for (int i = 0; i < 1000; i++) {
        slots[1] = leaf = new_leaf();
        expect(coex_channel_send(slots[0], slots[1]));
    }
    slots[0] = slots[1] = 0;
    coex_gc_collect();
    expect(!coex_gc_is_handle(channel));
    expect(!coex_gc_is_handle(leaf));
    end();
    coex_gc_shutdown();
}

TEST(an_emptied_unbounded_channel_gives_its_room_back)
{
    way_start();
    begin(COEX_CHANNEL_UNBOUNDED, false);
    coex_gc_collect();
    uint64_t before = stats_now().current_heap_used, word;
    for (uint64_t i = 0; i < 200000; i++) expect(coex_channel_send(slots[0], i));
    coex_gc_collect();
    expect(stats_now().current_heap_used > before + MIB);
    for (uint64_t i = 0; i < 200000; i++) expect(coex_channel_receive(slots[0], &word) && word == i);
    coex_gc_collect();
    coex_gc_collect();
    expect(stats_now().current_heap_used < before + MIB / 4);
    expect(coex_channel_send(slots[0], 7) && coex_channel_receive(slots[0], &word) && word == 7);
    end();
    coex_gc_shutdown();
}

/* ---- closing ------------------------------------------------------------------------------------------------------- */

TEST(a_closed_channel_is_drained_and_then_says_so)
{
    start();
    for (int i = 1; i < CAPACITIES; i++) {
        uint64_t word = 99;
        begin(capacities[i], false);
        expect(coex_channel_send(slots[0], 5));
        expect(!coex_channel_is_closed(slots[0]));
        expect(coex_channel_close(slots[0]));
        expect(coex_channel_is_closed(slots[0]));
        expect_fails(coex_channel_close(slots[0]), COEX_STATUS_CLOSED);
        expect_fails(coex_channel_send(slots[0], 6), COEX_STATUS_CLOSED);
        expect_fails(coex_channel_try_send(slots[0], 6), COEX_STATUS_CLOSED);
        expect(coex_channel_receive(slots[0], &word) && word == 5);
        word = 99;
        expect_fails(coex_channel_receive(slots[0], &word), COEX_STATUS_CLOSED);
        expect_fails(coex_channel_try_receive(slots[0], &word), COEX_STATUS_CLOSED);
        expect_fails(coex_channel_receive_for(slots[0], &word, 1000000), COEX_STATUS_CLOSED);
        expect_eq(word, 99); /* nothing was received */
        end();
    }
    coex_gc_shutdown();
}

/* ---- time ---------------------------------------------------------------------------------------------------------- */

static void wait_both(coex_handle empty, coex_handle full, uint64_t nanoseconds)
{
    double begun = now_seconds();
    expect_fails(coex_channel_receive_for(empty, NULL, nanoseconds), COEX_STATUS_TIMEOUT);
    expect_fails(coex_channel_send_for(full, 0, nanoseconds), COEX_STATUS_TIMEOUT);
    double taken = (now_seconds() - begun) * 1e9;
    expect(taken >= 2 * (double)nanoseconds);
}

TEST(a_wait_is_as_long_as_it_was_told)
{
    start();
    for (int handles = 0; handles < 2; handles++) {
        begin(1, handles);
        slots[1] = coex_channel_new(1, handles);
        slots[2] = coex_channel_new(0, handles);
        expect(coex_channel_send(slots[1], 0));
        wait_both(slots[0], slots[1], 0);
        wait_both(slots[0], slots[1], 1);
        wait_both(slots[0], slots[1], 3000000);
        wait_both(slots[2], slots[2], 3000000);
        expect_eq(coex_channel_waiting(slots[0], COEX_CHANNEL_RECEIVE), 0);
        expect_eq(coex_channel_waiting(slots[1], COEX_CHANNEL_SEND), 0);
        expect_eq(coex_channel_len(slots[1]), 1);
        expect_eq(coex_channel_len(slots[2]), 0);
        end();
    }
    coex_gc_shutdown();
}

/* ---- bad input ----------------------------------------------------------------------------------------------------- */

static void refuse(coex_handle it)
{
    uint64_t word = 99, chosen;
    expect_fails(coex_channel_send(it, 1), COEX_STATUS_KIND);
    expect_fails(coex_channel_try_send(it, 1), COEX_STATUS_KIND);
    expect_fails(coex_channel_send_for(it, 1, 10), COEX_STATUS_KIND);
    expect_fails(coex_channel_receive(it, &word), COEX_STATUS_KIND);
    expect_fails(coex_channel_try_receive(it, &word), COEX_STATUS_KIND);
    expect_fails(coex_channel_receive_for(it, &word, 10), COEX_STATUS_KIND);
    expect_fails(coex_channel_close(it), COEX_STATUS_KIND);
    expect_fails(coex_channel_len(it), COEX_STATUS_KIND);
    expect_fails(coex_channel_capacity(it), COEX_STATUS_KIND);
    expect_fails(coex_channel_is_closed(it), COEX_STATUS_KIND);
    expect_fails(coex_channel_has_handles(it), COEX_STATUS_KIND);
    expect_fails(coex_channel_waiting(it, COEX_CHANNEL_SEND), COEX_STATUS_KIND);
    expect_eq(word, 99);
    if (it == 0) return; /* switched off, in a select */
    coex_channel_case one = coex_channel_case_receive(it);
    expect_fails(coex_channel_select(&one, 1, 0, &chosen), COEX_STATUS_KIND);
    expect_eq(chosen, 1);
}

TEST(null_immediates_and_other_kinds_are_refused)
{
    start();
    begin(1, false);
    refuse(0);
    refuse(COEX_IMMEDIATE(17));
    slots[1] = new_leaf();
    refuse(slots[1]);
    slots[1] = coex_gc_load(slots[0], 0); /* the room of a channel is no channel */
    expect(slots[1] != 0);
    refuse(slots[1]);
    expect_eq(coex_kind_of(slots[0]), COEX_KIND_CHANNEL);
    expect_fails(coex_channel_waiting(slots[0], 2), COEX_STATUS_RANGE);
    end();
    coex_gc_shutdown();
}

TEST(capacities_that_no_machine_has_are_refused)
{
    coex_gc_config config = quiet_config();
    config.heap_limit = 64 * MIB;
    config.initial_heap = MIB;
    start_with(&config);
    for (int handles = 0; handles < 2; handles++) {
        expect_fails(coex_channel_new(COEX_CHANNEL_UNBOUNDED - 1, handles), COEX_STATUS_SIZE);
        expect_fails(coex_channel_new((uint64_t)1 << 61, handles), COEX_STATUS_SIZE);
        expect_fails(coex_channel_new((uint64_t)1 << 48, handles), COEX_STATUS_MEMORY);
        expect_fails(coex_channel_new(16 * MIB, handles), COEX_STATUS_MEMORY);
    }
    begin(100000, true);
    for (uint64_t i = 0; i < 100000; i++) expect(coex_channel_try_send(slots[0], COEX_IMMEDIATE(i)));
    expect_fails(coex_channel_try_send(slots[0], 0), COEX_STATUS_TIMEOUT);
    end();
    coex_gc_shutdown();
}

/* ---- no memory ----------------------------------------------------------------------------------------------------- */

TEST_TIMEOUT(without_memory_an_unbounded_channel_refuses_and_loses_nothing, 60)
{
    coex_gc_config config = quiet_config();
    config.heap_limit = unless_hostile(scaled(8, 2), 2) * MIB;
    config.initial_heap = MIB;
    config.stress_to = HOSTILE_FIRST;
    start_with(&config);
    uint64_t sent = 0, word;
    begin(COEX_CHANNEL_UNBOUNDED, true);
    coex_clear_status();
    while (coex_channel_send(slots[0], COEX_IMMEDIATE(sent))) sent++;
    expect_eq(coex_last_status(), COEX_STATUS_MEMORY);
    expect(sent > 50000 && sent < MIB);
    expect_eq(coex_channel_len(slots[0]), sent);
    for (uint64_t i = 0; i < sent; i++) expect(coex_channel_receive(slots[0], &word) && word == COEX_IMMEDIATE(i));
    expect_fails(coex_channel_try_receive(slots[0], &word), COEX_STATUS_TIMEOUT);
    for (uint64_t i = 0; i < sent / 2; i++) expect(coex_channel_send(slots[0], COEX_IMMEDIATE(i)));
    for (uint64_t i = 0; i < sent / 2; i++) expect(coex_channel_receive(slots[0], &word) && word == COEX_IMMEDIATE(i));
    end();
    coex_gc_shutdown();
}

/* ---- several lives ------------------------------------------------------------------------------------------------- */

TEST(channels_work_in_every_life_of_the_runtime)
{
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t word;
        start();
        begin(4, false);
        expect(coex_channel_send(slots[0], i) && coex_channel_receive(slots[0], &word) && word == i);
        end();
        coex_gc_shutdown();
    }
}
