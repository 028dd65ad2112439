/* A heap snapshot (.heapsnapshot, as Chrome's developer tools have it) in memory, and what each object and type retains.
 *
 * What an object retains is what would go with it: the sizes of all that it dominates. A type retains what would go with all of its
 * objects: the sum over those that no other object of the type dominates. Weak references hold nothing. */
#ifndef COEXGC_SNAPSHOT_H
#define COEXGC_SNAPSHOT_H

#include "json.h"

enum { SNAPSHOT_FIELDS = 16 };

/* Positions of the fields that are of interest in a row of nodes or edges. */
struct snapshot_row {
    int fields;
    char name[SNAPSHOT_FIELDS][24];
};

struct snapshot_numbers {
    double *item;
    size_t count, room;
    bool read; /* the file had this list */
};

struct snapshot_type {
    uint32_t name; /* index of the string */
    double objects, self, retained;
};

struct snapshot {
    struct snapshot_row node_row, edge_row;
    char edge_type[SNAPSHOT_FIELDS][24];
    int edge_types;
    struct snapshot_numbers nodes, edges;
    char **strings;
    size_t string_count, string_room;
    bool strings_read;
    /* made of them; an index is that of a node, and node 0 is the root */
    uint32_t count;
    uint64_t *first; /* edges of node n: to[first[n]] to to[first[n + 1] - 1] */
    uint32_t *to;
    double *id, *self, *retained;
    uint32_t *name;             /* index of the string */
    uint32_t *dominator;        /* DOMINATORS_NONE: the root, and what it does not reach */
    uint32_t *order;            /* what the root reaches, each behind its dominator */
    uint32_t reached;           /* how many those are */
    struct snapshot_type *type; /* by name: one for each string */
};

/* Returns false if the file can't be read or is not such a snapshot; the reader's error says why and where. */
bool snapshot_load(struct snapshot *snapshot, struct json_reader *reader);
void snapshot_free(struct snapshot *snapshot);

/* Writes both tables with at most `rows` rows each; `source` is the name of the file. */
void snapshot_print(FILE *file, const struct snapshot *snapshot, const char *source, size_t rows);

#endif
