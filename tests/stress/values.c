/*
 * All kinds of values at once, between threads, with cycles that never end.
 *
 * A value is determined by its seed: its kind, its size, what is in it, and (by other bits) the way in which it is made: so whoever gets
 * one checks every word of it without knowing who made it. A parcel is a list of a seed and its value. Parcels travel through channels
 * and rest in a mutable array; values that were taken out are changed, and must be as they were afterwards. Beside that all threads
 * update one map in a cell. At the end everything is counted.
 */
#include "support/stress.h"

#include <coex/values.h>
#include <coex/values/json.h>

enum { THREADS = 4, CHANNELS = 4, SHELVES = 64, COUNTERS = 40, MOST_TEXT = 2000, DEPTH = 3, LOOK = 16 };

#define SEED_MASK (COEX_IMMEDIATE_BIT - 1)

static coex_handle channel_roots[CHANNELS], shelf_root, tally_root, plain_root;
static uint64_t run_seed;
static uint64_t made, made_sum, ended, ended_sum, updates;

static void add(uint64_t *sum, uint64_t amount) { __atomic_fetch_add(sum, amount, __ATOMIC_RELAXED); }
static uint64_t sub_seed(uint64_t seed, uint64_t i) { return node_mix(seed ^ node_mix(i + 1)) & SEED_MASK; }
static coex_handle must(coex_handle made_now)
{
    if (made_now == 0) test_fail(__FILE__, __LINE__, "nothing was made: %s", coex_status_string(coex_last_status()));
    return made_now;
}

/* ---- what a seed says ---------------------------------------------------------------------------------------------- */

enum kind { TEXT, LIST, INTEGER_MAP, STRING_MAP, INTEGERS, ARRAY, WORDS, JSON, KINDS };

static enum kind kind_of(uint64_t seed) { return (enum kind)(seed % KINDS); }
static uint64_t size_of(uint64_t seed) { return seed >> 8 & 63; }
static unsigned way_of(uint64_t seed) { return (unsigned)(seed >> 16 & 3); }

/* Element i of a value is a value itself once in a while, else an immediate. */
static bool is_nested(uint64_t seed, uint64_t i, unsigned depth) { return depth > 0 && (sub_seed(seed, i) >> 20) % 16 == 0; }
static uint64_t plain_element(uint64_t seed, uint64_t i) { return COEX_IMMEDIATE(sub_seed(seed, i)); }

static uint64_t text_of(uint64_t seed, char *text)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < 3 * size_of(seed); i++) {
        if (sub_seed(seed, i) % 9 == 0) {
            text[bytes++] = (char)0xc3; /* é */
            text[bytes++] = (char)0xa9;
        } else {
            text[bytes++] = (char)('a' + sub_seed(seed, i) % 26);
        }
    }
    return bytes;
}

/* {"id":…,"list":[…],"name":"…"} */
static uint64_t json_of(uint64_t seed, char *text)
{
    int bytes = snprintf(text, MOST_TEXT, "{\"id\":%" PRIu64 ",\"list\":[", seed);
    for (uint64_t i = 0; i < size_of(seed); i++)
        bytes += snprintf(text + bytes, MOST_TEXT - (size_t)bytes, "%s%" PRIu64, i > 0 ? "," : "", sub_seed(seed, i));
    bytes += snprintf(text + bytes, MOST_TEXT - (size_t)bytes, "],\"name\":\"json-%" PRIu64 "\"}", seed % 1000);
    return (uint64_t)bytes;
}

static uint64_t key_text(uint64_t i, char *text) { return (uint64_t)snprintf(text, 32, "key-%" PRIu64, i); }

/* ---- making: each function returns an unrooted value ----------------------------------------------------------------- */

static coex_handle make_value(uint64_t seed, unsigned depth);

static coex_handle make_element(uint64_t seed, uint64_t i, unsigned depth)
{
    return is_nested(seed, i, depth) ? make_value(sub_seed(seed, i), depth - 1) : plain_element(seed, i);
}

