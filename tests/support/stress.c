/*
 * See stress.h.
 */
#include "support/stress.h"

#include <time.h>

static double stress_until;

static double clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Short, because some dozens of these tests run in every build. New seeds each time make up for it, and protocols have forced schedules
 * (tests/unit) that need no luck. */
double stress_seconds(void)
{
    const char *given = getenv("COEX_TEST_SECONDS");
    const char *large = getenv("COEX_TEST_LARGE");
    if (given != NULL && strtod(given, NULL) > 0) return strtod(given, NULL);
    if (large != NULL && strcmp(large, "0") != 0) return 60;
    return test_is_sanitized() ? 5 : 3;
}

void stress_begin_clock(void) { stress_until = clock_now() + stress_seconds(); }

/* However busy the machine is: not before the cycles that stress_end asks for. */
bool stress_is_over(void) { return clock_now() >= stress_until && stats_now().collections_completed > STRESS_CYCLES; }
