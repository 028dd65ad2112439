/* See root_record.h. Entered by whoever scans a stack, and by the collector. */
#include "gc/stacks/root_record.h"

enum { RECORD_SHORT = 65536, RECORD_PIECE = 1 << 18 }; /* bytes */

/* W: collector, release, before SYNC and after the visits. R: who scans, acquire. */
static cx_a32 record_on;
static cx_aptr record_list; /* W: who adds, cas. R: collector acquire */
static cx_a32 record_short;
static cx_a64 record_count; /* made so far. W: who adds */

/* Frees a record. A long one gives its pages back first, from its end, RECORD_PIECE bytes at a time: returns false if the budget
 * was spent before. */
static bool record_free(struct cx_root_record *record, struct cx_budget *budget)
{
    while (record->range.committed > RECORD_PIECE) {
        if (!cx_budget_is_left(budget)) return false;
        record->range.committed -= RECORD_PIECE;
        cx_os_discard(record->range.base + record->range.committed, RECORD_PIECE);
        cx_budget_spend(budget, CX_COST_CALL);
        cx_budget_spend_bytes(budget, RECORD_PIECE);
    }
    cx_range range = record->range; /* a copy: it lies in itself */
    if (range.base != NULL)
        cx_range_release(&range);
    else
        cx_os_free(record);
    cx_budget_spend(budget, CX_COST_CALL);
    return true;
}

/* Nobody adds any more. Returns true if some are left. */
static bool record_free_some(struct cx_budget *budget)
{
    struct cx_root_record *record;
    while ((record = cx_aptr_load_acquire(&record_list)) != NULL) {
        struct cx_root_record *next = record->next;
        if (!cx_budget_is_left(budget) || !record_free(record, budget)) return true;
        cx_aptr_store_release(&record_list, next);
    }
    return false;
}

void cx_root_record_begin_gct(void)
{
    cx_a32_store_relaxed(&record_short, 0);
    cx_a32_store_release(&record_on, 1);
}

bool cx_root_record_end_gct(struct cx_budget *budget)
{
    cx_a32_store_release(&record_on, 0);
    return record_free_some(budget);
}

/* All at once: the child has nobody yet who could be kept waiting. */
void cx_root_record_fork_child(void)
{
    struct cx_budget budget = cx_budget_of(INT64_MAX);
    cx_root_record_end_gct(&budget);
}

const struct cx_root_record *cx_root_record_list_gct(void) { return cx_aptr_load_acquire(&record_list); }
bool cx_root_record_is_short_gct(void) { return cx_a32_load_relaxed(&record_short) != 0; }
bool cx_root_record_is_on(void) { return cx_a32_load_acquire(&record_on) != 0; }

/* Zeroed. Long ones are mapped: a thread that answers must not spend time on clearing what it does not fill. */
static struct cx_root_record *record_allocate(size_t bytes)
{
    cx_range range = {0};
    if (bytes <= RECORD_SHORT) return cx_os_allocate(bytes);
    if (!cx_range_reserve(&range, bytes, bytes)) return NULL;
    if (!cx_range_commit(&range, bytes)) {
        cx_range_release(&range);
        return NULL;
    }
    struct cx_root_record *record = (struct cx_root_record *)(void *)range.base;
    record->range = range;
    return record;
}

static struct cx_root_record *record_make(const struct cx_shadow *shadow, struct cx_span span, uint32_t thread, uint64_t os_id)
{
    struct cx_root_record *record = record_allocate(sizeof *record + (size_t)(span.to - span.from) * sizeof(uint64_t));
    if (record == NULL) {
        cx_a32_store_relaxed(&record_short, 1);
        return NULL;
    }
    record->stack = shadow->number;
    record->thread = thread;
    record->os_id = os_id;
    record->from = span.from;
    record->to = span.to;
    record->order = cx_a64_add_relaxed(&record_count, 1);
    return record;
}

static void record_publish(struct cx_root_record *record)
{
    void *first = cx_aptr_load_acquire(&record_list);
    do record->next = first;
    while (!cx_aptr_cas_acq_rel(&record_list, &first, record));
}

/* A header or a slot as it is; else what is in the local that it points to. */
static uint64_t record_word(const struct cx_shadow *shadow, uint64_t number)
{
    uint64_t word = cx_a64_load_acquire(cx_a64_at(&shadow->base[number]));
    if ((word & COEX_GC_LOCAL_BIT) == 0 || cx_shadow_is_header(word)) return word;
    word = cx_a64_load_acquire(cx_a64_at((const void *)(uintptr_t)(word & ~COEX_GC_LOCAL_BIT)));
    if ((word & COEX_GC_LOCAL_BIT) != 0) return 0; /* a local that holds anything must not pass for a header */
    return cx_is_reference(word) ? word | COEX_GC_LOCAL_BIT : word;
}

static void record_copy(struct cx_root_record *record, const struct cx_shadow *shadow, struct cx_span span)
{
    for (uint64_t i = span.from; i < span.to; i++)
        cx_a64_store_relaxed(cx_a64_at(&record->word[i - record->from]), record_word(shadow, i));
}

/* Returns the record, or NULL if recording is off or there is no memory. */
static struct cx_root_record *record_add_frozen(const struct cx_shadow *shadow, uint64_t end)
{
    if (CX_LIKELY(!cx_root_record_is_on())) return NULL;
    struct cx_root_record *record = record_make(shadow, (struct cx_span){0, end}, CX_ROOT_RECORD_NOBODY, 0);
    if (record != NULL) record_publish(record);
    return record;
}

void cx_root_record_freeze(struct cx_shadow *shadow, uint64_t end)
{
    shadow->record = record_add_frozen(shadow, end);
    cx_shadow_freeze(shadow, end);
}

void cx_root_record_add_top(const struct cx_shadow *shadow, struct cx_span span, uint32_t thread, uint64_t os_id)
{
    if (CX_LIKELY(!cx_root_record_is_on())) return;
    struct cx_root_record *record = record_make(shadow, span, thread, os_id);
    if (record == NULL) return;
    record_copy(record, shadow, span);
    record_publish(record);
}

void cx_root_record_fill(const struct cx_shadow *shadow, struct cx_span span)
{
    /* An empty span first: a thread that returns after the visits still comes by, and the record may be gone. */
    if (span.from >= span.to || CX_LIKELY(!cx_root_record_is_on()) || shadow->record == NULL) return;
    CX_CHECK("INV-RECORD-1", span.to <= shadow->record->to);
    record_copy(shadow->record, shadow, span);
}
