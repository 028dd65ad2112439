/* See list_tree.h. All that makes nodes works on rows: the slots of one or two nodes of a level side by side, with what is below
 * each. The slots of a leaf are words, which count as one each, so that leaves need no code of their own. */
#include "values/list/list_tree.h"

#include <string.h>

enum { ROW_MAX = 2 * CX_LIST_WIDTH + 2 };

struct row_item {
    uint64_t word; /* a child, or a word of a leaf */
    uint64_t count;
};

struct row {
    uint32_t n;
    struct row_item item[ROW_MAX];
};

/* The way from the root to a leaf. */
struct way {
    struct cx_list_part at[CX_LIST_LEVELS];
    uint32_t slot[CX_LIST_LEVELS]; /* of the next part in this one; at level 0 of the word */
};

/* --------------------------------------------------------------------- types */

static const uint32_t root_offset[] = {offsetof(struct cx_list, root)};
static const char *const root_name[] = {"root"};

const coex_gc_type cx_type_list_words = {
    .name = "list of words", .ref_offsets = root_offset, .ref_count = 1, .ref_names = root_name};
const coex_gc_type cx_type_list_refs = {.name = "list",
                                        .ref_offsets = root_offset,
                                        .ref_count = 1,
                                        .ref_names = root_name,
                                        .flags = COEX_GC_REF_ARRAY,
                                        .array_offset = offsetof(struct cx_list, tail)};
const coex_gc_type cx_type_list_leaf_words = {.name = "list leaf of words"};
const coex_gc_type cx_type_list_leaf_refs = {.name = "list leaf", .flags = COEX_GC_REF_ARRAY};
const coex_gc_type cx_type_list_node = {.name = "list node", .flags = COEX_GC_REF_ARRAY};
const coex_gc_type cx_type_list_sized = {
    .name = "sized list node", .flags = COEX_GC_REF_ARRAY, .array_offset = offsetof(struct cx_list_sized, child)};

/* ---------------------------------------------------------------------- work */

struct cx_list_work cx_list_work_begin(bool refs) { return (struct cx_list_work){.frame = coex_gc_enter_frame(0), .refs = refs}; }

void cx_list_work_end(struct cx_list_work *work) { coex_gc_leave_frame(work->frame); }

/* Roots what was made until the work ends: some nodes for each level. */
static coex_handle work_keep(struct cx_list_work *work, coex_handle node)
{
    if (node == 0)
        work->failed = true;
    else
        coex_gc_root(node);
    return node;
}

/* ------------------------------------------------------------------- looking */

bool cx_list_is_sized(coex_handle node)
{
    uint32_t type = coex_gc_type_at(coex_gc_handle_deref(node));
    return type == cx_values.id[CX_TYPE_list_sized] || type == cx_values.id[CX_TYPE_edit_sized];
}

static bool part_is_sized(struct cx_list_part part) { return part.level != 0 && cx_list_is_sized(part.node); }

uint64_t cx_list_shape(struct cx_list_part tree)
{
    if (tree.count == 0) return 0;
    return tree.count << 8 | (part_is_sized(tree) ? CX_LIST_RELAXED : 0) | tree.level * CX_LIST_BITS;
}

/* The child with that word. Children before place index >> shift end too early to have it. */
static uint32_t sized_slot(const struct cx_list_sized *node, uint64_t index, uint64_t shift)
{
    uint64_t slot = index >> shift;
    while (node->upto[slot] <= index) slot++;
    return (uint32_t)slot;
}

const uint64_t *cx_list_find_sized(coex_handle root, uint64_t shift, uint64_t index)
{
    coex_handle at = root;
    for (; shift != 0; shift -= CX_LIST_BITS) {
        if (!cx_list_is_sized(at)) return cx_list_find(at, shift, index);
        const struct cx_list_sized *node = coex_gc_handle_deref(at);
        uint32_t slot = sized_slot(node, index, shift);
        if (slot != 0) index -= node->upto[slot - 1];
        at = node->child[slot];
    }
    return (const uint64_t *)coex_gc_handle_deref(at) + index;
}

