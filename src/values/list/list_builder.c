/* List builders: a list that its owner changes in place.
 *
 * The words go to the builder's own tail; a full tail becomes a leaf, which is put into the tree. Nodes that a builder changes are
 * of the types edit_…, which are MUTABLE and have the builder's number in their last word (INV-LIST-3): it copies a node of anybody
 * else once, and writes to its own copies after that. So appending n words makes n / 32 leaves and n / 1024 nodes and copies no way
 * to the root, and setting words copies each leaf once. Finishing freezes these nodes and takes the builder's number away.
 *
 * Leaves that append makes are immutable from birth; nodes of a tree that is not regular are edited by set alone: there a leaf is
 * put in by copying the right edge, once for 32 words. */
#include <coex/values/list.h>

#include "base/atomic.h"
#include "values/array/array.h"
#include "values/list/list_tree.h"

#include <string.h>

struct list_builder {
    uint64_t count;
    uint64_t shape;
    uint64_t owner; /* an immediate; 0: finished */
    uint64_t edits; /* leaves were changed in place */
    coex_handle root;
    uint64_t tail[CX_LIST_WIDTH];
};

/* As a leaf or a node has it, and who may write to it. */
struct edit_node {
    uint64_t slot[CX_LIST_WIDTH];
    uint64_t owner;
};

struct edit_sized {
    uint64_t upto[CX_LIST_WIDTH];
    coex_handle child[CX_LIST_WIDTH];
    uint64_t owner;
};

enum { ROOT = offsetof(struct list_builder, root), TAIL = offsetof(struct list_builder, tail) };

/* The owner's number is an immediate because it stands among the references. */
static const uint32_t root_offset[] = {ROOT};
static const char *const root_name[] = {"root"};
const coex_gc_type cx_type_list_builder_words = {.name = "list builder of words",
                                                 .size = sizeof(struct list_builder),
                                                 .ref_offsets = root_offset,
                                                 .ref_count = 1,
                                                 .ref_names = root_name,
                                                 .flags = COEX_GC_MUTABLE};
const coex_gc_type cx_type_list_builder_refs = {.name = "list builder",
                                                .size = sizeof(struct list_builder),
                                                .ref_offsets = root_offset,
                                                .ref_count = 1,
                                                .ref_names = root_name,
                                                .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY,
                                                .array_offset = TAIL};
const coex_gc_type cx_type_edit_leaf_words = {
    .name = "edited list leaf of words", .size = sizeof(struct edit_node), .flags = COEX_GC_MUTABLE};
const coex_gc_type cx_type_edit_leaf_refs = {
    .name = "edited list leaf", .size = sizeof(struct edit_node), .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY};
const coex_gc_type cx_type_edit_node = {
    .name = "edited list node", .size = sizeof(struct edit_node), .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY};
const coex_gc_type cx_type_edit_sized = {.name = "edited sized list node",
                                         .size = sizeof(struct edit_sized),
                                         .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY,
                                         .array_offset = offsetof(struct edit_sized, child)};

static cx_a64 builder_numbers; /* W: any, relaxed; each number is given out once in the life of the process */

/* -------------------------------------------------------------------- builders */

static inline struct list_builder *builder_as(coex_handle builder, bool *refs)
{
    *refs = false;
    if (COEX_UNLIKELY(builder == 0 || coex_is_immediate(builder))) return NULL;
    void *payload = coex_gc_handle_deref(builder);
    if (COEX_UNLIKELY(payload == NULL)) return NULL;
    uint32_t type = coex_gc_type_at(payload);
    *refs = type == cx_values.id[CX_TYPE_list_builder_refs];
    return *refs || type == cx_values.id[CX_TYPE_list_builder_words] ? payload : NULL;
}

/* The same with a status: NULL if it is none, or if it is finished. */
static inline struct list_builder *builder_live(coex_handle builder, bool *refs)
{
    struct list_builder *b = builder_as(builder, refs);
    if (COEX_LIKELY(b != NULL && b->owner != 0)) return b;
    cx_fail(b == NULL ? COEX_STATUS_KIND : COEX_STATUS_STALE);
    return NULL;
}

