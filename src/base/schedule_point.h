/* Schedule points: named places in the protocol where a test may hold a thread.
 *
 * In release builds a point is nothing. In `checked` builds it calls the hook that a test has set, if any; the hook gets the name
 * and decides by thread and name whether to wait. A deterministic scheduler hangs itself in here too. */
#ifndef CX_BASE_SCHEDULE_POINT_H
#define CX_BASE_SCHEDULE_POINT_H

#include "base/report.h"

typedef void (*cx_schedule_point_hook)(const char *name);

void cx_schedule_point_set_hook(cx_schedule_point_hook hook); /* NULL: none */
void cx_schedule_point_hit(const char *name);

#define CX_SCHEDULE_POINT(name)                                                                                                             \
    do {                                                                                                                           \
        if (CX_CHECKED) cx_schedule_point_hit(name);                                                                                        \
    } while (0)

#endif
