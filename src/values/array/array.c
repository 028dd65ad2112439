/* Arrays: views of buffers. See array.h for what is in them and who may write where.
 *
 * Large buffers are filled in pieces with a poll after each, so that copying gigabytes keeps no cycle waiting; that is why they are
 * MUTABLE. */
#include "values/array/array.h"

#include <coex/values/array.h>

#include "base/atomic.h"

#include <string.h>

enum { PIECE = 1 << 16, LEAST_ROOM = 64 };

static const uint32_t array_refs[] = {offsetof(struct cx_array, buffer)};
static const char *const array_names[] = {"buffer"};
const coex_gc_type cx_type_array = {
    .name = "array", .size = sizeof(struct cx_array), .ref_offsets = array_refs, .ref_count = 1, .ref_names = array_names};
const coex_gc_type cx_type_array_bytes = {.name = "array buffer of bytes", .flags = COEX_GC_MUTABLE};
const coex_gc_type cx_type_array_refs = {
    .name = "array buffer", .flags = COEX_GC_MUTABLE | COEX_GC_REF_ARRAY, .array_offset = offsetof(struct cx_array_buffer, data)};

/* --------------------------------------------------------------------- buffers */

coex_handle cx_array_new_buffer(uint64_t capacity, bool refs)
{
    void *payload;
    if (capacity == 0) return 0;
    if (capacity > COEX_ARRAY_BYTES_MAX) return cx_fail(COEX_STATUS_SIZE);
    capacity = (capacity + 7) & ~(uint64_t)7;
    uint32_t type = cx_values.id[refs ? CX_TYPE_array_refs : CX_TYPE_array_bytes];
    coex_handle buffer = coex_gc_alloc_at(sizeof(struct cx_array_buffer) + capacity, type, &payload);
    if (buffer == 0) return cx_fail_memory();
    ((struct cx_array_buffer *)payload)->capacity = capacity;
    return buffer;
}

void cx_array_write(coex_handle buffer, uint64_t at, const void *source, uint64_t bytes, bool refs)
{
    struct cx_array_buffer *to = coex_gc_handle_deref(buffer);
    if (!refs) {
        if (bytes != 0) memcpy(to->data + at, source, bytes);
        return;
    }
    coex_handle word;
    for (uint64_t i = 0; i < bytes; i += sizeof word) {
        memcpy(&word, (const unsigned char *)source + i, sizeof word);
        coex_gc_store(buffer, offsetof(struct cx_array_buffer, data) + at + i, word);
    }
}

void cx_array_move(coex_handle to, uint64_t at, coex_handle from, uint64_t from_at, uint64_t bytes, bool refs)
{
    for (uint64_t done = 0; done < bytes; done += PIECE) {
        const struct cx_array_buffer *source = coex_gc_handle_deref(from);
        cx_array_write(to, at + done, source->data + from_at + done, bytes - done < PIECE ? bytes - done : PIECE, refs);
        if (bytes > PIECE) coex_gc_safepoint();
    }
}

/* The same from outside of the heap, in pieces. A safepoint after each: the buffer is rooted. */
static void array_fill(coex_handle buffer, uint64_t at, const void *source, uint64_t bytes, bool refs)
{
    for (uint64_t done = 0; done < bytes; done += PIECE) {
        uint64_t piece = bytes - done < PIECE ? bytes - done : PIECE;
        cx_array_write(buffer, at + done, (const char *)source + done, piece, refs);
        if (bytes > PIECE) coex_gc_safepoint();
    }
}

static coex_handle array_view(coex_handle buffer, uint64_t from, uint64_t length, uint64_t element)
{
    void *payload;
    coex_handle array = coex_gc_alloc_at(sizeof(struct cx_array), cx_values.id[CX_TYPE_array], &payload);
    if (array == 0) return cx_fail_memory();
    *(struct cx_array *)payload = (struct cx_array){buffer, from, length, element};
    return array;
}

coex_handle cx_array_wrap(coex_handle buffer, uint64_t length, uint64_t element)
{
    uint64_t bytes = length * (element >> 1);
    coex_handle array = array_view(buffer, 0, length, element);
    if (array == 0 || buffer == 0) return array;
    struct cx_array_buffer *b = coex_gc_handle_deref(buffer);
    cx_a64_store_release(cx_a64_at(&b->used), bytes);
    if (b->capacity - bytes < (element >> 1)) coex_gc_freeze(buffer); /* there is no room to claim */
    return array;
}

/* ---------------------------------------------------------------------- making */

