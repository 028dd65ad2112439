/* See handle_table.h. */
#include "gc/heap/handle_table.h"

#include "base/schedule_point.h"
#include "gc/error.h"
#include "gc/lock_rank.h"

enum {
    HANDLE_STEP = 4096,    /* handles of one word of `available`: what sizes are rounded to */
    HANDLE_PIECE = 1 << 16 /* handles whose pages are discarded at once: half a megabyte of table, two pages of each bitmap */
};

#define HANDLE_NOWHERE  UINT64_MAX
#define HANDLE_READABLE ((uint64_t)1 << 32)

static const size_t handle_shape_bytes = (size_t)COEX_GC_MAX_TYPES * sizeof(uint64_t);

/* Bytes of bitmap i for so many handles. The last one has a bit per word. */
static size_t handle_bitmap_bytes(int i, uint64_t count) { return (size_t)(i == CX_BITMAPS - 1 ? count / 64 / 8 : count / 8); }

static bool handles_commit(struct cx_handles *handles, uint64_t count)
{
    bool good = true; /* the table comes last: it is the largest, and so the one that is refused */
    for (int i = 0; i < CX_BITMAPS && good; i++) good = cx_range_commit(&handles->bit_ranges[i], handle_bitmap_bytes(i, count));
    return good && cx_range_commit(&handles->table_range, handle_shape_bytes + count * sizeof(void *));
}

static void handles_open_words(struct cx_handles *handles, uint64_t from, uint64_t to)
{
    for (uint64_t i = from / HANDLE_STEP; i < to / HANDLE_STEP; i++) cx_a64_store_release(&handles->available[i], UINT64_MAX);
}

int cx_handles_init(struct cx_handles *handles, uint64_t initial, uint64_t max)
{
    initial = (initial + HANDLE_STEP - 1) / HANDLE_STEP * HANDLE_STEP;
    max = max / HANDLE_STEP * HANDLE_STEP;
    if (initial > max) initial = max;
    *handles = (struct cx_handles){0};
    /* Room for 2^32 entries at least, readable: a made-up type id or handle then reads zero, and its user gets a clear line and not
     * a fault. The table decides how many handles there can be; the bitmaps follow it. */
    uint64_t entries = max > HANDLE_READABLE ? max : HANDLE_READABLE;
    bool good = cx_range_reserve_part(&handles->table_range, handle_shape_bytes + entries * sizeof(void *),
                                      handle_shape_bytes + initial * sizeof(void *), 8) &&
                cx_range_make_readable(&handles->table_range);
    if (good) {
        handles->table_range.huge = true;
        entries = (handles->table_range.reserved - handle_shape_bytes) / sizeof(void *) / HANDLE_STEP * HANDLE_STEP;
        max = max < entries ? max : entries;
    }
    cx_a64 **maps[CX_BITMAPS] = {&handles->allocated, &handles->marked,  &handles->born,     &handles->retired,
                                 &handles->spilled,      &handles->watched, &handles->available};
    for (int i = 0; i < CX_BITMAPS && good; i++) {
        size_t bytes = handle_bitmap_bytes(i, max);
        good = cx_range_reserve(&handles->bit_ranges[i], bytes, bytes);
        handles->bit_ranges[i].huge = true;
        *maps[i] = (cx_a64 *)(void *)handles->bit_ranges[i].base;
    }
    if (!good || !handles_commit(handles, initial)) {
        cx_range_release(&handles->table_range);
        for (int i = 0; i < CX_BITMAPS; i++) cx_range_release(&handles->bit_ranges[i]);
        return cx_error_set(COEX_GC_ENOMEM, "no address space for %llu handles", (unsigned long long)initial);
    }
    handles->shapes = (uint64_t *)(void *)handles->table_range.base;
    handles->table = (void **)(void *)(handles->table_range.base + handle_shape_bytes);
    handles->max = max;
    cx_mutex_init(&handles->lock, CX_RANK_HANDLES);
    cx_a64_store_relaxed(&handles->rewind, HANDLE_NOWHERE);
    handles_open_words(handles, 0, initial);
    cx_a64_store_release(&handles->committed, initial);
    return COEX_GC_OK;
}

void cx_handles_fini(struct cx_handles *handles)
{
    cx_mutex_fini(&handles->lock);
    for (int i = CX_BITMAPS - 1; i >= 0; i--) cx_range_release(&handles->bit_ranges[i]);
    cx_range_release(&handles->table_range);
}

uint64_t cx_handles_overhead(const struct cx_handles *handles)
{
    uint64_t count = cx_a64_load_acquire(&handles->committed);
    uint64_t bytes = count * sizeof(void *);
    for (int i = 0; i < CX_BITMAPS; i++) {
        if (i != 4 && i != 5) /* grey and watched: their pages are not touched but in a pinch */
            bytes += handle_bitmap_bytes(i, count);
    }
    return bytes;
}

