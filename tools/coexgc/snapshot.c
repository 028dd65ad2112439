/* snapshot-top: the largest types of a heap snapshot (.heapsnapshot, as Chrome's developer tools have it), and the objects that hold most.
 *
 * What an object retains is what would go with it: the sizes of all that it dominates. Weak references hold nothing. */
#include "coexgc.h"
#include "dominators.h"
#include "json.h"
#include "page.h"

#include <stdlib.h>
#include <string.h>

enum { SNAPSHOT_FIELDS = 16 };

/* Positions of the fields that are of interest in a row of nodes or edges. */
struct snapshot_row {
    int fields;
    char name[SNAPSHOT_FIELDS][24];
};

struct snapshot {
    struct snapshot_row node_row, edge_row;
    char edge_type[SNAPSHOT_FIELDS][24];
    int edge_types;
    double *nodes, *edges;
    size_t node_numbers, edge_numbers;
    char **strings;
    size_t string_count;
    /* made of them */
    uint32_t count;
    uint64_t *first;
    uint32_t *to;
    double *self, *retained;
    uint32_t *name; /* index of the string */
    uint32_t *dominator;
    uint32_t *order;
    uint32_t reached;
};

/* ----------------------------------------------------------------- reading */

static bool snapshot_read_names(struct json_reader *reader, char list[SNAPSHOT_FIELDS][24], int *count)
{
    enum json_token token;
    *count = 0;
    while ((token = json_next(reader)) != JSON_ARRAY_END) {
        if (token == JSON_STRING && *count < SNAPSHOT_FIELDS)
            snprintf(list[(*count)++], 24, "%.23s", reader->text);
        else if (!json_skip(reader, token))
            return false;
    }
    return true;
}

/* [[...names of the types...], "string_or_number", "node"]: the first element is of interest. */
static bool snapshot_read_edge_types(struct snapshot *snapshot, struct json_reader *reader)
{
    enum json_token token = json_next(reader);
    if (token == JSON_ARRAY && !snapshot_read_names(reader, snapshot->edge_type, &snapshot->edge_types)) return false;
    if (token != JSON_ARRAY && token != JSON_ARRAY_END && !json_skip(reader, token)) return false;
    while (token != JSON_ARRAY_END) {
        token = json_next(reader);
        if (token == JSON_ERROR || (token != JSON_ARRAY_END && !json_skip(reader, token))) return false;
    }
    return true;
}

static bool snapshot_read_meta(struct snapshot *snapshot, struct json_reader *reader)
{
    enum json_token token;
    while ((token = json_next(reader)) == JSON_KEY) {
        char key[24];
        snprintf(key, sizeof key, "%.23s", reader->text);
        token = json_next(reader);
        bool good = token == JSON_ARRAY && strcmp(key, "node_fields") == 0
                        ? snapshot_read_names(reader, snapshot->node_row.name, &snapshot->node_row.fields)
                    : token == JSON_ARRAY && strcmp(key, "edge_fields") == 0
                        ? snapshot_read_names(reader, snapshot->edge_row.name, &snapshot->edge_row.fields)
                    : token == JSON_ARRAY && strcmp(key, "edge_types") == 0 ? snapshot_read_edge_types(snapshot, reader)
                                                                            : json_skip(reader, token);
        if (!good) return false;
    }
    return token == JSON_OBJECT_END;
}

static bool snapshot_read_head(struct snapshot *snapshot, struct json_reader *reader)
{
    enum json_token token;
    while ((token = json_next(reader)) == JSON_KEY) {
        bool meta = strcmp(reader->text, "meta") == 0;
        token = json_next(reader);
        if (!(meta && token == JSON_OBJECT ? snapshot_read_meta(snapshot, reader) : json_skip(reader, token))) return false;
    }
    return token == JSON_OBJECT_END;
}

static bool snapshot_read_numbers(struct json_reader *reader, double **numbers, size_t *count)
{
    size_t room = 0;
    enum json_token token;
    while ((token = json_next(reader)) == JSON_NUMBER) {
        if (*count == room) {
            room = room == 0 ? 4096 : room * 2;
            *numbers = command_allocate(*numbers, room * sizeof **numbers);
        }
        (*numbers)[(*count)++] = reader->number;
    }
    return token == JSON_ARRAY_END || (token != JSON_ERROR && json_refuse(reader, "a number is missing here") != JSON_ERROR);
}

