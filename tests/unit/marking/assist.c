/*
 * Mutators that mark beside the collector, all the time: the pace is told that the goal is long passed whenever marking begins, so
 * that every slow allocation of that phase helps. Trees of every shape are rebuilt and verified around it.
 */
#include "support/stress.h"

#include "base/schedule_point.h"
#include "gc/cycle/pace.h"

enum { THREADS = 4, PLACES = 200 };

static coex_handle board_root;
static uint64_t run_seed;

static void pass_the_goal(const char *point)
{
    if (strcmp(point, "mark-begins") == 0 || strcmp(point, "handshake-published") == 0) cx_a64_store_relaxed(&cx_pace.goal, 0);
}

/* A bush: a long array of links with shared leaves, so that many candidates stand for one object. */
static coex_handle make_bush(test_rng *rng, coex_handle *slot)
{
    enum { WIDTH = 1500 };
    static _Thread_local coex_handle links[WIDTH];
    uint32_t width = (uint32_t)rng_below(rng, rng_one_in(rng, 10) ? WIDTH : 40);
    coex_handle *keep = coex_gc_enter_frame(width + 1);
    for (uint32_t i = 0; i < width; i++) {
        coex_handle two[] = {i > 0 ? links[rng_below(rng, i)] : 0, slot[0]};
        if (node_depth(two[0]) > 100) two[0] = 0;
        if (node_depth(two[1]) > 8) two[1] = 0;
        links[i] = keep[i] = node_make(node_fresh_id(rng_one_in(rng, 4) ? NODE_TRACED : NODE_LINK), two, 2, 0);
    }
    coex_handle bush = node_make(node_fresh_id(NODE_TUPLE), links, width, 0);
    expect(bush != 0);
    coex_gc_leave_frame(keep);
    return bush;
}

static void gardener_main(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(run_seed + index);
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(2);
    while (!stress_is_over()) {
        uint64_t from = rng_below(&rng, PLACES) * 8, to = rng_below(&rng, PLACES) * 8;
        slot[0] = coex_gc_load(coex_gc_global_load(&board_root), from);
        if (slot[0] != 0) node_walk(slot[0], 40, &rng);
        slot[1] = make_bush(&rng, slot);
        coex_gc_store(coex_gc_global_load(&board_root), to, slot[1]);
        if (rng_one_in(&rng, 3)) coex_gc_store(coex_gc_global_load(&board_root), from, 0);
        if (rng_one_in(&rng, 10)) coex_gc_async();
    }
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
}

static void run_gardeners(coex_gc_config *config, uint64_t chunks)
{
    run_seed = test_seed();
    stress_start_with(config);
    cx_world.mark_queue.most_chunks = chunks;
    cx_schedule_point_set_hook(pass_the_goal);
    expect(coex_gc_add_global_root(&board_root) == COEX_GC_OK);
    coex_gc_global_store(&board_root, coex_gc_alloc(PLACES * sizeof(coex_handle), type_refs()));
    coex_gc_enter_native();
    run_threads(THREADS, gardener_main, NULL);
    coex_gc_leave_native();
    if (test_is_checked()) ck_assert_uint_gt(stats_now().assists, 0);
    stress_end();
    cx_schedule_point_set_hook(NULL);
}

TEST_TIMEOUT(mutators_that_mark_beside_the_collector_lose_nothing, STRESS_TIMEOUT)
{
    coex_gc_config config = stress_config(STRESS_VERIFIED);
    config.percent = 20;
    run_gardeners(&config, UINT64_MAX);
}

TEST_TIMEOUT(mutators_that_mark_without_memory_for_it_lose_nothing, STRESS_TIMEOUT)
{
    coex_gc_config config = stress_config(STRESS_VERIFIED);
    config.percent = 20;
    run_gardeners(&config, 12);
}
