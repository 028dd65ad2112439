/* See type.h. */
#include "gc/heap/type.h"

#include "gc/error.h"
#include "gc/lock_rank.h"

#include <string.h>

int cx_types_init(struct cx_types *types, uint64_t *shapes)
{
    if (!cx_range_reserve(&types->range, (size_t)COEX_GC_MAX_TYPES * sizeof(struct cx_type), 4096 * sizeof(struct cx_type)))
        return cx_error_set(COEX_GC_ENOMEM, "no address space for the types");
    /* A header that was overwritten then leads to a type of zeros, which validation can report, and not to a fault. */
    (void)cx_range_make_readable(&types->range);
    cx_mutex_init(&types->lock, CX_RANK_TYPES);
    types->shapes = shapes;
    cx_a32_store_relaxed(&types->count, 0);
    return COEX_GC_OK;
}

static void type_free_copy(coex_gc_type *copy)
{
    if (copy == NULL) return;
    for (uint32_t i = 0; copy->ref_names != NULL && i < copy->ref_count; i++) cx_os_free((void *)(uintptr_t)copy->ref_names[i]);
    cx_os_free((void *)(uintptr_t)copy->ref_names);
    cx_os_free((void *)(uintptr_t)copy->ref_offsets);
    cx_os_free((void *)(uintptr_t)copy->name);
    cx_os_free(copy);
}

void cx_types_fini(struct cx_types *types)
{
    for (uint32_t id = 1; id <= cx_a32_load_relaxed(&types->count); id++) {
        const struct cx_type *type = cx_type_at(types, id);
        cx_os_free((void *)(uintptr_t)type->far_refs);
        type_free_copy((coex_gc_type *)(uintptr_t)type->descriptor);
    }
    cx_range_release(&types->range);
    cx_mutex_fini(&types->lock);
}

/* Why a descriptor can't be registered, or NULL. */
static const char *type_fault(const coex_gc_type *type)
{
    if (type == NULL || type->name == NULL || type->name[0] == '\0')
        return "`name` must not be NULL or empty";
    if (type->size > CX_MAX_OBJECT) return "`size` exceeds the address space";
    if ((type->flags & ~(uint32_t)(COEX_GC_MUTABLE | COEX_GC_REF_ARRAY)) != 0)
        return "`flags` has unknown flags";
    if (type->align != 0 && type->align != 8 && type->align != 16 && type->align != 32 && type->align != 64)
        return "`align` must be 0, 8, 16, 32 or 64";
    if (type->trace != NULL && (type->ref_count != 0 || (type->flags & COEX_GC_REF_ARRAY) != 0))
        return "a type with `trace` must not have `ref_offsets` or COEX_GC_REF_ARRAY";
    if (type->ref_count != 0 && type->ref_offsets == NULL)
        return "`ref_offsets` must not be NULL if `ref_count` is not 0";
    if (type->ref_names != NULL && type->ref_count == 0)
        return "`ref_names` must be NULL if `ref_count` is 0";
    if ((type->flags & COEX_GC_REF_ARRAY) != 0 && type->array_offset % 8 != 0)
        return "`array_offset` must be a multiple of 8";
    if ((type->flags & COEX_GC_REF_ARRAY) != 0 && type->size != 0 && type->array_offset > type->size)
        return "`array_offset` must not exceed `size`";
    for (uint32_t i = 0; i < type->ref_count; i++) {
        if (type->ref_offsets[i] % 8 != 0) return "each of `ref_offsets` must be a multiple of 8";
        if (type->size != 0 && (uint64_t)type->ref_offsets[i] + 8 > type->size)
            return "each of `ref_offsets` must lie inside `size`";
        if (type->ref_names != NULL && type->ref_names[i] == NULL)
            return "each of `ref_names` must not be NULL";
    }
    return NULL;
}

static char *type_copy_text(const char *text)
{
    char *copy = cx_os_allocate(strlen(text) + 1);
    if (copy != NULL) memcpy(copy, text, strlen(text));
    return copy;
}

