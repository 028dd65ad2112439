/* The printer: values to text in C memory, which is then written in native mode. Any thread. */
#include "lisp.h"

#include <inttypes.h>
#include <stdlib.h>

void buffer_add(struct buffer *buffer, const char *text, size_t length)
{
    if (buffer->length + length > buffer->capacity) {
        size_t capacity = (buffer->length + length) * 2 + 64;
        char *grown = realloc(buffer->text, capacity);
        if (grown == NULL) {
            fputs("lisp: no memory to print with\n", stderr);
            abort();
        }
        buffer->text = grown;
        buffer->capacity = capacity;
    }
    if (length > 0) memcpy(buffer->text + buffer->length, text, length);
    buffer->length += length;
}

void buffer_write(struct buffer *buffer, FILE *stream)
{
    fflush(stdout); /* what was printed before comes before */
    fwrite(buffer->text, 1, buffer->length, stream);
    free(buffer->text);
}

static void add(struct buffer *buffer, const char *text) { buffer_add(buffer, text, strlen(text)); }

static void add_number(struct buffer *buffer, int64_t n)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, n);
    add(buffer, digits);
}

static void add_character(struct buffer *buffer, unsigned char c, bool write)
{
    char text[] = {'#', '\\', (char)c, '\0'};
    if (!write)
        buffer_add(buffer, text + 2, 1);
    else
        add(buffer, c == ' ' ? "#\\space" : c == '\n' ? "#\\newline" : c == '\t' ? "#\\tab" : text);
}

static void add_immediate(struct buffer *buffer, value v, bool write)
{
    static const char *const constants[] = {"()", "#f", "#t", "", "#<eof>", "#<undefined>"};
    if (is_integer(v))
        add_number(buffer, to_integer(v));
    else if (is_character(v))
        add_character(buffer, to_character(v), write);
    else
        add(buffer, constants[coex_immediate_bits(v) >> 2]);
}

static void add_string(struct buffer *buffer, value string, bool write)
{
    const char *text = string_text(string);
    size_t length = string_length(string);
    if (!write) {
        buffer_add(buffer, text, length);
        return;
    }
    add(buffer, "\"");
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool escape = c == '"' || c == '\\' || c == '\n' || c == '\t';
        char shown[] = {'\\', c == '\n' ? 'n' : c == '\t' ? 't' : c};
        buffer_add(buffer, escape ? shown : &c, escape ? 2 : 1);
    }
    add(buffer, "\"");
}

static void print_at(struct buffer *buffer, value v, bool write, unsigned depth);

/* The frame of print_at is on top whenever one of these three runs; slots[0] is the object. */
static void print_list(struct buffer *buffer, value *slots, bool write, unsigned depth)
{
    add(buffer, "(");
    print_at(buffer, car(slots[0]), write, depth);
    for (slots[0] = cdr(slots[0]); is_pair(slots[0]); slots[0] = cdr(slots[0])) {
        coex_gc_safepoint();
        add(buffer, " ");
        print_at(buffer, car(slots[0]), write, depth);
    }
    if (slots[0] != NIL) {
        add(buffer, " . ");
        print_at(buffer, slots[0], write, depth);
    }
    add(buffer, ")");
}

static void print_vector(struct buffer *buffer, value *slots, bool write, unsigned depth)
{
    add(buffer, "#(");
    for (uint64_t i = 0; i < vector_length(slots[0]); i++) {
        coex_gc_safepoint();
        if (i > 0) add(buffer, " ");
        print_at(buffer, vector_at(slots[0], i), write, depth);
    }
    add(buffer, ")");
}

static void print_procedure(struct buffer *buffer, value *slots)
{
    value code = coex_gc_load(slots[0], offsetof(struct closure, code));
    value name = coex_gc_load(code, offsetof(struct code, name));
    add(buffer, "#<procedure");
    if (is_object(name)) {
        add(buffer, " ");
        add_string(buffer, symbol_name(name), false);
    }
    add(buffer, ">");
}

static void print_wrapped(struct buffer *buffer, const char *name, value content, bool write, unsigned depth)
{
    add(buffer, "#<");
    add(buffer, name);
    add(buffer, " ");
    print_at(buffer, content, write, depth);
    add(buffer, ">");
}

static void print_condition(struct buffer *buffer, value *slots, unsigned depth)
{
    print_at(buffer, coex_gc_load(slots[0], offsetof(struct condition, message)), false, depth);
    slots[0] = coex_gc_load(slots[0], offsetof(struct condition, irritants));
    for (const char *between = ": "; is_pair(slots[0]); slots[0] = cdr(slots[0]), between = " ") {
        add(buffer, between);
        print_at(buffer, car(slots[0]), true, depth);
    }
}

static void print_object(struct buffer *buffer, value *slots, bool write, unsigned depth)
{
    const struct primitive *primitive;
    /* clang-format off */
    switch (kind_of(slots[0])) {
    case KIND_PAIR: print_list(buffer, slots, write, depth); break;
    case KIND_STRING: add_string(buffer, slots[0], write); break;
    case KIND_SYMBOL: add_string(buffer, symbol_name(slots[0]), false); break;
    case KIND_VECTOR: print_vector(buffer, slots, write, depth); break;
    case KIND_CLOSURE: print_procedure(buffer, slots); break;
    case KIND_PRIMITIVE:
        primitive = coex_gc_handle_deref(slots[0]);
        add(buffer, "#<procedure ");
        add(buffer, primitive_at(primitive->index)->name);
        add(buffer, ">");
        break;
    case KIND_ATOM: print_wrapped(buffer, "atom", box_get(slots[0]), write, depth); break;
    case KIND_CONDITION:
        add(buffer, "#<error ");
        print_condition(buffer, slots, depth);
        add(buffer, ">");
        break;
    case KIND_ESCAPE: add(buffer, "#<escape>"); break;
    case KIND_FUTURE: add(buffer, "#<future>"); break;
    case KIND_PORT: add(buffer, "#<port>"); break;
    default: add(buffer, "#<object>");
    }
    /* clang-format on */
}

static void print_at(struct buffer *buffer, value v, bool write, unsigned depth)
{
    if (!is_object(v)) {
        add_immediate(buffer, v, write);
    } else if (depth > MAX_NESTING) {
        add(buffer, "...");
    } else {
        value *slots = coex_gc_enter_frame_with(1, 1, &v);
        print_object(buffer, slots, write, depth + 1);
        coex_gc_leave_frame(slots);
    }
}

void print_value(struct buffer *buffer, value v, bool write) { print_at(buffer, v, write, 0); }

void print_error(FILE *stream, value condition)
{
    struct buffer buffer = {0};
    add(&buffer, "error: ");
    value *slots = coex_gc_enter_frame_with(1, 1, &condition);
    if (is_kind(condition, KIND_CONDITION))
        print_condition(&buffer, slots, 0);
    else
        print_value(&buffer, condition, true);
    add(&buffer, "\n");
    COEX_GC_NATIVE(buffer_write(&buffer, stream));
    coex_gc_leave_frame(slots);
}
