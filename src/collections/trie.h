/* The tree that maps and sets are made of: a hash trie with bitmap nodes of 32 branches, after Bagwell's "Ideal Hash Trees" (2001), in the
 * compressed form of Steindorfer and Vinju ("Optimizing Hash-Array Mapped Tries", OOPSLA 2015).
 *
 * A node has two bitmaps. A place whose bit is in `data` holds an entry in the node itself, one whose bit is in `kids` a child. Entries
 * come first, then children, then, in a node with children, the number of entries below it as an immediate:
 *
 *     maps = data | kids << 32 | entry ... entry | child ... child | IMMEDIATE(size)
 *
 * The place in the root is given by the top five bits of the hash, that in its child by the next five, and so on. Hashes have 62 bits and
 * end in 01: so the path is at an end, after thirteen nodes, when nothing is left of the hash as it is shifted out to the left. There, keys
 * whose hashes are the same in full are in a collision node, in ascending order of their keys; it is told from others by both bitmaps having
 * bit 31, and the low 31 bits are the number of its entries.
 *
 * INV-TRIE-1 (one shape): an entry lies in the highest node whose place it shares with nobody. So a node other than the root has at
 *            least two entries at or below it, and equal contents have equal trees, whatever was done to make them.
 * INV-TRIE-2 nodes are of types without MUTABLE: complete at birth, never changed.
 *
 * A *flavor* says what the words of a tree are: a kind of map.h, or CX_TRIE_SET with a kind of key. An entry is two words, in a set one.
 * Functions that look are no safepoints; those that make something are, and rely on their arguments being rooted. */
#ifndef CX_COLLECTIONS_TRIE_H
#define CX_COLLECTIONS_TRIE_H

#include "collections/common.h"

#include <coex/collections/map.h>
#include <coex/collections/string.h>

enum {
    CX_TRIE_KEYS = 3, /* these bits are the kind of keys */
    CX_TRIE_SET = 8,  /* no values */
    CX_TRIE_FLAVORS = 16,
    CX_TRIE_BITS = 5,
    CX_TRIE_LEVELS = 13, /* of nodes with bitmaps: 12 * 5 bits, and the last 4 */
    CX_TRIE_TOP = 64 - CX_TRIE_BITS
};

#define CX_TRIE_COLLISION ((uint64_t)1 << 63 | (uint64_t)1 << 31)

struct cx_trie_node {
    uint64_t maps;
    uint64_t word[];
};

/* What is at a place: nothing, an entry, or a node. */
enum cx_trie_is { CX_TRIE_EMPTY, CX_TRIE_ENTRY, CX_TRIE_NODE };

struct cx_trie_part {
    enum cx_trie_is is;
    coex_handle node;
    uint64_t key, value; /* of an entry */
};

static inline struct cx_trie_part cx_trie_nothing(void) { return (struct cx_trie_part){CX_TRIE_EMPTY, 0, 0, 0}; }
static inline struct cx_trie_part cx_trie_entry(uint64_t key, uint64_t value)
{
    return (struct cx_trie_part){CX_TRIE_ENTRY, 0, key, value};
}
static inline struct cx_trie_part cx_trie_subtree(coex_handle node)
{
    return (struct cx_trie_part){node != 0 ? CX_TRIE_NODE : CX_TRIE_EMPTY, node, 0, 0};
}

/* ------------------------------------------------------------------- nodes */

static inline unsigned cx_trie_stride(uint32_t flavor) { return (flavor & CX_TRIE_SET) != 0 ? 1 : 2; }
static inline bool cx_trie_has_strings(uint32_t flavor) { return (flavor & CX_TRIE_KEYS) == COEX_MAP_STRING; }
static inline bool cx_trie_has_key_references(uint32_t flavor) { return (flavor & CX_TRIE_KEYS) >= COEX_MAP_STRING; }

