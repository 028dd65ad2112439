/*
 * Arrays against a model that copies: random operations on several arrays that share buffers, with elements of all sizes; two appends to one
 * value; slices; builders; bad input; memory that runs out; threads that append to the same value.
 */
#include "support/values.h"

#include <coex/values/array.h>
#include <coex/values/cell.h>

enum { ARRAYS = 6, ROOM = 3000, ELEMENT_MAX = 24 };

struct model {
    unsigned char *bytes;
    uint64_t count;
};

static void start(void) { values_start(values_config()); }

/* ---- the model ------------------------------------------------------------------------------------------------- */

static void expect_model(coex_handle array, const struct model *model, uint64_t elem_size)
{
    unsigned char element[ELEMENT_MAX];
    expect_eq(coex_array_len(array), model->count);
    expect_eq(coex_array_elem_size(array), elem_size);
    if (model->count == 0) return;
    expect(memcmp(coex_array_data(array), model->bytes, model->count * elem_size) == 0);
    expect(coex_array_get(array, model->count - 1, element));
    expect(memcmp(element, model->bytes + (model->count - 1) * elem_size, elem_size) == 0);
}

static void fill(test_rng *rng, unsigned char *bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) bytes[i] = (unsigned char)rng_next(rng);
}

/* In place, and then an array again. */
static coex_handle build(test_rng *rng, coex_handle array, struct model *m, uint64_t size)
{
    unsigned char some[40 * ELEMENT_MAX];
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = coex_array_builder(array);
    for (int i = 0; i < 20; i++) {
        fill(rng, some, sizeof some);
        uint64_t count = rng_below(rng, 40), at;
        switch (rng_below(rng, 3)) {
        case 0:
            if (m->count + count > ROOM) break;
            expect(coex_array_builder_append(slot[0], some, count));
            memcpy(m->bytes + m->count * size, some, count * size);
            m->count += count;
            break;
        case 1:
            if (m->count == 0) break;
            at = rng_below(rng, m->count);
            expect(coex_array_builder_set(slot[0], at, some));
            memcpy(m->bytes + at * size, some, size);
            break;
        default:
            count = rng_below(rng, m->count + 40);
            if (count > ROOM) break;
            expect(coex_array_builder_resize(slot[0], count));
            if (count > m->count) memset(m->bytes + m->count * size, 0, (count - m->count) * size);
            m->count = count;
            break;
        }
        expect_eq(coex_array_builder_len(slot[0]), m->count);
        if (m->count == 0) continue;
        at = rng_below(rng, m->count);
        expect(coex_array_builder_get(slot[0], at, some) && memcmp(some, m->bytes + at * size, size) == 0);
    }
    array = coex_array_builder_finish(slot[0]);
    expect(coex_array_builder_finish(slot[0]) == 0 && coex_last_status() == COEX_STATUS_STALE);
    coex_gc_leave_frame(slot);
    return array;
}

static void operate(test_rng *rng, coex_handle *slot, struct model *models, uint64_t to, uint64_t from, uint64_t size)
{
    unsigned char some[40 * ELEMENT_MAX];
    struct model *m = &models[to], *other = &models[from];
    uint64_t count = rng_below(rng, 40), at, last;
    fill(rng, some, sizeof some);
    switch (rng_below(rng, 7)) {
    case 0:
    case 1:
        for (uint64_t i = 0; i < count && m->count < ROOM; i++) {
            slot[to] = coex_array_append(slot[to], some + i * size);
            memcpy(m->bytes + m->count++ * size, some + i * size, size);
        }
        break;
    case 2:
        if (m->count + count > ROOM) break;
        slot[to] = coex_array_extend(slot[to], some, count);
        memcpy(m->bytes + m->count * size, some, count * size);
        m->count += count;
        break;
    case 3:
        if (m->count == 0) break;
        at = rng_below(rng, m->count);
        slot[to] = coex_array_set(slot[to], at, some);
        memcpy(m->bytes + at * size, some, size);
        break;
    case 4:
        at = rng_between(rng, 0, other->count);
        last = rng_between(rng, at, other->count);
        memmove(m->bytes, other->bytes + at * size, (last - at) * size);
        m->count = last - at;
        slot[to] = coex_array_slice(slot[from], at, last);
        break;
    case 5:
        if (m->count + other->count > ROOM) break;
        slot[to] = rng_one_in(rng, 2) ? coex_array_concat(slot[to], slot[from])
                                      : coex_array_concat(slot[to], coex_array_slice(slot[from], 0, other->count));
        memmove(m->bytes + m->count * size, other->bytes, other->count * size);
        m->count += other->count;
        break;
    default:
        slot[to] = rng_one_in(rng, 4) ? coex_array_copy(slot[to]) : build(rng, slot[to], m, size);
        break;
    }
    expect(slot[to] != 0);
}

