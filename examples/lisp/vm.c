/* The machine. Each thread has its own struct vm, and the threads share only the heap.
 *
 * A call of a closure enters a frame and a return leaves it, all in the C function execute.
 * Recursion in Scheme uses no C stack. However deep it goes, the collector asks the thread only
 * for its top frames, and scans the others while the thread runs.
 *
 * The machine caches the address of the running code. The address is invalid after a safepoint
 * (rule 5), so every instruction that may be a safepoint ends with refresh().
 *
 * Frames of `catch` and call/ec are marked and form a list, the innermost first (vm->mark).
 * Raising an error and calling an escape search this list for their target, pop every frame
 * above it (coex_gc_unwind_to), and longjmp to the activation that owns the frame. C functions
 * in between are abandoned. */
#include "bytecode.h"

#include <stdarg.h>
#include <stdlib.h>

/* Procedures in bytecode, and what must be there when memory is not. Global roots. */
enum { ROOT_BASE, ROOT_CATCH, ROOT_FAILED, ROOT_OUT_OF_MEMORY, ROOT_COUNT };
static value roots[ROOT_COUNT];

/* Half a million calls or so. Coex gives a thread 16 million slots, so the end of them is an error of the language, and not of the
 * runtime, which would have to abort. */
#define STACK_SLOTS ((size_t)4 << 20)

struct machine {
    struct vm *vm;
    value *slots, *sp;
    uint32_t pc;
    const struct code *code; /* these two are dead after a safepoint */
    const uint32_t *instructions;
};

static struct code *code_of(value closure) { return coex_gc_handle_deref(coex_gc_load(closure, offsetof(struct closure, code))); }

static void refresh(struct machine *m)
{
    struct code *code = code_of(m->slots[SLOT_CLOSURE]);
    m->code = code;
    m->instructions = code_instructions(code);
}

/* ------------------------------------------------------------------- links */

/* Where a caller goes on: its next instruction, its operands, and how far below it is. An immediate, so it may stand in a slot. */
static value make_link(uint32_t pc, ptrdiff_t operands, ptrdiff_t distance)
{
    return COEX_IMMEDIATE((uint64_t)pc << 36 | (uint64_t)operands << 18 | (uint64_t)distance);
}

static void return_value(struct machine *m)
{
    value result = m->sp[-1];
    uint64_t link = coex_immediate_bits(m->slots[SLOT_LINK]);
    coex_gc_leave_frame(m->slots);
    m->slots -= link & 0x3ffff;
    m->sp = m->slots + (link >> 18 & 0x3ffff);
    m->pc = (uint32_t)(link >> 36);
    *m->sp++ = result;
    refresh(m);
}

/* ------------------------------------------------------------------- calls */

static _Noreturn void arity_error(struct vm *vm, const char *expects, uint32_t wanted, uint32_t count, value callee)
{
    raise_error(vm, callee, "expects %s %u argument%s, got %u", expects, wanted, wanted == 1 ? "" : "s", count);
}

static void check_arity(struct vm *vm, value closure, uint32_t count)
{
    const struct code *code = code_of(closure);
    uint32_t required = code->parameters - code->rest;
    if (count < required || (count > required && !code->rest))
        arity_error(vm, code->rest ? "at least" : "just", required, count, closure);
}

/* The arguments as the closure wants them, rest arguments in a list; their number afterwards. A safepoint. */
static uint32_t adapt_arguments(struct machine *m, value closure, uint32_t count)
{
    check_arity(m->vm, closure, count);
    const struct code *code = code_of(closure);
    uint32_t required = code->parameters - code->rest;
    if (!code->rest) return count;
    value *arguments = m->sp - count;
    *m->sp = NIL; /* the slot to spare */
    for (uint32_t i = count; i > required; i--) *m->sp = cons(m->vm, arguments[i - 1], *m->sp);
    arguments[required] = *m->sp;
    m->sp = arguments + required + 1;
    return required + 1;
}

/* Frame, closure and arguments of a procedure that begins. `handles` is C memory: nothing is lost when a tail call leaves the frame
 * that the arguments were in, because leaving is no safepoint and enter_frame_with stores them before it is one. */
