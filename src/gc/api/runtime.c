/* See runtime.h. Init and fini exclude each other by a lock; everything else checks the generation. */
#include "gc/api/runtime.h"

#include "base/schedule_point.h"
#include "gc/threads/thread_lifecycle.h"
#include "gc/cycle/collector.h"
#include "gc/error.h"
#include "gc/marking/finalizers.h"
#include "gc/cycle/limit.h"
#include "gc/cycle/pace.h"
#include "gc/marking/global_roots.h"
#include "gc/marking/weak_references.h"
#include "gc/debug/unbarriered_stores.h"

#include <stdio.h>

bool cx_runtime_is_up(void) { return cx_world_is_up(); }

/* For the one line before an abort. */
static void runtime_describe(char *text, size_t room)
{
    struct cx_thread *self = cx_thread_self();
    if (!cx_runtime_is_up()) return;
    snprintf(text, room, "thread %llu%s, phase %s, cycle %llu", (unsigned long long)cx_os_thread_id(),
             self == NULL ? " (not registered)" : "", cx_phase_name(cx_phase_now()),
             (unsigned long long)cx_a64_load_relaxed(&cx_world.cycle));
}

static int runtime_up_handles(void)
{
    return cx_handles_init(&cx_world.handles, cx_world.config.initial_handles, cx_world.config.max_handles);
}
static int runtime_up_types(void) { return cx_types_init(&cx_world.types, cx_world.handles.shapes); }
static int runtime_up_stale_history(void)
{
    if (CX_CHECKED || cx_world.config.stale)
        cx_stale_history_init(&cx_world.handles.stale, cx_a64_load_relaxed(&cx_world.handles.committed), cx_world.handles.max);
    cx_world.handles.hoard = cx_world.config.stale;
    return COEX_GC_OK;
}
static int runtime_up_heap(void)
{
    return cx_heap_init(&cx_world.heap, cx_world.config.initial_heap, cx_world.config.heap_limit, cx_world.config.poison);
}
static int runtime_up_mark_queue(void) { return cx_mark_queue_init(&cx_world.mark_queue, &cx_world.handles); }
static int runtime_up_stacks(void) { return cx_stacks_init(&cx_world.stacks); }
static int runtime_up_registry(void) { return cx_registry_init(&cx_world.registry); }
static int runtime_up_observer(void)
{
    return cx_world.observer != NULL ? cx_world.observer->start(&cx_world.events) : COEX_GC_OK;
}

static int runtime_up_weak(void)
{
    cx_mark_watched_key = cx_weak_key_marked;
    return cx_weak_init();
}

static void runtime_down_handles(void) { cx_handles_fini(&cx_world.handles); }
static void runtime_down_stale_history(void) { cx_stale_history_fini(&cx_world.handles.stale); }
static void runtime_down_types(void) { cx_types_fini(&cx_world.types); }
static void runtime_down_heap(void) { cx_heap_fini(&cx_world.heap); }
static void runtime_down_mark_queue(void) { cx_mark_queue_fini(&cx_world.mark_queue); }
static void runtime_down_stacks(void) { cx_stacks_fini(&cx_world.stacks); }
static void runtime_down_registry(void) { cx_registry_fini(&cx_world.registry); }
static void runtime_down_observer(void)
{
    if (cx_world.observer != NULL) cx_world.observer->stop(&cx_world.events);
}

/* In this order up, in the reverse one down. The collector comes after all of them, and stops before them. */
static const struct runtime_part {
    int (*up)(void);
    void (*down)(void);
} runtime_parts[] = {
    {runtime_up_handles, runtime_down_handles},
    {runtime_up_stale_history, runtime_down_stale_history},
    {runtime_up_types, runtime_down_types},
    {runtime_up_heap, runtime_down_heap},
    {runtime_up_mark_queue, runtime_down_mark_queue},
    {runtime_up_stacks, runtime_down_stacks},
    {runtime_up_registry, runtime_down_registry},
    {cx_roots_init, cx_roots_fini},
    {runtime_up_weak, cx_weak_fini},
    {cx_finalize_init, cx_finalize_fini},
    {cx_unbarriered_init, cx_unbarriered_fini},
    {runtime_up_observer, runtime_down_observer},
};

enum { RUNTIME_PARTS = sizeof runtime_parts / sizeof runtime_parts[0] };

static void runtime_take_down(int parts)
{
    while (parts > 0) runtime_parts[--parts].down();
}

static void runtime_refuse_thread(const struct cx_thread *thread)
{
    cx_fatal("coex_gc_shutdown: thread %llu is still in managed mode",
             (unsigned long long)cx_a64_load_relaxed(&thread->os_id));
}

