/* Measures strings: creation, building, searching, splitting, validation, and conversion of
 * numbers. The peers are std::string and GLib, if they are installed. The strings of Coex are
 * validated and immutable, and their times include collection.
 *
 * Times are the best of several rounds. The rounds of the subjects alternate, so that a slow
 * minute of the machine affects all of them. */
#include "peers/string.h"
#include "support/bench.h"

#include <coex/values.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 24, PIECES = 1000000, LENGTH = PIECE * PIECES, NUMBERS = 200000, ROUNDS = 5 };

static char text[LENGTH + 1], mixed[LENGTH + 1];
static const struct string_pieces pieces = {text, PIECE, PIECES};
static double numbers[NUMBERS];
static char number_text[NUMBERS][32];
static const char *number_texts[NUMBERS];
static const char needle[] = "needle in the haystack";

static void need(bool holds, const char *what)
{
    if (!holds) bench_fail("%s: %s", what, coex_status_string(coex_last_status()));
}

/* -------------------------------------------------------------------- ours */

static coex_handle *slots; /* 0, 1: at work; 2: the text, 3: the needle, 4: a line end */

static uint64_t coex_make(const struct string_pieces *p)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < p->count; i++) {
        coex_handle s = coex_string_from(p->text + i * p->size, p->size);
        need(s != 0, "from");
        sum += coex_string_len(s);
    }
    return sum;
}

static uint64_t coex_append(const struct string_pieces *p)
{
    slots[0] = coex_string_builder_new(0);
    for (uint64_t i = 0; i < p->count; i++)
        need(coex_string_builder_append_from(slots[0], p->text + i * p->size, p->size), "append");
    slots[0] = coex_string_builder_finish(slots[0]);
    uint64_t length = coex_string_len(slots[0]);
    slots[0] = 0;
    return length;
}

static uint64_t coex_concat(const struct string_pieces *p)
{
    slots[0] = coex_string_from("", 0);
    for (uint64_t i = 0; i < p->count; i++) {
        slots[1] = coex_string_from(p->text + i * p->size, p->size);
        slots[0] = coex_string_concat(slots[0], slots[1]);
        need(slots[0] != 0, "concat");
    }
    uint64_t length = coex_string_len(slots[0]);
    slots[0] = slots[1] = 0;
    return length;
}

static uint64_t coex_find(const char *all, uint64_t length, const char *what, uint64_t wanted)
{
    uint64_t count = 0;
    (void)all, (void)length, (void)what;
    for (uint64_t at = 0; (at = coex_string_find(slots[2], slots[3], at)) != COEX_STRING_NONE; at += wanted) count++;
    return count;
}

static uint64_t coex_split(const char *all, uint64_t length)
{
    (void)all, (void)length;
    slots[0] = coex_string_split(slots[2], slots[4]);
    need(slots[0] != 0, "split");
    uint64_t count = coex_list_len(slots[0]);
    slots[0] = 0;
    return count;
}

static uint64_t coex_check(const char *all, uint64_t length) { return coex_utf8_check(all, length, NULL); }

static uint64_t coex_write(const double *values, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        coex_handle s = coex_string_from_float(values[i]);
        sum += coex_string_len(s) != 0;
    }
    return sum;
}

static double coex_read(const char *const *texts, uint64_t count)
{
    double sum = 0, value = 0;
    for (uint64_t i = 0; i < count; i++) {
        coex_handle s = coex_string_from_c(texts[i]);
        need(coex_string_to_float(s, &value), "to_float");
        sum += value;
    }
    return sum;
}

static const struct string_subject subject_coex = {"coex",     coex_make,  coex_append, coex_concat, coex_find,
                                                   coex_split, coex_check, coex_write,  coex_read};

/* ------------------------------------------------------------- the subjects */

static const struct string_subject *const subjects[] = {
    &subject_coex,
#ifdef BENCH_CXX
    &string_subject_std,
#endif
#ifdef BENCH_GLIB
    &string_subject_glib,
#endif
};

enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

enum work { MAKE, APPEND, CONCAT, FIND, SPLIT, CHECK, CHECK_MIXED, WRITE, READ, WORKS };

static const struct {
    const char *title, *unit;
    double per; /* operations, or megabytes if the unit is a rate */
} works[WORKS] = {
    [MAKE] = {"Make a string of 24 bytes and drop it", "ns", PIECES},
    [APPEND] = {"Append 24 bytes to a buffer, a million times", "ns", PIECES},
    [CONCAT] = {"s = s + piece of 24 bytes, a million times", "ns", PIECES},
    [FIND] = {"Find 22 bytes in 24 MB", "MB/s", LENGTH / 1e6},
    [SPLIT] = {"Split 24 MB into lines of about 48 bytes", "MB/s", LENGTH / 1e6},
    [CHECK] = {"Check UTF-8, all ASCII", "MB/s", LENGTH / 1e6},
    [CHECK_MIXED] = {"Check UTF-8, every fourth character is not ASCII", "MB/s", LENGTH / 1e6},
    [WRITE] = {"Write a double", "ns", NUMBERS},
    [READ] = {"Read a double of 17 digits", "ns", NUMBERS},
};

