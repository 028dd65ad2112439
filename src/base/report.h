/* How the library says that something is wrong: one line on stderr, then abort(). And assertions.
 *
 * Any thread, any state: it allocates nothing and takes no lock. */
#ifndef CX_BASE_REPORT_H
#define CX_BASE_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef COEX_GC_CHECKED
#define CX_CHECKED 1
#else
#define CX_CHECKED 0
#endif

/* Writes "coexgc: <message> [<context>]\n" in one write and aborts. */
_Noreturn void cx_fatal(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* Writes text to standard error as it is: no buffer, no lock. */
void cx_report_write(const char *text, size_t length);

/* Who describes where we are (thread, phase) in at most `room` bytes. Set once, at init; NULL: nobody. */
typedef void (*cx_report_context)(char *text, size_t room);
void cx_report_set_context(cx_report_context describe);

/* An invariant, with the tag it has in the design text. Checked in `checked` builds only. */
#define CX_CHECK(tag, condition)                                                                                                   \
    do {                                                                                                                           \
        if (CX_CHECKED && !(condition)) cx_fatal("%s broken: %s (%s:%d)", tag, #condition, __FILE__, __LINE__);                    \
    } while (0)

#define CX_LIKELY(x)   __builtin_expect(!!(x), 1)
#define CX_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
