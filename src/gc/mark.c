/* See mark.h. Entered by the collector and by assisting mutators; each on its own struct cx_marker. */
#include "gc/mark.h"

#include "base/point.h"

/* What a trace function gets: a marker to push to, or another visitor of references. */
struct coex_gc_visitor {
    struct cx_marker *marker;
    cx_reference_visitor visit;
    void *context;
    const char *payload;
};

void cx_marker_init(struct cx_marker *marker) { *marker = (struct cx_marker){0}; }

void cx_marker_fini(struct cx_marker *marker)
{
    CX_CHECK("INV-MARK-2", marker->table_count == 0 && marker->object_count == 0);
    cx_grey_hand_over(&cx_world.grey, &marker->chunk);
    cx_grey_give_empty(&cx_world.grey, marker->chunk);
    marker->chunk = NULL;
}

void coex_gc_visit(coex_gc_visitor *visitor, const coex_handle *field)
{
    coex_handle value = cx_a64_load_acquire(cx_a64_at(field));
    if (!cx_is_reference(value))
        return;
    if (visitor->visit != NULL)
        visitor->visit(visitor->context, (uint64_t)((const char *)field - visitor->payload), value);
    else
        cx_mark_push(visitor->marker, value);
}

/* ------------------------------------------------------------- references */

static inline void mark_field(struct cx_marker *marker, const uint64_t *field)
{
    uint64_t value = cx_a64_load_acquire(cx_a64_at(field));
    if (cx_is_reference(value))
        cx_mark_push(marker, value);
}

/* References of an array from element `index` on. A long one goes back on the stack after a step, so that the stack stays small and
 * others can share the work. */
static void mark_array(struct cx_marker *marker, const uint64_t *payload, uint64_t size, uint64_t from, uint64_t index)
{
    uint64_t end = size / 8, start = from / 8 + index;
    if (end > start + CX_MARK_ARRAY_STEP) {
        end = start + CX_MARK_ARRAY_STEP;
        coex_handle handle = cx_header_handle(payload[-1]);
        if (marker->chunk == NULL || marker->chunk->count + 2 > CX_CHUNK_ENTRIES)
            cx_grey_next_chunk(&cx_world.grey, &marker->chunk);
        if (marker->chunk != NULL) {
            marker->chunk->entry[marker->chunk->count++] = handle;
            marker->chunk->entry[marker->chunk->count++] = CX_GREY_INDEX | (end - from / 8);
        } else {
            end = size / 8; /* no chunk to be had: all of it now */
        }
    }
    for (uint64_t i = start; i < end; i++)
        mark_field(marker, &payload[i]);
}

static inline void mark_references(struct cx_marker *marker, const struct cx_type *type, uint64_t *payload, uint64_t size)
{
    uint64_t words = type->ref_words;
    if (size < 512)
        words &= ((uint64_t)1 << (size / 8)) - 1; /* in a type of variable size a field past the end is not there */
    for (; words != 0; words &= words - 1)
        mark_field(marker, &payload[__builtin_ctzll(words)]);
    if (CX_UNLIKELY(type->far_count != 0)) {
        for (uint32_t i = 0; i < type->far_count; i++) {
            if (type->far_refs[i] + (uint64_t)8 <= size)
                mark_field(marker, &payload[type->far_refs[i] / 8]);
        }
    }
    if ((type->flags & COEX_GC_REF_ARRAY) != 0)
        mark_array(marker, payload, size, type->array_offset, 0);
    if (CX_UNLIKELY(type->trace != NULL)) {
        coex_gc_visitor visitor = {.marker = marker, .payload = (const char *)payload};
        type->trace(payload, size, &visitor);
    }
}

/* Marks the lines of a marked object and pushes what it refers to. */
static inline void mark_trace(struct cx_marker *marker, uint64_t *payload)
{
    const struct cx_type *type = cx_type_at(&cx_world.types, cx_header_type(payload[-1]));
    uint64_t size = cx_type_payload_size(type, payload);
    if (CX_LIKELY(cx_heap_in_blocks(&cx_world.heap, payload))) {
        char *start = (char *)payload - cx_type_prefix(type);
        cx_heap_mark_lines(&cx_world.heap, start, (char *)payload + size - 1);
    }
    mark_references(marker, type, payload, size);
}

