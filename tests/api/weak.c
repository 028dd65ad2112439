/*
 * Weak references: the target while it lives, null for good once it is gone, and never something in between.
 */
#include "support/borders.h"

#include <pthread.h>

/* ---- one at a time ------------------------------------------------------------------------------------------- */

static void alive_then_dead(void)
{
    way_start();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = new_leaf();
    uint64_t id = node_id(slots[0]);
    slots[1] = coex_gc_weak_new(slots[0]);
    for (int i = 0; i < 3; i++) {
        coex_gc_collect();
        ck_assert_uint_eq(coex_gc_weak_get(slots[1]), slots[0]);
        node_expect(slots[0], id);
    }
    coex_handle gone = slots[0];
    slots[0] = 0;
    coex_gc_collect();
    ck_assert_uint_eq(coex_gc_weak_get(slots[1]), 0);
    ck_assert(!coex_gc_is_handle(gone));
    /* Also when its handle names somebody else by then. */
    for (int i = 0; i < 5; i++) {
        make_garbage(20000);
        coex_gc_collect();
        ck_assert_uint_eq(coex_gc_weak_get(slots[1]), 0);
    }
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(a_weak_reference_reads_its_target_and_then_null_for_good) { both_ways(alive_then_dead); }

/* A get makes a root of what nobody else holds any more. */
static void get_keeps_alive(void)
{
    way_start();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[1] = coex_gc_weak_new(slots[0] = new_leaf());
    uint64_t id = node_id(slots[0]);
    slots[0] = 0;
    slots[0] = coex_gc_weak_get(slots[1]);
    coex_gc_collect();
    node_expect(slots[0], id);
    ck_assert_uint_eq(coex_gc_weak_get(slots[1]), slots[0]);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(what_a_get_has_returned_lives_on_in_its_slot) { both_ways(get_keeps_alive); }

static void odd_targets(void)
{
    way_start();
    coex_handle *slots = coex_gc_enter_frame(4);
    slots[0] = coex_gc_weak_new(0);
    slots[1] = coex_gc_weak_new(COEX_IMMEDIATE(77));
    slots[2] = coex_gc_weak_new(slots[0]);
    slots[3] = coex_gc_alloc(20000, type_bytes()); /* a large object */
    slots[3] = coex_gc_weak_new(slots[3]);
    coex_gc_collect();
    ck_assert_uint_eq(coex_gc_weak_get(slots[0]), 0);
    ck_assert_uint_eq(coex_gc_weak_get(slots[1]), COEX_IMMEDIATE(77));
    ck_assert_uint_eq(coex_gc_weak_get(slots[2]), slots[0]);
    ck_assert_uint_eq(coex_gc_weak_get(slots[3]), 0);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(null_immediates_large_objects_and_weak_references_can_be_targets) { both_ways(odd_targets); }

/* w[i] -> w[i - 1] -> ... -> leaf: each is held by nothing but the array of weak references. */
static void weak_chain(void)
{
    enum { LENGTH = 50 };
    way_start();
    uint32_t refs = type_refs();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = new_refs(refs, LENGTH);
    slots[1] = new_leaf();
    refs_set(slots[0], 0, coex_gc_weak_new(slots[1]));
    for (unsigned i = 1; i < LENGTH; i++) refs_set(slots[0], i, coex_gc_weak_new(refs_get(slots[0], i - 1)));
    coex_gc_collect();
    for (unsigned i = 1; i < LENGTH; i++) ck_assert_uint_eq(coex_gc_weak_get(refs_get(slots[0], i)), refs_get(slots[0], i - 1));
    ck_assert_uint_eq(coex_gc_weak_get(refs_get(slots[0], 0)), slots[1]);
    for (unsigned i = 0; i < LENGTH - 1; i += 2) refs_set(slots[0], i, 0); /* every other one dies */
    coex_gc_collect();
    for (unsigned i = 1; i < LENGTH; i += 2) ck_assert_uint_eq(coex_gc_weak_get(refs_get(slots[0], i)), 0);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(weak_references_to_weak_references_work_as_any_other) { both_ways(weak_chain); }

static void weak_garbage(void)
{
    way_start();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_leaf();
    coex_gc_collect();
    uint64_t before = stats_now().current_handles_in_use;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 20000; i++) expect(coex_gc_weak_new(slots[0]) != 0);
        coex_gc_collect();
        coex_gc_collect();
    }
    ck_assert_uint_lt(stats_now().current_handles_in_use, before + 5000);
    node_verify(slots[0]);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(a_weak_reference_that_nobody_holds_is_garbage) { both_ways(weak_garbage); }

/* ---- all at once ----------------------------------------------------------------------------------------------- */

enum { WATCHERS = 2000 }; /* several of the pieces in which the collector clears */

static coex_handle shared;
static test_flag enough;
static uint64_t seen_dead;

/* Goes round all references to one target: once one of them has read null, none reads anything else. */
static void watch_round(coex_handle *slots, test_rng *rng)
{
    uint64_t dead = 0;
    slots[1] = coex_gc_global_load(&shared);
    for (int i = 0; i < 4000; i++) {
        coex_handle target = coex_gc_weak_get(refs_get(slots[1], rng_below(rng, WATCHERS)));
        if (target == 0) {
            dead++;
            continue;
        }
        expect_eq(dead, 0);
        slots[0] = target;
        if (rng_one_in(rng, 100)) coex_gc_safepoint();
        node_verify(slots[0]);
        slots[0] = 0;
    }
    if (dead != 0) count_up(&seen_dead);
}

/* In between it looks at nothing for a while, so that a cycle finds the target dead. */
static void watch_it_die(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(way_seed + index);
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(2);
    while (!flag_is_set(&enough)) {
        watch_round(slots, &rng);
        COEX_GC_NATIVE(usleep((useconds_t)rng_below(&rng, 3000)));
        coex_handle table = coex_gc_global_load(&shared);
        slots[0] = refs_get(table, 0);
        if (index == 0 && coex_gc_weak_get(slots[0]) == 0) { /* the next one */
            slots[0] = new_refs(coex_gc_type_of(table), WATCHERS);
            slots[1] = new_leaf();
            for (unsigned i = 0; i < WATCHERS; i++) refs_set(slots[0], i, coex_gc_weak_new(slots[1]));
            coex_gc_global_store(&shared, slots[0]);
        }
        slots[0] = slots[1] = 0;
    }
    coex_gc_leave_frame(slots);
}

static void *collect_for_some_time(void *seconds)
{
    double until = now_seconds() + (test_is_large() ? 30 : *(double *)seconds);
    while (now_seconds() < until) coex_gc_collect();
    flag_set(&enough);
    return NULL;
}

static void collect_beside(unsigned threads, void (*body)(unsigned, void *), double seconds)
{
    pthread_t collecting;
    flag_clear(&enough);
    coex_gc_enter_native();
    expect(pthread_create(&collecting, NULL, collect_for_some_time, &seconds) == 0);
    run_threads(threads, body, NULL);
    pthread_join(collecting, NULL);
    coex_gc_leave_native();
}

static void start_shared(uint64_t places)
{
    busy_start();
    shared = 0;
    expect(coex_gc_add_global_root(&shared) == COEX_GC_OK);
    coex_gc_global_store(&shared, new_refs(type_refs(), places));
}

static void die_together(void)
{
    start_shared(WATCHERS);
    seen_dead = 0;
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_leaf();
    for (unsigned i = 0; i < WATCHERS; i++) refs_set(coex_gc_global_load(&shared), i, coex_gc_weak_new(slots[0]));
    coex_gc_leave_frame(slots);
    collect_beside(2, watch_it_die, 0.8);
    printf("%" PRIu64 " rounds have seen the end, %" PRIu64 " cycles\n", seen_dead, stats_now().collections_completed);
    coex_gc_remove_global_root(&shared);
    coex_gc_shutdown();
}

TEST_TIMEOUT(all_weak_references_to_one_object_die_at_one_instant, 100) { both_ways(die_together); }

/* ---- many threads, many cycles ------------------------------------------------------------------------------------ */

enum { PLACES = 1 << 14 }; /* so many that few of them are asked for in one cycle */

static uint64_t hits, misses;

/* Makes objects, shares weak references to them in a table, forgets the objects, and looks up what others have shared. */
static void share_weakly(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(way_seed + index);
    uint64_t found = 0, lost = 0;
    coex_gc_register_thread();
    coex_handle *kept = coex_gc_enter_frame(34);
    while (!flag_is_set(&enough)) {
        coex_handle table = coex_gc_global_load(&shared);
        uint64_t place = rng_below(&rng, PLACES), slot = rng_below(&rng, 32);
        if (rng_one_in(&rng, 3)) {
            kept[32] =
                slot % 2 ? node_make(node_fresh_id(NODE_LINK), (coex_handle[]){kept[slot], kept[slot - 1]}, 2, 0) : new_leaf();
            if (node_depth(kept[32]) > 20) kept[slot] = kept[32] = new_leaf();
            if (rng_one_in(&rng, 4)) kept[slot] = kept[32];
            refs_set(coex_gc_global_load(&shared), place, coex_gc_weak_new(kept[32]));
            kept[32] = 0;
            continue;
        }
        kept[33] = refs_get(table, place);
        coex_handle target = kept[33] != 0 ? coex_gc_weak_get(kept[33]) : 0;
        if (target == 0) {
            lost++;
            continue;
        }
        found++;
        uint64_t id = node_verify(target);
        kept[32] = target;
        if (rng_one_in(&rng, 3)) make_garbage(3);
        coex_gc_safepoint();
        node_expect(kept[32], id);                       /* what a get has given is not taken back */
        expect_eq(coex_gc_weak_get(kept[33]), kept[32]); /* and the reference says so */
        node_walk(kept[32], 5, &rng);
        if (rng_one_in(&rng, 20)) kept[slot] = kept[32];
        kept[32] = kept[33] = 0;
    }
    __atomic_fetch_add(&hits, found, __ATOMIC_RELAXED);
    __atomic_fetch_add(&misses, lost, __ATOMIC_RELAXED);
    coex_gc_leave_frame(kept);
}

static void many_gets(void)
{
    start_shared(PLACES);
    hits = misses = 0;
    collect_beside(3, share_weakly, 0.8);
    printf("%" PRIu64 " gets of living, %" PRIu64 " of dead, %" PRIu64 " cycles\n", hits, misses,
           stats_now().collections_completed);
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_remove_global_root(&shared);
    coex_gc_shutdown();
}

TEST_TIMEOUT(gets_beside_cycles_never_return_what_is_about_to_be_freed, 100) { both_ways(many_gets); }
