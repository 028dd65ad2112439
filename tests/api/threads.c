/*
 * Threads that come and go: registration, the exit hook, spawning with a handle, many of them.
 */
#include "support/objects.h"

#include <pthread.h>
#include <time.h>

static uint64_t registered(void) { return stats_now().registered_thread_count; }

static void sleep_ms(long ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL); }

static void run_thread(void *(*body)(void *), void *arg)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, body, arg), 0);
    coex_gc_enter_native();
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    coex_gc_leave_native();
}

/* ---- registration ----------------------------------------------------------------------------------------- */

TEST(init_registers_its_thread)
{
    ck_assert_ptr_null(coex_gc_get_current_thread());
    start_quiet();
    ck_assert_ptr_nonnull(coex_gc_get_current_thread());
    ck_assert_uint_eq(registered(), 1);
    coex_gc_shutdown();
    ck_assert_ptr_null(coex_gc_get_current_thread());
}

TEST(double_registration_is_a_no_op)
{
    start_quiet();
    coex_gc_thread *self = coex_gc_get_current_thread();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_gc_alloc(sizeof(pair), type_pair());
    coex_gc_register_thread();
    coex_gc_register_thread();
    ck_assert_ptr_eq(coex_gc_get_current_thread(), self);
    ck_assert_uint_eq(registered(), 1);
    coex_gc_collect();
    ck_assert(coex_gc_is_handle(slots[0]));
    coex_gc_leave_frame(slots);
    coex_gc_unregister_thread(); /* once is enough */
    ck_assert_ptr_null(coex_gc_get_current_thread());
    ck_assert_uint_eq(registered(), 0);
    coex_gc_shutdown();
}

TEST(unregistration_without_registration_is_a_no_op)
{
    coex_gc_unregister_thread(); /* not even a runtime */
    start_quiet();
    coex_gc_unregister_thread();
    coex_gc_unregister_thread();
    ck_assert_uint_eq(registered(), 0);
    coex_gc_register_thread();
    ck_assert_uint_eq(registered(), 1);
    ck_assert_uint_ne(coex_gc_alloc(sizeof(pair), type_pair()), 0);
    coex_gc_shutdown();
    coex_gc_unregister_thread();
}

TEST(roots_of_a_thread_that_left_keep_nothing_alive)
{
    start_quiet();
    coex_handle *slots = coex_gc_enter_frame(1);
    coex_handle h = slots[0] = coex_gc_alloc(sizeof(pair), type_pair());
    coex_gc_unregister_thread(); /* with its frame still there */
    coex_gc_register_thread();
    coex_gc_collect();
    ck_assert(!coex_gc_is_handle(h));
    coex_gc_shutdown();
}

static void *note_current_thread(void *where)
{
    *(coex_gc_thread **)where = coex_gc_get_current_thread();
    coex_gc_register_thread();
    ((coex_gc_thread **)where)[1] = coex_gc_get_current_thread();
    coex_gc_unregister_thread();
    ((coex_gc_thread **)where)[2] = coex_gc_get_current_thread();
    return NULL;
}

TEST(each_thread_has_a_record_of_its_own_while_it_is_registered)
{
    coex_gc_thread *seen[3];
    start_quiet();
    run_thread(note_current_thread, seen);
    ck_assert_ptr_null(seen[0]);
    ck_assert_ptr_nonnull(seen[1]);
    ck_assert_ptr_ne(seen[1], coex_gc_get_current_thread());
    ck_assert_ptr_null(seen[2]);
    coex_gc_shutdown();
}

/* ---- the exit hook ---------------------------------------------------------------------------------------- */

static void *exit_registered(void *type)
{
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_gc_alloc(sizeof(pair), *(uint32_t *)type);
    return NULL;
}

static void *exit_native(void *type)
{
    exit_registered(type);
    coex_gc_enter_native();
    coex_gc_enter_native();
    return NULL;
}

static void *exit_by_pthread_exit(void *type)
{
    exit_registered(type);
    pthread_exit(NULL);
}

