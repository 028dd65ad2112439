/* See histogram.h. */
#include "diag/events/histogram.h"

static unsigned histogram_bucket(uint64_t value)
{
    if (value < 8) return (unsigned)value;
    unsigned power = 63 - (unsigned)__builtin_clzll(value); /* at least 3 */
    unsigned bucket = (power - 2) * 8 + (unsigned)(value >> (power - 3) & 7);
    return bucket < CX_HISTOGRAM_BUCKETS ? bucket : CX_HISTOGRAM_BUCKETS - 1;
}

/* The largest value that falls into a bucket. */
static uint64_t histogram_upper(unsigned bucket)
{
    if (bucket < 8) return bucket;
    unsigned power = bucket / 8 + 2;
    return (((uint64_t)(8 | bucket % 8) + 1) << (power - 3)) - 1;
}

void cx_histogram_add(struct cx_histogram *histogram, uint64_t value)
{
    cx_a64_add_relaxed(&histogram->bucket[histogram_bucket(value)], 1);
    cx_a64_add_relaxed(&histogram->count, 1);
    cx_a64_add_relaxed(&histogram->sum, value);
    uint64_t max = cx_a64_load_relaxed(&histogram->max);
    while (value > max && !cx_a64_cas_acq_rel(&histogram->max, &max, value)) {
    }
}

void cx_histogram_clear(struct cx_histogram *histogram)
{
    for (unsigned i = 0; i < CX_HISTOGRAM_BUCKETS; i++) cx_a64_store_relaxed(&histogram->bucket[i], 0);
    cx_a64_store_relaxed(&histogram->count, 0);
    cx_a64_store_relaxed(&histogram->max, 0);
    cx_a64_store_relaxed(&histogram->sum, 0);
}

/* What the buckets held at one moment: others go on adding. */
struct histogram_snapshot {
    uint64_t count, max;
    uint64_t bucket[CX_HISTOGRAM_BUCKETS];
};

/* The smallest upper bound that `part` of `whole` of all values do not pass. */
static uint64_t histogram_percentile(const struct histogram_snapshot *shot, uint64_t part, uint64_t whole)
{
    uint64_t wanted = (shot->count * part + whole - 1) / whole, seen = 0;
    for (unsigned i = 0; i < CX_HISTOGRAM_BUCKETS; i++) {
        seen += shot->bucket[i];
        if (seen >= wanted) return histogram_upper(i) < shot->max ? histogram_upper(i) : shot->max;
    }
    return shot->max;
}

coex_gc_times cx_histogram_times(const struct cx_histogram *histogram)
{
    struct histogram_snapshot shot = {0};
    for (unsigned i = 0; i < CX_HISTOGRAM_BUCKETS; i++) {
        shot.bucket[i] = cx_a64_load_relaxed(&histogram->bucket[i]);
        shot.count += shot.bucket[i];
    }
    shot.max = cx_a64_load_relaxed(&histogram->max);
    if (shot.count == 0) return (coex_gc_times){0};
    coex_gc_times times = {
        .count = shot.count,
        .p50 = histogram_percentile(&shot, 50, 100),
        .p99 = histogram_percentile(&shot, 99, 100),
        .p999 = histogram_percentile(&shot, 999, 1000),
        .max = shot.max,
        .sum = cx_a64_load_relaxed(&histogram->sum),
    };
    for (unsigned i = 0; i < CX_HISTOGRAM_BUCKETS; i++) {
        unsigned power = i < 2 ? 0 : i < 4 ? 1 : i < 8 ? 2 : i / 8 + 2;
        times.bucket[power < COEX_GC_TIMES_BUCKETS ? power : COEX_GC_TIMES_BUCKETS - 1] += shot.bucket[i];
    }
    return times;
}
