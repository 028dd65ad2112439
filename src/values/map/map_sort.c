/* The changes of a builder's table in the order of hashes (map_table.h), which the tree takes them
 * in.
 *
 * Changes are dealt to *bins* by the top bits of their hashes, out of the table into a list: as
 * many bins as there are changes for sixteen each. Hashes are spread evenly, as a rule, so a bin is
 * then sorted by insertion. A bin of many changes, because only a part of all hashes is there (the
 * first part of a walk, say), is sorted by one byte of the hash after the other, the highest first
 * (McIlroy, Bostic and McIlroy, "Engineering Radix Sort", 1993). A hash has eight bytes: so the
 * time is linear in the number of changes, whatever their hashes are.
 *
 * The list is an object of a MUTABLE type, which does not move: the changes, then the bins. What
 * the changes refer to is rooted by the table. One thread's. */
#include "values/map/map_table.h"

#include <string.h>

enum {
    SORT_BIN = 16,    /* changes of a bin, on average */
    SORT_FEW = 64,    /* at most so many are sorted by insertion */
    SORT_BYTES = 256, /* values of a byte */
    SORT_POLL = 4096  /* changes, or places, between two safepoints */
};

struct sort {
    struct cx_trie_change *changes;
    uint64_t *bins;  /* index of the first change of each, and of the end */
    unsigned shift;  /* the top 64 - shift bits of a hash are a bin */
    unsigned unseen; /* changes moved since the last safepoint */
};

/* At least two bins: a shift by 64 is none. */
static unsigned sort_bits(uint64_t used)
{
    unsigned bits = 1;
    while (used >> bits > SORT_BIN) bits++;
    return bits;
}

static uint64_t sort_bin_bytes(uint64_t used) { return (((uint64_t)1 << sort_bits(used)) + 2) * sizeof(uint64_t); }

coex_handle cx_map_list_new(uint64_t used)
{
    return coex_gc_alloc(used * sizeof(struct cx_trie_change) + sort_bin_bytes(used), cx_values.id[CX_TYPE_map_table]);
}

static void sort_poll(struct sort *sort, uint64_t moved)
{
    sort->unseen += (unsigned)moved;
    if (sort->unseen < SORT_POLL) return;
    sort->unseen = 0;
    coex_gc_safepoint();
}

/* ----------------------------------------------------------------- a bin */

static void sort_by_insertion(struct cx_trie_change *changes, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        struct cx_trie_change change = changes[i];
        uint64_t at = i;
        for (; at > 0 && changes[at - 1].hash > change.hash; at--) changes[at] = changes[at - 1];
        changes[at] = change;
    }
}

static unsigned sort_byte(const struct cx_trie_change *change, unsigned shift) { return change->hash >> shift & 0xff; }

/* Moves every change to its part: takes one up, puts it where it belongs and takes up the one that
 * is there, until the circle closes. Fills begin[byte] with the index of the first change of each
 * part, and the last with `count`. */
static void sort_by_byte(struct sort *sort, struct cx_trie_change *changes, uint64_t count, unsigned shift, uint64_t *begin)
{
    uint64_t next[SORT_BYTES];
    memset(begin, 0, (SORT_BYTES + 1) * sizeof *begin);
    for (uint64_t i = 0; i < count; i++, sort_poll(sort, 1)) begin[sort_byte(&changes[i], shift) + 1]++;
    for (unsigned byte = 0; byte < SORT_BYTES; byte++) begin[byte + 1] += begin[byte];
    memcpy(next, begin, sizeof next);
    for (unsigned byte = 0; byte < SORT_BYTES; byte++) {
        while (next[byte] < begin[byte + 1]) {
            struct cx_trie_change change = changes[next[byte]];
            for (unsigned to; (to = sort_byte(&change, shift)) != byte; sort_poll(sort, 1)) {
                struct cx_trie_change *there = &changes[next[to]++], other = *there;
                *there = change;
                change = other;
            }
            changes[next[byte]++] = change;
        }
    }
}

/* Sorts changes whose hashes are the same from bit `top` on. At most eight deep. */
static void sort_below(struct sort *sort, struct cx_trie_change *changes, uint64_t count, unsigned top)
{
    uint64_t begin[SORT_BYTES + 1];
    unsigned shift = top > 8 ? top - 8 : 0;
    if (count <= SORT_FEW) {
        sort_by_insertion(changes, count);
        sort_poll(sort, count);
        return;
    }
    sort_by_byte(sort, changes, count, shift, begin);
    for (unsigned byte = 0; shift != 0 && byte < SORT_BYTES; byte++)
        sort_below(sort, changes + begin[byte], begin[byte + 1] - begin[byte], shift);
}

/* --------------------------------------------------------------- the table */

/* Counts changes from *from on, some thousands of places, two bins ahead: so that bins[b + 1] is
 * where bin b begins when all are summed up, and where it ends when all are dealt. Returns true at
 * the end of the table. */
static bool sort_count_some(const struct sort *sort, const struct cx_map_table *table, uint64_t *from)
{
    uint64_t until = *from + SORT_POLL <= table->mask ? *from + SORT_POLL : table->mask + 1;
    for (; *from < until; (*from)++) {
        uint64_t hash = *table_hash(table, *from);
        if (hash != 0) sort->bins[(hash >> sort->shift) + 2]++;
    }
    return until > table->mask;
}

static bool sort_deal_some(const struct sort *sort, const struct cx_map_table *table, uint64_t *from)
{
    uint64_t until = *from + SORT_POLL <= table->mask ? *from + SORT_POLL : table->mask + 1;
    for (; *from < until; (*from)++) {
        uint64_t hash = *table_hash(table, *from);
        if (hash == 0) continue;
        sort->changes[sort->bins[(hash >> sort->shift) + 1]++] =
            (struct cx_trie_change){.hash = hash, .key = *table_key(table, *from), .value = table_value(table, *from)};
    }
    return until > table->mask;
}

struct cx_trie_batch cx_map_list_sorted(uint32_t flavor, uint64_t shift, coex_handle words, coex_handle refs, coex_handle list,
                                        uint64_t used)
{
    static bool (*const passes[])(const struct sort *, const struct cx_map_table *, uint64_t *) = {sort_count_some, sort_deal_some};
    struct cx_trie_change *changes = coex_gc_handle_deref(list);
    struct sort sort = {.changes = changes, .bins = (uint64_t *)(void *)(changes + used), .shift = 64 - sort_bits(used)};
    uint64_t bins = (uint64_t)1 << (64 - sort.shift);
    for (unsigned pass = 0; pass < 2; pass++) {
        uint64_t from = 0;
        for (bool all = false; !all; coex_gc_safepoint()) {
            struct cx_map_table table = cx_map_table(flavor, shift, words, refs);
            all = passes[pass](&sort, &table, &from);
        }
        for (uint64_t bin = 0; pass == 0 && bin < bins; bin++) sort.bins[bin + 1] += sort.bins[bin];
    }
    for (uint64_t bin = 0; bin < bins; bin++)
        sort_below(&sort, changes + sort.bins[bin], sort.bins[bin + 1] - sort.bins[bin], sort.shift);
    return (struct cx_trie_batch){changes, changes + used};
}
