/* Histograms of times: buckets that grow with the value, eight to a power of two, so that a percentile is right within an eighth.
 * Any thread adds, without a lock. */
#ifndef CX_DIAG_EVENTS_HISTOGRAM_H
#define CX_DIAG_EVENTS_HISTOGRAM_H

#include "base/atomic.h"

#include <coex/gc_diag.h>

enum { CX_HISTOGRAM_BUCKETS = 8 * 44 }; /* up to some hours in nanoseconds */

struct cx_histogram {
    cx_a64 count;
    cx_a64 max;
    cx_a64 sum;
    cx_a64 bucket[CX_HISTOGRAM_BUCKETS];
};

void cx_histogram_add(struct cx_histogram *histogram, uint64_t value);
void cx_histogram_clear(struct cx_histogram *histogram);
coex_gc_times cx_histogram_times(const struct cx_histogram *histogram);

#endif
