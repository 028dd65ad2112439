/* Helpers for the tests of fork: a runtime with a graph that must be the same in parent and
 * child, and children that the parent waits for.
 *
 * A child runs a function and exits with 0. Any other exit status, and a child that hangs, fails
 * the test. */
#ifndef COEX_TESTS_SUPPORT_FORKS_H
#define COEX_TESTS_SUPPORT_FORKS_H

#include "support/borders.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

enum { KEPT = 64 };

static coex_handle *kept; /* slots of the main thread with a graph that the child inherits */
static uint64_t kept_id[KEPT];
static coex_handle shared;
static uint32_t refs;

static inline void wait_for(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0) expect(errno == EINTR);
    if (WIFSIGNALED(status))
        test_fail(__FILE__, __LINE__, "the child was ended by signal %d%s", WTERMSIG(status),
                  WTERMSIG(status) == SIGALRM ? ": it hung" : "");
    expect_eq((uint64_t)WEXITSTATUS(status), 0);
}

static inline pid_t fork_and(void (*body)(void))
{
    fflush(NULL);
    pid_t child = fork();
    expect(child >= 0);
    if (child == 0) {
        alarm(scaled(30, 300));
        body();
        _exit(0);
    }
    return child;
}

static inline void fork_and_wait(void (*body)(void))
{
    pid_t child = fork_and(body);
    COEX_GC_NATIVE(wait_for(child));
}

static inline void start_kept(const coex_gc_config *config)
{
    start_with(config);
    nodes_init();
    refs = type_refs();
    shared = 0;
    expect(coex_gc_add_global_root(&shared) == COEX_GC_OK);
    kept = coex_gc_enter_frame(KEPT);
    for (int i = 0; i < KEPT; i++) {
        coex_handle children[] = {kept[(i * 7) % KEPT], kept[(i * 13) % KEPT]};
        kept[i] = node_make(node_fresh_id(i % 2 ? NODE_LINK : NODE_LEAF), children, i % 2 ? 2 : 0, 0);
        kept_id[i] = node_id(kept[i]);
    }
    /* A sanitizer allocates when a thread starts, and has no fork hooks. The collection makes
     * sure that the GC thread has started and holds no lock of the sanitizer at a fork. */
    if (test_is_sanitized()) coex_gc_collect();
}

static inline void stop_kept(void)
{
    coex_gc_leave_frame(kept);
    coex_gc_remove_global_root(&shared);
    coex_gc_shutdown();
}

static inline void expect_kept(void)
{
    for (int i = 0; i < KEPT; i++) node_expect(kept[i], kept_id[i]);
}

/* The minimum of each child: checks the objects that it has inherited, and collects. */
static inline void child_looks(void)
{
    expect_kept();
    expect_eq(stats_now().registered_thread_count, 1);
    coex_gc_collect();
    expect_kept();
    make_garbage(unless_hostile(3000, 100));
    coex_gc_collect();
    expect_kept();
}

#endif
