/*
 * fork from wherever a thread can be: not registered, native, in a callback, on a coroutine; and what becomes of the stacks of others.
 */
#include "support/forks.h"

static void *forking(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    void *result = NULL;
    expect(pthread_create(&thread, NULL, body, argument) == 0);
    COEX_GC_NATIVE(pthread_join(thread, &result));
    return result;
}

static void start(void)
{
    coex_gc_config config = busy_config();
    start_kept(&config);
    coex_gc_global_store(&shared, kept[1]);
}

/* What any thread of a child can do: it registers, finds what is in the global root, and goes on. */
static void use_after_registering(void)
{
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_gc_global_load(&shared);
    node_expect(slots[0], kept_id[1]);
    coex_gc_collect();
    make_garbage(3000);
    coex_gc_collect();
    node_expect(slots[0], kept_id[1]);
    coex_gc_leave_frame(slots);
}

/* ---- not registered ----------------------------------------------------------------------------------------------- */

static void child_of_unknown(void)
{
    expect_eq(stats_now().registered_thread_count, 0);
    coex_gc_collect();
    use_after_registering();
    expect_eq(stats_now().registered_thread_count, 1);
    coex_gc_shutdown();
}

static void child_of_unknown_shuts_down(void) { coex_gc_shutdown(); /* nobody is managed: the forking thread may */ }

static void *fork_unregistered(void *unused)
{
    for (unsigned i = 0; i < scaled(20, 3); i++) {
        coex_gc_async();
        wait_for(fork_and(i % 2 ? child_of_unknown : child_of_unknown_shuts_down));
    }
    return unused;
}

static void from_unregistered(void)
{
    start();
    forking(fork_unregistered, NULL);
    child_looks();
    stop_kept();
}

TEST_LABEL(a_thread_that_is_not_registered_may_fork, forks)
TEST(a_thread_that_is_not_registered_may_fork) { both_ways(from_unregistered); }

/* ---- native, and callbacks ------------------------------------------------------------------------------------------ */

static void child_of_native(void)
{
    coex_gc_collect(); /* in native mode, as it was */
    coex_gc_leave_native();
    child_looks();
    stop_kept();
}

static void from_native(void)
{
    start();
    for (unsigned i = 0; i < scaled(20, 3); i++) {
        coex_gc_async();
        coex_gc_enter_native();
        wait_for(fork_and(child_of_native));
        coex_gc_leave_native();
    }
    child_looks();
    stop_kept();
}

TEST_LABEL(a_thread_in_native_mode_may_fork, forks)
TEST(a_thread_in_native_mode_may_fork) { both_ways(from_native); }

static coex_handle *callback_slots;
static uint64_t callback_id;

static void child_of_callback(void)
{
    node_expect(callback_slots[0], callback_id);
    coex_gc_collect();
    node_expect(callback_slots[0], callback_id);
    coex_gc_leave_frame(callback_slots);
    coex_gc_leave_managed();
    coex_gc_collect();
    expect(coex_gc_enter_managed());
    use_after_registering();
    coex_gc_shutdown();
}

static void child_between_callbacks(void)
{
    coex_gc_collect();
    expect(coex_gc_enter_managed());
    use_after_registering();
    coex_gc_leave_managed();
    expect_eq(stats_now().registered_thread_count, 1);
}

static void *fork_in_callbacks(void *unused)
{
    expect(coex_gc_enter_managed());
    callback_slots = coex_gc_enter_frame(1);
    callback_slots[0] = new_leaf();
    callback_id = node_id(callback_slots[0]);
    coex_gc_async();
    fork_and_wait(child_of_callback);
    coex_gc_leave_frame(callback_slots);
    coex_gc_leave_managed();
    wait_for(fork_and(child_between_callbacks));
    return unused;
}

static void from_callbacks(void)
{
    start();
    for (int i = 0; i < 5; i++) forking(fork_in_callbacks, NULL);
    child_looks();
    stop_kept();
}

TEST_LABEL(a_foreign_thread_may_fork_in_a_callback_and_between_two, forks)
TEST(a_foreign_thread_may_fork_in_a_callback_and_between_two) { both_ways(from_callbacks); }

/* ---- coroutines -------------------------------------------------------------------------------------------------------- */

enum { STACKS = 50, LEVELS = 30 };

static coex_gc_stack *stacks[STACKS], *home;
static coex_handle *stack_slots[STACKS];
static uint64_t stack_id[STACKS];

/* Each stack has frames, the lowest with a leaf. */
static void fill_stack(int i)
{
    stacks[i] = coex_gc_stack_create(500);
    expect(stacks[i] != NULL);
    coex_gc_stack *before = coex_gc_stack_switch(stacks[i]);
    stack_slots[i] = coex_gc_enter_frame(2);
    stack_slots[i][0] = new_leaf();
    stack_id[i] = node_id(stack_slots[i][0]);
    for (int k = 0; k < LEVELS; k++) coex_gc_enter_frame(3)[1] = new_leaf();
    coex_gc_stack_switch(before);
}

