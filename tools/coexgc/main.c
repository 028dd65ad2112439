/* The first word. See coexgc.h. */
#include "coexgc.h"
#include "text.h"

#include <coex/gc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {&command_report, &command_snapshot_top, &command_layout, &command_bench};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(void)
{
    puts("usage: coexgc <command> [options]\n\n"
         "Looks at what programs that use the Coex collector have written.\n");
    for (int i = 0; i < COMMANDS; i++) printf("  %-13s %s\n", commands[i]->name, commands[i]->about);
    puts("  version       print the version\n"
         "  help          this, or the help of a command\n\n"
         "`coexgc <command> --help` says more.");
}

void command_print_help(const struct command *command)
{
    printf("usage: coexgc %s %s\n\n%s.\n\n%s", command->name, command->usage, command->about, command->help);
}

static const struct command *find(const char *name)
{
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    }
    return NULL;
}

static int print_version(void)
{
    printf("coexgc %s\n", coex_gc_version());
    return 0;
}

static int help_for(const char *name)
{
    const struct command *command = name != NULL ? find(name) : NULL;
    if (command != NULL)
        command_print_help(command);
    else
        print_help();
    return 0;
}

static void refuse(const char *word)
{
    fputs("coexgc: there is no command '", stderr);
    text_print(stderr, word, TEXT_WHOLE);
    fputs("' (see coexgc --help)\n", stderr);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    const struct command *command = find(word);
    if (command != NULL) {
        for (int i = 2; i < argc; i++) {
            if (strcmp(argv[i], "--") == 0) break;
            if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return help_for(word);
        }
        int status = command->run(command, argc - 1, argv + 1);
        if (fflush(stdout) != 0 || ferror(stdout)) return command_fail(command, "can't write to the standard output");
        return status;
    }
    if (strcmp(word, "version") == 0 || strcmp(word, "--version") == 0) {
        if (argc > 2 && strcmp(argv[2], "--help") == 0) return puts("usage: coexgc version\n\nPrints the version.") < 0;
        return print_version();
    }
    if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return help_for(argc > 2 ? argv[2] : NULL);
    if (*word == '\0')
        print_help();
    else
        refuse(word);
    return 2;
}
