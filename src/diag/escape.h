/* Names that the embedder gave (types, fields, counters, threads) may be any bytes. The files that the library
 * writes are UTF-8, so every name passes through here on its way into one. Any thread. */
#ifndef CX_DIAG_ESCAPE_H
#define CX_DIAG_ESCAPE_H

enum { CX_ESCAPE_ROOM = 5 }; /* a sequence of four bytes, or a backslash and a character, and the end */

/* Writes the next character of `text` to `piece` as UTF-8: a byte that is not part of a well-formed sequence and
 * a control character become '?'. Returns the text behind the character, or NULL at the end of `text`. */
const char *cx_escape_text(const char *text, char piece[CX_ESCAPE_ROOM]);
/* Does the same for a string of JSON: quotes and backslashes get a backslash before them. */
const char *cx_escape_json(const char *text, char piece[CX_ESCAPE_ROOM]);

#endif
