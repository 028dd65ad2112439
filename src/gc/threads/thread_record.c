/* See thread_record.h. */
#include "gc/threads/thread_record.h"

#include "base/schedule_point.h"
#include "gc/error.h"
#include "gc/lock_rank.h"

#include <stdio.h>

void **coex_gc_table;

/* What a thread without a record has: every fast path finds no bits, no room, no slots and a barrier, and goes to its slow path. */
static struct coex_gc_thread thread_nobody = {.watermark = (coex_handle *)UINTPTR_MAX, .barrier = 1};

__thread struct coex_gc_thread *coex_gc_self __attribute__((tls_model("initial-exec"))) = &thread_nobody;
static __thread uint64_t thread_generation; /* of the runtime that coex_gc_self belongs to */
static __thread char thread_refused[96];    /* why its last registration failed; "": it did not */

/* The range is that of the last life, if there was one, and what it held was left alone until now: INV-SHUTDOWN-2. */
int cx_registry_init(struct cx_registry *registry)
{
    *registry = (struct cx_registry){.vacant = CX_NO_RECORD, .range = registry->range};
    if (registry->range.base != NULL)
        cx_os_discard(registry->range.base, registry->range.committed);
    else if (!cx_range_reserve(&registry->range, CX_MAX_THREADS * sizeof(struct cx_thread), 64 * sizeof(struct cx_thread)))
        return cx_error_set(COEX_GC_ENOMEM, "no address space for thread records");
    cx_mutex_init(&registry->lock, CX_RANK_REGISTRY);
    return COEX_GC_OK;
}

void cx_registry_fini(struct cx_registry *registry) { cx_mutex_fini(&registry->lock); }

/* ------------------------------------------------------------------- self */

bool cx_thread_is_late(void)
{
    return coex_gc_self != &thread_nobody && thread_generation != cx_a64_load_acquire(&cx_world.generation);
}

struct cx_thread *cx_thread_self(void)
{
    if (coex_gc_self == &thread_nobody) return NULL;
    if (cx_thread_is_late()) { /* a record of a runtime that was shut down is not ours any more */
        coex_gc_self = &thread_nobody;
        return NULL;
    }
    return (struct cx_thread *)(void *)coex_gc_self;
}

struct cx_thread *cx_thread_need_self(const char *function)
{
    struct cx_thread *self = cx_thread_self();
    if (CX_LIKELY(self != NULL)) return self;
    if (!cx_world_is_up()) cx_fatal("%s: the runtime is not initialised (or was shut down)", function);
    unsigned long long id = cx_os_thread_id();
    if (thread_refused[0] != '\0') cx_fatal("%s: this thread (%llu) is not registered: %s", function, id, thread_refused);
    cx_fatal("%s: this thread (%llu) is not registered", function, id);
}

void cx_thread_note_refused(bool refused)
{
    snprintf(thread_refused, sizeof thread_refused, "%s", refused ? cx_error_detail() : "");
}

struct cx_thread *cx_thread_need_managed(const char *function)
{
    struct cx_thread *self = cx_thread_need_self(function);
    if (CX_CHECKED && self->native_depth != 0) cx_fatal("%s: this thread is in native mode; leave it first", function);
    return self;
}

void cx_thread_bind_self(struct cx_thread *thread)
{
    thread_generation = cx_a64_load_acquire(&cx_world.generation);
    coex_gc_self = thread != NULL ? &thread->words : &thread_nobody;
}

/* --------------------------------------------------------------- registry */

static struct cx_thread *thread_take_record_locked(struct cx_registry *registry)
{
    cx_mutex_assert_held(&registry->lock);
    if (registry->vacant != CX_NO_RECORD) {
        struct cx_thread *thread = cx_registry_at(registry, registry->vacant);
        registry->vacant = thread->next_vacant;
        return thread;
    }
    uint32_t number = cx_a32_load_relaxed(&registry->count);
    size_t need = (size_t)(number + 1) * sizeof(struct cx_thread);
    if (number == CX_MAX_THREADS || !cx_range_commit(&registry->range, need)) {
        cx_error_set(COEX_GC_ETHREAD, "no room for more than %u threads", number);
        return NULL;
    }
    struct cx_thread *thread = cx_registry_at(registry, number);
    thread->home = cx_stack_create_home(&cx_world.stacks, cx_world.config.shadow_stack_slots);
    if (thread->home == NULL) return NULL;
    thread->number = number;
    cx_a32_store_release(&registry->count, number + 1);
    return thread;
}

