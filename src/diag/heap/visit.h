/* Visits: how a diagnostic function gets to look at the heap, and what it finds there.
 *
 * The function asks the collector for a full cycle with a visit (stages.h) and waits for it in native mode. While the visit runs, mutators
 * run: it looks at what is marked, which is what was reachable in this cycle, and at the records of the stacks. */
#ifndef CX_DIAG_HEAP_VISIT_H
#define CX_DIAG_HEAP_VISIT_H

#include "diag/text.h"
#include "gc/cycle/stages.h"
#include "gc/stacks/root_record.h"

/* Runs a visit. The caller, if it is registered, comes back in the mode it had, and `write` has run before, in native mode: output may
 * block. False: there is no runtime, or it was shut down before the visit; then neither has been called. */
bool cx_visit_run(const char *function, bool stacks, bool (*run)(void *context), void (*write)(void *context), void *context);

/* A walk over the handles that this cycle has marked, in rising order: what was reachable when its roots were read. What is born meanwhile is
 * left out: threads that allocate would keep the walk busy. */
struct cx_walk {
    bool begun;
    uint64_t word, words;
};
/* Goes on by a slice. False: that was the end. */
bool cx_walk_some_gct(struct cx_walk *walk, void (*visit)(void *context, coex_handle handle), void *context);

/* Frames of one stack, from the oldest word up. */
struct cx_stack_view {
    const struct cx_root_record *frozen, *top; /* one of them may be NULL. Words up to top->from are those of `frozen` */
    const struct cx_shadow *live;         /* or the stack itself, in a process that stands still */
    uint32_t thread;                      /* CX_ROOT_RECORD_NOBODY: it was suspended */
    uint32_t stack;
    uint64_t os_id;
    uint64_t words;
    uint64_t watermark; /* words that were frozen at ROOTS, for the thread's return or for the collector to read; 0: none */
};
/* All stacks of this cycle: threads in the order of their numbers, then suspended ones. NULL: no memory, or there are none. To be freed with
 * cx_os_free. */
struct cx_stack_view *cx_visit_stacks_gct(uint64_t *count);
/* The stacks of a process that stands still, one after the other; *at begins at 0. False: there is no other. */
bool cx_stack_view_next_live(uint64_t *at, struct cx_stack_view *view);
/* A header (cx_shadow_is_header), or what a slot refers to: a handle, an immediate, or 0. */
uint64_t cx_stack_view_word(const struct cx_stack_view *view, uint64_t number);
/* The same slot is the address of a local, which may be gone with its frame, so that what was read of it means nothing. */
bool cx_stack_view_is_local(const struct cx_stack_view *view, uint64_t number);
/* "Thread 0 (main)", "Thread 3", "Stack 17 (suspended)". */
void cx_stack_view_name(const struct cx_stack_view *view, char *name, size_t room);

#endif
