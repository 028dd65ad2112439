/* What a writer of a profile works on: a copy of its sites, with the names of their types. It needs nothing of the
 * runtime, which may go down while a file is being written. */
#ifndef CX_DIAG_EVENTS_PROFILE_COPY_H
#define CX_DIAG_EVENTS_PROFILE_COPY_H

#include "diag/events/profile.h"

#include <stdio.h>

enum { CX_PROFILE_NAME = 256 }; /* bytes of a type's name in a profile, with the end */

struct cx_profile_row {
    struct cx_profile_row *next;
    struct cx_profile_counts counts;
    uint32_t type, depth;
    char *name; /* behind the frames */
    void *frame[];
};

struct cx_profile_block;

struct cx_profile_copy {
    struct cx_profile_block *blocks; /* memory of the rows */
    struct cx_profile_row *rows;
    uint64_t interval, other_samples, unfollowed_samples;
    uint32_t most_sites;
    struct cx_profile_counts other;
    double unfollowed_bytes;
};

/* Copies the sites as they are now; each is consistent in itself. Returns COEX_GC_OK, or a code with the error
 * recorded: no profile was started, there is no memory, or the runtime went down meanwhile. Holds the lock for a
 * bounded number of sites at a time. */
int cx_profile_copy_take(struct cx_profile_copy *copy);
void cx_profile_copy_free(struct cx_profile_copy *copy);

/* Writes the copy in pprof's format (pprof.c). Returns 0 or an errno. */
int cx_pprof_write(FILE *file, const struct cx_profile_copy *copy);

#endif
