/* The shadow stacks that there are: one for each thread, and those of coroutines.
 *
 * Records live in an array that never moves, so that the collector walks it without a lock. A thread's own stack has a reservation of its
 * own. A coroutine's comes from one arena without guard pages, in power-of-two sizes, so that a hundred thousand of them need no mapping
 * each.
 *
 *               create             switch to it (thread, cas)
 *     VACANT ------------> SUSPENDED --------------------------> ACTIVE
 *        ^                  |  ^  ^                                |
 *        +---- destroy -----+  |  +------- switch away ------------+
 *                              |
 *                              +--claim, freeze, release (collector)--> CLAIMED
 *
 * `done` is the cycle for which its words are taken care of: frozen (and so read by the collector, or by the return barrier), or pushed by
 * a black thread. At the start of a cycle no stack is done.
 *
 * INV-STACK-1  What a black thread switches away from is done; what a white one leaves is not.
 * INV-STACK-2  A black thread that switches to a stack that is not done freezes all of it, and applies the return barrier to its top frame,
 *              before it runs on; with no safepoint in between.
 * INV-STACK-3  In MARK the collector freezes suspended stacks that are not done. A switch waits while that very stack is being frozen, no
 *              longer. A flush is asked for only when every stack is done and read.
 * INV-STACK-4  What is frozen stays frozen for the rest of the cycle, whoever enters and leaves the stack.
 *              A black thread may have put a handle from a frozen word into a fresh object, without a
 *              shade: only that word vouches for the handle. So a white thread that leaves a stack makes it
 *              not done and drops nothing; it thaws (and shades) the frames it returns into, as any thread
 *              does; and the next freeze covers what is frozen and everything above it (INV-SHADOW-3).
 *
 *     white thread T                     black thread B, in ROOTS
 *                                        enters S: freezes all of it
 *                                        reads x from a deep frozen slot,
 *                                        makes O -> x, goes home with O
 *     enters S, leaves it: not done
 *     enters S, pops the slot of x:
 *     the return barrier shades x */
#ifndef CX_GC_STACKS_STACK_POOL_H
#define CX_GC_STACKS_STACK_POOL_H

#include "base/lock.h"
#include "gc/stacks/shadow_stack.h"

enum { CX_STACK_CLASSES = 32, CX_MAX_STACKS = 1 << 22 };
#define CX_NO_STACK UINT32_MAX

struct cx_stacks {
    cx_mutex lock;
    cx_range range;  /* struct cx_shadow[] */
    cx_a32 count;    /* records ever used. W: lock, release. R: acquire */
    uint32_t vacant; /* under the lock */
    cx_range arena;
    cx_range copies; /* checked builds: as large as the arena; the copy of a stack is at its own place (shadow_stack.h) */
    uint64_t arena_used;
    coex_handle *free[CX_STACK_CLASSES]; /* linked through their first word; under the lock */
};

int cx_stacks_init(struct cx_stacks *stacks);
void cx_stacks_fini(struct cx_stacks *stacks);

/* A stack with a reservation of its own, active. NULL with the error recorded. */
struct cx_shadow *cx_stack_create_home(struct cx_stacks *stacks, uint64_t slots);
/* A suspended stack from the arena, done for cycle `done`. NULL with the error recorded. */
struct cx_shadow *cx_stack_create(struct cx_stacks *stacks, uint64_t slots, uint64_t done);
/* Nobody is on it. */
void cx_stack_destroy(struct cx_stacks *stacks, struct cx_shadow *stack);

/* After a fork: stacks that threads were on which are not there any more are empty. `own` is the caller's, or NULL. */
void cx_stacks_fork_child(struct cx_stacks *stacks, const struct cx_shadow *own);

static inline struct cx_shadow *cx_stack_at(const struct cx_stacks *stacks, uint32_t number)
{
    return &((struct cx_shadow *)(void *)stacks->range.base)[number];
}

#endif
