/* Measures lists of a million words: append, get, iterate, set, slice and concatenate.
 * scripts/bench then runs the same rows on std::vector (the lower bound), GLib's arrays, and
 * Clojure's vectors, which are also persistent (bench/peers/list_*). */
#include "support/bench.h"

#include <coex/values/array.h>
#include <coex/values/list.h>
#include <coex/gc.h>
#include <stdio.h>

enum { N = 1000000, ROUNDS = 7, CHANGES = 100000, JOINS = 10000 };

static coex_handle *slot; /* 0: the list of all words; 1 to 3: what a round works on */
static uint64_t sum_wanted;

static void check(uint64_t sum)
{
    if (sum != sum_wanted) bench_fail("the sum is %llu", (unsigned long long)sum);
}

static double append(void *argument)
{
    (void)argument;
    double begin = bench_now();
    slot[1] = coex_list_empty(false);
    for (uint64_t i = 0; i < N; i++) slot[1] = coex_list_append(slot[1], i);
    return (bench_now() - begin) / N * 1e9;
}

static double build(void *argument)
{
    (void)argument;
    double begin = bench_now();
    slot[1] = coex_list_empty(false);
    slot[1] = coex_list_builder(slot[1]);
    for (uint64_t i = 0; i < N; i++) coex_list_builder_append(slot[1], i);
    slot[1] = coex_list_builder_finish(slot[1]);
    return (bench_now() - begin) / N * 1e9;
}

static double build_handles(void *argument)
{
    (void)argument;
    double begin = bench_now();
    slot[1] = coex_list_empty(true);
    slot[1] = coex_list_builder(slot[1]);
    for (uint64_t i = 0; i < N; i++) coex_list_builder_append(slot[1], slot[0]);
    slot[1] = coex_list_builder_finish(slot[1]);
    return (bench_now() - begin) / N * 1e9;
}

static double get(void *argument)
{
    (void)argument;
    uint64_t sum = 0;
    double begin = bench_now();
    for (uint64_t i = 0; i < N; i++) sum += coex_list_get(slot[0], i);
    check(sum);
    return (bench_now() - begin) / N * 1e9;
}

static double get_anywhere(void *argument)
{
    (void)argument;
    uint64_t sum = 0, random = 88172645463325252;
    double begin = bench_now();
    for (uint64_t i = 0; i < N; i++) sum += coex_list_get(slot[0], bench_random(&random) % N);
    bench_keep(sum);
    return (bench_now() - begin) / N * 1e9;
}

static double iterate(void *argument)
{
    (void)argument;
    uint64_t sum = 0, word;
    double begin = bench_now();
    slot[1] = coex_list_iterate(slot[0], 0);
    while (coex_list_next(slot[1], &word)) sum += word;
    check(sum);
    return (bench_now() - begin) / N * 1e9;
}

static double iterate_chunks(void *argument)
{
    (void)argument;
    uint64_t sum = 0, count;
    const uint64_t *words;
    double begin = bench_now();
    slot[1] = coex_list_iterate(slot[0], 0);
    while ((words = coex_list_next_chunk(slot[1], &count)) != NULL) {
        for (uint64_t i = 0; i < count; i++) sum += words[i];
    }
    check(sum);
    return (bench_now() - begin) / N * 1e9;
}

static double set(void *argument)
{
    (void)argument;
    uint64_t random = 88172645463325252;
    double begin = bench_now();
    slot[1] = slot[0];
    for (uint64_t i = 0; i < CHANGES; i++) slot[1] = coex_list_set(slot[1], bench_random(&random) % N, i);
    return (bench_now() - begin) / CHANGES * 1e9;
}

static double set_in_place(void *argument)
{
    (void)argument;
    uint64_t random = 88172645463325252;
    slot[1] = coex_list_builder(slot[0]);
    double begin = bench_now();
    for (uint64_t i = 0; i < N; i++) coex_list_builder_set(slot[1], bench_random(&random) % N, i);
    slot[1] = coex_list_builder_finish(slot[1]);
    return (bench_now() - begin) / N * 1e9;
}

static double insert(void *argument)
{
    (void)argument;
    uint64_t random = 88172645463325252;
    double begin = bench_now();
    slot[1] = slot[0];
    for (uint64_t i = 0; i < JOINS; i++) slot[1] = coex_list_insert(slot[1], bench_random(&random) % N, i);
    return (bench_now() - begin) / JOINS * 1e9;
}

static double cut_and_join(void *argument)
{
    (void)argument;
    uint64_t random = 88172645463325252;
    double begin = bench_now();
    slot[1] = slot[0];
    for (uint64_t i = 0; i < JOINS; i++) {
        uint64_t at = bench_random(&random) % N;
        slot[2] = coex_list_slice(slot[1], 0, at);
        slot[3] = coex_list_slice(slot[1], at, N);
        slot[1] = coex_list_concat(slot[3], slot[2]);
    }
    return (bench_now() - begin) / JOINS * 1e9;
}

/* What all that cutting and joining makes of get. */
static double get_relaxed(void *argument)
{
    uint64_t sum = 0;
    cut_and_join(argument);
    double begin = bench_now();
    for (uint64_t i = 0; i < N; i++) sum += coex_list_get(slot[1], i);
    check(sum);
    return (bench_now() - begin) / N * 1e9;
}

static double array_append(void *argument)
{
    (void)argument;
    double begin = bench_now();
    slot[1] = coex_array_of(0, sizeof(uint64_t), false);
    for (uint64_t i = 0; i < N; i++) slot[1] = coex_array_append(slot[1], &i);
    return (bench_now() - begin) / N * 1e9;
}

static double array_get(void *argument)
{
    (void)argument;
    uint64_t sum = 0;
    double begin = bench_now();
    for (uint64_t i = 0; i < N; i++) sum += coex_array_word(slot[1], i);
    check(sum);
    return (bench_now() - begin) / N * 1e9;
}

static void report(const char *what, double (*run)(void *))
{
    struct bench_sample sample;
    bench_repeat(&sample, ROUNDS, run, NULL);
    bench_result(what, bench_lowest(&sample), "ns", BENCH_NO_GOAL, 0);
}

int main(void)
{
    coex_gc_init();
    coex_values_init();
    slot = coex_gc_enter_frame(4);
    build(NULL);
    slot[0] = slot[1];
    sum_wanted = (uint64_t)N * (N - 1) / 2;
    bench_heading("Lists of a million words, nanoseconds for each; the collector is in the time; best of %d", ROUNDS);
    report("coex list: append, persistent", append);
    report("coex list: append, builder", build);
    report("coex list: append handles, builder", build_handles);
    report("coex list: get, one after the other", get);
    report("coex list: get, anywhere", get_anywhere);
    report("coex list: iterate", iterate);
    report("coex list: iterate by chunks", iterate_chunks);
    report("coex list: set anywhere, persistent", set);
    report("coex list: set anywhere, builder", set_in_place);
    report("coex list: insert anywhere, persistent", insert);
    report("coex list: cut anywhere and join, persistent", cut_and_join);
    report("coex list: get, after 10,000 cuts and joins", get_relaxed);
    report("coex array: append, persistent", array_append);
    report("coex array: get, one after the other", array_get);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
    return 0;
}