static void run_model(uint64_t steps, uint64_t size)
{
    struct model models[ARRAYS];
    test_rng rng = rng_from(test_seed());
    coex_handle *slot = coex_gc_enter_frame(ARRAYS);
    for (int i = 0; i < ARRAYS; i++) {
        models[i] = (struct model){.bytes = calloc(2 * ROOM, size)};
        slot[i] = coex_array_of(0, size, false);
    }
    for (uint64_t step = 0; step < steps; step++) {
        operate(&rng, slot, models, rng_below(&rng, ARRAYS), rng_below(&rng, ARRAYS), size);
        for (int i = 0; i < ARRAYS; i++) expect_model(slot[i], &models[i], size); /* no append is seen by another array */
    }
    for (int i = 0; i < ARRAYS; i++) free(models[i].bytes);
    coex_gc_leave_frame(slot);
}

TEST_TIMEOUT(random_operations_on_elements_of_any_size_are_those_of_a_model, 60)
{
    start();
    static const uint64_t sizes[] = {1, 2, 4, 7, 8, 12, 24};
    for (int i = 0; i < 7; i++) run_model(unless_hostile(test_is_sanitized() ? 200 : 800, 30), sizes[i]);
    end();
}

TEST_TIMEOUT(random_operations_are_right_with_a_cycle_at_every_chance, 60)
{
    values_start(values_hostile_config());
    run_model(unless_hostile(test_is_sanitized() ? 100 : 400, 100), 8);
    end();
}

/* ---- sharing ------------------------------------------------------------------------------------------------------ */

TEST(two_appends_to_one_array_do_not_see_each_other)
{
    start();
    coex_handle *slot = coex_gc_enter_frame(4);
    uint64_t words[] = {1, 2, 3};
    slot[0] = coex_array_from(words, 3, 8, false);
    slot[0] = coex_array_append(slot[0], &words[0]); /* from here on there is room behind it */
    slot[1] = coex_array_append(slot[0], &words[1]);
    slot[2] = coex_array_append(slot[0], &words[2]);
    slot[3] = coex_array_slice(slot[1], 0, 4);
    slot[3] = coex_array_append(slot[3], &words[0]); /* ends where slot[0] does: the room is taken */
    expect_eq(coex_array_word(slot[1], 4), 2);
    expect_eq(coex_array_word(slot[2], 4), 3);
    expect_eq(coex_array_word(slot[3], 4), 1);
    expect_eq(coex_array_len(slot[0]), 4);
    expect(coex_array_data(slot[1]) == coex_array_data(slot[0])); /* the first shares, */
    expect(coex_array_data(slot[2]) != coex_array_data(slot[0])); /* the second copied */
    coex_gc_leave_frame(slot);
    end();
}

TEST(appending_one_by_one_takes_bytes_linear_in_the_length)
{
    const uint64_t n = unless_hostile(100000, 2000);
    start();
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = coex_array_of(0, 8, false);
    uint64_t before = stats_now().total_bytes_allocated;
    for (uint64_t i = 0; i < n; i++) slot[0] = coex_array_append(slot[0], &i);
    uint64_t bytes = stats_now().total_bytes_allocated - before;
    ck_assert_uint_le(bytes, n * (48 + 5 * 8)); /* an array each, and buffers that grow by half */
    for (uint64_t i = 0; i < n; i++) expect_eq(coex_array_word(slot[0], i), i);
    coex_gc_leave_frame(slot);
    end();
}

