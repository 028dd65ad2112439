/*
 * Null, made-up and dead handles in every function that takes one. Functions that need an object report one that is none, always
 * or (fast paths) in checked builds; values that are to be kept in a slot or a field are looked at in checked builds.
 */
#include "support/objects.h"

/* ---- as objects ------------------------------------------------------------------------------------------- */

static coex_handle expected_value;

static void call_size(coex_handle h) { coex_gc_size(h); }
static void call_type_of(coex_handle h) { coex_gc_type_of(h); }
static void call_exchange(coex_handle h) { coex_gc_exchange(h, 0, 0); }
static void call_compare_exchange(coex_handle h) { coex_gc_compare_exchange(h, 0, &expected_value, 0); }
static void call_freeze(coex_handle h) { coex_gc_freeze(h); }
static void call_pin(coex_handle h) { coex_gc_pin(h); }
static void call_unpin(coex_handle h) { coex_gc_unpin(h); }
static void call_weak_get(coex_handle h) { coex_gc_weak_get(h); }
static void call_ephemeron_key(coex_handle h) { coex_gc_ephemeron_key(h); }
static void call_ephemeron_value(coex_handle h) { coex_gc_ephemeron_value(h); }
static void call_load(coex_handle h) { coex_gc_load(h, 0); }
static void call_init_ref(coex_handle h) { coex_gc_init_ref(h, 0, 0); }
static void call_store(coex_handle h) { coex_gc_store(h, 0, 0); }
static void call_deref(coex_handle h) { coex_gc_handle_deref(h); }

static const struct object_function {
    const char *name;
    void (*call)(coex_handle h);
    bool checked_only; /* a fast path looks at nothing else */
    bool null_is_fine;
} object_functions[] = {
    {"coex_gc_size", call_size, false, true},
    {"coex_gc_type_of", call_type_of, false, true},
    {"coex_gc_exchange", call_exchange, false, false},
    {"coex_gc_compare_exchange", call_compare_exchange, false, false},
    {"coex_gc_freeze", call_freeze, false, false},
    {"coex_gc_pin", call_pin, false, false},
    {"coex_gc_unpin", call_unpin, false, false},
    {"coex_gc_weak_get", call_weak_get, false, false},
    {"coex_gc_ephemeron_key", call_ephemeron_key, false, false},
    {"coex_gc_ephemeron_value", call_ephemeron_value, false, false},
    {"coex_gc_load", call_load, true, false},
    {"coex_gc_init_ref", call_init_ref, true, false},
    {"coex_gc_store", call_store, true, false},
    {"coex_gc_handle_deref", call_deref, true, true},
};

enum { OBJECT_FUNCTIONS = sizeof object_functions / sizeof object_functions[0], DEAD = 1 };

struct use {
    const struct object_function *function;
    coex_handle h; /* DEAD: one that was alive */
};

static void use_handle(void *arg)
{
    const struct use *use = arg;
    start_quiet();
    coex_handle h = coex_gc_alloc(sizeof(pair), type_pair());
    if (use->h == DEAD) coex_gc_collect();
    use->function->call(use->h == DEAD ? h : use->h);
}

/* All but 0 name nothing; none of them is given out by one allocation. */
static const coex_handle made_up[] = {
    60, 1048576, UINT32_MAX, (uint64_t)1 << 36, ((uint64_t)1 << 36) + 1, COEX_IMMEDIATE_BIT | 1, (uint64_t)1 << 63 | 1, UINT64_MAX};

enum { MADE_UP = sizeof made_up / sizeof made_up[0] };

static void expect_reported(const struct object_function *function, coex_handle h)
{
    struct use use = {function, h};
    char line[60];
    snprintf(line, sizeof line, "%s: ", function->name);
    expect_abort(use_handle, &use, line);
}

TEST(made_up_handles_are_reported_by_functions_that_need_an_object)
{
    for (int i = 0; i < OBJECT_FUNCTIONS; i++) {
        if (object_functions[i].checked_only && !test_is_checked()) continue;
        for (int k = 0; k < MADE_UP; k++) expect_reported(&object_functions[i], made_up[k]);
    }
}

TEST(null_is_reported_by_functions_that_need_an_object)
{
    for (int i = 0; i < OBJECT_FUNCTIONS; i++) {
        if (object_functions[i].null_is_fine || (object_functions[i].checked_only && !test_is_checked())) continue;
        expect_reported(&object_functions[i], 0);
    }
}

TEST(dead_handles_are_reported_by_functions_that_need_an_object)
{
    for (int i = 0; i < OBJECT_FUNCTIONS; i++) {
        if (object_functions[i].checked_only && !test_is_checked()) continue;
        expect_reported(&object_functions[i], DEAD);
    }
}

/* ---- as values -------------------------------------------------------------------------------------------- */

static coex_handle mutable_object, cell, *locals[] = {&cell}, *frame_slots;

