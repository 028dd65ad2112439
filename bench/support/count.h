/* Helpers of programs that callgrind counts. They name the parts of a run that are counted. A
 * script subtracts and divides the counts. */
#ifndef BENCH_SUPPORT_COUNT_H
#define BENCH_SUPPORT_COUNT_H

#include <stdbool.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
static inline void counting_begins(void) { CALLGRIND_ZERO_STATS; }
static inline void counting_ends(const char *name) { CALLGRIND_DUMP_STATS_AT(name); }
static inline bool is_counted(void) { return RUNNING_ON_VALGRIND != 0; }
#else
static inline void counting_begins(void) {}
static inline void counting_ends(const char *name) { (void)name; }
static inline bool is_counted(void) { return false; }
#endif

#endif
