/* See large_objects.h. */
#include "gc/heap/large_objects.h"

#include "base/report.h"
#include "gc/error.h"
#include "gc/lock_rank.h"

#include <string.h>

enum { RUN_NONE, RUN_USED, RUN_CLEAN, RUN_DIRTY, RUN_DEAD_SHORT, RUN_DEAD_LONG, RUN_TRIMMED };

enum {
    LARGE_FIRST_GROWTH = 1024, /* pages */
    LARGE_CLEAR_MAX = 64,      /* pages that are cleared by hand when taken; more are exchanged for fresh ones */
    LARGE_PIECE_LEAST = 16,    /* pages of a long run that go at once, so that a system call is worth it */
    LARGE_LOOKS = 16,          /* at runs that may be too short */
    LARGE_POISON = 0xdd
};

static bool run_is_free(const struct cx_run *run) { return run->state == RUN_CLEAN || run->state == RUN_DIRTY; }

static char *large_address(const struct cx_large *large, uint32_t page)
{
    return large->range.base + ((size_t)page << large->page_shift);
}

static uint32_t large_page_of(const struct cx_large *large, const void *inside)
{
    return (uint32_t)(((uintptr_t)inside - (uintptr_t)large->range.base) >> large->page_shift);
}

int cx_large_init(struct cx_large *large, uint64_t reserve)
{
    *large = (struct cx_large){.trim_at = 1};
    while ((size_t)1 << large->page_shift < cx_os_page_size()) large->page_shift++;
    if (reserve >> large->page_shift > UINT32_MAX - 1) reserve = (uint64_t)(UINT32_MAX - 1) << large->page_shift;
    if (!cx_range_reserve_part(&large->range, reserve, (size_t)1 << 20, 4))
        return cx_error_set(COEX_GC_ENOMEM, "no address space for large objects");
    size_t entries = (large->range.reserved >> large->page_shift) * sizeof(struct cx_run);
    if (!cx_range_reserve(&large->run_range, entries, entries)) {
        cx_range_release(&large->range);
        return cx_error_set(COEX_GC_ENOMEM, "no address space for large objects");
    }
    large->runs = (struct cx_run *)(void *)large->run_range.base;
    cx_mutex_init(&large->lock, CX_RANK_LARGE);
    return COEX_GC_OK;
}

void cx_large_fini(struct cx_large *large)
{
    cx_mutex_fini(&large->lock);
    cx_range_release(&large->run_range);
    cx_range_release(&large->range);
}

/* The list that a run of so many pages belongs to. */
static void large_class_of(uint32_t pages, unsigned *power, unsigned *step)
{
    *power = 31 - (unsigned)__builtin_clz(pages);
    *step = *power < 3 ? (pages << (3 - *power)) & 7 : (pages >> (*power - 3)) & 7;
}

static void large_link_locked(struct cx_large *large, uint32_t page, uint32_t pages, uint32_t state)
{
    struct cx_run *first = &large->runs[page];
    struct cx_run *last = &large->runs[page + pages - 1];
    unsigned power, step;
    large_class_of(pages, &power, &step);
    *last = (struct cx_run){.pages = pages, .state = state};
    *first = (struct cx_run){.pages = pages, .state = state, .next = large->list[power][step]};
    if (first->next != 0) large->runs[first->next].previous = page;
    large->list[power][step] = page;
    large->step_map[power] |= (uint8_t)(1u << step);
    large->class_map |= (uint64_t)1 << power;
}

static void large_unlink_locked(struct cx_large *large, uint32_t page)
{
    struct cx_run *run = &large->runs[page];
    unsigned power, step;
    large_class_of(run->pages, &power, &step);
    if (run->next != 0) large->runs[run->next].previous = run->previous;
    if (run->previous != 0)
        large->runs[run->previous].next = run->next;
    else
        large->list[power][step] = run->next;
    if (large->list[power][step] == 0) {
        large->step_map[power] &= (uint8_t) ~(1u << step);
        if (large->step_map[power] == 0) large->class_map &= ~((uint64_t)1 << power);
    }
}

