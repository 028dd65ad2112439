/* A snapshot as a .heapsnapshot file, the JSON that V8 writes and Chrome DevTools reads: a head that names the fields, one array of numbers
 * for the nodes, one for the edges (those of a node follow those of the node before), and the strings that both refer to by number.
 *
 *     node 0                 the root
 *     nodes 1 .. S           a thread, or a suspended stack              -> its frames
 *     nodes .. F             a frame that holds something                -> what is in its slots
 *     4 nodes                global roots, pins, queue of finalizers, what only this cycle keeps
 *     the rest               objects, by handle
 *
 * outfile.h says how the file gets its name: it appears complete or not at all. */
#include "base/os.h"
#include "diag/escape.h"
#include "diag/outfile.h"
#include "diag/heap/snapshot.h"
#include "diag/heap/object_view.h"
#include "gc/error.h"
#include "gc/marking/weak_references.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    WRITE_BUFFER = 1 << 16,
    WRITE_NUMBER = 21,
    WRITE_FIELDS = 7,   /* numbers of a node */
    WRITE_NAMES = 4096, /* that namers give; what has one beyond is told by its number */
    WRITE_PLACES = 2 * WRITE_NAMES
};

enum write_node_type { WRITE_NODE_OBJECT = 3, WRITE_NODE_SYNTHETIC = 9 };
enum write_edge_type { WRITE_EDGE_ELEMENT = 1, WRITE_EDGE_PROPERTY = 2, WRITE_EDGE_WEAK = 6 };

static const char write_head[] =
    "{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\",\"trace_node_id\","
    "\"detachedness\"],"
    "\"node_types\":[[\"hidden\",\"array\",\"string\",\"object\",\"code\",\"closure\",\"regexp\",\"number\",\"native\","
    "\"synthetic\","
    "\"concatenated string\",\"sliced string\",\"symbol\",\"bigint\",\"object shape\"],"
    "\"string\",\"number\",\"number\",\"number\",\"number\",\"number\"],"
    "\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],"
    "\"edge_types\":[[\"context\",\"element\",\"property\",\"internal\",\"hidden\",\"shortcut\",\"weak\"],\"string_or_number\","
    "\"node\"],"
    "\"trace_function_info_fields\":[\"function_id\",\"name\",\"script_name\",\"script_id\",\"line\",\"column\"],"
    "\"trace_node_fields\":[\"id\",\"function_info_index\",\"count\",\"size\",\"children\"],"
    "\"sample_fields\":[\"timestamp_us\",\"last_assigned_id\"],"
    "\"location_fields\":[\"object_index\",\"script_id\",\"line\",\"column\"]},";

/* The first strings. */
enum {
    STRING_EMPTY,
    STRING_GLOBAL, /* this and the next three are also the names of the four nodes */
    STRING_PINS,
    STRING_QUEUE,
    STRING_FLOATING,
    STRING_UNKNOWN,
    STRING_TARGET,
    STRING_KEY,
    STRING_VALUE,
    STRING_FIXED
};
static const char *const write_fixed[STRING_FIXED] = {
    "", "(Global roots)", "(Pinned objects)", "(Queue of finalizers)", "(Kept by this cycle only)", "?", "target", "key", "value",
};

struct writer {
    const struct cx_snapshot *shot;
    FILE *file;
    int reason; /* errno of the first write that failed; 0: none */
    size_t used;
    char *buffer;
    /* counts and numbers */
    uint64_t stacks, frames, deepest; /* nodes of each; the highest number of a frame */
    uint64_t list[4];                 /* roots in each of the four nodes */
    uint64_t first_list, first_object;
    uint32_t types;
    uint32_t *field_string; /* by type: string of its first field */
    uint64_t stack_string, frame_string, cell_string, name_string;
    /* names that namers gave, in the order of their strings; places by hash have the number of a name, from 1 on */
    struct write_names {
        uint32_t count;
        uint16_t place[WRITE_PLACES];
        char text[WRITE_NAMES][CX_OBJECT_VIEW_NAME];
    } * names;
};

/* ------------------------------------------------------------------ numbers */

