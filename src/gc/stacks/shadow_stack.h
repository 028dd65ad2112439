/* The shadow stack: a contiguous array of words, and its watermark.
 *
 * A word is a handle or immediate, the address of a local that holds one of these (bit 63), or the
 * header at the start of a frame (bits 63 and 62). Headers differ from slots, so a frame is found
 * from its end by searching downwards. The collector reads words and needs no frame boundaries.
 * The first word is the header of a frame that is never left.
 *
 * Frozen words. At a root scan the owner freezes all words below its top frames and continues. The
 * frozen words are [lo, hi), which is packed into one word that changes by compare-and-swap. The
 * collector claims chunks from lo upwards, and stores in `scanned` how far it has read:
 *
 *     0 ........ scanned ........ lo ............... hi ............... top
 *       done               claimed   frozen, unclaimed  owner's
 *
 * INV-SHADOW-1  The owner writes no word below hi, and no local that such a word points to, except
 *               through coex_gc_set_slot and coex_gc_set_root. Leaving a frame down to hi or below
 *               runs the return barrier, which takes the words that it needs out of the range and
 *               scans them first. coex_gc_set_slot shades the overwritten value whenever the
 *               barrier of the thread is on. The colour does not matter, because another thread
 *               may have frozen the slot.
 * INV-SHADOW-2  The collector is reading the words between scanned and lo. An owner that needs one
 *               of them waits for that chunk. A mutator waits for nothing else here, and the wait
 *               is bounded by a chunk.
 * INV-SHADOW-3  A freeze drops no frozen word. The collector claims words in MARK, of stacks that
 *               are done. A stack is frozen before MARK, or while it is not done. No word of a
 *               range that is frozen again is therefore claimed, and the range begins at 0. The
 *               new range ends no lower than the old one, because an owner pops no frozen word
 *               without taking it out of the range. The new range may contain words that were read
 *               before. They are read again, which does no harm.
 * INV-SHADOW-4  Every frozen word is scanned, also if its frame is popped unread or its thread
 *               exits. Its value may have been stored into an object without a shade, because the
 *               frozen root kept the value alive. */
#ifndef CX_GC_STACKS_SHADOW_STACK_H
#define CX_GC_STACKS_SHADOW_STACK_H

#include "base/lock.h"
#include "base/os.h"
#include "base/report.h"
#include "gc/layout.h"

enum {
    CX_SHADOW_CHUNK = 512, /* words the collector claims at once: a microsecond or two */
    CX_SHADOW_BITE = 64    /* words the return barrier takes at least, so that the next returns are free of it */
};

struct cx_span {
    uint64_t from, to; /* word numbers, from <= at < to */
};

enum cx_shadow_state { CX_SHADOW_VACANT, CX_SHADOW_SUSPENDED, CX_SHADOW_ACTIVE, CX_SHADOW_CLAIMED };

struct cx_shadow {
    coex_handle *base;
    coex_handle *end; /* usable up to here */
    cx_range range;   /* a thread's own stack grows in its own reservation; empty for stacks from the arena */
    coex_handle *top; /* while suspended */
    cx_a32 state;     /* enum cx_shadow_state; see stack_pool.h */
    cx_a64 done;      /* cycle in which its words are frozen, read, or pushed black. See stack_pool.h */
    uint32_t number;  /* of the record */
    uint32_t next;    /* vacant record */
    uint32_t size_class;
    cx_a64 thread;            /* for reports: whose frames these are */
    cx_a64 frozen;            /* lo << 32 | hi. W: owner (freeze, cut) and collector (claim), cas acq_rel. R: acquire */
    cx_a64 scanned;           /* W: collector release; owner resets at freeze. R: owner acquire. INV-SHADOW-2 */
    cx_range copy_range;      /* checked builds: what the frozen words held (INV-SHADOW-1) */
    uint64_t *copy;           /* the same for a stack from the arena; NULL: it is not checked */
    cx_mutex *check;          /* checked builds: held while a slot and its copy change; or NULL */
    struct cx_root_record *record; /* where the words of the last freeze are written down; NULL: nowhere. See root_record.h */
};

