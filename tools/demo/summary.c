/* What the demo tells in the terminal. Colours only where there is somebody to see them. */
#include "demo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHART_COLUMNS = 72, CHART_ROWS = 6, BAR_COLUMNS = 40, TEXTS = 16, TEXT_BYTES = 32 };

/* ------------------------------------------------------------ short forms */

/* A few texts in turn, so that one printf can have several. One thread prints. */
static char *next_text(void)
{
    static char texts[TEXTS][TEXT_BYTES];
    static unsigned turn;
    return texts[turn++ % TEXTS];
}

/* Three digits that count, and a unit: each unit is `step` times the one before. */
static const char *shorten(double value, const char *const *units, unsigned count, double step)
{
    char *text = next_text();
    unsigned unit = 0;
    while (unit + 1 < count && value >= step * 0.9995) {
        value /= step;
        unit++;
    }
    int digits = value >= 99.95 || fabs(value - round(value)) < 1e-9 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(text, TEXT_BYTES, "%.*f%s%s", digits, value, *units[unit] == '\0' ? "" : " ", units[unit]);
    return text;
}

const char *demo_count(double value)
{
    static const char *const units[] = {"", "k", "M", "G"};
    return shorten(value, units, 4, 1000);
}

const char *demo_bytes(double value)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    return shorten(value, units, 5, 1000);
}

const char *demo_time(double nanoseconds)
{
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    return shorten(nanoseconds, units, 4, 1000);
}

const char *demo_whole(uint64_t value)
{
    char plain[24], *text = next_text(), *to = text;
    int length = snprintf(plain, sizeof plain, "%llu", (unsigned long long)value);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) *to++ = ',';
        *to++ = plain[i];
    }
    *to = '\0';
    return text;
}

/* Each step of ten powers of two is a step of a thousand. */
const char *demo_bound(unsigned bucket)
{
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    char *text = next_text();
    snprintf(text, TEXT_BYTES, "%u %s", 1u << bucket % 10, units[bucket / 10 < 4 ? bucket / 10 : 3]);
    return text;
}

/* printf counts bytes; "µ" has two and takes one column. */
static void print_right(const char *text, int columns)
{
    int width = 0;
    for (const char *at = text; *at != '\0'; at++) width += (*at & 0xc0) != 0x80;
    printf("%*s%s", columns > width ? columns - width : 0, "", text);
}

/* ---------------------------------------------------------------- colours */

enum style { PLAIN, BOLD, DIM, ACCENT, GOOD, BAD };

static const char *style(enum style style)
{
    static const char *const codes[] = {"\033[0m", "\033[1m", "\033[2m", "\033[36m", "\033[32m", "\033[1;31m"};
    static int coloured = -1;
    if (coloured < 0) {
        const char *terminal = getenv("TERM");
        coloured = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL && terminal != NULL && strcmp(terminal, "dumb") != 0;
    }
    return coloured ? codes[style] : "";
}

static void heading(const char *text) { printf("\n%s%s%s\n", style(BOLD), text, style(PLAIN)); }

static void label(const char *text) { printf("  %s%-16s%s", style(DIM), text, style(PLAIN)); }

/* ----------------------------------------------------------------- charts */

