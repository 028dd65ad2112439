/* See limit.h. */
#include "gc/cycle/limit.h"

#include "base/schedule_point.h"
#include "base/report.h"

struct cx_limit cx_limit;

void cx_limit_init(void) { cx_limit = (struct cx_limit){0}; }

void cx_limit_close(void)
{
    cx_latch_take(&cx_limit.latch);
    /* The head does not sleep in line, and may leave at any moment: only those behind it are signalled. */
    struct cx_limit_place *place = cx_limit.first != NULL ? cx_limit.first->next : NULL;
    cx_limit.first = cx_limit.last = NULL;
    cx_limit.closing = true;
    cx_a32_store_relaxed(&cx_limit.gate, 0);
    cx_latch_release(&cx_limit.latch);
    while (place != NULL) {
        struct cx_limit_place *next = place->next; /* the place is gone as soon as it is signalled */
        place->closed = true;
        cx_parker_signal(&place->turn);
        place = next;
    }
}

bool cx_limit_stand(struct cx_limit_place *place)
{
    *place = (struct cx_limit_place){0};
    cx_latch_take(&cx_limit.latch);
    bool closing = cx_limit.closing, head = !closing && cx_limit.first == NULL;
    if (head)
        cx_limit.first = cx_limit.last = place;
    else if (!closing)
        cx_limit.last = cx_limit.last->next = place;
    cx_latch_release(&cx_limit.latch);
    if (closing || head) return head;
    CX_SCHEDULE_POINT("limit-in-line");
    while (!cx_parker_wait(&place->turn, UINT64_MAX)) {
    }
    return !place->closed;
}

/* After a shutdown has sent everybody away, the caller is the head of nothing. INV-LIMIT-1 */
void cx_limit_close_gate(void)
{
    cx_latch_take(&cx_limit.latch);
    if (!cx_limit.closing) cx_a32_store_relaxed(&cx_limit.gate, 1);
    cx_latch_release(&cx_limit.latch);
}

void cx_limit_leave(struct cx_limit_place *place)
{
    cx_latch_take(&cx_limit.latch);
    struct cx_limit_place *next = NULL;
    if (!cx_limit.closing) {
        CX_CHECK("INV-LIMIT-1", cx_limit.first == place);
        next = cx_limit.first = place->next;
        if (next == NULL) cx_limit.last = NULL;
        cx_a32_store_relaxed(&cx_limit.gate, 0);
    }
    cx_latch_release(&cx_limit.latch);
    if (next != NULL) cx_parker_signal(&next->turn);
}
