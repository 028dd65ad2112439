/* The demo: a small social network in memory, many threads at work on it, and what the collector did meanwhile.
 *
 *     main.c      options, and the order of things
 *     network.c   the data: users, posts, follows, an index by name, timelines that are cached and expire
 *     workers.c   the threads: request handlers, an importer whose helpers come and go, an archiver in native mode, an expirer
 *     monitor.c   looks at the runtime every few milliseconds and keeps what it saw
 *     summary.c   the same in the terminal
 *
 * The collector records a trace meanwhile; the page to look at is made of it, by the code of `coexgc report`.
 *
 * Everything that a thread reads it checks: each post carries a checksum of itself and its text, each timeline its sum and order. At
 * the end every post that was ever made has to be accounted for. */
#ifndef DEMO_H
#define DEMO_H

#include <coex/gc.h>
#include <coex/gc_diag.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---------------------------------------------------------------- options */

struct demo_options {
    double seconds;
    unsigned threads; /* request handlers */
    uint64_t seed;
    char report[4096]; /* where the page goes */
    char trace[4096];  /* and the trace that it is made of */
};

/* Reads the command line; ends the program if it asks for help or makes no sense. */
void demo_options_read(struct demo_options *options, int argc, char **argv);

/* --------------------------------------------------------------- counting */

enum demo_request { DEMO_TIMELINE, DEMO_POST, DEMO_FOLLOW, DEMO_SEARCH, DEMO_DISCUSSION, DEMO_REQUESTS };

extern const char *const demo_request_names[DEMO_REQUESTS];

enum { DEMO_BUCKETS = 40 }; /* of a histogram: bucket i counts what takes 2^i to 2^(i+1)-1 nanoseconds */

/* What one thread has done. Written by it alone (relaxed), read by the monitor. */
struct demo_tally {
    _Alignas(64) atomic_ullong requests[DEMO_REQUESTS];
    atomic_ullong checks; /* things read and compared with what they must be */
    atomic_ullong wrong;
    atomic_ullong posted, trimmed; /* posts */
    atomic_ullong built, hits;     /* timelines made, and found in the cache */
    atomic_ullong expired;         /* timelines dropped from the cache */
    atomic_ullong jobs;            /* threads that came and went */
    atomic_ullong archived;        /* batches of posts that went through native code */
    atomic_ullong frames;          /* deepest recursion */
    atomic_ullong latency[DEMO_BUCKETS];
};

static inline void demo_add(atomic_ullong *counter, uint64_t n)
{
    /* One writer: a load and a store do, and cost no locked instruction. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}
static inline uint64_t demo_get(const atomic_ullong *counter) { return atomic_load_explicit(counter, memory_order_relaxed); }

/* Adds what `from` has to `sum`. */
void demo_tally_add(struct demo_tally *sum, const struct demo_tally *from);
uint64_t demo_tally_requests(const struct demo_tally *tally);

/* Compares, counts, and says so once in a while if it is wrong. */
void demo_check(struct demo_tally *tally, bool right, const char *what);

uint64_t demo_now_ns(void);
unsigned demo_bucket(uint64_t nanoseconds);
_Noreturn void demo_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Random numbers: xorshift64*. The state is never 0. */
static inline uint64_t demo_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}
/* The state of number `which` of a seed. */
uint64_t demo_random_state(uint64_t seed, uint64_t which);

/* ---------------------------------------------------------------- network */

enum { NETWORK_USERS = 10000, NETWORK_FIRST_POSTS = 8 };

void network_create(uint64_t seed);
void network_destroy(void);

/* Requests. Each is a safepoint, and leaves nothing rooted. */
void network_read_timeline(struct demo_tally *tally, uint64_t user, uint64_t *random);
void network_post(struct demo_tally *tally, uint64_t user, coex_handle text); /* the caller keeps `text` rooted */
void network_follow(struct demo_tally *tally, uint64_t user, uint64_t other);
void network_search(struct demo_tally *tally, uint64_t user);
void network_discussion(struct demo_tally *tally, uint64_t depth, uint64_t *random);

coex_handle network_text(uint64_t *random);

/* A list of texts, to hand to another thread; and one text of it after the other. */
coex_handle network_batch(uint64_t count, uint64_t *random);
coex_handle network_batch_text(coex_handle batch);
coex_handle network_batch_rest(coex_handle batch);

/* Copies the posts of a user into `buffer` and returns how many bytes; *head is the list they came from. Not a safepoint. */
size_t network_copy_posts(uint64_t user, char *buffer, size_t size, coex_handle *head);
/* Is the copy still what the list says? */
bool network_same_posts(coex_handle head, const char *buffer, size_t size);

/* Drops cached timelines that are too old; looks at a part of the cache at each call. Not a safepoint. */
void network_expire(struct demo_tally *tally, uint64_t from, uint64_t to);
uint64_t network_cache_size(void);

/* Looks at everything when nobody else is at work: `posted - trimmed` posts beyond the first ones must be there. */
struct network_audit {
    uint64_t users, posts, follows, timelines;
};
struct network_audit network_audit(struct demo_tally *tally, uint64_t posted, uint64_t trimmed);

/* ---------------------------------------------------------------- workers */

struct demo_workers;

struct demo_workers *workers_start(const struct demo_options *options);
void workers_stop(struct demo_workers *workers); /* and waits for them; called in native mode */
void workers_tally(const struct demo_workers *workers, struct demo_tally *sum);
void workers_free(struct demo_workers *workers);

/* ---------------------------------------------------------------- monitor */

/* One look at the runtime. */
struct monitor_sample {
    double at; /* seconds since the beginning */
    uint64_t used, goal, live, committed, allocated, requests, cycles, threads;
};

/* One cycle, as the runtime describes the last one. */
struct monitor_cycle {
    double end; /* seconds; when it was seen */
    uint64_t duration_ns, mark_ns, sweep_ns, marked, swept;
    coex_gc_times stop;
};

struct monitor {
    uint64_t began_ns;
    size_t sample_count, sample_room;
    struct monitor_sample *sample;
    size_t cycle_count, cycle_room;
    struct monitor_cycle *cycle;
    uint64_t cycles_before; /* completed before the beginning */
};

void monitor_begin(struct monitor *monitor);
/* Watches for so long, in native mode, and prints a line each second. */
void monitor_watch(struct monitor *monitor, double seconds, const struct demo_workers *workers);
void monitor_end(struct monitor *monitor);

/* ------------------------------------------------------------------ output */

/* All that is told at the end. */
struct demo_result {
    const struct demo_options *options;
    const struct monitor *monitor;
    const struct demo_tally *tally;
    struct network_audit audit;
    coex_gc_stats stats;
    double seconds; /* that the handlers worked */
    int32_t faults; /* of coex_gc_validate_heap */
};

/* The runtime's histogram in the form of struct demo_tally's. */
void demo_stop_buckets(const coex_gc_times *times, uint64_t bucket[DEMO_BUCKETS]);

/* Short forms for people: 12.3 k, 45.6 MB, 7.89 µs; and in full: 1,234,567. Each call has a place of its own, for some calls. */
const char *demo_count(double value);
const char *demo_bytes(double value);
const char *demo_time(double nanoseconds);
const char *demo_whole(uint64_t value);
/* The bound of a histogram's bucket, roughly: 2^20 nanoseconds are 1 ms. */
const char *demo_bound(unsigned bucket);

void summary_header(const struct demo_options *options);
void summary_second(const struct monitor_sample *now, const struct monitor_sample *before);
void summary_print(const struct demo_result *result);

#endif