/* A length in bytes; false with a status if there is no such array. */
static bool array_bytes(uint64_t length, uint64_t elem_size, uint64_t *bytes)
{
    if (elem_size == 0 || elem_size > COEX_ARRAY_ELEMENT_MAX || length > COEX_ARRAY_BYTES_MAX / elem_size)
        return cx_fail_false(COEX_STATUS_SIZE);
    *bytes = length * elem_size;
    return true;
}

static uint64_t array_element(uint64_t elem_size, bool handles) { return elem_size << 1 | (handles ? 1 : 0); }

coex_handle coex_array_from(const void *elements, uint64_t length, uint64_t elem_size, bool handles)
{
    uint64_t bytes = 0;
    if (handles && elem_size != sizeof(coex_handle)) return cx_fail(COEX_STATUS_SIZE);
    if (!array_bytes(length, elem_size, &bytes)) return 0;
    coex_handle *slot = coex_gc_enter_frame(1), array = 0;
    slot[0] = cx_array_new_buffer(bytes, handles);
    if (slot[0] != 0 || bytes == 0) {
        if (elements != NULL) array_fill(slot[0], 0, elements, bytes, handles);
        array = cx_array_wrap(slot[0], length, array_element(elem_size, handles));
    }
    coex_gc_leave_frame(slot);
    return array;
}

coex_handle coex_array_of(uint64_t length, uint64_t elem_size, bool handles)
{
    return coex_array_from(NULL, length, elem_size, handles);
}

/* --------------------------------------------------------------------- looking */

static const struct cx_array *array_as(coex_handle array)
{
    const struct cx_array *a = cx_value_as(array, CX_TYPE_array);
    if (COEX_UNLIKELY(a == NULL)) cx_fail(COEX_STATUS_KIND);
    return a;
}

uint64_t coex_array_len(coex_handle array)
{
    const struct cx_array *a = array_as(array);
    return a != NULL ? a->length : 0;
}

uint64_t coex_array_elem_size(coex_handle array)
{
    const struct cx_array *a = array_as(array);
    return a != NULL ? cx_array_element_bytes(a) : 0;
}

bool coex_array_has_handles(coex_handle array)
{
    const struct cx_array *a = array_as(array);
    return a != NULL && cx_array_is_refs(a);
}

static const unsigned char *array_start(const struct cx_array *a)
{
    return ((const struct cx_array_buffer *)coex_gc_handle_deref(a->buffer))->data + a->from;
}

/* An element's address, or NULL with a status. */
static const unsigned char *array_at(const struct cx_array *a, uint64_t index)
{
    if (COEX_LIKELY(a != NULL && index < a->length)) return array_start(a) + index * cx_array_element_bytes(a);
    if (a != NULL) cx_fail(COEX_STATUS_RANGE);
    return NULL;
}

bool coex_array_get(coex_handle array, uint64_t index, void *element)
{
    const struct cx_array *a = array_as(array);
    const unsigned char *at = array_at(a, index);
    if (at == NULL) return false;
    memcpy(element, at, cx_array_element_bytes(a));
    return true;
}

uint64_t coex_array_word(coex_handle array, uint64_t index)
{
    uint64_t word;
    const struct cx_array *a = array_as(array);
    if (a != NULL && cx_array_element_bytes(a) != sizeof word) return cx_fail(COEX_STATUS_KIND);
    const unsigned char *at = array_at(a, index);
    if (at == NULL) return 0;
    memcpy(&word, at, sizeof word);
    return word;
}

const void *coex_array_data(coex_handle array)
{
    const struct cx_array *a = array_as(array);
    return a != NULL && a->buffer != 0 ? array_start(a) : NULL;
}

/* -------------------------------------------------------------------- changing */

/* A new buffer with room for `room` more bytes behind what `a` has; *buffer roots it. The array itself is rooted by the caller.
 * False with a status. */
static bool array_duplicate(const struct cx_array *a, uint64_t room, coex_handle *buffer)
{
    uint64_t bytes = a->length * cx_array_element_bytes(a), from = a->from;
    bool refs = cx_array_is_refs(a);
    coex_handle source = a->buffer;
    *buffer = cx_array_new_buffer(bytes + room, refs);
    if (*buffer == 0 && bytes + room != 0) return false;
    cx_array_move(*buffer, 0, source, from, bytes, refs);
    return true;
}

coex_handle coex_array_copy(coex_handle array)
{
    const struct cx_array *a = array_as(array);
    if (a == NULL) return 0;
    coex_handle *slot = coex_gc_enter_frame(1), copy = 0;
    a = coex_gc_handle_deref(array);
    if (array_duplicate(a, 0, &slot[0])) {
        a = coex_gc_handle_deref(array);
        copy = cx_array_wrap(slot[0], a->length, a->element);
    }
    coex_gc_leave_frame(slot);
    return copy;
}

