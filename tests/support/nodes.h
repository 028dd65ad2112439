/*
 * Objects that know what they should be: for tests that look for lost, mixed up or overwritten objects.
 *
 * Every node starts with an id that no other node of the run has, its kind among it, and a checksum over its contents and
 * over the ids of what it refers to. node_verify reads all of that again, so that an object that was reclaimed too early,
 * whether its memory is poisoned, reused or still as it was, is found by the first read of it or of an object that refers
 * to it. Nothing here is a safepoint but node_make.
 */
#ifndef COEX_TESTS_SUPPORT_NODES_H
#define COEX_TESTS_SUPPORT_NODES_H

#include "support/test.h"

#include <coex/gc.h>

enum node_kind {
    NODE_LEAF,    /* fixed size, no references */
    NODE_LINK,    /* fixed size, two references */
    NODE_TUPLE,   /* an array of references, of any length */
    NODE_BLOB,    /* plain bytes, of any length */
    NODE_TRACED,  /* references that a trace function finds */
    NODE_ALIGNED, /* fixed size, aligned to 64 */
    NODE_CELL,    /* four references that may be written */
    NODE_KINDS
};

enum { NODE_CELL_FIELDS = 4, NODE_ID_KINDS = 8 };

/* How each node begins. */
typedef struct node_head {
    uint64_t id;    /* serial number * NODE_ID_KINDS + kind */
    uint64_t check; /* over all that does not change */
    uint32_t depth; /* 1 more than that of the deepest child; a cell counts as 0. Lets a test bound its chains */
    uint32_t count; /* of children; of a blob: words after the head */
} node_head;

/* Registers the types with the runtime that is up. Before any thread uses nodes. */
void nodes_init(void);

/* An id of this kind that is used once. Any thread. */
uint64_t node_fresh_id(enum node_kind kind);

/*
 * A node of the id's kind with these children (nodes, immediates or 0), which are in slots of the caller's. A leaf, a blob and
 * an aligned node take none; a link takes two; a cell's become its fields. `words`: of a blob. 0 when there is no room.
 */
coex_handle node_make(uint64_t id, const coex_handle *children, uint32_t count, uint32_t words);

/* The id of a node that is as it should be, its children by name; anything else fails the test. Not for 0 or immediates. */
uint64_t node_verify(coex_handle node);
/* The same, and it must have this id. */
void node_expect(coex_handle node, uint64_t id);
/* The id without a look at the rest; 0 for 0 and immediates. */
uint64_t node_id(coex_handle node);
static inline enum node_kind node_kind_of(uint64_t id) { return (enum node_kind)(id % NODE_ID_KINDS); }
static inline bool node_is(coex_handle word) { return word != 0 && !coex_is_immediate(word); }
uint32_t node_depth(coex_handle node);

/* References of a node: how many, and each of them. */
uint32_t node_count(coex_handle node);
coex_handle node_child(coex_handle node, uint32_t index);
/* Where field `index` of a cell lies. */
uint64_t node_cell_offset(uint32_t index);

/* Walks along random children for at most `steps`, verifying each. Returns the last node. */
coex_handle node_walk(coex_handle node, uint32_t steps, test_rng *rng);

/* Bits of `value` so mixed that neighbours have nothing in common. */
uint64_t node_mix(uint64_t value);

#endif
