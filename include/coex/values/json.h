/* Coex values: JSON (RFC 8259).
 *
 * A *json* is a reference word, as any other in the collections:
 *   null, true, false    immediates
 *   numbers              immediates, or, if they need all of their 64 bits, a small object
 *   strings              strings (values/string/string.h): every one of them is a json
 *   arrays               lists of references (collections/list.h) whose elements are json: every coex_list_… takes them
 *   objects              a type of its own: a map from strings to json that keeps the order in which keys came in
 * All of them are immutable; what changes one returns another that shares what is the same. collections/value.h tells how errors
 * are reported, what is rooted by whom, and what threads may share.
 *
 * Numbers. Text without fraction and exponent is an integer, kept exactly from -2^63 to 2^64 - 1; all else is a double, the
 * nearest one to the text. An integer beyond 64 bits becomes the nearest double, or is refused (COEX_JSON_EXACT); so is, always,
 * a number beyond the range of double. "-0" is the double -0.0. Doubles are written with as few digits as give the same double
 * again, and always with a fraction or an exponent, so that they are read as doubles again.
 *
 * Strings are valid UTF-8, in text and in memory. An escape \u that is half of a surrogate pair names no character: the text is
 * refused, or the escape becomes U+FFFD (COEX_JSON_REPLACE).
 *
 * Duplicate keys in an object: the last value counts, at the place of the first; or the text is refused (COEX_JSON_UNIQUE).
 *
 * Depth. Nothing here recurses on the C stack. Readers refuse text that is nested deeper than max_depth; what is built by hand
 * may be nested to any depth, and is compared, hashed and written.
 *
 * Memory that is passed in (text, buffers, arrays of handles) is never inside of the heap. */
#ifndef COEX_VALUES_JSON_H
#define COEX_VALUES_JSON_H

#include <coex/values/value.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ kinds */

typedef enum coex_json_kind {
    COEX_JSON_NONE = 0, /* not a json: the null handle, another immediate, another object */
    COEX_JSON_NULL,
    COEX_JSON_BOOL,
    COEX_JSON_INT,   /* -2^63 to 2^64 - 1 */
    COEX_JSON_FLOAT, /* finite */
    COEX_JSON_STRING,
    COEX_JSON_ARRAY,
    COEX_JSON_OBJECT
} coex_json_kind;

/* Looks only; of an array it does not look at the elements. */
COEX_API coex_json_kind coex_json_kind_of(coex_handle json);
COEX_API const char *coex_json_kind_string(coex_json_kind kind);

/* --------------------------------------------------------------- scalars */

COEX_API coex_handle coex_json_null(void);         /* never fails; not a safepoint */
COEX_API coex_handle coex_json_bool(bool value);   /* never fails; not a safepoint */
COEX_API coex_handle coex_json_int(int64_t value); /* allocates beyond 60 bits */
COEX_API coex_handle coex_json_uint(uint64_t value);
COEX_API coex_handle
coex_json_float(double value); /* RANGE: infinite or not a number. Allocates below 2^-127 and from 2^129 on, but for 0 */
COEX_API coex_handle coex_json_string(const char *utf8, uint64_t bytes); /* TEXT: not UTF-8 */

/* What it is, written to *value. False: of another kind (KIND), or a number that is none of that type (RANGE). Look only. */
COEX_API bool coex_json_to_bool(coex_handle json, bool *value);
COEX_API bool coex_json_to_int(coex_handle json, int64_t *value);   /* also of a double that is an integer of that range */
COEX_API bool coex_json_to_uint(coex_handle json, uint64_t *value); /* the same */
COEX_API bool coex_json_to_float(coex_handle json, double *value);  /* the nearest one to an integer */

/* ------------------------------------------------------------- containers */

COEX_API coex_handle coex_json_array(void);  /* an empty one */
COEX_API coex_handle coex_json_object(void); /* an empty one */
COEX_API coex_handle coex_json_array_of(uint64_t count, const coex_handle *items);
/* Duplicate keys: the last value counts, at the place of the first. */
COEX_API coex_handle coex_json_object_of(uint64_t count, const coex_handle *keys, const coex_handle *values);

