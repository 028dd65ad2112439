/* coex_gc_validate_heap: a visit of the collector, reported in the words that tools know. */
#include "base/atomic.h"
#include "diag/listen.h"
#include "gc/collector.h"
#include "gc/runtime.h"
#include "gc/transition.h"
#include "gc/verify.h"

struct validate_call {
    uint32_t faults;
    bool headed;
};

/* The heading comes before the first fault. */
static void validate_report(void *context, const char *line)
{
    struct validate_call *call = context;
    cx_output_print("%s%s\n", call->headed ? "" : "=== HEAP VALIDATION FAILED ===\n", line);
    call->headed = true;
}

static void validate_visit(void *context)
{
    struct validate_call *call = context;
    call->faults += cx_verify_heap_gct(validate_report, call);
}

int32_t coex_gc_validate_heap(void)
{
    struct validate_call call = {0};
    if (!cx_runtime_is_up()) return 0;
    struct cx_thread *self = cx_thread_self();
    if (self != NULL && self->native_depth == 0) call.faults = cx_verify_stack(self, validate_report, &call);
    struct cx_visit visit = {.run = validate_visit, .context = &call};
    if (self != NULL) cx_transition_enter_self(self);
    cx_collector_visit(&visit);
    if (self != NULL) cx_transition_leave_self(cx_thread_need_self("coex_gc_validate_heap"));
    if (call.faults != 0) cx_output_print("Validation found %u errors\n", call.faults);
    return (int32_t)call.faults;
}
