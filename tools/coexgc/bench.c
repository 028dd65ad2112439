/* bench: how fast this machine allocates and collects, in a few seconds. Each thread keeps a tree of some objects and drops the rest, as
 * programs do; the collector runs beside. The full benchmarks, with the peers, are `make bench`. */
#include "coexgc.h"
#include "page.h"

#include <coex/gc.h>
#include <coex/gc_diag.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BENCH_SIZE = 32, BENCH_THREADS = 64 };

struct bench {
    double seconds;
    unsigned threads;
    uint64_t kept; /* objects that each thread keeps */
    uint32_t node, table;
    atomic_bool stop;
};

struct bench_worker {
    pthread_t thread;
    struct bench *bench;
    uint64_t allocated;
    coex_gc_spawn *spawn;
};

static double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A table of `kept` slots; each new object refers to the one that it takes the place of in every other turn, so that garbage is not alone. */
static void bench_work(struct bench_worker *worker)
{
    struct bench *bench = worker->bench;
    uint64_t random = (uint64_t)(uintptr_t)worker | 1;
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = coex_gc_alloc(bench->kept * 8, bench->table);
    while (slots[0] != 0 && !atomic_load_explicit(&bench->stop, memory_order_relaxed)) {
        for (int i = 0; i < 1000; i++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            uint64_t place = (random >> 33) % bench->kept * 8;
            coex_handle fresh = coex_gc_alloc(BENCH_SIZE, bench->node);
            if (fresh == 0) break;
            if ((i & 15) == 0) coex_gc_store(slots[0], place, fresh);
        }
        worker->allocated += 1000;
        coex_gc_safepoint();
    }
    coex_gc_leave_frame(slots);
}

static void *bench_main(void *argument)
{
    struct bench_worker *worker = argument;
    coex_gc_spawn_attach(worker->spawn);
    bench_work(worker);
    coex_gc_unregister_thread();
    return NULL;
}

static void bench_print(const struct bench *bench, const coex_gc_stats *stats, double seconds, uint64_t objects)
{
    double bytes = (double)objects * (BENCH_SIZE + 8);
    printf("%-22s %u, each keeps %s objects of %d bytes\n", "threads", bench->threads, page_count((double)bench->kept), BENCH_SIZE);
    printf("%-22s %s/s, %s/s\n", "allocated", page_count((double)objects / seconds), page_bytes(bytes / seconds));
    printf("%-22s %s, running %s of the time\n", "cycles", page_whole((double)stats->collections_completed),
           page_percent((double)stats->total_gc_time_ns / 1e9 / seconds));
    printf("%-22s %s objects in %s\n", "last mark", page_count((double)stats->objects_marked_last_cycle),
           page_time((double)stats->last_mark_duration_ns / 1e9));
    printf("%-22s half below %s, p99 %s, longest %s\n", "stops, by the clock", page_time((double)stats->stop_wall.p50 / 1e9),
           page_time((double)stats->stop_wall.p99 / 1e9), page_time((double)stats->stop_wall.max / 1e9));
    printf("%-22s half below %s, p99 %s, longest %s\n", "stops, on the CPU", page_time((double)stats->stop_cpu.p50 / 1e9),
           page_time((double)stats->stop_cpu.p99 / 1e9), page_time((double)stats->stop_cpu.max / 1e9));
    printf("%-22s %s in use, goal %s\n", "heap at the end", page_bytes((double)stats->current_heap_used),
           page_bytes((double)stats->heap_goal));
}

/* Starts the threads, waits, stops them. In native mode, so that cycles need not wait for this thread. */
static uint64_t bench_measure(struct bench *bench, struct bench_worker *workers, double *seconds)
{
    uint64_t objects = 0;
    unsigned started = 0;
    double begin = bench_now();
    for (; started < bench->threads; started++) {
        workers[started] = (struct bench_worker){.bench = bench, .spawn = coex_gc_spawn_prepare(0)};
        if (workers[started].spawn == NULL) break;
        if (pthread_create(&workers[started].thread, NULL, bench_main, &workers[started]) != 0) {
            coex_gc_spawn_cancel(workers[started].spawn);
            break;
        }
    }
    coex_gc_enter_native();
    struct timespec rest = {.tv_sec = (time_t)bench->seconds,
                            .tv_nsec = (long)((bench->seconds - (double)(time_t)bench->seconds) * 1e9)};
    nanosleep(&rest, NULL);
    atomic_store(&bench->stop, true);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        objects += workers[i].allocated;
    }
    coex_gc_leave_native();
    *seconds = bench_now() - begin;
    return objects;
}

static int bench_all(struct bench *bench)
{
    static struct bench_worker workers[BENCH_THREADS];
    coex_gc_init();
    bench->node = coex_gc_register_type(&(coex_gc_type){.name = "node", .size = BENCH_SIZE});
    bench->table = coex_gc_register_type(&(coex_gc_type){.name = "table", .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY});
    double seconds;
    uint64_t objects = bench_measure(bench, workers, &seconds);
    coex_gc_stats stats;
    coex_gc_get_stats(&stats);
    bench_print(bench, &stats, seconds, objects);
    coex_gc_shutdown();
    return objects > 0 ? 0 : 1;
}

static bool bench_number(const char *text, double least, double most, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && *value >= least && *value <= most;
}

static int bench_run(const struct command *command, int argc, char **argv)
{
    struct bench bench = {.seconds = 3, .threads = 2, .kept = 200000};
    for (int i = 1; i < argc; i += 2) {
        double value;
        const char *text = i + 1 < argc ? argv[i + 1] : "";
        bool seconds = strcmp(argv[i], "--seconds") == 0, threads = strcmp(argv[i], "--threads") == 0;
        bool keep = strcmp(argv[i], "--keep") == 0;
        if (!seconds && !threads && !keep) return command_misuse(command, "there is no option '%s'", argv[i]);
        if (!bench_number(text, seconds ? 0.1 : 1, seconds ? 3600 : threads ? BENCH_THREADS : 1e8, &value))
            return command_misuse(command, "%s takes a number from %s", argv[i],
                                  seconds   ? "0.1 to 3600"
                                  : threads ? "1 to 64"
                                            : "1 to 100000000");
        if (seconds) bench.seconds = value;
        if (threads) bench.threads = (unsigned)value;
        if (keep) bench.kept = (uint64_t)value;
    }
    return bench_all(&bench);
}

const struct command command_bench = {
    "bench",
    "[--seconds N] [--threads N] [--keep N]",
    "Measure how fast this machine allocates and collects",
    "COEX_GC tunes the collector as in any program, for example COEX_GC=percent=200 coexgc bench.\n\n"
    "  --seconds N   how long (3)\n"
    "  --threads N   that allocate (2)\n"
    "  --keep N      objects that each keeps (200000)\n",
    bench_run,
};
