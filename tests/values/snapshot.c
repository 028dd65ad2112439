/* Heap snapshots of values: types by their names, and references by the names of their fields or the numbers of their elements. */
#include "support/objects.h"
#include "support/snapshot_reader.h"

#include <coex/values.h>
#include <coex/values/json.h>
#include <unistd.h>

static snapshot snapshot_now(void)
{
    char path[] = "/tmp/coex-values-XXXXXX";
    int file = mkstemp(path);
    expect(file >= 0);
    close(file);
    ck_assert_int_eq(coex_gc_write_heap_snapshot(path), COEX_GC_OK);
    snapshot shot = snapshot_read(path);
    unlink(path);
    return shot;
}

/* Follows the fields of a path, names and numbers, from an object; each step is "name:type" or "[number]:type". */
static const snapshot_node *follow(const snapshot *shot, coex_handle from, const char *const *steps)
{
    const snapshot_node *node = snapshot_object(shot, from);
    for (; *steps != NULL; steps++) {
        char field[64];
        const char *type = strchr(*steps, ':') + 1;
        snprintf(field, sizeof field, "%.*s", (int)(type - 1 - *steps), *steps);
        expect(node != NULL);
        const snapshot_node *next =
            field[0] == '[' ? snapshot_element(shot, node, strtoull(field + 1, NULL, 10)) : snapshot_property(shot, node, field);
        if (next == NULL) test_fail(__FILE__, __LINE__, "'%s' has no '%s'", node->name, field);
        ck_assert_str_eq(next->name, type);
        node = next;
    }
    return node;
}

#define expect_path(shot, from, ...) follow(shot, from, (const char *const[]){__VA_ARGS__, NULL})

TEST(values_are_seen_by_the_names_of_their_types_and_fields)
{
    enum { STRING, LIST, LONG, MAP, JSON, CELL, CHANNEL, ARRAY, SLICE, SLOTS };
    start_default();
    coex_handle *slots = coex_gc_enter_frame(SLOTS);
    slots[STRING] = coex_string_from_c("a text that is longer than what a slice copies, so that it shares");
    slots[SLICE] = coex_string_slice(slots[STRING], 2, 60);
    slots[LIST] = coex_list_from_words((const uint64_t[]){0, slots[STRING]}, 2, true);
    slots[LONG] = coex_list_empty(true);
    for (unsigned i = 0; i < 70; i++) slots[LONG] = coex_list_append(slots[LONG], slots[LIST]);
    slots[MAP] = coex_map_empty(COEX_MAP_INTEGER);
    for (unsigned i = 0; i < 200; i++) slots[MAP] = coex_map_set(slots[MAP], i, i);
    slots[JSON] = coex_json_object();
    slots[JSON] = coex_json_set_text(slots[JSON], "list", 4, slots[LIST]);
    slots[CELL] = coex_cell_new(slots[JSON]);
    slots[CHANNEL] = coex_channel_new(2, true);
    expect(coex_channel_send(slots[CHANNEL], slots[CELL]));
    slots[ARRAY] = coex_array_from(&slots[CHANNEL], 1, 8, true);
    snapshot shot = snapshot_now();
    ck_assert_str_eq(snapshot_object(&shot, slots[STRING])->name, "string");
    ck_assert_str_eq(snapshot_object(&shot, slots[MAP])->name, "map");
    expect_path(&shot, slots[SLICE], "base:string");
    expect_path(&shot, slots[LIST], "[1]:string");
    expect_path(&shot, slots[LONG], "root:list node", "[1]:list leaf", "[31]:list", "[1]:string");
    expect_path(&shot, slots[MAP], "root:map branch");
    expect_path(&shot, slots[JSON], "shape:json shape", "[0]:string");
    expect_path(&shot, slots[ARRAY], "buffer:array buffer", "[0]:channel", "head:channel references", "[0]:cell",
                "value:json object", "[0]:list");
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

/* Leaves of a few entries and of many. */
TEST(references_in_leaves_of_maps_and_sets_are_keys_values_and_elements)
{
    enum { FEW, MANY, WORDS, SET, SLOTS };
    start_default();
    coex_handle *slots = coex_gc_enter_frame(SLOTS + 1), *key = &slots[SLOTS];
    slots[FEW] = coex_map_empty(COEX_MAP_STRING | COEX_MAP_REFERENCES);
    slots[MANY] = coex_map_empty(COEX_MAP_STRING);
    slots[WORDS] = coex_map_empty(COEX_MAP_INTEGER | COEX_MAP_REFERENCES);
    slots[SET] = coex_set_empty(COEX_MAP_STRING);
    for (unsigned i = 0; i < 40; i++) {
        *key = coex_string_from_int(i);
        if (i < 4) slots[FEW] = coex_map_set(slots[FEW], *key, slots[WORDS]);
        slots[MANY] = coex_map_set(slots[MANY], *key, i);
        slots[SET] = coex_set_add(slots[SET], *key);
        slots[WORDS] = coex_map_set(slots[WORDS], i, *key);
    }
    snapshot shot = snapshot_now();
    expect_path(&shot, slots[FEW], "root:small map leaf with references", "key 0:string");
    expect_path(&shot, slots[FEW], "root:small map leaf with references", "value 3:map");
    expect_path(&shot, slots[MANY], "root:map leaf with key references", "key 39:string");
    expect_path(&shot, slots[WORDS], "root:map leaf with value references", "value 39:string");
    expect_path(&shot, slots[SET], "root:set leaf with references", "element 39:string");
    ck_assert_uint_eq(snapshot_named(&shot, "map leaf with key references")->edge_count, 40);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}
