/* See outfile.h. Entered by any thread. */
#include "diag/outfile.h"

#include "base/os.h"

#include <errno.h>

enum { OUTFILE_PATH = 4096 }; /* PATH_MAX of Linux */

struct cx_outfile {
    FILE *stream;
    bool plain;                /* written beside `target`, under the name `beside` */
    char target[OUTFILE_PATH]; /* what `path` names, behind all symbolic links */
    char beside[OUTFILE_PATH];
};

static FILE *outfile_create_beside(struct cx_outfile *file)
{
    int descriptor = cx_os_create_beside(file->target, file->beside, sizeof file->beside);
    if (descriptor < 0) return NULL;
    FILE *stream = cx_os_stream(descriptor);
    if (stream == NULL) remove(file->beside);
    return stream;
}

struct cx_outfile *cx_outfile_open(const char *path)
{
    struct cx_outfile *file = cx_os_allocate(sizeof *file);
    if (file == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    int failed = cx_os_find_target(path, file->target, sizeof file->target, &file->plain);
    if (failed == 0) {
        file->stream = file->plain ? outfile_create_beside(file) : fopen(file->target, "wb");
        failed = file->stream == NULL ? errno : 0;
    }
    if (failed == 0) return file;
    cx_os_free(file);
    errno = failed;
    return NULL;
}

FILE *cx_outfile_stream(const struct cx_outfile *file) { return file->stream; }

int cx_outfile_close(struct cx_outfile *file, int failed)
{
    if (failed == 0 && ferror(file->stream) != 0) failed = EIO;
    if (fclose(file->stream) != 0 && failed == 0) failed = errno;
    if (file->plain && failed == 0 && rename(file->beside, file->target) != 0) failed = errno;
    if (file->plain && failed != 0) remove(file->beside);
    cx_os_free(file);
    return failed;
}

int cx_outfile_check(const char *path)
{
    char target[OUTFILE_PATH];
    bool plain;
    int failed = cx_os_find_target(path, target, sizeof target, &plain);
    return failed != 0 ? failed : cx_os_may_write(target, plain);
}
