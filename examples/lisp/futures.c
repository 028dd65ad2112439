/* Futures. (future x ...) evaluates its expressions on a thread of its own, and (touch f) waits
 * for the value.
 *
 * A thread gets its future as the argument of its spawn. The record of coex_gc_spawn_prepare
 * keeps the future alive until the new thread has attached itself. The value comes back through
 * the future, which is mutable.
 *
 * A thread waits in native mode, where it must not look at the heap. Each running future therefore
 * has a task in C memory with a condition variable of its own. The end of a future wakes only the
 * threads that touch it. A task serves one future after another, so a future names its task by an
 * index and a generation. A generation that has ended means that the result is there. */
#include "lisp.h"

#include <stdlib.h>

struct task {
    pthread_cond_t ended;
    uint32_t generation; /* futures that have ended here */
    struct task *next;   /* of those that are free */
    uint32_t index;
};

/* What a future holds instead of a pointer. */
struct ticket {
    uint32_t index, generation;
};

static struct {
    pthread_mutex_t lock; /* of all the rest, and of the tasks. Taken in native mode */
    struct task **tasks;  /* every one there is: as many as futures have ever run at a time. They stay where they are */
    uint32_t count, room;
    struct task *free;
    uint64_t running; /* threads */
    pthread_cond_t none_runs;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .none_runs = PTHREAD_COND_INITIALIZER};

/* ---------------------------------------------------- with the lock, in native mode */

static bool pool_make_room(void)
{
    if (pool.count < pool.room) return true;
    uint32_t room = pool.room == 0 ? 16 : pool.room * 2;
    struct task **larger = realloc(pool.tasks, room * sizeof(struct task *));
    if (larger == NULL) return false;
    pool.tasks = larger;
    pool.room = room;
    return true;
}

/* Returns NULL if there is no memory. */
static struct task *pool_take(void)
{
    struct task *task = pool.free;
    if (task != NULL) {
        pool.free = task->next;
        return task;
    }
    task = pool_make_room() ? malloc(sizeof *task) : NULL;
    if (task == NULL) return NULL;
    *task = (struct task){.index = pool.count};
    pthread_cond_init(&task->ended, NULL);
    pool.tasks[pool.count++] = task;
    return task;
}

/* --------------------------------------------------------------- in native mode */

static bool task_begin(struct ticket *ticket)
{
    pthread_mutex_lock(&pool.lock);
    struct task *task = pool_take();
    if (task != NULL) {
        *ticket = (struct ticket){task->index, task->generation};
        pool.running++;
    }
    pthread_mutex_unlock(&pool.lock);
    return task != NULL;
}

static void task_end(struct ticket ticket)
{
    pthread_mutex_lock(&pool.lock);
    struct task *task = pool.tasks[ticket.index];
    task->generation++;
    task->next = pool.free;
    pool.free = task;
    pthread_cond_broadcast(&task->ended);
    if (--pool.running == 0) pthread_cond_broadcast(&pool.none_runs);
    pthread_mutex_unlock(&pool.lock);
}

static void task_wait(struct ticket ticket)
{
    pthread_mutex_lock(&pool.lock);
    struct task *task = pool.tasks[ticket.index];
    while (task->generation == ticket.generation) pthread_cond_wait(&task->ended, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

static void wait_for_all(void)
{
    pthread_mutex_lock(&pool.lock);
    while (pool.running > 0) pthread_cond_wait(&pool.none_runs, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

/* ------------------------------------------------------------------- the thread */

/* Written before the thread starts and not after. */
static struct ticket ticket_of(value future)
{
    const struct future *payload = coex_gc_handle_deref(future);
    return (struct ticket){payload->task, payload->generation};
}

/* The future is in the first slot of the thread, where the spawn put it. */
static struct ticket run_future(value future)
{
    struct vm vm;
    vm_enter(&vm);
    value result = vm_try(&vm, coex_gc_load(future, offsetof(struct future, thunk)));
    coex_gc_store(future, offsetof(struct future, result), result);
    coex_gc_store(future, offsetof(struct future, thunk), NIL); /* what only the thunk needed may go */
    vm_leave(&vm);
    return ticket_of(future);
}

static void *thread_main(void *spawn)
{
    struct ticket ticket = run_future(coex_gc_spawn_attach(spawn));
    coex_gc_unregister_thread();
    task_end(ticket);
    return NULL;
}

/* In native mode: creating a thread takes its time. */
static bool start_thread(coex_gc_spawn *spawn)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_main, spawn) != 0) return false;
    pthread_detach(thread);
    return true;
}

/* ------------------------------------------------------------------- primitives */

/* Starts the thread of a future that is complete. Raises an error if there is no room for one more, and then the task has ended. */
static void launch(struct vm *vm, value future, struct ticket ticket)
{
    coex_gc_spawn *spawn = coex_gc_spawn_prepare(future);
    bool started = false;
    if (spawn != NULL) COEX_GC_NATIVE(started = start_thread(spawn));
    if (started) return;
    if (spawn != NULL) coex_gc_spawn_cancel(spawn);
    COEX_GC_NATIVE(task_end(ticket));
    raise_error(vm, 0, spawn == NULL ? "no room for another thread" : "no thread could be started");
}

PRIMITIVE(do_future)
{
    void *payload;
    struct ticket ticket;
    bool room;
    value *slots = coex_gc_enter_frame(1);
    slots[0] = new_object(vm, KIND_FUTURE, sizeof(struct future), &payload);
    ((struct future *)payload)->thunk = arguments[0];
    COEX_GC_NATIVE(room = task_begin(&ticket));
    if (!room) raise_out_of_memory(vm);
    struct future *future = coex_gc_handle_deref(slots[0]);
    future->task = ticket.index;
    future->generation = ticket.generation;
    launch(vm, slots[0], ticket);
    value result = slots[0];
    coex_gc_leave_frame(slots);
    return result;
}

PRIMITIVE(do_touch)
{
    need_kind(vm, arguments[0], KIND_FUTURE);
    value result = coex_gc_load(arguments[0], offsetof(struct future, result));
    while (result == 0) {
        struct ticket ticket = ticket_of(arguments[0]);
        COEX_GC_NATIVE(task_wait(ticket));
        result = coex_gc_load(arguments[0], offsetof(struct future, result));
    }
    if (is_kind(result, KIND_FAILURE)) raise_value(vm, coex_gc_load(result, offsetof(struct failure, condition)));
    return result;
}

PRIMITIVE(do_is_realized)
{
    need_kind(vm, arguments[0], KIND_FUTURE);
    return from_bool(coex_gc_load(arguments[0], offsetof(struct future, result)) != 0);
}

void futures_wait_for_all(void) { COEX_GC_NATIVE(wait_for_all()); }

const struct definition future_primitives[] = {
    {"%future", do_future, 1, 1},
    {"touch", do_touch, 1, 1},
    {"realized?", do_is_realized, 1, 1},
    {NULL, NULL, 0, 0},
};
