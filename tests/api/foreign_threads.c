/*
 * Threads that the runtime has never seen: attached by their first callback, native between callbacks, gone when they exit.
 */
#include "support/borders.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

static void *run_on(pthread_t *thread, void *(*body)(void *))
{
    expect(pthread_create(thread, NULL, body, NULL) == 0);
    return NULL;
}

static void join_native(pthread_t thread) { COEX_GC_NATIVE(pthread_join(thread, NULL)); }

/* ---- coming and going --------------------------------------------------------------------------------------- */

static void *call_back_twice(void *unused)
{
    expect(coex_gc_get_current_thread() == NULL);
    expect(coex_gc_enter_managed());
    coex_gc_thread *record = coex_gc_get_current_thread();
    expect(record != NULL);
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_leaf();
    node_verify(slots[0]);
    coex_gc_leave_frame(slots);
    coex_gc_leave_managed();
    expect(coex_gc_get_current_thread() == record);
    expect_eq(stats_now().registered_thread_count, 2);
    coex_gc_collect(); /* in native mode: the runtime answers for it */
    expect(coex_gc_enter_managed());
    expect(coex_gc_get_current_thread() == record);
    make_garbage(100);
    coex_gc_leave_managed();
    expect_eq(stats_now().registered_thread_count, 2);
    return unused;
}

static void attach_and_detach(void)
{
    pthread_t thread;
    way_start();
    run_on(&thread, call_back_twice);
    join_native(thread);
    ck_assert_uint_eq(stats_now().registered_thread_count, 1);
    coex_gc_shutdown();
}

TEST(a_foreign_thread_is_attached_once_and_detached_when_it_exits) { both_ways(attach_and_detach); }

/* ---- callbacks in callbacks --------------------------------------------------------------------------------- */

enum { NESTED = 60 };

static void managed_part(unsigned depth);

static void native_part(unsigned depth)
{
    if (depth == 0) {
        coex_gc_collect();
        return;
    }
    expect(coex_gc_enter_managed());
    managed_part(depth - 1);
    coex_gc_leave_managed();
}

/* native -> managed -> native -> managed ..., each managed part with a frame that must be as it was when the rest has come back. */
static void managed_part(unsigned depth)
{
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = new_leaf();
    uint64_t id = node_id(slots[0]);
    coex_gc_enter_native();
    if (depth % 3 == 1) coex_gc_enter_native(); /* native code that nests, too */
    native_part(depth);
    if (depth % 3 == 1) coex_gc_leave_native();
    coex_gc_leave_native();
    slots[1] = new_leaf();
    node_expect(slots[0], id);
    coex_gc_leave_frame(slots);
}

static void *nest_callbacks(void *unused)
{
    for (int i = 0; i < 3; i++) native_part(NESTED);
    return unused;
}

static void callbacks_nest(void)
{
    pthread_t thread;
    way_start();
    run_on(&thread, nest_callbacks);
    join_native(thread);
    managed_part(NESTED); /* the same from a thread that is registered */
    ck_assert_uint_eq(stats_now().registered_thread_count, 1);
    coex_gc_shutdown();
}

TEST(callbacks_nest_to_any_depth) { both_ways(callbacks_nest); }

TEST(a_callback_in_managed_code_stays_managed)
{
    way_start();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_leaf();
    expect(coex_gc_enter_managed());
    expect(coex_gc_enter_managed());
    node_verify(slots[0]);
    coex_gc_leave_managed();
    slots[0] = new_leaf();
    coex_gc_leave_managed();
    node_verify(slots[0]);
    coex_gc_leave_frame(slots);
    ck_assert_uint_eq(stats_now().registered_thread_count, 1);
    coex_gc_shutdown();
}

/* ---- a thousand ---------------------------------------------------------------------------------------------- */

static pthread_barrier_t all_here, all_seen;

static void stay_a_while(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(way_seed + index);
    expect(coex_gc_enter_managed());
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_leaf();
    uint64_t id = node_id(slots[0]);
    coex_gc_enter_native();
    pthread_barrier_wait(&all_here);
    pthread_barrier_wait(&all_seen);
    coex_gc_leave_native();
    make_garbage((unsigned)rng_below(&rng, 100));
    node_expect(slots[0], id);
    coex_gc_leave_frame(slots);
    coex_gc_leave_managed();
}

static void *look_at_all(void *crowd)
{
    unsigned count = *(unsigned *)crowd;
    pthread_barrier_wait(&all_here);
    expect_eq(stats_now().registered_thread_count, count + 1);
    coex_gc_collect();
    coex_gc_async(); /* and one that runs while they come back and leave */
    pthread_barrier_wait(&all_seen);
    return NULL;
}