struct cx_list_part cx_list_child(struct cx_list_part part, uint64_t index, uint32_t *slot, uint64_t *offset)
{
    uint64_t shift = part.level * CX_LIST_BITS, start, end;
    const void *payload = coex_gc_handle_deref(part.node);
    coex_handle child;
    if (part_is_sized(part)) {
        const struct cx_list_sized *node = payload;
        *slot = sized_slot(node, index, shift);
        start = *slot == 0 ? 0 : node->upto[*slot - 1];
        end = node->upto[*slot];
        child = node->child[*slot];
    } else {
        *slot = (uint32_t)(index >> shift);
        start = (uint64_t)*slot << shift;
        end = part.count - start <= (uint64_t)1 << shift ? part.count : start + ((uint64_t)1 << shift);
        child = ((const coex_handle *)payload)[*slot];
    }
    *offset = index - start;
    return (struct cx_list_part){child, end - start, part.level - 1};
}

const uint64_t *cx_list_leaf_words(coex_handle leaf)
{
    const void *payload = coex_gc_handle_deref(leaf);
    return cx_list_is_list(leaf) ? ((const struct cx_list *)payload)->tail : payload;
}

struct cx_list_part cx_list_leaf(struct cx_list_part tree, uint64_t index, uint64_t *offset)
{
    uint32_t slot;
    *offset = index;
    while (tree.level != 0) tree = cx_list_child(tree, *offset, &slot, offset);
    return tree;
}

uint32_t cx_list_slots(struct cx_list_part part)
{
    uint64_t shift = part.level * CX_LIST_BITS;
    if (!part_is_sized(part)) return (uint32_t)((part.count + ((uint64_t)1 << shift) - 1) >> shift);
    return sized_slot(coex_gc_handle_deref(part.node), part.count - 1, shift) + 1;
}

static void way_to(struct way *way, struct cx_list_part tree, uint64_t index)
{
    way->at[tree.level] = tree;
    while (tree.level != 0) {
        uint32_t level = tree.level;
        tree = cx_list_child(tree, index, &way->slot[level], &index);
        way->at[level - 1] = tree;
    }
    way->slot[0] = (uint32_t)index;
}

/* ---------------------------------------------------------------------- rows */

static void row_add(struct row *row, uint64_t word, uint64_t count) { row->item[row->n++] = (struct row_item){word, count}; }

/* Adds the slots [from, to) of a node. */
static void row_collect(struct row *row, struct cx_list_part part, uint32_t from, uint32_t to)
{
    uint64_t shift = part.level * CX_LIST_BITS;
    const void *payload = coex_gc_handle_deref(part.node);
    if (part_is_sized(part)) {
        const struct cx_list_sized *node = payload;
        for (uint32_t i = from; i < to; i++) row_add(row, node->child[i], node->upto[i] - (i == 0 ? 0 : node->upto[i - 1]));
        return;
    }
    for (uint32_t i = from; i < to; i++) {
        uint64_t left = part.count - ((uint64_t)i << shift);
        row_add(row, ((const uint64_t *)payload)[i], left < (uint64_t)1 << shift ? left : (uint64_t)1 << shift);
    }
}

/* Replaces `out` items at `at` by `in` others. */
static void row_replace(struct row *row, uint32_t at, uint32_t out, const struct row_item *items, uint32_t in)
{
    memmove(&row->item[at + in], &row->item[at + out], (row->n - at - out) * sizeof row->item[0]);
    memcpy(&row->item[at], items, in * sizeof row->item[0]);
    row->n = row->n - out + in;
}

static bool row_is_regular(const struct row_item *item, uint32_t n, uint32_t level)
{
    if (level == 0) return true;
    for (uint32_t i = 0; i + 1 < n; i++) {
        if (item[i].count != (uint64_t)1 << (level * CX_LIST_BITS)) return false;
    }
    return level == 1 || !cx_list_is_sized(item[n - 1].word); /* INV-LIST-2 */
}

static enum cx_value_type row_type(uint32_t level, bool refs)
{
    if (level != 0) return CX_TYPE_list_node;
    return refs ? CX_TYPE_list_leaf_refs : CX_TYPE_list_leaf_words;
}

/* A node of these n slots. */
static struct row_item row_build(struct cx_list_work *work, const struct row_item *item, uint32_t n, uint32_t level)
{
    void *payload;
    struct row_item result = {0, 0};
    bool sized = !row_is_regular(item, n, level);
    uint64_t size = n * sizeof(uint64_t) + (sized ? sizeof(struct cx_list_sized) : 0);
    result.word =
        work_keep(work, coex_gc_alloc_at(size, cx_values.id[sized ? CX_TYPE_list_sized : row_type(level, work->refs)], &payload));
    if (result.word == 0) return result;
    uint64_t *slots = sized ? ((struct cx_list_sized *)payload)->child : payload;
    for (uint32_t i = 0; i < n; i++) {
        slots[i] = item[i].word;
        result.count += item[i].count;
        if (sized) ((struct cx_list_sized *)payload)->upto[i] = result.count;
    }
    return result;
}

