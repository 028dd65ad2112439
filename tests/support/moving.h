/* Moves objects, to test that no user of the runtime keeps an address across a safepoint.
 *
 * A cycle that begins while every thread is in native mode (as threads are that wait for it)
 * first permutes the addresses of the movable objects. Each of them gets the address of another
 * object of its type and size. An address that was kept then leads to the words of another
 * object. Objects of MUTABLE types, large objects, pinned objects, and the only object of its
 * type and size do not move.
 *
 * Works in `checked` builds only. COEX_TEST_MOVING=1 in the environment enables it in any test
 * program. */
#ifndef COEX_TESTS_SUPPORT_MOVING_H
#define COEX_TESTS_SUPPORT_MOVING_H

#include <stdint.h>

void moving_begin(void);
void moving_end(void);
uint64_t moving_count(void); /* number of moves so far */

#endif
