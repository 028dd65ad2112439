/* See blocks.h. */
#include "gc/heap/blocks.h"

#include "base/schedule_point.h"
#include "gc/error.h"
#include "gc/lock_rank.h"

#include <string.h>

enum {
    HEAP_WORTH_LINES = 8, /* a block with fewer free lines (1 KiB) is not worth the search; they add up until it is */
    HEAP_SWEEP_MOST = 32, /* blocks that one allocation sweeps while there are empty ones */
    HEAP_LOOKS = 16,      /* at blocks for each that is to be swept: not all can be */
    HEAP_TRIM_PIECE = 4,  /* blocks that leave the free list at once, to be discarded */
    HEAP_POISON = 0xdd
};

static void heap_forget_partial_locked(struct cx_heap *heap)
{
    for (unsigned i = 0; i < CX_BLOCK_LINES; i++) heap->partial_list[i] = CX_NO_BLOCK;
    for (unsigned i = 0; i < CX_LINE_WORDS; i++) heap->partial_map[i] = 0;
}

static bool heap_has_partial_locked(const struct cx_heap *heap)
{
    uint64_t some = 0;
    for (unsigned i = 0; i < CX_LINE_WORDS; i++) some |= heap->partial_map[i];
    return some != 0;
}

static uint64_t heap_reservation(uint64_t limit)
{
    uint64_t roomy = cx_os_physical_memory() * 2;
    if (roomy < (uint64_t)16 << 30) roomy = (uint64_t)16 << 30;
    return limit != 0 && limit < roomy ? limit + CX_BLOCK_BYTES : roomy;
}

static char *heap_address(const struct cx_heap *heap, uint32_t block) { return heap->base + ((size_t)block << CX_BLOCK_SHIFT); }

static bool heap_commit_locked(struct cx_heap *heap, uint64_t blocks)
{
    size_t skip = (size_t)(heap->base - heap->range.base);
    if (blocks > UINT32_MAX - 1 || !cx_range_commit(&heap->block_range, (size_t)blocks * sizeof(struct cx_block)) ||
        !cx_range_commit(&heap->range, skip + ((size_t)blocks << CX_BLOCK_SHIFT)))
        return false;
    heap->committed = (uint32_t)blocks;
    return true;
}

int cx_heap_init(struct cx_heap *heap, uint64_t initial, uint64_t limit, bool poison)
{
    *heap = (struct cx_heap){.free_list = CX_NO_BLOCK,
                             .clean_list = CX_NO_BLOCK,
                             .free_last = CX_NO_BLOCK,
                             .limit = limit,
                             .poison = poison};
    heap_forget_partial_locked(heap);
    uint64_t reserve = heap_reservation(limit);
    if (reserve < initial) reserve = initial;
    if (!cx_range_reserve_part(&heap->range, reserve + CX_BLOCK_BYTES, initial + CX_BLOCK_BYTES, 4))
        return cx_error_set(COEX_GC_ENOMEM, "no address space for the heap");
    heap->range.huge = true;
    /* Never the beginning of the range: a broken header may make the words before the first object look like its length. */
    uintptr_t aligned = ((uintptr_t)heap->range.base + CX_BLOCK_BYTES) & ~(uintptr_t)(CX_BLOCK_BYTES - 1);
    heap->base = (char *)aligned;
    heap->span = heap->range.reserved - (size_t)(heap->base - heap->range.base);
    size_t most = (heap->range.reserved >> CX_BLOCK_SHIFT) * sizeof(struct cx_block);
    if (!cx_range_reserve(&heap->block_range, most, most)) {
        cx_range_release(&heap->range);
        return cx_error_set(COEX_GC_ENOMEM, "no address space for the heap's side table");
    }
    heap->blocks = (struct cx_block *)(void *)heap->block_range.base;
    cx_mutex_init(&heap->lock, CX_RANK_HEAP);
    int code = heap_commit_locked(heap, initial >> CX_BLOCK_SHIFT) ? cx_large_init(&heap->large, reserve)
                                                                   : cx_error_set(COEX_GC_ENOMEM, "no memory for the first heap");
    if (code != COEX_GC_OK) {
        cx_mutex_fini(&heap->lock);
        cx_range_release(&heap->block_range);
        cx_range_release(&heap->range);
    }
    return code;
}

