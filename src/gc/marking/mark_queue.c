/* See mark_queue.h. */
#include "gc/marking/mark_queue.h"

#include "base/schedule_point.h"
#include "gc/error.h"

int cx_grey_init(struct cx_grey *grey, struct cx_handles *handles)
{
    *grey = (struct cx_grey){.handles = handles, .most_chunks = UINT64_MAX};
    /* Room for every handle once; more never helps, since the bitmap takes what does not fit. */
    if (!cx_range_reserve(&grey->range, (size_t)handles->max * 8 + CX_CHUNK_BYTES, (size_t)1 << 20))
        return cx_error_set(COEX_GC_ENOMEM, "no address space for grey handles");
    cx_mutex_init(&grey->lock, CX_RANK_GREY);
    return COEX_GC_OK;
}

void cx_grey_fini(struct cx_grey *grey)
{
    cx_mutex_fini(&grey->lock);
    cx_range_release(&grey->range);
}

static struct cx_chunk *grey_make_locked(struct cx_grey *grey)
{
    size_t end = (size_t)(grey->chunks + 1) * CX_CHUNK_BYTES;
    if (grey->chunks == grey->most_chunks) return NULL;
    size_t ahead = grey->range.committed * 2;
    if (end > grey->range.committed && !cx_range_commit(&grey->range, ahead > end && ahead <= grey->range.reserved ? ahead : end))
        return NULL;
    return (struct cx_chunk *)(void *)(grey->range.base + grey->chunks++ * CX_CHUNK_BYTES);
}

struct cx_chunk *cx_grey_take_empty(struct cx_grey *grey)
{
    cx_mutex_lock(&grey->lock);
    struct cx_chunk *chunk = grey->free;
    if (chunk != NULL)
        grey->free = chunk->next;
    else
        chunk = grey_make_locked(grey);
    cx_mutex_unlock(&grey->lock);
    if (chunk != NULL) chunk->count = 0;
    return chunk;
}

void cx_grey_give_empty(struct cx_grey *grey, struct cx_chunk *chunk)
{
    if (chunk == NULL) return;
    cx_mutex_lock(&grey->lock);
    chunk->next = grey->free;
    grey->free = chunk;
    cx_mutex_unlock(&grey->lock);
}

void cx_grey_give_full(struct cx_grey *grey, struct cx_chunk *chunk)
{
    cx_mutex_lock(&grey->lock);
    chunk->next = grey->full;
    grey->full = chunk;
    cx_a64_store_release(&grey->full_count, cx_a64_load_relaxed(&grey->full_count) + 1);
    cx_mutex_unlock(&grey->lock);
}

static struct cx_chunk *grey_pop_full_locked(struct cx_grey *grey)
{
    struct cx_chunk *chunk = grey->full;
    if (chunk != NULL) {
        grey->full = chunk->next;
        cx_a64_store_release(&grey->full_count, cx_a64_load_relaxed(&grey->full_count) - 1);
    }
    return chunk;
}

struct cx_chunk *cx_grey_take_full(struct cx_grey *grey)
{
    if (cx_a64_load_acquire(&grey->full_count) == 0) return NULL;
    cx_mutex_lock(&grey->lock);
    struct cx_chunk *chunk = grey_pop_full_locked(grey);
    cx_mutex_unlock(&grey->lock);
    return chunk;
}

struct cx_chunk *cx_grey_begin_assist(struct cx_grey *grey)
{
    if (cx_a64_load_acquire(&grey->full_count) == 0) return NULL;
    cx_mutex_lock(&grey->lock);
    struct cx_chunk *chunk = grey_pop_full_locked(grey);
    if (chunk != NULL) grey->assistants++;
    cx_mutex_unlock(&grey->lock);
    return chunk;
}

void cx_grey_end_assist(struct cx_grey *grey)
{
    cx_mutex_lock(&grey->lock);
    grey->assistants--;
    cx_mutex_unlock(&grey->lock);
}

bool cx_grey_is_quiet(struct cx_grey *grey)
{
    cx_mutex_lock(&grey->lock);
    bool quiet = grey->full == NULL && grey->assistants == 0 && cx_a32_load_acquire(&grey->spilled) == 0 &&
                 cx_a32_load_relaxed(&grey->rests) == 0;
    cx_mutex_unlock(&grey->lock);
    return quiet;
}

/* The bit before the flag: a collector that sees the flag (and resets it) looks through the bits afterwards. */
void cx_grey_spill(struct cx_grey *grey, coex_handle handle)
{
    uint64_t index = cx_index_of(handle);
    cx_a64_or_relaxed(&grey->handles->grey[index / 64], (uint64_t)1 << (index % 64));
    cx_a32_or_release(&grey->spilled, 1); /* an or: what others have spilled before stays released with it */
}

bool cx_grey_keep_rest(struct cx_grey *grey, coex_handle handle, uint64_t rest)
{
    cx_mutex_lock(&grey->lock);
    uint32_t count = cx_a32_load_relaxed(&grey->rests);
    bool kept = count < CX_GREY_RESTS;
    if (kept) {
        grey->rest[count][0] = handle;
        grey->rest[count][1] = rest;
        cx_a32_store_release(&grey->rests, count + 1);
    }
    cx_mutex_unlock(&grey->lock);
    return kept;
}

bool cx_grey_take_rest(struct cx_grey *grey, coex_handle *handle, uint64_t *rest)
{
    if (CX_LIKELY(cx_a32_load_acquire(&grey->rests) == 0)) return false;
    cx_mutex_lock(&grey->lock);
    uint32_t count = cx_a32_load_relaxed(&grey->rests);
    if (count != 0) {
        *handle = grey->rest[count - 1][0];
        *rest = grey->rest[count - 1][1];
        cx_a32_store_release(&grey->rests, count - 1);
    }
    cx_mutex_unlock(&grey->lock);
    return count != 0;
}

bool cx_grey_next_chunk(struct cx_grey *grey, struct cx_chunk **buffer)
{
    if (*buffer != NULL) cx_grey_give_full(grey, *buffer);
    *buffer = cx_grey_take_empty(grey);
    return *buffer != NULL;
}

void cx_grey_hand_over(struct cx_grey *grey, struct cx_chunk **buffer)
{
    struct cx_chunk *chunk = *buffer;
    if (chunk == NULL || chunk->count == 0) return;
    *buffer = NULL;
    cx_grey_give_full(grey, chunk);
}

/* The grey bitmap is cleared with the other bitmaps (sweep.c). */
bool cx_grey_drop_some_gct(struct cx_grey *grey, struct cx_budget *budget)
{
    struct cx_chunk *chunk = NULL;
    cx_a32_store_relaxed(&grey->assist_wanted, 0);
    cx_a32_store_release(&grey->assist_allowed, 0); /* nobody assists between MARK and the next Start: the phase says so */
    cx_a32_store_release(&grey->rests, 0);
    while (cx_budget_is_left(budget) && (chunk = cx_grey_take_full(grey)) != NULL) {
        cx_grey_give_empty(grey, chunk);
        cx_budget_spend(budget, 2 * CX_COST_LOCK);
    }
    return chunk != NULL;
}

void cx_grey_fork_child(struct cx_grey *grey)
{
    grey->free = grey->full = NULL;
    grey->chunks = 0; /* from the beginning of the range again */
    grey->assistants = 0;
    cx_a64_store_relaxed(&grey->full_count, 0);
    cx_a32_store_relaxed(&grey->rests, 0);
    cx_a32_store_relaxed(&grey->spilled, 1); /* the collector may have been reading the bitmap: the next cycle clears it */
}
