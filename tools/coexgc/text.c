/* See text.h. */
#include "text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Ranges of characters that can't be seen, or that change how others are seen. */
static const uint32_t text_hidden[][2] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},   {0x180e, 0x180e},
                                          {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},  {0xfdd0, 0xfdef}, {0xfeff, 0xfeff},
                                          {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe0fff}};

static bool text_is_visible(uint32_t c)
{
    for (size_t i = 0; i < sizeof text_hidden / sizeof text_hidden[0]; i++) {
        if (c >= text_hidden[i][0] && c <= text_hidden[i][1]) return false;
    }
    return true;
}

/* Returns the number of bytes of the character at `text`, 0 if there is none in valid UTF-8. The text ends with a 0 byte, which is no
 * continuation: no byte behind it is read. */
static size_t text_decode(const unsigned char *text, uint32_t *c)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : text[0] < 0xf5 ? 4 : 0;
    *c = length < 2 ? text[0] : text[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
        *c = *c << 6 | (text[i] & 0x3f);
    }
    bool good = length != 0 && *c >= least[length] && *c <= 0x10ffff && !(*c >= 0xd800 && *c <= 0xdfff);
    return good ? length : 0;
}

void text_print(FILE *file, const char *text, size_t most)
{
    const unsigned char *at = (const unsigned char *)text;
    for (size_t written = 0; *at != '\0' && written < most; written++) {
        uint32_t c;
        size_t length = text_decode(at, &c), bytes = length == 0 ? 1 : length;
        if (length != 0 && text_is_visible(c))
            fwrite(at, 1, bytes, file);
        else
            for (size_t i = 0; i < bytes; i++) fprintf(file, "\\x%02x", at[i]);
        at += bytes;
    }
}

static const char *text_reference(uint32_t c)
{
    return c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : c == '\'' ? "&#39;" : NULL;
}

void text_print_html(FILE *file, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0') {
        uint32_t c;
        size_t length = text_decode(at, &c);
        const char *reference = length != 0 ? text_reference(c) : NULL;
        if (reference != NULL)
            fputs(reference, file);
        else if (length != 0 && text_is_visible(c))
            fwrite(at, 1, length, file);
        else
            fputs("\xef\xbf\xbd", file);
        at += length == 0 ? 1 : length;
    }
}

void text_copy(char *to, size_t room, const char *text)
{
    size_t length = strlen(text);
    if (length >= room) {
        length = room - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) length--;
    }
    memcpy(to, text, length);
    to[length] = '\0';
}