/* Bits of a word without the instruction, which not every processor has. */
static inline unsigned cx_trie_count(uint32_t bits)
{
    bits -= bits >> 1 & 0x55555555u;
    bits = (bits & 0x33333333u) + (bits >> 2 & 0x33333333u);
    return ((bits + (bits >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

static inline uint32_t cx_trie_data(uint64_t maps) { return (uint32_t)maps; }
static inline uint32_t cx_trie_kids(uint64_t maps) { return (uint32_t)(maps >> 32); }
static inline uint32_t cx_trie_below(uint32_t bits, unsigned place) { return bits & (((uint32_t)1 << place) - 1); }
static inline bool cx_trie_is_collision(uint64_t maps) { return (maps & CX_TRIE_COLLISION) == CX_TRIE_COLLISION; }

/* Entries in the node itself. */
static inline unsigned cx_trie_entries(uint64_t maps)
{
    return cx_trie_is_collision(maps) ? cx_trie_data(maps) & INT32_MAX : cx_trie_count(cx_trie_data(maps));
}

static inline const struct cx_trie_node *cx_trie_at(coex_handle node) { return coex_gc_handle_deref(node); }

/* Entries in and below a node; 0 for no node. */
uint64_t cx_trie_size(uint32_t flavor, coex_handle node);
/* Entries of a part. */
uint64_t cx_trie_part_size(uint32_t flavor, const struct cx_trie_part *part);
/* What is at a place of a node that is no collision node. */
struct cx_trie_part cx_trie_part_at(uint32_t flavor, const struct cx_trie_node *node, unsigned place);

/* Bytes of a node with these maps. */
static inline uint64_t cx_trie_bytes(uint32_t flavor, uint64_t maps)
{
    uint64_t words = 1 + (uint64_t)cx_trie_entries(maps) * cx_trie_stride(flavor);
    if (cx_trie_is_collision(maps) || cx_trie_kids(maps) == 0) return words * 8;
    return (words + cx_trie_count(cx_trie_kids(maps)) + 1) * 8;
}

/* A new node with these maps, to be filled at once. NULL: memory is exhausted, the status says so. */
struct cx_trie_node *cx_trie_new(uint32_t flavor, uint64_t maps, coex_handle *handle);

/* -------------------------------------------------------------------- keys */

/* The hash of a key that is in a tree or may be: 62 bits and 01. */
static inline uint64_t cx_trie_hash(uint32_t flavor, uint64_t key)
{
    if (cx_trie_has_strings(flavor)) return coex_string_hash(key) << 2 | 1; /* below 2^62 */
    return (cx_hash_word(key) & ~(uint64_t)3) | 1;
}

/* Brings a caller's key into the form that is kept. False: it is none of this kind; the status says so. */
bool cx_trie_admit_slow(uint32_t flavor, uint64_t *key);
static inline bool cx_trie_admit(uint32_t flavor, uint64_t *key)
{
    uint32_t kind = flavor & CX_TRIE_KEYS;
    return kind == COEX_MAP_INTEGER || kind == COEX_MAP_HANDLE || cx_trie_admit_slow(flavor, key);
}

static inline bool cx_trie_same_key(uint32_t flavor, uint64_t a, uint64_t b)
{
    return a == b || (cx_trie_has_strings(flavor) && coex_string_equal(a, b));
}

/* --------------------------------------------------------- looking and changing */

/* The entry of a key, or NULL. The text that suits this processor. A root other than that of the whole tree goes with a hash that is
 * shifted as far to the left as its depth says. */
extern const uint64_t *(*cx_trie_find)(uint32_t flavor, coex_handle root, uint64_t hash, uint64_t key);

/* The tree with an entry, without a key: its root, or 0 for an empty one, in *root and, if it is new, in `slot`, which is a slot of the
 * caller's frame and of no use before. False: memory is exhausted. */
bool cx_trie_set(uint32_t flavor, coex_handle *root, uint64_t hash, uint64_t key, uint64_t value, coex_handle *slot);
bool cx_trie_remove(uint32_t flavor, coex_handle *root, uint64_t hash, uint64_t key, coex_handle *slot);

/* The same where all bits of the hash are used up: `part`, which is an entry or a collision node (or nothing, to set), changes. */
bool cx_trie_collide(uint32_t flavor, struct cx_trie_part *part, uint64_t key, uint64_t value);
bool cx_trie_uncollide(uint32_t flavor, struct cx_trie_part *part, uint64_t key);

/* ------------------------------------------------------------ whole trees */

/* What goes into a tree all at once: a table in ascending order of hashes, with gaps whose hash is 0. Bit 1 of a hash means that the
 * key is to be removed. The arrays are objects; `values` is 0 for a set. */
#define CX_TRIE_REMOVED ((uint64_t)2)
struct cx_trie_batch {
    coex_handle hashes, keys, values;
    uint64_t at, end; /* index of the next change, and of the end */
};

/* All changes of a batch. What is in it, and *root, are rooted by the caller. False: memory is exhausted, *root is as it was. */
bool cx_trie_apply(uint32_t flavor, coex_handle *root, struct cx_trie_batch *batch);

enum cx_trie_operation { CX_TRIE_MERGE, CX_TRIE_INTERSECT, CX_TRIE_MINUS };

/* Two trees with keys of one kind; for a merge, both of one flavor. The result is of flavor `flavor`. False: memory is exhausted. */
bool cx_trie_combine(enum cx_trie_operation operation, uint32_t flavor, coex_handle root, uint32_t other_flavor, coex_handle other,
                     coex_handle *result);

/* ----------------------------------------------------------------- walking */

/* A walk in the order of hashes: plain words, which are good as long as the tree is rooted. */
struct cx_trie_walk {
    uint32_t flavor, depth;
    struct cx_trie_step {
        coex_handle node;
        uint32_t rest;       /* places not visited yet; of a collision node: entries */
        uint16_t entry, kid; /* the next of each */
    } step[CX_TRIE_LEVELS + 1];
};

void cx_trie_walk(struct cx_trie_walk *walk, uint32_t flavor, coex_handle root);
/* The next entry, or NULL; not a safepoint. */
const uint64_t *cx_trie_next(struct cx_trie_walk *walk);

/* Do two trees of one kind of keys have the same keys; does `in` have all those of `part`? */
bool cx_trie_is_subset(uint32_t flavor, coex_handle part, uint32_t in_flavor, coex_handle in);

/* --------------------------------------------------------- the map, the set */

struct cx_map {
    coex_handle root; /* 0: empty */
    uint64_t count;
    uint64_t hash; /* of the whole value, or 0: not known yet. Relaxed; a lost store is computed again */
    uint64_t flavor;
};

/* The payload of a map or a set, or NULL. */
static inline struct cx_map *cx_map_as(coex_handle word)
{
    struct cx_map *map = cx_value_as(word, CX_TYPE_map);
    return map != NULL ? map : cx_value_as(word, CX_TYPE_set);
}

/* A map or set around a tree. 0: memory is exhausted. A safepoint. */
coex_handle cx_map_wrap(uint32_t flavor, coex_handle root);

/* What maps and sets do alike. `map` is one of flavor `flavor`, `other` whatever the caller gave. */
coex_handle cx_map_combine(enum cx_trie_operation operation, coex_handle map, uint32_t flavor, coex_handle other);
/* Every `stride`th word of the entries, from number `from` on, as a list. */
coex_handle cx_map_list(coex_handle map, unsigned from, bool handles);
coex_handle cx_map_iterate(coex_handle map);
/* The iterator's walk over a map or set, or NULL. */
struct cx_trie_walk *cx_map_walk_of(coex_handle iterator, bool of_set);

coex_handle cx_map_builder_new(coex_handle map);
bool cx_map_builder_change(coex_handle builder, bool of_set, uint64_t key, uint64_t value, bool remove);
/* 1: there, 0: not there, -1: failed with a status. */
int cx_map_builder_find(coex_handle builder, bool of_set, uint64_t key, uint64_t *value);
uint64_t cx_map_builder_size(coex_handle builder, bool of_set);
coex_handle cx_map_builder_end(coex_handle builder, bool of_set);

#endif