/* One node of all slots of the row, or two; how many. Neither of two is thin (INV-LIST-1), unless the second is on the right edge:
 * there the first gets as many as it can hold, so that what is regular stays so. */
static uint32_t row_distribute(struct cx_list_work *work, const struct row *row, uint32_t level, bool edge, struct row_item out[2])
{
    if (row->n <= CX_LIST_WIDTH) {
        out[0] = row_build(work, row->item, row->n, level);
        return 1;
    }
    uint32_t first = edge || row->n - CX_LIST_WIDTH >= CX_LIST_LEAST ? CX_LIST_WIDTH : row->n / 2;
    out[0] = row_build(work, row->item, first, level);
    if (!work->failed) out[1] = row_build(work, row->item + first, row->n - first, level);
    return 2;
}

static struct cx_list_part item_part(struct row_item item, uint32_t level)
{
    return (struct cx_list_part){item.word, item.count, level};
}

static void row_thicken(struct cx_list_work *work, struct row *row, uint32_t level, uint32_t at, uint32_t fresh, bool edge);

/* Of two nodes side by side: one, or two that are not thin. Where they meet, what is below them may be thin as well, if it had nothing
 * beside it so far: so this goes down as far as there are such nodes. */
static uint32_t row_merge(struct cx_list_work *work, const struct row_item pair[2], uint32_t level, struct row_item out[2])
{
    struct row row;
    struct cx_list_part left = item_part(pair[0], level), right = item_part(pair[1], level);
    row.n = 0;
    row_collect(&row, left, 0, cx_list_slots(left));
    uint32_t seam = row.n - 1;
    row_collect(&row, right, 0, cx_list_slots(right));
    if (level != 0) row_thicken(work, &row, level - 1, seam, 2, false);
    if (work->failed) return 0;
    return row_distribute(work, &row, level, false, out);
}

/* The `fresh` items at `at` of a row are nodes of `level` that may be thin: merges them with what is beside them. With `edge` the
 * last of the row is on the right edge, where it may be thin. */
static void row_thicken(struct cx_list_work *work, struct row *row, uint32_t level, uint32_t at, uint32_t fresh, bool edge)
{
    struct row_item out[2];
    for (uint32_t i = at; i < at + fresh && row->n > 1;) {
        if ((edge && i + 1 == row->n) || cx_list_slots(item_part(row->item[i], level)) >= CX_LIST_LEAST) {
            i++;
            continue;
        }
        uint32_t first = i + 1 < row->n && i + 1 < at + fresh ? i : i > 0 ? i - 1 : i;
        uint32_t made = row_merge(work, &row->item[first], level, out);
        if (work->failed) return;
        uint32_t end = at + fresh > first + 2 ? at + fresh : first + 2;
        row_replace(row, first, 2, out, made);
        if (first < at) at = first;
        fresh = end - at - (2 - made);
        i = at;
    }
}

/* ------------------------------------------------------------------------ up */

/* A root that has one child, or two that fit in one node, is dropped. Nodes on the edges may be thin, so a tree that was cut may
 * have several of them above each other. */
static struct cx_list_part list_squash(struct cx_list_work *work, struct cx_list_part tree)
{
    struct row row;
    while (tree.count != 0 && tree.level != 0 && !work->failed) {
        uint32_t n = cx_list_slots(tree);
        if (n > 2) break;
        row.n = 0;
        row_collect(&row, tree, 0, n);
        struct row_item out[2] = {row.item[0]};
        if (n == 2) {
            uint32_t level = tree.level - 1;
            if (cx_list_slots(item_part(row.item[0], level)) + cx_list_slots(item_part(row.item[1], level)) > CX_LIST_WIDTH) break;
            row_merge(work, row.item, level, out);
        }
        tree = item_part(out[0], tree.level - 1);
    }
    return tree;
}

/* The nodes of a level that replace what was there: none, one or two. */
struct rest {
    struct row_item item[2];
    uint32_t n;
};

/* One level up: the row of all nodes of level - 1, with the rest among them from `at` on. From level `edge` on up the row ends at
 * the right edge of the tree. */
