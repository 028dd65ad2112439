/* See report.h. Top to bottom: what matters at a glance, then memory over time, where the time of cycles goes, stops, answers by thread;
 * the rest is in report_memory.c. */
#include "report.h"

#include "coexgc.h"
#include "numerals.h"
#include "page.h"
#include "plot.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

double report_percentile(const double *sorted, size_t count, double part)
{
    if (count == 0) return 0;
    size_t at = (size_t)ceil((double)count * part);
    return sorted[at == 0 ? 0 : at > count ? count - 1 : at - 1];
}

int report_compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static double *report_numbers(size_t count) { return command_allocate(NULL, (count + 1) * sizeof(double)); }

/* How long stops were, in rising order. */
static double *report_stops(const struct trace *trace)
{
    double *stops = report_numbers(trace->stop_count);
    for (size_t i = 0; i < trace->stop_count; i++) stops[i] = trace->stop[i].length;
    qsort(stops, trace->stop_count, sizeof *stops, report_compare);
    return stops;
}

double report_span(const struct trace *trace) { return fmax(trace->end, 1e-6); }

/* ------------------------------------------------------------------- cards */

static void report_cards(FILE *file, const struct trace *trace)
{
    double busy = 0, peak = 0, marked = 0, swept = 0, cpu = 0, answer = 0;
    for (size_t i = 0; i < trace->stop_count; i++) {
        cpu = fmax(cpu, trace->stop[i].cpu);
        answer = fmax(answer, trace->stop[i].answer);
    }
    for (size_t i = 0; i < trace->cycle_count; i++) {
        busy += trace->cycle[i].length;
        marked += trace->cycle[i].marked;
        swept += trace->cycle[i].swept;
    }
    for (size_t i = 0; i < trace->heap_count; i++) peak = fmax(peak, trace->heap[i].used);
    double *stops = report_stops(trace);
    size_t count = trace->stop_count;
    char note[160];
    fputs("<ul class=\"cards\">\n", file);
    snprintf(note, sizeof note, "in %s, running %s of it", page_time(trace->end), page_percent(busy / report_span(trace)));
    page_card(file, "Cycles", page_whole((double)trace->cycle_count), note);
    snprintf(note, sizeof note, "of one thread; on the CPU %s, p99 %s", page_time(cpu),
             page_time(report_percentile(stops, count, 0.99)));
    page_card(file, "Longest stop", page_time(count != 0 ? stops[count - 1] : 0), note);
    snprintf(note, sizeof note, "half of %s stops", page_count((double)count));
    page_card(file, "Stops below", page_time(report_percentile(stops, count, 0.5)), note);
    page_card(file, "Slowest answer", page_time(answer), "from a request to a thread's safepoint");
    snprintf(note, sizeof note, "live at the end: %s",
             page_bytes(trace->heap_count != 0 ? trace->heap[trace->heap_count - 1].live : 0));
    page_card(file, "Peak heap", page_bytes(peak), note);
    snprintf(note, sizeof note, "%s objects reclaimed", page_count(swept));
    page_card(file, "Survived a cycle", page_percent(marked + swept > 0 ? marked / (marked + swept) : 0), note);
    fputs("</ul>\n", file);
    free(stops);
}

/* ---------------------------------------------------------------- timeline */

typedef double (*report_heap_value)(const struct trace_heap *heap);
static double heap_used(const struct trace_heap *heap) { return heap->used; }
static double heap_goal(const struct trace_heap *heap) { return heap->goal; }
static double heap_live(const struct trace_heap *heap) { return heap->live; }

/* What changes at the end of a cycle is drawn in steps; what grows in between is not. */
static void report_heap_line(struct plot *plot, const struct trace *trace, report_heap_value value, const char *color, bool steps,
                             bool dashed)
{
    double *x = report_numbers(trace->heap_count * 2), *y = report_numbers(trace->heap_count * 2);
    size_t count = 0;
    for (size_t i = 0; i < trace->heap_count; i++) {
        if (steps && count > 0) {
            x[count] = trace->heap[i].at;
            y[count] = y[count - 1];
            count++;
        }
        x[count] = trace->heap[i].at;
        y[count++] = value(&trace->heap[i]);
    }
    plot_line(plot, x, y, count, color, !steps, dashed);
    free(x);
    free(y);
}

