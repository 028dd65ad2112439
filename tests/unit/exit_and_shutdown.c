/*
 * A thread that is on its way out while the runtime goes down: held at a point of its exit by a hook of the test's own.
 */
#include "support/borders.h"

#include "base/point.h"

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
    cx_point_set_hook(hook);
    expect(pthread_create(&thread, NULL, body, name) == 0);
    COEX_GC_NATIVE(flag_await(&stopped));
    coex_gc_shutdown();
    pthread_join(thread, NULL);
    cx_point_set_hook(NULL);
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

/* A thread that exits registered and managed: its exit counts as leaving, not as managed code that still runs. */
TEST(shutdown_waits_for_a_managed_thread_that_is_leaving)
{
    if (!test_is_checked()) return;
    shut_down_during(exit_managed, "thread-exit-before-buffer");
}
