/*
 * Producers and consumers, through a stack and a queue without locks: each message arrives once and whole, and what a consumer
 * has in hand while others pop around it stays what it was (no handle is given out again while anybody has it).
 */
#include "support/stress.h"

#include <sched.h>

enum { PRODUCERS = 2, CONSUMERS = 2, SLOTS = 4, NEXT = 0, MESSAGE = 1, MOST = 2000 };

/* The shared cell: field 0 is the top of the stack, 1 the first of the queue, 2 its last. Each entry is a cell {next, message}. */
enum { TOP = 0, FIRST = 1, LAST = 2 };

static coex_handle shared_root;
static uint64_t run_seed;
static uint64_t sent, sent_sum, received, received_sum;
static unsigned producing;

static coex_handle shared(void) { return coex_gc_global_load(&shared_root); }
static coex_handle get(coex_handle cell, uint32_t field) { return coex_gc_load(cell, node_cell_offset(field)); }

static bool swap(coex_handle cell, uint32_t field, coex_handle from, coex_handle to)
{
    return coex_gc_compare_exchange(cell, node_cell_offset(field), &from, to);
}

static coex_handle new_entry(coex_handle message)
{
    coex_handle fields[NODE_CELL_FIELDS] = {0, message};
    coex_handle entry = node_make(node_fresh_id(NODE_CELL), fields, NODE_CELL_FIELDS, 0);
    expect(entry != 0);
    return entry;
}

/* ---- the stack -------------------------------------------------------------------------------------------- */

/* slot[0] is the message; slot[1] its entry. */
static void push(coex_handle *slot)
{
    slot[1] = new_entry(slot[0]);
    for (;;) {
        coex_handle top = get(shared(), TOP);
        coex_gc_store(slot[1], node_cell_offset(NEXT), top);
        if (swap(shared(), TOP, top, slot[1])) break;
        coex_gc_safepoint();
    }
    slot[0] = slot[1] = 0;
}

/* The message comes into slot[0]; false: it was empty. */
static bool pop(coex_handle *slot)
{
    for (;;) {
        slot[1] = get(shared(), TOP);
        if (slot[1] == 0) return false;
        coex_gc_safepoint(); /* others pop it, and push others: it is this entry still */
        if (swap(shared(), TOP, slot[1], get(slot[1], NEXT))) break;
    }
    slot[0] = get(slot[1], MESSAGE);
    slot[1] = 0;
    return true;
}

/* ---- the queue, of Michael and Scott ---------------------------------------------------------------------- */

static void enqueue(coex_handle *slot)
{
    slot[1] = new_entry(slot[0]);
    for (;;) {
        slot[2] = get(shared(), LAST);
        coex_handle next = get(slot[2], NEXT);
        if (next != 0) {
            swap(shared(), LAST, slot[2], next);
        } else if (swap(slot[2], NEXT, 0, slot[1])) {
            swap(shared(), LAST, slot[2], slot[1]);
            break;
        }
        coex_gc_safepoint();
    }
    slot[0] = slot[1] = slot[2] = 0;
}

static bool dequeue(coex_handle *slot)
{
    for (;;) {
        slot[1] = get(shared(), FIRST);
        slot[2] = get(shared(), LAST);
        slot[3] = get(slot[1], NEXT);
        coex_gc_safepoint();
        if (slot[3] == 0) return false;
        if (slot[1] == slot[2]) {
            swap(shared(), LAST, slot[2], slot[3]);
        } else {
            slot[0] = get(slot[3], MESSAGE);
            if (swap(shared(), FIRST, slot[1], slot[3])) break;
        }
    }
    slot[1] = slot[2] = slot[3] = 0;
    return true;
}

/* ---- the threads ------------------------------------------------------------------------------------------ */

static uint64_t total(const uint64_t *count) { return __atomic_load_n(count, __ATOMIC_RELAXED); }

static void produce(test_rng *rng, coex_handle *slot)
{
    slot[2] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    slot[3] = node_make(node_fresh_id(NODE_BLOB), NULL, 0, (uint32_t)rng_below(rng, 60));
    coex_handle parts[] = {slot[2], slot[3]};
    uint64_t id = node_fresh_id(NODE_LINK);
    slot[0] = node_make(id, parts, 2, 0);
    expect(slot[0] != 0);
    slot[2] = slot[3] = 0;
    __atomic_fetch_add(&sent, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sent_sum, node_mix(id), __ATOMIC_RELAXED);
    if (rng_one_in(rng, 2))
        push(slot);
    else
        enqueue(slot);
}

static bool consume(test_rng *rng, coex_handle *slot)
{
    if (rng_one_in(rng, 2) ? !pop(slot) : !dequeue(slot)) return false;
    uint64_t id = node_verify(slot[0]);
    node_verify(node_child(slot[0], 0));
    node_verify(node_child(slot[0], 1));
    __atomic_fetch_add(&received, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&received_sum, node_mix(id), __ATOMIC_RELAXED);
    slot[0] = 0;
    return true;
}

static void worker_main(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(run_seed + index);
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(SLOTS);
    if (index < PRODUCERS) {
        while (!stress_is_over()) {
            for (int i = 0; i < 50 && total(&sent) - total(&received) < MOST; i++) produce(&rng, slot);
            coex_gc_safepoint();
            if (total(&sent) - total(&received) >= MOST) COEX_GC_NATIVE(sched_yield());
        }
        __atomic_fetch_sub(&producing, 1, __ATOMIC_ACQ_REL);
    } else {
        while (__atomic_load_n(&producing, __ATOMIC_ACQUIRE) != 0 || total(&received) < total(&sent)) {
            if (!consume(&rng, slot)) COEX_GC_NATIVE(sched_yield());
        }
    }
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
}

static void run_queue(enum stress_runtime runtime)
{
    run_seed = test_seed();
    producing = PRODUCERS;
    stress_start(runtime);
    expect(coex_gc_add_global_root(&shared_root) == COEX_GC_OK);
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = new_entry(0);
    coex_handle fields[NODE_CELL_FIELDS] = {0, slot[0], slot[0]};
    coex_gc_global_store(&shared_root, node_make(node_fresh_id(NODE_CELL), fields, NODE_CELL_FIELDS, 0));
    coex_gc_leave_frame(slot);
    coex_gc_enter_native();
    run_threads(PRODUCERS + CONSUMERS, worker_main, NULL);
    coex_gc_leave_native();
    expect_eq(received, sent);
    expect_eq(received_sum, sent_sum);
    printf("%" PRIu64 " messages\n", sent);
    stress_end();
}

TEST_TIMEOUT(each_message_arrives_once_and_whole, STRESS_TIMEOUT) { run_queue(STRESS_PLAIN); }
TEST_TIMEOUT(each_message_arrives_once_and_whole_verified, STRESS_TIMEOUT) { run_queue(STRESS_VERIFIED); }
TEST_TIMEOUT(each_message_arrives_once_and_whole_with_a_cycle_at_every_chance, STRESS_TIMEOUT) { run_queue(STRESS_HOSTILE); }
