/*
 * barriers=1: references that were written without a barrier are found (in checked builds; others do not have it).
 */
#include "support/objects.h"

static uint32_t cell_type, pair_type;

static coex_handle *begin(void)
{
    coex_gc_config config = default_config();
    config.barriers = true;
    start_with(&config);
    static const uint32_t refs[] = {0, 16};
    cell_type =
        type_from(&(coex_gc_type){.name = "cell", .size = 24, .ref_offsets = refs, .ref_count = 2, .flags = COEX_GC_MUTABLE});
    pair_type = type_pair();
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = coex_gc_alloc(24, cell_type);
    slots[1] = new_pair(pair_type, 0, 1);
    slots[2] = new_pair(pair_type, 0, 2);
    return slots;
}

static coex_handle *field(coex_handle object, uint64_t offset)
{
    return (coex_handle *)(void *)((char *)coex_gc_handle_deref(object) + offset);
}

static void a_plain_store_into_a_mutable_object(void *unused)
{
    (void)unused;
    coex_handle *slots = begin();
    coex_gc_collect();
    *field(slots[0], 16) = slots[1];
    coex_gc_collect();
}

TEST(a_plain_store_into_a_mutable_object_is_reported)
{
    if (test_is_checked()) expect_abort(a_plain_store_into_a_mutable_object, NULL, "(type cell) went from 0 to ");
}

static void a_reference_that_is_wiped_out(void *unused)
{
    (void)unused;
    coex_handle *slots = begin();
    coex_gc_store(slots[0], 0, slots[1]);
    coex_gc_collect();
    *field(slots[0], 0) = 0;
    coex_gc_collect();
}

TEST(a_reference_that_is_wiped_out_is_reported)
{
    if (test_is_checked()) expect_abort(a_reference_that_is_wiped_out, NULL, "at offset 0 of handle");
}

static void a_reference_that_is_replaced(void *unused)
{
    (void)unused;
    coex_handle *slots = begin();
    coex_gc_store(slots[0], 16, slots[1]);
    coex_gc_collect();
    *field(slots[0], 16) = slots[2];
    coex_gc_collect();
}

TEST(a_reference_that_is_replaced_is_reported)
{
    if (test_is_checked()) expect_abort(a_reference_that_is_replaced, NULL, "without coex_gc_store");
}

static void an_immutable_object_that_changes_late(void *unused)
{
    (void)unused;
    coex_handle *slots = begin();
    coex_gc_collect();
    *field(slots[1], 0) = slots[2];
    coex_gc_collect();
}

TEST(an_immutable_object_that_changes_late_is_reported)
{
    if (test_is_checked())
        expect_abort(an_immutable_object_that_changes_late, NULL, "after the object was complete: its type is not MUTABLE");
}

TEST(barriered_stores_are_no_fault)
{
    if (!test_is_checked()) return;
    coex_handle *slots = begin();
    for (int i = 0; i < 50; i++) {
        coex_gc_store(slots[0], 0, slots[1 + i % 2]);
        if (i % 3 == 0) coex_gc_collect();
        coex_gc_exchange(slots[0], 16, i % 5 == 0 ? 0 : slots[2]);
        coex_handle expected = i % 2 == 0 ? slots[1] : slots[2];
        coex_gc_compare_exchange(slots[0], 16, &expected, slots[1]);
        coex_gc_store(slots[0], 0, i % 7 == 0 ? COEX_IMMEDIATE(5) : slots[2]);
        if (i % 4 == 0) coex_gc_collect();
    }
    coex_gc_shutdown();
}

TEST(a_handle_that_comes_back_has_no_note_of_its_last_life)
{
    if (!test_is_checked()) return;
    coex_handle *slots = begin();
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 2000; i++) {
            slots[0] = coex_gc_alloc(24, cell_type);
            coex_gc_init_ref(slots[0], 0, slots[1 + i % 2]);
        }
        coex_gc_collect();
    }
    coex_gc_shutdown();
}

TEST(other_builds_refuse_the_option)
{
    coex_gc_config config = default_config();
    config.barriers = true;
    ck_assert_int_eq(coex_gc_init_with(&config), test_is_checked() ? COEX_GC_OK : COEX_GC_EINVAL);
    coex_gc_shutdown();
}
