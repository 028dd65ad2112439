/* See stages.h. Entered by whoever has the collector's role. The stages are in the order in which they run. */
#include "gc/cycle/stages.h"

#include "base/schedule_point.h"
#include "gc/marking/finalizers.h"
#include "gc/cycle/pace.h"
#include "gc/marking/global_roots.h"
#include "gc/stacks/root_record.h"
#include "gc/threads/native_transition.h"
#include "gc/debug/verifier.h"
#include "gc/marking/weak_references.h"
#include "gc/debug/unbarriered_stores.h"

enum { CYCLE_ANSWER_COST = 256 }; /* of an answer that the collector gives: top frames, a handle word, a buffer */

/* ------------------------------------------------------------- handshakes */

static void cycle_publish_gct(struct cx_cycle *cycle, enum cx_request kind, enum cx_phase phase)
{
    struct cx_registry *registry = &cx_world.registry;
    uint64_t request = ++cycle->epoch << 3 | kind;
    cycle->asked_ns = cx_os_now_ns();
    cx_event_emit(&cx_world.events, CX_EVENT_REQUEST, cycle->epoch, kind);
    cx_mutex_lock(&registry->lock);
    cx_a32_store_release(&cx_world.phase, phase);
    uint32_t count = cx_a32_load_relaxed(&registry->count);
    for (uint32_t i = 0; i < count; i++) {
        struct cx_thread *thread = cx_registry_at(registry, i);
        if (cx_a32_load_relaxed(&thread->state) == CX_THREAD_LIVE) {
            cx_thread_request_gct(thread, request);
        } else if (kind == CX_REQUEST_ROOTS) {
            cx_thread_abandon_handles_locked(thread); /* INV-THREAD-4 */
        } else {
            cx_thread_note_held(thread);
        }
    }
    cx_mutex_unlock(&registry->lock);
    cx_budget_forgive(&cycle->budget, (uint64_t)count * CX_COST_ENTRY); /* INV-BUDGET-1: nobody may come or go in between */
    cycle->asked = true;
    CX_SCHEDULE_POINT("handshake-published");
}

/* Names a thread that has not answered for safepoint_warn_ms, once a request. */
static void cycle_warn_gct(const struct cx_cycle *cycle, struct cx_thread *thread)
{
    uint64_t late_ms = (cx_os_now_ns() - cycle->asked_ns) / 1000000;
    if (late_ms < cx_world.config.safepoint_warn_ms || cx_a64_load_relaxed(&thread->warned) == cycle->epoch) return;
    cx_a64_store_relaxed(&thread->warned, cycle->epoch);
    cx_event_emit(&cx_world.events, CX_EVENT_THREAD_LATE, cx_a64_load_relaxed(&thread->os_id), late_ms);
}

/* Looks at one thread, and answers for it if it is in native mode. Returns false if it owes an answer. */
static bool cycle_has_answered_gct(struct cx_cycle *cycle, struct cx_thread *thread)
{
    cx_budget_spend(&cycle->budget, CX_COST_ENTRY);
    if (cx_a32_load_acquire(&thread->state) != CX_THREAD_LIVE || !cx_thread_is_pending(thread)) return true;
    if (cx_transition_answer_gct(thread) || !cx_thread_is_pending(thread)) {
        cx_budget_spend(&cycle->budget, CYCLE_ANSWER_COST);
        return true;
    }
    cycle_warn_gct(cycle, thread);
    return false;
}

/* Looks at every thread once, in as many slices as that takes. A thread that has answered owes nothing more, and one that comes has
 * nothing pending (INV-THREAD-2): so all have answered if each of them had when it was looked at. */
static enum cx_progress cycle_look_at_answers_gct(struct cx_cycle *cycle)
{
    struct cx_registry *registry = &cx_world.registry;
    uint32_t count = cx_a32_load_acquire(&registry->count);
    while (cycle->look_at < count) {
        if (!cx_budget_is_left(&cycle->budget)) return CX_PROGRESS_MORE;
        if (!cycle_has_answered_gct(cycle, cx_registry_at(registry, cycle->look_at++))) cycle->missing = true;
    }
    bool missing = cycle->missing;
    cycle->look_at = 0;
    cycle->missing = false;
    return missing ? CX_PROGRESS_WAIT : CX_PROGRESS_DONE;
}

