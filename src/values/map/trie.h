/* The tree that maps and sets are made of: a hash trie with nodes of 32 places (Bagwell, "Ideal Hash Trees", 2001) whose leaves
 * hold up to 56 entries.
 *
 *     branch: BRANCH | bitmap of groups | child ... child | IMMEDIATE(entries below)
 *     leaf:   count | a mark of one byte for each entry, 8 in a word; room for 8, 56 or as many as there are | entry ... entry
 *
 * The place in the root is given by the top five bits of the hash, that in its child by the next five, and so on. Hashes have 62
 * bits and end in 01: so the path is at an end, after thirteen branches, when nothing is left of the hash as it is shifted out to
 * the left. The places of a branch are parted into *groups*, each with one child: the bitmap has a bit where a group begins. A group
 * is all 32 places, or half of a group. A leaf may be the child of any group, a branch only of a group of one place. So leaves are
 * well filled whatever the size of the tree: a leaf that overflows becomes two.
 * A leaf at the end of the path holds keys whose hashes are the same in full, however many. A mark is the eight lowest of the 62 bits: it
 * finds an entry, or tells that there is none, with a few instructions and one look at memory. Entries are sorted by mark, then by
 * hash, then by key.
 *
 * INV-TRIE-1 (one shape): a group with at most CX_TRIE_LEAF entries is a leaf, or 0 if it has none. One with more is parted in
 *            halves, or is a branch if it is of one place, unless the hash is used up. The same holds for the whole tree. So equal
 *            contents have equal trees, whatever was done to make them.
 * INV-TRIE-2 nodes are of types without MUTABLE: complete at birth, never changed.
 *
 * A *flavor* says what the words of a tree are: a kind of map.h, or CX_TRIE_SET with a kind of key. An entry is two words, in a set
 * one. A tree is named by the handle of its root, 0 if it is empty. Functions that look are no safepoints; those that make
 * something are, and rely on their arguments being rooted. */
#ifndef CX_VALUES_MAP_TRIE_H
#define CX_VALUES_MAP_TRIE_H

#include "values/string/string.h"

#include <coex/values/map.h>

enum {
    CX_TRIE_KEYS = 3, /* these bits of a flavor are the kind of keys */
    CX_TRIE_SET = 8,  /* no values */
    CX_TRIE_FLAVORS = 16,
    CX_TRIE_BITS = 5,
    CX_TRIE_PLACES = 1 << CX_TRIE_BITS,
    CX_TRIE_LEVELS = 13, /* of branches: 12 * 5 bits, and the last 4 */
    CX_TRIE_TOP = 64 - CX_TRIE_BITS,
    CX_TRIE_LEAF = 56, /* their marks and the head are one line of memory. More would cost more to copy, fewer mean smaller nodes */
    CX_TRIE_LINE = 64,
    CX_TRIE_FEW = 8, /* a leaf of so few has one word of marks, and begins anywhere */
    CX_TRIE_LIST = 2 * CX_TRIE_LEAF
};

#define CX_TRIE_BRANCH ((uint64_t)1 << 63)

struct cx_trie_node {
    uint64_t head;
    uint64_t word[];
};

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

static inline const struct cx_trie_node *cx_trie_at(coex_handle node) { return coex_gc_handle_deref(node); }
static inline bool cx_trie_is_branch(const struct cx_trie_node *node) { return (node->head & CX_TRIE_BRANCH) != 0; }

/* The bitmap of a branch; where the group of a place begins, where it ends, which child it has. */
static inline uint32_t cx_branch_map(const struct cx_trie_node *node) { return (uint32_t)node->head; }
static inline uint32_t cx_branch_upto(uint32_t map, unsigned place) { return map & UINT32_MAX >> (CX_TRIE_PLACES - 1 - place); }
static inline unsigned cx_branch_begin(uint32_t map, unsigned place)
{
    return CX_TRIE_PLACES - 1 - (unsigned)__builtin_clz(cx_branch_upto(map, place));
}
static inline unsigned cx_branch_end(uint32_t map, unsigned place)
{
    return (unsigned)__builtin_ctzll(((uint64_t)1 << CX_TRIE_PLACES | map) >> (place + 1)) + place + 1;
}
static inline unsigned cx_branch_index(uint32_t map, unsigned place) { return cx_trie_count(cx_branch_upto(map, place)) - 1; }
static inline coex_handle cx_branch_child(const struct cx_trie_node *node, unsigned place)
{
    return node->word[cx_branch_index(cx_branch_map(node), place)];
}

