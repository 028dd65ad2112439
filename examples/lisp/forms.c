/* The compiler: special forms that bind no variables, and the table of all special forms. No
 * form is rewritten into another form, so the compiler creates no new objects that it would have
 * to root. */
#include "compile.h"

/* ------------------------------------------------------------------- basic */

static void compile_quote(struct function *f, value form, bool tail)
{
    need_list(f, form, 2, "quote");
    emit_constant(f, second(form));
    emit_return(f, tail);
}

/* The code for one branch is written, and the depth counts its value: now for the other. */
static uint32_t emit_else(struct function *f, uint32_t jump_if_false, bool tail)
{
    uint32_t end = tail ? 0 : emit_jump(f, OP_JUMP, 0);
    f->depth--;
    emit_label(f, jump_if_false);
    return end;
}

static void emit_end_if(struct function *f, uint32_t end, bool tail)
{
    if (!tail) emit_label(f, end);
}

void push_nothing(struct function *f, bool tail)
{
    emit_constant(f, UNSPECIFIED);
    emit_return(f, tail);
}

static void compile_if(struct function *f, value form, bool tail)
{
    need_list(f, form, 3, "if");
    compile(f, second(form), false);
    uint32_t otherwise = emit_jump(f, OP_JUMP_IF_FALSE, -1);
    compile(f, third(form), tail);
    uint32_t end = emit_else(f, otherwise, tail);
    value rest = cdr(after_second(form));
    if (is_pair(rest))
        compile(f, car(rest), tail);
    else
        push_nothing(f, tail);
    emit_end_if(f, end, tail);
}

static void when_or_unless(struct function *f, value form, bool tail, bool when)
{
    need_list(f, form, 3, when ? "when" : "unless");
    compile(f, second(form), false);
    uint32_t otherwise = emit_jump(f, OP_JUMP_IF_FALSE, -1);
    when ? compile_sequence(f, after_second(form), tail) : push_nothing(f, tail);
    uint32_t end = emit_else(f, otherwise, tail);
    when ? push_nothing(f, tail) : compile_sequence(f, after_second(form), tail);
    emit_end_if(f, end, tail);
}

static void compile_when(struct function *f, value form, bool tail) { when_or_unless(f, form, tail, true); }
static void compile_unless(struct function *f, value form, bool tail) { when_or_unless(f, form, tail, false); }

static void compile_begin(struct function *f, value form, bool tail)
{
    need_list(f, form, 1, "begin");
    if (cdr(form) == NIL)
        push_nothing(f, tail);
    else
        compile_sequence(f, cdr(form), tail);
}

/* Jumps that meet at one place further on. A form may have any number of clauses, so that they are compiled in a loop, and their jumps
 * are kept in the arena. */
static void emit_labels(struct function *f, const struct words *jumps)
{
    for (uint32_t i = 0; i < jumps->count; i++) emit_label(f, jumps->items[i]);
}

/* A form without any: its value is a constant. */
static void push_constant(struct function *f, value v, bool tail)
{
    emit_constant(f, v);
    emit_return(f, tail);
}

static void compile_and(struct function *f, value form, bool tail)
{
    need_list(f, form, 1, "and");
    struct words otherwise = {0};
    value rest = cdr(form);
    if (rest == NIL) {
        push_constant(f, TRUE, tail);
        return;
    }
    for (; cdr(rest) != NIL; rest = cdr(rest)) {
        compile(f, car(rest), false);
        APPEND(f->vm, otherwise, emit_jump(f, OP_JUMP_IF_FALSE, -1));
    }
    compile(f, car(rest), tail);
    if (otherwise.count == 0) return;
    uint32_t end = tail ? 0 : emit_jump(f, OP_JUMP, 0);
    f->depth--;
    emit_labels(f, &otherwise);
    push_constant(f, FALSE, tail);
    emit_end_if(f, end, tail);
}

static void compile_or(struct function *f, value form, bool tail)
{
    need_list(f, form, 1, "or");
    struct words found = {0};
    value rest = cdr(form);
    if (rest == NIL) {
        push_constant(f, FALSE, tail);
        return;
    }
    for (; cdr(rest) != NIL; rest = cdr(rest)) {
        compile(f, car(rest), false);
        APPEND(f->vm, found, emit_jump(f, OP_JUMP_IF_TRUE, -1));
    }
    compile(f, car(rest), tail);
    emit_labels(f, &found);
    if (found.count > 0) emit_return(f, tail);
}

/* ------------------------------------------------------- cond, case, guard */

/* What comes after the last clause. */
typedef void fallback(struct function *f, bool tail);

