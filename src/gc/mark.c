/* See mark.h. Entered by the collector and by assisting mutators; each on its own struct cx_marker. */
#include "gc/mark.h"

#include "base/point.h"
#include "gc/shadow_record.h"

enum {
    MARK_TURNS_PER_LOOK = 64, /* of an assistant at the clock: a microsecond or so */
    MARK_FROZEN_CHUNKS = 16   /* in one slice */
};

/* What a trace function gets: a marker to push to, or another visitor of references. */
struct coex_gc_visitor {
    struct cx_marker *marker;
    cx_reference_visitor visit;
    void *context;
    const char *payload;
};

void (*cx_mark_watched_key)(struct cx_marker *marker, coex_handle key);

struct cx_marker *cx_visitor_marker(coex_gc_visitor *visitor) { return visitor->marker; }

void cx_marker_init(struct cx_marker *marker) { *marker = (struct cx_marker){0}; }

void cx_marker_fini(struct cx_marker *marker)
{
    CX_CHECK("INV-MARK-2", marker->queued == 0);
    cx_grey_hand_over(&cx_world.grey, &marker->chunk);
    cx_grey_give_empty(&cx_world.grey, marker->chunk);
    marker->chunk = NULL;
}

void coex_gc_visit(coex_gc_visitor *visitor, const coex_handle *field)
{
    coex_handle value = cx_a64_load_acquire(cx_a64_at(field));
    if (!cx_is_reference(value)) return;
    if (visitor->visit != NULL)
        visitor->visit(visitor->context, (uint64_t)((const char *)field - visitor->payload), value);
    else
        cx_mark_push(visitor->marker, value);
}

/* ------------------------------------------------------------- references */

/* A made-up handle, or one whose object is gone: whoever stored it had not rooted it. */
static void mark_stale_field(const uint64_t *field, coex_handle value)
{
    cx_fatal("INV-MARK-3 broken: the reference at %p of a live object: %s", (const void *)field, cx_thread_grave_text(value));
}

static inline void mark_field(struct cx_marker *marker, const uint64_t *field)
{
    uint64_t value = cx_a64_load_acquire(cx_a64_at(field));
    if (!cx_is_reference(value)) return;
    if (CX_CHECKED && !cx_handle_is_object(&cx_world.handles, value)) mark_stale_field(field, value);
    cx_mark_push(marker, value);
}

/* References of an array from element `index` on. A long one goes back on the stack after a step, so that the stack stays small and
 * others can share the work. */
static void mark_array(struct cx_marker *marker, const uint64_t *payload, uint64_t size, uint64_t from, uint64_t index)
{
    uint64_t end = size / 8, start = from / 8 + index;
    if (end > start + CX_MARK_ARRAY_STEP) {
        end = start + CX_MARK_ARRAY_STEP;
        coex_handle handle = cx_header_handle(cx_header_read(payload));
        if (marker->chunk == NULL || marker->chunk->count + 2 > CX_CHUNK_ENTRIES)
            cx_grey_next_chunk(&cx_world.grey, &marker->chunk);
        if (marker->chunk != NULL) {
            marker->chunk->entry[marker->chunk->count++] = handle;
            marker->chunk->entry[marker->chunk->count++] = CX_GREY_INDEX | (end - from / 8);
        } else {
            end = size / 8; /* no chunk to be had: all of it now */
        }
    }
    for (uint64_t i = start; i < end; i++) mark_field(marker, &payload[i]);
}

/* What few types have: fields far from the start, an array of references, a trace function. */
static void mark_uncommon(struct cx_marker *marker, const struct cx_type *type, uint64_t *payload, uint64_t size)
{
    for (uint32_t i = 0; i < type->far_count; i++) {
        if (type->far_refs[i] + (uint64_t)8 <= size) mark_field(marker, &payload[type->far_refs[i] / 8]);
    }
    if ((type->flags & COEX_GC_REF_ARRAY) != 0) mark_array(marker, payload, size, type->array_offset, 0);
    if (type->trace != NULL) {
        coex_gc_visitor visitor = {.marker = marker, .payload = (const char *)payload};
        type->trace(payload, size, &visitor);
    }
}