static void report_bands(struct plot *plot, const struct trace *trace)
{
    char title[256];
    for (size_t i = 0; i < trace->cycle_count; i++) {
        const struct trace_cycle *cycle = &trace->cycle[i];
        snprintf(title, sizeof title, "cycle %.0f at %s: %s, %s objects marked, %s reclaimed", cycle->number,
                 page_time(cycle->begin), page_time(cycle->length), page_count(cycle->marked), page_count(cycle->swept));
        plot_band(plot, cycle->begin, cycle->begin + cycle->length, title);
    }
}

static void report_timeline(FILE *file, const struct trace *trace)
{
    double peak = 0, goal = 0;
    for (size_t i = 0; i < trace->heap_count; i++) {
        peak = fmax(peak, trace->heap[i].used);
        goal = fmax(goal, trace->heap[i].goal);
    }
    struct plot plot = {.x_most = report_span(trace), .y_most = plot_round_up_bytes(fmax(peak, goal))};
    char about[300];
    snprintf(about, sizeof about, "Heap in use over %s, with %zu cycles. It peaks at %s.", page_time(trace->end),
             trace->cycle_count, page_bytes(peak));
    page_open_section(file, "timeline", "Memory and cycles",
                      "Memory grows to the goal, a cycle runs beside the program, and what is dead goes.");
    fputs("<figure>\n<ul class=\"legend\"><li style=\"--c:var(--used)\"><i></i>in use</li><li "
          "style=\"--c:var(--goal)\"><i></i>goal: the "
          "next cycle starts there</li><li style=\"--c:var(--live)\"><i></i>live after the last cycle</li><li "
          "style=\"--c:var(--band)\"><i></i>a cycle runs</li></ul>\n",
          file);
    plot_open(&plot, file, "timeline-plot", "Memory over time, with the cycles", about, "17rem");
    plot_grid(&plot);
    report_bands(&plot, trace);
    report_heap_line(&plot, trace, heap_used, "used", false, false);
    report_heap_line(&plot, trace, heap_goal, "goal", true, true);
    report_heap_line(&plot, trace, heap_live, "live", true, false);
    plot_close(&plot);
    plot_label_y(&plot, page_bytes);
    plot_label_seconds(&plot);
    plot_end(&plot);
    fputs("</figure>\n", file);
    page_close_section(file);
}

/* Counters of the program itself: one small chart each. */
static void report_counters(FILE *file, const struct trace *trace)
{
    if (trace->counter_count == 0) return;
    page_open_section(file, "counters", "The program's own counters", "Numbers that the program gave with coex_gc_trace_counter.");
    for (size_t c = 0; c < trace->counter_count && c < 8; c++) {
        double *x = report_numbers(trace->point_count), *y = report_numbers(trace->point_count), most = 0;
        size_t count = 0;
        for (size_t i = 0; i < trace->point_count; i++) {
            if (trace->point[i].counter != c) continue;
            x[count] = trace->point[i].at;
            y[count++] = trace->point[i].value;
            most = fmax(most, trace->point[i].value);
        }
        struct plot plot = {.x_most = report_span(trace), .y_most = plot_round_up(most)};
        char id[32];
        snprintf(id, sizeof id, "counter-%zu", c);
        fputs("<figure style=\"margin-bottom:.8rem\">\n<ul class=\"legend\"><li style=\"--c:var(--live)\"><i></i>", file);
        text_print_html(file, trace->counter[c].text);
        fputs("</li></ul>\n", file);
        plot_open(&plot, file, id, trace->counter[c].text, "A counter of the program over time.", "8rem");
        plot_grid(&plot);
        plot_line(&plot, x, y, count, "live", true, false);
        plot_close(&plot);
        plot_label_y(&plot, page_count);
        plot_label_seconds(&plot);
        plot_end(&plot);
        fputs("</figure>\n", file);
        free(x);
        free(y);
    }
    page_close_section(file);
}

/* ------------------------------------------------------------------ cycles */

enum report_part { PART_SHAKE, PART_MARK, PART_SWEEP, PART_OTHER, PART_COUNT };

static const struct {
    const char *name, *color;
} report_parts[PART_COUNT] = {
    {"asking threads", "shake"}, {"marking", "mark"}, {"sweeping", "sweep"}, {"everything else", "other"}};