/* Puts free pages in, merged with their neighbours. */
static void large_insert_locked(struct cx_large *large, uint32_t page, uint32_t pages, uint32_t state)
{
    const struct cx_run *before = &large->runs[page - 1];
    if (page > 1 && run_is_free(before)) {
        uint32_t more = before->pages;
        state = before->state == RUN_DIRTY ? RUN_DIRTY : state;
        large_unlink_locked(large, page - more);
        page -= more;
        pages += more;
    }
    if (page + pages < large->pages && run_is_free(&large->runs[page + pages])) {
        const struct cx_run *after = &large->runs[page + pages];
        state = after->state == RUN_DIRTY ? RUN_DIRTY : state;
        large_unlink_locked(large, page + pages);
        pages += after->pages;
    }
    if (large->trim_at > page && large->trim_at < page + pages) large->trim_at = page; /* INV-LARGE-3 */
    large_link_locked(large, page, pages, state);
}

/* A run of at least so many pages; 0: there is none. Runs of its own list may be shorter: a few of them are looked at (the first is what
 * growing has just put there). Those of all lists above are long enough. */
static uint32_t large_find_locked(const struct cx_large *large, uint32_t pages)
{
    unsigned power, step;
    large_class_of(pages, &power, &step);
    uint32_t at = large->list[power][step];
    for (int looks = 0; at != 0 && looks < LARGE_LOOKS; looks++, at = large->runs[at].next) {
        if (large->runs[at].pages >= pages) return at;
    }
    unsigned steps = step + 1 < CX_LARGE_STEPS ? large->step_map[power] & (0xffu << (step + 1)) : 0;
    if (steps == 0) {
        uint64_t classes = power + 1 < 64 ? large->class_map & (UINT64_MAX << (power + 1)) : 0;
        if (classes == 0) {
            while (at != 0 && large->runs[at].pages < pages)
                at = large->runs[at].next; /* the last resort: the rest of its own list */
            return at;
        }
        power = (unsigned)__builtin_ctzll(classes);
        steps = large->step_map[power];
    }
    return large->list[power][__builtin_ctz(steps)];
}

static bool large_commit_locked(struct cx_large *large, uint64_t pages)
{
    return cx_range_commit(&large->run_range, (size_t)pages * sizeof(struct cx_run)) &&
           cx_range_commit(&large->range, (size_t)pages << large->page_shift);
}

/* Makes at least `pages` more usable, and as much again as there is if the system gives it. False: past the reservation, or no memory. */
static bool large_grow_locked(struct cx_large *large, uint32_t pages)
{
    uint64_t most = large->range.reserved >> large->page_shift;
    uint64_t old = large->pages == 0 ? 1 : large->pages;
    uint64_t tail = large->pages != 0 && run_is_free(&large->runs[old - 1]) ? large->runs[old - 1].pages : 0;
    uint64_t least = old + pages - (tail < pages ? tail : pages); /* what is free at the end counts */
    uint64_t wanted = old * 2 > least ? old * 2 : least;
    if (wanted < LARGE_FIRST_GROWTH) wanted = LARGE_FIRST_GROWTH;
    if (wanted > most) wanted = most;
    if (wanted < least) return false;
    while (!large_commit_locked(large, wanted)) { /* less, down to what is needed */
        if (wanted == least) return false;
        wanted = old + (wanted - old) / 2 > least ? old + (wanted - old) / 2 : least;
    }
    large->pages = (uint32_t)wanted;
    large_insert_locked(large, (uint32_t)old, (uint32_t)(wanted - old), RUN_CLEAN);
    cx_a64_add_relaxed(&large->growths, 1);
    return true;
}

static uint32_t large_cut_locked(struct cx_large *large, uint32_t page, uint32_t pages)
{
    uint32_t have = large->runs[page].pages;
    uint32_t state = large->runs[page].state;
    large_unlink_locked(large, page);
    if (have > pages) large_link_locked(large, page + pages, have - pages, state);
    large->runs[page + pages - 1] = (struct cx_run){.pages = pages, .state = RUN_USED};
    large->runs[page] = (struct cx_run){.pages = pages, .state = RUN_USED};
    return state;
}

