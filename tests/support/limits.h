/* Limits of the process, for tests of the behaviour when the system refuses memory. */
#ifndef COEX_TESTS_SUPPORT_LIMITS_H
#define COEX_TESTS_SUPPORT_LIMITS_H

#include "support/test.h"

#include <stdio.h>
#include <sys/resource.h>

/* Returns the number of bytes that the process has mapped. */
static inline uint64_t mapped(void)
{
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    expect(statm != NULL && fscanf(statm, "%lu", &pages) == 1);
    fclose(statm);
    return (uint64_t)pages * 4096;
}

static inline void limit_resource(enum __rlimit_resource resource, uint64_t bytes)
{
    struct rlimit limit;
    expect(getrlimit(resource, &limit) == 0);
    limit.rlim_cur = bytes;
    expect(setrlimit(resource, &limit) == 0);
}

#endif
