/* Coex strings: immutable UTF-8 text.
 *
 * A string is valid UTF-8 from birth: everything that comes in is checked (no overlong forms, no surrogates, nothing past U+10FFFF,
 * nothing cut off) and everything that cuts does so between characters. A *character* is a Unicode code point. Lengths, offsets and
 * ranges are in bytes, counted from 0, an end is the offset behind; functions that count characters say so. Zero bytes are allowed.
 *
 * Text lies in one piece: coex_string_data never has to assemble it. A slice shares the bytes it is cut from (short ones are copied),
 * and so keeps all of them alive: coex_string_compact lets go of the rest. Concatenating leaves room beside a long text, at the side
 * where it grew, and the next piece goes there without a copy: a long string that is built piece by piece, at its end, at its beginning or at
 * both, costs time in proportion to its length. A builder does the same without an object for each step. Cutting off the end of a long
 * string and appending something else copies all of it, each time: the bytes behind the cut are still those of the string that was cut. A
 * builder does that in place (coex_string_builder_truncate, then append).
 *
 * Errors are those of value.h: COEX_STATUS_KIND for what is no string, COEX_STATUS_RANGE for offsets outside or in the wrong order,
 * COEX_STATUS_TEXT for text that is not what it should be and for offsets inside of a character, COEX_STATUS_SIZE beyond COEX_STRING_MAX,
 * COEX_STATUS_MEMORY. Out-parameters are written on success only, unless they say otherwise.
 *
 * Safepoints are the functions that return a coex_handle and those of a builder that append. The other functions only look. Those of them
 * whose time grows with the text (chars, is_ascii, hash, copy, the comparisons, offset, the searches, unhex) poll after every
 * COEX_STRING_POLLED bytes, so that a long text keeps no collection waiting: they are safepoints if a text is longer than that.
 * C pointers that are passed in never point into the heap. */
#ifndef COEX_VALUES_STRING_H
#define COEX_VALUES_STRING_H

#include <coex/values/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* No string has more bytes. */
#define COEX_STRING_MAX ((uint64_t)1 << 44)
/* Functions that look at more bytes than this are safepoints. */
#define COEX_STRING_POLLED ((uint64_t)1 << 16)
/* No such place: what searching returns if there is nothing to find (no error), and on errors. */
#define COEX_STRING_NONE UINT64_MAX

/* ----------------------------------------------------------------- making */

/* Text from C. NULL is fine if there are 0 bytes. */
COEX_API coex_handle coex_string_from(const char *utf8, uint64_t bytes);
/* Up to the zero byte. NULL is COEX_STATUS_KIND. */
COEX_API coex_handle coex_string_from_c(const char *utf8);
/* Bytes of any kind: what is not UTF-8 becomes U+FFFD, once for each longest piece that begins a character (as browsers do). */
COEX_API coex_handle coex_string_from_lossy(const void *bytes, uint64_t count);
/* One character; COEX_STATUS_TEXT for surrogates and beyond U+10FFFF. */
COEX_API coex_handle coex_string_from_char(uint32_t character);

/* Are these bytes UTF-8? If not, *where (may be NULL) is the offset of the first that does not belong to a whole character. Needs no
 * runtime. */
COEX_API bool coex_utf8_check(const void *bytes, uint64_t count, uint64_t *where);

/* ---------------------------------------------------------------- looking */

COEX_API uint64_t coex_string_len(coex_handle s); /* bytes */
/* The bytes, valid until the next safepoint; no zero byte follows. NULL only for what is no string. */
COEX_API const char *coex_string_data(coex_handle s);
/* Characters. Takes no time if all are ASCII, else a pass over the bytes. */
COEX_API uint64_t coex_string_chars(coex_handle s);
COEX_API bool coex_string_is_ascii(coex_handle s);
/* Below 2^62, never 0 for a string; keyed, so different in each process; computed once. Equal strings have equal hashes. */
COEX_API uint64_t coex_string_hash(coex_handle s);
/* Copies bytes [from, from + room) or fewer into C memory; how many. Any offset up to the length, characters or not. */
COEX_API uint64_t coex_string_copy(coex_handle s, uint64_t from, void *buffer, uint64_t room);

