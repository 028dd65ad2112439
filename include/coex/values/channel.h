/* Coex channels: queues with which threads pass words to each other.
 *
 * A channel has room for `capacity` words. A send to a full channel waits. With capacity 0, every
 * send waits for its receiver (rendezvous). With unlimited capacity, no send waits. Any number of
 * threads may send and receive. Each word arrives once, and words arrive in the order in which they
 * were sent. Waiting threads are served in the order in which they came. The words are plain bits,
 * or references, which are traced while they are in the channel.
 *
 * Waiting. A waiting thread is in native mode and delays no cycle. Waiting is not a cancellation
 * point of POSIX. A thread that is cancelled while it waits ends at its next cancellation point;
 * close the channel to wake it. If a thread runs a coroutine that waits, the whole thread waits.
 *
 * Safepoints. All functions are safepoints, except those that only read.
 *
 * Rooting. The caller keeps the channel and the words that it sends rooted until the call returns.
 * A received reference is returned unrooted. A pointer to a received word is the address of a local
 * variable, never of a slot or a payload.
 *
 * Order. A receiver sees all writes that the sender made before it sent the word. A thread that
 * finds a channel closed sees all writes that the closing thread made before.
 *
 * Errors. <coex/values/value.h> has the rules. Functions that return a bool return false on
 * failure, and then nothing was sent or received. The statuses are:
 *
 *   COEX_STATUS_KIND     `channel` is not a channel.
 *   COEX_STATUS_CLOSED   The channel is closed. A receive fails only if it is also empty.
 *   COEX_STATUS_TIMEOUT  The time limit passed, or a try would have to wait.
 *   COEX_STATUS_MEMORY   There is no memory to wait, or to hold the word.
 *
 * Fork. The child has the channels and the words in them, and can use them. Threads that waited in
 * the parent, and the words that they were about to send, do not exist in the child. */
#ifndef COEX_VALUES_CHANNEL_H
#define COEX_VALUES_CHANNEL_H

#include <coex/values/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A capacity without limit. */
#define COEX_CHANNEL_UNBOUNDED UINT64_MAX
/* A time limit that never passes. */
#define COEX_CHANNEL_FOREVER UINT64_MAX

/* Operations of coex_channel_waiting and coex_channel_select. */
enum { COEX_CHANNEL_RECEIVE = 0, COEX_CHANNEL_SEND = 1 };

/* Creates a channel with room for `capacity` words. If `handles` is true, the words are references.
 * A bounded channel allocates its room now, so a send only needs memory if it has to wait. Returns
 * 0 on failure: with COEX_STATUS_SIZE if `capacity` is too large. A safepoint. */
COEX_API coex_handle coex_channel_new(uint64_t capacity, bool handles);

/* Sends `word`, and waits as long as necessary. A safepoint. */
COEX_API bool coex_channel_send(coex_handle channel, uint64_t word);

/* Sends `word`, and waits at most `nanoseconds`. A safepoint. */
COEX_API bool coex_channel_send_for(coex_handle channel, uint64_t word, uint64_t nanoseconds);

/* Sends `word` without waiting. A safepoint. */
COEX_API bool coex_channel_try_send(coex_handle channel, uint64_t word);

/* Receives a word into *word, or drops it if `word` is NULL, and waits as long as necessary. A
 * safepoint. */
COEX_API bool coex_channel_receive(coex_handle channel, uint64_t *word);

/* Receives a word as coex_channel_receive does, and waits at most `nanoseconds`. A safepoint. */
COEX_API bool coex_channel_receive_for(coex_handle channel, uint64_t *word, uint64_t nanoseconds);

/* Receives a word as coex_channel_receive does, without waiting. A safepoint. */
COEX_API bool coex_channel_try_receive(coex_handle channel, uint64_t *word);

/* Closes the channel. Waiting and later sends fail with COEX_STATUS_CLOSED. Words in the channel
 * can still be received; after that, receives fail with COEX_STATUS_CLOSED. Returns false with
 * COEX_STATUS_CLOSED if the channel was already closed. A safepoint. */
COEX_API bool coex_channel_close(coex_handle channel);

/* ------------------------------------------------------------------ reading */

/* The functions of this section return 0 or false on failure. If other threads use the channel, the
 * result may already be out of date. None of them is a safepoint. */

/* Returns the number of words in the channel. */
COEX_API uint64_t coex_channel_len(coex_handle channel);

/* Returns the capacity, which may be COEX_CHANNEL_UNBOUNDED. */
COEX_API uint64_t coex_channel_capacity(coex_handle channel);

/* Returns true if the channel is closed. It may still contain words. */
COEX_API bool coex_channel_is_closed(coex_handle channel);

/* Returns true if the words are references. */
COEX_API bool coex_channel_has_handles(coex_handle channel);

/* Returns the number of threads that wait to do `operation`, including those in
 * coex_channel_select. Fails with COEX_STATUS_RANGE if `operation` is invalid. */
COEX_API uint64_t coex_channel_waiting(coex_handle channel, uint32_t operation);

/* ------------------------------------------------------------------- select */

/* The largest number of cases of coex_channel_select. */
#define COEX_CHANNEL_MAX_CASES 65536

/* One operation of coex_channel_select. */
typedef struct coex_channel_case {
    /* The channel. Null turns the case off. */
    coex_handle channel;
    /* The word to send, or the received word if this case was chosen. */
    uint64_t word;
    /* COEX_CHANNEL_RECEIVE or COEX_CHANNEL_SEND. */
    uint32_t operation;
} coex_channel_case;

/* Returns a case that sends `word` to `channel`. */
static inline coex_channel_case coex_channel_case_send(coex_handle channel, uint64_t word)
{
    coex_channel_case made = {channel, word, COEX_CHANNEL_SEND};
    return made;
}

/* Returns a case that receives from `channel`. */
static inline coex_channel_case coex_channel_case_receive(coex_handle channel)
{
    coex_channel_case made = {channel, 0, COEX_CHANNEL_RECEIVE};
    return made;
}

/* Performs exactly one of the `count` cases at `cases`, the first that is possible. Cases are
 * tried in random order, so each possible case is equally likely. A channel may occur in several
 * cases. Waits at most `nanoseconds`. 0 means not to wait, so COEX_STATUS_TIMEOUT takes the place
 * of a default case.
 *
 * Returns true, and stores the index of the performed case in *chosen. `chosen` may be NULL.
 *
 * Returns false with COEX_STATUS_CLOSED if the channel of case *chosen is closed, and also empty if
 * the case is a receive. The caller can turn the case off and continue.
 *
 * Returns false and stores `count` in *chosen on any other failure:
 *
 *   COEX_STATUS_TIMEOUT  The time limit passed.
 *   COEX_STATUS_KIND     A case has a channel that is not a channel.
 *   COEX_STATUS_SIZE     There are more than COEX_CHANNEL_MAX_CASES cases.
 *   COEX_STATUS_RANGE    An operation is invalid, `cases` is NULL, or every case is off and the
 *                        time limit is COEX_CHANNEL_FOREVER.
 *   COEX_STATUS_MEMORY   There is no memory to wait, or to hold a word.
 *
 * A safepoint. */
COEX_API bool coex_channel_select(coex_channel_case *cases, uint64_t count, uint64_t nanoseconds,
                                  uint64_t *chosen);

#ifdef __cplusplus
}
#endif

#endif
