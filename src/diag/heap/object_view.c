/* See object_view.h. Owns describers and namers. Any thread. */
#include "diag/heap/object_view.h"

#include "gc/error.h"
#include "gc/api/runtime.h"
#include "gc/marking/weak_references.h"

#include <coex/gc_diag.h>
#include <string.h>

/* ------------------------------------------------------ describers, namers */

enum { OBJECT_VIEW_DESCRIBERS = 64, OBJECT_VIEW_TEXT = 80 };
enum object_view_hook { OBJECT_VIEW_DESCRIBE, OBJECT_VIEW_NAME, OBJECT_VIEW_HOOKS };

/* W: coex_gc_set_describer and _namer, which claim a place by compare-exchange (no lock: hooks of init call them with the life lock held);
 * functions, then `owner`, release. R: dumps, acquire. */
static struct {
    cx_a64 owner; /* generation of the runtime << 20 | type */
    cx_aptr hook[OBJECT_VIEW_HOOKS];
} object_view_hooks[OBJECT_VIEW_DESCRIBERS];

union object_view_cast {
    coex_gc_describer describe;
    coex_gc_namer name;
    void *pointer;
};

static uint64_t object_view_owner(uint32_t type) { return cx_a64_load_acquire(&cx_world.generation) << 20 | type; }

static int object_view_set_hook(const char *caller, uint32_t type_id, enum object_view_hook which, void *function)
{
    if (!cx_runtime_is_up()) return cx_error_set(COEX_GC_ESTATE, "%s: the runtime is not initialised", caller);
    if (cx_type_find(&cx_world.types, type_id) == NULL)
        return cx_error_set(COEX_GC_EINVAL, "%s: type id %u is not registered", caller, type_id);
    uint64_t owner = object_view_owner(type_id), claimed = object_view_owner(0); /* no type has number 0 */
    for (int pass = 0; pass < 2; pass++) { /* its own place, else one of a runtime that is gone, or nobody's */
        for (int i = 0; i < OBJECT_VIEW_DESCRIBERS; i++) {
            uint64_t there = cx_a64_load_acquire(&object_view_hooks[i].owner);
            if (pass == 0 ? there != owner : there >> 20 == owner >> 20) continue;
            if (pass != 0 && !cx_a64_cas_acq_rel(&object_view_hooks[i].owner, &there, claimed)) continue;
            for (int j = 0; pass != 0 && j < OBJECT_VIEW_HOOKS; j++) cx_aptr_store_release(&object_view_hooks[i].hook[j], NULL);
            cx_aptr_store_release(&object_view_hooks[i].hook[which], function);
            cx_a64_store_release(&object_view_hooks[i].owner, owner);
            return COEX_GC_OK;
        }
    }
    return cx_error_set(COEX_GC_ELIMIT, "at most %d types can have a describer or a namer",
                        OBJECT_VIEW_DESCRIBERS);
}

/* Two threads that set the two of a type at once may have claimed two places: all are looked at. */
static union object_view_cast object_view_find_hook(uint32_t type, enum object_view_hook which)
{
    union object_view_cast cast = {.pointer = NULL};
    uint64_t owner = object_view_owner(type);
    for (int i = 0; i < OBJECT_VIEW_DESCRIBERS && cast.pointer == NULL; i++) {
        if (cx_a64_load_acquire(&object_view_hooks[i].owner) == owner) cast.pointer = cx_aptr_load_acquire(&object_view_hooks[i].hook[which]);
    }
    return cast;
}

int coex_gc_set_describer(uint32_t type_id, coex_gc_describer describe)
{
    union object_view_cast cast = {.describe = describe};
    return object_view_set_hook("coex_gc_set_describer", type_id, OBJECT_VIEW_DESCRIBE, cast.pointer);
}

int coex_gc_set_namer(uint32_t type_id, coex_gc_namer name)
{
    union object_view_cast cast = {.name = name};
    return object_view_set_hook("coex_gc_set_namer", type_id, OBJECT_VIEW_NAME, cast.pointer);
}

coex_gc_namer cx_object_view_namer(const struct cx_type *type)
{
    return type->trace != NULL ? object_view_find_hook(type->id, OBJECT_VIEW_NAME).name : NULL;
}

bool cx_object_view_call(coex_gc_namer name, uint64_t size, uint64_t offset, char called[CX_OBJECT_VIEW_NAME])
{
    called[0] = '\0';
    if (name != NULL) name(cx_round8(size), offset, called, CX_OBJECT_VIEW_NAME);
    called[CX_OBJECT_VIEW_NAME - 1] = '\0';
    return called[0] != '\0';
}

const void *coex_gc_peek(coex_handle h, uint64_t *size)
{
    struct cx_object_view view;
    bool there = cx_runtime_is_up() && !coex_is_immediate(h) && cx_object_view_take(&view, h) && view.type != NULL;
    *size = there ? view.size : 0;
    return there ? view.payload : NULL;
}

/* ------------------------------------------------------------------ looking */

/* volatile: one read, of the whole word. What order there is comes from the slot, which was read with acquire. */
CX_BESIDE static uint64_t object_view_load(const void *word) { return *(const volatile uint64_t *)word; }
CX_BESIDE static uint32_t object_view_pages(const struct cx_large *large) { return *(const volatile uint32_t *)&large->pages; }

