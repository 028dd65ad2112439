/*
 * Bounded work: whatever the size of an object, a list or a table, a cycle goes on in slices.
 *
 * Without a GC thread, coex_gc_step(0) does exactly one slice. So these tests count slices: a cycle over something large must take
 * more of them than a cycle over nothing, in proportion to its size. (What a slice may do is in src/gc/budget.h: 16,384 units, each
 * of them a word read in order. Checked builds end a slice that does more.)
 */
#include "support/borders.h"

enum { SLICE_WORDS = 20000 }; /* words that are read in one slice: no more than these */

static uint32_t refs, bytes;

/* Neither verified nor poisoned: those have no budget, or need more slices. */
static void start_bounds(void)
{
    coex_gc_config config = quiet_config();
    config.gc_threads = 0;
    config.initial_heap = 4 * GIB;
    start_with(&config);
    refs = type_refs();
    bytes = type_bytes();
}

/* Slices of one whole cycle. */
static unsigned slices_of_cycle(void)
{
    unsigned slices = 1;
    coex_gc_async();
    while (!coex_gc_step(0)) slices++;
    return slices;
}

/* This cycle must take so many slices more than one over nothing. */
static void expect_slices_more(unsigned idle, uint64_t more)
{
    unsigned slices = slices_of_cycle();
    printf("%u slices, %u over nothing, at least %" PRIu64 " more expected\n", slices, idle, more);
    ck_assert_uint_ge(slices, idle + more);
}

/* ---- objects ------------------------------------------------------------------------------------------------- */

