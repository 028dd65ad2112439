/* A pull parser for JSON (RFC 8259). The caller asks for one token after the other; nothing is kept but the text of the last one and a
 * bit for each level, so that files may be as large as they like. After an error every further token is the same error. */
#ifndef COEXGC_JSON_H
#define COEXGC_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum json_token {
    JSON_OBJECT, /* { */
    JSON_OBJECT_END,
    JSON_ARRAY, /* [ */
    JSON_ARRAY_END,
    JSON_KEY, /* text: the name; its value follows */
    JSON_STRING,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
    JSON_END, /* of the file, with the value complete */
    JSON_ERROR
};

enum { JSON_DEPTH = 256, JSON_TEXT_MOST = 1 << 26 };

struct json_reader {
    FILE *file;                 /* NULL: the text is in memory */
    const unsigned char *bytes; /* what is left of it there */
    size_t left;
    const char *name; /* of the file, for messages */
    unsigned char buffer[1 << 16];
    size_t at, end; /* in the buffer */
    uint64_t line, column;
    int depth;
    char open[JSON_DEPTH]; /* '{' or '[' */
    int expect;            /* see json.c */
    char *text;            /* of the last key or string, with a 0 behind it and none in it: \u0000 is U+FFFD */
    size_t text_length, text_room;
    double number;   /* finite */
    char error[512]; /* "name:line:column: what" */
};

/* Returns false if the file can't be opened; the error says why. "-" is the standard input. */
bool json_open(struct json_reader *reader, const char *name);
/* Reads `size` bytes of memory, which stay the caller's; `name` is for messages. */
void json_open_bytes(struct json_reader *reader, const char *name, const void *bytes, size_t size);
void json_close(struct json_reader *reader);
enum json_token json_next(struct json_reader *reader);
/* Passes over the value whose first token was just read. False: an error. */
bool json_skip(struct json_reader *reader, enum json_token first);
/* An error of the caller's at the place that was just read: what was read is JSON, and not what was wanted. */
enum json_token json_refuse(struct json_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
