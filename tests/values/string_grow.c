/*
 * Strings that grow: concatenation and builders are linear, what was there before stays as it was, with threads, cycles and no memory.
 */
#include "support/strings.h"

#include <pthread.h>

static uint64_t allocated(void)
{
    coex_gc_stats stats;
    coex_gc_get_stats(&stats);
    return stats.total_bytes_allocated;
}

/* ---- piece by piece ------------------------------------------------------------------------------------------------ */

enum side { AT_THE_END, AT_THE_BEGINNING, AT_BOTH_IN_TURN };

/* Builds a string of `pieces` numbered pieces and checks all of it. Returns the bytes that were allocated for each piece. */
static double build(coex_handle *slots, uint64_t pieces, enum side side)
{
    enum { PIECE = 10 };
    uint64_t before = allocated(), front = 0;
    char text[32];
    slots[0] = make("");
    for (uint64_t i = 0; i < pieces; i++) {
        bool first = side == AT_THE_BEGINNING || (side == AT_BOTH_IN_TURN && i % 2 == 1);
        snprintf(text, sizeof text, "%09" PRIu64 ",", i);
        slots[1] = coex_string_from(text, PIECE);
        slots[0] = first ? coex_string_concat(slots[1], slots[0]) : coex_string_concat(slots[0], slots[1]);
        expect(slots[0] != 0);
        front += first;
    }
    double each = (double)(allocated() - before) / (double)pieces;
    expect_eq(coex_string_len(slots[0]), pieces * PIECE);
    const char *data = coex_string_data(slots[0]);
    for (uint64_t i = 0; i < pieces; i++) { /* those in front stand in the opposite order */
        bool first = side == AT_THE_BEGINNING || (side == AT_BOTH_IN_TURN && i % 2 == 1);
        uint64_t number = side == AT_BOTH_IN_TURN ? i / 2 : i;
        uint64_t place = first ? front - 1 - number : front + number;
        snprintf(text, sizeof text, "%09" PRIu64 ",", i);
        expect(memcmp(data + place * PIECE, text, PIECE) == 0);
    }
    return each;
}

TEST_TIMEOUT(building_piece_by_piece_costs_the_same_for_each_piece_however_long_the_string_is, 60)
{
    coex_handle *slots = begin();
    uint64_t many = unless_hostile(test_is_sanitized() ? 20000 : 200000, 1000);
    for (enum side side = AT_THE_END; side <= AT_BOTH_IN_TURN; side++) {
        double few = build(slots, many / 20, side), lots = build(slots, many, side);
        ck_assert_msg(lots < few * 2 && lots < 250, "%g bytes for each of %d pieces, %g for each of %d", few, (int)many / 20, lots,
                      (int)many);
    }
    end(slots);
}

TEST(pieces_of_any_size_add_up)
{
    coex_handle *slots = begin();
    test_rng rng = rng_from(test_seed());
    enum { TOTAL = 300000 };
    static char model[2 * TOTAL + 8192];
    uint64_t from = TOTAL, to = TOTAL;
    slots[0] = make("");
    while (to - from < TOTAL / 2) {
        char piece[4096];
        uint64_t count = rng_below(&rng, rng_one_in(&rng, 8) ? sizeof piece : 40);
        for (uint64_t i = 0; i < count; i++) piece[i] = (char)rng_between(&rng, 'a', 'z');
        slots[1] = coex_string_from(piece, count);
        if (rng_one_in(&rng, 3) && from > count) {
            from -= count;
            memcpy(model + from, piece, count);
            slots[0] = coex_string_concat(slots[1], slots[0]);
        } else {
            memcpy(model + to, piece, count);
            to += count;
            slots[0] = coex_string_concat(slots[0], slots[1]);
        }
        expect(coex_string_len(slots[0]) == to - from && memcmp(coex_string_data(slots[0]), model + from, to - from) == 0);
    }
    end(slots);
}