static const char *const eighths_up[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const eighths_right[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};

/* A bar of up to `columns` columns; something that is not nothing shows. */
static void print_bar(double part, int columns)
{
    int eighths = (int)(part * columns * 8 + 0.5);
    if (part > 0 && eighths == 0) eighths = 1;
    printf("%s", style(ACCENT));
    for (int i = 0; i < eighths / 8; i++) fputs(eighths_right[8], stdout);
    printf("%s%s", eighths_right[eighths % 8], style(PLAIN));
}

/* The most that was in use in each column's share of the time. */
static double squeeze(const struct monitor *monitor, double column[CHART_COLUMNS])
{
    double most = 0, end = monitor->sample[monitor->sample_count - 1].at;
    for (unsigned i = 0; i < CHART_COLUMNS; i++) column[i] = -1;
    for (size_t i = 0; i < monitor->sample_count; i++) {
        const struct monitor_sample *sample = &monitor->sample[i];
        unsigned at = end > 0 ? (unsigned)(sample->at / end * CHART_COLUMNS) : 0;
        at = at < CHART_COLUMNS ? at : CHART_COLUMNS - 1;
        if ((double)sample->used > column[at]) column[at] = (double)sample->used;
        if ((double)sample->used > most) most = (double)sample->used;
    }
    for (unsigned i = 1; i < CHART_COLUMNS; i++)
        if (column[i] < 0) column[i] = column[i - 1]; /* no look fell into it */
    return most;
}

static void print_memory(const struct monitor *monitor)
{
    double column[CHART_COLUMNS], most = squeeze(monitor, column);
    for (int row = CHART_ROWS; row-- > 0;) {
        const char *scale = row == CHART_ROWS - 1 ? demo_bytes(most) : row == 0 ? "0" : "";
        printf("  %s", style(DIM));
        print_right(scale, 8);
        printf(" ┤%s", style(ACCENT));
        for (unsigned i = 0; i < CHART_COLUMNS; i++) {
            int level = (int)(column[i] / most * CHART_ROWS * 8 + 0.5) - row * 8;
            fputs(eighths_up[level < 0 ? 0 : level > 8 ? 8 : level], stdout);
        }
        printf("%s\n", style(PLAIN));
    }
    char end[32];
    snprintf(end, sizeof end, "%.1f s", monitor->sample[monitor->sample_count - 1].at);
    printf("  %s%8s  0 s%*s%s\n", style(DIM), "", CHART_COLUMNS - 3, end, style(PLAIN));
}

void demo_stop_buckets(const coex_gc_times *times, uint64_t bucket[DEMO_BUCKETS])
{
    for (unsigned i = 0; i < DEMO_BUCKETS; i++) bucket[i] = i < COEX_GC_TIMES_BUCKETS ? times->bucket[i] : 0;
}

/* One bar for each power of two that occurs. Lengths are logarithms: a single slow one among thousands is what one looks for. */
static void print_histogram(const uint64_t bucket[DEMO_BUCKETS])
{
    unsigned first = 0, last = DEMO_BUCKETS - 1;
    uint64_t most = 0;
    while (first < last && bucket[first] == 0) first++;
    while (last > first && bucket[last] == 0) last--;
    for (unsigned i = first; i <= last; i++) most = bucket[i] > most ? bucket[i] : most;
    for (unsigned i = first; i <= last; i++) {
        char range[64];
        snprintf(range, sizeof range, "to %s", demo_bound(i + 1));
        printf("  %s", style(DIM));
        print_right(range, 16);
        printf("%s  ", style(PLAIN));
        print_right(demo_whole(bucket[i]), 9);
        printf(" ");
        if (bucket[i] != 0) print_bar(log((double)bucket[i] + 1) / log((double)most + 1), BAR_COLUMNS);
        printf("\n");
    }
}

/* ------------------------------------------------------------------- head */

void summary_header(const struct demo_options *options)
{
    printf("%sCoex demo%s: a small social network in memory\n", style(BOLD), style(PLAIN));
    printf("%s%s users, %u request handlers and 3 helpers, %g seconds, seed %llu; Coex %s%s\n\n", style(DIM),
           demo_whole(NETWORK_USERS), options->threads, options->seconds, (unsigned long long)options->seed, coex_gc_version(),
           style(PLAIN));
    printf("  %s%6s %12s %14s %10s %10s %8s %9s%s\n", style(DIM), "second", "requests/s", "allocated/s", "in use", "goal", "cycles",
           "threads", style(PLAIN));
    fflush(stdout);
}

void summary_second(const struct monitor_sample *now, const struct monitor_sample *before)
{
    double seconds = now->at - before->at;
    printf("  %6.0f %12s %14s %10s %10s %8llu %9llu\n", now->at, demo_count((double)(now->requests - before->requests) / seconds),
           demo_bytes((double)(now->allocated - before->allocated) / seconds), demo_bytes((double)now->used),
           demo_bytes((double)now->goal), (unsigned long long)(now->cycles - before->cycles), (unsigned long long)now->threads);
    fflush(stdout);
}

/* ---------------------------------------------------------------- summary */

static void print_work(const struct demo_result *result)
{
    const struct demo_tally *tally = result->tally;
    uint64_t requests = demo_tally_requests(tally), hits = demo_get(&tally->hits), built = demo_get(&tally->built);
    heading("Work");
    label("requests");
    printf("%s, %s a second\n", demo_whole(requests), demo_count((double)requests / result->seconds));
    for (unsigned i = 0; i < DEMO_REQUESTS; i++) {
        label("");
        print_right(demo_whole(demo_get(&tally->requests[i])), 11);
        printf("  %s\n", demo_request_names[i]);
    }
    label("timelines");
    printf("%.0f %% came from the cache, %s expired there\n", 100.0 * (double)hits / (double)(hits + built + (hits + built == 0)),
           demo_whole(demo_get(&tally->expired)));
    label("threads");
    printf("%s came and went, one for each batch of posts\n", demo_whole(demo_get(&tally->jobs)));
    label("native code");
    printf("%s calls, the collector answering for the thread meanwhile\n", demo_whole(demo_get(&tally->archived)));
    label("recursion");
    printf("%s frames at the deepest\n", demo_whole(demo_get(&tally->frames)));
}

static void print_checks(const struct demo_result *result)
{
    uint64_t wrong = demo_get(&result->tally->wrong);
    label("checked");
    printf("%s things read, ", demo_whole(demo_get(&result->tally->checks)));
    if (wrong == 0)
        printf("%sall of them right%s\n", style(GOOD), style(PLAIN));
    else
        printf("%s%s of them WRONG%s\n", style(BAD), demo_whole(wrong), style(PLAIN));
    label("at the end");
    printf("%s users, %s posts, %s timelines; ", demo_whole(result->audit.users), demo_whole(result->audit.posts),
           demo_whole(result->audit.timelines));
    if (result->faults == 0)
        printf("%sthe heap is sound%s\n", style(GOOD), style(PLAIN));
    else
        printf("%s%d faults in the heap%s\n", style(BAD), (int)result->faults, style(PLAIN));
}

static void print_cycles(const struct demo_result *result)
{
    const struct monitor *monitor = result->monitor;
    double duration = 0, mark = 0, marked = 0, sweep = 0, swept = 0, count = (double)monitor->cycle_count;
    for (size_t i = 0; i < monitor->cycle_count; i++) {
        duration += (double)monitor->cycle[i].duration_ns;
        mark += (double)monitor->cycle[i].mark_ns;
        marked += (double)monitor->cycle[i].marked;
        sweep += (double)monitor->cycle[i].sweep_ns;
        swept += (double)monitor->cycle[i].swept;
    }
    uint64_t cycles = monitor->sample[monitor->sample_count - 1].cycles;
    heading("Cycles");
    label("cycles");
    printf("%s", demo_whole(cycles));
    if (cycles == 0) {
        printf(": too little was allocated to need one\n");
        return;
    }
    printf(", one every %s, %s long on average\n", demo_time(result->seconds / (double)cycles * 1e9), demo_time(duration / count));
    label("marking");
    printf("%s objects a cycle, %s a second\n", demo_count(marked / count), demo_count(marked / mark * 1e9));
    label("sweeping");
    printf("%s dead objects a cycle, in %s\n", demo_count(swept / count), demo_time(sweep / count));
    label("helping");
    printf("%s slow allocations did some marking, %s waited at a limit\n", demo_whole(result->stats.assists),
           demo_whole(result->stats.hard_limit_waits));
}

static void print_times(const char *what, const coex_gc_times *times)
{
    label(what);
    print_right(demo_whole(times->count), 10);
    print_right(demo_time((double)times->p50), 12);
    print_right(demo_time((double)times->p99), 12);
    print_right(demo_time((double)times->p999), 12);
    print_right(demo_time((double)times->max), 12);
    printf("\n");
}

/* The same percentiles of a histogram by powers of two: upper bounds. */
static coex_gc_times latency_times(const struct demo_tally *tally)
{
    coex_gc_times times = {0};
    uint64_t seen = 0;
    for (unsigned i = 0; i < DEMO_BUCKETS; i++) times.count += demo_get(&tally->latency[i]);
    for (unsigned i = 0; i < DEMO_BUCKETS; i++) {
        uint64_t here = demo_get(&tally->latency[i]), upper = (uint64_t)2 << i;
        seen += here;
        if (here == 0) continue;
        if (times.p50 == 0 && seen * 100 >= times.count * 50) times.p50 = upper;
        if (times.p99 == 0 && seen * 100 >= times.count * 99) times.p99 = upper;
        if (times.p999 == 0 && seen * 1000 >= times.count * 999) times.p999 = upper;
        times.max = upper;
    }
    return times;
}

static void print_pauses(const struct demo_result *result)
{
    uint64_t bucket[DEMO_BUCKETS];
    coex_gc_times latency = latency_times(result->tally);
    heading("Pauses");
    printf("  %s%-16s%10s%12s%12s%12s%12s%s\n", style(DIM), "", "count", "p50", "p99", "p99.9", "max", style(PLAIN));
    print_times("stop, CPU", &result->stats.stop_cpu);
    print_times("stop, wall", &result->stats.stop_wall);
    print_times("handshake", &result->stats.handshake);
    print_times("a request", &latency);
    printf("  %sA stop is one thread's work at one safepoint; the others go on. A handshake ends with the last answer.%s\n",
           style(DIM), style(PLAIN));
    if (result->stats.stop_cpu.count == 0) return;
    demo_stop_buckets(&result->stats.stop_cpu, bucket);
    heading("Stops on the CPU (bars grow with the logarithm)");
    print_histogram(bucket);
}

void summary_print(const struct demo_result *result)
{
    print_work(result);
    print_checks(result);
    heading("Memory in use");
    print_memory(result->monitor);
    print_cycles(result);
    print_pauses(result);
}
