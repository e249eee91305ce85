#ifndef NF_BASE_WORDS_H
#define NF_BASE_WORDS_H
/** @file words.h  Lists of words in one text, with a blank between two. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/** The first word of the list.
 *  @param words_p   goes on to the next one
 *  @param length_p  bytes of the word, which is followed by a blank or ends
 *  @return NULL: there is none */
static inline const char *nf_words_next(const char **words_p, size_t *length_p)
{
    const char *word = *words_p;

    *length_p = strcspn(word, " ");
    *words_p = word + *length_p + (word[*length_p] == ' ');
    return *length_p > 0 ? word : NULL;
}

static inline bool nf_word_is(const char *word, size_t length, const char *text)
{
    return strncmp(word, text, length) == 0 && text[length] == '\0';
}
#endif
