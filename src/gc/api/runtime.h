/* The runtime as a whole: initializes all modules in order, and shuts them down in the reverse
 * order. */
#ifndef CX_GC_API_RUNTIME_H
#define CX_GC_API_RUNTIME_H

#include "gc/threads/thread_record.h"

/* Brings the runtime up. `observer` is told of it, or NULL. Returns COEX_GC_OK, or a code with the error recorded and nothing left
 * behind. */
int cx_runtime_init(const coex_gc_config *config, const struct cx_observer *observer);
/* The caller is the only thread in managed mode, or cx_fatal. False: there is no runtime. */
bool cx_runtime_fini(void);
bool cx_runtime_is_up(void);
/* See coex_gc_at_init. */
bool cx_runtime_at_init(bool (*hook)(void));

#endif
