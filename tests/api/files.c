/*
 * The files that the library writes (snapshots, traces, profiles): how they take the place of older ones, what happens
 * when a disk is full, and that a file that nobody reads holds nobody up.
 */
#include "support/limits.h"
#include "support/objects.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], path[128], target[128];

/* ---- three writers, which have the same promises ----------------------------------------------------------- */

static int write_snapshot(const char *name) { return coex_gc_write_heap_snapshot(name); }
static int write_profile(const char *name) { return coex_gc_profile_write(name); }

/* Starting is part of it: it must leave an old file alone, too. */
static int write_trace(const char *name)
{
    int code = coex_gc_trace_start(name);
    if (code != COEX_GC_OK) return code;
    coex_gc_collect();
    return coex_gc_trace_stop();
}

static const struct {
    const char *name;
    int (*write)(const char *name);
} writers[] = {{"snapshot", write_snapshot}, {"profile", write_profile}, {"trace", write_trace}};
enum { WRITERS = sizeof writers / sizeof writers[0] };

/* Something to write about: more than fits into the buffer of a stream. */
static uint32_t files_start(void)
{
    snprintf(folder, sizeof folder, "/tmp/coex-files-XXXXXX");
    expect(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(target, sizeof target, "%s/target", folder);
    start_quiet();
    uint32_t type = type_pair();
    ck_assert_int_eq(coex_gc_profile_start(64), COEX_GC_OK);
    for (int i = 0; i < 1000; i++) new_pair(type, 0, 0);
    return type;
}

static unsigned files_in_folder(void)
{
    unsigned count = 0;
    DIR *dir = opendir(folder);
    expect(dir != NULL);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return count;
}

static void files_end(void)
{
    unlink(path);
    unlink(target);
    expect_eq(files_in_folder(), 0); /* no temporary file is left */
    rmdir(folder);
    coex_gc_shutdown();
}

static void put_old(const char *name)
{
    FILE *old = fopen(name, "w");
    expect(old != NULL && fputs("old", old) >= 0 && fclose(old) == 0);
}

static bool is_old(const char *name)
{
    char text[8] = "";
    FILE *file = fopen(name, "r");
    expect(file != NULL);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    return length == 3 && strcmp(text, "old") == 0;
}

static struct stat stat_of(const char *name)
{
    struct stat found;
    expect(lstat(name, &found) == 0);
    return found;
}

/* ---- an older file ------------------------------------------------------------------------------------------ */

TEST(new_file_takes_over_the_mode_of_the_old_one)
{
    files_start();
    umask(022);
    for (int i = 0; i < WRITERS; i++) {
        put_old(path);
        ck_assert_int_eq(chmod(path, 0640), 0);
        ck_assert_int_eq(writers[i].write(path), COEX_GC_OK);
        ck_assert_msg(!is_old(path), "%s", writers[i].name);
        ck_assert_uint_eq(stat_of(path).st_mode & 07777, 0640);
        unlink(path);
        ck_assert_int_eq(writers[i].write(path), COEX_GC_OK); /* and a new one has what the umask says */
        ck_assert_uint_eq(stat_of(path).st_mode & 07777, 0644);
    }
    files_end();
}

TEST(symbolic_link_stays_and_its_target_is_replaced)
{
    files_start();
    for (int i = 0; i < WRITERS; i++) {
        put_old(target);
        ck_assert_int_eq(symlink(i == 0 ? target : "target", path), 0); /* absolute and relative */
        uint64_t inode = stat_of(target).st_ino;
        ck_assert_int_eq(writers[i].write(path), COEX_GC_OK);
        ck_assert(S_ISLNK(stat_of(path).st_mode));
        ck_assert_msg(!is_old(target), "%s", writers[i].name);
        ck_assert_uint_ne(stat_of(target).st_ino, inode); /* it was written beside, not over */
        unlink(target);
        ck_assert_int_eq(writers[i].write(path), COEX_GC_OK); /* a link to nothing makes its target */
        ck_assert(S_ISLNK(stat_of(path).st_mode) && S_ISREG(stat_of(target).st_mode));
        unlink(path);
    }
    files_end();
}

TEST(links_in_a_circle_are_refused)
{
    files_start();
    ck_assert_int_eq(symlink(target, path), 0);
    ck_assert_int_eq(symlink(path, target), 0);
    for (int i = 0; i < WRITERS; i++) {
        ck_assert_int_eq(writers[i].write(path), COEX_GC_EINVAL);
        ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), "symbolic links"));
    }
    files_end();
}

