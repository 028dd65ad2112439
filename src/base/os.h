/* The operating system: memory, clocks, threads. One file per platform implements it (os_linux.c); nothing above src/base makes
 * a system call. Every function that can fail says so, so that a fault injector can stand in for it. */
#ifndef CX_BASE_OS_H
#define CX_BASE_OS_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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
/* The same piece (NULL: a new one) with more room, perhaps elsewhere; what is new is not zeroed. NULL: there is none, the piece is as it was. */
void *cx_os_resize(void *piece, size_t bytes);

uint64_t cx_os_now_ns(void);         /* monotonic */
uint64_t cx_os_thread_cpu_ns(void);  /* time on the CPU of this thread */
uint64_t cx_os_process_cpu_ns(void); /* and of all threads */
void cx_os_sleep_ns(uint64_t nanoseconds);
void cx_os_yield(void); /* lets another thread have the core, if one wants it */
/* Fills `numbers` with random numbers that nobody outside can guess. It may wait until the system has some, which happens only early
 * after boot. Returns false if the system refuses; cx_os_reason says why. */
bool cx_os_random(uint64_t *numbers, unsigned count);
/* Returns a number that differs from call to call, for choices that need not be secret. Never waits, never fails. */
uint64_t cx_os_arbitrary(void);
/* Returns the system's text for why the last call of this thread failed, until the next one. */
const char *cx_os_reason(void);
unsigned cx_os_cores(void); /* that this process may use, as it was when it was first asked */

/* Sleeps while *word is `expected`, until somebody wakes it or the monotonic clock reads `until` (UINT64_MAX: never). False: that time is
 * reached. True may come for no reason: look again. No cancellation point. */
bool cx_os_wait_on(const cx_a32 *word, uint32_t expected, uint64_t until);
/* Wakes one thread that waits on the word. The word may be gone by now: then nobody waits on it, and a wake is nothing. */
void cx_os_wake_one(const cx_a32 *word);

/* Threads of the library itself: all signals blocked. */
typedef struct cx_os_thread {
    uint64_t id;
} cx_os_thread;
bool cx_os_thread_start(cx_os_thread *thread, const char *name, void (*body)(void *), void *argument);
void cx_os_thread_join(cx_os_thread *thread);
uint64_t cx_os_thread_id(void); /* of the calling thread, as tools show it */
uint64_t cx_os_process_id(void);
/* The name that a thread of this process has now; false: there is no such thread any more. */
bool cx_os_thread_name(uint64_t id, char *name, size_t room);

/* Run `hook(argument)` when the calling thread exits; NULL takes it back. One hook a thread. False: no room. */
bool cx_os_at_thread_exit(void (*hook)(void *), void *argument);

/* Around calls that are cancellation points, made with a lock held. */
int cx_os_hold_cancellation(void);
void cx_os_allow_cancellation(int before);

/* Hooks around fork, once and for all; false: no room. */
bool cx_os_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

/* At the end of the process, when exit runs; false: no room. */
bool cx_os_at_exit(void (*hook)(void));

/* What an address in code is called: function+offset (file), as far as the dynamic linker knows. Writes a line, never fails. */
void cx_os_symbol(const void *address, char *text, size_t room);

/* The return addresses of the callers, innermost first; returns how many. The first call may allocate. */
unsigned cx_os_backtrace(void **addresses, unsigned most);

/* Tells of each range of code of this process: where it lies, and in which file at which offset. False: the system does not say. */
bool cx_os_code_maps(void (*tell)(void *context, uint64_t start, uint64_t end, uint64_t offset, const char *path), void *context);

/* Finds the file that a new version of `path` should take the place of, and writes its name to `target`: `path` behind all symbolic
 * links. `*plain` says whether it is a regular file or does not exist yet. Otherwise (a pipe, a device, a folder, a link of /proc such as
 * /dev/stdout) it can only be written in place. Returns 0, or an errno: a name is too long, a link is bad, the file may not be written. */
int cx_os_find_target(const char *path, char *target, size_t room, bool *plain);
/* Returns 0 if a file can be created beside `target` (plain) or `target` can be opened for writing (not plain), else an errno. Creates and
 * opens nothing. */
int cx_os_may_write(const char *target, bool plain);
/* Creates a file in the folder of `target`, writes its name to `name`, and returns its descriptor, or -1 with errno set. If `target` exists,
 * the new file gets its mode, and its owner and group as far as the system permits. */
int cx_os_create_beside(const char *target, char *name, size_t room);
/* Opens a stream on a descriptor, for writing; it closes the descriptor. NULL, with errno set and the descriptor closed: there is no memory. */
FILE *cx_os_stream(int descriptor);

/* Makes the calling thread format numbers as the C locale does, whatever the process has set. Returns what cx_os_leave_locale takes to undo it.
 * Other threads and the locale of the process are not affected. */
void *cx_os_enter_c_locale(void);
void cx_os_leave_locale(void *before);

const char *cx_os_environment(const char *name); /* NULL if it is not set */

#endif
