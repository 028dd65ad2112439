/* The page: one file without anything from outside, for light and dark, with charts as inline SVG. */
#include "demo.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

enum { WIDTH = 960, HEIGHT = 260, LEFT = 64, RIGHT = 16, TOP = 16, BOTTOM = 32 };

/* A chart's plane: where a value lies on the paper. */
struct plane {
    FILE *file;
    double x_most;
    double y_least, y_most;
    bool y_log;
};

static double x_of(const struct plane *plane, double x) { return LEFT + x / plane->x_most * (WIDTH - LEFT - RIGHT); }

static double y_of(const struct plane *plane, double y)
{
    double part = plane->y_log ? log(fmax(y, plane->y_least) / plane->y_least) / log(plane->y_most / plane->y_least)
                               : (y - plane->y_least) / (plane->y_most - plane->y_least);
    return TOP + (1 - fmin(fmax(part, 0), 1)) * (HEIGHT - TOP - BOTTOM);
}

/* The least of these numbers, times a power of ten, that is at least this. */
static double round_up(double value, const double *steps)
{
    if (!(value > 0)) return 1;
    double power = pow(10, floor(log10(value)));
    while (*steps * power < value * 0.9999) steps++;
    return *steps * power;
}

static const double whole_steps[] = {1, 2, 5, 10};
static const double quarter_steps[] = {1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10}; /* a fourth of each has two digits at most */

/* ---------------------------------------------------------- parts of a chart */

static void open_figure(FILE *file, const char *title, const char *about)
{
    fprintf(file, "<figure>\n<figcaption><b>%s</b> %s</figcaption>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n",
            title, about, WIDTH, HEIGHT, title);
}

static void close_figure(FILE *file) { fputs("</svg>\n</figure>\n", file); }