static void keep_by_store(coex_handle v) { coex_gc_store(mutable_object, 0, v); }
static void keep_by_init_ref(coex_handle v) { coex_gc_init_ref(mutable_object, 0, v); }
static void keep_by_exchange(coex_handle v) { coex_gc_exchange(mutable_object, 0, v); }
static void keep_by_compare_exchange(coex_handle v) { coex_gc_compare_exchange(mutable_object, 0, &expected_value, v); }
static void keep_by_root(coex_handle v) { coex_gc_root(v); }
static void keep_by_frame(coex_handle v) { coex_gc_enter_frame_with(2, 1, &v); }
static void keep_by_set_slot(coex_handle v) { coex_gc_set_slot(frame_slots, v); }
static void keep_by_set_root(coex_handle v) { coex_gc_set_root(locals, 0, v); }
static void keep_by_global(coex_handle v) { coex_gc_global_store(&cell, v); }
static void keep_by_spawn(coex_handle v) { coex_gc_spawn_prepare(v); }
static void keep_by_weak(coex_handle v) { coex_gc_weak_new(v); }
static void keep_by_ephemeron_key(coex_handle v) { coex_gc_ephemeron_new(v, 0); }
static void keep_by_ephemeron_value(coex_handle v) { coex_gc_ephemeron_new(COEX_IMMEDIATE(1), v); }

static const struct value_function {
    const char *name;
    void (*keep)(coex_handle v);
    bool not_null; /* null makes no sense here, whatever becomes of it */
} value_functions[] = {
    {"coex_gc_store", keep_by_store, false},
    {"coex_gc_init_ref", keep_by_init_ref, false},
    {"coex_gc_exchange", keep_by_exchange, false},
    {"coex_gc_compare_exchange", keep_by_compare_exchange, false},
    {"coex_gc_root", keep_by_root, false},
    {"coex_gc_enter_frame_with", keep_by_frame, false},
    {"coex_gc_set_slot", keep_by_set_slot, false},
    {"coex_gc_set_root", keep_by_set_root, false},
    {"coex_gc_global_store", keep_by_global, false},
    {"coex_gc_spawn_prepare", keep_by_spawn, false},
    {"coex_gc_weak_new", keep_by_weak, true},
    {"coex_gc_ephemeron_new", keep_by_ephemeron_key, true},
    {"coex_gc_ephemeron_new", keep_by_ephemeron_value, false},
};

enum { VALUE_FUNCTIONS = sizeof value_functions / sizeof value_functions[0] };

struct keeping {
    const struct value_function *function;
    coex_handle value;
};

static void start_keeping(void)
{
    start_quiet();
    frame_slots = coex_gc_enter_frame(2);
    frame_slots[1] = mutable_object = coex_gc_alloc(32, type_refs());
    cell = expected_value = 0;
    coex_gc_add_global_root(&cell);
}

static void keep_value(void *arg)
{
    const struct keeping *keeping = arg;
    start_keeping();
    keeping->function->keep(keeping->value);
}

TEST(made_up_values_are_reported_in_checked_builds)
{
    if (!test_is_checked()) return;
    for (int i = 0; i < VALUE_FUNCTIONS; i++) {
        for (int k = 0; k < MADE_UP; k++) {
            if (coex_is_immediate(made_up[k])) continue;
            struct keeping keeping = {&value_functions[i], made_up[k]};
            char line[60];
            snprintf(line, sizeof line, "%s: ", value_functions[i].name);
            expect_abort(keep_value, &keeping, line);
        }
    }
}

TEST(null_and_immediates_are_values_like_any_other)
{
    for (int i = 0; i < VALUE_FUNCTIONS; i++) {
        start_keeping();
        if (!value_functions[i].not_null) value_functions[i].keep(0);
        expected_value = 0;
        value_functions[i].keep(COEX_IMMEDIATE(7));
        coex_gc_collect();
        ck_assert_int_eq(coex_gc_validate_heap(), 0);
        coex_gc_shutdown();
    }
}

/* ---- offsets ---------------------------------------------------------------------------------------------- */

struct offset {
    uint64_t offset;
    int way;
};

static void use_offset(void *arg)
{
    const struct offset *use = arg;
    start_keeping();
    switch (use->way) {
    case 0:
        coex_gc_store(mutable_object, use->offset, 0);
        break;
    case 1:
        coex_gc_init_ref(mutable_object, use->offset, 0);
        break;
    case 2:
        coex_gc_load(mutable_object, use->offset);
        break;
    case 3:
        coex_gc_exchange(mutable_object, use->offset, 0);
        break;
    default:
        coex_gc_compare_exchange(mutable_object, use->offset, &expected_value, 0);
        break;
    }
}

TEST(offset_outside_the_object_is_reported_in_checked_builds)
{
    if (!test_is_checked()) return;
    static const uint64_t offsets[] = {32, 25, 4, 40, (uint64_t)1 << 48, UINT64_MAX - 7, UINT64_MAX};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        for (int way = 0; way < 5; way++) {
            struct offset use = {offsets[i], way};
            expect_abort(use_offset, &use, "is not a word of an object of 32 bytes");
        }
    }
}
