/* See unbarriered_stores.h. */
#include "gc/debug/unbarriered_stores.h"

#include "gc/error.h"
#include "base/hash_table.h"
#include "gc/lock_rank.h"

#include <string.h>

struct unbarriered_field {
    uint64_t offset;
    coex_handle value; /* a reference, not null */
};

/* The references of one object, by rising offset. */
struct unbarriered_note {
    uint64_t count, room;
    struct unbarriered_field field[];
};

static struct {
    cx_mutex lock;
    struct cx_hash_table notes; /* handle + 2 -> struct unbarriered_note * */
} unbarriered_state;

static uint64_t unbarriered_key(coex_handle object) { return cx_index_of(object) + 2; } /* a table has no keys 0 and 1 */
static struct unbarriered_note *unbarriered_note_at(uint64_t *value) { return (struct unbarriered_note *)(uintptr_t)*value; }

int cx_unbarriered_init(void)
{
    cx_mutex_init(&unbarriered_state.lock, CX_RANK_UNBARRIERED);
    if (cx_unbarriered_is_on() && !cx_hash_table_init(&unbarriered_state.notes))
        return cx_error_set(COEX_GC_ENOMEM,
                            "COEX_GC_DEBUG=barriers: no memory for the table of stores");
    return COEX_GC_OK;
}

void cx_unbarriered_fini(void)
{
    if (cx_unbarriered_is_on()) {
        for (uint64_t i = 0; i < unbarriered_state.notes.size; i++) {
            struct cx_hash_entry *entry = &unbarriered_state.notes.entry[i];
            if (cx_hash_table_is_live(entry)) cx_os_free(unbarriered_note_at(&entry->value));
        }
        cx_hash_table_fini(&unbarriered_state.notes);
    }
    cx_mutex_fini(&unbarriered_state.lock);
}

cx_mutex *cx_unbarriered_lock(void) { return &unbarriered_state.lock; }

/* ------------------------------------------------------------------ notes */

/* Room for one more, or a fresh note with room for so many. What can't be noted is not checked. */
static struct unbarriered_note *unbarriered_with_room(struct unbarriered_note *note, uint64_t room)
{
    if (note != NULL && note->count < note->room) return note;
    room = note != NULL ? note->room * 2 + 2 : room;
    struct unbarriered_note *larger = cx_os_allocate(sizeof *larger + room * sizeof larger->field[0]);
    if (larger == NULL) cx_fatal("COEX_GC_DEBUG=barriers: no memory for the notes of the stores");
    larger->room = room;
    if (note != NULL) {
        larger->count = note->count;
        memcpy(larger->field, note->field, note->count * sizeof note->field[0]);
        cx_os_free(note);
    }
    return larger;
}

