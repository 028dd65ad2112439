/* What an allocation costs: 32 bytes and one store into them, dropped at once.
 *
 * First without the collector: a round allocates so many megabytes, two full cycles after it (not in the time) give space and handles
 * back, and the next round has the same memory again. Then with everything in the time: the default configuration, a tree of a million
 * objects that every cycle marks, and garbage as fast as it can be made. */
#include "support/bench.h"

#include <coex/gc.h>
#include <coex/gc_diag.h>
#include <stdio.h>

enum {
    PAYLOAD = 32,
    OBJECT = PAYLOAD + 8, /* with its header */
    LIVE_OBJECTS = 1000000,
    ROUNDS = 31,
    BUSY_ROUNDS = 5,
    BUSY_OBJECTS = 25000000
};

static uint32_t type;

struct job {
    uint64_t objects; /* per thread */
    unsigned threads;
};

static void begin(uint64_t heap)
{
    coex_gc_config config;
    coex_gc_config_default(&config);
    if (heap != 0) config.initial_heap = heap;
    if (coex_gc_init_with(&config) != COEX_GC_OK) bench_fail("%s", coex_gc_error_detail());
    static const uint32_t refs[] = {0, 8};
    static const coex_gc_type node = {.name = "node", .size = PAYLOAD, .ref_offsets = refs, .ref_count = 2};
    type = coex_gc_register_type(&node);
}

static void prepare(void *argument, unsigned number)
{
    (void)argument, (void)number;
    coex_gc_register_thread();
    coex_gc_enter_native(); /* it is about to wait for the others */
}

static void run(void *argument, unsigned number)
{
    const struct job *job = argument;
    (void)number;
    coex_gc_leave_native();
    for (uint64_t i = job->objects; i != 0; i--) {
        void *payload;
        if (coex_gc_alloc_at(PAYLOAD, type, &payload) == 0) bench_fail("out of memory: %s", coex_gc_error_detail());
        ((uint64_t *)payload)[2] = i;
    }
}

static void finish(void *argument, unsigned number)
{
    (void)argument, (void)number;
    coex_gc_unregister_thread();
}

static const struct bench_work work = {prepare, run, finish};

/* Nanoseconds that a thread needs for an object. */
static double allocate(void *argument)
{
    struct job *job = argument;
    coex_gc_enter_native();
    double seconds = bench_threads(job->threads, &work, job);
    coex_gc_leave_native();
    return seconds / (double)job->objects * 1e9;
}

/* The same; afterwards everything is free again, handles included. */
static double allocate_and_collect(void *argument)
{
    double nanoseconds = allocate(argument);
    coex_gc_collect();
    coex_gc_collect();
    return nanoseconds;
}

static double report(const char *what, const struct bench_sample *sample)
{
    char row[80];
    snprintf(row, sizeof row, "coex: %s, best of %u", what, sample->rounds);
    bench_result(row, bench_lowest(sample), "ns", BENCH_NO_GOAL, 0);
    snprintf(row, sizeof row, "coex: %s, median", what);
    bench_result(row, bench_median(sample), "ns", BENCH_NO_GOAL, 0);
    return bench_lowest(sample);
}

static void measure_warm(uint64_t megabytes, bool judged)
{
    struct job alone = {megabytes * 1000000 / OBJECT, 1}, both = {alone.objects, 2};
    struct bench_sample one = {.rounds = ROUNDS}, two = {.rounds = ROUNDS};
    char row[80];
    begin((uint64_t)2 << 30);                           /* a quarter of it can be taken before a cycle starts */
    bench_repeat(&one, 3, allocate_and_collect, &both); /* pages come from the system now, and not while we measure */
    bench_repeat(&one, ROUNDS, allocate_and_collect, &alone);
    bench_repeat(&two, ROUNDS, allocate_and_collect, &both);
    snprintf(row, sizeof row, "one thread, %llu MB", (unsigned long long)megabytes);
    double best_one = report(row, &one);
    snprintf(row, sizeof row, "two threads, %llu MB each", (unsigned long long)megabytes);
    double best_two = report(row, &two);
    bench_result("coex: allocating, two threads against one", 2 * best_one / best_two, "times",
                 judged ? BENCH_AT_LEAST : BENCH_NO_GOAL, 1.8);
    coex_gc_shutdown();
}

static coex_handle build(uint64_t count)
{
    if (count == 0) return 0;
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = build((count - 1) / 2);
    slots[1] = build(count - 1 - (count - 1) / 2);
    void *payload;
    coex_handle fresh = coex_gc_alloc_at(PAYLOAD, type, &payload);
    if (fresh == 0) bench_fail("out of memory: %s", coex_gc_error_detail());
    ((coex_handle *)payload)[0] = slots[0];
    ((coex_handle *)payload)[1] = slots[1];
    coex_gc_leave_frame(slots);
    return fresh;
}

static void measure_busy(unsigned threads, const char *what)
{
    struct job job = {BUSY_OBJECTS, threads};
    struct bench_sample sample;
    coex_gc_stats before, after;
    begin(0);
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = build(LIVE_OBJECTS);
    coex_gc_get_stats(&before);
    bench_repeat(&sample, BUSY_ROUNDS, allocate, &job);
    coex_gc_get_stats(&after);
    report(what, &sample);
    bench_note("(%llu cycles in %u rounds)", (unsigned long long)(after.collections_completed - before.collections_completed),
               sample.rounds);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

int main(void)
{
    bench_heading("Allocation of %d bytes and a store, per object and thread: no collection in the time", PAYLOAD);
    struct bench_machine machine = bench_machine_now();
    bool calm = bench_machine_is_calm(&machine);
    bench_result("the machine: computing, two threads against one", machine.computing, "times", BENCH_NO_GOAL, 0);
    bench_result("the machine: filling memory, two threads against one", machine.filling, "times", BENCH_NO_GOAL, 0);
    bench_result("the machine: a cache line from core to core", machine.core_to_core, "ns", BENCH_NO_GOAL, 0);
    if (!calm) bench_note("(busy, or its cores are far apart: how allocation scales can't be judged now)");
    measure_warm(4, calm);
    measure_warm(64, calm);
    bench_heading("The same, with collection in the time (%.1f million objects live)", LIVE_OBJECTS / 1e6);
    measure_busy(1, "one thread");
    measure_busy(2, "two threads");
    return 0;
}
