/* The fast paths, one loop for each, counted by callgrind. scripts/check-instructions runs this
 * program and prints the table.
 *
 * Each loop is a function that performs its operation `count` times. It runs twice, with FEW and
 * with MANY rounds, and so does an empty loop of the same shape. The cost of one operation is
 * (many - few) / (MANY - FEW), minus the same figure of the empty loop. The figure therefore
 * excludes the loop itself and the code before and after it. callgrind writes a part after each
 * run, with the name of the loop and its rounds. The script subtracts and divides, guided by the
 * rows that this program prints.
 *
 * Only fast paths may run in a loop. A handle word and a hole are prepared before each loop, the
 * heap is so large that no cycle starts, and the other threads are idle. One loop is longer and
 * runs in fresh memory. It includes the slow paths of allocation, which the script also counts
 * separately. (In used memory, a hole is zeroed when it is taken, by an instruction that
 * callgrind counts once for each byte.) */
#include "support/bench.h"
#include "support/count.h"

#include <coex/gc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAYLOAD = 32,
    FEW = 8,
    MANY = 40, /* well inside a word of 64 handles, and inside a hole */
    SPREAD_FEW = 100000,
    SPREAD_MANY = 200000
};

/* What a loop works on; made ready before the counting. */
struct world {
    uint32_t fixed;
    uint32_t variable;
    uint32_t mutable_type;
    coex_handle object;
    coex_handle value;
};

/* One function for each loop, not inlined, so that it can be found in the disassembly by its name. bench_keep is a barrier for the
 * compiler: nothing is carried from one round to the next in a register that real code would have to load again. */
#define LOOP(name, body)                                                                                                           \
    __attribute__((noinline)) void loop_##name(const struct world *world, uint64_t count);                                         \
    void loop_##name(const struct world *world, uint64_t count)                                                                    \
    {                                                                                                                              \
        uint32_t fixed = world->fixed, variable = world->variable;                                                                 \
        coex_handle object = world->object, value = world->value;                                                                  \
        (void)fixed, (void)variable, (void)object, (void)value;                                                                    \
        for (; count != 0; count--) {                                                                                              \
            body;                                                                                                                  \
        }                                                                                                                          \
    }

LOOP(empty, bench_keep(0))
LOOP(alloc, bench_keep(coex_gc_alloc(PAYLOAD, fixed)))
LOOP(alloc_at, void *payload; bench_keep(coex_gc_alloc_at(PAYLOAD, fixed, &payload)); bench_keep((uint64_t)payload))
LOOP(alloc_variable, bench_keep(coex_gc_alloc(PAYLOAD, variable)))
LOOP(alloc_call, bench_keep((coex_gc_alloc)(PAYLOAD, fixed))) /* in brackets: the library's function, not the inline one */
LOOP(deref, bench_keep((uint64_t)coex_gc_handle_deref(object)))
LOOP(load, bench_keep(coex_gc_load(object, 8)))
LOOP(store, coex_gc_store(object, 8, value); bench_keep(0))
LOOP(init_ref, coex_gc_init_ref(object, 8, value); bench_keep(0))
LOOP(frame, coex_handle *slots = coex_gc_enter_frame(2); bench_keep((uint64_t)slots); coex_gc_leave_frame(slots); bench_keep(0))
LOOP(safepoint, coex_gc_safepoint(); bench_keep(0))
LOOP(native, coex_gc_enter_native(); bench_keep(0); coex_gc_leave_native(); bench_keep(0))

struct row {
    const char *name;
    const char *operation;
    void (*loop)(const struct world *world, uint64_t count);
    unsigned target; /* instructions; 0: none */
    uint64_t few, many;
};

#define ROW(name, target, operation)                                                                                               \
    {                                                                                                                              \
#name, operation, loop_##name, target, FEW, MANY                                                                           \
    }

static const struct row rows[] = {
    ROW(empty, 0, "an empty loop"),
    ROW(alloc, 25, "coex_gc_alloc, 32 bytes"),
    ROW(alloc_at, 25, "coex_gc_alloc_at, 32 bytes"),
    ROW(alloc_variable, 0, "coex_gc_alloc, 32 bytes of a variable-size type"),
    {"alloc_spread", "coex_gc_alloc, 32 bytes, slow paths spread over all", loop_alloc, 0, SPREAD_FEW, SPREAD_MANY},
    ROW(alloc_call, 0, "coex_gc_alloc, 32 bytes, as a call"),
    ROW(deref, 5, "coex_gc_handle_deref"), /* null test, table base, one load */
    ROW(load, 0, "coex_gc_load"),
    ROW(init_ref, 0, "coex_gc_init_ref"),
    ROW(store, 0, "coex_gc_store, no cycle running"),
    ROW(frame, 15, "coex_gc_enter_frame(2) + coex_gc_leave_frame"),
    ROW(safepoint, 0, "coex_gc_safepoint, nothing asked"),
    ROW(native, 0, "coex_gc_enter_native + coex_gc_leave_native"),
};

/* Allocates until this thread has a word and a hole with room for MANY objects. */
static void make_ready(const struct world *world)
{
    const struct coex_gc_thread *self = coex_gc_self;
    uint64_t room = (uint64_t)MANY * (PAYLOAD + 2 * COEX_GC_HEADER_BYTES);
    while (__builtin_popcountll(self->handle_bits) <= MANY || self->end - self->cursor < room)
        bench_keep(coex_gc_alloc(PAYLOAD, world->fixed));
}

static void count_once(const struct world *world, const struct row *row, uint64_t rounds)
{
    char name[64];
    snprintf(name, sizeof name, "%s %llu", row->name, (unsigned long long)rounds);
    make_ready(world);
    counting_begins();
    row->loop(world, rounds);
    counting_ends(name);
}

int main(void)
{
    if (!is_counted()) bench_fail("This is to be run by callgrind: scripts/check-instructions does.");
    coex_gc_config config;
    coex_gc_config_default(&config);
    config.initial_heap = (uint64_t)1 << 30; /* no cycle starts before a quarter of it is taken */
    if (coex_gc_init_with(&config) != COEX_GC_OK) bench_fail("%s", coex_gc_error_detail());

    static const uint32_t refs[] = {0, 8};
    coex_gc_type type = {.name = "fixed", .size = PAYLOAD, .ref_offsets = refs, .ref_count = 2};
    struct world world = {.fixed = coex_gc_register_type(&type)};
    type = (coex_gc_type){.name = "variable", .ref_offsets = refs, .ref_count = 2};
    world.variable = coex_gc_register_type(&type);
    type = (coex_gc_type){.name = "mutable", .size = PAYLOAD, .ref_offsets = refs, .ref_count = 2, .flags = COEX_GC_MUTABLE};
    world.mutable_type = coex_gc_register_type(&type);
    world.object = coex_gc_alloc(PAYLOAD, world.mutable_type);
    world.value = coex_gc_alloc(PAYLOAD, world.fixed);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        count_once(&world, row, row->few);
        count_once(&world, row, row->many);
        printf("%s %llu %llu %u %s\n", row->name, (unsigned long long)row->few, (unsigned long long)row->many, row->target,
               row->operation);
    }
    return 0; /* without shutdown: what it costs is nobody's concern here */
}