void cx_heap_fini(struct cx_heap *heap)
{
    cx_large_fini(&heap->large);
    cx_mutex_fini(&heap->lock);
    cx_range_release(&heap->block_range);
    cx_range_release(&heap->range);
}

/* ------------------------------------------------------------------ limit */

static bool heap_charge(struct cx_heap *heap, uint64_t bytes)
{
    uint64_t used = cx_a64_load_relaxed(&heap->used);
    do {
        if (heap->limit != 0 && (bytes > heap->limit || used > heap->limit - bytes)) return false;
    } while (!cx_a64_cas_acq_rel(&heap->used, &used, used + bytes));
    return true;
}

static void heap_discharge(struct cx_heap *heap, uint64_t bytes) { cx_a64_sub_relaxed(&heap->used, bytes); }

/* ----------------------------------------------------------------- blocks */

/* Takes a block off the list of those with a longest run of `lines`. */
static uint32_t heap_unlist_locked(struct cx_heap *heap, unsigned lines)
{
    uint32_t block = heap->partial_list[lines];
    heap->partial_list[lines] = heap->blocks[block].next;
    if (heap->partial_list[lines] == CX_NO_BLOCK) heap->partial_map[lines / 64] &= ~((uint64_t)1 << (lines % 64));
    return block;
}

static void heap_list_locked(struct cx_heap *heap, uint32_t block)
{
    unsigned lines = heap->blocks[block].longest;
    cx_a32_store_release(&heap->blocks[block].state, CX_BLOCK_PARTIAL);
    heap->blocks[block].next = heap->partial_list[lines];
    heap->partial_list[lines] = block;
    heap->partial_map[lines / 64] |= (uint64_t)1 << (lines % 64);
}

/* The one with the longest run first: an object larger than a line fits it best, and small ones find few borders there. */
static uint32_t heap_pop_partial_locked(struct cx_heap *heap)
{
    unsigned word = CX_LINE_WORDS;
    while (word > 0 && heap->partial_map[word - 1] == 0) word--;
    if (word == 0) return CX_NO_BLOCK;
    uint32_t block = heap_unlist_locked(heap, word * 64 - 1 - (unsigned)__builtin_clzll(heap->partial_map[word - 1]));
    cx_a32_store_release(&heap->blocks[block].state, CX_BLOCK_OWNED);
    return block;
}

static void heap_link_free_locked(struct cx_heap *heap, uint32_t block)
{
    uint32_t next = heap->free_list;
    heap->blocks[block].next = next;
    heap->blocks[block].previous = CX_NO_BLOCK;
    *(next != CX_NO_BLOCK ? &heap->blocks[next].previous : &heap->free_last) = block;
    heap->free_list = block;
    heap->free_length++;
}

static void heap_unlink_free_locked(struct cx_heap *heap, uint32_t block)
{
    uint32_t next = heap->blocks[block].next, previous = heap->blocks[block].previous;
    *(next != CX_NO_BLOCK ? &heap->blocks[next].previous : &heap->free_last) = previous;
    *(previous != CX_NO_BLOCK ? &heap->blocks[previous].next : &heap->free_list) = next;
    heap->free_length--;
}

/* Takes an empty block off its list, the one freed last if there is one. CX_NO_BLOCK: all are in use. */
static uint32_t heap_unlink_empty_locked(struct cx_heap *heap)
{
    uint32_t block = heap->free_list;
    if (block != CX_NO_BLOCK) {
        heap_unlink_free_locked(heap, block);
    } else {
        block = heap->clean_list;
        if (block != CX_NO_BLOCK) heap->clean_list = heap->blocks[block].next;
    }
    return block;
}

/* Doubles what is committed, or adds what the system gives: a step that is refused is halved. */
static bool heap_grow_locked(struct cx_heap *heap)
{
    uint64_t most = (heap->range.reserved - (size_t)(heap->base - heap->range.base)) >> CX_BLOCK_SHIFT;
    uint64_t step = (uint64_t)heap->committed * 2 < most ? heap->committed : most - heap->committed;
    while (step != 0 && !heap_commit_locked(heap, heap->committed + step)) step /= 2;
    if (step != 0) cx_a64_add_relaxed(&heap->growths, 1);
    return step != 0;
}

