/* The table of changes that a builder of maps or sets keeps beside its tree: a hash table with
 * linear probing, in two arrays of the heap. `words` has a row with the hash and the words that are
 * not references for each place, `refs` one with the references (0: there are none): so a place is
 * one or two lines of memory.
 *
 * The place of a change is given by the top bits of its hash times an odd factor that is drawn once
 * per process. Iterators deliver keys in the order of hashes: if the hashes themselves gave the
 * places, the first keys of a walk would crowd the first places, and each would pass all that came
 * before it. The product spreads keys of any order. Its top bits stay when the table doubles: so
 * growing is a pass from front to back over both tables.
 *
 * INV-TABLE-1 the hash of a place is 0 where nothing is, and then key and value are 0 too.
 * INV-TABLE-2 between a change's own place and where it is, cyclically, nothing is empty.
 * INV-TABLE-3 every key is there once, and at least one place is empty.
 *
 * One thread's. The arrays are of MUTABLE types; references in them are written with the barrier. */
#ifndef CX_VALUES_MAP_MAP_TABLE_H
#define CX_VALUES_MAP_MAP_TABLE_H

#include "base/report.h"
#include "values/map/trie.h"

/* A table as raw memory, until the next safepoint. rows.hash is NULL if there is none. */
struct cx_map_table {
    struct cx_trie_rows rows;
    coex_handle refs;
    uint64_t mask;  /* places - 1 */
    uint64_t shift; /* 64 - shift bits of a product are a place */
    uint32_t flavor;
};

static inline struct cx_map_table cx_map_table(uint64_t flavor, uint64_t shift, coex_handle words, coex_handle refs)
{
    if (words == 0) return (struct cx_map_table){.flavor = (uint32_t)flavor};
    return (struct cx_map_table){.rows = cx_trie_rows((uint32_t)flavor, words, refs),
                                 .refs = refs,
                                 .mask = ((uint64_t)1 << (64 - shift)) - 1,
                                 .shift = shift,
                                 .flavor = (uint32_t)flavor};
}

static inline uint64_t *table_hash(const struct cx_map_table *table, uint64_t at)
{
    return &table->rows.hash[at * table->rows.hash_step];
}
static inline uint64_t *table_key(const struct cx_map_table *table, uint64_t at)
{
    return &table->rows.key[at * table->rows.key_step];
}
static inline uint64_t table_value(const struct cx_map_table *table, uint64_t at)
{
    return table->rows.value != NULL ? table->rows.value[at * table->rows.value_step] : 0;
}

static inline uint64_t table_place(const struct cx_map_table *table, uint64_t hash)
{
    return (hash & ~CX_TRIE_REMOVED) * cx_values.spread >> table->shift;
}
static inline uint64_t table_behind(const struct cx_map_table *table, uint64_t at) { return (at + 1) & table->mask; }

/* Counts places that are looked at, for tests: W, R: self. */
extern __thread uint64_t cx_map_table_steps;
static inline void table_step(void)
{
    if (CX_CHECKED) cx_map_table_steps++;
}

static inline void table_write(const struct cx_map_table *table, uint64_t at, uint64_t hash, uint64_t key, uint64_t value)
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
        table->rows.value[at * table->rows.value_step] = value;
}

/* Copies a change from a place of another table, or of this one. */
static inline void table_copy(const struct cx_map_table *table, uint64_t to, const struct cx_map_table *old, uint64_t from)
{
    table_write(table, to, *table_hash(old, from), *table_key(old, from), table_value(old, from));
}

static inline bool table_has(const struct cx_map_table *table, uint64_t at, uint64_t hash, uint64_t key)
{
    return (*table_hash(table, at) & ~CX_TRIE_REMOVED) == hash && cx_trie_same_key(table->flavor, *table_key(table, at), key);
}

/* Finds the change of a key. Returns false if there is none; *place is the empty place where it
 * belongs then, if there is a table. */
static inline bool table_find(const struct cx_map_table *table, uint64_t hash, uint64_t key, uint64_t *place)
{
    *place = 0;
    if (table->rows.hash == NULL) return false;
    uint64_t at = table_place(table, hash);
    for (table_step(); *table_hash(table, at) != 0; at = table_behind(table, at), table_step()) {
        if (!table_has(table, at, hash, key)) continue;
        *place = at;
        return true;
    }
    *place = at;
    return false;
}

/* Copies a change into a table that does not have its key. */
static inline void table_add(const struct cx_map_table *table, const struct cx_map_table *old, uint64_t from)
{
    uint64_t to = table_place(table, *table_hash(old, from));
    for (table_step(); *table_hash(table, to) != 0; to = table_behind(table, to)) table_step();
    table_copy(table, to, old, from);
}

/* Clears a place; changes behind it move up where INV-TABLE-2 asks for it. */
static inline void table_clear(const struct cx_map_table *table, uint64_t gap)
{
    for (uint64_t at = table_behind(table, gap); *table_hash(table, at) != 0; at = table_behind(table, at)) {
        table_step();
        uint64_t own = table_place(table, *table_hash(table, at));
        if (((at - own) & table->mask) < ((at - gap) & table->mask)) continue; /* its own place is behind the gap */
        table_copy(table, gap, table, at);
        gap = at;
    }
    table_write(table, gap, 0, 0, 0);
}

/* ---------------------------------------------------------- in order of hashes */

/* Returns a new object for the `used` changes of a table in the order of hashes. 0: memory is
 * exhausted. */
coex_handle cx_map_list_new(uint64_t used);
/* Lists the changes of the table in `words` and `refs`. Handles are rooted by the caller.
 * Safepoints. */
struct cx_trie_batch cx_map_list_sorted(uint32_t flavor, uint64_t shift, coex_handle words, coex_handle refs, coex_handle list,
                                        uint64_t used);

#endif
