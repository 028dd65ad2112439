/* A growing list of words in a reserved range: nothing moves when it grows. Not thread-safe: its user has a lock. */
#ifndef CX_BASE_VECTOR_H
#define CX_BASE_VECTOR_H

#include "base/os.h"

struct cx_vector {
    cx_range range;
    uint64_t count;
};

/* Room for at most `most` words (fewer if the system refuses the address space). */
bool cx_vector_init(struct cx_vector *vector, uint64_t most);
void cx_vector_fini(struct cx_vector *vector);
/* False: no memory. */
bool cx_vector_push(struct cx_vector *vector, uint64_t word);

static inline uint64_t *cx_vector_at(const struct cx_vector *vector, uint64_t index)
{
    return &((uint64_t *)(void *)vector->range.base)[index];
}

#endif
