/* Coex JSON (RFC 8259): values, parser, incremental reader and writer.
 *
 * A *JSON value* is a reference word, like any other in the collections:
 *
 *   null, true, false  are immediates.
 *   numbers            are immediates, or small objects if they need all of their 64 bits.
 *   strings            are strings (<coex/values/string.h>). Every string is a JSON value.
 *   arrays             are lists of references whose elements are JSON values. All functions of
 *                      <coex/values/list.h> accept them.
 *   objects            have a type of their own: a map from strings to JSON values that keeps the
 *                      order in which the keys were added.
 *
 * All of them are immutable. A change returns a new value that shares the unchanged parts.
 *
 * Numbers. A number without fraction and exponent is an integer. It is exact from -2^63 to 2^64 -
 * 1. Every other number is the nearest double. An integer beyond 64 bits becomes the nearest
 * double, or is refused with COEX_JSON_EXACT. A number beyond the range of a double is always
 * refused. "-0" is the double -0.0. A double is written with the fewest digits that give the same
 * double again, and always with a fraction or an exponent, so that it is read as a double again.
 *
 * Strings are valid UTF-8, in text and in memory. A \u escape that is half of a surrogate pair is
 * refused, or becomes U+FFFD with COEX_JSON_REPLACE.
 *
 * Duplicate keys. If an object has the same key twice, it gets the last value at the place of the
 * first one. With COEX_JSON_UNIQUE the text is refused.
 *
 * Depth. No function recurses on the C stack. Readers refuse text that is nested deeper than
 * max_depth. Values that a program builds may be nested to any depth, and can be compared, hashed
 * and written.
 *
 * <coex/values/value.h> has the rules for errors, rooting and threads. All functions fail with
 * COEX_STATUS_KIND if an argument is not a JSON value of the expected kind. */
#ifndef COEX_VALUES_JSON_H
#define COEX_VALUES_JSON_H

#include <coex/values/value.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------- kinds */

typedef enum coex_json_kind {
    COEX_JSON_NONE = 0, /* Not a JSON value: null handle, other immediate, or other object. */
    COEX_JSON_NULL,
    COEX_JSON_BOOL,
    COEX_JSON_INT,   /* An integer from -2^63 to 2^64 - 1. */
    COEX_JSON_FLOAT, /* A finite double. */
    COEX_JSON_STRING,
    COEX_JSON_ARRAY,
    COEX_JSON_OBJECT
} coex_json_kind;

/* Returns the kind of `json`. Does not look at the elements of an array. Not a safepoint. */
COEX_API coex_json_kind coex_json_kind_of(coex_handle json);

/* Returns the name of `kind`. Never returns NULL. */
COEX_API const char *coex_json_kind_string(coex_json_kind kind);

/* ------------------------------------------------------------------ scalars */

/* Returns the JSON value null. Never fails. Not a safepoint. */
COEX_API coex_handle coex_json_null(void);

/* Returns true or false as a JSON value. Never fails. Not a safepoint. */
COEX_API coex_handle coex_json_bool(bool value);

/* Returns the number `value`. Allocates an object if it needs more than 60 bits. Returns 0 on
 * failure. A safepoint. */
COEX_API coex_handle coex_json_int(int64_t value);

/* Returns the number `value` as coex_json_int does. A safepoint. */
COEX_API coex_handle coex_json_uint(uint64_t value);

/* Returns the number `value`. Allocates an object if its magnitude is below 2^-127, except for 0,
 * or at least 2^129. Returns 0 on failure: with COEX_STATUS_RANGE if `value` is infinite or NaN. A
 * safepoint. */
COEX_API coex_handle coex_json_float(double value);

/* Returns the string of `bytes` bytes at `utf8`. Returns 0 on failure: with COEX_STATUS_TEXT if
 * they are not UTF-8. A safepoint. */
COEX_API coex_handle coex_json_string(const char *utf8, uint64_t bytes);

/* Stores the boolean `json` in *value and returns true. Returns false on failure. Not a
 * safepoint. */
COEX_API bool coex_json_to_bool(coex_handle json, bool *value);

