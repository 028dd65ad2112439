/*
 * Strings against plain C: the input is a program of operations on eight
 * strings, each of which also exists as bytes in C memory.
 */
#include "support/fuzz.h"

#include <coex/values.h>
#include <inttypes.h>
#include <math.h>

enum { STRINGS = 8, SCRATCH = STRINGS, SLOTS = STRINGS + 4, MAX_LENGTH = 20000, MAX_OPERATIONS = 400 };

struct model {
    char *text;
    uint64_t length;
};

static struct model models[STRINGS];
static coex_handle *slots;

/* ---- the model
 * ---------------------------------------------------------------------------------------------------
 */

static bool continues(char byte) { return ((unsigned char)byte & 0xc0) == 0x80; }
static bool is_boundary(const struct model *m, uint64_t at) { return at == m->length || !continues(m->text[at]); }
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* By the definition: code point, then bounds. Where the first bad sequence
 * begins. */
static uint64_t model_good(const uint8_t *b, uint64_t count)
{
    uint64_t at = 0;
    while (at < count) {
        unsigned more = b[at] < 0x80 ? 0 : b[at] >> 5 == 6 ? 1 : b[at] >> 4 == 14 ? 2 : b[at] >> 3 == 30 ? 3 : 9;
        static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
        if (more == 9 || count - at <= more) return at;
        uint32_t c = more == 0 ? b[at] : b[at] & (0x3fu >> more);
        for (unsigned i = 1; i <= more; i++) {
            if (b[at + i] >> 6 != 2) return at;
            c = c << 6 | (b[at + i] & 0x3f);
        }
        if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) return at;
        at += more + 1;
    }
    return at;
}

static uint64_t model_find(const struct model *m, const struct model *what, uint64_t from, bool fold)
{
    for (uint64_t at = from; at + what->length <= m->length; at++) {
        uint64_t i = 0;
        while (i < what->length && (fold ? lower(m->text[at + i]) == lower(what->text[i]) : m->text[at + i] == what->text[i])) i++;
        if (i == what->length) return at;
    }
    return COEX_STRING_NONE;
}

static struct model model_new(uint64_t length)
{
    struct model m = {malloc(length + 1), length};
    fuzz_expect(m.text != NULL);
    m.text[length] = 0;
    return m;
}

static void model_replace(unsigned i, struct model m)
{
    free(models[i].text);
    models[i] = m;
}

/* ---- the two together
 * ----------------------------------------------------------------------------------------------
 */

static void check(coex_handle s, const struct model *m)
{
    fuzz_expect(s != 0);
    fuzz_expect(coex_string_len(s) == m->length);
    fuzz_expect(memcmp(coex_string_data(s), m->text, m->length) == 0);
}

/* A result and what it should be take the place of string i. A result that is
 * refused changes nothing. */
static void put(unsigned i, coex_handle s, struct model m)
{
    check(s, &m);
    slots[i] = s;
    model_replace(i, m);
}

static void refuse(coex_handle s, coex_status status)
{
    fuzz_expect(s == 0 && coex_last_status() == status);
    coex_clear_status();
}

static void do_from(struct fuzz_input *input, unsigned to)
{
    uint64_t count;
    const uint8_t *bytes = fuzz_bytes(input, fuzz_byte(input), &count);
    uint64_t good = model_good(bytes, count), where = count;
    fuzz_expect(coex_utf8_check(bytes, count, &where) == (good == count) && where == good);
    coex_handle s = coex_string_from((const char *)bytes, count);
    if (good != count) {
        refuse(s, COEX_STATUS_TEXT);
        slots[SCRATCH] = coex_string_from_lossy(bytes, count);
        fuzz_expect(coex_utf8_check(coex_string_data(slots[SCRATCH]), coex_string_len(slots[SCRATCH]), NULL));
        fuzz_expect(memcmp(coex_string_data(slots[SCRATCH]), bytes, good) == 0);
        return;
    }
    struct model m = model_new(count);
    if (count != 0) memcpy(m.text, bytes, count);
    put(to, s, m);
}

