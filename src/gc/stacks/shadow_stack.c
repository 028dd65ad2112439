/* See shadow_stack.h. Entered by the owner and, for claims and for threads in native mode, by the collector. */
#include "gc/stacks/shadow_stack.h"

#include "base/schedule_point.h"
#include "gc/error.h"

enum {
    SHADOW_FIRST_WORDS = 512,    /* one page */
    SHADOW_LEAST_BYTES = 1 << 20 /* where address space is short */
};

static uint64_t shadow_pack(uint64_t lo, uint64_t hi) { return lo << 32 | hi; }

int cx_shadow_init(struct cx_shadow *shadow, uint64_t slots)
{
    size_t bytes = (size_t)(slots + 1) * sizeof(coex_handle);
    size_t least = bytes < SHADOW_LEAST_BYTES ? bytes : SHADOW_LEAST_BYTES;
    if (!cx_range_reserve(&shadow->range, bytes, least) ||
        !cx_range_commit(&shadow->range, SHADOW_FIRST_WORDS * sizeof(coex_handle))) {
        cx_range_release(&shadow->range);
        return cx_error_set(COEX_GC_ENOMEM, "no address space for a shadow stack of %llu slots", (unsigned long long)slots);
    }
    shadow->base = (coex_handle *)(void *)shadow->range.base;
    return COEX_GC_OK;
}

void cx_shadow_fini(struct cx_shadow *shadow)
{
    cx_range_release(&shadow->copy_range);
    cx_range_release(&shadow->range);
    shadow->base = shadow->end = NULL;
}

void cx_shadow_reset(struct cx_shadow *shadow, coex_handle **top)
{
    size_t keep = SHADOW_FIRST_WORDS * sizeof(coex_handle);
    if (shadow->range.committed > keep) cx_os_discard(shadow->range.base + keep, shadow->range.committed - keep);
    if (shadow->range.base != NULL) shadow->end = (coex_handle *)(void *)(shadow->range.base + shadow->range.committed);
    shadow->base[0] = COEX_GC_FRAME_HEADER(0);
    cx_shadow_drop_frozen(shadow);
    *top = shadow->base + 1;
}

bool cx_shadow_make_room_self(struct cx_shadow *shadow, const coex_handle *top, uint64_t words)
{
    if (words <= (uint64_t)(shadow->end - top)) return true;
    if (shadow->range.base == NULL) return false;
    uint64_t most = shadow->range.reserved / sizeof(coex_handle);
    uint64_t used = (uint64_t)(top - shadow->base);
    if (words > most - used) return false;
    uint64_t need = (used + words) * sizeof(coex_handle);
    if (need <= shadow->range.committed) return true;
    uint64_t wanted = shadow->range.committed * 2 > need ? shadow->range.committed * 2 : need;
    if (wanted > shadow->range.reserved) wanted = shadow->range.reserved;
    if (!cx_range_commit(&shadow->range, wanted)) return false;
    shadow->end = (coex_handle *)(void *)(shadow->range.base + shadow->range.committed);
    return true;
}

/* ----------------------------------------------------------------- frozen */

/* Where what the first `end` words held is kept, for the check; NULL: nowhere. */
static uint64_t *shadow_copy_of(const struct cx_shadow *shadow, uint64_t end)
{
    if (!CX_CHECKED || shadow->range.base == NULL) return shadow->copy;
    return end * sizeof(uint64_t) <= shadow->copy_range.committed ? (uint64_t *)(void *)shadow->copy_range.base : NULL;
}

static void shadow_lock(const struct cx_shadow *shadow)
{
    if (CX_CHECKED && shadow->check != NULL) cx_mutex_lock(shadow->check);
}

static void shadow_unlock(const struct cx_shadow *shadow)
{
    if (CX_CHECKED && shadow->check != NULL) cx_mutex_unlock(shadow->check);
}

/* Copies the words from `kept` on: those below are frozen, and have their copy. (Not on a
 * thread's own stack, where they are of an older cycle and memory for the copy may have been
 * short.) */
static void shadow_copy(struct cx_shadow *shadow, uint64_t kept, uint64_t end)
{
    size_t bytes = shadow->range.reserved;
    if (bytes != 0 && shadow->copy_range.base == NULL && (end == 0 || !cx_range_reserve(&shadow->copy_range, bytes, bytes))) return;
    if (bytes != 0 && !cx_range_commit(&shadow->copy_range, end * sizeof(uint64_t))) return;
    uint64_t *copy = shadow_copy_of(shadow, end);
    for (uint64_t i = bytes != 0 ? 0 : kept; copy != NULL && i < end; i++)
        cx_a64_store_relaxed(cx_a64_at(&copy[i]), cx_shadow_reference(shadow, i));
}

void cx_shadow_freeze(struct cx_shadow *shadow, uint64_t end)
{
    uint64_t kept = cx_shadow_frozen_end(shadow);
    CX_CHECK("INV-SHADOW-3", kept == 0 || (kept <= end && cx_a64_load_relaxed(&shadow->frozen) >> 32 == 0));
    shadow_lock(shadow);
    if (CX_CHECKED) shadow_copy(shadow, kept, end);
    cx_a64_store_relaxed(&shadow->scanned, 0);
    cx_a64_store_release(&shadow->frozen, shadow_pack(0, end));
    shadow_unlock(shadow);
}

