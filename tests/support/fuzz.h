/* Helpers of fuzz targets. A target is a file tests/fuzz/<name>.c with one function:
 *
 *     int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
 *
 * The function reads its input as a program of operations, and performs each operation on the
 * values and on a simple model. It ends the process (fuzz_expect) where the two differ. CMake
 * builds two programs from a target. fuzz_<name> uses libFuzzer (clang; scripts/fuzz).
 * replay_<name> is a test in every build that runs the inputs of tests/fuzz/corpus/<name> and
 * some random mutations of them.
 *
 * Inputs that once failed are added to the corpus. */
#ifndef COEX_TESTS_SUPPORT_FUZZ_H
#define COEX_TESTS_SUPPORT_FUZZ_H

#include <coex/values/value.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_expect(condition)                                                                                                     \
    do {                                                                                                                           \
        if (!(condition)) {                                                                                                        \
            fprintf(stderr, "%s:%d: '%s' does not hold\n", __FILE__, __LINE__, #condition);                                        \
            abort();                                                                                                               \
        }                                                                                                                          \
    } while (0)

/* ---- the input ------------------------------------------------------------------------------- */

struct fuzz_input {
    const uint8_t *at, *end;
};

static inline bool fuzz_is_over(const struct fuzz_input *input) { return input->at == input->end; }

/* Returns the next byte, or 0 at the end. */
static inline uint8_t fuzz_byte(struct fuzz_input *input) { return fuzz_is_over(input) ? 0 : *input->at++; }

/* Returns a number below `bound` from two bytes. `bound` must not be 0. */
static inline uint64_t fuzz_below(struct fuzz_input *input, uint64_t bound)
{
    uint64_t number = fuzz_byte(input);
    return (number << 8 | fuzz_byte(input)) % bound;
}

static inline uint64_t fuzz_word(struct fuzz_input *input)
{
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) word = word << 8 | fuzz_byte(input);
    return word;
}

/* Returns up to `count` bytes of the input, and stores their number in *got. */
static inline const uint8_t *fuzz_bytes(struct fuzz_input *input, uint64_t count, uint64_t *got)
{
    const uint8_t *bytes = input->at;
    uint64_t left = (uint64_t)(input->end - input->at);
    *got = count < left ? count : left;
    input->at += *got;
    return bytes;
}

/* ---- the runtime ----------------------------------------------------------------------------- */

/* Starts a deterministic runtime, once per process. It has no GC thread, and runs a cycle every 200
 * allocations. Marks are verified, and freed memory is poisoned. */
static inline void fuzz_runtime(void)
{
    static bool started;
    coex_gc_config config;
    if (started) return;
    started = true;
    unsetenv("COEX_GC");
    unsetenv("COEX_GC_DEBUG");
    coex_gc_config_default(&config);
    config.gc_threads = 0;
    config.initial_heap = (uint64_t)1 << 20;
    config.initial_handles = config.max_handles = (uint64_t)1 << 16; /* the verifier visits each */
    config.heap_limit = (uint64_t)256 << 20;
    config.stress = 200;
    config.verify = config.poison = true;
    if (coex_values_init() != COEX_GC_OK) abort();
    int code = coex_gc_init_with(&config);
    if (code != COEX_GC_OK) {
        fprintf(stderr, "init: %s: %s\n", coex_gc_error_string(code), coex_gc_error_detail());
        abort();
    }
    atexit(coex_gc_shutdown); /* so that memory of the runtime is not reported as a leak */
}

#endif
