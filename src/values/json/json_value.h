/* Json values inside: how a word says what it is, and how objects lie in the heap.
 *
 * Immediates. Of the 62 bits of an immediate
 *     x…x1   61 bits: a double whose exponent is from -127 to 128: sign, a bit for the upper four bits of the exponent (0111 or
 *     1000), the rest as it is
 *     x…x10  60 bits: a signed integer
 *     …000   null, false, true, 0.0, -0.0: the few that are left
 * and every other number is a json_number. A value has one form only: what fits in an immediate is never in an object, so that
 * equal scalars are equal words, but for those.
 *
 * Objects. Up to JSON_FLAT_MAX entries an object is its values behind a *shape*: the keys, in order, and from JSON_SCAN_MAX keys
 * on a table that finds them by hash. Objects of the same keys in the same order share a shape where they come from the same
 * text, or from each other. Beyond that it is a *large* one: a list of keys and values in turn, and a map from the key to its
 * place. A removed entry leaves a gap: two numbers that say where the run of gaps around it begins and ends (INV-JSON-5).
 *
 * Everything here looks or allocates on the calling thread; nothing is ever changed after birth. */
#ifndef CX_VALUES_JSON_JSON_VALUE_H
#define CX_VALUES_JSON_JSON_VALUE_H

#include "values/core/common.h"
#include "values/string/string.h"

#include <coex/values/json.h>
#include <string.h>

/* ------------------------------------------------------------------ words */

#define JSON_WORD_NULL       COEX_IMMEDIATE(0 << 3)
#define JSON_WORD_FALSE      COEX_IMMEDIATE(1 << 3)
#define JSON_WORD_TRUE       COEX_IMMEDIATE(2 << 3)
#define JSON_WORD_ZERO       COEX_IMMEDIATE(3 << 3)
#define JSON_WORD_MINUS_ZERO COEX_IMMEDIATE(4 << 3)

#define JSON_INT_LIMIT    ((int64_t)1 << 59)  /* immediates are from -this to this - 1 */
#define JSON_FLOAT_BIAS   ((uint64_t)7 << 59) /* the smallest upper part of an exponent that fits */
#define JSON_FLOAT_SPAN   ((uint64_t)1 << 60) /* how much there is of them */
#define JSON_SIGN         ((uint64_t)1 << 63)
#define JSON_SHORT_DOUBLE ((uint64_t)1 << 60) /* where the sign is in the 61 bits */

struct json_number { /* immutable */
    uint64_t kind;   /* enum json_number_kind */
    uint64_t bits;
};

enum json_number_kind { JSON_NUMBER_INT, JSON_NUMBER_UINT, JSON_NUMBER_FLOAT };

static inline bool json_word_is_int(coex_handle word) { return (word & (COEX_IMMEDIATE_BIT | 3)) == (COEX_IMMEDIATE_BIT | 2); }
static inline bool json_word_is_float(coex_handle word) { return (word & (COEX_IMMEDIATE_BIT | 1)) == (COEX_IMMEDIATE_BIT | 1); }
/* The shift upwards drops bits 62 and 63, the one downwards brings the sign back. */
static inline int64_t json_word_int(coex_handle word) { return (int64_t)(word << 2) >> 4; }
static inline bool json_int_fits(int64_t value) { return value >= -JSON_INT_LIMIT && value < JSON_INT_LIMIT; }
static inline coex_handle json_word_of_int(int64_t value) { return COEX_IMMEDIATE((uint64_t)value << 2 | 2); }

static inline double json_double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t json_bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double json_word_float(coex_handle word)
{
    uint64_t bits = coex_immediate_bits(word) >> 1;
    return json_double_of((bits & JSON_SHORT_DOUBLE) << 3 | ((bits & (JSON_SHORT_DOUBLE - 1)) + JSON_FLOAT_BIAS));
}

/* The word of a double, or 0: it needs an object. */
static inline coex_handle json_word_of_float(double value)
{
    uint64_t bits = json_bits_of(value);
    uint64_t rest = (bits & ~JSON_SIGN) - JSON_FLOAT_BIAS;
    if (rest < JSON_FLOAT_SPAN) return COEX_IMMEDIATE(((bits & JSON_SIGN) >> 3 | rest) << 1 | 1);
    if ((bits & ~JSON_SIGN) == 0) return bits == 0 ? JSON_WORD_ZERO : JSON_WORD_MINUS_ZERO;
    return 0;
}

