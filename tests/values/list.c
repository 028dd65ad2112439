/*
 * Lists against a model that copies: random operations on several lists that share structure, of words and of handles; then their
 * depth, builders, iterators, arrays, and what they keep alive.
 */
#include "support/lists.h"

#include <coex/values/array.h>

enum { LISTS = 6, ROOM = 20000 };

/* A list in slot[i], and the words it must have. References are pairs whose value is that word. */
struct model {
    uint64_t *word;
    uint64_t count;
};

static void expect_model(coex_handle list, const struct model *model)
{
    expect_eq(coex_list_len(list), model->count);
    expect(coex_list_has_handles(list) == of_handles);
    uint64_t run, at = 0;
    while (at < model->count) {
        const uint64_t *words = coex_list_chunk(list, at, &run);
        expect(words != NULL && run >= 1 && run <= 32 && at + run <= model->count);
        for (uint64_t i = 0; i < run; i++) expect_eq(word_of(words[i]), model->word[at + i]);
        at += run;
    }
}

static void expect_gets(test_rng *rng, coex_handle list, const struct model *model)
{
    for (int i = 0; i < 20 && model->count != 0; i++) {
        uint64_t at = rng_below(rng, model->count);
        expect_eq(word_of(coex_list_get(list, at)), model->word[at]);
    }
}

static void model_splice(struct model *model, uint64_t at, uint64_t out, const uint64_t *words, uint64_t in)
{
    memmove(&model->word[at + in], &model->word[at + out], (model->count - at - out) * sizeof *words);
    if (in != 0) memmove(&model->word[at], words, in * sizeof *words);
    model->count += in - out;
}

static void model_copy(struct model *to, const struct model *from, uint64_t first, uint64_t last)
{
    memmove(to->word, from->word + first, (last - first) * sizeof *to->word);
    to->count = last - first;
}

/* Appends, sets and pops in place; both lists keep the same. */
static coex_handle build(test_rng *rng, coex_handle list, struct model *model)
{
    coex_handle *slot = coex_gc_enter_frame(1), old = list;
    slot[0] = coex_list_builder(old);
    for (uint64_t i = rng_below(rng, 300); i > 0; i--) {
        uint64_t word = rng_next(rng) >> 8, what = rng_below(rng, 8);
        if (what < 4 && model->count < ROOM) {
            expect(coex_list_builder_append(slot[0], element(word)));
            model->word[model->count++] = word;
        } else if (what < 7 && model->count != 0) {
            uint64_t at = rng_below(rng, model->count);
            expect(coex_list_builder_set(slot[0], at, element(word)));
            model->word[at] = word;
            expect_eq(word_of(coex_list_builder_get(slot[0], at)), word);
        } else if (model->count != 0) {
            uint64_t popped = 0;
            expect(coex_list_builder_pop(slot[0], &popped));
            expect_eq(word_of(popped), model->word[--model->count]);
        }
        expect_eq(coex_list_builder_len(slot[0]), model->count);
    }
    list = coex_list_builder_finish(slot[0]);
    expect(list != 0);
    expect(coex_list_builder_finish(slot[0]) == 0 && coex_last_status() == COEX_STATUS_STALE);
    coex_gc_leave_frame(slot);
    return list;
}

/* Some words at the end of the list in `slot`, one by one. */
static void append_some(test_rng *rng, coex_handle *slot, struct model *model, uint64_t count)
{
    for (uint64_t i = 0; i < count && model->count < ROOM; i++) {
        uint64_t word = rng_next(rng) >> 8;
        *slot = coex_list_append(*slot, element(word));
        model->word[model->count++] = word;
    }
}

