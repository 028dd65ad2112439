/*
 * How large the heap becomes: the limit, growth, large objects of every size that memory has.
 */
#include "support/objects.h"

/* ---- the limit -------------------------------------------------------------------------------------------- */

static void start_with_limit(uint64_t limit)
{
    coex_gc_config config = default_config();
    config.heap_limit = limit;
    config.initial_heap = MIB;
    start_with(&config);
}

TEST(heap_limit_holds_and_the_program_goes_on_when_objects_die)
{
    uint64_t limit = test_is_sanitized() ? 2 * MIB : 16 * MIB;
    start_with_limit(limit);
    uint32_t type = type_pair();
    coex_handle *slots = coex_gc_enter_frame(1);
    for (int round = 0; round < 3; round++) {
        uint64_t count = 0;
        for (coex_handle h; (h = new_pair(type, slots[0], count)) != 0; count++) {
            slots[0] = h;
            if (count % 1024 == 0) expect(stats_now().current_heap_used <= limit);
        }
        ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ELIMIT);
        ck_assert_uint_le(stats_now().current_heap_used, limit);
        /* 24 bytes each: the heap is full of them, but for the ends of blocks. */
        ck_assert_uint_gt(count * 24, limit - limit / 16);
        slots[0] = 0;
    }
    coex_gc_shutdown();
}

TEST(heap_limit_holds_for_small_and_large_objects_together)
{
    start_with_limit(16 * MIB);
    uint32_t pairs = type_pair(), bytes = type_bytes(), refs = type_refs();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[1] = coex_gc_alloc(1000 * 8, refs);
    uint64_t large = 0;
    for (coex_handle h; (h = coex_gc_alloc(100000, bytes)) != 0;) {
        coex_gc_store(slots[1], 8 * large++, h);
        for (uint64_t i = 0; i < 2000; i++) {
            coex_handle fresh = new_pair(pairs, slots[0], i);
            if (fresh != 0) slots[0] = fresh;
        }
        ck_assert_uint_le(stats_now().current_heap_used, 16 * MIB);
    }
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ELIMIT);
    ck_assert_uint_gt(large, 16 * MIB / 160000);
    slots[0] = slots[1] = 0;
    ck_assert_uint_ne(coex_gc_alloc(100000, bytes), 0);
    coex_gc_shutdown();
}

/* A thread that waits for a cycle gives its blocks back: it must not begin an empty one after each. */
TEST(a_thread_that_waits_for_cycles_does_not_spread_its_objects_over_all_blocks)
{
    enum { OBJECTS = 100 };
    start_with_limit(4 * MIB);
    uint32_t bytes = type_bytes(), refs = type_refs();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = coex_gc_alloc(OBJECTS * 8, refs);
    for (uint64_t i = 0; i < OBJECTS; i++) {
        /* Of four the second one stays: its block begins with a hole that the next one does not fit. */
        for (uint64_t k = 0; k < 4; k++) {
            slots[1] = coex_gc_alloc(300 + 100 * k, bytes);
            if (k == 1) coex_gc_store(slots[0], i * 8, slots[1]);
            coex_gc_collect();
        }
    }
    ck_assert_uint_ne(coex_gc_alloc(3 * MIB, bytes), 0);
    coex_gc_shutdown();
}

TEST(large_objects_of_any_size_up_to_the_limit_fit_an_empty_heap)
{
    uint64_t limit = 32 * MIB;
    start_with_limit(limit);
    uint32_t bytes = type_bytes();
    for (uint64_t size = MIB; size < limit - 4096; size += 347 * 4096) {
        coex_handle h = coex_gc_alloc(size, bytes); /* the one before is garbage */
        if (h == 0) test_fail(__FILE__, __LINE__, "no %" PRIu64 " of %" PRIu64 " bytes", size, limit);
    }
    coex_gc_shutdown();
}

TEST(object_larger_than_the_limit_is_refused_and_nothing_else)
{
    start_with_limit(4 * MIB);
    uint32_t bytes = type_bytes();
    ck_assert_uint_eq(coex_gc_alloc(5 * MIB, bytes), 0);
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ELIMIT);
    ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), "5242880 bytes"));
    ck_assert_uint_ne(coex_gc_alloc(MIB, bytes), 0);
    ck_assert_uint_ne(coex_gc_alloc(100, bytes), 0);
    coex_gc_shutdown();
}

static void fill_to_the_limit(unsigned index, void *arg)
{
    uint32_t type = *(uint32_t *)arg;
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(1);
    uint64_t rounds = test_is_sanitized() ? 20000 : 300000;
    for (uint64_t i = 0; i < rounds; i++) {
        coex_handle h = new_pair(type, slots[0], i);
        if (h == 0 || i % 5000 == index) expect(stats_now().current_heap_used <= 4 * MIB);
        slots[0] = h;
    }
    coex_gc_leave_frame(slots);
}

