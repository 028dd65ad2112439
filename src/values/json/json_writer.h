/* Writing JSON text: a buffer that grows, or is handed to a sink when it is full.
 *
 * A writer is memory outside of the heap and belongs to one thread. Handing bytes to a sink is done in native mode, so it is a
 * safepoint: what the caller knows of addresses in the heap is void when `epoch` has changed. Nothing else here is one. */
#ifndef CX_VALUES_JSON_JSON_WRITER_H
#define CX_VALUES_JSON_JSON_WRITER_H

#include "values/json/json_value.h"

#include "base/os.h"

#include <string.h>

enum {
    JSON_LEVEL_OBJECT = 1,
    JSON_LEVEL_ITEMS = 2, /* something is in it */
    JSON_LEVEL_KEY = 4,   /* a key is written, and its value is not */

    JSON_TEXT_PIECE = 8 * 1024,                /* of a string, written at once */
    JSON_TEXT_ROOM = 6 * JSON_TEXT_PIECE + 64, /* what it takes if every byte becomes an escape */
    JSON_SINK_ROOM = 2 * JSON_TEXT_ROOM,
    JSON_LARGE = 1024 * 1024 /* from here on a buffer has pages of its own */
};

struct coex_json_writer {
    char *buffer;
    uint64_t used, room;
    cx_range pages; /* where the buffer is if it is large: it grows in place, and large pages make it resident */
    uint64_t epoch; /* safepoints so far */
    uint64_t depth, level_room;
    unsigned char *levels; /* JSON_LEVEL_… */
    coex_json_sink sink;   /* NULL: into memory */
    void *context;
    int indent;
    uint32_t flags;
    coex_status failed; /* not OK: for good */
    bool has_value;     /* at the top */
};

/* Room for so many bytes, at most JSON_TEXT_ROOM if there is a sink. False with a status. */
bool cx_json_room_slow(coex_json_writer *writer, uint64_t bytes);

static inline bool json_room(coex_json_writer *writer, uint64_t bytes)
{
    return writer->room - writer->used >= bytes || cx_json_room_slow(writer, bytes);
}

/* What comes before a value and behind it. False with status STALE: there is no place for one; or the writer has failed. */
bool cx_json_before_value(coex_json_writer *writer);
bool cx_json_after_value(coex_json_writer *writer);
/* A line end, and the indentation of so many levels, if the writer indents. */
bool cx_json_new_line(coex_json_writer *writer, uint64_t levels);
/* For good. */
bool cx_json_writer_fail(coex_json_writer *writer, coex_status status);

/* Text within quotes: at most JSON_TEXT_PIECE bytes of UTF-8, for which there is room. */
void cx_json_put_text(coex_json_writer *writer, const char *text, uint64_t bytes);
/* The first bytes of a text, whole characters, no more than JSON_TEXT_PIECE. */
uint64_t cx_json_piece(const char *text, uint64_t bytes);
/* A number, for which there is room. */
void cx_json_put_number(coex_json_writer *writer, const struct json_scalar *number);

#endif
