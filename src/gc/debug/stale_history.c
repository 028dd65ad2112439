/* See stale_history.h. */
#include "gc/debug/stale_history.h"

#include <stdarg.h>
#include <stdio.h>

void cx_stale_history_init(struct cx_stale_history *history, uint64_t handles, uint64_t most)
{
    *history = (struct cx_stale_history){0};
    if (!cx_range_reserve_part(&history->range, most * sizeof(struct cx_stale_entry), handles * sizeof(struct cx_stale_entry), 16)) return;
    history->entry = (struct cx_stale_entry *)(void *)history->range.base;
    cx_stale_history_cover(history, handles);
}

void cx_stale_history_fini(struct cx_stale_history *history)
{
    if (history->entry != NULL) cx_range_release(&history->range);
    *history = (struct cx_stale_history){0};
}

void cx_stale_history_cover(struct cx_stale_history *history, uint64_t handles)
{
    uint64_t most = history->range.reserved / sizeof(struct cx_stale_entry);
    if (handles > most) handles = most;
    if (history->entry != NULL && cx_range_commit(&history->range, handles * sizeof(struct cx_stale_entry)))
        cx_a64_store_release(&history->count, handles);
}

/* NULL: this one has none. */
static struct cx_stale_entry *stale_at(const struct cx_stale_history *history, uint64_t index)
{
    return history->entry != NULL && index < cx_a64_load_acquire(&history->count) ? &history->entry[index] : NULL;
}

void cx_stale_history_note_site(struct cx_stale_history *history, coex_handle handle, const void *site)
{
    struct cx_stale_entry *entry = handle != 0 ? stale_at(history, cx_index_of(handle)) : NULL;
    if (entry != NULL) cx_aptr_store_relaxed(&entry->site, (void *)(uintptr_t)site);
}

void cx_stale_history_add(struct cx_stale_history *history, uint64_t index, uint32_t type, uint64_t cycle)
{
    struct cx_stale_entry *entry = stale_at(history, index);
    if (entry == NULL) return;
    cx_a64_store_relaxed(&entry->death, cycle << 20 | type);
    cx_a32_store_relaxed(&entry->generation, cx_a32_load_relaxed(&entry->generation) + 1);
}

/* ---------------------------------------------------------------- reports */

struct stale_line {
    char text[400];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void stale_say(struct stale_line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->length, sizeof line->text - line->length, format, arguments);
    va_end(arguments);
    if (length > 0) line->length += (size_t)length < sizeof line->text - line->length ? (size_t)length : 0;
}

/* Its last object: the one of this handle, if the generation says so or there is none. */
static void stale_say_history(struct stale_line *line, const struct cx_stale_history *history, const struct cx_types *types,
                              coex_handle handle)
{
    const struct cx_stale_entry *entry = handle < CX_HANDLE_LIMIT ? stale_at(history, cx_index_of(handle)) : NULL;
    uint64_t death = entry != NULL ? cx_a64_load_relaxed(&entry->death) : 0;
    if (death == 0) return;
    uint32_t since =
        (cx_stale_history_generation(history, cx_index_of(handle)) - cx_generation_of(handle)) & ((1u << CX_GENERATION_BITS) - 1);
    if (CX_CHECKED && since != 1) {
        stale_say(line, ": it was freed before cycle %llu, and the handle was reused",
                  (unsigned long long)(death >> 20));
        return;
    }
    const struct cx_type *type = cx_type_find(types, (uint32_t)(death & (COEX_GC_MAX_TYPES - 1)));
    const void *site = cx_aptr_load_relaxed(&entry->site);
    char place[160] = "an unknown place";
    if (site != NULL) cx_os_symbol(site, place, sizeof place);
    stale_say(line, ": it was of type %.60s, allocated at %s, and freed in cycle %llu", type != NULL ? type->descriptor->name : "?",
              place, (unsigned long long)(death >> 20));
}

const char *cx_stale_history_text(const struct cx_stale_history *history, const struct cx_types *types, coex_handle handle)
{
    static __thread struct stale_line line;
    line.length = 0;
    uint32_t generation = handle < CX_HANDLE_LIMIT ? cx_generation_of(handle) : 0;
    if (handle >= CX_HANDLE_LIMIT)
        stale_say(&line, "%#llx names no object", (unsigned long long)handle);
    else if (generation != 0)
        stale_say(&line, "handle %llu (generation %u) names no object",
                  (unsigned long long)cx_index_of(handle), generation);
    else
        stale_say(&line, "handle %llu names no object", (unsigned long long)handle);
    stale_say_history(&line, history, types, handle);
    return line.text;
}
