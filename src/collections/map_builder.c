/* Builders of maps and sets.
 *
 * A builder is a tree and, beside it, a table of the changes since: hashes, keys and values in three arrays, in ascending order of
 * hashes. The place of a change is given by the top bits of its hash, or the next free one behind it: linear probing that keeps its
 * order. So
 *  - a change costs one look at memory that is near in all three arrays, and moves its neighbours by one at most now and then;
 *  - the table doubles in one pass from front to back;
 *  - at the end the changes go into the tree in one pass, sorted as the tree is (cx_trie_apply): each node is made once, of the
 *    size it needs, immutable from birth, beside its neighbours in memory.
 * The table goes into the tree (a flush) at the end, when it would become larger than a third of the tree (and than some megabytes),
 * and when it has no room although it is mostly empty, as if somebody had chosen the keys. Hence n changes cost some passes in all,
 * not n paths.
 *
 * INV-BUILDER-1 hashes[i] is 0 where nothing is, and then keys[i] and values[i] are 0 too. Those that are not 0 ascend.
 * INV-BUILDER-2 between a change's own place and where it is, nothing is empty.
 * INV-BUILDER-3 a change with CX_TRIE_REMOVED is there only if the tree has the key.
 *
 * One thread's. The arrays are of MUTABLE types; references in them are written with the barrier. */
#include "collections/trie.h"

#include <string.h>

struct map_builder {
    coex_handle root;                 /* of the tree, 0: empty */
    coex_handle hashes, keys, values; /* 0: no table */
    uint64_t flavor;
    uint64_t used;  /* changes in the table */
    uint64_t shift; /* 64 - shift bits of a hash are a place */
    uint64_t stale; /* 1: finished */
};

enum {
    BUILDER_LEAST_BITS = 5,
    BUILDER_LEAST_MOST_BITS = 21, /* a table of 2^21 places, 48 MB, is used whatever the size of the tree */
    BUILDER_PAD = 32,             /* places behind the last own place */
    BUILDER_POLL = 4096           /* places between two safepoints while a table doubles */
};

static const uint32_t builder_refs[] = {offsetof(struct map_builder, root), offsetof(struct map_builder, hashes),
                                        offsetof(struct map_builder, keys), offsetof(struct map_builder, values)};
static const char *const builder_ref_names[] = {"root", "hashes", "keys", "values"};

const coex_gc_type cx_type_map_builder = {.name = "map builder",
                                          .size = sizeof(struct map_builder),
                                          .ref_offsets = builder_refs,
                                          .ref_count = 4,
                                          .flags = COEX_GC_MUTABLE,
                                          .ref_names = builder_ref_names};
const coex_gc_type cx_type_map_table = {.name = "map builder table", .flags = COEX_GC_MUTABLE};
const coex_gc_type cx_type_map_table_refs = {.name = "map builder table (references)",
                                             .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY};

coex_handle cx_map_builder_new(coex_handle map)
{
    void *payload;
    coex_handle handle = coex_gc_alloc_at(sizeof(struct map_builder), cx_values.id[CX_TYPE_map_builder], &payload);
    if (handle == 0) return cx_fail_memory();
    const struct cx_map *it = coex_gc_handle_deref(map);
    *(struct map_builder *)payload = (struct map_builder){.root = it->root, .flavor = it->flavor};
    return handle;
}

/* The builder, if it is one of its kind that is not finished. */
static struct map_builder *builder_look(coex_handle word, bool of_set)
{
    struct map_builder *builder = cx_value_as(word, CX_TYPE_map_builder);
    if (builder == NULL || ((builder->flavor & CX_TRIE_SET) != 0) != of_set)
        cx_fail(COEX_STATUS_KIND);
    else if (builder->stale != 0)
        cx_fail(COEX_STATUS_STALE);
    else
        return builder;
    return NULL;
}

/* ------------------------------------------------------------- the table */

