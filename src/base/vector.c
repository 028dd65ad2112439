/* See vector.h. */
#include "base/vector.h"

enum { VECTOR_LEAST = 65536 };

bool cx_vector_init(struct cx_vector *vector, uint64_t most)
{
    vector->count = 0;
    size_t bytes = (size_t)(most > VECTOR_LEAST ? most : VECTOR_LEAST) * sizeof(uint64_t);
    return cx_range_reserve(&vector->range, bytes, VECTOR_LEAST * sizeof(uint64_t));
}

void cx_vector_fini(struct cx_vector *vector)
{
    cx_range_release(&vector->range);
    vector->count = 0;
}

bool cx_vector_push(struct cx_vector *vector, uint64_t word)
{
    size_t need = (size_t)(vector->count + 1) * sizeof word;
    size_t ahead = vector->range.committed * 2;
    if (need > vector->range.committed &&
        !cx_range_commit(&vector->range, ahead > need && ahead <= vector->range.reserved ? ahead : need))
        return false;
    *cx_vector_at(vector, vector->count++) = word;
    return true;
}
