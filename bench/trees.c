/* The binary trees benchmark: one long-lived tree, and many short-lived trees that are built,
 * walked and dropped. Depth 18 makes 67 million nodes of two references.
 *
 * The benchmark runs twice. The naive version enters a frame in every call and sets fields
 * through the handle. The other version is written as a compiler would: one call returns handle
 * and address, leaf functions have no frame, and slots are written but never read. The time
 * includes collection. */
#include "support/bench.h"

#include <coex/gc.h>
#include <coex/gc_diag.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    coex_handle left;
    coex_handle right;
};

enum { DEPTH = 18, LEAST_DEPTH = 4, ROUNDS = 5 };

static uint32_t type;

static coex_handle naive(unsigned depth)
{
    coex_handle *slots = coex_gc_enter_frame(2);
    if (depth != 0) {
        slots[0] = naive(depth - 1);
        slots[1] = naive(depth - 1);
    }
    coex_handle fresh = coex_gc_alloc(sizeof(struct node), type);
    coex_gc_init_ref(fresh, offsetof(struct node, left), slots[0]);
    coex_gc_init_ref(fresh, offsetof(struct node, right), slots[1]);
    coex_gc_leave_frame(slots);
    return fresh;
}

static coex_handle compiled(unsigned depth)
{
    void *payload;
    if (depth == 0) return coex_gc_alloc_at(sizeof(struct node), type, &payload);
    coex_handle *slots = coex_gc_enter_frame(2);
    /* Slots are written and not read back: a handle never changes. */
    coex_handle left = slots[0] = compiled(depth - 1);
    coex_handle right = slots[1] = compiled(depth - 1);
    coex_handle fresh = coex_gc_alloc_at(sizeof(struct node), type, &payload);
    if (payload == NULL) bench_fail("out of memory: %s", coex_gc_error_detail());
    *(struct node *)payload = (struct node){left, right};
    coex_gc_leave_frame(slots);
    return fresh;
}

static uint64_t count(coex_handle tree)
{
    const struct node *node = coex_gc_handle_deref(tree);
    return node->left == 0 ? 1 : 1 + count(node->left) + count(node->right);
}

static void check(coex_handle tree, unsigned depth)
{
    uint64_t nodes = count(tree);
    if (nodes != ((uint64_t)2 << depth) - 1) bench_fail("a tree of depth %u has %llu nodes", depth, (unsigned long long)nodes);
}

static double trees(void *argument)
{
    coex_handle (*make)(unsigned) = argument == NULL ? naive : compiled;
    double begin = bench_now();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[1] = make(DEPTH + 1);
    check(slots[1], DEPTH + 1);
    slots[1] = 0;
    slots[0] = make(DEPTH);
    for (unsigned depth = LEAST_DEPTH; depth <= DEPTH; depth += 2) {
        for (uint64_t i = (uint64_t)1 << (DEPTH - depth + LEAST_DEPTH); i != 0; i--) {
            slots[1] = make(depth);
            check(slots[1], depth);
        }
    }
    check(slots[0], DEPTH);
    coex_gc_leave_frame(slots);
    return bench_now() - begin;
}

static void report(const char *what, void *how)
{
    struct bench_sample sample;
    coex_gc_stats stats;
    char row[80];
    coex_gc_init();
    static const uint32_t refs[] = {offsetof(struct node, left), offsetof(struct node, right)};
    static const coex_gc_type node = {.name = "node", .size = sizeof(struct node), .ref_offsets = refs, .ref_count = 2};
    type = coex_gc_register_type(&node);
    bench_repeat(&sample, ROUNDS, trees, how);
    coex_gc_get_stats(&stats);
    snprintf(row, sizeof row, "coex: %s, best of %d", what, ROUNDS);
    bench_result(row, bench_lowest(&sample), "s", BENCH_NO_GOAL, 0);
    snprintf(row, sizeof row, "coex: %s, median", what);
    bench_result(row, bench_median(&sample), "s", BENCH_NO_GOAL, 0);
    bench_note("(%llu cycles in %d rounds, %.0f MB of heap at the end)", (unsigned long long)stats.collections_completed, ROUNDS,
               (double)stats.current_heap_size / 1e6);
    coex_gc_shutdown();
}

int main(void)
{
    bench_heading("Binary trees of depth %d, collection in the time", DEPTH);
    report("written naively", NULL);
    report("as compiled code", (void *)1);
    return 0;
}
