/* See ring.h. */
#include "diag/events/ring.h"

#include "base/os.h"

#include <string.h>

enum { RING_WORDS = sizeof(struct cx_trace_record) / 8 };

bool cx_ring_init(struct cx_ring *ring, uint64_t slots)
{
    *ring = (struct cx_ring){.slots = cx_os_allocate((size_t)slots * sizeof(struct cx_ring_slot)), .mask = slots - 1};
    return ring->slots != NULL;
}

void cx_ring_fini(struct cx_ring *ring)
{
    cx_os_free(ring->slots);
    *ring = (struct cx_ring){0};
}

void cx_ring_put(struct cx_ring *ring, const struct cx_trace_record *record)
{
    uint64_t words[RING_WORDS], ticket = cx_a64_add_relaxed(&ring->next, 1);
    struct cx_ring_slot *slot = &ring->slots[ticket & ring->mask];
    uint64_t sequence = cx_a64_load_relaxed(&slot->sequence);
    if (sequence % 2 == 1 || sequence > ticket * 2 || !cx_a64_cas_acq_rel(&slot->sequence, &sequence, ticket * 2 + 1)) {
        cx_a64_add_relaxed(&ring->lost, 1);
        return;
    }
    memcpy(words, record, sizeof words);
    for (int i = 0; i < RING_WORDS; i++) cx_a64_store_release(&slot->word[i], words[i]);
    cx_a64_store_release(&slot->sequence, ticket * 2 + 2);
}

bool cx_ring_get(const struct cx_ring *ring, uint64_t ticket, struct cx_trace_record *record)
{
    const struct cx_ring_slot *slot = &ring->slots[ticket & ring->mask];
    uint64_t words[RING_WORDS];
    if (cx_a64_load_acquire(&slot->sequence) != ticket * 2 + 2) return false;
    for (int i = 0; i < RING_WORDS; i++) words[i] = cx_a64_load_acquire(&slot->word[i]);
    if (cx_a64_load_relaxed(&slot->sequence) != ticket * 2 + 2) return false;
    memcpy(record, words, sizeof words);
    return true;
}
