/* A small Scheme on Coex: the declarations that its files share.
 *
 * The language is compiled to bytecode (compile.c) for a machine (vm.c). The frames of the
 * machine are frames of Coex's shadow stack: a call of a Scheme procedure enters a frame, a
 * return leaves it, and recursion uses no C stack. Every operand is therefore in a slot as soon
 * as it exists, and Scheme code obeys the rooting rules by construction. C code must obey these
 * rules:
 *
 * - The caller of a function roots its arguments, and the function returns its result unrooted
 *   (rule 3 of <coex/gc.h>). So cons and the other constructors need no frame, and primitives
 *   get a pointer into the frame of the machine.
 * - A function that holds other handles than its arguments across an allocation enters a frame
 *   for them.
 * - Pairs, strings, code and closures are immutable. An object that can be reached from them
 *   lives as long as they do. A walk over the pairs of an argument therefore needs no roots of
 *   its own. A walk through mutable objects (vectors, atoms) does.
 * - The table of symbols keeps all symbols for ever. C variables may hold them, because handles
 *   do not change.
 * - The null handle 0 is not a value of the language. It means absent, not yet computed, or
 *   unbound. */
#ifndef LISP_H
#define LISP_H

#include <coex/gc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

/* ----------------------------------------------------------------- values */

/* An immediate, or the handle of an object. */
typedef coex_handle value;

/* The low two bits of an immediate say what it is; integers have the other 60. */
enum { TAG_INTEGER = 0, TAG_CHARACTER = 1, TAG_CONSTANT = 2 };

#define CONSTANT(n) COEX_IMMEDIATE((uint64_t)(n) << 2 | TAG_CONSTANT)
#define NIL         CONSTANT(0)
#define FALSE       CONSTANT(1)
#define TRUE        CONSTANT(2)
#define UNSPECIFIED CONSTANT(3)
#define END_OF_FILE CONSTANT(4)
#define UNDEFINED   CONSTANT(5) /* in the box of a variable that has no value yet */

#define INTEGER_MAX (((int64_t)1 << 59) - 1)
#define INTEGER_MIN (-INTEGER_MAX - 1)

static inline value from_integer(int64_t n) { return COEX_IMMEDIATE((uint64_t)n << 2 | TAG_INTEGER); }
static inline value from_character(unsigned char c) { return COEX_IMMEDIATE((uint64_t)c << 2 | TAG_CHARACTER); }
static inline value from_bool(bool truth) { return truth ? TRUE : FALSE; }

static inline bool has_tag(value v, unsigned tag) { return coex_is_immediate(v) && (v & 3) == tag; }
static inline bool is_integer(value v) { return has_tag(v, TAG_INTEGER); }
static inline bool is_character(value v) { return has_tag(v, TAG_CHARACTER); }
static inline int64_t to_integer(value v) { return (int64_t)(v << 2) >> 4; } /* drops the tags, keeps the sign */
static inline unsigned char to_character(value v) { return (unsigned char)(coex_immediate_bits(v) >> 2); }

/* ---------------------------------------------------------------- objects */

enum kind {
    KIND_NONE, /* an immediate */
    KIND_PAIR,
    KIND_STRING,
    KIND_SYMBOL,
    KIND_VECTOR,
    KIND_BOX,
    KIND_ATOM,
    KIND_CODE,
    KIND_CLOSURE,
    KIND_PRIMITIVE,
    KIND_ESCAPE,
    KIND_CONDITION,
    KIND_FAILURE,
    KIND_FUTURE,
    KIND_PORT,
    KIND_COUNT
};

/* clang-format off */
struct pair { value car, cdr; };
struct symbol { value name, global; };          /* mutable: global is the variable of that name, or 0 */
struct box { value content; };                  /* mutable: a variable that is assigned, or an atom */
struct closure { value code; value free[]; };
struct primitive { uint64_t index; };
struct escape { uint64_t unused; };             /* is known by its handle alone */
struct condition { value message, irritants; }; /* what `error` raises */
struct failure { value condition; };            /* what a protected call gives instead of a value */
struct future { value thunk, result; uint32_t task, generation; }; /* mutable: result is 0 while it runs; see futures.c */
struct port { uint64_t index, generation; };    /* of a stream, see ports.c */
/* clang-format on */

/* A compiled procedure: `constants` words, then `instructions` of 32 bits. */
struct code {
    value name; /* a symbol, or FALSE */
    uint32_t parameters, captures, frame, constants, instructions;
    bool rest; /* the last parameter takes all arguments that are left */
    value constant[];
};

extern uint32_t type_ids[KIND_COUNT];

void object_register_types(void);
enum kind kind_of(value v);

static inline bool is_object(value v) { return v != 0 && !coex_is_immediate(v); }
static inline bool is_kind(value v, enum kind kind) { return is_object(v) && coex_gc_type_of(v) == type_ids[kind]; }
static inline bool is_pair(value v) { return is_kind(v, KIND_PAIR); }

struct vm;

/* Constructors. All of them are safepoints; what they are given is rooted by the caller; memory that runs out is an error of
 * the language. */
value new_object(struct vm *vm, enum kind kind, uint64_t size, void **payload);
value cons(struct vm *vm, value car, value cdr);
value new_box(struct vm *vm, enum kind kind, value content);
value new_string(struct vm *vm, const char *text, size_t length); /* text is C memory */
value new_vector(struct vm *vm, uint64_t length, value fill);