/* ------------------------------------------------------------- the queues */

static inline void mark_enqueue(struct cx_marker *marker, coex_handle handle)
{
    uint64_t index = cx_index_of(handle);
    __builtin_prefetch(&cx_world.handles.marked[index / 64], 1);
    __builtin_prefetch(&cx_world.handles.table[index]);
    marker->table_queue[(marker->table_head + marker->table_count++) % CX_MARK_QUEUE] = handle;
}

/* The oldest of the table queue: marked if it was not, and on to the object queue. */
static inline void mark_step_table(struct cx_marker *marker)
{
    uint64_t index = cx_index_of(marker->table_queue[marker->table_head]);
    marker->table_head = (marker->table_head + 1) % CX_MARK_QUEUE;
    marker->table_count--;
    cx_a64 *word = &cx_world.handles.marked[index / 64];
    uint64_t bit = (uint64_t)1 << (index % 64);
    if ((cx_a64_load_relaxed(word) & bit) != 0 || (cx_a64_or_relaxed(word, bit) & bit) != 0)
        return;
    void *payload = cx_aptr_load_acquire(cx_aptr_at(&cx_world.handles.table[index]));
    if (CX_UNLIKELY(payload == NULL)) {
        CX_CHECK("INV-MARK-3 (a reachable handle has an object)", payload != NULL);
        return; /* a made-up handle in a root or a field: nothing to trace */
    }
    marker->marked++;
    __builtin_prefetch((char *)payload - 16);
    marker->object_queue[(marker->object_head + marker->object_count++) % CX_MARK_QUEUE] = payload;
}

static inline void mark_step_object(struct cx_marker *marker)
{
    uint64_t *payload = marker->object_queue[marker->object_head];
    marker->object_head = (marker->object_head + 1) % CX_MARK_QUEUE;
    marker->object_count--;
    mark_trace(marker, payload);
}

/* Goes on with an array whose index and handle are on top of the chunk. */
static void mark_continue_array(struct cx_marker *marker, uint64_t index)
{
    coex_handle handle = marker->chunk->entry[--marker->chunk->count];
    uint64_t *payload = cx_handle_payload(&cx_world.handles, handle);
    const struct cx_type *type = cx_type_at(&cx_world.types, cx_header_type(payload[-1]));
    mark_array(marker, payload, cx_type_payload_size(type, payload), type->array_offset, index & ~CX_GREY_INDEX);
}

/* The next candidate of the own chunk into the table queue; false: it is empty. */
static inline bool mark_fetch(struct cx_marker *marker)
{
    struct cx_chunk *chunk = marker->chunk;
    if (chunk == NULL || chunk->count == 0)
        return false;
    uint64_t entry = chunk->entry[--chunk->count];
    if (CX_UNLIKELY((entry & CX_GREY_INDEX) != 0))
        mark_continue_array(marker, entry);
    else
        mark_enqueue(marker, entry);
    return true;
}

/* One candidate through the pipeline. False: chunk and queues are empty. */
static inline bool mark_step(struct cx_marker *marker)
{
    bool fetched = marker->table_count < CX_MARK_QUEUE && mark_fetch(marker);
    if (marker->table_count == CX_MARK_QUEUE || (!fetched && marker->table_count != 0)) {
        if (marker->object_count == CX_MARK_QUEUE)
            mark_step_object(marker);
        mark_step_table(marker);
        return true;
    }
    if (fetched)
        return true;
    if (marker->object_count == 0)
        return false;
    mark_step_object(marker);
    return true;
}

/* Another chunk of the shared list in place of the empty one. */
static bool mark_take_chunk(struct cx_marker *marker)
{
    struct cx_chunk *chunk = cx_grey_take_full(&cx_world.grey);
    if (chunk == NULL)
        return false;
    cx_grey_give_empty(&cx_world.grey, marker->chunk);
    marker->chunk = chunk;
    return true;
}

