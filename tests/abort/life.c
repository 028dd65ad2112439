/*
 * Use before init, after shutdown, and from a thread that is not registered: one line that says so, and abort.
 */
#include "support/objects.h"

#include <pthread.h>

/* Every function that needs a runtime or a registered thread, with arguments that are otherwise harmless. */
static coex_handle cell;
static coex_handle *locals[] = {&cell};

static void call_alloc(void) { coex_gc_alloc(16, 1); }
static void call_alloc_symbol(void) { (coex_gc_alloc)(16, 1); }
static void call_alloc_at(void)
{
    void *payload;
    coex_gc_alloc_at(16, 1, &payload);
}
static void call_enter_frame(void) { coex_gc_enter_frame(1); }
static void call_enter_large_frame(void) { coex_gc_enter_frame(100000); }
static void call_enter_frame_with(void) { coex_gc_enter_frame_with(1, 1, &cell); }
static void call_push_frame(void) { coex_gc_push_frame(1, locals); }
static void call_pop_frame(void) { coex_gc_pop_frame((coex_gc_frame *)(void *)&cell); }
static void call_unwind_to(void) { coex_gc_unwind_to(&cell); }
static void call_root(void) { coex_gc_root(0); }
static void call_set_slot(void) { coex_gc_set_slot(&cell, 0); }
static void call_set_root(void) { coex_gc_set_root(locals, 0, 0); }
static void call_add_global_root(void) { coex_gc_add_global_root(&cell); }
static void call_remove_global_root(void) { coex_gc_remove_global_root(&cell); }
static void call_global_store(void) { coex_gc_global_store(&cell, 0); }
static void call_safepoint(void) { coex_gc_safepoint(); }
static void call_exchange(void) { coex_gc_exchange(1, 0, 0); }
static void call_compare_exchange(void) { coex_gc_compare_exchange(1, 0, &cell, 0); }
static void call_spawn_prepare(void) { coex_gc_spawn_prepare(0); }
static void call_enter_native(void) { coex_gc_enter_native(); }
static void call_leave_native(void) { coex_gc_leave_native(); }
static void call_register_thread(void) { coex_gc_register_thread(); }
static void call_size(void) { coex_gc_size(1); }
static void call_type_of(void) { coex_gc_type_of(1); }
static void call_collect(void) { coex_gc_collect(); }
static void call_async(void) { coex_gc_async(); }
static void call_wait(void) { coex_gc_wait_for_completion(); }
static void call_set_trigger(void) { coex_gc_set_trigger_threshold(5); }
static void call_spawn_attach(void) { coex_gc_spawn_attach((coex_gc_spawn *)(void *)&cell); }
static void call_freeze(void) { coex_gc_freeze(1); }
static void call_pin(void) { coex_gc_pin(1); }
static void call_unpin(void) { coex_gc_unpin(1); }
static void call_weak_new(void) { coex_gc_weak_new(0); }
static void call_weak_get(void) { coex_gc_weak_get(1); }
static void call_ephemeron_new(void) { coex_gc_ephemeron_new(0, 0); }
static void call_ephemeron_key(void) { coex_gc_ephemeron_key(1); }
static void call_ephemeron_value(void) { coex_gc_ephemeron_value(1); }
static void call_finalize(void) { coex_gc_finalize(1); }
static void call_step(void) { coex_gc_step(1); }
static void call_leave_managed(void) { coex_gc_leave_managed(); }
static void call_adjust_external(void) { coex_gc_adjust_external(1); }
static void call_stack_create(void) { coex_gc_stack_create(10); }
static void call_stack_switch(void) { coex_gc_stack_switch(NULL); }
static void call_stack_destroy(void) { coex_gc_stack_destroy(NULL); }
static void call_spawn_cancel(void) { coex_gc_spawn_cancel((coex_gc_spawn *)(void *)&cell); }

