/*
 * Forced schedules: tests that decide which thread takes which step of the protocol, and when.
 *
 * The test itself (the director) is not registered with the runtime: it answers no request and holds nothing. It tells
 * *actors*, threads that are, what to do, one function at a time; in between an actor stands still in managed mode and
 * answers nothing, unless the director lets it. *Holds* stop a thread at a named point of the source (base/point.h):
 *
 *     schedule_start();
 *     actor *a = actor_start("a");
 *     actor_do(a, make_something);
 *     hold *marking = hold_collector("mark-begins");
 *     cycle_begin();
 *     run_to(marking);                  actors answer until the collector has come there
 *     actor_do(a, overwrite_it);
 *     let_go(marking);
 *     run_out();                        actors answer until the cycle has ended
 *     actor_do(a, expect_it);
 *     schedule_end();
 *
 * Whatever does not come within some seconds fails the test, by name. Points exist in `checked` builds only.
 */
#ifndef COEX_TESTS_SUPPORT_SCHEDULE_H
#define COEX_TESTS_SUPPORT_SCHEDULE_H

#include "support/nodes.h"
#include "support/objects.h"

#include <pthread.h>

/* At the start of every such test: there is nothing to force where there are no points. */
#define NEEDS_POINTS()                                                                                                             \
    do {                                                                                                                           \
        if (!test_is_checked()) return;                                                                                            \
    } while (0)

enum { ACTOR_SLOTS = 8 };

typedef struct actor actor;
typedef void (*actor_step)(actor *self);

struct actor {
    const char *name;
    coex_handle *slot;        /* its first frame */
    uint64_t id[ACTOR_SLOTS]; /* for the test: which node a slot must name */
    coex_handle *frame;       /* for the test: another frame */
    coex_handle handle;       /* for the test: a handle that is in no slot of its own */
    coex_gc_spawn *spawn;     /* for the test */
    bool answers;             /* in run_to and run_out; true at first */
    /* the machinery's */
    pthread_t thread;
    actor_step step; /* what it is doing; NULL: nothing. Under the machinery's lock */
    bool ending;
    coex_gc_spawn *attach;
    actor *next;
};

typedef struct hold hold;

/* Starts a runtime that verifies and poisons, with no cycle but those that the test begins, and nodes. */
void schedule_start(void);
void schedule_start_with(coex_gc_config *config); /* the same with other sizes: verify, poison are set here */
coex_gc_config schedule_config(void);
/* Ends actors, holds and the runtime. */
void schedule_end(void);

/* A registered thread with a frame of ACTOR_SLOTS slots. */
actor *actor_start(const char *name);
/* One that attaches to what coex_gc_spawn_prepare gave; its argument is in slot[0]. */
actor *actor_start_spawned(const char *name, coex_gc_spawn *spawn);
/* Runs a step on it and waits for its end. */
void actor_do(actor *who, actor_step step);
/* Runs a step that will be held, or that waits: actor_await waits for its end. */
void actor_begin(actor *who, actor_step step);
void actor_await(actor *who);
/* It leaves its frames and the registry, and exits. */
void actor_end(actor *who);
/* It is still in its step after some time: it waits for somebody. */
void actor_expect_waiting(const actor *who);

/* The next time that this thread comes to the point, after it has passed it `skip` times, it stops there. */
hold *hold_actor(actor *who, const char *point);
hold *hold_collector(const char *point);
hold *hold_collector_after(const char *point, unsigned skip);
/* Waits until it has come, with nobody answering. */
void hold_await(hold *it);
void hold_expect_empty(hold *it); /* nobody comes there for some time, though actors answer */
void let_go(hold *it);
/* When the collector passes the point, after it has passed it `skip` times, it runs this. */
void at_collector_point(const char *point, unsigned skip, void (*run)(void));

/* Asks for a cycle that begins after the call. */
void cycle_begin(void);
/* The actors that answer do so until the collector stops at the hold, or until the cycle has ended. */
void run_to(hold *it);
void run_out(void);
/* Begins a cycle (or lets the collector go on from a hold before that) and leaves the collector held where it has just asked for the
 * roots: all that answer have turned their barriers on, and nobody is scanned. */
hold *cycle_to_roots(hold *from);
/* A cycle that nothing interferes with. */
void cycle_whole(void);

/* Steps that many tests need. */
void step_answer(actor *self); /* one safepoint */
/* `slot[index]` becomes a new node of that kind with these children, and the actor notes its id. */
coex_handle actor_make(actor *self, unsigned index, enum node_kind kind, coex_handle first, coex_handle second);
void actor_expect(const actor *self, unsigned index); /* and there it is, untouched */

/* A cell (mutable, four fields) that all actors reach through a global root. */
extern coex_handle shared_root;
coex_handle shared_cell(void);
void step_make_shared(actor *self);
coex_handle shared_load(unsigned field);
void shared_store(unsigned field, coex_handle value);

#endif