static void *exit_by_cancel(void *type)
{
    exit_native(type);
    for (;;) sleep_ms(1000); /* a cancellation point */
    return NULL;
}

TEST(thread_that_exits_registered_is_unregistered_for_it)
{
    start_quiet();
    uint32_t type = type_pair();
    run_thread(exit_registered, &type);
    ck_assert_uint_eq(registered(), 1);
    run_thread(exit_native, &type);
    ck_assert_uint_eq(registered(), 1);
    run_thread(exit_by_pthread_exit, &type);
    ck_assert_uint_eq(registered(), 1);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, exit_by_cancel, &type), 0);
    coex_gc_enter_native();
    sleep_ms(5);
    ck_assert_int_eq(pthread_cancel(thread), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    coex_gc_leave_native();
    ck_assert_uint_eq(registered(), 1);
    coex_gc_collect(); /* nobody is waited for */
    ck_assert_uint_eq(stats_now().current_handles_in_use, 0);
    coex_gc_shutdown();
}

/* ---- spawning with a handle ------------------------------------------------------------------------------- */

struct child {
    coex_gc_spawn *spawn;
    uint64_t value;
};

static void *child_body(void *arg)
{
    struct child *child = arg;
    coex_handle argument = coex_gc_spawn_attach(child->spawn);
    coex_gc_collect(); /* it is rooted in the first slot */
    child->value = ((pair *)coex_gc_handle_deref(argument))->value;
    return NULL;
}

TEST(argument_of_a_spawned_thread_lives_from_the_preparation_on)
{
    start_quiet();
    uint32_t type = type_pair();
    struct child child = {.spawn = coex_gc_spawn_prepare(new_pair(type, 0, 4711))};
    ck_assert_ptr_nonnull(child.spawn);
    ck_assert_uint_eq(registered(), 2);
    coex_gc_collect(); /* only the record holds it */
    run_thread(child_body, &child);
    ck_assert_uint_eq(child.value, 4711);
    ck_assert_uint_eq(registered(), 1);
    coex_gc_shutdown();
}

TEST(cancelled_spawn_leaves_nothing_behind)
{
    start_quiet();
    uint32_t type = type_pair();
    for (int i = 0; i < 1000; i++) {
        coex_gc_spawn *spawn = coex_gc_spawn_prepare(new_pair(type, 0, 1));
        ck_assert_ptr_nonnull(spawn);
        if (i % 100 == 0) coex_gc_collect();
        coex_gc_spawn_cancel(spawn);
    }
    ck_assert_uint_eq(registered(), 1);
    coex_gc_collect();
    coex_gc_collect();
    ck_assert_uint_eq(stats_now().current_handles_in_use, 0);
    coex_gc_shutdown();
}

/* ---- many ------------------------------------------------------------------------------------------------- */

static void live_a_little(unsigned index, void *type)
{
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(1);
    for (uint64_t i = 0; i < 20; i++) slots[0] = new_pair(*(uint32_t *)type, slots[0], i);
    uint64_t sum = 0;
    for (coex_handle h = slots[0]; h != 0; h = coex_gc_load(h, 0)) sum += ((pair *)coex_gc_handle_deref(h))->value;
    expect_eq(sum, 190);
    if (index % 2 == 0) coex_gc_unregister_thread();
}

TEST_TIMEOUT(five_thousand_threads_come_and_go, 60)
{
    unsigned batches = test_is_sanitized() ? 10 : 100;
    coex_gc_config config = default_config();
    config.initial_heap = 4 * MIB; /* so that cycles run meanwhile */
    start_with(&config);
    uint32_t type = type_pair();
    coex_gc_enter_native();
    for (unsigned i = 0; i < batches; i++) run_threads(50, live_a_little, &type);
    coex_gc_leave_native();
    ck_assert_uint_eq(registered(), 1);
    coex_gc_stats stats = stats_now();
    ck_assert_uint_eq(stats.total_allocations, (uint64_t)batches * 50 * 20);
    ck_assert_uint_gt(stats.collections_completed, 0);
    ck_assert_uint_eq(stats.current_handle_table_size, 1048576); /* each would have claimed a word of its own */
    coex_gc_collect();
    coex_gc_collect();
    ck_assert_uint_eq(stats_now().current_handles_in_use, 0);
    ck_assert_uint_le(stats_now().current_heap_used, MIB); /* nobody holds the blocks of those that left */
    coex_gc_shutdown();
}

