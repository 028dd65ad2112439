/* Measures the time of a sweep over ten million objects, of which none, half or all are dead.
 *
 * The collector supplies the figure: the time from the end of marking to the release of the last
 * line. A sweep does not touch dead objects. It reads bitmaps and the slots of the dead handles. */
#include "support/bench.h"

#include <coex/gc.h>
#include <coex/gc_diag.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    coex_handle left;
    coex_handle right;
};

enum { ROUNDS = 5 };

struct setup {
    uint64_t count;
    uint64_t every; /* each so many-th object lives; 0: none */
};

static coex_handle make(uint32_t type, coex_handle next)
{
    void *payload;
    coex_handle fresh = coex_gc_alloc_at(sizeof(struct node), type, &payload);
    if (fresh == 0) bench_fail("out of memory: %s", coex_gc_error_detail());
    ((struct node *)payload)->left = next;
    return fresh;
}

/* Milliseconds of the sweep that finds so many dead. Each round has a runtime of its own, so that all find the same. */
static double sweep_once(void *argument)
{
    const struct setup *setup = argument;
    coex_gc_config config;
    coex_gc_config_default(&config);
    config.initial_heap = setup->count * sizeof(struct node) * 16; /* no cycle before the one that is measured */
    config.initial_handles = setup->count + setup->count / 8;
    if (coex_gc_init_with(&config) != COEX_GC_OK) bench_fail("%s", coex_gc_error_detail());
    static const uint32_t refs[] = {offsetof(struct node, left), offsetof(struct node, right)};
    static const coex_gc_type type = {.name = "node", .size = sizeof(struct node), .ref_offsets = refs, .ref_count = 2};
    uint32_t id = coex_gc_register_type(&type);
    coex_handle *slots = coex_gc_enter_frame(1);
    uint64_t live = 0;
    for (uint64_t i = 0; i < setup->count; i++) {
        coex_handle fresh = make(id, slots[0]);
        if (setup->every != 0 && i % setup->every == 0) {
            slots[0] = fresh;
            live++;
        }
    }
    coex_gc_collect();
    coex_gc_stats stats;
    coex_gc_get_stats(&stats);
    if (stats.objects_swept_last_cycle != setup->count - live)
        bench_fail("%llu objects were swept, %llu are dead", (unsigned long long)stats.objects_swept_last_cycle,
                   (unsigned long long)(setup->count - live));
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
    return (double)stats.last_sweep_duration_ns / 1e6;
}

static void report(const char *what, struct setup setup, enum bench_goal goal)
{
    struct bench_sample sample;
    char row[64];
    bench_repeat(&sample, ROUNDS, sweep_once, &setup);
    snprintf(row, sizeof row, "%s, best of %d", what, ROUNDS);
    bench_result(row, bench_lowest(&sample), "ms", goal, 50);
    snprintf(row, sizeof row, "%s, median", what);
    bench_result(row, bench_median(&sample), "ms", BENCH_NO_GOAL, 0);
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
    bench_heading("Sweeping %.1f million objects of %zu bytes", (double)count / 1e6, sizeof(struct node) + 8);
    report("all dead", (struct setup){count, 0}, BENCH_AT_MOST);
    report("every other one dead", (struct setup){count, 2}, BENCH_NO_GOAL);
    report("none dead", (struct setup){count, 1}, BENCH_NO_GOAL);
    return 0;
}
