/* Objects that can verify themselves, for tests that look for lost, confused or overwritten
 * objects.
 *
 * Every node starts with a unique id that contains its kind, and with a checksum of its contents
 * and of the ids of its children. node_verify reads all of them again. If an object was
 * reclaimed too early, the first read of it, or of an object that refers to it, detects this,
 * whether its memory is poisoned, reused or unchanged. node_make is the only safepoint among
 * these functions. */
#ifndef COEX_TESTS_SUPPORT_NODES_H
#define COEX_TESTS_SUPPORT_NODES_H

#include "support/test.h"

#include <coex/gc.h>

enum node_kind {
    NODE_LEAF,    /* fixed size, no references */
    NODE_LINK,    /* fixed size, two references */
    NODE_TUPLE,   /* variable size, an array of references */
    NODE_BLOB,    /* variable size, plain bytes */
    NODE_TRACED,  /* references reported by a trace function */
    NODE_ALIGNED, /* fixed size, aligned to 64 */
    NODE_CELL,    /* four mutable references */
    NODE_KINDS
};

enum { NODE_CELL_FIELDS = 4, NODE_ID_KINDS = 8 };

/* The beginning of each node. */
typedef struct node_head {
    uint64_t id;    /* serial number * NODE_ID_KINDS + kind */
    uint64_t check; /* checksum of all immutable contents */
    uint32_t depth; /* 1 + depth of the deepest child, with 0 for a cell; limits chains */
    uint32_t count; /* number of children; of a blob: words after the head */
} node_head;

/* Registers the types with the running runtime. Call it before any thread uses nodes. */
void nodes_init(void);

/* Returns a unique id of this kind. Any thread may call it. */
uint64_t node_fresh_id(enum node_kind kind);

/* Returns a new node of the kind of `id`, or 0 if memory is exhausted. The caller roots the
 * children, which are nodes, immediates or 0. A leaf, a blob and an aligned node have no
 * children. A link has two. The children of a cell become its fields. `words` is the size of a
 * blob. */
coex_handle node_make(uint64_t id, const coex_handle *children, uint32_t count, uint32_t words);

/* Returns the id of a node. Fails the test if the node or the id of a child is damaged. The node
 * must not be 0 or an immediate. */
uint64_t node_verify(coex_handle node);
/* Verifies a node, which must have this id. */
void node_expect(coex_handle node, uint64_t id);
/* Returns the id without verifying the node. Returns 0 for 0 and immediates. */
uint64_t node_id(coex_handle node);
static inline enum node_kind node_kind_of(uint64_t id) { return (enum node_kind)(id % NODE_ID_KINDS); }
static inline bool node_is(coex_handle word) { return word != 0 && !coex_is_immediate(word); }
uint32_t node_depth(coex_handle node);

/* Return the number of references of a node, and each reference. */
uint32_t node_count(coex_handle node);
coex_handle node_child(coex_handle node, uint32_t index);
/* Returns the offset of field `index` of a cell. */
uint64_t node_cell_offset(uint32_t index);

/* Walks along random children for at most `steps` and verifies each. Returns the last node. */
coex_handle node_walk(coex_handle node, uint32_t steps, test_rng *rng);

/* Returns a hash of `value`. */
uint64_t node_mix(uint64_t value);

#endif
