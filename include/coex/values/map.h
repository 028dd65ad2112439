/* Coex values: the map, from words to words.
 *
 * A map's kind, given once to coex_map_empty, says what its keys and values are:
 *   COEX_MAP_INTEGER  keys are plain 64-bit words
 *   COEX_MAP_FLOAT    keys are the bits of doubles, equal as numbers: 0.0 and -0.0 are one key (kept as 0.0), all NaNs are one key
 *   COEX_MAP_STRING   keys are strings, equal by content
 *   COEX_MAP_HANDLE   keys are reference words (a handle, an immediate, null), equal if they are the same word
 *   | COEX_MAP_REFERENCES   values are reference words; without it, plain bits
 *
 * Immutable: every function that changes something returns a new map that shares all but the path to the change. Time is a few
 * steps whatever the size: the hash of a key leads, five bits at a time, through nodes of up to 32 branches to a leaf of at most 48
 * entries.
 *
 * Hashes are keyed with a seed drawn once per process: who does not know it can't choose keys that collide.
 *
 * Order. Keys, values, iterators and coex_map_each go through a map in an order that depends on nothing but its keys and the seed:
 * leaves by the top bits of the hash, entries of a leaf by its lowest bits. Equal maps have equal order within a process, however
 * they were made; in another process the order is another. */
#ifndef COEX_VALUES_MAP_H
#define COEX_VALUES_MAP_H

#include <coex/values/value.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    COEX_MAP_INTEGER = 0,
    COEX_MAP_FLOAT = 1,
    COEX_MAP_STRING = 2,
    COEX_MAP_HANDLE = 3,
    COEX_MAP_REFERENCES = 4 /* to be or-ed: values are references */
};

/* An empty map of this kind. COEX_STATUS_KIND for a kind that is none. */
COEX_API coex_handle coex_map_empty(uint32_t kind);

/* These look only. A key that is no string where strings are asked for is COEX_STATUS_KIND, as is a map that is none. */
COEX_API uint32_t coex_map_kind(coex_handle map);
COEX_API uint64_t coex_map_len(coex_handle map);
/* The value of `key`; false and COEX_STATUS_MISSING if there is none, *value is left alone then. `value` may be NULL. */
COEX_API bool coex_map_get(coex_handle map, uint64_t key, uint64_t *value);
/* The same without a status when it is missing. */
COEX_API bool coex_map_has(coex_handle map, uint64_t key);

/* The map with `key` at `value`. The same map if it is so already. */
COEX_API coex_handle coex_map_set(coex_handle map, uint64_t key, uint64_t value);
/* The map without `key`. The same map if there is no such key. */
COEX_API coex_handle coex_map_remove(coex_handle map, uint64_t key);

/* Two maps of the same kind in one; for keys of both, the value of `over`. Parts that the two share are not looked at. */
COEX_API coex_handle coex_map_merge(coex_handle map, coex_handle over);
/* What of `map` has (has not) its key in `other`, a map or a set with keys of the same kind. The same map if that is all of it. */
COEX_API coex_handle coex_map_intersect(coex_handle map, coex_handle other);
COEX_API coex_handle coex_map_minus(coex_handle map, coex_handle other);

/* Lists, in the map's order: of references where keys (values) are references. And the keys as a set. */
COEX_API coex_handle coex_map_keys(coex_handle map);
COEX_API coex_handle coex_map_values(coex_handle map);
COEX_API coex_handle coex_map_key_set(coex_handle map);

/* Calls `visit` for each entry until it returns false; true: it never did. `visit` may do what it likes, safepoints included, as
 * long as `map` stays rooted. */
COEX_API bool coex_map_each(coex_handle map, bool (*visit)(void *context, uint64_t key, uint64_t value), void *context);

/* An iterator, one thread's. coex_map_next moves to the next entry and gives it (either pointer may be NULL); false at the end,
 * without a status. It is not a safepoint. */
COEX_API coex_handle coex_map_iterate(coex_handle map);
COEX_API bool coex_map_next(coex_handle iterator, uint64_t *key, uint64_t *value);

/* A builder (transient): begins as a copy of `map`, in constant time, and is changed in place by its thread. What is set gathers in
 * a table of its own beside the map and goes into it in one pass, sorted, at the latest when the builder finishes: so each node is
 * made once. Keys may arrive in any order. A value is dropped when its key is removed; values that `map` had are dropped when half
 * of its keys are removed. After finish every function but coex_kind_of says COEX_STATUS_STALE. */
COEX_API coex_handle coex_map_builder(coex_handle map);
COEX_API bool coex_map_builder_set(coex_handle builder, uint64_t key, uint64_t value); /* a safepoint. False: nothing changed */
COEX_API bool coex_map_builder_remove(coex_handle builder, uint64_t key); /* a safepoint. True also if there was no such key */
COEX_API bool coex_map_builder_get(coex_handle builder, uint64_t key, uint64_t *value); /* as coex_map_get */
COEX_API bool coex_map_builder_has(coex_handle builder, uint64_t key);
/* A safepoint, and not quick after changes to a builder that began with a map. UINT64_MAX if it fails. */
COEX_API uint64_t coex_map_builder_len(coex_handle builder);
/* The map. If memory runs out the builder is as it was. */
COEX_API coex_handle coex_map_builder_finish(coex_handle builder);

#ifdef __cplusplus
}
#endif

#endif
