/* The listener: takes the collector's events, keeps the times, writes the trace. */
#ifndef CX_DIAG_EVENTS_EVENT_LISTENER_H
#define CX_DIAG_EVENTS_EVENT_LISTENER_H

#include "diag/events/histogram.h"
#include "gc/event.h"

/* What a debugger may call in a process that stands still (gc_diag.h). */
struct cx_debugger_calls {
    void (*object)(coex_handle h);
    void (*stacks)(void);
    bool (*why)(coex_handle h);
};

struct cx_event_statistics {
    struct cx_histogram stop_cpu, stop_wall, handshake;                   /* since init */
    struct cx_histogram cycle_stop_cpu, cycle_stop_wall, cycle_handshake; /* since the last cycle ended */
    /* Of the last complete cycle. W: collector. R: anyone; written once a cycle, under a lock */
    coex_gc_times last_stop_cpu, last_stop_wall, last_handshake;
    cx_a64 late_threads;
    cx_a64 late_thread_id;
    cx_a64 trace_level;
    cx_a64 asked_ns; /* when threads were asked last. W: collector, before the request is published. R: who answers it */
    /* the cycle that runs; collector only */
    uint64_t used_at_begin, marked, mark_ns, swept, sweep_ns;
    uint64_t begin_ns, begin_cpu_ns, roots_ns, used_at_mark_end;
    uint64_t cycles_cpu_ns; /* of whoever ran cycles, in all */
    uint64_t started_ns;    /* when the runtime came up */
    const struct cx_debugger_calls *debugger;
};

extern struct cx_event_statistics cx_event_statistics;

/* What the runtime calls of src/diag (gc/event.h). */
extern const struct cx_observer cx_diag_observer;

void cx_event_statistics_last_times(coex_gc_times *stop_cpu, coex_gc_times *stop_wall, coex_gc_times *handshake);

/* Trace levels (object_trace.c), at init: the level that the options ask for. */
void cx_object_trace_begin(struct cx_events *events, uint64_t level);

/* Lines about cycles (cycle_history.c): trace level 1, and COEX_GC=gctrace=1. Collector only. */
void cx_cycle_history_begin_gct(struct cx_event_statistics *listener, uint64_t number);
void cx_cycle_history_stage_gct(struct cx_event_statistics *listener, uint64_t stage);
void cx_cycle_history_mark_end_gct(struct cx_event_statistics *listener);
void cx_cycle_history_sweep_end_gct(struct cx_event_statistics *listener);
void cx_cycle_history_end_gct(struct cx_event_statistics *listener, uint64_t number, uint64_t duration_ns);

/* Writes to the stream that dumps and traces go to, under a lock; or piece by piece between begin and end. */
void cx_output_begin(void);
void cx_output_write(const char *text, size_t length);
void cx_output_end(void);
void cx_output_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
