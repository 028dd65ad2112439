/* The hostile mode. With COEX_TEST_HOSTILE=n in the environment, a test's runtime collects at
 * every nth allocation of each thread. The allocation waits until the whole cycle has ended, the
 * marks of the cycle are verified, and freed memory is poisoned. The CTest entries
 * values_hostile.* use n = 1.
 *
 * start_with (objects.h) starts such a runtime, whatever else the test configures. The mode
 * detects tests that escape it. A test fails if it starts a runtime in another way, or if an
 * allocation leads to no cycle. A program that starts no runtime fails as a whole. */
#ifndef COEX_TESTS_SUPPORT_HOSTILE_H
#define COEX_TESTS_SUPPORT_HOSTILE_H

#include <coex/gc.h>
#include <stdbool.h>

bool test_is_hostile(void);

/* `count`, or `few` in the hostile mode, in which each allocation takes a whole cycle. */
#define unless_hostile(count, few) (test_is_hostile() ? (few) : (count))

/* A configuration with stress_to = HOSTILE_FIRST is hostile only for the first 1,000 allocations
 * of each thread. It is for tests that must be large. Outside the hostile mode stress_to has no
 * effect. */
enum { HOSTILE_FIRST = 1000 };

/* Calls coex_gc_init_with, in the hostile mode if the environment requests it. */
int hostile_init(const coex_gc_config *config);

/* main() calls these before and after the tests. hostile_count returns the number of hostile
 * runtimes that all tests and their children have started. */
void hostile_begin_count(void);
unsigned hostile_count(void);

#endif
