#include "config.h"
#include "common/base/alloc.h"
#include "common/base/endian.h"
#include "common/coll/tree_words.h"

uint8_t *nf_coll_tree_write(const struct nf_coll_tree *tree)
{
    uint8_t *words = nf_calloc(2 * (size_t)tree->ranks, 4);

    for (uint32_t v = 0; v < tree->ranks && words != NULL; v++)
        nf_store_le32(words + 4 * (size_t)v, tree->first[v + 1] - tree->first[v]);
    for (uint32_t c = 0; c + 1 < tree->ranks && words != NULL; c++)
        nf_store_le32(words + 4 * ((size_t)tree->ranks + c), tree->child[c]);
    return words;
}

enum nf_status nf_coll_tree_read(const uint8_t *words, uint32_t ranks,
                                 struct nf_coll_tree *tree_p,
                                 uint32_t **first_p)
{
    uint32_t *first = nf_calloc(2 * (size_t)ranks, sizeof(*first));
    uint32_t *child, count = 0;

    if (first == NULL)
        return NF_ERR_NOMEM;
    child = first + ranks + 1;
    for (uint32_t v = 0; v < ranks; v++) {
        first[v] = count;
        count += nf_load_le32(words + 4 * (size_t)v);
    }
    first[ranks] = count;
    for (uint32_t c = 0; c + 1 < ranks; c++)
        child[c] = nf_load_le32(words + 4 * ((size_t)ranks + c));
    *tree_p =
        (struct nf_coll_tree){ .ranks = ranks, .first = first, .child = child };
    *first_p = first;
    return NF_OK;
}
