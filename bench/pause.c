/* Measures how long a mutator stops, and shows that this time does not depend on the size of the
 * heap or the depth of the stack.
 *
 * In a stop, a thread at a safepoint answers a request of the collector, does a bounded piece of
 * work, and continues. The runtime keeps histograms of all stops in CPU time (the work) and in
 * wall-clock time (the work and the other load of the machine). It also keeps a histogram of all
 * handshakes, from a request to its last answer. In this benchmark, full cycles follow each
 * other without a gap while two threads allocate, link and drop objects. This gives the largest
 * number of stops.
 *
 *   bench_pause [seconds for each row] */
#include "support/bench.h"

#include <coex/gc.h>
#include <coex/gc_diag.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    CHUNK = 500, /* payload of the live data: enough that four gigabytes are quickly made and marked */
    KEEP = 1024, /* objects that each mutator keeps in its mutable array */
    MUTATORS = 2,
    STOP_GOAL_US = 50
};

struct chunk {
    coex_handle left;
    coex_handle right;
    char data[CHUNK - 12]; /* a multiple of 8 in all */
};

struct cell {
    coex_handle next;
    uint64_t value;
};

static uint32_t chunk_type, cell_type, array_type;
static atomic_bool stopping;

static coex_handle must(coex_handle fresh)
{
    if (fresh == 0) bench_fail("out of memory: %s", coex_gc_error_detail());
    return fresh;
}

/* ------------------------------------------------------------ the runtime */

static void begin(void)
{
    coex_gc_config config;
    coex_gc_config_default(&config);
    config.percent = 50;
    config.shadow_stack_slots = (uint64_t)64 << 20;
    if (coex_gc_init_with(&config) != COEX_GC_OK) bench_fail("%s", coex_gc_error_detail());
    static const uint32_t chunk_refs[] = {offsetof(struct chunk, left), offsetof(struct chunk, right)};
    static const uint32_t cell_refs[] = {offsetof(struct cell, next)};
    static const coex_gc_type chunk = {.name = "chunk", .size = sizeof(struct chunk), .ref_offsets = chunk_refs, .ref_count = 2};
    static const coex_gc_type cell = {.name = "cell", .size = sizeof(struct cell), .ref_offsets = cell_refs, .ref_count = 1};
    static const coex_gc_type array = {.name = "array", .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY};
    chunk_type = coex_gc_register_type(&chunk);
    cell_type = coex_gc_register_type(&cell);
    array_type = coex_gc_register_type(&array);
    atomic_store(&stopping, false);
}

static coex_handle build(uint64_t count)
{
    if (count == 0) return 0;
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = build((count - 1) / 2);
    slots[1] = build(count - 1 - (count - 1) / 2);
    void *payload;
    coex_handle fresh = must(coex_gc_alloc_at(sizeof(struct chunk), chunk_type, &payload));
    ((struct chunk *)payload)->left = slots[0];
    ((struct chunk *)payload)->right = slots[1];
    coex_gc_leave_frame(slots);
    return fresh;
}

/* ----------------------------------------------------------- the mutators */

/* A list of some cells in place of an old one, and a look at another. */
static void mutate(coex_handle *array, uint64_t *seed)
{
    coex_handle *slots = coex_gc_enter_frame(1);
    uint64_t dice = bench_random(seed);
    for (uint64_t i = dice % 16; i != 0; i--) {
        void *payload;
        coex_handle fresh = must(coex_gc_alloc_at(sizeof(struct cell), cell_type, &payload));
        *(struct cell *)payload = (struct cell){slots[0], i};
        slots[0] = fresh;
    }
    coex_gc_store(*array, (dice >> 8) % KEEP * 8, slots[0]);
    coex_handle other = coex_gc_load(*array, (dice >> 24) % KEEP * 8);
    if (other != 0) bench_keep(((struct cell *)coex_gc_handle_deref(other))->value);
    coex_gc_leave_frame(slots);
}

