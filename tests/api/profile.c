/*
 * The sampled allocation profile, looked at through the protocol buffer that it writes: sums of samples, by what they count.
 */
#include "support/objects.h"
#include "support/pprof_reader.h"

#include <coex/values.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64];

/* The sums of a profile, as it was written last. */
static struct profile read_profile(void)
{
    struct profile profile = profile_read(path);
    profile_free(&profile);
    return profile;
}

static void write_profile(void)
{
    snprintf(path, sizeof path, "/tmp/coexgc-profile-%d.pb", (int)getpid());
    int code = coex_gc_profile_write(path);
    if (code != COEX_GC_OK) test_fail(__FILE__, __LINE__, "%s", coex_gc_error_detail());
}

/* ---- what it says ------------------------------------------------------------------------------------------ */

/* 2,000 sample points: the sum is off by 2% at one time in 20. */
TEST(sums_are_about_what_was_allocated)
{
    start_quiet();
    uint32_t type = type_pair(), bytes = type_bytes();
    ck_assert_int_eq(coex_gc_profile_start(16384), COEX_GC_OK);
    uint64_t before = stats_now().total_bytes_allocated;
    for (int i = 0; i < 500000; i++) {
        new_pair(type, 0, 0);
        if (i % 1000 == 0) coex_gc_alloc(30000, bytes); /* larger than the interval, and than a small object */
    }
    double allocated = (double)(stats_now().total_bytes_allocated - before);
    write_profile();
    struct profile sums = read_profile();
    expect_eq(sums.period, 16384);
    expect_about((double)sums.value[BYTES], allocated, 0.08);
    expect_about((double)sums.value[OBJECTS], 500500, 0.15);
    expect(sums.mappings > 0 && sums.locations > 0 && sums.strings > 10);
    unlink(path);
    coex_gc_shutdown();
}

TEST(what_is_dead_is_not_in_use_after_a_cycle)
{
    start_quiet();
    uint32_t type = type_pair();
    coex_handle *slots = coex_gc_enter_frame(1);
    ck_assert_int_eq(coex_gc_profile_start(4096), COEX_GC_OK);
    for (int i = 0; i < 200000; i++) {
        coex_handle fresh = new_pair(type, i < 100000 ? slots[0] : 0, 0);
        if (i < 100000) slots[0] = fresh;
    }
    coex_gc_collect();
    write_profile();
    struct profile sums = read_profile();
    expect_about((double)sums.value[OBJECTS], 200000, 0.08);
    expect_about((double)sums.value[LIVE_OBJECTS], 100000, 0.08);
    coex_gc_leave_frame(slots);
    coex_gc_collect();
    write_profile();
    sums = read_profile();
    expect_eq(sums.value[LIVE_OBJECTS], 0);
    expect_eq(sums.value[LIVE_BYTES], 0);
    expect_about((double)sums.value[OBJECTS], 200000, 0.08);
    unlink(path);
    coex_gc_shutdown();
}

TEST(nothing_is_sampled_after_stop)
{
    start_quiet();
    uint32_t type = type_pair();
    ck_assert_int_eq(coex_gc_profile_start(4096), COEX_GC_OK);
    for (int i = 0; i < 50000; i++) new_pair(type, 0, 0);
    coex_gc_profile_stop();
    write_profile();
    struct profile first = read_profile();
    for (int i = 0; i < 50000; i++) new_pair(type, 0, 0);
    write_profile();
    struct profile second = read_profile();
    expect(first.value[BYTES] > 0);
    expect_eq(first.value[BYTES], second.value[BYTES]);
    ck_assert_int_eq(coex_gc_profile_start(0), COEX_GC_OK); /* a new one is empty */
    write_profile();
    expect_eq(read_profile().samples, 0);
    expect_eq(read_profile().period, 512 << 10);
    unlink(path);
    coex_gc_shutdown();
}

/* A sample is due where the hole seems to end: allocations in between are inline, and take nothing but the space they need. */
TEST(objects_between_two_samples_lie_side_by_side)
{
    start_quiet();
    uint32_t type = type_pair();
    ck_assert_int_eq(coex_gc_profile_start(1024), COEX_GC_OK);
    char *last = NULL;
    int beside = 0, inline_next = 0;
    for (int i = 0; i < 1000; i++) {
        char *payload = coex_gc_handle_deref(new_pair(type, 0, 0));
        beside += payload == last + sizeof(pair) + 8;
        last = payload;
        inline_next += coex_gc_self->cursor + sizeof(pair) + 8 <= coex_gc_self->end; /* what the fast path compares */
    }
    ck_assert_int_ge(beside, 970); /* but for the ends of holes */
    ck_assert_int_ge(inline_next, 900);
    ck_assert_int_lt(inline_next, 1000); /* some were sampled */
    coex_gc_shutdown();
}

