/* See text.h. */
#include "diag/text.h"

#include "base/os.h"
#include "base/report.h"
#include "diag/output.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    TEXT_FIRST = 4096,
    TEXT_MOST = 1 << 20, /* bytes of a chunk */
    TEXT_NAME = 200,
    TEXT_LINE = 1024 /* what one print may make at most */
};

struct cx_text_chunk {
    struct cx_text_chunk *next;
    size_t size, used;
    char bytes[];
};

/* A chunk with room for a print; each is twice as large as the one before. NULL: no memory. */
static struct cx_text_chunk *text_room(struct cx_text *text)
{
    struct cx_text_chunk *last = text->last;
    if (last != NULL && last->size - last->used >= TEXT_LINE) return last;
    size_t size = last == NULL ? TEXT_FIRST : last->size * 2 < TEXT_MOST ? last->size * 2 : TEXT_MOST;
    struct cx_text_chunk *chunk = cx_os_allocate(sizeof *chunk + size);
    if (chunk == NULL) {
        text->cut = true;
        return NULL;
    }
    chunk->size = size;
    if (last != NULL)
        last->next = chunk;
    else
        text->first = chunk;
    text->last = chunk;
    return chunk;
}

static size_t text_clamp(int length, size_t room)
{
    if (length < 0) return 0;
    return (size_t)length < room ? (size_t)length : room - 1;
}

void cx_text_print(struct cx_text *text, const char *format, ...)
{
    char line[TEXT_LINE];
    struct cx_text_chunk *chunk = text->direct || text->cut ? NULL : text_room(text);
    va_list arguments;
    if (text->cut || (chunk == NULL && !text->direct)) return;
    va_start(arguments, format);
    char *at = chunk != NULL ? chunk->bytes + chunk->used : line;
    void *locale = cx_os_enter_c_locale();
    size_t length = text_clamp(vsnprintf(at, TEXT_LINE, format, arguments), TEXT_LINE);
    cx_os_leave_locale(locale);
    va_end(arguments);
    if (chunk != NULL)
        chunk->used += length;
    else
        cx_report_write(line, length);
}

void cx_text_name(struct cx_text *text, const char *name)
{
    char shown[TEXT_NAME + 1];
    size_t length = 0;
    for (; name[length] != '\0' && length < TEXT_NAME; length++) {
        unsigned char c = (unsigned char)name[length];
        shown[length] = c < 0x20 || c == 0x7f ? '?' : name[length];
    }
    shown[length] = '\0';
    cx_text_print(text, "%s", shown);
}

void cx_text_hex(struct cx_text *text, const unsigned char *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    char shown[3 * 64 + 1];
    for (size_t done = 0; done < count; done += 64) {
        size_t some = count - done < 64 ? count - done : 64, at = 0;
        for (size_t i = 0; i < some; i++) {
            shown[at++] = digits[bytes[done + i] >> 4];
            shown[at++] = digits[bytes[done + i] & 15];
            if (done + i + 1 < count) shown[at++] = ' ';
        }
        shown[at] = '\0';
        cx_text_print(text, "%s", shown);
    }
}

void cx_text_drop(struct cx_text *text)
{
    for (struct cx_text_chunk *chunk = text->first; chunk != NULL;) {
        struct cx_text_chunk *next = chunk->next;
        cx_os_free(chunk);
        chunk = next;
    }
    text->first = text->last = NULL;
}

/* The lock is held from a line's beginning to a line's end. */
void cx_text_write(struct cx_text *text)
{
    if (text->direct) return;
    bool open = false;
    for (const struct cx_text_chunk *chunk = text->first; chunk != NULL; chunk = chunk->next) {
        if (!open) cx_output_begin();
        cx_output_write(chunk->bytes, chunk->used);
        open = chunk->next != NULL && (chunk->used == 0 || chunk->bytes[chunk->used - 1] != '\n');
        if (!open) cx_output_end();
    }
    if (text->cut) cx_output_print("(cut short: there is no memory for the rest)\n");
    cx_text_drop(text);
}