/* Where the space ends that an object at `payload` may reach; NULL: it is nowhere in the heap. */
static const char *object_view_end_of_space(const struct cx_heap *heap, const char *payload, bool *large)
{
    *large = cx_large_contains(&heap->large, payload);
    if (*large) return heap->large.range.base + ((size_t)object_view_pages(&heap->large) << heap->large.page_shift);
    if (!cx_heap_in_blocks(heap, payload)) return NULL;
    uint64_t block = ((uintptr_t)payload - 8 - (uintptr_t)heap->base) >> CX_BLOCK_SHIFT;
    return block < cx_a32_load_acquire(&heap->count) ? heap->base + ((block + 1) << CX_BLOCK_SHIFT) : NULL;
}

bool cx_object_view_take(struct cx_object_view *view, coex_handle handle)
{
    *view = (struct cx_object_view){.handle = handle, .name = "?"};
    if (!cx_handle_is_object(&cx_world.handles, handle)) return false;
    view->payload = cx_handle_payload(&cx_world.handles, handle);
    if (view->payload == NULL) return false;
    const char *end = object_view_end_of_space(&cx_world.heap, view->payload, &view->large);
    if (end == NULL || (uintptr_t)view->payload % 8 != 0 || view->payload > end) return true;
    view->header = object_view_load(view->payload - 8);
    const struct cx_type *type = cx_type_find(&cx_world.types, cx_header_type(view->header));
    if (type == NULL) return true;
    view->size = type->size != 0 ? type->size : object_view_load(view->payload - 16);
    if (view->size > (uint64_t)(end - view->payload)) {
        view->size = 0;
        return true;
    }
    view->type = type;
    view->name = type->descriptor->name;
    view->bytes = cx_round8(view->size + cx_type_prefix(type));
    return true;
}

uint64_t cx_object_view_word(const struct cx_object_view *view, uint64_t offset) { return object_view_load(view->payload + offset); }

CX_BESIDE void cx_object_view_copy(const struct cx_object_view *view, uint64_t offset, unsigned char *bytes, uint64_t count)
{
    const volatile unsigned char *from = (const volatile unsigned char *)view->payload + offset;
    for (uint64_t i = 0; i < count; i++) bytes[i] = from[i];
}

void cx_object_view_each(const struct cx_object_view *view, cx_object_view_visitor visit, void *context)
{
    if (view->type != NULL) cx_mark_each_reference(view->payload, visit, context);
}

/* ------------------------------------------------------------------- fields */

/* Fields of the runtime's own types. */
static const char *object_view_weak_field(const struct cx_type *type, uint64_t offset)
{
    if (type->id == cx_weak_type()) return "target";
    return offset == 0 ? "key" : "value";
}

struct cx_field cx_object_view_field(const struct cx_object_view *view, uint64_t offset)
{
    const struct cx_type *type = view->type;
    const coex_gc_type *descriptor = type->descriptor;
    if (cx_weak_is_type(type->id)) return (struct cx_field){.kind = CX_FIELD_NAMED, .name = object_view_weak_field(type, offset)};
    for (uint32_t i = 0; i < descriptor->ref_count; i++) {
        if (descriptor->ref_offsets[i] != offset) continue;
        if (descriptor->ref_names == NULL) return (struct cx_field){.kind = CX_FIELD_OFFSET};
        return (struct cx_field){.kind = CX_FIELD_NAMED, .name = descriptor->ref_names[i]};
    }
    if ((type->flags & COEX_GC_REF_ARRAY) != 0 && offset >= type->array_offset)
        return (struct cx_field){.kind = CX_FIELD_ELEMENT, .index = (offset - type->array_offset) / 8};
    struct cx_field field = {.kind = type->trace != NULL ? CX_FIELD_TRACED : CX_FIELD_PLAIN};
    if (cx_object_view_call(cx_object_view_namer(type), view->size, offset, field.called)) field.kind = CX_FIELD_CALLED;
    return field;
}

void cx_object_view_print_field(struct cx_text *text, const struct cx_object_view *view, uint64_t offset)
{
    struct cx_field field = cx_object_view_field(view, offset);
    if (field.kind == CX_FIELD_NAMED || field.kind == CX_FIELD_CALLED)
        cx_text_name(text, field.kind == CX_FIELD_NAMED ? field.name : field.called);
    else if (field.kind == CX_FIELD_ELEMENT)
        cx_text_print(text, "[%llu]", (unsigned long long)field.index);
    else
        cx_text_print(text, "offset %llu", (unsigned long long)offset);
}

void cx_object_view_print_type(struct cx_text *text, const struct cx_object_view *view, bool described)
{
    cx_text_name(text, view->name);
    coex_gc_describer describe = described && view->type != NULL ? object_view_find_hook(view->type->id, OBJECT_VIEW_DESCRIBE).describe : NULL;
    if (describe == NULL) return;
    char shown[OBJECT_VIEW_TEXT] = "";
    describe(view->payload, view->size, shown, sizeof shown);
    shown[sizeof shown - 1] = '\0';
    cx_text_print(text, " \"");
    cx_text_name(text, shown);
    cx_text_print(text, "\"");
}
