/* Coex lists: persistent vectors of words.
 *
 * A list is a tree of nodes with up to 32 slots. Its last words, up to 32, are in the list object
 * itself, so a list of up to 32 words is one object. A change copies the path to the changed word
 * and shares the rest. get, set, append, pop, slice, concat, insert and remove take time
 * logarithmic in the length. append and pop usually copy only the last words.
 *
 * <coex/values/value.h> has the rules for errors, rooting and threads. If words in a C array are
 * references, the caller keeps them rooted. */
#ifndef COEX_VALUES_LIST_H
#define COEX_VALUES_LIST_H

#include <coex/values/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest length of a list. Lists that share structure can be longer than memory. Functions
 * fail with COEX_STATUS_SIZE beyond this limit. */
#define COEX_LIST_MAX (((uint64_t)1 << 48) - 1)

/* ----------------------------------------------------------------- creating */

/* The functions of this section return 0 on failure. They are safepoints. */

/* Creates an empty list. If `handles` is true, its words are references; otherwise they are plain
 * bits. */
COEX_API coex_handle coex_list_empty(bool handles);

/* Creates a list of the `count` words at `words`. `handles` is as in coex_list_empty. */
COEX_API coex_handle coex_list_from_words(const uint64_t *words, uint64_t count, bool handles);

/* Creates a list of the elements of `array`, which must be references or plain elements of 8
 * bytes. */
COEX_API coex_handle coex_list_from_array(coex_handle array);

/* Creates an array of the words of `list`: references, or plain elements of 8 bytes. */
COEX_API coex_handle coex_list_to_array(coex_handle list);

/* ------------------------------------------------------------------ reading */

/* None of the functions of this section is a safepoint. */

/* Returns the number of words, or 0 on failure. */
COEX_API uint64_t coex_list_len(coex_handle list);

/* Returns true if the words are references. Returns false if they are not, or on failure. */
COEX_API bool coex_list_has_handles(coex_handle list);

/* Returns the word at `index`, or 0 on failure. Use coex_list_read if 0 can also be a word. */
COEX_API uint64_t coex_list_get(coex_handle list, uint64_t index);

/* Stores the word at `index` in *value and returns true. Returns false on failure. */
COEX_API bool coex_list_read(coex_handle list, uint64_t index, uint64_t *value);

/* Returns the address of the word at `index` and stores in *count how many words follow it in
 * contiguous memory, itself included: 1 to 32. The address is valid until the next safepoint.
 * Returns NULL on failure. */
COEX_API const uint64_t *coex_list_chunk(coex_handle list, uint64_t index, uint64_t *count);

/* Copies the words from `from` to `from` + `count` - 1 to `words`. Returns false on failure.
 * Polls after every 4096 words, so it is a safepoint if `count` is larger. */
COEX_API bool coex_list_copy(coex_handle list, uint64_t from, uint64_t count, uint64_t *words);

/* ----------------------------------------------------------------- changing */

/* The functions of this section return a new list, and leave the old one unchanged. They return 0
 * on failure. They are safepoints. */

/* Returns `list` with `value` at its end. */
COEX_API coex_handle coex_list_append(coex_handle list, uint64_t value);

/* Returns `list` with `value` at `index`. */
COEX_API coex_handle coex_list_set(coex_handle list, uint64_t index, uint64_t value);

/* Returns `list` without its last word. Fails with COEX_STATUS_RANGE if `list` is empty. */
COEX_API coex_handle coex_list_pop(coex_handle list);

/* Returns the words from `from` to `to` - 1. Fails with COEX_STATUS_RANGE if `from` > `to` or `to`
 * is beyond the end. */
COEX_API coex_handle coex_list_slice(coex_handle list, uint64_t from, uint64_t to);

/* Returns the words of `a` followed by those of `b`. Fails with COEX_STATUS_KIND if only one of
 * them holds references. */
COEX_API coex_handle coex_list_concat(coex_handle a, coex_handle b);

/* Returns `list` with `value` inserted before `index`. If `index` is the length, appends. */
COEX_API coex_handle coex_list_insert(coex_handle list, uint64_t index, uint64_t value);

/* Returns `list` without the word at `index`. */
COEX_API coex_handle coex_list_remove(coex_handle list, uint64_t index);

/* ---------------------------------------------------------------- iterators */

/* Creates an iterator that starts at the word at `from`. `from` may be the length. The iterator
 * belongs to one thread and keeps `list` alive. Returns 0 on failure. A safepoint. */
COEX_API coex_handle coex_list_iterate(coex_handle list, uint64_t from);

/* Stores the next word in *value and returns true. Returns false at the end, which records no
 * status, or on failure. Not a safepoint. */
COEX_API bool coex_list_next(coex_handle iterator, uint64_t *value);

/* Returns the address of the next words in contiguous memory and stores their number in *count, as
 * coex_list_chunk does. Returns NULL and stores 0 at the end, which records no status, or on
 * failure. Not a safepoint. */
COEX_API const uint64_t *coex_list_next_chunk(coex_handle iterator, uint64_t *count);

/* ----------------------------------------------------------------- builders */

/* A builder is a list that one thread changes in place. After coex_list_builder_finish, its
 * functions fail with COEX_STATUS_STALE. Functions that return a bool return false on failure, and
 * then have changed nothing. */

/* Creates a builder with the words of `list`, which stays unchanged. Returns 0 on failure. A
 * safepoint. */
COEX_API coex_handle coex_list_builder(coex_handle list);

/* Appends the word `value`. A safepoint. */
COEX_API bool coex_list_builder_append(coex_handle builder, uint64_t value);

/* Appends the `count` words at `words`. A safepoint. */
COEX_API bool coex_list_builder_append_words(coex_handle builder, const uint64_t *words,
                                             uint64_t count);

/* Replaces the word at `index` by `value`. A safepoint. */
COEX_API bool coex_list_builder_set(coex_handle builder, uint64_t index, uint64_t value);

/* Removes the last word and stores it in *value, unless `value` is NULL. Fails with
 * COEX_STATUS_RANGE if the list is empty. A safepoint. */
COEX_API bool coex_list_builder_pop(coex_handle builder, uint64_t *value);

/* Returns the number of words, or 0 on failure. Not a safepoint. */
COEX_API uint64_t coex_list_builder_len(coex_handle builder);

/* Returns the word at `index`, or 0 on failure. Not a safepoint. */
COEX_API uint64_t coex_list_builder_get(coex_handle builder, uint64_t index);

/* Returns the list and ends the builder. On failure, returns 0 and leaves the builder unchanged. A
 * safepoint. */
COEX_API coex_handle coex_list_builder_finish(coex_handle builder);

#ifdef __cplusplus
}
#endif

#endif