TEST(a_slice_is_a_view_that_costs_no_copy_and_copy_lets_the_rest_go)
{
    coex_gc_config config = quiet_config();
    start_with(&config);
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = coex_array_of(1 << 20, 8, false);
    const char *data = coex_array_data(slot[0]);
    uint64_t before = stats_now().total_bytes_allocated;
    slot[1] = coex_array_slice(slot[0], 1000, 2000);
    ck_assert_uint_le(stats_now().total_bytes_allocated - before, 64);
    expect((const char *)coex_array_data(slot[1]) == data + 8000);
    slot[0] = 0;
    coex_gc_collect();
    ck_assert_uint_ge(stats_now().current_heap_used, 8 * MIB);
    slot[1] = coex_array_copy(slot[1]);
    coex_gc_collect();
    ck_assert_uint_le(stats_now().current_heap_used, MIB);
    coex_gc_leave_frame(slot);
    end();
}

TEST(handles_in_arrays_live_and_those_taken_out_die)
{
    start_quiet();
    pair_type = type_pair();
    coex_handle *slot = coex_gc_enter_frame(5), h;
    slot[0] = coex_array_of(0, 8, true);
    for (uint64_t i = 0; i < 100; i++) {
        slot[1] = h = new_pair(pair_type, 0, i);
        slot[0] = coex_array_append(slot[0], &h);
    }
    slot[1] = 0;
    slot[2] = coex_gc_weak_new(coex_array_word(slot[0], 50));
    slot[3] = coex_gc_weak_new(coex_array_word(slot[0], 99));
    coex_gc_collect();
    for (uint64_t i = 0; i < 100; i++) expect_eq(((pair *)coex_gc_handle_deref(coex_array_word(slot[0], i)))->value, i);
    h = 0;
    slot[0] = coex_array_set(slot[0], 50, &h);
    coex_gc_collect();
    expect_eq(coex_gc_weak_get(slot[2]), 0);
    slot[4] = coex_array_builder(slot[0]);
    slot[0] = 0;
    expect(coex_array_builder_resize(slot[4], 60));
    coex_gc_collect();
    expect_eq(coex_gc_weak_get(slot[3]), 0); /* cut off in place */
    slot[0] = coex_array_builder_finish(slot[4]);
    expect_eq(coex_array_len(slot[0]), 60);
    expect_eq(((pair *)coex_gc_handle_deref(coex_array_word(slot[0], 59)))->value, 59);
    coex_gc_leave_frame(slot);
    end();
}

TEST(plain_elements_keep_nothing_alive)
{
    start_quiet();
    pair_type = type_pair();
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[1] = new_pair(pair_type, 0, 1);
    slot[2] = coex_gc_weak_new(slot[1]);
    slot[0] = coex_array_from(&slot[1], 1, 8, false); /* its bits */
    slot[1] = 0;
    coex_gc_collect();
    expect_eq(coex_gc_weak_get(slot[2]), 0);
    expect(coex_array_word(slot[0], 0) != 0);
    coex_gc_leave_frame(slot);
    end();
}

/* ---- bad input ------------------------------------------------------------------------------------------------------ */

