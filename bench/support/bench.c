/* See bench.h. */
#include "support/bench.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void bench_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

/* ------------------------------------------------------------- repetition */

static int compare(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

void bench_sort(struct bench_sample *sample) { qsort(sample->value, sample->rounds, sizeof sample->value[0], compare); }

void bench_repeat(struct bench_sample *sample, unsigned rounds, double (*run)(void *argument), void *argument)
{
    sample->rounds = rounds < BENCH_MAX_ROUNDS ? rounds : BENCH_MAX_ROUNDS;
    for (unsigned i = 0; i < sample->rounds; i++) sample->value[i] = run(argument);
    bench_sort(sample);
}

double bench_lowest(const struct bench_sample *sample) { return sample->value[0]; }
double bench_median(const struct bench_sample *sample) { return sample->value[sample->rounds / 2]; }
double bench_highest(const struct bench_sample *sample) { return sample->value[sample->rounds - 1]; }

/* ---------------------------------------------------------------- threads */

enum { CREW_MAX = 64 };

struct crew {
    pthread_barrier_t start;
    atomic_uint awake;
    unsigned count;
    const struct bench_work *work;
    void *argument;
};

struct member {
    struct crew *crew;
    unsigned number;
    double begin, end;
};

/* The n-th of the cores that this process may use. */
void bench_pin(unsigned number)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0) return;
    unsigned wanted = number % (unsigned)CPU_COUNT(&all);
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all) && wanted-- == 0) {
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
    }
}

/* Threads leave a barrier one by one, as the kernel wakes them. So each then waits for the others awake, unless that takes long: then
 * there are more threads than cores. */
static void begin_together(struct crew *crew)
{
    pthread_barrier_wait(&crew->start);
    atomic_fetch_add(&crew->awake, 1);
    double patience = bench_now() + 2e-3;
    while (atomic_load(&crew->awake) < crew->count && bench_now() < patience) {
    }
}

static void *member_main(void *argument)
{
    struct member *member = argument;
    struct crew *crew = member->crew;
    bench_pin(member->number);
    if (crew->work->prepare != NULL) crew->work->prepare(crew->argument, member->number);
    begin_together(crew);
    member->begin = bench_now();
    crew->work->run(crew->argument, member->number);
    member->end = bench_now();
    if (crew->work->finish != NULL) crew->work->finish(crew->argument, member->number);
    return NULL;
}

double bench_threads(unsigned count, const struct bench_work *work, void *argument)
{
    struct crew crew = {.work = work, .argument = argument, .count = count};
    struct member member[CREW_MAX];
    pthread_t thread[CREW_MAX];
    if (count > CREW_MAX || pthread_barrier_init(&crew.start, NULL, count) != 0) bench_fail("%u threads are too many", count);
    for (unsigned i = 0; i < count; i++) {
        member[i] = (struct member){.crew = &crew, .number = i};
        if (pthread_create(&thread[i], NULL, member_main, &member[i]) != 0) bench_fail("no thread could be started");
    }
    for (unsigned i = 0; i < count; i++) pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&crew.start);
    double begin = member[0].begin, end = member[0].end;
    for (unsigned i = 1; i < count; i++) {
        begin = member[i].begin < begin ? member[i].begin : begin;
        end = member[i].end > end ? member[i].end : end;
    }
    return end - begin;
}

/* ---------------------------------------------------------------- machine */

enum { COMPUTE_TIMES = 300000, FILL_BYTES = 64000000, THROWS = 20000, MACHINE_ROUNDS = 15 };

static char *fill_area[2];

static void fill(void *argument, unsigned number)
{
    (void)argument;
    memset(fill_area[number], 1, FILL_BYTES);
    bench_keep((uint64_t)fill_area[number]);
}

static void compute(void *argument, unsigned number)
{
    (void)argument;
    uint64_t seed = number + 1;
    for (unsigned i = 0; i < COMPUTE_TIMES; i++) bench_keep(bench_random(&seed));
}

