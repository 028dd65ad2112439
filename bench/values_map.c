/* Measures maps of a million entries: building, lookup, iteration and removal. The peers are
 * GLib's hash table and std::unordered_map, if they are installed. Both are mutable. The maps of
 * Coex are persistent, and their times include collection.
 *
 * Lookups use another order than insertions. Times are the best of several rounds. The rounds of
 * the subjects alternate, so that a slow minute of the machine affects all of them. */
#include "peers/map.h"
#include "support/bench.h"

#include <coex/values.h>
#include <coex/gc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000000, ROUNDS = 5, TEXT = 24 };

static uint64_t keys[COUNT], shuffled[COUNT], missing[COUNT];
static char text[COUNT][TEXT];
static char *texts[COUNT], *shuffled_texts[COUNT];

static void need(bool holds, const char *what)
{
    if (!holds) bench_fail("%s: %s", what, coex_status_string(coex_last_status()));
}

/* -------------------------------------------------------------------- ours */

static coex_handle *slots; /* 0: the map, 1: a builder, 2: a list of strings */

static void coex_build(const uint64_t *words, uint64_t count)
{
    slots[1] = coex_map_empty(COEX_MAP_INTEGER);
    slots[1] = coex_map_builder(slots[1]);
    for (uint64_t i = 0; i < count; i++) need(coex_map_builder_set(slots[1], words[i], i), "set");
    slots[0] = coex_map_builder_finish(slots[1]);
    slots[1] = 0;
    need(slots[0] != 0, "finish");
}

static void coex_build_one_by_one(const uint64_t *words, uint64_t count)
{
    slots[0] = coex_map_empty(COEX_MAP_INTEGER);
    for (uint64_t i = 0; i < count; i++) {
        slots[0] = coex_map_set(slots[0], words[i], i);
        need(slots[0] != 0, "set");
    }
}

static uint64_t coex_lookup(const uint64_t *words, uint64_t count)
{
    uint64_t sum = 0, value;
    for (uint64_t i = 0; i < count; i++) {
        if (coex_map_get(slots[0], words[i], &value)) sum += value;
    }
    return sum;
}

static uint64_t coex_iterate(void)
{
    uint64_t sum = 0, value;
    slots[1] = coex_map_iterate(slots[0]);
    while (coex_map_next(slots[1], NULL, &value)) sum += value;
    return sum;
}

static void coex_remove(const uint64_t *words, uint64_t count)
{
    slots[1] = coex_map_builder(slots[0]);
    for (uint64_t i = 0; i < count; i++) need(coex_map_builder_remove(slots[1], words[i]), "remove");
    slots[0] = coex_map_builder_finish(slots[1]);
    slots[1] = 0;
    need(slots[0] != 0 && coex_map_len(slots[0]) == 0, "finish");
}

static void coex_remove_one_by_one(const uint64_t *words, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) slots[0] = coex_map_remove(slots[0], words[i]);
}

static void coex_drop(void) { slots[0] = slots[1] = 0; }

/* Strings are there before, and lookups are of the same objects, as the peers' are. slots[2], a list, keeps them. */
static coex_handle strings[COUNT], shuffled_strings[COUNT];

static void coex_make_strings(void)
{
    slots[2] = coex_list_empty(true);
    slots[2] = coex_list_builder(slots[2]);
    for (uint64_t i = 0; i < COUNT; i++) {
        strings[i] = coex_string_from(texts[i], strlen(texts[i]));
        need(strings[i] != 0 && coex_list_builder_append(slots[2], strings[i]), "string");
    }
    slots[2] = coex_list_builder_finish(slots[2]);
    for (uint64_t i = 0; i < COUNT; i++) shuffled_strings[i] = strings[(shuffled_texts[i] - text[0]) / TEXT];
}

static void coex_build_text(char *const *from, uint64_t count)
{
    (void)from; /* in `strings` */
    slots[1] = coex_map_empty(COEX_MAP_STRING);
    slots[1] = coex_map_builder(slots[1]);
    for (uint64_t i = 0; i < count; i++) need(coex_map_builder_set(slots[1], strings[i], i), "set");
    slots[0] = coex_map_builder_finish(slots[1]);
    slots[1] = 0;
}

static uint64_t coex_lookup_text(char *const *from, uint64_t count)
{
    uint64_t sum = 0, value;
    (void)from;
    for (uint64_t i = 0; i < count; i++) {
        if (coex_map_get(slots[0], shuffled_strings[i], &value)) sum += value;
    }
    return sum;
}

static const struct map_subject ours = {"coex",    coex_build,      coex_lookup,      coex_iterate, coex_remove,
                                        coex_drop, coex_build_text, coex_lookup_text, coex_drop};
static const struct map_subject one_by_one = {
    "coex, one by one", coex_build_one_by_one, coex_lookup, coex_iterate, coex_remove_one_by_one, coex_drop, NULL, NULL, NULL};

