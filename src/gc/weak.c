/* See weak.h. Entered by mutators (new, get), markers (ephemerons), and the collector. */
#include "gc/weak.h"

#include "base/point.h"
#include "gc/error.h"
#include "gc/table.h"
#include "gc/vector.h"

#include <string.h>

enum { WEAK_PIECE = 256 }; /* cells looked at in one critical section */
enum { WEAK_OPEN, WEAK_MARKING, WEAK_CLEARED, WEAK_STATE_MASK = 3, WEAK_ONE = 4 };

struct cx_weak {
    cx_mutex lock;           /* CX_RANK_WEAK */
    struct cx_vector cells;  /* handles of weak references and ephemerons; under the lock */
    uint64_t at, kept;       /* while a cycle forgets dead ones: [0, kept) stays, [at, count) is to be looked at */
    struct cx_table waiting; /* key << 1 -> index of the first entry in `chain`, + 1; under the lock */
    struct cx_vector chain;  /* pairs: ephemeron, next index + 1; under the lock */
    cx_a64 word;             /* w: n << 2 | state. W: cas, collector stores. All seq */
    uint32_t weak_type, ephemeron_type;
};

static struct cx_weak weak_state;

/* Decided when marking has ended; until then "not yet". */
static bool weak_is_alive(coex_handle handle)
{
    return cx_handle_is_marked(&cx_world.handles, handle) || cx_handle_is_born(&cx_world.handles, handle);
}

/* ------------------------------------------------------------- ephemerons */

/* Waits for its key. False: no memory for it. */
static bool weak_wait_for_key(coex_handle ephemeron, coex_handle key)
{
    struct cx_weak *weak = &weak_state;
    cx_mutex_lock(&weak->lock);
    uint64_t *first = cx_table_put(&weak->waiting, cx_index_of(key) << 1);
    bool good = first != NULL && cx_vector_push(&weak->chain, ephemeron);
    if (good && !cx_vector_push(&weak->chain, *first)) {
        weak->chain.count--;
        good = false;
    }
    if (good) *first = weak->chain.count - 1; /* its ephemeron's index + 1 */
    cx_mutex_unlock(&weak->lock);
    if (good) {
        uint64_t index = cx_index_of(key);
        cx_a32_store_seq(&cx_world.watching, 1);
        cx_a64_or_seq(&cx_world.handles.watched[index / 64], (uint64_t)1 << (index % 64));
    }
    return good;
}

void cx_weak_key_marked(struct cx_marker *marker, coex_handle key)
{
    struct cx_weak *weak = &weak_state;
    cx_mutex_lock(&weak->lock);
    uint64_t *first = cx_table_get(&weak->waiting, cx_index_of(key) << 1);
    uint64_t at = first != NULL ? *first : 0;
    if (first != NULL) *first = 0;
    while (at != 0) {
        coex_handle ephemeron = *cx_vector_at(&weak->chain, at - 1);
        at = *cx_vector_at(&weak->chain, at);
        const uint64_t *payload = cx_handle_payload(&cx_world.handles, ephemeron);
        coex_handle value = cx_a64_load_acquire(cx_a64_at(&payload[1]));
        if (cx_is_reference(value)) cx_mark_push(marker, value);
    }
    cx_mutex_unlock(&weak->lock);
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
        CX_POINT("ephemeron-before-wait");
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
    if (!cx_vector_init(&weak->cells, most) || !cx_vector_init(&weak->chain, 2 * most) || !cx_table_init(&weak->waiting)) {
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
    cx_table_fini(&weak->waiting);
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
        CX_POINT("weak-between-word-and-cell");
        coex_handle target = cx_a64_load_seq(cell);
        CX_POINT("weak-between-cell-and-mark");
        uint64_t state = w & WEAK_STATE_MASK;
        if (!self->black || !cx_is_reference(target) || state == WEAK_OPEN || cx_handle_is_born(&cx_world.handles, target))
            return target;
        bool marked = cx_bit_test_seq(cx_world.handles.marked, cx_index_of(target));
        if (marked || state == WEAK_CLEARED) { /* INV-WEAK-5 */
            if ((cx_a64_load_seq(&weak_state.word) & WEAK_STATE_MASK) == state) return marked ? target : 0;
        } else {
            CX_POINT("weak-before-swap");
            if (!cx_a64_cas_seq(&weak_state.word, &w, w + WEAK_ONE)) continue;
            CX_POINT("weak-between-swap-and-shade");
            cx_shade_self(self, target); /* after the swap: INV-WEAK-1 */
            return target;
        }
    }
}

/* ---------------------------------------------------------- the collector */

void cx_weak_begin_gct(void)
{
    struct cx_weak *weak = &weak_state;
    cx_mutex_lock(&weak->lock);
    weak->chain.count = 0;
    cx_table_clear(&weak->waiting);
    cx_mutex_unlock(&weak->lock);
    if (cx_a32_exchange_acq_rel(&cx_world.watching, 0) != 0) {
        uint64_t words = cx_a64_load_acquire(&cx_world.handles.committed) / 64;
        for (uint64_t i = 0; i < words; i++) cx_a64_store_relaxed(&cx_world.handles.watched[i], 0);
    }
    cx_a64_store_seq(&weak->word, WEAK_MARKING);
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

bool cx_weak_clear_gct(uint64_t *at)
{
    struct cx_weak *weak = &weak_state;
    cx_mutex_lock(&weak->lock);
    uint64_t end = *at + WEAK_PIECE < weak->cells.count ? *at + WEAK_PIECE : weak->cells.count;
    for (; *at < end; ++*at) weak_clear_one(*cx_vector_at(&weak->cells, *at));
    bool more = *at < weak->cells.count;
    cx_mutex_unlock(&weak->lock);
    if (more) return true;
    CX_POINT("weak-cleared");
    cx_a64_store_seq(&weak->word, WEAK_OPEN);
    return false;
}

/* What is kept moves down; what mutators add meanwhile comes at the end. */
bool cx_weak_forget_gct(void)
{
    struct cx_weak *weak = &weak_state;
    CX_POINT("weak-before-forgetting");
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
