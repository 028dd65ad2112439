/*
 * Coroutines that any thread may run: a pool of shadow stacks, more than there are threads, each with frames that name objects.
 * A thread takes one that nobody is on, calls, returns, unwinds and allocates there, and leaves it
 * to the next. It makes objects out of what older frames hold and takes them home, and it writes
 * slots of stacks that are suspended.
 */
#include "support/stress.h"

#include <unistd.h>

enum { THREADS = 4, FIBERS = 40, MOST_FRAMES = 400, SLOTS = 3, WORDS = MOST_FRAMES * (SLOTS + 1) + 16, OUT = 64 };

typedef struct fiber {
    bool busy; /* a thread is on it */
    coex_gc_stack *stack;
    uint32_t depth;
    uint32_t runs;
    coex_handle *slot[MOST_FRAMES];
    uint64_t id[MOST_FRAMES][SLOTS];
} fiber;

static fiber *fibers;
static coex_handle out_root;
static uint64_t run_seed, switches;

static void verify_top(const fiber *it)
{
    if (it->depth == 0) return;
    for (unsigned i = 0; i < SLOTS; i++) {
        if (it->id[it->depth - 1][i] != 0) node_expect(it->slot[it->depth - 1][i], it->id[it->depth - 1][i]);
    }
}

static void call(fiber *it)
{
    if (it->depth == MOST_FRAMES) return;
    it->slot[it->depth] = coex_gc_enter_frame(SLOTS);
    memset(it->id[it->depth], 0, sizeof it->id[0]);
    it->depth++;
}

static void leave(fiber *it)
{
    if (it->depth == 0) return;
    verify_top(it);
    coex_gc_leave_frame(it->slot[it->depth - 1]);
    it->depth--;
    verify_top(it);
}

static void make(fiber *it, test_rng *rng)
{
    if (it->depth == 0) return;
    uint64_t i = rng_below(rng, SLOTS), id = node_fresh_id(NODE_LEAF);
    it->slot[it->depth - 1][i] = node_make(id, NULL, 0, 0);
    it->id[it->depth - 1][i] = id;
}

/* From a slot of the top frame to where everybody sees it, or from there into a slot. */
static void share(fiber *it, test_rng *rng)
{
    if (it->depth == 0) return;
    uint64_t i = rng_below(rng, SLOTS), place = rng_below(rng, OUT) * 8;
    coex_handle *slot = it->slot[it->depth - 1];
    coex_handle out = coex_gc_global_load(&out_root);
    if (rng_one_in(rng, 2)) {
        coex_gc_store(out, place, it->id[it->depth - 1][i] != 0 ? slot[i] : 0);
    } else {
        slot[i] = coex_gc_exchange(out, place, 0);
        it->id[it->depth - 1][i] = slot[i] != 0 ? node_verify(slot[i]) : 0;
    }
}

static void unwind(fiber *it, test_rng *rng)
{
    if (it->depth < 2) return;
    it->depth = (uint32_t)rng_between(rng, 1, it->depth);
    coex_gc_unwind_to(it->slot[it->depth - 1]);
    verify_top(it);
}

static void run(fiber *it, test_rng *rng)
{
    bool down = rng_one_in(rng, 2);
    verify_top(it);
    for (uint64_t n = rng_below(rng, 60); n > 0; n--) {
        switch (rng_below(rng, 12)) {
        case 0:
        case 1:
        case 2:
            down ? call(it) : leave(it);
            break;
        case 3:
            down ? leave(it) : call(it);
            break;
        case 4:
        case 5:
            share(it, rng);
            break;
        case 6:
            coex_gc_safepoint();
            break;
        case 7:
            coex_gc_enter_native();
            if (rng_one_in(rng, 20)) usleep(100);
            coex_gc_leave_native();
            break;
        case 8:
            if (rng_one_in(rng, 30)) unwind(it, rng);
            break;
        default:
            make(it, rng);
        }
    }
    verify_top(it);
}

