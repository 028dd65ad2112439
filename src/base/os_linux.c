/* See os.h. Linux. */
#define _GNU_SOURCE
#include "base/os.h"

#include "base/atomic.h"

#include <errno.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

size_t cx_os_page_size(void)
{
    static cx_a64 cached; /* every thread computes the same value */
    uint64_t size = cx_a64_load_relaxed(&cached);
    if (size == 0) {
        size = (uint64_t)sysconf(_SC_PAGESIZE);
        cx_a64_store_relaxed(&cached, size);
    }
    return (size_t)size;
}

uint64_t cx_os_physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    return pages > 0 ? (uint64_t)pages * cx_os_page_size() : (uint64_t)1 << 30;
}

static size_t os_round_to_pages(size_t bytes) { return (bytes + cx_os_page_size() - 1) & ~(cx_os_page_size() - 1); }

bool cx_range_reserve_part(cx_range *range, size_t bytes, size_t least, unsigned part)
{
    struct rlimit space;
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY && bytes > space.rlim_cur / part)
        bytes = space.rlim_cur / part;
    least = os_round_to_pages(least);
    bytes = os_round_to_pages(bytes > least ? bytes : least);
    for (;;) {
        void *base = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base != MAP_FAILED) {
            madvise(base, bytes, MADV_DONTDUMP); /* what is never used is not in a core file */
            *range = (cx_range){.base = base, .reserved = bytes, .committed = 0};
            return true;
        }
        if (bytes <= least) return false;
        bytes = os_round_to_pages(bytes / 2 > least ? bytes / 2 : least);
    }
}

bool cx_range_commit(cx_range *range, size_t bytes)
{
    bytes = os_round_to_pages(bytes);
    if (bytes <= range->committed) return true;
    if (bytes > range->reserved) return false;
    if (mprotect(range->base + range->committed, bytes - range->committed, PROT_READ | PROT_WRITE) != 0) return false;
    madvise(range->base + range->committed, bytes - range->committed, MADV_DODUMP);
    if (range->huge)
        madvise(range->base + range->committed, bytes - range->committed, MADV_HUGEPAGE); /* a wish: no matter if it is refused */
    range->committed = bytes;
    return true;
}

bool cx_range_make_readable(cx_range *range)
{
    return mprotect(range->base + range->committed, range->reserved - range->committed, PROT_READ) == 0;
}

void cx_range_release(cx_range *range)
{
    if (range->base != NULL) munmap(range->base, range->reserved);
    *range = (cx_range){0};
}

size_t cx_os_discard(void *from, size_t bytes)
{
    uintptr_t page = cx_os_page_size();
    uintptr_t start = ((uintptr_t)from + page - 1) & ~(page - 1);
    uintptr_t stop = ((uintptr_t)from + bytes) & ~(page - 1);
    if (start >= stop || madvise((void *)start, stop - start, MADV_DONTNEED) != 0) return 0;
    return stop - start;
}

void *cx_os_allocate(size_t bytes) { return calloc(1, bytes); }
void cx_os_free(void *piece) { free(piece); }
void *cx_os_resize(void *piece, size_t bytes) { return realloc(piece, bytes); }

static uint64_t os_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t cx_os_now_ns(void) { return os_clock_ns(CLOCK_MONOTONIC); }
uint64_t cx_os_thread_cpu_ns(void) { return os_clock_ns(CLOCK_THREAD_CPUTIME_ID); }
uint64_t cx_os_process_cpu_ns(void) { return os_clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

void cx_os_sleep_ns(uint64_t nanoseconds)
{
    struct timespec left = {.tv_sec = (time_t)(nanoseconds / 1000000000u), .tv_nsec = (long)(nanoseconds % 1000000000u)};
    int before; /* a thread that is cancelled in here would go in the middle of a protocol */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
    }
    pthread_setcancelstate(before, NULL);
}

void cx_os_yield(void) { sched_yield(); }

