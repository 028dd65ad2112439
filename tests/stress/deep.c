/*
 * Deep stacks: threads that go down tens of thousands of frames, come back, unwind and go native at every depth, while the
 * collector reads their frames behind their backs. Each frame is checked whenever its function gets it back.
 *
 * The frames are those of a function that calls itself; they are kept in an array, so that the C stack stays small.
 */
#include "support/stress.h"

#include <unistd.h>

enum { THREADS = 3, MOST_FRAMES = 40000, CHECKED = 3, OUT = 64 };

static coex_handle out_root; /* a shared array that callees put their callers' arguments into */
static uint64_t run_seed;

typedef struct level {
    coex_handle *slot;
    uint32_t slots;
    uint64_t id[CHECKED]; /* of the slots 0, the last one, and of one that was appended */
} level;

typedef struct stack {
    test_rng rng;
    level *level;
    uint32_t depth;
    uint64_t deepest;
} stack;

static coex_handle *checked_slot(level *at, unsigned i)
{
    return i == 0 ? &at->slot[0] : i == 1 ? &at->slot[at->slots - 1] : &at->slot[at->slots];
}

static void verify_level(level *at)
{
    for (unsigned i = 0; i < CHECKED; i++) {
        if (at->id[i] != 0) node_expect(*checked_slot(at, i), at->id[i]);
    }
}

static coex_handle fresh_leaf(uint64_t *id)
{
    *id = node_fresh_id(NODE_LEAF);
    coex_handle leaf = node_make(*id, NULL, 0, 0);
    expect(leaf != 0);
    return leaf;
}

static void call(stack *self)
{
    level *at = &self->level[self->depth];
    uint64_t kind = rng_below(&self->rng, 1000);
    *at = (level){.slots = kind == 0 ? 700 : kind < 100 ? (uint32_t)rng_between(&self->rng, 2, 60) : 2};
    at->slot = coex_gc_enter_frame(at->slots);
    self->depth++;
    if (self->depth > self->deepest) self->deepest = self->depth;
    uint64_t which = rng_below(&self->rng, 8);
    if (which < 2) at->slot[which == 0 ? 0 : at->slots - 1] = fresh_leaf(&at->id[which]);
    if (which == 2) {
        coex_handle leaf = fresh_leaf(&at->id[2]);
        coex_gc_root(leaf);
    }
}

static void leave(stack *self)
{
    level *at = &self->level[self->depth - 1];
    verify_level(at);
    coex_gc_leave_frame(at->slot);
    if (--self->depth > 0) verify_level(&self->level[self->depth - 1]);
}

/* A callee uses an argument that only a caller, some frames below, keeps alive. */
static void publish_argument(stack *self)
{
    if (self->depth == 0) return;
    level *caller = &self->level[rng_below(&self->rng, self->depth)];
    for (unsigned i = 0; i < CHECKED; i++) {
        if (caller->id[i] == 0) continue;
        coex_handle argument = *checked_slot(caller, i);
        node_expect(argument, caller->id[i]);
        coex_gc_store(coex_gc_global_load(&out_root), rng_below(&self->rng, OUT) * 8, argument);
    }
}

/* The result of a callee goes into a slot of a caller's, some frames below. */
static void write_to_caller(stack *self)
{
    if (self->depth == 0) return;
    level *caller = &self->level[rng_below(&self->rng, self->depth)];
    uint64_t id;
    coex_handle result = fresh_leaf(&id);
    coex_gc_set_slot(&caller->slot[0], result);
    caller->id[0] = id;
    coex_gc_safepoint();
}

static void unwind(stack *self)
{
    if (self->depth < 2) return;
    publish_argument(self);
    uint64_t least = self->depth > 3000 ? self->depth - 3000 : 1;
    self->depth = (uint32_t)rng_between(&self->rng, least, self->depth);
    coex_gc_unwind_to(self->level[self->depth - 1].slot);
    verify_level(&self->level[self->depth - 1]);
}

static void read_published(stack *self)
{
    coex_handle there = coex_gc_load(coex_gc_global_load(&out_root), rng_below(&self->rng, OUT) * 8);
    if (there != 0) node_verify(there);
}

static void step_aside(stack *self)
{
    coex_gc_enter_native();
    if (rng_one_in(&self->rng, 10)) usleep(100);
    coex_gc_leave_native();
    if (self->depth > 0) verify_level(&self->level[self->depth - 1]);
}

/* Down or up by some frames, and something else at the turn. */
static void move(stack *self)
{
    uint32_t target = (uint32_t)rng_below(&self->rng, rng_one_in(&self->rng, 20) ? MOST_FRAMES : 3000);
    while (self->depth < target) call(self);
    uint64_t end = rng_below(&self->rng, 4) == 0 ? 0 : target - target / (uint32_t)rng_between(&self->rng, 2, 100);
    for (int i = 0; i < 20; i++) {
        switch (rng_below(&self->rng, 6)) {
        case 0:
            publish_argument(self);
            break;
        case 1:
            write_to_caller(self);
            break;
        case 2:
            unwind(self);
            break;
        case 3:
            step_aside(self);
            break;
        case 4:
            read_published(self);
            break;
        default:
            coex_gc_safepoint();
        }
    }
    while (self->depth > end) leave(self);
}

static void deep_main(unsigned index, void *arg)
{
    (void)arg;
    stack self = {.rng = rng_from(run_seed + index), .level = calloc(MOST_FRAMES + 1, sizeof(level))};
    coex_gc_register_thread();
    while (!stress_is_over()) move(&self);
    if (index % 2 == 0) {
        while (self.depth > 0) leave(&self);
    }
    coex_gc_unregister_thread(); /* the others leave with all their frames */
    free(self.level);
    printf("%" PRIu64 " frames at most\n", self.deepest);
}

static void run_deep(enum stress_runtime runtime)
{
    run_seed = test_seed();
    stress_start(runtime);
    expect(coex_gc_add_global_root(&out_root) == COEX_GC_OK);
    coex_gc_global_store(&out_root, coex_gc_alloc(OUT * sizeof(coex_handle), type_refs()));
    coex_gc_enter_native();
    run_threads(THREADS, deep_main, NULL);
    coex_gc_leave_native();
    stress_end();
}

TEST_TIMEOUT(deep_stacks_keep_what_their_frames_name, STRESS_TIMEOUT) { run_deep(STRESS_PLAIN); }
TEST_TIMEOUT(deep_stacks_keep_what_their_frames_name_verified, STRESS_TIMEOUT) { run_deep(STRESS_VERIFIED); }
TEST_TIMEOUT(deep_stacks_keep_what_their_frames_name_with_a_cycle_at_every_chance, STRESS_TIMEOUT) { run_deep(STRESS_HOSTILE); }
