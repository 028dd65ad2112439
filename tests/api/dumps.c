/*
 * The dumps: read back to the letter by support/dump_parser.h, their numbers held against the statistics and against graphs that the test
 * knows, with a GC thread and without, alone and beside threads that allocate.
 */
#include "support/borders.h"
#include "support/dump_parser.h"

#include <pthread.h>

/* ---- types ---------------------------------------------------------------------------------------------------------- */

typedef struct person {
    coex_handle name, friend;
    uint64_t age;
} person;

static uint32_t person_type, word_type, row_type;

static void say_word(const void *payload, uint64_t size, char *text, uint64_t room)
{
    snprintf(text, room, "%.*s", (int)size, (const char *)payload);
}

static void types_init(void)
{
    static const uint32_t refs[] = {offsetof(person, name), offsetof(person, friend)};
    static const char *const names[] = {"name", "friend"};
    person_type = type_from(
        &(coex_gc_type){.name = "Person", .size = sizeof(person), .ref_offsets = refs, .ref_count = 2, .ref_names = names});
    word_type = type_from(&(coex_gc_type){.name = "Word"});
    row_type = type_from(&(coex_gc_type){.name = "Row", .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY, .array_offset = 8});
    ck_assert_int_eq(coex_gc_set_describer(word_type, say_word), COEX_GC_OK);
}

static coex_handle new_word(const char *text)
{
    void *payload;
    coex_handle h = coex_gc_alloc_at(strlen(text), word_type, &payload);
    expect(h != 0);
    memcpy(payload, text, strlen(text));
    return h;
}

/* Both are in slots of the caller's. */
static coex_handle new_person(coex_handle name, coex_handle friend, uint64_t age)
{
    void *payload;
    coex_handle h = coex_gc_alloc_at(sizeof(person), person_type, &payload);
    expect(h != 0);
    *(person *)payload = (person){name, friend, age};
    return h;
}

static void dumps_start(void)
{
    way_start();
    types_init();
}

/* ---- statistics ----------------------------------------------------------------------------------------------------- */