/* An empty block, charged: the one freed last, or a fresh one. */
static uint32_t heap_pop_free_locked(struct cx_heap *heap)
{
    if (!heap_charge(heap, CX_BLOCK_BYTES)) return CX_NO_BLOCK;
    uint32_t block = heap_unlink_empty_locked(heap);
    if (block != CX_NO_BLOCK) {
        cx_a32_sub_relaxed(&heap->free_count, 1);
    } else {
        uint32_t count = cx_a32_load_relaxed(&heap->count);
        if (count == heap->committed && !heap_grow_locked(heap)) {
            heap_discharge(heap, CX_BLOCK_BYTES);
            return CX_NO_BLOCK;
        }
        block = count;
        heap->blocks[block].clean = 1;
        cx_a32_store_release(&heap->count, count + 1);
    }
    memset(heap->blocks[block].free, 0xff, sizeof heap->blocks[block].free);
    cx_a32_store_release(&heap->blocks[block].state, CX_BLOCK_OWNED);
    return block;
}

static void heap_push_free(struct cx_heap *heap, uint32_t block)
{
    cx_mutex_lock(&heap->lock);
    cx_a32_store_release(&heap->blocks[block].state, CX_BLOCK_FREE);
    heap_link_free_locked(heap, block);
    cx_a32_add_relaxed(&heap->free_count, 1);
    heap_discharge(heap, CX_BLOCK_BYTES); /* in the lock: the child of a fork finds both, or neither. INV-HEAP-5 */
    cx_mutex_unlock(&heap->lock);
}

static void heap_push_partial(struct cx_heap *heap, uint32_t block)
{
    cx_mutex_lock(&heap->lock);
    heap_list_locked(heap, block);
    cx_mutex_unlock(&heap->lock);
}

void cx_heap_give_up_block(struct cx_heap *heap, uint32_t block)
{
    cx_a32_store_release(&heap->blocks[block].state, CX_BLOCK_USED);
}

/* ------------------------------------------------------------------ holes */

/* Counts the runs of free lines of a block, and notes the longest. */
static uint64_t heap_measure_block(struct cx_block *block)
{
    uint64_t runs = 0;
    uint32_t longest = 0, length = 0;
    for (unsigned word = 0; word < CX_LINE_WORDS; word++) {
        uint64_t bits = block->free[word];
        uint64_t before = word > 0 ? block->free[word - 1] >> 63 : 0;
        runs += (uint64_t)__builtin_popcountll(bits & ~(bits << 1 | before));
        for (unsigned at = 0; at < 64;) {
            uint64_t rest = bits >> at;
            if ((rest & 1) == 0) {
                length = 0;
                at += rest == 0 ? 64 - at : (unsigned)__builtin_ctzll(rest);
                continue;
            }
            unsigned ones = ~rest == 0 ? 64 : (unsigned)__builtin_ctzll(~rest);
            if (ones > 64 - at) ones = 64 - at;
            length += ones;
            longest = length > longest ? length : longest;
            at += ones;
        }
    }
    block->longest = longest;
    return runs;
}

/* The first line, from `from` on, whose bit in the block's free lines is `set`; CX_BLOCK_LINES: none. */
static unsigned heap_next_line(const struct cx_block *block, unsigned from, bool set)
{
    while (from < CX_BLOCK_LINES) {
        uint64_t bits = (set ? block->free[from / 64] : ~block->free[from / 64]) >> (from % 64);
        if (bits != 0) return from + (unsigned)__builtin_ctzll(bits);
        from = (from / 64 + 1) * 64;
    }
    return CX_BLOCK_LINES;
}

/* Takes the first run of at least `lines` out of the block's free lines. */
static bool heap_cut_run(struct cx_block *block, unsigned lines, unsigned *from, unsigned *to)
{
    for (*from = heap_next_line(block, 0, true);; *from = heap_next_line(block, *to, true)) {
        if (*from == CX_BLOCK_LINES) return false;
        *to = heap_next_line(block, *from, false);
        if (*to - *from >= lines) break;
    }
    for (unsigned line = *from; line < *to;) {
        unsigned stop = (line / 64 + 1) * 64 < *to ? (line / 64 + 1) * 64 : *to;
        uint64_t bits = (stop - line == 64 ? UINT64_MAX : ((uint64_t)1 << (stop - line)) - 1) << (line % 64);
        block->free[line / 64] &= ~bits;
        line = stop;
    }
    return true;
}