static coex_handle make_text(uint64_t seed)
{
    char text[MOST_TEXT];
    uint64_t bytes = text_of(seed, text), cut = bytes / 2;
    while (cut < bytes && ((unsigned char)text[cut] & 0xc0) == 0x80) cut++;
    coex_handle *slot = coex_gc_enter_frame(2), result = 0;
    switch (way_of(seed)) {
    case 0:
        result = must(coex_string_from(text, bytes));
        break;
    case 1:
        slot[0] = must(coex_string_from(text, cut));
        slot[1] = must(coex_string_from(text + cut, bytes - cut));
        result = must(coex_string_concat(slot[0], slot[1]));
        break;
    case 2:
        slot[0] = must(coex_string_from(text, bytes));
        slot[1] = must(coex_string_concat(slot[0], slot[0]));
        result = must(coex_string_slice(slot[1], bytes, 2 * bytes));
        break;
    default:
        slot[0] = must(coex_string_builder_new(0));
        expect(coex_string_builder_append_from(slot[0], text, cut));
        expect(coex_string_builder_append_from(slot[0], text + cut, bytes - cut));
        result = must(coex_string_builder_finish(slot[0]));
        break;
    }
    coex_gc_leave_frame(slot);
    return result;
}

static coex_handle make_list(uint64_t seed, unsigned depth)
{
    coex_handle *slot = coex_gc_enter_frame(2), result;
    bool builds = way_of(seed) == 1;
    slot[0] = must(coex_list_empty(true));
    if (builds) slot[0] = must(coex_list_builder(slot[0]));
    for (uint64_t i = 0; i < size_of(seed); i++) {
        slot[1] = make_element(seed, i, depth);
        if (builds) {
            expect(coex_list_builder_append(slot[0], slot[1]));
        } else if (way_of(seed) == 2) { /* two of it, one too many */
            slot[0] = must(coex_list_append(slot[0], slot[1]));
            slot[0] = must(coex_list_insert(slot[0], i, COEX_IMMEDIATE(i)));
            slot[0] = must(coex_list_remove(slot[0], i));
        } else {
            slot[0] = must(coex_list_append(slot[0], slot[1]));
        }
    }
    if (builds) slot[0] = must(coex_list_builder_finish(slot[0]));
    if (way_of(seed) == 3) {
        slot[1] = must(coex_list_concat(slot[0], slot[0]));
        slot[0] = must(coex_list_slice(slot[1], size_of(seed), 2 * size_of(seed)));
    }
    result = slot[0];
    coex_gc_leave_frame(slot);
    return result;
}

static coex_handle make_map(uint64_t seed, unsigned depth, bool strings)
{
    coex_handle *slot = coex_gc_enter_frame(3), result;
    bool builds = way_of(seed) == 1;
    slot[0] = must(coex_map_empty((strings ? COEX_MAP_STRING : COEX_MAP_INTEGER) | COEX_MAP_REFERENCES));
    if (builds) slot[0] = must(coex_map_builder(slot[0]));
    for (uint64_t i = 0; i < size_of(seed); i++) {
        char text[32];
        uint64_t key = i;
        slot[1] = make_element(seed, i, depth);
        if (strings) {
            uint64_t bytes = key_text(i, text);
            key = slot[2] = must(coex_string_from(text, bytes));
        }
        if (builds) {
            expect(coex_map_builder_set(slot[0], key, slot[1]));
            continue;
        }
        slot[0] = must(coex_map_set(slot[0], key, slot[1]));
        if (way_of(seed) == 2 && i % 3 == 0) { /* and back again */
            slot[0] = must(coex_map_remove(slot[0], key));
            slot[0] = must(coex_map_set(slot[0], key, slot[1]));
        }
    }
    if (builds) slot[0] = must(coex_map_builder_finish(slot[0]));
    if (way_of(seed) == 3) slot[0] = must(coex_map_merge(slot[0], slot[0]));
    result = slot[0];
    coex_gc_leave_frame(slot);
    return result;
}

