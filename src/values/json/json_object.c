/* Objects: how they lie in the heap is in json_value.h. Any thread; nothing is changed after birth.
 *
 * INV-JSON-3  The keys of a shape are distinct by content; so are those of a large object's order.
 * INV-JSON-4  In a large object's index, the numbers hash, hash + 1, … up to the first that is not there lead to every key of
 *             that hash: a
 *             number whose entry was removed leads to a gap, and is taken again before a new one is added.
 * INV-JSON-5  Where a run of gaps begins in a large object's order, its value says where the run
 *             ends; where it ends, the key of the last gap says where it begins. The value of a gap
 *             in between is a place of the run behind it, or the end.
 *             So a run is passed in one step, however long, and grows at either side in constant
 *             time. */
#include "values/json/json_value.h"

#include "values/string/string.h"

#include "base/os.h"
#include "base/report.h"

#include <coex/values/list.h>
#include <coex/values/map.h>

/* Dumps show the first names; all others are numbered. */
static const char *const json_shape_names[] = {"index"};
static const char *const json_object_names[] = {"shape"};
static const char *const json_large_names[] = {"order", "index"};
static const uint32_t json_shape_refs[] = {8};
static const uint32_t json_object_refs[] = {0};
static const uint32_t json_large_refs[] = {8, 16};

const coex_gc_type cx_type_json_shape = {.name = "json shape",
                                         .ref_offsets = json_shape_refs,
                                         .ref_count = 1,
                                         .ref_names = json_shape_names,
                                         .flags = COEX_GC_REF_ARRAY,
                                         .array_offset = 16};
const coex_gc_type cx_type_json_index = {.name = "json index"};
const coex_gc_type cx_type_json_object = {.name = "json object",
                                          .ref_offsets = json_object_refs,
                                          .ref_count = 1,
                                          .ref_names = json_object_names,
                                          .flags = COEX_GC_REF_ARRAY,
                                          .array_offset = 8};
const coex_gc_type cx_type_json_large = {.name = "json large object",
                                         .size = sizeof(struct json_large),
                                         .ref_offsets = json_large_refs,
                                         .ref_count = 2,
                                         .ref_names = json_large_names};

static bool json_key_is(coex_handle string, const struct json_text *key)
{
    const char *text = NULL;
    uint64_t bytes = 0;
    if (string == key->string && string != 0) return true;
    return json_look(string, &text, &bytes) && bytes == key->bytes && memcmp(text, key->text, bytes) == 0;
}

/* ----------------------------------------------------------------- shapes */

/* Bytes of the table for so many keys: a power of two, at most half full. */
static uint64_t json_index_bytes(uint64_t count)
{
    uint64_t bytes = 32;
    while (bytes < 2 * count) bytes *= 2;
    return bytes;
}

/* Where the key is among `count`, or -1, with a table that has at least those before it. *slot is where it would go. */
static int64_t json_index_find(const unsigned char *index, uint64_t bytes, const coex_handle *keys, const struct json_text *key,
                               uint64_t *slot)
{
    uint64_t at = json_hash_text(key->text, key->bytes) & (bytes - 1);
    for (; index[at] != 0; at = (at + 1) & (bytes - 1)) {
        if (json_key_is(keys[index[at] - 1], key)) return index[at] - 1;
    }
    *slot = at;
    return -1;
}

static int64_t json_keys_scan(const coex_handle *keys, uint64_t count, const struct json_text *key)
{
    for (uint64_t i = 0; i < count; i++) {
        if (keys[i] == key->string) return (int64_t)i;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (json_key_is(keys[i], key)) return (int64_t)i;
    }
    return -1;
}

static int64_t json_shape_find(coex_handle handle, const struct json_text *key)
{
    const struct json_shape *shape = coex_gc_handle_deref(handle);
    uint64_t slot;
    if (shape->index == 0) return json_keys_scan(shape->keys, shape->count, key);
    return json_index_find(coex_gc_handle_deref(shape->index), json_index_bytes(shape->count), shape->keys, key, &slot);
}