static coex_handle builder_alloc(bool refs, void **payload)
{
    enum cx_value_type type = refs ? CX_TYPE_list_builder_refs : CX_TYPE_list_builder_words;
    coex_handle builder = coex_gc_alloc_at(sizeof(struct list_builder), cx_values.id[type], payload);
    if (builder == 0) return cx_fail_memory();
    ((struct list_builder *)*payload)->owner = COEX_IMMEDIATE(cx_a64_add_relaxed(&builder_numbers, 1) + 1);
    return builder;
}

coex_handle coex_list_builder(coex_handle list)
{
    bool refs;
    void *payload;
    if (cx_list_as(list, &refs) == NULL) return cx_fail(COEX_STATUS_KIND);
    coex_handle builder = builder_alloc(refs, &payload);
    if (builder == 0) return 0;
    const struct cx_list *l = coex_gc_handle_deref(list);
    struct list_builder *b = payload;
    b->count = l->count;
    b->shape = l->shape;
    b->root = l->root;
    memcpy(b->tail, l->tail, (l->count - cx_list_in_tree(l->shape)) * sizeof l->tail[0]);
    return builder;
}

uint64_t coex_list_builder_len(coex_handle builder)
{
    bool refs;
    const struct list_builder *b = builder_live(builder, &refs);
    return b != NULL ? b->count : 0;
}

uint64_t coex_list_builder_get(coex_handle builder, uint64_t index)
{
    bool refs;
    const struct list_builder *b = builder_live(builder, &refs);
    if (b == NULL) return 0;
    if (index >= b->count) return cx_fail(COEX_STATUS_RANGE);
    uint64_t in_tree = cx_list_in_tree(b->shape);
    return index >= in_tree ? b->tail[index - in_tree] : *cx_list_find(b->root, b->shape, index);
}

/* ---------------------------------------------------------------- nodes in place */

static enum cx_value_type edit_type(struct cx_list_part part, bool refs)
{
    if (part.level == 0) return refs ? CX_TYPE_edit_leaf_refs : CX_TYPE_edit_leaf_words;
    return cx_list_is_sized(part.node) ? CX_TYPE_edit_sized : CX_TYPE_edit_node;
}

static bool edit_is_owned(struct cx_list_part part, bool refs, uint64_t owner)
{
    const void *payload = coex_gc_handle_deref(part.node);
    enum cx_value_type type = edit_type(part, refs);
    if (coex_gc_type_at(payload) != cx_values.id[type]) return false;
    return owner ==
           (type == CX_TYPE_edit_sized ? ((const struct edit_sized *)payload)->owner : ((const struct edit_node *)payload)->owner);
}

/* A node that this builder may write to, with the same slots; the node itself if it is one. 0: no memory. */
static coex_handle edit_own(struct cx_list_part part, bool refs, uint64_t owner)
{
    void *payload;
    if (edit_is_owned(part, refs, owner)) return part.node;
    enum cx_value_type type = edit_type(part, refs);
    bool sized = type == CX_TYPE_edit_sized;
    uint64_t size = sized ? sizeof(struct edit_sized) : sizeof(struct edit_node);
    uint64_t used = cx_list_slots(part) * sizeof(uint64_t) + (sized ? offsetof(struct edit_sized, child) : 0);
    coex_handle copy = coex_gc_alloc_at(size, cx_values.id[type], &payload);
    if (copy == 0) return cx_fail_memory();
    memcpy(payload, coex_gc_handle_deref(part.node), used);
    *(sized ? &((struct edit_sized *)payload)->owner : &((struct edit_node *)payload)->owner) = owner;
    return copy;
}

static coex_handle edit_new_node(uint64_t owner)
{
    void *payload;
    coex_handle node = coex_gc_alloc_at(sizeof(struct edit_node), cx_values.id[CX_TYPE_edit_node], &payload);
    if (node == 0) return cx_fail_memory();
    ((struct edit_node *)payload)->owner = owner;
    return node;
}

static uint64_t edit_slot_offset(coex_handle node, uint32_t level, uint32_t slot)
{
    uint64_t head = level != 0 && cx_list_is_sized(node) ? offsetof(struct edit_sized, child) : 0;
    return head + slot * sizeof(uint64_t);
}

/* The root as a node that may be written to. */
static coex_handle builder_own_root(coex_handle builder, bool refs)
{
    struct list_builder *b = coex_gc_handle_deref(builder);
    coex_handle root = edit_own(cx_list_tree_of(b->root, b->shape), refs, b->owner);
    if (root != 0) coex_gc_store(builder, ROOT, root);
    return root;
}

