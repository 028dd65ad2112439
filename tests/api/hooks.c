/*
 * coex_gc_at_init: what runs at each init, for libraries that have types of their own.
 */
#include "support/objects.h"

static unsigned runs;
static uint32_t registered;
static bool answer = true;

static bool register_types(void)
{
    runs++;
    registered = coex_gc_register_type(&(coex_gc_type){.name = "hooked", .size = 8});
    return registered != 0 && answer;
}

TEST(a_hook_runs_at_every_init_and_its_types_are_there)
{
    ck_assert(coex_gc_at_init(register_types));
    ck_assert_uint_eq(runs, 0);
    for (unsigned life = 1; life <= 3; life++) {
        start_quiet();
        ck_assert_uint_eq(runs, life);
        ck_assert_uint_eq(coex_gc_type_of(coex_gc_alloc(8, registered)), registered);
        coex_gc_shutdown();
    }
}

TEST(a_hook_that_comes_while_the_runtime_is_up_runs_at_once)
{
    start_quiet();
    ck_assert(coex_gc_at_init(register_types));
    ck_assert_uint_eq(runs, 1);
    ck_assert_uint_ne(coex_gc_alloc(8, registered), 0);
    coex_gc_shutdown();
    start_quiet();
    ck_assert_uint_eq(runs, 2);
    coex_gc_shutdown();
}

TEST(a_hook_is_there_once_however_often_it_is_added)
{
    for (int i = 0; i < 1000; i++) ck_assert(coex_gc_at_init(register_types));
    start_quiet();
    ck_assert_uint_eq(runs, 1);
    coex_gc_shutdown();
}

TEST(a_hook_that_fails_makes_init_fail_with_nothing_left_behind)
{
    ck_assert(coex_gc_at_init(register_types));
    coex_gc_config config = quiet_config();
    answer = false;
    ck_assert_int_ne(coex_gc_init_with(&config), COEX_GC_OK);
    ck_assert_ptr_null(coex_gc_get_current_thread());
    answer = true;
    start_with(&config);
    ck_assert_uint_ne(coex_gc_alloc(8, registered), 0);
    coex_gc_collect();
    coex_gc_shutdown();
}

TEST(a_hook_that_fails_at_once_is_not_kept)
{
    start_quiet();
    answer = false;
    ck_assert(!coex_gc_at_init(register_types));
    coex_gc_shutdown();
    start_quiet();
    ck_assert_uint_eq(runs, 1);
    coex_gc_shutdown();
}

TEST(no_function_is_refused)
{
    ck_assert(!coex_gc_at_init(NULL));
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_EINVAL);
}
