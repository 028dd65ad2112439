/* The tree of maps and sets, one key at a time: see trie.h. */
#include "collections/trie.h"

#include <string.h>

/* ------------------------------------------------------------------- types */

/* Marks come before entries, and vary in number: so a function finds the references of a leaf by its count, which never changes
 * after birth (INV-TRIE-2). A leaf without references is not looked at. */
static inline void trie_trace(const void *payload, coex_gc_visitor *visitor, unsigned stride, unsigned step)
{
    const struct cx_trie_node *leaf = payload;
    const uint64_t *entry = cx_leaf_entries(leaf);
    for (uint64_t i = 0; i < leaf->head * stride; i += step) coex_gc_visit(visitor, &entry[i]);
}

static void trie_trace_keys(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    if (size > 8) trie_trace(payload, visitor, 2, 2);
}

static void trie_trace_values(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    const struct cx_trie_node *leaf = payload;
    const uint64_t *entry = cx_leaf_entries(leaf);
    for (uint64_t i = 0; size > 8 && i < leaf->head; i++) coex_gc_visit(visitor, &entry[2 * i + 1]);
}

static void trie_trace_both(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    if (size > 8) trie_trace(payload, visitor, 2, 1);
}

static void trie_trace_elements(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    if (size > 8) trie_trace(payload, visitor, 1, 1);
}

const coex_gc_type cx_type_map_branch = {.name = "map branch", .flags = COEX_GC_REF_ARRAY, .array_offset = 8};
const coex_gc_type cx_type_map_leaf = {.name = "map leaf"};
const coex_gc_type cx_type_map_leaf_keys = {.name = "map leaf (keys)", .trace = trie_trace_keys};
const coex_gc_type cx_type_map_leaf_values = {.name = "map leaf (values)", .trace = trie_trace_values};
const coex_gc_type cx_type_map_leaf_both = {.name = "map leaf (keys, values)", .trace = trie_trace_both};
const coex_gc_type cx_type_set_leaf = {.name = "set leaf"};
const coex_gc_type cx_type_set_leaf_keys = {.name = "set leaf (references)", .trace = trie_trace_elements};

static const enum cx_value_type trie_leaf_types[CX_TRIE_FLAVORS] = {
    [COEX_MAP_INTEGER] = CX_TYPE_map_leaf,
    [COEX_MAP_FLOAT] = CX_TYPE_map_leaf,
    [COEX_MAP_STRING] = CX_TYPE_map_leaf_keys,
    [COEX_MAP_HANDLE] = CX_TYPE_map_leaf_keys,
    [COEX_MAP_INTEGER | COEX_MAP_REFERENCES] = CX_TYPE_map_leaf_values,
    [COEX_MAP_FLOAT | COEX_MAP_REFERENCES] = CX_TYPE_map_leaf_values,
    [COEX_MAP_STRING | COEX_MAP_REFERENCES] = CX_TYPE_map_leaf_both,
    [COEX_MAP_HANDLE | COEX_MAP_REFERENCES] = CX_TYPE_map_leaf_both,
    [CX_TRIE_SET | COEX_MAP_INTEGER] = CX_TYPE_set_leaf,
    [CX_TRIE_SET | COEX_MAP_FLOAT] = CX_TYPE_set_leaf,
    [CX_TRIE_SET | COEX_MAP_STRING] = CX_TYPE_set_leaf_keys,
    [CX_TRIE_SET | COEX_MAP_HANDLE] = CX_TYPE_set_leaf_keys,
};

/* So that the marks of any leaf can be looked at as if there were CX_TRIE_LEAF: what lies behind them is in the same object. */
enum { TRIE_LEAF_LEAST = 8 + CX_TRIE_LEAF };