/* No safepoints, and no checks either: the caller knows what it has. */
static inline value car(value pair) { return coex_gc_load(pair, offsetof(struct pair, car)); }
static inline value cdr(value pair) { return coex_gc_load(pair, offsetof(struct pair, cdr)); }
static inline uint64_t vector_length(value vector) { return coex_gc_size(vector) / sizeof(value); }
static inline value vector_at(value vector, uint64_t i) { return coex_gc_load(vector, i * sizeof(value)); }
static inline void vector_put(value vector, uint64_t i, value v) { coex_gc_store(vector, i * sizeof(value), v); }
static inline size_t string_length(value string) { return (size_t)coex_gc_size(string); }
static inline const char *string_text(value string) { return coex_gc_handle_deref(string); } /* until the next safepoint */
static inline value box_get(value box) { return coex_gc_load(box, offsetof(struct box, content)); }
static inline void box_set(value box, value v) { coex_gc_store(box, offsetof(struct box, content), v); }

bool is_equal(struct vm *vm, value a, value b, unsigned depth); /* a safepoint */

/* ---------------------------------------------------------------- symbols */

void symbols_init(struct vm *vm);
value intern(struct vm *vm, const char *name);
value intern_text(struct vm *vm, const char *text, size_t length);
value intern_string(struct vm *vm, value string);

static inline value symbol_name(value symbol) { return coex_gc_load(symbol, offsetof(struct symbol, name)); }
static inline value symbol_global(value symbol) { return coex_gc_load(symbol, offsetof(struct symbol, global)); }
static inline void symbol_define(value symbol, value v) { coex_gc_store(symbol, offsetof(struct symbol, global), v); }

/* ----------------------------------------------------------------- reader */

struct reader {
    const char *text;
    size_t length, at;
    unsigned line, depth;
    bool incomplete;   /* the text ends in the middle of something */
    const char *error; /* why read_value gave 0; NULL: there is nothing more to read */
};

value read_value(struct vm *vm, struct reader *reader);

/* ---------------------------------------------------------------- printer */

struct buffer {
    char *text;
    size_t length, capacity;
};

void buffer_add(struct buffer *buffer, const char *text, size_t length);
void buffer_write(struct buffer *buffer, FILE *stream);       /* and frees it; in native mode */
void print_value(struct buffer *buffer, value v, bool write); /* write: so that the reader would read it again. A safepoint */
void print_error(FILE *stream, value condition);              /* "error: ..." in one line, written in native mode */

/* ---------------------------------------------------------- running code */

/* Memory of the compiler. It is taken back when the next compilation begins, so that an error may leave it as it is. */
struct arena {
    struct chunk *chunks;
    size_t used;
};

void *arena_take(struct vm *vm, size_t bytes);
void arena_clear(struct vm *vm);

/* What execution goes on with: a frame, its first free slot, and the next instruction. */
struct registers {
    value *slots, *sp;
    uint32_t pc;
};

/* A C function that runs the machine. Longjmp ends in one. */
struct activation {
    jmp_buf landing;
    value *base; /* its first frame */
    struct activation *outer;
};

/* One for each thread, on its C stack. */
struct vm {
    struct activation *activation;
    unsigned activations;    /* how many there are */
    value *mark;             /* the innermost frame of catch or call/ec, see vm.c */
    value *limit;            /* where recursion ends */
    const char *who;         /* the primitive that runs, for messages */
    struct registers resume; /* where the machine goes on after a landing */
    struct arena arena;
};

void vm_enter(struct vm *vm); /* first, in each thread */
void vm_leave(struct vm *vm);
void vm_init(struct vm *vm); /* once */

value compile_toplevel(struct vm *vm, value form); /* a closure without parameters. A safepoint */
void compile_init(struct vm *vm);

enum { MAX_CALL_ARGUMENTS = 3, MAX_ACTIVATIONS = 400, MAX_NESTING = 1000 };

/* Call a procedure from C. Its errors and escapes may leave through the caller by longjmp: hold no resource over it. */
value vm_call(struct vm *vm, value procedure, unsigned count, const value *arguments);
/* The same without arguments; an error comes back as a KIND_FAILURE. */
value vm_try(struct vm *vm, value thunk);
value vm_eval(struct vm *vm, value form);
/* Reads and evaluates all of a text, frees it, and gives the last value. */
value vm_load(struct vm *vm, const char *name, struct buffer *text);

/* ----------------------------------------------------------------- errors */

_Noreturn void raise_value(struct vm *vm, value condition);
/* A condition with this message, after the name of the running primitive, and with `irritant` unless that is 0. */
_Noreturn void raise_error(struct vm *vm, value irritant, const char *format, ...) __attribute__((format(printf, 3, 4)));
_Noreturn void raise_out_of_memory(struct vm *vm);
void need_kind(struct vm *vm, value v, enum kind kind);
int64_t need_integer(struct vm *vm, value v);
uint64_t need_index(struct vm *vm, value v, uint64_t limit); /* an integer from 0 to limit - 1 */

/* ------------------------------------------------------------- primitives */

/* The head of a primitive. Its arguments are in slots of the caller; it may do without any of the three. */
#define UNUSED          __attribute__((unused))
#define PRIMITIVE(name) static value name(struct vm *vm UNUSED, unsigned count UNUSED, const value *arguments UNUSED)

struct definition {
    const char *name;
    value (*function)(struct vm *vm, unsigned count, const value *arguments);
    int least, most; /* arguments; most -1: any number */
};

/* One table for each file of primitives; an entry without a name ends it. */
extern const struct definition list_primitives[], vector_primitives[], number_primitives[], string_primitives[], port_primitives[],
    future_primitives[], system_primitives[];

void primitives_init(struct vm *vm);
const struct definition *primitive_at(uint64_t index);

/* ------------------------------------------------------ the world outside */

extern const char prelude_text[];
extern const size_t prelude_length;

void ports_init(void);
void futures_wait_for_all(void); /* at the end: a safepoint */

#endif
