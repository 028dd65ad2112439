/* Builders of maps and sets.
 *
 * A builder is a tree and, beside it, a table of the changes since (map_table.h). Changes go into
 * the tree (a *flush*) sorted by hash, as the tree is (cx_map_list_sorted, cx_trie_apply): each
 * node is made once, of the size it needs, immutable from birth, beside its neighbours in memory. A
 * flush happens
 *  - at the end;
 *  - when the table would become larger than a third of the tree (and than some megabytes);
 *  - when half of the tree's keys are removed, so that the builder keeps few removed values alive.
 * Hence n changes cost some passes in all, not n paths, in whatever order their keys arrive.
 *
 * The place of a change in a large table is far from that of the one before. So changes wait in a
 * ring of a few rows until the memory that they go to has come: each asks for it, and puts the
 * oldest of the ring to its place. Functions that need a complete table settle the ring first;
 * looking for a key, which may not fail and is no safepoint, looks at both. A removal does not
 * wait: it drops the value at once, in the ring and in the table.
 *
 * INV-BUILDER-1 a change with CX_TRIE_REMOVED is in the table only if the tree has the key;
 *               `removed` counts them.
 * INV-BUILDER-2 rows of the ring that wait are `late` in number, and end before late_next. The
 *               changes of a key in it are later than that in the table, or they are removals.
 *
 * One thread's. The arrays are of MUTABLE types; references in them are written with the barrier. */
#include "values/map/map_table.h"

struct map_builder {
    coex_handle root;  /* of the tree, 0: empty */
    coex_handle words; /* of the table; 0: there is none */
    coex_handle refs;  /* of the table; 0: there is none, or nothing in it is a reference */
    uint64_t flavor;
    uint64_t used;                     /* changes in the table */
    uint64_t removed;                  /* those of them that remove a key of the tree */
    uint64_t shift;                    /* of the table: 2^(64 - shift) places */
    uint64_t stale;                    /* 1: finished */
    coex_handle late_words, late_refs; /* changes that wait: arrays as those of the table. 0: not used yet */
    uint64_t late;                     /* how many wait */
    uint64_t late_next;                /* the next of them to be taken, or free: counts up, modulo BUILDER_LATE */
};