TEST(misuse_of_a_profile_is_a_code_and_a_line)
{
    ck_assert_int_eq(coex_gc_profile_start(0), COEX_GC_ESTATE);
    start_quiet();
    ck_assert_int_eq(coex_gc_profile_write("x"), COEX_GC_ESTATE);
    ck_assert_int_eq(coex_gc_profile_start(UINT64_MAX), COEX_GC_EINVAL);
    ck_assert_int_eq(coex_gc_profile_start(0), COEX_GC_OK);
    ck_assert_int_eq(coex_gc_profile_start(0), COEX_GC_EALREADY);
    ck_assert_int_eq(coex_gc_profile_write(NULL), COEX_GC_EINVAL);
    ck_assert_int_eq(coex_gc_profile_write("/nowhere/at/all.pb"), COEX_GC_EINVAL);
    ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), "/nowhere/at/all.pb"));
    coex_gc_shutdown();
    ck_assert_int_eq(coex_gc_profile_write("x"), COEX_GC_ESTATE);
}

/* ---- many threads ------------------------------------------------------------------------------------------ */

static void allocate_much(unsigned index, void *type)
{
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(1);
    for (int i = 0; i < 60000; i++) slots[0] = new_pair(*(uint32_t *)type, i % 100 == 0 ? 0 : slots[0], index);
    coex_gc_leave_frame(slots);
    coex_gc_unregister_thread();
}

TEST_TIMEOUT(threads_and_cycles_beside_a_profile_lose_nothing, 60)
{
    coex_gc_config config = quiet_config();
    config.trigger_allocations = 20000;
    start_with(&config);
    uint32_t type = type_pair();
    ck_assert_int_eq(coex_gc_profile_start(2048), COEX_GC_OK);
    coex_gc_enter_native();
    run_threads(4, allocate_much, &type);
    coex_gc_leave_native();
    coex_gc_collect();
    write_profile();
    struct profile sums = read_profile();
    expect_about((double)sums.value[OBJECTS], 240000, 0.08);
    expect_eq(sums.value[LIVE_OBJECTS], 0);
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    unlink(path);
    coex_gc_shutdown();
}

/* ---- whose frames are shown -------------------------------------------------------------------------------- */

/* Names that functions of the library have, or begin with. */
#ifdef __clang__
#define OWN_FRAME __attribute__((noinline))
#else
#define OWN_FRAME __attribute__((noinline, noclone))
#endif
coex_handle listen_for_requests(uint32_t type), alloc_buffer(uint32_t type), profile_page(uint32_t type), cx_handler(uint32_t type);

OWN_FRAME coex_handle listen_for_requests(uint32_t type)
{
    coex_handle fresh = new_pair(type, 0, 0);
    __asm__ volatile("" ::: "memory"); /* a call, not a jump */
    return fresh;
}

OWN_FRAME coex_handle alloc_buffer(uint32_t type)
{
    coex_handle fresh = new_pair(type, 0, 0);
    __asm__ volatile("" ::: "memory");
    return fresh;
}

OWN_FRAME coex_handle profile_page(uint32_t type)
{
    coex_handle fresh = listen_for_requests(type);
    __asm__ volatile("" ::: "memory");
    return fresh;
}

OWN_FRAME coex_handle cx_handler(uint32_t type)
{
    coex_handle fresh = alloc_buffer(type);
    __asm__ volatile("" ::: "memory");
    return fresh;
}

TEST(functions_of_the_program_are_shown_whatever_their_names)
{
    start_quiet();
    uint32_t type = type_pair();
    ck_assert_int_eq(coex_gc_profile_start(1024), COEX_GC_OK);
    for (int i = 0; i < 20000; i++) i % 4 == 0 ? cx_handler(type) : profile_page(type);
    write_profile();
    struct profile profile = profile_read(path);
    ck_assert_uint_eq(profile.drop_frames, 0); /* no pattern of names */
    double all = (double)profile.value[BYTES];
    expect_about((double)profile_sum(&profile, "listen_for_requests", BYTES, true), all * 0.75, 0.15);
    expect_about((double)profile_sum(&profile, "profile_page", BYTES, false), all * 0.75, 0.15);
    expect_about((double)profile_sum(&profile, "alloc_buffer", BYTES, true), all * 0.25, 0.3);
    expect_about((double)profile_sum(&profile, "cx_handler", BYTES, false), all * 0.25, 0.3);
    profile_free(&profile);
    unlink(path);
    coex_gc_shutdown();
}

