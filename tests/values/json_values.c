/* Json values: kinds, constructors, lookup, change, JSON Pointer, equality, hash. */
#include "json_help.h"

#include <math.h>

/* ------------------------------------------------------------------ scalars */

TEST(kinds_are_told_and_what_is_no_json_is_none)
{
    start_default();
    expect_eq(coex_json_kind_of(coex_json_null()), COEX_JSON_NULL);
    expect_eq(coex_json_kind_of(coex_json_bool(true)), COEX_JSON_BOOL);
    expect_eq(coex_json_kind_of(coex_json_bool(false)), COEX_JSON_BOOL);
    expect_eq(coex_json_kind_of(coex_json_int(INT64_MIN)), COEX_JSON_INT);
    expect_eq(coex_json_kind_of(coex_json_uint(UINT64_MAX)), COEX_JSON_INT);
    expect_eq(coex_json_kind_of(coex_json_int(0)), COEX_JSON_INT);
    expect_eq(coex_json_kind_of(coex_json_float(0)), COEX_JSON_FLOAT);
    expect_eq(coex_json_kind_of(coex_json_float(1e300)), COEX_JSON_FLOAT);
    expect_eq(coex_json_kind_of(coex_json_string("x", 1)), COEX_JSON_STRING);
    expect_eq(coex_json_kind_of(coex_json_array()), COEX_JSON_ARRAY);
    expect_eq(coex_json_kind_of(coex_json_object()), COEX_JSON_OBJECT);
    expect_eq(coex_kind_of(coex_json_object()), COEX_KIND_JSON);
    expect_eq(coex_json_kind_of(0), COEX_JSON_NONE);
    expect_eq(coex_json_kind_of(COEX_IMMEDIATE(12345 * 8)), COEX_JSON_NONE);
    expect_eq(coex_json_kind_of(coex_list_empty(false)), COEX_JSON_NONE);
    expect_eq(coex_json_kind_of(coex_json_reader_new(NULL)), COEX_JSON_NONE);
    ck_assert_str_eq(coex_json_kind_string(COEX_JSON_OBJECT), "object");
    ck_assert_str_eq(coex_json_kind_string((coex_json_kind)99), "unknown kind");
    coex_gc_shutdown();
}

TEST(numbers_convert_where_nothing_is_lost)
{
    start_default();
    int64_t whole = 7;
    uint64_t natural = 7;
    double real = 7;
    expect(coex_json_to_int(coex_json_float(-3.0), &whole) && whole == -3);
    expect(!coex_json_to_int(coex_json_float(0.5), &whole) && coex_last_status() == COEX_STATUS_RANGE);
    expect(!coex_json_to_int(coex_json_float(0x1p63), &whole) && coex_last_status() == COEX_STATUS_RANGE);
    expect(coex_json_to_int(coex_json_float(-0x1p63), &whole) && whole == INT64_MIN);
    expect(!coex_json_to_int(coex_json_uint((uint64_t)INT64_MAX + 1), &whole));
    expect(!coex_json_to_uint(coex_json_int(-1), &natural) && coex_last_status() == COEX_STATUS_RANGE);
    expect(!coex_json_to_uint(coex_json_float(-1), &natural) && !coex_json_to_uint(coex_json_float(0x1p64), &natural));
    expect(coex_json_to_uint(coex_json_float(0x1p63), &natural) && natural == (uint64_t)1 << 63);
    expect(coex_json_to_float(coex_json_uint(UINT64_MAX), &real) && real == 0x1p64);
    expect(coex_json_to_float(coex_json_int(-5), &real) && real == -5);
    coex_clear_status();
    expect(!coex_json_to_float(coex_json_null(), &real) && coex_last_status() == COEX_STATUS_KIND && real == -5);
    bool truth = false;
    expect(!coex_json_to_bool(coex_json_int(1), &truth) && coex_json_to_bool(coex_json_bool(true), &truth) && truth);
    expect_eq(coex_json_float((double)INFINITY), 0);
    expect_eq(coex_json_float((double)NAN), 0);
    expect_eq(coex_last_status(), COEX_STATUS_RANGE);
    expect_eq(coex_json_string("\xff", 1), 0);
    expect_eq(coex_last_status(), COEX_STATUS_TEXT);
    coex_gc_shutdown();
}

