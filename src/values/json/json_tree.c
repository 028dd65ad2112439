/* Values out of tokens: see json_reader.h. Entered by the thread that reads.
 *
 * The cache. Text repeats its keys, and the order of its keys: a key that is not long is made into a string once, and objects of
 * the same keys in the same order get one shape. The tree of shapes has a node for each beginning of such a sequence; an object
 * moves through it key by key, and its last node has the shape. Both are of bounded size: text that fills them is read without
 * them. */
#include "values/json/json_reader.h"

#include "values/string/string.h"

#include "base/os.h"

#include <coex/values/list.h>

enum { JSON_SMALL_STRING = 256 }; /* bytes */

static const uint32_t json_reader_refs[] = {
    JSON_REF(input), JSON_REF(levels), JSON_REF(stack),       JSON_REF(names),        JSON_REF(keys),  JSON_REF(key_strings),
    JSON_REF(nodes), JSON_REF(shapes), JSON_REF(empty_array), JSON_REF(empty_object), JSON_REF(value),
};
static const char *const json_reader_names[] = {"input", "levels", "stack",       "names",        "keys", "key_strings",
                                                "nodes", "shapes", "empty_array", "empty_object", "value"};

const coex_gc_type cx_type_json_reader = {.name = "json reader",
                                          .size = sizeof(struct json_reader),
                                          .ref_offsets = json_reader_refs,
                                          .ref_count = sizeof json_reader_refs / sizeof json_reader_refs[0],
                                          .ref_names = json_reader_names,
                                          .flags = COEX_GC_MUTABLE};
const coex_gc_type cx_type_json_bytes = {.name = "json bytes", .flags = COEX_GC_MUTABLE};
const coex_gc_type cx_type_json_refs = {.name = "json references", .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY};

/* ---------------------------------------------------------------- storage */

coex_handle cx_json_reader_make(const coex_json_options *options)
{
    void *payload;
    coex_handle handle = coex_gc_alloc_at(sizeof(struct json_reader), cx_values.id[CX_TYPE_json_reader], &payload);
    if (handle == 0) return cx_fail_memory();
    struct json_reader *reader = payload;
    reader->max_depth = options != NULL && options->max_depth != 0 ? options->max_depth : COEX_JSON_DEFAULT_DEPTH;
    reader->flags = options != NULL ? options->flags : 0;
    reader->begin = reader->at = reader->end = "";
    reader->line = reader->column = 1;
    reader->event = COEX_JSON_EVENT_MORE;
    json_scan_begin(&reader->scan);
    return handle;
}

bool cx_json_grow_bytes(coex_handle self, uint64_t field, uint64_t bytes)
{
    void *payload;
    coex_handle grown = coex_gc_alloc_at(bytes, cx_values.id[CX_TYPE_json_bytes], &payload);
    if (grown == 0) return cx_fail_false(COEX_STATUS_MEMORY);
    coex_handle old = coex_gc_load(self, field);
    uint64_t size = coex_gc_size(old);
    if (old != 0) memcpy(payload, coex_gc_handle_deref(old), size < bytes ? size : bytes);
    coex_gc_store(self, field, grown);
    return true;
}

bool cx_json_grow_refs(coex_handle self, uint64_t field, uint64_t count)
{
    coex_handle grown = coex_gc_alloc(count * 8, cx_values.id[CX_TYPE_json_refs]);
    if (grown == 0) return cx_fail_false(COEX_STATUS_MEMORY);
    coex_handle old = coex_gc_load(self, field);
    uint64_t bytes = coex_gc_size(old);
    for (uint64_t i = 0; i < bytes; i += 8) coex_gc_init_ref(grown, i, coex_gc_load(old, i));
    coex_gc_store(self, field, grown);
    return true;
}

bool cx_json_push_slow(coex_handle self, struct json_reader *reader)
{
    uint64_t room = reader->stack_room == 0 ? 64 : reader->stack_room * 2;
    if (!cx_json_grow_refs(self, JSON_REF(stack), room)) return false;
    reader->stack_room = room;
    return true;
}

void cx_json_clear(coex_handle self, struct json_reader *reader)
{
    uint64_t held = reader->top > reader->high ? reader->top : reader->high;
    reader->top = reader->high = 0;
    if (reader->stack_room > JSON_STACK_KEPT) {
        coex_gc_store(self, JSON_REF(stack), 0);
        reader->stack_room = 0;
        return;
    }
    for (uint64_t i = 0; i < held; i++) coex_gc_store(reader->stack, i * 8, 0);
}