static coex_handle make_set(uint64_t seed)
{
    coex_handle *slot = coex_gc_enter_frame(2), result;
    slot[0] = must(coex_set_empty(COEX_SET_INTEGER));
    slot[1] = must(coex_set_empty(COEX_SET_INTEGER));
    for (uint64_t i = 0; i < size_of(seed); i++) {
        unsigned half = way_of(seed) == 1 ? i % 2 : 0;
        slot[half] = must(coex_set_add(slot[half], sub_seed(seed, i)));
    }
    result = must(coex_set_union(slot[0], slot[1]));
    coex_gc_leave_frame(slot);
    return result;
}

static coex_handle make_array(uint64_t seed, unsigned depth, bool handles)
{
    coex_handle *slot = coex_gc_enter_frame(2), result;
    slot[0] = must(coex_array_of(0, 8, handles));
    for (uint64_t i = 0; i < size_of(seed); i++) {
        uint64_t word = handles ? make_element(seed, i, depth) : sub_seed(seed, i);
        if (handles) slot[1] = word;
        slot[0] = must(coex_array_append(slot[0], &word));
        if (way_of(seed) == 1 && i % 8 == 0) slot[0] = must(coex_array_set(slot[0], i, &word));
    }
    if (way_of(seed) == 2) slot[0] = must(coex_array_copy(slot[0]));
    result = slot[0];
    coex_gc_leave_frame(slot);
    return result;
}

static coex_handle make_json(uint64_t seed)
{
    char text[MOST_TEXT];
    coex_json_error error;
    if (way_of(seed) < 2) {
        uint64_t bytes = json_of(seed, text);
        return must(coex_json_parse(text, bytes, &error));
    }
    coex_handle *slot = coex_gc_enter_frame(3), result;
    slot[0] = must(coex_json_object());
    slot[1] = must(coex_json_uint(seed));
    slot[0] = must(coex_json_set_text(slot[0], "id", 2, slot[1]));
    slot[1] = must(coex_json_array());
    for (uint64_t i = 0; i < size_of(seed); i++) {
        slot[2] = must(coex_json_uint(sub_seed(seed, i)));
        slot[1] = must(coex_json_append(slot[1], slot[2]));
    }
    slot[0] = must(coex_json_set_text(slot[0], "list", 4, slot[1]));
    slot[1] = must(coex_json_string(text, (uint64_t)snprintf(text, sizeof text, "json-%" PRIu64, seed % 1000)));
    result = must(coex_json_set_text(slot[0], "name", 4, slot[1]));
    coex_gc_leave_frame(slot);
    return result;
}

static coex_handle make_value(uint64_t seed, unsigned depth)
{
    switch (kind_of(seed)) {
    case TEXT:
        return make_text(seed);
    case LIST:
        return make_list(seed, depth);
    case INTEGER_MAP:
        return make_map(seed, depth, false);
    case STRING_MAP:
        return make_map(seed, depth, true);
    case INTEGERS:
        return make_set(seed);
    case ARRAY:
        return make_array(seed, depth, true);
    case JSON:
        return make_json(seed);
    default:
        return make_array(seed, depth, false);
    }
}

/* ---- checking: the value is in a slot, and keeps its parts alive --------------------------------------------------------- */

static void check_value(coex_handle value, uint64_t seed, unsigned depth);

static void check_element(uint64_t word, uint64_t seed, uint64_t i, unsigned depth)
{
    if (is_nested(seed, i, depth))
        check_value(word, sub_seed(seed, i), depth - 1);
    else
        expect_eq(word, plain_element(seed, i));
}

struct check {
    uint64_t seed, count;
    unsigned depth;
};