/* Pushes what was spilled into the grey bitmap; false: nothing was. */
static bool mark_take_spilled_gct(struct cx_marker *marker)
{
    struct cx_handles *handles = &cx_world.handles;
    if (cx_a32_exchange_acq_rel(&cx_world.grey.spilled, 0) == 0)
        return false;
    uint64_t words = cx_a64_load_acquire(&handles->committed) / 64;
    for (uint64_t word = 0; word < words; word++) {
        uint64_t bits = cx_a64_load_relaxed(&handles->grey[word]);
        if (bits == 0)
            continue;
        bits = cx_a64_exchange_acq_rel(&handles->grey[word], 0);
        for (; bits != 0; bits &= bits - 1) {
            cx_mark_push(marker, word * 64 + (uint64_t)__builtin_ctzll(bits));
            while (mark_step(marker)) {
            }
        }
    }
    return true;
}

void cx_mark_drain_gct(struct cx_marker *marker)
{
    for (;;) {
        while (mark_step(marker) || mark_take_chunk(marker)) {
        }
        if (mark_take_spilled_gct(marker))
            continue;
        if (cx_grey_is_quiet(&cx_world.grey)) /* INV-GREY-2 */
            return;
        cx_os_sleep_ns(5000); /* an assistant has the rest, and is done in some microseconds */
    }
}

bool cx_mark_assist_self(uint64_t nanoseconds, cx_a64 *marked)
{
    struct cx_marker marker;
    cx_marker_init(&marker);
    marker.chunk = cx_grey_begin_assist(&cx_world.grey);
    if (marker.chunk == NULL)
        return false;
    uint64_t until = cx_os_now_ns() + nanoseconds;
    bool more = true;
    while (more && cx_os_now_ns() < until) {
        for (int i = 0; i < 64 && more; i++)
            more = mark_step(&marker) || mark_take_chunk(&marker);
    }
    /* Empty the queues, INV-MARK-2: the marked ones are traced, the others go back. */
    while (marker.object_count != 0)
        mark_step_object(&marker);
    for (; marker.table_count != 0; marker.table_count--) {
        cx_mark_push(&marker, marker.table_queue[marker.table_head]);
        marker.table_head = (marker.table_head + 1) % CX_MARK_QUEUE;
    }
    cx_a64_add_relaxed(marked, marker.marked);
    cx_marker_fini(&marker);
    CX_POINT("assist-handed-back");
    cx_grey_end_assist(&cx_world.grey);
    return true;
}

/* ------------------------------------------------------------------ roots */

static void mark_frozen_of_gct(struct cx_marker *marker, struct cx_thread *thread)
{
    struct cx_span span;
    while (cx_shadow_claim_gct(&thread->shadow, &span)) {
        CX_POINT("frozen-claimed");
        cx_shadow_check_span(&thread->shadow, span, cx_a64_load_relaxed(&thread->os_id));
        for (uint64_t i = span.from; i < span.to; i++) {
            coex_handle handle = cx_shadow_reference(thread->shadow.base[i]);
            if (handle != 0)
                cx_mark_push(marker, handle);
        }
        cx_shadow_finish_gct(&thread->shadow, span);
    }
}

void cx_mark_frozen_gct(struct cx_marker *marker)
{
    uint32_t count = cx_a32_load_acquire(&cx_world.registry.count);
    for (uint32_t i = 0; i < count; i++)
        mark_frozen_of_gct(marker, cx_registry_at(&cx_world.registry, i));
}

/* --------------------------------------------------------------- visiting */

static void mark_visit_field(coex_gc_visitor *visitor, uint64_t *payload, uint64_t offset)
{
    coex_gc_visit(visitor, &payload[offset / 8]);
}

void cx_mark_each_reference(void *object, cx_reference_visitor visit, void *context)
{
    uint64_t *payload = object;
    const struct cx_type *type = cx_type_at(&cx_world.types, cx_header_type(payload[-1]));
    uint64_t size = cx_type_payload_size(type, payload);
    coex_gc_visitor visitor = {.visit = visit, .context = context, .payload = object};
    for (uint32_t i = 0; i < type->descriptor->ref_count; i++) {
        uint64_t offset = type->descriptor->ref_offsets[i];
        if (offset + 8 <= size)
            mark_visit_field(&visitor, payload, offset);
    }
    if ((type->flags & COEX_GC_REF_ARRAY) != 0) {
        for (uint64_t offset = type->array_offset; offset + 8 <= size; offset += 8)
            mark_visit_field(&visitor, payload, offset);
    }
    if (type->trace != NULL)
        type->trace(payload, size, &visitor);
}
