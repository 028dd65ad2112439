/* See global_roots.h. Entered by any registered thread, and by the collector. */
#include "gc/marking/global_roots.h"

#include "base/schedule_point.h"
#include "gc/error.h"
#include "base/hash_table.h"
#include "gc/lock_rank.h"

enum {
    ROOTS_PIECE = 256,            /* entries read in one critical section */
    ROOTS_COST = 4 * CX_COST_WORD /* a key, a value, and the cell of every other entry or so */
};

struct cx_roots {
    cx_mutex lock;
    struct cx_hash_table cells; /* address of the cell -> nothing */
    struct cx_hash_table pins;  /* handle << 1 (a key is not 1) -> count */
    uint64_t pin_count;
};

static struct cx_roots roots_state;

int cx_roots_init(void)
{
    struct cx_roots *roots = &roots_state;
    *roots = (struct cx_roots){0};
    if (!cx_hash_table_init(&roots->cells) || !cx_hash_table_init(&roots->pins)) {
        cx_hash_table_fini(&roots->cells);
        return cx_error_set(COEX_GC_ENOMEM, "no memory for global roots");
    }
    cx_mutex_init(&roots->lock, CX_RANK_ROOTS);
    cx_world.roots = roots;
    return COEX_GC_OK;
}

void cx_roots_fini(void)
{
    struct cx_roots *roots = cx_world.roots;
    cx_world.roots = NULL;
    cx_mutex_fini(&roots->lock);
    cx_hash_table_fini(&roots->pins);
    cx_hash_table_fini(&roots->cells);
}

static uint64_t roots_cell_value(uint64_t cell) { return cx_a64_load_acquire(cx_a64_at((const void *)(uintptr_t)cell)); }

/* What the cell holds counts as stored there: a thread that is not scanned yet may have allocated it white. */
int cx_roots_add_self(struct cx_thread *self, coex_handle *where)
{
    struct cx_roots *roots = cx_world.roots;
    cx_mutex_lock(&roots->lock);
    bool added = cx_hash_table_put(&roots->cells, (uint64_t)(uintptr_t)where) != NULL;
    cx_mutex_unlock(&roots->lock);
    if (!added)
        return cx_error_set(COEX_GC_ENOMEM,
                            "coex_gc_add_global_root: no memory for another global root");
    cx_barrier_root_added_self(self, cx_a64_load_acquire(cx_a64_at(where)));
    return COEX_GC_OK;
}

void cx_roots_remove_self(struct cx_thread *self, coex_handle *where)
{
    struct cx_roots *roots = cx_world.roots;
    /* Before it is gone: the collector may not have read it yet. */
    cx_barrier_root_removed_self(self, cx_a64_load_acquire(cx_a64_at(where)));
    CX_SCHEDULE_POINT("root-remove-shaded");
    cx_mutex_lock(&roots->lock);
    cx_hash_table_remove(&roots->cells, (uint64_t)(uintptr_t)where);
    cx_mutex_unlock(&roots->lock);
}

bool cx_roots_pin_self(struct cx_thread *self, coex_handle handle)
{
    struct cx_roots *roots = cx_world.roots;
    cx_mutex_lock(&roots->lock);
    uint64_t *count = cx_hash_table_put(&roots->pins, handle << 1);
    if (count != NULL) {
        ++*count;
        roots->pin_count++;
    }
    cx_mutex_unlock(&roots->lock);
    if (count == NULL) {
        cx_error_set(COEX_GC_ENOMEM, "coex_gc_pin: no memory for another pin");
        return false;
    }
    cx_barrier_root_added_self(self, handle);
    return true;
}

bool cx_roots_unpin_self(struct cx_thread *self, coex_handle handle)
{
    struct cx_roots *roots = cx_world.roots;
    cx_barrier_root_removed_self(self, handle); /* whichever unpin is the last: a shade too many does no harm */
    cx_mutex_lock(&roots->lock);
    uint64_t *count = cx_hash_table_get(&roots->pins, handle << 1);
    if (count != NULL) {
        roots->pin_count--;
        if (--*count == 0) cx_hash_table_remove(&roots->pins, handle << 1);
    }
    cx_mutex_unlock(&roots->lock);
    return count != NULL;
}

