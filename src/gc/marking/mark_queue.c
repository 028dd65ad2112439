/* See grey.h. */
#include "gc/marking/mark_queue.h"

#include "base/schedule_point.h"
#include "gc/error.h"
#include "gc/lock_rank.h"

int cx_mark_queue_init(struct cx_mark_queue *queue, struct cx_handles *handles)
{
    *queue = (struct cx_mark_queue){.handles = handles, .most_chunks = UINT64_MAX};
    /* Room for every handle once; more never helps, since the bitmap takes what does not fit. */
    if (!cx_range_reserve(&queue->range, (size_t)handles->max * 8 + CX_CHUNK_BYTES, (size_t)1 << 20))
        return cx_error_set(COEX_GC_ENOMEM, "no address space for grey handles");
    size_t numbers = queue->range.reserved / CX_CHUNK_BYTES * sizeof(uint32_t);
    if (!cx_range_reserve(&queue->cold_range, numbers, numbers)) {
        cx_range_release(&queue->range);
        return cx_error_set(COEX_GC_ENOMEM, "no address space for grey handles");
    }
    cx_mutex_init(&queue->lock, CX_RANK_MARK_QUEUE);
    return COEX_GC_OK;
}

void cx_mark_queue_fini(struct cx_mark_queue *queue)
{
    cx_mutex_fini(&queue->lock);
    cx_range_release(&queue->cold_range);
    cx_range_release(&queue->range);
}

static struct cx_chunk *mark_queue_chunk_at(const struct cx_mark_queue *queue, uint64_t number)
{
    return (struct cx_chunk *)(void *)(queue->range.base + number * CX_CHUNK_BYTES);
}

static uint32_t *mark_queue_cold_numbers(const struct cx_mark_queue *queue) { return (uint32_t *)(void *)queue->cold_range.base; }

static struct cx_chunk *mark_queue_make_locked(struct cx_mark_queue *queue)
{
    size_t end = (size_t)(queue->chunks + 1) * CX_CHUNK_BYTES;
    if (queue->chunks == queue->most_chunks) return NULL;
    size_t ahead = queue->range.committed * 2;
    if (end > queue->range.committed && !cx_range_commit(&queue->range, ahead > end && ahead <= queue->range.reserved ? ahead : end))
        return NULL;
    return mark_queue_chunk_at(queue, queue->chunks++);
}

/* A free chunk, or a cold one, or a new one. INV-QUEUE-4 */
static struct cx_chunk *mark_queue_take_empty_locked(struct cx_mark_queue *queue)
{
    struct cx_chunk *chunk = queue->free;
    if (chunk != NULL) {
        queue->free = chunk->next;
        queue->free_count--;
        return chunk;
    }
    return queue->cold != 0 ? mark_queue_chunk_at(queue, mark_queue_cold_numbers(queue)[--queue->cold]) : mark_queue_make_locked(queue);
}

struct cx_chunk *cx_mark_queue_take_empty(struct cx_mark_queue *queue)
{
    cx_mutex_lock(&queue->lock);
    struct cx_chunk *chunk = mark_queue_take_empty_locked(queue);
    queue->out += chunk != NULL;
    if (queue->out > queue->out_most) queue->out_most = queue->out;
    cx_mutex_unlock(&queue->lock);
    if (chunk != NULL) chunk->count = 0;
    return chunk;
}

void cx_mark_queue_give_empty(struct cx_mark_queue *queue, struct cx_chunk *chunk)
{
    if (chunk == NULL) return;
    cx_mutex_lock(&queue->lock);
    chunk->next = queue->free;
    queue->free = chunk;
    queue->free_count++;
    queue->out--;
    cx_mutex_unlock(&queue->lock);
}

/* ------------------------------------------------------------------- trim */

enum { MARK_QUEUE_KEEP = 16 }; /* chunks: 64 KiB, which no cycle should have to touch anew */

