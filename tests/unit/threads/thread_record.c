/*
 * Thread records: how they lie in memory, how they are reused, and what becomes of the handles they hold (INV-THREAD-4).
 */
#include "support/objects.h"

#include "gc/threads/thread_record.h"

#define LINE_OF(type, field) (offsetof(type, field) / 64)

static void stop(void) { coex_gc_shutdown(); }

TEST(words_of_owner_exchange_and_registry_share_no_cache_line)
{
    ck_assert_uint_eq(offsetof(struct cx_thread, words), 0);
    ck_assert_uint_eq(sizeof(struct cx_thread) % 64, 0);
    /* What only the owner writes ends before the line begins that both write; likewise the registry's. */
    ck_assert_uint_eq(offsetof(struct cx_thread, requested) % 64, 0);
    ck_assert_uint_lt((offsetof(struct cx_thread, assisted) + 7) / 64, LINE_OF(struct cx_thread, requested));
    ck_assert_uint_eq(LINE_OF(struct cx_thread, requested), LINE_OF(struct cx_thread, acked));
    ck_assert_uint_eq(offsetof(struct cx_thread, state) % 64, 0);
    ck_assert_uint_lt((offsetof(struct cx_thread, bytes) + 7) / 64, LINE_OF(struct cx_thread, state));
    ck_assert_uint_eq(sizeof(struct cx_block) % 64, 0);
}

TEST(hot_words_are_one_cache_line)
{
    ck_assert_uint_lt(offsetof(struct coex_gc_thread, barrier), 64);
    ck_assert_uint_eq(offsetof(struct coex_gc_thread, table), 64);
    start_quiet();
    ck_assert_uint_eq((uintptr_t)coex_gc_get_current_thread() % 64, 0);
    stop();
}

TEST(record_of_a_thread_that_left_is_used_again)
{
    start_quiet();
    coex_gc_thread *first = coex_gc_get_current_thread();
    coex_handle *bottom = first->top, *end = first->limit;
    coex_gc_enter_frame(10);
    coex_gc_unregister_thread();
    ck_assert_ptr_null(coex_gc_get_current_thread());
    coex_gc_register_thread();
    ck_assert_ptr_eq(coex_gc_get_current_thread(), first);
    ck_assert_uint_eq(cx_a32_load_relaxed(&cx_world.registry.count), 1);
    struct cx_thread *self = cx_thread_self();
    ck_assert_ptr_eq(self->words.top, bottom);
    ck_assert_ptr_eq(self->words.limit, end);
    ck_assert_ptr_null(self->words.watermark);
    ck_assert_uint_eq(self->words.cursor, 0);
    ck_assert_uint_eq(self->native_depth, 0);
    ck_assert_int_eq((int)cx_a32_load_relaxed(&self->mode), CX_MODE_MANAGED);
    ck_assert_int_eq((int)cx_a32_load_relaxed(&self->state), CX_THREAD_LIVE);
    stop();
}

static void register_and_leave(unsigned index, void *arg)
{
    (void)index;
    (void)arg;
    coex_gc_register_thread();
    coex_gc_unregister_thread();
}

TEST(registry_is_as_large_as_most_threads_that_were_there_at_once)
{
    start_quiet();
    coex_gc_enter_native();
    for (int round = 0; round < 20; round++) run_threads(5, register_and_leave, NULL);
    coex_gc_leave_native();
    ck_assert_uint_le(cx_a32_load_relaxed(&cx_world.registry.count), 6);
    ck_assert_uint_eq(cx_a32_load_relaxed(&cx_world.registry.live), 1);
    stop();
}

/* ---- handles that a thread held --------------------------------------------------------------------------- */

static uint64_t claimed_and_not_recycled(void)
{
    return cx_a64_load_relaxed(&cx_world.handles.claimed) - cx_a64_load_relaxed(&cx_world.handles.recycled);
}

TEST(handles_a_thread_held_stay_with_its_record_for_the_next_one)
{
    start_quiet();
    uint32_t type = type_pair();
    coex_handle last = new_pair(type, 0, 1);
    uint64_t held = cx_thread_handles_held(cx_thread_self());
    ck_assert_uint_gt(held, 0);
    uint64_t claimed = claimed_and_not_recycled();
    coex_gc_unregister_thread();
    coex_gc_register_thread();
    ck_assert_uint_eq(cx_thread_handles_held(cx_thread_self()), held);
    ck_assert_uint_eq(new_pair(type, 0, 2), last + 1);
    ck_assert_uint_eq(claimed_and_not_recycled(), claimed);
    stop();
}

static void allocate_one_and_leave(unsigned index, void *type)
{
    coex_gc_register_thread();
    expect(new_pair(*(uint32_t *)type, 0, index) != 0);
    if (index % 2 == 0) coex_gc_unregister_thread(); /* the others are taken out by the exit hook */
}

TEST(handles_of_threads_that_left_are_found_again_by_the_sweep)
{
    start_quiet();
    uint32_t type = type_pair();
    ck_assert_uint_ne(new_pair(type, 0, 0), 0); /* this thread has its word */
    coex_gc_collect();
    coex_gc_collect();
    uint64_t before = claimed_and_not_recycled();
    coex_gc_enter_native();
    run_threads(40, allocate_one_and_leave, &type);
    coex_gc_leave_native();
    ck_assert_uint_gt(claimed_and_not_recycled(), before);
    uint64_t held = 0;
    for (uint32_t i = 1; i < cx_a32_load_relaxed(&cx_world.registry.count); i++)
        held += cx_thread_handles_held(cx_registry_at(&cx_world.registry, i));
    ck_assert_uint_gt(held, 0);
    /* The first cycle retires them, objects and held ones alike; the second makes them free. */
    coex_gc_collect();
    for (uint32_t i = 1; i < cx_a32_load_relaxed(&cx_world.registry.count); i++)
        ck_assert_uint_eq(cx_thread_handles_held(cx_registry_at(&cx_world.registry, i)), 0);
    ck_assert_uint_gt(claimed_and_not_recycled(), before);
    coex_gc_collect();
    ck_assert_uint_eq(claimed_and_not_recycled(), before);
    stop();
}

/* ---- MI-6, bit by bit ------------------------------------------------------------------------------------- */

static bool bit(const cx_a64 *map, coex_handle h) { return cx_bit_test(map, h); }

TEST(dead_handle_goes_from_allocated_to_retired_to_free_in_two_cycles)
{
    start_quiet();
    uint32_t type = type_pair();
    const struct cx_handles *handles = &cx_world.handles;
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = new_pair(type, 0, 1);
    slots[1] = new_pair(type, 0, 2);
    coex_handle live = slots[0], dead = slots[1];
    slots[1] = 0;
    ck_assert(bit(handles->allocated, dead) && !bit(handles->retired, dead) && handles->table[dead] != NULL);
    coex_gc_collect();
    ck_assert(bit(handles->allocated, dead) && bit(handles->retired, dead) && handles->table[dead] == NULL);
    coex_gc_collect();
    ck_assert(!bit(handles->allocated, dead) && !bit(handles->retired, dead) && handles->table[dead] == NULL);
    ck_assert(bit(handles->allocated, live) && !bit(handles->retired, live) && handles->table[live] != NULL);
    ck_assert(cx_bit_test(handles->available, dead / 64));
    stop();
}
