/*
 * Frames and roots: three ways to root, frames of every size and any depth, unwinding, writing another frame's slots.
 */
#include "support/objects.h"

#include <setjmp.h>

static uint32_t pairs;

static void start(void)
{
    start_quiet();
    pairs = type_pair();
}

static coex_handle fresh(uint64_t value)
{
    coex_handle h = new_pair(pairs, 0, value);
    expect(h != 0);
    return h;
}

static uint64_t value_of(coex_handle h) { return ((pair *)coex_gc_handle_deref(h))->value; }

static coex_handle *top(void) { return coex_gc_get_current_thread()->top; }

/* ---- three ways ------------------------------------------------------------------------------------------- */

TEST(slots_of_a_frame_keep_objects_alive_until_it_is_left)
{
    start();
    coex_handle *slots = coex_gc_enter_frame(3);
    for (int i = 0; i < 3; i++) ck_assert_uint_eq(slots[i], 0);
    coex_handle kept = slots[1] = fresh(1), dropped = fresh(2);
    coex_gc_collect();
    ck_assert(coex_gc_is_handle(kept));
    ck_assert(!coex_gc_is_handle(dropped));
    coex_gc_leave_frame(slots);
    coex_gc_collect();
    ck_assert(!coex_gc_is_handle(kept));
    coex_gc_shutdown();
}

TEST(locals_of_a_pushed_frame_keep_alive_what_they_hold_at_each_cycle)
{
    start();
    coex_handle one = 0, two = 0, *locals[] = {&one, &two};
    coex_gc_frame *frame = coex_gc_push_frame(2, locals);
    ck_assert_ptr_nonnull(frame);
    coex_handle first = one = fresh(1), second = two = fresh(2);
    coex_gc_collect();
    ck_assert(coex_gc_is_handle(first) && coex_gc_is_handle(second));
    two = 0;
    coex_gc_collect();
    ck_assert(coex_gc_is_handle(first) && !coex_gc_is_handle(second));
    coex_gc_pop_frame(frame);
    coex_gc_collect();
    ck_assert(!coex_gc_is_handle(first));
    coex_gc_shutdown();
}

TEST(appended_roots_belong_to_the_current_frame)
{
    start();
    coex_handle *slots = coex_gc_enter_frame(1);
    coex_handle a = fresh(1);
    coex_gc_root(a);
    coex_handle b = fresh(2);
    coex_gc_root(b);
    coex_handle *inner = coex_gc_enter_frame(0);
    coex_handle c = fresh(3);
    coex_gc_root(c);
    coex_gc_collect();
    ck_assert(coex_gc_is_handle(a) && coex_gc_is_handle(b) && coex_gc_is_handle(c));
    coex_gc_leave_frame(inner);
    coex_gc_collect();
    ck_assert(coex_gc_is_handle(a) && coex_gc_is_handle(b) && !coex_gc_is_handle(c));
    coex_gc_leave_frame(slots);
    coex_gc_collect();
    ck_assert(!coex_gc_is_handle(a) && !coex_gc_is_handle(b));
    coex_gc_shutdown();
}

TEST(roots_without_a_frame_belong_to_the_bottom_of_the_stack)
{
    start();
    coex_handle h = fresh(1);
    coex_gc_root(h);
    coex_handle *slots = coex_gc_enter_frame(1);
    coex_gc_leave_frame(slots);
    coex_gc_collect();
    ck_assert(coex_gc_is_handle(h));
    coex_gc_shutdown();
}

TEST(three_ways_to_root_nest_in_any_order)
{
    start();
    test_rng rng = rng_from(test_seed());
    enum { DEPTH = 300 };
    struct {
        int way;
        coex_handle *slots;
        coex_gc_frame *frame;
        coex_handle local, *locals[1], h;
        coex_handle *before;
    } level[DEPTH];
    for (int i = 0; i < DEPTH; i++) {
        level[i].before = top();
        level[i].way = (int)rng_below(&rng, 3);
        level[i].local = 0;
        level[i].locals[0] = &level[i].local;
        if (level[i].way == 0)
            level[i].frame = coex_gc_push_frame(1, level[i].locals);
        else
            level[i].slots = coex_gc_enter_frame(1);
        level[i].h = fresh((uint64_t)i);
        if (level[i].way == 0) level[i].local = level[i].h;
        if (level[i].way == 1) level[i].slots[0] = level[i].h;
        if (level[i].way == 2) coex_gc_root(level[i].h);
        if (rng_one_in(&rng, 50)) coex_gc_collect();
    }
    coex_gc_collect();
    for (int i = DEPTH - 1; i >= 0; i--) {
        ck_assert_uint_eq(value_of(level[i].h), (uint64_t)i);
        if (level[i].way == 0)
            coex_gc_pop_frame(level[i].frame);
        else
            coex_gc_leave_frame(level[i].slots);
        ck_assert_ptr_eq(top(), level[i].before);
        if (rng_one_in(&rng, 50)) coex_gc_collect();
    }
    coex_gc_collect();
    ck_assert_uint_eq(stats_now().objects_marked_last_cycle, 0);
    coex_gc_shutdown();
}