/* INV-SHUTDOWN-1. After the collector has stopped: a cycle would wait for a thread that it can't claim. */
static void runtime_shut_out_threads(void)
{
    CX_SCHEDULE_POINT("shutdown-before-claims");
    uint32_t count = cx_a32_load_acquire(&cx_world.registry.count);
    for (uint32_t i = 0; i < count; i++) {
        struct cx_thread *thread = cx_registry_at(&cx_world.registry, i);
        if (cx_a32_load_acquire(&thread->state) == CX_THREAD_LIVE && !cx_transition_shut_out(thread)) runtime_refuse_thread(thread);
    }
    CX_SCHEDULE_POINT("shutdown-claimed");
}

static void runtime_bring_down(void)
{
    cx_report_set_context(NULL);
    cx_collector_stop();
    runtime_shut_out_threads();
    coex_gc_table = NULL;
    cx_a64_store_seq(&cx_world.generation, cx_a64_load_relaxed(&cx_world.generation) + 1);
    runtime_take_down(RUNTIME_PARTS);
}

/* ------------------------------------------------------------------- fork */

/* The child has a working collector and one thread, also when a cycle runs at the fork. Prepare takes every lock in the order of ranks, and
 * the collector stops between two slices; it waits neither for answers nor for the cycle. What other threads held is left to the next
 * sweep, which is of a full cycle. */
static void runtime_fork_lock(bool lock)
{
    cx_mutex *const locks[] = {&cx_world.registry.lock,   &cx_world.stacks.lock, cx_roots_lock(),    cx_weak_lock(),
                               cx_finalize_lock(),        &cx_world.types.lock,  cx_unbarriered_lock(),  &cx_world.handles.lock,
                               &cx_world.heap.large.lock, &cx_world.heap.lock,   &cx_world.mark_queue.lock};
    const int count = sizeof locks / sizeof locks[0];
    for (int i = 0; i < count && lock; i++) cx_mutex_lock(locks[i]);
    for (int i = count - 1; i >= 0 && !lock; i--) cx_mutex_unlock(locks[i]);
}

static void runtime_fork_prepare(void)
{
    cx_mutex_lock(&cx_world.life);
    if (!cx_runtime_is_up()) return;
    cx_collector_fork_prepare();
    runtime_fork_lock(true);
    if (cx_world.observer != NULL) cx_world.observer->fork_lock();
}

static void runtime_fork_parent(void)
{
    if (cx_runtime_is_up()) {
        if (cx_world.observer != NULL) cx_world.observer->fork_parent();
        runtime_fork_lock(false);
        cx_collector_fork_parent();
    }
    cx_mutex_unlock(&cx_world.life);
}

static void runtime_fork_child(void)
{
    if (cx_runtime_is_up()) {
        struct cx_thread *self = cx_thread_self();
        cx_a32_store_relaxed(&cx_world.phase, CX_PHASE_IDLE);
        cx_aptr_store_relaxed(&cx_world.fresh, NULL);
        cx_stacks_fork_child(&cx_world.stacks, self != NULL ? self->shadow : NULL);
        cx_registry_fork_child(&cx_world.registry, self);
        cx_heap_fork_child(&cx_world.heap);
        if (self != NULL) cx_tlab_fork_child(&self->tlab, &cx_world.heap);
        cx_mark_queue_fork_child(&cx_world.mark_queue);
        cx_weak_fork_child();
        cx_finalize_fork_child();
        cx_limit_init();
        if (cx_world.observer != NULL) cx_world.observer->fork_child();
        runtime_fork_lock(false);
        cx_registry_fork_drop_claims(&cx_world.registry);
        cx_collector_fork_child();
    }
    cx_mutex_unlock(&cx_world.life);
}

/* Once in a process: hooks can't be taken back, and do nothing while no runtime is up. */
static bool runtime_ensure_fork_hooks(void)
{
    static bool there; /* under the life lock */
    if (!there) there = cx_os_at_fork(runtime_fork_prepare, runtime_fork_parent, runtime_fork_child);
    return there;
}

