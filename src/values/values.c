/* The library of the values as a whole: the table of its types, their registration with the collector, and what kind of value a type is. */
#include "base/os.h"
#include "values/channel/channel.h"
#include "values/core/common.h"
#include "values/map/trie.h"
#include "values/string/string.h"

#include <stdio.h>
#include <string.h>

static const struct value_row {
    const coex_gc_type *type;
    coex_kind kind;
} value_rows[] = {
#define VALUE_ROW(name, kind) {&cx_type_##name, COEX_KIND_##kind},
    CX_VALUE_TYPES(VALUE_ROW)
#undef VALUE_ROW
        {NULL, COEX_KIND_NULL}};

/* Draws the seeds, once per process. Without random numbers there is no protection against keys that
 * are chosen to collide, so init fails rather than take seeds that can be guessed. */
static bool value_draw_seeds(void)
{
    uint64_t drawn[5];
    if (cx_values.spread != 0) return true;
    if (!cx_os_random(drawn, 5)) {
        char detail[160];
        snprintf(detail, sizeof detail, "the operating system gives no random numbers for the seeds of hashes: getrandom: %s",
                 cx_os_reason());
        return coex_gc_set_error(COEX_GC_ESYSTEM, detail) == COEX_GC_OK;
    }
    memcpy(cx_values.seed, drawn, sizeof cx_values.seed);
    cx_values.spread = drawn[4] | 1;
    return true;
}

static bool value_register(void)
{
    if (!value_draw_seeds()) return false;
    for (int i = 0; i < CX_VALUE_TYPE_COUNT; i++) {
        cx_values.id[i] = coex_gc_register_type(value_rows[i].type);
        if (cx_values.id[i] == 0) return false;
    }
    return cx_latch_register() && cx_string_register() && cx_trie_register();
}

int coex_values_init(void) { return coex_gc_at_init(value_register) ? COEX_GC_OK : coex_gc_last_error(); }

coex_kind coex_kind_of(coex_handle word)
{
    if (word == 0) return COEX_KIND_NULL;
    if (coex_is_immediate(word)) return COEX_KIND_IMMEDIATE;
    uint32_t id = coex_gc_type_of(word);
    uint32_t near = id - cx_values.id[0]; /* registered one after the other, unless another thread did so meanwhile */
    if (near < CX_VALUE_TYPE_COUNT && cx_values.id[near] == id) return value_rows[near].kind;
    for (int i = 0; i < CX_VALUE_TYPE_COUNT; i++) {
        if (cx_values.id[i] == id) return value_rows[i].kind;
    }
    return COEX_KIND_OTHER;
}

const char *coex_kind_string(coex_kind kind)
{
    static const char *const text[] = {"null", "immediate", "object", "string",        "array",   "list",    "map",
                                       "set",  "json",      "cell",   "mutable array", "channel", "builder", "iterator"};
    return (size_t)kind < sizeof text / sizeof text[0] ? text[kind] : "unknown kind";
}
