/*
 * Random numbers that can be had again: a random test takes its seed from test_seed(), which prints it, and
 * takes the one in COEX_TEST_SEED if there is one.
 *
 *     test_rng rng = rng_from(test_seed());
 *     uint64_t n = rng_below(&rng, 100);
 *
 * Each thread has a generator of its own: rng_from(seed + index). splitmix64 passes the usual test batteries
 * and any 64-bit seed is a good one, neighbours included.
 */
#ifndef COEX_TESTS_SUPPORT_RNG_H
#define COEX_TESTS_SUPPORT_RNG_H

#include <stdbool.h>
#include <stdint.h>

typedef struct test_rng {
    uint64_t state;
} test_rng;

/* The seed of this run; printed, so that a failure can be repeated. */
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

/* 0 … bound - 1; bound is not 0. The bias of the remainder is at most bound / 2^64. */
static inline uint64_t rng_below(test_rng *rng, uint64_t bound) { return rng_next(rng) % bound; }

/* low … high, both included. */
static inline uint64_t rng_between(test_rng *rng, uint64_t low, uint64_t high) { return low + rng_below(rng, high - low + 1); }

/* True once in `n` times. */
static inline bool rng_one_in(test_rng *rng, uint64_t n) { return rng_below(rng, n) == 0; }

#endif
