/*
 * Native mode, callbacks, pins, weak things and coroutines used as they must not be: one line each, and abort. What costs a look at
 * every call is looked for in checked builds only.
 */
#include "support/borders.h"

#include <pthread.h>

static coex_handle some; /* in a slot of the main thread for as long as a test runs */
static coex_handle *slots;
static coex_handle *locals[1];
static uint32_t pairs;
static coex_handle cell;
static coex_gc_stack *stack;

static void start(void)
{
    way_start();
    pairs = type_pair();
    slots = coex_gc_enter_frame(3);
    slots[0] = some = new_pair(pairs, 0, 1);
    locals[0] = &slots[1];
    stack = coex_gc_stack_create(10);
    expect(coex_gc_add_global_root(&cell) == COEX_GC_OK);
}

/* ---- INV-NATIVE-1: nothing managed in native mode --------------------------------------------------------------- */

static void touch_deref(void) { coex_gc_handle_deref(some); }
static void touch_load(void) { coex_gc_load(some, 0); }
static void touch_store(void) { coex_gc_store(some, 0, 0); }
static void touch_init_ref(void) { coex_gc_init_ref(some, 0, 0); }
static void touch_exchange(void) { coex_gc_exchange(some, 0, 0); }
static void touch_compare_exchange(void)
{
    coex_handle expected = 0;
    coex_gc_compare_exchange(some, 0, &expected, 0);
}
static void touch_alloc(void) { coex_gc_alloc(sizeof(pair), pairs); }
static void touch_alloc_at(void)
{
    void *payload;
    coex_gc_alloc_at(sizeof(pair), pairs, &payload);
}
static void touch_enter_frame(void) { coex_gc_enter_frame(1); }
static void touch_enter_frame_with(void) { coex_gc_enter_frame_with(1, 1, &some); }
static void touch_leave_frame(void) { coex_gc_leave_frame(slots); }
static void touch_push_frame(void) { coex_gc_push_frame(1, locals); }
static void touch_unwind(void) { coex_gc_unwind_to(slots); }
static void touch_root(void) { coex_gc_root(some); }
static void touch_set_slot(void) { coex_gc_set_slot(&slots[1], some); }
static void touch_set_root(void) { coex_gc_set_root(locals, 0, some); }
static void touch_global_store(void) { coex_gc_global_store(&cell, some); }
static void touch_remove_root(void) { coex_gc_remove_global_root(&cell); }
static void touch_safepoint(void) { coex_gc_safepoint(); }
static void touch_spawn(void) { coex_gc_spawn_prepare(some); }
static void touch_pin(void) { coex_gc_pin(some); }
static void touch_unpin(void) { coex_gc_unpin(some); }
static void touch_freeze(void) { coex_gc_freeze(some); }
static void touch_weak_new(void) { coex_gc_weak_new(some); }
static void touch_weak_get(void) { coex_gc_weak_get(some); }
static void touch_ephemeron_new(void) { coex_gc_ephemeron_new(some, some); }
static void touch_ephemeron_key(void) { coex_gc_ephemeron_key(some); }
static void touch_ephemeron_value(void) { coex_gc_ephemeron_value(some); }
static void touch_finalize(void) { coex_gc_finalize(1); }
static void touch_stack_create(void) { coex_gc_stack_create(10); }
static void touch_stack_switch(void) { coex_gc_stack_switch(stack); }
static void touch_stack_destroy(void) { coex_gc_stack_destroy(stack); }

