/*
 * Finalizers: each dead object is queued once, in the order of allocation, and its finalizer runs where the embedder says.
 */
#include "support/borders.h"

#include <pthread.h>

/* An object with a number, a reference, and a finalizer that notes both. */
typedef struct mortal {
    uint64_t number;
    coex_handle other;
} mortal;

enum { MOST = 100000 };

static uint32_t mortals;
static uint64_t finalized[MOST]; /* how often */
static uint64_t order[MOST], order_count;
static void (*also)(coex_handle object);
static int context_word;
static pthread_t finalizing_thread;

static void note_end(coex_handle object, void *context)
{
    const mortal *it = coex_gc_handle_deref(object);
    expect(context == &context_word);
    expect(it->number < MOST);
    expect(pthread_equal(pthread_self(), finalizing_thread));
    finalized[it->number]++;
    if (order_count < MOST) order[order_count] = it->number;
    order_count++;
    if (also != NULL) also(object);
}

static void start(void)
{
    static const uint32_t offsets[] = {offsetof(mortal, other)};
    way_start();
    mortals = type_from(&(coex_gc_type){.name = "mortal",
                                        .size = sizeof(mortal),
                                        .flags = COEX_GC_MUTABLE,
                                        .ref_offsets = offsets,
                                        .ref_count = 1,
                                        .finalize = note_end,
                                        .finalize_context = &context_word});
    memset(finalized, 0, sizeof finalized);
    order_count = 0;
    also = NULL;
    finalizing_thread = pthread_self();
}

/* `other` is in a slot of the caller's. */
static coex_handle new_mortal(uint64_t number, coex_handle other)
{
    void *payload;
    coex_handle h = coex_gc_alloc_at(sizeof(mortal), mortals, &payload);
    expect(h != 0);
    *(mortal *)payload = (mortal){number, other};
    return h;
}

static mortal *mortal_of(coex_handle h) { return coex_gc_handle_deref(h); }

/* ---- once, in order, here --------------------------------------------------------------------------------------- */

static void once_and_in_order(void)
{
    enum { COUNT = 3000 }; /* several of the pieces in which the list is looked through */
    start();
    coex_handle *slots = coex_gc_enter_frame(COUNT);
    for (unsigned i = 0; i < COUNT; i++) slots[i] = new_mortal(i, 0);
    coex_gc_collect();
    ck_assert_uint_eq(coex_gc_finalize(UINT64_MAX), 0); /* all alive */
    for (unsigned i = 0; i < COUNT; i++) {
        if (i % 3 != 0) slots[i] = 0;
    }
    coex_gc_collect();
    ck_assert_uint_eq(stats_now().finalizers_waiting, COUNT / 3 * 2);
    ck_assert_uint_eq(order_count, 0); /* nothing runs by itself */
    ck_assert_uint_eq(coex_gc_finalize(UINT64_MAX), COUNT / 3 * 2);
    for (unsigned i = 1; i < order_count; i++) expect(order[i - 1] < order[i]);
    for (unsigned i = 0; i < COUNT; i++) expect_eq(finalized[i], i % 3 != 0);
    for (unsigned i = 0; i < COUNT; i++) slots[i] = 0;
    for (int i = 0; i < 3; i++) {
        coex_gc_collect();
        coex_gc_finalize(UINT64_MAX);
    }
    for (unsigned i = 0; i < COUNT; i++) expect_eq(finalized[i], 1);
    ck_assert_uint_eq(stats_now().finalizers_waiting, 0);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(an_object_is_finalized_once_in_the_order_of_allocation_on_the_caller) { both_ways(once_and_in_order); }

static void limit(void)
{
    start();
    for (unsigned i = 0; i < 100; i++) new_mortal(i, 0);
    coex_gc_collect();
    ck_assert_uint_eq(coex_gc_finalize(0), 0);
    ck_assert_uint_eq(coex_gc_finalize(7), 7);
    ck_assert_uint_eq(order_count, 7);
    coex_gc_collect(); /* those that wait stay, and in their order */
    coex_gc_collect();
    ck_assert_uint_eq(stats_now().finalizers_waiting, 93);
    ck_assert_uint_eq(coex_gc_finalize(90), 90);
    ck_assert_uint_eq(coex_gc_finalize(90), 3);
    ck_assert_uint_eq(coex_gc_finalize(90), 0);
    for (unsigned i = 0; i < 100; i++) expect_eq(order[i], i);
    coex_gc_shutdown();
}

TEST(finalize_runs_no_more_than_it_is_asked_for) { both_ways(limit); }

/* An embedder that never empties the queue: memory for it does not grow with all that ever was in it. */
static void never_empty(void)
{
    start();
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < 100; i++) new_mortal(round * 100 + i, 0);
        coex_gc_collect();
        coex_gc_finalize(100 - (round < 50));
    }
    for (unsigned i = 0; i < order_count; i++) expect_eq(order[i], i);
    ck_assert_uint_eq(stats_now().finalizers_waiting, 50);
    coex_gc_shutdown();
}

