/*
 * Handles as a program sees them: unique, never 0, valid while the table grows, exhausted in order, reused in time.
 */
#include "support/objects.h"

#include <pthread.h>

/* A runtime with few handles; no cycle comes by itself. */
static void start_with_handles(uint64_t initial, uint64_t max)
{
    coex_gc_config config = quiet_config();
    config.initial_handles = initial;
    config.max_handles = max;
    start_with(&config);
}

/* ---- unique ----------------------------------------------------------------------------------------------- */

TEST(handles_are_unique_and_never_zero)
{
    enum { COUNT = 300000 };
    start_with_handles(4096, 1 << 20);
    uint32_t type = type_pair();
    static uint8_t seen[1 << 20];
    for (int i = 0; i < COUNT; i++) {
        coex_handle h = coex_gc_alloc(sizeof(pair), type);
        expect(h > 0 && h < 1 << 20);
        expect(!seen[h]);
        seen[h] = 1;
    }
    ck_assert_uint_eq(stats_now().collections_completed, 0);
    ck_assert_uint_eq(stats_now().total_allocations, COUNT);
    ck_assert_uint_eq(stats_now().current_handles_in_use, COUNT);
    coex_gc_shutdown();
}

enum { SHARED_HANDLES = 1 << 20 };

struct many {
    uint32_t type;
    uint32_t each;
    uint8_t *seen;
};

static void allocate_many(unsigned index, void *arg)
{
    struct many *many = arg;
    coex_gc_register_thread();
    for (uint32_t i = 0; i < many->each; i++) {
        coex_handle h = new_pair(many->type, 0, (uint64_t)index << 32 | i);
        expect(h > 0 && h < SHARED_HANDLES);
        expect_eq(__atomic_exchange_n(&many->seen[h], 1, __ATOMIC_RELAXED), 0);
    }
    coex_gc_unregister_thread();
}

TEST(threads_that_allocate_at_once_get_different_handles)
{
    start_with_handles(4096, SHARED_HANDLES);
    struct many many = {.type = type_pair(), .each = test_is_sanitized() ? 5000 : 100000, .seen = calloc(SHARED_HANDLES, 1)};
    coex_gc_enter_native();
    run_threads(8, allocate_many, &many);
    coex_gc_leave_native();
    ck_assert_uint_eq(many.seen[0], 0);
    ck_assert_uint_eq(stats_now().total_allocations, 8 * many.each);
    coex_gc_shutdown();
    free(many.seen);
}

TEST(handle_zero_is_not_given_out_when_all_others_are_recycled)
{
    start_with_handles(4096, 4096);
    uint32_t type = type_pair();
    for (int i = 0; i < 40000; i++) ck_assert_uint_ne(coex_gc_alloc(sizeof(pair), type), 0);
    ck_assert_uint_gt(stats_now().collections_completed, 5);
    ck_assert(!coex_gc_is_handle(0));
    ck_assert_ptr_null(coex_gc_handle_deref(0));
    coex_gc_shutdown();
}

/* ---- growth ----------------------------------------------------------------------------------------------- */

TEST_TIMEOUT(table_grows_past_16_million_and_no_handle_or_address_changes, 60)
{
    enum { EVERY = 4096, LISTS = 64 }; /* one list alone would be marked at the speed of memory, one object after the other */
    uint64_t count = test_is_sanitized() ? 300000 : 16900000;
    coex_gc_config config = quiet_config();
    config.initial_handles = 4096;
    config.max_handles = (uint64_t)1 << 26;
    config.initial_heap = 4 * GIB; /* no cycle before the whole list is there */
    start_with(&config);
    uint32_t type = type_pair();
    const void **address = calloc(count / EVERY + 1, sizeof *address);
    coex_handle *handle = calloc(count / EVERY + 1, sizeof *handle);
    coex_handle *slots = coex_gc_enter_frame(LISTS);
    for (uint64_t i = 0; i < count; i++) {
        void *payload;
        coex_handle h = coex_gc_alloc_at(sizeof(pair), type, &payload);
        expect(h != 0);
        *(pair *)payload = (pair){slots[i % LISTS], i};
        slots[i % LISTS] = h;
        if (i % EVERY == 0) {
            handle[i / EVERY] = h;
            address[i / EVERY] = payload;
        }
    }
    coex_gc_stats stats = stats_now();
    ck_assert_uint_eq(stats.collections_completed, 0);
    ck_assert_uint_gt(stats.current_handle_table_size, count);
    ck_assert_uint_ge(stats.handle_table_growths, test_is_sanitized() ? 6 : 12);
    ck_assert_uint_eq(stats.current_handles_in_use, count);

    coex_gc_collect();
    ck_assert_uint_eq(stats_now().objects_marked_last_cycle, count);
    ck_assert_uint_eq(stats_now().objects_swept_last_cycle, 0);
    for (uint64_t left = count; left > 0;) {
        left--;
        coex_handle h = slots[left % LISTS];
        const pair *p = coex_gc_handle_deref(h);
        expect_eq(p->value, left);
        if (left % EVERY == 0) {
            expect_eq(h, handle[left / EVERY]);
            expect_eq((uintptr_t)p, (uintptr_t)address[left / EVERY]);
        }
        slots[left % LISTS] = p->next;
    }
    for (int i = 0; i < LISTS; i++) ck_assert_uint_eq(slots[i], 0);
    coex_gc_shutdown();
    free(address);
    free(handle);
}