/* Goes on with an array whose index and handle are on top of the chunk. */
static void mark_continue_array(struct cx_marker *marker, uint64_t index)
{
    coex_handle handle = marker->chunk->entry[--marker->chunk->count];
    uint64_t *payload = cx_handle_payload(&cx_world.handles, handle);
    const struct cx_type *type = cx_type_at(&cx_world.types, cx_header_type(cx_header_read(payload)));
    mark_array(marker, payload, cx_type_payload_size(type, payload), type->array_offset, index & ~CX_GREY_INDEX);
}

/* --------------------------------------------------------------- the loop */

/* Always inlined into its three uses, so that each has its own text: alone, shared, and told (shared, and each step is told of). */
#define MARK_TEMPLATE static inline __attribute__((always_inline))

/* Sets the mark of a candidate; its payload if this call has set it, else NULL. */
MARK_TEMPLATE uint64_t *mark_claim(cx_a64 *marked, void **table, coex_handle handle, const bool shared)
{
    uint64_t index = cx_index_of(handle), bit = (uint64_t)1 << (index % 64);
    cx_a64 *word = &marked[index / 64];
    uint64_t bits = cx_a64_load_relaxed(word);
    if ((bits & bit) != 0) return NULL;
    if (!shared)
        cx_a64_store_release(word, bits | bit);     /* INV-WEAK-5: after the decision, for who looks at that */
    else if ((cx_a64_or_seq(word, bit) & bit) != 0) /* seq: against a new watch, INV-WEAK-4 */
        return NULL;
    uint64_t *payload = cx_aptr_load_acquire(cx_aptr_at(&table[index]));
    CX_CHECK("INV-MARK-3 (a reachable handle has an object)", payload != NULL);
    return payload; /* NULL: a made-up handle in a root or a field, nothing to trace */
}

/* Marks the lines of a marked object and pushes what it refers to. */
MARK_TEMPLATE void mark_trace(struct cx_marker *marker, const struct cx_type *types, uint64_t *payload, const bool shared)
{
    const struct cx_type *type = &types[cx_header_type(cx_a64_load_relaxed(cx_a64_at(payload - 1)))];
    uint64_t size = cx_type_payload_size(type, payload);
    if (CX_LIKELY(cx_heap_in_blocks(&cx_world.heap, payload)))
        cx_heap_mark_lines(cx_world.heap.blocks, cx_world.heap.base, (char *)payload - cx_type_prefix(type),
                           (char *)payload + size - 1, shared);
    uint64_t words = type->ref_words;
    if (CX_UNLIKELY(type->size == 0) && size < 512)
        words &= ((uint64_t)1 << (size / 8)) - 1; /* in a type of variable size a field past the end is not there */
    for (; words != 0; words &= words - 1) mark_field(marker, &payload[__builtin_ctzll(words)]);
    if (CX_UNLIKELY(type->uncommon)) mark_uncommon(marker, type, payload, size);
}

/* The key of a waiting ephemeron? */
static void mark_look_at_watch(struct cx_marker *marker, coex_handle handle)
{
    if (cx_bit_test_seq(cx_world.handles.watched, cx_index_of(handle))) cx_mark_watched_key(marker, handle);
}

/* `turns` turns of both rings: in each a candidate comes in, the one that came in a round ago is marked, and the object that was marked
 * a round ago is traced. False: chunk and queues are empty. */
MARK_TEMPLATE bool mark_turns(struct cx_marker *marker, uint64_t turns, const bool shared, const bool told)
{
    cx_a64 *const marked = cx_world.handles.marked;
    void **const table = cx_world.handles.table;
    const struct cx_type *const types = cx_type_at(&cx_world.types, 0);
    uint32_t turn = marker->turn, queued = marker->queued;
    uint64_t count = 0;
    for (; turns != 0; turns--) {
        uint32_t place = turn++ % CX_MARK_QUEUE;
        uint64_t *object = marker->object_queue[place];
        if (object != NULL) {
            queued--;
            if (told) cx_world.events.tell(CX_DETAIL_TRACED, cx_header_handle(object[-1]), (uintptr_t)object);
            mark_trace(marker, types, object, shared);
            marker->object_queue[place] = NULL;
        }
        coex_handle candidate = marker->table_queue[place];
        if (candidate != 0) {
            object = mark_claim(marked, table, candidate, shared);
            if (told) cx_world.events.tell(object != NULL ? CX_DETAIL_MARKED : CX_DETAIL_MET_AGAIN, candidate, 0);
            marker->object_queue[place] = object;
            if (object != NULL) {
                if (CX_UNLIKELY(cx_a32_load_seq(&cx_world.watching) != 0)) mark_look_at_watch(marker, candidate);
                __builtin_prefetch(object - 1);
                __builtin_prefetch(object + 1); /* a small object may lie across two cache lines */
                count++;
            } else {
                queued--;
            }
        }
        candidate = 0;
        while (marker->chunk != NULL && marker->chunk->count != 0) {
            candidate = marker->chunk->entry[--marker->chunk->count];
            if (CX_LIKELY((candidate & CX_GREY_INDEX) == 0)) {
                __builtin_prefetch(&marked[cx_index_of(candidate) / 64], 1);
                __builtin_prefetch(&table[cx_index_of(candidate)]);
                queued++;
                break;
            }
            mark_continue_array(marker, candidate);
            candidate = 0;
        }
        marker->table_queue[place] = candidate;
        if (CX_UNLIKELY(queued == 0)) break;
    }
    marker->turn = turn;
    marker->queued = queued;
    marker->marked += count;
    return queued != 0;
}

