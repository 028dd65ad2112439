/*
 * What can be asked of an object, and of a word that is none; immediates.
 */
#include "support/objects.h"

TEST(object_info_tells_size_type_flags_and_forward)
{
    start_quiet();
    uint32_t pairs = type_pair(), bytes = type_bytes(), refs = type_refs();
    coex_handle *slots = coex_gc_enter_frame(4);
    slots[0] = coex_gc_alloc(sizeof(pair), pairs);
    slots[1] = coex_gc_alloc(13, bytes);
    slots[2] = coex_gc_alloc(80, refs);
    slots[3] = coex_gc_alloc(100000, bytes);
    const struct {
        uint64_t size, payload;
        uint32_t type, flags;
    } rows[4] = {
        {8 + 16, 16, pairs, 0},
        {16 + 16, 13, bytes, 0},
        {16 + 80, 80, refs, COEX_GC_OBJECT_MUTABLE},
        {16 + 100000, 100000, bytes, COEX_GC_OBJECT_LARGE},
    };
    for (int i = 0; i < 4; i++) {
        coex_gc_object info;
        memset(&info, 0xff, sizeof info);
        ck_assert(coex_gc_object_info(slots[i], &info));
        ck_assert_uint_eq(info.size, rows[i].size);
        ck_assert_uint_eq(info.payload_size, rows[i].payload);
        ck_assert_uint_eq(info.type_id, rows[i].type);
        ck_assert_uint_eq(info.flags, rows[i].flags);
        ck_assert_uint_eq(info.forward, 0);
        ck_assert_ptr_eq(info.address, coex_gc_handle_deref(slots[i]));
        ck_assert_uint_eq(coex_gc_size(slots[i]), rows[i].payload);
        ck_assert_uint_eq(coex_gc_type_of(slots[i]), rows[i].type);
        ck_assert(coex_gc_is_handle(slots[i]));
    }
    coex_gc_shutdown();
}

TEST(object_that_survived_a_cycle_is_marked)
{
    start_quiet();
    coex_gc_object info;
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_gc_alloc(sizeof(pair), type_pair());
    ck_assert(coex_gc_object_info(slots[0], &info));
    ck_assert_uint_eq(info.flags & COEX_GC_OBJECT_MARKED, 0);
    coex_gc_collect();
    ck_assert(coex_gc_object_info(slots[0], &info));
    ck_assert_uint_eq(info.flags & COEX_GC_OBJECT_MARKED, COEX_GC_OBJECT_MARKED);
    coex_gc_shutdown();
}

TEST(empty_objects_are_objects)
{
    start_quiet();
    uint32_t bytes = type_bytes(), refs = type_refs();
    void *first, *second;
    coex_handle a = coex_gc_alloc_at(0, bytes, &first), b = coex_gc_alloc_at(0, refs, &second);
    ck_assert(a != 0 && b != 0 && a != b);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_ne(first, second);
    ck_assert_uint_eq(coex_gc_size(a), 0);
    ck_assert_uint_eq(coex_gc_type_of(b), refs);
    ck_assert(coex_gc_is_handle(a));
    coex_gc_shutdown();
}

TEST(null_is_no_object_and_asking_it_does_no_harm)
{
    start_quiet();
    coex_gc_object info;
    memset(&info, 0xff, sizeof info);
    ck_assert_uint_eq(coex_gc_size(0), 0);
    ck_assert_uint_eq(coex_gc_type_of(0), 0);
    ck_assert_ptr_null(coex_gc_handle_deref(0));
    ck_assert(!coex_gc_is_handle(0));
    ck_assert(!coex_gc_object_info(0, &info));
    ck_assert_uint_eq(info.size, 0);
    ck_assert_ptr_null(info.address);
    coex_gc_shutdown();
}

static const uint64_t made_up[] = {
    63,
    1048575,
    1048576,
    UINT32_MAX,
    (uint64_t)1 << 36,
    ((uint64_t)1 << 36) + 1,
    (uint64_t)1 << 48,
    COEX_IMMEDIATE_BIT,
    COEX_IMMEDIATE_BIT | 1,
    (uint64_t)1 << 63,
    (uint64_t)1 << 63 | 1,
    UINT64_MAX,
};

TEST(made_up_words_name_no_object)
{
    start_quiet();
    coex_handle h = coex_gc_alloc(sizeof(pair), type_pair());
    ck_assert_uint_eq(h, 1);
    for (size_t i = 0; i < sizeof made_up / sizeof made_up[0]; i++) {
        coex_gc_object info;
        ck_assert(!coex_gc_is_handle(made_up[i]));
        ck_assert(!coex_gc_object_info(made_up[i], &info));
    }
    ck_assert(coex_gc_is_handle(h));
    coex_gc_shutdown();
}

TEST(handle_that_names_no_object_derefs_to_null)
{
    if (test_is_checked()) return; /* it is reported there */
    start_quiet();
    ck_assert_uint_eq(coex_gc_alloc(sizeof(pair), type_pair()), 1);
    static const coex_handle handles[] = {2, 63, 64, 1048575, 1048576, 1 << 26, UINT32_MAX};
    for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++) {
        ck_assert_ptr_null(coex_gc_handle_deref(handles[i]));
        ck_assert_ptr_null((coex_gc_handle_deref)(handles[i]));
    }
    coex_gc_shutdown();
}

