/* Files that the library writes on request: snapshots, traces, profiles.
 *
 * A regular file is written under a temporary name in the same folder (coexgc-<pid>-<n>.tmp) and renamed when it
 * is complete. So its name always refers to a complete file: the new one, or the old one if anything fails. The
 * new file takes over the mode of the old one, and a symbolic link keeps pointing to its target, which is
 * replaced. Pipes, devices and /dev/stdout are opened and written in place.
 *
 * Opening a pipe waits for its reader, so callers hold no lock that a mutator or the collector takes, and are in
 * native mode if their thread is registered. */
#ifndef CX_DIAG_OUTFILE_H
#define CX_DIAG_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

struct cx_outfile;

/* Returns a file to write to, or NULL with errno set. */
struct cx_outfile *cx_outfile_open(const char *path);
FILE *cx_outfile_stream(const struct cx_outfile *file);
/* Closes the file and frees it. `failed` is 0, or the errno of a write that failed. Puts the file in place if
 * nothing failed, closing included, else removes it. Returns 0 or the errno of the first failure. */
int cx_outfile_close(struct cx_outfile *file, int failed);

/* Returns 0 if cx_outfile_open would probably succeed now, else an errno. Creates and opens nothing. */
int cx_outfile_check(const char *path);

#endif
