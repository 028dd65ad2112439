/* Budgets: the amount of work that one slice may do.
 *
 * A slice is the work between two points at which the role of the collector can pass to another
 * thread. A fork waits for one slice. A step overruns its time by at most one slice. A mutator
 * that assists or answers a request does one slice. The work of a slice is therefore bounded,
 * whatever the size of the heap, of an object or of a list. Reading a clock is too coarse and too
 * expensive for this purpose, so work is counted in units.
 *
 * A unit is a word that is read in sequence. It takes one to three nanoseconds, and three if the
 * memory was never touched. The table below gives the cost of each kind of work in units, and the
 * number of units in a slice.
 *
 * INV-BUDGET-1  Work is spent where it is done, at the latest when its piece has ended. No piece
 *               begins when no unit is left. A slice therefore spends at most its budget and one
 *               grain. Three kinds of work cannot be cut, and the check does not count them. They
 *               are one call of an embedder's callback, the publication of a request to all
 *               threads in one critical section, and the rest of a long object that cannot be
 *               queued for lack of memory. Checked builds abort with a line that names the stage
 *               if a slice has spent more.
 *
 * The debugging modes verify and barriers have no budget. Shutdown has no budget either. */
#ifndef CX_GC_BUDGET_H
#define CX_GC_BUDGET_H

#include "base/report.h"

#include <stdint.h>

enum {
    /* Units of a slice: 16 to 120 microseconds. Half of it doubles the number of looks at the clock
     * without a shorter stop in sight; twice as much is felt by a step of 50 microseconds. */
    CX_SLICE_UNITS = 16384,
    /* What one answer to a request may spend on the stack of its thread, in place and at once. */
    CX_ANSWER_UNITS = 4096,
    /* The largest piece of work: a turn of the mark queue that traces one long object, marks the key of
     * many ephemerons and goes on with another long object, five steps of CX_MARK_STEP words in all. */
    CX_BUDGET_GRAIN = 5200,

    CX_COST_WORD = 1,          /* a word of an array, a stack, a table or a list */
    CX_COST_TURN = 4,          /* a turn of the mark queue: 10 to 30 ns */
    CX_COST_ENTRY = 16,        /* an entry of a list whose object is looked at: a cache miss or two */
    CX_COST_LOCK = 16,         /* a critical section */
    CX_COST_CALL = 256,        /* a system call */
    CX_COST_SWEEP_WORD = 8,    /* 64 handles, besides one unit for each dead one */
    CX_COST_SWEEP_BLOCK = 256, /* 256 lines, and a lock */
    CX_BYTES_PER_UNIT = 64     /* discarded or filled: 1 MiB in a slice, measured at 66 us */
};

struct cx_budget {
    int64_t left;     /* units; below zero when the last piece took more than there was */
    int64_t forgiven; /* units that could not be cut; the check does not count them */
};

static inline struct cx_budget cx_budget_of(int64_t units) { return (struct cx_budget){.left = units}; }

static inline bool cx_budget_is_left(const struct cx_budget *budget) { return budget->left > 0; }

static inline void cx_budget_spend(struct cx_budget *budget, uint64_t units) { budget->left -= (int64_t)units; }

static inline void cx_budget_spend_bytes(struct cx_budget *budget, uint64_t bytes)
{
    cx_budget_spend(budget, bytes / CX_BYTES_PER_UNIT);
}

/* Spends units of a piece that can't be cut (INV-BUDGET-1). */
static inline void cx_budget_forgive(struct cx_budget *budget, uint64_t units)
{
    budget->left -= (int64_t)units;
    budget->forgiven += (int64_t)units;
}

/* How many pieces of `cost` units each can be begun: the last one may pass the end. */
static inline uint64_t cx_budget_affords(const struct cx_budget *budget, uint64_t cost)
{
    return budget->left <= 0 ? 0 : ((uint64_t)budget->left + cost - 1) / cost;
}

/* Ends the process if the slice that is called `what` has spent more than INV-BUDGET-1 allows. */
static inline void cx_budget_check(const struct cx_budget *budget, const char *what)
{
    if (CX_CHECKED && -budget->left > CX_BUDGET_GRAIN + budget->forgiven)
        cx_fatal("INV-BUDGET-1 broken: a slice of \"%s\" went %lld units past its end, %d are allowed", what,
                 (long long)-budget->left, CX_BUDGET_GRAIN);
}

#endif