static void begin(struct machine *m, value *handles, uint32_t count, bool tail)
{
    uint32_t frame = code_of(handles[SLOT_CLOSURE])->frame;
    value *caller = m->slots;
    if (m->sp + MAX_FRAME + frame > m->vm->limit) raise_error(m->vm, 0, "recursion is too deep");
    handles[SLOT_LINK] = caller[SLOT_LINK]; /* unless it is set below */
    if (tail) coex_gc_leave_frame(caller);
    m->slots = coex_gc_enter_frame_with(frame, SLOT_FIRST + count, handles);
    if (!tail) m->slots[SLOT_LINK] = make_link(m->pc, m->sp - caller, m->slots - caller);
    m->sp = m->slots + SLOT_FIRST + count;
    m->pc = 0;
    refresh(m);
}

static void call_closure(struct machine *m, value closure, uint32_t count, bool tail)
{
    value handles[SLOT_FIRST + MAX_PARAMETERS];
    count = adapt_arguments(m, closure, count);
    handles[SLOT_CLOSURE] = closure;
    memcpy(handles + SLOT_FIRST, m->sp - count, count * sizeof(value));
    m->sp -= count + 1;
    begin(m, handles, count, tail);
}

static void check_primitive_arity(struct vm *vm, value primitive, const struct definition *definition, uint32_t count)
{
    uint32_t least = (uint32_t)definition->least, most = definition->most < 0 ? UINT32_MAX : (uint32_t)definition->most;
    if (count < least) arity_error(vm, least == most ? "just" : "at least", least, count, primitive);
    if (count > most) arity_error(vm, least == most ? "just" : "at most", most, count, primitive);
}

static value call_primitive(struct vm *vm, value primitive, uint32_t count, const value *arguments)
{
    const struct primitive *payload = coex_gc_handle_deref(primitive);
    const struct definition *definition = primitive_at(payload->index);
    check_primitive_arity(vm, primitive, definition, count);
    vm->who = definition->name;
    value result = definition->function(vm, count, arguments);
    vm->who = NULL;
    return result;
}

static _Noreturn void call_escape(struct vm *vm, value escape, uint32_t count, const value *arguments);

/* Calls what is no closure. The result is not rooted. */
static value call_other(struct vm *vm, value callee, uint32_t count, const value *arguments)
{
    if (is_kind(callee, KIND_PRIMITIVE)) return call_primitive(vm, callee, count, arguments);
    if (is_kind(callee, KIND_ESCAPE)) call_escape(vm, callee, count, arguments);
    raise_error(vm, callee, "not a procedure");
}

static void call(struct machine *m, uint32_t count, bool tail)
{
    value callee = m->sp[-(int64_t)count - 1];
    if (is_kind(callee, KIND_CLOSURE)) {
        call_closure(m, callee, count, tail);
        return;
    }
    value result = call_other(m->vm, callee, count, m->sp - count);
    m->sp -= count;
    m->sp[-1] = result;
    if (tail)
        return_value(m);
    else
        refresh(m);
}

/* A list as arguments of what is no closure: they get a frame for the time of the call. */
static value apply_other(struct machine *m, value callee, value list, uint32_t count)
{
    struct vm *vm = m->vm;
    if (m->sp + MAX_FRAME > vm->limit || count > (size_t)(vm->limit - m->sp - MAX_FRAME))
        raise_error(vm, callee, "%u arguments are too many for", count);
    value *slots = coex_gc_enter_frame(count);
    for (uint32_t i = 0; i < count; i++, list = cdr(list)) slots[i] = car(list);
    value result = call_other(vm, callee, count, slots);
    coex_gc_leave_frame(slots);
    return result;
}

/* The list is shared: pairs are immutable, so the rest parameter may be its tail. */
static void tail_apply(struct machine *m)
{
    value callee = m->sp[-2], list = m->sp[-1];
    uint32_t count = 0;
    for (value rest = list; is_pair(rest); rest = cdr(rest)) count++;
    if (!is_kind(callee, KIND_CLOSURE)) {
        value result = apply_other(m, callee, list, count);
        m->sp[-1] = result;
        return_value(m);
        return;
    }
    value handles[SLOT_FIRST + MAX_PARAMETERS];
    handles[SLOT_CLOSURE] = callee;
    check_arity(m->vm, callee, count);
    const struct code *code = code_of(callee);
    for (uint32_t i = 0; i < code->parameters - code->rest; i++, list = cdr(list)) handles[SLOT_FIRST + i] = car(list);
    if (code->rest) handles[SLOT_FIRST + code->parameters - 1] = list;
    begin(m, handles, code->parameters, true);
}

/* -------------------------------------------------------- marks and throws */

/* A frame of catch or call/ec. Its operands begin behind these. */
enum { MARK_BODY = SLOT_FIRST, MARK_TARGET, MARK_OUTER, MARK_IS_CATCH, MARK_OPERANDS, MARK_FRAME = MARK_OPERANDS + 3 };

