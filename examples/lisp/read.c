/* The reader converts text in C memory to values. Any thread may call it, with a struct reader
 * of its own. */
#include "lisp.h"

#include <ctype.h>
#include <stdlib.h>

static value read_fail(struct reader *reader, const char *error)
{
    if (reader->error == NULL) reader->error = error;
    return 0;
}

/* Something is missing: because the text ends, unless there was an error before. */
static value read_ended(struct reader *reader, const char *error)
{
    reader->incomplete = reader->error == NULL || reader->incomplete;
    return read_fail(reader, error);
}

static int peek(const struct reader *reader) { return reader->at < reader->length ? (unsigned char)reader->text[reader->at] : EOF; }

static int next(struct reader *reader)
{
    int c = peek(reader);
    if (c != EOF) reader->at++;
    reader->line += c == '\n';
    return c;
}

static bool is_delimiter(int c) { return c == EOF || isspace(c) || strchr("()\"';`,", c) != NULL; }

static void skip_line(struct reader *reader)
{
    for (int c = next(reader); c != EOF && c != '\n';) c = next(reader);
}

/* Blanks and comments, but for `#;`. */
static void skip_blanks(struct reader *reader)
{
    for (int c = peek(reader); c == ';' || (c != EOF && isspace(c)); c = peek(reader)) {
        if (c == ';')
            skip_line(reader);
        else
            next(reader);
    }
}

/* Inside of brackets: the same, and what follows each `#;`, which may be the last thing there. */
static void skip_comments(struct vm *vm, struct reader *reader)
{
    for (skip_blanks(reader); reader->length - reader->at > 1 && memcmp(reader->text + reader->at, "#;", 2) == 0;
         skip_blanks(reader)) {
        reader->at += 2;
        if (read_value(vm, reader) == 0) {
            read_ended(reader, "nothing after #;");
            return;
        }
    }
}

/* The items up to the closing bracket are the slots of a frame, appended as they come; the list is made from behind. */
static value read_list(struct vm *vm, struct reader *reader)
{
    value *slots = coex_gc_enter_frame(1);
    uint64_t count = 1;
    slots[0] = NIL;
    for (skip_comments(vm, reader); peek(reader) != ')'; skip_comments(vm, reader)) {
        bool dot =
            peek(reader) == '.' && reader->at + 1 < reader->length && is_delimiter((unsigned char)reader->text[reader->at + 1]);
        reader->at += dot;
        value item = read_value(vm, reader);
        if (item == 0 || (dot && count == 1)) {
            coex_gc_leave_frame(slots);
            return item == 0 ? read_ended(reader, "a list is not closed") : read_fail(reader, "nothing before a dot");
        }
        if (dot) {
            slots[0] = item;
            skip_comments(vm, reader);
            if (peek(reader) != ')') read_fail(reader, "more than one thing after a dot");
            break;
        }
        if (slots + count >= vm->limit) {
            coex_gc_leave_frame(slots);
            return read_fail(reader, "a list is too long");
        }
        coex_gc_root(item);
        count++;
    }
    next(reader);
    while (count > 1) slots[0] = cons(vm, slots[--count], slots[0]);
    value list = slots[0];
    coex_gc_leave_frame(slots);
    return reader->error == NULL ? list : 0;
}

static value read_vector(struct vm *vm, struct reader *reader)
{
    value *slots = coex_gc_enter_frame(2);
    uint64_t length = 0;
    slots[0] = read_list(vm, reader);
    for (value rest = slots[0]; is_pair(rest); rest = cdr(rest)) length++;
    if (slots[0] != 0) slots[1] = new_vector(vm, length, FALSE);
    for (uint64_t i = 0; i < length; i++, slots[0] = cdr(slots[0])) vector_put(slots[1], i, car(slots[0]));
    value vector = slots[1];
    coex_gc_leave_frame(slots);
    return vector;
}

/* 'x is (quote x). */
static value read_prefixed(struct vm *vm, struct reader *reader, const char *name)
{
    value *slots = coex_gc_enter_frame(1);
    slots[0] = read_value(vm, reader);
    if (slots[0] == 0) {
        coex_gc_leave_frame(slots);
        return read_ended(reader, "nothing after a quote");
    }
    slots[0] = cons(vm, slots[0], NIL);
    value form = cons(vm, intern(vm, name), slots[0]); /* a symbol needs no root */
    coex_gc_leave_frame(slots);
    return form;
}