enum {
    BUILDER_LEAST_BITS = 5,
    BUILDER_LEAST_MOST_BITS = 21, /* a table of 2^21 places, 48 MB, is used whatever the size of the tree */
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

/* Returns the builder if it is one of its kind that is not finished, else NULL. */
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

/* --------------------------------------------------------------- the table */

__thread uint64_t cx_map_table_steps;

static inline struct cx_map_table builder_table(const struct map_builder *builder)
{
    return cx_map_table(builder->flavor, builder->shift, builder->words, builder->refs);
}

/* Allocates two arrays in slots[0] and slots[1]. Returns false if memory is exhausted. */
static bool builder_allocate(uint32_t flavor, uint64_t places, coex_handle *slots)
{
    uint64_t bytes = places * 8;
    unsigned refs = cx_rows_refs(flavor);
    slots[0] = coex_gc_alloc(bytes * cx_rows_words(flavor), cx_values.id[CX_TYPE_map_table]);
    if (slots[0] != 0 && refs != 0) slots[1] = coex_gc_alloc(bytes * refs, cx_values.id[CX_TYPE_map_table_refs]);
    if (slots[0] != 0 && (refs == 0 || slots[1] != 0)) return true;
    return cx_fail_false(COEX_STATUS_MEMORY);
}

/* Copies changes of the old table from *from on, some thousands of places. Returns true at its end. */
static bool builder_copy_some(const struct cx_map_table *old, const struct cx_map_table *table, uint64_t *from)
{
    if (old->rows.hash == NULL) return true;
    uint64_t until = *from + BUILDER_POLL <= old->mask ? *from + BUILDER_POLL : old->mask + 1;
    for (; *from < until; (*from)++) {
        if (*table_hash(old, *from) != 0) table_add(table, old, *from);
    }
    return until > old->mask;
}

/* Makes a table of twice as many places as before. Returns false if memory is exhausted. */
static bool builder_grow(coex_handle handle, coex_handle *slots)
{
    const struct map_builder *builder = coex_gc_handle_deref(handle);
    uint64_t from = 0;
    uint32_t flavor = (uint32_t)builder->flavor;
    uint64_t shift = builder->words != 0 ? builder->shift - 1 : 64 - BUILDER_LEAST_BITS;
    if (!builder_allocate(flavor, (uint64_t)1 << (64 - shift), slots)) return false;
    for (bool all = false; !all; coex_gc_safepoint()) {
        struct cx_map_table old = builder_table(coex_gc_handle_deref(handle));
        struct cx_map_table table = cx_map_table(flavor, shift, slots[0], slots[1]);
        all = builder_copy_some(&old, &table, &from);
    }
    coex_gc_store(handle, offsetof(struct map_builder, words), slots[0]);
    coex_gc_store(handle, offsetof(struct map_builder, refs), slots[1]);
    ((struct map_builder *)coex_gc_handle_deref(handle))->shift = shift;
    return true;
}

static uint64_t builder_count_removals(const struct cx_trie_batch *batch)
{
    uint64_t count = 0;
    for (const struct cx_trie_change *change = batch->at; change != batch->end; change++)
        count += (change->hash & CX_TRIE_REMOVED) != 0;
    return count;
}

/* Applies the table to the tree, which slots[0] roots then; slots[1] is of no use before. Returns
 * false if memory is exhausted. */
static bool builder_apply(const struct map_builder *builder, coex_handle *slots)
{
    uint32_t flavor = (uint32_t)builder->flavor;
    uint64_t used = builder->used;
    coex_handle words = builder->words, refs = builder->refs, root = builder->root;
    slots[1] = cx_map_list_new(used);
    if (slots[1] == 0) return cx_fail_false(COEX_STATUS_MEMORY);
    struct cx_trie_batch batch = cx_map_list_sorted(flavor, builder->shift, words, refs, slots[1], used);
    CX_CHECK("INV-BUILDER-1", builder_count_removals(&batch) == builder->removed);
    if (!cx_trie_apply(flavor, &root, &batch)) return false;
    slots[0] = root;
    return true;
}

/* Puts all changes into the tree, and drops the table. Returns false if memory is exhausted;
 * nothing has changed then. */
static bool builder_flush(coex_handle handle)
{
    struct map_builder *builder = coex_gc_handle_deref(handle); /* of a MUTABLE type: it does not move */
    if (builder->used == 0) return true;
    coex_handle *slots = coex_gc_enter_frame(2);
    bool done = builder_apply(builder, slots);
    if (done) {
        coex_gc_store(handle, offsetof(struct map_builder, root), slots[0]);
        coex_gc_store(handle, offsetof(struct map_builder, words), 0);
        coex_gc_store(handle, offsetof(struct map_builder, refs), 0);
        builder->used = builder->removed = 0;
    }
    coex_gc_leave_frame(slots);
    return done;
}

/* The largest table, in bits of places: half as many as the tree has entries, and some in any case. */
static unsigned builder_most_bits(const struct map_builder *builder)
{
    uint64_t size = cx_trie_size(builder->root);
    unsigned bits = BUILDER_LEAST_MOST_BITS;
    while (size >> bits > 2) bits++;
    return bits;
}

/* Makes room for one more change; may move all of them. Returns false if memory is exhausted. */
static bool builder_make_room(coex_handle handle)
{
    const struct map_builder *builder = coex_gc_handle_deref(handle);
    uint64_t bits = builder->words != 0 ? 64 - builder->shift : 0;
    if (bits >= builder_most_bits(builder) && !builder_flush(handle)) return false;
    coex_handle *slots = coex_gc_enter_frame(2);
    bool done = builder_grow(handle, slots);
    coex_gc_leave_frame(slots);
    return done;
}

/* At most 11 of 16 places are used: then looking for a key that is not there takes six places on
 * average. */
static bool builder_is_full(const struct map_builder *builder)
{
    return builder->words == 0 || builder->used >= ((uint64_t)11 << (64 - builder->shift)) / 16;
}

/* ---------------------------------------------------------------- changing */

/* Writes a change over one of the same key. */
static void builder_rewrite(struct map_builder *builder, const struct cx_map_table *table, uint64_t at, uint64_t hash,
                            uint64_t value)
{
    bool was = (*table_hash(table, at) & CX_TRIE_REMOVED) != 0, is = (hash & CX_TRIE_REMOVED) != 0;
    table_write(table, at, hash, *table_key(table, at), value);
    builder->removed += (uint64_t)is - (uint64_t)was;
}

/* Makes a change that needs no more room than the table has. Returns false if it needs more. */
static bool builder_change_in_place(struct map_builder *builder, uint64_t hash, uint64_t key, uint64_t value, bool remove)
{
    uint64_t at;
    struct cx_map_table table = builder_table(builder);
    bool found = table_find(&table, hash, key, &at);
    if (remove && cx_trie_look((uint32_t)builder->flavor, builder->root, hash, key) == NULL) {
        if (found) {
            table_clear(&table, at);
            builder->used--;
        }
        return true;
    }
    if (remove) hash |= CX_TRIE_REMOVED;
    if (found) {
        builder_rewrite(builder, &table, at, hash, value);
        return true;
    }
    if (builder_is_full(builder)) return false;
    table_write(&table, at, hash, key, value);
    builder->used++;
    builder->removed += remove;
    return true;
}

/* Puts a change into the table. A hash with CX_TRIE_REMOVED removes the key. Returns false if
 * memory is exhausted. */
static bool builder_put(coex_handle handle, uint64_t hash, uint64_t key, uint64_t value)
{
    bool remove = (hash & CX_TRIE_REMOVED) != 0;
    while (!builder_change_in_place(coex_gc_handle_deref(handle), hash & ~CX_TRIE_REMOVED, key, value, remove)) {
        if (!builder_make_room(handle)) return false;
    }
    return true;
}

/* ---------------------------------------------------------------- the ring */

static inline struct cx_map_table late_rows(const struct map_builder *builder)
{
    return cx_map_table(builder->flavor, 60, builder->late_words, builder->late_refs);
}

/* Puts the oldest change that waits into the table. Its row stays as it is. Returns false if memory
 * is exhausted. */
static bool late_put(coex_handle handle)
{
    struct map_builder *builder = coex_gc_handle_deref(handle);
    struct cx_map_table ring = late_rows(builder);
    uint64_t at = (builder->late_next - builder->late) % BUILDER_LATE;
    if (!builder_put(handle, *table_hash(&ring, at), *table_key(&ring, at), table_value(&ring, at))) return false;
    ((struct map_builder *)coex_gc_handle_deref(handle))->late--;
    return true;
}

/* Puts all that waits into the table. Returns false if memory is exhausted; some of it still waits
 * then. */
static bool builder_settle(coex_handle handle)
{
    const struct map_builder *builder = coex_gc_handle_deref(handle);
    if (builder->late == 0) return true;
    while (builder->late != 0) {
        if (!late_put(handle)) return false;
        builder = coex_gc_handle_deref(handle);
    }
    struct cx_map_table ring = late_rows(builder);
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

/* Lets a change wait, if need be in place of the oldest that does. Returns false if memory is
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
    struct cx_map_table ring = late_rows(builder), table = builder_table(builder);
    table_write(&ring, builder->late_next++ % BUILDER_LATE, hash, key, value);
    builder->late++;
    if (COEX_UNLIKELY(table.rows.hash == NULL)) return true;
    uint64_t place = table_place(&table, hash);
    __builtin_prefetch(table_hash(&table, place), 1);
    __builtin_prefetch(table_hash(&table, place) + 8, 1);
    if (builder->refs != 0) __builtin_prefetch(table_key(&table, place), 1);
    return true;
}

/* Finds a key among the changes that wait. The last of them counts. */
static bool late_find(const struct map_builder *builder, uint64_t hash, uint64_t key, uint64_t *place)
{
    struct cx_map_table ring = late_rows(builder);
    for (uint64_t i = 1; i <= builder->late; i++) {
        *place = (builder->late_next - i) % BUILDER_LATE;
        if (table_has(&ring, *place, hash, key)) return true;
    }
    return false;
}

/* Makes all waiting changes of a key removals, which keep no value. */
static void late_remove(const struct map_builder *builder, uint64_t hash, uint64_t key)
{
    struct cx_map_table ring = late_rows(builder);
    for (uint64_t i = 1; i <= builder->late; i++) {
        uint64_t at = (builder->late_next - i) % BUILDER_LATE;
        if (table_has(&ring, at, hash, key)) table_write(&ring, at, hash | CX_TRIE_REMOVED, *table_key(&ring, at), 0);
    }
}

/* Puts the changes into the tree if they remove half of it, so that it is dropped. If memory is
 * exhausted, that waits. */
static void builder_drop_removed(coex_handle handle)
{
    const struct map_builder *builder = coex_gc_handle_deref(handle);
    coex_status before = coex_last_status();
    if (builder->removed == 0 || builder->removed < cx_trie_size(builder->root) / 2) return;
    if (!builder_flush(handle)) cx_fail(before);
}

bool cx_map_builder_change(coex_handle handle, bool of_set, uint64_t key, uint64_t value, bool remove)
{
    struct map_builder *builder = builder_look(handle, of_set);
    uint64_t hash;
    if (builder == NULL || !cx_trie_admit((uint32_t)builder->flavor, &key, &hash)) return false;
    if (remove) {
        late_remove(builder, hash, key);
        if (!builder_put(handle, hash | CX_TRIE_REMOVED, key, 0)) return false;
        builder_drop_removed(handle);
        return true;
    }
    if (builder->words != 0 && 64 - builder->shift >= BUILDER_LATE_BITS) return builder_put_late(handle, hash, key, value);
    return builder_settle(handle) && builder_put(handle, hash, key, value);
}

/* ----------------------------------------------------------------- looking */

int cx_map_builder_find(coex_handle handle, bool of_set, uint64_t key, uint64_t *value)
{
    struct map_builder *builder = builder_look(handle, of_set);
    uint64_t hash, at;
    if (builder == NULL || !cx_trie_admit((uint32_t)builder->flavor, &key, &hash)) return -1;
    uint32_t flavor = (uint32_t)builder->flavor;
    bool late = late_find(builder, hash, key, &at);
    struct cx_map_table table = late ? late_rows(builder) : builder_table(builder);
    if (late || table_find(&table, hash, key, &at)) {
        if ((*table_hash(&table, at) & CX_TRIE_REMOVED) != 0) return 0;
        if (value != NULL && table.rows.value != NULL) *value = table_value(&table, at);
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
