/* The printer converts values to text in C memory, which is then written in native mode. Any
 * thread may call it.
 *
 * A vector or an atom may contain itself. The printer gives a label to each pair, vector or atom
 * that does, and prints the label where the value comes again, as `write` of R7RS: #0=#(1 #0#). A
 * walk over the value finds these first. Pairs are immutable, so every cycle goes through a vector
 * or an atom.
 *
 * Other threads may change the value in between, and a shared part without a cycle is printed each
 * time it comes, which may be 2^n times. The printer therefore has a budget in proportion to the
 * size of the value, and prints "..." for the rest. */
#include "lisp.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PRINT_EACH = 16, PRINT_LEAST = 1 << 16 }; /* the budget: for each value that there is, and for the smallest */

static _Noreturn void no_memory(void)
{
    fputs("lisp: no memory to print with\n", stderr);
    abort();
}

void buffer_add(struct buffer *buffer, const char *text, size_t length)
{
    if (buffer->length + length > buffer->capacity) {
        size_t capacity = (buffer->length + length) * 2 + 64;
        char *grown = realloc(buffer->text, capacity);
        if (grown == NULL) no_memory();
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

/* ------------------------------------------------------------------ cycles */

enum { MARK_OPEN = 1, MARK_DONE = 2, MARK_CYCLIC = 3, MARK_LABEL = 4 }; /* from MARK_LABEL on: the label + MARK_LABEL */

/* What is known of an object. Handles are compared, never followed: the object may be gone, if another thread dropped it. */
struct mark {
    value object; /* 0: free */
    uint64_t state;
};

struct printer {
    struct buffer *buffer;
    bool write;
    struct mark *marks; /* a hash table */
    size_t room, count; /* room is 0 or a power of two */
    uint64_t labels;
    uint64_t left; /* values that may still be printed */
};

static struct mark *mark_place(const struct printer *printer, value object)
{
    size_t at = (size_t)(object * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (printer->room - 1);
    while (printer->marks[at].object != 0 && printer->marks[at].object != object) at = (at + 1) & (printer->room - 1);
    return &printer->marks[at];
}

static void marks_grow(struct printer *printer)
{
    struct printer larger = {.room = printer->room == 0 ? 64 : printer->room * 2};
    larger.marks = calloc(larger.room, sizeof *larger.marks);
    if (larger.marks == NULL) no_memory();
    for (size_t i = 0; i < printer->room; i++) {
        if (printer->marks[i].object != 0) *mark_place(&larger, printer->marks[i].object) = printer->marks[i];
    }
    free(printer->marks);
    printer->marks = larger.marks;
    printer->room = larger.room;
}

static void mark_set(struct printer *printer, value object, uint64_t state) { mark_place(printer, object)->state = state; }

/* Returns 0 if there is no mark. */
static uint64_t mark_get(const struct printer *printer, value object)
{
    return printer->room == 0 ? 0 : mark_place(printer, object)->state;
}

/* Opens an object that is new. Returns false for one that is known; if it is open, the way has come back to it. */
static bool mark_open(struct printer *printer, value object)
{
    if (printer->count * 2 >= printer->room) marks_grow(printer);
    struct mark *mark = mark_place(printer, object);
    if (mark->object == 0) {
        *mark = (struct mark){object, MARK_OPEN};
        printer->count++;
        return true;
    }
    if (mark->state == MARK_OPEN) mark->state = MARK_CYCLIC;
    return false;
}

static void mark_close(struct printer *printer, value object)
{
    struct mark *mark = mark_place(printer, object);
    if (mark->state == MARK_OPEN) mark->state = MARK_DONE;
}

static void scan(struct printer *printer, value v, unsigned depth);

/* slots[0] is the first pair. All pairs up to the end are open at the same time; they are closed in a second walk. */
static void scan_list(struct printer *printer, value *slots, unsigned depth)
{
    slots[1] = slots[0];
    for (; is_pair(slots[1]) && mark_open(printer, slots[1]); slots[1] = cdr(slots[1])) {
        scan(printer, car(slots[1]), depth);
        coex_gc_safepoint();
    }
    if (!is_pair(slots[1])) scan(printer, slots[1], depth);
    for (; slots[0] != slots[1]; slots[0] = cdr(slots[0])) {
        mark_close(printer, slots[0]);
        coex_gc_safepoint();
    }
}

static void scan_vector(struct printer *printer, value *slots, unsigned depth)
{
    if (!mark_open(printer, slots[0])) return;
    for (uint64_t i = 0; i < vector_length(slots[0]); i++) {
        scan(printer, vector_at(slots[0], i), depth);
        coex_gc_safepoint();
    }
    mark_close(printer, slots[0]);
}

static void scan_atom(struct printer *printer, value *slots, unsigned depth)
{
    if (!mark_open(printer, slots[0])) return;
    scan(printer, box_get(slots[0]), depth);
    mark_close(printer, slots[0]);
}

static void scan_condition(struct printer *printer, value *slots, unsigned depth)
{
    scan(printer, coex_gc_load(slots[0], offsetof(struct condition, message)), depth);
    scan(printer, coex_gc_load(slots[0], offsetof(struct condition, irritants)), depth);
}

/* Counts the value, and marks what it contains, as deep as it will be printed. */
static void scan(struct printer *printer, value v, unsigned depth)
{
    printer->left += PRINT_EACH;
    if (!is_object(v) || depth > MAX_NESTING) return;
    enum kind kind = kind_of(v);
    if (kind != KIND_PAIR && kind != KIND_VECTOR && kind != KIND_ATOM && kind != KIND_CONDITION) return;
    value *slots = coex_gc_enter_frame_with(2, 1, &v);
    if (kind == KIND_PAIR)
        scan_list(printer, slots, depth + 1);
    else if (kind == KIND_VECTOR)
        scan_vector(printer, slots, depth + 1);
    else if (kind == KIND_ATOM)
        scan_atom(printer, slots, depth + 1);
    else
        scan_condition(printer, slots, depth + 1);
    coex_gc_leave_frame(slots);
}

/* ----------------------------------------------------------------- objects */

static void print_at(struct printer *printer, value v, unsigned depth);

static bool is_cyclic(const struct printer *printer, value v) { return mark_get(printer, v) >= MARK_CYCLIC; }

/* The frame of print_at is on top whenever one of these runs; slots[0] is the object. */
static void print_list(struct printer *printer, value *slots, unsigned depth)
{
    struct buffer *buffer = printer->buffer;
    add(buffer, "(");
    print_at(printer, car(slots[0]), depth);
    slots[0] = cdr(slots[0]);
    for (; is_pair(slots[0]) && !is_cyclic(printer, slots[0]) && printer->left > 0; slots[0] = cdr(slots[0])) {
        coex_gc_safepoint();
        add(buffer, " ");
        print_at(printer, car(slots[0]), depth);
    }
    if (slots[0] != NIL) {
        add(buffer, printer->left > 0 ? " . " : " ");
        print_at(printer, slots[0], depth);
    }
    add(buffer, ")");
}

static void print_vector(struct printer *printer, value *slots, unsigned depth)
{
    add(printer->buffer, "#(");
    uint64_t length = vector_length(slots[0]);
    for (uint64_t i = 0; i < length; i++) {
        coex_gc_safepoint();
        if (i > 0) add(printer->buffer, " ");
        print_at(printer, vector_at(slots[0], i), depth);
        if (printer->left == 0) break;
    }
    add(printer->buffer, ")");
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

static void print_wrapped(struct printer *printer, const char *name, value content, unsigned depth)
{
    add(printer->buffer, "#<");
    add(printer->buffer, name);
    add(printer->buffer, " ");
    print_at(printer, content, depth);
    add(printer->buffer, ">");
}

/* The message is displayed, the irritants are written. */
static void print_condition(struct printer *printer, value *slots, unsigned depth)
{
    bool write = printer->write;
    printer->write = false;
    print_at(printer, coex_gc_load(slots[0], offsetof(struct condition, message)), depth);
    printer->write = true;
    slots[0] = coex_gc_load(slots[0], offsetof(struct condition, irritants));
    for (const char *between = ": "; is_pair(slots[0]) && printer->left > 0; slots[0] = cdr(slots[0]), between = " ") {
        add(printer->buffer, between);
        print_at(printer, car(slots[0]), depth);
    }
    printer->write = write;
}

static void print_object(struct printer *printer, value *slots, unsigned depth)
{
    struct buffer *buffer = printer->buffer;
    const struct primitive *primitive;
    /* clang-format off */
    switch (kind_of(slots[0])) {
    case KIND_PAIR: print_list(printer, slots, depth); break;
    case KIND_STRING: add_string(buffer, slots[0], printer->write); break;
    case KIND_SYMBOL: add_string(buffer, symbol_name(slots[0]), false); break;
    case KIND_VECTOR: print_vector(printer, slots, depth); break;
    case KIND_CLOSURE: print_procedure(buffer, slots); break;
    case KIND_PRIMITIVE:
        primitive = coex_gc_handle_deref(slots[0]);
        add(buffer, "#<procedure ");
        add(buffer, primitive_at(primitive->index)->name);
        add(buffer, ">");
        break;
    case KIND_ATOM: print_wrapped(printer, "atom", box_get(slots[0]), depth); break;
    case KIND_CONDITION:
        add(buffer, "#<error ");
        print_condition(printer, slots, depth);
        add(buffer, ">");
        break;
    case KIND_ESCAPE: add(buffer, "#<escape>"); break;
    case KIND_FUTURE: add(buffer, "#<future>"); break;
    case KIND_PORT: add(buffer, "#<port>"); break;
    default: add(buffer, "#<object>");
    }
    /* clang-format on */
}

/* Prints the label of an object that contains itself: "#0=" the first time. Returns true if "#0#" was all there is to print. */
static bool print_label(struct printer *printer, value v)
{
    uint64_t state = mark_get(printer, v);
    if (state < MARK_CYCLIC) return false;
    if (state == MARK_CYCLIC) mark_set(printer, v, MARK_LABEL + printer->labels++);
    add(printer->buffer, "#");
    add_number(printer->buffer, (int64_t)(mark_get(printer, v) - MARK_LABEL));
    add(printer->buffer, state == MARK_CYCLIC ? "=" : "#");
    return state != MARK_CYCLIC;
}

static void print_at(struct printer *printer, value v, unsigned depth)
{
    if (printer->left > 0) printer->left--;
    if (!is_object(v)) {
        add_immediate(printer->buffer, v, printer->write);
    } else if (depth > MAX_NESTING || printer->left == 0) {
        add(printer->buffer, "...");
    } else if (!print_label(printer, v)) {
        value *slots = coex_gc_enter_frame_with(1, 1, &v);
        print_object(printer, slots, depth + 1);
        coex_gc_leave_frame(slots);
    }
}

void print_value(struct buffer *buffer, value v, bool write)
{
    struct printer printer = {.buffer = buffer, .write = write, .left = PRINT_LEAST};
    value *slots = coex_gc_enter_frame_with(1, 1, &v);
    scan(&printer, slots[0], 0);
    print_at(&printer, slots[0], 0);
    free(printer.marks);
    coex_gc_leave_frame(slots);
}

void print_error(FILE *stream, value condition)
{
    struct buffer buffer = {0};
    struct printer printer = {.buffer = &buffer, .write = true, .left = PRINT_LEAST};
    add(&buffer, "error: ");
    value *slots = coex_gc_enter_frame_with(1, 1, &condition);
    scan(&printer, slots[0], 0);
    if (is_kind(condition, KIND_CONDITION))
        print_condition(&printer, slots, 0);
    else
        print_at(&printer, condition, 0);
    free(printer.marks);
    add(&buffer, "\n");
    COEX_GC_NATIVE(buffer_write(&buffer, stream));
    coex_gc_leave_frame(slots);
}
