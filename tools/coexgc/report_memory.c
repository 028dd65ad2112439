/* Sections of the report about what lives, what dies, and how full the heap is. See report.h. */
#include "coexgc.h"
#include "page.h"
#include "plot.h"
#include "report.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *report_part_of_one(double part) { return page_percent(part); }

void report_survival(FILE *file, const struct trace *trace)
{
    if (trace->cycle_count == 0) return;
    double *x = command_allocate(NULL, trace->cycle_count * sizeof *x), *y = command_allocate(NULL, trace->cycle_count * sizeof *y);
    double *bytes = command_allocate(NULL, trace->cycle_count * sizeof *bytes), least = 1, most = 0;
    for (size_t i = 0; i < trace->cycle_count; i++) {
        const struct trace_cycle *cycle = &trace->cycle[i];
        double objects = cycle->marked + cycle->swept, all = cycle->live_bytes + cycle->dead_bytes;
        x[i] = cycle->begin + cycle->length;
        y[i] = objects > 0 ? cycle->marked / objects : 0;
        bytes[i] = all > 0 ? cycle->live_bytes / all : 0;
        least = fmin(least, y[i]);
        most = fmax(most, y[i]);
    }
    char about[200];
    snprintf(about, sizeof about, "Of the objects that a cycle found, %s to %s survived it.", page_percent(least),
             page_percent(most));
    struct plot plot = {.x_most = report_span(trace), .y_most = 1};
    page_open_section(file, "survival", "What survives", about);
    fputs("<figure>\n<ul class=\"legend\"><li style=\"--c:var(--live)\"><i></i>of the objects</li><li "
          "style=\"--c:var(--used)\"><i></i>of the bytes, estimated</li></ul>\n",
          file);
    plot_open(&plot, file, "survival-plot", "Part that survives each cycle", about, "9rem");
    plot_grid(&plot);
    plot_line(&plot, x, bytes, trace->cycle_count, "used", false, true);
    plot_line(&plot, x, y, trace->cycle_count, "live", true, false);
    plot_close(&plot);
    plot_label_y(&plot, report_part_of_one);
    plot_label_seconds(&plot);
    plot_end(&plot);
    fputs("</figure>\n", file);
    page_close_section(file);
    free(x);
    free(y);
    free(bytes);
}

/* ------------------------------------------------------------------- types */

struct report_type {
    uint32_t type;
    double live, live_bytes; /* in the last cycle that saw it */
    double last;             /* when that was */
    double dead, dead_bytes; /* in all cycles */
    double seen_bytes;       /* live and dead in all cycles */
};

static int report_compare_types(const void *a, const void *b)
{
    const struct report_type *left = a, *right = b;
    double x = left->live_bytes + left->dead_bytes, y = right->live_bytes + right->dead_bytes;
    if (left->live_bytes > 0 || right->live_bytes > 0) {
        x = left->live_bytes;
        y = right->live_bytes;
    }
    return x < y ? 1 : x > y ? -1 : 0;
}

static struct report_type *report_gather_types(const struct trace *trace)
{
    struct report_type *types = command_allocate(NULL, (trace->type_count + 1) * sizeof *types);
    memset(types, 0, (trace->type_count + 1) * sizeof *types);
    double last = trace->survival_count != 0 ? trace->survival[trace->survival_count - 1].at : 0;
    double last_cycle = trace->cycle_count != 0 ? trace->cycle[trace->cycle_count - 1].begin : 0;
    for (size_t i = 0; i < trace->survival_count; i++) {
        const struct trace_survival *seen = &trace->survival[i];
        struct report_type *type = &types[seen->type];
        type->last = seen->at;
        type->dead += seen->dead;
        type->dead_bytes += seen->dead_bytes;
        type->seen_bytes += seen->live_bytes + seen->dead_bytes;
        type->live = seen->live;
        type->live_bytes = seen->live_bytes;
    }
    for (size_t i = 0; i < trace->type_count; i++) {
        types[i].type = (uint32_t)i;
        if (types[i].last < last_cycle && types[i].last < last) types[i].live = types[i].live_bytes = 0; /* gone since */
    }
    qsort(types, trace->type_count, sizeof *types, report_compare_types);
    return types;
}

