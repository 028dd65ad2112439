/*
 * Asking for cycles and waiting for them, from everywhere.
 */
#include "support/nodes.h"
#include "support/objects.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- a thread that is late -------------------------------------------------------------------------------- */

static bool late_go, late_ready;
static uint64_t late_tid;
static pthread_t late;

/* Registered, and at no safepoint until it is told: no cycle can get past it. */
static void *late_main(void *unused)
{
    coex_gc_register_thread();
    late_tid = (uint64_t)gettid();
    __atomic_store_n(&late_ready, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&late_go, __ATOMIC_ACQUIRE)) usleep(200);
    coex_gc_safepoint();
    coex_gc_unregister_thread();
    return unused;
}

static void start_late(void)
{
    late_go = late_ready = false;
    expect(pthread_create(&late, NULL, late_main, NULL) == 0);
    while (!__atomic_load_n(&late_ready, __ATOMIC_ACQUIRE)) usleep(200);
}

/* In native mode, like anything that blocks. */
static void end_late(void)
{
    __atomic_store_n(&late_go, true, __ATOMIC_RELEASE);
    coex_gc_enter_native();
    pthread_join(late, NULL);
    coex_gc_leave_native();
}

/* ---- async and wait --------------------------------------------------------------------------------------- */

TEST(async_returns_at_once_and_the_cycle_comes)
{
    start_quiet();
    start_late();
    double began = now();
    for (int i = 0; i < 100; i++) coex_gc_async();
    ck_assert_double_lt(now() - began, 5.0); /* the cycle itself can't end before `late` goes on */
    ck_assert_uint_eq(stats_now().collections_completed, 0);
    end_late();
    coex_gc_wait_for_completion();
    ck_assert_uint_eq(stats_now().collections_completed, 1); /* a hundred requests, one cycle */
    coex_gc_shutdown();
}

TEST(wait_for_completion_without_a_cycle_returns)
{
    start_quiet();
    coex_gc_wait_for_completion();
    ck_assert_uint_eq(stats_now().collections_completed, 0);
    coex_gc_async();
    coex_gc_wait_for_completion();
    ck_assert_uint_eq(stats_now().collections_completed, 1);
    coex_gc_shutdown();
}

/* ---- collect ---------------------------------------------------------------------------------------------- */

