/* What the collector tells whoever listens: cycles, stops, threads that are late. src/gc emits and knows no listener by name;
 * src/diag listens. A listener is called on the thread where it happens, must be quick, and takes no lock below CX_RANK_OUTPUT. */
#ifndef CX_GC_EVENT_H
#define CX_GC_EVENT_H

#include "base/atomic.h"

enum cx_event_kind {
    CX_EVENT_CYCLE_BEGIN, /* a: cycle number, b: heap bytes used */
    CX_EVENT_MARK_END,    /* a: objects marked, b: nanoseconds from the start of the cycle */
    CX_EVENT_SWEEP_END,   /* a: objects swept, b: nanoseconds of the sweep */
    CX_EVENT_CYCLE_END,   /* a: cycle number, b: nanoseconds in all */
    CX_EVENT_STOP,        /* a thread answered: a: nanoseconds on the CPU, b: by the clock on the wall */
    CX_EVENT_HANDSHAKE,   /* a: nanoseconds from request to last answer, b: kind */
    CX_EVENT_THREAD_LATE  /* a: thread id, b: milliseconds it is late by now */
};

struct cx_event {
    enum cx_event_kind kind;
    uint64_t a, b;
};

typedef void (*cx_event_listener)(void *context, const struct cx_event *event);

struct cx_events {
    cx_event_listener listener; /* set before the first thread is registered, constant from then on */
    void *context;
};

static inline void cx_event_emit(const struct cx_events *events, enum cx_event_kind kind, uint64_t a, uint64_t b)
{
    if (events->listener != 0) {
        struct cx_event event = {kind, a, b};
        events->listener(events->context, &event);
    }
}

/* Implemented by src/diag: starts listening, and stops. */
void cx_event_listen(struct cx_events *events);
void cx_event_deafen(struct cx_events *events);
/* Around fork: nobody writes in between. */
void cx_event_fork_lock(void);
void cx_event_fork_unlock(void);

#endif
