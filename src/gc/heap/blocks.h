/* The heap: blocks of lines for small objects (mark-region, as in Immix), and the large-object
 * space.
 *
 * A line is MARKED, HELD or neither. It is MARKED if a marked object is on it (W: markers, or). It
 * is HELD if a black thread holds it for allocation, or held it in this cycle. The thread that
 * takes the line writes HELD, or the collector while it answers for that thread. *Free* is a
 * separate bitmap. The sweep sets it, and so does the thread that takes an empty block. Taking a
 * hole clears it, whatever the colour. The search for a hole never reads marks.
 *
 * States of a block, and the steps that change them. Lists are under the lock, and SWEEPING is
 * entered by compare-and-swap:
 *
 *     FREE --take--> OWNED --give up--> USED --sweep--> SWEEPING --+--> FREE     all lines free
 *       ^              ^                  ^                        +--> PARTIAL  enough of them
 *       |              +---- take --------|--- PARTIAL <-----------+--> USED     too few
 *       |              |                  |                        +--> OWNED    swept by its taker
 *       +--------------+--- a PARTIAL or USED block is swept once in a cycle
 *
 * INV-HEAP-1  A block has at most one owner. Only the owner takes holes from it.
 * INV-HEAP-2  Only a sweep releases a line, which means that it sets the free bit. It does so
 *             after the sweep of the handles has ended. Until then the slot of a dead handle still
 *             leads to the line.
 * INV-HEAP-3  used = bytes of all blocks that are not FREE and of all runs of large objects. Dead
 *             runs count until their pages are given back (INV-LARGE-2). used never exceeds the
 *             limit.
 * INV-HEAP-5  Memory of a thread that a fork leaves behind can be found in the child. A mutator
 *             charges `used` in the critical section in which it takes the block or the run. Large
 *             pages are in the claim of the thread from that critical section until the slot of
 *             the object names them. A claim begins and ends under the lock of the large-object
 *             space, which a fork holds. A claim in the child therefore belongs to an object that
 *             no slot names. A fork copies memory page by page while other threads run. Without
 *             the lock, the child could have the end of a claim without the slot that was written
 *             before it.
 * INV-HEAP-6  PARTIAL blocks are listed by their longest run of free lines. A run for an object
 *             larger than a line is therefore found at once, or known to be absent. Taking such a
 *             run needs no block. The lines of the run are no longer free. If the thread is black,
 *             they are HELD like the lines of any hole, so several threads may set HELD bits of a
 *             block. The rest of the block stays on the lists. The lists are emptied when a sweep
 *             begins, so a block that is listed during a sweep was swept by it.
 * INV-HEAP-7  The free list is linked in both directions, from the block that was freed last to
 *             the block that has been free for longest. Trimming takes a few blocks from its far
 *             end under the lock, and discards their pages without the lock.
 *
 * The heap only reports that it is full. slow_allocation.c decides the reaction. */
#ifndef CX_GC_HEAP_BLOCKS_H
#define CX_GC_HEAP_BLOCKS_H

#include "base/lock.h"
#include "base/os.h"
#include "gc/heap/large_objects.h"
#include "gc/layout.h"

#define CX_NO_BLOCK UINT32_MAX

enum cx_block_state { CX_BLOCK_UNUSED, CX_BLOCK_FREE, CX_BLOCK_OWNED, CX_BLOCK_USED, CX_BLOCK_PARTIAL, CX_BLOCK_SWEEPING };

struct cx_block {
    cx_a32 state;        /* enum cx_block_state. W: as the diagram says, acq_rel. R: anyone */
    uint32_t next;       /* in its list; under the heap's lock */
    uint32_t clean;      /* reads as zero throughout: fresh from the system */
    uint32_t free_lines; /* as of its last sweep */
    cx_a64 marked[CX_LINE_WORDS];
    cx_a64 held[CX_LINE_WORDS];
    uint64_t free[CX_LINE_WORDS]; /* W: owner or sweeper; in PARTIAL who has the heap's lock */
    uint32_t previous;            /* in the free list; under the heap's lock */
    uint32_t longest;             /* run of free lines, while it is PARTIAL: the list that it is in. W: as `free` */
    uint32_t unused[2];
};
_Static_assert(sizeof(struct cx_block) == 128, "two cache lines, so that blocks of two owners share none");

struct cx_heap {
    char *base;
    struct cx_block *blocks;
    size_t span;    /* bytes from base to the end of the reservation */
    uint64_t limit; /* bytes; 0: none */
    bool poison;
    __attribute__((aligned(64))) cx_mutex lock;
    uint32_t free_list;   /* last freed first: its memory is warm */
    uint32_t free_last;   /* the other end of it; INV-HEAP-7 */
    uint32_t free_length; /* blocks on it */
    uint32_t clean_list;  /* empty blocks whose pages were returned to the operating system */
    uint32_t partial_list[CX_BLOCK_LINES]; /* PARTIAL blocks by their longest run of free lines. INV-HEAP-6 */
    uint64_t partial_map[CX_LINE_WORDS];   /* which of these lists are not empty */
    cx_a32 count;                /* blocks ever used. W: under the lock, release. R: acquire */
    cx_a32 free_count;           /* on free_list and clean_list */
    uint32_t committed;          /* blocks; under the lock */
    cx_a64 used;                 /* INV-HEAP-3. W: cas. R: relaxed */
    cx_a64 granted;              /* blocks (without spares) and large runs that threads got so far. Relaxed */
    __attribute__((aligned(64))) /* read by every slow allocation */
    cx_a64 taken;                /* bytes handed out for allocation so far; what the pace is measured by. Relaxed */
    __attribute__((aligned(64))) cx_a64 sweep_next; /* next block to sweep. W: add, acq_rel */
    cx_a32 sweep_end;                               /* blocks to sweep; 0: no sweep runs. W: collector, release. R: acquire */
    cx_a64 swept_free_lines;                        /* in blocks that stayed in use; of the running or last sweep, relaxed */
    cx_a64 swept_gone_lines;                        /* lines that became free in it */
    cx_a64 swept_runs;                              /* runs of those free lines, and the longest in bytes */
    cx_a64 swept_longest;
    cx_a64 growths;
    cx_a64 returned; /* bytes given back to the operating system */
    cx_range range;
    cx_range block_range;
    struct cx_large large;
};

