/* A hash table from a word to a word, for what is few and changes seldom (global roots, pins). Not thread-safe: its user has a lock.
 * Readers may go through it in pieces: an entry keeps its place until `version` changes. */
#ifndef CX_BASE_HASH_TABLE_H
#define CX_BASE_HASH_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define CX_HASH_TABLE_EMPTY ((uint64_t)0)
#define CX_HASH_TABLE_GONE  ((uint64_t)1) /* keys are neither 0 nor 1 */

struct cx_hash_entry {
    uint64_t key, value;
};

struct cx_hash_table {
    struct cx_hash_entry *entry;
    uint64_t size; /* a power of two */
    uint64_t used; /* live and gone */
    uint64_t live;
    uint64_t version;
};

bool cx_hash_table_init(struct cx_hash_table *table);
void cx_hash_table_fini(struct cx_hash_table *table);

/* The value of `key`, or NULL. Valid until the next put. */
uint64_t *cx_hash_table_get(struct cx_hash_table *table, uint64_t key);
/* The same; puts it in with value 0 if it is not there. NULL: no memory. */
uint64_t *cx_hash_table_put(struct cx_hash_table *table, uint64_t key);
void cx_hash_table_remove(struct cx_hash_table *table, uint64_t key);

static inline bool cx_hash_table_is_live(const struct cx_hash_entry *entry) { return entry->key > CX_HASH_TABLE_GONE; }

#endif
