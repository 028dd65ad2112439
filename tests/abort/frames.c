/*
 * Frames that are left, popped, unwound or made in ways that can't be: overflow always, order in checked builds.
 */
#include "support/objects.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- overflow --------------------------------------------------------------------------------------------- */

static void start_with_slots(uint64_t slots)
{
    coex_gc_config config = quiet_config();
    config.shadow_stack_slots = slots;
    start_with(&config);
}

static void overflow_by_frames(void *unused)
{
    (void)unused;
    start_with_slots(100000);
    for (;;) coex_gc_enter_frame(9);
}

static void overflow_by_symbol(void *unused)
{
    (void)unused;
    start_with_slots(1024);
    for (;;) (coex_gc_enter_frame)(0);
}

static void overflow_by_roots(void *unused)
{
    (void)unused;
    start_with_slots(1024);
    coex_gc_enter_frame(1);
    for (;;) coex_gc_root(COEX_IMMEDIATE(1));
}

static void overflow_by_locals(void *unused)
{
    (void)unused;
    coex_handle local = 0, *locals[] = {&local, &local, &local};
    start_with_slots(1024);
    for (;;) coex_gc_push_frame(3, locals);
}

static void overflow_by_arguments(void *unused)
{
    (void)unused;
    coex_handle handle = 0;
    start_with_slots(1024);
    for (;;) coex_gc_enter_frame_with(5, 1, &handle);
}

TEST(overflow_is_reported_whichever_way_the_stack_is_used)
{
    expect_abort(overflow_by_frames, NULL, "shadow stack overflow");
    expect_abort(overflow_by_symbol, NULL, "shadow stack overflow");
    expect_abort(overflow_by_roots, NULL, "shadow stack overflow");
    expect_abort(overflow_by_locals, NULL, "shadow stack overflow");
    expect_abort(overflow_by_arguments, NULL, "shadow_stack_slots=1024");
}

/* 10,000 frames of ten words are 100,000; the stack may be somewhat larger, to the end of a page. */
TEST(overflow_names_the_depth)
{
    expect_abort(overflow_by_frames, NULL, "has 100");
    expect_abort(overflow_by_frames, NULL,
                 "frames and needs 10 more words of shadow_stack_slots=100000");
}

static int thread_id_pipe[2];

static void overflow_on_known_thread(void *unused)
{
    (void)unused;
    start_with_slots(1024);
    long id = syscall(SYS_gettid);
    if (write(thread_id_pipe[1], &id, sizeof id) != (ssize_t)sizeof id) return;
    for (;;) coex_gc_enter_frame(100);
}

TEST(overflow_names_the_thread)
{
    char why[2000] = "", expected[40];
    long id = 0;
    ck_assert_int_eq(pipe(thread_id_pipe), 0);
    /* Something that is not in the line, so that the verdict quotes it. */
    ck_assert_int_ne(test_abort_verdict(overflow_on_known_thread, NULL, "(no such text)", why, sizeof why), 0);
    ck_assert_int_eq(read(thread_id_pipe[0], &id, sizeof id), (ssize_t)sizeof id);
    snprintf(expected, sizeof expected, "overflow: thread %ld has 1", id);
    if (strstr(why, expected) == NULL) test_fail(__FILE__, __LINE__, "\"%s\" is not in: %s", expected, why);
}

static void *overflow_there(void *unused)
{
    coex_gc_register_thread();
    coex_gc_enter_frame(0);
    for (;;) coex_gc_enter_frame(100);
    return unused;
}

static void overflow_on_another_thread(void *unused)
{
    pthread_t thread;
    start_with_slots(1024);
    for (int i = 0; i < 100; i++) coex_gc_enter_frame(0);
    coex_gc_enter_native();
    if (pthread_create(&thread, NULL, overflow_there, unused) == 0) pthread_join(thread, NULL);
}

/* A thread's frames are counted, and no other's: 1,024 slots are ten of 101 words, or fifteen to the end of the page. */
TEST(overflow_of_a_thread_counts_its_own_frames) { expect_abort(overflow_on_another_thread, NULL, "has 1"); }

static void enter_absurd(void *slots)
{
    start_quiet();
    coex_gc_enter_frame(2);
    coex_gc_enter_frame(*(uint64_t *)slots);
}

static void enter_absurd_with(void *slots)
{
    coex_handle handle = 0;
    start_quiet();
    coex_gc_enter_frame_with(*(uint64_t *)slots, 1, &handle);
}

static void push_absurd(void *slots)
{
    coex_handle local = 0, *locals[] = {&local};
    start_quiet();
    coex_gc_push_frame(*(uint64_t *)slots, locals);
}

TEST(frames_of_absurd_size_are_an_overflow)
{
    static const uint64_t sizes[] = {
        ((uint64_t)1 << 24) + 4096, UINT32_MAX,        (uint64_t)1 << 32, (uint64_t)1 << 48, ((uint64_t)1 << 61) - 1,
        (uint64_t)1 << 61,          (uint64_t)1 << 63, UINT64_MAX - 1,    UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t slots = sizes[i];
        expect_abort(enter_absurd, &slots, "shadow stack overflow");
        expect_abort(enter_absurd_with, &slots, "shadow stack overflow");
        expect_abort(push_absurd, &slots, "shadow stack overflow");
    }
}