/* One random operation on list `to`, from list `from`. */
static void operate(test_rng *rng, coex_handle *slot, struct model *models, uint64_t to, uint64_t from)
{
    struct model *m = &models[to], *other = &models[from];
    uint64_t word = rng_next(rng) >> 8, at, last;
    switch (rng_below(rng, 9)) {
    case 0:
        append_some(rng, &slot[to], m, rng_below(rng, 200));
        break;
    case 1:
        if (m->count == 0) break;
        at = rng_below(rng, m->count);
        slot[to] = coex_list_set(slot[to], at, element(word));
        m->word[at] = word;
        break;
    case 2:
        for (uint64_t i = rng_below(rng, 70); i > 0 && m->count != 0; i--, m->count--) slot[to] = coex_list_pop(slot[to]);
        break;
    case 3:
        at = rng_between(rng, 0, other->count);
        last = rng_between(rng, at, other->count);
        model_copy(m, other, at, last);
        slot[to] = coex_list_slice(slot[from], at, last);
        break;
    case 4:
    case 5:
        if (m->count + other->count > ROOM) break;
        slot[to] = coex_list_concat(slot[to], slot[from]);
        model_splice(m, m->count, 0, other->word, other->count);
        break;
    case 6:
        for (uint64_t i = rng_below(rng, 60); i > 0 && m->count < ROOM; i--) {
            at = rng_between(rng, 0, m->count);
            slot[to] = coex_list_insert(slot[to], at, element(word));
            model_splice(m, at, 0, &word, 1);
        }
        break;
    case 7:
        for (uint64_t i = rng_below(rng, 60); i > 0 && m->count != 0; i--) {
            at = rng_below(rng, m->count);
            slot[to] = coex_list_remove(slot[to], at);
            model_splice(m, at, 1, NULL, 0);
        }
        break;
    default:
        slot[to] = build(rng, slot[to], m);
        break;
    }
    expect(slot[to] != 0);
}

static void run_model(uint64_t steps, bool handles)
{
    struct model models[LISTS];
    test_rng rng = rng_from(test_seed());
    of_handles = handles;
    coex_handle *slot = coex_gc_enter_frame(LISTS);
    for (int i = 0; i < LISTS; i++) {
        models[i] = (struct model){.word = calloc(2 * ROOM, sizeof(uint64_t))};
        slot[i] = coex_list_empty(handles);
    }
    for (uint64_t step = 0; step < steps; step++) {
        uint64_t to = rng_below(&rng, LISTS), from = rng_below(&rng, LISTS);
        operate(&rng, slot, models, to, from);
        expect_model(slot[to], &models[to]);
        expect_gets(&rng, slot[to], &models[to]);
        if (step % 16 == 0) expect_model(slot[from], &models[from]);
    }
    for (int i = 0; i < LISTS; i++) {
        expect_model(slot[i], &models[i]);
        free(models[i].word);
    }
    coex_gc_leave_frame(slot);
}

TEST_TIMEOUT(random_operations_on_words_are_those_of_a_model, 60)
{
    start();
    run_model(unless_hostile(test_is_sanitized() ? 600 : 3000, 25), false);
    end();
}

TEST_TIMEOUT(random_operations_on_handles_are_those_of_a_model, 60)
{
    start();
    run_model(unless_hostile(test_is_sanitized() ? 600 : 3000, 25), true);
    end();
}

TEST_TIMEOUT(random_operations_lose_nothing_with_a_cycle_at_every_chance, 60)
{
    start_hostile();
    run_model(unless_hostile(test_is_sanitized() ? 60 : 300, 25), true);
    end();
}

/* ---- shapes ------------------------------------------------------------------------------------------------- */

TEST(appending_leaves_every_earlier_list_as_it_was)
{
    const uint64_t n = unless_hostile(3000, 1100);
    start();
    coex_handle *slot = coex_gc_enter_frame(n + 1);
    slot[0] = coex_list_empty(false);
    for (uint64_t i = 0; i < n; i++) slot[i + 1] = coex_list_append(slot[i], i);
    for (uint64_t i = 0; i <= n; i += 7) expect_numbers(slot[i], 0, i);
    for (uint64_t i = n; i > 0; i--) slot[i - 1] = coex_list_pop(slot[i]); /* the same lists, made from the other end */
    for (uint64_t i = 0; i <= n; i += 7) expect_numbers(slot[i], 0, i);
    coex_gc_leave_frame(slot);
    end();
}

