/*
 * Json: the first byte of the input is the flags of the reader, the second says in what pieces the text is fed, the rest is text.
 *
 * A recogniser that is written as the grammar of RFC 8259 is says whether it is JSON. Then: the same text in pieces gives the same
 * value, or the same error at the same place; what is written is read as an equal value, and is written the same again; entries
 * that are taken out and put back give an equal value.
 */
#include "support/fuzz.h"

#include <coex/values.h>
#include <coex/values/json.h>

enum { WHOLE, FED, AGAIN, CHANGED, READER, TEXT, SLOTS };

static coex_handle *slots;

/* ---- the grammar -------------------------------------------------------------------------------------------------- */

struct grammar {
    const char *at, *end;
    unsigned depth;
    bool replace; /* half surrogate pairs are allowed */
};

static int peek(const struct grammar *g) { return g->at < g->end ? (unsigned char)*g->at : -1; }

static bool accept(struct grammar *g, char c)
{
    if (peek(g) != (unsigned char)c) return false;
    g->at++;
    return true;
}

static void space(struct grammar *g)
{
    while (accept(g, ' ') || accept(g, '\t') || accept(g, '\n') || accept(g, '\r')) {
    }
}

static bool digits(struct grammar *g)
{
    const char *from = g->at;
    while (peek(g) >= '0' && peek(g) <= '9') g->at++;
    return g->at > from;
}

static bool number(struct grammar *g)
{
    accept(g, '-');
    if (!accept(g, '0') && !digits(g)) return false;
    if (accept(g, '.') && !digits(g)) return false;
    if (accept(g, 'e') || accept(g, 'E')) {
        if (!accept(g, '-')) accept(g, '+');
        return digits(g);
    }
    return true;
}

static bool hex(struct grammar *g, unsigned *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        int c = peek(g);
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) return false;
        *unit = *unit * 16 + (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
        g->at++;
    }
    return true;
}

static bool escape(struct grammar *g)
{
    unsigned unit, low;
    int c = peek(g);
    if (c < 0 || strchr("\"\\/bfnrtu", c) == NULL || c == 0) return false;
    g->at++;
    if (c != 'u') return true;
    if (!hex(g, &unit)) return false;
    if (unit < 0xd800 || unit > 0xdfff) return true;
    const char *behind = g->at;
    if (unit < 0xdc00 && accept(g, '\\') && accept(g, 'u') && hex(g, &low) && low >= 0xdc00 && low <= 0xdfff) return true;
    g->at = behind;
    return g->replace;
}

static bool string(struct grammar *g)
{
    if (!accept(g, '"')) return false;
    for (;;) {
        int c = peek(g);
        if (c < 0x20) return false; /* the end too */
        g->at++;
        if (c == '"') return true;
        if (c == '\\' && !escape(g)) return false;
    }
}

static bool value(struct grammar *g);

static bool members(struct grammar *g, bool is_object)
{
    char close = is_object ? '}' : ']';
    bool good = true;
    if (++g->depth > COEX_JSON_DEFAULT_DEPTH) return false;
    space(g);
    if (!accept(g, close)) {
        do {
            space(g);
            if (is_object) {
                good = string(g);
                space(g);
                good = good && accept(g, ':');
            }
            good = good && value(g);
            space(g);
        } while (good && accept(g, ','));
        good = good && accept(g, close);
    }
    g->depth--;
    return good;
}

static bool word(struct grammar *g, const char *text)
{
    while (*text != 0 && accept(g, *text)) text++;
    return *text == 0;
}

static bool value(struct grammar *g)
{
    space(g);
    switch (peek(g)) {
    case '{':
        return accept(g, '{') && members(g, true);
    case '[':
        return accept(g, '[') && members(g, false);
    case '"':
        return string(g);
    case 'n':
        return word(g, "null");
    case 't':
        return word(g, "true");
    case 'f':
        return word(g, "false");
    default:
        return number(g);
    }
}

static bool is_json(const char *text, uint64_t bytes, uint32_t flags)
{
    struct grammar g = {text, text + bytes, 0, (flags & COEX_JSON_REPLACE) != 0};
    bool good = value(&g);
    space(&g);
    return good && g.at == g.end;
}

/* ---- pieces --------------------------------------------------------------------------------------------------------- */

/* The size of the next piece: all the same, or different ones. */
static uint64_t piece_of(unsigned how, uint64_t left, unsigned *state)
{
    uint64_t size = how % 16;
    *state = *state * 1103515245 + 12345;
    if (size == 0) size = 1 + (*state >> 16) % (how + 1);
    return size < left ? size : left;
}

static coex_handle feed(const char *text, uint64_t bytes, unsigned how, const coex_json_options *options, coex_json_error *error)
{
    unsigned state = how;
    uint64_t at = 0;
    coex_handle taken = 0;
    coex_json_event event;
    slots[READER] = coex_json_reader_new(options);
    slots[FED] = 0;
    for (;;) {
        event = coex_json_reader_event(slots[READER]);
        if (slots[FED] == 0 &&
            (event == COEX_JSON_EVENT_ARRAY || event == COEX_JSON_EVENT_OBJECT || event == COEX_JSON_EVENT_VALUE)) {
            event = coex_json_reader_take(slots[READER], &taken);
            if (event == COEX_JSON_EVENT_VALUE) slots[FED] = taken;
        } else {
            event = coex_json_reader_next(slots[READER]);
        }
        if (event == COEX_JSON_EVENT_ERROR || event == COEX_JSON_EVENT_END) break;
        if (event != COEX_JSON_EVENT_MORE) continue;
        uint64_t count = piece_of(how, bytes - at, &state);
        if (count == 0)
            fuzz_expect(coex_json_reader_finish(slots[READER]));
        else
            fuzz_expect(coex_json_reader_feed(slots[READER], text + at, count));
        at += count;
    }
    coex_json_reader_error(slots[READER], error);
    return event == COEX_JSON_EVENT_END ? slots[FED] : 0;
}

