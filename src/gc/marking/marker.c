/* See marker.h. Entered by the collector and by assisting mutators; each on its own struct cx_marker. */
#include "gc/marking/marker.h"

#include "base/schedule_point.h"
#include "gc/stacks/root_record.h"

enum { MARK_TURNS_PER_LOOK = 64 }; /* of an assistant at the clock: a microsecond or so */

/* What a trace function gets: a marker to push to, or another visitor of references. */
struct coex_gc_visitor {
    struct cx_marker *marker;
    cx_reference_visitor visit;
    void *context;
    const char *payload;
    uint64_t visited; /* references, for a marker */
};

void (*cx_mark_watched_key)(struct cx_marker *marker, coex_handle key);

struct cx_marker *cx_visitor_marker(coex_gc_visitor *visitor) { return visitor->marker; }

void cx_marker_init(struct cx_marker *marker) { *marker = (struct cx_marker){0}; }

void cx_marker_fini(struct cx_marker *marker)
{
    CX_CHECK("INV-MARK-2", marker->queued == 0);
    cx_mark_queue_hand_over(&cx_world.mark_queue, &marker->chunk);
    cx_mark_queue_give_empty(&cx_world.mark_queue, marker->chunk);
    marker->chunk = NULL;
}

void coex_gc_visit(coex_gc_visitor *visitor, const coex_handle *field)
{
    coex_handle value = cx_a64_load_acquire(cx_a64_at(field));
    visitor->visited++;
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
    cx_fatal("INV-MARK-3 broken: the reference at %p of a live object: %s", (const void *)field, cx_thread_stale_text(value));
}

static inline void mark_field(struct cx_marker *marker, const uint64_t *field)
{
    uint64_t value = cx_a64_load_acquire(cx_a64_at(field));
    if (!cx_is_reference(value)) return;
    if (CX_CHECKED && !cx_handle_is_object(&cx_world.handles, value)) mark_stale_field(field, value);
    cx_mark_push(marker, value);
}

bool cx_mark_push_rest(struct cx_marker *marker, coex_handle handle, uint64_t rest)
{
    if (marker->chunk == NULL || marker->chunk->count + 2 > CX_CHUNK_ENTRIES) cx_mark_queue_next_chunk(&cx_world.mark_queue, &marker->chunk);
    if (marker->chunk == NULL) return cx_mark_queue_keep_rest(&cx_world.mark_queue, handle, rest);
    marker->chunk->entry[marker->chunk->count++] = handle;
    marker->chunk->entry[marker->chunk->count++] = rest;
    return true;
}

/* Returns where a step through entries [from, to) of an object ends. What comes after it goes back on the stack first, so that
 * the stack stays small and others can share the work. */
static uint64_t mark_step_end(struct cx_marker *marker, const uint64_t *payload, uint64_t kind, uint64_t from, uint64_t to)
{
    uint64_t end = to - from > CX_MARK_STEP ? from + CX_MARK_STEP : to;
    if (end < to && !cx_mark_push_rest(marker, cx_header_handle(cx_header_read(payload)), kind | end)) {
        marker->forgiven += to - end; /* no memory to remember it: all of it now */
        end = to;
    }
    cx_mark_spend(marker, (end - from) * CX_COST_WORD);
    return end;
}

/* Pushes the references of an array from element `index` on. */
static void mark_array(struct cx_marker *marker, const struct cx_type *type, const uint64_t *payload, uint64_t size, uint64_t index)
{
    const uint64_t *element = &payload[type->array_offset / 8];
    uint64_t count = size / 8 > type->array_offset / 8 ? size / 8 - type->array_offset / 8 : 0;
    if (index >= count) return;
    uint64_t end = mark_step_end(marker, payload, CX_REST_ARRAY, index, count);
    for (uint64_t i = index; i < end; i++) mark_field(marker, &element[i]);
}

