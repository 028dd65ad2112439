/*
 * See snapshot_reader.h.
 */
#include "support/snapshot_reader.h"

#include "support/keep.h"

typedef struct json {
    const char *text, *at;
} json;

/* Numbers or strings of one array. */
typedef struct list {
    uint64_t count;
    uint64_t *number;
    char **string;
} list;

static _Noreturn void json_fail(const json *in, const char *wanted)
{
    test_fail(__FILE__, __LINE__, "at byte %td: expected %s, found '%.20s'", in->at - in->text, wanted, in->at);
}

static void json_blank(json *in)
{
    while (*in->at == ' ' || *in->at == '\n' || *in->at == '\r' || *in->at == '\t') in->at++;
}

static void json_need(json *in, char wanted)
{
    char text[2] = {wanted, 0};
    json_blank(in);
    if (*in->at != wanted) json_fail(in, text);
    in->at++;
}

static bool json_next_is(json *in, char wanted)
{
    json_blank(in);
    if (*in->at != wanted) return false;
    in->at++;
    return true;
}

static uint64_t json_number(json *in)
{
    char *end;
    json_blank(in);
    if (*in->at < '0' || *in->at > '9' || (in->at[0] == '0' && in->at[1] >= '0' && in->at[1] <= '9')) json_fail(in, "a number");
    uint64_t value = strtoull(in->at, &end, 10);
    in->at = end;
    return value;
}

/* The only escapes that the writer uses are \" and \\. */
static char *json_string(json *in)
{
    json_need(in, '"');
    const char *end = in->at;
    while (*end != '"') {
        if (*end == '\0' || (unsigned char)*end < 0x20) json_fail(in, "a string that ends");
        end += *end == '\\' ? 2 : 1;
    }
    char *copy = keep_alloc((size_t)(end - in->at) + 1), *to = copy;
    while (in->at < end) {
        if (*in->at == '\\' && *++in->at != '"' && *in->at != '\\') json_fail(in, "an escape");
        *to++ = *in->at++;
    }
    in->at++;
    return copy;
}

static void list_add(list *to, uint64_t number, char *string)
{
    to->number = keep_grow(to->number, to->count, sizeof *to->number);
    to->string = keep_grow(to->string, to->count, sizeof *to->string);
    to->number[to->count] = number;
    to->string[to->count++] = string;
}

static list json_array(json *in, bool strings)
{
    list result = {0};
    json_need(in, '[');
    if (json_next_is(in, ']')) return result;
    do {
        if (strings)
            list_add(&result, 0, json_string(in));
        else
            list_add(&result, json_number(in), NULL);
    } while (json_next_is(in, ','));
    json_need(in, ']');
    return result;
}

static void json_skip(json *in);

static void json_skip_members(json *in, char end, bool keys)
{
    if (json_next_is(in, end)) return;
    do {
        if (keys) {
            json_string(in);
            json_need(in, ':');
        }
        json_skip(in);
    } while (json_next_is(in, ','));
    json_need(in, end);
}

static void json_skip(json *in)
{
    json_blank(in);
    if (*in->at == '"')
        json_string(in);
    else if (json_next_is(in, '['))
        json_skip_members(in, ']', false);
    else if (json_next_is(in, '{'))
        json_skip_members(in, '}', true);
    else
        json_number(in);
}

static void json_key(json *in, const char *wanted)
{
    if (strcmp(json_string(in), wanted) != 0) json_fail(in, wanted);
    json_need(in, ':');
}

/* ---- the format ----------------------------------------------------------------------------------------------------- */

/* A list of strings in the head, as the readers of others look for it. */
static void read_fields(json *in, const char *key, const char *const *wanted)
{
    json_key(in, key);
    list fields = json_array(in, true);
    for (uint64_t i = 0; wanted[i] != NULL; i++) expect(i < fields.count && strcmp(fields.string[i], wanted[i]) == 0);
    json_need(in, ',');
}

static void read_head(json *in, snapshot *shot)
{
    static const char *const node_fields[] = {"type",       "name",          "id",           "self_size",
                                              "edge_count", "trace_node_id", "detachedness", NULL};
    static const char *const edge_fields[] = {"type", "name_or_index", "to_node", NULL};
    json_key(in, "snapshot");
    json_need(in, '{');
    json_key(in, "meta");
    json_need(in, '{');
    read_fields(in, "node_fields", node_fields);
    json_key(in, "node_types");
    json_skip(in);
    json_need(in, ',');
    read_fields(in, "edge_fields", edge_fields);
    while (!json_next_is(in, '}')) {
        json_string(in);
        json_need(in, ':');
        json_skip(in);
        json_next_is(in, ',');
    }
    json_need(in, ',');
    json_key(in, "node_count");
    shot->node_count = json_number(in);
    json_need(in, ',');
    json_key(in, "edge_count");
    shot->edge_count = json_number(in);
    json_need(in, ',');
    json_key(in, "trace_function_count");
    expect_eq(json_number(in), 0);
    json_need(in, '}');
}

