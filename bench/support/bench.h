/* Helpers of the benchmarks: time, repetition, threads that start together, random numbers, and
 * tables.
 *
 * A benchmark measures, prints the figures, and says whether they meet its target. Times are
 * noisy on a shared machine, so every measurement is repeated, and the best and the median are
 * printed. Only counts (bench/instructions.c) decide the exit status. */
#ifndef BENCH_SUPPORT_BENCH_H
#define BENCH_SUPPORT_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Seconds on the monotonic clock. */
double bench_now(void);

/* ------------------------------------------------------------- repetition */

enum { BENCH_MAX_ROUNDS = 64 };

struct bench_sample {
    unsigned rounds;
    double value[BENCH_MAX_ROUNDS]; /* seconds, or whatever `run` returns, sorted upwards */
};

/* Calls `run` so often, and sorts what it returned. */
void bench_repeat(struct bench_sample *sample, unsigned rounds, double (*run)(void *argument), void *argument);
void bench_sort(struct bench_sample *sample);
double bench_lowest(const struct bench_sample *sample);
double bench_median(const struct bench_sample *sample);
double bench_highest(const struct bench_sample *sample);

/* ---------------------------------------------------------------- threads */

/* What each thread of a crew does. `prepare` and `finish` (either may be NULL) are not in the time. */
struct bench_work {
    void (*prepare)(void *argument, unsigned number);
    void (*run)(void *argument, unsigned number);
    void (*finish)(void *argument, unsigned number);
};

/* Does the work on so many threads, which begin to run together; seconds from there to the end of the last one. Each has a core of its
 * own as long as there are enough. */
double bench_threads(unsigned count, const struct bench_work *work, void *argument);

/* This thread keeps to the core of that number, of those it may use. */
void bench_pin(unsigned number);

/* For the body of a loop that waits. */
static inline void bench_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* What this machine gives to two threads just now. A virtual machine's cores may lie near each other or far apart, and others may use
 * them: both change from one minute to the next, and no figure of two threads means anything without them. */
struct bench_machine {
    double computing;    /* two threads that share nothing compute so many times as much as one */
    double filling;      /* two threads fill memory, 64 MB each, so many times as fast as one */
    double core_to_core; /* nanoseconds that a cache line takes from one core to the other */
};

struct bench_machine bench_machine_now(void);
/* May figures of two threads be judged? */
bool bench_machine_is_calm(const struct bench_machine *machine);

/* ----------------------------------------------------------------- random */

/* xorshift64*: quick, and the same on every machine. The state is never 0. */
static inline uint64_t bench_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* Where a value goes that nobody needs, so that computing it is not left out; and what keeps a loop from being folded. */
static inline void bench_keep(uint64_t value) { __asm__ volatile("" : : "r"(value) : "memory"); }

/* ----------------------------------------------------------------- output */

enum bench_goal { BENCH_NO_GOAL, BENCH_AT_LEAST, BENCH_AT_MOST };

/* A line that says what the rows below have in common. */
void bench_heading(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* One row: what, how much, the target and whether it is met. Returns that. */
bool bench_result(const char *what, double value, const char *unit, enum bench_goal goal, double target);
/* A line of text among the rows. */
void bench_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Bytes of memory that the machine has free, as the kernel estimates it. */
uint64_t bench_memory_available(void);
/* Resident bytes of this process. */
uint64_t bench_memory_resident(void);

/* Ends the program with one line on stderr. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
