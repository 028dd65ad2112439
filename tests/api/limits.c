/*
 * When cycles come by themselves, and what happens where memory ends.
 */
#include "support/nodes.h"
#include "support/objects.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

static void make_garbage(uint64_t count, uint32_t words)
{
    for (uint64_t i = 0; i < count; i++) expect(node_make(node_fresh_id(NODE_BLOB), NULL, 0, words) != 0);
}

/* ---- triggers --------------------------------------------------------------------------------------------- */

TEST(count_trigger_asks_for_a_cycle_after_so_many_allocations)
{
    coex_gc_config config = quiet_config();
    config.trigger_allocations = 1000;
    start_with(&config);
    nodes_init();
    for (int i = 1; i <= 5; i++) {
        make_garbage(1100, 0); /* exact to the handles that a thread takes at once */
        coex_gc_wait_for_completion();
        ck_assert_uint_ge(stats_now().collections_completed, (unsigned)i);
    }
    coex_gc_set_trigger_threshold(0);
    uint64_t before = stats_now().collections_completed;
    make_garbage(20000, 0);
    coex_gc_wait_for_completion();
    ck_assert_uint_le(stats_now().collections_completed, before + 1); /* one may have been asked for before */
    coex_gc_set_trigger_threshold(500);
    before = stats_now().collections_completed;
    make_garbage(1100, 0);
    coex_gc_wait_for_completion();
    ck_assert_uint_gt(stats_now().collections_completed, before);
    coex_gc_shutdown();
}

/* Keeps about so many bytes alive in slot[0]. */
static void keep(coex_handle *slot, uint64_t bytes)
{
    for (uint64_t kept = 0; kept < bytes; kept += 1024 + 72) {
        coex_handle blob = node_make(node_fresh_id(NODE_BLOB), NULL, 0, 125);
        slot[1] = blob;
        /* Out of the slots themselves: an out_of_memory handler may empty the first one before the link is made. */
        slot[0] = node_make(node_fresh_id(NODE_LINK), slot, 2, 0);
        expect(slot[0] != 0);
    }
    slot[1] = 0;
}

