/* Coex strings: immutable UTF-8 text.
 *
 * A string is always valid UTF-8. All input is checked: overlong forms, surrogates, code points
 * above U+10FFFF and incomplete characters are refused. All cuts are made between characters. A
 * *character* is a Unicode code point. Lengths, offsets and ranges are in bytes and start at 0;
 * functions that count characters say so. A range [from, to) does not include `to`. Text may
 * contain zero bytes.
 *
 * The text of a string is contiguous, so coex_string_data never has to assemble it. A slice shares
 * the bytes of its string and keeps all of them alive, unless it is short enough to be copied.
 * coex_string_compact releases the rest. A concatenation leaves room beside a long text, on the
 * side where the text grew, and the next piece is written there. A long string that is built piece
 * by piece, at its end, at its beginning or at both, therefore takes time linear in its length. A
 * builder avoids the object for each step.
 *
 * To cut off the end of a long string and append something else copies the whole string each time,
 * because the bytes behind the cut still belong to the string that was cut. A builder does this in
 * place: coex_string_builder_truncate, then an append.
 *
 * Errors. <coex/values/value.h> has the rules. All functions fail with COEX_STATUS_KIND if an
 * argument is not a string. The other statuses are:
 *
 *   COEX_STATUS_RANGE   An offset is outside the string, or a range is reversed.
 *   COEX_STATUS_TEXT    Input is not UTF-8, an offset is inside a character, or a text does not
 *                       have the expected form.
 *   COEX_STATUS_SIZE    The result would have more than COEX_STRING_MAX bytes.
 *   COEX_STATUS_MEMORY  Memory or handles are exhausted.
 *
 * Results behind pointers are stored only on success, unless a comment says otherwise.
 *
 * Safepoints. Functions that return a new string, list or array are safepoints, and so are the
 * appends to a builder. The other functions only look. Those whose time grows with the text (chars,
 * is_ascii, hash, copy, the comparisons, offset, the searches, unhex) poll after every
 * COEX_STRING_POLLED bytes, so that a long text delays no collection. They are safepoints if a text
 * is longer than that. Pointers that are passed in must not point into the heap. */
#ifndef COEX_VALUES_STRING_H
#define COEX_VALUES_STRING_H

#include <coex/values/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest length of a string in bytes. */
#define COEX_STRING_MAX ((uint64_t)1 << 44)
/* Functions that read more bytes of a text than this are safepoints. */
#define COEX_STRING_POLLED ((uint64_t)1 << 16)

/* The result of a search that finds nothing, which records no status, and of a search that
 * fails. */
#define COEX_STRING_NONE UINT64_MAX

/* ----------------------------------------------------------------- creating */

/* Creates a string from `bytes` bytes at `utf8`. `utf8` may be NULL if `bytes` is 0. Returns 0 on
 * failure: with COEX_STATUS_TEXT if the bytes are not UTF-8. A safepoint. */
COEX_API coex_handle coex_string_from(const char *utf8, uint64_t bytes);

/* Creates a string from the text at `utf8`, up to its zero byte. Returns 0 on failure: with
 * COEX_STATUS_KIND if `utf8` is NULL, with COEX_STATUS_TEXT if it is not UTF-8. A safepoint. */
COEX_API coex_handle coex_string_from_c(const char *utf8);

/* Creates a string from `count` arbitrary bytes at `bytes`. Replaces bytes that are not UTF-8 by
 * U+FFFD as web browsers do: once for each longest incomplete character, and once for each other
 * invalid byte. Returns 0 on failure. A safepoint. */
COEX_API coex_handle coex_string_from_lossy(const void *bytes, uint64_t count);

/* Creates a string of one character. Returns 0 on failure: with COEX_STATUS_TEXT if `character` is
 * a surrogate or is above U+10FFFF. A safepoint. */
COEX_API coex_handle coex_string_from_char(uint32_t character);

/* Returns true if the `count` bytes at `bytes` are UTF-8. Otherwise returns false, and stores the
 * offset of the first byte that does not belong to a complete character in *where, unless `where`
 * is NULL. Needs no runtime and records no status. */
COEX_API bool coex_utf8_check(const void *bytes, uint64_t count, uint64_t *where);

/* ------------------------------------------------------------------ reading */

