/* The map: what map.h promises, on the tree of trie.h; and what the set (set.c) does the same way. */
#include "values/map/trie.h"

#include <coex/values/list.h>
#include <coex/values/set.h>

/* ------------------------------------------------------------------- types */

static const uint32_t map_refs[] = {offsetof(struct cx_map, root)};
static const char *const map_ref_names[] = {"root"};

const coex_gc_type cx_type_map = {
    .name = "map", .size = sizeof(struct cx_map), .ref_offsets = map_refs, .ref_count = 1, .ref_names = map_ref_names};
const coex_gc_type cx_type_set = {
    .name = "set", .size = sizeof(struct cx_map), .ref_offsets = map_refs, .ref_count = 1, .ref_names = map_ref_names};

/* The nodes that the walk names are the map's, which is traced; so the walk is plain words. */
struct map_iterator {
    coex_handle map;
    struct cx_trie_walk walk;
};

static const uint32_t map_iterator_refs[] = {offsetof(struct map_iterator, map)};
static const char *const map_iterator_ref_names[] = {"map"};

const coex_gc_type cx_type_map_iterator = {.name = "map iterator",
                                           .size = sizeof(struct map_iterator),
                                           .ref_offsets = map_iterator_refs,
                                           .ref_count = 1,
                                           .flags = COEX_GC_MUTABLE,
                                           .ref_names = map_iterator_ref_names};

/* ------------------------------------------------------------------ making */

/* `root` is rooted. */
static coex_handle map_make(uint32_t flavor, coex_handle root)
{
    void *payload;
    enum cx_value_type type = (flavor & CX_TRIE_SET) != 0 ? CX_TYPE_set : CX_TYPE_map;
    coex_handle handle = coex_gc_alloc_at(sizeof(struct cx_map), cx_values.id[type], &payload);
    if (handle == 0) return cx_fail_memory();
    *(struct cx_map *)payload = (struct cx_map){.root = root, .count = cx_trie_size(root), .flavor = flavor};
    return handle;
}

coex_handle cx_map_wrap(uint32_t flavor, coex_handle root)
{
    coex_handle *slots = coex_gc_enter_frame_with(1, 1, &root);
    coex_handle map = map_make(flavor, root);
    coex_gc_leave_frame(slots);
    return map;
}

coex_handle coex_map_empty(uint32_t kind) { return kind < CX_TRIE_SET ? map_make(kind, 0) : cx_fail(COEX_STATUS_KIND); }

/* ----------------------------------------------------------------- looking */

static const struct cx_map *map_look(coex_handle word)
{
    const struct cx_map *map = cx_value_as(word, CX_TYPE_map);
    if (map == NULL) cx_fail(COEX_STATUS_KIND);
    return map;
}

uint32_t coex_map_kind(coex_handle map)
{
    const struct cx_map *it = map_look(map);
    return it != NULL ? (uint32_t)it->flavor : 0;
}

uint64_t coex_map_len(coex_handle map)
{
    const struct cx_map *it = map_look(map);
    return it != NULL ? it->count : 0;
}

bool coex_map_get(coex_handle map, uint64_t key, uint64_t *value)
{
    return cx_trie_get(map, key, value, CX_TYPE_map, COEX_STATUS_MISSING);
}

bool coex_map_has(coex_handle map, uint64_t key) { return cx_trie_get(map, key, NULL, CX_TYPE_map, COEX_STATUS_OK); }

/* ---------------------------------------------------------------- changing */

static coex_handle map_change(coex_handle map, uint64_t key, uint64_t value, bool remove)
{
    const struct cx_map *it = map_look(map);
    uint64_t hash;
    if (it == NULL || !cx_trie_admit((uint32_t)it->flavor, &key, &hash)) return 0;
    uint32_t flavor = (uint32_t)it->flavor;
    coex_handle root = it->root, was = root, result = map;
    coex_handle *slots = coex_gc_enter_frame(1);
    bool done = remove ? cx_trie_remove(flavor, &root, hash, key, slots) : cx_trie_set(flavor, &root, hash, key, value, slots);
    if (!done)
        result = 0;
    else if (root != was)
        result = map_make(flavor, root);
    coex_gc_leave_frame(slots);
    return result;
}