TEST(a_queue_that_is_never_empty_keeps_its_order) { both_ways(never_empty); }

/* ---- what lives during it ----------------------------------------------------------------------------------------- */

static void expect_other(coex_handle object)
{
    coex_handle other = mortal_of(object)->other;
    node_verify(other);
    node_verify(node_child(other, 0));
}

static void reachable_is_alive(void)
{
    start();
    also = expect_other;
    coex_handle *slots = coex_gc_enter_frame(2);
    for (unsigned i = 0; i < 1000; i++) {
        slots[0] = new_leaf();
        slots[0] = node_make(node_fresh_id(NODE_LINK), (coex_handle[]){slots[0], 0}, 2, 0);
        new_mortal(i, slots[0]);
    }
    slots[0] = 0;
    coex_gc_collect();
    make_garbage(5000);
    coex_gc_collect(); /* the queue is a root */
    ck_assert_uint_eq(coex_gc_finalize(UINT64_MAX), 1000);
    also = NULL;
    uint64_t before = stats_now().current_handles_in_use;
    coex_gc_collect();
    ck_assert_uint_lt(stats_now().current_handles_in_use + 2500, before); /* and then they are gone */
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(what_a_finalizable_object_refers_to_is_alive_during_its_finalizer) { both_ways(reachable_is_alive); }

/* first <-> second: both are finalized in the same cycle, each finds the other alive. */
static void expect_partner(coex_handle object)
{
    const mortal *it = mortal_of(object), *partner = mortal_of(it->other);
    expect(partner->number == it->number + 1 || partner->number + 1 == it->number);
    expect(partner->other == object);
}

static void rings(void)
{
    start();
    also = expect_partner;
    coex_handle *slots = coex_gc_enter_frame(1);
    for (unsigned i = 0; i < 1000; i += 2) {
        slots[0] = new_mortal(i, 0);
        coex_handle second = new_mortal(i + 1, slots[0]);
        coex_gc_store(slots[0], offsetof(mortal, other), second);
    }
    slots[0] = 0;
    coex_gc_collect();
    ck_assert_uint_eq(coex_gc_finalize(UINT64_MAX), 1000);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(rings_of_finalizable_objects_are_finalized_too) { both_ways(rings); }

/* ---- weak references ------------------------------------------------------------------------------------------------ */

static coex_handle watcher;

static void expect_forgotten(coex_handle object)
{
    coex_handle weak = coex_gc_global_load(&watcher);
    expect_eq(coex_gc_weak_get(refs_get(weak, 0)), 0); /* to it */
    expect_eq(coex_gc_weak_get(refs_get(weak, 1)), 0); /* to what it refers to */
    expect_eq(coex_gc_ephemeron_value(refs_get(weak, 2)), 0);
    node_verify(mortal_of(object)->other);
}

static void weak_first(void)
{
    start();
    also = expect_forgotten;
    watcher = 0;
    expect(coex_gc_add_global_root(&watcher) == COEX_GC_OK);
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = new_refs(type_refs(), 3);
    coex_gc_global_store(&watcher, slots[0]);
    slots[1] = new_leaf();
    slots[2] = new_mortal(0, slots[1]);
    refs_set(slots[0], 0, coex_gc_weak_new(slots[2]));
    refs_set(slots[0], 1, coex_gc_weak_new(slots[1]));
    refs_set(slots[0], 2, coex_gc_ephemeron_new(slots[2], new_leaf()));
    slots[1] = slots[2] = 0;
    coex_gc_collect();
    expect_eq(coex_gc_weak_get(refs_get(slots[0], 0)), 0); /* from the cycle on that found it dead, not from its finalizer on */
    ck_assert_uint_eq(coex_gc_finalize(1), 1);
    coex_gc_remove_global_root(&watcher);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(weak_references_are_cleared_before_the_finalizer_runs) { both_ways(weak_first); }

/* ---- coming back to life ---------------------------------------------------------------------------------------------- */

static coex_handle rescued;

static void rescue(coex_handle object) { coex_gc_global_store(&rescued, object); }

static void resurrection(void)
{
    start();
    also = rescue;
    rescued = 0;
    expect(coex_gc_add_global_root(&rescued) == COEX_GC_OK);
    new_mortal(42, 0);
    coex_gc_collect();
    ck_assert_uint_eq(coex_gc_finalize(1), 1);
    for (int i = 0; i < 3; i++) {
        coex_gc_collect();
        make_garbage(1000);
        ck_assert_uint_eq(mortal_of(coex_gc_global_load(&rescued))->number, 42);
    }
    coex_handle h = coex_gc_global_load(&rescued);
    coex_gc_global_store(&rescued, 0);
    coex_gc_collect();
    ck_assert(!coex_gc_is_handle(h)); /* an object like any other, without a finalizer */
    ck_assert_uint_eq(coex_gc_finalize(1), 0);
    ck_assert_uint_eq(finalized[42], 1);
    coex_gc_remove_global_root(&rescued);
    coex_gc_shutdown();
}

TEST(a_finalizer_may_bring_its_object_back_but_it_is_not_finalized_again) { both_ways(resurrection); }

/* ---- finalizers that do things -------------------------------------------------------------------------------------------- */

static void do_everything(coex_handle object)
{
    uint64_t number = mortal_of(object)->number;
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_leaf();
    make_garbage(200);
    if (number % 50 == 0) coex_gc_collect();
    if (number % 10 == 0 && number < 1000) new_mortal(number + 1000, slots[0]); /* another one that will die */
    if (number == 7) coex_gc_register_type(&(coex_gc_type){.name = "late", .size = 8});
    if (number == 9) expect(coex_gc_finalize(3) <= 3); /* within a finalizer */
    coex_gc_enter_native();
    coex_gc_leave_native();
    expect_eq(mortal_of(object)->number, number); /* the caller keeps it rooted */
    node_verify(slots[0]);
    coex_gc_leave_frame(slots);
}

static void busy_finalizers(void)
{
    start();
    also = do_everything;
    for (unsigned i = 0; i < 500; i++) new_mortal(i, 0);
    for (int i = 0; i < 4; i++) {
        coex_gc_collect();
        while (coex_gc_finalize(10) != 0) {
        }
    }
    for (unsigned i = 0; i < 500; i++) expect_eq(finalized[i], 1);
    for (unsigned i = 0; i < 500; i += 10) expect_eq(finalized[i + 1000], 1);
    coex_gc_shutdown();
}

TEST(a_finalizer_may_allocate_collect_register_and_finalize) { both_ways(busy_finalizers); }

static void shutdown_with_queue(void)
{
    start();
    for (unsigned i = 0; i < 100; i++) new_mortal(i, 0);
    coex_gc_collect();
    coex_gc_finalize(10);
    coex_gc_shutdown();
    ck_assert_uint_eq(order_count, 10);
    start(); /* and nothing of it is left */
    ck_assert_uint_eq(stats_now().finalizers_waiting, 0);
    coex_gc_collect();
    ck_assert_uint_eq(coex_gc_finalize(10), 0);
    coex_gc_shutdown();
}

TEST(finalizers_that_wait_at_the_shutdown_are_not_run) { both_ways(shutdown_with_queue); }

/* ---- beside running cycles --------------------------------------------------------------------------------------------------- */

static test_flag enough;

/* The finalizer takes what the object has out of it, while the collector may be at work on just that. */
static void take_out(coex_handle object)
{
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = coex_gc_exchange(object, offsetof(mortal, other), 0);
    slots[1] = node_make(node_fresh_id(NODE_LINK), (coex_handle[]){slots[0], 0}, 2, 0);
    coex_gc_safepoint();
    node_verify(slots[0]);
    coex_gc_global_store(&rescued, slots[1]);
    coex_gc_leave_frame(slots);
}

static void *collect_for_some_time(void *unused)
{
    double until = now_seconds() + (test_is_large() ? 30 : 0.8);
    while (now_seconds() < until) coex_gc_collect();
    flag_set(&enough);
    return unused;
}

static void beside_cycles(void)
{
    pthread_t collecting;
    uint64_t made = 0;
    start();
    also = take_out;
    rescued = 0;
    flag_clear(&enough);
    expect(coex_gc_add_global_root(&rescued) == COEX_GC_OK);
    coex_handle *slots = coex_gc_enter_frame(2);
    expect(pthread_create(&collecting, NULL, collect_for_some_time, NULL) == 0);
    while (!flag_is_set(&enough)) {
        if (made < order_count + 20000) {
            slots[0] = new_leaf();
            new_mortal(made++ % MOST, slots[0]);
        }
        if (coex_gc_global_load(&rescued) != 0) node_verify(coex_gc_global_load(&rescued));
        coex_gc_finalize(1);
    }
    COEX_GC_NATIVE(pthread_join(collecting, NULL));
    printf("%" PRIu64 " made, %" PRIu64 " finalized, %" PRIu64 " cycles\n", made, order_count, stats_now().collections_completed);
    coex_gc_collect();
    while (coex_gc_finalize(100) != 0) {
    }
    coex_gc_collect();
    while (coex_gc_finalize(100) != 0) {
    }
    expect_eq(order_count, made);
    coex_gc_remove_global_root(&rescued);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST_TIMEOUT(finalizers_run_while_the_next_cycle_finds_more, 100) { both_ways(beside_cycles); }
