/* Mutexes with ranks, and condition variables.
 *
 * A thread takes mutexes in rising rank only; `checked` builds report one that does not. Ranks are listed here once, lowest
 * (taken first) to highest. */
#ifndef CX_BASE_LOCK_H
#define CX_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum cx_rank {
    CX_RANK_LIFE = 1, /* init, shutdown */
    CX_RANK_ROLE,     /* the collector's role: who runs slices of the cycle */
    CX_RANK_REQUEST,  /* requests for cycles, and their completion */
    CX_RANK_REGISTRY, /* threads that come and go, and the publication of requests */
    CX_RANK_STACKS,   /* records and memory of shadow stacks */
    CX_RANK_ROOTS,    /* global roots */
    CX_RANK_WEAK,     /* weak references, ephemerons */
    CX_RANK_FINALIZE, /* finalizable objects, and their queue */
    CX_RANK_TYPES,    /* type registration */
    CX_RANK_UNBARRIERED,  /* debugging: notes of references */
    CX_RANK_HANDLES,  /* claiming words, growing the table */
    CX_RANK_LARGE,    /* large-object runs */
    CX_RANK_HEAP,     /* block lists, growing the heap */
    CX_RANK_MARK_QUEUE,     /* grey chunks */
    CX_RANK_TRACE,    /* starting, stopping and writing an event trace */
    CX_RANK_PROFILE,  /* sampled allocations */
    CX_RANK_TIMES,    /* the times of the last cycle */
    CX_RANK_OUTPUT    /* the stream that traces go to */
};

typedef struct cx_mutex {
    pthread_mutex_t os;
    enum cx_rank rank;
} cx_mutex;

typedef struct cx_cond {
    pthread_cond_t os;
} cx_cond;

void cx_mutex_init(cx_mutex *mutex, enum cx_rank rank);
void cx_mutex_fini(cx_mutex *mutex);
void cx_mutex_lock(cx_mutex *mutex);
bool cx_mutex_try_lock(cx_mutex *mutex);
void cx_mutex_unlock(cx_mutex *mutex);
/* At the top of a function that needs it; reports in `checked` builds. */
void cx_mutex_assert_held(const cx_mutex *mutex);

void cx_cond_init(cx_cond *cond);
void cx_cond_fini(cx_cond *cond);
void cx_cond_wait(cx_cond *cond, cx_mutex *mutex);
/* False: the time ran out. */
bool cx_cond_wait_for(cx_cond *cond, cx_mutex *mutex, uint64_t nanoseconds);
void cx_cond_signal(cx_cond *cond);
void cx_cond_broadcast(cx_cond *cond);

/* A mutex of the embedder's: no rank. */
bool cx_foreign_mutex_try_lock(pthread_mutex_t *mutex);
void cx_foreign_mutex_lock(pthread_mutex_t *mutex);

#endif