/* Readers never wait for growth, and never see anything but their objects. */
struct readers {
    uint32_t type;
    coex_handle first, last;
    int stop;
};

static void grow_or_read(unsigned index, void *arg)
{
    struct readers *readers = arg;
    coex_gc_register_thread();
    if (index == 0) {
        for (uint64_t i = 0; i % 256 != 0 || stats_now().handle_table_growths < 7; i++) expect(new_pair(readers->type, 0, 1) != 0);
        __atomic_store_n(&readers->stop, 1, __ATOMIC_RELEASE);
    }
    while (!__atomic_load_n(&readers->stop, __ATOMIC_ACQUIRE)) {
        for (coex_handle h = readers->first; h <= readers->last; h++) {
            const pair *p = coex_gc_handle_deref(h);
            expect(p != NULL);
            expect_eq(p->value, h);
        }
        coex_gc_safepoint();
    }
    coex_gc_unregister_thread();
}

TEST(old_handles_can_be_read_while_the_table_grows)
{
    start_with_handles(4096, 1 << 20);
    struct readers readers = {.type = type_pair()};
    coex_handle *slots = coex_gc_enter_frame(60);
    for (int i = 0; i < 60; i++) {
        slots[i] = coex_gc_alloc(sizeof(pair), readers.type);
        ((pair *)coex_gc_handle_deref(slots[i]))->value = slots[i];
    }
    readers.first = slots[0];
    readers.last = slots[59];
    ck_assert_uint_eq(readers.last - readers.first, 59);
    coex_gc_enter_native();
    run_threads(3, grow_or_read, &readers);
    coex_gc_leave_native();
    coex_gc_shutdown();
}

/* ---- exhaustion ------------------------------------------------------------------------------------------- */

/* A list as long as the handles allow. */
static uint64_t fill_with_pairs(uint32_t type, coex_handle *slot)
{
    uint64_t count = 0;
    for (coex_handle h; (h = new_pair(type, *slot, count)) != 0; count++) *slot = h;
    return count;
}

TEST(exhausted_handles_give_null_and_come_back_when_objects_die)
{
    start_with_handles(4096, 8192);
    uint32_t type = type_pair();
    coex_handle *slots = coex_gc_enter_frame(1);
    for (int round = 0; round < 3; round++) {
        uint64_t count = fill_with_pairs(type, &slots[0]);
        ck_assert_uint_eq(count, 8191);
        ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ELIMIT);
        ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), "all 8192 handles are in use"));
        void *payload = &count;
        ck_assert_uint_eq(coex_gc_alloc_at(sizeof(pair), type, &payload), 0);
        ck_assert_ptr_null(payload);
        /* Nothing is lost by it. */
        for (coex_handle h = slots[0]; h != 0; h = coex_gc_load(h, 0)) expect_eq(((pair *)coex_gc_handle_deref(h))->value, --count);
        ck_assert_uint_eq(count, 0);
        slots[0] = 0;
    }
    ck_assert_uint_gt(stats_now().hard_limit_waits, 0);
    coex_gc_shutdown();
}

static unsigned handler_calls;
static uint32_t handler_type;
static coex_handle *handler_slot;

static bool drop_list(uint64_t size, void *context)
{
    ck_assert_uint_eq(size, sizeof(pair));
    ck_assert_ptr_eq(context, &handler_calls);
    /* Inside the handler an allocation that finds no room returns at once and asks nobody. */
    ck_assert_uint_eq(coex_gc_alloc(sizeof(pair), handler_type), 0);
    handler_calls++;
    if (handler_slot == NULL) return false;
    *handler_slot = 0;
    coex_gc_collect();
    coex_gc_collect();
    return true;
}