TEST(global_root_keeps_its_object_alive_until_it_is_removed)
{
    start();
    static coex_handle cell;
    coex_handle h = cell = fresh(7);
    ck_assert_int_eq(coex_gc_add_global_root(&cell), COEX_GC_OK);
    ck_assert_int_eq(coex_gc_add_global_root(&cell), COEX_GC_OK);
    coex_gc_collect();
    ck_assert_uint_eq(value_of(coex_gc_global_load(&cell)), 7);
    coex_handle next = fresh(8);
    coex_gc_global_store(&cell, next);
    coex_gc_collect();
    ck_assert(!coex_gc_is_handle(h) && coex_gc_is_handle(next));
    coex_gc_remove_global_root(&cell);
    coex_gc_remove_global_root(&cell);
    coex_gc_collect();
    ck_assert(!coex_gc_is_handle(next));
    coex_gc_shutdown();
}

/* ---- sizes ------------------------------------------------------------------------------------------------ */

TEST(frames_of_0_to_300_slots_are_zeroed_and_keep_every_slot)
{
    start();
    coex_handle *slots[301];
    for (uint64_t n = 0; n <= 300; n++) {
        coex_handle *soil = coex_gc_enter_frame(320); /* what lay there before must not shine through */
        memset(soil, 0x5e, 320 * sizeof *soil);
        coex_gc_leave_frame(soil);
        slots[n] = coex_gc_enter_frame(n);
        for (uint64_t i = 0; i < n; i++) expect_eq(slots[n][i], 0);
        for (uint64_t i = 0; i < n; i++) slots[n][i] = fresh(n * 1000 + i);
    }
    coex_gc_collect();
    for (uint64_t n = 300; n <= 300; n--) {
        for (uint64_t i = 0; i < n; i++) expect_eq(value_of(slots[n][i]), n * 1000 + i);
        coex_gc_leave_frame(slots[n]);
    }
    coex_gc_shutdown();
}

TEST(frames_of_more_than_65535_slots_work)
{
    start();
    static const uint64_t sizes[] = {65534, 65535, 65536, 65537, 200000};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        coex_handle *before = top(), *slots = coex_gc_enter_frame(sizes[k]);
        for (uint64_t i = 0; i < sizes[k]; i++) expect_eq(slots[i], 0);
        slots[0] = fresh(1);
        slots[sizes[k] / 2] = fresh(2);
        slots[sizes[k] - 1] = fresh(3);
        coex_handle *inner = coex_gc_enter_frame(2);
        inner[1] = fresh(4);
        coex_gc_collect();
        ck_assert_uint_eq(value_of(slots[0]), 1);
        ck_assert_uint_eq(value_of(slots[sizes[k] / 2]), 2);
        ck_assert_uint_eq(value_of(slots[sizes[k] - 1]), 3);
        ck_assert_uint_eq(value_of(inner[1]), 4);
        coex_gc_leave_frame(inner);
        coex_gc_leave_frame(slots);
        ck_assert_ptr_eq(top(), before);
    }
    coex_gc_shutdown();
}

