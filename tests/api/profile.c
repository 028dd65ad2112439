/*
 * The sampled allocation profile, looked at through the protocol buffer that it writes: sums of samples, by what they count.
 */
#include "support/objects.h"

#include <sys/wait.h>
#include <unistd.h>

static char path[64];

/* ---- a reader of as much of pprof's format as is needed ---------------------------------------------------- */

struct message {
    const uint8_t *at, *end;
};

static uint64_t read_number(struct message *message)
{
    uint64_t value = 0;
    for (unsigned shift = 0; message->at < message->end; shift += 7) {
        uint8_t byte = *message->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    test_fail(__FILE__, __LINE__, "the profile ends inside a number");
}

/* The next field: its number, and its value or its bytes. False: no more. */
static bool next_field(struct message *message, unsigned *field, uint64_t *value, struct message *bytes)
{
    if (message->at == message->end) return false;
    uint64_t tag = read_number(message);
    *field = (unsigned)(tag >> 3);
    *value = read_number(message);
    expect((tag & 7) == 0 || (tag & 7) == 2);
    if ((tag & 7) == 2) {
        expect(*value <= (uint64_t)(message->end - message->at));
        *bytes = (struct message){message->at, message->at + *value};
        message->at += *value;
    }
    return true;
}

enum { OBJECTS, BYTES, LIVE_OBJECTS, LIVE_BYTES, VALUES };

struct sums {
    uint64_t value[VALUES], samples, locations, mappings, strings, period;
};

static void add_sample(struct sums *sums, struct message sample)
{
    struct message bytes;
    unsigned field;
    uint64_t value;
    sums->samples++;
    while (next_field(&sample, &field, &value, &bytes)) {
        for (int i = 0; field == 2 && i < VALUES; i++) sums->value[i] += read_number(&bytes);
    }
}

static struct sums read_profile(void)
{
    static uint8_t buffer[8 << 20];
    struct sums sums = {0};
    FILE *file = fopen(path, "rb");
    expect(file != NULL);
    struct message all = {buffer, buffer + fread(buffer, 1, sizeof buffer, file)}, part;
    fclose(file);
    unsigned field;
    uint64_t value;
    while (next_field(&all, &field, &value, &part)) {
        if (field == 2) add_sample(&sums, part);
        sums.mappings += field == 3;
        sums.locations += field == 4;
        sums.strings += field == 6;
        if (field == 12) sums.period = value;
    }
    return sums;
}

static void write_profile(void)
{
    snprintf(path, sizeof path, "/tmp/coexgc-profile-%d.pb", (int)getpid());
    int code = coex_gc_profile_write(path);
    if (code != COEX_GC_OK) test_fail(__FILE__, __LINE__, "%s", coex_gc_error_detail());
}

static void expect_about(double value, double wanted, double part)
{
    if (value < wanted * (1 - part) || value > wanted * (1 + part))
        test_fail(__FILE__, __LINE__, "%g is not about %g", value, wanted);
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
    struct sums sums = read_profile();
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
    struct sums sums = read_profile();
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
    struct sums first = read_profile();
    for (int i = 0; i < 50000; i++) new_pair(type, 0, 0);
    write_profile();
    struct sums second = read_profile();
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
    struct sums sums = read_profile();
    expect_about((double)sums.value[OBJECTS], 240000, 0.08);
    expect_eq(sums.value[LIVE_OBJECTS], 0);
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    unlink(path);
    coex_gc_shutdown();
}
