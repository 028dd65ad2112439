/*
 * Coroutine stacks: what is on a suspended stack lives, any thread may go on with it, and neither their number nor their depth costs a
 * thread anything.
 */
#include "support/borders.h"

#include <pthread.h>
#include <ucontext.h>

static coex_gc_stack *new_stack(uint64_t slots)
{
    coex_gc_stack *stack = coex_gc_stack_create(slots);
    expect(stack != NULL);
    return stack;
}

/* ---- one thread -------------------------------------------------------------------------------------------------- */

static void suspended_keeps_alive(void)
{
    way_start();
    coex_gc_stack *stack = new_stack(20);
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = new_leaf();
    coex_handle leaf = slots[0], appended = new_leaf();
    uint64_t id = node_id(leaf), appended_id = node_id(appended);
    coex_gc_root(appended);
    ck_assert_ptr_eq(coex_gc_stack_switch(home), stack);
    for (int i = 0; i < 3; i++) {
        coex_gc_collect();
        make_garbage(2000);
        node_expect(leaf, id);
        node_expect(appended, appended_id);
    }
    ck_assert_ptr_eq(coex_gc_stack_switch(stack), home);
    node_expect(slots[0], id);
    coex_gc_leave_frame(slots);
    coex_gc_stack_switch(home);
    coex_gc_collect();
    ck_assert(!coex_gc_is_handle(leaf));
    ck_assert(!coex_gc_is_handle(appended));
    coex_gc_stack_destroy(stack);
    coex_gc_shutdown();
}

TEST(what_is_on_a_suspended_stack_lives_until_it_is_left) { both_ways(suspended_keeps_alive); }

/* The thread's own stack is suspended like any other meanwhile. */
static void home_keeps_alive(void)
{
    way_start();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_leaf();
    uint64_t id = node_id(slots[0]);
    coex_gc_stack *stack = new_stack(20);
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    coex_gc_collect();
    make_garbage(2000);
    coex_gc_collect();
    coex_gc_stack_switch(home);
    node_expect(slots[0], id);
    ck_assert_ptr_eq(coex_gc_stack_switch(home), home); /* to where it is */
    coex_gc_stack_destroy(stack);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(a_threads_own_stack_keeps_what_it_has_while_the_thread_is_elsewhere) { both_ways(home_keeps_alive); }

static void destroyed_frees(void)
{
    way_start();
    coex_gc_stack *stack = new_stack(20);
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    coex_handle leaf = coex_gc_enter_frame(1)[0] = new_leaf();
    coex_gc_stack_switch(home);
    coex_gc_collect();
    node_verify(leaf);
    coex_gc_stack_destroy(stack);
    coex_gc_collect();
    ck_assert(!coex_gc_is_handle(leaf));
    coex_gc_shutdown();
}

TEST(what_is_on_a_stack_that_is_destroyed_is_garbage) { both_ways(destroyed_frees); }

TEST(a_stack_has_the_room_that_was_asked_for)
{
    static const uint64_t sizes[] = {0, 1, 2, 63, 64, 65, 1000, 4096, 1 << 20};
    way_start();
    for (int i = 0; i < 9; i++) {
        coex_gc_stack *stack = new_stack(sizes[i]);
        coex_gc_stack *home = coex_gc_stack_switch(stack);
        if (sizes[i] > 1) coex_gc_enter_frame(sizes[i] / 2 - 1); /* a header and slots */
        for (uint64_t k = sizes[i] / 2; k < sizes[i]; k++) coex_gc_root(COEX_IMMEDIATE(k));
        coex_gc_collect();
        coex_gc_stack_switch(home);
        coex_gc_stack_destroy(stack);
    }
    coex_gc_shutdown();
}

TEST(a_stack_that_there_is_no_room_for_is_refused)
{
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 1, (uint64_t)1 << 62, (uint64_t)1 << 40};
    way_start();
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_null(coex_gc_stack_create(sizes[i]));
        ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ENOMEM);
    }
    coex_gc_stack_destroy(new_stack(10));
    coex_gc_shutdown();
}

TEST(stacks_that_are_destroyed_are_used_again)
{
    test_rng rng = rng_from(test_seed());
    coex_gc_stack *stacks[32] = {0};
    way_start();
    for (unsigned i = 0; i < scaled(100000, 10000); i++) {
        unsigned at = (unsigned)rng_below(&rng, 32);
        if (stacks[at] != NULL) coex_gc_stack_destroy(stacks[at]);
        stacks[at] = new_stack(rng_below(&rng, 5000)); /* 100,000 of them would be 4 GB */
        coex_gc_stack *home = coex_gc_stack_switch(stacks[at]);
        coex_gc_root(COEX_IMMEDIATE(1));
        coex_gc_stack_switch(home);
    }
    coex_gc_collect();
    coex_gc_shutdown();
}