static void do_slice(struct fuzz_input *input, unsigned a, unsigned to)
{
    const struct model *m = &models[a];
    uint64_t from = fuzz_below(input, m->length + 3), end = fuzz_below(input, m->length + 3);
    coex_handle s = coex_string_slice(slots[a], from, end);
    if (from > end || end > m->length) {
        refuse(s, COEX_STATUS_RANGE);
    } else if (!is_boundary(m, from) || !is_boundary(m, end)) {
        refuse(s, COEX_STATUS_TEXT);
    } else {
        struct model part = model_new(end - from);
        memcpy(part.text, m->text + from, end - from);
        put(to, s, part);
    }
}

static void do_concat(unsigned a, unsigned b, unsigned to)
{
    if (models[a].length + models[b].length > MAX_LENGTH) return;
    struct model m = model_new(models[a].length + models[b].length);
    memcpy(m.text, models[a].text, models[a].length);
    memcpy(m.text + models[a].length, models[b].text, models[b].length);
    put(to, coex_string_concat(slots[a], slots[b]), m);
}

static void do_splice(struct fuzz_input *input, unsigned a, unsigned b, unsigned to)
{
    const struct model *m = &models[a], *with = &models[b];
    uint64_t from = fuzz_below(input, m->length + 2), end = fuzz_below(input, m->length + 2);
    if (m->length + with->length > MAX_LENGTH) return;
    coex_handle s = coex_string_splice(slots[a], from, end, slots[b]);
    if (from > end || end > m->length) {
        refuse(s, COEX_STATUS_RANGE);
    } else if (!is_boundary(m, from) || !is_boundary(m, end)) {
        refuse(s, COEX_STATUS_TEXT);
    } else {
        struct model whole = model_new(m->length - (end - from) + with->length);
        memcpy(whole.text, m->text, from);
        memcpy(whole.text + from, with->text, with->length);
        memcpy(whole.text + from + with->length, m->text + end, m->length - end);
        put(to, s, whole);
    }
}

static void do_find(struct fuzz_input *input, unsigned a, unsigned b)
{
    const struct model *m = &models[a], *what = &models[b];
    uint64_t from = fuzz_below(input, m->length + 1), last = COEX_STRING_NONE;
    if (!is_boundary(m, from)) return;
    fuzz_expect(coex_string_find(slots[a], slots[b], from) == model_find(m, what, from, false));
    fuzz_expect(coex_string_find_ascii(slots[a], slots[b], from) == model_find(m, what, from, true));
    for (uint64_t at = 0; (at = model_find(m, what, at, false)) != COEX_STRING_NONE && at + what->length <= from; at++) last = at;
    fuzz_expect(coex_string_find_last(slots[a], slots[b], from) == last);
    fuzz_expect(coex_string_starts_with(slots[a], slots[b]) ==
                (m->length >= what->length && memcmp(m->text, what->text, what->length) == 0));
}

/* Splitting and joining again gives the same, joining with another separator is
 * replacing. */
static void do_split_and_replace(unsigned a, unsigned b, unsigned c, unsigned to)
{
    const struct model *m = &models[a], *what = &models[b], *with = &models[c];
    coex_handle *list = &slots[SCRATCH];
    if (what->length == 0) {
        refuse(coex_string_split(slots[a], slots[b]), COEX_STATUS_RANGE);
        refuse(coex_string_replace(slots[a], slots[b], slots[c]), COEX_STATUS_RANGE);
        return;
    }
    uint64_t count = 0;
    for (uint64_t at = 0; (at = model_find(m, what, at, false)) != COEX_STRING_NONE; at += what->length) count++;
    fuzz_expect(coex_string_count(slots[a], slots[b]) == count);
    *list = coex_string_split(slots[a], slots[b]);
    fuzz_expect(coex_list_len(*list) == count + 1);
    coex_handle again = coex_string_join(*list, slots[b]);
    check(again, m);
    if (m->length + count * with->length > MAX_LENGTH) return;
    slots[SCRATCH + 1] = coex_string_join(*list, slots[c]);
    coex_handle replaced = coex_string_replace(slots[a], slots[b], slots[c]);
    fuzz_expect(coex_string_equal(replaced, slots[SCRATCH + 1]));
    struct model whole = model_new(m->length - count * what->length + count * with->length);
    char *out = whole.text;
    for (uint64_t at = 0; at < m->length;) {
        uint64_t next = model_find(m, what, at, false), end = next != COEX_STRING_NONE ? next : m->length;
        memcpy(out, m->text + at, end - at);
        out += end - at;
        if (next != COEX_STRING_NONE) {
            memcpy(out, with->text, with->length);
            out += with->length;
        }
        at = next != COEX_STRING_NONE ? next + what->length : m->length;
    }
    put(to, replaced, whole);
}