COEX_API bool coex_string_equal(coex_handle a, coex_handle b);
/* Below 0, 0, above 0: by bytes, which is by code points. */
COEX_API int coex_string_compare(coex_handle a, coex_handle b);
/* The same with the letters A to Z taken as a to z; other characters are what they are. */
COEX_API bool coex_string_equal_ascii(coex_handle a, coex_handle b);
COEX_API int coex_string_compare_ascii(coex_handle a, coex_handle b);
COEX_API uint64_t coex_string_hash_ascii(coex_handle s); /* of equal_ascii; not cached */

/* ------------------------------------------------------------- characters */

/* The character at *offset, and *offset moves behind it. False at the end (no error), inside of a character (TEXT), outside (RANGE):
 *     for (uint64_t at = 0; coex_string_next(s, &at, &c);) … */
COEX_API bool coex_string_next(coex_handle s, uint64_t *offset, uint32_t *character);
/* The character before *offset, and *offset moves to its beginning. False at the beginning. */
COEX_API bool coex_string_previous(coex_handle s, uint64_t *offset, uint32_t *character);
/* The offset of the character with this number; that of number coex_string_chars(s) is the length. COEX_STRING_NONE beyond (RANGE). */
COEX_API uint64_t coex_string_offset(coex_handle s, uint64_t character);
/* Does a character begin at this offset, or does the string end there? */
COEX_API bool coex_string_is_boundary(coex_handle s, uint64_t offset);

/* -------------------------------------------------------------- searching */

/* The first place at or after `from`; an empty string is found at once. Linear time for any input. */
COEX_API uint64_t coex_string_find(coex_handle s, coex_handle what, uint64_t from);
/* The last place whose end is at or before `to` (COEX_STRING_NONE: the whole string). */
COEX_API uint64_t coex_string_find_last(coex_handle s, coex_handle what, uint64_t to);
COEX_API uint64_t coex_string_find_ascii(coex_handle s, coex_handle what, uint64_t from); /* A to Z as a to z */
/* How often, without overlap; COEX_STATUS_RANGE for an empty `what`. */
COEX_API uint64_t coex_string_count(coex_handle s, coex_handle what);
COEX_API bool coex_string_starts_with(coex_handle s, coex_handle what);
COEX_API bool coex_string_ends_with(coex_handle s, coex_handle what);

/* ------------------------------------------------------ parts and the whole */

/* Bytes [from, to). */
COEX_API coex_handle coex_string_slice(coex_handle s, uint64_t from, uint64_t to);
/* Characters [from, to). */
COEX_API coex_handle coex_string_slice_chars(coex_handle s, uint64_t from, uint64_t to);
/* Without spaces, tabs, line ends, vertical tabs and form feeds at both ends. */
COEX_API coex_handle coex_string_trim(coex_handle s);
/* The same text in memory of its own if it is a small part of what it keeps alive, else the string itself. */
COEX_API coex_handle coex_string_compact(coex_handle s);

COEX_API coex_handle coex_string_concat(coex_handle a, coex_handle b);
COEX_API coex_handle coex_string_repeat(coex_handle s, uint64_t times);
/* `with` in place of bytes [from, to). */
COEX_API coex_handle coex_string_splice(coex_handle s, uint64_t from, uint64_t to, coex_handle with);
/* `with` in place of each `what`, from the left, without overlap; the string itself if there is none. COEX_STATUS_RANGE for an empty
 * `what`. */
COEX_API coex_handle coex_string_replace(coex_handle s, coex_handle what, coex_handle with);
/* The same for the first `limit` of them. */
COEX_API coex_handle coex_string_replace_some(coex_handle s, coex_handle what, coex_handle with, uint64_t limit);
/* A list of the parts between separators, empty ones too: n separators make n + 1 parts. COEX_STATUS_RANGE for an empty separator. */
COEX_API coex_handle coex_string_split(coex_handle s, coex_handle separator);
/* The same with at most `limit` parts, the last of which is all the rest. COEX_STATUS_RANGE for a limit of 0. */
COEX_API coex_handle coex_string_split_some(coex_handle s, coex_handle separator, uint64_t limit);
/* The strings of a list with a separator between them; COEX_STATUS_KIND if something in it is no string. */
COEX_API coex_handle coex_string_join(coex_handle list, coex_handle separator);

