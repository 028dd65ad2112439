/*
 * Random programs over one shared, mutable graph: threads allocate objects of every kind, link them, publish and take them
 * with store, exchange and compare_exchange, recurse, return, unwind, go native, use global roots, start threads, exit and
 * collect. Each object is verified whenever it is read, and each frame knows which objects its slots must name.
 */
#include "support/stress.h"

#include <pthread.h>
#include <setjmp.h>
#include <unistd.h>

enum { SLOTS = 6, BOARD = 1500, THREADS = 4, MAX_SPAWNED = 6, DEEPEST = 60, CELLS = 4 };

/* The board: a large mutable array that all threads know by this global root. */
static coex_handle board_root;
static uint32_t board_type;
static unsigned spawned_now;
static uint64_t run_seed, spawn_serial;

typedef struct actor {
    test_rng rng;
    coex_handle *cell[CELLS]; /* global roots of this thread's own, and what they must name */
    uint64_t cell_id[CELLS];
    unsigned depth; /* of calls */
    bool may_spawn;
} actor;

/* A frame, and what its slots must name. */
typedef struct frame {
    coex_handle *slot;
    uint64_t id[SLOTS];
} frame;

static void frame_set(frame *here, unsigned i, coex_handle value)
{
    here->slot[i] = value;
    here->id[i] = node_is(value) ? node_verify(value) : 0;
}

static void frame_verify(const frame *here)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        if (here->id[i] != 0) node_expect(here->slot[i], here->id[i]);
    }
}

static unsigned any_slot(actor *self) { return (unsigned)rng_below(&self->rng, SLOTS); }
static coex_handle board(void) { return coex_gc_global_load(&board_root); }
static uint64_t any_place(actor *self) { return rng_below(&self->rng, BOARD) * sizeof(coex_handle); }

/* ---- objects ---------------------------------------------------------------------------------------------- */

static coex_handle any_child(actor *self, const frame *here)
{
    coex_handle child = here->slot[any_slot(self)];
    if (rng_one_in(&self->rng, 8)) return COEX_IMMEDIATE(rng_next(&self->rng));
    return node_depth(child) < DEEPEST ? child : 0;
}

static void do_make(actor *self, frame *here)
{
    static const enum node_kind kinds[] = {NODE_LEAF, NODE_LINK, NODE_LINK,   NODE_LINK,    NODE_LINK, NODE_TUPLE,
                                           NODE_BLOB, NODE_CELL, NODE_TRACED, NODE_ALIGNED, NODE_CELL};
    static _Thread_local coex_handle children[4000];
    enum node_kind kind = kinds[rng_below(&self->rng, sizeof kinds / sizeof kinds[0])];
    uint32_t count = 0, words = 0;
    if (kind == NODE_LINK) count = 2;
    if (kind == NODE_CELL) count = NODE_CELL_FIELDS;
    if (kind == NODE_TRACED) count = (uint32_t)rng_below(&self->rng, 6);
    if (kind == NODE_TUPLE) count = (uint32_t)rng_below(&self->rng, rng_one_in(&self->rng, 50) ? 4000 : 10);
    if (kind == NODE_BLOB)
        words = (uint32_t)rng_below(&self->rng, rng_one_in(&self->rng, 100) ? 30000 : rng_one_in(&self->rng, 8) ? 1000 : 12);
    for (uint32_t i = 0; i < count; i++) children[i] = any_child(self, here);
    uint64_t id = node_fresh_id(kind);
    coex_handle made = node_make(id, children, count, words);
    expect(made != 0);
    unsigned i = any_slot(self);
    frame_set(here, i, made);
    expect_eq(here->id[i], id);
}

static void do_walk(actor *self, frame *here)
{
    coex_handle from = here->slot[any_slot(self)];
    if (node_is(from)) frame_set(here, any_slot(self), node_walk(from, 30, &self->rng));
}

static void do_drop(actor *self, frame *here)
{
    for (int i = 0; i < 20 && stress_is_crowded(); i++) {
        for (int n = 0; n < 40; n++) coex_gc_store(board(), any_place(self), 0);
    }
    frame_set(here, any_slot(self), 0);
}

/* ---- sharing ---------------------------------------------------------------------------------------------- */

static void do_publish(actor *self, frame *here) { coex_gc_store(board(), any_place(self), here->slot[any_slot(self)]); }
static void do_take(actor *self, frame *here) { frame_set(here, any_slot(self), coex_gc_load(board(), any_place(self))); }

static void do_exchange(actor *self, frame *here)
{
    unsigned i = any_slot(self);
    frame_set(here, i, coex_gc_exchange(board(), any_place(self), here->slot[i]));
}