static void crowd(void)
{
    unsigned count = scaled(1000, 150);
    way_start();
    pthread_barrier_init(&all_here, NULL, count + 1);
    pthread_barrier_init(&all_seen, NULL, count + 1);
    coex_gc_enter_native();
    pthread_t looking;
    expect(pthread_create(&looking, NULL, look_at_all, &count) == 0);
    run_threads(count, stay_a_while, NULL);
    pthread_join(looking, NULL);
    coex_gc_leave_native();
    coex_gc_collect();
    ck_assert_uint_eq(stats_now().registered_thread_count, 1);
    coex_gc_shutdown();
}

TEST_TIMEOUT(a_thousand_foreign_threads_are_there_at_once, 40) { both_ways(crowd); }

/* ---- leaving in the middle ------------------------------------------------------------------------------------ */

static void *exit_in_callback(void *unused)
{
    expect(coex_gc_enter_managed());
    coex_gc_enter_frame(5)[2] = new_leaf();
    pthread_exit(unused);
}

static void *exit_in_nested_native(void *unused)
{
    expect(coex_gc_enter_managed());
    coex_gc_enter_frame(5)[2] = new_leaf();
    coex_gc_enter_native();
    coex_gc_enter_native();
    expect(coex_gc_enter_managed());
    coex_gc_enter_frame(600)[599] = new_leaf();
    coex_gc_enter_native();
    return unused;
}

static void *exit_between_callbacks(void *unused)
{
    expect(coex_gc_enter_managed());
    coex_gc_leave_managed();
    return unused;
}

static void leave_anywhere(void)
{
    void *(*const ways_out[])(void *) = {exit_in_callback, exit_in_nested_native, exit_between_callbacks};
    busy_start();
    for (unsigned i = 0; i < scaled(300, 60); i++) {
        pthread_t thread[3];
        for (int k = 0; k < 3; k++) run_on(&thread[k], ways_out[k]);
        if (i % 2 == 0) coex_gc_async();
        make_garbage(200);
        for (int k = 0; k < 3; k++) join_native(thread[k]);
    }
    ck_assert_uint_eq(stats_now().registered_thread_count, 1);
    coex_gc_collect();
    coex_gc_shutdown();
}

TEST_TIMEOUT(a_foreign_thread_may_end_anywhere, 40) { both_ways(leave_anywhere); }

/* ---- in any order with shutdown -------------------------------------------------------------------------------- */

enum { LEAVERS = 6 };

static uint64_t attached;
static test_flag leave_now;

static void *attach_and_leave_later(void *delay)
{
    expect(coex_gc_enter_managed());
    make_garbage(10);
    coex_gc_leave_managed();
    count_up(&attached);
    flag_await(&leave_now);
    for (volatile uintptr_t i = (uintptr_t)delay; i > 0; i--) {
    }
    return NULL;
}

/* Each runtime is shut down while the threads that it has attached are on their way out: before, during, after. */
static void exit_around_shutdown(void)
{
    for (unsigned run = 0; run < scaled(60, 20); run++) {
        pthread_t thread[LEAVERS];
        way_start();
        attached = 0;
        flag_clear(&leave_now);
        for (uintptr_t i = 0; i < LEAVERS; i++)
            expect(pthread_create(&thread[i], NULL, attach_and_leave_later, (void *)(i * run * 500)) == 0);
        coex_gc_enter_native();
        while (count_now(&attached) < LEAVERS) usleep(50);
        coex_gc_leave_native();
        flag_set(&leave_now);
        if (run % 3 == 0) coex_gc_async();
        coex_gc_shutdown();
        for (int i = 0; i < LEAVERS; i++) pthread_join(thread[i], NULL);
    }
}

TEST_TIMEOUT(foreign_threads_exit_in_any_order_with_shutdown, 40) { both_ways(exit_around_shutdown); }

/* Their record is of a runtime that is gone; the one that is there now has never seen them. */
TEST(a_thread_that_outlives_its_runtime_is_nothing_to_the_next_one)
{
    pthread_t thread;
    way_start();
    attached = 0;
    run_on(&thread, attach_and_leave_later);
    COEX_GC_NATIVE(while (count_now(&attached) == 0) usleep(50));
    coex_gc_shutdown();
    way_start();
    ck_assert_uint_eq(stats_now().registered_thread_count, 1);
    flag_set(&leave_now);
    join_native(thread);
    ck_assert_uint_eq(stats_now().registered_thread_count, 1);
    coex_gc_collect();
    coex_gc_shutdown();
}