COEX_API coex_handle coex_string_lower_ascii(coex_handle s); /* A to Z to a to z */
COEX_API coex_handle coex_string_upper_ascii(coex_handle s); /* a to z to A to Z */

/* ---------------------------------------------------------------- numbers */

/* Decimal, or with base 2 to 36 (digits beyond 9 are lower-case letters); COEX_STATUS_RANGE for another base. */
COEX_API coex_handle coex_string_from_int(int64_t value);
COEX_API coex_handle coex_string_from_int_base(int64_t value, unsigned base);
COEX_API coex_handle coex_string_from_uint_base(uint64_t value, unsigned base);
/* The shortest text that reads as the same double again: "0.1", "1.0", "1e16", "-0.0", "5e-324", "inf", "-inf", "nan". Finite ones are
 * numbers of JSON too, and never look like an integer. */
COEX_API coex_handle coex_string_from_float(double value);

/* The whole string is a number: [+-] and digits, no spaces. COEX_STATUS_TEXT if not, COEX_STATUS_RANGE if it does not fit. */
COEX_API bool coex_string_to_int(coex_handle s, int64_t *value);
COEX_API bool coex_string_to_int_base(coex_handle s, unsigned base, int64_t *value);
COEX_API bool coex_string_to_uint_base(coex_handle s, unsigned base, uint64_t *value);
/* The double nearest to [+-] digits [. digits] [e [+-] digits] (ties to even; too large is infinity), or inf, infinity, nan in either
 * case. COEX_STATUS_TEXT if it is no number. */
COEX_API bool coex_string_to_float(coex_handle s, double *value);

/* Bytes as two hexadecimal digits each, lower case. */
COEX_API coex_handle coex_string_hex(const void *bytes, uint64_t count);
/* And back, into C memory. True: *count bytes were written. COEX_STATUS_TEXT: not pairs of hexadecimal digits; COEX_STATUS_RANGE: more
 * than `room`. */
COEX_API bool coex_string_unhex(coex_handle s, void *bytes, uint64_t room, uint64_t *count);

/* An array of elements of one byte, and back; COEX_STATUS_TEXT if it is not UTF-8. */
COEX_API coex_handle coex_string_to_bytes(coex_handle s);
COEX_API coex_handle coex_string_from_bytes(coex_handle array);

/* --------------------------------------------------------------- builders */

/* Text that grows, used by one thread; `room` bytes at first (0: some). Each append is all or nothing. A finished builder is
 * COEX_STATUS_STALE. */
COEX_API coex_handle coex_string_builder_new(uint64_t room);
COEX_API bool coex_string_builder_append(coex_handle builder, coex_handle s);
COEX_API bool coex_string_builder_append_from(coex_handle builder, const char *utf8, uint64_t bytes);
COEX_API bool coex_string_builder_append_char(coex_handle builder, uint32_t character);
COEX_API bool coex_string_builder_append_int(coex_handle builder, int64_t value);
COEX_API bool coex_string_builder_append_float(coex_handle builder, double value);
/* Room for so many bytes more. */
COEX_API bool coex_string_builder_reserve(coex_handle builder, uint64_t bytes);
/* Cuts it back to its first `bytes`. Not a safepoint. */
COEX_API bool coex_string_builder_truncate(coex_handle builder, uint64_t bytes);
COEX_API uint64_t coex_string_builder_len(coex_handle builder);
/* The string; no byte is copied if it is long. If memory is exhausted the builder stays as it was. */
COEX_API coex_handle coex_string_builder_finish(coex_handle builder);

#ifdef __cplusplus
}
#endif

#endif
