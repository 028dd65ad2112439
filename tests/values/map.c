/* Maps and sets: beside a model, under stress, at large sizes, with bad input. */
#include "support/borders.h"
#include "support/map_model.h"

#include <math.h>

static uint64_t draw_random(void *context, uint64_t bound) { return rng_below(context, bound); }

/* `steps` random operations on maps of each kind. */
static void play(unsigned keys, unsigned steps, unsigned check_every)
{
    static struct world world;
    test_rng rng = rng_from(test_seed());
    for (uint32_t kind = 0; kind < 8; kind++) {
        coex_handle *slots = coex_gc_enter_frame(WORLD_SLOTS);
        world = (struct world){.draw = draw_random, .context = &rng};
        world_begin(&world, kind, keys, slots);
        for (unsigned i = 1; i <= steps; i++) {
            world_step(&world);
            if (i % check_every == 0) world_check(&world);
        }
        world_check(&world);
        coex_gc_leave_frame(slots);
    }
}

TEST(maps_and_sets_of_every_kind_are_as_a_model_says)
{
    coex_gc_init();
    play(WORLD_KEYS, scaled(4000, 500), 200);
    play(40, scaled(4000, 500), 100);
    coex_gc_shutdown();
}

TEST_TIMEOUT(they_are_so_with_a_cycle_at_every_slow_allocation, 60)
{
    coex_gc_config config = busy_config();
    config.stress = 1;
    start_with(&config);
    play(60, scaled(150, 40), 50);
    coex_gc_shutdown();
}
