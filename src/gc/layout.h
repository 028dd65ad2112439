/* The memory layout of objects, headers, handles and the units of the heap. Only this file takes a
 * handle or a header apart.
 *
 *     fixed size:                [header][payload ...]
 *     variable size:     [length][header][payload ...]
 *                                         ^ table[handle]
 *
 * The header is handle | type << 36 | flags << 56. The handle in the header leads from an address
 * back to the table, for dumps and for moving objects. Marks are in bitmaps beside the table.
 * <coex/gc_abi.h> declares the words that compiled code may touch. The assertions below check
 * their positions. */
#ifndef CX_GC_LAYOUT_H
#define CX_GC_LAYOUT_H

#include "base/atomic.h"

#include <coex/gc.h>

enum {
    CX_BLOCK_SHIFT = 15, /* 32 KiB: large enough that taking a block is rare, small enough that a sparse one is worth reusing */
    CX_BLOCK_BYTES = 1 << CX_BLOCK_SHIFT,
    CX_LINE_SHIFT = 7, /* 128 bytes, as measured best by Immix (Blackburn and McKinley, PLDI 2008) */
    CX_LINE_BYTES = 1 << CX_LINE_SHIFT,
    CX_BLOCK_LINES = CX_BLOCK_BYTES / CX_LINE_BYTES,
    CX_LINE_WORDS = CX_BLOCK_LINES / 64, /* 64-bit words of a bitmap of a block's lines */
    CX_WORD_HANDLES = 64,                /* handles of one bitmap word */
    CX_MAX_ALIGN = 64
};

#define CX_MAX_HANDLES ((uint64_t)1 << COEX_GC_HANDLE_BITS)
#define CX_MAX_OBJECT  ((uint64_t)1 << 46) /* more than an address space has */

#define CX_ASSERT_WORD(type, name, offset, writers, meaning)                                                                       \
    _Static_assert(offsetof(struct coex_gc_thread, name) == (offset), "ABI: " #name);
COEX_GC_THREAD_WORDS(CX_ASSERT_WORD)
#undef CX_ASSERT_WORD
_Static_assert(COEX_GC_SMALL_MAX % 8 == 0 && COEX_GC_SMALL_MAX < CX_BLOCK_BYTES / 2, "a small object fits a block");
_Static_assert(((uint64_t)COEX_GC_MAX_TYPES << COEX_GC_TYPE_SHIFT) == (uint64_t)1 << COEX_GC_FLAGS_SHIFT,
               "header fields are adjacent");

/* Flags of the header. */
enum { CX_HEADER_FROZEN = 1 }; /* of a MUTABLE type, and no store follows any more */

/* A handle is an index of the table; in `checked` builds those that users see carry their generation above it, so that one whose object
 * is gone is told from one that was given out again. Headers, bitmaps and words of handles have the index alone. */
enum { CX_GENERATION_BITS = 20 };
#define CX_HANDLE_LIMIT (CX_MAX_HANDLES << CX_GENERATION_BITS)

static inline uint64_t cx_index_of(coex_handle handle) { return handle & (CX_MAX_HANDLES - 1); }
static inline uint32_t cx_generation_of(coex_handle handle)
{
    return (uint32_t)(handle >> COEX_GC_HANDLE_BITS) & ((1u << CX_GENERATION_BITS) - 1);
}

/* Is this word of a field or slot something to trace? */
static inline bool cx_is_reference(uint64_t word) { return word != 0 && !coex_is_immediate(word); }

static inline uint64_t *cx_header_of(void *payload) { return (uint64_t *)payload - 1; }
/* Relaxed: handle and type never change, but a thread may freeze the object meanwhile. */
static inline uint64_t cx_header_read(const void *payload) { return cx_a64_load_relaxed(cx_a64_at((const uint64_t *)payload - 1)); }
static inline uint64_t cx_header_handle(uint64_t header) { return header & (CX_MAX_HANDLES - 1); }
static inline uint32_t cx_header_type(uint64_t header)
{
    return (uint32_t)(header >> COEX_GC_TYPE_SHIFT) & (COEX_GC_MAX_TYPES - 1);
}
static inline bool cx_header_has(uint64_t header, unsigned flag) { return (header >> COEX_GC_FLAGS_SHIFT & flag) != 0; }
static inline uint64_t cx_length_of(void *payload) { return ((uint64_t *)payload)[-2]; }

static inline uint64_t cx_round8(uint64_t bytes) { return (bytes + 7) & ~(uint64_t)7; }

#endif
