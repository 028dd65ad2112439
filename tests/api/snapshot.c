/*
 * coex_gc_write_heap_snapshot: the file is what the format says (support/snapshot_reader.h), and the graph in it is the program's.
 */
#include "support/borders.h"
#include "support/snapshot_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

typedef struct knot {
    coex_handle left, right;
    uint64_t value;
} knot;

static uint32_t knot_type, row_type;
static char folder[64], path[96];

static void snapshot_start_with(const coex_gc_config *config)
{
    static const uint32_t refs[] = {offsetof(knot, left), offsetof(knot, right)};
    static const char *const names[] = {"left", "right"};
    start_with(config);
    knot_type = type_from(
        &(coex_gc_type){.name = "Knot \"q\" \\", .size = sizeof(knot), .ref_offsets = refs, .ref_count = 2, .ref_names = names});
    row_type = type_refs();
    snprintf(folder, sizeof folder, "/tmp/coex-snapshot-XXXXXX");
    expect(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/heap.heapsnapshot", folder);
}

static void snapshot_start(void)
{
    coex_gc_config config = way_config();
    snapshot_start_with(&config);
}

static unsigned files_in_folder(void)
{
    unsigned count = 0;
    DIR *dir = opendir(folder);
    expect(dir != NULL);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void snapshot_end(void)
{
    unlink(path);
    expect_eq(files_in_folder(), 0); /* nothing is left over */
    rmdir(folder);
    coex_gc_shutdown();
}

static snapshot snapshot_now(void)
{
    int code = coex_gc_write_heap_snapshot(path);
    if (code != COEX_GC_OK) test_fail(__FILE__, __LINE__, "%s", coex_gc_error_detail());
    return snapshot_read(path);
}

static coex_handle new_knot(coex_handle left, coex_handle right)
{
    void *payload;
    coex_handle h = coex_gc_alloc_at(sizeof(knot), knot_type, &payload);
    expect(h != 0);
    *(knot *)payload = (knot){left, right, 7};
    return h;
}

static void expect_edge(const snapshot *shot, coex_handle from, const char *name, coex_handle to)
{
    const snapshot_node *node = snapshot_object(shot, from);
    ck_assert_ptr_nonnull(node);
    ck_assert_ptr_eq(snapshot_property(shot, node, name), snapshot_object(shot, to));
}

static uint64_t count_objects(const snapshot *shot)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < shot->node_count; i++) count += shot->node[i].type == NODE_OBJECT;
    return count;
}

/* ---- the graph ------------------------------------------------------------------------------------------------------ */

static void graph_is_the_programs(void)
{
    snapshot_start();
    coex_handle *slot = coex_gc_enter_frame(4);
    slot[0] = new_knot(0, 0);
    slot[1] = new_knot(slot[0], 0);
    slot[2] = new_knot(slot[0], slot[1]);
    slot[3] = coex_gc_alloc(5 * 8, row_type);
    coex_gc_store(slot[3], 0, slot[2]);
    coex_gc_store(slot[3], 8, COEX_IMMEDIATE(5));
    coex_gc_store(slot[3], 32, slot[3]); /* itself */
    coex_handle dead = new_knot(0, 0), shared = slot[0], middle = slot[1];
    slot[0] = slot[1] = 0;
    snapshot shot = snapshot_now();
    ck_assert_uint_eq(count_objects(&shot), 4);
    ck_assert_ptr_null(snapshot_object(&shot, dead));
    expect_edge(&shot, slot[2], "left", shared);
    expect_edge(&shot, slot[2], "right", middle);
    expect_edge(&shot, middle, "left", shared);
    ck_assert_uint_eq(snapshot_object(&shot, shared)->edge_count, 0);
    const snapshot_node *row = snapshot_object(&shot, slot[3]);
    ck_assert_uint_eq(row->edge_count, 2);
    ck_assert_ptr_eq(snapshot_element(&shot, row, 0), snapshot_object(&shot, slot[2]));
    ck_assert_ptr_eq(snapshot_element(&shot, row, 4), row);
    ck_assert_str_eq(row->name, "refs");
    ck_assert_str_eq(snapshot_object(&shot, middle)->name, "Knot \"q\" \\");
    coex_gc_object info;
    ck_assert(coex_gc_object_info(slot[3], &info));
    ck_assert_uint_eq(row->size, info.size);
    /* Thread, frame, slot. */
    ck_assert_uint_eq(shot.node[0].type, NODE_SYNTHETIC);
    const snapshot_node *thread = snapshot_property(&shot, &shot.node[0], "Thread 0 (main)");
    ck_assert_ptr_nonnull(thread);
    ck_assert_uint_eq(thread->type, NODE_SYNTHETIC);
    ck_assert_uint_eq(thread->edge_count, 1);
    const snapshot_node *frame = snapshot_property(&shot, thread, "frame 1");
    ck_assert_ptr_nonnull(frame);
    ck_assert_uint_eq(frame->edge_count, 2);
    ck_assert_ptr_eq(snapshot_element(&shot, frame, 2), snapshot_object(&shot, slot[2]));
    ck_assert_ptr_eq(snapshot_element(&shot, frame, 3), row);
    ck_assert_uint_eq(snapshot_named(&shot, "(Kept by this cycle only)")->edge_count, 0);
    coex_gc_leave_frame(slot);
    snapshot_end();
}

