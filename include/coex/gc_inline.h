/* Coex: the fast paths.
 *
 * <coex/gc.h> includes this header. Programs call the functions by their public names, which are
 * macros at the end of this header. Each coex_fast_ function is the only source text of a fast
 * path. It is compiled into the caller, and a second time in src/gc/api/fast_paths.c as the symbol
 * of the library. `checked` builds, and programs that define COEX_GC_NO_INLINE, call the symbol.
 *
 * No fast path contains a call or an atomic read-modify-write operation. `make bench` counts their
 * instructions (docs/reference/performance.md). The comments in <coex/gc.h> say what the functions
 * do, how they fail, and which of them are safepoints. */
#ifndef COEX_GC_H
#include <coex/gc.h> /* includes this header again */
#elif !defined(COEX_GC_INLINE_H)
#define COEX_GC_INLINE_H

#include <coex/gc_abi.h>

#define COEX_FAST        static inline __attribute__((always_inline, unused))
#define COEX_LIKELY(x)   __builtin_expect(!!(x), 1)
#define COEX_UNLIKELY(x) __builtin_expect(!!(x), 0)

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the handle of the lowest bit in `bits` for the object whose header is at `header`, writes
 * the header with `type_id`, and publishes the address of the payload in the table. Returns the
 * handle. */
COEX_FAST coex_handle coex_fast_publish(struct coex_gc_thread *self, uint64_t bits,
                                        uint64_t *header, uint32_t type_id)
{
    coex_handle handle = self->handle_base + (uint64_t)__builtin_ctzll(bits);
    *header = handle | (uint64_t)type_id << COEX_GC_TYPE_SHIFT;
    /* Release: a reader that finds the address in the table (a verifier, a dump) finds the
     * header. */
    __atomic_store_n(&self->table[handle], (void *)(header + 1), __ATOMIC_RELEASE);
    return handle;
}

/* Bump-allocates an object of type `type_id` with `size` payload bytes for both allocation
 * functions. Returns the address of its header, or NULL if the caller must take the slow path. */
COEX_FAST uint64_t *coex_fast_bump(struct coex_gc_thread *self, uint64_t size, uint32_t type_id)
{
    uint64_t *start = (uint64_t *)self->cursor;
    /* The bound costs nothing if `size` is a constant. Without it, size + 1 could wrap around to
     * the shape 0 of an unknown type. */
    if (COEX_LIKELY(size < COEX_GC_SMALL_MAX && COEX_GC_SHAPE(self->table, type_id) == size + 1)) {
        uint64_t next = self->cursor + ((size + COEX_GC_HEADER_BYTES + 7) & ~(uint64_t)7);
        if (COEX_UNLIKELY(next > self->end)) return NULL;
        self->cursor = next;
        /* `start` is not NULL, because then `end` would be 0. This saves the test in the caller. */
        if (start == NULL) __builtin_unreachable();
        return start;
    }
    if (COEX_GC_SHAPE(self->table, type_id) == COEX_GC_SHAPE_VARIABLE &&
        size <= COEX_GC_SMALL_MAX - 2 * COEX_GC_HEADER_BYTES) {
        uint64_t next = self->cursor + ((size + 2 * COEX_GC_HEADER_BYTES + 7) & ~(uint64_t)7);
        if (COEX_UNLIKELY(next > self->end)) return NULL;
        self->cursor = next;
        *start = size;
        return start + 1;
    }
    return NULL;
}

/* Allocates an object and stores the address of its payload (coex_gc_alloc_at). The last bit of
 * handle_bits is left to the slow path, so that one test finds both an empty word and a word that
 * is about to become empty. */