TEST(appended_roots_go_on_where_the_stack_grows)
{
    start();
    enum { COUNT = 100000 };
    coex_handle *slots = coex_gc_enter_frame(0), *first = top();
    for (uint64_t i = 0; i < COUNT; i++) coex_gc_root(fresh(i));
    ck_assert_int_eq(top() - first, COUNT);
    coex_gc_collect();
    for (uint64_t i = 0; i < COUNT; i++) expect_eq(value_of(first[i]), i);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST_TIMEOUT(ten_million_frames_fit, 60)
{
    uint64_t depth = test_is_sanitized() ? 200000 : 10000000;
    coex_gc_config config = quiet_config();
    config.shadow_stack_slots = 2 * depth + 100;
    start_with(&config);
    pairs = type_pair();
    coex_handle *bottom = coex_gc_enter_frame(1), *before = top();
    bottom[0] = fresh(1);
    for (uint64_t i = 0; i < depth; i++) {
        coex_handle *slots = coex_gc_enter_frame(1);
        slots[0] = i % 1000000 == 0 ? fresh(i) : bottom[0];
    }
    ck_assert_int_eq(top() - before, (int64_t)(2 * depth));
    coex_gc_collect();
    ck_assert_uint_ge(stats_now().max_shadow_stack_depth_seen, 2 * depth);
    for (uint64_t i = depth; i > 0;) {
        coex_handle *slots = top() - 1;
        i--;
        if (i % 1000000 == 0) ck_assert_uint_eq(value_of(slots[0]), i);
        coex_gc_leave_frame(slots);
    }
    ck_assert_ptr_eq(top(), before);
    ck_assert_uint_eq(value_of(bottom[0]), 1);
    coex_gc_shutdown();
}

/* ---- arguments, results, other frames --------------------------------------------------------------------- */

TEST(enter_frame_with_has_its_handles_in_place_before_it_polls)
{
    start();
    for (int i = 0; i < 50; i++) {
        coex_handle handles[3] = {fresh(1), COEX_IMMEDIATE(2), 0};
        coex_gc_async(); /* the entry may be the safepoint at which the roots are read */
        coex_handle *slots = coex_gc_enter_frame_with(5, 3, handles);
        ck_assert_uint_eq(slots[0], handles[0]);
        ck_assert_uint_eq(slots[1], COEX_IMMEDIATE(2));
        for (int k = 2; k < 5; k++) ck_assert_uint_eq(slots[k], 0);
        coex_gc_collect();
        ck_assert_uint_eq(value_of(slots[0]), 1);
        coex_gc_leave_frame(slots);
    }
    coex_handle *none = coex_gc_enter_frame_with(0, 0, NULL);
    coex_gc_leave_frame(none);
    coex_gc_shutdown();
}

TEST(slots_and_locals_of_other_frames_are_written_through_the_library)
{
    start();
    coex_handle local = 0, *locals[] = {&local};
    coex_handle *slots = coex_gc_enter_frame(2);
    coex_gc_frame *frame = coex_gc_push_frame(1, locals);
    coex_handle *inner = coex_gc_enter_frame(1);
    for (uint64_t i = 0; i < 20; i++) {
        inner[0] = fresh(i);
        coex_gc_set_slot(&slots[i % 2], inner[0]);
        inner[0] = fresh(i + 100);
        coex_gc_set_root(locals, 0, inner[0]);
        inner[0] = 0;
        coex_gc_collect(); /* from here on the outer frames are frozen while roots are read */
        ck_assert_uint_eq(value_of(slots[i % 2]), i);
        ck_assert_uint_eq(value_of(local), i + 100);
    }
    coex_gc_leave_frame(inner);
    coex_gc_pop_frame(frame);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* ---- unwinding -------------------------------------------------------------------------------------------- */

TEST(unwinding_pops_every_frame_above_and_keeps_appended_slots)
{
    start();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = fresh(1);
    coex_gc_root(fresh(2));
    coex_gc_root(fresh(3));
    coex_handle *mine = top(), dead = 0;
    for (int round = 0; round < 3; round++) {
        coex_handle local = 0, *locals[] = {&local};
        for (int i = 0; i < 100; i++) {
            coex_handle *inner = coex_gc_enter_frame((uint64_t)i);
            if (i > 0) inner[0] = fresh(10);
            coex_gc_push_frame(1, locals);
            dead = fresh(11);
            coex_gc_root(dead);
        }
        if (round == 1) coex_gc_collect();
        coex_gc_unwind_to(slots);
        ck_assert_ptr_eq(top(), mine);
    }
    coex_gc_collect();
    ck_assert_uint_eq(value_of(slots[0]), 1);
    ck_assert_uint_eq(value_of(mine[-2]), 2);
    ck_assert_uint_eq(value_of(mine[-1]), 3);
    ck_assert(!coex_gc_is_handle(dead));
    coex_gc_unwind_to(slots); /* nothing above: nothing happens */
    ck_assert_ptr_eq(top(), mine);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

static jmp_buf escape;
static volatile uint64_t dive_depth = 1000;

static void dive(uint64_t depth)
{
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[depth % 3] = fresh(depth);
    if (depth < dive_depth) dive(depth + 1);
    if (depth == dive_depth) longjmp(escape, 1);
    coex_gc_leave_frame(slots);
}

TEST(longjmp_over_frames_needs_one_unwinding)
{
    start();
    coex_handle *volatile slots = coex_gc_enter_frame(1);
    slots[0] = fresh(42);
    coex_handle *volatile before = top();
    if (setjmp(escape) == 0) dive(0);
    coex_gc_unwind_to(slots);
    ck_assert_ptr_eq(top(), before);
    coex_gc_collect();
    ck_assert_uint_eq(value_of(slots[0]), 42);
    ck_assert_uint_eq(stats_now().objects_marked_last_cycle, 1);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}
