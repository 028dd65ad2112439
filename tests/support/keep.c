/*
 * See keep.h.
 */
#include "support/keep.h"

#include "support/test.h"

struct kept {
    struct kept *next;
    max_align_t bytes[];
};

static struct kept *all_kept;

void *keep_alloc(size_t bytes)
{
    struct kept *piece = calloc(1, sizeof *piece + bytes);
    expect(piece != NULL);
    piece->next = __atomic_load_n(&all_kept, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&all_kept, &piece->next, piece, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return piece->bytes;
}

/* Twice as large whenever the count is a power of two. */
void *keep_grow(void *array, uint64_t count, size_t element)
{
    if (count != 0 && (count & (count - 1)) != 0) return array;
    void *larger = keep_alloc((size_t)(count == 0 ? 1 : count * 2) * element);
    if (count != 0) memcpy(larger, array, (size_t)count * element);
    return larger;
}
