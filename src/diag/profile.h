/* The allocation profile: who allocates, and whose objects are still there, from a sample of one allocation in so many bytes.
 *
 * A site is a call stack and a type. A sampled allocation stands for as many bytes as lie between two sample points, whatever its
 * size; so sums over a site are right on average. Sampled objects are remembered by handle: after each marking those that were not
 * reached are struck off, which is what makes "in use". Everything is under one lock, taken once a sample by mutators, once a cycle by
 * the collector, and by who writes. */
#ifndef CX_DIAG_PROFILE_H
#define CX_DIAG_PROFILE_H

#include "base/lock.h"
#include "gc/thread.h"

#include <stdio.h>

enum { CX_PROFILE_DEPTH = 48 };

struct cx_site {
    uint32_t next;  /* with the same hash; site number + 1 */
    uint32_t type;  /* id */
    uint32_t depth; /* frames below */
    uint64_t hash;
    double objects, bytes;           /* allocated, estimated */
    double live_objects, live_bytes; /* of them, not known to be dead */
    void *frame[CX_PROFILE_DEPTH];   /* return addresses, innermost first */
};

struct cx_sampled {
    coex_handle handle;
    uint32_t site;
    double objects, bytes;
};

struct cx_profile {
    cx_mutex lock;
    struct cx_site *sites;
    uint32_t site_count, site_room;
    uint32_t *table; /* site number + 1 by hash; as large as the room for sites */
    struct cx_sampled *sampled;
    uint64_t sampled_count, sampled_room;
    uint64_t interval;
    uint64_t lost; /* samples for which there was no memory */
};

/* From the listener: an allocation that stands for so many bytes, on its thread; and marking has ended. */
void cx_profile_take(coex_handle handle, uint64_t bytes);
void cx_profile_mark_end_gct(void);

void cx_profile_fini(void);
void cx_profile_fork_lock(void);
void cx_profile_fork_unlock(void);

/* Writes it in pprof's format (pprof.c); with the lock held. False: no memory, or the stream has an error. */
bool cx_pprof_write(FILE *file, const struct cx_profile *profile);

#endif
