/* See schedule_point.h. Entered by any thread. */
#include "base/schedule_point.h"

#include "base/atomic.h"

#include <stddef.h>

/* W: cx_schedule_point_set_hook, release. R: every point, acquire. */
static cx_aptr schedule_point_hook;

void cx_schedule_point_set_hook(cx_schedule_point_hook hook)
{
    union {
        cx_schedule_point_hook function;
        void *pointer;
    } cast = {.function = hook};
    cx_aptr_store_release(&schedule_point_hook, cast.pointer);
}

void cx_schedule_point_hit(const char *name)
{
    union {
        void *pointer;
        cx_schedule_point_hook function;
    } cast = {.pointer = cx_aptr_load_acquire(&schedule_point_hook)};
    if (cast.function != NULL) cast.function(name);
}
