/*
 * Event traces, the lines about cycles, and the statistics for Prometheus. What the files hold in detail is looked at by the scripts in
 * tests/tools, which read them as their viewers do.
 */
#include "support/objects.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64];

static const char *fresh_path(void)
{
    snprintf(path, sizeof path, "/tmp/coexgc-trace-%d.json", (int)getpid());
    unlink(path);
    return path;
}

/* The file as text; "" if there is none. */
static const char *read_file(const char *name)
{
    static char text[32 << 20];
    FILE *file = fopen(name, "r");
    size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL) fclose(file);
    text[length] = '\0';
    return text;
}

static int count_of(const char *text, const char *part)
{
    size_t length = strlen(part); /* by hand: sanitizers measure the whole text at each strstr */
    int count = 0;
    for (const char *at = text; *at != '\0'; at++) count += *at == *part && strncmp(at, part, length) == 0;
    return count;
}

/* ---- start and stop ---------------------------------------------------------------------------------------- */

TEST(trace_has_a_span_for_each_cycle_and_a_stop_for_each_answer)
{
    start_quiet();
    ck_assert_int_eq(coex_gc_trace_start(fresh_path()), COEX_GC_OK);
    uint32_t type = type_pair();
    coex_handle *slots = coex_gc_enter_frame(1);
    for (int i = 0; i < 1000; i++) slots[0] = new_pair(type, slots[0], (uint64_t)i);
    for (int i = 0; i < 7; i++) coex_gc_collect();
    coex_gc_leave_frame(slots);
    coex_gc_trace_counter("answer", 42);
    ck_assert_int_eq(coex_gc_trace_stop(), COEX_GC_OK);
    const char *text = read_file(path);
    ck_assert_int_eq(count_of(text, "\"cat\":\"cycle\""), 7);
    ck_assert_int_ge(count_of(text, "\"cat\":\"handshake\""), 7 * 4);
    ck_assert_int_eq(count_of(text, "\"name\":\"sweep handles\""), 7);
    ck_assert_int_eq(count_of(text, "\"cat\":\"blocks\""), 7);
    const char *live = strstr(text, "\"type\":\"pair\",\"live\":");
    ck_assert_ptr_nonnull(live);
    ck_assert_int_ge(atoi(live + 21), 1000 - 128); /* an estimate: a part of each word of handles is looked at */
    ck_assert_int_le(atoi(live + 21), 1000 + 128);
    ck_assert_int_eq(count_of(text, "\"name\":\"answer\""), 1);
    ck_assert_int_eq(count_of(text, "\"dropped\":0"), 1);
    unlink(path);
    coex_gc_shutdown();
}

/* Names of types and counters may be any bytes; the file is UTF-8 all the same. */
TEST(names_that_are_not_utf_8_are_written_as_something_that_is)
{
    start_quiet();
    ck_assert_int_eq(coex_gc_trace_start(fresh_path()), COEX_GC_OK);
    uint32_t odd = type_from(&(coex_gc_type){.name = "a\xff\xc0\xaf\xed\xa0\x80\x01z \"q\" \xc3\xa9", .size = 8});
    coex_handle *slots = coex_gc_enter_frame(64);
    for (int i = 0; i < 64; i++) slots[i] = coex_gc_alloc(8, odd);
    coex_gc_trace_counter("b\xfe\xf4\x90\x80\x80\\ \xf0\x9f\x8c\xb3", 1);
    coex_gc_collect();
    coex_gc_leave_frame(slots);
    ck_assert_int_eq(coex_gc_trace_stop(), COEX_GC_OK);
    const char *text = read_file(path);
    ck_assert_ptr_nonnull(strstr(text, "\"type\":\"a???\?\?\?\?z \\\"q\\\" \xc3\xa9\""));
    ck_assert_ptr_nonnull(strstr(text, "\"name\":\"b???\?\?\\\\ \xf0\x9f\x8c\xb3\""));
    unlink(path);
    coex_gc_shutdown();
}

