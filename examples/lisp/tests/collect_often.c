/* Runs full collections at safepoints. examples/CMakeLists.txt links this file between the
 * interpreter and the collector. An object that is not in a slot at a safepoint is freed there,
 * so a rooting mistake of the interpreter shows at once.
 *
 * At first every safepoint runs a collection. Collections become rarer, so that the program ends
 * in reasonable time: at the millionth safepoint, about two thousand safepoints lie between two
 * collections. If COLLECT_ALWAYS is in the environment, every safepoint runs a collection. */
#include <coex/gc.h>
#include <stdlib.h>

coex_handle *__real_coex_gc_enter_frame(uint64_t slots);
coex_handle *__wrap_coex_gc_enter_frame(uint64_t slots);
coex_handle *__real_coex_gc_enter_frame_with(uint64_t slots, uint64_t count, const coex_handle *handles);
coex_handle *__wrap_coex_gc_enter_frame_with(uint64_t slots, uint64_t count, const coex_handle *handles);
coex_handle __real_coex_gc_alloc_at(uint64_t size, uint32_t type, void **payload);
coex_handle __wrap_coex_gc_alloc_at(uint64_t size, uint32_t type, void **payload);
void __wrap_coex_gc_safepoint(void);

static void collect(void)
{
    static uint64_t safepoints, next = 1;
    uint64_t now = __atomic_add_fetch(&safepoints, 1, __ATOMIC_RELAXED);
    uint64_t due = __atomic_load_n(&next, __ATOMIC_RELAXED);
    uint64_t then = now + 1 + now / 512 * (now * 11400714819323198485u >> 62); /* 0 to 3 times: not always the same places */
    if (getenv("COLLECT_ALWAYS") != NULL)
        coex_gc_collect();
    else if (now >= due && __atomic_compare_exchange_n(&next, &due, then, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        coex_gc_collect();
}

coex_handle *__wrap_coex_gc_enter_frame(uint64_t slots)
{
    collect();
    return __real_coex_gc_enter_frame(slots);
}

coex_handle *__wrap_coex_gc_enter_frame_with(uint64_t slots, uint64_t count, const coex_handle *handles)
{
    coex_handle *frame = __real_coex_gc_enter_frame_with(slots, count, handles);
    collect(); /* as it polls after it has stored them */
    return frame;
}

coex_handle __wrap_coex_gc_alloc_at(uint64_t size, uint32_t type, void **payload)
{
    collect();
    return __real_coex_gc_alloc_at(size, type, payload);
}

void __wrap_coex_gc_safepoint(void) { collect(); }