/* The regular tree is full: another root above it. A root with one child may stay if memory runs out later. */
static bool builder_raise(coex_handle builder)
{
    struct list_builder *b = coex_gc_handle_deref(builder);
    coex_handle root = edit_new_node(b->owner);
    if (root == 0) return false;
    b = coex_gc_handle_deref(builder);
    coex_gc_init_ref(root, 0, b->root);
    coex_gc_store(builder, ROOT, root);
    b->shape += CX_LIST_BITS;
    return true;
}

/* Puts a full leaf behind the words of a regular tree of full leaves, which is not empty. The leaf is rooted. */
static bool builder_push_in_place(coex_handle builder, coex_handle leaf, bool refs)
{
    struct list_builder *b = coex_gc_handle_deref(builder);
    uint64_t end = cx_list_in_tree(b->shape), owner = b->owner;
    if (end == (uint64_t)CX_LIST_WIDTH << (b->shape & CX_LIST_SHIFT_MASK) && !builder_raise(builder)) return false;
    coex_handle node = builder_own_root(builder, refs);
    if (node == 0) return false;
    b = coex_gc_handle_deref(builder);
    struct cx_list_part part = {node, end, (uint32_t)(b->shape & CX_LIST_SHIFT_MASK) / CX_LIST_BITS};
    while (part.level > 1) {
        uint32_t slot = (uint32_t)(end >> (part.level * CX_LIST_BITS)) % CX_LIST_WIDTH;
        uint64_t below = end & (((uint64_t)1 << (part.level * CX_LIST_BITS)) - 1);
        struct cx_list_part child = {((const coex_handle *)coex_gc_handle_deref(part.node))[slot], below, part.level - 1};
        child.node = below == 0 ? edit_new_node(owner) : edit_own(child, refs, owner);
        if (child.node == 0) return false;
        coex_gc_store(part.node, slot * sizeof(coex_handle), child.node);
        part = child;
    }
    coex_gc_store(part.node, ((end >> CX_LIST_BITS) % CX_LIST_WIDTH) * sizeof(coex_handle), leaf);
    b = coex_gc_handle_deref(builder);
    b->shape += (uint64_t)CX_LIST_WIDTH << 8;
    return true;
}

/* Puts a leaf into the tree. */
static bool builder_push(coex_handle builder, struct cx_list_work *work, struct cx_list_part leaf)
{
    struct list_builder *b = coex_gc_handle_deref(builder);
    struct cx_list_part tree = cx_list_tree_of(b->root, b->shape);
    if (work->failed) return cx_fail_false(COEX_STATUS_MEMORY);
    if (tree.count != 0 && (b->shape & CX_LIST_RELAXED) == 0 && tree.count % CX_LIST_WIDTH == 0 && leaf.count == CX_LIST_WIDTH)
        return builder_push_in_place(builder, leaf.node, work->refs);
    tree = cx_list_push(work, tree, leaf);
    if (work->failed) return cx_fail_false(COEX_STATUS_MEMORY);
    coex_gc_store(builder, ROOT, tree.node);
    b = coex_gc_handle_deref(builder);
    b->shape = cx_list_shape(tree);
    return true;
}

/* -------------------------------------------------------------------- appending */

/* The full tail becomes a leaf. What the tail holds afterwards is in the tree as well, and goes when it is overwritten. */
static bool builder_spill(coex_handle builder, bool refs)
{
    uint64_t words[CX_LIST_WIDTH];
    struct list_builder *b = coex_gc_handle_deref(builder);
    memcpy(words, b->tail, sizeof words);
    struct cx_list_work work = cx_list_work_begin(refs);
    bool done = builder_push(builder, &work, cx_list_make_leaf(&work, words, CX_LIST_WIDTH));
    cx_list_work_end(&work);
    return done;
}

static inline void builder_set_tail(coex_handle builder, struct list_builder *b, uint64_t at, uint64_t value, bool refs)
{
    if (refs)
        coex_gc_store(builder, TAIL + at * sizeof value, value);
    else
        b->tail[at] = value;
}

