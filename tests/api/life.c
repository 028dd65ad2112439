/*
 * Init and shutdown: codes, order, nothing left behind, again and again.
 */
#include "support/objects.h"

#include <pthread.h>

/* Lines of /proc/self/maps: one a mapping. */
static int mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    ck_assert_ptr_nonnull(maps);
    int lines = 0;
    for (int c; (c = fgetc(maps)) != EOF;) lines += c == '\n';
    fclose(maps);
    return lines;
}

/* Sanitizers map memory of their own as they go, one or two pieces a runtime; a runtime itself has more than a dozen. */
static int slack(void) { return test_is_sanitized() ? 150 : 0; }

/* A little of everything that a runtime keeps. */
static void use_runtime(uint64_t value)
{
    static coex_handle global;
    uint32_t pairs = type_pair(), bytes = type_bytes();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = new_pair(pairs, 0, value);
    slots[1] = coex_gc_alloc(100000, bytes);
    global = 0;
    ck_assert_int_eq(coex_gc_add_global_root(&global), 0);
    coex_gc_global_store(&global, slots[0]);
    coex_gc_collect();
    ck_assert_uint_eq(((pair *)coex_gc_handle_deref(coex_gc_global_load(&global)))->value, value);
    coex_gc_leave_frame(slots);
}

TEST(init_and_shutdown_fifty_times_leave_no_mapping_behind)
{
    coex_gc_config config = default_config();
    int before = 0;
    for (uint64_t i = 0; i < 50; i++) {
        start_with(&config);
        coex_gc_stats stats = stats_now();
        ck_assert_uint_eq(stats.total_allocations, 0);
        ck_assert_uint_eq(stats.collections_completed, 0);
        ck_assert_uint_eq(stats.current_handles_in_use, 0);
        ck_assert_uint_eq(stats.hard_limit_waits, 0);
        use_runtime(i);
        coex_gc_shutdown();
        if (i == 4) before = mappings(); /* the C library has its own by now */
    }
    ck_assert_int_le(mappings(), before + slack());
}

TEST(statistics_start_anew_with_each_runtime)
{
    coex_gc_config config = default_config();
    config.heap_limit = config.initial_heap = MIB;
    start_with(&config);
    uint32_t bytes = type_bytes();
    for (int i = 0; i < 2000; i++) ck_assert_uint_ne(coex_gc_alloc(8000, bytes), 0);
    ck_assert_uint_eq(coex_gc_alloc(2 * MIB, bytes), 0);
    ck_assert_uint_gt(stats_now().hard_limit_waits, 0);
    ck_assert_uint_gt(stats_now().stop_wall.count + stats_now().handshake.count, 0);
    coex_gc_shutdown();
    start_quiet();
    coex_gc_stats stats = stats_now();
    ck_assert_uint_eq(stats.total_allocations, 0);
    ck_assert_uint_eq(stats.total_bytes_allocated, 0);
    ck_assert_uint_eq(stats.collections_completed, 0);
    ck_assert_uint_eq(stats.objects_swept_last_cycle, 0);
    ck_assert_uint_eq(stats.total_gc_time_ns, 0);
    ck_assert_uint_eq(stats.heap_growths + stats.handle_table_growths, 0);
    ck_assert_uint_eq(stats.memory_returned, 0);
    ck_assert_uint_eq(stats.max_shadow_stack_depth_seen, 0);
    ck_assert_uint_eq(stats.stop_wall.count + stats.handshake.count, 0);
    ck_assert_uint_eq(stats.stop_wall_last.count + stats.handshake_last.count, 0);
    ck_assert_uint_eq(stats.assists, 0);
    ck_assert_uint_eq(stats.hard_limit_waits, 0);
    coex_gc_shutdown();
}

static void live_a_little(unsigned index, void *type)
{
    (void)index;
    coex_gc_register_thread();
    coex_gc_enter_frame(100);
    expect(coex_gc_alloc(8, *(uint32_t *)type) != 0);
    coex_gc_unregister_thread();
}

TEST(records_of_many_threads_are_unmapped_by_the_shutdown)
{
    coex_gc_config config = default_config();
    int before = 0;
    for (int i = 0; i < 5; i++) {
        start_with(&config);
        uint32_t type = type_plain(8, 0);
        coex_gc_enter_native();
        run_threads(30, live_a_little, &type);
        coex_gc_leave_native();
        coex_gc_shutdown();
        if (i == 1) before = mappings();
    }
    ck_assert_int_le(mappings(), before + slack());
}

TEST(second_init_is_refused_or_a_no_op_and_changes_nothing)
{
    start_quiet();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_pair(type_pair(), 0, 5);
    coex_gc_config other = default_config();
    other.max_handles = other.initial_handles = 4096;
    ck_assert_int_eq(coex_gc_init_with(&other), COEX_GC_EALREADY);
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_EALREADY);
    coex_gc_init();
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_OK);
    ck_assert_uint_eq(stats_now().registered_thread_count, 1);
    ck_assert_uint_eq(stats_now().current_handle_table_size, 1048576);
    coex_gc_collect();
    ck_assert_uint_eq(((pair *)coex_gc_handle_deref(slots[0]))->value, 5);
    coex_gc_shutdown();
}

TEST(shutdown_without_a_runtime_is_a_no_op)
{
    coex_gc_shutdown();
    coex_gc_shutdown();
    start_quiet();
    coex_gc_shutdown();
    coex_gc_shutdown();
    start_quiet();
    coex_gc_shutdown();
}

