/*
 * coex_gc_validate_heap on heaps that are not as they should be: each damage is planted by hand, found, described in the words that tools
 * know, and healed; or planted in a process of its own that does not go on afterwards.
 */
#include "support/dump_parser.h"
#include "support/nodes.h"
#include "support/objects.h"

#include "gc/threads/thread_record.h"

#include <pthread.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

static coex_handle *slot;

/* A link with two leaves, and a cell. */
static void start_sound(void)
{
    start_quiet();
    nodes_init();
    slot = coex_gc_enter_frame(5);
    slot[0] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    slot[1] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    slot[2] = node_make(node_fresh_id(NODE_LINK), slot, 2, 0);
    slot[3] = node_make(node_fresh_id(NODE_CELL), (coex_handle[NODE_CELL_FIELDS]){0}, NODE_CELL_FIELDS, 0);
    slot[4] = node_make(node_fresh_id(NODE_BLOB), NULL, 0, 5000); /* a large one */
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
}

/* What is wrong now; the number it returns is the number it prints. */
static dump_faults faults_now(void)
{
    capture_begin();
    int32_t count = coex_gc_validate_heap();
    dump_faults faults = parse_faults(capture_end());
    ck_assert_int_eq(count, (int32_t)faults.count);
    return faults;
}

__attribute__((format(printf, 2, 3))) static void expect_fault(const dump_faults *faults, const char *format, ...)
{
    char wanted[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wanted, sizeof wanted, format, arguments);
    va_end(arguments);
    for (uint64_t i = 0; i < faults->count; i++) {
        if (strncmp(faults->line[i], wanted, strlen(wanted)) == 0) return;
    }
    ck_abort_msg("'%s' was not found; first of %d: '%s'", wanted, (int)faults->count, faults->count != 0 ? faults->line[0] : "");
}

/* The damage is healed by then: the runtime ends as it should. */
static void end(void)
{
    ck_assert_uint_eq(faults_now().count, 0);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(sound_heap_is_valid_and_nothing_is_printed)
{
    start_sound();
    capture_begin();
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    ck_assert_str_eq(capture_end(), "");
    end();
}

/* ---- 1. slots of the table ------------------------------------------------------------------------------------------ */

TEST(slot_that_leads_out_of_the_heap_is_found)
{
    static uint64_t elsewhere[8];
    start_sound();
    void *was = cx_world.handles.table[slot[0]];
    memcpy(elsewhere, (uint64_t *)was - 1, 40);
    cx_world.handles.table[slot[0]] = elsewhere + 1;
    dump_faults faults = faults_now();
    expect_fault(&faults, "Handle %" PRIu64 " points to address 0x%" PRIxPTR " outside heap bounds", slot[0],
                 (uintptr_t)(elsewhere + 1));
    ck_assert_uint_eq(faults.count, 1);
    cx_world.handles.table[slot[0]] = was;
    end();
}

/* ---- 2. headers ----------------------------------------------------------------------------------------------------- */

TEST(unknown_type_in_a_header_is_found)
{
    start_sound();
    void *payload = coex_gc_handle_deref(slot[0]);
    uint64_t *header = (uint64_t *)payload - 1, was = *header;
    uint32_t beyond = cx_a32_load_relaxed(&cx_world.types.count) + 5;
    *header = cx_header_handle(was) | (uint64_t)beyond << COEX_GC_TYPE_SHIFT;
    dump_faults faults = faults_now();
    expect_fault(&faults, "Object at 0x%" PRIxPTR " has invalid type_id %u", (uintptr_t)payload, beyond);
    ck_assert_uint_eq(faults.count, 1);
    *header = was;
    end();
}

TEST(wrong_handle_in_a_header_is_found)
{
    start_sound();
    uint64_t *header = (uint64_t *)coex_gc_handle_deref(slot[0]) - 1, was = *header;
    *header = (was & ~(CX_MAX_HANDLES - 1)) | slot[1];
    dump_faults faults = faults_now();
    expect_fault(&faults, "Object of handle %" PRIu64 " has handle %" PRIu64 " in its header", slot[0], slot[1]);
    *header = was;
    end();
}

/* ---- 3. references -------------------------------------------------------------------------------------------------- */

/* A marker of a checked build stops at it first: so release builds only. */
TEST(reference_to_no_object_is_found)
{
    start_sound();
    if (!test_is_checked()) {
        coex_handle *payload = coex_gc_handle_deref(slot[3]);
        coex_handle *field = &payload[node_cell_offset(2) / 8];
        *field = 3000;
        dump_faults faults = faults_now();
        expect_fault(&faults,
                     "Object at 0x%" PRIxPTR " has invalid handle 3000 at offset %" PRIu64 " (handle %" PRIu64 ", type cell)",
                     (uintptr_t)payload, node_cell_offset(2), slot[3]);
        *field = COEX_IMMEDIATE(3000); /* which is none */
        ck_assert_uint_eq(faults_now().count, 0);
        *field = 0;
    }
    end();
}

/* ---- 4. free handles ------------------------------------------------------------------------------------------------ */

TEST(retired_handle_that_is_free_is_found)
{
    start_sound();
    cx_a64_or_relaxed(&cx_world.handles.retired[20], 1); /* a word that nobody has begun */
    dump_faults faults = faults_now();
    expect_fault(&faults, "Free list: handle %d is retired and free", 20 * 64);
    ck_assert_uint_eq(faults.count, 1);
    cx_a64_and_relaxed(&cx_world.handles.retired[20], ~(uint64_t)1);
    end();
}

TEST(free_handle_that_leads_to_an_object_is_found)
{
    start_sound();
    coex_handle free = 20 * 64 + 3;
    cx_world.handles.table[free] = cx_world.handles.table[slot[0]];
    dump_faults faults = faults_now();
    expect_fault(&faults, "Free list: handle %" PRIu64 " is free and points to address 0x%" PRIxPTR, free,
                 (uintptr_t)cx_world.handles.table[slot[0]]);
    cx_world.handles.table[free] = NULL;
    end();
}

/* ---- 5. space ------------------------------------------------------------------------------------------------------- */

TEST(two_objects_in_one_place_are_found)
{
    start_sound();
    void *was = cx_world.handles.table[slot[0]];
    cx_world.handles.table[slot[0]] = cx_world.handles.table[slot[1]];
    dump_faults faults = faults_now();
    ck_assert(faults_have(&faults, "overlaps another"));
    cx_world.handles.table[slot[0]] = was;
    end();
}

TEST(object_that_is_longer_than_its_pages_is_found)
{
    start_sound();
    uint64_t *length = (uint64_t *)coex_gc_handle_deref(slot[4]) - 2, was = *length;
    *length += 8192;
    dump_faults faults = faults_now();
    expect_fault(&faults, "Object of handle %" PRIu64 " at 0x%" PRIxPTR " overlaps the end of its pages", slot[4],
                 (uintptr_t)coex_gc_handle_deref(slot[4]));
    *length = was;
    end();
}

/* ---- 6. stacks ------------------------------------------------------------------------------------------------------ */

TEST(handle_that_names_nothing_in_a_slot_is_found)
{
    start_sound();
    coex_handle *inner = coex_gc_enter_frame(2);
    inner[1] = 3000;
    dump_faults faults = faults_now();
    expect_fault(&faults, "Shadow stack of Thread 0 (main): frame 2, slot 1 has invalid handle 3000");
    ck_assert_uint_eq(faults.count, 1);
    coex_gc_leave_frame(inner);
    end();
}

TEST(frame_without_room_for_its_slots_is_found)
{
    start_sound();
    coex_handle *inner = coex_gc_enter_frame(2);
    inner[-1] = COEX_GC_FRAME_HEADER(7);
    dump_faults faults = faults_now();
    expect_fault(&faults, "Shadow stack of Thread 0 (main): frame 2 has 7 slots and room for 2");
    inner[-1] = COEX_GC_FRAME_HEADER(2);
    coex_gc_leave_frame(inner);
    end();
}

static bool ready, stop;

/* Keeps an invalid handle in a slot of a frame far down, and runs. */
static void *keep_invalid(void *unused)
{
    (void)unused;
    coex_gc_register_thread();
    coex_handle *bad = coex_gc_enter_frame(3), *wide = coex_gc_enter_frame(400);
    bad[2] = 3000;
    __atomic_store_n(&ready, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) coex_gc_safepoint();
    coex_gc_leave_frame(wide);
    coex_gc_leave_frame(bad);
    coex_gc_unregister_thread();
    return NULL;
}

TEST(slot_of_another_thread_that_runs_is_looked_at)
{
    pthread_t thread;
    start_sound();
    pthread_create(&thread, NULL, keep_invalid, NULL);
    coex_gc_enter_native();
    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) usleep(100);
    dump_faults faults = faults_now();
    expect_fault(&faults, "Shadow stack of Thread 1: frame 1, slot 2 has invalid handle 3000");
    ck_assert_uint_eq(faults.count, 1);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    coex_gc_leave_native();
    end();
}

