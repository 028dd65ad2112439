/* What equality and hash of whole values remember, so that a part that a value contains many times is looked at once.
 *
 * A memo is an exact table in C memory: from three words to one. It begins when VALUE_MEMO_FROM facts were noted, so that small values
 * need no memory, and grows as long as there are facts: some 50 bytes for each. It holds handles without roots: what they name is
 * reachable from the values that the caller keeps rooted. Growing polls, so no address is held while a fact is noted. */
#ifndef CX_VALUES_VALUE_MEMO_H
#define CX_VALUES_VALUE_MEMO_H

#include "values/core/common.h"

struct cx_fact {
    uint64_t key[3]; /* key[0] is a handle: never 0 */
    uint64_t known;
};

struct cx_memo {
    struct cx_fact *facts; /* NULL: none yet */
    uint64_t count;        /* facts in the table; before there is one, those that were noted */
    unsigned bits;         /* of the table's size */
};

/* Stores what is known of a key in *known. Returns false if nothing is. */
bool cx_memo_get(const struct cx_memo *memo, uint64_t a, uint64_t b, uint64_t c, uint64_t *known);

/* Notes a fact, in place of what was known. Returns false if there is no memory. A safepoint. */
bool cx_memo_note(struct cx_memo *memo, uint64_t a, uint64_t b, uint64_t c, uint64_t known);

void cx_memo_free(struct cx_memo *memo);

#endif
