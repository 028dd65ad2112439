/* Looks at the heap for the trace: which types live and die, and how full the blocks are. Runs on the collector, with no lock but its
 * role, beside running mutators. Of the objects it looks at as many as it has time for; a block costs a few loads. */
#include "diag/events/trace.h"
#include "gc/threads/thread_record.h"

#include <string.h>

/* -------------------------------------------------------------------- cost */

enum {
    SAMPLING_PART = 512,       /* of the program's time on the CPU, one part is for samples */
    SAMPLING_CREDIT = 2000000, /* ns that may be saved up: the first cycles, and those that are far apart, are looked at well */
    SAMPLING_LOOK_NS = 200,    /* what a look costs until it is known: some cache misses */
    SAMPLING_LEAST_WORDS = 16, /* of the table, whatever it costs: 64 handles each */
    SAMPLING_MOST_WORDS = 1024 /* and at most */
};

/* Collector only. Samples of a program whose cycles are short would cost it more than a hundredth, so there are fewer looks in each. */
static struct {
    uint64_t at_ns; /* time on the CPU up to which it has its credit */
    uint64_t credit_ns;
    uint64_t look_ns;
} sampling_pace = {.credit_ns = SAMPLING_CREDIT, .look_ns = SAMPLING_LOOK_NS};

/* How many words may be looked at now. */
static uint64_t sampling_looks(void)
{
    uint64_t now = cx_os_process_cpu_ns();
    sampling_pace.credit_ns += now > sampling_pace.at_ns ? (now - sampling_pace.at_ns) / SAMPLING_PART : 0; /* less: after a fork */
    sampling_pace.at_ns = now;
    if (sampling_pace.credit_ns > SAMPLING_CREDIT) sampling_pace.credit_ns = SAMPLING_CREDIT;
    uint64_t looks = sampling_pace.credit_ns / sampling_pace.look_ns;
    return looks < SAMPLING_LEAST_WORDS ? SAMPLING_LEAST_WORDS : looks > SAMPLING_MOST_WORDS ? SAMPLING_MOST_WORDS : looks;
}

static void sampling_pay(uint64_t spent_ns)
{
    sampling_pace.credit_ns = sampling_pace.credit_ns > spent_ns ? sampling_pace.credit_ns - spent_ns : 0;
}

/* ------------------------------------------------------------------- types */

enum {
    SAMPLING_PICKS = 2,  /* objects of a word; each stands for its part of the word's */
    SAMPLING_KINDS = 256 /* types told apart; a power of two */
};

struct sampling_kind {
    uint32_t id;
    uint64_t live, live_bytes, dead, dead_bytes;
};

struct sampling {
    struct sampling_kind kind[SAMPLING_KINDS];
    struct sampling_kind rest; /* types that found no place */
    uint64_t random;
};

static uint64_t sampling_random(struct sampling *sampling)
{
    sampling->random = sampling->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return sampling->random >> 33;
}

static struct sampling_kind *sampling_kind_of(struct sampling *sampling, uint32_t id)
{
    uint32_t at = id * 2654435761u;
    for (int i = 0; i < 8; i++) {
        struct sampling_kind *kind = &sampling->kind[(at + (uint32_t)i) % SAMPLING_KINDS];
        if (kind->id == id) return kind;
        if (kind->id == 0) {
            kind->id = id;
            return kind;
        }
    }
    return &sampling->rest;
}

static void sampling_object(struct sampling *sampling, uint64_t handle, void *payload, uint64_t weight)
{
    uint64_t header = cx_a64_load_relaxed(cx_a64_at(cx_header_of(payload)));
    const struct cx_type *type = cx_type_find(&cx_world.types, cx_header_type(header));
    if (type == NULL) return;
    uint64_t bytes = cx_round8(cx_type_payload_size(type, payload) + cx_type_prefix(type));
    struct sampling_kind *kind = sampling_kind_of(sampling, type->id);
    if (cx_handle_is_marked(&cx_world.handles, handle) || cx_handle_is_born(&cx_world.handles, handle)) {
        kind->live += weight;
        kind->live_bytes += weight * bytes;
    } else {
        kind->dead += weight;
        kind->dead_bytes += weight * bytes;
    }
}

/* Some of the objects of 64 handles, from a random one on; `words` is how many words this one stands for. */
static void sampling_word(struct sampling *sampling, uint64_t word, uint64_t words)
{
    const struct cx_handles *handles = &cx_world.handles;
    uint64_t there = cx_a64_load_acquire(&handles->allocated[word]) & ~cx_a64_load_relaxed(&handles->retired[word]);
    if (there == 0) return;
    unsigned turn = (unsigned)sampling_random(sampling) % 64;
    uint64_t turned = there >> turn | there << ((64 - turn) % 64);
    uint64_t count = (uint64_t)__builtin_popcountll(there), picks = count < SAMPLING_PICKS ? count : SAMPLING_PICKS;
    for (uint64_t i = 0; i < picks; i++, turned &= turned - 1) {
        uint64_t handle = word * 64 + ((unsigned)__builtin_ctzll(turned) + turn) % 64;
        void *payload = cx_handle_payload(handles, handle); /* acquire: with it comes the header */
        if (payload != NULL) sampling_object(sampling, handle, payload, (words * count + i) / picks);
    }
}