TEST(dead_handle_names_no_object_any_more)
{
    start_quiet();
    uint32_t pairs = type_pair(), bytes = type_bytes();
    coex_handle small = coex_gc_alloc(sizeof(pair), pairs), large = coex_gc_alloc(50000, bytes);
    ck_assert(coex_gc_is_handle(small) && coex_gc_is_handle(large));
    coex_gc_collect();
    coex_gc_object info;
    ck_assert(!coex_gc_is_handle(small) && !coex_gc_is_handle(large));
    ck_assert(!coex_gc_object_info(small, &info));
    ck_assert(!coex_gc_object_info(large, &info));
    coex_gc_shutdown();
}

/* ---- fields ----------------------------------------------------------------------------------------------- */

TEST(fields_hold_what_was_stored_exchanged_and_compared)
{
    start_quiet();
    uint32_t pairs = type_pair(), refs = type_refs();
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = coex_gc_alloc(4 * 8, refs);
    slots[1] = new_pair(pairs, 0, 1);
    slots[2] = new_pair(pairs, slots[1], 2);
    ck_assert_uint_eq(coex_gc_load(slots[2], offsetof(pair, next)), slots[1]);
    coex_gc_init_ref(slots[0], 0, slots[1]);
    coex_gc_store(slots[0], 8, slots[2]);
    ck_assert_uint_eq(coex_gc_load(slots[0], 0), slots[1]);
    ck_assert_uint_eq(coex_gc_load(slots[0], 8), slots[2]);
    ck_assert_uint_eq(coex_gc_load(slots[0], 24), 0);
    ck_assert_uint_eq(coex_gc_exchange(slots[0], 8, slots[1]), slots[2]);
    ck_assert_uint_eq(coex_gc_load(slots[0], 8), slots[1]);
    coex_handle expected = slots[2];
    ck_assert(!coex_gc_compare_exchange(slots[0], 8, &expected, 0));
    ck_assert_uint_eq(expected, slots[1]);
    ck_assert(coex_gc_compare_exchange(slots[0], 8, &expected, 0));
    ck_assert_uint_eq(coex_gc_load(slots[0], 8), 0);
    coex_gc_store(slots[0], 24, 0);
    coex_gc_shutdown();
}

/* ---- immediates ------------------------------------------------------------------------------------------- */

TEST(immediates_keep_62_bits)
{
    static const uint64_t bits[] = {0, 1, 42, UINT32_MAX, ((uint64_t)1 << 62) - 1};
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++) {
        uint64_t word = COEX_IMMEDIATE(bits[i]);
        ck_assert(coex_is_immediate(word));
        ck_assert_uint_eq(coex_immediate_bits(word), bits[i]);
        ck_assert_uint_eq(word >> 63, 0);
    }
    ck_assert_uint_eq(COEX_IMMEDIATE(UINT64_MAX), COEX_IMMEDIATE(((uint64_t)1 << 62) - 1));
    ck_assert(!coex_is_immediate(0));
    ck_assert(!coex_is_immediate(12345));
}

TEST(immediates_may_stand_wherever_a_reference_may)
{
    start_quiet();
    uint32_t pairs = type_pair(), refs = type_refs();
    coex_handle local = COEX_IMMEDIATE(1), *locals[] = {&local};
    coex_handle *slots = coex_gc_enter_frame(3);
    static coex_handle global = COEX_IMMEDIATE(2);
    ck_assert_int_eq(coex_gc_add_global_root(&global), 0);
    slots[0] = COEX_IMMEDIATE(3);
    slots[1] = coex_gc_alloc(64, refs);
    for (uint64_t i = 0; i < 8; i++) coex_gc_store(slots[1], 8 * i, COEX_IMMEDIATE(i + 10));
    slots[2] = new_pair(pairs, COEX_IMMEDIATE(5), 0);
    coex_gc_frame *frame = coex_gc_push_frame(1, locals);
    coex_gc_root(COEX_IMMEDIATE(6));
    coex_gc_set_slot(&slots[0], COEX_IMMEDIATE(4));
    coex_gc_set_root(locals, 0, COEX_IMMEDIATE(7));
    coex_gc_collect();
    ck_assert_uint_eq(stats_now().objects_marked_last_cycle, 2);
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_pop_frame(frame);
    ck_assert_uint_eq(local, COEX_IMMEDIATE(7));
    ck_assert_uint_eq(slots[0], COEX_IMMEDIATE(4));
    ck_assert_uint_eq(coex_gc_load(slots[2], 0), COEX_IMMEDIATE(5));
    ck_assert_uint_eq(coex_gc_exchange(slots[1], 0, COEX_IMMEDIATE(20)), COEX_IMMEDIATE(10));
    coex_handle expected = COEX_IMMEDIATE(20);
    ck_assert(coex_gc_compare_exchange(slots[1], 0, &expected, COEX_IMMEDIATE(21)));
    for (uint64_t i = 1; i < 8; i++) ck_assert_uint_eq(coex_gc_load(slots[1], 8 * i), COEX_IMMEDIATE(i + 10));
    ck_assert_uint_eq(coex_gc_global_load(&global), COEX_IMMEDIATE(2));
    coex_gc_global_store(&global, COEX_IMMEDIATE(9));
    ck_assert_uint_eq(coex_gc_global_load(&global), COEX_IMMEDIATE(9));
    coex_gc_remove_global_root(&global);
    coex_gc_shutdown();
}