/* All events, with a path for each: what is refused as a whole is refused so too, unless it is because of what it would become. */
static bool events_end(const char *text, uint64_t bytes, const coex_json_options *options)
{
    slots[READER] = coex_json_reader_new(options);
    fuzz_expect(coex_json_reader_feed(slots[READER], text, bytes) && coex_json_reader_finish(slots[READER]));
    for (;;) {
        coex_json_event event = coex_json_reader_next(slots[READER]);
        if (event <= COEX_JSON_EVENT_END) return event == COEX_JSON_EVENT_END;
        fuzz_expect(coex_json_reader_path(slots[READER]) != 0);
    }
}

/* ---- the value -------------------------------------------------------------------------------------------------------- */

static void check_text(int indent)
{
    coex_json_options deep = {.max_depth = 100000};
    slots[TEXT] = coex_json_stringify(slots[WHOLE], indent);
    fuzz_expect(slots[TEXT] != 0);
    slots[AGAIN] = coex_json_parse_string(slots[TEXT], &deep, NULL);
    fuzz_expect(slots[AGAIN] != 0);
    fuzz_expect(coex_json_equal(slots[WHOLE], slots[AGAIN]) && coex_json_hash(slots[WHOLE]) == coex_json_hash(slots[AGAIN]));
    slots[AGAIN] = coex_json_stringify(slots[AGAIN], indent);
    fuzz_expect(coex_string_equal(slots[TEXT], slots[AGAIN]));
}

static void check_entries(void)
{
    coex_handle key, entry;
    uint64_t count = 0;
    if (coex_json_kind_of(slots[WHOLE]) != COEX_JSON_OBJECT) return;
    slots[AGAIN] = slots[WHOLE];
    for (uint64_t cursor = 0; coex_json_next(slots[WHOLE], &cursor, &key, &entry); count++) {
        fuzz_expect(coex_json_get(slots[WHOLE], key) == entry);
        slots[CHANGED] = coex_json_remove(slots[AGAIN], key);
        fuzz_expect(coex_json_len(slots[CHANGED]) == coex_json_len(slots[WHOLE]) - 1 && !coex_json_has(slots[CHANGED], key));
        slots[AGAIN] = coex_json_set(slots[CHANGED], key, entry);
        fuzz_expect(coex_json_get(slots[AGAIN], key) == entry);
    }
    fuzz_expect(count == coex_json_len(slots[WHOLE]));
    fuzz_expect(coex_json_equal(slots[AGAIN], slots[WHOLE])); /* in the old order again, too */
}

static void check(const char *text, uint64_t bytes, const coex_json_options *options, unsigned how)
{
    coex_json_error error, fed_error;
    slots[WHOLE] = coex_json_parse_with(text, bytes, options, &error);
    bool other = error.status == COEX_STATUS_RANGE ||
                 (error.status == COEX_STATUS_TEXT && strcmp(error.message, "duplicate key") == 0);
    /* The grammar knows nothing of UTF-8. */
    bool utf8 = coex_utf8_check(text, bytes, NULL);
    if (!other) fuzz_expect((slots[WHOLE] != 0) == (utf8 && is_json(text, bytes, options->flags)));
    coex_handle fed = feed(text, bytes, how, options, &fed_error);
    fuzz_expect((fed != 0) == (slots[WHOLE] != 0));
    fuzz_expect(error.status == fed_error.status && error.offset == fed_error.offset && error.line == fed_error.line);
    fuzz_expect(error.column == fed_error.column && strcmp(error.message, fed_error.message) == 0);
    if (!other) fuzz_expect(events_end(text, bytes, options) == (slots[WHOLE] != 0));
    if (slots[WHOLE] == 0) return;
    fuzz_expect(coex_json_equal(slots[WHOLE], slots[FED]));
    check_text((int)(how % 4) - 1);
    check_entries();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, data + size};
    fuzz_runtime();
    coex_json_options options = {.flags = fuzz_byte(&input) & (COEX_JSON_EXACT | COEX_JSON_REPLACE | COEX_JSON_UNIQUE)};
    unsigned how = fuzz_byte(&input);
    uint64_t bytes;
    const uint8_t *rest = fuzz_bytes(&input, size, &bytes);
    char *text = malloc(bytes + (bytes == 0)); /* of its own, so that reading past the end is seen */
    fuzz_expect(text != NULL);
    if (bytes != 0) memcpy(text, rest, bytes);
    slots = coex_gc_enter_frame(SLOTS);
    check(text, bytes, &options, how);
    coex_gc_leave_frame(slots);
    free(text);
    coex_clear_status();
    return 0;
}