static void goal_follows_percent(uint64_t percent)
{
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    config.percent = percent;
    start_with(&config);
    nodes_init();
    coex_handle *slot = coex_gc_enter_frame(2);
    keep(slot, 24 * MIB);
    coex_gc_collect();
    coex_gc_stats stats = stats_now();
    ck_assert_uint_ge(stats.bytes_live_last_cycle, 24 * MIB);
    ck_assert_uint_le(stats.bytes_live_last_cycle, 30 * MIB);
    uint64_t expected = stats.bytes_live_last_cycle + stats.bytes_live_last_cycle / 100 * percent;
    ck_assert_uint_ge(stats.heap_goal, expected - MIB);
    ck_assert_uint_le(stats.heap_goal, expected + MIB);
    /* And a cycle comes when so much has been allocated. */
    uint64_t before = stats.collections_completed;
    make_garbage((stats.heap_goal - stats.bytes_live_last_cycle) / 1024 + 2048, 125);
    coex_gc_wait_for_completion();
    ck_assert_uint_gt(stats_now().collections_completed, before);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(cycle_comes_when_the_heap_has_grown_by_percent)
{
    goal_follows_percent(50);
    goal_follows_percent(100);
    goal_follows_percent(300);
}

TEST_LABEL(cycles_come_earlier_the_closer_the_heap_is_to_memlimit, timing)
TEST(cycles_come_earlier_the_closer_the_heap_is_to_memlimit)
{
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    config.percent = 1000;
    config.memlimit = 32 * MIB;
    start_with(&config);
    nodes_init();
    coex_handle *slot = coex_gc_enter_frame(2);
    uint64_t room_before = UINT64_MAX;
    for (int i = 0; i < 4; i++) {
        keep(slot, 6 * MIB);
        coex_gc_collect();
        coex_gc_stats stats = stats_now();
        uint64_t room = stats.heap_goal - stats.bytes_live_last_cycle;
        ck_assert_uint_le(stats.heap_goal, config.memlimit + MIB);
        ck_assert_uint_lt(room, room_before);
        room_before = room;
    }
    keep(slot, 16 * MIB); /* past it: it is a wish, not a wall */
    ck_assert_uint_gt(stats_now().current_heap_used, config.memlimit);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

/* How full the heap was, in samples of all threads. */
static struct {
    uint64_t samples, past_twice, worst; /* percent of the goal */
} fullness;

static void allocate_fast(unsigned index, void *arg)
{
    (void)index, (void)arg;
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(2);
    for (int round = 0; round < 80; round++) {
        slot[0] = 0;
        keep(slot, 4 * MIB);
        coex_gc_stats stats = stats_now();
        uint64_t percent = stats.current_heap_used * 100 / stats.heap_goal;
        if (round < 10) continue; /* it has to settle first */
        __atomic_fetch_add(&fullness.samples, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&fullness.past_twice, percent > 200, __ATOMIC_RELAXED);
        if (percent > __atomic_load_n(&fullness.worst, __ATOMIC_RELAXED))
            __atomic_store_n(&fullness.worst, percent, __ATOMIC_RELAXED);
    }
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
}

/* As many threads as cores: slow allocations help to mark, so the collector can't fall behind for good. On a machine that has other
 * things to do it may lose its core for a while, so some samples may be worse. */
TEST_LABEL(heap_settles_within_twice_its_goal, timing)
TEST_TIMEOUT(heap_settles_within_twice_its_goal, 120)
{
    coex_gc_config config = default_config();
    config.initial_heap = 4 * MIB;
    start_with(&config);
    nodes_init();
    coex_gc_enter_native();
    run_threads((unsigned)sysconf(_SC_NPROCESSORS_ONLN), allocate_fast, NULL);
    coex_gc_leave_native();
    printf("past twice the goal in %" PRIu64 " of %" PRIu64 " samples, at most %" PRIu64 " %%\n", fullness.past_twice,
           fullness.samples, fullness.worst);
    ck_assert_uint_eq(stats_now().hard_limit_waits, 0);
    if (!test_is_sanitized()) ck_assert_uint_lt(fullness.past_twice * 4, fullness.samples);
    coex_gc_shutdown();
}

/* ---- the hard limit --------------------------------------------------------------------------------------- */

static struct {
    unsigned calls;
    unsigned depth;
    coex_handle *drop; /* slots to drop, by whoever asks */
    bool answer;
    coex_handle inner;
    int inner_error;
} handler;

static bool on_out_of_memory(uint64_t size, void *context)
{
    expect(context == &handler);
    expect(size > 0);
    handler.calls++;
    expect_eq(++handler.depth, 1); /* nothing recurses */
    handler.inner = node_make(node_fresh_id(NODE_BLOB), NULL, 0, 1000000);
    handler.inner_error = coex_gc_last_error();
    if (handler.drop != NULL) *handler.drop = 0;
    coex_gc_collect();
    handler.depth--;
    return handler.answer;
}

static void start_limited(void)
{
    coex_gc_config config = default_config();
    config.heap_limit = 4 * MIB;
    config.out_of_memory = on_out_of_memory;
    config.context = &handler;
    memset(&handler, 0, sizeof handler);
    start_with(&config);
    nodes_init();
}

TEST(program_that_frees_memory_in_the_handler_goes_on)
{
    start_limited();
    coex_handle *slot = coex_gc_enter_frame(2);
    handler.drop = &slot[0];
    handler.answer = true;
    for (int i = 0; i < 20; i++) keep(slot, 2 * MIB); /* 40 MiB in all; the handler drops what there is, each time */
    ck_assert_uint_ge(handler.calls, 5);
    ck_assert_uint_le(stats_now().current_heap_used, 4 * MIB);
    ck_assert_uint_gt(stats_now().hard_limit_waits, 0);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(allocation_inside_the_handler_gets_null_at_once_and_calls_no_handler)
{
    start_limited();
    handler.answer = false;
    ck_assert_uint_eq(node_make(node_fresh_id(NODE_BLOB), NULL, 0, 2000000), 0);
    ck_assert_uint_eq(handler.calls, 1);
    ck_assert_uint_eq(handler.inner, 0);
    ck_assert_int_eq(handler.inner_error, COEX_GC_ELIMIT);
    coex_gc_shutdown();
}

TEST(handler_that_gives_up_gives_null_and_the_reason)
{
    start_limited();
    coex_handle *slot = coex_gc_enter_frame(2);
    handler.answer = false;
    coex_handle made = 1;
    while (made != 0) {
        made = node_make(node_fresh_id(NODE_BLOB), NULL, 0, 125);
        slot[1] = made;
        coex_handle two[] = {slot[0], slot[1]};
        if (made != 0) made = node_make(node_fresh_id(NODE_LINK), two, 2, 0);
        if (made != 0) slot[0] = made;
    }
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ELIMIT);
    ck_assert_uint_eq(handler.calls, 1);
    /* What is there is whole, and dropping it makes room again. */
    for (coex_handle at = slot[0]; at != 0; at = node_child(at, 0)) node_verify(at);
    slot[0] = slot[1] = 0;
    keep(slot, 2 * MIB);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(handles_that_run_out_come_back_when_their_objects_are_dropped)
{
    coex_gc_config config = default_config();
    config.max_handles = 8192;
    config.initial_handles = 4096;
    start_with(&config);
    nodes_init();
    coex_handle *slot = coex_gc_enter_frame(1);
    for (int round = 0; round < 5; round++) {
        uint64_t count = 0;
        for (;;) {
            coex_handle two[] = {slot[0], 0};
            coex_handle made = node_make(node_fresh_id(NODE_LINK), two, 2, 0);
            if (made == 0) break;
            slot[0] = made;
            count++;
        }
        ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ELIMIT);
        ck_assert_uint_ge(count, 4096); /* most of them, each time */
        for (coex_handle at = slot[0]; at != 0; at = node_child(at, 0)) node_verify(at);
        slot[0] = 0;
    }
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

/* A large object, one that just fits a block, an array, an aligned one, a small one: each way to allocate finds the limit, says so,
 * and leaves everything usable. */
TEST(every_kind_of_allocation_stops_at_the_limit_and_goes_on_after_it)
{
    static const struct {
        enum node_kind kind;
        uint32_t count, words;
    } sorts[] = {
        {NODE_LEAF, 0, 0},    {NODE_LINK, 2, 0},     {NODE_TUPLE, 900, 0}, {NODE_BLOB, 0, 10},   {NODE_BLOB, 0, 1015},
        {NODE_BLOB, 0, 1100}, {NODE_BLOB, 0, 20000}, {NODE_TRACED, 30, 0}, {NODE_ALIGNED, 0, 0}, {NODE_CELL, NODE_CELL_FIELDS, 0}};
    static coex_handle children[900];
    start_limited();
    coex_handle *slot = coex_gc_enter_frame(200000);
    handler.answer = false;
    for (unsigned sort = 0; sort < sizeof sorts / sizeof sorts[0]; sort++) {
        uint64_t count = 0;
        for (;; count++) {
            slot[count] = node_make(node_fresh_id(sorts[sort].kind), children, sorts[sort].count, sorts[sort].words);
            if (slot[count] == 0) break;
        }
        ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ELIMIT);
        ck_assert_uint_le(stats_now().current_heap_used, 4 * MIB);
        ck_assert_uint_gt(count, 10);
        for (uint64_t i = 0; i < count; i++) node_verify(slot[i]);
        memset(slot, 0, count * sizeof *slot);
    }
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

/* ---- many threads at the limit ---------------------------------------------------------------------------- */

static struct {
    uint32_t words; /* of an object's payload */
    uint64_t nulls, done;
    uint64_t until; /* of the monotonic clock */
} race;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void allocate_and_drop(unsigned index, void *arg)
{
    (void)index, (void)arg;
    uint64_t nulls = 0, done = 0;
    coex_gc_register_thread();
    while (now_ns() < race.until) {
        for (int i = 0; i < 50; i++) {
            nulls += node_make(node_fresh_id(NODE_BLOB), NULL, 0, race.words) == 0;
            done++;
        }
    }
    coex_gc_unregister_thread();
    __atomic_fetch_add(&race.nulls, nulls, __ATOMIC_RELAXED);
    __atomic_fetch_add(&race.done, done, __ATOMIC_RELAXED);
}

/* Threads that keep nothing alive: whoever waits at the limit gets something in the end. */
static void race_at_the_limit(unsigned threads, uint64_t heap_limit, uint32_t words, uint64_t gc_threads)
{
    coex_gc_config config = default_config();
    config.initial_heap = 4 * MIB;
    config.heap_limit = heap_limit;
    config.gc_threads = gc_threads;
    start_with(&config);
    nodes_init();
    race.words = words;
    race.nulls = race.done = 0;
    race.until = now_ns() + UINT64_C(1500000000);
    coex_gc_enter_native();
    run_threads(threads, allocate_and_drop, NULL);
    coex_gc_leave_native();
    printf("%u threads: %" PRIu64 " nulls in %" PRIu64 " allocations, %" PRIu64 " waits\n", threads, race.nulls, race.done,
           stats_now().hard_limit_waits);
    ck_assert_uint_eq(race.nulls, 0);
    ck_assert_uint_gt(race.done, threads);
    coex_gc_shutdown();
}

TEST(many_threads_that_keep_nothing_get_no_null_at_the_limit) { race_at_the_limit(16, 8 * MIB, 12, 1); }

TEST(many_threads_that_keep_nothing_get_no_null_for_large_objects) { race_at_the_limit(12, 4 * MIB, 2500, 1); }

TEST(many_threads_without_a_gc_thread_get_no_null_at_the_limit) { race_at_the_limit(6, 4 * MIB, 12, 0); }

/* Keeps all it makes, until there is no more. */
static void fill_up(unsigned index, void *arg)
{
    (void)index, (void)arg;
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(1);
    for (;;) {
        coex_handle one[] = {slot[0], 0};
        coex_handle made = node_make(node_fresh_id(NODE_LINK), one, 2, 0);
        if (made == 0) break;
        slot[0] = made;
    }
    expect_eq(coex_gc_last_error(), COEX_GC_ELIMIT);
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
}

/* What is alive fills the heap: then waiting ends for everybody, also while others drop what they had. */
static void fill_together(uint64_t heap_limit, uint64_t max_handles)
{
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    config.heap_limit = heap_limit;
    config.initial_handles = 4096;
    if (max_handles != 0) config.max_handles = max_handles;
    start_with(&config);
    nodes_init();
    coex_gc_enter_native();
    run_threads(6, fill_up, NULL);
    coex_gc_leave_native();
    coex_gc_shutdown();
}

TEST(threads_that_keep_everything_all_get_null_in_the_end) { fill_together(4 * MIB, 0); }

TEST(threads_that_keep_every_handle_all_get_null_in_the_end) { fill_together(0, 32768); }

/* ---- what idle threads hold ------------------------------------------------------------------------------- */

enum { IDLERS = 8 };
static bool idlers_go;

/* Makes garbage, and idles in native mode, where a server's threads wait for work. */
static void idle(unsigned index, void *arg)
{
    (void)index;
    coex_gc_register_thread();
    make_garbage(60000, 2);
    coex_gc_enter_native();
    __atomic_fetch_add((unsigned *)arg, 1, __ATOMIC_ACQ_REL);
    while (!__atomic_load_n(&idlers_go, __ATOMIC_ACQUIRE)) usleep(200);
    coex_gc_leave_native();
    coex_handle *slot = coex_gc_enter_frame(2);
    keep(slot, 64 * 1024); /* and it can go on */
    coex_gc_safepoint();
    for (coex_handle at = slot[0]; at != 0; at = node_child(at, 0)) node_verify(at);
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
}

static void *start_idlers(void *arg)
{
    run_threads(IDLERS, idle, arg);
    return NULL;
}

TEST(idle_native_threads_hold_neither_handles_nor_blocks_after_a_cycle)
{
    unsigned there = 0;
    pthread_t starter;
    coex_gc_config config = quiet_config();
    start_with(&config);
    nodes_init();
    expect(pthread_create(&starter, NULL, start_idlers, &there) == 0);
    coex_gc_enter_native();
    while (__atomic_load_n(&there, __ATOMIC_ACQUIRE) < IDLERS) usleep(200);
    coex_gc_leave_native();
    for (int i = 0; i < 2; i++) coex_gc_collect(); /* handles of dead objects come back with the second one */
    coex_gc_stats stats = stats_now();
    ck_assert_uint_lt(stats.current_handles_in_use, 1000);
    ck_assert_uint_lt(stats.current_heap_used, IDLERS * 32768);
    __atomic_store_n(&idlers_go, true, __ATOMIC_RELEASE);
    coex_gc_async(); /* some of them come back in the middle of a cycle */
    COEX_GC_NATIVE(pthread_join(starter, NULL));
    coex_gc_shutdown();
}