static void rest_rise(struct cx_list_work *work, struct row *row, uint32_t at, struct rest *rest, uint32_t level, uint32_t edge)
{
    row_thicken(work, row, level - 1, at, rest->n, level > edge);
    rest->n = 0;
    if (row->n != 0 && !work->failed) rest->n = row_distribute(work, row, level, level >= edge, rest->item);
}

/* The tree that has the rest at its top. */
static struct cx_list_part rest_tree(struct cx_list_work *work, struct rest *rest, uint32_t level)
{
    if (rest->n == 0 || work->failed) return (struct cx_list_part){0, 0, 0};
    if (rest->n == 2) {
        rest->item[0] = row_build(work, rest->item, 2, level + 1);
        level++;
    }
    return list_squash(work, item_part(rest->item[0], level));
}

/* The leaf at the way's end is replaced by a row of words, and so is all above it. */
static struct cx_list_part way_rebuild(struct cx_list_work *work, const struct way *way, struct row *row, uint32_t top)
{
    struct rest rest = {.n = 0};
    if (row->n != 0) rest.n = row_distribute(work, row, 0, false, rest.item);
    for (uint32_t level = 1; level <= top && !work->failed; level++) {
        uint32_t slot = way->slot[level];
        row->n = 0;
        row_collect(row, way->at[level], 0, slot);
        for (uint32_t i = 0; i < rest.n; i++) row_add(row, rest.item[i].word, rest.item[i].count);
        row_collect(row, way->at[level], slot + 1, cx_list_slots(way->at[level]));
        rest_rise(work, row, slot, &rest, level, CX_LIST_LEVELS);
    }
    return rest_tree(work, &rest, top);
}

struct cx_list_part cx_list_put_in(struct cx_list_work *work, struct cx_list_part tree, uint64_t index, uint64_t value)
{
    struct way way;
    struct row row;
    way_to(&way, tree, index);
    row.n = 0;
    row_collect(&row, way.at[0], 0, way.slot[0]);
    row_add(&row, value, 1);
    row_collect(&row, way.at[0], way.slot[0], cx_list_slots(way.at[0]));
    return way_rebuild(work, &way, &row, tree.level);
}

struct cx_list_part cx_list_take_out(struct cx_list_work *work, struct cx_list_part tree, uint64_t index)
{
    struct way way;
    struct row row;
    way_to(&way, tree, index);
    row.n = 0;
    row_collect(&row, way.at[0], 0, way.slot[0]);
    row_collect(&row, way.at[0], way.slot[0] + 1, cx_list_slots(way.at[0]));
    return way_rebuild(work, &way, &row, tree.level);
}

/* Along the right edge of a and the left edge of b, bottom up. The left edge of a and the right edge of b become the result's. */
struct cx_list_part cx_list_join(struct cx_list_work *work, struct cx_list_part a, struct cx_list_part b)
{
    struct way left, right;
    struct row row;
    way_to(&left, a, a.count - 1);
    way_to(&right, b, 0);
    struct rest rest = {.item = {{left.at[0].node, left.at[0].count}, {right.at[0].node, right.at[0].count}}, .n = 2};
    uint32_t top = a.level > b.level ? a.level : b.level;
    if (top == 0) top = 1;
    for (uint32_t level = 1; level <= top && !work->failed; level++) {
        row.n = 0;
        if (level <= a.level) row_collect(&row, left.at[level], 0, left.slot[level]);
        uint32_t at = row.n;
        for (uint32_t i = 0; i < rest.n; i++) row_add(&row, rest.item[i].word, rest.item[i].count);
        if (level <= b.level) row_collect(&row, right.at[level], 1, cx_list_slots(right.at[level]));
        rest_rise(work, &row, at, &rest, level, b.level);
    }
    return rest_tree(work, &rest, top);
}

/* The first `keep` slots of a node and one more, as a row would have it; the result is regular. */
static struct row_item push_regular(struct cx_list_work *work, struct cx_list_part part, uint32_t keep, struct row_item branch)
{
    void *payload;
    uint64_t size = keep * sizeof(coex_handle);
    coex_handle node = work_keep(work, coex_gc_alloc_at(size + sizeof(coex_handle), cx_values.id[CX_TYPE_list_node], &payload));
    if (node == 0) return (struct row_item){0, 0};
    if (keep != 0) memcpy(payload, coex_gc_handle_deref(part.node), size);
    ((coex_handle *)payload)[keep] = branch.word;
    return (struct row_item){node, ((uint64_t)keep << (part.level * CX_LIST_BITS)) + branch.count};
}

