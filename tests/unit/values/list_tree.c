/*
 * The shape of lists: after any operations the invariants of list_tree.h hold in every node.
 */
#include "support/objects.h"

#include "values/list/list_tree.h"

#include <coex/values/list.h>

enum { LISTS = 4, MOST = 60000 };

static void start(void)
{
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    start_with(&config);
}

/* Every child but the last is full, and the last is regular. */
static bool is_regular(struct cx_list_part part)
{
    uint32_t slot;
    uint64_t offset;
    struct cx_list_part child;
    for (uint64_t at = 0; part.level != 0 && at < part.count; at += child.count) {
        child = cx_list_child(part, at, &slot, &offset);
        bool last = at + child.count == part.count;
        if (!last && child.count != (uint64_t)1 << (part.level * CX_LIST_BITS)) return false;
        if (last && !is_regular(child)) return false;
    }
    return true;
}

static void expect_part(struct cx_list_part part, bool left, bool right)
{
    uint32_t slots = cx_list_slots(part), slot;
    expect(slots >= 1 && slots <= CX_LIST_WIDTH);
    expect(left || right || slots >= CX_LIST_LEAST); /* INV-LIST-1 */
    if (part.level == 0) {
        expect_eq(part.count, slots);
        return;
    }
    expect(cx_list_is_sized(part.node) != is_regular(part)); /* INV-LIST-2 */
    uint64_t offset, at = 0;
    for (uint32_t i = 0; i < slots; i++) {
        struct cx_list_part child = cx_list_child(part, at, &slot, &offset);
        expect(slot == i && offset == 0 && child.level + 1 == part.level && child.count >= 1);
        expect_part(child, left && i == 0, right && i + 1 == slots);
        at += child.count;
    }
    expect_eq(at, part.count);
}

static void expect_shape(coex_handle list)
{
    bool refs;
    const struct cx_list *l = cx_list_as(list, &refs);
    expect(l != NULL);
    struct cx_list_part tree = cx_list_tree_of(l->root, l->shape);
    uint64_t in_tail = l->count - tree.count;
    expect(in_tail <= CX_LIST_WIDTH && (in_tail != 0 || l->count == 0));
    if (tree.count == 0) {
        expect(l->root == 0 && l->shape == 0);
        return;
    }
    expect_part(tree, true, true);
    expect(((l->shape & CX_LIST_RELAXED) != 0) == (tree.level != 0 && cx_list_is_sized(tree.node)));
    uint64_t least = 1; /* not deeper than log16 */
    for (uint32_t i = 0; i < tree.level; i++) least *= CX_LIST_LEAST;
    expect(tree.count >= least);
}

static coex_handle of_length(uint64_t n)
{
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = coex_list_empty(false);
    slot[0] = coex_list_builder(slot[0]);
    for (uint64_t i = 0; i < n; i++) expect(coex_list_builder_append(slot[0], i));
    coex_handle list = coex_list_builder_finish(slot[0]);
    coex_gc_leave_frame(slot);
    return list;
}

/* Through a builder: push in place and by copying, pop, set. */
static coex_handle build(test_rng *rng, coex_handle list)
{
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = coex_list_builder(list);
    uint64_t n = coex_list_builder_len(slot[0]), pops = rng_below(rng, 100), appends = rng_below(rng, 3000);
    for (uint64_t i = 0; i < pops && i < n; i++) expect(coex_list_builder_pop(slot[0], NULL));
    for (uint64_t i = 0; i < appends; i++) expect(coex_list_builder_append(slot[0], i));
    n = coex_list_builder_len(slot[0]);
    for (uint64_t i = 0; i < 20 && n != 0; i++) expect(coex_list_builder_set(slot[0], rng_below(rng, n), i));
    list = coex_list_builder_finish(slot[0]);
    coex_gc_leave_frame(slot);
    return list;
}