coex_handle coex_array_set(coex_handle array, uint64_t index, const void *element)
{
    const struct cx_array *a = array_as(array);
    if (a == NULL) return 0;
    if (index >= a->length) return cx_fail(COEX_STATUS_RANGE);
    coex_handle *slot = coex_gc_enter_frame(1), copy = 0;
    a = coex_gc_handle_deref(array);
    if (array_duplicate(a, 0, &slot[0])) {
        a = coex_gc_handle_deref(array);
        cx_array_write(slot[0], index * cx_array_element_bytes(a), element, cx_array_element_bytes(a), cx_array_is_refs(a));
        copy = cx_array_wrap(slot[0], a->length, a->element);
    }
    coex_gc_leave_frame(slot);
    return copy;
}

coex_handle coex_array_slice(coex_handle array, uint64_t from, uint64_t to)
{
    const struct cx_array *a = array_as(array);
    if (a == NULL) return 0;
    if (from > to || to > a->length) return cx_fail(COEX_STATUS_RANGE);
    if (to - from == a->length) return array;
    struct cx_array part = *a;
    if (to == from) return array_view(0, 0, 0, part.element);
    return array_view(part.buffer, part.from + from * (part.element >> 1), to - from, part.element);
}

/* Bytes behind an array's end that nobody has claimed yet, as far as can be seen. */
static uint64_t array_behind(const struct cx_array *a)
{
    const struct cx_array_buffer *buffer = coex_gc_handle_deref(a->buffer);
    uint64_t end = a->from + a->length * cx_array_element_bytes(a);
    return buffer != NULL && cx_a64_load_acquire(cx_a64_at(&buffer->used)) == end ? buffer->capacity - end : 0;
}

/* Claims `bytes` behind an array's end, if there is room and nobody was first. */
static bool array_claim(const struct cx_array *a, uint64_t bytes)
{
    struct cx_array_buffer *buffer = coex_gc_handle_deref(a->buffer);
    uint64_t end = a->from + a->length * cx_array_element_bytes(a);
    return buffer->capacity - end >= bytes && cx_a64_cas_acq_rel(cx_a64_at(&buffer->used), &end, end + bytes);
}

/* Half as much again as it needs, so that n appends copy some 3 n elements in all. */
static uint64_t array_room(uint64_t needed, uint64_t bytes)
{
    uint64_t spare = needed / 2 < LEAST_ROOM ? LEAST_ROOM : needed / 2;
    return needed + spare <= COEX_ARRAY_BYTES_MAX ? bytes + spare : bytes;
}

static coex_handle array_extend_copy(coex_handle array, const void *elements, uint64_t count)
{
    coex_handle *slot = coex_gc_enter_frame(1), longer = 0;
    const struct cx_array *a = coex_gc_handle_deref(array);
    uint64_t before = a->length * cx_array_element_bytes(a), bytes = count * cx_array_element_bytes(a);
    if (array_duplicate(a, array_room(before + bytes, bytes), &slot[0])) {
        a = coex_gc_handle_deref(array);
        array_fill(slot[0], before, elements, bytes, cx_array_is_refs(a));
        a = coex_gc_handle_deref(array);
        longer = cx_array_wrap(slot[0], a->length + count, a->element);
    }
    coex_gc_leave_frame(slot);
    return longer;
}

/* What was claimed behind the end of `array` is written: by nobody else, and seen by nobody before `longer` is returned. In pieces, with
 * safepoints if there are many. */
static coex_handle array_extend_claimed(coex_handle array, const void *elements, uint64_t bytes, coex_handle longer)
{
    const struct cx_array *a = coex_gc_handle_deref(array);
    uint64_t end = a->from + a->length * cx_array_element_bytes(a);
    bool refs = cx_array_is_refs(a);
    coex_handle buffer = a->buffer;
    if (bytes <= PIECE) {
        cx_array_write(buffer, end, elements, bytes, refs);
        return longer;
    }
    coex_handle *slot = coex_gc_enter_frame_with(1, 1, &longer);
    array_fill(buffer, end, elements, bytes, refs);
    coex_gc_leave_frame(slot);
    return longer;
}