static const struct touch {
    void (*touch)(void);
    const char *line;
} touches[] = {
    {touch_deref, "coex_gc_handle_deref: this thread is in native mode"},
    {touch_load, "coex_gc_load: this thread is in native mode"},
    {touch_store, "coex_gc_store: this thread is in native mode"},
    {touch_init_ref, "coex_gc_init_ref: this thread is in native mode"},
    {touch_exchange, "coex_gc_exchange: this thread is in native mode"},
    {touch_compare_exchange, "coex_gc_compare_exchange: this thread is in native mode"},
    {touch_alloc, "coex_gc_alloc: this thread is in native mode"},
    {touch_alloc_at, "coex_gc_alloc_at: this thread is in native mode"},
    {touch_enter_frame, "coex_gc_enter_frame: this thread is in native mode"},
    {touch_enter_frame_with, "coex_gc_enter_frame_with: this thread is in native mode"},
    {touch_leave_frame, "coex_gc_leave_frame: this thread is in native mode"},
    {touch_push_frame, "coex_gc_push_frame: this thread is in native mode"},
    {touch_unwind, "coex_gc_unwind_to: this thread is in native mode"},
    {touch_root, "coex_gc_root: this thread is in native mode"},
    {touch_set_slot, "coex_gc_set_slot: this thread is in native mode"},
    {touch_set_root, "coex_gc_set_root: this thread is in native mode"},
    {touch_global_store, "coex_gc_global_store: this thread is in native mode"},
    {touch_remove_root, "coex_gc_remove_global_root: this thread is in native mode"},
    {touch_safepoint, "coex_gc_safepoint: this thread is in native mode"},
    {touch_spawn, "coex_gc_spawn_prepare: this thread is in native mode"},
    {touch_pin, "coex_gc_pin: this thread is in native mode"},
    {touch_unpin, "coex_gc_unpin: this thread is in native mode"},
    {touch_freeze, "coex_gc_freeze: this thread is in native mode"},
    {touch_weak_new, "coex_gc_weak_new: this thread is in native mode"},
    {touch_weak_get, "coex_gc_weak_get: this thread is in native mode"},
    {touch_ephemeron_new, "coex_gc_ephemeron_new: this thread is in native mode"},
    {touch_ephemeron_key, "coex_gc_ephemeron_key: this thread is in native mode"},
    {touch_ephemeron_value, "coex_gc_ephemeron_value: this thread is in native mode"},
    {touch_finalize, "coex_gc_finalize: this thread is in native mode"},
    {touch_stack_create, "coex_gc_stack_create: this thread is in native mode"},
    {touch_stack_switch, "coex_gc_stack_switch: this thread is in native mode"},
    {touch_stack_destroy, "coex_gc_stack_destroy: this thread is in native mode"},
};

static void touch_in_native_mode(void *index)
{
    start();
    coex_gc_enter_native();
    touches[*(size_t *)index].touch();
}

TEST_TIMEOUT(whatever_touches_a_handle_or_a_slot_in_native_mode_is_reported, 40)
{
    if (!test_is_checked()) return;
    for (size_t i = 0; i < sizeof touches / sizeof touches[0]; i++) expect_abort(touch_in_native_mode, &i, touches[i].line);
}

static void *come_back_between(void *unused)
{
    coex_gc_leave_managed(); /* nobody has entered, on a thread that is not registered */
    return unused;
}

/* ---- transitions that don't match --------------------------------------------------------------------------------- */

TEST_ABORTS(leave_native_without_enter_is_reported, "coex_gc_leave_native: this thread is not in native mode")
{
    start();
    coex_gc_leave_native();
}

TEST_ABORTS(leave_native_once_too_often_is_reported, "coex_gc_leave_native: this thread is not in native mode")
{
    start();
    coex_gc_enter_native();
    coex_gc_enter_native();
    coex_gc_leave_native();
    coex_gc_leave_native();
    coex_gc_leave_native();
}

TEST_ABORTS(leave_managed_without_a_frame_or_an_enter_is_reported, "coex_gc_leave_managed")
{
    way_start();
    coex_gc_leave_managed();
}

TEST_ABORTS(leave_managed_without_an_enter_is_reported, "coex_gc_leave_managed")
{
    start();
    coex_gc_leave_managed();
}

TEST_ABORTS(leave_managed_in_native_mode_is_reported, "coex_gc_leave_managed")
{
    start();
    coex_gc_enter_native();
    coex_gc_leave_managed();
}

TEST_ABORTS(leave_managed_on_an_unknown_thread_is_reported, "coex_gc_leave_managed: this thread")
{
    pthread_t thread;
    start();
    coex_gc_enter_native();
    if (pthread_create(&thread, NULL, come_back_between, NULL) == 0) pthread_join(thread, NULL);
}

TEST_ABORTS(leave_managed_with_a_frame_left_over_is_reported, "frames have not been left")
{
    start();
    expect(coex_gc_enter_managed());
    coex_gc_enter_frame(2);
    coex_gc_leave_managed();
}

/* A frame that looks much like the one that enter_managed makes. */
TEST_ABORTS(leave_managed_with_a_frame_of_an_immediate_left_over_is_reported,
            "frames have not been left")
{
    start();
    expect(coex_gc_enter_managed());
    coex_gc_enter_frame(1)[0] = COEX_IMMEDIATE(0);
    coex_gc_leave_managed();
}