/* Stores the number `json` in *value and returns true. Returns false on failure: with
 * COEX_STATUS_RANGE if the number is not an integer, or does not fit. A double with an integer
 * value is accepted. Not a safepoint. */
COEX_API bool coex_json_to_int(coex_handle json, int64_t *value);

/* Stores the number `json` in *value as coex_json_to_int does. Not a safepoint. */
COEX_API bool coex_json_to_uint(coex_handle json, uint64_t *value);

/* Stores the number `json` in *value and returns true. An integer gives the nearest double. Returns
 * false on failure. Not a safepoint. */
COEX_API bool coex_json_to_float(coex_handle json, double *value);

/* --------------------------------------------------------- arrays and objects */

/* Functions that return a handle return 0 on failure. Functions that create a value are safepoints;
 * functions that only read are not. `key` is a string; functions with `_text` in their name take
 * the UTF-8 bytes of the key instead. */

/* Creates an empty array. A safepoint. */
COEX_API coex_handle coex_json_array(void);

/* Creates an empty object. A safepoint. */
COEX_API coex_handle coex_json_object(void);

/* Creates an array of the `count` JSON values at `items`. A safepoint. */
COEX_API coex_handle coex_json_array_of(uint64_t count, const coex_handle *items);

/* Creates an object of the `count` keys at `keys` and the values at `values`. A duplicate key gets
 * the last value at the place of the first one. A safepoint. */
COEX_API coex_handle coex_json_object_of(uint64_t count, const coex_handle *keys,
                                         const coex_handle *values);

/* Returns the number of elements of an array or of entries of an object, or 0 on failure. Not a
 * safepoint. */
COEX_API uint64_t coex_json_len(coex_handle json);

/* Returns the value of `key` in `object`. Fails with COEX_STATUS_MISSING if there is no such key.
 * Not a safepoint. */
COEX_API coex_handle coex_json_get(coex_handle object, coex_handle key);

/* Looks up the `bytes` bytes at `key` as coex_json_get does. Not a safepoint. */
COEX_API coex_handle coex_json_get_text(coex_handle object, const char *key, uint64_t bytes);

/* Returns the element at `index` of `array`. Fails with COEX_STATUS_RANGE beyond the end. Not a
 * safepoint. */
COEX_API coex_handle coex_json_get_at(coex_handle array, uint64_t index);

/* Returns true if `object` contains `key`. Returns false if it does not, which records no status,
 * or on failure. Not a safepoint. */
COEX_API bool coex_json_has(coex_handle object, coex_handle key);

/* Stores the next element or entry in *key and *value, moves *cursor and returns true. Either
 * result may be NULL. The key of an element of an array is 0. Returns false at the end, which
 * records no status, or on failure. Not a safepoint. An example is:
 *
 *     for (uint64_t at = 0; coex_json_next(json, &at, &key, &value);) use(key, value); */
COEX_API bool coex_json_next(coex_handle json, uint64_t *cursor, coex_handle *key,
                             coex_handle *value);

/* Returns `object` with `value` for `key`: at its old place, or at the end if it is new. A
 * safepoint. */
COEX_API coex_handle coex_json_set(coex_handle object, coex_handle key, coex_handle value);

/* Sets the value of the `bytes` bytes at `key` as coex_json_set does. Fails with COEX_STATUS_TEXT
 * if they are not UTF-8. A safepoint. */
COEX_API coex_handle coex_json_set_text(coex_handle object, const char *key, uint64_t bytes,
                                        coex_handle value);

/* Returns `array` with `value` at `index`. If `index` is the length, appends. Fails with
 * COEX_STATUS_RANGE beyond that. A safepoint. */
COEX_API coex_handle coex_json_set_at(coex_handle array, uint64_t index, coex_handle value);

/* Returns `array` with `value` at its end. A safepoint. */
COEX_API coex_handle coex_json_append(coex_handle array, coex_handle value);

/* Returns `object` without `key`. Fails with COEX_STATUS_MISSING if there is no such key. A
 * safepoint. */
