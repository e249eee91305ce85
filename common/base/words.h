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

/** Put a word behind the others, unless it is there.
 *  @param room  bytes of the list, with its '\0'
 *  @param text  one word
 *  @return false: there is no room for it, and the list is as it was */
static inline bool nf_words_add(char *list, size_t room, const char *text)
{
    const char *words = list, *word;
    size_t used = strlen(list), bytes = strlen(text), length;

    while ((word = nf_words_next(&words, &length)) != NULL)
        if (nf_word_is(word, length, text))
            return true;
    if (used + (used > 0) + bytes >= room)
        return false;
    if (used > 0)
        list[used++] = ' ';
    memcpy(list + used, text, bytes + 1);
    return true;
}
#endif