TEST(every_version_of_a_growing_string_stays_as_it_was)
{
    coex_handle *slots = begin();
    enum { VERSIONS = 200 };
    coex_handle *versions = coex_gc_enter_frame(VERSIONS);
    test_rng rng = rng_from(test_seed());
    char *model[VERSIONS];
    versions[0] = make("0");
    versions[0] = coex_string_repeat(versions[0], 1000);
    model[0] = malloc(1001);
    memset(model[0], '0', 1000);
    model[0][1000] = 0;
    for (int i = 1; i < VERSIONS; i++) { /* each continues any of those before, most of them the last, at either side */
        int parent = rng_one_in(&rng, 4) ? (int)rng_below(&rng, (uint64_t)i) : i - 1;
        bool front = rng_one_in(&rng, 2);
        char piece[16];
        snprintf(piece, sizeof piece, "<%d>", i);
        slots[0] = make(piece);
        versions[i] = front ? coex_string_concat(slots[0], versions[parent]) : coex_string_concat(versions[parent], slots[0]);
        ck_assert(versions[i] != 0);
        model[i] = malloc(strlen(model[parent]) + sizeof piece);
        sprintf(model[i], "%s%s", front ? piece : model[parent], front ? model[parent] : piece);
    }
    for (int i = 0; i < VERSIONS; i++) {
        ck_assert(is_text(versions[i], model[i]));
        free(model[i]);
    }
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_leave_frame(versions);
    end(slots);
}

TEST(concatenating_with_nothing_gives_the_same_string)
{
    coex_handle *slots = begin();
    slots[0] = make("something");
    slots[1] = make("");
    ck_assert_uint_eq(coex_string_concat(slots[0], slots[1]), slots[0]);
    ck_assert_uint_eq(coex_string_concat(slots[1], slots[0]), slots[0]);
    ck_assert(is_text(coex_string_concat(slots[0], slots[0]), "somethingsomething"));
    slots[2] = coex_string_repeat(slots[0], 1000);
    for (int i = 0; i < 4; i++) slots[2] = coex_string_concat(slots[2], slots[2]); /* with itself, also in a buffer */
    ck_assert_uint_eq(coex_string_len(slots[2]), 16 * 9000);
    slots[3] = coex_string_slice(slots[2], 9, 9009);
    slots[3] = coex_string_concat(slots[2], slots[3]); /* with a part of itself */
    slots[4] = coex_string_repeat(slots[0], 17000);
    ck_assert(coex_string_equal(slots[3], slots[4]));
    end(slots);
}

/* ---- builders ------------------------------------------------------------------------------------------------------- */

TEST(a_builder_takes_all_kinds_of_pieces)
{
    coex_handle *slots = begin();
    slots[0] = coex_string_builder_new(0);
    slots[1] = make("string, ");
    ck_assert(coex_string_builder_append(slots[0], slots[1]));
    ck_assert(coex_string_builder_append_from(slots[0], "text, ", 6));
    ck_assert(coex_string_builder_append_from(slots[0], NULL, 0));
    ck_assert(coex_string_builder_append_int(slots[0], -42));
    ck_assert(coex_string_builder_append_char(slots[0], ' '));
    ck_assert(coex_string_builder_append_float(slots[0], 0.5));
    ck_assert(coex_string_builder_append_char(slots[0], 0x20ac));
    ck_assert_uint_eq(coex_string_builder_len(slots[0]), 24);
    slots[2] = coex_string_builder_finish(slots[0]);
    ck_assert(is_text(slots[2], "string, text, -42 0.5\xe2\x82\xac"));
    ck_assert(!coex_string_is_ascii(slots[2]));
    end(slots);
}

