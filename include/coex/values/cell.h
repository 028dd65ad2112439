/* Coex cells: the mutable objects with which threads share values.
 *
 * A cell is an atomic reference. A mutable array is a fixed number of atomic words. Any thread may
 * use them at any time. Each operation on a word is atomic. It releases the earlier writes of its
 * thread, and acquires those of the thread that wrote the word. References are compared as words:
 * two references are equal if they are the same object or the same immediate.
 *
 * <coex/values/value.h> has the rules for errors and rooting. */
#ifndef COEX_VALUES_CELL_H
#define COEX_VALUES_CELL_H

#include <coex/values/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Computes the successor of the word `old`. Stores it in *fresh and returns true, or returns false
 * to leave the word unchanged. It may be called several times if other threads write at the same
 * time. It may allocate: `old` is rooted while it runs, and *fresh is read when it returns. */
typedef bool (*coex_update)(uint64_t old, uint64_t *fresh, void *context);

/* --------------------------------------------------------------------- cells */

/* Creates a cell that holds the reference `value`. Returns 0 on failure. A safepoint. */
COEX_API coex_handle coex_cell_new(coex_handle value);

/* Returns the reference in `cell`, or 0 on failure. Not a safepoint. */
COEX_API coex_handle coex_cell_load(coex_handle cell);

/* Stores the reference `value` in `cell`. Returns false on failure. Not a safepoint. */
COEX_API bool coex_cell_store(coex_handle cell, coex_handle value);

/* Stores the reference `value` in `cell` and returns the previous one. Returns 0 on failure. Not a
 * safepoint. */
COEX_API coex_handle coex_cell_exchange(coex_handle cell, coex_handle value);

/* Stores `desired` in `cell` and returns true if `cell` holds *expected. Otherwise stores the
 * current reference in *expected and returns false. If `cell` is not a cell, returns false, records
 * COEX_STATUS_KIND and leaves *expected unchanged. Not a safepoint. */
COEX_API bool coex_cell_compare_exchange(coex_handle cell, coex_handle *expected,
                                         coex_handle desired);

/* Replaces the reference in `cell` by the one that `update` computes from it. Returns true and
 * stores the new reference in *result, unless `result` is NULL. Returns false and changes nothing
 * if `update` returns false, or if `cell` is not a cell (COEX_STATUS_KIND). A safepoint. */
COEX_API bool coex_cell_update(coex_handle cell, coex_update update, void *context,
                               coex_handle *result);

/* ------------------------------------------------------------- mutable arrays */

/* Creates a mutable array of `length` words that are 0. If `handles` is true, they are references.
 * Returns 0 on failure: with COEX_STATUS_SIZE if `length` is 2^43 or more. A safepoint. */
COEX_API coex_handle coex_mutable_array_new(uint64_t length, bool handles);

/* Creates a mutable array with the elements of `array`, which must be references or plain elements
 * of 8 bytes. Returns 0 on failure. A safepoint. */
COEX_API coex_handle coex_mutable_array_from(coex_handle array);

/* Creates an immutable array of the words from `from` to `to` - 1. If other threads write at the
 * same time, each word is one that was in its place during the call. Returns 0 on failure. A
 * safepoint. */
COEX_API coex_handle coex_mutable_array_to_array(coex_handle array, uint64_t from, uint64_t to);

/* Returns the number of words, or 0 on failure. Not a safepoint. */
COEX_API uint64_t coex_mutable_array_len(coex_handle array);

/* Returns true if the words are references. Returns false if they are not, or on failure. Not a
 * safepoint. */
COEX_API bool coex_mutable_array_has_handles(coex_handle array);

/* Returns the word at `index`, or 0 on failure. Not a safepoint. */
COEX_API uint64_t coex_mutable_array_load(coex_handle array, uint64_t index);

/* Stores `value` at `index`. Returns false on failure. Not a safepoint. */
COEX_API bool coex_mutable_array_store(coex_handle array, uint64_t index, uint64_t value);

/* Stores `value` at `index` and returns the previous word. Returns 0 on failure. Not a
 * safepoint. */
COEX_API uint64_t coex_mutable_array_exchange(coex_handle array, uint64_t index, uint64_t value);

/* Stores `desired` at `index` and returns true if the word there is *expected. Otherwise stores the
 * current word in *expected and returns false. On failure, returns false, records a status and
 * leaves *expected unchanged. Not a safepoint. */
COEX_API bool coex_mutable_array_compare_exchange(coex_handle array, uint64_t index,
                                                  uint64_t *expected, uint64_t desired);

/* Adds `by` to the plain word at `index` and returns the previous word. Returns 0 on failure: with
 * COEX_STATUS_KIND if the words are references. Not a safepoint. */
COEX_API uint64_t coex_mutable_array_add(coex_handle array, uint64_t index, uint64_t by);

/* Replaces the word at `index` as coex_cell_update does. A safepoint. */
COEX_API bool coex_mutable_array_update(coex_handle array, uint64_t index, coex_update update,
                                        void *context, uint64_t *result);

#ifdef __cplusplus
}
#endif

#endif