TEST(snapshot_has_the_objects_references_and_frames_of_the_program) { both_ways(graph_is_the_programs); }

static void finalize_nothing(coex_handle object, void *context)
{
    (void)object;
    (void)context;
}

static void trace_first(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    (void)size;
    coex_gc_visit(visitor, (const coex_handle *)payload + 1);
}

static void roots_of_every_kind(void)
{
    static coex_handle cell;
    char name[32];
    snapshot_start();
    uint32_t dying = type_from(&(coex_gc_type){.name = "Dying", .size = 8, .finalize = finalize_nothing});
    uint32_t traced = type_from(&(coex_gc_type){.name = "Traced", .size = 16, .trace = trace_first});
    coex_handle *slot = coex_gc_enter_frame(3);
    ck_assert_int_eq(coex_gc_add_global_root(&cell), COEX_GC_OK);
    coex_gc_global_store(&cell, new_knot(0, 0));
    slot[0] = new_knot(0, 0);
    coex_gc_pin(slot[0]);
    coex_handle dead = coex_gc_alloc(8, dying);
    coex_gc_stack *stack = coex_gc_stack_create(20);
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    coex_handle *asleep = coex_gc_enter_frame(1);
    asleep[0] = new_knot(0, 0);
    coex_handle sleeper = asleep[0];
    coex_gc_stack_switch(home);
    slot[1] = coex_gc_weak_new(slot[0]);
    slot[2] = coex_gc_ephemeron_new(slot[0], sleeper);
    slot[1] = new_knot(slot[1], slot[2]);
    slot[2] = coex_gc_alloc(16, traced);
    coex_gc_init_ref(slot[2], 8, slot[0]);
    snapshot shot = snapshot_now();
    const snapshot_node *globals = snapshot_named(&shot, "(Global roots)"), *pins = snapshot_named(&shot, "(Pinned objects)"),
                        *queue = snapshot_named(&shot, "(Queue of finalizers)");
    snprintf(name, sizeof name, "0x%" PRIxPTR, (uintptr_t)&cell);
    ck_assert_ptr_eq(snapshot_property(&shot, globals, name), snapshot_object(&shot, coex_gc_global_load(&cell)));
    ck_assert_ptr_eq(snapshot_element(&shot, pins, 0), snapshot_object(&shot, slot[0]));
    ck_assert_ptr_eq(snapshot_element(&shot, queue, 0), snapshot_object(&shot, dead));
    ck_assert_uint_eq(globals->edge_count + pins->edge_count + queue->edge_count, 3);
    const snapshot_node *suspended = NULL;
    for (uint64_t i = 0; i < shot.node[0].edge_count; i++) {
        if (strstr(shot.node[0].edge[i].name, "(suspended)") != NULL) suspended = &shot.node[shot.node[0].edge[i].to];
    }
    ck_assert_ptr_nonnull(suspended);
    ck_assert_ptr_eq(snapshot_element(&shot, snapshot_property(&shot, suspended, "frame 1"), 0), snapshot_object(&shot, sleeper));
    /* Weak edges are weak; the value of an ephemeron is not. */
    const snapshot_node *weak = snapshot_named(&shot, "coex weak reference"), *ephemeron = snapshot_named(&shot, "coex ephemeron");
    ck_assert_uint_eq(weak->edge_count, 1);
    ck_assert_uint_eq(weak->edge[0].type, EDGE_WEAK);
    ck_assert_ptr_eq(snapshot_property(&shot, weak, "target"), snapshot_object(&shot, slot[0]));
    ck_assert_uint_eq(ephemeron->edge_count, 2);
    ck_assert_ptr_eq(snapshot_property(&shot, ephemeron, "key"), snapshot_object(&shot, slot[0]));
    ck_assert_ptr_eq(snapshot_property(&shot, ephemeron, "value"), snapshot_object(&shot, sleeper));
    ck_assert_ptr_eq(snapshot_element(&shot, snapshot_object(&shot, slot[2]), 1), snapshot_object(&shot, slot[0]));
    coex_gc_unpin(slot[0]);
    coex_gc_global_store(&cell, 0);
    coex_gc_remove_global_root(&cell);
    coex_gc_stack_switch(stack);
    coex_gc_leave_frame(asleep);
    coex_gc_stack_switch(home);
    coex_gc_stack_destroy(stack);
    coex_gc_leave_frame(slot);
    snapshot_end();
}