static coex_handle json_index_make(const coex_handle *keys, uint64_t count)
{
    void *index;
    uint64_t bytes = json_index_bytes(count), slot = 0;
    struct json_text key;
    coex_handle handle = coex_gc_alloc_at(bytes, cx_values.id[CX_TYPE_json_index], &index);
    if (handle == 0) return cx_fail_memory();
    for (uint64_t i = 0; i < count; i++) {
        json_text_of(keys[i], &key);
        json_index_find(index, bytes, keys, &key, &slot);
        ((unsigned char *)index)[slot] = (unsigned char)(i + 1);
    }
    return handle;
}

static coex_handle json_shape_alloc(const coex_handle *keys, uint64_t count, coex_handle index)
{
    void *payload;
    coex_handle handle = coex_gc_alloc_at(16 + count * 8, cx_values.id[CX_TYPE_json_shape], &payload);
    if (handle == 0) return cx_fail_memory();
    struct json_shape *shape = payload;
    shape->count = count;
    shape->index = index;
    memcpy(shape->keys, keys, count * 8);
    return handle;
}

coex_handle cx_json_shape_make(const coex_handle *keys, uint64_t count)
{
    if (count <= JSON_SCAN_MAX) return json_shape_alloc(keys, count, 0);
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = json_index_make(keys, count);
    coex_handle shape = slots[0] != 0 ? json_shape_alloc(keys, count, slots[0]) : 0;
    coex_gc_leave_frame(slots);
    return shape;
}

/* ----------------------------------------------------------- flat objects */

coex_handle cx_json_flat_make(coex_handle shape, const coex_handle *values, uint64_t count)
{
    void *payload;
    coex_handle handle = coex_gc_alloc_at(8 + count * 8, cx_values.id[CX_TYPE_json_object], &payload);
    if (handle == 0) return cx_fail_memory();
    struct json_object *object = payload;
    object->shape = shape;
    memcpy(object->values, values, count * 8);
    return handle;
}

/* With a shape of these keys, which are new together. */
static coex_handle json_flat_of(const coex_handle *keys, const coex_handle *values, uint64_t count)
{
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = cx_json_shape_make(keys, count);
    coex_handle object = slots[0] != 0 ? cx_json_flat_make(slots[0], values, count) : 0;
    coex_gc_leave_frame(slots);
    return object;
}

/* ---------------------------------------------------------- large objects */

static coex_handle json_large_make(coex_handle order, coex_handle index, uint64_t count)
{
    void *payload;
    coex_handle handle = coex_gc_alloc_at(sizeof(struct json_large), cx_values.id[CX_TYPE_json_large], &payload);
    if (handle == 0) return cx_fail_memory();
    *(struct json_large *)payload = (struct json_large){count, order, index};
    return handle;
}

/* A gap has numbers where an entry has key and value. */
static bool json_is_gap(coex_handle key) { return coex_is_immediate(key); }

/* The place of a key, or -1. *number is where it leads to it from, or would. */
static int64_t json_large_find(const struct json_large *large, const struct json_text *key, uint64_t *number)
{
    uint64_t place = 0, at = json_hash_text(key->text, key->bytes);
    bool gap = false;
    *number = at;
    for (; coex_map_has(large->index, at) && coex_map_get(large->index, at, &place); at++) {
        coex_handle string = coex_list_get(large->order, 2 * place);
        if (!json_is_gap(string) && json_key_is(string, key)) {
            *number = at;
            return (int64_t)place;
        }
        if (json_is_gap(string) && !gap) *number = at;
        gap |= json_is_gap(string);
    }
    if (!gap) *number = at;
    return -1;
}

/* Moves the entries of `pairs` together so that every key is there once; fills the index, by builder. False: no memory, or not
 * unique. */
