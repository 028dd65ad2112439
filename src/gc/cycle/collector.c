/* See collector.h. */
#include "gc/cycle/collector.h"

#include "base/schedule_point.h"
#include "gc/error.h"
#include "gc/stacks/root_record.h"
#include "gc/threads/native_transition.h"
#include "gc/lock_rank.h"

enum {
    COLLECTOR_TICK_MS = 1000,    /* without a cycle for so long, free memory goes back */
    COLLECTOR_EAGER_LOOKS = 100, /* at the answers, before it sleeps between two */
    COLLECTOR_NAP_NS = 20000,
    COLLECTOR_LONG_NAP_NS = 200000
};

struct cx_collector {
    cx_mutex lock; /* CX_RANK_REQUEST */
    cx_cond asked;
    cx_cond ended;
    /* under the lock */
    bool pending, running, stopping;
    bool has_thread; /* or a GC thread is to be started by the next request (after a fork) */
    uint64_t started;
    uint64_t waiters; /* threads inside collector_wait_locked */
    struct cx_cycle_stats last;
    struct cx_visit *visits;
    bool trimmed; /* nothing has been freed since free memory went back */
    cx_os_thread thread;
    /* the role */
    cx_mutex role;         /* CX_RANK_ROLE */
    cx_a32 fork_wanted;    /* W: fork, seq. R: who has the role, between two slices */
    struct cx_cycle cycle; /* under the role */
};

static struct cx_collector collector_state;

/* ------------------------------------------------- beginning and ending one */

/* With role and lock. */
static void collector_begin_locked(struct cx_collector *collector)
{
    cx_cycle_begin_gct(&collector->cycle, collector->visits);
    collector->visits = NULL;
    collector->pending = false;
    collector->running = true;
    collector->started++;
}

static void collector_end_locked(struct cx_collector *collector)
{
    struct cx_cycle_stats stats = collector->cycle.stats;
    stats.completed = collector->started;
    stats.total_ns = collector->last.total_ns + stats.duration_ns;
    collector->last = stats;
    collector->running = false;
    collector->trimmed = false;
    cx_a32_store_relaxed(&cx_world.collecting, collector->pending);
    cx_cond_broadcast(&collector->ended);
}

/* ---------------------------------------------------------- the GC thread */

/* Between two slices: if somebody forks, the role is his for a moment. */
static void collector_let_fork_through_gct(struct cx_collector *collector)
{
    if (CX_LIKELY(cx_a32_load_seq(&collector->fork_wanted) == 0)) return;
    cx_mutex_unlock(&collector->role);
    while (cx_a32_load_seq(&collector->fork_wanted) != 0) cx_os_sleep_ns(COLLECTOR_NAP_NS);
    cx_mutex_lock(&collector->role);
}

static void collector_run_gct(struct cx_collector *collector)
{
    uint64_t looks = 0;
    for (;;) {
        enum cx_progress progress = cx_cycle_step_gct(&collector->cycle);
        if (progress == CX_PROGRESS_DONE) return;
        collector_let_fork_through_gct(collector);
        looks = progress == CX_PROGRESS_WAIT ? looks + 1 : 0;
        if (looks > COLLECTOR_EAGER_LOOKS)
            cx_os_sleep_ns(looks > 2 * COLLECTOR_EAGER_LOOKS ? COLLECTOR_LONG_NAP_NS : COLLECTOR_NAP_NS);
        else if (looks > 0)
            cx_cpu_relax();
    }
}

static void collector_serve_gct(struct cx_collector *collector)
{
    cx_mutex_unlock(&collector->lock);
    cx_mutex_lock(&collector->role);
    cx_mutex_lock(&collector->lock);
    collector_begin_locked(collector);
    cx_mutex_unlock(&collector->lock);
    collector_run_gct(collector);
    cx_mutex_lock(&collector->lock);
    collector_end_locked(collector);
    cx_mutex_unlock(&collector->lock);
    cx_mutex_unlock(&collector->role);
    cx_mutex_lock(&collector->lock);
}

/* In slices, as the cycle: a fork is let through between two, and a request ends it. */
static void collector_trim_gct(struct cx_collector *collector)
{
    bool more = true;
    cx_mutex_unlock(&collector->lock);
    cx_mutex_lock(&collector->role);
    while (more && cx_a32_load_relaxed(&cx_world.collecting) == 0) {
        struct cx_budget budget = cx_budget_of(CX_SLICE_UNITS);
        more = cx_heap_trim_some_gct(&cx_world.heap, 0, &budget) || cx_heap_trim_large_gct(&cx_world.heap, &budget) ||
               cx_handles_trim_gct(&cx_world.handles, &budget);
        cx_budget_check(&budget, "trim at rest");
        CX_SCHEDULE_POINT("trimmed-a-slice");
        collector_let_fork_through_gct(collector);
    }
    cx_mutex_unlock(&collector->role);
    cx_mutex_lock(&collector->lock);
    collector->trimmed = !more;
}