TEST(nothing_is_recorded_before_start_and_after_stop)
{
    start_quiet();
    coex_gc_collect();
    ck_assert_int_eq(coex_gc_trace_start(fresh_path()), COEX_GC_OK);
    coex_gc_collect();
    ck_assert_int_eq(coex_gc_trace_stop(), COEX_GC_OK);
    coex_gc_collect();
    ck_assert_int_eq(count_of(read_file(path), "\"cat\":\"cycle\""), 1);
    ck_assert_int_eq(coex_gc_trace_start(path), COEX_GC_OK); /* and again: a trace of its own */
    coex_gc_collect();
    coex_gc_collect();
    ck_assert_int_eq(coex_gc_trace_stop(), COEX_GC_OK);
    ck_assert_int_eq(count_of(read_file(path), "\"cat\":\"cycle\""), 2);
    unlink(path);
    coex_gc_shutdown();
}

TEST(misuse_of_a_trace_is_a_code_and_a_line)
{
    ck_assert_int_eq(coex_gc_trace_start("x"), COEX_GC_ESTATE);
    start_quiet();
    ck_assert_int_eq(coex_gc_trace_stop(), COEX_GC_ESTATE);
    ck_assert_int_eq(coex_gc_trace_write("x"), COEX_GC_ESTATE);
    ck_assert_int_eq(coex_gc_trace_start(NULL), COEX_GC_EINVAL);
    ck_assert_int_eq(coex_gc_trace_start(""), COEX_GC_EINVAL);
    ck_assert_int_eq(coex_gc_trace_start("/nowhere/at/all.json"), COEX_GC_EINVAL);
    ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), "/nowhere/at/all.json"));
    ck_assert_int_eq(coex_gc_trace_start(fresh_path()), COEX_GC_OK);
    ck_assert_int_eq(coex_gc_trace_start("y"), COEX_GC_EALREADY);
    ck_assert_int_eq(coex_gc_trace_write("/nowhere/at/all.json"), COEX_GC_EINVAL);
    ck_assert_int_eq(coex_gc_trace_stop(), COEX_GC_OK);
    ck_assert_int_eq(coex_gc_trace_stop(), COEX_GC_ESTATE);
    unlink(path);
    coex_gc_shutdown();
}

TEST(write_leaves_the_recording_on)
{
    char other[80];
    start_quiet();
    ck_assert_int_eq(coex_gc_trace_start(fresh_path()), COEX_GC_OK);
    snprintf(other, sizeof other, "%s.part", path);
    coex_gc_collect();
    ck_assert_int_eq(coex_gc_trace_write(other), COEX_GC_OK);
    coex_gc_collect();
    ck_assert_int_eq(coex_gc_trace_stop(), COEX_GC_OK);
    ck_assert_int_eq(count_of(read_file(other), "\"cat\":\"cycle\""), 1);
    ck_assert_int_eq(count_of(read_file(path), "\"cat\":\"cycle\""), 2);
    unlink(other);
    unlink(path);
    coex_gc_shutdown();
}

TEST(a_full_ring_drops_the_oldest_events_and_says_how_many)
{
    start_quiet();
    ck_assert_int_eq(coex_gc_trace_start(fresh_path()), COEX_GC_OK);
    for (uint64_t i = 0; i < 70000; i++) coex_gc_trace_counter("many", i);
    ck_assert_int_eq(coex_gc_trace_stop(), COEX_GC_OK);
    const char *text = read_file(path);
    ck_assert_int_eq(count_of(text, "\"name\":\"many\""), 65536);
    ck_assert_ptr_nonnull(strstr(text, "\"dropped\":4464"));
    ck_assert_ptr_null(strstr(text, "\"value\":4463}"));
    ck_assert_ptr_nonnull(strstr(text, "\"value\":4464}"));
    ck_assert_ptr_nonnull(strstr(text, "\"value\":69999}"));
    unlink(path);
    coex_gc_shutdown();
}

/* ---- by the environment, at the end, in a fork ------------------------------------------------------------- */

static void start_by_environment(void)
{
    char options[128];
    forget_environment();
    snprintf(options, sizeof options, "heap=4M,events=%s,handles=4096", fresh_path());
    setenv("COEX_GC", options, 1);
    coex_gc_init();
}

TEST(trace_by_the_environment_is_written_at_shutdown)
{
    start_by_environment();
    coex_gc_collect();
    coex_gc_shutdown();
    ck_assert_int_eq(count_of(read_file(path), "\"cat\":\"cycle\""), 1);
    unlink(path);
}

