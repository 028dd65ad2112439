/* See snapshot.h. */
#include "snapshot.h"

#include "coexgc.h"
#include "dominators.h"
#include "numerals.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

#define SNAPSHOT_NUMBER_MOST 9007199254740992.0 /* 2^53: sizes and ids are whole numbers, and up to here doubles have all of them */

/* ----------------------------------------------------------------- reading */

static bool snapshot_read_names(struct json_reader *reader, char list[SNAPSHOT_FIELDS][24], int *count)
{
    enum json_token token;
    *count = 0;
    while ((token = json_next(reader)) != JSON_ARRAY_END) {
        if (token == JSON_STRING && *count < SNAPSHOT_FIELDS)
            text_copy(list[(*count)++], 24, reader->text);
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
        text_copy(key, sizeof key, reader->text);
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

/* A second list would be read behind the first one, and the file would say two things. */
static bool snapshot_read_once(struct json_reader *reader, bool *read, const char *what)
{
    if (*read) return json_refuse(reader, "\"%s\" is there more than once", what) != JSON_ERROR;
    *read = true;
    return true;
}

static bool snapshot_read_numbers(struct json_reader *reader, struct snapshot_numbers *numbers, const char *what)
{
    enum json_token token;
    if (!snapshot_read_once(reader, &numbers->read, what)) return false;
    while ((token = json_next(reader)) == JSON_NUMBER) {
        if (numbers->count == numbers->room) {
            numbers->room = numbers->room == 0 ? 1024 : numbers->room * 2;
            numbers->item = command_allocate(numbers->item, numbers->room * sizeof *numbers->item);
        }
        numbers->item[numbers->count++] = reader->number;
    }
    return token == JSON_ARRAY_END || (token != JSON_ERROR && json_refuse(reader, "a number is missing here") != JSON_ERROR);
}

static bool snapshot_read_strings(struct snapshot *snapshot, struct json_reader *reader)
{
    enum json_token token;
    if (!snapshot_read_once(reader, &snapshot->strings_read, "strings")) return false;
    while ((token = json_next(reader)) == JSON_STRING) {
        if (snapshot->string_count == snapshot->string_room) {
            snapshot->string_room = snapshot->string_room == 0 ? 256 : snapshot->string_room * 2;
            snapshot->strings = command_allocate(snapshot->strings, snapshot->string_room * sizeof *snapshot->strings);
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
    text_copy(key, sizeof key, reader->text);
    enum json_token token = json_next(reader);
    if (token == JSON_OBJECT && strcmp(key, "snapshot") == 0) return snapshot_read_head(snapshot, reader);
    if (token == JSON_ARRAY && strcmp(key, "nodes") == 0) return snapshot_read_numbers(reader, &snapshot->nodes, key);
    if (token == JSON_ARRAY && strcmp(key, "edges") == 0) return snapshot_read_numbers(reader, &snapshot->edges, key);
    if (token == JSON_ARRAY && strcmp(key, "strings") == 0) return snapshot_read_strings(snapshot, reader);
    return json_skip(reader, token);
}

static bool snapshot_read_file(struct snapshot *snapshot, struct json_reader *reader)
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

static bool snapshot_is_whole(double value)
{
    return value >= 0 && value <= SNAPSHOT_NUMBER_MOST && value == (double)(uint64_t)value;
}

/* Where the fields of interest are in a row of nodes; -1: nowhere. */
struct snapshot_places {
    int name, size, edges, id;
};

/* Takes one row apart. `left` is the number of edges that no node before has: no sum of counts can pass what is there. */
static bool snapshot_make_node(struct snapshot *snapshot, struct json_reader *reader, const struct snapshot_places *at, size_t node,
                               uint64_t left)
{
    const double *row = &snapshot->nodes.item[node * (size_t)snapshot->node_row.fields];
    const char *wrong = !snapshot_is_index(row[at->name], snapshot->string_count) ? "name"
                        : !snapshot_is_whole(row[at->size])                       ? "self_size"
                        : !snapshot_is_whole(row[at->edges])                      ? "edge_count"
                        : at->id >= 0 && !snapshot_is_whole(row[at->id])          ? "id"
                                                                                  : NULL;
    if (wrong != NULL) return json_refuse(reader, "the %s of node %zu makes no sense", wrong, node) != JSON_ERROR;
    if (row[at->edges] > (double)left)
        return json_refuse(reader, "the edges do not fit the nodes: node %zu has an edge_count of %.0f, and %llu are left", node,
                           row[at->edges], (unsigned long long)left) != JSON_ERROR;
    snapshot->name[node] = (uint32_t)row[at->name];
    snapshot->self[node] = row[at->size];
    snapshot->id[node] = at->id >= 0 ? row[at->id] : (double)node;
    snapshot->first[node + 1] = snapshot->first[node] + (uint64_t)row[at->edges];
    return true;
}

static bool snapshot_make_nodes(struct snapshot *snapshot, struct json_reader *reader)
{
    const struct snapshot_row *fields = &snapshot->node_row;
    struct snapshot_places at = {snapshot_field(fields, "name"), snapshot_field(fields, "self_size"),
                                 snapshot_field(fields, "edge_count"), snapshot_field(fields, "id")};
    size_t width = (size_t)fields->fields, count = snapshot->nodes.count / width;
    size_t edges = snapshot->edges.count / (size_t)snapshot->edge_row.fields;
    if (at.name < 0 || at.size < 0 || at.edges < 0 || snapshot->nodes.count % width != 0 || count == 0 || count > UINT32_MAX - 2 ||
        snapshot->string_count > UINT32_MAX - 2)
        return json_refuse(reader, "the nodes do not fit their description") != JSON_ERROR;
    snapshot->count = (uint32_t)count;
    snapshot->first = command_allocate(NULL, (count + 1) * sizeof *snapshot->first);
    snapshot->self = command_allocate(NULL, count * sizeof *snapshot->self);
    snapshot->id = command_allocate(NULL, count * sizeof *snapshot->id);
    snapshot->name = command_allocate(NULL, count * sizeof *snapshot->name);
    snapshot->first[0] = 0;
    for (size_t i = 0; i < count; i++) {
        if (!snapshot_make_node(snapshot, reader, &at, i, edges - snapshot->first[i])) return false;
    }
    return true;
}

/* Weak edges become edges to the node itself, which change nothing. */
static bool snapshot_make_edges(struct snapshot *snapshot, struct json_reader *reader)
{
    int type = snapshot_field(&snapshot->edge_row, "type"), to = snapshot_field(&snapshot->edge_row, "to_node");
    size_t width = (size_t)snapshot->edge_row.fields, step = (size_t)snapshot->node_row.fields;
    size_t count = snapshot->edges.count / width;
    if (to < 0 || snapshot->edges.count % width != 0 || count != snapshot->first[snapshot->count])
        return json_refuse(reader, "the edges do not fit the nodes: the file is not complete") != JSON_ERROR;
    snapshot->to = command_allocate(NULL, (count + 1) * sizeof *snapshot->to);
    for (uint32_t node = 0; node < snapshot->count; node++) {
        for (uint64_t e = snapshot->first[node]; e < snapshot->first[node + 1]; e++) {
            const double *row = &snapshot->edges.item[e * width];
            if (!snapshot_is_index(row[to], snapshot->nodes.count) || (size_t)row[to] % step != 0)
                return json_refuse(reader, "edge %llu leads nowhere", (unsigned long long)e) != JSON_ERROR;
            bool weak = type >= 0 && snapshot_is_index(row[type], (size_t)snapshot->edge_types) &&
                        strcmp(snapshot->edge_type[(int)row[type]], "weak") == 0;
            snapshot->to[e] = weak ? node : (uint32_t)((size_t)row[to] / step);
        }
    }
    return true;
}

/* ------------------------------------------------------------- what is retained */

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

/* The dominator tree the other way round: child[n] is the first that n dominates immediately, next[] leads to its sisters. */
struct snapshot_tree {
    uint32_t *child, *next;
};

static struct snapshot_tree snapshot_make_tree(const struct snapshot *snapshot)
{
    size_t bytes = snapshot->count * sizeof(uint32_t);
    struct snapshot_tree tree = {command_allocate(NULL, bytes), command_allocate(NULL, bytes)};
    for (uint32_t i = 0; i < snapshot->count; i++) tree.child[i] = tree.next[i] = DOMINATORS_NONE;
    for (uint32_t i = snapshot->reached; i-- > 1;) {
        uint32_t node = snapshot->order[i], above = snapshot->dominator[node];
        tree.next[node] = tree.child[above];
        tree.child[above] = node;
    }
    return tree;
}

/* One walk over the tree. open[t] counts the objects of type t between the root and here: what comes first is told, what is below its
 * like is in that already. Children are taken off as they are entered, so that coming back to a node goes on with the next one. */
static void snapshot_retain_types(struct snapshot *snapshot)
{
    struct snapshot_tree tree = snapshot_make_tree(snapshot);
    uint32_t *open = command_allocate(NULL, snapshot->string_count * sizeof *open), node = 0;
    memset(open, 0, snapshot->string_count * sizeof *open);
    snapshot->type[snapshot->name[0]].retained += snapshot->retained[0];
    open[snapshot->name[0]]++;
    while (node != DOMINATORS_NONE) {
        uint32_t child = tree.child[node];
        if (child == DOMINATORS_NONE) {
            open[snapshot->name[node]]--;
            node = snapshot->dominator[node];
            continue;
        }
        tree.child[node] = tree.next[child];
        if (open[snapshot->name[child]]++ == 0) snapshot->type[snapshot->name[child]].retained += snapshot->retained[child];
        node = child;
    }
    free(open);
    free(tree.child);
    free(tree.next);
}

static void snapshot_make_types(struct snapshot *snapshot)
{
    snapshot->type = command_allocate(NULL, snapshot->string_count * sizeof *snapshot->type);
    for (size_t i = 0; i < snapshot->string_count; i++) snapshot->type[i] = (struct snapshot_type){.name = (uint32_t)i};
    for (uint32_t i = 0; i < snapshot->count; i++) {
        snapshot->type[snapshot->name[i]].objects++;
        snapshot->type[snapshot->name[i]].self += snapshot->self[i];
    }
    snapshot_retain_types(snapshot);
}

bool snapshot_load(struct snapshot *snapshot, struct json_reader *reader)
{
    memset(snapshot, 0, sizeof *snapshot);
    struct numerals numerals = numerals_enter();
    bool good = snapshot_read_file(snapshot, reader);
    numerals_leave(numerals);
    if (!good || !snapshot_make_nodes(snapshot, reader) || !snapshot_make_edges(snapshot, reader)) return false;
    snapshot_retain(snapshot);
    snapshot_make_types(snapshot);
    return true;
}

void snapshot_free(struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->string_count; i++) free(snapshot->strings[i]);
    void *const pieces[] = {snapshot->nodes.item, snapshot->edges.item, snapshot->strings, snapshot->first,
                            snapshot->to,         snapshot->id,         snapshot->self,    snapshot->name,
                            snapshot->retained,   snapshot->dominator,  snapshot->order,   snapshot->type};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) free(pieces[i]);
    memset(snapshot, 0, sizeof *snapshot);
}
