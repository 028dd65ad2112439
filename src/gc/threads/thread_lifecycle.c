/* See thread_lifecycle.h. */
#include "gc/threads/thread_lifecycle.h"

#include "base/schedule_point.h"
#include "gc/threads/coroutine.h"
#include "gc/error.h"
#include "gc/marking/return_barrier.h"

/* INV-THREAD-5. A thread that goes waits for the life lock in native mode, since a shutdown that has it may be waiting for a cycle. Its
 * frames are left first: of a thread that exits, what they point to is gone. */
void cx_thread_detach_self(struct cx_thread *self)
{
    if (self->native_depth == 0) {
        cx_return_barrier_drop_self(self, self->shadow);
        self->words.top = self->shadow->base + 1;
        self->words.watermark = NULL;
        cx_transition_enter_self(self);
    }
    cx_mutex_lock(&cx_world.life);
    if (cx_thread_self() == self && cx_transition_take_back_self(self)) cx_thread_detach_self_locked(self);
    cx_mutex_unlock(&cx_world.life);
}

static void lifecycle_exit_hook(void *record)
{
    struct cx_thread *self = cx_thread_self();
    if (self != NULL && self == record) cx_thread_detach_self(self);
}

static bool lifecycle_bind(struct cx_thread *thread)
{
    cx_thread_bind_self(thread);
    if (cx_os_at_thread_exit(lifecycle_exit_hook, thread)) return true;
    cx_error_set(COEX_GC_ETHREAD, "the operating system has no room for a thread-exit hook");
    return false;
}

bool cx_thread_attach_self(void)
{
    CX_SCHEDULE_POINT("attach-before-life");
    cx_mutex_lock(&cx_world.life); /* INV-THREAD-5 */
    bool up = cx_world_is_up();
    if (!up) cx_error_set(COEX_GC_ESTATE, "the runtime is not initialised (or was shut down)");
    bool done = up && cx_thread_attach_self_locked();
    cx_mutex_unlock(&cx_world.life);
    cx_thread_note_refused(!done);
    return done;
}

bool cx_thread_attach_self_locked(void)
{
    cx_mutex_lock(&cx_world.registry.lock);
    struct cx_thread *thread = cx_thread_create_locked(NULL, 0);
    cx_mutex_unlock(&cx_world.registry.lock);
    CX_SCHEDULE_POINT("thread-registered");
    if (thread == NULL) return false;
    if (lifecycle_bind(thread)) return true;
    cx_thread_detach_self_locked(thread);
    return false;
}

/* Hand over what it has. Frozen frames that nobody has scanned are scanned first: what they hold may be in an object by now that the
 * marker has passed (INV-SHADOW-4). */
void cx_thread_detach_self_locked(struct cx_thread *self)
{
    CX_SCHEDULE_POINT("thread-exit-before-cut");
    cx_coroutine_go_home_self(self);
    cx_thread_destroy(self);
    cx_thread_bind_self(NULL);
    cx_os_at_thread_exit(NULL, NULL);
}

/* The parent answers whatever is pending first, so that the child starts with nothing pending (INV-THREAD-7). */
struct cx_thread *cx_spawn_prepare(struct cx_thread *self, coex_handle argument)
{
    struct cx_registry *registry = &cx_world.registry;
    cx_mutex_lock(&registry->lock);
    while (cx_thread_is_pending(self)) {
        cx_mutex_unlock(&registry->lock);
        cx_safepoint_poll_self(self);
        cx_mutex_lock(&registry->lock);
    }
    struct cx_thread *thread = cx_thread_create_locked(self, argument);
    cx_mutex_unlock(&registry->lock);
    CX_SCHEDULE_POINT("thread-spawned");
    return thread;
}

/* Only one of attach and cancel gets a prepared record. */
static bool lifecycle_take_prepared_locked(struct cx_thread *prepared)
{
    cx_mutex_lock(&cx_world.registry.lock);
    bool good = cx_registry_has(&cx_world.registry, prepared) && cx_a32_load_relaxed(&prepared->state) == CX_THREAD_LIVE &&
                prepared->spawned;
    if (good) prepared->spawned = false;
    cx_mutex_unlock(&cx_world.registry.lock);
    return good;
}

bool cx_spawn_attach(struct cx_thread *prepared)
{
    if (cx_thread_self() != NULL) return false;
    cx_mutex_lock(&cx_world.life); /* INV-THREAD-5 */
    bool good = cx_world_is_up() && lifecycle_take_prepared_locked(prepared);
    if (good) {
        cx_a64_store_relaxed(&prepared->os_id, cx_os_thread_id());
        if (!lifecycle_bind(prepared)) cx_fatal("coex_gc_spawn_attach: %s", cx_error_detail());
    }
    cx_mutex_unlock(&cx_world.life);
    if (good) cx_transition_leave_self(prepared);
    return good;
}

static void lifecycle_cancel_locked(struct cx_thread *prepared)
{
    /* On behalf of a thread that never was: managed for a moment, then gone. */
    prepared->native_depth = 1;
    cx_transition_leave_self(prepared);
    cx_return_barrier_drop_self(prepared, prepared->shadow);
    cx_thread_destroy(prepared);
}

bool cx_spawn_cancel(struct cx_thread *prepared)
{
    (void)cx_thread_self(); /* a record of an older life is forgotten: this thread is none that comes back late */
    cx_mutex_lock(&cx_world.life);
    bool good = cx_world_is_up() && lifecycle_take_prepared_locked(prepared);
    if (good) lifecycle_cancel_locked(prepared);
    cx_mutex_unlock(&cx_world.life);
    return good;
}
