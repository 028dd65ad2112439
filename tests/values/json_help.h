/* What the tests of json share: text in, text out. */
#ifndef COEX_TESTS_VALUES_JSON_HELP_H
#define COEX_TESTS_VALUES_JSON_HELP_H

#include "support/objects.h"

#include <coex/values.h>
#include <coex/values/json.h>

/* The text of a json, in C memory that the caller frees. The json is rooted by the caller. */
static inline char *json_text_of(coex_handle json, int indent)
{
    coex_handle text = coex_json_stringify(json, indent);
    expect(text != 0);
    uint64_t bytes = coex_string_len(text);
    char *copy = malloc(bytes + 1);
    expect(copy != NULL);
    memcpy(copy, coex_string_data(text), bytes);
    copy[bytes] = 0;
    return copy;
}

static inline coex_handle json_of(const char *text)
{
    coex_json_error error;
    coex_handle json = coex_json_parse(text, strlen(text), &error);
    if (json == 0) test_fail(__FILE__, __LINE__, "'%.60s' at %" PRIu64 ": %s", text, error.offset, error.message);
    return json;
}

/* The text that `text` becomes when it is read and written. */
#define expect_reads_as(text, expected)                                                                                            \
    do {                                                                                                                           \
        coex_handle *help_slots_ = coex_gc_enter_frame(1);                                                                         \
        help_slots_[0] = json_of(text);                                                                                            \
        char *help_text_ = json_text_of(help_slots_[0], 0);                                                                        \
        if (strcmp(help_text_, (expected)) != 0)                                                                                   \
            test_fail(__FILE__, __LINE__, "'%.80s' became '%.80s', not '%.80s'", text, help_text_, (expected));                    \
        free(help_text_);                                                                                                          \
        coex_gc_leave_frame(help_slots_);                                                                                          \
    } while (0)

/* Feeds `text` in pieces of `piece` bytes (0: of random sizes) and takes the whole; 0 and *error if it is refused. */
static inline coex_handle json_fed(const char *text, uint64_t bytes, uint64_t piece, test_rng *rng,
                                   const coex_json_options *options, coex_json_error *error)
{
    coex_handle *slots = coex_gc_enter_frame(1), value = 0;
    slots[0] = coex_json_reader_new(options);
    expect(slots[0] != 0);
    uint64_t at = 0;
    bool have = false, finished = false;
    coex_json_event event;
    *error = (coex_json_error){.status = COEX_STATUS_OK};
    coex_handle *kept = coex_gc_enter_frame(1);
    for (;;) {
        event = coex_json_reader_event(slots[0]);
        if (!have && (event == COEX_JSON_EVENT_ARRAY || event == COEX_JSON_EVENT_OBJECT || event == COEX_JSON_EVENT_VALUE)) {
            event = coex_json_reader_take(slots[0], &value);
            if (event == COEX_JSON_EVENT_VALUE) {
                have = true;
                kept[0] = value;
                continue;
            }
        } else {
            event = coex_json_reader_next(slots[0]);
        }
        if (event == COEX_JSON_EVENT_ERROR || event == COEX_JSON_EVENT_END) break;
        if (event != COEX_JSON_EVENT_MORE) continue;
        expect(!finished);
        if (at == bytes) {
            expect(coex_json_reader_finish(slots[0]));
            finished = true;
            continue;
        }
        uint64_t count = piece != 0 ? piece : 1 + rng_below(rng, 40);
        if (count > bytes - at) count = bytes - at;
        expect(coex_json_reader_feed(slots[0], text + at, count));
        at += count;
    }
    coex_json_reader_error(slots[0], error);
    value = event == COEX_JSON_EVENT_END ? kept[0] : 0;
    coex_gc_leave_frame(kept);
    coex_gc_leave_frame(slots);
    return value;
}

#endif