TEST(snapshot_has_roots_of_every_kind_and_weak_edges) { both_ways(roots_of_every_kind); }

TEST(fields_without_names_are_called_by_their_offset)
{
    static const uint32_t refs[] = {16, 8};
    snapshot_start();
    uint32_t plain = type_from(&(coex_gc_type){.name = "Nameless", .size = 24, .ref_offsets = refs, .ref_count = 2});
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = new_knot(0, 0);
    slot[1] = coex_gc_alloc(24, plain);
    coex_gc_init_ref(slot[1], 8, slot[0]);
    coex_gc_init_ref(slot[1], 16, slot[0]);
    snapshot shot = snapshot_now();
    expect_edge(&shot, slot[1], "offset 8", slot[0]);
    expect_edge(&shot, slot[1], "offset 16", slot[0]);
    coex_gc_leave_frame(slot);
    snapshot_end();
}

TEST(names_that_are_not_utf_8_are_written_as_something_that_is)
{
    snapshot_start();
    uint32_t odd = type_from(&(coex_gc_type){.name = "a\xff\xc0\xaf\xed\xa0\x80\x01z \xc3\xa9\xf0\x9f\x8c\xb3", .size = 8});
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = coex_gc_alloc(8, odd);
    snapshot shot = snapshot_now();
    ck_assert_str_eq(snapshot_object(&shot, slot[0])->name, "a???\?\?\?\?z \xc3\xa9\xf0\x9f\x8c\xb3");
    coex_gc_leave_frame(slot);
    snapshot_end();
}

/* ---- errors --------------------------------------------------------------------------------------------------------- */

TEST(file_that_cannot_be_written_is_reported_and_leaves_nothing)
{
    char beyond[128];
    snapshot_start();
    snprintf(beyond, sizeof beyond, "%s/nowhere/heap.heapsnapshot", folder);
    ck_assert_int_eq(coex_gc_write_heap_snapshot(beyond), COEX_GC_EINVAL);
    ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), beyond));
    ck_assert_int_eq(coex_gc_write_heap_snapshot(folder), COEX_GC_EINVAL); /* it is a folder */
    ck_assert_int_eq(coex_gc_write_heap_snapshot(""), COEX_GC_EINVAL);
    ck_assert_int_eq(coex_gc_write_heap_snapshot(NULL), COEX_GC_EINVAL);
    ck_assert_uint_eq(files_in_folder(), 0);
    snapshot_end();
    ck_assert_int_eq(coex_gc_write_heap_snapshot(path), COEX_GC_ESTATE);
}