/* Pushes the references far from the start of an object, from number `index` on. */
static void mark_far(struct cx_marker *marker, const struct cx_type *type, const uint64_t *payload, uint64_t size, uint64_t index)
{
    uint64_t end = mark_step_end(marker, payload, CX_REST_FAR, index, type->far_count);
    for (uint64_t i = index; i < end; i++) {
        if (type->far_refs[i] + (uint64_t)8 <= size) mark_field(marker, &payload[type->far_refs[i] / 8]);
    }
}

/* One call is one piece: the embedder's function can't be interrupted. It is charged by what it visits and by the size of its
 * object, a unit for a cache line. */
static void mark_call_trace(struct cx_marker *marker, const struct cx_type *type, const uint64_t *payload, uint64_t size)
{
    coex_gc_visitor visitor = {.marker = marker, .payload = (const char *)payload};
    type->trace(payload, size, &visitor);
    uint64_t units = visitor.visited * CX_COST_WORD + size / CX_BYTES_PER_UNIT;
    cx_mark_spend(marker, units);
    marker->forgiven += units;
}

/* What few types have: fields far from the start, an array of references, a trace function. */
static void mark_uncommon(struct cx_marker *marker, const struct cx_type *type, const uint64_t *payload, uint64_t size)
{
    if (type->far_count != 0) mark_far(marker, type, payload, size, 0);
    if ((type->flags & COEX_GC_REF_ARRAY) != 0) mark_array(marker, type, payload, size, 0);
    if (type->trace != NULL) mark_call_trace(marker, type, payload, size);
}

/* --------------------------------------------------------------- the loop */

/* Always inlined into its three uses, so that each has its own text: alone, shared, and told (shared, and each step is told of). */
#define MARK_TEMPLATE static inline __attribute__((always_inline))

/* Clears the mark of a made-up handle that a root or a field held: there is nothing to trace. If its word
 * is above the top of the table, nobody else would clear the mark (INV-HANDLE-5), and the next object
 * with this handle would pass for traced. */
static __attribute__((noinline)) void mark_take_back(cx_a64 *word, uint64_t bit) { cx_a64_and_release(word, ~bit); }

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
    if (CX_UNLIKELY(payload == NULL)) mark_take_back(word, bit);
    return payload;
}

/* What helpers have spent since the last call. */
static int64_t mark_extra(struct cx_marker *marker)
{
    int64_t extra = (int64_t)marker->extra;
    marker->extra = 0;
    return extra;
}

static void mark_settle(struct cx_marker *marker, struct cx_budget *budget)
{
    budget->left -= mark_extra(marker);
    budget->forgiven += (int64_t)marker->forgiven;
    marker->forgiven = 0;
}

/* Marks the lines of a marked object and pushes what it refers to. Takes what that cost beyond a turn from *left. */
MARK_TEMPLATE void mark_trace(struct cx_marker *marker, const struct cx_type *types, uint64_t *payload, const bool shared,
                              int64_t *left)
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
    if (CX_UNLIKELY(type->uncommon)) {
        mark_uncommon(marker, type, payload, size);
        *left -= mark_extra(marker);
    }
}

/* The key of a waiting ephemeron? */
static void mark_look_at_watch(struct cx_marker *marker, coex_handle handle)
{
    if (cx_bit_test_seq(cx_world.handles.watched, cx_index_of(handle))) cx_mark_watched_key(marker, handle);
}

/* Traces an object that others may be marking beside. */
static void mark_whole(struct cx_marker *marker, uint64_t *payload)
{
    int64_t left = 0;
    mark_trace(marker, cx_type_at(&cx_world.types, 0), payload, true, &left);
    cx_mark_spend(marker, (uint64_t)-left);
}

