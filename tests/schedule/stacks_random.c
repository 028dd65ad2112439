/*
 * Random programs on coroutine stacks, while the collector stands still where it hurts.
 *
 * In each round the collector is held when it has just asked for the roots. Three actors, white until
 * they come to a safepoint and black from then on, switch between their own stacks and a few
 * coroutines. They take handles along, or fresh objects with such handles in them, out of any frame.
 * They call, return, unwind, write slots of suspended stacks, and destroy stacks. The collector is held
 * a second time before it marks. When the cycle has ended, every slot names what it should.
 */
#include "support/schedule.h"

#include <string.h>

enum { ACTORS = 3, FIBERS = 2, FRAME = 300, SLOTS = 3, MOST = 8, ROUNDS = 150, OPS = 40 };

/* A stack that is modelled: its frames, and the id of what each slot names. Only the first slots of a
 * frame are used; the others make it long, so that a thaw and an answer end above older frames. */
typedef struct fiber {
    coex_gc_stack *stack; /* NULL: the actor's own */
    bool busy;
    int depth;
    coex_handle *frame[MOST];
    uint64_t id[MOST][SLOTS];
} fiber;

static fiber fibers[FIBERS], homes[ACTORS];
static fiber *on[ACTORS];
static coex_gc_stack *home_stack[ACTORS];
static actor *actors[ACTORS];
static test_rng rng;

static int number_of(const actor *self)
{
    int number = 0;
    while (actors[number] != self) number++;
    return number;
}

static fiber *stack_of(const actor *self) { return on[number_of(self)]; }

static void put(fiber *it, int frame, int slot, coex_handle handle, uint64_t id)
{
    it->frame[frame][slot] = handle;
    it->id[frame][slot] = id;
}

/* Some slot of the stack that is not empty, or false. */
static bool pick(const fiber *it, int *frame, int *slot)
{
    *frame = (int)rng_below(&rng, (uint64_t)it->depth);
    *slot = (int)rng_below(&rng, SLOTS);
    return it->id[*frame][*slot] != 0;
}

/* A handle out of any frame of the stack that the actor is on, as it is or in a fresh object, or a
 * fresh leaf. It is in no slot yet. */
static coex_handle get_something(actor *self, uint64_t *id)
{
    fiber *it = stack_of(self);
    int frame = 0, slot = 0;
    bool old = rng_below(&rng, 4) != 0 && pick(it, &frame, &slot);
    *id = old ? it->id[frame][slot] : node_fresh_id(NODE_LEAF);
    if (!old) return node_make(*id, NULL, 0, 0);
    coex_handle part = it->frame[frame][slot];
    if (rng_one_in(&rng, 2) || node_depth(part) > 3) return part;
    *id = node_fresh_id(NODE_LINK);
    return node_make(*id, (coex_handle[]){part, 0}, 2, 0);
}

static void act_keep(actor *self)
{
    uint64_t id;
    coex_handle handle = get_something(self, &id);
    fiber *it = stack_of(self);
    put(it, it->depth - 1, (int)rng_below(&rng, SLOTS), handle, id);
}

/* Most objects are named by one slot: it matters who drops it. */
static void act_make(actor *self)
{
    fiber *it = stack_of(self);
    uint64_t id = node_fresh_id(NODE_LEAF);
    put(it, it->depth - 1, (int)rng_below(&rng, SLOTS), node_make(id, NULL, 0, 0), id);
}

static void act_drop(actor *self)
{
    fiber *it = stack_of(self);
    put(it, it->depth - 1, (int)rng_below(&rng, SLOTS), 0, 0);
}

static void act_call(actor *self)
{
    fiber *it = stack_of(self);
    if (it->depth == MOST) return;
    /* The second one stores the frame before it polls: what is below is not on top when it answers. */
    coex_handle *frame = rng_one_in(&rng, 2) ? coex_gc_enter_frame(FRAME) : coex_gc_enter_frame_with(FRAME, 0, NULL);
    memset(it->id[it->depth], 0, sizeof it->id[0]);
    it->frame[it->depth++] = frame;
}

static void act_return(actor *self)
{
    fiber *it = stack_of(self);
    if (it->depth == 1) return;
    coex_gc_leave_frame(it->frame[--it->depth]);
}

static void act_unwind(actor *self)
{
    fiber *it = stack_of(self);
    it->depth = (int)rng_between(&rng, 1, (uint64_t)it->depth);
    coex_gc_unwind_to(it->frame[it->depth - 1]);
}

static fiber *some_suspended(void)
{
    fiber *it = &fibers[rng_below(&rng, FIBERS)];
    return it->busy ? NULL : it;
}

static void act_switch(actor *self)
{
    int me = number_of(self);
    fiber *from = on[me], *to = rng_one_in(&rng, 3) ? &homes[me] : some_suspended();
    uint64_t id = 0;
    if (to == NULL || to == from) return;
    coex_handle handle = rng_one_in(&rng, 3) ? 0 : get_something(self, &id);
    coex_gc_stack *left = coex_gc_stack_switch(to->stack != NULL ? to->stack : home_stack[me]);
    if (from == &homes[me]) home_stack[me] = left;
    from->busy = false;
    to->busy = true;
    on[me] = to;
    if (handle != 0) put(to, to->depth - 1, (int)rng_below(&rng, SLOTS), handle, id);
}

