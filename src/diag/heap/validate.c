/* coex_gc_validate_heap: a visit that looks whether table, headers, references, bitmaps, objects and stacks agree with each other.
 *
 *   1. each slot is empty or leads to an address inside the heap        all handles
 *   2. each header has a type, and the handle that leads there           all handles
 *   3. each reference is a handle of an object, an immediate or 0        marked objects: those born in this cycle may be half filled
 *   4. free handles: neither retired nor in use; marked ones in use      all handles (in place of the free list's links)
 *   5. no two objects overlap, none leaves its block or pages            marked and born objects
 *   6. frames: the bottom is one, each has room for its slots, and slots hold handles of objects       all stacks, as the root scan saw them
 *
 * Faults are lines of a text that is written when the cycle has ended. */
#include "diag/heap/object_view.h"
#include "diag/heap/visit.h"

#include <coex/gc_diag.h>
#include <inttypes.h>

enum { VALIDATE_SLICE_HANDLES = 64, VALIDATE_SLICE_WORDS = 512, VALIDATE_SLICE_SLOTS = 8192 };

struct validate {
    struct cx_text text;
    uint32_t faults;
    bool begun;
    uint64_t word, words;
    uint64_t *granules; /* a bit per 8 bytes of the blocks: taken */
    uint64_t granule_count;
    struct cx_object_view view; /* the object that is looked at */
    struct cx_stack_view *stacks;
    uint64_t stack_count, stack;
    uint64_t slot, header, frame; /* in the stack: next word, last header, its frame's number */
};

#define VALIDATE_FAULT(state, ...) ((state)->faults++, cx_text_print(&(state)->text, "Error: " __VA_ARGS__))

static uint64_t validate_address(const struct validate *state) { return (uint64_t)(uintptr_t)state->view.payload; }

/* ------------------------------------------------------------------ objects */

static void validate_reference(void *context, uint64_t offset, coex_handle value)
{
    struct validate *state = context;
    if (cx_handle_is_object(&cx_world.handles, value)) return;
    VALIDATE_FAULT(state, "Object at 0x%" PRIx64 " has invalid handle %" PRIu64 " at offset %" PRIu64 " (handle %" PRIu64 ", type ",
                   validate_address(state), value, offset, state->view.handle);
    cx_text_name(&state->text, state->view.name);
    cx_text_print(&state->text, ")\n");
}

/* Takes the granules of an object; false if one is taken already. */
static bool validate_take_granules(struct validate *state, uint64_t from, uint64_t to)
{
    bool free = true;
    for (uint64_t i = from; i < to && i < state->granule_count; i++) {
        uint64_t bit = (uint64_t)1 << (i % 64);
        free = free && (state->granules[i / 64] & bit) == 0;
        state->granules[i / 64] |= bit;
    }
    return free;
}

static void validate_space(struct validate *state)
{
    const struct cx_object_view *view = &state->view;
    struct cx_heap *heap = &cx_world.heap;
    if (view->large) {
        uint64_t page = (uint64_t)1 << heap->large.page_shift, before = (uintptr_t)view->payload & (page - 1);
        if (before + view->size > cx_large_bytes(&heap->large, view->payload))
            VALIDATE_FAULT(state, "Object of handle %" PRIu64 " at 0x%" PRIx64 " overlaps the end of its pages\n", view->handle,
                           validate_address(state));
        return;
    }
    uint64_t at = (uintptr_t)view->payload - (uintptr_t)heap->base;
    if (!validate_take_granules(state, (at - cx_type_prefix(view->type)) / 8, (at + cx_round8(view->size)) / 8))
        VALIDATE_FAULT(state, "Object of handle %" PRIu64 " at 0x%" PRIx64 " overlaps another\n", view->handle,
                       validate_address(state));
}

/* A header that makes no sense, or a slot that leads nowhere. True: neither. */
static bool validate_header(struct validate *state)
{
    const struct cx_object_view *view = &state->view;
    const struct cx_heap *heap = &cx_world.heap;
    if (!cx_large_contains(&heap->large, view->payload) && !cx_heap_in_blocks(heap, view->payload)) {
        VALIDATE_FAULT(state, "Handle %" PRIu64 " points to address 0x%" PRIx64 " outside heap bounds\n", view->handle,
                       validate_address(state));
        return false;
    }
    uint32_t id = cx_header_type(view->header);
    if (view->type == NULL && cx_type_find(&cx_world.types, id) == NULL) {
        VALIDATE_FAULT(state, "Object at 0x%" PRIx64 " has invalid type_id %u\n", validate_address(state), id);
        return false;
    }
    if (view->type == NULL) {
        VALIDATE_FAULT(state, "Object of handle %" PRIu64 " at 0x%" PRIx64 " overlaps the end of its space\n", view->handle,
                       validate_address(state));
        return false;
    }
    if (cx_header_handle(view->header) != cx_index_of(view->handle))
        VALIDATE_FAULT(state, "Object of handle %" PRIu64 " has handle %" PRIu64 " in its header\n", view->handle,
                       cx_header_handle(view->header));
    return true;
}

/* ------------------------------------------------------------------ handles */