COEX_API coex_handle coex_json_remove(coex_handle object, coex_handle key);

/* Removes the `bytes` bytes at `key` as coex_json_remove does. A safepoint. */
COEX_API coex_handle coex_json_remove_text(coex_handle object, const char *key, uint64_t bytes);

/* Returns `array` without the element at `index`. Fails with COEX_STATUS_RANGE beyond the end. A
 * safepoint. */
COEX_API coex_handle coex_json_remove_at(coex_handle array, uint64_t index);

/* Returns true if `a` and `b` are equal. Numbers are equal if they have the same kind and value: 1
 * and 1.0 differ, and so do 0.0 and -0.0. Strings are equal by content, arrays if their elements
 * are equal in the same order, objects if their entries are equal in any order. Returns false on
 * failure: with COEX_STATUS_MEMORY if there is no memory for the nesting. A safepoint. */
COEX_API bool coex_json_equal(coex_handle a, coex_handle b);

/* Returns a hash of `json`, which agrees with coex_json_equal. Returns 0 on failure, as
 * coex_json_equal does. A safepoint. */
COEX_API uint64_t coex_json_hash(coex_handle json);

/* ------------------------------------------------------------- JSON Pointer */

/* A pointer (RFC 6901) is the path to a part of a JSON value. "" is the whole value. "/a/0/b~1c" is
 * the value of the key "b/c" in element 0 of the value of the key "a". The functions of this
 * section return 0 on failure, with these statuses:
 *
 *   COEX_STATUS_TEXT     The `bytes` bytes at `pointer` are not a pointer.
 *   COEX_STATUS_MISSING  A key of the path does not exist.
 *   COEX_STATUS_RANGE    An index of the path does not exist.
 *   COEX_STATUS_KIND     The path leads through a value that is neither an array nor an object. */

/* Returns the part of `json` at `pointer`. Not a safepoint. */
COEX_API coex_handle coex_json_pointer_get(coex_handle json, const char *pointer, uint64_t bytes);

/* Returns `json` with `value` at `pointer`. The last step of the path may be a new key of an
 * object, or the length or "-" to append to an array. A safepoint. */
COEX_API coex_handle coex_json_pointer_set(coex_handle json, const char *pointer, uint64_t bytes,
                                           coex_handle value);

/* Returns `json` without the part at `pointer`. Fails with COEX_STATUS_RANGE if `pointer` is empty.
 * A safepoint. */
COEX_API coex_handle coex_json_pointer_remove(coex_handle json, const char *pointer,
                                              uint64_t bytes);

/* ------------------------------------------------------------------- parsing */

/* Flags of coex_json_options. */
enum {
    COEX_JSON_EXACT = 1,   /* Integers beyond 64 bits are refused. */
    COEX_JSON_REPLACE = 2, /* Half a surrogate pair in an escape becomes U+FFFD. */
    COEX_JSON_UNIQUE = 4,  /* Duplicate keys of an object are refused. */
    COEX_JSON_MANY = 8     /* Readers accept any number of values in sequence (JSON lines). */
};

#define COEX_JSON_DEFAULT_DEPTH 1024

/* The options of the parser and of readers. NULL options mean that all fields are 0. */
typedef struct coex_json_options {
    /* The largest number of nested containers. 0 means COEX_JSON_DEFAULT_DEPTH. */
    uint64_t max_depth;
    /* COEX_JSON_EXACT and the other flags above. */
    uint32_t flags;
} coex_json_options;

/* The reason and the place of an error: the first byte that is not valid there. */
typedef struct coex_json_error {
    /* COEX_STATUS_OK if there is no error. Otherwise COEX_STATUS_TEXT, COEX_STATUS_RANGE for a
     * number, COEX_STATUS_SIZE if the text is nested too deeply, COEX_STATUS_MEMORY, or
     * COEX_STATUS_SYSTEM if the source failed. */
    coex_status status;
    /* Offset in bytes, from 0. */
    uint64_t offset;
    /* Line, from 1. A line ends with a line feed. */
    uint64_t line;
    /* Column in characters, from 1. */
    uint64_t column;
    /* A description, for example "expected ',' or ']', found 'x'". */
    char message[104];
} coex_json_error;

