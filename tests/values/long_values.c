/*
 * Long values keep no cycle waiting: another thread's collections begin and end while one operation on a long text, list, set or
 * array runs. Each operation is repeated until several did so; an operation without a poll lets none through, however often it runs. In
 * the hostile mode each runs once, and its result is what counts.
 */
#include "support/values.h"

#include <coex/values.h>
#include <time.h>

enum {
    BYTES = 1 << 23, /* of a text */
    WORDS = 1 << 19, /* of a list, an array, a set */
    WANTED = 2,      /* collections within one operation */
    PATIENCE = 20    /* seconds for one operation */
};

enum { TEXT, OTHER, LETTER, LIST, SET, SUBSET, ARRAY, SAME_ARRAY, PARTS, BYTES_ARRAY, SCRATCH, SLOTS };

static uint64_t words;        /* WORDS, or fewer */
static uint64_t begun, ended; /* collections of the other thread */
static int is_over;
static uint64_t copied[WORDS];
static char c_text[BYTES], hexed[2 * BYTES];

static uint64_t seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

/* ---- the operations: each returns whether its result is right ------------------------------------------------- */

static bool has_length(coex_handle s, uint64_t length) { return coex_string_len(s) == length; }

static bool op_from(coex_handle *s) { return has_length(s[SCRATCH] = coex_string_from(c_text, BYTES), BYTES); }
static bool op_from_lossy(coex_handle *s) { return has_length(s[SCRATCH] = coex_string_from_lossy(c_text, BYTES), BYTES); }
static bool op_from_bytes(coex_handle *s) { return has_length(s[SCRATCH] = coex_string_from_bytes(s[BYTES_ARRAY]), BYTES); }
static bool op_to_bytes(coex_handle *s) { return coex_array_len(s[SCRATCH] = coex_string_to_bytes(s[TEXT])) == BYTES; }
static bool op_copy(coex_handle *s) { return coex_string_copy(s[TEXT], 0, hexed, BYTES) == BYTES; }
static bool op_concat(coex_handle *s) { return has_length(s[SCRATCH] = coex_string_concat(s[TEXT], s[OTHER]), 2 * BYTES); }
static bool op_grow(coex_handle *s) { return has_length(s[SCRATCH] = coex_string_concat(s[TEXT], s[LETTER]), BYTES + 1); }
static bool op_upper(coex_handle *s) { return has_length(s[SCRATCH] = coex_string_upper_ascii(s[TEXT]), BYTES); }
static bool op_repeat(coex_handle *s) { return has_length(s[SCRATCH] = coex_string_repeat(s[LETTER], BYTES), BYTES); }
static bool op_splice(coex_handle *s) { return has_length(s[SCRATCH] = coex_string_splice(s[TEXT], 5, 6, s[LETTER]), BYTES); }
static bool op_replace(coex_handle *s)
{
    return has_length(s[SCRATCH] = coex_string_replace(s[TEXT], s[LETTER], s[LETTER]), BYTES);
}
static bool op_join(coex_handle *s) { return has_length(s[SCRATCH] = coex_string_join(s[PARTS], s[LETTER]), 4 * BYTES + 3); }
static bool op_hex(coex_handle *s) { return has_length(s[SCRATCH] = coex_string_hex(c_text, BYTES), 2 * BYTES); }
static bool op_equal(coex_handle *s) { return coex_string_equal(s[TEXT], s[OTHER]); }
static bool op_compare(coex_handle *s) { return coex_string_compare(s[TEXT], s[OTHER]) == 0; }
static bool op_equal_ascii(coex_handle *s) { return coex_string_equal_ascii(s[TEXT], s[OTHER]); }
static bool op_hash_ascii(coex_handle *s) { return coex_string_hash_ascii(s[TEXT]) != 0; }
static bool op_find(coex_handle *s) { return coex_string_find(s[TEXT], s[LETTER], 0) == BYTES - 1; }
static bool op_find_last(coex_handle *s) { return coex_string_find_last(s[TEXT], s[LETTER], BYTES - 1) == COEX_STRING_NONE; }
static bool op_count(coex_handle *s) { return coex_string_count(s[TEXT], s[LETTER]) == 1; }
static bool op_starts(coex_handle *s) { return coex_string_starts_with(s[TEXT], s[OTHER]); }