static struct row_item push_sized(struct cx_list_work *work, struct cx_list_part part, uint32_t keep, struct row_item branch)
{
    struct row row;
    row.n = 0;
    row_collect(&row, part, 0, keep);
    row_add(&row, branch.word, branch.count);
    return row_build(work, row.item, row.n, part.level);
}

/* Appends a leaf: copies the right edge from the lowest node that has room; below it the new branch has one slot on each level. */
struct cx_list_part cx_list_push(struct cx_list_work *work, struct cx_list_part tree, struct cx_list_part leaf)
{
    struct way way;
    if (tree.count == 0) return leaf;
    way_to(&way, tree, tree.count - 1);
    if (way.at[0].count < CX_LIST_LEAST) return cx_list_join(work, tree, leaf); /* it will no longer be on the edge */
    struct row_item branch = {leaf.node, leaf.count};
    bool replaces = false, regular = tree.count % CX_LIST_WIDTH == 0 && !part_is_sized(tree);
    for (uint32_t level = 1; level <= tree.level && !work->failed; level++) {
        uint32_t keep = 0, slots = way.slot[level] + 1;
        if (replaces || slots < CX_LIST_WIDTH) {
            keep = replaces ? slots - 1 : slots;
            replaces = true;
        }
        branch = regular ? push_regular(work, way.at[level], keep, branch) : push_sized(work, way.at[level], keep, branch);
    }
    if (replaces || work->failed) return item_part(branch, tree.level);
    struct row_item pair[2] = {{tree.node, tree.count}, branch};
    return item_part(row_build(work, pair, 2, tree.level + 1), tree.level + 1);
}

/* ------------------------------------------------------------------------ cut */

/* What is left of a part without its first `from` words. */
static struct cx_list_part cut_left(struct cx_list_work *work, struct cx_list_part part, uint64_t from)
{
    struct way way;
    struct row row;
    if (from == 0) return part;
    way_to(&way, part, from);
    row.n = 0;
    row_collect(&row, way.at[0], way.slot[0], cx_list_slots(way.at[0]));
    struct row_item branch = {way.at[0].node, way.at[0].count};
    if (way.slot[0] != 0) branch = row_build(work, row.item, row.n, 0);
    for (uint32_t level = 1; level <= part.level && !work->failed; level++) {
        row.n = 0;
        row_add(&row, branch.word, branch.count);
        row_collect(&row, way.at[level], way.slot[level] + 1, cx_list_slots(way.at[level]));
        branch = row_build(work, row.item, row.n, level);
    }
    return item_part(branch, part.level);
}

/* The first `to` words of a part; a leaf ends there. */
static struct cx_list_part cut_right(struct cx_list_work *work, struct cx_list_part part, uint64_t to)
{
    struct way way;
    struct row row;
    if (to == part.count) return part;
    way_to(&way, part, to - 1);
    struct row_item branch = {way.at[0].node, way.at[0].count};
    for (uint32_t level = 1; level <= part.level && !work->failed; level++) {
        row.n = 0;
        row_collect(&row, way.at[level], 0, way.slot[level]);
        row_add(&row, branch.word, branch.count);
        branch = row_build(work, row.item, row.n, level);
    }
    return item_part(branch, part.level);
}

struct cx_list_part cx_list_cut(struct cx_list_work *work, struct cx_list_part tree, uint64_t from, uint64_t to)
{
    uint32_t first = 0, last = 0;
    uint64_t from_in = 0, to_in = 0;
    struct cx_list_part a = tree, b = tree;
    while (tree.level != 0) { /* down to where the two ends part */
        a = cx_list_child(tree, from, &first, &from_in);
        b = cx_list_child(tree, to - 1, &last, &to_in);
        if (first != last) break;
        tree = a;
        from = from_in;
        to = to_in + 1;
    }
    if (tree.level == 0) return cut_left(work, tree, from);
    struct row row;
    struct cx_list_part left = cut_left(work, a, from_in);
    struct row_item branch[2] = {{left.node, left.count}};
    if (work->failed) return left;
    struct cx_list_part right = cut_right(work, b, to_in + 1);
    if (work->failed) return right;
    branch[1] = (struct row_item){right.node, right.count};
    row.n = 0;
    row_add(&row, branch[0].word, branch[0].count);
    row_collect(&row, tree, first + 1, last);
    row_add(&row, branch[1].word, branch[1].count);
    return list_squash(work, item_part(row_build(work, row.item, row.n, tree.level), tree.level));
}

