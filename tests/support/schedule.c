/*
 * See schedule.h. One lock and one condition for everything: actors, holds and the director wait for few things, and speed
 * is of no concern.
 */
#include "support/schedule.h"

#include "base/schedule_point.h"
#include "gc/cycle/collector.h"

#include <time.h>
#include <unistd.h>

enum hold_state { HOLD_OFF, HOLD_ARMED, HOLD_TAKEN, HOLD_FREE };
enum { MAX_HOLDS = 32, QUIET_MS = 60 };

struct hold {
    enum hold_state state;
    const char *point;
    actor *who; /* NULL: the collector */
    unsigned skip;
    void (*run)(void);
};

static pthread_mutex_t stage = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static hold holds[MAX_HOLDS];
static actor *actors;
static uint64_t awaited_cycle;

static _Thread_local actor *this_actor;
static _Thread_local int is_collector; /* 0: not known yet, 1, -1 */

coex_handle shared_root;

/* ---- time ------------------------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double patience(void) { return test_is_sanitized() ? 40 : 6; }

/* Waits for a change, at most until then. With the lock. False: time is up. */
static bool wait_for_change(double until)
{
    struct timespec time;
    if (now() >= until) return false;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += 20000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_nsec -= 1000000000;
        time.tv_sec++;
    }
    pthread_cond_timedwait(&changed, &stage, &time);
    return true;
}

/* ---- points ----------------------------------------------------------------------------------------------- */

static bool am_collector(void)
{
    if (is_collector == 0) {
        char name[32] = "";
        pthread_getname_np(pthread_self(), name, sizeof name);
        is_collector = strcmp(name, "coexgc") == 0 ? 1 : -1;
    }
    return is_collector == 1;
}

/* The hold that is for this visit; the others for this point and thread count it. */
static hold *find_hold(const char *point)
{
    bool collector = am_collector();
    hold *found = NULL;
    for (int i = 0; i < MAX_HOLDS; i++) {
        hold *it = &holds[i];
        if (it->state != HOLD_ARMED || strcmp(it->point, point) != 0) continue;
        if (it->who != NULL ? it->who != this_actor : !collector) continue;
        if (it->skip > 0)
            it->skip--;
        else if (found == NULL)
            found = it;
    }
    return found;
}

static void come_to_point(const char *point)
{
    pthread_mutex_lock(&stage);
    hold *it = find_hold(point);
    void (*run)(void) = NULL;
    if (it != NULL && it->run != NULL) {
        run = it->run;
        it->state = HOLD_OFF;
    } else if (it != NULL) {
        it->state = HOLD_TAKEN;
        pthread_cond_broadcast(&changed);
        while (it->state == HOLD_TAKEN) pthread_cond_wait(&changed, &stage);
        it->state = HOLD_OFF;
    }
    pthread_mutex_unlock(&stage);
    if (run != NULL) run();
}

static hold *arm(actor *who, const char *point, unsigned skip, void (*run)(void))
{
    pthread_mutex_lock(&stage);
    hold *it = holds;
    while (it < holds + MAX_HOLDS && it->state != HOLD_OFF) it++;
    if (it == holds + MAX_HOLDS) test_fail(__FILE__, __LINE__, "more than %d holds", MAX_HOLDS);
    *it = (hold){HOLD_ARMED, point, who, skip, run};
    pthread_mutex_unlock(&stage);
    return it;
}

hold *hold_actor(actor *who, const char *point) { return arm(who, point, 0, NULL); }
hold *hold_collector(const char *point) { return arm(NULL, point, 0, NULL); }
hold *hold_collector_after(const char *point, unsigned skip) { return arm(NULL, point, skip, NULL); }
void at_collector_point(const char *point, unsigned skip, void (*run)(void)) { arm(NULL, point, skip, run); }

static const char *hold_name(const hold *it) { return it->who != NULL ? it->who->name : "the collector"; }

