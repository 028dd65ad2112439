/* Forced schedules: tests that decide which thread takes which step of the protocol, and when.
 *
 * The test itself is the director. It is not registered with the runtime, answers no requests
 * and holds no handles. It tells *actors*, which are registered threads, to run one function at
 * a time. Between two functions an actor stands still in managed mode. It answers requests only
 * if the director lets it. *Holds* stop a thread at a named point of the source (base/point.h):
 *
 *     schedule_start();
 *     actor *a = actor_start("a");
 *     actor_do(a, make_something);
 *     hold *marking = hold_collector("mark-begins");
 *     cycle_begin();
 *     run_to(marking);                  actors answer until the collector has reached the point
 *     actor_do(a, overwrite_it);
 *     let_go(marking);
 *     run_out();                        actors answer until the cycle has ended
 *     actor_do(a, expect_it);
 *     schedule_end();
 *
 * If an expected event does not occur within some seconds, the test fails and names the event.
 * Points exist in `checked` builds only. */
#ifndef COEX_TESTS_SUPPORT_SCHEDULE_H
#define COEX_TESTS_SUPPORT_SCHEDULE_H

#include "support/nodes.h"
#include "support/objects.h"

#include <pthread.h>

/* Every such test starts with this macro. It ends the test in builds without points. */
#define NEEDS_POINTS()                                                                                                             \
    do {                                                                                                                           \
        if (!test_is_checked()) return;                                                                                            \
    } while (0)

enum { ACTOR_SLOTS = 8 };

typedef struct actor actor;
typedef void (*actor_step)(actor *self);

struct actor {
    const char *name;
    coex_handle *slot;        /* slots of its first frame */
    uint64_t id[ACTOR_SLOTS]; /* for the test: id of the node that each slot must hold */
    coex_handle *frame;       /* for the test: another frame */
    coex_handle handle;       /* for the test: a handle without a slot of its own */
    coex_gc_spawn *spawn;     /* for the test */
    bool answers;             /* whether it answers in run_to and run_out; initially true */
    /* internal to schedule.c */
    pthread_t thread;
    actor_step step; /* the running step, or NULL; guarded by the lock of schedule.c */
    bool ending;
    coex_gc_spawn *attach;
    actor *next;
};

typedef struct hold hold;

/* Starts a runtime with verification and poisoning, and initialises nodes. Only the test starts
 * cycles. */
void schedule_start(void);
void schedule_start_with(coex_gc_config *config); /* takes other sizes; sets verify and poison */
coex_gc_config schedule_config(void);
/* Ends all actors and holds, and shuts the runtime down. */
void schedule_end(void);

/* Starts a registered thread with a frame of ACTOR_SLOTS slots. */
actor *actor_start(const char *name);
/* Starts an actor that attaches with `spawn`. slot[0] holds the argument of the spawn. */
actor *actor_start_spawned(const char *name, coex_gc_spawn *spawn);
/* Runs a step on an actor and waits for its end. */
void actor_do(actor *who, actor_step step);
/* Starts a step that will be held or will wait. actor_await waits for its end. */
void actor_begin(actor *who, actor_step step);
void actor_await(actor *who);
/* Lets the actor leave its frames, unregister and exit. */
void actor_end(actor *who);
/* Fails the test if the actor ends its step within some time instead of waiting. */
void actor_expect_waiting(const actor *who);

/* Stops the thread when it next reaches the point, after it has passed the point `skip` times. */
hold *hold_actor(actor *who, const char *point);
hold *hold_collector(const char *point);
hold *hold_collector_after(const char *point, unsigned skip);
/* Waits until the thread has reached the hold. No actor answers. */
void hold_await(hold *it);
void hold_expect_empty(hold *it); /* no thread comes for some time, while actors answer */
void let_go(hold *it);
/* Lets the collector call `run` at the point, after it has passed the point `skip` times. */
void at_collector_point(const char *point, unsigned skip, void (*run)(void));

/* Requests a cycle that begins after the call. */
void cycle_begin(void);
/* Let the actors answer until the collector stops at the hold, or until the cycle has ended. */
void run_to(hold *it);
void run_out(void);
/* Begins a cycle, or releases the collector from the earlier hold `from`, and holds the
 * collector where it has just requested the roots. All answering actors have their barriers on,
 * and no thread is scanned. */
hold *cycle_to_roots(hold *from);
/* Runs a whole cycle without interference. */
void cycle_whole(void);

/* Steps that many tests use. */
void step_answer(actor *self); /* executes one safepoint */
/* Stores a new node of this kind with these children in `slot[index]`, and records its id. */
coex_handle actor_make(actor *self, unsigned index, enum node_kind kind, coex_handle first, coex_handle second);
void actor_expect(const actor *self, unsigned index); /* verifies the recorded node */

/* A mutable cell of four fields that all actors reach through a global root. */
extern coex_handle shared_root;
coex_handle shared_cell(void);
void step_make_shared(actor *self);
coex_handle shared_load(unsigned field);
void shared_store(unsigned field, coex_handle value);

#endif