TEST(a_builder_that_refuses_something_is_as_it_was)
{
    coex_handle *slots = begin();
    slots[0] = coex_string_builder_new(3);
    ck_assert(coex_string_builder_append_from(slots[0], "a\xe2\x82\xac", 4));
    ck_assert(!coex_string_builder_append_from(slots[0], "x\xff", 2) && failed(COEX_STATUS_TEXT));
    ck_assert(!coex_string_builder_append_char(slots[0], 0xd800) && failed(COEX_STATUS_TEXT));
    ck_assert(!coex_string_builder_append_from(slots[0], NULL, 3) && failed(COEX_STATUS_KIND));
    ck_assert(!coex_string_builder_truncate(slots[0], 5) && failed(COEX_STATUS_RANGE));
    ck_assert(!coex_string_builder_truncate(slots[0], 2) && failed(COEX_STATUS_TEXT));
    ck_assert(!coex_string_builder_truncate(slots[0], 3) && failed(COEX_STATUS_TEXT));
    ck_assert_uint_eq(coex_string_builder_len(slots[0]), 4);
    ck_assert(coex_string_builder_truncate(slots[0], 4));
    ck_assert(coex_string_builder_truncate(slots[0], 1));
    ck_assert(coex_string_builder_append_char(slots[0], 'b'));
    slots[1] = coex_string_builder_finish(slots[0]);
    ck_assert(is_text(slots[1], "ab"));
    ck_assert(coex_string_builder_finish(slots[0]) == 0 && failed(COEX_STATUS_STALE));
    ck_assert(!coex_string_builder_append(slots[0], slots[1]) && failed(COEX_STATUS_STALE));
    ck_assert(!coex_string_builder_append_from(slots[0], "x", 1) && failed(COEX_STATUS_STALE));
    ck_assert(!coex_string_builder_append_char(slots[0], 'x') && failed(COEX_STATUS_STALE));
    ck_assert(!coex_string_builder_append_int(slots[0], 1) && failed(COEX_STATUS_STALE));
    ck_assert(!coex_string_builder_reserve(slots[0], 1) && failed(COEX_STATUS_STALE));
    ck_assert(!coex_string_builder_truncate(slots[0], 0) && failed(COEX_STATUS_STALE));
    ck_assert(coex_string_builder_len(slots[0]) == 0 && failed(COEX_STATUS_STALE));
    ck_assert(is_text(slots[1], "ab"));
    end(slots);
}

/* What string.h advises instead of cutting a string and appending to it, which copies it each time. */
TEST(a_builder_pops_and_appends_in_place)
{
    enum { LENGTH = 400000, STEPS = 8000 };
    coex_handle *slots = begin();
    slots[0] = coex_string_builder_new(LENGTH);
    for (int i = 0; i < LENGTH; i++) expect(coex_string_builder_append_char(slots[0], 'a'));
    uint64_t before = allocated();
    for (int i = 0; i < STEPS; i++) {
        expect(coex_string_builder_truncate(slots[0], LENGTH - 1));
        expect(coex_string_builder_append_char(slots[0], (uint32_t)('a' + i % 26)));
    }
    expect(allocated() - before < LENGTH);
    slots[0] = coex_string_builder_finish(slots[0]);
    expect_eq(coex_string_len(slots[0]), LENGTH);
    expect(coex_string_data(slots[0])[LENGTH - 1] == 'a' + (STEPS - 1) % 26);
    end(slots);
}

TEST(a_long_string_leaves_its_builder_without_a_copy)
{
    coex_handle *slots = begin();
    slots[0] = coex_string_builder_new(1 << 20);
    slots[1] = make("0123456789abcdef");
    for (int i = 0; i < 1 << 16; i++) expect(coex_string_builder_append(slots[0], slots[1]));
    uint64_t before = allocated();
    slots[2] = coex_string_builder_finish(slots[0]);
    ck_assert_uint_lt(allocated() - before, 4096);
    slots[3] = coex_string_repeat(slots[1], 1 << 16);
    ck_assert(coex_string_equal(slots[2], slots[3]));
    ck_assert(coex_string_is_ascii(slots[2]));
    end(slots);
}

