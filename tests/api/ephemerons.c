/*
 * Ephemerons: the value lives exactly as long as the key, whatever refers to what, at a cost that grows with their number only.
 */
#include "support/borders.h"

#include <pthread.h>
#include <sys/resource.h>

static uint32_t refs;

static void start(void)
{
    way_start();
    refs = type_refs();
}

/* ---- one at a time ------------------------------------------------------------------------------------------- */

static void value_lives_with_key(void)
{
    start();
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = new_leaf();
    slots[1] = new_leaf();
    uint64_t id = node_id(slots[1]);
    slots[2] = coex_gc_ephemeron_new(slots[0], slots[1]);
    coex_handle value = slots[1];
    slots[1] = 0;
    for (int i = 0; i < 3; i++) {
        coex_gc_collect();
        ck_assert_uint_eq(coex_gc_ephemeron_key(slots[2]), slots[0]);
        ck_assert_uint_eq(coex_gc_ephemeron_value(slots[2]), value);
        node_expect(value, id);
    }
    slots[0] = 0;
    coex_gc_collect();
    ck_assert_uint_eq(coex_gc_ephemeron_key(slots[2]), 0);
    ck_assert_uint_eq(coex_gc_ephemeron_value(slots[2]), 0);
    ck_assert(!coex_gc_is_handle(value));
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(the_value_lives_while_the_key_does_and_then_both_read_null) { both_ways(value_lives_with_key); }

/* The value is held by somebody else: it lives, but the ephemeron has forgotten it. */
static void value_outlives_key(void)
{
    start();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = new_leaf();
    slots[1] = coex_gc_ephemeron_new(new_leaf(), slots[0]);
    coex_gc_collect();
    ck_assert_uint_eq(coex_gc_ephemeron_key(slots[1]), 0);
    ck_assert_uint_eq(coex_gc_ephemeron_value(slots[1]), 0);
    node_verify(slots[0]);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(a_value_that_outlives_its_key_is_forgotten_by_the_ephemeron) { both_ways(value_outlives_key); }

/* value -> key, and nothing else leads to the key: what a weak map with plain strong values would leak. */
static void key_from_own_value(void)
{
    start();
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = new_leaf();
    slots[1] = node_make(node_fresh_id(NODE_LINK), (coex_handle[]){slots[0], 0}, 2, 0);
    slots[2] = coex_gc_ephemeron_new(slots[0], slots[1]);
    coex_handle key = slots[0], value = slots[1];
    slots[0] = slots[1] = 0;
    coex_gc_collect();
    ck_assert_uint_eq(coex_gc_ephemeron_key(slots[2]), 0);
    ck_assert(!coex_gc_is_handle(key));
    ck_assert(!coex_gc_is_handle(value));
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(a_key_that_only_its_own_value_reaches_dies) { both_ways(key_from_own_value); }

static void immediate_keys(void)
{
    start();
    coex_handle *slots = coex_gc_enter_frame(4);
    slots[0] = coex_gc_ephemeron_new(COEX_IMMEDIATE(5), new_leaf());
    coex_handle value = coex_gc_ephemeron_value(slots[0]);
    uint64_t id = node_id(value);
    slots[1] = coex_gc_ephemeron_new(0, new_leaf());
    slots[2] = new_leaf();
    slots[3] = coex_gc_ephemeron_new(slots[2], COEX_IMMEDIATE(9));
    coex_gc_collect();
    ck_assert_uint_eq(coex_gc_ephemeron_key(slots[0]), COEX_IMMEDIATE(5));
    ck_assert_uint_eq(coex_gc_ephemeron_value(slots[0]), value);
    node_expect(value, id);
    ck_assert_uint_eq(coex_gc_ephemeron_key(slots[1]), 0);
    ck_assert_uint_eq(coex_gc_ephemeron_value(slots[1]), 0);
    ck_assert_uint_eq(coex_gc_ephemeron_value(slots[3]), COEX_IMMEDIATE(9));
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(an_immediate_as_a_key_lives_for_ever_and_null_never_did) { both_ways(immediate_keys); }

/* The key is the ephemeron itself, or another one. */
static void ephemerons_as_keys(void)
{
    start();
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = coex_gc_ephemeron_new(slots[2] = new_leaf(), new_leaf());
    slots[1] = coex_gc_ephemeron_new(slots[0], new_leaf());
    coex_handle value = coex_gc_ephemeron_value(slots[1]);
    uint64_t id = node_id(value);
    coex_gc_collect();
    node_expect(coex_gc_ephemeron_value(slots[1]), id);
    slots[2] = coex_gc_weak_new(slots[0]);
    slots[0] = 0;
    coex_gc_collect();
    ck_assert_uint_eq(coex_gc_weak_get(slots[2]), 0);
    ck_assert_uint_eq(coex_gc_ephemeron_value(slots[1]), 0);
    ck_assert(!coex_gc_is_handle(value));
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(ephemerons_and_weak_references_may_be_keys_values_and_targets) { both_ways(ephemerons_as_keys); }

/* ---- chains, rings, many on one key ------------------------------------------------------------------------------ */

enum { LENGTH = 5000 };

/* Ephemerons in slots[0]; the value of each is the key of the next, in the given direction; slots[1] holds the first key. */
static void make_chain(coex_handle *slots, uint32_t length, bool backwards)
{
    slots[0] = new_refs(refs, length);
    slots[1] = slots[2] = new_leaf();
    for (uint32_t i = 0; i < length; i++) {
        slots[3] = new_leaf();
        uint32_t place = backwards ? length - 1 - i : i;
        refs_set(slots[0], place, coex_gc_ephemeron_new(slots[2], slots[3]));
        slots[2] = slots[3];
    }
    slots[2] = slots[3] = 0;
}

static void expect_chain(coex_handle *slots, uint32_t length, bool backwards)
{
    coex_handle key = slots[1];
    for (uint32_t i = 0; i < length; i++) {
        coex_handle ephemeron = refs_get(slots[0], backwards ? length - 1 - i : i);
        expect_eq(coex_gc_ephemeron_key(ephemeron), key);
        key = coex_gc_ephemeron_value(ephemeron);
        node_verify(key);
    }
}

static void expect_cleared(coex_handle array, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        expect_eq(coex_gc_ephemeron_key(refs_get(array, i)), 0);
        expect_eq(coex_gc_ephemeron_value(refs_get(array, i)), 0);
    }
}

static void chains(void)
{
    start();
    coex_handle *slots = coex_gc_enter_frame(4);
    for (int backwards = 0; backwards < 2; backwards++) {
        make_chain(slots, LENGTH, backwards);
        coex_gc_collect();
        expect_chain(slots, LENGTH, backwards);
        coex_gc_collect();
        expect_chain(slots, LENGTH, backwards);
        slots[1] = 0;
        coex_gc_collect();
        expect_cleared(slots[0], LENGTH);
    }
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(chains_of_ephemerons_live_and_die_as_one_in_either_order) { both_ways(chains); }

/* The last value refers to the first key: alive as long as somebody else holds one of the ring, and not a cycle longer. */
static void rings(void)
{
    start();
    coex_handle *slots = coex_gc_enter_frame(4);
    make_chain(slots, LENGTH, false);
    coex_handle last = refs_get(slots[0], LENGTH - 1);
    refs_set(slots[0], LENGTH - 1, coex_gc_ephemeron_new(coex_gc_ephemeron_key(last), slots[1]));
    slots[2] = coex_gc_ephemeron_key(refs_get(slots[0], LENGTH / 2)); /* now from the middle */
    slots[1] = 0;
    coex_gc_collect();
    slots[1] = coex_gc_ephemeron_key(refs_get(slots[0], 0));
    expect_chain(slots, LENGTH, false);
    slots[1] = slots[2] = 0;
    coex_gc_collect();
    expect_cleared(slots[0], LENGTH);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(a_ring_of_ephemerons_does_not_keep_itself_alive) { both_ways(rings); }

static void many_on_one_key(void)
{
    start();
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = new_refs(refs, LENGTH);
    slots[1] = new_leaf();
    for (unsigned i = 0; i < LENGTH; i++) refs_set(slots[0], i, coex_gc_ephemeron_new(slots[1], new_leaf()));
    /* The key is found last: through another ephemeron whose key is rooted. */
    slots[2] = new_leaf();
    refs_set(slots[0], 0, coex_gc_ephemeron_new(slots[2], slots[1]));
    slots[1] = 0;
    coex_gc_collect();
    for (unsigned i = 0; i < LENGTH; i++) node_verify(coex_gc_ephemeron_value(refs_get(slots[0], i)));
    slots[2] = 0;
    coex_gc_collect();
    expect_cleared(slots[0], LENGTH);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(many_ephemerons_wait_for_one_key) { both_ways(many_on_one_key); }

/* ---- linear time ----------------------------------------------------------------------------------------------------- */

/* CPU time of a cycle on this thread, which does all of it: the best of three. */
static double cycle_seconds(uint32_t length)
{
    coex_gc_config config = quiet_config();
    config.gc_threads = 0;
    start_with(&config);
    nodes_init();
    refs = type_refs();
    coex_handle *slots = coex_gc_enter_frame(4);
    make_chain(slots, length, true);
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        double begin = cpu_seconds();
        coex_gc_collect();
        double took = cpu_seconds() - begin;
        best = took < best ? took : best;
    }
    expect_chain(slots, length, true);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
    return best;
}

/* Ten times as many take about ten times as long, or somewhat more beyond the caches; a quadratic fixpoint would take a hundred. */
TEST_LABEL(a_chain_of_a_million_takes_linear_time, timing)
TEST_TIMEOUT(a_chain_of_a_million_takes_linear_time, 60)
{
    uint32_t million = scaled(1000000, 100000);
    double tenth = cycle_seconds(million / 10), whole = cycle_seconds(million);
    printf("%u: %.1f ms, %u: %.1f ms\n", million / 10, tenth * 1e3, million, whole * 1e3);
    ck_assert_double_lt(whole, 40 * tenth);
}

/* ---- no memory --------------------------------------------------------------------------------------------------------- */

/* Nothing can be noted that waits: values stay for this cycle, and the next one has memory again. */
TEST(without_memory_to_wait_values_live_a_cycle_longer)
{
    if (test_is_sanitized()) return; /* a sanitizer needs address space of its own at any time */
    coex_gc_config config = quiet_config();
    config.gc_threads = 0; /* no thread of the library's is to be short of memory for its own reasons */
    start_with(&config);
    nodes_init();
    refs = type_refs();
    coex_handle *slots = coex_gc_enter_frame(4);
    make_chain(slots, 100000, true);
    struct rlimit before, none;
    getrlimit(RLIMIT_AS, &before);
    none = before;
    none.rlim_cur = 1 << 20;
    expect(setrlimit(RLIMIT_AS, &none) == 0);
    coex_gc_collect();
    setrlimit(RLIMIT_AS, &before);
    expect_chain(slots, 100000, true);
    coex_gc_collect();
    expect_chain(slots, 100000, true);
    slots[1] = 0;
    setrlimit(RLIMIT_AS, &none);
    coex_gc_collect();
    setrlimit(RLIMIT_AS, &before);
    coex_gc_collect();
    expect_cleared(slots[0], 100000);
    ck_assert_uint_lt(stats_now().current_handles_in_use, 110000);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* ---- beside running threads ---------------------------------------------------------------------------------------------- */

enum { PLACES = 1 << 14 };

static coex_handle shared;
static test_flag enough;
static uint64_t values, cleared;

/* A shared table of ephemerons whose values link to keys of others; threads read, extend and drop it. */
static void use_weak_map(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(way_seed + index);
    uint64_t found = 0, gone = 0;
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(19);
    while (!flag_is_set(&enough)) {
        uint64_t place = rng_below(&rng, PLACES), slot = rng_below(&rng, 16);
        slots[17] = refs_get(coex_gc_global_load(&shared), place);
        if (slots[17] == 0 || rng_one_in(&rng, 3)) {
            slots[16] = new_leaf();
            slots[18] = node_make(node_fresh_id(NODE_LINK), (coex_handle[]){slots[16], slots[slot]}, 2, 0);
            if (node_depth(slots[18]) > 10) slots[slot] = 0;
            slots[17] = coex_gc_ephemeron_new(slots[16], slots[18]);
            refs_set(coex_gc_global_load(&shared), place, slots[17]);
            slots[slot] = rng_one_in(&rng, 2) ? slots[16] : slots[18];
        } else {
            /* The value first: if it is there, the key was there at that instant, and the value in a slot keeps it alive (value -> key). */
            slots[18] = coex_gc_ephemeron_value(slots[17]);
            if (slots[18] != 0) {
                found++;
                uint64_t id = node_verify(slots[18]);
                coex_gc_safepoint();
                node_expect(slots[18], id);
                expect_eq(coex_gc_ephemeron_key(slots[17]), node_child(slots[18], 0));
                node_walk(slots[18], 4, &rng);
            } else {
                gone++;
                coex_gc_safepoint();
                expect_eq(coex_gc_ephemeron_key(slots[17]), 0);
                expect_eq(coex_gc_ephemeron_value(slots[17]), 0);
            }
        }
        slots[16] = slots[17] = slots[18] = 0;
    }
    __atomic_fetch_add(&values, found, __ATOMIC_RELAXED);
    __atomic_fetch_add(&cleared, gone, __ATOMIC_RELAXED);
    coex_gc_leave_frame(slots);
}

static void *collect_for_some_time(void *unused)
{
    double until = now_seconds() + (test_is_large() ? 30 : 0.8);
    while (now_seconds() < until) coex_gc_collect();
    flag_set(&enough);
    return unused;
}

static void beside_threads(void)
{
    pthread_t collecting;
    busy_start();
    flag_clear(&enough);
    values = cleared = shared = 0;
    refs = type_refs();
    expect(coex_gc_add_global_root(&shared) == COEX_GC_OK);
    coex_gc_global_store(&shared, new_refs(refs, PLACES));
    coex_gc_enter_native();
    expect(pthread_create(&collecting, NULL, collect_for_some_time, NULL) == 0);
    run_threads(3, use_weak_map, NULL);
    pthread_join(collecting, NULL);
    coex_gc_leave_native();
    printf("%" PRIu64 " values, %" PRIu64 " cleared, %" PRIu64 " cycles, %" PRIu64 " assists\n", values, cleared,
           stats_now().collections_completed, stats_now().assists);
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_remove_global_root(&shared);
    coex_gc_shutdown();
}

TEST_TIMEOUT(ephemerons_are_used_by_many_threads_while_cycles_run, 100) { both_ways(beside_threads); }
