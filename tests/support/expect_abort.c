/*
 * expect_abort: runs a function in a forked process, with stderr in a pipe, and judges how that process ended.
 */
#include "support/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The message has to fit; what comes after is read and dropped, so that the child never blocks on the pipe. */
#define MESSAGE_SIZE 4096

/* The child leaves no core file, and nothing of the parent's buffered output a second time. */
static _Noreturn void child_run(int err, void (*fn)(void *), void *arg)
{
    signal(SIGABRT, SIG_DFL);
    prctl(PR_SET_DUMPABLE, 0);
    dup2(err, STDERR_FILENO);
    close(err);
    fn(arg);
    _exit(EXIT_SUCCESS);
}

static void read_all(int from, char *text, size_t size)
{
    char beyond[256];
    size_t length = 0;
    for (;;) {
        bool full = length == size - 1;
        ssize_t n = full ? read(from, beyond, sizeof beyond) : read(from, text + length, size - 1 - length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        if (!full) length += (size_t)n;
    }
    text[length] = '\0';
}

/* One line, ended, and with something on it. */
static bool is_one_line(const char *text)
{
    const char *end = strchr(text, '\n');
    return end != NULL && end != text && end[1] == '\0';
}

static int judge(int status, const char *text, const char *substring, char *why, size_t size)
{
    if (WIFEXITED(status)) {
        snprintf(why, size, "exited with status %d instead of aborting; stderr: \"%s\"", WEXITSTATUS(status), text);
    } else if (WTERMSIG(status) != SIGABRT) {
        snprintf(why, size, "ended by signal %d instead of SIGABRT; stderr: \"%s\"", WTERMSIG(status), text);
    } else if (!is_one_line(text)) {
        snprintf(why, size, "aborted, but without exactly one line on stderr: \"%s\"", text);
    } else if (strstr(text, substring) == NULL) {
        snprintf(why, size, "aborted, but \"%s\" is not in \"%s\"", substring, text);
    } else {
        return 0;
    }
    return -1;
}

int test_abort_verdict(void (*fn)(void *), void *arg, const char *substring, char *why, size_t size)
{
    int ends[2];
    if (pipe(ends) != 0) ck_abort_msg("pipe: %s", strerror(errno));
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) ck_abort_msg("fork: %s", strerror(errno));
    if (child == 0) {
        close(ends[0]);
        child_run(ends[1], fn, arg);
    }
    close(ends[1]);
    char text[MESSAGE_SIZE];
    read_all(ends[0], text, sizeof text);
    close(ends[0]);
    int status;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) ck_abort_msg("waitpid: %s", strerror(errno));
    }
    return judge(status, text, substring, why, size);
}

void test_expect_abort(const char *file, int line, void (*fn)(void *), void *arg, const char *substring)
{
    char why[MESSAGE_SIZE + 256];
    if (test_abort_verdict(fn, arg, substring, why, sizeof why) != 0) test_fail(file, line, "%s", why);
}