static void expect_refused(coex_handle bad)
{
    uint64_t word = 0;
    coex_handle good = coex_array_of(0, 8, false);
    coex_handle *slot = coex_gc_enter_frame_with(1, 1, &good);
    coex_clear_status();
    expect_status(coex_array_len(bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_array_elem_size(bad) == 0, COEX_STATUS_KIND);
    expect_status(!coex_array_has_handles(bad), COEX_STATUS_KIND);
    expect_status(!coex_array_get(bad, 0, &word), COEX_STATUS_KIND);
    expect_status(coex_array_word(bad, 0) == 0, COEX_STATUS_KIND);
    expect_status(coex_array_data(bad) == NULL, COEX_STATUS_KIND);
    expect_status(coex_array_copy(bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_array_set(bad, 0, &word) == 0, COEX_STATUS_KIND);
    expect_status(coex_array_slice(bad, 0, 0) == 0, COEX_STATUS_KIND);
    expect_status(coex_array_append(bad, &word) == 0, COEX_STATUS_KIND);
    expect_status(coex_array_extend(bad, &word, 0) == 0, COEX_STATUS_KIND);
    expect_status(coex_array_concat(bad, slot[0]) == 0, COEX_STATUS_KIND);
    expect_status(coex_array_concat(slot[0], bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_array_builder(bad) == 0, COEX_STATUS_KIND);
    expect_status(!coex_array_builder_append(bad, &word, 1), COEX_STATUS_KIND);
    expect_status(!coex_array_builder_resize(bad, 1), COEX_STATUS_KIND);
    expect_status(coex_array_builder_finish(bad) == 0, COEX_STATUS_KIND);
    coex_gc_leave_frame(slot);
}

static coex_handle of_another_kind(void) { return coex_cell_new(0); }

TEST(null_immediates_and_other_objects_are_of_the_wrong_kind)
{
    start();
    each_wrong_kind(expect_refused, of_another_kind);
    end();
}

TEST(indices_and_sizes_outside_are_errors_and_change_nothing)
{
    start();
    uint64_t word = 77;
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[0] = coex_array_from(&word, 1, 8, false);
    coex_clear_status();
    expect_status(coex_array_word(slot[0], 1) == 0, COEX_STATUS_RANGE);
    expect_status(!coex_array_get(slot[0], UINT64_MAX, &word), COEX_STATUS_RANGE);
    expect_status(coex_array_set(slot[0], 1, &word) == 0, COEX_STATUS_RANGE);
    expect_status(coex_array_slice(slot[0], 1, 0) == 0, COEX_STATUS_RANGE);
    expect_status(coex_array_slice(slot[0], 0, 2) == 0, COEX_STATUS_RANGE);
    expect_status(coex_array_extend(slot[0], &word, UINT64_MAX) == 0, COEX_STATUS_SIZE);
    expect_status(coex_array_extend(slot[0], &word, UINT64_MAX / 8) == 0, COEX_STATUS_SIZE);
    expect_status(coex_array_of(1, 0, false) == 0, COEX_STATUS_SIZE);
    expect_status(coex_array_of(1, 4, true) == 0, COEX_STATUS_SIZE);
    expect_status(coex_array_of(UINT64_MAX, 8, false) == 0, COEX_STATUS_SIZE);
    expect_status(coex_array_of((uint64_t)1 << 61, 8, false) == 0, COEX_STATUS_SIZE);
    expect_status(coex_array_of(1, UINT64_MAX, false) == 0, COEX_STATUS_SIZE);
    expect_status(coex_array_of((uint64_t)1 << 45, 1, false) == 0, COEX_STATUS_MEMORY);
    slot[1] = coex_array_of(3, 4, false);
    expect_status(coex_array_concat(slot[0], slot[1]) == 0, COEX_STATUS_KIND);
    expect_status(coex_array_word(slot[1], 0) == 0, COEX_STATUS_KIND);
    slot[2] = coex_array_builder(slot[0]);
    expect_status(!coex_array_builder_set(slot[2], 1, &word), COEX_STATUS_RANGE);
    expect_status(!coex_array_builder_get(slot[2], 1, &word), COEX_STATUS_RANGE);
    expect_status(!coex_array_builder_append(slot[2], &word, UINT64_MAX), COEX_STATUS_SIZE);
    expect_status(!coex_array_builder_resize(slot[2], UINT64_MAX), COEX_STATUS_SIZE);
    expect_status(!coex_array_builder_resize(slot[2], (uint64_t)1 << 42), COEX_STATUS_MEMORY);
    expect_eq(coex_array_builder_len(slot[2]), 1);
    expect_eq(coex_array_word(slot[0], 0), 77);
    coex_gc_leave_frame(slot);
    end();
}

TEST(an_empty_array_is_an_array)
{
    start();
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = coex_array_of(0, 16, false);
    expect(slot[0] != 0 && coex_array_data(slot[0]) == NULL && coex_kind_of(slot[0]) == COEX_KIND_ARRAY);
    slot[1] = coex_array_copy(slot[0]);
    expect(slot[1] != 0 && coex_array_len(slot[1]) == 0);
    slot[1] = coex_array_slice(slot[0], 0, 0);
    slot[1] = coex_array_concat(slot[1], slot[0]);
    slot[1] = coex_array_builder(slot[1]);
    slot[1] = coex_array_builder_finish(slot[1]);
    expect(slot[1] != 0 && coex_array_elem_size(slot[1]) == 16);
    coex_gc_leave_frame(slot);
    end();
}

TEST(out_of_memory_changes_nothing)
{
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    config.heap_limit = 4 * MIB;
    start_with(&config);
    uint64_t word = 5, refused = 0;
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[0] = coex_array_from(&word, 1, 8, false);
    slot[1] = coex_array_builder(slot[0]);
    for (uint64_t n = 1; n < (uint64_t)1 << 24; n *= 2) {
        coex_clear_status();
        slot[2] = coex_array_of(n, 8, false);
        bool grown = coex_array_builder_resize(slot[1], n);
        refused += slot[2] == 0;
        expect(slot[2] != 0 || coex_last_status() == COEX_STATUS_MEMORY);
        if (!grown) expect_eq(coex_last_status(), COEX_STATUS_MEMORY);
        expect(coex_array_builder_get(slot[1], 0, &word) && word == 5);
        expect(coex_array_builder_len(slot[1]) <= n && (grown || coex_array_builder_len(slot[1]) < n));
    }
    expect(refused > 3);
    expect_eq(coex_array_word(slot[0], 0), 5);
    coex_gc_leave_frame(slot);
    end();
}

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

static coex_handle shared; /* a global root: the array that all append to */

static void append_to_shared(unsigned index, void *arg)
{
    (void)arg;
    coex_gc_register_thread();
    coex_handle *slot = coex_gc_enter_frame(3);
    for (uint64_t round = 0; round < unless_hostile(test_is_sanitized() ? 300u : 3000u, 30u); round++) {
        slot[0] = coex_gc_global_load(&shared);
        uint64_t n = coex_array_len(slot[0]);
        for (uint64_t i = 0; i < 20; i++) {
            slot[1] = new_pair(pair_type, 0, (uint64_t)index << 32 | i);
            slot[0] = coex_array_append(slot[0], &slot[1]);
        }
        for (uint64_t i = 0; i < 20; i++)
            expect_eq(((pair *)coex_gc_handle_deref(coex_array_word(slot[0], n + i)))->value, (uint64_t)index << 32 | i);
        if (round % 64 == 0) {
            slot[0] = coex_array_slice(slot[0], 0, n > 2000 ? 10 : n + 5);
            coex_gc_global_store(&shared, slot[0]); /* with room behind it that all want */
        }
        if (round % 16 == 0) coex_gc_async();
    }
    coex_gc_leave_frame(slot);
    coex_gc_unregister_thread();
}

TEST_TIMEOUT(threads_that_append_to_one_array_do_not_see_each_other, 60)
{
    start();
    shared = coex_array_of(10, 8, true);
    expect(coex_gc_add_global_root(&shared) == 0);
    coex_gc_enter_native();
    run_threads(3, append_to_shared, NULL);
    coex_gc_leave_native();
    coex_gc_remove_global_root(&shared);
    end();
}

/* Pieces that are filled in several steps, with safepoints in between, and small ones. */
TEST(extending_and_concatenating_take_bytes_linear_in_the_length)
{
    enum { LARGE = 10000, SMALL = 10 };
    static uint64_t piece[LARGE];
    start();
    coex_handle *slot = coex_gc_enter_frame(2);
    for (unsigned way = 0; way < 4; way++) {
        const uint64_t count = way % 2 == 0 ? LARGE : SMALL, pieces = unless_hostile(way % 2 == 0 ? 60 : 3000, 30);
        slot[0] = coex_array_of(0, 8, way == 3);
        uint64_t before = stats_now().total_bytes_allocated;
        for (uint64_t i = 0; i < pieces; i++) {
            for (uint64_t k = 0; k < count; k++) piece[k] = COEX_IMMEDIATE(i * count + k);
            if (way < 2) {
                slot[0] = coex_array_extend(slot[0], piece, count);
            } else {
                slot[1] = coex_array_from(piece, count, 8, way == 3);
                slot[0] = coex_array_concat(slot[0], slot[1]);
            }
            expect(slot[0] != 0);
        }
        uint64_t bytes = stats_now().total_bytes_allocated - before;
        ck_assert_uint_le(bytes, pieces * (200 + 7 * 8 * count)); /* arrays, pieces, and buffers that grow by half */
        expect_eq(coex_array_len(slot[0]), pieces * count);
        for (uint64_t i = 0; i < pieces * count; i++) expect_eq(coex_array_word(slot[0], i), COEX_IMMEDIATE(i));
    }
    coex_gc_leave_frame(slot);
    end();
}

TEST(two_concatenations_to_one_array_do_not_see_each_other)
{
    start();
    coex_handle *slot = coex_gc_enter_frame(5);
    const uint64_t words[] = {1, 2, 3};
    slot[0] = coex_array_from(words, 3, 8, false);
    slot[1] = coex_array_from(words, 1, 8, false);
    slot[0] = coex_array_concat(slot[0], slot[1]); /* from here on there is room behind it */
    slot[2] = coex_array_concat(slot[0], slot[1]);
    slot[3] = coex_array_concat(slot[0], slot[0]);
    slot[4] = coex_array_concat(slot[2], slot[2]); /* with itself, in the room behind it */
    expect(coex_array_data(slot[2]) == coex_array_data(slot[0]));
    expect(coex_array_data(slot[3]) != coex_array_data(slot[0]));
    const uint64_t expected[] = {1, 2, 3, 1, 1, 1, 2, 3, 1, 1}, twice[] = {1, 2, 3, 1, 1, 2, 3, 1};
    expect(coex_array_len(slot[0]) == 4 && memcmp(coex_array_data(slot[0]), expected, 4 * 8) == 0);
    expect(coex_array_len(slot[2]) == 5 && memcmp(coex_array_data(slot[2]), expected, 5 * 8) == 0);
    expect(coex_array_len(slot[4]) == 10 && memcmp(coex_array_data(slot[4]), expected, 10 * 8) == 0);
    expect(coex_array_len(slot[3]) == 8 && memcmp(coex_array_data(slot[3]), twice, 8 * 8) == 0);
    coex_gc_leave_frame(slot);
    end();
}

/* Long enough for a safepoint after each of many pieces; what is being made is rooted meanwhile. */
static void extend_by_much(void)
{
    enum { LONG = 250000, PART = LONG / 5 };
    static uint64_t words[LONG];
    for (uint64_t i = 0; i < LONG; i++) words[i] = i;
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[0] = coex_array_from(words, LONG, 8, false);
    slot[1] = coex_array_from(words, PART, 8, false);
    for (uint64_t round = 0; round < unless_hostile(test_is_sanitized() ? 5u : 30u, 5u); round++) {
        slot[2] = coex_array_append(slot[0], &round); /* from here on there is room behind it, */
        const void *data = coex_array_data(slot[2]);
        slot[2] = coex_array_extend(slot[2], words, PART);
        slot[2] = coex_array_concat(slot[2], slot[1]);
        expect(coex_array_data(slot[2]) == data); /* and it was taken */
        expect_eq(coex_array_len(slot[2]), LONG + 1 + 2 * PART);
        expect_eq(coex_array_word(slot[2], LONG), round);
        expect_eq(coex_array_word(slot[2], LONG + PART), PART - 1);
        expect_eq(coex_array_word(slot[2], LONG + 2 * PART), PART - 1);
        if (round % 5 != 0) continue; /* what follows takes longer */
        slot[2] = coex_array_builder(slot[0]);
        expect(coex_array_builder_append(slot[2], words, PART)); /* into a larger buffer */
        slot[2] = coex_array_builder_finish(slot[2]);
        expect_eq(coex_array_word(slot[2], LONG + PART - 1), PART - 1);
        slot[2] = coex_mutable_array_from(slot[0]);
        expect_eq(coex_mutable_array_load(slot[2], LONG - 1), LONG - 1);
        slot[2] = coex_mutable_array_to_array(slot[2], 1, LONG);
        expect_eq(coex_array_word(slot[2], LONG - 2), LONG - 1);
    }
    coex_gc_leave_frame(slot);
}

TEST_TIMEOUT(arrays_that_are_long_in_the_making_live_beside_cycles, 60)
{
    start();
    beside_cycles(extend_by_much);
    end();
}
