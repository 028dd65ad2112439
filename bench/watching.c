/* What watching costs: the same work without, with trace level 1 and the event ring, and with the sampled profile, in turns.
 *
 * A round makes garbage and asks for full cycles, each of which marks a tree of a million objects. Time is that on the CPU, of the thread
 * that allocates and of the whole process (the collector too): what other programs do on the machine is not in it, but for the caches
 * they use up. The lowest of all rounds is the one that was disturbed least. */
#include "support/bench.h"

#include <coex/gc.h>
#include <coex/gc_diag.h>
#include <stdio.h>
#include <time.h>

enum { DEPTH = 19, OBJECTS = 20000000, CYCLES = 10, ROUNDS = 12 };

enum way { PLAIN, EVENTS, PROFILE, WAYS };

static const char *const way_names[WAYS] = {"nothing", "trace level 1 and event ring", "profile, a sample in 512 KiB"};
static uint32_t type;

static coex_handle make_tree(int depth)
{
    coex_handle *slots = coex_gc_enter_frame(2);
    for (int i = 0; i < 2 && depth > 0; i++) slots[i] = make_tree(depth - 1);
    void *payload;
    coex_handle tree = coex_gc_alloc_at(32, type, &payload);
    if (tree == 0) bench_fail("%s", coex_gc_error_detail());
    for (int i = 0; i < 2; i++) ((coex_handle *)payload)[i] = slots[i];
    coex_gc_leave_frame(slots);
    return tree;
}

static double clock_seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void watch(enum way way, bool on)
{
    if (way == EVENTS) {
        coex_gc_set_trace_level(on);
        if ((on ? coex_gc_trace_start("/dev/null") : coex_gc_trace_stop()) != COEX_GC_OK) bench_fail("%s", coex_gc_error_detail());
    }
    if (way == PROFILE && on && coex_gc_profile_start(0) != COEX_GC_OK) bench_fail("%s", coex_gc_error_detail());
    if (way == PROFILE && !on) coex_gc_profile_stop();
}

static void work(void)
{
    for (int i = 0; i < OBJECTS; i++) {
        void *payload;
        if (coex_gc_alloc_at(32, type, &payload) == 0) bench_fail("%s", coex_gc_error_detail());
        ((uint64_t *)payload)[2] = (uint64_t)i;
        if (i % (OBJECTS / CYCLES) == 0) coex_gc_collect();
    }
}

int main(void)
{
    static struct bench_sample thread[WAYS], process[WAYS];
    coex_gc_config config;
    coex_gc_config_default(&config);
    config.initial_heap = (uint64_t)8 << 30; /* no cycle but those that are asked for */
    if (coex_gc_init_with(&config) != COEX_GC_OK) bench_fail("%s", coex_gc_error_detail());
    static const uint32_t refs[] = {0, 8};
    type = coex_gc_register_type(&(coex_gc_type){.name = "node", .size = 32, .ref_offsets = refs, .ref_count = 2});
    FILE *nowhere = fopen("/dev/null", "w");
    coex_gc_set_output(nowhere);
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = make_tree(DEPTH);
    work(); /* warms up */
    for (int round = 0; round < ROUNDS; round++) {
        for (int way = 0; way < WAYS; way++) {
            watch((enum way)way, true);
            double own = clock_seconds(CLOCK_THREAD_CPUTIME_ID), all = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
            work();
            thread[way].value[thread[way].rounds++] = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - own;
            process[way].value[process[way].rounds++] = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - all;
            watch((enum way)way, false);
        }
    }
    printf("What watching costs: %d million objects, %d full cycles of a million; seconds on the CPU, best and median of %d\n",
           OBJECTS / 1000000, CYCLES, ROUNDS);
    for (int way = 0; way < WAYS; way++) {
        bench_sort(&thread[way]);
        bench_sort(&process[way]);
        printf("  %-30s thread %.3f %.3f (%+.1f%%)   process %.3f %.3f (%+.1f%%)\n", way_names[way], bench_lowest(&thread[way]),
               bench_median(&thread[way]), (bench_lowest(&thread[way]) / bench_lowest(&thread[PLAIN]) - 1) * 100,
               bench_lowest(&process[way]), bench_median(&process[way]),
               (bench_lowest(&process[way]) / bench_lowest(&process[PLAIN]) - 1) * 100);
    }
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
    coex_gc_set_output(NULL);
    fclose(nowhere);
    return 0;
}