static bool take(fiber *it)
{
    bool free = false;
    return __atomic_compare_exchange_n(&it->busy, &free, true, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* A thread's own frame: a leaf, and an object that it has brought home. */
typedef struct own_frame {
    coex_handle *slot;
    uint64_t leaf, made, part;
} own_frame;

static void verify_home(const own_frame *own)
{
    node_expect(own->slot[0], own->leaf);
    if (own->made == 0) return;
    node_expect(own->slot[1], own->made);
    node_expect(node_child(own->slot[1], 0), own->part);
}

/* A frame and a slot of it, among those that hold something. False: none was found. */
static bool pick_slot(const fiber *it, test_rng *rng, uint64_t *frame, uint64_t *slot)
{
    if (it->depth == 0) return false;
    *frame = rng_below(rng, it->depth);
    *slot = rng_below(rng, SLOTS);
    return it->id[*frame][*slot] != 0;
}

/* On the stack: an object out of what an older frame holds, as of an argument. The caller roots
 * it at home, with no safepoint between. */
static coex_handle make_of_older(const fiber *it, test_rng *rng, own_frame *own)
{
    uint64_t frame, slot;
    if (!pick_slot(it, rng, &frame, &slot)) return 0;
    own->part = it->id[frame][slot];
    own->made = node_fresh_id(NODE_LINK);
    return node_make(own->made, (coex_handle[]){it->slot[frame][slot], 0}, 2, 0);
}

/* The stack is suspended, and stays so: a resume delivers a value, or somebody takes one back. */
static void deliver(fiber *it, test_rng *rng)
{
    uint64_t frame, slot;
    (void)pick_slot(it, rng, &frame, &slot);
    if (it->stack == NULL || it->depth == 0) return;
    uint64_t id = rng_one_in(rng, 3) ? 0 : node_fresh_id(NODE_LEAF);
    coex_gc_set_slot(&it->slot[frame][slot], id != 0 ? node_make(id, NULL, 0, 0) : 0);
    it->id[frame][slot] = id;
}

static void touch(const fiber *it)
{
    if (it->stack != NULL) coex_gc_stack_switch(coex_gc_stack_switch(it->stack));
}

static void visit(fiber *it, test_rng *rng, own_frame *own)
{
    if (it->stack == NULL) {
        it->stack = coex_gc_stack_create(WORDS);
        expect(it->stack != NULL);
        it->depth = 0;
    }
    coex_gc_stack *back = coex_gc_stack_switch(it->stack);
    if (rng_one_in(rng, 2)) run(it, rng);
    coex_handle made = rng_one_in(rng, 2) ? make_of_older(it, rng, own) : 0;
    expect(coex_gc_stack_switch(back) == it->stack);
    if (made != 0) own->slot[1] = made;
    if (++it->runs % 200 == 0) { /* with all its frames */
        coex_gc_stack_destroy(it->stack);
        it->stack = NULL;
    }
    __atomic_fetch_add(&switches, 2, __ATOMIC_RELAXED);
}

/* Straight from one to the next, without going home in between. */
static void visit_two(fiber *first, fiber *second, test_rng *rng)
{
    if (first->stack == NULL || second->stack == NULL) return;
    coex_gc_stack *home = coex_gc_stack_switch(first->stack);
    run(first, rng);
    coex_gc_stack_switch(second->stack);
    run(second, rng);
    coex_gc_stack_switch(first->stack);
    run(first, rng);
    coex_gc_stack_switch(home);
}

static void scheduler_main(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(run_seed + index);
    coex_gc_register_thread();
    own_frame own = {.slot = coex_gc_enter_frame(2), .leaf = node_fresh_id(NODE_LEAF)};
    own.slot[0] = node_make(own.leaf, NULL, 0, 0);
    while (!stress_is_over()) {
        fiber *it = &fibers[rng_below(&rng, FIBERS)], *other = &fibers[rng_below(&rng, FIBERS)];
        if (!take(it)) continue;
        if (rng_one_in(&rng, 4) && take(other)) {
            visit_two(it, other, &rng);
            __atomic_store_n(&other->busy, false, __ATOMIC_RELEASE);
        } else if (rng_one_in(&rng, 3)) {
            rng_one_in(&rng, 2) ? deliver(it, &rng) : touch(it);
        } else {
            visit(it, &rng, &own);
        }
        __atomic_store_n(&it->busy, false, __ATOMIC_RELEASE);
        verify_home(&own);
        if (rng_one_in(&rng, 100)) coex_gc_async();
        if (rng_one_in(&rng, 2000)) coex_gc_collect();
    }
    coex_gc_leave_frame(own.slot);
    coex_gc_unregister_thread();
}

static void run_coroutines(enum stress_runtime runtime)
{
    run_seed = test_seed();
    fibers = calloc(FIBERS, sizeof *fibers);
    stress_start(runtime);
    expect(coex_gc_add_global_root(&out_root) == COEX_GC_OK);
    coex_gc_global_store(&out_root, coex_gc_alloc(OUT * sizeof(coex_handle), type_refs()));
    coex_gc_enter_native();
    run_threads(THREADS, scheduler_main, NULL);
    coex_gc_leave_native();
    for (int i = 0; i < FIBERS; i++) { /* what they left behind is there to the last frame */
        if (fibers[i].stack == NULL) continue;
        coex_gc_stack *home = coex_gc_stack_switch(fibers[i].stack);
        while (fibers[i].depth > 0) leave(&fibers[i]);
        coex_gc_stack_switch(home);
        coex_gc_stack_destroy(fibers[i].stack);
    }
    printf("%" PRIu64 " switches\n", switches);
    stress_end();
    free(fibers);
}

TEST_TIMEOUT(coroutines_that_any_thread_runs_lose_nothing, STRESS_TIMEOUT) { run_coroutines(STRESS_PLAIN); }
TEST_TIMEOUT(coroutines_that_any_thread_runs_lose_nothing_verified, STRESS_TIMEOUT) { run_coroutines(STRESS_VERIFIED); }
TEST_TIMEOUT(coroutines_that_any_thread_runs_lose_nothing_with_a_cycle_at_every_chance, STRESS_TIMEOUT)
{
    run_coroutines(STRESS_HOSTILE);
}