TEST(every_slice_and_every_concat_of_some_length_is_right)
{
    enum { N = 32 * 32 * 2 + 77 };
    start();
    coex_handle *slot = coex_gc_enter_frame(4);
    slot[0] = numbers(0, N);
    for (uint64_t at = 0; at <= N; at += unless_hostile(13, 59)) {
        slot[1] = coex_list_slice(slot[0], 0, at);
        slot[2] = coex_list_slice(slot[0], at, N);
        expect_numbers(slot[1], 0, at);
        expect_numbers(slot[2], at, N - at);
        slot[3] = coex_list_concat(slot[1], slot[2]);
        expect_numbers(slot[3], 0, N);
        slot[3] = coex_list_append(slot[3], N);
        expect_numbers(slot[3], 0, N + 1);
    }
    coex_gc_leave_frame(slot);
    end();
}

/* Memory that one more operation takes says how deep the tree is: each level is a node or two. */
static uint64_t bytes_of_set(coex_handle list)
{
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = list;
    uint64_t before = stats_now().total_bytes_allocated;
    expect(coex_list_set(list, 0, 1) != 0);
    uint64_t bytes = stats_now().total_bytes_allocated - before;
    coex_gc_leave_frame(slot);
    return bytes;
}

TEST(a_list_that_is_cut_and_joined_for_ever_stays_shallow)
{
    enum { N = 5000 };
    start();
    test_rng rng = rng_from(test_seed());
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = numbers(0, N);
    for (int i = 0; i < unless_hostile(20000, 50); i++) { /* rotate */
        uint64_t at = rng_between(&rng, 1, N - 1);
        slot[1] = coex_list_slice(slot[0], 0, at);
        slot[0] = coex_list_slice(slot[0], at, N);
        slot[0] = coex_list_concat(slot[0], slot[1]);
        expect_eq(coex_list_len(slot[0]), N);
    }
    uint64_t first = coex_list_get(slot[0], 0);
    for (uint64_t i = 0; i < N; i++) expect_eq(coex_list_get(slot[0], i), (first + i) % N);
    ck_assert_uint_le(bytes_of_set(slot[0]), 4 * 600); /* the list, a leaf and at most three nodes */
    coex_gc_leave_frame(slot);
    end();
}

TEST(a_slice_is_as_deep_as_its_length_asks_for)
{
    enum { N = 40000 };
    start();
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = numbers(0, N);
    for (uint64_t at = 1024; at + 1000 < N; at += 1024) { /* across the borders of the nodes above */
        slot[1] = coex_list_slice(slot[0], at - 60, at + 60);
        expect_numbers(slot[1], at - 60, 120);
        ck_assert_uint_le(bytes_of_set(slot[1]), 900); /* the list, a leaf and a node */
    }
    coex_gc_leave_frame(slot);
    end();
}

TEST(inserting_at_the_front_and_in_the_middle_stays_shallow)
{
    const uint64_t n = unless_hostile(20000, 400);
    start();
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = slot[1] = coex_list_empty(false);
    for (uint64_t i = n; i > 0; i--) slot[0] = coex_list_insert(slot[0], 0, i - 1);
    for (uint64_t i = 0; i < n; i++) slot[1] = coex_list_insert(slot[1], i / 2, i);
    expect_numbers(slot[0], 0, n);
    for (uint64_t i = 0; i < n / 2; i++) expect_eq(coex_list_get(slot[1], i), 2 * i + 1);
    ck_assert_uint_le(bytes_of_set(slot[0]), 5 * 600);
    for (uint64_t i = 0; i < n - 10; i++) slot[0] = coex_list_remove(slot[0], 5);
    for (uint64_t i = 0; i < 10; i++) expect_eq(coex_list_get(slot[0], i), i < 5 ? i : n - 10 + i);
    coex_gc_leave_frame(slot);
    end();
}