coex_handle coex_array_extend(coex_handle array, const void *elements, uint64_t count)
{
    uint64_t bytes = 0;
    const struct cx_array *a = array_as(array);
    if (a == NULL) return 0;
    if (count == 0) return array;
    if (count > UINT64_MAX - a->length || !array_bytes(a->length + count, cx_array_element_bytes(a), &bytes))
        return cx_fail(COEX_STATUS_SIZE);
    bytes = count * cx_array_element_bytes(a);
    if (array_behind(a) < bytes) return array_extend_copy(array, elements, count);
    coex_handle longer = array_view(a->buffer, a->from, a->length + count, a->element); /* before the claim: it may fail */
    if (longer == 0) return 0;
    if (!array_claim(coex_gc_handle_deref(array), bytes)) return array_extend_copy(array, elements, count);
    return array_extend_claimed(array, elements, bytes, longer);
}

coex_handle coex_array_append(coex_handle array, const void *element) { return coex_array_extend(array, element, 1); }

/* Into a buffer with room for both; and for more, if the first is one that grows. */
static coex_handle array_concat_copy(coex_handle a, coex_handle b)
{
    coex_handle *slot = coex_gc_enter_frame(1), both = 0;
    const struct cx_array *first = coex_gc_handle_deref(a), *second = coex_gc_handle_deref(b);
    uint64_t before = first->length * cx_array_element_bytes(first), bytes = second->length * cx_array_element_bytes(second);
    if (array_duplicate(first, bytes < before ? array_room(before + bytes, bytes) : bytes, &slot[0])) {
        second = coex_gc_handle_deref(b);
        cx_array_move(slot[0], before, second->buffer, second->from, bytes, cx_array_is_refs(second));
        first = coex_gc_handle_deref(a);
        second = coex_gc_handle_deref(b);
        both = cx_array_wrap(slot[0], first->length + second->length, first->element);
    }
    coex_gc_leave_frame(slot);
    return both;
}

/* The second behind the first, where `bytes` were claimed: as array_extend_claimed. */
static coex_handle array_concat_claimed(coex_handle a, coex_handle b, uint64_t bytes, coex_handle both)
{
    coex_handle *slot = coex_gc_enter_frame_with(1, 1, &both);
    const struct cx_array *first = coex_gc_handle_deref(a), *second = coex_gc_handle_deref(b);
    uint64_t end = first->from + first->length * cx_array_element_bytes(first);
    cx_array_move(first->buffer, end, second->buffer, second->from, bytes, cx_array_is_refs(first));
    coex_gc_leave_frame(slot);
    return both;
}

coex_handle coex_array_concat(coex_handle a, coex_handle b)
{
    uint64_t bytes = 0;
    const struct cx_array *first = array_as(a), *second = array_as(b);
    if (first == NULL || second == NULL) return 0;
    if (first->element != second->element) return cx_fail(COEX_STATUS_KIND);
    if (second->length == 0) return a;
    if (first->length == 0) return b;
    if (!array_bytes(first->length + second->length, cx_array_element_bytes(first), &bytes)) return 0;
    bytes = second->length * cx_array_element_bytes(second);
    if (array_behind(first) < bytes) return array_concat_copy(a, b);
    coex_handle both = array_view(first->buffer, first->from, first->length + second->length, first->element);
    if (both == 0) return 0;
    if (!array_claim(coex_gc_handle_deref(a), bytes)) return array_concat_copy(a, b);
    return array_concat_claimed(a, b, bytes, both);
}

/* -------------------------------------------------------------------- builders */

struct array_builder {
    coex_handle buffer; /* of nobody else */
    uint64_t length;
    uint64_t element; /* 0: finished */
};

enum { BUFFER = offsetof(struct array_builder, buffer) };

static const uint32_t builder_refs[] = {BUFFER};
const coex_gc_type cx_type_array_builder = {.name = "array builder",
                                            .size = sizeof(struct array_builder),
                                            .ref_offsets = builder_refs,
                                            .ref_count = 1,
                                            .ref_names = array_names,
                                            .flags = COEX_GC_MUTABLE};

static struct array_builder *builder_live(coex_handle builder)
{
    struct array_builder *b = cx_value_as(builder, CX_TYPE_array_builder);
    if (b != NULL && b->element != 0) return b;
    cx_fail(b == NULL ? COEX_STATUS_KIND : COEX_STATUS_STALE);
    return NULL;
}

