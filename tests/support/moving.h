/*
 * Everything moves: for tests that whoever uses the runtime keeps no address of an object over a safepoint.
 *
 * A cycle that begins while every thread is in native mode (those who wait for it are) first gives each object that could be moved
 * another address: that of another object of its type and size, which gets its own or a third one's. So an address that was kept leads to
 * somebody else's words. What stays: objects of MUTABLE types, large ones, pinned ones, and the only one of its type and
 * size.
 *
 * In `checked` builds only. Environment: COEX_TEST_MOVING=1 begins it in any test program.
 */
#ifndef COEX_TESTS_SUPPORT_MOVING_H
#define COEX_TESTS_SUPPORT_MOVING_H

#include <stdint.h>

void moving_begin(void);
void moving_end(void);
uint64_t moving_count(void); /* moves so far */

#endif
