/*
 * Native mode: a thread that blocks or runs foreign code is in nobody's way, keeps what its frames name, and comes back at once.
 */
#include "support/borders.h"

#include <pthread.h>
#include <semaphore.h>

enum { SLEEPERS = 30, CYCLES = 20 };

static sem_t wake;

static void wait_native(void)
{
    coex_gc_enter_native();
    while (sem_wait(&wake) != 0) {
    }
    coex_gc_leave_native();
}

static uint64_t asleep;

/* A frame with a leaf, and to sleep until the test is done with its cycles. */
static void sleep_with_leaf(unsigned index, void *arg)
{
    (void)index;
    (void)arg;
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_leaf();
    uint64_t id = node_id(slots[0]);
    count_up(&asleep);
    wait_native();
    node_expect(slots[0], id);
    coex_gc_leave_frame(slots);
}

static void *collect_while_all_sleep(void *unused)
{
    while (count_now(&asleep) < SLEEPERS) usleep(100);
    for (int i = 0; i < CYCLES; i++) coex_gc_collect();
    for (int i = 0; i < SLEEPERS; i++) sem_post(&wake);
    return unused;
}

static void sleepers_delay_no_cycle(void)
{
    way_start();
    sem_init(&wake, 0, 0);
    asleep = 0;
    pthread_t collecting;
    expect(pthread_create(&collecting, NULL, collect_while_all_sleep, NULL) == 0);
    run_threads_native(SLEEPERS, sleep_with_leaf, NULL);
    COEX_GC_NATIVE(pthread_join(collecting, NULL));
    ck_assert_uint_ge(stats_now().collections_completed, CYCLES);
    coex_gc_shutdown();
}

/* They wake only when the cycles have ended: if one of them were waited for, the test would hang. */
TEST_LABEL(threads_asleep_in_native_mode_delay_no_cycle, timing)
TEST(threads_asleep_in_native_mode_delay_no_cycle) { both_ways(sleepers_delay_no_cycle); }

static void *collect_once(void *unused)
{
    coex_gc_collect();
    return unused;
}

