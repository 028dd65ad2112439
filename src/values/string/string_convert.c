/* Strings from other things, and other things from strings: numbers, hexadecimal, letters of another case, repetitions. Entered by
 * any managed thread. */
#include "values/number/number.h"
#include "values/string/string.h"

#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- numbers */

coex_handle coex_string_from_int(int64_t value)
{
    char text[CX_NUMBER_INT_MAX];
    return cx_string_make(text, cx_number_format_int64(text, value), true);
}

static bool convert_base_is_good(unsigned base) { return (base >= 2 && base <= 36) || cx_fail_false(COEX_STATUS_RANGE); }

coex_handle coex_string_from_uint_base(uint64_t value, unsigned base)
{
    char text[CX_NUMBER_INT_MAX];
    return convert_base_is_good(base) ? cx_string_make(text, cx_number_format_base(text, value, base), true) : 0;
}

coex_handle coex_string_from_int_base(int64_t value, unsigned base)
{
    char text[CX_NUMBER_INT_MAX + 1] = "-";
    if (!convert_base_is_good(base)) return 0;
    bool negative = value < 0;
    uint64_t size = negative ? 0 - (uint64_t)value : (uint64_t)value;
    return cx_string_make(text, cx_number_format_base(text + negative, size, base) + negative, true);
}

coex_handle coex_string_from_float(double value)
{
    char text[CX_NUMBER_DOUBLE_MAX];
    return cx_string_make(text, cx_number_format_double(text, value), true);
}

static unsigned convert_digit(char c)
{
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'z') return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'Z') return (unsigned)(c - 'A') + 10;
    return 99;
}

/* A sign and digits of a base. All of the text is looked at, so that what is no number is never called too large. */
static bool convert_integer(const struct cx_string_text *text, unsigned base, bool *negative, uint64_t *value)
{
    uint64_t at = 0, sum = 0;
    bool over = false;
    *negative = text->length != 0 && text->text[0] == '-';
    if (text->length != 0 && (text->text[0] == '-' || text->text[0] == '+')) at++;
    if (at == text->length) return cx_fail_false(COEX_STATUS_TEXT);
    for (; at < text->length; at++) {
        unsigned digit = convert_digit(text->text[at]);
        if (digit >= base) return cx_fail_false(COEX_STATUS_TEXT);
        over = over || __builtin_mul_overflow(sum, base, &sum) || __builtin_add_overflow(sum, digit, &sum);
    }
    *value = sum;
    return !over || cx_fail_false(COEX_STATUS_RANGE);
}

bool coex_string_to_uint_base(coex_handle s, unsigned base, uint64_t *value)
{
    struct cx_string_text text;
    bool negative;
    uint64_t sum;
    if (!convert_base_is_good(base) || !cx_string_need(s, &text) || !convert_integer(&text, base, &negative, &sum)) return false;
    if (negative && sum != 0) return cx_fail_false(COEX_STATUS_RANGE);
    *value = sum;
    return true;
}

bool coex_string_to_int_base(coex_handle s, unsigned base, int64_t *value)
{
    struct cx_string_text text;
    bool negative;
    uint64_t sum;
    if (!convert_base_is_good(base) || !cx_string_need(s, &text) || !convert_integer(&text, base, &negative, &sum)) return false;
    if (sum > (uint64_t)INT64_MAX + negative) return cx_fail_false(COEX_STATUS_RANGE);
    *value = (int64_t)(negative ? 0 - sum : sum);
    return true;
}

bool coex_string_to_int(coex_handle s, int64_t *value) { return coex_string_to_int_base(s, 10, value); }

/* Is this the word, in letters of either case? */
static bool convert_is_word(const char *text, uint64_t length, const char *word)
{
    if (length != strlen(word)) return false;
    for (uint64_t i = 0; i < length; i++) {
        if ((text[i] | 0x20) != word[i]) return false;
    }
    return true;
}

static bool convert_special(const struct cx_string_text *text, double *value)
{
    bool negative = text->length != 0 && text->text[0] == '-';
    bool sign = negative || (text->length != 0 && text->text[0] == '+');
    const char *word = text->text + sign;
    uint64_t length = text->length - sign;
    double special;
    if (convert_is_word(word, length, "inf") || convert_is_word(word, length, "infinity"))
        special = (double)INFINITY;
    else if (convert_is_word(word, length, "nan"))
        special = (double)NAN;
    else
        return cx_fail_false(COEX_STATUS_TEXT);
    *value = negative ? -special : special;
    return true;
}

bool coex_string_to_float(coex_handle s, double *value)
{
    struct cx_string_text text;
    struct cx_number number;
    if (!cx_string_need(s, &text)) return false;
    const char *end = text.text + text.length;
    if (cx_number_scan(text.text, end, CX_NUMBER_FREE, &number, NULL) != end) return convert_special(&text, value);
    *value = cx_number_to_double(&number);
    return true;
}

/* ------------------------------------------------------------ hexadecimal */