static void write_flush(struct writer *writer)
{
    if (writer->reason == 0 && fwrite(writer->buffer, 1, writer->used, writer->file) != writer->used)
        writer->reason = errno != 0 ? errno : EIO;
    writer->used = 0;
}

static inline void write_byte(struct writer *writer, char byte)
{
    if (writer->used == WRITE_BUFFER) write_flush(writer);
    writer->buffer[writer->used++] = byte;
}

static void write_text(struct writer *writer, const char *text)
{
    while (*text != '\0') write_byte(writer, *text++);
}

static void write_number(struct writer *writer, uint64_t number)
{
    char digits[WRITE_NUMBER];
    unsigned at = WRITE_NUMBER;
    if (WRITE_BUFFER - writer->used < WRITE_NUMBER) write_flush(writer);
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    memcpy(writer->buffer + writer->used, digits + at, WRITE_NUMBER - at);
    writer->used += WRITE_NUMBER - at;
}

/* Each on a line of its own; `first` has no comma before it. */
static void write_node(struct writer *writer, enum write_node_type type, uint64_t name, uint64_t id, uint64_t bytes, uint64_t edges)
{
    const uint64_t field[] = {type, name, id, bytes, edges};
    if (id != 0) write_text(writer, ",\n");
    for (int i = 0; i < 5; i++) {
        write_number(writer, field[i]);
        write_byte(writer, ',');
    }
    write_text(writer, "0,0");
}

static void write_edge(struct writer *writer, bool *first, enum write_edge_type type, uint64_t name, uint64_t node)
{
    if (!*first) write_text(writer, ",\n");
    *first = false;
    write_number(writer, type);
    write_byte(writer, ',');
    write_number(writer, name);
    write_byte(writer, ',');
    write_number(writer, node * WRITE_FIELDS);
}

/* ------------------------------------------------------------------- counting */

static bool write_is_frame(const struct cx_root *root) { return root->kind == CX_ROOT_THREAD || root->kind == CX_ROOT_SUSPENDED; }

static bool write_same_stack(const struct cx_root *a, const struct cx_root *b)
{
    return a->kind == b->kind && a->owner == b->owner;
}

static bool write_same_frame(const struct cx_root *a, const struct cx_root *b)
{
    return write_same_stack(a, b) && a->where == b->where;
}

/* The end of the run of roots from `from` on that belong together. */
static uint64_t write_run(const struct writer *writer, uint64_t from, bool (*same)(const struct cx_root *, const struct cx_root *))
{
    const struct cx_root_list *roots = &writer->shot->roots;
    uint64_t to = from + 1;
    while (to < roots->count && same(cx_root_list_at(roots, from), cx_root_list_at(roots, to))) to++;
    return to;
}

static uint64_t write_frame_roots(const struct writer *writer)
{
    uint64_t count = 0;
    while (count < writer->shot->roots.count && write_is_frame(cx_root_list_at(&writer->shot->roots, count))) count++;
    return count;
}

static void write_count(struct writer *writer)
{
    const struct cx_root_list *roots = &writer->shot->roots;
    uint64_t end = write_frame_roots(writer);
    for (uint64_t at = 0; at < end; at = write_run(writer, at, write_same_stack)) writer->stacks++;
    for (uint64_t at = 0; at < end; at = write_run(writer, at, write_same_frame)) {
        writer->frames++;
        uint64_t number = cx_root_list_at(roots, at)->where;
        writer->deepest = number > writer->deepest ? number : writer->deepest;
    }
    for (uint64_t at = end; at < roots->count; at++) writer->list[cx_root_list_at(roots, at)->kind - CX_ROOT_GLOBAL]++;
    writer->list[3] = writer->shot->floating.count;
    writer->first_list = 1 + writer->stacks + writer->frames;
    writer->first_object = writer->first_list + 4;
}