COEX_FAST coex_handle coex_fast_alloc_at(uint64_t size, uint32_t type_id, void **payload)
{
    struct coex_gc_thread *self = coex_gc_self;
    uint64_t bits = self->handle_bits;
    uint64_t rest = bits & (bits - 1);
    /* This test comes first, because a thread that is not registered has no bits and no table. */
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

/* Allocates an object (coex_gc_alloc). */
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

/* Returns the address of a payload (coex_gc_handle_deref). Acquire: the caller sees all writes that
 * came before the address was published, and the complete copy if the object has moved. */
COEX_FAST void *coex_fast_handle_deref(coex_handle h)
{
    return h == 0 ? NULL : __atomic_load_n(&coex_gc_table[h], __ATOMIC_ACQUIRE);
}

/* Returns the address of the field at `offset` of `object`. */
COEX_FAST coex_handle *coex_fast_field(coex_handle object, uint64_t offset)
{
    /* clang-format off */
    return (coex_handle *)(void *)
        ((char *)__atomic_load_n(&coex_gc_table[object], __ATOMIC_ACQUIRE) + offset);
    /* clang-format on */
}

/* Loads a reference (coex_gc_load). Acquire: pairs with the release in coex_fast_store, so that an
 * object that another thread has published is complete. */
COEX_FAST coex_handle coex_fast_load(coex_handle object, uint64_t offset)
{
    return __atomic_load_n(coex_fast_field(object, offset), __ATOMIC_ACQUIRE);
}

/* Initialises a reference (coex_gc_init_ref). Relaxed: no other thread has the object yet, and the
 * store that publishes it also releases this one. */
COEX_FAST void coex_fast_init_ref(coex_handle fresh, uint64_t offset, coex_handle value)
{
    __atomic_store_n(coex_fast_field(fresh, offset), value, __ATOMIC_RELAXED);
}

/* Stores a reference with the write barrier (coex_gc_store). */
COEX_FAST void coex_fast_store(coex_handle object, uint64_t offset, coex_handle value)
{
    if (COEX_UNLIKELY(coex_gc_self->barrier != 0))
        coex_gc_store_slow(object, offset, value);
    else
        __atomic_store_n(coex_fast_field(object, offset), value, __ATOMIC_RELEASE);
}

/* Enters a frame (coex_gc_enter_frame). `limit` is 0 while a request of the collector is
 * pending. */
COEX_FAST coex_handle *coex_fast_enter_frame(uint64_t num_slots)
{
    struct coex_gc_thread *self = coex_gc_self;
    coex_handle *header = self->top;
    if (COEX_UNLIKELY(num_slots > COEX_GC_FRAME_INLINE_MAX))
        return coex_gc_enter_frame_slow(num_slots);
    coex_handle *top = header + num_slots + 1;
    if (COEX_UNLIKELY((uintptr_t)top > (uintptr_t)__atomic_load_n(&self->limit, __ATOMIC_RELAXED)))
        return coex_gc_enter_frame_slow(num_slots);
    *header = COEX_GC_FRAME_HEADER(num_slots);
    for (uint64_t i = 1; i <= num_slots; i++) header[i] = 0;
    self->top = top;
    return header + 1;
}

/* Leaves a frame (coex_gc_leave_frame). Frames at or below the watermark are frozen and take the
 * slow path. */
COEX_FAST void coex_fast_leave_frame(coex_handle *slots)
{
    struct coex_gc_thread *self = coex_gc_self;
    if (COEX_UNLIKELY((uintptr_t)(slots - 1) <= (uintptr_t)self->watermark))
        coex_gc_leave_frame_slow(slots);
    else
        self->top = slots - 1;
}

/* Appends a slot to the top frame (coex_gc_root). */
COEX_FAST void coex_fast_root(coex_handle value)
{
    struct coex_gc_thread *self = coex_gc_self;
    coex_handle *slot = self->top;
    if (COEX_UNLIKELY((uintptr_t)(slot + 1) >
                      (uintptr_t)__atomic_load_n(&self->limit, __ATOMIC_RELAXED))) {
        coex_gc_root_slow(value);
    } else {
        *slot = value;
        self->top = slot + 1;
    }
}

/* Polls (coex_gc_safepoint). */
COEX_FAST void coex_fast_safepoint(void)
{
    if (COEX_UNLIKELY(__atomic_load_n(&coex_gc_self->limit, __ATOMIC_RELAXED) == NULL))
        coex_gc_safepoint_slow();
}

/* Returns the type id of the object whose payload is at `payload`, for callers that have the
 * address already. Relaxed: coex_gc_freeze may write a flag of the header at the same time. Not a
 * safepoint. */
COEX_FAST uint32_t coex_gc_type_at(const void *payload)
{
    uint64_t header = __atomic_load_n((const uint64_t *)payload - 1, __ATOMIC_RELAXED);
    return (uint32_t)(header >> COEX_GC_TYPE_SHIFT) & (COEX_GC_MAX_TYPES - 1);
}

/* Returns the payload size of the object whose payload is at `payload`. The type of the object must
 * have a variable size. Not a safepoint. */
COEX_FAST uint64_t coex_gc_size_at(const void *payload) { return ((const uint64_t *)payload)[-2]; }

/* -------------------------------------------------------- the public names */

/* A function-like macro replaces calls only. The address of a function, and a call in parentheses
 * such as (coex_gc_alloc)(size, type), refer to the symbol of the library. */
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
