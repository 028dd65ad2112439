/* Coex arrays: elements of one size side by side, or handles.
 *
 * An array is a view of a buffer. A slice is another view of the same buffer, made in constant time: it keeps all of the buffer
 * alive (coex_array_copy makes one of its own). A change copies. An append writes behind the end if there is room that nobody has
 * claimed: of two appends to one value the first gets the room and the second copies, so they never see each other. What was
 * appended stays alive as long as the buffer does. Appending n elements, one by one or in pieces, therefore takes time linear in n; a
 * concatenation is an append, too.
 *
 * What must be true of all values (errors, rooting, threads) is in value.h. Pointers passed in never point into the heap. */
#ifndef COEX_VALUES_ARRAY_H
#define COEX_VALUES_ARRAY_H

#include <coex/values/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Elements may be this large, and an array in all: COEX_STATUS_SIZE. */
#define COEX_ARRAY_ELEMENT_MAX ((uint64_t)1 << 32)
#define COEX_ARRAY_BYTES_MAX   ((uint64_t)1 << 46)

/* ------------------------------------------------------------------- making */

/* All zero, or all null. With `handles` the elements are references and elem_size is 8. An elem_size of 0 is COEX_STATUS_SIZE. */
COEX_API coex_handle coex_array_of(uint64_t length, uint64_t elem_size, bool handles);
/* From `length` elements side by side in memory; handles among them are rooted by the caller. */
COEX_API coex_handle coex_array_from(const void *elements, uint64_t length, uint64_t elem_size, bool handles);
COEX_API coex_handle coex_array_copy(coex_handle array); /* in a buffer of its own, as small as it can be */

/* ------------------------------------------------------------------ looking */

/* None of these is a safepoint. */

COEX_API uint64_t coex_array_len(coex_handle array);
COEX_API uint64_t coex_array_elem_size(coex_handle array);
COEX_API bool coex_array_has_handles(coex_handle array);
/* Copies an element to `element`, which has room for it. */
COEX_API bool coex_array_get(coex_handle array, uint64_t index, void *element);
/* An element of 8 bytes as a word, or a reference. */
COEX_API uint64_t coex_array_word(coex_handle array, uint64_t index);
/* The address of the elements, side by side, valid until the next safepoint and only to be read. NULL for an empty array. */
COEX_API const void *coex_array_data(coex_handle array);

/* ----------------------------------------------------------------- changing */

/* Each gives a new array; the old one stays as it is. */

COEX_API coex_handle coex_array_set(coex_handle array, uint64_t index, const void *element);
COEX_API coex_handle coex_array_slice(coex_handle array, uint64_t from, uint64_t to); /* [from, to), shares the buffer */
COEX_API coex_handle coex_array_append(coex_handle array, const void *element);
COEX_API coex_handle coex_array_extend(coex_handle array, const void *elements, uint64_t count);
COEX_API coex_handle coex_array_concat(coex_handle a, coex_handle b); /* of the same elements; an append to `a` */

/* ----------------------------------------------------------------- builders */

/* An array that one thread changes in place, until it is finished. Begins with what is in `array`, which stays as it is. */
COEX_API coex_handle coex_array_builder(coex_handle array);
/* False: nothing is changed. After finish: COEX_STATUS_STALE. */
COEX_API bool coex_array_builder_append(coex_handle builder, const void *elements, uint64_t count);
COEX_API bool coex_array_builder_set(coex_handle builder, uint64_t index, const void *element);
COEX_API bool coex_array_builder_get(coex_handle builder, uint64_t index, void *element); /* not a safepoint */
COEX_API uint64_t coex_array_builder_len(coex_handle builder);                            /* not a safepoint */
/* Longer: zeros or nulls at the end; shorter: cut off. */
COEX_API bool coex_array_builder_resize(coex_handle builder, uint64_t length);
/* The array. The builder is of no use afterwards, unless this fails: then it is as it was. */
COEX_API coex_handle coex_array_builder_finish(coex_handle builder);

#ifdef __cplusplus
}
#endif

#endif
