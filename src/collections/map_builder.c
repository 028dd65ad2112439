/* Builders of maps and sets.
 *
 * A builder is a tree and, beside it, a table of the changes since (struct cx_trie_batch), in ascending order of hashes. The place of
 * a change is given by the top bits of its hash, or the next free one behind it: linear probing that keeps its order. So
 *  - a change costs one look at memory in each of its two arrays, and moves its neighbours by one at most now and then;
 *  - the table doubles in one pass from front to back;
 *  - at the end the changes go into the tree in one pass, sorted as the tree is (cx_trie_apply): each node is made once, of the
 *    size it needs, immutable from birth, beside its neighbours in memory.
 * The table goes into the tree (a flush) at the end, when it would become larger than a third of the tree (and than some megabytes),
 * and when it has no room although it is mostly empty, as if somebody had chosen the keys. Hence n changes cost some passes in all,
 * not n paths.
 *
 * Where a change goes in a large table is far from where the last one went. So changes wait in a ring of a few rows until the memory
 * that they go to has come: each asks for it, and puts the oldest of the ring to its place. What needs the table as it ought to be
 * settles the ring first; looking for a key, which may not fail and is no safepoint, looks at both.
 *
 * INV-BUILDER-1 the hash of a place is 0 where nothing is, and then key and value are 0 too. Those that are not 0 ascend.
 * INV-BUILDER-2 between a change's own place and where it is, nothing is empty.
 * INV-BUILDER-3 a change with CX_TRIE_REMOVED is there only if the tree has the key.
 * INV-BUILDER-4 rows of the ring that wait are `late` in number, end before late_next and are later than all of the table.
 *
 * One thread's. The arrays are of MUTABLE types; references in them are written with the barrier. */
#include "collections/trie.h"

#include <string.h>

struct map_builder {
    coex_handle root;  /* of the tree, 0: empty */
    coex_handle words; /* of the table; 0: there is none */
    coex_handle refs;  /* of the table; 0: there is none, or nothing in it is a reference */
    uint64_t flavor;
    uint64_t used;                     /* changes in the table */
    uint64_t shift;                    /* 64 - shift bits of a hash are a place */
    uint64_t stale;                    /* 1: finished */
    coex_handle late_words, late_refs; /* changes that wait: arrays as those of the table. 0: not used yet */
    uint64_t late;                     /* how many wait */
    uint64_t late_next;                /* the next of them to be taken, or free: counts up, modulo BUILDER_LATE */
};

enum {
    BUILDER_LEAST_BITS = 5,
    BUILDER_LEAST_MOST_BITS = 21, /* a table of 2^21 places, 48 MB, is used whatever the size of the tree */
    BUILDER_PAD = 32,             /* places behind the last own place */
    BUILDER_POLL = 4096,          /* places between two safepoints while a table doubles */
    BUILDER_LATE = 16,            /* changes that wait: about as many lines as a processor fetches at a time */
    BUILDER_LATE_BITS = 7         /* a table of fewer places is near in any case, and not worth a ring */
};

static const uint32_t builder_refs[] = {offsetof(struct map_builder, root), offsetof(struct map_builder, words),
                                        offsetof(struct map_builder, refs), offsetof(struct map_builder, late_words),
                                        offsetof(struct map_builder, late_refs)};
static const char *const builder_ref_names[] = {"root", "words", "refs", "late words", "late refs"};

const coex_gc_type cx_type_map_builder = {.name = "map builder",
                                          .size = sizeof(struct map_builder),
                                          .ref_offsets = builder_refs,
                                          .ref_count = 5,
                                          .flags = COEX_GC_MUTABLE,
                                          .ref_names = builder_ref_names};
const coex_gc_type cx_type_map_table = {.name = "map builder table", .flags = COEX_GC_MUTABLE};
const coex_gc_type cx_type_map_table_refs = {.name = "map builder table with references",
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
    struct cx_trie_rows rows;
    coex_handle refs;
    uint64_t end, shift;
    uint32_t flavor;
};

static uint64_t table_places(uint64_t shift) { return ((uint64_t)1 << (64 - shift)) + BUILDER_PAD; }

static inline struct map_table table_of(uint64_t flavor, uint64_t shift, coex_handle words, coex_handle refs)
{
    if (words == 0) return (struct map_table){.shift = shift, .flavor = (uint32_t)flavor};
    return (struct map_table){.rows = cx_trie_rows((uint32_t)flavor, words, refs),
                              .refs = refs,
                              .end = table_places(shift),
                              .shift = shift,
                              .flavor = (uint32_t)flavor};
}

static inline struct map_table table_of_builder(const struct map_builder *builder)
{
    return table_of(builder->flavor, builder->shift, builder->words, builder->refs);
}