static void expect_array_in_slices(coex_handle filling)
{
    enum { ELEMENTS = 1 << 21 };
    void *payload;
    start_bounds();
    unsigned idle = slices_of_cycle();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_gc_alloc_at(ELEMENTS * sizeof(coex_handle), refs, &payload);
    expect(slots[0] != 0);
    coex_handle *element = payload;
    for (unsigned i = 0; i < ELEMENTS && filling != 0; i++) element[i] = filling;
    expect_slices_more(idle, ELEMENTS / SLICE_WORDS);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(an_array_of_nulls_is_read_in_slices) { expect_array_in_slices(0); }

TEST(an_array_of_immediates_is_read_in_slices) { expect_array_in_slices(COEX_IMMEDIATE(42)); }

/* One field in 512 bytes is enough to be far from the start. */
TEST(an_object_with_many_far_references_is_read_in_slices)
{
    enum { FIELDS = 1 << 18 };
    static uint32_t offset[FIELDS];
    for (uint32_t i = 0; i < FIELDS; i++) offset[i] = 512 + i * 8;
    start_bounds();
    uint32_t type = type_from(&(coex_gc_type){
        .name = "wide", .size = 512 + FIELDS * 8, .flags = COEX_GC_MUTABLE, .ref_offsets = offset, .ref_count = FIELDS});
    unsigned idle = slices_of_cycle();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = coex_gc_alloc(512 + FIELDS * 8, type);
    slots[1] = coex_gc_alloc(8, bytes);
    coex_gc_store(slots[0], 512 + (FIELDS - 1) * 8, slots[1]);
    slots[1] = 0;
    expect_slices_more(idle, FIELDS / SLICE_WORDS);
    ck_assert(coex_gc_is_handle(coex_gc_load(slots[0], 512 + (FIELDS - 1) * 8)));
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

static void visit_all(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    const coex_handle *field = payload;
    for (uint64_t i = 0; i < size / 8; i++) coex_gc_visit(visitor, &field[i]);
}

TEST(one_call_of_a_trace_function_is_the_largest_piece)
{
    enum { OBJECTS = 200, FIELDS = 10000 };
    start_bounds();
    uint32_t type = type_from(&(coex_gc_type){.name = "traced", .trace = visit_all});
    unsigned idle = slices_of_cycle();
    coex_handle *slots = coex_gc_enter_frame(OBJECTS);
    for (unsigned i = 0; i < OBJECTS; i++) expect((slots[i] = coex_gc_alloc(FIELDS * 8, type)) != 0);
    expect_slices_more(idle, OBJECTS * FIELDS / (SLICE_WORDS + FIELDS));
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* ---- dead objects ----------------------------------------------------------------------------------------------- */

TEST(pages_of_a_dead_large_object_go_back_in_slices)
{
    enum { MEGABYTES = 64 };
    void *payload;
    start_bounds();
    unsigned idle = slices_of_cycle();
    uint64_t used = stats_now().current_heap_used;
    expect(coex_gc_alloc_at(MEGABYTES * MIB, bytes, &payload) != 0);
    memset(payload, 1, MEGABYTES * MIB);
    expect_slices_more(idle, MEGABYTES / 2);
    ck_assert_uint_le(stats_now().current_heap_used, used);
    coex_gc_shutdown();
}

/* ---- lists -------------------------------------------------------------------------------------------------------- */

/* What is pushed last is traced first, but a few candidates are always on their way. So objects between the key and the array with
 * the ephemerons keep the key from being marked first, unless it is in the slot above the array as well. */
TEST(ephemerons_of_one_key_are_taken_in_slices)
{
    enum { EPHEMERONS = 100000, PER_SLICE = 1200, BETWEEN = 100, ARRAY = BETWEEN + 1, AGAIN };
    start_bounds();
    coex_handle *slots = coex_gc_enter_frame(AGAIN + 1);
    for (int i = 0; i <= BETWEEN; i++) slots[i] = coex_gc_alloc(8, bytes);
    slots[ARRAY] = new_refs(refs, EPHEMERONS);
    for (uint64_t i = 0; i < EPHEMERONS; i++) {
        slots[AGAIN] = coex_gc_alloc(8, bytes);
        refs_set(slots[ARRAY], i, coex_gc_ephemeron_new(slots[0], slots[AGAIN]));
    }
    slots[AGAIN] = slots[0];
    unsigned first = slices_of_cycle();
    slots[AGAIN] = 0;
    expect_slices_more(first, 2 * EPHEMERONS / PER_SLICE); /* to wait for the key, and to be taken when it is marked */
    for (uint64_t i = 0; i < EPHEMERONS; i++) expect(coex_gc_is_handle(coex_gc_ephemeron_value(refs_get(slots[ARRAY], i))));
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(stacks_that_are_gone_are_passed_over_in_slices)
{
    enum { STACKS = 40000, PER_SLICE = 1200 };
    static coex_gc_stack *stack[STACKS];
    start_bounds();
    unsigned idle = slices_of_cycle();
    for (int i = 0; i < STACKS; i++) expect((stack[i] = coex_gc_stack_create(8)) != NULL);
    for (int i = 0; i < STACKS; i++) coex_gc_stack_destroy(stack[i]);
    expect_slices_more(idle, STACKS / PER_SLICE);
    coex_gc_shutdown();
}

/* A record that was prepared for a spawn is a thread in native mode: the collector answers for it. */
TEST(answers_for_many_threads_are_given_in_slices)
{
    enum { THREADS = 500, HANDSHAKES = 4 };
    static coex_gc_spawn *spawn[THREADS];
    start_bounds();
    unsigned idle = slices_of_cycle();
    for (int i = 0; i < THREADS; i++) expect((spawn[i] = coex_gc_spawn_prepare(0)) != NULL);
    expect_slices_more(idle, HANDSHAKES * THREADS / 100);
    for (int i = 0; i < THREADS; i++) coex_gc_spawn_cancel(spawn[i]);
    coex_gc_shutdown();
}

/* ---- time --------------------------------------------------------------------------------------------------------- */

/* The bounds above, by the clock: half a gigabyte of nulls, and as much of dead bytes. Two of ten may be interrupted by others. */
TEST_LABEL(no_step_is_longer_for_half_a_gigabyte_budget, timing)
TEST_TIMEOUT(no_step_is_longer_for_half_a_gigabyte_budget, 60)
{
    uint64_t size = test_is_sanitized() ? 64 * MIB : 512 * MIB;
    start_bounds();
    coex_handle *slots = coex_gc_enter_frame(1);
    expect((slots[0] = coex_gc_alloc(size, refs)) != 0);
    void *payload;
    expect(coex_gc_alloc_at(size, bytes, &payload) != 0);
    memset(payload, 1, size);
    double longest = 0;
    coex_gc_async();
    for (bool done = false; !done;) {
        double begin = cpu_seconds();
        done = coex_gc_step(50);
        double took = cpu_seconds() - begin;
        longest = took > longest ? took : longest;
    }
    printf("the longest step took %.2f ms\n", longest * 1e3);
    if (!test_is_sanitized()) ck_assert_double_lt(longest, 0.01);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}
