/* The grammar of RFC 8259 as a loop over states: see json_reader.h.
 *
 *     AT_TOP         value -> AT_TOP (has_value)
 *     AT_FIRST_VALUE value -> AT_COMMA, ] -> closes
 *     AT_VALUE       value -> AT_COMMA
 *     AT_FIRST_KEY   key -> AT_COLON, } -> closes
 *     AT_KEY         key -> AT_COLON
 *     AT_COLON       : -> AT_VALUE
 *     AT_COMMA       , -> AT_VALUE or AT_KEY, ] } -> closes
 * An opening bracket is a value that goes to AT_FIRST_… of its own level instead; closing goes back to AT_COMMA or AT_TOP of the
 * level outside.
 *
 * One text serves all three modes: it is compiled once for each, with the mode a constant. Nesting is in the levels, not on the
 * C stack. */
#include "values/json/json_reader.h"

#include <stdio.h>

#define JSON_INLINE static inline __attribute__((always_inline))

/* ----------------------------------------------------------------- errors */

void cx_json_advance(struct json_reader *reader, const char *text, uint64_t count)
{
    const char *end = text + count, *line;
    reader->offset += count;
    while ((line = memchr(text, '\n', (size_t)(end - text))) != NULL) {
        reader->line++;
        reader->column = 1;
        text = line + 1;
    }
    reader->column += cx_utf8_count(text, (uint64_t)(end - text));
}

/* What is there, in words. */
static void json_describe(const struct json_reader *reader, const char *at, char *text, size_t size)
{
    if (at == reader->end) {
        snprintf(text, size, "the end of the text");
    } else if (*at >= ' ' && *at < 0x7f) {
        snprintf(text, size, "'%c'", *at);
    } else {
        snprintf(text, size, "byte 0x%02x", (unsigned)(unsigned char)*at);
    }
}

coex_json_event cx_json_error(struct json_reader *reader, const char *at, coex_status status, const char *expected,
                              const char *message)
{
    char found[32];
    coex_json_error *error = &reader->error;
    if (reader->event == COEX_JSON_EVENT_ERROR) return COEX_JSON_EVENT_ERROR;
    json_describe(reader, at, found, sizeof found);
    cx_json_advance(reader, reader->begin, (uint64_t)(at - reader->begin));
    reader->begin = reader->at = at;
    *error = (coex_json_error){.status = status, .offset = reader->offset, .line = reader->line, .column = reader->column};
    if (expected != NULL)
        snprintf(error->message, sizeof error->message, "expected %s, found %s", expected, found);
    else
        snprintf(error->message, sizeof error->message, "%s", message);
    reader->event = COEX_JSON_EVENT_ERROR;
    reader->taking = reader->skipping = false;
    cx_fail(status);
    return COEX_JSON_EVENT_ERROR;
}

static const char *json_expected(const struct json_reader *reader)
{
    static const char *const text[] = {
        [JSON_AT_TOP] = "a value",
        [JSON_AT_VALUE] = "a value",
        [JSON_AT_FIRST_VALUE] = "a value or ']'",
        [JSON_AT_FIRST_KEY] = "a key in quotes or '}'",
        [JSON_AT_KEY] = "a key in quotes",
        [JSON_AT_COLON] = "':'",
    };
    if (reader->state == JSON_AT_TOP && reader->has_value && (reader->flags & COEX_JSON_MANY) == 0) return "the end of the text";
    if (reader->state != JSON_AT_COMMA) return text[reader->state];
    const struct json_level *levels = coex_gc_handle_deref(reader->levels);
    return levels[reader->depth - 1].is_object ? "',' or '}'" : "',' or ']'";
}

static coex_json_event json_unexpected(struct json_reader *reader, const char *at)
{
    return cx_json_error(reader, at, COEX_STATUS_TEXT, json_expected(reader), NULL);
}

/* After something that allocates has said no. */
static coex_json_event json_refused(struct json_reader *reader, const char *at)
{
    coex_status status = coex_last_status();
    const char *message = "out of memory";
    if (status == COEX_STATUS_RANGE) message = "the number does not fit";
    if (status == COEX_STATUS_TEXT) message = "duplicate key";
    if (status == COEX_STATUS_SIZE) message = "nested too deeply";
    return cx_json_error(reader, at, status, NULL, message);
}

/* ----------------------------------------------------------------- values */

JSON_INLINE struct json_level *json_top_level(struct json_reader *reader)
{
    return (struct json_level *)coex_gc_handle_deref(reader->levels) + (reader->depth - 1);
}

JSON_INLINE bool json_push(coex_handle self, struct json_reader *reader, coex_handle word)
{
    if (__builtin_expect(reader->top == reader->stack_room, 0)) {
        /* Growing is a safepoint: the word waits in the machine. */
        coex_gc_store(self, JSON_REF(value), word);
        if (!cx_json_push_slow(self, reader)) return false;
    }
    coex_gc_store(reader->stack, reader->top++ * 8, word);
    return true;
}

