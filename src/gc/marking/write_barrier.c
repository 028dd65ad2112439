/* See write_barrier.h. Entered by mutators, each on its own record. */
#include "gc/marking/write_barrier.h"

#include "base/schedule_point.h"

static void barrier_shade_overwritten(struct cx_thread *self, coex_handle old)
{
    if (cx_is_reference(old) && !cx_handle_is_born(&cx_world.handles, old)) cx_shade_self(self, old);
}

static void barrier_shade_written(struct cx_thread *self, coex_handle value)
{
    enum cx_phase phase = cx_phase_now();
    if (cx_is_reference(value) && (phase == CX_PHASE_SYNC || phase == CX_PHASE_ROOTS)) cx_shade_self(self, value);
}

/* By the barrier alone: a white thread shades as a black one does. */
static void barrier_shade(struct cx_thread *self, coex_handle old, coex_handle value)
{
    if (self->words.barrier == 0) return;
    barrier_shade_overwritten(self, old);
    barrier_shade_written(self, value);
}

coex_handle cx_barrier_exchange_self(struct cx_thread *self, cx_a64 *field, coex_handle value)
{
    uint64_t old = cx_a64_load_acquire(field);
    do {
        barrier_shade(self, old, value);
        CX_SCHEDULE_POINT("barrier-before-store");
    } while (!cx_a64_cas_acq_rel(field, &old, value)); /* INV-BARRIER-3 */
    return old;
}

void cx_barrier_store_self(struct cx_thread *self, cx_a64 *field, coex_handle value)
{
    cx_barrier_exchange_self(self, field, value);
}

bool cx_barrier_compare_exchange_self(struct cx_thread *self, cx_a64 *field, coex_handle *expected, coex_handle desired)
{
    barrier_shade(self, *expected, desired); /* if the swap fails, a shade too many */
    CX_SCHEDULE_POINT("barrier-before-store");
    return cx_a64_cas_acq_rel(field, expected, desired);
}

/* For the check of frozen words. The slot is of this thread's stack or of a suspended one, or it is a
 * local that words of such a stack point to. A thread that switches to one waits for the lock. */
static void barrier_note_slot_locked(struct cx_thread *self, const coex_handle *slot, coex_handle value)
{
    if (cx_shadow_note_change_locked(self->shadow, slot, value)) return;
    uint32_t count = cx_a32_load_acquire(&cx_world.stacks.count);
    for (uint32_t i = 0; i < count; i++) {
        struct cx_shadow *stack = cx_stack_at(&cx_world.stacks, i);
        uint32_t state = cx_a32_load_acquire(&stack->state);
        bool suspended = state == CX_SHADOW_SUSPENDED || state == CX_SHADOW_CLAIMED;
        if (suspended) (void)cx_shadow_note_change_locked(stack, slot, value);
    }
}

/* Writes the slot if it still holds *old. In checked builds the slot and the note change under
 * one lock. It also keeps stacks from being destroyed meanwhile. */
static bool barrier_replace_slot(struct cx_thread *self, coex_handle *slot, uint64_t *old, coex_handle value)
{
    if (!CX_CHECKED) return cx_a64_cas_acq_rel(cx_a64_at(slot), old, value);
    cx_mutex_lock(&cx_world.stacks.lock);
    bool replaced = cx_a64_cas_acq_rel(cx_a64_at(slot), old, value);
    CX_SCHEDULE_POINT("slot-stored");
    if (replaced) barrier_note_slot_locked(self, slot, value);
    cx_mutex_unlock(&cx_world.stacks.lock);
    return replaced;
}

void cx_barrier_overwrite_slot_self(struct cx_thread *self, coex_handle *slot, coex_handle value)
{
    uint64_t old = cx_a64_load_acquire(cx_a64_at(slot));
    do {
        barrier_shade(self, old, value);
        CX_SCHEDULE_POINT("slot-before-store");
    } while (!barrier_replace_slot(self, slot, &old, value)); /* INV-BARRIER-3 */
}

void cx_barrier_root_added_self(struct cx_thread *self, coex_handle value)
{
    if (self->words.barrier != 0) barrier_shade_written(self, value);
}

void cx_barrier_root_removed_self(struct cx_thread *self, coex_handle value)
{
    if (self->words.barrier != 0) barrier_shade_overwritten(self, value);
}