void hold_await(hold *it)
{
    double until = now() + patience();
    pthread_mutex_lock(&stage);
    while (it->state == HOLD_ARMED) {
        if (!wait_for_change(until)) test_fail(__FILE__, __LINE__, "%s does not come to '%s'", hold_name(it), it->point);
    }
    pthread_mutex_unlock(&stage);
}

static bool hold_is_taken(const hold *it)
{
    pthread_mutex_lock(&stage);
    bool taken = it->state != HOLD_ARMED;
    pthread_mutex_unlock(&stage);
    return taken;
}

void let_go(hold *it)
{
    pthread_mutex_lock(&stage);
    it->state = it->state == HOLD_TAKEN ? HOLD_FREE : HOLD_OFF;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&stage);
}

/* ---- actors ----------------------------------------------------------------------------------------------- */

static void *actor_main(void *argument)
{
    actor *self = this_actor = argument;
    coex_handle given = 0;
    if (self->attach != NULL)
        given = coex_gc_spawn_attach(self->attach);
    else
        coex_gc_register_thread();
    self->slot = coex_gc_enter_frame(ACTOR_SLOTS);
    self->slot[0] = given;
    pthread_mutex_lock(&stage);
    while (!self->ending) {
        self->step = NULL;
        pthread_cond_broadcast(&changed);
        while (self->step == NULL && !self->ending) pthread_cond_wait(&changed, &stage);
        if (self->step == NULL) break;
        pthread_mutex_unlock(&stage);
        self->step(self);
        pthread_mutex_lock(&stage);
    }
    self->step = NULL;
    pthread_mutex_unlock(&stage);
    coex_gc_unregister_thread();
    return NULL;
}

static void step_nothing(actor *self) { (void)self; }

actor *actor_start_spawned(const char *name, coex_gc_spawn *spawn)
{
    actor *it = calloc(1, sizeof *it);
    *it = (actor){.name = name, .answers = true, .attach = spawn, .step = step_nothing};
    pthread_mutex_lock(&stage);
    it->next = actors;
    actors = it;
    pthread_mutex_unlock(&stage);
    expect(pthread_create(&it->thread, NULL, actor_main, it) == 0);
    return it;
}

actor *actor_start(const char *name)
{
    actor *it = actor_start_spawned(name, NULL);
    actor_await(it);
    return it;
}

void actor_begin(actor *who, actor_step step)
{
    pthread_mutex_lock(&stage);
    if (who->step != NULL) test_fail(__FILE__, __LINE__, "actor %s is busy", who->name);
    who->step = step;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&stage);
}

void actor_await(actor *who)
{
    double until = now() + patience();
    pthread_mutex_lock(&stage);
    while (who->step != NULL) {
        if (!wait_for_change(until)) test_fail(__FILE__, __LINE__, "actor %s does not get to the end of its step", who->name);
    }
    pthread_mutex_unlock(&stage);
}

void actor_do(actor *who, actor_step step)
{
    actor_begin(who, step);
    actor_await(who);
}

static bool actor_is_busy(const actor *who)
{
    pthread_mutex_lock(&stage);
    bool busy = who->step != NULL;
    pthread_mutex_unlock(&stage);
    return busy;
}

void actor_expect_waiting(const actor *who)
{
    usleep(QUIET_MS * 1000);
    if (!actor_is_busy(who)) test_fail(__FILE__, __LINE__, "actor %s does not wait", who->name);
}

void actor_end(actor *who)
{
    actor_await(who);
    pthread_mutex_lock(&stage);
    who->ending = true;
    actor **link = &actors;
    while (*link != who) link = &(*link)->next;
    *link = who->next;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&stage);
    pthread_join(who->thread, NULL);
    free(who);
}

/* ---- cycles ----------------------------------------------------------------------------------------------- */

void step_answer(actor *self)
{
    (void)self;
    coex_gc_safepoint();
}