/* --------------------------------------------------------------- containers */

TEST(an_array_is_a_list)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = json_of("[10,20,30]");
    expect_eq(coex_kind_of(slots[0]), COEX_KIND_LIST);
    expect_eq(coex_list_get(slots[0], 1), coex_json_int(20));
    slots[0] = coex_list_insert(slots[0], 1, coex_json_bool(true));
    slots[0] = coex_json_set_at(slots[0], 0, coex_json_null());
    slots[0] = coex_json_set_at(slots[0], 4, coex_json_int(5));
    slots[0] = coex_json_remove_at(slots[0], 2);
    slots[0] = coex_json_append(slots[0], slots[0]);
    char *text = json_text_of(slots[0], 0);
    ck_assert_str_eq(text, "[null,true,30,5,[null,true,30,5]]");
    free(text);
    coex_clear_status();
    expect_eq(coex_json_set_at(slots[0], 7, coex_json_null()), 0);
    expect_eq(coex_last_status(), COEX_STATUS_RANGE);
    expect_eq(coex_json_get_at(slots[0], 5), 0);
    expect_eq(coex_json_append(slots[0], 0), 0);
    expect_eq(coex_last_status(), COEX_STATUS_KIND);
    expect_eq(coex_json_get_at(coex_json_object(), 0), 0);
    expect_eq(coex_json_len(slots[0]), 5);
    coex_gc_shutdown();
}

/* A simple object: keys in order. */
struct model {
    unsigned count;
    unsigned key[400];
    int64_t value[400];
};

static unsigned model_find(const struct model *model, unsigned key)
{
    unsigned i = 0;
    while (i < model->count && model->key[i] != key) i++;
    return i;
}

static void expect_like_model(coex_handle object, const struct model *model)
{
    coex_handle key, value;
    unsigned i = 0;
    expect_eq(coex_json_len(object), model->count);
    for (uint64_t cursor = 0; coex_json_next(object, &cursor, &key, &value); i++) {
        char name[16];
        snprintf(name, sizeof name, "k%u", model->key[i]);
        expect(i < model->count && coex_string_len(key) == strlen(name) && memcmp(coex_string_data(key), name, strlen(name)) == 0);
        expect_eq(value, coex_json_int(model->value[i]));
        expect_eq(coex_json_get(object, key), value);
    }
    expect_eq(i, model->count);
}

/* Sets and removes keys below `range` at random; growing and shrinking in turn. */
static void model_run(test_rng *rng, unsigned range, unsigned steps)
{
    static struct model model, older_model;
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = coex_json_object();
    slots[1] = slots[0];
    model.count = older_model.count = 0;
    for (unsigned step = 0; step < steps; step++) {
        bool growing = step / 300 % 2 == 0;
        unsigned key = (unsigned)rng_below(rng, range), at = model_find(&model, key);
        int64_t value = (int64_t)rng_below(rng, 1000);
        char name[16];
        int bytes = snprintf(name, sizeof name, "k%u", key);
        if (rng_one_in(rng, growing ? 4 : 2) || (!growing && at < model.count)) {
            coex_clear_status();
            coex_handle without = coex_json_remove_text(slots[0], name, (uint64_t)bytes);
            expect((without != 0) == (at < model.count));
            if (without == 0) {
                expect_eq(coex_last_status(), COEX_STATUS_MISSING);
                continue;
            }
            slots[0] = without;
            for (unsigned i = at; i + 1 < model.count; i++) {
                model.key[i] = model.key[i + 1];
                model.value[i] = model.value[i + 1];
            }
            model.count--;
        } else {
            if (rng_one_in(rng, 2)) {
                slots[2] = coex_string_from(name, (uint64_t)bytes);
                slots[0] = coex_json_set(slots[0], slots[2], coex_json_int(value));
            } else {
                slots[0] = coex_json_set_text(slots[0], name, (uint64_t)bytes, coex_json_int(value));
            }
            expect(slots[0] != 0);
            model.key[at] = key;
            model.value[at] = value;
            model.count += at == model.count;
        }
        expect_eq(coex_json_get_text(slots[0], name, (uint64_t)bytes) != 0, model_find(&model, key) < model.count);
        if (step % 97 == 0) {
            expect_like_model(slots[0], &model);
            expect_like_model(slots[1], &older_model); /* what it came from is as it was */
            slots[1] = slots[0];
            older_model = model;
        }
    }
    expect_like_model(slots[0], &model);
    coex_gc_leave_frame(slots);
}

