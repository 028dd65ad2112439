/* Select: one of several operations. See channel.h.
 *
 * First each case is tried by itself, with its own latch. If none can be done, the latches of all channels are taken at once: all cases
 * are tried again, and if still none can be done, the wait gets its places in all queues before any other thread comes by. So nobody
 * serves a wait that is looking around itself, and of two selects that are each other's other half the later one finds the other's place.
 *
 * Cases are tried in an order that is drawn anew for each select from all orders of the cases that are switched on. So the first one
 * that can be done is any of those that can with equal probability, wherever they stand among the others. */
#include "base/os.h"
#include "base/schedule_point.h"
#include "values/channel/channel.h"

enum {
    SELECT_SMALL = 8, /* places for so many cases are on the C stack, */
    SELECT_ORDER = 64 /* and their order for so many */
};

struct selection {
    coex_channel_case *cases;
    uint64_t count;
    uint32_t *order; /* the cases that are switched on, as they are tried */
    uint64_t active; /* how many */
    uint64_t chosen; /* the case that was done, or found closed */
    struct cx_latches latches;
    struct cx_wait wait;
    struct cx_place *places; /* one for each case */
};

static struct cx_channel *select_channel(const coex_channel_case *one) { return coex_gc_handle_deref(one->channel); }

/* xorshift64; the state is never 0. */
static uint64_t select_random(void)
{
    static __thread uint64_t state;
    while (state == 0) state = cx_os_arbitrary();
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Draws the order of the cases (Durstenfeld 1964). The remainder favours nothing by more than one in 2^48. */
static void select_shuffle(struct selection *selection)
{
    for (uint64_t i = 0; i < selection->count; i++) {
        if (selection->cases[i].channel == 0) continue;
        uint64_t place = select_random() % (selection->active + 1);
        if (place != selection->active) selection->order[selection->active] = selection->order[place];
        selection->order[place] = (uint32_t)i;
        selection->active++;
    }
}

/* OK, or what is wrong with the cases. */
static coex_status select_check(const struct selection *selection, bool for_ever)
{
    bool active = false;
    if (selection->count > COEX_CHANNEL_MAX_CASES) return COEX_STATUS_SIZE;
    if (selection->count != 0 && selection->cases == NULL) return COEX_STATUS_RANGE;
    for (uint64_t i = 0; i < selection->count; i++) {
        const coex_channel_case *one = &selection->cases[i];
        if (one->operation != COEX_CHANNEL_SEND && one->operation != COEX_CHANNEL_RECEIVE) return COEX_STATUS_RANGE;
        if (one->channel == 0) continue;
        if (cx_value_as(one->channel, CX_TYPE_channel) == NULL) return COEX_STATUS_KIND;
        active = true;
    }
    return active || !for_ever ? COEX_STATUS_OK : COEX_STATUS_RANGE;
}

static enum cx_outcome select_now(struct selection *selection)
{
    for (uint64_t i = 0; i < selection->active; i++) {
        uint64_t turn = selection->order[i];
        coex_channel_case *one = &selection->cases[turn];
        struct cx_channel *channel = select_channel(one);
        enum cx_outcome outcome = one->operation == COEX_CHANNEL_SEND ? cx_channel_send_now(channel, one->channel, one->word)
                                                                      : cx_channel_receive_now(channel, one->channel, &one->word);
        if (outcome == CX_OUTCOME_WAIT) continue;
        selection->chosen = turn;
        return outcome;
    }
    return CX_OUTCOME_WAIT;
}

/* The same with all latches held. */
static enum cx_outcome select_locked(struct selection *selection, struct cx_wakes *wakes)
{
    for (uint64_t i = 0; i < selection->active; i++) {
        uint64_t turn = selection->order[i];
        coex_channel_case *one = &selection->cases[turn];
        struct cx_channel *channel = select_channel(one);
        cx_channel_freshen(channel);
        enum cx_outcome outcome = one->operation == COEX_CHANNEL_SEND
                                      ? cx_channel_send_locked(channel, one->channel, one->word, wakes)
                                      : cx_channel_receive_locked(channel, one->channel, &one->word, wakes);
        if (outcome == CX_OUTCOME_WAIT) continue;
        selection->chosen = turn;
        return outcome;
    }
    return CX_OUTCOME_WAIT;
}

static void select_queue(struct selection *selection, bool add)
{
    for (uint64_t i = 0; i < selection->count; i++) {
        const coex_channel_case *one = &selection->cases[i];
        if (one->channel == 0) continue;
        struct cx_queue *queue = cx_channel_queue(select_channel(one), one->operation == COEX_CHANNEL_SEND);
        if (add)
            cx_queue_add(queue, &selection->places[i]);
        else
            cx_queue_remove(queue, &selection->places[i]);
    }
}

/* Gets a place in every queue, or does one of the cases after all. An unbounded channel that is out of room when all latches are held gets
 * some, and everything is tried again. */
static enum cx_outcome select_enter(struct selection *selection)
{
    for (;;) {
        struct cx_wakes wakes = {NULL, NULL};
        cx_latches_lock(&selection->latches);
        enum cx_outcome outcome = select_locked(selection, &wakes);
        if (outcome == CX_OUTCOME_WAIT) select_queue(selection, true);
        cx_latches_unlock(&selection->latches);
        cx_wakes_signal(&wakes);
        if (outcome != CX_OUTCOME_ROOM) return outcome;
        if (!cx_channel_add_room(selection->cases[selection->chosen].channel)) return CX_OUTCOME_MEMORY;
    }
}

/* The wait is over: out of all queues. If nobody has claimed it by then, nobody will. */
static enum cx_outcome select_leave(struct selection *selection, bool signalled)
{
    if (!signalled) CX_SCHEDULE_POINT("channel-gives-up");
    cx_latches_lock(&selection->latches);
    bool claimed = cx_a32_load_relaxed(&selection->wait.claimed) != 0;
    select_queue(selection, false);
    cx_latches_unlock(&selection->latches);
    if (!claimed) return CX_OUTCOME_WAIT;
    if (!signalled) cx_wait_sleep(&selection->wait, UINT64_MAX); /* INV-CHANNEL-4 */

    const struct cx_place *place = selection->wait.place;
    selection->chosen = (uint64_t)(place - selection->places);
    if (selection->wait.closed) return CX_OUTCOME_CLOSED;
    coex_channel_case *one = &selection->cases[selection->chosen];
    if (one->operation == COEX_CHANNEL_RECEIVE)
        one->word = select_channel(one)->handles ? coex_gc_load(selection->wait.cell, place->offset) : place->word;
    return CX_OUTCOME_DONE;
}

/* A place for each case; a word in the cell for each that has to do with references. */
static bool select_prepare(struct selection *selection, coex_handle *slot)
{
    uint64_t words = 0;
    for (uint64_t i = 0; i < selection->count; i++) {
        const coex_channel_case *one = &selection->cases[i];
        selection->places[i] = (struct cx_place){.wait = &selection->wait, .word = one->word, .offset = 8 * words};
        if (one->channel == 0) continue;
        cx_latches_add(&selection->latches, one->channel);
        if (select_channel(one)->handles) words++;
    }
    if (words == 0) return true;
    *slot = selection->wait.cell = coex_gc_alloc(8 * words, cx_values.id[CX_TYPE_channel_cell]);
    if (*slot == 0) return false;
    for (uint64_t i = 0; i < selection->count; i++) {
        const coex_channel_case *one = &selection->cases[i];
        if (one->channel != 0 && one->operation == COEX_CHANNEL_SEND && select_channel(one)->handles)
            coex_gc_init_ref(*slot, selection->places[i].offset, one->word);
    }
    return true;
}

static enum cx_outcome select_wait(struct selection *selection, uint64_t nanoseconds)
{
    uint64_t until = cx_wait_until(nanoseconds);
    coex_handle *slots = coex_gc_enter_frame(1);
    enum cx_outcome outcome = CX_OUTCOME_MEMORY;
    if (select_prepare(selection, slots)) {
        outcome = select_enter(selection);
        if (outcome == CX_OUTCOME_WAIT) outcome = select_leave(selection, cx_wait_sleep(&selection->wait, until));
    }
    coex_gc_leave_frame(slots);
    return outcome;
}

static enum cx_outcome select_wait_with_places(struct selection *selection, uint64_t nanoseconds)
{
    struct cx_place small[SELECT_SMALL], *large = NULL;
    if (selection->count > SELECT_SMALL) large = cx_os_allocate(selection->count * sizeof *large);
    if (selection->count > SELECT_SMALL && large == NULL) return CX_OUTCOME_MEMORY;
    selection->places = large != NULL ? large : small;
    enum cx_outcome outcome = select_wait(selection, nanoseconds);
    cx_os_free(large);
    selection->places = NULL;
    return outcome;
}

static enum cx_outcome select_run(struct selection *selection, uint64_t nanoseconds)
{
    select_shuffle(selection);
    enum cx_outcome outcome = select_now(selection);
    if (outcome == CX_OUTCOME_WAIT && nanoseconds != 0) outcome = select_wait_with_places(selection, nanoseconds);
    return outcome;
}

static enum cx_outcome select_with_order(struct selection *selection, uint64_t nanoseconds)
{
    uint32_t small[SELECT_ORDER], *large = NULL;
    if (selection->count > SELECT_ORDER) large = cx_os_allocate(selection->count * sizeof *large);
    if (selection->count > SELECT_ORDER && large == NULL) return CX_OUTCOME_MEMORY;
    selection->order = large != NULL ? large : small;
    enum cx_outcome outcome = select_run(selection, nanoseconds);
    cx_os_free(large);
    selection->order = NULL;
    return outcome;
}

bool coex_channel_select(coex_channel_case *cases, uint64_t count, uint64_t nanoseconds, uint64_t *chosen)
{
    struct selection selection = {.cases = cases, .count = count};
    uint64_t unwanted;
    if (chosen == NULL) chosen = &unwanted;
    *chosen = count;
    coex_status status = select_check(&selection, nanoseconds == COEX_CHANNEL_FOREVER);
    if (status != COEX_STATUS_OK) return cx_fail_false(status);
    enum cx_outcome outcome = select_with_order(&selection, nanoseconds);
    if (outcome == CX_OUTCOME_DONE || outcome == CX_OUTCOME_CLOSED) *chosen = selection.chosen;
    return cx_outcome_report(outcome);
}