/* A ball that each of the two throws back as soon as it sees it. */
static void play(void *argument, unsigned number)
{
    _Atomic uint64_t *ball = argument;
    for (unsigned i = 0; i < THROWS; i++) {
        while (atomic_load_explicit(ball, memory_order_acquire) % 2 != number) {
        }
        atomic_fetch_add_explicit(ball, 1, memory_order_acq_rel);
    }
}

static double run_alone(void *argument) { return bench_threads(1, argument, NULL); }
static double run_both(void *argument)
{
    _Alignas(128) _Atomic uint64_t ball = 0;
    return bench_threads(2, argument, &ball);
}

static double scaling_of(struct bench_work *work)
{
    struct bench_sample one, two;
    bench_repeat(&one, MACHINE_ROUNDS, run_alone, work);
    bench_repeat(&two, MACHINE_ROUNDS, run_both, work);
    return 2 * bench_lowest(&one) / bench_lowest(&two);
}

struct bench_machine bench_machine_now(void)
{
    struct bench_work computing = {.run = compute}, filling = {.run = fill}, playing = {.run = play};
    struct bench_sample throws;
    for (unsigned i = 0; i < 2; i++) {
        fill_area[i] = malloc(FILL_BYTES);
        if (fill_area[i] == NULL) bench_fail("out of memory");
        fill(NULL, i); /* pages come now */
    }
    struct bench_machine machine = {.computing = scaling_of(&computing), .filling = scaling_of(&filling)};
    bench_repeat(&throws, 3, run_both, &playing);
    machine.core_to_core = bench_median(&throws) / (2 * THROWS) * 1e9;
    free(fill_area[0]);
    free(fill_area[1]);
    return machine;
}

/* Cores that share a cache pass a line on in some 30 nanoseconds, sockets in well over 100. */
bool bench_machine_is_calm(const struct bench_machine *machine) { return machine->computing >= 1.9 && machine->core_to_core < 80; }

/* ----------------------------------------------------------------- output */

void bench_heading(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputc('\n', stdout);
    vprintf(format, arguments);
    fputc('\n', stdout);
    va_end(arguments);
}

void bench_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("  ", stdout);
    vprintf(format, arguments);
    fputc('\n', stdout);
    va_end(arguments);
    fflush(stdout);
}

/* Three digits that count; whole numbers in full. */
static void print_number(char *text, size_t size, double value)
{
    int digits = value == (double)(int64_t)value || value >= 100 ? 0 : value >= 10 ? 1 : 2;
    snprintf(text, size, "%.*f", digits, value);
}

bool bench_result(const char *what, double value, const char *unit, enum bench_goal goal, double target)
{
    char shown[32], wanted[48] = "", limit[32];
    print_number(shown, sizeof shown, value);
    print_number(limit, sizeof limit, target);
    if (goal != BENCH_NO_GOAL) snprintf(wanted, sizeof wanted, "%s %s", goal == BENCH_AT_LEAST ? ">=" : "<=", limit);
    bool met = goal == BENCH_NO_GOAL || (goal == BENCH_AT_LEAST ? value >= target : value <= target);
    printf("  %-56s %9s %-13s %-9s %s\n", what, shown, unit, wanted, goal == BENCH_NO_GOAL ? "" : met ? "ok" : "MISSED");
    fflush(stdout);
    return met;
}

/* ----------------------------------------------------------------- memory */

uint64_t bench_memory_available(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    unsigned long long kilobytes = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL && sscanf(line, "MemAvailable: %llu", &kilobytes) != 1) {
    }
    if (file != NULL) fclose(file);
    return (uint64_t)kilobytes * 1024;
}

uint64_t bench_memory_resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long long size = 0, resident = 0;
    if (file != NULL) {
        if (fscanf(file, "%llu %llu", &size, &resident) != 2) resident = 0;
        fclose(file);
    }
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
