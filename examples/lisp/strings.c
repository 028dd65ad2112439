/* Primitives on strings (immutable bytes), characters and symbols. The text of a string is read
 * after the last safepoint. */
#include "lisp.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

static unsigned char need_character(struct vm *vm, value v)
{
    if (!is_character(v)) raise_error(vm, v, "not a character");
    return to_character(v);
}

/* (make-string length [character]): one allocation. A string is immutable, so it is filled before the next safepoint. */
PRIMITIVE(do_make_string)
{
    void *payload;
    uint64_t length = need_index(vm, arguments[0], (uint64_t)1 << 40);
    unsigned char c = count > 1 ? need_character(vm, arguments[1]) : ' ';
    value string = new_object(vm, KIND_STRING, length, &payload);
    memset(payload, c, length);
    return string;
}

PRIMITIVE(do_string_length)
{
    need_kind(vm, arguments[0], KIND_STRING);
    return from_integer((int64_t)string_length(arguments[0]));
}

PRIMITIVE(do_string_ref)
{
    need_kind(vm, arguments[0], KIND_STRING);
    uint64_t i = need_index(vm, arguments[1], string_length(arguments[0]));
    return from_character((unsigned char)string_text(arguments[0])[i]);
}

PRIMITIVE(do_substring)
{
    need_kind(vm, arguments[0], KIND_STRING);
    uint64_t length = string_length(arguments[0]);
    uint64_t to = count > 2 ? need_index(vm, arguments[2], length + 1) : length;
    uint64_t from = need_index(vm, arguments[1], to + 1);
    void *payload;
    value string = new_object(vm, KIND_STRING, to - from, &payload);
    memcpy(payload, string_text(arguments[0]) + from, to - from);
    return string;
}

PRIMITIVE(do_string_append)
{
    uint64_t length = 0;
    for (unsigned i = 0; i < count; i++) {
        need_kind(vm, arguments[i], KIND_STRING);
        length += string_length(arguments[i]);
    }
    void *payload;
    value string = new_object(vm, KIND_STRING, length, &payload);
    char *to = payload;
    for (unsigned i = 0; i < count; to += string_length(arguments[i]), i++)
        memcpy(to, string_text(arguments[i]), string_length(arguments[i]));
    return string;
}

static int compare(struct vm *vm, value a, value b)
{
    need_kind(vm, a, KIND_STRING);
    need_kind(vm, b, KIND_STRING);
    size_t length_a = string_length(a), length_b = string_length(b);
    int order = memcmp(string_text(a), string_text(b), length_a < length_b ? length_a : length_b);
    return order != 0 ? order : (length_a > length_b) - (length_a < length_b);
}

PRIMITIVE(do_string_equal) { return from_bool(compare(vm, arguments[0], arguments[1]) == 0); }

PRIMITIVE(do_string_less) { return from_bool(compare(vm, arguments[0], arguments[1]) < 0); }

/* Where a string is in another, or #f. */
PRIMITIVE(do_string_search)
{
    need_kind(vm, arguments[0], KIND_STRING);
    need_kind(vm, arguments[1], KIND_STRING);
    size_t length = string_length(arguments[0]), all = string_length(arguments[1]);
    const char *what = string_text(arguments[0]), *in = string_text(arguments[1]);
    size_t at = count > 2 ? need_index(vm, arguments[2], all + 1) : 0;
    for (; at + length <= all; at++) {
        if (memcmp(in + at, what, length) == 0) return from_integer((int64_t)at);
    }
    return FALSE;
}

PRIMITIVE(do_string_to_list)
{
    need_kind(vm, arguments[0], KIND_STRING);
    value *slots = coex_gc_enter_frame(1);
    slots[0] = NIL;
    for (size_t i = string_length(arguments[0]); i > 0; i--)
        slots[0] = cons(vm, from_character((unsigned char)string_text(arguments[0])[i - 1]), slots[0]);
    value list = slots[0];
    coex_gc_leave_frame(slots);
    return list;
}

PRIMITIVE(do_list_to_string)
{
    uint64_t length = 0;
    value rest = arguments[0];
    for (; is_pair(rest) && is_character(car(rest)); rest = cdr(rest)) length++;
    if (rest != NIL) raise_error(vm, arguments[0], "not a list of characters");
    void *payload;
    value string = new_object(vm, KIND_STRING, length, &payload);
    char *to = payload;
    for (rest = arguments[0]; is_pair(rest); rest = cdr(rest)) *to++ = (char)to_character(car(rest));
    return string;
}

PRIMITIVE(do_number_to_string)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRId64, need_integer(vm, arguments[0]));
    return new_string(vm, digits, (size_t)length);
}

PRIMITIVE(do_string_to_number)
{
    need_kind(vm, arguments[0], KIND_STRING);
    char digits[24], *end;
    size_t length = string_length(arguments[0]);
    if (length == 0 || length >= sizeof digits) return FALSE;
    memcpy(digits, string_text(arguments[0]), length);
    digits[length] = '\0';
    long long n = strtoll(digits, &end, 10);
    return *end != '\0' || n < INTEGER_MIN || n > INTEGER_MAX ? FALSE : from_integer(n);
}

PRIMITIVE(do_symbol_to_string)
{
    need_kind(vm, arguments[0], KIND_SYMBOL);
    return symbol_name(arguments[0]);
}

PRIMITIVE(do_string_to_symbol)
{
    need_kind(vm, arguments[0], KIND_STRING);
    return intern_string(vm, arguments[0]);
}

PRIMITIVE(do_char_to_integer) { return from_integer(need_character(vm, arguments[0])); }

PRIMITIVE(do_integer_to_char) { return from_character((unsigned char)need_index(vm, arguments[0], 256)); }

PRIMITIVE(do_char_upcase) { return from_character((unsigned char)toupper(need_character(vm, arguments[0]))); }

PRIMITIVE(do_is_char_alphabetic) { return from_bool(isalpha(need_character(vm, arguments[0]))); }

PRIMITIVE(do_is_char_numeric) { return from_bool(isdigit(need_character(vm, arguments[0]))); }

const struct definition string_primitives[] = {
    {"make-string", do_make_string, 1, 2},
    {"string-length", do_string_length, 1, 1},
    {"string-ref", do_string_ref, 2, 2},
    {"substring", do_substring, 2, 3},
    {"string-append", do_string_append, 0, -1},
    {"string=?", do_string_equal, 2, 2},
    {"string<?", do_string_less, 2, 2},
    {"string-search", do_string_search, 2, 3},
    {"string->list", do_string_to_list, 1, 1},
    {"list->string", do_list_to_string, 1, 1},
    {"number->string", do_number_to_string, 1, 1},
    {"string->number", do_string_to_number, 1, 1},
    {"symbol->string", do_symbol_to_string, 1, 1},
    {"string->symbol", do_string_to_symbol, 1, 1},
    {"char->integer", do_char_to_integer, 1, 1},
    {"integer->char", do_integer_to_char, 1, 1},
    {"char-upcase", do_char_upcase, 1, 1},
    {"char-alphabetic?", do_is_char_alphabetic, 1, 1},
    {"char-numeric?", do_is_char_numeric, 1, 1},
    {NULL, NULL, 0, 0},
};