/* Goes on with a rest, whose handle was below it. */
static void mark_continue(struct cx_marker *marker, coex_handle handle, uint64_t rest)
{
    uint64_t *payload = cx_handle_payload(&cx_world.handles, handle);
    const struct cx_type *type = cx_type_at(&cx_world.types, cx_header_type(cx_header_read(payload)));
    uint64_t size = cx_type_payload_size(type, payload), index = rest & CX_GREY_REST_INDEX;
    switch (rest & (CX_GREY_REST | CX_GREY_REST_KIND)) {
    case CX_REST_ARRAY:
        mark_array(marker, type, payload, size, index);
        break;
    case CX_REST_FAR:
        mark_far(marker, type, payload, size, index);
        break;
    case CX_REST_OBJECT:
        mark_whole(marker, payload);
        break;
    default:
        cx_mark_watched_key(marker, handle);
        break;
    }
}

static bool mark_has_entries(const struct cx_marker *marker) { return marker->chunk != NULL && marker->chunk->count != 0; }

/* Turns of both rings, until the budget is spent: in each a candidate comes in, the one that came in a round ago is marked, and
 * the object that was marked a round ago is traced. Returns false if chunk and queues are empty. */
MARK_TEMPLATE bool mark_turns(struct cx_marker *marker, struct cx_budget *budget, const bool shared, const bool told)
{
    cx_a64 *const marked = cx_world.handles.marked;
    void **const table = cx_world.handles.table;
    const struct cx_type *const types = cx_type_at(&cx_world.types, 0);
    uint32_t turn = marker->turn, queued = marker->queued;
    uint64_t count = 0;
    int64_t left = budget->left;
    for (; left > 0; left -= CX_COST_TURN) {
        uint32_t place = turn++ % CX_MARK_QUEUE;
        uint64_t *object = marker->object_queue[place];
        if (object != NULL) {
            queued--;
            if (told) cx_world.events.tell(CX_DETAIL_TRACED, cx_header_handle(object[-1]), (uintptr_t)object);
            mark_trace(marker, types, object, shared, &left);
            marker->object_queue[place] = NULL;
        }
        coex_handle candidate = marker->table_queue[place];
        if (candidate != 0) {
            object = mark_claim(marked, table, candidate, shared);
            if (told) cx_world.events.tell(object != NULL ? CX_DETAIL_MARKED : CX_DETAIL_MET_AGAIN, candidate, 0);
            marker->object_queue[place] = object;
            if (object != NULL) {
                if (CX_UNLIKELY(cx_a32_load_seq(&cx_world.watching) != 0)) {
                    mark_look_at_watch(marker, candidate);
                    left -= mark_extra(marker);
                }
                __builtin_prefetch(object - 1);
                __builtin_prefetch(object + 1); /* a small object may lie across two cache lines */
                count++;
            } else {
                queued--;
            }
        }
        candidate = 0;
        if (mark_has_entries(marker)) {
            candidate = marker->chunk->entry[--marker->chunk->count];
            if (CX_LIKELY((candidate & CX_GREY_REST) == 0)) {
                __builtin_prefetch(&marked[cx_index_of(candidate) / 64], 1);
                __builtin_prefetch(&table[cx_index_of(candidate)]);
                queued++;
            } else { /* a step of it, and the queues turn on */
                mark_continue(marker, marker->chunk->entry[--marker->chunk->count], candidate);
                left -= mark_extra(marker);
                candidate = 0;
            }
        }
        marker->table_queue[place] = candidate;
        if (CX_UNLIKELY(queued == 0) && !mark_has_entries(marker)) break;
    }
    marker->turn = turn;
    marker->queued = queued;
    marker->marked += count;
    budget->left = left;
    mark_settle(marker, budget);
    return queued != 0 || mark_has_entries(marker);
}

/* Returns false if everything in reach of the own chunk is done. */
static bool mark_run(struct cx_marker *marker, struct cx_budget *budget)
{
    if (cx_event_wants(&cx_world.events, 2)) return mark_turns(marker, budget, true, true);
    return marker->shared ? mark_turns(marker, budget, true, false) : mark_turns(marker, budget, false, false);
}

