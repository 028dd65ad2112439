/* Primitives on mutable objects: vectors and atoms. */
#include "lisp.h"

PRIMITIVE(do_make_vector)
{
    return new_vector(vm, need_index(vm, arguments[0], (uint64_t)1 << 40), count > 1 ? arguments[1] : FALSE);
}

PRIMITIVE(do_vector)
{
    value vector = new_vector(vm, count, FALSE);
    for (unsigned i = 0; i < count; i++) vector_put(vector, i, arguments[i]);
    return vector;
}

PRIMITIVE(do_vector_length)
{
    need_kind(vm, arguments[0], KIND_VECTOR);
    return from_integer((int64_t)vector_length(arguments[0]));
}

static uint64_t vector_index(struct vm *vm, const value *arguments)
{
    need_kind(vm, arguments[0], KIND_VECTOR);
    return need_index(vm, arguments[1], vector_length(arguments[0]));
}

PRIMITIVE(do_vector_ref) { return vector_at(arguments[0], vector_index(vm, arguments)); }

PRIMITIVE(do_vector_set)
{
    vector_put(arguments[0], vector_index(vm, arguments), arguments[2]);
    return UNSPECIFIED;
}

/* An item is rooted as soon as it is read: another thread may replace it in the vector. */
PRIMITIVE(do_vector_to_list)
{
    need_kind(vm, arguments[0], KIND_VECTOR);
    value *slots = coex_gc_enter_frame(2);
    slots[0] = NIL;
    for (uint64_t i = vector_length(arguments[0]); i > 0; i--) {
        slots[1] = vector_at(arguments[0], i - 1);
        slots[0] = cons(vm, slots[1], slots[0]);
    }
    value list = slots[0];
    coex_gc_leave_frame(slots);
    return list;
}

static value list_to_vector(struct vm *vm, value list)
{
    uint64_t length = 0;
    for (value rest = list; is_pair(rest); rest = cdr(rest)) length++;
    value vector = new_vector(vm, length, FALSE);
    for (uint64_t i = 0; i < length; i++, list = cdr(list)) vector_put(vector, i, car(list));
    return vector;
}

PRIMITIVE(do_list_to_vector) { return list_to_vector(vm, arguments[0]); }

static value vector_copy(struct vm *vm, value vector)
{
    uint64_t length = vector_length(vector);
    value copy = new_vector(vm, length, FALSE);
    for (uint64_t i = 0; i < length; i++) vector_put(copy, i, vector_at(vector, i));
    return copy;
}

/* ----------------------------------------------------------------- sorting */

enum { SORT_FROM, SORT_TO, SORT_LESS, SORT_SLOTS };

/* Two runs that follow each other become one in the other vector. The procedure that compares is Scheme code: it may raise an error
 * or escape, and then this C function is left by longjmp. It holds nothing but a frame, and that is popped. */
static void merge(struct vm *vm, const value *slots, uint64_t from, uint64_t middle, uint64_t to)
{
    uint64_t left = from, right = middle;
    for (uint64_t at = from; at < to; at++) {
        bool take_right = left == middle;
        if (!take_right && right < to) {
            value pair[] = {vector_at(slots[SORT_FROM], right), vector_at(slots[SORT_FROM], left)};
            take_right = vm_call(vm, slots[SORT_LESS], 2, pair) != FALSE;
        }
        vector_put(slots[SORT_TO], at, vector_at(slots[SORT_FROM], take_right ? right++ : left++));
    }
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* (sort list-or-vector less?): a new one, in order; what is equal stays in its order. */
PRIMITIVE(do_sort)
{
    bool is_list = arguments[0] == NIL || is_pair(arguments[0]);
    if (!is_list) need_kind(vm, arguments[0], KIND_VECTOR);
    value *slots = coex_gc_enter_frame(SORT_SLOTS);
    slots[SORT_LESS] = arguments[1];
    slots[SORT_FROM] = is_list ? list_to_vector(vm, arguments[0]) : vector_copy(vm, arguments[0]);
    slots[SORT_TO] = vector_copy(vm, slots[SORT_FROM]);
    uint64_t length = vector_length(slots[SORT_FROM]);
    for (uint64_t run = 1; run < length; run *= 2) {
        for (uint64_t from = 0; from < length; from += 2 * run)
            merge(vm, slots, from, least(from + run, length), least(from + 2 * run, length));
        value swapped = slots[SORT_FROM];
        slots[SORT_FROM] = slots[SORT_TO];
        slots[SORT_TO] = swapped;
    }
    value sorted = is_list ? do_vector_to_list(vm, 1, &slots[SORT_FROM]) : slots[SORT_FROM];
    coex_gc_leave_frame(slots);
    return sorted;
}

/* ------------------------------------------------------------------- atoms */

PRIMITIVE(do_atom) { return new_box(vm, KIND_ATOM, arguments[0]); }

PRIMITIVE(do_deref)
{
    need_kind(vm, arguments[0], KIND_ATOM);
    return box_get(arguments[0]);
}

PRIMITIVE(do_reset)
{
    need_kind(vm, arguments[0], KIND_ATOM);
    box_set(arguments[0], arguments[1]);
    return arguments[1];
}

/* The value that is expected is rooted by the caller, so its handle can't have become another object's meanwhile. */
PRIMITIVE(do_compare_and_set)
{
    need_kind(vm, arguments[0], KIND_ATOM);
    value expected = arguments[1];
    return from_bool(coex_gc_compare_exchange(arguments[0], offsetof(struct box, content), &expected, arguments[2]));
}

const struct definition vector_primitives[] = {
    {"make-vector", do_make_vector, 1, 2},
    {"vector", do_vector, 0, -1},
    {"vector-length", do_vector_length, 1, 1},
    {"vector-ref", do_vector_ref, 2, 2},
    {"vector-set!", do_vector_set, 3, 3},
    {"vector->list", do_vector_to_list, 1, 1},
    {"list->vector", do_list_to_vector, 1, 1},
    {"sort", do_sort, 2, 2},
    {"atom", do_atom, 1, 1},
    {"deref", do_deref, 1, 1},
    {"reset!", do_reset, 2, 2},
    {"compare-and-set!", do_compare_and_set, 3, 3},
    {NULL, NULL, 0, 0},
};