/* Pages back to the system; they read as zero from now on. False: it would not take them. */
static bool large_exchange_pages(struct cx_large *large, char *start, size_t bytes)
{
    size_t gone = cx_os_discard(start, bytes);
    cx_a64_add_relaxed(&large->returned, gone);
    return gone == bytes;
}

void *cx_large_take_locked(struct cx_large *large, uint64_t bytes, bool *dirty)
{
    uint64_t rounded = cx_large_round(large, bytes) >> large->page_shift;
    cx_mutex_assert_held(&large->lock);
    if (rounded == 0 || rounded > large->range.reserved >> large->page_shift) return NULL;
    uint32_t pages = (uint32_t)rounded;
    uint32_t page = large_find_locked(large, pages);
    if (page == 0 && large_grow_locked(large, pages)) page = large_find_locked(large, pages);
    if (page == 0) return NULL;
    *dirty = large_cut_locked(large, page, pages) == RUN_DIRTY;
    return large_address(large, page);
}

void cx_large_zero(struct cx_large *large, void *pages, uint64_t bytes)
{
    uint64_t rounded = cx_large_round(large, bytes);
    if (rounded >> large->page_shift <= LARGE_CLEAR_MAX || !large_exchange_pages(large, pages, rounded)) memset(pages, 0, rounded);
}

void *cx_large_take(struct cx_large *large, uint64_t bytes)
{
    bool dirty = false;
    cx_mutex_lock(&large->lock);
    void *pages = cx_large_take_locked(large, bytes, &dirty);
    cx_mutex_unlock(&large->lock);
    if (pages != NULL && dirty) cx_large_zero(large, pages, bytes);
    return pages;
}

uint64_t cx_large_bytes(struct cx_large *large, const void *inside)
{
    cx_mutex_lock(&large->lock);
    uint64_t bytes = (uint64_t)large->runs[large_page_of(large, inside)].pages << large->page_shift;
    cx_mutex_unlock(&large->lock);
    return bytes;
}

uint64_t cx_large_size(struct cx_large *large)
{
    cx_mutex_lock(&large->lock);
    uint64_t bytes = (uint64_t)large->pages << large->page_shift;
    cx_mutex_unlock(&large->lock);
    return bytes;
}

uint64_t cx_large_overhead(struct cx_large *large) { return (cx_large_size(large) >> large->page_shift) * sizeof(struct cx_run); }

/* ------------------------------------------------------------ giving back */

static void large_retire_locked(struct cx_large *large, uint32_t page, uint32_t pages, uint32_t state)
{
    large->runs[page + pages - 1] = (struct cx_run){.pages = pages, .state = state};
    large->runs[page] = (struct cx_run){.pages = pages, .state = state, .next = large->retired};
    large->retired = page;
}

uint64_t cx_large_retire(struct cx_large *large, void *inside)
{
    uint32_t page = large_page_of(large, inside);
    cx_mutex_lock(&large->lock);
    CX_CHECK("INV-LARGE-1", large->runs[page].state == RUN_USED);
    uint32_t pages = large->runs[page].pages;
    large_retire_locked(large, page, pages, pages <= LARGE_CLEAR_MAX ? RUN_DEAD_SHORT : RUN_DEAD_LONG);
    cx_mutex_unlock(&large->lock);
    return (uint64_t)pages << large->page_shift;
}

/* How many pages of a retired run go now: what the budget has bytes for. */
static uint32_t large_piece_of(const struct cx_large *large, const struct cx_run *run, const struct cx_budget *budget)
{
    uint64_t most = cx_budget_affords(budget, ((uint64_t)1 << large->page_shift) / CX_BYTES_PER_UNIT);
    if (most < LARGE_PIECE_LEAST) most = LARGE_PIECE_LEAST;
    return run->pages > most ? (uint32_t)most : run->pages;
}

