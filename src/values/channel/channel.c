/* Channels: making them, operations on one, and waiting. See channel.h for how they work; entered by any managed thread. */
#include "values/channel/channel.h"

#include "base/os.h"
#include "base/schedule_point.h"

enum { CHANNEL_ROOM_WORDS = 126 }; /* of an unbounded channel: a room is 1 KiB with its two words in front */

/* More words than any address space has bytes are refused by their number: their size in bytes would overflow. */
#define CHANNEL_MOST ((uint64_t)1 << 48)

static const uint32_t channel_refs[] = {offsetof(struct cx_channel, head), offsetof(struct cx_channel, tail),
                                        offsetof(struct cx_channel, spare)};
static const char *const channel_ref_names[] = {"head", "tail", "spare"};
static const uint32_t room_refs[] = {0};
static const char *const room_ref_names[] = {"next"};

const coex_gc_type cx_type_channel = {.name = "channel",
                                      .size = sizeof(struct cx_channel),
                                      .ref_offsets = channel_refs,
                                      .ref_count = 3,
                                      .ref_names = channel_ref_names,
                                      .flags = COEX_GC_MUTABLE};
const coex_gc_type cx_type_channel_bits = {
    .name = "channel bits", .ref_offsets = room_refs, .ref_count = 1, .ref_names = room_ref_names, .flags = COEX_GC_MUTABLE};
const coex_gc_type cx_type_channel_refs = {.name = "channel references",
                                           .ref_offsets = room_refs,
                                           .ref_count = 1,
                                           .ref_names = room_ref_names,
                                           .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY,
                                           .array_offset = 8};
const coex_gc_type cx_type_channel_cell = {.name = "channel cell", .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY, .array_offset = 0};

bool cx_outcome_report(enum cx_outcome outcome)
{
    static const coex_status status[] = {
        [CX_OUTCOME_CLOSED] = COEX_STATUS_CLOSED, [CX_OUTCOME_WAIT] = COEX_STATUS_TIMEOUT, [CX_OUTCOME_ROOM] = COEX_STATUS_MEMORY,
        [CX_OUTCOME_MEMORY] = COEX_STATUS_MEMORY, [CX_OUTCOME_KIND] = COEX_STATUS_KIND,
    };
    return outcome == CX_OUTCOME_DONE || cx_fail_false(status[outcome]);
}

/* ----------------------------------------------------------------- making */

static coex_handle channel_new_room(uint64_t words, bool handles)
{
    return coex_gc_alloc(8 + 8 * words, cx_values.id[handles ? CX_TYPE_channel_refs : CX_TYPE_channel_bits]);
}

coex_handle coex_channel_new(uint64_t capacity, bool handles)
{
    bool unbounded = capacity == COEX_CHANNEL_UNBOUNDED;
    if (!unbounded && capacity > CHANNEL_MOST) return cx_fail(COEX_STATUS_SIZE);
    uint64_t words = unbounded ? CHANNEL_ROOM_WORDS : capacity;
    coex_handle *slots = coex_gc_enter_frame(1), made = 0;
    void *payload = NULL;
    if (words != 0) slots[0] = channel_new_room(words, handles);
    if (words == 0 || slots[0] != 0) made = coex_gc_alloc_at(sizeof(struct cx_channel), cx_values.id[CX_TYPE_channel], &payload);
    if (made != 0) {
        struct cx_channel *channel = payload;
        channel->room_words = words;
        channel->capacity = capacity;
        channel->handles = handles;
        cx_a32_store_relaxed(&channel->life, cx_channel_life());
        coex_gc_init_ref(made, offsetof(struct cx_channel, head), slots[0]);
        coex_gc_init_ref(made, offsetof(struct cx_channel, tail), slots[0]);
    }
    coex_gc_leave_frame(slots);
    return made != 0 ? made : cx_fail_memory();
}

/* Another thread may have been as quick: then it has two, and one of them is garbage. */
bool cx_channel_add_room(coex_handle handle)
{
    struct cx_channel *channel = coex_gc_handle_deref(handle);
    coex_handle *slots = coex_gc_enter_frame(1); /* taking the latch may be a safepoint */
    slots[0] = channel_new_room(CHANNEL_ROOM_WORDS, channel->handles);
    bool made = slots[0] != 0;
    if (made) {
        cx_channel_lock(channel, handle);
        if (channel->spare == 0) coex_gc_store(handle, offsetof(struct cx_channel, spare), slots[0]);
        cx_channel_unlock(handle);
    }
    coex_gc_leave_frame(slots);
    return made;
}

/* ---------------------------------------------------------------- waiting */

