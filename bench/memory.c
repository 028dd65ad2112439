/* Measures the memory that an object needs beyond its payload: the header, padding, the slot in
 * the handle table, the bits in the bitmaps, the share of the heap's side table, and memory that
 * is committed in advance.
 *
 * The program allocates ten million live objects of each size, or a hundred thousand of the
 * larger sizes. It prints two figures: the memory that the runtime reports (heap in use and all
 * tables, for the handles in use), and the growth of the process that the operating system
 * reports.
 *
 * The target is for payloads of whole words. Other payloads are padded, and the end of a block
 * stays empty if no object fits. Rows with other payloads have no target. */
#include "support/bench.h"

#include <coex/gc.h>
#include <coex/gc_diag.h>
#include <stdio.h>
#include <stdlib.h>

enum { MANY = 10000000, FEW = 100000, TARGET = 26 };

static uint32_t register_chain(const char *name, uint64_t size)
{
    static const uint32_t refs[] = {0};
    coex_gc_type type = {.name = name, .size = size, .ref_offsets = refs, .ref_count = 1};
    return coex_gc_register_type(&type);
}

static void measure(const char *what, uint64_t objects, uint64_t payload, bool variable, bool judged)
{
    coex_gc_config config;
    coex_gc_config_default(&config);
    config.initial_heap = objects * (payload + 32) * 4; /* no cycle in between: nothing is committed twice */
    config.initial_handles = objects;
    if (coex_gc_init_with(&config) != COEX_GC_OK) bench_fail("%s", coex_gc_error_detail());
    uint32_t type = register_chain("link", variable ? 0 : payload);
    coex_handle *slots = coex_gc_enter_frame(1);
    coex_gc_stats before, after;
    coex_gc_get_stats(&before);
    uint64_t resident = bench_memory_resident();
    for (uint64_t i = 0; i < objects; i++) {
        coex_handle fresh = coex_gc_alloc(payload, type);
        if (fresh == 0) bench_fail("out of memory: %s", coex_gc_error_detail());
        coex_gc_init_ref(fresh, 0, slots[0]);
        slots[0] = fresh;
    }
    coex_gc_collect(); /* from now on every bitmap is in use */
    resident = bench_memory_resident() - resident;
    coex_gc_get_stats(&after);
    /* The table is committed for handles that nobody has yet; an object's share is what one handle takes of it. */
    double per_handle = (double)after.overhead_bytes / (double)after.current_handle_table_size;
    double heap = (double)(after.current_heap_used - before.current_heap_used) / (double)objects;
    char row[80];
    snprintf(row, sizeof row, "%s: heap and tables", what);
    bench_result(row, heap + per_handle - (double)payload, "bytes", judged ? BENCH_AT_MOST : BENCH_NO_GOAL, TARGET);
    snprintf(row, sizeof row, "%s: growth of the process", what);
    bench_result(row, (double)resident / (double)objects - (double)payload, "bytes", judged ? BENCH_AT_MOST : BENCH_NO_GOAL,
                 TARGET);
    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
}

int main(void)
{
    bench_heading("Memory beyond the payload, per object (%.0f million live)", MANY / 1e6);
    measure("16 bytes, fixed size", MANY, 16, false, true);
    measure("32 bytes, fixed size", MANY, 32, false, true);
    measure("100 bytes, fixed size", MANY, 100, false, true);
    measure("32 bytes, variable size", MANY, 32, true, true);
    measure("33 bytes, variable size", MANY, 33, true, false);
    measure("1,000 bytes, fixed size", FEW, 1000, false, false);
    measure("3,000 bytes, fixed size", FEW, 3000, false, false);
    return 0;
}