/* Parses the `bytes` bytes at `text`, which must contain exactly one value, and returns it. On
 * failure, returns 0, records a status and fills *error, unless `error` is NULL. A safepoint. */
COEX_API coex_handle coex_json_parse(const char *text, uint64_t bytes, coex_json_error *error);

/* Parses as coex_json_parse does, with *options. `options` may be NULL. A safepoint. */
COEX_API coex_handle coex_json_parse_with(const char *text, uint64_t bytes,
                                          const coex_json_options *options, coex_json_error *error);

/* Parses the string `text` as coex_json_parse_with does. A safepoint. */
COEX_API coex_handle coex_json_parse_string(coex_handle text, const coex_json_options *options,
                                            coex_json_error *error);

/* Parses `file` from its current position to its end, as coex_json_parse_with does. Reads piece by
 * piece in native mode. A safepoint. */
COEX_API coex_handle coex_json_parse_file(FILE *file, const coex_json_options *options,
                                          coex_json_error *error);

/* -------------------------------------------------------- incremental reader */

/* A reader reads text of any size in pieces. It keeps only the current piece and the current token.
 * It returns one event after the other, and builds values on demand. A reader is a handle, and
 * belongs to one thread at a time. An example is:
 *
 *     slots[0] = coex_json_reader_from_file(file, NULL);
 *     if (coex_json_reader_find(slots[0], "/rows", 5) == COEX_JSON_EVENT_ARRAY)
 *         while (coex_json_reader_next(slots[0]) != COEX_JSON_EVENT_END_ARRAY) {
 *             if (coex_json_reader_take(slots[0], &row) != COEX_JSON_EVENT_VALUE) break;
 *             use(row);
 *         }
 *
 * If the argument is not a reader, functions that return an event return COEX_JSON_EVENT_ERROR. */
typedef enum coex_json_event {
    COEX_JSON_EVENT_ERROR = 0, /* See coex_json_reader_error. All later calls return it again. */
    COEX_JSON_EVENT_MORE,      /* Feed more text or finish, and then repeat the call. */
    COEX_JSON_EVENT_END,       /* The text is complete. */
    COEX_JSON_EVENT_VALUE,     /* A scalar; or coex_json_reader_take has built the value. */
    COEX_JSON_EVENT_KEY,       /* The key of the next value. */
    COEX_JSON_EVENT_ARRAY,     /* The beginning of an array. */
    COEX_JSON_EVENT_END_ARRAY,
    COEX_JSON_EVENT_OBJECT, /* The beginning of an object. */
    COEX_JSON_EVENT_END_OBJECT
} coex_json_event;

/* Writes the next bytes of the text to `buffer`, at most `room`. Returns their number, 0 at the
 * end, or a negative number if it failed. Runs in native mode: it may block, and must not use
 * handles. */
typedef int64_t (*coex_json_source)(void *context, char *buffer, uint64_t room);

/* Creates a reader that is fed with coex_json_reader_feed. `options` may be NULL. Returns 0 on
 * failure. A safepoint. */
COEX_API coex_handle coex_json_reader_new(const coex_json_options *options);

/* Creates a reader that calls `source` with `context` for its text. Returns 0 on failure: with
 * COEX_STATUS_KIND if `source` is NULL. A safepoint. */
COEX_API coex_handle coex_json_reader_from(coex_json_source source, void *context,
                                           const coex_json_options *options);

/* Creates a reader of `file`, which it does not close. Returns 0 on failure: with COEX_STATUS_KIND
 * if `file` is NULL. A safepoint. */
COEX_API coex_handle coex_json_reader_from_file(FILE *file, const coex_json_options *options);

/* Appends the `count` bytes at `bytes` to the text. They are copied. A piece may have any size and
 * may end inside a character. Feed a piece, and then read events until COEX_JSON_EVENT_MORE,
 * because the reader keeps all text that it has not read yet. Returns false on failure: with
 * COEX_STATUS_STALE after coex_json_reader_finish, with COEX_STATUS_KIND if the reader has a
 * source. A safepoint. */