static void collector_main(void *argument)
{
    struct cx_collector *collector = argument;
    cx_mutex_lock(&collector->lock);
    while (!collector->stopping) {
        if (collector->pending)
            collector_serve_gct(collector);
        else if (collector->trimmed)
            cx_cond_wait(&collector->asked, &collector->lock);
        else if (!cx_cond_wait_for(&collector->asked, &collector->lock, (uint64_t)COLLECTOR_TICK_MS * 1000000))
            collector_trim_gct(collector);
    }
    cx_mutex_unlock(&collector->lock);
}

static void collector_init_locks(struct cx_collector *collector)
{
    cx_mutex_init(&collector->role, CX_RANK_ROLE);
    cx_mutex_init(&collector->lock, CX_RANK_REQUEST);
    cx_cond_init(&collector->asked);
    cx_cond_init(&collector->ended);
}

/* False: the system gives no thread. */
static bool collector_start_thread(struct cx_collector *collector)
{
    if (!collector->has_thread && !cx_collector_steps())
        collector->has_thread = cx_os_thread_start(&collector->thread, "coexgc", collector_main, collector);
    return collector->has_thread || cx_collector_steps();
}

/* The locks stay from one life to the next, for requests that come too late. */
int cx_collector_start(void)
{
    struct cx_collector *collector = &collector_state;
    if (cx_world.collector == NULL) collector_init_locks(collector);
    cx_world.collector = collector;
    cx_mutex_lock(&collector->lock);
    collector->pending = collector->running = collector->stopping = collector->has_thread = false;
    collector->started = 0;
    collector->last = (struct cx_cycle_stats){0};
    collector->visits = NULL;
    collector->trimmed = true;
    collector->cycle = (struct cx_cycle){0};
    bool started = collector_start_thread(collector);
    collector->stopping = !started;
    cx_mutex_unlock(&collector->lock);
    return started ? COEX_GC_OK : cx_error_set(COEX_GC_ETHREAD, "the GC thread could not be started");
}

void cx_collector_close(void)
{
    struct cx_collector *collector = cx_world.collector;
    cx_mutex_lock(&collector->lock);
    collector->stopping = true;
    cx_cond_broadcast(&collector->asked);
    cx_cond_broadcast(&collector->ended);
    cx_mutex_unlock(&collector->lock);
}

void cx_collector_stop(void)
{
    struct cx_collector *collector = cx_world.collector;
    if (collector->has_thread) cx_os_thread_join(&collector->thread);
    /* Threads that wait for a cycle in native mode have been woken; they must not wait for one of the next life. */
    cx_mutex_lock(&collector->lock);
    while (collector->waiters != 0) {
        cx_mutex_unlock(&collector->lock);
        cx_os_sleep_ns(COLLECTOR_LONG_NAP_NS);
        cx_mutex_lock(&collector->lock);
    }
    cx_mutex_unlock(&collector->lock);
}

/* --------------------------------------------------------------- stepping */

/* Begins a cycle if one is asked for; true: one runs. With the role. */
static bool collector_ensure_running(struct cx_collector *collector)
{
    cx_mutex_lock(&collector->lock);
    if (!collector->running && collector->pending && !collector->stopping) collector_begin_locked(collector);
    bool running = collector->running;
    cx_mutex_unlock(&collector->lock);
    return running;
}

/* Slices until the time is over, the cycle ends (true), or another thread's answer is missing. With the role. */
static bool collector_step_with_role(struct cx_collector *collector, struct cx_thread *self, uint64_t until)
{
    do {
        if (self != NULL && cx_thread_is_pending(self)) cx_safepoint_poll_self(self);
        enum cx_progress progress = cx_cycle_step_gct(&collector->cycle);
        if (progress == CX_PROGRESS_DONE) {
            cx_mutex_lock(&collector->lock);
            collector_end_locked(collector);
            cx_mutex_unlock(&collector->lock);
            return true;
        }
        if (progress == CX_PROGRESS_WAIT && (self == NULL || !cx_thread_is_pending(self))) return false;
    } while (cx_a32_load_seq(&collector->fork_wanted) == 0 && cx_os_now_ns() < until);
    return false;
}

bool cx_collector_step(struct cx_thread *self, uint64_t nanoseconds)
{
    struct cx_collector *collector = cx_world.collector;
    uint64_t until = cx_os_now_ns() + nanoseconds;
    if (!cx_mutex_try_lock(&collector->role)) return false;
    bool done = !collector_ensure_running(collector) || collector_step_with_role(collector, self, until);
    cx_mutex_unlock(&collector->role);
    return done;
}

/* --------------------------------------------------------------- requests */

static void collector_ask_locked(struct cx_collector *collector)
{
    if (collector->pending || collector->stopping) return;
    collector->pending = true;
    cx_a32_store_relaxed(&cx_world.collecting, 1);
    if (!collector_start_thread(collector))
        cx_fatal("fork: the GC thread of the child could not be started");
    cx_cond_signal(&collector->asked);
}

