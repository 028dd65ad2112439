/* The command coexgc: readers of what the collector writes.
 *
 *     main.c       the first word, --help, --version
 *     json.c       a pull parser: files of any size, a clear line for what is wrong with them
 *     trace.c      an event trace in memory
 *     text.c       names for people: nothing in them reaches the terminal or a page as more than text
 *     numerals.c   the locale in which numbers are read and written
 *     page.c       numbers for people, the frame of a page
 *     plot.c       charts
 *     report.c     trace -> page
 *     snapshot.c   a heap snapshot in memory, and what each object retains (dominators.c)
 *     snapshot_top.c   snapshot -> largest types and retainers
 *     layout.c     the ABI as text and JSON
 *     bench.c      how fast this machine allocates and collects
 *
 * Each command returns an exit status: 0, 1 for a file that can't be read or written, 2 for a command line that makes no sense.
 *
 * Files are not trusted. A reader takes any bytes in a time and with memory that are proportional to them, and either makes what it was
 * asked for or refuses the file with one line: name, place, what is wrong. tests/fuzz holds it to that. */
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
/* Write one line to stderr, with the command's name and every character of the message visible (text.h); return 2 (misuse) or 1 (a
 * file). */
int command_misuse(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
int command_fail(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns memory. Ends the program with one line and status 1 if there is none. */
void *command_allocate(void *old, size_t bytes);
_Noreturn void command_out_of_memory(size_t bytes);

#endif
