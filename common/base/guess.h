#ifndef NF_BASE_GUESS_H
#define NF_BASE_GUESS_H
/** @file guess.h  "did you mean ...?": which of the known words is nearest to
 *  one that is not known. */

/** The nearest word so far; name NULL: none is alike. */
struct nf_guess {
    const char *text, *name; /**< borrowed */
    unsigned distance;
};

/** Begin to guess what @p text may have meant. */
struct nf_guess nf_guess_start(const char *text);
/** Take the word @p name if it is nearer than those before. */
void nf_guess_consider(struct nf_guess *guess, const char *name);
#endif
