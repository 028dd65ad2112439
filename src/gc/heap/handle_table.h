/* The handle table and its bitmaps.
 *
 * table[h] is the payload address of handle h, or NULL. In addition, each of these bitmaps has one
 * bit per handle:
 *
 *     allocated   in use: by a live or dead object, by a thread that holds the handle for its next
 *                 object, or retired
 *     marked      reached in this cycle. W: markers only, or (INV-MARK-1). Cleared at Start
 *     born        allocated or held by a black thread in this cycle, and no others (INV-BORN-1)
 *     retired     its object is gone. Free again after the next sweep (MI-6). W: collector only
 *     grey        must be marked, and no chunk was available for it (see mark_queue.h)
 *     watched     key of an ephemeron that waits for its mark (see weak_references.h)
 *
 * The bitmap `available` has one bit per word of 64 handles. A set bit means that the word may
 * have free handles.
 *
 * INV-HANDLE-1  A free bit has no owner, or it belongs to the thread that claimed its word. Claims
 *               exclude each other by the lock. A claimer clears `available` before it reads
 *               `allocated`. A bit that is freed during a claim is therefore taken by this claim,
 *               or announced again by `available`.
 * INV-HANDLE-2  If `allocated` is clear, `born` is clear. A white claimer therefore does not touch
 *               `born`. A black claimer sets `born` before `allocated` becomes visible (release),
 *               and the sweep reads `allocated` first (acquire).
 * INV-HANDLE-3  An allocated handle with a NULL slot is valid. It is held by a thread and not
 *               handed out yet, or it is retired.
 * INV-HANDLE-4  One sweep sets the slot to NULL and then sets `retired`. A later sweep clears
 *               `retired`, then clears `allocated`, and then sets `available`. A handle is
 *               therefore reused only after one more complete cycle.
 * INV-HANDLE-5  Every bit of a word at or above `top` is clear, in all bitmaps except `available`.
 *               A claim raises `top` before it sets a bit there. The sweep lowers `top` to the
 *               highest word that it found in use or that was claimed during the sweep. Clearing
 *               and sweeping therefore cost time for the handles in use, not for the largest size
 *               of the table. Claims take the lowest words first.
 * INV-HANDLE-6  No thread claims a word while its pages are discarded, because its bit in
 *               `available` is clear during that time.
 *
 * Growth commits more of the reserved ranges and moves no entry, so a reader never waits for it. */
#ifndef CX_GC_HEAP_HANDLE_TABLE_H
#define CX_GC_HEAP_HANDLE_TABLE_H

#include "base/lock.h"
#include "base/os.h"
#include "gc/budget.h"
#include "gc/debug/stale_history.h"
#include "gc/layout.h"

enum { CX_BITMAPS = 7 };
/* Words a thread takes at once at most: a claim moves some lines from core to core, which with 64 words cost two threads a tenth. */
enum { CX_HELD_WORDS = 256 };

/* What a thread holds: claimed words that it has not begun. (The word it is in is in its ABI words.) Owner only. */
struct cx_held {
    uint32_t count;               /* words in use below */
    uint32_t appetite;            /* words to take next time: doubles, so that a thread that allocates little holds little */
    uint64_t word[CX_HELD_WORDS]; /* word indices */
    uint64_t bits[CX_HELD_WORDS]; /* free handles of each */
};

struct cx_handles {
    void **table;
    uint64_t *shapes; /* of the types; below the table in the same range, so that one base serves both */
    cx_a64 *allocated;
    cx_a64 *marked;
    cx_a64 *born;
    cx_a64 *retired;
    cx_a64 *spilled;
    cx_a64 *watched;
    cx_a64 *available;
    struct cx_stale_history stale;     /* debugging: generations, and what is known of the dead */
    uint64_t max;                /* handles, a multiple of 4,096 */
    bool hoard;                  /* debugging: retired handles stay so until there are no others. Constant */
    cx_a32 wanted;               /* ... but so many sweeps recycle all they can: a claim has found none. W: claim; collector */
    cx_a64 committed;            /* handles. W: grow, release, under the lock. R: acquire */
    __attribute__((aligned(64))) /* what claims write, apart from what everybody reads */
    cx_mutex lock;               /* claims and growth */
    uint64_t search;             /* under the lock: word of `available` to look at next */
    cx_a64 top;                  /* words. W: claim and collector, release, under the lock. R: collector, acquire. INV-HANDLE-5 */
    uint64_t claimed_top;        /* under the lock: the same of what was claimed since the sweep began */
    uint64_t touched;            /* under the lock: words that have pages. Trimming lowers it */
    cx_a64 rewind;               /* lowest word of `available` that got bits since the last look. W: cas. R: claim, exchange */
    __attribute__((aligned(64))) cx_a64 claimed; /* handles ever claimed, and recycled: relaxed counters */
    cx_a64 recycled;
    cx_a64 retired_now;
    cx_a64 growths;
    cx_range table_range;
    cx_range bit_ranges[CX_BITMAPS];
};

