/* GLib: GString, g_strsplit, g_utf8_validate. Numbers use g_ascii_dtostr, which prints 17 digits
 * instead of the shortest form, and g_ascii_strtod. */
#include "peers/string.h"

#include <glib.h>

static uint64_t make(const struct string_pieces *pieces)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < pieces->count; i++) {
        GString *s = g_string_new_len(pieces->text + i * pieces->size, (gssize)pieces->size);
        sum += s->len;
        g_string_free(s, TRUE);
    }
    return sum;
}

static uint64_t append(const struct string_pieces *pieces)
{
    GString *s = g_string_new("");
    for (uint64_t i = 0; i < pieces->count; i++) g_string_append_len(s, pieces->text + i * pieces->size, (gssize)pieces->size);
    uint64_t length = s->len;
    g_string_free(s, TRUE);
    return length;
}

static uint64_t find(const char *text, uint64_t length, const char *what, uint64_t wanted)
{
    uint64_t count = 0;
    const char *end = text + length;
    for (const char *at = text; (at = g_strstr_len(at, end - at, what)) != NULL; at += wanted) count++;
    return count;
}

static uint64_t split(const char *text, uint64_t length)
{
    (void)length;
    gchar **lines = g_strsplit(text, "\n", -1);
    uint64_t count = g_strv_length(lines);
    g_strfreev(lines);
    return count;
}

static uint64_t check(const char *text, uint64_t length) { return g_utf8_validate(text, (gssize)length, NULL); }

static uint64_t write(const double *numbers, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        char text[G_ASCII_DTOSTR_BUF_SIZE];
        gchar *s = g_strdup(g_ascii_dtostr(text, sizeof text, numbers[i]));
        sum += s[0] != 0;
        g_free(s);
    }
    return sum;
}

static double read(const char *const *texts, uint64_t count)
{
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) sum += g_ascii_strtod(texts[i], NULL);
    return sum;
}

const struct string_subject string_subject_glib = {"glib", make, append, NULL, find, split, check, write, read};