TEST(every_statistic_is_dumped_by_name_with_its_value)
{
    dumps_start();
    coex_handle *slot = coex_gc_enter_frame(1);
    for (int i = 0; i < 500; i++) slot[0] = new_word("statistics");
    coex_gc_collect();
    coex_gc_stats stats = stats_now();
    capture_begin();
    coex_gc_dump_stats();
    char *text = capture_end();
    ck_assert_int_eq(strncmp(text, "=== GC STATISTICS ===\n", 22), 0);
#define SAME(field) ck_assert_uint_eq(parse_stat(text, #field, NULL), stats.field)
    SAME(total_allocations);
    SAME(total_bytes_allocated);
    SAME(total_handles_allocated);
    SAME(collections_completed);
    SAME(objects_marked_last_cycle);
    SAME(objects_swept_last_cycle);
    SAME(bytes_reclaimed_last_cycle);
    SAME(handles_retired_last_cycle);
    SAME(handles_recycled_last_cycle);
    SAME(handle_table_growths);
    SAME(heap_growths);
    SAME(current_heap_size);
    SAME(current_heap_used);
    SAME(current_handle_table_size);
    SAME(current_handles_in_use);
    SAME(current_handles_free);
    SAME(largest_free_block);
    SAME(total_free_blocks);
    SAME(fragmentation_ratio_percent);
    SAME(last_gc_duration_ns);
    SAME(last_mark_duration_ns);
    SAME(last_sweep_duration_ns);
    SAME(total_gc_time_ns);
    SAME(registered_thread_count);
    SAME(max_shadow_stack_depth_seen);
    SAME(overhead_bytes);
    SAME(heap_goal);
    SAME(bytes_live_last_cycle);
    ck_assert_uint_eq(parse_stat(text, "stop_cpu", "max"), stats.stop_cpu.max);
    ck_assert_uint_eq(parse_stat(text, "handshake", "count"), stats.handshake.count);
    /* A line for each: numbers are words of the struct, times are as many words as they have. */
    ck_assert_uint_eq(parse_stats_count(text), (sizeof stats - 6 * sizeof stats.stop_cpu) / 8 + 6);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

/* ---- heap ----------------------------------------------------------------------------------------------------------- */

TEST(heap_summary_is_what_the_statistics_say)
{
    dumps_start();
    coex_handle *slot = coex_gc_enter_frame(100);
    for (int i = 0; i < 100; i++) slot[i] = coex_gc_alloc(3000, word_type);
    coex_gc_collect();
    coex_gc_stats stats = stats_now();
    capture_begin();
    coex_gc_dump_heap(0);
    dump_heap heap = parse_heap(capture_end());
    ck_assert(!heap.has_objects);
    ck_assert_uint_eq(heap.size, stats.current_heap_size);
    ck_assert_uint_eq(heap.size_mb, stats.current_heap_size / MIB);
    ck_assert_uint_eq(heap.used, stats.current_heap_used);
    ck_assert_double_eq_tol(heap.used_mb, (double)stats.current_heap_used / (double)MIB, 0.0051);
    ck_assert_uint_eq(heap.free_blocks, stats.total_free_blocks);
    ck_assert_uint_eq(heap.largest, stats.largest_free_block);
    ck_assert_uint_eq(stats_now().collections_completed, stats.collections_completed); /* no cycle for a summary */
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

static void expect_listed(const dump_heap *heap, coex_handle handle, const char *type)
{
    coex_gc_object info;
    const dump_heap_object *object = heap_find(heap, handle);
    expect(object != NULL && coex_gc_object_info(handle, &info));
    expect(strcmp(object->type, type) == 0);
    expect_eq(object->size, info.size);
    expect_eq(object->address, (uintptr_t)info.address);
}

static void lists_live_objects(void)
{
    dumps_start();
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[0] = new_word("Ada");
    slot[1] = new_person(slot[0], 0, 36);
    slot[2] = coex_gc_alloc(20000, word_type); /* a large one */
    coex_handle inner = slot[0], dead = new_word("nobody has me");
    slot[0] = 0;
    capture_begin();
    coex_gc_dump_heap(1);
    dump_heap heap = parse_heap(capture_end());
    ck_assert_uint_eq(heap.total, 3);
    expect_listed(&heap, inner, "Word");
    expect_listed(&heap, slot[1], "Person");
    expect_listed(&heap, slot[2], "Word");
    ck_assert_ptr_null(heap_find(&heap, dead));
    ck_assert_uint_eq(heap.object[0].byte_count, 0);
    ck_assert_uint_eq(stats_now().objects_marked_last_cycle, heap.total);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(heap_dump_lists_each_live_object_and_no_dead_one) { both_ways(lists_live_objects); }

TEST(heap_dump_of_verbosity_2_has_every_byte)
{
    dumps_start();
    coex_handle *slot = coex_gc_enter_frame(4);
    slot[0] = coex_gc_alloc(1000, word_type);
    slot[1] = coex_gc_alloc(33, word_type);
    slot[2] = coex_gc_alloc(0, word_type);
    slot[3] = new_person(slot[0], slot[1], 7);
    for (int i = 0; i < 1000; i++) ((unsigned char *)coex_gc_handle_deref(slot[0]))[i] = (unsigned char)(i * 7);
    memset(coex_gc_handle_deref(slot[1]), 0xab, 33);
    capture_begin();
    coex_gc_dump_heap(2);
    dump_heap heap = parse_heap(capture_end());
    ck_assert_uint_eq(heap.total, 4);
    for (int i = 0; i < 4; i++) {
        const dump_heap_object *object = heap_find(&heap, slot[i]);
        ck_assert_ptr_nonnull(object);
        ck_assert_uint_eq(object->byte_count, coex_gc_size(slot[i]));
        ck_assert(object->byte_count == 0 || memcmp(object->bytes, coex_gc_handle_deref(slot[i]), object->byte_count) == 0);
    }
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(names_that_are_not_printable_do_not_break_a_dump)
{
    char longest[300];
    dumps_start();
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    uint32_t odd = type_from(&(coex_gc_type){.name = "a\nb\tc", .size = 8});
    uint32_t large = type_from(&(coex_gc_type){.name = longest, .size = 8});
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = coex_gc_alloc(8, odd);
    capture_begin();
    coex_gc_dump_heap(1);
    dump_heap heap = parse_heap(capture_end());
    ck_assert_str_eq(heap_find(&heap, slot[0])->type, "a?b?c");
    slot[1] = coex_gc_alloc(8, large);
    capture_begin();
    coex_gc_dump_heap(1);
    char *text = capture_end();
    longest[200] = '\0';
    ck_assert_ptr_nonnull(strstr(text, longest));
    longest[200] = 'x';
    ck_assert_ptr_null(strstr(text, longest)); /* it ends after 200 bytes */
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

/* ---- handle table --------------------------------------------------------------------------------------------------- */

static dump_table table_now(int32_t verbosity)
{
    capture_begin();
    coex_gc_dump_handle_table(verbosity);
    return parse_table(capture_end());
}

TEST(handle_table_counts_what_is_in_use_free_and_retired)
{
    enum { COUNT = 300, KEPT_ONES = 50 };
    dumps_start();
    coex_handle *slot = coex_gc_enter_frame(KEPT_ONES);
    for (int i = 0; i < COUNT; i++) slot[i % KEPT_ONES] = new_word("x");
    dump_table before = table_now(0);
    ck_assert_uint_eq(before.in_use, COUNT);
    ck_assert_uint_eq(before.retired, 0);
    coex_gc_collect();
    coex_gc_stats stats = stats_now();
    dump_table after = table_now(0);
    ck_assert(!after.has_entries);
    ck_assert_uint_eq(after.size, stats.current_handle_table_size);
    ck_assert_uint_eq(after.in_use, KEPT_ONES);
    ck_assert_uint_eq(after.in_use, stats.current_handles_in_use);
    ck_assert_uint_eq(after.retired, COUNT - KEPT_ONES);
    ck_assert_uint_eq(after.free, stats.current_handles_free);
    ck_assert_uint_eq(after.in_use + after.free + after.retired + 1, after.size); /* and the null handle */
    ck_assert_uint_ge(after.next, COUNT);
    ck_assert_uint_eq(after.next % 64, 0);
    coex_gc_collect();
    ck_assert_uint_eq(table_now(0).retired, 0);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(handle_table_lists_handles_in_use_with_address_and_type)
{
    dumps_start();
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = new_word("Ada");
    slot[1] = new_person(slot[0], 0, 36);
    dump_table table = table_now(1);
    ck_assert(table.has_entries && !table.has_free);
    for (int i = 0; i < 2; i++) {
        const dump_entry *entry = table_find(&table, slot[i]);
        ck_assert_ptr_nonnull(entry);
        ck_assert_uint_eq(entry->address, (uintptr_t)coex_gc_handle_deref(slot[i]));
        ck_assert_str_eq(entry->type, i == 0 ? "Word" : "Person");
    }
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

/* A managed thread that has begun a word of handles, and holds the rest of it. */
static struct {
    volatile int step; /* 1: it holds some; 2: it may make its next object */
    coex_handle next;
} holder;

static void *hold_handles(void *unused)
{
    coex_gc_register_thread();
    new_word("z");
    __atomic_store_n(&holder.step, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&holder.step, __ATOMIC_ACQUIRE) < 2) coex_gc_safepoint();
    holder.next = new_word("z");
    coex_gc_unregister_thread();
    return unused;
}

TEST(whole_handle_table_accounts_for_every_slot)
{
    pthread_t thread;
    dumps_start();
    coex_handle *slot = coex_gc_enter_frame(1);
    expect(pthread_create(&thread, NULL, hold_handles, NULL) == 0);
    while (__atomic_load_n(&holder.step, __ATOMIC_ACQUIRE) < 1) coex_gc_safepoint();
    for (int i = 0; i < 1000; i++) slot[0] = new_word("x");
    coex_gc_collect();
    slot[0] = new_word("w"); /* a thread that waits for a cycle holds nothing behind it: now it does again */
    dump_table table = table_now(2);
    ck_assert(table.has_free);
    ck_assert_uint_eq(table.retired_count, table.retired);
    ck_assert_uint_eq(table.in_use + table.retired_count + table.held_count + table.free_entries + 1, table.size);
    ck_assert_uint_eq(table.held_count + table.free_entries, table.free);
    ck_assert_uint_eq(table.free_shown, 3);
    ck_assert_uint_eq(table.free_head, table.free_first[0]);
    ck_assert(table.free_first[0] < table.free_first[1] && table.free_first[1] < table.free_first[2]);
    for (uint64_t i = 0; i < table.free_shown; i++) {
        ck_assert_uint_lt(table.free_first[i], table.size);
        ck_assert(!coex_gc_is_handle(table.free_first[i]));
        for (uint64_t j = 0; j < table.held_count; j++) ck_assert_uint_ne(table.held_list[j], table.free_first[i]);
    }
    ck_assert_uint_eq(table.words, table.size / 64);
    ck_assert_uint_gt(table.available, 0);
    /* The next object of a thread has one of the handles that it holds. */
    coex_handle next = new_word("y");
    unsigned held = 0;
    __atomic_store_n(&holder.step, 2, __ATOMIC_RELEASE);
    COEX_GC_NATIVE(pthread_join(thread, NULL));
    for (uint64_t i = 0; i < table.held_count; i++) held += table.held_list[i] == next || table.held_list[i] == holder.next;
    ck_assert_uint_eq(held, 2);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(full_handle_table_has_an_empty_free_list)
{
    dumps_start();
    coex_gc_shutdown();
    coex_gc_config config = quiet_config();
    config.initial_handles = config.max_handles = 4096;
    start_with(&config);
    types_init();
    coex_handle *slot = coex_gc_enter_frame(4095);
    for (int i = 0; i < 4095; i++) expect((slot[i] = new_word("x")) != 0);
    dump_table table = table_now(2);
    ck_assert_uint_eq(table.in_use, 4095);
    ck_assert_uint_eq(table.free, 0);
    ck_assert_uint_eq(table.free_entries, 0);
    ck_assert_uint_eq(table.free_head, 0);
    ck_assert_uint_eq(table.free_shown, 0);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

/* ---- shadow stacks -------------------------------------------------------------------------------------------------- */

static dump_stacks stacks_now(void)
{
    capture_begin();
    coex_gc_dump_shadow_stacks();
    return parse_stacks(capture_end());
}

static void shows_frames(void)
{
    dumps_start();
    coex_handle *first = coex_gc_enter_frame(3), *empty = coex_gc_enter_frame(0), local = 0, other = 0;
    first[0] = new_word("Ada");
    first[2] = COEX_IMMEDIATE(42);
    local = new_word("local");
    coex_gc_frame *pushed = coex_gc_push_frame(2, (coex_handle *[]){&local, &other});
    coex_gc_root(first[0]); /* appended to the frame on top */
    dump_stacks stacks = stacks_now();
    const dump_stack *main = stacks_find(&stacks, "Thread 0 (main)");
    ck_assert_uint_eq(stacks.threads, 1);
    ck_assert_ptr_nonnull(main);
    ck_assert_uint_eq(main->depth, 3);
    ck_assert_uint_eq(main->watermark, 3); /* who asks waits in native mode: all of its frames are frozen */
    ck_assert_uint_eq(main->frame[0].number, 3);
    ck_assert_uint_eq(main->frame[0].count, 3);
    ck_assert_uint_eq(stack_slot(main, 3, 0), local);
    ck_assert_uint_eq(stack_slot(main, 3, 1), 0);
    ck_assert_uint_eq(stack_slot(main, 3, 2), first[0]);
    ck_assert_uint_eq(main->frame[1].count, 0);
    ck_assert_uint_eq(main->frame[2].count, 3);
    ck_assert_uint_eq(stack_slot(main, 1, 0), first[0]);
    ck_assert_uint_eq(stack_slot(main, 1, 1), 0);
    ck_assert_uint_eq(stack_slot(main, 1, 2), 42);
    ck_assert(main->frame[2].immediate[2] && !main->frame[2].immediate[0]);
    coex_gc_pop_frame(pushed);
    coex_gc_leave_frame(empty);
    coex_gc_leave_frame(first);
    dump_stacks bare = stacks_now();
    ck_assert_uint_eq(bare.stack[0].depth, 0);
    ck_assert_uint_eq(bare.stack[0].watermark, 0);
    coex_gc_shutdown();
}

TEST(stacks_show_frames_slots_locals_and_immediates) { both_ways(shows_frames); }

/* A thread that goes up and down between depth 30 and 40, with 100 slots a frame, polling all the time. */
enum { LOW = 30, HIGH = 40, WIDE = 100 };
static bool climbing, stop_climbing;

static void climb(unsigned depth, bool stay)
{
    coex_handle *slot = coex_gc_enter_frame(WIDE);
    slot[0] = new_person(0, 0, depth);
    for (int i = 1; i < WIDE; i++) slot[i] = COEX_IMMEDIATE(depth);
    if (depth < LOW) {
        climb(depth + 1, stay);
    } else if (depth == LOW && stay) {
        __atomic_store_n(&climbing, true, __ATOMIC_RELEASE);
        while (!__atomic_load_n(&stop_climbing, __ATOMIC_RELAXED)) climb(depth + 1, false);
    } else if (depth < HIGH) {
        climb(depth + 1, false);
    }
    coex_gc_safepoint();
    coex_gc_leave_frame(slot);
}

static void *climber(void *unused)
{
    (void)unused;
    coex_gc_register_thread();
    climb(1, true);
    coex_gc_unregister_thread();
    return NULL;
}

static void expect_climber(const dump_stack *stack)
{
    expect(stack != NULL && stack->depth >= LOW && stack->depth <= HIGH);
    expect(stack->watermark != 0 && stack->watermark < stack->depth); /* its top frames it reads itself */
    for (uint64_t i = 0; i < stack->frame_count; i++) {
        const dump_frame *frame = &stack->frame[i];
        expect_eq(frame->count, WIDE);
        /* The top frame may be about to be filled. */
        for (int j = 1; i > 0 && j < WIDE; j++) expect(frame->immediate[j] && frame->slot[j] == frame->number);
        expect(i == 0 || frame->slot[0] != 0);
    }
}

static void shows_running_thread(void)
{
    pthread_t thread;
    climbing = stop_climbing = false;
    dumps_start();
    pthread_create(&thread, NULL, climber, NULL);
    coex_gc_enter_native();
    while (!__atomic_load_n(&climbing, __ATOMIC_ACQUIRE)) usleep(100);
    for (int i = 0; i < 10; i++) {
        dump_stacks stacks = stacks_now();
        ck_assert_uint_eq(stacks.threads, 2);
        expect_climber(stacks_find(&stacks, "Thread 1"));
    }
    __atomic_store_n(&stop_climbing, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    coex_gc_leave_native();
    coex_gc_shutdown();
}

TEST_TIMEOUT(stack_of_a_running_thread_is_shown_as_it_was_at_its_root_scan, 60) { both_ways(shows_running_thread); }

static void shows_suspended(void)
{
    dumps_start();
    coex_gc_stack *stack = coex_gc_stack_create(50);
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[1] = new_word("asleep");
    coex_handle word = slot[1];
    coex_gc_stack_switch(home);
    dump_stacks stacks = stacks_now();
    ck_assert_uint_eq(stacks.threads, 1);
    ck_assert_uint_eq(stacks.count, 2);
    ck_assert_int_eq(strncmp(stacks.stack[1].name, "Stack ", 6), 0);
    ck_assert_ptr_nonnull(strstr(stacks.stack[1].name, " (suspended)"));
    ck_assert_uint_eq(stacks.stack[1].depth, 1);
    ck_assert_uint_eq(stack_slot(&stacks.stack[1], 1, 1), word);
    /* The other way round: the thread's own stack is the suspended one. */
    coex_gc_stack_switch(stack);
    stacks = stacks_now();
    ck_assert_uint_eq(stacks.count, 2);
    ck_assert_uint_eq(stack_slot(stacks_find(&stacks, "Thread 0 (main)"), 1, 1), word);
    ck_assert_uint_eq(stacks.stack[1].depth, 0);
    coex_gc_leave_frame(slot);
    coex_gc_stack_switch(home);
    coex_gc_stack_destroy(stack);
    coex_gc_shutdown();
}

TEST(suspended_stacks_are_shown_behind_the_threads) { both_ways(shows_suspended); }

TEST(argument_of_a_thread_that_has_not_started_is_in_frame_0)
{
    dumps_start();
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = new_word("argument");
    coex_gc_spawn *spawn = coex_gc_spawn_prepare(slot[0]);
    dump_stacks stacks = stacks_now();
    ck_assert_uint_eq(stacks.threads, 2);
    const dump_stack *child = stacks_find(&stacks, "Thread 1");
    ck_assert_uint_eq(child->depth, 0);
    ck_assert_uint_eq(stack_slot(child, 0, 0), slot[0]);
    coex_gc_spawn_cancel(spawn);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

/* ---- object --------------------------------------------------------------------------------------------------------- */

static dump_object object_now(coex_handle h)
{
    capture_begin();
    coex_gc_dump_object(h);
    return parse_object(capture_end());
}

static void expect_field(const dump_object *object, uint64_t offset, const char *kind, const char *value, const char *target,
                         const char *name)
{
    const dump_field *field = object_field(object, offset);
    ck_assert_str_eq(field->kind, kind);
    ck_assert_str_eq(field->value, value);
    ck_assert_str_eq(field->target, target);
    ck_assert_str_eq(field->name, name);
}

static const char *decimal(uint64_t value)
{
    static char text[4][24];
    static int next;
    next = (next + 1) % 4;
    snprintf(text[next], sizeof text[next], "%" PRIu64, value);
    return text[next];
}

TEST(object_dump_shows_header_and_fields_with_their_names)
{
    dumps_start();
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = new_word("hello");
    slot[1] = new_person(slot[0], 0, 42);
    coex_gc_collect();
    coex_gc_object info;
    ck_assert(coex_gc_object_info(slot[1], &info));
    uint64_t cycles = stats_now().collections_completed;
    dump_object object = object_now(slot[1]);
    ck_assert_uint_eq(stats_now().collections_completed, cycles); /* a look, no cycle */
    ck_assert_uint_eq(object.handle, slot[1]);
    ck_assert_uint_eq(object.address, (uintptr_t)info.address);
    ck_assert_str_eq(object.type, "Person");
    ck_assert_uint_eq(object.type_id, person_type);
    ck_assert_uint_eq(object.header_type, person_type);
    ck_assert_uint_eq(object.size, info.size);
    ck_assert_uint_eq(object.header_size, info.size);
    ck_assert_uint_eq(object.flags, info.flags);
    ck_assert_uint_eq(object.forward, 0);
    ck_assert(object.marked);
    ck_assert_uint_eq(object.field_count, 3);
    expect_field(&object, 0, "handle", decimal(slot[0]), "Word \"hello\"", "name");
    expect_field(&object, 8, "handle", "0", "", "friend");
    expect_field(&object, 16, "i64", "42", "", "");
    capture_begin();
    coex_gc_dump_object(slot[1]);
    ck_assert_ptr_nonnull(strstr(capture_end(), "  offset 8: handle = 0 (null)"));
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

static void trace_last(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    coex_gc_visit(visitor, (const coex_handle *)payload + size / 8 - 1);
}

TEST(object_dump_shows_arrays_immediates_odd_bytes_and_traced_fields)
{
    dumps_start();
    uint32_t traced = type_from(&(coex_gc_type){.name = "Traced", .trace = trace_last});
    coex_handle *slot = coex_gc_enter_frame(4);
    slot[0] = new_word("12345678abc");
    slot[1] = coex_gc_alloc(8 + 3 * 8, row_type);
    coex_gc_store(slot[1], 8, slot[0]);
    coex_gc_store(slot[1], 16, COEX_IMMEDIATE(77));
    slot[2] = coex_gc_alloc(24, traced);
    coex_gc_init_ref(slot[2], 16, slot[1]);
    slot[3] = coex_gc_weak_new(slot[0]);
    dump_object word = object_now(slot[0]), row = object_now(slot[1]), last = object_now(slot[2]), weak = object_now(slot[3]);
    ck_assert_uint_eq(word.field_count, 2);
    expect_field(&word, 8, "bytes", "61 62 63", "", "");
    ck_assert_uint_eq(row.field_count, 4);
    expect_field(&row, 0, "i64", "0", "", "");
    expect_field(&row, 8, "handle", decimal(slot[0]), "Word \"12345678abc\"", "[0]");
    expect_field(&row, 16, "immediate", "77", "", "[1]");
    expect_field(&row, 24, "handle", "0", "", "[2]");
    ck_assert_uint_eq(last.field_count, 3);
    expect_field(&last, 16, "handle", decimal(slot[1]), "Row", "");
    expect_field(&weak, 0, "handle", decimal(slot[0]), "Word \"12345678abc\"", "target");
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

static void say_nothing(const void *payload, uint64_t size, char *text, uint64_t room)
{
    (void)payload;
    (void)size;
    memset(text, 'n', room); /* and no end */
}

TEST(describers_are_refused_when_they_make_no_sense_and_cut_when_they_say_too_much)
{
    ck_assert_int_eq(coex_gc_set_describer(1, say_nothing), COEX_GC_ESTATE);
    dumps_start();
    ck_assert_int_eq(coex_gc_set_describer(0, say_nothing), COEX_GC_EINVAL);
    ck_assert_int_eq(coex_gc_set_describer(999999, say_nothing), COEX_GC_EINVAL);
    ck_assert_int_eq(coex_gc_set_describer(word_type, say_nothing), COEX_GC_OK); /* another one in its place */
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = new_word("hello");
    slot[1] = new_person(slot[0], 0, 1);
    capture_begin();
    coex_gc_dump_object(slot[1]);
    const char *said = strstr(capture_end(), "Word \"n");
    ck_assert_ptr_nonnull(said);
    ck_assert_uint_lt(strspn(said + 6, "n"), 100);
    ck_assert_int_eq(coex_gc_set_describer(word_type, NULL), COEX_GC_OK); /* none */
    dump_object silent = object_now(slot[1]);
    ck_assert_str_eq(object_field(&silent, 0)->target, "Word");
    int code = COEX_GC_OK, more = 0;
    for (; code == COEX_GC_OK && more < 100; more++) code = coex_gc_set_describer(type_plain(8, 0), say_word);
    ck_assert_int_eq(code, COEX_GC_ELIMIT);
    uint64_t size = 1;
    ck_assert_ptr_null(coex_gc_peek(0, &size));
    ck_assert_uint_eq(size, 0);
    ck_assert_ptr_eq(coex_gc_peek(slot[0], &size), coex_gc_handle_deref(slot[0]));
    ck_assert_uint_eq(size, 5);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

static void name_last(uint64_t size, uint64_t offset, char *text, uint64_t room)
{
    if (offset != size - 8) return;
    if (size == 24)
        snprintf(text, room, "last of %u", (unsigned)size);
    else
        memset(text, 'n', room); /* and no end */
}

static void trace_all(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    for (uint64_t i = 0; i < size / 8; i++) coex_gc_visit(visitor, (const coex_handle *)payload + i);
}

TEST(references_that_a_trace_function_finds_have_the_names_that_a_namer_gives)
{
    ck_assert_int_eq(coex_gc_set_namer(1, name_last), COEX_GC_ESTATE);
    dumps_start();
    ck_assert_int_eq(coex_gc_set_namer(999999, name_last), COEX_GC_EINVAL);
    uint32_t type = type_from(&(coex_gc_type){.name = "Traced", .trace = trace_all});
    ck_assert_int_eq(coex_gc_set_namer(type, name_last), COEX_GC_OK);
    ck_assert_int_eq(coex_gc_set_describer(type, say_word), COEX_GC_OK); /* beside it */
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[0] = new_word("hello");
    slot[1] = coex_gc_alloc(24, type);
    slot[2] = coex_gc_alloc(32, type);
    for (uint64_t i = 0; i < 3; i++) coex_gc_init_ref(slot[1], i * 8, slot[0]);
    coex_gc_init_ref(slot[2], 24, slot[0]);
    dump_object named = object_now(slot[1]), cut = object_now(slot[2]);
    expect_field(&named, 8, "handle", decimal(slot[0]), "Word \"hello\"", "");
    expect_field(&named, 16, "handle", decimal(slot[0]), "Word \"hello\"", "last of 24");
    ck_assert_uint_eq(strspn(object_field(&cut, 24)->name, "n"), 31);
    ck_assert_int_eq(coex_gc_set_namer(type, NULL), COEX_GC_OK);
    named = object_now(slot[1]);
    expect_field(&named, 16, "handle", decimal(slot[0]), "Word \"hello\"", "");
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(words_that_are_no_objects_are_dumped_as_such)
{
    static const uint64_t words[] = {0, 5000, 1 << 20, UINT64_MAX >> 2, COEX_IMMEDIATE(3), UINT64_MAX};
    dumps_start();
    coex_handle dead = new_word("dead");
    coex_gc_collect();
    ck_assert(!object_now(dead).is_object);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        dump_object object = object_now(words[i]);
        ck_assert(!object.is_object);
        ck_assert_uint_eq(object.handle, words[i]);
    }
    coex_gc_shutdown();
}

/* ---- circumstances -------------------------------------------------------------------------------------------------- */

TEST(dumps_without_a_runtime_say_that_there_is_nothing)
{
    capture_begin();
    coex_gc_dump_stats();
    ck_assert_uint_eq(parse_stat(capture_end(), "total_allocations", NULL), 0);
    for (int32_t verbosity = 0; verbosity < 3; verbosity++) {
        capture_begin();
        coex_gc_dump_heap(verbosity);
        ck_assert_uint_eq(parse_heap(capture_end()).size, 0);
        ck_assert_uint_eq(table_now(verbosity).size, 0);
    }
    ck_assert_uint_eq(stacks_now().threads, 0);
    ck_assert(!object_now(7).is_object);
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_fragmentation_report();
}

static void *ask_from_outside(void *unused)
{
    (void)unused;
    dump_stacks stacks = stacks_now(); /* a thread that is not registered */
    expect_eq(stacks.threads, 1);
    capture_begin();
    coex_gc_dump_heap(1);
    expect_eq(parse_heap(capture_end()).total, 1);
    return NULL;
}

static void any_thread_any_mode(void)
{
    pthread_t thread;
    dumps_start();
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = new_word("here");
    coex_gc_enter_native();
    ck_assert_uint_eq(stacks_now().threads, 1); /* in native mode */
    pthread_create(&thread, NULL, ask_from_outside, NULL);
    pthread_join(thread, NULL);
    coex_gc_leave_native();
    ck_assert_str_eq(object_now(slot[0]).type, "Word");
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

TEST(threads_that_are_native_or_not_registered_may_ask) { both_ways(any_thread_any_mode); }

/* For a debugger: nothing but standard error, and no cycle. */
TEST(debug_functions_write_to_standard_error_and_start_no_cycle)
{
    dumps_start();
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = new_word("hello");
    slot[1] = new_person(slot[0], 0, 42);
    capture_errors_begin();
    coex_gc_debug_stacks();
    dump_stacks stacks = parse_stacks(capture_errors_end());
    ck_assert_uint_eq(stacks.threads, 1);
    ck_assert_uint_eq(stack_slot(&stacks.stack[0], 1, 1), slot[1]);
    capture_errors_begin();
    coex_gc_debug_object(slot[1]);
    dump_object object = parse_object(capture_errors_end());
    ck_assert_str_eq(object.type, "Person");
    expect_field(&object, 0, "handle", decimal(slot[0]), "Word \"hello\"", "name");
    ck_assert_uint_eq(stats_now().collections_completed, 0);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

/* ---- beside others -------------------------------------------------------------------------------------------------- */

static bool stop;

static void mutate(test_rng *rng)
{
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(30);
    slot[0] = coex_gc_alloc(8 + 40 * 8, row_type);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        uint64_t at = 1 + rng_below(rng, 29);
        if (rng_one_in(rng, 3)) slot[at] = new_word("mutating");
        coex_handle *inner = coex_gc_enter_frame(1);
        inner[0] = new_word("inner");
        coex_gc_set_slot(&slot[at], new_person(inner[0], 0, 3));
        coex_gc_leave_frame(inner);
        coex_gc_store(slot[0], 8 + 8 * rng_below(rng, 40), slot[at]);
        if (rng_one_in(rng, 100)) climb(HIGH - 5, false);
        if (rng_one_in(rng, 500)) usleep(500); /* or a machine that is busy with other things would see no end of it */
        if (rng_one_in(rng, 200)) slot[1 + rng_below(rng, 29)] = coex_gc_alloc(30000, word_type);
    }
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
}

static void dump_all(int round)
{
    capture_begin();
    coex_gc_dump_heap(round % 3);
    parse_heap(capture_end());
    dump_stacks stacks = stacks_now();
    expect(stacks.threads >= 1 && stacks.threads <= 4);
    capture_begin();
    coex_gc_dump_handle_table(round % 2);
    if (round % 2 == 0) parse_table(capture_end());
    capture_begin();
    coex_gc_fragmentation_report();
    dump_fragments report = parse_fragments(capture_end());
    expect_eq(report.allocated + report.free, report.size);
    expect_eq(coex_gc_validate_heap(), 0);
    object_now(1 + (uint64_t)round);
}

static void mutate_or_dump(unsigned index, void *arg)
{
    test_rng rng = rng_from(way_seed + index);
    (void)arg;
    if (index < 3) {
        mutate(&rng);
        return;
    }
    for (int i = test_is_sanitized() ? 2 : 0; i < 3; i++) dump_all(i);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
}

static void beside_mutators(void)
{
    busy_start();
    types_init();
    stop = false;
    coex_gc_enter_native();
    run_threads(4, mutate_or_dump, NULL);
    coex_gc_leave_native();
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_shutdown();
}

TEST_TIMEOUT(every_dump_is_well_formed_while_threads_allocate_store_and_call, 120) { both_ways(beside_mutators); }

/* Two visits may share a cycle. */
static void ask_at_once(unsigned index, void *arg)
{
    (void)arg;
    for (int i = 0; i < 5; i++) {
        if (index % 2 == 0)
            expect_eq(coex_gc_validate_heap(), 0);
        else
            coex_gc_fragmentation_report();
    }
}

static void many_visits(void)
{
    FILE *nowhere = fopen("/dev/null", "w");
    dumps_start();
    coex_gc_set_output(nowhere);
    coex_gc_enter_native();
    run_threads(6, ask_at_once, NULL);
    coex_gc_leave_native();
    coex_gc_shutdown();
    coex_gc_set_output(NULL);
    fclose(nowhere);
}

TEST_TIMEOUT(many_threads_ask_at_once, 60) { both_ways(many_visits); }