/* Asks, the first time; done when all have answered. */
static enum cx_progress cycle_handshake_gct(struct cx_cycle *cycle, enum cx_request kind, enum cx_phase phase)
{
    if (!cycle->asked) {
        cycle_publish_gct(cycle, kind, phase);
        return CX_PROGRESS_MORE;
    }
    CX_SCHEDULE_POINT("await-answers");
    enum cx_progress progress = cycle_look_at_answers_gct(cycle);
    if (progress != CX_PROGRESS_DONE) return progress;
    cycle->asked = false;
    cx_event_emit(&cx_world.events, CX_EVENT_HANDSHAKE, cx_os_now_ns() - cycle->asked_ns, kind);
    return CX_PROGRESS_DONE;
}

/* ---------------------------------------------------------------- 1. CLEAR */

static enum cx_progress cycle_clear_gct(struct cx_cycle *cycle)
{
    if (cycle->clear.at == 0) {
        cycle->begin_ns = cx_os_now_ns();
        cx_event_emit(&cx_world.events, CX_EVENT_CYCLE_BEGIN, cx_a64_load_relaxed(&cx_world.cycle),
                      cx_a64_load_relaxed(&cx_world.heap.used));
    }
    if (cx_sweep_clear_gct(&cycle->clear, &cycle->budget) || cx_mark_queue_drop_some_gct(&cx_world.mark_queue, &cycle->budget) ||
        !cx_weak_begin_gct(&cycle->budget))
        return CX_PROGRESS_MORE;
    cx_marker_init(&cycle->marker);
    CX_SCHEDULE_POINT("cycle-cleared");
    return CX_PROGRESS_DONE;
}

/* ------------------------------------------------------ 2. SYNC, 3. ROOTS */

static enum cx_progress cycle_sync_gct(struct cx_cycle *cycle)
{
    return cycle_handshake_gct(cycle, CX_REQUEST_SYNC, CX_PHASE_SYNC);
}

static enum cx_progress cycle_roots_gct(struct cx_cycle *cycle)
{
    enum cx_progress progress = cycle_handshake_gct(cycle, CX_REQUEST_ROOTS, CX_PHASE_ROOTS);
    if (progress != CX_PROGRESS_DONE) return progress;
    cx_pace_cycle_begun_gct();
    cycle->mark_begin_ns = cx_os_now_ns();
    cx_a32_store_release(&cx_world.phase, CX_PHASE_MARK);
    CX_SCHEDULE_POINT("mark-begins");
    cycle->cursor = (struct cx_mark_cursor){0};
    return CX_PROGRESS_DONE;
}

/* ------------------------------------------------------ 4. MARK, 5. FLUSH */

static uint64_t cycle_marked(const struct cx_cycle *cycle)
{
    return cycle->marker.marked + cx_a64_load_relaxed(&cx_pace.assist_marked);
}

/* Frozen frames first: mutators may be about to return into them. */
static enum cx_progress cycle_mark_frozen_gct(struct cx_cycle *cycle)
{
    return cx_mark_frozen_gct(&cycle->marker, &cycle->at, &cycle->budget) ? CX_PROGRESS_MORE : CX_PROGRESS_DONE;
}

static enum cx_progress cycle_mark_roots_gct(struct cx_cycle *cycle)
{
    return cx_roots_mark_gct(&cycle->marker, &cycle->cursor, &cycle->budget) ? CX_PROGRESS_MORE : CX_PROGRESS_DONE;
}

static enum cx_progress cycle_mark_queue_gct(struct cx_cycle *cycle)
{
    return cx_finalize_mark_gct(&cycle->marker, &cycle->at, &cycle->budget) ? CX_PROGRESS_MORE : CX_PROGRESS_DONE;
}

static enum cx_progress cycle_trace_gct(struct cx_cycle *cycle)
{
    return cx_mark_some_gct(&cycle->marker, &cycle->budget) ? CX_PROGRESS_MORE : CX_PROGRESS_DONE;
}

/* Rounds: ask, trace; `at` is 1 while the answers of a round are traced. */
static enum cx_progress cycle_flush_gct(struct cx_cycle *cycle)
{
    if (cycle->at == 0) {
        if (!cycle->asked) {
            cycle->marked_before = cycle_marked(cycle); /* before the request: assistants mark while answers come in */
            cycle->gets_before = cx_weak_mark_count_gct();
        }
        enum cx_progress progress = cycle_handshake_gct(cycle, CX_REQUEST_FLUSH, CX_PHASE_MARK);
        cycle->at = progress == CX_PROGRESS_DONE;
        return progress == CX_PROGRESS_WAIT ? CX_PROGRESS_WAIT : CX_PROGRESS_MORE;
    }
    if (cx_mark_some_gct(&cycle->marker, &cycle->budget)) return CX_PROGRESS_MORE;
    cycle->stats.flushes++;
    if (cycle_marked(cycle) == cycle->marked_before && cx_weak_decide_gct(cycle->gets_before)) { /* INV-FLUSH-1, INV-WEAK-2 */
        CX_SCHEDULE_POINT("weak-decided");
        return CX_PROGRESS_DONE;
    }
    cycle->at = 0;
    return CX_PROGRESS_MORE;
}

