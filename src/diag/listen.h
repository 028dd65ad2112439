/* The listener: takes the collector's events, keeps the times, writes the trace. */
#ifndef CX_DIAG_LISTEN_H
#define CX_DIAG_LISTEN_H

#include "diag/histogram.h"
#include "gc/event.h"

struct cx_listener {
    struct cx_histogram stop_cpu, stop_wall, handshake;                   /* since init */
    struct cx_histogram cycle_stop_cpu, cycle_stop_wall, cycle_handshake; /* since the last cycle ended */
    /* Of the last complete cycle. W: collector. R: anyone; written once a cycle, under the output lock */
    coex_gc_times last_stop_cpu, last_stop_wall, last_handshake;
    cx_a64 late_threads;
    cx_a64 late_thread_id;
    cx_a64 trace_level;
    /* the cycle that runs; collector only */
    uint64_t used_at_begin, marked, mark_ns, swept, sweep_ns;
};

extern struct cx_listener cx_listener;

void cx_listener_last_times(coex_gc_times *stop_cpu, coex_gc_times *stop_wall, coex_gc_times *handshake);

/* Writes to the stream that dumps and traces go to, under a lock. */
void cx_output_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
