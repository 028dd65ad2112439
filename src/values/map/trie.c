/* The tree of maps and sets, one key at a time: see trie.h. */
#include "values/map/trie.h"

#include <coex/gc_diag.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------- types */

/* Marks come before entries, and vary in number: so a function finds the references of a leaf by its count, which never changes
 * after birth (INV-TRIE-2), but which a dump may read of anything. A leaf without references is not looked at. */
static inline void trie_trace(const void *payload, uint64_t size, coex_gc_visitor *visitor, unsigned stride, unsigned from,
                              unsigned step)
{
    const struct cx_trie_node *leaf = payload;
    uint64_t words = size / 8, count = words != 0 ? leaf->head : 0;
    if (count > words || 1 + cx_leaf_mark_words(count) + count * stride > words) return;
    const uint64_t *entry = cx_leaf_entries(leaf);
    for (uint64_t i = from; i < count * stride; i += step) coex_gc_visit(visitor, &entry[i]);
}

static void trie_trace_keys(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    trie_trace(payload, size, visitor, 2, 0, 2);
}

static void trie_trace_values(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    trie_trace(payload, size, visitor, 2, 1, 2);
}

static void trie_trace_both(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    trie_trace(payload, size, visitor, 2, 0, 1);
}

static void trie_trace_elements(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    trie_trace(payload, size, visitor, 1, 0, 1);
}

/* Names for dumps. The size of a leaf tells how many words of marks it has: `few` of them, or those of a line, or one for each eight
 * entries; the largest count that fits is the count, as a leaf of so many has no word to spare. */
static void trie_name(uint64_t size, uint64_t offset, uint64_t marks, unsigned stride, char *text, uint64_t room)
{
    uint64_t words = size / 8, at = offset / 8;
    if (marks != 1 && words > 1 + marks + CX_TRIE_LEAF * stride) marks = words - 1 - (words - 1) * 8 / (8 * stride + 1) * stride;
    if (at <= marks) return;
    at -= 1 + marks;
    const char *what = stride == 1 ? "element" : at % 2 == 0 ? "key" : "value";
    snprintf(text, room, "%s %llu", what, (unsigned long long)(at / stride));
}

static void trie_name_few(uint64_t size, uint64_t offset, char *text, uint64_t room) { trie_name(size, offset, 1, 2, text, room); }
static void trie_name_few_elements(uint64_t size, uint64_t offset, char *text, uint64_t room)
{
    trie_name(size, offset, 1, 1, text, room);
}
static void trie_name_many(uint64_t size, uint64_t offset, char *text, uint64_t room)
{
    trie_name(size, offset, CX_TRIE_LEAF / 8, 2, text, room);
}
static void trie_name_many_elements(uint64_t size, uint64_t offset, char *text, uint64_t room)
{
    trie_name(size, offset, CX_TRIE_LEAF / 8, 1, text, room);
}

const coex_gc_type cx_type_map_branch = {.name = "map branch", .flags = COEX_GC_REF_ARRAY, .array_offset = 8};
/* Leaves of large trees begin with a line of memory; those of a few entries lie where there is room. */
#define TRIE_LEAF_TYPE(suffix, is, what, function)                                                                                 \
    const coex_gc_type cx_type_##is##_leaf##suffix = {.name = #is " leaf" what, .trace = function, .align = CX_TRIE_LINE};         \
    const coex_gc_type cx_type_##is##_few##suffix = {.name = "small " #is " leaf" what, .trace = function};

TRIE_LEAF_TYPE(, map, "", NULL)
TRIE_LEAF_TYPE(_keys, map, " with key references", trie_trace_keys)
TRIE_LEAF_TYPE(_values, map, " with value references", trie_trace_values)
TRIE_LEAF_TYPE(_both, map, " with references", trie_trace_both)
TRIE_LEAF_TYPE(, set, "", NULL)
TRIE_LEAF_TYPE(_keys, set, " with references", trie_trace_elements)

