/* Strings and the other collections: lists of parts, arrays of bytes. Entered by any managed thread. */
#include "values/array/array.h"
#include "values/string/string.h"

#include <coex/values/array.h>
#include <coex/values/list.h>
#include <string.h>

/* --------------------------------------------------------- split and join */

enum { LISTS_CHUNK = 32 }; /* strings of a list that are copied out of it at once */

/* Appends the parts to the list builder in slots[0]; slots[1] holds the part meanwhile. */
static bool lists_split(struct cx_string_work *work, coex_handle *slots, coex_handle s, coex_handle separator, uint64_t limit)
{
    struct cx_string_text text, between;
    for (uint64_t from = 0;;) {
        if (!cx_string_open(s, &text) || !cx_string_open(separator, &between)) return false;
        uint64_t at = limit-- > 1 ? cx_string_find(work, &text, &between, from) : COEX_STRING_NONE;
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
    if (slots[0] != 0 && cx_string_open(s, &text) && cx_string_open(separator, &between)) {
        struct cx_string_work work = cx_string_work(text.length);
        cx_string_hold(&work, s, &text);
        cx_string_hold(&work, separator, &between);
        if (lists_split(&work, slots, s, separator, limit)) list = coex_list_builder_finish(slots[0]);
        cx_string_work_end(&work);
    }
    coex_gc_leave_frame(slots);
    return list;
}

coex_handle coex_string_split(coex_handle s, coex_handle separator) { return coex_string_split_some(s, separator, UINT64_MAX); }

/* One pass over the strings of a list: their lengths are added up, or they are written. */
struct join {
    coex_handle list, separator;
    char *to; /* NULL: only counts */
    uint64_t total;
    bool ascii;
    struct cx_string_work work;
};

/* Writes a string of any length, which is held for that long only. */
static void join_write(struct join *join, coex_handle s, const struct cx_string_text *text)
{
    struct cx_string_work *work = &join->work;
    uint32_t held = work->count;
    if (text->length > CX_VALUE_PIECE) cx_string_hold(work, s, text);
    join->to = cx_string_move(work, join->to, text->text, text->length);
    if (work->count > held) cx_string_release(work);
}

static bool join_add(struct join *join, coex_handle s)
{
    struct cx_string_text text;
    if (!cx_string_need(s, &text)) return false;
    join->total += text.length; /* each is below 2^45 and the sum is looked at: no overflow */
    if (join->total > COEX_STRING_MAX) return cx_fail_false(COEX_STATUS_SIZE);
    join->ascii = join->ascii && cx_string_is_known_ascii(&text);
    if (join->to != NULL)
        join_write(join, s, &text);
    else
        cx_string_did(&join->work, sizeof text);
    return true;
}

/* Strings that lie side by side in the list, from number `first` on. */
static bool join_chunk(struct join *join, const coex_handle *strings, uint64_t count, bool first)
{
    for (uint64_t i = 0; i < count; i++) {
        if (!(first && i == 0) && !join_add(join, join->separator)) return false;
        if (!join_add(join, strings[i])) return false;
    }
    return true;
}

/* A chunk is copied out of the heap, since a poll may come between two of its strings. */
static bool join_pass(struct join *join)
{
    uint64_t length = coex_list_len(join->list), count, strings[LISTS_CHUNK];
    join->total = 0;
    for (uint64_t i = 0; i < length; i += count) {
        const uint64_t *words = coex_list_chunk(join->list, i, &count);
        if (words == NULL) return false;
        if (count > LISTS_CHUNK) count = LISTS_CHUNK;
        memcpy(strings, words, count * sizeof *words);
        if (!join_chunk(join, strings, count, i == 0)) return false;
    }
    return true;
}

/* Counting polls by itself: it holds no address. */
coex_handle coex_string_join(coex_handle list, coex_handle separator)
{
    struct cx_string_text between;
    struct join join = {.list = list, .separator = separator, .work = {.polls = true}};
    if (!cx_string_need(separator, &between)) return 0;
    if (coex_kind_of(list) != COEX_KIND_LIST) return cx_fail(COEX_STATUS_KIND);
    if (coex_list_len(list) != 0 && !coex_list_has_handles(list)) return cx_fail(COEX_STATUS_KIND);
    join.ascii = cx_string_is_known_ascii(&between);
    if (!join_pass(&join)) return 0;
    coex_handle s = cx_string_alloc(join.total, join.ascii, &join.to);
    if (s == 0) return 0;
    join.work = cx_string_work(join.total);
    cx_string_pin(&join.work, s);
    bool done = join_pass(&join);
    cx_string_work_end(&join.work);
    return done ? s : 0;
}

/* -------------------------------------------------------- arrays of bytes */

coex_handle coex_string_from_bytes(coex_handle array)
{
    char *text = NULL;
    bool ascii = true;
    if (coex_kind_of(array) != COEX_KIND_ARRAY || coex_array_elem_size(array) != 1) return cx_fail(COEX_STATUS_KIND);
    uint64_t count = coex_array_len(array);
    if (count == 0) return cx_string_make("", 0, true);
    if (count > COEX_STRING_MAX) return cx_fail(COEX_STATUS_SIZE);
    coex_handle s = 0;
    struct cx_string_work work = cx_string_work(count);
    cx_string_pin(&work, ((const struct cx_array *)coex_gc_handle_deref(array))->buffer);
    bool valid = cx_string_scan(&work, coex_array_data(array), count, &ascii) == count;
    if (valid) s = cx_string_alloc(count, ascii, &text);
    if (s != 0) {
        cx_string_pin(&work, s);
        cx_string_move(&work, text, coex_array_data(array), count);
    }
    cx_string_work_end(&work);
    return valid ? s : cx_fail(COEX_STATUS_TEXT);
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
        if (at % CX_VALUE_PIECE == 0) coex_gc_safepoint();
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