/* None of the functions of this section is a safepoint. */

/* Returns the length in bytes, or 0 on failure. */
COEX_API uint64_t coex_string_len(coex_handle s);

/* Returns the address of the text, which is valid until the next safepoint. No zero byte follows
 * the text. Returns NULL only if `s` is not a string. */
COEX_API const char *coex_string_data(coex_handle s);

/* Returns the number of characters, or 0 on failure. Takes constant time if the string is known to
 * be ASCII, and linear time otherwise. */
COEX_API uint64_t coex_string_chars(coex_handle s);

/* Returns true if all characters are ASCII. Returns false if not, or on failure. */
COEX_API bool coex_string_is_ascii(coex_handle s);

/* Returns the hash, which is computed once and cached. Equal strings have equal hashes within a
 * process. Hashes differ from process to process. The hash is between 1 and 2^62 - 1. Returns 0 on
 * failure. */
COEX_API uint64_t coex_string_hash(coex_handle s);

/* Copies at most `room` bytes from offset `from` to `buffer`, and returns their number. The range
 * may begin and end inside characters. Returns 0 on failure. */
COEX_API uint64_t coex_string_copy(coex_handle s, uint64_t from, void *buffer, uint64_t room);

/* Returns true if the texts are equal. Returns false if not, or on failure. */
COEX_API bool coex_string_equal(coex_handle a, coex_handle b);

/* Compares the texts by bytes, which is the order of their code points. Returns a negative number
 * if `a` comes first, 0 if they are equal or on failure, and a positive number if `b` comes
 * first. */
COEX_API int coex_string_compare(coex_handle a, coex_handle b);

/* Compares as coex_string_equal does, with the letters A to Z equal to a to z. */
COEX_API bool coex_string_equal_ascii(coex_handle a, coex_handle b);

/* Compares as coex_string_compare does, with the letters A to Z equal to a to z. */
COEX_API int coex_string_compare_ascii(coex_handle a, coex_handle b);

/* Returns a hash that is equal for strings that coex_string_equal_ascii finds equal. It is not
 * cached. Returns 0 on failure. */
COEX_API uint64_t coex_string_hash_ascii(coex_handle s);

/* --------------------------------------------------------------- characters */

/* None of the functions of this section is a safepoint. */

/* Stores the character at *offset in *character, moves *offset behind it and returns true. Returns
 * false at the end, which records no status, or on failure. An example is:
 *
 *     for (uint64_t at = 0; coex_string_next(s, &at, &c);) print(c); */
COEX_API bool coex_string_next(coex_handle s, uint64_t *offset, uint32_t *character);

/* Stores the character before *offset in *character, moves *offset to its beginning and returns
 * true. Returns false at the beginning, which records no status, or on failure. */
COEX_API bool coex_string_previous(coex_handle s, uint64_t *offset, uint32_t *character);

/* Returns the offset of the character with the number `character`, counted from 0. For the number
 * of all characters, returns the length. Returns COEX_STRING_NONE on failure. */
COEX_API uint64_t coex_string_offset(coex_handle s, uint64_t character);

/* Returns true if a character begins at `offset`, or if `offset` is the length. Returns false if
 * not, or on failure. */
COEX_API bool coex_string_is_boundary(coex_handle s, uint64_t offset);

/* ---------------------------------------------------------------- searching */

/* A search that finds nothing returns COEX_STRING_NONE and records no status. A search that fails
 * returns COEX_STRING_NONE and records one. Searches take linear time for any input. None of the
 * functions of this section is a safepoint. */

/* Returns the offset of the first occurrence of `what` at or after `from`. An empty `what` is found
 * at `from`. */
COEX_API uint64_t coex_string_find(coex_handle s, coex_handle what, uint64_t from);

/* Returns the offset of the last occurrence of `what` that ends at or before `to`. COEX_STRING_NONE
 * for `to` means the whole string. */
COEX_API uint64_t coex_string_find_last(coex_handle s, coex_handle what, uint64_t to);

/* Searches as coex_string_find does, with the letters A to Z equal to a to z. */
COEX_API uint64_t coex_string_find_ascii(coex_handle s, coex_handle what, uint64_t from);

