/*
 * Memory beyond the payload: header, table, bitmaps and side tables together at most 26 bytes an object; the payload is padded to words.
 *
 * Tables are committed in doubling steps, so what is committed and not used yet would say more about the number of objects
 * than about the layout. Counted is the part in use: the heap's blocks and their side table, and of the handle tables as
 * many bytes as a handle has there, for each handle in use.
 */
#include "support/objects.h"

enum { OBJECTS = 300000 };

/* Sanitizers are slow, and the layout is the same there. */
static size_t rows(size_t count) { return test_is_sanitized() ? 1 : count; }

/* Bytes beyond the payload per object, in hundredths. */
static uint64_t measure(uint64_t size, bool fixed)
{
    start_quiet();
    uint32_t type = fixed ? type_plain(size, 0) : type_bytes();
    coex_gc_stats before = stats_now();
    ck_assert_uint_eq(before.current_heap_used, 0);
    for (int i = 0; i < OBJECTS; i++) expect(coex_gc_alloc(size, type) != 0);
    coex_gc_stats after = stats_now();
    coex_gc_shutdown();
    ck_assert_uint_eq(after.collections_completed, 0);
    ck_assert_uint_eq(after.handle_table_growths, 0);
    ck_assert_uint_eq(after.current_handles_in_use, OBJECTS);
    uint64_t handles = OBJECTS * before.overhead_bytes / before.current_handle_table_size; /* no block was there to be counted */
    uint64_t others = after.overhead_bytes - before.overhead_bytes;
    uint64_t all = after.current_heap_used + handles + others;
    printf("payload of %" PRIu64 ": %.2f bytes beyond it\n", size, (double)all / OBJECTS - (double)size);
    return all * 100 / OBJECTS - size * 100;
}

TEST(objects_of_fixed_size_cost_at_most_18_bytes_beyond_their_payload)
{
    static const uint64_t sizes[] = {8, 16, 24, 32, 48, 64, 120, 128};
    for (size_t i = 0; i < rows(sizeof sizes / sizeof sizes[0]); i++) ck_assert_uint_le(measure(sizes[i], true), 1800);
}

TEST(objects_of_variable_size_cost_at_most_26_bytes_beyond_their_payload)
{
    static const uint64_t sizes[] = {0, 8, 16, 24, 32, 48, 64, 120};
    for (size_t i = 0; i < rows(sizeof sizes / sizeof sizes[0]); i++) ck_assert_uint_le(measure(sizes[i], false), 2600);
}

/* To the next word, and that is all. */
TEST(objects_of_odd_sizes_cost_their_padding_more)
{
    static const uint64_t sizes[] = {1, 9, 20, 33, 61, 100};
    for (size_t i = 0; i < rows(sizeof sizes / sizeof sizes[0]); i++)
        ck_assert_uint_le(measure(sizes[i], false), 2600 + 100 * (8 - sizes[i] % 8));
}

TEST(objects_larger_than_a_line_cost_at_most_26_bytes_too)
{
    static const uint64_t sizes[] = {136, 200, 256, 400, 512};
    for (size_t i = 0; i < rows(sizeof sizes / sizeof sizes[0]); i++) ck_assert_uint_le(measure(sizes[i], true), 2600);
}

/* All that is committed, in use or not, for as many objects as fill the table: nothing is left out of the account above. */
TEST(full_table_has_all_its_memory_accounted_for)
{
    start_quiet();
    uint32_t type = type_plain(16, 0);
    coex_gc_stats stats = stats_now();
    uint64_t count = stats.current_handle_table_size - 1;
    for (uint64_t i = 0; i < count; i++) expect(coex_gc_alloc(16, type) != 0);
    stats = stats_now();
    ck_assert_uint_eq(stats.handle_table_growths, 0);
    ck_assert_uint_eq(stats.current_handles_free, 0);
    uint64_t beyond = (stats.current_heap_used + stats.overhead_bytes) * 100 / count - 1600;
    ck_assert_uint_le(beyond, 2600);
    ck_assert_uint_ge(beyond, 1600); /* a header and a slot at least: it is counted */
    coex_gc_shutdown();
}

TEST(side_tables_of_large_objects_are_counted)
{
    start_quiet();
    uint32_t bytes = type_bytes();
    uint64_t before = stats_now().overhead_bytes;
    for (int i = 0; i < 1000; i++) ck_assert_uint_ne(coex_gc_alloc(100000, bytes), 0);
    ck_assert_uint_gt(stats_now().overhead_bytes, before);
    coex_gc_shutdown();
}