/* A limit on file sizes stands in for a full disk: a write fails in the middle. */
TEST(write_that_fails_halfway_leaves_the_old_file_and_no_other)
{
    snapshot_start();
    coex_handle *slot = coex_gc_enter_frame(1);
    for (int i = 0; i < 20000; i++) slot[0] = new_knot(slot[0], 0);
    FILE *old = fopen(path, "w");
    fputs("old", old);
    fclose(old);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){100000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    int code = coex_gc_write_heap_snapshot(path);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(code, COEX_GC_EINVAL);
    ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), "File too large"));
    char text[8] = "";
    old = fopen(path, "r");
    ck_assert_ptr_nonnull(fgets(text, sizeof text, old));
    fclose(old);
    ck_assert_str_eq(text, "old");
    ck_assert_uint_eq(files_in_folder(), 1);
    ck_assert_uint_gt(snapshot_now().node_count, 20000); /* and then it is replaced */
    coex_gc_leave_frame(slot);
    snapshot_end();
}

/* What is no regular file is written to, not put in the place of. */
TEST(devices_and_links_are_written_through)
{
    struct stat before, after;
    char other[112];
    snapshot_start();
    ck_assert_int_eq(stat("/dev/full", &before), 0);
    ck_assert_int_eq(coex_gc_write_heap_snapshot("/dev/full"), COEX_GC_EINVAL);
    ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), "No space left"));
    ck_assert_int_eq(stat("/dev/full", &after), 0);
    ck_assert(S_ISCHR(after.st_mode) && before.st_ino == after.st_ino);
    ck_assert_int_eq(coex_gc_write_heap_snapshot("/dev/null"), COEX_GC_OK);
    snprintf(other, sizeof other, "%s/target", folder);
    ck_assert_int_eq(symlink(other, path), 0);
    snapshot_now();
    ck_assert_int_eq(lstat(path, &after), 0);
    ck_assert(S_ISLNK(after.st_mode));
    unlink(other);
    snapshot_end();
}

/* Memory that cannot be had, in a process of its own. */
static void shoot_without_memory(void)
{
    coex_gc_config config = way_config();
    config.verify = false; /* it can't do without */
    snapshot_start_with(&config);
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = new_knot(0, 0);
    struct rlimit none = {0, RLIM_INFINITY};
    expect(setrlimit(RLIMIT_AS, &none) == 0);
    int code = coex_gc_write_heap_snapshot(path);
    none.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_AS, &none);
    expect_eq((uint64_t)code, COEX_GC_ENOMEM);
    expect_eq(files_in_folder(), 0);
    snapshot shot = snapshot_now(); /* and with memory it works again */
    expect(snapshot_object(&shot, slot[0]) != NULL);
    coex_gc_leave_frame(slot);
    snapshot_end();
}

TEST(snapshot_without_memory_is_refused_and_leaves_nothing)
{
    if (!test_is_sanitized()) both_ways(shoot_without_memory); /* sanitizers need address space of their own */
}

/* ---- fork ------------------------------------------------------------------------------------------------------------ */

static bool stop;

static void *shoot_all_the_time(void *unused)
{
    char own[112];
    (void)unused;
    snprintf(own, sizeof own, "%s-other", path);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        expect_eq((uint64_t)coex_gc_write_heap_snapshot(own), COEX_GC_OK);
        expect_eq((uint64_t)coex_gc_validate_heap(), 0);
    }
    unlink(own);
    return NULL;
}

static void shoot_in_child(const coex_handle *slot)
{
    char own[112];
    alarm(60);
    snprintf(own, sizeof own, "%s-child", path);
    expect_eq((uint64_t)coex_gc_write_heap_snapshot(own), COEX_GC_OK);
    snapshot shot = snapshot_read(own);
    unlink(own);
    expect(snapshot_object(&shot, slot[0]) != NULL);
    expect_eq((uint64_t)coex_gc_validate_heap(), 0);
    expect(coex_gc_why(slot[0]));
    _exit(0);
}

/* The child has nobody's visit, and can make its own. */
static void fork_in_visits(void)
{
    pthread_t thread;
    snapshot_start();
    stop = false;
    FILE *nowhere = fopen("/dev/null", "w");
    coex_gc_set_output(nowhere);
    coex_handle *slot = coex_gc_enter_frame(1);
    for (int i = 0; i < 30000; i++) slot[0] = new_knot(slot[0], 0);
    pthread_create(&thread, NULL, shoot_all_the_time, NULL);
    for (int i = 0; i < 8; i++) {
        int status;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) shoot_in_child(slot);
        COEX_GC_NATIVE(waitpid(child, &status, 0));
        expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    COEX_GC_NATIVE(pthread_join(thread, NULL));
    coex_gc_leave_frame(slot);
    coex_gc_set_output(NULL);
    fclose(nowhere);
    snapshot_end();
}

