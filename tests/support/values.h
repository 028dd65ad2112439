/* Helpers for the tests of the values: runtimes that collect often, their shutdown, and checks
 * of refused calls. */
#ifndef COEX_TESTS_SUPPORT_VALUES_H
#define COEX_TESTS_SUPPORT_VALUES_H

#include "support/objects.h"

#include <coex/values/value.h>

static uint32_t pair_type;

/* A small heap, so that cycles follow each other without a pause. */
static inline coex_gc_config values_config(void)
{
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    config.percent = 50;
    return config;
}

/* A cycle at every third allocation, independent of the environment. */
static inline coex_gc_config values_hostile_config(void)
{
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    config.max_handles = 1 << 20;
    config.stress = 3;
    config.verify = config.poison = true;
    return config;
}

static inline void values_start(coex_gc_config config)
{
    start_with(&config);
    pair_type = type_pair();
}

static inline void end(void)
{
    coex_gc_collect();
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_shutdown();
}

struct beside_cycles {
    void (*work)(void);
    int is_over;
};

static inline void beside_cycles_main(unsigned index, void *arg)
{
    struct beside_cycles *it = arg;
    coex_gc_register_thread();
    if (index == 0) {
        it->work();
        __atomic_store_n(&it->is_over, 1, __ATOMIC_RELEASE);
    } else {
        while (!__atomic_load_n(&it->is_over, __ATOMIC_ACQUIRE)) coex_gc_collect();
    }
    coex_gc_unregister_thread();
}

/* Runs `work` on a thread while another thread collects without a pause. It is for operations
 * that are safepoints without an allocation. */
static inline void beside_cycles(void (*work)(void))
{
    struct beside_cycles it = {.work = work};
    coex_gc_enter_native();
    run_threads(2, beside_cycles_main, &it);
    coex_gc_leave_native();
}

static inline void expect_status(bool failed, coex_status status)
{
    expect(failed);
    expect_eq(coex_last_status(), status);
    coex_clear_status();
}

/* Calls `refused` with null, an immediate, an object of the user, and a value of another kind. */
static inline void each_wrong_kind(void (*refused)(coex_handle bad), coex_handle (*other)(void))
{
    coex_handle *slot = coex_gc_enter_frame(1);
    refused(0);
    refused(COEX_IMMEDIATE(5));
    slot[0] = new_pair(pair_type, 0, 1);
    refused(slot[0]);
    slot[0] = other();
    refused(slot[0]);
    coex_gc_leave_frame(slot);
}

#endif
