/* The tree of maps and sets, one key at a time: see trie.h. */
#include "collections/trie.h"

#include <string.h>

/* ------------------------------------------------------------------- types */

/* References first in a node of any flavor would not do: entries come before children, and both vary in number. So, unless all words are
 * references, a function finds them by the maps, which never change after birth (INV-TRIE-2). */
static inline void trie_trace(const void *payload, coex_gc_visitor *visitor, unsigned stride, unsigned references)
{
    const struct cx_trie_node *node = payload;
    uint64_t entries = cx_trie_entries(node->maps);
    for (uint64_t i = 0; i < entries * stride; i++) {
        if ((references >> (i % stride) & 1) != 0) coex_gc_visit(visitor, &node->word[i]);
    }
    if (cx_trie_is_collision(node->maps)) return;
    unsigned kids = cx_trie_count(cx_trie_kids(node->maps));
    for (uint64_t i = 0; i < kids; i++) coex_gc_visit(visitor, &node->word[entries * stride + i]);
}

#define TRIE_TRACE(name, stride, references)                                                                                       \
    static void trie_trace_##name(const void *payload, uint64_t size, coex_gc_visitor *visitor)                                    \
    {                                                                                                                              \
        if (size > sizeof(struct cx_trie_node)) trie_trace(payload, visitor, stride, references);                                  \
    }
TRIE_TRACE(map_plain, 2, 0)
TRIE_TRACE(map_keys, 2, 1)
TRIE_TRACE(map_values, 2, 2)
TRIE_TRACE(set_plain, 1, 0)

const coex_gc_type cx_type_map_node = {.name = "map node", .trace = trie_trace_map_plain};
const coex_gc_type cx_type_map_node_keys = {.name = "map node (keys)", .trace = trie_trace_map_keys};
const coex_gc_type cx_type_map_node_values = {.name = "map node (values)", .trace = trie_trace_map_values};
const coex_gc_type cx_type_map_node_both = {.name = "map node (keys, values)", .flags = COEX_GC_REF_ARRAY, .array_offset = 8};
const coex_gc_type cx_type_set_node = {.name = "set node", .trace = trie_trace_set_plain};
const coex_gc_type cx_type_set_node_keys = {.name = "set node (references)", .flags = COEX_GC_REF_ARRAY, .array_offset = 8};

static const enum cx_value_type trie_node_types[CX_TRIE_FLAVORS] = {
    [COEX_MAP_INTEGER] = CX_TYPE_map_node,
    [COEX_MAP_FLOAT] = CX_TYPE_map_node,
    [COEX_MAP_STRING] = CX_TYPE_map_node_keys,
    [COEX_MAP_HANDLE] = CX_TYPE_map_node_keys,
    [COEX_MAP_INTEGER | COEX_MAP_REFERENCES] = CX_TYPE_map_node_values,
    [COEX_MAP_FLOAT | COEX_MAP_REFERENCES] = CX_TYPE_map_node_values,
    [COEX_MAP_STRING | COEX_MAP_REFERENCES] = CX_TYPE_map_node_both,
    [COEX_MAP_HANDLE | COEX_MAP_REFERENCES] = CX_TYPE_map_node_both,
    [CX_TRIE_SET | COEX_MAP_INTEGER] = CX_TYPE_set_node,
    [CX_TRIE_SET | COEX_MAP_FLOAT] = CX_TYPE_set_node,
    [CX_TRIE_SET | COEX_MAP_STRING] = CX_TYPE_set_node_keys,
    [CX_TRIE_SET | COEX_MAP_HANDLE] = CX_TYPE_set_node_keys,
};

struct cx_trie_node *cx_trie_new(uint32_t flavor, uint64_t maps, coex_handle *handle)
{
    void *payload;
    *handle = coex_gc_alloc_at(cx_trie_bytes(flavor, maps), cx_values.id[trie_node_types[flavor]], &payload);
    struct cx_trie_node *node = payload;
    if (*handle == 0) {
        cx_fail_memory();
        return NULL;
    }
    node->maps = maps;
    return node;
}

/* -------------------------------------------------------------------- keys */

