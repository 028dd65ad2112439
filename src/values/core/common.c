/* See common.h. */
#include "values/core/common.h"

#include "base/os.h"
#include "values/string/string.h"
#include "values/map/trie.h"

#include <stdio.h>
#include <string.h>

struct cx_values cx_values;

static __thread coex_status value_status;

coex_status coex_last_status(void) { return value_status; }
void coex_clear_status(void) { value_status = COEX_STATUS_OK; }

coex_handle cx_fail(coex_status status)
{
    value_status = status;
    return 0;
}

coex_handle cx_fail_memory(void) { return cx_fail(COEX_STATUS_MEMORY); }

const char *coex_status_string(coex_status status)
{
    static const char *const text[] = {
        [COEX_STATUS_OK] = "no error",
        [COEX_STATUS_MEMORY] = "out of memory",
        [COEX_STATUS_KIND] = "a value of another kind than this takes",
        [COEX_STATUS_RANGE] = "an index or a range outside of the value",
        [COEX_STATUS_TEXT] = "not valid text",
        [COEX_STATUS_SIZE] = "larger than such a value can be",
        [COEX_STATUS_STALE] = "a builder or an iterator that can't be used any more",
        [COEX_STATUS_MISSING] = "no such key",
        [COEX_STATUS_CLOSED] = "the channel is closed",
        [COEX_STATUS_TIMEOUT] = "time ran out",
        [COEX_STATUS_SYSTEM] = "the operating system refused",
    };
    return (size_t)status < sizeof text / sizeof text[0] ? text[status] : "unknown status";
}

/* ------------------------------------------------------------------ types */

static const struct value_row {
    const coex_gc_type *type;
    coex_kind kind;
} value_rows[] = {
#define VALUE_ROW(name, kind) {&cx_type_##name, COEX_KIND_##kind},
    CX_VALUE_TYPES(VALUE_ROW)
#undef VALUE_ROW
        {NULL, COEX_KIND_NULL}};

/* Draws the seeds, once per process. Without random numbers there is no protection against keys that are chosen to collide: so init
 * fails rather than take seeds that can be guessed. */
static bool value_draw_seeds(void)
{
    uint64_t drawn[5];
    if (cx_values.spread != 0) return true;
    if (!cx_os_random(drawn, 5)) {
        char detail[160];
        snprintf(detail, sizeof detail, "the operating system gives no random numbers for the seeds of hashes: getrandom: %s",
                 cx_os_reason());
        return coex_gc_set_error(COEX_GC_ESYSTEM, detail) == COEX_GC_OK;
    }
    memcpy(cx_values.seed, drawn, sizeof cx_values.seed);
    cx_values.spread = drawn[4] | 1;
    return true;
}

static bool value_register(void)
{
    if (!value_draw_seeds()) return false;
    for (int i = 0; i < CX_VALUE_TYPE_COUNT; i++) {
        cx_values.id[i] = coex_gc_register_type(value_rows[i].type);
        if (cx_values.id[i] == 0) return false;
    }
    return cx_string_register() && cx_trie_register();
}

__attribute__((constructor)) static void value_load(void) { coex_gc_at_init(value_register); }

coex_kind coex_kind_of(coex_handle word)
{
    if (word == 0) return COEX_KIND_NULL;
    if (coex_is_immediate(word)) return COEX_KIND_IMMEDIATE;
    uint32_t id = coex_gc_type_of(word);
    uint32_t near = id - cx_values.id[0]; /* registered one after the other, unless another thread did so meanwhile */
    if (near < CX_VALUE_TYPE_COUNT && cx_values.id[near] == id) return value_rows[near].kind;
    for (int i = 0; i < CX_VALUE_TYPE_COUNT; i++) {
        if (cx_values.id[i] == id) return value_rows[i].kind;
    }
    return COEX_KIND_OTHER;
}

const char *coex_kind_string(coex_kind kind)
{
    static const char *const text[] = {"null", "immediate", "object", "string",        "array",   "list",    "map",
                                       "set",  "json",      "cell",   "mutable array", "channel", "builder", "iterator"};
    return (size_t)kind < sizeof text / sizeof text[0] ? text[kind] : "unknown kind";
}

/* ---------------------------------------------------------------- hashing */

static uint64_t hash_rotate(uint64_t x, unsigned by) { return x << by | x >> (64 - by); }

static void hash_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = hash_rotate(v[1], 13) ^ v[0];
    v[3] = hash_rotate(v[3], 16) ^ v[2];
    v[0] = hash_rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = hash_rotate(v[1], 17) ^ v[2];
    v[3] = hash_rotate(v[3], 21) ^ v[0];
    v[2] = hash_rotate(v[2], 32);
}

static inline void hash_absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    hash_round(v);
    v[0] ^= word;
}

/* SipHash (Aumasson, Bernstein 2012) with one round per word and three at the end. */
struct cx_hash cx_hash_begin(void)
{
    return (struct cx_hash){{cx_values.seed[0] ^ 0x736f6d6570736575u, cx_values.seed[1] ^ 0x646f72616e646f6du,
                             cx_values.seed[0] ^ 0x6c7967656e657261u, cx_values.seed[1] ^ 0x7465646279746573u}};
}

/* Absorbs the whole words of `bytes`; those of a last piece that are fewer than 8 are left. */
void cx_hash_add(struct cx_hash *hash, const void *bytes, uint64_t count)
{
    uint64_t word, v[4] = {hash->v[0], hash->v[1], hash->v[2], hash->v[3]};
    for (const unsigned char *at = bytes; count >= 8; count -= 8, at += 8) {
        memcpy(&word, at, 8);
        hash_absorb(v, word);
    }
    memcpy(hash->v, v, sizeof v);
}

uint64_t cx_hash_end(struct cx_hash *hash, const void *bytes, uint64_t count, uint64_t total)
{
    cx_hash_add(hash, bytes, count);
    const unsigned char *rest = (const unsigned char *)bytes + count / 8 * 8;
    uint64_t word = total << 56, *v = hash->v;
    for (unsigned i = 0; i < count % 8; i++) word |= (uint64_t)rest[i] << (8 * i);
    hash_absorb(v, word);
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++) hash_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t cx_hash_bytes(const void *bytes, uint64_t count)
{
    struct cx_hash hash = cx_hash_begin();
    return cx_hash_end(&hash, bytes, count, count);
}
