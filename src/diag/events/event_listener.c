/* See event_listener.h. Entered by every thread that stops, and by the collector. */
#include "diag/events/event_listener.h"

#include "base/lock.h"
#include "base/os.h"
#include "diag/events/profile.h"
#include "diag/events/trace.h"
#include "gc/cycle/pace.h"
#include "gc/lock_rank.h"
#include "diag/output.h"

struct cx_event_statistics cx_event_statistics;

/* Apart from the stream's: the collector must not wait for somebody who writes a long dump. */
static cx_mutex times_lock = CX_MUTEX_INITIALIZER(CX_RANK_TIMES);

static void listener_end_cycle(struct cx_event_statistics *listener, uint64_t number, uint64_t duration_ns)
{
    coex_gc_times cpu = cx_histogram_times(&listener->cycle_stop_cpu);
    coex_gc_times wall = cx_histogram_times(&listener->cycle_stop_wall);
    coex_gc_times handshake = cx_histogram_times(&listener->cycle_handshake);
    cx_mutex_lock(&times_lock);
    listener->last_stop_cpu = cpu;
    listener->last_stop_wall = wall;
    listener->last_handshake = handshake;
    cx_mutex_unlock(&times_lock);
    cx_histogram_clear(&listener->cycle_stop_cpu);
    cx_histogram_clear(&listener->cycle_stop_wall);
    cx_histogram_clear(&listener->cycle_handshake);
    cx_cycle_history_end_gct(listener, number, duration_ns);
}

static void listener_late(struct cx_event_statistics *listener, uint64_t thread, uint64_t late_ms)
{
    cx_a64_add_relaxed(&listener->late_threads, 1);
    cx_a64_store_relaxed(&listener->late_thread_id, thread);
    if (cx_a64_load_relaxed(&listener->trace_level) >= 1)
        cx_output_print("[GC] Thread %llu has not reached a safepoint for %llu ms (phase %s)\n", (unsigned long long)thread,
                        (unsigned long long)late_ms, cx_phase_name(cx_phase_now()));
}

static void listener_take(void *context, const struct cx_event *event)
{
    struct cx_event_statistics *listener = context;
    if (cx_trace_is_on()) cx_trace_take(event); /* first: what follows may take its time */
    switch (event->kind) {
    case CX_EVENT_CYCLE_BEGIN:
        listener->used_at_begin = event->b;
        cx_cycle_history_begin_gct(listener, event->a);
        break;
    case CX_EVENT_MARK_END:
        listener->marked = event->a;
        listener->mark_ns = event->b;
        cx_cycle_history_mark_end_gct(listener);
        cx_profile_mark_end_gct();
        break;
    case CX_EVENT_SWEEP_END:
        listener->swept = event->a;
        listener->sweep_ns = event->b;
        cx_cycle_history_sweep_end_gct(listener);
        break;
    case CX_EVENT_CYCLE_END:
        listener_end_cycle(listener, event->a, event->b);
        break;
    case CX_EVENT_STOP:
        cx_histogram_add(&listener->stop_cpu, event->a);
        cx_histogram_add(&listener->stop_wall, event->b);
        cx_histogram_add(&listener->cycle_stop_cpu, event->a);
        cx_histogram_add(&listener->cycle_stop_wall, event->b);
        break;
    case CX_EVENT_HANDSHAKE:
        cx_histogram_add(&listener->handshake, event->a);
        cx_histogram_add(&listener->cycle_handshake, event->a);
        break;
    case CX_EVENT_THREAD_LATE:
        listener_late(listener, event->a, event->b);
        break;
    case CX_EVENT_REQUEST:
        cx_a64_store_relaxed(&listener->asked_ns, cx_os_now_ns());
        break;
    case CX_EVENT_STAGE:
        cx_cycle_history_stage_gct(listener, event->a);
        break;
    case CX_EVENT_SAMPLE:
        cx_profile_take(event->a, event->b);
        break;
    case CX_EVENT_ANSWERED_FOR:
        break;
    }
}

void cx_event_statistics_last_times(coex_gc_times *stop_cpu, coex_gc_times *stop_wall, coex_gc_times *handshake)
{
    cx_mutex_lock(&times_lock);
    *stop_cpu = cx_event_statistics.last_stop_cpu;
    *stop_wall = cx_event_statistics.last_stop_wall;
    *handshake = cx_event_statistics.last_handshake;
    cx_mutex_unlock(&times_lock);
}

static void listener_stop(struct cx_events *events)
{
    cx_trace_fini();
    cx_profile_fini();
    *events = (struct cx_events){0};
}

static int listener_start(struct cx_events *events)
{
    cx_event_statistics = (struct cx_event_statistics){0};
    cx_object_trace_begin(events, cx_world.config.trace_level);
    cx_event_statistics.started_ns = cx_os_now_ns();
    events->context = &cx_event_statistics;
    events->listener = listener_take;
    if (cx_world.config.events == NULL) return COEX_GC_OK;
    int code = cx_trace_start(cx_world.config.events);
    if (code != COEX_GC_OK) listener_stop(events);
    return code;
}

static void listener_fork_lock(void)
{
    cx_trace_fork_lock();
    cx_profile_fork_lock();
    cx_output_fork_lock();
}

static void listener_fork_parent(void)
{
    cx_output_fork_unlock();
    cx_profile_fork_unlock();
    cx_trace_fork_parent();
}

/* The child records nothing: the file is its parent's. */
static void listener_fork_child(void)
{
    cx_output_fork_unlock();
    cx_profile_fork_unlock();
    cx_trace_fork_child();
}

const struct cx_observer cx_diag_observer = {
    .start = listener_start,
    .stop = listener_stop,
    .fork_lock = listener_fork_lock,
    .fork_parent = listener_fork_parent,
    .fork_child = listener_fork_child,
};
