/* The large-object space: objects of 8 KiB and more, in whole pages.
 *
 * The space is one reserved range that is divided into runs of pages. A side table has an entry
 * for each page. The entries of the first and last page of a run hold its length and state, so
 * neighbours merge in constant time. Free runs are in lists by size class (powers of two, with
 * eight steps in each). A bitmap shows which lists are not empty, so taking and returning a run
 * also takes constant time.
 *
 * A free run is clean (its pages read as zero) or dirty. Small dirty runs are cleared when they
 * are taken. The pages of large dirty runs are returned to the operating system at once, because
 * clearing them would take too long for a mutator.
 *
 * Pages are returned in pieces, because the system needs 66 ms for the pages of one gigabyte. The
 * collector *retires* a run by adding it to a list, in constant time. Then it takes pieces from
 * the beginning of the first run of the list. It exchanges the pages of each piece and inserts the
 * piece into the free lists, where a thread can take it at once.
 *
 *     USED --retire-+-> DEAD_SHORT --- as it is --------> DIRTY
 *                   +-> DEAD_LONG --+- piece by piece --> CLEAN (DIRTY if it is poisoned, or if the
 *     DIRTY --trim----> TRIMMED ----+                            system refuses)
 *
 * INV-LARGE-2  Between two slices of the collector, the remaining part of a retired run is on the
 *              list, with its length in its first and last entry. A fork therefore finds it there,
 *              and the next sweep of the child continues with it. The bytes of a dead piece are
 *              charged (INV-HEAP-3) until the piece is inserted. The bytes of a TRIMMED piece were
 *              discharged before.
 * INV-LARGE-3  `trim_at` is the first page of a run, or 1. Trimming visits the runs by address, a
 *              bounded number in each critical section.
 *
 * Any thread takes runs, and the collector returns them, both under the lock. The only system call
 * under the lock is the call that grows the space. */
#ifndef CX_GC_HEAP_LARGE_OBJECTS_H
#define CX_GC_HEAP_LARGE_OBJECTS_H

#include "base/lock.h"
#include "base/os.h"
#include "gc/budget.h"
#include "gc/layout.h"

enum { CX_LARGE_CLASSES = 36, CX_LARGE_STEPS = 8 };

struct cx_run {
    uint32_t pages; /* in the first and the last entry of a run */
    uint32_t state;
    uint32_t next; /* in its list, when it is free or retired; page numbers, 0 is none */
    uint32_t previous;
};

struct cx_large {
    cx_mutex lock;
    cx_range range;
    cx_range run_range;
    struct cx_run *runs; /* page 0 is never used, so that 0 can stand for none */
    uint32_t pages;      /* committed */
    uint32_t retired;    /* first run of that list. W: collector, under the lock. R: collector */
    uint32_t trim_at;    /* INV-LARGE-3 */
    unsigned page_shift;
    uint64_t class_map;
    uint8_t step_map[CX_LARGE_CLASSES];
    uint32_t list[CX_LARGE_CLASSES][CX_LARGE_STEPS];
    cx_a64 growths;
    cx_a64 returned; /* bytes given back to the operating system */
};

int cx_large_init(struct cx_large *large, uint64_t reserve);
void cx_large_fini(struct cx_large *large);

/* Zeroed pages for at least `bytes`, or NULL. */
void *cx_large_take(struct cx_large *large, uint64_t bytes);
/* The same in two steps, for a caller who has more to do in the lock: takes the pages, with the lock; then zeroes them, without it, if
 * `dirty` says so. */
void *cx_large_take_locked(struct cx_large *large, uint64_t bytes, bool *dirty);
void cx_large_zero(struct cx_large *large, void *pages, uint64_t bytes);
/* Retires the run that `inside` lies in the first page of, and returns its bytes. */
uint64_t cx_large_retire(struct cx_large *large, void *inside);
static inline bool cx_large_has_retired(const struct cx_large *large) { return large->retired != 0; }
/* Gives one piece of a retired run back. Returns its bytes if they are to be discharged, else 0. */
uint64_t cx_large_give_piece(struct cx_large *large, bool poison, struct cx_budget *budget);
/* Looks for the next dirty free run and retires it. Returns false when all runs were looked at; the next call begins again. */
bool cx_large_trim(struct cx_large *large, struct cx_budget *budget);
/* Calls `see` with the bytes of each free run, with the lock; returns the committed bytes. */
uint64_t cx_large_each_free(struct cx_large *large, void (*see)(void *context, uint64_t bytes), void *context);
/* The longest free run, in bytes, and how many there are. */
void cx_large_measure(struct cx_large *large, uint64_t *longest, uint64_t *runs);

static inline bool cx_large_contains(const struct cx_large *large, const void *address)
{
    return (uintptr_t)address - (uintptr_t)large->range.base < large->range.reserved;
}

static inline uint64_t cx_large_round(const struct cx_large *large, uint64_t bytes)
{
    uint64_t page = (uint64_t)1 << large->page_shift;
    return (bytes + page - 1) & ~(page - 1);
}

uint64_t cx_large_bytes(struct cx_large *large, const void *inside);
uint64_t cx_large_size(struct cx_large *large);     /* committed bytes */
uint64_t cx_large_overhead(struct cx_large *large); /* of the side table */

#endif
