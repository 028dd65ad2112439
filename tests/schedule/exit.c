/*
 * Forced schedules of threads that exit, in any mode, while shutdown waits for a cycle: they hold up neither, and go last.
 */
#include "support/schedule.h"

#include <unistd.h>

static volatile bool is_there, leave_now;

static void await_leave(void)
{
    __atomic_store_n(&is_there, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&leave_now, __ATOMIC_ACQUIRE)) usleep(200);
}

/* A foreign thread: in native mode outside of its callbacks, and when it exits. */
static void *exit_native(void *unused)
{
    expect(coex_gc_enter_managed());
    coex_gc_leave_managed();
    await_leave();
    return unused;
}

/* Comes back from a call, and exits as managed as it is, with a frame left. */
static void *exit_managed(void *unused)
{
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(4);
    slots[0] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    coex_gc_enter_native();
    await_leave();
    coex_gc_leave_native();
    node_verify(slots[0]);
    return unused;
}

static void *shut_down(void *unused)
{
    coex_gc_shutdown();
    return unused;
}

/* Shutdown has begun, and waits for a cycle that still needs answers, when the thread exits. */
static void exit_during_shutdown(void *(*body)(void *))
{
    pthread_t leaver, closer;
    is_there = leave_now = false;
    schedule_start();
    expect(pthread_create(&leaver, NULL, body, NULL) == 0);
    while (!__atomic_load_n(&is_there, __ATOMIC_ACQUIRE)) usleep(200);
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    hold_await(marking);
    expect(pthread_create(&closer, NULL, shut_down, NULL) == 0);
    usleep(50000);
    __atomic_store_n(&leave_now, true, __ATOMIC_RELEASE);
    usleep(50000);
    let_go(marking);
    pthread_join(closer, NULL);
    pthread_join(leaver, NULL);
    schedule_end();
    schedule_start(); /* nothing of it is left */
    expect_eq(stats_now().registered_thread_count, 0);
    cycle_whole();
    schedule_end();
}

TEST(a_native_thread_may_exit_while_shutdown_waits_for_a_cycle)
{
    NEEDS_POINTS();
    exit_during_shutdown(exit_native);
}

TEST(a_managed_thread_may_exit_while_shutdown_waits_for_a_cycle)
{
    NEEDS_POINTS();
    exit_during_shutdown(exit_managed);
}
