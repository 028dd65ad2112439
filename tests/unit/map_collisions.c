/* Maps whose hashes collide: because a test chooses the seed, and because somebody who does not know it would like them to. */
#include "support/borders.h"
#include "support/map_model.h"

#include "collections/trie.h"

static uint64_t draw_random(void *context, uint64_t bound) { return rng_below(context, bound); }

static void play(uint32_t kind, unsigned keys, unsigned steps, uint64_t (*word)(unsigned))
{
    static struct world world;
    test_rng rng = rng_from(test_seed());
    coex_handle *slots = coex_gc_enter_frame(WORLD_SLOTS);
    world = (struct world){.draw = draw_random, .context = &rng, .word = word};
    world_begin(&world, kind, keys, slots);
    for (unsigned i = 1; i <= steps; i++) {
        world_step(&world);
        if (i % 100 == 0) world_check(&world);
    }
    world_check(&world);
    coex_gc_leave_frame(slots);
}

/* With this factor, folding gives all ones whatever the other is. */
static void make_all_collide(void)
{
    cx_values.seed[2] = UINT64_MAX;
    expect_eq(cx_trie_hash(COEX_MAP_INTEGER, 1), cx_trie_hash(COEX_MAP_INTEGER, 2));
}

TEST(maps_are_as_a_model_says_if_all_hashes_are_the_same)
{
    start_quiet();
    make_all_collide();
    play(COEX_MAP_INTEGER, 120, scaled(800, 200), NULL);
    play(COEX_MAP_FLOAT | COEX_MAP_REFERENCES, 120, scaled(800, 200), NULL);
    play(COEX_MAP_HANDLE, 120, scaled(800, 200), NULL);
    play(COEX_MAP_HANDLE | COEX_MAP_REFERENCES, 60, scaled(800, 200), NULL);
    coex_gc_shutdown();
}

TEST_TIMEOUT(they_are_so_with_a_cycle_at_every_slow_allocation, 60)
{
    coex_gc_config config = busy_config();
    config.stress = 1;
    start_with(&config);
    make_all_collide();
    play(COEX_MAP_HANDLE | COEX_MAP_REFERENCES, 80, scaled(100, 30), NULL);
    coex_gc_shutdown();
}

/* Without a seed the hash is the key: so a test can say where they part. Low bits are lost. */
static uint64_t deep_word(unsigned i) { return (uint64_t)(i % 8) << 61 | (uint64_t)(i / 8 % 8) << 20 | (uint64_t)(i / 64) << 2; }

TEST(maps_are_as_a_model_says_if_hashes_part_in_their_last_bits)
{
    start_quiet();
    memset(cx_values.seed, 0, sizeof cx_values.seed);
    expect_eq(cx_trie_hash(COEX_MAP_INTEGER, deep_word(77)), deep_word(77) | 1);
    play(COEX_MAP_INTEGER, WORLD_KEYS, scaled(1500, 200), deep_word);
    play(COEX_MAP_INTEGER | COEX_MAP_REFERENCES, WORLD_KEYS, scaled(1500, 200), deep_word);
    coex_gc_shutdown();
}

/* ---- an attacker without the seed ------------------------------------------------------------------------- */

/* The most branches above a leaf. */
static unsigned depth_of(coex_handle node)
{
    unsigned deepest = 0;
    if (node == 0 || cx_trie_is_leaf(node)) return 0;
    for (unsigned place = 0; place < CX_TRIE_PLACES; place++) {
        unsigned depth = depth_of(cx_branch_child(cx_trie_at(node), place));
        if (depth > deepest) deepest = depth;
    }
    return deepest + 1;
}

/* Keys that make weak hashes collide: they differ in few bits, at one end or the other, or at regular distances. */
static uint64_t chosen_key(unsigned way, uint64_t i, test_rng *rng)
{
    switch (way) {
    case 0:
        return i;
    case 1:
        return i << 44;
    case 2:
        return i << 32 | i;
    case 3:
        return i * UINT64_C(0x100000001);
    case 4:
        return UINT64_C(1) << (i % 64) | UINT64_C(1) << (i / 64 % 64) | UINT64_C(1) << (i / 4096 % 64);
    case 5:
        return ~(i << 17);
    default:
        return rng_next(rng);
    }
}

TEST_TIMEOUT(keys_chosen_without_the_seed_collide_no_more_than_random_ones, 60)
{
    enum { COUNT = 50000 };
    test_rng rng = rng_from(test_seed());
    start_quiet();
    coex_handle *slots = coex_gc_enter_frame(1);
    for (unsigned way = 0; way < 7; way++) {
        slots[0] = coex_map_empty(COEX_MAP_INTEGER);
        slots[0] = coex_map_builder(slots[0]);
        for (uint64_t i = 0; i < COUNT; i++) expect(coex_map_builder_set(slots[0], chosen_key(way, i, &rng), i));
        slots[0] = coex_map_builder_finish(slots[0]);
        /* 49 on average two branches down, where up to 48 fit: a few leaves are three or four down. Five are a chance of one in
         * millions. */
        const struct cx_map *map = cx_map_as(slots[0]);
        if (depth_of(map->root) > 4) test_fail(__FILE__, __LINE__, "way %u: %u branches deep", way, depth_of(map->root));
    }
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}
