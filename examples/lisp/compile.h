/* The declarations that the files of the compiler share. compile.c contains variables,
 * procedures and calls; binding.c and forms.c contain the special forms.
 *
 * A procedure that is being compiled is a struct function. It owns a frame of the shadow stack,
 * whose slots are its constants so far, appended by coex_gc_root. No other function of the
 * compiler enters a frame, so the top frame is always that of the innermost procedure. The
 * source needs no roots of its own: the caller roots the whole form, and pairs are immutable. */
#ifndef LISP_COMPILE_H
#define LISP_COMPILE_H

#include "bytecode.h"

struct variable {
    value name; /* a symbol, or 0: hidden */
    uint32_t slot;
    bool boxed;
};

struct capture {
    value name;
    uint32_t index; /* in the outer function: a slot, or one of its captures */
    bool is_local, boxed;
};

/* Arrays in the arena. */
/* clang-format off */
struct words { uint32_t *items; uint32_t count, capacity; };
struct names { value *items; uint32_t count, capacity; };
struct variables { struct variable *items; uint32_t count, capacity; };
struct captures { struct capture *items; uint32_t count, capacity; };
/* clang-format on */

struct function {
    struct vm *vm;
    struct function *outer;
    value *constants; /* slots of its frame */
    uint32_t constant_count;
    struct words code;
    struct variables variables; /* innermost last */
    struct captures captures;
    const struct names *assigned;      /* names that the form assigns anywhere, whichever variable is meant */
    uint32_t parameters, depth, frame; /* depth: slots in use here; frame: the most there were */
    bool rest;
    unsigned nesting;
};

/* Adds an item to one of the arrays. */
#define APPEND(vm, list, item)                                                                                                     \
    ((list).items = compile_grow((vm), (list).items, sizeof *(list).items, (list).count, &(list).capacity),                        \
     (list).items[(list).count++] = (item))

void *compile_grow(struct vm *vm, void *items, size_t size, uint32_t count, uint32_t *capacity);

/* Code that pushes the value of x; in a tail position, that returns it. The depth grows by one either way. */
void compile(struct function *f, value x, bool tail);
void compile_body(struct function *f, value forms, bool tail);     /* definitions at its head are local */
void compile_sequence(struct function *f, value forms, bool tail); /* no definitions */
void compile_call(struct function *f, uint32_t count, bool tail);  /* procedure and arguments are pushed */

/* How the parameters of a procedure are written: (a b . rest); ((a x) (b y)) in a named let; (a clause ...) in guard. */
enum parameters { PARAMETERS, BINDINGS, FIRST_PARAMETER };

/* A procedure, pushed as a closure. `special` compiles its body; NULL: compile_body. */
typedef void body_compiler(struct function *f, value body, bool tail);
void compile_lambda(struct function *f, value name, enum parameters style, value parameters, value body, body_compiler *special);

void emit(struct function *f, enum operation operation, uint32_t n, int change); /* of the stack's depth */
void emit_constant(struct function *f, value v);
uint32_t emit_jump(struct function *f, enum operation operation, int change); /* forward; gives its place */
void emit_label(struct function *f, uint32_t jump);                           /* it comes here */
void emit_return(struct function *f, bool tail);
uint32_t constant_index(struct function *f, value v);

/* The value pushed last becomes a variable. */
void bind(struct function *f, value name, bool boxed);
/* Variables beyond `count` go out of scope: their slots are dropped below the value on top. */
void unbind(struct function *f, uint32_t count, bool tail);
void push_variable(struct function *f, value name);
void set_variable(struct function *f, value name); /* pops */
bool is_assigned(const struct function *f, value name);
bool is_local_name(struct function *f, value name);

_Noreturn void syntax_error(struct function *f, value form, const char *what);
void need_list(struct function *f, value form, uint32_t least, const char *what); /* of at least so many items */

typedef void form_compiler(struct function *f, value form, bool tail);
form_compiler *form_find(value symbol); /* NULL: not a special form */
void forms_init(struct vm *vm);

/* binding.c */
form_compiler compile_lambda_form, compile_define, compile_set, compile_let, compile_let_star, compile_letrec;
void binding_init(struct vm *vm);

void push_nothing(struct function *f, bool tail);

static inline value second(value form) { return car(cdr(form)); }
static inline value third(value form) { return car(cdr(cdr(form))); }
static inline value after_second(value form) { return cdr(cdr(form)); }

#endif
