/* Numbers are read and written as in the locale "C", whatever the process has set: a comma for a point would make files that no viewer
 * reads, and would cut the numbers that are read. Every entry point that reads or writes numbers is between these two. */
#ifndef COEXGC_NUMERALS_H
#define COEXGC_NUMERALS_H

#include <locale.h>

struct numerals {
    locale_t plain, before;
};

struct numerals numerals_enter(void);
void numerals_leave(struct numerals numerals);

#endif