static bool snapshot_read_strings(struct snapshot *snapshot, struct json_reader *reader)
{
    size_t room = 0;
    enum json_token token;
    while ((token = json_next(reader)) == JSON_STRING) {
        if (snapshot->string_count == room) {
            room = room == 0 ? 256 : room * 2;
            snapshot->strings = command_allocate(snapshot->strings, room * sizeof *snapshot->strings);
        }
        char *copy = command_allocate(NULL, reader->text_length + 1);
        memcpy(copy, reader->text, reader->text_length + 1);
        snapshot->strings[snapshot->string_count++] = copy;
    }
    return token == JSON_ARRAY_END || (token != JSON_ERROR && json_refuse(reader, "a text is missing here") != JSON_ERROR);
}

static bool snapshot_read_part(struct snapshot *snapshot, struct json_reader *reader)
{
    char key[24];
    snprintf(key, sizeof key, "%.23s", reader->text);
    enum json_token token = json_next(reader);
    if (token == JSON_OBJECT && strcmp(key, "snapshot") == 0) return snapshot_read_head(snapshot, reader);
    if (token == JSON_ARRAY && strcmp(key, "nodes") == 0)
        return snapshot_read_numbers(reader, &snapshot->nodes, &snapshot->node_numbers);
    if (token == JSON_ARRAY && strcmp(key, "edges") == 0)
        return snapshot_read_numbers(reader, &snapshot->edges, &snapshot->edge_numbers);
    if (token == JSON_ARRAY && strcmp(key, "strings") == 0) return snapshot_read_strings(snapshot, reader);
    return json_skip(reader, token);
}

static bool snapshot_read(struct snapshot *snapshot, struct json_reader *reader)
{
    enum json_token token = json_next(reader);
    if (token != JSON_OBJECT)
        return token != JSON_ERROR && json_refuse(reader, "this is not a heap snapshot: no object") != JSON_ERROR;
    while ((token = json_next(reader)) == JSON_KEY) {
        if (!snapshot_read_part(snapshot, reader)) return false;
    }
    if (token != JSON_OBJECT_END || json_next(reader) != JSON_END) return false;
    if (snapshot->node_row.fields == 0 || snapshot->edge_row.fields == 0)
        return json_refuse(reader, "this is not a heap snapshot: it does not describe nodes and edges") != JSON_ERROR;
    return true;
}

/* --------------------------------------------------------------- the graph */

static int snapshot_field(const struct snapshot_row *row, const char *name)
{
    for (int i = 0; i < row->fields; i++) {
        if (strcmp(row->name[i], name) == 0) return i;
    }
    return -1;
}

static bool snapshot_is_index(double value, size_t below)
{
    return value >= 0 && value < (double)below && value == (double)(size_t)value;
}

static bool snapshot_make_nodes(struct snapshot *snapshot, struct json_reader *reader)
{
    int name = snapshot_field(&snapshot->node_row, "name"), size = snapshot_field(&snapshot->node_row, "self_size");
    int edges = snapshot_field(&snapshot->node_row, "edge_count");
    size_t width = (size_t)snapshot->node_row.fields, count = snapshot->node_numbers / width;
    if (name < 0 || size < 0 || edges < 0 || snapshot->node_numbers % width != 0 || count == 0 || count > UINT32_MAX - 2)
        return json_refuse(reader, "the nodes do not fit their description") != JSON_ERROR;
    snapshot->count = (uint32_t)count;
    snapshot->first = command_allocate(NULL, (count + 1) * sizeof *snapshot->first);
    snapshot->self = command_allocate(NULL, count * sizeof *snapshot->self);
    snapshot->name = command_allocate(NULL, count * sizeof *snapshot->name);
    snapshot->first[0] = 0;
    for (size_t i = 0; i < count; i++) {
        const double *row = &snapshot->nodes[i * width];
        if (!snapshot_is_index(row[name], snapshot->string_count) || !(row[size] >= 0) || !(row[edges] >= 0) || row[edges] > 1e12)
            return json_refuse(reader, "node %zu makes no sense", i) != JSON_ERROR;
        snapshot->name[i] = (uint32_t)row[name];
        snapshot->self[i] = row[size];
        snapshot->first[i + 1] = snapshot->first[i] + (uint64_t)row[edges];
    }
    return true;
}