/* A value is complete. True: go on; false: the result is in *event. */
JSON_INLINE bool json_emit(coex_handle self, struct json_reader *reader, enum json_mode mode, coex_handle word,
                           coex_json_event *event)
{
    reader->state = JSON_AT_COMMA;
    if (reader->depth == 0) {
        reader->state = JSON_AT_TOP;
        reader->has_value = true;
    }
    if (mode == JSON_MAKE_EVENTS && reader->depth != 0) json_top_level(reader)->base++;
    if (mode == JSON_MAKE_NOTHING) return true; /* only whole containers are passed over: their end stops */
    if (mode == JSON_MAKE_VALUES && reader->depth != reader->take_depth) {
        if (json_push(self, reader, word)) return true;
        *event = json_refused(reader, reader->at);
        return false;
    }
    coex_gc_store(self, JSON_REF(value), word);
    *event = COEX_JSON_EVENT_VALUE;
    return false;
}

static bool json_open_slow(coex_handle self, struct json_reader *reader)
{
    if (reader->depth == reader->max_depth) return cx_fail_false(COEX_STATUS_SIZE);
    uint64_t room = reader->level_room == 0 ? 16 : reader->level_room * 2;
    if (!cx_json_grow_bytes(self, JSON_REF(levels), room * sizeof(struct json_level))) return false;
    reader->level_room = room;
    return true;
}

JSON_INLINE bool json_open(coex_handle self, struct json_reader *reader, enum json_mode mode, bool is_object)
{
    if (__builtin_expect(reader->depth >= reader->level_room || reader->depth == reader->max_depth, 0) &&
        !json_open_slow(self, reader))
        return false;
    reader->depth++;
    struct json_level *level = json_top_level(reader);
    level->base = mode == JSON_MAKE_VALUES ? reader->top : 0;
    level->node = 0;
    level->is_object = is_object;
    reader->state = is_object ? JSON_AT_FIRST_KEY : JSON_AT_FIRST_VALUE;
    return true;
}

/* Forgets the key of the current level. */
static void json_unname(struct json_reader *reader)
{
    if (reader->depth <= coex_gc_size(reader->names) / 8) coex_gc_store(reader->names, (reader->depth - 1) * 8, 0);
}

/* A closing bracket: as json_emit. */
JSON_INLINE bool json_close(coex_handle self, struct json_reader *reader, enum json_mode mode, coex_json_event *event)
{
    struct json_level level = *json_top_level(reader);
    coex_handle word = 0;
    bool done = mode != JSON_MAKE_VALUES || (level.is_object ? cx_json_object_value(self, reader, &level, &word)
                                                             : cx_json_array_value(self, reader, level.base, &word));
    if (!done) {
        *event = json_refused(reader, reader->at);
        return false;
    }
    if (mode == JSON_MAKE_EVENTS && level.is_object) json_unname(reader);
    reader->at++;
    reader->depth--;
    if (mode == JSON_MAKE_VALUES) return json_emit(self, reader, mode, word, event);
    json_emit(self, reader, JSON_MAKE_NOTHING, 0, event);
    *event = level.is_object ? COEX_JSON_EVENT_END_OBJECT : COEX_JSON_EVENT_END_ARRAY;
    return mode == JSON_MAKE_NOTHING && reader->depth != reader->take_depth;
}

/* ----------------------------------------------------------------- tokens */

/* What a token that is not FOUND means. The window begins with it. */
static coex_json_event json_not_found(struct json_reader *reader, enum json_found found, const char *token, const char *at)
{
    if (found == JSON_WRONG) return cx_json_error(reader, at, COEX_STATUS_TEXT, reader->scan.expected, NULL);
    reader->at = token;
    return COEX_JSON_EVENT_MORE;
}

/* Each of these reads the value at reader->at: as json_emit. */
JSON_INLINE bool json_string(coex_handle self, struct json_reader *reader, enum json_mode mode, coex_json_event *event)
{
    const char *from = reader->at + 1, *at = from;
    coex_handle word = 0;
    enum json_found found = json_scan_string(&reader->scan, &at, reader->end, reader->last, reader->flags);
    if (found != JSON_FOUND) {
        *event = json_not_found(reader, found, reader->at, at);
        return false;
    }
    if (mode != JSON_MAKE_NOTHING && !cx_json_string_value(reader, from, at, &word)) {
        *event = json_refused(reader, reader->at);
        return false;
    }
    reader->at = at + 1;
    json_scan_begin(&reader->scan);
    return json_emit(self, reader, mode, word, event);
}

