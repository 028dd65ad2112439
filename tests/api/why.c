/*
 * coex_gc_why: for each kind of root, the path that it prints is one that the program made; and where there is none, it says why.
 */
#include "support/borders.h"
#include "support/dump_parser.h"

#include <pthread.h>

typedef struct chain {
    coex_handle next, other;
} chain;

static uint32_t link_type, row_type;

static void why_start(void)
{
    static const uint32_t refs[] = {offsetof(chain, next), offsetof(chain, other)};
    static const char *const names[] = {"next", "other"};
    way_start();
    link_type =
        type_from(&(coex_gc_type){.name = "Link", .size = sizeof(chain), .ref_offsets = refs, .ref_count = 2, .ref_names = names});
    row_type = type_refs();
}

static coex_handle new_link(coex_handle next, coex_handle other)
{
    void *payload;
    coex_handle h = coex_gc_alloc_at(sizeof(chain), link_type, &payload);
    expect(h != 0);
    *(chain *)payload = (chain){next, other};
    return h;
}

/* The answer, which is the same as what it returns. */
static dump_why why_now(coex_handle h)
{
    capture_begin();
    bool found = coex_gc_why(h);
    dump_why why = parse_why(capture_end());
    expect(found == (why.root[0] != '\0'));
    expect_eq(why.handle, h);
    return why;
}

static void expect_step(const dump_why *why, uint64_t number, coex_handle handle, const char *type, const char *field)
{
    ck_assert_uint_lt(number, why->count);
    ck_assert_uint_eq(why->step[number].handle, handle);
    ck_assert_str_eq(why->step[number].type, type);
    ck_assert_str_eq(why->step[number].field, field);
}

/* ---- roots ---------------------------------------------------------------------------------------------------------- */

static void from_own_frames(void)
{
    why_start();
    coex_handle *older = coex_gc_enter_frame(3);
    older[2] = new_link(0, 0);
    older[2] = new_link(0, older[2]);
    coex_handle inner = ((chain *)coex_gc_handle_deref(older[2]))->other;
    coex_handle *top = coex_gc_enter_frame(1);
    dump_why why = why_now(inner);
    ck_assert_str_eq(why.root, "Thread 0 (main), frame 1, slot 2");
    ck_assert_str_eq(why.type, "Link");
    ck_assert_uint_eq(why.count, 2);
    expect_step(&why, 0, older[2], "Link", "other");
    expect_step(&why, 1, inner, "Link", "");
    /* That who asks has it in a slot is said only if there is nothing else to say. */
    top[0] = inner;
    ck_assert_str_eq(why_now(inner).root, "Thread 0 (main), frame 1, slot 2");
    older[2] = 0;
    ck_assert_str_eq(why_now(inner).root, "Thread 0 (main), frame 2, slot 0");
    coex_gc_leave_frame(top);
    coex_gc_leave_frame(older);
    coex_gc_shutdown();
}

TEST(frames_of_the_caller_are_named_with_slot_and_the_top_one_last) { both_ways(from_own_frames); }

