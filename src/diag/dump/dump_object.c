/* coex_gc_dump_object: one object, its header unpacked and its fields with their names. A look, no visit: the caller keeps the handle rooted,
 * and even if it does not, what is read stays inside the heap (object_view.h). */
#include "diag/heap/object_view.h"
#include "gc/marking/global_roots.h"
#include "gc/api/runtime.h"
#include "gc/marking/weak_references.h"

#include <coex/gc_diag.h>
#include <inttypes.h>

/* References of an object, so that fields of trace functions and long arrays are told from plain words. */
struct object_refs {
    struct cx_text *text;
    const struct cx_object_view *view;
    uint64_t printed; /* words up to here */
};

static void object_print_plain(struct cx_text *text, const struct cx_object_view *view, uint64_t from, uint64_t to)
{
    for (; from + 8 <= to; from += 8)
        cx_text_print(text, "  offset %" PRIu64 ": i64 = %" PRId64 "\n", from, (int64_t)cx_object_view_word(view, from));
    if (from < to) {
        unsigned char bytes[8];
        cx_object_view_copy(view, from, bytes, to - from);
        cx_text_print(text, "  offset %" PRIu64 ": bytes = ", from);
        cx_text_hex(text, bytes, to - from);
        cx_text_print(text, "\n");
    }
}

static void object_print_target(struct cx_text *text, uint64_t value)
{
    struct cx_object_view target;
    if (value == 0) {
        cx_text_print(text, "handle = 0 (null)");
    } else if (coex_is_immediate(value)) {
        cx_text_print(text, "immediate = %" PRIu64, coex_immediate_bits(value));
    } else if (cx_object_view_take(&target, value)) {
        cx_text_print(text, "handle = %" PRIu64 " -> ", value);
        cx_object_view_print_type(text, &target, true);
    } else {
        cx_text_print(text, "handle = %" PRIu64 " -> no object", value);
    }
}

static void object_print_reference(struct cx_text *text, const struct cx_object_view *view, uint64_t offset)
{
    struct cx_field field = cx_object_view_field(view, offset);
    cx_text_print(text, "  offset %" PRIu64 ": ", offset);
    object_print_target(text, cx_object_view_word(view, offset));
    if (field.kind == CX_FIELD_NAMED || field.kind == CX_FIELD_CALLED) {
        cx_text_print(text, "  (");
        cx_text_name(text, field.kind == CX_FIELD_NAMED ? field.name : field.called);
        cx_text_print(text, ")");
    } else if (field.kind == CX_FIELD_ELEMENT) {
        cx_text_print(text, "  ([%" PRIu64 "])", field.index);
    }
    cx_text_print(text, "\n");
}

/* Trace functions visit in any order: what comes behind the last printed word is printed with the plain words before it. */
static void object_see_traced(void *context, uint64_t offset, coex_handle value)
{
    struct object_refs *refs = context;
    (void)value;
    if (offset < refs->printed || offset + 8 > refs->view->size) return;
    object_print_plain(refs->text, refs->view, refs->printed, offset);
    object_print_reference(refs->text, refs->view, offset);
    refs->printed = offset + 8;
}

static void object_print_fields(struct cx_text *text, const struct cx_object_view *view)
{
    struct object_refs refs = {.text = text, .view = view};
    cx_text_print(text, "\nFields:\n");
    if (view->type->trace != NULL && !cx_weak_is_type(view->type->id)) {
        cx_object_view_each(view, object_see_traced, &refs);
    } else {
        for (uint64_t offset = 0; offset + 8 <= view->size; offset += 8) {
            if (cx_object_view_field(view, offset).kind != CX_FIELD_PLAIN)
                object_print_reference(text, view, offset);
            else
                object_print_plain(text, view, offset, offset + 8);
            refs.printed = offset + 8;
        }
    }
    object_print_plain(text, view, refs.printed, view->size);
}

static uint32_t object_flags(const struct cx_object_view *view)
{
    coex_gc_object info;
    return coex_gc_object_info(view->handle, &info) ? info.flags : 0;
}

static void object_print(struct cx_text *text, coex_handle h)
{
    struct cx_object_view view;
    cx_text_print(text, "=== OBJECT DUMP ===\nHandle: %" PRIu64 "\n", h);
    if (!cx_runtime_is_up() || h == 0 || coex_is_immediate(h) || !cx_object_view_take(&view, h)) {
        cx_text_print(text, "Address: none (%s)\n",
                      h == 0                 ? "the null handle"
                      : coex_is_immediate(h) ? "an immediate"
                                             : "names no object");
        return;
    }
    cx_text_print(text, "Address: 0x%" PRIx64 "\nType: ", (uint64_t)(uintptr_t)view.payload);
    cx_object_view_print_type(text, &view, false);
    cx_text_print(text, " (id=%u)\nSize: %" PRIu64 " bytes\n", cx_header_type(view.header), view.bytes);
    if (view.type == NULL) return;
    uint32_t flags = object_flags(&view);
    bool marked = (flags & COEX_GC_OBJECT_MARKED) != 0;
    cx_text_print(text, "Mark bit: %d (%s current)\nForwarded: no\n", marked, marked ? "matches" : "does not match");
    uint64_t pins = text->direct ? 0 : cx_roots_pins_of(h); /* a debugger takes no locks */
    if (pins != 0) cx_text_print(text, "Pinned: %" PRIu64 " %s\n", pins, pins == 1 ? "time" : "times");
    cx_text_print(text, "\nHeader:\n  size: %" PRIu64 "\n  type_id: %u\n  flags: 0x%02x\n  forward: 0\n", view.bytes, view.type->id,
                  flags);
    object_print_fields(text, &view);
}

void coex_gc_dump_object(coex_handle h)
{
    struct cx_text text = {0};
    object_print(&text, h);
    cx_text_write(&text);
}

void coex_gc_debug_object(coex_handle h)
{
    struct cx_text text = {.direct = true};
    object_print(&text, h);
}
