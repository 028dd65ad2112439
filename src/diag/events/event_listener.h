/* The listener: takes the collector's events, keeps the times, writes the trace. */
#ifndef CX_DIAG_EVENTS_EVENT_LISTENER_H
#define CX_DIAG_EVENTS_EVENT_LISTENER_H

#include "diag/events/event_statistics.h"
#include "gc/event.h"

/* What the runtime calls of src/diag (gc/event.h). */
extern const struct cx_observer cx_diag_observer;

/* Trace levels (object_trace.c), at init: the level that the options ask for. */
void cx_object_trace_begin(struct cx_events *events, uint64_t level);

/* Lines about cycles (cycle_history.c): trace level 1, and COEX_GC=gctrace=1. Collector only. */
void cx_cycle_history_begin_gct(struct cx_event_statistics *listener, uint64_t number);
void cx_cycle_history_stage_gct(struct cx_event_statistics *listener, uint64_t stage);
void cx_cycle_history_mark_end_gct(struct cx_event_statistics *listener);
void cx_cycle_history_sweep_end_gct(struct cx_event_statistics *listener);
void cx_cycle_history_end_gct(struct cx_event_statistics *listener, uint64_t number, uint64_t duration_ns);

#endif