void cx_wakes_signal(const struct cx_wakes *wakes)
{
    struct cx_wait *next;
    for (struct cx_wait *wait = wakes->first; wait != NULL; wait = next) {
        next = wait->next; /* it may be gone as soon as it is signalled */
        CX_SCHEDULE_POINT("channel-before-signal");
        cx_parker_signal(&wait->parker);
    }
}

bool cx_wait_sleep(struct cx_wait *wait, uint64_t until)
{
    coex_gc_enter_native();
    bool signalled = cx_parker_wait(&wait->parker, until);
    coex_gc_leave_native();
    return signalled;
}

uint64_t cx_wait_until(uint64_t nanoseconds)
{
    uint64_t now = nanoseconds == COEX_CHANNEL_FOREVER ? 0 : cx_os_now_ns();
    return nanoseconds < UINT64_MAX - now ? now + nanoseconds : UINT64_MAX;
}

/* ------------------------------------------------- operations on one channel */

/* Of both kinds: to send `*word`, or to receive into it. */
struct channel_operation {
    struct cx_channel *channel;
    coex_handle handle;
    uint64_t *word;
    bool sends;
};

static enum cx_outcome operation_locked(const struct channel_operation *operation, struct cx_wakes *wakes)
{
    return operation->sends ? cx_channel_send_locked(operation->channel, operation->handle, *operation->word, wakes)
                            : cx_channel_receive_locked(operation->channel, operation->handle, operation->word, wakes);
}

static enum cx_outcome operation_now(const struct channel_operation *operation)
{
    while (cx_channel_may(operation->channel, operation->sends)) {
        struct cx_wakes wakes = {NULL, NULL};
        cx_channel_lock(operation->channel, operation->handle);
        enum cx_outcome outcome = operation_locked(operation, &wakes);
        cx_channel_unlock(operation->handle);
        cx_wakes_signal(&wakes);
        if (CX_LIKELY(outcome != CX_OUTCOME_ROOM)) return outcome;
        if (!cx_channel_add_room(operation->handle)) return CX_OUTCOME_MEMORY;
    }
    return CX_OUTCOME_WAIT;
}

enum cx_outcome cx_channel_send_now(struct cx_channel *channel, coex_handle handle, uint64_t word)
{
    return operation_now(&(struct channel_operation){channel, handle, &word, true});
}

enum cx_outcome cx_channel_receive_now(struct cx_channel *channel, coex_handle handle, uint64_t *word)
{
    return operation_now(&(struct channel_operation){channel, handle, word, false});
}

/* The time is reached. Out of the queue, unless somebody has it in hand: then it is served, and the signal comes (INV-CHANNEL-4). */
static bool operation_give_up(const struct channel_operation *operation, struct cx_place *place)
{
    CX_SCHEDULE_POINT("channel-gives-up");
    cx_channel_lock(operation->channel, operation->handle);
    bool unserved = place->queued;
    cx_queue_remove(cx_channel_queue(operation->channel, operation->sends), place);
    cx_channel_unlock(operation->handle);
    if (!unserved) cx_wait_sleep(place->wait, UINT64_MAX);
    return unserved;
}

/* Does it, or waits until somebody has done the other half of it. */
static enum cx_outcome operation_wait(const struct channel_operation *operation, struct cx_wait *wait, uint64_t nanoseconds)
{
    struct cx_place place = {.wait = wait, .word = *operation->word};
    struct cx_wakes wakes = {NULL, NULL};
    cx_channel_lock(operation->channel, operation->handle);
    enum cx_outcome outcome = operation_locked(operation, &wakes);
    if (outcome == CX_OUTCOME_WAIT) cx_queue_add(cx_channel_queue(operation->channel, operation->sends), &place);
    cx_channel_unlock(operation->handle);
    cx_wakes_signal(&wakes);
    if (outcome != CX_OUTCOME_WAIT) return outcome;

    uint64_t until = cx_wait_until(nanoseconds);
    if (!cx_wait_sleep(wait, until) && operation_give_up(operation, &place)) return CX_OUTCOME_WAIT;
    if (wait->closed) return CX_OUTCOME_CLOSED;
    if (!operation->sends) *operation->word = wait->cell != 0 ? coex_gc_load(wait->cell, 0) : place.word;
    return CX_OUTCOME_DONE;
}

/* References wait in a cell. */
static enum cx_outcome operation_wait_with_cell(const struct channel_operation *operation, uint64_t nanoseconds)
{
    struct cx_wait wait = {.cell = 0};
    enum cx_outcome outcome = CX_OUTCOME_MEMORY;
    coex_handle *slots = coex_gc_enter_frame(1);
    wait.cell = slots[0] = coex_gc_alloc(8, cx_values.id[CX_TYPE_channel_cell]);
    if (wait.cell != 0) {
        if (operation->sends) coex_gc_init_ref(wait.cell, 0, *operation->word);
        outcome = operation_wait(operation, &wait, nanoseconds);
    }
    coex_gc_leave_frame(slots);
    return outcome;
}

