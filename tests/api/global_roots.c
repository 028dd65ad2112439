/*
 * Global roots: cells outside the heap, added, removed, read and written by any thread at any time.
 */
#include "support/nodes.h"
#include "support/objects.h"

static void collect_some(void)
{
    coex_gc_collect();
    coex_gc_collect();
}

TEST(global_root_keeps_what_it_holds_from_the_add_to_the_remove)
{
    static coex_handle cell;
    start_quiet();
    nodes_init();
    uint64_t id = node_fresh_id(NODE_LEAF);
    cell = node_make(id, NULL, 0, 0);
    ck_assert_int_eq(coex_gc_add_global_root(&cell), COEX_GC_OK);
    collect_some();
    node_expect(coex_gc_global_load(&cell), id);
    coex_handle was = cell;
    coex_gc_remove_global_root(&cell);
    collect_some();
    ck_assert(!coex_gc_is_handle(was));
    coex_gc_shutdown();
}

TEST(adding_twice_and_removing_what_is_not_there_are_no_ops)
{
    static coex_handle cell, other;
    start_quiet();
    nodes_init();
    cell = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    for (int i = 0; i < 3; i++) ck_assert_int_eq(coex_gc_add_global_root(&cell), COEX_GC_OK);
    coex_gc_remove_global_root(&other);
    collect_some();
    node_verify(cell);
    coex_handle was = cell;
    coex_gc_remove_global_root(&cell);
    coex_gc_remove_global_root(&cell);
    collect_some();
    ck_assert(!coex_gc_is_handle(was));
    coex_gc_shutdown();
}

TEST(global_roots_may_hold_null_and_immediates)
{
    static coex_handle cells[2] = {0, COEX_IMMEDIATE(12345)};
    start_quiet();
    for (int i = 0; i < 2; i++) ck_assert_int_eq(coex_gc_add_global_root(&cells[i]), COEX_GC_OK);
    collect_some();
    coex_gc_global_store(&cells[0], COEX_IMMEDIATE(1));
    coex_gc_global_store(&cells[1], 0);
    collect_some();
    ck_assert_uint_eq(coex_gc_global_load(&cells[0]), COEX_IMMEDIATE(1));
    coex_gc_shutdown();
}

TEST_TIMEOUT(a_hundred_thousand_global_roots_are_all_read, 60)
{
    enum { COUNT = 100000 };
    static coex_handle cells[COUNT];
    static uint64_t ids[COUNT];
    start_quiet();
    nodes_init();
    for (int i = 0; i < COUNT; i++) {
        ids[i] = node_fresh_id(NODE_LEAF);
        cells[i] = node_make(ids[i], NULL, 0, 0);
        expect(coex_gc_add_global_root(&cells[i]) == COEX_GC_OK);
    }
    collect_some();
    for (int i = 0; i < COUNT; i++) node_expect(coex_gc_global_load(&cells[i]), ids[i]);
    for (int i = 0; i < COUNT; i++) {
        if (i % 10 != 0) coex_gc_remove_global_root(&cells[i]);
    }
    collect_some();
    for (int i = 0; i < COUNT; i++) {
        if (i % 10 == 0)
            node_expect(coex_gc_global_load(&cells[i]), ids[i]);
        else
            expect(!coex_gc_is_handle(cells[i]));
    }
    coex_gc_shutdown();
}

enum { SHARED = 64, THREADS = 4 };
static coex_handle shared[SHARED];
static bool stop;

/* Cells of its own come and go; the shared ones are read and written by all. */
static void use_roots(unsigned index, void *arg)
{
    enum { OWN = 40 };
    test_rng rng = rng_from(*(uint64_t *)arg + index);
    coex_handle own[OWN] = {0};
    uint64_t id[OWN] = {0};
    bool added[OWN] = {false};
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(1);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        uint64_t i = rng_below(&rng, OWN), fresh = node_fresh_id(NODE_LEAF);
        if (added[i]) {
            node_expect(coex_gc_global_load(&own[i]), id[i]);
            coex_gc_remove_global_root(&own[i]);
            own[i] = 0;
        } else {
            own[i] = node_make(fresh, NULL, 0, 0);
            id[i] = fresh;
            expect(coex_gc_add_global_root(&own[i]) == COEX_GC_OK);
        }
        added[i] = !added[i];
        slot[0] = coex_gc_global_load(&shared[rng_below(&rng, SHARED)]);
        if (slot[0] != 0) node_verify(slot[0]);
        coex_gc_global_store(&shared[rng_below(&rng, SHARED)], node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0));
        if (slot[0] != 0) node_verify(slot[0]);
    }
    for (uint64_t i = 0; i < OWN; i++) {
        if (added[i]) coex_gc_remove_global_root(&own[i]);
    }
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
}

static void collect_then_stop(unsigned index, void *arg)
{
    if (index < THREADS) {
        use_roots(index, arg);
        return;
    }
    for (int i = 0; i < (test_is_sanitized() ? 20 : 50); i++) coex_gc_collect();
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
}

TEST_TIMEOUT(global_roots_of_many_threads_keep_what_they_hold_beside_cycles, 60)
{
    uint64_t seed = test_seed();
    coex_gc_config config = quiet_config();
    config.verify = config.poison = true;
    config.max_handles = 1 << 20;
    start_with(&config);
    nodes_init();
    for (int i = 0; i < SHARED; i++) expect(coex_gc_add_global_root(&shared[i]) == COEX_GC_OK);
    coex_gc_enter_native();
    run_threads(THREADS + 1, collect_then_stop, &seed);
    coex_gc_leave_native();
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_shutdown();
}
