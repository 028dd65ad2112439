/* The compiler: variables, procedures and calls. compile.h describes how its roots are kept.
 * Each thread has its own compiler. */
#include "compile.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ memory */

struct chunk {
    struct chunk *next;
    size_t size;
    _Alignas(16) char bytes[];
};

void *arena_take(struct vm *vm, size_t bytes)
{
    enum { CHUNK = 64 * 1024 };
    struct arena *arena = &vm->arena;
    bytes = (bytes + 15) & ~(size_t)15;
    if (arena->chunks == NULL || arena->chunks->size - arena->used < bytes) {
        size_t size = bytes > CHUNK ? bytes : CHUNK;
        struct chunk *chunk = malloc(sizeof *chunk + size);
        if (chunk == NULL) raise_out_of_memory(vm);
        *chunk = (struct chunk){.next = arena->chunks, .size = size};
        arena->chunks = chunk;
        arena->used = 0;
    }
    arena->used += bytes;
    return arena->chunks->bytes + arena->used - bytes;
}

void arena_clear(struct vm *vm)
{
    while (vm->arena.chunks != NULL) {
        struct chunk *next = vm->arena.chunks->next;
        free(vm->arena.chunks);
        vm->arena.chunks = next;
    }
}

void *compile_grow(struct vm *vm, void *items, size_t size, uint32_t count, uint32_t *capacity)
{
    if (count < *capacity) return items;
    *capacity = count * 2 + 8;
    void *grown = arena_take(vm, *capacity * size);
    if (count > 0) memcpy(grown, items, count * size);
    return grown;
}

/* -------------------------------------------------------------------- code */

void syntax_error(struct function *f, value form, const char *what) { raise_error(f->vm, form, "syntax: %s", what); }

void need_list(struct function *f, value form, uint32_t least, const char *what)
{
    uint32_t count = 0;
    value rest = form;
    for (; is_pair(rest); rest = cdr(rest)) count++;
    if (rest != NIL || count < least) syntax_error(f, form, what);
}

void emit(struct function *f, enum operation operation, uint32_t n, int change)
{
    f->depth = (uint32_t)((int)f->depth + change);
    if (f->depth > f->frame) f->frame = f->depth;
    if (f->frame > MAX_FRAME || n >= MAX_OPERAND || f->code.count >= MAX_OPERAND) syntax_error(f, 0, "a procedure is too large");
    APPEND(f->vm, f->code, instruction(operation, n));
}

/* A slot for each constant, in the order of their indices. One that was met long ago gets another slot: a procedure may have a million,
 * and comparing each with all others would take for ever. */
uint32_t constant_index(struct function *f, value v)
{
    enum { LOOK_BACK = 512 };
    uint32_t first = f->constant_count > LOOK_BACK ? f->constant_count - LOOK_BACK : 0;
    for (uint32_t i = first; i < f->constant_count; i++) {
        if (f->constants[i] == v) return i;
    }
    if (f->constants + f->constant_count >= f->vm->limit) syntax_error(f, 0, "a procedure is too large");
    coex_gc_root(v);
    return f->constant_count++;
}

void emit_constant(struct function *f, value v) { emit(f, OP_CONSTANT, constant_index(f, v), 1); }

uint32_t emit_jump(struct function *f, enum operation operation, int change)
{
    emit(f, operation, 0, change);
    return f->code.count - 1;
}

void emit_label(struct function *f, uint32_t jump) { f->code.items[jump] |= f->code.count << 8; }

void emit_return(struct function *f, bool tail)
{
    if (tail) emit(f, OP_RETURN, 0, 0);
}

/* --------------------------------------------------------------- variables */

bool is_assigned(const struct function *f, value name)
{
    for (uint32_t i = 0; i < f->assigned->count; i++) {
        if (f->assigned->items[i] == name) return true;
    }
    return false;
}

