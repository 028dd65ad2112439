/* Helpers for the tests of native code, foreign threads, weak references, forks and coroutines.
 *
 * A cycle runs on the GC thread, or in slices on the mutators if gc_threads is 0. both_ways runs
 * a test function in both configurations. The function starts with way_start or way_config, and
 * seeds its random choices with way_seed. */
#ifndef COEX_TESTS_SUPPORT_BORDERS_H
#define COEX_TESTS_SUPPORT_BORDERS_H

#include "support/nodes.h"
#include "support/objects.h"

#include <time.h>
#include <unistd.h>

static uint64_t way_threads = 1;
static uint64_t way_seed; /* seed of the run; thread i uses way_seed + i */

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

/* A small heap, so that cycles follow each other without a pause. Each cycle is verified. */
static inline coex_gc_config way_small_config(void)
{
    coex_gc_config config = default_config();
    config.gc_threads = way_threads;
    config.max_handles = 1 << 22; /* the verifier has a bit for each handle */
    config.initial_heap = MIB;
    config.initial_handles = 4096;
    config.percent = 50;
    config.verify = true;
    config.poison = true;
    return config;
}

/* Only the test requests cycles. Freed memory is poisoned, and marks are verified. */
static inline coex_gc_config way_config(void)
{
    coex_gc_config config = quiet_config();
    config.gc_threads = way_threads;
    config.max_handles = 1 << 22; /* the verifier has a bit for each handle */
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

/* A small heap, so that allocation alone makes cycles follow each other without a pause. */
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

/* ---- time ------------------------------------------------------------------------------------ */

static inline double clock_seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline double now_seconds(void) { return clock_seconds(CLOCK_MONOTONIC); }
/* CPU time of this thread, which other programs do not change much. */
static inline double cpu_seconds(void) { return clock_seconds(CLOCK_THREAD_CPUTIME_ID); }
static inline void sleep_ms(unsigned ms) { usleep(ms * 1000); }

static inline bool test_is_large(void)
{
    const char *large = getenv("COEX_TEST_LARGE");
    return large != NULL && strcmp(large, "0") != 0;
}

/* Returns `count`, or `sanitized` under sanitizers. */
static inline unsigned scaled(unsigned count, unsigned sanitized) { return test_is_sanitized() ? sanitized : count; }

/* ---- threads --------------------------------------------------------------------------------- */

/* Calls run_threads from managed mode. */
static inline void run_threads_native(unsigned n, void (*fn)(unsigned index, void *arg), void *arg)
{
    coex_gc_enter_native();
    run_threads(n, fn, arg);
    coex_gc_leave_native();
}

/* A flag that a thread sets and other threads wait for. */
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

/* ---- objects --------------------------------------------------------------------------------- */

/* Returns a new leaf. */
static inline coex_handle new_leaf(void)
{
    coex_handle leaf = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    expect(leaf != 0);
    return leaf;
}

/* Allocates garbage, so that cycles run and memory is reused. */
static inline void make_garbage(unsigned objects)
{
    for (unsigned i = 0; i < objects; i++) expect(new_leaf() != 0);
}

/* Returns a new mutable array of references. */
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