static void visit_stacks(int but)
{
    for (int i = 0; i < STACKS; i++) {
        if (i == but) continue;
        coex_gc_stack *before = coex_gc_stack_switch(stacks[i]);
        make_garbage(20);
        node_expect(stack_slots[i][0], stack_id[i]);
        coex_gc_stack_switch(before);
    }
}

static void child_with_stacks(void)
{
    visit_stacks(0); /* it is on 0 itself */
    coex_gc_collect();
    make_garbage(3000);
    visit_stacks(0);
    coex_gc_unwind_to(stack_slots[0]);
    node_expect(stack_slots[0][0], stack_id[0]);
    coex_gc_stack_switch(home);
    child_looks();
    for (int i = 0; i < STACKS; i++) coex_gc_stack_destroy(stacks[i]);
    coex_gc_collect();
    stop_kept();
}

static void on_coroutine(void)
{
    start();
    for (int i = 0; i < STACKS; i++) fill_stack(i);
    home = coex_gc_stack_switch(stacks[0]);
    for (unsigned i = 0; i < scaled(30, 4); i++) {
        coex_gc_async();
        make_garbage((unsigned)i * 50);
        fork_and_wait(child_with_stacks);
        visit_stacks(0);
    }
    coex_gc_stack_switch(home);
    child_looks();
    stop_kept();
}

TEST_LABEL(a_thread_on_a_coroutine_may_fork_and_has_all_stacks, forks)
TEST_TIMEOUT(a_thread_on_a_coroutine_may_fork_and_has_all_stacks, 60) { both_ways(on_coroutine); }

static test_flag on_stack, leave_stack;

static void *stay_on_stack(void *unused)
{
    coex_gc_register_thread();
    coex_gc_stack_switch(stacks[0]);
    coex_gc_enter_native();
    flag_set(&on_stack);
    flag_await(&leave_stack);
    coex_gc_leave_native();
    node_verify(stack_slots[0][0]);
    return unused;
}

/* The thread that was on it is not there any more: what it had is gone, the stack is empty and can be used. */
static void child_without_fellow(void)
{
    coex_gc_stack *before = coex_gc_stack_switch(stacks[0]);
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_leaf();
    coex_gc_collect();
    node_verify(slots[0]);
    coex_gc_leave_frame(slots);
    coex_gc_stack_switch(before);
    visit_stacks(0);
    coex_gc_stack_destroy(stacks[0]);
    child_looks();
    stop_kept();
}

static void stack_of_another(void)
{
    pthread_t thread;
    start();
    flag_clear(&on_stack);
    flag_clear(&leave_stack);
    for (int i = 0; i < STACKS; i++) fill_stack(i);
    expect(pthread_create(&thread, NULL, stay_on_stack, NULL) == 0);
    COEX_GC_NATIVE(flag_await(&on_stack));
    for (int i = 0; i < 5; i++) {
        coex_gc_async();
        fork_and_wait(child_without_fellow);
    }
    flag_set(&leave_stack);
    COEX_GC_NATIVE(pthread_join(thread, NULL));
    child_looks();
    stop_kept();
}

TEST_LABEL(a_stack_that_another_thread_was_on_is_empty_in_the_child, forks)
TEST(a_stack_that_another_thread_was_on_is_empty_in_the_child) { both_ways(stack_of_another); }

/* ---- what else is inherited ---------------------------------------------------------------------------------------------- */

static coex_handle pinned;

static void child_with_pins(void)
{
    coex_gc_collect();
    make_garbage(3000);
    coex_gc_collect();
    node_verify(pinned);
    expect_eq(stats_now().pins, 1);
    expect_eq(stats_now().external_bytes, 1000);
    coex_gc_unpin(pinned);
    coex_gc_collect();
    expect(!coex_gc_is_handle(pinned));
    stop_kept();
}

static void pins_and_the_rest(void)
{
    start();
    pinned = new_leaf();
    coex_gc_pin(pinned);
    coex_gc_adjust_external(1000);
    coex_gc_async();
    fork_and_wait(child_with_pins);
    child_looks();
    node_verify(pinned);
    stop_kept();
}

TEST_LABEL(pins_and_external_memory_are_inherited, forks)
TEST(pins_and_external_memory_are_inherited) { both_ways(pins_and_the_rest); }

static void child_without_runtime(void)
{
    coex_gc_config config = busy_config();
    start_kept(&config);
    child_looks();
    stop_kept();
}

TEST_LABEL(a_fork_without_a_runtime_is_as_ever, forks)
TEST(a_fork_without_a_runtime_is_as_ever)
{
    start();
    stop_kept();
    wait_for(fork_and(child_without_runtime));
    start();
    child_looks();
    stop_kept();
}
