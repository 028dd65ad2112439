/* 
 * A system that gives no random numbers: this program's own getrandom stands in for that of the C
 * library. Seeds of hashes that can be guessed protect nobody, so the runtime does not start with
 * them. */
#include "support/objects.h"

#include <coex/values/map.h>
#include <errno.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuse_with;        /* errno of every call; 0: none is refused */
static unsigned interruptions; /* of the next calls */
static size_t most = SIZE_MAX; /* bytes of a call */

ssize_t getrandom(void *buffer, size_t length, unsigned flags)
{
    if (interruptions != 0) {
        interruptions--;
        errno = EINTR;
        return -1;
    }
    if (refuse_with != 0) {
        errno = refuse_with;
        return -1;
    }
    return syscall(SYS_getrandom, buffer, length < most ? length : most, flags);
}

static void expect_refused(int error)
{
    coex_gc_config config = quiet_config();
    refuse_with = error;
    ck_assert_int_eq(coex_gc_init_with(&config), COEX_GC_ESYSTEM);
    ck_assert_int_eq(coex_gc_last_error(), COEX_GC_ESYSTEM);
    ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), "getrandom"));
    ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), strerror(error)));
    ck_assert_ptr_null(coex_gc_get_current_thread());
}

static void use_a_map(void)
{
    uint64_t value;
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_map_empty(COEX_MAP_INTEGER);
    slots[0] = coex_map_set(slots[0], 1, 2);
    expect(coex_map_get(slots[0], 1, &value) && value == 2);
    coex_gc_leave_frame(slots);
}

TEST(without_random_numbers_init_fails_and_names_the_cause)
{
    expect_refused(ENOSYS);
    expect_refused(EPERM);
    refuse_with = 0; /* and starts when there are some */
    start_quiet();
    use_a_map();
    coex_gc_shutdown();
}

TEST(a_runtime_that_has_its_seeds_asks_for_no_more)
{
    start_quiet();
    coex_gc_shutdown();
    refuse_with = ENOSYS;
    start_quiet();
    use_a_map();
    coex_gc_shutdown();
}

TEST(random_numbers_that_come_slowly_are_waited_for)
{
    interruptions = 3;
    most = 3;
    start_quiet();
    use_a_map();
    coex_gc_shutdown();
}
