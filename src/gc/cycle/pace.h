/* The pace: when a cycle is due, and when a mutator must help.
 *
 * After each cycle the heap may grow by `percent` of the memory that survived, but at least by a
 * quarter of the initial heap. A soft or hard limit makes the growth smaller. The goal is the
 * surviving memory plus the growth. A cycle is requested when threads have taken as many bytes as
 * the heap may grow. If the heap exceeds its goal by half before the cycle has ended, slow
 * allocations pay for each CX_ASSIST_BYTES that they take, in pieces of CX_ASSIST_NS. They pay by
 * marking, or by sleeping if there is no marking work to share. The further the heap is past its
 * goal, the more pieces they pay. */
#ifndef CX_GC_CYCLE_PACE_H
#define CX_GC_CYCLE_PACE_H

#include "gc/threads/thread_record.h"

enum { CX_ASSIST_NS = 50000, CX_ASSIST_BYTES = CX_BLOCK_BYTES };

struct cx_pace {
    cx_a64
        due_at; /* value of heap.taken + external_taken at which a cycle is due. W: collector. R: slow allocations. All relaxed */
    cx_a64 due_at_handles; /* value of handles.claimed likewise; UINT64_MAX: never */
    cx_a64 trigger;        /* allocations; 0: off */
    cx_a64 goal;           /* heap bytes */
    cx_a64 live;           /* heap bytes that survived the last cycle */
    cx_a64 untaken;        /* heap.taken - this = heap bytes in use, by lines; settled when a cycle ends */
    cx_a64 external;       /* bytes that objects own outside the heap; W: add */
    cx_a64 external_taken; /* bytes of it that were added so far; counts towards due_at like heap.taken */
    cx_a64 limit_waits;    /* allocations that waited for a cycle at a hard limit */
    cx_a64 assists;        /* pieces of work that mutators did */
    cx_a64 rests;          /* pieces that they slept through, because there was no work to share */
    cx_a64 assist_marked; /* objects marked by assists in this cycle */
};

extern struct cx_pace cx_pace;

void cx_pace_init(void);
/* A cycle begins, or has ended: the next one is measured from here. */
void cx_pace_cycle_begun_gct(void);
void cx_pace_cycle_ended_gct(void);
void cx_pace_set_trigger(uint64_t allocations);
/* Handles that a thread had claimed before there was a count trigger, and begins to use now. */
void cx_pace_count_late(uint64_t handles);

static inline bool cx_pace_is_due(void)
{
    return cx_a64_load_relaxed(&cx_world.heap.taken) + cx_a64_load_relaxed(&cx_pace.external_taken) >=
               cx_a64_load_relaxed(&cx_pace.due_at) ||
           cx_a64_load_relaxed(&cx_world.handles.claimed) >= cx_a64_load_relaxed(&cx_pace.due_at_handles);
}

uint64_t cx_pace_external(void); /* bytes, never less than 0 */
/* Objects own so many bytes more (or less) outside the heap. True: a cycle is due. */
bool cx_pace_adjust_external(int64_t bytes);

/* In a slow allocation: returns how many times CX_ASSIST_BYTES this thread has taken since the last time, and has to pay for; 0 if no
 * cycle runs. */
uint64_t cx_pace_work_owed_self(struct cx_thread *self);
/* Pays for so many shares, if the heap is too far past its goal. A safepoint. */
void cx_pace_assist_self(struct cx_thread *self, uint64_t shares);

#endif
