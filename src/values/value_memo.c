/* See value_memo.h. Open addressing with linear probing, at most three quarters full. */
#include "values/value_memo.h"

#include "base/os.h"

enum {
    MEMO_FROM = 64,  /* facts before a table is made */
    MEMO_LEAST = 10, /* bits of the first table's size */
    MEMO_POLL = 4096 /* facts that are moved to a larger table between two polls */
};

/* The fact with this key, or the free place where it belongs. */
static struct cx_fact *memo_at(const struct cx_memo *memo, const uint64_t key[3])
{
    uint64_t mask = ((uint64_t)1 << memo->bits) - 1;
    uint64_t at = cx_hash_word(key[0] + cx_hash_fold(key[1] ^ cx_values.seed[2], (key[2] + key[1]) ^ cx_values.seed[3]));
    for (;; at++) {
        struct cx_fact *fact = &memo->facts[at & mask];
        if (fact->key[0] == 0) return fact;
        if (fact->key[0] == key[0] && fact->key[1] == key[1] && fact->key[2] == key[2]) return fact;
    }
}

static bool memo_grow(struct cx_memo *memo)
{
    struct cx_memo old = *memo;
    memo->bits = old.facts != NULL ? old.bits + 1 : MEMO_LEAST;
    memo->facts = cx_os_allocate(sizeof *memo->facts << memo->bits);
    if (memo->facts == NULL) {
        *memo = old;
        return false;
    }
    for (uint64_t i = 0; old.facts != NULL && i < (uint64_t)1 << old.bits; i++) {
        if (old.facts[i].key[0] != 0) *memo_at(memo, old.facts[i].key) = old.facts[i];
        if (i % MEMO_POLL == MEMO_POLL - 1) coex_gc_safepoint();
    }
    if (old.facts == NULL) memo->count = 0; /* those so far were not kept */
    cx_os_free(old.facts);
    return true;
}

bool cx_memo_get(const struct cx_memo *memo, uint64_t a, uint64_t b, uint64_t c, uint64_t *known)
{
    if (memo->facts == NULL) return false;
    const struct cx_fact *fact = memo_at(memo, (const uint64_t[]){a, b, c});
    *known = fact->known;
    return fact->key[0] != 0;
}

bool cx_memo_note(struct cx_memo *memo, uint64_t a, uint64_t b, uint64_t c, uint64_t known)
{
    if (memo->facts == NULL && memo->count++ < MEMO_FROM) return true;
    if ((memo->facts == NULL || memo->count >= (uint64_t)3 << memo->bits >> 2) && !memo_grow(memo)) return false;
    struct cx_fact *fact = memo_at(memo, (const uint64_t[]){a, b, c});
    memo->count += fact->key[0] == 0;
    *fact = (struct cx_fact){{a, b, c}, known};
    return true;
}

void cx_memo_free(struct cx_memo *memo) { cx_os_free(memo->facts); }
