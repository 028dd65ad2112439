/* See numerals.h. */
#include "numerals.h"

struct numerals numerals_enter(void)
{
    struct numerals numerals = {.plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)};
    if (numerals.plain != (locale_t)0) numerals.before = uselocale(numerals.plain);
    return numerals;
}

void numerals_leave(struct numerals numerals)
{
    if (numerals.plain == (locale_t)0) return;
    uselocale(numerals.before);
    freelocale(numerals.plain);
}
