/* See weak_references.h. Entered by mutators (new, get), markers (ephemerons), and the collector. */
#include "gc/marking/weak_references.h"

#include "base/schedule_point.h"
#include "gc/error.h"
#include "base/vector.h"
#include "gc/lock_rank.h"

#include <string.h>

enum {
    WEAK_PIECE = 128,          /* cells looked at in one critical section */
    WEAK_KEY_PIECE = 64,       /* ephemerons of one key taken in one */
    WEAK_CHAIN_ENTRY = 3,      /* words */
    WEAK_FIRST_LEAST = 1 << 19 /* bytes: where address space is short, later keys keep their values alive */
};
enum { WEAK_OPEN, WEAK_MARKING, WEAK_CLEARED, WEAK_STATE_MASK = 3, WEAK_ONE = 4 };

struct cx_weak {
    cx_mutex lock;          /* CX_RANK_WEAK */
    struct cx_vector cells; /* handles of weak references and ephemerons; under the lock */
    uint64_t at, kept;      /* while a cycle forgets dead ones: [0, kept) stays, [at, count) is to be looked at */
    cx_range first;         /* by the index of a key: number of its first entry in `chain`, + 1; 0: none. Under the lock */
    struct cx_vector chain; /* entries: ephemeron, index of its key, number of the next entry + 1; under the lock */
    cx_a64 word;            /* w: n << 2 | state. W: cas, collector stores. All seq */
    uint32_t weak_type, ephemeron_type;
};

static struct cx_weak weak_state;

/* Decided when marking has ended; until then "not yet". */
static bool weak_is_alive(coex_handle handle)
{
    return cx_handle_is_marked(&cx_world.handles, handle) || cx_handle_is_born(&cx_world.handles, handle);
}

/* ------------------------------------------------------------- ephemerons */

/* Where the entries of a key begin; NULL: no memory. Pages of keys that nothing waits for are never touched. */
static uint64_t *weak_first_locked(uint64_t index)
{
    cx_range *first = &weak_state.first;
    size_t need = (size_t)(index + 1) * sizeof(uint64_t), ahead = first->committed * 2;
    if (need > first->committed && !cx_range_commit(first, ahead > need && ahead <= first->reserved ? ahead : need)) return NULL;
    return &((uint64_t *)(void *)first->base)[index];
}

static bool weak_chain_locked(coex_handle ephemeron, uint64_t index)
{
    struct cx_vector *chain = &weak_state.chain;
    uint64_t *first = weak_first_locked(index), count = chain->count;
    if (first == NULL || !cx_vector_push(chain, ephemeron) || !cx_vector_push(chain, index) || !cx_vector_push(chain, *first)) {
        chain->count = count;
        return false;
    }
    *first = chain->count / WEAK_CHAIN_ENTRY;
    return true;
}

/* Waits for its key. Returns false if there is no memory for it. */
static bool weak_wait_for_key(coex_handle ephemeron, coex_handle key)
{
    uint64_t index = cx_index_of(key);
    cx_mutex_lock(&weak_state.lock);
    bool good = weak_chain_locked(ephemeron, index);
    cx_mutex_unlock(&weak_state.lock);
    if (good) {
        cx_a32_store_seq(&cx_world.watching, 1);
        cx_a64_or_seq(&cx_world.handles.watched[index / 64], (uint64_t)1 << (index % 64));
    }
    return good;
}

/* Takes ephemerons that wait for a key out of the table, WEAK_KEY_PIECE at most. *more: others are left. */
static uint64_t weak_take_waiting(uint64_t index, coex_handle *ephemeron, bool *more)
{
    uint64_t count = 0;
    cx_mutex_lock(&weak_state.lock);
    uint64_t *first = weak_first_locked(index), at = first != NULL ? *first : 0;
    for (; at != 0 && count < WEAK_KEY_PIECE; count++) {
        const uint64_t *entry = cx_vector_at(&weak_state.chain, (at - 1) * WEAK_CHAIN_ENTRY);
        ephemeron[count] = entry[0];
        at = entry[2];
    }
    if (first != NULL) *first = at;
    *more = at != 0;
    cx_mutex_unlock(&weak_state.lock);
    return count;
}

void cx_weak_key_marked(struct cx_marker *marker, coex_handle key)
{
    coex_handle ephemeron[WEAK_KEY_PIECE];
    bool more, queued;
    do {
        uint64_t count = weak_take_waiting(cx_index_of(key), ephemeron, &more);
        queued = more && cx_mark_push_rest(marker, key, CX_REST_EPHEMERONS);
        CX_SCHEDULE_POINT("ephemerons-taken");
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t *payload = cx_handle_payload(&cx_world.handles, ephemeron[i]);
            coex_handle value = cx_a64_load_acquire(cx_a64_at(&payload[1]));
            if (cx_is_reference(value)) cx_mark_push(marker, value);
        }
        uint64_t units = CX_COST_LOCK + count * CX_COST_ENTRY;
        cx_mark_spend(marker, units);
        if (more && !queued) marker->forgiven += units; /* no memory to remember the rest: all of it now */
    } while (more && !queued);
}

