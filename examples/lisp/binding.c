/* The compiler: special forms that bind or assign variables. */
#include "compile.h"

static value define_name, lambda_name;

void compile_lambda_form(struct function *f, value form, bool tail)
{
    need_list(f, form, 3, "lambda");
    compile_lambda(f, FALSE, PARAMETERS, second(form), after_second(form), NULL);
    emit_return(f, tail);
}

static bool is_definition(value form) { return is_pair(form) && car(form) == define_name; }

/* The name that a definition defines: (define name x) or (define (name . parameters) body ...). */
static value defined_name(struct function *f, value form)
{
    need_list(f, form, 3, "define");
    value name = is_pair(second(form)) ? car(second(form)) : second(form);
    if (!is_kind(name, KIND_SYMBOL)) syntax_error(f, form, "define");
    return name;
}

static void compile_named(struct function *f, value name, value x)
{
    if (is_pair(x) && car(x) == lambda_name && !is_local_name(f, lambda_name)) {
        need_list(f, x, 3, "lambda");
        compile_lambda(f, name, PARAMETERS, second(x), after_second(x), NULL);
    } else {
        compile(f, x, false);
    }
}

static void compile_definition_value(struct function *f, value form)
{
    if (is_pair(second(form)))
        compile_lambda(f, car(second(form)), PARAMETERS, cdr(second(form)), after_second(form), NULL);
    else
        compile_named(f, second(form), third(form));
}

void compile_define(struct function *f, value form, bool tail)
{
    value name = defined_name(f, form);
    if (f->outer != NULL || f->variables.count != 0) syntax_error(f, form, "define is not at the head of a body");
    compile_definition_value(f, form);
    emit(f, OP_DEFINE_GLOBAL, constant_index(f, name), -1);
    push_nothing(f, tail);
}

void compile_set(struct function *f, value form, bool tail)
{
    need_list(f, form, 3, "set!");
    if (!is_kind(second(form), KIND_SYMBOL)) syntax_error(f, form, "set!");
    compile(f, third(form), false);
    set_variable(f, second(form));
    push_nothing(f, tail);
}

/* A variable that closures may capture before it has its value: always a box. */
static void bind_undefined(struct function *f, value name)
{
    if (!is_kind(name, KIND_SYMBOL)) syntax_error(f, name, "a variable is not a name");
    emit_constant(f, UNDEFINED);
    bind(f, name, true);
}

void compile_body(struct function *f, value forms, bool tail)
{
    uint32_t outside = f->variables.count;
    value rest;
    for (rest = forms; is_pair(rest) && is_definition(car(rest)); rest = cdr(rest)) bind_undefined(f, defined_name(f, car(rest)));
    for (; forms != rest; forms = cdr(forms)) {
        compile_definition_value(f, car(forms));
        set_variable(f, defined_name(f, car(forms)));
    }
    if (forms == NIL)
        push_nothing(f, tail);
    else
        compile_sequence(f, forms, tail);
    unbind(f, outside, tail);
}

static void need_bindings(struct function *f, value bindings)
{
    need_list(f, bindings, 0, "bindings are not a list");
    for (; is_pair(bindings); bindings = cdr(bindings)) {
        need_list(f, car(bindings), 2, "a binding is not a list of two");
        if (!is_kind(car(car(bindings)), KIND_SYMBOL)) syntax_error(f, car(bindings), "a variable is not a name");
    }
}

void compile_let_star(struct function *f, value form, bool tail)
{
    need_list(f, form, 3, "let*");
    uint32_t outside = f->variables.count;
    need_bindings(f, second(form));
    for (value rest = second(form); is_pair(rest); rest = cdr(rest)) {
        compile_named(f, car(car(rest)), second(car(rest)));
        bind(f, car(car(rest)), is_assigned(f, car(car(rest))));
    }
    compile_body(f, after_second(form), tail);
    unbind(f, outside, tail);
}

void compile_letrec(struct function *f, value form, bool tail)
{
    need_list(f, form, 3, "letrec");
    uint32_t outside = f->variables.count;
    need_bindings(f, second(form));
    for (value rest = second(form); is_pair(rest); rest = cdr(rest)) bind_undefined(f, car(car(rest)));
    for (value rest = second(form); is_pair(rest); rest = cdr(rest)) {
        compile_named(f, car(car(rest)), second(car(rest)));
        set_variable(f, car(car(rest)));
    }
    compile_body(f, after_second(form), tail);
    unbind(f, outside, tail);
}

static void compile_named_let(struct function *f, value form, bool tail)
{
    need_list(f, form, 4, "let");
    value name = second(form), bindings = third(form);
    uint32_t outside = f->variables.count, count = 0;
    need_bindings(f, bindings);
    bind_undefined(f, name);
    compile_lambda(f, name, BINDINGS, bindings, cdr(after_second(form)), NULL);
    set_variable(f, name);
    push_variable(f, name);
    f->variables.items[outside].name = 0; /* out of sight for the values that it starts with */
    for (value rest = bindings; is_pair(rest); rest = cdr(rest), count++) compile(f, second(car(rest)), false);
    compile_call(f, count, tail);
    unbind(f, outside, tail);
}

void compile_let(struct function *f, value form, bool tail)
{
    need_list(f, form, 3, "let");
    if (is_kind(second(form), KIND_SYMBOL)) {
        compile_named_let(f, form, tail);
        return;
    }
    uint32_t outside = f->variables.count, slot = f->depth;
    need_bindings(f, second(form));
    for (value rest = second(form); is_pair(rest); rest = cdr(rest)) compile_named(f, car(car(rest)), second(car(rest)));
    /* Only now do the names come into sight. */
    for (value rest = second(form); is_pair(rest); rest = cdr(rest), slot++) {
        value name = car(car(rest));
        struct variable variable = {name, slot, is_assigned(f, name)};
        APPEND(f->vm, f->variables, variable);
        if (variable.boxed) emit(f, OP_MAKE_BOX, slot, 0);
    }
    compile_body(f, after_second(form), tail);
    unbind(f, outside, tail);
}

void binding_init(struct vm *vm)
{
    define_name = intern(vm, "define");
    lambda_name = intern(vm, "lambda");
}