/* A table as raw memory: until the next safepoint. */
struct map_table {
    coex_handle key_array, value_array;
    uint64_t *hashes, *keys, *values;
    uint64_t end, shift;
    bool key_references, value_references, has_values;
};

static uint64_t table_places(uint64_t shift) { return ((uint64_t)1 << (64 - shift)) + BUILDER_PAD; }

static struct map_table table_of(uint64_t flavor, uint64_t shift, coex_handle hashes, coex_handle keys, coex_handle values)
{
    return (struct map_table){.key_array = keys,
                              .value_array = values,
                              .hashes = coex_gc_handle_deref(hashes),
                              .keys = coex_gc_handle_deref(keys),
                              .values = coex_gc_handle_deref(values),
                              .end = hashes != 0 ? table_places(shift) : 0,
                              .shift = shift,
                              .key_references = cx_trie_has_key_references((uint32_t)flavor),
                              .value_references = (flavor & COEX_MAP_REFERENCES) != 0,
                              .has_values = values != 0};
}

static struct map_table table_of_builder(const struct map_builder *builder)
{
    return table_of(builder->flavor, builder->shift, builder->hashes, builder->keys, builder->values);
}

static void table_write(const struct map_table *table, uint64_t at, uint64_t hash, uint64_t key, uint64_t value)
{
    table->hashes[at] = hash;
    if (table->key_references)
        coex_gc_store(table->key_array, at * 8, key);
    else
        table->keys[at] = key;
    if (!table->has_values) return;
    if (table->value_references)
        coex_gc_store(table->value_array, at * 8, value);
    else
        table->values[at] = value;
}

static void table_move(const struct map_table *table, uint64_t from, uint64_t to)
{
    table_write(table, to, table->hashes[from], table->keys[from], table->has_values ? table->values[from] : 0);
}

/* Where the change of a key is, or else where it belongs. */
static bool table_find(const struct map_table *table, uint32_t flavor, uint64_t hash, uint64_t key, uint64_t *place)
{
    uint64_t at = table->end != 0 ? hash >> table->shift : 0;
    while (at < table->end && table->hashes[at] != 0 && (table->hashes[at] & ~CX_TRIE_REMOVED) < hash) at++;
    for (; at < table->end && (table->hashes[at] & ~CX_TRIE_REMOVED) == hash; at++) {
        if (cx_trie_same_key(flavor, table->keys[at], key)) {
            *place = at;
            return true;
        }
    }
    *place = at;
    return false;
}

/* Makes room at a place by moving what is from there to the next gap. False: there is no gap. */
static bool table_open(const struct map_table *table, uint64_t at)
{
    uint64_t gap = at;
    while (gap < table->end && table->hashes[gap] != 0) gap++;
    if (gap >= table->end) return false;
    for (; gap > at; gap--) table_move(table, gap - 1, gap);
    return true;
}

/* Takes out what is at a place; what follows moves up as far as it belongs. */
static void table_close(const struct map_table *table, uint64_t at)
{
    while (at + 1 < table->end && table->hashes[at + 1] != 0 && table->hashes[at + 1] >> table->shift <= at) {
        table_move(table, at + 1, at);
        at++;
    }
    table_write(table, at, 0, 0, 0);
}

/* -------------------------------------------------------------- its growth */

/* Three arrays in slots[0..2]. False: memory is exhausted. */
static bool builder_allocate(uint64_t flavor, uint64_t shift, coex_handle *slots)
{
    uint64_t bytes = table_places(shift) * 8;
    uint32_t plain = cx_values.id[CX_TYPE_map_table], refs = cx_values.id[CX_TYPE_map_table_refs];
    bool set = (flavor & CX_TRIE_SET) != 0;
    slots[0] = coex_gc_alloc(bytes, plain);
    if (slots[0] != 0) slots[1] = coex_gc_alloc(bytes, cx_trie_has_key_references((uint32_t)flavor) ? refs : plain);
    if (slots[1] != 0 && !set) slots[2] = coex_gc_alloc(bytes, (flavor & COEX_MAP_REFERENCES) != 0 ? refs : plain);
    if (slots[1] != 0 && (set || slots[2] != 0)) return true;
    return cx_fail_false(COEX_STATUS_MEMORY);
}