coex_handle append_much(void);
OWN_FRAME coex_handle append_much(void)
{
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_list_empty(false);
    for (int i = 0; i < 20000; i++) slots[0] = coex_list_append(slots[0], 5);
    coex_handle list = slots[0];
    coex_gc_leave_frame(slots);
    return list;
}

/* Those of the collector and of the collections: the innermost frame is the function that called the library. */
TEST(frames_of_the_library_are_left_out)
{
    start_quiet();
    ck_assert_int_eq(coex_gc_profile_start(1024), COEX_GC_OK);
    append_much();
    write_profile();
    struct profile profile = profile_read(path);
    ck_assert_uint_gt(profile.value[BYTES], 0);
    ck_assert_uint_eq(profile_sum(&profile, "append_much", BYTES, true), profile.value[BYTES]);
    static const char *const own[] = {"coex_list_append", "coex_gc_alloc_slow", "cx_alloc_slow_self", "cx_profile_take"};
    for (int i = 0; i < 4; i++) ck_assert_uint_eq(profile_sum(&profile, own[i], BYTES, false), 0);
    profile_free(&profile);
    unlink(path);
    coex_gc_shutdown();
}

/* ---- as many call stacks as there are ------------------------------------------------------------------------ */

static void allocate_by_digits(uint32_t type, unsigned digits, unsigned number);

#define ALLOCATE_FROM_A_PLACE_OF_ITS_OWN(digit)                                                                                    \
    case digit:                                                                                                                    \
        allocate_by_digits(type, digits - 1, number / 8);                                                                          \
        __asm__ volatile("# place " #digit); /* a place of its own: compilers join equal calls */                                  \
        break

/* A call stack for each number: a call from one of eight places for each of its digits. */
OWN_FRAME static void allocate_by_digits(uint32_t type, unsigned digits, unsigned number)
{
    if (digits == 0) {
        new_pair(type, 0, 0);
        return;
    }
    switch (number % 8) {
        ALLOCATE_FROM_A_PLACE_OF_ITS_OWN(0);
        ALLOCATE_FROM_A_PLACE_OF_ITS_OWN(1);
        ALLOCATE_FROM_A_PLACE_OF_ITS_OWN(2);
        ALLOCATE_FROM_A_PLACE_OF_ITS_OWN(3);
        ALLOCATE_FROM_A_PLACE_OF_ITS_OWN(4);
        ALLOCATE_FROM_A_PLACE_OF_ITS_OWN(5);
        ALLOCATE_FROM_A_PLACE_OF_ITS_OWN(6);
        ALLOCATE_FROM_A_PLACE_OF_ITS_OWN(7);
    }
    __asm__ volatile("" ::: "memory");
}

TEST_TIMEOUT(every_one_of_100000_call_stacks_is_counted, 60)
{
    if (test_is_sanitized()) return; /* a walk of the stack takes them a hundred times as long */
    start_quiet();
    uint32_t type = type_pair();
    ck_assert_int_eq(coex_gc_profile_start(1), COEX_GC_OK); /* every allocation */
    uint64_t before = stats_now().total_bytes_allocated;
    for (unsigned i = 0; i < 100000; i++) allocate_by_digits(type, 6, i);
    uint64_t allocated = stats_now().total_bytes_allocated - before;
    write_profile();
    struct profile profile = read_profile();
    expect_about((double)profile.value[BYTES], (double)allocated, 0.001);
    expect_about((double)profile.value[LIVE_BYTES], (double)allocated, 0.001);
    ck_assert_uint_ge(profile.samples, 99000);
    ck_assert_uint_eq(stats_now().profile_other_samples, 0);
    ck_assert_uint_eq(profile.comments, 0);
    unlink(path);
    coex_gc_shutdown();
}

/* ---- names ---------------------------------------------------------------------------------------------------- */

TEST(names_of_types_are_utf_8_in_a_profile)
{
    start_quiet();
    uint32_t odd = type_from(&(coex_gc_type){.name = "a\xff\xc0\xafz \xc3\xa9", .size = 8});
    ck_assert_int_eq(coex_gc_profile_start(16), COEX_GC_OK);
    for (int i = 0; i < 100; i++) coex_gc_alloc(8, odd);
    write_profile();
    struct profile profile = profile_read(path);
    bool found = false;
    for (uint64_t i = 0; i < profile.strings; i++) found = found || profile_string_is(&profile, i, "a???z \xc3\xa9");
    ck_assert(found);
    profile_free(&profile);
    unlink(path);
    coex_gc_shutdown();
}