bool cx_trie_admit_slow(uint32_t flavor, uint64_t *key)
{
    if (cx_trie_has_strings(flavor) && coex_kind_of(*key) != COEX_KIND_STRING) return cx_fail_false(COEX_STATUS_KIND);
    if ((flavor & CX_TRIE_KEYS) == COEX_MAP_FLOAT) {
        double number;
        memcpy(&number, key, sizeof number);
        if (number != number) *key = UINT64_C(0x7ff8000000000000);
        if (*key == (uint64_t)1 << 63) *key = 0; /* -0.0 */
    }
    return true;
}

/* Any order that depends on nothing but the keys will do. */
static int trie_order(uint32_t flavor, uint64_t a, uint64_t b)
{
    if (a == b) return 0;
    if (cx_trie_has_strings(flavor)) return coex_string_compare(a, b);
    return a < b ? -1 : 1;
}

/* ------------------------------------------------------------------- parts */

uint64_t cx_trie_size(uint32_t flavor, coex_handle handle)
{
    if (handle == 0) return 0;
    const struct cx_trie_node *node = cx_trie_at(handle);
    unsigned entries = cx_trie_entries(node->maps);
    uint32_t kids = cx_trie_kids(node->maps);
    if (kids == 0 || cx_trie_is_collision(node->maps)) return entries;
    return coex_immediate_bits(node->word[entries * cx_trie_stride(flavor) + cx_trie_count(kids)]);
}

uint64_t cx_trie_part_size(uint32_t flavor, const struct cx_trie_part *part)
{
    return part->is == CX_TRIE_NODE ? cx_trie_size(flavor, part->node) : part->is == CX_TRIE_ENTRY;
}

static struct cx_trie_part trie_entry_at(const uint64_t *words, unsigned stride)
{
    return cx_trie_entry(words[0], stride == 2 ? words[1] : 0);
}

struct cx_trie_part cx_trie_part_at(uint32_t flavor, const struct cx_trie_node *node, unsigned place)
{
    unsigned stride = cx_trie_stride(flavor);
    uint32_t data = cx_trie_data(node->maps), kids = cx_trie_kids(node->maps);
    if ((data >> place & 1) != 0) return trie_entry_at(&node->word[cx_trie_count(cx_trie_below(data, place)) * stride], stride);
    if ((kids >> place & 1) == 0) return cx_trie_nothing();
    return cx_trie_subtree(node->word[cx_trie_count(data) * stride + cx_trie_count(cx_trie_below(kids, place))]);
}

/* ----------------------------------------------------------------- finding */

static const uint64_t *trie_find_collision(uint32_t flavor, coex_handle handle, uint64_t key)
{
    const struct cx_trie_node *node = cx_trie_at(handle);
    unsigned stride = cx_trie_stride(flavor), entries = cx_trie_entries(node->maps);
    for (uint64_t i = 0; i < entries; i++) {
        if (cx_trie_same_key(flavor, node->word[i * stride], key)) return &node->word[i * stride];
    }
    return NULL;
}

#define TRIE_TEMPLATE static inline __attribute__((always_inline))

/* Always inlined into its two uses, so that each has its own text. */
TRIE_TEMPLATE const uint64_t *trie_find(uint32_t flavor, coex_handle at, uint64_t left, uint64_t key, const bool instruction)
{
    unsigned shift = (flavor & CX_TRIE_SET) != 0 ? 0 : 1; /* instead of a multiplication with the stride */
    for (; left != 0; left <<= CX_TRIE_BITS) {
        const struct cx_trie_node *node = cx_trie_at(at);
        unsigned place = (unsigned)(left >> CX_TRIE_TOP);
        uint32_t data = cx_trie_data(node->maps), kids = cx_trie_kids(node->maps);
        if ((kids >> place & 1) != 0) {
            uint32_t below = cx_trie_below(kids, place);
            unsigned entries = instruction ? (unsigned)__builtin_popcount(data) : cx_trie_count(data);
            unsigned before = instruction ? (unsigned)__builtin_popcount(below) : cx_trie_count(below);
            at = node->word[(entries << shift) + before];
            continue;
        }
        if ((data >> place & 1) == 0) return NULL;
        uint32_t below = cx_trie_below(data, place);
        const uint64_t *entry = &node->word[(instruction ? (unsigned)__builtin_popcount(below) : cx_trie_count(below)) << shift];
        return cx_trie_same_key(flavor, *entry, key) ? entry : NULL;
    }
    return trie_find_collision(flavor, at, key);
}