/* Room for as many marks as leaves of a large tree may have: so their entries begin with a line of memory. */
static inline uint64_t cx_leaf_mark_words(uint64_t count)
{
    return count <= CX_TRIE_FEW ? 1 : count <= CX_TRIE_LEAF ? CX_TRIE_LEAF / 8 : (count + 7) / 8;
}
static inline const uint8_t *cx_leaf_marks(const struct cx_trie_node *node) { return (const uint8_t *)node->word; }
static inline const uint64_t *cx_leaf_entries(const struct cx_trie_node *node)
{
    return node->word + cx_leaf_mark_words(node->head);
}

/* Entries of a tree. */
static inline uint64_t cx_trie_size(coex_handle root)
{
    if (root == 0) return 0;
    const struct cx_trie_node *node = cx_trie_at(root);
    return cx_trie_is_branch(node) ? coex_immediate_bits(node->word[cx_trie_count(cx_branch_map(node))]) : node->head;
}

static inline bool cx_trie_is_leaf(coex_handle root) { return root != 0 && !cx_trie_is_branch(cx_trie_at(root)); }

/* A new node, to be filled at once. NULL: memory is exhausted, the status says so. */
struct cx_trie_node *cx_branch_new(uint32_t map, uint64_t size, coex_handle *handle);
struct cx_trie_node *cx_leaf_new(uint32_t flavor, uint64_t count, coex_handle *handle);

/* -------------------------------------------------------------------- keys */

/* The hash of a key that is in a tree or may be: 62 bits and 01. */
static inline uint64_t cx_trie_hash(uint32_t flavor, uint64_t key)
{
    return (cx_trie_has_strings(flavor) ? cx_string_hash_quiet(key) << 2 : cx_hash_word(key) & ~(uint64_t)3) | 1;
}

/* Brings a caller's key into the form that is kept, and hashes it. False: it is none of this kind; the status says so. */
uint64_t cx_trie_number(uint64_t key); /* of a float */
static inline bool cx_trie_admit(uint32_t flavor, uint64_t *key, uint64_t *hash)
{
    if ((flavor & CX_TRIE_KEYS) == COEX_MAP_FLOAT) *key = cx_trie_number(*key);
    *hash = cx_trie_hash(flavor, *key);
    return !cx_trie_has_strings(flavor) || *hash != 1; /* cx_string_hash_quiet fails with 0 */
}

static inline uint8_t cx_trie_mark(uint64_t hash) { return (uint8_t)(hash >> 2); }
static inline unsigned cx_trie_place(uint64_t hash, unsigned level)
{
    return (unsigned)(hash << (level * CX_TRIE_BITS) >> CX_TRIE_TOP);
}

static inline bool cx_trie_same_key(uint32_t flavor, uint64_t a, uint64_t b)
{
    return a == b || (cx_trie_has_strings(flavor) && cx_string_equal_quiet(a, b));
}

/* --------------------------------------------------------- looking and changing */

/* The entry of a key, or NULL: in the text that suits this processor. A root other than that of the whole tree goes with a hash that
 * is shifted as far to the left as its level says; `mark` is that of the whole hash. */
extern const uint64_t *(*cx_trie_find)(uint32_t flavor, coex_handle root, uint64_t hash, uint8_t mark, uint64_t key);

static inline const uint64_t *cx_trie_look(uint32_t flavor, coex_handle root, uint64_t hash, uint64_t key)
{
    return cx_trie_find(flavor, root, hash, cx_trie_mark(hash), key);
}

/* The same in a subtree at `level`. */
static inline const uint64_t *cx_trie_look_below(uint32_t flavor, coex_handle root, unsigned level, uint64_t hash, uint64_t key)
{
    return cx_trie_find(flavor, root, level < CX_TRIE_LEVELS ? hash << (level * CX_TRIE_BITS) : 0, cx_trie_mark(hash), key);
}