/* Doubles the table, or adds what the system gives: a step that is refused is halved. */
static bool handles_grow_locked(struct cx_handles *handles)
{
    uint64_t now = cx_a64_load_relaxed(&handles->committed);
    uint64_t step = now * 2 < handles->max ? now : handles->max - now;
    while (step != 0 && !handles_commit(handles, now + step)) step = step / 2 / HANDLE_STEP * HANDLE_STEP;
    if (step == 0) return false;
    uint64_t next = now + step;
    handles_open_words(handles, now, next);
    cx_stale_history_cover(&handles->stale, next);
    cx_a64_store_release(&handles->committed, next);
    cx_a64_add_relaxed(&handles->growths, 1);
    return true;
}

/* INV-HANDLE-5 */
static void handles_raise_top_locked(struct cx_handles *handles, uint64_t words)
{
    if (words > cx_a64_load_relaxed(&handles->top)) cx_a64_store_release(&handles->top, words);
    if (words > handles->claimed_top) handles->claimed_top = words;
    if (words > handles->touched) handles->touched = words;
}

/* Takes the free handles of one word, whose bit in `available` is ours. */
static void handles_take_word_locked(struct cx_handles *handles, struct cx_held *held, uint64_t word, bool black)
{
    uint64_t free = ~cx_a64_load_acquire(&handles->allocated[word]);
    if (word == 0) free &= ~(uint64_t)1; /* handle 0 is null and never anybody's */
    if (free == 0) return;
    handles_raise_top_locked(handles, word + 1);
    CX_CHECK("INV-HANDLE-2", (cx_a64_load_relaxed(&handles->born[word]) & free) == 0);
    if (black) cx_a64_or_relaxed(&handles->born[word], free);
    CX_SCHEDULE_POINT("handle-claim-between-born-and-allocated");
    cx_a64_or_release(&handles->allocated[word], free);
    held->word[held->count] = word;
    held->bits[held->count] = free;
    held->count++;
}

/* Words are given out from the end: turn them round, so that they come in rising order, which the hardware's prefetcher likes. */
static uint64_t handles_arrange(struct cx_held *held)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < held->count; i++) count += (uint64_t)__builtin_popcountll(held->bits[i]);
    for (uint32_t i = 0, j = held->count; i + 1 < j; i++) {
        j--;
        uint64_t word = held->word[i], bits = held->bits[i];
        held->word[i] = held->word[j];
        held->bits[i] = held->bits[j];
        held->word[j] = word;
        held->bits[j] = bits;
    }
    return count;
}

/* Looks from `search` on; true when something was taken. */
static bool handles_search_locked(struct cx_handles *handles, struct cx_held *held, bool black)
{
    uint64_t end = cx_a64_load_relaxed(&handles->committed) / HANDLE_STEP;
    while (handles->search < end) {
        cx_a64 *available = &handles->available[handles->search];
        uint64_t some = cx_a64_load_seq(available);
        uint64_t take = 0;
        for (uint32_t i = held->count; i < held->appetite && some != 0; i++) {
            take |= some & -some;
            some &= some - 1;
        }
        if (take == 0) {
            if (held->count >= held->appetite) break;
            handles->search++;
            continue;
        }
        cx_a64_and_acq_rel(available, ~take); /* before `allocated` is read: INV-HANDLE-1 */
        /* The sweep has left these lines in another core's cache: fetch them all at once, not one after the other. */
        for (unsigned i = (unsigned)__builtin_ctzll(take) & ~7u; i < 64; i += 8)
            __builtin_prefetch(&handles->allocated[handles->search * 64 + i], 1);
        for (; take != 0; take &= take - 1)
            handles_take_word_locked(handles, held, handles->search * 64 + (uint64_t)__builtin_ctzll(take), black);
    }
    return held->count > 0;
}

bool cx_handles_claim(struct cx_handles *handles, struct cx_held *held, bool black)
{
    if (held->appetite < CX_HELD_WORDS) held->appetite = held->appetite == 0 ? 1 : held->appetite * 2;
    cx_mutex_lock(&handles->lock);
    uint64_t rewind = cx_a64_exchange_seq(&handles->rewind, HANDLE_NOWHERE);
    if (rewind < handles->search) handles->search = rewind;
    bool found = handles_search_locked(handles, held, black);
    while (!found && handles_grow_locked(handles)) found = handles_search_locked(handles, held, black);
    if (!found) cx_a32_store_relaxed(&handles->wanted, 3); /* this cycle's, one that retires, one that recycles */
    cx_mutex_unlock(&handles->lock);
    cx_a64_add_relaxed(&handles->claimed, handles_arrange(held));
    return found;
}

