/* Futures: (future x ...) evaluates on a thread of its own, (touch f) waits for the value.
 *
 * A thread gets its future as the argument of its spawn: the record that coex_gc_spawn_prepare makes keeps it alive until the new
 * thread has attached itself. The value comes back through the future, which is mutable.
 *
 * Waiting is done in native mode, where a thread may not look at the heap. So all futures share one count of those that have
 * ended: a thread looks at its future, and if there is no value yet, waits until the count is another than before it looked. */
#include "lisp.h"

#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended_one = PTHREAD_COND_INITIALIZER;
static uint64_t ended;   /* futures that have ended. W: with the lock, release. R: acquire, or with the lock */
static uint64_t running; /* threads. With the lock */

/* In native mode. */
static void count_threads(int change)
{
    pthread_mutex_lock(&lock);
    running += (uint64_t)change;
    if (change < 0) __atomic_store_n(&ended, ended + 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&ended_one);
    pthread_mutex_unlock(&lock);
}

/* In native mode. */
static void wait_for_another(uint64_t seen)
{
    pthread_mutex_lock(&lock);
    while (ended == seen) pthread_cond_wait(&ended_one, &lock);
    pthread_mutex_unlock(&lock);
}

/* The future is in the first slot of the thread, where the spawn put it. */
static void run_future(value future)
{
    struct vm vm;
    vm_enter(&vm);
    value result = vm_try(&vm, coex_gc_load(future, offsetof(struct future, thunk)));
    coex_gc_store(future, offsetof(struct future, result), result);
    coex_gc_store(future, offsetof(struct future, thunk), NIL); /* what only the thunk needed may go */
    vm_leave(&vm);
}

static void *thread_main(void *spawn)
{
    run_future(coex_gc_spawn_attach(spawn));
    coex_gc_unregister_thread();
    count_threads(-1);
    return NULL;
}

/* In native mode: creating a thread takes its time. */
static bool start_thread(coex_gc_spawn *spawn)
{
    pthread_t thread;
    count_threads(1);
    if (pthread_create(&thread, NULL, thread_main, spawn) != 0) {
        count_threads(-1);
        return false;
    }
    pthread_detach(thread);
    return true;
}

PRIMITIVE(do_future)
{
    void *payload;
    value *slots = coex_gc_enter_frame(1);
    slots[0] = new_object(vm, KIND_FUTURE, sizeof(struct future), &payload);
    ((struct future *)payload)->thunk = arguments[0];
    coex_gc_spawn *spawn = coex_gc_spawn_prepare(slots[0]);
    if (spawn == NULL) raise_error(vm, 0, "no room for another thread");
    bool started;
    COEX_GC_NATIVE(started = start_thread(spawn));
    if (!started) {
        coex_gc_spawn_cancel(spawn);
        raise_error(vm, 0, "no thread could be started");
    }
    value future = slots[0];
    coex_gc_leave_frame(slots);
    return future;
}

PRIMITIVE(do_touch)
{
    value result = 0;
    need_kind(vm, arguments[0], KIND_FUTURE);
    while (result == 0) {
        uint64_t seen = __atomic_load_n(&ended, __ATOMIC_ACQUIRE); /* before the look at the future */
        result = coex_gc_load(arguments[0], offsetof(struct future, result));
        if (result == 0) COEX_GC_NATIVE(wait_for_another(seen));
    }
    if (is_kind(result, KIND_FAILURE)) raise_value(vm, coex_gc_load(result, offsetof(struct failure, condition)));
    return result;
}

PRIMITIVE(do_is_realized)
{
    need_kind(vm, arguments[0], KIND_FUTURE);
    return from_bool(coex_gc_load(arguments[0], offsetof(struct future, result)) != 0);
}

/* In native mode. */
static void wait_for_all(void)
{
    pthread_mutex_lock(&lock);
    while (running > 0) pthread_cond_wait(&ended_one, &lock);
    pthread_mutex_unlock(&lock);
}

void futures_wait_for_all(void) { COEX_GC_NATIVE(wait_for_all()); }

const struct definition future_primitives[] = {
    {"%future", do_future, 1, 1},
    {"touch", do_touch, 1, 1},
    {"realized?", do_is_realized, 1, 1},
    {NULL, NULL, 0, 0},
};