bool coex_list_builder_append(coex_handle builder, uint64_t value)
{
    bool refs;
    struct list_builder *b = builder_live(builder, &refs);
    if (COEX_UNLIKELY(b == NULL)) return false;
    if (COEX_UNLIKELY(b->count == COEX_LIST_MAX)) return cx_fail_false(COEX_STATUS_SIZE);
    uint64_t in_tail = b->count - cx_list_in_tree(b->shape);
    if (COEX_UNLIKELY(in_tail == CX_LIST_WIDTH)) {
        if (!builder_spill(builder, refs)) return false;
        b = coex_gc_handle_deref(builder);
        in_tail = 0;
    }
    builder_set_tail(builder, b, in_tail, value, refs);
    b->count++;
    return true;
}

/* 32 words at once, when the tail is full and there are 32 more: they become leaves without passing the tail. */
static bool builder_append_leaf(coex_handle builder, const uint64_t *words, bool refs)
{
    struct cx_list_work work = cx_list_work_begin(refs);
    bool done = builder_push(builder, &work, cx_list_make_leaf(&work, words, CX_LIST_WIDTH));
    cx_list_work_end(&work);
    if (done) ((struct list_builder *)coex_gc_handle_deref(builder))->count += CX_LIST_WIDTH;
    return done;
}

static bool builder_append_each(coex_handle builder, const uint64_t *words, uint64_t count, bool refs)
{
    for (uint64_t done = 0; done < count;) {
        struct list_builder *b = coex_gc_handle_deref(builder);
        uint64_t in_tail = b->count - cx_list_in_tree(b->shape);
        if (in_tail == 0 && count - done > CX_LIST_WIDTH) { /* the tail keeps at least one */
            if (!builder_append_leaf(builder, words + done, refs)) return false;
            done += CX_LIST_WIDTH;
        } else if (in_tail == CX_LIST_WIDTH) {
            if (!builder_spill(builder, refs)) return false;
        } else {
            builder_set_tail(builder, b, in_tail, words[done++], refs);
            b->count++;
        }
    }
    return true;
}

/* Forgets what was put into a regular tree behind its end. */
static void builder_trim(struct cx_list_part tree, bool refs, uint64_t owner)
{
    uint32_t slot;
    uint64_t offset;
    while (tree.count != 0 && tree.level != 0 && edit_is_owned(tree, refs, owner)) {
        for (uint32_t i = cx_list_slots(tree); i < CX_LIST_WIDTH; i++) coex_gc_store(tree.node, i * sizeof(coex_handle), 0);
        tree = cx_list_child(tree, tree.count - 1, &slot, &offset);
    }
}

/* Back to what the builder was: appending changes nothing of the tree before its end, so the old root still has the old words. */
static void builder_restore(coex_handle builder, const struct list_builder *old, bool refs)
{
    struct list_builder *b = coex_gc_handle_deref(builder);
    uint64_t in_tail = old->count - cx_list_in_tree(old->shape);
    for (uint64_t i = 0; i < CX_LIST_WIDTH; i++) builder_set_tail(builder, b, i, i < in_tail ? old->tail[i] : 0, refs);
    coex_gc_store(builder, ROOT, old->root);
    b->shape = old->shape;
    b->count = old->count;
    if ((old->shape & CX_LIST_RELAXED) == 0) builder_trim(cx_list_tree_of(old->root, old->shape), refs, old->owner);
}

bool coex_list_builder_append_words(coex_handle builder, const uint64_t *words, uint64_t count)
{
    bool refs;
    struct list_builder *b = builder_live(builder, &refs);
    if (b == NULL) return false;
    if (count > COEX_LIST_MAX - b->count) return cx_fail_false(COEX_STATUS_SIZE);
    if (count <= CX_LIST_WIDTH - (b->count - cx_list_in_tree(b->shape))) return builder_append_each(builder, words, count, refs);
    struct list_builder old = *b;
    coex_handle *slot = coex_gc_enter_frame_with(1 + CX_LIST_WIDTH, 1, &old.root);
    b = coex_gc_handle_deref(builder);
    if (refs) memcpy(slot + 1, b->tail, sizeof b->tail);
    bool done = builder_append_each(builder, words, count, refs);
    if (!done) builder_restore(builder, &old, refs);
    coex_gc_leave_frame(slot);
    return done;
}

/* ---------------------------------------------------------------- set, pop, finish */