static bool check_entry(void *context, uint64_t key, uint64_t value)
{
    struct check *check = context;
    char text[32];
    uint64_t bytes = coex_string_len(key), number;
    expect(bytes > 4 && bytes < sizeof text);
    memcpy(text, coex_string_data(key), bytes);
    text[bytes] = 0;
    number = strtoull(text + 4, NULL, 10);
    expect(number < size_of(check->seed));
    check_element(value, check->seed, number, check->depth);
    check->count++;
    return true;
}

static void check_text(coex_handle value, uint64_t seed)
{
    char text[MOST_TEXT];
    uint64_t bytes = text_of(seed, text);
    expect_eq(coex_string_len(value), bytes);
    expect(bytes == 0 || memcmp(coex_string_data(value), text, bytes) == 0);
}

/* Its text is the one that it has, or would have, been made from. */
static void check_json(coex_handle value, uint64_t seed)
{
    char text[MOST_TEXT];
    uint64_t bytes = json_of(seed, text);
    coex_handle written = must(coex_json_stringify(value, 0));
    expect_eq(coex_string_len(written), bytes);
    expect(memcmp(coex_string_data(written), text, bytes) == 0);
}

static void check_map(coex_handle value, uint64_t seed, unsigned depth, bool strings)
{
    struct check check = {seed, 0, depth};
    uint64_t word;
    expect_eq(coex_map_len(value), size_of(seed));
    if (strings) {
        expect(coex_map_each(value, check_entry, &check));
        expect_eq(check.count, size_of(seed));
        return;
    }
    for (uint64_t i = 0; i < size_of(seed); i++) {
        expect(coex_map_get(value, i, &word));
        check_element(word, seed, i, depth);
    }
    expect(!coex_map_has(value, size_of(seed)));
}

static void check_row(coex_handle value, uint64_t seed, unsigned depth, enum kind kind)
{
    expect_eq(kind == LIST ? coex_list_len(value) : coex_array_len(value), size_of(seed));
    for (uint64_t i = 0; i < size_of(seed); i++) {
        if (kind == WORDS)
            expect_eq(coex_array_word(value, i), sub_seed(seed, i));
        else
            check_element(kind == LIST ? coex_list_get(value, i) : coex_array_word(value, i), seed, i, depth);
    }
}

static void check_value(coex_handle value, uint64_t seed, unsigned depth)
{
    enum kind kind = kind_of(seed);
    if (kind == TEXT) {
        check_text(value, seed);
    } else if (kind == INTEGER_MAP || kind == STRING_MAP) {
        check_map(value, seed, depth, kind == STRING_MAP);
    } else if (kind == JSON) {
        check_json(value, seed);
    } else if (kind == INTEGERS) {
        expect_eq(coex_set_len(value), size_of(seed));
        for (uint64_t i = 0; i < size_of(seed); i++) expect(coex_set_has(value, sub_seed(seed, i)));
    } else {
        check_row(value, seed, depth, kind);
    }
}

/* ---- parcels ----------------------------------------------------------------------------------------------------------- */

/* Into slot[0]; slot[1] is used. */
static void make_parcel(coex_handle *slot, uint64_t seed)
{
    slot[1] = make_value(seed, DEPTH);
    coex_handle words[] = {COEX_IMMEDIATE(seed), slot[1]};
    slot[0] = must(coex_list_from_words(words, 2, true));
    slot[1] = 0;
    add(&made, 1);
    add(&made_sum, node_mix(seed));
}

static uint64_t check_parcel(coex_handle parcel)
{
    expect_eq(coex_list_len(parcel), 2);
    uint64_t seed = coex_immediate_bits(coex_list_get(parcel, 0));
    check_value(coex_list_get(parcel, 1), seed, DEPTH);
    return seed;
}

static void end_parcel(coex_handle parcel)
{
    uint64_t seed = check_parcel(parcel);
    add(&ended, 1);
    add(&ended_sum, node_mix(seed));
}

