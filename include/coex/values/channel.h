/* Coex values: channels, through which threads hand words to each other.
 *
 * A channel is a queue with room for `capacity` words: with none, a send waits for its receiver (rendezvous); without a bound it never
 * waits. Any number of threads send to and receive from it. What is sent arrives once, in the order in which it was sent; those who wait
 * are served in the order in which they came. The words are references, which are traced while they are in the channel, or plain bits.
 *
 * Waiting. A thread that waits is in native mode: it delays no cycle. Waiting is no cancellation point of POSIX: a thread that is
 * cancelled meanwhile goes at its next one; close the channel to let those who wait go. Every function here but those that only look is a
 * safepoint. A thread on a coroutine waits with the whole thread.
 *
 * Rooting. `channel` and the words that are sent are arguments: rooted by the caller until the call returns. A received reference comes
 * back unrooted: store it in a slot before the next safepoint. Pointers to where it goes are those of locals, never of slots or payloads.
 *
 * Order. What a thread did before it sent a word is seen by the one that received it, and what a thread did before it closed a channel
 * by those who find it closed.
 *
 * Errors, by value.h: false and a status. KIND: no channel. CLOSED: it is closed, and for a receive, empty. TIMEOUT: time ran out, or
 * for a try: it would have to wait. MEMORY: there was none to wait with, or to hold the word. In each case nothing was sent or
 * received: the word of a send that failed is still the caller's alone.
 *
 * Fork. The child has the channels and what is in them, and can use them; threads that waited in the parent, and the words that they
 * were about to send, are not there. */
#ifndef COEX_VALUES_CHANNEL_H
#define COEX_VALUES_CHANNEL_H

#include <coex/values/value.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COEX_CHANNEL_UNBOUNDED UINT64_MAX /* a capacity */
#define COEX_CHANNEL_FOREVER   UINT64_MAX /* a time to wait */

enum { COEX_CHANNEL_RECEIVE = 0, COEX_CHANNEL_SEND = 1 };

/* A new channel. The room of a bounded one is taken here, so that sending to it needs no memory unless it has to wait. 0: MEMORY, or
 * SIZE for a capacity that no machine has room for. */
COEX_API coex_handle coex_channel_new(uint64_t capacity, bool handles);

/* Send one word; receive one (into *word, or with NULL to drop it). They wait as long as it takes, for so many nanoseconds at most, or not
 * at all. */
COEX_API bool coex_channel_send(coex_handle channel, uint64_t word);
COEX_API bool coex_channel_send_for(coex_handle channel, uint64_t word, uint64_t nanoseconds);
COEX_API bool coex_channel_try_send(coex_handle channel, uint64_t word);
COEX_API bool coex_channel_receive(coex_handle channel, uint64_t *word);
COEX_API bool coex_channel_receive_for(coex_handle channel, uint64_t *word, uint64_t nanoseconds);
COEX_API bool coex_channel_try_receive(coex_handle channel, uint64_t *word);

/* No more is sent: those who wait to send fail with CLOSED; what is in the channel can still be received, then receives fail with CLOSED.
 * False, and CLOSED, if it was closed before. */
COEX_API bool coex_channel_close(coex_handle channel);

/* These look only; with other threads about, the answer may be old when it comes. Of what is no channel: 0 or false, and KIND. */
COEX_API uint64_t coex_channel_len(coex_handle channel); /* words in it */
COEX_API uint64_t coex_channel_capacity(coex_handle channel);
COEX_API bool coex_channel_is_closed(coex_handle channel); /* though there may be words in it */
COEX_API bool coex_channel_has_handles(coex_handle channel);
COEX_API uint64_t coex_channel_waiting(coex_handle channel,
                                       uint32_t operation); /* threads that wait to do this, selects included */

/* ----------------------------------------------------------------- select */

#define COEX_CHANNEL_MAX_CASES 65536

/* One of several things to do. */
typedef struct coex_channel_case {
    coex_handle channel; /* null: this case is switched off */
    uint64_t word;       /* what to send; or what was received, if this is the case that was done */
    uint32_t operation;  /* COEX_CHANNEL_RECEIVE or COEX_CHANNEL_SEND */
} coex_channel_case;

static inline coex_channel_case coex_channel_case_send(coex_handle channel, uint64_t word)
{
    coex_channel_case made = {channel, word, COEX_CHANNEL_SEND};
    return made;
}

static inline coex_channel_case coex_channel_case_receive(coex_handle channel)
{
    coex_channel_case made = {channel, 0, COEX_CHANNEL_RECEIVE};
    return made;
}

/* Does exactly one of the cases, the first that can be done, and says which in *chosen (NULL: nowhere). Cases are tried in
 * random order: each of those that can be done is as likely as the others, wherever it stands. It waits for so many nanoseconds at most; 0: not at all, and what follows on
 * TIMEOUT is the default case. One channel may be in several cases.
 *
 * True: case *chosen was done. False with CLOSED: case *chosen found its channel closed (and, to receive, empty): switch it off or stop.
 * False with TIMEOUT, KIND, MEMORY, SIZE (too many cases), RANGE (an unknown operation, no cases at `cases`; or every case is switched
 * off and it would wait for ever): nothing was done, and *chosen is `count`. */
COEX_API bool coex_channel_select(coex_channel_case *cases, uint64_t count, uint64_t nanoseconds, uint64_t *chosen);

#ifdef __cplusplus
}
#endif

#endif
