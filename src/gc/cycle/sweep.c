/* See sweep.h. Entered by the collector; lines are also swept by mutators that need space (blocks.c). */
#include "gc/cycle/sweep.h"

#include "base/schedule_point.h"

enum { SWEEP_HOARD_MOST = 1 << 26 }; /* handles kept out of use in stale mode: half a gigabyte of table */

/* The slots of dead handles become NULL, and runs of large objects are retired (large_objects.h). The objects themselves are not touched.
 * Returns objects. */
static uint64_t sweep_slots(uint64_t word, uint64_t dead, uint64_t *large_bytes)
{
    void **slots = &cx_world.handles.table[word * 64];
    uint64_t objects = 0;
    for (; dead != 0; dead &= dead - 1) {
        cx_aptr *slot = cx_aptr_at(&slots[__builtin_ctzll(dead)]);
        void *payload = cx_aptr_load_relaxed(slot);
        if (payload == NULL) continue; /* held by a thread that left: INV-THREAD-4 */
        objects++;
        if (cx_event_wants(&cx_world.events, 2))
            cx_world.events.tell(CX_DETAIL_RECLAIMED, word * 64 + (uint64_t)__builtin_ctzll(dead), (uintptr_t)payload);
        if (CX_UNLIKELY(cx_world.handles.stale.entry != NULL))
            cx_stale_history_add(&cx_world.handles.stale, word * 64 + (uint64_t)__builtin_ctzll(dead),
                         cx_header_type(*cx_header_of(payload)), cx_a64_load_relaxed(&cx_world.cycle));
        cx_aptr_store_relaxed(slot, NULL);
        if (CX_UNLIKELY(cx_large_contains(&cx_world.heap.large, payload)))
            *large_bytes += cx_large_retire(&cx_world.heap.large, payload);
    }
    return objects;
}

static void sweep_word(struct cx_handles *handles, uint64_t word, struct cx_swept *swept, struct cx_budget *budget)
{
    cx_budget_spend(budget, CX_COST_SWEEP_WORD);
    uint64_t allocated = cx_a64_load_acquire(&handles->allocated[word]); /* before the others: INV-HANDLE-2 */
    if (allocated == 0) return;
    CX_SCHEDULE_POINT("sweep-between-allocated-and-born");
    uint64_t before = cx_a64_load_relaxed(&handles->retired[word]);
    uint64_t live = cx_a64_load_relaxed(&handles->marked[word]) | cx_a64_load_relaxed(&handles->born[word]);
    uint64_t dead = allocated & ~(live | before);
    if ((allocated & ~before) != 0) swept->words = word + 1;
    if ((dead | before) == 0) return;
    swept->objects += sweep_slots(word, dead, &swept->large_bytes);
    cx_budget_spend(budget, (uint64_t)__builtin_popcountll(dead) * CX_COST_WORD);
    /* INV-HANDLE-4: slot, then retired; retired, then allocated, then available. */
    bool keep = CX_UNLIKELY(handles->hoard) && !swept->recycle;
    if (keep) swept->words = word + 1;
    cx_a64_store_release(&handles->retired[word], keep ? before | dead : dead);
    swept->retired += (uint64_t)__builtin_popcountll(keep ? before | dead : dead);
    if (before != 0 && !keep) {
        swept->recycled += (uint64_t)__builtin_popcountll(before);
        cx_a64_and_release(&handles->allocated[word], ~before);
        cx_handles_announce(handles, word);
    }
}

/* In stale mode it is decided here whether this sweep recycles handles. */
static void sweep_begin(struct cx_handles *handles, struct cx_swept *swept)
{
    swept->lowers = cx_handles_sweep_begin_gct(handles);
    if (CX_LIKELY(!handles->hoard)) return;
    uint32_t wanted = cx_a32_load_relaxed(&handles->wanted);
    if (wanted != 0) cx_a32_cas_acq_rel(&handles->wanted, &wanted, wanted - 1);
    swept->recycle = wanted != 0 || cx_a64_load_relaxed(&handles->retired_now) > SWEEP_HOARD_MOST;
}

bool cx_sweep_handles_gct(uint64_t *at, struct cx_swept *swept, struct cx_budget *budget)
{
    struct cx_handles *handles = &cx_world.handles;
    if (*at == 0) sweep_begin(handles, swept);
    uint64_t words = cx_a64_load_acquire(&handles->top); /* what is claimed above it from now on is born: INV-HANDLE-5 */
    while (cx_budget_is_left(budget)) {
        if (CX_UNLIKELY(cx_large_has_retired(&cx_world.heap.large))) {
            CX_SCHEDULE_POINT("sweep-before-discard");
            cx_heap_give_retired_gct(&cx_world.heap, budget);
        } else if (*at < words) {
            sweep_word(handles, (*at)++, swept, budget);
        } else {
            cx_a64_add_relaxed(&handles->recycled, swept->recycled);
            cx_a64_store_relaxed(&handles->retired_now, swept->retired);
            if (swept->lowers) cx_handles_sweep_end_gct(handles, swept->words);
            return false;
        }
    }
    return true;
}

/* Words of handles first, then blocks. `spilled` stays set until the grey bitmap is clear: a fork in between clears it again. */
bool cx_sweep_clear_gct(struct cx_sweep_clear *clear, struct cx_budget *budget)
{
    struct cx_handles *handles = &cx_world.handles;
    bool spilled = cx_a32_load_acquire(&cx_world.mark_queue.spilled) != 0;
    if (clear->at == 0) {
        clear->words = cx_a64_load_acquire(&handles->top);
        clear->blocks = cx_a32_load_acquire(&cx_world.heap.count);
    }
    for (; clear->at < clear->words && cx_budget_is_left(budget); clear->at++) {
        cx_a64_store_relaxed(&handles->born[clear->at], 0);
        cx_a64_store_relaxed(&handles->marked[clear->at], 0);
        if (CX_UNLIKELY(spilled)) cx_a64_store_relaxed(&handles->spilled[clear->at], 0);
        cx_budget_spend(budget, CX_COST_WORD);
    }
    for (; clear->at < clear->words + clear->blocks && cx_budget_is_left(budget); clear->at++) {
        cx_heap_clear_block_gct(&cx_world.heap, (uint32_t)(clear->at - clear->words));
        cx_budget_spend(budget, 2 * CX_LINE_WORDS * CX_COST_WORD);
    }
    if (clear->at < clear->words + clear->blocks) return true;
    cx_a32_store_relaxed(&cx_world.mark_queue.spilled, 0);
    return false;
}