coex_handle coex_string_hex(const void *bytes, uint64_t count)
{
    const unsigned char *byte = bytes;
    char *text;
    if (count > COEX_STRING_MAX / 2) return cx_fail(COEX_STATUS_SIZE);
    if (count != 0 && bytes == NULL) return cx_fail(COEX_STATUS_KIND);
    coex_handle s = cx_string_alloc(2 * count, true, &text);
    if (s == 0) return 0;
    struct cx_string_work work = cx_string_work(2 * count);
    cx_string_pin(&work, s);
    for (uint64_t i = 0; i < count; i++) {
        text[2 * i] = "0123456789abcdef"[byte[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[byte[i] & 15];
        cx_string_did(&work, 2);
    }
    cx_string_work_end(&work);
    return s;
}

/* All of the text is checked before a byte is written. */
static coex_status convert_unhex(struct cx_string_work *work, const struct cx_string_text *text, unsigned char *byte, uint64_t room)
{
    for (uint64_t i = 0; i < text->length; i++) {
        if (convert_digit(text->text[i]) >= 16) return COEX_STATUS_TEXT;
        cx_string_did(work, 1);
    }
    if (text->length % 2 != 0) return COEX_STATUS_TEXT;
    if (text->length / 2 > room) return COEX_STATUS_RANGE;
    for (uint64_t i = 0; i < text->length; i += 2) {
        byte[i / 2] = (unsigned char)(convert_digit(text->text[i]) << 4 | convert_digit(text->text[i + 1]));
        cx_string_did(work, 2);
    }
    return COEX_STATUS_OK;
}

bool coex_string_unhex(coex_handle s, void *bytes, uint64_t room, uint64_t *count)
{
    struct cx_string_text text;
    if (!cx_string_need(s, &text)) return false;
    struct cx_string_work work = cx_string_work(text.length);
    cx_string_hold(&work, s, &text);
    coex_status status = convert_unhex(&work, &text, bytes, room);
    cx_string_work_end(&work);
    if (status != COEX_STATUS_OK) return cx_fail_false(status);
    *count = text.length / 2;
    return true;
}

/* ------------------------------------------------- other texts of the same */

/* Is there a letter from `first` to `last`? */
static bool convert_has_case(struct cx_string_work *work, const struct cx_string_text *text, char first, char last)
{
    for (uint64_t at = 0, end; at < text->length; at = end) {
        end = at + cx_string_piece(text->length - at);
        cx_string_did(work, end - at);
        while (at < end && (text->text[at] < first || text->text[at] > last)) at++;
        if (at < end) return true;
    }
    return false;
}

static void convert_letters(struct cx_string_work *work, const struct cx_string_text *text, char first, char last, char *to)
{
    for (uint64_t at = 0, end; at < text->length; at = end) {
        end = at + cx_string_piece(text->length - at);
        for (uint64_t i = at; i < end; i++) {
            char c = text->text[i];
            to[i] = c >= first && c <= last ? (char)(c ^ 0x20) : c;
        }
        cx_string_did(work, end - at);
    }
}

/* Letters from `first` to `last` become those of the other case. */
static coex_handle convert_case(coex_handle s, char first, char last)
{
    struct cx_string_text text;
    char *to;
    coex_handle result = s;
    if (!cx_string_need(s, &text)) return 0;
    bool ascii = cx_string_is_known_ascii(&text);
    struct cx_string_work work = cx_string_work(text.length);
    cx_string_hold(&work, s, &text);
    if (convert_has_case(&work, &text, first, last)) {
        result = cx_string_alloc(text.length, ascii, &to);
        if (result != 0 && cx_string_open(s, &text)) {
            cx_string_pin(&work, result);
            convert_letters(&work, &text, first, last, to);
        }
    }
    cx_string_work_end(&work);
    return result;
}

coex_handle coex_string_lower_ascii(coex_handle s) { return convert_case(s, 'A', 'Z'); }
coex_handle coex_string_upper_ascii(coex_handle s) { return convert_case(s, 'a', 'z'); }

coex_handle coex_string_repeat(coex_handle s, uint64_t times)
{
    struct cx_string_text text;
    uint64_t total;
    char *to;
    if (!cx_string_need(s, &text)) return 0;
    if (times == 1) return s;
    if (__builtin_mul_overflow(text.length, times, &total)) return cx_fail(COEX_STATUS_SIZE);
    coex_handle result = cx_string_alloc(total, cx_string_is_known_ascii(&text), &to);
    if (result == 0 || total == 0 || !cx_string_open(s, &text)) return result;
    struct cx_string_work work = cx_string_work(total);
    cx_string_hold(&work, s, &text);
    cx_string_pin(&work, result);
    cx_string_move(&work, to, text.text, text.length);
    for (uint64_t done = text.length; done < total;) { /* twice as much each time */
        uint64_t more = total - done < done ? total - done : done;
        cx_string_move(&work, to + done, to, more);
        done += more;
    }
    cx_string_work_end(&work);
    return result;
}

coex_handle coex_string_splice(coex_handle s, uint64_t from, uint64_t to, coex_handle with)
{
    struct cx_string_text text, other;
    char *result;
    if (!cx_string_need(s, &text) || !cx_string_need(with, &other)) return 0;
    if (from > to || to > text.length) return cx_fail(COEX_STATUS_RANGE);
    if (!cx_string_is_boundary(&text, from) || !cx_string_is_boundary(&text, to)) return cx_fail(COEX_STATUS_TEXT);
    bool ascii = (cx_string_both(&text, &other) & CX_STRING_ASCII) != 0;
    uint64_t total = text.length - (to - from) + other.length;
    coex_handle h = cx_string_alloc(total, ascii, &result);
    if (h == 0 || !cx_string_open(s, &text) || !cx_string_open(with, &other)) return 0;
    struct cx_string_work work = cx_string_work(total);
    cx_string_hold(&work, s, &text);
    cx_string_hold(&work, with, &other);
    cx_string_pin(&work, h);
    result = cx_string_move(&work, result, text.text, from);
    result = cx_string_move(&work, result, other.text, other.length);
    cx_string_move(&work, result, text.text + to, text.length - to);
    cx_string_work_end(&work);
    return h;
}
