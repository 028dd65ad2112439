/*
 * Every type of the values reads well in dumps: it has a name of its own, and its references have names or are numbered elements. Values of
 * every type are made, dumped, and what they refer to is dumped in turn, so that no type is left out.
 */
#include "values/core/common.h"

#include "support/dump_parser.h"
#include "support/objects.h"

#include <coex/values.h>
#include <coex/values/json.h>

static const struct {
    const char *row;
    const coex_gc_type *type;
} rows[] = {
#define ROW(name, kind) {#name, &cx_type_##name},
    CX_VALUE_TYPES(ROW)
#undef ROW
};

TEST(every_type_has_a_name_of_its_own_and_names_its_references)
{
    for (int i = 0; i < CX_VALUE_TYPE_COUNT; i++) {
        const coex_gc_type *type = rows[i].type;
        expect(type->name != NULL && type->name[0] != '\0');
        for (int j = 0; j < i; j++) expect(strcmp(rows[j].type->name, type->name) != 0);
        if (type->ref_count > 0 && type->ref_names == NULL)
            test_fail(__FILE__, __LINE__, "fields of '%s' have no names", type->name);
        for (uint32_t k = 0; k < type->ref_count; k++) {
            expect(type->ref_names[k][0] != '\0');
            for (uint32_t l = 0; l < k; l++) expect(strcmp(type->ref_names[k], type->ref_names[l]) != 0);
        }
    }
}

/* ---- dumping all that a value refers to ----------------------------------------------------------------------------- */

static bool seen[CX_VALUE_TYPE_COUNT];

enum { WAITING_MAX = 4096 };
static coex_handle waiting[WAITING_MAX];
static unsigned waiting_count, waiting_done;

static void visit_later(coex_handle h)
{
    for (unsigned i = 0; i < waiting_count; i++) {
        if (waiting[i] == h) return;
    }
    expect(waiting_count < WAITING_MAX);
    waiting[waiting_count++] = h;
}

/* The type's row, or -1. */
static int row_of(uint32_t id)
{
    for (int i = 0; i < CX_VALUE_TYPE_COUNT; i++) {
        if (cx_values.id[i] == id) return i;
    }
    return -1;
}

/* "  offset 8: handle = 5 -> string "x"  (base)": a reference, if it says handle or immediate; then it ends with a name. */
static void read_field(const char *line, const coex_gc_type *type)
{
    uint64_t offset, target;
    int end = 0;
    bool handle = sscanf(line, "  offset %" SCNu64 ": handle = %" SCNu64 "%n", &offset, &target, &end) == 2;
    bool immediate = !handle && sscanf(line, "  offset %" SCNu64 ": immediate = %" SCNu64 "%n", &offset, &target, &end) == 2;
    if (!handle && !immediate) return;
    const char *name = NULL;
    for (const char *at = line; (at = strstr(at, "  (")) != NULL; at++) name = at;
    bool named = name != NULL && name[3] != ')' && line[strlen(line) - 1] == ')';
    if (!named) test_fail(__FILE__, __LINE__, "'%s': a reference without a name in '%s'", type->name, line);
    if (handle && target != 0) {
        expect(strncmp(line + end, " -> ", 4) == 0 && strncmp(line + end + 4, "no object", 9) != 0);
        visit_later(target);
    }
}

static void dump_one(coex_handle h)
{
    int row = row_of(coex_gc_type_of(h));
    char type[96];
    if (row < 0) return; /* an object of the test's */
    capture_begin();
    coex_gc_dump_object(h);
    char *dump = capture_end();
    seen[row] = true;
    snprintf(type, sizeof type, "\nType: %s (id=%u)\n", rows[row].type->name, cx_values.id[row]);
    ck_assert_ptr_nonnull(strstr(dump, type));
    dump_lines lines = {.next = strstr(dump, "\nFields:\n") + 9};
    for (const char *line; (line = lines_take(&lines)) != NULL;) read_field(line, rows[row].type);
}

/* No allocation in between: what is reached through an iterator or a builder stays as it is. */
static void dump_all_from(coex_handle h)
{
    expect(h != 0);
    visit_later(h);
    while (waiting_done < waiting_count) dump_one(waiting[waiting_done++]);
    waiting_count = waiting_done = 0;
}

