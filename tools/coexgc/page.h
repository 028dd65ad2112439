/* Pages: numbers for people, text in HTML, and the frame with its style, for light and dark, laptop and phone. */
#ifndef COEXGC_PAGE_H
#define COEXGC_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* 12.3 k, 45.6 MB, 7.89 ms, 12 %: each call has a place of its own, for some calls. Any double has a short text. */
const char *page_count(double value);
const char *page_bytes(double bytes);
const char *page_time(double seconds);
const char *page_percent(double part);
const char *page_whole(double value); /* 1,234,567 */

void page_begin(FILE *file, const char *title);
void page_end(FILE *file);
/* A section with a heading and a sentence under it. `id` is for links and tests. */
void page_open_section(FILE *file, const char *id, const char *title, const char *about);
void page_close_section(FILE *file);
/* One of the large numbers at the top. */
void page_card(FILE *file, const char *what, const char *value, const char *note);

#endif