void cx_mark_queue_cycle_ended_gct(struct cx_mark_queue *queue)
{
    cx_mutex_lock(&queue->lock);
    queue->needed[1] = queue->needed[0];
    queue->needed[0] = queue->out_most;
    queue->out_most = queue->out;
    cx_mutex_unlock(&queue->lock);
}

/* A free chunk that the last two cycles did not need; NULL: none. */
static struct cx_chunk *mark_queue_take_surplus(struct cx_mark_queue *queue)
{
    cx_mutex_lock(&queue->lock);
    uint64_t most = queue->needed[0] > queue->needed[1] ? queue->needed[0] : queue->needed[1];
    bool surplus = queue->free_count > MARK_QUEUE_KEEP && queue->free_count + queue->out > most &&
                   cx_range_commit(&queue->cold_range, (queue->cold + 1) * sizeof(uint32_t));
    struct cx_chunk *chunk = surplus ? queue->free : NULL;
    if (surplus) {
        queue->free = chunk->next;
        queue->free_count--;
    }
    cx_mutex_unlock(&queue->lock);
    return chunk;
}

/* Only here are chunks made cold: the place on the stack that was committed is still there. */
bool cx_mark_queue_trim_gct(struct cx_mark_queue *queue, struct cx_budget *budget)
{
    while (cx_budget_is_left(budget)) {
        struct cx_chunk *chunk = mark_queue_take_surplus(queue);
        cx_budget_spend(budget, 2 * CX_COST_LOCK);
        if (chunk == NULL) return false;
        cx_os_discard(chunk, CX_CHUNK_BYTES);
        cx_budget_spend(budget, CX_COST_CALL);
        cx_mutex_lock(&queue->lock);
        mark_queue_cold_numbers(queue)[queue->cold++] = (uint32_t)((size_t)((char *)chunk - queue->range.base) / CX_CHUNK_BYTES);
        cx_mutex_unlock(&queue->lock);
    }
    return true;
}

void cx_mark_queue_give_full(struct cx_mark_queue *queue, struct cx_chunk *chunk)
{
    cx_mutex_lock(&queue->lock);
    chunk->next = queue->full;
    queue->full = chunk;
    cx_a64_store_release(&queue->full_count, cx_a64_load_relaxed(&queue->full_count) + 1);
    cx_mutex_unlock(&queue->lock);
}

static struct cx_chunk *mark_queue_pop_full_locked(struct cx_mark_queue *queue)
{
    struct cx_chunk *chunk = queue->full;
    if (chunk != NULL) {
        queue->full = chunk->next;
        cx_a64_store_release(&queue->full_count, cx_a64_load_relaxed(&queue->full_count) - 1);
    }
    return chunk;
}

struct cx_chunk *cx_mark_queue_take_full(struct cx_mark_queue *queue)
{
    if (cx_a64_load_acquire(&queue->full_count) == 0) return NULL;
    cx_mutex_lock(&queue->lock);
    struct cx_chunk *chunk = mark_queue_pop_full_locked(queue);
    cx_mutex_unlock(&queue->lock);
    return chunk;
}

struct cx_chunk *cx_mark_queue_begin_assist(struct cx_mark_queue *queue)
{
    if (cx_a64_load_acquire(&queue->full_count) == 0) return NULL;
    cx_mutex_lock(&queue->lock);
    struct cx_chunk *chunk = mark_queue_pop_full_locked(queue);
    if (chunk != NULL) queue->assistants++;
    cx_mutex_unlock(&queue->lock);
    return chunk;
}

void cx_mark_queue_end_assist(struct cx_mark_queue *queue)
{
    cx_mutex_lock(&queue->lock);
    queue->assistants--;
    cx_mutex_unlock(&queue->lock);
}

