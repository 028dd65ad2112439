/* Events of the collector: cycles and their stages, requests and answers, late threads, and
 * sampled allocations.
 *
 * src/gc emits events and does not know the listener. src/diag listens. A listener is called on
 * the thread of the event. It must be fast, and takes no lock with a rank below CX_RANK_PROFILE.
 * Each event is also a probe for tracers (base/probe.h), which costs a nop. */
#ifndef CX_GC_EVENT_H
#define CX_GC_EVENT_H

#include "base/atomic.h"
#include "base/probe.h"

enum cx_event_kind {
    CX_EVENT_CYCLE_BEGIN,  /* a: cycle number, b: heap bytes used */
    CX_EVENT_STAGE,        /* a stage of the cycle has ended: a: its number, b: nanoseconds it took */
    CX_EVENT_MARK_END,     /* a: objects marked, b: nanoseconds from the start of the cycle. The dead are still there to look at */
    CX_EVENT_SWEEP_END,    /* a: objects swept, b: nanoseconds of the sweep */
    CX_EVENT_CYCLE_END,    /* a: cycle number, b: nanoseconds in all */
    CX_EVENT_REQUEST,      /* threads are about to be asked: a: epoch, b: kind */
    CX_EVENT_STOP,         /* a thread answered: a: nanoseconds on the CPU, b: by the clock on the wall */
    CX_EVENT_ANSWERED_FOR, /* the collector answered for a thread in native mode: a: thread id, b: kind */
    CX_EVENT_HANDSHAKE,    /* a: nanoseconds from request to last answer, b: kind */
    CX_EVENT_THREAD_LATE,  /* a: thread id, b: milliseconds it is late by now */
    CX_EVENT_SAMPLE        /* an allocation that is sampled, by its thread: a: handle, b: bytes it stands for */
};

struct cx_event {
    enum cx_event_kind kind;
    uint64_t a, b;
};

typedef void (*cx_event_listener)(void *context, const struct cx_event *event);

/* What single objects go through: told only while somebody wants that much (trace levels 2 to 4), so that it costs a test elsewhere. */
enum cx_detail {
    CX_DETAIL_ALLOC,     /* level 2. a: handle, b: payload */
    CX_DETAIL_MET_AGAIN, /* level 2: marking comes to an object that is marked. a: handle */
    CX_DETAIL_RECLAIMED, /* level 2: about to be. a: handle, b: payload */
    CX_DETAIL_MARKED,    /* level 3. a: handle */
    CX_DETAIL_TRACED,    /* level 3. a: handle, b: payload */
    CX_DETAIL_USED       /* level 4, checked builds: a: handle, b: name of the function that it was passed to */
};
typedef void (*cx_detail_listener)(enum cx_detail detail, uint64_t a, uint64_t b);

struct cx_events {
    cx_event_listener listener; /* set before the first thread is registered, constant from then on */
    void *context;
    cx_detail_listener tell;
    cx_a32 detail;          /* level of detail that is wanted; 0: none. W: listener. R: anyone, relaxed */
    cx_a64 sample_interval; /* a CX_EVENT_SAMPLE for about so many bytes; 0: none. W: listener. R: slow allocations, relaxed */
};

/* The kind is a constant where this is called: one probe is left of the list. */
static inline __attribute__((always_inline)) void cx_event_probe(enum cx_event_kind kind, uint64_t a, uint64_t b)
{
    switch (kind) {
    case CX_EVENT_CYCLE_BEGIN:
        CX_PROBE(gc__begin, a, b);
        break;
    case CX_EVENT_STAGE:
        CX_PROBE(stage__end, a, b);
        break;
    case CX_EVENT_MARK_END:
        CX_PROBE(mark__end, a, b);
        break;
    case CX_EVENT_SWEEP_END:
        CX_PROBE(sweep__end, a, b);
        break;
    case CX_EVENT_CYCLE_END:
        CX_PROBE(gc__end, a, b);
        break;
    case CX_EVENT_REQUEST:
        CX_PROBE(request, a, b);
        break;
    case CX_EVENT_STOP:
        CX_PROBE(stop, a, b);
        break;
    case CX_EVENT_ANSWERED_FOR:
        CX_PROBE(answered__for, a, b);
        break;
    case CX_EVENT_HANDSHAKE:
        CX_PROBE(handshake, a, b);
        break;
    case CX_EVENT_THREAD_LATE:
        CX_PROBE(thread__late, a, b);
        break;
    case CX_EVENT_SAMPLE:
        CX_PROBE(alloc__sample, a, b);
        break;
    }
}

static inline __attribute__((always_inline)) void cx_event_emit(const struct cx_events *events, enum cx_event_kind kind, uint64_t a,
                                                                uint64_t b)
{
    cx_event_probe(kind, a, b);
    if (events->listener != 0) {
        struct cx_event event = {kind, a, b};
        events->listener(events->context, &event);
    }
}

static inline bool cx_event_wants(const struct cx_events *events, uint32_t level)
{
    return __builtin_expect(cx_a32_load_relaxed(&events->detail) >= level, 0);
}

/* The functions of a module that observes the runtime. src/gc calls them through this table only and
 * works without an observer; src/library.c passes the table of src/diag to the runtime. */
struct cx_observer {
    /* Starts listening to `events`. Returns COEX_GC_OK, or a code with the error recorded. */
    int (*start)(struct cx_events *events);
    void (*stop)(struct cx_events *events);
    /* Around fork. The observer's locks are held in between. */
    void (*fork_lock)(void);
    void (*fork_parent)(void);
    void (*fork_child)(void);
};

#endif