static void thread_prepare(struct cx_thread *thread)
{
    thread->shadow = thread->home;
    thread->words.top = thread->home->base + 1;
    thread->words.limit = thread->shadow->end;
    thread->words.watermark = NULL;
    thread->words.table = cx_world.handles.table;
    thread->in_handler = false;
    thread->native_depth = 0;
    thread->buffer = NULL;
    thread->held.appetite = 0;
    thread->handles_taken = cx_thread_handles_held(thread);
    cx_stress_init(&thread->stress, &cx_world.config, thread->number);
    thread->assisted = 0;
    thread->spawned = false;
    cx_a64_store_relaxed(&thread->allocations, 0);
    cx_a64_store_relaxed(&thread->bytes, 0);
    cx_tlab_init(&thread->tlab, &thread->words, cx_world.config.stress != 0 || cx_world.config.stale);
}

/* INV-THREAD-2, INV-THREAD-7 */
static void thread_take_state_locked(struct cx_thread *thread, const struct cx_thread *parent)
{
    enum cx_phase phase = cx_phase_now();
    thread->black = parent != NULL ? parent->black : phase >= CX_PHASE_ROOTS;
    thread->words.barrier = parent != NULL ? parent->words.barrier : phase != CX_PHASE_IDLE;
    cx_a64_store_release(&thread->acked, cx_a64_load_relaxed(&thread->requested));
    /* An empty stack, or one with a black parent's argument: nothing on it is to be read in this cycle. */
    cx_a64_store_relaxed(&thread->home->done, thread->black ? cx_a64_load_relaxed(&cx_world.cycle) : 0);
    cx_a32_store_release(&thread->home->state, CX_SHADOW_ACTIVE);
}

struct cx_thread *cx_thread_create_locked(struct cx_thread *parent, coex_handle argument)
{
    struct cx_registry *registry = &cx_world.registry;
    CX_CHECK("INV-THREAD-7", parent == NULL || !cx_thread_is_pending(parent));
    struct cx_thread *thread = thread_take_record_locked(registry);
    if (thread == NULL) return NULL;
    thread_prepare(thread);
    thread_take_state_locked(thread, parent);
    thread->spawned = parent != NULL;
    if (parent != NULL) {
        *thread->words.top++ = argument;
        thread->native_depth = 1;
    } else {
        cx_a64_store_relaxed(&thread->os_id, cx_os_thread_id());
    }
    cx_a32_store_seq(&thread->mode, parent != NULL ? CX_MODE_NATIVE : CX_MODE_MANAGED);
    cx_a32_store_release(&thread->state, CX_THREAD_LIVE);
    cx_a32_add_relaxed(&registry->live, 1);
    return thread;
}

/* Space goes back first, with no lock that a newcomer needs; then it leaves, which counts as its answer to anything. Its handles
 * stay with the record (INV-THREAD-4). */
void cx_thread_destroy(struct cx_thread *thread)
{
    struct cx_registry *registry = &cx_world.registry;
    uint64_t bytes = cx_tlab_bytes(&thread->tlab, &thread->words);
    cx_tlab_give_up(&thread->tlab, &thread->words, &cx_world.heap);
    cx_a32_store_release(&thread->home->state, CX_SHADOW_VACANT); /* it stays with the record, and is nothing to the collector */
    cx_shadow_reset(thread->home, &thread->words.top);
    CX_SCHEDULE_POINT("thread-exit-before-buffer");
    cx_mark_queue_hand_over(&cx_world.mark_queue, &thread->buffer);
    cx_mark_queue_give_empty(&cx_world.mark_queue, thread->buffer);
    thread->buffer = NULL;

    cx_mutex_lock(&registry->lock);
    registry->gone_allocations += thread->handles_taken - cx_thread_handles_held(thread);
    registry->gone_bytes += bytes;
    if (!thread->black && cx_phase_now() >= CX_PHASE_ROOTS)
        cx_thread_abandon_handles_locked(thread); /* it leaves without its ROOTS answer: they are not born */
    /* Leaving is its answer, and whoever comes next may use the handles at once. */
    if (cx_thread_is_pending(thread)) cx_thread_note_held(thread);
    cx_a32_store_release(&thread->state, CX_THREAD_VACANT);
    cx_a64_store_release(&thread->acked, cx_a64_load_relaxed(&thread->requested));
    thread->next_vacant = registry->vacant;
    registry->vacant = thread->number;
    cx_a32_sub_relaxed(&registry->live, 1);
    cx_mutex_unlock(&registry->lock);
}