static enum report_part report_part_of(const char *stage)
{
    static const char *const shakes[] = {"sync", "roots", "idle"};
    for (size_t i = 0; i < sizeof shakes / sizeof shakes[0]; i++) {
        if (strcmp(stage, shakes[i]) == 0) return PART_SHAKE;
    }
    if (strncmp(stage, "mark", 4) == 0 || strcmp(stage, "flush") == 0) return PART_MARK;
    return strncmp(stage, "sweep", 5) == 0 ? PART_SWEEP : PART_OTHER;
}

static void report_cycle_parts(const struct trace *trace, const struct trace_cycle *cycle, double part[PART_COUNT])
{
    memset(part, 0, PART_COUNT * sizeof *part);
    for (size_t i = 0; i < trace->stage_name_count && i < TRACE_STAGES; i++)
        part[report_part_of(trace->stage_name[i].text)] += cycle->stage[i];
}

/* Bars of the cycles in their order; when there are too many to see, each bar is the longest of several. */
static void report_cycle_bars(struct plot *plot, const struct trace *trace, size_t group)
{
    char title[256];
    for (size_t i = 0, bar = 0; i < trace->cycle_count; i += group, bar++) {
        const struct trace_cycle *longest = &trace->cycle[i];
        for (size_t j = i; j < i + group && j < trace->cycle_count; j++) {
            if (trace->cycle[j].length > longest->length) longest = &trace->cycle[j];
        }
        double part[PART_COUNT], low = 0;
        report_cycle_parts(trace, longest, part);
        for (int p = 0; p < PART_COUNT; p++) {
            if (part[p] <= 0) continue;
            snprintf(title, sizeof title, "cycle %.0f: %s %s of %s", longest->number, report_parts[p].name, page_time(part[p]),
                     page_time(longest->length));
            plot_bar(plot, (double)bar + 0.08, (double)bar + 0.92, low, low + part[p], report_parts[p].color, title);
            low += part[p];
        }
    }
}

static void report_cycle_table(FILE *file, const struct trace *trace)
{
    size_t first = trace->cycle_count > 200 ? trace->cycle_count - 200 : 0;
    fprintf(file,
            "<details><summary>The last %zu cycles as a table</summary>\n<div class=\"scroll\"><table>\n<thead><tr><th>cycle</th>"
            "<th>at</th><th>took</th><th>asking</th><th>mark</th><th>sweep</th><th>marked</th><th>reclaimed</th></tr></"
            "thead>\n<tbody>\n",
            trace->cycle_count - first);
    for (size_t i = first; i < trace->cycle_count; i++) {
        const struct trace_cycle *cycle = &trace->cycle[i];
        double part[PART_COUNT];
        report_cycle_parts(trace, cycle, part);
        fprintf(file, "<tr><td>%.0f</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
                cycle->number, page_time(cycle->begin), page_time(cycle->length), page_time(part[PART_SHAKE]),
                page_time(part[PART_MARK]), page_time(part[PART_SWEEP]), page_whole(cycle->marked), page_whole(cycle->swept));
    }
    fputs("</tbody></table></div></details>\n", file);
}

static void report_cycles(FILE *file, const struct trace *trace)
{
    if (trace->cycle_count == 0) return;
    double longest = 0, sum[PART_COUNT] = {0}, all = 0;
    for (size_t i = 0; i < trace->cycle_count; i++) {
        double part[PART_COUNT];
        report_cycle_parts(trace, &trace->cycle[i], part);
        for (int p = 0; p < PART_COUNT; p++) sum[p] += part[p];
        longest = fmax(longest, trace->cycle[i].length);
        all += trace->cycle[i].length;
    }
    size_t group = trace->cycle_count / 240 + 1;
    struct plot plot = {.x_most = (double)((trace->cycle_count + group - 1) / group), .y_most = plot_round_up(longest)};
    char about[200];
    snprintf(about, sizeof about, "%zu cycles; the longest took %s, a middle one %s.", trace->cycle_count, page_time(longest),
             page_time(all / (double)trace->cycle_count));
    page_open_section(file, "cycles", "Where the time of a cycle goes",
                      "The program runs on in all of it; asking threads is waiting for their next safepoint.");
    fputs("<figure>\n<ul class=\"legend\">", file);
    for (int p = 0; p < PART_COUNT; p++)
        fprintf(file, "<li style=\"--c:var(--%s)\"><i></i>%s %s</li>", report_parts[p].color, report_parts[p].name,
                page_percent(all > 0 ? sum[p] / all : 0));
    fputs("</ul>\n", file);
    plot_open(&plot, file, "cycles-plot", "Duration of each cycle by phase", about, "11rem");
    plot_grid(&plot);
    report_cycle_bars(&plot, trace, group);
    plot_close(&plot);
    plot_label_y(&plot, page_time);
    char label[48];
    snprintf(label, sizeof label, "cycle %.0f", trace->cycle[0].number);
    plot_label_x(&plot, 0, label, "first");
    if (trace->cycle_count > 1) {
        snprintf(label, sizeof label, "cycle %.0f", trace->cycle[trace->cycle_count - 1].number);
        plot_label_x(&plot, plot.x_most, label, "last");
    }
    plot_end(&plot);
    report_cycle_table(file, trace);
    fputs("</figure>\n", file);
    page_close_section(file);
}