static struct cx_trie_node *trie_allocate(uint64_t bytes, enum cx_value_type type, uint64_t head, coex_handle *handle)
{
    void *payload;
    *handle = coex_gc_alloc_at(bytes, cx_values.id[type], &payload);
    struct cx_trie_node *node = payload;
    if (*handle == 0) {
        cx_fail_memory();
        return NULL;
    }
    node->head = head;
    return node;
}

struct cx_trie_node *cx_branch_new(uint32_t map, uint64_t size, coex_handle *handle)
{
    uint64_t children = cx_trie_count(map);
    struct cx_trie_node *node = trie_allocate((children + 2) * 8, CX_TYPE_map_branch, CX_TRIE_BRANCH | map, handle);
    if (node != NULL) node->word[children] = COEX_IMMEDIATE(size);
    return node;
}

struct cx_trie_node *cx_leaf_new(uint32_t flavor, uint64_t count, coex_handle *handle)
{
    uint64_t words = 1 + cx_leaf_mark_words(count) + count * cx_trie_stride(flavor);
    uint64_t bytes = words * 8 > TRIE_LEAF_LEAST ? words * 8 : TRIE_LEAF_LEAST;
    return trie_allocate(bytes, trie_leaf_types[flavor], count, handle);
}

/* -------------------------------------------------------------------- keys */

uint64_t cx_trie_number(uint64_t key)
{
    double number;
    memcpy(&number, &key, sizeof number);
    if (number != number) return UINT64_C(0x7ff8000000000000);
    return key == (uint64_t)1 << 63 ? 0 : key; /* -0.0 */
}

/* ----------------------------------------------------------------- finding */

/* A bit for each of 16 marks that is this one. */
#if defined(__SSE2__)
#include <emmintrin.h>
static inline uint64_t trie_match(const uint8_t *marks, uint8_t mark)
{
    __m128i found = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)marks), _mm_set1_epi8((char)mark));
    return (uint32_t)_mm_movemask_epi8(found);
}
#else
static inline uint64_t trie_match(const uint8_t *marks, uint8_t mark)
{
    uint64_t found = 0;
    for (unsigned i = 0; i < 16; i++) found |= (uint64_t)(marks[i] == mark) << i;
    return found;
}
#endif

/* One of more entries than CX_TRIE_LEAF: where hashes are used up. */
static const uint64_t *trie_find_many(uint32_t flavor, const struct cx_trie_node *leaf, uint64_t key)
{
    const uint64_t *entry = cx_leaf_entries(leaf);
    for (uint64_t i = leaf->head; i != 0; i--, entry += cx_trie_stride(flavor)) {
        if (cx_trie_same_key(flavor, *entry, key)) return entry;
    }
    return NULL;
}

#define TRIE_TEMPLATE static inline __attribute__((always_inline))

/* The number of vectors does not depend on the count: a branch that can't be foreseen would cost more than looking at marks that
 * are none, since nothing behind it begins before the head of the leaf has come. */
TRIE_TEMPLATE const uint64_t *trie_find_in(uint32_t flavor, const struct cx_trie_node *leaf, uint8_t mark, uint64_t key,
                                           const bool strings)
{
    uint64_t count = leaf->head;
    const uint8_t *marks = cx_leaf_marks(leaf);
    if (COEX_UNLIKELY(count > CX_TRIE_LEAF)) return trie_find_many(flavor, leaf, key);
    uint64_t found = trie_match(marks, mark) | trie_match(marks + 16, mark) << 16 | trie_match(marks + 32, mark) << 32;
    const uint64_t *entries = cx_leaf_entries(leaf);
    unsigned shift = (flavor & CX_TRIE_SET) != 0 ? 0 : 1;
    for (found &= ((uint64_t)1 << count) - 1; found != 0; found &= found - 1) {
        const uint64_t *entry = &entries[(uint64_t)__builtin_ctzll(found) << shift];
        if (COEX_LIKELY(*entry == key)) return entry;
        if (strings && coex_string_equal(*entry, key)) return entry;
    }
    return NULL;
}

