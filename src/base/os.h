/* The operating system: memory, clocks, threads. One file per platform implements it (os_linux.c); nothing above src/base makes
 * a system call. Every function that can fail says so, so that a fault injector can stand in for it. */
#ifndef CX_BASE_OS_H
#define CX_BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A range of addresses, reserved once; a prefix of it is usable. Nothing in it ever moves. */
typedef struct cx_range {
    char *base;
    size_t reserved;
    size_t committed;
    bool huge; /* set before the first commit: ask for large pages, for tables that are read all over (fewer TLB misses) */
} cx_range;

size_t cx_os_page_size(void);
uint64_t cx_os_physical_memory(void);

/* Reserve `bytes` of address space (rounded up to pages), nothing usable yet. Where address space is limited (RLIMIT_AS) it is at most the
 * `part`th part of it, so that all who ask get some; a refused reservation is halved. Never less than `least`: false if that is refused. */
bool cx_range_reserve_part(cx_range *range, size_t bytes, size_t least, unsigned part);
/* The same for what is small beside the heap. */
static inline bool cx_range_reserve(cx_range *range, size_t bytes, size_t least)
{
    return cx_range_reserve_part(range, bytes, least, 64);
}
/* Make the first `bytes` usable (rounded up to pages), zeroed. False: the system gives no memory, or it is past the reservation. */
bool cx_range_commit(cx_range *range, size_t bytes);
/* What is not usable yet reads as zero instead of faulting. False: the system would not. */
bool cx_range_make_readable(cx_range *range);
void cx_range_release(cx_range *range);

/* Give the pages that lie wholly inside back; they read as zero when touched again. Returns the bytes given back. */
size_t cx_os_discard(void *from, size_t bytes);

/* Small zeroed pieces for tables of the library itself; NULL when there is none. */
void *cx_os_allocate(size_t bytes);
void cx_os_free(void *piece);

uint64_t cx_os_now_ns(void);        /* monotonic */
uint64_t cx_os_thread_cpu_ns(void); /* time on the CPU of this thread */
void cx_os_sleep_ns(uint64_t nanoseconds);
void cx_os_yield(void); /* lets another thread have the core, if one wants it */
uint64_t cx_os_random(void);

/* Threads of the library itself: all signals blocked. */
typedef struct cx_os_thread {
    uint64_t id;
} cx_os_thread;
bool cx_os_thread_start(cx_os_thread *thread, const char *name, void (*body)(void *), void *argument);
void cx_os_thread_join(cx_os_thread *thread);
uint64_t cx_os_thread_id(void); /* of the calling thread, as tools show it */

/* Run `hook(argument)` when the calling thread exits; NULL takes it back. One hook a thread. False: no room. */
bool cx_os_at_thread_exit(void (*hook)(void *), void *argument);

/* Around calls that are cancellation points, made with a lock held. */
int cx_os_hold_cancellation(void);
void cx_os_allow_cancellation(int before);

/* Hooks around fork, once and for all; false: no room. */
bool cx_os_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

const char *cx_os_environment(const char *name); /* NULL if it is not set */

#endif