bool cx_heap_take_run(struct cx_heap *heap, uint32_t index, unsigned lines, bool black, char **start, char **end)
{
    struct cx_block *block = &heap->blocks[index];
    unsigned from, to;
    CX_CHECK("INV-HEAP-1", cx_a32_load_relaxed(&block->state) == CX_BLOCK_OWNED);
    if (!heap_cut_run(block, lines, &from, &to)) return false;
    *start = heap_address(heap, index) + ((size_t)from << CX_LINE_SHIFT);
    *end = heap_address(heap, index) + ((size_t)to << CX_LINE_SHIFT);
    if (black) cx_heap_hold(heap, *start, *end);
    if (!block->clean)
        memset(*start, 0, (size_t)(*end - *start));
    else
        block->clean = to - from != CX_BLOCK_LINES; /* taken whole: from now on it is written to */
    return true;
}

bool cx_heap_take_hole(struct cx_heap *heap, uint32_t index, bool black, char **start, char **end)
{
    return cx_heap_take_run(heap, index, 1, black, start, end);
}

/* Takes a run of the listed block that fits best; CX_NO_BLOCK: none does. The rest of the block is listed again if it is worth it. */
static uint32_t heap_cut_listed_locked(struct cx_heap *heap, unsigned lines, unsigned *from, unsigned *to)
{
    unsigned at = lines / 64;
    uint64_t some = heap->partial_map[at] & UINT64_MAX << (lines % 64);
    while (some == 0 && ++at < CX_LINE_WORDS) some = heap->partial_map[at];
    if (some == 0) return CX_NO_BLOCK;
    uint32_t index = heap_unlist_locked(heap, at * 64 + (unsigned)__builtin_ctzll(some));
    struct cx_block *block = &heap->blocks[index];
    bool found = heap_cut_run(block, lines, from, to);
    CX_CHECK("INV-HEAP-6", found);
    block->free_lines -= *to - *from;
    heap_measure_block(block);
    if (block->free_lines >= HEAP_WORTH_LINES)
        heap_list_locked(heap, index);
    else
        cx_a32_store_release(&block->state, CX_BLOCK_USED);
    return index;
}

bool cx_heap_take_listed_run(struct cx_heap *heap, unsigned lines, bool black, char **start, char **end)
{
    unsigned from = 0, to = 0;
    cx_mutex_lock(&heap->lock);
    uint32_t block = heap_cut_listed_locked(heap, lines, &from, &to);
    if (block != CX_NO_BLOCK) {
        *start = heap_address(heap, block) + ((size_t)from << CX_LINE_SHIFT);
        *end = heap_address(heap, block) + ((size_t)to << CX_LINE_SHIFT);
        if (black) cx_heap_hold(heap, *start, *end); /* in the lock: before a sweep can begin that has the block again */
    }
    cx_mutex_unlock(&heap->lock);
    if (block == CX_NO_BLOCK) return false;
    memset(*start, 0, (size_t)(*end - *start));
    cx_a64_add_relaxed(&heap->granted, 1);
    return true;
}

/* By an or: a block that nobody owns may have runs of several threads. INV-HEAP-6 */
void cx_heap_hold(struct cx_heap *heap, const char *start, const char *end)
{
    if (start >= end) return;
    struct cx_block *block = cx_heap_block_of(heap, start);
    unsigned last = cx_heap_line_of(end - 1);
    for (unsigned line = cx_heap_line_of(start); line <= last; line = (line / 64 + 1) * 64) {
        unsigned stop = line / 64 == last / 64 ? last % 64 : 63;
        uint64_t bits = (UINT64_MAX >> (63 - stop)) & (UINT64_MAX << (line % 64));
        cx_a64_or_relaxed(&block->held[line / 64], bits);
    }
}

/* ------------------------------------------------------------------ large */

/* INV-HEAP-5 */
void *cx_heap_take_large(struct cx_heap *heap, uint64_t bytes, struct cx_heap_claim *claim)
{
    uint64_t rounded = cx_large_round(&heap->large, bytes);
    bool dirty = false;
    if (rounded < bytes) return NULL;
    cx_mutex_lock(&heap->large.lock);
    bool charged = heap_charge(heap, rounded);
    void *pages = charged ? cx_large_take_locked(&heap->large, bytes, &dirty) : NULL;
    if (charged && pages == NULL) heap_discharge(heap, rounded);
    claim->pages = pages;
    cx_mutex_unlock(&heap->large.lock);
    if (pages == NULL) return NULL;
    CX_SCHEDULE_POINT("large-claimed");
    if (dirty) cx_large_zero(&heap->large, pages, bytes);
    cx_a64_add_relaxed(&heap->granted, 1);
    cx_a64_add_relaxed(&heap->taken, rounded);
    return pages;
}

