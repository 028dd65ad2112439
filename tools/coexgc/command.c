/* What the commands have in common, and the command report. See coexgc.h. */
#include "coexgc.h"
#include "report.h"
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 4, 0))) static int command_complain(const struct command *command, int status, const char *tail,
                                                                  const char *format, va_list arguments)
{
    char message[1200];
    vsnprintf(message, sizeof message, format, arguments);
    fflush(stdout);
    fprintf(stderr, "coexgc %s: ", command->name);
    text_print(stderr, message, TEXT_WHOLE);
    fprintf(stderr, "%s\n", tail);
    return status;
}

int command_misuse(const struct command *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int status = command_complain(command, 2, " (see --help)", format, arguments);
    va_end(arguments);
    return status;
}

int command_fail(const struct command *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int status = command_complain(command, 1, "", format, arguments);
    va_end(arguments);
    return status;
}

void command_out_of_memory(size_t bytes)
{
    fprintf(stderr, "coexgc: no memory for %zu bytes\n", bytes);
    exit(1);
}

void *command_allocate(void *old, size_t bytes)
{
    void *piece = realloc(old, bytes == 0 ? 1 : bytes);
    if (piece == NULL) command_out_of_memory(bytes);
    return piece;
}

/* ------------------------------------------------------------------ report */

static int report_run(const struct command *command, int argc, char **argv)
{
    const char *trace = NULL, *page = "report.html";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "--output") == 0) {
            if (++i == argc) return command_misuse(command, "%s needs the name of a file", argv[i - 1]);
            page = argv[i];
        } else if (argv[i][0] == '-' && argv[i][1] != '\0') {
            return command_misuse(command, "there is no option '%s'", argv[i]);
        } else if (trace != NULL) {
            return command_misuse(command, "one trace at a time: '%s' is one too many", argv[i]);
        } else {
            trace = argv[i];
        }
    }
    if (trace == NULL) return command_misuse(command, "which trace?");
    char error[1024];
    if (!report_make(trace, page, error, sizeof error)) return command_fail(command, "%s", error);
    printf("%s\n", page);
    return 0;
}

const struct command command_report = {
    "report",
    "TRACE.json [-o REPORT.html]",
    "Make a page about an event trace",
    "TRACE.json is what a program wrote with COEX_GC=events=TRACE.json or coex_gc_trace_start; - is the standard\n"
    "input. The page is one file that needs nothing else: memory and cycles over time, how long threads stopped,\n"
    "how soon they answered, what survives, which types, how full the heap is.\n\n"
    "  -o, --output FILE   where the page goes (report.html)\n",
    report_run,
};
