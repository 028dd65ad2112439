/*
 * The last error of a thread: a code, and a line that says more.
 */
#include "support/objects.h"

#include <pthread.h>

TEST(every_code_has_a_text_of_its_own)
{
    for (int i = COEX_GC_OK; i <= COEX_GC_ESYSTEM; i++) {
        ck_assert_str_ne(coex_gc_error_string(i), "");
        ck_assert_str_ne(coex_gc_error_string(i), "unknown error");
        for (int k = COEX_GC_OK; k < i; k++) ck_assert_str_ne(coex_gc_error_string(i), coex_gc_error_string(k));
    }
    ck_assert_str_eq(coex_gc_error_string(COEX_GC_OK), "no error");
    ck_assert_str_eq(coex_gc_error_string(-1), "unknown error");
    ck_assert_str_eq(coex_gc_error_string(1000), "unknown error");
}

TEST(nothing_has_happened_at_first)
{
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_OK);
    ck_assert_str_eq(coex_gc_error_detail(), "");
    start_quiet();
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_OK);
    coex_gc_shutdown();
}

TEST(type_registered_without_a_runtime_is_estate)
{
    ck_assert_uint_eq(coex_gc_register_type(&(coex_gc_type){.name = "t", .size = 8}), 0);
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ESTATE);
    ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), "not initialised"));
    start_quiet();
    coex_gc_shutdown();
    ck_assert_uint_eq(coex_gc_register_type(&(coex_gc_type){.name = "t", .size = 8}), 0);
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ESTATE);
}

TEST(last_error_stays_until_the_next_one)
{
    start_quiet();
    ck_assert_uint_eq(coex_gc_register_type(NULL), 0);
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ETYPE);
    uint32_t bytes = type_bytes(); /* success says nothing about it */
    ck_assert_uint_eq(coex_gc_alloc((uint64_t)1 << 62, bytes), 0);
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ENOMEM);
    ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), "4611686018427387904 bytes"));
    coex_gc_shutdown();
}

static void *look_at_own_error(void *arg)
{
    int *codes = arg;
    codes[0] = coex_gc_last_error();
    coex_gc_register_type(&(coex_gc_type){.name = "t", .size = 8, .align = 7});
    codes[1] = coex_gc_last_error();
    return NULL;
}

TEST(each_thread_has_its_own_last_error)
{
    start_quiet();
    ck_assert_int_eq(coex_gc_init_with(NULL), COEX_GC_EALREADY);
    pthread_t thread;
    int codes[2];
    ck_assert_int_eq(pthread_create(&thread, NULL, look_at_own_error, codes), 0);
    pthread_join(thread, NULL);
    ck_assert_int_eq(codes[0], COEX_GC_OK);
    ck_assert_int_eq(codes[1], COEX_GC_ETYPE);
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_EALREADY);
    coex_gc_shutdown();
}

TEST(detail_of_a_very_long_name_is_cut)
{
    char name[5000];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    start_quiet();
    ck_assert_uint_eq(coex_gc_register_type(&(coex_gc_type){.name = name, .size = 8, .align = 7}), 0);
    ck_assert_uint_lt(strlen(coex_gc_error_detail()), 200);
    ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), "`align` must be"));
    uint32_t type = type_from(&(coex_gc_type){.name = name, .size = 8}); /* but the name itself may be long */
    ck_assert_uint_ne(coex_gc_alloc(8, type), 0);
    coex_gc_shutdown();
}

TEST(version_is_three_numbers)
{
    int major, minor, patch;
    char rest;
    ck_assert_int_eq(sscanf(coex_gc_version(), "%d.%d.%d%c", &major, &minor, &patch, &rest), 3);
}
