/* See stale_history.h. */
#include "gc/debug/stale_history.h"

#include <stdarg.h>
#include <stdio.h>

void cx_graves_init(struct cx_graves *graves, uint64_t handles, uint64_t most)
{
    *graves = (struct cx_graves){0};
    if (!cx_range_reserve_part(&graves->range, most * sizeof(struct cx_grave), handles * sizeof(struct cx_grave), 16)) return;
    graves->grave = (struct cx_grave *)(void *)graves->range.base;
    cx_graves_cover(graves, handles);
}

void cx_graves_fini(struct cx_graves *graves)
{
    if (graves->grave != NULL) cx_range_release(&graves->range);
    *graves = (struct cx_graves){0};
}

void cx_graves_cover(struct cx_graves *graves, uint64_t handles)
{
    uint64_t most = graves->range.reserved / sizeof(struct cx_grave);
    if (handles > most) handles = most;
    if (graves->grave != NULL && cx_range_commit(&graves->range, handles * sizeof(struct cx_grave)))
        cx_a64_store_release(&graves->count, handles);
}

/* NULL: this one has none. */
static struct cx_grave *grave_at(const struct cx_graves *graves, uint64_t index)
{
    return graves->grave != NULL && index < cx_a64_load_acquire(&graves->count) ? &graves->grave[index] : NULL;
}

void cx_grave_note_site(struct cx_graves *graves, coex_handle handle, const void *site)
{
    struct cx_grave *grave = handle != 0 ? grave_at(graves, cx_index_of(handle)) : NULL;
    if (grave != NULL) cx_aptr_store_relaxed(&grave->site, (void *)(uintptr_t)site);
}

void cx_grave_dig(struct cx_graves *graves, uint64_t index, uint32_t type, uint64_t cycle)
{
    struct cx_grave *grave = grave_at(graves, index);
    if (grave == NULL) return;
    cx_a64_store_relaxed(&grave->death, cycle << 20 | type);
    cx_a32_store_relaxed(&grave->generation, cx_a32_load_relaxed(&grave->generation) + 1);
}

/* ---------------------------------------------------------------- reports */

struct grave_line {
    char text[400];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void grave_say(struct grave_line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->length, sizeof line->text - line->length, format, arguments);
    va_end(arguments);
    if (length > 0) line->length += (size_t)length < sizeof line->text - line->length ? (size_t)length : 0;
}

/* Its last object: the one of this handle, if the generation says so or there is none. */
static void grave_say_history(struct grave_line *line, const struct cx_graves *graves, const struct cx_types *types,
                              coex_handle handle)
{
    const struct cx_grave *grave = handle < CX_HANDLE_LIMIT ? grave_at(graves, cx_index_of(handle)) : NULL;
    uint64_t death = grave != NULL ? cx_a64_load_relaxed(&grave->death) : 0;
    if (death == 0) return;
    uint32_t since =
        (cx_grave_generation(graves, cx_index_of(handle)) - cx_generation_of(handle)) & ((1u << CX_GENERATION_BITS) - 1);
    if (CX_CHECKED && since != 1) {
        grave_say(line, ": it was freed before cycle %llu, and given out again", (unsigned long long)(death >> 20));
        return;
    }
    const struct cx_type *type = cx_type_find(types, (uint32_t)(death & (COEX_GC_MAX_TYPES - 1)));
    const void *site = cx_aptr_load_relaxed(&grave->site);
    char place[160] = "an unknown place";
    if (site != NULL) cx_os_symbol(site, place, sizeof place);
    grave_say(line, ": it was of type %.60s, allocated at %s, and freed in cycle %llu", type != NULL ? type->descriptor->name : "?",
              place, (unsigned long long)(death >> 20));
}

const char *cx_grave_text(const struct cx_graves *graves, const struct cx_types *types, coex_handle handle)
{
    static __thread struct grave_line line;
    line.length = 0;
    uint32_t generation = handle < CX_HANDLE_LIMIT ? cx_generation_of(handle) : 0;
    if (handle >= CX_HANDLE_LIMIT)
        grave_say(&line, "%#llx names no object", (unsigned long long)handle);
    else if (generation != 0)
        grave_say(&line, "handle %llu (its object number %u) names no object", (unsigned long long)cx_index_of(handle),
                  generation + 1);
    else
        grave_say(&line, "handle %llu names no object", (unsigned long long)handle);
    grave_say_history(&line, graves, types, handle);
    return line.text;
}
