/* See lock.h. Ranks are tracked per thread, as a bit per rank held. */
#define _GNU_SOURCE
#include "base/lock.h"

#include "base/report.h"

#include <errno.h>
#include <time.h>

static __thread uint32_t lock_held;

static void lock_note(const cx_mutex *mutex)
{
    if (!CX_CHECKED) return;
    if (lock_held >> mutex->rank != 0)
        cx_fatal("a lock of rank %d must not be taken while the ranks %#x are held",
                 (int)mutex->rank, (unsigned)lock_held);
    lock_held |= (uint32_t)1 << mutex->rank;
}

static void lock_forget(const cx_mutex *mutex)
{
    if (CX_CHECKED) lock_held &= ~((uint32_t)1 << mutex->rank);
}

/* Adaptive: what these locks guard takes a microsecond at most, less than going to sleep and being woken. */
void cx_mutex_init(cx_mutex *mutex, unsigned rank)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&mutex->os, &attributes);
    pthread_mutexattr_destroy(&attributes);
    mutex->rank = rank;
}

void cx_mutex_fini(cx_mutex *mutex) { pthread_mutex_destroy(&mutex->os); }

void cx_mutex_lock(cx_mutex *mutex)
{
    lock_note(mutex);
    pthread_mutex_lock(&mutex->os);
}

bool cx_mutex_try_lock(cx_mutex *mutex)
{
    if (pthread_mutex_trylock(&mutex->os) != 0) return false;
    lock_note(mutex);
    return true;
}

void cx_mutex_unlock(cx_mutex *mutex)
{
    lock_forget(mutex);
    pthread_mutex_unlock(&mutex->os);
}

void cx_mutex_assert_held(const cx_mutex *mutex)
{
    if (CX_CHECKED && (lock_held >> mutex->rank & 1) == 0)
        cx_fatal("the lock of rank %d must be held here", (int)mutex->rank);
}

/* The monotonic clock: a change of the wall clock must not stretch a wait. */
void cx_cond_init(cx_cond *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&cond->os, &attributes);
    pthread_condattr_destroy(&attributes);
}

void cx_cond_fini(cx_cond *cond) { pthread_cond_destroy(&cond->os); }

/* Waiting is a cancellation point, and a thread that is cancelled in it would go with the library's lock: not in here. */
void cx_cond_wait(cx_cond *cond, cx_mutex *mutex)
{
    int before;
    lock_forget(mutex);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_cond_wait(&cond->os, &mutex->os);
    pthread_setcancelstate(before, NULL);
    lock_note(mutex);
}

bool cx_cond_wait_for(cx_cond *cond, cx_mutex *mutex, uint64_t nanoseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(nanoseconds / 1000000000u);
    until.tv_nsec += (long)(nanoseconds % 1000000000u);
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    int before;
    lock_forget(mutex);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    int result = pthread_cond_timedwait(&cond->os, &mutex->os, &until);
    pthread_setcancelstate(before, NULL);
    lock_note(mutex);
    return result != ETIMEDOUT;
}

void cx_cond_signal(cx_cond *cond) { pthread_cond_signal(&cond->os); }
void cx_cond_broadcast(cx_cond *cond) { pthread_cond_broadcast(&cond->os); }

bool cx_foreign_mutex_try_lock(pthread_mutex_t *mutex) { return pthread_mutex_trylock(mutex) == 0; }
void cx_foreign_mutex_lock(pthread_mutex_t *mutex) { pthread_mutex_lock(mutex); }
