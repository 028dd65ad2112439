/*
 * Weak references, ephemerons and finalizers beside everything else: what a weak reference gives is the object it was made for, whole,
 * or nothing for good; a finalizer runs once for each object, never for one that somebody has.
 */
#include "support/stress.h"

#include <unistd.h>

enum { THREADS = 4, SLOTS = 6, BOARD = 400 };

/* A mutable array of weak references and ephemerons, and one of nodes, which keeps some of their targets alive. */
static coex_handle weak_root, strong_root;
static uint64_t run_seed;
static uint32_t mortal_type;

/* ---- finalizers ------------------------------------------------------------------------------------------- */

/* A mortal: {a leaf, the leaf's id, its own number}. */
typedef struct mortal {
    coex_handle leaf;
    uint64_t leaf_id;
    uint64_t number;
} mortal;

enum { MORTALS = 1 << 22 };
static uint8_t *mortal_state; /* by number: 0 not made, 1 somebody has it, 2 let go, 3 finalized */
static uint64_t mortals_made, mortals_finalized;

static void on_death(coex_handle object, void *context)
{
    expect(context == &mortals_finalized);
    const mortal *it = coex_gc_handle_deref(object);
    expect(it != NULL);
    uint64_t number = it->number;
    node_expect(it->leaf, it->leaf_id); /* what it refers to is alive with it */
    uint8_t before = __atomic_exchange_n(&mortal_state[number], 3, __ATOMIC_ACQ_REL);
    if (before != 2) test_fail(__FILE__, __LINE__, "mortal %" PRIu64 " is finalized in state %u", number, before);
    __atomic_fetch_add(&mortals_finalized, 1, __ATOMIC_RELAXED);
}

typedef struct actor {
    test_rng rng;
    coex_handle *slot;
    uint64_t id[SLOTS]; /* slots 0 to 2: nodes. 3: a mortal's number + 1. 4: a weak reference for what was in slot 0. 5: scratch */
} actor;

static void let_mortal_go(actor *self)
{
    if (self->id[3] == 0) return;
    const mortal *it = coex_gc_handle_deref(self->slot[3]);
    expect(it != NULL);
    expect_eq(it->number, self->id[3] - 1);
    self->slot[3] = 0;
    __atomic_store_n(&mortal_state[self->id[3] - 1], 2, __ATOMIC_RELEASE);
    self->id[3] = 0;
}

static void do_mortal(actor *self)
{
    let_mortal_go(self);
    uint64_t number = __atomic_fetch_add(&mortals_made, 1, __ATOMIC_RELAXED);
    if (number >= MORTALS) return;
    void *payload;
    uint64_t leaf_id = node_fresh_id(NODE_LEAF);
    self->slot[5] = node_make(leaf_id, NULL, 0, 0);
    self->slot[3] = coex_gc_alloc_at(sizeof(mortal), mortal_type, &payload);
    expect(self->slot[3] != 0);
    *(mortal *)payload = (mortal){self->slot[5], leaf_id, number};
    mortal_state[number] = 1;
    self->id[3] = number + 1;
    self->slot[5] = 0;
}

static void do_finalize(actor *self)
{
    (void)self;
    coex_gc_finalize(10);
}

/* ---- weak references -------------------------------------------------------------------------------------- */

static void do_make(actor *self)
{
    uint64_t i = rng_below(&self->rng, 3);
    coex_handle two[] = {self->slot[rng_below(&self->rng, 3)], self->slot[rng_below(&self->rng, 3)]};
    for (int k = 0; k < 2; k++) {
        if (node_depth(two[k]) > 10) two[k] = 0;
    }
    self->id[i] = node_fresh_id(NODE_LINK);
    self->slot[i] = node_make(self->id[i], two, 2, 0);
    expect(self->slot[i] != 0);
}

/* A weak reference of its own, for slot 0: exact. */
static void do_own_weak(actor *self)
{
    if (self->slot[4] != 0) {
        coex_handle target = coex_gc_weak_get(self->slot[4]);
        if (self->id[0] == self->id[4]) expect_eq(target, self->slot[0]); /* it is strongly held: it is there */
        if (target != 0) node_expect(target, self->id[4]);
    }
    if (self->id[0] != 0 && (self->slot[4] == 0 || rng_one_in(&self->rng, 4))) {
        self->slot[4] = coex_gc_weak_new(self->slot[0]);
        expect(self->slot[4] != 0);
        self->id[4] = self->id[0];
    }
}

