/*
 * What equality and hash remember is kept, however much it is.
 */
#include "values/value_memo.h"
#include "support/objects.h"

TEST(facts_are_kept_however_many_there_are)
{
    enum { FACTS = 1500000, UNKEPT = 64 };
    struct cx_memo memo = {NULL, 0, 0};
    uint64_t known;
    start_default();
    for (uint64_t i = 1; i <= FACTS; i++) expect(cx_memo_note(&memo, i, 2 * i, i % 7, 3 * i));
    for (uint64_t i = 1; i <= FACTS; i++) {
        bool found = cx_memo_get(&memo, i, 2 * i, i % 7, &known);
        if (i > UNKEPT) expect(found && known == 3 * i);
        expect(!cx_memo_get(&memo, i, 2 * i, 8, &known));
    }
    expect(cx_memo_note(&memo, FACTS, 2 * FACTS, FACTS % 7, 1));
    expect(cx_memo_get(&memo, FACTS, 2 * FACTS, FACTS % 7, &known) && known == 1);
    cx_memo_free(&memo);
    coex_gc_shutdown();
}

TEST(a_few_facts_need_no_memory)
{
    struct cx_memo memo = {NULL, 0, 0};
    start_default();
    for (uint64_t i = 1; i <= 64; i++) expect(cx_memo_note(&memo, i, 0, 0, i));
    expect(memo.facts == NULL);
    cx_memo_free(&memo);
    coex_gc_shutdown();
}
