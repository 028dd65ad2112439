/*
 * Forced schedules of threads that come and go in the middle of a cycle, and of the poll.
 */
#include "support/schedule.h"

#include "gc/threads/thread_record.h"

static actor *a, *b;

static void make_leaf(actor *self) { actor_make(self, 0, NODE_LEAF, 0, 0); }
static void expect_slot_0(actor *self) { actor_expect(self, 0); }

/* ---- places ----------------------------------------------------------------------------------------------- */

/* Each begins a cycle and leaves the collector held there; what it asks for has been answered by nobody. */
static hold *to_sync(void)
{
    hold *there = hold_collector("handshake-published");
    cycle_begin();
    hold_await(there);
    return there;
}

static hold *to_roots(void) { return cycle_to_roots(NULL); }

static hold *to_point(const char *point)
{
    hold *there = hold_collector(point);
    cycle_begin();
    run_to(there);
    return there;
}

static hold *to_mark(void) { return to_point("mark-begins"); }
static hold *to_sweep(void) { return to_point("sweep-begins"); }

static hold *to_flush(void)
{
    hold *marking = to_mark();
    hold *there = hold_collector("handshake-published");
    let_go(marking);
    hold_await(there);
    return there;
}

/* ---- spawn ------------------------------------------------------------------------------------------------ */

/* The child has the leaf from now on, the parent has not. */
static void prepare_child(actor *self)
{
    self->spawn = coex_gc_spawn_prepare(self->slot[0]);
    expect(self->spawn != NULL);
    self->slot[0] = 0;
}

static void spawn_at(hold *(*place)(void))
{
    schedule_start();
    a = actor_start("a");
    actor_do(a, make_leaf);
    hold *there = place();
    actor_do(a, prepare_child);
    let_go(there);
    run_out();
    actor *child = actor_start_spawned("child", a->spawn);
    actor_await(child);
    child->id[0] = a->id[0];
    actor_do(child, expect_slot_0);
    cycle_whole();
    actor_do(child, expect_slot_0);
    schedule_end();
}

/* The parent owes an answer when it spawns: it gives it first, so that its child starts in the state that follows. */
TEST(the_argument_of_a_thread_spawned_when_the_roots_are_asked_for_survives)
{
    NEEDS_POINTS();
    spawn_at(to_roots);
}

TEST(the_argument_of_a_thread_spawned_when_barriers_are_asked_for_survives)
{
    NEEDS_POINTS();
    spawn_at(to_sync);
}

TEST(the_argument_of_a_thread_spawned_while_marking_survives)
{
    NEEDS_POINTS();
    spawn_at(to_mark);
}

TEST(the_argument_of_a_thread_spawned_while_sweeping_survives)
{
    NEEDS_POINTS();
    spawn_at(to_sweep);
}

/* The child has no answer to give in this cycle: it starts with its parent's colour. */
TEST(what_a_spawned_thread_makes_survives)
{
    NEEDS_POINTS();
    schedule_start();
    a = actor_start("a");
    actor_do(a, make_leaf);
    hold *marking = to_mark();
    actor_do(a, prepare_child);
    actor *child = actor_start_spawned("child", a->spawn);
    actor_await(child);
    actor_do(child, make_leaf);
    let_go(marking);
    run_out();
    actor_do(child, expect_slot_0);
    schedule_end();
}

static void cancel_child(actor *self) { coex_gc_spawn_cancel(self->spawn); }

TEST(a_cancelled_spawn_keeps_no_cycle_waiting)
{
    NEEDS_POINTS();
    schedule_start();
    a = actor_start("a");
    actor_do(a, make_leaf);
    hold *roots = to_roots();
    actor_do(a, prepare_child);
    actor_do(a, cancel_child);
    let_go(roots);
    run_out();
    cycle_whole();
    expect_eq(stats_now().registered_thread_count, 1);
    schedule_end();
}

/* ---- who comes -------------------------------------------------------------------------------------------- */

static void publish_leaf(actor *self)
{
    shared_store(0, actor_make(self, 0, NODE_LEAF, 0, 0));
    self->slot[0] = 0;
}

static void take_leaf(actor *self) { self->slot[0] = shared_load(0); }

static void cut(actor *self)
{
    (void)self;
    shared_store(0, 0);
}

static void start_with_leaf(void)
{
    schedule_start();
    a = actor_start("a");
    actor_do(a, step_make_shared);
    actor_do(a, publish_leaf);
}

/* A thread that comes when barriers are asked for is not asked itself: it starts with its barrier on. */
TEST(a_thread_that_comes_after_barriers_were_asked_for_has_its_barrier_on)
{
    NEEDS_POINTS();
    start_with_leaf();
    hold *sync = hold_collector("handshake-published");
    hold *marking = hold_collector("mark-begins");
    cycle_begin();
    hold_await(sync);
    b = actor_start("b");
    let_go(sync);
    run_to(marking);
    actor_do(a, take_leaf);
    actor_do(b, cut);
    let_go(marking);
    run_out();
    actor_do(a, expect_slot_0);
    schedule_end();
}

