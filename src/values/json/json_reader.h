/* The machine that reads JSON: one object of the heap, of a MUTABLE type, so that it never moves: its address is good as long as
 * it is rooted. The whole-text parser is the same machine with the caller's text as its only window.
 *
 * Layers, each a file:
 *   json_scan    tokens
 *   json_tree    values: the stack of what is not in a container yet, the cache of keys and shapes
 *   json_run     grammar: tokens to events, or to values, or to nothing
 *   json_reader  windows: where text comes from; the public functions
 *
 * All that is variable is in objects that the machine refers to: bytes that never move either, and arrays of references.
 * References in them and in the machine are written by coex_gc_store alone, so that a cycle may run beside.
 *
 * The stack keeps words behind its top until they are overwritten: cx_json_clear lets go of them when a value is complete. Arrays
 * that a large text has made large are dropped as soon as nothing needs them (JSON_…_KEPT): a reader may live long.
 *
 * INV-JSON-1  A value that a machine makes is complete before anybody else has it: containers are made at their closing bracket.
 * INV-JSON-2  What the machine holds of the text is the window: at most what was fed and not read, and the token that is cut.
 * INV-JSON-6  Between two calls the machine holds no value that it has handed out, and no key of a level that is closed. */
#ifndef CX_VALUES_JSON_JSON_READER_H
#define CX_VALUES_JSON_JSON_READER_H

#include "values/json/json_scan.h"
#include "values/json/json_value.h"

enum json_state {
    JSON_AT_TOP,         /* a value, or the end if there was one */
    JSON_AT_VALUE,       /* behind a comma or a colon */
    JSON_AT_FIRST_VALUE, /* behind [ */
    JSON_AT_FIRST_KEY,   /* behind { */
    JSON_AT_KEY,         /* behind a comma */
    JSON_AT_COLON,
    JSON_AT_COMMA /* behind a value in a container */
};

enum json_mode { JSON_MAKE_EVENTS, JSON_MAKE_VALUES, JSON_MAKE_NOTHING };

struct json_level {
    uint64_t base; /* a container that is made: where its words begin in the stack. Otherwise: how many values began in it */
    uint32_t node; /* an object that is made: where its keys lead in the tree of shapes */
    uint32_t is_object;
};

enum {
    JSON_KEY_BYTES = 43,   /* longer keys are not cached: an entry is 48 bytes */
    JSON_KEYS_MAX = 1024,  /* cached keys; a document with more has maps rather than records */
    JSON_NODES_MAX = 4096, /* nodes of the tree of shapes */
    JSON_NO_NODE = 0xffff,
    JSON_INPUT_KEPT = 1 << 20, /* bytes of `input` that a reader keeps for what is fed next */
    JSON_STACK_KEPT = 4096,    /* words of the stack */
    JSON_LEVELS_KEPT = 1024
};

struct json_key {
    uint32_t hash;
    unsigned char bytes;
    char text[JSON_KEY_BYTES]; /* without escapes */
};

/* A node is a sequence of keys. Its child is the longer one that came last: what is likely to come again. */
struct json_node {
    uint16_t key; /* the last of the sequence */
    uint16_t parent;
    uint16_t child;  /* 0: none yet */
    uint8_t length;  /* how many keys */
    uint8_t repeats; /* it has a key twice: no shape */
};

struct json_reader {
    /* References. */
    coex_handle input;       /* bytes: what was fed, unless the window is the caller's */
    coex_handle levels;      /* bytes: struct json_level[] */
    coex_handle stack;       /* refs: words of containers that are not complete */
    coex_handle names;       /* refs: of each level, the key that its value is under (events) */
    coex_handle keys;        /* bytes: struct json_key[key_room], then uint16_t[2 * key_room]: key + 1 by hash */
    coex_handle key_strings; /* refs: the keys as strings */
    coex_handle nodes;       /* bytes: struct json_node[node_room], then uint16_t[2 * node_room]: node by parent and key */
    coex_handle shapes;      /* refs: the shape of each node, or 0 */
    coex_handle empty_array;
    coex_handle empty_object;
    coex_handle value; /* of the event */
    /* The window, and where it is in the text. */
    const char *begin, *at, *end;
    uint64_t offset, line, column; /* of `begin` */
    bool last;                     /* nothing comes behind it */
    bool has_value;                /* a value at the top is complete */
    bool taking;                   /* making a value, from the container whose depth is take_depth + 1 on */
    bool skipping;                 /* passing over one, until the depth is take_depth */
    uint32_t flags;                /* of the options */
    uint32_t state;                /* enum json_state */
    uint32_t event;                /* coex_json_event that was given last */
    uint64_t max_depth, depth, take_depth, level_room, top, high, stack_room, input_room;
    uint32_t key_count, key_room, node_count, node_room;
    struct json_scan scan;
    /* Where text comes from. */
    coex_json_source source;
    void *context;
    FILE *file;
    bool finished;  /* there will be no more */
    bool own;       /* the window is in `input` */
    uint64_t found; /* find: levels of the pointer that are matched */
    coex_json_error error;
};

#define JSON_REF(field) offsetof(struct json_reader, field)

/* ------------------------------------------------------------- json_run.c */

/* Goes on to the next event, to the end of the value that is taken, or of what is passed over: see coex_json_reader_next. */
coex_json_event cx_json_run(coex_handle self, struct json_reader *reader, enum json_mode mode);

/* Records the first error, at `at`, and gives COEX_JSON_EVENT_ERROR. `expected` may be NULL: then `message` says it all. */
coex_json_event cx_json_error(struct json_reader *reader, const char *at, coex_status status, const char *expected,
                              const char *message);
/* Lines and columns of `count` bytes of text. */
void cx_json_advance(struct json_reader *reader, const char *text, uint64_t count);

/* ------------------------------------------------------------ json_tree.c */

/* A new machine; 0 with a status. */
coex_handle cx_json_reader_make(const coex_json_options *options);
/* Arrays of the machine: bytes and references, zeroed. Growing keeps what is in them. */
bool cx_json_grow_bytes(coex_handle self, uint64_t field, uint64_t bytes);
bool cx_json_grow_refs(coex_handle self, uint64_t field, uint64_t count);

/* These give false when memory is exhausted; the status says so. Each may be a safepoint. */
bool cx_json_push_slow(coex_handle self, struct json_reader *reader);
/* A number that does not fit in an immediate, or whose text is long. *word is 0 with status RANGE for one that can't be kept. */
bool cx_json_number_value(const struct json_reader *reader, const struct cx_number *number, coex_handle *word);
/* The string of a token [at, end) that is scanned. */
bool cx_json_string_value(const struct json_reader *reader, const char *at, const char *end, coex_handle *word);
/* The string of a key, from the cache if it is there; *node moves on to the node behind it. */
bool cx_json_key_value(coex_handle self, struct json_reader *reader, const char *at, const char *end, uint32_t *node,
                       coex_handle *word);
/* The container of the topmost level out of the words on the stack, which it takes off. *word is 0 with status TEXT if keys
 * repeat and may not. */
bool cx_json_array_value(coex_handle self, struct json_reader *reader, uint64_t base, coex_handle *word);
bool cx_json_object_value(coex_handle self, struct json_reader *reader, const struct json_level *level, coex_handle *word);
/* Empties the stack: lets go of all words that it still holds, and of itself if it is large. */
void cx_json_clear(coex_handle self, struct json_reader *reader);

#endif
