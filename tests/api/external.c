/*
 * Memory that objects own outside the heap: it counts for the pace, so that small objects with large buffers stay within memlimit.
 */
#include "support/borders.h"

#include <pthread.h>

enum { BUFFER = 256 * 1024 };

typedef struct owner {
    char *buffer;
    uint64_t size;
} owner;

static uint32_t owners;
static uint64_t buffers, most_buffers; /* bytes */

static void free_buffer(coex_handle object, void *context)
{
    owner *it = coex_gc_handle_deref(object);
    (void)context;
    expect(it->buffer[0] == 'b' && it->buffer[it->size - 1] == 'e');
    free(it->buffer);
    it->buffer = NULL;
    __atomic_fetch_sub(&buffers, it->size, __ATOMIC_RELAXED);
    coex_gc_adjust_external(-(int64_t)it->size);
}

static void start(uint64_t memlimit)
{
    coex_gc_config config = default_config();
    config.gc_threads = way_threads;
    config.initial_heap = 4 * MIB;
    config.memlimit = memlimit;
    start_with(&config);
    nodes_init();
    owners = type_from(&(coex_gc_type){.name = "owner", .size = sizeof(owner), .flags = COEX_GC_MUTABLE, .finalize = free_buffer});
    buffers = most_buffers = 0;
}

static coex_handle new_owner(uint64_t size)
{
    void *payload;
    char *buffer = malloc(size);
    expect(buffer != NULL);
    memset(buffer, 'x', size);
    buffer[0] = 'b';
    buffer[size - 1] = 'e';
    coex_handle h = coex_gc_alloc_at(sizeof(owner), owners, &payload);
    expect(h != 0);
    *(owner *)payload = (owner){buffer, size};
    uint64_t now = __atomic_add_fetch(&buffers, size, __ATOMIC_RELAXED);
    for (uint64_t most = count_now(&most_buffers); now > most;) {
        if (__atomic_compare_exchange_n(&most_buffers, &most, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) break;
    }
    coex_gc_adjust_external((int64_t)size);
    return h;
}

static void drain(void)
{
    for (int i = 0; i < 3; i++) {
        coex_gc_collect();
        while (coex_gc_finalize(100) != 0) {
        }
    }
}

static void within_limit(void)
{
    uint64_t memlimit = 64 * MIB;
    start(memlimit);
    coex_handle *slots = coex_gc_enter_frame(16);
    for (unsigned i = 0; i < scaled(8000, 1500); i++) { /* 2 GB in all, 4 MB alive */
        slots[i % 16] = new_owner(BUFFER);
        coex_gc_finalize(10);
    }
    printf("at most %" PRIu64 " MB of buffers, %" PRIu64 " cycles\n", most_buffers / MIB, stats_now().collections_completed);
    ck_assert_uint_eq(stats_now().external_bytes, buffers);
    ck_assert_uint_lt(most_buffers, memlimit);
    coex_gc_leave_frame(slots);
    drain();
    ck_assert_uint_eq(buffers, 0);
    ck_assert_uint_eq(stats_now().external_bytes, 0);
    coex_gc_shutdown();
}

TEST_LABEL(small_objects_with_large_buffers_stay_within_memlimit, timing)
TEST_TIMEOUT(small_objects_with_large_buffers_stay_within_memlimit, 60) { both_ways(within_limit); }

/* Most of it stays: cycles come more often, but not one after the other for nothing. */
static void much_stays(void)
{
    start(200 * MIB);
    coex_handle *slots = coex_gc_enter_frame(512);
    for (int i = 0; i < 512; i++) slots[i] = new_owner(BUFFER); /* 128 MB */
    uint64_t before = stats_now().collections_completed;
    for (unsigned i = 0; i < 1000; i++) {
        new_owner(BUFFER);
        coex_gc_finalize(10);
    }
    printf("at most %" PRIu64 " MB of buffers, %" PRIu64 " cycles\n", most_buffers / MIB,
           stats_now().collections_completed - before);
    ck_assert_uint_lt(most_buffers, 200 * MIB);
    coex_gc_leave_frame(slots);
    drain();
    ck_assert_uint_eq(buffers, 0);
    coex_gc_shutdown();
}

TEST_LABEL(buffers_that_stay_count_for_the_next_cycle, timing)
TEST_TIMEOUT(buffers_that_stay_count_for_the_next_cycle, 60) { both_ways(much_stays); }

/* Without any allocation from the heap worth mentioning a cycle is asked for. */
TEST(external_memory_alone_asks_for_a_cycle)
{
    start(0);
    for (int i = 0; i < 100; i++) coex_gc_adjust_external((int64_t)MIB);
    coex_gc_wait_for_completion();
    ck_assert_uint_ge(stats_now().collections_completed, 1);
    ck_assert_uint_eq(stats_now().external_bytes, 100 * MIB);
    coex_gc_adjust_external(-100 * (int64_t)MIB);
    ck_assert_uint_eq(stats_now().external_bytes, 0);
    coex_gc_shutdown();
}

static void *adjust_elsewhere(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        coex_gc_adjust_external(12345);
        coex_gc_adjust_external(-12345);
    }
    return unused;
}

static void any_thread(void)
{
    pthread_t thread;
    start(0);
    expect(pthread_create(&thread, NULL, adjust_elsewhere, NULL) == 0); /* not registered */
    coex_gc_enter_native();
    adjust_elsewhere(NULL);
    pthread_join(thread, NULL);
    coex_gc_leave_native();
    ck_assert_uint_eq(stats_now().external_bytes, 0);
    coex_gc_collect();
    coex_gc_shutdown();
}

TEST(external_memory_is_counted_by_any_thread_in_any_mode) { both_ways(any_thread); }

/* More threads than cores, each with buffers of its own, which only finalizers free: what waits for its finalizer comes on top of what the
 * soft limit bounds. */
static void own_buffers(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(way_seed + index);
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(16);
    for (unsigned i = 0; i < scaled(2000, 300); i++) {
        slots[i % 16] = new_owner(rng_between(&rng, 1000, BUFFER));
        make_garbage(20);
        coex_gc_finalize(5);
    }
    coex_gc_leave_frame(slots);
}

static void many_threads(void)
{
    start(96 * MIB);
    run_threads_native(3, own_buffers, NULL);
    printf("at most %" PRIu64 " MB of buffers, %" PRIu64 " cycles\n", most_buffers / MIB, stats_now().collections_completed);
    ck_assert_uint_lt(most_buffers, 3 * 96 * MIB);
    drain();
    ck_assert_uint_eq(buffers, 0);
    coex_gc_shutdown();
}

TEST_LABEL(several_threads_with_buffers_stay_near_memlimit, timing)
TEST_TIMEOUT(several_threads_with_buffers_stay_near_memlimit, 60) { both_ways(many_threads); }