bool cx_mark_queue_is_quiet(struct cx_mark_queue *queue)
{
    cx_mutex_lock(&queue->lock);
    bool quiet = queue->full == NULL && queue->assistants == 0 && cx_a32_load_acquire(&queue->spilled) == 0 &&
                 cx_a32_load_relaxed(&queue->rests) == 0;
    cx_mutex_unlock(&queue->lock);
    return quiet;
}

/* The bit before the flag: a collector that sees the flag (and resets it) looks through the bits afterwards. */
void cx_mark_queue_spill(struct cx_mark_queue *queue, coex_handle handle)
{
    uint64_t index = cx_index_of(handle);
    cx_a64_or_relaxed(&queue->handles->spilled[index / 64], (uint64_t)1 << (index % 64));
    cx_a32_or_release(&queue->spilled, 1); /* an or: what others have spilled before stays released with it */
}

bool cx_mark_queue_keep_rest(struct cx_mark_queue *queue, coex_handle handle, uint64_t rest)
{
    cx_mutex_lock(&queue->lock);
    uint32_t count = cx_a32_load_relaxed(&queue->rests);
    bool kept = count < CX_GREY_RESTS;
    if (kept) {
        queue->rest[count][0] = handle;
        queue->rest[count][1] = rest;
        cx_a32_store_release(&queue->rests, count + 1);
    }
    cx_mutex_unlock(&queue->lock);
    return kept;
}

bool cx_mark_queue_take_rest(struct cx_mark_queue *queue, coex_handle *handle, uint64_t *rest)
{
    if (CX_LIKELY(cx_a32_load_acquire(&queue->rests) == 0)) return false;
    cx_mutex_lock(&queue->lock);
    uint32_t count = cx_a32_load_relaxed(&queue->rests);
    if (count != 0) {
        *handle = queue->rest[count - 1][0];
        *rest = queue->rest[count - 1][1];
        cx_a32_store_release(&queue->rests, count - 1);
    }
    cx_mutex_unlock(&queue->lock);
    return count != 0;
}

bool cx_mark_queue_next_chunk(struct cx_mark_queue *queue, struct cx_chunk **buffer)
{
    if (*buffer != NULL) cx_mark_queue_give_full(queue, *buffer);
    *buffer = cx_mark_queue_take_empty(queue);
    return *buffer != NULL;
}

void cx_mark_queue_hand_over(struct cx_mark_queue *queue, struct cx_chunk **buffer)
{
    struct cx_chunk *chunk = *buffer;
    if (chunk == NULL || chunk->count == 0) return;
    *buffer = NULL;
    cx_mark_queue_give_full(queue, chunk);
}

/* The grey bitmap is cleared with the other bitmaps (sweep.c). */
bool cx_mark_queue_drop_some_gct(struct cx_mark_queue *queue, struct cx_budget *budget)
{
    struct cx_chunk *chunk = NULL;
    cx_a32_store_relaxed(&queue->assist_wanted, 0);
    cx_a32_store_release(&queue->assist_allowed, 0); /* nobody assists between MARK and the next Start: the phase says so */
    cx_a32_store_release(&queue->rests, 0);
    while (cx_budget_is_left(budget) && (chunk = cx_mark_queue_take_full(queue)) != NULL) {
        cx_mark_queue_give_empty(queue, chunk);
        cx_budget_spend(budget, 2 * CX_COST_LOCK);
    }
    return chunk != NULL;
}

void cx_mark_queue_fork_child(struct cx_mark_queue *queue)
{
    queue->free = queue->full = NULL;
    queue->chunks = queue->free_count = queue->out = queue->cold = 0; /* from the beginning of the range again */
    queue->out_most = queue->needed[0] = queue->needed[1] = 0;
    queue->assistants = 0;
    cx_a64_store_relaxed(&queue->full_count, 0);
    cx_a32_store_relaxed(&queue->rests, 0);
    cx_a32_store_relaxed(&queue->spilled, 1); /* the collector may have been reading the bitmap: the next cycle clears it */
}
