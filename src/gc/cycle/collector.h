/* The role of the collector, and requests for cycles.
 *
 * The role is a lock, and its holder runs slices of the cycle (stages.h). With a GC thread
 * (gc_threads=1), that thread holds the role while a cycle runs. Without a GC thread
 * (gc_threads=0), mutators take the role by try-lock. They hold it for a while in coex_gc_step and
 * in slow allocations, and to the end of the cycle in coex_gc_collect. Between two slices all
 * state is consistent. There the role can pass to another thread, and a fork can proceed.
 *
 * Requests are counted. Cycle number k starts after every request that was given the number k. A
 * thread that waits for a cycle waits for a number. */
#ifndef CX_GC_CYCLE_COLLECTOR_H
#define CX_GC_CYCLE_COLLECTOR_H

#include "gc/cycle/stages.h"

int cx_collector_start(void);
/* In the order of a shutdown: no cycle begins any more, and nobody waits for one; is there none, within that time?; the GC thread ends.
 * Requests go on to be harmless: they find nobody to serve them. */
void cx_collector_close(void);
bool cx_collector_rests(uint64_t nanoseconds);
void cx_collector_stop(void);

/* Ask for a cycle, unless one is pending or running. */
void cx_collector_async(void);
/* The number of a cycle that starts after this call, which is now asked for; or of the pending or running one (0: neither). */
uint64_t cx_collector_order(void);
uint64_t cx_collector_current(void);
/* Returns when cycle `number` has ended. The caller is in native mode, or not registered. */
void cx_collector_wait(uint64_t number);
/* Runs the visit in a cycle that starts after the call. Same. visit->done says whether it did: a shutdown may come before it. */
void cx_collector_visit(struct cx_visit *visit);

/* Without a GC thread: runs slices for about `nanoseconds`, or until somebody else owes an answer. True: a cycle ended in this step, or
 * none is asked for. The caller is managed, or not registered. */
bool cx_collector_step(struct cx_thread *self, uint64_t nanoseconds);
static inline bool cx_collector_steps(void) { return cx_world.config.gc_threads == 0; }

struct cx_cycle_stats cx_collector_stats(void);

/* Around fork. Prepare returns with every lock below CX_RANK_REGISTRY taken and the collector between two slices. */
void cx_collector_fork_prepare(void);
void cx_collector_fork_parent(void);
/* The child has no GC thread: one is started by the next request. A cycle that ran is forgotten. */
void cx_collector_fork_child(void);

#endif
