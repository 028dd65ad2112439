/* Measures the time of the small operations on an idle runtime: dereferencing, loads, stores,
 * frames, polls, native transitions. bench/instructions.c counts their instructions. Here all
 * data is in the cache. */
#include "support/bench.h"

#include <coex/gc.h>
#include <stdio.h>

enum { PAYLOAD = 32, TIMES = 20000000, NATIVE_TIMES = 5000000, ROUNDS = 7 };

static coex_handle object, value;

static double empty(void *argument)
{
    (void)argument;
    double begin = bench_now();
    for (uint64_t i = TIMES; i != 0; i--) bench_keep(i);
    return (bench_now() - begin) / TIMES * 1e9;
}

/* Nanoseconds for each of so many times, with the loop around it. */
#define OPERATION(name, times, body)                                                                                               \
    static double name(void *argument)                                                                                             \
    {                                                                                                                              \
        (void)argument;                                                                                                            \
        coex_handle object_ = object, value_ = value;                                                                              \
        (void)object_, (void)value_;                                                                                               \
        double begin = bench_now();                                                                                                \
        for (uint64_t i = (times); i != 0; i--) {                                                                                  \
            body;                                                                                                                  \
        }                                                                                                                          \
        return (bench_now() - begin) / (times)*1e9;                                                                                \
    }

OPERATION(deref, TIMES, bench_keep((uint64_t)coex_gc_handle_deref(object_)))
OPERATION(load, TIMES, bench_keep(coex_gc_load(object_, 8)))
OPERATION(store, TIMES, coex_gc_store(object_, 8, value_); bench_keep(i))
OPERATION(exchange, TIMES, bench_keep(coex_gc_exchange(object_, 8, value_)))
OPERATION(frames, TIMES, coex_handle *slots = coex_gc_enter_frame(2); bench_keep((uint64_t)slots); coex_gc_leave_frame(slots))
OPERATION(safepoint, TIMES, coex_gc_safepoint(); bench_keep(i))
OPERATION(native, NATIVE_TIMES, coex_gc_enter_native(); bench_keep(i); coex_gc_leave_native())

static void report(const char *what, double (*run)(void *))
{
    struct bench_sample sample;
    bench_repeat(&sample, ROUNDS, run, NULL);
    bench_result(what, bench_lowest(&sample), "ns", BENCH_NO_GOAL, 0);
}

int main(void)
{
    coex_gc_init();
    static const uint32_t refs[] = {0, 8};
    static const coex_gc_type type = {
        .name = "pair", .size = PAYLOAD, .ref_offsets = refs, .ref_count = 2, .flags = COEX_GC_MUTABLE};
    uint32_t id = coex_gc_register_type(&type);
    coex_handle *slots = coex_gc_enter_frame(2);
    slots[0] = object = coex_gc_alloc(PAYLOAD, id);
    slots[1] = value = coex_gc_alloc(PAYLOAD, id);
    if (object == 0 || value == 0) bench_fail("out of memory: %s", coex_gc_error_detail());

    bench_heading("Small operations, in cache, no cycle running; best of %d, the loop around them in the time", ROUNDS);
    report("the loop alone", empty);
    report("coex_gc_handle_deref", deref);
    report("coex_gc_load", load);
    report("coex_gc_store", store);
    report("coex_gc_exchange", exchange);
    report("coex_gc_enter_frame(2) + coex_gc_leave_frame", frames);
    report("coex_gc_safepoint", safepoint);
    report("coex_gc_enter_native + coex_gc_leave_native", native);

    coex_gc_leave_frame(slots);
    coex_gc_shutdown();
    return 0;
}