static inline uint64_t *table_hash(const struct map_table *table, uint64_t at)
{
    return &table->rows.hash[at * table->rows.hash_step];
}
static inline uint64_t *table_key(const struct map_table *table, uint64_t at)
{
    return &table->rows.key[at * table->rows.key_step];
}
static inline uint64_t *table_value(const struct map_table *table, uint64_t at)
{
    return &table->rows.value[at * table->rows.value_step];
}

static inline void table_write(const struct map_table *table, uint64_t at, uint64_t hash, uint64_t key, uint64_t value)
{
    unsigned step = cx_rows_refs(table->flavor);
    *table_hash(table, at) = hash;
    if (cx_trie_has_key_references(table->flavor))
        coex_gc_store(table->refs, at * step * 8, key);
    else
        *table_key(table, at) = key;
    if (table->rows.value == NULL) return;
    if ((table->flavor & COEX_MAP_REFERENCES) != 0)
        coex_gc_store(table->refs, (at * step + step - 1) * 8, value);
    else
        *table_value(table, at) = value;
}

/* What is at a place of another table, or of this one. */
static void table_copy(const struct map_table *table, uint64_t to, const struct map_table *old, uint64_t from)
{
    table_write(table, to, *table_hash(old, from), *table_key(old, from), old->rows.value != NULL ? *table_value(old, from) : 0);
}

