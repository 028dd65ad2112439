/* Coex cells: the two things that may change, through which threads share values.
 *
 * An atomic reference holds one reference, a mutable array a fixed number of words. Any thread may use them at any time; each
 * operation on a word is atomic, releases what its thread wrote before and acquires what the writer of the word had written.
 * References are compared as words: the same object, or the same immediate.
 *
 * What must be true of all values (errors, rooting) is in value.h. */
#ifndef COEX_VALUES_CELL_H
#define COEX_VALUES_CELL_H

#include <coex/values/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Computes the word that follows `old`: writes it to *fresh and returns true, or returns false to leave all as it is. It may be
 * called several times, when others write meanwhile. It may allocate; `old` is rooted while it runs, *fresh is read when it returns. */
typedef bool (*coex_update)(uint64_t old, uint64_t *fresh, void *context);

/* ---------------------------------------------------------- atomic reference */

COEX_API coex_handle coex_cell_new(coex_handle value);
/* None of these four is a safepoint. */
COEX_API coex_handle coex_cell_load(coex_handle cell);
COEX_API bool coex_cell_store(coex_handle cell, coex_handle value);
COEX_API coex_handle coex_cell_exchange(coex_handle cell, coex_handle value); /* what was there */
/* True: it held *expected and holds `desired` now. False: *expected is what it holds; or, with a status, it is no cell. */
COEX_API bool coex_cell_compare_exchange(coex_handle cell, coex_handle *expected, coex_handle desired);
/* Replaces what is there by what `update` makes of it. True: done, and *result (if not NULL) is what was written. False without a
 * change: `update` said so, or, with a status, it is no cell. A safepoint. */
COEX_API bool coex_cell_update(coex_handle cell, coex_update update, void *context, coex_handle *result);

/* ------------------------------------------------------------- mutable array */

/* All null, or all 0. */
COEX_API coex_handle coex_mutable_array_new(uint64_t length, bool handles);
/* Of the elements of an array of handles, or of plain elements of 8 bytes; and back. Others may write meanwhile: each word is one
 * that was there during the call. */
COEX_API coex_handle coex_mutable_array_from(coex_handle array);
COEX_API coex_handle coex_mutable_array_to_array(coex_handle array, uint64_t from, uint64_t to);

COEX_API uint64_t coex_mutable_array_len(coex_handle array);
COEX_API bool coex_mutable_array_has_handles(coex_handle array);
/* None of these is a safepoint. */
COEX_API uint64_t coex_mutable_array_load(coex_handle array, uint64_t index);
COEX_API bool coex_mutable_array_store(coex_handle array, uint64_t index, uint64_t value);
COEX_API uint64_t coex_mutable_array_exchange(coex_handle array, uint64_t index, uint64_t value);
COEX_API bool coex_mutable_array_compare_exchange(coex_handle array, uint64_t index, uint64_t *expected, uint64_t desired);
COEX_API uint64_t coex_mutable_array_add(coex_handle array, uint64_t index, uint64_t by); /* plain words only; what was there */
/* As coex_cell_update. A safepoint. */
COEX_API bool coex_mutable_array_update(coex_handle array, uint64_t index, coex_update update, void *context, uint64_t *result);

#ifdef __cplusplus
}
#endif

#endif