struct crowd {
    uint32_t type;
    pthread_barrier_t all_there, all_done;
};

static void join_crowd(unsigned index, void *arg)
{
    struct crowd *crowd = arg;
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_pair(crowd->type, 0, index);
    coex_gc_enter_native();
    pthread_barrier_wait(&crowd->all_there);
    pthread_barrier_wait(&crowd->all_done);
    coex_gc_leave_native();
    expect_eq(((pair *)coex_gc_handle_deref(slots[0]))->value, index);
}

static void *look_at_crowd(void *arg)
{
    struct crowd *crowd = arg;
    pthread_barrier_wait(&crowd->all_there);
    uint64_t *seen = malloc(2 * sizeof *seen);
    seen[0] = registered();
    coex_gc_collect(); /* from a thread that is not registered; all others are in native mode */
    seen[1] = stats_now().objects_marked_last_cycle;
    pthread_barrier_wait(&crowd->all_done);
    return seen;
}

TEST_TIMEOUT(five_hundred_threads_at_once_keep_their_roots, 60)
{
    unsigned count = test_is_sanitized() ? 100 : 500;
    start_quiet();
    struct crowd crowd = {.type = type_pair()};
    pthread_barrier_init(&crowd.all_there, NULL, count + 1);
    pthread_barrier_init(&crowd.all_done, NULL, count + 1);
    pthread_t looker;
    uint64_t *seen;
    ck_assert_int_eq(pthread_create(&looker, NULL, look_at_crowd, &crowd), 0);
    coex_gc_enter_native();
    run_threads(count, join_crowd, &crowd);
    pthread_join(looker, (void **)&seen);
    coex_gc_leave_native();
    ck_assert_uint_eq(seen[0], count + 1);
    ck_assert_uint_eq(seen[1], count);
    free(seen);
    ck_assert_uint_eq(registered(), 1);
    coex_gc_shutdown();
}

/* Threads that only come and go, while another collects all the time. */
static void come_and_go(unsigned index, void *type)
{
    if (index == 0) {
        for (int i = 0; i < 50; i++) coex_gc_collect(); /* this one never registers */
        return;
    }
    for (int i = 0; i < (test_is_sanitized() ? 100 : 1000); i++) {
        coex_gc_register_thread();
        coex_handle *slots = coex_gc_enter_frame(1);
        slots[0] = new_pair(*(uint32_t *)type, 0, index);
        coex_gc_safepoint();
        expect_eq(((pair *)coex_gc_handle_deref(slots[0]))->value, index);
        coex_gc_unregister_thread();
    }
}

TEST_TIMEOUT(threads_come_and_go_beside_cycles, 60)
{
    start_quiet();
    uint32_t type = type_pair();
    coex_gc_enter_native();
    run_threads(6, come_and_go, &type);
    coex_gc_leave_native();
    ck_assert_uint_eq(registered(), 1);
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_shutdown();
}

TEST(registration_without_a_runtime_is_a_code)
{
    ck_assert_int_eq(coex_gc_try_register_thread(), COEX_GC_ESTATE);
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ESTATE);
    start_quiet();
    ck_assert_int_eq(coex_gc_try_register_thread(), COEX_GC_OK); /* it is already */
    ck_assert_uint_eq(registered(), 1);
    coex_gc_unregister_thread();
    ck_assert_int_eq(coex_gc_try_register_thread(), COEX_GC_OK);
    ck_assert_uint_eq(registered(), 1);
    coex_gc_shutdown();
    ck_assert_int_eq(coex_gc_try_register_thread(), COEX_GC_ESTATE);
}
