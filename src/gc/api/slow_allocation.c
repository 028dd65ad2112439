/* See slow_allocation.h. Entered by mutators, each on its own record. */
#include "gc/api/slow_allocation.h"

#include "base/schedule_point.h"
#include "gc/cycle/collector.h"
#include "gc/error.h"
#include "gc/marking/finalizers.h"
#include "gc/cycle/limit.h"
#include "gc/cycle/pace.h"
#include "gc/threads/native_transition.h"

enum alloc_outcome { ALLOC_DONE, ALLOC_NO_HANDLES, ALLOC_NO_SPACE };

struct alloc_request {
    const struct cx_type *type;
    uint64_t size;   /* payload */
    uint64_t prefix; /* words before it */
    uint64_t bytes;  /* in all */
};

struct alloc_result {
    coex_handle handle; /* index of the table */
    void *payload;
};

/* ---------------------------------------------------------------- handles */

/* The current word has at least one bit afterwards. False: none to be had. */
static bool alloc_ensure_handle(struct cx_thread *self)
{
    struct cx_held *held = &self->held;
    if (self->words.handle_bits != 0) return true;
    bool counted = cx_a64_load_relaxed(&cx_pace.trigger) != 0;
    if (held->count == 0) {
        if (counted) held->appetite = 0; /* the count trigger is exact to a word */
        if (!cx_handles_claim(&cx_world.handles, held, self->black)) return false;
        uint64_t claimed = 0;
        for (uint32_t i = 0; i < held->count; i++) claimed += (uint64_t)__builtin_popcountll(held->bits[i]);
        self->handles_taken += claimed;
        self->granted += claimed;
    } else if (counted) {
        cx_pace_count_late((uint64_t)__builtin_popcountll(held->bits[held->count - 1]));
    }
    held->count--;
    self->words.handle_bits = held->bits[held->count];
    self->words.handle_base = held->word[held->count] * CX_WORD_HANDLES;
    if (held->count != 0) { /* the slots of the next word: the sweep has left them in another core's cache */
        void **slots = &cx_world.handles.table[held->word[held->count - 1] * CX_WORD_HANDLES];
        for (int i = 0; i < CX_WORD_HANDLES; i += 8) __builtin_prefetch(&slots[i], 1);
    }
    return true;
}

static coex_handle alloc_next_handle(const struct cx_thread *self)
{
    return self->words.handle_base + (uint64_t)__builtin_ctzll(self->words.handle_bits);
}

static coex_handle alloc_take_handle(struct cx_thread *self)
{
    coex_handle handle = alloc_next_handle(self);
    self->words.handle_bits &= self->words.handle_bits - 1;
    return handle;
}

/* ------------------------------------------------------------------ space */

static char *alloc_large(struct cx_thread *self, const struct alloc_request *request)
{
    /* Pages are aligned to more than any payload asks for: the payload goes to the first aligned place behind its prefix. */
    uint64_t align = request->type->align;
    uint64_t offset = ((request->prefix + align - 1) & ~(align - 1)) - request->prefix;
    self->claim.handle = alloc_next_handle(self);
    char *pages = cx_heap_take_large(&cx_world.heap, request->bytes + offset, &self->claim);
    if (pages == NULL) return NULL;
    self->granted++;
    self->tlab.bytes += request->bytes;
    self->tlab.taken += request->bytes;
    return pages + offset;
}

static enum alloc_outcome alloc_try(struct cx_thread *self, const struct alloc_request *request, struct alloc_result *result)
{
    if (!alloc_ensure_handle(self)) return ALLOC_NO_HANDLES;
    char *start = request->bytes <= COEX_GC_SMALL_MAX ? cx_tlab_place(&self->tlab, &self->words, &cx_world.heap, request->bytes,
                                                                      request->prefix, request->type->align, self->black)
                                                      : alloc_large(self, request);
    if (start == NULL) return ALLOC_NO_SPACE;
    uint64_t *header = (uint64_t *)(void *)(start + request->prefix) - 1;
    if (request->type->size == 0) header[-1] = request->size;
    coex_handle handle = alloc_take_handle(self);
    *header = handle | (uint64_t)request->type->id << COEX_GC_TYPE_SHIFT;
    cx_aptr_store_release(cx_aptr_at(&cx_world.handles.table[handle]), header + 1);
    CX_SCHEDULE_POINT("alloc-slot-stored");
    if (CX_UNLIKELY(self->claim.pages != NULL)) cx_heap_settle_large(&cx_world.heap, &self->claim);
    /* Without a place in the list it would die in silence: then it is garbage from birth, and the answer is "no memory". */
    if (CX_UNLIKELY(request->type->descriptor->finalize != NULL) && !cx_finalize_add(cx_handle_tag(&cx_world.handles, handle)))
        return ALLOC_NO_SPACE;
    *result = (struct alloc_result){.handle = handle, .payload = header + 1};
    return ALLOC_DONE;
}