static const struct trie_leaf_types {
    enum cx_value_type many, few;
} trie_leaf_types[CX_TRIE_FLAVORS] = {
    [COEX_MAP_INTEGER] = {CX_TYPE_map_leaf, CX_TYPE_map_few},
    [COEX_MAP_FLOAT] = {CX_TYPE_map_leaf, CX_TYPE_map_few},
    [COEX_MAP_STRING] = {CX_TYPE_map_leaf_keys, CX_TYPE_map_few_keys},
    [COEX_MAP_HANDLE] = {CX_TYPE_map_leaf_keys, CX_TYPE_map_few_keys},
    [COEX_MAP_INTEGER | COEX_MAP_REFERENCES] = {CX_TYPE_map_leaf_values, CX_TYPE_map_few_values},
    [COEX_MAP_FLOAT | COEX_MAP_REFERENCES] = {CX_TYPE_map_leaf_values, CX_TYPE_map_few_values},
    [COEX_MAP_STRING | COEX_MAP_REFERENCES] = {CX_TYPE_map_leaf_both, CX_TYPE_map_few_both},
    [COEX_MAP_HANDLE | COEX_MAP_REFERENCES] = {CX_TYPE_map_leaf_both, CX_TYPE_map_few_both},
    [CX_TRIE_SET | COEX_MAP_INTEGER] = {CX_TYPE_set_leaf, CX_TYPE_set_few},
    [CX_TRIE_SET | COEX_MAP_FLOAT] = {CX_TYPE_set_leaf, CX_TYPE_set_few},
    [CX_TRIE_SET | COEX_MAP_STRING] = {CX_TYPE_set_leaf_keys, CX_TYPE_set_few_keys},
    [CX_TRIE_SET | COEX_MAP_HANDLE] = {CX_TYPE_set_leaf_keys, CX_TYPE_set_few_keys},
};

bool cx_trie_register(void)
{
    static const struct {
        enum cx_value_type type;
        coex_gc_namer name;
    } rows[] = {
        {CX_TYPE_map_leaf_keys, trie_name_many}, {CX_TYPE_map_leaf_values, trie_name_many},
        {CX_TYPE_map_leaf_both, trie_name_many}, {CX_TYPE_set_leaf_keys, trie_name_many_elements},
        {CX_TYPE_map_few_keys, trie_name_few},   {CX_TYPE_map_few_values, trie_name_few},
        {CX_TYPE_map_few_both, trie_name_few},   {CX_TYPE_set_few_keys, trie_name_few_elements},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (coex_gc_set_namer(cx_values.id[rows[i].type], rows[i].name) != COEX_GC_OK) return false;
    }
    return true;
}

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
    uint64_t bytes = words * 8 > CX_TRIE_LINE ? words * 8 : CX_TRIE_LINE; /* so that any may be looked at as one of many marks */
    enum cx_value_type type = count > CX_TRIE_FEW ? trie_leaf_types[flavor].many : trie_leaf_types[flavor].few;
    return trie_allocate(bytes, type, count, handle);
}

/* -------------------------------------------------------------------- keys */

uint64_t cx_trie_number(uint64_t key)
{
    double number;
    memcpy(&number, &key, sizeof number);
    if (number != number) return UINT64_C(0x7ff8000000000000);
    return key == (uint64_t)1 << 63 ? 0 : key; /* -0.0 */
}

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

/* May a group with `child` be joined with the other half of the group that it is a half of? */
static bool trie_may_join(coex_handle branch, unsigned place, coex_handle child)
{
    const struct cx_trie_node *node = cx_trie_at(branch);
    uint32_t map = cx_branch_map(node);
    unsigned begin = cx_branch_begin(map, place), width = cx_branch_end(map, place) - begin, half = begin ^ width;
    if ((child != 0 && !cx_trie_is_leaf(child)) || (map >> half & 1) == 0 || cx_branch_end(map, half) != half + width) return false;
    coex_handle other = cx_branch_child(node, half);
    return (other == 0 || cx_trie_is_leaf(other)) && cx_trie_size(child) + cx_trie_size(other) <= CX_TRIE_LEAF;
}

