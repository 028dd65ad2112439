/*
 * coex_gc_validate_heap on heaps that are not as they should be: each damage is planted by hand, found, and described.
 */
#include "support/nodes.h"
#include "support/objects.h"

#include "gc/thread.h"

static coex_handle *slot;
static FILE *output;

/* A link with two leaves, and a cell. */
static void start_sound(void)
{
    start_quiet();
    nodes_init();
    output = tmpfile();
    coex_gc_set_output(output);
    slot = coex_gc_enter_frame(4);
    slot[0] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    slot[1] = node_make(node_fresh_id(NODE_LEAF), NULL, 0, 0);
    slot[2] = node_make(node_fresh_id(NODE_LINK), slot, 2, 0);
    slot[3] = node_make(node_fresh_id(NODE_CELL), (coex_handle[NODE_CELL_FIELDS]){0}, NODE_CELL_FIELDS, 0);
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    rewind(output);
}

static bool was_printed(const char *text)
{
    char line[512];
    rewind(output);
    while (fgets(line, sizeof line, output) != NULL) {
        if (strstr(line, text) != NULL) return true;
    }
    return false;
}

/* The damage is healed by then: the runtime ends as it should. */
static void end(void)
{
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    coex_gc_leave_frame(slot);
    coex_gc_shutdown();
    coex_gc_set_output(NULL);
    fclose(output);
}

TEST(sound_heap_is_valid_and_nothing_is_printed)
{
    start_sound();
    ck_assert_int_eq(coex_gc_validate_heap(), 0);
    ck_assert(!was_printed(""));
    end();
}

/* The marker trusts a header, so the type is made wrong behind it: in a field that only the validation reads. */
TEST(unknown_type_in_a_header_is_found)
{
    start_sound();
    uint64_t *header = (uint64_t *)coex_gc_handle_deref(slot[0]) - 1, was = *header;
    uint32_t beyond = cx_a32_load_relaxed(&cx_world.types.count) + 5;
    *header = cx_header_handle(was) | (uint64_t)beyond << COEX_GC_TYPE_SHIFT;
    ck_assert_int_ge(coex_gc_validate_heap(), 1);
    ck_assert(was_printed("has invalid type_id"));
    ck_assert(was_printed("=== HEAP VALIDATION FAILED ==="));
    *header = was;
    end();
}

TEST(wrong_handle_in_a_header_is_found)
{
    start_sound();
    uint64_t *header = (uint64_t *)coex_gc_handle_deref(slot[0]) - 1, was = *header;
    *header = (was & ~(CX_MAX_HANDLES - 1)) | slot[1];
    ck_assert_int_eq(coex_gc_validate_heap(), 1);
    ck_assert(was_printed("in its header"));
    *header = was;
    end();
}

TEST(slot_that_leads_out_of_the_heap_is_found)
{
    static uint64_t elsewhere[8];
    start_sound();
    void *was = cx_world.handles.table[slot[0]];
    memcpy(elsewhere, (uint64_t *)was - 1, 40);
    cx_world.handles.table[slot[0]] = elsewhere + 1;
    ck_assert_int_ge(coex_gc_validate_heap(), 1);
    ck_assert(was_printed("outside heap bounds"));
    cx_world.handles.table[slot[0]] = was;
    end();
}

TEST(two_objects_in_one_place_are_found)
{
    start_sound();
    void *was = cx_world.handles.table[slot[0]];
    cx_world.handles.table[slot[0]] = cx_world.handles.table[slot[1]];
    ck_assert_int_ge(coex_gc_validate_heap(), 1);
    ck_assert(was_printed("overlaps another"));
    cx_world.handles.table[slot[0]] = was;
    end();
}

TEST(handle_that_names_nothing_in_a_slot_is_found)
{
    start_sound();
    coex_handle was = slot[0];
    slot[0] = 3000;
    ck_assert_int_ge(coex_gc_validate_heap(), 1);
    ck_assert(was_printed("Shadow stack word"));
    slot[0] = was;
    end();
}

TEST(retired_handle_that_is_free_is_found)
{
    start_sound();
    cx_a64_or_relaxed(&cx_world.handles.retired[20], 1); /* a word that nobody has begun */
    ck_assert_int_ge(coex_gc_validate_heap(), 1);
    ck_assert(was_printed("are retired and free"));
    cx_a64_and_relaxed(&cx_world.handles.retired[20], ~(uint64_t)1);
    end();
}
