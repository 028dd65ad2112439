/* See tlab.h. */
#include "gc/heap/tlab.h"

#include "base/report.h"

void cx_tlab_init(struct cx_tlab *tlab, struct coex_gc_thread *words, bool slow_always)
{
    *tlab = (struct cx_tlab){.block = CX_NO_BLOCK, .overflow = CX_NO_BLOCK, .slow_always = slow_always};
    words->cursor = 0;
    words->end = 0;
}

uint64_t cx_tlab_bytes(const struct cx_tlab *tlab, const struct coex_gc_thread *words)
{
    return tlab->bytes + (words->cursor - tlab->start);
}

/* Takes `bytes` between *cursor and end, so that what follows the prefix is aligned. NULL: it does not fit. */
static char *tlab_bump(uint64_t *cursor, uint64_t end, uint64_t bytes, uint64_t prefix, uint64_t align)
{
    uint64_t start = ((*cursor + prefix + align - 1) & ~(align - 1)) - prefix;
    if (*cursor == 0 || start + bytes > end) return NULL;
    *cursor = start + bytes;
    return (char *)start;
}

/* What the fast path is to take for the end of the hole. */
static uint64_t tlab_end_to_show(const struct cx_tlab *tlab)
{
    if (tlab->slow_always || tlab->watched) return 0;
    if (CX_LIKELY(tlab->sample_every == 0)) return tlab->end;
    uint64_t left = tlab->sample_at > tlab->bytes ? tlab->sample_at - tlab->bytes : 0;
    return left < tlab->end - tlab->start ? tlab->start + left : tlab->end;
}

static void tlab_set_hole(struct cx_tlab *tlab, struct coex_gc_thread *words, char *start, char *end)
{
    tlab->bytes += words->cursor - tlab->start;
    tlab->start = (uint64_t)start;
    tlab->end = (uint64_t)end;
    words->cursor = (uint64_t)start;
    words->end = tlab_end_to_show(tlab);
}

/* So many bytes more; told to all when as many have come together as this thread takes blocks at a time. */
static void tlab_note_taken(struct cx_tlab *tlab, struct cx_heap *heap, uint64_t bytes)
{
    tlab->taken += bytes;
    tlab->unreported += bytes;
    if (tlab->unreported >= (uint64_t)tlab->appetite * CX_BLOCK_BYTES) {
        cx_a64_add_relaxed(&heap->taken, tlab->unreported);
        tlab->unreported = 0;
    }
}

/* A block: one with holes if there are such, else an empty one, of the spares first. */
static uint32_t tlab_take_block(struct cx_tlab *tlab, struct cx_heap *heap, bool holes)
{
    if (tlab->spares > 0) return tlab->spare[--tlab->spares];
    tlab->spares = tlab->appetite;
    uint32_t block = cx_heap_take_block(heap, holes, tlab->spare, &tlab->spares);
    if (block == CX_NO_BLOCK) return CX_NO_BLOCK;
    tlab->granted++;
    if (tlab->appetite < CX_SPARE_BLOCKS) tlab->appetite = tlab->appetite == 0 ? 1 : tlab->appetite * 2;
    return block;
}

/* The next hole: of this block, or of another one. False: full. */
static bool tlab_next_hole(struct cx_tlab *tlab, struct coex_gc_thread *words, struct cx_heap *heap, bool black)
{
    char *start, *end;
    for (;;) {
        if (tlab->block != CX_NO_BLOCK) {
            if (cx_heap_take_hole(heap, tlab->block, black, &start, &end)) {
                tlab_set_hole(tlab, words, start, end);
                tlab_note_taken(tlab, heap, (uint64_t)(end - start));
                return true;
            }
            tlab_set_hole(tlab, words, NULL, NULL);
            cx_heap_give_up_block(heap, tlab->block);
        }
        tlab->block = tlab_take_block(tlab, heap, true);
        if (tlab->block == CX_NO_BLOCK) return false;
    }
}

enum { TLAB_LONG_RUN = CX_BLOCK_LINES / 2 }; /* lines: half a block for one lock */

/* Lines that an object may need, wherever in its first line it begins. */
static unsigned tlab_lines_for(uint64_t bytes, uint64_t align)
{
    return (unsigned)((bytes + align - 8 + CX_LINE_BYTES - 1) / CX_LINE_BYTES);
}

/* A run of a block that nobody owns. */
static bool tlab_take_listed_run(struct cx_tlab *tlab, struct cx_heap *heap, unsigned lines, bool black, char **start, char **end)
{
    bool found = cx_heap_take_listed_run(heap, lines, black, start, end);
    tlab->granted += found;
    return found;
}

/* A run that is long enough: of the thread's own block, or of one that nobody owns. */
static bool tlab_take_run(struct cx_tlab *tlab, struct cx_heap *heap, unsigned lines, bool black, char **start, char **end)
{
    if (tlab->block != CX_NO_BLOCK && cx_heap_take_run(heap, tlab->block, lines, black, start, end)) return true;
    return tlab_take_listed_run(tlab, heap, lines, black, start, end);
}

/* New space for objects larger than a line: a long run of a block that nobody owns, else an empty block,
 * else any run that fits. No hole is taken that does not fit. While a sweep runs, blocks are swept until
 * there is one of them.
 *
 * Long runs come first because a thread gives up its overflow block whenever the collector answers
 * ROOTS for it (INV-THREAD-6). With an empty block each time, a thread that often waits in native mode
 * would spread a few objects over all blocks. */
