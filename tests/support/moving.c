/*
 * See moving.h. The places of the objects are handed round among those of one type and size, at the beginning of a cycle: every mark
 * is cleared by then and nobody marks yet, so neither a line nor a bit has to follow, and no memory is taken or freed.
 */
#include "support/moving.h"

#include "base/schedule_point.h"
#include "gc/marking/global_roots.h"
#include "gc/threads/thread_record.h"
#include "support/test.h"

#include <unistd.h>

enum { PATIENCE = 20 };

struct movable {
    const struct cx_type *type;
    uint64_t size; /* payload */
    uint64_t handle;
};

static struct movable *movables;
static size_t count, room;
static uint64_t moved;

/* ---- nobody looks ----------------------------------------------------------------------------------------- */

static void let_back(uint32_t threads)
{
    for (uint32_t i = 0; i < threads; i++) {
        struct cx_thread *thread = cx_registry_at(&cx_world.registry, i);
        if (cx_a32_load_acquire(&thread->state) == CX_THREAD_LIVE) cx_a32_store_seq(&thread->mode, CX_MODE_NATIVE);
    }
}

/* Claims every thread, as the collector does to answer for it. False: one of them is in managed mode. With the registry lock. */
static bool claim_all(uint32_t threads)
{
    for (uint32_t i = 0; i < threads; i++) {
        struct cx_thread *thread = cx_registry_at(&cx_world.registry, i);
        uint32_t mode = CX_MODE_NATIVE;
        if (cx_a32_load_acquire(&thread->state) != CX_THREAD_LIVE || cx_a32_cas_seq(&thread->mode, &mode, CX_MODE_CLAIMED))
            continue;
        let_back(i);
        return false;
    }
    return true;
}

/* ---- what moves ------------------------------------------------------------------------------------------- */

static void note(const struct cx_type *type, uint64_t size, uint64_t handle)
{
    if (count == room) {
        room = room == 0 ? 4096 : 2 * room;
        movables = realloc(movables, room * sizeof *movables);
        expect(movables != NULL);
    }
    movables[count++] = (struct movable){type, size, handle};
}

/* Neither large nor of a type that may be written to. */
static void note_object(uint64_t handle, void *payload)
{
    const struct cx_type *type = cx_type_find(&cx_world.types, cx_header_type(cx_header_read(payload)));
    if (cx_heap_in_blocks(&cx_world.heap, payload) && (type->flags & COEX_GC_MUTABLE) == 0)
        note(type, cx_type_payload_size(type, payload), handle);
}

static void note_all(void)
{
    const struct cx_handles *handles = &cx_world.handles;
    uint64_t words = cx_a64_load_acquire(&handles->committed) / CX_WORD_HANDLES;
    count = 0;
    for (uint64_t word = 0; word < words; word++) {
        for (uint64_t bits = cx_a64_load_acquire(&handles->allocated[word]); bits != 0; bits &= bits - 1) {
            uint64_t handle = word * CX_WORD_HANDLES + (uint64_t)__builtin_ctzll(bits);
            void *payload = cx_handle_payload(handles, handle);
            if (payload != NULL) note_object(handle, payload);
        }
    }
}

static void leave_pinned(void *context, uint64_t cell, uint64_t pins, coex_handle handle)
{
    (void)context, (void)cell;
    for (size_t i = 0; pins != 0 && i < count; i++) {
        if (movables[i].handle == cx_index_of(handle)) movables[i--] = movables[--count];
    }
}

static int compare(const void *left, const void *right)
{
    const struct movable *a = left, *b = right;
    if (a->type != b->type) return a->type < b->type ? -1 : 1;
    if (a->size != b->size) return a->size < b->size ? -1 : 1;
    return a->handle < b->handle ? -1 : 1;
}

/* ---- moving ----------------------------------------------------------------------------------------------- */

static void swap_bytes(char *a, char *b, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i += 8) {
        uint64_t word;
        memcpy(&word, a + i, 8);
        memcpy(a + i, b + i, 8);
        memcpy(b + i, &word, 8);
    }
}

/* Each takes the other's place, header and all. */
static void swap_places(const struct movable *a, const struct movable *b)
{
    void **table = cx_world.handles.table, *place = table[a->handle];
    uint64_t prefix = cx_type_prefix(a->type);
    swap_bytes((char *)place - prefix, (char *)table[b->handle] - prefix, cx_round8(a->size) + prefix);
    cx_aptr_store_release(cx_aptr_at(&table[a->handle]), table[b->handle]);
    cx_aptr_store_release(cx_aptr_at(&table[b->handle]), place);
}

static void move_all(void)
{
    struct cx_mark_cursor cursor = {0};
    bool anew;
    note_all();
    while (cx_roots_read(&cursor, &anew, leave_pinned, NULL, true)) {
    }
    if (count != 0) qsort(movables, count, sizeof *movables, compare);
    for (size_t first = 0, i = 1; i < count; i++) {
        if (movables[i].type == movables[first].type && movables[i].size == movables[first].size) {
            swap_places(&movables[first], &movables[i]);
            moved++;
        } else {
            first = i;
        }
    }
}

/* False: some thread runs. */
static bool try_to_move(void)
{
    struct cx_registry *registry = &cx_world.registry;
    cx_mutex_lock(&registry->lock); /* nobody comes or goes */
    uint32_t threads = cx_a32_load_relaxed(&registry->count);
    bool alone = claim_all(threads);
    if (alone) {
        move_all();
        let_back(threads);
    }
    cx_mutex_unlock(&registry->lock);
    return alone;
}

/* Whoever has asked for this cycle may be on its way into native mode. */
static void move_at_point(const char *point)
{
    if (strcmp(point, "cycle-cleared") != 0) return;
    for (int i = 0; i < PATIENCE && !try_to_move(); i++) usleep(20);
}

void moving_begin(void) { cx_schedule_point_set_hook(move_at_point); }
void moving_end(void) { cx_schedule_point_set_hook(NULL); }
uint64_t moving_count(void) { return moved; }

__attribute__((constructor)) static void begin_if_asked(void)
{
    if (getenv("COEX_TEST_MOVING") != NULL) moving_begin();
}