TEST(trace_is_written_when_the_program_ends_without_shutdown)
{
    if (test_is_sanitized()) return; /* what it leaves behind on purpose they take for a leak */
    fresh_path();
    char name[64];
    strcpy(name, path);
    pid_t child = fork();
    if (child == 0) {
        char options[128];
        forget_environment();
        snprintf(options, sizeof options, "events=%s", name);
        setenv("COEX_GC", options, 1);
        coex_gc_init();
        coex_gc_collect();
        exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert_int_eq(count_of(read_file(name), "\"cat\":\"cycle\""), 1);
    unlink(name);
}

TEST(a_file_that_can_not_be_written_is_refused_at_init)
{
    coex_gc_config config = default_config();
    config.events = "/nowhere/at/all.json";
    ck_assert_int_eq(coex_gc_init_with(&config), COEX_GC_EINVAL);
    ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), "/nowhere/at/all.json"));
    config.events = "";
    ck_assert_int_eq(coex_gc_init_with(&config), COEX_GC_EINVAL);
    setenv("COEX_GC", "events=", 1);
    ck_assert_int_eq(coex_gc_init_with(NULL), COEX_GC_EOPTION);
    forget_environment();
    config = default_config();
    ck_assert_int_eq(coex_gc_init_with(&config), COEX_GC_OK); /* nothing was left behind */
    coex_gc_shutdown();
}

TEST_LABEL(child_of_a_fork_leaves_the_file_to_its_parent, forks)
TEST(child_of_a_fork_leaves_the_file_to_its_parent)
{
    start_by_environment();
    char name[64];
    strcpy(name, path);
    coex_gc_collect();
    pid_t child = fork();
    if (child == 0) {
        coex_gc_collect();
        coex_gc_shutdown();
        _exit(access(name, F_OK) != 0 ? 0 : 1); /* there is none before its parent writes it */
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    coex_gc_collect();
    coex_gc_shutdown();
    ck_assert_int_eq(count_of(read_file(name), "\"cat\":\"cycle\""), 2);
    unlink(name);
}

/* ---- while everything runs --------------------------------------------------------------------------------- */

static bool done;

static void allocate_or_trace(unsigned index, void *type)
{
    coex_gc_register_thread();
    if (index == 0) {
        for (int i = 0; i < (test_is_sanitized() ? 8 : 20); i++) {
            expect_eq(coex_gc_trace_start(path), COEX_GC_OK);
            coex_gc_collect();
            expect_eq(coex_gc_trace_write(path), COEX_GC_OK);
            expect_eq(coex_gc_trace_stop(), COEX_GC_OK);
        }
        __atomic_store_n(&done, true, __ATOMIC_RELEASE);
    } else {
        coex_handle *slots = coex_gc_enter_frame(1);
        while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
            slots[0] = 0;
            for (int i = 0; i < 100; i++) slots[0] = new_pair(*(uint32_t *)type, slots[0], (uint64_t)i);
            coex_gc_trace_counter("round", 1);
        }
        coex_gc_leave_frame(slots);
    }
    coex_gc_unregister_thread();
}

TEST_TIMEOUT(starting_and_stopping_beside_threads_that_record_is_safe, 60)
{
    start_quiet();
    fresh_path();
    uint32_t type = type_pair();
    coex_gc_enter_native();
    run_threads(4, allocate_or_trace, &type);
    coex_gc_leave_native();
    unlink(path);
    coex_gc_shutdown();
}

/* ---- lines ------------------------------------------------------------------------------------------------- */

