/*
 * Memory that a test never frees and never leaks: it hangs on a list that stays. For readers whose results live as long as the test.
 */
#ifndef COEX_TESTS_SUPPORT_KEEP_H
#define COEX_TESTS_SUPPORT_KEEP_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed. Never NULL: a test without memory fails. Any thread. */
void *keep_alloc(size_t bytes);
/* The array with room for one element behind its `count`, zeroed there; it may have moved. It was made by this function, or is NULL. */
void *keep_grow(void *array, uint64_t count, size_t element);

#endif
