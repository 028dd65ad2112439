/*
 * What the tests of native code, foreign threads, weak things, forks and coroutines share.
 *
 * A cycle runs on the GC thread, or (gc_threads=0) in slices on the mutators. What must hold either way is a function that
 * both_ways runs twice; it begins with way_start or way_config, and takes what is random from way_seed.
 */
#ifndef COEX_TESTS_SUPPORT_BORDERS_H
#define COEX_TESTS_SUPPORT_BORDERS_H

#include "support/nodes.h"
#include "support/objects.h"

#include <time.h>
#include <unistd.h>

static uint64_t way_threads = 1;
static uint64_t way_seed; /* of the run: thread i takes way_seed + i */

static inline void both_ways(void (*test)(void))
{
    static const uint64_t ways[] = {1, 0};
    for (int i = 0; i < 2; i++) {
        way_threads = ways[i];
        printf("gc_threads=%" PRIu64 ", ", way_threads);
        way_seed = test_seed();
        test();
    }
    way_threads = 1;
}

/* Small, so that cycles never end, and each is verified. */
static inline coex_gc_config way_small_config(void)
{
    coex_gc_config config = default_config();
    config.gc_threads = way_threads;
    config.max_handles = 1 << 22; /* the verifier has a bit for each */
    config.initial_heap = MIB;
    config.initial_handles = 4096;
    config.percent = 50;
    config.verify = true;
    config.poison = true;
    return config;
}

/* No cycle but those that the test asks for; what is freed is poisoned, and marks are verified. */
static inline coex_gc_config way_config(void)
{
    coex_gc_config config = quiet_config();
    config.gc_threads = way_threads;
    config.max_handles = 1 << 22; /* the verifier has a bit for each */
    config.verify = true;
    config.poison = true;
    return config;
}

static inline void way_start(void)
{
    coex_gc_config config = way_config();
    start_with(&config);
    nodes_init();
}

/* Cycles that never end: small, so that allocation alone drives them. */
static inline coex_gc_config busy_config(void)
{
    coex_gc_config config = way_config();
    config.initial_heap = MIB;
    config.initial_handles = 4096;
    config.percent = 50;
    return config;
}

static inline void busy_start(void)
{
    coex_gc_config config = busy_config();
    start_with(&config);
    nodes_init();
}

/* ---- time ------------------------------------------------------------------------------------------------- */

static inline double clock_seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline double now_seconds(void) { return clock_seconds(CLOCK_MONOTONIC); }
/* Not spoilt by what else the machine does. */
static inline double cpu_seconds(void) { return clock_seconds(CLOCK_THREAD_CPUTIME_ID); }
static inline void sleep_ms(unsigned ms) { usleep(ms * 1000); }

static inline bool test_is_large(void)
{
    const char *large = getenv("COEX_TEST_LARGE");
    return large != NULL && strcmp(large, "0") != 0;
}

/* So many where tests are quick, fewer under sanitizers. */
static inline unsigned scaled(unsigned count, unsigned sanitized) { return test_is_sanitized() ? sanitized : count; }

/* ---- threads ---------------------------------------------------------------------------------------------- */

/* run_threads for a managed caller. */
static inline void run_threads_native(unsigned n, void (*fn)(unsigned index, void *arg), void *arg)
{
    coex_gc_enter_native();
    run_threads(n, fn, arg);
    coex_gc_leave_native();
}

/* A flag that threads tell each other something by, and wait for without being in anybody's way. */
typedef struct test_flag {
    int is_set;
} test_flag;

static inline void flag_set(test_flag *it) { __atomic_store_n(&it->is_set, 1, __ATOMIC_RELEASE); }
static inline void flag_clear(test_flag *it) { __atomic_store_n(&it->is_set, 0, __ATOMIC_RELEASE); }
static inline bool flag_is_set(const test_flag *it) { return __atomic_load_n(&it->is_set, __ATOMIC_ACQUIRE) != 0; }
static inline void flag_await(const test_flag *it)
{
    while (!flag_is_set(it)) usleep(100);
}

static inline void count_up(uint64_t *count) { __atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL); }
static inline uint64_t count_now(const uint64_t *count) { return __atomic_load_n(count, __ATOMIC_ACQUIRE); }

/* ---- objects ---------------------------------------------------------------------------------------------- */

/* A leaf that nobody but the caller knows. */
static inline coex_handle new_leaf(void)
{
    coex_handle leaf = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    expect(leaf != 0);
    return leaf;
}

/* Garbage, so that cycles come and memory is used again. */
static inline void make_garbage(unsigned objects)
{
    for (unsigned i = 0; i < objects; i++) expect(new_leaf() != 0);
}

/* A mutable array of references. */
static inline coex_handle new_refs(uint32_t type, uint64_t count)
{
    coex_handle refs = coex_gc_alloc(count * sizeof(coex_handle), type);
    expect(refs != 0);
    return refs;
}

static inline coex_handle refs_get(coex_handle refs, uint64_t index) { return coex_gc_load(refs, index * sizeof(coex_handle)); }
static inline void refs_set(coex_handle refs, uint64_t index, coex_handle value)
{
    coex_gc_store(refs, index * sizeof(coex_handle), value);
}

#endif
