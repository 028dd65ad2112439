/* Channels inside: the object, those who wait for it, and the latches.
 *
 * A *channel* is a heap object of a MUTABLE type: what is in it lies in *rooms*, MUTABLE objects of words. A bounded channel has one room
 * of its capacity, and goes round in it. An unbounded one has a list of rooms, gets more as it grows, and keeps one that was emptied as a
 * spare. Addresses of their payloads are kept across safepoints: MUTABLE objects never move, and the caller roots the channel. A *wait* is a thread that sleeps until somebody serves it; it has a *place* in the queue of each channel that it waits
 * for (one, or one for each case of a select). Waits and places lie on the C stack of the thread that waits, their addresses in the
 * channel as plain words. What a wait sends and what it is handed lies in its *cell*, a heap object in a slot of the thread that waits.
 *
 * Latches. All of a channel (but for looks at counters) is guarded by one of CX_CHANNEL_LATCHES latches, chosen by its handle.
 * They lie outside of the heap, so that a channel needs no finalizer, and a fork can take all of them: the child finds no channel half changed.
 *
 * Who does what, with the channel's latch:
 *
 *     send      a receiver waits: hand the word over into its cell. Else room: put it there. Else wait in `senders`.
 *     receive   a word is there: take it, and let the first of `senders` put its own there. Else a sender waits: take its word out of
 *               its cell. Else closed: say so. Else wait in `receivers`.
 *     close     serve all who wait with "closed".
 *
 * Serving: claim the wait, take its place out of the queue, move the word, and after the latch is released, signal.
 *
 * INV-CHANNEL-1  No safepoint while a latch is held: nothing is allocated, no frame entered, no transition made. Who has to wait for a latch
 *                holds none, and waits in native mode; a signal is given with none held.
 * INV-CHANNEL-2  A word that is a reference passes from thread to thread through the heap only (room or cell), written and erased by
 *                coex_gc_store. In a C variable of one who waits no collector would see it: the sender comes back and drops its root,
 *                and the receiver, which is native and whose roots are read without it, wakes up with what nobody has marked.
 * INV-CHANNEL-3  A wait is served once: `claimed` goes from 0 to 1 by compare-and-swap, with the latch of the channel that serves it held.
 *                Who holds the latches of all its channels knows whether it is claimed for good.
 * INV-CHANNEL-4  A wait's memory is touched by others only in places that are queued, with the latch, and from claim to signal by who claimed
 *                it. So it ends only when it has been signalled, or, with all its latches held, is unclaimed and out of all queues. A
 *                timeout that finds itself claimed waits for the signal, which is under way, and has its word.
 * INV-CHANNEL-5  Unclaimed waits in `receivers`: nothing is in the channel. In `senders`: it is full. Both: of one select only, on both
 *                sides. So words leave in the order in which they came, and no wait sleeps that could be served.
 * INV-CHANNEL-6  Latches are taken one at a time, or several in rising order by trying. At a fork all are taken, before any lock of the
 *                runtime (hooks run in the reverse order of their registration, and these are registered later): under a latch a barrier
 *                may take the runtime's locks, never the other way round. */
#ifndef CX_VALUES_CHANNEL_CHANNEL_H
#define CX_VALUES_CHANNEL_CHANNEL_H

#include "base/park.h"
#include "values/core/common.h"

#include <coex/values/channel.h>

struct cx_wait;

/* A wait's place in the queue of one channel. */
struct cx_place {
    struct cx_place *next, *previous; /* with the latch of the channel, as `queued` */
    struct cx_wait *wait;
    uint64_t word;   /* plain bits that are sent or handed over; references are in the cell */
    uint64_t offset; /* of its word in the cell */
    bool queued;
};

struct cx_wait {
    cx_parker parker;
    cx_a32 claimed;         /* W: who serves it, cas, with a latch; R: likewise, and the owner with all latches. INV-CHANNEL-3 */
    bool closed;            /* W: who claimed it, before the signal. R: owner, after */
    coex_handle cell;       /* in a slot of the owner's frame; 0 if only plain bits are waited for */
    struct cx_place *place; /* that was served. W, R: as `closed` */
    struct cx_wait *next;   /* in the list of those that are to be signalled */
};

/* Waits that have been served and are to be signalled, in this order, when the latch is released. */
struct cx_wakes {
    struct cx_wait *first, *last;
};