TEST_LABEL(child_of_a_fork_in_the_middle_of_a_visit_makes_its_own, forks)
TEST_TIMEOUT(child_of_a_fork_in_the_middle_of_a_visit_makes_its_own, 120)
{
    if (test_is_sanitized()) return; /* their allocator has no fork hooks: the child may find its lock taken for ever */
    both_ways(fork_in_visits);
}

/* ---- size and time -------------------------------------------------------------------------------------------------- */

/* Of all threads together: not spoilt by what else the machine does. */
static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Allocates all the while. */
static void *work(void *unused)
{
    (void)unused;
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(1);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 200; i++) slot[0] = new_knot(0, 0);
        usleep(1000);
    }
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
    return NULL;
}

TEST_LABEL(snapshot_of_a_million_objects_is_done_in_time_and_stops_nobody, timing)
TEST_TIMEOUT(snapshot_of_a_million_objects_is_done_in_time_and_stops_nobody, 60)
{
    const uint64_t count = test_is_sanitized() ? 50000 : 1000000;
    pthread_t thread;
    stop = false;
    snapshot_start();
    coex_gc_shutdown();
    coex_gc_config config = quiet_config();
    start_with(&config);
    static const uint32_t refs[] = {0, 8};
    knot_type = type_from(&(coex_gc_type){.name = "Knot", .size = sizeof(knot), .ref_offsets = refs, .ref_count = 2});
    coex_handle *slot = coex_gc_enter_frame(2);
    for (uint64_t i = 0; i < count; i++) slot[i % 2] = new_knot(slot[0], slot[1]);
    pthread_create(&thread, NULL, work, NULL);
    uint64_t before = cpu_ns();
    ck_assert_int_eq(coex_gc_write_heap_snapshot(path), COEX_GC_OK);
    uint64_t took = cpu_ns() - before;
    coex_gc_stats stats = stats_now();
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    COEX_GC_NATIVE(pthread_join(thread, NULL));
    printf("%" PRIu64 " objects: %.2f s, longest stop %.1f us on the CPU\n", count, (double)took / 1e9,
           (double)stats.stop_cpu.max / 1e3);
    ck_assert_uint_eq(stats.collections_completed, 1);
    if (!test_is_sanitized() && !test_is_checked()) ck_assert_uint_lt(took, 2000000000);
    if (!test_is_sanitized()) ck_assert_uint_lt(stats.stop_cpu.max, 2000000);
    snapshot shot = snapshot_read(path);
    ck_assert_uint_ge(count_objects(&shot), count);
    coex_gc_leave_frame(slot);
    snapshot_end();
}

/* ---- beside others -------------------------------------------------------------------------------------------------- */

static void churn(test_rng *rng)
{
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(20);
    slot[0] = coex_gc_alloc(100 * 8, row_type);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        slot[1 + rng_below(rng, 19)] = new_knot(0, 0);
        coex_handle *inner = coex_gc_enter_frame(1);
        inner[0] = new_knot(slot[1 + rng_below(rng, 9)], 0);
        coex_gc_store(slot[0], 8 * rng_below(rng, 100), inner[0]);
        if (rng_one_in(rng, 500)) usleep(500);
        coex_gc_leave_frame(inner);
    }
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
}

static void churn_or_shoot(unsigned index, void *unused)
{
    (void)unused;
    if (index < 2) {
        test_rng rng = rng_from(way_seed + index);
        churn(&rng);
        return;
    }
    char own[112];
    snprintf(own, sizeof own, "%s-%u", path, index);
    for (int i = 0; i < (test_is_sanitized() ? 3 : 10); i++) {
        expect_eq((uint64_t)coex_gc_write_heap_snapshot(own), COEX_GC_OK);
        snapshot_read(own);
    }
    unlink(own);
    if (index == 2) __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
}

static void two_at_once(void)
{
    snapshot_start();
    stop = false;
    coex_gc_enter_native();
    run_threads(4, churn_or_shoot, NULL);
    coex_gc_leave_native();
    snapshot_end();
}

TEST_TIMEOUT(two_threads_write_snapshots_while_others_store, 60) { both_ways(two_at_once); }
