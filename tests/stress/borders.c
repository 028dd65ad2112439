/*
 * All borders at once: threads that allocate, block, are called back, pin, look up weak things, finalize, hand coroutines around, spawn,
 * unwind and fork, while cycles never end. Every object knows what it should be (nodes.h).
 */
#include "support/borders.h"
#include "support/stress.h"

#include <pthread.h>
#include <setjmp.h>
#include <sys/wait.h>

enum { WORKERS = 4, SLOTS = 24, PLACES = 2048, POOL = 64, LEVELS = 12 };

static coex_handle weak_table, ephemeron_table, mailbox;
static uint32_t refs, mortals;
static uint64_t made, finalized, cycles;
static double until;

static bool is_over(void) { return now_seconds() > until; }

/* ---- objects that die --------------------------------------------------------------------------------------------- */

/* A finalizable object: [0] a node, or 0 after its finalizer has taken it out. */
static void say_goodbye(coex_handle object, void *context)
{
    coex_handle *slots = coex_gc_enter_frame(1);
    (void)context;
    slots[0] = coex_gc_exchange(object, 0, 0);
    expect(slots[0] != 0); /* once */
    if (node_is(slots[0])) node_verify(slots[0]);
    coex_gc_safepoint();
    if (node_is(slots[0])) node_verify(slots[0]);
    coex_gc_global_store(&mailbox, slots[0]);
    count_up(&finalized);
    coex_gc_leave_frame(slots);
}

static void make_mortal(coex_handle value)
{
    coex_handle h = coex_gc_alloc(8, mortals);
    expect(h != 0);
    coex_gc_init_ref(h, 0, value != 0 ? value : COEX_IMMEDIATE(1));
    count_up(&made);
}

/* ---- a worker --------------------------------------------------------------------------------------------------------- */

typedef struct worker {
    test_rng rng;
    coex_handle *slot; /* SLOTS of them: nodes, and the last two for the work at hand */
    jmp_buf back;
} worker;

enum { WORK = SLOTS - 2, MORE = SLOTS - 1 };

static coex_handle any_slot(worker *self) { return self->slot[rng_below(&self->rng, WORK)]; }

static void put(worker *self, coex_handle node) { self->slot[rng_below(&self->rng, WORK)] = node_depth(node) < 30 ? node : 0; }

static coex_handle some_node(worker *self)
{
    coex_handle children[] = {any_slot(self), any_slot(self)};
    switch (rng_below(&self->rng, 4)) {
    case 0:
        return node_make(node_fresh_id(NODE_LINK), children, 2, 0);
    case 1:
        return node_make(node_fresh_id(NODE_TRACED), children, 2, 0);
    case 2:
        return node_make(node_fresh_id(NODE_BLOB), NULL, 0,
                         (uint32_t)rng_below(&self->rng, rng_one_in(&self->rng, 100) ? 3000 : 30));
    default:
        return new_leaf();
    }
}

static void do_allocate(worker *self)
{
    for (int i = 0; i < 5; i++) put(self, some_node(self));
    coex_handle node = any_slot(self);
    if (node != 0) node_walk(node, 4, &self->rng);
}

static void do_native(worker *self)
{
    coex_gc_enter_native();
    if (rng_one_in(&self->rng, 3)) usleep((useconds_t)rng_below(&self->rng, 100));
    if (rng_one_in(&self->rng, 3)) {
        expect(coex_gc_enter_managed());
        do_allocate(self);
        coex_gc_leave_managed();
    }
    coex_gc_leave_native();
}

static void do_pin(worker *self)
{
    coex_handle node = any_slot(self);
    if (node == 0) return;
    uint64_t id = node_id(node);
    for (int i = 0; i < WORK; i++) {
        if (self->slot[i] == node) self->slot[i] = 0;
    }
    const void *at = coex_gc_pin(node);
    do_native(self);
    node_expect(node, id);
    expect(at == coex_gc_handle_deref(node));
    coex_gc_unpin(node);
    self->slot[WORK] = node;
    coex_gc_safepoint();
    node_expect(self->slot[WORK], id);
}

