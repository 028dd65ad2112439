/*
 * Little address space (RLIMIT_AS): reservations are halved until they fit, or init says that there is no memory. Growth
 * that the system refuses is exhaustion like any other.
 */
#include "support/limits.h"
#include "support/nodes.h"
#include "support/objects.h"

#include <pthread.h>

/* A list that is walked again. */
static void use_runtime(void)
{
    uint32_t pairs = type_pair();
    coex_handle *slots = coex_gc_enter_frame(1);
    for (uint64_t i = 0; i < 10000; i++) {
        coex_handle h = new_pair(pairs, slots[0], i);
        expect(h != 0);
        slots[0] = h;
    }
    coex_gc_collect();
    uint64_t expected = 10000;
    for (coex_handle h = slots[0]; h != 0; h = coex_gc_load(h, 0)) expect_eq(((pair *)coex_gc_handle_deref(h))->value, --expected);
    expect_eq(expected, 0);
    coex_gc_leave_frame(slots);
}

TEST_TIMEOUT(init_succeeds_or_says_that_there_is_no_memory_whatever_the_limit, 60)
{
    if (test_is_sanitized()) return; /* their shadow memory alone is past any such limit */
    coex_gc_config config = default_config();
    uint64_t least_good = UINT64_MAX, most_bad = 0, before = mapped();
    for (uint64_t room = 16 * MIB; room <= 64 * GIB; room += room / 3) {
        limit_resource(RLIMIT_AS, before + room);
        int code = coex_gc_init_with(&config);
        if (code == COEX_GC_OK) {
            least_good = room < least_good ? room : least_good;
            use_runtime();
            coex_gc_shutdown();
        } else {
            most_bad = room;
            ck_assert(code == COEX_GC_ENOMEM || code == COEX_GC_ETHREAD);
            ck_assert_int_eq(coex_gc_last_error(), code);
            ck_assert_str_ne(coex_gc_error_detail(), "");
            ck_assert_ptr_null(coex_gc_get_current_thread());
        }
        limit_resource(RLIMIT_AS, RLIM_INFINITY);
        ck_assert_uint_le(mapped(), before + 80 * MIB); /* nothing is left behind, but what the C library keeps for threads */
    }
    printf("the largest limit that is too small: %" PRIu64 " MiB, the smallest that is enough: %" PRIu64 " MiB\n", most_bad / MIB,
           least_good / MIB);
    /* Memory for the initial sizes, a shadow stack (two in checked builds) and threads is enough. */
    ck_assert_uint_lt(most_bad, GIB);
    start_with(&config);
    use_runtime();
    coex_gc_shutdown();
}

TEST(small_configuration_works_in_little_address_space)
{
    if (test_is_sanitized()) return;
    coex_gc_config config = default_config();
    config.initial_handles = 65536;
    config.initial_heap = 2 * MIB;
    config.shadow_stack_slots = 65536;
    uint64_t before = mapped();
    limit_resource(RLIMIT_AS, before + 256 * MIB);
    ck_assert_int_eq(coex_gc_init_with(&config), COEX_GC_OK);
    use_runtime();
    coex_gc_shutdown();
}

TEST(heap_that_the_system_does_not_let_grow_is_full_and_not_broken)
{
    if (test_is_sanitized()) return;
    coex_gc_config config = default_config();
    config.initial_heap = 4 * MIB;
    uint64_t before = mapped();
    limit_resource(RLIMIT_AS, before + 2 * GIB);
    start_with(&config);
    uint32_t refs = type_refs(), bytes = type_bytes();
    coex_handle *slots = coex_gc_enter_frame(1);
    uint64_t count = 0;
    for (int round = 0; round < 2; round++) {
        for (count = 0;; count++) {
            coex_handle array = coex_gc_alloc(16, refs);
            if (array == 0) break;
            coex_gc_init_ref(array, 0, slots[0]);
            slots[0] = array;
            coex_handle big = coex_gc_alloc(MIB, bytes);
            if (big == 0) break;
            coex_gc_store(slots[0], 8, big);
        }
        ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ENOMEM);
        ck_assert_uint_gt(count, 16);
        slots[0] = 0;
    }
    use_runtime();
    coex_gc_shutdown();
}

enum { CROWD = 8 };

static unsigned no_room;
static pthread_barrier_t together;

