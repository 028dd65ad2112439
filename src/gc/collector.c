/* See collector.h. Everything but the requests at the end runs on the GC thread. */
#include "gc/collector.h"

#include "base/point.h"
#include "gc/error.h"
#include "gc/finalize.h"
#include "gc/pace.h"
#include "gc/roots.h"
#include "gc/transition.h"
#include "gc/verify.h"
#include "gc/weak.h"

enum { COLLECTOR_TICK_MS = 1000 }; /* without a cycle for so long, free memory goes back */

struct cx_collector {
    cx_mutex lock; /* CX_RANK_REQUEST */
    cx_cond asked;
    cx_cond ended;
    /* under the lock */
    bool pending, running, stopping;
    uint64_t started;
    struct cx_cycle_stats last;
    struct cx_visit *visits;
    uint64_t waiters; /* threads inside collector_wait_locked */
    bool trimmed; /* nothing has been freed since free memory went back */
    /* the GC thread's own */
    uint64_t epoch;
    struct cx_marker marker;
    cx_os_thread thread;
};

static struct cx_collector collector_state;

/* ------------------------------------------------------------- handshakes */

static void collector_publish_gct(enum cx_request kind, enum cx_phase phase)
{
    struct cx_registry *registry = &cx_world.registry;
    struct cx_collector *collector = cx_world.collector;
    uint64_t request = ++collector->epoch << 3 | kind;
    cx_mutex_lock(&registry->lock);
    cx_a32_store_release(&cx_world.phase, phase);
    uint32_t count = cx_a32_load_relaxed(&registry->count);
    for (uint32_t i = 0; i < count; i++) {
        struct cx_thread *thread = cx_registry_at(registry, i);
        if (cx_a32_load_relaxed(&thread->state) == CX_THREAD_LIVE) {
            cx_a64_store_seq(&thread->requested, request);
            cx_aptr_store_release(cx_aptr_at(&thread->words.limit), NULL); /* after `requested`: INV-POLL-1 */
        } else if (kind == CX_REQUEST_ROOTS) {
            cx_thread_abandon_handles_locked(thread); /* INV-THREAD-4 */
        } else {
            cx_safepoint_note_held(thread);
        }
    }
    cx_mutex_unlock(&registry->lock);
}

/* Names a thread that has not answered for safepoint_warn_ms, once a request. */
static void collector_warn_gct(struct cx_thread *thread, uint64_t since)
{
    uint64_t late_ms = (cx_os_now_ns() - since) / 1000000;
    uint64_t epoch = cx_world.collector->epoch;
    if (late_ms < cx_world.config.safepoint_warn_ms || cx_a64_load_relaxed(&thread->warned) == epoch)
        return;
    cx_a64_store_relaxed(&thread->warned, epoch);
    cx_event_emit(&cx_world.events, CX_EVENT_THREAD_LATE, cx_a64_load_relaxed(&thread->os_id), late_ms);
}

/* One look at every thread; true when nobody owes an answer. */
static bool collector_poll_gct(uint64_t since)
{
    struct cx_registry *registry = &cx_world.registry;
    uint32_t count = cx_a32_load_acquire(&registry->count);
    bool all = true;
    for (uint32_t i = 0; i < count; i++) {
        struct cx_thread *thread = cx_registry_at(registry, i);
        if (cx_a32_load_acquire(&thread->state) != CX_THREAD_LIVE || !cx_thread_is_pending(thread))
            continue;
        if (!cx_transition_answer_gct(thread) && cx_thread_is_pending(thread)) {
            collector_warn_gct(thread, since);
            all = false;
        }
    }
    return all;
}

static void collector_await_gct(enum cx_request kind)
{
    uint64_t since = cx_os_now_ns();
    for (uint64_t looks = 0; !collector_poll_gct(since); looks++) {
        CX_POINT("await-answers");
        if (looks < 100)
            cx_cpu_relax();
        else
            cx_os_sleep_ns(looks < 200 ? 20000 : 200000);
    }
    cx_event_emit(&cx_world.events, CX_EVENT_HANDSHAKE, cx_os_now_ns() - since, kind);
}

static void collector_handshake_gct(enum cx_request kind, enum cx_phase phase)
{
    collector_publish_gct(kind, phase);
    CX_POINT("handshake-published");
    collector_await_gct(kind);
}

static void collector_flush_gct(void) { collector_handshake_gct(CX_REQUEST_FLUSH, CX_PHASE_MARK); }

/* -------------------------------------------------------------- the cycle */

static uint64_t collector_marked(const struct cx_marker *marker)
{
    return marker->marked + cx_a64_load_relaxed(&cx_pace.assist_marked);
}

