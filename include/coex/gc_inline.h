/* Coex: the fast paths. Included by gc.h; nothing here is to be called by its own name.
 *
 * Each coex_fast_… function is the one text of a fast path. It is compiled twice: here, where a call by the public name
 * becomes it, and in src/gc/api/fast_paths.c as the library's symbol of that name. `checked` builds, and programs that define
 * COEX_GC_NO_INLINE, call the symbol.
 *
 * Counted with callgrind by `make bench` (docs/reference/performance.md); no fast path has a call or an atomic read-modify-write. */
#ifndef COEX_GC_H
#include <coex/gc.h> /* comes back here */
#elif !defined(COEX_GC_INLINE_H)
#define COEX_GC_INLINE_H

#include <coex/gc_abi.h>

#define COEX_FAST        static inline __attribute__((always_inline, unused))
#define COEX_LIKELY(x)   __builtin_expect(!!(x), 1)
#define COEX_UNLIKELY(x) __builtin_expect(!!(x), 0)

#ifdef __cplusplus
extern "C" {
#endif

/* Give out the next handle of this thread's word for the object whose header is at `header`. The last bit of a word is left to
 * the slow path, so that one test serves for "empty" and "about to be". */
COEX_FAST coex_handle coex_fast_publish(struct coex_gc_thread *self, uint64_t bits, uint64_t *header, uint32_t type_id)
{
    coex_handle handle = self->handle_base + (uint64_t)__builtin_ctzll(bits);
    *header = handle | (uint64_t)type_id << COEX_GC_TYPE_SHIFT;
    /* Release: whoever finds the slot filled (a verifier, a dump) finds the header written. */
    __atomic_store_n(&self->table[handle], (void *)(header + 1), __ATOMIC_RELEASE);
    return handle;
}

/* The object's header, or NULL: take the slow path. The text of both allocations. */
COEX_FAST uint64_t *coex_fast_bump(struct coex_gc_thread *self, uint64_t size, uint32_t type_id)
{
    uint64_t *start = (uint64_t *)self->cursor;
    /* The bound costs nothing when the size is a constant; without it size + 1 could be the 0 of an unknown type. */
    if (COEX_LIKELY(size < COEX_GC_SMALL_MAX && COEX_GC_SHAPE(self->table, type_id) == size + 1)) {
        uint64_t next = self->cursor + ((size + COEX_GC_HEADER_BYTES + 7) & ~(uint64_t)7);
        if (COEX_UNLIKELY(next > self->end)) return NULL;
        self->cursor = next;
        if (start == NULL) /* never: `end` would have been 0. Saves the caller's test */
            __builtin_unreachable();
        return start;
    }
    if (COEX_GC_SHAPE(self->table, type_id) == COEX_GC_SHAPE_VARIABLE && size <= COEX_GC_SMALL_MAX - 2 * COEX_GC_HEADER_BYTES) {
        uint64_t next = self->cursor + ((size + 2 * COEX_GC_HEADER_BYTES + 7) & ~(uint64_t)7);
        if (COEX_UNLIKELY(next > self->end)) return NULL;
        self->cursor = next;
        *start = size;
        return start + 1;
    }
    return NULL;
}

COEX_FAST coex_handle coex_fast_alloc_at(uint64_t size, uint32_t type_id, void **payload)
{
    struct coex_gc_thread *self = coex_gc_self;
    uint64_t bits = self->handle_bits;
    uint64_t rest = bits & (bits - 1);
    /* This test comes first: a thread that is not registered has no bits, and no table to read a shape from. */
    if (COEX_LIKELY(rest != 0)) {
        uint64_t *header = coex_fast_bump(self, size, type_id);
        if (COEX_LIKELY(header != NULL)) {
            self->handle_bits = rest;
            *payload = header + 1;
            return coex_fast_publish(self, bits, header, type_id);
        }
    }
    return coex_gc_alloc_slow(size, type_id, payload);
}

COEX_FAST coex_handle coex_fast_alloc(uint64_t size, uint32_t type_id)
{
    struct coex_gc_thread *self = coex_gc_self;
    uint64_t bits = self->handle_bits;
    uint64_t rest = bits & (bits - 1);
    if (COEX_LIKELY(rest != 0)) {
        uint64_t *header = coex_fast_bump(self, size, type_id);
        if (COEX_LIKELY(header != NULL)) {
            self->handle_bits = rest;
            return coex_fast_publish(self, bits, header, type_id);
        }
    }
    return coex_gc_alloc_slow(size, type_id, NULL);
}

/* Acquire: whoever follows a handle sees what was written before its address was (and, when objects move, the whole copy). */
COEX_FAST void *coex_fast_handle_deref(coex_handle h)
{
    return h == 0 ? NULL : __atomic_load_n(&coex_gc_table[h], __ATOMIC_ACQUIRE);
}

COEX_FAST coex_handle *coex_fast_field(coex_handle object, uint64_t offset)
{
    return (coex_handle *)(void *)((char *)__atomic_load_n(&coex_gc_table[object], __ATOMIC_ACQUIRE) + offset);
}

/* Acquire: pairs with the release in store, so that what another thread published is complete. */
COEX_FAST coex_handle coex_fast_load(coex_handle object, uint64_t offset)
{
    return __atomic_load_n(coex_fast_field(object, offset), __ATOMIC_ACQUIRE);
}

/* Plain order: nobody else has the object yet; what publishes it releases this too. */
COEX_FAST void coex_fast_init_ref(coex_handle fresh, uint64_t offset, coex_handle value)
{
    __atomic_store_n(coex_fast_field(fresh, offset), value, __ATOMIC_RELAXED);
}

COEX_FAST void coex_fast_store(coex_handle object, uint64_t offset, coex_handle value)
{
    if (COEX_UNLIKELY(coex_gc_self->barrier != 0))
        coex_gc_store_slow(object, offset, value);
    else
        __atomic_store_n(coex_fast_field(object, offset), value, __ATOMIC_RELEASE);
}

COEX_FAST coex_handle *coex_fast_enter_frame(uint64_t num_slots)
{
    struct coex_gc_thread *self = coex_gc_self;
    coex_handle *header = self->top;
    if (COEX_UNLIKELY(num_slots > COEX_GC_FRAME_INLINE_MAX)) return coex_gc_enter_frame_slow(num_slots);
    coex_handle *top = header + num_slots + 1;
    if (COEX_UNLIKELY((uintptr_t)top > (uintptr_t)__atomic_load_n(&self->limit, __ATOMIC_RELAXED)))
        return coex_gc_enter_frame_slow(num_slots);
    *header = COEX_GC_FRAME_HEADER(num_slots);
    for (uint64_t i = 1; i <= num_slots; i++) header[i] = 0;
    self->top = top;
    return header + 1;
}

COEX_FAST void coex_fast_leave_frame(coex_handle *slots)
{
    struct coex_gc_thread *self = coex_gc_self;
    if (COEX_UNLIKELY((uintptr_t)(slots - 1) <= (uintptr_t)self->watermark))
        coex_gc_leave_frame_slow(slots);
    else
        self->top = slots - 1;
}

COEX_FAST void coex_fast_root(coex_handle value)
{
    struct coex_gc_thread *self = coex_gc_self;
    coex_handle *slot = self->top;
    if (COEX_UNLIKELY((uintptr_t)(slot + 1) > (uintptr_t)__atomic_load_n(&self->limit, __ATOMIC_RELAXED))) {
        coex_gc_root_slow(value);
    } else {
        *slot = value;
        self->top = slot + 1;
    }
}

COEX_FAST void coex_fast_safepoint(void)
{
    if (COEX_UNLIKELY(__atomic_load_n(&coex_gc_self->limit, __ATOMIC_RELAXED) == NULL)) coex_gc_safepoint_slow();
}

/* The type of the object whose payload is there: for those who have its address anyway. Relaxed: freezing writes a flag beside it. */
COEX_FAST uint32_t coex_gc_type_at(const void *payload)
{
    uint64_t header = __atomic_load_n((const uint64_t *)payload - 1, __ATOMIC_RELAXED);
    return (uint32_t)(header >> COEX_GC_TYPE_SHIFT) & (COEX_GC_MAX_TYPES - 1);
}

/* The same for the payload's bytes; only for an object whose type is of variable size. */
COEX_FAST uint64_t coex_gc_size_at(const void *payload) { return ((const uint64_t *)payload)[-2]; }

/* ------------------------------------------------- under the public names */

/* A function-like macro hides the symbol in calls only: its address, and (coex_gc_alloc)(…) in brackets, are the library's. */
#if !defined(COEX_GC_NO_INLINE) && !defined(COEX_GC_CHECKED)
#define coex_gc_alloc(size, type_id)             coex_fast_alloc(size, type_id)
#define coex_gc_alloc_at(size, type_id, payload) coex_fast_alloc_at(size, type_id, payload)
#define coex_gc_handle_deref(h)                  coex_fast_handle_deref(h)
#define coex_gc_load(object, offset)             coex_fast_load(object, offset)
#define coex_gc_init_ref(fresh, offset, value)   coex_fast_init_ref(fresh, offset, value)
#define coex_gc_store(object, offset, value)     coex_fast_store(object, offset, value)
#define coex_gc_enter_frame(num_slots)           coex_fast_enter_frame(num_slots)
#define coex_gc_leave_frame(slots)               coex_fast_leave_frame(slots)
#define coex_gc_root(value)                      coex_fast_root(value)
#define coex_gc_safepoint()                      coex_fast_safepoint()
#endif

#ifdef __cplusplus
}
#endif

#endif