static void draw_y(const struct plane *plane, double value, const char *text)
{
    double y = y_of(plane, value);
    fprintf(plane->file, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT, WIDTH - RIGHT, y, y);
    fprintf(plane->file, "<text class=\"tick\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 8, y + 4, text);
}

static void draw_seconds(const struct plane *plane)
{
    double step = round_up(plane->x_most / 10, whole_steps);
    for (double at = 0; at <= plane->x_most * 1.0001; at += step)
        fprintf(plane->file, "<text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g s</text>\n", x_of(plane, at),
                HEIGHT - 10, at);
}

/* Lines for 0 and four steps up, with what `text` makes of them. */
static void draw_linear_y(const struct plane *plane, const char *(*text)(double))
{
    for (int i = 0; i <= 4; i++) draw_y(plane, plane->y_most * i / 4, i == 0 ? "0" : text(plane->y_most * i / 4));
}

typedef double (*sample_value)(const struct monitor *monitor, size_t index);

/* At most so many points: more can't be seen. */
static size_t stride(const struct monitor *monitor) { return monitor->sample_count / 1200 + 1; }

static void draw_series(const struct plane *plane, const struct monitor *monitor, sample_value value, const char *class,
                        bool filled)
{
    fprintf(plane->file, "<path class=\"%s\" d=\"", class);
    if (filled) fprintf(plane->file, "M%.1f %.1f", x_of(plane, 0), y_of(plane, 0));
    double last = 0;
    for (size_t i = 0; i < monitor->sample_count; i += stride(monitor)) {
        last = x_of(plane, monitor->sample[i].at);
        fprintf(plane->file, "%s%.1f %.1f", i == 0 && !filled ? "M" : "L", last, y_of(plane, value(monitor, i)));
    }
    if (filled) fprintf(plane->file, "L%.1f %.1fZ", last, y_of(plane, 0));
    fputs("\"/>\n", plane->file);
}

/* ------------------------------------------------------------------ charts */

static double used_at(const struct monitor *monitor, size_t i) { return (double)monitor->sample[i].used; }
static double goal_at(const struct monitor *monitor, size_t i) { return (double)monitor->sample[i].goal; }
static double live_at(const struct monitor *monitor, size_t i) { return (double)monitor->sample[i].live; }

/* Requests a second over the tenth of a second around a sample. */
static double rate_at(const struct monitor *monitor, size_t i)
{
    size_t from = i >= 5 ? i - 5 : 0, to = i + 5 < monitor->sample_count ? i + 5 : monitor->sample_count - 1;
    double seconds = monitor->sample[to].at - monitor->sample[from].at;
    return seconds > 0 ? (double)(monitor->sample[to].requests - monitor->sample[from].requests) / seconds : 0;
}

static double greatest(const struct monitor *monitor, sample_value value)
{
    double most = 0;
    for (size_t i = 0; i < monitor->sample_count; i++) most = fmax(most, value(monitor, i));
    return most;
}

/* Where a cycle ran: a band behind the curves. */
static void draw_cycles(const struct plane *plane, const struct monitor *monitor)
{
    for (size_t i = 0; i < monitor->cycle_count; i++) {
        const struct monitor_cycle *cycle = &monitor->cycle[i];
        double begin = fmax(cycle->end - (double)cycle->duration_ns / 1e9, 0), from = x_of(plane, begin);
        fprintf(plane->file, "<rect class=\"cycle\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\">", from, TOP,
                fmax(x_of(plane, cycle->end) - from, 0.5), HEIGHT - TOP - BOTTOM);
        fprintf(plane->file, "<title>cycle %zu: %s, %s objects marked, %s reclaimed</title></rect>\n", i + 1,
                demo_time((double)cycle->duration_ns), demo_count((double)cycle->marked), demo_count((double)cycle->swept));
    }
}

static void draw_memory(FILE *file, const struct monitor *monitor)
{
    struct plane plane = {.file = file, .x_most = monitor->sample[monitor->sample_count - 1].at};
    plane.y_most = round_up(fmax(greatest(monitor, used_at), greatest(monitor, goal_at)), quarter_steps);
    open_figure(file, "Memory",
                "<span class=\"key k-used\"></span>in use <span class=\"key k-goal\"></span>goal of the pace <span class=\"key "
                "k-live\"></span>survivors of the last cycle <span class=\"key k-cycle\"></span>a cycle is running");
    draw_cycles(&plane, monitor);
    draw_linear_y(&plane, demo_bytes);
    draw_seconds(&plane);
    draw_series(&plane, monitor, used_at, "used", true);
    draw_series(&plane, monitor, goal_at, "goal", false);
    draw_series(&plane, monitor, live_at, "live", false);
    close_figure(file);
}

static void draw_throughput(FILE *file, const struct monitor *monitor)
{
    struct plane plane = {.file = file, .x_most = monitor->sample[monitor->sample_count - 1].at};
    plane.y_most = round_up(greatest(monitor, rate_at), quarter_steps);
    open_figure(file, "Requests a second", "<span class=\"key k-cycle\"></span>a cycle is running: the handlers go on");
    draw_cycles(&plane, monitor);
    draw_linear_y(&plane, demo_count);
    draw_seconds(&plane);
    draw_series(&plane, monitor, rate_at, "rate", false);
    close_figure(file);
}

static void draw_stop(const struct plane *plane, const struct monitor_cycle *cycle, size_t number, double value, const char *class,
                      const char *what)
{
    fprintf(plane->file,
            "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>cycle %zu: %s %s of %llu stops</title></circle>\n", class,
            x_of(plane, cycle->end), y_of(plane, value), number, what, demo_time(value), (unsigned long long)cycle->stop.count);
}

static void draw_stops(FILE *file, const struct demo_result *result)
{
    const struct monitor *monitor = result->monitor;
    struct plane plane = {.file = file, .x_most = monitor->sample[monitor->sample_count - 1].at, .y_least = 100, .y_log = true};
    plane.y_most = fmax(1e6, round_up((double)result->stats.stop_cpu.max, whole_steps));
    open_figure(file, "Stops, cycle by cycle",
                "<span class=\"key k-max\"></span>the longest <span class=\"key k-median\"></span>the median <span class=\"key "
                "k-target\"></span>50 µs: on the CPU, on a logarithmic scale");
    for (double at = 100; at <= plane.y_most * 1.0001; at *= 10) draw_y(&plane, at, demo_time(at));
    draw_seconds(&plane);
    fprintf(file, "<line class=\"target\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT, WIDTH - RIGHT,
            y_of(&plane, 50000), y_of(&plane, 50000));
    for (size_t i = 0; i < monitor->cycle_count; i++) {
        const struct monitor_cycle *cycle = &monitor->cycle[i];
        if (cycle->stop.count == 0) continue;
        draw_stop(&plane, cycle, i + 1, (double)cycle->stop.p50, "median", "median");
        draw_stop(&plane, cycle, i + 1, (double)cycle->stop.max, "max", "longest");
    }
    close_figure(file);
}

/* One bar for each power of two that occurs; the height is the logarithm of the count. */
static void draw_histogram(FILE *file, const char *title, const char *about, const uint64_t bucket[DEMO_BUCKETS])
{
    unsigned first = 0, last = DEMO_BUCKETS - 1;
    uint64_t most = 0;
    while (first < last && bucket[first] == 0) first++;
    while (last > first && bucket[last] == 0) last--;
    for (unsigned i = first; i <= last; i++) most = bucket[i] > most ? bucket[i] : most;
    struct plane plane = {.file = file,
                          .x_most = last - first + 1,
                          .y_least = 0.5,
                          .y_most = fmax(round_up((double)most, whole_steps), 10),
                          .y_log = true};
    open_figure(file, title, about);
    for (double at = 1; at <= plane.y_most; at *= plane.y_most > 1e4 ? 100 : 10) draw_y(&plane, at, demo_count(at));
    for (unsigned i = first; i <= last; i++) {
        double from = x_of(&plane, i - first), to = x_of(&plane, i - first + 1), y = y_of(&plane, (double)bucket[i]);
        if (bucket[i] != 0)
            fprintf(file,
                    "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\"><title>%s to %s: "
                    "%llu</title></rect>",
                    from + 2, y, to - from - 4, HEIGHT - BOTTOM - y, demo_bound(i), demo_bound(i + 1),
                    (unsigned long long)bucket[i]);
        fprintf(file, "<text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", to, HEIGHT - 10,
                i < last && (last - first < 16 || i % 2 == 1) ? demo_bound(i + 1) : "");
    }
    close_figure(file);
}

static void draw_latency(FILE *file, const struct demo_tally *tally)
{
    uint64_t bucket[DEMO_BUCKETS];
    for (unsigned i = 0; i < DEMO_BUCKETS; i++) bucket[i] = demo_get(&tally->latency[i]);
    draw_histogram(file, "How long requests took",
                   "by the clock on the wall, whatever else the machine did; counts on a logarithmic scale", bucket);
}

/* ----------------------------------------------------------- words and numbers */

static void card(FILE *file, const char *value, const char *what) { fprintf(file, "<div><b>%s</b>%s</div>\n", value, what); }

static void write_cards(FILE *file, const struct demo_result *result)
{
    const struct monitor *monitor = result->monitor;
    double marked = 0, mark = 0;
    for (size_t i = 0; i < monitor->cycle_count; i++) {
        marked += (double)monitor->cycle[i].marked;
        mark += (double)monitor->cycle[i].mark_ns;
    }
    fputs("<section class=\"cards\">\n", file);
    card(file, demo_count((double)demo_tally_requests(result->tally) / result->seconds), "requests a second");
    card(
        file,
        demo_bytes((double)(monitor->sample[monitor->sample_count - 1].allocated - monitor->sample[0].allocated) / result->seconds),
        "allocated a second");
    card(file, demo_count((double)monitor->sample[monitor->sample_count - 1].cycles), "cycles");
    card(file, mark > 0 ? demo_count(marked / mark * 1e9) : "–", "objects marked a second");
    card(file, demo_time((double)result->stats.stop_cpu.p999), "stop on the CPU, p99.9");
    card(file, demo_get(&result->tally->wrong) == 0 && result->faults == 0 ? "0" : "some", "errors found");
    fputs("</section>\n", file);
}

static void row_times(FILE *file, const char *what, const coex_gc_times *times)
{
    fprintf(file, "<tr><th>%s</th><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n", what, demo_whole(times->count),
            demo_time((double)times->p50), demo_time((double)times->p99), demo_time((double)times->p999),
            demo_time((double)times->max));
}

static void write_tables(FILE *file, const struct demo_result *result)
{
    const struct demo_tally *tally = result->tally;
    fputs("<section class=\"tables\"><figure><figcaption><b>Pauses</b></figcaption><table>\n"
          "<tr><td></td><th>count</th><th>p50</th><th>p99</th><th>p99.9</th><th>max</th></tr>\n",
          file);
    row_times(file, "stop, CPU", &result->stats.stop_cpu);
    row_times(file, "stop, wall", &result->stats.stop_wall);
    row_times(file, "handshake", &result->stats.handshake);
    fputs("</table></figure>\n<figure><figcaption><b>Work</b></figcaption><table>\n", file);
    for (unsigned i = 0; i < DEMO_REQUESTS; i++)
        fprintf(file, "<tr><th>%s</th><td>%s</td></tr>\n", demo_request_names[i], demo_whole(demo_get(&tally->requests[i])));
    fprintf(file, "<tr><th>threads that came and went</th><td>%s</td></tr>\n", demo_whole(demo_get(&tally->jobs)));
    fprintf(file, "<tr><th>calls in native mode</th><td>%s</td></tr>\n", demo_whole(demo_get(&tally->archived)));
    fprintf(file, "<tr><th>frames at the deepest</th><td>%s</td></tr>\n", demo_whole(demo_get(&tally->frames)));
    fprintf(file, "<tr><th>things read and checked</th><td>%s</td></tr>\n", demo_whole(demo_get(&tally->checks)));
    fprintf(file, "<tr><th>of them wrong</th><td>%s</td></tr>\n", demo_whole(demo_get(&tally->wrong)));
    fputs("</table></figure></section>\n", file);
}

/* clang-format off: one line of the page for each line here */
static const char page_head[] =
    "<!doctype html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>Coex demo</title>\n"
    "<style>\n"
    ":root { color-scheme: light dark; --paper: #fbfbf9; --card: #fff; --ink: #1c2024; --soft: #646b73; --line: #e4e4df;\n"
    "  --used: #2a78a8; --goal: #b4690e; --live: #2f8f5b; --cycle: #2a78a81f; --bad: #c23b3b }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --paper: #14171a; --card: #1b1f23; --ink: #e6e8ea; --soft: #9aa3ab; --line: #2a3036;\n"
    "    --used: #5cb3e4; --goal: #e2a24a; --live: #63c78f; --cycle: #5cb3e424; --bad: #ef7b7b } }\n"
    "* { box-sizing: border-box }\n"
    "body { margin: 0 auto; max-width: 1040px; padding: 32px 20px 48px; background: var(--paper); color: var(--ink);\n"
    "  font: 15px/1.5 system-ui, sans-serif }\n"
    "h1 { margin: 0; font-size: 26px; letter-spacing: -.01em }\n"
    "p { margin: 4px 0 24px; color: var(--soft) }\n"
    ".cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(148px, 1fr)); gap: 12px; margin-bottom: 16px }\n"
    ".cards div, figure { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px 14px }\n"
    ".cards div { color: var(--soft); font-size: 13px }\n"
    ".cards b { display: block; color: var(--ink); font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums }\n"
    "figure { margin: 0 0 16px; overflow-x: auto }\n"
    "figcaption { color: var(--soft); font-size: 13px; margin-bottom: 6px }\n"
    "figcaption b { color: var(--ink); font-size: 15px; margin-right: 8px }\n"
    "svg { display: block; width: 100%; min-width: 640px; height: auto }\n"
    ".grid { stroke: var(--line) }\n"
    ".tick { fill: var(--soft); font-size: 11px }\n"
    ".used { fill: var(--used); fill-opacity: .22; stroke: var(--used); stroke-width: 1.2 }\n"
    ".goal { fill: none; stroke: var(--goal); stroke-width: 1.5; stroke-dasharray: 5 4 }\n"
    ".live { fill: none; stroke: var(--live); stroke-width: 1.5 }\n"
    ".rate { fill: none; stroke: var(--used); stroke-width: 1.5 }\n"
    ".cycle { fill: var(--cycle) }\n"
    ".target { stroke: var(--bad); stroke-dasharray: 5 4 }\n"
    ".max { fill: var(--goal) }\n"
    ".median, .bar { fill: var(--used) }\n"
    ".key { display: inline-block; width: 12px; height: 8px; border-radius: 2px; margin: 0 5px 0 10px }\n"
    ".k-used, .k-median { background: var(--used) }\n"
    ".k-goal, .k-max { background: var(--goal) }\n"
    ".k-live { background: var(--live) }\n"
    ".k-cycle { background: var(--cycle); outline: 1px solid var(--line) }\n"
    ".k-target { background: var(--bad) }\n"
    ".tables { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(380px, 100%), 1fr)); gap: 0 16px; align-items: "
    "start }\n"
    "table { width: 100%; border-spacing: 0; font-size: 13px }\n"
    "td, th { padding: 3px 4px; white-space: nowrap }\n"
    "th { font-weight: 400; color: var(--soft); text-align: left }\n"
    "td, td + th, th + th { text-align: right; font-variant-numeric: tabular-nums }\n"
    "</style>\n"
    "</head>\n"
    "<body>\n"
    "<h1>Coex demo</h1>\n";
/* clang-format on */

static void write_page(FILE *file, const struct demo_result *result)
{
    uint64_t bucket[DEMO_BUCKETS];
    fputs(page_head, file);
    fprintf(file,
            "<p>A small social network in memory: %llu users, %u request handlers and 3 helpers, %.1f seconds, seed %llu, Coex %s. "
            "Threads "
            "build, share and drop; the collector runs beside them and never stops them all.</p>\n",
            (unsigned long long)result->audit.users, result->options->threads, result->seconds,
            (unsigned long long)result->options->seed, coex_gc_version());
    write_cards(file, result);
    draw_memory(file, result->monitor);
    draw_throughput(file, result->monitor);
    draw_stops(file, result);
    demo_stop_buckets(&result->stats.stop_cpu, bucket);
    if (result->stats.stop_cpu.count != 0)
        draw_histogram(file, "How long stops took", "on the CPU, one thread at one safepoint; counts on a logarithmic scale",
                       bucket);
    draw_latency(file, result->tally);
    write_tables(file, result);
    fputs("</body>\n</html>\n", file);
}

bool report_write(const struct demo_result *result)
{
    FILE *file = fopen(result->options->report, "w");
    if (file == NULL) return false;
    write_page(file, result);
    bool good = ferror(file) == 0;
    return fclose(file) == 0 && good;
}