void cx_heap_settle_large(struct cx_heap *heap, struct cx_heap_claim *claim)
{
    cx_mutex_lock(&heap->large.lock);
    claim->pages = NULL;
    cx_mutex_unlock(&heap->large.lock);
}

bool cx_heap_could_hold(const struct cx_heap *heap, uint64_t bytes)
{
    uint64_t rounded = bytes <= COEX_GC_SMALL_MAX ? CX_BLOCK_BYTES : cx_large_round(&heap->large, bytes);
    return rounded >= bytes && (heap->limit == 0 || rounded <= heap->limit) &&
           (bytes <= COEX_GC_SMALL_MAX || rounded < heap->large.range.reserved);
}

void cx_heap_give_retired_gct(struct cx_heap *heap, struct cx_budget *budget)
{
    heap_discharge(heap, cx_large_give_piece(&heap->large, heap->poison, budget));
}

/* ------------------------------------------------------------------ sweep */

void cx_heap_clear_block_gct(struct cx_heap *heap, uint32_t block)
{
    for (unsigned word = 0; word < CX_LINE_WORDS; word++) {
        cx_a64_store_relaxed(&heap->blocks[block].held[word], 0);
        cx_a64_store_relaxed(&heap->blocks[block].marked[word], 0);
    }
}

/* The partial list holds what the sweep before found; each of its blocks is swept again, so the list starts anew. */
void cx_heap_sweep_begin_gct(struct cx_heap *heap)
{
    cx_a64_store_relaxed(&heap->swept_free_lines, 0);
    cx_a64_store_relaxed(&heap->swept_gone_lines, 0);
    cx_a64_store_relaxed(&heap->swept_runs, 0);
    cx_a64_store_relaxed(&heap->swept_longest, 0);
    cx_a64_store_relaxed(&heap->sweep_next, 0);
    cx_mutex_lock(&heap->lock);
    heap_forget_partial_locked(heap);
    cx_mutex_unlock(&heap->lock);
    cx_a32_store_release(&heap->sweep_end, cx_a32_load_acquire(&heap->count));
}

void cx_heap_sweep_end_gct(struct cx_heap *heap) { cx_a32_store_release(&heap->sweep_end, 0); }

static void heap_poison_lines(struct cx_heap *heap, uint32_t block, uint64_t gone, unsigned word)
{
    for (; gone != 0; gone &= gone - 1) {
        unsigned line = word * 64 + (unsigned)__builtin_ctzll(gone);
        memset(heap_address(heap, block) + ((size_t)line << CX_LINE_SHIFT), HEAP_POISON, CX_LINE_BYTES);
    }
}

static void heap_measure_runs(struct cx_heap *heap, struct cx_block *block)
{
    cx_a64_add_relaxed(&heap->swept_runs, heap_measure_block(block));
    uint64_t longest = (uint64_t)block->longest * CX_LINE_BYTES, best = cx_a64_load_relaxed(&heap->swept_longest);
    while (longest > best && !cx_a64_cas_acq_rel(&heap->swept_longest, &best, longest)) {
    }
}

/* Computes the free lines of a block that the caller has in SWEEPING; returns how many. */
static uint32_t heap_sweep_lines(struct cx_heap *heap, uint32_t index)
{
    struct cx_block *block = &heap->blocks[index];
    uint32_t lines = 0, gone = 0;
    for (unsigned word = 0; word < CX_LINE_WORDS; word++) {
        uint64_t live = cx_a64_load_relaxed(&block->marked[word]) | cx_a64_load_relaxed(&block->held[word]);
        if (heap->poison) heap_poison_lines(heap, index, ~live & ~block->free[word], word);
        gone += (uint32_t)__builtin_popcountll(~live & ~block->free[word]);
        block->free[word] = ~live;
        lines += (uint32_t)__builtin_popcountll(~live);
    }
    block->free_lines = lines;
    block->clean = 0;
    cx_a64_add_relaxed(&heap->swept_gone_lines, gone);
    if (lines == CX_BLOCK_LINES) return lines; /* empty: it is a free piece as a whole, which free_count counts */
    if (lines != 0) heap_measure_runs(heap, block);
    cx_a64_add_relaxed(&heap->swept_free_lines, lines);
    return lines;
}

