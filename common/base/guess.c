#include "config.h"
#include "common/base/guess.h"
#include <string.h>

/* Edit distance, cut at 9; words longer than the row are not alike. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[24];
    size_t columns = strlen(b);

    if (columns >= sizeof(row) / sizeof(row[0]) || strlen(a) > 32)
        return 9;
    for (unsigned j = 0; j <= columns; j++)
        row[j] = j;
    for (unsigned i = 1; a[i - 1] != '\0'; i++) {
        unsigned corner = row[0];

        row[0] = i;
        for (unsigned j = 1; j <= columns; j++) {
            unsigned change = corner + (a[i - 1] != b[j - 1]);
            unsigned best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

            corner = row[j];
            row[j] = change < best ? change : best;
        }
    }
    return row[columns] < 9 ? row[columns] : 9;
}

struct nf_guess nf_guess_start(const char *text)
{
    size_t length = strlen(text);

    /* a short word is like any other short word */
    return (struct nf_guess){ .text = text,
                              .distance = length < 3   ? 2
                                          : length < 6 ? 3
                                                       : 4 };
}

void nf_guess_consider(struct nf_guess *guess, const char *name)
{
    unsigned d = distance(guess->text, name);

    if (d < guess->distance) {
        guess->name = name;
        guess->distance = d;
    }
}