bool cx_handles_sweep_begin_gct(struct cx_handles *handles)
{
    if (!cx_mutex_try_lock(&handles->lock)) return false;
    handles->claimed_top = 0;
    cx_mutex_unlock(&handles->lock);
    return true;
}

void cx_handles_sweep_end_gct(struct cx_handles *handles, uint64_t found)
{
    if (!cx_mutex_try_lock(&handles->lock)) return;
    uint64_t top = found > handles->claimed_top ? found : handles->claimed_top;
    CX_CHECK("INV-HANDLE-5", top <= cx_a64_load_relaxed(&handles->top));
    for (uint64_t word = top; CX_CHECKED && word < cx_a64_load_relaxed(&handles->top); word++)
        CX_CHECK("INV-HANDLE-5",
                 (cx_a64_load_relaxed(&handles->allocated[word]) | cx_a64_load_relaxed(&handles->marked[word]) |
                  cx_a64_load_relaxed(&handles->born[word]) | cx_a64_load_relaxed(&handles->retired[word])) == 0);
    cx_a64_store_release(&handles->top, top);
    cx_mutex_unlock(&handles->lock);
}

/* ------------------------------------------------------------------- trim */

/* Sets the bits in `available` of the words of a piece. All of them are free: INV-HANDLE-5. */
static void handles_offer_piece_locked(struct cx_handles *handles, uint64_t from, uint64_t to, uint64_t bits)
{
    for (uint64_t i = from / HANDLE_STEP; i < to / HANDLE_STEP; i++) cx_a64_store_release(&handles->available[i], bits);
    if (bits != 0 && from / HANDLE_STEP < handles->search) handles->search = from / HANDLE_STEP;
}

/* Takes the last piece that has pages and lies above `top`. False: there is none. */
static bool handles_take_piece(struct cx_handles *handles, uint64_t *from, uint64_t *to)
{
    cx_mutex_lock(&handles->lock);
    uint64_t top = cx_a64_load_relaxed(&handles->top) * CX_WORD_HANDLES, committed = cx_a64_load_relaxed(&handles->committed);
    *from = (handles->touched * CX_WORD_HANDLES + HANDLE_PIECE - 1) / HANDLE_PIECE * HANDLE_PIECE;
    bool found = *from >= HANDLE_PIECE && *from - HANDLE_PIECE >= top;
    if (found) {
        *from -= HANDLE_PIECE;
        *to = *from + HANDLE_PIECE < committed ? *from + HANDLE_PIECE : committed;
        handles->touched = *from / CX_WORD_HANDLES;
        handles_offer_piece_locked(handles, *from, *to, 0); /* INV-HANDLE-6 */
    }
    cx_mutex_unlock(&handles->lock);
    return found;
}

bool cx_handles_trim_gct(struct cx_handles *handles, struct cx_budget *budget)
{
    uint64_t from, to;
    cx_budget_spend(budget, CX_COST_LOCK);
    if (!handles_take_piece(handles, &from, &to)) return false;
    CX_SCHEDULE_POINT("handles-piece-taken");
    cx_os_discard(&handles->table[from], (size_t)(to - from) * sizeof(void *));
    for (int i = 0; i < CX_BITMAPS - 1; i++)
        cx_os_discard(handles->bit_ranges[i].base + handle_bitmap_bytes(i, from), handle_bitmap_bytes(i, to - from));
    cx_mutex_lock(&handles->lock);
    handles_offer_piece_locked(handles, from, to, UINT64_MAX);
    cx_mutex_unlock(&handles->lock);
    cx_budget_spend(budget, CX_BITMAPS * CX_COST_CALL);
    cx_budget_spend_bytes(budget, (to - from) * (sizeof(void *) + 1));
    return true;
}

void cx_handles_give_back_gct(struct cx_handles *handles, uint64_t word, uint64_t bits)
{
    if (bits == 0) return;
    CX_CHECK("INV-HANDLE-2", (cx_a64_load_relaxed(&handles->born[word]) & bits) == 0);
    cx_a64_add_relaxed(&handles->recycled, (uint64_t)__builtin_popcountll(bits));
    cx_a64_and_release(&handles->allocated[word], ~bits);
    cx_handles_announce(handles, word);
}

void cx_handles_announce(struct cx_handles *handles, uint64_t word)
{
    /* Announce, then look at `rewind`; a claim takes `rewind`, then looks: both seq, so that one of the two sees the other. */
    cx_a64_or_seq(&handles->available[word / 64], (uint64_t)1 << (word % 64));
    uint64_t lowest = cx_a64_load_seq(&handles->rewind);
    while (word / 64 < lowest && !cx_a64_cas_seq(&handles->rewind, &lowest, word / 64)) {
    }
}