static void *mutator_main(void *argument)
{
    uint64_t seed = (uint64_t)(uintptr_t)argument + 1;
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = must(coex_gc_alloc(KEEP * 8, array_type));
    while (!atomic_load_explicit(&stopping, memory_order_relaxed)) mutate(slots, &seed);
    coex_gc_leave_frame(slots);
    coex_gc_unregister_thread();
    return NULL;
}

static void start(pthread_t *thread, void *(*body)(void *), uintptr_t argument)
{
    if (pthread_create(thread, NULL, body, (void *)argument) != 0) bench_fail("no thread could be started");
}

/* Cycle after cycle for so long; what the histograms then hold. */
static coex_gc_stats collect_for(double seconds)
{
    coex_gc_stats stats;
    double end = bench_now() + seconds;
    do {
        coex_gc_collect();
    } while (bench_now() < end);
    coex_gc_get_stats(&stats);
    return stats;
}

static void join(pthread_t *threads, unsigned count)
{
    atomic_store(&stopping, true);
    coex_gc_enter_native();
    for (unsigned i = 0; i < count; i++) pthread_join(threads[i], NULL);
    coex_gc_leave_native();
}

/* ------------------------------------------------------------------- rows */

static void print_times(const char *what, const coex_gc_times *times)
{
    printf("    %-12s %8llu %9.1f %9.1f %9.1f %9.1f", what, (unsigned long long)times->count, (double)times->p50 / 1e3,
           (double)times->p99 / 1e3, (double)times->p999 / 1e3, (double)times->max / 1e3);
}

static void print_stops(const char *what, const coex_gc_stats *stats)
{
    bool met = stats->stop_cpu.p999 <= STOP_GOAL_US * 1000;
    printf("  %s: %llu cycles\n", what, (unsigned long long)stats->collections_completed);
    print_times("stop, CPU", &stats->stop_cpu);
    printf("   p99.9 <= %d  %s\n", STOP_GOAL_US, met ? "ok" : "MISSED");
    print_times("stop, wall", &stats->stop_wall);
    putchar('\n');
    print_times("handshake", &stats->handshake);
    putchar('\n');
    fflush(stdout);
}

static void print_columns(void)
{
    printf("    %-12s %8s %9s %9s %9s %9s   microseconds\n", "", "count", "p50", "p99", "p99.9", "max");
}

