/* Coex maps: immutable maps from words to words.
 *
 * The kind of a map is given to coex_map_empty. It says what the keys and the values are:
 *
 *   COEX_MAP_INTEGER       Keys are plain 64-bit words.
 *   COEX_MAP_FLOAT         Keys are the bits of doubles and are compared as numbers. 0.0 and -0.0
 *                          are one key, which is kept as 0.0. All NaNs are one key.
 *   COEX_MAP_STRING        Keys are strings and are compared by content.
 *   COEX_MAP_HANDLE        Keys are references and are equal if they are the same word.
 *   | COEX_MAP_REFERENCES  Values are references. Without this flag they are plain bits.
 *
 * A change returns a new map that shares everything except the path to the change. A map is a hash
 * trie: five bits of the hash at a time lead through nodes of up to 32 branches to a leaf of at
 * most 56 entries. A lookup takes a few steps, whatever the size of the map.
 *
 * Hashes are keyed with a random seed of the process. Input from outside therefore cannot be chosen
 * so that its keys collide.
 *
 * Order. coex_map_keys, coex_map_values, coex_map_each and iterators visit the entries in the same
 * order. It depends only on the keys and the seed. Equal maps have the same order within a process,
 * however they were built. In another process the order is different.
 *
 * <coex/values/value.h> has the rules for errors, rooting and threads. All functions fail with
 * COEX_STATUS_KIND if `map` is not a map, or if `key` is not a string in a map with string keys. */
#ifndef COEX_VALUES_MAP_H
#define COEX_VALUES_MAP_H

#include <coex/values/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of maps; see above. */
enum {
    COEX_MAP_INTEGER = 0,
    COEX_MAP_FLOAT = 1,
    COEX_MAP_STRING = 2,
    COEX_MAP_HANDLE = 3,
    COEX_MAP_REFERENCES = 4 /* A flag, to be combined with one of the others by |. */
};

/* Creates an empty map of this kind. Returns 0 on failure: with COEX_STATUS_KIND if `kind` is
 * invalid. A safepoint. */
COEX_API coex_handle coex_map_empty(uint32_t kind);

/* ------------------------------------------------------------------ reading */

/* None of the functions of this section is a safepoint. */

/* Returns the kind of `map`, or 0 on failure. */
COEX_API uint32_t coex_map_kind(coex_handle map);

/* Returns the number of entries, or 0 on failure. */
COEX_API uint64_t coex_map_len(coex_handle map);

/* Stores the value of `key` in *value, unless `value` is NULL, and returns true. Returns false on
 * failure: with COEX_STATUS_MISSING if `map` does not contain `key`. Then *value is unchanged. */
COEX_API bool coex_map_get(coex_handle map, uint64_t key, uint64_t *value);

/* Returns true if `map` contains `key`. Returns false if it does not, which records no status, or
 * on failure. */
COEX_API bool coex_map_has(coex_handle map, uint64_t key);

/* ----------------------------------------------------------------- changing */

/* The functions of this section return 0 on failure. They are safepoints. */

/* Returns `map` with `value` for `key`. Returns `map` itself if it already has this entry. */
COEX_API coex_handle coex_map_set(coex_handle map, uint64_t key, uint64_t value);

/* Returns `map` without `key`. Returns `map` itself if it does not contain `key`. */
COEX_API coex_handle coex_map_remove(coex_handle map, uint64_t key);

/* Returns the entries of both maps, which must have the same kind. For keys in both of them, `over`
 * gives the value. Shared parts of the two maps are not visited. */
COEX_API coex_handle coex_map_merge(coex_handle map, coex_handle over);

/* Returns the entries of `map` whose keys are in `other`. `other` is a map or a set with keys of
 * the same kind. Returns `map` itself if these are all its entries. */
COEX_API coex_handle coex_map_intersect(coex_handle map, coex_handle other);

/* Returns the entries of `map` whose keys are not in `other`. `other` is a map or a set with keys
 * of the same kind. Returns `map` itself if these are all its entries. */
COEX_API coex_handle coex_map_minus(coex_handle map, coex_handle other);

/* ------------------------------------------------------------ all the entries */

/* Returns a list of the keys, or 0 on failure. A safepoint. */
COEX_API coex_handle coex_map_keys(coex_handle map);

/* Returns a list of the values, or 0 on failure. A safepoint. */
COEX_API coex_handle coex_map_values(coex_handle map);

/* Returns a set of the keys, or 0 on failure. A safepoint. */
COEX_API coex_handle coex_map_key_set(coex_handle map);

/* Calls `visit` with `context` for each entry, until it returns false. Returns true if `visit`
 * never returned false. Returns false if it did, which records no status, or on failure. `visit`
 * may do anything, including safepoints, as long as `map` stays rooted. */
COEX_API bool coex_map_each(coex_handle map,
                            bool (*visit)(void *context, uint64_t key, uint64_t value),
                            void *context);

/* Creates an iterator, which belongs to one thread and keeps `map` alive. Returns 0 on failure. A
 * safepoint. */
COEX_API coex_handle coex_map_iterate(coex_handle map);

/* Stores the next entry in *key and *value and returns true. Either pointer may be NULL. Returns
 * false at the end, which records no status, or on failure. Not a safepoint. */
COEX_API bool coex_map_next(coex_handle iterator, uint64_t *key, uint64_t *value);

/* ----------------------------------------------------------------- builders */

/* A builder is a map that one thread changes in place. Its changes are collected in a table, and
 * are applied to the map in one sorted pass, at the latest by coex_map_builder_finish. Each node
 * of the map is therefore created once. Keys may arrive in any order. A builder drops a value
 * when its key is removed, and the values of the original map when half of its keys are removed.
 * After coex_map_builder_finish, its functions fail with COEX_STATUS_STALE. */

/* Creates a builder with the entries of `map`, which stays unchanged, in constant time. Returns 0
 * on failure. A safepoint. */
COEX_API coex_handle coex_map_builder(coex_handle map);

/* Sets the value of `key` to `value`. On failure, returns false and changes nothing. A
 * safepoint. */
COEX_API bool coex_map_builder_set(coex_handle builder, uint64_t key, uint64_t value);

/* Removes `key`. Returns true, also if there is no such key. On failure, returns false and changes
 * nothing. A safepoint. */
COEX_API bool coex_map_builder_remove(coex_handle builder, uint64_t key);

/* Looks up `key` as coex_map_get does. Not a safepoint. */
COEX_API bool coex_map_builder_get(coex_handle builder, uint64_t key, uint64_t *value);

/* Looks up `key` as coex_map_has does. Not a safepoint. */
COEX_API bool coex_map_builder_has(coex_handle builder, uint64_t key);

/* Returns the number of entries, or UINT64_MAX on failure. It is slow after changes if the builder
 * began with a map that is not empty. A safepoint. */
COEX_API uint64_t coex_map_builder_len(coex_handle builder);

/* Returns the map and ends the builder. On failure, returns 0 and leaves the builder unchanged. A
 * safepoint. */
COEX_API coex_handle coex_map_builder_finish(coex_handle builder);

#ifdef __cplusplus
}
#endif

#endif