TEST_TIMEOUT(objects_of_every_size_do_what_a_simple_model_does, 60)
{
    start_default();
    test_rng rng = rng_from(test_seed());
    model_run(&rng, 6, unless_hostile(1500, 100));
    model_run(&rng, 40, unless_hostile(3000, 150));
    model_run(&rng, 90, unless_hostile(4000, 400)); /* across the border between flat and large, both ways */
    model_run(&rng, 380, unless_hostile(test_is_sanitized() ? 3000 : 8000, 300));
    coex_gc_shutdown();
}

TEST(removing_and_adding_one_key_again_and_again_stays_quick)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_json_object();
    for (int i = 0; i < 300; i++) {
        char name[16];
        slots[0] = coex_json_set_text(slots[0], name, (uint64_t)snprintf(name, sizeof name, "k%d", i), coex_json_int(i));
    }
    for (int i = 0; i < unless_hostile(test_is_sanitized() ? 2000 : 20000, 200); i++) {
        slots[0] = coex_json_remove_text(slots[0], "k7", 2);
        expect(slots[0] != 0);
        slots[0] = coex_json_set_text(slots[0], "k7", 2, coex_json_int(i));
        expect_eq(coex_json_len(slots[0]), 300);
    }
    expect_eq(coex_json_get_text(slots[0], "k299", 4), coex_json_int(299));
    coex_gc_shutdown();
}

TEST(objects_are_made_of_keys_and_values)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(4), keys[3], values[3];
    keys[0] = slots[0] = coex_string_from_c("a");
    keys[1] = slots[1] = coex_string_from_c("b");
    keys[2] = slots[2] = coex_string_from_c("a");
    for (int i = 0; i < 3; i++) values[i] = coex_json_int(i);
    slots[3] = coex_json_object_of(3, keys, values);
    char *text = json_text_of(slots[3], 0);
    ck_assert_str_eq(text, "{\"a\":2,\"b\":1}");
    free(text);
    expect(coex_json_has(slots[3], slots[1]) && !coex_json_has(slots[3], slots[3]));
    keys[1] = values[1];
    expect_eq(coex_json_object_of(3, keys, values), 0);
    expect_eq(coex_last_status(), COEX_STATUS_KIND);
    values[2] = 0;
    expect_eq(coex_json_array_of(3, values), 0);
    expect_eq(coex_json_len(coex_json_array_of(2, values)), 2);
    expect_eq(coex_json_set(slots[3], coex_json_int(1), coex_json_null()), 0);
    expect_eq(coex_json_set_text(slots[3], "\xff", 1, coex_json_null()), 0);
    expect_eq(coex_last_status(), COEX_STATUS_TEXT);
    expect_eq(coex_json_get_text(coex_json_null(), "a", 1), 0);
    expect_eq(coex_last_status(), COEX_STATUS_KIND);
    coex_gc_shutdown();
}

/* ------------------------------------------------------------------ pointer */

static coex_handle at(coex_handle json, const char *pointer) { return coex_json_pointer_get(json, pointer, strlen(pointer)); }

TEST(the_examples_of_rfc_6901_lead_where_they_should)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = json_of(
        "{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,\"m~n\":8}");
    expect_eq(at(slots[0], ""), slots[0]);
    expect_eq(coex_json_len(at(slots[0], "/foo")), 2);
    expect(coex_string_equal(at(slots[0], "/foo/0"), coex_string_from_c("bar")));
    const char *pointers[] = {"/", "/a~1b", "/c%d", "/e^f", "/g|h", "/i\\j", "/k\"l", "/ ", "/m~0n"};
    for (int i = 0; i < 9; i++) expect_eq(at(slots[0], pointers[i]), coex_json_int(i));
    coex_gc_shutdown();
}

