/* See error.h. Thread-local; no sharing. */
#include "gc/error.h"

#include <coex/gc.h>
#include <stdarg.h>
#include <stdio.h>

static __thread struct {
    int code;
    char detail[200];
} error_last;

int cx_error_set(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error_last.code = code;
    vsnprintf(error_last.detail, sizeof error_last.detail, format, arguments);
    va_end(arguments);
    return code;
}

void cx_error_clear(void)
{
    error_last.code = COEX_GC_OK;
    error_last.detail[0] = '\0';
}

int cx_error_code(void) { return error_last.code; }
const char *cx_error_detail(void) { return error_last.detail; }

const char *cx_error_string(int code)
{
    switch (code) {
    case COEX_GC_OK:
        return "no error";
    case COEX_GC_EINVAL:
        return "invalid argument, configuration value or file";
    case COEX_GC_EOPTION:
        return "invalid option in COEX_GC or COEX_GC_DEBUG";
    case COEX_GC_ENOMEM:
        return "out of memory or address space";
    case COEX_GC_ETHREAD:
        return "a thread could not be started or registered";
    case COEX_GC_EALREADY:
        return "already initialised or started";
    case COEX_GC_ETYPE:
        return "invalid type descriptor";
    case COEX_GC_ELIMIT:
        return "a limit is reached";
    case COEX_GC_ESTATE:
        return "not initialised or not started";
    case COEX_GC_ESYSTEM:
        return "the operating system refused a call";
    default:
        return "unknown error";
    }
}
