/* See safepoint.h. Entered by every mutator on its own record, and by the collector on records it has claimed. */
#include "gc/threads/safepoint.h"

#include "base/schedule_point.h"
#include "gc/stacks/root_record.h"
#include "gc/marking/shade.h"

static void safepoint_note_depth(uint64_t words)
{
    uint64_t deepest = cx_a64_load_relaxed(&cx_world.max_depth);
    while (words > deepest && !cx_a64_cas_acq_rel(&cx_world.max_depth, &deepest, words)) {
    }
}

/* Where the frames begin that a thread scans itself: the top one, and more as long as they are CX_ROOTS_NOW words in all. The search for a
 * header goes no further than that: a caller may have a very large frame. */
static uint64_t safepoint_roots_from(const struct cx_shadow *shadow, uint64_t top)
{
    uint64_t from = cx_shadow_frame_before(shadow, top);
    uint64_t least = top > CX_ROOTS_NOW ? top - CX_ROOTS_NOW : 0;
    for (uint64_t at = from; at > least;) {
        at--;
        if (cx_shadow_is_header(cx_a64_load_relaxed(cx_a64_at(&shadow->base[at])))) from = at;
    }
    return from;
}

/* The roots of a thread: its top frames now, the rest frozen. A stop is bounded by CX_ROOTS_NOW
 * words, or by one frame, also on a stack that a black thread has been on in this cycle. What
 * that thread froze below `from` stays frozen and is frozen again with what lies above it (INV-
 * SHADOW-3); what it froze from `from` on is read here. */
static void safepoint_answer_roots(struct cx_thread *thread, bool self)
{
    struct cx_shadow *shadow = thread->shadow;
    uint64_t top = (uint64_t)(thread->words.top - shadow->base), os_id = cx_a64_load_relaxed(&thread->os_id);
    uint64_t from = self ? safepoint_roots_from(shadow, top) : top;
    CX_SCHEDULE_POINT("roots-before-freeze");
    cx_shadow_check_span(shadow, cx_shadow_cut_self(shadow, from), self, os_id);
    cx_shade_span(thread, shadow, (struct cx_span){from, top});
    cx_root_record_freeze(shadow, from);
    cx_root_record_add_top(shadow, (struct cx_span){from, top}, thread->number, os_id);
    cx_a64_store_release(&shadow->done, cx_a64_load_relaxed(&cx_world.cycle));
    thread->words.watermark = from > 0 ? shadow->base + from : NULL;
    safepoint_note_depth(top);

    if (!self) cx_thread_give_back_gct(thread);
    /* From here on what it allocates is born: the handles it holds, and the lines. INV-BORN-1 */
    cx_handles_make_born(&cx_world.handles, thread->words.handle_base / CX_WORD_HANDLES, thread->words.handle_bits);
    for (uint32_t i = 0; i < thread->held.count; i++)
        cx_handles_make_born(&cx_world.handles, thread->held.word[i], thread->held.bits[i]);
    cx_tlab_hold(&thread->tlab, &thread->words, &cx_world.heap);
    thread->black = true;
}

/* When marking has ended, what is in a slot is marked or born (INV-VERIFY-1). */
static void safepoint_verify_roots(const struct cx_thread *thread)
{
    uint64_t top = (uint64_t)(thread->words.top - thread->shadow->base);
    for (uint64_t i = 0; i < top; i++) {
        if ((thread->shadow->base[i] & COEX_GC_LOCAL_BIT) != 0) continue; /* a local may be gone, with its thread's last frame */
        coex_handle handle = cx_shadow_reference(thread->shadow, i);
        if (handle != 0 && cx_handle_is_object(&cx_world.handles, handle) && !cx_handle_is_marked(&cx_world.handles, handle) &&
            !cx_handle_is_born(&cx_world.handles, handle))
            cx_fatal(
                "INV-VERIFY-1 broken: word %llu of the shadow stack of thread %llu refers to handle %llu, which is neither marked "
                "nor born in cycle %llu",
                (unsigned long long)i, (unsigned long long)cx_a64_load_relaxed(&thread->os_id), (unsigned long long)handle,
                (unsigned long long)cx_a64_load_relaxed(&cx_world.cycle));
    }
}

static void safepoint_answer(struct cx_thread *thread, enum cx_request kind, bool self)
{
    switch (kind) {
    case CX_REQUEST_SYNC:
        thread->words.barrier = 1;
        break;
    case CX_REQUEST_ROOTS:
        safepoint_answer_roots(thread, self);
        break;
    case CX_REQUEST_IDLE:
        thread->words.barrier = 0;
        thread->black = false;
        break;
    case CX_REQUEST_FLUSH:
        if (cx_thread_note_held(thread)) safepoint_verify_roots(thread);
        break;
    case CX_REQUEST_NONE:
        break;
    }
    if (kind != CX_REQUEST_SYNC) cx_mark_queue_hand_over(&cx_world.mark_queue, &thread->buffer);
}

/* Numbers for the statistics: as fresh as the last slow path. */
static void safepoint_publish_counts(struct cx_thread *self)
{
    cx_a64_store_relaxed(&self->allocations, self->handles_taken - cx_thread_handles_held(self));
    cx_a64_store_relaxed(&self->bytes, cx_tlab_bytes(&self->tlab, &self->words));
}

void cx_safepoint_poll_self(struct cx_thread *self)
{
    CX_CHECK("INV-THREAD-1", cx_a32_load_relaxed(&self->mode) == CX_MODE_MANAGED);
    CX_SCHEDULE_POINT("poll-before-limit");
    cx_aptr_exchange_acq_rel(cx_aptr_at(&self->words.limit), self->shadow->end); /* INV-POLL-1 */
    uint64_t request = cx_a64_load_seq(&self->requested);
    if (request == cx_a64_load_relaxed(&self->acked)) return;
    uint64_t wall = cx_os_now_ns(), cpu = cx_os_thread_cpu_ns();
    do {
        CX_SCHEDULE_POINT("answer-self");
        safepoint_answer(self, cx_request_kind(request), true);
        cx_a64_store_release(&self->acked, request);
        CX_SCHEDULE_POINT("answered-self");
        cx_aptr_exchange_acq_rel(cx_aptr_at(&self->words.limit), self->shadow->end);
        request = cx_a64_load_seq(&self->requested);
    } while (request != cx_a64_load_relaxed(&self->acked));
    safepoint_publish_counts(self);
    cx_event_emit(&cx_world.events, CX_EVENT_STOP, cx_os_thread_cpu_ns() - cpu, cx_os_now_ns() - wall);
}

void cx_safepoint_answer_for_gct(struct cx_thread *thread)
{
    CX_CHECK("INV-THREAD-1", cx_a32_load_relaxed(&thread->mode) == CX_MODE_CLAIMED);
    uint64_t request = cx_a64_load_relaxed(&thread->requested);
    CX_SCHEDULE_POINT("answer-for-native");
    safepoint_answer(thread, cx_request_kind(request), false);
    cx_a64_store_release(&thread->acked, request);
    cx_event_emit(&cx_world.events, CX_EVENT_ANSWERED_FOR, cx_a64_load_relaxed(&thread->os_id), cx_request_kind(request));
}
