/* Json values: kinds, scalars, and the public functions of containers, which check and call down. Any thread. */
#include "values/json/json_value.h"

#include "values/string/string.h"

#include "base/os.h"

#include <coex/values/list.h>

const coex_gc_type cx_type_json_number = {.name = "json number", .size = sizeof(struct json_number)};

/* ------------------------------------------------------------------ kinds */

static coex_json_kind json_immediate_kind(coex_handle word)
{
    if (json_word_is_float(word)) return COEX_JSON_FLOAT;
    if (json_word_is_int(word)) return COEX_JSON_INT;
    if (word == JSON_WORD_NULL) return COEX_JSON_NULL;
    if (word == JSON_WORD_FALSE || word == JSON_WORD_TRUE) return COEX_JSON_BOOL;
    return word == JSON_WORD_ZERO || word == JSON_WORD_MINUS_ZERO ? COEX_JSON_FLOAT : COEX_JSON_NONE;
}

static coex_json_kind json_object_kind(coex_handle json)
{
    const struct json_number *number = cx_value_as(json, CX_TYPE_json_number);
    if (number != NULL) return number->kind == JSON_NUMBER_FLOAT ? COEX_JSON_FLOAT : COEX_JSON_INT;
    return COEX_JSON_OBJECT;
}

coex_json_kind coex_json_kind_of(coex_handle json)
{
    if (coex_is_immediate(json)) return json_immediate_kind(json);
    switch (coex_kind_of(json)) {
    case COEX_KIND_STRING:
        return COEX_JSON_STRING;
    case COEX_KIND_LIST:
        return coex_list_has_handles(json) ? COEX_JSON_ARRAY : COEX_JSON_NONE;
    case COEX_KIND_JSON:
        return json_object_kind(json);
    default:
        return COEX_JSON_NONE;
    }
}

const char *coex_json_kind_string(coex_json_kind kind)
{
    static const char *const text[] = {"none", "null", "bool", "int", "float", "string", "array", "object"};
    return (size_t)kind < sizeof text / sizeof text[0] ? text[kind] : "unknown kind";
}

/* ---------------------------------------------------------------- scalars */

coex_handle cx_json_number_box(enum json_number_kind kind, uint64_t bits)
{
    void *payload;
    coex_handle handle = coex_gc_alloc_at(sizeof(struct json_number), cx_values.id[CX_TYPE_json_number], &payload);
    if (handle == 0) return cx_fail_memory();
    *(struct json_number *)payload = (struct json_number){kind, bits};
    return handle;
}

coex_handle coex_json_null(void) { return JSON_WORD_NULL; }
coex_handle coex_json_bool(bool value) { return value ? JSON_WORD_TRUE : JSON_WORD_FALSE; }

coex_handle coex_json_int(int64_t value)
{
    return json_int_fits(value) ? json_word_of_int(value) : cx_json_number_box(JSON_NUMBER_INT, (uint64_t)value);
}

coex_handle coex_json_uint(uint64_t value)
{
    return value <= INT64_MAX ? coex_json_int((int64_t)value) : cx_json_number_box(JSON_NUMBER_UINT, value);
}

coex_handle coex_json_float(double value)
{
    if (value - value != 0) return cx_fail(COEX_STATUS_RANGE); /* infinite, or not a number */
    coex_handle word = json_word_of_float(value);
    return word != 0 ? word : cx_json_number_box(JSON_NUMBER_FLOAT, json_bits_of(value));
}

coex_handle coex_json_string(const char *utf8, uint64_t bytes) { return coex_string_from(utf8, bytes); }

bool cx_json_number(coex_handle json, struct json_scalar *scalar)
{
    if (json_word_is_int(json)) {
        *scalar = (struct json_scalar){JSON_NUMBER_INT, (uint64_t)json_word_int(json)};
    } else if (json_word_is_float(json)) {
        *scalar = (struct json_scalar){JSON_NUMBER_FLOAT, json_bits_of(json_word_float(json))};
    } else if (json == JSON_WORD_ZERO || json == JSON_WORD_MINUS_ZERO) {
        *scalar = (struct json_scalar){JSON_NUMBER_FLOAT, json == JSON_WORD_ZERO ? 0 : JSON_SIGN};
    } else {
        const struct json_number *number = cx_value_as(json, CX_TYPE_json_number);
        if (number == NULL) return false;
        *scalar = (struct json_scalar){(enum json_number_kind)number->kind, number->bits};
    }
    return true;
}

