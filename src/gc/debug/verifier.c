/* See verifier.h. */
#include "gc/debug/verifier.h"

#include "gc/marking/global_roots.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* --------------------------------------------------- marks, INV-VERIFY-1 */

static bool verify_is_alive(coex_handle handle)
{
    const struct cx_handles *handles = &cx_world.handles;
    return cx_index_of(handle) < cx_a64_load_acquire(&handles->committed) &&
           (cx_handle_is_marked(handles, handle) || cx_handle_is_born(handles, handle));
}

static const char *verify_type_name(void *payload)
{
    const struct cx_type *type = cx_type_find(&cx_world.types, cx_header_type(cx_header_read(payload)));
    return type != NULL ? type->descriptor->name : "?";
}

static void verify_edge(void *parent, uint64_t offset, coex_handle child)
{
    if (verify_is_alive(child)) return;
    const char *where = parent == NULL ? "a global root" : verify_type_name(parent);
    unsigned long long from = parent == NULL ? 0 : (unsigned long long)cx_header_handle(cx_header_read(parent));
    void *object =
        cx_index_of(child) < cx_a64_load_acquire(&cx_world.handles.committed) ? cx_handle_payload(&cx_world.handles, child) : NULL;
    cx_fatal("INV-VERIFY-1 broken: %s (handle %llu), offset %llu, refers to %s (handle %llu), which is neither marked nor born in "
             "cycle %llu",
             where, from, (unsigned long long)offset, object != NULL ? verify_type_name(object) : "no object",
             (unsigned long long)child, (unsigned long long)cx_a64_load_relaxed(&cx_world.cycle));
}

static void verify_word(uint64_t word, uint64_t bits)
{
    for (; bits != 0; bits &= bits - 1) {
        void *payload = cx_handle_payload(&cx_world.handles, word * 64 + (uint64_t)__builtin_ctzll(bits));
        if (payload != NULL) cx_mark_each_reference(payload, verify_edge, payload);
    }
}

/* From begin to marks; the collector's. */
static struct {
    uint64_t words;
    uint64_t *allocated; /* as of begin */
    cx_a64 *fresh;       /* handles that threads held at their answer. A bit per handle that there can ever be, since the table may
                            grow meanwhile; memory comes as it is touched */
} verify_flush;

void cx_verify_begin_gct(void)
{
    struct cx_handles *handles = &cx_world.handles;
    verify_flush.words = cx_a64_load_acquire(&handles->committed) / 64;
    verify_flush.allocated = cx_os_allocate(verify_flush.words * sizeof(uint64_t));
    verify_flush.fresh = cx_os_allocate(handles->max / 64 * sizeof(cx_a64));
    if (verify_flush.allocated == NULL || verify_flush.fresh == NULL)
        cx_fatal("COEX_GC_DEBUG=verify: no memory for the bitmaps of the verifier");
    for (uint64_t i = 0; i < verify_flush.words; i++) verify_flush.allocated[i] = cx_a64_load_acquire(&handles->allocated[i]);
    cx_aptr_store_release(&cx_world.fresh, verify_flush.fresh);
}

void cx_verify_marks_gct(void)
{
    struct cx_handles *handles = &cx_world.handles;
    cx_aptr_store_release(&cx_world.fresh, NULL);
    for (uint64_t word = 0; word < verify_flush.words; word++) {
        uint64_t born = cx_a64_load_relaxed(&handles->born[word]) & ~cx_a64_load_relaxed(&verify_flush.fresh[word]);
        uint64_t live = cx_a64_load_relaxed(&handles->marked[word]) | born;
        verify_word(word, verify_flush.allocated[word] & live);
    }
    cx_roots_each(verify_edge, NULL);
    cx_os_free(verify_flush.fresh);
    cx_os_free(verify_flush.allocated);
}

/* ------------------------------------------------------------ whole heap */

struct verify_state {
    cx_fault_reporter report;
    void *context;
    uint32_t faults;
    uint64_t *granules; /* a bit per 8 bytes of the blocks: taken */
    uint64_t granule_count;
    coex_handle parent;
};