/* A string that came from a builder has the builder's room beside it: what is appended there must not meet the builder again. */
TEST(what_continues_a_finished_string_touches_nothing_else)
{
    coex_handle *slots = begin();
    slots[0] = coex_string_builder_new(4000);
    for (int i = 0; i < 3000; i++) expect(coex_string_builder_append_char(slots[0], 'x'));
    slots[1] = coex_string_builder_finish(slots[0]);
    slots[2] = make("one");
    slots[3] = make("two");
    slots[4] = coex_string_concat(slots[1], slots[2]);
    slots[5] = coex_string_concat(slots[1], slots[3]);
    slots[6] = coex_string_concat(slots[4], slots[3]);
    ck_assert(!coex_string_builder_append(slots[0], slots[3]));
    ck_assert_uint_eq(coex_string_len(slots[1]), 3000);
    ck_assert(coex_string_ends_with(slots[4], slots[2]) && coex_string_len(slots[4]) == 3003);
    ck_assert(coex_string_ends_with(slots[5], slots[3]) && coex_string_len(slots[5]) == 3003);
    ck_assert_int_eq(memcmp(coex_string_data(slots[6]) + 3000, "onetwo", 6), 0);
    end(slots);
}

/* ---- threads -------------------------------------------------------------------------------------------------------- */

static coex_handle shared;

struct crew {
    uint64_t seed;
};

/* Continues the shared string at both sides, keeps what it made, and looks whether it is still that. */
static void continue_shared(unsigned index, void *argument)
{
    struct crew *crew = argument;
    test_rng rng = rng_from(crew->seed + index);
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(4);
    int rounds = unless_hostile(test_is_sanitized() ? 60 : 300, 6);
    for (int round = 0; round < rounds; round++) {
        char front[4096], back[4096];
        uint64_t before = 0, behind = 0;
        slots[0] = coex_gc_global_load(&shared);
        uint64_t length = coex_string_len(slots[0]);
        slots[1] = slots[0];
        while (before + 8 < sizeof front && behind + 8 < sizeof back && !rng_one_in(&rng, 60)) {
            char piece[8];
            int count = snprintf(piece, sizeof piece, "%u.%u ", index, (unsigned)rng_below(&rng, 1000));
            slots[2] = coex_string_from(piece, (uint64_t)count);
            if (rng_one_in(&rng, 2)) {
                before += (uint64_t)count;
                memcpy(front + sizeof front - before, piece, (size_t)count);
                slots[1] = coex_string_concat(slots[2], slots[1]);
            } else {
                memcpy(back + behind, piece, (size_t)count);
                behind += (uint64_t)count;
                slots[1] = coex_string_concat(slots[1], slots[2]);
            }
            expect(slots[1] != 0);
        }
        coex_gc_safepoint();
        expect_eq(coex_string_len(slots[1]), before + length + behind);
        const char *data = coex_string_data(slots[1]);
        expect(memcmp(data, front + sizeof front - before, before) == 0);
        expect(memcmp(data + before, coex_string_data(slots[0]), length) == 0);
        expect(memcmp(data + before + length, back, behind) == 0);
        slots[3] = coex_string_slice(slots[1], before, before + length);
        expect_eq(coex_string_hash(slots[3]), coex_string_hash(slots[0]));
        expect(coex_string_equal(slots[3], slots[0]));
        if (coex_string_len(slots[1]) < 100000 && rng_one_in(&rng, 4)) coex_gc_global_store(&shared, slots[1]);
        if (rng_one_in(&rng, 20)) coex_gc_async();
    }
    coex_gc_leave_frame(slots);
    coex_gc_unregister_thread();
}

TEST_TIMEOUT(many_threads_continue_the_same_string_while_cycles_run, 60)
{
    coex_handle *slots = begin();
    struct crew crew = {.seed = test_seed()};
    slots[0] = make("beginning ");
    shared = coex_string_repeat(slots[0], 100);
    ck_assert_int_eq(coex_gc_add_global_root(&shared), COEX_GC_OK);
    coex_gc_enter_native();
    run_threads(4, continue_shared, &crew);
    coex_gc_leave_native();
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_remove_global_root(&shared);
    end(slots);
}

