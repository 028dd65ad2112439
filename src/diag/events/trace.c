/* See trace.h. Recording on any thread; start and stop under the lock, files are written without it. */
#include "diag/events/trace.h"

#include "base/lock.h"
#include "base/os.h"
#include "diag/outfile.h"
#include "gc/error.h"
#include "gc/cycle/pace.h"
#include "gc/api/runtime.h"
#include "gc/threads/native_transition.h"
#include "gc/lock_rank.h"
#include "diag/events/event_statistics.h"
#include "diag/output.h"

#include <errno.h>
#include <string.h>

enum {
    TRACE_SLOTS = 1 << 16, /* 4 MiB: some hundred cycles of some threads */
    TRACE_PATH = 4096
};

cx_a32 cx_trace_on;

static struct {
    cx_mutex lock;    /* CX_RANK_TRACE */
    cx_cond written;  /* `writers` became 0 */
    uint32_t writers; /* threads that read the ring into a file, without the lock: the ring stays until they are done */
    struct cx_ring ring;
    bool has_exit_hook;
    char path[TRACE_PATH]; /* where it goes when it stops */
    uint64_t first;        /* ticket of its first record */
    uint64_t lost_before;
    uint64_t begin_ns;
} trace_state = {.lock = CX_MUTEX_INITIALIZER(CX_RANK_TRACE), .written = {.os = PTHREAD_COND_INITIALIZER}};

/* ---------------------------------------------------------------- recording */

void cx_trace_put(enum cx_trace_kind kind, uint64_t thread, const uint64_t value[CX_TRACE_VALUES])
{
    struct cx_trace_record record = {.time_ns = cx_os_now_ns(), .thread = (uint32_t)thread, .kind = (uint32_t)kind};
    memcpy(record.value, value, sizeof record.value);
    cx_ring_put(&trace_state.ring, &record);
}

/* With no lock held but the collector's role: it takes those of the heap. */
static void trace_put_heap_gct(void)
{
    struct cx_heap *heap = &cx_world.heap;
    const struct cx_handles *handles = &cx_world.handles;
    cx_mutex_lock(&heap->lock);
    uint64_t committed = (uint64_t)heap->committed * CX_BLOCK_BYTES;
    cx_mutex_unlock(&heap->lock);
    cx_trace_put(CX_TRACE_HEAP, 0,
                 (uint64_t[]){cx_a64_load_relaxed(&heap->used), cx_a64_load_relaxed(&cx_pace.goal),
                              cx_a64_load_relaxed(&cx_pace.live), committed + cx_large_size(&heap->large), cx_pace_external()});
    uint64_t retired = cx_a64_load_relaxed(&handles->retired_now);
    uint64_t allocated = cx_a64_load_relaxed(&handles->claimed) - cx_a64_load_relaxed(&handles->recycled);
    cx_trace_put(
        CX_TRACE_HANDLES, 0,
        (uint64_t[]){allocated > retired ? allocated - retired : 0, retired, cx_a64_load_acquire(&handles->committed), 0, 0});
}

static void trace_put_stop_self(const struct cx_event *event)
{
    const struct cx_thread *self = cx_thread_self();
    uint64_t id = self != NULL ? cx_a64_load_relaxed(&self->os_id) : cx_os_thread_id();
    uint64_t asked = cx_a64_load_relaxed(&cx_event_statistics.asked_ns), began = cx_os_now_ns() - event->b;
    cx_trace_put(CX_TRACE_STOP, id, (uint64_t[]){event->a, event->b, began > asked ? began - asked : 0, 0, 0});
}

/* Spans that a trace shows one inside the other begin and end by one clock here: a stage begins where the one before has ended, and the
 * cycle is all of them. */
static struct {
    uint64_t cycle_begin, stage_begin; /* 0: before the trace was started */
} trace_span;                          /* collector only */

static void trace_put_span_gct(enum cx_trace_kind kind, uint64_t begin, uint64_t end, const uint64_t value[CX_TRACE_VALUES])
{
    struct cx_trace_record record = {.time_ns = end, .kind = (uint32_t)kind};
    memcpy(record.value, value, sizeof record.value);
    record.value[1] = end - begin;
    cx_ring_put(&trace_state.ring, &record);
}

static void trace_begin_cycle_gct(void)
{
    trace_span.cycle_begin = trace_span.stage_begin = cx_os_now_ns();
    trace_put_heap_gct();
}

