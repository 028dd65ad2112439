/* Reproducible random numbers. A random test takes its seed from test_seed(), which prints the
 * seed. COEX_TEST_SEED in the environment sets it.
 *
 *     test_rng rng = rng_from(test_seed());
 *     uint64_t n = rng_below(&rng, 100);
 *
 * Each thread has its own generator, rng_from(seed + index). splitmix64 passes the usual test
 * batteries, and every 64-bit seed is suitable, including consecutive seeds. */
#ifndef COEX_TESTS_SUPPORT_RNG_H
#define COEX_TESTS_SUPPORT_RNG_H

#include <stdbool.h>
#include <stdint.h>

typedef struct test_rng {
    uint64_t state;
} test_rng;

/* Returns the seed of this run and prints it, so that a failure can be repeated. */
uint64_t test_seed(void);

static inline test_rng rng_from(uint64_t seed)
{
    test_rng rng = {seed};
    return rng;
}

static inline uint64_t rng_next(test_rng *rng)
{
    uint64_t z = (rng->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Returns 0 … bound - 1. `bound` must not be 0. The bias is at most bound / 2^64. */
static inline uint64_t rng_below(test_rng *rng, uint64_t bound) { return rng_next(rng) % bound; }

/* Returns low … high, both included. */
static inline uint64_t rng_between(test_rng *rng, uint64_t low, uint64_t high) { return low + rng_below(rng, high - low + 1); }

/* Returns true once in `n` calls on average. */
static inline bool rng_one_in(test_rng *rng, uint64_t n) { return rng_below(rng, n) == 0; }

#endif