/* A limit on file sizes stands in for a full disk. */
static int write_on_a_full_disk(int (*write)(const char *name), const char *name)
{
    signal(SIGXFSZ, SIG_IGN);
    limit_resource(RLIMIT_FSIZE, 100);
    int code = write(name);
    limit_resource(RLIMIT_FSIZE, RLIM_INFINITY);
    return code;
}

TEST(full_disk_leaves_the_old_file_also_behind_a_link)
{
    files_start();
    for (int i = 0; i < WRITERS; i++) {
        put_old(target);
        ck_assert_int_eq(symlink(target, path), 0);
        ck_assert_int_eq(write_on_a_full_disk(writers[i].write, target), COEX_GC_EINVAL);
        ck_assert_msg(strstr(coex_gc_error_detail(), "File too large") != NULL, "%s", coex_gc_error_detail());
        ck_assert_msg(is_old(target), "%s", writers[i].name);
        ck_assert_int_eq(write_on_a_full_disk(writers[i].write, path), COEX_GC_EINVAL);
        ck_assert_msg(is_old(target), "%s through a link", writers[i].name);
        ck_assert_uint_eq(files_in_folder(), 2);
        unlink(path);
    }
    files_end();
}

TEST(trace_leaves_the_old_file_until_it_is_complete)
{
    files_start();
    put_old(path);
    ck_assert_int_eq(coex_gc_trace_start(path), COEX_GC_OK);
    coex_gc_collect();
    ck_assert(is_old(path));
    ck_assert_int_eq(coex_gc_trace_stop(), COEX_GC_OK);
    ck_assert(!is_old(path));
    files_end();
}

TEST(file_that_may_not_be_written_is_not_replaced)
{
    files_start();
    if (geteuid() == 0) {
        expect(chown(folder, 65534, (gid_t)-1) == 0);
        expect(seteuid(65534) == 0); /* root may write everything */
    }
    put_old(path);
    ck_assert_int_eq(chmod(path, 0444), 0);
    for (int i = 0; i < WRITERS; i++) {
        ck_assert_int_eq(writers[i].write(path), COEX_GC_EINVAL);
        ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), "Permission denied"));
    }
    ck_assert(is_old(path));
    if (getuid() == 0) expect(seteuid(0) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0); /* sanitizers look at the process at its end */
    files_end();
}

/* ---- what is not a regular file ------------------------------------------------------------------------------- */

TEST(devices_are_written_in_place)
{
    files_start();
    uint64_t full = stat_of("/dev/full").st_ino;
    for (int i = 0; i < WRITERS; i++) {
        ck_assert_int_eq(writers[i].write("/dev/null"), COEX_GC_OK);
        ck_assert_int_eq(writers[i].write("/dev/full"), COEX_GC_EINVAL);
        ck_assert_ptr_nonnull(strstr(coex_gc_error_detail(), "No space left"));
    }
    ck_assert_uint_eq(stat_of("/dev/full").st_ino, full);
    files_end();
}

/* The shell's `program > file`: what stands behind /dev/stdout is an open file, and another one must not take its place. */
TEST(standard_output_is_written_in_place)
{
    files_start();
    fflush(stdout);
    int before = dup(STDOUT_FILENO), file = open(path, O_RDWR | O_CREAT, 0600);
    uint64_t inode = stat_of(path).st_ino;
    expect(dup2(file, STDOUT_FILENO) >= 0);
    int code = COEX_GC_OK;
    for (int i = 0; i < WRITERS && code == COEX_GC_OK; i++) code = writers[i].write("/dev/stdout");
    expect(dup2(before, STDOUT_FILENO) >= 0);
    ck_assert_int_eq(code, COEX_GC_OK);
    ck_assert_uint_eq(stat_of(path).st_ino, inode);
    ck_assert_int_gt(stat_of(path).st_size, 100);
    close(file);
    close(before);
    files_end();
}

static void *read_all(void *result)
{
    FILE *pipe = fopen(path, "r");
    expect(pipe != NULL);
    while (fgetc(pipe) != EOF) ++*(uint64_t *)result;
    fclose(pipe);
    return NULL;
}

