/* Reads a .heapsnapshot with its own small JSON reader. It checks the syntax of JSON and the
 * rules of the format: counts, indices, strings, and that every node can be reached from the
 * root. Any fault fails the test. The results stay allocated until the test ends. */
#ifndef COEX_TESTS_SUPPORT_SNAPSHOT_READER_H
#define COEX_TESTS_SUPPORT_SNAPSHOT_READER_H

#include "support/test.h"

#include <coex/gc.h>

enum { NODE_OBJECT = 3, NODE_SYNTHETIC = 9 };                /* types of nodes */
enum { EDGE_ELEMENT = 1, EDGE_PROPERTY = 2, EDGE_WEAK = 6 }; /* and of edges */

typedef struct snapshot_edge {
    uint64_t type, index; /* index: only of an element */
    const char *name;     /* only of a property or a weak edge */
    uint64_t to;          /* number of a node */
} snapshot_edge;

typedef struct snapshot_node {
    uint64_t type, id, size;
    const char *name;
    uint64_t edge_count;
    snapshot_edge *edge;
} snapshot_node;

typedef struct snapshot {
    uint64_t node_count, edge_count;
    snapshot_node *node;
} snapshot;

snapshot snapshot_read(const char *path);
/* Return NULL if there is no such node. */
const snapshot_node *snapshot_object(const snapshot *shot, coex_handle handle);
const snapshot_node *snapshot_named(const snapshot *shot, const char *name);
/* Return the target of the property or weak edge `name`, or of the element `index`; NULL if
 * missing. */
const snapshot_node *snapshot_property(const snapshot *shot, const snapshot_node *node, const char *name);
const snapshot_node *snapshot_element(const snapshot *shot, const snapshot_node *node, uint64_t index);

#endif