void cx_roots_count_pins(uint64_t *objects, uint64_t *pins)
{
    struct cx_roots *roots = cx_world.roots;
    cx_mutex_lock(&roots->lock);
    *objects = roots->pins.live;
    *pins = roots->pin_count;
    cx_mutex_unlock(&roots->lock);
}

uint64_t cx_roots_pins_of(coex_handle handle)
{
    struct cx_roots *roots = cx_world.roots;
    cx_mutex_lock(&roots->lock);
    const uint64_t *count = cx_hash_table_get(&roots->pins, handle << 1);
    uint64_t pins = count != NULL ? *count : 0;
    cx_mutex_unlock(&roots->lock);
    return pins;
}

/* ---------------------------------------------------------------- reading */

/* The reference that an entry stands for. */
static coex_handle roots_reference(const struct cx_roots *roots, const struct cx_hash_table *table, const struct cx_hash_entry *entry)
{
    uint64_t value = table == &roots->cells ? roots_cell_value(entry->key) : entry->key >> 1;
    return cx_is_reference(value) ? value : 0;
}

static void roots_push(void *marker, uint64_t cell, uint64_t pins, coex_handle handle)
{
    (void)cell;
    (void)pins;
    cx_mark_push(marker, handle);
}

/* A table may be rebuilt between two pieces: it is begun again, marking twice does no harm. */
bool cx_roots_mark_gct(struct cx_marker *marker, struct cx_mark_cursor *cursor, struct cx_budget *budget)
{
    bool more = true, anew;
    while (more && cx_budget_is_left(budget)) {
        more = cx_roots_read(cursor, &anew, roots_push, marker, true);
        cx_budget_spend(budget, CX_COST_LOCK + ROOTS_PIECE * ROOTS_COST);
    }
    return more;
}

bool cx_roots_read(struct cx_mark_cursor *cursor, bool *anew, cx_root_reader read, void *context, bool lock)
{
    struct cx_roots *roots = cx_world.roots;
    const struct cx_hash_table *table = cursor->list == 0 ? &roots->cells : &roots->pins;
    if (lock) cx_mutex_lock(&roots->lock);
    *anew = cursor->at == 0 || cursor->version != table->version;
    if (*anew) *cursor = (struct cx_mark_cursor){.list = cursor->list, .version = table->version};
    uint64_t end = cursor->at + ROOTS_PIECE < table->size ? cursor->at + ROOTS_PIECE : table->size;
    for (; cursor->at < end; cursor->at++) {
        const struct cx_hash_entry *entry = &table->entry[cursor->at];
        coex_handle handle = cx_hash_table_is_live(entry) ? roots_reference(roots, table, entry) : 0;
        bool cell = cursor->list == 0;
        if (handle != 0) read(context, cell ? entry->key : 0, cell ? 0 : entry->value, handle);
    }
    bool more = cursor->at < table->size;
    if (lock) cx_mutex_unlock(&roots->lock);
    if (!more) *cursor = (struct cx_mark_cursor){.list = cursor->list + 1};
    return more || cursor->list < 2;
}

static void roots_each_in(const struct cx_roots *roots, const struct cx_hash_table *table, cx_reference_visitor visit, void *context)
{
    for (uint64_t at = 0; at < table->size; at++) {
        coex_handle handle = cx_hash_table_is_live(&table->entry[at]) ? roots_reference(roots, table, &table->entry[at]) : 0;
        if (handle != 0) visit(context, 0, handle);
    }
}

void cx_roots_each(cx_reference_visitor visit, void *context)
{
    struct cx_roots *roots = cx_world.roots;
    cx_mutex_lock(&roots->lock);
    roots_each_in(roots, &roots->cells, visit, context);
    roots_each_in(roots, &roots->pins, visit, context);
    cx_mutex_unlock(&roots->lock);
}

cx_mutex *cx_roots_lock(void) { return &roots_state.lock; }