__attribute__((format(printf, 2, 3))) static void verify_fault(struct verify_state *state, const char *format, ...)
{
    char line[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    state->faults++;
    state->report(state->context, line);
}

static void verify_reference(void *context, uint64_t offset, coex_handle value)
{
    struct verify_state *state = context;
    (void)offset;
    if (!cx_handle_is_object(&cx_world.handles, value))
        verify_fault(state, "Error: Object of handle %" PRIu64 " refers to invalid handle %" PRIu64, state->parent, value);
}

/* Takes the granules of an object; false if one is taken already. */
static bool verify_take_granules(struct verify_state *state, uint64_t from, uint64_t to)
{
    bool free = true;
    for (uint64_t i = from; i < to && i < state->granule_count; i++) {
        uint64_t bit = (uint64_t)1 << (i % 64);
        free = free && (state->granules[i / 64] & bit) == 0;
        state->granules[i / 64] |= bit;
    }
    return free;
}

static void verify_object(struct verify_state *state, coex_handle handle, void *payload)
{
    const struct cx_heap *heap = &cx_world.heap;
    bool small = cx_heap_in_blocks(heap, payload);
    if (!small && !cx_large_contains(&heap->large, payload)) {
        verify_fault(state, "Error: Handle %" PRIu64 " points to address 0x%" PRIx64 " outside heap bounds", handle,
                     (uint64_t)(uintptr_t)payload);
        return;
    }
    uint64_t header = cx_a64_load_relaxed(cx_a64_at(cx_header_of(payload)));
    const struct cx_type *type = cx_type_find(&cx_world.types, cx_header_type(header));
    if (type == NULL) {
        verify_fault(state, "Error: Object at 0x%" PRIx64 " has invalid type_id %" PRIu64, (uint64_t)(uintptr_t)payload,
                     (uint64_t)cx_header_type(header));
        return;
    }
    if (cx_header_handle(header) != handle)
        verify_fault(state, "Error: Object of handle %" PRIu64 " has handle %" PRIu64 " in its header", handle,
                     cx_header_handle(header));
    uint64_t size = cx_type_payload_size(type, payload);
    if (small) {
        uint64_t from = ((uintptr_t)payload - (uintptr_t)heap->base - cx_type_prefix(type)) / 8;
        uint64_t to = ((uintptr_t)payload - (uintptr_t)heap->base + cx_round8(size)) / 8;
        if (!verify_take_granules(state, from, to))
            verify_fault(state, "Error: Object of handle %" PRIu64 " at 0x%" PRIx64 " overlaps another", handle,
                         (uint64_t)(uintptr_t)payload);
    }
    state->parent = handle;
    cx_mark_each_reference(payload, verify_reference, state);
}

uint32_t cx_verify_heap_gct(cx_fault_reporter report, void *context)
{
    struct cx_handles *handles = &cx_world.handles;
    struct verify_state state = {.report = report, .context = context};
    state.granule_count = (uint64_t)cx_a32_load_acquire(&cx_world.heap.count) * (CX_BLOCK_BYTES / 8);
    state.granules = cx_os_allocate(state.granule_count / 8 + 8);
    if (state.granules == NULL) state.granule_count = 0; /* everything but overlaps is checked */
    uint64_t words = cx_a64_load_acquire(&handles->committed) / 64;
    for (uint64_t word = 0; word < words; word++) {
        uint64_t marked = cx_a64_load_relaxed(&handles->marked[word]);
        uint64_t retired = cx_a64_load_relaxed(&handles->retired[word]);
        uint64_t allocated = cx_a64_load_acquire(&handles->allocated[word]);
        if ((retired & ~allocated) != 0)
            verify_fault(&state, "Error: Handles of word %" PRIu64 " are retired and free: 0x%" PRIx64, word, retired & ~allocated);
        for (uint64_t bits = marked; bits != 0; bits &= bits - 1) {
            coex_handle handle = word * 64 + (uint64_t)__builtin_ctzll(bits);
            void *payload = cx_handle_payload(handles, handle);
            if (payload == NULL || ((allocated & ~retired) >> (handle % 64) & 1) == 0)
                verify_fault(&state, "Error: Handle %" PRIu64 " is marked and names no object (slot 0x%" PRIx64 ")", handle,
                             (uint64_t)(uintptr_t)payload);
            else
                verify_object(&state, handle, payload);
        }
    }
    cx_os_free(state.granules);
    return state.faults;
}

static void verify_end_with(void *context, const char *line)
{
    (void)context;
    cx_fatal("INV-VERIFY-2 broken after the sweep of cycle %llu: %s", (unsigned long long)cx_a64_load_relaxed(&cx_world.cycle),
             line);
}

void cx_verify_swept_gct(void) { cx_verify_heap_gct(verify_end_with, NULL); }
