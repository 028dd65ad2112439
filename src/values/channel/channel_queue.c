/* What is done with a channel's latch held: words in and out of its rooms, and those who wait served. See channel.h. */
#include "base/report.h"
#include "values/channel/channel.h"

/* ------------------------------------------------------------------ rooms */

/* A room: the next one, then the words. */
enum { ROOM_NEXT = 0, ROOM_WORDS = 8 };

static uint64_t room_offset(uint64_t at) { return ROOM_WORDS + 8 * at; }

static uint64_t *room_word(coex_handle room, uint64_t at)
{
    return (uint64_t *)(void *)((char *)coex_gc_handle_deref(room) + room_offset(at));
}

static uint64_t room_count(const struct cx_channel *channel) { return cx_a64_load_relaxed(&channel->count); }

static void room_set_count(struct cx_channel *channel, uint64_t count) { cx_a64_store_relaxed(&channel->count, count); }

/* The tail is full: on to the next room, which is the same one in a ring, or the spare. False: there is none. */
static bool room_extend(struct cx_channel *channel, coex_handle handle)
{
    if (channel->capacity == COEX_CHANNEL_UNBOUNDED) {
        coex_handle spare = channel->spare;
        if (spare == 0) return false;
        coex_gc_store(channel->tail, ROOM_NEXT, spare);
        coex_gc_store(handle, offsetof(struct cx_channel, tail), spare);
        coex_gc_store(handle, offsetof(struct cx_channel, spare), 0);
    }
    channel->tail_at = 0;
    return true;
}

static bool room_put(struct cx_channel *channel, coex_handle handle, uint64_t word)
{
    if (CX_UNLIKELY(channel->tail_at == channel->room_words) && !room_extend(channel, handle)) return false;
    if (channel->handles)
        coex_gc_store(channel->tail, room_offset(channel->tail_at), word);
    else
        *room_word(channel->tail, channel->tail_at) = word;
    channel->tail_at++;
    room_set_count(channel, room_count(channel) + 1);
    return true;
}

/* The head is emptied: on to the next room; this one is the spare from now on. */
static void room_advance(struct cx_channel *channel, coex_handle handle)
{
    if (channel->head != channel->tail) {
        coex_handle empty = channel->head;
        coex_gc_store(handle, offsetof(struct cx_channel, head), coex_gc_load(empty, ROOM_NEXT));
        coex_gc_store(empty, ROOM_NEXT, 0);
        if (channel->spare == 0) coex_gc_store(handle, offsetof(struct cx_channel, spare), empty);
    }
    channel->head_at = 0;
}

/* A reference is erased: what was received is the channel's no more, and the barrier of the erasing keeps it for this cycle. */
static uint64_t room_take(struct cx_channel *channel, coex_handle handle)
{
    uint64_t word;
    if (CX_UNLIKELY(channel->head_at == channel->room_words)) room_advance(channel, handle);
    if (channel->handles) {
        word = coex_gc_load(channel->head, room_offset(channel->head_at));
        coex_gc_store(channel->head, room_offset(channel->head_at), 0);
    } else {
        word = *room_word(channel->head, channel->head_at);
    }
    channel->head_at++;
    uint64_t left = room_count(channel) - 1;
    room_set_count(channel, left);
    if (left == 0 && channel->head == channel->tail) channel->head_at = channel->tail_at = 0; /* the words that are in the cache */
    return word;
}

/* ----------------------------------------------------------- those who wait */

void cx_queue_add(struct cx_queue *queue, struct cx_place *place)
{
    place->next = NULL;
    place->previous = queue->last;
    place->queued = true;
    *(queue->last != NULL ? &queue->last->next : &queue->first) = place;
    queue->last = place;
    cx_a64_store_relaxed(&queue->count, cx_a64_load_relaxed(&queue->count) + 1);
}

void cx_queue_remove(struct cx_queue *queue, struct cx_place *place)
{
    if (!place->queued) return;
    *(place->previous != NULL ? &place->previous->next : &queue->first) = place->next;
    *(place->next != NULL ? &place->next->previous : &queue->last) = place->previous;
    place->queued = false;
    cx_a64_store_relaxed(&queue->count, cx_a64_load_relaxed(&queue->count) - 1);
}

