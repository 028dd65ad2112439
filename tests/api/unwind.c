/*
 * Leaving many frames at once: longjmp out of deep recursion, exceptions that carry a value, threads that leave a result and end.
 *
 * The frames are deep enough to be frozen (a scan looks at 256 words of the top itself), and cycles run all the time.
 */
#include "support/borders.h"

#include <pthread.h>
#include <setjmp.h>

enum { DEEP = 400 };

static coex_handle shared;
static test_flag enough;

static void start(void)
{
    busy_start();
    shared = 0;
    flag_clear(&enough);
    expect(coex_gc_add_global_root(&shared) == COEX_GC_OK);
}

static void stop(void)
{
    coex_gc_global_store(&shared, 0);
    coex_gc_remove_global_root(&shared);
    coex_gc_shutdown();
}

static void *collect_all_the_time(void *unused)
{
    while (!flag_is_set(&enough)) coex_gc_collect();
    return unused;
}

/* Runs `body` again and again beside back-to-back cycles. */
static void beside_cycles(void (*body)(test_rng *rng), double seconds)
{
    pthread_t collecting;
    test_rng rng = rng_from(way_seed + 99);
    double until = now_seconds() + (test_is_large() ? 20 : seconds);
    uint64_t runs = 0;
    start();
    expect(pthread_create(&collecting, NULL, collect_all_the_time, NULL) == 0);
    for (; now_seconds() < until; runs++) body(&rng);
    flag_set(&enough);
    COEX_GC_NATIVE(pthread_join(collecting, NULL));
    printf("%" PRIu64 " runs, %" PRIu64 " cycles\n", runs, stats_now().collections_completed);
    stop();
}

/* ---- longjmp ------------------------------------------------------------------------------------------------------ */

static jmp_buf handler;
static coex_handle *handler_slots;
static uint64_t thrown_id;
static coex_handle thrown; /* between the throw and the catch, with no safepoint in between */

static void throw_value(coex_handle value)
{
    thrown = value;
    thrown_id = node_id(value);
    coex_gc_unwind_to(handler_slots);
    longjmp(handler, 1);
}

/* A compiler that sees that nothing returns takes the recursions below for endless ones. */
static volatile bool come_back;

/* Each level has a leaf that only its own frame knows. Somewhere deep one of them is thrown, or put into an object that others know
 * while only the frozen frame speaks for it. */
static void recurse(unsigned depth, coex_handle argument, test_rng *rng)
{
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = new_leaf();
    uint64_t id = node_id(slots[0]);
    if (depth > 0) {
        recurse(depth - 1, rng_one_in(rng, 3) ? slots[0] : argument, rng);
        node_expect(slots[0], id);
    } else {
        make_garbage(50); /* so that the frames are frozen by now, more often than not */
        slots[1] = node_make(node_fresh_id(NODE_LINK), (coex_handle[]){argument, slots[0]}, 2, 0);
        if (rng_one_in(rng, 2)) coex_gc_global_store(&shared, slots[1]);
        if (!come_back) throw_value(rng_one_in(rng, 2) ? argument : slots[1]);
    }
    coex_gc_leave_frame(slots);
}

static void throw_and_catch(test_rng *rng)
{
    coex_handle *slots = coex_gc_enter_frame(3);
    handler_slots = slots;
    slots[0] = new_leaf();
    coex_handle first = slots[0];
    if (setjmp(handler) == 0) recurse(1 + (unsigned)rng_below(rng, DEEP), first, rng);
    slots = handler_slots;
    slots[1] = thrown;
    make_garbage(20);
    node_expect(slots[1], thrown_id);
    node_verify(slots[0]);
    node_walk(slots[1], 10, rng);
    if (coex_gc_global_load(&shared) != 0) node_walk(coex_gc_global_load(&shared), 10, rng);
    coex_gc_leave_frame(slots);
}

static void throw_beside_cycles(void) { beside_cycles(throw_and_catch, 0.6); }

TEST_TIMEOUT(what_is_thrown_over_frozen_frames_arrives, 60) { both_ways(throw_beside_cycles); }

/* ---- locals --------------------------------------------------------------------------------------------------------- */

/* The same with frames of rooted locals: the unwinding comes before the jump, while the locals are still there. */
static void recurse_with_locals(unsigned depth, coex_handle argument)
{
    coex_handle local = 0, other = argument, *locals[] = {&local, &other};
    coex_gc_frame *frame = coex_gc_push_frame(2, locals);
    local = new_leaf();
    uint64_t id = node_id(local);
    if (depth > 0) {
        recurse_with_locals(depth - 1, depth % 5 == 0 ? local : argument);
    } else {
        make_garbage(50);
        if (!come_back) throw_value(node_make(node_fresh_id(NODE_LINK), (coex_handle[]){local, other}, 2, 0));
    }
    node_expect(local, id);
    coex_gc_pop_frame(frame);
}

static void throw_over_locals(test_rng *rng)
{
    coex_handle *slots = coex_gc_enter_frame(2);
    handler_slots = slots;
    slots[0] = new_leaf();
    if (setjmp(handler) == 0) recurse_with_locals(1 + (unsigned)rng_below(rng, DEEP), slots[0]);
    slots = handler_slots;
    slots[1] = thrown;
    make_garbage(20);
    node_expect(slots[1], thrown_id);
    node_walk(slots[1], 5, rng);
    coex_gc_leave_frame(slots);
}

static void locals_beside_cycles(void) { beside_cycles(throw_over_locals, 0.6); }