/* Takes the words from `base` on off the stack. */
static void json_pop(struct json_reader *reader, uint64_t base)
{
    if (reader->top > reader->high) reader->high = reader->top;
    reader->top = base;
}

/* ---------------------------------------------------------------- scalars */

bool cx_json_number_value(const struct json_reader *reader, const struct cx_number *number, coex_handle *word)
{
    int64_t whole;
    uint64_t whole_unsigned;
    bool minus_zero = number->negative && number->digits == 0;
    if (!minus_zero && cx_number_to_int64(number, &whole)) {
        *word = coex_json_int(whole);
    } else if (!minus_zero && cx_number_to_uint64(number, &whole_unsigned)) {
        *word = coex_json_uint(whole_unsigned);
    } else if (number->integer && !minus_zero && (reader->flags & COEX_JSON_EXACT) != 0) {
        *word = cx_fail(COEX_STATUS_RANGE);
    } else {
        *word = coex_json_float(cx_number_to_double(number)); /* infinity is RANGE */
    }
    return *word != 0;
}

/* As cx_string_make, without a call if there is room at hand: what a text has most of. */
static inline coex_handle json_string_make(const char *at, uint64_t bytes, bool ascii)
{
    void *payload;
    if (bytes > JSON_SMALL_STRING) return cx_string_make(at, bytes, ascii);
    coex_handle handle = coex_gc_alloc_at(sizeof(struct cx_string) + bytes, cx_values.id[CX_TYPE_string], &payload);
    if (handle == 0) return cx_fail_memory();
    struct cx_string *string = payload;
    string->cache.v = ascii ? CX_STRING_ASCII : 0;
    memcpy(string->text, at, bytes);
    return handle;
}

bool cx_json_string_value(const struct json_reader *reader, const char *at, const char *end, coex_handle *word)
{
    uint64_t bytes = (uint64_t)(end - at);
    char *text;
    if (reader->scan.shorter == 0) {
        *word = json_string_make(at, bytes, reader->scan.ascii);
    } else {
        bytes -= reader->scan.shorter;
        *word = cx_string_alloc(bytes, reader->scan.ascii, &text);
        if (*word != 0) cx_json_unescape(text, bytes, at, end);
    }
    return *word != 0;
}

/* ------------------------------------------------------------------- keys */

static struct json_key *json_keys(const struct json_reader *reader) { return coex_gc_handle_deref(reader->keys); }
static uint16_t *json_key_slots(const struct json_reader *reader)
{
    return (uint16_t *)(void *)(json_keys(reader) + reader->key_room);
}
static struct json_node *json_nodes(const struct json_reader *reader) { return coex_gc_handle_deref(reader->nodes); }
static uint16_t *json_node_slots(const struct json_reader *reader)
{
    return (uint16_t *)(void *)(json_nodes(reader) + reader->node_room);
}

static void json_key_link(const struct json_reader *reader, uint32_t number)
{
    uint32_t mask = 2 * reader->key_room - 1, at = json_keys(reader)[number].hash & mask;
    while (json_key_slots(reader)[at] != 0) at = (at + 1) & mask;
    json_key_slots(reader)[at] = (uint16_t)(number + 1);
}

static bool json_keys_grow(coex_handle self, struct json_reader *reader)
{
    uint32_t room = reader->key_room == 0 ? 16 : reader->key_room * 4;
    if (!cx_json_grow_refs(self, JSON_REF(key_strings), room) ||
        !cx_json_grow_bytes(self, JSON_REF(keys), room * (sizeof(struct json_key) + 2 * sizeof(uint16_t))))
        return false;
    reader->key_room = room;
    memset(json_key_slots(reader), 0, room * 2 * sizeof(uint16_t));
    for (uint32_t i = 0; i < reader->key_count; i++) json_key_link(reader, i);
    return true;
}

/* The number of a key in the cache, or -1. */
static int32_t json_key_find(const struct json_reader *reader, const char *text, uint64_t bytes, uint32_t hash)
{
    if (reader->key_room == 0) return -1;
    const struct json_key *keys = json_keys(reader);
    const uint16_t *slots = json_key_slots(reader);
    uint32_t mask = 2 * reader->key_room - 1;
    for (uint32_t at = hash & mask; slots[at] != 0; at = (at + 1) & mask) {
        const struct json_key *key = &keys[slots[at] - 1];
        if (key->hash == hash && key->bytes == bytes && memcmp(key->text, text, bytes) == 0) return slots[at] - 1;
    }
    return -1;
}