TEST(lists_that_share_are_longer_than_memory_up_to_the_limit)
{
    start();
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = numbers(0, 1000);
    uint64_t count = 1000;
    while (2 * count <= COEX_LIST_MAX) {
        slot[0] = coex_list_concat(slot[0], slot[0]);
        expect(slot[0] != 0);
        count *= 2;
        expect_eq(coex_list_len(slot[0]), count);
        for (uint64_t i = 0; i < 50; i++) {
            uint64_t at = (count / 50 * i + i) % count;
            expect_eq(coex_list_get(slot[0], at), at % 1000);
        }
    }
    coex_clear_status();
    expect(coex_list_concat(slot[0], slot[0]) == 0);
    expect_eq(coex_last_status(), COEX_STATUS_SIZE);
    slot[1] = coex_list_slice(slot[0], count / 2 + 500, count / 2 + 1500);
    for (uint64_t i = 0; i < 1000; i++) expect_eq(coex_list_get(slot[1], i), (i + 500) % 1000);
    slot[0] = coex_list_remove(slot[0], count / 3);
    slot[0] = coex_list_insert(slot[0], count / 3, 4711);
    expect_eq(coex_list_get(slot[0], count / 3), 4711);
    expect_eq(coex_list_get(slot[0], count - 1), 999);
    coex_gc_leave_frame(slot);
    end();
}

TEST_TIMEOUT(a_hundred_million_words_work, 120)
{
    const uint64_t n = test_is_sanitized() || test_is_checked() ? 3000000 : 100000000;
    start_large();
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = numbers(0, n);
    expect_numbers(slot[0], 0, n);
    slot[1] = coex_list_set(slot[0], n / 2, 1);
    expect_eq(coex_list_get(slot[1], n / 2), 1);
    expect_eq(coex_list_get(slot[0], n / 2), n / 2);
    slot[1] = coex_list_slice(slot[0], n / 3, n);
    expect_numbers(slot[1], n / 3, n - n / 3);
    slot[1] = coex_list_concat(slot[0], slot[1]);
    expect_eq(coex_list_get(slot[1], n + 5), n / 3 + 5);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
}

/* ---- builders and iterators ----------------------------------------------------------------------------------- */

TEST(a_builder_copies_no_way_to_the_root_for_each_change)
{
    enum { N = 1 << 15 };
    start();
    coex_handle *slot = coex_gc_enter_frame(2);
    uint64_t before = stats_now().total_bytes_allocated;
    slot[0] = numbers(0, N);
    uint64_t words = N * sizeof(uint64_t), bytes = stats_now().total_bytes_allocated - before;
    ck_assert_uint_le(bytes, words + words / 8 + 4096); /* headers, nodes, the builder */
    slot[1] = coex_list_builder(slot[0]);
    before = stats_now().total_bytes_allocated;
    for (uint64_t round = 0; round < 10; round++) {
        for (uint64_t i = 0; i < N; i++) expect(coex_list_builder_set(slot[1], (i * 7919) % N, round + i));
    }
    bytes = stats_now().total_bytes_allocated - before;
    ck_assert_uint_le(bytes, words + words / 4 + 4096); /* each leaf once, not each of 327,680 ways */
    slot[1] = coex_list_builder_finish(slot[1]);
    for (uint64_t i = 0; i < N; i++) expect_eq(coex_list_get(slot[1], (i * 7919) % N), 9 + i);
    expect_numbers(slot[0], 0, N);
    coex_gc_leave_frame(slot);
    end();
}

TEST(two_builders_of_one_list_do_not_see_each_other)
{
    start();
    coex_handle *slot = coex_gc_enter_frame(4);
    slot[0] = numbers(0, 5000);
    for (int round = 0; round < 3; round++) { /* what a builder made is no other builder's */
        slot[1] = coex_list_builder(slot[0]);
        slot[2] = coex_list_builder(slot[0]);
        for (uint64_t i = 0; i < 5000; i += 3) {
            expect(coex_list_builder_set(slot[1], i, 1));
            expect(coex_list_builder_set(slot[2], i, 2));
        }
        for (uint64_t i = 0; i < 100; i++) expect(coex_list_builder_append(slot[1], i) && coex_list_builder_append(slot[2], 7));
        slot[1] = coex_list_builder_finish(slot[1]);
        slot[2] = coex_list_builder_finish(slot[2]);
        expect_numbers(coex_list_slice(slot[0], 0, 5000), 0, 5000);
        for (uint64_t i = 0; i < 5000; i++) {
            expect_eq(coex_list_get(slot[1], i), i % 3 == 0 ? 1 : i);
            expect_eq(coex_list_get(slot[2], i), i % 3 == 0 ? 2 : i);
        }
        slot[0] = coex_list_builder(slot[1]);
        for (uint64_t i = 0; i < 5000; i++) expect(coex_list_builder_set(slot[0], i, i));
        slot[0] = coex_list_builder_finish(slot[0]);
        expect_eq(coex_list_get(slot[1], 3), 1);
    }
    coex_gc_leave_frame(slot);
    end();
}