/* NULL: no memory. */
static coex_gc_type *type_copy(const coex_gc_type *from)
{
    coex_gc_type *copy = cx_os_allocate(sizeof *copy);
    if (copy == NULL) return NULL;
    *copy = *from;
    copy->name = type_copy_text(from->name);
    copy->ref_names = NULL;
    copy->ref_offsets = NULL;
    bool complete = copy->name != NULL;
    if (from->ref_count != 0) {
        uint32_t *offsets = cx_os_allocate(from->ref_count * sizeof *offsets);
        copy->ref_offsets = offsets;
        if (offsets != NULL) memcpy(offsets, from->ref_offsets, from->ref_count * sizeof *offsets);
        complete = complete && offsets != NULL;
    }
    if (from->ref_names != NULL) {
        const char **names = cx_os_allocate(from->ref_count * sizeof *names);
        copy->ref_names = names;
        for (uint32_t i = 0; names != NULL && i < from->ref_count; i++) {
            names[i] = type_copy_text(from->ref_names[i]);
            complete = complete && names[i] != NULL;
        }
        complete = complete && names != NULL;
    }
    if (!complete) {
        type_free_copy(copy);
        return NULL;
    }
    return copy;
}

/* The marker's view of a descriptor. False: no memory for the far offsets. */
static bool type_digest(struct cx_type *type, const coex_gc_type *copy)
{
    *type = (struct cx_type){
        .size = copy->size,
        .flags = copy->flags,
        .array_offset = copy->array_offset,
        .align = copy->align < 8 ? 8 : copy->align,
        .trace = copy->trace,
        .descriptor = copy,
    };
    uint32_t far = 0;
    for (uint32_t i = 0; i < copy->ref_count; i++) {
        if (copy->ref_offsets[i] < 512)
            type->ref_words |= (uint64_t)1 << (copy->ref_offsets[i] / 8);
        else
            far++;
    }
    type->uncommon = far != 0 || copy->trace != NULL || (copy->flags & COEX_GC_REF_ARRAY) != 0;
    if (far == 0) return true;
    uint32_t *offsets = cx_os_allocate(far * sizeof *offsets);
    if (offsets == NULL) return false;
    for (uint32_t i = 0; i < copy->ref_count; i++) {
        if (copy->ref_offsets[i] >= 512) offsets[type->far_count++] = copy->ref_offsets[i];
    }
    type->far_refs = offsets;
    return true;
}

static uint64_t type_shape(const struct cx_type *type)
{
    if (type->align > 8 || type->descriptor->finalize != NULL || type->size + COEX_GC_HEADER_BYTES > COEX_GC_SMALL_MAX)
        return COEX_GC_SHAPE_SLOW;
    return type->size == 0 ? COEX_GC_SHAPE_VARIABLE : type->size + 1;
}

static uint32_t type_add_locked(struct cx_types *types, coex_gc_type *copy)
{
    cx_mutex_assert_held(&types->lock);
    uint32_t id = cx_a32_load_relaxed(&types->count) + 1;
    size_t bytes = (size_t)(id + 1) * sizeof(struct cx_type);
    if (id >= COEX_GC_MAX_TYPES || bytes > types->range.reserved) {
        cx_error_set(COEX_GC_ELIMIT,
                     "coex_gc_register_type: no more than %u types can be registered", id - 1);
        return 0;
    }
    size_t ahead = types->range.committed * 2;
    if (bytes > types->range.committed &&
        !cx_range_commit(&types->range, ahead > bytes && ahead <= types->range.reserved ? ahead : bytes)) {
        cx_error_set(COEX_GC_ENOMEM, "coex_gc_register_type: no memory for another type");
        return 0;
    }
    struct cx_type *type = &((struct cx_type *)(void *)types->range.base)[id];
    if (!type_digest(type, copy)) {
        cx_error_set(COEX_GC_ENOMEM, "coex_gc_register_type: no memory for another type");
        return 0;
    }
    type->id = id;
    cx_a32_store_release(&types->count, id);
    cx_a64_store_release(cx_a64_at(&types->shapes[id]), type_shape(type));
    return id;
}

uint32_t cx_types_register(struct cx_types *types, const coex_gc_type *descriptor)
{
    const char *fault = type_fault(descriptor);
    if (fault != NULL) {
        const char *name = descriptor != NULL && descriptor->name != NULL ? descriptor->name : "";
        cx_error_set(COEX_GC_ETYPE, "coex_gc_register_type: type '%.60s': %s", name, fault);
        return 0;
    }
    coex_gc_type *copy = type_copy(descriptor);
    if (copy == NULL) {
        cx_error_set(COEX_GC_ENOMEM, "coex_gc_register_type: no memory for another type");
        return 0;
    }
    cx_mutex_lock(&types->lock);
    uint32_t id = type_add_locked(types, copy);
    cx_mutex_unlock(&types->lock);
    if (id == 0) type_free_copy(copy);
    return id;
}