/* catch: target is the handler. call/ec: target is the escape. */
static const uint32_t catch_code[] = {
    OP_MARK | 1 << 8, OP_LOCAL | MARK_BODY << 8, OP_CALL, OP_UNMARK,
    OP_RETURN,        OP_TAIL_CALL | 1 << 8, /* a landing: handler and condition are the operands */
};
static const uint32_t escape_code[] = {
    OP_MARK | 0 << 8, OP_LOCAL | MARK_BODY << 8, OP_LOCAL | MARK_TARGET << 8, OP_CALL | 1 << 8, OP_UNMARK,
    OP_RETURN, /* a landing: the value is the operand */
};
enum { CATCH_LANDING = 5, ESCAPE_LANDING = 4 };

static value *outer_mark(const value *mark) { return (value *)(uintptr_t)coex_immediate_bits(mark[MARK_OUTER]); }

static void mark(struct machine *m, bool is_catch)
{
    void *payload;
    if (!is_catch) m->slots[MARK_TARGET] = new_object(m->vm, KIND_ESCAPE, sizeof(struct escape), &payload);
    m->slots[MARK_OUTER] = COEX_IMMEDIATE((uintptr_t)m->vm->mark);
    m->slots[MARK_IS_CATCH] = from_bool(is_catch);
    m->sp = m->slots + MARK_OPERANDS;
    m->vm->mark = m->slots;
    refresh(m);
}

/* From the unwinding to the landing there is no safepoint: the operands may be C variables. */
static _Noreturn void land_in(struct vm *vm, value *target, uint32_t pc, unsigned count, const value *operands)
{
    coex_gc_unwind_to(target);
    struct activation *activation = vm->activation;
    for (; target < activation->base; activation = activation->outer) vm->activations--;
    for (unsigned i = 0; i < count; i++) target[MARK_OPERANDS + i] = operands[i];
    vm->activation = activation;
    vm->who = NULL;
    vm->resume = (struct registers){target, target + MARK_OPERANDS + count, pc};
    longjmp(activation->landing, 1);
}

void raise_value(struct vm *vm, value condition)
{
    value *target = vm->mark;
    while (target != NULL && target[MARK_IS_CATCH] != TRUE) target = outer_mark(target);
    if (target == NULL) { /* everything but the start runs within vm_try */
        fputs("lisp: out of memory\n", stderr);
        exit(1);
    }
    vm->mark = outer_mark(target);
    land_in(vm, target, CATCH_LANDING, 2, (value[]){target[MARK_TARGET], condition});
}

static void call_escape(struct vm *vm, value escape, uint32_t count, const value *arguments)
{
    value *target = vm->mark;
    while (target != NULL && (target[MARK_IS_CATCH] == TRUE || target[MARK_TARGET] != escape)) target = outer_mark(target);
    if (target == NULL) raise_error(vm, 0, "an escape is called after its call/ec has returned, or in another thread");
    vm->mark = target;
    value result = count > 0 ? arguments[0] : UNSPECIFIED;
    land_in(vm, target, ESCAPE_LANDING, 1, &result);
}

/* ---------------------------------------------------------------- the loop */

static void make_closure(struct machine *m, value code)
{
    void *payload;
    uint32_t captures = ((const struct code *)coex_gc_handle_deref(code))->captures;
    value closure = new_object(m->vm, KIND_CLOSURE, sizeof(struct closure) + captures * sizeof(value), &payload);
    ((struct closure *)payload)->code = code; /* a constant of the running code: alive */
    memcpy(((struct closure *)payload)->free, m->sp - captures, captures * sizeof(value));
    m->sp -= captures;
    *m->sp++ = closure;
    refresh(m);
}

static void make_box(struct machine *m, uint32_t slot)
{
    m->slots[slot] = new_box(m->vm, KIND_BOX, m->slots[slot]);
    refresh(m);
}

static value captured(const struct machine *m, uint32_t n)
{
    return coex_gc_load(m->slots[SLOT_CLOSURE], offsetof(struct closure, free) + n * sizeof(value));
}

static value unboxed(const struct machine *m, value box)
{
    value v = box_get(box);
    if (v == UNDEFINED) raise_error(m->vm, 0, "a variable is used before it has a value");
    return v;
}

static value global(const struct machine *m, value symbol)
{
    value v = symbol_global(symbol);
    if (v == 0) raise_error(m->vm, symbol, "no such variable");
    return v;
}

static void set_global(struct machine *m, value symbol)
{
    global(m, symbol);
    symbol_define(symbol, *--m->sp);
}