/* ---- values of every type ------------------------------------------------------------------------------------------- */

enum { MANY = 100 }; /* more than a leaf, of lists and of maps */

static void dump_strings(coex_handle *slots)
{
    slots[0] = coex_string_from_c("a text");
    slots[0] = coex_string_repeat(slots[0], MANY);
    slots[1] = coex_string_from_c("!");
    slots[1] = coex_string_concat(slots[0], slots[1]); /* a view of a buffer */
    dump_all_from(slots[1]);
    slots[1] = coex_string_slice(slots[0], 1, 100);
    dump_all_from(slots[1]);
    slots[1] = coex_string_builder_new(0);
    dump_all_from(slots[1]);
}

static void dump_arrays(coex_handle *slots)
{
    slots[0] = coex_string_from_c("x");
    slots[1] = coex_array_from(slots, 1, 8, true);
    dump_all_from(slots[1]);
    slots[1] = coex_array_builder(slots[1]);
    dump_all_from(slots[1]);
    slots[1] = coex_array_of(3, 1, false);
    dump_all_from(slots[1]);
    slots[1] = coex_mutable_array_new(2, false);
    dump_all_from(slots[1]);
    slots[1] = coex_mutable_array_new(2, true);
    expect(coex_mutable_array_store(slots[1], 1, slots[0]));
    dump_all_from(slots[1]);
    slots[1] = coex_cell_new(slots[0]);
    dump_all_from(slots[1]);
}

static void dump_lists(coex_handle *slots, bool refs)
{
    uint64_t word;
    slots[0] = coex_list_empty(refs);
    slots[1] = coex_list_builder(slots[0]);
    for (unsigned i = 0; i < 40 * MANY; i++) expect(coex_list_builder_append(slots[1], refs ? COEX_IMMEDIATE(i) : i));
    dump_all_from(slots[1]); /* edited leaves and nodes */
    slots[0] = coex_list_empty(refs);
    for (unsigned i = 0; i < MANY; i++) slots[0] = coex_list_append(slots[0], refs ? COEX_IMMEDIATE(i) : i);
    dump_all_from(slots[0]);
    slots[1] = coex_list_iterate(slots[0], 0);
    expect(coex_list_next(slots[1], &word));
    dump_all_from(slots[1]);
    slots[0] = coex_list_insert(slots[0], 5, refs ? 0 : 7); /* sized nodes */
    dump_all_from(slots[0]);
    slots[0] = coex_list_builder(slots[0]);
    expect(coex_list_builder_set(slots[0], 1, 0));
    dump_all_from(slots[0]);
}

static void dump_maps(coex_handle *slots)
{
    for (uint32_t kind = 0; kind < 8; kind++) {
        slots[0] = coex_map_empty(kind);
        slots[1] = coex_set_empty(kind & 3);
        for (unsigned count = 1; count <= MANY; count++) {
            slots[2] = coex_string_from_int(count);
            uint64_t key = (kind & 3) >= COEX_MAP_STRING ? slots[2] : count;
            slots[0] = coex_map_set(slots[0], key, slots[2]);
            slots[1] = coex_set_add(slots[1], key);
            if (count != 1 && count != 3 && count % 20 != 0) continue; /* few, a leaf, branches */
            dump_all_from(slots[0]);
            dump_all_from(slots[1]);
        }
        slots[3] = coex_map_iterate(slots[0]);
        dump_all_from(slots[3]);
        slots[3] = coex_map_builder(slots[0]);
        expect(coex_map_builder_set(slots[3], slots[2], slots[2]));
        dump_all_from(slots[3]);
    }
}

