/* Writes the profile to a file: copies it in pieces under its lock, and then opens, resolves and writes without one. Entered by any
 * thread, which is in native mode meanwhile. */
#include "diag/events/profile_copy.h"

#include "diag/outfile.h"
#include "gc/api/runtime.h"
#include "gc/error.h"
#include "gc/threads/native_transition.h"

#include <coex/gc_diag.h>
#include <errno.h>
#include <string.h>

static int profile_refuse(const char *path, int reason)
{
    return cx_error_set(COEX_GC_EINVAL, "cannot write the profile to %.200s: %s", path, strerror(reason));
}

static int profile_write_copy(const struct cx_profile_copy *copy, const char *path)
{
    struct cx_outfile *file = cx_outfile_open(path);
    if (file == NULL) return profile_refuse(path, errno);
    int failed = cx_outfile_close(file, cx_pprof_write(cx_outfile_stream(file), copy));
    return failed == 0 ? COEX_GC_OK : profile_refuse(path, failed);
}

/* In native mode from the beginning to the end, and with no lock while the file is opened and written. */
int coex_gc_profile_write(const char *path)
{
    if (!cx_runtime_is_up()) return cx_error_set(COEX_GC_ESTATE, "coex_gc_profile_write: the runtime is not initialised");
    if (path == NULL || path[0] == '\0') return cx_error_set(COEX_GC_EINVAL, "coex_gc_profile_write: `path` must be the name of a file");
    struct cx_thread *self = cx_thread_self();
    struct cx_profile_copy copy = {0};
    int before = cx_os_hold_cancellation();
    if (self != NULL) cx_transition_enter_self(self);
    int code = cx_profile_copy_take(&copy);
    if (code == COEX_GC_OK) code = profile_write_copy(&copy, path);
    cx_profile_copy_free(&copy);
    if (self != NULL) cx_transition_leave_self(cx_thread_need_self("coex_gc_profile_write"));
    cx_os_allow_cancellation(before);
    return code;
}