TEST(garbage_made_before_collect_is_gone_after_it)
{
    enum { COUNT = 5000 };
    static coex_handle dead[COUNT];
    start_quiet();
    nodes_init();
    coex_handle *slot = coex_gc_enter_frame(1);
    for (int i = 0; i < COUNT; i++) {
        enum node_kind kind = i % 5 == 0 ? NODE_BLOB : i % 5 == 1 ? NODE_ALIGNED : NODE_LEAF;
        slot[0] = dead[i] = node_make(node_fresh_id(kind), NULL, 0, i % 100 == 0 ? 5000 : 20);
    }
    uint64_t kept = node_id(slot[0]);
    coex_gc_collect();
    for (int i = 0; i < COUNT - 1; i++) expect(!coex_gc_is_handle(dead[i]));
    node_expect(slot[0], kept);
    ck_assert_uint_eq(stats_now().objects_swept_last_cycle, COUNT - 1);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

static coex_handle dropped;

static void collect_after_drop(unsigned index, void *arg)
{
    (void)index, (void)arg;
    coex_gc_register_thread();
    coex_gc_collect();
    expect(!coex_gc_is_handle(dropped));
    expect(stats_now().collections_completed >= 2);
    coex_gc_unregister_thread();
}

static void *let_late_go(void *unused)
{
    usleep(50000);
    __atomic_store_n(&late_go, true, __ATOMIC_RELEASE);
    return unused;
}

/* A cycle runs, and has scanned the roots of this thread or may have: it is not the one that collect waits for. */
TEST(collect_waits_for_a_cycle_that_starts_after_the_call)
{
    start_quiet();
    nodes_init();
    coex_handle *slot = coex_gc_enter_frame(1);
    dropped = slot[0] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    start_late();
    coex_gc_async();
    for (int i = 0; i < 100; i++) { /* this thread answers what it is asked */
        coex_gc_safepoint();
        usleep(200);
    }
    slot[0] = 0;
    pthread_t waker;
    expect(pthread_create(&waker, NULL, let_late_go, NULL) == 0);
    coex_gc_enter_native();
    run_threads(2, collect_after_drop, NULL);
    pthread_join(waker, NULL);
    coex_gc_leave_native();
    end_late();
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

static void collect_often(unsigned index, void *arg)
{
    (void)arg;
    for (int i = 0; i < 30; i++) {
        coex_gc_register_thread();
        coex_handle *slot = coex_gc_enter_frame(1);
        slot[0] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
        uint64_t id = node_id(slot[0]);
        switch ((index + (unsigned)i) % 4) {
        case 0:
            coex_gc_async();
            coex_gc_wait_for_completion();
            break;
        case 1:
            coex_gc_enter_native();
            coex_gc_collect(); /* also from native mode */
            coex_gc_leave_native();
            break;
        default:
            coex_gc_collect();
        }
        node_expect(slot[0], id);
        coex_gc_leave_frame(slot);
        if (i % 3 == 0) coex_gc_unregister_thread();
        if (i % 3 == 1) coex_gc_collect(); /* registered or not */
    }
    coex_gc_unregister_thread();
    coex_gc_collect();
}

TEST_TIMEOUT(collect_from_every_thread_at_once_comes_to_an_end, 60)
{
    start_quiet();
    nodes_init();
    coex_gc_enter_native();
    run_threads(12, collect_often, NULL);
    coex_gc_leave_native();
    coex_gc_shutdown();
}

static pthread_key_t key;

static void collect_in_destructor(void *value)
{
    (void)value;
    coex_gc_collect();
    coex_gc_async();
}

static void set_destructor(unsigned index, void *arg)
{
    (void)arg;
    if (index % 3 != 0) pthread_setspecific(key, &key); /* before or after the runtime's own hook */
    coex_gc_register_thread();
    if (index % 3 == 0) pthread_setspecific(key, &key);
    if (index % 2 == 0) coex_gc_enter_native(); /* and exits so */
}

TEST(collect_at_the_exit_of_a_thread_comes_to_an_end)
{
    start_quiet();
    expect(pthread_key_create(&key, collect_in_destructor) == 0);
    coex_gc_enter_native();
    for (int i = 0; i < 5; i++) run_threads(6, set_destructor, NULL);
    coex_gc_leave_native();
    ck_assert_uint_eq(stats_now().registered_thread_count, 1);
    coex_gc_shutdown();
}

/* ---- threads that do not answer --------------------------------------------------------------------------- */

static void *block_in_native(void *pipe_end)
{
    char byte;
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    uint64_t id = node_id(slot[0]);
    coex_gc_enter_native();
    __atomic_store_n(&late_ready, true, __ATOMIC_RELEASE);
    expect(read(*(int *)pipe_end, &byte, 1) == 1);
    coex_gc_leave_native();
    node_expect(slot[0], id);
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
    return NULL;
}

TEST_LABEL(thread_that_blocks_in_native_mode_delays_no_cycle, timing)
TEST(thread_that_blocks_in_native_mode_delays_no_cycle)
{
    int ends[2];
    pthread_t blocked;
    coex_gc_config config = quiet_config();
    config.safepoint_warn_ms = 100;
    start_with(&config);
    nodes_init();
    expect(pipe(ends) == 0);
    expect(pthread_create(&blocked, NULL, block_in_native, &ends[0]) == 0);
    while (!__atomic_load_n(&late_ready, __ATOMIC_ACQUIRE)) usleep(200);
    for (int i = 0; i < 20; i++) coex_gc_collect();
    ck_assert_uint_eq(stats_now().collections_completed, 20);
    ck_assert_uint_eq(stats_now().late_threads, 0);
    expect(write(ends[1], "x", 1) == 1);
    COEX_GC_NATIVE(pthread_join(blocked, NULL));
    coex_gc_shutdown();
}

static bool file_contains(FILE *file, const char *text)
{
    char line[1024];
    rewind(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strstr(line, text) != NULL) return true;
    }
    return false;
}

TEST(late_thread_is_named_and_waited_for)
{
    char expected[128];
    FILE *output = tmpfile();
    coex_gc_config config = quiet_config();
    config.safepoint_warn_ms = 30;
    config.trace_level = 1;
    start_with(&config);
    coex_gc_set_output(output);
    start_late();
    coex_gc_async();
    for (int i = 0; stats_now().late_threads == 0 && i < 5000; i++) {
        coex_gc_safepoint();
        usleep(1000);
    }
    ck_assert_uint_eq(stats_now().late_thread_id, late_tid);
    ck_assert_uint_eq(stats_now().collections_completed, 0);
    end_late();
    coex_gc_wait_for_completion();
    ck_assert_uint_eq(stats_now().collections_completed, 1);
    snprintf(expected, sizeof expected, "[GC] Thread %" PRIu64 " has not reached a safepoint for ", late_tid);
    ck_assert(file_contains(output, expected));
    coex_gc_shutdown();
    coex_gc_set_output(NULL);
    fclose(output);
}

/* ---- trace ------------------------------------------------------------------------------------------------ */

static int count_lines(FILE *file, const char *start)
{
    char line[1024];
    int count = 0;
    rewind(file);
    while (fgets(line, sizeof line, file) != NULL) count += strncmp(line, start, strlen(start)) == 0;
    return count;
}

TEST(trace_level_1_tells_of_the_phases_of_each_cycle)
{
    FILE *output = tmpfile();
    start_quiet();
    coex_gc_set_output(output);
    coex_gc_collect();
    ck_assert_int_eq(count_lines(output, "[GC]"), 0); /* silent unless asked */
    coex_gc_set_trace_level(1);
    for (int i = 0; i < 5; i++) coex_gc_collect();
    ck_assert_int_eq(count_lines(output, "[GC] Collection #"), 2 * 5);
    ck_assert_int_eq(count_lines(output, "[GC] Mark phase: "), 5);
    ck_assert_int_eq(count_lines(output, "[GC] Sweep phase: "), 5);
    ck_assert_int_eq(count_lines(output, ""), 4 * 5);
    coex_gc_set_trace_level(0);
    coex_gc_collect();
    ck_assert_int_eq(count_lines(output, ""), 4 * 5);
    coex_gc_shutdown();
    coex_gc_set_output(NULL);
    fclose(output);
}
