/* Cells: the atomic reference and the mutable array. References go through the barriered functions of gc.h, plain words through the
 * atomics of base; both release and acquire. */
#include <coex/values/cell.h>

#include "base/atomic.h"
#include "values/array/array.h"

#include <string.h>

enum { PIECE = 4096 }; /* words copied between two polls */

/* ------------------------------------------------------------ atomic reference */

static const uint32_t cell_refs[] = {0};
static const char *const cell_names[] = {"value"};
const coex_gc_type cx_type_cell = {.name = "cell",
                                   .size = sizeof(coex_handle),
                                   .ref_offsets = cell_refs,
                                   .ref_count = 1,
                                   .ref_names = cell_names,
                                   .flags = COEX_GC_MUTABLE};

static bool cell_check(coex_handle cell)
{
    return COEX_LIKELY(cx_value_as(cell, CX_TYPE_cell) != NULL) || cx_fail_false(COEX_STATUS_KIND);
}

coex_handle coex_cell_new(coex_handle value)
{
    void *payload;
    coex_handle cell = coex_gc_alloc_at(sizeof value, cx_values.id[CX_TYPE_cell], &payload);
    if (cell == 0) return cx_fail_memory();
    *(coex_handle *)payload = value;
    return cell;
}

coex_handle coex_cell_load(coex_handle cell) { return cell_check(cell) ? coex_gc_load(cell, 0) : 0; }

bool coex_cell_store(coex_handle cell, coex_handle value)
{
    if (!cell_check(cell)) return false;
    coex_gc_store(cell, 0, value);
    return true;
}

coex_handle coex_cell_exchange(coex_handle cell, coex_handle value)
{
    return cell_check(cell) ? coex_gc_exchange(cell, 0, value) : 0;
}

bool coex_cell_compare_exchange(coex_handle cell, coex_handle *expected, coex_handle desired)
{
    return cell_check(cell) && coex_gc_compare_exchange(cell, 0, expected, desired);
}

/* The loop of both updates. `old` stays in a slot until the exchange, so no other object can get its handle meanwhile. */
static bool cell_update(coex_handle object, uint64_t offset, coex_update update, void *context, uint64_t *result)
{
    uint64_t fresh = 0;
    bool wanted;
    coex_handle *slot = coex_gc_enter_frame(1), expected;
    do {
        slot[0] = expected = coex_gc_load(object, offset);
        wanted = update(expected, &fresh, context);
    } while (wanted && !coex_gc_compare_exchange(object, offset, &expected, fresh));
    coex_gc_leave_frame(slot);
    if (wanted && result != NULL) *result = fresh;
    return wanted;
}

bool coex_cell_update(coex_handle cell, coex_update update, void *context, coex_handle *result)
{
    return cell_check(cell) && cell_update(cell, 0, update, context, result);
}

/* --------------------------------------------------------------- mutable array */

struct mutable_array {
    uint64_t length; /* constant */
    uint64_t word[];
};

const coex_gc_type cx_type_mutable_words = {.name = "mutable array of words", .flags = COEX_GC_MUTABLE};
const coex_gc_type cx_type_mutable_refs = {
    .name = "mutable array", .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY, .array_offset = offsetof(struct mutable_array, word)};

static struct mutable_array *mutable_as(coex_handle array, bool *refs)
{
    struct mutable_array *m = cx_value_as(array, CX_TYPE_mutable_refs);
    *refs = m != NULL;
    if (m == NULL) m = cx_value_as(array, CX_TYPE_mutable_words);
    if (m == NULL) cx_fail(COEX_STATUS_KIND);
    return m;
}

/* The word at `index`, or NULL with a status. */
static cx_a64 *mutable_at(coex_handle array, uint64_t index, bool *refs)
{
    struct mutable_array *m = mutable_as(array, refs);
    if (COEX_LIKELY(m != NULL && index < m->length)) return cx_a64_at(&m->word[index]);
    if (m != NULL) cx_fail(COEX_STATUS_RANGE);
    return NULL;
}

static uint64_t mutable_offset(uint64_t index) { return offsetof(struct mutable_array, word) + index * sizeof(uint64_t); }

coex_handle coex_mutable_array_new(uint64_t length, bool handles)
{
    void *payload;
    if (length >= (uint64_t)1 << 43) return cx_fail(COEX_STATUS_SIZE);
    uint32_t type = cx_values.id[handles ? CX_TYPE_mutable_refs : CX_TYPE_mutable_words];
    coex_handle array = coex_gc_alloc_at(mutable_offset(length), type, &payload);
    if (array == 0) return cx_fail_memory();
    ((struct mutable_array *)payload)->length = length;
    return array;
}

uint64_t coex_mutable_array_len(coex_handle array)
{
    bool refs;
    const struct mutable_array *m = mutable_as(array, &refs);
    return m != NULL ? m->length : 0;
}

bool coex_mutable_array_has_handles(coex_handle array)
{
    bool refs;
    return mutable_as(array, &refs) != NULL && refs;
}