coex_handle coex_map_set(coex_handle map, uint64_t key, uint64_t value) { return map_change(map, key, value, false); }
coex_handle coex_map_remove(coex_handle map, uint64_t key) { return map_change(map, key, 0, true); }

/* ---------------------------------------------------------------- two maps */

coex_handle cx_map_combine(enum cx_trie_operation operation, coex_handle map, uint32_t flavor, coex_handle other)
{
    const struct cx_map *mine = coex_gc_handle_deref(map), *theirs = cx_map_as(other);
    if (theirs == NULL) return cx_fail(COEX_STATUS_KIND);
    uint32_t other_flavor = (uint32_t)theirs->flavor;
    if (((flavor ^ other_flavor) & (operation == CX_TRIE_MERGE ? UINT32_MAX : CX_TRIE_KEYS)) != 0) return cx_fail(COEX_STATUS_KIND);
    coex_handle root, own = mine->root, its = theirs->root;
    if (!cx_trie_combine(operation, flavor, own, other_flavor, its, &root)) return 0;
    return root == own ? map : operation == CX_TRIE_MERGE && root == its ? other : cx_map_wrap(flavor, root);
}

static coex_handle map_combine(enum cx_trie_operation operation, coex_handle map, coex_handle other)
{
    const struct cx_map *it = map_look(map);
    return it != NULL ? cx_map_combine(operation, map, (uint32_t)it->flavor, other) : 0;
}

coex_handle coex_map_merge(coex_handle map, coex_handle over) { return map_combine(CX_TRIE_MERGE, map, over); }
coex_handle coex_map_intersect(coex_handle map, coex_handle other) { return map_combine(CX_TRIE_INTERSECT, map, other); }
coex_handle coex_map_minus(coex_handle map, coex_handle other) { return map_combine(CX_TRIE_MINUS, map, other); }

/* ------------------------------------------------------------------- lists */

enum { MAP_LIST_CHUNK = 256 };

/* slots[0] becomes a builder. True: all is in it. */
static bool map_list_fill(coex_handle map, unsigned from, bool handles, coex_handle *slots)
{
    const struct cx_map *it = coex_gc_handle_deref(map);
    struct cx_trie_walk walk;
    uint64_t words[MAP_LIST_CHUNK], count;
    cx_trie_walk(&walk, (uint32_t)it->flavor, it->root);
    slots[0] = coex_list_empty(handles);
    if (slots[0] != 0) slots[0] = coex_list_builder(slots[0]);
    if (slots[0] == 0) return false;
    do {
        const uint64_t *entry;
        for (count = 0; count < MAP_LIST_CHUNK && (entry = cx_trie_next(&walk)) != NULL; count++) words[count] = entry[from];
        if (!coex_list_builder_append_words(slots[0], words, count)) return false;
    } while (count == MAP_LIST_CHUNK);
    return true;
}

coex_handle cx_map_list(coex_handle map, unsigned from, bool handles)
{
    coex_handle *slots = coex_gc_enter_frame(1);
    coex_handle list = map_list_fill(map, from, handles, slots) ? coex_list_builder_finish(slots[0]) : 0;
    coex_gc_leave_frame(slots);
    return list;
}

coex_handle coex_map_keys(coex_handle map)
{
    const struct cx_map *it = map_look(map);
    return it != NULL ? cx_map_list(map, 0, cx_trie_has_key_references((uint32_t)it->flavor)) : 0;
}

coex_handle coex_map_values(coex_handle map)
{
    const struct cx_map *it = map_look(map);
    return it != NULL ? cx_map_list(map, 1, (it->flavor & COEX_MAP_REFERENCES) != 0) : 0;
}

