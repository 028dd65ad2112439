/* The last error of each thread: a code and a line of text. Set by the function that refuses a
 * call, and read through the API. */
#ifndef CX_GC_ERROR_H
#define CX_GC_ERROR_H

/* Records and returns `code`. */
int cx_error_set(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cx_error_clear(void);
int cx_error_code(void);
const char *cx_error_detail(void);
const char *cx_error_string(int code);

#endif
