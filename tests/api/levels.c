/*
 * Trace levels 2 to 4: a line for each thing that happens to an object, in the words that tools know. (Level 1 is in trace.c.)
 */
#include "support/borders.h"
#include "support/dump_parser.h"

#include <pthread.h>
#include <stdarg.h>

static uint32_t pairs;

static void levels_start(void)
{
    way_start();
    pairs = type_pair();
}

static unsigned count_lines(const char *text, const char *line)
{
    char wanted[120];
    unsigned count = 0;
    snprintf(wanted, sizeof wanted, "%s\n", line);
    for (const char *at = text; (at = strstr(at, wanted)) != NULL; at += strlen(wanted)) count += at == text || at[-1] == '\n';
    return count;
}

__attribute__((format(printf, 3, 4))) static void expect_lines(const char *text, unsigned count, const char *format, ...)
{
    char line[120];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    ck_assert_msg(count_lines(text, line) == count, "'%s' is there %u times, not %u, in:\n%s", line, count_lines(text, line), count,
                  text);
}

/* Two pairs, the second refers to the first; a third is garbage. */
struct traced {
    coex_handle first, second, garbage;
    uint64_t address;
    char *text;
};

static struct traced run_at(int64_t level)
{
    struct traced run = {0};
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[2] = new_pair(pairs, 0, 0); /* the thread has a hole, and the fast path would be taken */
    capture_begin();
    coex_gc_set_trace_level(level);
    run.first = slot[0] = new_pair(pairs, 0, 1);
    run.garbage = new_pair(pairs, 0, 2);
    run.second = slot[1] = new_pair(pairs, slot[0], 3);
    run.address = (uintptr_t)coex_gc_handle_deref(slot[0]);
    coex_gc_load(slot[1], 0);
    coex_gc_collect();
    coex_gc_set_trace_level(0);
    new_pair(pairs, 0, 4);
    coex_gc_collect();
    run.text = capture_end();
    coex_gc_leave_frame(slot);
    return run;
}

static void level_2(void)
{
    levels_start();
    struct traced run = run_at(2);
    expect_lines(run.text, 1, "[GC] alloc: handle=%" PRIu64 ", type=pair, size=24", run.first);
    expect_lines(run.text, 1, "[GC] alloc: handle=%" PRIu64 ", type=pair, size=24", run.garbage);
    expect_lines(run.text, 1, "[GC] alloc: handle=%" PRIu64 ", type=pair, size=24", run.second);
    expect_lines(run.text, 1, "[GC] mark: handle=%" PRIu64 " (already marked)", run.first); /* a slot and a field lead there */
    expect_lines(run.text, 1, "[GC] sweep: handle=%" PRIu64 " reclaimed (pair, 24 bytes)", run.garbage);
    expect_lines(run.text, 0, "[GC] sweep: handle=%" PRIu64 " reclaimed (pair, 24 bytes)", run.first);
    ck_assert_ptr_null(strstr(run.text, "tracing"));
    ck_assert_ptr_null(strstr(run.text, "addr="));
    ck_assert_ptr_nonnull(strstr(run.text, "[GC] Mark phase: ")); /* and level 1 */
    coex_gc_shutdown();
}

TEST(level_2_tells_of_allocations_marks_and_sweeps) { both_ways(level_2); }

static void level_3(void)
{
    levels_start();
    struct traced run = run_at(3);
    expect_lines(run.text, 1, "[GC] alloc: handle=%" PRIu64 ", type=pair, size=24, addr=0x%" PRIx64, run.first, run.address);
    expect_lines(run.text, 1, "[GC] handle_table: slot %" PRIu64 " <- 0x%" PRIx64, run.first, run.address);
    expect_lines(run.text, 1, "[GC] mark: tracing handle=%" PRIu64 ", type=pair", run.second);
    expect_lines(run.text, 1, "[GC] mark: field at offset 0: child handle=%" PRIu64, run.first);
    expect_lines(run.text, 1, "[GC] mark: handle=%" PRIu64 " marked (was unmarked)", run.first);
    expect_lines(run.text, 1, "[GC] mark: handle=%" PRIu64 " marked (was unmarked)", run.second);
    ck_assert_ptr_null(strstr(run.text, "deref"));
    coex_gc_shutdown();
}

TEST(level_3_tells_of_addresses_and_fields) { both_ways(level_3); }

TEST(level_4_tells_of_dereferences_in_checked_builds)
{
    levels_start();
    struct traced run = run_at(4);
    expect_lines(run.text, test_is_checked(), "[GC] deref: handle=%" PRIu64 " (coex_gc_handle_deref)", run.first);
    expect_lines(run.text, test_is_checked(), "[GC] deref: handle=%" PRIu64 " (coex_gc_load)", run.second);
    expect_lines(run.text, 1, "[GC] mark: tracing handle=%" PRIu64 ", type=pair", run.second);
    coex_gc_shutdown();
}

/* Behind run_at's level 0 nothing more is told; here that the fast path is back: it does not tell by itself. */
TEST(levels_out_of_range_are_the_nearest_one)
{
    levels_start();
    struct traced run = run_at(99);
    expect_lines(run.text, 1, "[GC] mark: tracing handle=%" PRIu64 ", type=pair", run.second);
    ck_assert_str_eq(run_at(-5).text, "");
    ck_assert_str_eq(run_at(0).text, "");
    coex_gc_shutdown();
}

TEST(level_in_the_environment_holds_from_the_first_allocation)
{
    coex_gc_config config = quiet_config();
    setenv("COEX_GC", "trace=2", 1);
    capture_begin();
    start_with(&config);
    coex_handle first = new_pair(type_pair(), 0, 0);
    coex_gc_shutdown();
    expect_lines(capture_end(), 1, "[GC] alloc: handle=%" PRIu64 ", type=pair, size=24", first);
}

/* ---- other threads -------------------------------------------------------------------------------------------------- */

static bool stop;
static uint64_t made;

static void *allocate(void *unused)
{
    (void)unused;
    coex_gc_register_thread();
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        new_pair(pairs, 0, 0);
        __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
    }
    coex_gc_unregister_thread();
    return NULL;
}

static uint64_t count_allocs(const char *text)
{
    uint64_t count = 0;
    for (; (text = strstr(text, "[GC] alloc: ")) != NULL; text++) count++;
    return count;
}

/* Its level changes while it runs: from its next slow path on all allocations are told, and then none. */
static void other_thread(void)
{
    pthread_t thread;
    stop = false;
    levels_start();
    pthread_create(&thread, NULL, allocate, NULL);
    coex_gc_enter_native();
    while (__atomic_load_n(&made, __ATOMIC_RELAXED) < 1000) usleep(100);
    capture_begin();
    coex_gc_set_trace_level(2);
    uint64_t before = __atomic_load_n(&made, __ATOMIC_RELAXED);
    while (__atomic_load_n(&made, __ATOMIC_RELAXED) < before + 5000) usleep(100);
    coex_gc_set_trace_level(0);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    char *text = capture_end();
    ck_assert_uint_gt(count_allocs(text), 5000 - 32768 / 24); /* a hole of a block at most goes by */
    coex_gc_leave_native();
    coex_gc_shutdown();
}

TEST_TIMEOUT(other_threads_follow_from_their_next_slow_path_on, 60) { both_ways(other_thread); }