void cx_collector_async(void)
{
    struct cx_collector *collector = cx_world.collector;
    cx_mutex_lock(&collector->lock);
    if (!collector->running) collector_ask_locked(collector);
    cx_mutex_unlock(&collector->lock);
}

uint64_t cx_collector_order(void)
{
    struct cx_collector *collector = cx_world.collector;
    cx_mutex_lock(&collector->lock);
    collector_ask_locked(collector);
    uint64_t number = collector->started + 1;
    cx_mutex_unlock(&collector->lock);
    return number;
}

uint64_t cx_collector_current(void)
{
    struct cx_collector *collector = cx_world.collector;
    cx_mutex_lock(&collector->lock);
    uint64_t number = collector->running ? collector->started : collector->pending ? collector->started + 1 : 0;
    cx_mutex_unlock(&collector->lock);
    return number;
}

/* Without a GC thread whoever waits does the work, if nobody else does. The caller is in native mode: the slices answer for it. */
static void collector_work_while_waiting(struct cx_collector *collector, uint64_t nanoseconds)
{
    cx_mutex_unlock(&collector->lock);
    if (!cx_collector_step(NULL, nanoseconds)) cx_os_sleep_ns(COLLECTOR_NAP_NS);
    cx_mutex_lock(&collector->lock);
}

static void collector_wait_locked(struct cx_collector *collector, uint64_t number)
{
    collector->waiters++;
    while (collector->last.completed < number) {
        bool coming = collector->running && collector->started >= number;
        if (collector->stopping && !coming) break;
        if (cx_collector_steps())
            collector_work_while_waiting(collector, (uint64_t)COLLECTOR_TICK_MS * 1000000);
        else
            cx_cond_wait(&collector->ended, &collector->lock);
    }
    collector->waiters--;
}

void cx_collector_wait(uint64_t number)
{
    struct cx_collector *collector = cx_world.collector;
    cx_mutex_lock(&collector->lock);
    collector_wait_locked(collector, number);
    cx_mutex_unlock(&collector->lock);
}

bool cx_collector_rests(uint64_t nanoseconds)
{
    struct cx_collector *collector = cx_world.collector;
    uint64_t until = cx_os_now_ns() + nanoseconds;
    bool rests;
    cx_mutex_lock(&collector->lock);
    for (;;) {
        rests = !collector->running && (!collector->pending || collector->stopping);
        uint64_t now = cx_os_now_ns();
        if (rests || now >= until) break;
        if (cx_collector_steps())
            collector_work_while_waiting(collector, until - now);
        else
            cx_cond_wait_for(&collector->ended, &collector->lock, until - now);
    }
    cx_mutex_unlock(&collector->lock);
    return rests;
}

void cx_collector_visit(struct cx_visit *visit)
{
    struct cx_collector *collector = cx_world.collector;
    cx_mutex_lock(&collector->lock);
    visit->next = collector->visits;
    collector->visits = visit;
    collector_ask_locked(collector);
    collector_wait_locked(collector, collector->started + 1);
    cx_mutex_unlock(&collector->lock);
}

struct cx_cycle_stats cx_collector_stats(void)
{
    struct cx_collector *collector = cx_world.collector;
    cx_mutex_lock(&collector->lock);
    struct cx_cycle_stats stats = collector->last;
    cx_mutex_unlock(&collector->lock);
    return stats;
}

/* ------------------------------------------------------------------- fork */

void cx_collector_fork_prepare(void)
{
    struct cx_collector *collector = cx_world.collector;
    cx_a32_store_seq(&collector->fork_wanted, 1);
    cx_mutex_lock(&collector->role);
    cx_mutex_lock(&collector->lock);
}

void cx_collector_fork_parent(void)
{
    struct cx_collector *collector = cx_world.collector;
    cx_mutex_unlock(&collector->lock);
    cx_mutex_unlock(&collector->role);
    cx_a32_store_seq(&collector->fork_wanted, 0);
}

void cx_collector_fork_child(void)
{
    struct cx_collector *collector = cx_world.collector;
    uint64_t epoch = collector->cycle.epoch;
    cx_mutex_unlock(&collector->lock);
    cx_mutex_unlock(&collector->role);
    /* Nobody else is here: locks and conditions that other threads slept on are made anew. */
    collector_init_locks(collector);
    collector->cycle = (struct cx_cycle){.epoch = epoch};
    cx_root_record_fork_child();
    collector->has_thread = false;
    collector->waiters = 0;
    collector->visits = NULL;
    if (collector->running) collector->last.completed = collector->started; /* nobody is left to wait for it; numbers go on */
    collector->running = collector->pending = false;
    cx_a32_store_relaxed(&cx_world.collecting, 0);
    cx_a32_store_seq(&collector->fork_wanted, 0);
}