/* Where the strings of each kind begin. False: no memory. */
static bool write_number_strings(struct writer *writer)
{
    writer->types = cx_a32_load_acquire(&cx_world.types.count);
    writer->field_string = cx_os_allocate((writer->types + 2) * sizeof *writer->field_string);
    writer->names = cx_os_allocate(sizeof *writer->names);
    if (writer->field_string == NULL || writer->names == NULL) return false;
    uint32_t next = STRING_FIXED + writer->types;
    for (uint32_t id = 1; id <= writer->types; id++) {
        writer->field_string[id] = next;
        next += cx_type_at(&cx_world.types, id)->descriptor->ref_count;
    }
    writer->stack_string = next;
    writer->frame_string = writer->stack_string + writer->stacks;
    writer->cell_string = writer->frame_string + writer->deepest + 1;
    writer->name_string = writer->cell_string + writer->list[0];
    return true;
}

/* -------------------------------------------------------------- nodes, edges */

/* Ids of what is no object are even. */
static void write_nodes(struct writer *writer)
{
    const struct cx_snapshot *shot = writer->shot;
    uint64_t id = 0, end = write_frame_roots(writer), stack = 0;
    write_node(writer, WRITE_NODE_SYNTHETIC, STRING_EMPTY, id, 0, writer->stacks + 4);
    for (uint64_t at = 0, next; at < end; at = next) {
        uint64_t frames = 0;
        next = write_run(writer, at, write_same_stack);
        for (uint64_t frame = at; frame < next; frame = write_run(writer, frame, write_same_frame)) frames++;
        write_node(writer, WRITE_NODE_SYNTHETIC, writer->stack_string + stack++, id += 2, 0, frames);
    }
    for (uint64_t at = 0, next; at < end; at = next) {
        next = write_run(writer, at, write_same_frame);
        uint64_t name = writer->frame_string + cx_root_list_at(&shot->roots, at)->where;
        write_node(writer, WRITE_NODE_SYNTHETIC, name, id += 2, 0, next - at);
    }
    for (uint64_t i = 0; i < 4; i++) write_node(writer, WRITE_NODE_SYNTHETIC, STRING_GLOBAL + i, id += 2, 0, writer->list[i]);
    for (uint64_t i = 0; i < cx_snapshot_count(shot); i++) {
        uint32_t type = cx_snapshot_type(shot, i);
        uint64_t edges = cx_snapshot_edges_to(shot, i) - cx_snapshot_edges_from(shot, i);
        write_node(writer, WRITE_NODE_OBJECT, type == 0 ? STRING_UNKNOWN : STRING_FIXED + type - 1,
                   cx_snapshot_index(shot, i) * 2 + 1, cx_snapshot_bytes(shot, i), edges);
    }
}

static void write_root_edges(struct writer *writer, bool *first)
{
    const struct cx_root_list *roots = &writer->shot->roots;
    uint64_t end = write_frame_roots(writer), frame = 1 + writer->stacks;
    for (uint64_t i = 0; i < writer->stacks; i++) write_edge(writer, first, WRITE_EDGE_PROPERTY, writer->stack_string + i, 1 + i);
    for (uint64_t i = 0; i < 4; i++) write_edge(writer, first, WRITE_EDGE_PROPERTY, STRING_GLOBAL + i, writer->first_list + i);
    for (uint64_t at = 0; at < end; at = write_run(writer, at, write_same_frame))
        write_edge(writer, first, WRITE_EDGE_PROPERTY, writer->frame_string + cx_root_list_at(roots, at)->where, frame++);
    for (uint64_t at = 0; at < end; at++)
        write_edge(writer, first, WRITE_EDGE_ELEMENT, cx_root_list_at(roots, at)->slot,
                   writer->first_object + cx_root_list_at(roots, at)->handle);
    for (uint64_t at = end; at < roots->count; at++) {
        const struct cx_root *root = cx_root_list_at(roots, at);
        bool cell = root->kind == CX_ROOT_GLOBAL;
        uint64_t number = cell ? 0 : at - end - writer->list[0] - (root->kind == CX_ROOT_FINALIZER ? writer->list[1] : 0);
        write_edge(writer, first, cell ? WRITE_EDGE_PROPERTY : WRITE_EDGE_ELEMENT, cell ? writer->cell_string + at - end : number,
                   writer->first_object + root->handle);
    }
    for (uint64_t i = 0; i < writer->list[3]; i++)
        write_edge(writer, first, WRITE_EDGE_ELEMENT, i, writer->first_object + *cx_vector_at(&writer->shot->floating, i));
}

