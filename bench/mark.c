/* Measures the speed of marking. The first heap is a binary tree of ten million nodes in which
 * neighbours in the tree are neighbours in memory. In the second heap the handles and objects
 * lie at random.
 *
 * The collector supplies the figures: the objects that it marked in a full cycle, and the time
 * from the end of the root scan to the end of the last flush. The only mutator waits for the
 * cycle. */
#include "support/bench.h"

#include <coex/gc.h>
#include <coex/gc_diag.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    coex_handle left;
    coex_handle right;
};

enum { ROUNDS = 7 };

static uint32_t node_type, loose_type;

static coex_handle allocate(uint32_t type, void **payload)
{
    coex_handle fresh = coex_gc_alloc_at(sizeof(struct node), type, payload);
    if (fresh == 0) bench_fail("out of memory: %s", coex_gc_error_detail());
    return fresh;
}

/* A tree of exactly `count` nodes, children before their parent. */
static coex_handle build(uint64_t count)
{
    if (count == 0) return 0;
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = build((count - 1) / 2);
    slots[1] = build(count - 1 - (count - 1) / 2);
    void *payload;
    coex_handle fresh = allocate(node_type, &payload);
    *(struct node *)payload = (struct node){slots[0], slots[1]};
    coex_gc_leave_frame(slots);
    return fresh;
}

/* The same number of nodes, in an order that has nothing to do with the one they were allocated in. No cycle may run meanwhile: the
 * handles are in an array that the collector does not know. */
static coex_handle build_scattered(uint64_t count)
{
    coex_handle *handles = malloc(count * sizeof *handles);
    if (handles == NULL) bench_fail("out of memory");
    uint64_t seed = 0x5eed;
    for (uint64_t i = 0; i < count; i++) {
        void *payload;
        handles[i] = allocate(loose_type, &payload);
        uint64_t other = bench_random(&seed) % (i + 1); /* Fisher and Yates, inside out */
        coex_handle fresh = handles[i];
        handles[i] = handles[other];
        handles[other] = fresh;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (2 * i + 1 < count) coex_gc_store(handles[i], offsetof(struct node, left), handles[2 * i + 1]);
        if (2 * i + 2 < count) coex_gc_store(handles[i], offsetof(struct node, right), handles[2 * i + 2]);
    }
    coex_handle root = handles[0];
    free(handles);
    return root;
}

/* Objects marked per second in one full cycle, in millions. */
static double mark_once(void *argument)
{
    const uint64_t *count = argument;
    coex_gc_stats stats;
    coex_gc_collect();
    coex_gc_get_stats(&stats);
    if (stats.objects_marked_last_cycle != *count)
        bench_fail("%llu objects were marked, there are %llu", (unsigned long long)stats.objects_marked_last_cycle,
                   (unsigned long long)*count);
    return (double)stats.objects_marked_last_cycle / (double)stats.last_mark_duration_ns * 1e3;
}

static void report(const char *what, uint64_t count, double target)
{
    struct bench_sample sample;
    char row[64];
    bench_repeat(&sample, ROUNDS, mark_once, &count);
    snprintf(row, sizeof row, "%s, best of %d", what, ROUNDS);
    bench_result(row, bench_highest(&sample), "M objects/s", BENCH_AT_LEAST, target);
    snprintf(row, sizeof row, "%s, median", what);
    bench_result(row, bench_median(&sample), "M objects/s", BENCH_NO_GOAL, 0);
}

static void begin(uint64_t count)
{
    coex_gc_config config;
    coex_gc_config_default(&config);
    config.initial_heap = count * sizeof(struct node) * 16; /* a cycle starts at a quarter of it: not before the tree is built */
    config.initial_handles = count + count / 8;
    if (coex_gc_init_with(&config) != COEX_GC_OK) bench_fail("%s", coex_gc_error_detail());
    static const uint32_t refs[] = {offsetof(struct node, left), offsetof(struct node, right)};
    coex_gc_type type = {.name = "node", .size = sizeof(struct node), .ref_offsets = refs, .ref_count = 2};
    node_type = coex_gc_register_type(&type);
    type.name = "loose node";
    type.flags = COEX_GC_MUTABLE;
    loose_type = coex_gc_register_type(&type);
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
    bench_heading("Marking a tree of %.1f million objects of %zu bytes, one GC thread", (double)count / 1e6,
                  sizeof(struct node) + 8);

    begin(count);
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = build(count);
    report("in allocation order", count, 80);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();

    begin(count);
    slots = coex_gc_enter_frame(1);
    slots[0] = build_scattered(count);
    report("scattered at random", count, 25);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
    return 0;
}
