/*
 * What must not grow, and what must come back: long chains, deep stacks, memory that is free.
 */
#include "support/nodes.h"
#include "support/objects.h"

#include <time.h>
#include <unistd.h>

static bool is_large_run(void)
{
    const char *large = getenv("COEX_TEST_LARGE");
    return large != NULL && strcmp(large, "0") != 0;
}

static uint64_t resident(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(file);
    if (fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- depth of the heap ------------------------------------------------------------------------------------ */

/* Marked by recursion, this would need gigabytes of stack. */
TEST_TIMEOUT(chain_of_many_million_objects_is_marked, 300)
{
    uint64_t length = is_large_run() ? 100000000 : test_is_sanitized() ? 500000 : test_is_checked() ? 5000000 : 20000000;
    coex_gc_config config = default_config();
    config.initial_heap = 64 * MIB;
    config.percent = 400;
    start_with(&config);
    uint32_t type = type_pair();
    coex_handle *slot = coex_gc_enter_frame(1);
    for (uint64_t i = 1; i <= length; i++) {
        slot[0] = new_pair(type, slot[0], i);
        expect(slot[0] != 0);
    }
    coex_gc_collect();
    ck_assert_uint_eq(stats_now().objects_marked_last_cycle, length);
    coex_handle at = slot[0];
    for (uint64_t i = length; i > 0; i--) {
        pair *object = coex_gc_handle_deref(at);
        expect(object != NULL);
        expect_eq(object->value, i);
        at = object->next;
    }
    expect_eq(at, 0);
    slot[0] = 0;
    coex_gc_collect();
    ck_assert_uint_eq(stats_now().objects_swept_last_cycle, length);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

/* ---- depth of the stack ----------------------------------------------------------------------------------- */

typedef struct stops {
    uint64_t depth;
    unsigned cycles;
    coex_gc_times cpu;
} stops;

/* Goes down so many frames, answers the requests of some cycles there, and comes back. */
static void stop_at_depth(unsigned index, void *arg)
{
    stops *it = arg;
    (void)index;
    coex_gc_register_thread();
    coex_handle *bottom = coex_gc_enter_frame(1);
    bottom[0] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    uint64_t id = node_id(bottom[0]);
    for (uint64_t i = 0; i < it->depth; i++) coex_gc_enter_frame(1)[0] = bottom[0];
    uint64_t cycles = stats_now().collections_completed;
    for (unsigned i = 0; i < it->cycles; i++) {
        coex_gc_async();
        while (stats_now().collections_completed <= cycles) coex_gc_safepoint();
        cycles = stats_now().collections_completed;
    }
    it->cpu = stats_now().stop_cpu;
    coex_gc_unwind_to(bottom);
    node_expect(bottom[0], id);
    coex_gc_leave_frame(bottom);
    coex_gc_unregister_thread();
}

static stops measure_stops(uint64_t depth, unsigned cycles)
{
    stops it = {.depth = depth, .cycles = cycles};
    coex_gc_config config = quiet_config();
    config.shadow_stack_slots = depth * 2 + 4096;
    start_with(&config);
    nodes_init();
    coex_gc_enter_native();
    run_threads(1, stop_at_depth, &it);
    coex_gc_leave_native();
    coex_gc_shutdown();
    printf("%10" PRIu64 " frames: %" PRIu64 " stops, p50 %" PRIu64 " ns, p99 %" PRIu64 " ns, max %" PRIu64 " ns\n", depth,
           it.cpu.count, it.cpu.p50, it.cpu.p99, it.cpu.max);
    return it;
}

/* A thread scans its top frames and freezes the others. (Checked builds copy the frozen words, to see whether they change.) */
TEST_LABEL(stop_does_not_grow_with_the_stack, timing)
TEST_TIMEOUT(stop_does_not_grow_with_the_stack, 300)
{
    bool timed = !test_is_checked() && !test_is_sanitized();
    unsigned cycles = timed ? 60 : 20;
    stops shallow = measure_stops(10, cycles);
    stops middle = measure_stops(10000, cycles);
    stops deep = measure_stops(timed ? 10000000 : 100000, cycles);
    ck_assert_uint_gt(shallow.cpu.count, cycles);
    ck_assert_uint_gt(deep.cpu.count, cycles);
    if (!timed) return;
    /* Ten million frames are 160 MB: even to read them would take tens of milliseconds. The half millisecond is for what a busy
     * machine adds; the median says the rest. */
    ck_assert_uint_lt(middle.cpu.p50, 20 * shallow.cpu.p50 + 20000);
    ck_assert_uint_lt(deep.cpu.p50, 20 * shallow.cpu.p50 + 20000);
    ck_assert_uint_lt(deep.cpu.p99, 20 * shallow.cpu.p99 + 500000);
}

/* ---- memory comes back ------------------------------------------------------------------------------------ */

static void fill(coex_handle *slot, uint64_t bytes, uint32_t words)
{
    for (uint64_t made = 0; made < bytes; made += words * 8 + 120) {
        slot[1] = node_make(node_fresh_id(NODE_BLOB), NULL, 0, words);
        coex_handle two[] = {slot[0], slot[1]};
        slot[0] = node_make(node_fresh_id(NODE_LINK), two, 2, 0);
        expect(slot[0] != 0);
    }
    slot[1] = 0;
}

static void returns_memory(uint32_t words)
{
    enum { BYTES = 200 << 20 };
    coex_gc_config config = default_config();
    config.initial_heap = 4 * MIB;
    start_with(&config);
    nodes_init();
    coex_handle *slot = coex_gc_enter_frame(2);
    uint64_t before = resident();
    fill(slot, BYTES, words);
    uint64_t full = resident();
    ck_assert_uint_gt(full, before + BYTES / 10 * 9);
    slot[0] = 0;
    coex_gc_collect();
    uint64_t after = full;
    for (int i = 0; i < 100 && (after > before + BYTES / 4 || stats_now().memory_returned < BYTES / 2); i++) { /* a second or two */
        COEX_GC_NATIVE(usleep(50000));
        after = resident();
    }
    printf("resident: %" PRIu64 " MB, full %" PRIu64 " MB, after %" PRIu64 " MB\n", before / MIB, full / MIB, after / MIB);
    ck_assert_uint_le(after, before + BYTES / 4);
    ck_assert_uint_gt(stats_now().memory_returned, BYTES / 2);
    /* And can be had again. */
    fill(slot, BYTES / 4, words);
    for (coex_handle at = slot[0]; at != 0; at = node_child(at, 0)) node_verify(at);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST_LABEL(memory_of_small_objects_goes_back_to_the_system, timing)
TEST_TIMEOUT(memory_of_small_objects_goes_back_to_the_system, 60)
{
    if (!test_is_sanitized()) returns_memory(40); /* shadow memory would be counted too */
}

TEST_LABEL(memory_of_large_objects_goes_back_to_the_system, timing)
TEST_TIMEOUT(memory_of_large_objects_goes_back_to_the_system, 60)
{
    if (!test_is_sanitized()) returns_memory(3000);
}
