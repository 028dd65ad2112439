/*
 * The table of types: what the fast path and the marker are given of a descriptor, the copy, and the end of the table.
 */
#include "support/test.h"

#include "gc/error.h"
#include "gc/heap/type.h"

#ifndef COEX_GC_SHAPE_FIXED
#define COEX_GC_SHAPE_FIXED(size) ((size) + 1)
#endif

static struct cx_types types;
static uint64_t shapes[COEX_GC_MAX_TYPES];

static void make(void) { ck_assert_int_eq(cx_types_init(&types, shapes), COEX_GC_OK); }

static uint32_t add(const coex_gc_type *descriptor)
{
    uint32_t id = cx_types_register(&types, descriptor);
    ck_assert_uint_ne(id, 0);
    return id;
}

TEST(shape_tells_the_fast_path_the_size_or_that_it_is_variable_or_not_its_business)
{
    static const struct {
        uint64_t size;
        uint32_t align;
        uint64_t shape;
    } rows[] = {
        {1, 0, COEX_GC_SHAPE_FIXED(1)},
        {16, 0, COEX_GC_SHAPE_FIXED(16)},
        {16, 8, COEX_GC_SHAPE_FIXED(16)},
        {16, 16, COEX_GC_SHAPE_SLOW},
        {0, 0, COEX_GC_SHAPE_VARIABLE},
        {0, 64, COEX_GC_SHAPE_SLOW},
        {COEX_GC_SMALL_MAX - 8, 0, COEX_GC_SHAPE_FIXED(COEX_GC_SMALL_MAX - 8)},
        {COEX_GC_SMALL_MAX - 7, 0, COEX_GC_SHAPE_SLOW},
        {(uint64_t)1 << 40, 0, COEX_GC_SHAPE_SLOW},
    };
    make();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t id = add(&(coex_gc_type){.name = "row", .size = rows[i].size, .align = rows[i].align});
        ck_assert_uint_eq(id, i + 1);
        ck_assert_uint_eq(shapes[id], rows[i].shape);
    }
    ck_assert_uint_eq(shapes[0], COEX_GC_SHAPE_UNKNOWN);
    ck_assert_uint_eq(shapes[sizeof rows / sizeof rows[0] + 1], COEX_GC_SHAPE_UNKNOWN);
    cx_types_fini(&types);
}

TEST(references_of_the_first_64_words_are_a_bitmap_and_the_others_a_list)
{
    static const uint32_t offsets[] = {0, 512, 8, 504, 4096, 256, 520};
    make();
    const struct cx_type *type =
        cx_type_at(&types, add(&(coex_gc_type){.name = "far", .size = 8000, .ref_offsets = offsets, .ref_count = 7}));
    ck_assert_uint_eq(type->ref_words, (uint64_t)1 | 2 | (uint64_t)1 << 32 | (uint64_t)1 << 63);
    ck_assert_uint_eq(type->far_count, 3);
    ck_assert_uint_eq(type->far_refs[0], 512);
    ck_assert_uint_eq(type->far_refs[1], 4096);
    ck_assert_uint_eq(type->far_refs[2], 520);
    cx_types_fini(&types);
}

TEST(descriptor_is_copied_with_all_it_points_to)
{
    char name[] = "copied", left[] = "left", right[] = "right";
    uint32_t offsets[] = {8, 24};
    const char *names[] = {left, right};
    int context;
    coex_gc_type descriptor = {.name = name,
                               .size = 32,
                               .ref_offsets = offsets,
                               .ref_count = 2,
                               .ref_names = names,
                               .flags = COEX_GC_MUTABLE,
                               .align = 32,
                               .finalize_context = &context};
    make();
    const struct cx_type *type = cx_type_at(&types, add(&descriptor));
    memset(name, 'x', 6);
    memset(left, 'x', 4);
    memset(right, 'x', 5);
    offsets[0] = offsets[1] = 16;
    names[0] = names[1] = NULL;
    memset(&descriptor, 0xee, sizeof descriptor);

    const coex_gc_type *copy = type->descriptor;
    ck_assert_str_eq(copy->name, "copied");
    ck_assert_uint_eq(copy->size, 32);
    ck_assert_uint_eq(copy->ref_offsets[0], 8);
    ck_assert_uint_eq(copy->ref_offsets[1], 24);
    ck_assert_str_eq(copy->ref_names[0], "left");
    ck_assert_str_eq(copy->ref_names[1], "right");
    ck_assert_uint_eq(copy->flags, COEX_GC_MUTABLE);
    ck_assert_ptr_eq(copy->finalize_context, &context);
    ck_assert_uint_eq(type->align, 32);
    ck_assert_uint_eq(type->ref_words, 2 | 8);
    cx_types_fini(&types);
}

TEST(ids_count_from_one_and_others_are_not_found)
{
    make();
    ck_assert_ptr_null(cx_type_find(&types, 1));
    for (uint32_t i = 1; i <= 1000; i++) ck_assert_uint_eq(add(&(coex_gc_type){.name = "t", .size = i}), i);
    for (uint32_t i = 1; i <= 1000; i++) {
        ck_assert_uint_eq(cx_type_find(&types, i)->id, i);
        ck_assert_uint_eq(cx_type_find(&types, i)->size, i);
    }
    ck_assert_ptr_null(cx_type_find(&types, 0));
    ck_assert_ptr_null(cx_type_find(&types, 1001));
    ck_assert_ptr_null(cx_type_find(&types, COEX_GC_MAX_TYPES));
    ck_assert_ptr_null(cx_type_find(&types, UINT32_MAX));
    cx_types_fini(&types);
}

TEST(full_table_refuses_the_next_type_and_keeps_the_others)
{
    make();
    size_t whole = types.range.reserved;
    types.range.reserved = cx_os_page_size(); /* as if the system had not given more */
    uint32_t fit = (uint32_t)(cx_os_page_size() / sizeof(struct cx_type)) - 1;
    for (uint32_t i = 1; i <= fit; i++) ck_assert_uint_eq(add(&(coex_gc_type){.name = "t", .size = i}), i);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(cx_types_register(&types, &(coex_gc_type){.name = "one more", .size = 8}), 0);
        ck_assert_int_eq(cx_error_code(), COEX_GC_ELIMIT);
    }
    ck_assert_uint_eq(cx_type_find(&types, fit)->size, fit);
    ck_assert_ptr_null(cx_type_find(&types, fit + 1));
    types.range.reserved = whole;
    ck_assert_uint_eq(add(&(coex_gc_type){.name = "fits now", .size = 8}), fit + 1);
    cx_types_fini(&types);
}
