/* Parses the dumps line by line. A line that is malformed, missing or left over fails the test,
 * so other parsers can rely on the format.
 *
 *     capture_begin();
 *     coex_gc_dump_heap(1);
 *     dump_heap heap = parse_heap(capture_end());
 *
 * All results stay allocated until the test ends. */
#ifndef COEX_TESTS_SUPPORT_DUMP_PARSER_H
#define COEX_TESTS_SUPPORT_DUMP_PARSER_H

#include "support/test.h"

#include <coex/gc.h>

/* Captures the output of the library. A process can have one capture at a time. */
void capture_begin(void);
char *capture_end(void);
/* Captures the standard error of the process. */
void capture_errors_begin(void);
char *capture_errors_end(void);

/* The lines of a text, without newlines. `next` is NULL at the end. */
typedef struct dump_lines {
    char *next;
    char *whole; /* the current line, for messages */
    int number;
} dump_lines;
char *lines_take(dump_lines *lines); /* returns NULL after the last line */

/* ---- coex_gc_dump_stats ---- */
/* Returns the value of a statistic. `part` selects p50, max, ... of a time, or is NULL. */
uint64_t parse_stat(const char *text, const char *name, const char *part);
unsigned parse_stats_count(const char *text);

/* ---- coex_gc_dump_heap ---- */
typedef struct dump_heap_object {
    coex_handle handle;
    char type[64];
    uint64_t size, address;
    unsigned char *bytes; /* verbosity 2 */
    uint64_t byte_count;
} dump_heap_object;
typedef struct dump_heap {
    uint64_t size, size_mb, used, free_blocks, largest;
    double used_mb;
    bool has_objects;
    uint64_t total, count;
    dump_heap_object *object;
} dump_heap;
dump_heap parse_heap(char *text);
const dump_heap_object *heap_find(const dump_heap *heap, coex_handle handle); /* or NULL */

/* ---- coex_gc_dump_handle_table ---- */
typedef struct dump_entry {
    coex_handle handle;
    uint64_t address;
    char type[64];
} dump_entry;
typedef struct dump_table {
    uint64_t size, in_use, free, retired, next;
    bool has_entries, has_free;
    uint64_t entry_count, retired_count, held_count;
    dump_entry *entry;
    uint64_t *retired_list, *held_list;
    uint64_t free_head, free_shown, free_first[8], free_entries, available, words;
} dump_table;
dump_table parse_table(char *text);
const dump_entry *table_find(const dump_table *table, coex_handle handle);

/* ---- coex_gc_dump_shadow_stacks ---- */
typedef struct dump_frame {
    uint64_t number, count;
    uint64_t *slot;
    bool *immediate;
    bool watermark;
} dump_frame;
typedef struct dump_stack {
    char name[64];
    uint64_t depth, watermark; /* watermark 0: no watermark */
    uint64_t frame_count;
    dump_frame *frame; /* youngest first */
} dump_stack;
typedef struct dump_stacks {
    uint64_t threads, count;
    dump_stack *stack;
} dump_stacks;
dump_stacks parse_stacks(char *text);
const dump_stack *stacks_find(const dump_stacks *stacks, const char *name);
/* Returns slot `slot` of frame `number`. */
uint64_t stack_slot(const dump_stack *stack, uint64_t number, uint64_t slot);

/* ---- coex_gc_dump_object ---- */
typedef struct dump_field {
    uint64_t offset;
    char kind[16]; /* "i64", "handle", "immediate", "bytes" */
    char value[64];
    char target[64]; /* of a handle: the type of its object, with its text; otherwise "" */
    char name[64];   /* may be "" */
} dump_field;
typedef struct dump_object {
    coex_handle handle;
    bool is_object;
    uint64_t address, size, pins, header_size, flags, forward, field_count;
    uint32_t type_id, header_type;
    char type[64];
    bool marked;
    dump_field *field;
} dump_object;
dump_object parse_object(char *text);
const dump_field *object_field(const dump_object *object, uint64_t offset);

/* ---- coex_gc_fragmentation_report ---- */
enum { FRAGMENT_CLASSES = 7 };
typedef struct dump_fragments {
    uint64_t size, allocated, free, largest;
    double allocated_percent, free_percent, index;
    uint64_t blocks[FRAGMENT_CLASSES];
    double percent[FRAGMENT_CLASSES];
    char recommendation[80];
} dump_fragments;
dump_fragments parse_fragments(char *text);

/* ---- coex_gc_why ---- */
typedef struct dump_step {
    coex_handle handle;
    char type[64];
    char field[64]; /* the field that refers to the next object; "" in the last step */
} dump_step;
typedef struct dump_why {
    coex_handle handle;
    char type[64];
    char root[80]; /* "" if there is no path */
    char reason[120];
    uint64_t count, left_out;
    dump_step *step;
} dump_why;
dump_why parse_why(char *text);

/* ---- coex_gc_validate_heap ---- */
typedef struct dump_faults {
    uint64_t count;
    char **line; /* without "Error: " */
} dump_faults;
/* An empty text has no faults. */
dump_faults parse_faults(char *text);
bool faults_have(const dump_faults *faults, const char *part);

#endif