static void come_at(hold *(*place)(void))
{
    start_with_leaf();
    hold *there = place();
    b = actor_start("b");
    actor_do(b, make_leaf); /* nobody will scan b: what it makes must be born */
    let_go(there);
    run_out();
    actor_do(b, expect_slot_0);
    schedule_end();
}

TEST(what_a_thread_makes_that_comes_when_the_roots_are_asked_for_survives)
{
    NEEDS_POINTS();
    come_at(to_roots);
}

TEST(what_a_thread_makes_that_comes_while_marking_survives)
{
    NEEDS_POINTS();
    come_at(to_mark);
}

TEST(what_a_thread_makes_that_comes_while_sweeping_survives)
{
    NEEDS_POINTS();
    come_at(to_sweep);
}

/* ---- who goes --------------------------------------------------------------------------------------------- */

/* a shades what it overwrites, and leaves: what it has shaded must not leave with it. */
TEST(what_a_thread_has_shaded_is_marked_after_it_is_gone)
{
    NEEDS_POINTS();
    start_with_leaf();
    b = actor_start("b");
    b->id[0] = a->id[0];
    hold *marking = to_mark();
    actor_do(b, take_leaf);
    actor_do(a, cut);
    actor_end(a);
    let_go(marking);
    run_out();
    actor_do(b, expect_slot_0);
    schedule_end();
}

static void leave_at(hold *(*place)(void))
{
    start_with_leaf();
    b = actor_start("b");
    let_go(place());
    actor_end(a); /* and that counts as its answer */
    run_out();
    schedule_end();
}

TEST(a_thread_that_leaves_owes_no_barrier)
{
    NEEDS_POINTS();
    leave_at(to_sync);
}

TEST(a_thread_that_leaves_owes_no_roots)
{
    NEEDS_POINTS();
    leave_at(to_roots);
}

TEST(a_thread_that_leaves_owes_no_buffer)
{
    NEEDS_POINTS();
    leave_at(to_flush);
}

/* Whoever traces one finds out whether it is complete. */
struct parcel {
    uint64_t complete;
    coex_handle content;
};

static uint32_t parcel_type;
static struct parcel *open_parcel;
static volatile bool seen_open;

static void trace_parcel(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    const struct parcel *it = payload;
    (void)size;
    if (__atomic_load_n(&it->complete, __ATOMIC_ACQUIRE) == 0) seen_open = true;
    coex_gc_visit(visitor, &it->content);
}

/* Leaves, comes back to the same record, and makes a parcel that it has not filled yet. */
static void begin_parcel_anew(actor *self)
{
    void *payload;
    coex_gc_unregister_thread();
    coex_gc_register_thread();
    self->slot = coex_gc_enter_frame(ACTOR_SLOTS);
    self->handle = coex_gc_alloc_at(sizeof(struct parcel), parcel_type, &payload);
    open_parcel = payload;
}

static void end_parcel(actor *self)
{
    __atomic_store_n(&open_parcel->content, self->handle, __ATOMIC_RELAXED);
    __atomic_store_n(&open_parcel->complete, 1, __ATOMIC_RELEASE);
    self->slot[0] = self->handle;
}

/* A thread is about to leave when the verifier asks which objects are complete, and whoever comes next goes on with its handles: what
 * is made of them is not complete, and none of the verifier's business. */
TEST(the_verifier_does_not_look_into_what_is_made_of_a_leavers_handles)
{
    NEEDS_POINTS();
    schedule_start();
    parcel_type = coex_gc_register_type(&(coex_gc_type){.name = "parcel", .size = sizeof(struct parcel), .trace = trace_parcel});
    a = actor_start("a");
    actor_do(a, make_leaf);
    uint64_t word = index_of(a->slot[0]) / 64;
    hold *marked = to_point("weak-decided");
    hold *leaving = hold_actor(a, "thread-exit-before-buffer");
    actor_begin(a, begin_parcel_anew);
    hold_await(leaving);
    hold *asked = hold_collector("handshake-published");
    let_go(marked);
    hold_await(asked);
    let_go(leaving);
    actor_await(a);
    expect_eq(index_of(a->handle) / 64, word);
    hold *sweep = hold_collector("sweep-begins");
    let_go(asked);
    hold_await(sweep);
    expect(!seen_open);
    actor_do(a, end_parcel);
    let_go(sweep);
    run_out();
    schedule_end();
}

/* ---- the poll --------------------------------------------------------------------------------------------- */

static void poll_for_nothing(actor *self)
{
    (void)self;
    coex_gc_safepoint_slow();
}

/* A thread is in its slow path, for nothing, when a request arrives: it must not put back the limit that the request has
 * taken away and go without having seen it. */
TEST(a_request_that_arrives_during_a_poll_is_not_swallowed)
{
    NEEDS_POINTS();
    schedule_start();
    a = actor_start("a");
    hold *polling = hold_actor(a, "poll-before-limit");
    actor_begin(a, poll_for_nothing);
    hold_await(polling);
    let_go(to_sync());
    let_go(polling);
    actor_await(a);
    run_out();
    schedule_end();
}