int cx_heap_init(struct cx_heap *heap, uint64_t initial, uint64_t limit, bool poison);
void cx_heap_fini(struct cx_heap *heap);

/* A block for the caller to own: one with holes if `holes` (swept ones first; while a sweep runs, the caller may sweep some
 * itself), or an empty one. CX_NO_BLOCK: full. With an empty one come up to *spares more into `spare`, so that one lock serves for
 * several; *spares says then how many. */
uint32_t cx_heap_take_block(struct cx_heap *heap, bool holes, uint32_t *spare, uint32_t *spares);
enum { CX_SPARE_BLOCKS = 8 };
/* An empty block that was not used goes back. */
void cx_heap_return_block(struct cx_heap *heap, uint32_t block);
/* The owner is done with it. */
void cx_heap_give_up_block(struct cx_heap *heap, uint32_t block);
/* A hole in a block one owns: the next run of free lines at or after `from`, marked HELD for a black thread. False: none left. */
bool cx_heap_take_hole(struct cx_heap *heap, uint32_t block, bool black, char **start, char **end);
/* The same for the first run of at least `lines` lines. */
bool cx_heap_take_run(struct cx_heap *heap, uint32_t block, unsigned lines, bool black, char **start, char **end);
/* A run of at least `lines` free lines of a block that nobody owns, which stays so. False: no block is listed that has one; while a
 * sweep runs, one may come. INV-HEAP-6 */
bool cx_heap_take_listed_run(struct cx_heap *heap, unsigned lines, bool black, char **start, char **end);
/* The lines from `start` to `end`, which the caller holds, become HELD: at a ROOTS answer. */
void cx_heap_hold(struct cx_heap *heap, const char *start, const char *end);

/* Returns false if an object of so many bytes can't fit, however little is in use. */
bool cx_heap_could_hold(const struct cx_heap *heap, uint64_t bytes);
/* A large run that no object's slot names yet, and the handle whose slot is going to. */
struct cx_heap_claim {
    void *pages; /* NULL: none. W: owner, in the lock of the large-object space. R: the child of a fork. INV-HEAP-5 */
    uint64_t handle;
};
/* Zeroed pages for a large object, noted in `claim`; or NULL. */
void *cx_heap_take_large(struct cx_heap *heap, uint64_t bytes, struct cx_heap_claim *claim);
/* The slot names the pages now. */
void cx_heap_settle_large(struct cx_heap *heap, struct cx_heap_claim *claim);

/* --- the collector's --- */

/* HELD and MARKED of a block's lines. */
void cx_heap_clear_block_gct(struct cx_heap *heap, uint32_t block);
void cx_heap_sweep_begin_gct(struct cx_heap *heap);
/* Sweeps the next block. Returns false if there is none. */
bool cx_heap_sweep_some(struct cx_heap *heap, struct cx_budget *budget);
void cx_heap_sweep_end_gct(struct cx_heap *heap);
/* Gives a piece of a retired large run back (large_objects.h), and discharges it. */
void cx_heap_give_retired_gct(struct cx_heap *heap, struct cx_budget *budget);
/* Gives empty blocks beyond `keep` bytes of them back to the operating system. Returns false at the end. */
bool cx_heap_trim_some_gct(struct cx_heap *heap, uint64_t keep, struct cx_budget *budget);
/* The same for free pages of large objects. */
bool cx_heap_trim_large_gct(struct cx_heap *heap, struct cx_budget *budget);

/* Blocks of threads that are not there any more, and of a sweep that ran, are nobody's. */
void cx_heap_fork_child(struct cx_heap *heap);
void cx_heap_fork_keep(struct cx_heap *heap, uint32_t block); /* after it: this one is the caller's after all */

/* Of a payload: its header decides, since an empty payload may begin where the space ends. */
static inline bool cx_heap_in_blocks(const struct cx_heap *heap, const void *payload)
{
    return (uintptr_t)payload - 8 - (uintptr_t)heap->base < heap->span;
}

static inline struct cx_block *cx_heap_block_of(const struct cx_heap *heap, const void *address)
{
    return &heap->blocks[((uintptr_t)address - (uintptr_t)heap->base) >> CX_BLOCK_SHIFT];
}

static inline unsigned cx_heap_line_of(const void *address)
{
    return (unsigned)(((uintptr_t)address >> CX_LINE_SHIFT) % CX_BLOCK_LINES);
}

/* Marks the lines of an object, `start` to its last byte `last`. A line is mostly marked already. `shared`: other markers run. */
static inline void cx_heap_mark_lines(struct cx_block *blocks, const char *base, const char *start, const char *last, bool shared)
{
    struct cx_block *block = &blocks[(uintptr_t)(start - base) >> CX_BLOCK_SHIFT];
    unsigned to = cx_heap_line_of(last);
    for (unsigned line = cx_heap_line_of(start); line <= to; line++) {
        cx_a64 *word = &block->marked[line / 64];
        uint64_t bit = (uint64_t)1 << (line % 64), bits = cx_a64_load_relaxed(word);
        if ((bits & bit) != 0) continue;
        if (shared)
            cx_a64_or_relaxed(word, bit);
        else
            cx_a64_store_relaxed(word, bits | bit);
    }
}

#endif
