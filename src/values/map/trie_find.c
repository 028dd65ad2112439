/* Finding in a tree (trie.h): the text that all lookups share, compiled for any processor and for those of today.
 *
 * A lookup in a large map waits for memory, and the processor looks ahead over as many lookups as its window holds instructions of. So
 *  - what is checked, hashed and found is one function with few instructions and branches that are foreseen;
 *  - a branch whose groups are all of one place, as nearly all branches of a large map are that have branches below, is not asked
 *    for its bitmap to find a child;
 *  - head and marks of a leaf are one line (its types ask for that), which is all that a key takes that is not there. */
#include "values/string/string.h"
#include "values/map/trie.h"

#define TRIE_TEMPLATE static inline __attribute__((always_inline))

/* A bit for each mark of a leaf that is this one. What is past its count has bits, too. */
typedef uint64_t (*trie_matcher)(const struct cx_trie_node *leaf, uint8_t mark);

/* ------------------------------------------------------------- the template */

/* One of more entries than CX_TRIE_LEAF: where hashes are used up. */
static const uint64_t *trie_find_many(uint32_t flavor, const struct cx_trie_node *leaf, uint64_t key)
{
    const uint64_t *entry = cx_leaf_entries(leaf);
    for (uint64_t i = leaf->head; i != 0; i--, entry += cx_trie_stride(flavor)) {
        if (cx_trie_same_key(flavor, *entry, key)) return entry;
    }
    return NULL;
}

TRIE_TEMPLATE const uint64_t *trie_find_in(uint32_t flavor, const struct cx_trie_node *leaf, uint8_t mark, uint64_t key,
                                           const bool strings, const trie_matcher match)
{
    uint64_t count = leaf->head;
    if (COEX_UNLIKELY(count > CX_TRIE_LEAF)) return trie_find_many(flavor, leaf, key);
    const uint64_t *entries = leaf->word + (count > CX_TRIE_FEW ? CX_TRIE_LEAF / 8 : 1);
    unsigned shift = (flavor & CX_TRIE_SET) != 0 ? 0 : 1;
    for (uint64_t found = match(leaf, mark) & (((uint64_t)1 << count) - 1); found != 0; found &= found - 1) {
        const uint64_t *entry = &entries[(uint64_t)__builtin_ctzll(found) << shift];
        if (COEX_LIKELY(*entry == key)) return entry;
        if (strings && cx_string_equal_quiet(*entry, key)) return entry;
    }
    return NULL;
}

/* Asks for the four lines around the place where an entry probably is, before the line with the marks has come and says where:
 * entries are sorted by marks, which are spread evenly. */
TRIE_TEMPLATE void trie_prefetch(uint32_t flavor, const struct cx_trie_node *leaf, uint64_t count, uint8_t mark)
{
    const char *near = (const char *)leaf + CX_TRIE_LINE + (count * mark >> 8) * 8 * cx_trie_stride(flavor);
    __builtin_prefetch(near - 96);
    __builtin_prefetch(near - 32);
    __builtin_prefetch(near + 32);
    __builtin_prefetch(near + 96);
}

/* The count of a leaf is guessed from the size of the tree: as many entries as a place has on average, or, if that is so few that
 * most groups have several places, the average of a leaf that is half of one that was full. */
enum { TRIE_SPARSE = 24, TRIE_USUAL = 40 };

/* `size` is how many entries the tree has, if it is so many that looking ahead is worth it. */
TRIE_TEMPLATE const uint64_t *trie_find(uint32_t flavor, coex_handle root, uint64_t left, uint8_t mark, uint64_t key, uint64_t size,
                                        const bool strings, const trie_matcher match)
{
    if (root == 0) return NULL;
    const struct cx_trie_node *node = cx_trie_at(root);
    while (cx_trie_is_branch(node)) {
        uint32_t map = cx_branch_map(node);
        unsigned place = (unsigned)(left >> CX_TRIE_TOP), index = place;
        if (map != UINT32_MAX) index = cx_branch_index(map, place);
        coex_handle child = node->word[index];
        if (COEX_UNLIKELY(child == 0)) return NULL;
        node = cx_trie_at(child);
        left <<= CX_TRIE_BITS;
        size >>= CX_TRIE_BITS;
        if (size <= CX_TRIE_LEAF) trie_prefetch(flavor, node, size < TRIE_SPARSE ? TRIE_USUAL : size, mark);
    }
    return trie_find_in(flavor, node, mark, key, strings, match);
}

/* The hash that a string has already, or what computes it. */
TRIE_TEMPLATE uint64_t trie_string_hash(coex_handle string)
{
    const struct cx_string *it = cx_value_as(string, CX_TYPE_string);
    uint64_t cache = it != NULL ? cx_a64_load_relaxed(&it->cache) & CX_STRING_HASH : 0;
    return COEX_LIKELY(cache != 0) ? cache : cx_string_hash_quiet(string);
}

