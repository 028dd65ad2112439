/* Types: a copy of each descriptor, and the data that the fast path and the marker need.
 *
 * Any thread registers types, under the lock. All threads read them without a lock. A type is
 * complete before its shape is published (release), and no thread has an id before its
 * registration has returned. Types are not removed before shutdown. */
#ifndef CX_GC_HEAP_TYPE_H
#define CX_GC_HEAP_TYPE_H

#include "base/lock.h"
#include "base/os.h"
#include "gc/layout.h"

/* What the marker reads of every object, in one cache line. */
struct cx_type {
    uint64_t ref_words; /* bit i: payload word i is a reference (words 0 to 63) */
    uint64_t size;      /* fixed payload size, 0: variable */
    uint32_t flags;
    uint32_t array_offset;
    const uint32_t *far_refs; /* offsets of 512 and up */
    uint32_t far_count;
    uint32_t align; /* of the payload, at least 8 */
    void (*trace)(const void *payload, uint64_t size, coex_gc_visitor *visitor);
    const coex_gc_type *descriptor; /* our copy */
    uint32_t id;
    uint32_t uncommon; /* has far references, an array of references, or a trace function */
};
_Static_assert(sizeof(struct cx_type) == 64, "one cache line");

struct cx_types {
    cx_mutex lock;
    cx_range range;   /* struct cx_type[COEX_GC_MAX_TYPES] */
    uint64_t *shapes; /* W: register, release. R: allocation, relaxed. Lies below the handle table */
    cx_a32 count;     /* ids in use are 1 .. count. W: register, release. R: anyone, acquire */
};

int cx_types_init(struct cx_types *types, uint64_t *shapes);
void cx_types_fini(struct cx_types *types);

/* The id, or 0 with the error recorded. */
uint32_t cx_types_register(struct cx_types *types, const coex_gc_type *descriptor);

static inline const struct cx_type *cx_type_at(const struct cx_types *types, uint32_t id)
{
    return &((const struct cx_type *)(const void *)types->range.base)[id];
}

/* NULL for an id that was never given out. */
static inline const struct cx_type *cx_type_find(const struct cx_types *types, uint32_t id)
{
    return id != 0 && id <= cx_a32_load_acquire(&types->count) ? cx_type_at(types, id) : NULL;
}

static inline uint64_t cx_type_payload_size(const struct cx_type *type, void *payload)
{
    return type->size != 0 ? type->size : cx_length_of(payload);
}

/* Words before the payload, in bytes. */
static inline uint64_t cx_type_prefix(const struct cx_type *type) { return type->size != 0 ? 8 : 16; }

#endif