static void report_type_row(FILE *file, const struct trace *trace, const struct report_type *type, double most)
{
    double live = most > 0 ? type->live_bytes / most * 1000 : 0;
    fputs("<tr><td>", file);
    text_print_html(file, trace->type[type->type].text);
    fprintf(file,
            "</td><td class=\"wide\"><svg viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"%s "
            "live\"><rect "
            "class=\"bar\" style=\"--c:var(--live)\" x=\"0\" y=\"4\" width=\"%.1f\" height=\"12\"/></svg></td>",
            page_bytes(type->live_bytes), fmax(live, type->live_bytes > 0 ? 3 : 0));
    fprintf(file, "<td>%s</td><td>%s</td><td class=\"rare\">%s</td><td>%s</td><td class=\"rare\">%s</td></tr>\n",
            page_bytes(type->live_bytes), page_count(type->live), page_bytes(type->live > 0 ? type->live_bytes / type->live : 0),
            page_bytes(type->dead_bytes),
            page_percent(type->seen_bytes > 0 ? (type->seen_bytes - type->dead_bytes) / type->seen_bytes : 0));
}

void report_types(FILE *file, const struct trace *trace)
{
    if (trace->survival_count == 0) return;
    struct report_type *types = report_gather_types(trace);
    page_open_section(
        file, "types", "Which types",
        "Live as of the last cycle, died in all of them. Estimated from a sample of two thousand objects in each cycle.");
    fputs("<figure><div class=\"scroll\"><table>\n<thead><tr><th>type</th><th class=\"wide\"></th><th>live</th><th>objects</th>"
          "<th class=\"rare\">each</th><th>died</th><th class=\"rare\">survives a cycle</th></tr></thead>\n<tbody>\n",
          file);
    for (size_t i = 0; i < trace->type_count && i < 16; i++) report_type_row(file, trace, &types[i], types[0].live_bytes);
    fputs("</tbody></table></div></figure>\n", file);
    page_close_section(file);
    free(types);
}

/* -------------------------------------------------------------------- maps */

enum { REPORT_MAP_WIDTH = 32 };

/* A hexadecimal digit: the reader of the trace has seen to that. */
static int report_cell(char digit) { return digit >= 'a' ? digit - 'a' + 10 : digit - '0'; }

static void report_map(FILE *file, const struct trace_map *map, size_t number)
{
    size_t cells = strlen(map->full), rows = (cells + REPORT_MAP_WIDTH - 1) / REPORT_MAP_WIDTH, empty = 0, full = 0;
    double sum = 0;
    for (size_t i = 0; i < cells; i++) {
        int cell = report_cell(map->full[i]);
        sum += cell;
        empty += cell == 0;
        full += cell == 15;
    }
    fprintf(file,
            "<div><svg viewBox=\"0 0 %d %zu\" role=\"img\" aria-labelledby=\"map-%zu-t\" shape-rendering=\"crispEdges\"><title "
            "id=\"map-%zu-t\">How full the blocks of the heap are after the cycle at %s: %s of the cells are empty, %s are "
            "full</title>\n",
            REPORT_MAP_WIDTH, rows == 0 ? 1 : rows, number, number, page_time(map->at),
            page_percent(cells > 0 ? (double)empty / (double)cells : 0),
            page_percent(cells > 0 ? (double)full / (double)cells : 0));
    for (size_t i = 0; i < cells; i++) {
        int cell = report_cell(map->full[i]);
        fprintf(file, "<rect x=\"%zu\" y=\"%zu\" width=\".9\" height=\".9\" fill=\"var(--%s)\" opacity=\"%.2f\"/>",
                i % REPORT_MAP_WIDTH, i / REPORT_MAP_WIDTH, cell == 0 ? "dead" : "used", cell == 0 ? 0.7 : 0.2 + 0.8 * cell / 15);
    }
    fprintf(file, "\n</svg><p class=\"ui\">at %s: %s blocks, %s, %s in use</p></div>\n", page_time(map->at),
            page_whole(map->blocks), page_bytes(map->blocks * map->block_bytes),
            page_percent(cells > 0 ? sum / 15 / (double)cells : 0));
}

void report_maps(FILE *file, const struct trace *trace)
{
    if (trace->map_count == 0) return;
    page_open_section(file, "blocks", "How full the heap is",
                      "Each cell is a block of the heap (or several) after a cycle, the stronger its colour the fuller; grey cells "
                      "are empty and free for "
                      "anything. Many pale cells: the heap is fragmented.");
    fputs("<figure><div class=\"maps\">\n", file);
    size_t shown = trace->map_count < 4 ? trace->map_count : 4;
    for (size_t i = 0; i < shown; i++) report_map(file, &trace->map[shown == 1 ? 0 : i * (trace->map_count - 1) / (shown - 1)], i);
    fputs("</div></figure>\n", file);
    page_close_section(file);
}