TEST(level_1_prints_the_four_lines_of_each_collection)
{
    FILE *output = tmpfile();
    char line[256];
    unsigned number, full, marked, swept;
    double megabytes, ms;
    start_quiet();
    uint32_t type = type_pair();
    coex_handle *slots = coex_gc_enter_frame(1);
    for (int i = 0; i < 100; i++) slots[0] = new_pair(type, slots[0], (uint64_t)i);
    for (int i = 0; i < 5000; i++) new_pair(type, 0, 0);
    coex_gc_set_output(output);
    coex_gc_set_trace_level(1);
    coex_gc_collect();
    coex_gc_set_trace_level(0);
    rewind(output);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, output));
    ck_assert_int_eq(sscanf(line, "[GC] Collection #%u starting (heap %u%% full)\n", &number, &full), 2);
    ck_assert_uint_eq(number, 1);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, output));
    ck_assert_int_eq(sscanf(line, "[GC] Mark phase: %u objects marked\n", &marked), 1);
    ck_assert_uint_eq(marked, 100);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, output));
    ck_assert_int_eq(sscanf(line, "[GC] Sweep phase: %u objects reclaimed (%lf MB)\n", &swept, &megabytes), 2);
    ck_assert_uint_eq(swept, 5000);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, output));
    ck_assert_int_eq(sscanf(line, "[GC] Collection #%u complete in %lf ms\n", &number, &ms), 2);
    ck_assert_uint_eq(number, 1);
    ck_assert_ptr_null(fgets(line, sizeof line, output));
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
    coex_gc_set_output(NULL);
    fclose(output);
}

TEST(gctrace_is_one_line_for_each_cycle_in_the_order_of_go)
{
    FILE *output = tmpfile();
    char line[512];
    coex_gc_config config = quiet_config();
    config.gctrace = true;
    coex_gc_set_output(output);
    start_with(&config);
    for (int i = 0; i < 3; i++) coex_gc_collect();
    coex_gc_shutdown();
    coex_gc_set_output(NULL);
    rewind(output);
    for (unsigned i = 1; i <= 3; i++) {
        unsigned number, percent, threads, objects;
        double at, ask, mark, sweep, cpu, before, during, after, goal, p99, longest;
        ck_assert_ptr_nonnull(fgets(line, sizeof line, output));
        int fields = sscanf(
            line,
            "gc %u @%lfs %u%%: %lf+%lf+%lf ms clock, %lf ms cpu, %lf->%lf->%lf MB, %lf MB goal, %u objects, %u threads, "
            "stop %lf/%lf us\n",
            &number, &at, &percent, &ask, &mark, &sweep, &cpu, &before, &during, &after, &goal, &objects, &threads, &p99, &longest);
        ck_assert_int_eq(fields, 15);
        ck_assert_uint_eq(number, i);
        ck_assert_uint_eq(threads, 1);
    }
    ck_assert_ptr_null(fgets(line, sizeof line, output));
    fclose(output);
}

/* ---- Prometheus -------------------------------------------------------------------------------------------- */

static double metric(const char *text, const char *name)
{
    char start[128];
    snprintf(start, sizeof start, "\n%s ", name);
    const char *found = strstr(text, start);
    if (found == NULL) test_fail(__FILE__, __LINE__, "there is no %s", name);
    return strtod(found + strlen(start), NULL);
}

TEST(prometheus_tells_what_the_statistics_tell)
{
    start_quiet();
    uint32_t type = type_pair();
    for (int i = 0; i < 1000; i++) new_pair(type, 0, 0);
    for (int i = 0; i < 3; i++) coex_gc_collect();
    fresh_path();
    FILE *file = fopen(path, "w");
    ck_assert_int_eq(coex_gc_write_prometheus(file), COEX_GC_OK);
    fclose(file);
    coex_gc_stats stats = stats_now();
    const char *text = read_file(path);
    ck_assert_double_eq(metric(text, "coexgc_cycles_total"), 3);
    ck_assert_double_eq(metric(text, "coexgc_allocations_total"), 1000);
    ck_assert_double_eq(metric(text, "coexgc_heap_used_bytes"), (double)stats.current_heap_used);
    ck_assert_double_eq(metric(text, "coexgc_handshake_seconds_count"), (double)stats.handshake.count);
    ck_assert_double_eq_tol(metric(text, "coexgc_handshake_seconds_sum"), (double)stats.handshake.sum / 1e9, 1e-9);
    ck_assert_uint_ge(stats.handshake.sum, stats.handshake.max);
    unlink(path);
    coex_gc_shutdown();
}

TEST(prometheus_without_a_runtime_is_all_zero)
{
    fresh_path();
    FILE *file = fopen(path, "w");
    ck_assert_int_eq(coex_gc_write_prometheus(file), COEX_GC_OK);
    fclose(file);
    ck_assert_double_eq(metric(read_file(path), "coexgc_heap_used_bytes"), 0);
    unlink(path);
}
