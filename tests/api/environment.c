/*
 * COEX_GC and COEX_GC_DEBUG: the environment has the last word, and what can't be read is an error that leaves nothing behind.
 */
#include "support/objects.h"

static int init_under(const char *tuning, const char *debugging)
{
    coex_gc_config config = default_config();
    if (tuning != NULL) setenv("COEX_GC", tuning, 1);
    if (debugging != NULL) setenv("COEX_GC_DEBUG", debugging, 1);
    return coex_gc_init_with(&config);
}

TEST(environment_overrides_the_configuration)
{
    coex_gc_config config = default_config();
    config.initial_handles = 8192;
    config.initial_heap = MIB;
    setenv("COEX_GC", "handles=20000,heap=3MiB", 1);
    ck_assert_int_eq(coex_gc_init_with(&config), COEX_GC_OK);
    ck_assert_uint_eq(stats_now().current_handle_table_size, 20480); /* whole steps of 4,096 */
    ck_assert_uint_eq(stats_now().current_heap_size, 3 * MIB);
    coex_gc_shutdown();
}

TEST(init_reads_the_environment)
{
    forget_environment();
    setenv("COEX_GC", "heap=2M", 1);
    coex_gc_init();
    ck_assert_uint_eq(stats_now().current_heap_size, 2 * MIB);
    coex_gc_shutdown();
    setenv("COEX_GC", "", 1); /* empty is as good as not set */
    coex_gc_init();
    ck_assert_uint_eq(stats_now().current_heap_size, 64 * MIB);
    coex_gc_shutdown();
}

TEST(heap_limit_from_the_environment_holds)
{
    ck_assert_int_eq(init_under("heaplimit=2MiB", NULL), COEX_GC_OK);
    ck_assert_uint_eq(stats_now().current_heap_size, 2 * MIB);
    ck_assert_uint_eq(coex_gc_alloc(3 * MIB, type_bytes()), 0);
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ELIMIT);
    coex_gc_shutdown();
}

TEST(allocation_count_from_the_environment_triggers_cycles)
{
    ck_assert_int_eq(init_under("allocations=1000", NULL), COEX_GC_OK);
    uint32_t type = type_pair();
    for (int i = 0; i < 10000 && stats_now().collections_completed == 0; i++) {
        ck_assert_uint_ne(coex_gc_alloc(sizeof(pair), type), 0);
        coex_gc_safepoint();
    }
    coex_gc_wait_for_completion();
    ck_assert_uint_gt(stats_now().collections_completed, 0);
    coex_gc_shutdown();
}

TEST(debugging_options_take_effect)
{
    ck_assert_int_eq(init_under(NULL, "stress=10,poison=1,verify=1"), COEX_GC_OK);
    uint32_t type = type_pair();
    coex_handle *slots = coex_gc_enter_frame(1);
    for (uint64_t i = 0; i < 500; i++) slots[0] = new_pair(type, slots[0], i);
    coex_gc_wait_for_completion();
    ck_assert_uint_gt(stats_now().collections_completed, 0); /* long before the heap is due */
    uint64_t expected = 500;
    for (coex_handle h = slots[0]; h != 0; h = coex_gc_load(h, 0))
        ck_assert_uint_eq(((pair *)coex_gc_handle_deref(h))->value, --expected);
    coex_gc_shutdown();
}

static const struct malformed {
    const char *tuning, *debugging, *detail;
    int code;
} malformed[] = {
    {"nonsense", NULL, "COEX_GC: 'nonsense' must have the form option=value", COEX_GC_EOPTION},
    {"percent=100,", NULL, NULL, COEX_GC_OK}, /* a comma at the end does no harm */
    {",percent=100", NULL, "COEX_GC: '' must have the form option=value", COEX_GC_EOPTION},
    {"percent", NULL, "must have the form option=value", COEX_GC_EOPTION},
    {"percent=", NULL, "must be a number", COEX_GC_EOPTION},
    {"percent=a", NULL, "must be a number", COEX_GC_EOPTION},
    {"percent=0", NULL, "must be from 1 to 1000000", COEX_GC_EOPTION},
    {"Percent=1", NULL, "'Percent' is not an option", COEX_GC_EOPTION},
    {"heap=1QiB", NULL, "must be a size", COEX_GC_EOPTION},
    {"heap=-1", NULL, "must be a size", COEX_GC_EOPTION},
    {"heap=99999999999999999999T", NULL, "must be a size", COEX_GC_EOPTION},
    {"heap=1", NULL, "must be from 32768 to", COEX_GC_EOPTION},
    {"poison=1", NULL, "COEX_GC: 'poison' is not an option", COEX_GC_EOPTION},
    {"handles=100000,maxhandles=50000", NULL, "initial_handles must not exceed max_handles",
     COEX_GC_EINVAL},
    {"heaplimit=1000", NULL, "heap_limit must be 0 or at least 1 MiB", COEX_GC_EINVAL},
    {NULL, "poison", "COEX_GC_DEBUG: 'poison' must have the form option=value", COEX_GC_EOPTION},
    {NULL, "poison=2", "must be from 0 to 1", COEX_GC_EOPTION},
    {NULL, "poison=on", "must be 0 or 1", COEX_GC_EOPTION},
    {NULL, "trace=1", "COEX_GC_DEBUG: 'trace' is not an option", COEX_GC_EOPTION},
    {NULL, "stress=x", "must be N, min:N or min:N:max", COEX_GC_EOPTION},
    {"percent=100", "verify=maybe", "COEX_GC_DEBUG: the value of 'verify=maybe'", COEX_GC_EOPTION},
};

TEST(malformed_environment_is_an_error_and_init_works_afterwards)
{
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        const struct malformed *row = &malformed[i];
        int code = init_under(row->tuning, row->debugging);
        if (code != row->code) test_fail(__FILE__, __LINE__, "row %zu gives %d: %s", i, code, coex_gc_error_detail());
        if (code != COEX_GC_OK) {
            ck_assert_int_eq(coex_gc_last_error(), code);
            if (strstr(coex_gc_error_detail(), row->detail) == NULL)
                test_fail(__FILE__, __LINE__, "row %zu says \"%s\", not \"%s\"", i, coex_gc_error_detail(), row->detail);
            ck_assert_ptr_null(coex_gc_get_current_thread());
        }
        coex_gc_shutdown();
        start_quiet();
        ck_assert_uint_ne(coex_gc_alloc(sizeof(pair), type_pair()), 0);
        coex_gc_shutdown();
    }
}

static void init_with_bad_environment(void *text)
{
    forget_environment();
    setenv("COEX_GC", text, 1);
    coex_gc_init();
}

TEST(plain_init_says_what_it_can_not_read_and_aborts)
{
    char bad_name[] = "hoop=1MiB", bad_value[] = "heap=1MB,percent=many", bad_range[] = "heaplimit=5";
    expect_abort(init_with_bad_environment, bad_name, "COEX_GC: 'hoop' is not an option");
    expect_abort(init_with_bad_environment, bad_value, "'percent=many' must be a number");
    expect_abort(init_with_bad_environment, bad_range, "heap_limit must be 0 or at least 1 MiB");
}
