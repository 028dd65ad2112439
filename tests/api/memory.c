/*
 * Payloads: zeroed, aligned, apart from each other, of every size; memory that comes back is as good as new.
 */
#include "support/objects.h"

/* ---- zeroed ----------------------------------------------------------------------------------------------- */

/* Allocates about `bytes` of objects of random sizes; each must be zeroed, and is filled with garbage. */
static void allocate_and_soil(test_rng *rng, uint32_t variable, uint32_t fixed, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes;) {
        uint64_t size = rng_one_in(rng, 50) ? rng_below(rng, 40000) : rng_below(rng, 400);
        void *payload;
        coex_handle h =
            rng_one_in(rng, 4) ? coex_gc_alloc_at(size = 40, fixed, &payload) : coex_gc_alloc_at(size, variable, &payload);
        expect(h != 0);
        expect(is_all(payload, size, 0));
        memset(payload, 0xff, size);
        done += size + 16;
    }
}

TEST_TIMEOUT(payloads_are_zeroed_also_where_garbage_was, 30)
{
    test_rng rng = rng_from(test_seed());
    coex_gc_config config = default_config();
    config.initial_heap = 4 * MIB;
    start_with(&config);
    uint32_t variable = type_bytes(), fixed = type_plain(40, 0);
    uint64_t bytes = test_is_sanitized() ? 4 * MIB : 24 * MIB;
    for (int round = 0; round < 4; round++) {
        allocate_and_soil(&rng, variable, fixed, bytes);
        coex_gc_collect();
    }
    ck_assert_uint_lt(stats_now().current_heap_size, 4 * bytes); /* it was reused indeed */
    coex_gc_shutdown();
}

TEST_TIMEOUT(payloads_are_zeroed_in_holes_between_objects_that_live, 30)
{
    enum { KEPT = 2000 };
    test_rng rng = rng_from(test_seed());
    start_quiet();
    uint32_t variable = type_bytes(), fixed = type_plain(40, 0);
    coex_handle *slots = coex_gc_enter_frame(KEPT);
    for (int round = 0; round < (test_is_sanitized() ? 3 : 10); round++) {
        for (int i = 0; i < KEPT; i++) {
            allocate_and_soil(&rng, variable, fixed, 1000);
            uint64_t size = rng_below(&rng, 300);
            void *payload;
            slots[i] = coex_gc_alloc_at(size, variable, &payload);
            expect(is_all(payload, size, 0));
            memset(payload, i % 256, size);
        }
        coex_gc_collect();
        for (int i = 0; i < KEPT; i++)
            expect(is_all(coex_gc_handle_deref(slots[i]), coex_gc_size(slots[i]), (unsigned char)(i % 256)));
    }
    coex_gc_shutdown();
}

/* ---- every size ------------------------------------------------------------------------------------------- */

/* An object of each size from 0 to 9,000, as variable and as fixed type, filled to its last byte. */
TEST_TIMEOUT(objects_of_every_size_keep_every_byte, 30)
{
    enum { SIZES = 9001 };
    coex_gc_config config = quiet_config();
    start_with(&config);
    uint32_t variable = type_bytes();
    coex_handle *slots = coex_gc_enter_frame(2 * SIZES);
    for (uint32_t size = 0; size < SIZES; size++) {
        uint32_t fixed = size == 0 ? variable : type_plain(size, 0);
        for (int k = 0; k < 2; k++) {
            void *payload;
            coex_handle h = coex_gc_alloc_at(size, k == 0 ? variable : fixed, &payload);
            expect(h != 0);
            expect_eq((uintptr_t)payload, (uintptr_t)coex_gc_handle_deref(h));
            expect_eq((uintptr_t)payload % 8, 0);
            expect_eq(coex_gc_size(h), size);
            expect(is_all(payload, size, 0));
            memset(payload, (int)((size + (uint32_t)k) % 255 + 1), size);
            slots[2 * size + (uint32_t)k] = h;
        }
    }
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 2 * SIZES; i++) {
            uint32_t size = i / 2;
            expect_eq(coex_gc_size(slots[i]), size);
            expect(is_all(coex_gc_handle_deref(slots[i]), size, (unsigned char)((size + i % 2) % 255 + 1)));
        }
        coex_gc_collect();
    }
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_shutdown();
}

