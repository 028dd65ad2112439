/* See escape.h. */
#include "diag/escape.h"

#include <stdbool.h>
#include <string.h>

/* Returns the bytes of the well-formed UTF-8 sequence at `text`, or 0 if there is none. */
static unsigned escape_length(const unsigned char *text)
{
    unsigned char lead = text[0];
    unsigned length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    for (unsigned i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
    }
    bool overlong = (lead == 0xe0 && text[1] < 0xa0) || (lead == 0xf0 && text[1] < 0x90);
    bool surrogate = lead == 0xed && length == 3 && text[1] > 0x9f;
    bool beyond = lead == 0xf4 && length == 4 && text[1] > 0x8f;
    return (length > 2 && overlong) || surrogate || beyond ? 0 : length;
}

const char *cx_escape_text(const char *text, char piece[CX_ESCAPE_ROOM])
{
    const unsigned char *at = (const unsigned char *)text;
    if (*at == '\0') return NULL;
    unsigned length = escape_length(at);
    bool shown = length > 0 && *at >= 0x20 && *at != 0x7f;
    memcpy(piece, shown ? text : "?", shown ? length : 1);
    piece[shown ? length : 1] = '\0';
    return text + (length > 0 ? length : 1);
}

const char *cx_escape_json(const char *text, char piece[CX_ESCAPE_ROOM])
{
    if (*text != '"' && *text != '\\') return cx_escape_text(text, piece);
    piece[0] = '\\';
    piece[1] = *text;
    piece[2] = '\0';
    return text + 1;
}