TEST(null_configuration_means_the_defaults)
{
    forget_environment();
    ck_assert_int_eq(coex_gc_init_with(NULL), COEX_GC_OK);
    ck_assert_uint_eq(stats_now().current_heap_size, 64 * MIB);
    coex_gc_shutdown();
}

TEST(shutdown_waits_for_a_running_cycle)
{
    for (int i = 0; i < (test_is_sanitized() ? 4 : 20); i++) {
        start_quiet();
        uint32_t pairs = type_pair();
        coex_handle *slots = coex_gc_enter_frame(1);
        for (uint64_t k = 0; k < 20000; k++) slots[0] = new_pair(pairs, slots[0], k);
        coex_gc_async();
        coex_gc_shutdown();
    }
}

TEST(shutdown_may_come_from_a_thread_that_is_not_registered)
{
    start_quiet();
    use_runtime(3);
    coex_gc_unregister_thread();
    coex_gc_shutdown();
    ck_assert_uint_eq(stats_now().current_heap_size, 0);
    start_quiet();
    use_runtime(4);
    coex_gc_shutdown();
}

static void *init_and_leave(void *config)
{
    start_with(config);
    use_runtime(1);
    return NULL; /* its registration ends with it */
}

TEST(runtime_outlives_the_thread_that_made_it)
{
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        coex_gc_config config = quiet_config();
        ck_assert_int_eq(pthread_create(&thread, NULL, init_and_leave, &config), 0);
        pthread_join(thread, NULL);
        ck_assert_uint_eq(stats_now().registered_thread_count, 0);
        coex_gc_register_thread();
        use_runtime(2);
        coex_gc_shutdown();
    }
}

/* ---- what init refuses ------------------------------------------------------------------------------------ */

struct refused {
    const char *what;
    size_t offset;
    uint64_t value;
};

#define REFUSED(field, value)                                                                                                      \
    {                                                                                                                              \
#field, offsetof(coex_gc_config, field), value                                                                             \
    }

static const struct refused refused[] = {
    REFUSED(size, 0),
    REFUSED(size, 8),
    REFUSED(size, 4097),
    REFUSED(size, UINT64_MAX),
    REFUSED(initial_handles, 0),
    REFUSED(initial_handles, 63),
    REFUSED(initial_handles, UINT64_MAX),
    REFUSED(max_handles, 0),
    REFUSED(max_handles, 4095),
    REFUSED(max_handles, 8192), /* below initial_handles */
    REFUSED(max_handles, ((uint64_t)1 << 36) + 1),
    REFUSED(initial_heap, 0),
    REFUSED(initial_heap, 32767),
    REFUSED(initial_heap, (uint64_t)1 << 47),
    REFUSED(initial_heap, UINT64_MAX),
    REFUSED(heap_limit, 1),
    REFUSED(heap_limit, (1 << 20) - 1),
    REFUSED(heap_limit, (uint64_t)1 << 47),
    REFUSED(memlimit, (uint64_t)1 << 47),
    REFUSED(percent, 0),
    REFUSED(percent, 1000001),
    REFUSED(shadow_stack_slots, 0),
    REFUSED(shadow_stack_slots, 1023),
    REFUSED(shadow_stack_slots, ((uint64_t)1 << 31) + 1),
    REFUSED(gc_threads, 100000),
    REFUSED(safepoint_warn_ms, 0),
    REFUSED(trace_level, 5),
};

TEST(values_that_make_no_sense_are_refused_and_leave_nothing_behind)
{
    coex_gc_config config = default_config();
    start_with(&config);
    coex_gc_shutdown();
    int before = mappings();
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        config = default_config();
        memcpy((char *)&config + refused[i].offset, &refused[i].value, sizeof(uint64_t));
        int code = coex_gc_init_with(&config);
        if (code != COEX_GC_EINVAL)
            test_fail(__FILE__, __LINE__, "%s=%" PRIu64 " gives %d", refused[i].what, refused[i].value, code);
        ck_assert_int_eq(coex_gc_last_error(), COEX_GC_EINVAL);
        ck_assert_str_ne(coex_gc_error_detail(), "");
        ck_assert_ptr_null(coex_gc_get_current_thread());
        ck_assert_int_le(mappings(), before + slack());
    }
    start_quiet();
    use_runtime(1);
    coex_gc_shutdown();
}

TEST(smallest_configuration_works)
{
    coex_gc_config config = default_config();
    config.initial_handles = 64;
    config.max_handles = 4096;
    config.initial_heap = 32768;
    config.heap_limit = MIB;
    config.shadow_stack_slots = 1024;
    config.percent = 1;
    start_with(&config);
    uint32_t pairs = type_pair();
    coex_handle *slots = coex_gc_enter_frame(1);
    for (uint64_t i = 0; i < 100000; i++) {
        coex_handle h = new_pair(pairs, i % 100 == 0 ? 0 : slots[0], i);
        expect(h != 0);
        slots[0] = h;
    }
    ck_assert_uint_le(stats_now().current_heap_used, MIB);
    coex_gc_shutdown();
}

TEST(configuration_of_an_older_caller_is_shorter)
{
    coex_gc_config config = default_config();
    config.size = offsetof(coex_gc_config, heap_limit);
    config.initial_handles = 8192;
    config.initial_heap = MIB;
    memset((char *)&config + config.size, 0xff, sizeof config - config.size); /* is not looked at */
    start_with(&config);
    ck_assert_uint_eq(stats_now().current_handle_table_size, 8192);
    ck_assert_uint_eq(stats_now().current_heap_size, MIB);
    use_runtime(1);
    coex_gc_shutdown();
}