TEST(pointers_that_lead_nowhere_say_why)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = json_of("{\"a\":[1,{\"b\":null}],\"n\":3}");
    static const struct {
        const char *pointer;
        coex_status status;
    } cases[] = {{"a", COEX_STATUS_TEXT},
                 {"/a~", COEX_STATUS_TEXT},
                 {"/a~2", COEX_STATUS_TEXT},
                 {"/x", COEX_STATUS_MISSING},
                 {"/a/2", COEX_STATUS_RANGE},
                 {"/a/-", COEX_STATUS_RANGE},
                 {"/a/01", COEX_STATUS_RANGE},
                 {"/a/x", COEX_STATUS_RANGE},
                 {"/a/0/0", COEX_STATUS_KIND},
                 {"/n/x", COEX_STATUS_KIND},
                 {"/a/1/c", COEX_STATUS_MISSING},
                 {"/a/", COEX_STATUS_RANGE},
                 {"/a/99999999999999999999", COEX_STATUS_RANGE},
                 {"/a/+1", COEX_STATUS_RANGE}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        coex_clear_status();
        expect_eq(at(slots[0], cases[i].pointer), 0);
        if (coex_last_status() != cases[i].status)
            test_fail(__FILE__, __LINE__, "%s: %s", cases[i].pointer, coex_status_string(coex_last_status()));
        expect_eq(coex_json_pointer_remove(slots[0], cases[i].pointer, strlen(cases[i].pointer)), 0);
    }
    expect_eq(coex_json_pointer_remove(slots[0], "", 0), 0);
    expect_eq(coex_json_pointer_get(0, "", 0), 0);
    coex_gc_shutdown();
}

TEST(pointers_change_what_is_deep_inside_and_leave_the_old_value_alone)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(3);
    slots[0] = json_of("{\"a\":[1,{\"b\":null}],\"n\":3}");
    slots[2] = json_of("[true]");
    static const struct {
        const char *pointer, *expected;
    } sets[] = {{"", "[true]"},
                {"/n", "{\"a\":[1,{\"b\":null}],\"n\":[true]}"},
                {"/a/1/b", "{\"a\":[1,{\"b\":[true]}],\"n\":3}"},
                {"/a/1/new~1key", "{\"a\":[1,{\"b\":null,\"new/key\":[true]}],\"n\":3}"},
                {"/a/-", "{\"a\":[1,{\"b\":null},[true]],\"n\":3}"},
                {"/a/2", "{\"a\":[1,{\"b\":null},[true]],\"n\":3}"},
                {"/a/0", "{\"a\":[[true],{\"b\":null}],\"n\":3}"}};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        slots[1] = coex_json_pointer_set(slots[0], sets[i].pointer, strlen(sets[i].pointer), slots[2]);
        char *text = json_text_of(slots[1], 0);
        ck_assert_str_eq(text, sets[i].expected);
        free(text);
    }
    slots[1] = coex_json_pointer_remove(slots[0], "/a/1/b", 6);
    slots[1] = coex_json_pointer_remove(slots[1], "/a/0", 4);
    char *text = json_text_of(slots[1], 0);
    ck_assert_str_eq(text, "{\"a\":[{}],\"n\":3}");
    free(text);
    text = json_text_of(slots[0], 0);
    ck_assert_str_eq(text, "{\"a\":[1,{\"b\":null}],\"n\":3}");
    free(text);
    expect_eq(coex_json_pointer_set(slots[0], "/a/3", 4, slots[2]), 0);
    expect_eq(coex_json_pointer_set(slots[0], "/x/y", 4, slots[2]), 0);
    expect_eq(coex_last_status(), COEX_STATUS_MISSING);
    expect_eq(coex_json_pointer_set(slots[0], "/n", 2, 0), 0);
    expect_eq(coex_last_status(), COEX_STATUS_KIND);
    coex_gc_shutdown();
}

