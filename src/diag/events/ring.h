/* The event ring: the last so many records, written by any thread without a lock or a wait, read by whoever writes a trace while they
 * go on.
 *
 * A writer takes a ticket; the slot is the ticket modulo the size. The slot's `sequence` is 2t + 1 while ticket t writes and 2t + 2 when
 * it is done; a writer whose slot is busy (somebody has slept for a whole round) or already newer drops its record and counts it. Words
 * are stored with release and loaded with acquire, so that a reader that sees a word of a newer record also sees its sequence: it
 * compares once more after reading, and keeps what is whole. Old records are overwritten; how many is known from the tickets. */
#ifndef CX_DIAG_EVENTS_RING_H
#define CX_DIAG_EVENTS_RING_H

#include "base/atomic.h"

enum { CX_TRACE_VALUES = 5 };

struct cx_trace_record {
    uint64_t time_ns;
    uint32_t thread; /* as tools show it; 0: the collector, whoever runs it */
    uint32_t kind;   /* trace.h */
    uint64_t value[CX_TRACE_VALUES];
};

struct cx_ring_slot {
    cx_a64 sequence;
    cx_a64 word[sizeof(struct cx_trace_record) / 8];
};
_Static_assert(sizeof(struct cx_ring_slot) == 64, "a record is one cache line");

struct cx_ring {
    struct cx_ring_slot *slots; /* a power of two of them */
    uint64_t mask;
    __attribute__((aligned(64))) cx_a64 next; /* ticket. W: add. R: relaxed */
    cx_a64 lost;                              /* records whose slot was busy or newer */
};

/* False: no memory. */
bool cx_ring_init(struct cx_ring *ring, uint64_t slots);
void cx_ring_fini(struct cx_ring *ring);

void cx_ring_put(struct cx_ring *ring, const struct cx_trace_record *record);
/* The record of this ticket; false: it is gone, was dropped, or is being written. */
bool cx_ring_get(const struct cx_ring *ring, uint64_t ticket, struct cx_trace_record *record);

static inline uint64_t cx_ring_now(const struct cx_ring *ring) { return cx_a64_load_relaxed(&ring->next); }
/* The oldest ticket from `from` on that may still be there. */
static inline uint64_t cx_ring_oldest(const struct cx_ring *ring, uint64_t from)
{
    uint64_t now = cx_ring_now(ring), kept = ring->mask + 1;
    return now > kept && now - kept > from ? now - kept : from;
}

#endif