static const uint64_t *trie_find_anywhere(uint32_t flavor, coex_handle root, uint64_t hash, uint64_t key)
{
    return root != 0 ? trie_find(flavor, root, hash, key, false) : NULL;
}

#if defined(__x86_64__)
__attribute__((target("popcnt"))) static const uint64_t *trie_find_popcnt(uint32_t flavor, coex_handle root, uint64_t hash,
                                                                          uint64_t key)
{
    return root != 0 ? trie_find(flavor, root, hash, key, true) : NULL;
}

__attribute__((constructor)) static void trie_choose(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("popcnt")) cx_trie_find = trie_find_popcnt;
}
#endif

/* W: when the library is loaded. */
const uint64_t *(*cx_trie_find)(uint32_t flavor, coex_handle root, uint64_t hash, uint64_t key) = trie_find_anywhere;

/* -------------------------------------------------------------- collisions */

/* The entries of a part where all bits are used up, and how many. */
static const uint64_t *trie_colliding(const struct cx_trie_part *part, uint64_t *count)
{
    const struct cx_trie_node *node = part->is == CX_TRIE_NODE ? cx_trie_at(part->node) : NULL;
    *count = node != NULL ? cx_trie_entries(node->maps) : part->is == CX_TRIE_ENTRY;
    return node != NULL ? node->word : &part->key;
}

/* The number of the first entry that is not before `key`. *same: it is the key. */
static uint64_t trie_search(uint32_t flavor, const struct cx_trie_part *part, uint64_t key, bool *same)
{
    uint64_t count, i = 0;
    unsigned stride = cx_trie_stride(flavor);
    const uint64_t *words = trie_colliding(part, &count);
    int order = 1;
    while (i < count && (order = trie_order(flavor, key, words[i * stride])) > 0) i++;
    *same = i < count && order == 0;
    return i;
}

/* `part` with words[at, at + taken) replaced by `given` words. */
static bool trie_splice(uint32_t flavor, struct cx_trie_part *part, uint64_t at, uint64_t taken, const uint64_t *words,
                        uint64_t given)
{
    uint64_t count;
    coex_handle handle;
    unsigned stride = cx_trie_stride(flavor);
    trie_colliding(part, &count);
    struct cx_trie_node *node = cx_trie_new(flavor, CX_TRIE_COLLISION | (count + given / stride - taken / stride), &handle);
    if (node == NULL) return false;
    const uint64_t *old = trie_colliding(part, &count); /* not before: allocating is a safepoint */
    memcpy(node->word, old, at * 8);
    memcpy(&node->word[at], words, given * 8);
    memcpy(&node->word[at + given], &old[at + taken], (count * stride - at - taken) * 8);
    *part = cx_trie_subtree(handle);
    return true;
}

bool cx_trie_collide(uint32_t flavor, struct cx_trie_part *part, uint64_t key, uint64_t value)
{
    bool same;
    uint64_t count;
    unsigned stride = cx_trie_stride(flavor);
    uint64_t at = trie_search(flavor, part, key, &same) * stride;
    if (part->is == CX_TRIE_EMPTY || (same && part->is == CX_TRIE_ENTRY)) {
        *part = cx_trie_entry(same ? part->key : key, value);
        return true;
    }
    const uint64_t *old = &trie_colliding(part, &count)[at];
    if (same && (stride == 1 || old[1] == value)) return true;
    uint64_t words[2] = {same ? old[0] : key, value};
    return trie_splice(flavor, part, at, same ? stride : 0, words, stride);
}

