/* Helpers for the tests of lists: a runtime, elements that are words or objects, and lists of
 * consecutive numbers. */
#ifndef COEX_TESTS_SUPPORT_LISTS_H
#define COEX_TESTS_SUPPORT_LISTS_H

#include "support/values.h"

#include <coex/values/list.h>

static bool of_handles;
static __thread coex_handle *held; /* a slot that roots the argument of a call */

static inline coex_handle hold(coex_handle h)
{
    expect(h != 0);
    coex_gc_set_slot(held, h);
    return h;
}

static inline void begin(coex_gc_config config)
{
    values_start(config);
    held = coex_gc_enter_frame(1);
}

static inline void start(void) { begin(values_config()); }
static inline void start_hostile(void) { begin(values_hostile_config()); }

/* Returns an element for `word`: the word itself, or an object, or for each fourth word an
 * immediate. */
static inline coex_handle element(uint64_t word)
{
    if (!of_handles) return word;
    if (word % 4 == 3) return COEX_IMMEDIATE(word);
    return hold(new_pair(pair_type, 0, word));
}

static inline uint64_t word_of(uint64_t element_)
{
    if (!of_handles) return element_;
    if (coex_is_immediate(element_)) return coex_immediate_bits(element_);
    return ((const pair *)coex_gc_handle_deref(element_))->value;
}

static inline coex_handle numbers(uint64_t first, uint64_t count)
{
    coex_handle *slot = coex_gc_enter_frame(1);
    slot[0] = coex_list_empty(false);
    slot[0] = coex_list_builder(slot[0]);
    for (uint64_t i = 0; i < count; i++) expect(coex_list_builder_append(slot[0], first + i));
    coex_handle list = coex_list_builder_finish(slot[0]);
    coex_gc_leave_frame(slot);
    return list;
}

static inline void expect_numbers(coex_handle list, uint64_t first, uint64_t count)
{
    expect_eq(coex_list_len(list), count);
    uint64_t run;
    for (uint64_t at = 0; at < count; at += run) {
        const uint64_t *words = coex_list_chunk(list, at, &run);
        expect(words != NULL);
        for (uint64_t i = 0; i < run; i++) expect_eq(words[i], first + at + i);
    }
}

#endif