int cx_handles_init(struct cx_handles *handles, uint64_t initial, uint64_t max);
void cx_handles_fini(struct cx_handles *handles);

/* Claims at most `held->appetite` words with free handles. False: max_handles is reached, or no memory to grow. */
bool cx_handles_claim(struct cx_handles *handles, struct cx_held *held, bool black);

/* Around the sweep of the handles, before it reads the first word and after the last: lowers `top`, where `found` is the number of words
 * up to the last one that it left in use. Neither waits for a claim: begin returns false, and end does nothing, if one is under way.
 * Then `top` stays until a later sweep. INV-HANDLE-5 */
bool cx_handles_sweep_begin_gct(struct cx_handles *handles);
void cx_handles_sweep_end_gct(struct cx_handles *handles, uint64_t found);
/* Gives a piece of the pages above `top` back to the operating system. Returns false if there is none. */
bool cx_handles_trim_gct(struct cx_handles *handles, struct cx_budget *budget);

/* Handles of `word` that a thread holds become born: at its ROOTS answer. */
static inline void cx_handles_make_born(struct cx_handles *handles, uint64_t word, uint64_t bits)
{
    if (bits != 0) cx_a64_or_relaxed(&handles->born[word], bits);
}

/* Frees handles of `word` that a thread held and never handed out, none of them born. No sweep runs. INV-THREAD-6 */
void cx_handles_give_back_gct(struct cx_handles *handles, uint64_t word, uint64_t bits);
/* Announce that a word has got free bits. */
void cx_handles_announce(struct cx_handles *handles, uint64_t word);

/* Returns the handles of objects, dead ones included, and of threads that hold them. Exact when no thread claims. */
static inline uint64_t cx_handles_in_use(const struct cx_handles *handles)
{
    return cx_a64_load_relaxed(&handles->claimed) - cx_a64_load_relaxed(&handles->recycled) -
           cx_a64_load_relaxed(&handles->retired_now);
}

/* Bytes of the table and the bitmaps, for the handles there are so far. */
uint64_t cx_handles_overhead(const struct cx_handles *handles);

static inline bool cx_bit_test(const cx_a64 *bits, uint64_t index)
{
    return (cx_a64_load_relaxed(&bits[index / 64]) >> (index % 64) & 1) != 0;
}

static inline bool cx_bit_test_seq(const cx_a64 *bits, uint64_t index)
{
    return (cx_a64_load_seq(&bits[index / 64]) >> (index % 64) & 1) != 0;
}

static inline bool cx_handle_is_marked(const struct cx_handles *handles, coex_handle handle)
{
    return cx_bit_test(handles->marked, cx_index_of(handle));
}

static inline bool cx_handle_is_born(const struct cx_handles *handles, coex_handle handle)
{
    return cx_bit_test(handles->born, cx_index_of(handle));
}

static inline void *cx_handle_payload(const struct cx_handles *handles, coex_handle handle)
{
    return cx_aptr_load_acquire(cx_aptr_at(&handles->table[cx_index_of(handle)]));
}

/* The handle of an index as users see it. */
static inline coex_handle cx_handle_tag(const struct cx_handles *handles, uint64_t index)
{
    return CX_CHECKED
               ? cx_index_of(index) | (uint64_t)cx_stale_history_generation(&handles->stale, cx_index_of(index)) << COEX_GC_HANDLE_BITS
               : index;
}

/* Does the word name an object now? Reads within the tables only, whatever the word. INV-STALE-1 */
static inline bool cx_handle_is_object(const struct cx_handles *handles, uint64_t word)
{
    uint64_t index = CX_CHECKED && word < CX_HANDLE_LIMIT ? cx_index_of(word) : word;
    return index != 0 && index < cx_a64_load_acquire(&handles->committed) && cx_handle_payload(handles, index) != NULL &&
           (!CX_CHECKED || cx_handle_tag(handles, index) == word);
}

#endif
