/* What the listener keeps of the collector's events: times of stops, handshakes and cycles. */
#ifndef CX_DIAG_EVENTS_EVENT_STATISTICS_H
#define CX_DIAG_EVENTS_EVENT_STATISTICS_H

#include "diag/events/histogram.h"

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
};

extern struct cx_event_statistics cx_event_statistics;

/* Copies the times of the last complete cycle. */
void cx_event_statistics_last_times(coex_gc_times *stop_cpu, coex_gc_times *stop_wall, coex_gc_times *handshake);

#endif