static void do_compare_exchange(actor *self, frame *here)
{
    unsigned i = any_slot(self);
    uint64_t place = any_place(self);
    coex_handle expected = rng_one_in(&self->rng, 4) ? 0 : coex_gc_load(board(), place);
    bool swapped = coex_gc_compare_exchange(board(), place, &expected, here->slot[i]);
    if (swapped || rng_one_in(&self->rng, 2)) frame_set(here, i, expected);
}

/* Rewires a mutable object that this thread, and perhaps others, can reach. */
static void do_rewire(actor *self, frame *here)
{
    coex_handle cell = here->slot[any_slot(self)];
    unsigned i = any_slot(self);
    if (!node_is(cell) || node_kind_of(node_id(cell)) != NODE_CELL) return;
    uint64_t field = node_cell_offset((uint32_t)rng_below(&self->rng, NODE_CELL_FIELDS));
    switch (rng_below(&self->rng, 4)) {
    case 0:
        coex_gc_store(cell, field, here->slot[i]);
        break;
    case 1:
        frame_set(here, i, coex_gc_exchange(cell, field, rng_one_in(&self->rng, 2) ? 0 : here->slot[i]));
        break;
    case 2:
        frame_set(here, i, coex_gc_load(cell, field));
        break;
    default: {
        coex_handle expected = coex_gc_load(cell, field);
        if (coex_gc_compare_exchange(cell, field, &expected, here->slot[i])) frame_set(here, i, expected);
    }
    }
}

/* A new board with what the old one holds now; what others put into the old one meanwhile is gone, and nobody minds. */
static void do_new_board(actor *self, frame *here)
{
    (void)here;
    if (!rng_one_in(&self->rng, 200)) return;
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = coex_gc_alloc(BOARD * sizeof(coex_handle), board_type);
    slot[1] = board();
    for (uint64_t i = 0; i < BOARD; i++) coex_gc_store(slot[0], i * 8, coex_gc_load(slot[1], i * 8));
    coex_gc_global_store(&board_root, slot[0]);
    coex_gc_leave_frame(slot);
}

static void do_global(actor *self, frame *here)
{
    unsigned i = (unsigned)rng_below(&self->rng, CELLS), from = any_slot(self);
    if (self->cell[i] == NULL) {
        self->cell[i] = malloc(sizeof(coex_handle));
        *self->cell[i] = here->slot[from];
        self->cell_id[i] = here->id[from];
        expect(coex_gc_add_global_root(self->cell[i]) == COEX_GC_OK);
        return;
    }
    coex_handle held = coex_gc_global_load(self->cell[i]);
    if (self->cell_id[i] != 0) node_expect(held, self->cell_id[i]);
    if (rng_one_in(&self->rng, 2)) {
        coex_gc_global_store(self->cell[i], here->slot[from]);
        self->cell_id[i] = here->id[from];
    } else {
        coex_gc_remove_global_root(self->cell[i]);
        free(self->cell[i]);
        self->cell[i] = NULL;
    }
    frame_set(here, any_slot(self), held);
}

/* ---- frames ----------------------------------------------------------------------------------------------- */

static void steps(actor *self, frame *here, uint64_t count);

/* The argument is in a slot of a caller's, and in none of this frame's. */
static coex_handle call(actor *self, coex_handle argument, uint64_t argument_id)
{
    frame here = {.slot = coex_gc_enter_frame(SLOTS)};
    self->depth++;
    steps(self, &here, rng_below(&self->rng, 12));
    if (argument_id != 0) {
        node_expect(argument, argument_id);
        coex_gc_store(board(), any_place(self), argument);
    }
    if (rng_one_in(&self->rng, 2) && self->depth < 200) {
        unsigned i = any_slot(self);
        coex_handle result = call(self, here.slot[i], here.id[i]);
        frame_set(&here, any_slot(self), result);
    }
    frame_verify(&here);
    coex_handle result = here.slot[any_slot(self)];
    self->depth--;
    coex_gc_leave_frame(here.slot);
    return result;
}

static void do_call(actor *self, frame *here)
{
    unsigned i = any_slot(self);
    if (self->depth > 150) return;
    coex_handle result = call(self, here->slot[i], here->id[i]);
    frame_set(here, any_slot(self), result);
}