static void measure_heap(uint64_t megabytes, double seconds)
{
    uint64_t bytes = megabytes * 1000000;
    char what[64];
    snprintf(what, sizeof what, "%llu MB live", (unsigned long long)megabytes);
    if (bytes * 3 > bench_memory_available()) {
        bench_note("%s: left out, there is not enough free memory", what);
        return;
    }
    begin();
    pthread_t thread[MUTATORS];
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = build(bytes / (sizeof(struct chunk) + 8));
    for (unsigned i = 0; i < MUTATORS; i++) start(&thread[i], mutator_main, i);
    coex_gc_stats stats = collect_for(seconds);
    join(thread, MUTATORS);
    print_stops(what, &stats);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* -------------------------------------------------------------- the stack */

struct returns {
    uint64_t count;
    uint64_t slowest_ns; /* on the CPU's clock */
};

static struct returns returns; /* of the one deep thread; read when it has ended */
static atomic_bool deep_enough;

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Leaves a frame; if the frame below is frozen (the watermark says so), notes what that took. */
static void leave_and_note(coex_handle *slots)
{
    if (slots - 1 > coex_gc_self->watermark) {
        coex_gc_leave_frame(slots);
        return;
    }
    uint64_t before = cpu_ns();
    coex_gc_leave_frame(slots);
    uint64_t taken = cpu_ns() - before;
    returns.count++;
    returns.slowest_ns = taken > returns.slowest_ns ? taken : returns.slowest_ns;
}

static coex_handle *enter_with_cell(void)
{
    coex_handle *slots = coex_gc_enter_frame(2);
    void *payload;
    slots[0] = must(coex_gc_alloc_at(sizeof(struct cell), cell_type, &payload));
    return slots;
}

/* A stack of so many frames, each with an object of its own, that goes up and down by some hundred frames as it allocates. */
static void *deep_main(void *argument)
{
    uint64_t depth = (uintptr_t)argument, swing = depth < 500 ? depth / 2 : 500;
    coex_handle **frames = malloc(depth * sizeof *frames);
    if (frames == NULL) bench_fail("out of memory");
    coex_gc_register_thread();
    for (uint64_t i = 0; i < depth; i++) frames[i] = enter_with_cell();
    atomic_store(&deep_enough, true);
    while (!atomic_load_explicit(&stopping, memory_order_relaxed)) {
        for (uint64_t i = depth; i-- > depth - swing;) leave_and_note(frames[i]);
        for (uint64_t i = depth - swing; i < depth; i++) frames[i] = enter_with_cell();
    }
    for (uint64_t i = depth; i-- > 0;) leave_and_note(frames[i]);
    coex_gc_unregister_thread();
    free(frames);
    return NULL;
}

static void measure_depth(uint64_t depth, double seconds)
{
    char what[64];
    snprintf(what, sizeof what, "%llu frames", (unsigned long long)depth);
    begin();
    returns = (struct returns){0};
    atomic_store(&deep_enough, false);
    pthread_t thread[2];
    start(&thread[0], deep_main, depth);
    coex_gc_enter_native();
    while (!atomic_load(&deep_enough)) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    coex_gc_leave_native();
    start(&thread[1], mutator_main, 1);
    coex_gc_stats stats = collect_for(seconds);
    join(thread, 2);
    print_stops(what, &stats);
    printf("    %llu words of shadow stack at the deepest", (unsigned long long)stats.max_shadow_stack_depth_seen);
    if (returns.count != 0)
        printf("; %llu returns into a frozen frame, the slowest %.1f on the CPU", (unsigned long long)returns.count,
               (double)returns.slowest_ns / 1e3);
    putchar('\n');
    coex_gc_shutdown();
}

/* --------------------------------------------------------- the heap's bound */

/* No cycle is asked for here: how far does the heap get beyond its goal before the collector has caught up? */
static void measure_bound(uint64_t megabytes, double seconds)
{
    begin();
    pthread_t thread[MUTATORS];
    coex_gc_stats stats;
    double worst = 0;
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = build(megabytes * 1000000 / (sizeof(struct chunk) + 8));
    coex_gc_collect(); /* the goal is set by what is live now */
    for (unsigned i = 0; i < MUTATORS; i++) start(&thread[i], mutator_main, i);
    double end = bench_now() + seconds;
    coex_gc_enter_native();
    while (bench_now() < end) {
        coex_gc_get_stats(&stats);
        double ratio = (double)stats.current_heap_used / (double)stats.heap_goal;
        worst = ratio > worst ? ratio : worst;
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    coex_gc_leave_native();
    join(thread, MUTATORS);
    char row[80];
    snprintf(row, sizeof row, "%llu MB live: most bytes used / goal (%llu cycles)", (unsigned long long)megabytes,
             (unsigned long long)stats.collections_completed);
    bench_result(row, worst, "times", BENCH_AT_MOST, 2);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

int main(int argc, char **argv)
{
    static const uint64_t megabytes[] = {10, 100, 1000, 4000};
    static const uint64_t depths[] = {10, 10000, 10000000};
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 8;
    if (!(seconds > 0)) bench_fail("usage: %s [seconds for each row]", argv[0]);

    bench_heading("Stops against the heap: one cycle after the other, two threads allocating, %.0f seconds each", seconds);
    print_columns();
    for (size_t i = 0; i < sizeof megabytes / sizeof megabytes[0]; i++) measure_heap(megabytes[i], seconds);

    bench_heading("Stops against the depth of a thread's stack");
    print_columns();
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) measure_depth(depths[i], seconds);

    bench_heading("The heap against its goal, two threads allocating as fast as they can");
    for (size_t i = 0; i + 1 < sizeof megabytes / sizeof megabytes[0]; i++) measure_bound(megabytes[i], seconds);
    return 0;
}
