/* Primitives on all values, on errors and on the collector, and the table of all primitives. */
#include "lisp.h"

#include <coex/gc_diag.h>
#include <stdlib.h>
#include <time.h>

/* -------------------------------------------------------------- predicates */

#define PREDICATE(name, condition)                                                                                                 \
    PRIMITIVE(do_is_##name)                                                                                                        \
    {                                                                                                                              \
        value v = arguments[0];                                                                                                    \
        return from_bool(condition);                                                                                               \
    }

PREDICATE(null, v == NIL)
PREDICATE(pair, is_pair(v))
PREDICATE(integer, is_integer(v))
PREDICATE(character, is_character(v))
PREDICATE(boolean, v == TRUE || v == FALSE)
PREDICATE(string, is_kind(v, KIND_STRING))
PREDICATE(symbol, is_kind(v, KIND_SYMBOL))
PREDICATE(vector, is_kind(v, KIND_VECTOR))
PREDICATE(procedure, is_kind(v, KIND_CLOSURE) || is_kind(v, KIND_PRIMITIVE) || is_kind(v, KIND_ESCAPE))
PREDICATE(end_of_file, v == END_OF_FILE)
PREDICATE(error, is_kind(v, KIND_CONDITION))
PREDICATE(not, v == FALSE)

PRIMITIVE(do_eq) { return from_bool(arguments[0] == arguments[1]); }

PRIMITIVE(do_equal) { return from_bool(is_equal(vm, arguments[0], arguments[1], 0)); }

/* ------------------------------------------------------------------ errors */

/* (error message irritant ...) */
PRIMITIVE(do_error)
{
    value *slots = coex_gc_enter_frame(1); /* raise_value leaves it */
    void *payload;
    slots[0] = NIL;
    while (count > 1) slots[0] = cons(vm, arguments[--count], slots[0]);
    value condition = new_object(vm, KIND_CONDITION, sizeof(struct condition), &payload);
    *(struct condition *)payload = (struct condition){arguments[0], slots[0]};
    raise_value(vm, condition);
}

PRIMITIVE(do_raise) { raise_value(vm, arguments[0]); }

/* The handler of vm_try. */
PRIMITIVE(do_failed)
{
    void *payload;
    value failure = new_object(vm, KIND_FAILURE, sizeof(struct failure), &payload);
    *(struct failure *)payload = (struct failure){arguments[0]};
    return failure;
}

PRIMITIVE(do_error_message)
{
    need_kind(vm, arguments[0], KIND_CONDITION);
    return coex_gc_load(arguments[0], offsetof(struct condition, message));
}

PRIMITIVE(do_error_irritants)
{
    need_kind(vm, arguments[0], KIND_CONDITION);
    return coex_gc_load(arguments[0], offsetof(struct condition, irritants));
}

/* ----------------------------------------------------- loading and running */

/* Everything is read before anything runs, so that no C memory is in use when Scheme code leaves by an error. */
static value read_all(struct vm *vm, struct reader *reader)
{
    value *slots = coex_gc_enter_frame(1);
    slots[0] = NIL;
    uint64_t count = 1;
    for (value form = read_value(vm, reader); form != 0; form = read_value(vm, reader), count++) {
        if (slots + count >= vm->limit) {
            reader->error = "too many forms";
            break;
        }
        coex_gc_root(form);
    }
    while (count > 1) slots[0] = cons(vm, slots[--count], slots[0]);
    value forms = slots[0];
    coex_gc_leave_frame(slots);
    return forms;
}

value vm_load(struct vm *vm, const char *name, struct buffer *text)
{
    struct reader reader = {.text = text->text, .length = text->length, .line = 1};
    value *slots = coex_gc_enter_frame(2);
    slots[0] = read_all(vm, &reader);
    free(text->text);
    if (reader.error != NULL) raise_error(vm, 0, "%s:%u: %s", name, reader.line, reader.error);
    for (slots[1] = UNSPECIFIED; slots[0] != NIL; slots[0] = cdr(slots[0])) slots[1] = vm_eval(vm, car(slots[0]));
    value last = slots[1];
    coex_gc_leave_frame(slots);
    return last;
}

static value load_text(struct vm *vm, const char *name, const char *text, size_t length)
{
    struct buffer copy = {0};
    buffer_add(&copy, text, length);
    return vm_load(vm, name, &copy);
}

PRIMITIVE(do_load_prelude) { return load_text(vm, "prelude", prelude_text, prelude_length); }

PRIMITIVE(do_eval_string)
{
    need_kind(vm, arguments[0], KIND_STRING);
    return load_text(vm, "string", string_text(arguments[0]), string_length(arguments[0]));
}

PRIMITIVE(do_eval) { return vm_eval(vm, arguments[0]); }

PRIMITIVE(do_exit)
{
    int code = count > 0 ? (int)need_index(vm, arguments[0], 256) : 0;
    exit(code);
}

PRIMITIVE(do_getenv)
{
    char name[256];
    need_kind(vm, arguments[0], KIND_STRING);
    if (string_length(arguments[0]) >= sizeof name) return FALSE;
    memcpy(name, string_text(arguments[0]), string_length(arguments[0]));
    name[string_length(arguments[0])] = '\0';
    const char *text = getenv(name);
    return text != NULL ? new_string(vm, text, strlen(text)) : FALSE;
}

PRIMITIVE(do_milliseconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return from_integer(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

/* ----------------------------------------------------------- the collector */

PRIMITIVE(do_gc)
{
    coex_gc_collect();
    return UNSPECIFIED;
}

/* An association list. */
PRIMITIVE(do_gc_stats)
{
    coex_gc_stats stats;
    coex_gc_get_stats(&stats);
    const struct {
        const char *name;
        uint64_t number;
    } rows[] = {
        {"collections", stats.collections_completed},     {"allocations", stats.total_allocations},
        {"heap-size", stats.current_heap_size},           {"heap-used", stats.current_heap_used},
        {"handles-in-use", stats.current_handles_in_use}, {"threads", stats.registered_thread_count},
        {"longest-stop-ns", stats.stop_wall.max},
    };
    value *slots = coex_gc_enter_frame(2);
    slots[0] = NIL;
    for (size_t i = sizeof rows / sizeof rows[0]; i-- > 0;) {
        slots[1] = cons(vm, intern(vm, rows[i].name), from_integer((int64_t)rows[i].number));
        slots[0] = cons(vm, slots[1], slots[0]);
    }
    value list = slots[0];
    coex_gc_leave_frame(slots);
    return list;
}

const struct definition system_primitives[] = {
    {"null?", do_is_null, 1, 1},
    {"pair?", do_is_pair, 1, 1},
    {"integer?", do_is_integer, 1, 1},
    {"char?", do_is_character, 1, 1},
    {"boolean?", do_is_boolean, 1, 1},
    {"string?", do_is_string, 1, 1},
    {"symbol?", do_is_symbol, 1, 1},
    {"vector?", do_is_vector, 1, 1},
    {"procedure?", do_is_procedure, 1, 1},
    {"eof-object?", do_is_end_of_file, 1, 1},
    {"error-object?", do_is_error, 1, 1},
    {"not", do_is_not, 1, 1},
    {"eq?", do_eq, 2, 2},
    {"eqv?", do_eq, 2, 2},
    {"equal?", do_equal, 2, 2},
    {"error", do_error, 1, -1},
    {"raise", do_raise, 1, 1},
    {"%raise", do_raise, 1, 1},
    {"%failed", do_failed, 1, 1},
    {"error-object-message", do_error_message, 1, 1},
    {"error-object-irritants", do_error_irritants, 1, 1},
    {"%load-prelude", do_load_prelude, 0, 0},
    {"eval-string", do_eval_string, 1, 1},
    {"eval", do_eval, 1, 1},
    {"exit", do_exit, 0, 1},
    {"getenv", do_getenv, 1, 1},
    {"current-milliseconds", do_milliseconds, 0, 0},
    {"gc", do_gc, 0, 0},
    {"gc-stats", do_gc_stats, 0, 0},
    {NULL, NULL, 0, 0},
};

/* --------------------------------------------------------------- the table */

static const struct definition *const tables[] = {list_primitives, vector_primitives, number_primitives, string_primitives,
                                                  port_primitives, future_primitives, system_primitives};

enum { TABLES = sizeof tables / sizeof tables[0], TABLE_SHIFT = 16 };

const struct definition *primitive_at(uint64_t index)
{
    return &tables[index >> TABLE_SHIFT][index & (((uint64_t)1 << TABLE_SHIFT) - 1)];
}

void primitives_init(struct vm *vm)
{
    for (uint64_t table = 0; table < TABLES; table++) {
        for (uint64_t i = 0; tables[table][i].name != NULL; i++) {
            void *payload;
            value symbol = intern(vm, tables[table][i].name);
            value primitive = new_object(vm, KIND_PRIMITIVE, sizeof(struct primitive), &payload);
            *(struct primitive *)payload = (struct primitive){table << TABLE_SHIFT | i};
            symbol_define(symbol, primitive);
        }
    }
}