/* Poisons the pages, or exchanges them for fresh ones. Returns their state then. */
static uint32_t large_empty_piece(struct cx_large *large, uint32_t page, uint32_t pages, bool poison, struct cx_budget *budget)
{
    size_t bytes = (size_t)pages << large->page_shift;
    cx_budget_spend(budget, CX_COST_CALL);
    cx_budget_spend_bytes(budget, bytes);
    if (!poison) return large_exchange_pages(large, large_address(large, page), bytes) ? RUN_CLEAN : RUN_DIRTY;
    memset(large_address(large, page), LARGE_POISON, bytes);
    return RUN_DIRTY;
}

/* Takes the first pages off the first retired run, and inserts them as free ones. */
static void large_insert_piece(struct cx_large *large, uint32_t page, uint32_t pages, uint32_t state)
{
    cx_mutex_lock(&large->lock);
    struct cx_run run = large->runs[page];
    large->retired = run.next;
    if (run.pages > pages) large_retire_locked(large, page + pages, run.pages - pages, run.state); /* INV-LARGE-2 */
    large_insert_locked(large, page, pages, state);
    cx_mutex_unlock(&large->lock);
}

/* The list is the collector's, which alone calls this: the run can be read without the lock. */
uint64_t cx_large_give_piece(struct cx_large *large, bool poison, struct cx_budget *budget)
{
    uint32_t page = large->retired;
    const struct cx_run run = large->runs[page];
    bool dead = run.state != RUN_TRIMMED, as_it_is = run.state == RUN_DEAD_SHORT && !poison;
    uint32_t pages = as_it_is ? run.pages : large_piece_of(large, &run, budget);
    uint32_t state = as_it_is ? RUN_DIRTY : large_empty_piece(large, page, pages, poison && dead, budget);
    large_insert_piece(large, page, pages, state);
    cx_budget_spend(budget, CX_COST_LOCK);
    return dead ? (uint64_t)pages << large->page_shift : 0;
}

/* --------------------------------------------------------------- trimming */

/* Returns true if a dirty run was retired, or if runs are left that were not looked at. */
static bool large_trim_locked(struct cx_large *large, struct cx_budget *budget)
{
    while (large->trim_at < large->pages && cx_budget_is_left(budget)) {
        uint32_t page = large->trim_at;
        const struct cx_run run = large->runs[page];
        large->trim_at += run.pages;
        cx_budget_spend(budget, CX_COST_ENTRY);
        if (run.state != RUN_DIRTY) continue;
        large_unlink_locked(large, page);
        large_retire_locked(large, page, run.pages, RUN_TRIMMED);
        return true;
    }
    if (large->trim_at < large->pages) return true;
    large->trim_at = 1;
    return false;
}

bool cx_large_trim(struct cx_large *large, struct cx_budget *budget)
{
    cx_mutex_lock(&large->lock);
    bool more = large_trim_locked(large, budget);
    cx_mutex_unlock(&large->lock);
    cx_budget_spend(budget, CX_COST_LOCK);
    return more;
}

uint64_t cx_large_each_free(struct cx_large *large, void (*see)(void *context, uint64_t bytes), void *context)
{
    cx_mutex_lock(&large->lock);
    for (unsigned power = 0; power < CX_LARGE_CLASSES; power++) {
        for (unsigned step = 0; step < CX_LARGE_STEPS; step++) {
            for (uint32_t at = large->list[power][step]; at != 0; at = large->runs[at].next)
                see(context, (uint64_t)large->runs[at].pages << large->page_shift);
        }
    }
    uint64_t bytes = (uint64_t)large->pages << large->page_shift;
    cx_mutex_unlock(&large->lock);
    return bytes;
}

/* Where cx_large_measure keeps what it finds. */
struct large_measure {
    uint64_t longest, runs;
};

static void large_measure_run(void *context, uint64_t bytes)
{
    struct large_measure *measure = context;
    measure->longest = bytes > measure->longest ? bytes : measure->longest;
    measure->runs++;
}

void cx_large_measure(struct cx_large *large, uint64_t *longest, uint64_t *runs)
{
    struct large_measure measure = {0};
    cx_large_each_free(large, large_measure_run, &measure);
    *longest = measure.longest;
    *runs = measure.runs;
}