/* Whether a sweep runs and has blocks that nobody has looked at. */
static bool heap_sweep_is_open(const struct cx_heap *heap)
{
    return cx_a64_load_relaxed(&heap->sweep_next) < cx_a32_load_acquire(&heap->sweep_end);
}

/* Takes the next block of the running sweep into SWEEPING, after *looks looks at most; *looks says then how many are left.
 * CX_NO_BLOCK: it was none of those, no sweep runs, or all blocks are taken. */
static uint32_t heap_sweep_claim(struct cx_heap *heap, uint64_t *looks)
{
    uint32_t end = cx_a32_load_acquire(&heap->sweep_end);
    for (; *looks > 0 && end != 0 && cx_a64_load_relaxed(&heap->sweep_next) < end; --*looks) {
        uint64_t at = cx_a64_add_acq_rel(&heap->sweep_next, 1);
        if (at >= end) break;
        uint32_t state = CX_BLOCK_USED;
        if (cx_a32_cas_acq_rel(&heap->blocks[at].state, &state, CX_BLOCK_SWEEPING)) return (uint32_t)at;
        if (state == CX_BLOCK_PARTIAL && cx_a32_cas_acq_rel(&heap->blocks[at].state, &state, CX_BLOCK_SWEEPING))
            return (uint32_t)at;
    }
    return CX_NO_BLOCK;
}

bool cx_heap_sweep_some(struct cx_heap *heap, struct cx_budget *budget)
{
    uint64_t looks = HEAP_LOOKS;
    uint32_t block = heap_sweep_claim(heap, &looks);
    cx_budget_spend(budget, CX_COST_SWEEP_BLOCK);
    if (block == CX_NO_BLOCK) return heap_sweep_is_open(heap);
    uint32_t lines = heap_sweep_lines(heap, block);
    if (heap->poison) cx_budget_spend_bytes(budget, CX_BLOCK_BYTES);
    if (lines == CX_BLOCK_LINES)
        heap_push_free(heap, block);
    else if (lines >= HEAP_WORTH_LINES)
        heap_push_partial(heap, block);
    else
        cx_a32_store_release(&heap->blocks[block].state, CX_BLOCK_USED);
    return true;
}

/* Sweeps until a block turns up that is worth having, and keeps it; at most so many, since an allocation should not take long. */
static uint32_t heap_sweep_for_self(struct cx_heap *heap, uint32_t most)
{
    for (uint64_t looks = (uint64_t)most * HEAP_LOOKS; most > 0; most--) {
        uint32_t block = heap_sweep_claim(heap, &looks);
        if (block == CX_NO_BLOCK) return CX_NO_BLOCK;
        bool worth = heap_sweep_lines(heap, block) >= HEAP_WORTH_LINES;
        cx_a32_store_release(&heap->blocks[block].state, worth ? CX_BLOCK_OWNED : CX_BLOCK_USED);
        if (worth) return block;
    }
    return CX_NO_BLOCK;
}

/* An empty block and up to *spares more. Near a limit, where blocks are for those who need them now, and while there are blocks with holes,
 * none more. */
static uint32_t heap_pop_some_locked(struct cx_heap *heap, uint32_t *spare, uint32_t *spares)
{
    uint32_t most = *spares, block = heap_pop_free_locked(heap);
    bool roomy = heap->limit == 0 || cx_a64_load_relaxed(&heap->used) < heap->limit / 2;
    *spares = 0;
    while (block != CX_NO_BLOCK && roomy && !heap_has_partial_locked(heap) && *spares < most &&
           (spare[*spares] = heap_pop_free_locked(heap)) != CX_NO_BLOCK)
        ++*spares;
    return block;
}

uint32_t cx_heap_take_block(struct cx_heap *heap, bool holes, uint32_t *spare, uint32_t *spares)
{
    bool sweeping = cx_a32_load_acquire(&heap->sweep_end) != 0;
    uint32_t most = *spares;
    *spares = 0;
    cx_mutex_lock(&heap->lock);
    uint32_t block = holes ? heap_pop_partial_locked(heap) : CX_NO_BLOCK;
    if (block == CX_NO_BLOCK && !(holes && sweeping)) {
        *spares = most;
        block = heap_pop_some_locked(heap, spare, spares);
    }
    cx_mutex_unlock(&heap->lock);
    if (block == CX_NO_BLOCK && holes && sweeping) block = heap_sweep_for_self(heap, HEAP_SWEEP_MOST);
    if (block == CX_NO_BLOCK && holes && sweeping) {
        *spares = most;
        cx_mutex_lock(&heap->lock);
        block = heap_pop_some_locked(heap, spare, spares);
        cx_mutex_unlock(&heap->lock);
    }
    if (block == CX_NO_BLOCK && holes) block = heap_sweep_for_self(heap, UINT32_MAX); /* full: whatever the sweep still finds */
    if (block != CX_NO_BLOCK) cx_a64_add_relaxed(&heap->granted, 1);
    return block;
}

