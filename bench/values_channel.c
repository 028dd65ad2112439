/* Compares channels between threads with Go's channels between goroutines, on the same workloads
 * in the same run.
 *
 * A goroutine that waits costs Go's scheduler about 100 nanoseconds and no system call. A thread
 * that sleeps costs two system calls and two context switches, which take some microseconds. The
 * comparison is therefore unequal in workloads where every participant waits. The rows show the
 * cost to a program that uses either kind of channel. Further rows show the limit of threads:
 * the same queue made of a mutex and two condition variables, with a capacity of 1 instead of 0. */
#include "support/bench.h"

#include <coex/values.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { WINDOW = 128, MOST_CHANNELS = 4, MOST_THREADS = 8, ROUNDS = 7 };

struct workload {
    const char *name, *what;
    unsigned times, threads, senders, channels;
    uint64_t capacity;
    void (*run)(unsigned number);
};

static coex_handle channels[MOST_CHANNELS]; /* global roots */
static const struct workload *now;
static bool references;
static unsigned sending;
static double processor; /* least nanoseconds of processor time that one operation took, of all rounds */

static coex_handle channel_at(unsigned i) { return coex_gc_global_load(&channels[i]); }

/* Seconds on any core, of this process or of the children that have ended. */
static double processor_now(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void note_processor(double seconds)
{
    double each = seconds / now->times * 1e9;
    if (processor <= 0 || each < processor) processor = each;
}

/* -------------------------------------------------------------- workloads */

static void send(coex_handle channel, uint64_t i)
{
    if (!coex_channel_send(channel, references ? COEX_IMMEDIATE(i) : i))
        bench_fail("send: %s", coex_status_string(coex_last_status()));
}

static void run_alone(unsigned number)
{
    (void)number;
    coex_handle channel = channel_at(0);
    for (uint64_t i = 0, word; i < now->times; i++) {
        send(channel, i);
        coex_channel_receive(channel, &word);
        bench_keep(word);
    }
}

static void run_pingpong(unsigned number)
{
    coex_handle there = channel_at(0), back = channel_at(1);
    for (uint64_t i = 0, word; i < now->times; i++) {
        if (number == 0) send(there, i);
        coex_channel_receive(number == 0 ? back : there, &word);
        if (number == 1) send(back, word);
    }
}

static void run_crowd(unsigned number)
{
    coex_handle channel = channel_at(0);
    uint64_t word;
    if (number >= now->senders) {
        while (coex_channel_receive(channel, &word)) bench_keep(word);
        return;
    }
    for (uint64_t i = 0; i < now->times / now->senders; i++) send(channel, i);
    if (__atomic_sub_fetch(&sending, 1, __ATOMIC_ACQ_REL) == 0) coex_channel_close(channel);
}

static void run_select(unsigned number)
{
    if (number > 0) {
        coex_handle own = channel_at(number - 1);
        for (uint64_t i = 0; i < now->times / 4; i++) send(own, i);
        return;
    }
    coex_channel_case cases[4];
    for (unsigned i = 0; i < 4; i++) cases[i] = coex_channel_case_receive(channel_at(i));
    for (uint64_t i = 0; i < now->times / 4 * 4; i++) {
        uint64_t chosen;
        if (!coex_channel_select(cases, 4, COEX_CHANNEL_FOREVER, &chosen)) bench_fail("select: nothing was received");
        bench_keep(cases[chosen].word);
    }
}

static const struct workload workloads[] = {
    {"alone", "send and receive on one thread", 2000000, 1, 1, 1, 1, run_alone},
    {"pingpong", "there and back between two, capacity 0", 100000, 2, 1, 2, 0, run_pingpong},
    {"stream", "one to one, capacity 128", 2000000, 2, 1, 1, WINDOW, run_crowd},
    {"crowd", "four to four, capacity 128", 1000000, 8, 4, 1, WINDOW, run_crowd},
    {"rendezvous", "four to four, capacity 0", 200000, 8, 4, 1, 0, run_crowd},
    {"select", "four to one that selects, capacity 128", 1000000, 5, 4, 4, WINDOW, run_select},
};

/* ------------------------------------------------------------------ ours */

struct member {
    pthread_barrier_t *start;
    unsigned number;
};

static void *member_main(void *argument)
{
    const struct member *member = argument;
    coex_gc_register_thread();
    coex_gc_enter_native();
    pthread_barrier_wait(member->start);
    coex_gc_leave_native();
    now->run(member->number);
    coex_gc_unregister_thread();
    return NULL;
}

/* No thread is bound to a core (bench_threads would): where those who wait for each other run is for the system to decide, as in Go. */
static double measure_crew(void *(*body)(void *))
{
    struct member member[MOST_THREADS];
    pthread_t thread[MOST_THREADS];
    pthread_barrier_t start;
    sending = now->senders;
    pthread_barrier_init(&start, NULL, now->threads + 1);
    for (unsigned i = 0; i < now->threads; i++) {
        member[i] = (struct member){&start, i};
        if (pthread_create(&thread[i], NULL, body, &member[i]) != 0) bench_fail("no thread could be started");
    }
    coex_gc_enter_native();
    double begin = bench_now(), used = processor_now(RUSAGE_SELF);
    pthread_barrier_wait(&start);
    for (unsigned i = 0; i < now->threads; i++) pthread_join(thread[i], NULL);
    double seconds = bench_now() - begin;
    note_processor(processor_now(RUSAGE_SELF) - used);
    coex_gc_leave_native();
    pthread_barrier_destroy(&start);
    return seconds / now->times * 1e9;
}

static double measure(void *argument)
{
    (void)argument;
    for (unsigned i = 0; i < now->channels; i++) coex_gc_global_store(&channels[i], coex_channel_new(now->capacity, references));
    return measure_crew(member_main);
}

/* ------------------------------------------- what threads have without us */

/* A ring with a mutex and two condition variables: the queue that is written when there are no channels. */
static struct ring {
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    uint64_t word[WINDOW], first, count, capacity;
    bool closed;
} rings[2];

static void ring_send(struct ring *ring, uint64_t word)
{
    pthread_mutex_lock(&ring->lock);
    while (ring->count == ring->capacity) pthread_cond_wait(&ring->emptied, &ring->lock);
    ring->word[(ring->first + ring->count++) % WINDOW] = word;
    pthread_cond_signal(&ring->filled);
    pthread_mutex_unlock(&ring->lock);
}

static bool ring_receive(struct ring *ring, uint64_t *word)
{
    pthread_mutex_lock(&ring->lock);
    while (ring->count == 0 && !ring->closed) pthread_cond_wait(&ring->filled, &ring->lock);
    bool got = ring->count != 0;
    if (got) {
        *word = ring->word[ring->first];
        ring->first = (ring->first + 1) % WINDOW;
        ring->count--;
        pthread_cond_signal(&ring->emptied);
    }
    pthread_mutex_unlock(&ring->lock);
    return got;
}

static void ring_close(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->closed = true;
    pthread_cond_broadcast(&ring->filled);
    pthread_mutex_unlock(&ring->lock);
}

static void *ring_main(void *argument)
{
    const struct member *member = argument;
    uint64_t word;
    pthread_barrier_wait(member->start);
    if (now->channels == 2) { /* there and back */
        for (uint64_t i = 0; i < now->times; i++) {
            if (member->number == 0) ring_send(&rings[0], i);
            ring_receive(&rings[member->number == 0 ? 1 : 0], &word);
            if (member->number == 1) ring_send(&rings[1], word);
        }
    } else if (member->number >= now->senders) {
        while (ring_receive(&rings[0], &word)) bench_keep(word);
    } else {
        for (uint64_t i = 0; i < now->times / now->senders; i++) ring_send(&rings[0], i);
        if (__atomic_sub_fetch(&sending, 1, __ATOMIC_ACQ_REL) == 0) ring_close(&rings[0]);
    }
    return NULL;
}

static double measure_rings(void *argument)
{
    (void)argument;
    for (int i = 0; i < 2; i++) {
        rings[i] = (struct ring){.capacity = now->capacity != 0 ? now->capacity : 1};
        pthread_mutex_init(&rings[i].lock, NULL);
        pthread_cond_init(&rings[i].filled, NULL);
        pthread_cond_init(&rings[i].emptied, NULL);
    }
    return measure_crew(ring_main);
}

/* --------------------------------------------------------------------- Go */

/* The program of the peer is beside this one. */
static bool peer_path(char *path, size_t room)
{
    ssize_t length = readlink("/proc/self/exe", path, room - 1);
    if (length <= 0) return false;
    path[length] = 0;
    char *slash = strrchr(path, '/');
    int written = snprintf(slash + 1, room - (size_t)(slash + 1 - path), "bench_peer_go_channel");
    return written > 0 && (size_t)written < room - (size_t)(slash + 1 - path) && access(path, X_OK) == 0;
}

static double measure_peer(void *path)
{
    char command[4300], name[64];
    double nanoseconds = 0, used = processor_now(RUSAGE_CHILDREN);
    snprintf(command, sizeof command, "'%s' %s %u", (const char *)path, now->name, now->times);
    FILE *output = popen(command, "r");
    if (output == NULL || fscanf(output, "%63s %lf", name, &nanoseconds) != 2) bench_fail("'%s' failed", command);
    pclose(output);
    note_processor(processor_now(RUSAGE_CHILDREN) - used);
    return nanoseconds;
}

/* Time is what a user waits for, and on a busy machine says more of the others; processor time says what it costs. */
static double report(const char *what, double (*run)(void *), void *argument)
{
    struct bench_sample sample;
    processor = 0;
    bench_repeat(&sample, ROUNDS, run, argument);
    bench_result(what, bench_lowest(&sample), "ns", BENCH_NO_GOAL, 0);
    bench_result("      processor time", processor, "ns", BENCH_NO_GOAL, 0);
    return bench_lowest(&sample);
}

static void compare(char *peer)
{
    bench_note("%s", now->what);
    references = false;
    double ours = report("    plain words", measure, NULL), cost = processor;
    references = true;
    report("    references", measure, NULL);
    if (now->run != run_select && now->run != run_alone) report("    threads, a mutex, two conditions", measure_rings, NULL);
    if (peer == NULL) return;
    double theirs = report("    Go", measure_peer, peer);
    bench_result("    Go's time to ours", theirs / ours, "", BENCH_NO_GOAL, 0);
    bench_result("    Go's processor time to ours", processor / cost, "", BENCH_NO_GOAL, 0);
}

/* All workloads, or the one that is named. */
int main(int count, char **names)
{
    char path[4096];
    coex_gc_init();
    coex_values_init();
    for (unsigned i = 0; i < MOST_CHANNELS; i++) {
        if (coex_gc_add_global_root(&channels[i]) != COEX_GC_OK) bench_fail("no global root");
    }
    bool has_peer = peer_path(path, sizeof path);
    struct bench_machine machine = bench_machine_now();
    bench_heading(
        "Channels, nanoseconds per operation; best of %d (two threads compute %.2f times as much as one, a line passes in %.0f ns)",
        ROUNDS, machine.computing, machine.core_to_core);
    if (!has_peer) bench_note("Go is not installed: no peer (Debian: golang-go)");
    for (unsigned i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
        now = &workloads[i];
        if (count < 2 || strcmp(names[1], now->name) == 0) compare(has_peer ? path : NULL);
    }
    for (unsigned i = 0; i < MOST_CHANNELS; i++) coex_gc_remove_global_root(&channels[i]);
    coex_gc_shutdown();
    return 0;
}