static void trace_end_stage_gct(const struct cx_event *event)
{
    uint64_t now = cx_os_now_ns();
    if (trace_span.stage_begin != 0)
        trace_put_span_gct(CX_TRACE_STAGE, trace_span.stage_begin, now, (uint64_t[]){event->a, 0, 0, 0, 0});
    trace_span.stage_begin = now;
}

static void trace_end_cycle_gct(const struct cx_event *event)
{
    if (trace_span.cycle_begin != 0)
        trace_put_span_gct(CX_TRACE_CYCLE, trace_span.cycle_begin, trace_span.stage_begin,
                           (uint64_t[]){event->a, 0, cx_event_statistics.marked, cx_event_statistics.swept, cx_event_statistics.used_at_begin});
    trace_span.cycle_begin = trace_span.stage_begin = 0;
    trace_put_heap_gct();
    cx_heap_sampling_blocks_gct();
}

void cx_trace_take(const struct cx_event *event)
{
    uint64_t pair[CX_TRACE_VALUES] = {event->a, event->b};
    switch (event->kind) {
    case CX_EVENT_CYCLE_BEGIN:
        trace_begin_cycle_gct();
        break;
    case CX_EVENT_STAGE:
        trace_end_stage_gct(event);
        break;
    case CX_EVENT_MARK_END:
        trace_put_heap_gct();
        cx_heap_sampling_types_gct();
        break;
    case CX_EVENT_CYCLE_END:
        trace_end_cycle_gct(event);
        break;
    case CX_EVENT_STOP:
        trace_put_stop_self(event);
        break;
    case CX_EVENT_ANSWERED_FOR:
        cx_trace_put(CX_TRACE_NATIVE, event->a, pair);
        break;
    case CX_EVENT_HANDSHAKE:
        cx_trace_put(CX_TRACE_HANDSHAKE, 0, pair);
        break;
    case CX_EVENT_THREAD_LATE:
        cx_trace_put(CX_TRACE_LATE, event->a, pair);
        break;
    case CX_EVENT_SWEEP_END:
    case CX_EVENT_REQUEST:
    case CX_EVENT_SAMPLE:
        break;
    }
}

void coex_gc_trace_counter(const char *name, uint64_t value)
{
    if (!cx_trace_is_on() || name == NULL) return;
    cx_trace_put(CX_TRACE_COUNTER, 0, (uint64_t[]){(uintptr_t)name, value, 0, 0, 0});
}

/* ------------------------------------------------------- starting, stopping */

static int trace_refuse(const char *path, int reason)
{
    return cx_error_set(COEX_GC_EINVAL, "cannot write the trace to %.200s: %s", path, strerror(reason));
}

static struct cx_trace_extent trace_extent_locked(void)
{
    uint64_t oldest = cx_ring_oldest(&trace_state.ring, trace_state.first);
    return (struct cx_trace_extent){
        .first = oldest,
        .last = cx_ring_now(&trace_state.ring),
        .begin_ns = trace_state.begin_ns,
        .dropped = oldest - trace_state.first + cx_a64_load_relaxed(&trace_state.ring.lost) - trace_state.lost_before,
    };
}

static int trace_write_file(const char *path, const struct cx_trace_extent *extent)
{
    struct cx_outfile *file = cx_outfile_open(path);
    if (file == NULL) return trace_refuse(path, errno);
    int failed = cx_outfile_close(file, cx_trace_write_json(cx_outfile_stream(file), &trace_state.ring, extent));
    return failed == 0 ? COEX_GC_OK : trace_refuse(path, failed);
}

/* Gives the lock up while the file is opened and written, which may take as long as the reader of a pipe likes: a fork takes the lock. */
static int trace_write_locked(const char *path)
{
    struct cx_trace_extent extent = trace_extent_locked();
    trace_state.writers++;
    cx_mutex_unlock(&trace_state.lock);
    int code = trace_write_file(path, &extent);
    cx_mutex_lock(&trace_state.lock);
    if (--trace_state.writers == 0) cx_cond_broadcast(&trace_state.written);
    return code;
}

static int trace_stop_locked(void)
{
    if (!cx_trace_is_on()) return cx_error_set(COEX_GC_ESTATE, "coex_gc_trace_stop: no trace is being recorded");
    char path[TRACE_PATH]; /* another trace may start meanwhile */
    memcpy(path, trace_state.path, sizeof path);
    cx_a32_store_relaxed(&cx_trace_on, 0);
    return trace_write_locked(path);
}

