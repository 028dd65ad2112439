/* See output.h. */
#include "diag/output.h"

#include "base/lock.h"
#include "base/os.h"
#include "gc/lock_rank.h"

#include <coex/gc_diag.h>
#include <stdarg.h>
#include <stdio.h>

/* The stream outlives runtimes: it may be set before init. */
static cx_mutex output_lock = CX_MUTEX_INITIALIZER(CX_RANK_OUTPUT);
static FILE *output_stream; /* under the lock; NULL: stderr */

void coex_gc_set_output(FILE *stream)
{
    cx_mutex_lock(&output_lock);
    output_stream = stream;
    cx_mutex_unlock(&output_lock);
}

static int output_cancellation; /* under the lock: how it was before */

static FILE *output_now(void) { return output_stream != NULL ? output_stream : stderr; }

void cx_output_begin(void)
{
    int before = cx_os_hold_cancellation();
    cx_mutex_lock(&output_lock);
    output_cancellation = before;
}

void cx_output_write(const char *text, size_t length) { fwrite(text, 1, length, output_now()); }

void cx_output_end(void)
{
    int before = output_cancellation;
    fflush(output_now());
    cx_mutex_unlock(&output_lock);
    cx_os_allow_cancellation(before);
}

void cx_output_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    cx_output_begin();
    void *locale = cx_os_enter_c_locale();
    vfprintf(output_now(), format, arguments);
    cx_os_leave_locale(locale);
    cx_output_end();
    va_end(arguments);
}

void cx_output_fork_lock(void) { cx_mutex_lock(&output_lock); }
void cx_output_fork_unlock(void) { cx_mutex_unlock(&output_lock); }