/* Does a step of a rest that no chunk was had for. Returns false if there is none. */
static bool mark_take_rest(struct cx_marker *marker, struct cx_budget *budget)
{
    coex_handle handle;
    uint64_t rest;
    if (!cx_mark_queue_take_rest(&cx_world.mark_queue, &handle, &rest)) return false;
    mark_continue(marker, handle, rest);
    mark_settle(marker, budget);
    return true;
}

/* Another chunk of the shared list in place of the empty one. */
static bool mark_take_chunk(struct cx_marker *marker)
{
    struct cx_chunk *chunk = cx_mark_queue_take_full(&cx_world.mark_queue);
    if (chunk == NULL) return false;
    cx_mark_queue_give_empty(&cx_world.mark_queue, marker->chunk);
    marker->chunk = chunk;
    return true;
}

/* The collector is between two chunks: if a mutator wants to help, it may from now on (INV-MARK-1). */
static void mark_allow_assist_gct(struct cx_marker *marker)
{
    if (marker->shared || cx_a32_load_relaxed(&cx_world.mark_queue.assist_wanted) == 0) return;
    marker->shared = true;
    cx_a32_store_release(&cx_world.mark_queue.assist_allowed, 1);
}

/* Reads on in the grey bitmap, and queues the first handle that was spilled there. Returns false if the bitmap is read to its end
 * and nothing was spilled since. */
static bool mark_take_spilled_gct(struct cx_marker *marker, struct cx_budget *budget)
{
    struct cx_handles *handles = &cx_world.handles;
    if (!marker->spilling) {
        if (cx_a32_exchange_acq_rel(&cx_world.mark_queue.spilled, 0) == 0) return false;
        marker->spilling = true;
        marker->spill_word = 0;
    }
    uint64_t words = cx_a64_load_acquire(&handles->committed) / 64;
    for (; marker->spill_word < words && cx_budget_is_left(budget); marker->spill_word++) {
        uint64_t bits = cx_a64_load_acquire(&handles->spilled[marker->spill_word]);
        cx_budget_spend(budget, CX_COST_WORD);
        if (bits == 0) continue;
        cx_a64_and_acq_rel(&handles->spilled[marker->spill_word], ~(bits & -bits));
        /* Straight into the queue, which is empty: there may be no chunk for it. */
        marker->table_queue[marker->turn % CX_MARK_QUEUE] = marker->spill_word * 64 + (uint64_t)__builtin_ctzll(bits);
        marker->queued = 1;
        return true;
    }
    marker->spilling = marker->spill_word < words;
    return true;
}

bool cx_mark_some_gct(struct cx_marker *marker, struct cx_budget *budget)
{
    mark_allow_assist_gct(marker);
    while (cx_budget_is_left(budget)) {
        if (mark_run(marker, budget)) continue; /* the budget is spent */
        cx_budget_spend(budget, CX_COST_LOCK);
        if (mark_take_rest(marker, budget) || mark_take_chunk(marker) || mark_take_spilled_gct(marker, budget)) continue;
        if (cx_mark_queue_is_quiet(&cx_world.mark_queue)) /* INV-QUEUE-2 */
            return false;
        cx_os_sleep_ns(5000); /* an assistant has the rest, and is done in some microseconds */
        return true;
    }
    return true;
}

/* Empties the queues, INV-MARK-2: marked objects become rests, candidates go back. */
static void mark_empty_queues(struct cx_marker *marker)
{
    for (uint32_t i = 0; i < CX_MARK_QUEUE; i++) {
        uint64_t *object = marker->object_queue[i];
        if (object != NULL && !cx_mark_push_rest(marker, cx_header_handle(cx_header_read(object)), CX_REST_OBJECT))
            mark_whole(marker, object);
        if (marker->table_queue[i] != 0) cx_mark_push(marker, marker->table_queue[i]);
        marker->object_queue[i] = NULL;
        marker->table_queue[i] = 0;
    }
    marker->queued = 0;
}