TEST_ABORTS(leave_managed_after_a_root_was_appended_is_reported, "frames have not been left")
{
    start();
    expect(coex_gc_enter_managed());
    coex_gc_root(some);
    coex_gc_leave_managed();
}

TEST_ABORTS(unregistering_in_native_mode_is_reported, "coex_gc_unregister_thread: this thread is in native mode")
{
    start();
    coex_gc_enter_native();
    coex_gc_unregister_thread();
}

static void *come_back_after_shutdown(void *unused)
{
    coex_gc_register_thread();
    coex_gc_enter_native();
    flag_set(unused);
    while (coex_gc_get_current_thread() != NULL) usleep(100); /* NULL when the runtime is gone */
    coex_gc_leave_native();
    return NULL;
}

TEST_ABORTS(a_native_thread_that_comes_back_after_the_shutdown_is_told_so, "the runtime is not initialised (or was shut down)")
{
    pthread_t thread;
    test_flag away = {0};
    start();
    if (pthread_create(&thread, NULL, come_back_after_shutdown, &away) != 0) return;
    COEX_GC_NATIVE(flag_await(&away));
    coex_gc_shutdown();
    pthread_join(thread, NULL);
}

static void *stay_managed(void *here)
{
    coex_gc_register_thread();
    flag_set(here);
    for (;;) usleep(1000);
    return NULL;
}

static void shut_down_beside_managed_thread(bool collecting)
{
    pthread_t thread;
    test_flag here = {0};
    start();
    if (pthread_create(&thread, NULL, stay_managed, &here) != 0) return;
    COEX_GC_NATIVE(flag_await(&here));
    if (collecting) coex_gc_async();
    coex_gc_shutdown();
}

TEST_ABORTS(shutdown_beside_a_managed_thread_is_reported, "is still in managed mode")
{
    shut_down_beside_managed_thread(false);
}

/* It owes an answer, and will never give it: not a reason to hang. */
TEST_ABORTS(shutdown_beside_a_managed_thread_is_reported_while_a_cycle_runs,
            "is still in managed mode")
{
    shut_down_beside_managed_thread(true);
}

/* ---- pins ------------------------------------------------------------------------------------------------------------ */

TEST_ABORTS(unpinning_what_was_never_pinned_is_reported, "is not pinned")
{
    start();
    coex_gc_unpin(some);
}

TEST_ABORTS(unpinning_once_too_often_is_reported, "is not pinned")
{
    start();
    coex_gc_pin(some);
    coex_gc_pin(some);
    coex_gc_unpin(some);
    coex_gc_unpin(some);
    coex_gc_unpin(some);
}

TEST_ABORTS(pinning_null_is_reported, "coex_gc_pin")
{
    start();
    coex_gc_pin(0);
}
TEST_ABORTS(pinning_an_immediate_is_reported, "coex_gc_pin")
{
    start();
    coex_gc_pin(COEX_IMMEDIATE(3));
}

/* ---- weak things ------------------------------------------------------------------------------------------------------ */

TEST_ABORTS(weak_get_of_an_ordinary_object_is_reported, "coex_gc_weak_get")
{
    start();
    coex_gc_weak_get(some);
}
TEST_ABORTS(weak_get_of_an_ephemeron_is_reported, "coex_gc_weak_get")
{
    start();
    coex_gc_weak_get(coex_gc_ephemeron_new(some, some));
}
TEST_ABORTS(ephemeron_key_of_a_weak_reference_is_reported, "coex_gc_ephemeron_key")
{
    start();
    coex_gc_ephemeron_key(coex_gc_weak_new(some));
}
TEST_ABORTS(ephemeron_value_of_null_is_reported, "coex_gc_ephemeron_value")
{
    start();
    coex_gc_ephemeron_value(0);
}

/* A copy made by hand would be in no list: nobody would ever clear it. */
TEST_ABORTS(allocating_with_the_type_of_a_weak_reference_is_reported, "coex_gc_alloc")
{
    start();
    slots[1] = coex_gc_weak_new(some);
    coex_gc_alloc(coex_gc_size(slots[1]), coex_gc_type_of(slots[1]));
}

TEST_ABORTS(allocating_with_the_type_of_an_ephemeron_is_reported, "coex_gc_alloc")
{
    start();
    slots[1] = coex_gc_ephemeron_new(some, some);
    coex_gc_alloc(coex_gc_size(slots[1]), coex_gc_type_of(slots[1]));
}

