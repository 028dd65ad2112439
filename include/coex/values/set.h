/* Coex sets: immutable sets of words.
 *
 * A set is a map without values. Its elements have the kinds of the keys of a map, and it has the
 * same tree, the same order and the same builders; see <coex/values/map.h>.
 *
 * <coex/values/value.h> has the rules for errors, rooting and threads. All functions fail with
 * COEX_STATUS_KIND if `set` is not a set, or if `element` is not a string in a set of strings. */
#ifndef COEX_VALUES_SET_H
#define COEX_VALUES_SET_H

#include <coex/values/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of sets. They are equal to the kinds of maps with the same name. */
enum { COEX_SET_INTEGER = 0, COEX_SET_FLOAT = 1, COEX_SET_STRING = 2, COEX_SET_HANDLE = 3 };

/* Creates an empty set of this kind. Returns 0 on failure: with COEX_STATUS_KIND if `kind` is
 * invalid. A safepoint. */
COEX_API coex_handle coex_set_empty(uint32_t kind);

/* ------------------------------------------------------------------ reading */

/* None of the functions of this section is a safepoint. */

/* Returns the kind of `set`, or 0 on failure. */
COEX_API uint32_t coex_set_kind(coex_handle set);

/* Returns the number of elements, or 0 on failure. */
COEX_API uint64_t coex_set_len(coex_handle set);

/* Returns true if `set` contains `element`. Returns false if it does not, which records no status,
 * or on failure. */
COEX_API bool coex_set_has(coex_handle set, uint64_t element);

/* Returns true if `set` contains all elements of `part`. `set` is a set, or a map with keys, of the
 * same kind. Returns false if it does not, which records no status, or on failure.
 * A safepoint. */
COEX_API bool coex_set_is_subset(coex_handle part, coex_handle set);

/* ----------------------------------------------------------------- changing */

/* The functions of this section return 0 on failure. They return `set` itself if the result equals
 * it. They are safepoints. */

/* Returns `set` with `element`. */
COEX_API coex_handle coex_set_add(coex_handle set, uint64_t element);

/* Returns `set` without `element`. */
COEX_API coex_handle coex_set_remove(coex_handle set, uint64_t element);

/* Returns the elements that are in `set` or in `other`, which are sets of the same kind. Shared
 * parts of the two sets are not visited. */
COEX_API coex_handle coex_set_union(coex_handle set, coex_handle other);

/* Returns the elements of `set` that are in `other`. `other` is a set, or a map with keys, of the
 * same kind. */
COEX_API coex_handle coex_set_intersect(coex_handle set, coex_handle other);

/* Returns the elements of `set` that are not in `other`. `other` is a set, or a map with keys, of
 * the same kind. */
COEX_API coex_handle coex_set_minus(coex_handle set, coex_handle other);

/* ----------------------------------------------------------- all the elements */

/* Returns a list of the elements in the order of the set, or 0 on failure. A safepoint. */
COEX_API coex_handle coex_set_to_list(coex_handle set);

/* Calls `visit` with `context` for each element, until it returns false. Returns true if `visit`
 * never returned false. Returns false if it did, which records no status, or on failure. `visit`
 * may do anything, including safepoints, as long as `set` stays rooted. */
COEX_API bool coex_set_each(coex_handle set, bool (*visit)(void *context, uint64_t element),
                            void *context);

/* Creates an iterator, which belongs to one thread and keeps `set` alive. Returns 0 on failure. A
 * safepoint. */
COEX_API coex_handle coex_set_iterate(coex_handle set);

/* Stores the next element in *element, unless `element` is NULL, and returns true. Returns false at
 * the end, which records no status, or on failure. Not a safepoint. */
COEX_API bool coex_set_next(coex_handle iterator, uint64_t *element);

/* ----------------------------------------------------------------- builders */

/* A builder is a set that one thread changes in place; see <coex/values/map.h>. After
 * coex_set_builder_finish, its functions fail with COEX_STATUS_STALE. */

/* Creates a builder with the elements of `set`, which stays unchanged, in constant time. Returns 0
 * on failure. A safepoint. */
COEX_API coex_handle coex_set_builder(coex_handle set);

/* Adds `element`. On failure, returns false and changes nothing. A safepoint. */
COEX_API bool coex_set_builder_add(coex_handle builder, uint64_t element);

/* Removes `element`. Returns true, also if there is no such element. On failure, returns false and
 * changes nothing. A safepoint. */
COEX_API bool coex_set_builder_remove(coex_handle builder, uint64_t element);

/* Returns true if the builder contains `element`. Returns false if it does not, which records no
 * status, or on failure. Not a safepoint. */
COEX_API bool coex_set_builder_has(coex_handle builder, uint64_t element);

/* Returns the number of elements, or UINT64_MAX on failure. It is slow after changes if the builder
 * began with a set that is not empty. A safepoint. */
COEX_API uint64_t coex_set_builder_len(coex_handle builder);

/* Returns the set and ends the builder. On failure, returns 0 and leaves the builder unchanged. A
 * safepoint. */
COEX_API coex_handle coex_set_builder_finish(coex_handle builder);

#ifdef __cplusplus
}
#endif

#endif