/* Asks for the memory where an entry probably is, before the head of its leaf has come and says where: leaves of one level have
 * about the same count, and entries are sorted by marks, which are spread evenly. */
TRIE_TEMPLATE void trie_prefetch(uint32_t flavor, const struct cx_trie_node *leaf, uint64_t count, uint8_t mark)
{
    uint64_t before = count * mark / 256;
    const char *near = (const char *)leaf->word + count + before * 8 * cx_trie_stride(flavor);
    __builtin_prefetch(near - 40);
    __builtin_prefetch(near + 24);
    __builtin_prefetch(near + 88);
}

/* Always inlined into its uses, so that each has its own text. */
TRIE_TEMPLATE const uint64_t *trie_find(uint32_t flavor, coex_handle root, uint64_t left, uint8_t mark, uint64_t key,
                                        const bool strings, const bool instruction)
{
    if (root == 0) return NULL;
    const struct cx_trie_node *node = cx_trie_at(root);
    if (!cx_trie_is_branch(node)) return trie_find_in(flavor, node, mark, key, strings);
    uint32_t map = cx_branch_map(node);
    uint64_t size = coex_immediate_bits(node->word[instruction ? (unsigned)__builtin_popcount(map) : cx_trie_count(map)]);
    do {
        map = cx_branch_map(node);
        unsigned place = (unsigned)(left >> CX_TRIE_TOP);
        uint32_t below = map & (((uint32_t)1 << place) - 1);
        if (COEX_UNLIKELY((map >> place & 1) == 0)) return NULL;
        coex_handle child = node->word[instruction ? (unsigned)__builtin_popcount(below) : cx_trie_count(below)];
        if (child == 0) __builtin_unreachable();
        node = cx_trie_at(child);
        left <<= CX_TRIE_BITS;
        size >>= CX_TRIE_BITS;
        if (size < CX_TRIE_LEAF) trie_prefetch(flavor, node, size, mark);
    } while (cx_trie_is_branch(node));
    return trie_find_in(flavor, node, mark, key, strings);
}

#define TRIE_FIND(name, attribute, strings, instruction)                                                                           \
    attribute static const uint64_t *name(uint32_t flavor, coex_handle root, uint64_t hash, uint8_t mark, uint64_t key)            \
    {                                                                                                                              \
        return trie_find(flavor, root, hash, mark, key, strings, instruction);                                                     \
    }

TRIE_FIND(trie_find_word_anywhere, , false, false)
TRIE_FIND(trie_find_string_anywhere, , true, false)

/* W: when the library is loaded. */
cx_trie_finder cx_trie_find_word = trie_find_word_anywhere, cx_trie_find_string = trie_find_string_anywhere;

#if defined(__x86_64__)
#define TRIE_POPCNT __attribute__((target("popcnt")))
TRIE_FIND(trie_find_word_popcnt, TRIE_POPCNT, false, true)
TRIE_FIND(trie_find_string_popcnt, TRIE_POPCNT, true, true)

__attribute__((constructor)) static void trie_choose(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("popcnt")) return;
    cx_trie_find_word = trie_find_word_popcnt;
    cx_trie_find_string = trie_find_string_popcnt;
}
#endif

/* ---------------------------------------------------------------- changing */

/* The branches from the root to a place. */
struct trie_path {
    coex_handle node[CX_TRIE_LEVELS];
    unsigned depth;
};

/* Down to what is at the place of this hash: a leaf, or nothing. */
static coex_handle trie_descend(coex_handle root, uint64_t hash, struct trie_path *path)
{
    coex_handle at = root;
    for (path->depth = 0; at != 0; path->depth++) {
        const struct cx_trie_node *node = cx_trie_at(at);
        if (!cx_trie_is_branch(node)) break;
        path->node[path->depth] = at;
        at = cx_branch_child(node, cx_trie_place(hash, path->depth));
    }
    return at;
}

