/*
 * Threads that come, come back or go while the runtime goes down (INV-THREAD-5, INV-SHUTDOWN-1, INV-SHUTDOWN-2): held at a point of their way by a hook of the test's own.
 */
#include "support/borders.h"

#include "base/schedule_point.h"

#include <pthread.h>

static _Thread_local const char *stop_at;
static test_flag stopped;

/* The thread stays there long enough for a shutdown that does not wait for it to have unmapped everything. */
static void hook(const char *name)
{
    if (stop_at == NULL || strcmp(stop_at, name) != 0) return;
    stop_at = NULL;
    flag_set(&stopped);
    sleep_ms(100);
}

static void *exit_native(void *point)
{
    expect(coex_gc_enter_managed());
    coex_gc_leave_managed();
    stop_at = point;
    return NULL;
}

static void *exit_managed(void *point)
{
    coex_gc_register_thread();
    make_garbage(10);
    stop_at = point;
    return NULL;
}

static void shut_down_during(void *(*body)(void *), const char *point)
{
    char name[64];
    pthread_t thread;
    snprintf(name, sizeof name, "%s", point);
    flag_clear(&stopped);
    way_start();
    cx_schedule_point_set_hook(hook);
    expect(pthread_create(&thread, NULL, body, name) == 0);
    COEX_GC_NATIVE(flag_await(&stopped));
    coex_gc_shutdown();
    pthread_join(thread, NULL);
    cx_schedule_point_set_hook(NULL);
    way_start(); /* and nothing of it is left */
    ck_assert_uint_eq(stats_now().registered_thread_count, 1);
    coex_gc_shutdown();
}

TEST(shutdown_waits_for_a_native_thread_that_is_leaving)
{
    if (!test_is_checked()) return;
    shut_down_during(exit_native, "thread-exit-before-cut");
    shut_down_during(exit_native, "thread-exit-before-buffer");
}

static void *unregister(void *point)
{
    coex_gc_register_thread();
    make_garbage(10);
    stop_at = point;
    coex_gc_unregister_thread();
    return NULL;
}

TEST(shutdown_waits_for_a_thread_that_unregisters)
{
    if (!test_is_checked()) return;
    shut_down_during(unregister, "thread-exit-before-cut");
    shut_down_during(unregister, "thread-exit-before-buffer");
}

/* A thread that exits registered and managed: its exit counts as leaving, not as managed code that still runs. */
TEST(shutdown_waits_for_a_managed_thread_that_is_leaving)
{
    if (!test_is_checked()) return;
    shut_down_during(exit_managed, "thread-exit-before-buffer");
}

/* ---- coming ---------------------------------------------------------------------------------------------------- */

static void *come(void *point)
{
    stop_at = point;
    expect(!coex_gc_enter_managed());
    expect_eq(coex_gc_last_error(), COEX_GC_ESTATE);
    return NULL;
}

TEST(a_thread_that_comes_after_a_shutdown_finds_no_runtime)
{
    if (!test_is_checked()) return;
    shut_down_during(come, "attach-before-life");
}

/* The shutdown is held where everything is still there but about to go. */
static void *come_when_stopped(void *unused)
{
    flag_await(&stopped);
    return come(unused);
}

static test_flag ready;

static void *start_and_come_when_stopped(void *unused)
{
    flag_set(&ready);
    return come_when_stopped(unused);
}

static void *attach_and_come_when_stopped(void *unused)
{
    expect(coex_gc_enter_managed());
    coex_gc_leave_managed();
    return start_and_come_when_stopped(unused);
}

static void come_while_shutdown_is_at(const char *point, void *(*body)(void *))
{
    pthread_t thread;
    way_start();
    cx_schedule_point_set_hook(hook);
    expect(pthread_create(&thread, NULL, body, NULL) == 0);
    COEX_GC_NATIVE(flag_await(&ready));
    stop_at = point;
    coex_gc_shutdown();
    pthread_join(thread, NULL);
    cx_schedule_point_set_hook(NULL);
}

TEST(a_thread_that_comes_during_a_shutdown_finds_no_runtime)
{
    if (!test_is_checked()) return;
    come_while_shutdown_is_at("shutdown-before-claims", start_and_come_when_stopped);
}

TEST(a_thread_that_comes_back_during_a_shutdown_finds_no_runtime)
{
    if (!test_is_checked()) return;
    come_while_shutdown_is_at("shutdown-claimed", attach_and_come_when_stopped);
}

/* ---- coming back ------------------------------------------------------------------------------------------------ */

/* It has seen that the runtime is up, and stands before the step that makes it managed. */
static void *call_back_late(void *point)
{
    expect(coex_gc_enter_managed());
    coex_gc_leave_managed();
    stop_at = point;
    expect(!coex_gc_enter_managed());
    expect_eq(coex_gc_last_error(), COEX_GC_ESTATE);
    return NULL;
}

static void *leave_native_late(void *point)
{
    coex_gc_register_thread();
    coex_gc_enter_native();
    stop_at = point;
    coex_gc_leave_native();
    return NULL;
}

TEST(a_callback_that_comes_back_after_a_shutdown_finds_no_runtime)
{
    if (!test_is_checked()) return;
    shut_down_during(call_back_late, "native-before-leave");
}

static void shut_down_before_leave(void *unused)
{
    (void)unused;
    shut_down_during(leave_native_late, "native-before-leave");
}

TEST(a_thread_that_leaves_native_mode_after_a_shutdown_is_told_so)
{
    if (!test_is_checked()) return;
    expect_abort(shut_down_before_leave, NULL, "the runtime was shut down while this thread was in native mode");
}

/* It has seen that the runtime is up, and is managed again before the shutdown has claimed it. */
static test_flag closing;

static void hook_of_both(const char *name)
{
    if (strcmp(name, "shutdown-before-claims") == 0) {
        flag_set(&closing);
        sleep_ms(100);
    } else if (stop_at != NULL && strcmp(stop_at, name) == 0) {
        flag_set(&stopped);
        flag_await(&closing);
    }
}

static void *stay_managed(void *unused)
{
    char point[] = "native-before-leave";
    leave_native_late(point);
    sleep_ms(10000);
    return unused;
}

static void shut_down_after_leave(void *unused)
{
    pthread_t thread;
    way_start();
    cx_schedule_point_set_hook(hook_of_both);
    expect(pthread_create(&thread, NULL, stay_managed, unused) == 0);
    COEX_GC_NATIVE(flag_await(&stopped));
    coex_gc_shutdown();
}

TEST(a_shutdown_that_finds_a_thread_back_in_managed_code_says_so)
{
    if (!test_is_checked()) return;
    expect_abort(shut_down_after_leave, NULL, "is still in managed mode");
}