/* Makes another branch of the same groups, with `child`, which is rooted, at `place`. */
static bool trie_replace(coex_handle branch, unsigned place, coex_handle child, coex_handle *result)
{
    const struct cx_trie_node *old = cx_trie_at(branch);
    uint32_t map = cx_branch_map(old);
    uint64_t size = cx_trie_size(branch) - cx_trie_size(cx_branch_child(old, place)) + cx_trie_size(child);
    struct cx_trie_node *node = cx_branch_new(map, size, result);
    if (node == NULL) return false;
    memcpy(node->word, cx_trie_at(branch)->word, cx_trie_count(map) * 8);
    node->word[cx_branch_index(map, place)] = child;
    return true;
}

/* Makes another branch, at `level`, with `child` (if `list` is NULL) or a list of entries at `place`, whose groups may change. */
static bool trie_regroup(uint32_t flavor, coex_handle branch, unsigned level, unsigned place, coex_handle child,
                         const struct cx_trie_list *list, coex_handle *result)
{
    struct cx_trie_image image;
    uint32_t map = cx_branch_map(cx_trie_at(branch));
    unsigned begin = cx_branch_begin(map, place), end = cx_branch_end(map, place);
    uint64_t was = cx_trie_size(cx_branch_child(cx_trie_at(branch), place)), is = list != NULL ? list->count : cx_trie_size(child);
    coex_handle *slots = coex_gc_enter_frame(0);
    cx_image_begin(&image, flavor, level, cx_trie_size(branch) - was + is);
    bool done = cx_image_copy(&image, branch, begin) &&
                (list != NULL ? cx_image_add_list(&image, end - begin, list) : cx_image_add(&image, end - begin, child)) &&
                cx_image_copy(&image, branch, CX_TRIE_PLACES) && cx_image_finish(&image, result);
    coex_gc_leave_frame(slots);
    return done;
}

/* Up again: the tree in which `part` is at the end of the path. `slot` roots what is new. */
static bool trie_ascend(uint32_t flavor, const struct trie_path *path, uint64_t hash, coex_handle part, bool shrunk,
                        coex_handle *slot, coex_handle *root)
{
    *slot = part;
    for (unsigned level = path->depth; level-- > 0;) {
        coex_handle branch = path->node[level];
        unsigned place = cx_trie_place(hash, level);
        bool join = shrunk && trie_may_join(branch, place, part);
        if (join ? !trie_regroup(flavor, branch, level, place, part, NULL, &part) : !trie_replace(branch, place, part, &part))
            return false;
        *slot = part;
    }
    *root = part;
    return true;
}

/* A full leaf at the end of the path and one entry more. */
static bool trie_overflow(uint32_t flavor, struct trie_path *path, coex_handle leaf, uint64_t hash, uint64_t key, uint64_t value,
                          coex_handle *part)
{
    struct cx_trie_list list;
    cx_list_begin(&list);
    cx_list_load(&list, flavor, leaf);
    cx_list_set(&list, flavor, hash, key, value);
    if (path->depth == 0) return cx_list_tree(&list, flavor, 0, part);
    unsigned level = --path->depth;
    return trie_regroup(flavor, path->node[level], level, cx_trie_place(hash, level), 0, &list, part);
}

bool cx_trie_set(uint32_t flavor, coex_handle *root, uint64_t hash, uint64_t key, uint64_t value, coex_handle *slot)
{
    struct trie_path path;
    coex_handle part = trie_descend(*root, hash, &path), was = part;
    bool full = part != 0 && path.depth < CX_TRIE_LEVELS && cx_trie_at(part)->head == CX_TRIE_LEAF;
    if (full && cx_trie_look_below(flavor, part, path.depth, hash, key) == NULL) {
        if (!trie_overflow(flavor, &path, part, hash, key, value, &part)) return false;
    } else if (!cx_leaf_set(flavor, &part, hash, key, value)) {
        return false;
    }
    return part == was || trie_ascend(flavor, &path, hash, part, false, slot, root);
}

bool cx_trie_remove(uint32_t flavor, coex_handle *root, uint64_t hash, uint64_t key, coex_handle *slot)
{
    struct trie_path path;
    coex_handle part = trie_descend(*root, hash, &path), was = part;
    if (!cx_leaf_remove(flavor, &part, hash, key)) return false;
    return part == was || trie_ascend(flavor, &path, hash, part, true, slot, root);
}