static coex_handle map_key_set(coex_handle map, coex_handle *slots)
{
    const struct cx_map *it = coex_gc_handle_deref(map);
    uint32_t flavor = (uint32_t)it->flavor;
    struct cx_trie_walk walk;
    cx_trie_walk(&walk, flavor, it->root);
    slots[0] = coex_set_empty(flavor & CX_TRIE_KEYS);
    if (slots[0] != 0) slots[0] = coex_set_builder(slots[0]);
    if (slots[0] == 0) return 0;
    for (const uint64_t *entry; (entry = cx_trie_next(&walk)) != NULL;) {
        if (!coex_set_builder_add(slots[0], *entry)) return 0;
    }
    return coex_set_builder_finish(slots[0]);
}

coex_handle coex_map_key_set(coex_handle map)
{
    if (map_look(map) == NULL) return 0;
    coex_handle *slots = coex_gc_enter_frame(1);
    coex_handle set = map_key_set(map, slots);
    coex_gc_leave_frame(slots);
    return set;
}

/* ----------------------------------------------------------------- walking */

bool coex_map_each(coex_handle map, bool (*visit)(void *context, uint64_t key, uint64_t value), void *context)
{
    const struct cx_map *it = map_look(map);
    struct cx_trie_walk walk;
    if (it == NULL) return false;
    cx_trie_walk(&walk, (uint32_t)it->flavor, it->root);
    for (const uint64_t *entry; (entry = cx_trie_next(&walk)) != NULL;) {
        if (!visit(context, entry[0], entry[1])) return false;
    }
    return true;
}

coex_handle cx_map_iterate(coex_handle map)
{
    void *payload;
    coex_handle handle = coex_gc_alloc_at(sizeof(struct map_iterator), cx_values.id[CX_TYPE_map_iterator], &payload);
    if (handle == 0) return cx_fail_memory();
    const struct cx_map *it = coex_gc_handle_deref(map);
    struct map_iterator *iterator = payload;
    iterator->map = map;
    cx_trie_walk(&iterator->walk, (uint32_t)it->flavor, it->root);
    return handle;
}

struct cx_trie_walk *cx_map_walk_of(coex_handle iterator, bool of_set)
{
    struct map_iterator *it = cx_value_as(iterator, CX_TYPE_map_iterator);
    if (it != NULL && ((it->walk.flavor & CX_TRIE_SET) != 0) == of_set) return &it->walk;
    cx_fail(COEX_STATUS_KIND);
    return NULL;
}

coex_handle coex_map_iterate(coex_handle map) { return map_look(map) != NULL ? cx_map_iterate(map) : 0; }

bool coex_map_next(coex_handle iterator, uint64_t *key, uint64_t *value)
{
    struct cx_trie_walk *walk = cx_map_walk_of(iterator, false);
    const uint64_t *entry = walk != NULL ? cx_trie_next(walk) : NULL;
    if (entry == NULL) return false;
    if (key != NULL) *key = entry[0];
    if (value != NULL) *value = entry[1];
    return true;
}

/* ---------------------------------------------------------------- builders */

coex_handle coex_map_builder(coex_handle map) { return map_look(map) != NULL ? cx_map_builder_new(map) : 0; }

bool coex_map_builder_set(coex_handle builder, uint64_t key, uint64_t value)
{
    return cx_map_builder_change(builder, false, key, value, false);
}

bool coex_map_builder_remove(coex_handle builder, uint64_t key) { return cx_map_builder_change(builder, false, key, 0, true); }

bool coex_map_builder_get(coex_handle builder, uint64_t key, uint64_t *value)
{
    int found = cx_map_builder_find(builder, false, key, value);
    return found == 0 ? cx_fail_false(COEX_STATUS_MISSING) : found > 0;
}

bool coex_map_builder_has(coex_handle builder, uint64_t key) { return cx_map_builder_find(builder, false, key, NULL) > 0; }
uint64_t coex_map_builder_len(coex_handle builder) { return cx_map_builder_size(builder, false); }
coex_handle coex_map_builder_finish(coex_handle builder) { return cx_map_builder_end(builder, false); }
