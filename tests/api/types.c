/*
 * Types: what each kind keeps alive, registration beside allocation, and how many there can be.
 */
#include "support/objects.h"

#include <pthread.h>
#include <time.h>

/* ---- what is followed ------------------------------------------------------------------------------------- */

/* The handle in each word of the object is to an object of its own; after a cycle these are alive, and no others. */
static void expect_alive(uint32_t type, uint64_t size, const bool *reference)
{
    uint32_t pairs = type_pair();
    uint64_t words = size / 8;
    coex_handle *slots = coex_gc_enter_frame(1);
    coex_handle *child = calloc(words, sizeof *child);
    /* Children first: the object is complete at the next safepoint. */
    coex_handle *roots = coex_gc_enter_frame(words);
    for (uint64_t i = 0; i < words; i++) roots[i] = child[i] = new_pair(pairs, 0, i);
    coex_handle *fields;
    slots[0] = coex_gc_alloc_at(size, type, (void **)&fields);
    for (uint64_t i = 0; i < words; i++) fields[i] = child[i];
    coex_gc_leave_frame(roots);
    coex_gc_collect();
    for (uint64_t i = 0; i < words; i++) {
        if (coex_gc_is_handle(child[i]) != reference[i])
            test_fail(__FILE__, __LINE__, "word %" PRIu64 " of %" PRIu64 " is %s", i, words, reference[i] ? "lost" : "kept alive");
    }
    coex_gc_leave_frame(slots);
    free(child);
}

enum { WORDS = 1200 };

TEST(fixed_type_keeps_its_reference_fields_alive_and_nothing_else)
{
    start_quiet();
    static const uint32_t offsets[] = {0, 24, 40};
    static const bool reference[6] = {true, false, false, true, false, true};
    expect_alive(type_from(&(coex_gc_type){.name = "six", .size = 48, .ref_offsets = offsets, .ref_count = 3}), 48, reference);
    coex_gc_shutdown();
}

TEST(reference_fields_far_into_an_object_are_followed)
{
    start_quiet();
    static const uint32_t offsets[] = {8, 504, 512, 520, 4096, 8 * (WORDS - 1)};
    static bool reference[WORDS];
    for (int i = 0; i < 6; i++) reference[offsets[i] / 8] = true;
    expect_alive(type_from(&(coex_gc_type){.name = "far", .size = 8 * WORDS, .ref_offsets = offsets, .ref_count = 6}), 8 * WORDS,
                 reference);
    coex_gc_shutdown();
}

TEST(reference_field_past_the_end_of_a_variable_object_is_not_there)
{
    start_quiet();
    static const uint32_t offsets[] = {0, 16, 504, 1024};
    static bool reference[WORDS];
    reference[0] = reference[2] = reference[63] = reference[128] = true;
    uint32_t type = type_from(&(coex_gc_type){.name = "vary", .ref_offsets = offsets, .ref_count = 4});
    static const uint64_t words[] = {1, 2, 3, 4, 63, 64, 65, 128, 129, 200, WORDS};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) expect_alive(type, 8 * words[i], reference);
    ck_assert_uint_ne(coex_gc_alloc(0, type), 0);
    ck_assert_uint_ne(coex_gc_alloc(7, type), 0);
    coex_gc_collect();
    coex_gc_shutdown();
}

TEST(reference_array_is_followed_from_its_offset_to_its_end)
{
    start_quiet();
    static bool reference[WORDS * 3];
    for (int i = 3; i < WORDS * 3; i++) reference[i] = true;
    uint32_t variable = type_from(&(coex_gc_type){.name = "array", .flags = COEX_GC_REF_ARRAY, .array_offset = 24});
    uint32_t fixed = type_from(&(coex_gc_type){.name = "array", .size = 160, .flags = COEX_GC_REF_ARRAY, .array_offset = 24});
    expect_alive(fixed, 160, reference);
    static const uint64_t words[] = {1, 3, 4, 100, 1023, 1024, 1025, 3 * WORDS};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) expect_alive(variable, 8 * words[i], reference);
    /* Shorter than its own offset, and with odd bytes at the end. */
    ck_assert_uint_ne(coex_gc_alloc(8, variable), 0);
    ck_assert_uint_ne(coex_gc_alloc(31, variable), 0);
    coex_gc_collect();
    coex_gc_shutdown();
}

