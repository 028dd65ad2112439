/* The tree below a list.
 *
 * Level 0 is leaves, whose slots are the words of the list; a node of level k has nodes of level k - 1 in its slots. At most 32
 * slots. A node is *regular* if every child but the last is full, and the last is regular: then the bits of an index say where it
 * is. Any other node is *sized*: before its children it says how many words are in them up to and with each. How many slots a node
 * has follows from how many words are below it, which whoever comes from above knows; what lies behind those slots is not looked
 * at.
 *
 * INV-LIST-1  A node that is on neither the left nor the right edge of its tree has at least 16 slots. So a tree of n words, however
 *             it was made, has at most log16 n levels above its leaves, which is 11 for the longest (list_squash).
 * INV-LIST-2  A sized node is not regular. So a full node is regular, and the last child of a node decides for all of them.
 * INV-LIST-3  Nodes of the types list_… never change. Nodes of the types edit_… are changed by the builder whose number is in their
 *             last word, and never again once that is finished; they are copied like all others by whoever is not it.
 *
 * Entered by list.c and list_builder.c; json_print.c reads the words of a short list where they are. Parts and items hold handles, no
 * addresses; what an operation makes is rooted until it ends. */
#ifndef CX_VALUES_LIST_LIST_TREE_H
#define CX_VALUES_LIST_LIST_TREE_H

#include "values/core/common.h"

enum {
    CX_LIST_BITS = 5,
    CX_LIST_WIDTH = 1 << CX_LIST_BITS,
    CX_LIST_LEAST = CX_LIST_WIDTH / 2,
    CX_LIST_LEVELS = 14 /* 0 to 11, and one more while a tree grows before it is squashed; 5 * 12 < 64 */
};

struct cx_list {
    uint64_t count;
    uint64_t shape; /* words in the tree << 8 | CX_LIST_RELAXED | 5 * level of the root */
    coex_handle root;
    uint64_t tail[]; /* the words that are not in the tree: 1 to 32, unless the list is empty */
};

#define CX_LIST_SHIFT_MASK ((uint64_t)63)
#define CX_LIST_RELAXED    ((uint64_t)128) /* the root is sized */

static inline uint64_t cx_list_in_tree(uint64_t shape) { return shape >> 8; }

/* A node and what is below it. */
struct cx_list_part {
    coex_handle node;
    uint64_t count; /* words below */
    uint32_t level;
};

struct cx_list_sized {
    uint64_t upto[CX_LIST_WIDTH]; /* words in the children up to and with this one */
    coex_handle child[];
};

/* One operation: what its nodes are of, and where they are rooted. */
struct cx_list_work {
    coex_handle *frame; /* its slots are appended one by one */
    bool refs;
    bool failed; /* memory: all results are without meaning */
};

struct cx_list_work cx_list_work_begin(bool refs); /* a safepoint */
void cx_list_work_end(struct cx_list_work *work);

/* ------------------------------------------------------------------ looking */

/* The word that an index of the tree names. */
const uint64_t *cx_list_find_sized(coex_handle root, uint64_t shift, uint64_t index);

static inline const uint64_t *cx_list_find(coex_handle root, uint64_t shape, uint64_t index)
{
    uint64_t shift = shape & CX_LIST_SHIFT_MASK;
    if (COEX_UNLIKELY((shape & CX_LIST_RELAXED) != 0)) return cx_list_find_sized(root, shift, index);
    const uint64_t *node = coex_gc_handle_deref(root);
    for (; shift != 0; shift -= CX_LIST_BITS) node = coex_gc_handle_deref(node[(index >> shift) % CX_LIST_WIDTH]);
    return &node[index % CX_LIST_WIDTH];
}

/* The leaf with that word; *offset is the word's place in it. */
struct cx_list_part cx_list_leaf(struct cx_list_part tree, uint64_t index, uint64_t *offset);
struct cx_list_part cx_list_child(struct cx_list_part part, uint64_t index, uint32_t *slot, uint64_t *offset);
uint32_t cx_list_slots(struct cx_list_part part);
bool cx_list_is_sized(coex_handle node);

static inline struct cx_list_part cx_list_tree_of(coex_handle root, uint64_t shape)
{
    return (struct cx_list_part){root, cx_list_in_tree(shape), (uint32_t)(shape & CX_LIST_SHIFT_MASK) / CX_LIST_BITS};
}

uint64_t cx_list_shape(struct cx_list_part tree);

static inline bool cx_list_is_list(coex_handle node)
{
    uint32_t type = coex_gc_type_at(coex_gc_handle_deref(node));
    return type == cx_values.id[CX_TYPE_list_refs] || type == cx_values.id[CX_TYPE_list_words];
}

/* The words of a leaf, or of the tail if `leaf` is a list. */
const uint64_t *cx_list_leaf_words(coex_handle leaf);

/* ----------------------------------------------------------------- changing: no count 0, unless it says so */

struct cx_list_part cx_list_make_leaf(struct cx_list_work *work, const uint64_t *words, uint64_t count);
/* `tree` may be empty. */
struct cx_list_part cx_list_push(struct cx_list_work *work, struct cx_list_part tree, struct cx_list_part leaf);
struct cx_list_part cx_list_join(struct cx_list_work *work, struct cx_list_part a, struct cx_list_part b);
/* [from, to), not empty; `to` is where a leaf ends. */
struct cx_list_part cx_list_cut(struct cx_list_work *work, struct cx_list_part tree, uint64_t from, uint64_t to);
/* The root of the tree with another word. Each new node refers to the one before, so one slot of the caller's frame roots them. 0: no
 * memory. */
coex_handle cx_list_replace(struct cx_list_part tree, uint64_t index, uint64_t value, bool refs, coex_handle *slot);
struct cx_list_part cx_list_put_in(struct cx_list_work *work, struct cx_list_part tree, uint64_t index, uint64_t value);
struct cx_list_part cx_list_take_out(struct cx_list_work *work, struct cx_list_part tree, uint64_t index); /* may become empty */

/* A list of a tree, which may be empty, and a tail. 0: no memory. */
coex_handle cx_list_make(struct cx_list_part tree, const uint64_t *tail, uint64_t count, bool refs);

/* The list's payload, and what it holds; NULL if it is no list. */
static inline const struct cx_list *cx_list_as(coex_handle list, bool *refs)
{
    *refs = false;
    if (COEX_UNLIKELY(list == 0 || coex_is_immediate(list))) return NULL;
    const void *payload = coex_gc_handle_deref(list);
    if (COEX_UNLIKELY(payload == NULL)) return NULL;
    uint32_t type = coex_gc_type_at(payload);
    *refs = type == cx_values.id[CX_TYPE_list_refs];
    return *refs || type == cx_values.id[CX_TYPE_list_words] ? payload : NULL;
}

#endif