/* A fresh view each time: what was computed is kept in it. */
static bool op_hash(coex_handle *s)
{
    s[SCRATCH] = coex_string_slice(s[TEXT], 1, BYTES);
    return coex_string_hash(s[SCRATCH]) != 0;
}

/* Not known to be ASCII. */
static bool op_chars(coex_handle *s)
{
    s[SCRATCH] = coex_string_from_lossy(c_text, BYTES);
    return coex_string_chars(s[SCRATCH]) == BYTES && coex_string_is_ascii(s[SCRATCH]);
}

static bool op_builder(coex_handle *s)
{
    s[SCRATCH] = coex_string_builder_new(0);
    return coex_string_builder_append(s[SCRATCH], s[TEXT]) && coex_string_builder_append_from(s[SCRATCH], c_text, BYTES) &&
           has_length(s[SCRATCH] = coex_string_builder_finish(s[SCRATCH]), 2 * BYTES);
}

/* Several times, for there is nothing else in it that takes time. */
static bool op_list_copy(coex_handle *s)
{
    bool done = true;
    for (int i = 0; i < 16; i++) done = coex_list_copy(s[LIST], 1, words - 1, copied) && done;
    return done && copied[words - 2] == 7;
}

static bool op_array_equal(coex_handle *s) { return coex_value_equal(s[ARRAY], s[SAME_ARRAY]); }
static bool op_array_hash(coex_handle *s) { return coex_value_hash(s[ARRAY]) != 0; }
static bool op_array_copy(coex_handle *s) { return coex_array_len(s[SCRATCH] = coex_array_copy(s[ARRAY])) == words; }
static bool op_subset(coex_handle *s) { return coex_set_is_subset(s[SUBSET], s[SET]); }

struct operation {
    const char *name;
    bool (*run)(coex_handle *slots);
};

#define OPERATION(name)                                                                                                            \
    {                                                                                                                              \
#name, op_##name                                                                                                           \
    }
static const struct operation on_texts[] = {OPERATION(from),   OPERATION(from_lossy), OPERATION(from_bytes),  OPERATION(to_bytes),
                                            OPERATION(copy),   OPERATION(concat),     OPERATION(grow),        OPERATION(upper),
                                            OPERATION(repeat), OPERATION(splice),     OPERATION(replace),     OPERATION(join),
                                            OPERATION(hex),    OPERATION(equal),      OPERATION(compare),     OPERATION(hash_ascii),
                                            OPERATION(find),   OPERATION(find_last),  OPERATION(equal_ascii), OPERATION(count),
                                            OPERATION(starts), OPERATION(hash),       OPERATION(chars),       OPERATION(builder)};
static const struct operation on_arrays[] = {OPERATION(array_equal), OPERATION(array_hash), OPERATION(array_copy)};
static const struct operation on_lists[] = {OPERATION(list_copy)};
static const struct operation on_sets[] = {OPERATION(subset)};

/* ---- the two threads ------------------------------------------------------------------------------------------ */

/* Collections that began and ended while the operation ran. */
static uint64_t collections_within(const struct operation *operation, coex_handle *slots)
{
    uint64_t before = __atomic_load_n(&begun, __ATOMIC_SEQ_CST);
    if (!operation->run(slots)) test_fail(__FILE__, __LINE__, "%s gives the wrong result", operation->name);
    uint64_t after = __atomic_load_n(&ended, __ATOMIC_SEQ_CST);
    return after > before ? after - before : 0;
}