/* Copies places of the old table from *from on, some thousands; `to` is the least place of the new one that is free. True: that was
 * all. */
static bool builder_copy_some(const struct map_table *old, const struct map_table *table, uint64_t *from, uint64_t *to)
{
    uint64_t until = old->end - *from > BUILDER_POLL ? *from + BUILDER_POLL : old->end;
    for (; *from < until; (*from)++) {
        uint64_t hash = old->hashes[*from];
        if (hash == 0) continue;
        if (hash >> table->shift > *to) *to = hash >> table->shift;
        table_write(table, (*to)++, hash, old->keys[*from], old->has_values ? old->values[*from] : 0);
    }
    return until == old->end;
}

/* Twice as many places as before: there is always room then, as what is in it needs no more places than it had. */
static bool builder_grow(coex_handle handle, coex_handle *slots)
{
    const struct map_builder *builder = coex_gc_handle_deref(handle);
    uint64_t flavor = builder->flavor, from = 0, to = 0;
    uint64_t shift = builder->hashes != 0 ? builder->shift - 1 : 64 - BUILDER_LEAST_BITS;
    if (!builder_allocate(flavor, shift, slots)) return false;
    for (bool all = false; !all; coex_gc_safepoint()) {
        struct map_table old = table_of_builder(coex_gc_handle_deref(handle));
        struct map_table table = table_of(flavor, shift, slots[0], slots[1], slots[2]);
        all = builder_copy_some(&old, &table, &from, &to);
    }
    coex_gc_store(handle, offsetof(struct map_builder, hashes), slots[0]);
    coex_gc_store(handle, offsetof(struct map_builder, keys), slots[1]);
    coex_gc_store(handle, offsetof(struct map_builder, values), slots[2]);
    ((struct map_builder *)coex_gc_handle_deref(handle))->shift = shift;
    return true;
}

/* All changes go into the tree; the table goes. False: nothing has changed. */
static bool builder_flush(coex_handle handle)
{
    const struct map_builder *builder = coex_gc_handle_deref(handle);
    if (builder->used == 0) return true;
    coex_handle root = builder->root;
    struct cx_trie_batch batch = {builder->hashes, builder->keys, builder->values, 0, table_places(builder->shift)};
    if (!cx_trie_apply((uint32_t)builder->flavor, &root, &batch)) return false;
    coex_gc_store(handle, offsetof(struct map_builder, root), root);
    coex_gc_store(handle, offsetof(struct map_builder, hashes), 0);
    coex_gc_store(handle, offsetof(struct map_builder, keys), 0);
    coex_gc_store(handle, offsetof(struct map_builder, values), 0);
    ((struct map_builder *)coex_gc_handle_deref(handle))->used = 0;
    return true;
}

/* The largest table, in bits of places: half as many as the tree has entries, and some in any case. */
static unsigned builder_most_bits(const struct map_builder *builder)
{
    uint64_t size = cx_trie_size(builder->root);
    unsigned bits = BUILDER_LEAST_MOST_BITS;
    while (size >> bits > 2) bits++;
    return bits;
}

/* Makes sure that there is room for one more at the place that it belongs to; may move everything. */
static bool builder_make_room(coex_handle handle)
{
    const struct map_builder *builder = coex_gc_handle_deref(handle);
    uint64_t bits = builder->hashes != 0 ? 64 - builder->shift : 0;
    bool sparse = builder->hashes != 0 && builder->used < ((uint64_t)1 << bits) / 4;
    if ((sparse || bits >= builder_most_bits(builder)) && !builder_flush(handle)) return false;
    coex_handle *slots = coex_gc_enter_frame(3);
    bool done = builder_grow(handle, slots);
    coex_gc_leave_frame(slots);
    return done;
}