/* A program that ends without shutdown: what was recorded is not lost. Its threads may still be recording. */
static void trace_at_exit(void)
{
    if (!cx_mutex_try_lock(&trace_state.lock)) return;
    if (cx_trace_is_on()) trace_stop_locked();
    cx_mutex_unlock(&trace_state.lock);
}

/* Refuses a path that can't be written to now, rather than when everything is recorded. The file itself is not touched before the trace is
 * complete. */
static int trace_start_locked(const char *path)
{
    size_t length = path != NULL ? strlen(path) : 0;
    if (length == 0 || length >= TRACE_PATH) return cx_error_set(COEX_GC_EINVAL, "coex_gc_trace_start: `path` must be the name of a file");
    if (cx_trace_is_on()) return cx_error_set(COEX_GC_EALREADY, "coex_gc_trace_start: a trace is already being recorded to %.200s", trace_state.path);
    int failed = cx_outfile_check(path);
    if (failed != 0) return trace_refuse(path, failed);
    if (trace_state.ring.slots == NULL && !cx_ring_init(&trace_state.ring, TRACE_SLOTS))
        return cx_error_set(COEX_GC_ENOMEM,
                            "coex_gc_trace_start: no memory for the ring of events");
    if (!trace_state.has_exit_hook) trace_state.has_exit_hook = cx_os_at_exit(trace_at_exit);
    memcpy(trace_state.path, path, length + 1);
    trace_state.first = cx_ring_now(&trace_state.ring);
    trace_state.lost_before = cx_a64_load_relaxed(&trace_state.ring.lost);
    trace_state.begin_ns = cx_os_now_ns();
    cx_a32_store_release(&cx_trace_on, 1);
    return COEX_GC_OK;
}

int cx_trace_start(const char *path)
{
    cx_mutex_lock(&trace_state.lock);
    int code = trace_start_locked(path);
    cx_mutex_unlock(&trace_state.lock);
    return code;
}

void cx_trace_fini(void)
{
    cx_mutex_lock(&trace_state.lock);
    if (cx_trace_is_on() && trace_stop_locked() != COEX_GC_OK) cx_output_print("[GC] %s\n", cx_error_detail());
    while (trace_state.writers != 0) cx_cond_wait(&trace_state.written, &trace_state.lock);
    if (trace_state.ring.slots != NULL) cx_ring_fini(&trace_state.ring);
    cx_mutex_unlock(&trace_state.lock);
}

void cx_trace_fork_lock(void) { cx_mutex_lock(&trace_state.lock); }
void cx_trace_fork_parent(void) { cx_mutex_unlock(&trace_state.lock); }
void cx_trace_fork_child(void)
{
    cx_a32_store_relaxed(&cx_trace_on, 0);
    trace_state.writers = 0; /* they are the parent's */
    cx_cond_init(&trace_state.written);
    cx_mutex_unlock(&trace_state.lock);
}

/* -------------------------------------------------------------------- public */

/* Files may be slow: a thread that writes one is in native mode meanwhile, and is not cancelled half-way. */
static int trace_in_native_mode(const char *function, int (*run)(const char *path), const char *path)
{
    if (!cx_runtime_is_up()) return cx_error_set(COEX_GC_ESTATE, "%s: the runtime is not initialised", function);
    struct cx_thread *self = cx_thread_self();
    int before = cx_os_hold_cancellation();
    if (self != NULL) cx_transition_enter_self(self);
    cx_mutex_lock(&trace_state.lock);
    int code = run(path);
    cx_mutex_unlock(&trace_state.lock);
    if (self != NULL) cx_transition_leave_self(cx_thread_need_self(function));
    cx_os_allow_cancellation(before);
    return code;
}

static int trace_stop_at(const char *path)
{
    (void)path;
    return trace_stop_locked();
}

static int trace_write_at(const char *path)
{
    if (path == NULL || path[0] == '\0')
        return cx_error_set(COEX_GC_EINVAL,
                            "coex_gc_trace_write: `path` must be the name of a file");
    return cx_trace_is_on()
               ? trace_write_locked(path)
               : cx_error_set(COEX_GC_ESTATE, "coex_gc_trace_write: no trace is being recorded");
}

int coex_gc_trace_start(const char *path) { return trace_in_native_mode("coex_gc_trace_start", trace_start_locked, path); }
int coex_gc_trace_stop(void) { return trace_in_native_mode("coex_gc_trace_stop", trace_stop_at, NULL); }
int coex_gc_trace_write(const char *path) { return trace_in_native_mode("coex_gc_trace_write", trace_write_at, path); }