/* Returns the number of occurrences of `what` that do not overlap. Returns 0 on failure: with
 * COEX_STATUS_RANGE if `what` is empty. */
COEX_API uint64_t coex_string_count(coex_handle s, coex_handle what);

/* Returns true if `s` begins with `what`. Returns false if not, or on failure. */
COEX_API bool coex_string_starts_with(coex_handle s, coex_handle what);

/* Returns true if `s` ends with `what`. Returns false if not, or on failure. */
COEX_API bool coex_string_ends_with(coex_handle s, coex_handle what);

/* ------------------------------------------------------- cutting and joining */

/* The functions of this section return 0 on failure. They are safepoints. */

/* Returns the bytes [from, to) of `s`. */
COEX_API coex_handle coex_string_slice(coex_handle s, uint64_t from, uint64_t to);

/* Returns the characters [from, to) of `s`. */
COEX_API coex_handle coex_string_slice_chars(coex_handle s, uint64_t from, uint64_t to);

/* Returns `s` without the spaces, tabs, line feeds, carriage returns, vertical tabs and form feeds
 * at both ends. */
COEX_API coex_handle coex_string_trim(coex_handle s);

/* Returns a copy of `s` if `s` is a small part of the bytes that it keeps alive. Otherwise returns
 * `s` itself. */
COEX_API coex_handle coex_string_compact(coex_handle s);

/* Returns the text of `a` followed by the text of `b`. */
COEX_API coex_handle coex_string_concat(coex_handle a, coex_handle b);

/* Returns the text of `s`, `times` times. */
COEX_API coex_handle coex_string_repeat(coex_handle s, uint64_t times);

/* Returns `s` with `with` in place of the bytes [from, to). */
COEX_API coex_handle coex_string_splice(coex_handle s, uint64_t from, uint64_t to,
                                        coex_handle with);

/* Returns `s` with `with` in place of each occurrence of `what`, from the left and without overlap.
 * Returns `s` itself if there is none. Fails with COEX_STATUS_RANGE if `what` is empty. */
COEX_API coex_handle coex_string_replace(coex_handle s, coex_handle what, coex_handle with);

/* Replaces the first `limit` occurrences as coex_string_replace does. */
COEX_API coex_handle coex_string_replace_some(coex_handle s, coex_handle what, coex_handle with,
                                              uint64_t limit);

/* Returns a list of the parts between the occurrences of `separator`, including empty parts. n
 * separators give n + 1 parts. Fails with COEX_STATUS_RANGE if `separator` is empty. */
COEX_API coex_handle coex_string_split(coex_handle s, coex_handle separator);

/* Splits as coex_string_split does into at most `limit` parts. The last part is the rest of the
 * text. Fails with COEX_STATUS_RANGE if `separator` is empty or `limit` is 0. */
COEX_API coex_handle coex_string_split_some(coex_handle s, coex_handle separator, uint64_t limit);

/* Returns the strings of `list` with `separator` between them. Fails with COEX_STATUS_KIND if an
 * element of `list` is not a string. */
COEX_API coex_handle coex_string_join(coex_handle list, coex_handle separator);

/* Returns `s` with the letters A to Z replaced by a to z. */
COEX_API coex_handle coex_string_lower_ascii(coex_handle s);

/* Returns `s` with the letters a to z replaced by A to Z. */
COEX_API coex_handle coex_string_upper_ascii(coex_handle s);

/* ------------------------------------------------------------------ numbers */

/* Functions that return a handle return 0 on failure and are safepoints. Functions that return a
 * bool return false on failure and are not. */

/* Returns `value` in decimal. */
COEX_API coex_handle coex_string_from_int(int64_t value);

/* Returns `value` in base `base`, 2 to 36. Digits above 9 are lower-case letters. Fails with
 * COEX_STATUS_RANGE if `base` is invalid. */
COEX_API coex_handle coex_string_from_int_base(int64_t value, unsigned base);

/* Returns the unsigned `value` in base `base` as coex_string_from_int_base does. */
COEX_API coex_handle coex_string_from_uint_base(uint64_t value, unsigned base);

/* Returns the shortest text that reads as the same double: "0.1", "1.0", "1e16", "-0.0", "5e-324",
 * "inf", "-inf", "nan". The text of a finite number is also a number in JSON, and never looks like
 * an integer. */
