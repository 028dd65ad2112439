/*
 * COEX_TEST_HOSTILE=n: a runtime that a test starts collects at every nth allocation of each thread. The allocation waits until that
 * whole cycle has ended, the cycle's marks are verified, and what is freed is poisoned. n is 1 for the CTest entries values_hostile.*.
 *
 * start_with (objects.h) starts such a runtime, whatever else the test configures. In this mode a runtime that is started in any other
 * way fails the test, and so does one in which an allocation leads to no cycle; a program that starts none at all fails as a whole. So
 * nothing can drop out unseen.
 */
#ifndef COEX_TESTS_SUPPORT_HOSTILE_H
#define COEX_TESTS_SUPPORT_HOSTILE_H

#include <coex/gc.h>
#include <stdbool.h>

bool test_is_hostile(void);

/* So many, or so few where each allocation takes a whole cycle. */
#define unless_hostile(count, few) (test_is_hostile() ? (few) : (count))

/* A config with this as its stress_to is hostile for as many allocations of each thread, and as usual from there on. For tests that fill
 * a heap or whose size is their point: without a hostile mode stress_to has no meaning. */
enum { HOSTILE_FIRST = 1000 };

/* coex_gc_init_with, in the mode that the environment asks for. */
int hostile_init(const coex_gc_config *config);

/* For main(), before the tests run and after: how many such runtimes were started, by all tests and their children. */
void hostile_begin_count(void);
unsigned hostile_count(void);

#endif