/* False: everything in reach of the own chunk is done. */
static bool mark_run(struct cx_marker *marker, uint64_t turns)
{
    if (cx_event_wants(&cx_world.events, 2)) return mark_turns(marker, turns, true, true);
    return marker->shared ? mark_turns(marker, turns, true, false) : mark_turns(marker, turns, false, false);
}

/* Another chunk of the shared list in place of the empty one. */
static bool mark_take_chunk(struct cx_marker *marker)
{
    struct cx_chunk *chunk = cx_grey_take_full(&cx_world.grey);
    if (chunk == NULL) return false;
    cx_grey_give_empty(&cx_world.grey, marker->chunk);
    marker->chunk = chunk;
    return true;
}

/* The collector is between two chunks: if a mutator wants to help, it may from now on (INV-MARK-1). */
static void mark_allow_assist_gct(struct cx_marker *marker)
{
    if (marker->shared || cx_a32_load_relaxed(&cx_world.grey.assist_wanted) == 0) return;
    marker->shared = true;
    cx_a32_store_release(&cx_world.grey.assist_allowed, 1);
}

/* Goes through what was spilled into the grey bitmap; false: nothing was. */
static bool mark_take_spilled_gct(struct cx_marker *marker)
{
    struct cx_handles *handles = &cx_world.handles;
    if (cx_a32_exchange_acq_rel(&cx_world.grey.spilled, 0) == 0) return false;
    uint64_t words = cx_a64_load_acquire(&handles->committed) / 64;
    for (uint64_t word = 0; word < words; word++) {
        if (cx_a64_load_relaxed(&handles->grey[word]) == 0) continue;
        uint64_t bits = cx_a64_exchange_acq_rel(&handles->grey[word], 0);
        for (; bits != 0; bits &= bits - 1) {
            /* Straight into the queue, which is empty: there may be no chunk for it. */
            marker->table_queue[marker->turn % CX_MARK_QUEUE] = word * 64 + (uint64_t)__builtin_ctzll(bits);
            marker->queued = 1;
            while (mark_run(marker, UINT64_MAX)) {
            }
        }
    }
    return true;
}

bool cx_mark_some_gct(struct cx_marker *marker, uint64_t turns)
{
    mark_allow_assist_gct(marker);
    if (mark_run(marker, turns) || mark_take_chunk(marker) || mark_take_spilled_gct(marker)) return true;
    if (cx_grey_is_quiet(&cx_world.grey)) /* INV-GREY-2 */
        return false;
    cx_os_sleep_ns(5000); /* an assistant has the rest, and is done in some microseconds */
    return true;
}

/* Empties the queues, INV-MARK-2: marked objects are traced, candidates go back. */
static void mark_empty_queues(struct cx_marker *marker)
{
    for (uint32_t i = 0; i < CX_MARK_QUEUE; i++) {
        if (marker->object_queue[i] != NULL) mark_trace(marker, cx_type_at(&cx_world.types, 0), marker->object_queue[i], true);
        if (marker->table_queue[i] != 0) cx_mark_push(marker, marker->table_queue[i]);
        marker->object_queue[i] = NULL;
        marker->table_queue[i] = 0;
    }
    marker->queued = 0;
}