/* All of what getting a value takes, in one text: `map` is checked to be of type `type` (map or set), the key is admitted, the value
 * goes to *value (or nowhere, if that is NULL). False: a status is recorded if an argument is of the wrong kind; if there is no such
 * key it is `missing`, unless that is COEX_STATUS_OK. */
extern bool (*cx_trie_get)(coex_handle map, uint64_t key, uint64_t *value, enum cx_value_type type, coex_status missing);

/* Makes these two the texts for processors of today, which is done when the library is loaded, or those for any, which a test may do
 * while no other thread looks for something. False: this processor is not one of today; nothing changes. */
bool cx_trie_choose(bool today);

/* The tree with an entry, without a key, in *root and, if it is new, in `slot`, which is a slot of the caller's frame and of no use
 * before. False: memory is exhausted, *root is as it was. */
bool cx_trie_set(uint32_t flavor, coex_handle *root, uint64_t hash, uint64_t key, uint64_t value, coex_handle *slot);
bool cx_trie_remove(uint32_t flavor, coex_handle *root, uint64_t hash, uint64_t key, coex_handle *slot);

/* ------------------------------------------------------------------ leaves */

/* A leaf of any size with an entry, without a key; 0 is an empty one. False: memory is exhausted. */
bool cx_leaf_set(uint32_t flavor, coex_handle *leaf, uint64_t hash, uint64_t key, uint64_t value);
bool cx_leaf_remove(uint32_t flavor, coex_handle *leaf, uint64_t hash, uint64_t key);

/* The entries of a small tree in C memory, sorted as in a leaf. They need no roots as long as something else roots them. */
struct cx_trie_list {
    unsigned count;
    bool changed; /* since it was loaded */
    uint8_t mark[CX_TRIE_LIST];
    uint64_t key[CX_TRIE_LIST], value[CX_TRIE_LIST];
};

static inline void cx_list_begin(struct cx_trie_list *list)
{
    list->count = 0;
    list->changed = false;
}

/* What a leaf has, behind what the list has: sorted if that is nothing. There is room. */
void cx_list_load(struct cx_trie_list *list, uint32_t flavor, coex_handle leaf);
/* An entry at the end, in no order. There is room. */
static inline void cx_list_append(struct cx_trie_list *list, uint8_t mark, uint64_t key, uint64_t value)
{
    list->mark[list->count] = mark;
    list->key[list->count] = key;
    list->value[list->count++] = value;
    list->changed = true;
}
void cx_list_sort(struct cx_trie_list *list, uint32_t flavor);
/* In a sorted list. There is room. */
void cx_list_set(struct cx_trie_list *list, uint32_t flavor, uint64_t hash, uint64_t key, uint64_t value);
void cx_list_remove(struct cx_trie_list *list, uint32_t flavor, uint64_t hash, uint64_t key);
/* A sorted list as a tree at `level`: a leaf, or a branch if it has too many entries. False: memory is exhausted. */
bool cx_list_tree(const struct cx_trie_list *list, uint32_t flavor, unsigned level, coex_handle *root);

/* ----------------------------------------------------------------- images */

/* A branch that is being made, at `level`: groups of places in ascending order (trie_image.c). */
struct cx_trie_image {
    uint32_t flavor;
    unsigned level;
    unsigned groups;  /* that are there */
    unsigned end;     /* the place behind the last of them */
    uint32_t touched; /* a bit for each group: it is not copied from a branch */
    uint64_t size;    /* entries of the branch: the caller's */
    uint8_t begin[CX_TRIE_PLACES];
    coex_handle child[CX_TRIE_PLACES];
};

void cx_image_begin(struct cx_trie_image *image, uint32_t flavor, unsigned level, uint64_t size);
/* These add groups at the end. New nodes are rooted in the caller's frame. They return false if memory is exhausted.
 * add: one of `width` places with `child`, a leaf or 0, or for one place any tree. add_list: `width` places with the entries of a
 * sorted list. copy: all groups of branch `tree` up to place `until`, where one ends. */