COEX_API bool coex_json_reader_feed(coex_handle reader, const char *bytes, uint64_t count);

/* Marks the end of the text. Returns false on failure: with COEX_STATUS_KIND if the reader has a
 * source. Not a safepoint. */
COEX_API bool coex_json_reader_finish(coex_handle reader);

/* Reads on to the next event and returns it. A safepoint. */
COEX_API coex_json_event coex_json_reader_next(coex_handle reader);

/* Returns the last event again. Not a safepoint. */
COEX_API coex_json_event coex_json_reader_event(coex_handle reader);

/* Builds the value of the last event: a scalar, a key as a string, or a whole array or object,
 * which is read to its end. Stores it in *value and returns COEX_JSON_EVENT_VALUE. The reader does
 * not keep the value: a second call for the same event returns COEX_JSON_EVENT_ERROR with
 * COEX_STATUS_STALE, and the reader can go on. Returns COEX_JSON_EVENT_MORE if the value is not
 * complete yet, and COEX_JSON_EVENT_ERROR on failure. After any other event there is no value, and
 * the function returns that event. A safepoint. */
COEX_API coex_json_event coex_json_reader_take(coex_handle reader, coex_handle *value);

/* Skips the rest of the array or object that began with the last event, checks it, and returns its
 * end event. Returns COEX_JSON_EVENT_MORE or COEX_JSON_EVENT_ERROR as coex_json_reader_take does.
 * After any other event it does nothing and returns that event. A safepoint. */
COEX_API coex_json_event coex_json_reader_skip(coex_handle reader);

/* Reads on to the value at `pointer` (RFC 6901, from the top of the current text), skips everything
 * else, and returns its event. If a key occurs twice, the first one counts. Returns
 * COEX_JSON_EVENT_END if the rest of the text has no such value, and COEX_JSON_EVENT_ERROR with
 * COEX_STATUS_TEXT if the `bytes` bytes at `pointer` are not a pointer. A safepoint. */
COEX_API coex_json_event coex_json_reader_find(coex_handle reader, const char *pointer,
                                               uint64_t bytes);

/* Returns the number of open containers, or 0 on failure. Not a safepoint. */
COEX_API uint64_t coex_json_reader_depth(coex_handle reader);

/* Returns the pointer of the last event as a string, or 0 on failure. A safepoint. */
COEX_API coex_handle coex_json_reader_path(coex_handle reader);

/* Returns the number of bytes that were read so far, or 0 on failure. Not a safepoint. */
COEX_API uint64_t coex_json_reader_offset(coex_handle reader);

/* Stores the reason and the place of the error of `reader` in *error. Stores COEX_STATUS_KIND if
 * `reader` is not a reader. Not a safepoint. */
COEX_API void coex_json_reader_error(coex_handle reader, coex_json_error *error);

/* -------------------------------------------------------------------- writing */

/* Returns the text of `json` as a string. `indent` 0 writes one line without spaces, 1 to 16 that
 * many spaces for each level, and -1 a tab for each level. Returns 0 on failure: with
 * COEX_STATUS_RANGE if `indent` is invalid. A safepoint. */
COEX_API coex_handle coex_json_stringify(coex_handle json, int indent);

/* Writes the text of `json` to `file`, piece by piece in native mode. `indent` is as in
 * coex_json_stringify. Returns false on failure: with COEX_STATUS_SYSTEM if the file cannot be
 * written. A safepoint. */
COEX_API bool coex_json_write_file(coex_handle json, FILE *file, int indent);

/* A writer produces text step by step. It is memory outside the heap, holds no handle, belongs to
 * one thread at a time, and must be destroyed. A call that does not fit the text so far, such as a
 * value in place of a key, fails with COEX_STATUS_STALE and changes nothing. After the sink has
 * failed, or memory was exhausted, all later calls fail with the same status.
 *
 * The functions that write return false on failure. They are safepoints if the writer has a sink.
 * Only coex_json_write_value is always one. */
typedef struct coex_json_writer coex_json_writer;