bool cx_trie_uncollide(uint32_t flavor, struct cx_trie_part *part, uint64_t key)
{
    bool same;
    uint64_t count;
    unsigned stride = cx_trie_stride(flavor);
    uint64_t at = trie_search(flavor, part, key, &same);
    if (!same) return true;
    const uint64_t *words = trie_colliding(part, &count);
    if (count > 2) return trie_splice(flavor, part, at * stride, stride, words, 0);
    *part = count == 1 ? cx_trie_nothing() : trie_entry_at(&words[(1 - at) * stride], stride);
    return true;
}

/* ---------------------------------------------------------------- changing */

/* The way from the root to a place. A node of 0 is one that is not there yet: empty. */
struct trie_path {
    coex_handle node[CX_TRIE_LEVELS];
    unsigned depth;
};

static unsigned trie_place(uint64_t hash, unsigned level) { return (unsigned)(hash << (level * CX_TRIE_BITS) >> CX_TRIE_TOP); }

/* Down to what is at the place of this hash: nothing, an entry, or a collision node. */
static struct cx_trie_part trie_descend(uint32_t flavor, coex_handle root, uint64_t hash, struct trie_path *path)
{
    struct cx_trie_part part = cx_trie_subtree(root);
    path->depth = 0;
    do {
        path->node[path->depth] = part.node;
        if (part.node != 0) part = cx_trie_part_at(flavor, cx_trie_at(part.node), trie_place(hash, path->depth));
        path->depth++;
    } while (part.is == CX_TRIE_NODE && path->depth < CX_TRIE_LEVELS);
    return part;
}

/* Copies the words of `old` (NULL: none) to `node`, where `part` is at `place`. */
static void trie_fill(uint32_t flavor, struct cx_trie_node *node, const struct cx_trie_node *old, unsigned place,
                      const struct cx_trie_part *part)
{
    unsigned stride = cx_trie_stride(flavor);
    uint64_t maps = old != NULL ? old->maps : 0, *to = node->word;
    const uint64_t *from = old != NULL ? old->word : to;
    uint32_t data = cx_trie_data(maps), kids = cx_trie_kids(maps);
    uint64_t before = cx_trie_count(cx_trie_below(data, place)) * stride, after = cx_trie_count(data) * stride - before;
    memcpy(to, from, before * 8);
    to += before;
    from += before;
    if (part->is == CX_TRIE_ENTRY) {
        to[0] = part->key;
        if (stride == 2) to[1] = part->value;
        to += stride;
    }
    if ((data >> place & 1) != 0) { /* the entry that was there */
        from += stride;
        after -= stride;
    }
    memcpy(to, from, after * 8);
    to += after;
    from += after;
    before = cx_trie_count(cx_trie_below(kids, place));
    after = cx_trie_count(kids) - before;
    memcpy(to, from, before * 8);
    to += before;
    from += before;
    if (part->is == CX_TRIE_NODE) *to++ = part->node;
    if ((kids >> place & 1) != 0) {
        from++;
        after--;
    }
    memcpy(to, from, after * 8);
}

/* What `handle` (0: an empty node) becomes with `part` at `place`: that comes back in `part`, whose node is in a slot. */
static bool trie_replace(uint32_t flavor, coex_handle handle, unsigned place, struct cx_trie_part *part, bool is_root)
{
    const struct cx_trie_node *old = handle != 0 ? cx_trie_at(handle) : NULL;
    uint32_t bit = (uint32_t)1 << place;
    uint32_t data = old != NULL ? cx_trie_data(old->maps) & ~bit : 0, kids = old != NULL ? cx_trie_kids(old->maps) & ~bit : 0;
    uint64_t size = 0;
    if (!is_root && kids == 0 && part->is != CX_TRIE_NODE) { /* INV-TRIE-1: a single entry goes up */
        if (data == 0) return true;
        if (part->is == CX_TRIE_EMPTY && (data & (data - 1)) == 0) {
            *part = cx_trie_part_at(flavor, old, (unsigned)__builtin_ctz(data));
            return true;
        }
    }
    if (part->is == CX_TRIE_ENTRY) data |= bit;
    if (part->is == CX_TRIE_NODE) kids |= bit;
    if ((data | kids) == 0) return true; /* an empty root */
    if (kids != 0) {
        struct cx_trie_part was = old != NULL ? cx_trie_part_at(flavor, old, place) : cx_trie_nothing();
        size = cx_trie_size(flavor, handle) - cx_trie_part_size(flavor, &was) + cx_trie_part_size(flavor, part);
    }
    coex_handle fresh;
    struct cx_trie_node *node = cx_trie_new(flavor, data | (uint64_t)kids << 32, &fresh);
    if (node == NULL) return false;
    trie_fill(flavor, node, handle != 0 ? cx_trie_at(handle) : NULL, place, part);
    if (kids != 0) node->word[cx_trie_count(data) * cx_trie_stride(flavor) + cx_trie_count(kids)] = COEX_IMMEDIATE(size);
    *part = cx_trie_subtree(fresh);
    return true;
}