static void dump_json(coex_handle *slots)
{
    const char *text = "{\"a\":{\"b\":[18446744073709551615]},\"c\":[{\"d\":1},{\"d\":2";
    slots[0] = coex_json_object();
    for (unsigned i = 0; i < MANY; i++) {
        slots[1] = coex_string_from_int(i);
        slots[0] = coex_json_set(slots[0], slots[1], slots[1]);
        if (i == 5 || i == 20 || i == MANY - 1) dump_all_from(slots[0]);
    }
    slots[0] = coex_json_uint(UINT64_MAX);
    dump_all_from(slots[0]);
    coex_handle value;
    slots[0] = coex_json_reader_new(NULL);
    expect(coex_json_reader_feed(slots[0], text, strlen(text)));
    expect(coex_json_reader_next(slots[0]) == COEX_JSON_EVENT_OBJECT);
    expect(coex_json_reader_take(slots[0], &value) == COEX_JSON_EVENT_MORE); /* in the middle of it */
    dump_all_from(slots[0]);
}

static void dump_channels(coex_handle *slots)
{
    for (unsigned way = 0; way < 4; way++) {
        slots[0] = coex_channel_new(way / 2 == 0 ? 4 : COEX_CHANNEL_UNBOUNDED, way % 2 == 0);
        expect(coex_channel_send(slots[0], COEX_IMMEDIATE(1)));
        dump_all_from(slots[0]);
    }
}

TEST_TIMEOUT(dumps_of_every_type_name_every_reference, 60)
{
    start_quiet();
    coex_handle *slots = coex_gc_enter_frame(4);
    dump_strings(slots);
    dump_arrays(slots);
    dump_lists(slots, false);
    dump_lists(slots, true);
    dump_maps(slots);
    dump_json(slots);
    dump_channels(slots);
    seen[CX_TYPE_channel_cell] = true; /* only of those who wait; it has nothing but elements */
    for (int i = 0; i < CX_VALUE_TYPE_COUNT; i++) {
        if (!seen[i]) test_fail(__FILE__, __LINE__, "no value of type '%s' was dumped", rows[i].row);
    }
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* ---- entries of maps and sets --------------------------------------------------------------------------------------- */

/* The only leaf of a map or set: its root is the first word. Children of a branch begin with its second word; groups of no entries
 * are 0. */
static coex_handle leaf_of(coex_handle map)
{
    coex_handle node = *(const coex_handle *)coex_gc_handle_deref(map);
    while (row_of(coex_gc_type_of(node)) == CX_TYPE_map_branch) {
        const coex_handle *child = (const coex_handle *)coex_gc_handle_deref(node) + 1;
        while (*child == 0) child++;
        node = *child;
    }
    return node;
}

/* Keys and elements are strings, values are not. */
static void expect_entries(coex_handle leaf, uint64_t count, bool of_set)
{
    char name[32];
    uint64_t found = 0;
    capture_begin();
    coex_gc_dump_object(leaf);
    dump_object dump = parse_object(capture_end());
    for (uint64_t i = 0; i < dump.field_count; i++) {
        const dump_field *field = &dump.field[i];
        if (strcmp(field->kind, "handle") != 0) continue;
        bool value = strncmp(field->target, "string ", 7) != 0;
        snprintf(name, sizeof name, "%s %" PRIu64, of_set ? "element" : value ? "value" : "key", of_set ? found : found / 2);
        ck_assert_str_eq(field->name, name);
        expect(value == (!of_set && found % 2 == 1));
        found++;
    }
    expect_eq(found, of_set ? count : 2 * count);
}

/* All hashes are the same: so leaves have more entries in the end than others may have. */
TEST(entries_of_leaves_are_named_by_what_they_are_and_numbered)
{
    start_quiet();
    cx_values.seed[2] = UINT64_MAX;
    coex_handle *slots = coex_gc_enter_frame(4);
    slots[0] = coex_map_empty(COEX_MAP_HANDLE | COEX_MAP_REFERENCES);
    slots[1] = coex_set_empty(COEX_MAP_HANDLE);
    slots[2] = coex_list_empty(true);
    for (uint64_t count = 1; count <= 130; count++) {
        slots[3] = coex_string_from_int((int64_t)count);
        slots[0] = coex_map_set(slots[0], slots[3], slots[2]);
        slots[1] = coex_set_add(slots[1], slots[3]);
        expect_entries(leaf_of(slots[0]), count, false);
        expect_entries(leaf_of(slots[1]), count, true);
    }
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}