bool cx_image_add(struct cx_trie_image *image, unsigned width, coex_handle child);
bool cx_image_add_list(struct cx_trie_image *image, unsigned width, const struct cx_trie_list *list);
bool cx_image_copy(struct cx_trie_image *image, coex_handle tree, unsigned until);
/* Is it this tree? */
bool cx_image_is(const struct cx_trie_image *image, coex_handle tree);
/* Makes the tree: a branch, or a leaf or 0 if that is what it has come to. Returns false if memory is exhausted. */
bool cx_image_finish(const struct cx_trie_image *image, coex_handle *tree);

/* ------------------------------------------------------------ whole trees */

/* A change of a tree. Bit 1 of the hash (CX_TRIE_REMOVED) says that the key is removed. */
#define CX_TRIE_REMOVED ((uint64_t)2)
struct cx_trie_change {
    uint64_t hash, key, value;
};

/* Changes in ascending order of hashes, each key once. They lie where nothing moves, and something else roots their words. */
struct cx_trie_batch {
    const struct cx_trie_change *at, *end;
};

/* Words of a row of a table of changes: of references, and of all else with the hash (map_table.h). */
static inline unsigned cx_rows_refs(uint32_t flavor)
{
    return (unsigned)cx_trie_has_key_references(flavor) + ((flavor & COEX_MAP_REFERENCES) != 0);
}
static inline unsigned cx_rows_words(uint32_t flavor) { return 1 + cx_trie_stride(flavor) - cx_rows_refs(flavor); }

/* Such a table as raw memory, until the next safepoint: what place 0 has, and how many words further the next place is. */
struct cx_trie_rows {
    uint64_t *hash, *key, *value; /* value is NULL in a set */
    unsigned hash_step, key_step, value_step;
};

static inline struct cx_trie_rows cx_trie_rows(uint32_t flavor, coex_handle words, coex_handle refs)
{
    unsigned word_step = cx_rows_words(flavor), ref_step = cx_rows_refs(flavor);
    uint64_t *word = coex_gc_handle_deref(words), *ref = coex_gc_handle_deref(refs);
    bool key_refs = cx_trie_has_key_references(flavor), value_refs = (flavor & COEX_MAP_REFERENCES) != 0;
    return (struct cx_trie_rows){.hash = word,
                                 .key = key_refs ? ref : word + 1,
                                 .value = cx_trie_stride(flavor) == 1 ? NULL
                                          : value_refs                ? ref + key_refs
                                                                      : word + 2 - key_refs,
                                 .hash_step = word_step,
                                 .key_step = key_refs ? ref_step : word_step,
                                 .value_step = value_refs ? ref_step : word_step};
}

/* Applies all changes of a batch to the tree *root, which the caller roots. Returns false if memory is exhausted; *root is as it
 * was then. */
bool cx_trie_apply(uint32_t flavor, coex_handle *root, struct cx_trie_batch *batch);

enum cx_trie_operation { CX_TRIE_MERGE, CX_TRIE_INTERSECT, CX_TRIE_MINUS };

/* Two trees with keys of one kind; for a merge, both of one flavor. The result is of flavor `flavor`. False: memory is exhausted.
 * */
bool cx_trie_combine(enum cx_trie_operation operation, uint32_t flavor, coex_handle root, uint32_t other_flavor, coex_handle other,
                     coex_handle *result);

/* ----------------------------------------------------------------- walking */

/* A walk in order: plain words, which are good as long as the tree is rooted. */
struct cx_trie_walk {
    uint32_t flavor, depth;
    struct cx_trie_step {
        coex_handle node;
        uint32_t next; /* the next child or entry */
        uint32_t end;
    } step[CX_TRIE_LEVELS + 1];
};

void cx_trie_walk(struct cx_trie_walk *walk, uint32_t flavor, coex_handle root);
/* The next entry, or NULL; not a safepoint. */
const uint64_t *cx_trie_next(struct cx_trie_walk *walk);

/* Does `in` have all keys of `part`? Their keys are of one kind. A safepoint: both are rooted. */
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

/* Tells dumps what the references of leaves are called. */
bool cx_trie_register(void);

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