/* ----------------------------------------------------------------- 6. WEAK */

static enum cx_progress cycle_clear_weak_gct(struct cx_cycle *cycle)
{
    return cx_weak_clear_gct(&cycle->at, &cycle->budget) ? CX_PROGRESS_MORE : CX_PROGRESS_DONE;
}

/* The dead that have a finalizer, and all they reach, were out of everybody's reach: no thread is asked again. */
static enum cx_progress cycle_revive_gct(struct cx_cycle *cycle)
{
    if (cx_finalize_revive_gct(&cycle->marker, &cycle->budget)) return CX_PROGRESS_MORE;
    CX_SCHEDULE_POINT("revived");
    return CX_PROGRESS_DONE;
}

static enum cx_progress cycle_forget_weak_gct(struct cx_cycle *cycle)
{
    if (cycle->at == 0) cx_finalize_publish_gct(); /* what was revived is traced */
    cycle->at = 1;
    return cx_weak_forget_gct(&cycle->budget) ? CX_PROGRESS_MORE : CX_PROGRESS_DONE;
}

/* ---------------------------------------------------------------- 7. VISIT */

/* In verify mode `at` 0: a flush that notes which handles threads hold. */
static enum cx_progress cycle_verify_gct(struct cx_cycle *cycle)
{
    if (cycle->at == 0) {
        cx_marker_fini(&cycle->marker);
        cycle->stats.marked = cycle_marked(cycle);
        cycle->stats.mark_ns = cx_os_now_ns() - cycle->mark_begin_ns;
        cx_event_emit(&cx_world.events, CX_EVENT_MARK_END, cycle->stats.marked, cx_os_now_ns() - cycle->begin_ns);
        if (!cx_world.config.verify) return CX_PROGRESS_DONE;
        cx_verify_begin_gct();
        cycle->at = 1;
    }
    enum cx_progress progress = cycle_handshake_gct(cycle, CX_REQUEST_FLUSH, CX_PHASE_MARK);
    if (progress == CX_PROGRESS_DONE) cx_verify_marks_gct();
    return progress;
}

static enum cx_progress cycle_visit_gct(struct cx_cycle *cycle)
{
    if (cx_unbarriered_is_on() && cycle->at == 0) cx_unbarriered_look_gct();
    cycle->at = 1;
    struct cx_visit *visit = cycle->visits;
    if (visit != NULL) {
        if (visit->run(visit->context)) return CX_PROGRESS_MORE;
        visit->done = true;
        cycle->visits = visit->next;
        return CX_PROGRESS_MORE;
    }
    if (cx_root_record_end_gct(&cycle->budget)) return CX_PROGRESS_MORE;
    cycle->sweep_begin_ns = cx_os_now_ns();
    cx_a32_store_release(&cx_world.phase, CX_PHASE_SWEEP);
    CX_SCHEDULE_POINT("sweep-begins");
    return CX_PROGRESS_DONE;
}

/* ---------------------------------------------------------------- 8. SWEEP */

static enum cx_progress cycle_sweep_handles_gct(struct cx_cycle *cycle)
{
    return cx_sweep_handles_gct(&cycle->at, &cycle->stats.swept, &cycle->budget) ? CX_PROGRESS_MORE : CX_PROGRESS_DONE;
}

static enum cx_progress cycle_sweep_lines_gct(struct cx_cycle *cycle)
{
    if (cycle->at == 0) cx_heap_sweep_begin_gct(&cx_world.heap);
    cycle->at = 1;
    CX_SCHEDULE_POINT("sweep-lines");
    while (cx_budget_is_left(&cycle->budget)) {
        if (!cx_heap_sweep_some(&cx_world.heap, &cycle->budget)) {
            cx_heap_sweep_end_gct(&cx_world.heap);
            return CX_PROGRESS_DONE;
        }
    }
    return CX_PROGRESS_MORE;
}

/* ----------------------------------------------------------------- 9. IDLE */

