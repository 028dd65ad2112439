/* See park.h. Any thread. */
#include "base/park.h"

#include "base/os.h"

enum {
    PARK_LATCH_SPINS = 64,    /* looks at a latch: longer than it is ever held, unless its holder has lost its core */
    PARK_LOOKS = 16,          /* looks at a parker between two looks at the clock */
    PARK_SPIN_MIN_NS = 500,   /* what a spin that seems to be worth nothing costs at most */
    PARK_SPIN_MAX_NS = 10000, /* about what it costs to sleep and be woken: a spin loses no more than a sleep that was not needed */
    PARK_PROBE = 32           /* so many waits after which one spins for long again: things may have changed */
};

static __thread uint32_t park_spin_ns = PARK_SPIN_MAX_NS / 2;
static __thread uint32_t park_waits;

/* ---------------------------------------------------------------- latches */

bool cx_latch_spin(cx_latch *latch)
{
    if (cx_os_cores() < 2) return false;
    for (int i = 0; i < PARK_LATCH_SPINS; i++) {
        if (cx_latch_try(latch)) return true;
        cx_cpu_relax();
    }
    return false;
}

void cx_latch_sleep(cx_latch *latch)
{
    uint32_t state = CX_LATCH_HELD;
    if (!cx_a32_cas_acq_rel(&latch->state, &state, CX_LATCH_CROWDED) && state == CX_LATCH_FREE) return;
    cx_os_wait_on(&latch->state, CX_LATCH_CROWDED, UINT64_MAX);
}

void cx_latch_wake(cx_latch *latch) { cx_os_wake_one(&latch->state); }

void cx_latch_take(cx_latch *latch)
{
    if (cx_latch_try(latch) || cx_latch_spin(latch)) return;
    do cx_latch_sleep(latch);
    while (!cx_latch_try_crowded(latch));
}

/* ---------------------------------------------------------------- parkers */

static bool park_is_signalled(const cx_parker *parker) { return cx_a32_load_acquire(&parker->state) == CX_PARKER_SIGNALLED; }

static bool park_look(const cx_parker *parker, uint64_t nanoseconds)
{
    uint64_t until = cx_os_now_ns() + nanoseconds;
    do {
        for (int i = 0; i < PARK_LOOKS; i++) {
            cx_cpu_relax();
            if (park_is_signalled(parker)) return true;
        }
    } while (cx_os_now_ns() < until);
    return false;
}

static bool park_spin(const cx_parker *parker)
{
    if (park_is_signalled(parker)) return true;
    if (cx_os_cores() < 2) return false;
    bool probes = ++park_waits % PARK_PROBE == 0;
    bool worth = park_look(parker, probes ? PARK_SPIN_MAX_NS : park_spin_ns);
    if (worth)
        park_spin_ns = park_spin_ns * 2 < PARK_SPIN_MAX_NS ? park_spin_ns * 2 : PARK_SPIN_MAX_NS;
    else
        park_spin_ns = park_spin_ns - park_spin_ns / 4 > PARK_SPIN_MIN_NS ? park_spin_ns - park_spin_ns / 4 : PARK_SPIN_MIN_NS;
    return worth;
}

bool cx_parker_wait(cx_parker *parker, uint64_t until)
{
    if (park_spin(parker)) return true;
    uint32_t state = CX_PARKER_EMPTY;
    if (!cx_a32_cas_acq_rel(&parker->state, &state, CX_PARKER_ASLEEP) && state == CX_PARKER_SIGNALLED) return true;
    while (!park_is_signalled(parker)) {
        if (!cx_os_wait_on(&parker->state, CX_PARKER_ASLEEP, until)) return park_is_signalled(parker);
    }
    return true;
}

void cx_parker_signal(cx_parker *parker)
{
    if (cx_a32_exchange_acq_rel(&parker->state, CX_PARKER_SIGNALLED) == CX_PARKER_ASLEEP) cx_os_wake_one(&parker->state);
}