/* Elements of an array, entries of an object. Looks only. */
COEX_API uint64_t coex_json_len(coex_handle json);

/* Lookup. 0 with MISSING if there is no such key, with RANGE beyond the end. `key` is a string; the _text functions take its
 * bytes. Look only. */
COEX_API coex_handle coex_json_get(coex_handle object, coex_handle key);
COEX_API coex_handle coex_json_get_text(coex_handle object, const char *key, uint64_t bytes);
COEX_API coex_handle coex_json_get_at(coex_handle array, uint64_t index);
COEX_API bool coex_json_has(coex_handle object, coex_handle key);

/* In order: for (uint64_t at = 0; coex_json_next(json, &at, &key, &value);). The cursor is a plain number. Of an array the key
 * is 0. Either result may be NULL. Looks only. */
COEX_API bool coex_json_next(coex_handle json, uint64_t *cursor, coex_handle *key, coex_handle *value);

/* Another object with this entry: in its old place, or at the end. */
COEX_API coex_handle coex_json_set(coex_handle object, coex_handle key, coex_handle value);
COEX_API coex_handle coex_json_set_text(coex_handle object, const char *key, uint64_t bytes, coex_handle value);
COEX_API coex_handle coex_json_set_at(coex_handle array, uint64_t index, coex_handle value); /* index = length appends */
COEX_API coex_handle coex_json_append(coex_handle array, coex_handle value);
/* Another object or array without it. MISSING, RANGE: there is none. */
COEX_API coex_handle coex_json_remove(coex_handle object, coex_handle key);
COEX_API coex_handle coex_json_remove_text(coex_handle object, const char *key, uint64_t bytes);
COEX_API coex_handle coex_json_remove_at(coex_handle array, uint64_t index);

/* Equal: numbers of the same kind and value (1 and 1.0 differ, 0.0 and -0.0 too), the same characters, equal elements in the
 * same order, equal entries in any order. The hash agrees with that. Both look only, but poll: they are safepoints. */
COEX_API bool coex_json_equal(coex_handle a, coex_handle b);
COEX_API uint64_t coex_json_hash(coex_handle json);

/* ---------------------------------------------------------- JSON Pointer */

/* RFC 6901: "" is the whole, "/a/0/b~1c" is what key "b/c" has in element 0 of what key "a" has. TEXT: not a pointer. MISSING,
 * RANGE: nothing is there. KIND: the way leads through something that is neither array nor object. */
COEX_API coex_handle coex_json_pointer_get(coex_handle json, const char *pointer, uint64_t bytes); /* looks only */
/* Another json with `value` there: in place of what is there, as a new entry, or at the end of an array (the length, or "-"). */
COEX_API coex_handle coex_json_pointer_set(coex_handle json, const char *pointer, uint64_t bytes, coex_handle value);
/* Another json without what is there; not the whole. */
COEX_API coex_handle coex_json_pointer_remove(coex_handle json, const char *pointer, uint64_t bytes);

/* ---------------------------------------------------------------- reading */

enum {
    COEX_JSON_EXACT = 1,   /* refuse integers beyond 64 bits */
    COEX_JSON_REPLACE = 2, /* half a surrogate pair in an escape becomes U+FFFD */
    COEX_JSON_UNIQUE = 4,  /* refuse duplicate keys where an object is made of them */
    COEX_JSON_MANY = 8 /* readers: any number of values, one after the other, with white space or nothing in between (JSON lines) */
};

#define COEX_JSON_DEFAULT_DEPTH 1024

typedef struct coex_json_options {
    uint64_t max_depth; /* containers inside of containers; 0: COEX_JSON_DEFAULT_DEPTH */
    uint32_t flags;     /* COEX_JSON_EXACT, … */
} coex_json_options;

