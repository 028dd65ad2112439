/* See pace.h. */
#include "gc/cycle/pace.h"

#include "gc/marking/marker.h"
#include "gc/threads/native_transition.h"

enum {
    PACE_LEAST_GROWTH = 1 << 20,
    PACE_MOST_STEPS = 40, /* without a GC thread nobody else does it */
    PACE_MOST_ASSISTS = 4, /* a large object is no reason for a long stop */
    PACE_MOST_DOUBLINGS = 6 /* of the price: about 5 MB/s for each thread, which any cycle catches up with */
};

struct cx_pace cx_pace;

/* Bytes that objects and what they share lines with take: the free lines of blocks in use are not counted. Asked when a cycle ends. */
static uint64_t pace_live_heap(void)
{
    uint64_t used = cx_a64_load_relaxed(&cx_world.heap.used);
    uint64_t free = cx_a64_load_relaxed(&cx_world.heap.swept_free_lines) * CX_LINE_BYTES;
    return used > free ? used - free : 0;
}

/* The same now: with what was taken since, dead or alive. In the same measure as the goal. */
static uint64_t pace_in_use(void)
{
    return cx_a64_load_relaxed(&cx_world.heap.taken) - cx_a64_load_relaxed(&cx_pace.untaken) + cx_pace_external();
}

/* What embedders take back without having given counts as nothing. */
uint64_t cx_pace_external(void)
{
    int64_t external = (int64_t)cx_a64_load_relaxed(&cx_pace.external);
    return external > 0 ? (uint64_t)external : 0;
}

static uint64_t pace_growth(uint64_t live)
{
    const coex_gc_config *config = &cx_world.config;
    uint64_t growth = live / 100 * config->percent;
    if (growth < config->initial_heap / 4) growth = config->initial_heap / 4;
    if (config->memlimit != 0) {
        uint64_t room = config->memlimit > live ? (config->memlimit - live) / 2 : 0;
        growth = growth < room ? growth : room;
    }
    if (config->heap_limit != 0) { /* a cycle should have ended before the hard limit is near */
        uint64_t room = config->heap_limit > live ? (config->heap_limit - live) / 2 : 0;
        growth = growth < room ? growth : room;
    }
    return growth < PACE_LEAST_GROWTH ? PACE_LEAST_GROWTH : growth;
}

/* UINT64_MAX: never. */
static uint64_t pace_due_at_handles(uint64_t trigger)
{
    uint64_t claimed = cx_a64_load_relaxed(&cx_world.handles.claimed);
    return trigger == 0 || trigger > UINT64_MAX - claimed ? UINT64_MAX : claimed + trigger;
}

static void pace_set_due(void)
{
    uint64_t growth = cx_a64_load_relaxed(&cx_pace.goal) - cx_a64_load_relaxed(&cx_pace.live);
    uint64_t trigger = cx_a64_load_relaxed(&cx_pace.trigger);
    uint64_t taken = cx_a64_load_relaxed(&cx_world.heap.taken) + cx_a64_load_relaxed(&cx_pace.external_taken);
    cx_a64_store_relaxed(&cx_pace.due_at, taken + growth);
    cx_a64_store_relaxed(&cx_pace.due_at_handles, pace_due_at_handles(trigger));
}

void cx_pace_init(void)
{
    cx_pace = (struct cx_pace){0};
    cx_a64_store_relaxed(&cx_pace.trigger, cx_world.config.trigger_allocations);
    cx_a64_store_relaxed(&cx_pace.goal, pace_growth(0));
    pace_set_due();
}

void cx_pace_count_late(uint64_t handles)
{
    uint64_t due = cx_a64_load_relaxed(&cx_pace.due_at_handles);
    while (due != UINT64_MAX && due >= handles && !cx_a64_cas_acq_rel(&cx_pace.due_at_handles, &due, due - handles)) {
    }
}

void cx_pace_set_trigger(uint64_t allocations)
{
    cx_a64_store_relaxed(&cx_pace.trigger, allocations);
    cx_a64_store_relaxed(&cx_pace.due_at_handles, pace_due_at_handles(allocations));
}

/* While a cycle runs no other is due, unless as much again is taken. */
void cx_pace_cycle_begun_gct(void)
{
    cx_a64_store_relaxed(&cx_pace.assist_marked, 0);
    pace_set_due();
}

void cx_pace_cycle_ended_gct(void)
{
    uint64_t heap = pace_live_heap(), live = heap + cx_pace_external();
    cx_a64_store_relaxed(&cx_pace.untaken, cx_a64_load_relaxed(&cx_world.heap.taken) - heap);
    cx_a64_store_relaxed(&cx_pace.live, live);
    cx_a64_store_relaxed(&cx_pace.goal, live + pace_growth(live));
    pace_set_due();
}

bool cx_pace_adjust_external(int64_t bytes)
{
    if (bytes > 0) cx_a64_add_relaxed(&cx_pace.external_taken, (uint64_t)bytes);
    cx_a64_add_relaxed(&cx_pace.external, (uint64_t)bytes);
    return bytes > 0 && cx_pace_is_due();
}

uint64_t cx_pace_work_owed_self(struct cx_thread *self)
{
    uint64_t owed = (self->tlab.taken - self->assisted) / CX_ASSIST_BYTES;
    if (CX_LIKELY(owed == 0)) return 0;
    self->assisted += owed * CX_ASSIST_BYTES;
    if (cx_a32_load_relaxed(&cx_world.collecting) == 0) return 0;
    uint64_t most = cx_world.config.gc_threads == 0 ? PACE_MOST_STEPS : PACE_MOST_ASSISTS;
    return owed < most ? owed : most;
}

/* Returns how many pieces of CX_ASSIST_NS a thread pays for CX_ASSIST_BYTES: none up to one and a half times the goal, then one, and
 * twice as many for each further eighth of the goal. So a heap that keeps growing slows its mutators until the cycle has caught up. */
static uint64_t pace_price(void)
{
    uint64_t goal = cx_a64_load_relaxed(&cx_pace.goal), allowed = goal + goal / 2, used = pace_in_use();
    if (used < allowed) return 0;
    uint64_t eighths = (used - allowed) / (goal / 8 + 1);
    return (uint64_t)1 << (eighths < PACE_MOST_DOUBLINGS ? eighths : PACE_MOST_DOUBLINGS);
}

/* One piece: marking, or if there is nothing to share (a long list, another phase), a sleep that lets the collector have the core. The
 * thread sleeps in native mode: nobody waits for it. */
static void pace_pay_piece_self(struct cx_thread *self)
{
    if (cx_phase_now() == CX_PHASE_MARK && cx_mark_assist_self(CX_ASSIST_NS, &cx_pace.assist_marked)) {
        cx_a64_add_relaxed(&cx_pace.assists, 1);
        return;
    }
    cx_a64_add_relaxed(&cx_pace.rests, 1);
    cx_transition_enter_self(self);
    cx_os_sleep_ns(CX_ASSIST_NS);
    cx_transition_leave_self(self);
}

void cx_pace_assist_self(struct cx_thread *self, uint64_t shares)
{
    for (uint64_t paid = 0; paid < shares * pace_price() && cx_a32_load_relaxed(&cx_world.collecting) != 0; paid++) {
        pace_pay_piece_self(self);
        if (cx_thread_is_pending(self)) cx_safepoint_poll_self(self);
    }
}