static void validate_handle(struct validate *state, uint64_t index)
{
    const struct cx_handles *handles = &cx_world.handles;
    uint64_t bit = (uint64_t)1 << (index % 64), word = index / 64;
    /* Slot before bits: a handle is allocated before it gets an object, and retired after it has lost it. */
    bool object = cx_object_view_take(&state->view, cx_object_view_handle_at(index));
    bool allocated = (cx_a64_load_acquire(&handles->allocated[word]) & bit) != 0;
    bool retired = (cx_a64_load_relaxed(&handles->retired[word]) & bit) != 0;
    bool marked = (cx_a64_load_relaxed(&handles->marked[word]) & bit) != 0;
    coex_handle handle = state->view.handle;
    if (retired && !allocated) VALIDATE_FAULT(state, "Free list: handle %" PRIu64 " is retired and free\n", handle);
    if (object && (retired || !allocated))
        VALIDATE_FAULT(state, "Free list: handle %" PRIu64 " is %s and points to address 0x%" PRIx64 "\n", handle,
                       retired ? "retired" : "free", validate_address(state));
    if (marked && (!object || retired || !allocated))
        VALIDATE_FAULT(state, "Handle %" PRIu64 " is marked and names no object\n", handle);
    if (!object || !validate_header(state)) return;
    if (marked || cx_handle_is_born(handles, handle)) validate_space(state);
    if (marked) cx_object_view_each(&state->view, validate_reference, state);
}

/* Looks at the handles of words that are not wholly free. False: that was the end. */
static bool validate_some_handles(struct validate *state)
{
    const struct cx_handles *handles = &cx_world.handles;
    uint64_t looked = 0,
             end = state->word + VALIDATE_SLICE_WORDS < state->words ? state->word + VALIDATE_SLICE_WORDS : state->words;
    for (; state->word < end && looked < VALIDATE_SLICE_HANDLES; state->word++) {
        for (uint64_t bit = state->word == 0; bit < 64; bit++) {
            uint64_t index = state->word * 64 + bit;
            bool any = cx_handle_payload(handles, index) != NULL || cx_bit_test(handles->retired, index) ||
                       cx_bit_test(handles->marked, index);
            if (any) validate_handle(state, index);
            looked += any;
        }
    }
    return state->word < state->words;
}

/* ------------------------------------------------------------------- stacks */

static void validate_frame_end(struct validate *state, const struct cx_stack_view *view, const char *name, uint64_t end)
{
    uint64_t slots = ~cx_stack_view_word(view, state->header), room = end - state->header - 1;
    if (slots > room)
        VALIDATE_FAULT(state, "Shadow stack of %s: frame %" PRIu64 " has %" PRIu64 " slots and room for %" PRIu64 "\n", name,
                       state->frame, slots, room);
}

static void validate_slot(struct validate *state, const struct cx_stack_view *view, const char *name)
{
    uint64_t word = cx_stack_view_word(view, state->slot);
    if (!cx_is_reference(word) || cx_stack_view_is_local(view, state->slot) || cx_handle_is_object(&cx_world.handles, word)) return;
    VALIDATE_FAULT(state, "Shadow stack of %s: frame %" PRIu64 ", slot %" PRIu64 " has invalid handle %" PRIu64 "\n", name,
                   state->frame, state->slot - state->header - 1, word);
}

/* A slice of the stack that is looked at. False: it is done. */
static bool validate_some_words(struct validate *state, const struct cx_stack_view *view)
{
    char name[64];
    cx_stack_view_name(view, name, sizeof name);
    if (state->slot == 0) {
        state->header = state->frame = 0;
        if (view->words == 0 || !cx_shadow_is_header(cx_stack_view_word(view, 0))) {
            VALIDATE_FAULT(state, "Shadow stack of %s: it does not begin with a frame\n", name);
            return false;
        }
        state->slot = 1;
    }
    uint64_t end = state->slot + VALIDATE_SLICE_SLOTS < view->words ? state->slot + VALIDATE_SLICE_SLOTS : view->words;
    for (; state->slot < end; state->slot++) {
        if (cx_shadow_is_header(cx_stack_view_word(view, state->slot))) {
            validate_frame_end(state, view, name, state->slot);
            state->header = state->slot;
            state->frame++;
        } else {
            validate_slot(state, view, name);
        }
    }
    if (state->slot < view->words) return true;
    validate_frame_end(state, view, name, view->words);
    return false;
}

static bool validate_some_stacks(struct validate *state)
{
    if (state->stack == state->stack_count) return false;
    if (validate_some_words(state, &state->stacks[state->stack])) return true;
    state->stack++;
    state->slot = 0;
    return true;
}

/* ----------------------------------------------------------------- the call */

static bool validate_visit(void *context)
{
    struct validate *state = context;
    if (!state->begun) {
        state->begun = true;
        cx_text_print(&state->text, "=== HEAP VALIDATION FAILED ===\n"); /* dropped if it has not */
        state->words = cx_a64_load_acquire(&cx_world.handles.committed) / 64;
        state->granule_count = (uint64_t)cx_a32_load_acquire(&cx_world.heap.count) * (CX_BLOCK_BYTES / 8);
        state->granules = cx_os_allocate(state->granule_count / 8 + 8);
        if (state->granules == NULL) state->granule_count = 0; /* everything but overlaps is checked */
        state->stacks = cx_visit_stacks_gct(&state->stack_count);
    }
    return validate_some_handles(state) || validate_some_stacks(state);
}

static void validate_write(void *context)
{
    struct validate *state = context;
    cx_os_free(state->granules);
    cx_os_free(state->stacks);
    if (state->faults == 0) {
        cx_text_drop(&state->text);
        return;
    }
    cx_text_print(&state->text, "Validation found %u errors\n", state->faults);
    cx_text_write(&state->text);
}

int32_t coex_gc_validate_heap(void)
{
    struct validate state = {0};
    cx_visit_run("coex_gc_validate_heap", true, validate_visit, validate_write, &state);
    return state.faults < INT32_MAX ? (int32_t)state.faults : INT32_MAX;
}
