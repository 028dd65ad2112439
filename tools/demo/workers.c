/* The threads of the demo.
 *
 * Handlers do requests, one after the other. The importer makes batches of texts and starts a thread for each, which takes the batch
 * as its argument, posts it and ends. The archiver copies posts out and works on the copy in native mode, where the collector answers
 * for it. The expirer drops timelines that are too old. */
#include "demo.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum {
    HELPERS = 3, /* importer, archiver, expirer: after the handlers */
    BATCH = 64,
    IMPORT_PAUSE_US = 4000,
    ARCHIVE_PAUSE_US = 2000,
    ARCHIVE_BYTES = 8192,
    EXPIRE_PAUSE_US = 5000,
    EXPIRE_PARTS = 16,
    DEEP_LEAST = 2000,
    DEEP_SPREAD = 18000, /* at some hundred bytes of C stack for each, within what a thread has */
};

struct worker {
    struct demo_workers *all;
    unsigned number;
    pthread_t thread;
    struct demo_tally tally;
};

struct demo_workers {
    atomic_bool stopping;
    uint64_t seed;
    unsigned count;
    struct worker worker[];
};

static bool going(const struct worker *worker) { return !atomic_load_explicit(&worker->all->stopping, memory_order_relaxed); }

static void sleep_us(unsigned microseconds) { nanosleep(&(struct timespec){.tv_nsec = (long)microseconds * 1000}, NULL); }

/* --------------------------------------------------------------- handlers */

/* Half of all requests go to a tenth of the users: a cache lives on that. */
static uint64_t pick_user(uint64_t *random)
{
    uint64_t dice = demo_random(random);
    return (dice & 1) != 0 ? (dice >> 8) % (NETWORK_USERS / 10) : (dice >> 8) % NETWORK_USERS;
}

static enum demo_request pick_request(uint64_t *random)
{
    uint64_t dice = demo_random(random) % 10000;
    if (dice < 5500) return DEMO_TIMELINE;
    if (dice < 8000) return DEMO_POST;
    if (dice < 8800) return DEMO_FOLLOW;
    return dice < 9998 ? DEMO_SEARCH : DEMO_DISCUSSION;
}

static void serve(struct demo_tally *tally, enum demo_request request, uint64_t *random)
{
    uint64_t user = pick_user(random);
    switch (request) {
    case DEMO_TIMELINE:
        network_read_timeline(tally, user, random);
        break;
    case DEMO_POST: {
        coex_handle *slots = coex_gc_enter_frame(1);
        slots[0] = network_text(random);
        network_post(tally, user, slots[0]);
        coex_gc_leave_frame(slots);
        break;
    }
    case DEMO_FOLLOW:
        network_follow(tally, user, pick_user(random));
        break;
    case DEMO_SEARCH:
        network_search(tally, user);
        break;
    case DEMO_DISCUSSION:
        network_discussion(tally, DEEP_LEAST + demo_random(random) % DEEP_SPREAD, random);
        break;
    case DEMO_REQUESTS:
        break;
    }
    demo_add(&tally->requests[request], 1);
}

static void *handler_main(void *argument)
{
    struct worker *worker = argument;
    uint64_t random = demo_random_state(worker->all->seed, worker->number + 1);
    coex_gc_register_thread();
    for (uint64_t begin = demo_now_ns(); going(worker);) {
        serve(&worker->tally, pick_request(&random), &random);
        uint64_t end = demo_now_ns();
        demo_add(&worker->tally.latency[demo_bucket(end - begin)], 1);
        begin = end;
    }
    coex_gc_unregister_thread();
    return NULL;
}

/* --------------------------------------------------------------- importer */

struct job {
    struct worker *importer;
    coex_gc_spawn *spawn;
    uint64_t random;
};

/* A thread that lives for one batch. It leaves without unregistering: the runtime sees to that. */
static void *job_main(void *argument)
{
    struct job *job = argument;
    struct demo_tally *tally = &job->importer->tally;
    coex_handle batch = coex_gc_spawn_attach(job->spawn);
    coex_handle *slots = coex_gc_enter_frame_with(1, 1, &batch);
    for (; slots[0] != 0; slots[0] = network_batch_rest(slots[0]))
        network_post(tally, demo_random(&job->random) % NETWORK_USERS, network_batch_text(slots[0]));
    coex_gc_leave_frame(slots);
    demo_add(&tally->jobs, 1);
    return NULL;
}

