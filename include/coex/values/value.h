/* Coex values: the rules for all values.
 *
 * Words. A *word* has 64 bits. It is either plain bits, such as an integer or the bits of a double,
 * or a reference: a handle, an immediate or null. A collection holds one of the two, and its
 * constructor says which. References are traced.
 *
 * Errors. A function that fails returns 0, false or NULL, changes nothing, and records a status.
 * coex_last_status returns the status of the last failure on the same thread. Success does not
 * change it. If an argument is null or has the wrong kind, the status is COEX_STATUS_KIND. If an
 * index or a range is outside the value, it is COEX_STATUS_RANGE. Every function that creates an
 * object can fail with COEX_STATUS_MEMORY. The comments of the functions only name the other
 * statuses. A handle that names no object is misuse, as in <coex/gc.h>, and aborts in `checked`
 * builds. docs/reference/errors.md lists all statuses.
 *
 * Rooting. The rules of <coex/gc.h> apply. The caller keeps all arguments rooted until the call
 * returns, and stores a result in a slot before the next safepoint. A function that returns a new
 * object is a safepoint. A function that only reads is not, unless its comment says so.
 *
 * Memory. A C pointer that is passed to a function must not point into the heap.
 *
 * Threads. Values are immutable, so any number of threads may use the same value at the same time.
 * A builder or an iterator belongs to one thread. */
#ifndef COEX_VALUES_VALUE_H
#define COEX_VALUES_VALUE_H

#include <coex/gc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Registers the types of the values with the collector: at once if the runtime is initialised, and
 * at every later coex_gc_init. Call it once, before or after the first coex_gc_init, and before the
 * first value is created. Later calls have no effect. Returns COEX_GC_OK. On failure, returns an
 * error code of <coex/gc.h> and records the reason (coex_gc_error_detail). */
COEX_API int coex_values_init(void);

/* The reason why a function of the values failed. */
typedef enum coex_status {
    COEX_STATUS_OK = 0,  /* Nothing has failed. */
    COEX_STATUS_MEMORY,  /* Memory or handles are exhausted. */
    COEX_STATUS_KIND,    /* An argument is null or has the wrong kind. */
    COEX_STATUS_RANGE,   /* An index, a range or a number is out of range. */
    COEX_STATUS_TEXT,    /* A text is not valid UTF-8, or does not have the expected form. */
    COEX_STATUS_SIZE,    /* The result would exceed the size limit of its kind. */
    COEX_STATUS_STALE,   /* A builder, reader or writer does not accept this call any more. */
    COEX_STATUS_MISSING, /* The key does not exist. */
    COEX_STATUS_CLOSED,  /* The channel is closed. */
    COEX_STATUS_TIMEOUT, /* The time limit passed first. */
    COEX_STATUS_SYSTEM   /* A file, a source or a sink failed. */
} coex_status;

/* Returns the status of the last failure on this thread, or COEX_STATUS_OK if there is none since
 * the last coex_clear_status. */
COEX_API coex_status coex_last_status(void);

/* Sets the status of this thread to COEX_STATUS_OK. */
COEX_API void coex_clear_status(void);

/* Returns a description of `status`, or "unknown status". Never returns NULL. */
COEX_API const char *coex_status_string(coex_status status);

/* The kinds of reference words. */
typedef enum coex_kind {
    COEX_KIND_NULL = 0,
    COEX_KIND_IMMEDIATE,
    COEX_KIND_OTHER, /* An object that is not a value of this library. */
    COEX_KIND_STRING,
    COEX_KIND_ARRAY,
    COEX_KIND_LIST,
    COEX_KIND_MAP,
    COEX_KIND_SET,
    COEX_KIND_JSON, /* A JSON number or object; other JSON values have a kind of their own. */
    COEX_KIND_CELL,
    COEX_KIND_MUTABLE_ARRAY,
    COEX_KIND_CHANNEL,
    COEX_KIND_BUILDER,
    COEX_KIND_ITERATOR
} coex_kind;

/* Returns the kind of the reference word `word`. Aborts if `word` is a handle that names no object.
 * Not a safepoint. */
COEX_API coex_kind coex_kind_of(coex_handle word);

/* Returns the name of `kind`, or "unknown kind". Never returns NULL. */
COEX_API const char *coex_kind_string(coex_kind kind);

/* Returns true if the values `a` and `b` are equal. They may be nested to any depth, and the
 * function does not recurse.
 *
 *   strings        are equal if their text is equal.
 *   lists, arrays  are equal if their elements are equal: plain bits bit by bit, references by this
 *                  rule.
 *   maps, sets     are equal if they have the same kind, the same keys (as the kind compares them)
 *                  and equal values.
 *   JSON           has its own rule; see coex_json_equal in <coex/values/json.h>.
 *   other words    are equal only if they are the same word. Null, immediates and mutable objects
 *                  belong here.
 *
 * Parts that the two values share are not compared. A part that a value contains many times, be it
 * a value or a node inside a list or a map, is compared once. The time is therefore proportional to
 * the parts in memory and not to the number of times they are contained. Uses about 50 bytes of C
 * memory for each part. Returns false with COEX_STATUS_MEMORY if there is none. A safepoint. */
COEX_API bool coex_value_equal(coex_handle a, coex_handle b);

/* Returns a hash of `value`. Equal values have equal hashes within a process. Hashes differ from
 * process to process. The hash of null is 0, and no other hash is 0. Returns 0 with
 * COEX_STATUS_MEMORY if there is no memory for the nesting. A safepoint. */
COEX_API uint64_t coex_value_hash(coex_handle value);

#ifdef __cplusplus
}
#endif

#endif
