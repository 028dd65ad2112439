/* See own_code.h. The rows of the table come from own_code_mark.h, three for each source file; the linker puts them
 * side by side and provides the symbols of both ends. */
#include "base/own_code.h"

#include <stdint.h>

struct own_code_row {
    int64_t begin, end; /* distances from the field itself */
};

#define OWN_CODE_END __attribute__((visibility("hidden")))
extern const struct own_code_row __start_cx_own_code[] OWN_CODE_END;
extern const struct own_code_row __stop_cx_own_code[] OWN_CODE_END;

/* Makes sure that there is a table, and so its ends, where the build leaves the marks out. It encloses no code. */
static const struct own_code_row own_code_first __attribute__((section("cx_own_code"), used)) = {0, 0};

bool cx_own_code_has(const void *address)
{
    uintptr_t at = (uintptr_t)address;
    for (const struct own_code_row *row = __start_cx_own_code; row < __stop_cx_own_code; row++) {
        uintptr_t begin = (uintptr_t)&row->begin + (uintptr_t)row->begin, end = (uintptr_t)&row->end + (uintptr_t)row->end;
        if (at >= begin && at < end) return true;
    }
    return false;
}
