/* See listen.h. Entered by every thread that stops, and by the collector. */
#include "diag/listen.h"

#include "base/lock.h"
#include "base/os.h"
#include "gc/pace.h"

#include <stdarg.h>

struct cx_listener cx_listener;

/* The stream outlives runtimes: it may be set before init. */
static cx_mutex output_lock = {.os = PTHREAD_MUTEX_INITIALIZER, .rank = CX_RANK_OUTPUT};
static FILE *output_stream; /* under the lock; NULL: stderr */

void coex_gc_set_output(FILE *stream)
{
    cx_mutex_lock(&output_lock);
    output_stream = stream;
    cx_mutex_unlock(&output_lock);
}

void cx_output_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int before = cx_os_hold_cancellation();
    cx_mutex_lock(&output_lock);
    FILE *stream = output_stream != NULL ? output_stream : stderr;
    vfprintf(stream, format, arguments);
    fflush(stream);
    cx_mutex_unlock(&output_lock);
    cx_os_allow_cancellation(before);
    va_end(arguments);
}

void coex_gc_set_trace_level(int64_t level) { cx_a64_store_relaxed(&cx_listener.trace_level, level < 0 ? 0 : (uint64_t)level); }

static double listen_mb(uint64_t bytes) { return (double)bytes / 1048576.0; }

static void listen_end_cycle(struct cx_listener *listener, uint64_t number, uint64_t duration_ns)
{
    coex_gc_times cpu = cx_histogram_times(&listener->cycle_stop_cpu);
    coex_gc_times wall = cx_histogram_times(&listener->cycle_stop_wall);
    coex_gc_times handshake = cx_histogram_times(&listener->cycle_handshake);
    cx_mutex_lock(&output_lock);
    listener->last_stop_cpu = cpu;
    listener->last_stop_wall = wall;
    listener->last_handshake = handshake;
    cx_mutex_unlock(&output_lock);
    cx_histogram_clear(&listener->cycle_stop_cpu);
    cx_histogram_clear(&listener->cycle_stop_wall);
    cx_histogram_clear(&listener->cycle_handshake);
    if (cx_a64_load_relaxed(&listener->trace_level) < 1) return;
    cx_output_print("[GC] Collection #%llu complete in %.1f ms: %llu objects marked in %.1f ms, %llu reclaimed in %.1f ms, "
                    "heap %.1f -> %.1f MB (goal %.1f), stops p99 %.1f us, max %.1f us\n",
                    (unsigned long long)number, (double)duration_ns / 1e6, (unsigned long long)listener->marked,
                    (double)listener->mark_ns / 1e6, (unsigned long long)listener->swept, (double)listener->sweep_ns / 1e6,
                    listen_mb(listener->used_at_begin), listen_mb(cx_a64_load_relaxed(&cx_pace.live)),
                    listen_mb(cx_a64_load_relaxed(&cx_pace.goal)), (double)cpu.p99 / 1e3, (double)cpu.max / 1e3);
}

static void listen_late(struct cx_listener *listener, uint64_t thread, uint64_t late_ms)
{
    cx_a64_add_relaxed(&listener->late_threads, 1);
    cx_a64_store_relaxed(&listener->late_thread_id, thread);
    if (cx_a64_load_relaxed(&listener->trace_level) >= 1)
        cx_output_print("[GC] Thread %llu has not reached a safepoint for %llu ms (phase %s)\n", (unsigned long long)thread,
                        (unsigned long long)late_ms, cx_phase_name(cx_phase_now()));
}

static void listen_take(void *context, const struct cx_event *event)
{
    struct cx_listener *listener = context;
    switch (event->kind) {
    case CX_EVENT_CYCLE_BEGIN:
        listener->used_at_begin = event->b;
        break;
    case CX_EVENT_MARK_END:
        listener->marked = event->a;
        listener->mark_ns = event->b;
        break;
    case CX_EVENT_SWEEP_END:
        listener->swept = event->a;
        listener->sweep_ns = event->b;
        break;
    case CX_EVENT_CYCLE_END:
        listen_end_cycle(listener, event->a, event->b);
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
        listen_late(listener, event->a, event->b);
        break;
    }
}

void cx_listener_last_times(coex_gc_times *stop_cpu, coex_gc_times *stop_wall, coex_gc_times *handshake)
{
    cx_mutex_lock(&output_lock);
    *stop_cpu = cx_listener.last_stop_cpu;
    *stop_wall = cx_listener.last_stop_wall;
    *handshake = cx_listener.last_handshake;
    cx_mutex_unlock(&output_lock);
}

void cx_event_listen(struct cx_events *events)
{
    cx_listener = (struct cx_listener){0};
    cx_a64_store_relaxed(&cx_listener.trace_level, cx_world.config.trace_level);
    events->context = &cx_listener;
    events->listener = listen_take;
}

void cx_event_deafen(struct cx_events *events) { *events = (struct cx_events){0}; }

void cx_event_fork_lock(void) { cx_mutex_lock(&output_lock); }
void cx_event_fork_unlock(void) { cx_mutex_unlock(&output_lock); }