/* Where the change of a key is, or else where it belongs. */
static bool table_find(const struct map_table *table, uint64_t hash, uint64_t key, uint64_t *place)
{
    uint64_t at = table->end != 0 ? hash >> table->shift : 0, other = 0;
    for (; at < table->end; at++) {
        other = *table_hash(table, at) & ~CX_TRIE_REMOVED;
        if (other == 0 || other >= hash) break;
    }
    for (; at < table->end && other == hash; at++, other = at < table->end ? *table_hash(table, at) & ~CX_TRIE_REMOVED : 0) {
        if (cx_trie_same_key(table->flavor, *table_key(table, at), key)) {
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
    while (gap < table->end && *table_hash(table, gap) != 0) gap++;
    if (gap >= table->end) return false;
    for (; gap > at; gap--) table_copy(table, gap, table, gap - 1);
    return true;
}

/* Takes out what is at a place; what follows moves up as far as it belongs. */
static void table_close(const struct map_table *table, uint64_t at)
{
    while (at + 1 < table->end && *table_hash(table, at + 1) != 0 && *table_hash(table, at + 1) >> table->shift <= at) {
        table_copy(table, at, table, at + 1);
        at++;
    }
    table_write(table, at, 0, 0, 0);
}

/* -------------------------------------------------------------- its growth */

/* Two arrays in slots[0] and slots[1]. False: memory is exhausted. */
static bool builder_allocate(uint32_t flavor, uint64_t places, coex_handle *slots)
{
    uint64_t bytes = places * 8;
    unsigned refs = cx_rows_refs(flavor);
    slots[0] = coex_gc_alloc(bytes * cx_rows_words(flavor), cx_values.id[CX_TYPE_map_table]);
    if (slots[0] != 0 && refs != 0) slots[1] = coex_gc_alloc(bytes * refs, cx_values.id[CX_TYPE_map_table_refs]);
    if (slots[0] != 0 && (refs == 0 || slots[1] != 0)) return true;
    return cx_fail_false(COEX_STATUS_MEMORY);
}

/* Copies places of the old table from *from on, some thousands; `to` is the least place of the new one that is free. True: that was
 * all. */
static bool builder_copy_some(const struct map_table *old, const struct map_table *table, uint64_t *from, uint64_t *to)
{
    uint64_t until = old->end - *from > BUILDER_POLL ? *from + BUILDER_POLL : old->end;
    for (; *from < until; (*from)++) {
        uint64_t hash = *table_hash(old, *from);
        if (hash == 0) continue;
        if (hash >> table->shift > *to) *to = hash >> table->shift;
        table_copy(table, (*to)++, old, *from);
    }
    return until == old->end;
}

/* Twice as many places as before: there is always room then, as what is in it needs no more places than it had. */
static bool builder_grow(coex_handle handle, coex_handle *slots)
{
    const struct map_builder *builder = coex_gc_handle_deref(handle);
    uint64_t from = 0, to = 0;
    uint32_t flavor = (uint32_t)builder->flavor;
    uint64_t shift = builder->words != 0 ? builder->shift - 1 : 64 - BUILDER_LEAST_BITS;
    if (!builder_allocate(flavor, table_places(shift), slots)) return false;
    for (bool all = false; !all; coex_gc_safepoint()) {
        struct map_table old = table_of_builder(coex_gc_handle_deref(handle));
        struct map_table table = table_of(flavor, shift, slots[0], slots[1]);
        all = builder_copy_some(&old, &table, &from, &to);
    }
    coex_gc_store(handle, offsetof(struct map_builder, words), slots[0]);
    coex_gc_store(handle, offsetof(struct map_builder, refs), slots[1]);
    ((struct map_builder *)coex_gc_handle_deref(handle))->shift = shift;
    return true;
}

/* All changes go into the tree; the table goes. False: nothing has changed. */
static bool builder_flush(coex_handle handle)
{
    const struct map_builder *builder = coex_gc_handle_deref(handle);
    if (builder->used == 0) return true;
    coex_handle root = builder->root;
    struct cx_trie_batch batch = {builder->words, builder->refs, 0, table_places(builder->shift)};
    if (!cx_trie_apply((uint32_t)builder->flavor, &root, &batch)) return false;
    coex_gc_store(handle, offsetof(struct map_builder, root), root);
    coex_gc_store(handle, offsetof(struct map_builder, words), 0);
    coex_gc_store(handle, offsetof(struct map_builder, refs), 0);
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
    uint64_t bits = builder->words != 0 ? 64 - builder->shift : 0;
    bool sparse = builder->words != 0 && builder->used < ((uint64_t)1 << bits) / 4;
    if ((sparse || bits >= builder_most_bits(builder)) && !builder_flush(handle)) return false;
    coex_handle *slots = coex_gc_enter_frame(2);
    bool done = builder_grow(handle, slots);
    coex_gc_leave_frame(slots);
    return done;
}

/* At most 11 of 16 places are used: then a change is two places from its own on average. */
static bool builder_is_full(const struct map_builder *builder)
{
    return builder->words == 0 || builder->used >= ((uint64_t)11 << (64 - builder->shift)) / 16;
}

/* ---------------------------------------------------------------- changing */

/* What is changed already in the table, or needs no more room than it has. False: something is to be inserted. */
static bool builder_change_in_place(struct map_builder *builder, uint64_t hash, uint64_t key, uint64_t value, bool remove)
{
    uint64_t at;
    uint32_t flavor = (uint32_t)builder->flavor;
    struct map_table table = table_of_builder(builder);
    bool found = table_find(&table, hash, key, &at);
    if (found && !remove) {
        table_write(&table, at, hash, *table_key(&table, at), value);
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
        table_write(&table, at, hash | CX_TRIE_REMOVED, *table_key(&table, at), 0);
        return true;
    }
    if (builder_is_full(builder) || !table_open(&table, at)) return false;
    table_write(&table, at, remove ? hash | CX_TRIE_REMOVED : hash, key, value);
    builder->used++;
    return true;
}

/* A change into the table. False: memory is exhausted. */
static bool builder_put(coex_handle handle, uint64_t hash, uint64_t key, uint64_t value, bool remove)
{
    while (!builder_change_in_place(coex_gc_handle_deref(handle), hash, key, value, remove)) {
        if (!builder_make_room(handle)) return false;
    }
    return true;
}

/* ---------------------------------------------------------------- the ring */

static inline struct map_table late_rows(const struct map_builder *builder)
{
    return table_of(builder->flavor, 63, builder->late_words, builder->late_refs);
}

/* The oldest that waits goes into the table. Its row stays as it is. False: memory is exhausted. */
static bool late_put(coex_handle handle)
{
    struct map_builder *builder = coex_gc_handle_deref(handle);
    struct map_table ring = late_rows(builder);
    uint64_t at = (builder->late_next - builder->late) % BUILDER_LATE;
    uint64_t hash = *table_hash(&ring, at), value = ring.rows.value != NULL ? *table_value(&ring, at) : 0;
    bool remove = (hash & CX_TRIE_REMOVED) != 0;
    if (!builder_put(handle, hash & ~CX_TRIE_REMOVED, *table_key(&ring, at), value, remove)) return false;
    ((struct map_builder *)coex_gc_handle_deref(handle))->late--;
    return true;
}

/* All that waits goes into the table. False: memory is exhausted, and some of it still waits. */
static bool builder_settle(coex_handle handle)
{
    const struct map_builder *builder = coex_gc_handle_deref(handle);
    if (builder->late == 0) return true;
    while (builder->late != 0) {
        if (!late_put(handle)) return false;
        builder = coex_gc_handle_deref(handle);
    }
    struct map_table ring = late_rows(builder);
    for (uint64_t i = 0; i < BUILDER_LATE; i++) table_write(&ring, i, 0, 0, 0); /* so that they keep nothing alive */
    return true;
}

static bool late_begin(coex_handle handle)
{
    uint32_t flavor = (uint32_t)((const struct map_builder *)coex_gc_handle_deref(handle))->flavor;
    coex_handle *slots = coex_gc_enter_frame(2);
    bool done = builder_allocate(flavor, BUILDER_LATE, slots);
    if (done) {
        coex_gc_store(handle, offsetof(struct map_builder, late_words), slots[0]);
        coex_gc_store(handle, offsetof(struct map_builder, late_refs), slots[1]);
    }
    coex_gc_leave_frame(slots);
    return done;
}

/* A change that waits, if need be in place of the oldest that does. A hash with CX_TRIE_REMOVED: to be removed. False: memory is
 * exhausted. */
static bool builder_put_late(coex_handle handle, uint64_t hash, uint64_t key, uint64_t value)
{
    struct map_builder *builder = coex_gc_handle_deref(handle);
    if (COEX_UNLIKELY(builder->late_words == 0)) {
        if (!late_begin(handle)) return false;
        builder = coex_gc_handle_deref(handle);
    }
    if (COEX_LIKELY(builder->late == BUILDER_LATE)) {
        if (!late_put(handle)) return false;
        builder = coex_gc_handle_deref(handle);
    }
    struct map_table ring = late_rows(builder), table = table_of_builder(builder);
    table_write(&ring, builder->late_next++ % BUILDER_LATE, hash, key, value);
    builder->late++;
    if (COEX_UNLIKELY(table.end == 0)) return true;
    __builtin_prefetch(table_hash(&table, hash >> table.shift), 1);
    if (builder->refs != 0) __builtin_prefetch(table_key(&table, hash >> table.shift), 1);
    return true;
}

/* Is the key among those that wait? The last of them counts. */
static bool late_find(const struct map_builder *builder, uint64_t hash, uint64_t key, uint64_t *place)
{
    struct map_table ring = late_rows(builder);
    for (uint64_t i = 1; i <= builder->late; i++) {
        *place = (builder->late_next - i) % BUILDER_LATE;
        if ((*table_hash(&ring, *place) & ~CX_TRIE_REMOVED) == hash &&
            cx_trie_same_key(ring.flavor, *table_key(&ring, *place), key))
            return true;
    }
    return false;
}

bool cx_map_builder_change(coex_handle handle, bool of_set, uint64_t key, uint64_t value, bool remove)
{
    struct map_builder *builder = builder_look(handle, of_set);
    uint64_t hash;
    if (builder == NULL || !cx_trie_admit((uint32_t)builder->flavor, &key, &hash)) return false;
    if (builder->words != 0 && 64 - builder->shift >= BUILDER_LATE_BITS)
        return builder_put_late(handle, remove ? hash | CX_TRIE_REMOVED : hash, key, value);
    return builder_settle(handle) && builder_put(handle, hash, key, value, remove);
}

/* ----------------------------------------------------------------- looking */

int cx_map_builder_find(coex_handle handle, bool of_set, uint64_t key, uint64_t *value)
{
    const struct map_builder *builder = builder_look(handle, of_set);
    uint64_t hash, at;
    if (builder == NULL || !cx_trie_admit((uint32_t)builder->flavor, &key, &hash)) return -1;
    uint32_t flavor = (uint32_t)builder->flavor;
    bool late = late_find(builder, hash, key, &at);
    struct map_table table = late ? late_rows(builder) : table_of_builder(builder);
    if (late || table_find(&table, hash, key, &at)) {
        if ((*table_hash(&table, at) & CX_TRIE_REMOVED) != 0) return 0;
        if (value != NULL && table.rows.value != NULL) *value = *table_value(&table, at);
        return 1;
    }
    const uint64_t *entry = cx_trie_look(flavor, builder->root, hash, key);
    if (entry != NULL && value != NULL && !of_set) *value = entry[1];
    return entry != NULL;
}

uint64_t cx_map_builder_size(coex_handle handle, bool of_set)
{
    const struct map_builder *builder = builder_look(handle, of_set);
    if (builder == NULL || !builder_settle(handle)) return UINT64_MAX;
    builder = coex_gc_handle_deref(handle);
    if (builder->root == 0) return builder->used;
    if (!builder_flush(handle)) return UINT64_MAX;
    builder = coex_gc_handle_deref(handle);
    return cx_trie_size(builder->root);
}

coex_handle cx_map_builder_end(coex_handle handle, bool of_set)
{
    if (builder_look(handle, of_set) == NULL || !builder_settle(handle) || !builder_flush(handle)) return 0;
    struct map_builder *builder = coex_gc_handle_deref(handle);
    coex_handle map = cx_map_wrap((uint32_t)builder->flavor, builder->root);
    builder = coex_gc_handle_deref(handle);
    if (map == 0) return 0;
    builder->stale = 1;
    coex_gc_store(handle, offsetof(struct map_builder, root), 0);
    return map;
}
