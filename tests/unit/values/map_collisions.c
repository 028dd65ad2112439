/* Maps whose hashes collide, because a test chooses the seed, and because somebody who does not know it would like them to; and the texts
 * that lookups are compiled in, of which a processor runs one. */
#include "support/borders.h"
#include "support/map_model.h"

#include "values/map/trie.h"

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

/* Keys of a tree are removed until the table goes into the tree and begins anew, while other changes wait for it. */
TEST(changes_keep_their_order_when_the_table_of_a_builder_begins_anew)
{
    enum { COUNT = 1200, OLD = 400, BACK = 6 };
    uint64_t value;
    start_quiet();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_map_empty(COEX_MAP_INTEGER);
    slots[0] = coex_map_builder(slots[0]);
    for (uint64_t i = 0; i < OLD; i++) expect(coex_map_builder_set(slots[0], i, 7));
    slots[0] = coex_map_builder_finish(slots[0]);
    slots[0] = coex_map_builder(slots[0]);
    for (uint64_t i = 0; i < COUNT; i++) {
        expect(coex_map_builder_set(slots[0], OLD + i, i));
        if (i >= BACK) expect(coex_map_builder_set(slots[0], OLD + i - BACK, 2 * i));
        if (i % 2 == 0 && i / 2 < OLD) expect(coex_map_builder_remove(slots[0], i / 2));
        if (i % 64 == 63) expect(coex_map_builder_set(slots[0], i % OLD, i) && coex_map_builder_remove(slots[0], i % OLD));
    }
    for (uint64_t i = 0; i < OLD; i++) expect(!coex_map_builder_has(slots[0], i));
    slots[0] = coex_map_builder_finish(slots[0]);
    expect_eq(coex_map_len(slots[0]), COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        expect(coex_map_get(slots[0], OLD + i, &value));
        expect_eq(value, i < COUNT - BACK ? 2 * (i + BACK) : i);
    }
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* ---- texts for one processor and another ------------------------------------------------------------------------- */

TEST_TIMEOUT(maps_are_as_a_model_says_in_the_text_for_any_processor, 60)
{
    start_quiet();
    expect(cx_trie_choose(false));
    for (uint32_t kind = 0; kind < 8; kind++) play(kind, WORLD_KEYS, scaled(600, 150), NULL);
    make_all_collide();
    play(COEX_MAP_HANDLE, 120, scaled(400, 100), NULL);
    coex_gc_shutdown();
}

/* Hashes of so many keys that those of every two have the same first bits, and marks that are the same, next to each other, and at both ends. */
static uint64_t leaf_word(uint64_t i) { return (i / 3 * 37 & 0xff) << 2 | (i % 3) << 10; }

static void expect_in(coex_handle set, uint64_t key, bool there)
{
    const struct cx_map *it = cx_map_as(set);
    uint64_t hash = cx_trie_hash(CX_TRIE_SET | COEX_MAP_INTEGER, key);
    const uint64_t *entry = cx_trie_look(CX_TRIE_SET | COEX_MAP_INTEGER, it->root, hash, key);
    expect(there ? entry != NULL && *entry == key : entry == NULL);
    expect(coex_set_has(set, key) == there);
}

/* Leaves of every count, and branches. */
static void find_in_all_sizes(void)
{
    enum { MOST = 3 * 64 };
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_set_empty(COEX_MAP_INTEGER);
    for (uint64_t count = 0; count <= MOST; count++) {
        for (uint64_t i = 0; i < MOST; i++) expect_in(slots[0], leaf_word(i), i < count);
        slots[0] = coex_set_add(slots[0], leaf_word(count));
        expect(slots[0] != 0);
    }
    coex_gc_leave_frame(slots);
}

TEST(both_texts_find_what_is_there_in_leaves_of_every_count)
{
    start_quiet();
    memset(cx_values.seed, 0, sizeof cx_values.seed);
    find_in_all_sizes();
    expect(cx_trie_choose(false));
    find_in_all_sizes();
    if (cx_trie_choose(true)) find_in_all_sizes();
    coex_gc_shutdown();
}

/* ---- one shape ------------------------------------------------------------------------------------------------- */

/* INV-TRIE-1 below a tree at `level`. */
static void expect_shape(coex_handle tree, unsigned level)
{
    if (tree == 0) return;
    const struct cx_trie_node *node = cx_trie_at(tree);
    if (!cx_trie_is_branch(node)) {
        expect(node->head <= CX_TRIE_LEAF || level == CX_TRIE_LEVELS);
        return;
    }
    uint32_t map = cx_branch_map(node);
    uint64_t sum = 0;
    expect(level < CX_TRIE_LEVELS && (map & 1) != 0 && map != 1);
    for (unsigned begin = 0, i = 0; begin < CX_TRIE_PLACES; begin = cx_branch_end(map, begin), i++) {
        unsigned width = cx_branch_end(map, begin) - begin, half = begin ^ width;
        coex_handle child = cx_branch_child(node, begin);
        expect((width & (width - 1)) == 0 && begin % width == 0);
        expect_eq(child, node->word[i]);
        expect(width == 1 || child == 0 || cx_trie_is_leaf(child));
        bool has_half = (map >> half & 1) != 0 && cx_branch_end(map, half) == half + width;
        bool is_small = child == 0 || cx_trie_is_leaf(child),
             half_is_small = cx_trie_size(cx_branch_child(node, half)) <= CX_TRIE_LEAF;
        if (has_half && is_small && half_is_small)
            expect(cx_trie_size(child) + cx_trie_size(cx_branch_child(node, half)) > CX_TRIE_LEAF);
        expect_shape(child, level + 1);
        sum += cx_trie_size(child);
    }
    expect_eq(sum, cx_trie_size(tree));
    expect(sum > CX_TRIE_LEAF);
}

static void expect_shape_of(coex_handle map) { expect_shape(cx_map_as(map)->root, 0); }

/* The map is equal to one of the same entries that were set one by one, and no other: also where groups have no entries. */
static void expect_as_rebuilt(coex_handle map)
{
    uint64_t key, value, last = 0, count = 0;
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = coex_map_iterate(map);
    slots[1] = coex_map_empty(COEX_MAP_INTEGER);
    for (; coex_map_next(slots[0], &key, &value); count++, last = key) slots[1] = coex_map_set(slots[1], key, value);
    expect_eq(count, coex_map_len(map));
    expect(coex_value_equal(map, slots[1]));
    expect_eq(coex_value_hash(map), coex_value_hash(slots[1]));
    slots[0] = coex_map_key_set(map);
    slots[1] = coex_map_key_set(slots[1]);
    slots[2] = coex_set_remove(slots[1], last);
    expect(coex_set_is_subset(slots[0], slots[1]) && coex_set_is_subset(slots[2], slots[0]));
    if (count != 0) expect(!coex_set_is_subset(slots[0], slots[2]) && !coex_value_equal(slots[0], slots[2]));
    coex_gc_leave_frame(slots);
}

/* Keys of a map that grows and shrinks one by one, by builders, and by maps that are combined with it. */
static void grow_and_shrink(uint64_t (*key)(test_rng *rng), uint64_t range)
{
    test_rng rng = rng_from(test_seed());
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = coex_map_empty(COEX_MAP_INTEGER);
    for (unsigned round = 0; round < 60; round++) {
        slots[1] = coex_map_builder(round % 2 == 0 ? slots[0] : (slots[2] = coex_map_empty(COEX_MAP_INTEGER)));
        for (uint64_t i = rng_below(&rng, range); i > 0; i--) {
            uint64_t it = key(&rng);
            expect(round % 4 == 2 ? coex_map_builder_remove(slots[1], it) : coex_map_builder_set(slots[1], it, i));
        }
        slots[1] = coex_map_builder_finish(slots[1]);
        expect_shape_of(slots[1]);
        slots[0] = round % 2 == 0   ? slots[1]
                   : round % 8 == 5 ? coex_map_minus(slots[0], slots[1])
                   : round % 8 == 7 ? coex_map_intersect(slots[0], slots[1])
                                    : coex_map_merge(slots[0], slots[1]);
        expect_shape_of(slots[0]);
        for (uint64_t i = rng_below(&rng, range / 8); i > 0; i--) {
            slots[0] = round % 3 == 0 ? coex_map_remove(slots[0], key(&rng)) : coex_map_set(slots[0], key(&rng), i);
            if (i % 16 == 0) expect_shape_of(slots[0]);
        }
        expect_as_rebuilt(slots[0]);
    }
    coex_gc_leave_frame(slots);
}

static uint64_t spread_key(test_rng *rng) { return rng_below(rng, 4000); }
/* Without a seed: hashes that crowd some places of some branches. */
static uint64_t crowded_key(test_rng *rng)
{
    return rng_below(rng, 3) << 61 | rng_below(rng, 4) << 50 | rng_below(rng, 40) << 30 | rng_below(rng, 8) << 2;
}

TEST_TIMEOUT(trees_have_one_shape_whatever_is_done_to_them, 60)
{
    start_quiet();
    for (unsigned i = 0; i < 3; i++) grow_and_shrink(spread_key, 3000);
    memset(cx_values.seed, 0, sizeof cx_values.seed);
    for (unsigned i = 0; i < 3; i++) grow_and_shrink(crowded_key, 2000);
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
        /* 49 on average two branches down, where up to 56 fit: some leaves are three down, few four. Five are a chance of one in
         * millions. */
        const struct cx_map *map = cx_map_as(slots[0]);
        if (depth_of(map->root) > 4) test_fail(__FILE__, __LINE__, "way %u: %u branches deep", way, depth_of(map->root));
    }
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}
