/* Stress: requests cycles at chosen allocations, to expose a missing root. Each thread counts its
 * own allocations, so a program with one thread is collected at the same places in every run. Off
 * by default. If it is on, every allocation takes the slow path. */
#ifndef CX_GC_DEBUG_STRESS_H
#define CX_GC_DEBUG_STRESS_H

#include <coex/gc.h>

struct cx_stress {
    uint64_t number;    /* of allocations so far */
    uint64_t countdown; /* to the next cycle; counts from stress_from on */
    uint64_t random;    /* never 0 */
};

/* `seed`: so that threads differ. */
void cx_stress_init(struct cx_stress *stress, const coex_gc_config *config, uint64_t seed);
/* One more allocation: is a cycle to be asked for? */
bool cx_stress_count(struct cx_stress *stress, const coex_gc_config *config);

static inline bool cx_stress_is_due(struct cx_stress *stress, const coex_gc_config *config)
{
    return __builtin_expect(config->stress != 0, 0) && cx_stress_count(stress, config);
}

#endif