/* ----------------------------------------------------- triggers and limits */

/* Requests are answered here, with neither handle nor space taken (INV-ALLOC-1). */
static void alloc_safepoint(struct cx_thread *self)
{
    if (cx_aptr_load_relaxed(cx_aptr_at(&self->words.limit)) == NULL) cx_safepoint_poll_self(self);
    bool stress = CX_UNLIKELY(cx_stress_is_due(&self->stress, &cx_world.config));
    if (stress && cx_world.config.stress_wait && !self->in_handler)
        cx_alloc_collect_self(self);
    else if (stress || CX_UNLIKELY(cx_pace_is_due()))
        cx_collector_async();
    uint64_t owed = cx_pace_work_owed_self(self);
    if (CX_UNLIKELY(owed != 0) && cx_collector_steps())
        cx_collector_step(self, owed * CX_ASSIST_NS);
    else if (CX_UNLIKELY(owed != 0) && !self->in_handler)
        cx_pace_assist_self(self, owed);
}

void cx_alloc_collect_self(struct cx_thread *self)
{
    uint64_t number = cx_collector_order();
    cx_transition_enter_self(self);
    cx_collector_wait(number);
    cx_transition_leave_self(cx_thread_need_self("coex_gc_alloc")); /* unless the runtime was shut down meanwhile */
}

/* Waits for a full cycle that starts now. Handles come back one cycle later: for them, waits for two. */
static void alloc_wait(struct cx_thread *self, enum alloc_outcome outcome)
{
    CX_SCHEDULE_POINT("limit-waits");
    cx_alloc_collect_self(self);
    if (outcome == ALLOC_NO_HANDLES) cx_alloc_collect_self(self);
}

/* Returns a number that changes whenever another thread is granted handles, a block or a large run. */
static uint64_t alloc_granted_to_others(const struct cx_thread *self)
{
    return cx_a64_load_relaxed(&cx_world.handles.claimed) + cx_a64_load_relaxed(&cx_world.heap.granted) - self->granted -
           self->tlab.granted;
}

/* Returns what the last cycle left in use: bytes and handles together, since a useful cycle lowers one of them. */
static uint64_t alloc_left_in_use(void)
{
    return cx_a64_load_relaxed(&cx_pace.live) + cx_handles_in_use(&cx_world.handles);
}

/* The head of the line tries. While that fails, it closes the gate and waits for a full cycle, for as long as cycles leave less in use
 * or a thread that had passed the gate took some of it. INV-LIMIT-2 */
static enum alloc_outcome alloc_as_head(struct cx_thread *self, const struct alloc_request *request, struct alloc_result *result)
{
    uint64_t before = UINT64_MAX;
    enum alloc_outcome outcome = alloc_try(self, request, result);
    while (outcome != ALLOC_DONE) {
        cx_limit_close_gate();
        uint64_t granted = alloc_granted_to_others(self);
        alloc_wait(self, outcome);
        uint64_t left = alloc_left_in_use();
        outcome = alloc_try(self, request, result);
        if (left >= before && granted == alloc_granted_to_others(self)) break;
        before = left;
    }
    return outcome;
}

/* Stands in line, and allocates when it is this thread's turn. */
static enum alloc_outcome alloc_in_line(struct cx_thread *self, const struct alloc_request *request, struct alloc_result *result)
{
    struct cx_limit_place place;
    cx_transition_enter_self(self);
    bool head = cx_limit_stand(&place);
    cx_transition_leave_self(cx_thread_need_self("coex_gc_alloc"));
    if (!head) return ALLOC_NO_SPACE; /* the runtime shuts down beside this thread, which refuses to */
    enum alloc_outcome outcome = alloc_as_head(self, request, result);
    cx_limit_leave(&place);
    return outcome;
}

/* After the first attempt has failed: waits for a full cycle and tries again. If that fails and other threads took memory meanwhile,
 * it stands in line; if nobody did, no cycle can help. */
static enum alloc_outcome alloc_at_limit(struct cx_thread *self, const struct alloc_request *request, enum alloc_outcome outcome,
                                         struct alloc_result *result)
{
    uint64_t granted = alloc_granted_to_others(self);
    if (!cx_heap_could_hold(&cx_world.heap, request->bytes)) return outcome;
    alloc_wait(self, outcome);
    if (cx_limit_gate_is_closed()) return alloc_in_line(self, request, result); /* the cycle was for the head of the line */
    outcome = alloc_try(self, request, result);
    if (outcome == ALLOC_DONE || granted == alloc_granted_to_others(self)) return outcome;
    return alloc_in_line(self, request, result);
}