/* A value that somebody else has too is changed: both are right afterwards. */
static void derive(coex_handle *slot, test_rng *rng)
{
    uint64_t seed = coex_immediate_bits(coex_list_get(slot[0], 0)), size = size_of(seed);
    coex_handle value = coex_list_get(slot[0], 1);
    switch (kind_of(seed)) {
    case TEXT:
        slot[1] = must(coex_string_concat(value, value));
        expect_eq(coex_string_len(slot[1]), 2 * coex_string_len(value));
        break;
    case LIST:
        slot[1] = must(coex_list_append(value, COEX_IMMEDIATE(7)));
        if (size > 0) slot[1] = must(coex_list_set(slot[1], rng_below(rng, size), COEX_IMMEDIATE(8)));
        expect_eq(coex_list_len(slot[1]), size + 1);
        expect_eq(coex_list_get(slot[1], size), COEX_IMMEDIATE(7));
        break;
    case INTEGER_MAP:
        slot[1] = must(coex_map_set(value, size + 1, 0));
        if (size > 0) slot[1] = must(coex_map_remove(slot[1], rng_below(rng, size)));
        expect_eq(coex_map_len(slot[1]), size > 0 ? size : 1);
        break;
    case STRING_MAP:
        slot[1] = must(coex_map_keys(value));
        expect_eq(coex_list_len(slot[1]), size);
        break;
    case INTEGERS:
        slot[1] = must(coex_set_minus(value, value));
        expect_eq(coex_set_len(slot[1]), 0);
        break;
    case JSON:
        slot[1] = must(coex_json_remove_text(value, "id", 2));
        expect_eq(coex_json_len(slot[1]), 2);
        break;
    default:
        slot[1] = must(coex_array_slice(value, size / 3, size));
        expect_eq(coex_array_len(slot[1]), size - size / 3);
        break;
    }
    slot[1] = 0;
    check_parcel(slot[0]);
}

/* ---- the threads --------------------------------------------------------------------------------------------------------- */

static coex_handle a_channel(test_rng *rng) { return coex_gc_global_load(&channel_roots[rng_below(rng, CHANNELS)]); }

/* slot[0] is a parcel; it is somebody else's afterwards, or it has ended. */
static void pass_on(coex_handle *slot, test_rng *rng)
{
    coex_handle shelf = coex_gc_global_load(&shelf_root);
    if (rng_one_in(rng, 3)) {
        slot[1] = coex_mutable_array_exchange(shelf, rng_below(rng, SHELVES), slot[0]);
        if (slot[1] != 0) end_parcel(slot[1]);
    } else if (!coex_channel_send_for(a_channel(rng), slot[0], rng_below(rng, 100000))) {
        end_parcel(slot[0]);
    }
    slot[0] = slot[1] = 0;
}

static void take_one(coex_handle *slot, test_rng *rng)
{
    coex_channel_case cases[CHANNELS];
    uint64_t chosen;
    for (int i = 0; i < CHANNELS; i++) cases[i] = coex_channel_case_receive(coex_gc_global_load(&channel_roots[i]));
    if (!coex_channel_select(cases, CHANNELS, rng_below(rng, 100000), &chosen)) return;
    slot[0] = cases[chosen].word;
    coex_gc_safepoint();
    derive(slot, rng);
    if (rng_one_in(rng, 4)) {
        end_parcel(slot[0]);
        slot[0] = 0;
    } else {
        pass_on(slot, rng);
    }
}

/* One more for a number, in a map from integers to integers. */
static bool count_one(uint64_t old, uint64_t *fresh, void *context)
{
    uint64_t key = *(uint64_t *)context, value = 0;
    if (coex_map_has(old, key)) expect(coex_map_get(old, key, &value));
    *fresh = must(coex_map_set(old, key, value + 1));
    return true;
}

static void update_shared(test_rng *rng)
{
    uint64_t key = rng_below(rng, COUNTERS);
    expect(coex_cell_update(coex_gc_global_load(&tally_root), count_one, &key, NULL));
    coex_mutable_array_add(coex_gc_global_load(&plain_root), key, 1);
    add(&updates, 1);
}

