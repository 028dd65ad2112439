/*
 * fork between any two slices of a cycle: without a GC thread a cycle goes on slice by slice, so that a fork can be put anywhere.
 *
 * There are weak references, ephemerons and finalizable objects enough for several slices of each kind; half of them are dead.
 */
#include "support/forks.h"

enum { MORTALS = 6000 };

static uint32_t mortals;
static uint32_t ends[MORTALS];

static void note_end(coex_handle object, void *unused)
{
    uint64_t number = *(uint64_t *)coex_gc_handle_deref(object);
    (void)unused;
    expect(number < MORTALS);
    ends[number]++;
}

static coex_handle new_mortal(uint64_t number)
{
    void *payload;
    coex_handle h = coex_gc_alloc_at(8, mortals, &payload);
    expect(h != 0);
    *(uint64_t *)payload = number;
    return h;
}

/* `shared` holds for each a weak reference, an ephemeron with it as the key, and, of every other one, itself. */
static void start_population(void)
{
    coex_gc_config config = way_config();
    start_kept(&config);
    mortals = type_from(&(coex_gc_type){.name = "mortal", .size = 8, .finalize = note_end});
    memset(ends, 0, sizeof ends);
    coex_gc_global_store(&shared, new_refs(refs, MORTALS));
    coex_handle *slots = coex_gc_enter_frame(2);
    for (unsigned i = 0; i < MORTALS; i++) {
        slots[0] = new_mortal(i);
        slots[1] = new_refs(refs, 3);
        refs_set(coex_gc_global_load(&shared), i, slots[1]);
        refs_set(slots[1], 0, coex_gc_weak_new(slots[0]));
        refs_set(slots[1], 1, coex_gc_ephemeron_new(slots[0], new_leaf()));
        refs_set(slots[1], 2, i % 2 ? 0 : slots[0]);
    }
    coex_gc_leave_frame(slots);
}

/* Every other one was finalized, once, and is forgotten by everybody. */
static void expect_half(void)
{
    for (unsigned i = 0; i < MORTALS; i++) {
        coex_handle entry = refs_get(coex_gc_global_load(&shared), i), strong = refs_get(entry, 2);
        expect_eq(ends[i], i % 2);
        expect_eq(coex_gc_weak_get(refs_get(entry, 0)), strong);
        expect_eq(coex_gc_ephemeron_key(refs_get(entry, 1)), strong);
        coex_handle value = coex_gc_ephemeron_value(refs_get(entry, 1));
        expect(strong != 0 ? node_verify(value) != 0 : value == 0);
    }
}

static void finalize_all(void)
{
    for (int i = 0; i < 3; i++) {
        coex_gc_collect();
        make_garbage(2000);
        while (coex_gc_finalize(100) != 0) {
        }
    }
}

static void child_finalizes(void)
{
    child_looks();
    finalize_all();
    expect_half();
    expect(coex_gc_validate_heap() == 0);
    stop_kept();
}

TEST_LABEL(a_fork_between_any_two_slices_of_a_cycle_works, forks)
TEST_TIMEOUT(a_fork_between_any_two_slices_of_a_cycle_works, 100)
{
    unsigned slices = 0, stride = scaled(1, 7);
    way_threads = 0;
    for (unsigned at = 0; at <= slices + stride; at += stride) {
        start_population();
        coex_gc_async();
        unsigned done = 0;
        while (done < at && !coex_gc_step(0)) done++;
        if (done > slices) slices = done;
        pid_t child = fork_and(child_finalizes);
        coex_gc_step(50); /* the parent goes on in the meantime */
        COEX_GC_NATIVE(wait_for(child));
        expect_kept();
        finalize_all();
        expect_half();
        stop_kept();
    }
    printf("%u slices\n", slices);
    ck_assert_uint_gt(slices, 40);
}

/* ---- large objects --------------------------------------------------------------------------------------------------- */

enum { BIG = 24 << 20, BIG_LIMIT = 40 << 20 };

static uint32_t plain_bytes;

/* There is room for one such object at a time: it must be there, and be charged once. */
static void expect_room_for_one(void)
{
    for (int i = 0; i < 3; i++) {
        coex_handle big = coex_gc_alloc(BIG, plain_bytes); /* the one before is garbage: this waits for a cycle */
        expect(big != 0);
    }
    coex_gc_collect();
    coex_gc_collect();
    expect(stats_now().current_heap_used < BIG);
    expect(coex_gc_validate_heap() == 0);
}

static void child_has_room(void)
{
    child_looks();
    expect_room_for_one();
    stop_kept();
}

static void fork_amid_discards(bool poison)
{
    unsigned slices = 0;
    way_threads = 0;
    coex_gc_config config = way_config();
    config.initial_heap = MIB;
    config.heap_limit = BIG_LIMIT;
    config.poison = poison;
    start_kept(&config);
    plain_bytes = type_bytes();
    void *payload;
    expect(coex_gc_alloc_at(BIG, plain_bytes, &payload) != 0);
    memset(payload, 1, BIG);
    coex_gc_async();
    for (bool done = false; !done; slices++) {
        done = coex_gc_step(0);
        uint64_t used = stats_now().current_heap_used;
        if (used < BIG && used > MIB) fork_and_wait(child_has_room); /* a part of it has gone */
    }
    expect_kept();
    expect_room_for_one();
    printf("%u slices\n", slices);
    ck_assert_uint_gt(slices, 30 + BIG / (2 << 20));
    stop_kept();
}

TEST_LABEL(a_fork_while_a_large_object_is_given_back_neither_loses_nor_doubles_it, forks)
TEST_TIMEOUT(a_fork_while_a_large_object_is_given_back_neither_loses_nor_doubles_it, 60) { fork_amid_discards(false); }
TEST_LABEL(a_fork_while_a_large_object_is_poisoned_neither_loses_nor_doubles_it, forks)
TEST_TIMEOUT(a_fork_while_a_large_object_is_poisoned_neither_loses_nor_doubles_it, 60) { fork_amid_discards(true); }