/* Looks at the same fresh strings as all others do, so that many are the first to fill the caches. */
static void look_at_shared(unsigned index, void *argument)
{
    const struct crew *crew = argument;
    test_rng rng = rng_from(crew->seed + index);
    coex_gc_register_thread();
    coex_handle *slots = coex_gc_enter_frame(3);
    for (int round = 0; round < unless_hostile(test_is_sanitized() ? 100 : 2000, 100); round++) {
        uint64_t number = rng_below(&rng, 50);
        char text[100];
        snprintf(text, sizeof text, "the number %" PRIu64 " and more than thirty-two bytes%s", number,
                 number % 2 == 0 ? "" : " \xe2\x82\xac");
        slots[0] = coex_gc_global_load(&shared);
        slots[1] = coex_list_get(slots[0], number);
        slots[2] = coex_string_from_c(text);
        expect(slots[2] != 0);
        expect_eq(coex_string_is_ascii(slots[1]), number % 2 == 0);
        expect_eq(coex_string_hash(slots[1]), coex_string_hash(slots[2]));
        expect(coex_string_equal(slots[1], slots[2]) && coex_string_compare(slots[1], slots[2]) == 0);
        expect_eq(coex_string_is_ascii(slots[1]), number % 2 == 0); /* the hash has not overwritten it */
        expect_eq(coex_string_chars(slots[1]), coex_string_chars(slots[2]));
        if (rng_one_in(&rng, 50)) coex_gc_async();
        if (index == 0 && rng_one_in(&rng, 20)) { /* the same strings again, with nothing known of them */
            slots[1] = coex_list_empty(true);
            for (uint64_t i = 0; i < 50; i++) {
                snprintf(text, sizeof text, "..the number %" PRIu64 " and more than thirty-two bytes%s", i,
                         i % 2 == 0 ? "" : " \xe2\x82\xac");
                slots[2] = coex_string_from_c(text);
                slots[2] = coex_string_slice(slots[2], 2, coex_string_len(slots[2]));
                slots[1] = coex_list_append(slots[1], slots[2]);
                expect(slots[1] != 0);
            }
            coex_gc_global_store(&shared, slots[1]);
        }
    }
    coex_gc_leave_frame(slots);
    coex_gc_unregister_thread();
}

TEST_TIMEOUT(many_threads_look_at_the_same_strings_while_cycles_run, 60)
{
    coex_handle *slots = begin();
    struct crew crew = {.seed = test_seed()};
    slots[0] = coex_list_empty(true);
    for (int i = 0; i < 50; i++) {
        char text[100];
        snprintf(text, sizeof text, "the number %d and more than thirty-two bytes%s", i, i % 2 == 0 ? "" : " \xe2\x82\xac");
        slots[1] = make(text);
        slots[0] = coex_list_append(slots[0], slots[1]);
    }
    shared = slots[0];
    ck_assert_int_eq(coex_gc_add_global_root(&shared), COEX_GC_OK);
    coex_gc_enter_native();
    run_threads(4, look_at_shared, &crew);
    coex_gc_leave_native();
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_remove_global_root(&shared);
    end(slots);
}

/* ---- out of memory ---------------------------------------------------------------------------------------------------- */

static const uint32_t link_refs[] = {0};

static uint32_t link_type(void)
{
    uint32_t type = coex_gc_register_type(&(coex_gc_type){.name = "link", .size = 8, .ref_offsets = link_refs, .ref_count = 1});
    expect(type != 0);
    return type;
}

/* Takes all handles there are, in a chain of objects. */
static void fill_up(coex_handle *chain, uint32_t type)
{
    for (;;) {
        void *payload;
        coex_handle h = coex_gc_alloc_at(8, type, &payload);
        if (h == 0) return;
        *(coex_handle *)payload = *chain;
        *chain = h;
    }
}

static void let_go(coex_handle *chain, unsigned count)
{
    for (unsigned i = 0; i < count && *chain != 0; i++) *chain = coex_gc_load(*chain, 0);
    coex_gc_collect();
    coex_gc_collect();
}