/* Weak edges become edges to the node itself, which change nothing. */
static bool snapshot_make_edges(struct snapshot *snapshot, struct json_reader *reader)
{
    int type = snapshot_field(&snapshot->edge_row, "type"), to = snapshot_field(&snapshot->edge_row, "to_node");
    size_t width = (size_t)snapshot->edge_row.fields, step = (size_t)snapshot->node_row.fields;
    size_t count = snapshot->edge_numbers / width;
    if (to < 0 || snapshot->edge_numbers % width != 0 || count != snapshot->first[snapshot->count])
        return json_refuse(reader, "the edges do not fit the nodes: the file is not complete") != JSON_ERROR;
    snapshot->to = command_allocate(NULL, (count + 1) * sizeof *snapshot->to);
    for (uint32_t node = 0; node < snapshot->count; node++) {
        for (uint64_t e = snapshot->first[node]; e < snapshot->first[node + 1]; e++) {
            const double *row = &snapshot->edges[e * width];
            if (!snapshot_is_index(row[to], snapshot->node_numbers) || (size_t)row[to] % step != 0)
                return json_refuse(reader, "edge %llu leads nowhere", (unsigned long long)e) != JSON_ERROR;
            bool weak = type >= 0 && snapshot_is_index(row[type], (size_t)snapshot->edge_types) &&
                        strcmp(snapshot->edge_type[(int)row[type]], "weak") == 0;
            snapshot->to[e] = weak ? node : (uint32_t)((size_t)row[to] / step);
        }
    }
    return true;
}

static void snapshot_retain(struct snapshot *snapshot)
{
    size_t count = snapshot->count;
    struct graph graph = {snapshot->count, snapshot->first, snapshot->to};
    snapshot->dominator = command_allocate(NULL, count * sizeof *snapshot->dominator);
    snapshot->order = command_allocate(NULL, count * sizeof *snapshot->order);
    snapshot->retained = command_allocate(NULL, count * sizeof *snapshot->retained);
    snapshot->reached = dominators_find(&graph, snapshot->dominator, snapshot->order);
    memcpy(snapshot->retained, snapshot->self, count * sizeof *snapshot->retained);
    for (uint32_t i = snapshot->reached; i-- > 1;) {
        uint32_t node = snapshot->order[i];
        snapshot->retained[snapshot->dominator[node]] += snapshot->retained[node];
    }
}

/* ---------------------------------------------------------------- printing */

struct snapshot_type {
    uint32_t name;
    double objects, self, retained;
};

static int snapshot_compare_types(const void *a, const void *b)
{
    const struct snapshot_type *left = a, *right = b;
    return left->self < right->self         ? 1
           : left->self > right->self       ? -1
           : left->objects < right->objects ? 1
           : left->objects > right->objects ? -1
                                            : 0;
}

/* Is a dominator of this node, not counting itself, of the same type? Looked up from the dominator's own answer where that is of the type. */
static bool snapshot_is_below_its_like(const struct snapshot *snapshot, uint32_t node)
{
    uint32_t above = snapshot->dominator[node];
    for (int steps = 0; above != DOMINATORS_NONE && steps < 64; above = snapshot->dominator[above], steps++) {
        if (snapshot->name[above] == snapshot->name[node]) return true;
    }
    return false;
}

static void snapshot_print_types(const struct snapshot *snapshot, size_t rows)
{
    struct snapshot_type *types = command_allocate(NULL, snapshot->string_count * sizeof *types);
    double all = 0;
    for (size_t i = 0; i < snapshot->string_count; i++) types[i] = (struct snapshot_type){.name = (uint32_t)i};
    for (uint32_t i = 0; i < snapshot->count; i++) {
        struct snapshot_type *type = &types[snapshot->name[i]];
        type->objects++;
        type->self += snapshot->self[i];
        all += snapshot->self[i];
    }
    for (uint32_t i = 0; i < snapshot->reached; i++) {
        uint32_t node = snapshot->order[i];
        if (!snapshot_is_below_its_like(snapshot, node)) types[snapshot->name[node]].retained += snapshot->retained[node];
    }
    qsort(types, snapshot->string_count, sizeof *types, snapshot_compare_types);
    printf("\nLargest types\n%12s %12s %6s %12s  %s\n", "objects", "bytes", "part", "retained", "type");
    for (size_t i = 0; i < snapshot->string_count && i < rows && types[i].objects > 0; i++) {
        if (types[i].self <= 0) continue;
        printf("%12s %12.0f %5.1f%% %12.0f  %.60s\n", page_whole(types[i].objects), types[i].self,
               all > 0 ? types[i].self * 100 / all : 0, types[i].retained, snapshot->strings[types[i].name]);
    }
    free(types);
}

