/* See world.h. */
#include "gc/world.h"

#include "gc/lock_rank.h"

struct cx_world cx_world = {.life = CX_MUTEX_INITIALIZER(CX_RANK_LIFE)};

const char *cx_phase_name(enum cx_phase phase)
{
    static const char *const names[] = {"IDLE", "SYNC", "ROOTS", "MARK", "SWEEP"};
    return names[phase];
}