/* A signal may cut a call short, or end it before there is anything. */
bool cx_os_random(uint64_t *numbers, unsigned count)
{
    char *to = (char *)numbers;
    for (size_t left = count * sizeof *numbers; left != 0;) {
        ssize_t got = getrandom(to, left, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        left -= (size_t)got;
    }
    return true;
}

uint64_t cx_os_arbitrary(void)
{
    uint64_t value = 0;
    if (getrandom(&value, sizeof value, GRND_NONBLOCK) == (ssize_t)sizeof value) return value;
    return cx_os_now_ns() ^ cx_os_thread_id() << 32;
}

const char *cx_os_reason(void) { return strerror(errno); }

unsigned cx_os_cores(void)
{
    static cx_a32 cached; /* every thread computes the same value */
    uint32_t cores = cx_a32_load_relaxed(&cached);
    if (cores == 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        int counted = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
        cores = counted > 0 ? (uint32_t)counted : 2; /* more cores than a set has room for */
        cx_a32_store_relaxed(&cached, cores);
    }
    return cores;
}

/* FUTEX_WAIT_BITSET takes a point in time, and that of the monotonic clock. */
bool cx_os_wait_on(const cx_a32 *word, uint32_t expected, uint64_t until)
{
    struct timespec time = {.tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u)};
    long result = syscall(SYS_futex, &word->v, FUTEX_WAIT_BITSET_PRIVATE, expected, until == UINT64_MAX ? NULL : &time, NULL,
                          FUTEX_BITSET_MATCH_ANY);
    return result == 0 || errno != ETIMEDOUT;
}

void cx_os_wake_one(const cx_a32 *word) { syscall(SYS_futex, &word->v, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }

struct os_start {
    void (*body)(void *);
    void *argument;
    char name[16];
};

static void *os_thread_main(void *argument)
{
    struct os_start start = *(struct os_start *)argument;
    free(argument);
    pthread_setname_np(pthread_self(), start.name);
    start.body(start.argument);
    return NULL;
}

bool cx_os_thread_start(cx_os_thread *thread, const char *name, void (*body)(void *), void *argument)
{
    struct os_start *start = malloc(sizeof *start);
    if (start == NULL) return false;
    *start = (struct os_start){.body = body, .argument = argument};
    strncpy(start->name, name, sizeof start->name - 1);

    /* The new thread takes over the mask of its creator: block everything for the time of the call. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t id;
    int failed = pthread_create(&id, NULL, os_thread_main, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        free(start);
        return false;
    }
    thread->id = (uint64_t)id;
    return true;
}

void cx_os_thread_join(cx_os_thread *thread) { pthread_join((pthread_t)thread->id, NULL); }

uint64_t cx_os_thread_id(void) { return (uint64_t)syscall(SYS_gettid); }
uint64_t cx_os_process_id(void) { return (uint64_t)getpid(); }

bool cx_os_thread_name(uint64_t id, char *name, size_t room)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%llu/comm", (unsigned long long)id);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t length = read(file, name, room - 1);
    close(file);
    if (length <= 0) return false;
    name[length - (name[length - 1] == '\n')] = '\0';
    return true;
}

/* The hook of a thread lives in its own storage: the key's value is only what makes the destructor run. */
struct os_exit_hook {
    void (*hook)(void *);
    void *argument;
};
static __thread struct os_exit_hook os_exit_hook;
static pthread_key_t os_exit_key;
static pthread_once_t os_exit_once = PTHREAD_ONCE_INIT;
static bool os_exit_usable;

static void os_run_exit_hook(void *value)
{
    (void)value;
    struct os_exit_hook run = os_exit_hook;
    os_exit_hook = (struct os_exit_hook){0};
    if (run.hook != NULL) run.hook(run.argument);
}

static void os_make_exit_key(void) { os_exit_usable = pthread_key_create(&os_exit_key, os_run_exit_hook) == 0; }

bool cx_os_at_thread_exit(void (*hook)(void *), void *argument)
{
    pthread_once(&os_exit_once, os_make_exit_key);
    if (!os_exit_usable || pthread_setspecific(os_exit_key, hook != NULL ? &os_exit_hook : NULL) != 0) return false;
    os_exit_hook = (struct os_exit_hook){hook, argument};
    return true;
}

int cx_os_hold_cancellation(void)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

void cx_os_allow_cancellation(int before) { pthread_setcancelstate(before, NULL); }

bool cx_os_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return pthread_atfork(prepare, parent, child) == 0;
}

bool cx_os_at_exit(void (*hook)(void)) { return atexit(hook) == 0; }

void cx_os_symbol(const void *address, char *text, size_t room)
{
    Dl_info found;
    if (dladdr(address, &found) == 0 || found.dli_fname == NULL) {
        snprintf(text, room, "%p", address);
        return;
    }
    const char *slash = strrchr(found.dli_fname, '/'), *file = slash != NULL ? slash + 1 : found.dli_fname;
    const char *name = found.dli_sname != NULL ? found.dli_sname : "";
    const void *from = found.dli_sname != NULL ? found.dli_saddr : found.dli_fbase; /* without a name: addr2line takes the offset */
    snprintf(text, room, "%s+%#llx (%s)", name, (unsigned long long)((uintptr_t)address - (uintptr_t)from), file);
}

unsigned cx_os_backtrace(void **addresses, unsigned most)
{
    int count = backtrace(addresses, (int)most);
    return count > 0 ? (unsigned)count : 0;
}

bool cx_os_code_maps(void (*tell)(void *context, uint64_t start, uint64_t end, uint64_t offset, const char *path), void *context)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4096 + 128], access[8], path[4096];
    unsigned long long start, end, offset;
    if (maps == NULL) return false;
    while (fgets(line, sizeof line, maps) != NULL) {
        int fields = sscanf(line, "%llx-%llx %7s %llx %*s %*s %4095[^\n]", &start, &end, access, &offset, path);
        if (fields == 5 && strchr(access, 'x') != NULL) tell(context, start, end, offset, path);
    }
    fclose(maps);
    return true;
}

