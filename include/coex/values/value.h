/* Coex values: what all collections share.
 *
 * A *word* is 64 bits: plain bits (an integer, the bits of a double), or a reference: a handle, an immediate or null. Which of the two
 * a collection holds is said when it is made; references are traced.
 *
 * Errors. A function that can't do what it is asked returns its null (0, false, NULL), changes nothing, and records why:
 * coex_last_status() of the same thread tells until the next one fails. Success records nothing. Null and wrong kinds are
 * COEX_STATUS_KIND, an index outside is COEX_STATUS_RANGE. Handles that name no object are misuse, as everywhere.
 *
 * Rooting. The rules of gc.h: arguments are kept rooted by the caller until the call returns, a result is to be stored before the next
 * safepoint. Every function here that makes something is a safepoint; those that only look say so.
 *
 * Sharing. Values are immutable: any number of threads may use one at once. Builders (transients) and iterators belong to one thread. */
#ifndef COEX_VALUES_VALUE_H
#define COEX_VALUES_VALUE_H

#include <coex/gc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Registers the types of the values with the collector: at once if the runtime is up, and at every later
 * coex_gc_init. Call it once, before or after the first coex_gc_init and before the first value is made;
 * more calls have no effect. Returns COEX_GC_OK, or a COEX_GC_E... code with the error recorded. */
COEX_API int coex_values_init(void);

typedef enum coex_status {
    COEX_STATUS_OK = 0,
    COEX_STATUS_MEMORY,  /* memory or handles are exhausted, or a limit is reached */
    COEX_STATUS_KIND,    /* null, or a value of another kind than this takes */
    COEX_STATUS_RANGE,   /* an index or a range outside of the value */
    COEX_STATUS_TEXT,    /* not valid UTF-8, or not the text of what was asked for */
    COEX_STATUS_SIZE,    /* larger than such a value can be */
    COEX_STATUS_STALE,   /* a builder that was finished, or an iterator of something that changed */
    COEX_STATUS_MISSING, /* no such key */
    COEX_STATUS_CLOSED,  /* a channel that was closed */
    COEX_STATUS_TIMEOUT, /* time ran out first */
    COEX_STATUS_SYSTEM   /* the operating system refused: reading or writing a file, say */
} coex_status;

COEX_API coex_status coex_last_status(void);
COEX_API void coex_clear_status(void);
COEX_API const char *coex_status_string(coex_status status);

typedef enum coex_kind {
    COEX_KIND_NULL = 0,
    COEX_KIND_IMMEDIATE,
    COEX_KIND_OTHER, /* an object that is none of the following */
    COEX_KIND_STRING,
    COEX_KIND_ARRAY,
    COEX_KIND_LIST,
    COEX_KIND_MAP,
    COEX_KIND_SET,
    COEX_KIND_JSON,
    COEX_KIND_CELL,
    COEX_KIND_MUTABLE_ARRAY,
    COEX_KIND_CHANNEL,
    COEX_KIND_BUILDER,
    COEX_KIND_ITERATOR
} coex_kind;

/* What a reference word is. Looks only. */
COEX_API coex_kind coex_kind_of(coex_handle word);
COEX_API const char *coex_kind_string(coex_kind kind);

/* Whole values, nested to any depth, without recursion. Equal are: strings by content; lists and arrays of the same elements (plain bits as
 * bits, references by this rule); maps and sets of one kind with the same keys (as the kind compares them) and equal values; json by its
 * rule (json.h). All other reference words, null, immediates and mutable objects among them, only if they are the same word. Parts that
 * two values share are not looked at. A part that a value contains many times, be it a value or a node inside of a list or a map,
 * is looked at once: the time is in proportion to the parts that there are in memory, not to how often they are contained.
 *
 * The hash goes with that: equal values have equal hashes within a process, in another process they are others. Never 0 for what is not
 * null. Both poll now and then: they are safepoints. They use C memory for what is nested and for what they have seen, some 50 bytes for
 * each part: false or 0 with COEX_STATUS_MEMORY if there is none. */
COEX_API bool coex_value_equal(coex_handle a, coex_handle b);
COEX_API uint64_t coex_value_hash(coex_handle value);

#ifdef __cplusplus
}
#endif

#endif