/* Takes the next `count` bytes of the text. Returns false if it failed. Runs in native mode: it may
 * block, and must not use handles. */
typedef bool (*coex_json_sink)(void *context, const char *bytes, uint64_t count);

/* Flags of a writer. */
enum {
    COEX_JSON_ASCII = 256, /* Characters that are not ASCII are written as \u escapes. */
    COEX_JSON_LINES = 512  /* Any number of values may be written, each on a line of its own. */
};

/* Creates a writer into memory. `indent` is as in coex_json_stringify, and `flags` are
 * COEX_JSON_ASCII and COEX_JSON_LINES. Returns NULL on failure: with COEX_STATUS_RANGE if `indent`
 * is invalid. Not a safepoint. */
COEX_API coex_json_writer *coex_json_writer_new(int indent, uint32_t flags);

/* Creates a writer that calls `sink` with `context` for its text. Fails like coex_json_writer_new.
 * Not a safepoint. */
COEX_API coex_json_writer *coex_json_writer_to(coex_json_sink sink, void *context, int indent,
                                               uint32_t flags);

/* Creates a writer to `file`, which it does not close. Fails like coex_json_writer_new, and with
 * COEX_STATUS_KIND if `file` is NULL. Not a safepoint. */
COEX_API coex_json_writer *coex_json_writer_to_file(FILE *file, int indent, uint32_t flags);

/* Destroys `writer`. It may be NULL. */
COEX_API void coex_json_writer_destroy(coex_json_writer *writer);

/* Writes null. */
COEX_API bool coex_json_write_null(coex_json_writer *writer);

/* Writes true or false. */
COEX_API bool coex_json_write_bool(coex_json_writer *writer, bool value);

/* Writes an integer. */
COEX_API bool coex_json_write_int(coex_json_writer *writer, int64_t value);

/* Writes an unsigned integer. */
COEX_API bool coex_json_write_uint(coex_json_writer *writer, uint64_t value);

/* Writes a double. Fails with COEX_STATUS_RANGE if `value` is infinite or NaN. */
COEX_API bool coex_json_write_float(coex_json_writer *writer, double value);

/* Writes the `bytes` bytes at `utf8` as a string. Fails with COEX_STATUS_TEXT if they are not
 * UTF-8. */
COEX_API bool coex_json_write_string(coex_json_writer *writer, const char *utf8, uint64_t bytes);

/* Writes any JSON value. Fails with COEX_STATUS_KIND if `json` is not one, or contains something
 * else. A safepoint. */
COEX_API bool coex_json_write_value(coex_json_writer *writer, coex_handle json);

/* Writes the `bytes` bytes at `utf8` as a key of an object. Fails with COEX_STATUS_TEXT if they are
 * not UTF-8. */
COEX_API bool coex_json_write_key(coex_json_writer *writer, const char *utf8, uint64_t bytes);

/* Begins an array. */
COEX_API bool coex_json_write_array(coex_json_writer *writer);

/* Begins an object. */
COEX_API bool coex_json_write_object(coex_json_writer *writer);

/* Ends the innermost array or object. */
COEX_API bool coex_json_write_end(coex_json_writer *writer);

/* Hands the rest of the text to the sink, and flushes a file. Returns false on failure: with
 * COEX_STATUS_STALE if the text is not complete, with COEX_STATUS_SYSTEM if the sink fails. A
 * safepoint if the writer has a sink. */
COEX_API bool coex_json_writer_finish(coex_json_writer *writer);

/* Returns the text so far of a writer into memory and stores its length in *count. It is valid
 * until the next call with `writer`. Returns NULL on failure: with COEX_STATUS_KIND if the writer
 * has a sink. Not a safepoint. */
COEX_API const char *coex_json_writer_bytes(coex_json_writer *writer, uint64_t *count);

/* Returns the text so far of a writer into memory as a string. Returns 0 on failure, as
 * coex_json_writer_bytes does. A safepoint. */
COEX_API coex_handle coex_json_writer_string(coex_json_writer *writer);

#ifdef __cplusplus
}
#endif

#endif