TEST(handler_that_makes_room_is_asked_once_and_the_allocation_succeeds)
{
    coex_gc_config config = quiet_config();
    config.initial_handles = config.max_handles = 4096;
    config.out_of_memory = drop_list;
    config.context = &handler_calls;
    start_with(&config);
    uint32_t type = handler_type = type_pair();
    coex_handle *slots = coex_gc_enter_frame(1);
    ck_assert_uint_eq(fill_with_pairs(type, &slots[0]), 4095);
    ck_assert_uint_eq(handler_calls, 1);
    handler_slot = &slots[0];
    ck_assert_uint_ne(coex_gc_alloc(sizeof(pair), type), 0);
    ck_assert_uint_eq(handler_calls, 2);
    coex_gc_shutdown();
}

static void fill_and_drop(unsigned index, void *arg)
{
    struct many *many = arg;
    (void)index;
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(1);
    for (uint32_t i = 0; i < many->each; i++) {
        coex_handle h = new_pair(many->type, slots[0], i);
        if (h == 0) expect_eq(coex_gc_last_error(), COEX_GC_ELIMIT);
        slots[0] = h; /* null: the list is dropped */
    }
    coex_gc_leave_frame(slots);
    coex_gc_unregister_thread();
}

TEST_TIMEOUT(many_threads_at_the_limit_of_handles_all_go_on, 60)
{
    start_with_handles(4096, 16384);
    struct many many = {.type = type_pair(), .each = test_is_sanitized() ? 5000 : 30000};
    coex_gc_enter_native();
    run_threads(4, fill_and_drop, &many);
    coex_gc_leave_native();
    ck_assert_uint_gt(stats_now().hard_limit_waits, 0);
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_shutdown();
}

/* ---- reuse ------------------------------------------------------------------------------------------------ */

enum { FEW = 1000, MANY = 30000, REUSE_HANDLES = 1 << 18 };

/* Allocates until one of the given handles comes again, but at most MANY: more than a thread holds for itself. */
static int allocated_before_reuse(uint32_t type, const bool *is_dead)
{
    for (int i = 0; i < MANY; i++) {
        uint64_t index = index_of(coex_gc_alloc(sizeof(pair), type));
        expect(index != 0 && index < REUSE_HANDLES);
        if (is_dead[index]) return i;
    }
    return MANY;
}

TEST(retired_handle_is_not_reused_before_a_complete_cycle)
{
    static bool is_dead[REUSE_HANDLES];
    start_with_handles(REUSE_HANDLES, REUSE_HANDLES);
    uint32_t type = type_pair();
    coex_handle *slots = coex_gc_enter_frame(FEW), dead[FEW];
    for (int i = 0; i < FEW; i++) {
        dead[i] = slots[i] = coex_gc_alloc(sizeof(pair), type);
        is_dead[index_of(dead[i])] = true;
    }
    ck_assert_int_eq(allocated_before_reuse(type, is_dead), MANY); /* they are alive */
    memset(slots, 0, FEW * sizeof *slots);
    ck_assert_int_eq(allocated_before_reuse(type, is_dead), MANY); /* dead, and nobody knows */
    coex_gc_collect();
    for (int i = 0; i < FEW; i++) ck_assert(!coex_gc_is_handle(dead[i]));
    coex_gc_stats stats = stats_now();
    ck_assert_uint_eq(stats.objects_swept_last_cycle, FEW + 2 * MANY);
    ck_assert_uint_eq(stats.handles_retired_last_cycle, FEW + 2 * MANY);
    ck_assert_uint_eq(stats.handles_recycled_last_cycle, 0);
    ck_assert_int_eq(allocated_before_reuse(type, is_dead), MANY); /* retired by the first cycle */
    coex_gc_collect();
    ck_assert_uint_eq(stats_now().handles_recycled_last_cycle, FEW + 2 * MANY);
    ck_assert_int_lt(allocated_before_reuse(type, is_dead), MANY); /* free since the second, and taken before fresh ones */
    coex_gc_shutdown();
}

static pthread_barrier_t all_hold;

static void hold_some(unsigned index, void *type)
{
    (void)index;
    coex_gc_register_thread();
    expect(coex_gc_alloc(sizeof(pair), *(uint32_t *)type) != 0);
    coex_gc_enter_native();
    pthread_barrier_wait(&all_hold);
    coex_gc_leave_native();
}

TEST(handles_held_by_threads_that_left_can_be_had_again)
{
    enum { HOLDERS = 50 };
    start_with_handles(4096, 4096);
    uint32_t type = type_pair();
    pthread_barrier_init(&all_hold, NULL, HOLDERS);
    coex_gc_enter_native();
    run_threads(HOLDERS, hold_some, &type); /* each has claimed a word of 64 for one object */
    coex_gc_leave_native();
    pthread_barrier_destroy(&all_hold);
    coex_handle *slots = coex_gc_enter_frame(1);
    ck_assert_uint_eq(fill_with_pairs(type, &slots[0]), 4095);
    coex_gc_shutdown();
}