TEST(pointers_and_keys_longer_than_any_buffer_work)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(1);
    uint64_t bytes = 100000;
    char *pointer = malloc(bytes + 1);
    memset(pointer, 'x', bytes);
    pointer[0] = '/';
    slots[0] = coex_json_object();
    slots[0] = coex_json_pointer_set(slots[0], pointer, bytes, coex_json_int(1));
    expect_eq(coex_json_pointer_get(slots[0], pointer, bytes), coex_json_int(1));
    expect_eq(coex_json_get_text(slots[0], pointer + 1, bytes - 1), coex_json_int(1));
    for (uint64_t i = 0; i < bytes; i += 2) memcpy(pointer + i, "/0", 2);
    expect_eq(coex_json_pointer_get(slots[0], pointer, bytes), 0);
    expect_eq(coex_json_pointer_set(slots[0], pointer, bytes, coex_json_int(1)), 0);
    free(pointer);
    coex_gc_shutdown();
}

/* ----------------------------------------------------------------- equality */

TEST(equal_values_are_equal_whatever_their_form_and_order_and_have_one_hash)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(2);
    static const char *const pairs[][2] = {
        {"{\"a\":1,\"b\":[1,2,{\"c\":null}]}", "{\"b\":[1,2,{\"c\":null}],\"a\":1}"},
        {"[1.5,\"x\",18446744073709551615]", " [ 15e-1 , \"\\u0078\" , 18446744073709551615 ] "},
        {"1e300", "10e299"},
        {"{}", "{ }"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        slots[0] = json_of(pairs[i][0]);
        slots[1] = json_of(pairs[i][1]);
        expect(coex_json_equal(slots[0], slots[1]) && coex_json_equal(slots[1], slots[0]));
        expect_eq(coex_json_hash(slots[0]), coex_json_hash(slots[1]));
    }
    static const char *const others[] = {"null",
                                         "false",
                                         "true",
                                         "0",
                                         "0.0",
                                         "-0.0",
                                         "1",
                                         "1.0",
                                         "\"\"",
                                         "\"0\"",
                                         "[]",
                                         "[[]]",
                                         "[0]",
                                         "[0,0]",
                                         "{}",
                                         "{\"a\":0}",
                                         "{\"a\":1}",
                                         "{\"b\":0}",
                                         "[1,2]",
                                         "[2,1]",
                                         "[[1],2]",
                                         "[[1,2]]",
                                         "{\"a\":{}}",
                                         "{\"a\":[]}",
                                         "1e300",
                                         "2e300",
                                         "-1e300",
                                         "18446744073709551615",
                                         "-9223372036854775808",
                                         "9223372036854775807"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        slots[0] = json_of(others[i]);
        for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
            slots[1] = json_of(others[k]);
            expect_eq(coex_json_equal(slots[0], slots[1]), i == k);
            expect((coex_json_hash(slots[0]) == coex_json_hash(slots[1])) == (i == k));
        }
    }
    expect(!coex_json_equal(slots[0], 0) && coex_last_status() == COEX_STATUS_KIND);
    expect_eq(coex_json_hash(0), 0);
    coex_gc_shutdown();
}

TEST(large_and_flat_objects_of_the_same_entries_are_equal)
{
    start_default();
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = coex_json_object();
    slots[1] = coex_json_object();
    char name[16];
    for (int i = 0; i < 100; i++) {
        int bytes = snprintf(name, sizeof name, "k%d", i);
        if (i < 50) slots[0] = coex_json_set_text(slots[0], name, (uint64_t)bytes, coex_json_int(i));
        slots[1] = coex_json_set_text(slots[1], name, (uint64_t)bytes, coex_json_int(i));
    }
    for (int i = 99; i >= 50; i--)
        slots[1] = coex_json_remove_text(slots[1], name, (uint64_t)snprintf(name, sizeof name, "k%d", i));
    expect(coex_json_equal(slots[0], slots[1]) && coex_json_equal(slots[1], slots[0]));
    expect_eq(coex_json_hash(slots[0]), coex_json_hash(slots[1]));
    slots[1] = coex_json_set_text(slots[1], "k3", 2, coex_json_null());
    expect(!coex_json_equal(slots[0], slots[1]));
    coex_gc_shutdown();
}
