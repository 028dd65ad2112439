/* The pool of shadow stacks: one stack for each thread, and the stacks of coroutines.
 *
 * Records are in an array that never moves, so the collector reads it without a lock. The stack of
 * a thread has a reservation of its own. Coroutine stacks come from one arena without guard pages,
 * in power-of-two sizes. A hundred thousand of them therefore need no mapping each.
 *
 *               create             switch to it (thread, cas)
 *     VACANT ------------> SUSPENDED --------------------------> ACTIVE
 *        ^                  |  ^  ^                                |
 *        +---- destroy -----+  |  +------- switch away ------------+
 *                              |
 *                              +--claim, freeze, release (collector)--> CLAIMED
 *
 * `done` is the number of the cycle in which all words of the stack are covered. A word is covered
 * if a black thread pushed it, or if it is frozen, so that the collector or the return barrier
 * reads it. At the start of a cycle no stack is done.
 *
 * INV-STACK-1  A stack that a black thread leaves is done. A stack that a white thread leaves is
 *              not.
 * INV-STACK-2  A black thread that enters a stack which is not done freezes all of it. Then it
 *              runs the return barrier for the top frame, before it continues and without a
 *              safepoint in between.
 * INV-STACK-3  In MARK the collector freezes suspended stacks that are not done. A switch waits
 *              only while the collector freezes that same stack. A flush is requested only when
 *              every stack is done and read.
 * INV-STACK-4  Frozen words stay frozen for the rest of the cycle, whichever threads enter and
 *              leave the stack. A black thread may have stored a handle from a frozen word into a
 *              new object, without a shade, so that only that word keeps the handle alive. A white
 *              thread that leaves a stack therefore makes it not done and drops no frozen word.
 *              Like any thread, it thaws and shades the frames that it returns into. The next
 *              freeze covers the frozen words and all words above them (INV-SHADOW-3).
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
