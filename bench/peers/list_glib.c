/* The rows of bench/values_list.c with GLib's arrays. */
#include "support/bench.h"

#include <glib.h>

enum { N = 1000000, ROUNDS = 7 };

static double append(void *argument)
{
    GArray *array = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    (void)argument;
    double begin = bench_now();
    for (uint64_t i = 0; i < N; i++) g_array_append_val(array, i);
    double end = bench_now();
    g_array_free(array, TRUE);
    return (end - begin) / N * 1e9;
}

static double append_pointers(void *argument)
{
    GPtrArray *array = g_ptr_array_new();
    double begin = bench_now();
    for (uint64_t i = 0; i < N; i++) g_ptr_array_add(array, argument);
    double end = bench_now();
    g_ptr_array_free(array, TRUE);
    return (end - begin) / N * 1e9;
}

static double get(void *argument)
{
    GArray *array = argument;
    uint64_t sum = 0;
    double begin = bench_now();
    for (unsigned i = 0; i < N; i++) {
        bench_keep(i); /* or the loop becomes one over the memory */
        sum += g_array_index(array, uint64_t, i);
    }
    bench_keep(sum);
    return (bench_now() - begin) / N * 1e9;
}

static double get_anywhere(void *argument)
{
    GArray *array = argument;
    uint64_t sum = 0, random = 88172645463325252;
    double begin = bench_now();
    for (unsigned i = 0; i < N; i++) sum += g_array_index(array, uint64_t, bench_random(&random) % N);
    bench_keep(sum);
    return (bench_now() - begin) / N * 1e9;
}

static void report(const char *what, double (*run)(void *), void *argument)
{
    struct bench_sample sample;
    bench_repeat(&sample, ROUNDS, run, argument);
    bench_result(what, bench_lowest(&sample), "ns", BENCH_NO_GOAL, 0);
}

int main(void)
{
    GArray *array = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    for (uint64_t i = 0; i < N; i++) g_array_append_val(array, i);
    report("GArray: append", append, NULL);
    report("GPtrArray: append", append_pointers, array);
    report("GArray: get, one after the other", get, array);
    report("GArray: get, anywhere", get_anywhere, array);
    g_array_free(array, TRUE);
    return 0;
}