/* A branch of so few entries that it is to be a leaf, with `child` at `place`. */
static bool trie_collapse(uint32_t flavor, coex_handle branch, unsigned place, coex_handle child, coex_handle *leaf)
{
    struct cx_trie_list list;
    const struct cx_trie_node *node = cx_trie_at(branch);
    cx_list_begin(&list);
    for (uint32_t rest = cx_branch_map(node), i = 0; rest != 0; rest &= rest - 1, i++)
        cx_list_load(&list, flavor, (unsigned)__builtin_ctz(rest) == place ? child : node->word[i]);
    cx_list_sort(&list, flavor);
    return cx_list_tree(&list, flavor, 0, leaf);
}

/* What a branch becomes with `child`, which is rooted, at `place`. */
static bool trie_replace(uint32_t flavor, coex_handle branch, unsigned place, coex_handle child, coex_handle *result)
{
    const struct cx_trie_node *old = cx_trie_at(branch);
    uint32_t map = cx_branch_map(old), bit = (uint32_t)1 << place;
    unsigned at = cx_branch_index(map, place), was = (map & bit) != 0, is = child != 0, rest = cx_trie_count(map) - at - was;
    uint64_t size = cx_trie_size(branch) - cx_trie_size(cx_branch_child(old, place)) + cx_trie_size(child);
    if (size <= CX_TRIE_LEAF) return trie_collapse(flavor, branch, place, child, result);
    struct cx_trie_node *node = cx_branch_new(child != 0 ? map | bit : map & ~bit, size, result);
    if (node == NULL) return false;
    old = cx_trie_at(branch);
    memcpy(node->word, old->word, at * 8);
    if (is) node->word[at] = child;
    memcpy(&node->word[at + is], &old->word[at + was], rest * 8);
    return true;
}

/* Up again: the tree in which `part` is at the end of the path. `slot` roots what is new. */
static bool trie_ascend(uint32_t flavor, const struct trie_path *path, uint64_t hash, coex_handle part, coex_handle *slot,
                        coex_handle *root)
{
    *slot = part;
    for (unsigned level = path->depth; level-- > 0;) {
        if (!trie_replace(flavor, path->node[level], cx_trie_place(hash, level), part, &part)) return false;
        *slot = part;
    }
    *root = part;
    return true;
}

/* A full leaf and one entry more. */
static bool trie_overflow(uint32_t flavor, coex_handle *leaf, unsigned level, uint64_t hash, uint64_t key, uint64_t value)
{
    struct cx_trie_list list;
    cx_list_begin(&list);
    cx_list_load(&list, flavor, *leaf);
    cx_list_set(&list, flavor, hash, key, value);
    return cx_list_tree(&list, flavor, level, leaf);
}

bool cx_trie_set(uint32_t flavor, coex_handle *root, uint64_t hash, uint64_t key, uint64_t value, coex_handle *slot)
{
    struct trie_path path;
    coex_handle part = trie_descend(*root, hash, &path), was = part;
    bool full = part != 0 && path.depth < CX_TRIE_LEVELS && cx_trie_at(part)->head == CX_TRIE_LEAF;
    if (full && cx_trie_look_below(flavor, part, path.depth, hash, key) == NULL) {
        if (!trie_overflow(flavor, &part, path.depth, hash, key, value)) return false;
    } else if (!cx_leaf_set(flavor, &part, hash, key, value)) {
        return false;
    }
    return part == was || trie_ascend(flavor, &path, hash, part, slot, root);
}

bool cx_trie_remove(uint32_t flavor, coex_handle *root, uint64_t hash, uint64_t key, coex_handle *slot)
{
    struct trie_path path;
    coex_handle part = trie_descend(*root, hash, &path), was = part;
    if (!cx_leaf_remove(flavor, &part, hash, key)) return false;
    return part == was || trie_ascend(flavor, &path, hash, part, slot, root);
}