TEST(pipe_gets_the_whole_file)
{
    files_start();
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    for (int i = 0; i < WRITERS; i++) {
        pthread_t reader;
        uint64_t bytes = 0;
        expect(pthread_create(&reader, NULL, read_all, &bytes) == 0);
        ck_assert_int_eq(writers[i].write(path), COEX_GC_OK);
        pthread_join(reader, NULL);
        ck_assert_uint_gt(bytes, 100);
        ck_assert(S_ISFIFO(stat_of(path).st_mode));
    }
    files_end();
}

/* ---- a pipe that nobody reads ---------------------------------------------------------------------------------- */

static int (*waiting_write)(const char *name);

static void *write_to_the_pipe(void *result)
{
    coex_gc_register_thread();
    *(int *)result = waiting_write(path);
    coex_gc_unregister_thread();
    return NULL;
}

static bool a_thread_sleeps(void)
{
    bool sleeps = false;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *entry; (entry = readdir(tasks)) != NULL && !sleeps;) {
        char name[300], text[64] = "";
        snprintf(name, sizeof name, "/proc/self/task/%s/wchan", entry->d_name);
        FILE *file = fopen(name, "r");
        if (file == NULL) continue;
        sleeps =
            fgets(text, sizeof text, file) != NULL && (strstr(text, "fifo") != NULL || strstr(text, "wait_for_partner") != NULL);
        fclose(file);
    }
    closedir(tasks);
    return sleeps;
}

static void allocate_and_collect(uint32_t type)
{
    uint64_t cycles = stats_now().collections_completed;
    for (int i = 0; i < 20000; i++) new_pair(type, 0, 0);
    for (int i = 0; i < 3; i++) coex_gc_collect();
    expect(stats_now().collections_completed >= cycles + 3);
    ck_assert_int_eq(coex_gc_profile_write(target), COEX_GC_OK);
}

/* The child may begin and end a trace, whatever its parent's threads write. */
static void fork_and_trace(uint32_t type)
{
    (void)type;
    pid_t child = fork();
    if (child == 0) _exit(coex_gc_trace_start("/dev/null") == COEX_GC_OK && coex_gc_trace_stop() == COEX_GC_OK ? 0 : 1);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

/* Runs something while a thread waits for the reader of its pipe. */
static void beside_a_waiting(int (*write)(const char *name), void (*run)(uint32_t type), uint32_t type)
{
    pthread_t writer;
    uint64_t bytes = 0;
    int code = -1;
    waiting_write = write;
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect(pthread_create(&writer, NULL, write_to_the_pipe, &code) == 0);
    coex_gc_enter_native();
    for (int i = 0; i < 200 && !a_thread_sleeps(); i++) usleep(5000); /* kernels that hide it: a second is enough */
    coex_gc_leave_native();
    run(type);
    coex_gc_enter_native();
    read_all(&bytes);
    pthread_join(writer, NULL);
    coex_gc_leave_native();
    ck_assert_int_eq(code, COEX_GC_OK);
    ck_assert_uint_gt(bytes, 100);
    unlink(path);
}

TEST(profile_into_a_pipe_without_a_reader_stops_nobody)
{
    uint32_t type = files_start();
    beside_a_waiting(write_profile, allocate_and_collect, type);
    files_end();
}

TEST(snapshot_into_a_pipe_without_a_reader_stops_nobody)
{
    uint32_t type = files_start();
    beside_a_waiting(write_snapshot, allocate_and_collect, type);
    files_end();
}

static int write_running_trace(const char *name) { return coex_gc_trace_write(name); }

TEST(trace_into_a_pipe_without_a_reader_stops_nobody)
{
    uint32_t type = files_start();
    ck_assert_int_eq(coex_gc_trace_start("/dev/null"), COEX_GC_OK);
    beside_a_waiting(write_running_trace, allocate_and_collect, type);
    ck_assert_int_eq(coex_gc_trace_stop(), COEX_GC_OK);
    files_end();
}

TEST_LABEL(file_that_waits_for_its_reader_holds_up_no_fork, forks)
TEST(file_that_waits_for_its_reader_holds_up_no_fork)
{
    uint32_t type = files_start();
    ck_assert_int_eq(coex_gc_trace_start("/dev/null"), COEX_GC_OK);
    beside_a_waiting(write_running_trace, fork_and_trace, type);
    beside_a_waiting(write_profile, fork_and_trace, type);
    beside_a_waiting(write_snapshot, fork_and_trace, type);
    ck_assert_int_eq(coex_gc_trace_stop(), COEX_GC_OK);
    files_end();
}