static bool json_key_add(coex_handle self, struct json_reader *reader, const char *text, uint64_t bytes, uint32_t hash)
{
    if (reader->key_count == reader->key_room && !json_keys_grow(self, reader)) return false;
    coex_handle string = cx_string_make(text, bytes, reader->scan.ascii);
    if (string == 0) return false;
    uint32_t number = reader->key_count++;
    coex_gc_store(reader->key_strings, (uint64_t)number * 8, string);
    struct json_key *key = &json_keys(reader)[number];
    key->hash = hash;
    key->bytes = (unsigned char)bytes;
    memcpy(key->text, text, bytes);
    json_key_link(reader, number);
    return true;
}

/* ------------------------------------------------------------------ nodes */

static uint32_t json_node_slot(const struct json_reader *reader, uint32_t parent, uint32_t key)
{
    return (parent * UINT32_C(0x9e3779b1) + key * UINT32_C(0x85ebca6b)) >> 8 & (2 * reader->node_room - 1);
}

static void json_node_link(const struct json_reader *reader, uint32_t number)
{
    const struct json_node *node = &json_nodes(reader)[number];
    uint32_t mask = 2 * reader->node_room - 1, at = json_node_slot(reader, node->parent, node->key);
    while (json_node_slots(reader)[at] != 0) at = (at + 1) & mask;
    json_node_slots(reader)[at] = (uint16_t)number;
}

static bool json_nodes_grow(coex_handle self, struct json_reader *reader)
{
    uint32_t room = reader->node_room == 0 ? 16 : reader->node_room * 4;
    if (!cx_json_grow_refs(self, JSON_REF(shapes), room) ||
        !cx_json_grow_bytes(self, JSON_REF(nodes), room * (sizeof(struct json_node) + 2 * sizeof(uint16_t))))
        return false;
    reader->node_room = room;
    memset(json_node_slots(reader), 0, room * 2 * sizeof(uint16_t));
    if (reader->node_count == 0) reader->node_count = 1; /* the first one is that of no keys */
    for (uint32_t i = 1; i < reader->node_count; i++) json_node_link(reader, i);
    return true;
}

static uint32_t json_node_find(const struct json_reader *reader, uint32_t parent, uint32_t key)
{
    uint32_t mask = 2 * reader->node_room - 1;
    const struct json_node *nodes = json_nodes(reader);
    const uint16_t *slots = json_node_slots(reader);
    for (uint32_t at = json_node_slot(reader, parent, key); slots[at] != 0; at = (at + 1) & mask) {
        if (nodes[slots[at]].parent == parent && nodes[slots[at]].key == key) return slots[at];
    }
    return 0;
}

/* From a node on by a key: *node is the next one, or JSON_NO_NODE if there is no room for it. */
static bool json_node_step(coex_handle self, struct json_reader *reader, uint32_t *node, uint32_t key)
{
    if (reader->node_room == 0 && !json_nodes_grow(self, reader)) return false;
    uint32_t next = json_node_find(reader, *node, key);
    uint32_t length = json_nodes(reader)[*node].length + 1u;
    if (next == 0 && (reader->node_count == JSON_NODES_MAX || length > JSON_FLAT_MAX)) {
        *node = JSON_NO_NODE;
        return true;
    }
    if (next == 0) {
        if (reader->node_count == reader->node_room && !json_nodes_grow(self, reader)) return false;
        next = reader->node_count++;
        json_nodes(reader)[next] = (struct json_node){.key = (uint16_t)key, .parent = (uint16_t)*node, .length = (uint8_t)length};
        json_node_link(reader, next);
    }
    json_nodes(reader)[*node].child = (uint16_t)next;
    *node = next;
    return true;
}

bool cx_json_key_value(coex_handle self, struct json_reader *reader, const char *at, const char *end, uint32_t *node,
                       coex_handle *word)
{
    uint64_t bytes = (uint64_t)(end - at);
    uint32_t hash = 0;
    int32_t number = -1;
    if (bytes <= JSON_KEY_BYTES && reader->scan.shorter == 0) {
        hash = (uint32_t)json_hash_text(at, bytes);
        number = json_key_find(reader, at, bytes, hash);
        if (number < 0 && reader->key_count < JSON_KEYS_MAX) {
            if (!json_key_add(self, reader, at, bytes, hash)) return false;
            number = (int32_t)reader->key_count - 1;
        }
    }
    if (number < 0) {
        *node = JSON_NO_NODE;
        return cx_json_string_value(reader, at, end, word);
    }
    *word = coex_gc_load(reader->key_strings, (uint64_t)number * 8);
    return *node == JSON_NO_NODE || json_node_step(self, reader, node, (uint32_t)number);
}