/* Number of the listed field at `offset`; fields mostly come in the order of the list, so the search begins where the last one ended. */
static bool write_find_field(const coex_gc_type *type, uint64_t offset, uint32_t *hint)
{
    for (uint32_t tries = 0; tries < type->ref_count; tries++, ++*hint) {
        if (*hint >= type->ref_count) *hint = 0;
        if (type->ref_offsets[*hint] == offset) return true;
    }
    return false;
}

/* The string of a name, which may be new. False: there are too many. */
static bool write_find_name(struct writer *writer, const char *text, uint64_t *string)
{
    struct write_names *names = writer->names;
    uint32_t hash = 0;
    for (const char *at = text; *at != '\0'; at++) hash = (hash ^ (unsigned char)*at) * 0x01000193u; /* FNV */
    uint16_t *place = &names->place[hash % WRITE_PLACES];
    while (*place != 0 && strcmp(names->text[*place - 1], text) != 0)
        place = place + 1 < names->place + WRITE_PLACES ? place + 1 : names->place;
    if (*place == 0) {
        if (names->count == WRITE_NAMES) return false;
        memcpy(names->text[names->count], text, CX_OBJECT_VIEW_NAME);
        *place = (uint16_t)++names->count;
    }
    *string = writer->name_string + *place - 1;
    return true;
}

/* What the writer knows of the object whose edges it writes. */
struct write_object {
    const struct cx_type *type;
    uint64_t size;
    coex_gc_namer name;
    uint32_t hint;
};

static void write_object_edge(struct writer *writer, bool *first, struct write_object *object, uint64_t edge)
{
    const struct cx_type *type = object->type;
    char called[CX_OBJECT_VIEW_NAME];
    uint64_t string, node = writer->first_object + cx_edge_target(edge), offset = cx_edge_offset(edge);
    if ((edge & CX_SNAPSHOT_WEAK) != 0)
        write_edge(writer, first, WRITE_EDGE_WEAK, type->id == cx_weak_type() ? STRING_TARGET : STRING_KEY, node);
    else if (cx_weak_is_type(type->id))
        write_edge(writer, first, WRITE_EDGE_PROPERTY, STRING_VALUE, node);
    else if (write_find_field(type->descriptor, offset, &object->hint))
        write_edge(writer, first, WRITE_EDGE_PROPERTY, writer->field_string[type->id] + object->hint, node);
    else if ((type->flags & COEX_GC_REF_ARRAY) != 0)
        write_edge(writer, first, WRITE_EDGE_ELEMENT, (offset - type->array_offset) / 8, node);
    else if (cx_object_view_call(object->name, object->size, offset, called) && write_find_name(writer, called, &string))
        write_edge(writer, first, WRITE_EDGE_PROPERTY, string, node);
    else
        write_edge(writer, first, WRITE_EDGE_ELEMENT, offset / 8, node);
}

static void write_object_edges(struct writer *writer, bool *first)
{
    const struct cx_snapshot *shot = writer->shot;
    uint64_t count = cx_snapshot_count(shot), at = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t to = cx_snapshot_edges_to(shot, i);
        if (at == to) continue;
        struct write_object object = {.type = cx_type_at(&cx_world.types, cx_snapshot_type(shot, i))};
        object.size = cx_snapshot_bytes(shot, i) - cx_type_prefix(object.type);
        object.name = cx_object_view_namer(object.type);
        for (; at < to; at++) write_object_edge(writer, first, &object, *cx_vector_at(&shot->edges, at));
    }
}

/* -------------------------------------------------------------------- strings */

static void write_string(struct writer *writer, bool *first, const char *string)
{
    char piece[CX_ESCAPE_ROOM];
    write_text(writer, *first ? "\"" : ",\n\"");
    *first = false;
    while ((string = cx_escape_json(string, piece)) != NULL) write_text(writer, piece);
    write_byte(writer, '"');
}