static void act_set_slot(actor *self)
{
    fiber *to = rng_one_in(&rng, 3) ? stack_of(self) : some_suspended();
    if (to == NULL) return;
    uint64_t id = 0;
    coex_handle handle = rng_one_in(&rng, 3) ? 0 : get_something(self, &id);
    int frame = (int)rng_below(&rng, (uint64_t)to->depth), slot = (int)rng_below(&rng, SLOTS);
    coex_gc_set_slot(&to->frame[frame][slot], handle);
    to->id[frame][slot] = id;
}

/* A stack with one frame. A safepoint. */
static void fiber_make(actor *self, fiber *it)
{
    (void)self;
    it->stack = coex_gc_stack_create((FRAME + 1) * (MOST + 1));
    expect(it->stack != NULL);
    coex_gc_stack *back = coex_gc_stack_switch(it->stack);
    it->frame[0] = coex_gc_enter_frame(FRAME);
    it->depth = 1;
    memset(it->id, 0, sizeof it->id);
    coex_gc_stack_switch(back);
}

static void act_renew(actor *self)
{
    fiber *it = some_suspended();
    if (it == NULL) return;
    coex_gc_stack_destroy(it->stack);
    fiber_make(self, it);
}

static void act_native(actor *self)
{
    (void)self;
    coex_gc_enter_native();
    coex_gc_leave_native();
}

static void verify(const fiber *it)
{
    for (int frame = 0; frame < it->depth; frame++) {
        for (int slot = 0; slot < SLOTS; slot++) {
            if (it->id[frame][slot] != 0) node_expect(it->frame[frame][slot], it->id[frame][slot]);
        }
    }
}

static void act_verify(actor *self) { verify(stack_of(self)); }

/* Before a cycle: stacks grow. */
static void step_that_builds(actor *self)
{
    static const actor_step steps[] = {act_call, act_call, act_make, act_make, act_make, act_switch};
    steps[rng_below(&rng, sizeof steps / sizeof steps[0])](self);
}

/* The last ones are safepoints. They come seldom, so that some are white and others black for a while. */
static void any_step(actor *self)
{
    static const actor_step steps[] = {act_keep,     act_drop,   act_return, act_return, act_unwind, act_switch,
                                       act_switch,   act_switch, act_switch, act_switch, act_switch, act_set_slot,
                                       act_set_slot, act_verify, act_renew,  act_call,   act_native, step_answer};
    uint64_t count = sizeof steps / sizeof steps[0];
    steps[rng_below(&rng, rng_one_in(&rng, 5) ? count : count - 4)](self);
}

static void some_steps(actor_step step, int count)
{
    for (int i = 0; i < count; i++) actor_do(actors[rng_below(&rng, ACTORS)], step);
}

static void verify_all(actor *self)
{
    act_verify(self);
    for (int i = 0; i < FIBERS; i++) {
        if (fibers[i].busy) continue;
        coex_gc_stack *back = coex_gc_stack_switch(fibers[i].stack);
        verify(&fibers[i]);
        coex_gc_stack_switch(back);
    }
}

static void make_all(actor *self)
{
    for (int i = 0; i < FIBERS; i++) fiber_make(self, &fibers[i]);
}

static void go_home(actor *self)
{
    int me = number_of(self);
    if (on[me] != &homes[me]) coex_gc_stack_switch(home_stack[me]);
    homes[me].depth = 1;
    coex_gc_unwind_to(homes[me].frame[0]);
}

static void begin(void)
{
    schedule_start();
    rng = rng_from(test_seed());
    for (int i = 0; i < ACTORS; i++) {
        actors[i] = actor_start("one of three");
        homes[i] = (fiber){.busy = true, .depth = 1, .frame = {actors[i]->slot}};
        on[i] = &homes[i];
    }
    memset(fibers, 0, sizeof fibers);
    actor_do(actors[0], make_all);
}

static void one_round(void)
{
    some_steps(step_that_builds, OPS);
    hold *roots = cycle_to_roots(NULL);
    actor_do(actors[rng_below(&rng, ACTORS)], step_answer); /* one is black from the beginning */
    some_steps(any_step, OPS);
    hold *marking = hold_collector("mark-begins");
    let_go(roots);
    run_to(marking);
    some_steps(any_step, OPS / 2);
    let_go(marking);
    run_out();
    for (int i = 0; i < ACTORS; i++) actor_do(actors[i], verify_all);
}

TEST_TIMEOUT(random_programs_on_coroutine_stacks_lose_nothing_while_the_roots_are_asked_for, 120)
{
    NEEDS_POINTS();
    begin();
    const char *rounds = getenv("COEX_TEST_ROUNDS");
    for (int i = rounds != NULL ? atoi(rounds) : ROUNDS; i > 0; i--) one_round();
    for (int i = 0; i < ACTORS; i++) actor_do(actors[i], go_home);
    schedule_end();
}
