/*
 * Pins: a pinned object lives and stays where it is, however few roots it has and whoever pinned it.
 */
#include "support/borders.h"
#include "support/dump_parser.h"

#include <pthread.h>
#include <sys/resource.h>

enum { MANY = 10000 };

/* ---- alive, and in place ------------------------------------------------------------------------------------ */

/* Through native code, which reads and writes the payload while cycles run. */
static void pinned_is_alive(void)
{
    way_start();
    uint32_t type = type_from(&(coex_gc_type){.name = "buffer", .flags = COEX_GC_MUTABLE});
    coex_handle *slots = coex_gc_enter_frame(1);
    slots[0] = coex_gc_alloc(200, type);
    coex_handle h = slots[0];
    char *bytes = coex_gc_pin(h);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_ptr_eq(bytes, coex_gc_handle_deref(h));
    slots[0] = 0;
    for (int i = 0; i < 5; i++) {
        COEX_GC_NATIVE(memset(bytes, i, 200));
        coex_gc_collect();
        make_garbage(5000);
        ck_assert_ptr_eq(bytes, coex_gc_handle_deref(h));
        expect(is_all(bytes, 200, (unsigned char)i));
    }
    coex_gc_unpin(h);
    coex_gc_collect();
    ck_assert(!coex_gc_is_handle(h));
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(a_pinned_object_lives_and_stays_in_place) { both_ways(pinned_is_alive); }

static void pinned_graph(void)
{
    way_start();
    test_rng rng = rng_from(1);
    coex_handle *slots = coex_gc_enter_frame(2);
    for (int i = 0; i < 100; i++) {
        slots[1] = new_leaf();
        slots[0] = node_make(node_fresh_id(NODE_LINK), slots, 2, 0);
    }
    coex_handle top = slots[0];
    uint64_t id = node_id(top);
    coex_gc_pin(top);
    slots[0] = slots[1] = 0;
    coex_gc_collect();
    make_garbage(5000);
    coex_gc_collect();
    node_expect(top, id);
    node_walk(top, 100, &rng);
    coex_gc_unpin(top);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

TEST(what_a_pinned_object_refers_to_lives_too) { both_ways(pinned_graph); }

TEST(large_and_aligned_objects_can_be_pinned)
{
    way_start();
    uint32_t bytes = type_bytes();
    coex_handle large = coex_gc_alloc(100000, bytes);
    memset(coex_gc_handle_deref(large), 7, 100000);
    char *at = coex_gc_pin(large);
    coex_handle aligned = node_make(node_fresh_id(NODE_ALIGNED), NULL, 0, 0);
    uint64_t id = node_id(aligned);
    coex_gc_pin(aligned);
    coex_gc_collect();
    coex_gc_collect();
    expect(is_all(at, 100000, 7));
    node_expect(aligned, id);
    coex_gc_unpin(large);
    coex_gc_unpin(aligned);
    coex_gc_collect();
    ck_assert(!coex_gc_is_handle(large));
    ck_assert(!coex_gc_is_handle(aligned));
    coex_gc_shutdown();
}

/* ---- counted ------------------------------------------------------------------------------------------------- */

static void counted(void)
{
    way_start();
    coex_handle h = new_leaf();
    for (int i = 0; i < 5; i++) coex_gc_pin(h);
    ck_assert_uint_eq(stats_now().pinned_objects, 1);
    ck_assert_uint_eq(stats_now().pins, 5);
    for (int i = 0; i < 5; i++) {
        coex_gc_collect();
        node_verify(h);
        coex_gc_unpin(h);
    }
    ck_assert_uint_eq(stats_now().pinned_objects, 0);
    ck_assert_uint_eq(stats_now().pins, 0);
    coex_gc_collect();
    ck_assert(!coex_gc_is_handle(h));
    coex_gc_shutdown();
}

TEST(pins_of_one_object_are_counted) { both_ways(counted); }

/* A leak is a number that only grows, and it is there to be seen. */
TEST(a_leaked_pin_is_visible_in_the_statistics)
{
    way_start();
    for (unsigned i = 1; i <= 100; i++) {
        coex_handle kept = new_leaf(), leaked = kept;
        coex_gc_pin(leaked);
        coex_gc_pin(leaked);
        coex_gc_unpin(leaked);
        ck_assert_uint_eq(stats_now().pinned_objects, i);
        ck_assert_uint_eq(stats_now().pins, i);
    }
    coex_gc_collect();
    ck_assert_uint_eq(stats_now().pinned_objects, 100);
    coex_gc_shutdown();
}

static dump_object dumped(coex_handle h)
{
    capture_begin();
    coex_gc_dump_object(h);
    return parse_object(capture_end());
}

/* ... and in the dumps: that there is one, on which object, and that nothing else keeps it. */
TEST(a_leaked_pin_is_shown_in_the_dumps)
{
    way_start();
    coex_handle leaked = new_leaf();
    coex_gc_pin(leaked);
    ck_assert_uint_eq(dumped(leaked).pins, 1);
    coex_gc_pin(leaked);
    coex_gc_collect();
    ck_assert_uint_eq(dumped(leaked).pins, 2);
    capture_begin();
    coex_gc_dump_stats();
    char *text = capture_end();
    ck_assert_uint_eq(parse_stat(text, "pinned_objects", NULL), 1);
    ck_assert_uint_eq(parse_stat(text, "pins", NULL), 2);
    capture_begin();
    coex_gc_why(leaked);
    ck_assert_str_eq(parse_why(capture_end()).root, "pin (2 times)");
    coex_gc_unpin(leaked);
    coex_gc_unpin(leaked);
    ck_assert_uint_eq(dumped(leaked).pins, 0);
    coex_gc_shutdown();
}

/* ---- ten thousand ---------------------------------------------------------------------------------------------- */

static coex_handle pinned[MANY];
static uint64_t pinned_id[MANY];
static const void *pinned_at[MANY];

static void pin_many(void)
{
    for (int i = 0; i < MANY; i++) {
        pinned[i] = new_leaf();
        pinned_id[i] = node_id(pinned[i]);
        pinned_at[i] = coex_gc_pin(pinned[i]);
        expect(pinned_at[i] != NULL);
    }
}

static void unpin_in_random_order(void)
{
    test_rng rng = rng_from(way_seed + 99);
    for (uint64_t left = MANY; left > 0; left--) {
        uint64_t i = rng_below(&rng, left);
        node_expect(pinned[i], pinned_id[i]);
        expect(pinned_at[i] == coex_gc_handle_deref(pinned[i]));
        coex_gc_unpin(pinned[i]);
        pinned[i] = pinned[left - 1];
        pinned_id[i] = pinned_id[left - 1];
        pinned_at[i] = pinned_at[left - 1];
    }
}

static void ten_thousand(void)
{
    way_start();
    pin_many();
    ck_assert_uint_eq(stats_now().pinned_objects, MANY);
    coex_gc_collect();
    make_garbage(20000);
    coex_gc_collect();
    coex_handle one = pinned[MANY / 2];
    unpin_in_random_order();
    ck_assert_uint_eq(stats_now().pinned_objects, 0);
    coex_gc_collect();
    ck_assert(!coex_gc_is_handle(one));
    ck_assert_uint_lt(stats_now().current_handles_in_use, 1000);
    coex_gc_shutdown();
}

TEST(ten_thousand_objects_are_pinned_at_once) { both_ways(ten_thousand); }

/* ---- other threads ---------------------------------------------------------------------------------------------- */

static coex_handle handed_over;

static void *unpin_elsewhere(void *unused)
{
    coex_gc_register_thread();
    node_verify(handed_over);
    coex_gc_unpin(handed_over);
    return unused;
}

static void *pin_and_exit(void *unused)
{
    coex_gc_register_thread();
    handed_over = new_leaf();
    coex_gc_pin(handed_over);
    return unused;
}

static void other_threads(void)
{
    pthread_t thread;
    way_start();
    expect(pthread_create(&thread, NULL, pin_and_exit, NULL) == 0);
    COEX_GC_NATIVE(pthread_join(thread, NULL));
    coex_gc_collect();
    node_verify(handed_over); /* the pin outlives its thread */
    expect(pthread_create(&thread, NULL, unpin_elsewhere, NULL) == 0);
    COEX_GC_NATIVE(pthread_join(thread, NULL));
    coex_gc_collect();
    ck_assert(!coex_gc_is_handle(handed_over));
    coex_gc_shutdown();
}

TEST(a_pin_outlives_its_thread_and_any_thread_takes_it_back) { both_ways(other_threads); }

static test_flag enough;
static uint64_t pinning;

/* Objects that only pins keep, handed from pin to slot and back while cycles run. */
static void pin_and_unpin(unsigned index, void *arg)
{
    (void)arg;
    test_rng rng = rng_from(way_seed + index);
    coex_handle mine[64] = {0};
    uint64_t id[64];
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(1);
    count_up(&pinning);
    while (!flag_is_set(&enough)) {
        unsigned i = (unsigned)rng_below(&rng, 64);
        if (mine[i] == 0) {
            mine[i] = new_leaf();
            id[i] = node_id(mine[i]);
            expect(coex_gc_pin(mine[i]) != NULL);
        } else {
            node_expect(mine[i], id[i]);
            coex_gc_unpin(mine[i]);
            slots[0] = mine[i]; /* after the unpin: only its shade speaks for it, if this thread is scanned */
            coex_gc_safepoint();
            node_expect(slots[0], id[i]);
            mine[i] = 0;
        }
    }
    for (int i = 0; i < 64; i++) {
        if (mine[i] != 0) coex_gc_unpin(mine[i]);
    }
    coex_gc_leave_frame(slots);
}

static void *collect_many(void *unused)
{
    while (count_now(&pinning) < 3) usleep(100);
    for (unsigned i = 0; i < scaled(40, 8); i++) coex_gc_collect();
    flag_set(&enough);
    return unused;
}

static void pins_beside_cycles(void)
{
    pthread_t collecting;
    busy_start();
    pinning = 0;
    flag_clear(&enough);
    pin_many(); /* a table that is large and rebuilt all the time: the collector gets through it all the same */
    coex_gc_enter_native();
    expect(pthread_create(&collecting, NULL, collect_many, NULL) == 0);
    run_threads(3, pin_and_unpin, NULL);
    pthread_join(collecting, NULL);
    coex_gc_leave_native();
    ck_assert_uint_eq(stats_now().pins, MANY);
    unpin_in_random_order();
    coex_gc_shutdown();
}

TEST_TIMEOUT(pins_come_and_go_while_cycles_run, 60) { both_ways(pins_beside_cycles); }

/* ---- no memory ---------------------------------------------------------------------------------------------------- */

TEST(a_pin_without_memory_is_refused_and_nothing_is_lost)
{
    if (test_is_sanitized()) return; /* a sanitizer needs address space of its own at any time */
    way_start();
    coex_handle *slots = coex_gc_enter_frame(MANY);
    for (int i = 0; i < MANY; i++) slots[i] = new_leaf();
    struct rlimit before, none;
    getrlimit(RLIMIT_AS, &before);
    none = before;
    none.rlim_cur = 1 << 20;
    expect(setrlimit(RLIMIT_AS, &none) == 0);
    int done = 0;
    while (done < MANY && coex_gc_pin(slots[done]) != NULL) done++;
    int code = coex_gc_last_error();
    setrlimit(RLIMIT_AS, &before);
    ck_assert_int_lt(done, MANY);
    ck_assert_int_eq(code, COEX_GC_ENOMEM);
    ck_assert_uint_eq(stats_now().pins, (unsigned)done);
    ck_assert_ptr_nonnull(coex_gc_pin(slots[done]));
    for (int i = 0; i <= done; i++) coex_gc_unpin(slots[i]);
    coex_gc_collect();
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}