/* One safepoint of each actor that answers and has nothing else to do. */
static void answer_all(void)
{
    for (actor *it = actors; it != NULL; it = it->next) {
        if (it->answers && !actor_is_busy(it)) actor_do(it, step_answer);
    }
    usleep(200);
}

void cycle_begin(void) { awaited_cycle = cx_collector_order(); }

void run_to(hold *it)
{
    double until = now() + patience();
    while (!hold_is_taken(it)) {
        if (now() > until) test_fail(__FILE__, __LINE__, "%s does not come to '%s'", hold_name(it), it->point);
        answer_all();
    }
}

hold *cycle_to_roots(hold *from)
{
    hold *sync = hold_collector("handshake-published");
    hold *roots = hold_collector_after("handshake-published", 1);
    if (from != NULL)
        let_go(from);
    else
        cycle_begin();
    run_to(sync);
    answer_all(); /* while the collector is held: an answer must not be followed by the next at once */
    let_go(sync);
    hold_await(roots);
    return roots;
}

void hold_expect_empty(hold *it)
{
    double until = now() + QUIET_MS / 1e3;
    while (now() < until) {
        if (hold_is_taken(it)) test_fail(__FILE__, __LINE__, "%s comes to '%s' and should wait", hold_name(it), it->point);
        answer_all();
    }
}

void run_out(void)
{
    double until = now() + patience();
    while (cx_collector_stats().completed < awaited_cycle) {
        if (now() > until) test_fail(__FILE__, __LINE__, "the cycle does not end");
        answer_all();
    }
}

void cycle_whole(void)
{
    cycle_begin();
    run_out();
}

/* ---- the stage -------------------------------------------------------------------------------------------- */

coex_gc_config schedule_config(void)
{
    coex_gc_config config = quiet_config();
    config.initial_handles = 4096;
    config.max_handles = 1 << 20;
    return config;
}

void schedule_start_with(coex_gc_config *config)
{
    config->verify = true;
    config->poison = true;
    start_with(config);
    nodes_init();
    expect(coex_gc_add_global_root(&shared_root) == COEX_GC_OK);
    coex_gc_unregister_thread();
    cx_schedule_point_set_hook(come_to_point);
}

void schedule_start(void)
{
    coex_gc_config config = schedule_config();
    schedule_start_with(&config);
}

void schedule_end(void)
{
    while (actors != NULL) actor_end(actors);
    for (int i = 0; i < MAX_HOLDS; i++) {
        if (holds[i].state != HOLD_OFF) test_fail(__FILE__, __LINE__, "nobody came to '%s'", holds[i].point);
    }
    cx_schedule_point_set_hook(NULL);
    coex_gc_shutdown();
}

/* ---- common steps ----------------------------------------------------------------------------------------- */

coex_handle actor_make(actor *self, unsigned index, enum node_kind kind, coex_handle first, coex_handle second)
{
    coex_handle children[NODE_CELL_FIELDS] = {first, second};
    uint32_t count = kind == NODE_LINK || kind == NODE_TUPLE ? 2 : kind == NODE_CELL ? NODE_CELL_FIELDS : 0;
    self->id[index] = node_fresh_id(kind);
    self->slot[index] = node_make(self->id[index], children, count, 0);
    expect(self->slot[index] != 0);
    return self->slot[index];
}

void actor_expect(const actor *self, unsigned index) { node_expect(self->slot[index], self->id[index]); }

coex_handle shared_cell(void) { return coex_gc_global_load(&shared_root); }

void step_make_shared(actor *self)
{
    coex_gc_global_store(&shared_root, actor_make(self, ACTOR_SLOTS - 1, NODE_CELL, 0, 0));
    self->slot[ACTOR_SLOTS - 1] = 0;
}

coex_handle shared_load(unsigned field) { return coex_gc_load(shared_cell(), node_cell_offset(field)); }
void shared_store(unsigned field, coex_handle value) { coex_gc_store(shared_cell(), node_cell_offset(field), value); }