static bool json_large_gather(coex_handle builder, coex_handle *pairs, uint64_t *count, bool unique)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < *count; i++) {
        struct json_text key;
        uint64_t place = 0, number;
        json_text_of(pairs[2 * i], &key);
        number = json_hash_text(key.text, key.bytes);
        while (coex_map_builder_has(builder, number) && coex_map_builder_get(builder, number, &place) &&
               !json_key_is(pairs[2 * place], &key))
            number++;
        if (coex_map_builder_has(builder, number)) {
            if (unique) return cx_fail_false(COEX_STATUS_TEXT);
            pairs[2 * place + 1] = pairs[2 * i + 1];
            continue;
        }
        pairs[2 * kept] = pairs[2 * i];
        pairs[2 * kept + 1] = pairs[2 * i + 1];
        if (!coex_map_builder_set(builder, number, kept)) return false;
        kept++;
    }
    *count = kept;
    return true;
}

static coex_handle json_large_of(coex_handle *pairs, uint64_t count, bool unique)
{
    coex_handle *slots = coex_gc_enter_frame(3), large = 0;
    if ((slots[0] = coex_map_empty(COEX_MAP_INTEGER)) != 0 && (slots[0] = coex_map_builder(slots[0])) != 0 &&
        json_large_gather(slots[0], pairs, &count, unique) && (slots[1] = coex_map_builder_finish(slots[0])) != 0 &&
        (slots[2] = coex_list_from_words(pairs, 2 * count, true)) != 0)
        large = json_large_make(slots[2], slots[1], count);
    coex_gc_leave_frame(slots);
    return large;
}

/* ----------------------------------------------------------- from entries */

/* As json_large_gather, for at most JSON_FLAT_MAX entries. */
static bool json_flat_gather(coex_handle *keys, coex_handle *values, uint64_t *count, bool unique)
{
    uint64_t kept = 0, slot = 0;
    unsigned char index[4 * JSON_FLAT_MAX] = {0};
    for (uint64_t i = 0; i < *count; i++) {
        struct json_text key;
        json_text_of(keys[i], &key);
        int64_t place =
            *count <= JSON_SCAN_MAX ? json_keys_scan(keys, kept, &key) : json_index_find(index, sizeof index, keys, &key, &slot);
        if (place >= 0 && unique) return cx_fail_false(COEX_STATUS_TEXT);
        if (place >= 0) {
            values[place] = values[i];
            continue;
        }
        keys[kept] = keys[i];
        values[kept++] = values[i];
        index[slot] = (unsigned char)kept;
    }
    *count = kept;
    return true;
}

coex_handle cx_json_object_of_pairs(coex_handle *pairs, uint64_t count, bool unique)
{
    coex_handle keys[JSON_FLAT_MAX], values[JSON_FLAT_MAX];
    if (count > JSON_FLAT_MAX) {
        coex_handle large = json_large_of(pairs, count, unique);
        return large;
    }
    for (uint64_t i = 0; i < count; i++) {
        keys[i] = pairs[2 * i];
        values[i] = pairs[2 * i + 1];
    }
    return json_flat_gather(keys, values, &count, unique) ? json_flat_of(keys, values, count) : 0;
}

/* All entries again in the form that is right for so many: after removals. */
static coex_handle json_rebuild(coex_handle object, uint64_t count, const struct json_text *without)
{
    coex_handle *pairs = cx_os_allocate(16 * count + 16), key, value;
    uint64_t kept = 0;
    if (pairs == NULL) return cx_fail_memory();
    for (uint64_t cursor = 0; cx_json_object_next(object, &cursor, &key, &value);) {
        if (without != NULL && json_key_is(key, without)) continue;
        pairs[kept++] = key;
        pairs[kept++] = value;
    }
    coex_handle rebuilt = cx_json_object_of_pairs(pairs, kept / 2, false);
    cx_os_free(pairs);
    return rebuilt;
}

/* ---------------------------------------------------------------- looking */