/* ------------------------------------------------------------- containers */

bool cx_json_array_value(coex_handle self, struct json_reader *reader, uint64_t base, coex_handle *word)
{
    uint64_t count = reader->top - base;
    coex_handle few[128], *words = few;
    if (count == 0 && reader->empty_array == 0) {
        coex_handle empty = coex_list_empty(true);
        if (empty == 0) return false;
        coex_gc_store(self, JSON_REF(empty_array), empty);
    }
    if (count == 0) {
        *word = reader->empty_array;
        return true;
    }
    const coex_handle *stack = (const coex_handle *)coex_gc_handle_deref(reader->stack) + base;
    if (count > sizeof few / sizeof few[0]) words = cx_os_allocate(count * 8);
    if (words == NULL) return cx_fail_false(COEX_STATUS_MEMORY);
    memcpy(words, stack, count * 8);
    *word = coex_list_from_words(words, count, true); /* the stack keeps them all alive */
    if (words != few) cx_os_free(words);
    if (*word != 0) json_pop(reader, base);
    return *word != 0;
}

/* The shape of a node that has none yet, or 0: its keys repeat, or (false) memory is exhausted. */
static bool json_node_shape(struct json_reader *reader, uint32_t node, const coex_handle *pairs, uint64_t count, coex_handle *shape)
{
    *shape = 0;
    for (uint32_t up = node; up != 0; up = json_nodes(reader)[up].parent) {
        for (uint32_t other = json_nodes(reader)[up].parent; other != 0; other = json_nodes(reader)[other].parent) {
            if (json_nodes(reader)[up].key == json_nodes(reader)[other].key) json_nodes(reader)[node].repeats = 1;
        }
    }
    if (json_nodes(reader)[node].repeats) return true;
    coex_handle keys[JSON_FLAT_MAX];
    for (uint64_t i = 0; i < count; i++) keys[i] = pairs[2 * i];
    *shape = cx_json_shape_make(keys, count);
    if (*shape == 0) return false;
    coex_gc_store(reader->shapes, (uint64_t)node * 8, *shape);
    return true;
}

/* With the shape that the keys lead to. *word is 0 if there is none. */
static bool json_object_shaped(struct json_reader *reader, uint32_t node, const coex_handle *pairs, uint64_t count,
                               coex_handle *word)
{
    void *payload;
    coex_handle shape = coex_gc_load(reader->shapes, (uint64_t)node * 8);
    *word = 0;
    if (shape == 0 && json_nodes(reader)[node].repeats) return true;
    if (shape == 0 && !json_node_shape(reader, node, pairs, count, &shape)) return false;
    if (shape == 0) return true;
    *word = coex_gc_alloc_at(8 + count * 8, cx_values.id[CX_TYPE_json_object], &payload);
    if (*word == 0) return cx_fail_false(COEX_STATUS_MEMORY);
    struct json_object *object = payload;
    object->shape = shape;
    for (uint64_t i = 0; i < count; i++) object->values[i] = pairs[2 * i + 1];
    return true;
}

/* Without: every key is looked at. */
static bool json_object_any(struct json_reader *reader, const coex_handle *stack, uint64_t count, coex_handle *word)
{
    coex_handle few[128], *pairs = few;
    if (2 * count > sizeof few / sizeof few[0]) pairs = cx_os_allocate(count * 16);
    if (pairs == NULL) return cx_fail_false(COEX_STATUS_MEMORY);
    memcpy(pairs, stack, count * 16);
    *word = cx_json_object_of_pairs(pairs, count, (reader->flags & COEX_JSON_UNIQUE) != 0);
    if (pairs != few) cx_os_free(pairs);
    return *word != 0;
}

bool cx_json_object_value(coex_handle self, struct json_reader *reader, const struct json_level *level, coex_handle *word)
{
    uint64_t count = (reader->top - level->base) / 2;
    if (count == 0 && reader->empty_object == 0) {
        coex_handle empty = coex_json_object();
        if (empty == 0) return false;
        coex_gc_store(self, JSON_REF(empty_object), empty);
    }
    *word = reader->empty_object;
    if (count == 0) return true;
    *word = 0;
    /* The stack never moves, and stays where it is until something is pushed. */
    const coex_handle *stack = (const coex_handle *)coex_gc_handle_deref(reader->stack) + level->base;
    if (level->node != JSON_NO_NODE && count <= JSON_FLAT_MAX && !json_object_shaped(reader, level->node, stack, count, word))
        return false;
    if (*word == 0 && !json_object_any(reader, stack, count, word)) return false;
    json_pop(reader, level->base);
    return true;
}