/* -------------------------------------------------------------------- files that are written */

enum { OS_MOST_LINKS = 40, /* as many as Linux follows */ OS_MOST_BESIDE = 100 };

/* A link below /proc names an open file, not a path. */
static bool os_is_in_proc(const char *path)
{
    struct statfs system;
    int file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return false;
    bool found = fstatfs(file, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
    close(file);
    return found;
}

/* The length of the folder of `path`, with the slash; 0: the working directory. */
static size_t os_folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* Replaces the name of a symbolic link by what it refers to. Returns 0 or an errno. */
static int os_follow_link(char *path, size_t room)
{
    char link[PATH_MAX];
    ssize_t length = readlink(path, link, sizeof link);
    if (length < 0) return errno;
    size_t folder = link[0] == '/' ? 0 : os_folder_length(path);
    if (folder + (size_t)length >= room) return ENAMETOOLONG;
    memcpy(path + folder, link, (size_t)length);
    path[folder + (size_t)length] = '\0';
    return 0;
}

int cx_os_find_target(const char *path, char *target, size_t room, bool *plain)
{
    struct stat there;
    size_t length = strlen(path);
    if (length >= room) return ENAMETOOLONG;
    memcpy(target, path, length + 1);
    *plain = false;
    for (int links = 0;; links++) {
        if (lstat(target, &there) != 0) {
            *plain = errno == ENOENT; /* in a folder that exists: who creates it will see */
            return *plain ? 0 : errno;
        }
        if (!S_ISLNK(there.st_mode) || os_is_in_proc(target)) break;
        int failed = links < OS_MOST_LINKS ? os_follow_link(target, room) : ELOOP;
        if (failed != 0) return failed;
    }
    *plain = S_ISREG(there.st_mode);
    return *plain && faccessat(AT_FDCWD, target, W_OK, AT_EACCESS) != 0 ? errno : 0;
}

int cx_os_may_write(const char *target, bool plain)
{
    struct stat there;
    char folder[PATH_MAX] = "./";
    size_t length = os_folder_length(target);
    if (length >= sizeof folder) return ENAMETOOLONG;
    if (length != 0) memcpy(folder, target, length);
    if (plain) return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
    if (stat(target, &there) == 0 && S_ISDIR(there.st_mode)) return EISDIR;
    return faccessat(AT_FDCWD, target, W_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/* A group that can't be kept gets no more than everybody. */
static void os_take_over_mode(int file, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777, others = mode & 07;
    if (fchown(file, old->st_uid, old->st_gid) != 0 && fchown(file, (uid_t)-1, old->st_gid) != 0)
        mode = (mode & 0700) | (mode & others << 3) | others;
    if (fchmod(file, mode) != 0) {
        /* a file system without modes */
    }
}

int cx_os_create_beside(const char *target, char *name, size_t room)
{
    struct stat old;
    bool exists = stat(target, &old) == 0;
    int file = -1, folder = (int)os_folder_length(target);
    for (unsigned i = 0; i < OS_MOST_BESIDE && file < 0; i++) {
        int length = snprintf(name, room, "%.*scoexgc-%ld-%u.tmp", folder, target, (long)getpid(), i);
        if (length < 0 || (size_t)length >= room) {
            errno = ENAMETOOLONG;
            return -1;
        }
        file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? 0600 : 0666);
        if (file < 0 && errno != EEXIST) return -1;
    }
    if (file >= 0 && exists) os_take_over_mode(file, &old);
    return file;
}

FILE *cx_os_stream(int descriptor)
{
    FILE *stream = fdopen(descriptor, "w");
    if (stream == NULL) close(descriptor);
    return stream;
}

/* With this mask and name the object is a constant of the C library: no memory, no lock. */
void *cx_os_enter_c_locale(void)
{
    locale_t neutral = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return neutral != (locale_t)0 ? uselocale(neutral) : (locale_t)0;
}

void cx_os_leave_locale(void *before)
{
    if (before != (locale_t)0) uselocale(before);
}

const char *cx_os_environment(const char *name) { return getenv(name); }