bool coex_json_to_bool(coex_handle json, bool *value)
{
    if (json != JSON_WORD_FALSE && json != JSON_WORD_TRUE) return cx_fail_false(COEX_STATUS_KIND);
    *value = json == JSON_WORD_TRUE;
    return true;
}

bool coex_json_to_int(coex_handle json, int64_t *value)
{
    struct json_scalar scalar;
    if (!cx_json_number(json, &scalar)) return cx_fail_false(COEX_STATUS_KIND);
    if (scalar.kind == JSON_NUMBER_UINT) return cx_fail_false(COEX_STATUS_RANGE);
    if (scalar.kind == JSON_NUMBER_FLOAT) {
        double number = json_double_of(scalar.bits);
        if (!(number >= -0x1p63 && number < 0x1p63) || number != (double)(int64_t)number) return cx_fail_false(COEX_STATUS_RANGE);
        scalar.bits = (uint64_t)(int64_t)number;
    }
    *value = (int64_t)scalar.bits;
    return true;
}

bool coex_json_to_uint(coex_handle json, uint64_t *value)
{
    struct json_scalar scalar;
    if (!cx_json_number(json, &scalar)) return cx_fail_false(COEX_STATUS_KIND);
    if (scalar.kind == JSON_NUMBER_INT && (int64_t)scalar.bits < 0) return cx_fail_false(COEX_STATUS_RANGE);
    if (scalar.kind == JSON_NUMBER_FLOAT) {
        double number = json_double_of(scalar.bits);
        if (!(number >= 0 && number < 0x1p64) || number != (double)(uint64_t)number) return cx_fail_false(COEX_STATUS_RANGE);
        scalar.bits = (uint64_t)number;
    }
    *value = scalar.bits;
    return true;
}

bool coex_json_to_float(coex_handle json, double *value)
{
    struct json_scalar scalar;
    if (!cx_json_number(json, &scalar)) return cx_fail_false(COEX_STATUS_KIND);
    switch (scalar.kind) {
    case JSON_NUMBER_INT:
        *value = (double)(int64_t)scalar.bits;
        break;
    case JSON_NUMBER_UINT:
        *value = (double)scalar.bits;
        break;
    case JSON_NUMBER_FLOAT:
        *value = json_double_of(scalar.bits);
        break;
    }
    return true;
}

/* ----------------------------------------------------------------- arrays */

static bool json_is_array(coex_handle json) { return coex_json_kind_of(json) == COEX_JSON_ARRAY; }

coex_handle coex_json_array(void) { return coex_list_empty(true); }

coex_handle coex_json_array_of(uint64_t count, const coex_handle *items)
{
    for (uint64_t i = 0; i < count; i++) {
        if (!json_is_json(items[i])) return cx_fail(COEX_STATUS_KIND);
    }
    return coex_list_from_words(items, count, true);
}

coex_handle coex_json_get_at(coex_handle array, uint64_t index)
{
    if (!json_is_array(array)) return cx_fail(COEX_STATUS_KIND);
    return coex_list_get(array, index);
}

coex_handle coex_json_set_at(coex_handle array, uint64_t index, coex_handle value)
{
    if (!json_is_array(array) || !json_is_json(value)) return cx_fail(COEX_STATUS_KIND);
    return index == coex_list_len(array) ? coex_list_append(array, value) : coex_list_set(array, index, value);
}

coex_handle coex_json_append(coex_handle array, coex_handle value)
{
    if (!json_is_array(array) || !json_is_json(value)) return cx_fail(COEX_STATUS_KIND);
    return coex_list_append(array, value);
}

coex_handle coex_json_remove_at(coex_handle array, uint64_t index)
{
    if (!json_is_array(array)) return cx_fail(COEX_STATUS_KIND);
    return coex_list_remove(array, index);
}

/* ---------------------------------------------------------------- objects */

static bool json_is_object(coex_handle json) { return coex_json_kind_of(json) == COEX_JSON_OBJECT; }

coex_handle coex_json_object(void) { return cx_json_object_of_pairs(NULL, 0, false); }