static void do_weak(worker *self)
{
    uint64_t place = rng_below(&self->rng, PLACES);
    if (rng_one_in(&self->rng, 3)) {
        self->slot[WORK] = some_node(self);
        self->slot[MORE] = coex_gc_weak_new(self->slot[WORK]);
        refs_set(coex_gc_global_load(&weak_table), place, self->slot[MORE]);
        return;
    }
    self->slot[MORE] = refs_get(coex_gc_global_load(&weak_table), place);
    self->slot[WORK] = self->slot[MORE] != 0 ? coex_gc_weak_get(self->slot[MORE]) : 0;
    if (self->slot[WORK] == 0) return;
    uint64_t id = node_verify(self->slot[WORK]);
    coex_gc_safepoint();
    node_expect(self->slot[WORK], id);
    expect_eq(coex_gc_weak_get(self->slot[MORE]), self->slot[WORK]);
    if (rng_one_in(&self->rng, 10)) put(self, self->slot[WORK]);
}

static void do_ephemeron(worker *self)
{
    uint64_t place = rng_below(&self->rng, PLACES);
    if (rng_one_in(&self->rng, 3)) {
        self->slot[WORK] = some_node(self); /* the key; the value leads to it */
        coex_handle children[] = {self->slot[WORK], any_slot(self)};
        self->slot[MORE] = node_make(node_fresh_id(NODE_LINK), children, 2, 0);
        self->slot[MORE] = coex_gc_ephemeron_new(self->slot[WORK], self->slot[MORE]);
        refs_set(coex_gc_global_load(&ephemeron_table), place, self->slot[MORE]);
        if (rng_one_in(&self->rng, 2)) put(self, self->slot[WORK]);
        return;
    }
    self->slot[MORE] = refs_get(coex_gc_global_load(&ephemeron_table), place);
    self->slot[WORK] = self->slot[MORE] != 0 ? coex_gc_ephemeron_value(self->slot[MORE]) : 0;
    if (self->slot[WORK] == 0) return;
    node_verify(self->slot[WORK]);
    coex_gc_safepoint();
    expect_eq(coex_gc_ephemeron_key(self->slot[MORE]), node_child(self->slot[WORK], 0));
    node_walk(self->slot[WORK], 5, &self->rng);
}

static void do_mortal(worker *self)
{
    make_mortal(any_slot(self));
    coex_gc_finalize(rng_below(&self->rng, 4));
    coex_handle word = coex_gc_global_load(&mailbox);
    if (node_is(word)) node_walk(word, 3, &self->rng);
    if (rng_one_in(&self->rng, 10)) coex_gc_adjust_external((int64_t)rng_below(&self->rng, 2000) - 1000);
}

/* ---- coroutines that go from thread to thread -------------------------------------------------------------------------------- */

typedef struct routine {
    coex_gc_stack *stack;
    unsigned depth;
    coex_handle *frame[LEVELS];
    uint64_t id[LEVELS];
} routine;

static routine *pool[POOL];

/* Pushes, pops and looks at frames of the stack that this thread is on. */
static void live_on(worker *self, routine *it)
{
    for (unsigned i = 0; i < it->depth; i++) {
        if (i == it->depth - 1 || rng_one_in(&self->rng, 4)) node_expect(it->frame[i][0], it->id[i]);
    }
    if (it->depth < LEVELS && rng_one_in(&self->rng, 2)) {
        it->frame[it->depth] = coex_gc_enter_frame(rng_between(&self->rng, 1, 40));
        it->frame[it->depth][0] = new_leaf();
        it->id[it->depth] = node_id(it->frame[it->depth][0]);
        it->depth++;
    } else if (it->depth > 0 && rng_one_in(&self->rng, 3)) {
        it->depth = (unsigned)rng_below(&self->rng, it->depth) + 1;
        coex_gc_unwind_to(it->frame[it->depth - 1]);
        if (rng_one_in(&self->rng, 2)) coex_gc_leave_frame(it->frame[--it->depth]);
    } else if (it->depth > 0) {
        it->frame[it->depth - 1][0] = new_leaf();
        it->id[it->depth - 1] = node_id(it->frame[it->depth - 1][0]);
    }
    if (rng_one_in(&self->rng, 10)) coex_gc_safepoint();
}

