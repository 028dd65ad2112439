/*
 * Each fast path exists twice: inline under its public name, and as the library's symbol (its address, or the name in
 * brackets). Both do the same. In checked builds the inline one is the symbol too.
 */
#include "support/objects.h"

struct paths {
    coex_handle (*alloc)(uint64_t size, uint32_t type);
    coex_handle (*alloc_at)(uint64_t size, uint32_t type, void **payload);
    void *(*deref)(coex_handle h);
    coex_handle (*load)(coex_handle object, uint64_t offset);
    void (*init_ref)(coex_handle fresh, uint64_t offset, coex_handle value);
    void (*store)(coex_handle object, uint64_t offset, coex_handle value);
    coex_handle *(*enter)(uint64_t slots);
    void (*leave)(coex_handle *slots);
    void (*root)(coex_handle value);
    void (*poll)(void);
};

static coex_handle inline_alloc(uint64_t size, uint32_t type) { return coex_gc_alloc(size, type); }
static coex_handle inline_alloc_at(uint64_t size, uint32_t type, void **payload) { return coex_gc_alloc_at(size, type, payload); }
static void *inline_deref(coex_handle h) { return coex_gc_handle_deref(h); }
static coex_handle inline_load(coex_handle object, uint64_t offset) { return coex_gc_load(object, offset); }
static void inline_init_ref(coex_handle fresh, uint64_t offset, coex_handle value) { coex_gc_init_ref(fresh, offset, value); }
static void inline_store(coex_handle object, uint64_t offset, coex_handle value) { coex_gc_store(object, offset, value); }
static coex_handle *inline_enter(uint64_t slots) { return coex_gc_enter_frame(slots); }
static void inline_leave(coex_handle *slots) { coex_gc_leave_frame(slots); }
static void inline_root(coex_handle value) { coex_gc_root(value); }
static void inline_poll(void) { coex_gc_safepoint(); }

static const struct paths inlined = {inline_alloc, inline_alloc_at, inline_deref, inline_load, inline_init_ref,
                                     inline_store, inline_enter,    inline_leave, inline_root, inline_poll};
/* A name without brackets behind it is the symbol: the macros take arguments. */
static const struct paths symbols = {coex_gc_alloc, coex_gc_alloc_at,    coex_gc_handle_deref, coex_gc_load, coex_gc_init_ref,
                                     coex_gc_store, coex_gc_enter_frame, coex_gc_leave_frame,  coex_gc_root, coex_gc_safepoint};

/* What one run of the scenario saw: words that must not depend on which path was taken. */
struct trail {
    uint64_t count;
    uint64_t word[200000];
};

static void note(struct trail *trail, uint64_t word)
{
    expect(trail->count < sizeof trail->word / sizeof trail->word[0]);
    trail->word[trail->count++] = word;
}

static uint64_t depth(void) { return (uint64_t)(uintptr_t)coex_gc_get_current_thread()->top; }

static void scenario(const struct paths *path, uint64_t seed, struct trail *trail)
{
    test_rng rng = rng_from(seed);
    coex_gc_config config = quiet_config();
    config.initial_handles = 4096;
    start_with(&config);
    uint32_t pairs = type_pair(), bytes = type_bytes(), refs = type_refs(), aligned = type_plain(48, 64),
             large = type_plain(10000, 0);
    uint64_t bottom = depth();
    uintptr_t first = 0;
    coex_handle *slots = path->enter(4);
    for (int i = 0; i < 3000; i++) {
        void *payload = NULL;
        coex_handle h = 0;
        uint64_t size = rng_below(&rng, 300);
        switch (rng_below(&rng, 6)) {
        case 0:
            h = path->alloc(sizeof(pair), pairs);
            break;
        case 1:
            h = path->alloc_at(sizeof(pair), pairs, &payload);
            break;
        case 2:
            h = path->alloc_at(size, bytes, &payload);
            break;
        case 3:
            h = path->alloc(48, aligned);
            break;
        case 4:
            h = rng_one_in(&rng, 20) ? path->alloc(10000, large) : path->alloc(size, bytes);
            break;
        default:
            h = path->alloc_at(size & ~(uint64_t)7, refs, &payload);
            break;
        }
        if (payload == NULL) payload = path->deref(h);
        expect_eq((uintptr_t)path->deref(h), (uintptr_t)payload);
        if (first == 0) first = (uintptr_t)payload;
        note(trail, h);
        /* Large objects lie in another range, whose distance is the system's choice. */
        if (coex_gc_size(h) < 8000) note(trail, (uintptr_t)payload - first);
        slots[0] = h;
        coex_handle *inner = path->enter(rng_below(&rng, 20));
        path->root(h);
        note(trail, depth() - bottom);
        coex_handle array = path->alloc(16, refs);
        path->init_ref(array, 0, h);
        path->store(array, 8, h);
        expect_eq(path->load(array, 0), h);
        expect_eq(path->load(array, 8), h);
        slots[1] = array;
        path->poll();
        path->leave(inner);
        note(trail, depth() - bottom);
    }
    path->leave(slots);
    expect_eq(depth(), bottom);
    expect_eq((uintptr_t)path->deref(0), 0);
    note(trail, stats_now().total_allocations);
    note(trail, stats_now().total_bytes_allocated);
    coex_gc_shutdown();
}

