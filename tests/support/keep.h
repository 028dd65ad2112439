/* Memory that a test never frees and that is not reported as a leak, because a global list holds
 * it. It is for parsers whose results live as long as the test. */
#ifndef COEX_TESTS_SUPPORT_KEEP_H
#define COEX_TESTS_SUPPORT_KEEP_H

#include <stddef.h>
#include <stdint.h>

/* Returns zeroed memory. Fails the test if there is none. Any thread may call it. */
void *keep_alloc(size_t bytes);
/* Grows an array of `count` elements by one zeroed element, and returns it. It may have moved.
 * `array` is NULL or a result of this function. */
void *keep_grow(void *array, uint64_t count, size_t element);

#endif
