/* The store of pieces. */
#include "config.h"
#include "slave/pieces.h"
#include "common/base/alloc.h"

void nf_pieces_fini(struct nf_pieces *pieces)
{
    nf_blob_unref(pieces->data);
    nf_blob_unref(pieces->at);
    pieces->data = pieces->at = NULL;
}

void nf_pieces_put(struct nf_pieces *there, const struct nf_pieces *pieces)
{
    struct nf_pieces copy = { nf_blob_ref(pieces->data),
                              nf_blob_ref(pieces->at), pieces->round };

    nf_pieces_fini(there);
    *there = copy;
}

struct nf_blob *nf_pieces_table(const uint64_t *bytes, uint64_t units)
{
    struct nf_blob *at =
        nf_blob_create((size_t)(units + 1) * sizeof(uint64_t), NF_BYTES);
    uint64_t *table, sum = 0;

    if (at == NULL)
        return NULL;
    table = at->data;
    for (uint64_t i = 0; i < units; i++) {
        table[i] = sum;
        sum += bytes[i];
    }
    table[units] = sum;
    return at;
}

static size_t count_of(const struct nf_stock *stock)
{
    return stock->phases == 0 ? 0
                              : (size_t)((stock->phases - 1) * stock->units);
}

enum nf_status nf_stock_init(struct nf_stock *stock, uint32_t phases,
                             uint64_t units)
{
    size_t count;

    stock->phases = phases;
    stock->units = units;
    count = count_of(stock) + 1;
    stock->results = nf_calloc(count, sizeof(*stock->results));
    stock->inputs = nf_calloc(count, sizeof(*stock->inputs));
    if (stock->results != NULL && stock->inputs != NULL)
        return NF_OK;
    nf_free(stock->results);
    nf_free(stock->inputs);
    *stock = (struct nf_stock){ 0 };
    return NF_ERR_NOMEM;
}

void nf_stock_clear(struct nf_stock *stock)
{
    for (size_t i = 0; i < count_of(stock); i++) {
        nf_pieces_fini(&stock->results[i]);
        nf_pieces_fini(&stock->inputs[i]);
    }
}

void nf_stock_fini(struct nf_stock *stock)
{
    nf_stock_clear(stock);
    nf_free(stock->results);
    nf_free(stock->inputs);
    *stock = (struct nf_stock){ 0 };
}

struct nf_pieces *nf_stock_result(const struct nf_stock *stock, uint32_t phase,
                                  uint64_t unit)
{
    return &stock->results[phase * stock->units + unit];
}

struct nf_pieces *nf_stock_input(const struct nf_stock *stock, uint32_t phase,
                                 uint64_t unit)
{
    return &stock->inputs[(phase - 1) * stock->units + unit];
}
