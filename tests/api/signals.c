/*
 * Signals: the library has no handler and changes no mask of its users; its own thread gets none; interrupted calls do no harm.
 */
#include "support/borders.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

/* ---- handlers and masks ----------------------------------------------------------------------------------------- */

static void take_handlers(struct sigaction *into)
{
    memset(into, 0, NSIG * sizeof *into);
    for (int i = 1; i < NSIG; i++) sigaction(i, NULL, &into[i]);
}

static bool same_mask(const sigset_t *a, const sigset_t *b)
{
    for (int i = 1; i < NSIG; i++) {
        if (sigismember(a, i) != sigismember(b, i)) return false;
    }
    return true;
}

static void use_everything(void)
{
    coex_handle *slots = coex_gc_enter_frame(3);
    for (int i = 0; i < 20; i++) {
        slots[0] = new_leaf();
        slots[1] = coex_gc_weak_new(slots[0]);
        slots[2] = coex_gc_ephemeron_new(slots[0], new_leaf());
        coex_gc_pin(slots[0]);
        coex_gc_stack *stack = coex_gc_stack_create(100);
        coex_gc_stack *home = coex_gc_stack_switch(stack);
        make_garbage(100);
        coex_gc_stack_switch(home);
        coex_gc_stack_destroy(stack);
        coex_gc_unpin(slots[0]);
        coex_gc_collect();
        expect(coex_gc_weak_get(slots[1]) == slots[0]);
        coex_gc_finalize(5);
        coex_gc_enter_native();
        expect(coex_gc_enter_managed());
        coex_gc_leave_managed();
        coex_gc_leave_native();
    }
    coex_gc_leave_frame(slots);
}

static void handlers_unchanged(void)
{
    static struct sigaction before[NSIG], after[NSIG];
    sigset_t mask_before, mask_after;
    sigemptyset(&mask_before);
    sigaddset(&mask_before, SIGUSR1);
    sigaddset(&mask_before, SIGTERM);
    pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
    take_handlers(before);
    way_start();
    use_everything();
    take_handlers(after);
    pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
    ck_assert(same_mask(&mask_before, &mask_after));
    coex_gc_shutdown();
    pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
    ck_assert(same_mask(&mask_before, &mask_after));
    for (int i = 1; i < NSIG; i++) {
        if (before[i].sa_handler != after[i].sa_handler || before[i].sa_flags != after[i].sa_flags)
            ck_abort_msg("signal %d has another handler", i);
    }
}

TEST(no_handler_and_no_mask_of_the_embedder_is_changed) { both_ways(handlers_unchanged); }

/* ---- the GC thread ------------------------------------------------------------------------------------------------ */

/* The line of /proc/<pid>/task/<tid>/status that begins with `key`, as a hexadecimal number. */
static bool status_of(const char *task, const char *key, char *name, uint64_t *value)
{
    char path[300], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
    FILE *file = fopen(path, "r");
    if (file == NULL) return false;
    bool found = false;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "Name:", 5) == 0) sscanf(line, "Name: %31s", name);
        if (strncmp(line, key, strlen(key)) == 0) found = sscanf(line + strlen(key), ": %" SCNx64, value) == 1;
    }
    fclose(file);
    return found;
}

/* Signals that the GC thread may not get: all but those that can't be blocked and the two that the C library keeps for itself. */
static uint64_t all_signals(void)
{
    uint64_t all = UINT64_MAX;
    const int special[] = {SIGKILL, SIGSTOP, 32, 33};
    for (int i = 0; i < 4; i++) all &= ~((uint64_t)1 << (special[i] - 1));
    return all;
}

static void expect_gc_thread_blocks(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int found = 0;
    expect(tasks != NULL);
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char name[32] = "";
        uint64_t blocked = 0;
        if (task->d_name[0] == '.' || !status_of(task->d_name, "SigBlk", name, &blocked) || strcmp(name, "coexgc") != 0) continue;
        found++;
        expect_eq(blocked & all_signals(), all_signals());
    }
    closedir(tasks);
    expect_eq((uint64_t)found, 1);
}

TEST(the_gc_thread_blocks_every_signal)
{
    way_start();
    coex_gc_collect(); /* it has a name by then */
    expect_gc_thread_blocks();
    coex_gc_shutdown();
}

static uint64_t alarms;

static void on_alarm(int signal)
{
    (void)signal;
    __atomic_fetch_add(&alarms, 1, __ATOMIC_RELAXED);
}

/* Signals to the process arrive at a thread of the embedder's, even if it is busy and the GC thread is not. */
TEST(a_signal_to_the_process_is_handled_by_a_thread_of_the_embedders)
{
    struct sigaction action = {.sa_handler = on_alarm};
    way_start();
    sigaction(SIGUSR2, &action, NULL);
    for (int i = 0; i < 100; i++) {
        kill(getpid(), SIGUSR2);
        coex_gc_safepoint();
    }
    ck_assert_uint_ge(alarms, 1);
    coex_gc_shutdown();
}

/* ---- storms ---------------------------------------------------------------------------------------------------------- */

/* A signal to whichever thread runs, every 200 microseconds, with a handler that restarts nothing. */
static void begin_storm(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {{0, 200}, {0, 200}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void end_storm(void)
{
    struct itimerval off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &off, NULL);
    sleep_ms(2);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void live_in_storm(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(way_seed + index);
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(2);
    for (unsigned i = 0; i < scaled(150, 20); i++) {
        slots[0] = new_leaf();
        uint64_t id = node_id(slots[0]);
        coex_gc_mutex_lock(&lock);
        make_garbage(100);
        pthread_mutex_unlock(&lock);
        if (rng_one_in(&rng, 3)) coex_gc_collect();
        if (rng_one_in(&rng, 3)) coex_gc_wait_for_completion();
        COEX_GC_NATIVE(usleep(50));
        slots[1] = coex_gc_alloc(50000, coex_gc_type_of(slots[1]) != 0 ? coex_gc_type_of(slots[1]) : type_bytes());
        node_expect(slots[0], id);
    }
    coex_gc_leave_frame(slots);
}

static void storm(void)
{
    begin_storm();
    for (int i = 0; i < 3; i++) {
        busy_start();
        run_threads_native(3, live_in_storm, NULL);
        use_everything();
        coex_gc_shutdown();
    }
    end_storm();
    printf("%" PRIu64 " signals\n", alarms);
    ck_assert_uint_gt(alarms, 0);
}

TEST_TIMEOUT(interrupted_system_calls_do_no_harm, 100) { both_ways(storm); }

static void fork_in_storm(void)
{
    busy_start();
    begin_storm();
    coex_gc_collect(); /* the GC thread is there: see start_kept */
    for (unsigned i = 0; i < scaled(30, 5); i++) {
        coex_gc_async();
        make_garbage(2000);
        pid_t child = fork();
        expect(child >= 0);
        if (child == 0) {
            coex_gc_collect();
            if (way_threads != 0) expect_gc_thread_blocks();
            make_garbage(2000);
            coex_gc_shutdown();
            _exit(0);
        }
        int status;
        coex_gc_enter_native();
        while (waitpid(child, &status, 0) < 0) {
        }
        coex_gc_leave_native();
        expect_eq((uint64_t)status, 0);
    }
    end_storm();
    coex_gc_shutdown();
}

TEST_LABEL(forks_in_a_storm_of_signals_work_and_the_new_gc_thread_blocks_them, forks)
TEST_TIMEOUT(forks_in_a_storm_of_signals_work_and_the_new_gc_thread_blocks_them, 60) { both_ways(fork_in_storm); }
