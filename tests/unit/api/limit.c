/*
 * The line of threads that wait at a limit: order, the gate, and what a shutdown does to it.
 */
#include "support/test.h"

#include "gc/cycle/limit.h"

#include <pthread.h>
#include <unistd.h>

enum { STANDERS = 6 };

static struct {
    pthread_t thread[STANDERS];
    unsigned order[STANDERS], served; /* `served`: whoever is the head writes it */
    unsigned sent_away;
} line;

/* Notes its turn, and hands it on. */
static void *stand_and_leave(void *argument)
{
    struct cx_limit_place place;
    if (!cx_limit_stand(&place)) {
        __atomic_fetch_add(&line.sent_away, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    line.order[line.served++] = (unsigned)(uintptr_t)argument;
    cx_limit_close_gate();
    cx_limit_leave(&place);
    return NULL;
}

static unsigned length_of_line(void)
{
    unsigned length = 0;
    cx_latch_take(&cx_limit.latch);
    for (const struct cx_limit_place *at = cx_limit.first; at != NULL; at = at->next) length++;
    cx_latch_release(&cx_limit.latch);
    return length;
}

/* So many threads stand behind the caller, one after the other. */
static void fill_line(struct cx_limit_place *place)
{
    memset(&line, 0, sizeof line);
    cx_limit_init();
    expect(cx_limit_stand(place));
    for (uintptr_t i = 0; i < STANDERS; i++) {
        expect(pthread_create(&line.thread[i], NULL, stand_and_leave, (void *)i) == 0);
        while (length_of_line() < i + 2) usleep(100);
    }
}

static void join_line(void)
{
    for (unsigned i = 0; i < STANDERS; i++) pthread_join(line.thread[i], NULL);
    expect_eq(length_of_line(), 0);
    expect(!cx_limit_gate_is_closed());
}

TEST(threads_have_their_turn_in_the_order_in_which_they_came)
{
    struct cx_limit_place place;
    fill_line(&place);
    usleep(20000);
    expect_eq(line.served, 0); /* nobody before the head has left */
    cx_limit_leave(&place);
    join_line();
    expect_eq(line.served, STANDERS);
    for (unsigned i = 0; i < STANDERS; i++) expect_eq(line.order[i], i);
}

TEST(a_head_that_leaves_opens_the_gate)
{
    struct cx_limit_place place;
    cx_limit_init();
    expect(!cx_limit_gate_is_closed());
    expect(cx_limit_stand(&place));
    cx_limit_close_gate();
    expect(cx_limit_gate_is_closed());
    cx_limit_leave(&place);
    expect(!cx_limit_gate_is_closed());
}

TEST(a_shutdown_sends_away_those_in_line_and_those_who_come)
{
    struct cx_limit_place place, late;
    fill_line(&place);
    cx_limit_close_gate();
    cx_limit_close();
    join_line();
    expect_eq(line.sent_away, STANDERS);
    expect(!cx_limit_stand(&late));
    cx_limit_close_gate(); /* the head does not know yet */
    expect(!cx_limit_gate_is_closed());
    cx_limit_leave(&place);
    cx_limit_init();
    expect(cx_limit_stand(&place));
    cx_limit_leave(&place);
}
