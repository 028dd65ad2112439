/* Coex arrays: contiguous elements of one size, or references.
 *
 * An array is a view of a buffer. A slice is another view of the same buffer. It takes constant
 * time and keeps the whole buffer alive; coex_array_copy makes an array with a buffer of its own.
 * Changing an element copies the array. An append writes into unused room at the end of the buffer.
 * If two threads append to the same array, the first one gets the room and the second one copies,
 * so neither sees the element of the other. Appended elements live as long as the buffer. Appending
 * n elements, in pieces of any size, takes time linear in n. A concatenation is an append.
 *
 * <coex/values/value.h> has the rules for errors, rooting and threads. */
#ifndef COEX_VALUES_ARRAY_H
#define COEX_VALUES_ARRAY_H

#include <coex/values/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest size of an element, and of all elements of an array, in bytes. Functions fail with
 * COEX_STATUS_SIZE beyond these limits. */
#define COEX_ARRAY_ELEMENT_MAX ((uint64_t)1 << 32)
#define COEX_ARRAY_BYTES_MAX   ((uint64_t)1 << 46)

/* ----------------------------------------------------------------- creating */

/* The functions of this section return 0 on failure. They are safepoints. */

/* Creates an array of `length` zeroed elements of `elem_size` bytes. If `handles` is true, the
 * elements are null references, and `elem_size` must be 8. Fails with COEX_STATUS_SIZE if
 * `elem_size` is 0, is not 8 for references, or is too large. */
COEX_API coex_handle coex_array_of(uint64_t length, uint64_t elem_size, bool handles);

/* Creates an array from `length` contiguous elements at `elements`. The caller keeps references
 * among them rooted. Fails like coex_array_of. */
COEX_API coex_handle coex_array_from(const void *elements, uint64_t length, uint64_t elem_size,
                                     bool handles);

/* Copies `array` into a buffer of its own that is as small as possible. */
COEX_API coex_handle coex_array_copy(coex_handle array);

/* ------------------------------------------------------------------ reading */

/* None of the functions of this section is a safepoint. */

/* Returns the number of elements, or 0 on failure. */
COEX_API uint64_t coex_array_len(coex_handle array);

/* Returns the size of an element in bytes, or 0 on failure. */
COEX_API uint64_t coex_array_elem_size(coex_handle array);

/* Returns true if the elements are references. Returns false if they are not, or on failure. */
COEX_API bool coex_array_has_handles(coex_handle array);

/* Copies the element at `index` to `element`, which has room for it. Returns false on failure. */
COEX_API bool coex_array_get(coex_handle array, uint64_t index, void *element);

/* Returns the element at `index` as a word. Returns 0 on failure. The elements must have 8 bytes,
 * or the status is COEX_STATUS_KIND. */
COEX_API uint64_t coex_array_word(coex_handle array, uint64_t index);

/* Returns the address of the elements, which must not be written. It is valid until the next
 * safepoint. Returns NULL if the array is empty, or on failure. */
COEX_API const void *coex_array_data(coex_handle array);

/* ----------------------------------------------------------------- changing */

/* The functions of this section return a new array, and leave the old one unchanged. They return 0
 * on failure. They are safepoints. */

/* Returns `array` with a copy of *element at `index`. */
COEX_API coex_handle coex_array_set(coex_handle array, uint64_t index, const void *element);

/* Returns the elements from `from` to `to` - 1 as an array that shares the buffer. Fails with
 * COEX_STATUS_RANGE if `from` > `to` or `to` is beyond the end. */
COEX_API coex_handle coex_array_slice(coex_handle array, uint64_t from, uint64_t to);

/* Returns `array` with a copy of *element at its end. */
COEX_API coex_handle coex_array_append(coex_handle array, const void *element);

/* Returns `array` with `count` contiguous elements at its end, copied from `elements`. */
COEX_API coex_handle coex_array_extend(coex_handle array, const void *elements, uint64_t count);

/* Returns `a` with the elements of `b` at its end. Fails with COEX_STATUS_KIND if the two have
 * different element sizes, or if only one of them holds references. */
COEX_API coex_handle coex_array_concat(coex_handle a, coex_handle b);

/* ----------------------------------------------------------------- builders */

/* A builder is an array that one thread changes in place. After coex_array_builder_finish, its
 * functions fail with COEX_STATUS_STALE. Functions that return a bool return false on failure, and
 * then have changed nothing. */

/* Creates a builder with the elements of `array`, which stays unchanged. Returns 0 on failure. A
 * safepoint. */
COEX_API coex_handle coex_array_builder(coex_handle array);

/* Appends `count` contiguous elements, copied from `elements`. A safepoint. */
COEX_API bool coex_array_builder_append(coex_handle builder, const void *elements, uint64_t count);

/* Replaces the element at `index` by a copy of *element. A safepoint. */
COEX_API bool coex_array_builder_set(coex_handle builder, uint64_t index, const void *element);

/* Copies the element at `index` to `element`, which has room for it. Not a safepoint. */
COEX_API bool coex_array_builder_get(coex_handle builder, uint64_t index, void *element);

/* Returns the number of elements, or 0 on failure. Not a safepoint. */
COEX_API uint64_t coex_array_builder_len(coex_handle builder);

/* Changes the length to `length`. New elements are zeros or nulls. A safepoint. */
COEX_API bool coex_array_builder_resize(coex_handle builder, uint64_t length);

/* Returns the array and ends the builder. On failure, returns 0 and leaves the builder unchanged. A
 * safepoint. */
COEX_API coex_handle coex_array_builder_finish(coex_handle builder);

#ifdef __cplusplus
}
#endif

#endif