static void do_coroutine(worker *self)
{
    routine **place = &pool[rng_below(&self->rng, POOL)];
    routine *it = __atomic_exchange_n(place, NULL, __ATOMIC_ACQ_REL);
    if (it == NULL) {
        it = calloc(1, sizeof *it);
        it->stack = coex_gc_stack_create(LEVELS * 42);
        expect(it->stack != NULL);
    }
    coex_gc_stack *home = coex_gc_stack_switch(it->stack);
    for (uint64_t i = rng_below(&self->rng, 4); i > 0; i--) live_on(self, it);
    coex_handle carried = it->depth > 0 ? it->frame[it->depth - 1][0] : 0;
    coex_gc_stack_switch(home);
    if (carried != 0) put(self, carried);
    if (it->depth > 0 && rng_one_in(&self->rng, 4)) { /* deliver something to it */
        coex_handle leaf = new_leaf();
        coex_gc_set_slot(&it->frame[it->depth - 1][0], leaf);
        it->id[it->depth - 1] = node_id(leaf);
    }
    routine *gone = rng_one_in(&self->rng, 20) ? it : __atomic_exchange_n(place, it, __ATOMIC_ACQ_REL);
    if (gone == NULL) return;
    coex_gc_stack_destroy(gone->stack);
    free(gone);
}

/* ---- unwinding, spawning, forking ------------------------------------------------------------------------------------------------ */

static void recurse_and_jump(worker *self, unsigned depth, coex_handle argument)
{
    coex_handle *slots = coex_gc_enter_frame(4);
    slots[0] = new_leaf();
    if (depth > 0) {
        recurse_and_jump(self, depth - 1, rng_one_in(&self->rng, 3) ? slots[0] : argument);
        node_verify(slots[0]);
    } else {
        coex_handle made_of[] = {argument, slots[0]};
        coex_handle result = node_make(node_fresh_id(NODE_LINK), made_of, 2, 0);
        if (rng_one_in(&self->rng, 2)) {
            coex_gc_unwind_to(self->slot);
            self->slot[WORK] = result;
            longjmp(self->back, 1);
        }
        coex_gc_set_slot(&self->slot[WORK], result);
    }
    coex_gc_leave_frame(slots);
}

static void do_unwind(worker *self)
{
    self->slot[WORK] = 0;
    self->slot[MORE] = new_leaf();
    if (setjmp(self->back) == 0) recurse_and_jump(self, (unsigned)rng_below(&self->rng, 200), self->slot[MORE]);
    node_walk(self->slot[WORK], 3, &self->rng);
}

static void *run_spawned(void *spawn)
{
    coex_handle given = coex_gc_spawn_attach(spawn);
    node_verify(given);
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = node_make(node_fresh_id(NODE_LINK), (coex_handle[]){given, 0}, 2, 0);
    make_garbage(100);
    coex_gc_global_store(&mailbox, slots[0]);
    if (slots[0] % 2 == 0) coex_gc_leave_frame(slots); /* or ends with it */
    return NULL;
}

static void *run_foreign(void *unused)
{
    expect(coex_gc_enter_managed());
    make_garbage(50);
    coex_handle word = coex_gc_global_load(&mailbox);
    if (node_is(word)) node_verify(word);
    coex_gc_leave_managed();
    return unused;
}

static void do_thread(worker *self)
{
    pthread_t thread = 0;
    if (rng_one_in(&self->rng, 2)) {
        expect(pthread_create(&thread, NULL, run_foreign, NULL) == 0);
    } else {
        self->slot[WORK] = new_leaf();
        coex_gc_spawn *spawn = coex_gc_spawn_prepare(self->slot[WORK]);
        self->slot[WORK] = 0;
        expect(spawn != NULL && pthread_create(&thread, NULL, run_spawned, spawn) == 0);
    }
    COEX_GC_NATIVE(pthread_join(thread, NULL));
}

static void do_fork(worker *self)
{
    if (test_is_sanitized()) return; /* TSan does not follow a fork of many threads; tests/api/fork.c has what ASan can see */
    pid_t child = fork();
    expect(child >= 0);
    if (child == 0) {
        alarm(60);
        for (int i = 0; i < 20; i++) do_allocate(self);
        coex_gc_collect();
        for (int i = 0; i < WORK; i++) {
            if (self->slot[i] != 0) node_walk(self->slot[i], 3, &self->rng);
        }
        _exit(0);
    }
    int status = 0;
    coex_gc_enter_native();
    while (waitpid(child, &status, 0) < 0) {
    }
    coex_gc_leave_native();
    expect_eq((uint64_t)status, 0);
}