coex_handle coex_json_object_of(uint64_t count, const coex_handle *keys, const coex_handle *values)
{
    if (count > UINT64_MAX / 32) return cx_fail(COEX_STATUS_SIZE);
    for (uint64_t i = 0; i < count; i++) {
        if (coex_kind_of(keys[i]) != COEX_KIND_STRING || !json_is_json(values[i])) return cx_fail(COEX_STATUS_KIND);
    }
    coex_handle *pairs = cx_os_allocate(16 * count + 16);
    if (pairs == NULL) return cx_fail_memory();
    for (uint64_t i = 0; i < count; i++) {
        pairs[2 * i] = keys[i];
        pairs[2 * i + 1] = values[i];
    }
    coex_handle object = cx_json_object_of_pairs(pairs, count, false);
    cx_os_free(pairs);
    return object;
}

static struct json_text json_text(const char *key, uint64_t bytes) { return (struct json_text){bytes != 0 ? key : "", bytes, 0}; }

static coex_handle json_get(coex_handle object, const struct json_text *key)
{
    if (!json_is_object(object)) return cx_fail(COEX_STATUS_KIND);
    coex_handle value = cx_json_find(object, key);
    return value != 0 ? value : cx_fail(COEX_STATUS_MISSING);
}

coex_handle coex_json_get(coex_handle object, coex_handle key)
{
    struct json_text text;
    return json_text_of(key, &text) ? json_get(object, &text) : cx_fail(COEX_STATUS_KIND);
}

coex_handle coex_json_get_text(coex_handle object, const char *key, uint64_t bytes)
{
    struct json_text text = json_text(key, bytes);
    return json_get(object, &text);
}

bool coex_json_has(coex_handle object, coex_handle key)
{
    struct json_text text;
    if (!json_text_of(key, &text) || !json_is_object(object)) return cx_fail_false(COEX_STATUS_KIND);
    return cx_json_find(object, &text) != 0;
}

coex_handle coex_json_set(coex_handle object, coex_handle key, coex_handle value)
{
    struct json_text text;
    if (!json_text_of(key, &text) || !json_is_object(object) || !json_is_json(value)) return cx_fail(COEX_STATUS_KIND);
    return cx_json_with(object, &text, value);
}

coex_handle coex_json_set_text(coex_handle object, const char *key, uint64_t bytes, coex_handle value)
{
    struct json_text text = json_text(key, bytes);
    if (!json_is_object(object) || !json_is_json(value)) return cx_fail(COEX_STATUS_KIND);
    return cx_json_with(object, &text, value);
}

coex_handle coex_json_remove(coex_handle object, coex_handle key)
{
    struct json_text text;
    if (!json_text_of(key, &text) || !json_is_object(object)) return cx_fail(COEX_STATUS_KIND);
    return cx_json_without(object, &text);
}

coex_handle coex_json_remove_text(coex_handle object, const char *key, uint64_t bytes)
{
    struct json_text text = json_text(key, bytes);
    return json_is_object(object) ? cx_json_without(object, &text) : cx_fail(COEX_STATUS_KIND);
}

/* ------------------------------------------------------------------- both */

uint64_t coex_json_len(coex_handle json)
{
    uint64_t count;
    if (json_is_array(json)) return coex_list_len(json);
    return cx_json_object_count(json, &count) ? count : cx_fail(COEX_STATUS_KIND);
}

bool coex_json_next(coex_handle json, uint64_t *cursor, coex_handle *key, coex_handle *value)
{
    coex_handle found_key = 0, found_value = 0;
    uint64_t count;
    if (json_is_array(json)) {
        if (*cursor >= coex_list_len(json)) return false;
        found_value = coex_list_get(json, (*cursor)++);
    } else if (cx_json_object_count(json, &count)) {
        if (!cx_json_object_next(json, cursor, &found_key, &found_value)) return false;
    } else {
        return cx_fail_false(COEX_STATUS_KIND);
    }
    if (key != NULL) *key = found_key;
    if (value != NULL) *value = found_value;
    return true;
}

bool coex_json_equal(coex_handle a, coex_handle b)
{
    return json_is_json(a) && json_is_json(b) ? coex_value_equal(a, b) : cx_fail_false(COEX_STATUS_KIND);
}

uint64_t coex_json_hash(coex_handle json) { return json_is_json(json) ? coex_value_hash(json) : cx_fail(COEX_STATUS_KIND); }