/* Frames that only get deeper; the last one writes a slot of the first. */
static void sink(actor *self, coex_handle *out, uint64_t *out_id, unsigned levels)
{
    frame here = {.slot = coex_gc_enter_frame(SLOTS)};
    steps(self, &here, levels % 16 == 0 ? 2 : 0);
    if (levels > 0) {
        sink(self, out, out_id, levels - 1);
    } else {
        do_make(self, &here);
        for (unsigned i = 0; i < SLOTS; i++) {
            if (here.id[i] == 0) continue;
            coex_gc_set_slot(out, here.slot[i]);
            *out_id = here.id[i];
        }
        coex_gc_safepoint();
    }
    frame_verify(&here);
    coex_gc_leave_frame(here.slot);
}

static void do_sink(actor *self, frame *here)
{
    unsigned i = any_slot(self);
    if (self->depth > 2) return;
    self->depth += 100; /* no further recursion from down there */
    sink(self, &here->slot[i], &here->id[i], (unsigned)rng_below(&self->rng, rng_one_in(&self->rng, 10) ? 3000 : 100));
    self->depth -= 100;
    frame_verify(here);
}

static void jump_back(void *to) { longjmp(*(jmp_buf *)to, 1); }

/* Down some frames, then all of them gone at once; an argument that only a lost frame has rooted is published before. */
static void throw_from(actor *self, coex_handle argument, uint64_t id, unsigned levels, coex_handle *target, void (*jump)(void *),
                       void *to)
{
    frame here = {.slot = coex_gc_enter_frame(SLOTS)};
    steps(self, &here, 1);
    if (levels > 0) {
        do_make(self, &here);
        unsigned i = 0;
        while (here.id[i] == 0) i++;
        throw_from(self, here.slot[i], here.id[i], levels - 1, target, jump, to);
        return;
    }
    node_expect(argument, id);
    coex_gc_store(board(), any_place(self), argument);
    coex_gc_unwind_to(target);
    jump(to);
}

static void do_throw(actor *self, frame *here)
{
    jmp_buf back;
    unsigned depth = self->depth;
    if (here->id[0] == 0 || depth > 2) return;
    if (setjmp(back) == 0) {
        self->depth += 100;
        throw_from(self, here->slot[0], here->id[0], (unsigned)rng_below(&self->rng, 60), here->slot, jump_back, &back);
    }
    self->depth = depth;
    frame_verify(here);
}

/* The same objects, rooted by locals. */
static void do_locals(actor *self, frame *here)
{
    coex_handle a = here->slot[any_slot(self)], b = 0, c = 0;
    coex_handle *locals[] = {&a, &b, &c};
    uint64_t id = node_is(a) ? node_id(a) : 0;
    coex_gc_frame *pushed = coex_gc_push_frame(3, locals);
    b = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    coex_handle both[] = {node_depth(a) < DEEPEST ? a : 0, b};
    c = node_make(node_fresh_id(NODE_LINK), both, 2, 0);
    uint64_t b_id = node_id(b), c_id = node_id(c);
    coex_gc_safepoint();
    if (rng_one_in(&self->rng, 4)) {
        coex_handle result = call(self, b, b_id);
        coex_gc_set_root(locals, 0, result);
        id = node_is(a) ? node_id(a) : 0;
    }
    if (id != 0) node_expect(a, id);
    node_expect(b, b_id);
    node_expect(c, c_id);
    coex_gc_pop_frame(pushed);
    frame_set(here, any_slot(self), c);
}

/* ---- threads ---------------------------------------------------------------------------------------------- */

static void do_safepoint(actor *self, frame *here)
{
    (void)self, (void)here;
    coex_gc_safepoint();
}

static void do_native(actor *self, frame *here)
{
    (void)here;
    coex_gc_enter_native();
    if (rng_one_in(&self->rng, 4)) {
        coex_gc_enter_native();
        usleep((useconds_t)rng_below(&self->rng, 300));
        coex_gc_leave_native();
    }
    coex_gc_leave_native();
}

static void do_collect(actor *self, frame *here)
{
    (void)here;
    if (!rng_one_in(&self->rng, 40)) return;
    switch (rng_below(&self->rng, 8)) {
    case 0:
        coex_gc_collect();
        break;
    case 1:
        coex_gc_wait_for_completion();
        break;
    case 2:
        expect_eq(coex_gc_validate_heap(), 0);
        break;
    default:
        coex_gc_async();
    }
}

static void live(actor *self, coex_handle argument, uint64_t count)
{
    frame here = {.slot = coex_gc_enter_frame(SLOTS)};
    frame_set(&here, 0, argument);
    for (uint64_t done = 0; done < count && !stress_is_over(); done += 100) steps(self, &here, 100);
    frame_verify(&here);
    for (unsigned i = 0; i < CELLS; i++) {
        if (self->cell[i] == NULL) continue;
        coex_gc_remove_global_root(self->cell[i]);
        free(self->cell[i]);
    }
    coex_gc_leave_frame(here.slot);
}

