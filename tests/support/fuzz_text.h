/*
 * What the fuzz targets of the readers in tools/coexgc share: what a message and an output may look like.
 */
#ifndef COEX_TESTS_SUPPORT_FUZZ_TEXT_H
#define COEX_TESTS_SUPPORT_FUZZ_TEXT_H

#include "support/fuzz.h"

#include "json.h"

/* The length of the UTF-8 character at `text`, by a table of its own. A character that can't be seen ends the process. */
static inline size_t fuzz_check_character(const unsigned char *text, size_t left)
{
    unsigned char first = text[0];
    size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    fuzz_expect(length <= left && (first < 0x80 || (first >= 0xc2 && first <= 0xf4)));
    fuzz_expect(length > 1 || first == '\n' || (first >= 0x20 && first != 0x7f));
    fuzz_expect(!(first == 0xc2 && text[1] < 0xa0));                              /* C1 */
    fuzz_expect(!(first == 0xe2 && text[1] == 0x80 && (text[2] & 0xfe) == 0xa8)); /* line and paragraph separator */
    for (size_t i = 1; i < length; i++) fuzz_expect((text[i] & 0xc0) == 0x80);
    return length;
}

static inline void fuzz_check_text(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) i += fuzz_check_character((const unsigned char *)text + i, length - i);
}

/* A file that is refused has a message that names the place, and no other has one. */
static inline void fuzz_check_outcome(const struct json_reader *reader, bool good)
{
    unsigned long long line, column;
    fuzz_expect(good == (reader->error[0] == '\0'));
    fuzz_expect(good || sscanf(reader->error, "input:%llu:%llu: ", &line, &column) == 2);
    fuzz_expect(strchr(reader->error, '\n') == NULL);
}

#endif
