/* Cutting results into pieces, and making inputs of those that come. */
#include "config.h"
#include <string.h>
#include "common/group/group.h"
#include "slave/exchange.h"

/* Inputs whose pieces are smaller than that, taken together, are copied: what tells where
 * a piece is takes 24 bytes, and whoever reads it has to go there. */
enum { SMALL_BYTES = 512 };

bool nf_exchange_make_out(struct nf_exchange *x, const struct nf_group *group)
{
    for (uint32_t r = 0; r < x->count; r++) {
        size_t bytes = x->out_bytes[r], parts = x->out_parts[r];

        x->at_byte[r] = 0;
        if (bytes == 0)
            continue;
        x->out[r] = group != NULL && nf_group_likes_chain(group, r, bytes, parts)
                        ? nf_blob_chain(parts, x->type)
                        : nf_blob_create(bytes, x->type);
        if (x->out[r] == NULL)
            return false;
    }
    return true;
}

static struct nf_blob_part part_of(const struct nf_pieces *result, uint64_t at,
                                   uint64_t bytes)
{
    return (struct nf_blob_part){ (const uint8_t *)result->data->data + at,
                                  (size_t)bytes, result->data };
}

/* @param filled_p  bytes, if it is no chain  @return false: there is no room */
static bool add(struct nf_blob *blob, size_t *filled_p,
                const struct nf_blob_part *part)
{
    if (nf_blob_is_chain(blob))
        return nf_blob_add(blob, part);
    if (part->bytes > blob->bytes - *filled_p)
        return false;
    memcpy((uint8_t *)blob->data + *filled_p, part->data, part->bytes);
    *filled_p += part->bytes;
    return true;
}

bool nf_exchange_pack_result(struct nf_exchange *x)
{
    uint32_t units = nf_exchange_length(&x->holders, x->rank);
    const struct nf_pieces *result = &x->results[x->at_unit];
    uint64_t unit, at;
    struct nf_pieces_walk w;

    if (x->at_unit >= units)
        return false;
    w = nf_pieces_walk(result, x->stock->units);
    while (nf_pieces_next(&w, &unit, &at)) {
        uint32_t r = x->homes.rank[unit];
        const struct nf_blob_part part = part_of(result, at, w.bytes);

        if (r >= x->count || r == x->rank)
            continue;
        x->nonsense = x->nonsense || !add(x->out[r], &x->at_byte[r], &part);
    }
    return ++x->at_unit < units;
}

static bool make_input(const struct nf_exchange *x,
                       struct nf_exchange_input *input)
{
    input->pieces.round = x->told.round;
    input->pieces.sizes = nf_sizes_take(&input->sizes);
    nf_sizes_fini(&input->sizes);
    if (input->bytes == 0)
        return input->pieces.sizes != NULL;
    input->pieces.data = input->bytes / input->count < SMALL_BYTES
                             ? nf_blob_create(input->bytes, x->type)
                             : nf_blob_chain(input->count, x->type);
    return input->pieces.sizes != NULL && input->pieces.data != NULL;
}

enum nf_status nf_exchange_begin_inputs(struct nf_exchange *x)
{
    for (uint32_t i = 0; i < nf_exchange_length(&x->homes, x->rank); i++)
        if (!make_input(x, &x->inputs[i]))
            return NF_ERR_NOMEM;
    for (uint32_t r = 0; r < x->count; r++)
        x->at_piece[r] = nf_blob_read(x->blocks[r].owner, x->blocks[r].data);
    return NF_OK;
}

static void fill(struct nf_exchange *x, uint32_t input,
                 const struct nf_blob_part *part)
{
    struct nf_exchange_input *to = &x->inputs[input];

    /* a unit of ours that nobody told us of has none */
    x->nonsense = x->nonsense || to->pieces.data == NULL ||
                  !add(to->pieces.data, &to->filled, part);
}

/* What our next unit has for ours. */
static void join_own(struct nf_exchange *x)
{
    const struct nf_pieces *result = &x->results[x->own_unit++];
    struct nf_pieces_walk w = nf_pieces_walk(result, x->stock->units);
    uint64_t unit, at;

    while (nf_pieces_next(&w, &unit, &at)) {
        const struct nf_blob_part part = part_of(result, at, w.bytes);

        if (x->homes.rank[unit] == x->rank)
            fill(x, x->place[unit], &part);
    }
}

/* Inputs are filled in the order of units. */
bool nf_exchange_join_unit(struct nf_exchange *x)
{
    uint32_t r = x->holders.rank[x->at_unit];
    uint32_t mine =
        r == x->rank ? 0 : nf_exchange_length(&x->homes, x->rank);

    if (r == x->rank)
        join_own(x);
    for (uint32_t k = 0; r < x->count && k < mine;) {
        uint64_t bytes;
        uint32_t run =
            (uint32_t)nf_sizes_next(&x->readers[r], mine - k, &bytes);

        for (uint32_t end = k + run; k < end; k++) {
            struct nf_blob_part part;

            if (bytes == 0)
                continue;
            if (!nf_blob_next(&x->at_piece[r], (size_t)bytes, &part)) {
                x->nonsense = true; /* a chain that is not of such pieces */
                return false;
            }
            fill(x, k, &part);
        }
    }
    return ++x->at_unit < x->stock->units && !x->nonsense;
}

enum nf_status nf_exchange_store(struct nf_exchange *x)
{
    struct nf_shelf *shelf = nf_stock_inputs(x->stock, x->phase + 1);
    enum nf_status status = NF_OK;

    for (uint32_t i = 0;
         i < nf_exchange_length(&x->homes, x->rank) && status == NF_OK; i++)
        status = nf_shelf_put(shelf, nf_exchange_list(&x->homes, x->rank)[i],
                              &x->inputs[i].pieces);
    return status;
}
