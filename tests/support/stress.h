/* Helpers of the stress tests: their duration, the runtimes they run on, and their limit of
 * memory.
 *
 * Environment: COEX_TEST_LARGE=1 makes each run take a minute, and COEX_TEST_SECONDS=n sets the
 * time. COEX_TEST_SEED repeats the random choices of a run, but not its interleaving. */
#ifndef COEX_TESTS_SUPPORT_STRESS_H
#define COEX_TESTS_SUPPORT_STRESS_H

#include "support/nodes.h"
#include "support/objects.h"

/* Seconds that a stress test may take before it counts as hung. */
#define STRESS_TIMEOUT 300

enum stress_runtime {
    STRESS_PLAIN,    /* a small heap with cycles without a pause; otherwise the defaults */
    STRESS_VERIFIED, /* also verifies the marks of each cycle and poisons freed memory */
    STRESS_HOSTILE   /* also sends every allocation to the slow path and often requests a cycle */
};

/* The duration of a stress test, and the cycles that it must exceed. */
double stress_seconds(void);
enum { STRESS_CYCLES = 2 };

bool stress_is_over(void);
void stress_begin_clock(void);

/* Returns true if the test keeps too much alive and should drop objects. */
static inline bool stress_is_crowded(void) { return stats_now().current_heap_used > 48 * MIB; }

static inline coex_gc_config stress_config(enum stress_runtime runtime)
{
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    config.initial_handles = 4096;
    config.max_handles = 1 << 22; /* the verifier has a bit for each handle */
    config.percent = 50;
    config.verify = runtime != STRESS_PLAIN;
    config.poison = runtime != STRESS_PLAIN;
    config.stress = runtime == STRESS_HOSTILE ? 500 : 0;
    return config;
}

/* Starts the runtime and the clock, and registers the calling thread. */
static inline void stress_start_with(const coex_gc_config *config)
{
    start_with(config);
    nodes_init();
    stress_begin_clock();
}

static inline void stress_start(enum stress_runtime runtime)
{
    coex_gc_config config = stress_config(runtime);
    stress_start_with(&config);
}

/* Runs a last cycle, validates the heap, and shuts the runtime down. */
static inline void stress_end(void)
{
    coex_gc_collect();
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_stats stats = stats_now();
    printf("%" PRIu64 " cycles, %" PRIu64 " objects, %" PRIu64 " assists\n", stats.collections_completed, stats.total_allocations,
           stats.assists);
    ck_assert_uint_gt(stats.collections_completed, STRESS_CYCLES);
    coex_gc_shutdown();
}

#endif