/* True if the subject can; the answer goes to *answer. */
static bool work_on(const struct string_subject *subject, enum work work, double *answer)
{
    const bool can[WORKS] = {subject->make != NULL,  subject->append != NULL, subject->concat != NULL,
                             subject->find != NULL,  subject->split != NULL,  subject->check != NULL,
                             subject->check != NULL, subject->write != NULL,  subject->read != NULL};
    if (!can[work]) return false;
    switch (work) {
    case MAKE:
        *answer = (double)subject->make(&pieces);
        break;
    case APPEND:
        *answer = (double)subject->append(&pieces);
        break;
    case CONCAT:
        *answer = (double)subject->concat(&pieces);
        break;
    case FIND:
        *answer = (double)subject->find(text, LENGTH, needle, sizeof needle - 1);
        break;
    case SPLIT:
        *answer = (double)subject->split(text, LENGTH);
        break;
    case CHECK:
        *answer = (double)subject->check(text, LENGTH);
        break;
    case CHECK_MIXED:
        *answer = (double)subject->check(mixed, LENGTH);
        break;
    case WRITE:
        *answer = (double)subject->write(numbers, NUMBERS);
        break;
    case READ:
        *answer = subject->read(number_texts, NUMBERS);
        break;
    case WORKS:
        break;
    }
    return true;
}

static void measure(enum work work)
{
    double best[SUBJECTS], first = 0;
    for (int s = 0; s < SUBJECTS; s++) best[s] = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        for (int s = 0; s < SUBJECTS; s++) {
            double answer = 0, begin = bench_now();
            if (!work_on(subjects[s], work, &answer)) continue;
            double took = bench_now() - begin;
            if (took < best[s]) best[s] = took;
            if (s == 0) first = answer;
            if (answer != first) bench_fail("%s: %s says %g, not %g", works[work].title, subjects[s]->name, answer, first);
        }
    }
    bench_heading("%s", works[work].title);
    bool rate = strcmp(works[work].unit, "MB/s") == 0;
    for (int s = 0; s < SUBJECTS; s++) {
        if (best[s] > 1e8) continue;
        bench_result(subjects[s]->name, rate ? works[work].per / best[s] : best[s] / works[work].per * 1e9, works[work].unit,
                     BENCH_NO_GOAL, 0);
    }
}

/* --------------------------------------------------------------------- data */

static void fill(void)
{
    uint64_t state = 42;
    for (int i = 0; i < LENGTH; i++) {
        uint64_t random = bench_random(&state) >> 40;
        text[i] = random % 48 == 0 ? '\n' : (char)('a' + random % 26);
    }
    for (int i = 0; i + 100000 < LENGTH; i += 100000) memcpy(text + i + 5000, needle, sizeof needle - 1);
    for (int i = 0; i < LENGTH;) { /* three ASCII, one of two or three bytes */
        static const char *const others[] = {"abc\xc3\xa4", "def\xe2\x82\xac"};
        const char *other = others[bench_random(&state) >> 63];
        int size = (int)strlen(other);
        if (i + size > LENGTH) {
            memset(mixed + i, 'x', (size_t)(LENGTH - i));
            break;
        }
        memcpy(mixed + i, other, (size_t)size);
        i += size;
    }
    for (int i = 0; i < NUMBERS; i++) {
        numbers[i] = (double)(int64_t)bench_random(&state) / (double)((bench_random(&state) >> 20) + 1);
        snprintf(number_text[i], sizeof number_text[i], "%.17g", numbers[i]);
        number_texts[i] = number_text[i];
    }
}

int main(void)
{
    fill();
    coex_gc_init();
    coex_values_init();
    slots = coex_gc_enter_frame(5);
    slots[2] = coex_string_from(text, LENGTH);
    slots[3] = coex_string_from(needle, sizeof needle - 1);
    slots[4] = coex_string_from("\n", 1);
    need(slots[2] != 0 && slots[3] != 0 && slots[4] != 0, "from");
    for (enum work work = MAKE; work < WORKS; work++) measure(work);
#ifndef BENCH_CXX
    bench_note("No C++ compiler: std::string is left out.");
#endif
#ifndef BENCH_GLIB
    bench_note("No glib (libglib2.0-dev): it is left out.");
#endif
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
    return 0;
}