/* ------------------------------------------------------------------- stops */

/* 1, 2, 5, 10, 20 ... microseconds. */
enum { REPORT_BUCKETS = 22 };

static double report_bucket_bound(int bucket)
{
    static const double steps[] = {1, 2, 5};
    return steps[bucket % 3] * pow(10, bucket / 3) * 1e-6;
}

static void report_stop_bars(struct plot *plot, const size_t *bucket, int first, int last)
{
    char title[160];
    for (int i = first; i <= last; i++) {
        if (bucket[i] == 0) continue;
        snprintf(title, sizeof title, "%s stops took %s to %s", page_whole((double)bucket[i]),
                 i == 0 ? "0" : page_time(report_bucket_bound(i - 1)), page_time(report_bucket_bound(i)));
        plot_bar(plot, i - first + 0.06, i - first + 0.94, 0, log10((double)bucket[i]) + 0.3, "bar", title);
    }
}

static const char *report_log_count(double value) { return page_count(pow(10, value - 0.3)); }

static void report_pauses(FILE *file, const struct trace *trace)
{
    if (trace->stop_count == 0) return;
    size_t bucket[REPORT_BUCKETS] = {0}, count = trace->stop_count, most = 0;
    double *stops = report_stops(trace);
    int first = REPORT_BUCKETS - 1, last = 0;
    for (size_t i = 0; i < count; i++) {
        int at = 0;
        while (at < REPORT_BUCKETS - 1 && stops[i] > report_bucket_bound(at)) at++;
        bucket[at]++;
        first = at < first ? at : first;
        last = at > last ? at : last;
        most = bucket[at] > most ? bucket[at] : most;
    }
    char about[300];
    snprintf(about, sizeof about, "%s stops: half below %s, 99 of 100 below %s, 999 of 1000 below %s, the longest %s.",
             page_whole((double)count), page_time(report_percentile(stops, count, 0.5)),
             page_time(report_percentile(stops, count, 0.99)), page_time(report_percentile(stops, count, 0.999)),
             page_time(stops[count - 1]));
    struct plot plot = {.x_most = last - first + 1, .y_most = ceil(log10((double)most) + 0.3)};
    page_open_section(file, "pauses", "How long threads stopped", about);
    fputs("<figure>\n", file);
    plot_open(&plot, file, "pauses-plot", "Histogram of stops", about, "11rem");
    report_stop_bars(&plot, bucket, first, last);
    fputs("<line class=\"grid\" x1=\"0\" x2=\"1000\" y1=\"1000\" y2=\"1000\"/>\n", file);
    plot_close(&plot);
    for (int decade = 0; decade + 0.3 <= plot.y_most; decade++)
        fprintf(file, "<span class=\"axis y\" aria-hidden=\"true\" style=\"top:%.1f%%\">%s</span>\n",
                (1 - (decade + 0.3) / plot.y_most) * 100, report_log_count(decade + 0.3));
    for (int i = first; i <= last; i++)
        plot_label_x(&plot, i - first + 1, page_time(report_bucket_bound(i)),
                     last - first > 6 && (last - i) % 2 == 1 ? "rare" : "");
    plot_end(&plot);
    fputs("</figure>\n", file);
    page_close_section(file);
    free(stops);
}

/* ----------------------------------------------------------------- answers */

struct report_answers {
    uint32_t thread;
    size_t count;
    double half, p99, most, longest_stop;
};

static int report_compare_answers(const void *a, const void *b)
{
    const struct report_answers *left = a, *right = b;
    return left->most < right->most ? 1 : left->most > right->most ? -1 : 0;
}

