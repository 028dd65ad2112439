/* Measures the cost of observing a program. The same work runs without observation, with trace
 * level 1 and the event ring, and with the sampled profile, in turn.
 *
 * A round produces garbage and requests full cycles, each of which marks a tree of a million
 * objects. The time is the CPU time of the allocating thread and of the whole process, including
 * the collector. It excludes other programs, except for their use of the caches. The lowest time
 * of all rounds is the least disturbed.
 *
 * Under callgrind (scripts/check-watching) the program counts instructions instead. One thread
 * then does all the work, so that each round is the same, with the tree and with no live
 * objects. The count covers the recording. The file is written once, at the end. */
#include "support/bench.h"
#include "support/count.h"

#include <coex/gc.h>
#include <coex/gc_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DEPTH = 19, OBJECTS = 20000000, CYCLES = 10, ROUNDS = 12 };

/* Counted: less of it. An empty heap is collected when a quarter of its first 64 MiB is used: 400,000 of these objects. */
enum { COUNTED_DEPTH = 17, COUNTED_CYCLES = 3, EMPTY_GARBAGE = 400000, TREE_GARBAGE = 500000 };

enum { SHORT_ROUNDS = 300, SHORT_CYCLES = 4 };

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

static void work(int objects, int cycles)
{
    for (int i = 0; i < objects; i++) {
        void *payload;
        if (coex_gc_alloc_at(32, type, &payload) == 0) bench_fail("%s", coex_gc_error_detail());
        ((uint64_t *)payload)[2] = (uint64_t)i;
        if (i % (objects / cycles) == 0) coex_gc_collect();
    }
}

static coex_handle *begin(uint64_t heap, uint64_t gc_threads)
{
    coex_gc_config config;
    coex_gc_config_default(&config);
    if (heap != 0) config.initial_heap = heap; /* no cycle but those that are asked for */
    config.gc_threads = gc_threads;
    if (coex_gc_init_with(&config) != COEX_GC_OK) bench_fail("%s", coex_gc_error_detail());
    static const uint32_t refs[] = {0, 8};
    type = coex_gc_register_type(&(coex_gc_type){.name = "node", .size = 32, .ref_offsets = refs, .ref_count = 2});
    return coex_gc_enter_frame(1);
}

static void end(coex_handle *slots)
{
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* ---------------------------------------------------------------- counted */

static void count(const char *heap, int garbage)
{
    work(2 * garbage, 2); /* from now on each cycle finds what the one before it left */
    for (int way = 0; way < WAYS; way++) {
        char name[32];
        snprintf(name, sizeof name, "%s %d", heap, way);
        watch((enum way)way, true);
        counting_begins();
        work(COUNTED_CYCLES * garbage, COUNTED_CYCLES);
        counting_ends(name);
        watch((enum way)way, false);
        printf("%s %d %s\n", heap, way, way_names[way]);
    }
}

static void count_all(void)
{
    coex_handle *slots = begin(0, 0);
    count("empty", EMPTY_GARBAGE);
    end(slots);
    slots = begin((uint64_t)1 << 30, 0);
    slots[0] = make_tree(COUNTED_DEPTH);
    count("tree", TREE_GARBAGE);
    end(slots);
}

/* ------------------------------------------------------------------ timed */

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static void measure(void)
{
    static struct bench_sample thread[WAYS], process[WAYS];
    coex_handle *slots = begin((uint64_t)8 << 30, 1);
    slots[0] = make_tree(DEPTH);
    work(OBJECTS, CYCLES); /* warms up */
    for (int round = 0; round < ROUNDS; round++) {
        for (int way = 0; way < WAYS; way++) {
            watch((enum way)way, true);
            double own = clock_seconds(CLOCK_THREAD_CPUTIME_ID), all = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
            work(OBJECTS, CYCLES);
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
    end(slots);
}

/* Short cycles, in which what is recorded for each of them weighs most. Many short rounds in turns: a disturbance hits few of them. */
static void measure_short(void)
{
    static double ms[WAYS][SHORT_ROUNDS];
    coex_handle *slots = begin(0, 1);
    work(SHORT_CYCLES * EMPTY_GARBAGE, SHORT_CYCLES);
    for (int round = 0; round < SHORT_ROUNDS; round++) {
        for (int way = 0; way < WAYS; way++) {
            watch((enum way)way, true);
            double all = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
            work(SHORT_CYCLES * EMPTY_GARBAGE, SHORT_CYCLES);
            ms[way][round] = (clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - all) * 1e3 / SHORT_CYCLES;
            watch((enum way)way, false);
        }
    }
    printf("The same with nothing alive, 16 MB a cycle; milliseconds on the CPU for a cycle, lower quartile and median of %d\n",
           SHORT_ROUNDS);
    for (int way = 0; way < WAYS; way++) {
        qsort(ms[way], SHORT_ROUNDS, sizeof ms[way][0], compare);
        double quartile = ms[way][SHORT_ROUNDS / 4], median = ms[way][SHORT_ROUNDS / 2];
        printf("  %-30s process %.3f (%+.1f%%)  %.3f (%+.1f%%)\n", way_names[way], quartile,
               (quartile / ms[PLAIN][SHORT_ROUNDS / 4] - 1) * 100, median, (median / ms[PLAIN][SHORT_ROUNDS / 2] - 1) * 100);
    }
    end(slots);
}

int main(void)
{
    FILE *nowhere = fopen("/dev/null", "w");
    coex_gc_set_output(nowhere);
    if (is_counted()) {
        count_all();
    } else {
        measure();
        measure_short();
    }
    coex_gc_set_output(NULL);
    fclose(nowhere);
    return 0;
}