static coex_handle operate(test_rng *rng, coex_handle list, coex_handle other)
{
    uint64_t n = coex_list_len(list), at = rng_between(rng, 0, n), to = rng_between(rng, at, n);
    switch (rng_below(rng, 12)) {
    case 0:
        return coex_list_slice(list, at, to);
    case 1:
        return coex_list_slice(list, 0, to);
    case 2:
        return coex_list_slice(list, at, n);
    case 3:
        return n == 0 ? list : coex_list_pop(list);
    case 4:
        return coex_list_append(list, 1);
    case 5:
        return coex_list_insert(list, at, 2);
    case 6:
        return at == n ? list : coex_list_remove(list, at);
    case 7:
        return at == n ? list : coex_list_set(list, at, 3);
    case 8:
        return build(rng, list);
    case 9:
        return of_length(rng_one_in(rng, 3) ? rng_below(rng, MOST / 2) : rng_below(rng, 100));
    default:
        return coex_list_len(other) + n > MOST ? list : coex_list_concat(list, other);
    }
}

TEST_TIMEOUT(every_node_is_as_it_must_be_after_any_operations, 60)
{
    start();
    test_rng rng = rng_from(test_seed());
    coex_handle *slot = coex_gc_enter_frame(LISTS);
    for (int i = 0; i < LISTS; i++) slot[i] = of_length(rng_below(&rng, MOST / 2));
    for (int step = 0; step < (test_is_sanitized() ? 500 : 4000); step++) {
        uint64_t at = rng_below(&rng, LISTS);
        slot[at] = operate(&rng, slot[at], slot[rng_below(&rng, LISTS)]);
        expect(slot[at] != 0);
        expect_shape(slot[at]);
    }
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

/* On the right edge of the first and on the left edge of the second list there is a branch of one node on each level. */
TEST(thin_branches_that_meet_become_thick)
{
    enum { FULL = 32 * 32 * 32 };
    start();
    coex_handle *slot = coex_gc_enter_frame(4);
    slot[0] = of_length(2 * FULL + 100);
    for (uint64_t right = 1; right <= 200; right += 33) {
        for (uint64_t left = 1; left <= 200; left += 33) {
            slot[1] = coex_list_slice(slot[0], 0, FULL + right);
            slot[2] = coex_list_slice(slot[0], FULL - left, 2 * FULL + 100);
            slot[3] = coex_list_concat(slot[1], slot[2]);
            expect_shape(slot[3]);
            expect_eq(coex_list_get(slot[3], FULL + right), FULL - left);
        }
    }
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(a_thin_leaf_on_the_right_edge_does_not_stay_thin_inside)
{
    start();
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = of_length(128); /* 96 in the tree */
    slot[0] = coex_list_slice(slot[0], 95, 128);
    slot[1] = of_length(100);
    slot[0] = coex_list_concat(slot[1], slot[0]); /* 4 and 1 words make the last leaf */
    expect_shape(slot[0]);
    for (uint64_t i = 0; i < 100; i++) {
        slot[0] = coex_list_append(slot[0], i);
        expect_shape(slot[0]);
    }
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(removing_all_words_one_by_one_keeps_the_shape)
{
    start();
    test_rng rng = rng_from(test_seed());
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = of_length(3000);
    for (uint64_t n = 3000; n != 0; n--) {
        slot[0] = coex_list_remove(slot[0], rng_below(&rng, n));
        expect_eq(coex_list_len(slot[0]), n - 1);
        expect_shape(slot[0]);
    }
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(a_list_that_only_grew_and_shrank_at_its_end_is_regular)
{
    start();
    bool refs;
    test_rng rng = rng_from(test_seed());
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = coex_list_empty(false);
    for (uint64_t round = 0; round < 300; round++) {
        uint64_t appends = rng_below(&rng, 100), pops = rng_below(&rng, 90);
        for (uint64_t i = 0; i < appends; i++) slot[0] = coex_list_append(slot[0], i);
        for (uint64_t i = 0; i < pops && coex_list_len(slot[0]) != 0; i++) slot[0] = coex_list_pop(slot[0]);
        expect_shape(slot[0]);
        expect((cx_list_as(slot[0], &refs)->shape & CX_LIST_RELAXED) == 0);
    }
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}