static void worker_main(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(run_seed + index);
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(2);
    while (!stress_is_over()) {
        for (int i = 0; i < LOOK; i++) {
            uint64_t what = rng_below(&rng, 8);
            if (what < 3) {
                make_parcel(slot, rng_next(&rng) & SEED_MASK);
                pass_on(slot, &rng);
            } else if (what < 7) {
                take_one(slot, &rng);
            } else {
                update_shared(&rng);
            }
        }
    }
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
}

/* ---- beginning and end ----------------------------------------------------------------------------------------------------- */

static void add_root(coex_handle *root)
{
    *root = 0;
    expect(coex_gc_add_global_root(root) == COEX_GC_OK);
}

static void make_shared(void)
{
    static const uint64_t capacities[CHANNELS] = {0, 3, 50, COEX_CHANNEL_UNBOUNDED};
    for (int i = 0; i < CHANNELS; i++) {
        add_root(&channel_roots[i]);
        coex_gc_global_store(&channel_roots[i], must(coex_channel_new(capacities[i], true)));
    }
    add_root(&shelf_root);
    add_root(&tally_root);
    add_root(&plain_root);
    coex_gc_global_store(&shelf_root, must(coex_mutable_array_new(SHELVES, true)));
    coex_gc_global_store(&plain_root, must(coex_mutable_array_new(COUNTERS, false)));
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = must(coex_map_empty(COEX_MAP_INTEGER));
    coex_gc_global_store(&tally_root, must(coex_cell_new(slot[0])));
    coex_gc_leave_frame(slot);
}

/* What is still on its way has arrived now. */
static void end_all(void)
{
    coex_handle *slot = coex_gc_enter_frame(1);
    uint64_t word;
    for (int i = 0; i < CHANNELS; i++) {
        while (coex_channel_try_receive(coex_gc_global_load(&channel_roots[i]), &word)) {
            slot[0] = word;
            end_parcel(slot[0]);
        }
    }
    for (uint64_t i = 0; i < SHELVES; i++) {
        slot[0] = coex_mutable_array_load(coex_gc_global_load(&shelf_root), i);
        if (slot[0] != 0) end_parcel(slot[0]);
    }
    expect_eq(ended, made);
    expect_eq(ended_sum, made_sum);
    slot[0] = coex_cell_load(coex_gc_global_load(&tally_root));
    for (uint64_t key = 0, total = 0; key < COUNTERS; key++) {
        word = 0;
        if (coex_map_has(slot[0], key)) expect(coex_map_get(slot[0], key, &word));
        expect_eq(word, coex_mutable_array_load(coex_gc_global_load(&plain_root), key));
        total += word;
        if (key + 1 == COUNTERS) expect_eq(total, updates);
    }
    coex_gc_leave_frame(slot);
}

static void run_values(enum stress_runtime runtime)
{
    run_seed = test_seed();
    stress_start(runtime);
    make_shared();
    coex_gc_enter_native();
    run_threads(THREADS, worker_main, NULL);
    coex_gc_leave_native();
    end_all();
    printf("%" PRIu64 " parcels, %" PRIu64 " updates\n", made, updates);
    expect(made > 20 && updates > 0);
    for (int i = 0; i < CHANNELS; i++) coex_gc_remove_global_root(&channel_roots[i]);
    coex_gc_remove_global_root(&shelf_root);
    coex_gc_remove_global_root(&tally_root);
    coex_gc_remove_global_root(&plain_root);
    stress_end();
}

TEST_TIMEOUT(values_are_what_they_were_wherever_they_went, STRESS_TIMEOUT) { run_values(STRESS_PLAIN); }
TEST_TIMEOUT(values_are_what_they_were_wherever_they_went_verified, STRESS_TIMEOUT) { run_values(STRESS_VERIFIED); }
TEST_TIMEOUT(values_are_what_they_were_with_a_cycle_at_every_chance, STRESS_TIMEOUT) { run_values(STRESS_HOSTILE); }