COEX_API coex_handle coex_string_from_float(double value);

/* Reads the whole string as a decimal integer: an optional sign and digits, without spaces. Fails
 * with COEX_STATUS_TEXT if it is not one, and with COEX_STATUS_RANGE if it does not fit. */
COEX_API bool coex_string_to_int(coex_handle s, int64_t *value);

/* Reads an integer in base `base`, 2 to 36, as coex_string_to_int does. Fails with
 * COEX_STATUS_RANGE if `base` is invalid. */
COEX_API bool coex_string_to_int_base(coex_handle s, unsigned base, int64_t *value);

/* Reads an unsigned integer in base `base` as coex_string_to_int_base does. */
COEX_API bool coex_string_to_uint_base(coex_handle s, unsigned base, uint64_t *value);

/* Reads the whole string as a number: [+-] digits [. digits] [e [+-] digits], or inf, infinity or
 * nan in upper or lower case. Stores the nearest double, with ties to even. A number that is too
 * large gives infinity. Fails with COEX_STATUS_TEXT if the text is not a number. */
COEX_API bool coex_string_to_float(coex_handle s, double *value);

/* Returns the `count` bytes at `bytes` as two lower-case hexadecimal digits each. */
COEX_API coex_handle coex_string_hex(const void *bytes, uint64_t count);

/* Reads pairs of hexadecimal digits, writes the bytes to `bytes`, which has room for `room` bytes,
 * and stores their number in *count. Fails with COEX_STATUS_TEXT if the text is something else, and
 * with COEX_STATUS_RANGE if there are more than `room` bytes. */
COEX_API bool coex_string_unhex(coex_handle s, void *bytes, uint64_t room, uint64_t *count);

/* Returns the bytes of `s` as an array with elements of one byte. */
COEX_API coex_handle coex_string_to_bytes(coex_handle s);

/* Returns the string whose bytes are the elements of `array`, which have one byte each. Fails with
 * COEX_STATUS_TEXT if they are not UTF-8. */
COEX_API coex_handle coex_string_from_bytes(coex_handle array);

/* ----------------------------------------------------------------- builders */

/* A builder is a text that one thread extends in place. Functions that return a bool return false
 * on failure, and then have changed nothing. After coex_string_builder_finish, they fail with
 * COEX_STATUS_STALE. */

/* Creates a builder with room for `room` bytes. 0 means a default. Returns 0 on failure. A
 * safepoint. */
COEX_API coex_handle coex_string_builder_new(uint64_t room);

/* Appends the string `s`. A safepoint. */
COEX_API bool coex_string_builder_append(coex_handle builder, coex_handle s);

/* Appends `bytes` bytes of UTF-8 at `utf8`. Fails with COEX_STATUS_TEXT if they are not. A
 * safepoint. */
COEX_API bool coex_string_builder_append_from(coex_handle builder, const char *utf8,
                                              uint64_t bytes);

/* Appends one character. Fails with COEX_STATUS_TEXT if `character` is a surrogate or is above
 * U+10FFFF. A safepoint. */
COEX_API bool coex_string_builder_append_char(coex_handle builder, uint32_t character);

/* Appends `value` as coex_string_from_int writes it. A safepoint. */
COEX_API bool coex_string_builder_append_int(coex_handle builder, int64_t value);

/* Appends `value` as coex_string_from_float writes it. A safepoint. */
COEX_API bool coex_string_builder_append_float(coex_handle builder, double value);

/* Makes room for `bytes` more bytes. A safepoint. */
COEX_API bool coex_string_builder_reserve(coex_handle builder, uint64_t bytes);

/* Removes everything after the first `bytes` bytes. Not a safepoint. */
COEX_API bool coex_string_builder_truncate(coex_handle builder, uint64_t bytes);

/* Returns the length in bytes, or 0 on failure. Not a safepoint. */
COEX_API uint64_t coex_string_builder_len(coex_handle builder);

/* Returns the string and ends the builder. The bytes of a long text are not copied. On failure,
 * returns 0 and leaves the builder unchanged. A safepoint. */
COEX_API coex_handle coex_string_builder_finish(coex_handle builder);

#ifdef __cplusplus
}
#endif

#endif