coex_handle coex_array_builder(coex_handle array)
{
    void *payload = NULL;
    if (array_as(array) == NULL) return 0;
    coex_handle *slot = coex_gc_enter_frame(1), builder = 0;
    if (array_duplicate(coex_gc_handle_deref(array), 0, &slot[0])) {
        builder = coex_gc_alloc_at(sizeof(struct array_builder), cx_values.id[CX_TYPE_array_builder], &payload);
        if (builder == 0) cx_fail_memory();
    }
    if (builder != 0) {
        const struct cx_array *a = coex_gc_handle_deref(array);
        *(struct array_builder *)payload = (struct array_builder){slot[0], a->length, a->element};
    }
    coex_gc_leave_frame(slot);
    return builder;
}

uint64_t coex_array_builder_len(coex_handle builder)
{
    const struct array_builder *b = builder_live(builder);
    return b != NULL ? b->length : 0;
}

/* Room for `length` elements in all. False with a status. */
static bool builder_reserve(coex_handle builder, uint64_t length)
{
    uint64_t bytes = 0;
    struct array_builder *b = coex_gc_handle_deref(builder);
    if (!array_bytes(length, b->element >> 1, &bytes)) return false;
    const struct cx_array_buffer *buffer = coex_gc_handle_deref(b->buffer);
    if (bytes <= (buffer == NULL ? 0 : buffer->capacity)) return true;
    coex_handle *slot = coex_gc_enter_frame(1);
    b = coex_gc_handle_deref(builder);
    uint64_t before = b->length * (b->element >> 1);
    struct cx_array now = {b->buffer, 0, b->length, b->element}; /* rooted by the builder */
    bool done = array_duplicate(&now, array_room(bytes, bytes - before), &slot[0]);
    if (done) coex_gc_store(builder, BUFFER, slot[0]);
    coex_gc_leave_frame(slot);
    return done;
}

bool coex_array_builder_append(coex_handle builder, const void *elements, uint64_t count)
{
    struct array_builder *b = builder_live(builder);
    if (b == NULL) return false;
    if (count > UINT64_MAX - b->length) return cx_fail_false(COEX_STATUS_SIZE);
    if (!builder_reserve(builder, b->length + count)) return false;
    b = coex_gc_handle_deref(builder);
    if (count != 0)
        array_fill(b->buffer, b->length * (b->element >> 1), elements, count * (b->element >> 1), (b->element & 1) != 0);
    ((struct array_builder *)coex_gc_handle_deref(builder))->length += count;
    return true;
}

/* Its place in the buffer's data, if there is such an element. */
static bool builder_place(const struct array_builder *b, uint64_t index, uint64_t *at)
{
    if (b == NULL) return false;
    if (index >= b->length) return cx_fail_false(COEX_STATUS_RANGE);
    *at = index * (b->element >> 1);
    return true;
}

bool coex_array_builder_set(coex_handle builder, uint64_t index, const void *element)
{
    uint64_t at = 0;
    struct array_builder *b = builder_live(builder);
    if (!builder_place(b, index, &at)) return false;
    cx_array_write(b->buffer, at, element, b->element >> 1, (b->element & 1) != 0);
    return true;
}

bool coex_array_builder_get(coex_handle builder, uint64_t index, void *element)
{
    uint64_t at = 0;
    const struct array_builder *b = builder_live(builder);
    if (!builder_place(b, index, &at)) return false;
    memcpy(element, ((const struct cx_array_buffer *)coex_gc_handle_deref(b->buffer))->data + at, b->element >> 1);
    return true;
}

bool coex_array_builder_resize(coex_handle builder, uint64_t length)
{
    struct array_builder *b = builder_live(builder);
    if (b == NULL || !builder_reserve(builder, length)) return false;
    b = coex_gc_handle_deref(builder);
    static const unsigned char
        zeros[256]; /* what is cut off is cleared: it keeps nothing alive, and is not seen when it grows again */
    uint64_t at = length * (b->element >> 1), end = b->length * (b->element >> 1), done = 0;
    for (; at < end; at += sizeof zeros, done += sizeof zeros) {
        cx_array_write(b->buffer, at, zeros, end - at < sizeof zeros ? end - at : sizeof zeros, (b->element & 1) != 0);
        if (done % PIECE == PIECE - sizeof zeros) coex_gc_safepoint();
        b = coex_gc_handle_deref(builder);
    }
    b->length = length;
    return true;
}

coex_handle coex_array_builder_finish(coex_handle builder)
{
    struct array_builder *b = builder_live(builder);
    if (b == NULL) return 0;
    coex_handle array = cx_array_wrap(b->length == 0 ? 0 : b->buffer, b->length, b->element);
    if (array == 0) return 0;
    b = coex_gc_handle_deref(builder);
    b->element = b->length = 0;
    coex_gc_store(builder, BUFFER, 0);
    return array;
}