/* Why, and where: the first byte that can't be. */
typedef struct coex_json_error {
    coex_status status; /* OK: there was none. TEXT; RANGE: a number; SIZE: nested too deeply; MEMORY; SYSTEM: reading failed */
    uint64_t offset;    /* in bytes, from 0 */
    uint64_t line;      /* from 1; a line ends with \n */
    uint64_t column;    /* in characters, from 1 */
    char message[104];  /* "expected ',' or ']', found 'x'" */
} coex_json_error;

/* The value of a text that has exactly one. `options` and `error` may be NULL. 0: *error and coex_last_status() say why. */
COEX_API coex_handle coex_json_parse(const char *text, uint64_t bytes, coex_json_error *error);
COEX_API coex_handle coex_json_parse_with(const char *text, uint64_t bytes, const coex_json_options *options,
                                          coex_json_error *error);
/* The same of a string, and of a file from where it is to its end (read in native mode, piece by piece). */
COEX_API coex_handle coex_json_parse_string(coex_handle text, const coex_json_options *options, coex_json_error *error);
COEX_API coex_handle coex_json_parse_file(FILE *file, const coex_json_options *options, coex_json_error *error);

/* ----------------------------------------------------- incremental reader */

/* Reads text of any size that comes in pieces, and holds no more of it than the piece, and the token that it is in. It tells
 * what it meets, one event after the other, and makes values of what is asked for. A reader is a handle and belongs to one
 * thread at a time.
 *
 *     coex_handle reader = coex_json_reader_from_file(file, NULL);       // in a slot
 *     if (coex_json_reader_find(reader, "/rows", 5) == COEX_JSON_EVENT_ARRAY)
 *         while (coex_json_reader_next(reader) != COEX_JSON_EVENT_END_ARRAY)
 *             if (coex_json_reader_take(reader, &row) == COEX_JSON_EVENT_VALUE) use(row); else break; */
typedef enum coex_json_event {
    COEX_JSON_EVENT_ERROR = 0, /* coex_json_reader_error says why; every further call gives it again */
    COEX_JSON_EVENT_MORE,      /* needs more input: feed or finish, then call the same function again */
    COEX_JSON_EVENT_END,       /* the text is complete and at its end */
    COEX_JSON_EVENT_VALUE,     /* null, a boolean, a number or a string; or: take has made the value */
    COEX_JSON_EVENT_KEY,       /* the key of the value that comes next */
    COEX_JSON_EVENT_ARRAY,
    COEX_JSON_EVENT_END_ARRAY,
    COEX_JSON_EVENT_OBJECT,
    COEX_JSON_EVENT_END_OBJECT
} coex_json_event;

/* Gives the next bytes of the text: how many were written to `buffer`, 0 at the end, less than 0 if reading failed. Called in
 * native mode: it may block, and touches no handle. */
typedef int64_t (*coex_json_source)(void *context, char *buffer, uint64_t room);

COEX_API coex_handle coex_json_reader_new(const coex_json_options *options); /* fed by hand */
COEX_API coex_handle coex_json_reader_from(coex_json_source source, void *context, const coex_json_options *options);
COEX_API coex_handle coex_json_reader_from_file(FILE *file, const coex_json_options *options); /* does not close it */

/* The next piece of the text, which is copied; pieces of any size, also within a character. False: STALE after finish, KIND if
 * it has a source, MEMORY. Feed what is at hand, then take events until MORE: what is fed and not yet read is held. */
COEX_API bool coex_json_reader_feed(coex_handle reader, const char *bytes, uint64_t count);
COEX_API bool coex_json_reader_finish(coex_handle reader); /* there is no more */

/* Go on to the next event. */
COEX_API coex_json_event coex_json_reader_next(coex_handle reader);
/* The event that next gave last. */
COEX_API coex_json_event coex_json_reader_event(coex_handle reader);
/* The value of the current event: the scalar of VALUE, the string of KEY; of ARRAY and OBJECT the whole, read to its end. VALUE:
 * *value is it, to be rooted before the next safepoint. MORE, ERROR: there is none yet, none at all. Any other event comes back
 * as it is: there is none. */