int cx_shadow_init(struct cx_shadow *shadow, uint64_t slots);
void cx_shadow_fini(struct cx_shadow *shadow);
/* Back to the state after init; memory beyond the first pages goes back. */
void cx_shadow_reset(struct cx_shadow *shadow, coex_handle **top);

/* Room for `words` above `top`. False: the reservation ends, or no memory. */
bool cx_shadow_make_room_self(struct cx_shadow *shadow, const coex_handle *top, uint64_t words);

static inline bool cx_shadow_is_header(uint64_t word) { return word >> 62 == 3; }

/* What a word refers to: a handle to trace, or 0; reads the local that it points to. Acquire: coex_gc_set_slot may put a fresh object into
 * a frozen slot, and whoever finds it there traces it. */
static inline coex_handle cx_shadow_reference(const struct cx_shadow *shadow, uint64_t number)
{
    uint64_t word = cx_a64_load_acquire(cx_a64_at(&shadow->base[number]));
    if (CX_UNLIKELY((word & COEX_GC_LOCAL_BIT) != 0)) {
        if (cx_shadow_is_header(word)) return 0;
        word = cx_a64_load_acquire(cx_a64_at((const void *)(uintptr_t)(word & ~COEX_GC_LOCAL_BIT)));
    }
    return cx_is_reference(word) ? word : 0;
}

/* The number of the header word of the frame whose last word is before `end`. */
static inline uint64_t cx_shadow_frame_before(const struct cx_shadow *shadow, uint64_t end)
{
    do end--;
    while (end > 0 && !cx_shadow_is_header(cx_a64_load_relaxed(cx_a64_at(&shadow->base[end]))));
    return end;
}

/* Freezes [0, end) in constant time (checked builds copy the words). Called by the owner, or by
 * the collector for a thread or a stack it has claimed. What is frozen already stays frozen:
 * INV-SHADOW-3. */
void cx_shadow_freeze(struct cx_shadow *shadow, uint64_t end);
/* Forgets what is frozen: all of it was read, or nobody reads it any more, as after a fork. */
void cx_shadow_drop_frozen(struct cx_shadow *shadow);
/* The owner is about to use words from `from` on: takes them out of the range, waits for a chunk if the collector reads some of
 * them, and returns those that the caller has to scan. */
struct cx_span cx_shadow_cut_self(struct cx_shadow *shadow, uint64_t from);
/* The collector's: the next chunk to scan, and done with it. False: nothing is left. */
bool cx_shadow_claim_gct(struct cx_shadow *shadow, struct cx_span *span);
void cx_shadow_finish_gct(struct cx_shadow *shadow, struct cx_span span);

/* Where the owner must take care: hi, as long as some word below it is unread (INV-SHADOW-2: claimed is not read); 0: all is read. */
static inline uint64_t cx_shadow_frozen_end(const struct cx_shadow *shadow)
{
    uint64_t frozen = cx_a64_load_acquire(&shadow->frozen);
    uint64_t lo = frozen >> 32, hi = (uint32_t)frozen;
    return lo < hi || cx_a64_load_acquire(&shadow->scanned) < lo ? hi : 0;
}

static inline bool cx_shadow_is_frozen(const struct cx_shadow *shadow) { return cx_shadow_frozen_end(shadow) != 0; }

/* Checked builds: reports a frozen word that has changed since it was frozen. Locals are looked
 * at by their owner only, who returns to them: those of a thread that ends may be gone. */
void cx_shadow_check_span(const struct cx_shadow *shadow, struct cx_span span, bool locals, uint64_t thread_id);
/* Checked builds: makes a permitted change known, of a word of the stack or of a local that words of it
 * point to. Returns false if no frozen word is concerned. The caller has held `check` since before the
 * slot changed, so whoever freezes or checks the stack sees both changes or neither. */
bool cx_shadow_note_change_locked(struct cx_shadow *shadow, const coex_handle *slot, coex_handle value);

#endif
