/* Marking: from grey candidates to everything they reach.
 *
 * A marker is the collector, or a mutator that helps for some microseconds (assist). Each has a chunk of candidates of its own; full
 * ones go to the shared list (grey.h), where every marker takes from when its own is empty. A candidate passes two short queues, so
 * that memory is asked for before it is needed:
 *
 *     chunk --> [table queue] -- test and set the mark --> [object queue] -- header, lines, references --> chunk
 *               prefetch mark word and slot                prefetch the object
 *
 * INV-MARK-1  Only markers set mark bits, and whoever sets a bit traces the object. Mutators that shade only queue. As long as the
 *             collector is alone it sets bits by plain reads and writes, which is worth a third of its speed. A mutator that wants
 *             to help asks; the collector sees that between two chunks, goes over to atomic operations for the rest of the cycle,
 *             and only then (release, acquire) says that helping is allowed.
 * INV-MARK-2  A marker leaves nothing in its queues: what it does not trace it hands back as candidates that are not marked yet. */
#ifndef CX_GC_MARK_H
#define CX_GC_MARK_H

#include "gc/thread.h"

enum { CX_MARK_QUEUE = 16, CX_MARK_ARRAY_STEP = 1024 };

struct cx_marker {
    struct cx_chunk *chunk;
    bool shared;     /* others may be marking: atomic operations */
    uint64_t marked; /* objects */
    uint32_t turn;   /* both queues are rings that turn together; 0 is an empty place */
    uint32_t queued; /* places in use */
    coex_handle table_queue[CX_MARK_QUEUE];
    uint64_t *object_queue[CX_MARK_QUEUE];
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
    cx_grey_push(&cx_world.grey, &marker->chunk, handle);
}

/* Traces for about `turns` turns; false: nothing is left in reach: own chunk, shared list, spilled bits, other markers. */
bool cx_mark_some_gct(struct cx_marker *marker, uint64_t turns);
/* Traces candidates of the shared list for about `nanoseconds`; false: there were none. */
bool cx_mark_assist_self(uint64_t nanoseconds, cx_a64 *marked);
/* Reads frozen frames, a few chunks at a time; *at goes over the threads. False: all are read. */
bool cx_mark_frozen_gct(struct cx_marker *marker, uint64_t *at);

/* The marker that a trace function is called for; NULL: somebody else visits the references. */
struct cx_marker *cx_visitor_marker(coex_gc_visitor *visitor);
/* Who is told when a watched key is marked (weak.h). Set at init. */
extern void (*cx_mark_watched_key)(struct cx_marker *marker, coex_handle key);

/* Calls `visit` with each reference of an object: the field's offset and what is in it. For verifiers and dumps. */
typedef void (*cx_reference_visitor)(void *context, uint64_t offset, coex_handle value);
void cx_mark_each_reference(void *payload, cx_reference_visitor visit, void *context);

#endif