static value execute(struct vm *vm)
{
    struct machine machine = {vm, vm->resume.slots, vm->resume.sp, vm->resume.pc, NULL, NULL}, *m = &machine;
    refresh(m);
    for (;;) {
        uint32_t word = m->instructions[m->pc++], n = word >> 8;
        /* clang-format off */
        switch ((enum operation)(word & 0xff)) {
        case OP_CONSTANT: *m->sp++ = m->code->constant[n]; break;
        case OP_LOCAL: *m->sp++ = m->slots[n]; break;
        case OP_LOCAL_BOX: *m->sp++ = unboxed(m, m->slots[n]); break;
        case OP_FREE: *m->sp++ = captured(m, n); break;
        case OP_FREE_BOX: *m->sp++ = unboxed(m, captured(m, n)); break;
        case OP_GLOBAL: *m->sp++ = global(m, m->code->constant[n]); break;
        case OP_SET_LOCAL_BOX: box_set(m->slots[n], *--m->sp); break;
        case OP_SET_FREE_BOX: box_set(captured(m, n), *--m->sp); break;
        case OP_SET_GLOBAL: set_global(m, m->code->constant[n]); break;
        case OP_DEFINE_GLOBAL: symbol_define(m->code->constant[n], *--m->sp); break;
        case OP_MAKE_BOX: make_box(m, n); break;
        case OP_MAKE_CLOSURE: make_closure(m, m->code->constant[n]); break;
        case OP_POP: m->sp--; break;
        case OP_SLIDE: m->sp -= n; m->sp[-1] = m->sp[n - 1]; break;
        case OP_SAME: m->sp--; m->sp[-1] = from_bool(m->sp[-1] == m->sp[0]); break;
        case OP_JUMP: m->pc = n; break;
        case OP_JUMP_IF_FALSE: m->pc = *--m->sp == FALSE ? n : m->pc; break;
        case OP_JUMP_IF_TRUE:
            if (m->sp[-1] != FALSE)
                m->pc = n;
            else
                m->sp--;
            break;
        case OP_CALL: call(m, n, false); break;
        case OP_TAIL_CALL: call(m, n, true); break;
        case OP_TAIL_APPLY: tail_apply(m); break;
        case OP_RETURN: return_value(m); break;
        case OP_MARK: mark(m, n == 1); break;
        case OP_UNMARK: vm->mark = outer_mark(m->slots); break;
        case OP_HALT: return m->sp[-1];
        }
        /* clang-format on */
    }
}

/* ------------------------------------------------------------------ from C */

/* Calls with 0 to 3 arguments; vm_call begins at instruction 2 * count. */
static const uint32_t base_code[] = {OP_CALL,          OP_HALT, OP_CALL | 1 << 8, OP_HALT,
                                     OP_CALL | 2 << 8, OP_HALT, OP_CALL | 3 << 8, OP_HALT};
enum { BASE_OPERANDS = 1 + MAX_CALL_ARGUMENTS, BASE_FRAME = SLOT_FIRST + BASE_OPERANDS + 1 };

value vm_call(struct vm *vm, value procedure, unsigned count, const value *arguments)
{
    value handles[SLOT_FIRST + BASE_OPERANDS] = {coex_gc_global_load(&roots[ROOT_BASE]), NIL, procedure};
    if (vm->activations == MAX_ACTIVATIONS) raise_error(vm, 0, "too many calls within each other");
    if (count > 0) memcpy(handles + SLOT_FIRST + 1, arguments, count * sizeof(value));
    struct activation activation = {.outer = vm->activation};
    value *slots = activation.base = coex_gc_enter_frame_with(BASE_FRAME, SLOT_FIRST + 1 + count, handles);
    vm->activation = &activation;
    vm->activations++;
    vm->resume = (struct registers){slots, slots + SLOT_FIRST + 1 + count, 2 * count};
    setjmp(activation.landing); /* first to begin, then for each landing */
    value result = execute(vm);
    vm->activation = activation.outer;
    vm->activations--;
    coex_gc_leave_frame(activation.base);
    return result;
}

value vm_try(struct vm *vm, value thunk)
{
    value arguments[] = {thunk, coex_gc_global_load(&roots[ROOT_FAILED])};
    return vm_call(vm, coex_gc_global_load(&roots[ROOT_CATCH]), 2, arguments);
}

value vm_eval(struct vm *vm, value form) { return vm_call(vm, compile_toplevel(vm, form), 0, NULL); }