typedef struct child {
    coex_gc_spawn *spawn; /* NULL: it registers by itself */
    uint64_t argument_id;
    uint64_t seed;
} child;

static void *child_main(void *argument)
{
    child it = *(child *)argument;
    free(argument);
    actor self = {.rng = rng_from(it.seed)};
    coex_handle given = 0;
    if (it.spawn != NULL)
        given = coex_gc_spawn_attach(it.spawn);
    else
        coex_gc_register_thread();
    if (it.argument_id != 0) node_expect(given, it.argument_id);
    live(&self, given, rng_below(&self.rng, 2000));
    if (rng_one_in(&self.rng, 2)) coex_gc_unregister_thread(); /* the exit does it otherwise */
    __atomic_fetch_sub(&spawned_now, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void do_spawn(actor *self, frame *here)
{
    unsigned i = any_slot(self);
    if (!self->may_spawn || !rng_one_in(&self->rng, 50) || __atomic_load_n(&spawned_now, __ATOMIC_RELAXED) >= MAX_SPAWNED) return;
    child *it = malloc(sizeof *it);
    *it = (child){.seed = run_seed + __atomic_add_fetch(&spawn_serial, 1, __ATOMIC_RELAXED) * 1000};
    if (!rng_one_in(&self->rng, 4)) {
        it->spawn = coex_gc_spawn_prepare(here->slot[i]);
        it->argument_id = here->id[i];
    }
    if (it->spawn != NULL && rng_one_in(&self->rng, 10)) {
        coex_gc_spawn_cancel(it->spawn);
        free(it);
        return;
    }
    pthread_t thread;
    __atomic_fetch_add(&spawned_now, 1, __ATOMIC_RELAXED);
    expect(pthread_create(&thread, NULL, child_main, it) == 0);
    pthread_detach(thread);
}

/* ---- the program ------------------------------------------------------------------------------------------ */

static void steps(actor *self, frame *here, uint64_t count)
{
    static const struct {
        void (*run)(actor *, frame *);
        unsigned weight;
    } what[] = {
        {do_make, 40},     {do_walk, 10},  {do_publish, 12}, {do_take, 12},     {do_exchange, 8}, {do_compare_exchange, 8},
        {do_rewire, 16},   {do_call, 6},   {do_sink, 1},     {do_throw, 2},     {do_locals, 4},   {do_global, 6},
        {do_safepoint, 6}, {do_native, 4}, {do_collect, 3},  {do_new_board, 1}, {do_spawn, 2},    {do_drop, 1},
    };
    unsigned whole = 0;
    for (size_t i = 0; i < sizeof what / sizeof what[0]; i++) whole += what[i].weight;
    for (; count > 0; count--) {
        uint64_t pick = rng_below(&self->rng, whole);
        size_t i = 0;
        for (; pick >= what[i].weight; i++) pick -= what[i].weight;
        what[i].run(self, here);
    }
}

static void actor_main(unsigned index, void *arg)
{
    (void)arg;
    actor self = {.rng = rng_from(run_seed + index), .may_spawn = true};
    coex_gc_register_thread();
    live(&self, 0, UINT64_MAX);
    coex_gc_unregister_thread();
}

static void run_graph(enum stress_runtime runtime)
{
    run_seed = test_seed();
    stress_start(runtime);
    board_type = type_refs();
    expect(coex_gc_add_global_root(&board_root) == COEX_GC_OK);
    coex_gc_global_store(&board_root, coex_gc_alloc(BOARD * sizeof(coex_handle), board_type));
    coex_gc_enter_native();
    run_threads(THREADS, actor_main, NULL);
    /* The last ones leave the registry in their exit, after they have counted down. */
    while (__atomic_load_n(&spawned_now, __ATOMIC_ACQUIRE) != 0 || stats_now().registered_thread_count > 1) usleep(1000);
    coex_gc_leave_native();
    coex_gc_remove_global_root(&board_root);
    stress_end();
}

TEST_TIMEOUT(random_graph_programs_lose_nothing, STRESS_TIMEOUT) { run_graph(STRESS_PLAIN); }
TEST_TIMEOUT(random_graph_programs_lose_nothing_verified, STRESS_TIMEOUT) { run_graph(STRESS_VERIFIED); }
TEST_TIMEOUT(random_graph_programs_lose_nothing_with_a_cycle_at_every_chance, STRESS_TIMEOUT) { run_graph(STRESS_HOSTILE); }
