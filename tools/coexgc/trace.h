/* An event trace in memory: what coex_gc_trace_start has written, as arrays in the order of time. Times are seconds. */
#ifndef COEXGC_TRACE_H
#define COEXGC_TRACE_H

#include "json.h"

enum { TRACE_STAGES = 24 };

#define TRACE_MOST 18446744073709551616.0 /* the collector's numbers have 64 bits */

struct trace_cycle {
    double begin, length;
    double number, marked, swept, used_before;
    double stage[TRACE_STAGES];    /* seconds in each, by the trace's list of stage names */
    double live_bytes, dead_bytes; /* of the types, estimated */
};

struct trace_heap {
    double at, used, goal, live, committed, external;
};

struct trace_handles {
    double at, in_use, retired, table;
};

struct trace_stop {
    double at, length, cpu, answer;
    uint32_t thread; /* index */
};

struct trace_handshake {
    double at, length;
    char request[16];
};

struct trace_thread {
    double id; /* as the file has it: other programs' may be anything */
    char name[80];
    double native; /* answers that the collector gave for it */
};

/* What one cycle saw of one type. */
struct trace_survival {
    double at, live, live_bytes, dead, dead_bytes;
    uint32_t type; /* index of the name */
};

struct trace_map {
    double at, blocks, block_bytes;
    char *full; /* a hexadecimal digit a cell, 0 to f */
};

struct trace_point {
    double at, value;
    uint32_t counter;
};

struct trace_late {
    double at, ms;
    uint32_t thread;
};

#define TRACE_LIST(type, name)                                                                                                     \
    struct type *name;                                                                                                             \
    size_t name##_count, name##_room

struct trace_name {
    char *text;
};

struct trace {
    TRACE_LIST(trace_cycle, cycle);
    TRACE_LIST(trace_heap, heap);
    TRACE_LIST(trace_handles, handles);
    TRACE_LIST(trace_stop, stop);
    TRACE_LIST(trace_handshake, handshake);
    TRACE_LIST(trace_thread, thread);
    TRACE_LIST(trace_survival, survival);
    TRACE_LIST(trace_map, map);
    TRACE_LIST(trace_point, point);
    TRACE_LIST(trace_late, late);
    TRACE_LIST(trace_name, type);
    TRACE_LIST(trace_name, counter);
    TRACE_LIST(trace_name, stage_name);
    /* Trees (<search.h>) that find the index of a thread or a name: a file may have as many as it likes. */
    void *thread_tree, *type_tree, *counter_tree, *stage_name_tree;
    double end; /* of the last thing that happened */
    double events, dropped;
    char writer[64];
};

/* Returns false if the file can't be read, is not JSON, or is not such a trace; the reader's error says why and where. Every number of
 * the trace is from 0 to TRACE_MOST afterwards, but the ids of threads. */
bool trace_read(struct trace *trace, struct json_reader *reader);
void trace_free(struct trace *trace);

#endif
