/* See report.h. Owns the context function; entered by any thread. */
#include "base/report.h"

#include "base/atomic.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* W: cx_report_set_context, release. R: any thread that fails, acquire. */
static cx_aptr report_context;

void cx_report_set_context(cx_report_context describe)
{
    union {
        cx_report_context function;
        void *pointer;
    } cast = {.function = describe};
    cx_aptr_store_release(&report_context, cast.pointer);
}

/* The length of what snprintf wrote, never past the room it had. */
static size_t report_clamp(int written, size_t room)
{
    if (written < 0) return 0;
    return (size_t)written < room ? (size_t)written : room - 1;
}

void cx_report_write(const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        ssize_t wrote = write(STDERR_FILENO, text + at, length - at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) break;
        at += (size_t)wrote;
    }
}

void cx_fatal(const char *format, ...)
{
    char line[1024];
    size_t used = report_clamp(snprintf(line, sizeof line, "coexgc: "), sizeof line);
    va_list arguments;
    va_start(arguments, format);
    used += report_clamp(vsnprintf(line + used, sizeof line - used - 1, format, arguments), sizeof line - used - 1);
    va_end(arguments);

    union {
        void *pointer;
        cx_report_context function;
    } cast = {.pointer = cx_aptr_load_acquire(&report_context)};
    if (cast.function != NULL) {
        char where[192] = "";
        cast.function(where, sizeof where);
        if (where[0] != '\0')
            used += report_clamp(snprintf(line + used, sizeof line - used - 1, " [%s]", where), sizeof line - used - 1);
    }
    line[used++] = '\n';
    cx_report_write(line, used);
    abort();
}