/* At most 11 of 16 places are used: then a change is two places from its own on average. */
static bool builder_is_full(const struct map_builder *builder)
{
    return builder->hashes == 0 || builder->used >= ((uint64_t)11 << (64 - builder->shift)) / 16;
}

/* ---------------------------------------------------------------- changing */

/* What is changed already in the table, or needs no more room than it has. False: something is to be inserted. */
static bool builder_change_in_place(struct map_builder *builder, uint64_t hash, uint64_t key, uint64_t value, bool remove)
{
    uint64_t at;
    uint32_t flavor = (uint32_t)builder->flavor;
    struct map_table table = table_of_builder(builder);
    bool found = table_find(&table, flavor, hash, key, &at);
    if (found && !remove) {
        table_write(&table, at, hash, table.keys[at], value);
        return true;
    }
    if (remove && cx_trie_look(flavor, builder->root, hash, key) == NULL) {
        if (found) {
            table_close(&table, at);
            builder->used--;
        }
        return true;
    }
    if (found) {
        table_write(&table, at, hash | CX_TRIE_REMOVED, table.keys[at], 0);
        return true;
    }
    if (builder_is_full(builder) || !table_open(&table, at)) return false;
    table_write(&table, at, remove ? hash | CX_TRIE_REMOVED : hash, key, value);
    builder->used++;
    return true;
}

bool cx_map_builder_change(coex_handle handle, bool of_set, uint64_t key, uint64_t value, bool remove)
{
    struct map_builder *builder = builder_look(handle, of_set);
    uint64_t hash;
    if (builder == NULL || !cx_trie_admit((uint32_t)builder->flavor, &key, &hash)) return false;
    while (!builder_change_in_place(builder, hash, key, value, remove)) {
        if (!builder_make_room(handle)) return false;
        builder = coex_gc_handle_deref(handle);
    }
    return true;
}

/* ----------------------------------------------------------------- looking */

int cx_map_builder_find(coex_handle handle, bool of_set, uint64_t key, uint64_t *value)
{
    const struct map_builder *builder = builder_look(handle, of_set);
    uint64_t hash, at;
    if (builder == NULL || !cx_trie_admit((uint32_t)builder->flavor, &key, &hash)) return -1;
    uint32_t flavor = (uint32_t)builder->flavor;
    struct map_table table = table_of_builder(builder);
    if (table_find(&table, flavor, hash, key, &at)) {
        if ((table.hashes[at] & CX_TRIE_REMOVED) != 0) return 0;
        if (value != NULL && table.has_values) *value = table.values[at];
        return 1;
    }
    const uint64_t *entry = cx_trie_look(flavor, builder->root, hash, key);
    if (entry != NULL && value != NULL && !of_set) *value = entry[1];
    return entry != NULL;
}

uint64_t cx_map_builder_size(coex_handle handle, bool of_set)
{
    const struct map_builder *builder = builder_look(handle, of_set);
    if (builder == NULL) return UINT64_MAX;
    if (builder->root == 0) return builder->used;
    if (!builder_flush(handle)) return UINT64_MAX;
    builder = coex_gc_handle_deref(handle);
    return cx_trie_size(builder->root);
}

coex_handle cx_map_builder_end(coex_handle handle, bool of_set)
{
    if (builder_look(handle, of_set) == NULL || !builder_flush(handle)) return 0;
    struct map_builder *builder = coex_gc_handle_deref(handle);
    coex_handle map = cx_map_wrap((uint32_t)builder->flavor, builder->root);
    builder = coex_gc_handle_deref(handle);
    if (map == 0) return 0;
    builder->stale = 1;
    coex_gc_store(handle, offsetof(struct map_builder, root), 0);
    return map;
}
