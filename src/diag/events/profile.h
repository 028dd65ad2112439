/* The allocation profile: which call stacks allocate, and whose objects are still in use, from a sample of the
 * allocations.
 *
 * A site is a call stack and a type. A sampled allocation stands for as many bytes as lie between two sample points,
 * whatever its size, so the sums over a site are right on average. Sampled objects are remembered by handle: after
 * each marking those that were not reached are subtracted from what their site has in use.
 *
 * Nothing is lost silently. A sample whose call stack would be one site too many, or for which there is no memory, is
 * counted in `other`, so the sums over all sites and `other` are what was allocated. A sample that can't be remembered
 * is counted as allocated and as `unfollowed`, and is missing from what is in use.
 *
 * One lock protects the counts and lists. Mutators take it in managed mode, and the collector takes it, so nobody
 * holds it for longer than a bounded piece of work: no file is opened, no symbol looked up and no list walked with it.
 *   - A site is never moved, and its frames never change; only its counts do.
 *   - The writer copies the sites in pieces (cx_profile_copy), then works on the copy without the lock.
 *   - The collector takes the whole list of samples away, walks it without the lock, subtracts the dead of one chunk
 *     at a time, and puts the rest back.
 *   - `generation` changes when a profile starts and when the runtime goes down, which frees the sites: the writer and
 *     the collector look at it whenever they have taken the lock again. */
#ifndef CX_DIAG_EVENTS_PROFILE_H
#define CX_DIAG_EVENTS_PROFILE_H

#include "base/lock.h"
#include "gc/threads/thread_record.h"

enum {
    CX_PROFILE_DEPTH = 48, /* frames of a site at most */
    CX_PROFILE_CHUNK = 256 /* samples that are looked at with the lock held */
};

struct cx_profile_counts {
    double objects, bytes;           /* allocated, estimated */
    double live_objects, live_bytes; /* of them, not known to be dead */
};

struct cx_site {
    struct cx_site *next;  /* with the same place in the table */
    struct cx_site *older; /* in the list of all */
    uint64_t hash;
    uint32_t type; /* id */
    uint32_t depth;
    struct cx_profile_counts counts; /* under the lock */
    void *frame[];                   /* return addresses, innermost first */
};

struct cx_sampled {
    coex_handle handle;
    struct cx_profile_counts *counts; /* of its site, or `other` */
    double objects, bytes;
};

struct cx_sampled_chunk {
    struct cx_sampled_chunk *next;
    uint32_t count;
    struct cx_sampled sampled[CX_PROFILE_CHUNK];
};

struct cx_profile {
    cx_mutex lock;
    uint32_t most_sites; /* constant but for tests */
    uint64_t most_sampled;
    /* under the lock */
    uint64_t generation;
    uint64_t interval; /* 0: no profile was started */
    struct cx_site **table;
    struct cx_site *newest;
    uint32_t site_count;
    struct cx_profile_counts other;
    struct cx_sampled_chunk *sampled; /* the first may have room */
    uint64_t sampled_count;           /* with those that the collector has taken away */
    double unfollowed_bytes;
    cx_a64 other_samples;      /* W: under the lock, relaxed. R: statistics, relaxed */
    cx_a64 unfollowed_samples; /* the same */
};

extern struct cx_profile cx_profile;

/* From the listener: an allocation that stands for so many bytes, on its thread; and marking has ended. */
void cx_profile_take(coex_handle handle, uint64_t bytes);
void cx_profile_mark_end_gct(void);

void cx_profile_fini(void);
void cx_profile_fork_lock(void);
void cx_profile_fork_unlock(void);

#endif
