/* See common.h. */
#include "values/core/common.h"

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
        [COEX_STATUS_KIND] = "an argument has the wrong kind",
        [COEX_STATUS_RANGE] = "an index, a range or a number is out of range",
        [COEX_STATUS_TEXT] = "the text is not valid",
        [COEX_STATUS_SIZE] = "the value would be too large",
        [COEX_STATUS_STALE] = "the builder, reader or writer does not accept this call any more",
        [COEX_STATUS_MISSING] = "the key does not exist",
        [COEX_STATUS_CLOSED] = "the channel is closed",
        [COEX_STATUS_TIMEOUT] = "the time limit has passed",
        [COEX_STATUS_SYSTEM] = "a file, a source or a sink failed",
    };
    return (size_t)status < sizeof text / sizeof text[0] ? text[status] : "unknown status";
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
