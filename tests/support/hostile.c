/*
 * See hostile.h.
 *
 * Every init runs hostile_at_init, a hook of the runtime's, so an init that did not come from here is seen.
 */
#include "support/hostile.h"

#include "support/objects.h"

#include <sys/mman.h>

static bool is_starting;      /* hostile_init is under way; the hook runs on its thread */
static unsigned *start_count; /* in memory that is shared with the processes of the tests */

static uint64_t interval(void)
{
    const char *text = getenv("COEX_TEST_HOSTILE");
    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

bool test_is_hostile(void) { return interval() != 0; }

static bool hostile_at_init(void)
{
    if (!is_starting) test_fail(__FILE__, __LINE__, "a runtime that is not hostile: tests start it by start_with");
    return true;
}

/* Beside the cycles, nothing is as large as it could be: they are quick. */
static void harden(coex_gc_config *config)
{
    const uint64_t handles = (uint64_t)1 << 24; /* bitmaps of the verifier have a bit for each */
    config->stress = interval();
    config->stress_random = config->stress > 1;
    config->stress_wait = true;
    config->verify = config->poison = true;
    if (config->max_handles > handles) config->max_handles = handles;
    if (config->initial_handles > 4096) config->initial_handles = 4096;
}

/* The gaps are less than twice the interval. */
static void expect_cycles(void)
{
    uint32_t type = type_bytes();
    uint64_t before = stats_now().collections_completed;
    for (uint64_t i = 0; i < 2 * interval(); i++) expect(coex_gc_alloc(8, type) != 0);
    if (stats_now().collections_completed == before) test_fail(__FILE__, __LINE__, "allocations lead to no cycle");
}

int hostile_init(const coex_gc_config *config)
{
    if (!test_is_hostile()) return coex_gc_init_with(config);
    coex_gc_config hostile = *config;
    forget_environment();
    harden(&hostile);
    expect(coex_gc_at_init(hostile_at_init));
    is_starting = true;
    int code = coex_gc_init_with(&hostile);
    is_starting = false;
    if (code != COEX_GC_OK) return code;
    expect_cycles();
    if (start_count != NULL) __atomic_fetch_add(start_count, 1, __ATOMIC_RELAXED);
    return code;
}

void hostile_begin_count(void)
{
    if (!test_is_hostile()) return;
    void *shared = mmap(NULL, sizeof *start_count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || !coex_gc_at_init(hostile_at_init)) abort();
    start_count = shared;
}

unsigned hostile_count(void) { return __atomic_load_n(start_count, __ATOMIC_RELAXED); }