static value else_name, arrow_name;

/* (test => procedure): the value of the test is a variable without a name. */
static void compile_arrow(struct function *f, value procedure, bool tail)
{
    uint32_t outside = f->variables.count, slot = f->depth - 1;
    bind(f, 0, false);
    compile(f, procedure, false);
    emit(f, OP_LOCAL, slot, 1);
    compile_call(f, 1, tail);
    unbind(f, outside, tail);
}

/* The ends of clauses, where the value is on top. */
struct ends {
    struct words jumps;
    bool found; /* one of them comes from a test whose value is the clause's */
};

/* One branch is written: on to the next. */
static void end_clause(struct function *f, struct ends *ends, uint32_t jump_if_false, bool tail)
{
    uint32_t end = emit_else(f, jump_if_false, tail);
    if (!tail) APPEND(f->vm, ends->jumps, end);
}

static void compile_arrow_clause(struct function *f, struct ends *ends, value clause, bool tail)
{
    uint32_t slot = f->depth - 1;
    emit(f, OP_LOCAL, slot, 1);
    uint32_t skip = emit_jump(f, OP_JUMP_IF_FALSE, -1);
    compile_arrow(f, third(clause), tail);
    end_clause(f, ends, skip, tail);
    f->depth++; /* the value of the test is still there */
    emit(f, OP_POP, 0, -1);
}

static void compile_clause(struct function *f, struct ends *ends, value clause, bool tail)
{
    compile(f, car(clause), false);
    if (cdr(clause) == NIL) {
        APPEND(f->vm, ends->jumps, emit_jump(f, OP_JUMP_IF_TRUE, -1));
        ends->found = true;
    } else if (second(clause) == arrow_name && is_pair(after_second(clause))) {
        compile_arrow_clause(f, ends, clause, tail);
    } else {
        uint32_t skip = emit_jump(f, OP_JUMP_IF_FALSE, -1);
        compile_sequence(f, cdr(clause), tail);
        end_clause(f, ends, skip, tail);
    }
}

static bool is_else(struct function *f, value clause)
{
    need_list(f, clause, 1, "a clause");
    if (car(clause) != else_name) return false;
    need_list(f, clause, 2, "else");
    return true;
}

static void compile_clauses(struct function *f, value clauses, bool tail, fallback *otherwise)
{
    struct ends ends = {0};
    for (; clauses != NIL && !is_else(f, car(clauses)); clauses = cdr(clauses)) compile_clause(f, &ends, car(clauses), tail);
    if (clauses == NIL)
        otherwise(f, tail);
    else
        compile_sequence(f, cdr(car(clauses)), tail);
    emit_labels(f, &ends.jumps);
    if (ends.found) emit_return(f, tail);
}

static void compile_cond(struct function *f, value form, bool tail)
{
    need_list(f, form, 2, "cond");
    compile_clauses(f, cdr(form), tail, push_nothing);
}

/* Pushes whether the key in `slot` is one of the data. */
static void compile_member(struct function *f, uint32_t slot, value data)
{
    struct words found = {0};
    for (; data != NIL; data = cdr(data)) {
        emit(f, OP_LOCAL, slot, 1);
        emit_constant(f, car(data));
        emit(f, OP_SAME, 0, -1);
        APPEND(f->vm, found, emit_jump(f, OP_JUMP_IF_TRUE, -1));
    }
    emit_constant(f, FALSE);
    emit_labels(f, &found);
}

static void compile_case_clause(struct function *f, struct ends *ends, uint32_t slot, value clause, bool tail)
{
    need_list(f, car(clause), 0, "a clause of case");
    compile_member(f, slot, car(clause));
    uint32_t skip = emit_jump(f, OP_JUMP_IF_FALSE, -1);
    compile_sequence(f, cdr(clause), tail);
    end_clause(f, ends, skip, tail);
}

static void compile_case_clauses(struct function *f, uint32_t slot, value clauses, bool tail)
{
    struct ends ends = {0};
    for (; clauses != NIL; clauses = cdr(clauses)) {
        need_list(f, car(clauses), 2, "a clause of case");
        if (car(car(clauses)) == else_name) break;
        compile_case_clause(f, &ends, slot, car(clauses), tail);
    }
    if (clauses == NIL)
        push_nothing(f, tail);
    else
        compile_sequence(f, cdr(car(clauses)), tail);
    emit_labels(f, &ends.jumps);
}

static void compile_case(struct function *f, value form, bool tail)
{
    need_list(f, form, 3, "case");
    compile(f, second(form), false);
    uint32_t outside = f->variables.count, slot = f->depth - 1;
    bind(f, 0, false);
    compile_case_clauses(f, slot, after_second(form), tail);
    unbind(f, outside, tail);
}