TEST_ABORTS(more_handles_than_slots_are_reported, "`count` is 3, but the frame has only 2 slots")
{
    coex_handle handles[3] = {0};
    start_quiet();
    coex_gc_enter_frame_with(2, 3, handles);
}

/* ---- unwinding -------------------------------------------------------------------------------------------- */

static void unwind_to(void *where)
{
    start_quiet();
    coex_handle *slots = coex_gc_enter_frame(3), *inner = coex_gc_enter_frame(1), local[2] = {0};
    switch (*(int *)where) {
    case 0:
        coex_gc_unwind_to(NULL);
        break;
    case 1:
        coex_gc_unwind_to(&local[1]);
        break;
    case 2:
        coex_gc_unwind_to(slots + 1);
        break;
    default: /* a frame that is left already */
        coex_gc_leave_frame(inner);
        coex_gc_unwind_to(inner);
        break;
    }
}

TEST(unwinding_to_what_begins_no_frame_is_reported)
{
    for (int where = 0; where < 4; where++)
        expect_abort(unwind_to, &where, "does not begin a frame of this thread");
}

/* ---- order, in checked builds ----------------------------------------------------------------------------- */

static void leave_wrongly(void *way)
{
    coex_handle local[3] = {0};
    start_quiet();
    coex_handle *outer = coex_gc_enter_frame(2), *inner = coex_gc_enter_frame(1);
    switch (*(int *)way) {
    case 0: /* not the top one */
        coex_gc_leave_frame(outer);
        break;
    case 1: /* not its beginning */
        coex_gc_leave_frame(inner + 1);
        break;
    case 2: /* twice */
        coex_gc_leave_frame(inner);
        coex_gc_leave_frame(inner);
        break;
    case 3: /* more than there are */
        coex_gc_leave_frame(inner);
        coex_gc_leave_frame(outer);
        coex_gc_leave_frame(outer);
        break;
    default:
        coex_gc_leave_frame(&local[1]);
        break;
    }
}

TEST(frame_left_out_of_order_is_reported_in_checked_builds)
{
    if (!test_is_checked()) return;
    for (int way = 0; way < 5; way++) expect_abort(leave_wrongly, &way, "are not those of the top frame");
}

static void pop_wrongly(void *way)
{
    coex_handle local = 0, *locals[] = {&local};
    start_quiet();
    coex_gc_frame *outer = coex_gc_push_frame(1, locals), *inner = coex_gc_push_frame(1, locals);
    switch (*(int *)way) {
    case 0:
        coex_gc_pop_frame(outer);
        break;
    case 1:
        coex_gc_enter_frame(1);
        coex_gc_pop_frame(inner);
        break;
    case 2:
        coex_gc_pop_frame(inner);
        coex_gc_pop_frame(inner);
        break;
    case 3:
        coex_gc_pop_frame(NULL);
        break;
    default: /* the frame that is never left */
        coex_gc_pop_frame(inner);
        coex_gc_pop_frame(outer);
        coex_gc_pop_frame(outer);
        break;
    }
}

TEST(frame_popped_out_of_order_is_reported_in_checked_builds)
{
    if (!test_is_checked()) return;
    for (int way = 0; way < 5; way++) expect_abort(pop_wrongly, &way, "is not the top frame");
}

static void root_badly(void *value)
{
    start_quiet();
    coex_gc_enter_frame(1);
    coex_gc_root(*(uint64_t *)value);
}

TEST(appended_root_that_names_no_object_is_reported_in_checked_builds)
{
    if (!test_is_checked()) return;
    static const uint64_t values[] = {77, (uint64_t)1 << 36, (uint64_t)1 << 63, ~COEX_IMMEDIATE_BIT};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        uint64_t value = values[i];
        expect_abort(root_badly, &value, "coex_gc_root");
    }
}

/* ---- native mode, in checked builds ----------------------------------------------------------------------- */

static void use_in_native_mode(void *way)
{
    start_quiet();
    uint32_t pairs = type_pair();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_gc_alloc(sizeof(pair), pairs);
    coex_gc_enter_native();
    switch (*(int *)way) {
    case 0:
        coex_gc_alloc(sizeof(pair), pairs);
        break;
    case 1:
        coex_gc_enter_frame(1);
        break;
    case 2:
        coex_gc_leave_frame(slots);
        break;
    case 3:
        coex_gc_handle_deref(slots[0]);
        break;
    case 4:
        coex_gc_root(0);
        break;
    case 5:
        coex_gc_safepoint();
        break;
    default:
        coex_gc_set_slot(slots, 0);
        break;
    }
}

TEST(managed_functions_in_native_mode_are_reported_in_checked_builds)
{
    if (!test_is_checked()) return;
    for (int way = 0; way < 7; way++) expect_abort(use_in_native_mode, &way, "is in native mode; leave it first");
}

TEST_ABORTS(leaving_native_mode_without_entering_is_reported, "coex_gc_leave_native: this thread is not in native mode")
{
    start_quiet();
    coex_gc_leave_native();
}

TEST_ABORTS(unregistration_in_native_mode_is_reported, "coex_gc_unregister_thread: this thread is in native mode")
{
    start_quiet();
    coex_gc_enter_native();
    coex_gc_unregister_thread();
}
