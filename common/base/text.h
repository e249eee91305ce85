#ifndef NF_BASE_TEXT_H
#define NF_BASE_TEXT_H
/** @file text.h  Text from users, files and other programs may hold any byte;
 *  what we print of it must not. */
#include <stddef.h>

/** Make text[0..bytes) valid UTF-8 in place: '?' for every byte that is not
 *  part of a well-formed character. */
void nf_text_make_utf8(char *text, size_t bytes);

/** Make @p text one line without escape sequences, in place: '?' for every
 *  control character. */
void nf_text_make_line(char *text);
#endif
