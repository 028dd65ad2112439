/*
 * A program for the tools to look at: `subject <what> <file>`. It keeps a list of nodes and a table, and drops much else, on several
 * threads. What it keeps is known, so that the tests can compare.
 *
 *     trace FILE        an event trace
 *     profile FILE      an allocation profile: keeper() holds on to 100,000 nodes, waster() drops 20 MB
 *     prometheus FILE   the statistics
 *     snapshot FILE     a heap snapshot
 *     abort             stops in the middle of managed code, by abort(), for a debugger
 *     abort-names       the same, with types whose names are escape sequences, forged rows and no UTF-8
 */
#include <coex/gc.h>
#include <coex/gc_diag.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 100000, THREADS = 3 };

struct node {
    coex_handle next;
    uint64_t number, rest;
};

static atomic_bool enough; /* threads may end */
static uint32_t node_type, table_type, bytes_type;

/* As a program would that takes names from its input. */
static void allocate_named(coex_handle *slots)
{
    static const char *const names[] = {"evil\033]0;owned\a\r\033[31m", "row\n   9,999,999  99,999,999  forged",
                                        "raw \xff\xc0 \xc2\x9b", "\xe2\x80\xaegnol"};
    static const uint32_t refs[] = {0};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint32_t type = coex_gc_register_type(
            &(coex_gc_type){.name = names[i], .size = 40000, .ref_offsets = refs, .ref_count = 1, .ref_names = &names[i]});
        slots[2] = coex_gc_alloc(40000, type); /* larger than all nodes of a page, so that it is among the rows */
    }
}

static void register_types(void)
{
    static const uint32_t refs[] = {offsetof(struct node, next)};
    static const char *const names[] = {"next"};
    node_type = coex_gc_register_type(
        &(coex_gc_type){.name = "node", .size = sizeof(struct node), .ref_offsets = refs, .ref_count = 1, .ref_names = names});
    table_type = coex_gc_register_type(&(coex_gc_type){.name = "table <\"&>", .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY});
    bytes_type = coex_gc_register_type(&(coex_gc_type){.name = "bytes"});
}

/* Names that compilers do not change, for the profile. */
coex_handle keeper(coex_handle next, uint64_t number);
coex_handle waster(void);
coex_handle listen_for_requests(void);

__attribute__((noinline)) coex_handle keeper(coex_handle next, uint64_t number)
{
    void *payload;
    coex_handle node = coex_gc_alloc_at(sizeof(struct node), node_type, &payload);
    *(struct node *)payload = (struct node){.next = next, .number = number};
    __asm__ volatile("" ::: "memory"); /* a frame of its own */
    return node;
}

__attribute__((noinline)) coex_handle waster(void)
{
    coex_handle bytes = coex_gc_alloc(2000, bytes_type);
    __asm__ volatile("" ::: "memory");
    return bytes;
}

/* A name like those of the library's own functions. */
__attribute__((noinline)) coex_handle listen_for_requests(void)
{
    coex_handle bytes = waster();
    __asm__ volatile("" ::: "memory");
    return bytes;
}

static void *work(void *spawn)
{
    coex_gc_spawn_attach(spawn);
    coex_handle *slots = coex_gc_enter_frame(1);
    for (int i = 0; i < 200000 || !atomic_load(&enough); i++) slots[0] = keeper(i % 1000 == 0 ? 0 : slots[0], (uint64_t)i);
    coex_gc_leave_frame(slots);
    coex_gc_unregister_thread();
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        coex_gc_spawn *spawn = coex_gc_spawn_prepare(0);
        if (spawn == NULL || pthread_create(&threads[i], NULL, work, spawn) != 0) abort();
    }
    for (int i = 0; i < 3; i++) coex_gc_collect(); /* while they run */
    atomic_store(&enough, true);
    coex_gc_enter_native();
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    coex_gc_leave_native();
}

static void build(coex_handle *slots)
{
    for (uint64_t i = 0; i < KEPT; i++) {
        slots[0] = keeper(slots[0], i);
        if (i % 10 == 0) listen_for_requests();
    }
    slots[1] = coex_gc_alloc(24, table_type);
    coex_gc_store(slots[1], 8, slots[0]);
}

static int stop_here(coex_handle *slots)
{
    coex_handle local = slots[0];
    coex_handle *locals[] = {&local};
    coex_gc_push_frame(1, locals);
    fflush(stdout);
    abort();
}

static int write_prometheus(const char *file)
{
    FILE *stream = fopen(file, "w");
    int code = stream != NULL ? coex_gc_write_prometheus(stream) : 1;
    return stream != NULL && fclose(stream) == 0 ? code : 1;
}

static int trace(const char *file, coex_handle *slots)
{
    int code = coex_gc_trace_start(file);
    build(slots);
    run_threads();
    for (uint64_t i = 0; i < 5; i++) {
        coex_gc_trace_counter("rounds \"so far\" <&>", i);
        coex_gc_collect();
    }
    return code != COEX_GC_OK ? code : coex_gc_trace_stop();
}

static int profile(const char *file, coex_handle *slots)
{
    int code = coex_gc_profile_start(8192);
    build(slots);
    coex_gc_collect();
    return code != COEX_GC_OK ? code : coex_gc_profile_write(file);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *file = argc > 2 ? argv[2] : "";
    coex_gc_init();
    register_types();
    coex_handle *slots = coex_gc_enter_frame(3);
    int code = 2;
    if (strcmp(what, "trace") == 0) code = trace(file, slots);
    if (strcmp(what, "profile") == 0) code = profile(file, slots);
    if (strcmp(what, "prometheus") == 0) {
        build(slots);
        run_threads();
        code = write_prometheus(file);
    }
    if (strcmp(what, "snapshot") == 0) {
        build(slots);
        code = coex_gc_write_heap_snapshot(file);
    }
    if (strncmp(what, "abort", 5) == 0) {
        build(slots);
        if (strcmp(what, "abort-names") == 0) allocate_named(slots);
        code = stop_here(slots);
    }
    if (code != COEX_GC_OK) fprintf(stderr, "subject: %s: %s\n", what, coex_gc_error_detail());
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
    return code != COEX_GC_OK;
}