/* The largest first; the others are one row. */
static void sampling_record(struct sampling *sampling)
{
    for (int row = 0; row < CX_TRACE_TYPES; row++) {
        struct sampling_kind *largest = &sampling->kind[0];
        for (int i = 1; i < SAMPLING_KINDS; i++) {
            struct sampling_kind *kind = &sampling->kind[i];
            if (kind->live_bytes + kind->dead_bytes > largest->live_bytes + largest->dead_bytes) largest = kind;
        }
        if (largest->live_bytes + largest->dead_bytes == 0) break;
        cx_trace_put(CX_TRACE_TYPE, 0,
                     (uint64_t[]){largest->id, largest->live, largest->live_bytes, largest->dead, largest->dead_bytes});
        largest->live_bytes = largest->dead_bytes = largest->live = largest->dead = 0;
    }
    for (int i = 0; i < SAMPLING_KINDS; i++) {
        sampling->rest.live += sampling->kind[i].live;
        sampling->rest.live_bytes += sampling->kind[i].live_bytes;
        sampling->rest.dead += sampling->kind[i].dead;
        sampling->rest.dead_bytes += sampling->kind[i].dead_bytes;
    }
    const struct sampling_kind *rest = &sampling->rest;
    if (rest->live_bytes + rest->dead_bytes != 0)
        cx_trace_put(CX_TRACE_TYPE, 0, (uint64_t[]){0, rest->live, rest->live_bytes, rest->dead, rest->dead_bytes});
}

void cx_heap_sampling_types_gct(void)
{
    struct sampling sampling;
    uint64_t begin_ns = cx_os_thread_cpu_ns();
    memset(&sampling, 0, sizeof sampling);
    sampling.random = cx_os_now_ns();
    uint64_t words = cx_a64_load_acquire(&cx_world.handles.committed) / 64;
    /* Words are claimed whole and in order the first time: what lies behind was never used. */
    uint64_t claimed = cx_a64_load_relaxed(&cx_world.handles.claimed) / 64 + 64;
    if (claimed < words) words = claimed;
    uint64_t step = words / sampling_looks() + 1;
    for (uint64_t at = sampling_random(&sampling) % step; at < words; at += step) sampling_word(&sampling, at, step);
    sampling_record(&sampling);
    uint64_t spent = cx_os_thread_cpu_ns() - begin_ns;
    sampling_pay(spent);
    sampling_pace.look_ns = (3 * sampling_pace.look_ns + spent * step / words) / 4 + 1;
}

/* ------------------------------------------------------------------ blocks */

/* Lines of a block that are marked or held; both stay from the marking to the next cycle. */
static unsigned sampling_lines(const struct cx_block *block)
{
    uint32_t state = cx_a32_load_relaxed(&block->state);
    if (state == CX_BLOCK_UNUSED || state == CX_BLOCK_FREE) return 0;
    unsigned lines = 0;
    for (unsigned word = 0; word < CX_LINE_WORDS; word++)
        lines +=
            (unsigned)__builtin_popcountll(cx_a64_load_relaxed(&block->marked[word]) | cx_a64_load_relaxed(&block->held[word]));
    return lines;
}

/* From 0, all free, to CX_TRACE_MAP_STEPS, all in use; what has something in it is never shown as 0. */
static uint64_t sampling_cell(const struct cx_heap *heap, uint64_t from, uint64_t to)
{
    uint64_t lines = 0, all = (to - from) * CX_BLOCK_LINES;
    for (uint64_t i = from; i < to; i++) lines += sampling_lines(&heap->blocks[i]);
    if (lines == 0) return 0;
    uint64_t step = (lines * CX_TRACE_MAP_STEPS + all / 2) / all;
    return step == 0 ? 1 : step;
}

void cx_heap_sampling_blocks_gct(void)
{
    const struct cx_heap *heap = &cx_world.heap;
    uint64_t begin_ns = cx_os_thread_cpu_ns(), from = 0;
    uint64_t blocks = cx_a32_load_acquire(&heap->count), cells = blocks < CX_TRACE_MAP_CELLS ? blocks : CX_TRACE_MAP_CELLS;
    for (uint64_t part = 0; part * 64 < cells; part++) {
        uint64_t value[CX_TRACE_VALUES] = {part << 48 | cells << 32 | blocks};
        for (uint64_t i = 0; i < 64 && part * 64 + i < cells; i++) {
            uint64_t to = (part * 64 + i + 1) * blocks / cells;
            value[1 + i / 16] |= sampling_cell(heap, from, to) << (i % 16 * 4);
            from = to;
        }
        cx_trace_put(CX_TRACE_MAP, 0, value);
    }
    sampling_pay(cx_os_thread_cpu_ns() - begin_ns);
}
