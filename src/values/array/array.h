/* What others need to know of arrays. */
#ifndef CX_VALUES_ARRAY_ARRAY_H
#define CX_VALUES_ARRAY_ARRAY_H

#include "values/core/common.h"

struct cx_array {
    coex_handle buffer; /* 0 if it has no bytes */
    uint64_t from;      /* bytes into the buffer's data */
    uint64_t length;    /* elements */
    uint64_t element;   /* bytes of one << 1 | 1 if they are handles */
};

/* MUTABLE. A buffer without spare room is frozen when it is complete.
 *
 * INV-ARRAY-1  Bytes below `used` belong to arrays and never change. Whoever wants to write behind them claims them first: he moves
 *              `used` from the end of his own array by a compare-and-swap, which one of several can do. */
struct cx_array_buffer {
    uint64_t used;     /* bytes. W: any, cas acq_rel; the maker plainly before anybody else has it */
    uint64_t capacity; /* bytes, a multiple of 8 */
    unsigned char data[];
};

static inline uint64_t cx_array_element_bytes(const struct cx_array *a) { return a->element >> 1; }
static inline bool cx_array_is_refs(const struct cx_array *a) { return (a->element & 1) != 0; }

/* A buffer all zero; 0 with a status. */
coex_handle cx_array_new_buffer(uint64_t capacity, bool refs);
/* Writes to a buffer that nobody else has yet. The source is outside of the heap, or no safepoint comes before the end: there is
 * none. */
void cx_array_write(coex_handle buffer, uint64_t at, const void *source, uint64_t bytes, bool refs);
/* The same from another buffer. A safepoint after each piece: both are rooted. */
void cx_array_move(coex_handle to, uint64_t at, coex_handle from, uint64_t from_at, uint64_t bytes, bool refs);
/* The array that a buffer, which is rooted, is now complete for; all its `used` bytes. 0 with a status. */
coex_handle cx_array_wrap(coex_handle buffer, uint64_t length, uint64_t element);

/* Is this an array of words: handles, or plain elements of 8 bytes? */
static inline const struct cx_array *cx_array_of_words(coex_handle array)
{
    const struct cx_array *a = cx_value_as(array, CX_TYPE_array);
    return a != NULL && cx_array_element_bytes(a) == sizeof(uint64_t) ? a : NULL;
}

#endif