static void native_mode_nests(void)
{
    way_start();
    pthread_t other;
    coex_gc_enter_native();
    coex_gc_enter_native();
    coex_gc_enter_native();
    coex_gc_leave_native();
    coex_gc_leave_native();
    expect(pthread_create(&other, NULL, collect_once, NULL) == 0);
    pthread_join(other, NULL); /* hangs unless this thread is still answered for */
    coex_gc_leave_native();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_leaf();
    node_verify(slots[0]);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(native_mode_ends_with_the_outermost_leave) { both_ways(native_mode_nests); }

/* The counterpart: in managed mode nobody answers for a thread. */
TEST(a_thread_in_managed_mode_is_waited_for)
{
    way_start();
    coex_gc_async();
    sleep_ms(100);
    ck_assert_uint_eq(stats_now().collections_completed, 0);
    coex_gc_wait_for_completion();
    ck_assert_uint_eq(stats_now().collections_completed, 1);
    coex_gc_shutdown();
}

/* ---- what a native thread's frames hold -------------------------------------------------------------------- */

enum { DEPTH = 200 };

static uint64_t frames_in_native(unsigned depth);

static void call_out(unsigned depth)
{
    pthread_t other;
    if (depth > 0) {
        frames_in_native(depth - 1);
        return;
    }
    coex_gc_enter_native();
    expect(pthread_create(&other, NULL, collect_once, NULL) == 0);
    pthread_join(other, NULL);
    coex_gc_leave_native();
}

/* Each level has three slots, a rooted local and appended roots; all are as they were when the call has come back. */
static uint64_t frames_in_native(unsigned depth)
{
    coex_handle local = 0, *locals[] = {&local};
    coex_gc_frame *frame = coex_gc_push_frame(1, locals);
    local = new_leaf();
    coex_handle *slots = coex_gc_enter_frame(3);
    for (int i = 0; i < 3; i++) slots[i] = new_leaf();
    coex_handle appended = new_leaf();
    coex_gc_root(appended);
    uint64_t ids[] = {node_id(slots[0]), node_id(slots[1]), node_id(slots[2]), node_id(local), node_id(appended)};
    call_out(depth);
    for (int i = 0; i < 3; i++) node_expect(slots[i], ids[i]);
    node_expect(local, ids[3]);
    node_expect(slots[3], ids[4]);
    coex_gc_leave_frame(slots);
    coex_gc_pop_frame(frame);
    return depth;
}

static void frames_of_a_native_thread(void)
{
    way_start();
    frames_in_native(0); /* the frame that was pushed last is the one that matters */
    frames_in_native(DEPTH);
    coex_gc_shutdown();
}

TEST(every_frame_below_a_native_call_is_scanned) { both_ways(frames_of_a_native_thread); }

/* ---- coming back while a cycle runs ------------------------------------------------------------------------ */

static test_flag tracing, go_on;

/* A trace function that keeps the collector in the middle of marking for as long as the test wants. */
static void trace_slowly(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    (void)payload;
    (void)size;
    (void)visitor;
    flag_set(&tracing);
    flag_await(&go_on);
}

static void come_and_go(unsigned index, void *arg)
{
    (void)arg;
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = new_leaf();
    uint64_t id = node_id(slots[0]);
    COEX_GC_NATIVE(flag_await(&tracing));
    for (int i = 0; i < 2000; i++) {
        coex_gc_enter_native();
        coex_gc_leave_native();
        node_expect(slots[0], id);
        slots[1] = new_leaf();
    }
    coex_gc_enter_native();
    if (index == 0) flag_set(&go_on);
    coex_gc_leave_native();
    coex_gc_leave_frame(slots);
}

/* The collector is held in MARK until a thread has come back two thousand times: it waits for no end of a cycle. */
TEST(a_thread_that_comes_back_does_not_wait_for_the_cycle)
{
    way_start();
    uint32_t type = type_from(&(coex_gc_type){.name = "slow", .size = 8, .trace = trace_slowly});
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_gc_alloc(8, type);
    coex_gc_enter_native();
    pthread_t other;
    expect(pthread_create(&other, NULL, collect_once, NULL) == 0);
    run_threads(2, come_and_go, NULL);
    pthread_join(other, NULL);
    coex_gc_leave_native();
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* ---- many transitions -------------------------------------------------------------------------------------- */

enum { TRAVELLERS = 3 };

static test_flag enough;
static uint64_t transitions, travelling;

/* Goes to and fro at several depths, and moves a leaf from frame to frame, where a scan might miss it. */
static void to_and_fro(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(way_seed + index);
    coex_gc_register_thread();
    coex_handle *below = coex_gc_enter_frame(1);
    below[0] = new_leaf();
    uint64_t id = node_id(below[0]);
    count_up(&travelling);
    while (!flag_is_set(&enough)) {
        coex_handle *above = coex_gc_enter_frame(1);
        coex_gc_enter_native();
        if (rng_one_in(&rng, 50)) usleep(1);
        coex_gc_leave_native();
        above[0] = new_leaf();
        uint64_t next = node_id(above[0]);
        COEX_GC_NATIVE(count_up(&transitions));
        node_expect(above[0], next);
        coex_handle moved = above[0];
        coex_gc_leave_frame(above);
        node_expect(below[0], id);
        below[0] = moved;
        id = next;
    }
    coex_gc_leave_frame(below);
}

static void *collect_many(void *unused)
{
    while (count_now(&travelling) < TRAVELLERS) usleep(100);
    for (unsigned i = 0; i < scaled(200, 30); i++) coex_gc_collect();
    flag_set(&enough);
    return unused;
}

static void transitions_beside_cycles(void)
{
    busy_start();
    flag_clear(&enough);
    travelling = transitions = 0;
    coex_gc_enter_native();
    pthread_t other;
    expect(pthread_create(&other, NULL, collect_many, NULL) == 0);
    run_threads(TRAVELLERS, to_and_fro, NULL);
    pthread_join(other, NULL);
    coex_gc_leave_native();
    printf("%" PRIu64 " transitions, %" PRIu64 " cycles\n", transitions, stats_now().collections_completed);
    coex_gc_shutdown();
}

TEST_TIMEOUT(threads_go_to_and_fro_while_cycles_run, 40) { both_ways(transitions_beside_cycles); }

/* ---- one line ----------------------------------------------------------------------------------------------- */

TEST(a_native_call_is_one_line)
{
    int ends[2];
    char text[8] = "";
    ssize_t length = 0;
    way_start();
    expect(pipe(ends) == 0 && write(ends[1], "hello", 5) == 5);
    COEX_GC_NATIVE(length = read(ends[0], text, sizeof text - 1));
    ck_assert_int_eq((int)length, 5);
    ck_assert_str_eq(text, "hello");
    if (length == 5)
        COEX_GC_NATIVE(length = write(ends[1], text, 5)); /* a statement, wherever one may stand */
    else
        ck_abort();
    close(ends[0]);
    close(ends[1]);
    coex_gc_shutdown();
}

/* ---- locks -------------------------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t protected_count;
static test_flag has_lock;

static void *hold_lock_and_collect(void *unused)
{
    coex_gc_register_thread();
    coex_gc_mutex_lock(&lock);
    flag_set(&has_lock);
    sleep_ms(20); /* so that the other thread waits by then */
    coex_gc_collect();
    protected_count++;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void lock_waits_in_native_mode(void)
{
    way_start();
    pthread_t other;
    protected_count = 0;
    flag_clear(&has_lock);
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_leaf();
    expect(pthread_create(&other, NULL, hold_lock_and_collect, NULL) == 0);
    COEX_GC_NATIVE(flag_await(&has_lock));
    coex_gc_mutex_lock(&lock); /* the owner's cycle needs this thread's answers */
    ck_assert_uint_eq(protected_count, 1);
    pthread_mutex_unlock(&lock);
    node_verify(slots[0]);
    COEX_GC_NATIVE(pthread_join(other, NULL));
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST_LABEL(a_thread_that_waits_for_a_lock_delays_no_cycle, timing)
TEST(a_thread_that_waits_for_a_lock_delays_no_cycle) { both_ways(lock_waits_in_native_mode); }

static void *lock_unregistered(void *unused)
{
    coex_gc_mutex_lock(&lock);
    protected_count++;
    pthread_mutex_unlock(&lock);
    return unused;
}

TEST(a_lock_is_had_by_threads_that_are_not_registered_and_in_native_mode)
{
    way_start();
    pthread_t other;
    coex_gc_mutex_lock(&lock);
    expect(pthread_create(&other, NULL, lock_unregistered, NULL) == 0);
    sleep_ms(5);
    protected_count++;
    pthread_mutex_unlock(&lock);
    coex_gc_enter_native();
    pthread_join(other, NULL);
    coex_gc_mutex_lock(&lock);
    ck_assert_uint_eq(protected_count, 2);
    pthread_mutex_unlock(&lock);
    coex_gc_leave_native();
    coex_gc_shutdown();
}