static void let_collections_through(const struct operation *operation, coex_handle *slots)
{
    uint64_t start = seconds(), most = 0;
    uint64_t wanted = unless_hostile(WANTED, 0);
    do {
        uint64_t some = collections_within(operation, slots);
        if (some > most) most = some;
        slots[SCRATCH] = 0;
    } while (most < wanted && seconds() - start < PATIENCE);
    if (most < wanted)
        test_fail(__FILE__, __LINE__, "%s: at most %llu collections end while it runs", operation->name, (unsigned long long)most);
}

static void run_all(const struct operation *first, size_t count, coex_handle *slots)
{
    for (size_t i = 0; i < count; i++) let_collections_through(&first[i], slots);
}

static void run_on_texts(coex_handle *slots)
{
    memset(c_text, 'a', BYTES);
    c_text[BYTES - 1] = 'x';
    slots[TEXT] = coex_string_from(c_text, BYTES);
    slots[OTHER] = coex_string_from(c_text, BYTES);
    slots[LETTER] = coex_string_from_c("x");
    slots[BYTES_ARRAY] = coex_array_from(c_text, BYTES, 1, false);
    coex_handle parts[] = {slots[TEXT], slots[OTHER], slots[TEXT], slots[OTHER]};
    slots[PARTS] = coex_list_from_words(parts, 4, true);
    run_all(on_texts, sizeof on_texts / sizeof on_texts[0], slots);
}

static void run_on_arrays(coex_handle *slots)
{
    slots[ARRAY] = coex_array_from(c_text, words, 8, false);
    slots[SAME_ARRAY] = coex_array_from(c_text, words, 8, false);
    run_all(on_arrays, sizeof on_arrays / sizeof on_arrays[0], slots);
}

/* The list has few nodes, so that collections are quick. */
static void run_on_lists(coex_handle *slots)
{
    slots[LIST] = coex_list_from_words((const uint64_t[]){7}, 1, false);
    while (coex_list_len(slots[LIST]) < words) slots[LIST] = coex_list_concat(slots[LIST], slots[LIST]);
    run_all(on_lists, sizeof on_lists / sizeof on_lists[0], slots);
}

static coex_handle set_of(uint64_t count, coex_handle *slot)
{
    *slot = coex_set_empty(COEX_SET_INTEGER);
    *slot = coex_set_builder(*slot);
    for (uint64_t i = 0; i < count; i++) coex_set_builder_add(*slot, i);
    return coex_set_builder_finish(*slot);
}

static void run_on_sets(coex_handle *slots)
{
    slots[SUBSET] = set_of(words, &slots[SCRATCH]);
    slots[SET] = set_of(words + 1, &slots[SCRATCH]);
    run_all(on_sets, sizeof on_sets / sizeof on_sets[0], slots);
}

static void long_main(unsigned index, void *argument)
{
    void (*run)(coex_handle *) = *(void (**)(coex_handle *))argument;
    coex_gc_register_thread();
    if (index == 0) {
        coex_handle *slots = coex_gc_enter_frame(SLOTS);
        run(slots);
        coex_gc_leave_frame(slots);
        __atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
    }
    while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST)) {
        __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
        coex_gc_collect();
        __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
    }
    coex_gc_unregister_thread();
}

static void beside_collections(void (*run)(coex_handle *slots))
{
    words = unless_hostile(WORDS, 10000);
    start_default();
    coex_gc_enter_native();
    run_threads(2, long_main, &run);
    coex_gc_leave_native();
    coex_gc_shutdown();
}

TEST_TIMEOUT(an_operation_on_a_long_text_keeps_no_collection_waiting, 60) { beside_collections(run_on_texts); }
TEST_TIMEOUT(an_operation_on_a_long_array_keeps_no_collection_waiting, 60) { beside_collections(run_on_arrays); }
TEST_TIMEOUT(copying_a_long_list_keeps_no_collection_waiting, 60) { beside_collections(run_on_lists); }
TEST_TIMEOUT(asking_for_a_large_subset_keeps_no_collection_waiting, 60) { beside_collections(run_on_sets); }
