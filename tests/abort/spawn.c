/*
 * Spawn records used twice, by the wrong thread, or never made.
 */
#include "support/objects.h"

#include <pthread.h>

static coex_gc_spawn *record;

static void *attach_record(void *unused)
{
    coex_gc_spawn_attach(record);
    return unused;
}

static void attach_on_threads(int times)
{
    for (int i = 0; i < times; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, attach_record, NULL) != 0) return;
        pthread_join(thread, NULL);
    }
}

TEST_ABORTS(record_that_was_attached_can_not_be_attached_again, "was already attached or cancelled")
{
    start_quiet();
    record = coex_gc_spawn_prepare(0);
    coex_gc_enter_native();
    attach_on_threads(2);
}

TEST_ABORTS(record_that_was_cancelled_can_not_be_attached, "was already attached or cancelled")
{
    start_quiet();
    record = coex_gc_spawn_prepare(0);
    coex_gc_spawn_cancel(record);
    coex_gc_enter_native();
    attach_on_threads(1);
}

TEST_ABORTS(record_that_was_cancelled_can_not_be_cancelled_again,
            "coex_gc_spawn_cancel: `spawn` is NULL, or was already attached or cancelled")
{
    start_quiet();
    record = coex_gc_spawn_prepare(0);
    coex_gc_spawn_cancel(record);
    coex_gc_spawn_cancel(record);
}

TEST_ABORTS(registered_thread_can_not_attach_a_record, "this thread is already registered")
{
    start_quiet();
    coex_gc_spawn_attach(coex_gc_spawn_prepare(0));
}

TEST_ABORTS(null_record_can_not_be_attached, "coex_gc_spawn_attach")
{
    start_quiet();
    coex_gc_unregister_thread();
    coex_gc_spawn_attach(NULL);
}

TEST_ABORTS(null_record_can_not_be_cancelled, "coex_gc_spawn_cancel")
{
    start_quiet();
    coex_gc_spawn_cancel(NULL);
}
