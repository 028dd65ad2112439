/* The library as a whole: the collector with the diagnostics beside it. The two functions that bring a
 * runtime up are here, above both, so that src/gc needs to know no name of src/diag. */
#include "diag/events/event_listener.h"
#include "gc/api/runtime.h"
#include "gc/error.h"

#include <coex/gc.h>
#include <coex/gc_diag.h>

/* A program calls these functions from a debugger only, so it does not refer to them. This file is in
 * every program, so the table puts them into statically linked programs too. */
__attribute__((used)) static const struct cx_debugger_calls {
    void (*object)(coex_handle h);
    void (*stacks)(void);
    bool (*why)(coex_handle h);
} library_debugger_calls = {coex_gc_debug_object, coex_gc_debug_stacks, coex_gc_debug_why};

int coex_gc_init_with(const coex_gc_config *config) { return cx_runtime_init(config, &cx_diag_observer); }

void coex_gc_init(void)
{
    int code = coex_gc_init_with(NULL);
    if (code != COEX_GC_OK && code != COEX_GC_EALREADY)
        cx_fatal("coex_gc_init: %s: %s", cx_error_string(code), cx_error_detail());
    cx_error_clear();
}