/* 4 and 5. Returns the number of flush rounds. */
static uint64_t collector_mark_gct(struct cx_marker *marker)
{
    cx_a32_store_release(&cx_world.phase, CX_PHASE_MARK);
    CX_POINT("mark-begins");
    cx_mark_frozen_gct(marker); /* first: mutators may be about to return into them */
    cx_roots_mark_gct(marker);
    cx_finalize_mark_gct(marker);
    cx_mark_drain_gct(marker);
    uint64_t rounds = 0, before, gets;
    do {
        before = collector_marked(marker); /* before the request: assistants mark while answers come in */
        gets = cx_weak_mark_count_gct();   /* likewise: INV-WEAK-2 */
        collector_flush_gct();
        cx_mark_drain_gct(marker);
        rounds++;
    } while (collector_marked(marker) != before || !cx_weak_decide_gct(gets)); /* INV-FLUSH-1 */
    return rounds;
}

/* 6. What is alive is decided. Weak things first, then the dead that have a finalizer; they and all they reach were out of everybody's
 * reach, so no thread is asked again. */
static void collector_bury_gct(struct cx_marker *marker)
{
    cx_weak_clear_gct();
    if (cx_finalize_revive_gct(marker) != 0)
        cx_mark_drain_gct(marker);
    cx_weak_forget_gct();
}

/* 7. Visits that were asked for before this cycle started. */
static void collector_run_visits_gct(struct cx_visit *visits)
{
    for (struct cx_visit *visit = visits; visit != NULL; visit = visit->next)
        visit->run(visit->context);
}

static void collector_cycle_gct(struct cx_cycle_stats *stats, struct cx_visit *visits)
{
    struct cx_marker *marker = &cx_world.collector->marker;
    uint64_t begin = cx_os_now_ns();
    cx_a64_add_relaxed(&cx_world.cycle, 1);
    cx_event_emit(&cx_world.events, CX_EVENT_CYCLE_BEGIN, cx_a64_load_relaxed(&cx_world.cycle), cx_a64_load_relaxed(&cx_world.heap.used));

    cx_sweep_clear_gct(); /* 1 */
    cx_grey_drop_all_gct(&cx_world.grey);
    cx_weak_begin_gct();
    cx_marker_init(marker);
    CX_POINT("cycle-cleared");
    collector_handshake_gct(CX_REQUEST_SYNC, CX_PHASE_SYNC);   /* 2 */
    collector_handshake_gct(CX_REQUEST_ROOTS, CX_PHASE_ROOTS); /* 3 */
    cx_pace_cycle_begun_gct();
    uint64_t mark_begin = cx_os_now_ns();
    stats->flushes = collector_mark_gct(marker);
    collector_bury_gct(marker);
    stats->marked = collector_marked(marker);
    cx_marker_fini(marker);
    uint64_t mark_end = cx_os_now_ns();
    stats->mark_ns = mark_end - mark_begin;
    cx_event_emit(&cx_world.events, CX_EVENT_MARK_END, stats->marked, mark_end - begin);

    if (cx_world.config.verify)
        cx_verify_marks_gct(collector_flush_gct);
    collector_run_visits_gct(visits);

    uint64_t sweep_begin = cx_os_now_ns();
    cx_a32_store_release(&cx_world.phase, CX_PHASE_SWEEP); /* 8 */
    CX_POINT("sweep-begins");
    stats->swept = cx_sweep_handles_gct();
    cx_sweep_lines_gct(); /* after the handles: INV-HEAP-2 */
    stats->bytes_reclaimed = stats->swept.large_bytes + cx_a64_load_relaxed(&cx_world.heap.swept_gone_lines) * CX_LINE_BYTES;
    stats->sweep_ns = cx_os_now_ns() - sweep_begin;
    cx_event_emit(&cx_world.events, CX_EVENT_SWEEP_END, stats->swept.objects, stats->sweep_ns);

    collector_handshake_gct(CX_REQUEST_IDLE, CX_PHASE_IDLE); /* 9 */
    cx_pace_cycle_ended_gct();
    uint64_t spare = cx_a64_load_relaxed(&cx_pace.goal);
    cx_heap_trim_gct(&cx_world.heap, spare);
    stats->duration_ns = cx_os_now_ns() - begin;
    cx_event_emit(&cx_world.events, CX_EVENT_CYCLE_END, cx_a64_load_relaxed(&cx_world.cycle), stats->duration_ns);
}

/* ---------------------------------------------------------- the GC thread */

static void collector_trim_gct(struct cx_collector *collector)
{
    cx_mutex_unlock(&collector->lock);
    cx_heap_trim_gct(&cx_world.heap, 0);
    cx_large_trim(&cx_world.heap.large);
    cx_mutex_lock(&collector->lock);
    collector->trimmed = true;
}

static void collector_serve_gct(struct cx_collector *collector)
{
    struct cx_cycle_stats stats = {0};
    struct cx_visit *visits = collector->visits;
    collector->visits = NULL;
    collector->pending = false;
    collector->running = true;
    collector->started++;
    cx_mutex_unlock(&collector->lock);
    collector_cycle_gct(&stats, visits);
    cx_mutex_lock(&collector->lock);
    for (struct cx_visit *visit = visits; visit != NULL; visit = visit->next)
        visit->done = true;
    stats.completed = collector->started;
    stats.total_ns = collector->last.total_ns + stats.duration_ns;
    collector->last = stats;
    collector->running = false;
    collector->trimmed = false;
    cx_cond_broadcast(&collector->ended);
}