static void do_publish_weak(actor *self)
{
    uint64_t i = rng_below(&self->rng, 3), k = rng_below(&self->rng, 3);
    if (self->id[i] == 0) return;
    if (rng_one_in(&self->rng, 2) && self->id[k] != 0)
        self->slot[5] = coex_gc_ephemeron_new(self->slot[i], self->slot[k]);
    else
        self->slot[5] = coex_gc_weak_new(self->slot[i]);
    expect(self->slot[5] != 0);
    coex_gc_store(coex_gc_global_load(&weak_root), rng_below(&self->rng, BOARD) * 8, self->slot[5]);
    if (rng_one_in(&self->rng, 3))
        coex_gc_store(coex_gc_global_load(&strong_root), rng_below(&self->rng, BOARD) * 8, self->slot[i]);
    self->slot[5] = 0;
}

/* Somebody's: a target that is still there becomes ours. */
static void do_take_weak(actor *self)
{
    coex_handle it = coex_gc_load(coex_gc_global_load(&weak_root), rng_below(&self->rng, BOARD) * 8);
    uint64_t i = rng_below(&self->rng, 3);
    if (it == 0) return;
    coex_handle target = coex_gc_size(it) == 8 ? coex_gc_weak_get(it) : coex_gc_ephemeron_key(it);
    if (target == 0) return;
    self->slot[i] = target;
    self->id[i] = node_verify(target);
    if (coex_gc_size(it) == 8) return;
    /* We hold the key: its value lives too. */
    coex_handle value = coex_gc_ephemeron_value(it);
    expect(value != 0);
    node_verify(value);
}

static void do_share(actor *self)
{
    uint64_t i = rng_below(&self->rng, 3), place = rng_below(&self->rng, BOARD) * 8;
    self->slot[i] = coex_gc_exchange(coex_gc_global_load(&strong_root), place, rng_one_in(&self->rng, 3) ? 0 : self->slot[i]);
    self->id[i] = self->slot[i] != 0 ? node_verify(self->slot[i]) : 0;
}

static void do_verify(actor *self)
{
    for (int i = 0; i < 3; i++) {
        if (self->id[i] != 0) node_expect(self->slot[i], self->id[i]);
    }
    coex_gc_safepoint();
    if (rng_one_in(&self->rng, 100)) COEX_GC_NATIVE(usleep(50));
    if (rng_one_in(&self->rng, 1000)) coex_gc_collect();
}

static void actor_main(unsigned index, void *arg)
{
    static void (*const steps[])(actor *) = {do_make,      do_make,         do_mortal,    do_finalize, do_own_weak, do_own_weak,
                                             do_take_weak, do_publish_weak, do_take_weak, do_share,    do_verify};
    actor self = {.rng = rng_from(run_seed + index)};
    (void)arg;
    coex_gc_register_thread();
    self.slot = coex_gc_enter_frame(SLOTS);
    while (!stress_is_over() && __atomic_load_n(&mortals_made, __ATOMIC_RELAXED) < MORTALS - 1000) {
        for (int i = 0; i < 200; i++) steps[rng_below(&self.rng, sizeof steps / sizeof steps[0])](&self);
    }
    let_mortal_go(&self);
    coex_gc_leave_frame(self.slot);
    coex_gc_unregister_thread();
}

static void run_dying(enum stress_runtime runtime)
{
    run_seed = test_seed();
    mortal_state = calloc(MORTALS, 1);
    static const uint32_t refs[] = {offsetof(mortal, leaf)};
    stress_start(runtime);
    mortal_type = type_from(&(coex_gc_type){.name = "mortal",
                                            .size = sizeof(mortal),
                                            .ref_offsets = refs,
                                            .ref_count = 1,
                                            .finalize = on_death,
                                            .finalize_context = &mortals_finalized});
    uint32_t board_type = type_refs();
    coex_handle *roots[] = {&weak_root, &strong_root};
    for (int i = 0; i < 2; i++) {
        expect(coex_gc_add_global_root(roots[i]) == COEX_GC_OK);
        coex_gc_global_store(roots[i], coex_gc_alloc(BOARD * sizeof(coex_handle), board_type));
    }
    coex_gc_enter_native();
    run_threads(THREADS, actor_main, NULL);
    coex_gc_leave_native();
    for (int i = 0; i < 3; i++) {
        coex_gc_collect();
        while (coex_gc_finalize(1000) > 0) continue;
    }
    expect_eq(mortals_finalized, mortals_made); /* each of them, once */
    printf("%" PRIu64 " mortals\n", mortals_made);
    stress_end();
    free(mortal_state);
}

TEST_TIMEOUT(weak_things_and_finalizers_keep_their_promises, STRESS_TIMEOUT) { run_dying(STRESS_PLAIN); }
TEST_TIMEOUT(weak_things_and_finalizers_keep_their_promises_verified, STRESS_TIMEOUT) { run_dying(STRESS_VERIFIED); }
TEST_TIMEOUT(weak_things_and_finalizers_keep_their_promises_with_a_cycle_at_every_chance, STRESS_TIMEOUT)
{
    run_dying(STRESS_HOSTILE);
}