COEX_API coex_json_event coex_json_reader_take(coex_handle reader, coex_handle *value);
/* Passes over the rest of the array or object that began with the current event, checking it, and gives its end; after any other
 * event a no-op. */
COEX_API coex_json_event coex_json_reader_skip(coex_handle reader);
/* Goes forward to where `pointer` (RFC 6901, of the current text's top) leads, passing over what is beside the way, and gives
 * the event there. END: it is not in the rest of the text. With duplicate keys, the first one. */
COEX_API coex_json_event coex_json_reader_find(coex_handle reader, const char *pointer, uint64_t bytes);

COEX_API uint64_t coex_json_reader_depth(coex_handle reader);   /* containers that are open */
COEX_API coex_handle coex_json_reader_path(coex_handle reader); /* the pointer of the current event, a string */
COEX_API uint64_t coex_json_reader_offset(coex_handle reader);  /* bytes read so far */
COEX_API void coex_json_reader_error(coex_handle reader, coex_json_error *error);

/* ---------------------------------------------------------------- writing */

/* The text as a string. indent 0: in one line without spaces; 1 to 16: so many spaces a level; -1: a tab a level. */
COEX_API coex_handle coex_json_stringify(coex_handle json, int indent);
/* To a file, in native mode, piece by piece. SYSTEM: it could not be written. */
COEX_API bool coex_json_write_file(coex_handle json, FILE *file, int indent);

/* A writer holds no handle and is memory of its own, outside of the heap: it is for one thread at a time, and is destroyed in
 * the end. What does not fit (a value where a key belongs, two values at the top) is refused with STALE and changes nothing;
 * when the sink has failed, or memory has, every further call fails the same way. */
typedef struct coex_json_writer coex_json_writer;

/* Takes the next bytes of the text. False: it could not. Called in native mode: it may block, and touches no handle. */
typedef bool (*coex_json_sink)(void *context, const char *bytes, uint64_t count);

enum {
    COEX_JSON_ASCII = 256, /* \u escapes for all that is not ASCII */
    COEX_JSON_LINES = 512  /* any number of values at the top, each ended by a new line */
};

COEX_API coex_json_writer *coex_json_writer_new(int indent, uint32_t flags); /* into memory */
COEX_API coex_json_writer *coex_json_writer_to(coex_json_sink sink, void *context, int indent, uint32_t flags);
COEX_API coex_json_writer *coex_json_writer_to_file(FILE *file, int indent, uint32_t flags);
COEX_API void coex_json_writer_destroy(coex_json_writer *writer); /* NULL is fine */

COEX_API bool coex_json_write_null(coex_json_writer *writer);
COEX_API bool coex_json_write_bool(coex_json_writer *writer, bool value);
COEX_API bool coex_json_write_int(coex_json_writer *writer, int64_t value);
COEX_API bool coex_json_write_uint(coex_json_writer *writer, uint64_t value);
COEX_API bool coex_json_write_float(coex_json_writer *writer, double value); /* RANGE: infinite, not a number */
COEX_API bool coex_json_write_string(coex_json_writer *writer, const char *utf8, uint64_t bytes); /* TEXT: not UTF-8 */
COEX_API bool coex_json_write_value(coex_json_writer *writer, coex_handle json); /* any json. KIND: it holds what is none */
COEX_API bool coex_json_write_key(coex_json_writer *writer, const char *utf8, uint64_t bytes);
COEX_API bool coex_json_write_array(coex_json_writer *writer);
COEX_API bool coex_json_write_object(coex_json_writer *writer);
COEX_API bool coex_json_write_end(coex_json_writer *writer); /* of the innermost array or object */

/* All written and complete: hands the rest to the sink; a file is flushed. */
COEX_API bool coex_json_writer_finish(coex_json_writer *writer);
/* What a writer into memory has so far: its bytes until the next call, or as a string. */
COEX_API const char *coex_json_writer_bytes(coex_json_writer *writer, uint64_t *count);
COEX_API coex_handle coex_json_writer_string(coex_json_writer *writer);

#ifdef __cplusplus
}
#endif

#endif