static void do_compare(unsigned a, unsigned b)
{
    const struct model *x = &models[a], *y = &models[b];
    int order = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);
    if (order == 0) order = (x->length > y->length) - (x->length < y->length);
    int ours = coex_string_compare(slots[a], slots[b]);
    fuzz_expect((ours > 0) - (ours < 0) == (order > 0) - (order < 0));
    fuzz_expect(coex_string_equal(slots[a], slots[b]) == (order == 0));
    fuzz_expect((coex_string_hash(slots[a]) == coex_string_hash(slots[b])) == (order == 0));
    bool same = x->length == y->length;
    for (uint64_t i = 0; same && i < x->length; i++) same = lower(x->text[i]) == lower(y->text[i]);
    fuzz_expect(coex_string_equal_ascii(slots[a], slots[b]) == same);
    fuzz_expect((coex_string_hash_ascii(slots[a]) == coex_string_hash_ascii(slots[b])) == same);
}

static void do_characters(unsigned a)
{
    const struct model *m = &models[a];
    uint64_t count = 0, at = 0;
    uint32_t c = 0;
    bool ascii = true;
    for (uint64_t i = 0; i < m->length; i++) {
        if (continues(m->text[i])) continue;
        if (count % 7 == 0) fuzz_expect(coex_string_offset(slots[a], count) == i);
        fuzz_expect(at == i && coex_string_next(slots[a], &at, &c));
        ascii = ascii && c < 0x80;
        count++;
    }
    fuzz_expect(at == m->length && !coex_string_next(slots[a], &at, &c));
    fuzz_expect(coex_string_chars(slots[a]) == count && coex_string_is_ascii(slots[a]) == ascii);
    while (coex_string_previous(slots[a], &at, &c)) count--;
    fuzz_expect(count == 0 && at == 0);
}

/* Letters, spaces, hexadecimal, repetition. */
static void do_change(struct fuzz_input *input, unsigned a, unsigned to)
{
    const struct model *m = &models[a];
    unsigned times = fuzz_byte(input) % 5;
    if (m->length * 4 > MAX_LENGTH) return;
    slots[SCRATCH] = coex_string_upper_ascii(slots[a]);
    slots[SCRATCH] = coex_string_lower_ascii(slots[SCRATCH]);
    struct model low = model_new(m->length);
    for (uint64_t i = 0; i < m->length; i++) low.text[i] = lower(m->text[i]);
    check(slots[SCRATCH], &low);
    slots[SCRATCH] = coex_string_trim(slots[a]);
    uint64_t from = 0, end = m->length;
    while (from < end && strchr(" \t\n\v\f\r", m->text[from]) != NULL && m->text[from] != 0) from++;
    while (end > from && strchr(" \t\n\v\f\r", m->text[end - 1]) != NULL && m->text[end - 1] != 0) end--;
    check(slots[SCRATCH], &(struct model){m->text + from, end - from});
    uint64_t back = 0;
    slots[SCRATCH] = coex_string_hex(m->text, m->length);
    fuzz_expect(coex_string_unhex(slots[SCRATCH], low.text, m->length, &back) && back == m->length);
    fuzz_expect(memcmp(low.text, m->text, m->length) == 0);
    free(low.text);
    struct model many = model_new(m->length * times);
    for (unsigned i = 0; i < times; i++) memcpy(many.text + i * m->length, m->text, m->length);
    put(to, coex_string_repeat(slots[a], times), many);
}

static void do_numbers(struct fuzz_input *input, unsigned a)
{
    const struct model *m = &models[a];
    uint64_t bits = fuzz_word(input), back_bits;
    double value, back = 0;
    int64_t integer = 0;
    memcpy(&value, &bits, sizeof value);
    slots[SCRATCH] = coex_string_from_float(value);
    fuzz_expect(coex_string_to_float(slots[SCRATCH], &back));
    memcpy(&back_bits, &back, sizeof back);
    fuzz_expect(isnan(value) ? isnan(back) : back_bits == bits);
    slots[SCRATCH] = coex_string_from_int((int64_t)bits);
    fuzz_expect(coex_string_to_int(slots[SCRATCH], &integer) && integer == (int64_t)bits);
    /* What is read as a number here is one of strtod's, with the same value. */
    if (coex_string_to_float(slots[a], &value)) {
        char *end;
        back = strtod(m->text, &end);
        fuzz_expect(end == m->text + m->length && (isnan(value) ? isnan(back) : memcmp(&back, &value, sizeof value) == 0));
    }
    coex_clear_status();
}