/* A primitive under the name that is the compiler's alone. */
static void push_builtin(struct function *f, const char *name) { emit_constant(f, symbol_global(intern(f->vm, name))); }

/* The handler of guard has one parameter. No clause is for it: raise it once more. */
static void raise_again(struct function *f, bool tail)
{
    push_builtin(f, "%raise");
    push_variable(f, f->variables.items[0].name);
    compile_call(f, 1, tail);
}

static void compile_handler(struct function *f, value clauses, bool tail) { compile_clauses(f, clauses, tail, raise_again); }

/* (guard (e clause ...) body ...) is (catch (lambda () body ...) (lambda (e) (cond clause ... (else (raise e))))). */
static void compile_guard(struct function *f, value form, bool tail)
{
    need_list(f, form, 3, "guard");
    value handler = second(form);
    need_list(f, handler, 1, "guard");
    push_builtin(f, "%catch");
    compile_lambda(f, FALSE, PARAMETERS, NIL, after_second(form), NULL);
    compile_lambda(f, FALSE, FIRST_PARAMETER, handler, cdr(handler), compile_handler);
    compile_call(f, 2, tail);
}

static void compile_future(struct function *f, value form, bool tail)
{
    need_list(f, form, 2, "future");
    push_builtin(f, "%future");
    compile_lambda(f, FALSE, PARAMETERS, NIL, cdr(form), NULL);
    compile_call(f, 1, tail);
}

/* -------------------------------------------------------------- quasiquote */

static value unquote_name, splicing_name, quasi_name;

static bool is_form(value x, value name) { return is_pair(x) && car(x) == name && is_pair(cdr(x)); }

static void compile_template(struct function *f, value x, unsigned level);

static void compile_template_pair(struct function *f, value x, unsigned level)
{
    if (level == 1 && is_form(car(x), splicing_name)) {
        push_builtin(f, "%append");
        compile(f, second(car(x)), false);
    } else {
        push_builtin(f, "%cons");
        compile_template(f, car(x), level);
    }
    compile_template(f, cdr(x), level);
    compile_call(f, 2, false);
}

static void compile_template(struct function *f, value x, unsigned level)
{
    if (++f->nesting > MAX_NESTING) syntax_error(f, 0, "too deeply nested");
    if (!is_pair(x)) {
        emit_constant(f, x);
    } else if (is_form(x, splicing_name) && level == 1) {
        syntax_error(f, x, "nothing to splice into");
    } else if (is_form(x, unquote_name) && level == 1) {
        compile(f, second(x), false);
    } else {
        bool deeper = is_form(x, quasi_name), higher = is_form(x, unquote_name) || is_form(x, splicing_name);
        compile_template_pair(f, x, deeper ? level + 1 : higher ? level - 1 : level);
    }
    f->nesting--;
}

static void compile_quasiquote(struct function *f, value form, bool tail)
{
    need_list(f, form, 2, "quasiquote");
    compile_template(f, second(form), 1);
    emit_return(f, tail);
}

/* --------------------------------------------------------------- the table */

static const struct {
    const char *name;
    form_compiler *compile;
} forms[] = {
    {"quote", compile_quote},
    {"if", compile_if},
    {"when", compile_when},
    {"unless", compile_unless},
    {"begin", compile_begin},
    {"and", compile_and},
    {"or", compile_or},
    {"cond", compile_cond},
    {"case", compile_case},
    {"guard", compile_guard},
    {"future", compile_future},
    {"lambda", compile_lambda_form},
    {"define", compile_define},
    {"set!", compile_set},
    {"let", compile_let},
    {"let*", compile_let_star},
    {"letrec", compile_letrec},
    {"letrec*", compile_letrec},
    {"quasiquote", compile_quasiquote},
};

enum { FORMS = sizeof forms / sizeof forms[0] };

static value form_names[FORMS];

void forms_init(struct vm *vm)
{
    for (int i = 0; i < FORMS; i++) form_names[i] = intern(vm, forms[i].name);
    binding_init(vm);
    else_name = intern(vm, "else");
    arrow_name = intern(vm, "=>");
    quasi_name = intern(vm, "quasiquote");
    unquote_name = intern(vm, "unquote");
    splicing_name = intern(vm, "unquote-splicing");
}

form_compiler *form_find(value symbol)
{
    for (int i = 0; i < FORMS; i++) {
        if (form_names[i] == symbol) return forms[i].compile;
    }
    return NULL;
}
