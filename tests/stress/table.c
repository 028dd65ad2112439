/*
 * A shared table with an exact model: every place of it belongs to one thread, which knows by heart what it has put there; the
 * others read it all the time, follow it, and carry it elsewhere.
 */
#include "support/stress.h"

#include <unistd.h>

enum { THREADS = 4, OWN = 400, PLACES = THREADS * OWN, SLOTS = 4 };

static coex_handle table_root;
static uint64_t run_seed;

typedef struct owner {
    test_rng rng;
    unsigned index;
    uint64_t id[OWN]; /* of what its places must name; 0: null */
    coex_handle *slot;
} owner;

static coex_handle table(void) { return coex_gc_global_load(&table_root); }
static uint64_t place_of(const owner *self, uint64_t i) { return (i * THREADS + self->index) * sizeof(coex_handle); }
static uint64_t any_own(owner *self) { return rng_below(&self->rng, OWN); }

static void expect_own(const owner *self, uint64_t i)
{
    coex_handle there = coex_gc_load(table(), place_of(self, i));
    if (self->id[i] == 0)
        expect_eq(there, 0);
    else
        node_expect(there, self->id[i]);
}

/* A small tree, all of it fresh but for a leaf from elsewhere. */
static void make_tree(owner *self)
{
    coex_handle other = coex_gc_load(table(), rng_below(&self->rng, PLACES) * sizeof(coex_handle));
    self->slot[0] = node_depth(other) < 20 ? other : 0;
    for (int i = 0; i < 3; i++) {
        self->slot[1] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
        coex_handle two[] = {self->slot[0], self->slot[1]};
        self->slot[0] = node_make(node_fresh_id(i == 1 ? NODE_TRACED : NODE_LINK), two, 2, 0);
        expect(self->slot[0] != 0);
    }
}

static void do_replace(owner *self)
{
    uint64_t i = any_own(self);
    make_tree(self);
    expect_own(self, i);
    coex_gc_store(table(), place_of(self, i), self->slot[0]);
    self->id[i] = node_id(self->slot[0]);
}

/* From one own place to another, in the slot only for a moment. */
static void do_move(owner *self)
{
    uint64_t from = any_own(self), to = any_own(self);
    if (from == to) return;
    self->slot[2] = coex_gc_exchange(table(), place_of(self, from), 0);
    if (rng_one_in(&self->rng, 4)) coex_gc_safepoint();
    coex_gc_store(table(), place_of(self, to), self->slot[2]);
    self->slot[2] = 0;
    self->id[to] = self->id[from];
    self->id[from] = 0;
    expect_own(self, to);
}

static void do_swap(owner *self)
{
    uint64_t i = any_own(self);
    coex_handle expected = coex_gc_load(table(), place_of(self, i));
    self->slot[3] = expected; /* kept while the new one is made */
    uint64_t id = node_fresh_id(NODE_BLOB);
    self->slot[0] = node_make(id, NULL, 0, (uint32_t)rng_below(&self->rng, rng_one_in(&self->rng, 20) ? 4000 : 30));
    expect(coex_gc_compare_exchange(table(), place_of(self, i), &expected, self->slot[0])); /* nobody else writes there */
    if (self->id[i] != 0) node_expect(self->slot[3], self->id[i]);
    self->slot[3] = 0;
    self->id[i] = id;
}

/* Somebody else's: takes it along and puts it into an own place. */
static void do_copy(owner *self)
{
    uint64_t i = any_own(self);
    self->slot[2] = coex_gc_load(table(), rng_below(&self->rng, PLACES) * sizeof(coex_handle));
    self->id[i] = node_is(self->slot[2]) ? node_verify(self->slot[2]) : 0;
    coex_gc_safepoint();
    coex_gc_store(table(), place_of(self, i), self->slot[2]);
    expect_own(self, i);
}

static void do_read(owner *self)
{
    for (int i = 0; i < 8; i++)
        node_walk(coex_gc_load(table(), rng_below(&self->rng, PLACES) * sizeof(coex_handle)), 20, &self->rng);
    expect_own(self, any_own(self));
}

static void do_pause(owner *self)
{
    coex_gc_enter_native();
    if (rng_one_in(&self->rng, 8)) usleep(50);
    coex_gc_leave_native();
    if (rng_one_in(&self->rng, 500)) coex_gc_collect();
}

static void owner_main(unsigned index, void *arg)
{
    static void (*const steps[])(owner *) = {do_replace, do_replace, do_move, do_swap, do_copy, do_read, do_read, do_pause};
    owner self = {.rng = rng_from(run_seed + index), .index = index};
    (void)arg;
    coex_gc_register_thread();
    self.slot = coex_gc_enter_frame(SLOTS);
    while (!stress_is_over()) {
        for (int i = 0; i < 200; i++) steps[rng_below(&self.rng, sizeof steps / sizeof steps[0])](&self);
    }
    for (uint64_t i = 0; i < OWN; i++) expect_own(&self, i);
    coex_gc_leave_frame(self.slot);
    coex_gc_unregister_thread();
}

static void run_table(enum stress_runtime runtime)
{
    run_seed = test_seed();
    stress_start(runtime);
    expect(coex_gc_add_global_root(&table_root) == COEX_GC_OK);
    coex_gc_global_store(&table_root, coex_gc_alloc(PLACES * sizeof(coex_handle), type_refs()));
    coex_gc_enter_native();
    run_threads(THREADS, owner_main, NULL);
    coex_gc_leave_native();
    stress_end();
}

TEST_TIMEOUT(each_place_of_a_shared_table_holds_what_was_put_there, STRESS_TIMEOUT) { run_table(STRESS_PLAIN); }
TEST_TIMEOUT(each_place_of_a_shared_table_holds_what_was_put_there_verified, STRESS_TIMEOUT) { run_table(STRESS_VERIFIED); }
TEST_TIMEOUT(each_place_of_a_shared_table_holds_what_was_put_there_with_a_cycle_at_every_chance, STRESS_TIMEOUT)
{
    run_table(STRESS_HOSTILE);
}
