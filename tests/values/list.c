/*
 * Lists against a model that copies: random operations on several lists that share structure, of words and of handles; then bad input,
 * limits, builders, iterators, threads, and memory that runs out.
 */
#include "support/objects.h"

#include <coex/collections/array.h>
#include <coex/collections/cell.h>
#include <coex/collections/list.h>

enum { LISTS = 6, ROOM = 20000 };

/* A list in slot[i], and the words it must have. References are pairs whose value is that word. */
struct model {
    uint64_t *word;
    uint64_t count;
};

static uint32_t pair_type;
static bool of_handles;
static __thread coex_handle *held; /* a slot: the caller keeps what he passes in rooted */

static coex_handle hold(coex_handle h)
{
    expect(h != 0);
    coex_gc_set_slot(held, h);
    return h;
}

static void begin(const coex_gc_config *config)
{
    start_with(config);
    pair_type = type_pair();
    held = coex_gc_enter_frame(1);
}

/* Unlike most tests these take their debugging options from the environment, so that all of them can be run with stress=1. */
static void start(void)
{
    coex_gc_config config;
    coex_gc_config_default(&config);
    config.initial_heap = MIB;
    config.percent = 50;
    begin(&config);
}

static void start_hostile(void)
{
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    config.max_handles = 1 << 20;
    config.stress = 3;
    config.verify = config.poison = true;
    begin(&config);
}

static void end(void)
{
    coex_gc_collect();
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_shutdown();
}

/* A new element: the word, or an object, or now and then an immediate. */
static coex_handle element(uint64_t word)
{
    if (!of_handles) return word;
    if (word % 4 == 3) return COEX_IMMEDIATE(word);
    return hold(new_pair(pair_type, 0, word));
}

static uint64_t word_of(uint64_t element_)
{
    if (!of_handles) return element_;
    if (coex_is_immediate(element_)) return coex_immediate_bits(element_);
    return ((const pair *)coex_gc_handle_deref(element_))->value;
}

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
    run_model(test_is_sanitized() ? 600 : 3000, false);
    end();
}

TEST_TIMEOUT(random_operations_on_handles_are_those_of_a_model, 60)
{
    start();
    run_model(test_is_sanitized() ? 600 : 3000, true);
    end();
}

TEST_TIMEOUT(random_operations_lose_nothing_with_a_cycle_at_every_chance, 60)
{
    start_hostile();
    run_model(test_is_sanitized() ? 60 : 300, true);
    end();
}

/* ---- shapes ------------------------------------------------------------------------------------------------- */

static coex_handle numbers(uint64_t first, uint64_t count)
{
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = coex_list_empty(false);
    slot[0] = coex_list_builder(slot[0]);
    for (uint64_t i = 0; i < count; i++) expect(coex_list_builder_append(slot[0], first + i));
    coex_handle list = coex_list_builder_finish(slot[0]);
    coex_gc_leave_frame(slot);
    return list;
}

static void expect_numbers(coex_handle list, uint64_t first, uint64_t count)
{
    expect_eq(coex_list_len(list), count);
    uint64_t run;
    for (uint64_t at = 0; at < count; at += run) {
        const uint64_t *words = coex_list_chunk(list, at, &run);
        expect(words != NULL);
        for (uint64_t i = 0; i < run; i++) expect_eq(words[i], first + at + i);
    }
}

TEST(appending_leaves_every_earlier_list_as_it_was)
{
    enum { N = 3000 };
    start();
    coex_handle *slot = coex_gc_enter_frame(N + 1);
    slot[0] = coex_list_empty(false);
    for (uint64_t i = 0; i < N; i++) slot[i + 1] = coex_list_append(slot[i], i);
    for (uint64_t i = 0; i <= N; i += 7) expect_numbers(slot[i], 0, i);
    for (uint64_t i = N; i > 0; i--) slot[i - 1] = coex_list_pop(slot[i]); /* the same lists, made from the other end */
    for (uint64_t i = 0; i <= N; i += 7) expect_numbers(slot[i], 0, i);
    coex_gc_leave_frame(slot);
    end();
}

