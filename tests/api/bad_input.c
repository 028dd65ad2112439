/*
 * Sizes and types that make no sense, and the documented answer to each: a null handle with a code, or one line and abort.
 */
#include "support/objects.h"

static unsigned asked;

static bool refuse(uint64_t size, void *context)
{
    (void)size;
    (void)context;
    asked++;
    return false;
}

/* ---- sizes ------------------------------------------------------------------------------------------------ */

static const uint64_t absurd[] = {
    (uint64_t)1 << 46, (uint64_t)1 << 47, (uint64_t)1 << 48, ((uint64_t)1 << 63) - 1, (uint64_t)1 << 63, (uint64_t)1 << 63 | 16,
    UINT64_MAX - 16,   UINT64_MAX - 15,   UINT64_MAX - 8,    UINT64_MAX - 7,          UINT64_MAX,
};

TEST(absurd_sizes_of_a_variable_type_give_null_and_enomem)
{
    coex_gc_config config = quiet_config();
    config.out_of_memory = refuse;
    start_with(&config);
    uint32_t plain = type_bytes(), refs = type_refs(), aligned = type_plain(0, 64);
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_gc_alloc(100, plain); /* the fast path has all it needs */
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        const uint32_t types[] = {plain, refs, aligned};
        for (int k = 0; k < 3; k++) {
            void *payload = &config;
            ck_assert_uint_eq(coex_gc_alloc_at(absurd[i], types[k], &payload), 0);
            ck_assert_ptr_null(payload);
            ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ENOMEM);
            ck_assert_uint_eq(coex_gc_alloc(absurd[i], types[k]), 0);
            ck_assert_uint_eq((coex_gc_alloc)(absurd[i], types[k]), 0);
        }
    }
    ck_assert_uint_eq(coex_gc_size(slots[0]), 100);
    ck_assert_uint_ne(coex_gc_alloc(0, plain), 0);
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_shutdown();
}

TEST(size_past_memory_and_below_absurd_asks_the_handler_and_gives_null)
{
    if (test_is_sanitized()) return;
    coex_gc_config config = quiet_config();
    config.out_of_memory = refuse;
    start_with(&config);
    uint32_t bytes = type_bytes();
    ck_assert_uint_eq(coex_gc_alloc((uint64_t)1 << 45, bytes), 0);
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ENOMEM);
    ck_assert_uint_eq(asked, 1);
    ck_assert_uint_eq(stats_now().hard_limit_waits, 1);
    ck_assert_uint_ne(coex_gc_alloc(MIB, bytes), 0);
    coex_gc_shutdown();
}

TEST(with_a_heap_limit_absurd_sizes_give_elimit)
{
    coex_gc_config config = default_config();
    config.heap_limit = 8 * MIB;
    start_with(&config);
    uint32_t bytes = type_bytes();
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        ck_assert_uint_eq(coex_gc_alloc(absurd[i], bytes), 0);
        ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ELIMIT);
    }
    coex_gc_shutdown();
}

/* ---- what ends in one line -------------------------------------------------------------------------------- */

struct call {
    uint64_t size;
    uint32_t type; /* 0: the pair type + more */
    uint32_t more;
    bool prepared; /* with an allocation before it, so that the fast path has handles and a hole */
    bool at;
};

static void allocate_badly(void *arg)
{
    const struct call *call = arg;
    void *payload;
    start_quiet();
    uint32_t pairs = type_pair();
    if (call->prepared && coex_gc_alloc(sizeof(pair), pairs) == 0) return;
    uint32_t type = call->more != 0 ? pairs + call->more - 1 : call->type;
    if (call->at)
        coex_gc_alloc_at(call->size, type, &payload);
    else
        coex_gc_alloc(call->size, type);
}

TEST(size_that_is_not_the_types_is_reported)
{
    static const uint64_t sizes[] = {
        0,         1, 15, 17, 24, 8192, (uint64_t)1 << 48, (uint64_t)1 << 63, ((uint64_t)1 << 63) + 16, ((uint64_t)1 << 63) - 1,
        UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int prepared = 0; prepared < 2; prepared++) {
            struct call call = {.size = sizes[i], .more = 1, .prepared = prepared != 0, .at = i % 2 == 0};
            expect_abort(allocate_badly, &call, "type 'pair' has a fixed size of 16 bytes");
        }
    }
}

TEST(type_that_does_not_exist_is_reported_whatever_the_size)
{
    static const uint32_t types[] = {0,
                                     999,
                                     65536,
                                     COEX_GC_MAX_TYPES - 1,
                                     COEX_GC_MAX_TYPES,
                                     COEX_GC_MAX_TYPES + 1,
                                     COEX_GC_MAX_TYPES + 64,
                                     COEX_GC_MAX_TYPES * 2,
                                     UINT32_MAX};
    static const uint64_t sizes[] = {0, 16, UINT64_MAX};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            for (int prepared = 0; prepared < 2; prepared++) {
                struct call call = {.size = sizes[k], .type = types[i], .prepared = prepared != 0, .at = k % 2 == 0};
                char line[40];
                snprintf(line, sizeof line, "type id %" PRIu32 " is not registered", types[i]);
                expect_abort(allocate_badly, &call, line);
            }
        }
    }
    struct call call = {.size = 16, .more = 2, .prepared = true}; /* the first id that nobody has */
    expect_abort(allocate_badly, &call, "coex_gc_alloc: type id ");
}