static bool alloc_ask_handler(struct cx_thread *self, uint64_t size)
{
    if (cx_world.config.out_of_memory == NULL) return false;
    self->in_handler = true;
    bool again = cx_world.config.out_of_memory(size, cx_world.config.context);
    self->in_handler = false;
    return again;
}

/* Allocates, and waits at a limit. Inside the handler nothing waits. */
static enum alloc_outcome alloc_patiently(struct cx_thread *self, const struct alloc_request *request, struct alloc_result *result)
{
    if (CX_UNLIKELY(self->in_handler)) return alloc_try(self, request, result);
    bool gate = CX_UNLIKELY(cx_limit_gate_is_closed());
    enum alloc_outcome outcome = gate ? ALLOC_NO_SPACE : alloc_try(self, request, result);
    if (CX_LIKELY(outcome == ALLOC_DONE)) return outcome;
    cx_a64_add_relaxed(&cx_pace.limit_waits, 1);
    outcome = gate ? alloc_in_line(self, request, result) : alloc_at_limit(self, request, outcome, result);
    if (outcome != ALLOC_DONE && alloc_ask_handler(self, request->size)) outcome = alloc_try(self, request, result);
    return outcome;
}

static coex_handle alloc_refuse(enum alloc_outcome outcome, const struct alloc_request *request)
{
    if (outcome == ALLOC_NO_HANDLES)
        cx_error_set(COEX_GC_ELIMIT, "allocation failed: all %llu handles are in use",
                     (unsigned long long)cx_world.handles.max);
    else
        cx_error_set(cx_world.config.heap_limit != 0 ? COEX_GC_ELIMIT : COEX_GC_ENOMEM,
                     "allocation failed: no memory for an object of %llu bytes",
                     (unsigned long long)request->size);
    return 0;
}

/* ------------------------------------------------------------- the request */

static bool alloc_describe(struct alloc_request *request, uint64_t size, uint32_t type_id)
{
    const struct cx_type *type = cx_type_find(&cx_world.types, type_id);
    if (type == NULL) cx_fatal("coex_gc_alloc: type id %u is not registered", type_id);
    if (type->size != 0 && type->size != size)
        cx_fatal("coex_gc_alloc: `size` is %llu, but type '%.60s' has a fixed size of %llu bytes",
                 (unsigned long long)size, type->descriptor->name, (unsigned long long)type->size);
    uint64_t prefix = cx_type_prefix(type);
    *request = (struct alloc_request){.type = type, .size = size, .prefix = prefix, .bytes = cx_round8(size + prefix)};
    return size < CX_MAX_OBJECT;
}

/* Allocations that a listener wants to see some of: each tells for how many bytes it stands. */
static void alloc_sample_self(struct cx_thread *self, coex_handle handle)
{
    uint64_t interval = cx_a64_load_relaxed(&cx_world.events.sample_interval);
    if (CX_LIKELY((interval | self->tlab.sample_every) == 0)) return;
    uint64_t points = cx_tlab_sample(&self->tlab, &self->words, interval);
    if (points != 0) cx_event_emit(&cx_world.events, CX_EVENT_SAMPLE, handle, points * interval);
}

/* All allocations, for a listener that wants them: while it does, the thread's hole looks empty to the fast path. */
static void alloc_tell_self(struct cx_thread *self, coex_handle handle, const void *payload)
{
    bool wanted = cx_event_wants(&cx_world.events, 2);
    if (CX_UNLIKELY(self->tlab.watched != wanted)) cx_tlab_watch(&self->tlab, &self->words, wanted);
    if (CX_UNLIKELY(wanted)) cx_world.events.tell(CX_DETAIL_ALLOC, handle, (uintptr_t)payload);
}

coex_handle cx_alloc_slow_self(struct cx_thread *self, uint64_t size, uint32_t type_id, void **payload)
{
    struct alloc_request request;
    struct alloc_result result;
    *payload = NULL;
    if (!alloc_describe(&request, size, type_id)) return alloc_refuse(ALLOC_NO_SPACE, &request);
    alloc_safepoint(self);
    enum alloc_outcome outcome = alloc_patiently(self, &request, &result);
    if (CX_UNLIKELY(outcome != ALLOC_DONE)) return alloc_refuse(outcome, &request);
    *payload = result.payload;
    alloc_sample_self(self, result.handle);
    alloc_tell_self(self, result.handle, result.payload);
    return cx_handle_tag(&cx_world.handles, result.handle);
}
