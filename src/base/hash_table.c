/* See hash_table.h. */
#include "base/hash_table.h"

#include "base/os.h"

enum { HASH_TABLE_FIRST = 64 };

bool cx_hash_table_init(struct cx_hash_table *table)
{
    *table = (struct cx_hash_table){.size = HASH_TABLE_FIRST};
    table->entry = cx_os_allocate(HASH_TABLE_FIRST * sizeof *table->entry);
    return table->entry != NULL;
}

void cx_hash_table_fini(struct cx_hash_table *table)
{
    cx_os_free(table->entry);
    *table = (struct cx_hash_table){0};
}

/* Where `key` is, or an empty place. There is always one. */
static uint64_t hash_table_find(const struct cx_hash_entry *entry, uint64_t size, uint64_t key)
{
    uint64_t at = key * 0x9e3779b97f4a7c15u >> 20 & (size - 1); /* Fibonacci hashing: keys are addresses or indices */
    while (entry[at].key != CX_HASH_TABLE_EMPTY && entry[at].key != key) at = (at + 1) & (size - 1);
    return at;
}

static bool hash_table_rebuild(struct cx_hash_table *table)
{
    uint64_t size = table->size;
    while (table->live * 4 >= size) size *= 2;
    struct cx_hash_entry *entry = cx_os_allocate((size_t)size * sizeof *entry);
    if (entry == NULL) return false;
    for (uint64_t i = 0; i < table->size; i++) {
        if (cx_hash_table_is_live(&table->entry[i])) entry[hash_table_find(entry, size, table->entry[i].key)] = table->entry[i];
    }
    cx_os_free(table->entry);
    table->entry = entry;
    table->size = size;
    table->used = table->live;
    table->version++;
    return true;
}

uint64_t *cx_hash_table_get(struct cx_hash_table *table, uint64_t key)
{
    if (key <= CX_HASH_TABLE_GONE) return NULL;
    struct cx_hash_entry *found = &table->entry[hash_table_find(table->entry, table->size, key)];
    return found->key == key ? &found->value : NULL;
}

uint64_t *cx_hash_table_put(struct cx_hash_table *table, uint64_t key)
{
    uint64_t *value = cx_hash_table_get(table, key);
    if (value != NULL) return value;
    if (table->used * 2 >= table->size && !hash_table_rebuild(table)) return NULL;
    struct cx_hash_entry *place = &table->entry[hash_table_find(table->entry, table->size, key)];
    *place = (struct cx_hash_entry){.key = key};
    table->used++;
    table->live++;
    return &place->value;
}

void cx_hash_table_remove(struct cx_hash_table *table, uint64_t key)
{
    struct cx_hash_entry *found = &table->entry[hash_table_find(table->entry, table->size, key)];
    if (found->key != key) return;
    *found = (struct cx_hash_entry){.key = CX_HASH_TABLE_GONE};
    table->live--;
}
