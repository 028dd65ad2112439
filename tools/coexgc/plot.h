/* Charts: the drawing is SVG that fills its box whatever the width, the words around it are HTML at their own size, so that a phone shows
 * the same chart with readable labels. */
#ifndef COEXGC_PLOT_H
#define COEXGC_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct plot {
    FILE *file;
    double x_most, y_most;
};

/* A round number at least as large, so that a fourth of it is round too. */
double plot_round_up(double value);
/* For sizes in bytes: the same in the unit that is shown. */
double plot_round_up_bytes(double bytes);

/* Opens the box and the drawing, with a title and a description for who can't see it. `height` is a CSS length or NULL. */
void plot_open(struct plot *plot, FILE *file, const char *id, const char *title, const char *description, const char *height);
/* Lines across at four steps, and their labels; and seconds along the bottom. Labels are kept until the drawing is closed. */
void plot_grid(struct plot *plot);
void plot_line(struct plot *plot, const double *x, const double *y, size_t count, const char *color, bool filled, bool dashed);
void plot_band(struct plot *plot, double from, double to, const char *title);
void plot_bar(struct plot *plot, double from, double to, double low, double high, const char *color, const char *title);
void plot_close(struct plot *plot);
void plot_label_y(struct plot *plot, const char *(*text)(double value));
void plot_label_seconds(struct plot *plot);
void plot_label_x(struct plot *plot, double x, const char *text, const char *extra_class);
void plot_end(struct plot *plot);

#endif