static void do_builder(struct fuzz_input *input, unsigned to)
{
    struct model m = model_new(MAX_LENGTH + 64);
    coex_handle *builder = &slots[SCRATCH];
    m.length = 0;
    *builder = coex_string_builder_new(fuzz_byte(input));
    for (unsigned steps = fuzz_byte(input) % 32; steps != 0; steps--) {
        unsigned piece = fuzz_byte(input) % (STRINGS + 4);
        if (piece < STRINGS && m.length + models[piece].length <= MAX_LENGTH) {
            fuzz_expect(coex_string_builder_append(*builder, slots[piece]));
            memcpy(m.text + m.length, models[piece].text, models[piece].length);
            m.length += models[piece].length;
        } else if (piece == STRINGS && m.length + 32 <= MAX_LENGTH) {
            int64_t number = (int64_t)fuzz_word(input);
            fuzz_expect(coex_string_builder_append_int(*builder, number));
            m.length += (uint64_t)sprintf(m.text + m.length, "%" PRId64, number);
        } else if (piece == STRINGS + 1) {
            uint64_t cut = fuzz_below(input, m.length + 2);
            bool good = cut <= m.length && is_boundary(&m, cut);
            fuzz_expect(coex_string_builder_truncate(*builder, cut) == good);
            if (good) m.length = cut;
        } else if (piece == STRINGS + 2 && m.length + 255 <= MAX_LENGTH) {
            uint64_t count;
            const uint8_t *bytes = fuzz_bytes(input, fuzz_byte(input), &count);
            bool good = model_good(bytes, count) == count;
            fuzz_expect(coex_string_builder_append_from(*builder, (const char *)bytes, count) == good);
            if (good && count != 0) memcpy(m.text + m.length, bytes, count);
            m.length += good ? count : 0;
        }
        fuzz_expect(coex_string_builder_len(*builder) == m.length);
    }
    coex_clear_status();
    m.text[m.length] = 0;
    put(to, coex_string_builder_finish(*builder), m);
    fuzz_expect(!coex_string_builder_append(*builder, slots[to]) && coex_last_status() == COEX_STATUS_STALE);
    coex_clear_status();
}

static void do_operation(struct fuzz_input *input)
{
    unsigned what = fuzz_byte(input), which = fuzz_byte(input), to = fuzz_byte(input) % STRINGS;
    unsigned a = which % STRINGS, b = which / STRINGS % STRINGS;
    switch (what % 14) {
    case 0:
        do_from(input, to);
        break;
    case 1:
        do_slice(input, a, to);
        break;
    case 2:
    case 3:
        do_concat(a, b, to);
        break;
    case 4:
        do_splice(input, a, b, to);
        break;
    case 5:
        do_find(input, a, b);
        break;
    case 6:
        do_split_and_replace(a, b, to, to);
        break;
    case 7:
        do_compare(a, b);
        break;
    case 8:
        do_characters(a);
        break;
    case 9:
        do_change(input, a, to);
        break;
    case 10:
        do_numbers(input, a);
        break;
    case 11:
        do_builder(input, to);
        break;
    case 12:
        slots[a] = coex_string_compact(slots[a]);
        break;
    default:
        coex_gc_async();
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, data + size};
    fuzz_runtime();
    slots = coex_gc_enter_frame(SLOTS);
    for (unsigned i = 0; i < STRINGS; i++) {
        model_replace(i, model_new(0));
        slots[i] = coex_string_from("", 0);
    }
    for (int i = 0; i < MAX_OPERATIONS && !fuzz_is_over(&input); i++) do_operation(&input);
    for (unsigned i = 0; i < STRINGS; i++) check(slots[i], &models[i]); /* nothing that came later has changed them */
    fuzz_expect(coex_last_status() == COEX_STATUS_OK);
    coex_gc_leave_frame(slots);
    return 0;
}
