/* See stress.h. */
#include "gc/debug/stress.h"

static uint64_t stress_gap(struct cx_stress *stress, const coex_gc_config *config)
{
    if (!config->stress_random) return config->stress;
    stress->random ^= stress->random << 13;
    stress->random ^= stress->random >> 7;
    stress->random ^= stress->random << 17;
    return 1 + stress->random % (config->stress > UINT64_MAX / 2 ? UINT64_MAX : 2 * config->stress - 1);
}

void cx_stress_init(struct cx_stress *stress, const coex_gc_config *config, uint64_t seed)
{
    *stress = (struct cx_stress){.random = (seed + 1) * 0x9e3779b97f4a7c15u};
    stress->countdown = config->stress == 0 ? 0 : config->stress_from != 0 ? 1 : stress_gap(stress, config);
}

bool cx_stress_count(struct cx_stress *stress, const coex_gc_config *config)
{
    stress->number++;
    if (stress->number < config->stress_from || (config->stress_to != 0 && stress->number > config->stress_to)) return false;
    if (--stress->countdown != 0) return false;
    stress->countdown = stress_gap(stress, config);
    return true;
}
