/* Names for people. A name comes from a file that may have been written to deceive: an escape sequence changes the terminal, a line
 * feed forges a row, markup becomes part of a page. Every name that a command prints goes through one of these functions.
 *
 * A character is printed as it is if it is valid UTF-8 and can be seen. The others are control characters (C0, DEL, C1), the line and
 * paragraph separators, the characters that reorder text or have no width, and noncharacters. */
#ifndef COEXGC_TEXT_H
#define COEXGC_TEXT_H

#include <stddef.h>
#include <stdio.h>

#define TEXT_WHOLE ((size_t)-1) /* as `most`: the text is not cut */

/* Writes a text for a terminal: each byte of what can't be seen becomes \xNN. Stops behind `most` characters, at the end of one. */
void text_print(FILE *file, const char *text, size_t most);

/* Writes a text for HTML and SVG, as content or in a quoted attribute: markup becomes references, what can't be seen U+FFFD. */
void text_print_html(FILE *file, const char *text);

/* Copies a text into `room` bytes, cut between characters if it is too long. */
void text_copy(char *to, size_t room, const char *text);

#endif