TEST_TIMEOUT(heap_limit_holds_for_many_threads, 60)
{
    start_with_limit(4 * MIB);
    uint32_t type = type_pair();
    coex_gc_enter_native();
    run_threads(4, fill_to_the_limit, &type);
    coex_gc_leave_native();
    coex_gc_shutdown();
}

/* ---- growth ----------------------------------------------------------------------------------------------- */

TEST(heap_grows_by_doubling_and_moves_nothing)
{
    enum { KEPT = 1000 };
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    config.percent = 1000000;
    start_with(&config);
    uint32_t type = type_plain(2000, 0);
    coex_handle *slots = coex_gc_enter_frame(KEPT);
    const void *address[KEPT];
    uint64_t size = stats_now().current_heap_size, growths = 0;
    ck_assert_uint_eq(size, MIB);
    for (int i = 0; i < 20 * KEPT; i++) {
        coex_handle h = coex_gc_alloc(2000, type);
        expect(h != 0);
        if (i % 20 == 0) {
            slots[i / 20] = h;
            address[i / 20] = coex_gc_handle_deref(h);
        }
        coex_gc_stats stats = stats_now();
        if (stats.heap_growths == growths) continue;
        expect_eq(stats.heap_growths, growths + 1);
        expect_eq(stats.current_heap_size, size * 2);
        growths = stats.heap_growths;
        size = stats.current_heap_size;
    }
    ck_assert_uint_ge(growths, 1);
    for (int i = 0; i < KEPT; i++) ck_assert_ptr_eq(coex_gc_handle_deref(slots[i]), address[i]);
    coex_gc_shutdown();
}

TEST(default_heap_starts_with_64_mib_and_a_million_handles)
{
    coex_gc_config config = default_config();
    start_with(&config);
    coex_gc_stats stats = stats_now();
    ck_assert_uint_eq(stats.current_heap_size, 64 * MIB);
    ck_assert_uint_eq(stats.current_heap_used, 0);
    ck_assert_uint_eq(stats.current_handle_table_size, 1048576);
    ck_assert_uint_eq(stats.current_handles_in_use, 0);
    ck_assert_uint_eq(stats.current_handles_free, 1048575);
    coex_gc_shutdown();
}

/* ---- large objects ---------------------------------------------------------------------------------------- */

TEST_TIMEOUT(object_of_two_gib_works, 60)
{
    if (test_is_sanitized()) return;
    start_quiet();
    uint32_t bytes = type_bytes();
    coex_handle *slots = coex_gc_enter_frame(1);
    for (int round = 0; round < 2; round++) {
        char *payload;
        coex_gc_stats before = stats_now();
        slots[0] = coex_gc_alloc_at(2 * GIB, bytes, (void **)&payload);
        ck_assert_uint_ne(slots[0], 0);
        ck_assert_uint_eq(coex_gc_size(slots[0]), 2 * GIB);
        for (uint64_t at = 0; at < 2 * GIB; at += 100 * MIB - 4097) {
            ck_assert_int_eq(payload[at], 0);
            payload[at] = 1;
        }
        ck_assert_int_eq(payload[2 * GIB - 1], 0);
        payload[2 * GIB - 1] = 1;
        ck_assert_uint_ge(stats_now().current_heap_used - before.current_heap_used, 2 * GIB);
        /* There was room: nobody had to wait for a cycle. */
        ck_assert_uint_eq(stats_now().hard_limit_waits, 0);
        slots[0] = 0;
        coex_gc_collect();
        ck_assert_uint_lt(stats_now().current_heap_used, MIB);
        ck_assert_uint_ge(stats_now().bytes_reclaimed_last_cycle, 2 * GIB);
    }
    coex_gc_shutdown();
}

TEST(large_objects_come_and_go_without_waiting_for_room)
{
    test_rng rng = rng_from(test_seed());
    coex_gc_config config = default_config();
    config.initial_heap = 16 * MIB;
    start_with(&config);
    uint32_t bytes = type_bytes();
    coex_handle *slots = coex_gc_enter_frame(8);
    for (int i = 0; i < (test_is_sanitized() ? 100 : 1000); i++) {
        uint64_t size = rng_between(&rng, 8000, MIB), at = rng_below(&rng, 8);
        if (slots[at] != 0) expect_eq(*(uint64_t *)coex_gc_handle_deref(slots[at]), coex_gc_size(slots[at]));
        char *payload;
        slots[at] = coex_gc_alloc_at(size, bytes, (void **)&payload);
        expect(slots[at] != 0);
        expect(is_all(payload, size, 0));
        memset(payload, 0xee, size);
        *(uint64_t *)(void *)payload = size;
    }
    ck_assert_uint_eq(stats_now().hard_limit_waits, 0);
    coex_gc_shutdown();
}