/* A number of any kind, taken apart. */
struct json_scalar {
    enum json_number_kind kind;
    uint64_t bits;
};

/* Is it a number, and which? Looks only. */
bool cx_json_number(coex_handle json, struct json_scalar *scalar);
/* A number that does not fit in an immediate. A safepoint. */
coex_handle cx_json_number_box(enum json_number_kind kind, uint64_t bits);

/* May this word be a value in a container? Looks only. */
static inline bool json_is_json(coex_handle word) { return coex_json_kind_of(word) != COEX_JSON_NONE; }

/* ---------------------------------------------------------------- objects */

enum {
    JSON_FLAT_MAX = 64, /* entries of a flat object: changing one copies them all, and a place fits in a byte */
    JSON_SCAN_MAX = 8   /* up to so many keys are looked through one by one */
};

struct json_shape {
    uint64_t count;
    coex_handle
        index; /* json_index, or 0: uint8_t[]: place + 1, by hash of the key, with the next free one for those that collide */
    coex_handle keys[];
};

struct json_object {
    coex_handle shape;
    coex_handle values[]; /* as many as the shape has keys */
};

struct json_large {
    uint64_t count;    /* entries without gaps */
    coex_handle order; /* list: key, value, key, value, … */
    coex_handle index; /* map of integers: hash of the key, or the next number that was free, to its place. Also to gaps */
};

/* A key as it is looked for. */
struct json_text {
    const char *text;
    uint64_t bytes;
    coex_handle string; /* the same as a string, or 0 */
};

/* Keyed, so that nobody outside can make keys collide. Quick for short text. */
static inline uint64_t json_hash_text(const char *text, uint64_t bytes)
{
    uint64_t hash = cx_values.seed[0] ^ bytes, word;
    for (; bytes >= 8; bytes -= 8, text += 8) {
        memcpy(&word, text, 8);
        hash = cx_hash_fold(hash ^ word, cx_values.seed[2] | 1);
    }
    word = 0;
    memcpy(&word, text, bytes);
    hash = cx_hash_fold(hash ^ word ^ cx_values.seed[1], cx_values.seed[3] | 1);
    return cx_hash_fold(hash ^ cx_values.seed[2], cx_values.seed[0] | 1);
}

/* Is it a string? *text and *bytes say where and how long, until the next safepoint. */
static inline bool json_look(coex_handle word, const char **text, uint64_t *bytes)
{
    struct cx_string_text found;
    if (!cx_string_open(word, &found)) return false;
    *text = found.text;
    *bytes = found.length;
    return true;
}

/* Is it a string? *text is what it says, until the next safepoint. */
static inline bool json_text_of(coex_handle key, struct json_text *text)
{
    *text = (struct json_text){"", 0, key};
    return json_look(key, &text->text, &text->bytes);
}

/* A shape of distinct keys, all strings, which the caller keeps rooted; `keys` is outside of the heap. A safepoint. */
coex_handle cx_json_shape_make(const coex_handle *keys, uint64_t count);
/* An object of this shape, rooted as the values are; `values` is outside of the heap. A safepoint. */
coex_handle cx_json_flat_make(coex_handle shape, const coex_handle *values, uint64_t count);
/* An object of keys and values in turn, of which every key is a string and all are rooted. `pairs` is outside of the heap, and
 * is used up. Where keys repeat the last value counts, at the place of the first; `unique`: 0 with status TEXT. A safepoint. */
coex_handle cx_json_object_of_pairs(coex_handle *pairs, uint64_t count, bool unique);

/* The value of a key, 0 if there is none; of 0 entries if it is no object. Records nothing; looks only. */
coex_handle cx_json_find(coex_handle object, const struct json_text *key);
/* Another object with it, another without. 0 with a status. Safepoints. */
coex_handle cx_json_with(coex_handle object, const struct json_text *key, coex_handle value);
coex_handle cx_json_without(coex_handle object, const struct json_text *key);

/* How many entries; false: no object. */
bool cx_json_object_count(coex_handle object, uint64_t *count);
/* The entry at or behind a cursor, which moves behind it; false at the end. `object` is one. Looks only. */
bool cx_json_object_next(coex_handle object, uint64_t *cursor, coex_handle *key, coex_handle *value);

/* Counts entries and runs of gaps of large objects that cx_json_object_next looks at, in checked
 * builds, for tests. W, R: self. */
extern __thread uint64_t cx_json_steps;

#endif
