/* The report: one page about a trace, with nothing from outside. The demo writes its page by the same functions. */
#ifndef COEXGC_REPORT_H
#define COEXGC_REPORT_H

#include "trace.h"

/* Reads a trace and writes the page. False, with one line in `error`: which file, and what about it. */
bool report_make(const char *trace_path, const char *page_path, char *error, size_t room);

void report_write(FILE *file, const struct trace *trace, const char *source);

/* Sections of report_memory.c: what lives, what dies, and how full the heap is. */
void report_survival(FILE *file, const struct trace *trace);
void report_types(FILE *file, const struct trace *trace);
void report_maps(FILE *file, const struct trace *trace);

/* Seconds that the charts show, a microsecond at least. */
double report_span(const struct trace *trace);
/* Of numbers in rising order: the smallest that `part` of them do not pass. */
double report_percentile(const double *sorted, size_t count, double part);
int report_compare(const void *a, const void *b);

#endif
