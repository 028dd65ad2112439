/* Marking: from candidates to all objects that they reach.
 *
 * A marker is the collector, or a mutator that helps for some microseconds (assist). Each marker
 * has its own chunk of candidates. Full chunks go to the shared list (mark_queue.h). A marker
 * whose chunk is empty takes one from this list. A candidate passes through two short queues, so
 * that its memory is prefetched before it is used:
 *
 *     chunk --> [table queue] -- test and set the mark --> [object queue] -- trace --> chunk
 *               prefetch mark word and slot                prefetch the object
 *
 * To trace an object is to read its header, mark its lines and push its references.
 *
 * INV-MARK-1  Only markers set mark bits, and the marker that sets a bit traces the object.
 *             Mutators that shade only queue. While the collector is alone, it sets bits by plain
 *             reads and writes, which is worth a third of its speed. A mutator that wants to help
 *             asks. The collector sees the request between two chunks and uses atomic operations
 *             for the rest of the cycle. Only then does it allow helping (release, acquire).
 * INV-MARK-2  A marker leaves no entry in its queues. It hands back candidates that are not marked
 *             yet, and rests (mark_queue.h) of objects that are marked and only partly traced.
 *
 * The marker spends from the budget of its slice (budget.h). It spends the turns of its loop, and
 * in `extra` all costs of an object beyond its turn. An array, a list of far reference offsets and
 * the ephemerons of one key are read CX_MARK_STEP entries at a time, and the rest is queued. One
 * call of an embedder's trace function is one piece, however long it takes. */
#ifndef CX_GC_MARKING_MARKER_H
#define CX_GC_MARKING_MARKER_H

#include "gc/budget.h"
#include "gc/world.h"

enum { CX_MARK_QUEUE = 16, CX_MARK_STEP = 1024 };

struct cx_marker {
    struct cx_chunk *chunk;
    bool shared;     /* others may be marking: atomic operations */
    uint64_t marked; /* objects */
    uint32_t turn;   /* both queues are rings that turn together; 0 is an empty place */
    uint32_t queued; /* places in use */
    coex_handle table_queue[CX_MARK_QUEUE];
    uint64_t *object_queue[CX_MARK_QUEUE];
    uint64_t extra;    /* units that were spent beyond turns, and not yet taken from a budget */
    uint64_t forgiven; /* units that could not be cut (INV-BUDGET-1), likewise */
    bool spilling;     /* the collector reads the grey bitmap, and is at word `spill_word` */
    uint64_t spill_word;
};

/* Where a reader of lists that change meanwhile is. */
struct cx_mark_cursor {
    uint64_t list, version, at;
};

void cx_marker_init(struct cx_marker *marker);
/* Hands over what is left. */
void cx_marker_fini(struct cx_marker *marker);

static inline void cx_mark_push(struct cx_marker *marker, coex_handle handle)
{
    cx_mark_queue_push(&cx_world.mark_queue, &marker->chunk, handle);
}

/* Spends units on something that a turn of the queue does not pay for. */
static inline void cx_mark_spend(struct cx_marker *marker, uint64_t units) { marker->extra += units; }

/* Queues what is left of a marked object, with `rest` as in mark_queue.h. Returns false if there is no memory for it. */
bool cx_mark_push_rest(struct cx_marker *marker, coex_handle handle, uint64_t rest);

/* Traces until the budget is spent. Returns false if nothing is left in reach: own chunk, shared list, rests, spilled bits, other
 * markers. */
bool cx_mark_some_gct(struct cx_marker *marker, struct cx_budget *budget);
/* Traces candidates of the shared list for about `nanoseconds`; false: there were none. */
bool cx_mark_assist_self(uint64_t nanoseconds, cx_a64 *marked);
/* Reads frozen frames; *at goes over the stacks. Returns false if all are read. */
bool cx_mark_frozen_gct(struct cx_marker *marker, uint64_t *at, struct cx_budget *budget);

/* The marker that a trace function is called for; NULL: somebody else visits the references. */
struct cx_marker *cx_visitor_marker(coex_gc_visitor *visitor);
/* Who is told when a watched key is marked (weak_references.h), or when ephemerons of one are left over. Set at init. */
extern void (*cx_mark_watched_key)(struct cx_marker *marker, coex_handle key);

/* Calls `visit` with each reference of an object: the field's offset and what is in it. For verifiers and dumps. */
typedef void (*cx_reference_visitor)(void *context, uint64_t offset, coex_handle value);
void cx_mark_each_reference(void *payload, cx_reference_visitor visit, void *context);

#endif