/* The stops by their threads: those of thread t are stop[first[t]] to stop[first[t + 1] - 1]. */
struct report_groups {
    size_t *first;
    const struct trace_stop **stop;
};

/* Sorts the stops by counting, in a time that is linear in stops and threads. */
static struct report_groups report_group_stops(const struct trace *trace)
{
    struct report_groups groups = {command_allocate(NULL, (trace->thread_count + 2) * sizeof *groups.first),
                                   command_allocate(NULL, (trace->stop_count + 1) * sizeof *groups.stop)};
    memset(groups.first, 0, (trace->thread_count + 2) * sizeof *groups.first);
    for (size_t i = 0; i < trace->stop_count; i++) groups.first[trace->stop[i].thread + 2]++;
    for (size_t i = 0; i < trace->thread_count; i++) groups.first[i + 2] += groups.first[i + 1];
    for (size_t i = 0; i < trace->stop_count; i++) groups.stop[groups.first[trace->stop[i].thread + 1]++] = &trace->stop[i];
    return groups;
}

static struct report_answers report_answers_of(const struct report_groups *groups, uint32_t thread, double *numbers)
{
    struct report_answers answers = {.thread = thread};
    for (size_t i = groups->first[thread]; i < groups->first[thread + 1]; i++) {
        numbers[answers.count++] = groups->stop[i]->answer;
        answers.longest_stop = fmax(answers.longest_stop, groups->stop[i]->length);
    }
    qsort(numbers, answers.count, sizeof *numbers, report_compare);
    answers.half = report_percentile(numbers, answers.count, 0.5);
    answers.p99 = report_percentile(numbers, answers.count, 0.99);
    answers.most = answers.count != 0 ? numbers[answers.count - 1] : 0;
    return answers;
}

/* On a logarithmic scale from one microsecond to `most`. */
static double report_log_part(double value, double most) { return fmin(fmax(log(value / 1e-6) / log(most / 1e-6), 0), 1) * 1000; }

static void report_answer_row(FILE *file, const struct trace *trace, const struct report_answers *answers, double most)
{
    double half = report_log_part(answers->half, most), p99 = report_log_part(answers->p99, most);
    double longest = report_log_part(answers->most, most);
    fputs("<tr><td>", file);
    text_print_html(file, trace->thread[answers->thread].name);
    fprintf(
        file,
        "</td><td class=\"wide\"><svg viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"half below "
        "%s, 99 of "
        "100 below %s, longest %s\"><line class=\"grid\" x1=\"0\" x2=\"1000\" y1=\"10\" y2=\"10\"/><rect class=\"bar\" "
        "style=\"--c:var(--used);opacity:.45\" x=\"%.1f\" y=\"6\" width=\"%.1f\" height=\"8\"/><rect class=\"bar\" "
        "style=\"--c:var(--used)\" x=\"%.1f\" y=\"3\" width=\"6\" height=\"14\"/><rect class=\"bar\" style=\"--c:var(--shake)\" "
        "x=\"%.1f\" y=\"3\" width=\"6\" height=\"14\"/></svg></td>",
        page_time(answers->half), page_time(answers->p99), page_time(answers->most), half, fmax(p99 - half, 2), half,
        fmin(longest, 994));
    fprintf(file, "<td>%s</td><td>%s</td><td>%s</td><td class=\"rare\">%s</td><td class=\"rare\">%s</td></tr>\n",
            page_time(answers->half), page_time(answers->p99), page_time(answers->most), page_time(answers->longest_stop),
            page_whole((double)answers->count));
}

static void report_late(FILE *file, const struct trace *trace)
{
    if (trace->late_count == 0) return;
    fputs("<p class=\"note\">Late threads: ", file);
    for (size_t i = 0; i < trace->late_count && i < 5; i++) {
        if (i > 0) fputs("; ", file);
        text_print_html(file, trace->thread[trace->late[i].thread].name);
        fprintf(file, " had not answered after %.0f ms at %s", trace->late[i].ms, page_time(trace->late[i].at));
    }
    fputs(trace->late_count > 5 ? "; and more.</p>\n" : ".</p>\n", file);
}