void vm_enter(struct vm *vm)
{
    *vm = (struct vm){0};
    value *slots = coex_gc_enter_frame(0);
    vm->limit = slots + STACK_SLOTS;
    coex_gc_leave_frame(slots);
}

void vm_leave(struct vm *vm) { arena_clear(vm); }

/* A closure of hand-written code. */
static value assemble(struct vm *vm, const char *name, const struct code *head, const uint32_t *instructions)
{
    void *payload;
    value *slots = coex_gc_enter_frame(1);
    value symbol = intern(vm, name);
    slots[0] = new_object(vm, KIND_CODE, sizeof *head + head->instructions * sizeof(uint32_t), &payload);
    *(struct code *)payload = *head;
    ((struct code *)payload)->name = symbol;
    memcpy(code_instructions(payload), instructions, head->instructions * sizeof(uint32_t));
    value closure = new_object(vm, KIND_CLOSURE, sizeof(struct closure), &payload);
    ((struct closure *)payload)->code = slots[0];
    coex_gc_leave_frame(slots);
    return closure;
}

static void define_root(int index, value v)
{
    coex_gc_add_global_root(&roots[index]);
    coex_gc_global_store(&roots[index], v);
}

static void define_assembled(struct vm *vm, const char *name, const struct code *head, const uint32_t *instructions)
{
    value symbol = intern(vm, name); /* first: assemble gives an object that has no root yet */
    symbol_define(symbol, assemble(vm, name, head, instructions));
}

#define LENGTH(array) ((uint32_t)(sizeof(array) / sizeof *(array)))

void vm_init(struct vm *vm)
{
    static const uint32_t apply_code[] = {OP_LOCAL | SLOT_FIRST << 8, OP_LOCAL | (SLOT_FIRST + 1) << 8, OP_TAIL_APPLY};
    struct code base = {.frame = BASE_FRAME, .instructions = LENGTH(base_code)};
    struct code catch = {.parameters = 2, .frame = MARK_FRAME, .instructions = LENGTH(catch_code)};
    struct code escape = {.parameters = 1, .frame = MARK_FRAME, .instructions = LENGTH(escape_code)};
    struct code apply = {.parameters = 2, .frame = SLOT_FIRST + 5, .instructions = LENGTH(apply_code)};
    define_root(ROOT_BASE, assemble(vm, "base", &base, base_code));
    define_root(ROOT_CATCH, assemble(vm, "catch", &catch, catch_code));
    define_assembled(vm, "call/ec", &escape, escape_code);
    define_assembled(vm, "%apply", &apply, apply_code);
    symbol_define(intern(vm, "%catch"), coex_gc_global_load(&roots[ROOT_CATCH]));
    define_root(ROOT_FAILED, symbol_global(intern(vm, "%failed")));

    value *slots = coex_gc_enter_frame(1);
    void *payload;
    slots[0] = new_string(vm, "out of memory", 13);
    value condition = new_object(vm, KIND_CONDITION, sizeof(struct condition), &payload);
    *(struct condition *)payload = (struct condition){slots[0], NIL};
    define_root(ROOT_OUT_OF_MEMORY, condition);
    coex_gc_leave_frame(slots);
}

/* ------------------------------------------------------------------ errors */

void raise_out_of_memory(struct vm *vm) { raise_value(vm, coex_gc_global_load(&roots[ROOT_OUT_OF_MEMORY])); }

void raise_error(struct vm *vm, value irritant, const char *format, ...)
{
    char message[256];
    int length = vm->who != NULL ? snprintf(message, sizeof message, "%s: ", vm->who) : 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message + length, sizeof message - (size_t)length, format, arguments);
    va_end(arguments);

    void *payload;
    value *slots = coex_gc_enter_frame_with(2, 1, &irritant); /* raise_value leaves it */
    slots[1] = new_string(vm, message, strlen(message));
    slots[0] = irritant != 0 ? cons(vm, irritant, NIL) : NIL;
    value condition = new_object(vm, KIND_CONDITION, sizeof(struct condition), &payload);
    *(struct condition *)payload = (struct condition){slots[1], slots[0]};
    raise_value(vm, condition);
}

int64_t need_integer(struct vm *vm, value v)
{
    if (!is_integer(v)) raise_error(vm, v, "not an integer");
    return to_integer(v);
}

uint64_t need_index(struct vm *vm, value v, uint64_t limit)
{
    int64_t n = need_integer(vm, v);
    if (n < 0 || (uint64_t)n >= limit) raise_error(vm, v, "out of range");
    return (uint64_t)n;
}
