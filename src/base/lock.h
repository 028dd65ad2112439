/* Mutexes with ranks, and condition variables.
 *
 * A rank is a number from 1 to 31. A thread takes mutexes in rising order of rank only, and `checked`
 * builds report a thread that does not. The users of this module name their ranks (gc/lock_rank.h). */
#ifndef CX_BASE_LOCK_H
#define CX_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A mutex with static storage may be initialised by CX_MUTEX_INITIALIZER(rank) instead. */
#define CX_MUTEX_INITIALIZER(number) {.os = PTHREAD_MUTEX_INITIALIZER, .rank = (number)}

typedef struct cx_mutex {
    pthread_mutex_t os;
    unsigned rank;
} cx_mutex;

typedef struct cx_cond {
    pthread_cond_t os;
} cx_cond;

void cx_mutex_init(cx_mutex *mutex, unsigned rank);
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
