/* The interface of the subjects of the string benchmark. Each subject does the same work on the
 * same text. A function is NULL if the subject has no such operation. Every function returns a
 * number that must be the same for all subjects. */
#ifndef BENCH_PEERS_STRING_H
#define BENCH_PEERS_STRING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Pieces of text side by side; piece i is bytes [i * size, (i + 1) * size). */
struct string_pieces {
    const char *text;
    uint64_t size, count;
};

struct string_subject {
    const char *name;
    uint64_t (*make)(const struct string_pieces *pieces);   /* one string of each piece, dropped at once; the sum of the lengths */
    uint64_t (*append)(const struct string_pieces *pieces); /* all in one string, a buffer that grows; its length */
    uint64_t (*concat)(const struct string_pieces *pieces); /* the same with s = s + piece */
    uint64_t (*find)(const char *text, uint64_t length, const char *what, uint64_t wanted); /* in one long string; how often */
    uint64_t (*split)(const char *text, uint64_t length);                                   /* into lines; how many */
    uint64_t (*check)(const char *text, uint64_t length);                                   /* is it UTF-8? */
    uint64_t (*write)(const double *numbers, uint64_t count); /* shortest text; the sum of the lengths */
    double (*read)(const char *const *texts, uint64_t count); /* the sum of the numbers */
};

extern const struct string_subject string_subject_std;
extern const struct string_subject string_subject_glib;

#ifdef __cplusplus
}
#endif

#endif