static void store_into_ephemeron(void *unused)
{
    (void)unused;
    start();
    slots[1] = coex_gc_ephemeron_new(some, some);
    coex_gc_store(slots[1], 0, some);
}

static void exchange_in_weak(void *unused)
{
    (void)unused;
    start();
    slots[1] = coex_gc_weak_new(some);
    coex_gc_exchange(slots[1], 0, 0);
}

static void load_from_weak(void *unused)
{
    (void)unused;
    start();
    slots[1] = coex_gc_weak_new(some);
    coex_gc_load(slots[1], 0);
}

TEST(the_cells_of_weak_things_are_not_fields)
{
    if (!test_is_checked()) return;
    expect_abort(store_into_ephemeron, NULL, "coex_gc_store");
    expect_abort(exchange_in_weak, NULL, "coex_gc_exchange");
    expect_abort(load_from_weak, NULL, "coex_gc_load");
}

/* ---- coroutines -------------------------------------------------------------------------------------------------------- */

static test_flag on_stack;

static void *go_to_stack(void *unused)
{
    coex_gc_register_thread();
    coex_gc_stack_switch(stack);
    flag_set(&on_stack);
    coex_gc_enter_native();
    for (;;) usleep(1000);
    return unused;
}

static void send_somebody_to_stack(void)
{
    pthread_t thread;
    start();
    if (pthread_create(&thread, NULL, go_to_stack, NULL) != 0) return;
    COEX_GC_NATIVE(flag_await(&on_stack));
}

TEST_ABORTS(switching_to_a_stack_that_a_thread_is_on_is_reported, "coex_gc_stack_switch: stack")
{
    send_somebody_to_stack();
    coex_gc_stack_switch(stack);
}

TEST_ABORTS(destroying_a_stack_that_a_thread_is_on_is_reported, "coex_gc_stack_destroy: stack")
{
    send_somebody_to_stack();
    coex_gc_stack_destroy(stack);
}

TEST_ABORTS(destroying_the_stack_one_is_on_is_reported, "coex_gc_stack_destroy")
{
    start();
    coex_gc_stack_switch(stack);
    coex_gc_stack_destroy(stack);
}

TEST_ABORTS(destroying_a_threads_own_stack_is_reported, "was not created by coex_gc_stack_create")
{
    start();
    coex_gc_stack_destroy(coex_gc_stack_switch(stack));
}

TEST_ABORTS(switching_to_a_stack_that_was_destroyed_is_reported, "coex_gc_stack_switch: stack")
{
    start();
    coex_gc_stack_destroy(stack);
    coex_gc_stack_switch(stack);
}

TEST_ABORTS(destroying_a_stack_twice_is_reported, "coex_gc_stack_destroy")
{
    start();
    coex_gc_stack_destroy(stack);
    coex_gc_stack_destroy(stack);
}

TEST_ABORTS(switching_to_no_stack_is_reported, "coex_gc_stack_switch")
{
    start();
    coex_gc_stack_switch(NULL);
}
TEST_ABORTS(destroying_no_stack_is_reported, "coex_gc_stack_destroy")
{
    start();
    coex_gc_stack_destroy(NULL);
}

/* 10 slots were asked for; a stack may have some more, and says how many. */
TEST_ABORTS(overflow_of_a_coroutine_stack_is_reported, "shadow stack overflow")
{
    start();
    coex_gc_stack_switch(stack);
    for (;;) coex_gc_enter_frame(1);
}

TEST_ABORTS(overflow_of_a_coroutine_stack_names_its_own_size, "64")
{
    start();
    coex_gc_stack_switch(stack);
    for (;;) coex_gc_enter_frame(30);
}

TEST_ABORTS(appending_roots_beyond_a_coroutine_stack_is_reported, "shadow stack overflow")
{
    start();
    coex_gc_stack_switch(stack);
    coex_gc_enter_frame(1);
    for (;;) coex_gc_root(some);
}

/* ---- steps ------------------------------------------------------------------------------------------------------------- */

TEST_ABORTS(a_step_beside_a_gc_thread_is_reported, "coex_gc_step: there is a GC thread")
{
    start();
    coex_gc_step(100);
}

TEST_ABORTS(a_step_of_an_unregistered_thread_is_reported, "coex_gc_step: this thread")
{
    way_threads = 0;
    way_start();
    coex_gc_unregister_thread();
    coex_gc_step(100);
}