JSON_INLINE bool json_number(coex_handle self, struct json_reader *reader, enum json_mode mode, coex_json_event *event)
{
    struct cx_number number;
    const char *at = reader->at;
    coex_handle word = 0;
    enum json_found found = json_scan_number(&reader->scan, &at, reader->end, reader->last, &number);
    if (found != JSON_FOUND) {
        *event = json_not_found(reader, found, reader->at, at);
        return false;
    }
    if (number.integer && number.exponent == 0 && number.digits < (uint64_t)JSON_INT_LIMIT &&
        (number.digits != 0 || !number.negative)) {
        word = json_word_of_int(number.negative ? -(int64_t)number.digits : (int64_t)number.digits);
    } else if (!cx_json_number_value(reader, &number, &word)) {
        *event = json_refused(reader, reader->at);
        return false;
    }
    reader->at = at;
    reader->scan.done = 0;
    return json_emit(self, reader, mode, word, event);
}

static bool json_literal(coex_handle self, struct json_reader *reader, enum json_mode mode, coex_json_event *event)
{
    static const struct {
        const char *text;
        uint64_t bytes;
        coex_handle word;
    } literals[] = {{"null", 4, JSON_WORD_NULL}, {"true", 4, JSON_WORD_TRUE}, {"false", 5, JSON_WORD_FALSE}};
    const char *at = reader->at;
    int which = *at == 'n' ? 0 : *at == 't' ? 1 : 2;
    enum json_found found =
        json_scan_literal(&reader->scan, &at, reader->end, reader->last, literals[which].text, literals[which].bytes);
    if (found != JSON_FOUND) {
        *event = json_not_found(reader, found, reader->at, at);
        return false;
    }
    reader->at = at;
    return json_emit(self, reader, mode, literals[which].word, event);
}

JSON_INLINE bool json_container(coex_handle self, struct json_reader *reader, enum json_mode mode, bool is_object,
                                coex_json_event *event)
{
    if (mode == JSON_MAKE_EVENTS && reader->depth != 0) json_top_level(reader)->base++;
    if (!json_open(self, reader, mode, is_object)) {
        *event = json_refused(reader, reader->at);
        return false;
    }
    reader->at++;
    *event = is_object ? COEX_JSON_EVENT_OBJECT : COEX_JSON_EVENT_ARRAY;
    return mode != JSON_MAKE_EVENTS;
}

JSON_INLINE bool json_value(coex_handle self, struct json_reader *reader, enum json_mode mode, coex_json_event *event)
{
    switch (*reader->at) {
    case '"':
        return json_string(self, reader, mode, event);
    case '[':
        return json_container(self, reader, mode, false, event);
    case '{':
        return json_container(self, reader, mode, true, event);
    case 'n':
    case 't':
    case 'f':
        return json_literal(self, reader, mode, event);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return json_number(self, reader, mode, event);
    default:
        *event = json_unexpected(reader, reader->at);
        return false;
    }
}

/* ------------------------------------------------------------------- keys */

JSON_INLINE bool json_same_bytes(const char *a, const char *b, uint64_t bytes)
{
    uint64_t x, y, v, w;
    if (bytes >= 8) {
        for (uint64_t i = 0; i + 8 < bytes; i += 8) {
            memcpy(&x, a + i, 8);
            memcpy(&y, b + i, 8);
            if (x != y) return false;
        }
        memcpy(&v, a + bytes - 8, 8);
        memcpy(&w, b + bytes - 8, 8);
        return v == w;
    }
    for (uint64_t i = 0; i < bytes; i++) {
        if (a[i] != b[i]) return false;
    }
    return true;
}

/* Is the key that came here last time there again? Its string, or 0. */
JSON_INLINE coex_handle json_guess_key(struct json_reader *reader, struct json_level *level)
{
    if (level->node == JSON_NO_NODE || reader->node_count == 0) return 0;
    const struct json_node *nodes = coex_gc_handle_deref(reader->nodes);
    uint16_t child = nodes[level->node].child;
    if (child == 0) return 0;
    const struct json_key *key = (const struct json_key *)coex_gc_handle_deref(reader->keys) + nodes[child].key;
    const char *from = reader->at + 1;
    if ((uint64_t)(reader->end - from) <= key->bytes || from[key->bytes] != '"' || !json_same_bytes(from, key->text, key->bytes))
        return 0;
    level->node = child;
    reader->at = from + key->bytes + 1;
    return coex_gc_load(reader->key_strings, (uint64_t)nodes[child].key * 8);
}

