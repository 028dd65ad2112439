/* The stream that dumps, traces and messages of the runtime go to. Any thread. */
#ifndef CX_DIAG_OUTPUT_H
#define CX_DIAG_OUTPUT_H

#include <stddef.h>

/* Writes to the stream that dumps and traces go to, under a lock; or piece by piece between begin and end. */
void cx_output_begin(void);
void cx_output_write(const char *text, size_t length);
void cx_output_end(void);
void cx_output_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Around fork: nobody writes in between. */
void cx_output_fork_lock(void);
void cx_output_fork_unlock(void);

#endif