/* Up again: the tree in which `part` is at the end of the path. `slot` roots what is new. */
static bool trie_ascend(uint32_t flavor, const struct trie_path *path, uint64_t hash, struct cx_trie_part part, coex_handle *slot,
                        coex_handle *root)
{
    for (unsigned level = path->depth; level-- > 0;) {
        *slot = part.node;
        if (!trie_replace(flavor, path->node[level], trie_place(hash, level), &part, level == 0)) return false;
    }
    *root = *slot = part.node;
    return true;
}

/* Two entries in place of one. The path goes on to where their hashes part, if they do. */
static bool trie_part_two(uint32_t flavor, struct trie_path *path, struct cx_trie_part *part, uint64_t hash, uint64_t key,
                          uint64_t value)
{
    uint64_t other = cx_trie_hash(flavor, part->key);
    while (path->depth < CX_TRIE_LEVELS && trie_place(hash, path->depth) == trie_place(other, path->depth))
        path->node[path->depth++] = 0;
    if (path->depth == CX_TRIE_LEVELS) return cx_trie_collide(flavor, part, key, value);
    unsigned place = trie_place(hash, path->depth), other_place = trie_place(other, path->depth), stride = cx_trie_stride(flavor);
    coex_handle fresh;
    struct cx_trie_node *node = cx_trie_new(flavor, (uint64_t)1 << place | (uint64_t)1 << other_place, &fresh);
    if (node == NULL) return false;
    uint64_t *mine = &node->word[place < other_place ? 0 : stride], *theirs = &node->word[place < other_place ? stride : 0];
    mine[0] = key;
    theirs[0] = part->key;
    if (stride == 2) {
        mine[1] = value;
        theirs[1] = part->value;
    }
    *part = cx_trie_subtree(fresh);
    return true;
}

bool cx_trie_set(uint32_t flavor, coex_handle *root, uint64_t hash, uint64_t key, uint64_t value, coex_handle *slot)
{
    struct trie_path path;
    struct cx_trie_part part = trie_descend(flavor, *root, hash, &path);
    coex_handle was = part.node;
    if (part.is == CX_TRIE_EMPTY) {
        part = cx_trie_entry(key, value);
    } else if (part.is == CX_TRIE_NODE) {
        if (!cx_trie_collide(flavor, &part, key, value)) return false;
        if (part.node == was) return true;
    } else if (!cx_trie_same_key(flavor, part.key, key)) {
        if (!trie_part_two(flavor, &path, &part, hash, key, value)) return false;
    } else {
        if (part.value == value) return true;
        part.value = value;
    }
    return trie_ascend(flavor, &path, hash, part, slot, root);
}

bool cx_trie_remove(uint32_t flavor, coex_handle *root, uint64_t hash, uint64_t key, coex_handle *slot)
{
    struct trie_path path;
    struct cx_trie_part part = trie_descend(flavor, *root, hash, &path);
    coex_handle was = part.node;
    if (part.is == CX_TRIE_EMPTY) return true;
    if (part.is == CX_TRIE_NODE) {
        if (!cx_trie_uncollide(flavor, &part, key)) return false;
        if (part.node == was) return true;
    } else {
        if (!cx_trie_same_key(flavor, part.key, key)) return true;
        part = cx_trie_nothing();
    }
    return trie_ascend(flavor, &path, hash, part, slot, root);
}