TEST(a_finished_builder_is_stale_and_keeps_nothing_alive)
{
    coex_gc_config config = quiet_config();
    begin(config);
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[0] = coex_list_empty(true);
    slot[0] = coex_list_builder(slot[0]);
    for (uint64_t i = 0; i < 100; i++) expect(coex_list_builder_append(slot[0], hold(new_pair(pair_type, 0, i))));
    slot[1] = coex_gc_weak_new(coex_list_builder_get(slot[0], 99));
    slot[2] = coex_gc_weak_new(coex_list_builder_get(slot[0], 5));
    expect(coex_list_builder_finish(slot[0]) != 0);
    coex_gc_set_slot(held, 0);
    coex_gc_collect();
    expect_eq(coex_gc_weak_get(slot[1]), 0);
    expect_eq(coex_gc_weak_get(slot[2]), 0);
    uint64_t word;
    expect(!coex_list_builder_append(slot[0], 0) && coex_last_status() == COEX_STATUS_STALE);
    expect(!coex_list_builder_set(slot[0], 0, 0) && !coex_list_builder_pop(slot[0], &word));
    expect(coex_list_builder_len(slot[0]) == 0 && coex_list_builder_get(slot[0], 0) == 0);
    expect(!coex_list_builder_append_words(slot[0], NULL, 0));
    coex_gc_leave_frame(slot);
    end();
}

TEST(a_popped_word_keeps_nothing_alive)
{
    coex_gc_config config = quiet_config();
    begin(config);
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[0] = coex_list_empty(true);
    slot[0] = coex_list_builder(slot[0]);
    for (uint64_t i = 0; i < 65; i++) expect(coex_list_builder_append(slot[0], hold(new_pair(pair_type, 0, i))));
    slot[1] = coex_gc_weak_new(coex_list_builder_get(slot[0], 64));
    slot[2] = coex_gc_weak_new(coex_list_builder_get(slot[0], 60));
    for (uint64_t i = 0; i < 10; i++) expect(coex_list_builder_pop(slot[0], NULL));
    coex_gc_set_slot(held, 0);
    coex_gc_collect();
    expect_eq(coex_gc_weak_get(slot[1]), 0);
    expect_eq(coex_gc_weak_get(slot[2]), 0);
    slot[0] = coex_list_builder_finish(slot[0]);
    expect_eq(coex_list_len(slot[0]), 55);
    coex_gc_leave_frame(slot);
    end();
}

TEST(iterators_give_every_word_once_from_any_place)
{
    start();
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[0] = numbers(0, 1500);
    slot[1] = coex_list_slice(slot[0], 3, 777);
    slot[0] = coex_list_concat(slot[1], slot[0]); /* not regular */
    uint64_t n = coex_list_len(slot[0]), word = 0, run;
    for (uint64_t from = 0; from <= n; from += 91) {
        slot[2] = coex_list_iterate(slot[0], from);
        for (uint64_t i = from; i < n; i++) {
            expect(coex_list_next(slot[2], &word));
            expect_eq(word, i < 774 ? i + 3 : i - 774);
            if (i % 64 == 0) coex_gc_safepoint();
        }
        expect(!coex_list_next(slot[2], &word) && !coex_list_next(slot[2], &word));
        expect(coex_list_next_chunk(slot[2], &run) == NULL && run == 0);
    }
    slot[2] = coex_list_iterate(slot[0], 5);
    expect(coex_list_next(slot[2], &word)); /* a chunk begins where the word before it ended */
    uint64_t at = 6;
    const uint64_t *words;
    while ((words = coex_list_next_chunk(slot[2], &run)) != NULL) {
        for (uint64_t i = 0; i < run; i++, at++) expect_eq(words[i], at < 774 ? at + 3 : at - 774);
    }
    expect_eq(at, n);
    coex_gc_leave_frame(slot);
    end();
}