TRIE_TEMPLATE bool trie_get(coex_handle map, uint64_t key, uint64_t *value, enum cx_value_type type, coex_status missing,
                            const trie_matcher match)
{
    const struct cx_map *it = cx_value_as(map, type);
    if (COEX_UNLIKELY(it == NULL)) return cx_fail_false(COEX_STATUS_KIND);
    uint32_t flavor = (uint32_t)it->flavor;
    const uint64_t *entry;
    if (cx_trie_has_strings(flavor)) {
        uint64_t hash = trie_string_hash(key) << 2 | 1;
        if (hash == 1) return false; /* no string: it is recorded */
        entry = trie_find(flavor, it->root, hash, cx_trie_mark(hash), key, it->count, true, match);
    } else {
        if ((flavor & CX_TRIE_KEYS) == COEX_MAP_FLOAT) key = cx_trie_number(key);
        uint64_t hash = cx_trie_hash(flavor & ~(uint32_t)CX_TRIE_KEYS, key);
        entry = trie_find(flavor, it->root, hash, cx_trie_mark(hash), key, it->count, false, match);
    }
    if (entry == NULL) {
        if (missing != COEX_STATUS_OK) cx_fail(missing);
        return false;
    }
    if (value != NULL) *value = entry[1];
    return true;
}

#define TRIE_TEXTS(name, attribute, match)                                                                                         \
    attribute static const uint64_t *trie_find_##name(uint32_t flavor, coex_handle root, uint64_t hash, uint8_t mark,              \
                                                      uint64_t key)                                                                \
    {                                                                                                                              \
        return cx_trie_has_strings(flavor) ? trie_find(flavor, root, hash, mark, key, cx_trie_size(root), true, match)             \
                                           : trie_find(flavor, root, hash, mark, key, cx_trie_size(root), false, match);           \
    }                                                                                                                              \
    attribute static bool trie_get_##name(coex_handle map, uint64_t key, uint64_t *value, enum cx_value_type type,                 \
                                          coex_status missing)                                                                     \
    {                                                                                                                              \
        return trie_get(map, key, value, type, missing, match);                                                                    \
    }

/* ------------------------------------------------------------ any processor */

/* One bit for each byte of a word that is 0. */
static inline uint64_t trie_zero_bytes(uint64_t word)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t zero = ~(((word & low) + low) | word | low);    /* bit 7 of each; no carry goes from one to the next */
    return (zero >> 7) * UINT64_C(0x0102040810204080) >> 56; /* bit 8 * i to bit 56 + i */
}

/* Eight marks at a time; the first is the lowest byte, as on all processors that the library knows. */
static inline uint64_t trie_match_anywhere(const struct cx_trie_node *leaf, uint8_t mark)
{
    uint64_t wanted = mark * UINT64_C(0x0101010101010101), found = trie_zero_bytes(leaf->word[0] ^ wanted);
    if (leaf->head <= CX_TRIE_FEW) return found;
    for (unsigned i = 1; i < CX_TRIE_LEAF / 8; i++) found |= trie_zero_bytes(leaf->word[i] ^ wanted) << 8 * i;
    return found;
}

TRIE_TEXTS(anywhere, , trie_match_anywhere)

/* W: when the library is loaded, and tests. */
const uint64_t *(*cx_trie_find)(uint32_t, coex_handle, uint64_t, uint8_t, uint64_t) = trie_find_anywhere;
bool (*cx_trie_get)(coex_handle, uint64_t, uint64_t *, enum cx_value_type, coex_status) = trie_get_anywhere;

/* ------------------------------------------------------ processors of today */

#if defined(__x86_64__)
#include <immintrin.h>

#define TRIE_TODAY __attribute__((target("avx2,bmi,bmi2,popcnt")))

/* The line as a whole: the head is the first eight bytes. */
TRIE_TODAY static inline uint64_t trie_match_today(const struct cx_trie_node *leaf, uint8_t mark)
{
    const __m256i *line = (const __m256i *)(const void *)leaf;
    __m256i wanted = _mm256_set1_epi8((char)mark);
    uint64_t front = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(line), wanted));
    uint64_t back = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(line + 1), wanted));
    return (back << 32 | front) >> 8;
}

static bool trie_is_of_today(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("popcnt");
}
#else
#define TRIE_TODAY
#define trie_match_today trie_match_anywhere
static bool trie_is_of_today(void) { return false; }
#endif

TRIE_TEXTS(today, TRIE_TODAY, trie_match_today)

bool cx_trie_choose(bool today)
{
    if (today && !trie_is_of_today()) return false;
    cx_trie_find = today ? trie_find_today : trie_find_anywhere;
    cx_trie_get = today ? trie_get_today : trie_get_anywhere;
    return true;
}

__attribute__((constructor)) static void trie_load(void) { cx_trie_choose(true); }