static void edit_set_word(coex_handle leaf, uint64_t slot, uint64_t value, bool refs)
{
    if (refs)
        coex_gc_store(leaf, slot * sizeof value, value);
    else
        ((uint64_t *)coex_gc_handle_deref(leaf))[slot] = value;
}

/* A word of the tree: makes the way to it the builder's own. */
static bool builder_set_in_tree(coex_handle builder, uint64_t index, uint64_t value, bool refs)
{
    uint32_t slot;
    coex_handle root = builder_own_root(builder, refs);
    if (root == 0) return false;
    struct list_builder *b = coex_gc_handle_deref(builder);
    struct cx_list_part part = cx_list_tree_of(root, b->shape);
    uint64_t owner = b->owner;
    b->edits = 1;
    while (part.level != 0) {
        struct cx_list_part child = cx_list_child(part, index, &slot, &index);
        coex_handle own = edit_own(child, refs, owner);
        if (own == 0) return false;
        if (own != child.node) coex_gc_store(part.node, edit_slot_offset(part.node, part.level, slot), own);
        child.node = own;
        part = child;
    }
    edit_set_word(part.node, index, value, refs);
    return true;
}

/* The leaf of a word, if all the way to it is the builder's own and regular; else 0. What every set but the first few finds. */
static coex_handle builder_own_leaf(const struct list_builder *b, uint64_t index, bool refs)
{
    uint64_t shift = b->shape & CX_LIST_SHIFT_MASK;
    uint32_t node_type = cx_values.id[CX_TYPE_edit_node];
    uint32_t leaf_type = cx_values.id[refs ? CX_TYPE_edit_leaf_refs : CX_TYPE_edit_leaf_words];
    coex_handle at = b->root;
    for (;; shift -= CX_LIST_BITS) {
        const struct edit_node *node = coex_gc_handle_deref(at);
        if (coex_gc_type_at(node) != (shift != 0 ? node_type : leaf_type) || node->owner != b->owner) return 0;
        if (shift == 0) return at;
        at = node->slot[(index >> shift) % CX_LIST_WIDTH];
    }
}

bool coex_list_builder_set(coex_handle builder, uint64_t index, uint64_t value)
{
    bool refs;
    struct list_builder *b = builder_live(builder, &refs);
    if (b == NULL) return false;
    if (index >= b->count) return cx_fail_false(COEX_STATUS_RANGE);
    uint64_t in_tree = cx_list_in_tree(b->shape);
    if (index >= in_tree) {
        builder_set_tail(builder, b, index - in_tree, value, refs);
        return true;
    }
    coex_handle leaf = builder_own_leaf(b, index, refs);
    if (leaf == 0) return builder_set_in_tree(builder, index, value, refs);
    edit_set_word(leaf, index % CX_LIST_WIDTH, value, refs);
    return true;
}

/* The tail is empty and the tree is not: its last leaf becomes the tail. */
static bool builder_refill(coex_handle builder, bool refs)
{
    uint64_t offset, words[CX_LIST_WIDTH];
    struct list_builder *b = coex_gc_handle_deref(builder);
    struct cx_list_part tree = cx_list_tree_of(b->root, b->shape), leaf = cx_list_leaf(tree, tree.count - 1, &offset);
    memcpy(words, coex_gc_handle_deref(leaf.node), leaf.count * sizeof words[0]);
    struct cx_list_work work = cx_list_work_begin(refs);
    if (leaf.count == tree.count)
        tree = (struct cx_list_part){0, 0, 0};
    else
        tree = cx_list_cut(&work, tree, 0, tree.count - leaf.count);
    if (!work.failed) {
        b = coex_gc_handle_deref(builder);
        for (uint64_t i = 0; i < leaf.count; i++) builder_set_tail(builder, b, i, words[i], refs); /* while the root has them */
        coex_gc_store(builder, ROOT, tree.node);
        b->shape = cx_list_shape(tree);
    }
    cx_list_work_end(&work);
    return !work.failed || cx_fail_false(COEX_STATUS_MEMORY);
}