/* Tries first, so that only who must wait has a wait made. */
static bool channel_operate(const struct channel_operation *operation, uint64_t nanoseconds)
{
    if (CX_UNLIKELY(operation->channel == NULL)) return cx_fail_false(COEX_STATUS_KIND);
    enum cx_outcome outcome = operation_now(operation);
    if (CX_LIKELY(outcome == CX_OUTCOME_DONE)) return true;
    if (outcome == CX_OUTCOME_WAIT && nanoseconds != 0) {
        struct cx_wait wait = {.cell = 0};
        outcome = operation->channel->handles ? operation_wait_with_cell(operation, nanoseconds)
                                              : operation_wait(operation, &wait, nanoseconds);
    }
    return cx_outcome_report(outcome);
}

bool coex_channel_send_for(coex_handle channel, uint64_t word, uint64_t nanoseconds)
{
    return channel_operate(&(struct channel_operation){cx_value_as(channel, CX_TYPE_channel), channel, &word, true}, nanoseconds);
}

bool coex_channel_receive_for(coex_handle channel, uint64_t *word, uint64_t nanoseconds)
{
    uint64_t got = 0;
    if (!channel_operate(&(struct channel_operation){cx_value_as(channel, CX_TYPE_channel), channel, &got, false}, nanoseconds))
        return false;
    if (word != NULL) *word = got;
    return true;
}

bool coex_channel_send(coex_handle channel, uint64_t word) { return coex_channel_send_for(channel, word, COEX_CHANNEL_FOREVER); }
bool coex_channel_try_send(coex_handle channel, uint64_t word) { return coex_channel_send_for(channel, word, 0); }

bool coex_channel_receive(coex_handle channel, uint64_t *word)
{
    return coex_channel_receive_for(channel, word, COEX_CHANNEL_FOREVER);
}

bool coex_channel_try_receive(coex_handle channel, uint64_t *word) { return coex_channel_receive_for(channel, word, 0); }

bool coex_channel_close(coex_handle handle)
{
    struct cx_channel *channel = cx_value_as(handle, CX_TYPE_channel);
    struct cx_wakes wakes = {NULL, NULL};
    if (channel == NULL) return cx_fail_false(COEX_STATUS_KIND);
    cx_channel_lock(channel, handle);
    bool first = !cx_a32_load_relaxed(&channel->closed);
    if (first) cx_channel_close_locked(channel, &wakes);
    cx_channel_unlock(handle);
    cx_wakes_signal(&wakes);
    return first || cx_fail_false(COEX_STATUS_CLOSED);
}

/* ---------------------------------------------------------------- looking */

uint64_t coex_channel_len(coex_handle channel)
{
    const struct cx_channel *payload = cx_value_as(channel, CX_TYPE_channel);
    return payload != NULL ? cx_a64_load_relaxed(&payload->count) : cx_fail(COEX_STATUS_KIND);
}

uint64_t coex_channel_capacity(coex_handle channel)
{
    const struct cx_channel *payload = cx_value_as(channel, CX_TYPE_channel);
    return payload != NULL ? payload->capacity : cx_fail(COEX_STATUS_KIND);
}

/* Acquire would promise nothing more: what came before the closing is seen by who fails to receive. */
bool coex_channel_is_closed(coex_handle channel)
{
    const struct cx_channel *payload = cx_value_as(channel, CX_TYPE_channel);
    return payload != NULL ? cx_a32_load_relaxed(&payload->closed) != 0 : cx_fail_false(COEX_STATUS_KIND);
}

bool coex_channel_has_handles(coex_handle channel)
{
    const struct cx_channel *payload = cx_value_as(channel, CX_TYPE_channel);
    return payload != NULL ? payload->handles != 0 : cx_fail_false(COEX_STATUS_KIND);
}

/* The queues that a fork left behind count for nothing. */
uint64_t coex_channel_waiting(coex_handle channel, uint32_t operation)
{
    struct cx_channel *payload = cx_value_as(channel, CX_TYPE_channel);
    if (payload == NULL) return cx_fail(COEX_STATUS_KIND);
    if (operation != COEX_CHANNEL_SEND && operation != COEX_CHANNEL_RECEIVE) return cx_fail(COEX_STATUS_RANGE);
    if (cx_a32_load_relaxed(&payload->life) != cx_channel_life()) return 0;
    return cx_a64_load_relaxed(&cx_channel_queue(payload, operation == COEX_CHANNEL_SEND)->count);
}