/* Every name after a set! in the form, wherever it stands: a few variables too many get a box, and none too few. */
static void find_assigned(struct function *f, struct names *names, value x, value set, unsigned depth)
{
    if (depth > MAX_NESTING) syntax_error(f, 0, "too deeply nested");
    if (is_pair(x) && car(x) == set && is_pair(cdr(x))) APPEND(f->vm, *names, car(cdr(x)));
    for (; is_pair(x); x = cdr(x)) find_assigned(f, names, car(x), set, depth + 1);
}

void bind(struct function *f, value name, bool boxed)
{
    struct variable variable = {name, f->depth - 1, boxed};
    APPEND(f->vm, f->variables, variable);
    if (boxed) emit(f, OP_MAKE_BOX, variable.slot, 0);
}

void unbind(struct function *f, uint32_t count, bool tail)
{
    uint32_t dropped = f->variables.count - count;
    f->variables.count = count;
    if (dropped > 0 && !tail)
        emit(f, OP_SLIDE, dropped, -(int)dropped);
    else
        f->depth -= dropped;
}

struct place {
    enum { PLACE_LOCAL, PLACE_FREE, PLACE_GLOBAL } where;
    uint32_t index;
    bool boxed;
};

/* Where a name is found; what an outer procedure has becomes a capture of all between. */
static struct place resolve(struct function *f, value name)
{
    for (uint32_t i = f->variables.count; i-- > 0;) {
        const struct variable *variable = &f->variables.items[i];
        if (variable->name == name) return (struct place){PLACE_LOCAL, variable->slot, variable->boxed};
    }
    for (uint32_t i = 0; i < f->captures.count; i++) {
        if (f->captures.items[i].name == name) return (struct place){PLACE_FREE, i, f->captures.items[i].boxed};
    }
    struct place outside = f->outer != NULL ? resolve(f->outer, name) : (struct place){PLACE_GLOBAL, 0, false};
    if (outside.where == PLACE_GLOBAL) return outside;
    struct capture capture = {name, outside.index, outside.where == PLACE_LOCAL, outside.boxed};
    APPEND(f->vm, f->captures, capture);
    return (struct place){PLACE_FREE, f->captures.count - 1, capture.boxed};
}

bool is_local_name(struct function *f, value name) { return resolve(f, name).where != PLACE_GLOBAL; }

void push_variable(struct function *f, value name)
{
    struct place place = resolve(f, name);
    if (place.where == PLACE_GLOBAL)
        emit(f, OP_GLOBAL, constant_index(f, name), 1);
    else if (place.where == PLACE_LOCAL)
        emit(f, place.boxed ? OP_LOCAL_BOX : OP_LOCAL, place.index, 1);
    else
        emit(f, place.boxed ? OP_FREE_BOX : OP_FREE, place.index, 1);
}

void set_variable(struct function *f, value name)
{
    struct place place = resolve(f, name);
    if (place.where == PLACE_GLOBAL)
        emit(f, OP_SET_GLOBAL, constant_index(f, name), -1);
    else
        emit(f, place.where == PLACE_LOCAL ? OP_SET_LOCAL_BOX : OP_SET_FREE_BOX, place.index, -1);
}

/* -------------------------------------------------------------- procedures */

/* The code object. What it is made from is in C memory and in the slots of the frame on top, so nothing needs another root. */
static value finish(struct function *f, value name)
{
    void *payload;
    size_t constants = f->constant_count * sizeof(value), instructions = f->code.count * sizeof(uint32_t);
    value result = new_object(f->vm, KIND_CODE, sizeof(struct code) + constants + instructions, &payload);
    struct code *code = payload;
    *code = (struct code){
        .name = name,
        .parameters = f->parameters,
        .rest = f->rest,
        .frame = f->frame + 1, /* one to spare, for collecting rest arguments of a call */
        .captures = f->captures.count,
        .constants = f->constant_count,
        .instructions = f->code.count,
    };
    memcpy(code->constant, f->constants, constants);
    memcpy(code_instructions(code), f->code.items, instructions);
    return result;
}

