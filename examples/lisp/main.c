/* lisp: a small Scheme. Runs a file or an expression, or reads expressions from the standard
 * input. */
#include "lisp.h"

#include <stdlib.h>
#include <unistd.h>

static const char usage[] = "usage: lisp [file ...]     run files of Scheme\n"
                            "       lisp -e expression  evaluate, and print the value\n"
                            "       lisp                read, evaluate and print lines of standard input\n"
                            "       lisp --help\n"
                            "COEX_GC and COEX_GC_DEBUG tune the collector.\n";

/* (name argument), called so that an error comes back as a failure. */
static value call_named(struct vm *vm, const char *name, value argument)
{
    value symbol = intern(vm, name);
    value *slots = coex_gc_enter_frame_with(1, 1, &argument);
    slots[0] = cons(vm, slots[0], NIL);
    slots[0] = cons(vm, symbol, slots[0]);
    slots[0] = compile_toplevel(vm, slots[0]);
    value result = vm_try(vm, slots[0]);
    coex_gc_leave_frame(slots);
    return result;
}

/* False if it is a failure, after it was reported. */
static bool report(value result)
{
    if (!is_kind(result, KIND_FAILURE)) return true;
    print_error(stderr, coex_gc_load(result, offsetof(struct failure, condition)));
    return false;
}

static void print_line(value v)
{
    struct buffer line = {0};
    if (v == UNSPECIFIED) return;
    print_value(&line, v, true);
    buffer_add(&line, "\n", 1);
    COEX_GC_NATIVE(buffer_write(&line, stdout));
}

static bool run_text(struct vm *vm, const char *function, const char *text, bool print)
{
    value *slots = coex_gc_enter_frame(1);
    slots[0] = new_string(vm, text, strlen(text));
    slots[0] = call_named(vm, function, slots[0]);
    bool good = report(slots[0]);
    if (good && print) print_line(slots[0]);
    coex_gc_leave_frame(slots);
    return good;
}

/* ------------------------------------------------------------ conversation */

/* Adds a line to the text. False: no more. In native mode. */
static bool more_text(struct buffer *text, bool prompt)
{
    char *line = NULL;
    size_t capacity = 0;
    if (prompt) fputs(text->length == 0 ? "> " : "  ", stdout);
    fflush(stdout);
    ssize_t length = getline(&line, &capacity, stdin);
    if (length > 0) buffer_add(text, line, (size_t)length);
    free(line);
    return length > 0;
}

/* Evaluates what is complete, and keeps the rest. False: something failed. */
static bool evaluate_lines(struct vm *vm, struct buffer *text)
{
    bool good = true;
    struct reader reader = {.text = text->text, .length = text->length, .line = 1};
    value *slots = coex_gc_enter_frame(1);
    size_t done = 0;
    for (slots[0] = read_value(vm, &reader); slots[0] != 0; slots[0] = read_value(vm, &reader)) {
        done = reader.at;
        slots[0] = cons(vm, slots[0], NIL);
        slots[0] = cons(vm, intern(vm, "quote"), slots[0]);
        slots[0] = call_named(vm, "eval", slots[0]);
        good = report(slots[0]) && good;
        if (!is_kind(slots[0], KIND_FAILURE)) print_line(slots[0]);
    }
    if (reader.error != NULL && !reader.incomplete) {
        fprintf(stderr, "error: %s\n", reader.error);
        good = false;
    }
    if (!reader.incomplete) done = text->length;
    memmove(text->text, text->text + done, text->length - done);
    text->length -= done;
    coex_gc_leave_frame(slots);
    return good;
}

static bool converse(struct vm *vm)
{
    struct buffer text = {0};
    bool prompt = isatty(STDIN_FILENO), good = true, more;
    COEX_GC_NATIVE(more = more_text(&text, prompt));
    while (more) {
        good = evaluate_lines(vm, &text) && good;
        COEX_GC_NATIVE(more = more_text(&text, prompt));
    }
    if (text.length > 0) fputs("error: the last expression is not complete\n", stderr);
    good = good && text.length == 0;
    free(text.text);
    return good || prompt;
}

/* -------------------------------------------------------------------- main */

static bool start(struct vm *vm)
{
    coex_gc_config config;
    coex_gc_config_default(&config);
    int code = coex_gc_init_with(&config);
    if (code != COEX_GC_OK) {
        fprintf(stderr, "lisp: %s: %s\n", coex_gc_error_string(code), coex_gc_error_detail());
        return false;
    }
    object_register_types();
    ports_init();
    vm_enter(vm);
    symbols_init(vm);
    primitives_init(vm);
    vm_init(vm);
    compile_init(vm);
    return report(vm_try(vm, symbol_global(intern(vm, "%load-prelude"))));
}

static bool run(struct vm *vm, int count, char **words)
{
    bool good = true;
    if (count == 2 && strcmp(words[0], "-e") == 0) return run_text(vm, "eval-string", words[1], true);
    for (int i = 0; i < count && good; i++) good = run_text(vm, "load", words[i], false);
    return count == 0 ? converse(vm) : good;
}

int main(int count, char **words)
{
    struct vm vm;
    if (count > 1 && words[1][0] == '-' && !(count == 3 && strcmp(words[1], "-e") == 0)) {
        bool help = strcmp(words[1], "--help") == 0;
        fputs(usage, help ? stdout : stderr);
        return help ? 0 : 2;
    }
    if (!start(&vm)) return 1;
    bool good = run(&vm, count - 1, words + 1);
    futures_wait_for_all();
    vm_leave(&vm);
    coex_gc_shutdown();
    return good ? 0 : 1;
}