TEST(objects_past_8184_bytes_with_their_header_are_large)
{
    static const struct {
        uint64_t size;
        bool fixed, large;
    } rows[] = {
        {8168, false, false}, {8169, false, true}, {8176, true, false}, {8177, true, true},
        {8184, true, true},   {8191, false, true}, {8192, false, true}, {8192, true, true},
    };
    start_quiet();
    uint32_t variable = type_bytes();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        coex_gc_object info;
        coex_handle h = coex_gc_alloc(rows[i].size, rows[i].fixed ? type_plain(rows[i].size, 0) : variable);
        ck_assert(coex_gc_object_info(h, &info));
        ck_assert_int_eq((info.flags & COEX_GC_OBJECT_LARGE) != 0, rows[i].large);
    }
    coex_gc_shutdown();
}

/* ---- alignment -------------------------------------------------------------------------------------------- */

TEST(payloads_are_aligned_as_their_type_asks)
{
    static const uint32_t aligns[] = {0, 8, 16, 32, 64};
    test_rng rng = rng_from(test_seed());
    start_quiet();
    uint32_t variable[5], fixed[5], large[5];
    for (int i = 0; i < 5; i++) {
        variable[i] = type_plain(0, aligns[i]);
        fixed[i] = type_plain(24, aligns[i]);
        large[i] = type_plain(20000, aligns[i]);
    }
    int rounds = test_is_sanitized() ? 3000 : 30000;
    for (int round = 0; round < rounds; round++) {
        uint64_t i = rng_below(&rng, 5), align = aligns[i] == 0 ? 8 : aligns[i];
        uint64_t size = 24;
        uint32_t type = fixed[i];
        if (rng_one_in(&rng, 2)) {
            type = variable[i];
            size = rng_below(&rng, rng_one_in(&rng, 30) ? 30000 : 500);
        } else if (rng_one_in(&rng, 30)) {
            type = large[i];
            size = 20000;
        }
        void *payload;
        coex_handle h = coex_gc_alloc_at(size, type, &payload);
        expect(h != 0);
        expect_eq((uintptr_t)payload % align, 0);
        expect(is_all(payload, size, 0));
        expect_eq(coex_gc_size(h), size);
        memset(payload, 0xff, size); /* a neighbour that overlaps would not be zeroed */
    }
    coex_gc_shutdown();
}

/* ---- apart ------------------------------------------------------------------------------------------------ */

struct owner {
    uint32_t type;
    uint64_t seed;
};

/* Objects full of their owner's number, looked at again while others allocate and cycles run. */
static void keep_own_objects(unsigned index, void *arg)
{
    enum { KEPT = 300 };
    struct owner *owner = arg;
    test_rng rng = rng_from(owner->seed + index);
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(KEPT);
    int rounds = test_is_sanitized() ? 3000 : 60000;
    for (int round = 0; round < rounds; round++) {
        uint64_t at = rng_below(&rng, KEPT), size = rng_below(&rng, rng_one_in(&rng, 100) ? 20000 : 500);
        if (slots[at] != 0) expect(is_all(coex_gc_handle_deref(slots[at]), coex_gc_size(slots[at]), (unsigned char)(index + 1)));
        void *payload;
        slots[at] = coex_gc_alloc_at(size, owner->type, &payload);
        expect(slots[at] != 0);
        expect(is_all(payload, size, 0));
        memset(payload, (int)index + 1, size);
    }
    coex_gc_leave_frame(slots);
    coex_gc_unregister_thread();
}

TEST_TIMEOUT(objects_of_many_threads_never_overlap, 60)
{
    coex_gc_config config = default_config();
    config.initial_heap = 8 * MIB;
    start_with(&config);
    struct owner owner = {.type = type_bytes(), .seed = test_seed()};
    coex_gc_enter_native();
    run_threads(4, keep_own_objects, &owner);
    coex_gc_leave_native();
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_shutdown();
}