void cx_heap_return_block(struct cx_heap *heap, uint32_t block) { heap_push_free(heap, block); }

/* --------------------------------------------------------------- trimming */

/* Takes the blocks that are free for longest off the list, while more than `keep` are on it. Returns how many, HEAP_TRIM_PIECE at
 * most. They stay FREE, and count as free. */
static uint32_t heap_take_cold(struct cx_heap *heap, uint64_t keep, uint32_t *cold)
{
    uint32_t count = 0;
    cx_mutex_lock(&heap->lock);
    while (count < HEAP_TRIM_PIECE && heap->free_length > keep) {
        cold[count] = heap->free_last;
        heap_unlink_free_locked(heap, cold[count++]);
    }
    cx_mutex_unlock(&heap->lock);
    return count;
}

/* Puts them back. Returns false if the system would not take all of them. */
static bool heap_return_cold(struct cx_heap *heap, const uint32_t *cold, uint32_t count)
{
    bool all = true;
    cx_mutex_lock(&heap->lock);
    for (uint32_t i = 0; i < count; i++) {
        struct cx_block *block = &heap->blocks[cold[i]];
        if (block->clean) {
            block->next = heap->clean_list;
            heap->clean_list = cold[i];
        } else {
            heap_link_free_locked(heap, cold[i]);
            all = false;
        }
    }
    cx_mutex_unlock(&heap->lock);
    return all;
}

static void heap_discard_block(struct cx_heap *heap, uint32_t block, struct cx_budget *budget)
{
    cx_budget_spend(budget, CX_COST_CALL);
    if (heap->blocks[block].clean) return;
    cx_budget_spend_bytes(budget, CX_BLOCK_BYTES);
    if (cx_os_discard(heap_address(heap, block), CX_BLOCK_BYTES) != CX_BLOCK_BYTES) return;
    heap->blocks[block].clean = 1;
    cx_a64_add_relaxed(&heap->returned, CX_BLOCK_BYTES);
}

/* Between two slices no block is on its way, so that a fork finds all of them on a list. */
bool cx_heap_trim_some_gct(struct cx_heap *heap, uint64_t keep, struct cx_budget *budget)
{
    uint32_t cold[HEAP_TRIM_PIECE];
    uint64_t blocks = (keep + CX_BLOCK_BYTES - 1) / CX_BLOCK_BYTES;
    while (cx_budget_is_left(budget)) {
        uint32_t count = heap_take_cold(heap, blocks, cold);
        if (count == 0) return false;
        for (uint32_t i = 0; i < count; i++) heap_discard_block(heap, cold[i], budget);
        if (!heap_return_cold(heap, cold, count)) return false; /* the system would not: not again at once */
    }
    return true;
}

bool cx_heap_trim_large_gct(struct cx_heap *heap, struct cx_budget *budget)
{
    while (cx_budget_is_left(budget)) {
        if (cx_large_has_retired(&heap->large))
            cx_heap_give_retired_gct(heap, budget);
        else if (!cx_large_trim(&heap->large, budget))
            return false;
    }
    return true;
}

void cx_heap_fork_child(struct cx_heap *heap)
{
    uint32_t count = cx_a32_load_relaxed(&heap->count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t state = cx_a32_load_relaxed(&heap->blocks[i].state);
        if (state == CX_BLOCK_OWNED || state == CX_BLOCK_SWEEPING) cx_a32_store_relaxed(&heap->blocks[i].state, CX_BLOCK_USED);
    }
    cx_a32_store_relaxed(&heap->sweep_end, 0);
}

void cx_heap_fork_keep(struct cx_heap *heap, uint32_t block)
{
    if (block != CX_NO_BLOCK) cx_a32_store_relaxed(&heap->blocks[block].state, CX_BLOCK_OWNED);
}