static char escaped(int c) { return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == '0' ? '\0' : (char)c; }

static value read_string(struct vm *vm, struct reader *reader)
{
    size_t from = reader->at, length = 0;
    for (int c = next(reader); c != '"'; c = next(reader), length++) {
        if (c == EOF || (c == '\\' && next(reader) == EOF)) return read_ended(reader, "a string is not closed");
    }
    void *payload;
    value string = new_object(vm, KIND_STRING, length, &payload);
    for (char *to = payload; length > 0; length--) {
        char c = reader->text[from++];
        *to++ = c == '\\' ? escaped(reader->text[from++]) : c;
    }
    return string;
}

static value read_character(struct reader *reader, const char *text, size_t length)
{
    static const struct {
        const char *name;
        unsigned char c;
    } names[] = {{"space", ' '}, {"newline", '\n'}, {"tab", '\t'}, {"return", '\r'}, {"nul", '\0'}};
    if (length == 1) return from_character((unsigned char)text[0]);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i].name) == length && memcmp(names[i].name, text, length) == 0) return from_character(names[i].c);
    }
    return read_fail(reader, "no character has this name");
}

/* A number, or else a symbol. */
static value read_word(struct vm *vm, struct reader *reader, const char *text, size_t length)
{
    char digits[32], *end = digits;
    bool number = length < sizeof digits && (isdigit((unsigned char)text[0]) ||
                                             (length > 1 && strchr("+-", text[0]) != NULL && isdigit((unsigned char)text[1])));
    if (!number) return intern_text(vm, text, length);
    memcpy(digits, text, length);
    digits[length] = '\0';
    long long n = strtoll(digits, &end, 10);
    if (*end != '\0') return intern_text(vm, text, length);
    return n < INTEGER_MIN || n > INTEGER_MAX ? read_fail(reader, "a number is too large") : from_integer(n);
}

static size_t word_length(const struct reader *reader)
{
    size_t end = reader->at;
    while (end < reader->length && !is_delimiter((unsigned char)reader->text[end])) end++;
    return end - reader->at;
}

/* After a '#'. */
static value read_hash(struct vm *vm, struct reader *reader)
{
    int c = next(reader);
    if (c == '(') return read_vector(vm, reader);
    if (c == ';') { /* the next datum is a comment */
        value skipped = read_value(vm, reader);
        return skipped != 0 ? read_value(vm, reader) : read_ended(reader, "nothing after #;");
    }
    const char *text = reader->text + reader->at;
    size_t length = word_length(reader);
    if (c == '\\') {
        length += length == 0 && peek(reader) != EOF; /* a delimiter by itself */
        reader->at += length;
        return length == 0 ? read_ended(reader, "nothing after #\\") : read_character(reader, text, length);
    }
    reader->at += length;
    if (length == 0 && (c == 't' || c == 'f')) return from_bool(c == 't');
    return read_fail(reader, "not known after #");
}

/* The next value, or 0: nothing more, or reader->error says what is wrong. A safepoint. */
value read_value(struct vm *vm, struct reader *reader)
{
    if (reader->depth > MAX_NESTING) return read_fail(reader, "too deeply nested");
    skip_blanks(reader);
    const char *text = reader->text + reader->at;
    value result;
    bool splicing;
    int c = next(reader);
    reader->depth++;
    /* clang-format off */
    switch (c) {
    case EOF: result = 0; break;
    case '(': result = read_list(vm, reader); break;
    case ')': result = read_fail(reader, "a bracket too many"); break;
    case '"': result = read_string(vm, reader); break;
    case '\'': result = read_prefixed(vm, reader, "quote"); break;
    case '`': result = read_prefixed(vm, reader, "quasiquote"); break;
    case '#': result = read_hash(vm, reader); break;
    case ',':
        splicing = peek(reader) == '@';
        reader->at += splicing;
        result = read_prefixed(vm, reader, splicing ? "unquote-splicing" : "unquote");
        break;
    default: {
        size_t length = word_length(reader) + 1;
        reader->at += length - 1;
        result = read_word(vm, reader, text, length);
    }
    }
    /* clang-format on */
    reader->depth--;
    return result;
}
