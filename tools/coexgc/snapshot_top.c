/* snapshot-top: the largest types of a heap snapshot, and the objects that hold most. */
#include "coexgc.h"
#include "dominators.h"
#include "numerals.h"
#include "page.h"
#include "snapshot.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

enum { SNAPSHOT_NAME = 60, SNAPSHOT_NAME_ABOVE = 40 }; /* characters of a name that are shown */

static int snapshot_compare_types(const void *a, const void *b)
{
    const struct snapshot_type *left = a, *right = b;
    return left->self < right->self         ? 1
           : left->self > right->self       ? -1
           : left->objects < right->objects ? 1
           : left->objects > right->objects ? -1
                                            : 0;
}

static void snapshot_print_type(FILE *file, const struct snapshot *snapshot, const struct snapshot_type *type, double all)
{
    fprintf(file, "%12s %12.0f %5.1f%% %12.0f  ", page_whole(type->objects), type->self, all > 0 ? type->self * 100 / all : 0,
            type->retained);
    text_print(file, snapshot->strings[type->name], SNAPSHOT_NAME);
    fputc('\n', file);
}

static void snapshot_print_types(FILE *file, const struct snapshot *snapshot, size_t rows)
{
    size_t bytes = snapshot->string_count * sizeof(struct snapshot_type);
    struct snapshot_type *types = command_allocate(NULL, bytes);
    double all = 0;
    memcpy(types, snapshot->type, bytes);
    for (uint32_t i = 0; i < snapshot->count; i++) all += snapshot->self[i];
    qsort(types, snapshot->string_count, sizeof *types, snapshot_compare_types);
    fprintf(file, "\nLargest types\n%12s %12s %6s %12s  %s\n", "objects", "bytes", "part", "retained", "type");
    for (size_t i = 0; i < snapshot->string_count && i < rows && types[i].self > 0; i++)
        snapshot_print_type(file, snapshot, &types[i], all);
    free(types);
}

static const struct snapshot *snapshot_sorted; /* for the comparison below */

static int snapshot_compare_retained(const void *a, const void *b)
{
    double left = snapshot_sorted->retained[*(const uint32_t *)a], right = snapshot_sorted->retained[*(const uint32_t *)b];
    return left < right ? 1 : left > right ? -1 : 0;
}

/* The way up through the dominators, the nearest first. */
static void snapshot_print_way(FILE *file, const struct snapshot *snapshot, uint32_t node)
{
    uint32_t above = snapshot->dominator[node];
    for (int steps = 0; above != DOMINATORS_NONE && above != 0 && steps < 4; above = snapshot->dominator[above], steps++) {
        fputs(" <- ", file);
        text_print(file, snapshot->strings[snapshot->name[above]], SNAPSHOT_NAME_ABOVE);
    }
    fputs(above != DOMINATORS_NONE && above != 0 ? " <- ...\n" : "\n", file);
}

static void snapshot_print_retainer(FILE *file, const struct snapshot *snapshot, uint32_t node)
{
    fprintf(file, "%12.0f %10.0f %10.0f  ", snapshot->retained[node], snapshot->self[node], snapshot->id[node]);
    text_print(file, snapshot->strings[snapshot->name[node]], SNAPSHOT_NAME);
    snapshot_print_way(file, snapshot, node);
}

/* Of a chain of objects of one type, a list for example, only the first is told. */
static void snapshot_print_retainers(FILE *file, const struct snapshot *snapshot, size_t rows)
{
    uint32_t *nodes = command_allocate(NULL, ((size_t)snapshot->reached + 1) * sizeof *nodes);
    memcpy(nodes, snapshot->order, snapshot->reached * sizeof *nodes);
    snapshot_sorted = snapshot;
    qsort(nodes, snapshot->reached, sizeof *nodes, snapshot_compare_retained);
    fprintf(file, "\nLargest retainers\n%12s %10s %10s  %s\n", "retained", "self", "id", "object <- what alone holds it");
    size_t printed = 0;
    for (uint32_t i = 0; i < snapshot->reached && printed < rows; i++) {
        uint32_t node = nodes[i], above = snapshot->dominator[node];
        if (node == 0 || (above != DOMINATORS_NONE && snapshot->name[above] == snapshot->name[node])) continue;
        snapshot_print_retainer(file, snapshot, node);
        printed++;
    }
    free(nodes);
}

void snapshot_print(FILE *file, const struct snapshot *snapshot, const char *source, size_t rows)
{
    struct numerals numerals = numerals_enter();
    double bytes = 0, unreached = (double)(snapshot->count - snapshot->reached);
    for (uint32_t i = 0; i < snapshot->count; i++) bytes += snapshot->self[i];
    text_print(file, source, TEXT_WHOLE);
    fprintf(file, ": %s nodes, %s references, %s bytes\n", page_whole(snapshot->count),
            page_whole((double)snapshot->first[snapshot->count]), page_whole(bytes));
    if (unreached > 0) fprintf(file, "%s nodes are held by nothing but weak references\n", page_whole(unreached));
    snapshot_print_types(file, snapshot, rows);
    snapshot_print_retainers(file, snapshot, rows);
    numerals_leave(numerals);
}

static int snapshot_top(const struct command *command, const char *name, size_t rows)
{
    struct json_reader *reader = command_allocate(NULL, sizeof *reader);
    struct snapshot snapshot = {0};
    bool good = json_open(reader, name) && snapshot_load(&snapshot, reader);
    if (good) snapshot_print(stdout, &snapshot, name, rows);
    int status = good ? 0 : command_fail(command, "%s", reader->error);
    json_close(reader);
    free(reader);
    snapshot_free(&snapshot);
    return status;
}

static int snapshot_run(const struct command *command, int argc, char **argv)
{
    const char *name = NULL;
    unsigned long rows = 20;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-n") == 0) {
            char *end = argv[i];
            if (++i < argc) rows = strtoul(argv[i], &end, 10);
            if (i == argc || *end != '\0' || end == argv[i] || rows == 0 || rows > 1000000)
                return command_misuse(command, "-n takes a number from 1 to 1000000");
        } else if (argv[i][0] == '-' && argv[i][1] != '\0') {
            return command_misuse(command, "there is no option '%s'", argv[i]);
        } else if (name != NULL) {
            return command_misuse(command, "one snapshot at a time: '%s' is one too many", argv[i]);
        } else {
            name = argv[i];
        }
    }
    return name != NULL ? snapshot_top(command, name, rows) : command_misuse(command, "which snapshot?");
}

const struct command command_snapshot_top = {
    "snapshot-top",
    "FILE.heapsnapshot [-n ROWS]",
    "Print the largest types of a heap snapshot, and what holds most",
    "FILE.heapsnapshot is what coex_gc_write_heap_snapshot writes, or any other snapshot that Chrome's developer\n"
    "tools open; - is the standard input. What a type or an object retains is what would go with it: all that is\n"
    "reached through it alone. Weak references hold nothing.\n\n"
    "  -n ROWS   of each table (20)\n",
    snapshot_run,
};
