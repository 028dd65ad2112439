/* Files. Every operation that may wait for the system runs in native mode, so that a program
 * that waits for input or for a slow disk does not delay a collection. In native mode the thread
 * does not touch the heap. Output is printed into C memory first, and input becomes a string
 * afterwards.
 *
 * The streams are in a table in C memory. A port names a stream by an index and a generation, so
 * that every thread can detect a closed port. Each stream has a lock, which is also taken in
 * native mode. */
#include "lisp.h"

#include <errno.h>
#include <stdlib.h>

enum { STREAM_IN, STREAM_OUT, STREAMS = 64 };

static struct stream {
    pthread_mutex_t lock; /* of the other two */
    FILE *file;           /* NULL: closed */
    uint64_t generation;  /* files that have been here before */
} streams[STREAMS];

void ports_init(void)
{
    for (int i = 0; i < STREAMS; i++) pthread_mutex_init(&streams[i].lock, NULL);
    streams[STREAM_IN].file = stdin;
    streams[STREAM_OUT].file = stdout;
}

/* --------------------------------------------------------- in native mode */

/* The stream of a port, locked; NULL if it is closed. */
static struct stream *stream_acquire(struct port port)
{
    struct stream *stream = &streams[port.index];
    pthread_mutex_lock(&stream->lock);
    if (stream->file != NULL && stream->generation == port.generation) return stream;
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

static void stream_release(struct stream *stream) { pthread_mutex_unlock(&stream->lock); }

/* 0, or why not; the text is freed. */
static int stream_write(struct port port, struct buffer *text)
{
    struct stream *stream = stream_acquire(port);
    int error = EBADF;
    if (stream != NULL) {
        bool written = text->length == 0 || fwrite(text->text, 1, text->length, stream->file) == text->length;
        error = written ? 0 : errno;
        stream_release(stream);
    }
    free(text->text);
    return error;
}

/* The line's length without its end; -1: no more. False: the port is closed. */
static bool stream_read_line(struct port port, char **line, ssize_t *length)
{
    size_t capacity = 0;
    struct stream *stream = stream_acquire(port);
    if (stream == NULL) return false;
    *length = getline(line, &capacity, stream->file);
    stream_release(stream);
    if (*length > 0 && (*line)[*length - 1] == '\n') --*length;
    return true;
}

static bool stream_close(struct port port)
{
    struct stream *stream = stream_acquire(port);
    if (stream == NULL) return false;
    bool good = fclose(stream->file) == 0;
    stream->file = NULL;
    stream->generation++;
    stream_release(stream);
    return good;
}

/* Puts an open file into the table, or closes it: the table is full, and that is false. */
static bool stream_add(FILE *file, struct port *port)
{
    for (uint64_t i = 0; i < STREAMS; i++) {
        pthread_mutex_lock(&streams[i].lock);
        bool free = streams[i].file == NULL;
        if (free) streams[i].file = file;
        *port = (struct port){i, streams[i].generation};
        pthread_mutex_unlock(&streams[i].lock);
        if (free) return true;
    }
    fclose(file);
    return false;
}

static bool read_stream(FILE *stream, struct buffer *text)
{
    char block[4096];
    size_t length;
    while ((length = fread(block, 1, sizeof block, stream)) > 0) buffer_add(text, block, length);
    return !ferror(stream);
}

static bool read_and_close(FILE *file, struct buffer *text)
{
    bool good = read_stream(file, text);
    fclose(file);
    return good;
}

/* ------------------------------------------------------------- primitives */

static struct port need_port(struct vm *vm, unsigned count, const value *arguments, unsigned at, uint64_t otherwise)
{
    if (at >= count) return (struct port){otherwise, 0};
    need_kind(vm, arguments[at], KIND_PORT);
    return *(const struct port *)coex_gc_handle_deref(arguments[at]);
}

static value print_to_port(struct vm *vm, value v, struct port port, bool write)
{
    struct buffer buffer = {0};
    print_value(&buffer, v, write);
    int error;
    COEX_GC_NATIVE(error = stream_write(port, &buffer));
    if (error != 0) raise_error(vm, 0, "%s", error == EBADF ? "the port is closed" : strerror(error));
    return UNSPECIFIED;
}

PRIMITIVE(do_display) { return print_to_port(vm, arguments[0], need_port(vm, count, arguments, 1, STREAM_OUT), false); }

PRIMITIVE(do_write) { return print_to_port(vm, arguments[0], need_port(vm, count, arguments, 1, STREAM_OUT), true); }

PRIMITIVE(do_newline) { return print_to_port(vm, from_character('\n'), need_port(vm, count, arguments, 0, STREAM_OUT), false); }

PRIMITIVE(do_read_line)
{
    char *line = NULL;
    ssize_t length = 0;
    struct port port = need_port(vm, count, arguments, 0, STREAM_IN);
    bool open;
    COEX_GC_NATIVE(open = stream_read_line(port, &line, &length));
    value string = END_OF_FILE;
    if (open && length >= 0) {
        void *payload;
        string = coex_gc_alloc_at((uint64_t)length, type_ids[KIND_STRING], &payload);
        if (string != 0) memcpy(payload, line, (size_t)length);
    }
    free(line); /* before anything is raised */
    if (!open) raise_error(vm, 0, "the port is closed");
    if (string == 0) raise_out_of_memory(vm);
    return string;
}

/* A C string of a name, in `room`. */
static void need_path(struct vm *vm, value path, char *room, size_t size)
{
    need_kind(vm, path, KIND_STRING);
    if (string_length(path) >= size) raise_error(vm, path, "too long a name");
    memcpy(room, string_text(path), string_length(path));
    room[string_length(path)] = '\0';
}

static FILE *open_file(struct vm *vm, value path, const char *mode)
{
    char name[1024];
    need_path(vm, path, name, sizeof name);
    FILE *file;
    int error;
    COEX_GC_NATIVE(file = fopen(name, mode); error = errno);
    if (file == NULL) raise_error(vm, path, "%s", strerror(error));
    return file;
}

static value open_port(struct vm *vm, value path, const char *mode)
{
    struct port port;
    FILE *file = open_file(vm, path, mode);
    bool added;
    COEX_GC_NATIVE(added = stream_add(file, &port));
    if (!added) raise_error(vm, path, "too many open files");
    void *payload;
    value result = new_object(vm, KIND_PORT, sizeof port, &payload);
    *(struct port *)payload = port;
    return result;
}

PRIMITIVE(do_open_input_file) { return open_port(vm, arguments[0], "r"); }

PRIMITIVE(do_open_output_file) { return open_port(vm, arguments[0], "w"); }

PRIMITIVE(do_close_port)
{
    struct port port = need_port(vm, count, arguments, 0, STREAM_OUT);
    bool closed;
    COEX_GC_NATIVE(closed = stream_close(port));
    return from_bool(closed);
}

PRIMITIVE(do_delete_file)
{
    char name[1024];
    need_path(vm, arguments[0], name, sizeof name);
    bool gone;
    COEX_GC_NATIVE(gone = remove(name) == 0);
    return from_bool(gone);
}

PRIMITIVE(do_load)
{
    char name[1024];
    struct buffer text = {0};
    FILE *file = open_file(vm, arguments[0], "r");
    need_path(vm, arguments[0], name, sizeof name);
    bool good;
    COEX_GC_NATIVE(good = read_and_close(file, &text));
    if (!good) {
        free(text.text);
        raise_error(vm, arguments[0], "it can't be read");
    }
    return vm_load(vm, name, &text);
}

const struct definition port_primitives[] = {
    {"display", do_display, 1, 2},
    {"write", do_write, 1, 2},
    {"newline", do_newline, 0, 1},
    {"read-line", do_read_line, 0, 1},
    {"open-input-file", do_open_input_file, 1, 1},
    {"open-output-file", do_open_output_file, 1, 1},
    {"close-port", do_close_port, 1, 1},
    {"delete-file", do_delete_file, 1, 1},
    {"load", do_load, 1, 1},
    {NULL, NULL, 0, 0},
};
