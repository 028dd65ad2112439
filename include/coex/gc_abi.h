/* Coex: the words and constants that compiled code may use directly.
 *
 * Everything in this header is ABI. Offsets and constants do not change within a soname. The table
 * COEX_GC_THREAD_WORDS lists each word once. The struct, its layout assertions (src/gc/layout.h)
 * and docs/reference/abi.md (printed by `coexgc layout`) are generated from it. Errors are reported
 * as in <coex/gc.h>. */
#ifndef COEX_GC_H
#include <coex/gc.h> /* includes this header again */
#elif !defined(COEX_GC_ABI_H)
#define COEX_GC_ABI_H

/* The words of a thread, at the start of its record. A row is X(type, name, offset, writers,
 * meaning). The owner thread writes them. Only `limit` is also written by the collector, with
 * relaxed stores, so read it with a relaxed load. */
#define COEX_GC_THREAD_WORDS(X)                                                                    \
    X(coex_handle *, top, 0, "owner", "next free word of the shadow stack")                        \
    X(coex_handle *, limit, 8, "owner; collector stores 0",                                        \
      "end of the shadow stack, or 0: take the slow path")                                         \
    X(coex_handle *, watermark, 16, "owner",                                                       \
      "end of the frozen frames: leaving a frame down to here takes the slow path; 0: none")       \
    X(uint64_t, cursor, 24, "owner", "where the next object goes; its header comes first")         \
    X(uint64_t, end, 32, "owner", "end of the hole that cursor moves in")                          \
    X(uint64_t, handle_bits, 40, "owner",                                                          \
      "handles of the current word that are not given out yet")                                    \
    X(uint64_t, handle_base, 48, "owner", "handle of bit 0 of that word")                          \
    X(uint64_t, barrier, 56, "owner", "not 0: stores into objects take the slow path")             \
    X(void **, table, 64, "constant",                                                              \
      "payload address of each handle; type shapes lie below it, see COEX_GC_SHAPE")

/* The low 36 bits of a handle index the table. The other bits are 0, except in `checked` builds,
 * which keep a generation in them. The word before each payload is the header:
 *
 *     handle | type << 36 | flags << 56
 *
 * In an object of variable size, the word before the header is the payload size. */
#define COEX_GC_HANDLE_BITS  36
#define COEX_GC_TYPE_SHIFT   36
#define COEX_GC_FLAGS_SHIFT  56
#define COEX_GC_HEADER_BYTES 8
/* Bytes of the largest object, including its header, that is bump-allocated. Larger objects have
 * pages of their own. */
#define COEX_GC_SMALL_MAX    8184

/* Returns the shape of the type `type_id`, which lies below the table. The shape of a type with a
 * fixed size is the payload size + 1, or COEX_GC_SHAPE_SLOW. */
#define COEX_GC_SHAPE(table, type_id)                                                              \
    (((const uint64_t *)(const void *)(table))[(int64_t)(type_id) - (int64_t)COEX_GC_MAX_TYPES])
/* The shape of an id that no type has. */
#define COEX_GC_SHAPE_UNKNOWN       ((uint64_t)0)
/* The shape of a type with a variable size. */
#define COEX_GC_SHAPE_VARIABLE      ((uint64_t)1 << 63)
/* The shape of a type that is aligned, large, or has a finalizer. It needs the slow path. */
#define COEX_GC_SHAPE_SLOW          (((uint64_t)1 << 63) | 1)

/* A word of a shadow stack is one of three things. If bit 63 is clear, it is a handle or an
 * immediate. If bit 63 is set and bit 62 is clear, it is the address of a local variable that holds
 * one. If both are set, it is the header of a frame: the complement of the number of slots with
 * which the frame was entered. */
#define COEX_GC_LOCAL_BIT           ((uint64_t)1 << 63)
#define COEX_GC_FRAME_HEADER(slots) (~(uint64_t)(slots))
/* Frames with more slots take the slow path. */
#define COEX_GC_FRAME_INLINE_MAX    65535

#ifdef __cplusplus
extern "C" {
#endif

#define COEX_GC_WORD_FIELD(type, name, offset, writers, meaning) type name;
struct coex_gc_thread {
    COEX_GC_THREAD_WORDS(COEX_GC_WORD_FIELD)
};
#undef COEX_GC_WORD_FIELD

/* The words of the calling thread. If the thread is not registered, they lead every fast path that
 * uses them to its slow path, which aborts. */
COEX_API extern __thread struct coex_gc_thread *coex_gc_self
    __attribute__((tls_model("initial-exec")));

/* The table of payload addresses, as in the words of a thread, for code that only dereferences. It
 * is constant from init to shutdown, and NULL without a runtime. */
COEX_API extern void **coex_gc_table;

/* The slow paths. A fast path calls its slow path when one of its comparisons fails. All of them
 * abort if the calling thread is not registered. */

/* Allocates an object as coex_gc_alloc_at does. `payload` may be NULL. A safepoint. */
COEX_API coex_handle coex_gc_alloc_slow(uint64_t size, uint32_t type_id, void **payload);

/* Enters a frame as coex_gc_enter_frame does. Aborts if the shadow stack is full. A safepoint. */
COEX_API coex_handle *coex_gc_enter_frame_slow(uint64_t num_slots);

/* Leaves a frame as coex_gc_leave_frame does. Not a safepoint. */
COEX_API void coex_gc_leave_frame_slow(coex_handle *slots);

/* Appends a slot as coex_gc_root does. Aborts if the shadow stack is full. Not a safepoint. */
COEX_API void coex_gc_root_slow(coex_handle value);

/* Answers the collector as coex_gc_safepoint does. A safepoint. */
COEX_API void coex_gc_safepoint_slow(void);

/* Stores a reference with the write barrier, as coex_gc_store does. Aborts if `object` names no
 * object. Not a safepoint. */
COEX_API void coex_gc_store_slow(coex_handle object, uint64_t offset, coex_handle value);

#ifdef __cplusplus
}
#endif

#endif