static void write_field_strings(struct writer *writer, bool *first, const coex_gc_type *type)
{
    char name[32];
    for (uint32_t i = 0; i < type->ref_count; i++) {
        snprintf(name, sizeof name, "offset %u", type->ref_offsets[i]);
        write_string(writer, first, type->ref_names != NULL ? type->ref_names[i] : name);
    }
}

static void write_strings(struct writer *writer)
{
    const struct cx_root_list *roots = &writer->shot->roots;
    char name[64];
    bool first = true;
    uint64_t end = write_frame_roots(writer);
    for (int i = 0; i < STRING_FIXED; i++) write_string(writer, &first, write_fixed[i]);
    for (uint32_t id = 1; id <= writer->types; id++)
        write_string(writer, &first, cx_type_at(&cx_world.types, id)->descriptor->name);
    for (uint32_t id = 1; id <= writer->types; id++)
        write_field_strings(writer, &first, cx_type_at(&cx_world.types, id)->descriptor);
    for (uint64_t at = 0; at < end; at = write_run(writer, at, write_same_stack)) {
        const struct cx_root *root = cx_root_list_at(roots, at);
        struct cx_stack_view view = {.thread = root->kind == CX_ROOT_THREAD ? root->owner : CX_ROOT_RECORD_NOBODY, .stack = root->owner};
        cx_stack_view_name(&view, name, sizeof name);
        write_string(writer, &first, name);
    }
    for (uint64_t i = 0; i <= writer->deepest; i++) {
        snprintf(name, sizeof name, "frame %" PRIu64, i);
        write_string(writer, &first, name);
    }
    for (uint64_t at = end; at < end + writer->list[0]; at++) {
        snprintf(name, sizeof name, "0x%" PRIx64, cx_root_list_at(roots, at)->where);
        write_string(writer, &first, name);
    }
    for (uint32_t i = 0; i < writer->names->count; i++) write_string(writer, &first, writer->names->text[i]);
}

/* ------------------------------------------------------------------- the file */

static void write_all(struct writer *writer)
{
    const struct cx_snapshot *shot = writer->shot;
    bool first = true;
    uint64_t edges = writer->stacks + 4 + writer->frames + shot->roots.count + shot->floating.count + shot->edges.count;
    write_text(writer, write_head);
    write_text(writer, "\"node_count\":");
    write_number(writer, writer->first_object + cx_snapshot_count(shot));
    write_text(writer, ",\"edge_count\":");
    write_number(writer, edges);
    write_text(writer, ",\"trace_function_count\":0},\n\"nodes\":[");
    write_nodes(writer);
    write_text(writer, "],\n\"edges\":[");
    write_root_edges(writer, &first);
    write_object_edges(writer, &first);
    write_text(writer, "],\n\"trace_function_infos\":[],\n\"trace_tree\":[],\n\"samples\":[],\n\"locations\":[],\n\"strings\":[");
    write_strings(writer);
    write_text(writer, "]}\n");
    write_flush(writer);
}

static int write_refuse(const char *path, int reason)
{
    return cx_error_set(COEX_GC_EINVAL, "cannot write the snapshot to %.200s: %s", path,
                        strerror(reason));
}

static int write_file(struct writer *writer, const char *path)
{
    struct cx_outfile *out = cx_outfile_open(path);
    if (out == NULL) return write_refuse(path, errno);
    writer->file = cx_outfile_stream(out);
    write_all(writer);
    int failed = cx_outfile_close(out, writer->reason);
    return failed == 0 ? COEX_GC_OK : write_refuse(path, failed);
}

int cx_snapshot_write(const struct cx_snapshot *shot, const char *path)
{
    struct writer writer = {.shot = shot, .buffer = cx_os_allocate(WRITE_BUFFER)};
    int code = COEX_GC_ENOMEM;
    write_count(&writer);
    if (writer.buffer != NULL && write_number_strings(&writer))
        code = write_file(&writer, path);
    else
        cx_error_set(code, "no memory to write a snapshot");
    cx_os_free(writer.field_string);
    cx_os_free(writer.names);
    cx_os_free(writer.buffer);
    return code;
}