coex_handle cx_json_find(coex_handle handle, const struct json_text *key)
{
    uint64_t number;
    const struct json_object *object = cx_value_as(handle, CX_TYPE_json_object);
    if (object != NULL) {
        int64_t place = json_shape_find(object->shape, key);
        return place >= 0 ? object->values[place] : 0;
    }
    const struct json_large *large = cx_value_as(handle, CX_TYPE_json_large);
    if (large == NULL) return 0;
    int64_t place = json_large_find(large, key, &number);
    return place >= 0 ? coex_list_get(large->order, 2 * (uint64_t)place + 1) : 0;
}

bool cx_json_object_count(coex_handle handle, uint64_t *count)
{
    const struct json_object *object = cx_value_as(handle, CX_TYPE_json_object);
    if (object != NULL) {
        *count = ((const struct json_shape *)coex_gc_handle_deref(object->shape))->count;
        return true;
    }
    const struct json_large *large = cx_value_as(handle, CX_TYPE_json_large);
    if (large != NULL) *count = large->count;
    return large != NULL;
}

__thread uint64_t cx_json_steps;

static bool json_large_next(const struct json_large *large, uint64_t *cursor, coex_handle *key, coex_handle *value)
{
    uint64_t at = *cursor, end = coex_list_len(large->order) / 2;
    *cursor = end;
    while (at < end) {
        if (CX_CHECKED) cx_json_steps++;
        *key = coex_list_get(large->order, 2 * at);
        *value = coex_list_get(large->order, 2 * at + 1);
        if (!json_is_gap(*key)) {
            *cursor = at + 1;
            return true;
        }
        at = coex_immediate_bits(*value);
    }
    return false;
}

bool cx_json_object_next(coex_handle handle, uint64_t *cursor, coex_handle *key, coex_handle *value)
{
    const struct json_object *object = cx_value_as(handle, CX_TYPE_json_object);
    if (object == NULL) return json_large_next(coex_gc_handle_deref(handle), cursor, key, value);
    const struct json_shape *shape = coex_gc_handle_deref(object->shape);
    if (*cursor >= shape->count) return false;
    *key = shape->keys[*cursor];
    *value = object->values[(*cursor)++];
    return true;
}

/* --------------------------------------------------------------- changing */

/* The string of a key that is looked for: a new one if there is none. */
static coex_handle json_key_string(const struct json_text *key)
{
    if (key->string != 0) return key->string;
    bool ascii;
    if (cx_utf8_scan(key->text, key->bytes, &ascii) != key->bytes) return cx_fail(COEX_STATUS_TEXT);
    return cx_string_make(key->text, key->bytes, ascii);
}

static coex_handle json_flat_with(coex_handle handle, const struct json_text *key, coex_handle value)
{
    coex_handle keys[JSON_FLAT_MAX + 1], values[JSON_FLAT_MAX + 1], result;
    const struct json_object *object = coex_gc_handle_deref(handle);
    const struct json_shape *shape = coex_gc_handle_deref(object->shape);
    uint64_t count = shape->count;
    int64_t place = json_shape_find(object->shape, key);
    memcpy(keys, shape->keys, count * 8);
    memcpy(values, object->values, count * 8);
    if (place >= 0) {
        values[place] = value;
        return cx_json_flat_make(object->shape, values, count);
    }
    coex_handle *slots = coex_gc_enter_frame_with(2, 1, &value);
    values[count] = value;
    keys[count] = slots[1] = json_key_string(key);
    if (slots[1] == 0) {
        result = 0;
    } else if (count < JSON_FLAT_MAX) {
        result = json_flat_of(keys, values, count + 1);
    } else {
        coex_handle pairs[2 * (JSON_FLAT_MAX + 1)];
        for (uint64_t i = 0; i <= count; i++) {
            pairs[2 * i] = keys[i];
            pairs[2 * i + 1] = values[i];
        }
        result = cx_json_object_of_pairs(pairs, count + 1, false);
    }
    coex_gc_leave_frame(slots);
    return result;
}

