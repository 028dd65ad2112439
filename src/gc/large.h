/* The large-object space: objects of 8 KiB and more, in whole pages.
 *
 * One reserved range, cut into runs of pages. A side table has an entry per page; the entries of a run's first and last page say
 * how long it is and whether it is free, so that neighbours merge in constant time. Free runs are kept in lists by size class
 * (power of two, eight steps in each), with a bitmap of the lists that are not empty: taking and giving is constant time too.
 *
 * A free run is clean (its pages read as zero) or dirty. Small dirty runs are cleared when they are taken; large ones go back to
 * the operating system at once, because clearing them would take longer than a mutator should spend.
 *
 * Any thread takes, the collector gives back; both under the lock, which no system call is made under but to grow. */
#ifndef CX_GC_LARGE_H
#define CX_GC_LARGE_H

#include "base/lock.h"
#include "base/os.h"
#include "gc/layout.h"

enum { CX_LARGE_CLASSES = 36, CX_LARGE_STEPS = 8 };

struct cx_run {
    uint32_t pages; /* in the first and the last entry of a run */
    uint32_t state;
    uint32_t next; /* in its list, when it is free; page numbers, 0 is none */
    uint32_t previous;
};

struct cx_large {
    cx_mutex lock;
    cx_range range;
    cx_range run_range;
    struct cx_run *runs; /* page 0 is never used, so that 0 can stand for none */
    uint32_t pages;      /* committed */
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
/* Gives the run back that `inside` lies in the first page of; returns its bytes. */
uint64_t cx_large_give(struct cx_large *large, void *inside, bool poison);
/* Hands dirty free pages back to the operating system, a good piece of them at a time. */
bool cx_large_trim(struct cx_large *large); /* true: there is more */
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
