/* See finalizers.h. Entered by mutators (add, next) and the collector. */
#include "gc/marking/finalizers.h"

#include "base/schedule_point.h"
#include "gc/error.h"
#include "base/vector.h"
#include "gc/lock_rank.h"

#include <string.h>

enum { FINALIZE_PIECE = 128 }; /* entries looked at in one critical section */

static struct {
    cx_mutex lock;             /* CX_RANK_FINALIZE */
    struct cx_vector listed;   /* handles, in the order of allocation */
    struct cx_vector queue[2]; /* handles; INV-FINAL-4 */
    unsigned front;            /* which of the two is the first */
    uint64_t base;             /* place of its first entry */
    uint64_t head, ready;      /* places: what is before `head` is done, what is from `ready` on is not traced yet */
    uint64_t at, kept;         /* of the list, while a cycle goes through it: [0, kept) stays, [at, count) is to be looked at */
} finalize_state;

static void finalize_fini_vectors(void)
{
    cx_vector_fini(&finalize_state.queue[1]);
    cx_vector_fini(&finalize_state.queue[0]);
    cx_vector_fini(&finalize_state.listed);
}

int cx_finalize_init(void)
{
    uint64_t most = cx_world.handles.max;
    memset(&finalize_state, 0, sizeof finalize_state);
    if (!cx_vector_init(&finalize_state.listed, most) || !cx_vector_init(&finalize_state.queue[0], most) ||
        !cx_vector_init(&finalize_state.queue[1], most)) {
        finalize_fini_vectors();
        return cx_error_set(COEX_GC_ENOMEM, "no address space for finalizers");
    }
    cx_mutex_init(&finalize_state.lock, CX_RANK_FINALIZE);
    return COEX_GC_OK;
}

void cx_finalize_fini(void)
{
    cx_mutex_fini(&finalize_state.lock);
    finalize_fini_vectors();
}

bool cx_finalize_add(coex_handle fresh)
{
    cx_mutex_lock(&finalize_state.lock);
    bool added = cx_vector_push(&finalize_state.listed, fresh);
    cx_mutex_unlock(&finalize_state.lock);
    return added;
}

/* -------------------------------------------------------------- the queue */

static struct cx_vector *finalize_first(void) { return &finalize_state.queue[finalize_state.front]; }
static struct cx_vector *finalize_second(void) { return &finalize_state.queue[1 - finalize_state.front]; }

/* The place behind the last one. */
static uint64_t finalize_end_locked(void) { return finalize_state.base + finalize_first()->count + finalize_second()->count; }

static coex_handle finalize_at_locked(uint64_t place)
{
    uint64_t index = place - finalize_state.base, count = finalize_first()->count;
    return index < count ? *cx_vector_at(finalize_first(), index) : *cx_vector_at(finalize_second(), index - count);
}

/* Once the first vector is used up, the second becomes the first: INV-FINAL-4. */
static void finalize_swap_locked(void)
{
    struct cx_vector *first = finalize_first();
    if (finalize_state.head < finalize_state.base + first->count) return;
    finalize_state.base += first->count;
    first->count = 0;
    finalize_state.front = 1 - finalize_state.front;
}

coex_handle cx_finalize_next_self(struct cx_thread *self)
{
    coex_handle handle = 0;
    cx_mutex_lock(&finalize_state.lock);
    if (finalize_state.head < finalize_state.ready) {
        handle = finalize_at_locked(finalize_state.head++);
        finalize_swap_locked();
    }
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
bool cx_finalize_mark_gct(struct cx_marker *marker, uint64_t *at, struct cx_budget *budget)
{
    coex_handle handles[FINALIZE_PIECE];
    while (cx_budget_is_left(budget)) {
        uint64_t count = cx_finalize_read(at, handles, FINALIZE_PIECE, true);
        for (uint64_t i = 0; i < count; i++) cx_mark_push(marker, handles[i]);
        cx_budget_spend(budget, CX_COST_LOCK + count * CX_COST_WORD);
        if (count < FINALIZE_PIECE) return false;
    }
    return true;
}

uint64_t cx_finalize_read(uint64_t *at, coex_handle *handles, uint64_t room, bool lock)
{
    uint64_t count = 0;
    if (lock) cx_mutex_lock(&finalize_state.lock);
    if (*at < finalize_state.head) *at = finalize_state.head;
    for (uint64_t end = finalize_end_locked(); count < room && *at < end; ++*at) handles[count++] = finalize_at_locked(*at);
    if (lock) cx_mutex_unlock(&finalize_state.lock);
    return count;
}

/* --------------------------------------------------------------- the list */

static bool finalize_is_alive(coex_handle handle)
{
    return cx_handle_is_marked(&cx_world.handles, handle) || cx_handle_is_born(&cx_world.handles, handle);
}

/* What is alive moves down in the list, what is dead goes to the queue; what mutators add meanwhile comes at the end of the list. If the
 * queue can't grow, the object stays in the list and is kept alive for another cycle. Returns how many entries were looked at. */
static uint64_t finalize_revive_piece_locked(struct cx_marker *marker)
{
    struct cx_vector *listed = &finalize_state.listed;
    uint64_t from = finalize_state.at, end = from + FINALIZE_PIECE < listed->count ? from + FINALIZE_PIECE : listed->count;
    for (; finalize_state.at < end; finalize_state.at++) {
        coex_handle handle = *cx_vector_at(listed, finalize_state.at);
        bool alive = finalize_is_alive(handle);
        if (!alive) cx_mark_push(marker, handle);
        if (alive || !cx_vector_push(finalize_second(), handle)) *cx_vector_at(listed, finalize_state.kept++) = handle;
    }
    return end - from;
}

bool cx_finalize_revive_gct(struct cx_marker *marker, struct cx_budget *budget)
{
    struct cx_vector *listed = &finalize_state.listed;
    bool more = true;
    while (more && cx_budget_is_left(budget)) {
        cx_mutex_lock(&finalize_state.lock);
        uint64_t looked = finalize_revive_piece_locked(marker);
        more = finalize_state.at < listed->count;
        if (!more) {
            listed->count = finalize_state.kept;
            finalize_state.at = finalize_state.kept = 0;
        }
        cx_mutex_unlock(&finalize_state.lock);
        cx_budget_spend(budget, CX_COST_LOCK + looked * CX_COST_ENTRY);
    }
    return more;
}

void cx_finalize_publish_gct(void)
{
    cx_mutex_lock(&finalize_state.lock);
    finalize_state.ready = finalize_end_locked();
    finalize_swap_locked();
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
    finalize_state.ready = finalize_end_locked();
}

cx_mutex *cx_finalize_lock(void) { return &finalize_state.lock; }