static void add_parameter(struct function *f, value name)
{
    if (!is_kind(name, KIND_SYMBOL)) syntax_error(f, name, "a parameter is not a name");
    if (++f->parameters > MAX_PARAMETERS) syntax_error(f, name, "too many parameters");
    f->depth++;
    f->frame = f->depth;
    bind(f, name, is_assigned(f, name));
}

static void add_parameters(struct function *f, enum parameters style, value parameters)
{
    if (style == FIRST_PARAMETER) {
        add_parameter(f, car(parameters));
        return;
    }
    for (; is_pair(parameters); parameters = cdr(parameters))
        add_parameter(f, style == BINDINGS ? car(car(parameters)) : car(parameters));
    f->rest = parameters != NIL;
    if (f->rest) add_parameter(f, parameters);
}

static void push_captures(struct function *f, const struct captures *captures)
{
    for (uint32_t i = 0; i < captures->count; i++)
        emit(f, captures->items[i].is_local ? OP_LOCAL : OP_FREE, captures->items[i].index, 1);
}

void compile_lambda(struct function *f, value name, enum parameters style, value parameters, value body, body_compiler *special)
{
    struct function inner = {
        .vm = f->vm, .outer = f, .assigned = f->assigned, .nesting = f->nesting, .depth = SLOT_FIRST, .frame = SLOT_FIRST};
    inner.constants = coex_gc_enter_frame(0);
    add_parameters(&inner, style, parameters);
    (special != NULL ? special : compile_body)(&inner, body, true);
    value code = finish(&inner, name);
    coex_gc_leave_frame(inner.constants);
    uint32_t index = constant_index(f, code); /* roots it: f's frame is on top again */
    push_captures(f, &inner.captures);
    emit(f, OP_MAKE_CLOSURE, index, 1 - (int)inner.captures.count);
}

/* ------------------------------------------------------------- expressions */

void compile_call(struct function *f, uint32_t count, bool tail) { emit(f, tail ? OP_TAIL_CALL : OP_CALL, count, -(int)count); }

static void compile_application(struct function *f, value form, bool tail)
{
    uint32_t count = 0;
    need_list(f, form, 1, "a call is not a list");
    compile(f, car(form), false);
    for (value rest = cdr(form); is_pair(rest); rest = cdr(rest), count++) compile(f, car(rest), false);
    compile_call(f, count, tail);
}

void compile(struct function *f, value x, bool tail)
{
    if (++f->nesting > MAX_NESTING) syntax_error(f, 0, "too deeply nested");
    bool symbol_first = is_pair(x) && is_kind(car(x), KIND_SYMBOL);
    form_compiler *special = symbol_first && !is_local_name(f, car(x)) ? form_find(car(x)) : NULL;
    if (special != NULL) {
        special(f, x, tail);
    } else if (is_pair(x)) {
        compile_application(f, x, tail);
    } else {
        if (is_kind(x, KIND_SYMBOL))
            push_variable(f, x);
        else
            emit_constant(f, x);
        emit_return(f, tail);
    }
    f->nesting--;
}

void compile_sequence(struct function *f, value forms, bool tail)
{
    for (; is_pair(cdr(forms)); forms = cdr(forms)) {
        compile(f, car(forms), false);
        emit(f, OP_POP, 0, -1);
    }
    compile(f, car(forms), tail);
}

value compile_toplevel(struct vm *vm, value form)
{
    vm->who = NULL;
    arena_clear(vm);
    struct names assigned = {0};
    struct function f = {.vm = vm, .assigned = &assigned, .depth = SLOT_FIRST, .frame = SLOT_FIRST};
    f.constants = coex_gc_enter_frame(0);
    find_assigned(&f, &assigned, form, intern(vm, "set!"), 0);
    compile(&f, form, true);
    constant_index(&f, finish(&f, FALSE)); /* a root for it, nothing more */
    void *payload;
    value closure = new_object(vm, KIND_CLOSURE, sizeof(struct closure), &payload);
    ((struct closure *)payload)->code = f.constants[f.constant_count - 1];
    coex_gc_leave_frame(f.constants);
    return closure;
}

void compile_init(struct vm *vm) { forms_init(vm); }
