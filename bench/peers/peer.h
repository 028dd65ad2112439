/* The allocator of a peer, as the workloads of peer.c use it. Each peer is a separate program,
 * because mimalloc replaces malloc in every program that it is linked to. */
#ifndef BENCH_PEERS_PEER_H
#define BENCH_PEERS_PEER_H

#if defined(PEER_GLIBC)

#include <stdlib.h>
#define PEER_NAME "glibc malloc"
static inline void peer_begin(void) {}
static inline void peer_thread_begin(void) {}
static inline void peer_thread_end(void) {}
static inline void *peer_alloc(size_t size) { return malloc(size); }
static inline void peer_free(void *object) { free(object); }

#elif defined(PEER_MIMALLOC)

#include <mimalloc.h>
#define PEER_NAME "mimalloc"
static inline void peer_begin(void) {}
static inline void peer_thread_begin(void) {}
static inline void peer_thread_end(void) {}
static inline void *peer_alloc(size_t size) { return mi_malloc(size); }
static inline void peer_free(void *object) { mi_free(object); }

#elif defined(PEER_BDWGC)

/* Conservative and stop-the-world: nothing to free, nothing to root. Threads that we start ourselves say so. */
#define GC_THREADS
#define GC_NO_THREAD_REDIRECTS
#include <gc.h>
#define PEER_NAME "bdwgc"
static inline void peer_begin(void)
{
    GC_INIT();
    GC_allow_register_threads();
}
static inline void peer_thread_begin(void)
{
    struct GC_stack_base base;
    GC_get_stack_base(&base);
    GC_register_my_thread(&base);
}
static inline void peer_thread_end(void) { GC_unregister_my_thread(); }
static inline void *peer_alloc(size_t size) { return GC_MALLOC(size); }
static inline void peer_free(void *object) { (void)object; }

#else
#error "which peer?"
#endif

#endif
