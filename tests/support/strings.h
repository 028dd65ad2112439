/* Helpers for the tests of strings: a runtime with slots for the values of a test, and checks of
 * texts and failures. */
#ifndef COEX_TESTS_SUPPORT_STRINGS_H
#define COEX_TESTS_SUPPORT_STRINGS_H

#include "support/objects.h"

#include <coex/values.h>

static inline coex_handle *begin(void)
{
    coex_gc_config config = default_config();
    start_with(&config);
    return coex_gc_enter_frame(16);
}

static inline void end(coex_handle *slots)
{
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

static inline coex_handle make(const char *text)
{
    coex_handle s = coex_string_from_c(text);
    expect(s != 0);
    return s;
}

static inline bool is_text(coex_handle s, const char *text)
{
    return s != 0 && coex_string_len(s) == strlen(text) && memcmp(coex_string_data(s), text, strlen(text)) == 0;
}

/* Returns true if the last call failed with `status`. Clears the status. */
static inline bool failed(coex_status status)
{
    bool so = coex_last_status() == status;
    coex_clear_status();
    return so;
}

#endif