bool coex_list_builder_pop(coex_handle builder, uint64_t *value)
{
    bool refs;
    struct list_builder *b = builder_live(builder, &refs);
    if (b == NULL) return false;
    if (b->count == 0) return cx_fail_false(COEX_STATUS_RANGE);
    if (b->count == cx_list_in_tree(b->shape) && !builder_refill(builder, refs)) return false;
    b = coex_gc_handle_deref(builder);
    uint64_t last = b->count - 1 - cx_list_in_tree(b->shape);
    if (value != NULL) *value = b->tail[last];
    builder_set_tail(builder, b, last, 0, refs);
    b->count--;
    return true;
}

/* Freezes the nodes of this builder in a part. A safepoint: all of it is reachable from the builder. Recursion is as deep as the
 * tree. */
static void edit_freeze(struct cx_list_part part, bool refs, uint64_t owner, bool leaves)
{
    if (part.count == 0 || !edit_is_owned(part, refs, owner)) return;
    uint32_t slot;
    uint64_t offset;
    struct cx_list_part child;
    for (uint64_t at = 0; at < part.count && part.level > (leaves ? 0 : 1); at += child.count) {
        child = cx_list_child(part, at, &slot, &offset);
        edit_freeze(child, refs, owner, leaves);
    }
    coex_gc_freeze(part.node);
    coex_gc_safepoint();
}

coex_handle coex_list_builder_finish(coex_handle builder)
{
    bool refs;
    uint64_t tail[CX_LIST_WIDTH];
    struct list_builder *b = builder_live(builder, &refs);
    if (b == NULL) return 0;
    if (b->count != 0 && b->count == cx_list_in_tree(b->shape) && !builder_refill(builder, refs)) return 0;
    b = coex_gc_handle_deref(builder);
    struct cx_list_part tree = cx_list_tree_of(b->root, b->shape);
    uint64_t in_tail = b->count - tree.count, owner = b->owner;
    bool edits = b->edits != 0;
    memcpy(tail, b->tail, in_tail * sizeof tail[0]);
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = cx_list_make(tree, tail, in_tail, refs);
    coex_handle list = slot[0];
    if (list != 0) {
        edit_freeze(tree, refs, owner, edits);
        b = coex_gc_handle_deref(builder);
        b->owner = b->count = b->shape = 0;
        coex_gc_store(builder, ROOT, 0);
        for (uint64_t i = 0; i < CX_LIST_WIDTH; i++) builder_set_tail(builder, b, i, 0, refs);
    }
    coex_gc_leave_frame(slot);
    return list;
}

/* ------------------------------------------------------------- from words, arrays */

/* The words are appended and the builder finished; `slot` roots it. */
static coex_handle builder_of_words(coex_handle *slot, const uint64_t *words, uint64_t count)
{
    return coex_list_builder_append_words(slot[0], words, count) ? coex_list_builder_finish(slot[0]) : 0;
}

coex_handle coex_list_from_words(const uint64_t *words, uint64_t count, bool handles)
{
    void *payload;
    if (count <= CX_LIST_WIDTH) return cx_list_make((struct cx_list_part){0, 0, 0}, words, count, handles);
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = builder_alloc(handles, &payload);
    coex_handle list = slot[0] == 0 ? 0 : builder_of_words(slot, words, count);
    coex_gc_leave_frame(slot);
    return list;
}

/* From an array that the caller roots, a leaf's worth at a time. */
static bool builder_append_array(coex_handle builder, coex_handle array, uint64_t length)
{
    uint64_t words[CX_LIST_WIDTH];
    for (uint64_t done = 0; done < length;) {
        const struct cx_array *a = coex_gc_handle_deref(array);
        const struct cx_array_buffer *buffer = coex_gc_handle_deref(a->buffer);
        uint64_t count = length - done < CX_LIST_WIDTH ? length - done : CX_LIST_WIDTH;
        memcpy(words, buffer->data + a->from + done * sizeof words[0], count * sizeof words[0]);
        if (!coex_list_builder_append_words(builder, words, count)) return false;
        done += count;
    }
    return true;
}

coex_handle coex_list_from_array(coex_handle array)
{
    void *payload;
    const struct cx_array *a = cx_array_of_words(array);
    if (a == NULL) return cx_fail(COEX_STATUS_KIND);
    uint64_t length = a->length;
    bool refs = cx_array_is_refs(a);
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = builder_alloc(refs, &payload);
    coex_handle list = slot[0] != 0 && builder_append_array(slot[0], array, length) ? coex_list_builder_finish(slot[0]) : 0;
    coex_gc_leave_frame(slot);
    return list;
}
