/* Wishes as text, and back. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/error.h"
#include "common/base/units.h"
#include "common/coll/wish.h"

_Static_assert((int)NF_COLL_SEGMENTS_MAX == 1024 &&
                   (int)NF_COLL_RANKS_MAX == 4096,
               "as the errors say");

/* The longest word between colons: a name, or 12 radices. */
enum { WORD_BYTES = 80 };

bool nf_coll_sides_read(const char *text, struct nf_coll_sides *sides_p)
{
    struct nf_coll_sides sides = { .count = 0 };

    while (sides.count < NF_COLL_SIDES_MAX) {
        size_t length = strcspn(text, "x");
        char side[8];
        uint64_t value;

        if (length >= sizeof(side))
            return false;
        memcpy(side, text, length);
        side[length] = '\0';
        if (nf_parse_count(side, 1, NF_COLL_RANKS_MAX, &value) != NF_OK)
            return false;
        sides.of[sides.count++] = (uint32_t)value;
        text += length;
        if (*text == '\0') {
            *sides_p = sides;
            return true;
        }
        text++;
    }
    return false;
}

/* "2/3/3" is how papers write radices, "2x3x3" how we do. */
static bool read_radices(const char *text, struct nf_coll_sides *radices_p)
{
    char other[WORD_BYTES];

    snprintf(other, sizeof(other), "%s", text);
    for (char *at = other; strchr(text, 'x') == NULL && *at != '\0'; at++)
        if (*at == '/')
            *at = 'x';
    return nf_coll_sides_read(other, radices_p);
}

/* The short words of papers and scripts, in place of ours.
 * @return what comes after it, or NULL: it is another word */
static const char *after(const char *word, const char *ours, const char *other)
{
    if (strncmp(word, ours, strlen(ours)) == 0)
        return word + strlen(ours);
    if (other != NULL && strncmp(word, other, strlen(other)) == 0)
        return word + strlen(other);
    return NULL;
}

/* Others have a radix that is theirs alone: 4 of knomial4. */
static bool takes_radix(const struct nf_coll_algorithm *algorithm)
{
    return algorithm->op == NF_COLL_ALLTOALL && algorithm->radix > 0;
}

/* "k=16" and the like.
 * @return NULL, or what is wanted instead */
static const char *read_word(const char *word, struct nf_coll_wish *wish)
{
    const struct nf_coll_algorithm *algorithm = wish->algorithm;
    const bool hops = algorithm == &nf_coll_alltoall_khop;
    const char *value = after(word, "radix=", hops ? "k=" : "r=");
    uint64_t radix;

    if (value != NULL && takes_radix(algorithm)) {
        if (nf_parse_count(value, 1, NF_COLL_RANKS_MAX, &radix) != NF_OK)
            return "want :radix= and a number up to 4096";
        wish->params.radix = (uint32_t)radix;
        return NULL;
    }
    value = after(word, "radices=", "r=");
    if (value != NULL && algorithm == &nf_coll_alltoall_mixed)
        return read_radices(value, &wish->params.radices)
                   ? NULL
                   : "want :radices= and numbers as 3x2x3";
    if (algorithm == &nf_coll_alltoall_split_merge &&
        strcmp(word, "merge0") == 0) {
        wish->algorithm = &nf_coll_alltoall_split_merge0;
        return NULL;
    }
    if (strncmp(word, "shape=", 6) == 0 && algorithm->by_shape)
        return nf_coll_sides_read(word + 6, &wish->params.shape)
                   ? NULL
                   : "want :shape= and sides as 3x4";
    if (strncmp(word, "k=", 2) == 0 && algorithm->items == NF_ITEMS_SEGMENTS &&
        nf_parse_count(word + 2, 1, NF_COLL_SEGMENTS_MAX, &wish->segments) ==
            NF_OK)
        return NULL;
    if (algorithm == &nf_coll_alltoall_mixed)
        return "want :radices= and numbers as 3x2x3 after the name";
    if (algorithm->by_shape && takes_radix(algorithm))
        return "want :shape= and sides as 3x4, or :radix=, after the name";
    if (algorithm->by_shape)
        return "want :shape= and sides as 3x4 after the name";
    if (takes_radix(algorithm))
        return "want :radix= and a number up to 4096 after the name";
    if (algorithm->items == NF_ITEMS_SEGMENTS)
        return "want :k= and 1 to 1024 segments after the name";
    return "want nothing after the name";
}

const struct nf_coll_algorithm *
nf_coll_for_rings(const struct nf_coll_algorithm *algorithm,
                  const struct nf_coll_sides *shape, uint32_t ranks)
{
    bool is_odd = shape->count == 0 && ranks > 1 && ranks % 2 != 0;

    for (uint32_t i = 0; i < shape->count; i++)
        is_odd = is_odd || (shape->of[i] > 1 && shape->of[i] % 2 != 0);
    return algorithm == &nf_coll_alltoall_dh && is_odd ? &nf_coll_alltoall_mdh
                                                       : algorithm;
}

enum nf_status nf_coll_wish_read(const char *text, struct nf_coll_wish *wish_p,
                                 struct nf_error *err)
{
    struct nf_coll_wish wish = { .algorithm = NULL };
    const char *at = text;

    for (bool first = true; first || *at == ':'; first = false) {
        char word[WORD_BYTES];
        size_t length;
        const char *wanted = NULL;

        at += !first;
        length = strcspn(at, ":");
        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        if (first)
            wish.algorithm = nf_coll_find(word);
        if (wish.algorithm == NULL)
            return nf_fail(err, NF_ERR_INVAL,
                           "\"%s\": no such algorithm (see: nowfarm plans)",
                           text);
        if (!first)
            wanted = length < sizeof(word) ? read_word(word, &wish)
                                           : "a word is too long";
        if (wanted != NULL)
            return nf_fail(err, NF_ERR_INVAL, "\"%s\": %s", text, wanted);
        at += length;
    }
    wish.algorithm = nf_coll_for_rings(wish.algorithm, &wish.params.shape, 0);
    *wish_p = wish;
    return NF_OK;
}

enum nf_status nf_coll_wish_read_for(const char *text, uint32_t ranks,
                                     struct nf_coll_wish *wish_p,
                                     struct nf_error *err)
{
    enum nf_status status = nf_coll_wish_read(text, wish_p, err);

    if (status == NF_OK)
        wish_p->algorithm = nf_coll_for_rings(wish_p->algorithm,
                                              &wish_p->params.shape, ranks);
    return status;
}

static void put_sides(const char *name, const struct nf_coll_sides *sides,
                      char *text, size_t bytes)
{
    for (uint32_t i = 0; i < sides->count; i++) {
        size_t used = strlen(text);

        snprintf(text + used, bytes - used, "%s%" PRIu32, i == 0 ? name : "x",
                 sides->of[i]);
    }
}

void nf_coll_wish_write(const struct nf_coll_wish *wish, char *text_p,
                        size_t bytes)
{
    snprintf(text_p, bytes, "%s", wish->algorithm->name);
    if (wish->segments > 0 && wish->algorithm->items == NF_ITEMS_SEGMENTS)
        snprintf(text_p + strlen(text_p), bytes - strlen(text_p), ":k=%" PRIu64,
                 wish->segments);
    if (wish->params.radix > 0)
        snprintf(text_p + strlen(text_p), bytes - strlen(text_p),
                 ":radix=%" PRIu32, wish->params.radix);
    put_sides(":radices=", &wish->params.radices, text_p, bytes);
    put_sides(":shape=", &wish->params.shape, text_p, bytes);
}
