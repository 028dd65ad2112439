/*
 * Latches exclude; parkers lose no signal and know the time.
 */
#include "base/os.h"
#include "base/park.h"
#include "support/test.h"

#include <pthread.h>
#include <unistd.h>

static cx_latch latch;
static uint64_t counter; /* plain: the latch alone guards it */

static void count_main(unsigned index, void *arg)
{
    for (uint64_t i = 0; i < *(uint64_t *)arg; i++) {
        if (index % 2) {
            cx_latch_take(&latch);
        } else if (!cx_latch_try(&latch) && !cx_latch_spin(&latch)) {
            do cx_latch_sleep(&latch);
            while (!cx_latch_try_crowded(&latch));
        }
        counter++;
        if (i % 1000 == 0) usleep(1); /* lose the core with the latch held */
        cx_latch_release(&latch);
    }
}

TEST(a_latch_lets_one_in_at_a_time)
{
    uint64_t each = test_is_sanitized() ? 5000 : 50000;
    run_threads(6, count_main, &each);
    expect_eq(counter, 6 * each);
    expect_eq(cx_a32_load_relaxed(&latch.state), CX_LATCH_FREE);
    expect(cx_latch_try(&latch));
    expect(!cx_latch_try(&latch) && !cx_latch_spin(&latch));
    cx_latch_release(&latch);
}

/* Two threads wake each other in turn; each parker is on the stack, and gone when its signal was seen. */
static cx_aptr turn[2];

static void turns_main(unsigned index, void *arg)
{
    for (uint64_t i = 0; i < *(uint64_t *)arg; i++) {
        cx_parker parker = {{CX_PARKER_EMPTY}};
        cx_aptr_store_release(&turn[index], &parker);
        if (index == 1 || i > 0) { /* the other one's turn */
            cx_parker *other;
            while ((other = cx_aptr_exchange_acq_rel(&turn[1 - index], NULL)) == NULL) cx_os_yield();
            cx_parker_signal(other);
        }
        if (index == 0 || i + 1 < *(uint64_t *)arg) expect(cx_parker_wait(&parker, UINT64_MAX));
        cx_aptr_store_release(&turn[index], NULL);
    }
}

TEST(no_signal_is_lost)
{
    uint64_t rounds = test_is_sanitized() ? 1000 : 20000;
    run_threads(2, turns_main, &rounds);
}

TEST(a_wait_without_a_signal_ends_when_it_was_told_to)
{
    cx_parker parker = {{CX_PARKER_EMPTY}};
    uint64_t begun = cx_os_now_ns();
    expect(!cx_parker_wait(&parker, begun + 3000000));
    expect(cx_os_now_ns() >= begun + 3000000);
    expect(!cx_parker_wait(&parker, begun)); /* which is over */
    cx_parker_signal(&parker);
    expect(cx_parker_wait(&parker, begun)); /* the signal is there all the same */
}
