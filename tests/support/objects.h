/* The start of most tests of the runtime: a runtime of a known size, and a few types of objects.
 *
 *     start_quiet();                                    runs no cycle unless the test requests one
 *     uint32_t type = type_pair();
 *     coex_handle *slots = coex_gc_enter_frame(1);
 *     slots[0] = new_pair(type, slots[0], 42); */
#ifndef COEX_TESTS_SUPPORT_OBJECTS_H
#define COEX_TESTS_SUPPORT_OBJECTS_H

#include "support/hostile.h"
#include "support/test.h"

#include <coex/gc.h>
#include <coex/gc_diag.h>

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

/* Removes the settings of the environment, so that only the configuration of the test counts. */
static inline void forget_environment(void)
{
    unsetenv("COEX_GC");
    unsetenv("COEX_GC_DEBUG");
}

static inline coex_gc_config default_config(void)
{
    coex_gc_config config;
    forget_environment();
    coex_gc_config_default(&config);
    return config;
}

/* The first cycle starts after a quarter of the initial heap, here after 256 MiB. */
static inline coex_gc_config quiet_config(void)
{
    coex_gc_config config = default_config();
    config.initial_heap = GIB;
    return config;
}

static inline void start_with(const coex_gc_config *config)
{
    int code = hostile_init(config);
    if (code != COEX_GC_OK) test_fail(__FILE__, __LINE__, "init: %s: %s", coex_gc_error_string(code), coex_gc_error_detail());
}

/* Returns the index of a handle, without the generation that checked builds add. */
static inline uint64_t index_of(coex_handle handle) { return handle & (((uint64_t)1 << COEX_GC_HANDLE_BITS) - 1); }

static inline void start_quiet(void)
{
    coex_gc_config config = quiet_config();
    start_with(&config);
}

static inline void start_default(void)
{
    coex_gc_config config = default_config();
    start_with(&config);
}

/* Starts a runtime for a large test. */
static inline void start_large(void)
{
    coex_gc_config config = default_config();
    config.stress_to = HOSTILE_FIRST;
    start_with(&config);
}

static inline coex_gc_stats stats_now(void)
{
    coex_gc_stats stats;
    coex_gc_get_stats(&stats);
    return stats;
}

/* ---- types ----------------------------------------------------------------------------------- */

typedef struct pair {
    coex_handle next;
    uint64_t value;
} pair;

static inline uint32_t type_from(const coex_gc_type *descriptor)
{
    uint32_t type = coex_gc_register_type(descriptor);
    if (type == 0) test_fail(__FILE__, __LINE__, "type '%s': %s", descriptor->name, coex_gc_error_detail());
    return type;
}

/* Registers a type with a reference and a number, 16 bytes. */
static inline uint32_t type_pair(void)
{
    static const uint32_t refs[] = {offsetof(pair, next)};
    return type_from(&(coex_gc_type){.name = "pair", .size = sizeof(pair), .ref_offsets = refs, .ref_count = 1});
}

/* Registers a type of plain bytes and variable size. */
static inline uint32_t type_bytes(void) { return type_from(&(coex_gc_type){.name = "bytes"}); }

/* Registers a type of mutable arrays of references. */
static inline uint32_t type_refs(void)
{
    return type_from(&(coex_gc_type){.name = "refs", .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY});
}

/* Registers a type of plain bytes. `size` 0 means variable size. */
static inline uint32_t type_plain(uint64_t size, uint32_t align)
{
    return type_from(&(coex_gc_type){.name = "plain", .size = size, .align = align});
}

/* ---- objects --------------------------------------------------------------------------------- */

/* Returns a new pair. The caller roots `next`. */
static inline coex_handle new_pair(uint32_t type, coex_handle next, uint64_t value)
{
    void *payload;
    coex_handle h = coex_gc_alloc_at(sizeof(pair), type, &payload);
    if (h != 0) *(pair *)payload = (pair){next, value};
    return h;
}

static inline bool is_all(const void *bytes, uint64_t size, unsigned char what)
{
    const unsigned char *at = bytes;
    return size == 0 || (at[0] == what && memcmp(at, at + 1, size - 1) == 0);
}

#endif