/* A key at reader->at that was not guessed. True: *word is its string, if one is made. */
static bool json_read_key(coex_handle self, struct json_reader *reader, enum json_mode mode, coex_handle *word,
                          coex_json_event *event)
{
    const char *from = reader->at + 1, *at = from;
    enum json_found found = json_scan_string(&reader->scan, &at, reader->end, reader->last, reader->flags);
    if (found != JSON_FOUND) {
        *event = json_not_found(reader, found, reader->at, at);
        return false;
    }
    uint32_t none = JSON_NO_NODE, *node = mode == JSON_MAKE_VALUES ? &json_top_level(reader)->node : &none;
    if (mode != JSON_MAKE_NOTHING && !cx_json_key_value(self, reader, from, at, node, word)) {
        *event = json_refused(reader, reader->at);
        return false;
    }
    reader->at = at + 1;
    json_scan_begin(&reader->scan);
    return true;
}

/* Notes the key of the current level, for the path. */
static bool json_name(coex_handle self, struct json_reader *reader, coex_handle word)
{
    coex_gc_store(self, JSON_REF(value), word);
    uint64_t room = coex_gc_size(reader->names) / 8;
    if (reader->depth > room && !cx_json_grow_refs(self, JSON_REF(names), reader->depth * 2)) return false;
    coex_gc_store(reader->names, (reader->depth - 1) * 8, word);
    return true;
}

JSON_INLINE bool json_key(coex_handle self, struct json_reader *reader, enum json_mode mode, coex_json_event *event)
{
    coex_handle word = 0;
    if (mode == JSON_MAKE_VALUES && reader->scan.done == 0) word = json_guess_key(reader, json_top_level(reader));
    if (word == 0 && !json_read_key(self, reader, mode, &word, event)) return false;
    reader->state = JSON_AT_COLON;
    if (mode == JSON_MAKE_NOTHING) return true;
    *event = COEX_JSON_EVENT_KEY;
    bool done = mode == JSON_MAKE_VALUES ? json_push(self, reader, word) : json_name(self, reader, word);
    if (!done) *event = json_refused(reader, reader->at);
    return done && mode == JSON_MAKE_VALUES;
}

/* --------------------------------------------------------------- the loop */

/* The window is at its end, between tokens. */
static coex_json_event json_out(struct json_reader *reader)
{
    if (!reader->last) return COEX_JSON_EVENT_MORE;
    if (reader->state == JSON_AT_TOP && (reader->has_value || (reader->flags & COEX_JSON_MANY) != 0)) return COEX_JSON_EVENT_END;
    return json_unexpected(reader, reader->end);
}

JSON_INLINE bool json_comma(coex_handle self, struct json_reader *reader, enum json_mode mode, coex_json_event *event)
{
    const struct json_level *level = json_top_level(reader);
    char c = *reader->at;
    if (c == ',') {
        reader->at++;
        reader->state = level->is_object ? JSON_AT_KEY : JSON_AT_VALUE;
        coex_gc_safepoint(); /* numbers allocate nothing */
        return true;
    }
    if (c == (level->is_object ? '}' : ']')) return json_close(self, reader, mode, event);
    *event = json_unexpected(reader, reader->at);
    return false;
}

/* The token at reader->at: as json_emit. */
JSON_INLINE bool json_token(coex_handle self, struct json_reader *reader, enum json_mode mode, coex_json_event *event)
{
    char c = *reader->at;
    switch (reader->state) {
    case JSON_AT_COMMA:
        return json_comma(self, reader, mode, event);
    case JSON_AT_FIRST_KEY:
        if (c == '}') return json_close(self, reader, mode, event);
        __attribute__((fallthrough));
    case JSON_AT_KEY:
        if (c == '"') return json_key(self, reader, mode, event);
        break;
    case JSON_AT_COLON:
        if (c != ':') break;
        reader->at++;
        reader->state = JSON_AT_VALUE;
        return true;
    case JSON_AT_FIRST_VALUE:
        if (c == ']') return json_close(self, reader, mode, event);
        return json_value(self, reader, mode, event);
    case JSON_AT_TOP:
        if (reader->has_value && (reader->flags & COEX_JSON_MANY) == 0) break;
        __attribute__((fallthrough));
    default:
        return json_value(self, reader, mode, event);
    }
    *event = json_unexpected(reader, reader->at);
    return false;
}

JSON_INLINE coex_json_event json_loop(coex_handle self, struct json_reader *reader, enum json_mode mode)
{
    coex_json_event event = COEX_JSON_EVENT_MORE;
    do {
        reader->at = json_skip_space(reader->at, reader->end);
        if (reader->at == reader->end) return json_out(reader);
    } while (json_token(self, reader, mode, &event));
    return event;
}

coex_json_event cx_json_run(coex_handle self, struct json_reader *reader, enum json_mode mode)
{
    switch (mode) {
    case JSON_MAKE_VALUES:
        return json_loop(self, reader, JSON_MAKE_VALUES);
    case JSON_MAKE_EVENTS:
        return json_loop(self, reader, JSON_MAKE_EVENTS);
    case JSON_MAKE_NOTHING:
        break;
    }
    return json_loop(self, reader, JSON_MAKE_NOTHING);
}
