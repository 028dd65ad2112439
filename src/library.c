/* The library as a whole: the collector with the diagnostics beside it. The two functions that bring a
 * runtime up are here, above both, so that src/gc needs to know no name of src/diag. */
#include "diag/events/event_listener.h"
#include "gc/api/runtime.h"
#include "gc/error.h"

#include <coex/gc.h>

int coex_gc_init_with(const coex_gc_config *config) { return cx_runtime_init(config, &cx_diag_observer); }

void coex_gc_init(void)
{
    int code = coex_gc_init_with(NULL);
    if (code != COEX_GC_OK && code != COEX_GC_EALREADY)
        cx_fatal("coex_gc_init: %s: %s", cx_error_string(code), cx_error_detail());
    cx_error_clear();
}