TEST(slot_of_a_suspended_stack_is_looked_at)
{
    start_sound();
    coex_gc_stack *stack = coex_gc_stack_create(20);
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    coex_handle *bad = coex_gc_enter_frame(1);
    bad[0] = 3000;
    coex_gc_stack_switch(home);
    dump_faults faults = faults_now();
    ck_assert_uint_eq(faults.count, 1);
    ck_assert(faults_have(&faults, "(suspended): frame 1, slot 0 has invalid handle 3000"));
    coex_gc_stack_switch(stack);
    coex_gc_leave_frame(bad);
    coex_gc_stack_switch(home);
    coex_gc_stack_destroy(stack);
    end();
}

/* ---- several, and for good ------------------------------------------------------------------------------------------ */

TEST(every_error_is_printed_and_counted)
{
    static uint64_t elsewhere[8];
    start_sound();
    void *was = cx_world.handles.table[slot[0]];
    memcpy(elsewhere, (uint64_t *)was - 1, 40);
    cx_world.handles.table[slot[0]] = elsewhere + 1;
    cx_a64_or_relaxed(&cx_world.handles.retired[20], 7);
    coex_handle *inner = coex_gc_enter_frame(1);
    inner[0] = 3000;
    ck_assert_uint_eq(faults_now().count, 5);
    coex_gc_leave_frame(inner);
    cx_a64_and_relaxed(&cx_world.handles.retired[20], ~(uint64_t)7);
    cx_world.handles.table[slot[0]] = was;
    end();
}

/* A stretch of the heap is overwritten, as a stray pointer would: nothing can be healed, and the process reports and ends. The objects are
 * in no slot but in a table that the marker does not follow into, so that it does not trip over them first. */
static void overwrite_and_validate(void)
{
    char *payload = coex_gc_handle_deref(slot[0]);
    memset(payload - 8, 0xff, 8);
    dump_faults faults = faults_now();
    expect(faults.count >= 1);
    expect(faults_have(&faults, "has invalid type_id"));
}

TEST(overwritten_header_is_reported_in_a_process_that_ends_there)
{
    start_sound();
    coex_gc_collect(); /* the GC thread is there: see start_kept of support/forks.h */
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        overwrite_and_validate();
        _exit(0);
    }
    int status;
    COEX_GC_NATIVE(waitpid(child, &status, 0));
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    end();
}