bool cx_mark_assist_self(uint64_t nanoseconds, cx_a64 *marked)
{
    struct cx_marker marker;
    cx_a32_store_relaxed(&cx_world.grey.assist_wanted, 1);
    if (cx_a32_load_acquire(&cx_world.grey.assist_allowed) == 0) return false;
    cx_marker_init(&marker);
    marker.shared = true;
    marker.chunk = cx_grey_begin_assist(&cx_world.grey);
    if (marker.chunk == NULL) return false;
    uint64_t until = cx_os_now_ns() + nanoseconds;
    bool more = true;
    while (more && cx_os_now_ns() < until) more = mark_run(&marker, MARK_TURNS_PER_LOOK) || mark_take_chunk(&marker);
    mark_empty_queues(&marker);
    cx_a64_add_relaxed(marked, marker.marked);
    cx_marker_fini(&marker);
    CX_POINT("assist-handed-back");
    cx_grey_end_assist(&cx_world.grey);
    return true;
}

/* ------------------------------------------------------------------ roots */

static bool mark_frozen_chunk_gct(struct cx_marker *marker, struct cx_shadow *stack)
{
    struct cx_span span;
    if (!cx_shadow_claim_gct(stack, &span)) return false;
    CX_POINT("frozen-claimed");
    cx_shadow_check_span(stack, span, false, cx_a64_load_relaxed(&stack->thread));
    cx_record_fill(stack, span);
    for (uint64_t i = span.from; i < span.to; i++) {
        coex_handle handle = cx_shadow_reference(stack, i);
        if (handle != 0 && cx_handle_is_object(&cx_world.handles, handle)) /* a local of a frame that is gone may hold anything */
            cx_mark_push(marker, handle);
    }
    cx_shadow_finish_gct(stack, span);
    return true;
}

/* A suspended stack that is not done is frozen as a whole (INV-STACK-3). False: a thread has just switched to it, and freezes it. */
static bool mark_freeze_suspended_gct(struct cx_shadow *stack)
{
    uint64_t cycle = cx_a64_load_relaxed(&cx_world.cycle);
    uint32_t state = CX_SHADOW_SUSPENDED;
    if (cx_a64_load_acquire(&stack->done) == cycle) return true;
    if (!cx_a32_cas_acq_rel(&stack->state, &state, CX_SHADOW_CLAIMED)) return state == CX_SHADOW_VACANT;
    CX_POINT("stack-claimed");
    if (cx_a64_load_relaxed(&stack->done) != cycle) {
        cx_shadow_freeze(stack, (uint64_t)(stack->top - stack->base));
        cx_a64_store_release(&stack->done, cycle);
    }
    cx_a32_store_release(&stack->state, CX_SHADOW_SUSPENDED);
    return true;
}

bool cx_mark_frozen_gct(struct cx_marker *marker, uint64_t *at)
{
    uint32_t count = cx_a32_load_acquire(&cx_world.stacks.count);
    for (int chunks = 0; *at < count && chunks < MARK_FROZEN_CHUNKS; chunks++) {
        struct cx_shadow *stack = cx_stack_at(&cx_world.stacks, (uint32_t)*at);
        while (*at < count && mark_freeze_suspended_gct(stack) && !mark_frozen_chunk_gct(marker, stack))
            stack = cx_stack_at(&cx_world.stacks, (uint32_t)++ * at);
    }
    return *at < count;
}

/* --------------------------------------------------------------- visiting */

static void mark_visit_field(coex_gc_visitor *visitor, uint64_t *payload, uint64_t offset)
{
    coex_gc_visit(visitor, &payload[offset / 8]);
}

void cx_mark_each_reference(void *object, cx_reference_visitor visit, void *context)
{
    uint64_t *payload = object;
    const struct cx_type *type = cx_type_at(&cx_world.types, cx_header_type(cx_header_read(payload)));
    uint64_t size = cx_type_payload_size(type, payload);
    coex_gc_visitor visitor = {.visit = visit, .context = context, .payload = object};
    for (uint32_t i = 0; i < type->descriptor->ref_count; i++) {
        uint64_t offset = type->descriptor->ref_offsets[i];
        if (offset + 8 <= size) mark_visit_field(&visitor, payload, offset);
    }
    if ((type->flags & COEX_GC_REF_ARRAY) != 0) {
        for (uint64_t offset = type->array_offset; offset + 8 <= size; offset += 8) mark_visit_field(&visitor, payload, offset);
    }
    if (type->trace != NULL) type->trace(payload, size, &visitor);
}