static int runtime_bring_up(const coex_gc_config *config, const struct cx_observer *observer)
{
    cx_world.observer = observer;
    int code = cx_options_resolve(&cx_world.config, config);
    if (code == COEX_GC_OK && !runtime_ensure_fork_hooks())
        code = cx_error_set(COEX_GC_ENOMEM, "the operating system has no room for fork handlers");
    cx_a32_store_relaxed(&cx_world.phase, CX_PHASE_IDLE);
    cx_a64_store_relaxed(&cx_world.cycle, 0);
    cx_a64_store_relaxed(&cx_world.max_depth, 0);
    int parts = 0;
    while (code == COEX_GC_OK && parts < RUNTIME_PARTS) {
        code = runtime_parts[parts].up();
        parts += code == COEX_GC_OK;
    }
    if (code == COEX_GC_OK) {
        cx_pace_init();
        cx_limit_init();
        code = cx_collector_start();
    }
    if (code != COEX_GC_OK) {
        runtime_take_down(parts);
        return code;
    }
    coex_gc_table = cx_world.handles.table;
    cx_a64_store_seq(&cx_world.generation, cx_a64_load_relaxed(&cx_world.generation) + 1);
    cx_report_set_context(runtime_describe);
    return COEX_GC_OK;
}

/* ------------------------------------------------------------------ hooks */

enum { RUNTIME_HOOKS = 64, RUNTIME_LOOK_NS = 1000000 };

/* Under the life lock; stay from one life to the next. */
static struct {
    bool (*run[RUNTIME_HOOKS])(void);
    int count;
} runtime_hooks;

static int runtime_run_hooks(void)
{
    for (int i = 0; i < runtime_hooks.count; i++) {
        if (runtime_hooks.run[i]()) continue;
        return cx_error_code() != COEX_GC_OK
                   ? cx_error_code()
                   : cx_error_set(COEX_GC_EINVAL, "coex_gc_at_init: a hook returned false");
    }
    return COEX_GC_OK;
}

bool cx_runtime_at_init(bool (*hook)(void))
{
    cx_mutex_lock(&cx_world.life);
    bool known = false;
    for (int i = 0; i < runtime_hooks.count; i++) known = known || runtime_hooks.run[i] == hook;
    bool done = known || runtime_hooks.count < RUNTIME_HOOKS;
    if (!done)
        cx_error_set(COEX_GC_ELIMIT, "coex_gc_at_init: no more than %d hooks can be registered",
                     RUNTIME_HOOKS);
    if (!known && done) {
        done = !cx_runtime_is_up() || hook();
        if (done) runtime_hooks.run[runtime_hooks.count++] = hook;
    }
    cx_mutex_unlock(&cx_world.life);
    return done;
}

/* ------------------------------------------------------------------- life */

int cx_runtime_init(const coex_gc_config *config, const struct cx_observer *observer)
{
    cx_mutex_lock(&cx_world.life);
    int code = cx_runtime_is_up()
                   ? cx_error_set(COEX_GC_EALREADY,
                                  "coex_gc_init_with: the runtime is already initialised")
                   : runtime_bring_up(config, observer);
    if (code == COEX_GC_OK) {
        code = cx_thread_attach_self_locked() ? runtime_run_hooks() : cx_error_code();
        if (code != COEX_GC_OK) {
            if (cx_thread_self() != NULL) cx_thread_detach_self_locked(cx_thread_self());
            cx_collector_close();
            runtime_bring_down();
        }
    }
    cx_mutex_unlock(&cx_world.life);
    return code;
}

/* Other threads may be in native mode: they come back to one clear line (INV-SHUTDOWN-2). */
static void runtime_refuse_managed_threads(const struct cx_thread *self)
{
    uint32_t count = cx_a32_load_acquire(&cx_world.registry.count);
    for (uint32_t i = 0; i < count; i++) {
        const struct cx_thread *thread = cx_registry_at(&cx_world.registry, i);
        if (thread != self && cx_a32_load_acquire(&thread->state) == CX_THREAD_LIVE &&
            cx_a32_load_seq(&thread->mode) == CX_MODE_MANAGED)
            runtime_refuse_thread(thread);
    }
}

/* A managed thread that does not answer would keep the cycle waiting: it is looked for all the time. */
static void runtime_await_collector(const struct cx_thread *self)
{
    do runtime_refuse_managed_threads(self);
    while (!cx_collector_rests(RUNTIME_LOOK_NS));
}

bool cx_runtime_fini(void)
{
    cx_mutex_lock(&cx_world.life);
    bool up = cx_runtime_is_up();
    if (up) {
        struct cx_thread *self = cx_thread_self();
        /* A running cycle needs this thread's answers: wait for it in native mode, for good. */
        if (self != NULL) cx_transition_enter_self(self);
        runtime_await_collector(self);
        cx_collector_close();
        cx_limit_close();
        runtime_await_collector(self);
        cx_os_at_thread_exit(NULL, NULL);
        runtime_bring_down();
        cx_thread_bind_self(NULL);
    }
    cx_mutex_unlock(&cx_world.life);
    return up;
}