uint64_t cx_thread_handles_held(const struct cx_thread *thread)
{
    uint64_t held = (uint64_t)__builtin_popcountll(thread->words.handle_bits);
    for (uint32_t i = 0; i < thread->held.count; i++) held += (uint64_t)__builtin_popcountll(thread->held.bits[i]);
    return held;
}

bool cx_thread_note_held(const struct cx_thread *thread)
{
    cx_a64 *fresh = cx_aptr_load_acquire(&cx_world.fresh);
    if (fresh == NULL) return false;
    cx_a64_or_relaxed(&fresh[thread->words.handle_base / CX_WORD_HANDLES], thread->words.handle_bits);
    for (uint32_t i = 0; i < thread->held.count; i++) cx_a64_or_relaxed(&fresh[thread->held.word[i]], thread->held.bits[i]);
    return true;
}

/* INV-THREAD-6 */
void cx_thread_give_back_gct(struct cx_thread *thread)
{
    struct cx_handles *handles = &cx_world.handles;
    CX_CHECK("INV-THREAD-6", !thread->black && cx_a32_load_relaxed(&thread->mode) == CX_MODE_CLAIMED);
    thread->handles_taken -= cx_thread_handles_held(thread);
    cx_handles_give_back_gct(handles, thread->words.handle_base / CX_WORD_HANDLES, thread->words.handle_bits);
    for (uint32_t i = 0; i < thread->held.count; i++) cx_handles_give_back_gct(handles, thread->held.word[i], thread->held.bits[i]);
    thread->words.handle_bits = 0;
    thread->held.count = thread->held.appetite = 0;
    cx_tlab_give_up(&thread->tlab, &thread->words, &cx_world.heap);
    thread->tlab.appetite = 0;
}

void cx_thread_abandon_handles_locked(struct cx_thread *vacant)
{
    vacant->words.handle_bits = 0;
    vacant->held.count = 0;
}

static void thread_vanish(struct cx_registry *registry, struct cx_thread *thread)
{
    registry->gone_allocations += cx_a64_load_relaxed(&thread->allocations);
    registry->gone_bytes += cx_a64_load_relaxed(&thread->bytes);
    cx_thread_abandon_handles_locked(thread);
    cx_a32_store_relaxed(&thread->home->state, CX_SHADOW_VACANT);
    cx_shadow_reset(thread->home, &thread->words.top);
    thread->buffer = NULL;
    cx_a32_store_relaxed(&thread->state, CX_THREAD_VACANT);
    cx_a64_store_relaxed(&thread->acked, cx_a64_load_relaxed(&thread->requested));
    thread->next_vacant = registry->vacant;
    registry->vacant = thread->number;
    cx_a32_sub_relaxed(&registry->live, 1);
}

void cx_registry_fork_child(struct cx_registry *registry, struct cx_thread *self)
{
    uint32_t count = cx_a32_load_relaxed(&registry->count);
    for (uint32_t i = 0; i < count; i++) {
        struct cx_thread *thread = cx_registry_at(registry, i);
        if (thread != self && cx_a32_load_relaxed(&thread->state) == CX_THREAD_LIVE) thread_vanish(registry, thread);
    }
    if (self == NULL) return;
    self->words.barrier = 0;
    self->black = false;
    self->buffer = NULL;
    self->words.watermark = NULL;
    cx_shadow_drop_frozen(self->shadow);
    cx_a64_store_relaxed(&self->acked, cx_a64_load_relaxed(&self->requested));
    cx_aptr_store_relaxed(cx_aptr_at(&self->words.limit), self->shadow->end);
    cx_a64_store_relaxed(&self->os_id, cx_os_thread_id());
}

void cx_registry_fork_drop_claims(struct cx_registry *registry)
{
    uint32_t count = cx_a32_load_relaxed(&registry->count);
    for (uint32_t i = 0; i < count; i++) {
        struct cx_heap_claim *claim = &cx_registry_at(registry, i)->claim;
        if (claim->pages == NULL) continue;
        cx_aptr_store_relaxed(cx_aptr_at(&cx_world.handles.table[claim->handle]), NULL);
        cx_large_retire(&cx_world.heap.large, claim->pages);
        claim->pages = NULL;
    }
}