TEST(array_and_offsets_together_are_all_followed)
{
    start_quiet();
    static const uint32_t offsets[] = {8};
    static bool reference[40];
    reference[1] = true;
    for (int i = 4; i < 40; i++) reference[i] = true;
    uint32_t type = type_from(
        &(coex_gc_type){.name = "both", .flags = COEX_GC_REF_ARRAY, .array_offset = 32, .ref_offsets = offsets, .ref_count = 1});
    expect_alive(type, 320, reference);
    coex_gc_shutdown();
}

static void trace_every_third(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    const coex_handle *words = payload;
    for (uint64_t i = 0; i < size / 8; i += 3) coex_gc_visit(visitor, &words[i]);
}

TEST(trace_function_says_what_is_followed)
{
    start_quiet();
    static bool reference[WORDS];
    for (int i = 0; i < WORDS; i += 3) reference[i] = true;
    uint32_t fixed = type_from(&(coex_gc_type){.name = "traced", .size = 80, .trace = trace_every_third});
    uint32_t variable = type_from(&(coex_gc_type){.name = "traced", .trace = trace_every_third});
    expect_alive(fixed, 80, reference);
    for (uint64_t words = 1; words < WORDS; words = words * 3 + 1) expect_alive(variable, 8 * words, reference);
    coex_gc_shutdown();
}

TEST(type_without_references_keeps_nothing_alive)
{
    start_quiet();
    static const bool reference[WORDS];
    expect_alive(type_plain(0, 0), 80, reference);
    expect_alive(type_plain(800, 0), 800, reference);
    expect_alive(type_plain(0, 64), 8 * WORDS, reference);
    coex_gc_shutdown();
}

TEST(aligned_and_large_objects_are_followed_like_any_other)
{
    start_quiet();
    static const uint32_t offsets[] = {16};
    static bool reference[WORDS * 2];
    reference[2] = true;
    expect_alive(type_from(&(coex_gc_type){.name = "a", .size = 48, .ref_offsets = offsets, .ref_count = 1, .align = 64}), 48,
                 reference);
    expect_alive(type_from(&(coex_gc_type){.name = "b", .ref_offsets = offsets, .ref_count = 1, .align = 32}), 104, reference);
    expect_alive(type_from(&(coex_gc_type){.name = "c", .size = 16000, .ref_offsets = offsets, .ref_count = 1, .align = 16}), 16000,
                 reference);
    expect_alive(type_from(&(coex_gc_type){.name = "d", .ref_offsets = offsets, .ref_count = 1}), 16000, reference);
    coex_gc_shutdown();
}

/* ---- registration ----------------------------------------------------------------------------------------- */

TEST(descriptor_may_be_changed_and_freed_after_registration)
{
    start_quiet();
    char *name = strdup("passing");
    uint32_t *offsets = malloc(8);
    const char **names = malloc(16);
    char *field = strdup("left");
    offsets[0] = 0;
    offsets[1] = 16;
    names[0] = names[1] = field;
    coex_gc_type *descriptor = malloc(sizeof *descriptor);
    *descriptor = (coex_gc_type){.name = name, .size = 24, .ref_offsets = offsets, .ref_count = 2, .ref_names = names};
    uint32_t type = type_from(descriptor);
    memset(name, 'x', 7);
    offsets[0] = offsets[1] = 8;
    descriptor->size = 999;
    free(name);
    free(offsets);
    free(names);
    free(field);
    free(descriptor);
    static const bool reference[3] = {true, false, true};
    expect_alive(type, 24, reference);
    coex_gc_shutdown();
}

