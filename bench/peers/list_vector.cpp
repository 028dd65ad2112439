/* The rows of bench/values_list.c with std::vector. It shares no structure and has no collector,
 * so it is the lower bound. */
#define _Noreturn [[noreturn]]
extern "C" {
#include "support/bench.h"
}

#include <vector>

namespace
{

enum { N = 1000000, ROUNDS = 7, INSERTS = 200, CUTS = 20 };

std::vector<uint64_t> words;

double append(void *)
{
    double begin = bench_now();
    std::vector<uint64_t> fresh;
    for (uint64_t i = 0; i < N; i++) fresh.push_back(i);
    double end = bench_now();
    bench_keep(fresh.back());
    words.swap(fresh);
    return (end - begin) / N * 1e9;
}

double get(void *)
{
    uint64_t sum = 0;
    double begin = bench_now();
    for (uint64_t i = 0; i < N; i++) {
        bench_keep(i); /* or the loop becomes one over the memory */
        sum += words[i];
    }
    bench_keep(sum);
    return (bench_now() - begin) / N * 1e9;
}

double get_anywhere(void *)
{
    uint64_t sum = 0, random = 88172645463325252;
    double begin = bench_now();
    for (uint64_t i = 0; i < N; i++) sum += words[bench_random(&random) % N];
    bench_keep(sum);
    return (bench_now() - begin) / N * 1e9;
}

double iterate(void *)
{
    uint64_t sum = 0;
    double begin = bench_now();
    for (uint64_t word : words) sum += word;
    bench_keep(sum);
    return (bench_now() - begin) / N * 1e9;
}

double set(void *)
{
    uint64_t random = 88172645463325252;
    double begin = bench_now();
    for (uint64_t i = 0; i < N; i++) words[bench_random(&random) % N] = i;
    bench_keep(words[0]);
    return (bench_now() - begin) / N * 1e9;
}

double insert(void *)
{
    uint64_t random = 88172645463325252;
    double begin = bench_now();
    for (uint64_t i = 0; i < INSERTS; i++) words.insert(words.begin() + (long)(bench_random(&random) % N), i);
    double end = bench_now();
    words.resize(N);
    return (end - begin) / INSERTS * 1e9;
}

double cut_and_join(void *)
{
    uint64_t random = 88172645463325252;
    double begin = bench_now();
    for (uint64_t i = 0; i < CUTS; i++) {
        auto at = words.begin() + (long)(bench_random(&random) % N);
        std::vector<uint64_t> fresh(at, words.end());
        fresh.insert(fresh.end(), words.begin(), at);
        words.swap(fresh);
    }
    return (bench_now() - begin) / CUTS * 1e9;
}

void report(const char *what, double (*run)(void *))
{
    struct bench_sample sample;
    bench_repeat(&sample, ROUNDS, run, nullptr);
    bench_result(what, bench_lowest(&sample), "ns", BENCH_NO_GOAL, 0);
}

} // namespace

int main()
{
    append(nullptr);
    report("std::vector: append", append);
    report("std::vector: get, one after the other", get);
    report("std::vector: get, anywhere", get_anywhere);
    report("std::vector: iterate", iterate);
    report("std::vector: set anywhere, in place", set);
    report("std::vector: insert anywhere, in place", insert);
    report("std::vector: cut anywhere and join, copying", cut_and_join);
    return 0;
}