bool cx_mark_assist_self(uint64_t nanoseconds, cx_a64 *marked)
{
    struct cx_marker marker;
    cx_a32_store_relaxed(&cx_world.mark_queue.assist_wanted, 1);
    if (cx_a32_load_acquire(&cx_world.mark_queue.assist_allowed) == 0) return false;
    cx_marker_init(&marker);
    marker.shared = true;
    marker.chunk = cx_mark_queue_begin_assist(&cx_world.mark_queue);
    if (marker.chunk == NULL) return false;
    uint64_t until = cx_os_now_ns() + nanoseconds;
    bool more = true;
    while (more && cx_os_now_ns() < until) {
        struct cx_budget budget = cx_budget_of(MARK_TURNS_PER_LOOK * CX_COST_TURN);
        more = mark_run(&marker, &budget) || mark_take_rest(&marker, &budget) || mark_take_chunk(&marker);
        cx_budget_check(&budget, "assist");
    }
    mark_empty_queues(&marker);
    cx_a64_add_relaxed(marked, marker.marked);
    cx_marker_fini(&marker);
    CX_SCHEDULE_POINT("assist-handed-back");
    cx_mark_queue_end_assist(&cx_world.mark_queue);
    return true;
}

/* ------------------------------------------------------------------ roots */

static bool mark_frozen_chunk_gct(struct cx_marker *marker, struct cx_shadow *stack, struct cx_budget *budget)
{
    struct cx_span span;
    if (!cx_shadow_claim_gct(stack, &span)) return false;
    CX_SCHEDULE_POINT("frozen-claimed");
    cx_shadow_check_span(stack, span, false, cx_a64_load_relaxed(&stack->thread));
    cx_root_record_fill(stack, span);
    for (uint64_t i = span.from; i < span.to; i++) {
        coex_handle handle = cx_shadow_reference(stack, i);
        if (handle != 0 && cx_handle_is_object(&cx_world.handles, handle)) /* a local of a frame that is gone may hold anything */
            cx_mark_push(marker, handle);
    }
    cx_shadow_finish_gct(stack, span);
    cx_budget_spend(budget, (span.to - span.from) * CX_COST_WORD);
    return true;
}

/* A suspended stack that is not done is frozen as a whole (INV-STACK-3). False: a thread has just switched to it, and freezes it. */
static bool mark_freeze_suspended_gct(struct cx_shadow *stack)
{
    uint64_t cycle = cx_a64_load_relaxed(&cx_world.cycle);
    uint32_t state = CX_SHADOW_SUSPENDED;
    if (cx_a64_load_acquire(&stack->done) == cycle) return true;
    if (!cx_a32_cas_acq_rel(&stack->state, &state, CX_SHADOW_CLAIMED)) return state == CX_SHADOW_VACANT;
    CX_SCHEDULE_POINT("stack-claimed");
    if (cx_a64_load_relaxed(&stack->done) != cycle) {
        cx_root_record_freeze(stack, (uint64_t)(stack->top - stack->base));
        cx_a64_store_release(&stack->done, cycle);
    }
    cx_a32_store_release(&stack->state, CX_SHADOW_SUSPENDED);
    return true;
}

bool cx_mark_frozen_gct(struct cx_marker *marker, uint64_t *at, struct cx_budget *budget)
{
    uint32_t count = cx_a32_load_acquire(&cx_world.stacks.count);
    while (*at < count && cx_budget_is_left(budget)) {
        struct cx_shadow *stack = cx_stack_at(&cx_world.stacks, (uint32_t)*at);
        cx_budget_spend(budget, CX_COST_ENTRY);
        if (mark_freeze_suspended_gct(stack) && !mark_frozen_chunk_gct(marker, stack, budget)) ++*at;
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
