/* See roots.h. */
#include "gc/roots.h"

#include "base/point.h"
#include "gc/error.h"

#include <string.h>

enum { ROOTS_FIRST = 64, ROOTS_PIECE = 256 };

/* Open addressing; a removed entry leaves ROOTS_GONE behind. */
struct cx_roots {
    cx_mutex lock;
    uintptr_t *cells;
    uint64_t size;    /* a power of two */
    uint64_t used;    /* live and gone */
    uint64_t live;
    uint64_t version; /* counts rebuilds: a reader that sees it change begins again */
};

#define ROOTS_GONE ((uintptr_t)1)

static struct cx_roots roots_state;

int cx_roots_init(void)
{
    struct cx_roots *roots = &roots_state;
    *roots = (struct cx_roots){.size = ROOTS_FIRST};
    roots->cells = cx_os_allocate(ROOTS_FIRST * sizeof *roots->cells);
    if (roots->cells == NULL)
        return cx_error_set(COEX_GC_ENOMEM, "no memory for global roots");
    cx_mutex_init(&roots->lock, CX_RANK_ROOTS);
    cx_world.roots = roots;
    return COEX_GC_OK;
}

void cx_roots_fini(void)
{
    cx_mutex_fini(&cx_world.roots->lock);
    cx_os_free(cx_world.roots->cells);
    cx_world.roots = NULL;
}

/* Where `cell` is, or the place for it. There is always an empty entry. */
static uint64_t roots_find(const uintptr_t *cells, uint64_t size, uintptr_t cell)
{
    uint64_t at = (uint64_t)(cell >> 3) * 0x9e3779b97f4a7c15u >> 20 & (size - 1);
    while (cells[at] != 0 && cells[at] != cell)
        at = (at + 1) & (size - 1);
    return at;
}

static bool roots_rebuild_locked(struct cx_roots *roots)
{
    uint64_t size = roots->size;
    while (roots->live * 4 >= size)
        size *= 2;
    uintptr_t *cells = cx_os_allocate((size_t)size * sizeof *cells);
    if (cells == NULL)
        return false;
    for (uint64_t i = 0; i < roots->size; i++) {
        if (roots->cells[i] > ROOTS_GONE)
            cells[roots_find(cells, size, roots->cells[i])] = roots->cells[i];
    }
    cx_os_free(roots->cells);
    roots->cells = cells;
    roots->size = size;
    roots->used = roots->live;
    roots->version++;
    return true;
}

/* What the cell holds counts as stored there: a thread that is not scanned yet may have allocated it white. */
int cx_roots_add_self(struct cx_thread *self, coex_handle *where)
{
    struct cx_roots *roots = cx_world.roots;
    int code = COEX_GC_OK;
    cx_mutex_lock(&roots->lock);
    if (roots->used * 2 >= roots->size && !roots_rebuild_locked(roots))
        code = cx_error_set(COEX_GC_ENOMEM, "no memory for another global root");
    if (code == COEX_GC_OK) {
        uint64_t at = roots_find(roots->cells, roots->size, (uintptr_t)where);
        if (roots->cells[at] == 0) {
            roots->cells[at] = (uintptr_t)where;
            roots->used++;
            roots->live++;
        }
    }
    cx_mutex_unlock(&roots->lock);
    if (code == COEX_GC_OK)
        cx_barrier_root_added_self(self, cx_a64_load_acquire(cx_a64_at(where)));
    return code;
}

void cx_roots_remove_self(struct cx_thread *self, coex_handle *where)
{
    struct cx_roots *roots = cx_world.roots;
    /* Before it is gone: the collector may not have read it yet. */
    cx_barrier_root_removed_self(self, cx_a64_load_acquire(cx_a64_at(where)));
    CX_POINT("root-remove-shaded");
    cx_mutex_lock(&roots->lock);
    uint64_t at = roots_find(roots->cells, roots->size, (uintptr_t)where);
    if (roots->cells[at] != 0) {
        roots->cells[at] = ROOTS_GONE;
        roots->live--;
    }
    cx_mutex_unlock(&roots->lock);
}

void cx_roots_mark_gct(struct cx_marker *marker)
{
    struct cx_roots *roots = cx_world.roots;
    uint64_t version = UINT64_MAX, at = 0;
    bool more = true;
    while (more) {
        cx_mutex_lock(&roots->lock);
        if (version != roots->version) {
            version = roots->version;
            at = 0; /* marking twice does no harm */
        }
        uint64_t end = at + ROOTS_PIECE < roots->size ? at + ROOTS_PIECE : roots->size;
        for (; at < end; at++) {
            if (roots->cells[at] <= ROOTS_GONE)
                continue;
            uint64_t value = cx_a64_load_acquire(cx_a64_at((const void *)roots->cells[at]));
            if (cx_is_reference(value))
                cx_mark_push(marker, value);
        }
        more = at < roots->size;
        cx_mutex_unlock(&roots->lock);
    }
}

void cx_roots_each(cx_reference_visitor visit, void *context)
{
    struct cx_roots *roots = cx_world.roots;
    cx_mutex_lock(&roots->lock);
    for (uint64_t at = 0; at < roots->size; at++) {
        if (roots->cells[at] <= ROOTS_GONE)
            continue;
        uint64_t value = cx_a64_load_acquire(cx_a64_at((const void *)roots->cells[at]));
        if (cx_is_reference(value))
            visit(context, 0, value);
    }
    cx_mutex_unlock(&roots->lock);
}
