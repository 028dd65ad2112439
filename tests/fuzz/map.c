/*
 * Maps and sets against arrays: the input is a kind, a number of keys, and a program of operations on five maps and sets
 * (map_model.h).
 */
#include "support/fuzz.h"
#include "support/map_model.h"

enum { MAX_OPERATIONS = 400, CHECK_EVERY = 64 };

static uint64_t draw(void *context, uint64_t bound) { return fuzz_below(context, bound); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world world;
    struct fuzz_input input = {data, data + size};
    fuzz_runtime();
    coex_handle *slots = coex_gc_enter_frame(WORLD_SLOTS);
    world = (struct world){.draw = draw, .context = &input};
    uint32_t kind = fuzz_byte(&input) % 8;
    world_begin(&world, kind, 1 + (unsigned)fuzz_below(&input, WORLD_KEYS), slots);
    for (int i = 1; i < MAX_OPERATIONS && !fuzz_is_over(&input); i++) {
        world_step(&world);
        if (i % CHECK_EVERY == 0) world_check(&world);
    }
    world_check(&world);
    coex_gc_leave_frame(slots);
    return 0;
}
