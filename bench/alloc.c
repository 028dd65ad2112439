/* Measures the cost of an allocation: 32 bytes, one store into them, dropped at once.
 *
 * The first rows leave the collector out. A round allocates a fixed number of megabytes. Two
 * full cycles after it, outside the measured time, free its memory and its handles, so that the
 * next round uses the same memory again. These rows run with one thread, with two threads, and
 * with two processes that share nothing.
 *
 * The other rows include the collector in the default configuration. Every cycle marks a tree of
 * a million objects, while threads produce garbage as fast as they can. */
#include "support/bench.h"

#include <coex/gc.h>
#include <coex/gc_diag.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PAYLOAD = 32,
    OBJECT = PAYLOAD + 8, /* with its header */
    LIVE_OBJECTS = 1000000,
    ROUNDS = 99,
    WARM_UP = 6,
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

static void allocate(uint64_t objects)
{
    for (uint64_t i = objects; i != 0; i--) {
        void *payload;
        if (coex_gc_alloc_at(PAYLOAD, type, &payload) == 0) bench_fail("out of memory: %s", coex_gc_error_detail());
        ((uint64_t *)payload)[2] = i;
    }
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
    allocate(job->objects);
}

static void finish(void *argument, unsigned number)
{
    (void)argument, (void)number;
    coex_gc_unregister_thread();
}

static const struct bench_work work = {prepare, run, finish};

/* Nanoseconds that a thread needs for an object. */
static double allocate_busily(void *argument)
{
    struct job *job = argument;
    coex_gc_enter_native();
    double seconds = bench_threads(job->threads, &work, job);
    coex_gc_leave_native();
    return seconds / (double)job->objects * 1e9;
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

/* ------------------------------------------------------------ without collection */

/* What the two parties of a measurement share: threads of one process, or processes with a runtime each. They meet before and after each
 * round. In one round the first allocates alone, in the next the second, in the third both at the same time, and so on: a machine whose
 * speed changes is as fast for the one as for the other, and what a party's core finds in its cache is the same whether it is alone or
 * not. After a round everything is given back, handles included. */
struct yard {
    _Atomic unsigned met[ROUNDS][3];
    uint64_t objects;
    double seconds[2][ROUNDS];
};

static void meet(struct yard *yard, unsigned round, unsigned place)
{
    atomic_fetch_add(&yard->met[round][place], 1);
    while (atomic_load(&yard->met[round][place]) < 2) bench_relax();
}

enum { TOGETHER = 2 };

/* The number of the party that is alone in this round, or TOGETHER. */
static unsigned kind_of(unsigned round) { return round % 3; }

static void allocate_round(struct yard *yard, unsigned number, unsigned round)
{
    meet(yard, round, 0);
    double begin = bench_now();
    if (kind_of(round) == number || kind_of(round) == TOGETHER) allocate(yard->objects);
    yard->seconds[number][round] = bench_now() - begin;
}

struct party {
    struct yard *yard;
    unsigned number;
    bool collects; /* one in each process */
};

static void *thread_main(void *argument)
{
    const struct party *party = argument;
    bench_pin(party->number);
    coex_gc_register_thread();
    for (unsigned round = 0; round < ROUNDS; round++) {
        allocate_round(party->yard, party->number, round);
        coex_gc_enter_native(); /* waits for the other and for the one that collects */
        meet(party->yard, round, 1);
        coex_gc_leave_native();
        for (int i = 0; i < 2 && party->collects; i++) coex_gc_collect();
        coex_gc_enter_native();
        meet(party->yard, round, 2);
        coex_gc_leave_native();
    }
    coex_gc_unregister_thread();
    return NULL;
}

/* A process with a runtime and so many threads of it, the first of them with this number. */
static pid_t start_process(struct yard *yard, unsigned first, unsigned threads)
{
    fflush(stdout);
    pid_t child = fork();
    if (child != 0) return child;
    begin((uint64_t)2 << 30); /* a quarter of it can be taken before a cycle starts */
    coex_gc_enter_native();
    pthread_t thread[2];
    struct party party[2];
    for (unsigned i = 0; i < threads; i++) {
        party[i] = (struct party){yard, first + i, i == 0};
        if (pthread_create(&thread[i], NULL, thread_main, &party[i]) != 0) bench_fail("no thread");
    }
    for (unsigned i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    _exit(0);
}

static void run_yard(struct yard *yard, unsigned processes)
{
    for (unsigned i = 0; i < processes; i++) {
        if (start_process(yard, i, 2 / processes) < 0) bench_fail("no process");
    }
    int status;
    for (unsigned i = 0; i < processes; i++) {
        if (wait(&status) < 0 || status != 0) bench_fail("a process has failed");
    }
}

/* Nanoseconds of an object of a party, in each round of a kind. The first rounds bring pages in, and are left out. */
static struct bench_sample sample_of(const struct yard *yard, unsigned number, unsigned kind)
{
    struct bench_sample sample = {.rounds = 0};
    for (unsigned round = WARM_UP; round < ROUNDS; round++) {
        if (kind_of(round) == kind) sample.value[sample.rounds++] = yard->seconds[number][round] / (double)yard->objects * 1e9;
    }
    bench_sort(&sample);
    return sample;
}

/* How much more two allocate than one: what each of them still does when the other one does it too, added up. Two processes share nothing
 * but the machine: what two threads could be at best. */
static double measure_yard(const char *who, uint64_t megabytes, unsigned processes)
{
    struct yard *yard = mmap(NULL, sizeof *yard, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (yard == MAP_FAILED) bench_fail("out of memory");
    yard->objects = megabytes * 1000000 / OBJECT;
    run_yard(yard, processes);
    double scale = 0;
    for (unsigned number = 0; number < 2; number++) {
        struct bench_sample alone = sample_of(yard, number, number), together = sample_of(yard, number, TOGETHER);
        char row[80];
        snprintf(row, sizeof row, "%s %u of 2, %llu MB, alone", who, number + 1, (unsigned long long)megabytes);
        report(row, &alone);
        snprintf(row, sizeof row, "%s %u of 2, %llu MB, both", who, number + 1, (unsigned long long)megabytes);
        report(row, &together);
        scale += bench_lowest(&alone) / bench_lowest(&together);
    }
    munmap(yard, sizeof *yard);
    return scale;
}

static void measure_warm(uint64_t megabytes, bool judged)
{
    double processes = measure_yard("process", megabytes, 2), threads = measure_yard("thread", megabytes, 1);
    bench_result("coex: allocating, two processes against one", processes, "times", BENCH_NO_GOAL, 0);
    bench_result("coex: allocating, two threads against one", threads, "times", judged ? BENCH_AT_LEAST : BENCH_NO_GOAL, 1.8);
}

/* ---------------------------------------------------------------- with collection */

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
    bench_repeat(&sample, BUSY_ROUNDS, allocate_busily, &job);
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
    measure_warm(16, calm);
    measure_warm(64, calm);
    bench_heading("The same, with collection in the time (%.1f million objects live)", LIVE_OBJECTS / 1e6);
    measure_busy(1, "one thread");
    measure_busy(2, "two threads");
    return 0;
}
