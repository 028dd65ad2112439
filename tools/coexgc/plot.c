/* See plot.h. The drawing's own units are 1000 by 1000, y downwards. */
#include "plot.h"

#include "page.h"
#include "text.h"

#include <math.h>

enum {
    PLOT_POINTS = 1500, /* of a line at most: more can't be seen */
    PLOT_LABELS = 12    /* along the bottom at most; eight is what fits */
};

/* Charts are of numbers in this range: a step within it is neither 0 nor infinite. What is outside is drawn at the border. */
#define PLOT_LEAST 1e-12
#define PLOT_MOST  1e24

/* The largest power of ten that is not above the value. */
static double plot_power(double value) { return pow(10, floor(log10(fmin(fmax(value, PLOT_LEAST), PLOT_MOST)))); }

double plot_round_up(double value)
{
    static const double steps[] = {1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10}; /* a fourth of each has two digits at most */
    if (!(value > 0)) return 1;
    double power = plot_power(value);
    int at = 0;
    while (at < 10 && steps[at] * power < value * 0.9999) at++;
    return steps[at] * power;
}

double plot_round_up_bytes(double bytes)
{
    double unit = bytes >= 1073741824.0 ? 1073741824.0 : bytes >= 1048576.0 ? 1048576.0 : bytes >= 1024 ? 1024 : 1;
    return plot_round_up(bytes / unit) * unit;
}

static double plot_x(const struct plot *plot, double x) { return fmin(fmax(x / plot->x_most, 0), 1) * 1000; }
static double plot_y(const struct plot *plot, double y) { return (1 - fmin(fmax(y / plot->y_most, 0), 1)) * 1000; }

void plot_open(struct plot *plot, FILE *file, const char *id, const char *title, const char *description, const char *height)
{
    plot->file = file;
    fputs("<div class=\"plot\"", file);
    if (height != NULL) fprintf(file, " style=\"--h:%s\"", height);
    fprintf(file,
            ">\n<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" role=\"img\" aria-labelledby=\"%s-t %s-d\">\n"
            "<title id=\"%s-t\">",
            id, id, id);
    text_print_html(file, title);
    fprintf(file, "</title><desc id=\"%s-d\">", id);
    text_print_html(file, description);
    fputs("</desc>\n", file);
}

void plot_grid(struct plot *plot)
{
    for (int i = 0; i <= 4; i++)
        fprintf(plot->file, "<line class=\"grid\" x1=\"0\" x2=\"1000\" y1=\"%d\" y2=\"%d\"/>", i * 250, i * 250);
    fputc('\n', plot->file);
}

/* Where there are more points than can be seen, the lowest and the highest of each group are drawn: peaks stay. */
static void plot_points(struct plot *plot, const double *x, const double *y, size_t count)
{
    size_t group = count > PLOT_POINTS ? 2 * (count / PLOT_POINTS + 1) : 1;
    for (size_t i = 0; i < count; i += group) {
        size_t low = i, high = i;
        for (size_t j = i; j < i + group && j < count; j++) {
            if (y[j] < y[low]) low = j;
            if (y[j] > y[high]) high = j;
        }
        size_t first = low < high ? low : high, second = low < high ? high : low;
        fprintf(plot->file, "%.1f %.1f ", plot_x(plot, x[first]), plot_y(plot, y[first]));
        if (second != first) fprintf(plot->file, "%.1f %.1f ", plot_x(plot, x[second]), plot_y(plot, y[second]));
    }
}

void plot_line(struct plot *plot, const double *x, const double *y, size_t count, const char *color, bool filled, bool dashed)
{
    if (count == 0) return;
    if (filled) {
        fprintf(plot->file, "<path class=\"area\" style=\"--c:var(--%s)\" d=\"M%.1f 1000L", color, plot_x(plot, x[0]));
        plot_points(plot, x, y, count);
        fprintf(plot->file, "L%.1f 1000Z\"/>\n", plot_x(plot, x[count - 1]));
    }
    fprintf(plot->file, "<path class=\"line%s\" style=\"--c:var(--%s)\" d=\"M", dashed ? " dash" : "", color);
    plot_points(plot, x, y, count);
    fputs("\"/>\n", plot->file);
}

void plot_band(struct plot *plot, double from, double to, const char *title)
{
    double left = plot_x(plot, from);
    fprintf(plot->file, "<rect class=\"band\" x=\"%.2f\" y=\"0\" width=\"%.2f\" height=\"1000\"><title>", left,
            fmax(plot_x(plot, to) - left, 0.8));
    text_print_html(plot->file, title);
    fputs("</title></rect>\n", plot->file);
}

void plot_bar(struct plot *plot, double from, double to, double low, double high, const char *color, const char *title)
{
    double left = plot_x(plot, from), top = plot_y(plot, high);
    fprintf(plot->file, "<rect class=\"bar\" style=\"--c:var(--%s)\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>",
            color, left, top, fmax(plot_x(plot, to) - left, 0.6), plot_y(plot, low) - top);
    text_print_html(plot->file, title);
    fputs("</title></rect>\n", plot->file);
}

void plot_close(struct plot *plot) { fputs("</svg>\n", plot->file); }

void plot_label_y(struct plot *plot, const char *(*text)(double value))
{
    for (int i = 0; i <= 4; i++)
        fprintf(plot->file, "<span class=\"axis y\" aria-hidden=\"true\" style=\"top:%d%%\">%s</span>\n", i * 25,
                i == 4 ? "0" : text(plot->y_most * (4 - i) / 4));
}

void plot_label_x(struct plot *plot, double x, const char *text, const char *extra_class)
{
    fprintf(plot->file, "<span class=\"axis x %s\" aria-hidden=\"true\" style=\"left:%.2f%%\">%s</span>\n", extra_class,
            plot_x(plot, x) / 10, text);
}

/* About eight; every other one is left out where there is no room. */
void plot_label_seconds(struct plot *plot)
{
    static const double steps[] = {1, 2, 5, 10};
    double rough = plot->x_most / 8, power = plot_power(rough);
    int at = 0;
    while (at < 3 && steps[at] * power < rough) at++;
    double step = steps[at] * power;
    for (int i = 0; i < PLOT_LABELS && i * step <= plot->x_most * 1.0001; i++)
        plot_label_x(plot, i * step, i == 0 ? "0" : page_time(i * step), i % 2 == 1 ? "rare" : i == 0 ? "first" : "");
}

void plot_end(struct plot *plot) { fputs("</div>\n", plot->file); }