TEST(every_slice_and_every_concat_of_some_length_is_right)
{
    enum { N = 32 * 32 * 2 + 77 };
    start();
    coex_handle *slot = coex_gc_enter_frame(4);
    slot[0] = numbers(0, N);
    for (uint64_t at = 0; at <= N; at += 13) {
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
    for (int i = 0; i < 20000; i++) { /* rotate */
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

TEST(inserting_at_the_front_and_in_the_middle_stays_shallow)
{
    enum { N = 20000 };
    start();
    coex_handle *slot = coex_gc_enter_frame(2);
    slot[0] = slot[1] = coex_list_empty(false);
    for (uint64_t i = N; i > 0; i--) slot[0] = coex_list_insert(slot[0], 0, i - 1);
    for (uint64_t i = 0; i < N; i++) slot[1] = coex_list_insert(slot[1], i / 2, i);
    expect_numbers(slot[0], 0, N);
    for (uint64_t i = 0; i < N / 2; i++) expect_eq(coex_list_get(slot[1], i), 2 * i + 1);
    ck_assert_uint_le(bytes_of_set(slot[0]), 5 * 600);
    for (uint64_t i = 0; i < N - 10; i++) slot[0] = coex_list_remove(slot[0], 5);
    for (uint64_t i = 0; i < 10; i++) expect_eq(coex_list_get(slot[0], i), i < 5 ? i : N - 10 + i);
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
    coex_gc_init();
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
    begin(&config);
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
    begin(&config);
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

/* ---- bad input -------------------------------------------------------------------------------------------------- */

static void expect_status(bool failed, coex_status status)
{
    expect(failed);
    expect_eq(coex_last_status(), status);
    coex_clear_status();
}

static void expect_refused(coex_handle bad)
{
    uint64_t word, run;
    coex_handle good = coex_list_empty(false);
    coex_handle *slot = coex_gc_enter_frame_with(1, 1, &good);
    coex_clear_status();
    expect_status(coex_list_len(bad) == 0, COEX_STATUS_KIND);
    expect_status(!coex_list_has_handles(bad), COEX_STATUS_KIND);
    expect_status(coex_list_get(bad, 0) == 0, COEX_STATUS_KIND);
    expect_status(!coex_list_read(bad, 0, &word), COEX_STATUS_KIND);
    expect_status(coex_list_chunk(bad, 0, &run) == NULL && run == 0, COEX_STATUS_KIND);
    expect_status(!coex_list_copy(bad, 0, 0, &word), COEX_STATUS_KIND);
    expect_status(coex_list_append(bad, 1) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_set(bad, 0, 1) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_pop(bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_slice(bad, 0, 0) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_concat(bad, slot[0]) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_concat(slot[0], bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_insert(bad, 0, 1) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_remove(bad, 0) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_iterate(bad, 0) == 0, COEX_STATUS_KIND);
    expect_status(!coex_list_next(bad, &word), COEX_STATUS_KIND);
    expect_status(coex_list_next_chunk(bad, &run) == NULL, COEX_STATUS_KIND);
    expect_status(coex_list_builder(bad) == 0, COEX_STATUS_KIND);
    expect_status(!coex_list_builder_append(bad, 1), COEX_STATUS_KIND);
    expect_status(coex_list_builder_finish(bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_from_array(bad) == 0, COEX_STATUS_KIND);
    expect_status(coex_list_to_array(bad) == 0, COEX_STATUS_KIND);
    coex_gc_leave_frame(slot);
}

TEST(null_immediates_and_other_objects_are_of_the_wrong_kind)
{
    start();
    coex_handle *slot = coex_gc_enter_frame(1);
    expect_refused(0);
    expect_refused(COEX_IMMEDIATE(5));
    slot[0] = new_pair(pair_type, 0, 1);
    expect_refused(slot[0]);
    slot[0] = coex_cell_new(0);
    expect_refused(slot[0]);
    coex_gc_leave_frame(slot);
    end();
}

TEST(an_index_outside_is_a_range_error_and_changes_nothing)
{
    start();
    uint64_t word, run;
    coex_handle *slot = coex_gc_enter_frame(2);
    for (uint64_t n = 0; n < 3000; n += 1 + n) {
        slot[0] = numbers(0, n);
        coex_clear_status();
        uint64_t outside[] = {n, n + 1, UINT64_MAX, UINT64_MAX / 2, (uint64_t)1 << 48};
        for (unsigned i = 0; i < 5; i++) {
            expect_status(coex_list_get(slot[0], outside[i]) == 0, COEX_STATUS_RANGE);
            expect_status(!coex_list_read(slot[0], outside[i], &word), COEX_STATUS_RANGE);
            expect_status(coex_list_chunk(slot[0], outside[i], &run) == NULL, COEX_STATUS_RANGE);
            expect_status(coex_list_set(slot[0], outside[i], 1) == 0, COEX_STATUS_RANGE);
            expect_status(coex_list_remove(slot[0], outside[i]) == 0, COEX_STATUS_RANGE);
            expect_status(coex_list_slice(slot[0], outside[i], 0) == 0 || outside[i] == 0,
                          outside[i] == 0 ? COEX_STATUS_OK : COEX_STATUS_RANGE);
            if (i == 0) continue; /* the length itself is a place to insert, to slice and to iterate from */
            expect_status(coex_list_insert(slot[0], outside[i], 1) == 0, COEX_STATUS_RANGE);
            expect_status(coex_list_slice(slot[0], 0, outside[i]) == 0, COEX_STATUS_RANGE);
            expect_status(coex_list_iterate(slot[0], outside[i]) == 0, COEX_STATUS_RANGE);
            expect_status(!coex_list_copy(slot[0], outside[i], 1, &word), COEX_STATUS_RANGE);
            expect_status(!coex_list_copy(slot[0], 0, outside[i], &word), COEX_STATUS_RANGE);
        }
        if (n == 0) expect_status(coex_list_pop(slot[0]) == 0, COEX_STATUS_RANGE);
        expect_numbers(slot[0], 0, n);
    }
    coex_gc_leave_frame(slot);
    end();
}

TEST(words_and_handles_do_not_mix)
{
    start();
    coex_handle *slot = coex_gc_enter_frame(3);
    slot[0] = coex_list_empty(true);
    slot[1] = coex_list_empty(false);
    expect_status(coex_list_concat(slot[0], slot[1]) == 0, COEX_STATUS_KIND);
    slot[2] = coex_array_of(3, 4, false);
    expect_status(coex_list_from_array(slot[2]) == 0, COEX_STATUS_KIND);
    expect_eq(coex_kind_of(slot[0]), COEX_KIND_LIST);
    slot[2] = coex_list_builder(slot[0]);
    expect_eq(coex_kind_of(slot[2]), COEX_KIND_BUILDER);
    slot[2] = coex_list_iterate(slot[0], 0);
    expect_eq(coex_kind_of(slot[2]), COEX_KIND_ITERATOR);
    coex_gc_leave_frame(slot);
    end();
}

TEST(a_list_keeps_only_what_is_in_it_alive)
{
    coex_gc_config config = quiet_config();
    begin(&config);
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

/* ---- memory that runs out ---------------------------------------------------------------------------------------- */

/* Every operation at one time or another: some fail, none of them changes what is there. */
TEST_TIMEOUT(out_of_memory_changes_nothing, 60)
{
    enum { BALLAST = 4000 };
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    config.heap_limit = 4 * MIB;
    start_with(&config);
    uint32_t bytes = type_bytes();
    uint32_t refs = type_refs();
    uint64_t refused = 0;
    test_rng rng = rng_from(test_seed());
    coex_handle *slot = coex_gc_enter_frame(6);
    slot[0] = numbers(0, 5000);
    slot[1] = coex_list_slice(slot[0], 17, 4999);
    slot[2] = coex_gc_alloc(BALLAST * 8, refs);
    slot[3] = coex_list_builder(slot[1]);
    uint64_t built = 4982;
    for (int round = 0; round < 30; round++) {
        for (uint64_t i = 0; i < BALLAST; i++) coex_gc_store(slot[2], i * 8, 0);
        for (uint64_t i = 0; i < BALLAST; i++) { /* until there is nothing left, in small pieces */
            coex_handle piece = coex_gc_alloc(i < 60 ? 60000 : rng_between(&rng, 8, 600), bytes);
            if (piece == 0 && i >= 60) break;
            if (piece != 0) coex_gc_store(slot[2], i * 8, piece);
        }
        for (uint64_t i = rng_below(&rng, 300); i > 0; i--) coex_gc_store(slot[2], rng_below(&rng, BALLAST) * 8, 0);
        for (int i = 0; i < 40; i++) {
            coex_clear_status();
            uint64_t at = rng_below(&rng, 4982), what = rng_below(&rng, 9);
            slot[4] = what == 0   ? coex_list_set(slot[1], at, 1)
                      : what == 1 ? coex_list_insert(slot[1], at, 1)
                      : what == 2 ? coex_list_remove(slot[1], at)
                      : what == 3 ? coex_list_concat(slot[0], slot[1])
                      : what == 4 ? coex_list_slice(slot[1], at / 2, at)
                      : what == 5 ? coex_list_append(slot[1], 1)
                      : what == 6 ? coex_list_to_array(slot[1])
                      : what == 7 ? coex_list_from_words(NULL, 0, false)
                                  : coex_list_pop(slot[1]);
            if (i % 2 == 0) slot[5] = slot[4];
            refused += slot[4] == 0;
            expect(slot[4] != 0 || coex_last_status() == COEX_STATUS_MEMORY);
            bool done = coex_list_builder_set(slot[3], at, at + 17) && coex_list_builder_append(slot[3], built + 17);
            built += done;
            expect(done || coex_last_status() == COEX_STATUS_MEMORY);
        }
        expect_numbers(slot[0], 0, 5000);
        expect_numbers(slot[1], 17, 4982);
        expect_eq(coex_list_builder_len(slot[3]), built);
        for (uint64_t i = 0; i < built; i++) expect_eq(coex_list_builder_get(slot[3], i), i + 17);
    }
    printf("%" PRIu64 " of 1200 refused, %" PRIu64 " appended\n", refused, built - 4982);
    expect(refused > 20 && refused < 1180 && built > 5000);
    slot[2] = slot[4] = slot[5] = 0;
    slot[3] = coex_list_builder_finish(slot[3]);
    expect_numbers(slot[3], 17, built);
    coex_gc_leave_frame(slot);
    end();
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

static coex_handle shared_cell; /* a global root */

static void share_and_change(unsigned index, void *arg)
{
    (void)arg;
    coex_gc_register_thread();
    test_rng rng = rng_from(index + 1);
    held = coex_gc_enter_frame(1);
    coex_handle *slot = coex_gc_enter_frame(2);
    for (int round = 0; round < (test_is_sanitized() ? 40 : 200); round++) {
        slot[0] = coex_gc_global_load(&shared_cell);
        uint64_t n = coex_list_len(slot[0]);
        for (int i = 0; i < 50; i++) {
            uint64_t at = rng_below(&rng, n);
            expect_eq(((pair *)coex_gc_handle_deref(coex_list_get(slot[0], at)))->value, at);
        }
        slot[1] = coex_list_slice(slot[0], n / 4, n / 2);
        slot[1] = coex_list_concat(slot[1], slot[0]);
        slot[1] = coex_list_builder(slot[1]);
        for (uint64_t i = 0; i < 100; i++)
            expect(coex_list_builder_set(slot[1], rng_below(&rng, n), hold(new_pair(pair_type, 0, 7))));
        slot[1] = coex_list_builder_finish(slot[1]);
        for (uint64_t i = 0; i < 50; i++) {
            uint64_t at = rng_below(&rng, n), last = n / 2 - n / 4 + at;
            uint64_t value = ((pair *)coex_gc_handle_deref(coex_list_get(slot[1], last)))->value;
            expect(value == 7 || value == at);
        }
        coex_gc_global_store(&shared_cell, coex_list_set(slot[0], 5, coex_list_get(slot[0], 5))); /* the same words, another list */
        if (round % 16 == 0) coex_gc_async();
    }
    coex_gc_leave_frame(slot);
    coex_gc_leave_frame(held);
    coex_gc_unregister_thread();
}

static void run_shared(void)
{
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = coex_list_empty(true);
    slot[0] = coex_list_builder(slot[0]);
    for (uint64_t i = 0; i < 3000; i++) expect(coex_list_builder_append(slot[0], hold(new_pair(pair_type, 0, i))));
    shared_cell = coex_list_builder_finish(slot[0]);
    expect(coex_gc_add_global_root(&shared_cell) == 0);
    coex_gc_leave_frame(slot);
    coex_gc_enter_native();
    run_threads(3, share_and_change, NULL);
    coex_gc_leave_native();
    coex_gc_remove_global_root(&shared_cell);
}

TEST_TIMEOUT(threads_share_a_list_while_cycles_run, 60)
{
    start();
    run_shared();
    end();
}

TEST_TIMEOUT(threads_share_a_list_with_a_cycle_at_every_chance, 120)
{
    start_hostile();
    run_shared();
    end();
}
