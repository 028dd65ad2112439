/* Primitives on pairs and lists. Walks over the pairs of an argument need no roots; see lisp.h. */
#include "lisp.h"

PRIMITIVE(do_cons) { return cons(vm, arguments[0], arguments[1]); }

/* car and cdr, the last letter of `path` first. */
static value follow(struct vm *vm, value v, const char *path)
{
    for (size_t i = strlen(path); i-- > 0;) {
        need_kind(vm, v, KIND_PAIR);
        v = path[i] == 'a' ? car(v) : cdr(v);
    }
    return v;
}

#define FOLLOW(path)                                                                                                               \
    PRIMITIVE(do_c##path##r) { return follow(vm, arguments[0], #path); }

FOLLOW(a)
FOLLOW(d)
FOLLOW(aa)
FOLLOW(ad)
FOLLOW(da)
FOLLOW(dd)
FOLLOW(add)
FOLLOW(ddd)

PRIMITIVE(do_list)
{
    value *slots = coex_gc_enter_frame(1);
    slots[0] = NIL;
    while (count > 0) slots[0] = cons(vm, arguments[--count], slots[0]);
    value list = slots[0];
    coex_gc_leave_frame(slots);
    return list;
}

static int64_t length(struct vm *vm, value list)
{
    int64_t n = 0;
    value rest = list;
    for (; is_pair(rest); rest = cdr(rest), n++) coex_gc_safepoint();
    if (rest != NIL) raise_error(vm, list, "not a list");
    return n;
}

PRIMITIVE(do_length) { return from_integer(length(vm, arguments[0])); }

/* The items of a list before those of another, turned round. */
static value reverse_onto(struct vm *vm, value list, value onto)
{
    value *slots = coex_gc_enter_frame_with(2, 2, (value[]){onto, list});
    for (; is_pair(slots[1]); slots[1] = cdr(slots[1])) slots[0] = cons(vm, car(slots[1]), slots[0]);
    if (slots[1] != NIL) raise_error(vm, list, "not a list");
    value result = slots[0];
    coex_gc_leave_frame(slots);
    return result;
}

PRIMITIVE(do_reverse) { return reverse_onto(vm, arguments[0], NIL); }

PRIMITIVE(do_append)
{
    value *slots = coex_gc_enter_frame(2);
    slots[0] = count > 0 ? arguments[--count] : NIL;
    while (count > 0) {
        slots[1] = reverse_onto(vm, arguments[--count], NIL);
        slots[0] = reverse_onto(vm, slots[1], slots[0]);
    }
    value list = slots[0];
    coex_gc_leave_frame(slots);
    return list;
}

/* The arguments of apply as one list: (a b (c d)) becomes (a b c d). */
PRIMITIVE(do_spread)
{
    value *slots = coex_gc_enter_frame(2);
    slots[0] = reverse_onto(vm, arguments[0], NIL);
    if (slots[0] != NIL) {
        length(vm, car(slots[0]));
        slots[0] = reverse_onto(vm, cdr(slots[0]), car(slots[0]));
    }
    value list = slots[0];
    coex_gc_leave_frame(slots);
    return list;
}

PRIMITIVE(do_list_tail)
{
    value rest = arguments[0];
    for (uint64_t n = need_index(vm, arguments[1], INTEGER_MAX); n > 0; n--) {
        if (!is_pair(rest)) raise_error(vm, arguments[1], "the list is shorter than");
        rest = cdr(rest);
        coex_gc_safepoint();
    }
    return rest;
}

PRIMITIVE(do_memq)
{
    value rest = arguments[1];
    while (is_pair(rest) && car(rest) != arguments[0]) rest = cdr(rest);
    return is_pair(rest) ? rest : FALSE;
}

PRIMITIVE(do_member)
{
    value rest = arguments[1];
    while (is_pair(rest) && !is_equal(vm, car(rest), arguments[0], 0)) rest = cdr(rest);
    return is_pair(rest) ? rest : FALSE;
}

PRIMITIVE(do_assq)
{
    for (value rest = arguments[1]; is_pair(rest); rest = cdr(rest)) {
        need_kind(vm, car(rest), KIND_PAIR);
        if (car(car(rest)) == arguments[0]) return car(rest);
    }
    return FALSE;
}

PRIMITIVE(do_assoc)
{
    for (value rest = arguments[1]; is_pair(rest); rest = cdr(rest)) {
        need_kind(vm, car(rest), KIND_PAIR);
        if (is_equal(vm, car(car(rest)), arguments[0], 0)) return car(rest);
    }
    return FALSE;
}

const struct definition list_primitives[] = {
    {"cons", do_cons, 2, 2},       {"%cons", do_cons, 2, 2},     {"car", do_car, 1, 1},         {"cdr", do_cdr, 1, 1},
    {"caar", do_caar, 1, 1},       {"cadr", do_cadr, 1, 1},      {"cdar", do_cdar, 1, 1},       {"cddr", do_cddr, 1, 1},
    {"caddr", do_caddr, 1, 1},     {"cdddr", do_cdddr, 1, 1},    {"list", do_list, 0, -1},      {"length", do_length, 1, 1},
    {"reverse", do_reverse, 1, 1}, {"append", do_append, 0, -1}, {"%append", do_append, 0, -1}, {"list-tail", do_list_tail, 2, 2},
    {"memq", do_memq, 2, 2},       {"memv", do_memq, 2, 2},      {"member", do_member, 2, 2},   {"assq", do_assq, 2, 2},
    {"assv", do_assq, 2, 2},       {"assoc", do_assoc, 2, 2},    {"%spread", do_spread, 1, 1},  {NULL, NULL, 0, 0},
};