static void collector_main(void *argument)
{
    struct cx_collector *collector = argument;
    cx_mutex_lock(&collector->lock);
    while (!collector->stopping) {
        if (collector->pending)
            collector_serve_gct(collector);
        else if (collector->trimmed)
            cx_cond_wait(&collector->asked, &collector->lock);
        else if (!cx_cond_wait_for(&collector->asked, &collector->lock, (uint64_t)COLLECTOR_TICK_MS * 1000000))
            collector_trim_gct(collector);
    }
    cx_mutex_unlock(&collector->lock);
}

int cx_collector_start(void)
{
    struct cx_collector *collector = &collector_state;
    *collector = (struct cx_collector){.trimmed = true};
    cx_mutex_init(&collector->lock, CX_RANK_REQUEST);
    cx_cond_init(&collector->asked);
    cx_cond_init(&collector->ended);
    cx_world.collector = collector;
    if (cx_os_thread_start(&collector->thread, "coexgc", collector_main, collector))
        return COEX_GC_OK;
    cx_world.collector = NULL;
    cx_cond_fini(&collector->ended);
    cx_cond_fini(&collector->asked);
    cx_mutex_fini(&collector->lock);
    return cx_error_set(COEX_GC_ETHREAD, "the GC thread could not be started");
}

void cx_collector_stop(void)
{
    struct cx_collector *collector = cx_world.collector;
    cx_mutex_lock(&collector->lock);
    collector->stopping = true;
    cx_cond_broadcast(&collector->asked);
    cx_cond_broadcast(&collector->ended);
    cx_mutex_unlock(&collector->lock);
    cx_os_thread_join(&collector->thread);
    /* Threads that wait for a cycle in native mode have been woken; they use the lock once more. */
    cx_mutex_lock(&collector->lock);
    while (collector->waiters != 0) {
        cx_mutex_unlock(&collector->lock);
        cx_os_sleep_ns(100000);
        cx_mutex_lock(&collector->lock);
    }
    cx_mutex_unlock(&collector->lock);
    cx_world.collector = NULL;
    cx_cond_fini(&collector->ended);
    cx_cond_fini(&collector->asked);
    cx_mutex_fini(&collector->lock);
}

/* --------------------------------------------------------------- requests */

void cx_collector_async(void)
{
    struct cx_collector *collector = cx_world.collector;
    cx_mutex_lock(&collector->lock);
    if (!collector->pending && !collector->running) {
        collector->pending = true;
        cx_cond_signal(&collector->asked);
    }
    cx_mutex_unlock(&collector->lock);
}

static uint64_t collector_order_locked(struct cx_collector *collector)
{
    if (!collector->pending) {
        collector->pending = true;
        cx_cond_signal(&collector->asked);
    }
    return collector->started + 1;
}

uint64_t cx_collector_order(void)
{
    struct cx_collector *collector = cx_world.collector;
    cx_mutex_lock(&collector->lock);
    uint64_t number = collector_order_locked(collector);
    cx_mutex_unlock(&collector->lock);
    return number;
}

uint64_t cx_collector_current(void)
{
    struct cx_collector *collector = cx_world.collector;
    cx_mutex_lock(&collector->lock);
    uint64_t number = collector->running ? collector->started : collector->pending ? collector->started + 1 : 0;
    cx_mutex_unlock(&collector->lock);
    return number;
}

static void collector_wait_locked(struct cx_collector *collector, uint64_t number)
{
    collector->waiters++;
    while (collector->last.completed < number) {
        bool coming = collector->running && collector->started >= number;
        if (collector->stopping && !coming)
            break;
        cx_cond_wait(&collector->ended, &collector->lock);
    }
    collector->waiters--;
}

void cx_collector_wait(uint64_t number)
{
    struct cx_collector *collector = cx_world.collector;
    cx_mutex_lock(&collector->lock);
    collector_wait_locked(collector, number);
    cx_mutex_unlock(&collector->lock);
}

void cx_collector_visit(struct cx_visit *visit)
{
    struct cx_collector *collector = cx_world.collector;
    cx_mutex_lock(&collector->lock);
    visit->done = false;
    visit->next = collector->visits;
    collector->visits = visit;
    collector_wait_locked(collector, collector_order_locked(collector));
    cx_mutex_unlock(&collector->lock);
}

struct cx_cycle_stats cx_collector_stats(void)
{
    struct cx_collector *collector = cx_world.collector;
    cx_mutex_lock(&collector->lock);
    struct cx_cycle_stats stats = collector->last;
    cx_mutex_unlock(&collector->lock);
    return stats;
}