static void work(worker *self)
{
    uint64_t what = rng_below(&self->rng, 1000);
    self->slot[WORK] = self->slot[MORE] = 0;
    if (what < 300)
        do_allocate(self);
    else if (what < 400)
        do_native(self);
    else if (what < 480)
        do_pin(self);
    else if (what < 630)
        do_weak(self);
    else if (what < 730)
        do_ephemeron(self);
    else if (what < 800)
        do_mortal(self);
    else if (what < 950)
        do_coroutine(self);
    else if (what < 985)
        do_unwind(self);
    else if (what < 997)
        do_thread(self);
    else if (what < 998)
        do_fork(self);
    else
        coex_gc_async();
}

static void run_worker(unsigned index, void *arg)
{
    worker self = {.rng = rng_from(way_seed + index)};
    (void)arg;
    coex_gc_register_thread();
    self.slot = coex_gc_enter_frame(SLOTS);
    for (uint64_t i = 0; i % 16 != 0 || !is_over(); i++) {
        work(&self);
        if (i % 64 == 0 && stats_now().current_heap_used > 48 * MIB) memset(self.slot, 0, SLOTS * sizeof *self.slot);
        if (way_threads == 0 && i % 32 == 0) coex_gc_step(50);
    }
    coex_gc_leave_frame(self.slot);
}

/* ---- runs --------------------------------------------------------------------------------------------------------------------------- */

static void add_table(coex_handle *where, coex_handle value)
{
    *where = 0;
    expect(coex_gc_add_global_root(where) == COEX_GC_OK);
    coex_gc_global_store(where, value);
}

static void empty_pool(void)
{
    for (int i = 0; i < POOL; i++) {
        if (pool[i] == NULL) continue;
        coex_gc_stack_destroy(pool[i]->stack);
        free(pool[i]);
        pool[i] = NULL;
    }
}

static void run(coex_gc_config *config)
{
    static const uint32_t offsets[] = {0};
    way_seed = test_seed();
    start_with(config);
    nodes_init();
    refs = type_refs();
    mortals = type_from(&(coex_gc_type){
        .name = "mortal", .size = 8, .flags = COEX_GC_MUTABLE, .ref_offsets = offsets, .ref_count = 1, .finalize = say_goodbye});
    add_table(&weak_table, new_refs(refs, PLACES));
    add_table(&ephemeron_table, new_refs(refs, PLACES));
    add_table(&mailbox, 0);
    until = now_seconds() + stress_seconds();
    run_threads_native(WORKERS, run_worker, NULL);
    empty_pool();
    for (int i = 0; i < 3; i++) {
        coex_gc_collect();
        while (coex_gc_finalize(1000) != 0) {
        }
    }
    cycles = stats_now().collections_completed;
    printf("%" PRIu64 " cycles, %" PRIu64 " objects, %" PRIu64 " mortals\n", cycles, stats_now().total_allocations, made);
    ck_assert_uint_eq(made, finalized);
    ck_assert_uint_eq(stats_now().pins, 0);
    ck_assert_uint_eq(stats_now().registered_thread_count, 1);
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    ck_assert_uint_gt(cycles, 3);
    coex_gc_shutdown();
}

TEST_TIMEOUT(everything_at_once, 300)
{
    coex_gc_config config = busy_config();
    config.verify = config.poison = false; /* as users have it */
    run(&config);
}

TEST_TIMEOUT(everything_at_once_with_verified_marks, 300)
{
    coex_gc_config config = busy_config();
    run(&config);
}

TEST_TIMEOUT(everything_at_once_with_every_allocation_slow, 300)
{
    coex_gc_config config = busy_config();
    config.stress = 500;
    run(&config);
}

TEST_TIMEOUT(everything_at_once_without_a_gc_thread, 300)
{
    way_threads = 0;
    coex_gc_config config = busy_config();
    run(&config);
}
