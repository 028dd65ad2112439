/* Parts of a JSON Pointer (RFC 6901): what is between slashes, where ~0 means ~ and ~1 means /. Pure functions. */
#ifndef CX_VALUES_JSON_JSON_POINTER_H
#define CX_VALUES_JSON_JSON_POINTER_H

#include <stdbool.h>
#include <stdint.h>

struct json_part {
    const char *text; /* as it is in the pointer */
    uint64_t bytes;
};

/* Is it "" or "/…", with nothing behind a ~ but 0 and 1? */
bool cx_json_pointer_check(const char *pointer, uint64_t bytes);
/* The part that begins at *at, which moves behind it; false at the end. */
bool cx_json_part_next(const char **at, const char *end, struct json_part *part);
/* Does it mean this key? */
bool cx_json_part_is(const struct json_part *part, const char *key, uint64_t bytes);
/* Does it mean an index: digits, without leading zeros? */
bool cx_json_part_index(const struct json_part *part, uint64_t *index);
/* Writes the key that it means; at most as many bytes as it has. How many. */
uint64_t cx_json_part_read(const struct json_part *part, char *key);
/* Writes a key as a part, or only counts if `out` is NULL. How many bytes. */
uint64_t cx_json_part_write(char *out, const char *key, uint64_t bytes);

#endif
