/* See sweep.h. Entered by the collector; lines are also swept by mutators that need space (heap.c). */
#include "gc/sweep.h"

#include "base/point.h"

/* The slots of dead handles become NULL, pages of large objects go back. The objects themselves are not touched. Returns objects. */
static uint64_t sweep_slots(uint64_t word, uint64_t dead, uint64_t *large_bytes)
{
    void **slots = &cx_world.handles.table[word * 64];
    uint64_t objects = 0;
    for (; dead != 0; dead &= dead - 1) {
        cx_aptr *slot = cx_aptr_at(&slots[__builtin_ctzll(dead)]);
        void *payload = cx_aptr_load_relaxed(slot);
        if (payload == NULL)
            continue; /* held by a thread that left: INV-THREAD-4 */
        objects++;
        cx_aptr_store_relaxed(slot, NULL);
        if (CX_UNLIKELY(cx_large_contains(&cx_world.heap.large, payload)))
            *large_bytes += cx_heap_give_large(&cx_world.heap, payload);
    }
    return objects;
}

struct cx_swept cx_sweep_handles_gct(void)
{
    struct cx_handles *handles = &cx_world.handles;
    struct cx_swept swept = {0};
    uint64_t words = cx_a64_load_acquire(&handles->committed) / 64;
    for (uint64_t word = 0; word < words; word++) {
        uint64_t allocated = cx_a64_load_acquire(&handles->allocated[word]); /* before the others: INV-HANDLE-2 */
        if (allocated == 0)
            continue;
        CX_POINT("sweep-between-allocated-and-born");
        uint64_t before = cx_a64_load_relaxed(&handles->retired[word]);
        uint64_t live = cx_a64_load_relaxed(&handles->marked[word]) | cx_a64_load_relaxed(&handles->born[word]);
        uint64_t dead = allocated & ~(live | before);
        if ((dead | before) == 0)
            continue;
        swept.objects += sweep_slots(word, dead, &swept.large_bytes);
        /* INV-HANDLE-4: slot, then retired; retired, then allocated, then available. */
        cx_a64_store_release(&handles->retired[word], dead);
        swept.retired += (uint64_t)__builtin_popcountll(dead);
        if (before != 0) {
            swept.recycled += (uint64_t)__builtin_popcountll(before);
            cx_a64_and_release(&handles->allocated[word], ~before);
            cx_handles_announce(handles, word);
        }
    }
    cx_a64_add_relaxed(&handles->recycled, swept.recycled);
    cx_a64_store_relaxed(&handles->retired_now, swept.retired);
    return swept;
}

void cx_sweep_lines_gct(void)
{
    cx_heap_sweep_begin_gct(&cx_world.heap);
    CX_POINT("sweep-lines-begun");
    while (cx_heap_sweep_some(&cx_world.heap)) {
    }
    cx_heap_sweep_end_gct(&cx_world.heap);
}

void cx_sweep_clear_gct(void)
{
    struct cx_handles *handles = &cx_world.handles;
    uint64_t words = cx_a64_load_acquire(&handles->committed) / 64;
    for (uint64_t word = 0; word < words; word++) {
        cx_a64_store_relaxed(&handles->born[word], 0);
        cx_a64_store_relaxed(&handles->marked[word], 0);
    }
    cx_heap_clear_held_gct(&cx_world.heap);
    cx_heap_clear_marks_gct(&cx_world.heap);
}
