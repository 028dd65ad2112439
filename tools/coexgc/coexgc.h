/* The command coexgc: readers of what the collector writes.
 *
 *     main.c       the first word, --help, --version
 *     json.c       a pull parser: files of any size, a clear line for what is wrong with them
 *     trace.c      an event trace in memory
 *     page.c       numbers for people, text in HTML, the frame of a page
 *     plot.c       charts
 *     report.c     trace -> page
 *     snapshot.c   heap snapshot -> largest types and retainers
 *     layout.c     the ABI as text and JSON
 *     bench.c      how fast this machine allocates and collects
 *
 * Each command returns an exit status: 0, 1 for a file that can't be read or written, 2 for a command line that makes no sense. */
#ifndef COEXGC_H
#define COEXGC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command {
    const char *name;
    const char *usage;                                                /* what follows the name */
    const char *about;                                                /* one line */
    const char *help;                                                 /* the rest of --help */
    int (*run)(const struct command *command, int argc, char **argv); /* argv[0] is the command's name */
};

extern const struct command command_report, command_snapshot_top, command_layout, command_bench;

void command_print_help(const struct command *command);
/* One line on stderr, with the command's name; returns 2 (misuse) or 1 (a file). */
int command_misuse(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
int command_fail(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Memory, or the end of the program with one line. */
void *command_allocate(void *old, size_t bytes);

#endif