static void from_cells_pins_and_queue(void)
{
    static coex_handle cell;
    char wanted[80];
    why_start();
    coex_handle *slot = coex_gc_enter_frame(1);
    cell = 0;
    ck_assert_int_eq(coex_gc_add_global_root(&cell), COEX_GC_OK);
    slot[0] = new_link(0, 0);
    coex_handle target = slot[0];
    slot[0] = new_link(slot[0], 0);
    coex_gc_global_store(&cell, slot[0]);
    coex_handle holder = slot[0];
    slot[0] = target;
    dump_why why = why_now(target);
    snprintf(wanted, sizeof wanted, "global root at 0x%" PRIxPTR, (uintptr_t)&cell);
    ck_assert_str_eq(why.root, wanted); /* although a slot has it too, and is nearer */
    expect_step(&why, 0, holder, "Link", "next");
    coex_gc_global_store(&cell, 0);
    coex_gc_remove_global_root(&cell);

    coex_gc_pin(target);
    coex_gc_pin(target);
    ck_assert_str_eq(why_now(target).root, "pin (2 times)");
    coex_gc_unpin(target);
    ck_assert_str_eq(why_now(target).root, "pin (1 time)");
    coex_gc_unpin(target);
    ck_assert_str_eq(why_now(target).root, "Thread 0 (main), frame 1, slot 0");
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(global_roots_and_pins_come_before_the_callers_frames) { both_ways(from_cells_pins_and_queue); }

static void finalize_nothing(coex_handle object, void *context)
{
    (void)object;
    (void)context;
}

static void from_queue(void)
{
    static const uint32_t refs[] = {0};
    why_start();
    uint32_t dying =
        type_from(&(coex_gc_type){.name = "Dying", .size = 8, .ref_offsets = refs, .ref_count = 1, .finalize = finalize_nothing});
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = new_link(0, 0);
    coex_handle kept_alive = slot[0], dead = coex_gc_alloc(8, dying);
    coex_gc_init_ref(dead, 0, kept_alive);
    slot[0] = 0;
    coex_gc_collect();
    dump_why why = why_now(kept_alive);
    ck_assert_str_eq(why.root, "queue of finalizers");
    expect_step(&why, 0, dead, "Dying", "offset 0");
    ck_assert_uint_eq(coex_gc_finalize(10), 1);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(queue_of_finalizers_is_named) { both_ways(from_queue); }

static void from_ephemeron(void)
{
    why_start();
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[0] = new_link(0, 0);
    slot[1] = new_link(0, 0);
    slot[2] = coex_gc_ephemeron_new(slot[0], slot[1]);
    coex_handle value = slot[1];
    slot[1] = 0;
    dump_why why = why_now(value);
    ck_assert_uint_eq(why.count, 2);
    expect_step(&why, 0, slot[2], "coex ephemeron", "value");
    ck_assert_str_eq(why.root, "Thread 0 (main), frame 1, slot 2");
    slot[0] = 0; /* the key dies, and with it what it kept */
    why = why_now(value);
    ck_assert_str_eq(why.root, "");
    ck_assert(!coex_gc_is_handle(value));
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(value_of_an_ephemeron_is_held_by_it_while_its_key_lives) { both_ways(from_ephemeron); }

TEST(weak_reference_holds_nothing)
{
    why_start();
    coex_handle *slot = coex_gc_enter_frame(1);
    coex_handle target = new_link(0, 0);
    coex_gc_root(target);
    slot[0] = coex_gc_weak_new(target);
    coex_gc_leave_frame(slot);
    slot = coex_gc_enter_frame(1);
    slot[0] = coex_gc_weak_new(0);
    ck_assert_str_eq(why_now(target).root, "");
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

static void from_suspended(void)
{
    why_start();
    coex_gc_stack *stack = coex_gc_stack_create(20);
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[1] = new_link(0, 0);
    coex_handle target = slot[1];
    coex_gc_stack_switch(home);
    dump_why why = why_now(target);
    ck_assert_ptr_nonnull(strstr(why.root, " (suspended), frame 1, slot 1"));
    coex_gc_stack_switch(stack);
    coex_gc_leave_frame(slot);
    coex_gc_stack_switch(home);
    coex_gc_stack_destroy(stack);
    coex_gc_shutdown();
}

TEST(suspended_stack_is_named) { both_ways(from_suspended); }

/* ---- other threads -------------------------------------------------------------------------------------------------- */

static coex_handle deep_target, middle_target;
static bool ready, stop;

/* Frames of 20 slots, so that the older ones are frozen at a root scan and the youngest are not. */
static void go_down(unsigned depth)
{
    coex_handle *slot = coex_gc_enter_frame(20);
    if (depth == 40) __atomic_store_n(&deep_target, slot[19] = new_link(0, 0), __ATOMIC_RELEASE);
    if (depth == 3) __atomic_store_n(&middle_target, slot[7] = new_link(0, 0), __ATOMIC_RELEASE);
    if (depth < 40) {
        go_down(depth + 1);
    } else {
        __atomic_store_n(&ready, true, __ATOMIC_RELEASE);
        while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) coex_gc_safepoint();
    }
    coex_gc_leave_frame(slot);
}

static void *run_deep(void *unused)
{
    (void)unused;
    coex_gc_register_thread();
    go_down(1);
    coex_gc_unregister_thread();
    return NULL;
}

static void from_other_thread(void)
{
    pthread_t thread;
    ready = stop = false;
    why_start();
    pthread_create(&thread, NULL, run_deep, NULL);
    coex_gc_enter_native();
    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) usleep(100);
    for (int i = 0; i < 5; i++) {
        ck_assert_str_eq(why_now(deep_target).root, "Thread 1, frame 40, slot 19");
        ck_assert_str_eq(why_now(middle_target).root, "Thread 1, frame 3, slot 7");
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    coex_gc_leave_native();
    ck_assert_str_eq(why_now(deep_target).root, "");
    coex_gc_shutdown();
}

TEST_TIMEOUT(frames_of_a_running_thread_are_named_deep_and_near_the_top, 60) { both_ways(from_other_thread); }

enum { DEEP = 1000000 };

static void *run_very_deep(void *unused)
{
    (void)unused;
    coex_gc_register_thread();
    coex_handle *bottom = NULL;
    for (uint64_t i = 1; i <= DEEP; i++) {
        coex_handle *slot = coex_gc_enter_frame(2);
        if (i == 1) bottom = slot;
        if (i == DEEP / 2) __atomic_store_n(&deep_target, slot[1] = new_link(0, 0), __ATOMIC_RELEASE);
    }
    __atomic_store_n(&ready, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) coex_gc_safepoint();
    coex_gc_unwind_to(bottom);
    coex_gc_leave_frame(bottom);
    coex_gc_unregister_thread();
    return NULL;
}

/* A million frames are written down by the collector; their thread copies its top ones and goes on. */
TEST_LABEL(stop_does_not_grow_with_the_stack_that_is_written_down, timing)
TEST_TIMEOUT(stop_does_not_grow_with_the_stack_that_is_written_down, 60)
{
    char wanted[80];
    pthread_t thread;
    coex_gc_config config = quiet_config();
    ready = stop = false;
    start_with(&config);
    link_type = type_from(&(coex_gc_type){.name = "Link", .size = sizeof(chain)});
    pthread_create(&thread, NULL, run_very_deep, NULL);
    coex_gc_enter_native();
    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) usleep(100);
    snprintf(wanted, sizeof wanted, "Thread 1, frame %d, slot 1", DEEP / 2);
    ck_assert_str_eq(why_now(deep_target).root, wanted);
    uint64_t longest = stats_now().stop_cpu_last.max;
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    coex_gc_leave_native();
    printf("longest stop %.1f us on the CPU\n", (double)longest / 1e3);
    if (!test_is_sanitized() && !test_is_checked()) ck_assert_uint_lt(longest, 1000000); /* checked builds copy what is frozen */
    coex_gc_shutdown();
}

/* ---- paths ---------------------------------------------------------------------------------------------------------- */

static void shortest(void)
{
    why_start();
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[2] = new_link(0, 0);
    coex_handle target = slot[2];
    slot[1] = coex_gc_alloc(10 * 8, row_type);
    coex_gc_store(slot[1], 9 * 8, target);
    for (int i = 0; i < 100; i++) slot[2] = new_link(slot[2], slot[2]); /* a long way */
    slot[0] = new_link(slot[1], 0);
    slot[1] = 0;
    coex_handle *top = coex_gc_enter_frame(0);
    dump_why why = why_now(target);
    ck_assert_uint_eq(why.count, 3);
    ck_assert_str_eq(why.root, "Thread 0 (main), frame 1, slot 0");
    expect_step(&why, 0, slot[0], "Link", "next");
    ck_assert_str_eq(why.step[1].field, "[9]");
    coex_gc_leave_frame(top);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(path_is_a_shortest_one) { both_ways(shortest); }

TEST(long_path_is_shown_by_its_ends)
{
    enum { LENGTH = 200000 };
    why_start();
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = new_link(0, 0);
    coex_handle target = slot[0];
    for (int i = 1; i < LENGTH; i++) slot[0] = new_link(slot[0], 0);
    dump_why why = why_now(target);
    ck_assert_uint_eq(why.count + why.left_out, LENGTH);
    ck_assert_uint_eq(why.count, 40);
    ck_assert_uint_eq(why.step[0].handle, slot[0]);
    ck_assert_uint_eq(why.step[39].handle, target);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(ring_of_references_is_searched_to_its_end)
{
    why_start();
    coex_handle *slot = coex_gc_enter_frame(2);
    for (int i = 0; i < 2; i++) slot[i] = coex_gc_alloc(16, row_type);
    coex_gc_store(slot[0], 0, slot[1]);
    coex_gc_store(slot[1], 0, slot[0]);
    coex_handle lonely = new_link(0, 0);
    ck_assert_str_eq(why_now(lonely).root, "");
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

/* ---- no path -------------------------------------------------------------------------------------------------------- */

static void no_path(void)
{
    static const uint64_t words[] = {0, 5000, 1 << 20, UINT64_MAX >> 2, COEX_IMMEDIATE(3), UINT64_MAX};
    why_start();
    coex_handle dead = new_link(0, 0);
    dump_why why = why_now(dead);
    ck_assert_str_eq(why.type, "Link");
    ck_assert_str_eq(why.reason, "Not reachable: this cycle reclaims it");
    ck_assert_str_eq(why_now(dead).reason, "Names no object");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) ck_assert_str_eq(why_now(words[i]).reason, "Names no object");
    coex_gc_shutdown();
    ck_assert_str_eq(why_now(7).reason, "Names no object");
}

TEST(object_that_nothing_refers_to_is_said_to_be_reclaimed) { both_ways(no_path); }

/* ---- for debuggers -------------------------------------------------------------------------------------------------- */

static dump_why debug_why_now(coex_handle h)
{
    capture_errors_begin();
    bool found = coex_gc_debug_why(h);
    dump_why why = parse_why(capture_errors_end());
    expect(found == (why.root[0] != '\0'));
    return why;
}

/* Marks are of no use between cycles, and nothing here has ever been marked. */
TEST(debug_why_finds_a_path_without_a_cycle)
{
    static coex_handle cell;
    char wanted[80];
    why_start();
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = new_link(0, 0);
    coex_handle target = slot[0], lonely = new_link(0, 0);
    slot[0] = 0;
    slot[1] = new_link(target, 0);
    dump_why why = debug_why_now(target);
    ck_assert_str_eq(why.root, "Thread 0 (main), frame 1, slot 1");
    expect_step(&why, 0, slot[1], "Link", "next");
    ck_assert_str_eq(debug_why_now(lonely).reason, "Not reachable from any root");
    ck_assert_str_eq(debug_why_now(COEX_IMMEDIATE(1)).reason, "Names no object");
    ck_assert_int_eq(coex_gc_add_global_root(&cell), COEX_GC_OK);
    coex_gc_global_store(&cell, target);
    slot[1] = 0;
    snprintf(wanted, sizeof wanted, "global root at 0x%" PRIxPTR, (uintptr_t)&cell);
    ck_assert_str_eq(debug_why_now(target).root, wanted);
    coex_gc_global_store(&cell, 0);
    coex_gc_pin(target);
    ck_assert_str_eq(debug_why_now(target).root, "pin (1 time)");
    coex_gc_unpin(target);
    ck_assert_uint_eq(stats_now().collections_completed, 0);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

/* ---- beside others -------------------------------------------------------------------------------------------------- */

static coex_handle shared_row;

static void churn(test_rng *rng)
{
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = coex_gc_global_load(&shared_row);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        slot[1] = new_link(0, 0);
        for (uint64_t i = rng_below(rng, 5); i > 0; i--) slot[1] = new_link(slot[1], 0);
        coex_gc_store(slot[0], 8 * rng_below(rng, 100), slot[1]);
        if (rng_one_in(rng, 500)) usleep(500);
    }
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
}

/* What is in the row may be overwritten at any time: a path, if there is one, begins at the row or in somebody's frame. */
static void ask(void)
{
    for (int i = 0; i < (test_is_sanitized() ? 10 : 40); i++) {
        coex_handle h = 1 + (uint64_t)i * 3;
        dump_why why = why_now(h);
        if (why.root[0] == '\0') continue;
        expect(strncmp(why.root, "global root", 11) == 0 || strncmp(why.root, "Thread ", 7) == 0);
        for (uint64_t j = 0; j < why.count; j++) expect(why.step[j].type[0] != '\0');
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
}

static void churn_or_ask(unsigned index, void *unused)
{
    test_rng rng = rng_from(way_seed + index);
    (void)unused;
    if (index < 3)
        churn(&rng);
    else
        ask();
}

static void beside_mutators(void)
{
    why_start();
    stop = false;
    ck_assert_int_eq(coex_gc_add_global_root(&shared_row), COEX_GC_OK);
    coex_gc_global_store(&shared_row, coex_gc_alloc(800, row_type));
    coex_gc_enter_native();
    run_threads(4, churn_or_ask, NULL);
    coex_gc_leave_native();
    coex_gc_global_store(&shared_row, 0);
    coex_gc_remove_global_root(&shared_row);
    coex_gc_shutdown();
}

TEST_TIMEOUT(answers_are_well_formed_while_threads_store, 60) { both_ways(beside_mutators); }