/* Starts the thread with the batch and waits for it, in native mode as one does. */
static void run_job(struct job *job, coex_handle batch)
{
    pthread_t thread;
    job->spawn = coex_gc_spawn_prepare(batch);
    if (job->spawn == NULL) return;
    if (pthread_create(&thread, NULL, job_main, job) != 0) {
        coex_gc_spawn_cancel(job->spawn);
        return;
    }
    coex_gc_enter_native();
    pthread_join(thread, NULL);
    sleep_us(IMPORT_PAUSE_US);
    coex_gc_leave_native();
}

static void *importer_main(void *argument)
{
    struct worker *worker = argument;
    struct job job = {.importer = worker, .random = demo_random_state(worker->all->seed, worker->number + 1)};
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(1);
    while (going(worker)) {
        slots[0] = network_batch(BATCH, &job.random);
        run_job(&job, slots[0]);
    }
    coex_gc_leave_frame(slots);
    coex_gc_unregister_thread();
    return NULL;
}

/* --------------------------------------------------------------- archiver */

/* Stands for a compressor, a socket, a disk: it takes a while, and knows nothing of the collector. */
static void archive_natively(const char *bytes, size_t size)
{
    volatile unsigned char mixed = 0;
    for (unsigned round = 0; round < 20; round++) {
        for (size_t i = 0; i < size; i++) mixed = (unsigned char)(mixed * 31 + bytes[i]);
    }
    sleep_us(ARCHIVE_PAUSE_US);
}

static void *archiver_main(void *argument)
{
    static char buffer[ARCHIVE_BYTES];
    struct worker *worker = argument;
    uint64_t random = demo_random_state(worker->all->seed, worker->number + 1);
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(1);
    while (going(worker)) {
        coex_handle head;
        size_t size = network_copy_posts(pick_user(&random), buffer, sizeof buffer, &head);
        slots[0] = head;
        coex_gc_enter_native();
        archive_natively(buffer, size);
        coex_gc_leave_native();
        /* The posts may have been trimmed away meanwhile; here they live as long as the slot does. */
        demo_check(&worker->tally, network_same_posts(slots[0], buffer, size), "posts have changed behind the archiver's back");
        demo_add(&worker->tally.archived, 1);
    }
    coex_gc_leave_frame(slots);
    coex_gc_unregister_thread();
    return NULL;
}

/* ---------------------------------------------------------------- expirer */

static void *expirer_main(void *argument)
{
    struct worker *worker = argument;
    uint64_t part = network_cache_size() / EXPIRE_PARTS;
    coex_gc_register_thread();
    for (uint64_t turn = 0; going(worker); turn++) {
        uint64_t from = turn % EXPIRE_PARTS * part;
        network_expire(&worker->tally, from, from + part);
        coex_gc_enter_native();
        sleep_us(EXPIRE_PAUSE_US);
        coex_gc_leave_native();
    }
    coex_gc_unregister_thread();
    return NULL;
}

/* ------------------------------------------------------------ all of them */

struct demo_workers *workers_start(const struct demo_options *options)
{
    static void *(*const helpers[HELPERS])(void *) = {importer_main, archiver_main, expirer_main};
    unsigned count = options->threads + HELPERS;
    struct demo_workers *workers = aligned_alloc(64, sizeof *workers + count * sizeof workers->worker[0]);
    if (workers == NULL) return NULL;
    atomic_init(&workers->stopping, false);
    workers->seed = options->seed;
    workers->count = count;
    for (unsigned i = 0; i < count; i++) {
        struct worker *worker = &workers->worker[i];
        *worker = (struct worker){.all = workers, .number = i};
        void *(*body)(void *) = i < options->threads ? handler_main : helpers[i - options->threads];
        if (pthread_create(&worker->thread, NULL, body, worker) != 0) demo_fail("thread %u could not be started", i);
    }
    return workers;
}

void workers_stop(struct demo_workers *workers)
{
    atomic_store(&workers->stopping, true);
    for (unsigned i = 0; i < workers->count; i++) pthread_join(workers->worker[i].thread, NULL);
}

void workers_tally(const struct demo_workers *workers, struct demo_tally *sum)
{
    for (unsigned i = 0; i < workers->count; i++) demo_tally_add(sum, &workers->worker[i].tally);
}

void workers_free(struct demo_workers *workers) { free(workers); }
