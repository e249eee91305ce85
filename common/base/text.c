/* Making text that others wrote fit to be printed. */
#include "config.h"
#include "common/base/text.h"

/* Bytes of the well-formed character at the start of text, or 0.  RFC 3629:
 * no overlong forms, no surrogates, nothing above U+10FFFF. */
static size_t utf8_length(const unsigned char *text, size_t bytes)
{
    unsigned char lo = 0x80, hi = 0xbf;
    size_t length;

    if (text[0] < 0x80)
        return 1;
    if (text[0] < 0xc2 || text[0] > 0xf4)
        return 0;
    length = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    if (text[0] == 0xe0)
        lo = 0xa0;
    else if (text[0] == 0xed)
        hi = 0x9f;
    else if (text[0] == 0xf0)
        lo = 0x90;
    else if (text[0] == 0xf4)
        hi = 0x8f;
    if (length > bytes || text[1] < lo || text[1] > hi)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (text[i] < 0x80 || text[i] > 0xbf)
            return 0;
    return length;
}

void nf_text_make_utf8(char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        size_t length = utf8_length((unsigned char *)text + at, bytes - at);

        if (length == 0) {
            text[at] = '?';
            length = 1;
        }
        at += length;
    }
}

void nf_text_make_line(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}
