/* See demo.h. The order of things: build the network, let the threads work on it while the monitor watches, stop them, look at
 * everything once more, tell. */
#include "demo.h"
#include "report.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void demo_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fputs("coex-demo: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

/* ---------------------------------------------------------------- options */

static void print_help(void)
{
    puts("usage: coex-demo [options]\n"
         "\n"
         "A small social network in memory: threads that build, share and drop, and a collector beside them that\n"
         "never stops them all. Prints what happened, and writes a page to look at.\n"
         "\n"
         "  --seconds N    how long the threads work (10)\n"
         "  --threads N    request handlers, beside three helpers (4)\n"
         "  --seed N       of the random numbers (1)\n"
         "  --report FILE  where the page goes (build/coex-demo-report.html, or here if there is no build folder)\n"
         "  --trace FILE   where the trace goes that it is made of (beside it, as coex-demo-trace.json)\n"
         "  --help         this\n"
         "\n"
         "COEX_GC tunes the collector, for example COEX_GC=percent=50,trace=1.");
}

static double read_number(const char *name, const char *text, double least, double most, bool whole)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    bool good = end != text && *end == '\0' && errno == 0 && value >= least && value <= most;
    if (!good || (whole && value != (double)(uint64_t)value))
        demo_fail("%s takes a %s from %g to %g, not '%s' (see --help)", name, whole ? "whole number" : "number", least, most, text);
    return value;
}

static void set_path(char *place, size_t room, const char *option, const char *path)
{
    int length = snprintf(place, room, "%s", path);
    if (length == 0 || (size_t)length >= room) demo_fail("%s takes the name of a file (see --help)", option);
}

/* The trace goes where the page goes, unless it is said where. */
static void set_paths(struct demo_options *options, const char *report, const char *trace)
{
    char beside[sizeof options->trace];
    const char *slash = strrchr(report, '/');
    set_path(options->report, sizeof options->report, "--report", report);
    snprintf(beside, sizeof beside, "%.*scoex-demo-trace.json", slash != NULL ? (int)(slash - report) + 1 : 0, report);
    set_path(options->trace, sizeof options->trace, "--trace", trace != NULL ? trace : beside);
}

void demo_options_read(struct demo_options *options, int argc, char **argv)
{
    static const struct option known[] = {
        {"seconds", required_argument, NULL, 's'},
        {"threads", required_argument, NULL, 't'},
        {"seed", required_argument, NULL, 'r'},
        {"report", required_argument, NULL, 'o'},
        {"trace", required_argument, NULL, 'e'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct stat build;
    *options = (struct demo_options){.seconds = 10, .threads = 4, .seed = 1};
    bool has_build = stat("build", &build) == 0 && S_ISDIR(build.st_mode);
    const char *report = has_build ? "build/coex-demo-report.html" : "coex-demo-report.html", *trace = NULL;
    opterr = 0; /* our own words */
    for (int option; (option = getopt_long(argc, argv, ":", known, NULL)) != -1;) {
        switch (option) {
        case 's':
            options->seconds = read_number("--seconds", optarg, 0.1, 86400, false);
            break;
        case 't':
            options->threads = (unsigned)read_number("--threads", optarg, 1, 256, true);
            break;
        case 'r':
            options->seed = (uint64_t)read_number("--seed", optarg, 0, 9007199254740992.0, true);
            break;
        case 'o':
            report = optarg;
            break;
        case 'e':
            trace = optarg;
            break;
        case 'h':
            print_help();
            exit(0);
        case ':':
            demo_fail("%s needs a value (see --help)", argv[optind - 1]);
        default:
            demo_fail("there is no option '%s' (see --help)", argv[optind - 1]);
        }
    }
    if (optind < argc) demo_fail("'%s' is one word too many (see --help)", argv[optind]);
    set_paths(options, report, trace);
}

/* ------------------------------------------------------------------- main */

/* Before anything else: ten seconds of work for a page that can't be written would be a pity. */
static void check_report(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) demo_fail("can't write the report to %s: %s", path, strerror(errno));
    fclose(file);
}

/* The trace, and the page that is made of it. */
static void write_page(const struct demo_options *options)
{
    char error[1024];
    if (coex_gc_trace_stop() != COEX_GC_OK) demo_fail("%s", coex_gc_error_detail());
    if (!report_make(options->trace, options->report, error, sizeof error)) demo_fail("%s", error);
    printf("\nThe same as a page to look at:      %s\n"
           "The trace, for Perfetto for example: %s\n",
           options->report, options->trace);
}

int main(int argc, char **argv)
{
    struct demo_options options;
    demo_options_read(&options, argc, argv);
    check_report(options.report);
    coex_gc_init();
    if (coex_gc_trace_start(options.trace) != COEX_GC_OK) demo_fail("%s", coex_gc_error_detail());
    summary_header(&options);
    network_create(options.seed);

    static struct demo_tally tally;
    struct monitor monitor;
    struct demo_workers *workers = workers_start(&options);
    if (workers == NULL) demo_fail("no thread could be started");
    monitor_begin(&monitor);
    coex_gc_enter_native();
    monitor_watch(&monitor, options.seconds, workers);
    double seconds = (double)(demo_now_ns() - monitor.began_ns) / 1e9;
    workers_stop(workers);
    coex_gc_leave_native();

    struct demo_result result = {.options = &options, .monitor = &monitor, .tally = &tally, .seconds = seconds};
    coex_gc_get_stats(&result.stats);
    workers_tally(workers, &tally);
    result.audit = network_audit(&tally, demo_get(&tally.posted), demo_get(&tally.trimmed));
    result.faults = coex_gc_validate_heap();
    summary_print(&result);
    write_page(&options);

    bool right = demo_get(&tally.wrong) == 0 && result.faults == 0;
    workers_free(workers);
    monitor_end(&monitor);
    network_destroy();
    coex_gc_shutdown();
    return right ? 0 : 1;
}