/* Both allocations have one slow path; only in checked builds does each look by itself, and do these fast paths look at anything. */
#ifdef COEX_GC_CHECKED
#define ALLOC_AT "coex_gc_alloc_at"
static void call_deref(void) { coex_gc_handle_deref(64); }
static void call_load(void) { coex_gc_load(64, 0); }
static void call_store(void) { coex_gc_store(64, 0, 0); }
static void call_init_ref(void) { coex_gc_init_ref(64, 0, 0); }
static void call_leave_frame(void) { coex_gc_leave_frame(&cell); }
#else
#define ALLOC_AT "coex_gc_alloc"
#endif

static const struct entry {
    const char *name;
    void (*call)(void);
    bool any_thread; /* needs a runtime, but no registration */
} entries[] = {
    {"coex_gc_alloc", call_alloc, false},
    {"coex_gc_alloc", call_alloc_symbol, false},
    {ALLOC_AT, call_alloc_at, false},
    {"coex_gc_enter_frame", call_enter_frame, false},
    {"coex_gc_enter_frame", call_enter_large_frame, false},
    {"coex_gc_enter_frame_with", call_enter_frame_with, false},
    {"coex_gc_push_frame", call_push_frame, false},
    {"coex_gc_pop_frame", call_pop_frame, false},
    {"coex_gc_unwind_to", call_unwind_to, false},
    {"coex_gc_root", call_root, false},
    {"coex_gc_set_slot", call_set_slot, false},
    {"coex_gc_set_root", call_set_root, false},
    {"coex_gc_add_global_root", call_add_global_root, false},
    {"coex_gc_remove_global_root", call_remove_global_root, false},
    {"coex_gc_global_store", call_global_store, false},
    {"coex_gc_safepoint", call_safepoint, false},
    {"coex_gc_exchange", call_exchange, false},
    {"coex_gc_compare_exchange", call_compare_exchange, false},
    {"coex_gc_spawn_prepare", call_spawn_prepare, false},
    {"coex_gc_enter_native", call_enter_native, false},
    {"coex_gc_leave_native", call_leave_native, false},
    {"coex_gc_freeze", call_freeze, false},
    {"coex_gc_pin", call_pin, false},
    {"coex_gc_unpin", call_unpin, false},
    {"coex_gc_weak_new", call_weak_new, false},
    {"coex_gc_weak_get", call_weak_get, false},
    {"coex_gc_ephemeron_new", call_ephemeron_new, false},
    {"coex_gc_ephemeron_key", call_ephemeron_key, false},
    {"coex_gc_ephemeron_value", call_ephemeron_value, false},
    {"coex_gc_finalize", call_finalize, false},
    {"coex_gc_step", call_step, false},
    {"coex_gc_leave_managed", call_leave_managed, false},
    {"coex_gc_stack_create", call_stack_create, false},
    {"coex_gc_stack_switch", call_stack_switch, false},
    {"coex_gc_stack_destroy", call_stack_destroy, false},
#ifdef COEX_GC_CHECKED
    {"coex_gc_handle_deref", call_deref, false},
    {"coex_gc_load", call_load, false},
    {"coex_gc_store", call_store, false},
    {"coex_gc_init_ref", call_init_ref, false},
    {"coex_gc_leave_frame", call_leave_frame, false},
#endif
    {"coex_gc_adjust_external", call_adjust_external, true},
    {"coex_gc_register_thread", call_register_thread, true},
    {"coex_gc_size", call_size, true},
    {"coex_gc_type_of", call_type_of, true},
    {"coex_gc_collect", call_collect, true},
    {"coex_gc_async", call_async, true},
    {"coex_gc_wait_for_completion", call_wait, true},
    {"coex_gc_set_trigger_threshold", call_set_trigger, true},
    {"coex_gc_spawn_attach", call_spawn_attach, true},
    {"coex_gc_spawn_cancel", call_spawn_cancel, true},
};

enum { ENTRIES = sizeof entries / sizeof entries[0] };

static void before_init(void *entry) { ((const struct entry *)entry)->call(); }

static void after_shutdown(void *entry)
{
    start_quiet();
    coex_gc_alloc(sizeof(pair), type_pair());
    coex_gc_shutdown();
    ((const struct entry *)entry)->call();
}