/* The first field at or after an offset. */
static uint64_t unbarriered_find(const struct unbarriered_note *note, uint64_t offset)
{
    uint64_t low = 0, high = note->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (note->field[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void cx_unbarriered_note_locked(coex_handle object, uint64_t offset, coex_handle value)
{
    uint64_t *entry = cx_hash_table_get(&unbarriered_state.notes, unbarriered_key(object));
    if (entry == NULL) return; /* too young for a note */
    struct unbarriered_note *note = unbarriered_note_at(entry);
    uint64_t at = unbarriered_find(note, offset);
    bool there = at < note->count && note->field[at].offset == offset;
    if (there && !cx_is_reference(value)) {
        memmove(&note->field[at], &note->field[at + 1], (note->count - at - 1) * sizeof note->field[0]);
        note->count--;
    } else if (there) {
        note->field[at].value = value;
    } else if (cx_is_reference(value)) {
        note = unbarriered_with_room(note, 0);
        *entry = (uintptr_t)note;
        memmove(&note->field[at + 1], &note->field[at], (note->count - at) * sizeof note->field[0]);
        note->field[at] = (struct unbarriered_field){offset, value};
        note->count++;
    }
}

/* ---------------------------------------------------------------- looking */

struct unbarriered_view {
    void *payload;
    struct unbarriered_note *note;
    uint64_t at; /* fields of the note that were met */
};

static const struct cx_type *unbarriered_type(void *payload)
{
    return cx_type_at(&cx_world.types, cx_header_type(cx_a64_load_relaxed(cx_a64_at(cx_header_of(payload)))));
}

static void unbarriered_report(void *payload, uint64_t offset, coex_handle before, coex_handle now)
{
    const struct cx_type *type = unbarriered_type(payload);
    bool mutable = (type->flags & COEX_GC_MUTABLE) != 0;
    cx_fatal("INV-UNBARRIERED-1 broken: the reference at offset %llu of handle %llu (type %.60s) went from %llu to %llu %s",
             (unsigned long long)offset, (unsigned long long)cx_header_handle(*cx_header_of(payload)), type->descriptor->name,
             (unsigned long long)before, (unsigned long long)now,
             mutable ? "without coex_gc_store" : "after the object was complete: its type is not MUTABLE");
}

static void unbarriered_compare(void *context, uint64_t offset, coex_handle value)
{
    struct unbarriered_view *view = context;
    const struct unbarriered_field *noted = view->at < view->note->count ? &view->note->field[view->at] : NULL;
    if (noted == NULL || noted->offset > offset) unbarriered_report(view->payload, offset, 0, value);
    if (noted->offset < offset) unbarriered_report(view->payload, noted->offset, noted->value, 0);
    if (noted->value != value) unbarriered_report(view->payload, offset, noted->value, value);
    view->at++;
}

static void unbarriered_write(void *context, uint64_t offset, coex_handle value)
{
    struct unbarriered_view *view = context;
    view->note = unbarriered_with_room(view->note, 0);
    view->note->field[view->note->count++] = (struct unbarriered_field){offset, value};
}

static void unbarriered_look_at(coex_handle handle, void *payload)
{
    cx_mutex_lock(&unbarriered_state.lock);
    uint64_t *entry = cx_hash_table_put(&unbarriered_state.notes, unbarriered_key(handle));
    if (entry == NULL) cx_fatal("COEX_GC_DEBUG=barriers: no memory for the notes of the stores");
    struct unbarriered_view view = {.payload = payload, .note = unbarriered_note_at(entry)};
    if (view.note != NULL) {
        cx_mark_each_reference(payload, unbarriered_compare, &view);
        if (view.at < view.note->count)
            unbarriered_report(payload, view.note->field[view.at].offset, view.note->field[view.at].value, 0);
    } else {
        view.note = unbarriered_with_room(NULL, 2);
        cx_mark_each_reference(payload, unbarriered_write, &view);
        *entry = (uintptr_t)view.note;
    }
    cx_mutex_unlock(&unbarriered_state.lock);
}

static void unbarriered_forget_dead(void)
{
    cx_mutex_lock(&unbarriered_state.lock);
    for (uint64_t i = 0; i < unbarriered_state.notes.size; i++) {
        struct cx_hash_entry *entry = &unbarriered_state.notes.entry[i];
        if (!cx_hash_table_is_live(entry) || cx_handle_is_marked(&cx_world.handles, entry->key - 2)) continue;
        cx_os_free(unbarriered_note_at(&entry->value));
        cx_hash_table_remove(&unbarriered_state.notes, entry->key);
    }
    cx_mutex_unlock(&unbarriered_state.lock);
}

void cx_unbarriered_look_gct(void)
{
    struct cx_handles *handles = &cx_world.handles;
    unbarriered_forget_dead();
    uint64_t words = cx_a64_load_acquire(&handles->committed) / 64;
    for (uint64_t word = 0; word < words; word++) {
        uint64_t bits =
            cx_a64_load_relaxed(&handles->marked[word]) & ~cx_a64_load_relaxed(&handles->born[word]); /* INV-UNBARRIERED-2 */
        for (; bits != 0; bits &= bits - 1) {
            coex_handle handle = word * 64 + (uint64_t)__builtin_ctzll(bits);
            void *payload = cx_handle_payload(handles, handle);
            if (payload != NULL) unbarriered_look_at(handle, payload);
        }
    }
}
