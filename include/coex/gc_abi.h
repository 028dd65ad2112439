/* Coex: the words that compiled code may touch, and the few numbers it needs. Everything here is ABI: offsets do not change
 * within a soname. Each word is listed once, in the tables below; the struct, its layout assertions (src/gc/layout.h), and
 * docs/reference/abi.md (printed by coexgc layout) all come from them. */
#ifndef COEX_GC_H
#include <coex/gc.h> /* comes back here */
#elif !defined(COEX_GC_ABI_H)
#define COEX_GC_ABI_H

/* The head of a thread's record. Row: X(type, name, offset, writers, meaning).
 *
 * One cache line, written by its owner; `limit` alone is also written by the collector (relaxed stores; read it as such). */
#define COEX_GC_THREAD_WORDS(X)                                                                                                    \
    X(coex_handle *, top, 0, "owner", "next free word of the shadow stack")                                                        \
    X(coex_handle *, limit, 8, "owner; collector stores 0", "end of the shadow stack, or 0: take the slow path")                   \
    X(coex_handle *, watermark, 16, "owner",                                                                                       \
      "end of the frozen frames: leaving a frame down to here takes the slow path; 0: none")                                       \
    X(uint64_t, cursor, 24, "owner", "where the next object goes; its header comes first")                                         \
    X(uint64_t, end, 32, "owner", "end of the hole that cursor moves in")                                                          \
    X(uint64_t, handle_bits, 40, "owner", "handles of the current word that are not given out yet")                                \
    X(uint64_t, handle_base, 48, "owner", "handle of bit 0 of that word")                                                          \
    X(uint64_t, barrier, 56, "owner", "not 0: stores into objects take the slow path")                                             \
    X(void **, table, 64, "constant", "payload address of each handle; type shapes lie below it, see COEX_GC_SHAPE")

/* A handle's low 36 bits index the table; the rest is 0, but for the generation that those of `checked` builds have above them. The header word before each payload is handle | type << 36 | flags << 56. In an object
 * of variable size the payload size stands before the header. */
#define COEX_GC_HANDLE_BITS           36
#define COEX_GC_TYPE_SHIFT            36
#define COEX_GC_FLAGS_SHIFT           56
#define COEX_GC_HEADER_BYTES          8
#define COEX_GC_SMALL_MAX             8184 /* largest object, header included, that is bump-allocated; larger ones get pages of their own */

/* shape of a type: ((uint64_t *)table)[type_id - COEX_GC_MAX_TYPES]. Payload size + 1 of a fixed size, or: */
#define COEX_GC_SHAPE(table, type_id) (((const uint64_t *)(const void *)(table))[(int64_t)(type_id) - (int64_t)COEX_GC_MAX_TYPES])
#define COEX_GC_SHAPE_UNKNOWN         ((uint64_t)0)
#define COEX_GC_SHAPE_VARIABLE        ((uint64_t)1 << 63)       /* of variable size */
#define COEX_GC_SHAPE_SLOW            (((uint64_t)1 << 63) | 1) /* aligned, large, or with a finalizer: not for the fast path */

/* A shadow-stack word: handle or immediate (bit 63 clear), address of a local that holds one (bits 63, 62 = 1, 0), or the header
 * that a frame starts with (bits 63, 62 = 1, 1): the complement of the number of slots it was made with. */
#define COEX_GC_LOCAL_BIT             ((uint64_t)1 << 63)
#define COEX_GC_FRAME_HEADER(slots)   (~(uint64_t)(slots))
#define COEX_GC_FRAME_INLINE_MAX      65535 /* frames with more slots take the slow path */

#ifdef __cplusplus
extern "C" {
#endif

#define COEX_GC_WORD_FIELD(type, name, offset, writers, meaning) type name;
struct coex_gc_thread {
    COEX_GC_THREAD_WORDS(COEX_GC_WORD_FIELD)
};
#undef COEX_GC_WORD_FIELD

/* This thread's words. A thread that is not registered has words that send every fast path to its slow path. */
COEX_API extern __thread struct coex_gc_thread *coex_gc_self __attribute__((tls_model("initial-exec")));

/* The same table as in the words, for code that only dereferences. Constant from init to shutdown. */
COEX_API extern void **coex_gc_table;

/* The slow halves. Never inline, and what a fast path calls when a compare fails. */
COEX_API coex_handle coex_gc_alloc_slow(uint64_t size, uint32_t type_id, void **payload); /* payload may be NULL */
COEX_API coex_handle *coex_gc_enter_frame_slow(uint64_t num_slots);
COEX_API void coex_gc_leave_frame_slow(coex_handle *slots);
COEX_API void coex_gc_root_slow(coex_handle value);
COEX_API void coex_gc_safepoint_slow(void);
COEX_API void coex_gc_store_slow(coex_handle object, uint64_t offset, coex_handle value);

#ifdef __cplusplus
}
#endif

#endif
