/* Latches and parkers: a small lock, and a place where one thread sleeps until another wakes it. Both are one word, need no fini, and
 * touch the kernel only if somebody sleeps.
 *
 * A latch is held for some tens of instructions, in which its holder neither waits nor takes part in anything else. It has no rank.
 *
 *     FREE --try--> HELD --sleep of another--> CROWDED --release--> FREE, and one sleeper is woken
 *
 * A sleeper that wakes takes the latch from FREE to CROWDED, since others may sleep still: no wake is lost. Who comes by when it is free
 * gets it (it is not fair; what is queued under it may be).
 *
 * A parker belongs to one thread, which waits for one signal.
 *
 *     EMPTY --wait (owner)--> ASLEEP --signal--> SIGNALLED          EMPTY --signal--> SIGNALLED
 *
 * INV-PARK-1  The signaller's last access to the parker is the exchange that signals: the owner may free it as soon as it sees that, and
 *             at no time before. (A wake of the kernel on an address that is gone or reused wakes nobody, or somebody who looks again.)
 *
 * Who waits spins for a moment first, if there is more than one core: being woken by the kernel takes some microseconds. For how long is
 * learnt, by each thread for itself: twice as long after a spin that was worth it, a quarter less after one that was not, and for long
 * once in a while. */
#ifndef CX_BASE_PARK_H
#define CX_BASE_PARK_H

#include "base/atomic.h"

enum { CX_LATCH_FREE, CX_LATCH_HELD, CX_LATCH_CROWDED };
enum { CX_PARKER_EMPTY, CX_PARKER_ASLEEP, CX_PARKER_SIGNALLED };

typedef struct cx_latch {
    cx_a32 state;
} cx_latch;

typedef struct cx_parker {
    cx_a32 state; /* W: owner EMPTY to ASLEEP cas; signaller exchange. R: owner acquire, and so sees what came before the signal */
} cx_parker;

static inline bool cx_latch_try(cx_latch *latch)
{
    uint32_t state = CX_LATCH_FREE;
    return cx_a32_load_relaxed(&latch->state) == CX_LATCH_FREE && cx_a32_cas_acq_rel(&latch->state, &state, CX_LATCH_HELD);
}

/* The same for one that has slept. */
static inline bool cx_latch_try_crowded(cx_latch *latch)
{
    uint32_t state = CX_LATCH_FREE;
    return cx_a32_cas_acq_rel(&latch->state, &state, CX_LATCH_CROWDED);
}

bool cx_latch_spin(cx_latch *latch);  /* tries for a moment */
void cx_latch_sleep(cx_latch *latch); /* returns when it may be free: try_crowded then, or sleep again */
void cx_latch_wake(cx_latch *latch);

static inline void cx_latch_release(cx_latch *latch)
{
    if (cx_a32_exchange_acq_rel(&latch->state, CX_LATCH_FREE) == CX_LATCH_CROWDED) cx_latch_wake(latch);
}

/* All of it in one, for those who may block as they are. */
void cx_latch_take(cx_latch *latch);

/* Waits for the signal until the monotonic clock reads `until` (UINT64_MAX: for ever). False: that time is reached and there was no signal
 * yet; there still may be one, and the parker can be waited on again. */
bool cx_parker_wait(cx_parker *parker, uint64_t until);
void cx_parker_signal(cx_parker *parker);

#endif