/* -------------------------------------------------------------------- replace */

/* A copy of a node with another word in one slot. 0: no memory. */
static coex_handle node_copy(coex_handle node, uint32_t type, uint64_t size, uint64_t place, uint64_t value)
{
    void *payload;
    coex_handle copy = coex_gc_alloc_at(size, type, &payload);
    if (copy == 0) return 0;
    const void *from = coex_gc_handle_deref(node);
    if (COEX_LIKELY(size == CX_LIST_WIDTH * sizeof value))
        memcpy(payload, from, CX_LIST_WIDTH * sizeof value); /* without a call */
    else
        memcpy(payload, from, size);
    ((uint64_t *)payload)[place] = value;
    return copy;
}

/* The bits of the index say where the way goes, and how many slots each node on it has. */
static coex_handle replace_regular(struct cx_list_part tree, uint64_t index, uint64_t value, bool refs, coex_handle *slot)
{
    coex_handle way[CX_LIST_LEVELS];
    way[tree.level] = tree.node;
    for (uint32_t level = tree.level; level != 0; level--)
        way[level - 1] = ((const coex_handle *)coex_gc_handle_deref(way[level]))[(index >> (level * CX_LIST_BITS)) % CX_LIST_WIDTH];
    for (uint32_t level = 0; level <= tree.level; level++) {
        uint32_t shift = level * CX_LIST_BITS;
        uint64_t before = index >> shift >> CX_LIST_BITS << CX_LIST_BITS; /* nodes of the level below, on the left of this one's */
        uint64_t slots = ((tree.count - 1) >> shift) + 1 - before;
        if (slots > CX_LIST_WIDTH) slots = CX_LIST_WIDTH;
        value = node_copy(way[level], cx_values.id[row_type(level, refs)], slots * sizeof value, (index >> shift) % CX_LIST_WIDTH,
                          value);
        if (value == 0) return 0;
        *slot = value;
    }
    return value;
}

static coex_handle replace_sized(struct cx_list_part tree, uint64_t index, uint64_t value, bool refs, coex_handle *slot)
{
    struct way way;
    way_to(&way, tree, index);
    for (uint32_t level = 0; level <= tree.level; level++) {
        bool sized = part_is_sized(way.at[level]);
        uint64_t head = sized ? sizeof(struct cx_list_sized) / sizeof value : 0;
        uint32_t type = cx_values.id[sized ? CX_TYPE_list_sized : row_type(level, refs)];
        uint64_t size = (head + cx_list_slots(way.at[level])) * sizeof value;
        value = node_copy(way.at[level].node, type, size, head + way.slot[level], value);
        if (value == 0) return 0;
        *slot = value;
    }
    return value;
}

coex_handle cx_list_replace(struct cx_list_part tree, uint64_t index, uint64_t value, bool refs, coex_handle *slot)
{
    return part_is_sized(tree) ? replace_sized(tree, index, value, refs, slot) : replace_regular(tree, index, value, refs, slot);
}

/* --------------------------------------------------------------------- making */

struct cx_list_part cx_list_make_leaf(struct cx_list_work *work, const uint64_t *words, uint64_t count)
{
    void *payload;
    uint32_t type = cx_values.id[row_type(0, work->refs)];
    coex_handle leaf = work_keep(work, coex_gc_alloc_at(count * sizeof *words, type, &payload));
    if (leaf != 0) memcpy(payload, words, count * sizeof *words);
    return (struct cx_list_part){leaf, count, 0};
}

coex_handle cx_list_make(struct cx_list_part tree, const uint64_t *tail, uint64_t count, bool refs)
{
    void *payload;
    uint32_t type = cx_values.id[refs ? CX_TYPE_list_refs : CX_TYPE_list_words];
    coex_handle list = coex_gc_alloc_at(sizeof(struct cx_list) + count * sizeof *tail, type, &payload);
    if (list == 0) return cx_fail_memory();
    struct cx_list *l = payload;
    l->count = tree.count + count;
    l->shape = cx_list_shape(tree);
    l->root = tree.count == 0 ? 0 : tree.node;
    if (count != 0) memcpy(l->tail, tail, count * sizeof *tail);
    return list;
}
