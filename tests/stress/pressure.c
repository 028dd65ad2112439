/*
 * Memory pressure: threads that allocate as fast as they can over a heap that is large enough for marking to take a while, so
 * that they have to help; and threads at the hard limits, of bytes and of handles.
 */
#include "support/stress.h"

#include <unistd.h>

enum { THREADS = 4, BOARD = 20000, RING = 4000 };

static coex_handle board_root;
static uint64_t run_seed;

static coex_handle board(void) { return coex_gc_global_load(&board_root); }

/* ---- as fast as they can ---------------------------------------------------------------------------------- */

/* Replaces one of the many long-lived trees; garbage comes with it. */
static void plant(test_rng *rng, coex_handle *slot)
{
    uint64_t place = rng_below(rng, BOARD) * sizeof(coex_handle);
    coex_handle old = coex_gc_load(board(), place);
    if (old != 0) node_walk(old, 10, rng);
    slot[0] = 0;
    for (int i = 0; i < 12; i++) {
        slot[1] = node_make(node_fresh_id(NODE_BLOB), NULL, 0, (uint32_t)rng_below(rng, 24));
        coex_handle two[] = {slot[0], slot[1]};
        slot[0] = node_make(node_fresh_id(NODE_LINK), two, 2, 0);
        expect(slot[0] != 0);
    }
    coex_gc_store(board(), place, slot[0]);
}

static void litter(test_rng *rng)
{
    for (int i = 0; i < 100; i++) node_make(node_fresh_id(NODE_BLOB), NULL, 0, (uint32_t)rng_below(rng, 900));
}

static void planter_main(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(run_seed + index);
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(2);
    while (!stress_is_over()) {
        for (int i = 0; i < 20; i++) plant(&rng, slot);
        litter(&rng);
    }
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
}

/* Nearly no room between what lives and the goal: cycles come one after the other, and slow allocations do marking work. */
static void run_planters(bool verified)
{
    run_seed = test_seed();
    coex_gc_config config = stress_config(verified ? STRESS_VERIFIED : STRESS_PLAIN);
    config.percent = 10;
    stress_start_with(&config);
    expect(coex_gc_add_global_root(&board_root) == COEX_GC_OK);
    coex_gc_global_store(&board_root, coex_gc_alloc(BOARD * sizeof(coex_handle), type_refs()));
    coex_gc_enter_native();
    run_threads(THREADS, planter_main, NULL);
    coex_gc_leave_native();
    test_rng rng = rng_from(run_seed);
    for (uint64_t i = 0; i < BOARD; i++) {
        coex_handle tree = coex_gc_load(board(), i * 8);
        if (tree != 0) node_walk(tree, 20, &rng);
    }
    stress_end();
}

TEST_TIMEOUT(threads_that_help_to_mark_lose_nothing, STRESS_TIMEOUT) { run_planters(false); }
TEST_TIMEOUT(threads_that_help_to_mark_lose_nothing_verified, STRESS_TIMEOUT) { run_planters(true); }

/* ---- at the limit ----------------------------------------------------------------------------------------- */

static uint64_t refused, handled;

/* Drops a part of what the board keeps, sometimes; the others may be reading it. */
static bool make_room(uint64_t size, void *context)
{
    (void)size, (void)context;
    uint64_t turn = __atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
    node_make(node_fresh_id(NODE_BLOB), NULL, 0, 300); /* an object or null, at once; no wait, no second handler */
    if (turn % 3 == 0) return false;
    for (uint64_t i = 0; i < RING; i += 3) coex_gc_store(board(), i * 8, 0);
    coex_gc_collect();
    return true;
}

/* Keeps what it can get, and lets go of half of it when nothing more is to be had. */
static void hoarder_main(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(run_seed + index);
    coex_gc_register_thread();
    coex_handle *ring = coex_gc_enter_frame(RING);
    uint64_t *id = calloc(RING, sizeof *id);
    for (uint64_t i = 0; !stress_is_over(); i = (i + 1) % RING) {
        if (ring[i] != 0) node_expect(ring[i], id[i]);
        id[i] = node_fresh_id(NODE_BLOB);
        ring[i] = node_make(id[i], NULL, 0, (uint32_t)rng_below(&rng, rng_one_in(&rng, 50) ? 20000 : 300));
        if (ring[i] != 0) {
            coex_gc_store(board(), rng_below(&rng, RING) * 8, ring[i]);
            continue;
        }
        expect(coex_gc_last_error() == COEX_GC_ELIMIT);
        __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
        for (uint64_t k = 0; k < RING; k++) {
            if (ring[k] != 0) node_expect(ring[k], id[k]);
            if (k % 2 == i % 2) ring[k] = 0;
            coex_gc_store(board(), k * 8, 0);
        }
    }
    coex_gc_leave_frame(ring);
    free(id);
    coex_gc_unregister_thread();
}

static void run_hoarders(coex_gc_config *config)
{
    run_seed = test_seed();
    config->out_of_memory = make_room;
    stress_start_with(config);
    expect(coex_gc_add_global_root(&board_root) == COEX_GC_OK);
    coex_gc_global_store(&board_root, coex_gc_alloc(RING * sizeof(coex_handle), type_refs()));
    coex_gc_enter_native();
    run_threads(THREADS, hoarder_main, NULL);
    coex_gc_leave_native();
    coex_gc_stats stats = stats_now();
    printf("%" PRIu64 " refusals, %" PRIu64 " calls of the handler, %" PRIu64 " waits\n", refused, handled, stats.hard_limit_waits);
    expect(stats.hard_limit_waits > 0);
    coex_gc_global_store(&board_root, 0);
    stress_end();
}

TEST_TIMEOUT(threads_at_the_limit_of_bytes_lose_nothing, STRESS_TIMEOUT)
{
    coex_gc_config config = stress_config(STRESS_VERIFIED);
    config.heap_limit = 8 * MIB;
    run_hoarders(&config);
}

TEST_TIMEOUT(threads_at_the_limit_of_handles_lose_nothing, STRESS_TIMEOUT)
{
    coex_gc_config config = stress_config(STRESS_VERIFIED);
    config.max_handles = 12288;
    run_hoarders(&config);
}