static const struct snapshot *snapshot_sorted; /* for the comparison below */

static int snapshot_compare_retained(const void *a, const void *b)
{
    double left = snapshot_sorted->retained[*(const uint32_t *)a], right = snapshot_sorted->retained[*(const uint32_t *)b];
    return left < right ? 1 : left > right ? -1 : 0;
}

/* The way up through the dominators, the nearest first. */
static void snapshot_print_way(const struct snapshot *snapshot, uint32_t node)
{
    uint32_t above = snapshot->dominator[node];
    for (int steps = 0; above != DOMINATORS_NONE && above != 0 && steps < 4; above = snapshot->dominator[above], steps++)
        printf(" <- %.40s", snapshot->strings[snapshot->name[above]]);
    if (above != DOMINATORS_NONE && above != 0) fputs(" <- ...", stdout);
    putchar('\n');
}

/* Of a chain of objects of one type, a list for example, only the first is told. */
static void snapshot_print_retainers(const struct snapshot *snapshot, size_t rows)
{
    int id = snapshot_field(&snapshot->node_row, "id");
    uint32_t *nodes = command_allocate(NULL, ((size_t)snapshot->reached + 1) * sizeof *nodes);
    memcpy(nodes, snapshot->order, snapshot->reached * sizeof *nodes);
    snapshot_sorted = snapshot;
    qsort(nodes, snapshot->reached, sizeof *nodes, snapshot_compare_retained);
    printf("\nLargest retainers\n%12s %10s %10s  %s\n", "retained", "self", "id", "object <- what alone holds it");
    size_t printed = 0;
    for (uint32_t i = 0; i < snapshot->reached && printed < rows; i++) {
        uint32_t node = nodes[i], above = snapshot->dominator[node];
        if (node == 0 || (above != DOMINATORS_NONE && snapshot->name[above] == snapshot->name[node])) continue;
        printf("%12.0f %10.0f %10.0f  %.60s", snapshot->retained[node], snapshot->self[node],
               id >= 0 ? snapshot->nodes[(size_t)node * (size_t)snapshot->node_row.fields + (size_t)id] : (double)node,
               snapshot->strings[snapshot->name[node]]);
        snapshot_print_way(snapshot, node);
        printed++;
    }
    free(nodes);
}

static void snapshot_print(const struct snapshot *snapshot, const char *name, size_t rows)
{
    double bytes = 0, unreached = 0;
    for (uint32_t i = 0; i < snapshot->count; i++) bytes += snapshot->self[i];
    unreached = (double)(snapshot->count - snapshot->reached);
    printf("%s: %s nodes, %s references, %s bytes\n", name, page_whole(snapshot->count),
           page_whole((double)snapshot->first[snapshot->count]), page_whole(bytes));
    if (unreached > 0) printf("%s nodes are held by nothing but weak references\n", page_whole(unreached));
    snapshot_print_types(snapshot, rows);
    snapshot_print_retainers(snapshot, rows);
}

static void snapshot_free(struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->string_count; i++) free(snapshot->strings[i]);
    void *const pieces[] = {snapshot->nodes, snapshot->edges, snapshot->strings,  snapshot->first,     snapshot->to,
                            snapshot->self,  snapshot->name,  snapshot->retained, snapshot->dominator, snapshot->order};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) free(pieces[i]);
}

static int snapshot_top(const struct command *command, const char *name, size_t rows)
{
    struct json_reader *reader = command_allocate(NULL, sizeof *reader);
    struct snapshot snapshot = {0};
    bool good = json_open(reader, name) && snapshot_read(&snapshot, reader) && snapshot_make_nodes(&snapshot, reader) &&
                snapshot_make_edges(&snapshot, reader);
    int status = 0;
    if (good) {
        snapshot_retain(&snapshot);
        snapshot_print(&snapshot, name, rows);
    } else {
        status = command_fail(command, "%s", reader->error);
    }
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