/* All threads are there, with stacks of their own, before space becomes short: only registration finds none. */
static void register_at_once(unsigned index, void *room)
{
    pthread_barrier_wait(&together);
    if (index == 0) limit_resource(RLIMIT_AS, *(uint64_t *)room == UINT64_MAX ? RLIM_INFINITY : mapped() + *(uint64_t *)room);
    pthread_barrier_wait(&together);
    int code = coex_gc_try_register_thread();
    bool registered = coex_gc_get_current_thread() != NULL;
    expect_eq(registered, code == COEX_GC_OK);
    if (registered) {
        expect_eq(coex_gc_try_register_thread(), COEX_GC_OK); /* again: nothing happens */
        coex_gc_enter_native();
    } else {
        __atomic_add_fetch(&no_room, 1, __ATOMIC_RELAXED);
        expect(code == COEX_GC_ENOMEM || code == COEX_GC_ETHREAD);
        expect_eq(coex_gc_last_error(), code);
        expect(coex_gc_error_detail()[0] != '\0');
    }
    pthread_barrier_wait(&together);
    if (registered) coex_gc_leave_native();
}

static void register_crowd(uint64_t room)
{
    no_room = 0;
    coex_gc_enter_native();
    run_threads(CROWD, register_at_once, &room);
    coex_gc_leave_native();
    ck_assert_uint_eq(stats_now().registered_thread_count, 1);
}

TEST(thread_for_which_there_is_no_shadow_stack_is_not_registered_and_knows_why)
{
    if (test_is_sanitized()) return;
    coex_gc_config config = default_config();
    start_with(&config);
    pthread_barrier_init(&together, NULL, CROWD);
    register_crowd(64 * 1024);
    ck_assert_uint_gt(no_room, 0);
    register_crowd(UINT64_MAX);
    ck_assert_uint_eq(no_room, 0);
    use_runtime();
    coex_gc_shutdown();
}

static pthread_mutex_t one_line = PTHREAD_MUTEX_INITIALIZER;

static void register_and_enter(unsigned index, void *unused)
{
    (void)unused;
    pthread_barrier_wait(&together);
    if (index == 0) limit_resource(RLIMIT_AS, mapped() + 64 * 1024);
    pthread_barrier_wait(&together);
    pthread_mutex_lock(&one_line); /* the first that finds no room ends the process */
    coex_gc_register_thread();
    coex_gc_enter_frame(1);
    coex_gc_enter_native();
    pthread_mutex_unlock(&one_line);
    pthread_barrier_wait(&together);
}

static void enter_without_a_record(void *unused)
{
    (void)unused;
    coex_gc_config config = default_config();
    start_with(&config);
    pthread_barrier_init(&together, NULL, CROWD);
    coex_gc_enter_native();
    run_threads(CROWD, register_and_enter, NULL);
}

TEST(thread_that_could_not_be_registered_is_told_why_when_it_needs_to_be)
{
    if (test_is_sanitized()) return;
    expect_abort(enter_without_a_record, NULL, "is not registered: no ");
}

/* ---- memory that ends between two sizes --------------------------------------------------------------------------- */

static uint64_t writable(void)
{
    unsigned long long kib = 0;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    expect(status != NULL);
    while (fgets(line, sizeof line, status) != NULL && sscanf(line, "VmData: %llu kB", &kib) != 1) {
    }
    fclose(status);
    return (uint64_t)kib * 1024;
}

/* Returns the bytes of all the objects of so many words that can be had at once. */
static uint64_t fill_with(uint32_t words)
{
    uint64_t bytes = 0;
    coex_handle *slots = coex_gc_enter_frame(2);
    for (;;) {
        slots[1] = node_make(node_fresh_id(NODE_BLOB), NULL, 0, words);
        coex_handle two[] = {slots[0], slots[1]};
        coex_handle made = slots[1] != 0 ? node_make(node_fresh_id(NODE_LINK), two, 2, 0) : 0;
        if (made == 0) break;
        slots[0] = made;
        bytes += (uint64_t)words * 8;
    }
    slots[0] = slots[1] = 0;
    coex_gc_leave_frame(slots);
    return bytes;
}

/* The system gives 56 MiB more than the first 64: growth that only doubles gets nothing of it. */
static void use_what_there_is(uint32_t words, uint64_t least)
{
    if (test_is_sanitized()) return;
    coex_gc_config config = default_config();
    start_with(&config);
    nodes_init();
    limit_resource(RLIMIT_DATA, writable() + 56 * MIB);
    uint64_t bytes = fill_with(words);
    printf("%" PRIu64 " MiB of objects of %u words\n", bytes / MIB, words);
    ck_assert_uint_ge(bytes, least);
    coex_gc_shutdown();
}

TEST(heap_grows_by_less_where_the_system_does_not_give_twice_as_much) { use_what_there_is(250, 100 * MIB); }

TEST(large_space_grows_by_less_where_the_system_does_not_give_twice_as_much) { use_what_there_is(2500, 48 * MIB); }
