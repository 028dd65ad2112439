/* GLib's hash table: mutable, with open addressing. Integers are used directly as keys, which is
 * the fastest use of this table. Strings are pointers to bytes, hashed with g_str_hash. */
#include "peers/map.h"

#include <glib.h>

static GHashTable *table;

static void *as_pointer(uint64_t word) { return (void *)(uintptr_t)word; }

static void build(const uint64_t *keys, uint64_t count)
{
    table = g_hash_table_new(NULL, NULL);
    for (uint64_t i = 0; i < count; i++) g_hash_table_insert(table, as_pointer(keys[i]), as_pointer(i));
}

static uint64_t lookup(const uint64_t *keys, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) sum += (uintptr_t)g_hash_table_lookup(table, as_pointer(keys[i]));
    return sum;
}

static uint64_t iterate(void)
{
    GHashTableIter iterator;
    void *key, *value;
    uint64_t sum = 0;
    g_hash_table_iter_init(&iterator, table);
    while (g_hash_table_iter_next(&iterator, &key, &value)) sum += (uintptr_t)value;
    return sum;
}

static void take_out(const uint64_t *keys, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) g_hash_table_remove(table, as_pointer(keys[i]));
}

static void drop(void) { g_hash_table_destroy(table); }

static void build_text(char *const *keys, uint64_t count)
{
    table = g_hash_table_new(g_str_hash, g_str_equal);
    for (uint64_t i = 0; i < count; i++) g_hash_table_insert(table, keys[i], as_pointer(i));
}

static uint64_t lookup_text(char *const *keys, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) sum += (uintptr_t)g_hash_table_lookup(table, keys[i]);
    return sum;
}

const struct map_subject map_subject_glib = {"glib", build, lookup, iterate, take_out, drop, build_text, lookup_text, drop};
