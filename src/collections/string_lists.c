/* Strings and the other collections: lists of parts, arrays of bytes. Entered by any managed thread. */
#include "collections/string.h"

#include <coex/collections/array.h>
#include <coex/collections/list.h>
#include <string.h>

/* --------------------------------------------------------- split and join */

/* Appends the parts to the list builder in slots[0]; slots[1] holds the part meanwhile. */
static bool lists_split(coex_handle *slots, coex_handle s, coex_handle separator, uint64_t limit)
{
    struct cx_string_text text, between;
    for (uint64_t from = 0;;) {
        if (!cx_string_open(s, &text) || !cx_string_open(separator, &between)) return false;
        uint64_t at = limit-- > 1 ? cx_string_find(&text, &between, from) : COEX_STRING_NONE;
        uint64_t step = between.length, end = at != COEX_STRING_NONE ? at : text.length;
        slots[1] = coex_string_slice(s, from, end);
        if (slots[1] == 0 || !coex_list_builder_append(slots[0], slots[1])) return false;
        if (at == COEX_STRING_NONE) return true;
        from = end + step;
    }
}

coex_handle coex_string_split_some(coex_handle s, coex_handle separator, uint64_t limit)
{
    struct cx_string_text text, between;
    if (!cx_string_need(s, &text) || !cx_string_need(separator, &between)) return 0;
    if (between.length == 0 || limit == 0) return cx_fail(COEX_STATUS_RANGE);
    coex_handle list = 0, *slots = coex_gc_enter_frame(2);
    slots[0] = coex_list_empty(true);
    if (slots[0] != 0) slots[0] = coex_list_builder(slots[0]);
    if (slots[0] != 0 && lists_split(slots, s, separator, limit)) list = coex_list_builder_finish(slots[0]);
    coex_gc_leave_frame(slots);
    return list;
}

coex_handle coex_string_split(coex_handle s, coex_handle separator) { return coex_string_split_some(s, separator, UINT64_MAX); }

/* One pass over strings that lie side by side in a list: adds up their length, and writes them if `to` is not NULL. Looks only. */
static bool lists_join_chunk(const uint64_t *words, uint64_t count, const struct cx_string_text *between, char *to, uint64_t *total,
                             bool *ascii)
{
    uint64_t sum = *total;
    for (uint64_t i = 0; i < count; i++) {
        struct cx_string_text text;
        if (!cx_string_need(words[i], &text)) return false;
        if (to != NULL) {
            memcpy(to + sum, text.text, text.length);
            memcpy(to + sum + text.length, between->text, between->length);
        }
        sum += text.length + between->length; /* each is below 2^45 and the sum is looked at: no overflow */
        if (sum > COEX_STRING_MAX) return cx_fail_false(COEX_STATUS_SIZE);
        *ascii = *ascii && cx_string_is_known_ascii(&text);
    }
    *total = sum;
    return true;
}

/* All but the last, and the last with nothing behind it. */
static bool lists_join(coex_handle list, const struct cx_string_text *between, char *to, uint64_t *total, bool *ascii)
{
    uint64_t length = coex_list_len(list), count;
    const struct cx_string_text nothing = {"", 0, NULL, NULL};
    *total = 0;
    for (uint64_t i = 0; i + 1 < length; i += count) {
        const uint64_t *words = coex_list_chunk(list, i, &count);
        if (words == NULL) return false;
        if (count > length - 1 - i) count = length - 1 - i;
        if (!lists_join_chunk(words, count, between, to, total, ascii)) return false;
    }
    uint64_t last = length != 0 ? coex_list_get(list, length - 1) : 0;
    return length == 0 || lists_join_chunk(&last, 1, &nothing, to, total, ascii);
}

coex_handle coex_string_join(coex_handle list, coex_handle separator)
{
    struct cx_string_text between;
    uint64_t total;
    char *text;
    if (!cx_string_need(separator, &between)) return 0;
    if (coex_kind_of(list) != COEX_KIND_LIST) return cx_fail(COEX_STATUS_KIND);
    if (coex_list_len(list) != 0 && !coex_list_has_handles(list)) return cx_fail(COEX_STATUS_KIND);
    bool ascii = cx_string_is_known_ascii(&between);
    if (!lists_join(list, &between, NULL, &total, &ascii)) return 0;
    coex_handle s = cx_string_alloc(total, ascii, &text);
    if (s == 0 || !cx_string_open(separator, &between)) return 0;
    return lists_join(list, &between, text, &total, &ascii) ? s : 0;
}

/* -------------------------------------------------------- arrays of bytes */

coex_handle coex_string_from_bytes(coex_handle array)
{
    char *text;
    bool ascii = true;
    if (coex_kind_of(array) != COEX_KIND_ARRAY || coex_array_elem_size(array) != 1) return cx_fail(COEX_STATUS_KIND);
    uint64_t count = coex_array_len(array);
    if (count > COEX_STRING_MAX) return cx_fail(COEX_STATUS_SIZE);
    if (count != 0 && cx_utf8_scan(coex_array_data(array), count, &ascii) != count) return cx_fail(COEX_STATUS_TEXT);
    coex_handle s = cx_string_alloc(count, ascii, &text);
    if (s != 0 && count != 0) memcpy(text, coex_array_data(array), count);
    return s;
}

/* By way of the stack: an array takes nothing from inside of the heap. */
static bool lists_append_bytes(coex_handle builder, coex_handle s)
{
    char piece[4096];
    uint64_t length = coex_string_len(s);
    for (uint64_t at = 0; at < length;) {
        uint64_t count = coex_string_copy(s, at, piece, sizeof piece);
        if (!coex_array_builder_append(builder, piece, count)) return false;
        at += count;
    }
    return true;
}

coex_handle coex_string_to_bytes(coex_handle s)
{
    struct cx_string_text text;
    if (!cx_string_need(s, &text)) return 0;
    coex_handle array = 0, *slots = coex_gc_enter_frame(1);
    slots[0] = coex_array_of(0, 1, false);
    if (slots[0] != 0) slots[0] = coex_array_builder(slots[0]);
    if (slots[0] != 0 && lists_append_bytes(slots[0], s)) array = coex_array_builder_finish(slots[0]);
    coex_gc_leave_frame(slots);
    return array;
}