TEST(inline_and_library_symbols_do_the_same)
{
    uint64_t seed = test_seed();
    static struct trail one, two;
    scenario(&inlined, seed, &one);
    scenario(&symbols, seed, &two);
    ck_assert_uint_eq(one.count, two.count);
    for (uint64_t i = 0; i < one.count; i++) expect_eq(one.word[i], two.word[i]);
}

TEST(both_forms_may_be_mixed)
{
    start_quiet();
    uint32_t pairs = type_pair();
    coex_handle *slots = (coex_gc_enter_frame)(1);
    for (uint64_t i = 0; i < 1000; i++) {
        coex_handle even = (coex_gc_alloc)(sizeof(pair), pairs);
        (coex_gc_init_ref)(even, 0, slots[0]);
        slots[0] = even;
        coex_handle odd = coex_gc_alloc(sizeof(pair), pairs);
        coex_gc_init_ref(odd, 0, slots[0]);
        slots[0] = odd;
        ck_assert_ptr_eq((coex_gc_handle_deref)(odd), coex_gc_handle_deref(odd));
    }
    uint64_t length = 0;
    for (coex_handle h = slots[0]; h != 0; h = (coex_gc_load)(h, 0)) length++;
    ck_assert_uint_eq(length, 2000);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* A thread that is not registered, and a runtime that is not up, have words that lead to the slow path. */
TEST(words_of_a_thread_that_is_not_registered_send_it_to_the_slow_path)
{
    ck_assert_ptr_null(coex_gc_get_current_thread());
    ck_assert_uint_eq(coex_gc_self->handle_bits, 0);
    ck_assert_ptr_null(coex_gc_self->limit);
    start_quiet();
    ck_assert_ptr_eq(coex_gc_self, coex_gc_get_current_thread());
    ck_assert_ptr_eq(coex_gc_self->table, coex_gc_table);
    coex_gc_unregister_thread();
    ck_assert_uint_eq(coex_gc_self->handle_bits, 0);
    ck_assert_ptr_null(coex_gc_self->limit);
    coex_gc_shutdown();
    ck_assert_ptr_null(coex_gc_table);
}

TEST(fast_allocation_writes_the_header_that_the_abi_says)
{
    start_quiet();
    uint32_t pairs = type_pair(), bytes = type_bytes();
    for (int i = 0; i < 200; i++) {
        uint64_t *fixed, *variable;
        coex_handle a = coex_gc_alloc_at(sizeof(pair), pairs, (void **)&fixed);
        coex_handle b = coex_gc_alloc_at(21, bytes, (void **)&variable);
        ck_assert_uint_eq(fixed[-1], a | (uint64_t)pairs << COEX_GC_TYPE_SHIFT);
        ck_assert_uint_eq(variable[-1], b | (uint64_t)bytes << COEX_GC_TYPE_SHIFT);
        ck_assert_uint_eq(variable[-2], 21);
        ck_assert_ptr_eq(coex_gc_table[a], fixed);
        ck_assert_ptr_eq(coex_gc_table[b], variable);
    }
    ck_assert_uint_ne(COEX_GC_SHAPE(coex_gc_table, pairs), COEX_GC_SHAPE_UNKNOWN);
    ck_assert_uint_eq(COEX_GC_SHAPE(coex_gc_table, bytes), COEX_GC_SHAPE_VARIABLE);
    ck_assert_uint_eq(COEX_GC_SHAPE(coex_gc_table, 0), COEX_GC_SHAPE_UNKNOWN);
    ck_assert_uint_eq(COEX_GC_SHAPE(coex_gc_table, bytes + 1), COEX_GC_SHAPE_UNKNOWN);
    coex_gc_shutdown();
}
