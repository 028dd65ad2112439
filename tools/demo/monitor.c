/* Watches the runtime from outside, as any embedder can: coex_gc_get_stats every few milliseconds. */
#include "demo.h"

#include <stdlib.h>
#include <time.h>

enum { PERIOD_MS = 10 };

const char *const demo_request_names[DEMO_REQUESTS] = {"timelines read", "posts made", "follows changed", "names looked up",
                                                       "discussions read"};

uint64_t demo_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

unsigned demo_bucket(uint64_t nanoseconds)
{
    unsigned bucket = nanoseconds == 0 ? 0 : 63 - (unsigned)__builtin_clzll(nanoseconds);
    return bucket < DEMO_BUCKETS ? bucket : DEMO_BUCKETS - 1;
}

uint64_t demo_random_state(uint64_t seed, uint64_t which)
{
    /* splitmix64: neighbouring seeds give states that have nothing in common. */
    uint64_t state = (seed << 16) + which + UINT64_C(0x9e3779b97f4a7c15);
    state = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    state = (state ^ state >> 27) * UINT64_C(0x94d049bb133111eb);
    state ^= state >> 31;
    return state == 0 ? 1 : state;
}

void demo_check(struct demo_tally *tally, bool right, const char *what)
{
    demo_add(&tally->checks, 1);
    if (right) return;
    demo_add(&tally->wrong, 1);
    if (demo_get(&tally->wrong) <= 3) fprintf(stderr, "coex-demo: %s\n", what);
}

void demo_tally_add(struct demo_tally *sum, const struct demo_tally *from)
{
    for (unsigned i = 0; i < DEMO_REQUESTS; i++) demo_add(&sum->requests[i], demo_get(&from->requests[i]));
    for (unsigned i = 0; i < DEMO_BUCKETS; i++) demo_add(&sum->latency[i], demo_get(&from->latency[i]));
    demo_add(&sum->checks, demo_get(&from->checks));
    demo_add(&sum->wrong, demo_get(&from->wrong));
    demo_add(&sum->posted, demo_get(&from->posted));
    demo_add(&sum->trimmed, demo_get(&from->trimmed));
    demo_add(&sum->built, demo_get(&from->built));
    demo_add(&sum->hits, demo_get(&from->hits));
    demo_add(&sum->expired, demo_get(&from->expired));
    demo_add(&sum->jobs, demo_get(&from->jobs));
    demo_add(&sum->archived, demo_get(&from->archived));
    if (demo_get(&from->frames) > demo_get(&sum->frames))
        atomic_store_explicit(&sum->frames, demo_get(&from->frames), memory_order_relaxed);
}

uint64_t demo_tally_requests(const struct demo_tally *tally)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < DEMO_REQUESTS; i++) sum += demo_get(&tally->requests[i]);
    return sum;
}

/* --------------------------------------------------------------- looking */

/* One more element at the end of an array that grows. */
static void *grow(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room) return array;
    *room = *room == 0 ? 1024 : *room * 2;
    array = realloc(array, *room * size);
    if (array == NULL) demo_fail("out of memory");
    return array;
}

static void note_cycle(struct monitor *monitor, const coex_gc_stats *stats, double at)
{
    monitor->cycle = grow(monitor->cycle, monitor->cycle_count, &monitor->cycle_room, sizeof monitor->cycle[0]);
    monitor->cycle[monitor->cycle_count++] = (struct monitor_cycle){
        .end = at,
        .duration_ns = stats->last_gc_duration_ns,
        .mark_ns = stats->last_mark_duration_ns,
        .sweep_ns = stats->last_sweep_duration_ns,
        .marked = stats->objects_marked_last_cycle,
        .swept = stats->objects_swept_last_cycle,
        .stop = stats->stop_cpu_last,
    };
}

static void note_sample(struct monitor *monitor, const coex_gc_stats *stats, double at, uint64_t requests)
{
    monitor->sample = grow(monitor->sample, monitor->sample_count, &monitor->sample_room, sizeof monitor->sample[0]);
    monitor->sample[monitor->sample_count++] = (struct monitor_sample){
        .at = at,
        .used = stats->current_heap_used,
        .goal = stats->heap_goal,
        .live = stats->bytes_live_last_cycle,
        .committed = stats->current_heap_size,
        .allocated = stats->total_bytes_allocated,
        .requests = requests,
        .cycles = stats->collections_completed - monitor->cycles_before,
        .threads = stats->registered_thread_count,
    };
}

static void look(struct monitor *monitor, const struct demo_workers *workers)
{
    struct demo_tally tally = {0};
    coex_gc_stats stats;
    coex_gc_get_stats(&stats);
    workers_tally(workers, &tally);
    double at = (double)(demo_now_ns() - monitor->began_ns) / 1e9;
    uint64_t before = monitor->sample_count == 0 ? 0 : monitor->sample[monitor->sample_count - 1].cycles;
    note_sample(monitor, &stats, at, demo_tally_requests(&tally));
    if (monitor->sample[monitor->sample_count - 1].cycles != before) note_cycle(monitor, &stats, at);
}

void monitor_begin(struct monitor *monitor)
{
    coex_gc_stats stats;
    coex_gc_get_stats(&stats);
    *monitor = (struct monitor){.began_ns = demo_now_ns(), .cycles_before = stats.collections_completed};
}

void monitor_watch(struct monitor *monitor, double seconds, const struct demo_workers *workers)
{
    size_t shown = 0;
    look(monitor, workers);
    for (uint64_t tick = 1; (double)tick * PERIOD_MS / 1e3 <= seconds; tick++) {
        uint64_t due = monitor->began_ns + tick * PERIOD_MS * 1000000;
        struct timespec until = {.tv_sec = (time_t)(due / 1000000000u), .tv_nsec = (long)(due % 1000000000u)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        look(monitor, workers);
        if (tick % 10 == 0 && monitor->sample_count > 10) {
            const struct monitor_sample *now = &monitor->sample[monitor->sample_count - 1], *before = now - 10;
            coex_gc_trace_counter("requests per second",
                                  (uint64_t)((double)(now->requests - before->requests) / (now->at - before->at)));
        }
        if (tick % (1000 / PERIOD_MS) == 0) {
            summary_second(&monitor->sample[monitor->sample_count - 1], &monitor->sample[shown]);
            shown = monitor->sample_count - 1;
        }
    }
}

void monitor_end(struct monitor *monitor)
{
    free(monitor->sample);
    free(monitor->cycle);
}