TEST(words_and_arrays_become_lists_and_back)
{
    static uint64_t words[5000], back[5000];
    start();
    for (uint64_t i = 0; i < 5000; i++) words[i] = i * i;
    coex_handle *slot = coex_gc_enter_frame(2);
    for (uint64_t n = 0; n <= 5000; n += n < 70 ? 1 : 493) {
        slot[0] = coex_list_from_words(words, n, false);
        expect_eq(coex_list_len(slot[0]), n);
        expect(coex_list_copy(slot[0], 0, n, back) && memcmp(words, back, n * sizeof words[0]) == 0);
        slot[1] = coex_list_to_array(slot[0]);
        expect_eq(coex_array_len(slot[1]), n);
        expect(n == 0 || memcmp(coex_array_data(slot[1]), words, n * sizeof words[0]) == 0);
        slot[0] = coex_list_from_array(slot[1]);
        memset(back, 0, sizeof back);
        expect(coex_list_copy(slot[0], 0, n, back) && memcmp(words, back, n * sizeof words[0]) == 0);
    }
    coex_gc_leave_frame(slot);
    end();
}

TEST(a_list_of_handles_becomes_an_array_of_the_same_handles_and_back)
{
    start();
    of_handles = true;
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = coex_list_empty(true);
    for (uint64_t i = 0; i < 700; i++) slot[0] = coex_list_append(slot[0], element(i));
    slot[1] = coex_list_to_array(slot[0]);
    expect(coex_array_has_handles(slot[1]));
    for (uint64_t i = 0; i < 700; i++) expect_eq(coex_array_word(slot[1], i), coex_list_get(slot[0], i));
    slot[0] = coex_list_from_array(slot[1]);
    slot[1] = 0;
    coex_gc_collect();
    for (uint64_t i = 0; i < 700; i++) expect_eq(word_of(coex_list_get(slot[0], i)), i);
    coex_gc_leave_frame(slot);
    end();
}

/* ---- what is alive -------------------------------------------------------------------------------------------- */

TEST(a_list_keeps_only_what_is_in_it_alive)
{
    coex_gc_config config = quiet_config();
    begin(config);
    of_handles = true;
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[0] = coex_list_empty(true);
    for (uint64_t i = 0; i < 2000; i++) slot[0] = coex_list_append(slot[0], hold(new_pair(pair_type, 0, i)));
    slot[1] = coex_gc_weak_new(coex_list_get(slot[0], 100));
    slot[2] = coex_gc_weak_new(coex_list_get(slot[0], 1500));
    slot[0] = coex_list_slice(slot[0], 1000, 2000);
    coex_gc_collect();
    expect_eq(coex_gc_weak_get(slot[1]), 0);
    expect_eq(word_of(coex_gc_weak_get(slot[2])), 1500);
    slot[0] = coex_list_set(slot[0], 500, 0);
    coex_gc_collect();
    expect_eq(coex_gc_weak_get(slot[2]), 0);
    coex_gc_leave_frame(slot);
    end();
}

TEST(plain_words_keep_nothing_alive)
{
    coex_gc_config config = quiet_config();
    begin(config);
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[0] = coex_list_empty(false);
    slot[1] = new_pair(pair_type, 0, 1);
    slot[2] = coex_gc_weak_new(slot[1]);
    for (uint64_t i = 0; i < 100; i++) slot[0] = coex_list_append(slot[0], slot[1]); /* its bits, in the tree and in the tail */
    slot[1] = 0;
    coex_gc_collect();
    expect_eq(coex_gc_weak_get(slot[2]), 0);
    expect_eq(coex_list_get(slot[0], 0), coex_list_get(slot[0], 99));
    coex_gc_leave_frame(slot);
    end();
}