/* Before the first runtime, between two, and after the last: a callback is told that there is none, and the thread goes on. */
static void *find_no_runtime(void *unused)
{
    expect(!coex_gc_enter_managed());
    expect_eq(coex_gc_last_error(), COEX_GC_ESTATE);
    expect(strstr(coex_gc_error_detail(), "not initialised") != NULL);
    expect(coex_gc_get_current_thread() == NULL);
    return unused;
}

static test_flag came_back;

static void *call_back_in_both(void *unused)
{
    expect(coex_gc_enter_managed());
    make_garbage(10);
    coex_gc_leave_managed();
    count_up(&attached);
    flag_await(&leave_now);
    find_no_runtime(NULL);
    flag_clear(&leave_now);
    flag_set(&came_back);
    flag_await(&leave_now);
    expect(coex_gc_enter_managed());
    make_garbage(10);
    coex_gc_leave_managed();
    return unused;
}

TEST(a_callback_without_a_runtime_is_told_so)
{
    pthread_t thread;
    find_no_runtime(NULL);
    way_start();
    attached = 0;
    run_on(&thread, call_back_in_both);
    COEX_GC_NATIVE(while (count_now(&attached) == 0) usleep(50));
    coex_gc_shutdown();
    find_no_runtime(NULL);
    flag_set(&leave_now);
    flag_await(&came_back);
    way_start(); /* the same thread is new to it */
    flag_set(&leave_now);
    join_native(thread);
    ck_assert_uint_eq(stats_now().registered_thread_count, 1);
    coex_gc_shutdown();
}

/* Callbacks that go on while the runtime is shut down: each finds it or is told that there is none. Only a shutdown that finds one in the
 * middle ends, in its own line, and what no order does is crash. In a process of its own. */
enum { CALLERS = 4 };

static uint64_t refused;

static void *call_back_until_refused(void *unused)
{
    while (coex_gc_enter_managed()) {
        coex_gc_leave_managed();
        sched_yield();
    }
    expect_eq(coex_gc_last_error(), COEX_GC_ESTATE);
    count_up(&refused);
    return unused;
}

static void *call_back_once(void *unused)
{
    if (coex_gc_enter_managed()) coex_gc_leave_managed();
    return unused;
}

static void shut_down_among_callers(void *delay)
{
    pthread_t caller[CALLERS], last[CALLERS];
    way_start();
    for (int i = 0; i < CALLERS; i++) run_on(&caller[i], call_back_until_refused);
    usleep((useconds_t)(uintptr_t)delay);
    for (int i = 0; i < CALLERS; i++) run_on(&last[i], call_back_once);
    coex_gc_shutdown();
    for (int i = 0; i < CALLERS; i++) pthread_join(caller[i], NULL);
    for (int i = 0; i < CALLERS; i++) pthread_join(last[i], NULL);
    expect_eq(refused, CALLERS);
}

static void call_around_shutdown(void)
{
    unsigned refusals = 0, runs = scaled(200, 40);
    char why[8192];
    for (uintptr_t run = 0; run < runs; run++) {
        void *delay = (void *)(run * 20);
        if (test_abort_verdict(shut_down_among_callers, delay, "is still in managed mode", why,
                               sizeof why) == 0)
            refusals++;
        else if (strncmp(why, "exited with status 0 ", 21) != 0)
            ck_abort_msg("%s", why);
    }
    printf("%u of %u shutdowns found a callback\n", refusals, runs);
}

TEST_TIMEOUT(callbacks_come_in_any_order_with_shutdown, 60) { both_ways(call_around_shutdown); }

/* ---- no room ---------------------------------------------------------------------------------------------------- */

static test_flag limited;

static void *attach_without_room(void *unused)
{
    flag_await(&limited);
    expect(!coex_gc_enter_managed());
    expect(coex_gc_last_error() != COEX_GC_OK);
    expect(coex_gc_get_current_thread() == NULL);
    return unused;
}

TEST(a_foreign_thread_without_room_is_told_so)
{
    if (test_is_sanitized()) return; /* a sanitizer needs address space of its own at any time */
    pthread_t thread;
    way_start();
    run_on(&thread, attach_without_room);
    struct rlimit none = {1 << 20, RLIM_INFINITY};
    struct rlimit before;
    getrlimit(RLIMIT_AS, &before);
    none.rlim_max = before.rlim_max;
    expect(setrlimit(RLIMIT_AS, &none) == 0);
    flag_set(&limited);
    join_native(thread);
    setrlimit(RLIMIT_AS, &before);
    ck_assert_uint_eq(stats_now().registered_thread_count, 1);
    coex_gc_shutdown();
}
