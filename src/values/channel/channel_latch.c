/* See channel.h: INV-CHANNEL-1 and 6. Entered by any managed thread, and by any thread at all that forks. */
#include "base/os.h"
#include "base/report.h"
#include "values/channel/channel.h"

/* A line each: neighbours are taken by others. */
static struct {
    __attribute__((aligned(64))) cx_latch latch;
} latch_table[CX_CHANNEL_LATCHES];

/* Forks that this process is away from the one that began. W: the child's hook, alone. R: with a latch. */
static uint32_t latch_life;

/* Handles of neighbours are near each other: the multiplication spreads any pattern of them. */
static unsigned latch_number(coex_handle channel) { return (unsigned)(channel * 0x9e3779b97f4a7c15u >> 56); }

uint32_t cx_channel_life(void) { return latch_life; }

void cx_channel_freshen(struct cx_channel *channel)
{
    if (CX_LIKELY(cx_a32_load_relaxed(&channel->life) == latch_life)) return;
    channel->receivers = channel->senders = (struct cx_queue){NULL, NULL, {0}};
    cx_a32_store_relaxed(&channel->life, latch_life);
}

/* Waits in native mode, comes back, and tries: so that it is not held across the transition. */
static __attribute__((noinline)) void latch_lock_slow(cx_latch *latch)
{
    if (cx_latch_spin(latch)) return;
    do {
        coex_gc_enter_native();
        cx_latch_sleep(latch);
        coex_gc_leave_native();
    } while (!cx_latch_try_crowded(latch));
}

void cx_channel_lock(struct cx_channel *channel, coex_handle handle)
{
    cx_latch *latch = &latch_table[latch_number(handle)].latch;
    if (!cx_latch_try(latch)) latch_lock_slow(latch);
    cx_channel_freshen(channel);
}

void cx_channel_unlock(coex_handle handle) { cx_latch_release(&latch_table[latch_number(handle)].latch); }

/* ------------------------------------------------------------ several at once */

void cx_latches_add(struct cx_latches *set, coex_handle channel)
{
    unsigned number = latch_number(channel);
    set->bit[number / 64] |= (uint64_t)1 << number % 64;
}

/* The lowest latch of the set that is not below `from`; CX_CHANNEL_LATCHES if there is none. */
static unsigned latch_next(const struct cx_latches *set, unsigned from)
{
    while (from < CX_CHANNEL_LATCHES) {
        uint64_t rest = set->bit[from / 64] >> from % 64;
        if (rest != 0) return from + (unsigned)__builtin_ctzll(rest);
        from = (from / 64 + 1) * 64;
    }
    return CX_CHANNEL_LATCHES;
}

static void latch_release_below(const struct cx_latches *set, unsigned end)
{
    for (unsigned i = latch_next(set, 0); i < end; i = latch_next(set, i + 1)) cx_latch_release(&latch_table[i].latch);
}

/* True: all are held. False: none is, and one was not to be had for a while, which has been waited for. */
static bool latch_lock_all(const struct cx_latches *set)
{
    for (unsigned i = latch_next(set, 0); i < CX_CHANNEL_LATCHES; i = latch_next(set, i + 1)) {
        cx_latch *latch = &latch_table[i].latch;
        if (cx_latch_try(latch) || cx_latch_spin(latch)) continue;
        latch_release_below(set, i);
        latch_lock_slow(latch);
        cx_latch_release(latch);
        return false;
    }
    return true;
}

void cx_latches_lock(const struct cx_latches *set)
{
    while (!latch_lock_all(set)) {
    }
}

void cx_latches_unlock(const struct cx_latches *set) { latch_release_below(set, CX_CHANNEL_LATCHES); }

/* ------------------------------------------------------------------- fork */

/* Whoever holds a latch releases it soon, without needing anything of this thread: so this may block as it is. */
static void latch_fork_prepare(void)
{
    for (unsigned i = 0; i < CX_CHANNEL_LATCHES; i++) cx_latch_take(&latch_table[i].latch);
}

static void latch_fork_parent(void)
{
    for (unsigned i = 0; i < CX_CHANNEL_LATCHES; i++) cx_latch_release(&latch_table[i].latch);
}

/* Those who slept on them are not here. */
static void latch_fork_child(void)
{
    latch_life++;
    for (unsigned i = 0; i < CX_CHANNEL_LATCHES; i++) cx_a32_store_release(&latch_table[i].latch.state, CX_LATCH_FREE);
}

/* Once in a process, after the runtime has installed its own fork hooks (INV-CHANNEL-6). */
bool cx_latch_register(void)
{
    static bool there; /* inits exclude each other */
    if (!there) there = cx_os_at_fork(latch_fork_prepare, latch_fork_parent, latch_fork_child);
    return there;
}
