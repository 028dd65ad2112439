/* See sweep.h. Entered by the collector; lines are also swept by mutators that need space (heap.c). */
#include "gc/sweep.h"

#include "base/point.h"

enum { SWEEP_HOARD_MOST = 1 << 26 }; /* handles kept out of use in stale mode: half a gigabyte of table */

/* The slots of dead handles become NULL, pages of large objects go back. The objects themselves are not touched. Returns objects. */
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
        if (CX_UNLIKELY(cx_world.handles.graves.grave != NULL))
            cx_grave_dig(&cx_world.handles.graves, word * 64 + (uint64_t)__builtin_ctzll(dead),
                         cx_header_type(*cx_header_of(payload)), cx_a64_load_relaxed(&cx_world.cycle));
        cx_aptr_store_relaxed(slot, NULL);
        if (CX_UNLIKELY(cx_large_contains(&cx_world.heap.large, payload)))
            *large_bytes += cx_heap_give_large(&cx_world.heap, payload);
    }
    return objects;
}

static void sweep_word(struct cx_handles *handles, uint64_t word, struct cx_swept *swept)
{
    uint64_t allocated = cx_a64_load_acquire(&handles->allocated[word]); /* before the others: INV-HANDLE-2 */
    if (allocated == 0) return;
    CX_POINT("sweep-between-allocated-and-born");
    uint64_t before = cx_a64_load_relaxed(&handles->retired[word]);
    uint64_t live = cx_a64_load_relaxed(&handles->marked[word]) | cx_a64_load_relaxed(&handles->born[word]);
    uint64_t dead = allocated & ~(live | before);
    if ((dead | before) == 0) return;
    swept->objects += sweep_slots(word, dead, &swept->large_bytes);
    /* INV-HANDLE-4: slot, then retired; retired, then allocated, then available. */
    bool keep = CX_UNLIKELY(handles->hoard) && !swept->recycle;
    cx_a64_store_release(&handles->retired[word], keep ? before | dead : dead);
    swept->retired += (uint64_t)__builtin_popcountll(keep ? before | dead : dead);
    if (before != 0 && !keep) {
        swept->recycled += (uint64_t)__builtin_popcountll(before);
        cx_a64_and_release(&handles->allocated[word], ~before);
        cx_handles_announce(handles, word);
    }
}

bool cx_sweep_handles_gct(uint64_t *at, uint64_t count, struct cx_swept *swept)
{
    struct cx_handles *handles = &cx_world.handles;
    uint64_t words = cx_a64_load_acquire(&handles->committed) / 64;
    uint64_t end = *at + count < words ? *at + count : words;
    if (*at == 0 && CX_UNLIKELY(handles->hoard)) {
        uint32_t wanted = cx_a32_load_relaxed(&handles->wanted);
        if (wanted != 0) cx_a32_cas_acq_rel(&handles->wanted, &wanted, wanted - 1);
        swept->recycle = wanted != 0 || cx_a64_load_relaxed(&handles->retired_now) > SWEEP_HOARD_MOST;
    }
    for (; *at < end; ++*at) sweep_word(handles, *at, swept);
    if (*at < words) return true;
    cx_a64_add_relaxed(&handles->recycled, swept->recycled);
    cx_a64_store_relaxed(&handles->retired_now, swept->retired);
    return false;
}

/* Words of handles first, then as many blocks at a time as have about as many words. */
bool cx_sweep_clear_gct(struct cx_sweep_clear *clear, uint64_t count)
{
    struct cx_handles *handles = &cx_world.handles;
    if (clear->at == 0) {
        clear->words = cx_a64_load_acquire(&handles->committed) / 64;
        clear->blocks = cx_a32_load_acquire(&cx_world.heap.count);
    }
    uint64_t end = clear->at + count;
    for (; clear->at < end && clear->at < clear->words; clear->at++) {
        cx_a64_store_relaxed(&handles->born[clear->at], 0);
        cx_a64_store_relaxed(&handles->marked[clear->at], 0);
    }
    for (; clear->at < end && clear->at < clear->words + clear->blocks; clear->at++)
        cx_heap_clear_block_gct(&cx_world.heap, (uint32_t)(clear->at - clear->words));
    return clear->at < clear->words + clear->blocks;
}
