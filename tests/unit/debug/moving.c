/*
 * A handle stays good when its object moves, and an address does not (MI-1). Objects are moved by support/moving.c, at the beginning of
 * a cycle; COEX_TEST_MOVING=1 does the same to any test program, and the tests of the values are run with it.
 */
#include "support/moving.h"

#include "support/objects.h"

#include <coex/values.h>
#include <coex/values/json.h>

enum { OBJECTS = 100 };

#define NEEDS_MOVING()                                                                                                             \
    do {                                                                                                                           \
        if (!test_is_checked()) return;                                                                                            \
    } while (0)

static uint32_t type;

/* A list of OBJECTS pairs in slot[0], the last one made at its head. */
static coex_handle *begin_with_pairs(void)
{
    start_quiet();
    moving_begin();
    type = type_pair();
    coex_handle *slot = coex_gc_enter_frame(2);
    for (uint64_t i = 0; i < OBJECTS; i++) slot[0] = new_pair(type, slot[0], i);
    return slot;
}

/* A cycle that begins before this thread waits for it moves nothing. */
static void collect_and_move(void)
{
    uint64_t before = moving_count();
    while (moving_count() == before) coex_gc_collect();
}

static void expect_pairs(coex_handle head)
{
    for (uint64_t i = OBJECTS; i-- > 0;) {
        const pair *at = coex_gc_handle_deref(head);
        expect_eq(at->value, i);
        head = at->next;
    }
    expect_eq(head, 0);
}

static void end_moving(coex_handle *slot)
{
    coex_gc_leave_frame(slot);
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    moving_end();
    coex_gc_shutdown();
}

TEST(every_object_moves_and_every_handle_stays_good)
{
    NEEDS_MOVING();
    coex_handle *slot = begin_with_pairs();
    for (int round = 0; round < 5; round++) {
        const void *before[OBJECTS];
        coex_handle at = slot[0];
        for (int i = 0; i < OBJECTS; i++) {
            const pair *now = coex_gc_handle_deref(at);
            before[i] = now;
            at = now->next;
        }
        collect_and_move();
        at = slot[0];
        for (int i = 0; i < OBJECTS; i++) {
            const pair *now = coex_gc_handle_deref(at);
            expect((const void *)now != before[i]);
            at = now->next;
        }
        expect_pairs(slot[0]);
    }
    end_moving(slot);
}

/* What the tests of the values would see if one of them kept an address. */
TEST(an_address_kept_over_a_safepoint_leads_to_another_object)
{
    NEEDS_MOVING();
    coex_handle *slot = begin_with_pairs();
    const pair *kept = coex_gc_handle_deref(slot[0]);
    expect_eq(kept->value, OBJECTS - 1);
    collect_and_move();
    expect(kept->value != OBJECTS - 1);
    expect_eq(((const pair *)coex_gc_handle_deref(slot[0]))->value, OBJECTS - 1);
    end_moving(slot);
}

TEST(a_pinned_object_stays_where_it_is)
{
    NEEDS_MOVING();
    coex_handle *slot = begin_with_pairs();
    pair *kept = coex_gc_pin(slot[0]);
    collect_and_move();
    expect((void *)kept == coex_gc_handle_deref(slot[0]));
    expect_eq(kept->value, OBJECTS - 1);
    coex_gc_unpin(slot[0]);
    collect_and_move();
    expect((void *)kept != coex_gc_handle_deref(slot[0]));
    expect_pairs(slot[0]);
    end_moving(slot);
}

/* Values of all kinds, made while everything moves at every allocation. */
TEST(values_keep_no_address_over_a_safepoint)
{
    NEEDS_MOVING();
    static const char text[] =
        "{\"name\":\"a name that is long enough to be an object\",\"list\":[1,2.5,\"three\",[4,{\"five\":6}]]}";
    coex_gc_config config = default_config();
    config.initial_heap = MIB;
    config.stress = 1;
    config.stress_wait = config.verify = config.poison = true;
    config.max_handles = 1 << 20;
    start_with(&config);
    moving_begin();
    coex_handle *slot = coex_gc_enter_frame(5);
    slot[0] = coex_list_empty(true);
    slot[1] = coex_map_empty(COEX_MAP_STRING | COEX_MAP_REFERENCES);
    for (uint64_t i = 0; i < OBJECTS; i++) {
        char name[64];
        int bytes = snprintf(name, sizeof name, "the name of number %" PRIu64, i);
        slot[2] = coex_string_from(name, (uint64_t)bytes);
        slot[3] = coex_string_concat(slot[2], slot[2]);
        slot[0] = coex_list_append(slot[0], slot[3]);
        slot[1] = coex_map_set(slot[1], slot[2], slot[3]);
        expect(slot[0] != 0 && slot[1] != 0);
    }
    for (uint64_t i = 0; i < OBJECTS; i++) {
        char name[64];
        int bytes = snprintf(name, sizeof name, "the name of number %" PRIu64, i);
        slot[2] = coex_string_from(name, (uint64_t)bytes);
        slot[3] = coex_string_concat(slot[2], slot[2]);
        uint64_t element = 0;
        expect(coex_string_equal(coex_list_get(slot[0], i), slot[3]));
        expect(coex_map_get(slot[1], slot[2], &element));
        expect(coex_string_equal(element, slot[3]));
    }
    slot[2] = coex_json_parse(text, sizeof text - 1, NULL);
    slot[3] = coex_json_stringify(slot[2], 0);
    slot[4] = coex_string_from(text, sizeof text - 1);
    expect(coex_string_equal(slot[3], slot[4]));
    expect(moving_count() > OBJECTS);
    end_moving(slot);
}