static bool tlab_renew_overflow(struct cx_tlab *tlab, struct cx_heap *heap, unsigned lines, bool black)
{
    struct cx_budget unlimited = cx_budget_of(0);
    char *start = NULL, *end = NULL;
    uint32_t fresh = CX_NO_BLOCK;
    bool found = lines <= TLAB_LONG_RUN && tlab_take_listed_run(tlab, heap, TLAB_LONG_RUN, black, &start, &end);
    while (!found && (fresh = tlab_take_block(tlab, heap, false)) == CX_NO_BLOCK &&
           !tlab_take_run(tlab, heap, lines, black, &start, &end)) {
        if (!cx_heap_sweep_some(heap, &unlimited)) return false;
    }
    if (fresh != CX_NO_BLOCK) cx_heap_take_hole(heap, fresh, black, &start, &end);
    if (tlab->overflow != CX_NO_BLOCK) cx_heap_give_up_block(heap, tlab->overflow);
    tlab->overflow = fresh;
    tlab->overflow_cursor = (uint64_t)start;
    tlab->overflow_end = (uint64_t)end;
    tlab_note_taken(tlab, heap, (uint64_t)(end - start));
    return true;
}

static char *tlab_place_in_overflow(struct cx_tlab *tlab, struct cx_heap *heap, uint64_t bytes, uint64_t prefix, uint64_t align,
                                    bool black)
{
    char *place = tlab_bump(&tlab->overflow_cursor, tlab->overflow_end, bytes, prefix, align);
    if (place == NULL && tlab_renew_overflow(tlab, heap, tlab_lines_for(bytes, align), black))
        place = tlab_bump(&tlab->overflow_cursor, tlab->overflow_end, bytes, prefix, align);
    if (place != NULL) tlab->bytes += bytes;
    return place;
}

void cx_tlab_charge(struct cx_tlab *tlab, struct coex_gc_thread *words, uint64_t bytes)
{
    tlab->taken += bytes;
    words->end = 0; /* until the next cx_tlab_place */
}

char *cx_tlab_place(struct cx_tlab *tlab, struct coex_gc_thread *words, struct cx_heap *heap, uint64_t bytes, uint64_t prefix,
                    uint64_t align, bool black)
{
    words->end = tlab_end_to_show(tlab);
    char *place = tlab_bump(&words->cursor, tlab->end, bytes, prefix, align);
    bool awkward = bytes + align - 8 > CX_LINE_BYTES; /* it may not fit into a hole of one line */
    if (place == NULL && awkward && tlab->end - words->cursor >= CX_LINE_BYTES)
        return tlab_place_in_overflow(tlab, heap, bytes, prefix, align, black);
    if (place == NULL && tlab_next_hole(tlab, words, heap, black)) place = tlab_bump(&words->cursor, tlab->end, bytes, prefix, align);
    if (place == NULL && awkward) place = tlab_place_in_overflow(tlab, heap, bytes, prefix, align, black);
    return place;
}

void cx_tlab_watch(struct cx_tlab *tlab, struct coex_gc_thread *words, bool watched)
{
    tlab->watched = watched;
    words->end = tlab_end_to_show(tlab);
}

/* Half to three halves of the interval: a period of the program's own does not meet the same place again and again. */
static uint64_t tlab_sample_gap(struct cx_tlab *tlab, uint64_t interval)
{
    tlab->sample_random = tlab->sample_random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return interval / 2 + (tlab->sample_random >> 33) % interval + 1;
}

uint64_t cx_tlab_sample(struct cx_tlab *tlab, struct coex_gc_thread *words, uint64_t interval)
{
    uint64_t bytes = cx_tlab_bytes(tlab, words), points = 0;
    if (tlab->sample_every != interval) {
        tlab->sample_every = interval;
        if (tlab->sample_random == 0) tlab->sample_random = cx_os_arbitrary();
        tlab->sample_at = bytes + (interval != 0 ? tlab_sample_gap(tlab, interval) : 0);
    } else if (interval != 0 && bytes >= tlab->sample_at) {
        points = (bytes - tlab->sample_at) / interval; /* a large object passes many: those are counted, not drawn */
        tlab->sample_at += points * interval;
        for (; tlab->sample_at <= bytes; points++) tlab->sample_at += tlab_sample_gap(tlab, interval);
    }
    words->end = tlab_end_to_show(tlab);
    return points;
}

/* The line that the cursor is in is held too: objects that come to lie on it are born. */
void cx_tlab_hold(struct cx_tlab *tlab, const struct coex_gc_thread *words, struct cx_heap *heap)
{
    cx_heap_hold(heap, (const char *)words->cursor, (const char *)tlab->end);
    cx_heap_hold(heap, (const char *)tlab->overflow_cursor, (const char *)tlab->overflow_end);
}

void cx_tlab_give_up(struct cx_tlab *tlab, struct coex_gc_thread *words, struct cx_heap *heap)
{
    tlab_set_hole(tlab, words, NULL, NULL);
    cx_a64_add_relaxed(&heap->taken, tlab->unreported);
    tlab->unreported = 0;
    if (tlab->block != CX_NO_BLOCK) cx_heap_give_up_block(heap, tlab->block);
    if (tlab->overflow != CX_NO_BLOCK) cx_heap_give_up_block(heap, tlab->overflow);
    tlab->block = tlab->overflow = CX_NO_BLOCK;
    while (tlab->spares > 0) cx_heap_return_block(heap, tlab->spare[--tlab->spares]);
    tlab->overflow_cursor = tlab->overflow_end = 0;
}

void cx_tlab_fork_child(const struct cx_tlab *tlab, struct cx_heap *heap)
{
    cx_heap_fork_keep(heap, tlab->block);
    cx_heap_fork_keep(heap, tlab->overflow);
    for (uint32_t i = 0; i < tlab->spares; i++) cx_heap_fork_keep(heap, tlab->spare[i]);
}