struct cx_queue {
    struct cx_place *first, *last;
    cx_a64 count; /* of places. W: with the latch, relaxed. R: relaxed by those who only look */
};

/* Payload. The references first. */
struct cx_channel {
    coex_handle head;  /* room of the next word to receive; 0 with no capacity */
    coex_handle tail;  /* room of the next word to send */
    coex_handle spare; /* an empty room, or 0 */
    uint64_t head_at, tail_at;
    uint64_t room_words;
    uint64_t capacity; /* constant */
    cx_a64 count;      /* W: with the latch, relaxed. R: relaxed by those who only look */
    cx_a32 closed;     /* likewise */
    uint32_t handles;  /* constant */
    cx_a32 life; /* cx_channel_life when the queues were last used: those of a process that forked are not ours. As `closed` */
    struct cx_queue receivers, senders;
};

/* What came of an operation. */
enum cx_outcome {
    CX_OUTCOME_DONE,
    CX_OUTCOME_CLOSED,
    CX_OUTCOME_WAIT, /* nothing can be done now */
    CX_OUTCOME_ROOM, /* an unbounded channel needs another room: cx_channel_add_room without a latch, then again */
    CX_OUTCOME_MEMORY,
    CX_OUTCOME_KIND
};

/* Records the status of what was not done. True: done. */
bool cx_outcome_report(enum cx_outcome outcome);

/* ---- latches: channel_latch.c ---- */

enum { CX_CHANNEL_LATCHES = 256 };

/* A set of latches. */
struct cx_latches {
    uint64_t bit[CX_CHANNEL_LATCHES / 64];
};

/* A safepoint if it waits. Freshens the channel. */
void cx_channel_lock(struct cx_channel *channel, coex_handle handle);
void cx_channel_unlock(coex_handle handle);

/* Installs the fork hooks of the latches, once in a process. Returns false if the system refuses. */
bool cx_latch_register(void);
void cx_latches_add(struct cx_latches *set, coex_handle channel);
void cx_latches_lock(const struct cx_latches *set); /* a safepoint if it waits; cx_channel_freshen each channel then */
void cx_latches_unlock(const struct cx_latches *set);
/* With its latch: forgets waits of threads that a fork has left behind. */
void cx_channel_freshen(struct cx_channel *channel);
uint32_t cx_channel_life(void);

/* ---- with the latch held: channel_queue.c ---- */

enum cx_outcome cx_channel_send_locked(struct cx_channel *channel, coex_handle handle, uint64_t word, struct cx_wakes *wakes);
enum cx_outcome cx_channel_receive_locked(struct cx_channel *channel, coex_handle handle, uint64_t *word, struct cx_wakes *wakes);
void cx_channel_close_locked(struct cx_channel *channel, struct cx_wakes *wakes);
void cx_queue_add(struct cx_queue *queue, struct cx_place *place);
void cx_queue_remove(struct cx_queue *queue, struct cx_place *place); /* if it is queued */

static inline struct cx_queue *cx_channel_queue(struct cx_channel *channel, bool sends)
{
    return sends ? &channel->senders : &channel->receivers;
}

/* A look without the latch: false if nothing can be done now. What came before the caller, by whatever order, is seen; what happens meanwhile
 * may be seen or not, so who wants to wait has to look again with the latch. */
static inline bool cx_channel_may(struct cx_channel *channel, bool sends)
{
    uint64_t count = cx_a64_load_relaxed(&channel->count);
    if (sends ? count < channel->capacity : count != 0) return true;
    return cx_a64_load_relaxed(&cx_channel_queue(channel, !sends)->count) != 0 || cx_a32_load_relaxed(&channel->closed) != 0;
}

/* With no latch held. */
void cx_wakes_signal(const struct cx_wakes *wakes);
bool cx_wait_sleep(struct cx_wait *wait, uint64_t until); /* in native mode. False: the time is reached. A safepoint */
uint64_t cx_wait_until(uint64_t nanoseconds);             /* from now on */
/* Another room for an unbounded channel. False: no memory. A safepoint. */
bool cx_channel_add_room(coex_handle handle);
/* An operation that waits for nothing but memory. */
enum cx_outcome cx_channel_send_now(struct cx_channel *channel, coex_handle handle, uint64_t word);
enum cx_outcome cx_channel_receive_now(struct cx_channel *channel, coex_handle handle, uint64_t *word);

#endif