uint64_t coex_mutable_array_load(coex_handle array, uint64_t index)
{
    bool refs;
    const cx_a64 *word = mutable_at(array, index, &refs);
    return word != NULL ? cx_a64_load_acquire(word) : 0;
}

bool coex_mutable_array_store(coex_handle array, uint64_t index, uint64_t value)
{
    bool refs;
    cx_a64 *word = mutable_at(array, index, &refs);
    if (word == NULL) return false;
    if (refs)
        coex_gc_store(array, mutable_offset(index), value);
    else
        cx_a64_store_release(word, value);
    return true;
}

uint64_t coex_mutable_array_exchange(coex_handle array, uint64_t index, uint64_t value)
{
    bool refs;
    cx_a64 *word = mutable_at(array, index, &refs);
    if (word == NULL) return 0;
    return refs ? coex_gc_exchange(array, mutable_offset(index), value) : cx_a64_exchange_acq_rel(word, value);
}

bool coex_mutable_array_compare_exchange(coex_handle array, uint64_t index, uint64_t *expected, uint64_t desired)
{
    bool refs;
    cx_a64 *word = mutable_at(array, index, &refs);
    if (word == NULL) return false;
    return refs ? coex_gc_compare_exchange(array, mutable_offset(index), expected, desired)
                : cx_a64_cas_acq_rel(word, expected, desired);
}

uint64_t coex_mutable_array_add(coex_handle array, uint64_t index, uint64_t by)
{
    bool refs;
    cx_a64 *word = mutable_at(array, index, &refs);
    if (word == NULL) return 0;
    return refs ? cx_fail(COEX_STATUS_KIND) : cx_a64_add_acq_rel(word, by);
}

/* Plain words need no root and no barrier; `update` may still be where objects move, so the address is read again. */
static bool mutable_update_word(coex_handle array, uint64_t index, coex_update update, void *context, uint64_t *result)
{
    bool refs;
    uint64_t fresh = 0, expected;
    do {
        expected = cx_a64_load_acquire(mutable_at(array, index, &refs));
        if (!update(expected, &fresh, context)) return false;
    } while (!cx_a64_cas_acq_rel(mutable_at(array, index, &refs), &expected, fresh));
    if (result != NULL) *result = fresh;
    return true;
}

bool coex_mutable_array_update(coex_handle array, uint64_t index, coex_update update, void *context, uint64_t *result)
{
    bool refs;
    if (mutable_at(array, index, &refs) == NULL) return false;
    return refs ? cell_update(array, mutable_offset(index), update, context, result)
                : mutable_update_word(array, index, update, context, result);
}

/* ---------------------------------------------------------- from and to arrays */

coex_handle coex_mutable_array_from(coex_handle array)
{
    const struct cx_array *a = cx_array_of_words(array);
    if (a == NULL) return cx_fail(COEX_STATUS_KIND);
    uint64_t length = a->length;
    coex_handle *slot = coex_gc_enter_frame(1);
    a = coex_gc_handle_deref(array);
    slot[0] = coex_mutable_array_new(length, cx_array_is_refs(a));
    for (uint64_t i = 0; slot[0] != 0 && i < length; i++) {
        a = coex_gc_handle_deref(array);
        const struct cx_array_buffer *buffer = coex_gc_handle_deref(a->buffer);
        uint64_t word;
        memcpy(&word, buffer->data + a->from + i * sizeof word, sizeof word);
        coex_mutable_array_store(slot[0], i, word);
        if (i % PIECE == PIECE - 1) coex_gc_safepoint();
    }
    coex_handle result = slot[0];
    coex_gc_leave_frame(slot);
    return result;
}

/* Each word is read atomically, and written to a buffer that nobody else has. */
static void mutable_to_buffer(coex_handle array, uint64_t from, uint64_t count, coex_handle buffer, bool refs)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t word = coex_mutable_array_load(array, from + i);
        cx_array_write(buffer, i * sizeof word, &word, sizeof word, refs);
        if (i % PIECE == PIECE - 1) coex_gc_safepoint();
    }
}

coex_handle coex_mutable_array_to_array(coex_handle array, uint64_t from, uint64_t to)
{
    bool refs;
    const struct mutable_array *m = mutable_as(array, &refs);
    if (m == NULL) return 0;
    if (from > to || to > m->length) return cx_fail(COEX_STATUS_RANGE);
    uint64_t count = to - from, element = sizeof(uint64_t) << 1 | (refs ? 1 : 0);
    coex_handle *slot = coex_gc_enter_frame(1), result = 0;
    slot[0] = cx_array_new_buffer(count * sizeof(uint64_t), refs);
    if (slot[0] != 0 || count == 0) {
        mutable_to_buffer(array, from, count, slot[0], refs);
        result = cx_array_wrap(slot[0], count, element);
    }
    coex_gc_leave_frame(slot);
    return result;
}