/* The first who waits, out of the queue and claimed; NULL if there is none. Those who are claimed already, through another channel of
 * theirs, are only taken out. */
static struct cx_place *queue_claim(struct cx_queue *queue)
{
    struct cx_place *place;
    while ((place = queue->first) != NULL) {
        uint32_t unclaimed = 0;
        cx_queue_remove(queue, place);
        if (cx_a32_cas_acq_rel(&place->wait->claimed, &unclaimed, 1)) return place;
    }
    return NULL;
}

static void queue_serve(struct cx_place *place, bool closed, struct cx_wakes *wakes)
{
    struct cx_wait *wait = place->wait;
    wait->place = place;
    wait->closed = closed;
    wait->next = NULL;
    *(wakes->last != NULL ? &wakes->last->next : &wakes->first) = wait;
    wakes->last = wait;
}

static void place_put(const struct cx_channel *channel, struct cx_place *place, uint64_t word)
{
    if (channel->handles)
        coex_gc_store(place->wait->cell, place->offset, word);
    else
        place->word = word;
}

static uint64_t place_take(const struct cx_channel *channel, const struct cx_place *place)
{
    if (!channel->handles) return place->word;
    uint64_t word = coex_gc_load(place->wait->cell, place->offset);
    coex_gc_store(place->wait->cell, place->offset, 0); /* INV-CHANNEL-2 */
    return word;
}

/* ------------------------------------------------------------- operations */

enum cx_outcome cx_channel_send_locked(struct cx_channel *channel, coex_handle handle, uint64_t word, struct cx_wakes *wakes)
{
    if (cx_a32_load_relaxed(&channel->closed)) return CX_OUTCOME_CLOSED;
    struct cx_place *receiver = queue_claim(&channel->receivers);
    if (receiver != NULL) {
        CX_CHECK("INV-CHANNEL-5", room_count(channel) == 0);
        place_put(channel, receiver, word);
        queue_serve(receiver, false, wakes);
        return CX_OUTCOME_DONE;
    }
    if (room_count(channel) >= channel->capacity) return CX_OUTCOME_WAIT;
    return room_put(channel, handle, word) ? CX_OUTCOME_DONE : CX_OUTCOME_ROOM;
}

/* A word is out of the full channel: the first who waits to send puts its own there. */
static void channel_refill(struct cx_channel *channel, coex_handle handle, struct cx_wakes *wakes)
{
    struct cx_place *sender = queue_claim(&channel->senders);
    if (sender == NULL) return;
    CX_CHECK("INV-CHANNEL-5", room_count(channel) == channel->capacity - 1);
    room_put(channel, handle, place_take(channel, sender)); /* a bounded channel has its room */
    queue_serve(sender, false, wakes);
}

enum cx_outcome cx_channel_receive_locked(struct cx_channel *channel, coex_handle handle, uint64_t *word, struct cx_wakes *wakes)
{
    if (room_count(channel) != 0) {
        *word = room_take(channel, handle);
        if (CX_UNLIKELY(channel->senders.first != NULL)) channel_refill(channel, handle, wakes);
        return CX_OUTCOME_DONE;
    }
    struct cx_place *sender = queue_claim(&channel->senders);
    if (sender != NULL) {
        CX_CHECK("INV-CHANNEL-5", channel->capacity == 0);
        *word = place_take(channel, sender);
        queue_serve(sender, false, wakes);
        return CX_OUTCOME_DONE;
    }
    return cx_a32_load_relaxed(&channel->closed) ? CX_OUTCOME_CLOSED : CX_OUTCOME_WAIT;
}

void cx_channel_close_locked(struct cx_channel *channel, struct cx_wakes *wakes)
{
    struct cx_place *place;
    cx_a32_store_relaxed(&channel->closed, 1);
    while ((place = queue_claim(&channel->receivers)) != NULL) queue_serve(place, true, wakes);
    while ((place = queue_claim(&channel->senders)) != NULL) queue_serve(place, true, wakes);
}
