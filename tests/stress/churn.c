/*
 * Threads that come and go all the time, in every way there is, each with an object to take over and one to leave behind,
 * while cycles run without a pause.
 */
#include "support/stress.h"

#include <pthread.h>
#include <unistd.h>

enum { ROOTS = 2, CHILDREN = 3, INPUT = 0, RESULT = 1, ENDINGS = 6 };

static uint64_t run_seed, child_serial;
static pthread_key_t last_words; /* a destructor that still uses the runtime */

typedef struct child {
    pthread_t thread;
    coex_gc_spawn *spawn;
    uint64_t seed;
    uint64_t letter_id; /* of the cell it is given: {input, result} */
    uint64_t input_id;
    unsigned levels; /* of children of its own */
} child;

static void family(test_rng *rng, unsigned levels);

/* Whatever the order of the destructors: the thread may be registered here or not. */
static void say_last_words(void *value)
{
    (void)value;
    if (coex_gc_get_current_thread() == NULL) coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    coex_gc_collect();
    node_verify(slot[0]);
    coex_gc_leave_frame(slot);
}

static void end_in_some_way(test_rng *rng)
{
    switch (rng_below(rng, ENDINGS)) {
    case 0:
        coex_gc_unregister_thread();
        break;
    case 1:
        coex_gc_enter_native(); /* and never comes back */
        break;
    case 2:
        for (int i = 0; i < 50; i++) coex_gc_enter_frame(20)[3] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
        pthread_exit(NULL); /* with all its frames */
    case 3:
        coex_gc_unregister_thread();
        coex_gc_async();
        coex_gc_collect(); /* an unregistered thread may ask too */
        break;
    case 4:
        pthread_setspecific(last_words, &child_serial);
        break;
    default:
        break;
    }
}

/* Gives the letter back with the result in it. */
static void *child_main(void *argument)
{
    child *self = argument;
    test_rng rng = rng_from(self->seed);
    if (rng_one_in(&rng, 4)) usleep(100); /* the collector answers for it, and its parent goes on */
    coex_handle letter = coex_gc_spawn_attach(self->spawn);
    node_expect(letter, self->letter_id);
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[0] = letter;
    slot[1] = coex_gc_load(letter, node_cell_offset(INPUT));
    node_expect(slot[1], self->input_id);
    family(&rng, self->levels);
    for (uint64_t i = rng_below(&rng, 200); i > 0; i--) slot[2] = node_make(node_fresh_id(NODE_BLOB), NULL, 0, 20);
    coex_handle parts[] = {slot[1], slot[2]};
    slot[2] = node_make(node_fresh_id(NODE_LINK), parts, 2, 0);
    coex_gc_store(slot[0], node_cell_offset(RESULT), slot[2]);
    coex_gc_leave_frame(slot);
    end_in_some_way(&rng);
    return NULL;
}

/* slot[0] is the letter, slot[1] the input; from here on only the child's record and the letter have them. */
static void start_child(child *it, coex_handle *slot, test_rng *rng, unsigned levels)
{
    it->seed = run_seed + __atomic_add_fetch(&child_serial, 1, __ATOMIC_RELAXED) * 7919;
    it->levels = levels;
    it->input_id = node_fresh_id(NODE_LEAF);
    slot[1] = node_make(it->input_id, NULL, 0, 0);
    coex_handle fields[NODE_CELL_FIELDS] = {slot[1]};
    it->letter_id = node_fresh_id(NODE_CELL);
    slot[0] = node_make(it->letter_id, fields, NODE_CELL_FIELDS, 0);
    slot[1] = 0;
    if (rng_one_in(rng, 10)) coex_gc_spawn_cancel(coex_gc_spawn_prepare(slot[0]));
    it->spawn = coex_gc_spawn_prepare(slot[0]);
    expect(it->spawn != NULL);
    expect(pthread_create(&it->thread, NULL, child_main, it) == 0);
}

static void end_child(const child *it, coex_handle letter)
{
    coex_gc_enter_native();
    pthread_join(it->thread, NULL);
    coex_gc_leave_native();
    node_expect(letter, it->letter_id);
    coex_handle result = coex_gc_load(letter, node_cell_offset(RESULT));
    node_verify(result);
    node_expect(node_child(result, 0), it->input_id);
}

/* Some children at once, which have children. */
static void family(test_rng *rng, unsigned levels)
{
    child children[CHILDREN];
    if (levels == 0) return;
    coex_handle *slot = coex_gc_enter_frame(2 * CHILDREN);
    unsigned count = (unsigned)rng_between(rng, 1, CHILDREN);
    for (unsigned i = 0; i < count; i++) start_child(&children[i], &slot[2 * i], rng, levels - 1);
    for (unsigned i = 0; i < count; i++) end_child(&children[i], slot[2 * i]);
    coex_gc_leave_frame(slot);
}

static void root_main(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(run_seed + index);
    while (!stress_is_over()) {
        coex_gc_register_thread();
        for (int i = 0; i < 5; i++) family(&rng, 3);
        coex_gc_collect();
        coex_gc_unregister_thread();
    }
}

static void run_churn(enum stress_runtime runtime)
{
    run_seed = test_seed();
    expect(pthread_key_create(&last_words, say_last_words) == 0);
    stress_start(runtime);
    coex_gc_enter_native();
    run_threads(ROOTS, root_main, NULL);
    coex_gc_leave_native();
    expect_eq(stats_now().registered_thread_count, 1);
    printf("%" PRIu64 " threads\n", child_serial);
    stress_end();
}

TEST_TIMEOUT(threads_that_come_and_go_lose_nothing, STRESS_TIMEOUT) { run_churn(STRESS_PLAIN); }
TEST_TIMEOUT(threads_that_come_and_go_lose_nothing_verified, STRESS_TIMEOUT) { run_churn(STRESS_VERIFIED); }
TEST_TIMEOUT(threads_that_come_and_go_lose_nothing_with_a_cycle_at_every_chance, STRESS_TIMEOUT) { run_churn(STRESS_HOSTILE); }
