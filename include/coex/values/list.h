/* Coex lists: persistent vectors of words.
 *
 * A tree of nodes with up to 32 slots, and the last up to 32 words in the list itself. A change copies the way to what it changes
 * and shares the rest. get, set, append, pop, slice, concat, insert and remove take time logarithmic in the length; what append and
 * pop copy is mostly the end alone. Lists of up to 32 words are one object.
 *
 * What must be true of all values (errors, rooting, threads) is in value.h. Words that a caller passes in an array are, if they are
 * references, kept rooted by the caller as any argument; the array itself is never inside of the heap. */
#ifndef COEX_VALUES_LIST_H
#define COEX_VALUES_LIST_H

#include <coex/values/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* No list is longer (lists that share can be longer than memory): COEX_STATUS_SIZE. */
#define COEX_LIST_MAX (((uint64_t)1 << 48) - 1)

/* ------------------------------------------------------------------- making */

/* `handles`: the words are references, which are traced; otherwise they are plain bits. */
COEX_API coex_handle coex_list_empty(bool handles);
COEX_API coex_handle coex_list_from_words(const uint64_t *words, uint64_t count, bool handles);
COEX_API coex_handle coex_list_from_array(coex_handle array); /* of handles, or of plain elements of 8 bytes */
COEX_API coex_handle coex_list_to_array(coex_handle list);    /* of handles, or of plain elements of 8 bytes */

/* ------------------------------------------------------------------ looking */

/* None of these is a safepoint, unless it says so. */

COEX_API uint64_t coex_list_len(coex_handle list);
COEX_API bool coex_list_has_handles(coex_handle list);
COEX_API uint64_t coex_list_get(coex_handle list, uint64_t index);
/* The same for those to whom 0 is a value: false if there is none. */
COEX_API bool coex_list_read(coex_handle list, uint64_t index, uint64_t *value);
/* The words from `index` on that lie side by side: their address, valid until the next safepoint; *count is how many, 1 to 32. */
COEX_API const uint64_t *coex_list_chunk(coex_handle list, uint64_t index, uint64_t *count);
/* Copies [from, from + count) to memory outside the heap. Polls after every 4096 words: a safepoint if `count` is larger. */
COEX_API bool coex_list_copy(coex_handle list, uint64_t from, uint64_t count, uint64_t *words);

/* ----------------------------------------------------------------- changing */

/* Each gives a new list; the old one stays as it is. */

COEX_API coex_handle coex_list_append(coex_handle list, uint64_t value);
COEX_API coex_handle coex_list_set(coex_handle list, uint64_t index, uint64_t value);
COEX_API coex_handle coex_list_pop(coex_handle list); /* without its last word; of an empty one: COEX_STATUS_RANGE */
COEX_API coex_handle coex_list_slice(coex_handle list, uint64_t from, uint64_t to); /* [from, to) */
COEX_API coex_handle coex_list_concat(coex_handle a, coex_handle b);                /* both of handles, or both of plain words */
COEX_API coex_handle coex_list_insert(coex_handle list, uint64_t index, uint64_t value); /* before `index`; at the length: append */
COEX_API coex_handle coex_list_remove(coex_handle list, uint64_t index);

/* ---------------------------------------------------------------- iterators */

/* Objects of one thread, over a list that can't change. */

COEX_API coex_handle coex_list_iterate(coex_handle list, uint64_t from); /* from the word at `from`, which may be the length */
/* The next word. False at the end (which records no status). Not a safepoint, nor is the next one. */
COEX_API bool coex_list_next(coex_handle iterator, uint64_t *value);
/* The next words that lie side by side, all at once, as coex_list_chunk; NULL at the end. */
COEX_API const uint64_t *coex_list_next_chunk(coex_handle iterator, uint64_t *count);

/* ----------------------------------------------------------------- builders */

/* A list that one thread changes in place, until it is finished. Begins with what is in `list`, which stays as it is. */
COEX_API coex_handle coex_list_builder(coex_handle list);
/* False: nothing is changed. After finish: COEX_STATUS_STALE. */
COEX_API bool coex_list_builder_append(coex_handle builder, uint64_t value);
COEX_API bool coex_list_builder_append_words(coex_handle builder, const uint64_t *words, uint64_t count);
COEX_API bool coex_list_builder_set(coex_handle builder, uint64_t index, uint64_t value);
COEX_API bool coex_list_builder_pop(coex_handle builder, uint64_t *value);    /* `value` may be NULL */
COEX_API uint64_t coex_list_builder_len(coex_handle builder);                 /* not a safepoint */
COEX_API uint64_t coex_list_builder_get(coex_handle builder, uint64_t index); /* not a safepoint */
/* The list. The builder is of no use afterwards, unless this fails: then it is as it was. */
COEX_API coex_handle coex_list_builder_finish(coex_handle builder);

#ifdef __cplusplus
}
#endif

#endif