TEST_TIMEOUT(frames_of_locals_are_unwound_before_the_jump, 60) { both_ways(locals_beside_cycles); }

/* ---- threads that end ------------------------------------------------------------------------------------------------ */

/* Deep in its frames a thread makes a result out of what only its frozen frames hold, posts it, and ends there. */
static void post_and_exit(unsigned depth, coex_handle argument)
{
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = new_leaf();
    if (depth > 0) post_and_exit(depth - 1, depth % 3 == 0 ? slots[0] : argument);
    make_garbage(20);
    slots[1] = node_make(node_fresh_id(NODE_LINK), (coex_handle[]){argument, slots[0]}, 2, 0);
    coex_gc_global_store(&shared, slots[1]);
    if (!come_back) pthread_exit(NULL);
}

/* The same with rooted locals, which are gone when the thread's end is noticed. */
static void post_and_exit_with_locals(unsigned depth, coex_handle argument)
{
    coex_handle local = 0, *locals[] = {&local};
    coex_gc_push_frame(1, locals);
    local = new_leaf();
    if (depth > 0) post_and_exit_with_locals(depth - 1, depth % 3 == 0 ? local : argument);
    make_garbage(20);
    coex_gc_global_store(&shared, node_make(node_fresh_id(NODE_LINK), (coex_handle[]){argument, local}, 2, 0));
    if (!come_back) pthread_exit(NULL);
}

struct job {
    coex_gc_spawn *spawn;
    unsigned depth;
    bool locals;
};

static void *worker(void *argument)
{
    struct job job = *(struct job *)argument;
    coex_handle given = coex_gc_spawn_attach(job.spawn);
    if (job.locals) post_and_exit_with_locals(job.depth, given);
    post_and_exit(job.depth, given);
    return NULL;
}

static void post_results(test_rng *rng)
{
    pthread_t thread = 0;
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = new_leaf();
    bool locals = rng_one_in(rng, 2) && !test_is_sanitized(); /* ASan does not like to see them read */
    struct job job = {coex_gc_spawn_prepare(slots[0]), (unsigned)rng_below(rng, DEEP), locals};
    expect(job.spawn != NULL && pthread_create(&thread, NULL, worker, &job) == 0);
    slots[0] = 0;
    COEX_GC_NATIVE(pthread_join(thread, NULL));
    slots[0] = coex_gc_global_load(&shared);
    node_walk(slots[0], 10, rng);
    make_garbage(20);
    node_walk(slots[0], 10, rng);
    coex_gc_leave_frame(slots);
}

static void results_beside_cycles(void) { beside_cycles(post_results, 0.6); }

TEST_TIMEOUT(the_result_of_a_thread_that_ended_deep_in_its_frames_is_complete, 60) { both_ways(results_beside_cycles); }

static pthread_key_t last_words;

/* What an embedder does at the end of a thread may take long, and uses the C stack where the locals were. */
static void take_long(void *unused)
{
    volatile uint64_t clobber[2000];
    for (unsigned i = 0; i < 2000; i++) clobber[i] = i * 3;
    expect(unused != NULL && clobber[1999] == 1999 * 3);
    sleep_ms(2);
}

static void *end_with_locals(void *unused)
{
    coex_handle local = 0, *locals[] = {&local};
    expect(pthread_setspecific(last_words, &last_words) == 0);
    coex_gc_register_thread();
    for (unsigned i = 0; i < 1000; i++) {
        coex_gc_push_frame(1, locals);
        local = new_leaf();
    }
    coex_gc_enter_native();
    sleep_ms(1); /* a cycle freezes them meanwhile */
    return unused;
}

static void end_threads(test_rng *rng)
{
    pthread_t thread[4];
    (void)rng;
    for (int i = 0; i < 4; i++) expect(pthread_create(&thread[i], NULL, end_with_locals, NULL) == 0);
    for (int i = 0; i < 4; i++) COEX_GC_NATIVE(pthread_join(thread[i], NULL));
}

static void ends_beside_cycles(void) { beside_cycles(end_threads, 0.3); }

/* The destructor runs before the runtime knows of the end: cycles look at locals that are not there any more, and pass over them. */
TEST_TIMEOUT(a_thread_may_end_with_locals_rooted, 60)
{
    if (test_is_sanitized()) return; /* ASan does not like to see them read */
    expect(pthread_key_create(&last_words, take_long) == 0);
    both_ways(ends_beside_cycles);
}

/* ---- through callbacks ------------------------------------------------------------------------------------------------- */

/* managed -> native -> managed, and from there straight back to the outermost managed code. */
static void throw_from_callback(test_rng *rng)
{
    coex_handle *slots = coex_gc_enter_frame(2);
    handler_slots = slots;
    slots[0] = new_leaf();
    if (setjmp(handler) == 0) {
        coex_gc_enter_native();
        if (rng_one_in(rng, 2)) coex_gc_enter_native();
        expect(coex_gc_enter_managed());
        recurse((unsigned)rng_below(rng, 50), slots[0], rng);
    }
    slots = handler_slots;
    slots[1] = thrown; /* managed again: nothing of the native mode in between is left */
    make_garbage(20);
    node_expect(slots[1], thrown_id);
    coex_gc_enter_native();
    coex_gc_leave_native();
    node_verify(slots[0]);
    coex_gc_leave_frame(slots);
}

static void callbacks_beside_cycles(void) { beside_cycles(throw_from_callback, 0.3); }

TEST_TIMEOUT(a_jump_out_of_a_callback_ends_its_native_mode, 60) { both_ways(callbacks_beside_cycles); }