/* Whatever fails for want of a handle says so, and leaves what it was given as it was. */
TEST_TIMEOUT(out_of_memory_at_any_allocation_is_said_and_harms_nothing, 60)
{
    coex_gc_config config = default_config();
    config.initial_handles = config.max_handles = 4096;
    config.stress_to = HOSTILE_FIRST;
    start_with(&config);
    uint32_t type = link_type();
    coex_handle *slots = coex_gc_enter_frame(8);
    slots[0] = make("x");
    slots[0] = coex_string_repeat(slots[0], 5000);
    slots[1] = make("piece");
    slots[2] = coex_string_builder_new(8);
    ck_assert(coex_string_builder_append(slots[2], slots[1]));
    uint64_t failures = 0, successes = 0;
    for (unsigned left = 0; left < 6; left++) {
        fill_up(&slots[7], type);
        let_go(&slots[7], left);
        uint64_t length = coex_string_builder_len(slots[2]);
#define TRY(call)                                                                                                                  \
    do {                                                                                                                           \
        coex_clear_status();                                                                                                       \
        if ((call) != 0) {                                                                                                         \
            successes++;                                                                                                           \
        } else {                                                                                                                   \
            failures++;                                                                                                            \
            ck_assert_msg(failed(COEX_STATUS_MEMORY), "%s", #call);                                                                \
        }                                                                                                                          \
    } while (0)
        TRY(coex_string_concat(slots[0], slots[1]));
        TRY(coex_string_concat(slots[1], slots[0]));
        TRY(coex_string_concat(slots[1], slots[1]));
        TRY(coex_string_slice(slots[0], 1, 4000));
        TRY(coex_string_slice(slots[0], 1, 4));
        TRY(coex_string_replace(slots[0], slots[0], slots[1]));
        TRY(coex_string_repeat(slots[1], 3));
        TRY(coex_string_from_int(1));
        TRY(coex_string_from_float(1));
        TRY(coex_string_from("x", 1));
        TRY(coex_string_hex("x", 1));
        TRY(coex_string_builder_new(10));
        TRY(coex_string_builder_reserve(slots[2], 3 * length + 100));
        TRY(coex_string_builder_append(slots[2], slots[0]));
        coex_handle whole = coex_string_builder_finish(slots[2]);
        if (whole != 0) {
            slots[2] = coex_string_builder_new(8);
            if (slots[2] == 0) break;
        } else {
            ck_assert(coex_string_builder_len(slots[2]) >= length);
        }
        ck_assert_uint_eq(coex_string_len(slots[0]), 5000);
        ck_assert(is_text(slots[1], "piece"));
    }
    ck_assert_uint_gt(failures, 10);
    slots[7] = 0;
    coex_gc_collect();
    coex_gc_collect();
    TRY(coex_string_concat(slots[0], slots[1]));
    ck_assert_int_eq(coex_last_status(), COEX_STATUS_OK);
    printf("%" PRIu64 " failures, %" PRIu64 " successes\n", failures, successes);
    end(slots);
}

TEST(at_a_heap_limit_growing_gives_up_room_before_it_gives_up)
{
    coex_gc_config config = default_config();
    config.initial_heap = 1 << 20;
    config.heap_limit = 16 << 20;
    start_with(&config);
    coex_handle *slots = coex_gc_enter_frame(4);
    slots[0] = make("0123456789");
    slots[0] = coex_string_repeat(slots[0], 600000); /* 6 MB */
    slots[1] = make("!");
    slots[2] = coex_string_concat(slots[0], slots[1]); /* 6 and 9 MB do not fit into 16 MiB beside each other, 6 and 6 do */
    ck_assert_uint_ne(slots[2], 0);
    ck_assert_uint_eq(coex_string_len(slots[2]), 6000001);
    ck_assert_uint_eq(coex_string_concat(slots[0], slots[2]), 0);
    ck_assert(failed(COEX_STATUS_MEMORY));
    slots[3] = coex_string_builder_new(0);
    ck_assert(coex_string_builder_append_from(slots[3], "kept", 4));
    ck_assert(!coex_string_builder_append(slots[3], slots[2]));
    ck_assert(failed(COEX_STATUS_MEMORY));
    slots[2] = coex_string_builder_finish(slots[3]);
    ck_assert(is_text(slots[2], "kept"));
    slots[2] = coex_string_builder_new(6000000);
    ck_assert(coex_string_builder_append(slots[2], slots[0]));
    slots[0] = 0;
    ck_assert(coex_string_builder_append(slots[2], slots[1])); /* not twice as much, but enough */
    ck_assert_uint_eq(coex_string_builder_len(slots[2]), 6000001);
    end(slots);
}