TEST(types_of_the_same_name_are_different_types)
{
    start_quiet();
    uint32_t one = type_plain(8, 0), two = type_plain(8, 0);
    ck_assert_uint_ne(one, two);
    ck_assert_uint_eq(coex_gc_type_of(coex_gc_alloc(8, one)), one);
    ck_assert_uint_eq(coex_gc_type_of(coex_gc_alloc(8, two)), two);
    coex_gc_shutdown();
}

struct registering {
    uint32_t pairs;
    uint32_t each;
    uint8_t *seen;
};

/* Odd threads register and use what they get at once; even ones allocate objects of a type that was there before. */
static void register_or_allocate(unsigned index, void *arg)
{
    struct registering *all = arg;
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(1);
    for (uint32_t i = 0; i < all->each; i++) {
        if (index % 2 == 0) {
            slots[0] = new_pair(all->pairs, slots[0], i);
            if (i % 100 == 0) slots[0] = 0;
            continue;
        }
        uint64_t size = 8 + (index * all->each + i) % 5000;
        uint32_t type = coex_gc_register_type(&(coex_gc_type){.name = "raced", .size = size, .flags = COEX_GC_MUTABLE});
        expect(type != 0 && type < COEX_GC_MAX_TYPES);
        expect_eq(__atomic_exchange_n(&all->seen[type], 1, __ATOMIC_RELAXED), 0);
        slots[0] = coex_gc_alloc(size, type);
        expect_eq(coex_gc_type_of(slots[0]), type);
        expect_eq(coex_gc_size(slots[0]), size);
    }
    coex_gc_leave_frame(slots);
    coex_gc_unregister_thread();
}

TEST_TIMEOUT(types_are_registered_by_many_threads_while_others_allocate, 60)
{
    coex_gc_config config = default_config();
    config.initial_heap = 2 * MIB;
    start_with(&config);
    struct registering all = {.pairs = type_pair(), .each = test_is_sanitized() ? 500 : 8000, .seen = calloc(COEX_GC_MAX_TYPES, 1)};
    coex_gc_enter_native();
    run_threads(6, register_or_allocate, &all);
    coex_gc_leave_native();
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_shutdown();
    free(all.seen);
}

static void *register_unregistered(void *type)
{
    *(uint32_t *)type = coex_gc_register_type(&(coex_gc_type){.name = "from outside", .size = 8});
    return NULL;
}

TEST(thread_that_is_not_registered_may_register_a_type)
{
    pthread_t thread;
    uint32_t type = 0;
    start_quiet();
    ck_assert_int_eq(pthread_create(&thread, NULL, register_unregistered, &type), 0);
    pthread_join(thread, NULL);
    ck_assert_uint_ne(type, 0);
    ck_assert_uint_ne(coex_gc_alloc(8, type), 0);
    coex_gc_shutdown();
}

TEST_TIMEOUT(a_million_types_fit_and_the_next_one_is_refused, 60)
{
    if (test_is_sanitized()) return; /* two pieces of memory each: too slow there */
    start_quiet();
    uint32_t first = type_plain(8, 0), last = first, type;
    while ((type = coex_gc_register_type(&(coex_gc_type){.name = "t", .size = 8 + last % 64})) != 0) {
        expect_eq(type, last + 1);
        last = type;
    }
    ck_assert_uint_eq(last, COEX_GC_MAX_TYPES - 1);
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ELIMIT);
    ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), "1048575 types"));
    /* The first and the last of them work. */
    ck_assert_uint_eq(coex_gc_type_of(coex_gc_alloc(8, first)), first);
    ck_assert_uint_eq(coex_gc_type_of(coex_gc_alloc(8 + (last - 1) % 64, last)), last);
    coex_gc_shutdown();
}
