/* See finalize.h. Entered by mutators (add, next) and the collector. */
#include "gc/finalize.h"

#include "base/point.h"
#include "gc/error.h"
#include "gc/vector.h"

#include <string.h>

enum { FINALIZE_PIECE = 256 }; /* entries looked at in one critical section */

static struct {
    cx_mutex lock;           /* CX_RANK_FINALIZE */
    struct cx_vector listed; /* handles, in the order of allocation */
    struct cx_vector queue;  /* handles; those before `head` are done, those from `ready` on are not traced yet */
    uint64_t head, ready;
    uint64_t at, kept; /* of the list, while a cycle goes through it: [0, kept) stays, [at, count) is to be looked at */
} finalize_state;

int cx_finalize_init(void)
{
    uint64_t most = cx_world.handles.max;
    finalize_state.head = finalize_state.ready = finalize_state.at = finalize_state.kept = 0;
    if (!cx_vector_init(&finalize_state.listed, most)) return cx_error_set(COEX_GC_ENOMEM, "no address space for finalizers");
    if (!cx_vector_init(&finalize_state.queue, most)) {
        cx_vector_fini(&finalize_state.listed);
        return cx_error_set(COEX_GC_ENOMEM, "no address space for finalizers");
    }
    cx_mutex_init(&finalize_state.lock, CX_RANK_FINALIZE);
    return COEX_GC_OK;
}

void cx_finalize_fini(void)
{
    cx_mutex_fini(&finalize_state.lock);
    cx_vector_fini(&finalize_state.queue);
    cx_vector_fini(&finalize_state.listed);
}

bool cx_finalize_add(coex_handle fresh)
{
    cx_mutex_lock(&finalize_state.lock);
    bool added = cx_vector_push(&finalize_state.listed, fresh);
    cx_mutex_unlock(&finalize_state.lock);
    return added;
}

/* What is done makes room for what comes, when it is more than half. */
static void finalize_compact_queue_locked(void)
{
    struct cx_vector *queue = &finalize_state.queue;
    uint64_t head = finalize_state.head;
    if (head < queue->count - head || head < FINALIZE_PIECE) return;
    memmove(cx_vector_at(queue, 0), cx_vector_at(queue, head), (size_t)(queue->count - head) * sizeof(uint64_t));
    queue->count -= head;
    finalize_state.ready -= head;
    finalize_state.head = 0;
}

coex_handle cx_finalize_next_self(struct cx_thread *self)
{
    coex_handle handle = 0;
    cx_mutex_lock(&finalize_state.lock);
    if (finalize_state.head < finalize_state.ready) handle = *cx_vector_at(&finalize_state.queue, finalize_state.head++);
    cx_mutex_unlock(&finalize_state.lock);
    /* A root that ends. The collector may not have read the queue yet; there is no safepoint in between, so shading now is in time. */
    if (handle != 0) cx_barrier_root_removed_self(self, handle);
    return handle;
}

uint64_t cx_finalize_waiting(void)
{
    cx_mutex_lock(&finalize_state.lock);
    uint64_t waiting = finalize_state.ready - finalize_state.head;
    cx_mutex_unlock(&finalize_state.lock);
    return waiting;
}

/* Mutators take from the front meanwhile (and shade what they take); only the collector adds. */
bool cx_finalize_mark_gct(struct cx_marker *marker, uint64_t *at)
{
    cx_mutex_lock(&finalize_state.lock);
    if (*at < finalize_state.head) *at = finalize_state.head;
    uint64_t count = finalize_state.queue.count;
    for (uint64_t i = 0; i < FINALIZE_PIECE && *at < count; i++, ++*at)
        cx_mark_push(marker, *cx_vector_at(&finalize_state.queue, *at));
    bool more = *at < count;
    cx_mutex_unlock(&finalize_state.lock);
    return more;
}

uint64_t cx_finalize_read(uint64_t *at, coex_handle *handles, uint64_t room, bool lock)
{
    uint64_t count = 0;
    if (lock) cx_mutex_lock(&finalize_state.lock);
    if (*at < finalize_state.head) *at = finalize_state.head;
    for (; count < room && *at < finalize_state.queue.count; ++*at) handles[count++] = *cx_vector_at(&finalize_state.queue, *at);
    if (lock) cx_mutex_unlock(&finalize_state.lock);
    return count;
}

static bool finalize_is_alive(coex_handle handle)
{
    return cx_handle_is_marked(&cx_world.handles, handle) || cx_handle_is_born(&cx_world.handles, handle);
}

/* What is alive moves down in the list, what is dead goes to the queue; what mutators add meanwhile comes at the end of the list. If the
 * queue can't grow, the object stays in the list and is kept alive for another cycle. */
bool cx_finalize_revive_gct(struct cx_marker *marker)
{
    struct cx_vector *listed = &finalize_state.listed;
    cx_mutex_lock(&finalize_state.lock);
    if (finalize_state.at == 0) finalize_compact_queue_locked(); /* nobody reads the queue by place now: marking has ended */
    uint64_t end = finalize_state.at + FINALIZE_PIECE < listed->count ? finalize_state.at + FINALIZE_PIECE : listed->count;
    for (; finalize_state.at < end; finalize_state.at++) {
        coex_handle handle = *cx_vector_at(listed, finalize_state.at);
        bool alive = finalize_is_alive(handle);
        if (!alive) cx_mark_push(marker, handle);
        if (alive || !cx_vector_push(&finalize_state.queue, handle)) *cx_vector_at(listed, finalize_state.kept++) = handle;
    }
    bool more = finalize_state.at < listed->count;
    if (!more) {
        listed->count = finalize_state.kept;
        finalize_state.at = finalize_state.kept = 0;
    }
    cx_mutex_unlock(&finalize_state.lock);
    return more;
}

void cx_finalize_publish_gct(void)
{
    cx_mutex_lock(&finalize_state.lock);
    finalize_state.ready = finalize_state.queue.count;
    cx_mutex_unlock(&finalize_state.lock);
}

/* The caller has the lock: it is the one that forks. */
void cx_finalize_fork_child(void)
{
    struct cx_vector *listed = &finalize_state.listed;
    uint64_t rest = listed->count - finalize_state.at;
    memmove(cx_vector_at(listed, finalize_state.kept), cx_vector_at(listed, finalize_state.at), (size_t)rest * sizeof(uint64_t));
    listed->count = finalize_state.kept + rest;
    finalize_state.at = finalize_state.kept = 0;
    finalize_state.ready = finalize_state.queue.count;
}

cx_mutex *cx_finalize_lock(void) { return &finalize_state.lock; }
