/* The text of a dump, made in memory first and written when it is complete: who makes it (the collector, during a visit) never waits for
 * the stream, and who waits for the stream does so in native mode.
 *
 * One user at a time. A *direct* text goes straight to standard error instead: no memory, no lock, for debuggers in a process that stands
 * still. */
#ifndef CX_DIAG_TEXT_H
#define CX_DIAG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cx_text_chunk;

struct cx_text {
    struct cx_text_chunk *first, *last;
    bool direct;
    bool cut; /* there was no memory for the rest */
};

void cx_text_print(struct cx_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A name of the embedder's: what is not printable becomes '?', and it ends after 200 bytes. */
void cx_text_name(struct cx_text *text, const char *name);
/* Bytes in hex, two digits each, with blanks between. */
void cx_text_hex(struct cx_text *text, const unsigned char *bytes, size_t count);
/* Writes it to the stream that dumps go to (coex_gc_set_output), and frees it. Lines of other threads come between its lines at most. */
void cx_text_write(struct cx_text *text);
void cx_text_drop(struct cx_text *text);

#endif