void cx_shadow_drop_frozen(struct cx_shadow *shadow)
{
    cx_a64_store_relaxed(&shadow->frozen, 0);
    cx_a64_store_relaxed(&shadow->scanned, 0);
}

struct cx_span cx_shadow_cut_self(struct cx_shadow *shadow, uint64_t from)
{
    uint64_t frozen = cx_a64_load_acquire(&shadow->frozen);
    uint64_t lo, hi, cut;
    do {
        lo = frozen >> 32;
        hi = (uint32_t)frozen;
        if (hi <= from && lo <= from) return (struct cx_span){from, from};
        cut = from > lo ? from : lo;
        if (cut > hi) cut = hi;
    } while (!cx_a64_cas_acq_rel(&shadow->frozen, &frozen, shadow_pack(lo, cut)));
    CX_SCHEDULE_POINT("shadow-cut-before-wait");
    /* The range is [lo, lo) if the collector has begun on words of ours: it can claim no more, and this chunk ends soon. */
    for (unsigned spins = 0; lo > from && cx_a64_load_acquire(&shadow->scanned) < lo; spins++) {
        cx_cpu_relax();
        if (spins > 1000) cx_os_sleep_ns(20000); /* it has lost its core */
    }
    return (struct cx_span){cut, hi};
}

bool cx_shadow_claim_gct(struct cx_shadow *shadow, struct cx_span *span)
{
    uint64_t frozen = cx_a64_load_acquire(&shadow->frozen);
    for (;;) {
        uint64_t lo = frozen >> 32, hi = (uint32_t)frozen;
        if (lo >= hi) return false;
        uint64_t to = hi - lo > CX_SHADOW_CHUNK ? lo + CX_SHADOW_CHUNK : hi;
        if (cx_a64_cas_acq_rel(&shadow->frozen, &frozen, shadow_pack(to, hi))) {
            *span = (struct cx_span){lo, to};
            return true;
        }
    }
}

void cx_shadow_finish_gct(struct cx_shadow *shadow, struct cx_span span) { cx_a64_store_release(&shadow->scanned, span.to); }

/* ----------------------------------------------------------------- checks */

static void shadow_report_change(const struct cx_shadow *shadow, uint64_t word, uint64_t was, uint64_t is, uint64_t thread_id)
{
    uint64_t header = cx_shadow_frame_before(shadow, word + 1), frame = 0;
    for (uint64_t at = header; at > 0; at = cx_shadow_frame_before(shadow, at)) frame++;
    cx_fatal("INV-SHADOW-1 broken: thread %llu, frame %llu, slot %llu: the frame is frozen, its slot held %llu and holds %llu; "
             "write it with coex_gc_set_slot or coex_gc_set_root",
             (unsigned long long)thread_id, (unsigned long long)frame, (unsigned long long)(word - header - 1),
             (unsigned long long)was, (unsigned long long)is);
}

static bool shadow_differs(const struct cx_shadow *shadow, const uint64_t *copy, uint64_t word, uint64_t *was, uint64_t *is)
{
    *was = cx_a64_load_relaxed(cx_a64_at(&copy[word]));
    *is = cx_shadow_reference(shadow, word);
    return *was != *is;
}

/* A difference is a change unless coex_gc_set_slot is between slot and copy: it holds the lock
 * then. */
static bool shadow_is_changed(const struct cx_shadow *shadow, const uint64_t *copy, uint64_t word, uint64_t *was, uint64_t *is)
{
    if (CX_LIKELY(!shadow_differs(shadow, copy, word, was, is))) return false;
    shadow_lock(shadow);
    bool changed = shadow_differs(shadow, copy, word, was, is);
    shadow_unlock(shadow);
    return changed;
}

void cx_shadow_check_span(const struct cx_shadow *shadow, struct cx_span span, bool locals, uint64_t thread_id)
{
    const uint64_t *copy = CX_CHECKED ? shadow_copy_of(shadow, span.to) : NULL;
    if (copy == NULL) return;
    uint64_t was, is;
    for (uint64_t i = span.from; i < span.to; i++) {
        bool local = (cx_a64_load_relaxed(cx_a64_at(&shadow->base[i])) & COEX_GC_LOCAL_BIT) != 0;
        if ((locals || !local) && shadow_is_changed(shadow, copy, i, &was, &is))
            shadow_report_change(shadow, i, was, is, thread_id);
    }
}

/* Words that are read, and not frozen again since, are not looked at any more. */
bool cx_shadow_note_change_locked(struct cx_shadow *shadow, const coex_handle *slot, coex_handle value)
{
    uint64_t end = CX_CHECKED ? cx_shadow_frozen_end(shadow) : 0;
    uint64_t *copy = shadow_copy_of(shadow, end);
    uint64_t reference = cx_is_reference(value) ? value : 0;
    uint64_t local = (uint64_t)(uintptr_t)slot | COEX_GC_LOCAL_BIT;
    bool found = false;
    for (uint64_t i = 0; copy != NULL && i < end; i++) {
        if (&shadow->base[i] != slot && cx_a64_load_relaxed(cx_a64_at(&shadow->base[i])) != local) continue;
        cx_a64_store_relaxed(cx_a64_at(&copy[i]), reference);
        found = true;
    }
    return found;
}
