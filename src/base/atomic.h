/* Atomics with the memory order in the name.
 *
 * Shared words have types of their own (cx_a32, cx_a64, cx_aptr), so that no plain access slips in. Everything above src/base uses
 * these functions and nothing else: what replaces them (a deterministic scheduler, another architecture) replaces this file.
 *
 * There is no fence. Where a store must come before a later load (Dekker's pattern), both sides use the _seq operations, or one
 * side an exchange: the orders that the C11 model and ThreadSanitizer both understand. */
#ifndef CX_BASE_ATOMIC_H
#define CX_BASE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cx_a32 {
    uint32_t v;
} cx_a32;
typedef struct cx_a64 {
    uint64_t v;
} cx_a64;
typedef struct cx_aptr {
    void *v;
} cx_aptr;

#define CX_ATOMIC_COMMON(name, type)                                                                                               \
    static inline type name##_load_relaxed(const name *a) { return __atomic_load_n(&a->v, __ATOMIC_RELAXED); }                     \
    static inline type name##_load_acquire(const name *a) { return __atomic_load_n(&a->v, __ATOMIC_ACQUIRE); }                     \
    static inline type name##_load_seq(const name *a) { return __atomic_load_n(&a->v, __ATOMIC_SEQ_CST); }                         \
    static inline void name##_store_relaxed(name *a, type v) { __atomic_store_n(&a->v, v, __ATOMIC_RELAXED); }                     \
    static inline void name##_store_release(name *a, type v) { __atomic_store_n(&a->v, v, __ATOMIC_RELEASE); }                     \
    static inline void name##_store_seq(name *a, type v) { __atomic_store_n(&a->v, v, __ATOMIC_SEQ_CST); }                         \
    static inline type name##_exchange_acq_rel(name *a, type v) { return __atomic_exchange_n(&a->v, v, __ATOMIC_ACQ_REL); }        \
    static inline type name##_exchange_seq(name *a, type v) { return __atomic_exchange_n(&a->v, v, __ATOMIC_SEQ_CST); }            \
    static inline bool name##_cas_acq_rel(name *a, type *expected, type desired)                                                   \
    {                                                                                                                              \
        return __atomic_compare_exchange_n(&a->v, expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);                   \
    }                                                                                                                              \
    static inline bool name##_cas_seq(name *a, type *expected, type desired)                                                       \
    {                                                                                                                              \
        return __atomic_compare_exchange_n(&a->v, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                   \
    }

/* Each returns the value before. */
#define CX_ATOMIC_ARITHMETIC(name, type)                                                                                           \
    static inline type name##_add_relaxed(name *a, type v) { return __atomic_fetch_add(&a->v, v, __ATOMIC_RELAXED); }              \
    static inline type name##_add_acq_rel(name *a, type v) { return __atomic_fetch_add(&a->v, v, __ATOMIC_ACQ_REL); }              \
    static inline type name##_sub_relaxed(name *a, type v) { return __atomic_fetch_sub(&a->v, v, __ATOMIC_RELAXED); }              \
    static inline type name##_or_relaxed(name *a, type v) { return __atomic_fetch_or(&a->v, v, __ATOMIC_RELAXED); }                \
    static inline type name##_or_release(name *a, type v) { return __atomic_fetch_or(&a->v, v, __ATOMIC_RELEASE); }                \
    static inline type name##_or_seq(name *a, type v) { return __atomic_fetch_or(&a->v, v, __ATOMIC_SEQ_CST); }                    \
    static inline type name##_and_relaxed(name *a, type v) { return __atomic_fetch_and(&a->v, v, __ATOMIC_RELAXED); }              \
    static inline type name##_and_release(name *a, type v) { return __atomic_fetch_and(&a->v, v, __ATOMIC_RELEASE); }              \
    static inline type name##_and_acq_rel(name *a, type v) { return __atomic_fetch_and(&a->v, v, __ATOMIC_ACQ_REL); }

CX_ATOMIC_COMMON(cx_a32, uint32_t)
CX_ATOMIC_COMMON(cx_a64, uint64_t)
CX_ATOMIC_COMMON(cx_aptr, void *)
CX_ATOMIC_ARITHMETIC(cx_a32, uint32_t)
CX_ATOMIC_ARITHMETIC(cx_a64, uint64_t)

/* A word that has no type of its own (a field of an object, a slot, a local) as a shared word. */
static inline cx_a64 *cx_a64_at(const void *word) { return (cx_a64 *)(uintptr_t)word; }
static inline cx_aptr *cx_aptr_at(const void *word) { return (cx_aptr *)(uintptr_t)word; }

/* For the body of a short spin: tell the core that this is one. */
static inline void cx_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