static const struct map_subject *const subjects[] = {
    &ours,
    &one_by_one,
#ifdef BENCH_GLIB
    &map_subject_glib,
#endif
#ifdef BENCH_CXX
    &map_subject_std,
#endif
};

enum { SUBJECTS = sizeof subjects / sizeof subjects[0], GLIB = 2 };

/* --------------------------------------------------------------- measuring */

enum { INSERT, LOOKUP, MISS, ITERATE, REMOVE, TEXT_INSERT, TEXT_LOOKUP, MEASURES };

static const struct measure {
    const char *what;
    double target; /* times glib */
} measures[MEASURES] = {{"insert", 3},         {"lookup", 2}, {"lookup of what is missing", 2},
                        {"iterate", 0},        {"remove", 0}, {"strings: insert", 3},
                        {"strings: lookup", 2}};

static double best[SUBJECTS + 1][MEASURES]; /* room for GLIB, be it there or not */

static void note(unsigned subject, unsigned measure, double begin)
{
    double nanoseconds = (bench_now() - begin) * 1e9 / COUNT;
    if (best[subject][measure] == 0 || nanoseconds < best[subject][measure]) best[subject][measure] = nanoseconds;
}

static void check(const char *who, uint64_t sum, uint64_t wanted)
{
    if (sum != wanted) bench_fail("%s: the sum is %llu", who, (unsigned long long)sum);
}

static void round_of_integers(unsigned subject)
{
    const struct map_subject *it = subjects[subject];
    const uint64_t all = (uint64_t)COUNT * (COUNT - 1) / 2;
    double begin = bench_now();
    it->build(keys, COUNT);
    note(subject, INSERT, begin);
    begin = bench_now();
    check(it->name, it->lookup(shuffled, COUNT), all);
    note(subject, LOOKUP, begin);
    begin = bench_now();
    check(it->name, it->lookup(missing, COUNT), 0);
    note(subject, MISS, begin);
    begin = bench_now();
    check(it->name, it->iterate(), all);
    note(subject, ITERATE, begin);
    begin = bench_now();
    it->remove(shuffled, COUNT);
    note(subject, REMOVE, begin);
    it->drop();
}

static void round_of_texts(unsigned subject)
{
    const struct map_subject *it = subjects[subject];
    if (it->build_text == NULL) return;
    if (it == &ours) coex_make_strings();
    double begin = bench_now();
    it->build_text(texts, COUNT);
    note(subject, TEXT_INSERT, begin);
    begin = bench_now();
    check(it->name, it->lookup_text(shuffled_texts, COUNT), (uint64_t)COUNT * (COUNT - 1) / 2);
    note(subject, TEXT_LOOKUP, begin);
    it->drop_text();
    slots[2] = 0;
}

static void prepare(void)
{
    uint64_t random = 1;
    for (uint64_t i = 0; i < COUNT; i++) {
        shuffled[i] = keys[i] = bench_random(&random);
        snprintf(text[i], TEXT, "item %llu",
                 (unsigned long long)(bench_random(&random) % 1000000 * COUNT + i)); /* no two are the same */
        shuffled_texts[i] = texts[i] = text[i];
    }
    for (uint64_t i = COUNT; i > 1; i--) {
        uint64_t j = bench_random(&random) % i, word = shuffled[i - 1];
        char *line = shuffled_texts[i - 1];
        shuffled[i - 1] = shuffled[j];
        shuffled[j] = word;
        shuffled_texts[i - 1] = shuffled_texts[j];
        shuffled_texts[j] = line;
    }
    for (uint64_t i = 0; i < COUNT; i++) missing[i] = bench_random(&random);
}

static void report(unsigned measure)
{
    char row[80];
    for (unsigned subject = 0; subject < SUBJECTS; subject++) {
        if (best[subject][measure] == 0) continue;
        snprintf(row, sizeof row, "%s: %s", subjects[subject]->name, measures[measure].what);
        bool judged = subject == 0 && SUBJECTS > GLIB && measures[measure].target != 0;
        bench_result(row, best[subject][measure], "ns", judged ? BENCH_AT_MOST : BENCH_NO_GOAL,
                     judged ? measures[measure].target * best[GLIB][measure] : 0);
    }
}

int main(void)
{
    coex_gc_init();
    coex_values_init();
    slots = coex_gc_enter_frame(3);
    prepare();
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned subject = 0; subject < SUBJECTS; subject++) {
            round_of_integers(subject);
            round_of_texts(subject);
        }
    }
    bench_heading("Maps of %d, time per entry; targets are 3 times (insert) and 2 times (lookup) what glib takes", COUNT);
    for (unsigned measure = 0; measure < MEASURES; measure++) report(measure);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
    return 0;
}