static void *on_another_thread(void *entry)
{
    ((const struct entry *)entry)->call();
    return NULL;
}

static void unregistered(void *entry)
{
    pthread_t thread;
    start_quiet();
    coex_gc_alloc(sizeof(pair), type_pair());
    if (pthread_create(&thread, NULL, on_another_thread, entry) == 0) pthread_join(thread, NULL);
}

static void unregistered_again(void *entry)
{
    start_quiet();
    coex_gc_alloc(sizeof(pair), type_pair());
    coex_gc_unregister_thread();
    ((const struct entry *)entry)->call();
}

/* The line names the function, then says what is wrong. */
static void expect_reported(void (*when)(void *), const struct entry *entry, const char *what)
{
    struct entry copy = *entry;
    char line[200];
    snprintf(line, sizeof line, "%s: %s", entry->name, what);
    expect_abort(when, &copy, line);
}

TEST(use_before_init_is_reported_by_every_function)
{
    for (int i = 0; i < ENTRIES; i++) expect_reported(before_init, &entries[i], "the runtime is not initialised");
}

TEST(use_after_shutdown_is_reported_by_every_function)
{
    for (int i = 0; i < ENTRIES; i++)
        expect_reported(after_shutdown, &entries[i], "the runtime is not initialised (or was shut down)");
}

TEST(use_from_a_thread_that_is_not_registered_is_reported)
{
    for (int i = 0; i < ENTRIES; i++) {
        if (!entries[i].any_thread) expect_reported(unregistered, &entries[i], "this thread (");
    }
}

TEST(use_after_unregistration_is_reported)
{
    for (int i = 0; i < ENTRIES; i++) {
        if (!entries[i].any_thread) expect_reported(unregistered_again, &entries[i], "this thread (");
    }
}

/* What needs neither: no line, no abort. */
TEST(functions_that_need_no_runtime_work_without_one)
{
    coex_gc_object info;
    coex_gc_stats stats;
    ck_assert(!coex_gc_is_handle(1));
    ck_assert(!coex_gc_object_info(1, &info));
    ck_assert_uint_eq(coex_gc_size(0), 0);
    ck_assert_uint_eq(coex_gc_type_of(0), 0);
    ck_assert_ptr_null(coex_gc_handle_deref(0));
    ck_assert_ptr_null(coex_gc_get_current_thread());
    coex_gc_get_stats(&stats);
    ck_assert_uint_eq(stats.total_allocations, 0);
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_unregister_thread();
    coex_gc_shutdown();
}

/* ---- shutdown --------------------------------------------------------------------------------------------- */

static pthread_barrier_t step;

static void *stay_managed(void *unused)
{
    coex_gc_register_thread();
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    return unused;
}

TEST_ABORTS(shutdown_beside_a_managed_thread_is_reported, "is still in managed mode")
{
    pthread_t thread;
    start_quiet();
    pthread_barrier_init(&step, NULL, 2);
    if (pthread_create(&thread, NULL, stay_managed, NULL) != 0) return;
    pthread_barrier_wait(&step);
    coex_gc_shutdown();
}

static void *stay_native(void *unused)
{
    coex_gc_register_thread();
    coex_gc_enter_native();
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    coex_gc_leave_native();
    return unused;
}

static void come_back_too_late(void *again)
{
    pthread_t thread;
    start_quiet();
    pthread_barrier_init(&step, NULL, 2);
    if (pthread_create(&thread, NULL, stay_native, NULL) != 0) return;
    pthread_barrier_wait(&step);
    coex_gc_shutdown();
    if (*(bool *)again) start_quiet();
    pthread_barrier_wait(&step);
    pthread_join(thread, NULL);
}

TEST(native_thread_that_comes_back_after_shutdown_is_reported)
{
    bool again = false;
    expect_abort(come_back_too_late, &again, "coex_gc_leave_native: the runtime is not initialised (or was shut down)");
    again = true; /* another runtime is up by then: its record is not that one's */
    expect_abort(come_back_too_late, &again, "coex_gc_leave_native: this thread");
}
