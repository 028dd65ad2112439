/*
 * Bad descriptors: each is refused with ETYPE and a reason in words, and does not use up an id.
 */
#include "support/objects.h"

static const uint32_t at_0[] = {0}, at_8[] = {8}, at_9[] = {9}, at_0_4[] = {0, 4}, at_0_24[] = {0, 24};
static const char *const one_name[] = {"left"}, *const no_name[] = {"left", NULL};

static void no_trace(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    (void)payload;
    (void)size;
    (void)visitor;
}

static const struct refusal {
    coex_gc_type type;
    const char *reason;
} refusals[] = {
    {{.name = NULL, .size = 8}, "`name` must not be NULL or empty"},
    {{.name = "", .size = 8}, "`name` must not be NULL or empty"},
    {{.name = "t", .size = ((uint64_t)1 << 46) + 1}, "`size` exceeds the address space"},
    {{.name = "t", .size = (uint64_t)1 << 48}, "`size` exceeds the address space"},
    {{.name = "t", .size = (uint64_t)1 << 63}, "`size` exceeds the address space"},
    {{.name = "t", .size = UINT64_MAX}, "`size` exceeds the address space"},
    {{.name = "t", .size = 8, .flags = 4}, "`flags` has unknown flags"},
    {{.name = "t", .size = 8, .flags = UINT32_MAX}, "`flags` has unknown flags"},
    {{.name = "t", .size = 8, .align = 1}, "`align` must be 0, 8, 16, 32 or 64"},
    {{.name = "t", .size = 8, .align = 4}, "`align` must be 0, 8, 16, 32 or 64"},
    {{.name = "t", .size = 8, .align = 24}, "`align` must be 0, 8, 16, 32 or 64"},
    {{.name = "t", .size = 8, .align = 128}, "`align` must be 0, 8, 16, 32 or 64"},
    {{.name = "t", .size = 8, .align = UINT32_MAX}, "`align` must be 0, 8, 16, 32 or 64"},
    {{.name = "t", .size = 16, .ref_offsets = at_0, .ref_count = 1, .trace = no_trace},
     "a type with `trace` must not have `ref_offsets` or COEX_GC_REF_ARRAY"},
    {{.name = "t", .flags = COEX_GC_REF_ARRAY, .trace = no_trace},
     "a type with `trace` must not have `ref_offsets` or COEX_GC_REF_ARRAY"},
    {{.name = "t", .size = 16, .ref_count = 1},
     "`ref_offsets` must not be NULL if `ref_count` is not 0"},
    {{.name = "t", .size = 16, .ref_names = one_name},
     "`ref_names` must be NULL if `ref_count` is 0"},
    {{.name = "t", .flags = COEX_GC_REF_ARRAY, .array_offset = 4},
     "`array_offset` must be a multiple of 8"},
    {{.name = "t", .size = 16, .flags = COEX_GC_REF_ARRAY, .array_offset = 24},
     "`array_offset` must not exceed `size`"},
    {{.name = "t", .size = 16, .ref_offsets = at_9, .ref_count = 1},
     "each of `ref_offsets` must be a multiple of 8"},
    {{.name = "t", .size = 16, .ref_offsets = at_0_4, .ref_count = 2},
     "each of `ref_offsets` must be a multiple of 8"},
    {{.name = "t", .ref_offsets = at_9, .ref_count = 1},
     "each of `ref_offsets` must be a multiple of 8"},
    {{.name = "t", .size = 8, .ref_offsets = at_8, .ref_count = 1},
     "each of `ref_offsets` must lie inside `size`"},
    {{.name = "t", .size = 15, .ref_offsets = at_8, .ref_count = 1},
     "each of `ref_offsets` must lie inside `size`"},
    {{.name = "t", .size = 24, .ref_offsets = at_0_24, .ref_count = 2},
     "each of `ref_offsets` must lie inside `size`"},
    {{.name = "t", .size = 32, .ref_offsets = at_0_24, .ref_count = 2, .ref_names = no_name},
     "each of `ref_names` must not be NULL"},
};

TEST(every_fault_of_a_descriptor_is_refused_with_its_reason)
{
    start_quiet();
    uint32_t before = type_plain(8, 0);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        uint32_t type = coex_gc_register_type(&refusals[i].type);
        if (type != 0) test_fail(__FILE__, __LINE__, "row %zu (%s) is accepted", i, refusals[i].reason);
        ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ETYPE);
        if (strstr(coex_gc_error_detail(), refusals[i].reason) == NULL)
            test_fail(__FILE__, __LINE__, "row %zu says \"%s\", not \"%s\"", i, coex_gc_error_detail(), refusals[i].reason);
    }
    ck_assert_uint_eq(type_plain(8, 0), before + 1);
    coex_gc_shutdown();
}

TEST(null_descriptor_is_refused)
{
    start_quiet();
    ck_assert_uint_eq(coex_gc_register_type(NULL), 0);
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ETYPE);
    coex_gc_shutdown();
}

TEST(refusal_names_the_type)
{
    start_quiet();
    ck_assert_uint_eq(coex_gc_register_type(&(coex_gc_type){.name = "basket", .size = 8, .align = 3}), 0);
    ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), "'basket'"));
    coex_gc_shutdown();
}

TEST(what_is_just_good_enough_is_accepted)
{
    static const coex_gc_type good[] = {
        {.name = "t", .size = 1},
        {.name = "t", .size = (uint64_t)1 << 46},
        {.name = "t", .size = 16, .ref_offsets = at_8, .ref_count = 1, .ref_names = one_name},
        {.name = "t", .size = 16, .flags = COEX_GC_REF_ARRAY, .array_offset = 16},
        {.name = "t", .ref_offsets = at_0_24, .ref_count = 2},
        {.name = "t", .size = 8, .align = 8, .trace = no_trace},
        {.name = "t", .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY, .array_offset = 4096, .align = 64},
        {.name = "t", .size = 16, .array_offset = 5}, /* means nothing without REF_ARRAY */
    };
    start_quiet();
    uint32_t before = type_plain(8, 0);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) ck_assert_uint_eq(coex_gc_register_type(&good[i]), ++before);
    coex_gc_shutdown();
}
