/* The types of the language as Coex sees them, and the constructors of objects. Any thread may
 * call them. */
#include "lisp.h"

uint32_t type_ids[KIND_COUNT];

/* Constants are the only references of a code object besides its name, and how many there are is written at birth. */
static void code_trace(const void *payload, uint64_t size, coex_gc_visitor *visitor)
{
    const struct code *code = payload;
    (void)size;
    coex_gc_visit(visitor, &code->name);
    for (uint32_t i = 0; i < code->constants; i++) coex_gc_visit(visitor, &code->constant[i]);
}

static const uint32_t words[] = {0, 8};
static const char *const pair_names[] = {"car", "cdr"};
static const char *const symbol_names[] = {"name", "global"};
static const char *const condition_names[] = {"message", "irritants"};
static const char *const future_names[] = {"thunk", "result"};

static const coex_gc_type types[KIND_COUNT] = {
    [KIND_PAIR] = {.name = "pair", .size = sizeof(struct pair), .ref_offsets = words, .ref_count = 2, .ref_names = pair_names},
    [KIND_STRING] = {.name = "string"},
    [KIND_SYMBOL] = {.name = "symbol",
                     .size = sizeof(struct symbol),
                     .ref_offsets = words,
                     .ref_count = 2,
                     .ref_names = symbol_names,
                     .flags = COEX_GC_MUTABLE},
    [KIND_VECTOR] = {.name = "vector", .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY},
    [KIND_BOX] = {.name = "box", .size = sizeof(struct box), .ref_offsets = words, .ref_count = 1, .flags = COEX_GC_MUTABLE},
    [KIND_ATOM] = {.name = "atom", .size = sizeof(struct box), .ref_offsets = words, .ref_count = 1, .flags = COEX_GC_MUTABLE},
    [KIND_CODE] = {.name = "code", .trace = code_trace},
    [KIND_CLOSURE] = {.name = "procedure", .flags = COEX_GC_REF_ARRAY},
    [KIND_PRIMITIVE] = {.name = "primitive", .size = sizeof(struct primitive)},
    [KIND_ESCAPE] = {.name = "escape", .size = sizeof(struct escape)},
    [KIND_CONDITION] =
        {.name = "error", .size = sizeof(struct condition), .ref_offsets = words, .ref_count = 2, .ref_names = condition_names},
    [KIND_FAILURE] = {.name = "failure", .size = sizeof(struct failure), .ref_offsets = words, .ref_count = 1},
    [KIND_FUTURE] = {.name = "future",
                     .size = sizeof(struct future),
                     .ref_offsets = words,
                     .ref_count = 2,
                     .ref_names = future_names,
                     .flags = COEX_GC_MUTABLE},
    [KIND_PORT] = {.name = "port", .size = sizeof(struct port)},
};

void object_register_types(void)
{
    for (int kind = 1; kind < KIND_COUNT; kind++) type_ids[kind] = coex_gc_register_type(&types[kind]);
}

enum kind kind_of(value v)
{
    uint32_t id = is_object(v) ? coex_gc_type_of(v) : 0;
    int kind = id == 0 ? KIND_NONE : KIND_PAIR;
    while (kind != KIND_NONE && type_ids[kind] != id) kind++;
    return (enum kind)kind;
}

void need_kind(struct vm *vm, value v, enum kind kind)
{
    if (!is_kind(v, kind)) raise_error(vm, v, "not a %s", types[kind].name);
}

/* ------------------------------------------------------------ constructors */

value new_object(struct vm *vm, enum kind kind, uint64_t size, void **payload)
{
    value object = coex_gc_alloc_at(size, type_ids[kind], payload);
    if (object == 0) raise_out_of_memory(vm);
    return object;
}

value cons(struct vm *vm, value car, value cdr)
{
    void *payload;
    value pair = new_object(vm, KIND_PAIR, sizeof(struct pair), &payload);
    *(struct pair *)payload = (struct pair){car, cdr};
    return pair;
}

value new_box(struct vm *vm, enum kind kind, value content)
{
    void *payload;
    value box = new_object(vm, kind, sizeof(struct box), &payload);
    *(struct box *)payload = (struct box){content};
    return box;
}

value new_string(struct vm *vm, const char *text, size_t length)
{
    void *payload;
    value string = new_object(vm, KIND_STRING, length, &payload);
    memcpy(payload, text, length);
    return string;
}

/* A vector is mutable, so it may be filled over safepoints: a long one delays nobody. */
value new_vector(struct vm *vm, uint64_t length, value fill)
{
    enum { STRIDE = 4096 };
    void *payload;
    value *slots = coex_gc_enter_frame_with(2, 1, &fill);
    slots[1] = new_object(vm, KIND_VECTOR, length * sizeof(value), &payload);
    for (uint64_t i = 0; i < length; i++) {
        if (i % STRIDE == STRIDE - 1) coex_gc_safepoint();
        vector_put(slots[1], i, fill);
    }
    value vector = slots[1];
    coex_gc_leave_frame(slots);
    return vector;
}

/* ---------------------------------------------------------------- equality */

static bool is_same_text(value a, value b)
{
    size_t length = string_length(a);
    return length == string_length(b) && memcmp(string_text(a), string_text(b), length) == 0;
}

static bool is_same_vector(struct vm *vm, value a, value b, unsigned depth)
{
    uint64_t length = vector_length(a);
    bool same = length == vector_length(b);
    for (uint64_t i = 0; same && i < length; i++) same = is_equal(vm, vector_at(a, i), vector_at(b, i), depth);
    return same;
}

/* Each level roots its two: an element of a vector may be replaced by another thread while it is looked at here. */
bool is_equal(struct vm *vm, value a, value b, unsigned depth)
{
    if (depth > MAX_NESTING) raise_error(vm, 0, "too deeply nested");
    value *slots = coex_gc_enter_frame_with(2, 2, (value[]){a, b});
    while (slots[0] != slots[1] && is_pair(slots[0]) && is_pair(slots[1]) &&
           is_equal(vm, car(slots[0]), car(slots[1]), depth + 1)) {
        slots[0] = cdr(slots[0]);
        slots[1] = cdr(slots[1]);
        coex_gc_safepoint();
    }
    bool same = slots[0] == slots[1];
    if (!same && is_kind(slots[0], KIND_STRING) && is_kind(slots[1], KIND_STRING))
        same = is_same_text(slots[0], slots[1]);
    else if (!same && is_kind(slots[0], KIND_VECTOR) && is_kind(slots[1], KIND_VECTOR))
        same = is_same_vector(vm, slots[0], slots[1], depth + 1);
    coex_gc_leave_frame(slots);
    return same;
}