static coex_handle json_large_with(coex_handle handle, const struct json_text *key, coex_handle value)
{
    const struct json_large large = *(const struct json_large *)coex_gc_handle_deref(handle);
    uint64_t number;
    int64_t place = json_large_find(&large, key, &number);
    coex_handle *slots = coex_gc_enter_frame_with(3, 1, &value), result = 0;
    if (place >= 0) {
        slots[1] = coex_list_set(large.order, 2 * (uint64_t)place + 1, value);
        if (slots[1] != 0) result = json_large_make(slots[1], large.index, large.count);
    } else if ((slots[1] = json_key_string(key)) != 0 && (slots[1] = coex_list_append(large.order, slots[1])) != 0 &&
               (slots[1] = coex_list_append(slots[1], value)) != 0 &&
               (slots[2] = coex_map_set(large.index, number, coex_list_len(large.order) / 2)) != 0) {
        result = json_large_make(slots[1], slots[2], large.count + 1);
    }
    coex_gc_leave_frame(slots);
    return result;
}

coex_handle cx_json_with(coex_handle object, const struct json_text *key, coex_handle value)
{
    return cx_value_as(object, CX_TYPE_json_object) != NULL ? json_flat_with(object, key, value)
                                                            : json_large_with(object, key, value);
}

/* The run of gaps that a place belongs to as soon as it is one. */
struct json_gaps {
    uint64_t begin, end;
};

static struct json_gaps json_gaps_around(coex_handle order, uint64_t place)
{
    struct json_gaps gaps = {place, place + 1};
    coex_handle before = place != 0 ? coex_list_get(order, 2 * place - 2) : 0;
    if (json_is_gap(before)) gaps.begin = coex_immediate_bits(before);
    if (gaps.end < coex_list_len(order) / 2 && json_is_gap(coex_list_get(order, 2 * gaps.end)))
        gaps.end = coex_immediate_bits(coex_list_get(order, 2 * gaps.end + 1));
    return gaps;
}

/* Sets a word of the list in *slot. Returns false if memory is exhausted. */
static bool json_order_set(coex_handle *slot, uint64_t index, uint64_t number)
{
    *slot = coex_list_set(*slot, index, COEX_IMMEDIATE(number));
    return *slot != 0;
}

static coex_handle json_large_without(const struct json_large *now, uint64_t place)
{
    const struct json_large large = *now;
    coex_handle *slots = coex_gc_enter_frame_with(1, 1, &large.order), result = 0;
    struct json_gaps gaps = json_gaps_around(large.order, place);
    bool done = json_order_set(slots, 2 * place, gaps.begin) && json_order_set(slots, 2 * place + 1, gaps.end);
    if (gaps.begin != place) done = done && json_order_set(slots, 2 * gaps.begin + 1, gaps.end);
    if (gaps.end - 1 != place) done = done && json_order_set(slots, 2 * (gaps.end - 1), gaps.begin);
    if (done) result = json_large_make(slots[0], large.index, large.count - 1);
    coex_gc_leave_frame(slots);
    return result;
}

coex_handle cx_json_without(coex_handle object, const struct json_text *key)
{
    uint64_t number;
    const struct json_large *large = cx_value_as(object, CX_TYPE_json_large);
    if (large == NULL) {
        const struct json_object *flat = coex_gc_handle_deref(object);
        if (json_shape_find(flat->shape, key) < 0) return cx_fail(COEX_STATUS_MISSING);
        return json_rebuild(object, JSON_FLAT_MAX, key);
    }
    int64_t place = json_large_find(large, key, &number);
    if (place < 0) return cx_fail(COEX_STATUS_MISSING);
    /* Small enough to be flat (with some way to go before it is large again), or more gaps than entries. */
    if (large->count <= JSON_FLAT_MAX / 2 || coex_list_len(large->order) / 4 >= large->count)
        return json_rebuild(object, large->count, key);
    return json_large_without(large, (uint64_t)place);
}