/* ---- a slot that is set beside a stack that grows ---------------------------------------------------------------- */

/* The other thread's own stack is suspended when the slot is set, and grows afterwards, with nothing that orders the two: a data race, for
 * a thread sanitizer, if the one looked at anything that the other moves. */
static int way_stage;

static void await_stage(int stage) { COEX_GC_NATIVE(while (__atomic_load_n(&way_stage, __ATOMIC_RELAXED) < stage) usleep(100)); }

static void *suspend_home_and_grow(void *unused)
{
    coex_gc_register_thread();
    coex_gc_stack *stack = new_stack(20);
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    __atomic_store_n(&way_stage, 1, __ATOMIC_RELAXED);
    await_stage(2);
    coex_gc_stack_switch(home);
    coex_handle *slots = coex_gc_enter_frame(10000);
    slots[9999] = new_leaf();
    node_verify(slots[9999]);
    coex_gc_leave_frame(slots);
    coex_gc_stack_destroy(stack);
    coex_gc_unregister_thread();
    return unused;
}

static void set_beside_growth(void)
{
    pthread_t thread;
    way_start();
    way_stage = 0;
    coex_handle *slots = coex_gc_enter_frame(1);
    expect(pthread_create(&thread, NULL, suspend_home_and_grow, NULL) == 0);
    await_stage(1);
    coex_gc_set_slot(&slots[0], new_leaf());
    __atomic_store_n(&way_stage, 2, __ATOMIC_RELAXED);
    COEX_GC_NATIVE(pthread_join(thread, NULL));
    node_verify(slots[0]);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(a_slot_is_set_while_another_threads_own_stack_is_suspended) { both_ways(set_beside_growth); }

/* ---- green threads: C stacks of their own, rooted locals --------------------------------------------------------------- */

enum { GREEN = 40, GREEN_STACK = 64 * 1024 };

struct green {
    ucontext_t context;
    coex_gc_stack *stack;
    bool done;
    test_rng rng;
};

static struct green green[GREEN];
static ucontext_t scheduler;
static coex_gc_stack *scheduler_stack;
static unsigned running;

static void green_yield(void)
{
    struct green *self = &green[running];
    coex_gc_stack_switch(scheduler_stack);
    swapcontext(&self->context, &scheduler);
}

static void green_recurse(unsigned depth)
{
    coex_handle local = new_leaf(), *locals[] = {&local};
    coex_gc_frame *frame = coex_gc_push_frame(1, locals);
    uint64_t id = node_id(local);
    if (depth % 4 == 0) green_yield();
    if (depth > 0) green_recurse(depth - 1);
    node_expect(local, id);
    local = new_leaf();
    if (depth % 7 == 0) green_yield();
    node_verify(local);
    coex_gc_pop_frame(frame);
}

static void green_main(void)
{
    for (int i = 0; i < 5; i++) green_recurse((unsigned)rng_below(&green[running].rng, 60));
    green[running].done = true;
    green_yield();
}

static void green_threads(void)
{
    busy_start();
    char *memory = malloc((size_t)GREEN * GREEN_STACK);
    scheduler_stack = coex_gc_stack_switch(new_stack(1)); /* its name is what a switch returns */
    coex_gc_stack *spare = coex_gc_stack_switch(scheduler_stack);
    for (unsigned i = 0; i < GREEN; i++) {
        green[i] = (struct green){.stack = new_stack(500), .rng = rng_from(way_seed + i)};
        getcontext(&green[i].context);
        green[i].context.uc_stack.ss_sp = memory + (size_t)i * GREEN_STACK;
        green[i].context.uc_stack.ss_size = GREEN_STACK;
        makecontext(&green[i].context, green_main, 0);
    }
    for (unsigned left = GREEN; left > 0;) {
        running = (running + 1) % GREEN;
        if (green[running].done) continue;
        coex_gc_stack_switch(green[running].stack);
        swapcontext(&scheduler, &green[running].context);
        if (running == 0) coex_gc_async();
        coex_gc_safepoint();
        if (!green[running].done) continue;
        coex_gc_stack_destroy(green[running].stack);
        left--;
    }
    coex_gc_stack_destroy(spare);
    free(memory);
    printf("%" PRIu64 " cycles\n", stats_now().collections_completed);
    coex_gc_shutdown();
}

TEST_TIMEOUT(green_threads_with_rooted_locals_take_turns, 60)
{
    if (test_is_sanitized()) return; /* sanitizers don't follow swapcontext */
    both_ways(green_threads);
}

/* ---- a hundred thousand -------------------------------------------------------------------------------------------------- */

enum { MANY = 100000 };

static coex_gc_stack *many[MANY];
static coex_handle many_leaf[MANY];

static void make_many(unsigned count)
{
    coex_gc_stack *home = NULL;
    for (unsigned i = 0; i < count; i++) {
        many[i] = new_stack(50);
        coex_gc_stack *before = coex_gc_stack_switch(many[i]);
        if (home == NULL) home = before;
        coex_handle *slots = coex_gc_enter_frame(3);
        slots[1] = many_leaf[i] = new_leaf();
    }
    coex_gc_stack_switch(home);
}

static void hundred_thousand(void)
{
    unsigned count = scaled(MANY, MANY / 10);
    coex_gc_config config = quiet_config();
    config.gc_threads = way_threads;
    config.poison = true;
    start_with(&config);
    nodes_init();
    make_many(count);
    coex_gc_collect();
    make_garbage(100000);
    coex_gc_collect();
    for (unsigned i = 0; i < count; i++) node_verify(many_leaf[i]);
    for (unsigned i = 0; i < count; i += 2) coex_gc_stack_destroy(many[i]);
    coex_gc_collect();
    for (unsigned i = 0; i < count; i++) expect_eq(coex_gc_is_handle(many_leaf[i]), i % 2);
    coex_gc_shutdown();
}

TEST_TIMEOUT(a_hundred_thousand_stacks_keep_what_they_have, 60) { both_ways(hundred_thousand); }

/* Time on the CPU of the stops of a thread that allocates while cycles run. */
static uint64_t stop_p99(unsigned stacks)
{
    coex_gc_config config = quiet_config();
    start_with(&config);
    nodes_init();
    make_many(stacks);
    for (int i = 0; i < 15; i++) {
        coex_gc_async();
        uint64_t before = stats_now().collections_completed;
        while (stats_now().collections_completed == before) make_garbage(1000);
    }
    coex_gc_times stops = stats_now().stop_cpu;
    coex_gc_shutdown();
    printf("%u stacks: %" PRIu64 " stops, p99 %.1f us, max %.1f us\n", stacks, stops.count, (double)stops.p99 / 1e3,
           (double)stops.max / 1e3);
    return stops.p99;
}

TEST_LABEL(a_hundred_thousand_suspended_stacks_make_no_stop_longer, timing)
TEST_TIMEOUT(a_hundred_thousand_suspended_stacks_make_no_stop_longer, 60)
{
    uint64_t without = stop_p99(1), with = stop_p99(scaled(MANY, MANY / 10));
    ck_assert_uint_lt(with, 3 * without + 50000);
}

/* ---- constant time -------------------------------------------------------------------------------------------------------- */

enum { PAIRS = 16 };

static coex_gc_stack *stack_with_frames(unsigned frames)
{
    coex_gc_stack *stack = new_stack((uint64_t)frames * 3 + 10);
    coex_gc_stack *home = coex_gc_stack_switch(stack);
    for (unsigned i = 0; i < frames; i++) coex_gc_enter_frame(2);
    coex_gc_stack_switch(home);
    return stack;
}

/* CPU time of switching to each of them and back, again and again, while a cycle goes on in steps: so in each of its phases. */
static double switch_seconds(coex_gc_stack **stacks)
{
    double took = 0;
    for (int cycle = 0; cycle < 5; cycle++) {
        coex_gc_async();
        do {
            double begin = cpu_seconds();
            for (int i = 0; i < PAIRS; i++) coex_gc_stack_switch(coex_gc_stack_switch(stacks[i]));
            took += cpu_seconds() - begin;
        } while (!coex_gc_step(0));
    }
    return took;
}

TEST_LABEL(a_switch_takes_the_same_time_however_deep_the_stack, timing)
TEST_TIMEOUT(a_switch_takes_the_same_time_however_deep_the_stack, 60)
{
    coex_gc_stack *shallow[PAIRS], *deep[PAIRS];
    coex_gc_config config = quiet_config();
    config.gc_threads = 0;
    start_with(&config);
    for (int i = 0; i < PAIRS; i++) {
        shallow[i] = stack_with_frames(10);
        deep[i] = stack_with_frames(scaled(100000, 10000));
    }
    switch_seconds(shallow);
    double few = switch_seconds(shallow), much = switch_seconds(deep);
    printf("10 frames: %.1f us, 100,000 frames: %.1f us\n", few * 1e6, much * 1e6);
    if (!test_is_checked()) ck_assert_double_lt(much, 4 * few + 1e-3); /* checked builds copy what is frozen */
    coex_gc_shutdown();
}