/* The trace function of ephemerons: the value, if the key is alive; else it waits. */
static void weak_trace_ephemeron(const void *object, uint64_t size, coex_gc_visitor *visitor)
{
    (void)size;
    const coex_handle *payload = object;
    struct cx_marker *marker = cx_visitor_marker(visitor);
    coex_handle key = cx_a64_load_acquire(cx_a64_at(&payload[0]));
    if (key == 0) return;
    if (coex_is_immediate(key) || weak_is_alive(key)) {
        coex_gc_visit(visitor, &payload[1]);
    } else if (marker != NULL) {
        CX_SCHEDULE_POINT("ephemeron-before-wait");
        cx_mark_spend(marker, CX_COST_LOCK);
        if (!weak_wait_for_key(cx_header_handle(payload[-1]), key))
            coex_gc_visit(visitor, &payload[1]); /* no memory to wait: alive for this cycle */
        else if (cx_bit_test_seq(cx_world.handles.marked, cx_index_of(key)))
            cx_weak_key_marked(marker, key); /* marked meanwhile: INV-WEAK-4 */
    }
}

/* --------------------------------------------------------- new and get */

int cx_weak_init(void)
{
    struct cx_weak *weak = &weak_state;
    *weak = (struct cx_weak){0};
    uint64_t most = cx_world.handles.max;
    if (!cx_vector_init(&weak->cells, most) || !cx_vector_init(&weak->chain, WEAK_CHAIN_ENTRY * most) ||
        !cx_range_reserve(&weak->first, (size_t)most * sizeof(uint64_t), WEAK_FIRST_LEAST)) {
        cx_vector_fini(&weak->chain);
        cx_vector_fini(&weak->cells);
        return cx_error_set(COEX_GC_ENOMEM, "no address space for weak references");
    }
    cx_mutex_init(&weak->lock, CX_RANK_WEAK);
    /* MUTABLE: the collector clears their cells. */
    coex_gc_type reference = {.name = "coex weak reference", .size = 8, .flags = COEX_GC_MUTABLE};
    coex_gc_type ephemeron = {.name = "coex ephemeron", .size = 16, .flags = COEX_GC_MUTABLE, .trace = weak_trace_ephemeron};
    weak->weak_type = cx_types_register(&cx_world.types, &reference);
    weak->ephemeron_type = cx_types_register(&cx_world.types, &ephemeron);
    if (weak->weak_type != 0 && weak->ephemeron_type != 0) {
        /* Only new makes them: one made by hand would be in no list, and nobody would ever clear it. */
        cx_a64_store_release(cx_a64_at(&cx_world.types.shapes[weak->weak_type]), COEX_GC_SHAPE_SLOW);
        cx_a64_store_release(cx_a64_at(&cx_world.types.shapes[weak->ephemeron_type]), COEX_GC_SHAPE_SLOW);
        return COEX_GC_OK;
    }
    cx_weak_fini();
    return cx_error_code();
}

void cx_weak_fini(void)
{
    struct cx_weak *weak = &weak_state;
    cx_mutex_fini(&weak->lock);
    cx_range_release(&weak->first);
    cx_vector_fini(&weak->chain);
    cx_vector_fini(&weak->cells);
}

uint32_t cx_weak_type(void) { return weak_state.weak_type; }
uint32_t cx_ephemeron_type(void) { return weak_state.ephemeron_type; }

bool cx_weak_is_type(uint32_t type) { return type == weak_state.weak_type || type == weak_state.ephemeron_type; }

bool cx_weak_add(coex_handle fresh)
{
    struct cx_weak *weak = &weak_state;
    cx_mutex_lock(&weak->lock);
    bool added = cx_vector_push(&weak->cells, fresh);
    cx_mutex_unlock(&weak->lock);
    return added;
}

coex_handle cx_weak_get_self(struct cx_thread *self, cx_a64 *cell)
{
    for (;;) {
        uint64_t w = cx_a64_load_seq(&weak_state.word);
        CX_SCHEDULE_POINT("weak-between-word-and-cell");
        coex_handle target = cx_a64_load_seq(cell);
        CX_SCHEDULE_POINT("weak-between-cell-and-mark");
        uint64_t state = w & WEAK_STATE_MASK;
        if (!self->black || !cx_is_reference(target) || state == WEAK_OPEN || cx_handle_is_born(&cx_world.handles, target))
            return target;
        bool marked = cx_bit_test_seq(cx_world.handles.marked, cx_index_of(target));
        if (marked || state == WEAK_CLEARED) { /* INV-WEAK-5 */
            if ((cx_a64_load_seq(&weak_state.word) & WEAK_STATE_MASK) == state) return marked ? target : 0;
        } else {
            CX_SCHEDULE_POINT("weak-before-swap");
            if (!cx_a64_cas_seq(&weak_state.word, &w, w + WEAK_ONE)) continue;
            CX_SCHEDULE_POINT("weak-between-swap-and-shade");
            cx_shade_self(self, target); /* after the swap: INV-WEAK-1 */
            return target;
        }
    }
}

/* ---------------------------------------------------------- the collector */