static void report_answers(FILE *file, const struct trace *trace)
{
    if (trace->stop_count == 0 && trace->late_count == 0) return; /* a late thread may be all there is to tell */
    double *numbers = report_numbers(trace->stop_count), most = 1e-5;
    struct report_answers *rows = command_allocate(NULL, (trace->thread_count + 1) * sizeof *rows);
    struct report_groups groups = report_group_stops(trace);
    size_t count = 0;
    for (size_t i = 0; i < trace->thread_count; i++) {
        rows[count] = report_answers_of(&groups, (uint32_t)i, numbers);
        most = fmax(most, rows[count].most);
        count += rows[count].count != 0;
    }
    qsort(rows, count, sizeof *rows, report_compare_answers);
    page_open_section(
        file, "answers", "How soon threads answered",
        "From the collector's request to the beginning of the thread's answer, on a logarithmic scale from 1 µs. The bar is from "
        "the middle to the slowest hundredth; the red mark is the slowest.");
    report_late(file, trace);
    fputs("<figure><div class=\"scroll\"><table>\n<thead><tr><th>thread</th><th "
          "class=\"wide\"></th><th>half</th><th>p99</th><th>slowest</th>"
          "<th class=\"rare\">longest stop</th><th class=\"rare\">stops</th></tr></thead>\n<tbody>\n",
          file);
    for (size_t i = 0; i < count && i < 24; i++) report_answer_row(file, trace, &rows[i], most);
    fputs("</tbody></table></div>", file);
    if (count > 24) fprintf(file, "<p class=\"ui\">and %zu threads more, all quicker.</p>", count - 24);
    fputs("</figure>\n", file);
    page_close_section(file);
    free(groups.first);
    free(groups.stop);
    free(rows);
    free(numbers);
}

/* -------------------------------------------------------------------- page */

static void report_sections(FILE *file, const struct trace *trace)
{
    report_cards(file, trace);
    report_timeline(file, trace);
    report_counters(file, trace);
    report_cycles(file, trace);
    report_pauses(file, trace);
    report_answers(file, trace);
    report_survival(file, trace);
    report_types(file, trace);
    report_maps(file, trace);
}

void report_write(FILE *file, const struct trace *trace, const char *source)
{
    struct numerals numerals = numerals_enter();
    page_begin(file, "Garbage collection report");
    fputs("<header>\n<h1>Garbage collection report</h1>\n<p>", file);
    text_print_html(file, source);
    fprintf(file, ", %s of recording by ", page_time(trace->end));
    text_print_html(file, trace->writer[0] != '\0' ? trace->writer : "an unknown writer");
    fputs(".</p>\n", file);
    if (trace->dropped > 0)
        fprintf(file, "<p class=\"note\">The ring was full: %s older events are not in this trace.</p>\n",
                page_whole(trace->dropped));
    fputs("</header>\n", file);
    report_sections(file, trace);
    fputs("<footer>Written by <b>coexgc report</b>. The same trace opens in Perfetto and chrome://tracing.</footer>\n", file);
    page_end(file);
    numerals_leave(numerals);
}

static bool report_is_same_file(const char *trace_path, const char *page_path)
{
    struct stat trace, page;
    return stat(trace_path, &trace) == 0 && stat(page_path, &page) == 0 && S_ISREG(trace.st_mode) && trace.st_dev == page.st_dev &&
           trace.st_ino == page.st_ino;
}

/* Returns whether the page was written; the page of a trace that can't be read is not touched. */
static bool report_save(const struct trace *trace, const char *trace_path, const char *page_path, char *error, size_t room)
{
    FILE *file = fopen(page_path, "w");
    if (file == NULL) {
        snprintf(error, room, "%s: %s", page_path, strerror(errno));
        return false;
    }
    const char *slash = strrchr(trace_path, '/');
    report_write(file, trace, slash != NULL ? slash + 1 : trace_path);
    bool good = ferror(file) == 0;
    good = fclose(file) == 0 && good;
    if (!good) snprintf(error, room, "%s: can't be written", page_path);
    return good;
}

bool report_make(const char *trace_path, const char *page_path, char *error, size_t room)
{
    if (report_is_same_file(trace_path, page_path)) {
        snprintf(error, room, "%s: the page would replace the trace", page_path);
        return false;
    }
    struct json_reader *reader = command_allocate(NULL, sizeof *reader);
    struct trace trace = {0};
    bool good = json_open(reader, trace_path) && trace_read(&trace, reader);
    if (!good) snprintf(error, room, "%s", reader->error);
    json_close(reader);
    free(reader);
    good = good && report_save(&trace, trace_path, page_path, error, room);
    trace_free(&trace);
    return good;
}