static enum cx_progress cycle_idle_gct(struct cx_cycle *cycle)
{
    if (!cycle->asked) {
        if (cx_world.config.verify) cx_verify_swept_gct();
        cycle->stats.bytes_reclaimed =
            cycle->stats.swept.large_bytes + cx_a64_load_relaxed(&cx_world.heap.swept_gone_lines) * CX_LINE_BYTES;
        cycle->stats.sweep_ns = cx_os_now_ns() - cycle->sweep_begin_ns;
        cx_event_emit(&cx_world.events, CX_EVENT_SWEEP_END, cycle->stats.swept.objects, cycle->stats.sweep_ns);
    }
    return cycle_handshake_gct(cycle, CX_REQUEST_IDLE, CX_PHASE_IDLE);
}

static enum cx_progress cycle_end_gct(struct cx_cycle *cycle)
{
    if (cycle->at == 0) {
        cx_pace_cycle_ended_gct();
        cx_mark_queue_cycle_ended_gct(&cx_world.mark_queue);
    }
    cycle->at = 1;
    uint64_t keep = cx_a64_load_relaxed(&cx_pace.goal);
    bool more = cx_heap_trim_some_gct(&cx_world.heap, keep, &cycle->budget) || cx_mark_queue_trim_gct(&cx_world.mark_queue, &cycle->budget);
    return more ? CX_PROGRESS_MORE : CX_PROGRESS_DONE;
}

/* --------------------------------------------------------------- the order */

static const struct cycle_stage {
    enum cx_progress (*run)(struct cx_cycle *);
    const char *name; /* in traces */
} cycle_stages[] = {
    {cycle_clear_gct, "clear marks"},
    {cycle_sync_gct, "sync"},
    {cycle_roots_gct, "roots"},
    {cycle_mark_frozen_gct, "mark stacks"},
    {cycle_mark_roots_gct, "mark global roots"},
    {cycle_mark_queue_gct, "mark finalizer queue"},
    {cycle_trace_gct, "mark"},
    {cycle_flush_gct, "flush"},
    {cycle_clear_weak_gct, "clear weak"},
    {cycle_revive_gct, "revive finalizable"},
    {cycle_trace_gct, "mark revived"},
    {cycle_forget_weak_gct, "forget weak"},
    {cycle_verify_gct, "verify"},
    {cycle_visit_gct, "visit"},
    {cycle_sweep_handles_gct, "sweep handles"},
    {cycle_sweep_lines_gct, "sweep lines"},
    {cycle_idle_gct, "idle"},
    {cycle_end_gct, "trim"},
};

enum { CYCLE_STAGES = sizeof cycle_stages / sizeof cycle_stages[0] };

const char *cx_cycle_stage_name(uint64_t stage) { return stage < CYCLE_STAGES ? cycle_stages[stage].name : "?"; }

void cx_cycle_begin_gct(struct cx_cycle *cycle, struct cx_visit *visits)
{
    uint64_t epoch = cycle->epoch;
    *cycle = (struct cx_cycle){.epoch = epoch, .visits = visits};
    cx_a64_add_relaxed(&cx_world.cycle, 1);
    for (const struct cx_visit *visit = visits; visit != NULL; visit = visit->next) {
        if (visit->stacks) cx_root_record_begin_gct();
    }
}

/* Runs a slice of the stage within its budget. */
static enum cx_progress cycle_run_slice_gct(struct cx_cycle *cycle)
{
    cycle->budget = cx_budget_of(CX_SLICE_UNITS);
    enum cx_progress progress = cycle_stages[cycle->stage].run(cycle);
    cx_budget_check(&cycle->budget, cycle_stages[cycle->stage].name);
    uint64_t units = (uint64_t)(CX_SLICE_UNITS - cycle->budget.left);
    if (units > cycle->stats.most_units) cycle->stats.most_units = units;
    cycle->stats.slices++;
    return progress;
}

enum cx_progress cx_cycle_step_gct(struct cx_cycle *cycle)
{
    enum cx_progress progress = cycle_run_slice_gct(cycle);
    if (progress != CX_PROGRESS_DONE) return progress;
    uint64_t now = cx_os_now_ns();
    cx_event_emit(&cx_world.events, CX_EVENT_STAGE, cycle->stage,
                  now - (cycle->stage == 0 ? cycle->begin_ns : cycle->stage_begin_ns));
    cycle->stage_begin_ns = now;
    cycle->at = 0;
    if (++cycle->stage < CYCLE_STAGES) return CX_PROGRESS_MORE;
    cycle->stats.duration_ns = now - cycle->begin_ns;
    cx_event_emit(&cx_world.events, CX_EVENT_CYCLE_END, cx_a64_load_relaxed(&cx_world.cycle), cycle->stats.duration_ns);
    return CX_PROGRESS_DONE;
}