/* Forgets the last entries of the chain, WEAK_PIECE at most: their keys are not watched any more. Nobody marks meanwhile. */
static void weak_forget_waiting_locked(struct cx_vector *chain)
{
    for (int i = 0; i < WEAK_PIECE && chain->count != 0; i++) {
        chain->count -= WEAK_CHAIN_ENTRY;
        uint64_t index = *cx_vector_at(chain, chain->count + 1);
        *weak_first_locked(index) = 0;
        cx_a64_store_relaxed(&cx_world.handles.watched[index / 64], 0);
    }
}

bool cx_weak_begin_gct(struct cx_budget *budget)
{
    struct cx_vector *chain = &weak_state.chain;
    while (chain->count != 0) { /* read without the lock: only markers add */
        if (!cx_budget_is_left(budget)) return false;
        cx_mutex_lock(&weak_state.lock);
        weak_forget_waiting_locked(chain);
        cx_mutex_unlock(&weak_state.lock);
        cx_budget_spend(budget, CX_COST_LOCK + WEAK_PIECE * CX_COST_ENTRY);
    }
    cx_a32_store_seq(&cx_world.watching, 0);
    cx_a64_store_seq(&weak_state.word, WEAK_MARKING);
    return true;
}

uint64_t cx_weak_mark_count_gct(void) { return cx_a64_load_seq(&weak_state.word); }

bool cx_weak_decide_gct(uint64_t n) { return cx_a64_cas_seq(&weak_state.word, &n, WEAK_CLEARED); }

/* Clears the cells of one weak reference or ephemeron whose target is dead. */
static void weak_clear_one(coex_handle handle)
{
    uint64_t *payload = cx_handle_payload(&cx_world.handles, handle);
    uint64_t target = cx_a64_load_seq(cx_a64_at(&payload[0]));
    if (!cx_is_reference(target) || weak_is_alive(target)) return;
    if (cx_header_type(payload[-1]) == weak_state.ephemeron_type) cx_a64_store_seq(cx_a64_at(&payload[1]), 0);
    cx_a64_cas_seq(cx_a64_at(&payload[0]), &target, 0); /* INV-WEAK-3 */
}

/* Returns false if those were the last cells. */
static bool weak_clear_piece(uint64_t *at)
{
    struct cx_weak *weak = &weak_state;
    cx_mutex_lock(&weak->lock);
    uint64_t end = *at + WEAK_PIECE < weak->cells.count ? *at + WEAK_PIECE : weak->cells.count;
    for (; *at < end; ++*at) weak_clear_one(*cx_vector_at(&weak->cells, *at));
    bool more = *at < weak->cells.count;
    cx_mutex_unlock(&weak->lock);
    return more;
}

bool cx_weak_clear_gct(uint64_t *at, struct cx_budget *budget)
{
    while (cx_budget_is_left(budget)) {
        bool more = weak_clear_piece(at);
        cx_budget_spend(budget, CX_COST_LOCK + WEAK_PIECE * CX_COST_ENTRY);
        if (more) continue;
        CX_SCHEDULE_POINT("weak-cleared");
        cx_a64_store_seq(&weak_state.word, WEAK_OPEN);
        return false;
    }
    return true;
}

/* What is kept moves down; what mutators add meanwhile comes at the end. Returns false if those were the last cells. */
static bool weak_forget_piece(void)
{
    struct cx_weak *weak = &weak_state;
    CX_SCHEDULE_POINT("weak-before-forgetting");
    cx_mutex_lock(&weak->lock);
    uint64_t end = weak->at + WEAK_PIECE < weak->cells.count ? weak->at + WEAK_PIECE : weak->cells.count;
    for (; weak->at < end; weak->at++) {
        uint64_t handle = *cx_vector_at(&weak->cells, weak->at);
        if (weak_is_alive(handle)) *cx_vector_at(&weak->cells, weak->kept++) = handle;
    }
    bool more = weak->at < weak->cells.count;
    if (!more) {
        weak->cells.count = weak->kept;
        weak->at = weak->kept = 0;
    }
    cx_mutex_unlock(&weak->lock);
    return more;
}

bool cx_weak_forget_gct(struct cx_budget *budget)
{
    bool more = true;
    while (more && cx_budget_is_left(budget)) {
        more = weak_forget_piece();
        cx_budget_spend(budget, CX_COST_LOCK + WEAK_PIECE * 2 * CX_COST_WORD);
    }
    return more;
}

cx_mutex *cx_weak_lock(void) { return &weak_state.lock; }

/* The cycle that was deciding is forgotten: cells that it has cleared are of dead objects, the others it has not looked at. */
void cx_weak_fork_child(void)
{
    struct cx_weak *weak = &weak_state;
    uint64_t rest = weak->cells.count - weak->at;
    memmove(cx_vector_at(&weak->cells, weak->kept), cx_vector_at(&weak->cells, weak->at), (size_t)rest * sizeof(uint64_t));
    weak->cells.count = weak->kept + rest;
    weak->at = weak->kept = 0;
    cx_a64_store_seq(&weak->word, WEAK_OPEN);
}