static list read_array(json *in, const char *key, bool strings)
{
    json_need(in, ',');
    json_key(in, key);
    return json_array(in, strings);
}

static snapshot_edge edge_from(const snapshot *shot, const uint64_t *field, const list *strings)
{
    snapshot_edge edge = {.type = field[0], .to = field[2] / 7};
    expect(edge.type == EDGE_ELEMENT || edge.type == EDGE_PROPERTY || edge.type == EDGE_WEAK);
    expect(field[2] % 7 == 0 && edge.to < shot->node_count);
    if (edge.type == EDGE_ELEMENT) {
        edge.index = field[1];
    } else {
        expect(field[1] < strings->count);
        edge.name = strings->string[field[1]];
    }
    return edge;
}

static void fill(snapshot *shot, const list *nodes, const list *edges, const list *strings)
{
    snapshot_edge *all = keep_alloc((shot->edge_count + 1) * sizeof *all);
    shot->node = keep_alloc(shot->node_count * sizeof *shot->node);
    expect_eq(nodes->count, shot->node_count * 7);
    expect_eq(edges->count, shot->edge_count * 3);
    for (uint64_t i = 0; i < shot->edge_count; i++) all[i] = edge_from(shot, &edges->number[i * 3], strings);
    uint64_t next = 0;
    for (uint64_t i = 0; i < shot->node_count; i++) {
        const uint64_t *field = &nodes->number[i * 7];
        expect((field[0] == NODE_OBJECT || field[0] == NODE_SYNTHETIC) && field[1] < strings->count);
        shot->node[i] = (snapshot_node){.type = field[0],
                                        .name = strings->string[field[1]],
                                        .id = field[2],
                                        .size = field[3],
                                        .edge_count = field[4],
                                        .edge = &all[next]};
        next += field[4];
    }
    expect_eq(next, shot->edge_count);
}

/* By strong edges, as viewers go. */
static void expect_all_reachable(const snapshot *shot)
{
    bool *seen = calloc(shot->node_count, sizeof *seen);
    uint64_t *queue = calloc(shot->node_count, sizeof *queue), head = 0, tail = 1;
    expect(seen != NULL && queue != NULL);
    seen[0] = true;
    while (head < tail) {
        const snapshot_node *node = &shot->node[queue[head++]];
        for (uint64_t i = 0; i < node->edge_count; i++) {
            uint64_t to = node->edge[i].to;
            if (node->edge[i].type == EDGE_WEAK || seen[to]) continue;
            seen[to] = true;
            queue[tail++] = to;
        }
    }
    expect_eq(tail, shot->node_count);
    free(seen);
    free(queue);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) test_fail(__FILE__, __LINE__, "there is no %s", path);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = keep_alloc((size_t)size + 1);
    expect(fread(text, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    return text;
}

snapshot snapshot_read(const char *path)
{
    snapshot shot = {0};
    json in = {.text = read_file(path)};
    in.at = in.text;
    json_need(&in, '{');
    read_head(&in, &shot);
    list nodes = read_array(&in, "nodes", false), edges = read_array(&in, "edges", false);
    static const char *const empty[] = {"trace_function_infos", "trace_tree", "samples", "locations"};
    for (int i = 0; i < 4; i++) expect_eq(read_array(&in, empty[i], false).count, 0);
    list strings = read_array(&in, "strings", true);
    json_need(&in, '}');
    json_blank(&in);
    if (*in.at != '\0') json_fail(&in, "the end");
    fill(&shot, &nodes, &edges, &strings);
    expect_all_reachable(&shot);
    return shot;
}

/* ---- looking things up ---------------------------------------------------------------------------------------------- */

const snapshot_node *snapshot_object(const snapshot *shot, coex_handle handle)
{
    for (uint64_t i = 0; i < shot->node_count; i++) {
        if (shot->node[i].type == NODE_OBJECT && shot->node[i].id == (handle & (((coex_handle)1 << 36) - 1)) * 2 + 1)
            return &shot->node[i];
    }
    return NULL;
}

const snapshot_node *snapshot_named(const snapshot *shot, const char *name)
{
    for (uint64_t i = 0; i < shot->node_count; i++) {
        if (strcmp(shot->node[i].name, name) == 0) return &shot->node[i];
    }
    return NULL;
}

const snapshot_node *snapshot_property(const snapshot *shot, const snapshot_node *node, const char *name)
{
    for (uint64_t i = 0; i < node->edge_count; i++) {
        if (node->edge[i].type != EDGE_ELEMENT && strcmp(node->edge[i].name, name) == 0) return &shot->node[node->edge[i].to];
    }
    return NULL;
}

const snapshot_node *snapshot_element(const snapshot *shot, const snapshot_node *node, uint64_t index)
{
    for (uint64_t i = 0; i < node->edge_count; i++) {
        if (node->edge[i].type == EDGE_ELEMENT && node->edge[i].index == index) return &shot->node[node->edge[i].to];
    }
    return NULL;
}
