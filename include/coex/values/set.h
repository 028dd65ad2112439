/* Coex values: the set. A map without values (map.h): the same kinds of elements, the same tree, the same order, the same builders.
 * */
#ifndef COEX_VALUES_SET_H
#define COEX_VALUES_SET_H

#include <coex/values/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds are those of a map's keys, under names of their own. */
enum { COEX_SET_INTEGER = 0, COEX_SET_FLOAT = 1, COEX_SET_STRING = 2, COEX_SET_HANDLE = 3 };

/* An empty set of this kind. COEX_STATUS_KIND for a kind that is none. */
COEX_API coex_handle coex_set_empty(uint32_t kind);

/* These look only. */
COEX_API uint32_t coex_set_kind(coex_handle set);
COEX_API uint64_t coex_set_len(coex_handle set);
COEX_API bool coex_set_has(coex_handle set, uint64_t element);
/* Is all of `part` in `set`, a set (or a map's keys) of the same kind? A safepoint: it polls now and then. */
COEX_API bool coex_set_is_subset(coex_handle part, coex_handle set);

/* The set with, the set without `element`; the same set if it is so already. */
COEX_API coex_handle coex_set_add(coex_handle set, uint64_t element);
COEX_API coex_handle coex_set_remove(coex_handle set, uint64_t element);

/* Of two sets of the same kind; in intersect and minus, `other` may be a map with keys of that kind. Parts that the two share are
 * not looked at. A result that equals `set` is `set`. */
COEX_API coex_handle coex_set_union(coex_handle set, coex_handle other);
COEX_API coex_handle coex_set_intersect(coex_handle set, coex_handle other);
COEX_API coex_handle coex_set_minus(coex_handle set, coex_handle other);

/* The elements as a list, in order. */
COEX_API coex_handle coex_set_to_list(coex_handle set);

/* Calls `visit` for each element until it returns false; true: it never did. `visit` may do what it likes, safepoints included, as
 * long as `set` stays rooted. */
COEX_API bool coex_set_each(coex_handle set, bool (*visit)(void *context, uint64_t element), void *context);

/* An iterator, one thread's; false at the end, without a status. coex_set_next is not a safepoint. */
COEX_API coex_handle coex_set_iterate(coex_handle set);
COEX_API bool coex_set_next(coex_handle iterator, uint64_t *element);

/* A builder (transient): see map.h. */
COEX_API coex_handle coex_set_builder(coex_handle set);
COEX_API bool coex_set_builder_add(coex_handle builder, uint64_t element);
COEX_API bool coex_set_builder_remove(coex_handle builder, uint64_t element);
COEX_API bool coex_set_builder_has(coex_handle builder, uint64_t element);
COEX_API uint64_t coex_set_builder_len(coex_handle builder); /* UINT64_MAX if it fails */
COEX_API coex_handle coex_set_builder_finish(coex_handle builder);

#ifdef __cplusplus
}
#endif

#endif
